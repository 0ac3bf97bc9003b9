//! Every signature case of the Wycheproof files in `vectors/wycheproof`.
//!
//! None of these files has an `acceptable` case at this snapshot; `Case::must_verify` panics on
//! one, so that an update cannot bring one in unnoticed.

use horizon_sig::{
    bls, ed25519,
    error::{BadSignature, Error, Malformed, Misuse, Rejected},
    mldsa::{self, Attestation, Backend, ParameterSet},
    p256, secp256k1,
    traits::{Origin, Verifier as _},
};

use crate::cases::{Case, for_each_case, hex};

#[test]
fn mldsa_44_verdicts_agree() {
    assert_eq!(
        run_mldsa("wycheproof/mldsa_44_verify.json", ParameterSet::MlDsa44),
        (77, 103)
    );
}

#[test]
fn mldsa_65_verdicts_agree() {
    assert_eq!(
        run_mldsa("wycheproof/mldsa_65_verify.json", ParameterSet::MlDsa65),
        (79, 131)
    );
}

#[test]
fn mldsa_87_verdicts_agree() {
    assert_eq!(
        run_mldsa("wycheproof/mldsa_87_verify.json", ParameterSet::MlDsa87),
        (71, 170)
    );
}

/// Each case by both libraries, alone and as one signer of a set, with the reason checked.
fn run_mldsa(name: &str, set: ParameterSet) -> (usize, usize) {
    for_each_case(name, |case| {
        let id = case.id();
        let (message, context, signature) =
            (case.bytes("msg"), case.bytes("ctx"), case.bytes("sig"));
        let key = mldsa::VerifyingKey::from_bytes(set, &hex(&case.group["publicKey"]));
        if case.has_flag("IncorrectPublicKeyLength") {
            assert!(
                matches!(key, Err(Error::Malformed(Malformed::Length { .. }))),
                "{id}"
            );
            return;
        }
        let key = key.expect("every string of the right length is a key");
        let set_verdict = mldsa::verify_set(
            &message,
            &context,
            &[Attestation {
                key: &key,
                signature: &signature,
            }],
        );
        for backend in Backend::ALL {
            let verdict = key.verify_with(backend, &context, &message, &signature);
            assert_eq!(verdict.is_ok(), case.must_verify(), "{id} by {backend:?}");
            assert_eq!(verdict.is_ok(), set_verdict.is_ok(), "{id} as a set");
            if let Err(error) = verdict {
                assert_reason(case, &error);
            }
        }
        if let Err(Error::Rejected(Rejected::Signers(bad))) = set_verdict {
            assert_eq!(bad.indices().collect::<Vec<_>>(), [0], "{id}");
            assert!(
                bad.entries()[0].reason != BadSignature::Equation
                    || !case.has_flag("InvalidHintsEncoding")
            );
        }
    })
}

/// The typed reason has to be the one the case was made for.
fn assert_reason(case: &Case<'_>, error: &Error) {
    let id = case.id();
    let flags = [
        ("InvalidContext", "context_too_long"),
        ("IncorrectSignatureLength", "length"),
        ("InvalidHintsEncoding", "signature_hint_encoding"),
        ("InfinityNormViolation", "signature_response_range"),
        ("ZeroPublicKey", "signature_invalid"),
    ];
    for (flag, code) in flags {
        if case.has_flag(flag) {
            assert_eq!(error.code(), code, "{id} has flag {flag}: {error}");
        }
    }
}

#[test]
fn mldsa_65_signatures_are_the_expected_bytes() {
    let set = ParameterSet::MlDsa65;
    let counts = for_each_case("wycheproof/mldsa_65_sign_seed.json", |case| {
        let id = case.id();
        let key = mldsa::SigningKey::from_seed(set, &hex(&case.group["privateSeed"]));
        if case.has_flag("IncorrectPrivateKeyLength") {
            assert!(
                matches!(key, Err(Error::Malformed(Malformed::Length { .. }))),
                "{id}"
            );
            return;
        }
        let key = key.expect("a seed of 32 bytes");
        let expected = case.bytes("sig");
        assert_eq!(
            key.verifying_key().key_bytes(),
            hex(&case.group["publicKey"]),
            "{id}"
        );
        if case.has_flag("Internal") {
            // No library under this crate signs a given mu; that the bytes verify is checked.
            let mu: [u8; 64] = case.bytes("mu").try_into().unwrap();
            let verdict = mldsa::hazmat::verify_mu(key.verifying_key(), &mu, &expected);
            assert_eq!(verdict.expect("valid").origin(), Origin::Fresh, "{id}");
            return;
        }
        let (message, context) = (case.bytes("msg"), case.bytes("ctx"));
        let signature = match case.test["rnd"].as_str() {
            None => key.sign_deterministic(&context, &message),
            Some(_) => {
                let rnd = case.bytes("rnd").try_into().unwrap();
                mldsa::hazmat::sign_with_randomness(&key, &context, &message, rnd)
            }
        };
        if case.must_verify() {
            assert_eq!(signature.as_ref(), Ok(&expected), "{id}");
        } else {
            assert_eq!(
                signature,
                Err(Error::Misuse(Misuse::ContextTooLong { len: 256 })),
                "{id}"
            );
        }
    });
    assert_eq!(counts, (101, 4));
}

#[test]
fn ed25519_verdicts_agree() {
    let counts = for_each_case("wycheproof/ed25519.json", |case| {
        let key = ed25519::VerifyingKey::from_bytes(&hex(&case.group["publicKey"]["pk"]))
            .expect("all keys of the file are canonical");
        let verdict = key.verify(b"", &case.bytes("msg"), &case.bytes("sig"));
        assert_eq!(verdict.is_ok(), case.must_verify(), "{}", case.id());
    });
    assert_eq!(counts, (88, 63));
}

#[test]
fn ecdsa_p256_verdicts_agree_in_both_encodings() {
    let counts = for_each_case("wycheproof/ecdsa_secp256r1_sha256.json", |case| {
        let point = hex(&case.group["publicKey"]["uncompressed"]);
        let key = p256::VerifyingKey::from_bytes(&point).expect("all keys are on the curve");
        let same = p256::VerifyingKey::from_bytes(key.key_bytes()).expect("compressed form");
        assert_eq!(key, same);
        let (message, signature) = (case.bytes("msg"), case.bytes("sig"));
        let verdict = key.verify_der(&message, &signature);
        assert_eq!(verdict.is_ok(), case.must_verify(), "{}", case.id());
        if let Some(fixed) = fixed_from_der(&signature) {
            let verdict = same.verify(b"", &message, &fixed);
            assert_eq!(
                verdict.is_ok(),
                case.must_verify(),
                "{} as r || s",
                case.id()
            );
        }
    });
    assert_eq!(counts, (174, 310));
}

#[test]
fn ecdsa_secp256k1_verdicts_agree_in_both_encodings() {
    let counts = for_each_case("wycheproof/ecdsa_secp256k1_sha256_bitcoin.json", |case| {
        let point = hex(&case.group["publicKey"]["uncompressed"]);
        let key = secp256k1::VerifyingKey::from_bytes(&point).expect("all keys are on the curve");
        let same = secp256k1::VerifyingKey::from_bytes(key.key_bytes()).expect("compressed form");
        assert_eq!(key, same);
        let (message, signature) = (case.bytes("msg"), case.bytes("sig"));
        let verdict = key.verify_der(&message, &signature);
        assert_eq!(verdict.is_ok(), case.must_verify(), "{}", case.id());
        if let Some(fixed) = fixed_from_der(&signature) {
            let verdict = same.verify(b"", &message, &fixed);
            assert_eq!(
                verdict.is_ok(),
                case.must_verify(),
                "{} as r || s",
                case.id()
            );
        }
    });
    assert_eq!(counts, (162, 301));
}

/// `r || s` of a signature in canonical DER with both values below 2^256; `None` otherwise.
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
        half[32usize.checked_sub(magnitude.len())?..].copy_from_slice(magnitude);
        rest = tail;
    }
    rest.is_empty().then_some(fixed)
}

#[test]
fn bls_single_verdicts_agree() {
    let counts = for_each_case("wycheproof/bls_sig_g2_basic_verify.json", |case| {
        let id = case.id();
        let key = bls::VerifyingKey::from_bytes(&hex(&case.group["publicKey"]["pk"]));
        let verdict = key.and_then(|key| key.verify(b"", &case.bytes("msg"), &case.bytes("sig")));
        assert_eq!(verdict.is_ok(), case.must_verify(), "{id}");
        let Err(error) = verdict else { return };
        let flags: [(&str, &[&str]); 6] = [
            ("IdentityPoint", &["infinity"]),
            ("TruncatedSignature", &["length"]),
            ("NotOnCurve", &["encoding"]),
            ("NotInSubgroup", &["subgroup"]),
            ("WrongMessage", &["signature_invalid"]),
            ("WrongKey", &["signature_invalid"]),
        ];
        for (flag, codes) in flags {
            if case.has_flag(flag) {
                assert!(
                    codes.contains(&error.code()),
                    "{id} has flag {flag}: {error}"
                );
            }
        }
    });
    assert_eq!(counts, (29, 59));
}

#[test]
fn bls_aggregates_over_distinct_messages_agree() {
    let counts = for_each_case("wycheproof/bls_sig_g2_aggregate_verify.json", |case| {
        let id = case.id();
        let list = |name: &str| -> Vec<Vec<u8>> {
            case.test[name]
                .as_array()
                .unwrap()
                .iter()
                .map(hex)
                .collect()
        };
        let (keys, messages) = (list("pubkeys"), list("messages"));
        if case.has_flag("MismatchedCount") {
            // Pairs cannot be mismatched: the type of the argument refuses these cases.
            assert_ne!(keys.len(), messages.len(), "{id}");
            return;
        }
        let keys: Result<Vec<_>, _> = keys
            .iter()
            .map(|key| bls::VerifyingKey::from_bytes(key))
            .collect();
        let verdict = keys.and_then(|keys| {
            let pairs: Vec<_> = keys
                .into_iter()
                .zip(messages.iter().map(Vec::as_slice))
                .collect();
            bls::Signature::from_bytes(&case.bytes("sig"))
                .and_then(|signature| bls::verify_distinct(&pairs, &signature))
        });
        assert_eq!(verdict.is_ok(), case.must_verify(), "{id}");
    });
    assert_eq!(counts, (6, 13));
}

/// The public interface hashes only under its own tag, so the library below it is asked: signing
/// with the secret scalar 1 is hashing to the curve.
#[test]
fn bls_hash_to_curve_agrees() {
    let mut one = [0; 32];
    one[31] = 1;
    let one = blst::min_pk::SecretKey::from_bytes(&one).expect("1 is a scalar");
    let counts = for_each_case("wycheproof/bls_hash_to_g2.json", |case| {
        let tag = case.group["dst"].as_str().unwrap();
        let point = one.sign(&case.bytes("msg"), tag.as_bytes(), &[]);
        assert_eq!(
            point.to_bytes().to_vec(),
            case.bytes("expected"),
            "{}",
            case.id()
        );
    });
    assert_eq!(counts, (34, 0));
}
