//! Bounded reading and writing of fields, and the few group operations that the library keeps to
//! itself.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use alloc::vec::Vec;

use frost_core::keys::{CoefficientCommitment, VerifiableSecretSharingCommitment};
use frost_core::{Ciphersuite, Element, Field, Group, Scalar};
use zeroize::Zeroizing;

use crate::suite::{SCALAR_LEN, Suite};
use crate::{Identifier, Malformed, VerifyingKey};

/// The library's suite of ours.
pub(crate) type Core<S> = <S as Suite>::Frost;
/// The library's identifier.
pub(crate) type FrostId<S> = frost_core::Identifier<Core<S>>;
/// An element of the suite's group.
pub(crate) type Point<S> = Element<Core<S>>;

type FieldOf<S> = <<Core<S> as Ciphersuite>::Group as Group>::Field;
type GroupOf<S> = <Core<S> as Ciphersuite>::Group;

/// Reads fields off the front of a byte string; never past its end, and never allocating on the
/// word of a length field alone.
#[derive(Debug)]
#[expect(unnameable_types, reason = "sealed part of `Frame`")]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn take(&mut self, len: usize, field: &'static str) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or(Malformed::Short { field })?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], Malformed> {
        let (head, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(Malformed::Short { field })?;
        self.rest = rest;
        Ok(*head)
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, Malformed> {
        self.array(field).map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, Malformed> {
        self.array(field).map(u32::from_be_bytes)
    }

    /// A number of entries within `min..=max`.
    pub(crate) fn count(
        &mut self,
        field: &'static str,
        min: usize,
        max: usize,
    ) -> Result<usize, Malformed> {
        let count = usize::from(self.u16(field)?);
        if (min..=max).contains(&count) {
            Ok(count)
        } else {
            Err(Malformed::Count { field, min, max })
        }
    }

    pub(crate) fn identifier(&mut self, field: &'static str) -> Result<Identifier, Malformed> {
        let number = u16::try_from(self.u32(field)?);
        number
            .ok()
            .and_then(|number| Identifier::new(number).ok())
            .ok_or(Malformed::Identifier { field })
    }

    pub(crate) fn finish(self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed::Trailing)
        }
    }
}

/// Appends fields to a buffer that is as large as the result from the start, so that no copy of a
/// secret stays behind in a smaller one.
#[derive(Debug)]
#[expect(unnameable_types, reason = "sealed part of `Frame`")]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn new(len: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(len),
        }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_be_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_be_bytes());
    }

    /// A count; every list of this crate is bounded far below 65,536.
    pub(crate) fn count(&mut self, count: usize) {
        self.u16(u16::try_from(count).unwrap_or(u16::MAX));
    }

    pub(crate) fn identifier(&mut self, identifier: Identifier) {
        self.u32(u32::from(identifier.get()));
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Bytes of an element. The identity has none; no value of this crate holds it, and the zeros
/// written in its place are refused by every decoder.
pub(crate) fn point_bytes<S: Suite>(point: &Point<S>) -> Vec<u8> {
    GroupOf::<S>::serialize(point).map_or_else(
        |_| alloc::vec![0; S::POINT_LEN],
        |bytes| bytes.as_ref().to_vec(),
    )
}

/// Reads an element: canonical, of prime order, not the identity.
pub(crate) fn read_point<S: Suite>(
    reader: &mut Reader<'_>,
    field: &'static str,
) -> Result<Point<S>, Malformed> {
    let bytes = reader.take(S::POINT_LEN, field)?;
    point_from_bytes::<S>(bytes).ok_or(Malformed::Point { field })
}

/// Reads an element as one of the library's types, as strictly as [`read_point`].
pub(crate) fn read_canonical<S: Suite, T>(
    reader: &mut Reader<'_>,
    field: &'static str,
    decode: impl Fn(&[u8]) -> Result<T, frost_core::Error<Core<S>>>,
    encode: impl Fn(&T) -> Result<Vec<u8>, frost_core::Error<Core<S>>>,
) -> Result<T, Malformed> {
    let bytes = reader.take(S::POINT_LEN, field)?;
    let value = decode(bytes).map_err(|_| Malformed::Point { field })?;
    // The library decodes strictly; comparing costs 5 us and makes the promise ours.
    if encode(&value).is_ok_and(|again| again == bytes) {
        Ok(value)
    } else {
        Err(Malformed::Point { field })
    }
}

/// As [`read_point`], from exactly its bytes.
pub(crate) fn point_from_bytes<S: Suite>(bytes: &[u8]) -> Option<Point<S>> {
    let encoded = bytes.try_into().ok()?;
    let point = GroupOf::<S>::deserialize(&encoded).ok()?;
    (point_bytes::<S>(&point) == bytes).then_some(point)
}

/// Reads the bytes of a scalar below the group order, zero allowed.
pub(crate) fn read_scalar<'a, S: Suite>(
    reader: &mut Reader<'a>,
    field: &'static str,
) -> Result<&'a [u8], Malformed> {
    let bytes = reader.take(SCALAR_LEN, field)?;
    scalar_from_bytes::<S>(bytes)
        .map(|_| bytes)
        .ok_or(Malformed::Scalar { field })
}

/// As [`read_scalar`], and not zero.
pub(crate) fn read_nonzero_scalar<'a, S: Suite>(
    reader: &mut Reader<'a>,
    field: &'static str,
) -> Result<&'a [u8], Malformed> {
    let bytes = read_scalar::<S>(reader, field)?;
    // All bytes are looked at; whether a secret is zero is not itself a secret.
    if bytes.iter().fold(0, |or, byte| or | byte) == 0 {
        return Err(Malformed::Scalar { field });
    }
    Ok(bytes)
}

pub(crate) fn scalar_from_bytes<S: Suite>(bytes: &[u8]) -> Option<Scalar<Core<S>>> {
    let encoded = bytes.try_into().ok()?;
    FieldOf::<S>::deserialize(&encoded).ok()
}

/// Bytes of a secret scalar.
pub(crate) fn secret_bytes(bytes: Vec<u8>) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(bytes)
}

/// The library's identifier for ours.
pub(crate) fn frost_id<S: Suite>(identifier: Identifier) -> FrostId<S> {
    match FrostId::<S>::try_from(identifier.get()) {
        Ok(identifier) => identifier,
        // The library refuses zero only, and an `Identifier` is not zero.
        Err(_) => unreachable!("a nonzero number is an identifier"),
    }
}

/// Which of `candidates` the library means.
pub(crate) fn from_frost_id<S: Suite>(
    candidates: &[Identifier],
    wanted: &FrostId<S>,
) -> Option<Identifier> {
    candidates
        .iter()
        .copied()
        .find(|candidate| frost_id::<S>(*candidate) == *wanted)
}

/// The library's form of a verifying key.
pub(crate) const fn frost_key<S: Suite>(
    key: &VerifyingKey<S>,
) -> &frost_core::VerifyingKey<Core<S>> {
    key.inner()
}

/// The elements of a commitment.
pub(crate) fn elements<S: Suite>(
    commitment: &VerifiableSecretSharingCommitment<Core<S>>,
) -> Vec<Point<S>> {
    // The library shows the elements as bytes only; it made them, so they decode.
    let encoded = commitment.serialize().unwrap_or_default();
    encoded
        .iter()
        .filter_map(|bytes| CoefficientCommitment::<Core<S>>::deserialize(bytes).ok())
        .map(|coefficient| coefficient.value())
        .collect()
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "field and group arithmetic cannot overflow"
)]
mod arithmetic {
    use super::*;
    use crate::rng::XofRng;

    /// Whether `share * G` is the committed polynomial at `x`, when the coefficients are those of
    /// `x^first, x^(first + 1), ...`.
    pub(crate) fn share_matches<S: Suite>(
        share: &[u8],
        x: Identifier,
        coefficients: &[Point<S>],
        first: usize,
    ) -> bool {
        let Some(share) = scalar_from_bytes::<S>(share) else {
            return false;
        };
        let x = to_scalar::<S>(x);
        let mut expected = GroupOf::<S>::identity();
        for coefficient in coefficients.iter().rev() {
            expected = expected * x + *coefficient;
        }
        for _ in 0..first {
            expected = expected * x;
        }
        GroupOf::<S>::generator() * share == expected
    }

    /// Whether the key at 0 and the shares at their identifiers lie on one polynomial of degree
    /// below `min_signers`.
    ///
    /// `n + 1` values lie on such a polynomial exactly if their sum with weights `v_i f(x_i)`
    /// vanishes for every `f` of degree at most `n - t`, where `v_i = 1 / prod (x_i - x_j)`. One
    /// `f` that hashes all of the input finds any deviation except with probability about 2^-252.
    /// Cost: `n + 1` scalar multiplications.
    ///
    /// # Source
    /// Cascudo and David, "SCRAPE", ACNS 2017, section 2.1.
    pub(crate) fn on_one_polynomial<S: Suite>(
        min_signers: u16,
        key: &Point<S>,
        shares: &[(Identifier, Point<S>)],
        digest_input: &[&[u8]],
    ) -> bool {
        let Some(degree) = shares.len().checked_sub(usize::from(min_signers)) else {
            return false;
        };
        let mut rng = XofRng::new(horizon_hash::domain::lens::GROUP_CHECK, digest_input);
        let f: Vec<_> = (0..=degree)
            .map(|_| FieldOf::<S>::random(&mut rng))
            .collect();
        let zero = FieldOf::<S>::zero();
        let mut points = Vec::with_capacity(shares.len().saturating_add(1));
        points.push((zero, *key));
        points.extend(
            shares
                .iter()
                .map(|(id, point)| (to_scalar::<S>(*id), *point)),
        );
        let mut sum = GroupOf::<S>::identity();
        for (i, (x, point)) in points.iter().enumerate() {
            let mut divisor = FieldOf::<S>::one();
            for (j, (other, _)) in points.iter().enumerate() {
                if i != j {
                    divisor = divisor * (*x - *other);
                }
            }
            let Ok(weight) = FieldOf::<S>::invert(&divisor) else {
                return false;
            };
            let value = f.iter().rev().fold(zero, |value, c| value * *x + *c);
            sum = sum + *point * (weight * value);
        }
        sum == GroupOf::<S>::identity()
    }

    /// Whether a proof of knowledge of the logarithm of `key` holds for this member.
    ///
    /// # Source
    /// Komlo and Goldberg, "FROST", SAC 2020, figure 1, round 1 step 5; the library's own check
    /// stops at the first culprit.
    pub(crate) fn proof_holds<S: Suite>(
        member: Identifier,
        key: &Point<S>,
        proof: &frost_core::Signature<Core<S>>,
    ) -> bool {
        let mut preimage = frost_id::<S>(member).serialize();
        preimage.extend(point_bytes::<S>(key));
        preimage.extend(point_bytes::<S>(proof.R()));
        let Some(challenge) = Core::<S>::HDKG(&preimage) else {
            return false;
        };
        GroupOf::<S>::generator() * *proof.z() == *proof.R() + *key * challenge
    }

    fn to_scalar<S: Suite>(x: Identifier) -> Scalar<Core<S>> {
        let one = FieldOf::<S>::one();
        let mut value = FieldOf::<S>::zero();
        for bit in (0..u16::BITS).rev() {
            value = value + value;
            if x.get() >> bit & 1 == 1 {
                value = value + one;
            }
        }
        value
    }
}

pub(crate) use arithmetic::{on_one_polynomial, proof_holds, share_matches};
