//! The deterministic application of a Horizon network.
//!
//! Blocks go in, state and effects come out; two validators with the same blocks have the same
//! state. No clock, no randomness, no I/O except in [`store`].
//!
//! | module | content |
//! |---|---|
//! | [`genesis`] | what a network is: validators, record, committee, limits, sources |
//! | [`tx`], [`block`] | transactions and blocks, their layouts and digests |
//! | [`state`] | the state, its root |
//! | [`App`] | checks, builds and executes |
//! | [`effects`] | what a block did |
//! | [`mempool`] | transactions that wait |
//! | [`store`] | final blocks, state and history on disk |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

extern crate alloc;

pub mod app;
pub mod block;
mod codec;
pub mod effects;
pub mod error;
pub mod genesis;
pub mod mempool;
pub mod state;
pub mod store;
pub mod tx;

pub use app::{App, Checked};
pub use block::Block;
pub use effects::{Acknowledged, Closed, Delivery, Effects, Executed, Failure, Outgoing, Status};
pub use error::{Error, GenesisError, Invalid, Refusal, StoreError};
pub use genesis::Genesis;
pub use mempool::Mempool;
pub use state::State;
pub use store::{Commit, Store};
