//! The loaded registry: records whose chains, keys and proofs have been checked once.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use horizon_pulsar::{GroupKey, PreparedKey, Suite};
use horizon_sig::{bls, mldsa};

use super::chain::{Pin, check_chain, check_group_keys, check_successor};
use super::{Record, RecordKey};
use crate::error::{Error, Lane, Reason};
use crate::suite::SuiteId;
use crate::validators::ValidatorSet;

/// Checked records, by exact key. The default registry is empty and refuses every lookup.
#[derive(Debug, Default)]
pub struct Registry {
    entries: BTreeMap<RecordKey, Entry>,
}

/// One record with its keys decoded and its proofs verified.
pub struct Entry {
    record: Record,
    hash: [u8; 32],
    validators: ValidatorSet,
    bls_keys: Vec<bls::ProvenKey>,
    mldsa_keys: Vec<Option<mldsa::VerifyingKey>>,
    group_key: Option<Arc<PreparedKey>>,
    retired_at: Option<u64>,
    revoked: bool,
}

impl Registry {
    /// Loads whole chains of records, each authenticated by its pin. All or nothing: one bad record
    /// refuses the load.
    ///
    /// Costs about one pairing check per validator, for the proofs of possession.
    ///
    /// # Errors
    /// `ChainUnpinned` when a record has no pin or a pin no records; the reasons of
    /// [`check_chain`](super::check_chain); `ChainGroupKey` for a group key shared by two chains;
    /// `RecordKey` and `RecordPossession` naming the validator.
    pub fn load(records: Vec<Record>, pins: &[Pin]) -> Result<Self, Error> {
        let mut chains: BTreeMap<(u32, [u8; 32]), Vec<Record>> = BTreeMap::new();
        for record in records {
            let chain = (record.key.network_id, record.key.chain_id);
            chains.entry(chain).or_default().push(record);
        }
        let mut checked = Vec::with_capacity(pins.len());
        for pin in pins {
            let records = chains
                .remove(&(pin.network_id, pin.chain_id))
                .ok_or(Error::rejected(Reason::ChainUnpinned))?;
            let hashes = check_chain(&records, pin)?;
            checked.push((records, hashes));
        }
        if !chains.is_empty() {
            return Err(Error::rejected(Reason::ChainUnpinned));
        }
        check_group_keys(checked.iter().flat_map(|(records, _)| records))?;
        let mut registry = Self::default();
        for (records, hashes) in checked {
            let mut before: Option<RecordKey> = None;
            for (record, hash) in records.into_iter().zip(hashes) {
                before = Some(registry.insert(record, hash, before)?);
            }
        }
        Ok(registry)
    }

    /// Appends the next record of a chain. `expected_hash` comes from a trusted source, as a pin
    /// does.
    ///
    /// The generation before it retires at the height at which the new one becomes valid.
    ///
    /// # Errors
    /// `ChainPin` if the record has another hash; `ChainUnpinned` if the chain is not loaded; then
    /// as [`Registry::load`].
    pub fn append(&mut self, record: Record, expected_hash: &[u8; 32]) -> Result<(), Error> {
        let hash = record.hash()?;
        if &hash != expected_hash {
            return Err(Error::rejected(Reason::ChainPin));
        }
        let last = self
            .chain(record.key.network_id, &record.key.chain_id)
            .last()
            .ok_or(Error::rejected(Reason::ChainUnpinned))?;
        check_successor(&last.record, &last.hash, &record)?;
        let before = last.record.key;
        let others = self.entries.values().map(|entry| &entry.record);
        check_group_keys(others.chain([&record]))?;
        self.insert(record, hash, Some(before)).map(drop)
    }

    /// The record of exactly this key.
    ///
    /// # Errors
    /// `RecordUnknown`.
    pub fn get(&self, key: &RecordKey) -> Result<&Entry, Error> {
        self.entries
            .get(key)
            .ok_or(Error::rejected(Reason::RecordUnknown))
    }

    /// The records of one chain, oldest first.
    #[must_use]
    pub fn chain(
        &self,
        network_id: u32,
        chain_id: &[u8; 32],
    ) -> impl DoubleEndedIterator<Item = &Entry> {
        let key = |key_era, generation| RecordKey {
            network_id,
            chain_id: *chain_id,
            key_era,
            generation,
        };
        self.entries
            .range(key(0, 0)..=key(u64::MAX, u64::MAX))
            .map(|(_, entry)| entry)
    }

    /// All records.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Retires a generation at a source height. It verifies on only within the policy's grace.
    ///
    /// # Errors
    /// `RetirementConflict` for an unknown generation, or one that retires earlier already.
    pub fn retire(&mut self, key: &RecordKey, height: u64) -> Result<(), Error> {
        let conflict = Error::rejected(Reason::RetirementConflict);
        let entry = self.entries.get_mut(key).ok_or(conflict)?;
        if entry.retired_at.is_some_and(|at| at < height) {
            return Err(conflict);
        }
        entry.retired_at = Some(height);
        Ok(())
    }

    /// Revokes a generation at once and without grace: for a key that is known to be stolen.
    ///
    /// # Errors
    /// `RetirementConflict` for an unknown generation.
    pub fn revoke(&mut self, key: &RecordKey) -> Result<(), Error> {
        let entry = self
            .entries
            .get_mut(key)
            .ok_or(Error::rejected(Reason::RetirementConflict))?;
        entry.revoked = true;
        Ok(())
    }

    fn insert(
        &mut self,
        record: Record,
        hash: [u8; 32],
        before: Option<RecordKey>,
    ) -> Result<RecordKey, Error> {
        let previous = before.and_then(|key| self.entries.get(&key));
        // Every generation of an era has the same group key: prepare it once.
        let shared = previous
            .filter(|entry| entry.record.group_key == record.group_key)
            .and_then(|entry| entry.group_key.clone());
        let key = record.key;
        let valid_from = record.valid_from;
        let entry = Entry::new(record, hash, shared)?;
        if let Some(previous) = before.and_then(|key| self.entries.get_mut(&key)) {
            previous.retired_at = Some(previous.retired_at.unwrap_or(valid_from).min(valid_from));
        }
        self.entries.insert(key, entry);
        Ok(key)
    }
}

impl Entry {
    fn new(
        record: Record,
        hash: [u8; 32],
        shared: Option<Arc<PreparedKey>>,
    ) -> Result<Self, Error> {
        let validators = record.validators()?;
        let mut bls_keys = Vec::with_capacity(record.members.len());
        let mut mldsa_keys = Vec::with_capacity(record.members.len());
        for (member, index) in record.members.iter().zip(0_u32..) {
            let bad_key = |lane| Error::index_rejected(Reason::RecordKey, Some(lane), index);
            let key =
                bls::VerifyingKey::from_bytes(&member.bls_key).map_err(|_| bad_key(Lane::Beam))?;
            let unproven = Error::index_rejected(Reason::RecordPossession, Some(Lane::Beam), index);
            let proof =
                bls::PossessionProof::from_bytes(&member.possession).map_err(|_| unproven)?;
            bls_keys.push(key.verify_possession(&proof).map_err(|_| unproven)?);
            let set = mldsa::ParameterSet::MlDsa65;
            let mldsa_key = match &member.mldsa_key {
                Some(bytes) => Some(
                    mldsa::VerifyingKey::from_bytes(set, &bytes[..])
                        .map_err(|_| bad_key(Lane::CertSet))?,
                ),
                None => None,
            };
            mldsa_keys.push(mldsa_key);
        }
        let group_key = match shared {
            Some(prepared) => Some(prepared),
            None if record.group_key.is_empty() => None,
            None => {
                let key = GroupKey::from_framed(&record.group_key)
                    .map_err(|_| Error::lane_rejected(Reason::RecordKey, Lane::Pulse))?;
                Some(Arc::new(PreparedKey::new(&key, kernel_suite(record.suite))))
            }
        };
        Ok(Self {
            record,
            hash,
            validators,
            bls_keys,
            mldsa_keys,
            group_key,
            retired_at: None,
            revoked: false,
        })
    }

    /// The record.
    #[must_use]
    pub const fn record(&self) -> &Record {
        &self.record
    }

    /// The record's hash.
    #[must_use]
    pub const fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// The validators in canonical order.
    #[must_use]
    pub const fn validators(&self) -> &ValidatorSet {
        &self.validators
    }

    /// Source height at which the generation retires, if it does.
    #[must_use]
    pub const fn retired_at(&self) -> Option<u64> {
        self.retired_at
    }

    /// Whether the generation is revoked.
    #[must_use]
    pub const fn is_revoked(&self) -> bool {
        self.revoked
    }

    /// Whether evidence under this record counts at a source height, with `grace` heights after
    /// retirement.
    ///
    /// # Errors
    /// `RecordRevoked`, `RecordNotYetValid`, `RecordExpired`, `EraRetired`.
    pub fn check_height(&self, height: u64, grace: u64) -> Result<(), Error> {
        let refused = |reason| Err(Error::rejected(reason));
        if self.revoked {
            return refused(Reason::RecordRevoked);
        }
        if height < self.record.valid_from {
            return refused(Reason::RecordNotYetValid);
        }
        if self.record.valid_until.is_some_and(|until| height > until) {
            return refused(Reason::RecordExpired);
        }
        if self
            .retired_at
            .is_some_and(|at| height > at.saturating_add(grace))
        {
            return refused(Reason::EraRetired);
        }
        Ok(())
    }

    /// Beam keys in canonical order, each with its possession proven.
    pub(crate) fn bls_keys(&self) -> &[bls::ProvenKey] {
        &self.bls_keys
    }

    /// The certificate key of a validator, if it has one.
    pub(crate) fn mldsa_key(&self, index: u32) -> Option<&mldsa::VerifyingKey> {
        self.mldsa_keys.get(usize::try_from(index).ok()?)?.as_ref()
    }

    /// The Pulse key, if the chain has one.
    pub(crate) fn group_key(&self) -> Option<&PreparedKey> {
        self.group_key.as_deref()
    }
}

impl core::fmt::Debug for Entry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Entry")
            .field("key", &self.record.key)
            .field("retired_at", &self.retired_at)
            .field("revoked", &self.revoked)
            .finish_non_exhaustive()
    }
}

/// The kernel's hash functions for a suite: the label selects what is run.
const fn kernel_suite(suite: SuiteId) -> Suite {
    match suite {
        SuiteId::PulsarSha3 => Suite::PulsarSha3,
        SuiteId::PulsarBlake3 => Suite::PulsarBlake3,
    }
}
