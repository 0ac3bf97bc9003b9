//! SLH-DSA-SHA2-192f with context strings: hash-based signatures of 35,664 bytes.
//!
//! # Source
//! FIPS 205 (August 2024), pure variant, section 10.2.

use core::fmt;

use rand_core::CryptoRng;
use slh_dsa::{Sha2_192f, Signature};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::{
    algorithm::Algorithm,
    error::{Error, Field, Misuse},
    traits::{Signer, Verified, Verifier, check_context_len},
};

/// Key pair. Not `Clone`; zeroized on drop.
pub struct SigningKey {
    secret: slh_dsa::SigningKey<Sha2_192f>,
    verifying_key: VerifyingKey,
}

impl SigningKey {
    /// Decodes `SK.seed || SK.prf || PK.seed || PK.root`, 24 bytes each.
    ///
    /// # Errors
    /// [`Malformed::Length`](crate::error::Malformed::Length);
    /// [`Malformed::Encoding`](crate::error::Malformed::Encoding) when the root does not belong
    /// to the seeds. Checking that costs one key generation, about 0.6 ms.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let field = Field::SecretKey;
        if bytes.len() != SECRET_KEY_LEN {
            return Err(Error::length(ALGORITHM, field, bytes.len(), SECRET_KEY_LEN));
        }
        let (seeds, root) = bytes.split_at(3 * N);
        let key = Self::from_seeds(seeds)?;
        if key.verifying_key.bytes.get(N..) != Some(root) {
            return Err(Error::encoding(ALGORITHM, field));
        }
        Ok(key)
    }

    /// Derives the key pair from `SK.seed || SK.prf || PK.seed`, 24 bytes each.
    ///
    /// # Errors
    /// [`Malformed::Length`](crate::error::Malformed::Length).
    pub fn from_seeds(seeds: &[u8]) -> Result<Self, Error> {
        let (Some(sk_seed), Some(sk_prf), Some(pk_seed), true) = (
            seeds.get(..N),
            seeds.get(N..2 * N),
            seeds.get(2 * N..),
            seeds.len() == 3 * N,
        ) else {
            return Err(Error::length(
                ALGORITHM,
                Field::SecretKey,
                seeds.len(),
                3 * N,
            ));
        };
        let secret =
            slh_dsa::SigningKey::<Sha2_192f>::slh_keygen_internal(sk_seed, sk_prf, pk_seed);
        let verifying_key = VerifyingKey::from_bytes(&AsRef::as_ref(&secret).to_bytes())?;
        Ok(Self {
            secret,
            verifying_key,
        })
    }

    /// Makes a fresh key pair.
    ///
    /// # Errors
    /// As [`Self::from_seeds`]; with the right length it has none.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Result<Self, Error> {
        let mut seeds = Zeroizing::new([0; 3 * N]);
        rng.fill_bytes(seeds.as_mut_slice());
        Self::from_seeds(seeds.as_slice())
    }

    /// The encoded secret key, for storage in a key file.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(self.secret.to_vec())
    }

    /// The public half.
    #[must_use]
    pub const fn verifying_key(&self) -> &VerifyingKey {
        &self.verifying_key
    }

    /// Signs with fresh randomness (the hedged variant).
    ///
    /// # Errors
    /// [`Misuse::ContextTooLong`] above 255 bytes.
    pub fn sign_hedged<R: CryptoRng + ?Sized>(
        &self,
        context: &[u8],
        message: &[u8],
        rng: &mut R,
    ) -> Result<Vec<u8>, Error> {
        let mut randomness = [0; N];
        rng.fill_bytes(&mut randomness);
        let signature = self.sign_with(context, message, Some(&randomness));
        randomness.zeroize();
        signature
    }

    /// Signs without randomness: the same input gives the same bytes.
    ///
    /// # Errors
    /// As [`Self::sign_hedged`].
    pub fn sign_deterministic(&self, context: &[u8], message: &[u8]) -> Result<Vec<u8>, Error> {
        self.sign_with(context, message, None)
    }

    fn sign_with(
        &self,
        context: &[u8],
        message: &[u8],
        randomness: Option<&[u8]>,
    ) -> Result<Vec<u8>, Error> {
        check_context_len(context)?;
        self.secret
            .try_sign_with_context(message, context, randomness)
            .map(|signature| signature.to_vec())
            .map_err(|_| {
                Misuse::SigningFailed {
                    algorithm: ALGORITHM,
                }
                .into()
            })
    }
}

impl ZeroizeOnDrop for SigningKey {}

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
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, Error> {
        self.sign_hedged(context, message, rng)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("slhdsa::SigningKey").finish_non_exhaustive()
    }
}

/// A public key: `PK.seed || PK.root`. Every string of 48 bytes is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingKey {
    key: slh_dsa::VerifyingKey<Sha2_192f>,
    bytes: [u8; VERIFYING_KEY_LEN],
}

impl VerifyingKey {
    /// Decodes a public key.
    ///
    /// # Errors
    /// [`Malformed::Length`](crate::error::Malformed::Length).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let length = Error::length(
            ALGORITHM,
            Field::VerifyingKey,
            bytes.len(),
            VERIFYING_KEY_LEN,
        );
        let key = slh_dsa::VerifyingKey::try_from(bytes).map_err(|_| length.clone())?;
        Ok(Self {
            key,
            bytes: bytes.try_into().map_err(|_| length)?,
        })
    }
}

impl Verifier for VerifyingKey {
    fn algorithm(&self) -> Algorithm {
        ALGORITHM
    }

    fn key_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn verify(&self, context: &[u8], message: &[u8], signature: &[u8]) -> Result<Verified, Error> {
        check_context_len(context)?;
        let decoded = Signature::<Sha2_192f>::try_from(signature).map_err(|_| {
            Error::length(ALGORITHM, Field::Signature, signature.len(), SIGNATURE_LEN)
        })?;
        self.key
            .try_verify_with_context(message, context, &decoded)
            .map_err(|_| Error::equation(ALGORITHM))?;
        Ok(Verified::fresh(ALGORITHM))
    }
}

/// Length of an encoded secret key, bytes.
pub const SECRET_KEY_LEN: usize = 4 * N;

/// Length of an encoded public key, bytes.
pub const VERIFYING_KEY_LEN: usize = 2 * N;

/// Length of a signature, bytes.
pub const SIGNATURE_LEN: usize = ALGORITHM.signature_len();

/// Security parameter `n`, bytes.
const N: usize = 24;

const ALGORITHM: Algorithm = Algorithm::SlhDsaSha2_192f;
