//! ECDSA on secp256k1 with SHA-256 and the low-s rule.
//!
//! Signatures are the 64 bytes `r || s` with `s` in the lower half, the only form accepted, so a
//! third party cannot turn one valid signature into another.
//!
//! # Source
//! SEC 1, section 4.1; nonces by RFC 6979 with additional randomness (its section 3.6).

use core::fmt;

use aws_lc_rs::digest;
use rand_core::CryptoRng;
use secp256k1::{Message, PublicKey, SecretKey, ecdsa};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::{
    algorithm::Algorithm,
    error::{Error, Field, Misuse},
    sec1::{COMPRESSED_LEN, UNCOMPRESSED_LEN, compress},
    traits::{Signer, Verified, Verifier, check_no_context},
};

/// A secret scalar with its public key. Not `Clone`; the scalar is zeroized on drop.
pub struct SigningKey {
    secret: Zeroizing<[u8; SECRET_KEY_LEN]>,
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
        let Ok(bytes) = <&[u8; SECRET_KEY_LEN]>::try_from(bytes) else {
            return Err(Error::length(ALGORITHM, field, bytes.len(), SECRET_KEY_LEN));
        };
        let point = with_secret(bytes, PublicKey::from_secret_key)
            .ok_or(Error::encoding(ALGORITHM, field))?;
        let verifying_key = VerifyingKey {
            point,
            bytes: point.serialize(),
        };
        Ok(Self {
            secret: Zeroizing::new(*bytes),
            verifying_key,
        })
    }

    /// Makes a fresh key by rejection of scalars out of range.
    ///
    /// # Errors
    /// [`Misuse::SigningFailed`] when the generator gives none in range in a row of draws, which
    /// a working one never does.
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
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<[u8; SECRET_KEY_LEN]> {
        self.secret.clone()
    }

    /// The public half.
    #[must_use]
    pub const fn verifying_key(&self) -> &VerifyingKey {
        &self.verifying_key
    }

    /// Signs a message; returns `r || s` with low `s`.
    ///
    /// # Errors
    /// [`Misuse::SigningFailed`] when the library refuses the key; it was accepted before.
    pub fn sign_message<R: CryptoRng + ?Sized>(
        &self,
        message: &[u8],
        rng: &mut R,
    ) -> Result<[u8; SIGNATURE_LEN], Error> {
        let mut extra = [0; 32];
        rng.fill_bytes(&mut extra);
        let digest = sha256(message);
        let signature = with_secret(&self.secret, |secret| {
            ecdsa::sign_with_noncedata(digest, secret, &extra).serialize_compact()
        });
        extra.zeroize();
        signature.ok_or(Error::Misuse(Misuse::SigningFailed {
            algorithm: ALGORITHM,
        }))
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
        check_no_context(ALGORITHM, context)?;
        Ok(self.sign_message(message, rng)?.to_vec())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("secp256k1::SigningKey")
            .finish_non_exhaustive()
    }
}

/// A public key: a point of the curve, not infinity. The curve has no cofactor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyingKey {
    point: PublicKey,
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
        if !matches!(bytes.len(), COMPRESSED_LEN | UNCOMPRESSED_LEN) {
            return Err(Error::length(ALGORITHM, field, bytes.len(), COMPRESSED_LEN));
        }
        let compressed = compress(bytes).ok_or(Error::encoding(ALGORITHM, field))?;
        let point = PublicKey::from_slice(bytes).map_err(|_| Error::encoding(ALGORITHM, field))?;
        Ok(Self {
            point,
            bytes: compressed,
        })
    }

    /// Verifies a signature in DER form, low `s` only.
    ///
    /// # Errors
    /// [`Malformed::Encoding`](crate::error::Malformed::Encoding) for bytes that are not strict
    /// DER or values out of range, [`Rejected::Equation`](crate::error::Rejected::Equation).
    pub fn verify_der(&self, message: &[u8], signature: &[u8]) -> Result<Verified, Error> {
        let signature = ecdsa::Signature::from_der(signature)
            .map_err(|_| Error::encoding(ALGORITHM, Field::Signature))?;
        self.verify_digest(message, &signature)
    }

    fn verify_digest(
        &self,
        message: &[u8],
        signature: &ecdsa::Signature,
    ) -> Result<Verified, Error> {
        ecdsa::verify(signature, sha256(message), &self.point)
            .map_err(|_| Error::equation(ALGORITHM))?;
        Ok(Verified::fresh(ALGORITHM))
    }
}

impl Verifier for VerifyingKey {
    fn algorithm(&self) -> Algorithm {
        ALGORITHM
    }

    /// The compressed form, whatever the key was decoded from.
    fn key_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn verify(&self, context: &[u8], message: &[u8], signature: &[u8]) -> Result<Verified, Error> {
        check_no_context(ALGORITHM, context)?;
        let field = Field::Signature;
        if signature.len() != SIGNATURE_LEN {
            return Err(Error::length(
                ALGORITHM,
                field,
                signature.len(),
                SIGNATURE_LEN,
            ));
        }
        let signature = ecdsa::Signature::from_compact(signature)
            .map_err(|_| Error::encoding(ALGORITHM, field))?;
        self.verify_digest(message, &signature)
    }
}

/// Runs `use_secret` with the library's form of the scalar and overwrites it afterwards; `None`
/// for a scalar out of range.
fn with_secret<T>(
    bytes: &[u8; SECRET_KEY_LEN],
    use_secret: impl FnOnce(&SecretKey) -> T,
) -> Option<T> {
    let mut secret = SecretKey::from_secret_bytes(*bytes).ok()?;
    let result = use_secret(&secret);
    secret.non_secure_erase();
    Some(result)
}

fn sha256(message: &[u8]) -> Message {
    let mut bytes = [0; 32];
    // The digest has 32 bytes, so the zip copies all of it.
    let digest = digest::digest(&digest::SHA256, message);
    for (byte, value) in bytes.iter_mut().zip(digest.as_ref()) {
        *byte = *value;
    }
    Message::from_digest(bytes)
}

/// Length of an encoded secret key, bytes.
pub const SECRET_KEY_LEN: usize = 32;

/// Length of a signature `r || s`, bytes.
pub const SIGNATURE_LEN: usize = 64;

/// One draw fails with probability below 2^-127.
const DRAWS_MAX: usize = 8;

const ALGORITHM: Algorithm = Algorithm::EcdsaSecp256k1Sha256;
