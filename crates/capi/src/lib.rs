#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

pub mod boundary;
mod verifier;

pub use verifier::{Answer, POLICY_LEN_MAX, REGISTRY_LEN_MAX, Status, VERDICT_LEN_MAX, Verifier};
