//! AVX-512: eight states in 512-bit registers, four in 256-bit ones, one in 128-bit ones.
//!
//! Rotates and three-input logic exist for every width, so a permutation takes the same time for one
//! state as for four; for eight too where the core has full 512-bit units, else up to twice that.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::{BLAKE2XB_CHUNK, Block, LANES, LaneState};
use crate::sponge::RATE_256;

cpufeatures::new!(detection, "avx512f", "avx512vl", "avx512bw", "avx512dq");

pub(super) fn available() -> bool {
    !cfg!(miri) && detection::get()
}

/// The operations of one state. Callers check [`available`] first.
pub(super) mod one {
    use super::*;

    crate::backend::vector::keccak_f1600!("avx512f,avx512vl", __m128i);

    #[target_feature(enable = "avx512f,avx512vl")]
    pub(in crate::backend) fn permute_state(state: &mut [u64; 25]) {
        let mut a = state.map(|word| load(word));
        permute(&mut a);
        store(state, &a);
    }

    /// Absorbs whole blocks of `WORDS` words.
    #[target_feature(enable = "avx512f,avx512vl")]
    pub(in crate::backend) fn absorb<const WORDS: usize>(
        state: &mut [u64; 25],
        blocks: &[[[u8; 8]; WORDS]],
    ) {
        let mut a = state.map(|word| load(word));
        for block in blocks {
            for (word, bytes) in a.iter_mut().zip(block) {
                *word = xor(*word, load(u64::from_le_bytes(*bytes)));
            }
            permute(&mut a);
        }
        store(state, &a);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn load(word: u64) -> __m128i {
        _mm_cvtsi64_si128(word.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn store(state: &mut [u64; 25], a: &[__m128i; 25]) {
        for (word, vector) in state.iter_mut().zip(a) {
            *word = _mm_cvtsi128_si64(*vector).cast_unsigned();
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn splat(word: u64) -> __m128i {
        load(word)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn xor(a: __m128i, b: __m128i) -> __m128i {
        _mm_xor_si128(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn xor3(a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        _mm_ternarylogic_epi64::<0x96>(a, b, c)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn chi(a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        _mm_ternarylogic_epi64::<0xd2>(a, b, c)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn rol<const L: i32, const R: i32>(a: __m128i) -> __m128i {
        _mm_rol_epi64::<L>(a)
    }
}

/// The operations of four states. Callers check [`available`] first.
pub(super) mod four {
    use super::*;
    use crate::backend::vector::{last_word, set_last_word};
    use crate::backend::x86::{
        from_words, load_columns, load4, store_columns, store4, to_words, transpose4,
    };

    crate::backend::vector::keccak_f1600!("avx512f,avx512vl", __m256i);
    crate::backend::vector::four_lanes!("avx512f,avx512vl");

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn splat(word: u64) -> __m256i {
        _mm256_set1_epi64x(word.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn xor(a: __m256i, b: __m256i) -> __m256i {
        _mm256_xor_si256(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn xor3(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        _mm256_ternarylogic_epi64::<0x96>(a, b, c)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn chi(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        _mm256_ternarylogic_epi64::<0xd2>(a, b, c)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn rol<const L: i32, const R: i32>(a: __m256i) -> __m256i {
        _mm256_rol_epi64::<L>(a)
    }
}

/// The operations of eight states. Callers check [`available`] first.
pub(super) mod eight {
    use super::*;
    use crate::backend::vector::{last_word, set_last_word};

    crate::backend::vector::keccak_f1600!("avx512f,avx512vl", __m512i);
    crate::backend::vector::blake2xb_lanes!("avx512f,avx512vl", __m512i);

    #[target_feature(enable = "avx512f,avx512vl")]
    pub(in crate::backend) fn absorb8(state: &mut LaneState, data: [&[Block]; LANES]) {
        let mut a = load_state(state);
        let blocks = data.iter().map(|lane| lane.len()).min().unwrap_or(0);
        for index in 0..blocks {
            let rows = data.map(|lane| &lane[index]);
            for group in 0..2 {
                let words = transpose8(rows.map(|row| load8(row, 8 * group)));
                for (i, word) in words.into_iter().enumerate() {
                    a[8 * group + i] = xor(a[8 * group + i], word);
                }
            }
            a[16] = xor(a[16], from_words(rows.map(last_word)));
            permute(&mut a);
        }
        store_state(state, &a);
    }

    /// Absorbs the same blocks into all lanes: no transposition is needed.
    #[target_feature(enable = "avx512f,avx512vl")]
    pub(in crate::backend) fn absorb8_same(state: &mut LaneState, blocks: &[Block]) {
        let mut a = load_state(state);
        for block in blocks {
            for (vector, bytes) in a.iter_mut().zip(block.as_chunks::<8>().0) {
                *vector = xor(*vector, splat(u64::from_le_bytes(*bytes)));
            }
            permute(&mut a);
        }
        store_state(state, &a);
    }

    /// Lanes without an output slice are computed and dropped.
    #[target_feature(enable = "avx512f,avx512vl")]
    pub(in crate::backend) fn squeeze8(
        state: &mut LaneState,
        out: [&mut [Block]; LANES],
        blocks: usize,
    ) {
        let mut a = load_state(state);
        let mut unused = [[0u8; RATE_256]; LANES];
        let mut out = out.map(|lane| lane.iter_mut());
        for _ in 0..blocks {
            permute(&mut a);
            let mut spare = unused.iter_mut();
            let [r0, r1, r2, r3, r4, r5, r6, r7] =
                out.each_mut().map(|lane| lane.next().or(spare.next()));
            let (Some(r0), Some(r1), Some(r2), Some(r3)) = (r0, r1, r2, r3) else {
                return;
            };
            let (Some(r4), Some(r5), Some(r6), Some(r7)) = (r4, r5, r6, r7) else {
                return;
            };
            let rows = [r0, r1, r2, r3, r4, r5, r6, r7];
            for group in 0..2 {
                let words = transpose8([0, 1, 2, 3, 4, 5, 6, 7].map(|i| a[8 * group + i]));
                for lane in 0..LANES {
                    store8(rows[lane], 8 * group, words[lane]);
                }
            }
            let last = to_words(a[16]);
            for lane in 0..LANES {
                set_last_word(rows[lane], last[lane]);
            }
        }
        store_state(state, &a);
    }

    #[target_feature(enable = "avx512f,avx512vl")]
    pub(in crate::backend) fn blake2xb(
        root: &[u64; 8],
        first: u32,
        out: &mut [u8; BLAKE2XB_CHUNK],
    ) {
        let number = |lane: u32| u64::from(first.wrapping_add(lane));
        let low = from_words([0, 1, 2, 3, 4, 5, 6, 7].map(number));
        let high = from_words([8, 9, 10, 11, 12, 13, 14, 15].map(number));
        let groups = blake2xb_lanes::<2>(root, [low, high]);
        let (halves, _) = out.as_chunks_mut::<{ BLAKE2XB_CHUNK / 2 }>();
        for (half, hash) in halves.iter_mut().zip(groups) {
            for (block, row) in half
                .as_chunks_mut::<64>()
                .0
                .iter_mut()
                .zip(transpose8(hash))
            {
                // SAFETY: `block` is 64 writable bytes; the store needs no alignment.
                unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), row) };
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn load_state(state: &LaneState) -> [__m512i; 25] {
        state.words.each_ref().map(|words| {
            // SAFETY: `words` is 64 readable bytes; the load needs no alignment.
            unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
        })
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn store_state(state: &mut LaneState, a: &[__m512i; 25]) {
        for (words, vector) in state.words.iter_mut().zip(a) {
            // SAFETY: `words` is 64 writable bytes; the store needs no alignment.
            unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), *vector) };
        }
    }

    /// Words `first` to `first + 7` of a block.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn load8(block: &Block, first: usize) -> __m512i {
        let bytes = &block[8 * first..8 * first + 64];
        // SAFETY: `bytes` is 64 readable bytes; the load needs no alignment.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn store8(block: &mut Block, first: usize, words: __m512i) {
        let bytes = &mut block[8 * first..8 * first + 64];
        // SAFETY: `bytes` is 64 writable bytes; the store needs no alignment.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), words) };
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn from_words(words: [u64; 8]) -> __m512i {
        let [a, b, c, d, e, f, g, h] = words.map(u64::cast_signed);
        _mm512_set_epi64(h, g, f, e, d, c, b, a)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn to_words(vector: __m512i) -> [u64; 8] {
        let mut words = [0u64; 8];
        // SAFETY: `words` is 64 writable bytes; the store needs no alignment.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), vector) };
        words
    }

    /// Transposes eight rows of eight words in 24 shuffles.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn transpose8(rows: [__m512i; 8]) -> [__m512i; 8] {
        let pairs = [0, 2, 4, 6].map(|i| {
            let (a, b) = (rows[i], rows[i + 1]);
            [_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)]
        });
        let mut columns = rows;
        for odd in 0..2 {
            let [a, b, c, d] = pairs.map(|pair| pair[odd]);
            let (s, t) = (
                _mm512_shuffle_i64x2::<0x88>(a, b),
                _mm512_shuffle_i64x2::<0x88>(c, d),
            );
            let (u, v) = (
                _mm512_shuffle_i64x2::<0xdd>(a, b),
                _mm512_shuffle_i64x2::<0xdd>(c, d),
            );
            columns[odd] = _mm512_shuffle_i64x2::<0x88>(s, t);
            columns[odd + 2] = _mm512_shuffle_i64x2::<0x88>(u, v);
            columns[odd + 4] = _mm512_shuffle_i64x2::<0xdd>(s, t);
            columns[odd + 6] = _mm512_shuffle_i64x2::<0xdd>(u, v);
        }
        columns
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn splat(word: u64) -> __m512i {
        _mm512_set1_epi64(word.cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn add(a: __m512i, b: __m512i) -> __m512i {
        _mm512_add_epi64(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn xor(a: __m512i, b: __m512i) -> __m512i {
        _mm512_xor_si512(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn xor3(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        _mm512_ternarylogic_epi64::<0x96>(a, b, c)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn chi(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        _mm512_ternarylogic_epi64::<0xd2>(a, b, c)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn rol<const L: i32, const R: i32>(a: __m512i) -> __m512i {
        _mm512_rol_epi64::<L>(a)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    fn ror<const R: i32, const L: i32>(a: __m512i) -> __m512i {
        _mm512_ror_epi64::<R>(a)
    }
}
