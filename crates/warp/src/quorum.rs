//! Quorum arithmetic: an exact comparison of two fractions in 128 bits.
//!
//! # Source
//! Wire specification, quorum rule. The reference multiplies in 64 bits and refuses total weights
//! above about 2.75e17; here the products never overflow, so no weight is refused for its size.

use crate::error::{Error, Reason};

/// The fraction of the total weight that must sign: in (0, 1].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quorum {
    numerator: u64,
    denominator: u64,
}

impl Quorum {
    /// 67/100, the default of Beam and certificates.
    pub const DEFAULT: Self = Self {
        numerator: 67,
        denominator: 100,
    };

    /// A quorum of `numerator / denominator`.
    ///
    /// # Errors
    /// `QuorumParameters` if either is 0 or the fraction is above 1.
    pub const fn new(numerator: u64, denominator: u64) -> Result<Self, Error> {
        if numerator == 0 || denominator == 0 || numerator > denominator {
            return Err(Error::misuse(Reason::QuorumParameters, "quorum"));
        }
        Ok(Self {
            numerator,
            denominator,
        })
    }

    /// The numerator.
    #[must_use]
    pub const fn numerator(&self) -> u64 {
        self.numerator
    }

    /// The denominator.
    #[must_use]
    pub const fn denominator(&self) -> u64 {
        self.denominator
    }

    /// Accepts if `signed / total` is at least the quorum and `signed` is not 0.
    ///
    /// # Errors
    /// `NoSignedWeight`, `InsufficientWeight`.
    pub const fn check(&self, signed: u64, total: u64) -> Result<(), Error> {
        if signed == 0 {
            return Err(Error::rejected(Reason::NoSignedWeight));
        }
        // A product of two 64-bit numbers is below 2^128.
        let needed = (self.numerator as u128).wrapping_mul(total as u128);
        let have = (self.denominator as u128).wrapping_mul(signed as u128);
        if have < needed {
            return Err(Error::rejected(Reason::InsufficientWeight));
        }
        Ok(())
    }

    /// The least signed weight that meets the quorum of `total`, for an aggregator that stops as
    /// soon as it is reached.
    ///
    /// Rounded up: a floored threshold can be one unit short of the rule.
    #[must_use]
    pub fn weight_needed(&self, total: u64) -> u64 {
        let product = u128::from(self.numerator).saturating_mul(u128::from(total));
        let needed = product.div_ceil(u128::from(self.denominator).max(1));
        u64::try_from(needed).unwrap_or(u64::MAX).max(1)
    }
}

impl Default for Quorum {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quorum(numerator: u64, denominator: u64) -> Quorum {
        Quorum::new(numerator, denominator).unwrap()
    }

    #[test]
    fn the_published_quorum_table_holds() {
        let q = Quorum::DEFAULT;
        let two_thirds = quorum(2, 3);
        q.check(67, 100).unwrap();
        assert_eq!(
            q.check(66, 100).unwrap_err().reason(),
            Reason::InsufficientWeight
        );
        assert_eq!(
            q.check(2, 3).unwrap_err().reason(),
            Reason::InsufficientWeight
        );
        two_thirds.check(2, 3).unwrap();
        for total in [0, 1, u64::MAX] {
            assert_eq!(
                q.check(0, total).unwrap_err().reason(),
                Reason::NoSignedWeight
            );
        }
    }

    /// F-09: weights the reference refuses with an overflow are compared exactly.
    #[test]
    fn f09_large_weights_are_compared_exactly_and_never_refused_for_their_size() {
        let q = Quorum::DEFAULT;
        for total in [275_324_538_413_575_397, 275_324_538_413_575_398, u64::MAX] {
            q.check(total, total).unwrap();
            let needed = q.weight_needed(total);
            q.check(needed, total).unwrap();
            let error = q.check(needed - 1, total).unwrap_err();
            assert_eq!(error.reason(), Reason::InsufficientWeight);
        }
        q.check(184_467_440_737_095_516, 184_467_440_737_095_516)
            .unwrap();
        quorum(u64::MAX, u64::MAX)
            .check(u64::MAX, u64::MAX)
            .unwrap();
    }

    /// F-32 and the zero-threshold incidents: a quorum of nothing or of more than everything cannot
    /// be built.
    #[test]
    fn f32_zero_and_excess_quorums_cannot_be_built() {
        for (numerator, denominator) in [(0, 1), (0, 0), (1, 0), (2, 1), (101, 100)] {
            let error = Quorum::new(numerator, denominator).unwrap_err();
            assert_eq!(error.reason(), Reason::QuorumParameters);
        }
    }

    /// F-15: stopping at a floored threshold is one unit short of the rule.
    #[test]
    fn f15_the_weight_to_collect_is_rounded_up() {
        assert_eq!(Quorum::DEFAULT.weight_needed(3), 3);
        assert_eq!(quorum(2, 3).weight_needed(3), 2);
        assert_eq!(quorum(1, 3).weight_needed(0), 1);
    }

    /// A14: with a quorum above two thirds, two accepted sets always share more than a third of the
    /// weight.
    #[test]
    fn a14_two_accepted_sets_always_overlap_in_more_than_a_third() {
        let mut state = 0x5eed_u64;
        for n in 1_u64..=64 {
            let needed = Quorum::DEFAULT.weight_needed(n);
            assert!((2 * needed - n) * 3 > n, "n = {n}");
        }
        for _ in 0..1000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let total = state >> (state & 31);
            let needed = u128::from(Quorum::DEFAULT.weight_needed(total));
            let total = u128::from(total);
            assert!(
                total == 0 || (2 * needed - total) * 3 > total,
                "total {total}"
            );
        }
        assert_eq!(
            Quorum::DEFAULT.check(3, 5).unwrap_err().reason(),
            Reason::InsufficientWeight
        );
    }
}
