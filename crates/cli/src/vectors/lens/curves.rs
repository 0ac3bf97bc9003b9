//! The three groups with the reference's encodings, its sampling and its hash to scalars.

use core::ops::{Add, Mul, Neg, Sub};

use curve25519_dalek::edwards::CompressedEdwardsY;
use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::{EdwardsPoint, RistrettoPoint, Scalar};
use horizon_hash::domain::lens as tags;
use k256::elliptic_curve::PrimeField as _;
use k256::elliptic_curve::group::GroupEncoding as _;
use k256::elliptic_curve::ops::Reduce as _;
use k256::{ProjectivePoint, U256};
use sha2::{Digest as _, Sha256, Sha512};

/// A source of bytes that is read in order.
pub(super) type Stream<'s> = dyn FnMut(&mut [u8]) + 's;

/// One group, as the reference uses it.
pub(super) trait Curve {
    type Suite: horizon_lens::Suite;
    type Scalar: Copy
        + PartialEq
        + Add<Output = Self::Scalar>
        + Sub<Output = Self::Scalar>
        + Mul<Output = Self::Scalar>
        + Neg<Output = Self::Scalar>;
    type Point: Copy
        + PartialEq
        + Add<Output = Self::Point>
        + Sub<Output = Self::Point>
        + Neg<Output = Self::Point>
        + Mul<Self::Scalar, Output = Self::Point>;

    const NAME: &'static str;
    const POINT_LEN: usize;

    fn base() -> Self::Point;
    fn identity() -> Self::Point;
    /// The generator of Pedersen commitments; nobody knows its logarithm.
    fn second() -> Option<Self::Point>;
    fn scalar(value: u64) -> Self::Scalar;
    /// None for 0.
    fn invert(scalar: Self::Scalar) -> Option<Self::Scalar>;
    fn sample(stream: &mut Stream<'_>) -> Option<Self::Scalar>;
    fn hash_to_scalar(data: &[u8]) -> Self::Scalar;
    fn encode_scalar(scalar: &Self::Scalar) -> Vec<u8>;
    fn decode_scalar(bytes: &[u8]) -> Option<Self::Scalar>;
    fn encode_point(point: &Self::Point) -> Vec<u8>;
    /// With the reference's leniency.
    fn decode_point(bytes: &[u8]) -> Option<Self::Point>;
}

fn decode_25519(bytes: &[u8]) -> Option<Scalar> {
    Option::from(Scalar::from_canonical_bytes(bytes.try_into().ok()?))
}

fn sample_25519(stream: &mut Stream<'_>) -> Scalar {
    let mut wide = [0; 64];
    stream(&mut wide);
    Scalar::from_bytes_mod_order_wide(&wide)
}

fn hash_25519(tag: &[u8], data: &[u8]) -> Scalar {
    Scalar::from_bytes_mod_order_wide(&Sha512::digest([tag, data].concat()).into())
}

pub(super) struct Ed25519;

impl Curve for Ed25519 {
    type Suite = horizon_lens::ed25519::Ed25519;
    type Scalar = Scalar;
    type Point = EdwardsPoint;

    const NAME: &'static str = "ed25519";
    const POINT_LEN: usize = 32;

    fn base() -> EdwardsPoint {
        EdwardsPoint::mul_base(&Scalar::ONE)
    }

    fn identity() -> EdwardsPoint {
        EdwardsPoint::mul_base(&Scalar::ZERO)
    }

    fn second() -> Option<EdwardsPoint> {
        (0..256_u64).find_map(|counter| {
            let input = [tags::ED25519_H_BASE, &counter.to_le_bytes()].concat();
            let digest: [u8; 64] = Sha512::digest(input).into();
            let point = Self::decode_point(digest.get(..32)?)?.mul_by_cofactor();
            (point != Self::identity()).then_some(point)
        })
    }

    fn scalar(value: u64) -> Scalar {
        Scalar::from(value)
    }

    fn invert(scalar: Scalar) -> Option<Scalar> {
        (scalar != Scalar::ZERO).then(|| scalar.invert())
    }

    fn sample(stream: &mut Stream<'_>) -> Option<Scalar> {
        Some(sample_25519(stream))
    }

    fn hash_to_scalar(data: &[u8]) -> Scalar {
        hash_25519(tags::ED25519_HASH_TO_SCALAR, data)
    }

    fn encode_scalar(scalar: &Scalar) -> Vec<u8> {
        scalar.to_bytes().to_vec()
    }

    fn decode_scalar(bytes: &[u8]) -> Option<Scalar> {
        decode_25519(bytes)
    }

    fn encode_point(point: &EdwardsPoint) -> Vec<u8> {
        point.compress().to_bytes().to_vec()
    }

    fn decode_point(bytes: &[u8]) -> Option<EdwardsPoint> {
        CompressedEdwardsY::from_slice(bytes).ok()?.decompress()
    }
}

pub(super) struct Ristretto255;

impl Curve for Ristretto255 {
    type Suite = horizon_lens::ristretto255::Ristretto255;
    type Scalar = Scalar;
    type Point = RistrettoPoint;

    const NAME: &'static str = "ristretto255";
    const POINT_LEN: usize = 32;

    fn base() -> RistrettoPoint {
        RistrettoPoint::mul_base(&Scalar::ONE)
    }

    fn identity() -> RistrettoPoint {
        RistrettoPoint::mul_base(&Scalar::ZERO)
    }

    fn second() -> Option<RistrettoPoint> {
        let wide: [u8; 64] = Sha512::digest(tags::RISTRETTO255_H_BASE).into();
        Some(RistrettoPoint::from_uniform_bytes(&wide))
    }

    fn scalar(value: u64) -> Scalar {
        Scalar::from(value)
    }

    fn invert(scalar: Scalar) -> Option<Scalar> {
        (scalar != Scalar::ZERO).then(|| scalar.invert())
    }

    fn sample(stream: &mut Stream<'_>) -> Option<Scalar> {
        Some(sample_25519(stream))
    }

    fn hash_to_scalar(data: &[u8]) -> Scalar {
        hash_25519(tags::RISTRETTO255_HASH_TO_SCALAR, data)
    }

    fn encode_scalar(scalar: &Scalar) -> Vec<u8> {
        scalar.to_bytes().to_vec()
    }

    fn decode_scalar(bytes: &[u8]) -> Option<Scalar> {
        decode_25519(bytes)
    }

    fn encode_point(point: &RistrettoPoint) -> Vec<u8> {
        point.compress().to_bytes().to_vec()
    }

    fn decode_point(bytes: &[u8]) -> Option<RistrettoPoint> {
        CompressedRistretto::from_slice(bytes).ok()?.decompress()
    }
}

pub(super) struct Secp256k1;

impl Curve for Secp256k1 {
    type Suite = horizon_lens::secp256k1::Secp256k1;
    type Scalar = k256::Scalar;
    type Point = ProjectivePoint;

    const NAME: &'static str = "secp256k1";
    const POINT_LEN: usize = 33;

    fn base() -> ProjectivePoint {
        ProjectivePoint::GENERATOR
    }

    fn identity() -> ProjectivePoint {
        ProjectivePoint::IDENTITY
    }

    fn second() -> Option<ProjectivePoint> {
        (0..256_u64).find_map(|counter| {
            let input = [tags::SECP256K1_H_BASE, &counter.to_le_bytes()].concat();
            let x = Sha256::digest(input);
            Self::decode_point(&[&[2], &x[..]].concat())
        })
    }

    fn scalar(value: u64) -> k256::Scalar {
        k256::Scalar::from(value)
    }

    fn invert(scalar: k256::Scalar) -> Option<k256::Scalar> {
        Option::from(scalar.invert())
    }

    fn sample(stream: &mut Stream<'_>) -> Option<k256::Scalar> {
        (0..256).find_map(|_| {
            let mut bytes = [0; 32];
            stream(&mut bytes);
            Self::decode_scalar(&bytes).filter(|scalar| *scalar != k256::Scalar::ZERO)
        })
    }

    fn hash_to_scalar(data: &[u8]) -> k256::Scalar {
        let half = |tag: &[u8]| -> k256::Scalar {
            let digest = Sha256::digest([tag, data].concat());
            k256::Scalar::reduce(U256::from_be_slice(&digest))
        };
        let high = half(tags::SECP256K1_HASH_TO_SCALAR);
        let low = half(tags::SECP256K1_HASH_TO_SCALAR_SECOND);
        let two_128 = k256::Scalar::from(u128::MAX) + k256::Scalar::ONE;
        high * two_128 * two_128 + low
    }

    fn encode_scalar(scalar: &k256::Scalar) -> Vec<u8> {
        scalar.to_bytes().to_vec()
    }

    fn decode_scalar(bytes: &[u8]) -> Option<k256::Scalar> {
        let bytes: [u8; 32] = bytes.try_into().ok()?;
        Option::from(k256::Scalar::from_repr(bytes.into()))
    }

    fn encode_point(point: &ProjectivePoint) -> Vec<u8> {
        point.to_bytes().to_vec()
    }

    fn decode_point(bytes: &[u8]) -> Option<ProjectivePoint> {
        let fixed: [u8; 33] = bytes.try_into().ok()?;
        match fixed[0] {
            0 => Some(ProjectivePoint::IDENTITY),
            2 | 3 => {
                let encoded = k256::CompressedPoint::from(fixed);
                Option::from(ProjectivePoint::from_bytes(&encoded))
            }
            _ => None,
        }
    }
}
