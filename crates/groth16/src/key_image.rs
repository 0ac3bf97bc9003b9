//! The key image: an ML-DSA-65 public key as the circuit takes it.
//!
//! For a polynomial `f` with integer coefficients, `f~[m] = sum_n f_n psi^(n (2m + 1))` with `psi`
//! of order 512 in the scalar field. This is the negacyclic transform: multiplication modulo
//! `X^256 + 1` becomes multiplication point by point, over the scalar field instead of modulo `q`.
//! The image of a key holds the 30 transforms of the matrix `A`, lifted to coefficients of least
//! absolute value, and the 6 transforms of `2^13 t1`.
//!
//! # Source
//! FIPS 204: Algorithm 23 (pkDecode), 30 (RejNTTPoly), 32 (ExpandA), 42 (inverse NTT).

use horizon_hash::sponge::Shake128;

use crate::{fr::Fr, inputs::KEY_IMAGE_LEN};

/// Coefficients of a polynomial.
pub const N: usize = 256;
/// The modulus of ML-DSA.
pub const Q: i64 = 8_380_417;
/// Rows of the matrix, polynomials of `t1`.
pub const K: usize = 6;
/// Columns of the matrix, polynomials of `z`.
pub const L: usize = 5;
/// Bytes of an encoded public key.
pub const PUBLIC_KEY_LEN: usize = 32 + K * N * T1_BITS / 8;

/// A polynomial with signed integer coefficients.
pub type Poly = [i32; N];

/// A public key in the integers: what the ring products of the circuit are about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPolys {
    /// `A`, row by row, 30 polynomials with coefficients in `-(q-1)/2..=(q-1)/2`.
    pub a: Vec<Poly>,
    /// `2^13 t1`, 6 polynomials with coefficients in `0..2^23`.
    pub t: Vec<Poly>,
}

impl KeyPolys {
    /// Decodes and expands an encoded ML-DSA-65 public key; every string is one.
    #[must_use]
    pub fn expand(public_key: &[u8; PUBLIC_KEY_LEN]) -> Self {
        let (rho, packed) = public_key.split_at(32);
        let zetas = zetas();
        let entries = (0..K as u8).flat_map(|row| (0..L as u8).map(move |column| (row, column)));
        let a = entries
            .map(|(row, column)| {
                let mut poly = sample_uniform(rho, column, row);
                inverse_ntt(&mut poly, &zetas);
                poly.map(centre)
            })
            .collect();
        let t = packed.chunks(N * T1_BITS / 8).map(unpack_t1).collect();
        Self { a, t }
    }

    /// The transforms in the order of the public inputs.
    #[must_use]
    pub fn image(&self) -> KeyImage {
        let transform = Transform::new(N);
        let mut elements = Vec::with_capacity(KEY_IMAGE_LEN);
        for poly in self.a.iter().chain(&self.t) {
            elements.extend(transform.forward(poly.iter().map(|&c| i64::from(c))));
        }
        KeyImage { elements }
    }
}

/// The public inputs that stand for one public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyImage {
    elements: Vec<Fr>,
}

impl KeyImage {
    /// The image of an encoded ML-DSA-65 public key. Takes a few milliseconds.
    #[must_use]
    pub fn of(public_key: &[u8; PUBLIC_KEY_LEN]) -> Self {
        KeyPolys::expand(public_key).image()
    }

    /// The image of an empty slot: zeros.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            elements: vec![Fr::ZERO; KEY_IMAGE_LEN],
        }
    }

    /// The 9216 elements in the order of the public inputs.
    #[must_use]
    pub fn elements(&self) -> &[Fr] {
        &self.elements
    }
}

/// The negacyclic transform over the scalar field for one power-of-two length.
#[derive(Clone, Debug)]
pub(crate) struct Transform {
    /// Powers of a root of order twice the length.
    powers: Vec<Fr>,
}

impl Transform {
    /// `len` is a power of two, at most 2^16.
    pub(crate) fn new(len: usize) -> Self {
        // The order is below 2^32, so the root exists.
        let root = Fr::root_of_unity(len.ilog2() + 1).unwrap_or(Fr::ONE);
        let mut powers = vec![Fr::ONE; 2 * len];
        for index in 1..powers.len() {
            powers[index] = powers[index - 1] * root;
        }
        Self { powers }
    }

    /// Number of coefficients and of points.
    pub(crate) const fn len(&self) -> usize {
        self.powers.len() / 2
    }

    /// Weight of coefficient `n` in point `m`.
    #[cfg(feature = "prove")]
    pub(crate) fn weight(&self, n: usize, m: usize) -> Fr {
        self.powers[n * (2 * m + 1) % self.powers.len()]
    }

    /// All points of a polynomial; missing coefficients are zero, surplus ones are ignored.
    pub(crate) fn forward(&self, coefficients: impl IntoIterator<Item = i64>) -> Vec<Fr> {
        let len = self.len();
        let mut points = vec![Fr::ZERO; len];
        // Twisting by psi^n turns the odd powers into the powers of psi^2; the order is reversed
        // bit by bit for the butterflies.
        let shift = usize::BITS - len.ilog2();
        for ((n, coefficient), &twist) in coefficients
            .into_iter()
            .enumerate()
            .zip(&self.powers[..len])
        {
            let place = if len == 1 {
                0
            } else {
                n.reverse_bits() >> shift
            };
            points[place] = Fr::from_i64(coefficient) * twist;
        }
        let mut half = 1;
        while half < len {
            let stride = self.powers.len() / (2 * half);
            for block in points.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for (index, (a, b)) in low.iter_mut().zip(high).enumerate() {
                    let term = *b * self.powers[index * stride];
                    *b = *a - term;
                    *a += term;
                }
            }
            half *= 2;
        }
        points
    }
}

/// RejNTTPoly on `rho || column || row`: coefficients in `0..q`, in the domain of the NTT.
fn sample_uniform(rho: &[u8], column: u8, row: u8) -> [i64; N] {
    let mut hash = Shake128::new();
    hash.update(rho);
    hash.update(&[column, row]);
    let mut stream = hash.finalize();
    let mut poly = [0; N];
    let mut filled = 0;
    // The stream never ends and a candidate is refused with probability below 1/1000, so this ends
    // after five blocks, seldom six.
    while filled < N {
        let mut block = [0; 168];
        stream.read(&mut block);
        for bytes in block.as_chunks::<3>().0 {
            let [low, middle, high] = bytes.map(i64::from);
            let candidate = low | middle << 8 | (high & 0x7f) << 16;
            if candidate < Q
                && let Some(slot) = poly.get_mut(filled)
            {
                *slot = candidate;
                filled += 1;
            }
        }
    }
    poly
}

/// Powers of 1753 in bit-reversed order.
fn zetas() -> [i64; N] {
    let mut powers = [1; N];
    for index in 1..N {
        powers[index] = powers[index - 1] * ROOT % Q;
    }
    core::array::from_fn(|index| powers[index.reverse_bits() >> (usize::BITS - 8)])
}

/// From the domain of the NTT to coefficients in `0..q`.
fn inverse_ntt(poly: &mut [i64; N], zetas: &[i64; N]) {
    let mut half = 1;
    let mut next = N;
    while half < N {
        for block in poly.chunks_exact_mut(2 * half) {
            next -= 1;
            let zeta = Q - zetas[next];
            let (low, high) = block.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                let difference = *a + Q - *b;
                *a = (*a + *b) % Q;
                *b = zeta * difference % Q;
            }
        }
        half *= 2;
    }
    for coefficient in poly {
        *coefficient = *coefficient * N_INVERSE % Q;
    }
}

/// The representative of least absolute value of a residue in `0..q`.
const fn centre(residue: i64) -> i32 {
    // The result is below 2^22 in absolute value.
    (if residue > Q / 2 {
        residue - Q
    } else {
        residue
    }) as i32
}

/// `2^13` times the coefficients of one packed polynomial of `t1`.
fn unpack_t1(packed: &[u8]) -> Poly {
    let mut poly = [0; N];
    for (four, bytes) in poly
        .as_chunks_mut::<4>()
        .0
        .iter_mut()
        .zip(packed.as_chunks::<5>().0)
    {
        let word = bytes
            .iter()
            .rev()
            .fold(0u64, |word, &byte| word << 8 | u64::from(byte));
        for (index, coefficient) in four.iter_mut().enumerate() {
            *coefficient = ((word >> (T1_BITS * index) & 0x3ff) as i32) << DROPPED_BITS;
        }
    }
    poly
}

/// Bits of a coefficient of `t1`.
const T1_BITS: usize = 10;
/// `d`: bits of `t` that the public key leaves out.
const DROPPED_BITS: usize = 13;
/// A root of unity of order 512 modulo `q`.
const ROOT: i64 = 1753;
/// `256^-1` modulo `q`.
const N_INVERSE: i64 = 8_347_681;

#[cfg(test)]
mod tests {
    use horizon_testkit::SeededRng;

    use super::*;

    #[test]
    fn the_transform_agrees_with_its_definition() {
        let mut rng = SeededRng::new(21);
        for len in [1, 2, 8, 256] {
            let transform = Transform::new(len);
            let poly: Vec<i64> = (0..len).map(|_| rng.next().cast_signed() >> 12).collect();
            let points = transform.forward(poly.iter().copied());
            let root = Fr::root_of_unity(len.ilog2() + 1).unwrap();
            for (m, &point) in points.iter().enumerate() {
                let expected: Fr = poly
                    .iter()
                    .enumerate()
                    .map(|(n, &c)| Fr::from_i64(c) * root.pow((n * (2 * m + 1)) as u64))
                    .sum();
                assert_eq!(point, expected, "length {len}, point {m}");
            }
        }
    }

    #[test]
    fn the_transform_turns_negacyclic_products_into_products_of_points() {
        let mut rng = SeededRng::new(22);
        let transform = Transform::new(8);
        let random = |rng: &mut SeededRng| -> Vec<i64> {
            (0..8)
                .map(|_| rng.below(1 << 20).cast_signed() - (1 << 19))
                .collect()
        };
        let (f, g) = (random(&mut rng), random(&mut rng));
        let mut product = [0; 8];
        for (i, a) in f.iter().enumerate() {
            for (j, b) in g.iter().enumerate() {
                product[(i + j) % 8] += if i + j < 8 { a * b } else { -a * b };
            }
        }
        let points = transform.forward(f).into_iter().zip(transform.forward(g));
        let expected: Vec<Fr> = points.map(|(a, b)| a * b).collect();
        assert_eq!(transform.forward(product), expected);
    }
}
