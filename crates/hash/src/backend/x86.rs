//! Entry to the x86-64 backends: the only place where code crosses from "not known" to "has AVX2 or
//! AVX-512". Also the 256-bit loads, stores and transpositions that both use.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use super::{BLAKE2XB_CHUNK, Block, Kind, LANES, LaneState, avx2, avx512};

/// Proof that an instruction set was detected: only [`Isa::detect`] makes one.
#[derive(Clone, Copy)]
pub(super) struct Isa(Set);

#[derive(Clone, Copy)]
enum Set {
    Avx2,
    Avx512,
}

impl Isa {
    pub(super) fn detect(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Avx512 if avx512::available() => Some(Self(Set::Avx512)),
            Kind::Avx2 if avx2::available() => Some(Self(Set::Avx2)),
            _ => None,
        }
    }

    pub(super) fn permute(self, state: &mut [u64; 25]) {
        match self.0 {
            // SAFETY: `detect` found the features.
            Set::Avx2 => unsafe { avx2::one::permute_state(state) },
            // SAFETY: `detect` found the features.
            Set::Avx512 => unsafe { avx512::one::permute_state(state) },
        }
    }

    pub(super) fn absorb<const WORDS: usize>(
        self,
        state: &mut [u64; 25],
        blocks: &[[[u8; 8]; WORDS]],
    ) {
        match self.0 {
            // SAFETY: `detect` found the features.
            Set::Avx2 => unsafe { avx2::one::absorb(state, blocks) },
            // SAFETY: `detect` found the features.
            Set::Avx512 => unsafe { avx512::one::absorb(state, blocks) },
        }
    }

    pub(super) fn absorb_lanes(self, state: &mut LaneState, lanes: usize, data: [&[Block]; LANES]) {
        let [a, b, c, d, e, f, g, h] = data;
        match self.0 {
            // SAFETY: `detect` found the features.
            Set::Avx2 => unsafe {
                avx2::absorb4(state, 0, [a, b, c, d]);
                if lanes > 4 {
                    avx2::absorb4(state, 4, [e, f, g, h]);
                }
            },
            // SAFETY: `detect` found the features.
            Set::Avx512 if lanes <= 4 => unsafe {
                avx512::four::absorb4(state, 0, [a, b, c, d]);
            },
            // SAFETY: `detect` found the features.
            Set::Avx512 if data.iter().all(|lane| core::ptr::eq(*lane, a)) => unsafe {
                avx512::eight::absorb8_same(state, a);
            },
            // SAFETY: `detect` found the features.
            Set::Avx512 => unsafe { avx512::eight::absorb8(state, data) },
        }
    }

    pub(super) fn squeeze_lanes(
        self,
        state: &mut LaneState,
        lanes: usize,
        out: [&mut [Block]; LANES],
        blocks: usize,
    ) {
        match self.0 {
            Set::Avx2 => {
                let [a, b, c, d, e, f, g, h] = out;
                // SAFETY: `detect` found the features.
                unsafe {
                    avx2::squeeze4(state, 0, [a, b, c, d], blocks);
                    if lanes > 4 {
                        avx2::squeeze4(state, 4, [e, f, g, h], blocks);
                    }
                }
            }
            Set::Avx512 if lanes <= 4 => {
                let [a, b, c, d, ..] = out;
                // SAFETY: `detect` found the features.
                unsafe { avx512::four::squeeze4(state, 0, [a, b, c, d], blocks) };
            }
            // SAFETY: `detect` found the features.
            Set::Avx512 => unsafe { avx512::eight::squeeze8(state, out, blocks) },
        }
    }

    pub(super) fn blake2xb(self, root: &[u64; 8], first: u32, out: &mut [u8; BLAKE2XB_CHUNK]) {
        match self.0 {
            // SAFETY: `detect` found the features.
            Set::Avx2 => unsafe { avx2::blake2xb(root, first, out) },
            // SAFETY: `detect` found the features.
            Set::Avx512 => unsafe { avx512::eight::blake2xb(root, first, out) },
        }
    }
}

/// Words of lanes `column` to `column + 3`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_columns(state: &LaneState, column: usize) -> [__m256i; 25] {
    state.words.each_ref().map(|words| {
        let words = &words[column..column + 4];
        // SAFETY: `words` is 32 readable bytes; the load needs no alignment.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    })
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store_columns(state: &mut LaneState, column: usize, a: &[__m256i; 25]) {
    for (words, vector) in state.words.iter_mut().zip(a) {
        let words = &mut words[column..column + 4];
        // SAFETY: `words` is 32 writable bytes; the store needs no alignment.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), *vector) };
    }
}

/// Words `first` to `first + 3` of a block.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load4(block: &Block, first: usize) -> __m256i {
    let bytes = &block[8 * first..8 * first + 32];
    // SAFETY: `bytes` is 32 readable bytes; the load needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store4(block: &mut [u8], first: usize, words: __m256i) {
    let bytes = &mut block[8 * first..8 * first + 32];
    // SAFETY: `bytes` is 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), words) };
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn from_words(words: [u64; 4]) -> __m256i {
    let [a, b, c, d] = words.map(u64::cast_signed);
    _mm256_set_epi64x(d, c, b, a)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn to_words(vector: __m256i) -> [u64; 4] {
    let mut words = [0u64; 4];
    // SAFETY: `words` is 32 writable bytes; the store needs no alignment.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) };
    words
}

/// Transposes four rows of four words.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn transpose4([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    let (s, t) = (_mm256_unpacklo_epi64(a, b), _mm256_unpacklo_epi64(c, d));
    let (u, v) = (_mm256_unpackhi_epi64(a, b), _mm256_unpackhi_epi64(c, d));
    [
        _mm256_permute2x128_si256::<0x20>(s, t),
        _mm256_permute2x128_si256::<0x20>(u, v),
        _mm256_permute2x128_si256::<0x31>(s, t),
        _mm256_permute2x128_si256::<0x31>(u, v),
    ]
}
