//! The constant-time samplers with shuffles of sixteen-entry tables.
//!
//! # Source
//! `spec/pulsar-speed.md` 6.

use core::arch::x86_64::*;

use zeroize::Zeroize;

use super::{add_if_negative, load_bytes, store, store_bytes, to_residue, vectors_mut};
use crate::backend::{ByteOrder, portable};
use crate::sample::nonce_tables::{ALIAS, LEAF_FACTORS, THRESHOLD_PLANES};
use crate::sample::{SMALL_BYTES, WIDE_BYTES};

/// Appends the accepted words to `out[filled..]`; the scalar loop is faster than its byte source.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn parse_words(
    order: ByteOrder,
    bytes: &[u8],
    out: &mut [u64; 256],
    filled: usize,
) -> usize {
    portable::sample::parse_words(order, bytes, out, filled)
}

/// A table of 64 bytes as four tables of 16, each in both halves of a vector.
type Quarters = [[u8; 32]; 4];

const fn quarters(table: &[u8; 64]) -> Quarters {
    let mut out = [[0; 32]; 4];
    let mut k = 0;
    while k < 64 {
        out[k / 16][k % 16] = table[k];
        out[k / 16][16 + k % 16] = table[k];
        k += 1;
    }
    out
}

static THRESHOLDS: [Quarters; 8] = {
    let mut out = [[[0; 32]; 4]; 8];
    let mut p = 0;
    while p < 8 {
        out[p] = quarters(&THRESHOLD_PLANES[p]);
        p += 1;
    }
    out
};
static ALIASES: Quarters = quarters(&ALIAS);

/// Columns of 32 samples, with the masks that choose a quarter.
struct Columns {
    column: __m256i,
    bit_4: __m256i,
    bit_5: __m256i,
}

impl Columns {
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn new(head: __m256i) -> Self {
        let column = _mm256_and_si256(head, _mm256_set1_epi8(0x3F));
        // Bits 4 and 5 in the top bit of each byte, where a blend looks.
        let low = _mm256_and_si256(head, _mm256_set1_epi8(0x1F));
        Self {
            column,
            bit_4: _mm256_slli_epi16::<3>(low),
            bit_5: _mm256_slli_epi16::<2>(column),
        }
    }

    /// The entry of each column.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn look_up(&self, table: &Quarters) -> __m256i {
        // The index of a byte shuffle is its low four bits, if the top bit is clear.
        let [a, b, c, d]: [__m256i; 4] =
            core::array::from_fn(|i| _mm256_shuffle_epi8(load_bytes(&table[i]), self.column));
        let low = _mm256_blendv_epi8(a, b, self.bit_4);
        let high = _mm256_blendv_epi8(c, d, self.bit_4);
        _mm256_blendv_epi8(low, high, self.bit_5)
    }
}

/// 32 signed samples from bytes 32·chunk.. of the nine planes of a unit.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn samples(unit: &[[u8; 32]; SMALL_BYTES / 32], chunk: usize) -> __m256i {
    let head = load_bytes(&unit[chunk]);
    let columns = Columns::new(head);
    // Number < threshold, from the least significant plane up.
    let mut less = _mm256_setzero_si256();
    for p in (0..8).rev() {
        let number = load_bytes(&unit[8 * (p + 1) + chunk]);
        let threshold = columns.look_up(&THRESHOLDS[p]);
        let at_most = _mm256_cmpeq_epi8(_mm256_min_epu8(number, threshold), number);
        let equal = _mm256_cmpeq_epi8(number, threshold);
        less = _mm256_blendv_epi8(at_most, less, equal);
    }
    let magnitude = _mm256_blendv_epi8(columns.look_up(&ALIASES), columns.column, less);
    let bit = _mm256_set1_epi8(0x40);
    let negative = _mm256_cmpeq_epi8(_mm256_and_si256(head, bit), bit);
    _mm256_sub_epi8(_mm256_xor_si256(magnitude, negative), negative)
}

/// 256 samples of the small width.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn sample_small(bytes: &[u8; SMALL_BYTES], out: &mut [u64; 256]) {
    let out = vectors_mut!(out);
    let mut signed = [0; 32];
    for (chunk, out) in out.chunks_exact_mut(8).enumerate() {
        store_bytes(&mut signed, samples(unit(bytes), chunk));
        for (out, signed) in out.iter_mut().zip(signed.chunks_exact(4)) {
            let four = i32::from_le_bytes(signed.first_chunk().copied().unwrap_or_default());
            store(
                out,
                add_if_negative(_mm256_cvtepi8_epi64(_mm_cvtsi32_si128(four))),
            );
        }
    }
    signed.zeroize();
}

/// 256 samples of the wide width.
///
/// # Bounds
/// Sums of integer products below 2^42 in double precision: exact.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn sample_wide(bytes: &[u8; WIDE_BYTES], out: &mut [u64; 256]) {
    let out = vectors_mut!(out);
    let mut signed = [0; 32];
    let (units, _) = bytes.as_chunks::<SMALL_BYTES>();
    for (chunk, out) in out.chunks_exact_mut(8).enumerate() {
        let mut sums = [_mm256_setzero_pd(); 8];
        for (bytes, &factor) in units.iter().zip(&LEAF_FACTORS) {
            let factor = _mm256_set1_pd(factor as f64);
            store_bytes(&mut signed, samples(unit(bytes), chunk));
            for (sum, signed) in sums.iter_mut().zip(signed.chunks_exact(4)) {
                let four = i32::from_le_bytes(signed.first_chunk().copied().unwrap_or_default());
                let x = _mm256_cvtepi32_pd(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(four)));
                *sum = _mm256_fmadd_pd(factor, x, *sum);
            }
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            store(out, to_residue(sum));
        }
    }
    signed.zeroize();
}

/// A unit as 72 vectors: vector 8p + c is part c of plane p.
#[inline(always)]
fn unit(bytes: &[u8; SMALL_BYTES]) -> &[[u8; 32]; SMALL_BYTES / 32] {
    let (chunks, _) = bytes.as_chunks::<32>();
    // 2,304 bytes are 72 chunks; the fallback is never taken.
    chunks.first_chunk().unwrap_or(&[[0; 32]; SMALL_BYTES / 32])
}
