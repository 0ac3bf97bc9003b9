//! The ledger rules with real members: blocks, faults, restarts.

use alloc::sync::Arc;

use horizon_pulsar::committee::ledger::{Block, Event, Ledger, LedgerConfig, LedgerTx, Subject};
use horizon_pulsar::committee::message::{
    BatchHave, Header, Partial, PartialPost, PulseCert, Signed,
};
use horizon_pulsar::committee::{
    Assignment, Combiner, Error, LedgerView, Malformed, Member, Misuse, PeerFault, Rejected, State,
};
use horizon_ring::modulus;
use horizon_testkit::{SeededRng, rng};

use crate::support::{Net, Records, Signer, receive};

/// What a member does wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Takes no part at all.
    Absent,
    /// Signs everything in time, with one wrong slot in its partial.
    Garbage,
    /// Takes part in batches and never answers.
    Mute,
    /// Commits, takes the matrices of others and sends its own to nobody.
    Withholds,
    /// Commits and never announces that it has the matrices.
    Unsure,
}

/// A committee, its chain, and the transactions of the next block.
struct World {
    net: Net,
    ledger: Ledger,
    members: Vec<Member<Records>>,
    faults: Vec<Fault>,
    pending: Vec<LedgerTx>,
    subjects: Vec<Subject>,
    /// Partials of the running attempts.
    partials: Vec<(Assigned, Vec<Signed<Partial>>)>,
    log: Vec<Event>,
    rng: SeededRng,
}

#[derive(Clone, Copy, PartialEq)]
struct Assigned {
    subject: [u8; 32],
    attempt: u32,
    batch: u64,
    index: u16,
}

impl World {
    fn new(n: u16, t: u16, faults: &[(u16, Fault)], seed: u64) -> Self {
        let mut rng = rng(seed);
        let net = Net::deal(n, t, &mut rng);
        let ledger =
            Ledger::new(net.committee.clone(), net.key.clone(), config(n), 100).expect("ledger");
        let mut all = vec![Fault::None; usize::from(n)];
        faults
            .iter()
            .for_each(|(member, fault)| all[usize::from(*member)] = *fault);
        let members: Vec<_> = (0..n).map(|member| net.start(member)).collect();
        let mut world = Self {
            net,
            ledger,
            members,
            faults: all,
            pending: Vec::new(),
            subjects: Vec::new(),
            partials: Vec::new(),
            log: Vec::new(),
            rng,
        };
        for member in &world.members {
            let void = member.void(&mut Signer(member.position())).expect("void");
            world.pending.push(LedgerTx::BatchVoid(void));
        }
        world
    }

    fn submit(&mut self, id: u8) {
        self.subjects.push(Subject {
            id: [id; 32],
            mu: message(id),
        });
    }

    fn fault(&self, member: u16) -> Fault {
        self.faults[usize::from(member)]
    }

    /// One block: all pending transactions, then what every member makes of it.
    fn block(&mut self) -> Vec<Event> {
        let height = self.ledger.height() + 1;
        let transactions = core::mem::take(&mut self.pending);
        let subjects = core::mem::take(&mut self.subjects);
        let block = Block {
            height,
            transactions,
            subjects,
        };
        let before = self.ledger.clone();
        let snapshot = before.snapshot();
        let outcome = self.ledger.apply(&block).expect("block");
        assert_eq!(outcome.invalid, []);
        // A clone is not touched, and a ledger that was stored and restored goes on in the same way.
        assert_eq!(before.snapshot(), snapshot);
        let mut restored = self.restored(&snapshot).expect("restored");
        assert_eq!(restored.snapshot(), snapshot);
        assert_eq!(restored.apply(&block).as_ref(), Ok(&outcome));
        assert_eq!(restored.snapshot(), self.ledger.snapshot());
        for tx in &block.transactions {
            self.deliver(tx);
        }
        for event in &outcome.events {
            self.react(event);
        }
        self.log.extend(outcome.events.iter().cloned());
        outcome.events
    }

    fn restored(&self, snapshot: &[u8]) -> Result<Ledger, Error> {
        let Net { committee, key, .. } = &self.net;
        let config = config(committee.n());
        let message = |id: &[u8; 32]| Some(message(id[0]));
        Ledger::restore(committee.clone(), key.clone(), config, snapshot, message)
    }

    fn deliver(&mut self, tx: &LedgerTx) {
        for member in &mut self.members {
            let known = |batch| member.gather(batch).is_some();
            match tx {
                LedgerTx::BatchCommit(tx) if known(tx.header().seq) => member.commit_final(tx),
                LedgerTx::BatchHave(tx) if known(tx.header().seq) => member.have_final(tx),
                LedgerTx::BatchVoid(tx) => member.void_final(tx),
                _ => Ok(()),
            }
            .expect("final");
        }
    }

    fn react(&mut self, event: &Event) {
        match event {
            Event::Opened(plan) => {
                for &id in plan.set.ids() {
                    let member = &mut self.members[usize::from(id)];
                    member.plan(plan.clone()).expect("plan");
                    if self.faults[usize::from(id)] != Fault::Absent {
                        member.reserve(plan.batch, &mut self.rng).expect("reserve");
                        let commit = member.commit(plan.batch, &mut Signer(id)).expect("commit");
                        self.pending.push(LedgerTx::BatchCommit(commit));
                    }
                }
            }
            Event::Committed { batch } => self.exchange(*batch),
            Event::Assigned {
                subject,
                attempt,
                batch,
                index,
            } => {
                let (attempt, batch, index) = (*attempt, *batch, *index);
                self.answer(Assigned {
                    subject: *subject,
                    attempt,
                    batch,
                    index,
                });
            }
            Event::Posting { subject, attempt } => self.post(*subject, *attempt),
            Event::Void { batch, .. } => {
                for member in self
                    .members
                    .iter_mut()
                    .filter(|m| m.gather(*batch).is_some())
                {
                    member.expire(*batch).expect("expire");
                }
                // What its members have said about it in the meantime is of no use.
                self.pending.retain(|tx| match tx {
                    LedgerTx::BatchCommit(tx) => tx.header().seq != *batch,
                    LedgerTx::BatchHave(tx) => tx.header().seq != *batch,
                    _ => true,
                });
            }
            Event::Failed {
                subject, attempt, ..
            } => self.end(*subject, *attempt, false),
            Event::Closed { subject, attempt } => self.end(*subject, *attempt, true),
            _ => {}
        }
    }

    /// Matrices to all peers, then the announcements.
    fn exchange(&mut self, batch: u64) {
        // Committed, and void by the end of the same block.
        let Some(live) = self.ledger.batch(batch) else {
            return;
        };
        let set = live.plan().set.clone();
        let keeps = |id: &&u16| self.fault(**id) == Fault::Withholds;
        let keeper = set.ids().iter().copied().find(|id| keeps(&id));
        for &sender in set.ids().iter().filter(|id| Some(**id) != keeper) {
            let matrices = self.members[usize::from(sender)].matrices(batch);
            for matrix in matrices.expect("revealed").to_vec() {
                for &id in set.ids().iter().filter(|id| **id != sender) {
                    self.members[usize::from(id)]
                        .matrix(&matrix)
                        .expect("matrix");
                }
            }
        }
        for &id in set.ids() {
            // All but the one that keeps its own lack some.
            if keeper.is_some_and(|keeper| keeper != id) || self.fault(id) == Fault::Unsure {
                continue;
            }
            let have = self.members[usize::from(id)]
                .have(batch, &mut Signer(id))
                .expect("have");
            self.pending.push(LedgerTx::BatchHave(have));
        }
    }

    /// Everybody answers; whoever has all partials combines, and certifies what verifies.
    fn answer(&mut self, assigned: Assigned) {
        let Assigned {
            subject,
            attempt,
            batch,
            index,
        } = assigned;
        let mu = message(subject[0]);
        let request = Assignment {
            batch,
            index,
            attempt,
            mu: &mu,
        };
        let mut partials = Vec::new();
        for at in 0..self.members.len() {
            let position = self.members[at].position();
            if self.members[at].state(batch, index) != Some(State::Ready) {
                continue;
            }
            let bytes = self.members[at]
                .answer(&request, &mut Signer(position))
                .expect("answer");
            let partial = receive::<Partial>(&bytes, &self.net.committee).expect("partial");
            match self.fault(position) {
                Fault::Garbage => partials.push(spoil(&partial)),
                Fault::Mute => {}
                _ => partials.push(partial),
            }
        }
        let combiner = self
            .members
            .iter()
            .find(|m| m.session(batch, index).is_some());
        let combiner = combiner.expect("a member of the set");
        let session = combiner.session(batch, index).expect("session");
        let mut sum = Combiner::new(&self.net.committee, session);
        partials.iter().for_each(|partial| {
            sum.add(partial).expect("add");
        });
        if let Ok((pulse, _verified)) = sum.finish(self.net.key.prepared(), &mu) {
            let (sender, boot) = (combiner.position(), combiner.boot());
            let header = Header {
                ctx: *self.net.committee.era_ctx(),
                sender,
                boot,
                seq: batch,
            };
            let body = PulseCert {
                subject,
                attempt,
                pulse,
            };
            let cert = Signed::issue(header, body, &mut Signer(sender)).expect("signed");
            self.pending.push(LedgerTx::PulseCert(cert));
        }
        self.partials.push((assigned, partials));
    }

    fn post(&mut self, subject: [u8; 32], attempt: u32) {
        let found = self
            .partials
            .iter()
            .find(|(a, _)| (a.subject, a.attempt) == (subject, attempt));
        let (_, partials) = found.expect("partials").clone();
        for partial in partials {
            let poster = &self.members[usize::from(partial.header().sender)];
            let header = Header {
                seq: partial.header().seq,
                ..header(&self.net, poster)
            };
            let mut signer = Signer(poster.position());
            let post = Signed::issue(header, PartialPost::from(partial), &mut signer);
            self.pending
                .push(LedgerTx::PartialPost(post.expect("signed")));
        }
    }

    fn end(&mut self, subject: [u8; 32], attempt: u32, done: bool) {
        let found = self
            .partials
            .iter()
            .find(|(a, _)| (a.subject, a.attempt) == (subject, attempt));
        let Assigned { batch, index, .. } = found.expect("assigned").0;
        for member in &mut self.members {
            if member.state(batch, index) == Some(State::Answered) {
                member.close(batch, index, done).expect("close");
            }
        }
    }

    fn run_until_closed(&mut self, limit: u32) -> u32 {
        for blocks in 1..=limit {
            self.block();
            if self.ledger.open_subjects().count() == 0 {
                return blocks;
            }
        }
        panic!("open after {limit} blocks: {:?}", self.log);
    }

    fn attempts(&self) -> usize {
        self.log
            .iter()
            .filter(|event| matches!(event, Event::Assigned { .. }))
            .count()
    }
}

fn config(n: u16) -> LedgerConfig {
    LedgerConfig {
        count: 2,
        ..LedgerConfig::for_size(n)
    }
}

fn message(id: u8) -> Vec<u8> {
    vec![id; 77]
}

fn header(net: &Net, member: &Member<Records>) -> Header {
    let (sender, boot) = (member.position(), member.boot());
    Header {
        ctx: *net.committee.era_ctx(),
        sender,
        boot,
        seq: 0,
    }
}

fn spoil(partial: &Signed<Partial>) -> Signed<Partial> {
    let mut body = partial.body().clone();
    let slot = &mut body.z[0].as_mut_array()[0];
    *slot = modulus::add(*slot, 1);
    let mut signer = Signer(partial.header().sender);
    Signed::issue(*partial.header(), body, &mut signer).expect("signed")
}

#[test]
fn honest_members_sign_every_subject_at_the_first_attempt() {
    let mut world = World::new(4, 3, &[], 1);
    world.block();
    for id in 0..5 {
        world.submit(id);
    }
    // Commit, announce, assign, certify; five subjects over batches of two indices.
    assert!(world.run_until_closed(10) <= 8);
    assert_eq!(world.attempts(), 5);
    assert!(world.ledger.penalties().iter().all(|penalty| *penalty == 0));
    // Batches are replaced as they are used up: four stay live.
    let live = (0..world.ledger.next_batch())
        .filter(|b| world.ledger.batch(*b).is_some())
        .count();
    assert_eq!(live, 4);
}

#[test]
fn indices_are_counted_as_ready_from_the_last_announcement_to_their_assignment() {
    let mut world = World::new(4, 3, &[(1, Fault::Absent)], 6);
    assert_eq!(world.ledger.ready_indices(), 0);
    let per_batch = u64::from(config(4).count);
    let mut seen = false;
    for _ in 0..12 {
        world.block();
        let ready = world.ledger.ready_indices();
        // A set with the absent member never gets there, and others do without it.
        let plans = world.ledger.plans();
        let possible = plans.filter(|plan| !plan.set.ids().contains(&1)).count();
        assert!(ready <= per_batch * possible as u64, "{ready}");
        seen |= ready > 0;
    }
    assert!(seen);
    let before = world.ledger.ready_indices();
    world.submit(7);
    let events = world.block();
    let assigned = |event: &Event| matches!(event, Event::Assigned { .. });
    assert_eq!(events.iter().filter(|event| assigned(event)).count(), 1);
    assert_eq!(world.ledger.ready_indices(), before - 1);
}

#[test]
fn an_index_is_assigned_once_for_ever() {
    let mut world = World::new(4, 3, &[(2, Fault::Garbage)], 2);
    world.block();
    (0..6).for_each(|id| world.submit(id));
    world.run_until_closed(120);
    let mut assigned: Vec<(u64, u16)> = world
        .log
        .iter()
        .filter_map(|event| match event {
            Event::Assigned { batch, index, .. } => Some((*batch, *index)),
            _ => None,
        })
        .collect();
    let count = assigned.len();
    assert!(count > 6);
    assigned.sort_unstable();
    assigned.dedup();
    assert_eq!(assigned.len(), count);
}

#[test]
fn c06_a_spoiler_of_four_is_avoided_after_at_most_three_failures_and_nobody_is_blamed() {
    for spoiler in 0..4 {
        let mut world = World::new(4, 3, &[(spoiler, Fault::Garbage)], 3);
        world.block();
        world.submit(7);
        world.run_until_closed(60);
        assert!(world.attempts() <= 4, "{} attempts", world.attempts());
        for event in &world.log {
            if let Event::Failed { silent, .. } = event {
                assert!(silent.is_empty(), "{silent:?}");
            }
        }
        assert!(world.ledger.penalties().iter().all(|penalty| *penalty == 0));
        // The set that works is free of suspicion; the one outside it is not, if anything failed.
        let suspected = world.ledger.suspicions()[usize::from(spoiler)];
        assert_eq!(usize::try_from(suspected), Ok(world.attempts() - 1));
    }
}

/// After a success with another subject the sets that failed for the open ones may come back. The run that once
/// stalled on it needs lost messages: it is among the tests of the signing service.
#[test]
fn failed_sets_of_several_subjects_never_fill_all_batches_for_ever() {
    for seed in 30..34 {
        let mut world = World::new(7, 5, &[(0, Fault::Garbage), (6, Fault::Absent)], seed);
        world.block();
        for id in 0..8 {
            world.submit(id);
            world.block();
            world.block();
        }
        world.run_until_closed(500);
    }
}

#[test]
fn an_absent_member_is_penalised_and_left_out() {
    let mut world = World::new(4, 3, &[(1, Fault::Absent)], 4);
    world.block();
    world.submit(7);
    world.run_until_closed(30);
    assert_eq!(world.attempts(), 1);
    // The set without it served. The other three batches end at the deadline for commitments.
    (0..4).for_each(|_| {
        world.block();
    });
    assert_eq!(world.ledger.penalties()[1], 30);
    let missing = world.log.iter().filter_map(|event| match event {
        Event::Void { missing, .. } => Some(missing.clone()),
        _ => None,
    });
    assert!(missing.into_iter().all(|missing| missing == [1]));
    // From now on it is in no new set; the penalty wears off by one in 50 blocks.
    let opened = world.ledger.next_batch();
    (10..16).for_each(|id| world.submit(id));
    world.run_until_closed(40);
    for event in &world.log {
        if let Event::Opened(plan) = event
            && plan.batch > opened
        {
            assert_eq!(plan.set.ids(), [0, 2, 3]);
        }
    }
    let penalty = world.ledger.penalties()[1];
    while !world.ledger.height().is_multiple_of(50) {
        world.block();
    }
    assert!(world.ledger.penalties()[1] < penalty || penalty == 0);
}

/// The ledger sees only who lacks matrices. With a penalty for that the one that keeps its own would stand best,
/// be in every set, and no batch would ever get ready.
#[test]
fn a_member_that_keeps_its_matrices_or_never_announces_stops_nothing_and_nobody_else_pays() {
    for (n, t) in [(4, 3), (7, 5)] {
        for fault in [Fault::Withholds, Fault::Unsure] {
            for seed in 0..n {
                let mut world = World::new(n, t, &[(seed, fault)], u64::from(seed) + 50);
                world.block();
                (0..8).for_each(|id| world.submit(id));
                world.run_until_closed(200);
                let penalties = world.ledger.penalties();
                assert!(
                    penalties.iter().all(|penalty| *penalty == 0),
                    "{penalties:?}"
                );
                assert_eq!(world.attempts(), 8, "n = {n}, member {seed}");
            }
        }
    }
}

/// One set is good, and it failed for the subject: its members had trouble of their own for a while.
#[test]
fn a_set_that_failed_is_tried_again_when_all_others_are_stuck() {
    for seed in 90..94 {
        let mut world = World::new(4, 3, &[(1, Fault::Withholds), (0, Fault::Garbage)], seed);
        world.block();
        world.submit(7);
        let has_failed = |event: &Event| matches!(event, Event::Failed { .. });
        while !world.log.iter().any(has_failed) {
            world.block();
        }
        world.faults[0] = Fault::None;
        world.run_until_closed(200);
    }
}

#[test]
fn after_the_last_posted_partial_there_is_time_for_the_certificate() {
    let mut world = World::new(4, 3, &[], 8);
    world.block();
    world.submit(7);
    let is_posting = |event: &Event| matches!(event, Event::Posting { .. });
    let mut cert = None;
    while !world.log.iter().any(is_posting) {
        world.block();
        // The certificate gets lost.
        let is_cert = |tx: &LedgerTx| matches!(tx, LedgerTx::PulseCert(_));
        if let Some(at) = world.pending.iter().position(is_cert) {
            cert = Some(world.pending.remove(at));
        }
    }
    let is_post = |tx: &LedgerTx| matches!(tx, LedgerTx::PartialPost(_));
    assert_eq!(world.pending.iter().filter(|tx| is_post(tx)).count(), 3);
    let last = world.pending.iter().rposition(is_post).unwrap();
    let last = world.pending.remove(last);
    let window = config(4).sign_window;
    (1..window).for_each(|_| drop(world.block()));
    // In the last block of the window.
    world.pending.push(last);
    (0..window).for_each(|_| {
        let events = world.block();
        assert!(
            !events
                .iter()
                .any(|event| matches!(event, Event::Failed { .. }))
        );
    });
    world.pending.extend(cert);
    let events = world.block();
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Closed { .. }))
    );
}

#[test]
fn a_mute_member_is_found_silent_when_partials_are_posted() {
    let mut world = World::new(4, 3, &[(0, Fault::Mute)], 5);
    world.block();
    (0..3).for_each(|id| world.submit(id));
    world.run_until_closed(80);
    let silent = world.log.iter().filter_map(|event| match event {
        Event::Failed { silent, .. } => Some(silent.clone()),
        _ => None,
    });
    let silent: Vec<_> = silent.collect();
    assert!(
        !silent.is_empty() && silent.iter().all(|silent| silent == &[0]),
        "{silent:?}"
    );
    assert!(
        world
            .ledger
            .suspicions()
            .iter()
            .all(|suspicion| *suspicion == 0)
    );
}

#[test]
fn a_restart_voids_the_open_batches_of_the_member_and_signing_goes_on() {
    let mut world = World::new(4, 3, &[], 6);
    (0..4).for_each(|_| {
        world.block();
    });
    let first_batch = world.ledger.next_batch();
    let old = world.members.remove(2);
    let ledger = LedgerView {
        boots: world.ledger.boots().to_vec(),
        first_batch,
    };
    let restarted = world.net.restart(2, old.into_records(), ledger);
    let void = restarted.void(&mut Signer(2)).expect("void");
    world.members.insert(2, restarted);
    world.pending.push(LedgerTx::BatchVoid(void));
    world.submit(9);
    let events = world.block();
    let voided = events
        .iter()
        .filter(|event| matches!(event, Event::Void { .. }))
        .count();
    // Of the four sets of three of four, three have the member.
    assert_eq!(voided, 3);
    assert_eq!(world.ledger.boots(), [1, 1, 2, 1]);
    world.run_until_closed(20);
    (10..18).for_each(|id| world.submit(id));
    world.run_until_closed(30);
    assert!(world.members[2].halted().is_none());
}

#[test]
fn the_same_blocks_give_the_same_state() {
    let mut world = World::new(4, 3, &[(3, Fault::Garbage)], 7);
    let config = LedgerConfig {
        count: 2,
        ..LedgerConfig::for_size(4)
    };
    let (committee, key) = (world.net.committee.clone(), Arc::clone(&world.net.key));
    let mut other = Ledger::new(committee, key, config, 100).expect("ledger");
    world.submit(1);
    for _ in 0..30 {
        let block = Block {
            height: other.height() + 1,
            transactions: world.pending.clone(),
            subjects: world.subjects.clone(),
        };
        let outcome = other.apply(&block).expect("block");
        assert_eq!(world.block(), outcome.events);
        assert_eq!(world.ledger.suspicions(), other.suspicions());
    }
}

#[test]
fn invalid_transactions_are_named_and_change_nothing() {
    let mut world = World::new(4, 3, &[], 8);
    world.submit(1);
    (0..3).for_each(|_| {
        world.block();
    });
    let height = world.ledger.height() + 1;
    // The certificate of the first subject waits in the next block.
    let good = world.pending.clone();
    let [LedgerTx::PulseCert(cert)] = &good[..] else {
        panic!("one certificate: {good:?}")
    };
    let issue = |header: Header, change: &dyn Fn(&mut PulseCert)| {
        let mut body = cert.body().clone();
        change(&mut body);
        let mut signer = Signer(header.sender);
        LedgerTx::PulseCert(Signed::issue(header, body, &mut signer).expect("signed"))
    };
    let header = *cert.header();
    let sender = header.sender;
    let delta = cert.body().pulse.delta().clone();
    let other = horizon_pulsar::Signature::new(
        cert.body().pulse.c().clone(),
        core::array::from_fn(|k| cert.body().pulse.z()[(k + 1) % 7].clone()),
        Box::new(delta),
    )
    .expect("in range");
    let have = Signed::issue(header, BatchHave { root: [0; 32] }, &mut Signer(sender));
    let have = Signed::issue(
        Header { seq: 99, ..header },
        have.expect("signed").body().clone(),
        &mut Signer(sender),
    );
    let transactions = vec![
        issue(Header { boot: 9, ..header }, &|_| ()),
        issue(header, &|body| body.subject = [2; 32]),
        issue(header, &|body| body.attempt = 1),
        issue(
            Header {
                seq: header.seq + 1,
                ..header
            },
            &|_| (),
        ),
        issue(header, &|body| body.pulse = other.clone()),
        LedgerTx::BatchHave(have.expect("signed")),
        LedgerTx::BatchVoid(world.members[0].void(&mut Signer(0)).expect("void")),
    ];
    let unknown = Error::Misuse(Misuse::UnknownSubject);
    let boot = PeerFault::WrongBoot;
    let expected = [
        (
            0,
            Error::Peer {
                member: sender,
                fault: boot,
            },
        ),
        (1, unknown.clone()),
        (2, unknown.clone()),
        (3, unknown.clone()),
        (4, Error::Rejected(Rejected::Pulse)),
        (5, Error::Misuse(Misuse::UnknownBatch)),
        (
            6,
            Error::Peer {
                member: 0,
                fault: boot,
            },
        ),
    ];
    for wrong in [height - 1, height + 1] {
        let block = Block {
            height: wrong,
            ..Block::default()
        };
        let refused = world.ledger.apply(&block);
        assert_eq!(refused, Err(Error::Misuse(Misuse::BlockHeight)));
    }
    let block = Block {
        height,
        transactions,
        subjects: Vec::new(),
    };
    let outcome = world.ledger.apply(&block).expect("block");
    assert_eq!(outcome.invalid, expected);
    assert_eq!(outcome.events, []);
    // The good one closes the subject, a second one comes too late.
    let block = Block {
        height: height + 1,
        transactions: [&good[..], &good[..]].concat(),
        ..block
    };
    let outcome = world.ledger.apply(&block).expect("block");
    assert_eq!(outcome.invalid, [(1, unknown)]);
    let closed = Event::Closed {
        subject: [1; 32],
        attempt: 0,
    };
    assert_eq!(outcome.events, [closed]);
}

#[test]
fn the_next_generation_voids_every_batch() {
    let mut world = World::new(4, 3, &[], 9);
    world.block();
    world.block();
    assert_eq!(world.ledger.retire().len(), 4);
    world.pending.clear();
    let events = world.block();
    assert_eq!(events, []);
}

#[test]
fn a_snapshot_has_one_length_and_belongs_to_one_committee() {
    let mut world = World::new(4, 3, &[(0, Fault::Mute)], 9);
    (1..=3).for_each(|id| world.submit(id));
    for _ in 0..9 {
        world.block();
    }
    let snapshot = world.ledger.snapshot();
    for mutant in horizon_testkit::mutate::wrong_lengths(&snapshot, 300) {
        let refused = world.restored(&mutant.bytes).expect_err(&mutant.name);
        assert!(
            matches!(refused, Error::Malformed(_)),
            "{}: {refused}",
            mutant.name
        );
    }
    // Whatever else is accepted has exactly these bytes.
    let mut rng = rng(10);
    for _ in 0..5_000 {
        let mut changed = snapshot.clone();
        changed[rng.index(snapshot.len())] ^= 1 << rng.below(8);
        if let Ok(ledger) = world.restored(&changed) {
            assert_eq!(ledger.snapshot(), changed);
        }
    }
    let Net { committee, key, .. } = &world.net;
    let unknown = |_: &[u8; 32]| None;
    let error = Ledger::restore(
        committee.clone(),
        key.clone(),
        config(4),
        &snapshot,
        unknown,
    );
    assert_eq!(error.map(drop), Err(Error::Misuse(Misuse::UnknownSubject)));
    let other = World::new(4, 3, &[], 11);
    let refused = other.restored(&snapshot).map(drop);
    assert_eq!(refused, Err(Error::Malformed(Malformed::WrongContext)));
}
