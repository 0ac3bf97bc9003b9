//! The ordered set of signers of one session.

use alloc::{boxed::Box, vec::Vec};

use crate::{
    error::{Error, Misuse, SignersFault},
    params::PARTIES_MAX,
};

/// Committee size and threshold: `1 <= t <= n <= 1024`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quorum {
    parties: u16,
    threshold: u16,
}

impl Quorum {
    /// Checks `1 <= threshold <= parties <= 1024`.
    ///
    /// # Errors
    /// [`Misuse::PartyCount`] and [`Misuse::Threshold`].
    pub const fn new(threshold: u16, parties: u16) -> Result<Self, Error> {
        if parties == 0 || parties > PARTIES_MAX {
            return Err(Error::Misuse(Misuse::PartyCount));
        }
        if threshold == 0 || threshold > parties {
            return Err(Error::Misuse(Misuse::Threshold));
        }
        Ok(Self { parties, threshold })
    }

    /// Number of parties `n`.
    #[must_use]
    pub const fn parties(self) -> u16 {
        self.parties
    }

    /// Shares needed to sign, `t`.
    #[must_use]
    pub const fn threshold(self) -> u16 {
        self.threshold
    }
}

/// The positions that sign together: non-empty, strictly ascending, inside the committee, at least
/// `t` of them.
///
/// Position `i` holds the Shamir point `i + 1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SignerSet {
    quorum: Quorum,
    positions: Box<[u16]>,
}

impl SignerSet {
    /// Checks a list of positions.
    ///
    /// # Errors
    /// [`SignersFault::Empty`], [`SignersFault::NotAscending`] (unsorted or duplicate),
    /// [`SignersFault::OutOfRange`] and [`SignersFault::BelowThreshold`], as [`Misuse::Signers`].
    pub fn new(positions: &[u16], quorum: Quorum) -> Result<Self, Error> {
        check(positions, quorum.parties).map_err(Misuse::Signers)?;
        if positions.len() < usize::from(quorum.threshold) {
            return Err(Misuse::Signers(SignersFault::BelowThreshold).into());
        }
        Ok(Self {
            quorum,
            positions: positions.into(),
        })
    }

    /// All positions of the committee.
    #[must_use]
    pub fn everyone(quorum: Quorum) -> Self {
        Self {
            quorum,
            positions: (0..quorum.parties).collect::<Vec<_>>().into_boxed_slice(),
        }
    }

    /// The positions, ascending.
    #[must_use]
    pub fn positions(&self) -> &[u16] {
        &self.positions
    }

    /// Number of signers, at least 1 and at most 1,024.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Committee size and threshold this set was checked against.
    #[must_use]
    pub const fn quorum(&self) -> Quorum {
        self.quorum
    }

    /// Index of `position` in the set.
    #[must_use]
    pub fn index_of(&self, position: u16) -> Option<usize> {
        self.positions.binary_search(&position).ok()
    }

    /// As [`index_of`](Self::index_of), for the party that is to act.
    ///
    /// # Errors
    /// [`SignersFault::SelfMissing`].
    pub fn require(&self, position: u16) -> Result<usize, Error> {
        self.index_of(position)
            .ok_or(Error::Misuse(Misuse::Signers(SignersFault::SelfMissing)))
    }
}

/// Non-empty, strictly ascending, every position below `parties`.
pub(crate) fn check(positions: &[u16], parties: u16) -> Result<(), SignersFault> {
    if positions.is_empty() {
        return Err(SignersFault::Empty);
    }
    if positions.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(SignersFault::NotAscending);
    }
    if positions.iter().any(|&position| position >= parties) {
        return Err(SignersFault::OutOfRange);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(positions: &[u16]) -> SignersFault {
        let quorum = Quorum::new(2, 4).expect("2 of 4");
        match SignerSet::new(positions, quorum) {
            Err(Error::Misuse(Misuse::Signers(fault))) => fault,
            other => panic!("expected a signer fault, got {other:?}"),
        }
    }

    #[test]
    fn a_set_must_be_sorted_unique_inside_and_large_enough() {
        assert_eq!(fault(&[]), SignersFault::Empty);
        assert_eq!(fault(&[1, 0]), SignersFault::NotAscending);
        assert_eq!(fault(&[1, 1]), SignersFault::NotAscending);
        assert_eq!(fault(&[1, 4]), SignersFault::OutOfRange);
        assert_eq!(fault(&[3]), SignersFault::BelowThreshold);
    }

    #[test]
    fn a_quorum_needs_a_threshold_between_one_and_the_size() {
        assert_eq!(Quorum::new(1, 0), Err(Misuse::PartyCount.into()));
        assert_eq!(Quorum::new(1, 1025), Err(Misuse::PartyCount.into()));
        assert_eq!(Quorum::new(0, 3), Err(Misuse::Threshold.into()));
        assert_eq!(Quorum::new(4, 3), Err(Misuse::Threshold.into()));
        assert!(Quorum::new(3, 3).is_ok() && Quorum::new(1, 1).is_ok());
    }
}
