//! Ternary polynomials of fixed weight: the challenge.

use super::ByteSource;
use crate::modulus::Q;
use crate::poly::{N, Poly};

/// A polynomial with `weight` coefficients ±1 (at most 256), the others 0; canonical.
///
/// # Source
/// `spec/pulsar.md` 3.5.
#[must_use]
pub fn ternary(source: &mut impl ByteSource, weight: usize) -> Poly {
    let weight = weight.min(N);
    let mut signs = [0; N / 8];
    let signs = &mut signs[..weight.div_ceil(8)];
    source.fill(signs);
    let mut free: [u8; N] = core::array::from_fn(|i| i as u8);
    let mut poly = Poly::ZERO;
    for k in 0..weight {
        let len = N - k;
        let mask = (usize::MAX >> 1) >> (len.leading_zeros() - 1);
        let j = loop {
            let mut bytes = [0; 4];
            source.fill(&mut bytes);
            let j = u32::from_be_bytes(bytes) as usize & mask;
            if j < len {
                break j;
            }
        };
        let negative = (signs[k / 8] >> (k % 8)) & 1 == 1;
        poly.as_mut_array()[usize::from(free[j])] = if negative { Q - 1 } else { 1 };
        free[j] = free[len - 1];
    }
    poly
}
