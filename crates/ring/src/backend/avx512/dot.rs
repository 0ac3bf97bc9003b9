//! 52-bit Montgomery sums of products, norms, simple passes.
//!
//! # Source
//! `spec/pulsar-speed.md` 4.

use core::arch::x86_64::*;

use super::ntt::{constant, mask_52, product};
use super::{canonical, load, montgomery, splat, store, subtract_once, vectors, vectors_mut};
use crate::backend::Term;
use crate::modulus::Q;

/// Vectors summed at a time: 16 accumulators leave room for the operands.
const BLOCK: usize = 8;

/// out = sum of a·b·2^-52 modulo q, canonical.
///
/// # Bounds
/// Factors below 2^52, at most 4,095 terms: each half grows by less than 2^52 a term, and with
/// factors below 9q the result before reduction is below (81n/15.9 + 1)q + 2^12 < 2^63.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn dot(terms: &[Term<'_>], out: &mut [u64; 256]) {
    let out = vectors_mut!(out);
    for block in 0..32 / BLOCK {
        let mut lo = [_mm512_setzero_si512(); BLOCK];
        // Preset, so that the Montgomery difference cannot go below zero.
        let mut hi = [splat(Q); BLOCK];
        for &(a, b) in terms {
            let a = &vectors(a)[BLOCK * block..][..BLOCK];
            let b = &vectors(b)[BLOCK * block..][..BLOCK];
            for i in 0..BLOCK {
                let (a, b) = (load(&a[i]), load(&b[i]));
                lo[i] = _mm512_madd52lo_epu64(lo[i], a, b);
                hi[i] = _mm512_madd52hi_epu64(hi[i], a, b);
            }
        }
        for i in 0..BLOCK {
            store(
                &mut out[BLOCK * block + i],
                canonical(montgomery(lo[i], hi[i])),
            );
        }
    }
}

/// Sum of the squares of the centred values of (v << shift), which must be canonical.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn norm_sq(values: &[u64; 256], shift: u32) -> u128 {
    let shift = _mm_cvtsi32_si128(shift.cast_signed());
    let mut lo = [_mm512_setzero_si512(); 2];
    let mut hi = [_mm512_setzero_si512(); 2];
    for (i, values) in vectors(values).iter().enumerate() {
        let v = _mm512_sll_epi64(load(values), shift);
        let c = _mm512_min_epu64(v, _mm512_sub_epi64(splat(Q), v));
        lo[i % 2] = _mm512_madd52lo_epu64(lo[i % 2], c, c);
        hi[i % 2] = _mm512_madd52hi_epu64(hi[i % 2], c, c);
    }
    // 16 vectors of halves below 2^52: the lane sums stay below 2^60.
    let lo = _mm512_reduce_add_epi64(_mm512_add_epi64(lo[0], lo[1])).cast_unsigned();
    let hi = _mm512_reduce_add_epi64(_mm512_add_epi64(hi[0], hi[1])).cast_unsigned();
    u128::from(lo) + (u128::from(hi) << 52)
}

/// acc += v, as raw 64-bit words.
#[target_feature(enable = "avx512f")]
pub(crate) fn add_raw(acc: &mut [u64; 256], values: &[u64; 256]) {
    let acc = vectors_mut!(acc);
    for (acc, values) in acc.iter_mut().zip(vectors(values)) {
        let sum = _mm512_add_epi64(load(acc), load(values));
        store(acc, sum);
    }
}

/// True if every word is at most `max`.
#[target_feature(enable = "avx512f")]
pub(crate) fn all_at_most(values: &[u64; 256], max: u64) -> bool {
    let largest = vectors(values)
        .iter()
        .fold(_mm512_setzero_si512(), |largest, v| {
            _mm512_max_epu64(largest, load(v))
        });
    _mm512_cmpgt_epu64_mask(largest, splat(max)) == 0
}

/// Canonical form of raw words.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn reduce(values: &[u64; 256], out: &mut [u64; 256]) {
    let out = vectors_mut!(out);
    for (out, values) in out.iter_mut().zip(vectors(values)) {
        store(out, canonical(load(values)));
    }
}

/// a += b, both canonical.
#[target_feature(enable = "avx512f")]
pub(crate) fn add(a: &mut [u64; 256], b: &[u64; 256]) {
    let a = vectors_mut!(a);
    for (a, b) in a.iter_mut().zip(vectors(b)) {
        let sum = _mm512_add_epi64(load(a), load(b));
        store(a, subtract_once(sum, Q));
    }
}

/// a -= b, both canonical.
#[target_feature(enable = "avx512f")]
pub(crate) fn sub(a: &mut [u64; 256], b: &[u64; 256]) {
    let a = vectors_mut!(a);
    for (a, b) in a.iter_mut().zip(vectors(b)) {
        let difference = _mm512_sub_epi64(load(a), load(b));
        // A negative difference is huge as an unsigned number.
        store(
            a,
            _mm512_min_epu64(difference, _mm512_add_epi64(difference, splat(Q))),
        );
    }
}

/// a *= k for k < q and words below 2^52; canonical.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn scale(a: &mut [u64; 256], k: u64) {
    let a = vectors_mut!(a);
    let factor = constant(k);
    for a in a {
        let r = mask_52(product(load(a), factor));
        store(a, subtract_once(r, Q));
    }
}
