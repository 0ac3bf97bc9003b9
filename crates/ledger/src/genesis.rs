//! What a network is: the facts that every validator must have in common.
//!
//! A [`GenesisSpec`] is plain data; a [`Genesis`] is one that passed every check, with its keys
//! decoded. Validators stand in canonical order (ascending BLS key): a validator's position here is
//! its position in the registry record, in the signing committee and in signer bit sets.

use alloc::sync::Arc;
use core::net::SocketAddr;

use horizon_hash::domain::ledger as domain;
use horizon_hash::tuplehash::TupleHash256;
use horizon_pulsar::committee::ledger::{Ledger, LedgerConfig};
use horizon_pulsar::committee::{BATCHES_MAX, Committee, CommitteeKey, CommitteeParams};
use horizon_pulsar::{GroupKey, Suite};
use horizon_sig::{ed25519, mldsa};
use horizon_warp::limits::MLDSA65_KEY_LEN;
use horizon_warp::policy::{Policy, SourceConfig};
use horizon_warp::registry::{Pin, Record, Registry};
use horizon_warp::{SuiteId, ValidatorSet};

use crate::block::{BLOCK_LEN_MAX, TRANSACTIONS_MAX};
use crate::error::GenesisError;

mod check;
mod json;

/// Everything a genesis says, not yet checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenesisSpec {
    /// A name for people, 1 to 64 printable bytes.
    pub name: String,
    /// The network.
    pub network_id: u32,
    /// The chain; not zero.
    pub chain_id: [u8; 32],
    /// Time of the genesis block, milliseconds since 1970.
    pub time_ms: u64,
    /// Validators in canonical order.
    pub validators: Vec<Validator>,
    /// This chain's own registry record: keys, weights, points, group key, threshold.
    pub record: Record,
    /// Identifier of the signing group within the network.
    pub group_id: u64,
    /// Numbers of the signing ledger.
    pub pulse: LedgerConfig,
    /// Limits of blocks.
    pub block: BlockLimits,
    /// The chains whose messages are taken, and to which messages can go.
    pub sources: Vec<Source>,
}

/// What the registry record does not say about a validator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validator {
    /// A name for people, 1 to 64 printable bytes.
    pub name: String,
    /// Ed25519 key of its links.
    pub identity: [u8; 32],
    /// Where its links are reached.
    pub address: SocketAddr,
    /// ML-DSA-65 key of its consensus votes.
    pub consensus_key: Box<[u8; MLDSA65_KEY_LEN]>,
    /// X25519 half of its sealing key.
    pub sealing_x25519: [u8; 32],
    /// ML-KEM-768 half of its sealing key.
    pub sealing_mlkem768: Box<[u8; MLKEM768_KEY_LEN]>,
}

/// Limits of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLimits {
    /// Least time between blocks, milliseconds, 10 to 60,000.
    pub interval_ms: u64,
    /// Most bytes of an encoded block, 128 KiB to 1 MiB.
    pub bytes_max: usize,
    /// Most transactions, 16 to 4,096.
    pub transactions_max: usize,
}

/// One counterpart: what its messages must prove, and its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The policy that is pinned for it.
    pub policy: SourceConfig,
    /// Its registry records, oldest first; the policy names the hash of the last.
    pub anchors: Vec<Record>,
}

/// A checked genesis with its keys decoded. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Genesis {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    spec: GenesisSpec,
    hash: [u8; 32],
    validators: ValidatorSet,
    member_keys: Vec<mldsa::VerifyingKey>,
    committee: Committee,
    key: Arc<CommitteeKey>,
    registry: Registry,
    policy: Policy,
}

impl Genesis {
    /// Checks a genesis and decodes its keys. Costs one pairing check per validator.
    ///
    /// # Errors
    /// [`GenesisError`]: the first fault found.
    pub fn new(spec: GenesisSpec) -> Result<Self, GenesisError> {
        check::structure(&spec)?;
        let record = &spec.record;
        let committee = committee(record, spec.group_id)?;
        let group_key =
            GroupKey::from_framed(&record.group_key).map_err(|_| GenesisError::GroupKey)?;
        let key = Arc::new(CommitteeKey::new(&group_key, suite(record.suite)?));
        let configs: Vec<SourceConfig> = spec.sources.iter().map(|s| s.policy).collect();
        let policy = Policy::new(&configs).map_err(GenesisError::Policy)?;
        let own = Pin {
            network_id: spec.network_id,
            chain_id: spec.chain_id,
            head: record.hash().map_err(GenesisError::Registry)?,
        };
        // Own keys and proofs are checked as the counterparts' are, and no group key serves two.
        let records = spec.sources.iter().flat_map(|s| s.anchors.iter().cloned());
        let records = records.chain([record.clone()]).collect();
        let pins: Vec<Pin> = policy.pins().into_iter().chain([own]).collect();
        let registry = Registry::load(records, &pins).map_err(GenesisError::Registry)?;
        let member_keys = check::member_keys(record)?;
        // A ledger that cannot start is a fault of the genesis too.
        Ledger::new(committee.clone(), Arc::clone(&key), spec.pulse, 0)
            .map_err(GenesisError::Committee)?;
        let inner = Inner {
            hash: hash(&spec)?,
            validators: record.validators().map_err(GenesisError::Registry)?,
            member_keys,
            committee,
            key,
            registry,
            policy,
            spec,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Reads a genesis file of at most [`GENESIS_LEN_MAX`] bytes.
    ///
    /// # Errors
    /// [`GenesisError`].
    pub fn from_json(text: &str) -> Result<Self, GenesisError> {
        Self::new(GenesisSpec::from_json(text)?)
    }

    /// What it says.
    #[must_use]
    pub fn spec(&self) -> &GenesisSpec {
        &self.inner.spec
    }

    /// TupleHash256 over everything it says.
    #[must_use]
    pub fn hash(&self) -> &[u8; 32] {
        &self.inner.hash
    }

    /// The network.
    #[must_use]
    pub fn network_id(&self) -> u32 {
        self.inner.spec.network_id
    }

    /// The chain.
    #[must_use]
    pub fn chain_id(&self) -> &[u8; 32] {
        &self.inner.spec.chain_id
    }

    /// This chain's registry record.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.inner.spec.record
    }

    /// Hash suite of the Pulse.
    #[must_use]
    pub fn suite(&self) -> SuiteId {
        self.inner.spec.record.suite
    }

    /// Validators with keys and weights in canonical order.
    #[must_use]
    pub fn validators(&self) -> &ValidatorSet {
        &self.inner.validators
    }

    /// The validators' certificate keys, by canonical position. They also sign transactions of the
    /// signing committee.
    #[must_use]
    pub fn member_keys(&self) -> &[mldsa::VerifyingKey] {
        &self.inner.member_keys
    }

    /// Canonical position of the validator with this link key.
    #[must_use]
    pub fn position(&self, identity: &[u8; 32]) -> Option<u16> {
        let mut validators = self.inner.spec.validators.iter();
        let found = validators.position(|validator| &validator.identity == identity)?;
        u16::try_from(found).ok()
    }

    /// The signing committee.
    #[must_use]
    pub fn committee(&self) -> &Committee {
        &self.inner.committee
    }

    /// The prepared group key.
    #[must_use]
    pub fn committee_key(&self) -> &Arc<CommitteeKey> {
        &self.inner.key
    }

    /// Records of this chain and of all sources.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// What sources must prove.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// The source with this network and chain.
    #[must_use]
    pub fn source(&self, network_id: u32, chain_id: &[u8; 32]) -> Option<&Source> {
        self.inner.spec.sources.iter().find(|source| {
            source.policy.network_id == network_id && &source.policy.chain_id == chain_id
        })
    }
}

/// The signing committee that a registry record describes. Members hold consecutive points in
/// canonical order: the first member's start at 1.
///
/// # Errors
/// [`GenesisError::Member`] for a member without points, [`GenesisError::GroupKey`],
/// [`GenesisError::Committee`].
pub fn committee(record: &Record, group_id: u64) -> Result<Committee, GenesisError> {
    let suite = suite(record.suite)?;
    let group_key = GroupKey::from_framed(&record.group_key).map_err(|_| GenesisError::GroupKey)?;
    let too_many = GenesisError::Field {
        field: "validators",
    };
    let n = u16::try_from(record.members.len()).map_err(|_| too_many)?;
    let threshold = GenesisError::Field { field: "threshold" };
    let t = u16::try_from(record.threshold).map_err(|_| threshold)?;
    let params = CommitteeParams {
        chain_id: record.key.chain_id,
        network_id: record.key.network_id,
        group_id,
        suite,
        group_key_hash: group_key.hash(suite),
        era: record.key.key_era,
        generation: record.key.generation,
        set_hash: set_hash(record),
        n,
        t,
    };
    Committee::with_points(params, points(record)?).map_err(GenesisError::Committee)
}

/// Hash of a record's validators with weights and points: the `set_hash` of the committee and of
/// the ceremony that dealt its key. Does not depend on the group key.
#[must_use]
pub fn set_hash(record: &Record) -> [u8; 32] {
    let mut hash = TupleHash256::new(domain::VALIDATOR_POINTS);
    for member in &record.members {
        hash.element(&member.bls_key);
        hash.element(member.mldsa_key.as_deref().map_or(&[][..], |key| &key[..]));
        hash.element(&member.weight.to_be_bytes());
        hash.element(&member.points.to_be_bytes());
    }
    finish(hash)
}

/// Least weight of a set of members whose points reach the threshold, and the total weight. The
/// registry rule demands `3 · least > 2 · total`. `None` when no set reaches it.
#[must_use]
pub fn lightest_signing_weight(record: &Record) -> Option<(u64, u64)> {
    check::lightest(record)
}

/// The kernel's hash functions for a suite.
///
/// # Errors
/// [`GenesisError::Field`] for a suite that this ledger does not know.
pub const fn suite(suite: SuiteId) -> Result<Suite, GenesisError> {
    match suite {
        SuiteId::PulsarSha3 => Ok(Suite::PulsarSha3),
        SuiteId::PulsarBlake3 => Ok(Suite::PulsarBlake3),
        _ => Err(GenesisError::Field { field: "suite" }),
    }
}

fn points(record: &Record) -> Result<Vec<Vec<u16>>, GenesisError> {
    let mut next: u16 = 1;
    let mut all = Vec::with_capacity(record.members.len());
    for (index, member) in record.members.iter().enumerate() {
        let bad = GenesisError::Member {
            field: "points",
            index,
        };
        let count = u16::try_from(member.points).map_err(|_| bad.clone())?;
        let end = next.checked_add(count).ok_or(bad.clone())?;
        if count == 0 {
            return Err(bad);
        }
        all.push((next..end).collect());
        next = end;
    }
    Ok(all)
}

/// The canonical hash: every field as one element, lists with their number first.
fn hash(spec: &GenesisSpec) -> Result<[u8; 32], GenesisError> {
    let mut hash = TupleHash256::new(domain::GENESIS);
    hash.element(&[VERSION]);
    hash.element(spec.name.as_bytes());
    hash.element(&spec.network_id.to_be_bytes());
    hash.element(&spec.chain_id);
    hash.element(&spec.time_ms.to_be_bytes());
    hash.element(&len(&spec.validators));
    for validator in &spec.validators {
        hash.element(validator.name.as_bytes());
        hash.element(&validator.identity);
        hash.element(validator.address.to_string().as_bytes());
        hash.element(&validator.consensus_key[..]);
        hash.element(&validator.sealing_x25519);
        hash.element(&validator.sealing_mlkem768[..]);
    }
    hash.element(&spec.record.encode().map_err(GenesisError::Registry)?);
    hash.element(&spec.group_id.to_be_bytes());
    hash.element(&spec.pulse.live_batches.to_be_bytes());
    hash.element(&spec.pulse.count.to_be_bytes());
    hash.element(&spec.pulse.window.to_be_bytes());
    hash.element(&spec.pulse.sign_window.to_be_bytes());
    hash.element(&spec.pulse.decay_blocks.to_be_bytes());
    hash.element(&spec.block.interval_ms.to_be_bytes());
    for limit in [spec.block.bytes_max, spec.block.transactions_max] {
        hash.element(&u64::try_from(limit).unwrap_or(u64::MAX).to_be_bytes());
    }
    hash.element(&len(&spec.sources));
    for source in &spec.sources {
        put_policy(&mut hash, &source.policy);
        hash.element(&len(&source.anchors));
        for anchor in &source.anchors {
            hash.element(&anchor.encode().map_err(GenesisError::Registry)?);
        }
    }
    Ok(finish(hash))
}

fn put_policy(hash: &mut TupleHash256, policy: &SourceConfig) {
    hash.element(&policy.network_id.to_be_bytes());
    hash.element(&policy.chain_id);
    hash.element(policy.tier.name().as_bytes());
    for (numerator, denominator) in [policy.beam_quorum, policy.certset_quorum] {
        hash.element(&numerator.to_be_bytes());
        hash.element(&denominator.to_be_bytes());
    }
    match policy.pq_since {
        Some(height) => hash.element(&height.to_be_bytes()),
        None => hash.element(&[]),
    }
    hash.element(&policy.max_age_s.to_be_bytes());
    hash.element(&policy.grace_heights.to_be_bytes());
    hash.element(&policy.validators_min.to_be_bytes());
    hash.element(&policy.threshold_min.to_be_bytes());
    hash.element(&policy.registry_head);
}

fn len<T>(list: &[T]) -> [u8; 8] {
    u64::try_from(list.len()).unwrap_or(u64::MAX).to_be_bytes()
}

fn finish(hash: TupleHash256) -> [u8; 32] {
    let mut out = [0; 32];
    // Only whole elements were given, so this cannot fail.
    let _ = hash.finalize_into(&mut out);
    out
}

/// Bytes of an ML-KEM-768 encapsulation key.
pub const MLKEM768_KEY_LEN: usize = 1_184;
/// Longest genesis file, bytes.
pub const GENESIS_LEN_MAX: usize = 32 << 20;
/// Most validators.
pub const VALIDATORS_MAX: usize = 128;
/// Most counterparts.
pub const SOURCES_MAX: usize = 64;
/// Longest name, bytes.
pub const NAME_LEN_MAX: usize = 64;
/// Smallest limit of a block's bytes: room for an envelope of a committee of 21.
pub const BLOCK_BYTES_MIN: usize = 128 << 10;
/// Version of the format.
const VERSION: u8 = 1;
