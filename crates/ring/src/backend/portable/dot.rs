//! Slot-wise products and sums, norms.
//!
//! # Source
//! `spec/pulsar-speed.md` 4.

use crate::backend::Term;
use crate::modulus::{self, Q, Q_INV_64};
use crate::tables::{shoup, shoup_mul};

/// out = sum of a·b·2^-52 modulo q over at most 4,095 terms, canonical. Operands below 9q.
pub(crate) fn dot(terms: &[Term<'_>], out: &mut [u64; 256]) {
    const BLOCK: usize = 8;
    for (block, out) in out.chunks_exact_mut(BLOCK).enumerate() {
        let mut sums = [0_u128; BLOCK];
        for &(a, b) in terms {
            let (a, b) = (&a[block * BLOCK..][..BLOCK], &b[block * BLOCK..][..BLOCK]);
            for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
                // 4,095·(9q)^2 < 2^115.
                *sum += u128::from(a) * u128::from(b);
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = reduce_52(sum);
        }
    }
}

/// S·2^-52 modulo q for S < 2^115.
#[inline(always)]
pub(crate) fn reduce_52(sum: u128) -> u64 {
    // Montgomery by 2^64 leaves a value below 2^51 + q; the factor 2^12 too much is a shift.
    let m = (sum as u64).wrapping_mul(Q_INV_64);
    let hi = ((u128::from(m) * u128::from(Q)) >> 64) as u64;
    modulus::reduce(((sum >> 64) as u64 + Q - hi) << 12)
}

/// Sum of the squares of the centred values of (v << shift); v << shift must be canonical.
pub(crate) fn norm_sq(values: &[u64; 256], shift: u32) -> u128 {
    values.iter().fold(0, |sum, &v| {
        let v = v << shift;
        let other = Q.wrapping_sub(v);
        // min(v, q - v) by the borrow.
        let above = other.overflowing_sub(v).1;
        let c = v ^ ((v ^ other) & u64::from(above).wrapping_neg());
        sum + u128::from(c) * u128::from(c)
    })
}

/// acc += v, as raw 64-bit words.
pub(crate) fn add_raw(acc: &mut [u64; 256], values: &[u64; 256]) {
    acc.iter_mut()
        .zip(values)
        .for_each(|(acc, &v)| *acc = acc.wrapping_add(v));
}

/// True if every word is at most `max`.
pub(crate) fn all_at_most(values: &[u64; 256], max: u64) -> bool {
    let above = values
        .iter()
        .fold(0, |above, &v| above | u64::from(max < v));
    above == 0
}

/// Canonical form of raw words.
pub(crate) fn reduce(values: &[u64; 256], out: &mut [u64; 256]) {
    out.iter_mut()
        .zip(values)
        .for_each(|(out, &v)| *out = modulus::reduce(v));
}

/// a += b, both canonical.
pub(crate) fn add(a: &mut [u64; 256], b: &[u64; 256]) {
    a.iter_mut()
        .zip(b)
        .for_each(|(a, &b)| *a = modulus::add(*a, b));
}

/// a -= b, both canonical.
pub(crate) fn sub(a: &mut [u64; 256], b: &[u64; 256]) {
    a.iter_mut()
        .zip(b)
        .for_each(|(a, &b)| *a = modulus::sub(*a, b));
}

/// a *= k for k < q and words below 2^52; canonical.
pub(crate) fn scale(a: &mut [u64; 256], k: u64) {
    // Shoup: one quotient for all words, no division on values.
    let quotient = shoup(k, Q);
    a.iter_mut()
        .for_each(|a| *a = modulus::reduce(shoup_mul(*a, k, quotient, Q)));
}
