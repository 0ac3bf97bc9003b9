//! Every step out of order, and every peer that breaks a rule, has its own error.

use horizon_pulsar::committee::message::{BatchCommit, BatchHave, Header, Partial, Signed};
use horizon_pulsar::committee::{
    Assignment, Combiner, Committee, Error, LedgerView, Member, Misuse, PeerFault, Plan, Session,
    SignerShare, State,
};
use horizon_pulsar::secret::SecretPolys;
use horizon_testkit::mutate::with_byte;
use horizon_testkit::rng;

use crate::support::{
    Net, Records, Signer, announce, params, receive, run_to_committed, run_to_ready, sign,
};

fn peer(member: u16, fault: PeerFault) -> Error {
    Error::Peer { member, fault }
}

fn misuse<T>(fault: Misuse) -> Result<T, Error> {
    Err(Error::Misuse(fault))
}

fn state<T>(state: State) -> Result<T, Error> {
    misuse(Misuse::State { state })
}

#[test]
fn committees_and_sets_are_checked() {
    let make = |n, t| Committee::new(params(n, t)).map(drop);
    assert_eq!(make(0, 1), misuse(Misuse::PartyCount));
    assert_eq!(make(1025, 1), misuse(Misuse::PartyCount));
    assert_eq!(make(3, 0), misuse(Misuse::Threshold));
    assert_eq!(make(3, 4), misuse(Misuse::Threshold));
    assert_eq!(make(1024, 1024), Ok(()));
    let points = |points: &[&[u16]]| {
        let points = points.iter().map(|own| own.to_vec()).collect();
        Committee::with_points(params(2, 2), points).map(drop)
    };
    assert_eq!(points(&[&[1], &[1]]), misuse(Misuse::Points));
    assert_eq!(points(&[&[1], &[0]]), misuse(Misuse::Points));
    assert_eq!(points(&[&[1], &[]]), misuse(Misuse::Points));
    assert_eq!(points(&[&[1]]), misuse(Misuse::Points));
    assert_eq!(points(&[&[1], &[2], &[3]]), misuse(Misuse::Points));
    assert_eq!(points(&[&[1, 7], &[2]]), Ok(()));

    let committee = Committee::new(params(5, 3)).expect("committee");
    let set = |ids: &[u16]| committee.signing_set(ids).map(drop);
    assert_eq!(set(&[]), misuse(Misuse::SetOrder));
    assert_eq!(set(&[0, 2, 1]), misuse(Misuse::SetOrder));
    assert_eq!(set(&[0, 1, 1]), misuse(Misuse::SetOrder));
    assert_eq!(set(&[0, 1, 5]), misuse(Misuse::SetMember));
    assert_eq!(set(&[0, 1]), misuse(Misuse::SetSize));
    assert_eq!(set(&[0, 1, 2, 3]), misuse(Misuse::SetSize));
    let set = committee.signing_set(&[0, 1, 4]).expect("set");
    for count in [0, 65] {
        let plan = committee.plan(0, set.clone(), count);
        assert_eq!(plan, misuse(Misuse::BatchCount));
    }
    // With points: {0} holds 2 of 3, {0, 1} holds 3, {0, 2} holds 4 but loses them without 0.
    let points = vec![vec![1, 2], vec![3], vec![4, 5]];
    let weighted = Committee::with_points(params(3, 3), points).expect("committee");
    assert_eq!(
        weighted.signing_set(&[0]).map(drop),
        misuse(Misuse::SetSize)
    );
    assert!(weighted.signing_set(&[0, 1]).is_ok() && weighted.signing_set(&[0, 2]).is_ok());
    assert_eq!(
        weighted.signing_set(&[0, 1, 2]).map(drop),
        misuse(Misuse::SetSize)
    );
}

#[test]
fn a_share_must_fit_its_committee() {
    let mut rng = rng(1);
    let net = Net::deal(3, 2, &mut rng);
    let rows = |polys| vec![SecretPolys::zero(polys)];
    let make = |member, rows, seeds| {
        SignerShare::new(&net.committee, member, rows, vec![[0; 32]; seeds]).map(drop)
    };
    assert_eq!(make(3, rows(7), 3), misuse(Misuse::Share));
    assert_eq!(make(0, rows(6), 3), misuse(Misuse::Share));
    assert_eq!(make(0, rows(7), 2), misuse(Misuse::Share));
    assert_eq!(make(0, Vec::new(), 3), misuse(Misuse::Share));
    let mut large = SecretPolys::zero(7);
    large.polys_mut()[6].as_mut_array()[255] = horizon_ring::Q;
    assert_eq!(make(0, vec![large], 3), misuse(Misuse::Share));
    assert_eq!(make(0, rows(7), 3), Ok(()));

    let other = Net::deal(3, 2, &mut rng);
    let ledger = LedgerView {
        boots: vec![0; 3],
        first_batch: 0,
    };
    let start = |committee: &Committee, ledger| {
        let (key, records) = (net.key.clone(), Records::default());
        Member::start(committee.clone(), key, net.share(0), records, ledger).map(drop)
    };
    assert_eq!(
        start(&other.committee, ledger.clone()),
        misuse(Misuse::GroupKey)
    );
    assert_eq!(start(&net.committee, ledger), Ok(()));
    for boots in [vec![0; 2], vec![0; 4]] {
        let ledger = LedgerView {
            boots,
            first_batch: 0,
        };
        assert_eq!(start(&net.committee, ledger), misuse(Misuse::PartyCount));
    }
    let ledger = LedgerView {
        boots: vec![u32::MAX; 3],
        first_batch: 0,
    };
    assert_eq!(start(&net.committee, ledger), misuse(Misuse::StaleBoot));
    // A share of one point does not fit a committee that gives the member two.
    let params = net.committee.params().clone();
    let points = vec![vec![1, 4], vec![2], vec![3]];
    let two = Committee::with_points(params, points).expect("committee");
    let ledger = LedgerView {
        boots: vec![0; 3],
        first_batch: 0,
    };
    assert_eq!(start(&two, ledger), misuse(Misuse::Share));
}

#[test]
fn steps_out_of_order_are_refused_with_the_state() {
    let mut rng = rng(2);
    let net = Net::deal(4, 3, &mut rng);
    let ids = [0, 1, 3];
    let mut members = net.members(&ids);
    let plan = net.plan(1, &ids, 1);
    let request = Assignment {
        batch: 1,
        index: 0,
        attempt: 0,
        mu: b"m",
    };
    let member = &mut members[0];
    assert_eq!(member.reserve(1, &mut rng), misuse(Misuse::UnknownBatch));
    assert_eq!(
        member.commit(1, &mut Signer(0)).map(drop),
        misuse(Misuse::UnknownBatch)
    );
    assert_eq!(member.matrices(1).map(drop), misuse(Misuse::UnknownBatch));
    assert_eq!(
        member.have(1, &mut Signer(0)).map(drop),
        misuse(Misuse::UnknownBatch)
    );
    assert_eq!(
        member.answer(&request, &mut Signer(0)),
        misuse(Misuse::UnknownBatch)
    );
    assert_eq!(member.state(1, 0), None);
    let other = net.plan(2, &[1, 2, 3], 1);
    assert_eq!(member.plan(other), misuse(Misuse::NotInSet));
    member.plan(plan.clone()).expect("plan");
    assert_eq!(member.plan(plan.clone()), misuse(Misuse::BatchExists));
    assert_eq!(
        member.commit(1, &mut Signer(0)).map(drop),
        state(State::Planned)
    );
    assert_eq!(
        member.answer(&request, &mut Signer(0)),
        state(State::Planned)
    );
    assert_eq!(member.forget(1), state(State::Planned));
    member.reserve(1, &mut rng).expect("reserve");
    assert_eq!(member.reserve(1, &mut rng), state(State::Reserved));
    assert_eq!(
        member.have(1, &mut Signer(0)).map(drop),
        state(State::Reserved)
    );
    assert_eq!(
        member.answer(&request, &mut Signer(0)),
        state(State::Reserved)
    );

    let mut members = net.members(&ids);
    run_to_committed(&mut members, &plan, &mut rng);
    let missing = misuse(Misuse::Incomplete { missing: 2 });
    assert_eq!(members[0].have(1, &mut Signer(0)).map(drop), missing);
    assert_eq!(
        members[0].answer(&request, &mut Signer(0)),
        state(State::Revealed)
    );

    let mut members = net.members(&ids);
    run_to_ready(&mut members, &plan, &mut rng);
    let member = &mut members[0];
    let outside = Assignment {
        index: 1,
        ..request
    };
    assert_eq!(
        member.answer(&outside, &mut Signer(0)),
        misuse(Misuse::Index)
    );
    assert_eq!(member.matrices(1).map(drop), state(State::Ready));
    assert_eq!(
        member.commit(1, &mut Signer(0)).map(drop),
        state(State::Ready)
    );
    assert_eq!(member.close(1, 0, true), state(State::Ready));
    assert_eq!(member.close(1, 1, true), misuse(Misuse::Index));
    member.answer(&request, &mut Signer(0)).expect("answer");
    member.close(1, 0, true).expect("close");
    assert_eq!(member.state(1, 0), Some(State::Done));
    assert_eq!(member.answer(&request, &mut Signer(0)), state(State::Done));
    member.forget(1).expect("forget");
    assert_eq!(member.state(1, 0), None);

    let member = &mut members[1];
    member.answer(&request, &mut Signer(1)).expect("answer");
    member.close(1, 0, false).expect("close");
    assert_eq!(member.state(1, 0), Some(State::Failed));
    let member = &mut members[2];
    member.expire(1).expect("expire");
    assert_eq!(member.state(1, 0), Some(State::Void));
    assert_eq!(member.answer(&request, &mut Signer(3)), state(State::Void));
}

#[test]
fn the_number_of_live_batches_is_limited() {
    let mut rng = rng(3);
    let net = Net::deal(1, 1, &mut rng);
    let mut member = net.start(0);
    for batch in 0..64 {
        member.plan(net.plan(batch, &[0], 1)).expect("plan");
    }
    assert_eq!(
        member.plan(net.plan(64, &[0], 1)),
        misuse(Misuse::TooManyBatches)
    );
    member.expire(7).expect("expire");
    member.forget(7).expect("forget");
    member.plan(net.plan(64, &[0], 1)).expect("plan");
}

#[test]
fn a_wrong_commitment_names_its_sender() {
    let mut rng = rng(4);
    let net = Net::deal(4, 3, &mut rng);
    let ids = [0, 1, 3];
    let plan = net.plan(1, &ids, 2);
    let mut members = net.members(&ids);
    for member in &mut members {
        member.plan(plan.clone()).expect("plan");
        member.reserve(1, &mut rng).expect("reserve");
    }
    let good = members[1].commit(1, &mut Signer(1)).expect("commit");
    let issue = |header: Header, change: &dyn Fn(&mut BatchCommit)| {
        let mut body = good.body().clone();
        change(&mut body);
        let sender = header.sender;
        Signed::issue(header, body, &mut Signer(sender)).expect("signed")
    };
    let header = *good.header();
    let member = &mut members[0];
    let mut check = |tx: &Signed<BatchCommit>, fault| {
        assert_eq!(
            member.commit_final(tx),
            Err(peer(tx.header().sender, fault))
        );
    };
    check(
        &issue(
            Header {
                sender: 2,
                ..header
            },
            &|_| (),
        ),
        PeerFault::NotInSet,
    );
    check(
        &issue(Header { boot: 2, ..header }, &|_| ()),
        PeerFault::WrongBoot,
    );
    check(
        &issue(Header { boot: 0, ..header }, &|_| ()),
        PeerFault::WrongBoot,
    );
    check(
        &issue(header, &|body| body.set_digest[0] ^= 1),
        PeerFault::WrongSetDigest,
    );
    check(
        &issue(header, &|body| body.digests.truncate(1)),
        PeerFault::WrongCount,
    );
    check(
        &issue(header, &|body| body.digests[1] = body.digests[0]),
        PeerFault::RepeatedDigest,
    );
    member.commit_final(&good).expect("commit is final");
    assert_eq!(member.commit_final(&good), Err(peer(1, PeerFault::Twice)));
    // Nor may a member repeat the digest of another one.
    let copied = issue(
        Header {
            sender: 3,
            ..header
        },
        &|_| (),
    );
    assert_eq!(
        member.commit_final(&copied),
        Err(peer(3, PeerFault::RepeatedDigest))
    );
}

#[test]
fn a_wrong_matrix_names_its_sender_and_changes_nothing() {
    let mut rng = rng(5);
    let net = Net::deal(4, 3, &mut rng);
    let ids = [0, 1, 3];
    let plan = net.plan(1, &ids, 1);
    let mut members = net.members(&ids);
    run_to_committed(&mut members, &plan, &mut rng);
    let matrices: Vec<Vec<u8>> = members
        .iter()
        .map(|m| m.matrices(1).expect("revealed")[0].clone())
        .collect();
    let member = &mut members[0];
    let mut check = |bytes: &[u8], error: Error| assert_eq!(member.matrix(bytes), Err(error));
    // Another sender's name, boot, index or content: all are under the digest.
    for at in [41, 100, 614_705] {
        let altered = with_byte(&matrices[1], at, matrices[1][at] ^ 1);
        let expected = match at {
            41 => Error::Misuse(Misuse::UnknownBatch),
            _ => peer(1, PeerFault::MatrixDigest),
        };
        check(&altered, expected);
    }
    check(
        &with_byte(&matrices[1], 39, 9),
        peer(1, PeerFault::MatrixDigest),
    );
    check(
        &with_byte(&matrices[1], 49, 1),
        Error::Misuse(Misuse::Index),
    );
    check(
        &with_byte(&matrices[1], 35, 3),
        peer(3, PeerFault::MatrixDigest),
    );
    check(
        &with_byte(&matrices[1], 35, 2),
        peer(2, PeerFault::NotInSet),
    );
    check(&matrices[0], peer(0, PeerFault::MatrixTwice));
    let own = with_byte(&matrices[0], 5000, matrices[0][5000] ^ 1);
    check(&own, Error::Misuse(Misuse::OwnMatrixAltered));
    assert_eq!(member.matrix(&matrices[1]), Ok(1));
    assert_eq!(
        member.matrix(&matrices[1]),
        Err(peer(1, PeerFault::MatrixTwice))
    );
    assert_eq!(member.matrix(&matrices[2]), Ok(0));
    members[1].matrix(&matrices[0]).expect("matrix");
    members[1].matrix(&matrices[2]).expect("matrix");
    members[2].matrix(&matrices[0]).expect("matrix");
    members[2].matrix(&matrices[1]).expect("matrix");
    announce(&mut members, 1);
    let request = Assignment {
        batch: 1,
        index: 0,
        attempt: 0,
        mu: b"m",
    };
    let _signature = sign(&mut members, &request).expect("signature");
}

#[test]
fn a_committed_matrix_with_a_value_of_q_is_the_members_fault() {
    let mut rng = rng(6);
    let net = Net::deal(2, 2, &mut rng);
    let plan = net.plan(1, &[0, 1], 1);
    let mut members = net.members(&[0, 1]);
    for member in &mut members {
        member.plan(plan.clone()).expect("plan");
        member.reserve(1, &mut rng).expect("reserve");
    }
    // Member 1 commits to its matrix with the last value replaced by q.
    let own = members[0].commit(1, &mut Signer(0)).expect("commit");
    let good = members[1].commit(1, &mut Signer(1)).expect("commit");
    members[1].commit_final(&own).expect("commit is final");
    members[1].commit_final(&good).expect("commit is final");
    let mut matrix = members[1].matrices(1).expect("revealed")[0].clone();
    let end = matrix.len();
    matrix[end - 7..].copy_from_slice(&(horizon_ring::Q << 7).to_le_bytes()[..7]);
    let mut body = good.body().clone();
    body.digests[0] = horizon_pulsar::committee::context::matrix_digest(&[&matrix]);
    let wrong = Signed::issue(*good.header(), body, &mut Signer(1)).expect("signed");
    members[0].commit_final(&own).expect("commit is final");
    members[0].commit_final(&wrong).expect("commit is final");
    assert_eq!(
        members[0].matrix(&matrix),
        Err(peer(1, PeerFault::MatrixNotCanonical))
    );
    // Its own copy of the protocol has other digests: what is final in its name is not its work.
    assert!(matches!(
        members[1].commit_final(&wrong),
        Err(Error::UnsafeState(_))
    ));
}

#[test]
fn a_wrong_announcement_names_its_sender() {
    let mut rng = rng(7);
    let net = Net::deal(3, 2, &mut rng);
    let plan = net.plan(1, &[0, 2], 1);
    let mut members = net.members(&[0, 2]);
    run_to_committed(&mut members, &plan, &mut rng);
    let matrix = members[0].matrices(1).expect("revealed")[0].clone();
    members[1].matrix(&matrix).expect("matrix");
    let good = members[1].have(1, &mut Signer(2)).expect("have");
    let issue = |header: Header, root| {
        Signed::issue(header, BatchHave { root }, &mut Signer(header.sender)).expect("signed")
    };
    let (header, root) = (*good.header(), good.body().root);
    let member = &mut members[0];
    let mut check = |tx: &Signed<BatchHave>, fault| {
        assert_eq!(member.have_final(tx), Err(peer(tx.header().sender, fault)));
    };
    check(
        &issue(
            Header {
                sender: 1,
                ..header
            },
            root,
        ),
        PeerFault::NotInSet,
    );
    check(
        &issue(Header { boot: 7, ..header }, root),
        PeerFault::WrongBoot,
    );
    check(&issue(header, [0; 32]), PeerFault::WrongHaveRoot);
    member.have_final(&good).expect("have is final");
    assert_eq!(member.have_final(&good), Err(peer(2, PeerFault::Twice)));
    assert_eq!(member.state(1, 0), Some(State::Revealed));
}

#[test]
fn a_partial_of_another_session_names_its_sender() {
    let mut rng = rng(8);
    let net = Net::deal(3, 2, &mut rng);
    let plan = net.plan(1, &[0, 2], 2);
    let mut members = net.members(&[0, 2]);
    run_to_ready(&mut members, &plan, &mut rng);
    let request = Assignment {
        batch: 1,
        index: 0,
        attempt: 0,
        mu: b"m",
    };
    let bytes: Vec<_> = members
        .iter_mut()
        .map(|m| {
            m.answer(&request, &mut Signer(m.position()))
                .expect("answer")
        })
        .collect();
    let partial = receive::<Partial>(&bytes[1], &net.committee).expect("partial");
    let issue = |header: Header, change: &dyn Fn(&mut Partial)| {
        let mut body = partial.body().clone();
        change(&mut body);
        Signed::issue(header, body, &mut Signer(header.sender)).expect("signed")
    };
    let header = *partial.header();
    let session: &Session = members[0].session(1, 0).expect("session");
    let mut combiner = Combiner::new(&net.committee, session);
    let mut check = |tx: &Signed<Partial>, fault| {
        assert_eq!(combiner.add(tx), Err(peer(tx.header().sender, fault)));
    };
    check(
        &issue(
            Header {
                sender: 1,
                ..header
            },
            &|_| (),
        ),
        PeerFault::NotInSet,
    );
    check(
        &issue(Header { seq: 2, ..header }, &|_| ()),
        PeerFault::WrongSlot,
    );
    check(&issue(header, &|body| body.index = 1), PeerFault::WrongSlot);
    check(
        &issue(header, &|body| body.attempt = 1),
        PeerFault::WrongSlot,
    );
    check(
        &issue(header, &|body| body.session_ctx[0] ^= 1),
        PeerFault::WrongSessionContext,
    );
    assert_eq!(combiner.add(&partial), Ok(1));
    assert_eq!(
        combiner.add(&partial),
        Err(peer(2, PeerFault::PartialTwice))
    );
    assert_eq!(combiner.missing(), [0]);
}

#[test]
fn a_rank_deficient_sum_voids_the_batch_and_names_nobody() {
    // One member alone, t = 1: its matrix is the sum. A zero matrix has rank 0.
    let mut rng = rng(9);
    let net = Net::deal(1, 1, &mut rng);
    let plan: Plan = net.plan(1, &[0], 1);
    let mut gather = horizon_pulsar::committee::Gather::new(&net.committee, plan);
    let header = Header {
        ctx: *net.committee.era_ctx(),
        sender: 0,
        boot: 1,
        seq: 1,
    };
    let mut matrix = horizon_pulsar::committee::message::NonceMatrix::prefix(&header, 0);
    matrix.resize(horizon_pulsar::committee::message::NONCE_MATRIX_LEN, 0);
    let digest = horizon_pulsar::committee::context::matrix_digest(&[&matrix]);
    let body = BatchCommit {
        set_digest: *gather.set_digest(),
        digests: vec![digest],
    };
    let commit = Signed::issue(header, body, &mut Signer(0)).expect("signed");
    gather.commit(&commit, 1).expect("commit");
    let decoded = horizon_pulsar::committee::message::NonceMatrix::decode(&matrix, &net.committee);
    assert_eq!(gather.matrix(&decoded.expect("matrix")), Ok(0));
    let error = gather.finish().expect_err("rank 0");
    let rejected = horizon_pulsar::committee::Rejected::RankDeficient { index: 0 };
    assert_eq!(error, Error::Rejected(rejected));
    assert!(error.members().is_empty());
    assert!(gather.sum(0).is_none());
    // It stays refused.
    assert_eq!(gather.finish().map(drop), Err(error));
}
