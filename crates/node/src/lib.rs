//! Validator and relayer processes of a Horizon network.
//!
//! | Module | For |
//! |---|---|
//! | [`api`] | the HTTP interface: types, router, codes, limits |
//! | [`attest`] | Beam and certificate signatures over final outgoing messages |
//! | [`client`] | a typed client of the interface |
//! | [`config`] | `node.toml` |
//! | [`gossip`] | what validators say to each other outside consensus |
//! | [`keys`] | the secrets of a validator |
//! | [`metrics`] | the text of `/metrics` |
//! | [`process`] | a validator process: start checks, lock, fence, engine, services, interface |
//! | [`pulse`] | the signing committee: nonces, partials, Pulses |
//! | [`relayer`] | routes between networks |
//! | [`service`] | what services want done, their jobs and faults |
//! | [`signer`] | what this validator has signed, on disk before a signature leaves |
//!
//! The services are state machines without I/O: time, randomness and storage are given to them, and
//! what they want done comes back as [`service::Action`].
#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "the crate needs std"
)]

pub mod api;
pub mod attest;
pub mod client;
pub mod config;
pub mod gossip;
pub mod keys;
pub mod metrics;
pub mod process;
pub mod pulse;
pub mod relayer;
pub mod service;
pub mod signer;
#[cfg(test)]
mod testing;
