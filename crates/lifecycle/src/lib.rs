//! Secrets in transit between the members of a committee.
//!
//! | Step | Where |
//! |---|---|
//! | a member makes its sealing key and publishes the public half | [`seal::SealingKey`] |
//! | a secret is sealed to it | [`seal::seal`] |
//! | a dealt share travels as a file | [`share_file::SealedShare`] |
//!
//! Whatever carries the bytes, they stay useless to whoever records them and later has a quantum
//! computer: the key comes from X25519 **and** ML-KEM-768, and both must fall.
//!
//! Nothing here knows a signing kernel: plaintexts are bytes.
//!
//! # Source
//! Committee-mode specification, sections 2.3 and 2.4.

#![forbid(unsafe_code)]

extern crate alloc;

mod error;
pub mod seal;
pub mod share_file;

pub use error::{Error, Malformed, Misuse, Rejected};
