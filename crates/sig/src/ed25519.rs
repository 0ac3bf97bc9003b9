//! Ed25519 with one strict verification rule.
//!
//! Implementations of RFC 8032 disagree on crafted signatures. Ours is the strictest common rule:
//! `s` below the group order, the encodings of key and `R` canonical, neither of small order, and
//! the equation without the cofactor. Single and repeated verification therefore never differ.
//! There is no batch verification: the library's is cofactorless and skips the strict checks.
//!
//! # Source
//! RFC 8032, section 5.1; `verify_strict` of ed25519-dalek.

use core::fmt;

use ed25519_dalek as dalek;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::{
    algorithm::Algorithm,
    error::{Error, Field, Malformed},
    traits::{Signer, Verified, Verifier, check_no_context},
};

/// A secret key with its public key. Not `Clone`; zeroized on drop.
pub struct SigningKey {
    secret: dalek::SigningKey,
    verifying_key: VerifyingKey,
}

impl SigningKey {
    /// Derives the key pair from its 32-byte seed, which is the secret key of RFC 8032.
    ///
    /// # Errors
    /// [`Malformed::Length`].
    pub fn from_seed(seed: &[u8]) -> Result<Self, Error> {
        let Ok(array) = <&[u8; SEED_LEN]>::try_from(seed) else {
            return Err(Error::length(
                ALGORITHM,
                Field::SecretKey,
                seed.len(),
                SEED_LEN,
            ));
        };
        let secret = dalek::SigningKey::from_bytes(array);
        let key = secret.verifying_key();
        Ok(Self {
            secret,
            verifying_key: VerifyingKey { key },
        })
    }

    /// Makes a fresh key pair.
    ///
    /// # Errors
    /// As [`Self::from_seed`]; with the right length it has none.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Result<Self, Error> {
        let mut seed = Zeroizing::new([0; SEED_LEN]);
        rng.fill_bytes(seed.as_mut_slice());
        Self::from_seed(seed.as_slice())
    }

    /// The seed, for storage in a key file.
    #[must_use]
    pub fn to_seed(&self) -> Zeroizing<[u8; SEED_LEN]> {
        Zeroizing::new(self.secret.to_bytes())
    }

    /// The public half.
    #[must_use]
    pub const fn verifying_key(&self) -> &VerifyingKey {
        &self.verifying_key
    }

    /// Signs a message. Deterministic.
    #[must_use]
    pub fn sign_message(&self, message: &[u8]) -> [u8; SIGNATURE_LEN] {
        use dalek::Signer as _;
        self.secret.sign(message).to_bytes()
    }
}

impl Signer for SigningKey {
    fn algorithm(&self) -> Algorithm {
        ALGORITHM
    }

    fn verifying_key_bytes(&self) -> &[u8] {
        self.verifying_key.key_bytes()
    }

    fn sign(
        &self,
        context: &[u8],
        message: &[u8],
        _rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, Error> {
        check_no_context(ALGORITHM, context)?;
        Ok(self.sign_message(message).to_vec())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ed25519::SigningKey")
            .finish_non_exhaustive()
    }
}

/// A decoded public key: canonical and not of small order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyingKey {
    key: dalek::VerifyingKey,
}

impl VerifyingKey {
    /// Decodes a public key.
    ///
    /// # Errors
    /// [`Malformed::Length`]; [`Malformed::Encoding`] when not a point or not its canonical
    /// encoding; [`Malformed::Subgroup`] for the points of order 1, 2, 4 and 8.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let field = Field::VerifyingKey;
        let Ok(bytes) = <&[u8; VERIFYING_KEY_LEN]>::try_from(bytes) else {
            return Err(Error::length(
                ALGORITHM,
                field,
                bytes.len(),
                VERIFYING_KEY_LEN,
            ));
        };
        let key = dalek::VerifyingKey::from_bytes(bytes)
            .map_err(|_| Error::encoding(ALGORITHM, field))?;
        // The library decodes coordinates modulo p; encoding again shows which were not reduced.
        if key.to_edwards().compress().as_bytes() != bytes {
            return Err(Error::encoding(ALGORITHM, field));
        }
        if key.is_weak() {
            return Err(Malformed::Subgroup {
                algorithm: ALGORITHM,
                field,
            }
            .into());
        }
        Ok(Self { key })
    }
}

impl Verifier for VerifyingKey {
    fn algorithm(&self) -> Algorithm {
        ALGORITHM
    }

    fn key_bytes(&self) -> &[u8] {
        self.key.as_bytes()
    }

    fn verify(&self, context: &[u8], message: &[u8], signature: &[u8]) -> Result<Verified, Error> {
        check_no_context(ALGORITHM, context)?;
        let Ok(bytes) = <&[u8; SIGNATURE_LEN]>::try_from(signature) else {
            return Err(Error::length(
                ALGORITHM,
                Field::Signature,
                signature.len(),
                SIGNATURE_LEN,
            ));
        };
        self.key
            .verify_strict(message, &dalek::Signature::from_bytes(bytes))
            .map_err(|_| Error::equation(ALGORITHM))?;
        Ok(Verified::fresh(ALGORITHM))
    }
}

/// Length of a secret key, bytes.
pub const SEED_LEN: usize = 32;

/// Length of an encoded public key, bytes.
pub const VERIFYING_KEY_LEN: usize = 32;

/// Length of a signature, bytes.
pub const SIGNATURE_LEN: usize = 64;

const ALGORITHM: Algorithm = Algorithm::Ed25519;
