//! The samplers of the reference: uniform, ternary, ziggurat Gaussian.

use horizon_hash::blake2xb::Blake2Xb;
use horizon_ring::sample::{self, Ziggurat, constants};
use horizon_ring::{N, Poly, modulus, ntt};

use super::Context;
use super::fields::{
    Checked, Fields, LabelStream, Mismatch, Raw, Verdict, fault, hex, in_field, list, same,
    same_digest,
};

pub(super) fn check_uniform(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let mut stream = stream(case)?;
    let polys = draw(case, |_| Ok(*sample::uniform(&mut stream).as_array()))?;
    same_ends(case, &polys, "poly0", "last_poly")?;
    if case.has("wire") {
        same_digest("wire", &case.object("wire")?, &polys)?;
    }
    Ok(Verdict::Equal)
}

/// Values are given centred. A weight above 256 is clipped by the reference.
pub(super) fn check_ternary(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let weight = case.size("h")?;
    let mut stream = stream(case)?;
    let expected = case.list("polys_centered")?;
    same("num_polys", &case.size("num_polys")?, &expected.len())?;
    for (index, poly) in expected.iter().enumerate() {
        let ours = sample::ternary(&mut stream, weight.min(N));
        let theirs = in_field("polys_centered", centered(list(poly)?))?;
        same(
            &format!("polys_centered[{index}]"),
            ours.as_array(),
            &theirs,
        )?;
    }
    Ok(Verdict::Equal)
}

/// Raw values are compared, where a zero with a minus sign is stored as q.
pub(super) fn check_gaussian(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let sigma = float(case, "sigma_bits")?;
    let bound = float(case, "bound_bits")?;
    same("sigma", &Some(sigma), &case.get("sigma")?.as_f64())?;
    same("bound", &Some(bound), &case.get("bound")?.as_f64())?;
    let sampler = Ziggurat { sigma, bound };
    let mut stream = stream(case)?;
    let polys = draw(case, |_| Ok(*sampler.sample(&mut stream).as_array()))?;
    same_ends(case, &polys, "poly0_raw", "last_poly_raw")?;
    same_digest("wire", &case.object("wire")?, &polys)?;
    let zeros = polys
        .iter()
        .flatten()
        .filter(|&&value| value == modulus::Q)
        .count();
    same("coeffs_equal_q", &zeros, &case.size("coeffs_equal_q")?)?;
    if case.has("poly0_centered_first16") {
        let theirs = case.list("poly0_centered_first16")?;
        let ours: Vec<Option<i64>> = polys[0]
            .iter()
            .take(theirs.len())
            .map(|&value| Some(signed(value)))
            .collect();
        let theirs: Vec<Option<i64>> = theirs.iter().map(signed_number).collect();
        same("poly0_centered_first16", &ours, &theirs)?;
    }
    let mut next = [0; 16];
    stream.read(&mut next);
    same("prng_next16", &next, &case.array("prng_next16")?)?;
    Ok(Verdict::Equal)
}

/// Two samplers on one stream, as in the first signing round.
pub(super) fn check_shared_stream(file: &Fields<'_>) -> Checked {
    let case = file.object("shared_prng_case")?;
    case.skip(&["note"]);
    let mut stream = stream(&case)?;
    for (name, sampler) in [("v1", constants::SIGMA_STAR), ("v2", constants::SIGMA_E)] {
        for (index, theirs) in case.polys(name)?.iter().enumerate() {
            let ours = ntt::forward_montgomery(&sampler.sample(&mut stream));
            same(&format!("{name}[{index}]"), ours.as_array(), theirs)?;
        }
    }
    match case.unseen().first() {
        None => Ok(Verdict::Equal),
        Some(field) => Err(fault(&format!("field {field} has no check"))),
    }
}

/// The sampler takes both functions from `libm`. What decides its output is `exp` after rounding to 32 bits: it must be equal. `log`
/// only decides how many words a rejected tail consumes, and differs between correct libraries in
/// the last place; so does `exp` before rounding. Those two may be one unit apart.
pub(super) fn check_float(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let words = |name: &str| -> Result<Vec<u64>, Mismatch> {
        case.list(name)?
            .iter()
            .map(|item| in_field(name, word(item)))
            .collect()
    };
    let (inputs, logs) = (words("in")?, words("log")?);
    let (exp_inputs, exps, rounded) = (words("exp_in")?, words("exp")?, words("exp_f32")?);
    let lengths = [logs.len(), exp_inputs.len(), exps.len(), rounded.len()];
    same("number of values", &lengths, &[inputs.len(); 4])?;
    check_labelled_inputs(case, &inputs)?;
    for (index, (input, log)) in inputs.iter().zip(&logs).enumerate() {
        let ours = libm::log(f64::from_bits(*input));
        near(&format!("log[{index}]"), ours, f64::from_bits(*log))?;
    }
    for (index, input) in exp_inputs.iter().enumerate() {
        let ours = libm::exp(f64::from_bits(*input));
        near(&format!("exp[{index}]"), ours, f64::from_bits(exps[index]))?;
        #[allow(
            clippy::cast_possible_truncation,
            reason = "rounding to f32 is what is tested"
        )]
        let single = u64::from((ours as f32).to_bits());
        same(&format!("exp_f32[{index}]"), &single, &rounded[index])?;
    }
    Ok(Verdict::Equal)
}

/// The inputs are 53-bit fractions of a labelled stream; the first four are made smaller.
fn check_labelled_inputs(case: &Fields<'_>, inputs: &[u64]) -> Result<(), Mismatch> {
    let mut stream = LabelStream::new(case.text("label")?);
    for (index, input) in inputs.iter().enumerate() {
        let mut bytes = [0; 8];
        stream.read(&mut bytes);
        let shift = [0, 20, 40, 60].get(index).copied().unwrap_or(0);
        let numerator = (u64::from_le_bytes(bytes) & FRACTION_MAX) >> shift;
        let value = numerator as f64 / FRACTION_MAX as f64;
        same(&format!("in[{index}]"), &value.to_bits(), input)?;
    }
    Ok(())
}

fn near(name: &str, ours: f64, theirs: f64) -> Result<(), Mismatch> {
    let distance = ours.to_bits().abs_diff(theirs.to_bits());
    if distance <= 1 {
        Ok(())
    } else {
        Err(fault(&format!("{name} is {distance} units away")))
    }
}

fn stream(case: &Fields<'_>) -> Result<Blake2Xb, Mismatch> {
    Blake2Xb::new(&case.bytes("key")?).map_err(|_| fault("key: refused"))
}

fn draw(
    case: &Fields<'_>,
    next: impl FnMut(usize) -> Result<Raw, Mismatch>,
) -> Result<Vec<Raw>, Mismatch> {
    let count = case.size("num_polys")?;
    if !(1..=POLYS_MAX).contains(&count) {
        return Err(fault("num_polys: out of range"));
    }
    (0..count).map(next).collect()
}

fn same_ends(case: &Fields<'_>, polys: &[Raw], first: &str, last: &str) -> Result<(), Mismatch> {
    same(first, &polys[0], &case.poly(first)?)?;
    same(last, &polys[polys.len() - 1], &case.poly(last)?)
}

fn float(case: &Fields<'_>, name: &str) -> Result<f64, Mismatch> {
    in_field(name, word(case.get(name)?)).map(f64::from_bits)
}

/// A bit pattern in hex, of up to 64 bits.
fn word(value: &serde_json::Value) -> Result<u64, Mismatch> {
    let bytes = value
        .as_str()
        .and_then(hex)
        .filter(|bytes| bytes.len() <= 8);
    let bytes = bytes.ok_or_else(|| fault("a bit pattern in hex was expected"))?;
    Ok(bytes
        .iter()
        .fold(0, |word, &byte| word << 8 | u64::from(byte)))
}

/// Centred integers to canonical residues.
pub(super) fn centered(values: &[serde_json::Value]) -> Result<Raw, Mismatch> {
    let parsed: Option<Vec<i64>> = values.iter().map(signed_number).collect();
    let words: Vec<u64> = parsed
        .ok_or_else(|| fault("integers were expected"))?
        .into_iter()
        .map(modulus::from_signed)
        .collect();
    words
        .try_into()
        .map_err(|_| fault("256 integers were expected"))
}

fn signed_number(value: &serde_json::Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

fn signed(raw: u64) -> i64 {
    modulus::centered(
        *Poly::from_reduced([raw; N])
            .as_array()
            .first()
            .unwrap_or(&0),
    )
}

const FRACTION_MAX: u64 = (1 << 53) - 1;
const POLYS_MAX: usize = 4096;
