//! What the integration tests share: reading of vector cases, seeded polynomials, a slow oracle.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file includes it and uses a part"
)]

use horizon_ring::{NttMatrix, NttPoly, Poly, Q};
use horizon_testkit::rng::SeededRng;
use horizon_testkit::vectors::{from_hex, to_hex};
use serde_json::Value;
use sha2::{Digest, Sha256};

pub fn cases(file: &Value) -> &Vec<Value> {
    file["cases"].as_array().expect("a list of cases")
}

pub fn bytes(value: &Value) -> Vec<u8> {
    from_hex(value.as_str().expect("a string")).expect("hexadecimal")
}

pub fn hex_word(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().expect("a string"), 16).expect("hexadecimal")
}

/// 256 words as concatenated 16-digit hexadecimal numbers.
pub fn words(value: &Value) -> [u64; 256] {
    let bytes = bytes(value);
    assert_eq!(bytes.len(), 2048);
    core::array::from_fn(|i| {
        u64::from_be_bytes(bytes[8 * i..8 * i + 8].try_into().expect("eight bytes"))
    })
}

pub fn poly_of(value: &Value) -> Poly {
    Poly::from_array_unchecked(words(value))
}

pub fn integer(value: &Value) -> usize {
    let number = value
        .as_u64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()));
    number.expect("an integer") as usize
}

pub fn digest(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

/// Matrix drawn from SHAKE256(label): big-endian words, 49 bits, values below q.
pub fn labelled(label: &str, rows: usize, cols: usize) -> NttMatrix {
    let mut hash = horizon_hash::sponge::Shake256::new();
    hash.update(label.as_bytes());
    let mut stream = hash.finalize();
    let mut word = move || loop {
        let mut bytes = [0; 8];
        stream.read(&mut bytes);
        let value = u64::from_be_bytes(bytes) & ((1 << 49) - 1);
        if value < Q {
            return value;
        }
    };
    NttMatrix::from_fn(rows, cols, |_, _| {
        NttPoly::from_array_unchecked(core::array::from_fn(|_| word()))
    })
}

/// 256 uniform values below `bound`.
pub fn random_words(rng: &mut SeededRng, bound: u64) -> [u64; 256] {
    core::array::from_fn(|_| rng.below(bound))
}

/// 256 values below `bound` (at least q), many of them on the edges.
pub fn edgy_words(rng: &mut SeededRng, bound: u64) -> [u64; 256] {
    let edges = [0, 1, Q / 2, Q / 2 + 1, Q - 1, bound - 1];
    core::array::from_fn(|_| match rng.below(8) {
        kind @ 0..6 => edges[kind as usize],
        _ => rng.below(bound),
    })
}

/// Thresholds and aliases, rebuilt here from the definition of the distribution.
pub struct AliasTable {
    pub threshold: [u64; 64],
    pub alias: [u8; 64],
}

/// Signed samples of one unit by a plain walk through the published tables.
pub fn table_walk(unit: &[u8; 9 * 256]) -> [i64; 256] {
    let table = alias_table();
    core::array::from_fn(|i| {
        let head = unit[i];
        let column = usize::from(head & 63);
        let number = (1..9).fold(0, |n, p| n << 8 | u64::from(unit[256 * p + i]));
        let magnitude = if number < table.threshold[column] {
            i64::from(head & 63)
        } else {
            i64::from(table.alias[column])
        };
        if head & 64 == 0 {
            magnitude
        } else {
            -magnitude
        }
    })
}

/// Wide samples by 64-bit sums.
pub fn leaf_sums(units: &[u8; 20 * 9 * 256]) -> [i64; 256] {
    let mut sums = [0; 256];
    for (unit, factor) in units.as_chunks().0.iter().zip(LEAVES) {
        for (sum, leaf) in sums.iter_mut().zip(table_walk(unit)) {
            *sum += leaf * factor;
        }
    }
    sums
}

pub const LEAVES: [i64; 20] = [
    1,
    3,
    11,
    39,
    139,
    496,
    1771,
    6324,
    22581,
    80630,
    287905,
    1028022,
    3670756,
    13107161,
    46801715,
    167114795,
    596716481,
    2130694407,
    7608066480,
    27166108557,
];

/// Replaces numbers by thresholds, changed in one byte or by one.
pub fn plant_thresholds(rng: &mut SeededRng, bytes: &mut [u8]) {
    let table = alias_table();
    for unit in bytes.chunks_exact_mut(9 * 256) {
        for i in 0..256 {
            let threshold = table.threshold[usize::from(unit[i] & 63)];
            let number = match rng.below(4) {
                0 => threshold,
                1 => threshold.wrapping_sub(1),
                2 => threshold.wrapping_add(1),
                _ => threshold ^ (rng.below(256) << (8 * rng.below(8))),
            };
            for (p, byte) in number.to_be_bytes().into_iter().enumerate() {
                unit[256 * (p + 1) + i] = byte;
            }
        }
    }
}

/// floor(2^70·P(|x| = k)) of the discrete Gaussian of width 6.108..., the deficit added to entry 0.
///
/// Computed with 60 decimal digits; `sampler_statistics.rs` checks them against the density.
pub const WEIGHTS: [u128; 64] = [
    77_107_643_883_913_007_235,
    152_162_396_348_928_513_620,
    146_166_238_547_548_284_889,
    136_693_109_780_622_583_318,
    124_453_179_961_482_302_471,
    110_312_618_400_285_964_458,
    95_192_823_734_993_478_693,
    79_972_937_271_717_720_613,
    65_409_632_032_227_826_532,
    52_083_502_982_118_774_392,
    40_375_553_310_828_689_737,
    30_471_694_758_902_692_761,
    22_388_992_594_449_365_828,
    16_015_198_182_923_561_372,
    11_152_953_796_681_753_871,
    7_561_488_743_679_029_275,
    4_990_965_158_319_237_782,
    3_207_167_094_124_278_685,
    2_006_404_336_453_482_352,
    1_222_011_096_090_042_214,
    724_588_875_630_766_961,
    418_280_863_699_319_152,
    235_073_758_545_325_644,
    128_617_518_882_492_846,
    68_510_308_784_353_180,
    35_528_064_086_135_096,
    17_936_883_331_751_548,
    8_816_216_452_599_166,
    4_218_687_211_129_142,
    1_965_315_275_240_745,
    891_347_301_725_630,
    393_569_558_636_663,
    169_182_666_855_993,
    70_802_738_318_491,
    28_847_226_440_818,
    11_442_420_241_792,
    4_418_669_766_505,
    1_661_211_840_694,
    608_020_625_448,
    216_656_352_201,
    75_159_583_171,
    25_383_828_224,
    8_346_217_510,
    2_671_665_598,
    832_595_998,
    252_607_569,
    74_613_639,
    21_456_056,
    6_006_775,
    1_637_166,
    434_414,
    112_221,
    28223,
    6910,
    1647,
    382,
    86,
    18,
    4,
    0,
    0,
    0,
    0,
    0,
];

/// The alias table of the weights: smalls on one stack, larges on the other, both ascending; the
/// top small is paired with the top large.
pub fn alias_table() -> AliasTable {
    const COLUMN: u128 = 1 << 64;
    let mut rest = WEIGHTS;
    let mut table = AliasTable {
        threshold: [u64::MAX; 64],
        alias: [0; 64],
    };
    let (mut small, mut large): (Vec<usize>, Vec<usize>) =
        (0..64).partition(|&k| WEIGHTS[k] < COLUMN);
    while let (Some(s), Some(&l)) = (small.pop(), large.last()) {
        table.threshold[s] = rest[s] as u64;
        table.alias[s] = l as u8;
        rest[l] -= COLUMN - rest[s];
        if rest[l] < COLUMN {
            large.pop();
            small.push(l);
        }
    }
    table
}

/// The first `len` bytes of the ChaCha20 stream of a key: zero nonce, 32-bit counter from 0.
pub fn chacha20(key: &[u8; 32], len: usize) -> Vec<u8> {
    let mut start = [0_u32; 16];
    start[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
    for (word, bytes) in start[4..12].iter_mut().zip(key.chunks_exact(4)) {
        *word = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    }
    let quarter = |s: &mut [u32; 16], [a, b, c, d]: [usize; 4]| {
        for (x, y, z, turn) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
            s[x] = s[x].wrapping_add(s[y]);
            s[z] = (s[z] ^ s[x]).rotate_left(turn);
        }
    };
    let mut out = Vec::with_capacity(len + 64);
    while out.len() < len {
        let mut state = start;
        for _ in 0..10 {
            for i in 0..4 {
                quarter(&mut state, [i, 4 + i, 8 + i, 12 + i]);
            }
            for i in 0..4 {
                quarter(
                    &mut state,
                    [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4],
                );
            }
        }
        for (word, start) in state.iter().zip(start) {
            out.extend_from_slice(&word.wrapping_add(start).to_le_bytes());
        }
        start[12] += 1;
    }
    out.truncate(len);
    out
}
