//! What can go wrong in a setup or a prover.

use core::fmt;
use std::io;

use crate::error::KeyError;

/// Why a setup or a proof did not come about.
#[non_exhaustive]
#[derive(Debug)]
pub enum ProveError {
    /// Reading or writing a file failed.
    Io {
        /// What was being done.
        doing: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// A key file is refused.
    KeyFile(KeyFileError),
    /// The points of a key are refused.
    Key(KeyError),
    /// The key belongs to another circuit.
    OtherCircuit,
    /// The circuit is larger than any domain.
    TooLarge,
    /// A checkpoint belongs to another witness or another key.
    CheckpointOfAnotherWitness,
    /// The assignment does not satisfy the rows.
    Unsatisfied,
    /// The finished proof does not verify.
    SelfCheck,
    /// The caller's progress function asked to stop.
    Interrupted,
    /// A file of a ceremony is refused.
    Ceremony(CeremonyError),
}

/// Why a key file is refused.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFileError {
    /// It does not start as a key file.
    Magic,
    /// The version is unknown.
    Version,
    /// The header's digest is wrong.
    Header,
    /// A header field is impossible.
    Field(&'static str),
    /// The file ends before a section does.
    Truncated(Section),
    /// A section's digest is not the header's: changed, truncated or swapped.
    Digest(Section),
    /// Indices of a section do not ascend, or name no variable.
    Indices(Section),
}

/// The sections of a key file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Input points of the verifying key.
    Inputs = 0,
    /// Variables of the A query.
    IndicesA = 1,
    /// Points of the A query.
    A = 2,
    /// Variables of the B query.
    IndicesB = 3,
    /// Points of the B query, in G2.
    B = 4,
    /// Variables of the L query.
    IndicesL = 5,
    /// Points of the L query.
    L = 6,
    /// Points of the quotient.
    H = 7,
}

impl Section {
    /// All sections in file order.
    pub const ALL: [Self; 8] = [
        Self::Inputs,
        Self::IndicesA,
        Self::A,
        Self::IndicesB,
        Self::B,
        Self::IndicesL,
        Self::L,
        Self::H,
    ];
}

/// Why a ceremony's file or contribution is refused.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CeremonyError {
    /// It does not start as such a file, or its version is unknown.
    Format,
    /// It ends early or goes on.
    Length,
    /// The transcript has fewer powers than the circuit needs.
    TooFewPowers,
    /// A point is not on the curve, outside its subgroup, or infinity.
    Point,
    /// Powers are not the powers of one secret.
    Powers,
    /// The start is not what circuit and powers give.
    Start,
    /// A contribution does not know the secret it claims.
    Knowledge {
        /// Position in the chain, from 0.
        contribution: usize,
    },
    /// A contribution's delta does not follow from the one before.
    Delta {
        /// Position in the chain, from 0.
        contribution: usize,
    },
    /// The query points do not follow from the start and the last delta.
    Queries,
    /// The chain of contributions has another digest than claimed.
    Digest,
    /// The chain of contributions is empty.
    NoContribution,
    /// The beacon's contribution is not the one that its value gives.
    Beacon,
}

impl fmt::Display for ProveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, error } => write!(f, "{doing}: {error}"),
            Self::KeyFile(error) => write!(f, "the key file is refused: {error}"),
            Self::Key(error) => write!(f, "the key is refused: {error}"),
            Self::OtherCircuit => f.write_str("the key belongs to another circuit"),
            Self::TooLarge => f.write_str("the circuit is larger than any domain"),
            Self::CheckpointOfAnotherWitness => {
                f.write_str("the checkpoint belongs to another witness or another key; remove it")
            }
            Self::Unsatisfied => f.write_str("the assignment does not satisfy the circuit"),
            Self::SelfCheck => f.write_str("the finished proof does not verify"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Ceremony(error) => write!(f, "the ceremony is refused: {error}"),
        }
    }
}

impl fmt::Display for KeyFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => f.write_str("it does not start as a key file"),
            Self::Version => f.write_str("unknown version"),
            Self::Header => f.write_str("the header was changed"),
            Self::Field(name) => write!(f, "header field {name} is impossible"),
            Self::Truncated(section) => write!(f, "it ends before section {section:?} does"),
            Self::Digest(section) => write!(f, "section {section:?} was changed"),
            Self::Indices(section) => write!(f, "section {section:?} names impossible variables"),
        }
    }
}

impl fmt::Display for CeremonyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format => f.write_str("unknown format or version"),
            Self::Length => f.write_str("the file has the wrong length"),
            Self::TooFewPowers => f.write_str("the transcript has too few powers for the circuit"),
            Self::Point => {
                f.write_str("a point is infinity, off the curve or outside its subgroup")
            }
            Self::Powers => f.write_str("the powers are not those of one secret"),
            Self::Start => f.write_str("the start does not follow from circuit and powers"),
            Self::Knowledge { contribution } => {
                write!(f, "contribution {contribution} does not know its secret")
            }
            Self::Delta { contribution } => {
                write!(
                    f,
                    "contribution {contribution} does not follow from the one before"
                )
            }
            Self::Queries => f.write_str("the query points do not follow from the start"),
            Self::Digest => f.write_str("the chain of contributions has another digest"),
            Self::NoContribution => f.write_str("nobody has contributed"),
            Self::Beacon => f.write_str("the beacon's contribution is not that of its value"),
        }
    }
}

impl core::error::Error for ProveError {}
impl core::error::Error for KeyFileError {}
impl core::error::Error for CeremonyError {}

impl From<KeyFileError> for ProveError {
    fn from(error: KeyFileError) -> Self {
        Self::KeyFile(error)
    }
}

impl From<KeyError> for ProveError {
    fn from(error: KeyError) -> Self {
        Self::Key(error)
    }
}

impl From<CeremonyError> for ProveError {
    fn from(error: CeremonyError) -> Self {
        Self::Ceremony(error)
    }
}

impl ProveError {
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { doing, error }
    }
}
