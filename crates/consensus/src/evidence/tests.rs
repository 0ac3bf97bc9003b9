use core::net::SocketAddr;

use commonware_consensus::simplex::types::ConflictingNotarize;
use commonware_consensus::types::{Epoch, View};
use commonware_cryptography::{Signer as _, ed25519::PrivateKey};
use horizon_sig::mldsa::{ParameterSet, SigningKey};

use super::*;
use crate::roster::Validator;

fn key(index: u8) -> Arc<SigningKey> {
    Arc::new(SigningKey::from_seed(ParameterSet::MlDsa65, &[index; 32]).expect("a seed"))
}

fn roster(chain: u8) -> Arc<Roster> {
    let validators = (0..4_u8)
        .map(|index| {
            let identity = PrivateKey::from_seed(u64::from(index)).public_key();
            let address = SocketAddr::from(([127, 0, 0, 1], 1000 + u16::from(index)));
            let consensus = key(index);
            let consensus = consensus.verifying_key().key_bytes();
            Validator::new("v", identity.as_ref(), consensus, address).expect("a validator")
        })
        .collect();
    Arc::new(Roster::new(validators, [chain; 32], [2; 32]).expect("a roster"))
}

fn proposal(view: u64, payload: u8) -> Proposal<Digest> {
    let round = Round::new(Epoch::zero(), View::new(view));
    Proposal::new(round, View::new(view - 1), Digest::from([payload; 32]))
}

fn notarize(roster: &Roster, proposal: Proposal<Digest>) -> Notarize<Scheme, Digest> {
    let scheme = Scheme::signer(roster, 2, key(2)).expect("a signer");
    Notarize::sign(&scheme, proposal).expect("it signs")
}

/// The proof that the reporter of an engine makes of two votes for different blocks.
fn proof() -> Evidence {
    let roster = roster(1);
    let found = Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = Arc::clone(&found);
    let mut reporter = EvidenceReporter::new(
        Arc::clone(&roster),
        Arc::new(move |proof| sink.lock().expect("a lock").push(proof)),
        Arc::default(),
    );
    let fault = ConflictingNotarize::new(
        notarize(&roster, proposal(5, 0xab)),
        notarize(&roster, proposal(5, 2)),
    );
    reporter.report(Activity::ConflictingNotarize(fault));
    let proof = found.lock().expect("a lock").pop();
    proof.expect("it was reported")
}

#[test]
fn a_proof_names_the_validator_by_its_canonical_position() {
    let offence = proof().check(&roster(1)).expect("it proves");
    assert_eq!(
        offence,
        Offence {
            validator: 2,
            view: 5,
            kinds: (Kind::Notarize, Kind::Notarize)
        }
    );
    assert_eq!(
        proof().file_name(),
        "view-5-validator-2-notarize-notarize.json"
    );
}

#[test]
fn the_file_is_the_same_on_every_node_and_reads_back() {
    let bytes = proof().to_json().expect("a file");
    assert_eq!(bytes, proof().to_json().expect("a file"));
    assert_eq!(Evidence::from_json(&bytes), Ok(proof()));
    let large = vec![b' '; MAX_FILE_BYTES + 1];
    assert!(matches!(
        Evidence::from_json(&large),
        Err(NotProven::Format(_))
    ));
    assert!(matches!(
        Evidence::from_json(b"{}"),
        Err(NotProven::Format(_))
    ));
}

#[test]
fn a_proof_about_another_network_or_another_validator_is_refused() {
    assert_eq!(proof().check(&roster(3)), Err(NotProven::OtherNetwork));
    let mut moved = proof();
    moved.validator = 1;
    assert_eq!(moved.check(&roster(1)), Err(NotProven::OtherValidator(1)));
    moved.validator = 9;
    assert_eq!(moved.check(&roster(1)), Err(NotProven::OtherValidator(9)));
    // A proof for one chain that claims to be about another.
    let mut renamed = proof();
    renamed.chain_id = to_hex(&[3; 32]);
    assert_eq!(
        renamed.check(&roster(3)),
        Err(NotProven::Signature(Kind::Notarize))
    );
}

#[test]
fn two_statements_that_an_honest_validator_may_sign_prove_nothing() {
    let one = proof();
    let twice = Evidence {
        second: one.first.clone(),
        ..one.clone()
    };
    assert_eq!(twice.check(&roster(1)), Err(NotProven::NoConflict));
    let other_view = Vote::from(notarize(&roster(1), proposal(6, 2)));
    let views = Evidence {
        second: other_view.statement().expect("a statement"),
        ..one.clone()
    };
    assert_eq!(views.check(&roster(1)), Err(NotProven::NoConflict));
    // Voting for a block and then to skip its view is allowed; finalising it is not.
    let scheme = Scheme::signer(&roster(1), 2, key(2)).expect("a signer");
    let round = Round::new(Epoch::zero(), View::new(5));
    let nullify = Vote::from(Nullify::sign::<Digest>(&scheme, round).expect("it signs"));
    let skipped = Evidence {
        second: nullify.statement().expect("a statement"),
        ..one.clone()
    };
    assert_eq!(skipped.check(&roster(1)), Err(NotProven::NoConflict));
    let finalize = Finalize::sign(&scheme, proposal(5, 1)).expect("it signs");
    let both = Evidence {
        first: nullify.statement().expect("a statement"),
        second: Vote::from(finalize).statement().expect("a statement"),
        ..one
    };
    let kinds = (Kind::Nullify, Kind::Finalize);
    assert_eq!(both.check(&roster(1)).expect("it proves").kinds, kinds);
}

#[test]
fn changed_statements_and_signatures_are_refused() {
    let wrong = |change: fn(&mut Evidence)| {
        let mut proof = proof();
        change(&mut proof);
        proof.check(&roster(1)).expect_err("it is refused")
    };
    let signature = NotProven::Signature(Kind::Notarize);
    let statement = NotProven::Statement(Kind::Notarize);
    assert_eq!(
        wrong(|proof| proof.first.signature.replace_range(0..2, "00")),
        signature
    );
    assert_eq!(
        wrong(|proof| proof.second.message.replace_range(6..8, "ff")),
        signature
    );
    assert_eq!(
        wrong(|proof| proof.second.signature.truncate(10)),
        statement
    );
    assert_eq!(wrong(|proof| proof.first.message.push('0')), statement);
    assert_eq!(wrong(|proof| proof.first.message.push_str("00")), statement);
    assert_eq!(
        wrong(|proof| proof.first.message = proof.first.message.to_uppercase()),
        statement
    );
    assert!(matches!(
        wrong(|proof| proof.version = 2),
        NotProven::Format(_)
    ));
}
