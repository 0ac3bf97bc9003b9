//! 49-bit packing by byte and word permutes: eight values are 49 bytes.
//!
//! # Source
//! `spec/pulsar-speed.md` 7.

use core::arch::x86_64::*;

use super::{load, splat, store, vectors, vectors_mut};
use crate::modulus::Q;
use crate::pack::PACKED_BYTES;

const MASK_49: u64 = (1 << 49) - 1;

/// The 49 bytes of a group.
const GROUP: __mmask64 = (1 << 49) - 1;

/// Packs 256 values below 2^49.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn pack49(values: &[u64; 256], out: &mut [u8; PACKED_BYTES]) {
    // Word j of the output starts at bit 64j, inside value first = floor(64j/49).
    let first = _mm512_setr_epi64(0, 1, 2, 3, 5, 6, 7, 7);
    let second = _mm512_setr_epi64(1, 2, 3, 4, 6, 7, 7, 7);
    let third = _mm512_setr_epi64(2, 3, 4, 5, 7, 7, 7, 7);
    // 64j - 49·first, and 49·(first + 1) - 64j, and 49·(first + 2) - 64j; 64 and more shift all
    // out.
    let right = _mm512_setr_epi64(0, 15, 30, 45, 11, 26, 41, 64);
    let left = _mm512_setr_epi64(49, 34, 19, 4, 38, 23, 64, 64);
    let left_more = _mm512_setr_epi64(98, 83, 68, 53, 87, 72, 64, 64);
    for (values, out) in vectors(values).iter().zip(out.chunks_exact_mut(49)) {
        let v = _mm512_and_si512(load(values), splat(MASK_49));
        let a = _mm512_srlv_epi64(_mm512_permutexvar_epi64(first, v), right);
        let b = _mm512_sllv_epi64(_mm512_permutexvar_epi64(second, v), left);
        let c = _mm512_sllv_epi64(_mm512_permutexvar_epi64(third, v), left_more);
        let packed = _mm512_or_si512(_mm512_or_si512(a, b), c);
        // SAFETY: `out` is valid for writes of 49 bytes, and the mask stores no more than those.
        unsafe { _mm512_mask_storeu_epi8(out.as_mut_ptr().cast(), GROUP, packed) }
    }
}

/// Unpacks 256 values; false if one of them is not below q.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(crate) fn unpack49(bytes: &[u8; PACKED_BYTES], out: &mut [u64; 256]) -> bool {
    // Value k starts at bit k of byte 6k.
    let starts = [0_u8, 6, 12, 18, 24, 30, 36, 42];
    let index: [u8; 64] = core::array::from_fn(|i| starts[i / 8] + (i % 8) as u8);
    let index = super::load_bytes(&index);
    let shift = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    let mut largest = _mm512_setzero_si512();
    let mut store_all = |out: &mut [u64; 256]| {
        let out = vectors_mut!(out);
        for (out, bytes) in out.iter_mut().zip(bytes.chunks_exact(49)) {
            // SAFETY: `bytes` is valid for reads of 49 bytes, and the mask loads only those.
            let packed = unsafe { _mm512_maskz_loadu_epi8(GROUP, bytes.as_ptr().cast()) };
            let words = _mm512_permutexvar_epi8(index, packed);
            let v = _mm512_and_si512(_mm512_srlv_epi64(words, shift), splat(MASK_49));
            largest = _mm512_max_epu64(largest, v);
            store(out, v);
        }
    };
    store_all(out);
    _mm512_cmpge_epu64_mask(largest, splat(Q)) == 0
}
