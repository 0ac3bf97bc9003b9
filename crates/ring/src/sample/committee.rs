//! The exact sampler of the hashed vector u: a discrete Gaussian without a cut, in integers only.
//!
//! # Source
//! `spec/pulsar-committee.md` 1.5.
//! # Security
//! u is public: variable time.

use super::ByteSource;
use super::committee_tables::CDT;
use crate::modulus::from_signed;
use crate::poly::{N, Poly};

/// Width of the distribution, 2^22·sqrt(3057/2).
pub const SIGMA_U: f64 = 163_980_658.52;

/// A polynomial being read from blocks of a stream.
///
/// Only whole coefficients are taken; bytes that were not consumed have to be passed again,
/// followed by more.
#[derive(Debug, Clone, Default)]
pub struct CommitteeU {
    poly: Poly,
    filled: usize,
}

impl CommitteeU {
    /// No coefficient yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            poly: Poly::ZERO,
            filled: 0,
        }
    }

    /// Reads coefficients from words (little-endian u64) and returns the number of bytes consumed.
    ///
    /// Stops at the 256th coefficient, or before the first one that `bytes` does not hold
    /// completely.
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut words = Words { bytes };
        let mut consumed = 0;
        for coefficient in &mut self.poly.as_mut_array()[self.filled..] {
            let Some(value) = draw(&mut words) else {
                return consumed;
            };
            *coefficient = from_signed(value);
            self.filled += 1;
            consumed = bytes.len() - words.bytes.len();
        }
        consumed
    }

    /// Number of coefficients read.
    #[must_use]
    pub const fn filled(&self) -> usize {
        self.filled
    }

    /// The polynomial, canonical, once all 256 coefficients are read.
    #[must_use]
    pub fn finish(self) -> Option<Poly> {
        (self.filled == N).then_some(self.poly)
    }
}

/// One polynomial from a stream of its own; reads a few words more than it needs.
#[must_use]
pub fn committee_u(source: &mut impl ByteSource) -> Poly {
    // 778 words are needed on average: 46 blocks of SHAKE256. Later reads are two blocks.
    const FIRST: usize = 46 * 136;
    const MORE: usize = 2 * 136;
    // A coefficient that needs more words than this has probability far below 2^-128.
    const CAPACITY: usize = FIRST + 4 * MORE;
    let mut bytes = [0; CAPACITY];
    let mut len = FIRST;
    let mut state = CommitteeU::new();
    source.fill(&mut bytes[..len]);
    loop {
        let consumed = state.feed(&bytes[..len]);
        if state.filled == N {
            return state.poly;
        }
        bytes.copy_within(consumed..len, 0);
        len -= consumed;
        let more = MORE.min(CAPACITY - len);
        source.fill(&mut bytes[len..len + more]);
        len += more;
    }
}

/// Little-endian words of a byte string.
struct Words<'a> {
    bytes: &'a [u8],
}

impl Words<'_> {
    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        let (word, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(u64::from_le_bytes(*word))
    }
}

/// One coefficient, or `None` when the words run out.
#[inline(always)]
fn draw(words: &mut Words<'_>) -> Option<i64> {
    loop {
        // (a) the high part, by its cumulative probability.
        let m = high_part(words.next()?);
        // (b) the low 22 bits and the sign.
        let w = words.next()?;
        let j = w & ((1 << 22) - 1);
        let negative = w >> 63 == 1;
        // (c) zero would have two representations.
        if m == 0 && j == 0 && negative {
            continue;
        }
        // (d) accept with probability exp(-num/den), den = 3057·2^44, by the parity of a chain.
        let num = j * (j + (m << 23));
        let limit = u128::from(num) << 20;
        let mut step = 3057_u64;
        let mut odd = true;
        while u128::from(words.next()?) * u128::from(step) < limit {
            step += 3057;
            odd = !odd;
        }
        // (e)
        if odd {
            let magnitude = ((m << 22) + j).cast_signed();
            return Some(if negative { -magnitude } else { magnitude });
        }
    }
}

/// The number of table entries that are at most `w`.
#[inline(always)]
fn high_part(w: u64) -> u64 {
    let mut m = usize::from(GUIDE[(w >> GUIDE_SHIFT) as usize]);
    while m < CDT.len() && CDT[m] <= w {
        m += 1;
    }
    m as u64
}

const GUIDE_BITS: u32 = 10;
const GUIDE_SHIFT: u32 = 64 - GUIDE_BITS;

/// Entry g counts the table entries that are at most g·2^54: where the search starts.
const GUIDE: [u16; 1 << GUIDE_BITS] = {
    let mut guide = [0; 1 << GUIDE_BITS];
    let mut g = 0;
    let mut m = 0;
    while g < guide.len() {
        while m < CDT.len() && CDT[m] <= (g as u64) << GUIDE_SHIFT {
            m += 1;
        }
        guide[g] = m as u16;
        g += 1;
    }
    guide
};

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_table_has_the_published_digest() {
        let mut hash = Sha256::new();
        CDT.iter().for_each(|word| hash.update(word.to_le_bytes()));
        let digest: String = hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            digest,
            "e1878ae6222211ea3f42292859dfadd20cfc7cba7794681e96a39f90f8f57be5"
        );
    }

    #[test]
    fn the_guide_gives_the_count_of_a_linear_search_at_every_edge() {
        let edges = CDT
            .iter()
            .flat_map(|&c| [c.wrapping_sub(1), c, c.wrapping_add(1)]);
        let steps = (0..4096).map(|i| i << 52);
        for w in edges.chain(steps).chain([0, u64::MAX]) {
            let linear = CDT.iter().filter(|&&entry| entry <= w).count() as u64;
            assert_eq!(high_part(w), linear, "{w:#x}");
        }
    }

    #[test]
    fn feeding_in_pieces_gives_the_same_coefficients() {
        let mut state = 7_u64;
        let bytes: Vec<u8> = (0..1024)
            .flat_map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state ^ (state >> 29))
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    .to_le_bytes()
            })
            .collect();
        let mut whole = CommitteeU::new();
        whole.feed(&bytes);
        let mut pieces = CommitteeU::new();
        let (mut start, mut end) = (0, 0);
        while pieces.filled() < N {
            end = (end + 56).min(bytes.len());
            start += pieces.feed(&bytes[start..end]);
        }
        assert_eq!(pieces.finish(), whole.finish());
    }
}
