//! ML-DSA sets: what is refused before, during and after verification.

use horizon_sig::{
    error::{BadSignature, Error, Malformed, Misuse, Rejected},
    mldsa::{self, Attestation, ParameterSet, SET_LEN_MAX, SigningKey, par_verify_set, verify_set},
    traits::{Origin, SetVerified},
};
use horizon_testkit::rng::rng;

type Verify = fn(&[u8], &[u8], &[Attestation<'_>]) -> Result<SetVerified, Error>;

/// Both ways to run a set have to agree on everything.
const BOTH: [Verify; 2] = [verify_set, par_verify_set];

const CONTEXT: &[u8] = b"lux-warp-cross-chain-v1";

fn signers(count: usize) -> (Vec<SigningKey>, Vec<Vec<u8>>) {
    let mut rng = rng(0x5e75);
    let keys: Vec<_> = (0..count)
        .map(|_| SigningKey::generate(ParameterSet::MlDsa65, &mut rng).unwrap())
        .collect();
    let signatures = keys
        .iter()
        .map(|key| key.sign_hedged(CONTEXT, b"m", &mut rng).unwrap())
        .collect();
    (keys, signatures)
}

fn attestations<'a>(keys: &'a [SigningKey], signatures: &'a [Vec<u8>]) -> Vec<Attestation<'a>> {
    let pairs = keys.iter().zip(signatures);
    pairs
        .map(|(key, signature)| Attestation {
            key: key.verifying_key(),
            signature,
        })
        .collect()
}

#[test]
fn good_sets_of_every_size_verify() {
    let (keys, signatures) = signers(21);
    let all = attestations(&keys, &signatures);
    for verify in BOTH {
        for count in 1..=21 {
            let witness = verify(b"m", CONTEXT, &all[..count]).expect("all good");
            assert_eq!((witness.signer_count(), witness.cached_count()), (count, 0));
            assert_eq!(witness.origin(), Origin::Fresh);
        }
        assert!(verify(b"n", CONTEXT, &all).is_err());
        assert!(verify(b"m", b"", &all).is_err());
        assert!(verify(b"m", b"lux-validator-identity-v1", &all).is_err());
    }
}

#[test]
fn every_bad_signer_is_named_with_its_reason() {
    let (keys, mut signatures) = signers(9);
    let identity = keys[1]
        .sign_deterministic(b"lux-validator-identity-v1", b"m")
        .unwrap();
    signatures[1] = identity;
    signatures[3].pop();
    signatures[4][3308] = 255;
    // The first coefficient of z becomes gamma1, which is out of range.
    signatures[6][48..50].fill(0);
    signatures[6][50] &= 0xf0;
    signatures.swap(7, 8);
    for verify in BOTH {
        let refused = verify(b"m", CONTEXT, &attestations(&keys, &signatures));
        let Err(Error::Rejected(Rejected::Signers(bad))) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(bad.indices().collect::<Vec<_>>(), [1, 3, 4, 6, 7, 8]);
        let reasons: Vec<_> = bad.entries().iter().map(|entry| entry.reason).collect();
        assert!(matches!(
            reasons[..],
            [
                BadSignature::Equation,
                BadSignature::Malformed(Malformed::Length {
                    len: 3308,
                    expected: 3309,
                    ..
                }),
                BadSignature::HintEncoding,
                BadSignature::ResponseRange,
                BadSignature::Equation,
                BadSignature::Equation,
            ]
        ));
    }
}

#[test]
fn q28_the_same_signer_twice_is_refused_even_when_all_signatures_are_good() {
    let (keys, signatures) = signers(5);
    let mut set = attestations(&keys, &signatures);
    let second = keys[1].sign_deterministic(CONTEXT, b"m").unwrap();
    set[4] = Attestation {
        key: keys[1].verifying_key(),
        signature: &second,
    };
    for verify in BOTH {
        let duplicate = Rejected::DuplicateSigner {
            first: 1,
            second: 4,
        };
        assert_eq!(verify(b"m", CONTEXT, &set), Err(Error::Rejected(duplicate)));
    }
}

#[test]
fn sets_that_make_no_sense_are_misuse() {
    let (keys, signatures) = signers(3);
    let mut set = attestations(&keys, &signatures);
    let other = SigningKey::generate(ParameterSet::MlDsa44, &mut rng(1)).unwrap();
    for verify in BOTH {
        assert_eq!(
            verify(b"m", CONTEXT, &[]),
            Err(Error::Misuse(Misuse::EmptySet))
        );
        let too_long = Error::Misuse(Misuse::ContextTooLong { len: 256 });
        assert_eq!(verify(b"m", &[0; 256], &set), Err(too_long));
        let many = vec![set[0]; SET_LEN_MAX + 1];
        let limit = SET_LEN_MAX;
        let too_many = Error::Misuse(Misuse::SetTooLong {
            len: limit + 1,
            limit,
        });
        assert_eq!(verify(b"m", CONTEXT, &many), Err(too_many));
    }
    set[2].key = other.verifying_key();
    for verify in BOTH {
        let mixed = Error::Misuse(Misuse::MixedAlgorithms { index: 2 });
        assert_eq!(verify(b"m", CONTEXT, &set), Err(mixed));
    }
}

#[test]
fn deterministic_signatures_repeat_and_hedged_ones_do_not() {
    let mut rng = rng(2);
    for set in ParameterSet::ALL {
        let key = SigningKey::generate(set, &mut rng).unwrap();
        let once = key.sign_deterministic(b"c", b"m").unwrap();
        assert_eq!(key.sign_deterministic(b"c", b"m").as_ref(), Ok(&once));
        let zero = mldsa::hazmat::sign_with_randomness(&key, b"c", b"m", [0; 32]).unwrap();
        assert_eq!(zero, once);
        let hedged = key.sign_hedged(b"c", b"m", &mut rng).unwrap();
        assert_ne!(hedged, once);
        assert_ne!(key.sign_hedged(b"c", b"m", &mut rng).unwrap(), hedged);
    }
}

/// Random messages and contexts, with and without damage: the two libraries never disagree.
#[test]
fn the_two_libraries_agree_on_random_input() {
    let mut rng = rng(3);
    for round in 0..600 {
        let set = ParameterSet::ALL[round % 3];
        let key = SigningKey::from_seed(set, &rng.bytes::<32>()).unwrap();
        let (context, message) = (rng.index(256), rng.index(300));
        let (context, message) = (rng.vec(context), rng.vec(message));
        let mut signature = key.sign_hedged(&context, &message, &mut rng).unwrap();
        let damage = rng.index(4);
        for _ in 0..damage {
            let index = rng.index(signature.len());
            signature[index] = rng.next() as u8;
        }
        let verdicts = mldsa::Backend::ALL.map(|backend| {
            key.verifying_key()
                .verify_with(backend, &context, &message, &signature)
        });
        assert_eq!(verdicts[0], verdicts[1], "round {round}");
        assert!(damage > 0 || verdicts[0].is_ok(), "round {round}");
    }
}
