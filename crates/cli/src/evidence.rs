//! One lane at a time: what an aggregator checks before it builds an envelope, and what `explain`
//! says about lanes that Prism did not get to.
//!
//! # Security
//! Nothing here is a verdict. Only [`horizon_warp::prism`] decides about an envelope.

use horizon_hash::suite::Suite;
use horizon_pulsar::{GroupKey, PreparedKey, Signature};
use horizon_sig::error::Error as SigError;
use horizon_sig::{bls, mldsa};
use horizon_warp::pulse::PulseFrames;
use horizon_warp::transcript::CERTIFICATE_CONTEXT;
use horizon_warp::{CertSet, Message, Reason, Record, Signers, SuiteId};

/// Why a lane proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The reason, from the table that all of the product shares.
    pub reason: Reason,
    /// Canonical index of the validator at fault, if one is.
    pub validator: Option<u32>,
}

impl Fault {
    const fn lane(reason: Reason) -> Self {
        Self {
            reason,
            validator: None,
        }
    }
}

impl From<horizon_warp::Error> for Fault {
    fn from(error: horizon_warp::Error) -> Self {
        Self {
            reason: error.reason(),
            validator: error.index(),
        }
    }
}

/// Weight of these validators; those beyond the set have none.
#[must_use]
pub fn weight(record: &Record, signers: Signers<'_>) -> u64 {
    signers
        .iter()
        .filter_map(|index| record.members.get(usize::try_from(index).ok()?))
        .fold(0, |sum: u64, member| sum.saturating_add(member.weight))
}

/// The Beam key of a member, its possession proven.
///
/// # Errors
/// `RecordKey`, `RecordPossession`, `SignerWithoutValidator`.
pub fn beam_key(record: &Record, index: u32) -> Result<bls::ProvenKey, Fault> {
    let at = |reason| Fault {
        reason,
        validator: Some(index),
    };
    let member = usize::try_from(index)
        .ok()
        .and_then(|index| record.members.get(index));
    let member = member.ok_or(at(Reason::SignerWithoutValidator))?;
    let key = bls::VerifyingKey::from_bytes(&member.bls_key).map_err(|_| at(Reason::RecordKey))?;
    bls::PossessionProof::from_bytes(&member.possession)
        .and_then(|proof| key.verify_possession(&proof))
        .map_err(|_| at(Reason::RecordPossession))
}

/// Whether the Beam is the signature of the validators it names.
///
/// # Errors
/// `NoSignedWeight`, `SignerWithoutValidator`, `BeamMalformed`, `BeamInvalid`, and those of
/// [`beam_key`].
pub fn check_beam(record: &Record, message: &Message<'_>) -> Result<(), Fault> {
    let beam = message.beam();
    if beam.signers.is_empty() {
        return Err(Fault::lane(Reason::NoSignedWeight));
    }
    beam.signers.check_within(record.members.len())?;
    let malformed = |_| Fault::lane(Reason::BeamMalformed);
    let signature = bls::Signature::from_bytes(beam.signature).map_err(malformed)?;
    let keys = beam
        .signers
        .iter()
        .map(|index| beam_key(record, index))
        .collect::<Result<Vec<_>, _>>()?;
    let key = bls::AggregateKey::new(&keys).map_err(malformed)?;
    let verified = key.verify(&message.unsigned().encode(), &signature);
    verified
        .map(drop)
        .map_err(|_| Fault::lane(Reason::BeamInvalid))
}

/// Whether every certificate is its validator's signature over the transcript.
///
/// # Errors
/// `CertSetSignerIndex`, `CertSetKeyMissing`, `CertSetInvalid`, naming the validator.
pub fn check_certset(
    record: &Record,
    transcript: &[u8],
    certificates: &CertSet<'_>,
) -> Result<(), Fault> {
    let mut keys = Vec::new();
    for index in certificates.signers().iter() {
        let at = |reason| Fault {
            reason,
            validator: Some(index),
        };
        let member = usize::try_from(index)
            .ok()
            .and_then(|index| record.members.get(index));
        let member = member.ok_or(at(Reason::CertSetSignerIndex))?;
        let bytes = member
            .mldsa_key
            .as_ref()
            .ok_or(at(Reason::CertSetKeyMissing))?;
        let set = mldsa::ParameterSet::MlDsa65;
        let key = mldsa::VerifyingKey::from_bytes(set, &bytes[..]);
        keys.push((index, key.map_err(|_| at(Reason::RecordKey))?));
    }
    let entries: Vec<_> = keys
        .iter()
        .zip(certificates.signatures())
        .map(|((_, key), signature)| mldsa::Attestation { key, signature })
        .collect();
    let verified = mldsa::par_verify_set(transcript, CERTIFICATE_CONTEXT, &entries);
    verified.map(drop).map_err(|error| {
        let first = first_bad(&error).and_then(|position| keys.get(position));
        Fault {
            reason: Reason::CertSetInvalid,
            validator: first.map(|(index, _)| *index),
        }
    })
}

/// Whether the Pulse verifies under the record's group key.
///
/// # Errors
/// `LaneUnverifiable` without a group key, `RecordKey`, the reasons of [`PulseFrames::parse`],
/// `PulseInvalid`.
pub fn check_pulse(record: &Record, transcript: &[u8], pulse: &[u8]) -> Result<(), Fault> {
    if record.group_key.is_empty() {
        return Err(Fault::lane(Reason::LaneUnverifiable));
    }
    PulseFrames::parse(pulse)?;
    let key =
        GroupKey::from_framed(&record.group_key).map_err(|_| Fault::lane(Reason::RecordKey))?;
    let signature =
        Signature::from_pulse_bytes(pulse).map_err(|_| Fault::lane(Reason::PulseShape))?;
    let key = PreparedKey::new(&key, kernel_suite(record.suite));
    let verified = key.verify(transcript, &signature);
    verified
        .map(drop)
        .map_err(|_| Fault::lane(Reason::PulseInvalid))
}

/// Position of the first bad signature of a set.
#[must_use]
pub fn first_bad(error: &SigError) -> Option<usize> {
    match error {
        SigError::Rejected(horizon_sig::error::Rejected::Signers(bad)) => {
            bad.entries().first().map(|entry| entry.index)
        }
        _ => None,
    }
}

/// The kernel's hash functions for a suite of the wire.
#[must_use]
pub const fn kernel_suite(suite: SuiteId) -> Suite {
    match suite {
        SuiteId::PulsarBlake3 => Suite::PulsarBlake3,
        _ => Suite::PulsarSha3,
    }
}

/// The wire's suite for the kernel's; `None` for a suite that no envelope carries.
#[must_use]
pub fn wire_suite(suite: Suite) -> Option<SuiteId> {
    SuiteId::ALL
        .into_iter()
        .find(|wire| kernel_suite(*wire) == suite)
}
