//! The Groth16 wrapper: one 192-byte proof that enough validators signed a message with ML-DSA-65.
//!
//! The proof is classical: pairing, knowledge assumption and setup fall to a large quantum
//! computer, which then forges it without any signature. It never counts as post-quantum evidence.

pub mod artifact;
mod backend;
pub mod batch;
pub mod curve;
pub mod error;
pub mod fr;
pub mod inputs;
pub mod key_image;
pub mod points;
#[cfg(feature = "prove")]
pub mod prove;
pub mod statement;
pub mod verify;
pub mod vk;

pub use self::{
    curve::{G1, G1Affine, G2, G2Affine},
    error::Error,
    fr::Fr,
};
