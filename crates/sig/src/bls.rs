//! BLS signatures over BLS12-381: keys in G1 (48 bytes), signatures in G2 (96 bytes).
//!
//! Bytes become typed values once: a [`VerifyingKey`] and a [`Signature`] are on the curve, in the
//! prime-order subgroup and not infinity, so verification repeats none of these checks. Keys that
//! may enter a sum carry their proof of possession in their type ([`ProvenKey`]).
//!
//! # Source
//! draft-irtf-cfrg-bls-signature-05: basic scheme (section 3.1) with its message tag, proofs of
//! possession (section 3.3) under their own tag. Encodings: the compressed form of its appendix A.
//!
//! # Security
//! Classical only: a quantum computer breaks it. Signing is constant time in the secret key.

use core::fmt;

use blst::{BLST_ERROR, min_pk};
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use crate::{
    algorithm::Algorithm,
    error::{Error, Field, Malformed, Misuse},
    traits::{Signer, Verified, Verifier, check_no_context},
};

mod aggregate;
mod batch;
mod pairing;

use self::pairing::Equation;
pub use self::{
    aggregate::{AggregateKey, AggregateVerified, aggregate, combine, verify_distinct},
    batch::{BatchItem, BatchVerified, batch_verify},
};

/// A secret scalar with its public key. Not `Clone`; the scalar is zeroized on drop.
pub struct SigningKey {
    secret: min_pk::SecretKey,
    verifying_key: VerifyingKey,
}

impl SigningKey {
    /// Decodes a big-endian scalar of 32 bytes in `1..r`.
    ///
    /// # Errors
    /// [`Malformed::Length`]; [`Malformed::Encoding`] for 0 and for values not below the order.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != SECRET_KEY_LEN {
            return Err(Error::length(
                ALGORITHM,
                Field::SecretKey,
                bytes.len(),
                SECRET_KEY_LEN,
            ));
        }
        let secret = min_pk::SecretKey::from_bytes(bytes)
            .map_err(|_| Error::encoding(ALGORITHM, Field::SecretKey))?;
        Ok(Self::from_secret(secret))
    }

    /// Makes a fresh key from 32 random bytes by the `KeyGen` function of the draft.
    ///
    /// # Errors
    /// [`Misuse::SigningFailed`] when the library refuses the key material; it never does.
    pub fn generate<R: CryptoRng + ?Sized>(rng: &mut R) -> Result<Self, Error> {
        let mut material = Zeroizing::new([0; SECRET_KEY_LEN]);
        rng.fill_bytes(material.as_mut_slice());
        let secret = min_pk::SecretKey::key_gen(material.as_slice(), &[]).map_err(|_| {
            Error::Misuse(Misuse::SigningFailed {
                algorithm: ALGORITHM,
            })
        })?;
        Ok(Self::from_secret(secret))
    }

    fn from_secret(secret: min_pk::SecretKey) -> Self {
        // The scalar is not zero modulo the order, so the public key is valid by construction.
        let verifying_key = VerifyingKey::from_valid_point(secret.sk_to_pk());
        Self {
            secret,
            verifying_key,
        }
    }

    /// The scalar, big-endian, for storage in a key file.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<[u8; SECRET_KEY_LEN]> {
        let mut bytes = self.secret.to_bytes();
        let copy = Zeroizing::new(bytes);
        bytes.zeroize();
        copy
    }

    /// The public half.
    #[must_use]
    pub const fn verifying_key(&self) -> &VerifyingKey {
        &self.verifying_key
    }

    /// Signs a message. Deterministic.
    #[must_use]
    pub fn sign_message(&self, message: &[u8]) -> Signature {
        Signature {
            point: self.secret.sign(message, SIGNATURE_DST, &[]),
        }
    }

    /// Proves knowledge of this key: a signature over the encoded public key under its own tag.
    #[must_use]
    pub fn prove_possession(&self) -> PossessionProof {
        let point = self
            .secret
            .sign(&self.verifying_key.bytes, POSSESSION_DST, &[]);
        PossessionProof { point }
    }
}

impl Signer for SigningKey {
    fn algorithm(&self) -> Algorithm {
        ALGORITHM
    }

    fn verifying_key_bytes(&self) -> &[u8] {
        &self.verifying_key.bytes
    }

    fn sign(
        &self,
        context: &[u8],
        message: &[u8],
        _rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, Error> {
        check_no_context(ALGORITHM, context)?;
        Ok(self.sign_message(message).to_bytes().to_vec())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("bls::SigningKey").finish_non_exhaustive()
    }
}

/// A public key: a point of G1, in the subgroup, not infinity.
#[derive(Clone, Copy)]
pub struct VerifyingKey {
    point: min_pk::PublicKey,
    bytes: [u8; VERIFYING_KEY_LEN],
}

impl VerifyingKey {
    /// Decodes the compressed form.
    ///
    /// # Errors
    /// [`Malformed::Length`], [`Malformed::Encoding`] (compression bit clear, coordinate not below
    /// the modulus, not on the curve), [`Malformed::Infinity`], [`Malformed::Subgroup`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let Ok(bytes) = <[u8; VERIFYING_KEY_LEN]>::try_from(bytes) else {
            return Err(Error::length(
                ALGORITHM,
                Field::VerifyingKey,
                bytes.len(),
                VERIFYING_KEY_LEN,
            ));
        };
        let point = min_pk::PublicKey::key_validate(&bytes)
            .map_err(|error| decoding_error(error, Field::VerifyingKey))?;
        Ok(Self { point, bytes })
    }

    fn from_valid_point(point: min_pk::PublicKey) -> Self {
        Self {
            point,
            bytes: point.to_bytes(),
        }
    }

    /// The compressed form.
    #[must_use]
    pub const fn to_bytes(&self) -> [u8; VERIFYING_KEY_LEN] {
        self.bytes
    }

    /// Verifies one decoded signature.
    ///
    /// # Errors
    /// [`Rejected::Equation`](crate::error::Rejected::Equation).
    pub fn verify_message(&self, message: &[u8], signature: &Signature) -> Result<Verified, Error> {
        Equation::new(SIGNATURE_DST)
            .term(&self.point, message)
            .holds_for(&signature.point)?;
        Ok(Verified::fresh(ALGORITHM))
    }

    /// Checks that the owner of this key knows its secret, which admits the key to sums.
    ///
    /// # Errors
    /// [`Rejected::Equation`](crate::error::Rejected::Equation).
    pub fn verify_possession(&self, proof: &PossessionProof) -> Result<ProvenKey, Error> {
        Equation::new(POSSESSION_DST)
            .term(&self.point, &self.bytes)
            .holds_for(&proof.point)?;
        Ok(ProvenKey { key: *self })
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
        check_no_context(ALGORITHM, context)?;
        self.verify_message(message, &Signature::from_bytes(signature)?)
    }
}

impl PartialEq for VerifyingKey {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for VerifyingKey {}

impl PartialOrd for VerifyingKey {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Byte order of the compressed form: the canonical order of validators.
impl Ord for VerifyingKey {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.bytes.cmp(&other.bytes)
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bls::VerifyingKey(0x")?;
        for byte in self.bytes {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

/// A public key whose owner has proven to know the secret key.
///
/// Only such keys can be summed: otherwise an attacker registers the difference of a key of their
/// own and the sum of the others', and signs for all of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProvenKey {
    key: VerifyingKey,
}

impl ProvenKey {
    /// The key itself.
    #[must_use]
    pub const fn verifying_key(&self) -> &VerifyingKey {
        &self.key
    }
}

impl fmt::Debug for ProvenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("bls::ProvenKey").field(&self.key).finish()
    }
}

/// A signature or a sum of signatures: a point of G2, in the subgroup, not infinity.
#[derive(Clone, Copy)]
pub struct Signature {
    point: min_pk::Signature,
}

impl Signature {
    /// Decodes the compressed form and checks the subgroup.
    ///
    /// # Errors
    /// As [`VerifyingKey::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        CurvePoint::from_bytes(bytes)?.into_signature()
    }

    /// The compressed form.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; SIGNATURE_LEN] {
        self.point.to_bytes()
    }
}

impl PartialEq for Signature {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}

impl Eq for Signature {}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bls::Signature(0x")?;
        for byte in self.to_bytes() {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

/// A decoded signature that may still lie outside the subgroup: input of [`combine`], which checks
/// the sum once instead of every summand.
#[derive(Clone, Copy)]
pub struct CurvePoint {
    point: min_pk::Signature,
}

impl CurvePoint {
    /// Decodes the compressed form: on the curve and not infinity.
    ///
    /// # Errors
    /// [`Malformed::Length`], [`Malformed::Encoding`], [`Malformed::Infinity`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != SIGNATURE_LEN {
            return Err(Error::length(
                ALGORITHM,
                Field::Signature,
                bytes.len(),
                SIGNATURE_LEN,
            ));
        }
        if is_infinity(bytes) {
            return Err(infinity(Field::Signature));
        }
        let point = min_pk::Signature::from_bytes(bytes)
            .map_err(|error| decoding_error(error, Field::Signature))?;
        Ok(Self { point })
    }

    /// Checks the subgroup.
    ///
    /// # Errors
    /// [`Malformed::Subgroup`].
    pub fn into_signature(self) -> Result<Signature, Error> {
        match self.point.validate(true) {
            Ok(()) => Ok(Signature { point: self.point }),
            Err(error) => Err(decoding_error(error, Field::Signature)),
        }
    }
}

impl From<Signature> for CurvePoint {
    fn from(signature: Signature) -> Self {
        Self {
            point: signature.point,
        }
    }
}

impl fmt::Debug for CurvePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("bls::CurvePoint").finish_non_exhaustive()
    }
}

/// A proof of possession: a point of G2, in the subgroup, not infinity.
#[derive(Clone, Copy)]
pub struct PossessionProof {
    point: min_pk::Signature,
}

impl PossessionProof {
    /// Decodes the compressed form and checks the subgroup.
    ///
    /// # Errors
    /// As [`VerifyingKey::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let field = Field::PossessionProof;
        if bytes.len() != SIGNATURE_LEN {
            return Err(Error::length(ALGORITHM, field, bytes.len(), SIGNATURE_LEN));
        }
        let point = min_pk::Signature::sig_validate(bytes, true)
            .map_err(|error| decoding_error(error, field))?;
        Ok(Self { point })
    }

    /// The compressed form.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; SIGNATURE_LEN] {
        self.point.to_bytes()
    }
}

impl fmt::Debug for PossessionProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("bls::PossessionProof")
            .finish_non_exhaustive()
    }
}

/// Ways around a check that the caller has done elsewhere.
pub mod hazmat {
    use super::{ProvenKey, VerifyingKey};

    /// Takes a key into sums without a proof.
    ///
    /// # Security
    /// Only for keys whose proof was verified when they were registered, read back from a store
    /// that nobody else can write. A key admitted without any proof breaks every aggregate it is
    /// part of.
    #[must_use]
    pub const fn assume_possession(key: VerifyingKey) -> ProvenKey {
        ProvenKey { key }
    }
}

/// The compressed encoding of infinity: flags 0xc0 and nothing else.
fn is_infinity(bytes: &[u8]) -> bool {
    matches!(bytes, [0xc0, rest @ ..] if rest.iter().all(|&byte| byte == 0))
}

const fn infinity(field: Field) -> Error {
    Error::Malformed(Malformed::Infinity {
        algorithm: ALGORITHM,
        field,
    })
}

const fn decoding_error(error: BLST_ERROR, field: Field) -> Error {
    Error::Malformed(match error {
        BLST_ERROR::BLST_PK_IS_INFINITY => Malformed::Infinity {
            algorithm: ALGORITHM,
            field,
        },
        BLST_ERROR::BLST_POINT_NOT_IN_GROUP => Malformed::Subgroup {
            algorithm: ALGORITHM,
            field,
        },
        _ => Malformed::Encoding {
            algorithm: ALGORITHM,
            field,
        },
    })
}

/// Domain tag of message signatures. It ends in `NUL_`: signatures made under the `POP_` variant
/// of other networks do not verify here.
pub const SIGNATURE_DST: &[u8] = horizon_hash::domain::warp::BEAM;

/// Domain tag of proofs of possession.
pub const POSSESSION_DST: &[u8] = horizon_hash::domain::warp::BEAM_POSSESSION;

/// Length of an encoded secret key, bytes.
pub const SECRET_KEY_LEN: usize = 32;

/// Length of an encoded public key, bytes.
pub const VERIFYING_KEY_LEN: usize = 48;

/// Length of an encoded signature, bytes.
pub const SIGNATURE_LEN: usize = 96;

/// Most keys or signatures in one sum or batch.
pub const AGGREGATE_LEN_MAX: usize = 65_536;

const ALGORITHM: Algorithm = Algorithm::Bls12381G2;
