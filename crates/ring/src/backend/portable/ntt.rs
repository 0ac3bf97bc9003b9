//! 64-bit Shoup transform in radix-4 passes, generic over the ring so that a toy ring can be tested
//! exhaustively through the same code.
//!
//! # Source
//! `spec/pulsar-speed.md` 3.4, `spec/pulsar.md` 2.1.

use crate::modulus::{self, Q};
use crate::ntt::{Scale, Unscale};
use crate::tables::{FORWARD, Factor, INVERSE, shoup_mul};

/// A negacyclic ring Z_q[X]/(X^N+1) with q = 1 modulo 2N.
pub(crate) trait Ring<const N: usize> {
    /// The prime modulus, below 2^49.
    const Q: u64;
    /// Powers of psi, bit-reversed, with quotients.
    const FORWARD: &'static [Factor; N];
    /// Powers of psi^-1, bit-reversed, with quotients.
    const INVERSE: &'static [Factor; N];

    /// Any 64-bit value to [0, Q).
    fn canonical(v: u64) -> u64;
}

/// The ring of the product.
pub(crate) struct Kernel;

impl Ring<256> for Kernel {
    const Q: u64 = Q;
    const FORWARD: &'static [Factor; 256] = &const { factors(&FORWARD, Q) };
    const INVERSE: &'static [Factor; 256] = &const { factors(&INVERSE, Q) };

    #[inline(always)]
    fn canonical(v: u64) -> u64 {
        modulus::reduce(v)
    }
}

/// Pairs every twiddle with its quotient.
pub(crate) const fn factors<const N: usize>(table: &[u64; N], q: u64) -> [Factor; N] {
    let mut out = [Factor { w: 0, quotient: 0 }; N];
    let mut i = 0;
    while i < N {
        out[i] = Factor::new(table[i], q);
        i += 1;
    }
    out
}

/// Forward transform; input words at most 1.99q, output canonical, times the scale.
pub(crate) fn forward(input: &[u64; 256], scale: Scale, out: &mut [u64; 256]) {
    *out = *input;
    forward_layers::<Kernel, 256>(out);
    match scale {
        Scale::One => canonical_all::<Kernel, 256>(out),
        Scale::R52 => scale_all::<Kernel, 256>(out, const { &Factor::new(modulus::R52, Q) }),
        Scale::R64 => scale_all::<Kernel, 256>(out, const { &Factor::new(modulus::R64, Q) }),
        Scale::R116 => scale_all::<Kernel, 256>(out, const { &Factor::new(modulus::R116, Q) }),
    }
}

/// Forward transform; input words at most 1.99q, output below 9q, times the scale.
pub(crate) fn forward_lazy(input: &[u64; 256], scale: Scale, out: &mut [u64; 256]) {
    if !matches!(scale, Scale::One) {
        return forward(input, scale, out);
    }
    *out = *input;
    forward_layers::<Kernel, 256>(out);
    for v in out {
        // Below 18q: one conditional subtraction of 9q, by the borrow.
        let (low, borrow) = v.overflowing_sub(9 * Q);
        *v = low.wrapping_add((9 * Q) & u64::from(borrow).wrapping_neg());
    }
}

/// Inverse transform; input canonical, output canonical, times n^-1 and the removed scale.
pub(crate) fn inverse(input: &[u64; 256], unscale: Unscale, out: &mut [u64; 256]) {
    *out = *input;
    inverse_layers::<Kernel, 256>(out);
    match unscale {
        Unscale::One => scale_all::<Kernel, 256>(out, const { &last(0) }),
        Unscale::R52 => scale_all::<Kernel, 256>(out, const { &last(52) }),
        Unscale::R64 => scale_all::<Kernel, 256>(out, const { &last(64) }),
        Unscale::R128 => scale_all::<Kernel, 256>(out, const { &last(128) }),
    }
}

/// n^-1·2^-bits.
const fn last(bits: u64) -> Factor {
    Factor::new(modulus::inv(modulus::pow(2, 8 + bits)), Q)
}

/// All layers of the forward transform without a reduction.
///
/// # Bounds
/// Each layer adds at most 2q to a word, whatever the other word: in multiples of q, B at entry
/// becomes B + 2·log2(N).
pub(crate) fn forward_layers<R: Ring<N>, const N: usize>(a: &mut [u64; N]) {
    let mut blocks = 1;
    while blocks * 4 <= N {
        match N / (4 * blocks) {
            64 => forward_pass::<R, N, 64>(a, blocks),
            16 => forward_pass::<R, N, 16>(a, blocks),
            4 => forward_pass::<R, N, 4>(a, blocks),
            1 => forward_pass::<R, N, 1>(a, blocks),
            _ => unreachable_size(),
        }
        blocks *= 4;
    }
}

/// All layers of the inverse transform without a reduction and without n^-1.
///
/// # Bounds
/// Gentleman-Sande sums double: with canonical input, words after layer k are below 2^k·q, so the
/// result is below 256q < 2^57.
pub(crate) fn inverse_layers<R: Ring<N>, const N: usize>(a: &mut [u64; N]) {
    let mut blocks = N / 4;
    while blocks >= 1 {
        match N / (4 * blocks) {
            64 => inverse_pass::<R, N, 64>(a, blocks),
            16 => inverse_pass::<R, N, 16>(a, blocks),
            4 => inverse_pass::<R, N, 4>(a, blocks),
            1 => inverse_pass::<R, N, 1>(a, blocks),
            _ => unreachable_size(),
        }
        blocks /= 4;
    }
}

/// Canonical form of every word.
pub(crate) fn canonical_all<R: Ring<N>, const N: usize>(a: &mut [u64; N]) {
    a.iter_mut().for_each(|v| *v = R::canonical(*v));
}

/// Multiplies every 64-bit word by a constant, canonical result.
pub(crate) fn scale_all<R: Ring<N>, const N: usize>(a: &mut [u64; N], factor: &Factor) {
    let Factor { w, quotient } = *factor;
    a.iter_mut()
        .for_each(|v| *v = R::canonical(shoup_mul(*v, w, quotient, R::Q)));
}

/// Two layers, with `blocks` and 2·`blocks` blocks; `QUARTER` is the distance of the second layer.
#[inline(always)]
fn forward_pass<R: Ring<N>, const N: usize, const QUARTER: usize>(a: &mut [u64; N], blocks: usize) {
    let outer = &R::FORWARD[blocks..2 * blocks];
    let inner = &R::FORWARD[2 * blocks..4 * blocks];
    let chunks = a.chunks_exact_mut(4 * QUARTER);
    for ((chunk, first), second) in chunks.zip(outer).zip(inner.chunks_exact(2)) {
        let (low, high) = chunk.split_at_mut(2 * QUARTER);
        let (x0, x1) = low.split_at_mut(QUARTER);
        let (x2, x3) = high.split_at_mut(QUARTER);
        for (((x0, x1), x2), x3) in x0.iter_mut().zip(x1).zip(x2).zip(x3) {
            let (y0, y2) = butterfly::<R, N>(*x0, *x2, *first);
            let (y1, y3) = butterfly::<R, N>(*x1, *x3, *first);
            (*x0, *x1) = butterfly::<R, N>(y0, y1, second[0]);
            (*x2, *x3) = butterfly::<R, N>(y2, y3, second[1]);
        }
    }
}

/// (x + wy, x - wy), each at most 2q above x.
#[inline(always)]
fn butterfly<R: Ring<N>, const N: usize>(x: u64, y: u64, factor: Factor) -> (u64, u64) {
    let product = shoup_mul(y, factor.w, factor.quotient, R::Q);
    (
        x.wrapping_add(product),
        x.wrapping_add(2 * R::Q).wrapping_sub(product),
    )
}

/// Two layers of the inverse, with 2·`blocks` and `blocks` blocks; `QUARTER` is the first distance.
#[inline(always)]
fn inverse_pass<R: Ring<N>, const N: usize, const QUARTER: usize>(a: &mut [u64; N], blocks: usize) {
    let outer = &R::INVERSE[blocks..2 * blocks];
    let inner = &R::INVERSE[2 * blocks..4 * blocks];
    // Words entering the first of the two layers are below QUARTER·q, entering the second
    // 2·QUARTER·q.
    let offset = QUARTER as u64 * R::Q;
    let chunks = a.chunks_exact_mut(4 * QUARTER);
    for ((chunk, last), first) in chunks.zip(outer).zip(inner.chunks_exact(2)) {
        let (low, high) = chunk.split_at_mut(2 * QUARTER);
        let (x0, x1) = low.split_at_mut(QUARTER);
        let (x2, x3) = high.split_at_mut(QUARTER);
        for (((x0, x1), x2), x3) in x0.iter_mut().zip(x1).zip(x2).zip(x3) {
            let (y0, y1) = unbutterfly::<R, N>(*x0, *x1, first[0], offset);
            let (y2, y3) = unbutterfly::<R, N>(*x2, *x3, first[1], offset);
            (*x0, *x2) = unbutterfly::<R, N>(y0, y2, *last, 2 * offset);
            (*x1, *x3) = unbutterfly::<R, N>(y1, y3, *last, 2 * offset);
        }
    }
}

/// (x + y, (x - y)w) for y at most `offset`; the second is below 2q.
#[inline(always)]
fn unbutterfly<R: Ring<N>, const N: usize>(x: u64, y: u64, f: Factor, offset: u64) -> (u64, u64) {
    let difference = x.wrapping_add(offset).wrapping_sub(y);
    (
        x.wrapping_add(y),
        shoup_mul(difference, f.w, f.quotient, R::Q),
    )
}

/// Ring sizes are powers of four up to 256, chosen at compile time.
fn unreachable_size() {
    debug_assert!(false, "ring degree is not a power of four");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{bit_reverse, pow_mod, twiddles};

    /// Z_17[X]/(X^4+1): 83,521 elements, psi = 2.
    struct Toy4;

    impl Ring<4> for Toy4 {
        const Q: u64 = 17;
        const FORWARD: &'static [Factor; 4] = &const { factors(&twiddles(2, 17), 17) };
        const INVERSE: &'static [Factor; 4] = &const { factors(&twiddles(9, 17), 17) };

        fn canonical(v: u64) -> u64 {
            v % 17
        }
    }

    /// Z_97[X]/(X^16+1): psi of order 32 is 5^3.
    struct Toy16;

    const PSI_16: u64 = pow_mod(5, 3, 97);

    impl Ring<16> for Toy16 {
        const Q: u64 = 97;
        const FORWARD: &'static [Factor; 16] = &const { factors(&twiddles(PSI_16, 97), 97) };
        const INVERSE: &'static [Factor; 16] =
            &const { factors(&twiddles(pow_mod(PSI_16, 95, 97), 97), 97) };

        fn canonical(v: u64) -> u64 {
            v % 97
        }
    }

    fn transform<R: Ring<N>, const N: usize>(mut a: [u64; N]) -> [u64; N] {
        forward_layers::<R, N>(&mut a);
        canonical_all::<R, N>(&mut a);
        a
    }

    fn untransform<R: Ring<N>, const N: usize>(mut a: [u64; N]) -> [u64; N] {
        inverse_layers::<R, N>(&mut a);
        let inverse_n = pow_mod(N as u64, R::Q - 2, R::Q);
        scale_all::<R, N>(&mut a, &Factor::new(inverse_n, R::Q));
        a
    }

    fn schoolbook<const N: usize>(a: &[u64; N], b: &[u64; N], q: u64) -> [u64; N] {
        let mut out = [0; N];
        for (i, &a) in a.iter().enumerate() {
            for (j, &b) in b.iter().enumerate() {
                let term = a * b % q;
                let (k, term) = if i + j < N {
                    (i + j, term)
                } else {
                    (i + j - N, q - term)
                };
                out[k] = (out[k] + term) % q;
            }
        }
        out
    }

    fn product<R: Ring<N>, const N: usize>(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
        let (a, b) = (transform::<R, N>(*a), transform::<R, N>(*b));
        untransform::<R, N>(core::array::from_fn(|i| a[i] * b[i] % R::Q))
    }

    fn element(mut index: u64) -> [u64; 4] {
        core::array::from_fn(|_| {
            let digit = index % 17;
            index /= 17;
            digit
        })
    }

    #[test]
    fn every_toy_element_is_evaluated_at_the_odd_powers_of_psi_and_comes_back() {
        for index in 0..83_521 {
            let a = element(index);
            let slots = transform::<Toy4, 4>(a);
            for (k, &slot) in slots.iter().enumerate() {
                let x = pow_mod(2, 2 * bit_reverse(k, 4) as u64 + 1, 17);
                let value = a.iter().rev().fold(0, |acc, &c| (acc * x + c) % 17);
                assert_eq!(slot, value, "element {index} slot {k}");
            }
            assert_eq!(untransform::<Toy4, 4>(slots), a);
        }
    }

    #[test]
    fn every_toy_element_times_every_monomial_matches_schoolbook() {
        for index in 0..83_521 {
            let a = element(index);
            for k in 0..4 {
                for c in 0..17 {
                    let mut b = [0; 4];
                    b[k] = c;
                    assert_eq!(product::<Toy4, 4>(&a, &b), schoolbook(&a, &b, 17));
                }
            }
        }
    }

    #[test]
    fn toy_products_match_schoolbook_for_a_prime_stride_through_all_pairs() {
        // 83521^2 pairs are too many; a stride coprime to their number visits 1.7 million of them
        // evenly.
        let total = 83_521_u64 * 83_521;
        let mut index = 1;
        for _ in 0..1_700_000 {
            index = (index + 4_104_000_007) % total;
            let (a, b) = (element(index / 83_521), element(index % 83_521));
            assert_eq!(product::<Toy4, 4>(&a, &b), schoolbook(&a, &b, 17));
        }
    }

    #[test]
    fn a_toy_ring_with_two_passes_multiplies_every_pair_of_binomials() {
        for i in 0..16 {
            for j in 0..16 {
                for c in 0..97 {
                    let (mut a, mut b) = ([0; 16], [0; 16]);
                    a[i] = c;
                    a[15 - i] = (a[15 - i] + 96) % 97;
                    b[j] = (c * 5 + 1) % 97;
                    b[(j + 7) % 16] = 96;
                    assert_eq!(product::<Toy16, 16>(&a, &b), schoolbook(&a, &b, 97));
                }
            }
        }
    }
}
