//! The three suites and the one trait they share.

use core::fmt;

use frost_core::Ciphersuite;

use crate::{Error, Malformed, Signature, VerifyingKey};

/// Which group and hash a frame is for; one byte on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum SuiteId {
    /// `FROST(Ed25519, SHA-512)`.
    Ed25519 = 1,
    /// `FROST(secp256k1, SHA-256)`.
    Secp256k1 = 2,
    /// `FROST(ristretto255, SHA-512)`.
    Ristretto255 = 3,
}

impl SuiteId {
    /// Every suite.
    pub const ALL: [Self; 3] = [Self::Ed25519, Self::Secp256k1, Self::Ristretto255];

    /// The byte in a frame's header.
    #[must_use]
    pub const fn to_byte(self) -> u8 {
        self as u8
    }

    /// The suite of this header byte.
    ///
    /// # Errors
    /// [`Malformed::Suite`] for a byte that no suite has.
    pub fn from_byte(byte: u8) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|suite| suite.to_byte() == byte);
        known.ok_or(Error::Malformed(Malformed::Suite))
    }

    /// RFC 9591's context string, which every hash of the suite starts with (except Ed25519's
    /// challenge).
    #[must_use]
    pub const fn context_string(self) -> &'static str {
        match self {
            Self::Ed25519 => "FROST-ED25519-SHA512-v1",
            Self::Secp256k1 => "FROST-secp256k1-SHA256-v1",
            Self::Ristretto255 => "FROST-RISTRETTO255-SHA512-v1",
        }
    }
}

impl fmt::Display for SuiteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.context_string())
    }
}

/// One RFC 9591 ciphersuite: [`Ed25519`](crate::ed25519::Ed25519),
/// [`Secp256k1`](crate::secp256k1::Secp256k1) or
/// [`Ristretto255`](crate::ristretto255::Ristretto255).
///
/// Sealed: a suite is a security decision, and the wire has a number for each.
pub trait Suite: sealed::Sealed + Copy + fmt::Debug + Eq + Send + Sync + 'static {
    /// Number of the suite on the wire.
    const ID: SuiteId;
    /// Bytes of an encoded group element.
    const POINT_LEN: usize;
    /// Bytes of a signature: an element and a scalar.
    const SIGNATURE_LEN: usize = Self::POINT_LEN + SCALAR_LEN;

    #[doc(hidden)]
    type Frost: Ciphersuite + Eq;

    #[doc(hidden)]
    fn verify(key: &VerifyingKey<Self>, message: &[u8], signature: &Signature<Self>) -> bool;
}

pub(crate) mod sealed {
    /// Keeps [`Suite`](super::Suite) to this crate.
    #[expect(unnameable_types, reason = "sealing is what it is for")]
    pub trait Sealed {}
}

/// Bytes of an encoded scalar, in every suite.
pub const SCALAR_LEN: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suite_bytes_round_trip_and_others_are_refused() {
        for byte in 0..=u8::MAX {
            match SuiteId::from_byte(byte) {
                Ok(suite) => assert_eq!(suite.to_byte(), byte),
                Err(error) => assert_eq!(error, Malformed::Suite.into()),
            }
        }
        assert_eq!(SuiteId::ALL.map(SuiteId::to_byte), [1, 2, 3]);
    }

    #[test]
    fn context_strings_are_those_of_the_library() {
        assert_eq!(
            SuiteId::Ed25519.context_string(),
            frost_ed25519::Ed25519Sha512::ID
        );
        assert_eq!(
            SuiteId::Secp256k1.context_string(),
            frost_secp256k1::Secp256K1Sha256::ID
        );
        assert_eq!(
            SuiteId::Ristretto255.context_string(),
            frost_ristretto255::Ristretto255Sha512::ID
        );
    }
}
