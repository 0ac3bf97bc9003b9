//! What can go wrong at the edge of the ring: bytes that are not the encoding of an element.

use core::fmt;

/// Errors of this crate. Arithmetic cannot fail; decoding and a few length checks can.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Bytes from outside are not a valid encoding of the named field.
    Malformed {
        /// Static name of the field, as the caller passed it.
        field: &'static str,
        /// What is wrong with it.
        fault: Fault,
    },
    /// The caller passed shapes that do not fit each other, or exceeded a stated limit.
    Misuse(&'static str),
}

/// The fault found in a malformed field. Carries limits and lengths, never the bytes themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The byte string has the wrong length.
    Length {
        /// Required length in bytes.
        expected: usize,
        /// Length found, in bytes.
        found: usize,
    },
    /// A polynomial header names another number of moduli than one.
    LevelCount,
    /// A polynomial header names another number of coefficients than 256.
    CoefficientCount,
    /// A vector header names another number of polynomials than required.
    PolynomialCount,
    /// A matrix header names another number of rows than required.
    RowCount,
    /// A value is above the inclusive bound.
    OutOfRange {
        /// The largest value allowed.
        max: u64,
    },
}

impl Error {
    pub(crate) const fn malformed(field: &'static str, fault: Fault) -> Self {
        Self::Malformed { field, fault }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { field, fault } => write!(f, "malformed {field}: {fault}"),
            Self::Misuse(what) => write!(f, "misuse: {what}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { expected, found } => {
                write!(f, "{found} bytes where {expected} are required")
            }
            Self::LevelCount => f.write_str("number of moduli is not 1"),
            Self::CoefficientCount => f.write_str("number of coefficients is not 256"),
            Self::PolynomialCount => f.write_str("wrong number of polynomials"),
            Self::RowCount => f.write_str("wrong number of rows"),
            Self::OutOfRange { max } => write!(f, "a value exceeds {max}"),
        }
    }
}

impl core::error::Error for Error {}
