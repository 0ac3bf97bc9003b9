//! The one error type of this crate. Every variant is a misuse by the caller; none carries input
//! bytes.

use core::fmt;

/// Why a hash operation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A BLAKE2Xb key is longer than 64 bytes.
    KeyLength {
        /// Length of the refused key in bytes.
        len: usize,
    },
    /// The bytes given to a streamed tuple element do not add up to the announced length.
    ElementLength,
    /// A lane group is empty or has more than eight inputs.
    LaneCount {
        /// Number of inputs that were given.
        count: usize,
    },
    /// An output buffer has the wrong length for this operation.
    OutputLength,
    /// A ParallelHash block length of zero.
    BlockLength,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyLength { len } => write!(f, "BLAKE2Xb key of {len} bytes, at most 64 allowed"),
            Self::ElementLength => {
                f.write_str("streamed element differs from its announced length")
            }
            Self::LaneCount { count } => write!(f, "{count} lanes asked for, 1 to 8 allowed"),
            Self::OutputLength => f.write_str("output buffer has the wrong length"),
            Self::BlockLength => f.write_str("ParallelHash block length is zero"),
        }
    }
}

impl core::error::Error for Error {}
