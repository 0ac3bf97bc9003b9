//! What one member spends on one signature in the committee mode, by phase: the smallest time seen, one core.
//!
//! `cargo run --release -p horizon-pulsar --example committee_cost -- 21`

#![allow(clippy::print_stdout, reason = "an example prints")]

extern crate alloc;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::time::Duration;
use std::time::Instant;

use horizon_hash::suite::Suite;
use horizon_pulsar::committee::message::Signed;
use horizon_pulsar::committee::{
    Answer, Assignment, Combiner, Committee, CommitteeKey, CommitteeParams, LedgerView, Member,
    MemberSigner, MemberVerifier, RecordsUnavailable, SIGNATURE_LEN, SessionRecords,
    SignatureRefused, SignerShare, SignerUnavailable,
};
use horizon_pulsar::dealer::{Ceremony, Variant, deal};
use horizon_pulsar::signers::Quorum;
use horizon_testkit::rng;

fn main() {
    let t = std::env::args()
        .nth(1)
        .and_then(|arg| arg.parse().ok())
        .unwrap_or(21);
    let mut best = BTreeMap::new();
    for round in 0..20 {
        measure(t, round, &mut best);
    }
    let total: Duration = best
        .iter()
        .filter(|(name, _)| !name.starts_with("6"))
        .map(|(_, d)| *d)
        .sum();
    for (name, duration) in &best {
        println!("{name:<44}{:>10.1} us", duration.as_secs_f64() * 1e6);
    }
    println!(
        "{:<44}{:>10.1} us",
        "sum of 1 to 5",
        total.as_secs_f64() * 1e6
    );
}

/// One signature of `t` of `t`, timing member 0.
fn measure(t: u16, round: u64, best: &mut BTreeMap<&'static str, Duration>) {
    let mut timed = |name, start: Instant| {
        let spent = start.elapsed();
        best.entry(name)
            .and_modify(|best| *best = spent.min(*best))
            .or_insert(spent);
    };
    let mut rng = rng(round);
    let (committee, key, shares) = committee(t, &mut rng);
    let ids: Vec<u16> = (0..t).collect();
    let mut members: Vec<Member<Records>> = shares
        .into_iter()
        .map(|share| {
            let ledger = LedgerView {
                boots: vec![0; ids.len()],
                first_batch: 0,
            };
            Member::start(committee.clone(), key.clone(), share, Records, ledger).expect("start")
        })
        .collect();
    let voids: Vec<_> = members
        .iter()
        .map(|m| m.void(&mut Free).expect("void"))
        .collect();
    let set = committee.signing_set(&ids).expect("set");
    let plan = committee.plan(1, set, 1).expect("plan");
    for member in &mut members {
        voids
            .iter()
            .for_each(|void| member.void_final(void).expect("void"));
        member.plan(plan.clone()).expect("plan");
        let start = Instant::now();
        member.reserve(1, &mut rng).expect("reserve");
        timed("1 nonces, D, own digest", start);
    }
    let commits: Vec<_> = members
        .iter()
        .map(|m| m.commit(1, &mut Free).expect("commit"))
        .collect();
    for member in &mut members {
        commits
            .iter()
            .for_each(|commit| member.commit_final(commit).expect("commit"));
    }
    let matrices: Vec<_> = members
        .iter()
        .map(|m| m.matrices(1).expect("revealed")[0].clone())
        .collect();
    for (at, member) in members.iter_mut().enumerate() {
        let start = Instant::now();
        for matrix in matrices
            .iter()
            .enumerate()
            .filter(|(from, _)| *from != at)
            .map(|(_, m)| m)
        {
            member.matrix(matrix).expect("matrix");
        }
        timed("2 foreign matrices: digest, check, sum", start);
    }
    let mut haves = Vec::new();
    for member in &mut members {
        let start = Instant::now();
        haves.push(member.have(1, &mut Free).expect("have"));
        timed("3 reduction of the sum, rank check", start);
    }
    for member in &mut members {
        let start = Instant::now();
        haves
            .iter()
            .for_each(|have| member.have_final(have).expect("have"));
        timed("4 announcements, share for the set", start);
    }
    let request = Assignment {
        batch: 1,
        index: 0,
        attempt: 0,
        mu: b"one message",
    };
    let mut partials = Vec::new();
    for member in &mut members {
        let start = Instant::now();
        partials.push(member.answer(&request, &mut Free).expect("answer"));
        timed("5 online: assignment to signed partial", start);
    }
    let partials: Vec<Signed<_>> = partials
        .iter()
        .map(|bytes| {
            horizon_pulsar::committee::message::Unverified::decode(bytes, &committee)
                .and_then(|partial| partial.verify(&Free))
                .expect("partial")
        })
        .collect();
    let session = members[0].session(1, 0).expect("session");
    let start = Instant::now();
    let mut combiner = Combiner::new(&committee, session);
    for partial in &partials {
        combiner.add(partial).expect("add");
    }
    let _signature = combiner
        .finish(key.prepared(), request.mu)
        .expect("signature");
    timed("6 combining and verifying", start);
}

fn committee(
    t: u16,
    rng: &mut horizon_testkit::SeededRng,
) -> (Committee, Arc<CommitteeKey>, Vec<SignerShare>) {
    let suite = Suite::PulsarSha3;
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
        new_threshold: t.into(),
        group_key_hash: [0; 32],
        opening_block_hash: [6; 32],
        attempt: 0,
    };
    let deal = deal(&ceremony, Quorum::new(t, t).expect("quorum"), rng).expect("deal");
    let committee = Committee::new(CommitteeParams {
        chain_id: [1; 32],
        network_id: 1,
        group_id: 0,
        suite,
        group_key_hash: deal.group_key.hash(suite),
        era: 7,
        generation: 0,
        set_hash: [3; 32],
        n: t,
        t,
    })
    .expect("committee");
    let shares = deal.packages.into_iter().map(|package| {
        let share = package.accept(&deal.record).expect("package");
        SignerShare::from_dealt(&committee, &share).expect("share")
    });
    let shares = shares.collect();
    (
        committee,
        Arc::new(CommitteeKey::new(&deal.group_key, suite)),
        shares,
    )
}

/// Signatures that cost nothing: ML-DSA is measured elsewhere.
struct Free;

impl MemberSigner for Free {
    fn sign(&mut self, _: &[u8], _: &[u8]) -> Result<[u8; SIGNATURE_LEN], SignerUnavailable> {
        Ok([0; SIGNATURE_LEN])
    }
}

impl MemberVerifier for Free {
    fn verify(
        &self,
        _: u16,
        _: &[u8],
        _: &[u8],
        _: &[u8; SIGNATURE_LEN],
    ) -> Result<(), SignatureRefused> {
        Ok(())
    }
}

/// A record that remembers nothing.
struct Records;

impl SessionRecords for Records {
    fn boot(&self, _: &[u8; 32]) -> Result<Option<u32>, RecordsUnavailable> {
        Ok(None)
    }

    fn reserve(&mut self, _: &[u8; 32], _: u32, _: u64) -> Result<(), RecordsUnavailable> {
        Ok(())
    }

    fn answer(&self, _: &[u8; 32], _: u64, _: u16) -> Result<Option<Answer>, RecordsUnavailable> {
        Ok(None)
    }

    fn record_answer(
        &mut self,
        _: &[u8; 32],
        _: u64,
        _: u16,
        _: &Answer,
    ) -> Result<(), RecordsUnavailable> {
        Ok(())
    }
}
