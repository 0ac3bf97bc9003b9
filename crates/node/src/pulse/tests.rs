use std::collections::VecDeque;

use horizon_pulsar::committee::UnsafeState;
use horizon_pulsar::committee::ledger::LedgerConfig;

use super::*;

mod net;

use crate::signer::{Conflict, Error as GuardError, Lane, Statement};
use crate::testing::CrashStorage;
use net::{Faults, Net};

/// Small batches, so that several come and go.
fn small() -> LedgerConfig {
    LedgerConfig {
        live_batches: 4,
        count: 2,
        window: 6,
        sign_window: 4,
        decay_blocks: 50,
    }
}

fn all_closed(count: usize) -> impl FnMut(&mut Net) -> bool {
    move |net| net.closed.len() >= count
}

/// Nothing of a finished subject is left in memory.
fn assert_tidy(net: &Net) {
    for node in &net.nodes {
        if let Some(core) = &node.core {
            assert_eq!(core.subjects.len(), 0);
            assert_eq!(core.attempts.len(), 0);
            assert_eq!(core.turns.len(), 0);
            assert_eq!(core.early.matrix_bytes(), 0);
            assert!(core.batches.len() <= 4);
        }
    }
}

#[test]
fn messages_of_final_blocks_get_a_pulse_within_one_block_and_every_node_has_it() {
    let mut net = Net::new(4, 3, small(), 1);
    // Batches get ready ahead of need.
    net.run(4_000);
    assert!(net.state().pulse().plans().count() == 4);
    net.submit(5);
    net.until(10_000, all_closed(5));
    net.run(1_000);
    for (subject, opened) in &net.opened_at {
        let took = net.pulse_at[subject] - opened;
        assert!(took <= 200, "{took} ms");
        for node in &net.nodes {
            assert!(node.core.as_ref().unwrap().pulse(subject).is_some());
        }
    }
    for node in &net.nodes {
        assert_eq!((node.halted.clone(), node.blamed.len()), (None, 0));
        let counts = node.core.as_ref().unwrap().status().counts;
        assert_eq!(
            (counts.closed, counts.failed_sets, counts.failed_silent),
            (5, 0, 0)
        );
        assert_eq!(counts.rank_deficient, 0);
    }
    assert!(net.closed.values().all(|attempt| *attempt == 0));
    assert_tidy(&net);
}

#[test]
fn a_wire_that_loses_delays_repeats_and_reorders_costs_time_and_nothing_else() {
    for seed in 10..13 {
        let mut net = Net::new(4, 3, small(), seed);
        net.faults = Faults::BAD;
        net.submit(6);
        net.until(120_000, all_closed(6));
        net.faults = Faults::NONE;
        net.run(2_000);
        for node in &net.nodes {
            assert_eq!(
                (node.halted.clone(), &node.blamed[..]),
                (None, &[][..]),
                "seed {seed}"
            );
        }
        assert_tidy(&net);
    }
}

#[test]
fn a_member_that_signs_garbage_has_its_sets_excluded_and_the_others_go_on() {
    for seed in 20..23 {
        let mut net = Net::new(4, 3, small(), seed);
        net.nodes[1].is_spoiler = true;
        net.run(3_000);
        net.submit(6);
        net.until(120_000, all_closed(6));
        let counts = net.nodes[0].core.as_ref().unwrap().status().counts;
        assert!(counts.failed_sets > 0, "seed {seed}: {counts:?}");
        assert_eq!(counts.failed_silent, 0, "everybody posted");
        net.submit(6);
        net.until(120_000, all_closed(12));
        // Nobody is blamed: who is wrong is not decidable.
        for node in &net.nodes {
            assert_eq!(node.blamed, [], "seed {seed}");
        }
        net.run(3_000);
        assert_tidy(&net);
    }
}

#[test]
fn a_member_that_sends_garbage_and_posts_the_truth_only_costs_time() {
    let mut net = Net::new(4, 3, small(), 30);
    net.nodes[2].spoils_links_only = true;
    net.run(3_000);
    net.submit(4);
    net.until(60_000, all_closed(4));
    let counts = net.nodes[0].core.as_ref().unwrap().status().counts;
    assert_eq!((counts.failed_sets, counts.failed_silent), (0, 0));
    assert!(net.closed.values().all(|attempt| *attempt == 0));
    let combined: u64 = (0..4)
        .map(|at| {
            net.nodes[at]
                .core
                .as_ref()
                .unwrap()
                .status()
                .counts
                .combinations_failed
        })
        .sum();
    assert!(combined > 0);
}

#[test]
fn a_member_that_keeps_its_matrices_stops_its_own_sets_only() {
    let mut net = Net::new(4, 3, small(), 40);
    net.nodes[3].withholds_matrices = true;
    net.submit(4);
    net.until(60_000, all_closed(4));
    net.run(4_000);
    let counts = net.nodes[0].core.as_ref().unwrap().status().counts;
    assert!(
        counts.batches_late > 0 && counts.matrices_requested > 0,
        "{counts:?}"
    );
    // Those who lack its matrices carry no penalty for it, and the set without it is found again and again.
    assert_eq!(net.state().pulse().penalties(), [0; 4]);
    net.submit(30);
    net.until(120_000, all_closed(34));
    let only = |plan: &Plan| plan.set.ids() == [0, 1, 2];
    assert!(net.state().pulse().plans().any(only));
}

#[test]
fn a_silent_member_is_penalised_and_another_set_signs() {
    let mut net = Net::new(4, 3, small(), 50);
    net.run(3_000);
    net.nodes[0].silent_before = u32::MAX;
    net.submit(4);
    net.until(60_000, all_closed(4));
    let counts = net.nodes[1].core.as_ref().unwrap().status().counts;
    assert!(
        counts.failed_silent > 0 && counts.failed_sets == 0,
        "{counts:?}"
    );
    let penalties = net.state().pulse().penalties().to_vec();
    assert!(
        penalties[0] > 0 && penalties[1..] == [0; 3],
        "{penalties:?}"
    );
}

#[test]
fn a18_attempts_interleave_when_one_party_learns_late_and_all_meet_in_the_next() {
    for seed in 60..63 {
        let mut net = Net::new(4, 3, small(), seed);
        net.run(3_000);
        // Attempt 0 is forced to fail; its partials are on the wire for long.
        net.nodes[0].silent_before = 1;
        net.faults = Faults {
            delay_ms: 3_000,
            block_delay_ms: 1_500,
            ..Faults::BAD
        };
        net.submit(3);
        net.until(60_000, |net| {
            let mut under_way = net.state().pulse().attempts_under_way();
            under_way.any(|under| under.is_posting)
        });
        // What is on the wire stays late; new batches get ready within their windows again.
        net.faults = Faults::BAD;
        net.until(60_000, |net| {
            let mut under_way = net.state().pulse().attempts_under_way();
            under_way.any(|under| under.attempt == 1)
        });
        net.until(240_000, all_closed(3));
        assert!(
            net.closed.values().any(|attempt| *attempt >= 1),
            "seed {seed}"
        );
        for node in &net.nodes {
            assert_eq!(
                (node.halted.clone(), &node.blamed[..]),
                (None, &[][..]),
                "seed {seed}"
            );
        }
    }
}

#[test]
fn with_f_members_down_signing_goes_on_and_one_more_stops_it_until_one_returns() {
    let mut net = Net::new(4, 3, small(), 70);
    net.run(3_000);
    net.crash(2);
    net.submit(4);
    net.until(60_000, all_closed(4));
    net.crash(3);
    net.submit(2);
    net.run(15_000);
    assert_eq!(net.closed.len(), 4);
    let open = net.state().pulse().open_subjects().next().unwrap().id;
    let known = net.nodes[0].core.as_ref().unwrap().attempt(&open);
    if let Some((_, set, missing)) = known {
        assert!(!missing.is_empty() && missing.iter().all(|id| set.contains(id)));
    }
    net.start(2);
    net.until(60_000, all_closed(6));
    let status = net.nodes[2].core.as_ref().unwrap().status();
    assert_eq!((status.boot, status.is_current), (2, true));
    assert_eq!(net.state().pulse().boots(), [1, 1, 2, 1]);
}

/// One member dies at its `writes`-th write or flush, and starts again two seconds later.
fn crash_at(writes: u64, seed: u64) -> bool {
    let mut net = Net::new(4, 3, small(), seed);
    net.nodes[1].storage.fail_after(writes);
    net.submit(3);
    let mut died_at = None;
    net.until(120_000, |net| {
        let now_ms = net.now_ms;
        if net.nodes[1].core.is_none() {
            if died_at.is_none() {
                let why = net.nodes[1].halted.clone().unwrap();
                assert_eq!(why.exit_code(), 6, "{why}");
                died_at = Some(now_ms);
            }
            if died_at.is_some_and(|at| now_ms > at + 2_000) {
                net.start(1);
            }
        }
        net.closed.len() == 3
    });
    // It takes part again.
    if net.nodes[1].core.is_none() {
        net.start(1);
    }
    net.nodes[1].storage.fail_after(u64::MAX);
    net.submit(3);
    net.until(120_000, all_closed(6));
    net.until(20_000, |net| {
        let core = net.nodes[1].core.as_ref().unwrap();
        core.status().is_current
    });
    died_at.is_some()
}

#[test]
fn a_member_that_dies_at_any_write_never_answers_twice_and_comes_back() {
    let mut died = 0;
    for writes in (0..66).step_by(3) {
        died += u64::from(crash_at(writes, 80 + writes));
    }
    assert!(died >= 10, "{died}");
}

/// Feeds a second copy of member 0 beside the first one until one of them stops.
fn run_clone(net: &mut Net, storage: &CrashStorage) -> (Option<Unsafe>, Option<Unsafe>) {
    let mut height = net.height_of(0);
    let started = net.start_over(0, storage, height, false);
    let (mut core, actions) = match started {
        Ok(started) => started,
        Err(why) => return (net.nodes[0].halted.clone(), Some(why)),
    };
    let mut clone_halted = None;
    let mut waiting: VecDeque<Action> = actions.into();
    for _ in 0..2_000 {
        net.step();
        while let Some(action) = waiting.pop_front() {
            match action {
                Action::Run(job) => waiting.extend(core.on_job(job.run(), net.now_ms)),
                Action::Halt(why) => clone_halted = Some(why),
                Action::Submit(tx) => net.add_to_pool(&tx),
                _ => {}
            }
        }
        while clone_halted.is_none() && height < net.height() {
            height += 1;
            let effects = net.effects_at(height);
            waiting.extend(core.on_final(&effects, net.now_ms));
        }
        waiting.extend(core.on_tick(net.now_ms));
        if clone_halted.is_some() || net.nodes[0].halted.is_some() {
            break;
        }
    }
    (net.nodes[0].halted.clone(), clone_halted)
}

#[test]
fn a_copy_that_starts_later_stops_the_first_one() {
    let mut net = Net::new(4, 3, small(), 100);
    net.submit(2);
    net.until(20_000, all_closed(2));
    let copy = net.nodes[0].storage.copy();
    let (first, _) = run_clone(&mut net, &copy);
    let why = first.unwrap();
    let Unsafe::Committee(UnsafeState::SecondCopy { .. }) = why else {
        panic!("{why}")
    };
    assert_eq!(why.exit_code(), 7);
    // The others go on.
    net.submit(2);
    net.until(60_000, all_closed(4));
}

#[test]
fn of_two_copies_that_start_together_at_least_one_stops() {
    for seed in 110..114 {
        let mut net = Net::new(4, 3, small(), seed);
        net.run(2_000);
        net.crash(0);
        let copy = net.nodes[0].storage.copy();
        net.start(0);
        let (first, second) = run_clone(&mut net, &copy);
        let stopped = first.or(second);
        let why = stopped.unwrap_or_else(|| panic!("seed {seed}: both go on"));
        assert!(
            matches!(why, Unsafe::Committee(UnsafeState::SecondCopy { .. })),
            "seed {seed}: {why}"
        );
    }
}

#[test]
fn b04_a_member_restored_from_an_old_copy_is_refused_until_the_operator_accepts_it() {
    let mut net = Net::new(4, 3, small(), 120);
    net.submit(2);
    net.until(20_000, all_closed(2));
    // Batches are ready, answers are recorded: copy, go on, restart once, restore the copy.
    let copy = net.nodes[0].storage.copy();
    net.submit(4);
    net.until(20_000, all_closed(6));
    net.crash(0);
    net.start(0);
    net.until(20_000, |net| net.state().pulse().boots()[0] == 2);
    net.run(1_000);
    net.crash(0);
    net.nodes[0].storage = copy;
    net.start(0);
    let why = net.nodes[0].halted.clone().unwrap();
    let refused = Unsafe::OlderRecords {
        stored: 1,
        ledger: 2,
    };
    assert_eq!((why.clone(), why.exit_code()), (refused, 7));
    // The fenced way back: every older batch is void, and it takes part under a new boot.
    let (storage, height) = (net.nodes[0].storage.clone(), net.height_of(0));
    let (core, actions) = net.start_over(0, &storage, height, true).unwrap();
    net.nodes[0].core = Some(core);
    net.nodes[0].halted = None;
    net.perform(0, actions);
    net.submit(6);
    net.until(60_000, all_closed(12));
    net.run(2_000);
    assert_eq!(net.state().pulse().boots()[0], 3);
    assert_eq!(net.nodes[0].halted, None);
}

#[test]
fn b04_a_copy_restored_without_a_restart_in_between_answers_nothing_that_was_assigned_before() {
    let mut net = Net::new(4, 3, small(), 130);
    net.run(3_000);
    // Every batch is ready: the copy knows the reservations.
    let copy = net.nodes[0].storage.copy();
    net.submit(4);
    net.until(20_000, all_closed(4));
    net.crash(0);
    net.nodes[0].storage = copy;
    net.start(0);
    let before = net.answer_count();
    net.submit(4);
    // Every answer is checked against the earlier ones as it leaves.
    net.until(60_000, all_closed(8));
    assert!(net.answer_count() > before);
}

#[test]
fn q3_a_message_that_was_attested_otherwise_is_not_answered_and_the_process_stops() {
    let mut net = Net::new(4, 3, small(), 140);
    net.run(3_000);
    net.submit(1);
    net.until(5_000, |net| !net.opened_at.is_empty());
    let message = net.effects_at(net.height()).outgoing[0].clone();
    // In another lane this validator has signed it with another root.
    for at in 0..4 {
        if let Some(bench) = net.nodes[at].core.as_ref().unwrap().bench_guard() {
            let statement = Statement {
                id: message.id,
                channel: message.channel,
                nonce: message.nonce,
                transcript: b"another root",
            };
            bench.permit(&[Lane::CertSet], &[statement]).unwrap();
        }
    }
    net.run(1_000);
    let stopped: Vec<&Unsafe> = net.nodes.iter().filter_map(|n| n.halted.as_ref()).collect();
    // Those of the signing set; nobody else was asked.
    assert_eq!(stopped.len(), 3);
    for why in stopped {
        let conflict = Conflict::Transcript {
            lane: Lane::CertSet,
            id: message.id,
        };
        assert_eq!(*why, Unsafe::Guard(GuardError::Conflict(conflict)));
        assert_eq!(why.exit_code(), 7);
    }
    assert_eq!(net.answer_count(), 0);
}

#[test]
fn five_hundred_messages_at_once_are_all_signed() {
    let config = LedgerConfig {
        count: 8,
        ..small()
    };
    let mut net = Net::new(4, 3, config, 150);
    net.run(3_000);
    let started_ms = net.now_ms;
    let clock = std::time::Instant::now();
    let (mut queue_max, mut bytes_max) = (0, 0);
    net.submit(500);
    net.until(300_000, |net| {
        for node in &net.nodes {
            let status = node.core.as_ref().unwrap().status();
            queue_max = queue_max.max(status.queue);
            bytes_max = bytes_max.max(status.matrix_bytes);
        }
        net.closed.len() == 500
    });
    eprintln!(
        "500 messages: {} blocks of 400 ms, {:.1} s of CPU for all, {} MB on the wire, queue {queue_max}, \
         {} MB of matrices waiting at most",
        (net.now_ms - started_ms) / 400,
        clock.elapsed().as_secs_f64(),
        net.wire_bytes >> 20,
        bytes_max >> 20,
    );
    assert!(net.closed.values().all(|attempt| *attempt == 0));
    // 32 indices every two blocks.
    let blocks = (net.now_ms - started_ms) / 400;
    assert!(blocks <= 40, "{blocks}");
    net.run(3_000);
    assert_tidy(&net);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let mut net = Net::new(4, 3, small(), 160);
        net.faults = Faults::BAD;
        net.submit(4);
        net.until(120_000, all_closed(4));
        (
            net.now_ms,
            net.wire_bytes,
            net.closed.clone(),
            net.pulse_at.clone(),
        )
    };
    assert_eq!(run(), run());
}

#[test]
fn seven_members_sign_with_one_down_one_spoiler_and_a_bad_wire() {
    let config = LedgerConfig {
        live_batches: 3,
        ..small()
    };
    let mut net = Net::new(7, 5, config, 170);
    net.run(2_000);
    net.crash(6);
    net.nodes[0].is_spoiler = true;
    net.faults = Faults::BAD;
    net.submit(4);
    net.until(600_000, all_closed(4));
    let others = net.nodes[1..6].iter();
    for node in others {
        assert_eq!((node.halted.clone(), &node.blamed[..]), (None, &[][..]));
    }
}

#[test]
fn a_peer_that_sends_nonsense_is_named_and_changes_nothing() {
    let mut net = Net::new(4, 3, small(), 180);
    net.until(10_000, |net| net.state().pulse().plans().count() == 4);
    net.run(400);
    let era = *net.app.genesis().committee().era_ctx();
    let header = |batch| Header {
        ctx: era,
        sender: 1,
        boot: 1,
        seq: batch,
    };
    let matrix = |header: &Header| {
        let mut bytes = NonceMatrix::prefix(header, 0);
        bytes.resize(MATRIX_LEN, 0);
        Gossip::NonceMatrix(bytes.into())
    };
    let now_ms = net.now_ms;
    let core = net.nodes[0].core.as_mut().unwrap();
    let mine = core
        .batches
        .values()
        .find(|view| view.is_planned && view.plan.set.slot(1).is_some() && view.missing(1) != 0);
    let batch = mine.map(|view| view.plan.batch);
    // Another era, an unknown batch, a matrix that nobody committed to.
    let foreign = Header {
        ctx: [9; 32],
        ..header(0)
    };
    let fault = core.on_gossip(1, matrix(&foreign), now_ms).unwrap_err();
    assert!(fault.fault.is_grave());
    assert!(
        core.on_gossip(1, matrix(&header(1 << 40)), now_ms)
            .unwrap()
            .is_empty()
    );
    if let Some(batch) = batch {
        let actions = core.on_gossip(1, matrix(&header(batch)), now_ms).unwrap();
        net.perform(0, actions);
        net.run(100);
        let blamed = &net.nodes[0].blamed;
        assert!(blamed.iter().any(|fault| fault.peer == 1), "{blamed:?}");
    }
    // A Pulse that signs nothing, and attestations, which are for another service.
    net.submit(1);
    net.until(5_000, |net| !net.opened_at.is_empty());
    let subject = *net.opened_at.keys().next().unwrap();
    net.run(1_000);
    let core = net.nodes[0].core.as_mut().unwrap();
    let good = core.pulse(&subject).unwrap().clone();
    core.pulses.clear();
    core.subjects.insert(subject, Arc::new(net_message(&good)));
    let actions = core.on_gossip(2, Gossip::Pulse(good), now_ms).unwrap();
    let before = net.nodes[0].blamed.len();
    net.perform(0, actions);
    let last = net.nodes[0].blamed.last().unwrap();
    assert_eq!((net.nodes[0].blamed.len(), last.peer), (before + 1, 2));
    assert_eq!(last.fault, Fault::Pulse);
    let core = net.nodes[0].core.as_mut().unwrap();
    let fault = core.on_gossip(3, Gossip::AttestationRequest(Vec::new()), now_ms);
    assert_eq!(fault.unwrap_err().fault, Fault::WrongChannel);
    assert_eq!(net.nodes[0].halted, None);
}

/// A message with the subject of a Pulse, that the Pulse does not sign.
fn net_message(pulse: &FinishedPulse) -> Outgoing {
    Outgoing {
        id: [0; 32],
        sequence: 0,
        height: 0,
        unsigned: Vec::new(),
        lineage: Default::default(),
        subject: pulse.subject,
        transcript: b"another message".to_vec(),
        is_ack: false,
        destination_network: 0,
        destination_chain: [0; 32],
        channel: [0; 32],
        nonce: 0,
        expiry_height: 0,
    }
}

#[test]
fn requests_for_matrices_are_answered_within_a_budget_and_only_within_the_set() {
    let mut net = Net::new(4, 3, small(), 190);
    net.nodes[1].withholds_matrices = true;
    net.until(10_000, |net| {
        let core = net.nodes[1].core.as_ref().unwrap();
        core.batches
            .values()
            .any(|view| view.is_planned && view.is_committed && !view.is_ready)
    });
    let now_ms = net.now_ms;
    let core = net.nodes[1].core.as_mut().unwrap();
    let open = core
        .batches
        .values()
        .find(|view| view.is_planned && view.is_committed);
    let plan = open.unwrap().plan.clone();
    let outside = (0..4).find(|id| plan.set.slot(*id).is_none()).unwrap();
    let inside = *plan.set.ids().iter().find(|id| **id != 1).unwrap();
    let request = |batch| {
        Gossip::MatrixRequest(MatrixRequest {
            batch,
            member: 1,
            indices: 3,
        })
    };
    let sends = |actions: &[Action]| actions.iter().any(|a| matches!(a, Action::Run(_)));
    assert!(!sends(
        &core
            .on_gossip(outside, request(plan.batch), now_ms)
            .unwrap()
    ));
    assert!(!sends(
        &core.on_gossip(inside, request(99), now_ms).unwrap()
    ));
    assert!(sends(
        &core.on_gossip(inside, request(plan.batch), now_ms).unwrap()
    ));
    let flood = (0..200).find_map(|_| core.on_gossip(inside, request(plan.batch), now_ms).err());
    assert_eq!(flood.unwrap().fault, Fault::Flood);
}
