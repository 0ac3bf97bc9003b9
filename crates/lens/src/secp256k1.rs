//! `FROST(secp256k1, SHA-256)`: Schnorr signatures over secp256k1 with RFC 9591's own challenge.
//!
//! A signature is `R || z`, 33 + 32 bytes: a SEC1 compressed point and a big-endian scalar. **It is
//! not a BIP-340 signature** and no Bitcoin or Ethereum tool verifies it; the verifier is
//! [`crate::verify`], or twenty lines over any secp256k1 library (see the tests).
//!
//! # Why not `frost-secp256k1-tr`
//! The Taproot variant (BIP-340 outputs, x-only keys, key tweaking) is not one of RFC 9591's
//! suites, has no vectors there, and negates nonces and shares by the parity of points; Lens
//! promises RFC 9591. Should a Bitcoin verifier be wanted, it becomes a fourth suite with a number
//! of its own, never another reading of this one.
//!
//! # Source
//! RFC 9591 section 6.5.

use crate::codec::frost_key;
use crate::suite::{Suite, SuiteId, sealed::Sealed};
use crate::{Signature, VerifyingKey};

/// The suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Secp256k1;

impl Sealed for Secp256k1 {}

impl Suite for Secp256k1 {
    const ID: SuiteId = SuiteId::Secp256k1;
    const POINT_LEN: usize = 33;
    type Frost = frost_secp256k1::Secp256K1Sha256;

    fn verify(key: &VerifyingKey<Self>, message: &[u8], signature: &Signature<Self>) -> bool {
        frost_key(key).verify(message, signature.inner()).is_ok()
    }
}
