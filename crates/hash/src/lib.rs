//! Hash layer of Horizon: FIPS 202 and SP 800-185 functions, keyed BLAKE2Xb, hash suites, domain
//! tags.
//!
//! | Module | Gives |
//! | --- | --- |
//! | [`sponge`] | SHA3-256, SHAKE128, SHAKE256, cSHAKE256, streaming |
//! | [`kmac`], [`tuplehash`], [`parallelhash`] | the other functions of SP 800-185 |
//! | [`lanes`] | up to eight cSHAKE256 streams in step after one cached prefix |
//! | [`blake2xb`] | the byte stream behind all lattice sampling |
//! | [`suite`] | the hash suites an era can pin, as one enum |
//! | [`domain`] | every domain tag of the product in one table |
//! | [`backend`] | which instruction set runs; the raw operations for tests and benchmarks |
//!
//! ```
//! use horizon_hash::domain::committee;
//! use horizon_hash::suite::{HuHasher, Suite};
//! use horizon_hash::tuplehash::tuple_hash256;
//!
//! let mut era = [0u8; 32];
//! tuple_hash256(committee::ERA, &[b"chain", b"group"], &mut era);
//!
//! // The work on a common prefix is done once.
//! let mut prefix = HuHasher::new(Suite::PulsarSha3);
//! prefix.update(&era);
//! let mut hash = prefix.clone();
//! hash.update(b"message");
//! let mut seed = [0u8; 32];
//! hash.finalize_into(&mut seed);
//! ```
//!
//! # Security
//! No function here branches or indexes on the bytes it hashes; lengths, lane counts and the choice
//! of backend are public. Every state that may hold a secret is wiped when dropped.
#![no_std]

extern crate alloc;

pub mod backend;
pub mod blake2xb;
pub mod domain;
mod encode;
mod error;
pub mod kmac;
pub mod lanes;
pub mod parallelhash;
pub mod sponge;
pub mod suite;
pub mod tuplehash;

pub use error::Error;
