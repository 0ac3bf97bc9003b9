//! Seeded randomness: a failing test prints the seed that reproduces it.

use core::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};

/// The environment variable that replaces every seed, to rerun a failure or to try other data.
pub const SEED_VARIABLE: &str = "HORIZON_TEST_SEED";

/// A small fast generator (xoshiro256++), seeded from 64 bits.
///
/// # Security
/// None: it claims [`rand_core::CryptoRng`] only so that tests can pass it where production code
/// demands one. Its output is predictable.
#[derive(Debug)]
pub struct SeededRng {
    seed: u64,
    state: [u64; 4],
}

/// Returns a generator for `seed`, or for `HORIZON_TEST_SEED` when that is set (decimal or `0x…`).
///
/// When the thread panics while the generator lives, its seed goes to standard error.
#[must_use]
pub fn rng(seed: u64) -> SeededRng {
    let chosen = std::env::var(SEED_VARIABLE)
        .ok()
        .and_then(|text| parse_seed(&text));
    SeededRng::new(chosen.unwrap_or(seed))
}

impl SeededRng {
    /// Returns the generator for exactly this seed; the environment is not consulted.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        let mut counter = seed;
        let mut state = [0u64; 4];
        let mut i = 0;
        while i < 4 {
            (counter, state[i]) = split_mix(counter);
            i += 1;
        }
        Self { seed, state }
    }

    /// The seed in use.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The next 64 bits.
    pub const fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let out = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        out
    }

    /// A value in `0..bound`. The bias of at most `bound / 2^64` is irrelevant for choosing test
    /// inputs.
    ///
    /// # Panics
    /// When `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "an empty range has no element");
        let wide = u128::from(self.next()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// An index in `0..len`.
    ///
    /// # Panics
    /// When `len` is 0.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Fills `out`.
    pub fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }

    /// `N` random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        self.fill(&mut out);
        out
    }

    /// A vector of `len` random bytes.
    pub fn vec(&mut self, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        self.fill(&mut out);
        out
    }
}

impl Drop for SeededRng {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "seed {:#018x}: rerun with {SEED_VARIABLE}={:#x}",
                self.seed, self.seed
            );
        }
    }
}

impl TryRng for SeededRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.next() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.next())
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        self.fill(dst);
        Ok(())
    }
}

impl TryCryptoRng for SeededRng {}

/// One step of `SplitMix64`: the next counter and its output.
const fn split_mix(counter: u64) -> (u64, u64) {
    let counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = counter;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (counter, z ^ (z >> 31))
}

fn parse_seed(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_mix_gives_its_published_first_outputs() {
        // Seed 1234567 of the reference generator.
        let (counter, first) = split_mix(1_234_567);
        assert_eq!(first, 6_457_827_717_110_365_317);
        assert_eq!(split_mix(counter).1, 3_203_168_211_198_807_973);
    }

    #[test]
    fn equal_seeds_give_equal_streams_and_ranges_are_respected() {
        let (mut a, mut b) = (SeededRng::new(7), SeededRng::new(7));
        assert_eq!(a.vec(1001), b.vec(1001));
        assert!((0..10_000).all(|_| a.below(3) < 3));
        assert_ne!(SeededRng::new(8).next(), SeededRng::new(7).next());
    }

    #[test]
    fn seeds_are_read_in_both_notations() {
        assert_eq!(parse_seed("0x10"), Some(16));
        assert_eq!(parse_seed("10"), Some(10));
        assert_eq!(parse_seed("ten"), None);
    }
}
