//! 512-bit vectors with 52-bit integer multiply-add (IFMA), byte permutes (VBMI).
//!
//! IFMA reads the low 52 bits of its factors, so values are kept modulo 2^52 with rubbish above and
//! masked only where a comparison, a shift or a 64-bit sum needs it.
//!
//! # Source
//! `spec/pulsar-speed.md` 3 to 6.

use core::arch::x86_64::*;

use crate::modulus::{Q, Q_INV_64, Q_LOW};

pub(crate) mod dot;
pub(crate) mod ntt;
pub(crate) mod pack;
pub(crate) mod rank;
pub(crate) mod sample;

/// Low 52 bits.
const MASK_52: u64 = (1 << 52) - 1;

/// Eight equal words.
#[inline]
#[target_feature(enable = "avx512f")]
fn splat(word: u64) -> __m512i {
    _mm512_set1_epi64(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[u64; 8]) -> __m512i {
    // SAFETY: the reference is valid for reads of 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(words: &mut [u64; 8], vector: __m512i) {
    // SAFETY: the reference is valid for writes of 64 bytes, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_bytes(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the reference is valid for reads of 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_bytes(bytes: &mut [u8; 64], vector: __m512i) {
    // SAFETY: the reference is valid for writes of 64 bytes, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) }
}

/// The 32 vectors of 256 words.
#[inline(always)]
fn vectors(words: &[u64; 256]) -> &[[u64; 8]; 32] {
    let (chunks, _) = words.as_chunks::<8>();
    // 256 words are 32 chunks; the fallback is never taken.
    chunks.first_chunk().unwrap_or(&[[0; 8]; 32])
}

/// The 32 vectors of 256 words, mutable.
///
/// A macro, since a reference to a fallback cannot be made for mutable storage.
macro_rules! vectors_mut {
    ($words:expr) => {{
        let (chunks, _) = $words.as_chunks_mut::<8>();
        let Some(chunks) = chunks.first_chunk_mut::<32>() else {
            return;
        };
        chunks
    }};
}
use vectors_mut;

/// Any value to [0, q).
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn canonical(v: __m512i) -> __m512i {
    // v = 2^48 t + low and 2^48 = -18945 modulo q.
    let t = _mm512_srli_epi64::<48>(v);
    let low = _mm512_and_si512(v, splat((1 << 48) - 1));
    let fold = _mm512_madd52lo_epu64(_mm512_setzero_si512(), t, splat(Q_LOW));
    let r = _mm512_sub_epi64(low, fold);
    // A negative r is huge as an unsigned number, r + q is not.
    _mm512_min_epu64(r, _mm512_add_epi64(r, splat(Q)))
}

/// min(v, v - m): one conditional subtraction for v < 2m.
#[inline]
#[target_feature(enable = "avx512f")]
fn subtract_once(v: __m512i, m: u64) -> __m512i {
    _mm512_min_epu64(v, _mm512_sub_epi64(v, splat(m)))
}

/// The sum in (hi, lo) halves, times 2^-52: in (0, hi], where hi was preset to q.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn montgomery(lo: __m512i, hi: __m512i) -> __m512i {
    let zero = _mm512_setzero_si512();
    let m = _mm512_madd52lo_epu64(zero, lo, splat(Q_INV_64 & MASK_52));
    let carry = _mm512_srli_epi64::<52>(lo);
    let back = _mm512_madd52hi_epu64(zero, m, splat(Q));
    _mm512_sub_epi64(_mm512_add_epi64(hi, carry), back)
}
