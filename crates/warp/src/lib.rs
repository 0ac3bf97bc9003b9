#![cfg_attr(feature = "json", doc = include_str!("../README.md"))]
#![cfg_attr(
    not(feature = "json"),
    doc = "Warp messages and envelopes, key registry, policy, and Prism: bytes in, typed verdict out."
)]
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod attestation;
pub mod certificate;
pub mod classify;
pub mod envelope;
pub mod error;
#[cfg(feature = "json")]
mod hex;
pub mod layout;
pub mod limits;
pub mod message;
pub mod nebula;
pub mod payload;
pub mod policy;
#[cfg(feature = "std")]
pub mod prism;
pub mod pulse;
pub mod quorum;
mod reader;
pub mod registry;
pub mod request;
pub mod rlp;
pub mod signers;
pub mod suite;
pub mod transcript;
pub mod validators;

pub use attestation::{Attestation, CertSet};
pub use classify::{LaneSet, Shape, State};
pub use envelope::{Envelope, Lineage};
pub use error::{Class, Error, Lane, Reason};
pub use message::{Beam, Message, UnsignedMessage};
pub use policy::{Policy, SourceConfig, Tier};
#[cfg(feature = "std")]
pub use prism::{Context, HorizonVerified, Refusal, verify, verify_bytes};
pub use quorum::Quorum;
#[cfg(feature = "std")]
pub use registry::Registry;
pub use registry::{Record, RecordKey};
pub use signers::{SignerSet, Signers};
pub use suite::SuiteId;
pub use transcript::Transcript;
pub use validators::{Validator, ValidatorSet};
