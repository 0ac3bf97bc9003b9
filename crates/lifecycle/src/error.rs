//! The error of this crate, grouped by who is at fault.

use core::fmt;

/// Everything that can go wrong in this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// Bytes from outside are not an encoding.
    Malformed(Malformed),
    /// Well-formed bytes that a key or a check refuses.
    Rejected(Rejected),
    /// The caller asked for something that is not allowed.
    Misuse(Misuse),
}

/// Why bytes were refused. Carries a static field name and limits, never the bytes themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Malformed {
    /// Another length than the object has.
    Length {
        /// What was read.
        field: &'static str,
        /// Size it must have, in bytes; for objects of variable size the least.
        expected: usize,
    },
    /// More bytes than allowed.
    Long {
        /// What was read.
        field: &'static str,
        /// Most bytes it may have.
        max: usize,
    },
    /// The first bytes are not those of this object.
    Magic {
        /// The object.
        field: &'static str,
    },
    /// A version other than the one this crate reads.
    Version {
        /// The object.
        field: &'static str,
    },
    /// A purpose that is not assigned.
    Purpose,
}

/// Why well-formed bytes were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rejected {
    /// The X25519 key has small order, or the shared secret is zero.
    SmallOrder,
    /// The ML-KEM-768 key fails the check of FIPS 203.
    KemKey,
    /// The tag does not verify: sealed to another key, for another context, or altered.
    Seal,
    /// The coins do not reproduce this sealed message.
    Coins,
    /// The sealed share is for another member, purpose, ceremony or era.
    Context {
        /// The field that differs.
        field: &'static str,
    },
}

/// What the caller did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misuse {
    /// More plaintext or context than may be sealed at once.
    Long {
        /// What is too long.
        field: &'static str,
        /// Most bytes it may have.
        max: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(Malformed::Length { field, expected }) => {
                write!(f, "{field}: wrong length, {expected} bytes expected")
            }
            Self::Malformed(Malformed::Long { field, max })
            | Self::Misuse(Misuse::Long { field, max }) => {
                write!(f, "{field}: more than {max} bytes")
            }
            Self::Malformed(Malformed::Magic { field }) => write!(f, "not a {field}"),
            Self::Malformed(Malformed::Version { field }) => {
                write!(f, "{field} of another version")
            }
            Self::Malformed(Malformed::Purpose) => f.write_str("unknown purpose"),
            Self::Rejected(Rejected::SmallOrder) => f.write_str("X25519 key of small order"),
            Self::Rejected(Rejected::KemKey) => f.write_str("invalid ML-KEM-768 key"),
            Self::Rejected(Rejected::Seal) => {
                f.write_str("sealed to another key or context, or altered")
            }
            Self::Rejected(Rejected::Coins) => {
                f.write_str("the coins do not reproduce the sealed message")
            }
            Self::Rejected(Rejected::Context { field }) => {
                write!(f, "the sealed share is for another {field}")
            }
        }
    }
}

impl core::error::Error for Error {}

impl From<Malformed> for Error {
    fn from(fault: Malformed) -> Self {
        Self::Malformed(fault)
    }
}

impl From<Rejected> for Error {
    fn from(fault: Rejected) -> Self {
        Self::Rejected(fault)
    }
}

impl From<Misuse> for Error {
    fn from(fault: Misuse) -> Self {
        Self::Misuse(fault)
    }
}
