//! BLS sums, batches and proofs of possession, good and bad.

use horizon_sig::{
    algorithm::Algorithm,
    bls::{
        self, AggregateKey, BatchItem, CurvePoint, PossessionProof, ProvenKey, Signature,
        SigningKey, VerifyingKey, aggregate, batch_verify, combine, verify_distinct,
    },
    error::{BadSignature, Error, Field, Malformed, Misuse, Rejected},
    traits::Verifier as _,
};
use horizon_testkit::{
    rng::{SeededRng, rng},
    vectors::from_hex,
};

const ALGORITHM: Algorithm = Algorithm::Bls12381G2;
const EQUATION: Error = Error::Rejected(Rejected::Equation {
    algorithm: ALGORITHM,
});

fn keys(count: usize, rng: &mut SeededRng) -> Vec<SigningKey> {
    (0..count)
        .map(|_| SigningKey::generate(rng).unwrap())
        .collect()
}

fn proven(key: &SigningKey) -> ProvenKey {
    key.verifying_key()
        .verify_possession(&key.prove_possession())
        .expect("own proof")
}

fn infinity(field: Field) -> Error {
    Error::Malformed(Malformed::Infinity {
        algorithm: ALGORITHM,
        field,
    })
}

/// A point of the curve outside the subgroup, from the public Wycheproof cases.
fn outside_subgroup() -> Vec<u8> {
    let file = horizon_testkit::vectors::vector("wycheproof/bls_sig_g2_basic_verify.json");
    let groups = file["testGroups"].as_array().unwrap();
    let test = groups
        .iter()
        .flat_map(|group| group["tests"].as_array().unwrap())
        .find(|test| test["tcId"] == 45)
        .unwrap();
    from_hex(test["sig"].as_str().unwrap()).unwrap()
}

/// The same point with the other sign.
fn negated(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[0] ^= 0x20;
    bytes
}

#[test]
fn twenty_one_signers_verify_as_one() {
    let mut rng = rng(1);
    let keys = keys(21, &mut rng);
    let proven: Vec<_> = keys.iter().map(proven).collect();
    let signatures: Vec<_> = keys.iter().map(|key| key.sign_message(b"m")).collect();
    let sum = aggregate(&signatures).unwrap();
    let key = AggregateKey::new(&proven).unwrap();
    assert_eq!(key.verify(b"m", &sum).unwrap().signer_count(), 21);
    assert_eq!(key.verify(b"n", &sum), Err(EQUATION));
    let fewer = AggregateKey::new(&proven[..20]).unwrap();
    assert_eq!(fewer.verify(b"m", &sum), Err(EQUATION));
    let twice: Vec<_> = proven.iter().chain(&proven[..1]).copied().collect();
    assert_eq!(
        AggregateKey::new(&twice).unwrap().verify(b"m", &sum),
        Err(EQUATION)
    );
}

#[test]
fn sums_that_cancel_out_are_infinity_and_refused() {
    let mut rng = rng(2);
    let key = SigningKey::generate(&mut rng).unwrap();
    let opposite = VerifyingKey::from_bytes(&negated(key.verifying_key().key_bytes())).unwrap();
    let pair = [proven(&key), bls::hazmat::assume_possession(opposite)];
    assert_eq!(
        AggregateKey::new(&pair).map(|_| ()),
        Err(infinity(Field::AggregateKey))
    );
    let signature = key.sign_message(b"m");
    let minus = Signature::from_bytes(&negated(&signature.to_bytes())).unwrap();
    assert_eq!(
        aggregate(&[signature, minus]).map(|_| ()),
        Err(infinity(Field::Signature))
    );
    let entries = [(pair[0], signature.into()), (pair[1], minus.into())];
    let refused = combine(b"m", &entries, &mut rng).map(|_| ());
    assert_eq!(refused, Err(infinity(Field::AggregateKey)));
    // The negated key and the negated signature are well formed, but good for nothing alone.
    assert_eq!(opposite.verify_message(b"m", &signature), Err(EQUATION));
    assert_eq!(
        key.verifying_key().verify_message(b"m", &minus),
        Err(EQUATION)
    );
    assert!(opposite.verify_message(b"m", &minus).is_ok());
}

#[test]
fn nothing_and_too_much_are_misuse() {
    let empty = Err(Error::Misuse(Misuse::EmptySet));
    assert_eq!(AggregateKey::new(&[]).map(|_| ()), empty);
    assert_eq!(aggregate(&[]).map(|_| ()), empty);
    assert_eq!(combine(b"m", &[], &mut rng(3)).map(|_| ()), empty);
    assert_eq!(batch_verify(&[], &mut rng(3)).map(|_| ()), empty);
    let signature = SigningKey::generate(&mut rng(3))
        .unwrap()
        .sign_message(b"m");
    assert_eq!(verify_distinct(&[], &signature).map(|_| ()), empty);
    let limit = bls::AGGREGATE_LEN_MAX;
    let many = vec![signature; limit + 1];
    let too_long = Error::Misuse(Misuse::SetTooLong {
        len: limit + 1,
        limit,
    });
    assert_eq!(aggregate(&many).map(|_| ()), Err(too_long));
}

#[test]
fn infinity_and_wrong_subgroup_are_neither_keys_nor_signatures_nor_proofs() {
    let mut infinite_key = [0; 48];
    infinite_key[0] = 0xc0;
    let refused = VerifyingKey::from_bytes(&infinite_key);
    assert_eq!(refused, Err(infinity(Field::VerifyingKey)));
    let mut infinite = [0; 96];
    infinite[0] = 0xc0;
    assert_eq!(
        Signature::from_bytes(&infinite),
        Err(infinity(Field::Signature))
    );
    assert_eq!(
        CurvePoint::from_bytes(&infinite).map(|_| ()),
        Err(infinity(Field::Signature))
    );
    let refused = PossessionProof::from_bytes(&infinite).map(|_| ());
    assert_eq!(refused, Err(infinity(Field::PossessionProof)));

    let outside = outside_subgroup();
    let subgroup = |field| {
        Error::Malformed(Malformed::Subgroup {
            algorithm: ALGORITHM,
            field,
        })
    };
    assert_eq!(
        Signature::from_bytes(&outside),
        Err(subgroup(Field::Signature))
    );
    assert!(CurvePoint::from_bytes(&outside).is_ok());
    let refused = PossessionProof::from_bytes(&outside).map(|_| ());
    assert_eq!(refused, Err(subgroup(Field::PossessionProof)));
}

#[test]
fn a_rogue_key_has_no_proof_of_possession() {
    let mut rng = rng(4);
    let victim = SigningKey::generate(&mut rng).unwrap();
    let attacker = SigningKey::generate(&mut rng).unwrap();
    // The attacker's key minus the victim's: nobody knows its secret.
    let minus = VerifyingKey::from_bytes(&negated(victim.verifying_key().key_bytes())).unwrap();
    let difference = AggregateKey::new(&[
        bls::hazmat::assume_possession(*attacker.verifying_key()),
        bls::hazmat::assume_possession(minus),
    ])
    .unwrap();
    let rogue = VerifyingKey::from_bytes(&difference.to_bytes()).unwrap();
    for proof in [attacker.prove_possession(), victim.prove_possession()] {
        assert_eq!(rogue.verify_possession(&proof).map(|_| ()), Err(EQUATION));
    }
    // Admitted without a proof, it lets the attacker sign for both.
    let both = AggregateKey::new(&[proven(&victim), bls::hazmat::assume_possession(rogue)]);
    assert!(
        both.unwrap()
            .verify(b"m", &attacker.sign_message(b"m"))
            .is_ok()
    );
}

#[test]
fn proofs_and_signatures_do_not_cross_tags() {
    let mut rng = rng(5);
    let key = SigningKey::generate(&mut rng).unwrap();
    let key_bytes = key.verifying_key().to_bytes();
    let signature = key.sign_message(&key_bytes);
    let as_proof = PossessionProof::from_bytes(&signature.to_bytes()).unwrap();
    assert_eq!(
        key.verifying_key().verify_possession(&as_proof).map(|_| ()),
        Err(EQUATION)
    );
    let as_signature = Signature::from_bytes(&key.prove_possession().to_bytes()).unwrap();
    assert_eq!(
        key.verifying_key()
            .verify_message(&key_bytes, &as_signature),
        Err(EQUATION)
    );
    // Other networks sign messages under the POP_ variant of the tag.
    let secret = blst::min_pk::SecretKey::from_bytes(key.to_bytes().as_slice()).unwrap();
    let foreign = secret.sign(b"m", b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_", &[]);
    let foreign = Signature::from_bytes(&foreign.to_bytes()).unwrap();
    assert_eq!(
        key.verifying_key().verify_message(b"m", &foreign),
        Err(EQUATION)
    );
}

#[test]
fn combine_names_every_bad_signer_and_works_without_them() {
    let mut rng = rng(6);
    let keys = keys(12, &mut rng);
    let mut entries: Vec<(ProvenKey, CurvePoint)> = keys
        .iter()
        .map(|key| (proven(key), key.sign_message(b"m").into()))
        .collect();
    assert!(combine(b"m", &entries, &mut rng).is_ok());

    entries[2].1 = keys[2].sign_message(b"other").into();
    entries[7].1 = CurvePoint::from_bytes(&outside_subgroup()).unwrap();
    entries[11].1 = keys[0].sign_message(b"m").into();
    let Err(Error::Rejected(Rejected::Signers(bad))) = combine(b"m", &entries, &mut rng) else {
        panic!("a sum with bad summands was accepted");
    };
    let field = Field::Signature;
    let subgroup = Malformed::Subgroup {
        algorithm: ALGORITHM,
        field,
    };
    let found: Vec<_> = bad
        .entries()
        .iter()
        .map(|entry| (entry.index, entry.reason))
        .collect();
    assert_eq!(
        found,
        [
            (2, BadSignature::Equation),
            (7, BadSignature::Malformed(subgroup)),
            (11, BadSignature::Equation)
        ]
    );
    let good: Vec<_> = (0..12)
        .filter(|&i| !bad.contains(i))
        .map(|i| entries[i])
        .collect();
    let (key, _, witness) = combine(b"m", &good, &mut rng).unwrap();
    assert_eq!((key.signer_count(), witness.signer_count()), (9, 9));

    let mut twice = good.clone();
    twice[5] = good[1];
    let refused = combine(b"m", &twice, &mut rng).map(|_| ());
    let duplicate = Rejected::DuplicateSigner {
        first: 1,
        second: 5,
    };
    assert_eq!(refused, Err(Error::Rejected(duplicate)));
}

#[test]
fn batches_over_mixed_messages_name_exactly_the_bad_items() {
    let mut rng = rng(7);
    let keys = keys(17, &mut rng);
    let messages: Vec<Vec<u8>> = (0..4).map(|i| vec![i; 40]).collect();
    let good: Vec<BatchItem<'_>> = keys
        .iter()
        .enumerate()
        .map(|(index, key)| {
            let message = messages[index % 4].as_slice();
            let signature = key.sign_message(message);
            BatchItem {
                message,
                key: *key.verifying_key(),
                signature,
            }
        })
        .collect();
    assert_eq!(batch_verify(&good, &mut rng).unwrap().item_count(), 17);
    for bad_positions in [
        vec![0],
        vec![16],
        vec![3, 4],
        vec![1, 8, 9, 15],
        (0..17).collect(),
    ] {
        let mut items = good.clone();
        for &index in &bad_positions {
            items[index].signature = keys[index].sign_message(b"something else");
        }
        let Err(Error::Rejected(Rejected::Signers(bad))) = batch_verify(&items, &mut rng) else {
            panic!("{bad_positions:?} were accepted");
        };
        assert_eq!(bad.indices().collect::<Vec<_>>(), bad_positions);
    }
}

/// Errors that cancel in the plain sum must not cancel in a batch.
#[test]
fn errors_that_cancel_out_are_found_by_a_batch() {
    let mut rng = rng(8);
    let keys = keys(2, &mut rng);
    let [a, b] = [&keys[0], &keys[1]].map(|key| key.sign_message(b"m"));
    let error = SigningKey::generate(&mut rng).unwrap().sign_message(b"x");
    let minus = Signature::from_bytes(&negated(&error.to_bytes())).unwrap();
    let (a, b) = (
        aggregate(&[a, error]).unwrap(),
        aggregate(&[b, minus]).unwrap(),
    );
    let entries = [(proven(&keys[0]), a.into()), (proven(&keys[1]), b.into())];
    assert!(
        combine(b"m", &entries, &mut rng).is_ok(),
        "the sum itself is genuine"
    );
    let items = [(0, a), (1, b)].map(|(index, signature)| BatchItem {
        message: b"m",
        key: *keys[index].verifying_key(),
        signature,
    });
    let Err(Error::Rejected(Rejected::Signers(bad))) = batch_verify(&items, &mut rng) else {
        panic!("cancelling errors were accepted");
    };
    assert_eq!(bad.indices().collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn equal_messages_are_refused_where_they_must_differ() {
    let mut rng = rng(9);
    let keys = keys(3, &mut rng);
    let messages: [&[u8]; 3] = [b"a", b"b", b"c"];
    let sum = |messages: [&[u8]; 3]| {
        let signatures: Vec<_> = keys
            .iter()
            .zip(messages)
            .map(|(key, message)| key.sign_message(message))
            .collect();
        aggregate(&signatures).unwrap()
    };
    let pairs = |messages: [&'static [u8]; 3]| -> Vec<(VerifyingKey, &[u8])> {
        keys.iter()
            .map(|key| *key.verifying_key())
            .zip(messages)
            .collect()
    };
    assert!(verify_distinct(&pairs(messages), &sum(messages)).is_ok());
    let repeated: [&[u8]; 3] = [b"a", b"b", b"a"];
    assert_eq!(
        verify_distinct(&pairs(repeated), &sum(repeated)),
        Err(EQUATION)
    );
}
