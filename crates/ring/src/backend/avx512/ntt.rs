//! 52-bit Shoup transforms, arithmetic modulo 2^52.
//!
//! # Source
//! `spec/pulsar-speed.md` 3.1 and 3.2.
//!
//! # Bounds
//! In multiples of q, where 2^52 = 15.99q. A Shoup product of any 52-bit value is below 2q.
//! Forward: input at most 1.99q, layer k gives at most 1.99q + 2kq, so the factors of all eight
//! layers are below 2^52. The last layer would reach 17.99q: its operands are masked first, and the
//! sums are then true 64-bit integers. Inverse: input at most q; the first layer gives 2q, the next
//! six add 2q each (14q); before the last the additive operand is reduced to 10q, so that 12q is
//! the most the final product reads.

use core::arch::x86_64::*;

use super::{MASK_52, canonical, load, splat, store, subtract_once, vectors, vectors_mut};
use crate::modulus::{self, Q};
use crate::ntt::{Scale, Unscale};
use crate::tables::{FORWARD, PSI, bit_reverse, pow_mod, powers, scaled};

/// Factors and quotients floor(w·2^52/q) of `V` vectors.
#[repr(C, align(64))]
struct Table<const V: usize> {
    w: [[u64; 8]; V],
    quotient: [[u64; 8]; V],
}

impl<const V: usize> Table<V> {
    const fn new(w: [[u64; 8]; V]) -> Self {
        let mut quotient = [[0; 8]; V];
        let mut v = 0;
        while v < V {
            let mut lane = 0;
            while lane < 8 {
                quotient[v][lane] = shoup_52(w[v][lane]);
                lane += 1;
            }
            v += 1;
        }
        Self { w, quotient }
    }

    /// The pair of vector `v`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn pair(&self, v: usize) -> Pair {
        Pair {
            w: load(&self.w[v]),
            quotient: load(&self.quotient[v]),
        }
    }
}

/// A factor and its quotient in registers.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    w: __m512i,
    quotient: __m512i,
}

/// A factor of the last forward layer: k for the additive operand, wk for the other.
struct Last {
    k: [u64; 2],
    table: Table<16>,
}

const fn shoup_52(w: u64) -> u64 {
    (((w as u128) << 52) / (Q as u128)) as u64
}

/// Twiddles of an in-vector layer with `blocks` blocks: lane l of pair p takes
/// F[blocks + stride·p + pattern[l]].
const fn lanes(source: &[u64; 256], blocks: usize, pattern: [usize; 8]) -> [[u64; 8]; 16] {
    let mut out = [[0; 8]; 16];
    let mut p = 0;
    while p < 16 {
        let mut lane = 0;
        while lane < 8 {
            out[p][lane] = source[blocks + blocks / 16 * p + pattern[lane]];
            lane += 1;
        }
        p += 1;
    }
    out
}

const fn last(scale: u64) -> Last {
    let table = scaled(&FORWARD, scale, Q);
    Last {
        k: [scale, shoup_52(scale)],
        table: Table::new(lanes(&table, 128, [0, 1, 4, 5, 2, 3, 6, 7])),
    }
}

/// Broadcast factors of the first five layers: entry i for F[i].
static HEAD: [[u64; 2]; 32] = {
    let mut out = [[0; 2]; 32];
    let mut i = 0;
    while i < 32 {
        out[i] = [FORWARD[i], shoup_52(FORWARD[i])];
        i += 1;
    }
    out
};
static LAYER_32: Table<16> = Table::new(lanes(&FORWARD, 32, [0, 0, 0, 0, 1, 1, 1, 1]));
static LAYER_64: Table<16> = Table::new(lanes(&FORWARD, 64, [0, 0, 2, 2, 1, 1, 3, 3]));
static LAST_1: Last = last(1);
static LAST_R52: Last = last(modulus::R52);
static LAST_R64: Last = last(modulus::R64);
static LAST_R116: Last = last(modulus::R116);

/// Powers of omega^-1 = psi^-2 in natural order.
const OMEGA_INVERSE: [u64; 128] = powers(1, pow_mod(PSI, 510, Q), Q);

/// Factors of the inverse layer with half-length L: omega^-(128/L)j for the `V` vectors of j, or
/// with the lane pattern of an in-vector layer.
const fn inverse_layer<const V: usize>(half: usize, pattern: [usize; 8]) -> Table<V> {
    let mut out = [[0; 8]; V];
    let mut v = 0;
    while v < V {
        let mut lane = 0;
        while lane < 8 {
            out[v][lane] = OMEGA_INVERSE[128 / half * (8 * v + pattern[lane])];
            lane += 1;
        }
        v += 1;
    }
    Table::new(out)
}

const NATURAL: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
static INVERSE_2: Table<1> = inverse_layer(2, [0, 0, 0, 0, 1, 1, 1, 1]);
static INVERSE_4: Table<1> = inverse_layer(4, [0, 0, 1, 1, 2, 2, 3, 3]);
static INVERSE_8: Table<1> = inverse_layer(8, NATURAL);
static INVERSE_16: Table<2> = inverse_layer(16, NATURAL);
static INVERSE_32: Table<4> = inverse_layer(32, NATURAL);
static INVERSE_64: Table<8> = inverse_layer(64, NATURAL);
static INVERSE_128: Table<16> = inverse_layer(128, NATURAL);

/// c_i = 2^-bits·n^-1·psi^-i.
const fn untwist(bits: u64) -> Table<32> {
    let start = modulus::inv(modulus::pow(2, 8 + bits));
    let flat: [u64; 256] = powers(start, pow_mod(PSI, 511, Q), Q);
    let mut out = [[0; 8]; 32];
    let mut i = 0;
    while i < 256 {
        out[i / 8][i % 8] = flat[i];
        i += 1;
    }
    Table::new(out)
}

static UNTWIST_1: Table<32> = untwist(0);
static UNTWIST_R52: Table<32> = untwist(52);
static UNTWIST_R64: Table<32> = untwist(64);
static UNTWIST_R128: Table<32> = untwist(128);

const _: () = assert!(bit_reverse(1, 256) == 128 && FORWARD[1] == 201_661_491_647_113);
const _: () = assert!(shoup_52(FORWARD[1]) == 3_226_583_866_136_639);

/// How the last layer ends.
const CANONICAL: u8 = 0;
const LAZY: u8 = 1;
const SCALED: u8 = 2;
const SCALED_LAZY: u8 = 3;

/// Forward transform; input at most 1.99q, output canonical, times the scale.
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
pub(crate) fn forward(input: &[u64; 256], scale: Scale, out: &mut [u64; 256]) {
    match scale {
        Scale::One => transform::<CANONICAL>(input, &LAST_1, out),
        Scale::R52 => transform::<SCALED>(input, &LAST_R52, out),
        Scale::R64 => transform::<SCALED>(input, &LAST_R64, out),
        Scale::R116 => transform::<SCALED>(input, &LAST_R116, out),
    }
}

/// Forward transform; input at most 1.99q, output below 9q, times the scale.
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
pub(crate) fn forward_lazy(input: &[u64; 256], scale: Scale, out: &mut [u64; 256]) {
    match scale {
        Scale::One => transform::<LAZY>(input, &LAST_1, out),
        Scale::R52 => transform::<SCALED_LAZY>(input, &LAST_R52, out),
        Scale::R64 => transform::<SCALED_LAZY>(input, &LAST_R64, out),
        Scale::R116 => transform::<SCALED_LAZY>(input, &LAST_R116, out),
    }
}

/// y·w modulo q, below 2q modulo 2^52, with rubbish above bit 52.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn product(y: __m512i, f: Pair) -> __m512i {
    let zero = _mm512_setzero_si512();
    let h = _mm512_madd52hi_epu64(zero, y, f.quotient);
    let l = _mm512_madd52lo_epu64(zero, y, f.w);
    _mm512_madd52lo_epu64(l, h, splat((1 << 52) - Q))
}

/// (x + wy, x + 2q - wy) modulo 2^52.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn butterfly(x: &mut __m512i, y: &mut __m512i, f: Pair) {
    let r = product(*y, f);
    *y = _mm512_sub_epi64(_mm512_add_epi64(*x, splat(2 * Q)), r);
    *x = _mm512_add_epi64(*x, r);
}

/// A factor k < q in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn constant(k: u64) -> Pair {
    broadcast([k, shoup_52(k)])
}

#[inline]
#[target_feature(enable = "avx512f")]
fn broadcast(pair: [u64; 2]) -> Pair {
    Pair {
        w: splat(pair[0]),
        quotient: splat(pair[1]),
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn mask_52(v: __m512i) -> __m512i {
    _mm512_and_si512(v, splat(MASK_52))
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
fn transform<const END: u8>(input: &[u64; 256], end: &Last, out: &mut [u64; 256]) {
    let input = vectors(input);
    let out = vectors_mut!(out);
    first_pass(input, out);
    for group in 0..4 {
        second_pass::<END>(group, end, out);
    }
}

/// Layers with 1, 2 and 4 blocks, radix 8.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
fn first_pass(input: &[[u64; 8]; 32], out: &mut [[u64; 8]; 32]) {
    let f: [Pair; 8] = core::array::from_fn(|i| broadcast(HEAD[i]));
    for v in 0..4 {
        let mut a: [__m512i; 8] = core::array::from_fn(|i| load(&input[v + 4 * i]));
        let [a0, a1, a2, a3, a4, a5, a6, a7] = &mut a;
        butterfly(a0, a4, f[1]);
        butterfly(a1, a5, f[1]);
        butterfly(a2, a6, f[1]);
        butterfly(a3, a7, f[1]);
        butterfly(a0, a2, f[2]);
        butterfly(a1, a3, f[2]);
        butterfly(a4, a6, f[3]);
        butterfly(a5, a7, f[3]);
        butterfly(a0, a1, f[4]);
        butterfly(a2, a3, f[5]);
        butterfly(a4, a5, f[6]);
        butterfly(a6, a7, f[7]);
        for (i, a) in a.into_iter().enumerate() {
            store(&mut out[v + 4 * i], a);
        }
    }
}

/// Layers with 8 to 128 blocks on eight consecutive vectors, the four pairs in step.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
fn second_pass<const END: u8>(group: usize, end: &Last, out: &mut [[u64; 8]; 32]) {
    let mut x: [__m512i; 4] = core::array::from_fn(|p| load(&out[8 * group + 2 * p]));
    let mut y: [__m512i; 4] = core::array::from_fn(|p| load(&out[8 * group + 2 * p + 1]));
    let block = broadcast(HEAD[8 + 2 * group]);
    let [x0, x1, x2, x3] = &mut x;
    let [y0, y1, y2, y3] = &mut y;
    butterfly(x0, x1, block);
    butterfly(y0, y1, block);
    let block = broadcast(HEAD[9 + 2 * group]);
    butterfly(x2, x3, block);
    butterfly(y2, y3, block);
    for p in 0..4 {
        butterfly(&mut x[p], &mut y[p], broadcast(HEAD[16 + 4 * group + p]));
    }
    for p in 0..4 {
        let low = _mm512_shuffle_i64x2::<0x44>(x[p], y[p]);
        y[p] = _mm512_shuffle_i64x2::<0xEE>(x[p], y[p]);
        x[p] = low;
    }
    for p in 0..4 {
        butterfly(&mut x[p], &mut y[p], LAYER_32.pair(4 * group + p));
    }
    for p in 0..4 {
        let low = _mm512_shuffle_i64x2::<0x88>(x[p], y[p]);
        y[p] = _mm512_shuffle_i64x2::<0xDD>(x[p], y[p]);
        x[p] = low;
    }
    for p in 0..4 {
        butterfly(&mut x[p], &mut y[p], LAYER_64.pair(4 * group + p));
    }
    for p in 0..4 {
        let low = _mm512_unpacklo_epi64(x[p], y[p]);
        y[p] = _mm512_unpackhi_epi64(x[p], y[p]);
        x[p] = low;
    }
    for p in 0..4 {
        last_layer::<END>(&mut x[p], &mut y[p], end, 4 * group + p);
    }
    let even = _mm512_setr_epi64(0, 8, 1, 9, 4, 12, 5, 13);
    let odd = _mm512_setr_epi64(2, 10, 3, 11, 6, 14, 7, 15);
    for p in 0..4 {
        store(
            &mut out[8 * group + 2 * p],
            _mm512_permutex2var_epi64(x[p], even, y[p]),
        );
        store(
            &mut out[8 * group + 2 * p + 1],
            _mm512_permutex2var_epi64(x[p], odd, y[p]),
        );
    }
}

/// The last layer in true 64-bit integers, and the reduction its caller asked for.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
fn last_layer<const END: u8>(x: &mut __m512i, y: &mut __m512i, end: &Last, pair: usize) {
    let additive = if END == SCALED || END == SCALED_LAZY {
        product(*x, broadcast(end.k))
    } else {
        *x
    };
    let additive = mask_52(additive);
    let r = mask_52(product(*y, end.table.pair(pair)));
    let sum = _mm512_add_epi64(additive, r);
    let difference = _mm512_sub_epi64(_mm512_add_epi64(additive, splat(2 * Q)), r);
    *x = finish::<END>(sum);
    *y = finish::<END>(difference);
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
fn finish<const END: u8>(v: __m512i) -> __m512i {
    match END {
        // Below 18q.
        CANONICAL => canonical(v),
        LAZY => subtract_once(v, 8 * Q + Q),
        // Below 4q.
        SCALED => subtract_once(subtract_once(v, 2 * Q), Q),
        _ => v,
    }
}

/// Inverse transform; input canonical (q allowed), output canonical, times n^-1 and the removed
/// scale.
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
pub(crate) fn inverse(input: &[u64; 256], unscale: Unscale, out: &mut [u64; 256]) {
    let untwist = match unscale {
        Unscale::One => &UNTWIST_1,
        Unscale::R52 => &UNTWIST_R52,
        Unscale::R64 => &UNTWIST_R64,
        Unscale::R128 => &UNTWIST_R128,
    };
    let input = vectors(input);
    let out = vectors_mut!(out);
    for group in 0..4 {
        inverse_first_pass(group, input, out);
    }
    for v in 0..8 {
        inverse_second_pass(v, untwist, out);
    }
}

/// Half-lengths 1 to 32 on eight consecutive vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
fn inverse_first_pass(group: usize, input: &[[u64; 8]; 32], out: &mut [[u64; 8]; 32]) {
    let mut x: [__m512i; 4] = core::array::from_fn(|p| load(&input[8 * group + 2 * p]));
    let mut y: [__m512i; 4] = core::array::from_fn(|p| load(&input[8 * group + 2 * p + 1]));
    for p in 0..4 {
        let even = _mm512_unpacklo_epi64(x[p], y[p]);
        let odd = _mm512_unpackhi_epi64(x[p], y[p]);
        // Factor 1: no product.
        x[p] = _mm512_add_epi64(even, odd);
        y[p] = _mm512_sub_epi64(_mm512_add_epi64(even, splat(Q)), odd);
    }
    for layer in [&INVERSE_2, &INVERSE_4] {
        for p in 0..4 {
            let low = _mm512_shuffle_i64x2::<0x88>(x[p], y[p]);
            y[p] = _mm512_shuffle_i64x2::<0xDD>(x[p], y[p]);
            x[p] = low;
        }
        for p in 0..4 {
            butterfly(&mut x[p], &mut y[p], layer.pair(0));
        }
    }
    let low = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    let high = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    for p in 0..4 {
        let first = _mm512_permutex2var_epi64(x[p], low, y[p]);
        y[p] = _mm512_permutex2var_epi64(x[p], high, y[p]);
        x[p] = first;
    }
    for p in 0..4 {
        butterfly(&mut x[p], &mut y[p], INVERSE_8.pair(0));
    }
    let [x0, x1, x2, x3] = &mut x;
    let [y0, y1, y2, y3] = &mut y;
    butterfly(x0, x1, INVERSE_16.pair(0));
    butterfly(y0, y1, INVERSE_16.pair(1));
    butterfly(x2, x3, INVERSE_16.pair(0));
    butterfly(y2, y3, INVERSE_16.pair(1));
    butterfly(x0, x2, INVERSE_32.pair(0));
    butterfly(y0, y2, INVERSE_32.pair(1));
    butterfly(x1, x3, INVERSE_32.pair(2));
    butterfly(y1, y3, INVERSE_32.pair(3));
    for p in 0..4 {
        store(&mut out[8 * group + 2 * p], x[p]);
        store(&mut out[8 * group + 2 * p + 1], y[p]);
    }
}

/// Half-lengths 64 and 128 and the final product on vectors v, v+8, v+16, v+24.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma,avx512dq")]
fn inverse_second_pass(v: usize, untwist: &Table<32>, out: &mut [[u64; 8]; 32]) {
    let mut a: [__m512i; 4] = core::array::from_fn(|i| load(&out[v + 8 * i]));
    let [a0, a1, a2, a3] = &mut a;
    butterfly(a0, a1, INVERSE_64.pair(v));
    butterfly(a2, a3, INVERSE_64.pair(v));
    *a0 = subtract_once(mask_52(*a0), 4 * Q);
    *a1 = subtract_once(mask_52(*a1), 4 * Q);
    butterfly(a0, a2, INVERSE_128.pair(v));
    butterfly(a1, a3, INVERSE_128.pair(v + 8));
    for (i, a) in a.into_iter().enumerate() {
        let r = mask_52(product(a, untwist.pair(v + 8 * i)));
        store(&mut out[v + 8 * i], subtract_once(r, Q));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interval bound of a value, in units of q/1000, propagated symbolically through the layers.
    const UNITS: u64 = 1000;

    /// 2^52 in the same units, rounded down.
    const LIMIT: u64 = ((UNITS as u128 * (1 << 52)) / Q as u128) as u64;

    /// Upper bound of a Shoup product of a value below `y`: q(1 + y/2^52), rounded up.
    fn product_bound(y: u64) -> u64 {
        assert!(y < LIMIT, "a factor may pass 2^52");
        UNITS + (y * UNITS).div_ceil(LIMIT)
    }

    #[test]
    fn every_forward_layer_keeps_its_factors_below_2_to_52() {
        let mut bound = 1990;
        for layer in 1..=8 {
            let r = product_bound(bound);
            assert!(r <= 2 * UNITS, "the offset 2q must cover the product");
            bound = bound.max(bound + r).max(bound + 2 * UNITS);
            if layer < 8 {
                assert!(bound < LIMIT, "layer {layer} reaches {bound}");
            }
        }
        // Masked operands in the last layer make true 64-bit sums: canonical() needs below 2^63.
        assert!(bound <= 18 * UNITS);
        assert!(u128::from(bound) * u128::from(Q) / u128::from(UNITS) < 1 << 63);
        // Lazy: one conditional subtraction of 9q leaves less than 9q, which is a 52-bit factor.
        assert!(bound <= 2 * 9 * UNITS && 9 * UNITS < LIMIT);
        // Scaled: two products below 2q.
        assert!(2 * product_bound(1990 + 14 * UNITS) <= 4 * UNITS);
    }

    #[test]
    fn every_inverse_layer_keeps_its_factors_below_2_to_52() {
        let mut bound = 2 * UNITS;
        for _ in 0..6 {
            assert!(product_bound(bound) <= 2 * UNITS);
            bound += 2 * UNITS;
            assert!(bound < LIMIT);
        }
        assert_eq!(bound, 14 * UNITS);
        let additive = (bound - 4 * UNITS).max(4 * UNITS);
        assert!(product_bound(bound) <= 2 * UNITS);
        let last = additive + 2 * UNITS;
        assert!(last <= 12 * UNITS);
        assert!(product_bound(last) <= 2 * UNITS);
    }

    #[test]
    fn tables_hold_the_published_values() {
        assert_eq!(HEAD[2], [183_785_718_648_321, 2_940_571_498_175_217]);
        assert_eq!(FORWARD[255], 256_803_000_882_919);
        assert_eq!(shoup_52(FORWARD[255]), 4_108_848_013_850_153);
        assert_eq!(UNTWIST_1.w[0][0], 280_375_465_101_751);
        assert_eq!(UNTWIST_1.w[0][1], 252_984_049_311_152);
        assert_eq!(UNTWIST_1.w[31][7], 108_140_661_657_289);
        assert_eq!(UNTWIST_R64.w[0][0], 208_887_111_701_950);
        assert_eq!(UNTWIST_R128.w[0][0], 173_392_939_562_512);
        assert_eq!((1 << 52) - Q, 0xe_ffff_ffff_b5ff);
    }
}
