//! NIST ACVP, reference BLS and independent SLH-DSA vectors.

use fips205::{
    slh_dsa_sha2_192f as oracle,
    traits::{SerDes as _, Verifier as _},
};
use horizon_sig::{
    bls,
    error::{Error, Malformed, Rejected},
    mldsa::{self, ParameterSet},
    slhdsa,
    traits::Verifier,
};
use horizon_testkit::{
    rng::rng,
    vectors::{from_hex, vector},
};
use serde_json::Value;

use crate::cases::hex;

#[test]
fn acvp_seeds_give_the_expected_public_keys() {
    let file = vector("acvp/ml-dsa-key-gen.json");
    let mut count = 0;
    for (set, test) in acvp_tests(&file) {
        let key = mldsa::SigningKey::from_seed(set, &hex(&test["seed"])).expect("32 bytes");
        assert_eq!(
            key.verifying_key().key_bytes(),
            hex(&test["pk"]),
            "{}",
            test["tcId"]
        );
        // The stored secret key is the seed; the expansion shows in the signatures it makes.
        let signature = key.sign_deterministic(b"ctx", b"message").expect("signs");
        assert!(
            key.verifying_key()
                .verify(b"ctx", b"message", &signature)
                .is_ok()
        );
        count += 1;
    }
    assert_eq!(count, 75);
}

/// The file has the internal interface: its messages are framed already.
#[test]
fn acvp_verdicts_agree_and_name_the_broken_rule() {
    let file = vector("acvp/ml-dsa-sig-ver.json");
    let mut count = 0;
    for group in file["testGroups"].as_array().unwrap() {
        let set = parameter_set(group);
        let key = mldsa::VerifyingKey::from_bytes(set, &hex(&group["pk"])).expect("a key");
        for test in group["tests"].as_array().unwrap() {
            let (message, signature) = (hex(&test["message"]), hex(&test["signature"]));
            let verdict = mldsa::hazmat::verify_internal(&key, &message, &signature);
            let reason = test["reason"].as_str().unwrap();
            // The cases named "z too large" hold no z out of range: c_tilde refuses them.
            let expected = match reason {
                "no modification" => None,
                "too many hints" => Some("signature_hint_encoding"),
                "modify message" | "modify signature" | "z too large" => Some("signature_invalid"),
                other => panic!("reason {other} is new"),
            };
            assert_eq!(test["testPassed"].as_bool().unwrap(), expected.is_none());
            let code = verdict.as_ref().err().map(Error::code);
            assert_eq!(code, expected, "{} ({reason})", test["tcId"]);
            count += 1;
        }
    }
    assert_eq!(count, 45);
}

fn acvp_tests(file: &Value) -> impl Iterator<Item = (ParameterSet, &Value)> {
    file["testGroups"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|group| {
            let set = parameter_set(group);
            group["tests"]
                .as_array()
                .unwrap()
                .iter()
                .map(move |test| (set, test))
        })
}

fn parameter_set(group: &Value) -> ParameterSet {
    let name = group["parameterSet"].as_str().unwrap();
    ParameterSet::ALL
        .into_iter()
        .find(|set| set.algorithm().name() == name)
        .expect("known set")
}

#[test]
fn reference_bls_cases_agree() {
    let file = vector("bls/bls.json");
    let mut counts = [0; 3];
    for case in file["cases"].as_array().unwrap() {
        match case["fn"].as_str().unwrap() {
            "sign" => {
                check_bls_sign(case);
                counts[0] += 1;
            }
            "aggregate" => {
                check_bls_aggregate(case);
                counts[1] += 1;
            }
            "parse_pk" => {
                let key = bls::VerifyingKey::from_bytes(&hex(&case["pk"]));
                assert_eq!(
                    key.is_ok(),
                    case["ok"].as_bool().unwrap(),
                    "{}",
                    case["name"]
                );
                counts[2] += 1;
            }
            other => panic!("case {other} is not run"),
        }
    }
    assert_eq!(counts, [9, 5, 4]);
}

fn check_bls_sign(case: &Value) {
    let key = bls::SigningKey::from_bytes(&hex(&case["sk"])).expect("a scalar");
    let message = hex(&case["msg"]);
    assert_eq!(key.verifying_key().key_bytes(), hex(&case["pk"]));
    let signature = key.sign_message(&message);
    assert_eq!(signature.to_bytes().to_vec(), hex(&case["sig"]));
    let verdict = key
        .verifying_key()
        .verify(b"", &message, &hex(&case["sig"]));
    assert_eq!(verdict.is_ok(), case["verify"].as_bool().unwrap());
    let verdict = key
        .verifying_key()
        .verify(b"", &message, &hex(&case["other_sig"]));
    assert_eq!(verdict.is_ok(), case["verify_other_sig"].as_bool().unwrap());
    let other_message = [&message[..], b"x"].concat();
    let verdict = key
        .verifying_key()
        .verify(b"", &other_message, &hex(&case["sig"]));
    assert_eq!(verdict.is_ok(), case["verify_other_msg"].as_bool().unwrap());
}

fn check_bls_aggregate(case: &Value) {
    let list =
        |name: &str| -> Vec<Vec<u8>> { case[name].as_array().unwrap().iter().map(hex).collect() };
    let message = hex(&case["msg"]);
    let keys: Vec<bls::ProvenKey> = list("sks")
        .iter()
        .map(|secret| {
            let key = bls::SigningKey::from_bytes(secret).expect("a scalar");
            key.verifying_key()
                .verify_possession(&key.prove_possession())
                .expect("own proof")
        })
        .collect();
    let signatures: Vec<bls::Signature> = list("sigs")
        .iter()
        .map(|bytes| bls::Signature::from_bytes(bytes).expect("a signature"))
        .collect();
    let sum = bls::aggregate(&signatures).expect("a sum");
    assert_eq!(sum.to_bytes().to_vec(), hex(&case["agg_sig"]));
    let key = bls::AggregateKey::new(&keys).expect("a sum");
    assert_eq!(key.to_bytes().to_vec(), hex(&case["agg_pk"]));
    let witness = key.verify(&message, &sum).expect("verifies");
    assert_eq!(witness.signer_count(), keys.len());

    let entries: Vec<_> = keys
        .iter()
        .copied()
        .zip(signatures.iter().map(|s| (*s).into()))
        .collect();
    let (combined_key, combined, _) =
        bls::combine(&message, &entries, &mut rng(1)).expect("all good");
    assert_eq!((combined_key.to_bytes(), combined), (key.to_bytes(), sum));
    if keys.len() > 1 {
        let fewer = bls::AggregateKey::new(&keys[1..]).expect("a sum");
        let verdict = fewer.verify(&message, &sum);
        assert_eq!(
            verdict.is_ok(),
            case["verify_one_missing"].as_bool().unwrap()
        );
    }
}

/// Section 9.6 of the wire document: scalars 1001 to 1005 over the unsigned message of 162 - 104
/// bytes are covered there; the proof of possession and the order of keys are checked here.
#[test]
fn published_possession_proof_and_key_order_agree() {
    let key_of = |scalar: u16| {
        let mut bytes = [0; 32];
        bytes[30..].copy_from_slice(&scalar.to_be_bytes());
        bls::SigningKey::from_bytes(&bytes).expect("a scalar")
    };
    let key = key_of(1001);
    let expected = "900c74e1c9358f834a8957b10ba1fc91918876e69be01a02340d25333f25ac41\
                    66b588c203bb039fe760cda30c5acacb18b1321549a1c9de1776b42aabe847b9\
                    679a00a23e3e4d8c8e7c325ca325823b7c79e9e6cef599dd3c29c0dba7a5f2a5";
    let proof = bls::PossessionProof::from_bytes(&from_hex(expected).unwrap()).expect("a point");
    assert_eq!(key.prove_possession().to_bytes(), proof.to_bytes());
    assert!(key.verifying_key().verify_possession(&proof).is_ok());
    let other = key_of(1002);
    let verdict = other.verifying_key().verify_possession(&proof);
    assert!(matches!(
        verdict,
        Err(Error::Rejected(Rejected::Equation { .. }))
    ));

    let mut order: Vec<u16> = (1001..=1005).collect();
    order.sort_by_key(|&scalar| *key_of(scalar).verifying_key());
    assert_eq!(order, [1003, 1004, 1002, 1005, 1001]);
}

#[test]
fn slh_dsa_cases_agree_with_ours_and_with_a_second_library() {
    let file = vector("slh-dsa/sha2-192f.json");
    let cases = file.as_array().unwrap();
    for (index, case) in cases.iter().enumerate() {
        let (message, context, signature) =
            (hex(&case["msg"]), hex(&case["ctx"]), hex(&case["sig"]));
        let expected = case["valid"].as_bool().unwrap();
        let key = slhdsa::VerifyingKey::from_bytes(&hex(&case["pk"])).expect("48 bytes");
        let verdict = key.verify(&context, &message, &signature);
        assert_eq!(verdict.is_ok(), expected, "case {index}");
        if let Err(error) = verdict {
            assert!(
                matches!(error, Error::Rejected(Rejected::Equation { .. })),
                "case {index}"
            );
        }
        let second =
            oracle::PublicKey::try_from_bytes(hex(&case["pk"]).try_into().unwrap()).expect("a key");
        let fixed = signature.try_into().expect("full length");
        assert_eq!(
            second.verify(&message, &fixed, &context),
            expected,
            "case {index}"
        );
    }
    assert_eq!(cases.len(), 9);
}

#[test]
fn slh_dsa_signatures_verify_under_the_second_library_and_back() {
    let mut rng = rng(0x51d5);
    let key = slhdsa::SigningKey::generate(&mut rng).expect("a key");
    let (context, message) = (rng.vec(255), rng.vec(77));
    let stored = slhdsa::SigningKey::from_bytes(&key.to_bytes()).expect("own bytes");
    let signature = stored
        .sign_deterministic(&context, &message)
        .expect("signs");
    assert_eq!(
        key.sign_deterministic(&context, &message).as_ref(),
        Ok(&signature)
    );
    let bytes = key.verifying_key().key_bytes().try_into().unwrap();
    let second = oracle::PublicKey::try_from_bytes(bytes).expect("a key");
    assert!(second.verify(&message, &signature.try_into().unwrap(), &context));

    let hedged = key
        .sign_hedged(&context, &message, &mut rng)
        .expect("signs");
    assert!(
        key.verifying_key()
            .verify(&context, &message, &hedged)
            .is_ok()
    );

    // A root that does not belong to the seeds makes signatures that nobody can verify.
    let mut wrong = key.to_bytes();
    wrong[95] ^= 1;
    let refused = slhdsa::SigningKey::from_bytes(&wrong).map(|_| ());
    assert!(matches!(
        refused,
        Err(Error::Malformed(Malformed::Encoding { .. }))
    ));
}
