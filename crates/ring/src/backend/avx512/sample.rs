//! Parsing of words, and the constant-time samplers with their tables in registers.
//!
//! # Source
//! `spec/pulsar-speed.md` 6 and 8.

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::{load_bytes, splat, store, store_bytes, vectors_mut};
use crate::backend::ByteOrder;
use crate::modulus::Q;
use crate::sample::nonce_tables::{ALIAS, LEAF_FACTORS, THRESHOLD_PLANES};
use crate::sample::{SMALL_BYTES, WIDE_BYTES};

/// Appends the accepted words to `out[filled..]`; returns the new count.
#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn parse_words(
    order: ByteOrder,
    bytes: &[u8],
    out: &mut [u64; 256],
    filled: usize,
) -> usize {
    let mut filled = filled.min(256);
    let swap = _mm512_set4_epi32(0x0809_0A0B, 0x0C0D_0E0F, 0x0001_0203, 0x0405_0607);
    for chunk in bytes.chunks(64) {
        if filled == 256 {
            break;
        }
        // Only whole words of the last chunk.
        let words = chunk.len() / 8;
        let present = (1_u16 << words).wrapping_sub(1) as __mmask8;
        // SAFETY: the mask reads the `words` whole words of `chunk` only.
        let v = unsafe { _mm512_maskz_loadu_epi64(present, chunk.as_ptr().cast()) };
        let v = match order {
            ByteOrder::Big => _mm512_shuffle_epi8(v, swap),
            ByteOrder::Little => v,
        };
        let v = _mm512_and_si512(v, splat((1 << 49) - 1));
        let accepted = _mm512_mask_cmplt_epu64_mask(present, v, splat(Q));
        let packed = _mm512_maskz_compress_epi64(accepted, v);
        let count = accepted.count_ones() as usize;
        if let Some(place) = out[filled..].first_chunk_mut::<8>() {
            store(place, packed);
        } else {
            let mut last = [0; 8];
            store(&mut last, packed);
            let rest = &mut out[filled..];
            rest.copy_from_slice(&last[..rest.len()]);
            last.zeroize();
        }
        filled = 256.min(filled + count);
    }
    filled
}

/// The thresholds by planes and the aliases: nine byte tables of 64 entries.
struct Tables {
    thresholds: [__m512i; 8],
    alias: __m512i,
}

impl Tables {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> Self {
        Self {
            thresholds: core::array::from_fn(|p| load_bytes(&THRESHOLD_PLANES[p])),
            alias: load_bytes(&ALIAS),
        }
    }

    /// 64 signed samples from bytes 64·chunk.. of the nine planes of a unit.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn samples(&self, unit: &[[u8; 64]; SMALL_BYTES / 64], chunk: usize) -> __m512i {
        let head = load_bytes(&unit[chunk]);
        let column = _mm512_and_si512(head, _mm512_set1_epi8(0x3F));
        // Number < threshold, from the least significant plane up.
        let mut less: __mmask64 = 0;
        for p in (0..8).rev() {
            let number = load_bytes(&unit[4 * (p + 1) + chunk]);
            let threshold = _mm512_permutexvar_epi8(column, self.thresholds[p]);
            let equal = _mm512_cmpeq_epu8_mask(number, threshold);
            less = _mm512_cmplt_epu8_mask(number, threshold) | (equal & less);
        }
        let alias = _mm512_permutexvar_epi8(column, self.alias);
        let magnitude = _mm512_mask_blend_epi8(less, alias, column);
        let sign = _mm512_test_epi8_mask(head, _mm512_set1_epi8(0x40));
        _mm512_mask_sub_epi8(magnitude, sign, _mm512_setzero_si512(), magnitude)
    }
}

/// 256 samples of the small width.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512dq")]
pub(crate) fn sample_small(bytes: &[u8; SMALL_BYTES], out: &mut [u64; 256]) {
    let tables = Tables::new();
    let out = vectors_mut!(out);
    let mut signed = [0; 64];
    for (chunk, out) in out.chunks_exact_mut(8).enumerate() {
        store_bytes(&mut signed, tables.samples(unit(bytes), chunk));
        for (out, signed) in out.iter_mut().zip(signed.chunks_exact(8)) {
            store(out, residue(_mm512_cvtepi8_epi64(eight(signed))));
        }
    }
    signed.zeroize();
}

/// 256 samples of the wide width.
///
/// # Bounds
/// A leaf is added as S(x + 64) with 6 <= x + 64 <= 122, so that the factor is positive; the sum of
/// all is below 2^43.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512dq,avx512ifma")]
pub(crate) fn sample_wide(bytes: &[u8; WIDE_BYTES], out: &mut [u64; 256]) {
    const OFFSET: u64 = {
        let mut sum = 0;
        let mut j = 0;
        while j < LEAF_FACTORS.len() {
            sum += 64 * LEAF_FACTORS[j];
            j += 1;
        }
        sum
    };
    let tables = Tables::new();
    let out = vectors_mut!(out);
    let mut shifted = [0; 64];
    let (units, _) = bytes.as_chunks::<SMALL_BYTES>();
    for (chunk, out) in out.chunks_exact_mut(8).enumerate() {
        let mut sums = [_mm512_setzero_si512(); 8];
        for (bytes, &factor) in units.iter().zip(&LEAF_FACTORS) {
            let samples = tables.samples(unit(bytes), chunk);
            store_bytes(&mut shifted, _mm512_add_epi8(samples, _mm512_set1_epi8(64)));
            for (sum, shifted) in sums.iter_mut().zip(shifted.chunks_exact(8)) {
                let x = _mm512_cvtepu8_epi64(eight(shifted));
                *sum = _mm512_madd52lo_epu64(*sum, x, splat(factor));
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            store(out, residue(_mm512_sub_epi64(sum, splat(OFFSET))));
        }
    }
    shifted.zeroize();
}

/// A signed value as a residue, by a masked addition.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn residue(v: __m512i) -> __m512i {
    _mm512_mask_add_epi64(v, _mm512_movepi64_mask(v), v, splat(Q))
}

/// Eight bytes in the low half of a vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn eight(bytes: &[u8]) -> __m128i {
    let word = u64::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default());
    _mm_cvtsi64_si128(word.cast_signed())
}

/// A unit as 36 vectors: vector 4p + c is part c of plane p.
#[inline(always)]
fn unit(bytes: &[u8; SMALL_BYTES]) -> &[[u8; 64]; SMALL_BYTES / 64] {
    let (chunks, _) = bytes.as_chunks::<64>();
    // 2,304 bytes are 36 chunks; the fallback is never taken.
    chunks.first_chunk().unwrap_or(&[[0; 64]; SMALL_BYTES / 64])
}
