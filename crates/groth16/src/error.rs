//! Everything that can go wrong, by fault.

use core::fmt;

use crate::curve::PointError;

/// Why something was refused.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The proof's bytes are not an artifact.
    Artifact(ArtifactError),
    /// A verifying key is refused.
    Key(KeyError),
    /// A well-formed proof does not prove what was asked.
    Rejected(Rejected),
    /// The caller's arguments are refused.
    Misuse(Misuse),
}

/// Why bytes are not an artifact.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtifactError {
    /// Another length than the profile's.
    Length {
        /// Length found, bytes.
        len: usize,
    },
    /// A point does not decode.
    Point {
        /// Which of the three.
        which: ProofPoint,
        /// What is wrong with it.
        reason: PointError,
    },
    /// The signer bitmap has the wrong number of signers, names a validator that does not exist, or
    /// is not trimmed.
    Signers,
}

/// The three points of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofPoint {
    /// A, in G1.
    A,
    /// B, in G2.
    B,
    /// C, in G1.
    C,
}

/// Why a verifying key is refused.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The first bytes are not a key record's.
    Magic,
    /// The record's version is unknown.
    Version,
    /// The curve is not BLS12-381.
    Curve,
    /// The profile is unknown.
    Profile,
    /// The number of slots is zero or above the limit.
    Slots,
    /// The message-representative mode is unknown or has no verifier here.
    MuMode,
    /// The setup kind is unknown or its digest is not as its kind demands.
    SetupKind,
    /// The record ends early or goes on.
    Length,
    /// The number of input points does not fit the slots.
    InputCount,
    /// A point does not decode; infinity is one of the reasons.
    Point {
        /// Which point.
        which: KeyPoint,
        /// What is wrong with it.
        reason: PointError,
    },
    /// gamma and delta are one point: anyone can forge.
    GammaEqualsDelta,
    /// gamma is the generator: no setup took place.
    GammaIsGenerator,
    /// delta is the generator: no setup took place.
    DeltaIsGenerator,
    /// The stored pairing of alpha and beta is not theirs.
    Target,
    /// The key comes from a `dev` or `test` setup and the caller does not allow these.
    DevelopmentKey,
    /// The key's id is not the one pinned.
    Id,
}

/// The points of a verifying key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPoint {
    /// alpha, in G1.
    Alpha,
    /// beta, in G2.
    Beta,
    /// gamma, in G2.
    Gamma,
    /// delta, in G2.
    Delta,
    /// An input point, in G1, with its index.
    Input(usize),
}

/// Why a well-formed proof is refused.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// The carried hash of the public inputs is not the one recomputed.
    InputsHash,
    /// The pairing equation does not hold.
    Equation,
    /// Proofs of a batch that do not verify, ascending by position.
    Batch(Vec<usize>),
}

/// Arguments that cannot be used.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// More validators than the key has slots.
    TooManyValidators,
    /// A key table belongs to another verifying key.
    TableOfAnotherKey,
    /// The key has the other profile.
    Profile,
    /// An ML-DSA context string is longer than 255 bytes.
    ContextTooLong,
    /// The batch is empty or above the limit.
    BatchSize,
    /// The source of batch coefficients gives zeros or repeats itself.
    Coefficients,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Artifact(error) => write!(f, "the artifact is malformed: {error}"),
            Self::Key(error) => write!(f, "the verifying key is refused: {error}"),
            Self::Rejected(error) => write!(f, "the proof is rejected: {error}"),
            Self::Misuse(error) => write!(f, "the arguments are refused: {error}"),
        }
    }
}

impl fmt::Display for ArtifactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { len } => write!(f, "it has {len} bytes"),
            Self::Point { which, reason } => write!(f, "point {which:?}: {reason}"),
            Self::Signers => f.write_str("the signer bitmap does not fit the key's slots"),
        }
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Magic => "it does not start as a key record",
            Self::Version => "unknown version",
            Self::Curve => "unknown curve",
            Self::Profile => "unknown profile",
            Self::Slots => "the number of slots is zero or above the limit",
            Self::MuMode => "no verifier for this message-representative mode",
            Self::SetupKind => "unknown setup kind",
            Self::Length => "the record has the wrong length",
            Self::InputCount => "the number of input points does not fit the slots",
            Self::Point { which, reason } => return write!(f, "point {which:?}: {reason}"),
            Self::GammaEqualsDelta => "gamma equals delta, so anyone can forge",
            Self::GammaIsGenerator => "gamma is the generator, so no setup took place",
            Self::DeltaIsGenerator => "delta is the generator, so no setup took place",
            Self::Target => "the stored pairing of alpha and beta is wrong",
            Self::DevelopmentKey => {
                "it comes from a development setup, whose maker can forge any proof"
            }
            Self::Id => "its id is not the pinned one",
        };
        f.write_str(text)
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InputsHash => f.write_str("the carried hash is not that of the public inputs"),
            Self::Equation => f.write_str("the pairing equation does not hold"),
            Self::Batch(bad) => write!(f, "{} proofs of the batch do not verify", bad.len()),
        }
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooManyValidators => "more validators than the key has slots",
            Self::TableOfAnotherKey => "the key table belongs to another verifying key",
            Self::Profile => "the verifying key has another profile",
            Self::ContextTooLong => "the context string is longer than 255 bytes",
            Self::BatchSize => "the batch is empty or too large",
            Self::Coefficients => "the source of batch coefficients is broken",
        })
    }
}

impl core::error::Error for Error {}
impl core::error::Error for ArtifactError {}
impl core::error::Error for KeyError {}
impl core::error::Error for Rejected {}
impl core::error::Error for Misuse {}

impl From<ArtifactError> for Error {
    fn from(error: ArtifactError) -> Self {
        Self::Artifact(error)
    }
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        Self::Key(error)
    }
}

impl From<Rejected> for Error {
    fn from(error: Rejected) -> Self {
        Self::Rejected(error)
    }
}

impl From<Misuse> for Error {
    fn from(error: Misuse) -> Self {
        Self::Misuse(error)
    }
}
