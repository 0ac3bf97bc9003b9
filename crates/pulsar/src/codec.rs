//! Bounded reading and writing of the fixed-size objects of this crate.
//!
//! Every object has exactly one size, so a length is checked once, before anything is allocated,
//! and no reader recurses or loops over a count taken from the input.
//!
//! The structure encoding `SER` itself is [`horizon_ring::codec`].

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use horizon_hash::suite::Suite;
use horizon_ring::{Fault, NttPoly, Residues, codec as ring, modulus};

use crate::{
    error::Malformed,
    params::{POLY_LEN, matrix_len, vector_len},
};

/// Reads an object of known size front to back.
///
/// The total size is checked by [`Reader::new`]; reads past it then only happen through a
/// programming error and are still answered with [`Malformed::Short`].
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    field: &'static str,
    expected: usize,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// `bytes` must be exactly `expected` bytes long.
    pub(crate) const fn new(
        field: &'static str,
        bytes: &'a [u8],
        expected: usize,
    ) -> Result<Self, Malformed> {
        if bytes.len() < expected {
            return Err(Malformed::Short { field, expected });
        }
        if bytes.len() > expected {
            return Err(Malformed::Trailing { field, expected });
        }
        Ok(Self {
            field,
            expected,
            rest: bytes,
        })
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let Some((head, rest)) = self.rest.split_at_checked(len) else {
            return Err(Malformed::Short {
                field: self.field,
                expected: self.expected,
            });
        };
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn array<const L: usize>(&mut self) -> Result<&'a [u8; L], Malformed> {
        let Some((head, rest)) = self.rest.split_first_chunk() else {
            return Err(Malformed::Short {
                field: self.field,
                expected: self.expected,
            });
        };
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn be16(&mut self) -> Result<u16, Malformed> {
        self.array().map(|bytes| u16::from_be_bytes(*bytes))
    }

    #[cfg(feature = "hazmat")]
    pub(crate) fn be32(&mut self) -> Result<u32, Malformed> {
        self.array().map(|bytes| u32::from_be_bytes(*bytes))
    }

    #[cfg(feature = "hazmat")]
    pub(crate) fn be64(&mut self) -> Result<u64, Malformed> {
        self.array().map(|bytes| u64::from_be_bytes(*bytes))
    }

    /// Magic and version 1 of a framed object.
    pub(crate) fn header(&mut self, magic: &[u8; 4]) -> Result<(), Malformed> {
        if self.array()? != magic {
            return Err(Malformed::Magic { field: self.field });
        }
        if self.be16()? != VERSION {
            return Err(Malformed::Version { field: self.field });
        }
        Ok(())
    }

    /// A big-endian length prefix that allows one value only.
    pub(crate) fn frame_be(
        &mut self,
        field: &'static str,
        expected: usize,
    ) -> Result<&'a [u8], Malformed> {
        let len = u32::from_be_bytes(*self.array()?);
        self.frame(field, len, expected)
    }

    /// A little-endian length prefix that allows one value only.
    pub(crate) fn frame_le(
        &mut self,
        field: &'static str,
        expected: usize,
    ) -> Result<&'a [u8], Malformed> {
        let len = u32::from_le_bytes(*self.array()?);
        self.frame(field, len, expected)
    }

    fn frame(
        &mut self,
        field: &'static str,
        len: u32,
        expected: usize,
    ) -> Result<&'a [u8], Malformed> {
        if usize::try_from(len) != Ok(expected) {
            return Err(Malformed::FrameLength { field, expected });
        }
        self.take(expected)
    }
}

/// The fault of the ring codec in the terms of this crate.
pub(crate) fn malformed(error: &horizon_ring::Error) -> Malformed {
    let horizon_ring::Error::Malformed { field, fault } = *error else {
        return Malformed::Value {
            field: "polynomials",
        };
    };
    match fault {
        Fault::Length { expected, found } if found < expected => {
            Malformed::Short { field, expected }
        }
        Fault::Length { expected, .. } => Malformed::Trailing { field, expected },
        Fault::LevelCount => Malformed::Levels { field },
        Fault::CoefficientCount => Malformed::Degree { field },
        Fault::OutOfRange { max } => Malformed::Range { field, max },
        _ => Malformed::Count { field },
    }
}

/// An encoded vector; `out` fixes the number of polynomials.
pub(crate) fn read_vector<'o, T: Residues + 'o>(
    field: &'static str,
    bytes: &[u8],
    max: u64,
    out: impl ExactSizeIterator<Item = &'o mut T>,
) -> Result<(), Malformed> {
    ring::read_vector(bytes, max, field, out).map_err(|error| malformed(&error))
}

/// Checks an encoded `rows` x `cols` matrix with values below q, one polynomial at a time: nothing
/// is allocated.
pub(crate) fn check_matrix(
    field: &'static str,
    bytes: &[u8],
    (rows, cols): (usize, usize),
) -> Result<(), Malformed> {
    let mut reader = Reader::new(field, bytes, matrix_len(rows, cols))?;
    if reader.array()? != &(rows as u64).to_le_bytes() {
        return Err(Malformed::Count { field });
    }
    for _ in 0..rows {
        let row = reader.take(vector_len(cols))?;
        let mut row = Reader::new(field, row, vector_len(cols))?;
        if row.array()? != &(cols as u64).to_le_bytes() {
            return Err(Malformed::Count { field });
        }
        for _ in 0..cols {
            let _: NttPoly = ring::read_poly(row.take(POLY_LEN)?, modulus::Q - 1, field)
                .map_err(|error| malformed(&error))?;
        }
    }
    Ok(())
}

/// Version of every framed object.
pub(crate) const VERSION: u16 = 1;

/// Number of a suite in framed objects; 0 stands for a suite this crate does not sign under.
pub(crate) const fn suite_code(suite: Suite) -> u16 {
    match suite {
        Suite::PulsarSha3 => 1,
        Suite::PulsarBlake3 => 2,
        Suite::CoronaSha3 => 3,
        Suite::CoronaBlake3 => 4,
        _ => 0,
    }
}

/// The suite with this number.
pub(crate) const fn suite_from_code(code: u16) -> Result<Suite, Malformed> {
    match code {
        1 => Ok(Suite::PulsarSha3),
        2 => Ok(Suite::PulsarBlake3),
        3 => Ok(Suite::CoronaSha3),
        4 => Ok(Suite::CoronaBlake3),
        _ => Err(Malformed::Suite),
    }
}
