//! Whole signatures: every one verifies under the reference's equation, and the norms are as predicted.

use alloc::sync::Arc;

use horizon_hash::suite::Suite;
use horizon_pulsar::committee::message::NonceMatrix;
use horizon_pulsar::committee::{
    Assignment, Combiner, Committee, CommitteeKey, CommitteeParams, Error, Gather, LedgerView,
    Member, Misuse, PeerFault, Session, SignerShare,
};
use horizon_pulsar::dealer::{Ceremony, Variant, deal};
use horizon_pulsar::signers::Quorum;
use horizon_pulsar::verify::{norm_squared, verify};
use horizon_testkit::{SeededRng, rng};

use crate::support::{
    Net, Records, Signer, announce, introduce, params, receive, run_to_committed, run_to_ready,
    sign,
};

// 2,000 signatures in all, without one failure (finding F-03). One test per committee, so that the harness
// runs them in parallel.

#[test]
fn five_hundred_signatures_of_one_of_one() {
    sign_many(1, 1, 500, 50);
}

#[test]
fn five_hundred_signatures_of_two_of_three() {
    sign_many(2, 3, 500, 20);
}

#[test]
fn four_hundred_signatures_of_three_of_four() {
    sign_many(3, 4, 400, 20);
}

#[test]
fn three_hundred_signatures_of_three_of_five() {
    sign_many(3, 5, 300, 20);
}

#[test]
fn two_hundred_and_fifty_signatures_of_five_of_five() {
    sign_many(5, 5, 250, 10);
}

#[test]
fn twenty_five_signatures_of_fifteen_of_twenty_one() {
    sign_many(15, 21, 25, 5);
}

#[test]
fn twenty_five_signatures_of_twenty_one_of_twenty_one() {
    sign_many(21, 21, 25, 5);
}

/// Makes `total` signatures in batches of `count`, each batch with a random signing set, and compares the
/// mean norm with the prediction.
fn sign_many(t: u16, n: u16, total: u32, count: u16) {
    let mut rng = rng(u64::from(t) << 16 | u64::from(n));
    let net = Net::deal(n, t, &mut rng);
    let everyone: Vec<u16> = (0..n).collect();
    let mut norms = 0.0;
    for batch in 0..u64::from(total / u32::from(count)) {
        let ids = random_set(&everyone, t, &mut rng);
        let mut members = net.members(&ids);
        run_to_ready(&mut members, &net.plan(batch, &ids, count), &mut rng);
        for index in 0..count {
            let mu = rng.vec(40);
            let attempt = u32::from(index) % 3;
            let assignment = Assignment {
                batch,
                index,
                attempt,
                mu: &mu,
            };
            let (signature, verified) = sign(&mut members, &assignment).expect("signature");
            assert_eq!(verified.suite(), Suite::PulsarSha3);
            norms += (norm_squared(&signature) as f64).sqrt();
        }
    }
    // Plain ratio of means. One norm spreads by 1.1 %, so 25 of them by 0.23 % and 500 by 0.05 %.
    let ratio = norms / f64::from(total) / predicted_norm(t);
    assert!(
        (ratio - 1.0).abs() < 0.01,
        "mean norm over prediction: {ratio}"
    );
}

/// L2 norm of an honest signature: 15 polynomials, each coefficient the sum over `t` signers of one wide
/// sample and 48·256 products of a small sample and a coefficient of `u`.
fn predicted_norm(t: u16) -> f64 {
    const SIGMA_E: f64 = 6.108_187_070_284_607;
    const SIGMA_STAR: f64 = 172_852_667_880.271_33;
    const SIGMA_U: f64 = 163_980_658.52;
    let one = SIGMA_STAR.powi(2) + 48.0 * 256.0 * (SIGMA_E * SIGMA_U).powi(2);
    (f64::from(t) * 15.0 * 256.0 * one).sqrt()
}

fn random_set(everyone: &[u16], t: u16, rng: &mut SeededRng) -> Vec<u16> {
    let mut ids = everyone.to_vec();
    while ids.len() > usize::from(t) {
        ids.remove(rng.index(ids.len()));
    }
    ids
}

#[test]
fn predicted_norms_are_those_of_the_specification() {
    // n = 4, t = 3; n = 21, t = 15; n = 64, t = 43.
    for (t, log) in [(3, 44.33), (15, 45.49), (43, 46.25)] {
        assert!((predicted_norm(t).log2() - log).abs() < 0.01, "t = {t}");
    }
}

#[test]
fn members_with_several_points_sign_with_one_partial_each() {
    let mut rng = rng(21);
    let points = vec![vec![1, 2], vec![3], vec![4, 5, 9]];
    let net = Net::deal_points(3, 3, points, &mut rng);
    for (batch, ids) in [
        (0, vec![0, 1]),
        (1, vec![0, 2]),
        (2, vec![1, 2]),
        (3, vec![2]),
    ] {
        let mut members = net.members(&ids);
        run_to_ready(&mut members, &net.plan(batch, &ids, 1), &mut rng);
        let assignment = Assignment {
            batch,
            index: 0,
            attempt: 0,
            mu: b"weights",
        };
        let _signature = sign(&mut members, &assignment).expect("signature");
    }
}

#[test]
fn matrices_may_arrive_in_any_order() {
    let mut rng = rng(22);
    let net = Net::deal(3, 3, &mut rng);
    let ids = [0, 1, 2];
    let mut members = net.members(&ids);
    let plan = net.plan(0, &ids, 4);
    run_to_committed(&mut members, &plan, &mut rng);
    let mut all: Vec<(u16, Vec<u8>)> = Vec::new();
    for member in &members {
        let matrices = member.matrices(0).expect("revealed");
        all.extend(
            matrices
                .iter()
                .map(|matrix| (member.position(), matrix.clone())),
        );
    }
    for member in &mut members {
        let mut left: Vec<_> = all
            .iter()
            .filter(|(from, _)| *from != member.position())
            .collect();
        while !left.is_empty() {
            let (_, matrix) = left.remove(rng.index(left.len()));
            assert_eq!(member.matrix(matrix), Ok(left.len()));
        }
    }
    announce(&mut members, 0);
    for index in [3, 0, 2, 1] {
        let assignment = Assignment {
            batch: 0,
            index,
            attempt: 0,
            mu: b"any order",
        };
        let _signature = sign(&mut members, &assignment).expect("signature");
    }
}

#[test]
fn a_node_outside_the_set_combines_from_matrices_or_from_h() {
    let mut rng = rng(23);
    let net = Net::deal(4, 3, &mut rng);
    let ids = [0, 2, 3];
    let mut members = net.members(&ids);
    let plan = net.plan(9, &ids, 1);
    let mut gather = Gather::new(&net.committee, plan.clone());
    for member in &mut members {
        member.plan(plan.clone()).expect("plan");
        member.reserve(9, &mut rng).expect("reserve");
    }
    let commits: Vec<_> = members
        .iter()
        .map(|m| m.commit(9, &mut Signer(m.position())).expect("commit"))
        .collect();
    for commit in &commits {
        gather.commit(commit, 1).expect("commit is final");
        members
            .iter_mut()
            .for_each(|m| m.commit_final(commit).expect("commit is final"));
    }
    let all: Vec<_> = members
        .iter()
        .map(|m| m.matrices(9).expect("revealed")[0].clone())
        .collect();
    for (at, member) in members.iter_mut().enumerate() {
        let foreign = all.iter().enumerate().filter(|(from, _)| *from != at);
        foreign.for_each(|(_, matrix)| {
            member.matrix(matrix).expect("matrix");
        });
    }
    for matrix in &all {
        let matrix = NonceMatrix::decode(matrix, &net.committee);
        gather.matrix(&matrix.expect("matrix")).expect("matrix");
    }
    gather.finish().expect("full rank");
    announce(&mut members, 9);

    let assignment = Assignment {
        batch: 9,
        index: 0,
        attempt: 4,
        mu: b"outside",
    };
    let partials: Vec<_> = members
        .iter_mut()
        .map(|m| {
            m.answer(&assignment, &mut Signer(m.position()))
                .expect("answer")
        })
        .collect();
    let key = net.key.prepared();
    let digests = gather.digests(0).expect("digests");
    let sum = gather.sum(0).expect("sum");
    let own = Session::derive(&net.committee, key, &plan, &digests, sum, &assignment);
    let own = own.expect("session");
    let h = Box::new(own.h().clone());
    let from_h =
        Session::from_commitment(&net.committee, key, &plan, &digests, h.clone(), &assignment)
            .expect("session");
    for session in [&own, &from_h] {
        let mut combiner = Combiner::new(&net.committee, session);
        for partial in &partials {
            combiner
                .add(&receive(partial, &net.committee).expect("partial"))
                .expect("add");
        }
        let _signature = combiner.finish(key, b"outside").expect("signature");
    }

    // A member that lies about h wastes time and nothing else: no partial matches.
    let mut wrong = h;
    wrong[0].as_mut_array()[0] ^= 1;
    let lied = Session::from_commitment(&net.committee, key, &plan, &digests, wrong, &assignment)
        .expect("session");
    let partial = receive(&partials[0], &net.committee).expect("partial");
    let refused = Combiner::new(&net.committee, &lied).add(&partial);
    let fault = PeerFault::WrongSessionContext;
    assert_eq!(refused, Err(Error::Peer { member: 0, fault }));
}

#[test]
fn shares_of_the_trusted_dealer_sign_under_both_suites() {
    for suite in [Suite::PulsarSha3, Suite::PulsarBlake3] {
        let mut rng = rng(24);
        let ceremony = Ceremony {
            variant: Variant::Dkg,
            chain_id: &[1; 32],
            network_id: 1,
            group_id: 0,
            suite,
            era: 7,
            old_generation: 0,
            new_generation: 0,
            old_set_hash: [0; 32],
            new_set_hash: [3; 32],
            old_threshold: 0,
            new_threshold: 2,
            group_key_hash: [0; 32],
            opening_block_hash: [6; 32],
            attempt: 0,
        };
        let quorum = Quorum::new(2, 3).expect("quorum");
        let dealt = deal(&ceremony, quorum, &mut rng).expect("deal");
        let params = CommitteeParams {
            suite,
            group_key_hash: dealt.group_key.hash(suite),
            ..params(3, 2)
        };
        let committee = Committee::new(params.clone()).expect("committee");
        let shares: Vec<_> = dealt
            .packages
            .into_iter()
            .map(|package| package.accept(&dealt.record).expect("package"))
            .collect();
        let key = Arc::new(CommitteeKey::new(&dealt.group_key, suite));
        let mut members: Vec<_> = [0, 2]
            .iter()
            .map(|at: &usize| {
                let share = SignerShare::from_dealt(&committee, &shares[*at]).expect("share");
                let ledger = LedgerView {
                    boots: vec![0; 3],
                    first_batch: 0,
                };
                let (committee, key) = (committee.clone(), key.clone());
                Member::start(committee, key, share, Records::default(), ledger).expect("start")
            })
            .collect();
        introduce(&mut members);
        let set = committee.signing_set(&[0, 2]).expect("set");
        let plan = committee.plan(1, set, 1).expect("plan");
        run_to_ready(&mut members, &plan, &mut rng);
        let request = Assignment {
            batch: 1,
            index: 0,
            attempt: 0,
            mu: b"dealt",
        };
        let (signature, _verified) = sign(&mut members, &request).expect("signature");
        let cold = verify(&dealt.group_key, suite, b"dealt", &signature).expect("valid");
        assert_eq!(cold.suite(), suite);
        assert!(verify(&dealt.group_key, suite, b"other", &signature).is_err());

        // The share fits nothing else.
        let other = CommitteeParams {
            t: 3,
            ..params.clone()
        };
        let other = Committee::new(other).expect("committee");
        let refused = SignerShare::from_dealt(&other, &shares[0]).map(drop);
        assert_eq!(refused, Err(Error::Misuse(Misuse::Share)));
        let other = CommitteeParams {
            group_key_hash: [0; 32],
            ..params
        };
        let other = Committee::new(other).expect("committee");
        let refused = SignerShare::from_dealt(&other, &shares[0]).map(drop);
        assert_eq!(refused, Err(Error::Misuse(Misuse::Share)));
    }
}
