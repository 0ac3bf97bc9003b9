//! Points of the two prime-order groups of BLS12-381.
//!
//! Every value of these types is in its prime-order subgroup: bytes become points only by decoding
//! with a subgroup check, and arithmetic stays inside.
//!
//! # Source
//! Encodings: compressed form of draft-irtf-cfrg-bls-signature-05, appendix A: big-endian, with
//! compression, infinity and sign flags in the top three bits.

use core::fmt;

use crate::backend::group::{DecodeFailure, g1, g2};
use crate::fr::Fr;

/// Why bytes are not a point that may be used.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointError {
    /// The compression flag is clear.
    NotCompressed,
    /// The infinity flag is set.
    Infinity,
    /// A coordinate is not below the field's modulus.
    NotCanonical,
    /// No point of the curve has this coordinate.
    NotOnCurve,
    /// The point is on the curve and outside the prime-order subgroup.
    NotInSubgroup,
}

impl fmt::Display for PointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotCompressed => "the compression flag is clear",
            Self::Infinity => "the infinity flag is set",
            Self::NotCanonical => "a coordinate is not below the field modulus",
            Self::NotOnCurve => "no point of the curve has this coordinate",
            Self::NotInSubgroup => "the point is outside the prime-order subgroup",
        })
    }
}

impl core::error::Error for PointError {}

macro_rules! curve_group {
    ($backend:ident, $point:ident, $affine:ident, $len:literal, $name:literal) => {
        #[doc = concat!("A point of ", $name, " in affine form, infinity included.")]
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub struct $affine($backend::Affine);

        impl $affine {
            /// Bytes of the compressed form.
            pub const LEN: usize = $len;

            /// Decodes a compressed point.
            ///
            /// # Errors
            /// One [`PointError`] per way of being wrong; infinity is refused.
            pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Result<Self, PointError> {
                let flags = bytes[0];
                if flags & COMPRESSED == 0 {
                    return Err(PointError::NotCompressed);
                }
                if flags & INFINITY != 0 {
                    return Err(PointError::Infinity);
                }
                let point = $backend::uncompress(bytes).map_err(|failure| match failure {
                    DecodeFailure::Encoding => PointError::NotCanonical,
                    DecodeFailure::NotOnCurve => PointError::NotOnCurve,
                })?;
                if !$backend::in_group(&point) {
                    return Err(PointError::NotInSubgroup);
                }
                Ok(Self(point))
            }

            /// The compressed form.
            #[must_use]
            pub fn to_bytes(&self) -> [u8; Self::LEN] {
                $backend::compress(&self.0)
            }

            /// The generator of the group.
            #[must_use]
            pub fn generator() -> Self {
                $point::generator().to_affine()
            }

            /// Whether this is the neutral element.
            #[must_use]
            pub fn is_infinity(&self) -> bool {
                $backend::affine_is_infinity(&self.0)
            }

            pub(crate) const fn raw(&self) -> &$backend::Affine {
                &self.0
            }
        }

        impl PartialEq for $affine {
            fn eq(&self, other: &Self) -> bool {
                $point::from(*self) == $point::from(*other)
            }
        }

        impl Eq for $affine {}

        impl fmt::Debug for $affine {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($affine), "("))?;
                for byte in self.to_bytes() {
                    write!(f, "{byte:02x}")?;
                }
                f.write_str(")")
            }
        }

        #[doc = concat!("A point of ", $name, " in projective form.")]
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub struct $point($backend::Point);

        impl $point {
            /// The neutral element.
            #[must_use]
            pub fn infinity() -> Self {
                Self($backend::Point::default())
            }

            /// The generator of the group.
            #[must_use]
            pub fn generator() -> Self {
                Self($backend::generator())
            }

            /// Whether this is the neutral element.
            #[must_use]
            pub fn is_infinity(&self) -> bool {
                $backend::is_infinity(&self.0)
            }

            /// Twice this.
            #[must_use]
            pub fn double(&self) -> Self {
                Self($backend::double(&self.0))
            }

            /// The sum with an affine point.
            #[must_use]
            pub fn add_affine(&self, other: &$affine) -> Self {
                Self($backend::add_affine(&self.0, &other.0))
            }

            /// The multiple by a field element.
            #[must_use]
            pub fn mul(&self, scalar: Fr) -> Self {
                Self($backend::mult(&self.0, &scalar.to_le_bytes(), SCALAR_BITS))
            }

            /// The multiple by an unsigned integer.
            #[must_use]
            pub fn mul_u128(&self, scalar: u128) -> Self {
                Self($backend::mult(&self.0, &scalar.to_le_bytes(), 128))
            }

            /// The affine form.
            #[must_use]
            pub fn to_affine(&self) -> $affine {
                $affine($backend::to_affine(&self.0))
            }

            /// All points in affine form, with one inversion for those that are not infinity.
            #[must_use]
            pub fn batch_to_affine(points: &[Self]) -> Vec<$affine> {
                let finite: Vec<_> = points
                    .iter()
                    .filter(|point| !point.is_infinity())
                    .map(|point| point.0)
                    .collect();
                let mut affine = $backend::many_to_affine(&finite).into_iter();
                points
                    .iter()
                    .map(|point| {
                        if point.is_infinity() {
                            $affine($backend::Affine::default())
                        } else {
                            $affine(affine.next().unwrap_or_default())
                        }
                    })
                    .collect()
            }

            /// The sum of affine points, infinity allowed.
            #[must_use]
            pub fn sum_affine<'p>(points: impl IntoIterator<Item = &'p $affine>) -> Self {
                let points: Vec<&$backend::Affine> = points
                    .into_iter()
                    .filter(|point| !point.is_infinity())
                    .map(|point| &point.0)
                    .collect();
                Self($backend::sum(&points))
            }

            /// The sum of scalar multiples. `scalars` are little-endian, `(bits + 7) / 8` bytes per
            /// point; `None` when the lengths do not fit. Variable time.
            #[must_use]
            pub fn msm(points: &[$affine], scalars: &[u8], bits: usize) -> Option<Self> {
                if points.iter().any($affine::is_infinity) {
                    return Self::msm_with_infinity(points, scalars, bits);
                }
                $backend::msm(crate::backend::group::cast_slice(points), scalars, bits).map(Self)
            }

            /// The sum of multiples by field elements; extra elements on either side are ignored.
            #[must_use]
            pub fn msm_fr(points: &[$affine], scalars: &[Fr]) -> Self {
                let len = points.len().min(scalars.len());
                let bytes: Vec<u8> = scalars
                    .iter()
                    .take(len)
                    .flat_map(|scalar| scalar.to_le_bytes())
                    .collect();
                points
                    .get(..len)
                    .and_then(|points| Self::msm(points, &bytes, SCALAR_BITS))
                    .unwrap_or_else(Self::infinity)
            }

            #[cold]
            fn msm_with_infinity(points: &[$affine], scalars: &[u8], bits: usize) -> Option<Self> {
                let stride = bits.div_ceil(8);
                if stride == 0 || scalars.len() != points.len().checked_mul(stride)? {
                    return None;
                }
                let (mut finite, mut kept) = (Vec::new(), Vec::new());
                for (point, scalar) in points.iter().zip(scalars.chunks_exact(stride)) {
                    if !point.is_infinity() {
                        finite.push(point.0);
                        kept.extend_from_slice(scalar);
                    }
                }
                $backend::msm(&finite, &kept, bits).map(Self)
            }
        }

        impl core::ops::Add for $point {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self($backend::add(&self.0, &other.0))
            }
        }

        impl core::ops::AddAssign for $point {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl core::ops::Neg for $point {
            type Output = Self;

            fn neg(self) -> Self {
                Self($backend::negate(self.0))
            }
        }

        impl core::iter::Sum for $point {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::infinity(), |sum, point| sum + point)
            }
        }

        impl From<$affine> for $point {
            fn from(point: $affine) -> Self {
                Self($backend::from_affine(&point.0))
            }
        }

        impl PartialEq for $point {
            fn eq(&self, other: &Self) -> bool {
                $backend::is_equal(&self.0, &other.0)
            }
        }

        impl Eq for $point {}

        impl fmt::Debug for $point {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.to_affine().fmt(f)
            }
        }
    };
}

curve_group!(g1, G1, G1Affine, 48, "G1");
curve_group!(g2, G2, G2Affine, 96, "G2");

/// What setup and prover need of either group.
#[cfg(feature = "prove")]
pub(crate) trait CurveGroup:
    Copy
    + Send
    + Sync
    + core::ops::Add<Output = Self>
    + core::ops::AddAssign
    + core::ops::Neg<Output = Self>
{
    type Affine: Copy + Send + Sync + PartialEq + 'static;
    /// Bytes of a point in memory and in key files.
    const RAW_LEN: usize;
    const COMPRESSED_LEN: usize;

    fn infinity() -> Self;
    fn is_infinity(&self) -> bool;
    fn generator() -> Self;
    fn double(&self) -> Self;
    fn add_affine(&self, other: &Self::Affine) -> Self;
    fn mul(&self, scalar: Fr) -> Self;
    fn batch_to_affine(points: &[Self]) -> Vec<Self::Affine>;
    fn sum_affine<'p>(points: impl IntoIterator<Item = &'p Self::Affine>) -> Self;
    fn msm(points: &[Self::Affine], scalars: &[u8], bits: usize) -> Option<Self>;
    /// Appends the coordinates as they lie in memory: little-endian limbs in Montgomery form.
    fn write_raw(point: &Self::Affine, out: &mut Vec<u8>);
    fn compress(&self) -> Vec<u8>;
    fn decompress(bytes: &[u8]) -> Option<Self>;
    /// The uncompressed form, twice the length of the compressed one.
    fn uncompressed(point: &Self::Affine) -> Vec<u8>;
    /// Decodes the uncompressed form with all checks; infinity is refused.
    fn from_uncompressed(bytes: &[u8]) -> Option<Self::Affine>;
    /// The multiple by a small unsigned integer.
    fn mul_small(&self, scalar: u64) -> Self;
    /// Whether affine coordinates that were mapped from a file are a point that may be used.
    fn affine_is_valid(point: &Self::Affine) -> bool;
}

#[cfg(feature = "prove")]
macro_rules! impl_curve_group {
    ($backend:ident, $point:ident, $affine:ident) => {
        impl CurveGroup for $point {
            type Affine = $affine;
            const RAW_LEN: usize = size_of::<$affine>();
            const COMPRESSED_LEN: usize = $affine::LEN;

            fn infinity() -> Self {
                Self::infinity()
            }

            fn is_infinity(&self) -> bool {
                self.is_infinity()
            }

            fn generator() -> Self {
                Self::generator()
            }

            fn double(&self) -> Self {
                self.double()
            }

            fn add_affine(&self, other: &$affine) -> Self {
                self.add_affine(other)
            }

            fn mul(&self, scalar: Fr) -> Self {
                self.mul(scalar)
            }

            fn batch_to_affine(points: &[Self]) -> Vec<$affine> {
                Self::batch_to_affine(points)
            }

            fn sum_affine<'p>(points: impl IntoIterator<Item = &'p $affine>) -> Self {
                Self::sum_affine(points)
            }

            fn msm(points: &[$affine], scalars: &[u8], bits: usize) -> Option<Self> {
                Self::msm(points, scalars, bits)
            }

            fn write_raw(point: &$affine, out: &mut Vec<u8>) {
                for limb in $backend::limbs(&point.0) {
                    out.extend(limb.to_le_bytes());
                }
            }

            fn compress(&self) -> Vec<u8> {
                self.to_affine().to_bytes().to_vec()
            }

            fn decompress(bytes: &[u8]) -> Option<Self> {
                let point = $affine::from_bytes(bytes.try_into().ok()?).ok()?;
                Some(Self::from(point))
            }

            fn uncompressed(point: &$affine) -> Vec<u8> {
                $backend::serialize(&point.0).to_vec()
            }

            fn from_uncompressed(bytes: &[u8]) -> Option<$affine> {
                let point = $backend::deserialize(bytes.try_into().ok()?)?;
                $backend::in_group(&point).then_some($affine(point))
            }

            fn mul_small(&self, scalar: u64) -> Self {
                let bits = (u64::BITS - scalar.leading_zeros()) as usize;
                if bits == 0 {
                    return Self::infinity();
                }
                Self($backend::mult(&self.0, &scalar.to_le_bytes(), bits))
            }

            fn affine_is_valid(point: &$affine) -> bool {
                $backend::on_curve(&point.0) && !point.is_infinity() && $backend::in_group(&point.0)
            }
        }
    };
}

#[cfg(feature = "prove")]
impl_curve_group!(g1, G1, G1Affine);
#[cfg(feature = "prove")]
impl_curve_group!(g2, G2, G2Affine);

impl G1 {
    pub(crate) const fn from_raw(point: g1::Point) -> Self {
        Self(point)
    }
}

const COMPRESSED: u8 = 0x80;
const INFINITY: u8 = 0x40;
pub(crate) const SCALAR_BITS: usize = 255;
