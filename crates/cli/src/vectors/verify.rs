//! Verification of signatures, changed in named ways, and exactly at the norm bound.

use horizon_hash::suite::Suite;
use horizon_pulsar::params::{COLS, Q_NU, ROWS};
use horizon_pulsar::{PreparedKey, Signature, verify};
use horizon_ring::{N, NttPoly, Poly, modulus, ntt};

use super::Context;
use super::fields::{
    Checked, Fields, LabelStream, Mismatch, Raw, Verdict, fault, in_field, same, same_digest,
    ser_poly, ser_vector,
};
use super::ntt::element_list;
use super::primitives::group_key;
use super::signatures::Signed;

/// The reference accepts values that are not canonical and stops with a panic on short vectors. A
/// signature outside the canonical range must be refused by ours, whatever the file says; such a
/// case counts as strict where the reference behaved otherwise.
pub(super) fn check_mutation(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    case.skip(&["of", "mutation", "panic"]);
    let mut signed = context.signatures.find(case.text("of")?)?;
    let mutation = case.text("mutation")?;
    match mutation.strip_prefix("group key of ") {
        Some(name) => {
            let other = context.signatures.find(name)?;
            (signed.a, signed.b_tilde) = (other.a, other.b_tilde);
        }
        None => apply(&mut signed, mutation)?,
    }
    if case.has("msg") {
        signed.message = case.bytes("msg")?;
    }
    let accepted = case.flag("accept")?;
    let panicked = case
        .find("panic")
        .is_some_and(|panic| panic.as_str() != Some(""));
    match verdict(&signed)? {
        Outcome::Decided(ours) if panicked => Err(fault(&format!(
            "the reference stopped, ours accepted = {ours}"
        ))),
        Outcome::Decided(ours) => {
            same("accept", &ours, &accepted)?;
            Ok(Verdict::Equal)
        }
        Outcome::Malformed if accepted || panicked => Ok(Verdict::Strict),
        Outcome::Malformed => Ok(Verdict::Equal),
    }
}

/// Signatures under a key with `b = 0`, made to hit the norm bound.
pub(super) fn check_norm_boundary(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let a = LabelStream::new(case.text("label")?).polys(ROWS * COLS, modulus::Q);
    same_digest("A", &case.object("A")?, &a)?;
    let z_coeff = in_field("z_coeff", element_list(&case.object("z_coeff")?))?;
    let z = case.polys("z")?;
    same("number of polynomials in z", &z.len(), &z_coeff.len())?;
    for (index, (stored, coefficients)) in z.iter().zip(&z_coeff).enumerate() {
        let ours = ntt::forward_montgomery(&Poly::from_reduced(*coefficients));
        same(&format!("z[{index}]"), ours.as_array(), stored)?;
    }
    let suite = if case.has("suite") {
        case.text("suite")?
    } else {
        Suite::PulsarSha3.id()
    };
    let signed = Signed {
        suite: suite.to_owned(),
        message: case.bytes("msg")?,
        a,
        b_tilde: vec![[0; N]; ROWS],
        c: case.poly("c")?,
        z,
        delta: in_field("delta", element_list(&case.object("delta")?))?,
    };
    let Outcome::Decided(ours) = verdict(&signed)? else {
        let below = |polys: &[Raw], limit| polys.iter().flatten().all(|v| *v < limit);
        let canonical = below(&[signed.c], modulus::Q)
            && below(&signed.z, modulus::Q)
            && below(&signed.delta, Q_NU);
        if canonical && (signed.z.len(), signed.delta.len()) == (COLS, ROWS) {
            return Err(fault("our decoder refused a canonical signature"));
        }
        let accepted = case.flag("accept")?;
        return Ok(if accepted {
            Verdict::Strict
        } else {
            Verdict::Equal
        });
    };
    same("accept", &ours, &case.flag("accept")?)?;
    Ok(Verdict::Equal)
}

pub(super) enum Outcome {
    /// Canonical; accepted or not.
    Decided(bool),
    /// Refused by the decoder.
    Malformed,
}

/// Decodes the encoded signature as it would arrive, then verifies it with a cold key, with a prepared
/// one and in a batch; the three must agree.
pub(super) fn verdict(signed: &Signed) -> Result<Outcome, Mismatch> {
    let suite = super::hash::suite_by_name(&signed.suite)?;
    let key = group_key(&signed.a, &signed.b_tilde)?;
    let Ok(signature) = Signature::from_framed(&framed(signed)) else {
        return Ok(Outcome::Malformed);
    };
    let cold = verify::verify(&key, suite, &signed.message, &signature).is_ok();
    let key = PreparedKey::new(&key, suite);
    let prepared = key.verify(&signed.message, &signature).is_ok();
    same("prepared and cold verification", &prepared, &cold)?;
    let batch = verify::verify_batch(&key, &[(signed.message.as_slice(), &signature); 3]);
    let agree = batch.len() == 3 && batch.iter().all(|verdict| verdict.is_ok() == prepared);
    same("verification in a batch", &agree, &true)?;
    Ok(Outcome::Decided(prepared))
}

/// The framed encoding of a signature, of whatever shape it has.
fn framed(signed: &Signed) -> Vec<u8> {
    let mut out = b"CORS\x00\x01".to_vec();
    let parts = [
        ser_poly(&signed.c),
        ser_vector(signed.z.iter()),
        ser_vector(signed.delta.iter()),
    ];
    for part in parts {
        out.extend(u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
        out.extend(part);
    }
    out
}

/// Applies a change written like `z[0][0] += 1 mod q`, `delta truncated to 7 polys`, `c := 0`.
fn apply(signed: &mut Signed, mutation: &str) -> Result<(), Mismatch> {
    let unknown = || fault(&format!("mutation {mutation} is not understood"));
    let plain = mutation.split(" (").next().unwrap_or(mutation);
    if plain == "none" {
        return Ok(());
    }
    if let Some(change) = plain.strip_prefix("msg: ") {
        return change_message(&mut signed.message, change).ok_or_else(unknown);
    }
    if let Some(name) = plain.strip_prefix("suite: ") {
        name.clone_into(&mut signed.suite);
        return Ok(());
    }
    if let Some(pair) = plain.strip_prefix("swap ") {
        return swap(signed, pair).ok_or_else(unknown);
    }
    let words: Vec<&str> = plain.split_whitespace().collect();
    match words[..] {
        [name, "truncated", "to", count, "polys"] => {
            let count = count.parse().map_err(|_| unknown())?;
            vector(signed, name).ok_or_else(unknown)?.truncate(count);
            Ok(())
        }
        [name, "extended", "to", count, "polys"] => {
            let count = count.parse::<usize>().ok().filter(|count| *count < 64);
            let count = count.ok_or_else(unknown)?;
            vector(signed, name)
                .ok_or_else(unknown)?
                .resize(count, [0; N]);
            Ok(())
        }
        [target, operator, value, ..] => {
            let wrap = match words.get(3..) {
                Some(["mod", modulus]) => number(modulus),
                _ => None,
            };
            change(signed, target, operator, value, wrap).ok_or_else(unknown)
        }
        _ => Err(unknown()),
    }
}

fn change_message(message: &mut Vec<u8>, change: &str) -> Option<()> {
    match change {
        "empty" => message.clear(),
        _ => {
            let text = change.strip_prefix("append '")?.strip_suffix('\'')?;
            message.extend_from_slice(text.as_bytes());
        }
    }
    Some(())
}

fn vector<'s>(signed: &'s mut Signed, name: &str) -> Option<&'s mut Vec<Raw>> {
    match name {
        "z" => Some(&mut signed.z),
        "delta" => Some(&mut signed.delta),
        _ => None,
    }
}

fn swap(signed: &mut Signed, pair: &str) -> Option<()> {
    let (one, other) = pair.split_once(", ")?;
    let ((name, one), (same_name, other)) = (indexed(one)?, indexed(other)?);
    let [one, other] = [*one.first()?, *other.first()?];
    let polys = vector(signed, name).filter(|_| name == same_name)?;
    (one < polys.len() && other < polys.len()).then(|| polys.swap(one, other))
}

/// The words that a target names are each changed.
fn change(
    signed: &mut Signed,
    target: &str,
    operator: &str,
    value: &str,
    wrap: Option<u64>,
) -> Option<()> {
    let (name, indices) = indexed(target)?;
    if let Some(power) = value.strip_prefix("NTT-Mont(") {
        return add_constant(signed, name, &indices, number(power.strip_suffix(')')?)?);
    }
    let value = number(value)?;
    let polys = match name {
        "c" => core::slice::from_mut(&mut signed.c),
        _ => vector(signed, name)?.as_mut_slice(),
    };
    // The challenge is one polynomial, so its single index counts coefficients.
    let (polys, position) = match (name, indices.as_slice()) {
        ("c", []) | (_, []) => (polys, None),
        ("c", [position]) => (polys, Some(*position)),
        (_, [index]) => (polys.get_mut(*index..index + 1)?, None),
        (_, [index, position]) => (polys.get_mut(*index..index + 1)?, Some(*position)),
        _ => return None,
    };
    for poly in polys {
        let words = match position {
            Some(position) => poly.get_mut(position..position + 1)?,
            None => &mut poly[..],
        };
        for word in words {
            *word = apply_operator(*word, operator, value, wrap)?;
        }
    }
    Some(())
}

fn apply_operator(word: u64, operator: &str, value: u64, wrap: Option<u64>) -> Option<u64> {
    let result = match operator {
        "+=" => word.checked_add(value)?,
        "-=" => word.checked_add(wrap?)?.checked_sub(value)?,
        "^=" => word ^ value,
        ":=" => value,
        _ => return None,
    };
    Some(wrap.map_or(result, |modulus| result % modulus))
}

/// Adds a constant polynomial in NTT-Montgomery form.
fn add_constant(signed: &mut Signed, name: &str, indices: &[usize], value: u64) -> Option<()> {
    let poly = match (name, indices) {
        ("c", []) => &mut signed.c,
        (_, [index]) => vector(signed, name)?.get_mut(*index)?,
        _ => return None,
    };
    let mut constant = Poly::ZERO;
    constant.as_mut_array()[0] = value % modulus::Q;
    let mut sum = NttPoly::from_reduced(*poly);
    sum.add_assign(&ntt::forward_montgomery(&constant));
    *poly = *sum.as_array();
    Some(())
}

/// `name[i][j]` into the name and its indices.
fn indexed(text: &str) -> Option<(&str, Vec<usize>)> {
    let (name, rest) = text.split_at(text.find('[').unwrap_or(text.len()));
    let indices: Option<Vec<usize>> = rest
        .split_terminator(']')
        .map(|index| {
            index
                .strip_prefix('[')?
                .parse()
                .ok()
                .filter(|index| *index < N)
        })
        .collect();
    Some((name, indices?))
}

/// `7`, `q`, `QNu`, `QNu/2`, `2^40`.
fn number(text: &str) -> Option<u64> {
    if let Some((number_text, divisor)) = text.split_once('/') {
        return number(number_text)?.checked_div(divisor.parse().ok()?);
    }
    match text {
        "q" => Some(modulus::Q),
        "QNu" => Some(Q_NU),
        _ => match text.split_once('^') {
            Some(("2", exponent)) => 1u64.checked_shl(exponent.parse().ok()?),
            _ => text.parse().ok(),
        },
    }
}
