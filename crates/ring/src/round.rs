//! Rounding, the arithmetic modulo a power of two that goes with it, and the norm.
//!
//! # Source
//! `spec/pulsar.md` 2.2 (last paragraph), 5.2, 5.6-5.8; `spec/pulsar-committee.md` 1.4.
//! # Security
//! Everything here is free of branches on values.

use crate::backend::{self, Kind};
use crate::poly::Poly;

/// (v + 2^(bits-1)) >> bits for each canonical coefficient, without a reduction.
///
/// The result lies in 0..=2^(48-bits) *inclusive*, as in the reference. `bits` is 1..=48.
#[must_use]
pub fn round_shift(poly: &Poly, bits: u32) -> Poly {
    map(poly, |v| (v + half(bits)) >> bits)
}

/// As [`round_shift`], reduced modulo 2^`modulus_bits`.
#[must_use]
pub fn round_shift_mod(poly: &Poly, bits: u32, modulus_bits: u32) -> Poly {
    let mask = (1 << modulus_bits) - 1;
    map(poly, |v| ((v + half(bits)) >> bits) & mask)
}

/// v << bits for each coefficient. The caller bounds v so that the result is at most q.
#[must_use]
pub fn shift_left(poly: &Poly, bits: u32) -> Poly {
    map(poly, |v| v << bits)
}

/// x + y, minus 2^`bits` once if the sum is at least that: one conditional subtraction, no more.
///
/// With an operand of exactly 2^bits, as [`round_shift`] may give, the result may be 2^bits again.
#[must_use]
pub fn add_pow2(x: &Poly, y: &Poly, bits: u32) -> Poly {
    zip(x, y, |x, y| subtract_once(x + y, 1 << bits))
}

/// x + 2^`bits` - y, minus 2^`bits` once if the result is at least that.
#[must_use]
pub fn sub_pow2(x: &Poly, y: &Poly, bits: u32) -> Poly {
    zip(x, y, |x, y| {
        subtract_once((x + (1 << bits)).wrapping_sub(y), 1 << bits)
    })
}

/// Sum of the squares of the centred canonical coefficients of all polynomials.
///
/// Fits 128 bits: a square is below 2^95, so 2^25 polynomials would be needed to overflow.
#[must_use]
pub fn norm_sq<'a>(polys: impl IntoIterator<Item = &'a Poly>) -> u128 {
    norm_sq_shifted(polys, 0)
}

/// Sum of the squares of centred(v << `shift`); v << `shift` must be below q.
#[must_use]
pub fn norm_sq_shifted<'a>(polys: impl IntoIterator<Item = &'a Poly>, shift: u32) -> u128 {
    let kind = Kind::active();
    polys
        .into_iter()
        .map(|poly| backend::norm_sq(kind, poly.as_array(), shift))
        .sum()
}

fn half(bits: u32) -> u64 {
    1 << (bits - 1)
}

/// v - m if that is not negative, else v; v < 2^63.
fn subtract_once(v: u64, m: u64) -> u64 {
    let difference = v.wrapping_sub(m);
    difference.wrapping_add(m & (difference >> 63).wrapping_neg())
}

fn map(poly: &Poly, f: impl Fn(u64) -> u64) -> Poly {
    Poly::from_array_unchecked(core::array::from_fn(|i| f(poly.as_array()[i])))
}

fn zip(x: &Poly, y: &Poly, f: impl Fn(u64, u64) -> u64) -> Poly {
    Poly::from_array_unchecked(core::array::from_fn(|i| {
        f(x.as_array()[i], y.as_array()[i])
    }))
}
