//! The circuit, the setup and the prover.

mod ball;
pub mod ceremony;
mod checkpoint;
pub mod circuit;
pub mod error;
pub mod fft;
mod gadgets;
mod keccak;
pub mod key;
mod label;
mod msm;
pub mod powers;
pub mod progress;
pub mod prover;
#[cfg(test)]
mod prover_tests;
pub mod r1cs;
mod relation;
pub mod rows;
pub mod setup;
mod slot;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;
mod transform;
mod values;
pub mod witness;
