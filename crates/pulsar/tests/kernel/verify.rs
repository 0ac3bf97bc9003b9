//! Verification vectors: accept, reject, and where this implementation refuses what the reference
//! accepts.

use std::collections::BTreeMap;

use horizon_pulsar::{
    Error, GroupKey, PreparedKey, Signature, Suite,
    error::{Malformed, Rejected},
    verify::{norm_squared, verify, verify_batch},
};
use horizon_ring::{NttPoly, Poly, modulus, ntt};
use horizon_testkit::vectors::to_hex;
use serde_json::Value;

use crate::support::{
    Labelled, a_ser, assert_digest, cases, hex, number, sha256, signature, slots, suite, text,
    words,
};

/// A signing case of the vectors with its key.
struct Known {
    key: GroupKey,
    suite: Suite,
    message: Vec<u8>,
    signature: Signature,
}

fn known() -> BTreeMap<String, Known> {
    let mut known = BTreeMap::new();
    for file in ["sign/t_equals_k.json", "sign/t_of_n.json"] {
        for case in cases(file) {
            let dealing = if file.contains("equals") {
                crate::sign::reference_dealing(&case)
            } else {
                crate::sign::key_era_dealing(&case)
            };
            let entry = Known {
                key: dealing.group_key,
                suite: suite(&case["suite"]),
                message: hex(&case["msg"]),
                signature: signature(&case["signature"]),
            };
            known.insert(text(&case["name"]).to_owned(), entry);
        }
    }
    known
}

#[test]
fn mutated_signatures_get_the_reference_verdict_or_a_stricter_one() {
    let known = known();
    let (mut same, mut stricter) = (0, 0);
    for case in cases("verify/mutations.json") {
        let of = &known[text(&case["of"])];
        let verdict = judge(&known, of, &case);
        let context = format!("{} of {}", case["mutation"], case["of"]);
        let reference_accepts = case["accept"].as_bool().unwrap();
        let reference_panics = case.get("panic").is_some();
        match (text(&case["mutation"]), verdict) {
            ("none", Ok(())) => same += 1,
            ("msg: empty", Ok(())) if reference_accepts && of.message.is_empty() => same += 1,
            (mutation, Err(Error::Malformed(fault))) => {
                assert_eq!(Some(fault), refusal(mutation), "{context}");
                // What the reference accepts, panics on, or refuses after hashing.
                if reference_accepts || reference_panics {
                    stricter += 1
                } else {
                    same += 1
                }
            }
            (mutation, Err(Error::Rejected(why))) => {
                assert!(!reference_accepts && !reference_panics, "{context}");
                let norm = matches!(
                    mutation,
                    "delta[7][255] += QNu/2 mod QNu" | "z[0] += NTT-Mont(2^47)"
                ) || mutation.starts_with("z[")
                    || mutation == "swap z[0], z[1]";
                if !norm {
                    assert_eq!(why, Rejected::Challenge, "{context}");
                }
                same += 1;
            }
            (_, verdict) => panic!("{context}: {verdict:?}"),
        }
    }
    assert_eq!((same, stricter), (252 - 62, 62));
}

/// The exact refusal of a mutation that makes the encoding non-canonical.
fn refusal(mutation: &str) -> Option<Malformed> {
    let max = modulus::Q - 1;
    Some(match mutation {
        "z truncated to 6 polys" => Malformed::FrameLength {
            field: "signature.z",
            expected: 14_456,
        },
        "delta truncated to 7 polys" => Malformed::FrameLength {
            field: "signature.delta",
            expected: 16_520,
        },
        "z[0][0] += q (non-canonical)" => Malformed::Range {
            field: "signature.z",
            max,
        },
        "c[0] += q (non-canonical)" => Malformed::Range {
            field: "signature.c",
            max,
        },
        "delta[0][0] += QNu (non-canonical)" => Malformed::Range {
            field: "signature.delta",
            max: (1 << 19) - 1,
        },
        _ => return None,
    })
}

/// Applies a mutation to the framed bytes and verifies them.
fn judge(known: &BTreeMap<String, Known>, of: &Known, case: &Value) -> Result<(), Error> {
    let mut framed = of.signature.to_framed();
    let (mut suite, mut key) = (of.suite, &of.key);
    let message = case.get("msg").map_or_else(|| of.message.clone(), hex);
    match text(&case["mutation"]) {
        "none" | "msg: append 'x'" | "msg: empty" => {}
        "suite: Pulsar-SHA3" => suite = Suite::PulsarSha3,
        "suite: Pulsar-BLAKE3" => suite = Suite::PulsarBlake3,
        "c[0] += 1 mod q" => word(&mut framed, C, |v| (v + 1) % modulus::Q),
        "z[0][0] += 1 mod q (stored NTT-Montgomery value)" => {
            word(&mut framed, Z, |v| (v + 1) % modulus::Q);
        }
        "z[6][255] ^= 2^40" => word(&mut framed, Z + 6 * POLY + 255 * 8, |v| v ^ 1 << 40),
        "delta[0][0] += 1 mod QNu" => word(&mut framed, DELTA, |v| (v + 1) % (1 << 19)),
        "delta[7][255] += QNu/2 mod QNu" => {
            word(&mut framed, DELTA + 7 * POLY + 255 * 8, |v| {
                (v + (1 << 18)) % (1 << 19)
            });
        }
        "swap z[0], z[1]" => {
            let (first, second) = framed[Z..].split_at_mut(POLY);
            first[..2048].swap_with_slice(&mut second[..2048]);
        }
        "z truncated to 6 polys" => shorten(&mut framed, Z, 7, 2_064 * 6 + 8),
        "delta truncated to 7 polys" => shorten(&mut framed, DELTA, 8, 2_064 * 7 + 8),
        "z[0][0] += q (non-canonical)" => word(&mut framed, Z, |v| v + modulus::Q),
        "c[0] += q (non-canonical)" => word(&mut framed, C, |v| v + modulus::Q),
        "delta[0][0] += QNu (non-canonical)" => word(&mut framed, DELTA, |v| v + (1 << 19)),
        "c := 0" => framed[C..C + 2048].fill(0),
        "z[0] += NTT-Mont(2^47)" => {
            let mut big = Poly::ZERO;
            big.as_mut_array()[0] = 1 << 47;
            for (i, &add) in ntt::forward_montgomery(&big).as_array().iter().enumerate() {
                word(&mut framed, Z + 8 * i, |v| modulus::add(v, add));
            }
        }
        other => {
            let name = other
                .strip_prefix("group key of ")
                .expect("a known mutation");
            key = &known[name].key;
        }
    }
    let signature = Signature::from_framed(&framed)?;
    let cold = verify(key, suite, &message, &signature).map(drop);
    let warm = PreparedKey::new(key, suite)
        .verify(&message, &signature)
        .map(drop);
    assert_eq!(cold, warm);
    cold
}

/// First coefficients inside the framed encoding.
const C: usize = 6 + 4 + 16;
const Z: usize = 6 + 4 + 2_064 + 4 + 8 + 16;
const DELTA: usize = 6 + 4 + 2_064 + 4 + 14_456 + 4 + 8 + 16;
const POLY: usize = 2_064;

fn word(framed: &mut [u8], at: usize, change: impl Fn(u64) -> u64) {
    let value = u64::from_le_bytes(framed[at..at + 8].try_into().unwrap());
    framed[at..at + 8].copy_from_slice(&change(value).to_le_bytes());
}

/// Removes the last polynomial of the vector whose first coefficient is at `first`, correcting both
/// counts, and pads the object to its size so that only the shape is wrong.
fn shorten(framed: &mut Vec<u8>, first: usize, polys: usize, len: u32) {
    framed[first - 28..first - 24].copy_from_slice(&len.to_be_bytes());
    framed[first - 24..first - 16].copy_from_slice(&(polys as u64 - 1).to_le_bytes());
    let end = first - 16 + polys * POLY;
    framed.drain(end - POLY..end);
    framed.extend_from_slice(&[0; POLY]);
}

#[test]
fn the_norm_bound_is_exact() {
    for case in cases("verify/norm_boundary.json") {
        let name = text(&case["name"]);
        let a = Labelled::new(text(&case["label"]), 1 << 18).slots(56);
        let b: Vec<Poly> = vec![Poly::ZERO; 8];
        let key = GroupKey::new(&a, &b).unwrap();
        assert_digest(&case["A"], a_ser(&key), name);
        let z: [NttPoly; 7] = slots(&case["z"]).try_into().unwrap();
        let mut delta = Box::new([const { Poly::ZERO }; 8]);
        for entry in case["delta"]["sparse"].as_array().into_iter().flatten() {
            let at = |i: usize| number(&entry[i]);
            delta[at(0) as usize].as_mut_array()[at(1) as usize] = at(2);
        }
        let c = NttPoly::from_array_unchecked(words(&case["c"]));
        let signature = Signature::new(c, z, delta).unwrap();
        let verdict = verify(&key, Suite::PulsarSha3, &hex(&case["msg"]), &signature).map(drop);
        let expected = if case["accept"].as_bool().unwrap() {
            Ok(())
        } else {
            assert_eq!(
                norm_squared(&signature),
                horizon_pulsar::params::B_SQUARED + 1,
                "{name}"
            );
            Err(Error::Rejected(Rejected::Norm))
        };
        assert_eq!(verdict, expected, "{name}");
    }
}

#[test]
fn serialised_pulses_are_those_of_the_reference() {
    let known = known();
    let mut count = 0;
    for case in cases("pulse/serialize.json") {
        let of = &known[text(&case["of"])];
        let bytes = of.signature.to_pulse_bytes();
        assert_eq!(sha256(&bytes), text(&case["pulse_sha256"]));
        assert!(to_hex(&bytes).starts_with(text(&case["first64"])));
        assert_eq!(Signature::from_pulse_bytes(&bytes).unwrap(), of.signature);
        count += 1;
    }
    assert_eq!(count, 21);
}

#[test]
fn no_malformed_pulse_of_the_vectors_decodes() {
    let (mut refused_by_both, mut refused_by_us) = (0, 0);
    for case in cases("pulse/malformed.json") {
        let name = text(&case["name"]);
        let bytes = match case.get("bytes") {
            Some(bytes) => hex(bytes),
            None => built(&case),
        };
        let error = Signature::from_pulse_bytes(&bytes).map(drop).unwrap_err();
        let field = "signature";
        let expected = if bytes.len() < 33_052 {
            Malformed::Short {
                field,
                expected: 33_052,
            }
        } else {
            Malformed::Trailing {
                field,
                expected: 33_052,
            }
        };
        assert_eq!(error, expected.into(), "{name}");
        if case["ok"].as_bool().unwrap() {
            refused_by_us += 1
        } else {
            refused_by_both += 1
        }
    }
    assert_eq!((refused_by_both, refused_by_us), (16, 4));
}

/// The long malformed cases: frames of polynomials 1, 2, 3, ... as the README describes.
fn built(case: &Value) -> Vec<u8> {
    let poly = |n: u64| -> Vec<u8> {
        [1, n]
            .into_iter()
            .chain(1..=n)
            .flat_map(u64::to_le_bytes)
            .collect()
    };
    let vector = |k: u64, n: u64| -> Vec<u8> {
        let mut out = k.to_le_bytes().to_vec();
        (0..k).for_each(|_| out.extend(poly(n)));
        out
    };
    let name = text(&case["name"]);
    let frames = if name.contains("4094 coefficients") {
        [poly(4094), vector(1, 4), vector(1, 4)]
    } else if name.contains("4095 coefficients") {
        [poly(4095), vector(1, 4), vector(1, 4)]
    } else {
        [poly(4), vector(1, 4094), vector(1, 4)]
    };
    let mut out = Vec::new();
    for frame in frames {
        out.extend((frame.len() as u32).to_le_bytes());
        out.extend(frame);
    }
    assert_eq!(sha256(&out), text(&case["bytes_sha256"]), "{name}");
    out
}

#[test]
fn batches_give_each_signature_its_own_verdict() {
    let known = known();
    let of = &known["tk-2-n5-Pulsar-SHA3"];
    let prepared = PreparedKey::new(&of.key, of.suite);
    let mut bad_challenge = of.signature.to_framed();
    word(&mut bad_challenge, C, |v| (v + 1) % modulus::Q);
    let bad = Signature::from_framed(&bad_challenge).unwrap();
    assert!(verify_batch(&prepared, &[]).is_empty());
    // Around the width of a lane group, with other messages and bad signatures in between.
    for count in [1, 2, 7, 8, 9, 17] {
        let entries: Vec<(&[u8], &Signature)> = (0..count)
            .map(|i| match i % 3 {
                0 => (&of.message[..], &of.signature),
                1 => (&b"another message, of another length"[..], &of.signature),
                _ => (&of.message[..], &bad),
            })
            .collect();
        let verdicts = verify_batch(&prepared, &entries);
        assert_eq!(verdicts.len(), count);
        for (i, ((message, signature), verdict)) in entries.iter().zip(&verdicts).enumerate() {
            assert_eq!(
                *verdict,
                prepared.verify(message, signature),
                "entry {i} of {count}"
            );
            assert_eq!(verdict.is_ok(), i % 3 == 0);
        }
    }
}

#[test]
fn a_witness_names_key_suite_and_message() {
    let known = known();
    let of = &known["tk-1-n3-Pulsar-SHA3"];
    let prepared = PreparedKey::new(&of.key, of.suite);
    let witness = prepared.verify(&of.message, &of.signature).unwrap();
    assert_eq!(witness.suite(), of.suite);
    assert_eq!(witness.key_digest(), prepared.key_digest());
    let other = &known["tk-2-n5-Pulsar-SHA3"];
    let other = PreparedKey::new(&other.key, other.suite).verify(&other.message, &other.signature);
    assert_ne!(witness.challenge_seed(), other.unwrap().challenge_seed());
}
