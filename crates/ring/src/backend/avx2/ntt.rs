//! Transforms in double precision, radix 4.
//!
//! # Source
//! `spec/pulsar-speed.md` 3.3.
//!
//! # Bounds
//! In multiples of q, where 2^53 = 32q. A product with a constant is within 0.75q as long as the
//! other factor is within 16q. Forward: input at most 1.99q, eight layers add 0.75q each: 8q.
//! Inverse: input at most q, the first layer (factor 1) gives 2q, seven more 7.25q.

use core::arch::x86_64::*;

use super::{
    Pair, center, centered_f64, load, load_f64, product, store, to_f64, to_residue, vectors,
    vectors_mut,
};
use crate::modulus::{self, Q};
use crate::ntt::{Scale, Unscale};
use crate::tables::{FORWARD, PSI, pow_mod, powers, scaled};

/// Centred factors and quotients of `V` vectors.
#[repr(C, align(32))]
struct Table<const V: usize> {
    pairs: [[[f64; 4]; 2]; V],
}

impl<const V: usize> Table<V> {
    const fn new(w: &[[u64; 4]; V]) -> Self {
        let mut pairs = [[[0.0; 4]; 2]; V];
        let mut v = 0;
        while v < V {
            let mut lane = 0;
            while lane < 4 {
                let factor = centered_f64(w[v][lane]);
                pairs[v][0][lane] = factor;
                pairs[v][1][lane] = factor / super::Q_F64;
                lane += 1;
            }
            v += 1;
        }
        Self { pairs }
    }

    /// The pair of vector `v`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn pair(&self, v: usize) -> Pair {
        Pair {
            w: load_f64(&self.pairs[v][0]),
            quotient: load_f64(&self.pairs[v][1]),
        }
    }
}

/// The last forward layer: k for the additive operand, wk for the other.
struct Last {
    k: [f64; 2],
    table: Table<32>,
}

/// Twiddles of an in-vector layer: lane l of pair p takes F[blocks + blocks/32·p + pattern[l]].
const fn lanes(source: &[u64; 256], blocks: usize, pattern: [usize; 4]) -> [[u64; 4]; 32] {
    let mut out = [[0; 4]; 32];
    let mut p = 0;
    while p < 32 {
        let mut lane = 0;
        while lane < 4 {
            out[p][lane] = source[blocks + blocks / 32 * p + pattern[lane]];
            lane += 1;
        }
        p += 1;
    }
    out
}

const fn scalar_pair(w: u64) -> [f64; 2] {
    let factor = centered_f64(w);
    [factor, factor / super::Q_F64]
}

const fn last(scale: u64) -> Last {
    let table = scaled(&FORWARD, scale, Q);
    Last {
        k: scalar_pair(scale),
        table: Table::new(&lanes(&table, 128, [0, 1, 2, 3])),
    }
}

/// Broadcast factors of the first six layers: entry i for F[i].
static HEAD: [[f64; 2]; 64] = {
    let mut out = [[0.0; 2]; 64];
    let mut i = 0;
    while i < 64 {
        out[i] = scalar_pair(FORWARD[i]);
        i += 1;
    }
    out
};
static LAYER_64: Table<32> = Table::new(&lanes(&FORWARD, 64, [0, 0, 1, 1]));
static LAST_1: Last = last(1);
static LAST_R52: Last = last(modulus::R52);
static LAST_R64: Last = last(modulus::R64);
static LAST_R116: Last = last(modulus::R116);

/// Powers of omega^-1 = psi^-2 in natural order.
const OMEGA_INVERSE: [u64; 128] = powers(1, pow_mod(PSI, 510, Q), Q);

/// Factors of the inverse layer with half-length L: omega^-(128/L)j for the `V` vectors of j.
const fn inverse_layer<const V: usize>(half: usize, pattern: [usize; 4]) -> Table<V> {
    let mut out = [[0; 4]; V];
    let mut v = 0;
    while v < V {
        let mut lane = 0;
        while lane < 4 {
            out[v][lane] = OMEGA_INVERSE[128 / half * (4 * v + pattern[lane])];
            lane += 1;
        }
        v += 1;
    }
    Table::new(&out)
}

const NATURAL: [usize; 4] = [0, 1, 2, 3];
static INVERSE_2: Table<1> = inverse_layer(2, [0, 0, 1, 1]);
static INVERSE_4: Table<1> = inverse_layer(4, NATURAL);
static INVERSE_8: Table<2> = inverse_layer(8, NATURAL);
static INVERSE_16: Table<4> = inverse_layer(16, NATURAL);
static INVERSE_32: Table<8> = inverse_layer(32, NATURAL);
static INVERSE_64: Table<16> = inverse_layer(64, NATURAL);
static INVERSE_128: Table<32> = inverse_layer(128, NATURAL);

/// c_i = 2^-bits·n^-1·psi^-i.
const fn untwist(bits: u64) -> Table<64> {
    let start = modulus::inv(modulus::pow(2, 8 + bits));
    let flat: [u64; 256] = powers(start, pow_mod(PSI, 511, Q), Q);
    let mut out = [[0; 4]; 64];
    let mut i = 0;
    while i < 256 {
        out[i / 4][i % 4] = flat[i];
        i += 1;
    }
    Table::new(&out)
}

static UNTWIST_1: Table<64> = untwist(0);
static UNTWIST_R52: Table<64> = untwist(52);
static UNTWIST_R64: Table<64> = untwist(64);
static UNTWIST_R128: Table<64> = untwist(128);

/// Forward transform; input at most 1.99q, output canonical, times the scale.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn forward(input: &[u64; 256], scale: Scale, out: &mut [u64; 256]) {
    match scale {
        Scale::One => transform::<false>(input, &LAST_1, out),
        Scale::R52 => transform::<true>(input, &LAST_R52, out),
        Scale::R64 => transform::<true>(input, &LAST_R64, out),
        Scale::R116 => transform::<true>(input, &LAST_R116, out),
    }
}

/// Forward transform; this backend's cheapest output is canonical.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn forward_lazy(input: &[u64; 256], scale: Scale, out: &mut [u64; 256]) {
    forward(input, scale, out);
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn broadcast(pair: [f64; 2]) -> Pair {
    Pair {
        w: _mm256_set1_pd(pair[0]),
        quotient: _mm256_set1_pd(pair[1]),
    }
}

/// (x + wy, x - wy).
#[inline]
#[target_feature(enable = "avx2,fma")]
fn butterfly(x: &mut __m256d, y: &mut __m256d, f: Pair) {
    let r = product(*y, f);
    *y = _mm256_sub_pd(*x, r);
    *x = _mm256_add_pd(*x, r);
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn store_f64(words: &mut [u64; 4], v: __m256d) {
    store(words, _mm256_castpd_si256(v));
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn load_work(words: &[u64; 4]) -> __m256d {
    _mm256_castsi256_pd(load(words))
}

/// The doubles between the passes live in `out`, as bit patterns.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn transform<const SCALED: bool>(input: &[u64; 256], end: &Last, out: &mut [u64; 256]) {
    let input = vectors(input);
    let out = vectors_mut!(out);
    for v in 0..16 {
        let mut a: [__m256d; 4] = core::array::from_fn(|i| to_f64(load(&input[v + 16 * i])));
        radix_4(&mut a, HEAD[1], [HEAD[2], HEAD[3]]);
        for (i, a) in a.into_iter().enumerate() {
            store_f64(&mut out[v + 16 * i], a);
        }
    }
    for (block, out) in out.chunks_exact_mut(16).enumerate() {
        for v in 0..4 {
            let mut a: [__m256d; 4] = core::array::from_fn(|i| load_work(&out[v + 4 * i]));
            radix_4(
                &mut a,
                HEAD[4 + block],
                [HEAD[8 + 2 * block], HEAD[9 + 2 * block]],
            );
            for (i, a) in a.into_iter().enumerate() {
                store_f64(&mut out[v + 4 * i], a);
            }
        }
    }
    for (block, out) in out.chunks_exact_mut(4).enumerate() {
        let mut a: [__m256d; 4] = core::array::from_fn(|i| load_work(&out[i]));
        radix_4(
            &mut a,
            HEAD[16 + block],
            [HEAD[32 + 2 * block], HEAD[33 + 2 * block]],
        );
        last_layers::<SCALED>(a, end, block, out);
    }
}

/// Two layers on four vectors at equal distances.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn radix_4(a: &mut [__m256d; 4], outer: [f64; 2], inner: [[f64; 2]; 2]) {
    let [a0, a1, a2, a3] = a;
    let f = broadcast(outer);
    butterfly(a0, a2, f);
    butterfly(a1, a3, f);
    butterfly(a0, a1, broadcast(inner[0]));
    butterfly(a2, a3, broadcast(inner[1]));
}

/// The two layers inside vectors, the scale and the canonical form, on two pairs in step.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn last_layers<const SCALED: bool>(
    a: [__m256d; 4],
    end: &Last,
    block: usize,
    out: &mut [[u64; 4]],
) {
    let mut x = [a[0], a[2]];
    let mut y = [a[1], a[3]];
    for p in 0..2 {
        let low = _mm256_permute2f128_pd::<0x20>(x[p], y[p]);
        y[p] = _mm256_permute2f128_pd::<0x31>(x[p], y[p]);
        x[p] = low;
    }
    for p in 0..2 {
        butterfly(&mut x[p], &mut y[p], LAYER_64.pair(2 * block + p));
    }
    for p in 0..2 {
        let low = _mm256_unpacklo_pd(x[p], y[p]);
        y[p] = _mm256_unpackhi_pd(x[p], y[p]);
        x[p] = low;
        if SCALED {
            x[p] = product(x[p], broadcast(end.k));
        }
    }
    for p in 0..2 {
        butterfly(&mut x[p], &mut y[p], end.table.pair(2 * block + p));
    }
    for p in 0..2 {
        let (even, odd) = (center(x[p]), center(y[p]));
        let low = _mm256_unpacklo_pd(even, odd);
        let high = _mm256_unpackhi_pd(even, odd);
        store(
            &mut out[2 * p],
            to_residue(_mm256_permute2f128_pd::<0x20>(low, high)),
        );
        store(
            &mut out[2 * p + 1],
            to_residue(_mm256_permute2f128_pd::<0x31>(low, high)),
        );
    }
}

/// Inverse transform; input canonical (q allowed), output canonical, times n^-1 and the removed
/// scale.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn inverse(input: &[u64; 256], unscale: Unscale, out: &mut [u64; 256]) {
    let untwist = match unscale {
        Unscale::One => &UNTWIST_1,
        Unscale::R52 => &UNTWIST_R52,
        Unscale::R64 => &UNTWIST_R64,
        Unscale::R128 => &UNTWIST_R128,
    };
    let input = vectors(input);
    let out = vectors_mut!(out);
    for (input, out) in input.chunks_exact(4).zip(out.chunks_exact_mut(4)) {
        let a: [__m256d; 4] = core::array::from_fn(|i| to_f64(load(&input[i])));
        for (out, a) in out.iter_mut().zip(inverse_first_layers(a)) {
            store_f64(out, a);
        }
    }
    for out in out.chunks_exact_mut(16) {
        for v in 0..4 {
            let mut a: [__m256d; 4] = core::array::from_fn(|i| load_work(&out[v + 4 * i]));
            inverse_radix_4(&mut a, &INVERSE_16, &INVERSE_32, v);
            for (i, a) in a.into_iter().enumerate() {
                store_f64(&mut out[v + 4 * i], a);
            }
        }
    }
    for v in 0..16 {
        let mut a: [__m256d; 4] = core::array::from_fn(|i| load_work(&out[v + 16 * i]));
        inverse_radix_4(&mut a, &INVERSE_64, &INVERSE_128, v);
        for (i, a) in a.into_iter().enumerate() {
            let r = product(a, untwist.pair(v + 16 * i));
            store(&mut out[v + 16 * i], to_residue(r));
        }
    }
}

/// Half-lengths 1 and 2 inside vectors, 4 and 8 between them.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_first_layers(a: [__m256d; 4]) -> [__m256d; 4] {
    let mut x = [a[0], a[2]];
    let mut y = [a[1], a[3]];
    for p in 0..2 {
        let even = _mm256_unpacklo_pd(x[p], y[p]);
        let odd = _mm256_unpackhi_pd(x[p], y[p]);
        // Factor 1: no product.
        let (sum, difference) = (_mm256_add_pd(even, odd), _mm256_sub_pd(even, odd));
        x[p] = _mm256_permute2f128_pd::<0x20>(sum, difference);
        y[p] = _mm256_permute2f128_pd::<0x31>(sum, difference);
    }
    for p in 0..2 {
        butterfly(&mut x[p], &mut y[p], INVERSE_2.pair(0));
    }
    for p in 0..2 {
        let low = _mm256_unpacklo_pd(x[p], y[p]);
        let high = _mm256_unpackhi_pd(x[p], y[p]);
        x[p] = _mm256_permute4x64_pd::<0b11_01_10_00>(low);
        y[p] = _mm256_permute4x64_pd::<0b11_01_10_00>(high);
    }
    for p in 0..2 {
        butterfly(&mut x[p], &mut y[p], INVERSE_4.pair(0));
    }
    let [x0, x1] = &mut x;
    let [y0, y1] = &mut y;
    butterfly(x0, x1, INVERSE_8.pair(0));
    butterfly(y0, y1, INVERSE_8.pair(1));
    [x[0], y[0], x[1], y[1]]
}

/// Two layers on four vectors at equal distances; `v` is the vector inside the first half-length.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn inverse_radix_4<const A: usize, const B: usize>(
    a: &mut [__m256d; 4],
    first: &Table<A>,
    second: &Table<B>,
    v: usize,
) {
    let [a0, a1, a2, a3] = a;
    butterfly(a0, a1, first.pair(v));
    butterfly(a2, a3, first.pair(v));
    butterfly(a0, a2, second.pair(v));
    butterfly(a1, a3, second.pair(v + A));
}

#[cfg(test)]
mod tests {
    use super::super::Q_F64;

    /// Bound, in multiples of q, of a product with a constant when the other factor is within `y`.
    ///
    /// The quotient is off by half from rounding, by |y·q|·2^-55 from the constant's own rounding
    /// (it is at most 1/2) and by half an ulp of the product.
    fn product_bound(y: f64) -> f64 {
        let quotient = y * Q_F64 / 2.0;
        assert!(y < 16.0);
        0.5 + y * Q_F64 * (-55.0_f64).exp2() + quotient * (-53.0_f64).exp2()
    }

    #[test]
    fn all_integers_stay_exact_in_both_directions() {
        let limit = (53.0_f64).exp2() / Q_F64;
        for (start, layers) in [(1.99, 8), (2.0, 7)] {
            let mut bound = start;
            for _ in 0..layers {
                let r = product_bound(bound);
                assert!(r < 0.75, "product bound {r}");
                bound += r;
                assert!(bound < limit);
            }
            assert!(bound < 8.0);
            // The result of the final product or reduction must be in (-q, q) for to_residue().
            assert!(product_bound(bound) < 1.0);
            assert!(0.5 + bound * Q_F64 * (-52.0_f64).exp2() * 2.0 / Q_F64 < 1.0);
        }
    }
}
