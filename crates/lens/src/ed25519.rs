//! `FROST(Ed25519, SHA-512)`: the signatures are ordinary Ed25519 signatures (RFC 8032).
//!
//! Verification is `ed25519-dalek`'s `verify_strict`. For a [`VerifyingKey`], which is decoded
//! strictly (canonical, prime order, not the identity), it accepts exactly what RFC 9591's own
//! equation accepts, and takes a quarter of the time.
//!
//! # Source
//! RFC 9591 section 6.1; RFC 8032 section 5.1.

use crate::suite::{Suite, SuiteId, sealed::Sealed};
use crate::{Signature, VerifyingKey};

/// The suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ed25519;

impl Sealed for Ed25519 {}

impl Suite for Ed25519 {
    const ID: SuiteId = SuiteId::Ed25519;
    const POINT_LEN: usize = 32;
    type Frost = frost_ed25519::Ed25519Sha512;

    fn verify(key: &VerifyingKey<Self>, message: &[u8], signature: &Signature<Self>) -> bool {
        let (Ok(key), Ok(signature)) = (
            <[u8; 32]>::try_from(key.as_bytes()),
            <[u8; 64]>::try_from(signature.to_raw()),
        ) else {
            return false;
        };
        ed25519_dalek::VerifyingKey::from_bytes(&key).is_ok_and(|key| {
            key.verify_strict(message, &ed25519_dalek::Signature::from_bytes(&signature))
                .is_ok()
        })
    }
}
