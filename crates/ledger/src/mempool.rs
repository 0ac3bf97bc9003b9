//! Transactions that wait for a block, in bounded memory.
//!
//! Each kind has its own share of entries and bytes. Within a kind, transactions stand in groups
//! (an account, an incoming channel, a member of the committee) in the order in which they can be
//! valid, and groups take turns. So a flood in one group delays nobody else, and a flood over many
//! groups of transactions that cannot be valid yet is the first to go when room is needed.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use std::collections::HashMap;

use crate::app::{App, Checked, Detail};
use crate::block::Block;
use crate::error::Refusal;
use crate::state::State;
use crate::tx::{self, Kind};

/// Transactions that wait.
#[derive(Debug)]
pub struct Mempool {
    shares: [Share; 4],
    index: HashMap<[u8; 32], Place>,
    arrivals: u64,
}

/// Why a transaction does not enter the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolRefusal {
    /// It is there already.
    Known,
    /// The pool, or the share of its account or channel, is full.
    Full,
    /// It can never be valid on this state.
    Refused(Refusal),
}

/// Limits of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareLimits {
    /// Most transactions.
    pub entries_max: usize,
    /// Most bytes of transactions.
    pub bytes_max: usize,
    /// Most transactions of one account, channel or member.
    pub group_max: usize,
    /// Blocks after which a transaction that found no place is dropped.
    pub blocks_max: u64,
}

impl Mempool {
    /// An empty pool with the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limits(PULSE_LIMITS, DELIVER_LIMITS, SUBMIT_LIMITS)
    }

    /// An empty pool with limits for signing transactions, deliveries and submits.
    #[must_use]
    pub fn with_limits(pulse: ShareLimits, deliver: ShareLimits, submit: ShareLimits) -> Self {
        Self {
            shares: [pulse, deliver, RETRY_LIMITS, submit].map(Share::new),
            index: HashMap::new(),
            arrivals: 0,
        }
    }

    /// Takes a transaction that [`App::check`] accepted. `state` is the newest final state.
    ///
    /// # Errors
    /// [`PoolRefusal`].
    pub fn insert(
        &mut self,
        app: &App,
        state: &State,
        checked: Checked,
    ) -> Result<(), PoolRefusal> {
        if self.index.contains_key(&checked.digest) {
            return Err(PoolRefusal::Known);
        }
        let is_ready = match app.screen(state, &checked) {
            Ok(()) => true,
            Err(refusal) if refusal.is_retryable() => false,
            Err(refusal) => return Err(PoolRefusal::Refused(refusal)),
        };
        let arrival = self.arrivals;
        let place = Place::of(&checked, arrival);
        let Some(share) = self.shares.get_mut(place.share) else {
            return Err(PoolRefusal::Full);
        };
        let evicted = share
            .make_room(&place.group, checked.bytes.len(), is_ready)
            .ok_or(PoolRefusal::Full)?;
        for digest in evicted {
            self.index.remove(&digest);
        }
        self.arrivals = arrival.saturating_add(1);
        self.index.insert(checked.digest, place.clone());
        let entry = Entry {
            checked,
            arrival,
            height: state.height(),
            is_ready,
        };
        share.insert(place, entry);
        Ok(())
    }

    /// Whether a transaction with this digest waits.
    #[must_use]
    pub fn contains(&self, digest: &[u8; 32]) -> bool {
        self.index.contains_key(digest)
    }

    /// The transaction with this digest.
    #[must_use]
    pub fn get(&self, digest: &[u8; 32]) -> Option<Arc<[u8]>> {
        let place = self.index.get(digest)?;
        let group = self.shares.get(place.share)?.groups.get(&place.group)?;
        let entry = group.get(&(place.rank, *digest))?;
        Some(Arc::clone(&entry.checked.bytes))
    }

    /// Candidates for the next block in their order: signing transactions, deliveries, retries,
    /// submits; about `bytes_max` bytes of them.
    #[must_use]
    pub fn candidates(&self, bytes_max: usize) -> Vec<Arc<[u8]>> {
        let mut left = bytes_max;
        let mut out = Vec::new();
        for share in &self.shares {
            share.take_turns(&mut left, &mut out);
        }
        out
    }

    /// A block became final: drops its transactions, those that can never be valid on `state`, and
    /// those that have waited too long.
    pub fn on_final(&mut self, app: &App, block: &Block, state: &State) {
        for transaction in &block.transactions {
            self.remove(&tx::digest(transaction));
        }
        for share in &mut self.shares {
            for digest in share.screen(app, state) {
                self.index.remove(&digest);
            }
        }
    }

    /// Drops a transaction.
    pub fn remove(&mut self, digest: &[u8; 32]) {
        if let Some(place) = self.index.remove(digest)
            && let Some(share) = self.shares.get_mut(place.share)
        {
            share.remove(&place.group, place.rank, digest);
        }
    }

    /// Number of transactions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Bytes of all transactions.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.shares.iter().map(|share| share.bytes).sum()
    }
}

impl Default for Mempool {
    fn default() -> Self {
        Self::new()
    }
}

/// Where a transaction stands.
#[derive(Clone, Debug)]
struct Place {
    share: usize,
    group: Vec<u8>,
    rank: u64,
}

impl Place {
    fn of(checked: &Checked, arrival: u64) -> Self {
        let share = match checked.kind {
            Kind::Pulse => 0,
            Kind::Deliver => 1,
            Kind::Retry => 2,
            Kind::Submit => 3,
        };
        let (group, rank) = match &checked.detail {
            Detail::Pulse { sender, .. } => (sender.to_be_bytes().to_vec(), arrival),
            Detail::Submit { account, sequence } => (account.to_vec(), *sequence),
            Detail::Deliver {
                network,
                chain,
                channel,
                nonce,
            } => (
                [&network.to_be_bytes()[..], chain, channel].concat(),
                *nonce,
            ),
            Detail::Retry { id } => (id.to_vec(), arrival),
        };
        Self { share, group, rank }
    }
}

#[derive(Debug)]
struct Entry {
    checked: Checked,
    arrival: u64,
    /// Height of the state at its arrival.
    height: u64,
    /// Whether it could be in the next block.
    is_ready: bool,
}

/// Entries of one account, channel or member, in the order in which they can be valid.
type Group = BTreeMap<(u64, [u8; 32]), Entry>;

/// The transactions of one kind.
#[derive(Debug)]
struct Share {
    limits: ShareLimits,
    groups: BTreeMap<Vec<u8>, Group>,
    /// Entries that cannot be in the next block, by arrival: the first to go.
    unready: BTreeSet<(u64, [u8; 32], Vec<u8>, u64)>,
    entries: usize,
    bytes: usize,
}

impl Share {
    const fn new(limits: ShareLimits) -> Self {
        Self {
            limits,
            groups: BTreeMap::new(),
            unready: BTreeSet::new(),
            entries: 0,
            bytes: 0,
        }
    }

    /// Makes room for one more entry and gives what had to go; `None` if there is no room for it.
    fn make_room(&mut self, group: &[u8], bytes: usize, is_ready: bool) -> Option<Vec<[u8; 32]>> {
        let own = self.groups.get(group).map_or(0, BTreeMap::len);
        if own >= self.limits.group_max || bytes > self.limits.bytes_max {
            return None;
        }
        let mut evicted = Vec::new();
        while self.entries >= self.limits.entries_max
            || self.bytes.saturating_add(bytes) > self.limits.bytes_max
        {
            if !is_ready {
                return None;
            }
            let (group, rank, digest) = match self.unready.first() {
                Some((_, digest, group, rank)) => (group.clone(), *rank, *digest),
                None => self.last_of_largest(own)?,
            };
            self.remove(&group, rank, &digest);
            evicted.push(digest);
        }
        Some(evicted)
    }

    /// The last entry of the largest group, if that has at least two more than `own`.
    fn last_of_largest(&self, own: usize) -> Option<(Vec<u8>, u64, [u8; 32])> {
        let (group, entries) = self
            .groups
            .iter()
            .max_by_key(|(_, entries)| entries.len())?;
        let ((rank, digest), _) = entries.last_key_value()?;
        (entries.len() > own.saturating_add(1)).then(|| (group.clone(), *rank, *digest))
    }

    fn insert(&mut self, place: Place, entry: Entry) {
        self.entries = self.entries.saturating_add(1);
        self.bytes = self.bytes.saturating_add(entry.checked.bytes.len());
        let digest = entry.checked.digest;
        if !entry.is_ready {
            let key = (entry.arrival, digest, place.group.clone(), place.rank);
            self.unready.insert(key);
        }
        let group = self.groups.entry(place.group).or_default();
        group.insert((place.rank, digest), entry);
    }

    fn remove(&mut self, group: &[u8], rank: u64, digest: &[u8; 32]) {
        let Some(entries) = self.groups.get_mut(group) else {
            return;
        };
        let Some(entry) = entries.remove(&(rank, *digest)) else {
            return;
        };
        if entries.is_empty() {
            self.groups.remove(group);
        }
        self.entries = self.entries.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(entry.checked.bytes.len());
        self.unready
            .remove(&(entry.arrival, *digest, group.to_vec(), rank));
    }

    /// One entry of each group in turn, the group that has waited longest first.
    fn take_turns(&self, left: &mut usize, out: &mut Vec<Arc<[u8]>>) {
        let mut turns: Vec<_> = self.groups.values().map(Self::in_turn).collect();
        turns.sort_by_cached_key(|entries| {
            let arrivals = entries.as_slice().iter().map(|entry| entry.arrival);
            arrivals.min()
        });
        while !turns.is_empty() {
            turns.retain_mut(|entries| {
                let Some(entry) = entries.next() else {
                    return false;
                };
                let Some(rest) = left.checked_sub(entry.checked.bytes.len()) else {
                    return false;
                };
                *left = rest;
                out.push(Arc::clone(&entry.checked.bytes));
                true
            });
        }
    }

    /// What of a group could be in the next block, in order. Of accounts and channels nothing, when
    /// not even the first entry could; of members what is ready by itself.
    fn in_turn(group: &Group) -> alloc::vec::IntoIter<&Entry> {
        let is_pulse = |entry: &Entry| entry.checked.kind == Kind::Pulse;
        let first = group.values().next();
        let entries: Vec<&Entry> = match first {
            Some(first) if is_pulse(first) => {
                group.values().filter(|entry| entry.is_ready).collect()
            }
            Some(first) if first.is_ready => group.values().collect(),
            _ => Vec::new(),
        };
        entries.into_iter()
    }

    /// Drops what can never be valid or is too old; gives the digests.
    fn screen(&mut self, app: &App, state: &State) -> Vec<[u8; 32]> {
        let mut gone = Vec::new();
        for (name, group) in &mut self.groups {
            for ((rank, digest), entry) in group {
                let age = state.height().saturating_sub(entry.height);
                let verdict = app.screen(state, &entry.checked);
                let is_ready = verdict.is_ok();
                let is_hopeless = verdict.is_err_and(|refusal| !refusal.is_retryable());
                if is_hopeless || age > self.limits.blocks_max {
                    gone.push((name.clone(), *rank, *digest));
                } else if is_ready != entry.is_ready {
                    entry.is_ready = is_ready;
                    let key = (entry.arrival, *digest, name.clone(), *rank);
                    if is_ready {
                        self.unready.remove(&key);
                    } else {
                        self.unready.insert(key);
                    }
                }
            }
        }
        for (group, rank, digest) in &gone {
            self.remove(group, *rank, digest);
        }
        gone.into_iter().map(|(_, _, digest)| digest).collect()
    }
}

/// Limits of signing transactions.
pub const PULSE_LIMITS: ShareLimits = ShareLimits {
    entries_max: 4_096,
    bytes_max: 32 << 20,
    group_max: 256,
    blocks_max: 32,
};
/// Limits of deliveries.
pub const DELIVER_LIMITS: ShareLimits = ShareLimits {
    entries_max: 2_048,
    bytes_max: 128 << 20,
    group_max: 1_024,
    blocks_max: 512,
};
/// Limits of retries.
pub const RETRY_LIMITS: ShareLimits = ShareLimits {
    entries_max: 1_024,
    bytes_max: 1 << 20,
    group_max: 1_024,
    blocks_max: 512,
};
/// Limits of submits.
pub const SUBMIT_LIMITS: ShareLimits = ShareLimits {
    entries_max: 4_096,
    bytes_max: 32 << 20,
    group_max: 512,
    blocks_max: 512,
};
