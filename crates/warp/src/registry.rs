//! Key registry: which keys, weights and thresholds a source network has, per key era and
//! generation.
//!
//! A [`Record`] describes one generation of one source chain. Records of a chain form a hash chain;
//! a verifier pins the hash of the last one, which authenticates all of them. Lookups are by the
//! exact (network, chain, era, generation): nothing falls back to the nearest or the latest record,
//! and an empty registry refuses everything.
//!
//! # Source
//! Wire specification, key registry rules K1 to K9.

mod chain;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "std")]
mod loaded;
mod record;

pub use chain::{Pin, check_chain, check_successor};
#[cfg(feature = "json")]
pub use json::{records_from_json, records_to_json};
#[cfg(feature = "std")]
pub use loaded::{Entry, Registry};
pub use record::{Member, RECORD_TAG, Record};

/// Names one generation of one source chain. Only exact matches count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey {
    /// The network.
    pub network_id: u32,
    /// The source chain.
    pub chain_id: [u8; 32],
    /// The key era.
    pub key_era: u64,
    /// The generation within the era.
    pub generation: u64,
}
