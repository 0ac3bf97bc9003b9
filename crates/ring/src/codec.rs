//! The reference's structure encoding SER, with exact shapes and a bound on every value.
//!
//! All integers are little-endian u64.
//!
//! | structure | bytes |
//! |---|---|
//! | polynomial | 1 ‖ 256 ‖ 256 words: 2,064 |
//! | vector of n | n ‖ polynomials: 8 + 2,064·n |
//! | matrix r × c | r ‖ r vectors of c: 8 + r·(8 + 2,064·c) |
//!
//! Decoders take the shape from the caller and compare the length first, so that nothing is
//! allocated for a wrong length, and accept exactly one encoding of each value.
//!
//! # Source
//! `spec/pulsar.md` 6.1 and 8.4.
#![deny(clippy::indexing_slicing)]

use alloc::vec::Vec;

use crate::backend::{self, Kind};
use crate::error::{Error, Fault};
use crate::matrix::Matrix;
use crate::poly::{N, Residues};

/// Bytes of an encoded polynomial.
pub const POLY_BYTES: usize = 16 + 8 * N;

/// Bytes of an encoded vector of `len` polynomials.
#[must_use]
pub const fn vector_bytes(len: usize) -> usize {
    8 + POLY_BYTES * len
}

/// Bytes of an encoded matrix.
#[must_use]
pub const fn matrix_bytes(rows: usize, cols: usize) -> usize {
    8 + rows * vector_bytes(cols)
}

/// Where encoders put their bytes: a buffer, or a hash.
pub trait Sink {
    /// Takes the next bytes.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

impl<F: FnMut(&[u8])> Sink for F {
    fn put(&mut self, bytes: &[u8]) {
        self(bytes);
    }
}

/// Encodes a polynomial: 2,064 bytes.
pub fn write_poly(poly: &impl Residues, sink: &mut impl Sink) {
    let mut bytes = [0; POLY_BYTES];
    let (words, _) = bytes.as_chunks_mut::<8>();
    if let Some((header, body)) = words.split_first_chunk_mut() {
        *header = [1_u64, N as u64].map(u64::to_le_bytes);
        for (word, value) in body.iter_mut().zip(poly.residues()) {
            *word = value.to_le_bytes();
        }
    }
    sink.put(&bytes);
}

/// Encodes a vector: 8 + 2,064·n bytes.
pub fn write_vector<'a, T: Residues + 'a>(
    polys: impl ExactSizeIterator<Item = &'a T>,
    sink: &mut impl Sink,
) {
    sink.put(&(polys.len() as u64).to_le_bytes());
    polys.for_each(|poly| write_poly(poly, sink));
}

/// Encodes a matrix: 8 + r·(8 + 2,064·c) bytes.
pub fn write_matrix<T: Residues>(matrix: &Matrix<T>, sink: &mut impl Sink) {
    sink.put(&(matrix.rows() as u64).to_le_bytes());
    for r in 0..matrix.rows() {
        write_vector(matrix.row(r), sink);
    }
}

/// Decodes exactly one polynomial with every value at most `max`.
///
/// # Errors
/// [`Error::Malformed`] with `field`: wrong length or header, or a value above `max`.
pub fn read_poly<T: Residues>(bytes: &[u8], max: u64, field: &'static str) -> Result<T, Error> {
    let mut poly = T::ZERO;
    read_poly_into(bytes, max, field, &mut poly)?;
    Ok(poly)
}

/// Decodes exactly one vector of `out.len()` polynomials with every value at most `max`.
///
/// # Errors
/// [`Error::Malformed`] with `field`; `out` is then partly written.
pub fn read_vector<'a, T: Residues + 'a>(
    bytes: &[u8],
    max: u64,
    field: &'static str,
    out: impl ExactSizeIterator<Item = &'a mut T>,
) -> Result<(), Error> {
    require_length(bytes, vector_bytes(out.len()), field)?;
    let mut reader = Reader { bytes, field };
    reader.expect(out.len() as u64, Fault::PolynomialCount)?;
    for poly in out {
        read_poly_into(reader.take(POLY_BYTES)?, max, field, poly)?;
    }
    Ok(())
}

/// Decodes exactly one `rows` × `cols` matrix with every value at most `max`.
///
/// # Errors
/// [`Error::Malformed`] with `field`.
pub fn read_matrix<T: Residues + Clone + Default>(
    bytes: &[u8],
    (rows, cols): (usize, usize),
    max: u64,
    field: &'static str,
) -> Result<Matrix<T>, Error> {
    require_length(bytes, matrix_bytes(rows, cols), field)?;
    let mut reader = Reader { bytes, field };
    reader.expect(rows as u64, Fault::RowCount)?;
    let mut matrix = Matrix::zeros(rows, cols);
    for (index, entry) in matrix.iter_mut().enumerate() {
        if index.is_multiple_of(cols) {
            reader.expect(cols as u64, Fault::PolynomialCount)?;
        }
        read_poly_into(reader.take(POLY_BYTES)?, max, field, entry)?;
    }
    Ok(matrix)
}

fn read_poly_into<T: Residues>(
    bytes: &[u8],
    max: u64,
    field: &'static str,
    out: &mut T,
) -> Result<(), Error> {
    require_length(bytes, POLY_BYTES, field)?;
    let mut reader = Reader { bytes, field };
    reader.expect(1, Fault::LevelCount)?;
    reader.expect(N as u64, Fault::CoefficientCount)?;
    let (words, _) = reader.bytes.as_chunks::<8>();
    let values = out.residues_mut();
    values
        .iter_mut()
        .zip(words)
        .for_each(|(value, word)| *value = u64::from_le_bytes(*word));
    if backend::all_at_most(Kind::active(), values, max) {
        Ok(())
    } else {
        Err(Error::malformed(field, Fault::OutOfRange { max }))
    }
}

fn require_length(bytes: &[u8], expected: usize, field: &'static str) -> Result<(), Error> {
    if bytes.len() == expected {
        Ok(())
    } else {
        Err(Error::malformed(
            field,
            Fault::Length {
                expected,
                found: bytes.len(),
            },
        ))
    }
}

/// Walks through bytes whose total length was checked.
struct Reader<'a> {
    bytes: &'a [u8],
    field: &'static str,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let found = self.bytes.len();
        let Some((taken, rest)) = self.bytes.split_at_checked(len) else {
            return Err(Error::malformed(
                self.field,
                Fault::Length {
                    expected: len,
                    found,
                },
            ));
        };
        self.bytes = rest;
        Ok(taken)
    }

    fn expect(&mut self, value: u64, fault: Fault) -> Result<(), Error> {
        if self.take(8)? == value.to_le_bytes() {
            Ok(())
        } else {
            Err(Error::malformed(self.field, fault))
        }
    }
}
