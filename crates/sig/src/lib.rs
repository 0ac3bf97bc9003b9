#![doc = include_str!("../README.md")]
//!
//! # Features
//! `rayon` (default) adds many-signer verification on all threads of the current pool. No feature
//! changes what verifies.

extern crate alloc;

pub mod algorithm;
mod backend;
pub mod bls;
pub mod cache;
pub mod ed25519;
pub mod error;
pub mod mldsa;
pub mod p256;
mod sec1;
pub mod secp256k1;
pub mod slhdsa;
pub mod traits;
