//! Elimination in all slots of a leading 8×8 block, without division.
//!
//! # Source
//! `spec/pulsar-speed.md` 5.
//! # Security
//! The matrix is public.

use crate::backend::SlotSet;
use crate::backend::portable::dot::reduce_52;
use crate::modulus::Q;

/// The slots in which elimination of the 8×8 matrix without exchanges meets a zero pivot.
///
/// `entries` is row-major; words canonical.
pub(crate) fn zero_pivots(entries: &[&[u64; 256]; 64]) -> SlotSet {
    let block = |slot: usize| -> [[u64; 8]; 8] {
        core::array::from_fn(|r| core::array::from_fn(|c| entries[8 * r + c][slot]))
    };
    let mut flagged = SlotSet::default();
    for slot in (0..256).filter(|&slot| !has_nonzero_pivots(&mut block(slot))) {
        flagged.0[slot / 64] |= 1 << (slot % 64);
    }
    flagged
}

fn has_nonzero_pivots(a: &mut [[u64; 8]; 8]) -> bool {
    for k in 0..8 {
        let pivot_row = a[k];
        if pivot_row[k] == 0 {
            return false;
        }
        for row in &mut a[k + 1..] {
            let head = Q - row[k];
            for (entry, &above) in row[k + 1..].iter_mut().zip(&pivot_row[k + 1..]) {
                let sum = u128::from(pivot_row[k]) * u128::from(*entry);
                *entry = reduce_52(sum + u128::from(head) * u128::from(above));
            }
        }
    }
    true
}
