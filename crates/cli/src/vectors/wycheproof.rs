//! Wycheproof cases.
//!
//! A case marked `acceptable` holds an encoding or a value that only lenient verifiers take. This
//! product's answer to all of them is no: what has two encodings lets two parties disagree about
//! one message. Such a case passes, counted as our strict behaviour, when it is refused.

use horizon_hash::kmac::kmac256;
use horizon_sig::error::{Error, Malformed};
use horizon_sig::mldsa::{self, Attestation, Backend, ParameterSet};
use horizon_sig::traits::Verifier as _;
use horizon_sig::{bls, ed25519, p256, secp256k1};
use serde_json::Value;

use super::Context;
use super::fields::{Checked, Fields, Mismatch, Verdict, fault, same};
use super::message::{byte_lists, refused};

/// Whether the case has to be accepted, and what it then counts as.
struct Expected {
    accept: bool,
    verdict: Verdict,
}

impl Expected {
    fn of(case: &Fields<'_>) -> Result<Self, Mismatch> {
        let (accept, verdict) = match case.text("result")? {
            "valid" => (true, Verdict::Equal),
            "invalid" => (false, Verdict::Equal),
            "acceptable" => (false, Verdict::Strict),
            other => return Err(fault(&format!("result {other} is unknown"))),
        };
        Ok(Self { accept, verdict })
    }

    fn compare(&self, what: &str, accepted: bool) -> Result<(), Mismatch> {
        same(what, &accepted, &self.accept)
    }
}

fn has_flag(case: &Fields<'_>, flag: &str) -> Result<bool, Mismatch> {
    Ok(case.list("flags")?.iter().any(|value| value == flag))
}

/// A flag's typed reason: the case must be refused for what it was made for.
fn check_codes(case: &Fields<'_>, error: &Error, rows: &[(&str, &str)]) -> Result<(), Mismatch> {
    for (flag, code) in rows {
        if has_flag(case, flag)? {
            same(&format!("reason for flag {flag}"), &error.code(), code)?;
        }
    }
    Ok(())
}

/// An absent byte string is empty, as for contexts.
fn optional(case: &Fields<'_>, name: &str) -> Result<Vec<u8>, Mismatch> {
    if case.has(name) {
        case.bytes(name)
    } else {
        Ok(Vec::new())
    }
}

/// Other encodings of a group's key; the DER form ends with the key itself.
fn check_key_forms(group: &Fields<'_>, key: &[u8]) -> Result<(), Mismatch> {
    group.skip(&["publicKeyPem", "publicKeyJwk", "sha"]);
    if let Some(der) = group.find("publicKeyDer").and_then(Value::as_str)
        && !der.is_empty()
    {
        let ends = group.bytes("publicKeyDer")?.ends_with(key);
        same("publicKeyDer", &ends, &true)?;
    }
    Ok(())
}

/// By both libraries, alone and as one signer of a set.
pub(super) fn check_mldsa(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    let group = context.group()?;
    let expected = Expected::of(case)?;
    let set = parameter_set(context.file)?;
    let (message, ctx) = (case.bytes("msg")?, optional(case, "ctx")?);
    let signature = case.bytes("sig")?;
    let public = group.bytes("publicKey")?;
    let key = mldsa::VerifyingKey::from_bytes(set, &public);
    if has_flag(case, "IncorrectPublicKeyLength")? {
        group.skip(&["publicKeyDer"]);
        let length = matches!(key, Err(Error::Malformed(Malformed::Length { .. })));
        same("reason", &length, &true)?;
        expected.compare("result", false)?;
        return Ok(expected.verdict);
    }
    check_key_forms(group, &public)?;
    let key = key.map_err(refused)?;
    let attestation = Attestation {
        key: &key,
        signature: &signature,
    };
    let as_set = mldsa::verify_set(&message, &ctx, &[attestation]);
    expected.compare("result, as a set", as_set.is_ok())?;
    for backend in Backend::ALL {
        let verdict = key.verify_with(backend, &ctx, &message, &signature);
        expected.compare(&format!("result, by {backend:?}"), verdict.is_ok())?;
        if let Err(error) = verdict {
            check_codes(case, &error, &MLDSA_CODES)?;
        }
    }
    Ok(expected.verdict)
}

const MLDSA_CODES: [(&str, &str); 5] = [
    ("InvalidContext", "context_too_long"),
    ("IncorrectSignatureLength", "length"),
    ("InvalidHintsEncoding", "signature_hint_encoding"),
    ("InfinityNormViolation", "signature_response_range"),
    ("ZeroPublicKey", "signature_invalid"),
];

fn parameter_set(file: &Fields<'_>) -> Result<ParameterSet, Mismatch> {
    let name = file.text("algorithm")?;
    ParameterSet::ALL
        .into_iter()
        .find(|set| set.algorithm().name() == name)
        .ok_or_else(|| fault(&format!("algorithm {name} is unknown")))
}

/// Signatures from seeds, byte for byte. No library below signs a given mu (flag `Internal`): that
/// the expected signature verifies under it is checked.
pub(super) fn check_mldsa_sign(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    let group = context.group()?;
    group.skip(&["privateKeyPkcs8"]);
    let expected = Expected::of(case)?;
    let key =
        mldsa::SigningKey::from_seed(parameter_set(context.file)?, &group.bytes("privateSeed")?);
    let signature = case.bytes("sig")?;
    if has_flag(case, "IncorrectPrivateKeyLength")? {
        case.skip(&["msg", "ctx", "mu", "rnd"]);
        group.skip(&["publicKey"]);
        let length = matches!(key, Err(Error::Malformed(Malformed::Length { .. })));
        same("reason", &length, &true)?;
        expected.compare("result", false)?;
        return Ok(expected.verdict);
    }
    let key = key.map_err(refused)?;
    let public = key.verifying_key();
    same(
        "publicKey",
        &public.key_bytes(),
        &group.bytes("publicKey")?.as_slice(),
    )?;
    if case.has("mu") && expected.accept {
        let mu = case.array("mu")?;
        let _verified = mldsa::hazmat::verify_mu(public, &mu, &signature).map_err(refused)?;
    }
    if !case.has("msg") {
        case.skip(&["mu"]);
        same("flag Internal", &has_flag(case, "Internal")?, &true)?;
        return Ok(expected.verdict);
    }
    let (message, ctx) = (case.bytes("msg")?, optional(case, "ctx")?);
    let ours = if case.has("rnd") {
        mldsa::hazmat::sign_with_randomness(&key, &ctx, &message, case.array("rnd")?)
    } else {
        key.sign_deterministic(&ctx, &message)
    };
    if has_flag(case, "Internal")? {
        return Ok(expected.verdict);
    }
    expected.compare("result", ours.is_ok())?;
    match ours {
        Ok(ours) => same("sig", &ours, &signature)?,
        Err(error) => check_codes(case, &error, &MLDSA_CODES)?,
    }
    Ok(expected.verdict)
}

pub(super) fn check_ed25519(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    let group = context.group()?;
    let public = group.object("publicKey")?;
    public.skip(&["type", "curve", "keySize"]);
    let bytes = public.bytes("pk")?;
    check_key_forms(group, &bytes)?;
    let expected = Expected::of(case)?;
    case.skip(&["flags"]);
    let key = ed25519::VerifyingKey::from_bytes(&bytes);
    let (message, signature) = (case.bytes("msg")?, case.bytes("sig")?);
    let verdict = key.and_then(|key| key.verify(b"", &message, &signature));
    expected.compare("result", verdict.is_ok())?;
    Ok(expected.verdict)
}

macro_rules! check_ecdsa {
    ($name:ident, $scheme:ident) => {
        /// In DER and, where the value has that form, as `r || s`; with the key in both forms.
        pub(super) fn $name(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
            let group = context.group()?;
            let point = point(group)?;
            let expected = Expected::of(case)?;
            case.skip(&["flags"]);
            let (message, signature) = (case.bytes("msg")?, case.bytes("sig")?);
            let Ok(key) = $scheme::VerifyingKey::from_bytes(&point) else {
                expected.compare("result, the key is refused", false)?;
                return Ok(expected.verdict);
            };
            let compressed = $scheme::VerifyingKey::from_bytes(key.key_bytes()).map_err(refused)?;
            same("the compressed key", &compressed, &key)?;
            let verdict = key.verify_der(&message, &signature);
            expected.compare("result", verdict.is_ok())?;
            if let Some(fixed) = fixed_from_der(&signature) {
                let verdict = compressed.verify(b"", &message, &fixed);
                expected.compare("result, as r || s", verdict.is_ok())?;
            }
            Ok(expected.verdict)
        }
    };
}

check_ecdsa!(check_p256, p256);
check_ecdsa!(check_secp256k1, secp256k1);

/// The uncompressed point of a group's key; the coordinates have to agree.
fn point(group: &Fields<'_>) -> Result<Vec<u8>, Mismatch> {
    let public = group.object("publicKey")?;
    public.skip(&["type", "curve", "keySize"]);
    let bytes = public.bytes("uncompressed")?;
    check_key_forms(group, &bytes)?;
    for (name, half) in [("wx", bytes.get(1..33)), ("wy", bytes.get(33..65))] {
        let stored = public.bytes(name)?;
        let stripped = |bytes: &[u8]| -> Vec<u8> {
            bytes
                .iter()
                .copied()
                .skip_while(|&byte| byte == 0)
                .collect()
        };
        same(name, &half.map(stripped), &Some(stripped(&stored)))?;
    }
    Ok(bytes)
}

/// `r || s` of a signature in canonical DER with both values below 2^256.
fn fixed_from_der(der: &[u8]) -> Option<[u8; 64]> {
    let (&[tag, len], mut rest) = der.split_first_chunk::<2>()?;
    if tag != 0x30 || usize::from(len) != rest.len() {
        return None;
    }
    let mut fixed = [0; 64];
    for half in fixed.chunks_mut(32) {
        let (&[tag, len], tail) = rest.split_first_chunk::<2>()?;
        let (integer, tail) = tail.split_at_checked(usize::from(len))?;
        let (&first, magnitude) = integer.split_first()?;
        let padded = first == 0 && magnitude.first().is_some_and(|&next| next >= 0x80);
        if tag != 0x02 || first >= 0x80 || (first == 0 && !padded && !magnitude.is_empty()) {
            return None;
        }
        let magnitude = if first == 0 { magnitude } else { integer };
        let start = 32_usize.checked_sub(magnitude.len())?;
        half.get_mut(start..)?.copy_from_slice(magnitude);
        rest = tail;
    }
    rest.is_empty().then_some(fixed)
}

pub(super) fn check_bls(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    let group = context.group()?;
    let tag = horizon_hash::domain::warp::BEAM;
    same("ciphersuite", &group.text("ciphersuite")?.as_bytes(), &tag)?;
    let public = group.object("publicKey")?;
    let key = bls::VerifyingKey::from_bytes(&public.bytes("pk")?);
    let expected = Expected::of(case)?;
    let (message, signature) = (case.bytes("msg")?, case.bytes("sig")?);
    let verdict = key.and_then(|key| key.verify(b"", &message, &signature));
    expected.compare("result", verdict.is_ok())?;
    if let Err(error) = verdict {
        let rows = [
            ("IdentityPoint", "infinity"),
            ("TruncatedSignature", "length"),
            ("NotOnCurve", "encoding"),
            ("NotInSubgroup", "subgroup"),
            ("WrongMessage", "signature_invalid"),
            ("WrongKey", "signature_invalid"),
        ];
        check_codes(case, &error, &rows)?;
    }
    case.skip(&["flags"]);
    Ok(expected.verdict)
}

/// Keys and messages come in pairs, so a mismatched count cannot be expressed: it is refused here.
pub(super) fn check_bls_aggregate(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    let tag = horizon_hash::domain::warp::BEAM;
    let suite = context.group()?.text("ciphersuite")?.as_bytes();
    same("ciphersuite", &suite, &tag)?;
    case.skip(&["flags"]);
    let expected = Expected::of(case)?;
    let (keys, messages) = (byte_lists(case, "pubkeys")?, byte_lists(case, "messages")?);
    let signature = bls::Signature::from_bytes(&case.bytes("sig")?);
    let keys_decoded: Result<Vec<_>, _> = keys
        .iter()
        .map(|key| bls::VerifyingKey::from_bytes(key))
        .collect();
    let verify = || {
        let keys = keys_decoded.ok()?;
        let pairs: Vec<_> = keys
            .into_iter()
            .zip(messages.iter().map(Vec::as_slice))
            .collect();
        bls::verify_distinct(&pairs, &signature.ok()?).ok()
    };
    let accepted = keys.len() == messages.len() && verify().is_some();
    expected.compare("result", accepted)?;
    Ok(expected.verdict)
}

/// The public interface hashes only under its own tag, so the library below it is asked: signing
/// with the secret scalar 1 is hashing to the curve.
pub(super) fn check_bls_hash(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    case.skip(&["flags"]);
    let tag = context.group()?.text("dst")?;
    let mut one = [0; 32];
    one[31] = 1;
    let one = blst::min_pk::SecretKey::from_bytes(&one);
    let one = one.map_err(|_| fault("1 is a scalar"))?;
    let point = one.sign(&case.bytes("msg")?, tag.as_bytes(), &[]);
    let expected = Expected::of(case)?;
    let equal = point.to_bytes().to_vec() == case.bytes("expected")?;
    expected.compare("expected", equal)?;
    Ok(expected.verdict)
}

pub(super) fn check_kmac256(case: &Fields<'_>, context: Context<'_, '_>) -> Checked {
    case.skip(&["flags"]);
    let group = context.group()?;
    let expected = Expected::of(case)?;
    let key = case.bytes("key")?;
    same("keySize", &(key.len() * 8), &group.size("keySize")?)?;
    let bits = group.size("tagSize")?;
    if bits % 8 != 0 || bits > 1 << 20 {
        return Err(fault("tagSize: whole bytes were expected"));
    }
    let mut tag = vec![0; bits / 8];
    kmac256(&key, b"", &[&case.bytes("msg")?], &mut tag);
    expected.compare("result", tag == case.bytes("tag")?)?;
    Ok(expected.verdict)
}
