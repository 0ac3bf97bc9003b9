//! Agreement of a Horizon network: Commonware simplex and marshal with ML-DSA-65 votes.
//!
//! Everything generic of the library is instantiated here, behind [`Handle`]: a caller submits
//! transactions, sends and receives gossip and reads final blocks without naming a type of the
//! library.
//!
//! # Security
//! Votes are signed under a context that holds the chain id and the hash of the genesis file, so a
//! vote for one network is worthless on another. Consensus keys are used for nothing else.
#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "the crate needs std"
)]

pub mod block;
pub mod chain;
pub mod engine;
pub mod error;
pub mod evidence;
pub mod gossip;
pub mod handle;
pub mod limits;
pub mod network;
pub mod roster;
pub mod scheme;
#[cfg(feature = "sim")]
pub mod sim;

mod application;
mod finalise;

/// The runtime traits that code meant for both the process and the simulation is written against.
pub use commonware_runtime as runtime;

pub use error::{Error, Fatal};
pub use handle::{Channel, FinalBlock, Handle, Inbound, Status};
pub use roster::{Roster, Validator};
