//! Sums of products in double precision, norms, simple passes.
//!
//! # Source
//! `spec/pulsar-speed.md` 3.3 and 4.

use core::arch::x86_64::*;

use super::{
    add_if_negative, canonical, center, constant, load, product, product_of_two, splat, store,
    to_f64, to_residue, vectors, vectors_mut,
};
use crate::backend::Term;
use crate::modulus::{self, Q};

/// Vectors summed at a time.
const BLOCK: usize = 4;

/// Terms between two reductions of the accumulators.
const RUN: usize = 4;

/// out = sum of a·b·2^-52 modulo q, canonical.
///
/// # Bounds
/// In multiples of q, where 2^53 = 32q. Operands below 9q: the product is below 81q^2, its quotient
/// below 2^54.4 and off by at most 5.6, its low half within 2, so a term is within 7.6. Four of
/// them and a reduced accumulator of 0.6 make 31.0.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn dot(terms: &[Term<'_>], out: &mut [u64; 256]) {
    let out = vectors_mut!(out);
    let radix = constant(const { modulus::inv(modulus::R52) });
    for block in 0..64 / BLOCK {
        let mut sums = [_mm256_setzero_pd(); BLOCK];
        for run in terms.chunks(RUN) {
            for &(a, b) in run {
                let a = &vectors(a)[BLOCK * block..][..BLOCK];
                let b = &vectors(b)[BLOCK * block..][..BLOCK];
                for i in 0..BLOCK {
                    let (a, b) = (to_f64(load(&a[i])), to_f64(load(&b[i])));
                    sums[i] = _mm256_add_pd(sums[i], product_of_two(a, b));
                }
            }
            for sum in &mut sums {
                *sum = center(*sum);
            }
        }
        for (i, sum) in sums.into_iter().enumerate() {
            store(&mut out[BLOCK * block + i], to_residue(product(sum, radix)));
        }
    }
}

/// Sum of the squares of the centred values of (v << shift), which must be canonical.
///
/// # Bounds
/// Centred values are at most 2^47 + 9472 < 2^48: halves of 24 bits, whose products summed over 64
/// vectors stay below 2^55.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn norm_sq(values: &[u64; 256], shift: u32) -> u128 {
    let shift = _mm_cvtsi32_si128(shift.cast_signed());
    let mut sums = [_mm256_setzero_si256(); 3];
    for values in vectors(values) {
        let v = _mm256_sll_epi64(load(values), shift);
        let other = _mm256_sub_epi64(splat(Q), v);
        let above = _mm256_cmpgt_epi64(v, other);
        let c = _mm256_blendv_epi8(v, other, above);
        let low = _mm256_and_si256(c, splat((1 << 24) - 1));
        let high = _mm256_srli_epi64::<24>(c);
        let parts = [
            _mm256_mul_epu32(low, low),
            _mm256_mul_epu32(low, high),
            _mm256_mul_epu32(high, high),
        ];
        for (sum, part) in sums.iter_mut().zip(parts) {
            *sum = _mm256_add_epi64(*sum, part);
        }
    }
    let [low, middle, high] = sums.map(|sum| {
        let mut words = [0; 4];
        store(&mut words, sum);
        u128::from(words.iter().sum::<u64>())
    });
    low + (middle << 25) + (high << 48)
}

/// acc += v, as raw 64-bit words.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn add_raw(acc: &mut [u64; 256], values: &[u64; 256]) {
    let acc = vectors_mut!(acc);
    for (acc, values) in acc.iter_mut().zip(vectors(values)) {
        let sum = _mm256_add_epi64(load(acc), load(values));
        store(acc, sum);
    }
}

/// True if every word is at most `max` < 2^63.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn all_at_most(values: &[u64; 256], max: u64) -> bool {
    let above = vectors(values)
        .iter()
        .fold(_mm256_setzero_si256(), |above, v| {
            let v = load(v);
            // Signed comparison; words of 2^63 and more show their own sign bit.
            _mm256_or_si256(above, _mm256_or_si256(v, _mm256_cmpgt_epi64(v, splat(max))))
        });
    _mm256_movemask_pd(_mm256_castsi256_pd(above)) == 0
}

/// Canonical form of raw words.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn reduce(values: &[u64; 256], out: &mut [u64; 256]) {
    let out = vectors_mut!(out);
    for (out, values) in out.iter_mut().zip(vectors(values)) {
        store(out, canonical(load(values)));
    }
}

/// a += b, both canonical.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn add(a: &mut [u64; 256], b: &[u64; 256]) {
    let a = vectors_mut!(a);
    for (a, b) in a.iter_mut().zip(vectors(b)) {
        let sum = _mm256_add_epi64(load(a), load(b));
        store(a, add_if_negative(_mm256_sub_epi64(sum, splat(Q))));
    }
}

/// a -= b, both canonical.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn sub(a: &mut [u64; 256], b: &[u64; 256]) {
    let a = vectors_mut!(a);
    for (a, b) in a.iter_mut().zip(vectors(b)) {
        let difference = _mm256_sub_epi64(load(a), load(b));
        store(a, add_if_negative(difference));
    }
}

/// a *= k for k < q and words below 2^52; canonical.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn scale(a: &mut [u64; 256], k: u64) {
    let a = vectors_mut!(a);
    let factor = constant(k);
    for a in a {
        let r = product(to_f64(load(a)), factor);
        store(a, to_residue(r));
    }
}
