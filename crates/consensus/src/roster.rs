//! The validators of a network, in both orders that exist.
//!
//! The *canonical* order (sorted by BLS key) is the order of the genesis file, of the committee, of
//! Beam and of CertSet; a `u16` position always means this one. Simplex orders *participants* by
//! identity key; that index never leaves this crate.

use core::{fmt, net::SocketAddr};
use std::collections::BTreeSet;

use commonware_codec::DecodeExt as _;
use commonware_cryptography::ed25519::PublicKey;
use commonware_utils::{
    Participant,
    ordered::{Quorum as _, Set},
};
use horizon_ledger::Genesis;
use horizon_sig::{
    mldsa::{ParameterSet, VerifyingKey},
    traits::Verifier as _,
};

use crate::{error::Error, limits};

/// One validator as the genesis file names it.
#[derive(Clone, Debug)]
pub struct Validator {
    /// Name for logs and reports.
    pub name: String,
    /// Ed25519 key of its links.
    pub identity: PublicKey,
    /// ML-DSA-65 key of its consensus votes.
    pub consensus: VerifyingKey,
    /// Address of its links.
    pub address: SocketAddr,
}

impl Validator {
    /// Decodes the keys of one validator.
    ///
    /// # Errors
    /// [`Error::Roster`] when a key has the wrong length or the identity is no point of the curve.
    pub fn new(
        name: &str,
        identity: &[u8],
        consensus: &[u8],
        address: SocketAddr,
    ) -> Result<Self, Error> {
        let identity = PublicKey::decode(bytes::Bytes::copy_from_slice(identity))
            .map_err(|_| Error::Roster(format!("the identity key of {name} does not decode")))?;
        let consensus = VerifyingKey::from_bytes(ParameterSet::MlDsa65, consensus)
            .map_err(|_| Error::Roster(format!("the consensus key of {name} does not decode")))?;
        Ok(Self {
            name: name.to_owned(),
            identity,
            consensus,
            address,
        })
    }
}

/// The validators of one network and the domain their votes belong to.
#[derive(Clone)]
pub struct Roster {
    validators: Vec<Validator>,
    participants: Set<PublicKey>,
    /// Participant index of every canonical position.
    participant_of: Vec<Participant>,
    /// Canonical position of every participant index.
    position_of: Vec<u16>,
    chain_id: [u8; 32],
    genesis_hash: [u8; 32],
}

impl Roster {
    /// Builds the roster from the validators in canonical order.
    ///
    /// # Errors
    /// [`Error::TooManyValidators`] above [`limits::MAX_VALIDATORS`]; [`Error::Roster`] for an empty
    /// list and for an identity, consensus key or address that occurs twice.
    pub fn new(
        validators: Vec<Validator>,
        chain_id: [u8; 32],
        genesis_hash: [u8; 32],
    ) -> Result<Self, Error> {
        if validators.len() > limits::MAX_VALIDATORS {
            return Err(Error::TooManyValidators {
                found: validators.len(),
                max: limits::MAX_VALIDATORS,
            });
        }
        if validators.is_empty() {
            return Err(Error::Roster("the genesis names no validator".to_owned()));
        }
        refuse_duplicates(&validators)?;
        let participants = Set::from_iter_dedup(
            validators
                .iter()
                .map(|validator| validator.identity.clone()),
        );
        let mut participant_of = Vec::with_capacity(validators.len());
        let mut position_of = vec![0; validators.len()];
        for (position, validator) in (0_u16..).zip(&validators) {
            let index = participants
                .index(&validator.identity)
                .ok_or_else(|| Error::Roster("an identity is missing from the set".to_owned()))?;
            if let Some(slot) = usize::try_from(index.get())
                .ok()
                .and_then(|index| position_of.get_mut(index))
            {
                *slot = position;
            }
            participant_of.push(index);
        }
        Ok(Self {
            validators,
            participants,
            participant_of,
            position_of,
            chain_id,
            genesis_hash,
        })
    }

    /// The roster of a genesis.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn from_genesis(genesis: &Genesis) -> Result<Self, Error> {
        let validators = genesis.spec().validators.iter();
        let validators = validators
            .map(|validator| {
                Validator::new(
                    &validator.name,
                    &validator.identity,
                    &validator.consensus_key[..],
                    validator.address,
                )
            })
            .collect::<Result<_, _>>()?;
        Self::new(validators, *genesis.chain_id(), *genesis.hash())
    }

    /// The validators in canonical order.
    #[must_use]
    pub fn validators(&self) -> &[Validator] {
        &self.validators
    }

    /// The validator at one canonical position.
    #[must_use]
    pub fn validator(&self, position: u16) -> Option<&Validator> {
        self.validators.get(usize::from(position))
    }

    /// Canonical position of an identity.
    #[must_use]
    pub fn position(&self, identity: &PublicKey) -> Option<u16> {
        self.participants
            .index(identity)
            .and_then(|index| self.position_of_participant(index))
    }

    /// Identity at one canonical position.
    #[must_use]
    pub fn identity(&self, position: u16) -> Option<&PublicKey> {
        self.validator(position)
            .map(|validator| &validator.identity)
    }

    /// Number of validators.
    #[must_use]
    pub fn len(&self) -> usize {
        self.validators.len()
    }

    /// Whether there is no validator; never true for a roster that was built.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.validators.is_empty()
    }

    /// Largest number of validators that may fail: `(n - 1) / 3`.
    #[must_use]
    pub fn max_faults(&self) -> usize {
        self.validators.len().saturating_sub(1) / 3
    }

    /// Chain id that every vote is bound to.
    #[must_use]
    pub const fn chain_id(&self) -> &[u8; 32] {
        &self.chain_id
    }

    /// Hash of the genesis file that every vote is bound to.
    #[must_use]
    pub const fn genesis_hash(&self) -> &[u8; 32] {
        &self.genesis_hash
    }

    /// What the signing contexts of simplex are derived from.
    #[must_use]
    pub fn namespace(&self) -> Vec<u8> {
        let mut namespace = b"horizon-consensus-v1:".to_vec();
        namespace.extend_from_slice(&self.chain_id);
        namespace.extend_from_slice(&self.genesis_hash);
        namespace
    }

    /// What the links of this network are bound to.
    #[must_use]
    pub fn link_namespace(&self) -> Vec<u8> {
        let mut namespace = b"horizon-link-v1:".to_vec();
        namespace.extend_from_slice(&self.chain_id);
        namespace.extend_from_slice(&self.genesis_hash);
        namespace
    }

    /// Identities in the order of simplex.
    pub(crate) const fn participants(&self) -> &Set<PublicKey> {
        &self.participants
    }

    /// Consensus keys in the order of simplex.
    pub(crate) fn participant_keys(&self) -> Vec<VerifyingKey> {
        self.position_of
            .iter()
            .filter_map(|position| self.validator(*position))
            .map(|validator| validator.consensus.clone())
            .collect()
    }

    pub(crate) fn position_of_participant(&self, index: Participant) -> Option<u16> {
        let index = usize::try_from(index.get()).ok()?;
        self.position_of.get(index).copied()
    }

    pub(crate) fn participant(&self, position: u16) -> Option<Participant> {
        self.participant_of.get(usize::from(position)).copied()
    }
}

impl fmt::Debug for Roster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roster")
            .field("validators", &self.validators.len())
            .finish_non_exhaustive()
    }
}

fn refuse_duplicates(validators: &[Validator]) -> Result<(), Error> {
    let mut identities = BTreeSet::new();
    let mut keys = BTreeSet::new();
    let mut addresses = BTreeSet::new();
    for validator in validators {
        let name = &validator.name;
        if !identities.insert(&validator.identity) {
            return Err(Error::Roster(format!(
                "the identity of {name} occurs twice"
            )));
        }
        if !keys.insert(validator.consensus.key_bytes()) {
            return Err(Error::Roster(format!(
                "the consensus key of {name} occurs twice"
            )));
        }
        if !addresses.insert(validator.address) {
            return Err(Error::Roster(format!("the address of {name} occurs twice")));
        }
    }
    Ok(())
}
