//! Genuine signatures satisfy every row: two libraries, official vectors, edges of the encoding.

use std::collections::BTreeSet;

use aws_lc_rs::signature::{KeyPair as _, ML_DSA_65_SIGNING, PqdsaKeyPair};
use horizon_hash::sponge::shake256;
use horizon_sig::{
    mldsa::{ParameterSet, SigningKey, VerifyingKey, hazmat},
    traits::Verifier as _,
};
use horizon_testkit::{
    SeededRng, rng,
    vectors::{from_hex, vector},
};
use serde_json::Value;

use super::support::{Slot, labels, one_slot};
use crate::{
    key_image::PUBLIC_KEY_LEN,
    prove::{
        r1cs::Part,
        witness::{Signature, Vote, assign},
    },
    statement::{Member, Statement, key_hash, message_representative},
};

/// Signatures of each library: 200 together.
const EACH: usize = 100;

fn is_proved(key: &[u8], context: &[u8], message: &[u8], signature: &[u8]) {
    let statement = Statement {
        message,
        context,
        inputs_hash: [7; 32],
        weight_min: 5,
    };
    let vote = Vote {
        member: Member {
            key: Some(key.try_into().expect("a key of this size")),
            weight: 5,
        },
        signature: Some(signature),
    };
    let assignment = assign(one_slot(), &statement, &[vote]).expect("a good signature");
    let failing = one_slot().failing_rows(&assignment);
    assert!(failing.is_empty(), "{:?}", labels(&failing));
}

#[test]
fn signatures_of_libcrux_are_proved_deterministic_and_hedged() {
    let mut rng = rng(61);
    for case in 0..EACH {
        let key = SigningKey::generate(ParameterSet::MlDsa65, &mut rng).unwrap();
        let context = rng.vec([0, 1, 23, 23, 255][case % 5]);
        let message_len = rng.index(200);
        let message = rng.vec(message_len);
        let signature = if case % 2 == 0 {
            key.sign_deterministic(&context, &message).unwrap()
        } else {
            key.sign_hedged(&context, &message, &mut rng).unwrap()
        };
        is_proved(
            key.verifying_key().key_bytes(),
            &context,
            &message,
            &signature,
        );
    }
}

/// AWS-LC signs without a context and always hedged.
#[test]
fn signatures_of_aws_lc_are_proved() {
    let mut rng = rng(62);
    for _ in 0..EACH {
        let key = PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, &rng.bytes::<32>()).unwrap();
        let message = rng.bytes::<32>();
        let mut signature = vec![0; 3309];
        assert_eq!(key.sign(&message, &mut signature).unwrap(), signature.len());
        is_proved(key.public_key().as_ref(), b"", &message, &signature);
    }
}

fn hex(value: &Value) -> Vec<u8> {
    from_hex(value.as_str().expect("a string")).expect("hex")
}

/// Every valid case of both Wycheproof files; `InvalidPrivateKey` and the like are valid signatures
/// all the same.
#[test]
fn wycheproof_signatures_are_proved() {
    let mut count = 0;
    for group in vector("wycheproof/mldsa_65_verify.json")["testGroups"]
        .as_array()
        .unwrap()
    {
        let key = hex(&group["publicKey"]);
        for test in group["tests"].as_array().unwrap() {
            if test["result"] == "valid" {
                let context = test.get("ctx").map_or_else(Vec::new, hex);
                is_proved(&key, &context, &hex(&test["msg"]), &hex(&test["sig"]));
                count += 1;
            }
        }
    }
    assert_eq!(count, 79);
}

/// Every invalid case that has a key of the right size and decodes is refused by the rows alone,
/// those with a large response by their norm; the others do not decode.
#[test]
fn wycheproof_forgeries_are_refused_by_the_rows_themselves() {
    let (mut by_norm, mut by_challenge, mut undecodable) = (0, 0, 0);
    for group in vector("wycheproof/mldsa_65_verify.json")["testGroups"]
        .as_array()
        .expect("groups")
    {
        let key = hex(&group["publicKey"]);
        let Ok(key) = <&[u8; PUBLIC_KEY_LEN]>::try_from(&key[..]) else {
            continue;
        };
        for test in group["tests"].as_array().expect("tests") {
            let context = test.get("ctx").map_or_else(Vec::new, hex);
            if test["result"] != "invalid" || context.len() > 255 {
                continue;
            }
            let (message, bytes) = (hex(&test["msg"]), hex(&test["sig"]));
            if Signature::decode(&bytes).is_none() {
                undecodable += 1;
                continue;
            }
            let mu = message_representative(&key_hash(key), &context, &message).expect("short");
            let failing = Slot::decode(key, mu, &bytes).failing();
            assert!(!failing.is_empty(), "{}", test["tcId"]);
            let norm = failing.iter().any(|label| label.part == Part::Norm);
            let flags = test["flags"].as_array().expect("flags");
            assert_eq!(
                norm,
                flags.contains(&"InfinityNormViolation".into()),
                "{failing:?}"
            );
            *(if norm {
                &mut by_norm
            } else {
                &mut by_challenge
            }) += 1;
        }
    }
    assert_eq!((by_norm, by_challenge, undecodable), (52, 57, 13));
}

/// The signing file repeats most signatures of the other one; those that it adds are proved for the
/// `mu` it gives, some of them for a `mu` that belongs to no message.
#[test]
fn wycheproof_signatures_of_the_signing_file_are_proved() {
    let valid = |name: &str| -> Vec<(Vec<u8>, Value)> {
        let file = vector(name);
        let groups = file["testGroups"].as_array().expect("groups").iter();
        groups
            .flat_map(|group| {
                let tests = group["tests"].as_array().expect("tests").iter();
                let valid = tests.filter(|test| test["result"] == "valid");
                valid.map(|test| (hex(&group["publicKey"]), test.clone()))
            })
            .collect()
    };
    let known: BTreeSet<String> = valid("wycheproof/mldsa_65_verify.json")
        .iter()
        .map(|(_, test)| test["sig"].to_string())
        .collect();
    let mut count = 0;
    for (key, test) in valid("wycheproof/mldsa_65_sign_seed.json") {
        if known.contains(&test["sig"].to_string()) {
            continue;
        }
        let mu = hex(&test["mu"]).try_into().expect("64 bytes");
        let slot = Slot::decode(&key, mu, &hex(&test["sig"]));
        assert_eq!(slot.failing(), [], "{}", test["tcId"]);
        count += 1;
    }
    assert_eq!(count, 26);
}

/// The cases have the internal interface: the message is framed already.
#[test]
fn acvp_signatures_are_proved() {
    let mut count = 0;
    for group in vector("acvp/ml-dsa-sig-ver.json")["testGroups"]
        .as_array()
        .unwrap()
    {
        if group["parameterSet"] != "ML-DSA-65" {
            continue;
        }
        let key = hex(&group["pk"]);
        let tr = key_hash(key[..].try_into().unwrap());
        for test in group["tests"].as_array().unwrap() {
            let mut mu = [0; 64];
            shake256(&[&tr, &hex(&test["message"])], &mut mu);
            if test["testPassed"] == true {
                let slot = Slot::decode(&key, mu, &hex(&test["signature"]));
                assert_eq!(slot.failing(), [], "{}", test["tcId"]);
                count += 1;
            }
        }
    }
    assert_eq!(count, 3);
}

/// A key and a signature for the tests that change something.
pub(crate) fn genuine(rng: &mut SeededRng) -> Slot {
    let key = SigningKey::generate(ParameterSet::MlDsa65, rng).unwrap();
    let message = rng.bytes::<32>();
    let signature = key.sign_hedged(b"context", &message, rng).unwrap();
    let bytes: &[u8; PUBLIC_KEY_LEN] = key.verifying_key().key_bytes().try_into().unwrap();
    let mu = message_representative(&key_hash(bytes), b"context", &message).unwrap();
    let verifier = VerifyingKey::from_bytes(ParameterSet::MlDsa65, bytes).unwrap();
    let _verified = hazmat::verify_mu(&verifier, &mu, &signature).unwrap();
    Slot::decode(bytes, mu, &signature)
}
