//! The verifier against forged proofs of true shape, and every way in which it must refuse.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/forge.rs"]
mod support;

use horizon_groth16::artifact::{Artifact, Proof, QuorumArtifact};
use horizon_groth16::batch::{BatchItem, BatchWrapper, verify_batch};
use horizon_groth16::curve::{G1Affine, PointError};
use horizon_groth16::error::{
    ArtifactError, Error, KeyError, KeyPoint, Misuse, ProofPoint, Rejected,
};
use horizon_groth16::points::KeyTable;
use horizon_groth16::statement::{Member, Statement, public_inputs};
use horizon_groth16::verify::{verify, verify_quorum};
use horizon_groth16::vk::{Accept, Profile, SetupKind, VerifyingKey};
use horizon_groth16::{Fr, G1, G2};
use horizon_testkit::SeededRng;
use rand_core::{Infallible, TryCryptoRng, TryRng};
use support::{Forge, public_key, statement};

const EQUATION: Error = Error::Rejected(Rejected::Equation);

#[test]
fn a_proof_verifies_for_its_own_statement_and_for_no_other() {
    let mut rng = SeededRng::new(31);
    let forge = Forge::new(1, 2);
    let key = forge.key(2, Profile::Roster);
    let (pk0, pk1) = (public_key(&mut rng), public_key(&mut rng));
    let member = |key, weight| Member {
        key: Some(key),
        weight,
    };
    let members = [member(&pk0, 40), member(&pk1, 60)];
    let stated = statement(b"message");
    let artifact = forge.artifact(2, &members, &stated, &mut rng);
    let table = KeyTable::new(&key, [1; 32], &members).unwrap();
    let witness = verify(&key, &table, &stated, &artifact).unwrap();
    assert_eq!(witness.setup(), SetupKind::Mpc([9; 32]));
    let inputs = public_inputs(2, &members, &stated).unwrap();
    forge
        .points
        .verify_inputs(&artifact.proof, &inputs)
        .unwrap();

    let other = |change: &dyn Fn(&mut Statement<'_>)| {
        let mut changed = statement(b"message");
        change(&mut changed);
        verify(&key, &table, &changed, &artifact).unwrap_err()
    };
    assert_eq!(other(&|s| s.message = b"messagf"), EQUATION);
    assert_eq!(other(&|s| s.context = b"lux-warp-cross-chain-v2"), EQUATION);
    assert_eq!(
        other(&|s| s.context = &[0; 256]),
        Error::Misuse(Misuse::ContextTooLong)
    );
    assert_eq!(other(&|s| s.weight_min = 66), EQUATION);
    let hash = Error::Rejected(Rejected::InputsHash);
    assert_eq!(other(&|s| s.inputs_hash[31] ^= 1), hash);
    // A carried hash that follows the change does not help: it is an input of the circuit.
    for byte in [0, 15, 16, 31] {
        let mut changed = stated;
        changed.inputs_hash[byte] ^= 1;
        let follows = Artifact {
            inputs_hash: changed.inputs_hash,
            ..artifact
        };
        assert_eq!(
            verify(&key, &table, &changed, &follows).unwrap_err(),
            EQUATION
        );
    }
    for changed in [
        vec![member(&pk1, 40), member(&pk0, 60)],
        vec![member(&pk0, 41), member(&pk1, 60)],
        vec![member(&pk0, 40)],
        vec![
            member(&pk0, 40),
            Member {
                key: None,
                weight: 60,
            },
        ],
    ] {
        let table = KeyTable::new(&key, [2; 32], &changed).unwrap();
        assert_eq!(
            verify(&key, &table, &stated, &artifact).unwrap_err(),
            EQUATION
        );
    }
    let many = [members[0], members[1], members[0]];
    assert_eq!(
        KeyTable::new(&key, [3; 32], &many).unwrap_err(),
        Misuse::TooManyValidators
    );
}

#[test]
fn a_public_key_that_differs_in_one_coefficient_is_another_statement() {
    let mut rng = SeededRng::new(32);
    let forge = Forge::new(2, 1);
    let key = forge.key(1, Profile::Roster);
    let pk = public_key(&mut rng);
    let stated = statement(b"m");
    let artifact = forge.artifact(1, &sole(&pk), &stated, &mut rng);
    for byte in [0, 31, 32, 1951] {
        let mut other = pk;
        other[byte] ^= 1;
        let table = KeyTable::new(&key, [1; 32], &sole(&other)).unwrap();
        assert_eq!(
            verify(&key, &table, &stated, &artifact).unwrap_err(),
            EQUATION
        );
    }
}

fn sole(key: &[u8; 1952]) -> [Member<'_>; 1] {
    [Member {
        key: Some(key),
        weight: 1,
    }]
}

#[test]
fn an_empty_slot_and_a_validator_without_a_key_count_nothing() {
    let mut rng = SeededRng::new(33);
    let forge = Forge::new(3, 2);
    let key = forge.key(2, Profile::Roster);
    let pk = public_key(&mut rng);
    let stated = statement(b"m");
    let with_blank = [
        Member {
            key: Some(&pk),
            weight: 70,
        },
        Member {
            key: None,
            weight: 30,
        },
    ];
    let inputs = public_inputs(2, &with_blank, &stated).unwrap();
    assert!(
        inputs[9223..].iter().all(Fr::is_zero),
        "the second slot is all zero"
    );
    let artifact = forge.artifact(2, &with_blank, &stated, &mut rng);
    for members in [&with_blank[..], &with_blank[..1]] {
        let table = KeyTable::new(&key, [1; 32], members).unwrap();
        let _witness = verify(&key, &table, &stated, &artifact).unwrap();
    }
}

#[test]
fn quorum_proofs_verify_for_their_signers_in_order() {
    let mut rng = SeededRng::new(34);
    let forge = Forge::new(4, 2);
    let key = forge.key(2, Profile::Quorum);
    let keys: Vec<_> = (0..3).map(|_| public_key(&mut rng)).collect();
    let mut members: Vec<_> = keys
        .iter()
        .zip([30, 40, 50])
        .map(|(key, weight)| Member {
            key: Some(key),
            weight,
        })
        .collect();
    members.push(Member {
        key: None,
        weight: 9,
    });
    let stated = statement(b"m");
    let artifact = forge.artifact(2, &[members[0], members[2]], &stated, &mut rng);
    let table = KeyTable::new(&key, [1; 32], &members).unwrap();
    let by = |signers: &[usize]| QuorumArtifact::new(artifact, signers.to_vec());
    let good = by(&[0, 2]).unwrap();
    let _witness = verify_quorum(&key, &table, &stated, &good).unwrap();
    assert_eq!(
        QuorumArtifact::from_bytes(&good.to_bytes()),
        Ok(good.clone())
    );
    for signers in [&[0, 1][..], &[1, 2], &[0], &[2]] {
        let refused = verify_quorum(&key, &table, &stated, &by(signers).unwrap());
        assert_eq!(refused.unwrap_err(), EQUATION, "{signers:?}");
    }
    let unknown = Error::Artifact(ArtifactError::Signers);
    for signers in [&[0, 3][..], &[0, 4], &[0, 1, 2]] {
        let refused = verify_quorum(&key, &table, &stated, &by(signers).unwrap());
        assert_eq!(refused.unwrap_err(), unknown, "{signers:?}");
    }
    for signers in [&[2, 0][..], &[0, 0], &[]] {
        assert_eq!(
            by(signers).unwrap_err(),
            ArtifactError::Signers,
            "{signers:?}"
        );
    }
    let mut untrimmed = good.to_bytes();
    untrimmed.push(0);
    assert_eq!(
        QuorumArtifact::from_bytes(&untrimmed),
        Err(ArtifactError::Signers)
    );
    let wrong_profile = verify(&key, &table, &stated, &artifact).unwrap_err();
    assert_eq!(wrong_profile, Error::Misuse(Misuse::Profile));
}

/// Encodings: 223 and 225 bytes, infinity in each place, `x + p`, wrong flags, off the curve, on
/// the curve outside the subgroup.
#[test]
fn every_malformed_artifact_has_its_own_error() {
    let mut rng = SeededRng::new(35);
    let forge = Forge::new(5, 1);
    let inputs = vec![Fr::ONE; 9223];
    let artifact = Artifact {
        proof: forge.proof(&inputs, Fr::ZERO, &mut rng),
        inputs_hash: [5; 32],
    };
    let good = artifact.to_bytes();
    assert_eq!(Artifact::from_bytes(&good), Ok(artifact));
    for len in [0, 1, 192, 223] {
        assert_eq!(
            Artifact::from_bytes(&good[..len]),
            Err(ArtifactError::Length { len })
        );
    }
    let long = [&good[..], &[0]].concat();
    assert_eq!(
        Artifact::from_bytes(&long),
        Err(ArtifactError::Length { len: 225 })
    );
    let places = [
        (ProofPoint::A, 0, 48),
        (ProofPoint::B, 48, 96),
        (ProofPoint::C, 144, 48),
    ];
    for (which, start, len) in places {
        let refused = |point: &[u8]| {
            let mut bytes = good;
            bytes[start..start + len].copy_from_slice(point);
            Artifact::from_bytes(&bytes).unwrap_err()
        };
        let error = |reason| ArtifactError::Point { which, reason };
        let original = &good[start..start + len];
        let with_flags = |flags: u8| {
            let mut point = original.to_vec();
            point[0] = point[0] & 0x1f | flags;
            point
        };
        assert_eq!(refused(&with_flags(0)), error(PointError::NotCompressed));
        assert_eq!(refused(&with_flags(0x20)), error(PointError::NotCompressed));
        assert_eq!(refused(&with_flags(0x40)), error(PointError::NotCompressed));
        assert_eq!(refused(&with_flags(0xc0)), error(PointError::Infinity));
        let mut infinity = vec![0; len];
        infinity[0] = 0xc0;
        assert_eq!(refused(&infinity), error(PointError::Infinity));
        let mut modulus = vec![0; len];
        modulus[len - 48..].copy_from_slice(&P);
        modulus[0] |= 0x80;
        if len == 96 {
            modulus[..48].copy_from_slice(&P);
            modulus[0] |= 0x80;
        }
        assert_eq!(refused(&modulus), error(PointError::NotCanonical));
        let (off, outside) = outsiders(len);
        assert_eq!(refused(&off), error(PointError::NotOnCurve));
        assert_eq!(refused(&outside), error(PointError::NotInSubgroup));
    }
}

/// The field modulus, big-endian.
const P: [u8; 48] = [
    0x1a, 0x01, 0x11, 0xea, 0x39, 0x7f, 0xe6, 0x9a, 0x4b, 0x1b, 0xa7, 0xb6, 0x43, 0x4b, 0xac, 0xd7,
    0x64, 0x77, 0x4b, 0x84, 0xf3, 0x85, 0x12, 0xbf, 0x67, 0x30, 0xd2, 0xa0, 0xf6, 0xb0, 0xf6, 0x24,
    0x1e, 0xab, 0xff, 0xfe, 0xb1, 0x53, 0xff, 0xff, 0xb9, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xaa, 0xab,
];

/// An encoding whose coordinate is on no point, and one of a point outside the subgroup.
fn outsiders(len: usize) -> (Vec<u8>, Vec<u8>) {
    let (mut off, mut outside) = (None, None);
    for x in 1..=255 {
        let mut bytes = vec![0; len];
        bytes[0] = 0x80;
        bytes[len - 1] = x;
        let error = if len == 48 {
            G1Affine::from_bytes(&bytes.clone().try_into().unwrap()).err()
        } else {
            horizon_groth16::G2Affine::from_bytes(&bytes.clone().try_into().unwrap()).err()
        };
        match error {
            Some(PointError::NotOnCurve) => off = off.or(Some(bytes)),
            Some(PointError::NotInSubgroup) => outside = outside.or(Some(bytes)),
            _ => {}
        }
    }
    (off.unwrap(), outside.unwrap())
}

#[test]
fn changed_proofs_are_rejected_and_a_negated_pair_is_the_same_statement() {
    let mut rng = SeededRng::new(36);
    let forge = Forge::new(6, 1);
    let key = forge.key(1, Profile::Roster);
    let pk = public_key(&mut rng);
    let members = [Member {
        key: Some(&pk),
        weight: 1,
    }];
    let table = KeyTable::new(&key, [1; 32], &members).unwrap();
    let stated = statement(b"m");
    let artifact = forge.artifact(1, &members, &stated, &mut rng);
    let bytes = artifact.to_bytes();
    let checked = |bytes: &[u8]| {
        let artifact = Artifact::from_bytes(bytes).unwrap();
        verify(&key, &table, &stated, &artifact).map(drop)
    };
    let mut swapped = bytes;
    swapped[..48].copy_from_slice(&bytes[144..192]);
    swapped[144..192].copy_from_slice(&bytes[..48]);
    assert_eq!(checked(&swapped), Err(EQUATION));
    let sign = 0x20;
    for places in [
        &[0][..],
        &[48],
        &[144],
        &[0, 144],
        &[48, 144],
        &[0, 48, 144],
    ] {
        let mut negated = bytes;
        places.iter().for_each(|place| negated[*place] ^= sign);
        assert_eq!(checked(&negated), Err(EQUATION), "{places:?}");
    }
    // (-A)(-B) is A B: other bytes, same statement, still one verdict about one message.
    let mut harmless = bytes;
    harmless[0] ^= sign;
    harmless[48] ^= sign;
    assert_eq!(checked(&harmless), Ok(()));
    let wrong = Artifact {
        proof: forge.proof(
            &public_inputs(1, &members, &stated).unwrap(),
            Fr::ONE,
            &mut rng,
        ),
        ..artifact
    };
    assert_eq!(checked(&wrong.to_bytes()), Err(EQUATION));
}

#[test]
fn key_records_go_round_and_every_bad_record_has_its_own_error() {
    let forge = Forge::new(7, 1);
    let key = forge.key(1, Profile::Roster);
    let good = key.to_bytes();
    let loaded = VerifyingKey::from_pinned_bytes(&good, key.id(), Accept::Ceremony).unwrap();
    assert_eq!(
        (loaded.id(), loaded.head(), loaded.points()),
        (key.id(), key.head(), key.points())
    );
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        VerifyingKey::from_bytes(&bytes, Accept::Ceremony).unwrap_err()
    };
    let set = |at: usize, value: u8| move |bytes: &mut Vec<u8>| bytes[at] = value;
    assert_eq!(refused(&set(0, 0)), KeyError::Magic);
    assert_eq!(refused(&|bytes| bytes.clear()), KeyError::Magic);
    assert_eq!(refused(&set(9, 2)), KeyError::Version);
    assert_eq!(refused(&set(11, 2)), KeyError::Curve);
    assert_eq!(refused(&set(12, 2)), KeyError::Profile);
    assert_eq!(refused(&set(14, 0)), KeyError::Slots);
    assert_eq!(refused(&set(14, 65)), KeyError::Slots);
    assert_eq!(refused(&set(14, 2)), KeyError::InputCount);
    assert_eq!(refused(&set(15, 1)), KeyError::MuMode);
    assert_eq!(refused(&set(16, 3)), KeyError::SetupKind);
    assert_eq!(refused(&set(16, 0)), KeyError::SetupKind);
    assert_eq!(refused(&|bytes| bytes.truncate(1000)), KeyError::Length);
    assert_eq!(refused(&|bytes| bytes.push(0)), KeyError::Length);
    assert_eq!(
        refused(&|bytes| *bytes.last_mut().unwrap() ^= 1),
        KeyError::Target
    );
    let alpha = 81;
    let point = |which, reason| KeyError::Point { which, reason };
    let points = [
        (KeyPoint::Alpha, alpha),
        (KeyPoint::Beta, alpha + 48),
        (KeyPoint::Gamma, alpha + 144),
        (KeyPoint::Delta, alpha + 240),
        (KeyPoint::Input(0), alpha + 340),
        (KeyPoint::Input(9223), alpha + 340 + 9223 * 48),
    ];
    for (which, at) in points {
        assert_eq!(refused(&set(at, 0xc0)), point(which, PointError::Infinity));
        assert_eq!(
            refused(&set(at, 0x00)),
            point(which, PointError::NotCompressed)
        );
        assert_eq!(
            refused(&set(at, 0x9f)),
            point(which, PointError::NotCanonical)
        );
    }
    let copy = |from: usize, to: usize| {
        move |bytes: &mut Vec<u8>| {
            bytes.copy_within(from..from + 96, to);
        }
    };
    let (gamma, delta) = (alpha + 144, alpha + 240);
    assert_eq!(refused(&copy(gamma, delta)), KeyError::GammaEqualsDelta);
    let generator = G2::generator().to_affine().to_bytes();
    let put = |at: usize| move |bytes: &mut Vec<u8>| bytes[at..at + 96].copy_from_slice(&generator);
    assert_eq!(refused(&put(gamma)), KeyError::GammaIsGenerator);
    assert_eq!(refused(&put(delta)), KeyError::DeltaIsGenerator);
    let other = Forge::new(8, 1).key(1, Profile::Roster);
    let wrong_pin = VerifyingKey::from_pinned_bytes(&good, other.id(), Accept::Ceremony);
    assert_eq!(wrong_pin.unwrap_err(), KeyError::Id);
}

#[test]
fn development_keys_load_only_when_the_caller_says_so() {
    let forge = Forge::new(9, 1);
    for setup in [SetupKind::Dev, SetupKind::Test] {
        let head = Forge::head(1, Profile::Roster, setup);
        let bytes = VerifyingKey::new(head, forge.points.clone())
            .unwrap()
            .to_bytes();
        let refused = VerifyingKey::from_bytes(&bytes, Accept::Ceremony).unwrap_err();
        assert_eq!(refused, KeyError::DevelopmentKey);
        let loaded = VerifyingKey::from_bytes(&bytes, Accept::Development).unwrap();
        assert_eq!(loaded.head().setup, setup);
    }
}

#[test]
fn tables_and_proofs_of_another_key_are_refused() {
    let mut rng = SeededRng::new(37);
    let (one, two) = (Forge::new(10, 1), Forge::new(11, 1));
    let (key_one, key_two) = (one.key(1, Profile::Roster), two.key(1, Profile::Roster));
    let pk = public_key(&mut rng);
    let members = [Member {
        key: Some(&pk),
        weight: 1,
    }];
    let stated = statement(b"m");
    let artifact = one.artifact(1, &members, &stated, &mut rng);
    let table_one = KeyTable::new(&key_one, [1; 32], &members).unwrap();
    let table_two = KeyTable::new(&key_two, [1; 32], &members).unwrap();
    let misuse = verify(&key_one, &table_two, &stated, &artifact).unwrap_err();
    assert_eq!(misuse, Error::Misuse(Misuse::TableOfAnotherKey));
    assert_eq!(
        verify(&key_two, &table_two, &stated, &artifact).unwrap_err(),
        EQUATION
    );
    let _witness = verify(&key_one, &table_one, &stated, &artifact).unwrap();
}

/// B06: two proofs of one batch that compensate each other, one bad at each position, and sources
/// of coefficients that are broken.
#[test]
fn b06_batches_name_exactly_the_proofs_that_fail_alone() {
    let mut rng = SeededRng::new(38);
    let forge = Forge::new(12, 1);
    let key = forge.key(1, Profile::Roster);
    let pk = public_key(&mut rng);
    let members = [Member {
        key: Some(&pk),
        weight: 1,
    }];
    let table = KeyTable::new(&key, [1; 32], &members).unwrap();
    let messages: Vec<[u8; 8]> = (0..64_u64).map(u64::to_be_bytes).collect();
    let proof = |at: usize, error, rng: &mut SeededRng| {
        let inputs = public_inputs(1, &members, &statement(&messages[at])).unwrap();
        forge.proof(&inputs, error, rng)
    };
    let good: Vec<Proof> = (0..64).map(|at| proof(at, Fr::ZERO, &mut rng)).collect();
    let checked = |proofs: &[Proof], rng: &mut dyn rand_core::CryptoRng| {
        let artifacts: Vec<_> = proofs
            .iter()
            .zip(&messages)
            .map(|(proof, message)| Artifact {
                proof: *proof,
                inputs_hash: statement(message).inputs_hash,
            })
            .collect();
        let items: Vec<_> = artifacts
            .iter()
            .zip(&messages)
            .map(|(artifact, message)| BatchItem {
                table: &table,
                statement: statement(message),
                wrapper: BatchWrapper::Roster(artifact),
            })
            .collect();
        verify_batch(&key, &items, rng).map(drop)
    };
    let named = |positions: &[usize]| Err(Error::Rejected(Rejected::Batch(positions.to_vec())));
    for len in [1, 2, 3, 63, 64] {
        assert_eq!(checked(&good[..len], &mut rng), Ok(()), "{len}");
    }
    for at in [0, 1, 31, 32, 62, 63] {
        let mut proofs = good.clone();
        proofs[at] = proof(at, Fr::ONE, &mut rng);
        assert_eq!(checked(&proofs, &mut rng), named(&[at]));
    }
    // With equal coefficients these two would cancel.
    let mut proofs = good;
    proofs[5] = proof(5, Fr::ONE, &mut rng);
    proofs[40] = proof(40, -Fr::ONE, &mut rng);
    assert_eq!(checked(&proofs, &mut rng), named(&[5, 40]));
    let broken = Err(Error::Misuse(Misuse::Coefficients));
    assert_eq!(checked(&proofs, &mut Constant(0)), broken);
    assert_eq!(checked(&proofs, &mut Constant(1)), broken);
    assert_eq!(
        checked(&[], &mut rng),
        Err(Error::Misuse(Misuse::BatchSize))
    );
}

/// A source of randomness that gives one byte for ever.
struct Constant(u8);

impl TryRng for Constant {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_le_bytes([self.0; 4]))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_le_bytes([self.0; 8]))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        out.fill(self.0);
        Ok(())
    }
}

impl TryCryptoRng for Constant {}

#[test]
fn sums_and_multiples_agree_with_each_other_and_take_infinity() {
    let mut rng = SeededRng::new(39);
    let scalars: Vec<Fr> = (0..40).map(|_| Fr::random(&mut rng)).collect();
    let mut points: Vec<G1> = scalars.iter().map(|x| G1::generator().mul(*x)).collect();
    points[3] = G1::infinity();
    points[17] = points[18];
    let affine = G1::batch_to_affine(&points);
    assert!(affine[3].is_infinity());
    assert_eq!(G1::sum_affine(&affine), points.iter().copied().sum::<G1>());
    let expected: G1 = points.iter().zip(&scalars).map(|(p, x)| p.mul(*x)).sum();
    assert_eq!(G1::msm_fr(&affine, &scalars), expected);
    let one = G1::msm_fr(&affine[..1], &scalars[..1]);
    assert_eq!(one, points[0].mul(scalars[0]));
    assert_eq!(G1::msm(&affine, &[0; 7], 255), None);
}
