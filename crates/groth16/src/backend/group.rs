//! Points and pairings through blst. Everything here takes and gives blst's own types by value or
//! reference; which points may exist is decided in [`crate::curve`].
#![allow(unsafe_code)]

use blst::{BLST_ERROR, blst_fp12, blst_p1, blst_p1_affine, blst_p2, blst_p2_affine, byte, limb_t};

/// Why bytes are not a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodeFailure {
    Encoding,
    NotOnCurve,
}

macro_rules! group {
    (
        $module:ident, $point:ident, $affine:ident, $len:literal,
        $uncompress:ident, $compress:ident, $in_group:ident, $is_inf:ident, $affine_is_inf:ident,
        $add:ident, $add_affine:ident, $double:ident, $cneg:ident, $mult:ident, $is_equal:ident,
        $to_affine:ident, $from_affine:ident, $generator:ident, $many_to_affine:ident,
        $sum:ident, $msm:ident, $msm_scratch:ident, $on_curve:ident, $limbs:expr,
        $serialize:ident, $deserialize:ident
    ) => {
        pub(crate) mod $module {
            use super::*;

            pub(crate) type Point = $point;
            pub(crate) type Affine = $affine;
            pub(crate) const LEN: usize = $len;

            /// Decodes a compressed point; the subgroup is not checked.
            pub(crate) fn uncompress(bytes: &[u8; LEN]) -> Result<Affine, DecodeFailure> {
                let mut out = Affine::default();
                // SAFETY: blst reads LEN bytes of a compressed encoding and writes one point.
                match unsafe { blst::$uncompress(&raw mut out, bytes.as_ptr()) } {
                    BLST_ERROR::BLST_SUCCESS => Ok(out),
                    BLST_ERROR::BLST_POINT_NOT_ON_CURVE => Err(DecodeFailure::NotOnCurve),
                    _ => Err(DecodeFailure::Encoding),
                }
            }

            pub(crate) fn compress(point: &Affine) -> [u8; LEN] {
                let mut out = [0; LEN];
                // SAFETY: blst reads one point and writes LEN bytes.
                unsafe { blst::$compress(out.as_mut_ptr(), point) };
                out
            }

            pub(crate) fn in_group(point: &Affine) -> bool {
                // SAFETY: blst reads one point.
                unsafe { blst::$in_group(point) }
            }

            /// The uncompressed form, as public transcripts hold it.
            #[cfg(feature = "prove")]
            pub(crate) fn serialize(point: &Affine) -> [u8; 2 * LEN] {
                let mut out = [0; 2 * LEN];
                // SAFETY: blst reads one point and writes 2 LEN bytes.
                unsafe { blst::$serialize(out.as_mut_ptr(), point) };
                out
            }

            /// Decodes an uncompressed point of the curve; the subgroup is not checked.
            #[cfg(feature = "prove")]
            pub(crate) fn deserialize(bytes: &[u8; 2 * LEN]) -> Option<Affine> {
                // A compressed encoding would be shorter, and infinity is no power of a secret.
                if bytes[0] & 0xc0 != 0 {
                    return None;
                }
                let mut out = Affine::default();
                // SAFETY: with the compression flag clear blst reads 2 LEN bytes; it writes one
                // point.
                let result = unsafe { blst::$deserialize(&raw mut out, bytes.as_ptr()) };
                (result == BLST_ERROR::BLST_SUCCESS).then_some(out)
            }

            #[cfg(feature = "prove")]
            pub(crate) fn on_curve(point: &Affine) -> bool {
                // SAFETY: blst reads one point.
                unsafe { blst::$on_curve(point) }
            }

            /// The coordinates' limbs, in the order in which they lie in memory.
            #[cfg(feature = "prove")]
            pub(crate) fn limbs(point: &Affine) -> impl Iterator<Item = u64> + use<> {
                let coordinates = $limbs;
                let fields = coordinates(point);
                fields.into_iter().flat_map(|field| field.l)
            }

            pub(crate) fn is_infinity(point: &Point) -> bool {
                // SAFETY: blst reads one point.
                unsafe { blst::$is_inf(point) }
            }

            pub(crate) fn affine_is_infinity(point: &Affine) -> bool {
                // SAFETY: blst reads one point.
                unsafe { blst::$affine_is_inf(point) }
            }

            pub(crate) fn add(a: &Point, b: &Point) -> Point {
                let mut out = Point::default();
                // SAFETY: blst reads two points and writes one; doubling is handled.
                unsafe { blst::$add(&raw mut out, a, b) };
                out
            }

            pub(crate) fn add_affine(a: &Point, b: &Affine) -> Point {
                let mut out = Point::default();
                // SAFETY: blst reads two points and writes one; doubling is handled.
                unsafe { blst::$add_affine(&raw mut out, a, b) };
                out
            }

            pub(crate) fn double(a: &Point) -> Point {
                let mut out = Point::default();
                // SAFETY: blst reads one point and writes one.
                unsafe { blst::$double(&raw mut out, a) };
                out
            }

            pub(crate) fn negate(mut a: Point) -> Point {
                // SAFETY: blst changes one point in place.
                unsafe { blst::$cneg(&raw mut a, true) };
                a
            }

            /// Times a little-endian scalar of at most `8 * scalar.len()` bits.
            pub(crate) fn mult(a: &Point, scalar: &[u8], bits: usize) -> Point {
                let bits = bits.min(scalar.len().saturating_mul(8));
                let mut out = Point::default();
                // SAFETY: blst reads one point and `(bits + 7) / 8 <= scalar.len()` bytes.
                unsafe { blst::$mult(&raw mut out, a, scalar.as_ptr(), bits) };
                out
            }

            pub(crate) fn is_equal(a: &Point, b: &Point) -> bool {
                // SAFETY: blst reads two points.
                unsafe { blst::$is_equal(a, b) }
            }

            pub(crate) fn to_affine(a: &Point) -> Affine {
                let mut out = Affine::default();
                // SAFETY: blst reads one point and writes one.
                unsafe { blst::$to_affine(&raw mut out, a) };
                out
            }

            pub(crate) fn from_affine(a: &Affine) -> Point {
                let mut out = Point::default();
                // SAFETY: blst reads one point and writes one.
                unsafe { blst::$from_affine(&raw mut out, a) };
                out
            }

            pub(crate) fn generator() -> Point {
                // SAFETY: blst returns a pointer to a constant that lives for ever.
                unsafe { *blst::$generator() }
            }

            /// All points in affine form, with one inversion. None may be infinity.
            pub(crate) fn many_to_affine(points: &[Point]) -> Vec<Affine> {
                let mut out = vec![Affine::default(); points.len()];
                if points.is_empty() {
                    return out;
                }
                let starts = [points.as_ptr(), core::ptr::null()];
                // SAFETY: a null second pointer says that the points are contiguous; `out` has
                // room for as many.
                unsafe {
                    blst::$many_to_affine(out.as_mut_ptr(), starts.as_ptr(), points.len());
                }
                out
            }

            /// The sum of the named points.
            pub(crate) fn sum(points: &[&Affine]) -> Point {
                let mut out = Point::default();
                if points.is_empty() {
                    return out;
                }
                // SAFETY: `&Affine` and `*const Affine` have one layout, and no pointer is null,
                // so blst reads exactly `points.len()` of them.
                unsafe { blst::$sum(&raw mut out, points.as_ptr().cast(), points.len()) };
                out
            }

            /// The sum of scalar multiples. `scalars` holds `(bits + 7) / 8` little-endian bytes
            /// per point; `None` when its length does not fit.
            pub(crate) fn msm(points: &[Affine], scalars: &[u8], bits: usize) -> Option<Point> {
                let stride = bits.div_ceil(8);
                if scalars.len() != points.len().checked_mul(stride)? {
                    return None;
                }
                let mut out = Point::default();
                if points.is_empty() || bits == 0 {
                    return Some(out);
                }
                if let [point] = points {
                    return Some(mult(&from_affine(point), scalars, bits));
                }
                let starts = [points.as_ptr(), core::ptr::null()];
                let scalar_starts: [*const byte; 2] = [scalars.as_ptr(), core::ptr::null()];
                // SAFETY: blst only computes a size here.
                let bytes = unsafe { blst::$msm_scratch(points.len()) };
                let mut scratch: Vec<limb_t> = vec![0; bytes.div_ceil(size_of::<limb_t>())];
                // SAFETY: null second pointers say that points and scalars are contiguous; their
                // lengths were compared above, and `scratch` has the size blst asked for.
                unsafe {
                    blst::$msm(
                        &raw mut out,
                        starts.as_ptr(),
                        points.len(),
                        scalar_starts.as_ptr(),
                        bits,
                        scratch.as_mut_ptr(),
                    );
                }
                Some(out)
            }
        }
    };
}

group!(
    g1,
    blst_p1,
    blst_p1_affine,
    48,
    blst_p1_uncompress,
    blst_p1_affine_compress,
    blst_p1_affine_in_g1,
    blst_p1_is_inf,
    blst_p1_affine_is_inf,
    blst_p1_add_or_double,
    blst_p1_add_or_double_affine,
    blst_p1_double,
    blst_p1_cneg,
    blst_p1_mult,
    blst_p1_is_equal,
    blst_p1_to_affine,
    blst_p1_from_affine,
    blst_p1_generator,
    blst_p1s_to_affine,
    blst_p1s_add,
    blst_p1s_mult_pippenger,
    blst_p1s_mult_pippenger_scratch_sizeof,
    blst_p1_affine_on_curve,
    |point: &Affine| [point.x, point.y],
    blst_p1_affine_serialize,
    blst_p1_deserialize
);
group!(
    g2,
    blst_p2,
    blst_p2_affine,
    96,
    blst_p2_uncompress,
    blst_p2_affine_compress,
    blst_p2_affine_in_g2,
    blst_p2_is_inf,
    blst_p2_affine_is_inf,
    blst_p2_add_or_double,
    blst_p2_add_or_double_affine,
    blst_p2_double,
    blst_p2_cneg,
    blst_p2_mult,
    blst_p2_is_equal,
    blst_p2_to_affine,
    blst_p2_from_affine,
    blst_p2_generator,
    blst_p2s_to_affine,
    blst_p2s_add,
    blst_p2s_mult_pippenger,
    blst_p2s_mult_pippenger_scratch_sizeof,
    blst_p2_affine_on_curve,
    |point: &Affine| [point.x.fp[0], point.x.fp[1], point.y.fp[0], point.y.fp[1]],
    blst_p2_affine_serialize,
    blst_p2_deserialize
);

/// The fixed points of an inner product with tables of their small multiples.
pub(crate) struct FixedBases {
    table: Vec<blst_p1_affine>,
    count: usize,
}

impl FixedBases {
    /// No point may be infinity.
    pub(crate) fn new(points: &[blst_p1_affine]) -> Self {
        if points.is_empty() {
            return Self {
                table: Vec::new(),
                count: 0,
            };
        }
        let starts = [points.as_ptr(), core::ptr::null()];
        // SAFETY: blst only computes a size, in bytes.
        let bytes =
            unsafe { blst::blst_p1s_mult_wbits_precompute_sizeof(WINDOW_BITS, points.len()) };
        let len = bytes.div_ceil(size_of::<blst_p1_affine>());
        let mut table = vec![blst_p1_affine::default(); len];
        // SAFETY: the table has the size blst asked for, the points are contiguous.
        unsafe {
            blst::blst_p1s_mult_wbits_precompute(
                table.as_mut_ptr(),
                WINDOW_BITS,
                starts.as_ptr(),
                points.len(),
            );
        }
        Self {
            table,
            count: points.len(),
        }
    }

    /// The sum of multiples; `scalars` holds `(bits + 7) / 8` little-endian bytes per point.
    pub(crate) fn inner_product(&self, scalars: &[u8], bits: usize) -> Option<blst_p1> {
        if scalars.len() != self.count.checked_mul(bits.div_ceil(8))? {
            return None;
        }
        let mut out = blst_p1::default();
        if self.count == 0 || bits == 0 {
            return Some(out);
        }
        // SAFETY: blst only computes a size, in bytes.
        let bytes = unsafe { blst::blst_p1s_mult_wbits_scratch_sizeof(self.count) };
        let mut scratch: Vec<limb_t> = vec![0; bytes.div_ceil(size_of::<limb_t>())];
        let starts: [*const byte; 2] = [scalars.as_ptr(), core::ptr::null()];
        // SAFETY: table, count and scratch belong together as blst sized them; the scalars are
        // contiguous and their length was compared above.
        unsafe {
            blst::blst_p1s_mult_wbits(
                &raw mut out,
                self.table.as_ptr(),
                WINDOW_BITS,
                self.count,
                starts.as_ptr(),
                bits,
                scratch.as_mut_ptr(),
            );
        }
        Some(out)
    }
}

/// An element of the target group, or of its field before the final exponentiation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target(blst_fp12);

impl Target {
    /// The product of the Miller loops of all pairs. Pairs with infinity count as one.
    pub(crate) fn miller_loops(pairs: &[(blst_p1_affine, blst_p2_affine)]) -> Self {
        let (firsts, seconds): (Vec<_>, Vec<_>) = pairs
            .iter()
            .filter(|(p, q)| !g1::affine_is_infinity(p) && !g2::affine_is_infinity(q))
            .copied()
            .unzip();
        if firsts.is_empty() {
            return Self::one();
        }
        let mut out = blst_fp12::default();
        let p_starts = [firsts.as_ptr(), core::ptr::null()];
        let q_starts = [seconds.as_ptr(), core::ptr::null()];
        // SAFETY: null second pointers say that both sequences are contiguous; both have the same
        // length.
        unsafe {
            blst::blst_miller_loop_n(
                &raw mut out,
                q_starts.as_ptr(),
                p_starts.as_ptr(),
                firsts.len(),
            );
        }
        Self(out)
    }

    pub(crate) fn one() -> Self {
        // SAFETY: blst returns a pointer to a constant that lives for ever.
        Self(unsafe { *blst::blst_fp12_one() })
    }

    pub(crate) fn final_exponentiation(&self) -> Self {
        let mut out = blst_fp12::default();
        // SAFETY: blst reads one element and writes one.
        unsafe { blst::blst_final_exp(&raw mut out, &raw const self.0) };
        Self(out)
    }

    pub(crate) fn mul(&self, other: &Self) -> Self {
        let mut out = blst_fp12::default();
        // SAFETY: blst reads two elements and writes one.
        unsafe { blst::blst_fp12_mul(&raw mut out, &raw const self.0, &raw const other.0) };
        Self(out)
    }

    /// The square of an element of the target group.
    pub(crate) fn cyclotomic_square(&self) -> Self {
        let mut out = blst_fp12::default();
        // SAFETY: blst reads one element and writes one.
        unsafe { blst::blst_fp12_cyclotomic_sqr(&raw mut out, &raw const self.0) };
        Self(out)
    }

    pub(crate) fn to_bytes(self) -> [u8; TARGET_LEN] {
        let mut out = [0; TARGET_LEN];
        // SAFETY: blst writes twelve field elements of 48 bytes.
        unsafe { blst::blst_bendian_from_fp12(out.as_mut_ptr(), &raw const self.0) };
        out
    }
}

/// Bytes of an encoded element of the target group.
pub(crate) const TARGET_LEN: usize = 576;

/// Window of the fixed-base tables: 128 points of 96 bytes per base.
const WINDOW_BITS: usize = 8;

/// A type whose values are laid out as the blst type they wrap.
///
/// # Safety
/// The implementor is `repr(transparent)` over `Inner`.
pub(crate) unsafe trait Wraps {
    type Inner;
}

// SAFETY: `G1Affine` is `repr(transparent)` over `blst_p1_affine`.
unsafe impl Wraps for crate::curve::G1Affine {
    type Inner = blst_p1_affine;
}

// SAFETY: `G2Affine` is `repr(transparent)` over `blst_p2_affine`.
unsafe impl Wraps for crate::curve::G2Affine {
    type Inner = blst_p2_affine;
}

/// The wrapped points as blst sees them.
pub(crate) const fn cast_slice<T: Wraps>(points: &[T]) -> &[T::Inner] {
    // SAFETY: same layout by the contract of `Wraps`, same length, same lifetime.
    unsafe { core::slice::from_raw_parts(points.as_ptr().cast(), points.len()) }
}
