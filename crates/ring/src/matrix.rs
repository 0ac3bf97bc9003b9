//! Matrices of ring elements at a padded stride, and products with them.
//!
//! Entries lie 2,112 bytes apart: at multiples of 2,048 a column falls on two of 64 cache sets,
//! which makes products 1.5 times slower.
//!
//! # Source
//! `spec/pulsar-speed.md` 4.

use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroize;

use crate::backend::{self, Kind, Term};
use crate::dot::{self, dot_into};
use crate::error::{Error, Fault};
use crate::pack::PACKED_BYTES;
use crate::poly::{LazyNttPoly, NttPoly, Poly, Slots};

/// A matrix of `rows` × `cols` elements, row-major. A vector is a matrix with one row.
#[derive(Clone)]
pub struct Matrix<T> {
    rows: usize,
    cols: usize,
    cells: Vec<Cell<T>>,
}

/// A matrix of canonical slots.
pub type NttMatrix = Matrix<NttPoly>;

/// A matrix of unreduced slots.
pub type LazyNttMatrix = Matrix<LazyNttPoly>;

/// Sum of many canonical matrices, kept as raw 64-bit words and reduced once.
///
/// # Security
/// For public matrices: a refused summand shows.
#[derive(Clone)]
pub struct MatrixSum {
    sum: Matrix<NttPoly>,
    summands: usize,
}

/// One element, padded to 33 cache lines.
#[derive(Clone, Default)]
#[repr(C, align(64))]
struct Cell<T> {
    element: T,
    padding: [u64; 8],
}

impl<T: Clone + Default> Matrix<T> {
    /// A matrix of zeros. The caller bounds the shape; `rows`·`cols`·2,112 bytes are allocated.
    #[must_use]
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self {
            rows,
            cols,
            cells: alloc::vec![Cell::default(); rows * cols],
        }
    }

    /// A matrix whose entry (r, c) is `entry(r, c)`, called in row-major order.
    #[must_use]
    pub fn from_fn(rows: usize, cols: usize, mut entry: impl FnMut(usize, usize) -> T) -> Self {
        let mut cells = Vec::with_capacity(rows * cols);
        for r in 0..rows {
            for c in 0..cols {
                cells.push(Cell {
                    element: entry(r, c),
                    padding: [0; 8],
                });
            }
        }
        Self { rows, cols, cells }
    }
}

impl<T> Matrix<T> {
    /// Number of rows.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub const fn cols(&self) -> usize {
        self.cols
    }

    /// Entry (r, c), if inside.
    #[inline]
    #[must_use]
    pub fn get(&self, r: usize, c: usize) -> Option<&T> {
        if c >= self.cols {
            return None;
        }
        self.cells.get(r * self.cols + c).map(|cell| &cell.element)
    }

    /// Entry (r, c), if inside.
    #[inline]
    pub fn get_mut(&mut self, r: usize, c: usize) -> Option<&mut T> {
        if c >= self.cols {
            return None;
        }
        self.cells
            .get_mut(r * self.cols + c)
            .map(|cell| &mut cell.element)
    }

    /// All entries in row-major order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> + Clone {
        self.cells.iter().map(|cell| &cell.element)
    }

    /// All entries in row-major order.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> {
        self.cells.iter_mut().map(|cell| &mut cell.element)
    }

    /// The entries of one row; empty if there is no such row.
    #[must_use]
    pub fn row(&self, r: usize) -> impl ExactSizeIterator<Item = &T> + Clone {
        let start = r.saturating_mul(self.cols);
        let end = start.saturating_add(self.cols);
        self.cells
            .get(start..end)
            .unwrap_or(&[])
            .iter()
            .map(|cell| &cell.element)
    }

    /// The entries of one row; empty if there is no such row.
    pub fn row_mut(&mut self, r: usize) -> impl ExactSizeIterator<Item = &mut T> {
        let start = r.saturating_mul(self.cols);
        let end = start.saturating_add(self.cols);
        self.cells
            .get_mut(start..end)
            .unwrap_or(&mut [])
            .iter_mut()
            .map(|cell| &mut cell.element)
    }

    /// The entries of one column; empty if there is no such column.
    pub fn column_mut(&mut self, c: usize) -> impl ExactSizeIterator<Item = &mut T> {
        let start = if c < self.cols { c } else { self.cells.len() };
        let step = self.cols.max(1);
        let cells = self.cells.get_mut(start..).unwrap_or(&mut []);
        cells.iter_mut().step_by(step).map(|cell| &mut cell.element)
    }

    /// The entries of one column; empty if there is no such column.
    #[must_use]
    pub fn column(&self, c: usize) -> impl ExactSizeIterator<Item = &T> + Clone {
        let start = if c < self.cols { c } else { self.cells.len() };
        self.cells
            .get(start..)
            .unwrap_or(&[])
            .iter()
            .step_by(self.cols.max(1))
            .map(|cell| &cell.element)
    }
}

impl<T: Slots> Matrix<T> {
    /// Matrix times vector: `out[r]` = sum over c of (r, c)·`x[c]`·2^-52, canonical.
    ///
    /// # Errors
    /// [`Error::Misuse`] if `x` has not `cols` or `out` not `rows` entries.
    pub fn mul_vec<'a, X: Slots + 'a>(
        &'a self,
        x: impl IntoIterator<Item = &'a X> + Clone,
        out: &mut [NttPoly],
    ) -> Result<(), Error> {
        if out.len() != self.rows || x.clone().into_iter().count() != self.cols {
            return Err(Error::Misuse("matrix and vector lengths differ"));
        }
        for (r, out) in out.iter_mut().enumerate() {
            dot_pairs(
                self.row(r)
                    .zip(x.clone())
                    .map(|(a, b)| (a.slots(), b.slots())),
                out,
            );
        }
        Ok(())
    }

    /// Transposed matrix times vector: `out[c]` = sum over r of (r, c)·`x[r]`·2^-52, canonical.
    ///
    /// For a matrix stored in the order its columns were made.
    ///
    /// # Errors
    /// [`Error::Misuse`] if `x` has not `rows` or `out` not `cols` entries.
    pub fn transposed_mul_vec<'a, X: Slots + 'a>(
        &'a self,
        x: impl IntoIterator<Item = &'a X> + Clone,
        out: &mut [NttPoly],
    ) -> Result<(), Error> {
        if out.len() != self.cols || x.clone().into_iter().count() != self.rows {
            return Err(Error::Misuse("matrix and vector lengths differ"));
        }
        for (c, out) in out.iter_mut().enumerate() {
            dot_pairs(
                self.column(c)
                    .zip(x.clone())
                    .map(|(a, b)| (a.slots(), b.slots())),
                out,
            );
        }
        Ok(())
    }
}

impl NttMatrix {
    /// One fused column `A·x + k·e`: `out[r]` = (sum over c of (r, c)·`x[c]` + k·`e[r]`)·2^-52.
    ///
    /// `k` < q is the scale of the matrix (2^52 for plain results, 2^116 for NM), so that the error
    /// term costs one more product instead of a pass of its own.
    ///
    /// # Errors
    /// [`Error::Misuse`] if `x` has not `cols`, or `e` or `out` not `rows` entries; `out` is then
    /// partly written.
    pub fn mul_column<'a>(
        &self,
        x: impl IntoIterator<Item = &'a LazyNttPoly> + Clone,
        e: impl IntoIterator<Item = &'a LazyNttPoly> + Clone,
        k: u64,
        out: impl IntoIterator<Item = &'a mut NttPoly>,
    ) -> Result<(), Error> {
        let lengths = (x.clone().into_iter().count(), e.clone().into_iter().count());
        if lengths != (self.cols, self.rows) {
            return Err(Error::Misuse("matrix and column lengths differ"));
        }
        let constant = LazyNttPoly::constant(k);
        let mut out = out.into_iter();
        for (r, e) in e.into_iter().enumerate() {
            let Some(out) = out.next() else {
                return Err(Error::Misuse("matrix and result lengths differ"));
            };
            let products = self.row(r).zip(x.clone()).map(|(a, x)| dot::term(a, x));
            dot_pairs(products.chain([dot::term(&constant, e)]), out);
        }
        match out.next() {
            None => Ok(()),
            Some(_) => Err(Error::Misuse("matrix and result lengths differ")),
        }
    }
}

impl MatrixSum {
    /// Most matrices one sum takes, so that no word overflows.
    pub const MAX_SUMMANDS: usize = 1 << 14;

    /// The empty sum of `rows` × `cols` matrices.
    #[must_use]
    pub fn new(rows: usize, cols: usize) -> Self {
        Self {
            sum: Matrix::zeros(rows, cols),
            summands: 0,
        }
    }

    /// Number of matrices added so far.
    #[must_use]
    pub const fn summands(&self) -> usize {
        self.summands
    }

    /// Adds a canonical matrix.
    ///
    /// # Errors
    /// [`Error::Misuse`] if the shape differs or the sum is full.
    pub fn add(&mut self, matrix: &NttMatrix) -> Result<(), Error> {
        if (matrix.rows, matrix.cols) != (self.sum.rows, self.sum.cols) {
            return Err(Error::Misuse("summands of different shapes"));
        }
        self.count()?;
        let kind = Kind::active();
        for (sum, entry) in self.sum.iter_mut().zip(matrix.iter()) {
            backend::add_raw(kind, sum.as_mut_array(), entry.as_array());
        }
        Ok(())
    }

    /// Adds a matrix of 49-bit packed entries, row-major, straight from its bytes.
    ///
    /// # Errors
    /// [`Error::Malformed`] with `field` for a wrong length or a value ≥ q, [`Error::Misuse`] for a
    /// full sum. After an error the sum is as before.
    pub fn add_packed(&mut self, bytes: &[u8], field: &'static str) -> Result<(), Error> {
        let expected = self.sum.cells.len() * PACKED_BYTES;
        if bytes.len() != expected {
            let found = bytes.len();
            return Err(Error::malformed(field, Fault::Length { expected, found }));
        }
        self.count()?;
        let kind = Kind::active();
        let mut entry = NttPoly::ZERO;
        let (chunks, _) = bytes.as_chunks::<PACKED_BYTES>();
        for (index, chunk) in chunks.iter().enumerate() {
            if !backend::unpack49(kind, chunk, entry.as_mut_array()) {
                self.take_back(chunks.get(..index).unwrap_or(&[]));
                let max = crate::modulus::Q - 1;
                return Err(Error::malformed(field, Fault::OutOfRange { max }));
            }
            if let Some(cell) = self.sum.cells.get_mut(index) {
                backend::add_raw(kind, cell.element.as_mut_array(), entry.as_array());
            }
        }
        Ok(())
    }

    /// The sum, canonical.
    #[must_use]
    pub fn finish(mut self) -> NttMatrix {
        let kind = Kind::active();
        for entry in self.sum.iter_mut() {
            let raw = *entry.as_array();
            backend::reduce(kind, &raw, entry.as_mut_array());
        }
        self.sum
    }

    fn count(&mut self) -> Result<(), Error> {
        if self.summands >= Self::MAX_SUMMANDS {
            return Err(Error::Misuse("too many summands"));
        }
        self.summands += 1;
        Ok(())
    }

    /// Subtracts the entries of a refused summand that were already added.
    fn take_back(&mut self, chunks: &[[u8; PACKED_BYTES]]) {
        let mut entry = NttPoly::ZERO;
        for (sum, chunk) in self.sum.iter_mut().zip(chunks) {
            // These were valid a moment ago.
            let _valid = backend::unpack49(Kind::active(), chunk, entry.as_mut_array());
            for (sum, &word) in sum.as_mut_array().iter_mut().zip(entry.as_array()) {
                *sum = sum.wrapping_sub(word);
            }
        }
        self.summands -= 1;
    }
}

impl<T> fmt::Debug for Matrix<T> {
    /// Prints the shape only: the entries may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Matrix({} x {})", self.rows, self.cols)
    }
}

impl fmt::Debug for MatrixSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MatrixSum({} summands)", self.summands)
    }
}

impl<T: Zeroize> Zeroize for Matrix<T> {
    /// Overwrites every entry; the shape stays.
    fn zeroize(&mut self) {
        self.cells
            .iter_mut()
            .for_each(|cell| cell.element.zeroize());
    }
}

impl<T: PartialEq> PartialEq for Matrix<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.cols == other.cols && self.iter().eq(other.iter())
    }
}

impl<T: Eq> Eq for Matrix<T> {}

impl Matrix<Poly> {
    /// A matrix of coefficients from a matrix of plain slots.
    #[must_use]
    pub fn from_slots(matrix: &NttMatrix) -> Self {
        Self::from_fn(matrix.rows, matrix.cols, |r, c| {
            matrix.get(r, c).map_or(Poly::ZERO, crate::ntt::inverse)
        })
    }
}

/// Dot product of a sequence of pairs, in pieces of 64 terms.
fn dot_pairs<'a>(mut pairs: impl Iterator<Item = Term<'a>>, out: &mut NttPoly) {
    const PIECE: usize = 64;
    let zero = &[0; 256];
    let mut terms: [Term<'_>; PIECE] = [(zero, zero); PIECE];
    let mut first = true;
    loop {
        let mut count = 0;
        for (place, pair) in terms.iter_mut().zip(&mut pairs) {
            *place = pair;
            count += 1;
        }
        if count == 0 && !first {
            return;
        }
        let piece = terms.get(..count).unwrap_or(&[]);
        if first {
            dot_into(piece, out);
        } else {
            out.add_assign(&dot::dot(piece));
        }
        first = false;
        if count < PIECE {
            return;
        }
    }
}
