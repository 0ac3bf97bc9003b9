//! The protocol's hash functions, each with its exact input.

use horizon_hash::suite::Suite;
use horizon_pulsar::GroupKey;
use horizon_pulsar::hazmat::interop;
use horizon_pulsar::params::{B_TILDE_MAX, COLS, KAPPA, NONCE_COLS, Q_NU, ROWS};
use horizon_ring::{NttPoly, Poly, modulus, ntt};
use serde_json::Value;

use super::Context;
use super::fields::{
    Checked, Fields, LabelStream, Mismatch, Raw, Verdict, fault, in_field, list, same, same_digest,
    ser_matrix,
};
use super::samplers::centered;

pub(super) fn check(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    let suite = super::hash::suite(context.file)?;
    case.skip(&["in"]);
    match case.find("fn").and_then(Value::as_str) {
        Some("PRNGKey") => round_key(suite, case, false),
        Some("PRNGKeyForRound") => round_key(suite, case, true),
        Some("GenerateMAC") => mac(suite, case),
        Some("GaussianHash") => gaussian_hash(suite, case),
        Some("PRF") => mask(suite, case),
        Some("LowNormHash") => challenge(suite, case),
        Some("Hash") => transcript(suite, case),
        _ => Err(fault("unknown function")),
    }
}

fn round_key(suite: Suite, case: &Fields<'_>, with_round: bool) -> Checked {
    let share = slots(&LabelStream::new(case.text("label")?).polys(COLS, modulus::Q));
    let key = if with_round {
        interop::round_key(suite, &share, case.number("sid")?)
    } else {
        interop::legacy_round_key(suite, &share)
    };
    same("out", &key, &case.array("out")?)?;
    Ok(Verdict::Equal)
}

/// The sender's number is hashed on both sides: its own when making, the peer's when checking.
fn mac(suite: Suite, case: &Fields<'_>) -> Checked {
    let polys = LabelStream::new(case.text("label")?).polys(ROWS * NONCE_COLS, modulus::Q);
    let matrix = ser_matrix(&polys, NONCE_COLS);
    let (key, sid, signers) = (case.bytes("key")?, case.number("sid")?, signers(case)?);
    for (sender, out) in [("party_id", "out_sign"), ("other_party", "out_verify")] {
        let sender = case.number(sender)?;
        let ours = interop::round1_mac(suite, &key, sender, &matrix, sid, &signers);
        same(out, &ours, &case.array(out)?)?;
    }
    Ok(Verdict::Equal)
}

fn gaussian_hash(suite: Suite, case: &Fields<'_>) -> Checked {
    let len = length(case, "length")?;
    let polys = interop::gaussian_hash(suite, &case.bytes("hash")?, &case.bytes("mu")?, len);
    same_vector(case, &raws(&polys))
}

fn mask(suite: Suite, case: &Fields<'_>) -> Checked {
    let (key, seed) = (case.bytes("prf_key")?, case.bytes("sd_ij")?);
    let (hash, message, len) = (case.bytes("hash")?, case.bytes("mu")?, length(case, "n")?);
    let polys = interop::mask(suite, &key, &seed, &hash, &message, len);
    same_vector(case, &raws(&polys))
}

/// `A`, `b`, `h` come from the label; odd-numbered cases then set one coefficient of `h` and of `b`
/// to its modulus.
fn challenge(suite: Suite, case: &Fields<'_>) -> Checked {
    let label = case.text("label")?;
    let mut stream = LabelStream::new(label);
    let a = stream.polys(ROWS * COLS, modulus::Q);
    let mut b = stream.polys(ROWS, B_TILDE_MAX);
    let mut h = stream.polys(ROWS, Q_NU);
    if label.ends_with(['1', '3', '5', '7', '9']) {
        b[0][3] = B_TILDE_MAX;
        h[0][3] = Q_NU;
    }
    same_digest("A", &case.object("A")?, &a)?;
    same_digest("b", &case.object("b")?, &b)?;
    same_digest("h", &case.object("h")?, &h)?;
    same("kappa", &KAPPA, &case.size("kappa")?)?;
    let key = group_key(&a, &b)?;
    let h: Vec<Poly> = h
        .iter()
        .map(|raw| Poly::from_array_unchecked(*raw))
        .collect();
    let c = interop::challenge(suite, &key, &h, &case.bytes("mu")?)
        .map_err(|error| fault(&error.to_string()))?;
    same("c", c.as_array(), &case.poly("c")?)?;
    let expected = in_field(
        "c_coeff_centered",
        centered(list(case.get("c_coeff_centered")?)?),
    )?;
    same(
        "c_coeff_centered",
        ntt::inverse_montgomery(&c).as_array(),
        &expected,
    )?;
    Ok(Verdict::Equal)
}

/// The reference walks the matrices by index 0, 1, ... and puts an empty one where a signer set has
/// a gap. Then its transcript does not bind all matrices: ours must differ, and the bytes must be
/// those that this explanation predicts.
fn transcript(suite: Suite, case: &Fields<'_>) -> Checked {
    let mut stream = LabelStream::new(case.text("label")?);
    let a = stream.polys(ROWS * COLS, modulus::Q);
    let b = stream.polys(ROWS, B_TILDE_MAX);
    let count = length(case, "num_D")?;
    let matrices: Vec<Vec<u8>> = (0..count)
        .map(|_| ser_matrix(&stream.polys(ROWS * NONCE_COLS, modulus::Q), NONCE_COLS))
        .collect();
    let key = group_key(&a, &b)?;
    let (sid, signers) = (case.number("sid")?, signers(case)?);
    let hash = |parts: &[&[u8]]| interop::transcript_hash(suite, &key, sid, &signers, parts);
    let theirs: [u8; 32] = case.array("out")?;
    let strict = hash(&matrices.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let keys = matrix_keys(case.text("D_keys")?, count)?;
    if keys.iter().copied().eq(0..count as u64) {
        same("out", &strict, &theirs)?;
        return Ok(Verdict::Equal);
    }
    let walked: Vec<&[u8]> = (0..count as u64)
        .map(|index| {
            let held = keys.iter().position(|&key| key == index);
            held.map_or(&EMPTY_MATRIX[..], |position| &matrices[position])
        })
        .collect();
    same(
        "out, as the reference walks the matrices",
        &hash(&walked),
        &theirs,
    )?;
    if strict == theirs {
        return Err(fault("our transcript leaves a matrix unbound"));
    }
    Ok(Verdict::Strict)
}

/// `0..len-1`, or a text with the keys in braces.
fn matrix_keys(text: &str, count: usize) -> Result<Vec<u64>, Mismatch> {
    if text == "0..len-1" {
        return Ok((0..count as u64).collect());
    }
    let inner = text
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'));
    let keys: Option<Vec<u64>> =
        inner.and_then(|(keys, _)| keys.split(',').map(|key| key.trim().parse().ok()).collect());
    keys.filter(|keys| keys.len() == count)
        .ok_or_else(|| fault("D_keys: not understood"))
}

fn same_vector(case: &Fields<'_>, polys: &[Raw]) -> Checked {
    same_digest("out", &case.object("out")?, polys)?;
    if case.has("out_poly0") {
        let first = polys.first().ok_or_else(|| fault("out: empty"))?;
        same("out_poly0", first, &case.poly("out_poly0")?)?;
    }
    Ok(Verdict::Equal)
}

pub(super) fn group_key(a: &[Raw], b_tilde: &[Raw]) -> Result<GroupKey, Mismatch> {
    let mut bytes = ser_matrix(a, COLS);
    bytes.extend(super::fields::ser_vector(b_tilde.iter()));
    GroupKey::from_raw(&bytes).map_err(|error| fault(&format!("group key: {error}")))
}

pub(super) fn signers(case: &Fields<'_>) -> Result<Vec<u32>, Mismatch> {
    let narrow = |number| u32::try_from(number).map_err(|_| fault("T: too large"));
    case.numbers("T")?.into_iter().map(narrow).collect()
}

fn length(case: &Fields<'_>, name: &str) -> Result<usize, Mismatch> {
    let len = case.size(name)?;
    if len > 4096 {
        Err(fault(&format!("{name}: too large")))
    } else {
        Ok(len)
    }
}

pub(super) fn slots(polys: &[Raw]) -> Vec<NttPoly> {
    polys
        .iter()
        .map(|raw| NttPoly::from_array_unchecked(*raw))
        .collect()
}

pub(super) fn raws(polys: &[NttPoly]) -> Vec<Raw> {
    polys.iter().map(|poly| *poly.as_array()).collect()
}

/// How the reference encodes a matrix it does not hold: a row count of zero.
pub(super) const EMPTY_MATRIX: [u8; 8] = [0; 8];
