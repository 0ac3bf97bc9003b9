//! What is known about one message: signatures by lane, weights, and who is missing.

use core::fmt;

use horizon_sig::bls;
use horizon_warp::{CertSet, Quorum, SignerSet};

use crate::gossip::Refusal;

/// Signatures over one message, checked, under the current validator set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Message id.
    pub id: [u8; 32],
    /// BLS signatures.
    pub beam: LaneEvidence<[u8; 96]>,
    /// ML-DSA-65 signatures.
    pub certificates: LaneEvidence<Box<[u8; 3309]>>,
}

/// One lane of an [`Evidence`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneEvidence<S> {
    /// Position, weight and signature of every signer, ascending by position.
    pub signatures: Vec<(u16, u64, S)>,
    /// Weight of the signers.
    pub weight: u64,
    /// Least weight that meets the quorum.
    pub needed: u64,
    /// Weight of all validators.
    pub total: u64,
    /// Validators without a signature, ascending by position.
    pub missing: Vec<Missing>,
    pub(super) quorum: Quorum,
}

/// A validator whose signature is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Canonical position.
    pub signer: u16,
    /// Its weight.
    pub weight: u64,
    /// Why it is missing.
    pub reason: MissingReason,
}

/// Why a signature is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingReason {
    /// The validator has no key for this lane; it is never asked.
    NoKey,
    /// It was not asked yet.
    NotAsked,
    /// It was asked and did not answer.
    Silent {
        /// How often.
        asked: u32,
    },
    /// It answered that it cannot give it.
    Refused(Refusal),
}

/// Why there is no evidence, or not enough.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AggregateError {
    /// The message is not final here.
    Unknown,
    /// The signatures of this message are not kept any more.
    TooOld,
    /// The weight of the signers does not meet the quorum.
    Quorum(horizon_warp::Error),
    /// The keys of the validator set do not decode, or the own ones are not those of their position.
    Keys,
    /// The store failed.
    Store(String),
}

impl Evidence {
    /// Whether both lanes meet their quorum.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.beam.check().is_ok() && self.certificates.check().is_ok()
    }

    /// Signer bits and aggregate signature of the Beam, of all signers.
    ///
    /// # Errors
    /// [`AggregateError::Quorum`] with `NoSignedWeight` or `InsufficientWeight`.
    pub fn aggregate_beam(&self) -> Result<(SignerSet, [u8; 96]), AggregateError> {
        self.beam.check()?;
        let decoded = self.beam.signatures.iter();
        let decoded: Vec<bls::Signature> = decoded
            .map(|(.., signature)| bls::Signature::from_bytes(signature))
            .collect::<Result<_, _>>()
            .map_err(|_| AggregateError::Keys)?;
        let sum = bls::aggregate(&decoded).map_err(|_| AggregateError::Keys)?;
        let indices = self.beam.signatures.iter().map(|(at, ..)| u32::from(*at));
        let signers = SignerSet::from_indices(indices).map_err(AggregateError::Quorum)?;
        Ok((signers, sum.to_bytes()))
    }

    /// The certificate set in ascending order of positions: the fewest signatures that meet the quorum, heaviest
    /// validators first.
    ///
    /// # Errors
    /// As [`aggregate_beam`](Self::aggregate_beam).
    pub fn certificate_set(&self) -> Result<Vec<u8>, AggregateError> {
        let lane = &self.certificates;
        lane.check()?;
        let mut heaviest: Vec<&(u16, u64, Box<[u8; 3309]>)> = lane.signatures.iter().collect();
        heaviest.sort_by_key(|(at, weight, _)| (core::cmp::Reverse(*weight), *at));
        let mut weight = 0_u64;
        let mut chosen = Vec::new();
        for entry in heaviest {
            if weight >= lane.needed {
                break;
            }
            weight = weight.saturating_add(entry.1);
            chosen.push(entry);
        }
        chosen.sort_by_key(|(at, ..)| *at);
        let indices = chosen.iter().map(|(at, ..)| u32::from(*at));
        let signers = SignerSet::from_indices(indices).map_err(AggregateError::Quorum)?;
        let signatures: Vec<[u8; 3309]> = chosen.iter().map(|(.., s)| **s).collect();
        let set = CertSet::new(signers.as_signers(), &signatures);
        Ok(set.map_err(AggregateError::Quorum)?.encode())
    }
}

impl<S> LaneEvidence<S> {
    /// Whether the signers meet the quorum.
    ///
    /// # Errors
    /// [`AggregateError::Quorum`] with `NoSignedWeight` or `InsufficientWeight`.
    pub fn check(&self) -> Result<(), AggregateError> {
        let checked = self.quorum.check(self.weight, self.total);
        checked.map_err(AggregateError::Quorum)
    }
}

impl fmt::Display for AggregateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("the message is not final here"),
            Self::TooOld => f.write_str("the signatures of this message are not kept any more"),
            Self::Quorum(error) => write!(f, "{error}"),
            Self::Keys => f.write_str("a key or a signature does not decode"),
            Self::Store(why) => write!(f, "the store of signatures failed: {why}"),
        }
    }
}

impl core::error::Error for AggregateError {}
