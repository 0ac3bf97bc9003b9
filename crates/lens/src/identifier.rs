//! Who takes part: identifiers, and the committee with its threshold.

use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU16;

use crate::{Error, Misuse};

/// A participant's number, `1..=65535`: its share is the secret polynomial at this point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier(NonZeroU16);

impl Identifier {
    /// The identifier with this number.
    ///
    /// # Errors
    /// [`Misuse::Identifier`] for 0, which is where the group's secret lies.
    pub const fn new(number: u16) -> Result<Self, Error> {
        match NonZeroU16::new(number) {
            Some(number) => Ok(Self(number)),
            None => Err(Error::Misuse(Misuse::Identifier)),
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0.get()
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The members of a group and how many of them it takes to sign.
///
/// `2 <= min_signers <= members <= 256`; members are distinct and kept ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committee {
    members: Vec<Identifier>,
    min_signers: u16,
}

impl Committee {
    /// A committee of these members, in any order.
    ///
    /// # Errors
    /// [`Misuse::MemberCount`], [`Misuse::DuplicateIdentifier`], [`Misuse::Threshold`].
    pub fn new(min_signers: u16, members: &[Identifier]) -> Result<Self, Error> {
        if members.len() < 2 || members.len() > MEMBER_COUNT_MAX {
            return Err(Misuse::MemberCount.into());
        }
        if min_signers < 2 || usize::from(min_signers) > members.len() {
            return Err(Misuse::Threshold.into());
        }
        let mut members = members.to_vec();
        members.sort_unstable();
        if !members.is_sorted_by(|a, b| a < b) {
            return Err(Misuse::DuplicateIdentifier.into());
        }
        Ok(Self {
            members,
            min_signers,
        })
    }

    /// A committee of members `1..=max_signers`.
    ///
    /// # Errors
    /// As [`Committee::new`].
    pub fn numbered(min_signers: u16, max_signers: u16) -> Result<Self, Error> {
        if usize::from(max_signers) > MEMBER_COUNT_MAX {
            return Err(Misuse::MemberCount.into());
        }
        let members: Result<Vec<_>, _> = (1..=max_signers).map(Identifier::new).collect();
        Self::new(min_signers, &members?)
    }

    /// How many signers a signature takes.
    #[must_use]
    pub const fn min_signers(&self) -> u16 {
        self.min_signers
    }

    /// The members, ascending.
    #[must_use]
    pub fn members(&self) -> &[Identifier] {
        &self.members
    }

    /// Whether this is a member.
    #[must_use]
    pub fn contains(&self, identifier: Identifier) -> bool {
        self.members.binary_search(&identifier).is_ok()
    }

    pub(crate) fn require(&self, identifier: Identifier) -> Result<(), Error> {
        if self.contains(identifier) {
            Ok(())
        } else {
            Err(Misuse::NotAMember.into())
        }
    }

    /// The number of members; fits because a committee has at most 256.
    pub(crate) fn max_signers(&self) -> u16 {
        u16::try_from(self.members.len()).unwrap_or(u16::MAX)
    }
}

/// Most members a committee may have. Key generation costs each member work in the product of
/// members and threshold, and every list on the wire is bounded by this.
pub const MEMBER_COUNT_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[u16]) -> Vec<Identifier> {
        numbers
            .iter()
            .map(|&n| Identifier::new(n).unwrap())
            .collect()
    }

    #[test]
    fn committees_have_distinct_ascending_members_and_a_threshold_of_two_or_more() {
        let committee = Committee::new(2, &ids(&[9, 3, 7])).unwrap();
        assert_eq!(committee.members(), ids(&[3, 7, 9]));
        assert_eq!(Identifier::new(0), Err(Misuse::Identifier.into()));
        let refuse = |t, members: &[u16], why| {
            assert_eq!(Committee::new(t, &ids(members)), Err(Error::Misuse(why)));
        };
        refuse(2, &[1], Misuse::MemberCount);
        refuse(2, &[], Misuse::MemberCount);
        refuse(1, &[1, 2], Misuse::Threshold);
        refuse(0, &[1, 2], Misuse::Threshold);
        refuse(3, &[1, 2], Misuse::Threshold);
        refuse(2, &[1, 2, 1], Misuse::DuplicateIdentifier);
        let many: Vec<u16> = (1..=257).collect();
        refuse(2, &many, Misuse::MemberCount);
        assert!(Committee::numbered(256, 256).is_ok());
        assert_eq!(Committee::numbered(2, 257), Err(Misuse::MemberCount.into()));
    }
}
