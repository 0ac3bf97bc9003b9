//! One slot from end to end: setup, a genuine signature, a proof of 192 bytes, verification, and
//! what must not verify. About a minute of CPU, most of it the setup.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![cfg(feature = "prove")]

#[path = "support/forge.rs"]
mod support;

use horizon_groth16::artifact::{Artifact, PROOF_LEN};
use horizon_groth16::error::{Error, KeyError, Rejected};
use horizon_groth16::key_image::PUBLIC_KEY_LEN;
use horizon_groth16::points::KeyTable;
use horizon_groth16::prove::circuit::Circuit;
use horizon_groth16::prove::progress::unwatched;
use horizon_groth16::prove::prover::{Options, prove};
use horizon_groth16::prove::setup::{SetupSpec, setup_test};
use horizon_groth16::prove::witness::{Vote, assign};
use horizon_groth16::statement::Member;
use horizon_groth16::verify::verify;
use horizon_groth16::vk::{Accept, Profile, SetupKind, VerifyingKey};
use horizon_sig::mldsa::{ParameterSet, SigningKey};
use horizon_sig::traits::Verifier as _;
use horizon_testkit::SeededRng;
use std::collections::HashSet;
use support::{CONTEXT, statement};

#[test]
fn a_genuine_signature_becomes_a_proof_that_verifies_for_its_statement_only() {
    let directory = tempfile::tempdir().unwrap();
    let circuit = Circuit::new(1).unwrap();
    let spec = SetupSpec {
        profile: Profile::Roster,
        slots: 1,
    };
    let path = directory.path().join("key");
    let proving = setup_test(&circuit, spec, &path, b"whole", &mut unwatched).unwrap();
    let bytes = proving.verifying_key().unwrap().to_bytes();
    let refused = VerifyingKey::from_bytes(&bytes, Accept::Ceremony).unwrap_err();
    assert_eq!(refused, KeyError::DevelopmentKey);
    let key = VerifyingKey::from_bytes(&bytes, Accept::Development).unwrap();
    assert_eq!(key.head().circuit, *circuit.digest());
    let distinct: HashSet<_> = key.points().inputs.iter().map(|p| p.to_bytes()).collect();
    assert_eq!(distinct.len(), 9224, "every input has a point of its own");

    let mut rng = SeededRng::new(81);
    let signer = SigningKey::generate(ParameterSet::MlDsa65, &mut rng).unwrap();
    let other = SigningKey::generate(ParameterSet::MlDsa65, &mut rng).unwrap();
    let public = |key: &SigningKey| -> [u8; PUBLIC_KEY_LEN] {
        key.verifying_key().key_bytes().try_into().unwrap()
    };
    let (public, other) = (public(&signer), public(&other));
    let stated = statement(b"transcript");
    let signature = signer.sign_deterministic(CONTEXT, b"transcript").unwrap();
    let member = Member {
        key: Some(&public),
        weight: 67,
    };
    let vote = Vote {
        member,
        signature: Some(&signature),
    };
    let assignment = assign(&circuit, &stated, &[vote]).unwrap();
    let mut options = Options::new();
    let proof = prove(
        &circuit,
        &proving,
        &assignment,
        &mut options,
        &mut unwatched,
    )
    .unwrap();
    let artifact = Artifact {
        proof,
        inputs_hash: stated.inputs_hash,
    };
    assert_eq!(proof.to_bytes().len(), PROOF_LEN);
    let wire = artifact.to_bytes();
    let decoded = Artifact::from_bytes(&wire).unwrap();
    let table = KeyTable::new(&key, [1; 32], &[member]).unwrap();
    let witness = verify(&key, &table, &stated, &decoded).unwrap();
    assert_eq!(witness.setup(), SetupKind::Test);

    let equation = Error::Rejected(Rejected::Equation);
    let message = statement(b"another transcript");
    assert_eq!(
        verify(&key, &table, &message, &decoded).unwrap_err(),
        equation
    );
    let mut quorum = stated;
    quorum.weight_min = 66;
    assert_eq!(
        verify(&key, &table, &quorum, &decoded).unwrap_err(),
        equation
    );
    for member in [
        Member {
            key: Some(&other),
            weight: 67,
        },
        Member {
            key: Some(&public),
            weight: 68,
        },
    ] {
        let table = KeyTable::new(&key, [2; 32], &[member]).unwrap();
        assert_eq!(
            verify(&key, &table, &stated, &decoded).unwrap_err(),
            equation
        );
    }
}
