//! Development support for the workspace's tests: nothing that ships may depend on this crate.
//!
//! | Module | For |
//! |---|---|
//! | [`rng`](mod@rng) | randomness with a seed that is printed when the test fails |
//! | [`secret`] | marking bytes as secret for valgrind, so that a branch on them is reported |
//! | [`instructions`] | counting instructions under valgrind, for the regression guard |
//! | [`stats`] | chi-square, Welch's t, moments |
//! | [`vectors`] | test-vector files: JSON, gzip, hex |
//! | [`mutate`] | the malformed variants that every decoder must refuse |

extern crate alloc;

pub mod instructions;
pub mod mutate;
pub mod rng;
pub mod secret;
pub mod stats;
pub mod vectors;

pub use rng::{SeededRng, rng};
