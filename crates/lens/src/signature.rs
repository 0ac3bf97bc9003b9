//! Verifying keys, signatures and the one way to verify them.

use alloc::vec::Vec;
use core::fmt;

use crate::codec::{Core, Point, Reader, Writer, point_bytes, point_from_bytes};
use crate::suite::Suite;
use crate::wire::{body, frame};
use crate::{Error, Malformed, Rejected};

/// A group's public key: canonical, of prime order, not the identity.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifyingKey<S: Suite> {
    inner: frost_core::VerifyingKey<Core<S>>,
    bytes: Vec<u8>,
}

impl<S: Suite> VerifyingKey<S> {
    /// Reads a key from exactly [`Suite::POINT_LEN`] bytes, in the suite's own encoding (for
    /// Ed25519 that of RFC 8032).
    ///
    /// # Errors
    /// [`Malformed::Point`]: wrong length, not canonical, not of prime order, or the identity.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let point = point_from_bytes::<S>(bytes).ok_or(Malformed::Point { field: KEY_FIELD })?;
        Self::from_point(&point).ok_or_else(|| Malformed::Point { field: KEY_FIELD }.into())
    }

    /// The key's encoding, [`Suite::POINT_LEN`] bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn from_point(point: &Point<S>) -> Option<Self> {
        let bytes = point_bytes::<S>(point);
        let inner = frost_core::VerifyingKey::deserialize(&bytes).ok()?;
        Some(Self { inner, bytes })
    }

    pub(crate) fn from_inner(inner: &frost_core::VerifyingKey<Core<S>>) -> Option<Self> {
        let bytes = inner.serialize().ok()?;
        let inner = *inner;
        Some(Self { inner, bytes })
    }

    pub(crate) const fn inner(&self) -> &frost_core::VerifyingKey<Core<S>> {
        &self.inner
    }
}

impl<S: Suite> fmt::Debug for VerifyingKey<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// A signature: `R` canonical, of prime order and not the identity; `z` below the group order.
///
/// Whether it is valid for a key and message is for [`verify`] to say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature<S: Suite> {
    inner: frost_core::Signature<Core<S>>,
}

frame!(Signature, Signature, public);

impl<S: Suite> Signature<S> {
    /// Reads a bare signature `R || z` of exactly [`Suite::SIGNATURE_LEN`] bytes, in the suite's
    /// own encoding (for Ed25519 that of RFC 8032).
    ///
    /// # Errors
    /// [`Malformed::Short`], [`Malformed::Trailing`], [`Malformed::Point`], [`Malformed::Scalar`].
    pub fn from_raw(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let signature = <Self as body::Body>::read(&mut reader)?;
        reader.finish()?;
        Ok(signature)
    }

    /// The bare signature `R || z`, [`Suite::SIGNATURE_LEN`] bytes.
    #[must_use]
    pub fn to_raw(&self) -> Vec<u8> {
        // The library refuses to write the identity only, which no constructor lets in.
        self.inner.serialize().unwrap_or_default()
    }

    pub(crate) fn from_inner(inner: frost_core::Signature<Core<S>>) -> Option<Self> {
        let whole = inner.serialize().ok()?.len() == S::SIGNATURE_LEN;
        whole.then_some(Self { inner })
    }

    pub(crate) const fn inner(&self) -> &frost_core::Signature<Core<S>> {
        &self.inner
    }
}

impl<S: Suite> body::Body for Signature<S> {
    const SUITE: crate::SuiteId = S::ID;

    fn body_len(&self) -> usize {
        S::SIGNATURE_LEN
    }

    fn write(&self, writer: &mut Writer) {
        writer.bytes(&self.to_raw());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let bytes = reader.take(S::SIGNATURE_LEN, "signature")?;
        let mut parts = Reader::new(bytes);
        crate::codec::read_point::<S>(&mut parts, "signature R")?;
        crate::codec::read_scalar::<S>(&mut parts, "signature z")?;
        let inner = frost_core::Signature::deserialize(bytes);
        inner
            .map(|inner| Self { inner })
            .map_err(|_| Malformed::Inconsistent { field: "signature" })
    }
}

impl<S: Suite> fmt::Debug for Signature<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// Proof, as a type, that [`verify`] accepted: only that function makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it is the only evidence that the signature was checked"]
pub struct LensVerified<S: Suite> {
    key: VerifyingKey<S>,
}

impl<S: Suite> LensVerified<S> {
    /// The key under which the signature is valid.
    #[must_use]
    pub const fn key(&self) -> &VerifyingKey<S> {
        &self.key
    }
}

/// Checks a signature: `z G = R + c X` with the suite's challenge `c`.
///
/// For Ed25519 this is the strict rule of an ordinary verifier. A Lens signature is classical: an
/// attacker with a quantum computer can forge it.
///
/// # Errors
/// [`Rejected::Signature`].
pub fn verify<S: Suite>(
    key: &VerifyingKey<S>,
    message: &[u8],
    signature: &Signature<S>,
) -> Result<LensVerified<S>, Error> {
    if S::verify(key, message, signature) {
        Ok(LensVerified { key: key.clone() })
    } else {
        Err(Rejected::Signature.into())
    }
}

const KEY_FIELD: &str = "verifying key";
