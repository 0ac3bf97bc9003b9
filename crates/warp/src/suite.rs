//! Hash suite names of the Pulse lane.
//!
//! # Source
//! Wire specification, suite defaulting: an empty field means `Pulsar-SHA3`; comparison is by exact
//! bytes.

use crate::error::{Error, Reason};
use crate::limits::SUITE_LEN_MAX;

/// A suite the Pulse kernel implements.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SuiteId {
    /// `Pulsar-SHA3`, the default.
    PulsarSha3,
    /// `Pulsar-BLAKE3`, legacy, not for production.
    PulsarBlake3,
}

impl SuiteId {
    /// Every suite.
    pub const ALL: [Self; 2] = [Self::PulsarSha3, Self::PulsarBlake3];

    /// The suite an empty field stands for.
    pub const DEFAULT: Self = Self::PulsarSha3;

    /// The exact text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PulsarSha3 => "Pulsar-SHA3",
            Self::PulsarBlake3 => "Pulsar-BLAKE3",
        }
    }

    /// The suite with this exact name. The empty name is no suite.
    ///
    /// # Errors
    /// `SuiteUnknown`.
    pub fn from_name(name: &[u8]) -> Result<Self, Error> {
        let found = Self::ALL
            .into_iter()
            .find(|suite| suite.name().as_bytes() == name);
        found.ok_or(Error::rejected(Reason::SuiteUnknown))
    }
}

/// The text an envelope field stands for: the default if it is empty.
#[must_use]
pub const fn effective(field: &[u8]) -> &[u8] {
    if field.is_empty() {
        SuiteId::DEFAULT.name().as_bytes()
    } else {
        field
    }
}

/// Checks the syntax of a suite field: at most 64 bytes of printable ASCII without space. Empty is
/// allowed.
///
/// # Errors
/// `SuiteSyntax`, with the offset inside the field.
pub fn check_syntax(field: &[u8]) -> Result<(), Error> {
    if field.len() > SUITE_LEN_MAX {
        return Err(Error::over(Reason::SuiteSyntax, "suite", 0, SUITE_LEN_MAX));
    }
    match field.iter().position(|byte| !byte.is_ascii_graphic()) {
        Some(at) => Err(Error::malformed(Reason::SuiteSyntax, "suite", at)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f12_names_are_exact_and_the_empty_name_is_no_suite() {
        for suite in SuiteId::ALL {
            assert_eq!(SuiteId::from_name(suite.name().as_bytes()), Ok(suite));
        }
        for name in ["", "pulsar-sha3", "Pulsar-SHA3 ", "Corona-SHA3"] {
            let error = SuiteId::from_name(name.as_bytes()).unwrap_err();
            assert_eq!(error.reason(), Reason::SuiteUnknown);
        }
        assert_eq!(effective(b""), b"Pulsar-SHA3");
        assert_eq!(effective(b"x"), b"x");
    }

    /// F-35: suite names are bytes, never a UTF-8 string type; the syntax rule refuses what is not
    /// printable.
    #[test]
    fn f35_suite_fields_are_bytes_with_a_syntax_rule() {
        check_syntax(&[b'~'; 64]).unwrap();
        check_syntax(b"").unwrap();
        for field in [&[b'a'; 65][..], &[b'a', 0xff], b"a b", b"\n", &[0x7f]] {
            assert_eq!(
                check_syntax(field).unwrap_err().reason(),
                Reason::SuiteSyntax
            );
        }
        assert_eq!(check_syntax(&[b'a', 0xff]).unwrap_err().offset(), Some(1));
    }
}
