//! The trait pair that every scheme implements, and the witness of a verification.

use rand_core::CryptoRng;

use crate::{
    algorithm::{Algorithm, CONTEXT_LEN_MAX},
    error::{Error, Misuse},
};

/// Makes signatures with one secret key.
pub trait Signer {
    /// Scheme and parameters.
    fn algorithm(&self) -> Algorithm;

    /// Encoded public key, [`Algorithm::verifying_key_len`] bytes.
    fn verifying_key_bytes(&self) -> &[u8];

    /// Signs `message` under `context`; returns [`Algorithm::signature_len`] bytes.
    ///
    /// `rng` hedges the signature where the scheme allows it (ML-DSA, SLH-DSA, secp256k1). BLS and
    /// Ed25519 are deterministic and do not read it. The P-256 library hedges with its own
    /// generator.
    ///
    /// # Errors
    /// [`Misuse::ContextTooLong`] above 255 bytes; [`Misuse::ContextUnsupported`] for a non-empty
    /// context where the scheme has none; [`Misuse::SigningFailed`] when the library gives up.
    fn sign(
        &self,
        context: &[u8],
        message: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, Error>;
}

/// Checks signatures against one public key that was decoded and validated beforehand.
pub trait Verifier {
    /// Scheme and parameters.
    fn algorithm(&self) -> Algorithm;

    /// Encoded public key, exactly the bytes the key was decoded from.
    fn key_bytes(&self) -> &[u8];

    /// Verifies `signature` over `message` under `context`. A pure function of its inputs.
    ///
    /// # Errors
    /// [`Error::Malformed`] when the signature does not decode, [`Error::Rejected`] when it does
    /// not verify, [`Error::Misuse`] for a context that the scheme cannot have.
    fn verify(&self, context: &[u8], message: &[u8], signature: &[u8]) -> Result<Verified, Error>;
}

/// Where the knowledge that a signature is good comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The signature was verified during this call.
    Fresh,
    /// An earlier verification of exactly the same input is remembered.
    ///
    /// Never report the duration of such a call as a verification time.
    Cached,
}

/// Witness that one signature verified. Only this crate can make one.
#[must_use = "a verification that nobody looks at protects nobody"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    algorithm: Algorithm,
    origin: Origin,
}

impl Verified {
    pub(crate) const fn fresh(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            origin: Origin::Fresh,
        }
    }

    pub(crate) const fn cached(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            origin: Origin::Cached,
        }
    }

    /// Scheme under which it verified.
    #[must_use]
    pub const fn algorithm(self) -> Algorithm {
        self.algorithm
    }

    /// Whether it was computed now or remembered.
    #[must_use]
    pub const fn origin(self) -> Origin {
        self.origin
    }
}

/// Witness that every signature of a set verified over the same message and context.
#[must_use = "a verification that nobody looks at protects nobody"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetVerified {
    algorithm: Algorithm,
    signer_count: usize,
    cached_count: usize,
}

impl SetVerified {
    pub(crate) const fn new(
        algorithm: Algorithm,
        signer_count: usize,
        cached_count: usize,
    ) -> Self {
        Self {
            algorithm,
            signer_count,
            cached_count,
        }
    }

    /// Scheme of all signatures of the set.
    #[must_use]
    pub const fn algorithm(self) -> Algorithm {
        self.algorithm
    }

    /// Distinct signers, all of whose signatures are good.
    #[must_use]
    pub const fn signer_count(self) -> usize {
        self.signer_count
    }

    /// How many of them were remembered instead of verified now.
    #[must_use]
    pub const fn cached_count(self) -> usize {
        self.cached_count
    }

    /// [`Origin::Fresh`] only if every signature was verified during this call.
    #[must_use]
    pub const fn origin(self) -> Origin {
        if self.cached_count == 0 {
            Origin::Fresh
        } else {
            Origin::Cached
        }
    }
}

/// Refuses a context longer than the two FIPS standards allow.
pub(crate) const fn check_context_len(context: &[u8]) -> Result<(), Error> {
    if context.len() > CONTEXT_LEN_MAX {
        return Err(Error::Misuse(Misuse::ContextTooLong { len: context.len() }));
    }
    Ok(())
}

/// Refuses any context for a scheme without one: dropping it would lose a domain separation.
pub(crate) const fn check_no_context(algorithm: Algorithm, context: &[u8]) -> Result<(), Error> {
    if context.is_empty() {
        return Ok(());
    }
    Err(Error::Misuse(Misuse::ContextUnsupported { algorithm }))
}
