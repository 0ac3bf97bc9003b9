//! The relayer's decisions against networks in memory, under a virtual clock.

#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests need std"
)]

#[allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses some of these"
)]
mod support {
    pub mod fake;
    pub mod sim;
}

use std::collections::BTreeSet;
use std::sync::Arc;

use horizon_node::api::types::{Id, QueueState, RetryRequest, SubmitState};
use horizon_node::api::{Backend, Code};
use horizon_node::relayer::core::{ACTIVE_MAX, Note, Settings};
use horizon_warp::policy::Tier;
use horizon_warp::{CertSet, Envelope, Reason};

use support::fake::Fake;
use support::sim::{Kill, Relay, START_MS, Sim, settings};

/// Two networks that take each other's messages.
fn pair(weights: &[u64], tier: Tier) -> (Arc<Fake>, Arc<Fake>) {
    let classical = tier == Tier::Classical;
    let (a, b) = (
        Fake::new(11, 1, weights, classical),
        Fake::new(22, 2, weights, classical),
    );
    a.trust(&b, tier);
    b.trust(&a, tier);
    (a, b)
}

fn relay(a: &Arc<Fake>, b: &Arc<Fake>) -> Relay {
    Relay::new("a-b", a, b, settings(a, b))
}

fn relay_with(a: &Arc<Fake>, b: &Arc<Fake>, change: impl FnOnce(&mut Settings)) -> Relay {
    let mut settings = settings(a, b);
    change(&mut settings);
    Relay::new("a-b", a, b, settings)
}

/// Every one of these acted exactly once.
fn assert_once(destination: &Fake, ids: &[Id]) {
    let inner = destination.lock();
    for id in ids {
        assert_eq!(inner.effects.get(id), Some(&1));
    }
    assert_eq!(inner.effects.len(), ids.len());
}

fn acknowledged(sim: &Sim, relay: usize, ids: &[Id]) -> bool {
    let relay = &sim.relays[relay];
    ids.iter()
        .all(|id| relay.state(id) == Some(QueueState::Acknowledged))
}

#[test]
fn a03_the_first_message_of_all_is_delivered_and_certificates_stand_in_ascending_order() {
    // Generation 0, nonce 0, an empty body, and answers in the order 2, 0, 3, 1.
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Horizon);
    let id = a.send(&b, b"", true);
    let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b)]);
    assert!(sim.run_until(10_000, |sim| acknowledged(sim, 0, &[id])));
    assert_once(&b, &[id]);
    let latency = sim.now_ms - START_MS;
    assert!(latency < 2_500, "{latency} ms");
    let bytes = b.lock().log.accepted[&id].clone();
    let envelope = Envelope::parse(&bytes).unwrap();
    let certset = CertSet::parse(envelope.attestation().unwrap()).unwrap();
    // A quorum and no more: each certificate costs 3,309 bytes.
    let indices: Vec<u32> = certset.iter().map(|(index, _)| index).collect();
    assert_eq!(indices, [0, 1, 2]);
    assert_eq!(envelope.message().beam().signers.count(), 4);
}

#[test]
fn both_directions_of_a_pair_are_two_routes_that_do_not_mix() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Horizon);
    let there: Vec<Id> = (0..4).map(|i| a.send(&b, &[i], true)).collect();
    let back: Vec<Id> = (0..4).map(|i| b.send(&a, &[i], true)).collect();
    // A message for a third network concerns neither.
    let other = a.send_to((77, [7; 32]), b"x", true, u64::MAX);
    let relays = vec![relay(&a, &b), relay(&b, &a)];
    let mut sim = Sim::new(&[&a, &b], relays);
    assert!(sim.run_until(20_000, |sim| {
        acknowledged(sim, 0, &there) && acknowledged(sim, 1, &back)
    }));
    assert_once(&b, &there);
    assert_once(&a, &back);
    assert_eq!(sim.relays[0].entry(&other), None);
}

#[test]
fn a04_a_quorum_out_of_reach_names_who_is_missing_and_heals_without_a_restart() {
    let (a, b) = pair(&[25, 25, 25, 25], Tier::Horizon);
    a.lock().silent.extend([1, 3]);
    let id = a.send(&b, b"hello", true);
    let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b)]);
    sim.run(60_000);
    let entry = sim.relays[0].entry(&id).unwrap();
    assert_eq!(entry.state, QueueState::WaitingQuorum);
    assert_eq!(entry.reason.as_deref(), Some("insufficient-weight"));
    for lane in &entry.lanes {
        assert_eq!((lane.weight, lane.needed, lane.total), (50, 67, 100));
    }
    let missing: Vec<(&str, u32, &str)> = entry
        .missing
        .iter()
        .map(|m| (m.lane.as_str(), m.index, m.operator.as_str()))
        .collect();
    assert_eq!(
        missing,
        [
            ("beam", 1, "operator-1"),
            ("beam", 3, "operator-3"),
            ("certset", 1, "operator-1"),
            ("certset", 3, "operator-3"),
        ]
    );
    // The pauses grow and stay within the cap.
    let times = a.lock().log.attestation_times.clone();
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(times.len() < 40, "{} requests in a minute", times.len());
    assert!(*gaps.last().unwrap() >= 2_400, "{gaps:?}");
    assert!(gaps.iter().all(|gap| *gap <= 5_100), "{gaps:?}");
    // Only what is missing is asked for.
    let (_, have, _) = a.lock().log.attestations.last().unwrap().clone();
    assert_eq!(have.beam.as_signers().iter().collect::<Vec<_>>(), [0, 2]);
    a.lock().silent.remove(&3);
    assert!(sim.run_until(10_000, |sim| acknowledged(sim, 0, &[id])));
    assert_eq!(sim.relays[0].restarts, 0);
    assert_once(&b, &[id]);
}

#[test]
fn a05_a_route_whose_side_fails_degrades_alone_and_heals() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    let dead = Fake::new(33, 3, &[1, 1, 1, 1], true);
    dead.trust(&a, Tier::Classical);
    dead.lock().down = true;
    let cut = Fake::new(44, 4, &[1, 1, 1, 1], true);
    b.trust(&cut, Tier::Classical);
    // One destination policy per network here: the third route has a destination of its own.
    let c = Fake::new(55, 5, &[1, 1, 1, 1], true);
    c.trust(&cut, Tier::Classical);
    b.trust(&a, Tier::Classical);
    cut.lock().page_ends = Some((37, 3));
    let first: Vec<Id> = (0..100).map(|i| a.send(&b, &[i], true)).collect();
    let second: Vec<Id> = (0..100).map(|i| a.send(&dead, &[i], true)).collect();
    let third: Vec<Id> = (0..100).map(|i| cut.send(&c, &[i], true)).collect();
    let relays = vec![relay(&a, &b), relay(&a, &dead), relay(&cut, &c)];
    let mut sim = Sim::new(&[&a, &b, &dead, &cut, &c], relays);
    assert!(sim.run_until(60_000, |sim| {
        acknowledged(sim, 0, &first) && acknowledged(sim, 2, &third)
    }));
    assert_once(&b, &first);
    assert_once(&c, &third);
    assert_eq!(sim.relays[0].core.reason(), None);
    assert_eq!(
        sim.relays[1].core.reason(),
        Some(Code::DestinationUnreachable)
    );
    dead.lock().down = false;
    assert!(sim.run_until(60_000, |sim| acknowledged(sim, 1, &second)));
    assert_once(&dead, &second);
    assert_eq!(sim.relays[1].core.reason(), None);
}

#[test]
fn a06_without_catch_up_the_route_starts_at_the_head_and_misses_nothing_after_it() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    for i in 0..201_u8 {
        a.send(&b, &[i], true);
    }
    let relay = relay_with(&a, &b, |settings| settings.catch_up = false);
    let mut sim = Sim::new(&[&a, &b], vec![relay]);
    // The message comes after the route has read the head and before it has read a page.
    assert!(sim.run_until(1_000, |sim| sim.relays[0].core.cursor().is_some()));
    assert_eq!(sim.relays[0].core.cursor(), Some(201));
    let event = a.send(&b, b"event", true);
    let later = a.send(&b, b"later", true);
    assert!(sim.run_until(10_000, |sim| acknowledged(sim, 0, &[event, later])));
    assert_once(&b, &[event, later]);
    assert_eq!(sim.relays[0].store().cursor(), Some(203));
}

#[test]
fn a06_after_a_crash_the_cursor_stands_behind_nothing_that_is_not_on_disk() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    let ids: Vec<Id> = (0..200_u8).map(|i| a.send(&b, &[i], true)).collect();
    a.lock().page_ends = Some((119, 3));
    let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b)]);
    sim.run(120);
    sim.relays[0].restart();
    assert!(sim.relays[0].store().cursor().unwrap() <= 120);
    assert!(sim.run_until(60_000, |sim| acknowledged(sim, 0, &ids)));
    assert_once(&b, &ids);
}

#[test]
fn a_page_with_a_gap_or_a_foreign_message_moves_no_cursor() {
    use horizon_node::relayer::core::{Core, Input, Side};
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    for i in 0..4 {
        a.send(&b, &[i], true);
    }
    let page = futures::executor::block_on(a.messages(0, 10)).unwrap();
    let status = futures::executor::block_on(a.status()).unwrap();
    let start = || {
        let mut core = Core::new(settings(&a, &b), None, 0, Default::default(), 1);
        core.handle(0, Input::Status(Side::Source, Ok(status.clone())));
        core
    };
    let mut good = start();
    assert!(
        !good
            .handle(0, Input::Page(0, Ok(page.clone())))
            .writes
            .is_empty()
    );
    assert_eq!(good.cursor(), Some(4));
    let mut gap = page.clone();
    gap.messages.remove(1);
    let mut swapped = page.clone();
    swapped.messages.swap(0, 1);
    let mut renamed = page.clone();
    renamed.messages[0].id = [1; 32];
    let mut shifted = page.clone();
    shifted.messages[0].unsigned[40] ^= 1;
    for bad in [gap, swapped, renamed, shifted] {
        let mut core = start();
        let step = core.handle(0, Input::Page(0, Ok(bad)));
        assert!(step.writes.is_empty());
        assert_eq!(core.cursor(), Some(0));
        assert_eq!(core.reason(), Some(Code::DestinationUnreachable));
    }
    // A source that has fewer messages than before does not move it back.
    let mut rewound = page;
    (rewound.total, rewound.messages) = (2, Vec::new());
    let step = good.handle(0, Input::Page(4, Ok(rewound)));
    assert!(step.writes.is_empty());
    assert_eq!(good.cursor(), Some(4));
}

#[test]
fn a07_after_a_change_of_weights_only_the_missing_validator_is_asked() {
    let (a, b) = pair(&[20, 20, 20, 20, 20], Tier::Classical);
    a.lock().silent.insert(4);
    let id = a.send(&b, b"before the change", true);
    // Collected, and held back at the destination until the set has changed.
    b.lock().hold_final = true;
    let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b)]);
    assert!(sim.run_until(5_000, |sim| {
        sim.relays[0].state(&id) == Some(QueueState::Included)
    }));
    b.lose_unfinal();
    b.lock().hold_final = false;
    a.rotate(&[10, 10, 20, 20, 40]);
    b.lock().source_height = 1_000;
    b.trust(&a, Tier::Classical);
    a.lock().log.attestations.clear();
    assert!(sim.run_until(30_000, |sim| {
        let entry = sim.relays[0].entry(&id).unwrap();
        entry.reason.as_deref() == Some("insufficient-weight")
    }));
    let entry = sim.relays[0].entry(&id).unwrap();
    assert_eq!((entry.lanes[0].weight, entry.lanes[0].total), (60, 100));
    assert_eq!(entry.missing.len(), 1);
    assert_eq!((entry.missing[0].index, entry.missing[0].weight), (4, 40));
    a.lock().log.attestations.clear();
    a.lock().silent.clear();
    assert!(sim.run_until(30_000, |sim| acknowledged(sim, 0, &[id])));
    let served: Vec<u32> = a
        .lock()
        .log
        .attestations
        .iter()
        .flat_map(|(_, _, served)| served.clone())
        .collect();
    assert_eq!(served, [4]);
    assert_once(&b, &[id]);
}

#[test]
fn a07_certificates_and_pulse_are_made_anew_for_a_new_generation_and_the_beam_is_kept() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Horizon);
    let id = a.send(&b, b"attested twice", true);
    b.lock().hold_final = true;
    let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b)]);
    assert!(sim.run_until(5_000, |sim| {
        sim.relays[0].state(&id) == Some(QueueState::Included)
    }));
    b.lose_unfinal();
    b.lock().hold_final = false;
    a.rotate(&[1, 1, 1, 1]);
    b.lock().source_height = 1_000;
    b.trust(&a, Tier::Horizon);
    a.lock().log.attestations.clear();
    assert!(sim.run_until(30_000, |sim| acknowledged(sim, 0, &[id])));
    let inner = a.lock();
    let (_, have, beam) = inner.log.attestations.last().unwrap();
    assert_eq!(have.beam.as_signers().count(), 4);
    assert!(have.certset.as_signers().is_empty());
    assert!(beam.is_empty());
    drop(inner);
    assert_once(&b, &[id]);
}

#[test]
fn a09_too_old_refused_and_unreachable_have_three_codes_and_the_first_asks_nobody() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    a.lock().height = 10;
    let old = a.send(&b, b"old", true);
    a.lock().height = 1_000_000;
    let relay = relay_with(&a, &b, |settings| settings.look_back = Some(1_000));
    let mut sim = Sim::new(&[&a, &b], vec![relay]);
    sim.run(3_000);
    let entry = sim.relays[0].entry(&old).unwrap();
    assert_eq!(entry.state, QueueState::Dead);
    assert_eq!(entry.reason.as_deref(), Some("height-too-old"));
    assert!(a.lock().log.attestations.is_empty());

    a.lock().refuse_attestations = true;
    let refused = a.send(&b, b"refused", true);
    sim.run(3_000);
    let entry = sim.relays[0].entry(&refused).unwrap();
    assert_eq!(entry.state, QueueState::Dead);
    assert_eq!(entry.reason.as_deref(), Some("attestation-refused"));

    a.lock().down = true;
    sim.run(3_000);
    assert_eq!(sim.relays[0].core.reason(), Some(Code::SourceUnreachable));
    a.lock().down = false;
    a.lock().refuse_attestations = false;
    // A retry by an operator passes the look-back.
    let now = sim.now_ms;
    let request = RetryRequest::default();
    let store = sim.relays[0].store.as_mut().unwrap();
    assert_eq!(store.retry(&request, now, |_| false).unwrap(), 2);
    assert!(sim.run_until(10_000, |sim| acknowledged(sim, 0, &[old, refused])));
    assert_once(&b, &[old, refused]);
}

#[test]
fn a11_a_good_message_passes_twenty_thousand_that_cannot_be_delivered() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    // How long one message takes on its own.
    let single = {
        let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
        let id = a.send(&b, b"alone", true);
        let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b)]);
        assert!(sim.run_until(10_000, |_| b.lock().effects.contains_key(&id)));
        sim.now_ms - START_MS
    };
    let spam = 20_000_u32;
    let mut good = [0; 32];
    for i in 0..=spam {
        if i == 13_000 {
            good = a.send(&b, b"good", true);
        }
        a.send(&b, &i.to_be_bytes(), false);
    }
    let relay = relay_with(&a, &b, |settings| settings.give_up_ms = 20_000);
    let mut sim = Sim::new(&[&a, &b], vec![relay]);
    assert!(
        sim.run_until(10 * single, |_| b.lock().effects.contains_key(&good)),
        "not within ten times {single} ms"
    );
    // The rest is given up with its reason; what is in memory stays bounded throughout.
    assert!(sim.run_until(600_000, |sim| {
        sim.relays[0].store().counts().dead > u64::from(spam)
    }));
    let relay = &sim.relays[0];
    assert!(relay.memory <= ACTIVE_MAX);
    assert_eq!(relay.store().counts().backlog, 0);
    let dead = relay.entries(QueueState::Dead);
    assert!(
        dead.iter()
            .all(|entry| { entry.reason.as_deref() == Some(Reason::InsufficientWeight.code()) })
    );
    assert_once(&b, &[good]);
}

#[test]
fn a12_two_relayers_deliver_a_hundred_messages_once_and_count_the_redundant_ones() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    let ids: Vec<Id> = (0..100).map(|i| a.send(&b, &[i], true)).collect();
    let mut slower = relay(&a, &b);
    slower.latency_ms = 7;
    let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b), slower]);
    assert!(sim.run_until(60_000, |sim| {
        acknowledged(sim, 0, &ids) && acknowledged(sim, 1, &ids)
    }));
    assert_once(&b, &ids);
    let submissions: u32 = b.lock().log.submissions.values().sum();
    assert!((100..=200).contains(&submissions), "{submissions}");
    let totals: Vec<_> = sim.relays.iter().map(|relay| relay.core.totals()).collect();
    assert_eq!(totals[0].delivered + totals[1].delivered, 200);
    assert_eq!(totals[0].redundant + totals[1].redundant, 100);
    // Nobody gave anything up.
    let dead = sim.relays.iter().flat_map(|relay| &relay.notes);
    assert!(!dead.into_iter().any(|note| matches!(note, Note::Dead(..))));
}

#[test]
fn b02_empty_blocks_of_one_network_move_no_cursor_of_another_and_take_no_memory() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    let ids: Vec<Id> = (0..10).map(|i| a.send(&b, &[i], true)).collect();
    b.lock().height = 1_000_000;
    let relays = vec![relay(&a, &b), relay(&b, &a)];
    let mut sim = Sim::new(&[&a, &b], relays);
    assert!(sim.run_until(10_000, |sim| acknowledged(sim, 0, &ids)));
    for round in 0..100 {
        for _ in 0..1_000 {
            b.block(sim.now_ms);
        }
        sim.run(500 + round);
    }
    assert_eq!(sim.relays[0].store().cursor(), Some(10));
    assert_eq!(sim.relays[1].core.cursor(), Some(0));
    assert_eq!(sim.relays[1].store().counts().stored(), 0);
    assert_eq!(sim.relays[1].memory, 0);
    assert_once(&b, &ids);
}

#[test]
fn b05_weaker_copies_leave_no_trace_and_never_lower_what_was_accepted() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Horizon);
    let id = a.send(&b, b"strong", true);
    let full = futures::executor::block_on(a.envelope(id)).unwrap();
    let parsed = Envelope::parse(&full).unwrap();
    let beam_only = |envelope: &Envelope<'_>| {
        let message = *envelope.message();
        Envelope::new(message, *envelope.lineage(), b"Pulsar-SHA3", b"", b"")
            .unwrap()
            .encode()
    };
    let weak = bytes::Bytes::from(beam_only(&parsed));
    let submit =
        |bytes: &bytes::Bytes| futures::executor::block_on(b.submit_envelope(bytes.clone()));
    for round in 0..1_000 {
        let error = submit(&weak).map(|answer| answer.state);
        if round < 500 {
            assert_eq!(error.unwrap_err().code(), "pq-evidence-missing");
            assert!(b.lock().inbox.is_empty());
        } else {
            // The full one is in: the copy is a repetition, not a downgrade.
            assert_eq!(error.unwrap(), SubmitState::Delivered);
        }
        if round == 499 {
            assert_eq!(submit(&full).unwrap().state, SubmitState::Accepted);
            b.block(0);
        }
    }
    assert_once(&b, &[id]);
    // A policy that names one source twice is a configuration error.
    let policy = b.policy();
    let twice = horizon_warp::Policy::new(&[policy, policy]).unwrap_err();
    assert_eq!(twice.reason(), Reason::PolicyDuplicate);
}

#[test]
fn b08_an_envelope_lost_before_finality_is_sent_again_and_acts_once() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    let id = a.send(&b, b"reorganised", true);
    b.lock().hold_final = true;
    let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b)]);
    assert!(sim.run_until(5_000, |sim| {
        sim.relays[0].state(&id) == Some(QueueState::Included)
    }));
    let entry = sim.relays[0].entry(&id).unwrap();
    assert_eq!(entry.reason.as_deref(), Some("not-final"));
    assert_eq!(sim.relays[0].core.totals().delivered, 0);
    b.lose_unfinal();
    b.lock().hold_final = false;
    // Sooner than an envelope that was never seen there would be sent again.
    assert!(sim.run_until(2_500, |sim| acknowledged(sim, 0, &[id])));
    assert_once(&b, &[id]);
    assert_eq!(b.lock().log.submissions[&id], 2);
    assert_eq!(sim.relays[0].core.totals().redundant, 0);
}

#[test]
fn a_garbage_signature_is_dropped_and_the_rest_still_makes_a_quorum() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Horizon);
    a.lock().garbage.insert(1);
    let id = a.send(&b, b"poisoned", true);
    let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b)]);
    sim.run(10_000);
    // Four of four answer, one with garbage: it is dropped, and what the client has leaves it out.
    assert_ne!(sim.relays[0].state(&id), Some(QueueState::Dead));
    assert!(b.lock().log.refused == 0);
    assert!(sim.run_until(60_000, |sim| acknowledged(sim, 0, &[id])));
    assert_once(&b, &[id]);
}

#[test]
fn an_expired_message_is_dead_without_a_submission_and_a_failed_handler_is_shown() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    b.lock().height = 100;
    b.lock().handler_fails = true;
    let expired = a.send_to((b.network_id, b.chain_id), b"late", true, 50);
    let failing = a.send(&b, b"fails", true);
    let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b)]);
    assert!(sim.run_until(10_000, |sim| acknowledged(sim, 0, &[failing])));
    let entry = sim.relays[0].entry(&expired).unwrap();
    assert_eq!(entry.state, QueueState::Dead);
    assert_eq!(entry.reason.as_deref(), Some("message-expired"));
    assert_eq!(b.lock().log.submissions.get(&expired), None);
    let entry = sim.relays[0].entry(&failing).unwrap();
    assert_eq!(entry.reason.as_deref(), Some("handler-failed"));
}

#[test]
fn a_message_waits_for_its_pulse_and_goes_on_when_it_comes() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Horizon);
    a.lock().pulses = false;
    let id = a.send(&b, b"no pulse yet", true);
    let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b)]);
    sim.run(10_000);
    let entry = sim.relays[0].entry(&id).unwrap();
    assert_eq!(entry.state, QueueState::WaitingPulse);
    assert_eq!(entry.reason.as_deref(), Some("pulse-waiting"));
    a.lock().pulses = true;
    assert!(sim.run_until(10_000, |sim| acknowledged(sim, 0, &[id])));
}

#[test]
fn a_busy_destination_is_tried_again_without_counting_submissions_that_it_did_not_take() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    b.lock().refuse = Some(Code::ChannelGap);
    let id = a.send(&b, b"ordered", true);
    let relay = relay_with(&a, &b, |settings| settings.submissions_max = 2);
    let mut sim = Sim::new(&[&a, &b], vec![relay]);
    sim.run(60_000);
    let entry = sim.relays[0].entry(&id).unwrap();
    assert_eq!(entry.state, QueueState::Built);
    assert_eq!(entry.reason.as_deref(), Some("channel-gap"));
    let tries = b.lock().log.submissions[&id];
    assert!((5..30).contains(&tries), "{tries} in a minute");
    b.lock().refuse = None;
    assert!(sim.run_until(20_000, |sim| acknowledged(sim, 0, &[id])));
    assert_once(&b, &[id]);
    // What is refused for good is given up at once.
    b.lock().refuse = Some(Code::NonceUsed);
    let id = a.send(&b, b"refused", true);
    sim.run(5_000);
    let entry = sim.relays[0].entry(&id).unwrap();
    assert_eq!(entry.state, QueueState::Dead);
    assert_eq!(entry.reason.as_deref(), Some("nonce-used"));
    assert_eq!(b.lock().log.submissions[&id], 1);
}

#[test]
fn a_message_that_never_becomes_final_is_given_up_after_the_allowed_submissions() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    b.lock().hold_final = true;
    let id = a.send(&b, b"lost for ever", true);
    let relay = relay_with(&a, &b, |settings| settings.submissions_max = 4);
    let mut sim = Sim::new(&[&a, &b], vec![relay]);
    for _ in 0..60 {
        sim.run(2_000);
        b.lose_unfinal();
    }
    let entry = sim.relays[0].entry(&id).unwrap();
    assert_eq!(entry.state, QueueState::Dead);
    assert_eq!(entry.reason.as_deref(), Some("submissions-exhausted"));
    assert_eq!(b.lock().log.submissions[&id], 4);
    // A retry by hand starts it again.
    b.lock().hold_final = false;
    let now = sim.now_ms;
    let request = RetryRequest {
        reason: Some("submissions-exhausted".to_owned()),
        ..RetryRequest::default()
    };
    let store = sim.relays[0].store.as_mut().unwrap();
    assert_eq!(store.retry(&request, now, |_| false).unwrap(), 1);
    assert!(sim.run_until(10_000, |sim| acknowledged(sim, 0, &[id])));
    assert_once(&b, &[id]);
}

#[test]
fn reading_pauses_when_the_queue_is_full_and_goes_on_when_there_is_room() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    a.lock().silent.extend([0, 1]);
    let ids: Vec<Id> = (0..600_u32)
        .map(|i| a.send(&b, &i.to_be_bytes(), true))
        .collect();
    let relay = relay_with(&a, &b, |settings| settings.backlog_max = 200);
    let mut sim = Sim::new(&[&a, &b], vec![relay]);
    sim.run(10_000);
    // A page is the grain.
    assert_eq!(sim.relays[0].core.cursor(), Some(256));
    assert_eq!(sim.relays[0].core.reason(), Some(Code::BacklogFull));
    a.lock().silent.clear();
    assert!(sim.run_until(120_000, |sim| acknowledged(sim, 0, &ids)));
    assert_eq!(sim.relays[0].core.reason(), None);
    assert_once(&b, &ids);
}

#[test]
fn the_counts_of_the_store_are_what_a_recount_gives() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    let ids: Vec<Id> = (0..50_u8).map(|i| a.send(&b, &[i], i % 5 != 0)).collect();
    let relay = relay_with(&a, &b, |settings| settings.give_up_ms = 5_000);
    let mut sim = Sim::new(&[&a, &b], vec![relay]);
    for _ in 0..20 {
        sim.run(700);
        sim.relays[0].restart();
        let counted = sim.relays[0].store().recount().unwrap();
        let counts = sim.relays[0].store().counts();
        let of = |state| counted.get(&state).copied().unwrap_or(0);
        assert_eq!(counts.dead, of(QueueState::Dead));
        assert_eq!(counts.delivered, of(QueueState::Delivered));
        assert_eq!(counts.settled, of(QueueState::Acknowledged));
        let all: u64 = counted.values().sum();
        assert_eq!(counts.stored() + counts.settled, all);
    }
    assert_eq!(sim.relays[0].store().counts().dead, 10);
    assert_eq!(b.lock().effects.len(), ids.len() - 10);
}

#[test]
fn a_file_restored_from_an_old_copy_repeats_no_effect() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    let first: Vec<Id> = (0..5).map(|i| a.send(&b, &[i], true)).collect();
    let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b)]);
    assert!(sim.run_until(300, |sim| sim.relays[0].store().cursor() == Some(5)));
    let copy = sim.relays[0].disk.copy();
    let second: Vec<Id> = (5..10).map(|i| a.send(&b, &[i], true)).collect();
    assert!(sim.run_until(20_000, |sim| acknowledged(sim, 0, &second)));
    sim.relays[0].store = None;
    sim.relays[0].disk = copy;
    sim.relays[0].restart();
    assert_eq!(sim.relays[0].store().cursor(), Some(5));
    let all: Vec<Id> = first.into_iter().chain(second).collect();
    assert!(sim.run_until(20_000, |sim| acknowledged(sim, 0, &all)));
    assert_once(&b, &all);
    assert!(b.lock().log.submissions.values().all(|count| *count == 1));
    assert_eq!(sim.relays[0].core.totals().redundant, 10);
}

#[test]
fn looks_that_a_wrong_clock_put_far_away_come_at_the_next_start() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    a.lock().silent.extend([0, 1]);
    let id = a.send(&b, b"x", true);
    let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b)]);
    sim.run(5_000);
    let earlier = sim.now_ms - 86_400_000;
    sim.relays[0].restart();
    let store = sim.relays[0].store.as_mut().unwrap();
    assert!(store.due(earlier, 10, |_| false).unwrap().is_empty());
    store.bring_forward(earlier, earlier + 5_000).unwrap();
    let due = store.due(earlier, 10, |_| false).unwrap();
    assert_eq!(due[0].entry.id, id);
}

#[test]
fn another_network_behind_the_configured_address_is_never_used() {
    let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
    let id = a.send(&b, b"x", true);
    let relay = relay_with(&a, &b, |settings| settings.source.0 = 9);
    let mut sim = Sim::new(&[&a, &b], vec![relay]);
    sim.run(5_000);
    assert_eq!(sim.relays[0].core.reason(), Some(Code::SourceMismatch));
    assert_eq!(sim.relays[0].entry(&id), None);
    assert_eq!(sim.relays[0].core.cursor(), Some(0));
}

/// Kills the relayer at every commit, at three places around it.
#[test]
fn a_kill_at_any_durable_write_loses_no_message_and_repeats_no_effect() {
    let mut kills = 0;
    for kill in [Kill::Before, Kill::After, Kill::Sent] {
        for at in 1.. {
            let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
            let ids: Vec<Id> = (0..3).map(|i| a.send(&b, &[i], true)).collect();
            let mut relay = relay(&a, &b);
            relay.kill = Some((at, kill));
            let mut sim = Sim::new(&[&a, &b], vec![relay]);
            let done = sim.run_until(60_000, |sim| acknowledged(sim, 0, &ids));
            assert!(done, "{kill:?} at commit {at}");
            assert_once(&b, &ids);
            let submissions = b.lock().log.submissions.clone();
            assert!(
                submissions.values().all(|count| *count <= 2),
                "{kill:?} {at}"
            );
            let totals = sim.relays[0].core.totals();
            assert_eq!(totals.delivered, 3, "{kill:?} at commit {at}");
            // What left was on disk before.
            let sent: u32 = submissions.values().sum();
            assert!(totals.submissions >= u64::from(sent), "{kill:?} at {at}");
            if sim.relays[0].restarts == 0 {
                break;
            }
            kills += 1;
        }
    }
    assert!(kills > 30, "{kills}");
}

/// Fails the disk at every operation of the first messages, with and without torn writes.
#[test]
fn a_disk_that_fails_at_any_operation_loses_no_message_and_repeats_no_effect() {
    let mut failures = 0;
    for after in (1..).step_by(3) {
        let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
        let ids: Vec<Id> = (0..2).map(|i| a.send(&b, &[i], true)).collect();
        let relay = relay(&a, &b);
        relay.disk.fail_after(after);
        let mut sim = Sim::new(&[&a, &b], vec![relay]);
        let done = sim.run_until(60_000, |sim| acknowledged(sim, 0, &ids));
        assert!(done, "operation {after}");
        assert_once(&b, &ids);
        let submissions = b.lock().log.submissions.clone();
        assert!(submissions.values().all(|count| *count <= 2), "{after}");
        if sim.relays[0].restarts == 0 {
            break;
        }
        failures += 1;
    }
    assert!(failures > 20, "{failures}");
}

/// Random faults from a seed: kills, dead sides, lost blocks, two relayers.
#[test]
fn whatever_fails_every_message_acts_once_and_submissions_stay_bounded() {
    for seed in 0..12 {
        let mut rng = horizon_testkit::rng(0x5eed_0000 + seed);
        let (a, b) = pair(&[1, 1, 1, 1], Tier::Classical);
        let mut sim = Sim::new(&[&a, &b], vec![relay(&a, &b), relay(&a, &b)]);
        let mut ids = Vec::new();
        for round in 0..40_u8 {
            if round < 30 {
                ids.push(a.send(&b, &[round], true));
            }
            match rng.next() % 8 {
                0 => {
                    let at = (rng.next() % 2) as usize;
                    sim.relays[at].restart();
                }
                1 => a.lock().down = true,
                2 => b.lock().down = true,
                3 => b.lock().hold_final = true,
                4 => b.lose_unfinal(),
                5 => {
                    a.lock().silent = [0, 1].into_iter().collect();
                }
                _ => {
                    let mut inner = a.lock();
                    inner.down = false;
                    inner.silent = BTreeSet::new();
                    drop(inner);
                    let mut inner = b.lock();
                    inner.down = false;
                    inner.hold_final = false;
                }
            }
            sim.run(rng.next() % 2_000);
        }
        a.lock().down = false;
        a.lock().silent.clear();
        b.lock().down = false;
        b.lock().hold_final = false;
        assert!(
            sim.run_until(120_000, |sim| {
                acknowledged(sim, 0, &ids) && acknowledged(sim, 1, &ids)
            }),
            "seed {seed}"
        );
        assert_once(&b, &ids);
        let submissions = b.lock().log.submissions.clone();
        assert!(
            submissions.values().all(|count| *count <= 32),
            "seed {seed}: {submissions:?}"
        );
    }
}
