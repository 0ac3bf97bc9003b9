//! The ledger from outside: two networks in memory with real keys, certificates and Pulses.

#![allow(
    clippy::unwrap_used,
    clippy::type_complexity,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "these are tests"
)]

mod delivery;
mod genesis;
mod mempool;
mod properties;
mod store;
mod support;
mod wire;
