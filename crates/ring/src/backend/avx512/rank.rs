//! Elimination in eight slots at a time.
//!
//! # Source
//! `spec/pulsar-speed.md` 5.

use core::arch::x86_64::*;

use super::{load, montgomery, splat, vectors};
use crate::backend::SlotSet;
use crate::modulus::Q;

/// The slots in which elimination of the 8×8 matrix without exchanges meets a zero pivot.
///
/// # Bounds
/// Entries stay in (0, 1.26q): with 2q = 2^53/8 as the offset of the subtraction,
/// (1.26^2 + 2·1.26)/15.99 + 1 < 1.26. A residue of zero is therefore 0 (at entry) or q.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn zero_pivots(entries: &[&[u64; 256]; 64]) -> SlotSet {
    let zero = _mm512_setzero_si512();
    let mut flagged = SlotSet::default();
    for group in 0..32 {
        let mut a: [[__m512i; 8]; 8] = core::array::from_fn(|r| {
            core::array::from_fn(|c| load(&vectors(entries[8 * r + c])[group]))
        });
        let mut zeros = 0;
        for k in 0..8 {
            let (above, below) = a.split_at_mut(k + 1);
            let pivot_row = &above[k];
            let pivot = pivot_row[k];
            zeros |= _mm512_cmpeq_epi64_mask(pivot, zero);
            zeros |= _mm512_cmpeq_epi64_mask(pivot, splat(Q));
            for row in below {
                let head = _mm512_sub_epi64(splat(2 * Q), row[k]);
                for j in k + 1..8 {
                    let lo = _mm512_madd52lo_epu64(zero, pivot, row[j]);
                    let hi = _mm512_madd52hi_epu64(splat(Q), pivot, row[j]);
                    let lo = _mm512_madd52lo_epu64(lo, head, pivot_row[j]);
                    let hi = _mm512_madd52hi_epu64(hi, head, pivot_row[j]);
                    row[j] = montgomery(lo, hi);
                }
            }
        }
        flagged.0[group / 8] |= u64::from(zeros) << (8 * (group % 8));
    }
    flagged
}
