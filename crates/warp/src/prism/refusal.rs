//! Why an envelope was refused.

use core::fmt;

use crate::error::{Class, Error, Lane, Reason};

/// One refusal: a stable reason with static text, the lane and validator at fault, and what to do
/// next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    error: Error,
    lane: Option<Lane>,
}

/// What a refusal means for whoever carries the envelope.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// These bytes will never be accepted.
    Refused,
    /// The same message may be accepted with more evidence, or later.
    NotEnoughEvidence,
    /// The verifier's own registry or policy does not cover the source.
    NotConfigured,
}

impl Refusal {
    pub(crate) fn in_lane(error: Error, lane: Lane) -> Self {
        Self {
            error,
            lane: Some(error.lane().unwrap_or(lane)),
        }
    }

    /// The stable reason.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        self.error.reason()
    }

    /// The family of check.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.error.class()
    }

    /// The lane at fault, if one is.
    #[must_use]
    pub const fn lane(&self) -> Option<Lane> {
        self.lane
    }

    /// Canonical index of the validator at fault, if one is.
    #[must_use]
    pub const fn index(&self) -> Option<u32> {
        self.error.index()
    }

    /// Offset of the first byte at fault. Counts from the start of the lane when a lane is at
    /// fault, from the start of the envelope otherwise.
    #[must_use]
    pub const fn offset(&self) -> Option<usize> {
        self.error.offset()
    }

    /// What to do next.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        self.reason().hint()
    }

    /// The error underneath.
    #[must_use]
    pub const fn error(&self) -> &Error {
        &self.error
    }

    /// Whether more evidence, more time or another configuration could change the verdict.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        match self.reason() {
            Reason::LaneMissing
            | Reason::PqEvidenceMissing
            | Reason::NoSignedWeight
            | Reason::InsufficientWeight
            | Reason::CertSetWeight
            | Reason::RecordNotYetValid => Outcome::NotEnoughEvidence,
            Reason::PolicyMissing
            | Reason::RecordUnknown
            | Reason::RecordTooOld
            | Reason::Groth16Key
            | Reason::Groth16Slots
            | Reason::Groth16Development
            | Reason::LaneUnverifiable => Outcome::NotConfigured,
            _ => Outcome::Refused,
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self {
            error,
            lane: error.lane(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)?;
        match (self.lane, self.error.lane()) {
            (Some(lane), None) => write!(f, " (lane {})", lane.name()),
            _ => Ok(()),
        }
    }
}

impl core::error::Error for Refusal {}
