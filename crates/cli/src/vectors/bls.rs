//! BLS signatures made with the reference implementation.

use horizon_sig::bls;
use horizon_sig::traits::Verifier as _;

use super::Context;
use super::fields::{Checked, Fields, Verdict, same};
use super::message::{byte_lists, refused};

pub(super) fn check_sign(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let key = bls::SigningKey::from_bytes(&case.bytes("sk")?).map_err(refused)?;
    let public = key.verifying_key();
    let message = case.bytes("msg")?;
    same("pk", &public.key_bytes(), &case.bytes("pk")?.as_slice())?;
    let signature = case.bytes("sig")?;
    same(
        "sig",
        &key.sign_message(&message).to_bytes().to_vec(),
        &signature,
    )?;
    let other_message = [&message[..], b"x"].concat();
    for (name, message, signature) in [
        ("verify", &message, &signature),
        ("verify_other_sig", &message, &case.bytes("other_sig")?),
        ("verify_other_msg", &other_message, &signature),
    ] {
        let verdict = public.verify(b"", message, signature).is_ok();
        same(name, &verdict, &case.flag(name)?)?;
    }
    Ok(Verdict::Equal)
}

pub(super) fn check_aggregate(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let message = case.bytes("msg")?;
    let (secrets, publics) = (byte_lists(case, "sks")?, byte_lists(case, "pks")?);
    let mut keys = Vec::new();
    let mut ours = Vec::new();
    for secret in &secrets {
        let key = bls::SigningKey::from_bytes(secret).map_err(refused)?;
        let public = key.verifying_key();
        ours.push(public.key_bytes().to_vec());
        let proof = key.prove_possession();
        keys.push(public.verify_possession(&proof).map_err(refused)?);
    }
    same("pks", &ours, &publics)?;
    let signatures = byte_lists(case, "sigs")?;
    let signatures: Result<Vec<_>, _> = signatures
        .iter()
        .map(|bytes| bls::Signature::from_bytes(bytes))
        .collect();
    let signatures = signatures.map_err(refused)?;
    let sum = bls::aggregate(&signatures).map_err(refused)?;
    same("agg_sig", &sum.to_bytes().to_vec(), &case.bytes("agg_sig")?)?;
    let key = bls::AggregateKey::new(&keys).map_err(refused)?;
    same("agg_pk", &key.to_bytes().to_vec(), &case.bytes("agg_pk")?)?;
    let verdict = key.verify(&message, &sum).is_ok();
    same("verify", &verdict, &case.flag("verify")?)?;
    // Without the first signer; of one signer nothing would be left, and nothing is refused.
    let missing = keys.get(1..).unwrap_or_default();
    let missing = bls::AggregateKey::new(missing).and_then(|key| key.verify(&message, &sum));
    same(
        "verify_one_missing",
        &missing.is_ok(),
        &case.flag("verify_one_missing")?,
    )?;
    Ok(Verdict::Equal)
}

pub(super) fn check_parse_key(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let bytes = case.bytes("pk")?;
    let key = bls::VerifyingKey::from_bytes(&bytes);
    same("ok", &key.is_ok(), &case.flag("ok")?)?;
    if let Ok(key) = key {
        same("pk", &key.key_bytes(), &bytes.as_slice())?;
    }
    Ok(Verdict::Equal)
}
