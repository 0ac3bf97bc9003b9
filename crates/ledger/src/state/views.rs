//! Typed entries: keys, values, and the public questions one can ask a state.

use horizon_warp::limits::UNSIGNED_LEN_MAX;

use super::{Key, State, Value, Work};
use crate::codec::{Fault, Reader, put_long};
use crate::effects::Status;

/// Keys of all entries.
pub(crate) mod key {
    use super::Key;

    /// Next sequence number of an account.
    pub(crate) fn account(account: &[u8; 32]) -> Key {
        join(1, &[account])
    }

    /// An outgoing channel.
    pub(crate) fn channel(channel: &[u8; 32]) -> Key {
        join(2, &[channel])
    }

    /// An outgoing message that waits for its acknowledgement.
    pub(crate) fn waiting(id: &[u8; 32]) -> Key {
        join(3, &[id])
    }

    /// How many of those there are for one destination.
    pub(crate) fn waiting_count(network: u32, chain: &[u8; 32]) -> Key {
        join(4, &[&network.to_be_bytes(), chain])
    }

    /// The window of an incoming channel.
    pub(crate) fn window(network: u32, chain: &[u8; 32], channel: &[u8; 32]) -> Key {
        join(5, &[&network.to_be_bytes(), chain, channel])
    }

    /// A message whose handler failed, or that succeeded when retried.
    pub(crate) fn failed(id: &[u8; 32]) -> Key {
        join(6, &[id])
    }

    /// The same by order of arrival.
    pub(crate) fn failed_at(order: u64) -> Key {
        join(7, &[&order.to_be_bytes()])
    }

    /// The counter's sum.
    pub(crate) fn counter() -> Key {
        join(8, &[])
    }

    /// Whether the gate is open.
    pub(crate) fn gate() -> Key {
        join(9, &[])
    }

    /// Number and chained hash of the journal's entries.
    pub(crate) fn journal() -> Key {
        join(10, &[])
    }

    /// Numbers over everything.
    pub(crate) fn totals() -> Key {
        join(11, &[])
    }

    fn join(kind: u8, parts: &[&[u8]]) -> Key {
        let mut key = vec![kind];
        parts.iter().for_each(|part| key.extend_from_slice(part));
        key
    }
}

/// Where entries are read from.
pub(crate) trait Entries {
    fn entry(&self, key: &[u8]) -> Option<&Value>;

    fn read<T: Entry>(&self, key: &[u8]) -> Option<T> {
        // Only this module writes entries, so what is there decodes.
        T::decode(&mut Reader::new(self.entry(key)?)).ok()
    }

    fn number(&self, key: &[u8]) -> u64 {
        self.read::<Account>(key)
            .map_or(0, |Account(number)| number)
    }

    fn totals(&self) -> Totals {
        self.read(&key::totals()).unwrap_or_default()
    }
}

impl Entries for State {
    fn entry(&self, key: &[u8]) -> Option<&Value> {
        self.get(key)
    }
}

impl Entries for Work {
    fn entry(&self, key: &[u8]) -> Option<&Value> {
        self.get(key)
    }
}

/// A value with one layout.
pub(crate) trait Entry: Sized {
    fn encode(&self) -> Vec<u8>;
    fn decode(input: &mut Reader<'_>) -> Result<Self, Fault>;
}

/// A number: next sequence of an account, and other counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account(pub(crate) u64);

/// An outgoing channel: the destination it belongs to, and its next nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Channel {
    pub(crate) network: u32,
    pub(crate) chain: [u8; 32],
    pub(crate) next: u64,
}

/// An outgoing message without acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) sequence: u64,
    pub(crate) network: u32,
    pub(crate) chain: [u8; 32],
}

/// A message whose handler failed. After a retry with success only its id and status remain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) order: u64,
    pub(crate) status: Status,
    pub(crate) unsigned: Vec<u8>,
}

/// Number of entries and their chained hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Journal {
    pub(crate) count: u64,
    pub(crate) hash: [u8; 32],
}

/// Numbers over everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Outgoing messages so far.
    pub(crate) outgoing: u64,
    /// Deliveries so far, retries included.
    pub(crate) deliveries: u64,
    /// Accounts.
    pub(crate) accounts: u64,
    /// Outgoing and incoming channels.
    pub(crate) channels: u64,
    /// Oldest failed message that is remembered, by order.
    pub(crate) failed_first: u64,
    /// Order of the next failed message.
    pub(crate) failed_next: u64,
    /// Bytes of failed messages that are kept for a retry.
    pub(crate) failed_bytes: u64,
}

/// The nonces of an incoming channel that were processed: everything below the base, and those
/// whose bit is set. An ordered channel has no bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) base: u64,
    bits: Option<Box<[u64; WORDS]>>,
}

/// What a window says about a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Fresh,
    Processed,
    /// Only on ordered channels: an earlier one is missing.
    Gap,
    /// Only on unordered channels: beyond the window.
    Ahead,
}

impl Window {
    pub(crate) fn new(is_ordered: bool) -> Self {
        Self {
            base: 0,
            bits: (!is_ordered).then(|| Box::new([0; WORDS])),
        }
    }

    pub(crate) fn look(&self, nonce: u64) -> Seen {
        let Some(ahead) = nonce.checked_sub(self.base) else {
            return Seen::Processed;
        };
        let Some(bits) = &self.bits else {
            return if ahead == 0 { Seen::Fresh } else { Seen::Gap };
        };
        if ahead >= WINDOW_LEN {
            return Seen::Ahead;
        }
        if bit(bits, ahead) {
            Seen::Processed
        } else {
            Seen::Fresh
        }
    }

    /// Marks a fresh nonce.
    pub(crate) fn mark(&mut self, nonce: u64) {
        let Some(ahead) = nonce.checked_sub(self.base) else {
            return;
        };
        let Some(bits) = &mut self.bits else {
            // The largest nonce ends a channel: there is none after it.
            self.base = self.base.saturating_add(1);
            return;
        };
        let word = usize::try_from(ahead / 64).unwrap_or(WORDS);
        if let Some(word) = bits.get_mut(word) {
            *word |= 1 << (ahead % 64);
        }
        while bits.first().is_some_and(|word| word & 1 == 1) && self.base < u64::MAX {
            shift(bits);
            self.base = self.base.saturating_add(1);
        }
    }
}

fn bit(bits: &[u64; WORDS], at: u64) -> bool {
    let word = usize::try_from(at / 64)
        .ok()
        .and_then(|word| bits.get(word));
    word.is_some_and(|word| word >> (at % 64) & 1 == 1)
}

/// Moves every bit one place down.
fn shift(bits: &mut [u64; WORDS]) {
    let mut carry = 0;
    for word in bits.iter_mut().rev() {
        let next = *word & 1;
        *word = *word >> 1 | carry << 63;
        carry = next;
    }
}

impl Entry for Account {
    fn encode(&self) -> Vec<u8> {
        self.0.to_be_bytes().to_vec()
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Fault> {
        input.u64("number").map(Self)
    }
}

impl Entry for Channel {
    fn encode(&self) -> Vec<u8> {
        [
            &self.network.to_be_bytes()[..],
            &self.chain,
            &self.next.to_be_bytes(),
        ]
        .concat()
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Self {
            network: input.u32("network")?,
            chain: *input.array("chain")?,
            next: input.u64("next")?,
        })
    }
}

impl Entry for Waiting {
    fn encode(&self) -> Vec<u8> {
        [
            &self.sequence.to_be_bytes()[..],
            &self.network.to_be_bytes(),
            &self.chain,
        ]
        .concat()
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Self {
            sequence: input.u64("sequence")?,
            network: input.u32("network")?,
            chain: *input.array("chain")?,
        })
    }
}

impl Entry for Failed {
    fn encode(&self) -> Vec<u8> {
        let mut out = self.order.to_be_bytes().to_vec();
        out.push(self.status.code());
        put_long(&mut out, &self.unsigned);
        out
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Self {
            order: input.u64("order")?,
            status: Status::from_code(input.u8("status")?).ok_or(Fault("status"))?,
            unsigned: input.long(UNSIGNED_LEN_MAX, "unsigned")?.to_vec(),
        })
    }
}

impl Entry for Journal {
    fn encode(&self) -> Vec<u8> {
        [&self.count.to_be_bytes()[..], &self.hash].concat()
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Self {
            count: input.u64("count")?,
            hash: *input.array("hash")?,
        })
    }
}

impl Entry for Totals {
    fn encode(&self) -> Vec<u8> {
        [
            self.outgoing,
            self.deliveries,
            self.accounts,
            self.channels,
            self.failed_first,
            self.failed_next,
            self.failed_bytes,
        ]
        .iter()
        .flat_map(|number| number.to_be_bytes())
        .collect()
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Self {
            outgoing: input.u64("outgoing")?,
            deliveries: input.u64("deliveries")?,
            accounts: input.u64("accounts")?,
            channels: input.u64("channels")?,
            failed_first: input.u64("failed_first")?,
            failed_next: input.u64("failed_next")?,
            failed_bytes: input.u64("failed_bytes")?,
        })
    }
}

impl Entry for Window {
    fn encode(&self) -> Vec<u8> {
        let words = self.bits.iter().flat_map(|bits| bits.iter());
        [self.base]
            .iter()
            .chain(words)
            .flat_map(|word| word.to_be_bytes())
            .collect()
    }

    fn decode(input: &mut Reader<'_>) -> Result<Self, Fault> {
        let base = input.u64("base")?;
        if input.remaining() == 0 {
            return Ok(Self { base, bits: None });
        }
        let mut bits = Box::new([0; WORDS]);
        for word in bits.iter_mut() {
            *word = input.u64("bits")?;
        }
        Ok(Self {
            base,
            bits: Some(bits),
        })
    }
}

/// An outgoing channel, as interfaces show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelView {
    /// Network of the destination it belongs to.
    pub destination_network: u32,
    /// Chain of the destination it belongs to.
    pub destination_chain: [u8; 32],
    /// Nonce of its next message.
    pub next_nonce: u64,
}

/// The window of an incoming channel, as interfaces show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowView {
    /// Every nonce below this was processed.
    pub base: u64,
    /// Nonces at or above it that were processed, ascending.
    pub processed: Vec<u64>,
}

impl State {
    /// Sequence number of the account's next transaction.
    #[must_use]
    pub fn account_sequence(&self, account: &[u8; 32]) -> u64 {
        self.number(&key::account(account))
    }

    /// An outgoing channel, if anything was ever sent on it.
    #[must_use]
    pub fn channel(&self, channel: &[u8; 32]) -> Option<ChannelView> {
        let channel: Channel = self.read(&key::channel(channel))?;
        Some(ChannelView {
            destination_network: channel.network,
            destination_chain: channel.chain,
            next_nonce: channel.next,
        })
    }

    /// The window of an incoming channel, if anything was ever processed on it.
    #[must_use]
    pub fn window(
        &self,
        source_network: u32,
        source_chain: &[u8; 32],
        channel: &[u8; 32],
    ) -> Option<WindowView> {
        let window: Window = self.read(&key::window(source_network, source_chain, channel))?;
        let bits = window.bits.as_deref();
        let processed = bits.map_or_else(Vec::new, |bits| {
            let set = (0..WINDOW_LEN).filter(|at| bit(bits, *at));
            set.map(|at| window.base.saturating_add(at)).collect()
        });
        Some(WindowView {
            base: window.base,
            processed,
        })
    }

    /// Whether the message with this id was sent and is not acknowledged yet.
    #[must_use]
    pub fn is_waiting(&self, id: &[u8; 32]) -> bool {
        self.get(&key::waiting(id)).is_some()
    }

    /// Number of messages to a destination that are not acknowledged yet.
    #[must_use]
    pub fn waiting_count(&self, destination_network: u32, destination_chain: &[u8; 32]) -> u64 {
        self.number(&key::waiting_count(destination_network, destination_chain))
    }

    /// What is known about a message whose handler failed at first: the failure, or success of a
    /// retry. Bounded memory: the oldest are forgotten.
    #[must_use]
    pub fn failed(&self, id: &[u8; 32]) -> Option<Status> {
        self.read::<Failed>(&key::failed(id))
            .map(|failed| failed.status)
    }

    /// The counter's sum.
    #[must_use]
    pub fn counter(&self) -> u64 {
        self.number(&key::counter())
    }

    /// Whether the gate is open.
    #[must_use]
    pub fn is_gate_open(&self) -> bool {
        self.number(&key::gate()) == 1
    }

    /// Number of journal entries, and their chained hash.
    #[must_use]
    pub fn journal(&self) -> (u64, [u8; 32]) {
        let journal: Journal = self.read(&key::journal()).unwrap_or_default();
        (journal.count, journal.hash)
    }

    /// Outgoing messages so far; the sequence number of the next one.
    #[must_use]
    pub fn outgoing_count(&self) -> u64 {
        self.totals().outgoing
    }

    /// Deliveries so far, retries included; the sequence number of the next one.
    #[must_use]
    pub fn delivery_count(&self) -> u64 {
        self.totals().deliveries
    }
}

/// Nonces in the window of an unordered channel.
pub const WINDOW_LEN: u64 = 1_024;
/// Words of its bits.
const WORDS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use horizon_testkit::SeededRng;

    #[test]
    fn an_unordered_window_takes_every_nonce_once_in_any_order() {
        let mut rng = SeededRng::new(1);
        let mut window = Window::new(false);
        let mut seen = BTreeSet::new();
        for _ in 0..20_000 {
            let nonce = window.base.saturating_sub(5) + rng.below(1_100);
            let expected = if seen.contains(&nonce) {
                Seen::Processed
            } else if nonce >= window.base + WINDOW_LEN {
                Seen::Ahead
            } else {
                Seen::Fresh
            };
            assert_eq!(window.look(nonce), expected, "seed {}", rng.seed());
            if expected == Seen::Fresh {
                window.mark(nonce);
                seen.insert(nonce);
            }
            let stored = Window::decode(&mut Reader::new(&window.encode())).unwrap();
            assert_eq!(stored, window);
        }
        assert!(window.base > 0 && (0..window.base).all(|nonce| seen.contains(&nonce)));
    }

    #[test]
    fn an_ordered_window_takes_only_the_next_nonce() {
        let mut window = Window::new(true);
        assert_eq!(window.look(1), Seen::Gap);
        window.mark(0);
        assert_eq!(
            (window.look(0), window.look(1)),
            (Seen::Processed, Seen::Fresh)
        );
        assert_eq!(
            Window::decode(&mut Reader::new(&window.encode())),
            Ok(window)
        );
    }

    #[test]
    fn the_last_nonce_ends_a_channel_without_a_panic() {
        for is_ordered in [false, true] {
            let mut window = Window::new(is_ordered);
            window.base = u64::MAX;
            assert_eq!(window.look(u64::MAX), Seen::Fresh);
            window.mark(u64::MAX);
        }
    }
}
