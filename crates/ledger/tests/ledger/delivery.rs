//! One message end to end, and everything that must not act.

use std::sync::Arc;

use horizon_ledger::app::{ACK_LEN, ACKS_MAX};
use horizon_ledger::{App, Block, Failure, Genesis, Invalid, Refusal, Status, tx};
use horizon_testkit::SeededRng;
use horizon_warp::UnsignedMessage;
use horizon_warp::error::Reason;
use horizon_warp::payload::Routed;

use crate::support::{Account, Chain, Dealt, INTERVAL_MS, To, deliver, pair};

#[test]
fn a_message_acts_once_on_the_other_chain_and_its_acknowledgement_comes_back() {
    let (mut a, mut b) = pair(4, 3, 1);
    let mut account = Account::new(&mut a.rng);
    let to = To::unordered(&b);
    let id = a.send(&mut account, &to, "counter", &7_u64.to_be_bytes());
    assert!(a.state.is_waiting(&id));
    assert_eq!(a.state.waiting_count(2, &b.chain_id()), 1);

    let envelope = a.envelope(&id);
    b.queue.push(deliver(&envelope));
    let effects = b.step();
    let [delivery] = &effects.deliveries[..] else {
        panic!("one delivery");
    };
    assert_eq!((delivery.id, delivery.status), (id, Status::Executed));
    assert_eq!(b.state.counter(), 7);

    let [ack] = &effects.outgoing[..] else {
        panic!("one acknowledgement");
    };
    assert!(ack.is_ack);
    let (ack_id, subject) = (ack.id, ack.subject);
    b.until(40, |b| b.pulses.contains_key(&subject));
    a.queue.push(deliver(&b.envelope(&ack_id)));
    let effects = a.step();
    assert_eq!(effects.acknowledged.len(), 1);
    assert!(effects.acknowledged[0].first);
    assert_eq!(effects.acknowledged[0].status, Status::Executed);
    assert!(!a.state.is_waiting(&id));
    assert_eq!(a.state.waiting_count(2, &b.chain_id()), 0);
    // Acknowledgements are not acknowledged.
    assert!(effects.outgoing.is_empty());

    // The same envelope again: refused for ever.
    b.queue.push(deliver(&envelope));
    assert!(b.step().deliveries.is_empty());
    assert_eq!(b.state.counter(), 7);
    assert_eq!(refusal(&b, &envelope), Refusal::Replay);
}

/// What an envelope is refused with on the tip: by a block that carries it, whatever screening and
/// admission would have said before.
fn refusal(chain: &Chain, envelope: &[u8]) -> Refusal {
    refusal_of(chain, tx::deliver(envelope))
}

fn refusal_of(chain: &Chain, tx: Vec<u8>) -> Refusal {
    let parent = chain.tip();
    let block = Block {
        parent: parent.digest(),
        height: parent.height + 1,
        time_ms: parent.time_ms + INTERVAL_MS,
        nebula_root: [0; 32],
        transactions: vec![tx.into()],
    };
    match chain.replica.execute(parent, &chain.state, &block) {
        Err(Invalid::Transaction {
            position: 0,
            refusal,
        }) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

fn reason(refusal: &Refusal) -> Reason {
    match refusal {
        Refusal::Prism(refusal) => refusal.reason(),
        other => panic!("not by Prism: {other:?}"),
    }
}

#[test]
fn d1_no_changed_byte_and_no_missing_lane_ever_changes_the_state() {
    let (mut a, mut b) = pair(1, 1, 2);
    let mut account = Account::new(&mut a.rng);
    let to = To::unordered(&b);
    let id = a.send(&mut account, &to, "journal", b"hello");
    let envelope = a.envelope(&id);
    let mut rng = SeededRng::new(3);
    // Every byte of the message and the lanes' heads, and a sample of the long lanes.
    let positions = (0..400).chain((400..envelope.len()).step_by(211));
    for at in positions {
        let mut changed = envelope.clone();
        changed[at] ^= 1 << rng.below(8);
        assert!(b.app.check(&tx::deliver(&changed)).is_err(), "byte {at}");
        b.queue.push(deliver(&changed));
    }
    let message = a.messages[&id].clone();
    let pulse = a.pulses[&message.subject].clone();
    let stripped = [
        a.envelope_with(&message, &[], true),
        a.envelope_with(&message, &pulse, false),
        a.envelope_with(&message, &[], false),
    ];
    for envelope in &stripped {
        let refusal = refusal(&b, envelope);
        let expected = [Reason::LaneMissing, Reason::PqEvidenceMissing];
        assert!(expected.contains(&reason(&refusal)), "{refusal:?}");
        assert!(refusal.is_retryable(), "more evidence may come");
        b.queue.push(deliver(envelope));
    }
    let effects = b.step();
    assert!(effects.deliveries.is_empty() && effects.outgoing.is_empty());
    let is_delivery = |tx: &Arc<[u8]>| tx.get(1) == Some(&tx::KIND_DELIVER);
    assert!(!b.tip().transactions.iter().any(is_delivery));
    assert_eq!(b.state.journal().0, 0);
    // B05: weaker copies left no trace; the full one is accepted, and they stay refused after it.
    b.queue.push(deliver(&envelope));
    assert_eq!(b.step().deliveries.len(), 1);
    for envelope in &stripped {
        assert_eq!(refusal(&b, envelope), Refusal::Replay);
    }
    assert_eq!(b.state.journal().0, 1);
}

#[test]
fn a_payload_without_this_chain_as_its_destination_is_refused_before_any_lane_is_looked_at() {
    let (mut a, b) = pair(1, 1, 4);
    let mut account = Account::new(&mut a.rng);
    let to = To::unordered(&b);
    let id = a.send(&mut account, &to, "journal", b"hello");
    let good = a.messages[&id].clone();
    let pulse = a.pulses[&good.subject].clone();
    let unsigned = UnsignedMessage::parse(&good.unsigned).unwrap();
    let routed = Routed::parse(unsigned.payload()).unwrap();
    let with = |payload: &[u8]| {
        let unsigned = UnsignedMessage::new(1, a.chain_id(), payload).unwrap();
        let mut message = good.clone();
        message.unsigned = unsigned.encode();
        refusal(&b, &a.envelope_with(&message, &pulse, true))
    };
    let payload = |routed: Routed<'_>| with(&routed.encode().unwrap());
    let destination = Refusal::Payload {
        field: "destination",
    };
    assert_eq!(
        payload(Routed {
            destination_network: 9,
            ..routed
        }),
        destination
    );
    assert_eq!(
        payload(Routed {
            destination_chain: [9; 32],
            ..routed
        }),
        destination
    );
    assert_eq!(with(b"no route"), Refusal::Payload { field: "routed" });
    assert_eq!(with(&[]), Refusal::Payload { field: "routed" });
    // Reserved and unknown channels.
    let mut channel = horizon_ledger::app::ack_channel(2, &b.chain_id());
    assert_eq!(payload(Routed { channel, ..routed }), Refusal::Channel);
    channel[31] ^= 1;
    let ack = Routed {
        channel,
        sender: b"ack",
        recipient: b"ack",
        ..routed
    };
    assert_eq!(payload(ack), Refusal::Channel);
    assert_eq!(
        payload(Routed {
            channel: [2; 32],
            ..routed
        }),
        Refusal::Channel
    );
    // With the right destination and a changed body, the lanes are what refuses it.
    let refused = payload(Routed {
        body: b"hallo",
        ..routed
    });
    assert!(matches!(refused, Refusal::Prism(_)), "{refused:?}");
}

#[test]
fn an_expired_message_is_processed_without_effect_and_says_so_to_its_source() {
    let (mut a, mut b) = pair(1, 1, 5);
    let mut account = Account::new(&mut a.rng);
    let in_time = To {
        expiry_height: 3,
        ..To::ordered(&b)
    };
    let first = a.send(&mut account, &in_time, "journal", b"one");
    let second = a.send(&mut account, &To::ordered(&b), "journal", b"two");
    (0..3).for_each(|_| drop(b.step()));
    b.queue.push(deliver(&a.envelope(&first)));
    b.queue.push(deliver(&a.envelope(&second)));
    let effects = b.step();
    assert_eq!(b.tip().height, 4);
    let got: Vec<_> = effects
        .deliveries
        .iter()
        .map(|d| (d.id, d.status))
        .collect();
    // It does not hold up the ordered channel.
    assert_eq!(got, [(first, Status::Expired), (second, Status::Executed)]);
    assert_eq!(b.state.journal().0, 1);
    assert_eq!(refusal(&b, &a.envelope(&first)), Refusal::Replay);
    assert_eq!(refusal_of(&b, tx::retry(&first)), Refusal::NothingToRetry);
    let ack = effects.outgoing[0].clone();
    b.until(40, |b| b.pulses.contains_key(&ack.subject));
    a.queue.push(deliver(&b.envelope(&ack.id)));
    let words: Vec<_> = a
        .step()
        .acknowledged
        .iter()
        .map(|w| (w.id, w.status))
        .collect();
    assert_eq!(
        words,
        [(first, Status::Expired), (second, Status::Executed)]
    );

    // At the expiry height itself the message still acts.
    let height = b.tip().height + 1;
    let last_chance = To {
        expiry_height: height,
        ..To::unordered(&b)
    };
    let third = a.send(&mut account, &last_chance, "journal", b"three");
    b.queue.push(deliver(&a.envelope(&third)));
    assert_eq!(b.step().deliveries[0].status, Status::Executed);
}

#[test]
fn o2_gaps_block_an_ordered_channel_and_do_not_skip() {
    let (mut a, mut b) = pair(1, 1, 6);
    let mut account = Account::new(&mut a.rng);
    let to = To::ordered(&b);
    let ids: Vec<_> = (0_u8..3)
        .map(|n| a.send(&mut account, &to, "journal", &[n]))
        .collect();
    let envelopes: Vec<_> = ids.iter().map(|id| a.envelope(id)).collect();
    assert_eq!(refusal(&b, &envelopes[1]), Refusal::Gap { next: 0 });
    assert!(Refusal::Gap { next: 0 }.is_retryable());
    for order in [[2, 1], [1, 0]] {
        order
            .iter()
            .for_each(|at| b.queue.push(deliver(&envelopes[*at])));
        b.step();
    }
    assert_eq!(
        b.state.window(1, &a.chain_id(), &to.channel).unwrap().base,
        1
    );
    b.queue.extend([1, 2].map(|at| deliver(&envelopes[at])));
    let got: Vec<_> = b.step().deliveries.iter().map(|d| d.id).collect();
    assert_eq!(got, ids[1..]);
}

#[test]
fn a10_a_failed_message_is_retried_from_stored_bytes_and_executes_once() {
    let (mut a, mut b) = pair(1, 1, 7);
    let mut account = Account::new(&mut a.rng);
    let to = To::unordered(&b);
    let id = a.send(&mut account, &to, "gate", b"knock");
    let open = a.send(&mut account, &to, "gate", b"open");
    b.queue.push(deliver(&a.envelope(&id)));
    let effects = b.step();
    let failed = Status::Failed(Failure::Closed);
    assert_eq!(effects.deliveries[0].status, failed);
    assert_eq!(b.state.failed(&id), Some(failed));
    assert_eq!(
        refusal_of(&b, tx::retry(&id)),
        Refusal::StillFails(Failure::Closed)
    );

    b.queue.push(deliver(&a.envelope(&open)));
    b.push(tx::retry(&id));
    let effects = b.step();
    let got: Vec<_> = effects
        .deliveries
        .iter()
        .map(|d| (d.id, d.status, d.is_retry))
        .collect();
    assert_eq!(
        got,
        [
            (open, Status::Executed, false),
            (id, Status::Executed, true)
        ]
    );
    assert_eq!(effects.deliveries[1].unsigned, a.messages[&id].unsigned);
    assert_eq!(refusal_of(&b, tx::retry(&id)), Refusal::AlreadyExecuted);
    assert_eq!(refusal(&b, &a.envelope(&id)), Refusal::Replay);
    // One payload byte changed is another message, which nobody signed.
    let mut other = a.messages[&id].clone();
    *other.unsigned.last_mut().unwrap() ^= 1;
    let pulse = a.pulses[&other.subject].clone();
    let refused = refusal(&b, &a.envelope_with(&other, &pulse, true));
    assert!(
        matches!(refused, Refusal::Replay | Refusal::Prism(_)),
        "{refused:?}"
    );
    assert_eq!(refusal_of(&b, tx::retry(&[9; 32])), Refusal::NothingToRetry);

    // Both words reach the source: the failure, then the success of the retry.
    let acks: Vec<_> = b
        .executed
        .iter()
        .flat_map(|e| e.effects.outgoing.clone())
        .collect();
    for (ack, first) in acks.iter().zip([true, false]) {
        b.until(40, |b| b.pulses.contains_key(&ack.subject));
        a.queue.push(deliver(&b.envelope(&ack.id)));
        let words = a.step().acknowledged;
        let word = words.iter().find(|word| word.id == id).unwrap();
        assert_eq!(word.first, first);
        assert_eq!(word.status, if first { failed } else { Status::Executed });
    }
}

#[test]
fn handlers_refuse_what_they_do_not_understand_and_change_nothing() {
    let (mut a, mut b) = pair(1, 1, 8);
    let mut account = Account::new(&mut a.rng);
    let to = To::unordered(&b);
    let cases: [(&str, &[u8], Status); 8] = [
        ("registry", b"x", Status::Failed(Failure::Recipient)),
        ("counter", b"1234567", Status::Failed(Failure::Body)),
        ("counter", b"", Status::Failed(Failure::Body)),
        ("counter", &u64::MAX.to_be_bytes(), Status::Executed),
        (
            "counter",
            &1_u64.to_be_bytes(),
            Status::Failed(Failure::Overflow),
        ),
        ("gate", b"", Status::Failed(Failure::Closed)),
        ("gate", b"open", Status::Executed),
        ("journal", b"", Status::Executed),
    ];
    for (recipient, body, expected) in cases {
        let id = a.send(&mut account, &to, recipient, body);
        let before = b.state.clone();
        b.queue.push(deliver(&a.envelope(&id)));
        let effects = b.step();
        assert_eq!(effects.deliveries[0].status, expected, "{recipient}");
        if expected.is_failed() {
            let view = |s: &horizon_ledger::State| (s.counter(), s.is_gate_open(), s.journal());
            assert_eq!(view(&b.state), view(&before));
        }
    }
    assert_eq!(b.state.counter(), u64::MAX);
}

#[test]
fn one_acknowledgement_holds_256_words_and_the_rest_waits_for_the_next_block() {
    let (mut a, mut b) = pair(1, 1, 9);
    let mut account = Account::new(&mut a.rng);
    let to = To::unordered(&b);
    let count = ACKS_MAX + 10;
    for n in 0..count {
        let tx = account.submit(&mut a, &to, "gate", &n.to_be_bytes());
        a.push(tx);
        if n % 50 == 49 {
            a.step();
        }
    }
    a.until(400, |a| a.pulses.len() == count);
    let ids: Vec<[u8; 32]> = a.messages.keys().copied().collect();
    for ids in ids.chunks(20) {
        ids.iter()
            .for_each(|id| b.queue.push(deliver(&a.envelope(id))));
        b.step();
    }
    assert!(ids.iter().all(|id| b.state.failed(id).is_some()));
    let open = a.send(&mut account, &to, "gate", b"open");
    b.queue.push(deliver(&a.envelope(&open)));
    b.step();
    ids.iter().for_each(|id| b.push(tx::retry(id)));
    let effects = b.step();
    assert_eq!(effects.deliveries.len(), ACKS_MAX);
    let ack = effects.outgoing.last().unwrap();
    let unsigned = UnsignedMessage::parse(&ack.unsigned).unwrap();
    let body = Routed::parse(unsigned.payload()).unwrap().body.len();
    assert_eq!(body, ACKS_MAX * ACK_LEN);
    ids.iter().for_each(|id| b.push(tx::retry(id)));
    assert_eq!(b.step().deliveries.len(), 10);
    // All of it is understood at the source.
    let subject = ack.subject;
    b.until(400, |b| b.pulses.contains_key(&subject));
    a.queue.push(deliver(&b.envelope(&ack.id)));
    assert_eq!(a.step().acknowledged.len(), ACKS_MAX);
}

#[test]
fn accounts_channels_and_routes_are_checked_before_a_message_is_sent() {
    let mut rng = SeededRng::new(10);
    let [a, b, c] = [1, 2, 3].map(|network| Dealt::new(network, 1, 1, &mut rng));
    let spec = a.spec(&[&b.record, &c.record]);
    let mut a = Chain::new(a, spec, 1);
    let mut account = Account::new(&mut rng);
    let to = |network: u8, channel: u8| To {
        network: network.into(),
        chain: [network; 32],
        channel: [channel; 32],
        expiry_height: 100,
    };
    let submit =
        |account: &mut Account, a: &mut Chain, to: To| account.submit(a, &to, "journal", b"x");
    let first = submit(&mut account, &mut a, to(2, 0));
    let second = submit(&mut account, &mut a, to(2, 0));
    let third = submit(&mut account, &mut a, to(3, 0));
    assert_eq!(refusal_of(&a, second.clone()), Refusal::SequenceGap);
    a.push(first.clone());
    a.push(second);
    assert_eq!(
        a.step()
            .outgoing
            .iter()
            .map(|m| m.nonce)
            .collect::<Vec<_>>(),
        [0, 1]
    );
    assert_eq!(refusal_of(&a, first), Refusal::SequenceUsed);
    // The channel belongs to network 2 now.
    assert_eq!(refusal_of(&a, third), Refusal::ChannelTaken);
    account.sequence = 2;
    let fresh = |account: &mut Account, a: &mut Chain, to: To| {
        account.sequence = 2;
        submit(account, a, to)
    };
    let tx = fresh(&mut account, &mut a, to(9, 0));
    assert_eq!(a.app.check(&tx), Err(Refusal::NoRoute));
    assert_eq!(refusal_of(&a, tx), Refusal::NoRoute);
    for channel in [2, 0xff] {
        let tx = fresh(&mut account, &mut a, to(2, channel));
        assert_eq!(refusal_of(&a, tx.clone()), Refusal::Channel);
        assert_eq!(a.app.check(&tx), Err(Refusal::Channel));
    }
    let good = fresh(&mut account, &mut a, to(3, 1));
    // No byte of it can be changed, and it is for this chain only.
    for at in (2..good.len()).step_by(37).chain([good.len() - 3_320]) {
        let mut changed = good.clone();
        changed[at] ^= 1;
        assert!(a.app.check(&changed).is_err(), "byte {at}");
    }
    let spec = Dealt::new(2, 1, 1, &mut rng);
    let elsewhere = App::new(Genesis::new(spec.spec(&[&c.record])).unwrap()).unwrap();
    assert_eq!(elsewhere.check(&good), Err(Refusal::Signature));
    a.push(good);
    assert_eq!(a.step().outgoing[0].nonce, 0);
}

#[test]
fn blocks_are_refused_for_what_is_wrong_with_them() {
    let (mut a, b) = pair(1, 1, 13);
    let mut account = Account::new(&mut a.rng);
    let tx = account.submit(&mut a, &To::unordered(&b), "journal", b"x");
    let parent = a.tip().clone();
    let candidates: Vec<Arc<[u8]>> = vec![tx.into()];
    let (good, executed) = a
        .app
        .build(&parent, &a.state, parent.time_ms + 1, &candidates)
        .unwrap();
    let run = |block: &Block| a.replica.execute(&parent, &a.state, block);
    assert_eq!(run(&good).unwrap().state, executed.state);
    let with = |change: &dyn Fn(&mut Block)| {
        let mut block = good.clone();
        change(&mut block);
        run(&block).unwrap_err()
    };
    assert_eq!(with(&|b| b.parent[0] ^= 1), Invalid::Parent);
    assert_eq!(with(&|b| b.height += 1), Invalid::Height);
    assert_eq!(with(&|b| b.time_ms = parent.time_ms), Invalid::Time);
    assert_eq!(with(&|b| b.nebula_root[0] ^= 1), Invalid::NebulaRoot);
    assert_eq!(with(&|b| b.transactions.clear()), Invalid::NebulaRoot);
    let twice = with(&|b| b.transactions.push(candidates[0].clone()));
    let refusal = Refusal::SequenceUsed;
    assert_eq!(
        twice,
        Invalid::Transaction {
            position: 1,
            refusal
        }
    );
    let many = with(&|b| b.transactions = vec![candidates[0].clone(); 1_001]);
    assert_eq!(many, Invalid::TooLarge);
    let long = with(&|b| b.transactions = vec![vec![1; 1 << 20].into()]);
    assert_eq!(long, Invalid::TooLarge);
    let time = a
        .app
        .build(&parent, &a.state, parent.time_ms, &[])
        .unwrap_err();
    assert_eq!(time, Invalid::Time.into());
    let stale = a
        .app
        .build(&good, &a.state, good.time_ms + 1, &[])
        .unwrap_err();
    assert_eq!(stale, Invalid::Parent.into());
}

#[test]
fn b08_a_delivery_in_a_block_that_is_lost_before_finality_can_be_delivered_again() {
    let (mut a, mut b) = pair(1, 1, 14);
    let mut account = Account::new(&mut a.rng);
    let to = To::unordered(&b);
    let id = a.send(&mut account, &to, "counter", &5_u64.to_be_bytes());
    let envelope = deliver(&a.envelope(&id));
    // A block with the delivery is built and executed, and another one becomes final.
    let parent = b.tip().clone();
    let candidates = [envelope.clone()];
    let (lost, executed) = b
        .app
        .build(&parent, &b.state, parent.time_ms + 1, &candidates)
        .unwrap();
    assert_eq!(executed.state.counter(), 5);
    b.step();
    assert_eq!((b.state.counter(), b.state.delivery_count()), (0, 0));
    assert!(b.app.admit(&b.state, &envelope).is_ok());
    // On the lost block's own branch the message counts as processed.
    let again = b.app.admit(&executed.state, &envelope);
    assert_eq!(again, Err(Refusal::Replay));
    b.queue.push(envelope.clone());
    assert_eq!(b.step().deliveries.len(), 1);
    assert_eq!((b.state.counter(), b.state.delivery_count()), (5, 1));
    assert_eq!(b.app.admit(&b.state, &envelope), Err(Refusal::Replay));
    let on_top = b.app.execute(b.tip(), &b.state, &lost);
    assert_eq!(on_top.unwrap_err(), Invalid::Time);
}

#[test]
fn only_the_destination_of_a_message_can_acknowledge_it() {
    let mut rng = SeededRng::new(15);
    let [one, two, three] = [1, 2, 3].map(|network| Dealt::new(network, 1, 1, &mut rng));
    let specs = [
        one.spec(&[&two.record, &three.record]),
        three.spec(&[&one.record]),
    ];
    let [spec_a, spec_c] = specs;
    let (mut a, mut c) = (Chain::new(one, spec_a, 1), Chain::new(three, spec_c, 2));
    let mut account = Account::new(&mut rng);
    let to_b = To {
        network: 2,
        chain: [2; 32],
        channel: [0; 32],
        expiry_height: u64::MAX,
    };
    let tx = account.submit(&mut a, &to_b, "journal", b"for network 2");
    a.push(tx);
    let id = a.step().outgoing[0].id;
    // Network 3 says, with every lane, that it executed a message that went to network 2.
    let mut body = id.to_vec();
    body.push(Status::Executed.code());
    let ack = c.forge(&Routed {
        destination_network: 1,
        destination_chain: [1; 32],
        channel: horizon_ledger::app::ack_channel(1, &[1; 32]),
        nonce: 0,
        expiry_height: u64::MAX,
        sender: b"ack",
        recipient: b"ack",
        body: &body,
    });
    a.queue.push(deliver(&ack));
    let effects = a.step();
    assert_eq!(effects.deliveries.len(), 1);
    assert!(!effects.acknowledged[0].first);
    assert!(a.state.is_waiting(&id));
    assert_eq!(a.state.waiting_count(2, &[2; 32]), 1);
}

#[test]
fn only_the_first_certificate_of_a_subject_takes_room_in_a_block() {
    let (mut a, b) = pair(4, 3, 16);
    a.certificates = 3;
    let mut account = Account::new(&mut a.rng);
    a.send(&mut account, &To::unordered(&b), "journal", b"x");
    let is_cert = |tx: &&Arc<[u8]>| tx.get(1) == Some(&7);
    let certs: Vec<_> = a
        .blocks
        .iter()
        .map(|b| b.transactions.iter().filter(is_cert).count())
        .collect();
    assert_eq!(certs.iter().sum::<usize>(), 1);
    assert_eq!(certs.last(), Some(&1));
    assert_eq!(a.executed.last().unwrap().effects.closed.len(), 1);
    // A block that carries a second one is not valid.
    let at = a.blocks.len() - 1;
    let mut block = a.blocks[at].clone();
    let cert = block.transactions.iter().find(is_cert).unwrap().clone();
    block.transactions.push(cert);
    let state = &a.executed[at - 2].state;
    let invalid = a
        .replica
        .execute(&a.blocks[at - 1], state, &block)
        .unwrap_err();
    let position = block.transactions.len() - 1;
    assert!(
        matches!(invalid, Invalid::Transaction { position: p, refusal: Refusal::Pulse(_) } if p == position),
        "{invalid:?}"
    );
}
