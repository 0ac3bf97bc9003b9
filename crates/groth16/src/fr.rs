//! The scalar field of BLS12-381: integers modulo its 255-bit group order `r`.
//!
//! # Security
//! Variable time. No value held here is secret, with one exception: the trapdoor of a setup, which
//! lives in one process and is zeroized by its owner.

use core::{
    fmt,
    iter::{Product, Sum},
    ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign},
};

use rand_core::Rng;
use zeroize::DefaultIsZeroes;

use crate::backend::field::{self, Limbs};

/// A residue modulo `r`, in Montgomery form, always reduced: equal residues have equal limbs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
#[repr(transparent)]
pub struct Fr(Limbs);

impl Fr {
    /// Zero.
    pub const ZERO: Self = Self([0; 4]);
    /// One.
    pub const ONE: Self = Self([
        0x0000_0001_ffff_fffe,
        0x5884_b7fa_0003_4802,
        0x998c_4fef_ecbc_4ff5,
        0x1824_b159_acc5_056f,
    ]);
    /// The power of two in `r - 1`: roots of unity exist for orders up to `2^32`.
    pub const TWO_ADICITY: u32 = 32;
    /// Bytes of an encoded element.
    pub const LEN: usize = 32;

    /// The residue of an unsigned integer.
    #[must_use]
    pub fn from_u64(value: u64) -> Self {
        Self(field::mul(&[value, 0, 0, 0], &R_SQUARED))
    }

    /// The residue of a signed integer: `-1` is `r - 1`.
    #[must_use]
    pub fn from_i64(value: i64) -> Self {
        let magnitude = Self::from_u64(value.unsigned_abs());
        if value < 0 { -magnitude } else { magnitude }
    }

    /// The residue of an unsigned integer.
    #[must_use]
    pub fn from_u128(value: u128) -> Self {
        Self(field::mul(
            &[low_limb(value), low_limb(value >> 64), 0, 0],
            &R_SQUARED,
        ))
    }

    /// The residue of a signed integer.
    #[must_use]
    pub fn from_i128(value: i128) -> Self {
        let magnitude = Self::from_u128(value.unsigned_abs());
        if value < 0 { -magnitude } else { magnitude }
    }

    /// Reads 32 little-endian bytes; `None` unless they are below `r`.
    #[must_use]
    pub fn from_le_bytes(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let mut limbs = [0; 4];
        for (limb, chunk) in limbs.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *limb = u64::from_le_bytes(*chunk);
        }
        Self::from_canonical_limbs(limbs)
    }

    /// Reads 32 big-endian bytes; `None` unless they are below `r`.
    #[must_use]
    pub fn from_be_bytes(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let mut reversed = *bytes;
        reversed.reverse();
        Self::from_le_bytes(&reversed)
    }

    /// Takes canonical limbs, least significant first; `None` unless they are below `r`.
    #[must_use]
    pub fn from_canonical_limbs(limbs: [u64; 4]) -> Option<Self> {
        is_reduced(&limbs).then(|| Self(field::mul(&limbs, &R_SQUARED)))
    }

    /// The canonical integer in `0..r`, least significant limb first.
    #[inline]
    #[must_use]
    pub fn to_canonical_limbs(self) -> [u64; 4] {
        field::from_montgomery(&self.0)
    }

    /// 32 little-endian bytes of the canonical integer.
    #[must_use]
    pub fn to_le_bytes(self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        for (chunk, limb) in out
            .as_chunks_mut::<8>()
            .0
            .iter_mut()
            .zip(self.to_canonical_limbs())
        {
            *chunk = limb.to_le_bytes();
        }
        out
    }

    /// 32 big-endian bytes of the canonical integer.
    #[must_use]
    pub fn to_be_bytes(self) -> [u8; Self::LEN] {
        let mut out = self.to_le_bytes();
        out.reverse();
        out
    }

    /// A uniform element, by rejection of 255-bit integers that are not below `r`.
    pub fn random<R: Rng + ?Sized>(rng: &mut R) -> Self {
        loop {
            let mut bytes = [0; Self::LEN];
            rng.fill_bytes(&mut bytes);
            bytes[31] &= 0x7f;
            if let Some(element) = Self::from_le_bytes(&bytes) {
                return element;
            }
        }
    }

    /// A uniform element other than zero.
    pub fn random_nonzero<R: Rng + ?Sized>(rng: &mut R) -> Self {
        loop {
            let element = Self::random(rng);
            if !element.is_zero() {
                return element;
            }
        }
    }

    /// Whether this is zero.
    #[inline]
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0 == [0; 4]
    }

    /// Whether this is one.
    #[inline]
    #[must_use]
    pub fn is_one(&self) -> bool {
        *self == Self::ONE
    }

    /// Twice this.
    #[inline]
    #[must_use]
    pub fn double(self) -> Self {
        self + self
    }

    /// The square.
    #[inline]
    #[must_use]
    pub fn square(self) -> Self {
        Self(field::square(&self.0))
    }

    /// The multiplicative inverse; `None` for zero.
    #[must_use]
    pub fn inverse(self) -> Option<Self> {
        (!self.is_zero()).then(|| Self(field::inverse(&self.0)))
    }

    /// This to the power of an unsigned integer.
    #[must_use]
    pub fn pow(self, exponent: u64) -> Self {
        let mut power = Self::ONE;
        for bit in (0..u64::BITS - exponent.leading_zeros()).rev() {
            power = power.square();
            if exponent >> bit & 1 == 1 {
                power *= self;
            }
        }
        power
    }

    /// A primitive root of unity of order `2^log2`; `None` above `2^32`.
    ///
    /// Roots of different orders fit together: each is the square of the next.
    #[must_use]
    pub fn root_of_unity(log2: u32) -> Option<Self> {
        let squarings = Self::TWO_ADICITY.checked_sub(log2)?;
        let mut root = ROOT_OF_THREE_TIMES_TWO_ADIC * ROOT_OF_THREE_TIMES_TWO_ADIC.square();
        for _ in 0..squarings {
            root = root.square();
        }
        Some(root)
    }

    /// A primitive root of unity of order `3 * 2^log2`; `None` above `3 * 2^32`.
    #[must_use]
    pub fn root_of_unity_of_three(log2: u32) -> Option<Self> {
        let squarings = Self::TWO_ADICITY.checked_sub(log2)?;
        let mut root = ROOT_OF_THREE_TIMES_TWO_ADIC;
        for _ in 0..squarings {
            root = root.square();
        }
        Some(root)
    }

    /// Inverts every element in place with one inversion; zeros stay zero.
    pub fn batch_inverse(elements: &mut [Self]) {
        let mut prefixes = Vec::with_capacity(elements.len());
        let mut product = Self::ONE;
        for element in elements.iter() {
            prefixes.push(product);
            if !element.is_zero() {
                product *= *element;
            }
        }
        let Some(mut inverse) = product.inverse() else {
            return;
        };
        for (element, prefix) in elements.iter_mut().zip(prefixes).rev() {
            if !element.is_zero() {
                let next = inverse * *element;
                *element = inverse * prefix;
                inverse = next;
            }
        }
    }

    /// The limbs as they are kept, for vectors in files of this machine.
    #[cfg(feature = "prove")]
    pub(crate) const fn montgomery_limbs(self) -> Limbs {
        self.0
    }

    /// Takes limbs in Montgomery form; `None` unless they are below `r`.
    #[cfg(feature = "prove")]
    pub(crate) fn from_montgomery_limbs(limbs: Limbs) -> Option<Self> {
        is_reduced(&limbs).then_some(Self(limbs))
    }
}

impl DefaultIsZeroes for Fr {}

impl Add for Fr {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        let (sum, _) = add_limbs(&self.0, &other.0);
        // Both are below r < 2^255, so the sum has no carry out of the fourth limb.
        Self(reduce_once(sum))
    }
}

impl Sub for Fr {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        let (difference, borrow) = sub_limbs(&self.0, &other.0);
        let mask = 0_u64.wrapping_sub(u64::from(borrow));
        let correction = MODULUS.map(|limb| limb & mask);
        Self(add_limbs(&difference, &correction).0)
    }
}

impl Mul for Fr {
    type Output = Self;

    #[inline]
    fn mul(self, other: Self) -> Self {
        Self(field::mul(&self.0, &other.0))
    }
}

impl Neg for Fr {
    type Output = Self;

    #[inline]
    fn neg(self) -> Self {
        Self::ZERO - self
    }
}

impl AddAssign for Fr {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Fr {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl MulAssign for Fr {
    #[inline]
    fn mul_assign(&mut self, other: Self) {
        *self = *self * other;
    }
}

impl Sum for Fr {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, |sum, element| sum + element)
    }
}

impl Product for Fr {
    fn product<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ONE, |product, element| product * element)
    }
}

impl From<u64> for Fr {
    fn from(value: u64) -> Self {
        Self::from_u64(value)
    }
}

impl From<bool> for Fr {
    fn from(value: bool) -> Self {
        if value { Self::ONE } else { Self::ZERO }
    }
}

impl fmt::Debug for Fr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fr(0x")?;
        for byte in self.to_be_bytes() {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

const fn is_reduced(limbs: &Limbs) -> bool {
    sub_limbs(limbs, &MODULUS).1
}

#[inline]
const fn reduce_once(limbs: Limbs) -> Limbs {
    let (reduced, borrow) = sub_limbs(&limbs, &MODULUS);
    if borrow { limbs } else { reduced }
}

#[inline]
const fn add_limbs(a: &Limbs, b: &Limbs) -> (Limbs, bool) {
    let (l0, c0) = carry_add(a[0], b[0], false);
    let (l1, c1) = carry_add(a[1], b[1], c0);
    let (l2, c2) = carry_add(a[2], b[2], c1);
    let (l3, c3) = carry_add(a[3], b[3], c2);
    ([l0, l1, l2, l3], c3)
}

#[inline]
const fn sub_limbs(a: &Limbs, b: &Limbs) -> (Limbs, bool) {
    let (l0, b0) = borrow_sub(a[0], b[0], false);
    let (l1, b1) = borrow_sub(a[1], b[1], b0);
    let (l2, b2) = borrow_sub(a[2], b[2], b1);
    let (l3, b3) = borrow_sub(a[3], b[3], b2);
    ([l0, l1, l2, l3], b3)
}

#[inline]
const fn carry_add(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(carry as u64);
    (sum, first | second)
}

#[inline]
const fn borrow_sub(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(borrow as u64);
    (difference, first | second)
}

const fn low_limb(value: u128) -> u64 {
    (value & u64::MAX as u128) as u64
}

/// The group order `r`, least significant limb first.
const MODULUS: Limbs = [
    0xffff_ffff_0000_0001,
    0x53bd_a402_fffe_5bfe,
    0x3339_d808_09a1_d805,
    0x73ed_a753_299d_7d48,
];

/// `2^512 mod r`: multiplying by it brings an integer into Montgomery form.
const R_SQUARED: Limbs = [
    0xc999_e990_f3f2_9c6d,
    0x2b6c_edcb_8792_5c23,
    0x05d3_1496_7254_398f,
    0x0748_d9d9_9f59_ff11,
];

/// `7^((r - 1) / (3 * 2^32))`, of order exactly `3 * 2^32`, in Montgomery form.
const ROOT_OF_THREE_TIMES_TWO_ADIC: Fr = Fr([
    0xc3bd_1fc0_baaf_ea0c,
    0x15e3_d360_5ecb_5af5,
    0xac35_7405_80d6_2e80,
    0x5a86_e035_3b85_f530,
]);

#[cfg(test)]
mod tests {
    use horizon_testkit::SeededRng;

    use super::*;

    #[test]
    fn one_and_the_modulus_are_what_their_names_say() {
        assert_eq!(Fr::from_u64(1), Fr::ONE);
        assert_eq!(Fr::ONE.to_canonical_limbs(), [1, 0, 0, 0]);
        assert_eq!(Fr::from_canonical_limbs(MODULUS), None);
        let mut below = MODULUS;
        below[0] -= 1;
        assert_eq!(Fr::from_canonical_limbs(below), Some(-Fr::ONE));
        assert_eq!(-Fr::ONE + Fr::ONE, Fr::ZERO);
        assert_eq!(Fr::from_le_bytes(&[0xff; 32]), None);
    }

    #[test]
    fn small_integers_agree_with_machine_arithmetic() {
        let mut rng = SeededRng::new(11);
        for _ in 0..1000 {
            let (a, b) = (rng.next_u64().cast_signed(), rng.next_u64().cast_signed());
            let (wide_a, wide_b) = (i128::from(a), i128::from(b));
            assert_eq!(
                Fr::from_i64(a) + Fr::from_i64(b),
                Fr::from_i128(wide_a + wide_b)
            );
            assert_eq!(
                Fr::from_i64(a) - Fr::from_i64(b),
                Fr::from_i128(wide_a - wide_b)
            );
            assert_eq!(
                Fr::from_i64(a) * Fr::from_i64(b),
                Fr::from_i128(wide_a * wide_b)
            );
        }
    }

    #[test]
    fn bytes_go_round_in_both_orders() {
        let mut rng = SeededRng::new(12);
        for _ in 0..100 {
            let element = Fr::random(&mut rng);
            assert_eq!(Fr::from_le_bytes(&element.to_le_bytes()), Some(element));
            assert_eq!(Fr::from_be_bytes(&element.to_be_bytes()), Some(element));
        }
        assert_eq!(Fr::from_u64(258).to_be_bytes()[30..], [1, 2]);
    }

    #[test]
    fn inverses_multiply_to_one_alone_and_in_batches() {
        let mut rng = SeededRng::new(13);
        let mut elements: Vec<Fr> = (0..50).map(|_| Fr::random_nonzero(&mut rng)).collect();
        elements[7] = Fr::ZERO;
        let before = elements.clone();
        Fr::batch_inverse(&mut elements);
        for (element, inverse) in before.iter().zip(&elements) {
            assert_eq!(element.inverse().unwrap_or(Fr::ZERO), *inverse);
            assert!(element.is_zero() || (*element * *inverse).is_one());
        }
    }

    #[test]
    fn roots_of_unity_have_exactly_their_order() {
        for log2 in 0..=32 {
            let root = Fr::root_of_unity(log2).unwrap();
            assert!(root.pow(1 << log2).is_one());
            assert!(log2 == 0 || !root.pow(1 << (log2 - 1)).is_one());
            let root = Fr::root_of_unity_of_three(log2).unwrap();
            assert!(root.pow(3 << log2).is_one());
            assert!(!root.pow(1 << log2).is_one());
            assert!(log2 == 0 || !root.pow(3 << (log2 - 1)).is_one());
        }
        assert_eq!(Fr::root_of_unity(33), None);
        assert_eq!(Fr::root_of_unity_of_three(33), None);
    }
}
