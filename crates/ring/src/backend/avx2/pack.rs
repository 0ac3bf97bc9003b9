//! 49-bit unpacking by byte shuffles.
//!
//! # Source
//! `spec/pulsar-speed.md` 7.

use core::arch::x86_64::*;

use super::{splat, store, vectors_mut};
use crate::backend::portable;
use crate::modulus::Q;
use crate::pack::PACKED_BYTES;

/// Packs 256 values below 2^49. Word arithmetic is as good as vectors here.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn pack49(values: &[u64; 256], out: &mut [u8; PACKED_BYTES]) {
    portable::pack::pack49(values, out);
}

/// Unpacks 256 values; false if one of them is not below q.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn unpack49(bytes: &[u8; PACKED_BYTES], out: &mut [u64; 256]) -> bool {
    // Value k of a group starts at bit k of byte 6k and needs seven bytes. The last load starts at
    // byte 33 instead of 36, so that it ends with the group; its values start three bytes further
    // on.
    let low = _mm256_setr_epi8(
        0, 1, 2, 3, 4, 5, 6, -1, 6, 7, 8, 9, 10, 11, 12, -1, //
        0, 1, 2, 3, 4, 5, 6, -1, 6, 7, 8, 9, 10, 11, 12, -1,
    );
    let high = _mm256_setr_epi8(
        0, 1, 2, 3, 4, 5, 6, -1, 6, 7, 8, 9, 10, 11, 12, -1, //
        3, 4, 5, 6, 7, 8, 9, -1, 9, 10, 11, 12, 13, 14, 15, -1,
    );
    let shifts = [
        _mm256_setr_epi64x(0, 1, 2, 3),
        _mm256_setr_epi64x(4, 5, 6, 7),
    ];
    let mut above = _mm256_setzero_si256();
    let mut unpack_all = |out: &mut [u64; 256]| {
        let out = vectors_mut!(out);
        for (out, bytes) in out.chunks_exact_mut(2).zip(bytes.chunks_exact(49)) {
            let pairs = [
                (low, sixteen(bytes, 0), sixteen(bytes, 12)),
                (high, sixteen(bytes, 24), sixteen(bytes, 33)),
            ];
            for ((out, shift), (index, a, b)) in out.iter_mut().zip(shifts).zip(pairs) {
                let words = _mm256_shuffle_epi8(_mm256_set_m128i(b, a), index);
                let v = _mm256_srlv_epi64(words, shift);
                let v = _mm256_and_si256(v, splat((1 << 49) - 1));
                above = _mm256_or_si256(above, _mm256_cmpgt_epi64(v, splat(Q - 1)));
                store(out, v);
            }
        }
    };
    unpack_all(out);
    _mm256_testz_si256(above, above) == 1
}

/// Sixteen bytes of a group from `start` on; `start` is at most 33.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn sixteen(group: &[u8], start: usize) -> __m128i {
    let bytes: &[u8; 16] = group[start..].first_chunk().unwrap_or(&[0; 16]);
    // SAFETY: the reference is valid for reads of 16 bytes, and the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}
