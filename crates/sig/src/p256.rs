//! ECDSA on P-256 with SHA-256.
//!
//! Signatures are the 64 bytes `r || s`; [`VerifyingKey::verify_der`] takes the DER form of
//! certificates and hardware modules. Both `s` and `n - s` verify, as the standard says: a
//! signature is not a unique identifier of anything.
//!
//! # Source
//! FIPS 186-5, section 6; SEC 1, sections 2.3.3 and 2.3.4 for points.

use alloc::sync::Arc;
use core::fmt;

use aws_lc_rs::{
    encoding::AsBigEndian as _,
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING,
        EcdsaKeyPair, KeyPair as _, ParsedPublicKey,
    },
};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::{
    algorithm::Algorithm,
    error::{Error, Field, Misuse},
    sec1::{COMPRESSED_LEN, UNCOMPRESSED_LEN, compress},
    traits::{Signer, Verified, Verifier, check_no_context},
};

/// A secret scalar with its public key. Not `Clone`; the library cleanses it on drop.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    verifying_key: VerifyingKey,
}

impl SigningKey {
    /// Decodes a big-endian scalar of 32 bytes in `1..n`.
    ///
    /// # Errors
    /// [`Malformed::Length`](crate::error::Malformed::Length);
    /// [`Malformed::Encoding`](crate::error::Malformed::Encoding) for 0 and for values not below
    /// the order.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let field = Field::SecretKey;
        if bytes.len() != SECRET_KEY_LEN {
            return Err(Error::length(ALGORITHM, field, bytes.len(), SECRET_KEY_LEN));
        }
        let der = Zeroizing::new([&DER_HEAD[..], bytes, &DER_TAIL[..]].concat());
        let pair = EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_FIXED_SIGNING, &der)
            .map_err(|_| Error::encoding(ALGORITHM, field))?;
        let verifying_key = VerifyingKey::from_bytes(pair.public_key().as_ref())?;
        Ok(Self {
            pair,
            verifying_key,
        })
    }

    /// Makes a fresh key by rejection of scalars out of range.
    ///
    /// # Errors
    /// [`Misuse::SigningFailed`] when the generator gives none in range in a row of draws, which
    /// a working one does with probability below 2^-250.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Result<Self, Error> {
        for _ in 0..DRAWS_MAX {
            let mut bytes = Zeroizing::new([0; SECRET_KEY_LEN]);
            rng.fill_bytes(bytes.as_mut_slice());
            if let Ok(key) = Self::from_bytes(bytes.as_slice()) {
                return Ok(key);
            }
        }
        Err(Misuse::SigningFailed {
            algorithm: ALGORITHM,
        }
        .into())
    }

    /// The scalar, big-endian, for storage in a key file.
    ///
    /// # Errors
    /// [`Misuse::SigningFailed`] when the library does not give it out; it does.
    pub fn to_bytes(&self) -> Result<Zeroizing<[u8; SECRET_KEY_LEN]>, Error> {
        let failed = Error::Misuse(Misuse::SigningFailed {
            algorithm: ALGORITHM,
        });
        let scalar = self
            .pair
            .private_key()
            .as_be_bytes()
            .map_err(|_| failed.clone())?;
        let mut bytes = Zeroizing::new([0; SECRET_KEY_LEN]);
        if scalar.as_ref().len() != bytes.len() {
            return Err(failed);
        }
        bytes.copy_from_slice(scalar.as_ref());
        Ok(bytes)
    }

    /// The public half.
    #[must_use]
    pub const fn verifying_key(&self) -> &VerifyingKey {
        &self.verifying_key
    }

    /// Signs a message; returns `r || s`.
    ///
    /// # Errors
    /// [`Misuse::SigningFailed`] when the library fails.
    ///
    /// # Security
    /// The nonce comes from the library's own generator, hedged with the key and the digest.
    pub fn sign_message(&self, message: &[u8]) -> Result<[u8; SIGNATURE_LEN], Error> {
        let failed = Error::Misuse(Misuse::SigningFailed {
            algorithm: ALGORITHM,
        });
        let signature = self
            .pair
            .sign(&SystemRandom::new(), message)
            .map_err(|_| failed.clone())?;
        signature.as_ref().try_into().map_err(|_| failed)
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
        Ok(self.sign_message(message)?.to_vec())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("p256::SigningKey").finish_non_exhaustive()
    }
}

/// A public key: a point of the curve, not infinity. The curve has no cofactor.
#[derive(Clone)]
pub struct VerifyingKey {
    inner: Arc<Parsed>,
}

struct Parsed {
    fixed: ParsedPublicKey,
    der: ParsedPublicKey,
    bytes: [u8; COMPRESSED_LEN],
}

impl VerifyingKey {
    /// Decodes a point, compressed (33 bytes) or uncompressed (65 bytes).
    ///
    /// # Errors
    /// [`Malformed::Length`](crate::error::Malformed::Length);
    /// [`Malformed::Encoding`](crate::error::Malformed::Encoding), also for infinity and the
    /// hybrid form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let field = Field::VerifyingKey;
        let encoding = Error::encoding(ALGORITHM, field);
        if !matches!(bytes.len(), COMPRESSED_LEN | UNCOMPRESSED_LEN) {
            return Err(Error::length(ALGORITHM, field, bytes.len(), COMPRESSED_LEN));
        }
        let compressed = compress(bytes).ok_or_else(|| encoding.clone())?;
        let fixed =
            ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, bytes).map_err(|_| encoding.clone())?;
        let der = ParsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, bytes).map_err(|_| encoding)?;
        Ok(Self {
            inner: Arc::new(Parsed {
                fixed,
                der,
                bytes: compressed,
            }),
        })
    }

    /// Verifies a signature in DER form.
    ///
    /// # Errors
    /// [`Rejected::Equation`](crate::error::Rejected::Equation), also for bytes that are not DER.
    pub fn verify_der(&self, message: &[u8], signature: &[u8]) -> Result<Verified, Error> {
        let verdict = self.inner.der.verify_sig(message, signature);
        verdict.map_err(|_| Error::equation(ALGORITHM))?;
        Ok(Verified::fresh(ALGORITHM))
    }
}

impl Verifier for VerifyingKey {
    fn algorithm(&self) -> Algorithm {
        ALGORITHM
    }

    /// The compressed form, whatever the key was decoded from.
    fn key_bytes(&self) -> &[u8] {
        &self.inner.bytes
    }

    fn verify(&self, context: &[u8], message: &[u8], signature: &[u8]) -> Result<Verified, Error> {
        check_no_context(ALGORITHM, context)?;
        if signature.len() != SIGNATURE_LEN {
            let len = signature.len();
            return Err(Error::length(
                ALGORITHM,
                Field::Signature,
                len,
                SIGNATURE_LEN,
            ));
        }
        let verdict = self.inner.fixed.verify_sig(message, signature);
        verdict.map_err(|_| Error::equation(ALGORITHM))?;
        Ok(Verified::fresh(ALGORITHM))
    }
}

impl PartialEq for VerifyingKey {
    fn eq(&self, other: &Self) -> bool {
        self.inner.bytes == other.inner.bytes
    }
}

impl Eq for VerifyingKey {}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("p256::VerifyingKey").finish_non_exhaustive()
    }
}

/// Length of an encoded secret key, bytes.
pub const SECRET_KEY_LEN: usize = 32;

/// Length of a signature `r || s`, bytes.
pub const SIGNATURE_LEN: usize = 64;

/// RFC 5915 `ECPrivateKey` around a 32-byte scalar: version 1 and the octet string header.
const DER_HEAD: [u8; 7] = [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20];

/// ... and the parameters: the object identifier of P-256, 1.2.840.10045.3.1.7.
const DER_TAIL: [u8; 12] = [
    0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07,
];

/// The order is 2^256 - 2^224 + ...: one draw fails with probability 2^-32.
const DRAWS_MAX: usize = 8;

const ALGORITHM: Algorithm = Algorithm::EcdsaP256Sha256;
