//! The state of the chain after a block: a persistent map, so that the overlay of an unfinalised
//! block costs what the block changed, and a root that follows every change.
//!
//! Layout and root are this project's own. The root is TupleHash256 of the sum of all entries and
//! of the digest of the signing ledger's snapshot. The sum is an additive hash: each entry becomes
//! 1,024 lanes of 16 bits by cSHAKE256 over its length-framed key and value, and lanes are added
//! modulo 2^16. It does not depend on the order of changes, and a change costs one subtraction and
//! one addition whatever the size of the state. Keys are unique, so no entry counts twice.
//!
//! The snapshot that enters the root of a block is the one from **before** the block: the subjects
//! that a block opens are bound to its NebulaRoot, hence to its state root, and so cannot be part
//! of it. The next block's root covers them.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::fmt;

use horizon_hash::domain::ledger as domain;
use horizon_hash::sponge::cshake256;
use horizon_hash::tuplehash::tuple_hash256;
use horizon_pulsar::committee::ledger::Ledger;
use imbl::OrdMap;

mod lthash;
mod views;
mod work;

pub(crate) use lthash::LtHash;
pub(crate) use views::{
    Account, Channel, Entries, Entry, Failed, Journal, Seen, Totals, Waiting, Window, key,
};
pub use views::{ChannelView, WINDOW_LEN, WindowView};
pub(crate) use work::Work;

/// The state after one block. Cloning is cheap.
#[derive(Clone)]
pub struct State {
    height: u64,
    entries: OrdMap<Key, Value>,
    sum: Arc<LtHash>,
    root: [u8; 32],
    /// Digest of the signing ledger before the block.
    pulse_before: [u8; 32],
    pulse: Arc<Ledger>,
    snapshot: Arc<[u8]>,
    /// What the block changed.
    changes: Arc<Changes>,
}

/// Key of an entry: one byte of kind, then fixed-length parts.
pub(crate) type Key = Vec<u8>;
/// Value of an entry.
pub(crate) type Value = Arc<[u8]>;
/// New values of changed entries; `None` for a removed one.
pub(crate) type Changes = BTreeMap<Key, Option<Value>>;

impl State {
    /// Height of the block that led to this state.
    #[must_use]
    pub fn height(&self) -> u64 {
        self.height
    }

    /// The state root that entered the block's NebulaRoot.
    #[must_use]
    pub fn root(&self) -> &[u8; 32] {
        &self.root
    }

    /// The signing ledger after the block.
    #[must_use]
    pub fn pulse(&self) -> &Ledger {
        &self.pulse
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The state before the first block.
    pub(crate) fn genesis(pulse: Ledger) -> Self {
        let snapshot: Arc<[u8]> = pulse.snapshot().into();
        let sum = LtHash::default();
        let pulse_before = pulse_digest(&snapshot);
        Self {
            height: 0,
            entries: OrdMap::new(),
            root: root(&sum, &pulse_before),
            pulse_before,
            sum: Arc::new(sum),
            pulse: Arc::new(pulse),
            snapshot,
            changes: Arc::default(),
        }
    }

    /// A state from its parts as stored. Sum and root are computed anew.
    pub(crate) fn restore(
        height: u64,
        entries: OrdMap<Key, Value>,
        pulse_before: [u8; 32],
        pulse: Ledger,
    ) -> Self {
        let mut sum = LtHash::default();
        entries.iter().for_each(|(key, value)| sum.add(key, value));
        let snapshot: Arc<[u8]> = pulse.snapshot().into();
        Self {
            height,
            entries,
            root: root(&sum, &pulse_before),
            pulse_before,
            sum: Arc::new(sum),
            pulse: Arc::new(pulse),
            snapshot,
            changes: Arc::default(),
        }
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Value> {
        self.entries.get(key)
    }

    pub(crate) fn pulse_before(&self) -> &[u8; 32] {
        &self.pulse_before
    }

    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    pub(crate) fn snapshot(&self) -> &Arc<[u8]> {
        &self.snapshot
    }
}

/// Two states are equal when they have the same entries and the same signing ledger.
impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.height == other.height
            && self.root == other.root
            && self.entries == other.entries
            && self.sum == other.sum
            && self.snapshot == other.snapshot
    }
}

impl Eq for State {}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("height", &self.height)
            .field("entries", &self.entries.len())
            .finish_non_exhaustive()
    }
}

/// The root over a sum of entries and the signing ledger before the block.
pub(crate) fn root(sum: &LtHash, pulse_before: &[u8; 32]) -> [u8; 32] {
    let mut out = [0; 32];
    tuple_hash256(
        domain::STATE_ROOT,
        &[&sum.to_bytes(), pulse_before],
        &mut out,
    );
    out
}

/// Digest of a snapshot of the signing ledger.
pub(crate) fn pulse_digest(snapshot: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    cshake256(domain::PULSE_LEDGER, &[snapshot], &mut out);
    out
}

#[cfg(test)]
mod tests {
    use horizon_pulsar::Suite;
    use horizon_pulsar::committee::ledger::LedgerConfig;
    use horizon_pulsar::committee::{Committee, CommitteeKey, CommitteeParams};
    use horizon_pulsar::dealer::{self, Ceremony, Variant};
    use horizon_pulsar::signers::Quorum;
    use horizon_testkit::SeededRng;

    use super::*;

    fn ledger(rng: &mut SeededRng) -> Ledger {
        let suite = Suite::PulsarSha3;
        let ceremony = Ceremony {
            variant: Variant::Dkg,
            chain_id: &[1; 32],
            network_id: 1,
            group_id: 0,
            suite,
            era: 0,
            old_generation: 0,
            new_generation: 0,
            old_set_hash: [0; 32],
            new_set_hash: [0; 32],
            old_threshold: 0,
            new_threshold: 1,
            group_key_hash: [0; 32],
            opening_block_hash: [0; 32],
            attempt: 0,
        };
        let deal = dealer::deal(&ceremony, Quorum::new(1, 1).unwrap(), rng).unwrap();
        let params = CommitteeParams {
            chain_id: [1; 32],
            network_id: 1,
            group_id: 0,
            suite,
            group_key_hash: deal.group_key.hash(suite),
            era: 0,
            generation: 0,
            set_hash: [0; 32],
            n: 1,
            t: 1,
        };
        let key = Arc::new(CommitteeKey::new(&deal.group_key, suite));
        let config = LedgerConfig::for_size(1);
        Ledger::new(Committee::new(params).unwrap(), key, config, 0).unwrap()
    }

    fn change(work: &mut Work, rng: &mut SeededRng) {
        let key = vec![rng.below(40) as u8, 7];
        if rng.below(3) == 0 {
            work.delete(key);
        } else {
            let len = rng.index(90);
            work.put(key, rng.vec(len));
        }
    }

    #[test]
    fn the_root_follows_changes_as_if_computed_from_scratch_and_in_any_order() {
        let mut rng = horizon_testkit::rng(1);
        let mut state = State::genesis(ledger(&mut rng));
        for height in 1..200 {
            let mut work = Work::on(&state);
            for _ in 0..rng.below(12) {
                change(&mut work, &mut rng);
            }
            let next = work.seal(height).with_pulse(state.pulse().clone());
            let again = State::restore(
                height,
                next.entries.clone(),
                next.pulse_before,
                next.pulse().clone(),
            );
            assert_eq!(again.root(), next.root());
            assert_eq!(again, next);
            // The same entries put in another order, and after detours.
            let mut entries: Vec<_> = next.entries.iter().collect();
            let mut work = Work::on(&State::genesis(state.pulse().clone()));
            while !entries.is_empty() {
                let (key, value) = entries.swap_remove(rng.index(entries.len()));
                work.put(key.clone(), vec![1]);
                work.delete(key.clone());
                work.put(key.clone(), value.to_vec());
            }
            work.put(b"detour".to_vec(), vec![1]);
            work.delete(b"detour".to_vec());
            let other = work.seal(height);
            assert_eq!(other.root(), next.root());
            // What a block reports as changed is exactly what differs.
            let mut rebuilt = state.entries.clone();
            for (key, value) in next.changes() {
                match value {
                    Some(value) => rebuilt.insert(key.clone(), Arc::clone(value)),
                    None => rebuilt.remove(key),
                };
            }
            assert_eq!(rebuilt, next.entries);
            state = next;
        }
    }

    #[test]
    fn a_block_that_changes_nothing_in_the_end_has_its_parents_sum() {
        let mut rng = SeededRng::new(2);
        let state = State::genesis(ledger(&mut rng));
        let mut work = Work::on(&state);
        work.put(vec![1], vec![2]);
        let one = work.seal(1).with_pulse(state.pulse().clone());
        let mut work = Work::on(&one);
        work.put(vec![1], vec![3]);
        work.put(vec![1], vec![2]);
        let two = work.seal(2).with_pulse(state.pulse().clone());
        assert!(two.changes().is_empty());
        assert_eq!((two.root(), &two.sum), (one.root(), &one.sum));
    }

    #[test]
    fn the_root_covers_the_signing_ledger_before_the_block() {
        let mut rng = SeededRng::new(3);
        let (first, second) = (ledger(&mut rng), ledger(&mut rng));
        let roots = [first, second].map(|ledger| *State::genesis(ledger).root());
        assert_ne!(roots[0], roots[1]);
    }
}
