//! `FROST(ristretto255, SHA-512)`: Schnorr signatures over Ristretto255, 32 + 32 bytes,
//! little-endian scalar.
//!
//! # Source
//! RFC 9591 section 6.2; RFC 9496 for the encoding.

use crate::codec::frost_key;
use crate::suite::{Suite, SuiteId, sealed::Sealed};
use crate::{Signature, VerifyingKey};

/// The suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ristretto255;

impl Sealed for Ristretto255 {}

impl Suite for Ristretto255 {
    const ID: SuiteId = SuiteId::Ristretto255;
    const POINT_LEN: usize = 32;
    type Frost = frost_ristretto255::Ristretto255Sha512;

    fn verify(key: &VerifyingKey<Self>, message: &[u8], signature: &Signature<Self>) -> bool {
        frost_key(key).verify(message, signature.inner()).is_ok()
    }
}
