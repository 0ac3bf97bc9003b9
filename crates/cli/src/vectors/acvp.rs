//! NIST ACVP cases for ML-DSA.

use horizon_hash::sponge::shake256;
use horizon_sig::error::Error;
use horizon_sig::mldsa::{self, ParameterSet};
use horizon_sig::traits::Verifier as _;

use super::Context;
use super::fields::{Checked, Fields, Mismatch, Verdict, fault, same};
use super::message::refused;

/// Seed to key pair. Ours stores the seed, so of the expanded secret key the parts that the public
/// key determines are compared (rho and tr), and a signature is made and verified.
pub(super) fn check_key_gen(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    case.skip(&["deferred"]);
    let set = parameter_set(context.group()?)?;
    let key = mldsa::SigningKey::from_seed(set, &case.bytes("seed")?).map_err(refused)?;
    let public = key.verifying_key();
    same("pk", &public.key_bytes(), &case.bytes("pk")?.as_slice())?;
    check_secret(&case.bytes("sk")?, public.key_bytes())?;
    let signature = key
        .sign_deterministic(b"ctx", b"message")
        .map_err(refused)?;
    let _verified = public
        .verify(b"ctx", b"message", &signature)
        .map_err(refused)?;
    Ok(Verdict::Equal)
}

/// An expanded secret key starts with rho (32 bytes), K (32 bytes) and tr = SHAKE256(pk, 64).
fn check_secret(secret: &[u8], public: &[u8]) -> Result<(), Mismatch> {
    let mut tr = [0; 64];
    shake256(&[public], &mut tr);
    same("sk: rho", &secret.get(..32), &public.get(..32))?;
    same("sk: tr", &secret.get(64..128), &Some(&tr[..]))
}

/// The internal interface: messages are framed already. The reason has to be the one for which the
/// case was made.
pub(super) fn check_sig_ver(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    case.skip(&["deferred"]);
    let group = context.group()?;
    let set = parameter_set(group)?;
    let public = group.bytes("pk")?;
    check_secret(&group.bytes("sk")?, &public)?;
    let key = mldsa::VerifyingKey::from_bytes(set, &public).map_err(refused)?;
    let (message, signature) = (case.bytes("message")?, case.bytes("signature")?);
    let verdict = mldsa::hazmat::verify_internal(&key, &message, &signature);
    same("testPassed", &verdict.is_ok(), &case.flag("testPassed")?)?;
    // The cases named "z too large" hold no z out of range: the challenge refuses them.
    let expected = match case.text("reason")? {
        "no modification" => None,
        "too many hints" => Some("signature_hint_encoding"),
        "modify message" | "modify signature" | "z too large" => Some("signature_invalid"),
        other => return Err(fault(&format!("reason {other} is unknown"))),
    };
    let code = verdict.as_ref().err().map(Error::code);
    same("reason", &code, &expected)?;
    Ok(Verdict::Equal)
}

fn parameter_set(group: &Fields<'_>) -> Result<ParameterSet, Mismatch> {
    let name = group.text("parameterSet")?;
    ParameterSet::ALL
        .into_iter()
        .find(|set| set.algorithm().name() == name)
        .ok_or_else(|| fault(&format!("parameter set {name} is unknown")))
}
