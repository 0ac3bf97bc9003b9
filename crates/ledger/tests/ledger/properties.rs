//! Properties over thousands of blocks of random traffic between two chains: authenticity, no
//! replay, acceptance, monotone memory, order, distinctness, nonces, and one state for building,
//! executing, replaying from blocks and restarting from disk.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use horizon_ledger::{App, Delivery, Outgoing, Status, Store, tx};
use horizon_testkit::SeededRng;
use horizon_warp::UnsignedMessage;
use horizon_warp::payload::{EXPIRY_NEVER, Routed};
use redb::backends::InMemoryBackend;

use crate::support::{Account, Chain, To, pair};

const BLOCKS: u32 = 1_500;

/// What one direction has seen so far.
#[derive(Default)]
struct Seen {
    /// Processed ids with their status.
    processed: HashMap<[u8; 32], Status>,
    executed: HashSet<[u8; 32]>,
    /// Per channel the nonces in the order of processing.
    order: BTreeMap<[u8; 32], Vec<u64>>,
    /// Ids of all messages ever sent by the source, and its (channel, nonce) pairs.
    sent: BTreeSet<[u8; 32]>,
    nonces: BTreeMap<[u8; 32], u64>,
    counter: u64,
    journal: u64,
}

impl Seen {
    fn on_outgoing(&mut self, message: &Outgoing) {
        // S3 and T3: ids are distinct, nonces are dense per channel.
        assert!(self.sent.insert(message.id), "one id twice");
        let next = self.nonces.entry(message.channel).or_default();
        assert_eq!(message.nonce, *next);
        *next += 1;
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        // D1: only what the source sent.
        assert!(self.sent.contains(&delivery.id));
        let before = self.processed.insert(delivery.id, delivery.status);
        if delivery.is_retry {
            assert!(before.is_some_and(Status::is_failed));
        } else {
            // D2: an id is processed once.
            assert_eq!(before, None);
            self.order
                .entry(delivery.channel)
                .or_default()
                .push(delivery.nonce);
        }
        if delivery.status != Status::Executed || delivery.is_ack {
            return;
        }
        assert!(self.executed.insert(delivery.id), "one effect per message");
        let unsigned = UnsignedMessage::parse(&delivery.unsigned).unwrap();
        let routed = Routed::parse(unsigned.payload()).unwrap();
        match routed.recipient {
            b"counter" => self.counter += u64::from_be_bytes(routed.body.try_into().unwrap()),
            b"journal" => self.journal += 1,
            _ => {}
        }
    }

    /// D4, O1, O2 and the sums of all effects.
    fn check(&self, source: &Chain, destination: &Chain) {
        for (channel, nonces) in &self.order {
            let window = destination
                .state
                .window(source.network_id(), &source.chain_id(), channel)
                .unwrap();
            let processed: BTreeSet<u64> = nonces.iter().copied().collect();
            let remembered: BTreeSet<u64> = (0..window.base)
                .chain(window.processed.iter().copied())
                .collect();
            assert_eq!(processed, remembered);
            if channel[0] == 1 {
                let expected: Vec<u64> = (0..nonces.len() as u64).collect();
                assert_eq!(nonces, &expected, "an ordered channel skipped");
            }
        }
        assert_eq!(destination.state.counter(), self.counter);
        assert_eq!(destination.state.journal().0, self.journal);
    }
}

/// Random messages from one chain to the other.
fn submit(rng: &mut SeededRng, account: &mut Account, from: &mut Chain, to: &Chain) {
    let kinds = [To::unordered(to), To::ordered(to)];
    let mut target = kinds[rng.index(2)];
    target.channel[31] = rng.below(2) as u8;
    target.expiry_height = match rng.below(4) {
        0 => to.tip().height + rng.below(40),
        _ => EXPIRY_NEVER,
    };
    let amount = rng.below(1_000).to_be_bytes();
    let (recipient, body): (&str, &[u8]) = match rng.below(8) {
        0 => ("gate", b"open"),
        1 => ("gate", b"close"),
        2 | 3 => ("gate", b"knock"),
        4 => ("nobody", b""),
        5 => ("journal", b"entry"),
        _ => ("counter", &amount),
    };
    let tx = account.submit(from, &target, recipient, body);
    from.push(tx);
}

/// Presents envelopes of `source` to `destination`: fresh ones, old ones, damaged ones.
fn relay(rng: &mut SeededRng, ready: &mut Vec<[u8; 32]>, source: &Chain, destination: &mut Chain) {
    for _ in 0..rng.below(4) {
        if ready.is_empty() {
            return;
        }
        let id = ready[rng.index(ready.len())];
        let mut envelope = source.envelope(&id);
        if rng.below(4) == 0 {
            let at = rng.index(envelope.len());
            envelope[at] ^= 1 << rng.below(8);
        }
        destination.push(tx::deliver(&envelope));
    }
    // Forgetting most of what was processed keeps the traffic fresh, with some replays.
    if ready.len() > 40 {
        let (network, chain) = (source.network_id(), source.chain_id());
        ready.retain(|id| {
            let message = &source.messages[id];
            let window = destination.state.window(network, &chain, &message.channel);
            let is_done = window.is_some_and(|window| {
                message.nonce < window.base || window.processed.contains(&message.nonce)
            });
            !is_done || rng.below(20) == 0
        });
    }
}

fn retry(rng: &mut SeededRng, seen: &Seen, destination: &mut Chain) {
    let failed = seen
        .processed
        .iter()
        .filter(|(_, status)| status.is_failed());
    let mut ids: Vec<[u8; 32]> = failed.map(|(id, _)| *id).collect();
    ids.sort_unstable();
    if !ids.is_empty() && rng.below(3) == 0 {
        destination.push(tx::retry(&ids[rng.index(ids.len())]));
    }
}

fn advance(source: &mut Chain, out: &mut Seen, into: &mut Seen, ready: &mut Vec<[u8; 32]>) {
    let effects = source.step();
    effects
        .outgoing
        .iter()
        .for_each(|message| out.on_outgoing(message));
    effects
        .deliveries
        .iter()
        .for_each(|delivery| into.on_delivery(delivery));
    for closed in &effects.closed {
        let message = source
            .messages
            .values()
            .find(|m| m.subject == closed.subject);
        ready.push(message.unwrap().id);
    }
}

#[test]
fn d1_to_d4_o1_o2_s3_t3_hold_over_thousands_of_blocks_of_random_traffic() {
    let mut rng = horizon_testkit::rng(41);
    let (mut a, mut b) = pair(1, 1, rng.next());
    let (mut account_a, mut account_b) = (Account::new(&mut rng), Account::new(&mut rng));
    let (mut ab, mut ba) = (Seen::default(), Seen::default());
    let (mut from_a, mut from_b) = (Vec::new(), Vec::new());
    for block in 0..BLOCKS {
        if rng.below(3) == 0 {
            submit(&mut rng, &mut account_a, &mut a, &b);
        }
        if rng.below(4) == 0 {
            submit(&mut rng, &mut account_b, &mut b, &a);
        }
        relay(&mut rng, &mut from_a, &a, &mut b);
        relay(&mut rng, &mut from_b, &b, &mut a);
        retry(&mut rng, &ab, &mut b);
        retry(&mut rng, &ba, &mut a);
        advance(&mut a, &mut ab, &mut ba, &mut from_a);
        advance(&mut b, &mut ba, &mut ab, &mut from_b);
        if block % 50 == 0 {
            ab.check(&a, &b);
            ba.check(&b, &a);
        }
    }
    assert!(ab.processed.len() > 200 && ba.processed.len() > 200);
    settle(&mut a, &mut b, &mut ab, &mut ba);
    ab.check(&a, &b);
    ba.check(&b, &a);
    for chain in [&a, &b] {
        replayed(chain);
        restarted(chain);
    }
}

/// D3, and D5 with an honest relayer: everything that was sent is accepted on first presentation,
/// in order, and nothing waits for an acknowledgement in the end.
fn settle(a: &mut Chain, b: &mut Chain, ab: &mut Seen, ba: &mut Seen) {
    let mut ignored = Vec::new();
    for _ in 0..3_000 {
        let (open_ab, presented_ab) = deliver_all(a, b, ab);
        let (open_ba, presented_ba) = deliver_all(b, a, ba);
        let open = open_ab + open_ba;
        let waiting =
            a.state.waiting_count(2, &b.chain_id()) + b.state.waiting_count(1, &a.chain_id());
        if open == 0 && waiting == 0 {
            return;
        }
        advance(a, ab, ba, &mut ignored);
        advance(b, ba, ab, &mut ignored);
        let accepted =
            |seen: &Seen, ids: &[[u8; 32]]| ids.iter().all(|id| seen.processed.contains_key(id));
        assert!(accepted(ab, &presented_ab) && accepted(ba, &presented_ba));
    }
    panic!("not everything arrived");
}

/// Queues signed messages that were not processed, in order. Gives how many are open, and those of
/// the queued ones that must be accepted: on an unordered channel nothing can be in their way.
fn deliver_all(source: &Chain, destination: &mut Chain, seen: &Seen) -> (usize, Vec<[u8; 32]>) {
    let mut open: Vec<&Outgoing> = source
        .messages
        .values()
        .filter(|message| !seen.processed.contains_key(&message.id))
        .collect();
    open.sort_by_key(|message| message.sequence);
    let signed = open
        .iter()
        .filter(|message| source.pulses.contains_key(&message.subject));
    let mut presented = Vec::new();
    for message in signed.take(8) {
        destination.push(tx::deliver(&source.envelope(&message.id)));
        if message.channel[0] != 1 {
            presented.push(message.id);
        }
    }
    (open.len(), presented)
}

/// A fresh application that executes the chain's blocks reaches the same state.
fn replayed(chain: &Chain) {
    let app = App::new(chain.app.genesis().clone()).unwrap();
    let mut state = app.genesis_state();
    for (at, executed) in chain.executed.iter().enumerate() {
        let again = app
            .execute(&chain.blocks[at], &state, &chain.blocks[at + 1])
            .unwrap();
        assert_eq!(again.effects, executed.effects);
        state = again.state;
    }
    assert_eq!(state, chain.state);
}

/// A store that is opened again at some heights has the state of that height.
fn restarted(chain: &Chain) {
    let genesis = chain.app.genesis();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.redb");
    let blocks: Vec<_> = chain.blocks[1..].iter().zip(&chain.executed).collect();
    // Syncing a file for each of thousands of blocks would measure the disk.
    let memory = Store::with_backend(InMemoryBackend::new(), genesis).unwrap();
    for (block, executed) in &blocks {
        memory.commit(block, executed).unwrap();
    }
    assert_eq!(memory.tip().1, chain.state);
    for part in blocks[..60].chunks(7) {
        let store = Store::open(&path, genesis).unwrap();
        for (block, executed) in part {
            store.commit(block, executed).unwrap();
        }
        let (last, executed) = part.last().unwrap();
        drop(store);
        let (tip, state) = Store::open(&path, genesis).unwrap().tip();
        assert_eq!((&tip, &state), (*last, &executed.state));
    }
}
