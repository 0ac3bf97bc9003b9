//! ML-DSA-44, ML-DSA-65 and ML-DSA-87 with context strings.
//!
//! # Source
//! FIPS 204 (August 2024), pure variant: Algorithms 1-3 with the context framing of section 5.2.
//!
//! # Security
//! Secret keys are kept as their 32-byte seed and its expansion, both zeroized. Verification is on
//! public data and takes variable time.

use alloc::sync::Arc;
use core::fmt;

use horizon_hash::sponge::shake256;
use rand_core::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::{
    algorithm::Algorithm,
    backend::{aws_lc, libcrux},
    error::{Error, Field, Misuse, Rejected},
    traits::{Signer, Verified, Verifier, check_context_len},
};

mod rules;
mod set;

pub(crate) use self::set::check_set;
#[cfg(feature = "rayon")]
pub use self::set::par_verify_set;
pub use self::set::{Attestation, SET_LEN_MAX, verify_set};

/// Key pair of one parameter set.
///
/// Not `Clone`: a secret key has one owner, who may share it by reference.
pub struct SigningKey {
    seed: Zeroizing<[u8; SEED_LEN]>,
    expanded: libcrux::SecretKey,
    verifying_key: VerifyingKey,
}

impl SigningKey {
    /// Derives the key pair from its seed of 32 bytes (the `xi` of Algorithm 1).
    ///
    /// # Errors
    /// [`Malformed::Length`](crate::error::Malformed::Length).
    ///
    /// # Security
    /// The seed is the secret key. It has to come from a generator with 256 bits of entropy.
    pub fn from_seed(set: ParameterSet, seed: &[u8]) -> Result<Self, Error> {
        let Ok(seed) = <&[u8; SEED_LEN]>::try_from(seed) else {
            let algorithm = set.algorithm();
            return Err(Error::length(
                algorithm,
                Field::SecretKey,
                seed.len(),
                SEED_LEN,
            ));
        };
        let (expanded, public_key) = libcrux::SecretKey::generate(set, seed);
        let verifying_key = VerifyingKey::from_bytes(set, &public_key)?;
        Ok(Self {
            seed: Zeroizing::new(*seed),
            expanded,
            verifying_key,
        })
    }

    /// Makes a fresh key pair.
    ///
    /// # Errors
    /// As [`Self::from_seed`].
    pub fn generate<R: CryptoRng + ?Sized>(set: ParameterSet, rng: &mut R) -> Result<Self, Error> {
        let mut seed = Zeroizing::new([0; SEED_LEN]);
        rng.fill_bytes(seed.as_mut_slice());
        Self::from_seed(set, seed.as_slice())
    }

    /// The seed, for storage in a key file.
    #[must_use]
    pub fn to_seed(&self) -> Zeroizing<[u8; SEED_LEN]> {
        self.seed.clone()
    }

    /// The public half.
    #[must_use]
    pub const fn verifying_key(&self) -> &VerifyingKey {
        &self.verifying_key
    }

    /// Signs with fresh randomness (the hedged variant, which FIPS 204 prefers).
    ///
    /// # Errors
    /// [`Misuse::ContextTooLong`] above 255 bytes, [`Misuse::SigningFailed`] when the library's
    /// rejection loop does not end within its bound.
    pub fn sign_hedged<R: CryptoRng + ?Sized>(
        &self,
        context: &[u8],
        message: &[u8],
        rng: &mut R,
    ) -> Result<Vec<u8>, Error> {
        let mut randomness = [0; 32];
        rng.fill_bytes(&mut randomness);
        let signature = self.sign_with(context, message, randomness);
        randomness.zeroize();
        signature
    }

    /// Signs without randomness: the same input gives the same bytes.
    ///
    /// For votes that must not differ between two runs of the same validator.
    ///
    /// # Errors
    /// As [`Self::sign_hedged`].
    ///
    /// # Security
    /// More exposed to fault attacks than the hedged variant (FIPS 204, section 3.4).
    pub fn sign_deterministic(&self, context: &[u8], message: &[u8]) -> Result<Vec<u8>, Error> {
        self.sign_with(context, message, [0; 32])
    }

    fn sign_with(
        &self,
        context: &[u8],
        message: &[u8],
        randomness: [u8; 32],
    ) -> Result<Vec<u8>, Error> {
        check_context_len(context)?;
        let algorithm = self.verifying_key.algorithm();
        self.expanded
            .sign(context, message, randomness)
            .ok_or(Error::Misuse(Misuse::SigningFailed { algorithm }))
    }
}

impl ZeroizeOnDrop for SigningKey {}

impl Signer for SigningKey {
    fn algorithm(&self) -> Algorithm {
        self.verifying_key.algorithm()
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
        f.debug_struct("mldsa::SigningKey")
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}

/// A public key, decoded and prepared once; cloning shares the preparation.
///
/// A prepared key is derived from the encoded key alone and is never stored: store
/// [`Verifier::key_bytes`].
#[derive(Clone)]
pub struct VerifyingKey {
    inner: Arc<Prepared>,
}

struct Prepared {
    set: ParameterSet,
    bytes: Box<[u8]>,
    /// `tr` = SHAKE256(public key, 64): the prefix of every `mu`.
    tr: [u8; 64],
    aws_lc: aws_lc::PublicKey,
}

impl VerifyingKey {
    /// Decodes and prepares a public key of exactly [`Algorithm::verifying_key_len`] bytes.
    ///
    /// Every string of that length is a public key: `rho` and the packed `t1` have no invalid
    /// values.
    ///
    /// # Errors
    /// [`Malformed::Length`](crate::error::Malformed::Length);
    /// [`Malformed::Encoding`](crate::error::Malformed::Encoding) when the library has no memory.
    pub fn from_bytes(set: ParameterSet, bytes: &[u8]) -> Result<Self, Error> {
        let algorithm = set.algorithm();
        let expected = algorithm.verifying_key_len();
        if bytes.len() != expected {
            return Err(Error::length(
                algorithm,
                Field::VerifyingKey,
                bytes.len(),
                expected,
            ));
        }
        let aws_lc = aws_lc::PublicKey::new(set, bytes)
            .ok_or(Error::encoding(algorithm, Field::VerifyingKey))?;
        let mut tr = [0; 64];
        shake256(&[bytes], &mut tr);
        let inner = Arc::new(Prepared {
            set,
            bytes: bytes.into(),
            tr,
            aws_lc,
        });
        Ok(Self { inner })
    }

    /// The parameter set of this key.
    #[must_use]
    pub fn parameter_set(&self) -> ParameterSet {
        self.inner.set
    }

    /// Verifies with a named library instead of the default one, for comparisons.
    ///
    /// # Errors
    /// As [`Verifier::verify`].
    pub fn verify_with(
        &self,
        backend: Backend,
        context: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<Verified, Error> {
        check_context_len(context)?;
        let key = &*self.inner;
        let algorithm = key.set.algorithm();
        self.check_signature_len(signature)?;
        let good = match backend {
            Backend::AwsLc => key.aws_lc.verify_mu(&key.mu(context, message), signature),
            Backend::Libcrux => libcrux::verify(key.set, &key.bytes, context, message, signature),
        };
        if good {
            Ok(Verified::fresh(algorithm))
        } else {
            Err(self.diagnose(signature))
        }
    }

    fn check_signature_len(&self, signature: &[u8]) -> Result<(), Error> {
        let algorithm = self.inner.set.algorithm();
        let expected = algorithm.signature_len();
        if signature.len() == expected {
            return Ok(());
        }
        Err(Error::length(
            algorithm,
            Field::Signature,
            signature.len(),
            expected,
        ))
    }

    /// Names the rule that a refused signature breaks. Only reached after a refusal: it never
    /// decides, so a fault in it cannot make a bad signature pass.
    #[cold]
    fn diagnose(&self, signature: &[u8]) -> Error {
        let set = self.inner.set;
        let algorithm = set.algorithm();
        Error::Rejected(match rules::broken_rule(set, signature) {
            Some(rules::Rule::Hint) => Rejected::HintEncoding { algorithm },
            Some(rules::Rule::Response) => Rejected::ResponseRange { algorithm },
            None => Rejected::Equation { algorithm },
        })
    }
}

impl Prepared {
    /// The message representative of Algorithm 7, line 6, with the framing of Algorithm 3.
    ///
    /// `context` is at most 255 bytes here.
    fn mu(&self, context: &[u8], message: &[u8]) -> [u8; 64] {
        let [context_len, ..] = context.len().to_le_bytes();
        let mut mu = [0; 64];
        shake256(&[&self.tr, &[PURE, context_len], context, message], &mut mu);
        mu
    }
}

impl Verifier for VerifyingKey {
    fn algorithm(&self) -> Algorithm {
        self.inner.set.algorithm()
    }

    fn key_bytes(&self) -> &[u8] {
        &self.inner.bytes
    }

    fn verify(&self, context: &[u8], message: &[u8], signature: &[u8]) -> Result<Verified, Error> {
        self.verify_with(Backend::DEFAULT, context, message, signature)
    }
}

impl PartialEq for VerifyingKey {
    fn eq(&self, other: &Self) -> bool {
        self.inner.set == other.inner.set && self.inner.bytes == other.inner.bytes
    }
}

impl Eq for VerifyingKey {}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("mldsa::VerifyingKey")
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}

/// The three parameter sets of FIPS 204.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterSet {
    /// Category 2.
    MlDsa44,
    /// Category 3: the one that validators use.
    MlDsa65,
    /// Category 5.
    MlDsa87,
}

impl ParameterSet {
    /// All three.
    pub const ALL: [Self; 3] = [Self::MlDsa44, Self::MlDsa65, Self::MlDsa87];

    /// The algorithm with this parameter set.
    #[must_use]
    pub const fn algorithm(self) -> Algorithm {
        match self {
            Self::MlDsa44 => Algorithm::MlDsa44,
            Self::MlDsa65 => Algorithm::MlDsa65,
            Self::MlDsa87 => Algorithm::MlDsa87,
        }
    }
}

/// The libraries that can verify ML-DSA. They agree on every input; tests hold them to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// AWS-LC: the faster one in a build without machine-specific compiler flags.
    AwsLc,
    /// libcrux: the oracle, and the signer.
    Libcrux,
}

impl Backend {
    /// All of them, for tests and benches.
    pub const ALL: [Self; 2] = [Self::AwsLc, Self::Libcrux];

    /// The one behind [`Verifier::verify`] and [`verify_set`].
    pub const DEFAULT: Self = Self::AwsLc;
}

/// Entry points below the context framing, for conformance tests only.
pub mod hazmat {
    use horizon_hash::sponge::shake256;

    use super::{Error, SigningKey, Verified, Verifier, VerifyingKey};

    /// Verifies an already framed message: `ML-DSA.Verify_internal`, Algorithm 8.
    ///
    /// # Errors
    /// As [`Verifier::verify`].
    ///
    /// # Security
    /// Whoever chooses `framed_message` chooses the context as well. Never for application data.
    pub fn verify_internal(
        key: &VerifyingKey,
        framed_message: &[u8],
        signature: &[u8],
    ) -> Result<Verified, Error> {
        let mut mu = [0; 64];
        shake256(&[&key.inner.tr, framed_message], &mut mu);
        verify_mu(key, &mu, signature)
    }

    /// Verifies for a message representative that somebody else computed.
    ///
    /// # Errors
    /// As [`Verifier::verify`].
    ///
    /// # Security
    /// Nothing says what `mu` stands for: neither the key nor the context nor the message.
    pub fn verify_mu(
        key: &VerifyingKey,
        mu: &[u8; 64],
        signature: &[u8],
    ) -> Result<Verified, Error> {
        key.check_signature_len(signature)?;
        if key.inner.aws_lc.verify_mu(mu, signature) {
            return Ok(Verified::fresh(key.algorithm()));
        }
        Err(key.diagnose(signature))
    }

    /// Signs with given randomness (`rnd` of Algorithm 2).
    ///
    /// # Errors
    /// As [`SigningKey::sign_hedged`].
    ///
    /// # Security
    /// Known or repeated randomness loses the protection against faults, not the key.
    pub fn sign_with_randomness(
        key: &SigningKey,
        context: &[u8],
        message: &[u8],
        randomness: [u8; 32],
    ) -> Result<Vec<u8>, Error> {
        key.sign_with(context, message, randomness)
    }
}

/// Length of a secret key in its only stored form, bytes.
pub const SEED_LEN: usize = 32;

/// Domain separator of the pure variant (Algorithm 3, line 5).
const PURE: u8 = 0;
