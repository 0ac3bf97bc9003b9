//! Source shared by the vector backends, as macros: a function inherits no target features from its
//! caller, so each backend instantiates its own copy under its own features.

use crate::backend::Block;

/// Expands to `permute`: Keccak-f\[1600\] on as many states as `$vector` has words.
///
/// The invoking module provides `xor`, `xor3`, `chi` (`a ^ (!b & c)`), `rol::<L, R>` with `L + R =
/// 64` and `splat`. Rows are made in order, each from its five rotated sources, so that 25 words,
/// the five column effects and two temporaries are live: 32 registers. Unrolling rounds is slower.
macro_rules! keccak_f1600 {
    ($features:literal, $vector:ty) => {
        #[inline]
        #[target_feature(enable = $features)]
        fn permute(a: &mut [$vector; 25]) {
            for &constant in &crate::backend::vector::ROUND_CONSTANTS {
                let c0 = xor3(xor3(a[0], a[5], a[10]), a[15], a[20]);
                let c1 = xor3(xor3(a[1], a[6], a[11]), a[16], a[21]);
                let c2 = xor3(xor3(a[2], a[7], a[12]), a[17], a[22]);
                let c3 = xor3(xor3(a[3], a[8], a[13]), a[18], a[23]);
                let c4 = xor3(xor3(a[4], a[9], a[14]), a[19], a[24]);
                let d0 = xor(c4, rol::<1, 63>(c1));
                let d1 = xor(c0, rol::<1, 63>(c2));
                let d2 = xor(c1, rol::<1, 63>(c3));
                let d3 = xor(c2, rol::<1, 63>(c4));
                let d4 = xor(c3, rol::<1, 63>(c0));
                let row0 = [
                    xor(a[0], d0),
                    rol::<44, 20>(xor(a[6], d1)),
                    rol::<43, 21>(xor(a[12], d2)),
                    rol::<21, 43>(xor(a[18], d3)),
                    rol::<14, 50>(xor(a[24], d4)),
                ];
                let row1 = [
                    rol::<28, 36>(xor(a[3], d3)),
                    rol::<20, 44>(xor(a[9], d4)),
                    rol::<3, 61>(xor(a[10], d0)),
                    rol::<45, 19>(xor(a[16], d1)),
                    rol::<61, 3>(xor(a[22], d2)),
                ];
                let row2 = [
                    rol::<1, 63>(xor(a[1], d1)),
                    rol::<6, 58>(xor(a[7], d2)),
                    rol::<25, 39>(xor(a[13], d3)),
                    rol::<8, 56>(xor(a[19], d4)),
                    rol::<18, 46>(xor(a[20], d0)),
                ];
                let row3 = [
                    rol::<27, 37>(xor(a[4], d4)),
                    rol::<36, 28>(xor(a[5], d0)),
                    rol::<10, 54>(xor(a[11], d1)),
                    rol::<15, 49>(xor(a[17], d2)),
                    rol::<56, 8>(xor(a[23], d3)),
                ];
                let row4 = [
                    rol::<62, 2>(xor(a[2], d2)),
                    rol::<55, 9>(xor(a[8], d3)),
                    rol::<39, 25>(xor(a[14], d4)),
                    rol::<41, 23>(xor(a[15], d0)),
                    rol::<2, 62>(xor(a[21], d1)),
                ];
                for (y, row) in [row0, row1, row2, row3, row4].into_iter().enumerate() {
                    for x in 0..5 {
                        a[5 * y + x] = chi(row[x], row[(x + 1) % 5], row[(x + 2) % 5]);
                    }
                }
                a[0] = xor(a[0], splat(constant));
            }
        }
    };
}

/// Expands to `blake2xb_lanes`: output blocks of BLAKE2Xb, one per lane.
///
/// The invoking module provides `xor`, `add`, `ror::<R, L>` with `R + L = 64` and `splat`. Message
/// words 8 to 15 are zero, so their additions are left out at compile time. Every index is a
/// constant after inlining, which keeps the state in registers.
macro_rules! blake2xb_lanes {
    ($features:literal, $vector:ty) => {
        /// The hash vectors of `G` groups of lanes, which run interleaved: the four mixings of a
        /// half round alone do not fill the machine. `numbers` holds each lane's block number.
        #[inline]
        #[target_feature(enable = $features)]
        fn blake2xb_lanes<const G: usize>(
            root: &[u64; 8],
            numbers: [$vector; G],
        ) -> [[$vector; 8]; G] {
            use crate::backend::portable::{IV, blake2xb_parameters};
            let [p0, p1, p2] = blake2xb_parameters(0);
            let m = root.map(|word| splat(word));
            let start = numbers.map(|number| {
                let mut h = IV.map(|word| splat(word));
                h[0] = xor(h[0], splat(p0));
                h[1] = xor(xor(h[1], splat(p1)), number);
                h[2] = xor(h[2], splat(p2));
                h
            });
            let mut v = start.map(|h| {
                let iv = IV.map(|word| splat(word));
                let (counted, last) = (splat(IV[4] ^ 64), splat(!IV[6]));
                [
                    h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], //
                    iv[0], iv[1], iv[2], iv[3], counted, iv[5], last, iv[7],
                ]
            });
            round::<0, G>(&mut v, &m);
            round::<1, G>(&mut v, &m);
            round::<2, G>(&mut v, &m);
            round::<3, G>(&mut v, &m);
            round::<4, G>(&mut v, &m);
            round::<5, G>(&mut v, &m);
            round::<6, G>(&mut v, &m);
            round::<7, G>(&mut v, &m);
            round::<8, G>(&mut v, &m);
            round::<9, G>(&mut v, &m);
            round::<0, G>(&mut v, &m);
            round::<1, G>(&mut v, &m);
            let mut out = start;
            for (h, v) in out.iter_mut().zip(&v) {
                for i in 0..8 {
                    h[i] = xor(h[i], xor(v[i], v[i + 8]));
                }
            }
            out
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn round<const R: usize, const G: usize>(v: &mut [[$vector; 16]; G], m: &[$vector; 8]) {
            half_mixings::<R, 0, 0, G>(v, m);
            half_mixings::<R, 0, 1, G>(v, m);
            half_mixings::<R, 4, 0, G>(v, m);
            half_mixings::<R, 4, 1, G>(v, m);
        }

        /// First (`H` = 0) or second half of the mixings `Q` to `Q + 3`, in every group.
        #[inline]
        #[target_feature(enable = $features)]
        fn half_mixings<const R: usize, const Q: usize, const H: usize, const G: usize>(
            v: &mut [[$vector; 16]; G],
            m: &[$vector; 8],
        ) {
            for v in v {
                half_mixing::<R, H>(v, m, Q);
                half_mixing::<R, H>(v, m, Q + 1);
                half_mixing::<R, H>(v, m, Q + 2);
                half_mixing::<R, H>(v, m, Q + 3);
            }
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn half_mixing<const R: usize, const H: usize>(
            v: &mut [$vector; 16],
            m: &[$vector; 8],
            quarter: usize,
        ) {
            use crate::backend::portable::{QUARTERS, SIGMA};
            let [a, b, c, d] = QUARTERS[quarter];
            let word = SIGMA[R][2 * quarter + H];
            v[a] = add(v[a], v[b]);
            if word < 8 {
                v[a] = add(v[a], m[word]);
            }
            if H == 0 {
                v[d] = ror::<32, 32>(xor(v[d], v[a]));
                v[c] = add(v[c], v[d]);
                v[b] = ror::<24, 40>(xor(v[b], v[c]));
            } else {
                v[d] = ror::<16, 48>(xor(v[d], v[a]));
                v[c] = add(v[c], v[d]);
                v[b] = ror::<63, 1>(xor(v[b], v[c]));
            }
        }
    };
}

/// Expands to the four-lane operations on 256-bit vectors.
///
/// The invoking module provides `permute` on `__m256i` and `xor`. Lanes `column` to `column + 3` of
/// the state take part.
macro_rules! four_lanes {
    ($features:literal) => {
        #[target_feature(enable = $features)]
        pub(in crate::backend) fn absorb4(
            state: &mut LaneState,
            column: usize,
            data: [&[Block]; 4],
        ) {
            let mut a = load_columns(state, column);
            let blocks = data.iter().map(|lane| lane.len()).min().unwrap_or(0);
            for index in 0..blocks {
                let rows = data.map(|lane| &lane[index]);
                for group in 0..4 {
                    let words = transpose4(rows.map(|row| load4(row, 4 * group)));
                    for (i, word) in words.into_iter().enumerate() {
                        a[4 * group + i] = xor(a[4 * group + i], word);
                    }
                }
                a[16] = xor(a[16], from_words(rows.map(last_word)));
                permute(&mut a);
            }
            store_columns(state, column, &a);
        }

        /// Lanes without an output slice are computed and dropped.
        #[target_feature(enable = $features)]
        pub(in crate::backend) fn squeeze4(
            state: &mut LaneState,
            column: usize,
            out: [&mut [Block]; 4],
            blocks: usize,
        ) {
            let mut a = load_columns(state, column);
            let mut unused = [[0u8; RATE_256]; 4];
            let mut out = out.map(|lane| lane.iter_mut());
            for _ in 0..blocks {
                permute(&mut a);
                let mut spare = unused.iter_mut();
                let [r0, r1, r2, r3] = out.each_mut().map(|lane| lane.next().or(spare.next()));
                let (Some(r0), Some(r1), Some(r2), Some(r3)) = (r0, r1, r2, r3) else {
                    return;
                };
                let rows = [r0, r1, r2, r3];
                for group in 0..4 {
                    let words = transpose4([0, 1, 2, 3].map(|i| a[4 * group + i]));
                    for lane in 0..4 {
                        store4(rows[lane], 4 * group, words[lane]);
                    }
                }
                let last = to_words(a[16]);
                for lane in 0..4 {
                    set_last_word(rows[lane], last[lane]);
                }
            }
            store_columns(state, column, &a);
        }
    };
}

/// Word 16 of a block, the one that no full vector covers.
#[inline(always)]
pub(super) fn last_word(block: &Block) -> u64 {
    u64::from_le_bytes(*block.last_chunk().unwrap_or(&[0; 8]))
}

/// Writes word 16 of a block.
#[inline(always)]
pub(super) fn set_last_word(block: &mut Block, word: u64) {
    if let Some(bytes) = block.last_chunk_mut() {
        *bytes = word.to_le_bytes();
    }
}

pub(super) use {blake2xb_lanes, four_lanes, keccak_f1600};

/// Iota constants of FIPS 202 section 3.2.5, as 64-bit words.
pub(super) const ROUND_CONSTANTS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];
