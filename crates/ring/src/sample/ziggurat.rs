//! The reference's Gaussian sampler: ziggurat in floating point, cut at a bound.
//!
//! # Source
//! `spec/pulsar.md` 3.4 and appendix A.
//! # Security
//! Neither constant time nor free of a visible cut: interop mode and public vectors only.

use super::ziggurat_tables::{FN, KN, WN};
use super::{ByteSource, WordBuffer};
use crate::modulus::Q;
use crate::poly::Poly;

/// Width and bound of one Gaussian of the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ziggurat {
    /// Nominal standard deviation.
    pub sigma: f64,
    /// Values above it are drawn again.
    pub bound: f64,
}

/// The three Gaussians of the reference, all cut at two nominal deviations.
pub mod constants {
    use super::Ziggurat;

    /// Width of s, e and the narrow nonce columns, 6.108.
    pub const SIGMA_E: Ziggurat = at(0x4018_6EC8_9762_E3C7);
    /// Width of the wide nonce column, about 2^37.33.
    pub const SIGMA_STAR: Ziggurat = at(0x4244_1F69_32F4_22BB);
    /// Width of the hashed vector u, about 2^27.29.
    pub const SIGMA_U: Ziggurat = at(0x41A3_8BB3_E70C_41B1);

    const fn at(bits: u64) -> Ziggurat {
        let sigma = f64::from_bits(bits);
        Ziggurat {
            sigma,
            bound: 2.0 * sigma,
        }
    }
}

impl Ziggurat {
    /// Draws one polynomial; consumes whole buffers of 1,024 bytes, three as a rule.
    ///
    /// Values are raw: zero appears as q when its sign bit is clear, as in the reference.
    #[must_use]
    pub fn sample(&self, source: &mut impl ByteSource) -> Poly {
        let mut words = WordBuffer::new(source);
        let mut poly = Poly::ZERO;
        for coefficient in poly.as_mut_array() {
            *coefficient = loop {
                let (x, positive) = standard(&mut words);
                let p = x * self.sigma;
                if p <= self.bound {
                    #[expect(clippy::cast_sign_loss, reason = "a magnitude")]
                    let magnitude = (p + 0.5) as u64;
                    break if positive {
                        magnitude
                    } else {
                        Q.wrapping_sub(magnitude)
                    };
                }
            };
        }
        poly
    }
}

/// Magnitude and sign of a standard normal draw.
#[inline]
fn standard<S: ByteSource>(words: &mut WordBuffer<'_, S>) -> (f64, bool) {
    loop {
        let [a, b, c, d, ..] = words.word();
        let v = u32::from_le_bytes([a, b, c, d]);
        let j = v & 0x7FFF_FFFF;
        let positive = v >> 31 == 1;
        let strip = (j & 127) as usize;
        let x = f64::from(j) * f64::from(f32::from_bits(WN[strip]));
        if j < KN[strip] {
            return (x, positive);
        }
        if strip == 0 {
            return (tail(words), positive);
        }
        if wedge(words, strip, x) {
            return (x, positive);
        }
    }
}

/// A draw beyond the base strip. Any bound below R rejects it; its use of words still counts.
#[cold]
fn tail<S: ByteSource>(words: &mut WordBuffer<'_, S>) -> f64 {
    loop {
        let x = -libm::log(unit(words)) * RECIPROCAL_R;
        let y = -libm::log(unit(words));
        if y + y >= x * x {
            return x + R;
        }
    }
}

/// The test between the strip and the curve, in single precision with separate roundings.
#[cold]
fn wedge<S: ByteSource>(words: &mut WordBuffer<'_, S>, strip: usize, x: f64) -> bool {
    let below = f32::from_bits(FN[strip]);
    let height = f32::from_bits(FN[strip - 1]) - below;
    let u = unit(words) as f32;
    below + u * height < libm::exp(-0.5 * x * x) as f32
}

/// A number in [0, 1] with 53 bits.
fn unit<S: ByteSource>(words: &mut WordBuffer<'_, S>) -> f64 {
    const MAX: u64 = (1 << 53) - 1;
    (u64::from_le_bytes(words.word()) & MAX) as f64 / MAX as f64
}

/// Start of the tail, 3.442619855899.
const R: f64 = f64::from_bits(0x400B_8A7C_476D_2BE8);

/// 1/R.
const RECIPROCAL_R: f64 = f64::from_bits(0x3FD2_972A_8AFC_6175);

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    fn digest(table: &[u32; 128]) -> String {
        let mut hash = Sha256::new();
        table
            .iter()
            .for_each(|word| hash.update(word.to_le_bytes()));
        hash.finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    #[test]
    fn tables_have_the_published_digests() {
        let kn = "3d2d71878b1adeda69fe4a5f1a320d654940a6e707948890ec94bfb165b96ec4";
        let wn = "ad7d9370fef99dc77b47694a776d9fccb45aaf1326c09445e3cb14ba09600048";
        let f = "b48fe81bd18a78dc0efbb5189baf0e24325c51d1e9aa8cb5cac1939ef900111b";
        assert_eq!(
            (digest(&KN), digest(&WN), digest(&FN)),
            (kn.into(), wn.into(), f.into())
        );
    }

    #[test]
    fn constants_are_the_published_ones() {
        assert_eq!(R, 3.442_619_855_899);
        assert_eq!(RECIPROCAL_R, 1.0 / R);
        assert_eq!(constants::SIGMA_E.sigma, 6.108187070284607);
        assert_eq!(constants::SIGMA_STAR.sigma, 172852667880.27133);
        assert_eq!(constants::SIGMA_U.sigma, 163961331.5239387);
    }

    /// One word for ever.
    struct Constant(u64);

    impl ByteSource for Constant {
        fn fill(&mut self, out: &mut [u8]) {
            let words = out.chunks_mut(8);
            words.for_each(|word| word.copy_from_slice(&self.0.to_le_bytes()[..word.len()]));
        }
    }

    /// The cases in 10^7 in which a fused multiply-add decides otherwise, met on purpose: the curve lies between
    /// the two sums.
    #[test]
    fn f05_the_wedge_test_rounds_product_and_sum_separately() {
        let mut met = [0, 0];
        let mut word = 1_u64;
        for round in 0..20_000_usize {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let strip = 1 + round % 127;
            let mut source = Constant(word >> 3);
            let u = unit(&mut WordBuffer::new(&mut source)) as f32;
            let below = f32::from_bits(FN[strip]);
            let height = f32::from_bits(FN[strip - 1]) - below;
            let product = u * height;
            let (separate, fused) = (below + product, libm::fmaf(u, height, below));
            // The smaller sum is below the curve, the larger one is not.
            let curve = separate.max(fused);
            let x = (-2.0 * f64::from(curve).ln()).sqrt();
            if separate == fused || libm::exp(-0.5 * x * x) as f32 != curve {
                continue;
            }
            let accepts = wedge(&mut WordBuffer::new(&mut source), strip, x);
            assert_eq!(accepts, separate < fused, "strip {strip}, word {word:#x}");
            met[usize::from(accepts)] += 1;
        }
        assert!(met.iter().all(|count| *count > 100), "{met:?}");
    }
}
