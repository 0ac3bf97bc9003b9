//! The horizon command line: reading arguments and files, printing results. The work is done by the
//! crates below; only the conformance runner ([`vectors`]) lives here.

#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program with std"
)]

pub mod cmd;
pub mod devnet;
pub mod evidence;
pub mod exit;
pub mod ids;
pub mod inspect;
pub mod key_files;
pub mod lane_files;
pub mod live;
pub mod output;
pub mod scheme_keys;
pub mod sources;
pub mod validator_file;
pub mod vectors;
pub mod verdict;
pub mod wrapper;

pub use horizon_pulsar::hazmat::{deal, local};

/// The README's example must compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct ReadmeExample;
