//! The one error type of this crate, grouped by whose fault it is.

use core::fmt;

use crate::algorithm::Algorithm;

/// Why a key, a signature or a set of signatures was refused.
///
/// No variant carries bytes that came from outside: only lengths, indices and static names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not the encoding of such an object at all.
    Malformed(Malformed),
    /// The bytes are well formed and the cryptographic check said no.
    Rejected(Rejected),
    /// The caller asked for something that the scheme does not have.
    Misuse(Misuse),
}

/// Bytes that do not encode a key or a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// Wrong number of bytes.
    Length {
        /// Scheme whose decoder refused.
        algorithm: Algorithm,
        /// What was being decoded.
        field: Field,
        /// Bytes given.
        len: usize,
        /// Bytes required.
        expected: usize,
    },
    /// Right length, but not the canonical encoding of a point, scalar or key.
    Encoding {
        /// Scheme whose decoder refused.
        algorithm: Algorithm,
        /// What was being decoded.
        field: Field,
    },
    /// The neutral element of the group, which is nobody's key and nobody's signature.
    Infinity {
        /// Scheme whose decoder refused.
        algorithm: Algorithm,
        /// What was being decoded.
        field: Field,
    },
    /// A point of the curve outside the prime-order subgroup.
    Subgroup {
        /// Scheme whose decoder refused.
        algorithm: Algorithm,
        /// What was being decoded.
        field: Field,
    },
}

/// The object that a decoder was reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// A secret key or the seed it is derived from.
    SecretKey,
    /// A public key.
    VerifyingKey,
    /// The sum of several public keys.
    AggregateKey,
    /// A signature.
    Signature,
    /// A proof that the owner of a public key knows the secret key.
    PossessionProof,
}

/// A check on well-formed input that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejected {
    /// The verification equation does not hold.
    Equation {
        /// Scheme that was verified.
        algorithm: Algorithm,
    },
    /// ML-DSA: a coefficient of the response `z` is not in `(-(gamma1 - beta), gamma1 - beta)`.
    ResponseRange {
        /// Parameter set that was verified.
        algorithm: Algorithm,
    },
    /// ML-DSA: the hint is not in its only permitted encoding.
    HintEncoding {
        /// Parameter set that was verified.
        algorithm: Algorithm,
    },
    /// Two entries of a set carry the same public key.
    DuplicateSigner {
        /// Position of the earlier entry.
        first: usize,
        /// Position of the later entry.
        second: usize,
    },
    /// At least one signature of a set is bad; every bad one is named.
    Signers(BadSigners),
}

/// A request that does not make sense for the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// FIPS 204 and FIPS 205 allow at most 255 bytes of context.
    ContextTooLong {
        /// Bytes given.
        len: usize,
    },
    /// The scheme has no context string; an empty one is the only one accepted.
    ContextUnsupported {
        /// Scheme that was called.
        algorithm: Algorithm,
    },
    /// A set or an aggregate of nothing.
    EmptySet,
    /// More entries than a set may have.
    SetTooLong {
        /// Entries given.
        len: usize,
        /// Entries allowed.
        limit: usize,
    },
    /// The limits of a cache leave no room for a single bucket.
    CacheTooSmall,
    /// One set holds keys of different parameter sets.
    MixedAlgorithms {
        /// First entry that differs from entry 0.
        index: usize,
    },
    /// The library under this crate could not produce a signature.
    SigningFailed {
        /// Scheme that was called.
        algorithm: Algorithm,
    },
}

/// The entries of a set whose signatures were refused, in ascending order of index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSigners {
    entries: Vec<BadSigner>,
}

/// One refused entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadSigner {
    /// Position in the set as it was given.
    pub index: usize,
    /// What was wrong with it.
    pub reason: BadSignature,
}

/// Why one signature of a set was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadSignature {
    /// Not decodable: see [`Malformed`].
    Malformed(Malformed),
    /// The verification equation does not hold.
    Equation,
    /// See [`Rejected::ResponseRange`].
    ResponseRange,
    /// See [`Rejected::HintEncoding`].
    HintEncoding,
}

impl BadSigners {
    /// Collects refused entries; `None` when there is none, so that an empty refusal cannot exist.
    pub(crate) fn new(mut entries: Vec<BadSigner>) -> Option<Self> {
        if entries.is_empty() {
            return None;
        }
        entries.sort_unstable_by_key(|entry| entry.index);
        Some(Self { entries })
    }

    /// The refused entries, at least one.
    #[must_use]
    pub fn entries(&self) -> &[BadSigner] {
        &self.entries
    }

    /// Whether the entry at this position was refused.
    #[must_use]
    pub fn contains(&self, index: usize) -> bool {
        self.entries
            .binary_search_by_key(&index, |entry| entry.index)
            .is_ok()
    }

    /// Only their positions.
    pub fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        self.entries.iter().map(|entry| entry.index)
    }
}

impl Error {
    /// A stable, lower-case code for logs, metrics and the wire; it never changes for a variant.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed(malformed) => malformed.code(),
            Self::Rejected(rejected) => match rejected {
                Rejected::Equation { .. } => "signature_invalid",
                Rejected::ResponseRange { .. } => "signature_response_range",
                Rejected::HintEncoding { .. } => "signature_hint_encoding",
                Rejected::DuplicateSigner { .. } => "signer_duplicate",
                Rejected::Signers(_) => "signers_invalid",
            },
            Self::Misuse(misuse) => match misuse {
                Misuse::ContextTooLong { .. } => "context_too_long",
                Misuse::ContextUnsupported { .. } => "context_unsupported",
                Misuse::EmptySet => "set_empty",
                Misuse::SetTooLong { .. } => "set_too_long",
                Misuse::CacheTooSmall => "cache_too_small",
                Misuse::MixedAlgorithms { .. } => "algorithms_mixed",
                Misuse::SigningFailed { .. } => "signing_failed",
            },
        }
    }

    pub(crate) const fn length(
        algorithm: Algorithm,
        field: Field,
        len: usize,
        expected: usize,
    ) -> Self {
        Self::Malformed(Malformed::Length {
            algorithm,
            field,
            len,
            expected,
        })
    }

    pub(crate) const fn encoding(algorithm: Algorithm, field: Field) -> Self {
        Self::Malformed(Malformed::Encoding { algorithm, field })
    }

    pub(crate) const fn equation(algorithm: Algorithm) -> Self {
        Self::Rejected(Rejected::Equation { algorithm })
    }

    /// Reason of one entry of a set, when the error is about one signature.
    pub(crate) const fn bad_signature(&self) -> Option<BadSignature> {
        match self {
            Self::Malformed(malformed) => Some(BadSignature::Malformed(*malformed)),
            Self::Rejected(Rejected::Equation { .. }) => Some(BadSignature::Equation),
            Self::Rejected(Rejected::ResponseRange { .. }) => Some(BadSignature::ResponseRange),
            Self::Rejected(Rejected::HintEncoding { .. }) => Some(BadSignature::HintEncoding),
            Self::Rejected(Rejected::DuplicateSigner { .. } | Rejected::Signers(_))
            | Self::Misuse(_) => None,
        }
    }
}

impl Malformed {
    const fn code(&self) -> &'static str {
        match self {
            Self::Length { .. } => "length",
            Self::Encoding { .. } => "encoding",
            Self::Infinity { .. } => "infinity",
            Self::Subgroup { .. } => "subgroup",
        }
    }
}

impl Field {
    const fn name(self) -> &'static str {
        match self {
            Self::SecretKey => "secret key",
            Self::VerifyingKey => "public key",
            Self::AggregateKey => "aggregate key",
            Self::Signature => "signature",
            Self::PossessionProof => "proof of possession",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(inner) => inner.fmt(f),
            Self::Rejected(inner) => inner.fmt(f),
            Self::Misuse(inner) => inner.fmt(f),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length {
                algorithm,
                field,
                len,
                expected,
            } => {
                write!(
                    f,
                    "{algorithm} {} has {len} bytes instead of {expected}",
                    field.name()
                )
            }
            Self::Encoding { algorithm, field } => {
                write!(f, "{algorithm} {} is not canonically encoded", field.name())
            }
            Self::Infinity { algorithm, field } => {
                write!(f, "{algorithm} {} is the point at infinity", field.name())
            }
            Self::Subgroup { algorithm, field } => {
                write!(
                    f,
                    "{algorithm} {} is outside the prime-order subgroup",
                    field.name()
                )
            }
        }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equation { algorithm } => write!(f, "{algorithm} signature does not verify"),
            Self::ResponseRange { algorithm } => {
                write!(
                    f,
                    "{algorithm} signature has a response coefficient out of range"
                )
            }
            Self::HintEncoding { algorithm } => {
                write!(
                    f,
                    "{algorithm} signature has a hint that is not canonically encoded"
                )
            }
            Self::DuplicateSigner { first, second } => {
                write!(
                    f,
                    "entries {first} and {second} of the set have the same public key"
                )
            }
            Self::Signers(bad) => {
                let count = bad.entries.len();
                write!(
                    f,
                    "{count} signatures of the set are bad, the first at index "
                )?;
                bad.entries.first().map_or(0, |entry| entry.index).fmt(f)
            }
        }
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ContextTooLong { len } => {
                write!(f, "context string has {len} bytes, at most 255 are allowed")
            }
            Self::ContextUnsupported { algorithm } => {
                write!(f, "{algorithm} has no context string")
            }
            Self::EmptySet => f.write_str("nothing to verify or to aggregate"),
            Self::SetTooLong { len, limit } => {
                write!(f, "set has {len} entries, at most {limit} are allowed")
            }
            Self::CacheTooSmall => f.write_str("cache limits leave no room for one bucket"),
            Self::MixedAlgorithms { index } => {
                write!(
                    f,
                    "entry {index} of the set has another parameter set than entry 0"
                )
            }
            Self::SigningFailed { algorithm } => write!(f, "{algorithm} signing failed"),
        }
    }
}

impl core::error::Error for Error {}

impl From<Malformed> for Error {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl From<Rejected> for Error {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}

impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}
