//! Lens: threshold Schnorr signatures by RFC 9591 (FROST) over Ed25519, secp256k1 and Ristretto255.
//!
//! A committee of `n` members holds one key; any `t` of them sign in two rounds and fewer cannot.
//! Lens serves the control plane. It is classical: a quantum computer breaks it, and nothing here
//! calls it otherwise.
//!
//! | Step | Where |
//! |---|---|
//! | make a key | [`dkg`] (nobody knows the secret), [`dealer`] (somebody does) |
//! | sign | [`Signer::commit`], [`SigningPackage::new`], [`Signer::sign`], [`aggregate()`] |
//! | verify | [`verify()`], or for [`ed25519`] any Ed25519 verifier |
//! | change shares | [`refresh`], [`repair`] |
//! | bytes | [`wire`] |
//!
//! The arithmetic and the protocol are those of the Zcash Foundation's `frost-*` crates. This crate
//! adds what they leave to the application: bounded frames, an echo round, all culprits instead of
//! the first, the comparison of results with the group, a signer's own approval, and a ledger that
//! survives restarts.
//!
//! # Not compatible with the reference
//! The reference's Lens has the shape of FROST and other hashes, encodings and checks; its Ed25519
//! signatures fail every Ed25519 verifier. None of its bytes are produced or accepted here. Its key
//! shares are the same Shamir values, so a key can move over.
//!
//! # Security
//! * Nonces are consumed by value and have no encoding; see [`SessionLedger`] for restarts and
//!   snapshots.
//! * Messages authenticate nobody: culprits are named as the messages name themselves, so the link
//!   must.
//! * Secret values are overwritten when dropped. The libraries below copy scalars on the stack, and
//!   those copies are not overwritten.
//! * Scalar arithmetic on secrets is constant time in all three groups (`curve25519-dalek`,
//!   `k256`).
//!
//! # Source
//! RFC 9591; `frost-core` 3.0.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod ceremony;
mod codec;
pub mod dealer;
pub mod dkg;
pub mod ed25519;
mod error;
mod gather;
mod identifier;
mod keys;
mod ledger;
pub mod refresh;
pub mod repair;
pub mod ristretto255;
mod rng;
mod round1;
mod round2;
pub mod secp256k1;
mod signature;
mod signer;
mod suite;
pub mod wire;

pub use ceremony::CeremonyId;
pub use error::{Error, Malformed, Misuse, Peer, PeerFault, Rejected};
pub use identifier::{Committee, Identifier, MEMBER_COUNT_MAX};
pub use keys::{GroupKey, KeyShare, ShareId};
pub use ledger::{
    LEDGER_CAPACITY_MAX, LedgerFault, MemoryLedger, NonceId, Opening, SessionId, SessionLedger,
    Spending,
};
pub use round1::{Commitments, SigningNonces};
pub use round2::{Approval, SignatureShare, SigningPackage};
pub use signature::{LensVerified, Signature, VerifyingKey, verify};
pub use signer::{Signer, aggregate};
pub use suite::{SCALAR_LEN, Suite, SuiteId};
pub use wire::MESSAGE_LEN_MAX;
