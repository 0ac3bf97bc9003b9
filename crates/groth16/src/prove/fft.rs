//! Transforms over domains of `2^k` and `3 * 2^k` points.
//!
//! Between values and coefficients nothing is permuted: the inverse transform takes values in
//! natural order and leaves coefficients in an order of its own, which the forward transform takes.
//! The only thing done to coefficients here, the step to the odd coset, knows that order.

use rayon::prelude::*;

use crate::fr::Fr;

/// A multiplicative subgroup with its twiddle factors.
#[derive(Clone, Debug)]
pub struct Domain {
    shape: DomainShape,
    root: Fr,
    /// For each level with blocks of `2 * len` points: the powers `0..len` of the level's root.
    levels: Vec<Vec<Fr>>,
}

/// Number of points of a domain: `2^log2`, times 3 if `tripled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainShape {
    /// Exponent of two.
    pub log2: u32,
    /// Whether the factor 3 is in.
    pub tripled: bool,
}

impl DomainShape {
    /// The smallest domain with room for this many points.
    ///
    /// `None` above [`LOG2_MAX`].
    #[must_use]
    pub fn for_points(points: usize) -> Option<Self> {
        (0..=LOG2_MAX).find_map(|log2| {
            let power = 1_usize << log2;
            // 3 * 2^(log2 - 2) lies between 2^(log2 - 1) and 2^log2.
            if log2 >= 2 && points <= power / 4 * 3 {
                Some(Self {
                    log2: log2 - 2,
                    tripled: true,
                })
            } else if points <= power {
                Some(Self {
                    log2,
                    tripled: false,
                })
            } else {
                None
            }
        })
    }

    /// Number of points.
    #[must_use]
    pub const fn len(self) -> usize {
        let power = 1_usize << self.log2;
        if self.tripled { 3 * power } else { power }
    }

    /// Never: a domain has a point.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        false
    }

    /// A generator of the domain.
    #[must_use]
    pub fn root(self) -> Fr {
        let root = if self.tripled {
            Fr::root_of_unity_of_three(self.log2)
        } else {
            Fr::root_of_unity(self.log2)
        };
        // The exponent is at most LOG2_MAX, below the field's 32.
        root.unwrap_or_default()
    }

    /// The odd coset's offset: its power to the number of points is -1.
    #[must_use]
    pub fn coset_offset(self) -> Fr {
        let next = Self {
            log2: self.log2 + 1,
            ..self
        };
        next.root()
    }
}

impl Domain {
    /// Makes the tables, 32 bytes per point.
    #[must_use]
    pub fn new(shape: DomainShape) -> Self {
        let root = shape.root();
        let base = if shape.tripled { root.pow(3) } else { root };
        let mut levels = Vec::new();
        let mut level_root = base;
        for log2 in (0..shape.log2).rev() {
            levels.push(powers(level_root, 1 << log2));
            level_root = level_root.square();
        }
        Self {
            shape,
            root,
            levels,
        }
    }

    /// Number of points.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.shape.len()
    }

    /// Never: a domain has a point.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// From values on the domain to values on the odd coset, for a polynomial of a degree below the
    /// number of points. `values` has exactly that length.
    pub fn to_odd_coset(&self, values: &mut [Fr]) {
        self.inverse_unscaled(values);
        self.scale_to_coset(values);
        self.forward(values);
    }

    /// Coefficients times the number of points, in the order that [`Domain::forward`] takes.
    fn inverse_unscaled(&self, values: &mut [Fr]) {
        if self.shape.tripled {
            let third = values.len() / 3;
            let (first, rest) = values.split_at_mut(third);
            let (second, third) = rest.split_at_mut(third);
            let zeta = self.root.pow(first.len() as u64);
            let inverse_root = self.root.inverse().unwrap_or_default();
            radix3_inverse([first, second, third], zeta, inverse_root);
            for block in [first, second, third] {
                decimate_frequency(&self.levels, block);
            }
        } else {
            decimate_frequency(&self.levels, values);
        }
    }

    /// Multiplies coefficient `i` by the coset's offset to the `i` and divides by the number of
    /// points.
    fn scale_to_coset(&self, values: &mut [Fr]) {
        let offset = self.shape.coset_offset();
        let scale = Fr::from_u64(self.len() as u64)
            .inverse()
            .unwrap_or_default();
        let block_len = 1_usize << self.shape.log2;
        let (step, factors) = if self.shape.tripled {
            (offset.pow(3), 3)
        } else {
            (offset, 1)
        };
        // Position p of block b holds coefficient `factors * reverse(p) + b`. The powers by reversed
        // position are products of one factor per bit.
        let log2 = self.shape.log2;
        for (block, b) in values.chunks_mut(block_len).zip(0..factors) {
            let start = scale * offset.pow(b);
            let chunk = block_len.min(1 << 12);
            let chunk_log2 = chunk.trailing_zeros();
            let low = reversed_powers(step.pow(1 << (log2 - chunk_log2)), chunk_log2);
            block
                .par_chunks_mut(chunk)
                .enumerate()
                .for_each(|(at, part)| {
                    let high = reverse(at, log2 - chunk_log2);
                    let factor = start * step.pow(high as u64);
                    for (value, power) in part.iter_mut().zip(&low) {
                        *value *= factor * *power;
                    }
                });
        }
    }

    /// Values from coefficients in the order that [`Domain::inverse_unscaled`] leaves.
    fn forward(&self, values: &mut [Fr]) {
        if self.shape.tripled {
            let third = values.len() / 3;
            let (first, rest) = values.split_at_mut(third);
            let (second, third) = rest.split_at_mut(third);
            for block in [&mut *first, &mut *second, &mut *third] {
                decimate_time(&self.levels, block);
            }
            let zeta = self.root.pow(first.len() as u64);
            radix3_forward([first, second, third], zeta, self.root);
        } else {
            decimate_time(&self.levels, values);
        }
    }
}

/// Powers `0..len`.
pub(crate) fn powers(base: Fr, len: usize) -> Vec<Fr> {
    let mut out = vec![Fr::ONE; len];
    out.par_chunks_mut(1 << 12)
        .enumerate()
        .for_each(|(at, part)| {
            let mut power = base.pow((at << 12) as u64);
            for value in part {
                *value = power;
                power *= base;
            }
        });
    out
}

/// `base^reverse(p)` for all p of `log2` bits.
fn reversed_powers(base: Fr, log2: u32) -> Vec<Fr> {
    let mut out = vec![Fr::ONE];
    // The top bit of a position is the lowest of its exponent.
    let mut power = base;
    let mut factors = Vec::new();
    for _ in 0..log2 {
        factors.push(power);
        power = power.square();
    }
    for factor in factors.into_iter().rev() {
        let upper: Vec<Fr> = out.iter().map(|value| *value * factor).collect();
        out.extend(upper);
    }
    out
}

const fn reverse(value: usize, bits: u32) -> usize {
    if bits == 0 {
        0
    } else {
        value.reverse_bits() >> (usize::BITS - bits)
    }
}

/// Inverse transform, natural order in, bit-reversed out, not divided by the length.
///
/// The inverse of the twiddle `w^i` is `-w^(len - i)` with the `len` powers of a level.
fn decimate_frequency(levels: &[Vec<Fr>], values: &mut [Fr]) {
    let Some((twiddles, rest)) = levels.split_first() else {
        return;
    };
    let (low, high) = values.split_at_mut(values.len() / 2);
    let half = low.len();
    if half >= PARALLEL_LEN {
        low.par_chunks_mut(CHUNK)
            .zip(high.par_chunks_mut(CHUNK))
            .enumerate()
            .for_each(|(at, (low, high))| layer_at(twiddles, at * CHUNK, low, high));
        rayon::join(
            || decimate_frequency(rest, low),
            || decimate_frequency(rest, high),
        );
    } else {
        layer_at(twiddles, 0, low, high);
        decimate_frequency(rest, low);
        decimate_frequency(rest, high);
    }
}

fn layer_at(twiddles: &[Fr], start: usize, low: &mut [Fr], high: &mut [Fr]) {
    let len = twiddles.len();
    for (offset, (a, b)) in low.iter_mut().zip(high).enumerate() {
        let at = start + offset;
        let difference = *b - *a;
        *a += *b;
        // Index 0 stands for the twiddle 1; `twiddles[len - at]` exists for every other.
        *b = match twiddles.get(len - at) {
            Some(twiddle) => difference * *twiddle,
            None => -difference,
        };
    }
}

/// Forward transform, bit-reversed in, natural order out.
fn decimate_time(levels: &[Vec<Fr>], values: &mut [Fr]) {
    let Some((twiddles, rest)) = levels.split_first() else {
        return;
    };
    let (low, high) = values.split_at_mut(values.len() / 2);
    let layer = |low: &mut [Fr], high: &mut [Fr], twiddles: &[Fr]| {
        for ((a, b), twiddle) in low.iter_mut().zip(high).zip(twiddles) {
            let product = *b * *twiddle;
            *b = *a - product;
            *a += product;
        }
    };
    if low.len() >= PARALLEL_LEN {
        rayon::join(|| decimate_time(rest, low), || decimate_time(rest, high));
        low.par_chunks_mut(CHUNK)
            .zip(high.par_chunks_mut(CHUNK))
            .zip(twiddles.par_chunks(CHUNK))
            .for_each(|((low, high), twiddles)| layer(low, high, twiddles));
    } else {
        decimate_time(rest, low);
        decimate_time(rest, high);
        layer(low, high, twiddles);
    }
}

/// First step of the inverse: block r gets coefficients congruent to r modulo 3.
fn radix3_inverse(blocks: [&mut [Fr]; 3], zeta: Fr, inverse_root: Fr) {
    let inverse_zeta = zeta.square();
    let [first, second, third] = blocks;
    first
        .par_chunks_mut(CHUNK)
        .zip(second.par_chunks_mut(CHUNK))
        .zip(third.par_chunks_mut(CHUNK))
        .enumerate()
        .for_each(|(at, ((first, second), third))| {
            let mut twiddle = inverse_root.pow((at * CHUNK) as u64);
            for ((a, b), c) in first.iter_mut().zip(second).zip(third) {
                let (x, y, z) = (*a, *b, *c);
                let (y1, z1) = (y * inverse_zeta, z * zeta);
                let (y2, z2) = (y * zeta, z * inverse_zeta);
                *a = x + y + z;
                *b = (x + y1 + z1) * twiddle;
                *c = (x + y2 + z2) * twiddle.square();
                twiddle *= inverse_root;
            }
        });
}

/// Last step of the forward transform, the mirror image of the first step of the inverse.
fn radix3_forward(blocks: [&mut [Fr]; 3], zeta: Fr, root: Fr) {
    let zeta_squared = zeta.square();
    let [first, second, third] = blocks;
    first
        .par_chunks_mut(CHUNK)
        .zip(second.par_chunks_mut(CHUNK))
        .zip(third.par_chunks_mut(CHUNK))
        .enumerate()
        .for_each(|(at, ((first, second), third))| {
            let mut twiddle = root.pow((at * CHUNK) as u64);
            for ((a, b), c) in first.iter_mut().zip(second).zip(third) {
                let (x, y, z) = (*a, *b * twiddle, *c * twiddle.square());
                *a = x + y + z;
                *b = x + y * zeta + z * zeta_squared;
                *c = x + y * zeta_squared + z * zeta;
                twiddle *= root;
            }
        });
}

/// Largest exponent of two: `2^28` points are 8 GiB per vector.
pub const LOG2_MAX: u32 = 28;
/// Points of a half below which one thread does the rest: two halves fit a core's cache.
const PARALLEL_LEN: usize = 1 << 13;
/// Butterflies given to a thread at once.
const CHUNK: usize = 1 << 12;

#[cfg(test)]
mod tests {
    use horizon_testkit::SeededRng;

    use super::*;

    fn evaluate(coefficients: &[Fr], x: Fr) -> Fr {
        let horner = |sum: Fr, c: &Fr| sum * x + *c;
        coefficients.iter().rev().fold(Fr::ZERO, horner)
    }

    #[test]
    fn values_move_from_the_domain_to_its_odd_coset() {
        let mut rng = SeededRng::new(51);
        for (log2, tripled) in [
            (0, false),
            (1, false),
            (5, false),
            (0, true),
            (1, true),
            (4, true),
            (14, false),
            (14, true),
        ] {
            let shape = DomainShape { log2, tripled };
            let len = shape.len();
            let coefficients: Vec<Fr> = (0..len.min(40)).map(|_| Fr::random(&mut rng)).collect();
            let mut values: Vec<Fr> = powers(shape.root(), len)
                .iter()
                .map(|x| evaluate(&coefficients, *x))
                .collect();
            Domain::new(shape).to_odd_coset(&mut values);
            let offset = shape.coset_offset();
            assert_eq!(offset.pow(len as u64), -Fr::ONE);
            for (x, value) in powers(shape.root(), len).iter().zip(&values) {
                assert_eq!(evaluate(&coefficients, offset * *x), *value, "{shape:?}");
            }
        }
    }

    #[test]
    fn the_smallest_domain_is_chosen() {
        for (points, log2, tripled) in [
            (1, 0, false),
            (2, 1, false),
            (3, 0, true),
            (4, 2, false),
            (5, 1, true),
            (6, 1, true),
            (7, 3, false),
            (891_628, 20, false),
            (2_670_000, 20, true),
            (3_570_000, 22, false),
            (18_700_000, 23, true),
        ] {
            let expected = DomainShape { log2, tripled };
            assert_eq!(DomainShape::for_points(points), Some(expected), "{points}");
        }
        assert_eq!(DomainShape::for_points((1 << 28) + 1), None);
    }
}
