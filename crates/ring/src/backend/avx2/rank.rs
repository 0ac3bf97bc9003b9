//! Elimination in four slots at a time, in double precision.
//!
//! # Source
//! `spec/pulsar-speed.md` 5, with the arithmetic of 3.3.

use core::arch::x86_64::*;

use super::{Q_F64, load, product_of_two, to_f64, vectors};
use crate::backend::SlotSet;

/// The slots in which elimination of the 8×8 matrix without exchanges meets a zero pivot.
///
/// # Bounds
/// In multiples of q: with entries within 1.8, a product is below 3.3q^2, its quotient off by at
/// most 0.9 with the rounding, so an updated entry is within 1.8 again. A residue of zero is 0, q
/// or -q.
#[target_feature(enable = "avx2,fma")]
pub(crate) fn zero_pivots(entries: &[&[u64; 256]; 64]) -> SlotSet {
    let mut flagged = SlotSet::default();
    for group in 0..64 {
        let mut a: [[__m256d; 8]; 8] = core::array::from_fn(|r| {
            core::array::from_fn(|c| to_f64(load(&vectors(entries[8 * r + c])[group])))
        });
        let mut zeros = _mm256_setzero_pd();
        for k in 0..8 {
            let (above, below) = a.split_at_mut(k + 1);
            let pivot_row = &above[k];
            let pivot = pivot_row[k];
            for zero in [0.0, Q_F64, -Q_F64] {
                let equal = _mm256_cmp_pd::<_CMP_EQ_OQ>(pivot, _mm256_set1_pd(zero));
                zeros = _mm256_or_pd(zeros, equal);
            }
            for row in below {
                let head = row[k];
                for j in k + 1..8 {
                    let kept = product_of_two(pivot, row[j]);
                    row[j] = _mm256_sub_pd(kept, product_of_two(head, pivot_row[j]));
                }
            }
        }
        let mask = u64::from(_mm256_movemask_pd(zeros).cast_unsigned());
        flagged.0[group / 16] |= mask << (4 * (group % 16));
    }
    flagged
}
