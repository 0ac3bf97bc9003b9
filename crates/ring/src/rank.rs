//! Does a matrix of slots have full row rank in every slot?
//!
//! # Source
//! `spec/pulsar.md` 5.5 step 4, `spec/pulsar-speed.md` 5.
//! # Security
//! The matrix is public; running time depends on it.

use alloc::vec::Vec;

use crate::backend::{self, Kind, SlotSet};
use crate::matrix::NttMatrix;
use crate::modulus::{self, Q};

/// Rows the check works on: the height of the kernel's matrices.
const ROWS: usize = 8;

/// True if columns 1.. of an 8 × c matrix have rank 8 over Z_q in each of the 256 slots.
///
/// Column 0 is ignored, as in the reference. A matrix with another number of rows, or with fewer
/// than nine columns, does not have full rank. A common factor of all entries does not matter.
#[must_use]
pub fn full_rank(matrix: &NttMatrix) -> bool {
    full_rank_with(Kind::active(), matrix)
}

/// As [`full_rank`], on a given backend.
#[must_use]
pub fn full_rank_with(kind: Kind, matrix: &NttMatrix) -> bool {
    if matrix.rows() != ROWS || matrix.cols() <= ROWS {
        return false;
    }
    let mut entries = [&[0; 256]; ROWS * ROWS];
    for (r, row) in entries.chunks_exact_mut(ROWS).enumerate() {
        for (entry, cell) in row.iter_mut().zip(matrix.row(r).skip(1)) {
            *entry = cell.as_array();
        }
    }
    let SlotSet(words) = backend::zero_pivots(kind, &entries);
    (0..256)
        .filter(|slot| (words[slot / 64] >> (slot % 64)) & 1 == 1)
        .all(|slot| slot_has_full_rank(matrix, slot))
}

/// Gaussian elimination with pivots from anywhere, one slot. Needed with probability 2^-37.
fn slot_has_full_rank(matrix: &NttMatrix, slot: usize) -> bool {
    let mut rows: Vec<Vec<u64>> = (0..ROWS)
        .map(|r| {
            matrix
                .row(r)
                .skip(1)
                .map(|entry| entry.as_array()[slot])
                .collect()
        })
        .collect();
    while let Some(mut pivot_row) = rows.pop() {
        let Some(column) = pivot_row.iter().position(|&v| v != 0) else {
            return false;
        };
        let inverse = modulus::inv(pivot_row[column]);
        pivot_row
            .iter_mut()
            .for_each(|v| *v = modulus::mul(*v, inverse));
        for row in &mut rows {
            let factor = Q - row[column];
            for (entry, &above) in row.iter_mut().zip(&pivot_row) {
                *entry = modulus::add(*entry, modulus::mul(factor, above));
            }
        }
    }
    true
}
