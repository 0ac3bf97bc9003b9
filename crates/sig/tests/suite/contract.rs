//! One body for every scheme: what the trait pair promises.

use horizon_sig::{
    algorithm::{Algorithm, CONTEXT_LEN_MAX},
    bls, ed25519,
    error::{Error, Field, Malformed, Misuse, Rejected},
    mldsa::{self, ParameterSet},
    p256, secp256k1, slhdsa,
    traits::{Origin, Signer, Verifier},
};
use horizon_testkit::rng::rng;

type Decode = fn(&[u8]) -> Result<Box<dyn Verifier>, Error>;

struct Scheme {
    signer: Box<dyn Signer>,
    decode: Decode,
}

fn schemes() -> Vec<Scheme> {
    let mut rng = rng(0x5349_4753);
    let rng = &mut rng;
    fn boxed<V: Verifier + 'static>(key: Result<V, Error>) -> Result<Box<dyn Verifier>, Error> {
        key.map(|key| Box::new(key) as _)
    }
    fn mldsa(set: ParameterSet, bytes: &[u8]) -> Result<Box<dyn Verifier>, Error> {
        boxed(mldsa::VerifyingKey::from_bytes(set, bytes))
    }
    vec![
        Scheme {
            signer: Box::new(bls::SigningKey::generate(rng).unwrap()),
            decode: |bytes| boxed(bls::VerifyingKey::from_bytes(bytes)),
        },
        Scheme {
            signer: Box::new(mldsa::SigningKey::generate(ParameterSet::MlDsa44, rng).unwrap()),
            decode: |bytes| mldsa(ParameterSet::MlDsa44, bytes),
        },
        Scheme {
            signer: Box::new(mldsa::SigningKey::generate(ParameterSet::MlDsa65, rng).unwrap()),
            decode: |bytes| mldsa(ParameterSet::MlDsa65, bytes),
        },
        Scheme {
            signer: Box::new(mldsa::SigningKey::generate(ParameterSet::MlDsa87, rng).unwrap()),
            decode: |bytes| mldsa(ParameterSet::MlDsa87, bytes),
        },
        Scheme {
            signer: Box::new(slhdsa::SigningKey::generate(rng).unwrap()),
            decode: |bytes| boxed(slhdsa::VerifyingKey::from_bytes(bytes)),
        },
        Scheme {
            signer: Box::new(ed25519::SigningKey::generate(rng).unwrap()),
            decode: |bytes| boxed(ed25519::VerifyingKey::from_bytes(bytes)),
        },
        Scheme {
            signer: Box::new(p256::SigningKey::generate(rng).unwrap()),
            decode: |bytes| boxed(p256::VerifyingKey::from_bytes(bytes)),
        },
        Scheme {
            signer: Box::new(secp256k1::SigningKey::generate(rng).unwrap()),
            decode: |bytes| boxed(secp256k1::VerifyingKey::from_bytes(bytes)),
        },
    ]
}

#[test]
fn all_algorithms_are_covered_and_found_by_name() {
    let covered: Vec<_> = schemes()
        .iter()
        .map(|scheme| scheme.signer.algorithm())
        .collect();
    assert_eq!(covered, Algorithm::ALL);
    for algorithm in Algorithm::ALL {
        assert_eq!(Algorithm::from_name(algorithm.name()), Some(algorithm));
    }
    assert_eq!(Algorithm::from_name("ml-dsa-65"), None);
}

#[test]
fn signatures_verify_and_lengths_are_as_announced() {
    let mut rng = rng(1);
    for Scheme { signer, decode } in schemes() {
        let algorithm = signer.algorithm();
        let key = decode(signer.verifying_key_bytes()).expect("own key");
        assert_eq!(key.algorithm(), algorithm);
        assert_eq!(key.key_bytes(), signer.verifying_key_bytes());
        assert_eq!(key.key_bytes().len(), algorithm.verifying_key_len());
        let context: &[u8] = if algorithm.has_context() {
            b"context"
        } else {
            b""
        };
        for message in [&b""[..], b"m", &[0xa5; 1000]] {
            let signature = signer.sign(context, message, &mut rng).expect("signs");
            assert_eq!(signature.len(), algorithm.signature_len());
            let witness = key.verify(context, message, &signature).expect("verifies");
            assert_eq!(
                (witness.algorithm(), witness.origin()),
                (algorithm, Origin::Fresh)
            );
        }
    }
}

#[test]
fn q24_contexts_separate_or_are_refused() {
    let mut rng = rng(2);
    for Scheme { signer, decode } in schemes() {
        let algorithm = signer.algorithm();
        let key = decode(signer.verifying_key_bytes()).expect("own key");
        if !algorithm.has_context() {
            let refused = Error::Misuse(Misuse::ContextUnsupported { algorithm });
            assert_eq!(signer.sign(b"c", b"m", &mut rng), Err(refused.clone()));
            let signature = signer.sign(b"", b"m", &mut rng).expect("signs");
            assert_eq!(key.verify(b"c", b"m", &signature), Err(refused));
            continue;
        }
        let longest = [b'c'; CONTEXT_LEN_MAX];
        let signature = signer.sign(&longest, b"m", &mut rng).expect("signs");
        assert!(key.verify(&longest, b"m", &signature).is_ok());
        for other in [&b""[..], b"c", &longest[1..]] {
            let verdict = key.verify(other, b"m", &signature);
            assert_eq!(
                verdict,
                Err(Error::Rejected(Rejected::Equation { algorithm }))
            );
        }
        // The boundary between context and message is part of what is signed.
        let verdict = key.verify(&longest[1..], b"cm", &signature);
        assert_eq!(
            verdict,
            Err(Error::Rejected(Rejected::Equation { algorithm }))
        );
        let too_long = [b'c'; CONTEXT_LEN_MAX + 1];
        let refused = Error::Misuse(Misuse::ContextTooLong { len: 256 });
        assert_eq!(signer.sign(&too_long, b"m", &mut rng), Err(refused.clone()));
        assert_eq!(key.verify(&too_long, b"m", &signature), Err(refused));
    }
}

#[test]
fn every_other_length_of_key_and_signature_is_refused() {
    let mut rng = rng(3);
    for Scheme { signer, decode } in schemes() {
        let algorithm = signer.algorithm();
        let key_bytes = signer.verifying_key_bytes();
        let key = decode(key_bytes).expect("own key");
        let signature = signer.sign(b"", b"m", &mut rng).expect("signs");
        let lengths = |len: usize| [0, 1, len / 2, len - 1, len + 1, 2 * len];
        for len in lengths(key_bytes.len()) {
            let bytes: Vec<u8> = key_bytes.iter().copied().cycle().take(len).collect();
            let Err(Error::Malformed(Malformed::Length {
                field, len: given, ..
            })) = decode(&bytes).map(|_| ())
            else {
                panic!("{algorithm}: key of {len} bytes");
            };
            assert_eq!((field, given), (Field::VerifyingKey, len));
        }
        for len in lengths(signature.len()) {
            let bytes: Vec<u8> = signature.iter().copied().cycle().take(len).collect();
            let expected = algorithm.signature_len();
            let field = Field::Signature;
            let refused = Malformed::Length {
                algorithm,
                field,
                len,
                expected,
            };
            assert_eq!(
                key.verify(b"", b"m", &bytes),
                Err(Error::Malformed(refused))
            );
        }
    }
}

#[test]
fn any_changed_byte_is_refused() {
    let mut rng = rng(4);
    for Scheme { signer, decode } in schemes() {
        let algorithm = signer.algorithm();
        let key_bytes = signer.verifying_key_bytes().to_vec();
        let key = decode(&key_bytes).expect("own key");
        let signature = signer.sign(b"", b"message", &mut rng).expect("signs");
        assert!(key.verify(b"", b"message", &signature).is_ok());
        // All bytes of short signatures, about 150 places of long ones, ends included.
        let stride = 1 + signature.len() / 150;
        for index in (0..signature.len())
            .step_by(stride)
            .chain([signature.len() - 1])
        {
            let mut damaged = signature.clone();
            damaged[index] ^= 1 << rng.index(8);
            let verdict = key.verify(b"", b"message", &damaged);
            assert!(
                matches!(verdict, Err(Error::Rejected(_) | Error::Malformed(_))),
                "{algorithm}: byte {index}"
            );
        }
        for index in 0..7 {
            let mut message = *b"message";
            message[index] ^= 1 << rng.index(8);
            let verdict = key.verify(b"", &message, &signature);
            assert_eq!(
                verdict,
                Err(Error::Rejected(Rejected::Equation { algorithm }))
            );
        }
        for index in (0..key_bytes.len()).step_by(1 + key_bytes.len() / 50) {
            let mut damaged = key_bytes.clone();
            damaged[index] ^= 1 << rng.index(8);
            let verdict = decode(&damaged).and_then(|key| key.verify(b"", b"message", &signature));
            assert!(
                matches!(verdict, Err(Error::Rejected(_) | Error::Malformed(_))),
                "{algorithm}: key byte {index}"
            );
        }
    }
}

#[test]
fn random_bytes_are_refused_without_a_panic() {
    let mut rng = rng(5);
    for Scheme { signer, decode } in schemes() {
        let key = decode(signer.verifying_key_bytes()).expect("own key");
        let len = signer.algorithm().signature_len();
        for round in 0..200 {
            let len = if round % 2 == 0 {
                len
            } else {
                rng.index(2 * len)
            };
            let bytes = rng.vec(len);
            assert!(key.verify(b"", b"m", &bytes).is_err());
            let key_len = signer.algorithm().verifying_key_len();
            let random_key = rng.vec(key_len);
            if let Ok(key) = decode(&random_key) {
                assert!(key.verify(b"", b"m", &bytes).is_err());
            }
        }
    }
}

#[test]
fn secret_keys_survive_storage_and_are_never_printed() {
    let mut rng = rng(6);
    let set = ParameterSet::MlDsa65;
    let key = mldsa::SigningKey::generate(set, &mut rng).unwrap();
    let stored = key.to_seed();
    let again = mldsa::SigningKey::from_seed(set, stored.as_slice()).unwrap();
    assert_eq!(again.verifying_key(), key.verifying_key());
    assert_eq!(
        format!("{key:?}"),
        "mldsa::SigningKey { algorithm: MlDsa65, .. }"
    );

    let key = bls::SigningKey::generate(&mut rng).unwrap();
    let again = bls::SigningKey::from_bytes(key.to_bytes().as_slice()).unwrap();
    assert_eq!(again.verifying_key(), key.verifying_key());
    assert_eq!(format!("{key:?}"), "bls::SigningKey { .. }");

    let key = ed25519::SigningKey::generate(&mut rng).unwrap();
    let again = ed25519::SigningKey::from_seed(key.to_seed().as_slice()).unwrap();
    assert_eq!(again.verifying_key(), key.verifying_key());
    assert_eq!(format!("{key:?}"), "ed25519::SigningKey { .. }");

    let key = p256::SigningKey::generate(&mut rng).unwrap();
    let again = p256::SigningKey::from_bytes(key.to_bytes().unwrap().as_slice()).unwrap();
    assert_eq!(again.verifying_key(), key.verifying_key());
    assert_eq!(format!("{key:?}"), "p256::SigningKey { .. }");

    let key = secp256k1::SigningKey::generate(&mut rng).unwrap();
    let again = secp256k1::SigningKey::from_bytes(key.to_bytes().as_slice()).unwrap();
    assert_eq!(again.verifying_key(), key.verifying_key());
    assert_eq!(format!("{key:?}"), "secp256k1::SigningKey { .. }");

    let key = slhdsa::SigningKey::generate(&mut rng).unwrap();
    assert_eq!(format!("{key:?}"), "slhdsa::SigningKey { .. }");
}

#[test]
fn scalars_out_of_range_are_refused() {
    fn check(algorithm: Algorithm, decode: impl Fn(&[u8]) -> Result<(), Error>, order: &str) {
        let field = Field::SecretKey;
        let refused = Err(Error::Malformed(Malformed::Encoding { algorithm, field }));
        let order = horizon_testkit::vectors::from_hex(order).unwrap();
        let mut below = order.clone();
        *below.last_mut().unwrap() -= 1;
        assert_eq!(decode(&[0; 32]), refused);
        assert_eq!(decode(&order), refused);
        assert_eq!(decode(&[0xff; 32]), refused);
        assert_eq!(decode(&below), Ok(()));
        let len = 31;
        let length = Malformed::Length {
            algorithm,
            field,
            len,
            expected: 32,
        };
        assert_eq!(decode(&below[1..]), Err(Error::Malformed(length)));
    }
    check(
        Algorithm::Bls12381G2,
        |bytes| bls::SigningKey::from_bytes(bytes).map(|_| ()),
        "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001",
    );
    check(
        Algorithm::EcdsaP256Sha256,
        |bytes| p256::SigningKey::from_bytes(bytes).map(|_| ()),
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    );
    check(
        Algorithm::EcdsaSecp256k1Sha256,
        |bytes| secp256k1::SigningKey::from_bytes(bytes).map(|_| ()),
        "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
    );
}

#[test]
fn hybrid_and_infinite_points_are_no_ecdsa_keys() {
    let mut rng = rng(7);
    let key = secp256k1::SigningKey::generate(&mut rng).unwrap();
    let point = secp256k1_uncompressed(key.verifying_key().key_bytes());
    assert_eq!(
        secp256k1::VerifyingKey::from_bytes(&point).as_ref(),
        Ok(key.verifying_key())
    );
    for tag in [0x00, 0x02, 0x05, 0x06, 0x07] {
        let mut hybrid = point;
        hybrid[0] = tag;
        for (algorithm, verdict) in [
            (
                Algorithm::EcdsaSecp256k1Sha256,
                secp256k1::VerifyingKey::from_bytes(&hybrid).map(|_| ()),
            ),
            (
                Algorithm::EcdsaP256Sha256,
                p256::VerifyingKey::from_bytes(&hybrid).map(|_| ()),
            ),
        ] {
            let field = Field::VerifyingKey;
            assert_eq!(
                verdict,
                Err(Error::Malformed(Malformed::Encoding { algorithm, field }))
            );
        }
    }
}

fn secp256k1_uncompressed(compressed: &[u8]) -> [u8; 65] {
    ::secp256k1::PublicKey::from_slice(compressed)
        .unwrap()
        .serialize_uncompressed()
}

#[test]
fn high_s_is_refused_on_secp256k1_and_accepted_on_p256() {
    let mut rng = rng(8);
    let key = secp256k1::SigningKey::generate(&mut rng).unwrap();
    let mut signature = key.sign_message(b"m", &mut rng).unwrap();
    let algorithm = Algorithm::EcdsaSecp256k1Sha256;
    negate_s(
        &mut signature,
        "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
    );
    let verdict = key.verifying_key().verify(b"", b"m", &signature);
    assert_eq!(
        verdict,
        Err(Error::Rejected(Rejected::Equation { algorithm }))
    );

    let key = p256::SigningKey::generate(&mut rng).unwrap();
    let mut signature = key.sign_message(b"m").unwrap();
    negate_s(
        &mut signature,
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    );
    assert!(key.verifying_key().verify(b"", b"m", &signature).is_ok());
}

/// Replaces `s` by the order minus `s`.
fn negate_s(signature: &mut [u8; 64], order: &str) {
    let order = horizon_testkit::vectors::from_hex(order).unwrap();
    let mut borrow = 0;
    for (byte, order) in signature[32..].iter_mut().zip(order).rev() {
        let difference = i32::from(order) - i32::from(*byte) - borrow;
        borrow = i32::from(difference < 0);
        *byte = difference.rem_euclid(256) as u8;
    }
}

/// The eight points of small order and their non-canonical encodings must not become keys: one
/// signature under such a key verifies for many messages.
#[test]
fn small_order_and_non_canonical_ed25519_keys_are_refused() {
    let p = "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f";
    let cases = [
        (
            "0100000000000000000000000000000000000000000000000000000000000000",
            "subgroup",
        ),
        (
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "subgroup",
        ),
        (
            "0000000000000000000000000000000000000000000000000000000000000000",
            "subgroup",
        ),
        (
            "0000000000000000000000000000000000000000000000000000000000000080",
            "subgroup",
        ),
        (
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "subgroup",
        ),
        (
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
            "subgroup",
        ),
        (
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
            "subgroup",
        ),
        (
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
            "subgroup",
        ),
        // Negative zero: x = 0 with the sign bit set.
        (
            "0100000000000000000000000000000000000000000000000000000000000080",
            "encoding",
        ),
        (
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
            "encoding",
        ),
        // y = p, which stands for 0, and y = p + 1, which stands for 1.
        (p, "encoding"),
        (
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "encoding",
        ),
        // Not on the curve.
        (
            "0200000000000000000000000000000000000000000000000000000000000000",
            "encoding",
        ),
    ];
    for (bytes, code) in cases {
        let bytes = horizon_testkit::vectors::from_hex(bytes).unwrap();
        let error = ed25519::VerifyingKey::from_bytes(&bytes).expect_err("refused");
        assert_eq!(error.code(), code, "{bytes:02x?}");
    }
}

#[test]
fn ed25519_signatures_are_not_malleable() {
    let mut rng = rng(9);
    let key = ed25519::SigningKey::generate(&mut rng).unwrap();
    let mut signature = key.sign_message(b"m");
    // s + order: the same equation, another encoding.
    let order = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
    let order = horizon_testkit::vectors::from_hex(order).unwrap();
    let mut carry = 0;
    for (byte, order) in signature[32..].iter_mut().zip(order) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        carry = sum >> 8;
        *byte = sum as u8;
    }
    let algorithm = Algorithm::Ed25519;
    let verdict = key.verifying_key().verify(b"", b"m", &signature);
    assert_eq!(
        verdict,
        Err(Error::Rejected(Rejected::Equation { algorithm }))
    );
}
