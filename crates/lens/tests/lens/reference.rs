//! The reference implementation's Lens: its bytes are refused, its shares can move over.

use horizon_lens::wire::Frame as _;
use horizon_lens::{
    Error, GroupKey, KeyShare, Malformed, Rejected, Signature, Signer, Suite, SuiteId,
    VerifyingKey, verify,
};
use horizon_testkit::vectors::vector;
use serde_json::Value;

use crate::support::{hex, sign};
use crate::vectors::{group_frame, independent_verify, share_frame};

on_every_suite!(
    l20_signatures_of_the_reference_are_refused,
    l06_encodings_that_the_reference_accepts_are_refused,
    shares_of_the_reference_sign_under_the_standard,
    keys_that_the_reference_generated_are_consistent,
);

fn cases<S: Suite>(what: &str) -> Vec<Value> {
    let name = match S::ID {
        SuiteId::Ed25519 => "ed25519",
        SuiteId::Secp256k1 => "secp256k1",
        _ => "ristretto255",
    };
    let file = vector(&format!("lens/{what}_{name}.json"));
    file["cases"].as_array().unwrap().clone()
}

fn l20_signatures_of_the_reference_are_refused<S: Suite>() {
    let mut refused = 0;
    for case in cases::<S>("sign") {
        let Some(signature) = case["signature"].as_str() else {
            continue;
        };
        let signature = horizon_testkit::vectors::from_hex(signature).unwrap();
        let (key, message) = (hex(&case["X"]), hex(&case["msg"]));
        assert!(!independent_verify(S::ID, &key, &message, &signature));
        let key = VerifyingKey::<S>::from_bytes(&key).unwrap();
        let signature = Signature::<S>::from_raw(&signature).unwrap();
        let result = verify(&key, &message, &signature);
        assert_eq!(result, Err(Error::Rejected(Rejected::Signature)));
        refused += 1;
    }
    assert!(refused >= 4, "{refused}");
}

fn l06_encodings_that_the_reference_accepts_are_refused<S: Suite>() {
    let mut lax = 0;
    for case in cases::<S>("curve") {
        let bytes = || hex(&case["bytes"]);
        match case["fn"].as_str().unwrap() {
            "UnmarshalPoint" => {
                let ours = VerifyingKey::<S>::from_bytes(&bytes());
                let theirs = case["ok"].as_bool().unwrap();
                // Ours is stricter and never laxer.
                assert!(theirs || ours.is_err(), "{}", case["name"]);
                if theirs && case["identity"] == true {
                    let point = Malformed::Point {
                        field: "verifying key",
                    };
                    assert_eq!(ours, Err(point.into()), "{}", case["name"]);
                    lax += 1;
                } else if let Ok(key) = ours {
                    assert_eq!(key.as_bytes(), bytes());
                } else {
                    lax += usize::from(theirs);
                }
            }
            "UnmarshalScalar" => {
                // A scalar alone is no message: put it where a signature has its own.
                let point = hex(&cases::<S>("sign")[0]["X"]);
                let signature = Signature::<S>::from_raw(&[&point[..], &bytes()].concat());
                assert_eq!(signature.is_ok(), case["ok"] == true, "{}", case["name"]);
            }
            _ => (),
        }
    }
    assert!(lax > 0 || S::ID == SuiteId::Ristretto255);
}

/// The group and the signers of a case, read through our frames.
fn moved_over<S: Suite>(
    t: u16,
    key: &[u8],
    parties: &[(u16, Vec<u8>, Vec<u8>)],
) -> (GroupKey<S>, Vec<Signer<S>>) {
    let public: Vec<_> = parties.iter().map(|(n, _, y)| (*n, y.clone())).collect();
    let group = GroupKey::from_bytes(&group_frame::<S>(t, key, &public)).unwrap();
    let signers = parties.iter().map(|(n, secret, _)| {
        let share = KeyShare::from_bytes(&share_frame::<S>(t, *n, secret, key)).unwrap();
        Signer::new(share, group.clone()).unwrap()
    });
    let signers = signers.collect();
    (group, signers)
}

fn shares_of_the_reference_sign_under_the_standard<S: Suite>() {
    let mut rng = horizon_testkit::rng(81);
    let mut moved = 0;
    for case in cases::<S>("sign") {
        let number = |name: &str| u16::try_from(case[name].as_u64().unwrap()).unwrap();
        let (t, key) = (number("t"), hex(&case["X"]));
        let mut parties: Vec<(u16, Vec<u8>, Vec<u8>)> = case["parties"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(n, facts)| {
                let secret = hex(&facts["sk_share"]);
                let public = hex(&facts["verification_share"]);
                (n.parse().unwrap(), secret, public)
            })
            .collect();
        parties.sort();
        if t < 2 || parties.len() < 2 {
            continue;
        }
        let (group, signers) = moved_over::<S>(t, &key, &parties);
        let chosen: Vec<_> = signers.iter().rev().take(usize::from(t)).collect();
        let message = hex(&case["msg"]);
        let signature = sign(&chosen, &message, &mut rng).unwrap();
        let _verified = verify(group.verifying_key(), &message, &signature).unwrap();
        let raw = signature.to_raw();
        assert!(independent_verify(S::ID, &key, &message, &raw));
        moved += 1;
    }
    assert!(moved >= 3, "{moved}");
}

fn keys_that_the_reference_generated_are_consistent<S: Suite>() {
    let mut rng = horizon_testkit::rng(82);
    let mut moved = 0;
    for case in cases::<S>("dkg") {
        let Some(shares) = case["final_shares"].as_object() else {
            continue;
        };
        let t = u16::try_from(case["t"].as_u64().unwrap()).unwrap();
        if t < 2 {
            continue;
        }
        let key = hex(&case["group_key_X"]);
        let mut parties: Vec<(u16, Vec<u8>, Vec<u8>)> = shares
            .iter()
            .map(|(n, secret)| {
                let (n, secret) = (n.parse().unwrap(), hex(secret));
                let frame = share_frame::<S>(t, n, &secret, &key);
                let share = KeyShare::<S>::from_bytes(&frame).unwrap();
                (n, secret, share.verifying_share())
            })
            .collect();
        parties.sort();
        let (group, signers) = moved_over::<S>(t, &key, &parties);
        let chosen: Vec<_> = signers.iter().take(usize::from(t)).collect();
        let signature = sign(&chosen, b"m", &mut rng).unwrap();
        let _verified = verify(group.verifying_key(), b"m", &signature).unwrap();
        moved += 1;
    }
    assert!(moved > 0);
}
