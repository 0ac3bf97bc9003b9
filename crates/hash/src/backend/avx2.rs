//! AVX2: four states in 256-bit registers; one state in general registers with BMI instructions.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::x86::{from_words, load_columns, load4, store_columns, store4, to_words, transpose4};
use super::{BLAKE2XB_CHUNK, Block, LaneState};
use crate::backend::vector::{last_word, set_last_word};
use crate::sponge::RATE_256;

cpufeatures::new!(detection, "avx2", "bmi1", "bmi2");

pub(super) fn available() -> bool {
    !cfg!(miri) && detection::get()
}

crate::backend::vector::keccak_f1600!("avx2", __m256i);
crate::backend::vector::four_lanes!("avx2");
crate::backend::vector::blake2xb_lanes!("avx2", __m256i);

#[target_feature(enable = "avx2")]
pub(super) fn blake2xb(root: &[u64; 8], first: u32, out: &mut [u8; BLAKE2XB_CHUNK]) {
    let (quarters, _) = out.as_chunks_mut::<256>();
    for (quarter, start) in quarters.iter_mut().zip([0u32, 4, 8, 12]) {
        let numbers = [0u32, 1, 2, 3].map(|i| u64::from(first.wrapping_add(start + i)));
        let [hash] = blake2xb_lanes::<1>(root, [from_words(numbers)]);
        for half in 0..2 {
            let rows = transpose4([0, 1, 2, 3].map(|i| hash[4 * half + i]));
            for (block, row) in quarter.as_chunks_mut::<64>().0.iter_mut().zip(rows) {
                store4(block, 4 * half, row);
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(word: u64) -> __m256i {
    _mm256_set1_epi64x(word.cast_signed())
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(a: __m256i, b: __m256i) -> __m256i {
    _mm256_add_epi64(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(a: __m256i, b: __m256i) -> __m256i {
    _mm256_xor_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    xor(xor(a, b), c)
}

#[inline]
#[target_feature(enable = "avx2")]
fn chi(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    xor(a, _mm256_andnot_si256(b, c))
}

#[inline]
#[target_feature(enable = "avx2")]
fn rol<const L: i32, const R: i32>(a: __m256i) -> __m256i {
    _mm256_or_si256(_mm256_slli_epi64::<L>(a), _mm256_srli_epi64::<R>(a))
}

#[inline]
#[target_feature(enable = "avx2")]
fn ror<const R: i32, const L: i32>(a: __m256i) -> __m256i {
    match R {
        32 => _mm256_shuffle_epi32::<0xb1>(a),
        24 => _mm256_shuffle_epi8(a, rotate_bytes(3)),
        16 => _mm256_shuffle_epi8(a, rotate_bytes(2)),
        63 => _mm256_or_si256(_mm256_add_epi64(a, a), _mm256_srli_epi64::<63>(a)),
        _ => _mm256_or_si256(_mm256_srli_epi64::<R>(a), _mm256_slli_epi64::<L>(a)),
    }
}

/// Byte indices that rotate each word right by `count` bytes.
#[inline]
#[target_feature(enable = "avx2")]
fn rotate_bytes(count: u64) -> __m256i {
    const IDENTITY: u64 = 0x0706_0504_0302_0100;
    let low = IDENTITY.rotate_right(8 * count as u32);
    from_words([
        low,
        low | 0x0808_0808_0808_0808,
        low,
        low | 0x0808_0808_0808_0808,
    ])
}

/// The operations of one state. Callers check [`available`] first.
pub(super) mod one {
    crate::backend::vector::keccak_f1600!("bmi1,bmi2", u64);

    #[target_feature(enable = "bmi1,bmi2")]
    pub(in crate::backend) fn permute_state(state: &mut [u64; 25]) {
        permute(state);
    }

    /// Absorbs whole blocks of `WORDS` words.
    #[target_feature(enable = "bmi1,bmi2")]
    pub(in crate::backend) fn absorb<const WORDS: usize>(
        state: &mut [u64; 25],
        blocks: &[[[u8; 8]; WORDS]],
    ) {
        for block in blocks {
            for (word, bytes) in state.iter_mut().zip(block) {
                *word ^= u64::from_le_bytes(*bytes);
            }
            permute(state);
        }
    }

    #[inline(always)]
    fn splat(word: u64) -> u64 {
        word
    }

    #[inline(always)]
    fn xor(a: u64, b: u64) -> u64 {
        a ^ b
    }

    #[inline(always)]
    fn xor3(a: u64, b: u64, c: u64) -> u64 {
        a ^ b ^ c
    }

    #[inline(always)]
    fn chi(a: u64, b: u64, c: u64) -> u64 {
        a ^ (!b & c)
    }

    #[inline(always)]
    fn rol<const L: u32, const R: u32>(a: u64) -> u64 {
        a.rotate_left(L)
    }
}
