//! Plain Rust for every operation; the reference the other backends are tested against.

use keccak::Keccak;
use zeroize::Zeroize;

use super::{BLAKE2XB_CHUNK, Block, LANES, LaneState};
use crate::sponge::RATE_256;

pub(super) fn permute(state: &mut [u64; 25]) {
    Keccak::new().with_f1600(|f1600| f1600(state));
}

pub(super) fn absorb(state: &mut [u64; 25], rate: usize, data: &[u8]) {
    for block in data.chunks_exact(rate) {
        for (word, bytes) in state.iter_mut().zip(block.as_chunks::<8>().0) {
            *word ^= u64::from_le_bytes(*bytes);
        }
        permute(state);
    }
}

pub(super) fn absorb_lanes(state: &mut LaneState, lanes: usize, data: &[&[Block]; LANES]) {
    for (lane, blocks) in data.iter().enumerate().take(lanes) {
        with_lane(state, lane, |one| {
            absorb(one, RATE_256, blocks.as_flattened())
        });
    }
}

pub(super) fn squeeze_lanes(state: &mut LaneState, out: [&mut [Block]; LANES]) {
    for (lane, blocks) in out.into_iter().enumerate() {
        with_lane(state, lane, |one| {
            for block in blocks {
                permute(one);
                for (bytes, word) in block.as_chunks_mut::<8>().0.iter_mut().zip(&*one) {
                    *bytes = word.to_le_bytes();
                }
            }
        });
    }
}

pub(super) fn blake2xb_blocks(root: &[u64; 8], first: u32, out: &mut [u8; BLAKE2XB_CHUNK]) {
    let mut message = [0u64; 16];
    message[..8].copy_from_slice(root);
    for (number, block) in out.as_chunks_mut::<64>().0.iter_mut().enumerate() {
        let number = first.wrapping_add(number as u32);
        let hash = blake2b_compress(blake2xb_parameters(number), &message, 64);
        for (bytes, word) in block.as_chunks_mut::<8>().0.iter_mut().zip(hash) {
            *bytes = word.to_le_bytes();
        }
    }
    message.zeroize();
}

/// Parameter words 0 to 2 of output block `number`: digest 64, no key, fanout and depth 0, leaf
/// length 64, inner length 64, output length unknown.
pub(super) fn blake2xb_parameters(number: u32) -> [u64; 3] {
    [
        64 | 64 << 32,
        0xffff_ffff << 32 | u64::from(number),
        64 << 8,
    ]
}

/// BLAKE2b of a one-block message: `parameters` are words 0 to 2 of the parameter block (the rest
/// is zero), `counter` the number of message bytes.
pub(crate) fn blake2b_compress(
    parameters: [u64; 3],
    message: &[u64; 16],
    counter: u64,
) -> [u64; 8] {
    let mut hash = IV;
    for (word, parameter) in hash.iter_mut().zip(parameters) {
        *word ^= parameter;
    }
    let mut v = [0u64; 16];
    v[..8].copy_from_slice(&hash);
    v[8..].copy_from_slice(&IV);
    v[12] ^= counter;
    v[14] = !v[14];
    for round in 0..12 {
        let s = &SIGMA[round % 10];
        let m = |i: usize| message[s[i]];
        mix(&mut v, QUARTERS[0], m(0), m(1));
        mix(&mut v, QUARTERS[1], m(2), m(3));
        mix(&mut v, QUARTERS[2], m(4), m(5));
        mix(&mut v, QUARTERS[3], m(6), m(7));
        mix(&mut v, QUARTERS[4], m(8), m(9));
        mix(&mut v, QUARTERS[5], m(10), m(11));
        mix(&mut v, QUARTERS[6], m(12), m(13));
        mix(&mut v, QUARTERS[7], m(14), m(15));
    }
    for (i, word) in hash.iter_mut().enumerate() {
        *word ^= v[i] ^ v[i + 8];
    }
    v.zeroize();
    hash
}

/// The mixing function G of RFC 7693 section 3.1.
#[inline(always)]
fn mix(v: &mut [u64; 16], [a, b, c, d]: [usize; 4], x: u64, y: u64) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(32);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(24);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(63);
}

/// Runs `f` on a copy of one lane and stores it back.
fn with_lane(state: &mut LaneState, lane: usize, f: impl FnOnce(&mut [u64; 25])) {
    let mut one = [0u64; 25];
    for (word, lanes) in one.iter_mut().zip(&state.words) {
        *word = lanes[lane];
    }
    f(&mut one);
    for (word, lanes) in one.iter().zip(&mut state.words) {
        lanes[lane] = *word;
    }
    one.zeroize();
}

/// Columns, then diagonals.
pub(super) const QUARTERS: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// Initial value of RFC 7693 section 2.6.
pub(super) const IV: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

/// Message word order of each round, RFC 7693 section 2.7.
pub(super) const SIGMA: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
