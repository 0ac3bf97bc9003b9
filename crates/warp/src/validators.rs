//! Canonical validator sets: who a signer bit names, and with how much weight.
//!
//! The order is ascending by the 48-byte compressed BLS key, compared as unsigned bytes. Beam and
//! certificates share it, so one index means one validator in both lanes.
//!
//! # Source
//! Wire specification, section "Canonical validator set".

use alloc::boxed::Box;
use alloc::vec::Vec;

use sha2::{Digest, Sha256};

use crate::error::{Error, Reason};
use crate::limits::{BLS_KEY_LEN, MLDSA65_KEY_LEN, VALIDATOR_COUNT_MAX};
use crate::quorum::Quorum;
use crate::signers::Signers;

/// One validator's public data.
#[derive(Clone, PartialEq, Eq)]
pub struct Validator {
    /// Compressed G1 key of the Beam, 48 bytes.
    pub bls_key: [u8; BLS_KEY_LEN],
    /// ML-DSA-65 key of the certificates; a validator without one counts in the total and cannot
    /// sign that lane.
    pub mldsa_key: Option<Box<[u8; MLDSA65_KEY_LEN]>>,
    /// Weight, not 0.
    pub weight: u64,
    /// Node id, 20 bytes; informational.
    pub node_id: [u8; 20],
}

impl core::fmt::Debug for Validator {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Validator")
            .field("weight", &self.weight)
            .field("has_mldsa_key", &self.mldsa_key.is_some())
            .finish_non_exhaustive()
    }
}

/// A checked set in canonical order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidatorSet {
    validators: Vec<Validator>,
    total_weight: u64,
}

impl ValidatorSet {
    /// Checks and sorts validators.
    ///
    /// # Errors
    /// `ValidatorSetEmpty`, `ValidatorSetTooLarge`, `ValidatorWeightZero`, `ValidatorDuplicateKey`
    /// (BLS or ML-DSA), `ValidatorWeightOverflow` when the total passes 64 bits.
    pub fn new(mut validators: Vec<Validator>) -> Result<Self, Error> {
        if validators.is_empty() {
            return Err(Error::rejected(Reason::ValidatorSetEmpty));
        }
        if validators.len() > VALIDATOR_COUNT_MAX {
            return Err(Error::rejected(Reason::ValidatorSetTooLarge));
        }
        validators.sort_unstable_by_key(|validator| validator.bls_key);
        let mut total = 0_u128;
        for (index, validator) in (0_u32..).zip(&validators) {
            if validator.weight == 0 {
                return Err(Error::index_rejected(
                    Reason::ValidatorWeightZero,
                    None,
                    index,
                ));
            }
            total = total.saturating_add(u128::from(validator.weight));
        }
        if let Some(index) = duplicate(&validators, |v| Some(&v.bls_key[..])) {
            return Err(Error::index_rejected(
                Reason::ValidatorDuplicateKey,
                None,
                index,
            ));
        }
        if let Some(index) = duplicate(&validators, |v| v.mldsa_key.as_ref().map(|k| &k[..])) {
            return Err(Error::index_rejected(
                Reason::ValidatorDuplicateKey,
                None,
                index,
            ));
        }
        let total_weight =
            u64::try_from(total).map_err(|_| Error::rejected(Reason::ValidatorWeightOverflow))?;
        Ok(Self {
            validators,
            total_weight,
        })
    }

    /// The validators, in canonical order.
    #[must_use]
    pub fn as_slice(&self) -> &[Validator] {
        &self.validators
    }

    /// Number of validators.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.validators.len()
    }

    /// Always false: an empty set cannot be built.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.validators.is_empty()
    }

    /// The validator a signer bit names.
    #[must_use]
    pub fn at(&self, index: u32) -> Option<&Validator> {
        self.validators.get(usize::try_from(index).ok()?)
    }

    /// The index of a BLS key, matched by its 48 bytes.
    #[must_use]
    pub fn index_of(&self, bls_key: &[u8; BLS_KEY_LEN]) -> Option<u32> {
        let found = self
            .validators
            .binary_search_by(|v| v.bls_key.cmp(bls_key))
            .ok()?;
        u32::try_from(found).ok()
    }

    /// Sum of all weights.
    #[must_use]
    pub const fn total_weight(&self) -> u64 {
        self.total_weight
    }

    /// Sum of the weights of the set bits.
    ///
    /// # Errors
    /// `SignerWithoutValidator`, checked by the highest bit before anything is summed.
    pub fn signed_weight(&self, signers: Signers<'_>) -> Result<u64, Error> {
        signers.check_within(self.validators.len())?;
        // A subset of weights whose total fits 64 bits.
        let weights = signers
            .iter()
            .filter_map(|index| self.at(index))
            .map(|v| v.weight);
        Ok(weights.fold(0, u64::saturating_add))
    }

    /// Checks that the signers reach the quorum; gives their weight.
    ///
    /// # Errors
    /// `SignerWithoutValidator`, `NoSignedWeight`, `InsufficientWeight`.
    pub fn check_quorum(&self, signers: Signers<'_>, quorum: Quorum) -> Result<u64, Error> {
        let signed = self.signed_weight(signers)?;
        quorum.check(signed, self.total_weight)?;
        Ok(signed)
    }

    /// Commitment to the ordered list of index, ML-DSA key and weight.
    ///
    /// SHA-256 over `horizon-validator-root-v1`, `u32be` count, and per validator `u32be` index,
    /// the 48-byte BLS key, one byte 0 or 1 and the ML-DSA key if there is one, and the `u64be`
    /// weight.
    #[must_use]
    pub fn root(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(VALIDATOR_ROOT_TAG);
        hash.update(
            u32::try_from(self.validators.len())
                .unwrap_or(u32::MAX)
                .to_be_bytes(),
        );
        for (index, validator) in (0_u32..).zip(&self.validators) {
            hash.update(index.to_be_bytes());
            hash.update(validator.bls_key);
            match &validator.mldsa_key {
                Some(key) => {
                    hash.update([1]);
                    hash.update(&key[..]);
                }
                None => hash.update([0]),
            }
            hash.update(validator.weight.to_be_bytes());
        }
        hash.finalize().into()
    }
}

/// Domain tag of [`ValidatorSet::root`].
pub const VALIDATOR_ROOT_TAG: &[u8] = horizon_hash::domain::warp::VALIDATOR_ROOT;

/// The canonical index of a validator whose key an earlier one has already used.
fn duplicate<'a>(
    validators: &'a [Validator],
    key: impl Fn(&'a Validator) -> Option<&'a [u8]>,
) -> Option<u32> {
    let mut keys: Vec<(&[u8], u32)> = validators
        .iter()
        .zip(0_u32..)
        .filter_map(|(v, i)| key(v).map(|k| (k, i)))
        .collect();
    keys.sort_unstable();
    let pairs = keys.iter().zip(keys.iter().skip(1));
    pairs.filter(|(a, b)| a.0 == b.0).map(|(_, b)| b.1).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signers::SignerSet;
    use alloc::vec;

    fn validator(key: u8, weight: u64) -> Validator {
        Validator {
            bls_key: [key; BLS_KEY_LEN],
            mldsa_key: Some(Box::new([key; MLDSA65_KEY_LEN])),
            weight,
            node_id: [key; 20],
        }
    }

    #[test]
    fn the_order_is_by_unsigned_key_bytes_whatever_the_input_order() {
        let set = ValidatorSet::new(vec![
            validator(0xff, 1),
            validator(2, 2),
            validator(0x80, 3),
        ])
        .unwrap();
        let keys: Vec<u8> = set.as_slice().iter().map(|v| v.bls_key[0]).collect();
        assert_eq!(keys, [2, 0x80, 0xff]);
        assert_eq!(set.total_weight(), 6);
    }

    /// F-21: equal key bytes are one signer, wherever the copies live.
    #[test]
    fn f21_a_signer_is_found_by_its_key_bytes() {
        let set = ValidatorSet::new(vec![validator(9, 1), validator(2, 2)]).unwrap();
        for (index, held) in (0..).zip(set.as_slice()) {
            let copy = held.clone();
            assert_ne!(&raw const copy.bls_key, &raw const held.bls_key);
            assert_eq!(set.index_of(&copy.bls_key), Some(index));
        }
        assert_eq!(set.index_of(&[3; 48]), None);
    }

    /// N24: empty set, duplicate key, zero weight and overflow are refused.
    #[test]
    fn q25_n24_inconsistent_sets_are_refused() {
        let refused = |validators| ValidatorSet::new(validators).unwrap_err().reason();
        assert_eq!(refused(vec![]), Reason::ValidatorSetEmpty);
        assert_eq!(refused(vec![validator(1, 0)]), Reason::ValidatorWeightZero);
        assert_eq!(
            refused(vec![validator(1, 1), validator(2, 1), validator(1, 9)]),
            Reason::ValidatorDuplicateKey
        );
        let mut same_mldsa = vec![validator(1, 1), validator(2, 1)];
        same_mldsa[1].mldsa_key = same_mldsa[0].mldsa_key.clone();
        assert_eq!(refused(same_mldsa), Reason::ValidatorDuplicateKey);
        assert_eq!(
            refused(vec![validator(1, u64::MAX), validator(2, 1)]),
            Reason::ValidatorWeightOverflow
        );
        let full = ValidatorSet::new(vec![validator(1, u64::MAX - 1), validator(2, 1)]).unwrap();
        assert_eq!(full.total_weight(), u64::MAX);
    }

    /// N22: a bit beyond the set is refused before any weight is summed.
    #[test]
    fn n22_a_bit_beyond_the_set_names_its_index() {
        let set = ValidatorSet::new((1..=5).map(|key| validator(key, 10)).collect()).unwrap();
        let signers = SignerSet::from_indices([0, 5]).unwrap();
        let error = set
            .check_quorum(signers.as_signers(), Quorum::DEFAULT)
            .unwrap_err();
        assert_eq!(error.reason(), Reason::SignerWithoutValidator);
        assert_eq!(error.index(), Some(5));
    }

    /// A13 and Q28: a bit counts once, whoever answered how often, and an empty set counts nothing.
    #[test]
    fn a13_weight_is_counted_once_per_bit() {
        let set = ValidatorSet::new((1..=4).map(|key| validator(key, 25)).collect()).unwrap();
        let mut signers = SignerSet::new();
        assert!(signers.insert(0).unwrap());
        assert!(!signers.insert(0).unwrap());
        assert_eq!(set.signed_weight(signers.as_signers()), Ok(25));
        let none = SignerSet::new();
        let error = set
            .check_quorum(none.as_signers(), Quorum::DEFAULT)
            .unwrap_err();
        assert_eq!(error.reason(), Reason::NoSignedWeight);
    }

    /// A07: collected signatures that fall short after a weight change need exactly the new heavy
    /// validator.
    #[test]
    fn a07_a_weight_change_after_collection_is_insufficient_until_the_new_weight_signs() {
        let weights = [10, 10, 20, 20, 40];
        let set = (1_u8..)
            .zip(weights)
            .map(|(key, weight)| validator(key, weight))
            .collect();
        let set = ValidatorSet::new(set).unwrap();
        let mut signers = SignerSet::from_indices(0..4).unwrap();
        let error = set
            .check_quorum(signers.as_signers(), Quorum::DEFAULT)
            .unwrap_err();
        assert_eq!(error.reason(), Reason::InsufficientWeight);
        signers.insert(4).unwrap();
        assert_eq!(
            set.check_quorum(signers.as_signers(), Quorum::DEFAULT),
            Ok(100)
        );
    }

    #[test]
    fn the_root_binds_order_keys_and_weights() {
        let base = vec![validator(1, 1), validator(2, 2)];
        let root = ValidatorSet::new(base.clone()).unwrap().root();
        let mut reversed = base.clone();
        reversed.reverse();
        assert_eq!(ValidatorSet::new(reversed).unwrap().root(), root);
        let mut other = base.clone();
        other[0].weight = 3;
        assert_ne!(ValidatorSet::new(other).unwrap().root(), root);
        let mut other = base;
        other[1].mldsa_key = None;
        assert_ne!(ValidatorSet::new(other).unwrap().root(), root);
    }
}
