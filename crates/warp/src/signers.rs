//! Signer bit sets: bit `i` names the validator at position `i` of the canonical order.
//!
//! Byte `i / 8`, mask `1 << (i % 8)`: byte 0 holds validators 0 to 7, least significant bit first.
//! One bit order is used everywhere, by aggregators as well as verifiers; the big-endian integer
//! form of related systems agrees only up to 8 validators. The canonical form has no trailing zero
//! byte.
//!
//! # Source
//! Wire specification, bit set rules.

use alloc::vec::Vec;
use core::fmt;

use crate::error::{Error, Reason};
use crate::limits::SIGNERS_LEN_MAX;

/// A canonical signer set that borrows its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Signers<'a>(&'a [u8]);

impl<'a> Signers<'a> {
    /// Takes canonical bytes: empty, or at most 8,192 bytes of which the last is not zero.
    ///
    /// # Errors
    /// `SignersTooLarge`, `NonCanonicalSigners`.
    pub const fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.len() > SIGNERS_LEN_MAX {
            return Err(Error::over(
                Reason::SignersTooLarge,
                "signers",
                0,
                SIGNERS_LEN_MAX,
            ));
        }
        if let Some((0, rest)) = bytes.split_last() {
            return Err(Error::malformed(
                Reason::NonCanonicalSigners,
                "signers",
                rest.len(),
            ));
        }
        Ok(Self(bytes))
    }

    /// The canonical bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Whether no bit is set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of set bits.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0
            .iter()
            .fold(0, |count, byte| count.saturating_add(byte.count_ones()))
    }

    /// Index of the highest set bit plus 1; 0 if none is set.
    #[must_use]
    pub fn highest_plus_one(&self) -> u32 {
        let Some((last, rest)) = self.0.split_last() else {
            return 0;
        };
        let below = u32::try_from(rest.len())
            .unwrap_or(u32::MAX)
            .saturating_mul(8);
        below.saturating_add(8_u32.saturating_sub(last.leading_zeros()))
    }

    /// Whether the bit of validator `index` is set.
    #[must_use]
    pub fn contains(&self, index: u32) -> bool {
        let byte = usize::try_from(index / 8)
            .ok()
            .and_then(|at| self.0.get(at));
        byte.is_some_and(|byte| byte >> (index % 8) & 1 == 1)
    }

    /// The set indices, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.0
            .iter()
            .zip((0_u32..).step_by(8))
            .flat_map(|(byte, base)| {
                let byte = *byte;
                (0_u32..8)
                    .filter(move |bit| byte >> bit & 1 == 1)
                    .map(move |bit| base | bit)
            })
    }

    /// Refuses a bit at or beyond `validator_count`.
    ///
    /// # Errors
    /// `SignerWithoutValidator`, naming the highest set index.
    pub fn check_within(&self, validator_count: usize) -> Result<(), Error> {
        let end = self.highest_plus_one();
        if usize::try_from(end).is_ok_and(|end| end <= validator_count) {
            return Ok(());
        }
        Err(Error::index_rejected(
            Reason::SignerWithoutValidator,
            None,
            end.saturating_sub(1),
        ))
    }
}

impl fmt::Debug for Signers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A signer set that grows, always canonical.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignerSet(Vec<u8>);

impl SignerSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The set of these indices.
    ///
    /// # Errors
    /// `SignersTooLarge` for an index of 65,536 or more.
    pub fn from_indices(indices: impl IntoIterator<Item = u32>) -> Result<Self, Error> {
        let mut set = Self::new();
        for index in indices {
            set.insert(index)?;
        }
        Ok(set)
    }

    /// Takes bytes that may end in zero bytes and trims them.
    ///
    /// # Errors
    /// `SignersTooLarge`.
    pub fn from_bytes_trimmed(bytes: &[u8]) -> Result<Self, Error> {
        let len = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |at| at.saturating_add(1));
        let bytes = bytes.get(..len).unwrap_or_default();
        Signers::new(bytes).map(|signers| Self(signers.as_bytes().to_vec()))
    }

    /// Sets the bit of `index`; says whether it was clear before.
    ///
    /// # Errors
    /// `SignersTooLarge` for an index of 65,536 or more.
    pub fn insert(&mut self, index: u32) -> Result<bool, Error> {
        let too_large = Error::over(Reason::SignersTooLarge, "signers", 0, SIGNERS_LEN_MAX);
        let at = usize::try_from(index / 8).map_err(|_| too_large)?;
        if at >= SIGNERS_LEN_MAX {
            return Err(too_large);
        }
        if self.0.len() <= at {
            self.0.resize(at.saturating_add(1), 0);
        }
        let byte = self.0.get_mut(at).ok_or(too_large)?;
        let mask = 1_u8 << (index % 8);
        let fresh = *byte & mask == 0;
        *byte |= mask;
        Ok(fresh)
    }

    /// The set as a borrowed view.
    #[must_use]
    pub fn as_signers(&self) -> Signers<'_> {
        Signers(&self.0)
    }

    /// Indices in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a | b)
    }

    /// Indices in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a & b)
    }

    /// Indices in this set and not in the other.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a & !b)
    }

    fn combine(&self, other: &Self, op: impl Fn(u8, u8) -> u8) -> Self {
        let len = self.0.len().max(other.0.len());
        let at = |bytes: &[u8], i: usize| bytes.get(i).copied().unwrap_or(0);
        let mut bytes: Vec<u8> = (0..len)
            .map(|i| op(at(&self.0, i), at(&other.0, i)))
            .collect();
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        Self(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn bits_are_little_endian_inside_bytes_in_ascending_bytes() {
        let cases: &[(&[u32], &[u8])] = &[
            (&[], &[]),
            (&[0], &[0x01]),
            (&[6], &[0x40]),
            (&[7], &[0x80]),
            (&[0, 2, 4], &[0x15]),
            (&[1, 3, 5, 7], &[0xaa]),
            (&[8], &[0x00, 0x01]),
            (&[0, 9], &[0x01, 0x02]),
        ];
        for (indices, bytes) in cases {
            let set = SignerSet::from_indices(indices.iter().copied()).unwrap();
            assert_eq!(set.as_signers().as_bytes(), *bytes);
            assert_eq!(set.as_signers().iter().collect::<Vec<_>>(), *indices);
            assert_eq!(set.as_signers().count() as usize, indices.len());
            let highest = indices.last().map_or(0, |last| last + 1);
            assert_eq!(set.as_signers().highest_plus_one(), highest);
        }
        let all = SignerSet::from_indices(0..21).unwrap();
        assert_eq!(all.as_signers().as_bytes(), [0xff, 0xff, 0x1f]);
    }

    /// A17: the last member's bit survives a round trip at every size around a word boundary.
    #[test]
    fn a17_the_last_bit_survives_at_sizes_around_word_boundaries() {
        for n in [8_u32, 9, 16, 17, 63, 64, 65, 127, 128, 129, 256, 65_536] {
            let set = SignerSet::from_indices([n - 1]).unwrap();
            let signers = Signers::new(set.as_signers().as_bytes()).unwrap();
            assert!(signers.contains(n - 1));
            assert!(!signers.contains(n));
            assert_eq!(signers.highest_plus_one(), n);
            assert_eq!(signers.iter().collect::<Vec<_>>(), [n - 1]);
            signers.check_within(n as usize).unwrap();
            let error = signers.check_within(n as usize - 1).unwrap_err();
            assert_eq!(error.reason(), Reason::SignerWithoutValidator);
            assert_eq!(error.index(), Some(n - 1));
        }
        assert_eq!(
            SignerSet::from_indices([65_536]).unwrap_err().reason(),
            Reason::SignersTooLarge
        );
    }

    #[test]
    fn trailing_zero_bytes_are_refused_and_can_be_trimmed() {
        for bytes in [&[0_u8][..], &[0x15, 0], &[0, 0]] {
            let error = Signers::new(bytes).unwrap_err();
            assert_eq!(error.reason(), Reason::NonCanonicalSigners);
            assert_eq!(error.offset(), Some(bytes.len() - 1));
        }
        let trimmed = SignerSet::from_bytes_trimmed(&[0x15, 0, 0]).unwrap();
        assert_eq!(trimmed.as_signers().as_bytes(), [0x15]);
        assert!(
            SignerSet::from_bytes_trimmed(&[0, 0])
                .unwrap()
                .as_signers()
                .is_empty()
        );
    }

    #[test]
    fn the_length_cap_is_exact() {
        let bytes = vec![1; SIGNERS_LEN_MAX];
        assert_eq!(Signers::new(&bytes).unwrap().count(), 8_192);
        let bytes = vec![1; SIGNERS_LEN_MAX + 1];
        assert_eq!(
            Signers::new(&bytes).unwrap_err().reason(),
            Reason::SignersTooLarge
        );
    }
}
