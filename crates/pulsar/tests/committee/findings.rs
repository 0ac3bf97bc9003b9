//! One test per finding of the design review: each shows the hole closed. C-01 and C-12 look inside and are
//! unit tests of the masks; C-02 is in `vectors.rs`.

use horizon_pulsar::committee::message::{Partial, Signed};
use horizon_pulsar::committee::{
    Answer, Assignment, Error, LedgerView, Member, Misuse, PeerFault, Rejected, State, UnsafeState,
};
use horizon_ring::modulus;
use horizon_testkit::rng;

use crate::support::{
    Net, NoSigner, Records, Signer, combine, receive, run_to_committed, run_to_ready, sign,
};

fn assignment(batch: u64, index: u16, mu: &[u8]) -> Assignment<'_> {
    Assignment {
        batch,
        index,
        attempt: 0,
        mu,
    }
}

/// The ledger of a committee of three on which member 0 has `boot` and the others have booted once.
fn ledger(boot: u32, first_batch: u64) -> LedgerView {
    LedgerView {
        boots: vec![boot, 1, 1],
        first_batch,
    }
}

fn state_fault(state: State) -> Error {
    Error::Misuse(Misuse::State { state })
}

#[test]
fn c05_a_second_request_with_the_same_context_returns_the_stored_bytes() {
    let mut rng = rng(1);
    let net = Net::deal(3, 2, &mut rng);
    let mut members = net.members(&[0, 2]);
    run_to_ready(&mut members, &net.plan(1, &[0, 2], 1), &mut rng);
    let first = members[0]
        .answer(&assignment(1, 0, b"m"), &mut Signer(0))
        .expect("answer");
    // A signer that fails now would be noticed: nothing is signed again.
    let second = members[0]
        .answer(&assignment(1, 0, b"m"), &mut NoSigner)
        .expect("answer");
    assert_eq!(first, second);
    assert_eq!(members[0].state(1, 0), Some(State::Answered));
    let stored = members[0]
        .records()
        .with(|store| store.answers[&(1, 0)].clone());
    assert_eq!(stored.partial, first);
    let partial = receive::<Partial>(&first, &net.committee).expect("partial");
    assert_eq!(partial.body().session_ctx, stored.session_ctx);
}

#[test]
fn c05_a_second_request_with_another_context_stops_the_signer_for_ever() {
    let other = Assignment {
        attempt: 1,
        ..assignment(1, 0, b"m")
    };
    for second in [assignment(1, 0, b"other message"), other] {
        let mut rng = rng(2);
        let net = Net::deal(3, 2, &mut rng);
        let mut members = net.members(&[0, 2]);
        run_to_ready(&mut members, &net.plan(1, &[0, 2], 2), &mut rng);
        let member = &mut members[0];
        member
            .answer(&assignment(1, 0, b"m"), &mut Signer(0))
            .expect("answer");
        let stopped = UnsafeState::SecondContext { batch: 1, index: 0 };
        let refused = member.answer(&second, &mut Signer(0));
        assert_eq!(refused, Err(Error::UnsafeState(stopped)));
        assert_eq!(member.halted(), Some(stopped));
        // Not even the first request, nor another index, nor a new batch.
        let again = member.answer(&assignment(1, 0, b"m"), &mut Signer(0));
        assert_eq!(again, Err(Error::UnsafeState(stopped)));
        let fresh = member.answer(&assignment(1, 1, b"m"), &mut Signer(0));
        assert_eq!(fresh, Err(Error::UnsafeState(stopped)));
        assert_eq!(member.state(1, 1), Some(State::Void));
        let planned = member.plan(net.plan(2, &[0, 2], 1));
        assert_eq!(planned, Err(Error::UnsafeState(stopped)));
    }
}

#[test]
fn c05_a_record_of_another_answer_stops_a_signer_whose_memory_was_rolled_back() {
    let mut rng = rng(3);
    let net = Net::deal(3, 2, &mut rng);
    let mut members = net.members(&[0, 2]);
    run_to_ready(&mut members, &net.plan(1, &[0, 2], 1), &mut rng);
    let mut other = net.members(&[0, 2]);
    run_to_ready(&mut other, &net.plan(1, &[0, 2], 1), &mut rng);
    other[0]
        .answer(&assignment(1, 0, b"m"), &mut Signer(0))
        .expect("answer");
    let answer = other[0]
        .records()
        .with(|store| store.answers[&(1, 0)].clone());
    members[0]
        .records()
        .with(|store| store.answers.insert((1, 0), answer));
    let refused = members[0].answer(&assignment(1, 0, b"m"), &mut Signer(0));
    let stopped = UnsafeState::SecondContext { batch: 1, index: 0 };
    assert_eq!(refused, Err(Error::UnsafeState(stopped)));
}

#[test]
fn c05_an_answer_whose_bytes_were_dropped_is_neither_sent_empty_nor_made_again() {
    let mut rng = rng(22);
    let net = Net::deal(3, 2, &mut rng);
    let mut members = net.members(&[0, 2]);
    run_to_ready(&mut members, &net.plan(1, &[0, 2], 1), &mut rng);
    let peers = members[1]
        .answer(&assignment(1, 0, b"m"), &mut Signer(2))
        .expect("answer");
    let session_ctx = receive::<Partial>(&peers, &net.committee)
        .expect("partial")
        .body()
        .session_ctx;
    let partial = Vec::new();
    let dropped = Answer {
        session_ctx,
        partial,
    };
    members[0]
        .records()
        .with(|store| store.answers.insert((1, 0), dropped));
    let refused = members[0].answer(&assignment(1, 0, b"m"), &mut Signer(0));
    assert_eq!(refused, Err(state_fault(State::Answered)));
    assert_eq!(members[0].state(1, 0), Some(State::Done));
    assert_eq!(members[0].stored_partial(1, 0), Ok(None));
    assert_eq!(members[0].halted(), None);
}

#[test]
fn c05_a_restart_voids_every_open_index_also_from_a_backup() {
    let mut rng = rng(4);
    let net = Net::deal(3, 2, &mut rng);
    let mut members = net.members(&[0, 2]);
    let backup = members[0].records().backup();
    run_to_ready(&mut members, &net.plan(1, &[0, 2], 3), &mut rng);
    run_to_committed(&mut members, &net.plan(2, &[0, 2], 1), &mut rng);
    members[0]
        .answer(&assignment(1, 0, b"m"), &mut Signer(0))
        .expect("answer");
    let boot = members[0].boot();
    let records = members.remove(0).into_records();

    for (records, ledger_boot) in [(records, 0), (backup, boot), (Records::default(), boot)] {
        let mut restarted = net.restart(0, records, ledger(ledger_boot, 3));
        assert_eq!(restarted.boot(), boot + 1);
        for (batch, index) in [(1, 0), (1, 1), (1, 2), (2, 0)] {
            assert_eq!(restarted.state(batch, index), Some(State::Void));
            let refused = restarted.answer(&assignment(batch, index, b"m"), &mut Signer(0));
            assert_eq!(refused, Err(state_fault(State::Void)));
        }
        let replanned = restarted.plan(net.plan(2, &[0, 2], 1));
        assert_eq!(replanned, Err(state_fault(State::Void)));

        // Its announcement voids the open indices of the peer, too, and new batches work again.
        let void = restarted.void(&mut Signer(0)).expect("void");
        restarted.void_final(&void).expect("void is final");
        let mut peer = net.members(&[0, 2]).remove(1);
        peer.void_final(&void).expect("void is final");
        let mut both = vec![restarted, peer];
        run_to_ready(&mut both, &net.plan(3, &[0, 2], 1), &mut rng);
        let _signature = sign(&mut both, &assignment(3, 0, b"m")).expect("signature");
    }
}

#[test]
fn c05_a_restart_voids_the_open_indices_of_its_peers() {
    let mut rng = rng(5);
    let net = Net::deal(3, 2, &mut rng);
    let mut members = net.members(&[0, 2]);
    run_to_ready(&mut members, &net.plan(1, &[0, 2], 2), &mut rng);
    members[1]
        .answer(&assignment(1, 0, b"m"), &mut Signer(2))
        .expect("answer");
    let answer = members[0]
        .answer(&assignment(1, 0, b"m"), &mut Signer(0))
        .expect("answer");
    let restarted = net.restart(0, members.remove(0).into_records(), ledger(1, 2));
    // What it answered before can be sent again, and nothing else.
    assert_eq!(restarted.stored_partial(1, 0), Ok(Some(answer)));
    assert_eq!(restarted.stored_partial(1, 1), Ok(None));
    let void = restarted.void(&mut Signer(0)).expect("void");
    let peer = &mut members[0];
    peer.void_final(&void).expect("void is final");
    assert_eq!(peer.state(1, 0), Some(State::Answered));
    assert_eq!(peer.state(1, 1), Some(State::Void));
    let refused = peer.answer(&assignment(1, 1, b"m"), &mut Signer(2));
    assert_eq!(refused, Err(state_fault(State::Void)));
    // The boot does not go back.
    let fault = PeerFault::WrongBoot;
    assert_eq!(
        peer.void_final(&void),
        Err(Error::Peer { member: 0, fault })
    );
}

#[test]
fn c05_a_second_copy_of_a_signer_stops_both() {
    let mut rng = rng(6);
    let net = Net::deal(3, 2, &mut rng);
    let mut copy = net.members(&[0, 2]);
    let mut members = net.members(&[0, 2]);
    for member in [&mut copy[0], &mut members[0]] {
        member.plan(net.plan(1, &[0, 2], 1)).expect("plan");
        member.reserve(1, &mut rng).expect("reserve");
    }
    let commit = copy[0].commit(1, &mut Signer(0)).expect("commit");
    let stopped = Error::UnsafeState(UnsafeState::SecondCopy { batch: 1 });
    assert_eq!(members[0].commit_final(&commit), Err(stopped.clone()));
    assert_eq!(members[0].commit(1, &mut Signer(0)).map(drop), Err(stopped));

    // A copy that started later shows by its boot.
    let later = net.restart(0, Records::default(), ledger(1, 1));
    let void = later.void(&mut Signer(0)).expect("void");
    let stopped = Error::UnsafeState(UnsafeState::SecondCopy { batch: 1 });
    assert_eq!(copy[0].void_final(&void), Err(stopped));

    // A commitment of an earlier boot that became final late is no second copy.
    let mut restarted = net.restart(0, Records::default(), ledger(1, 2));
    let fault = restarted.commit_final(&commit);
    assert_eq!(fault, Err(Error::Misuse(Misuse::UnknownBatch)));
    assert_eq!(restarted.halted(), None);
}

#[test]
fn c05_a_batch_number_serves_once_also_after_it_was_forgotten() {
    let mut rng = rng(20);
    let net = Net::deal(3, 2, &mut rng);
    let mut members = net.members(&[0, 2]);
    run_to_committed(&mut members, &net.plan(1, &[0, 2], 1), &mut rng);
    let member = &mut members[0];
    member.plan(net.plan(2, &[0, 2], 1)).expect("plan");
    member.reserve(2, &mut rng).expect("reserve");
    let commit = member.commit(2, &mut Signer(0)).expect("commit");
    member.commit_final(&commit).expect("final");
    member.expire(2).expect("expire");
    member.forget(2).expect("forget");
    let again = member.plan(net.plan(2, &[0, 2], 1));
    assert_eq!(again, Err(Error::Misuse(Misuse::BatchExists)));
    // The own commitment that a proposer includes once more is no second copy.
    let fault = member.commit_final(&commit);
    assert_eq!(fault, Err(Error::Misuse(Misuse::UnknownBatch)));
    assert_eq!(member.halted(), None);
    // Another one for the same batch is.
    let other = &mut net.members(&[0, 2])[0];
    other.plan(net.plan(2, &[0, 2], 1)).expect("plan");
    other.reserve(2, &mut rng).expect("reserve");
    let commit = other.commit(2, &mut Signer(0)).expect("commit");
    let stopped = UnsafeState::SecondCopy { batch: 2 };
    assert_eq!(
        member.commit_final(&commit),
        Err(Error::UnsafeState(stopped))
    );
}

#[test]
fn c05_an_own_commitment_with_a_larger_boot_stops_the_signer_whatever_it_holds() {
    let mut rng = rng(21);
    let net = Net::deal(3, 2, &mut rng);
    let member = &mut net.members(&[0, 2])[0];
    member.plan(net.plan(1, &[0, 2], 1)).expect("plan");
    member.reserve(1, &mut rng).expect("reserve");
    let commit = member.commit(1, &mut Signer(0)).expect("commit");
    let mut header = *commit.header();
    header.boot += 1;
    let body = commit.body().clone();
    let later = Signed::issue(header, body, &mut Signer(0)).expect("issue");
    let stopped = Error::UnsafeState(UnsafeState::SecondCopy { batch: 1 });
    assert_eq!(member.commit_final(&later), Err(stopped));
}

#[test]
fn c05_nothing_is_made_before_the_reservation_is_durable_and_nothing_leaves_before_the_answer_is() {
    let mut rng = rng(7);
    let net = Net::deal(3, 2, &mut rng);
    let mut members = net.members(&[0, 2]);
    let plan = net.plan(1, &[0, 2], 1);
    members[0].plan(plan.clone()).expect("plan");
    members[0].records().with(|store| store.broken = true);
    assert_eq!(
        members[0].reserve(1, &mut rng),
        Err(Error::RecordsUnavailable)
    );
    assert_eq!(members[0].state(1, 0), Some(State::Planned));

    let mut members = net.members(&[0, 2]);
    run_to_ready(&mut members, &plan, &mut rng);
    let reserved = members[0].records().with(|store| store.reserved.clone());
    assert_eq!(reserved, [(1, 1)]);
    let request = assignment(1, 0, b"m");
    assert_eq!(
        members[0].answer(&request, &mut NoSigner),
        Err(Error::SignerUnavailable)
    );
    assert_eq!(members[0].state(1, 0), Some(State::Assigned));
    assert!(members[0].records().with(|store| store.answers.is_empty()));
    // The retry answers, and another context is refused although nothing was answered yet.
    members[0].answer(&request, &mut Signer(0)).expect("answer");
    assert_eq!(
        members[1].answer(&request, &mut NoSigner),
        Err(Error::SignerUnavailable)
    );
    let refused = members[1].answer(&assignment(1, 0, b"other"), &mut Signer(2));
    let stopped = UnsafeState::SecondContext { batch: 1, index: 0 };
    assert_eq!(refused, Err(Error::UnsafeState(stopped)));
}

#[test]
fn c06_one_wrong_partial_is_refused_without_blame() {
    let mut rng = rng(8);
    let net = Net::deal(4, 3, &mut rng);
    let mut members = net.members(&[0, 1, 3]);
    run_to_ready(&mut members, &net.plan(1, &[0, 1, 3], 1), &mut rng);
    let request = assignment(1, 0, b"m");
    let mut partials: Vec<_> = members
        .iter_mut()
        .map(|m| {
            m.answer(&request, &mut Signer(m.position()))
                .expect("answer")
        })
        .collect();
    let honest = partials.clone();
    let wrong = receive::<Partial>(&partials[1], &net.committee).expect("partial");
    let mut body = wrong.body().clone();
    let slot = &mut body.z[6].as_mut_array()[255];
    *slot = modulus::add(*slot, 1);
    let wrong = Signed::issue(*wrong.header(), body, &mut Signer(1));
    partials[1] = wrong.expect("signed").bytes().to_vec();
    let refused = combine(&members[0], &request, &partials).map(drop);
    let contributors = vec![0, 1, 3];
    assert_eq!(
        refused,
        Err(Error::Rejected(Rejected::Combination { contributors }))
    );
    let _signature = combine(&members[0], &request, &honest).expect("signature");

    // Too few, too many.
    let short = combine(&members[0], &request, &honest[..2]).map(drop);
    assert_eq!(short, Err(Error::Misuse(Misuse::Incomplete { missing: 1 })));
    let twice = [&honest[..], &honest[..1]].concat();
    let twice = combine(&members[0], &request, &twice).map(drop);
    let fault = PeerFault::PartialTwice;
    assert_eq!(twice, Err(Error::Peer { member: 0, fault }));
}

#[test]
fn c14_no_matrix_leaves_before_all_digests_are_final() {
    let mut rng = rng(9);
    let net = Net::deal(4, 3, &mut rng);
    let mut members = net.members(&[0, 1, 3]);
    let plan = net.plan(1, &[0, 1, 3], 1);
    let refused = |member: &Member<Records>, state| {
        assert_eq!(member.state(1, 0), Some(state));
        assert_eq!(member.matrices(1).map(drop), Err(state_fault(state)));
    };
    for member in &mut members {
        member.plan(plan.clone()).expect("plan");
        refused(member, State::Planned);
        member.reserve(1, &mut rng).expect("reserve");
        refused(member, State::Reserved);
    }
    let commits: Vec<_> = members
        .iter()
        .map(|m| m.commit(1, &mut Signer(m.position())).expect("commit"))
        .collect();
    members[0]
        .commit_final(&commits[0])
        .expect("commit is final");
    refused(&members[0], State::Committed);
    members[0]
        .commit_final(&commits[2])
        .expect("commit is final");
    refused(&members[0], State::Committed);
    members[0]
        .commit_final(&commits[1])
        .expect("commit is final");
    assert_eq!(members[0].state(1, 0), Some(State::Revealed));
    assert_eq!(members[0].matrices(1).map(<[_]>::len), Ok(1));

    // A matrix that comes before its digest is final is not taken either.
    let matrix = members[0].matrices(1).expect("revealed")[0].clone();
    members[1]
        .commit_final(&commits[1])
        .expect("commit is final");
    assert_eq!(
        members[1].matrix(&matrix),
        Err(Error::Misuse(Misuse::NotCommitted))
    );
    members[1]
        .commit_final(&commits[0])
        .expect("commit is final");
    assert_eq!(members[1].matrix(&matrix), Ok(1));
}
