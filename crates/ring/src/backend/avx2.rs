//! 256-bit vectors; products modulo q in double precision with fused multiply-add.
//!
//! Values are integers in f64, centred where that helps. All of them stay below 2^53, so every
//! result is exact: there is no rounding error anywhere, only quotients that may be off by one.
//!
//! # Source
//! `spec/pulsar-speed.md` 3.3, 4, 6.
//! # Security
//! Multiplications, additions and roundings have fixed latency on normal numbers, and no subnormal
//! arises: operands are integers, quotients are at least 2^-49.

use core::arch::x86_64::*;

use crate::modulus::{Q, Q_LOW};

pub(crate) mod dot;
pub(crate) mod ntt;
pub(crate) mod pack;
pub(crate) mod rank;
pub(crate) mod sample;

/// q as a double, exact.
const Q_F64: f64 = Q as f64;

/// 1/q rounded.
const Q_RECIPROCAL: f64 = 1.0 / Q_F64;

/// 2^52: adding it to an integer in [0, 2^52) puts that integer into the low bits of the double.
const TWO_52: f64 = (1_u64 << 52) as f64;

/// Four equal words.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn splat(word: u64) -> __m256i {
    _mm256_set1_epi64x(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn load(words: &[u64; 4]) -> __m256i {
    // SAFETY: the reference is valid for reads of 32 bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn store(words: &mut [u64; 4], vector: __m256i) {
    // SAFETY: the reference is valid for writes of 32 bytes, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn load_f64(values: &[f64; 4]) -> __m256d {
    // SAFETY: the reference is valid for reads of 32 bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_pd(values.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn load_bytes(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the reference is valid for reads of 32 bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn store_bytes(bytes: &mut [u8; 32], vector: __m256i) {
    // SAFETY: the reference is valid for writes of 32 bytes, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), vector) }
}

/// The 64 vectors of 256 words.
#[inline(always)]
fn vectors(words: &[u64; 256]) -> &[[u64; 4]; 64] {
    let (chunks, _) = words.as_chunks::<4>();
    // 256 words are 64 chunks; the fallback is never taken.
    chunks.first_chunk().unwrap_or(&[[0; 4]; 64])
}

/// The 64 vectors of 256 words, mutable.
///
/// A macro, since a reference to a fallback cannot be made for mutable storage.
macro_rules! vectors_mut {
    ($words:expr) => {{
        let (chunks, _) = $words.as_chunks_mut::<4>();
        let Some(chunks) = chunks.first_chunk_mut::<64>() else {
            return;
        };
        chunks
    }};
}
use vectors_mut;

/// Integers below 2^52 as doubles.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn to_f64(words: __m256i) -> __m256d {
    let exponent = splat(TWO_52.to_bits());
    let shifted = _mm256_castsi256_pd(_mm256_or_si256(words, exponent));
    _mm256_sub_pd(shifted, _mm256_set1_pd(TWO_52))
}

/// Integers in (-q, q) to residues in [0, q).
#[inline]
#[target_feature(enable = "avx2,fma")]
fn to_residue(v: __m256d) -> __m256i {
    let negative = _mm256_cmp_pd::<_CMP_LT_OQ>(v, _mm256_setzero_pd());
    let v = _mm256_add_pd(v, _mm256_and_pd(negative, _mm256_set1_pd(Q_F64)));
    let shifted = _mm256_add_pd(v, _mm256_set1_pd(TWO_52));
    _mm256_xor_si256(_mm256_castpd_si256(shifted), splat(TWO_52.to_bits()))
}

/// The nearest integers.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn round(v: __m256d) -> __m256d {
    _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(v)
}

/// v minus the nearest multiple of q, for integers |v| < 2^53: within q/2 and a rounding.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn center(v: __m256d) -> __m256d {
    let quotient = round(_mm256_mul_pd(v, _mm256_set1_pd(Q_RECIPROCAL)));
    _mm256_fnmadd_pd(quotient, _mm256_set1_pd(Q_F64), v)
}

/// y·w modulo q, given the quotient c: an exact integer.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn product_with(y: __m256d, w: __m256d, high: __m256d, c: __m256d) -> __m256d {
    // high + low is y·w exactly; high - cq is a small integer, so the second step is exact as well.
    let low = _mm256_fmsub_pd(y, w, high);
    let difference = _mm256_fnmadd_pd(c, _mm256_set1_pd(Q_F64), high);
    _mm256_add_pd(difference, low)
}

/// A constant factor and its quotient w/q.
#[derive(Clone, Copy)]
struct Pair {
    w: __m256d,
    quotient: __m256d,
}

/// A factor k < q in all lanes.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn constant(k: u64) -> Pair {
    let w = centered_f64(k);
    Pair {
        w: _mm256_set1_pd(w),
        quotient: _mm256_set1_pd(w / Q_F64),
    }
}

/// y·w modulo q for a constant |w| <= q/2 and |y| < 2^52: within (1/2 + 1/4)q.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn product(y: __m256d, f: Pair) -> __m256d {
    let high = _mm256_mul_pd(y, f.w);
    let c = round(_mm256_mul_pd(y, f.quotient));
    product_with(y, f.w, high, c)
}

/// a·b modulo q for variable factors.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn product_of_two(a: __m256d, b: __m256d) -> __m256d {
    let high = _mm256_mul_pd(a, b);
    let c = round(_mm256_mul_pd(high, _mm256_set1_pd(Q_RECIPROCAL)));
    product_with(a, b, high, c)
}

/// Any word to [0, q), in integers.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn canonical(v: __m256i) -> __m256i {
    let t = _mm256_srli_epi64::<48>(v);
    let low = _mm256_and_si256(v, splat((1 << 48) - 1));
    let r = _mm256_sub_epi64(low, _mm256_mul_epu32(t, splat(Q_LOW)));
    add_if_negative(r)
}

/// r + q where r is negative as a signed number, else r.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_if_negative(r: __m256i) -> __m256i {
    let negative = _mm256_cmpgt_epi64(_mm256_setzero_si256(), r);
    _mm256_add_epi64(r, _mm256_and_si256(negative, splat(Q)))
}

/// The centred representative of a residue, as a double.
const fn centered_f64(w: u64) -> f64 {
    crate::modulus::centered(w) as f64
}
