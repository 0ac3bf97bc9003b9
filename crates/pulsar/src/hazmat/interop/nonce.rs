//! The nonce matrices of round one.

use core::fmt;

use horizon_hash::blake2xb::Blake2Xb;
use horizon_ring::{
    LazyNttPoly, NttPoly, Poly,
    matrix::{LazyNttMatrix, Matrix, NttMatrix},
    modulus, ntt, sample,
};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::params::{COLS, D_BAR, KEY_LEN, NONCE_COLS, ROWS};

/// `R` (7 x 49) and `E` (8 x 49) of one session, plain slots, unreduced; stored by column.
///
/// # Security
/// Secret and one-time. Erased on drop, not `Clone`.
pub struct Nonces {
    /// Row `c` is column `c` of `R`.
    pub(super) r: LazyNttMatrix,
    /// Row `c` is column `c` of `E`.
    pub(super) e: LazyNttMatrix,
}

impl Nonces {
    /// `R` in NM form, as the reference keeps it. Secret.
    #[must_use]
    pub fn r_montgomery(&self) -> NttMatrix {
        NttMatrix::from_fn(COLS, NONCE_COLS, |row, column| {
            let mut slots = self
                .r
                .get(column, row)
                .map_or(NttPoly::ZERO, LazyNttPoly::reduce);
            slots.scale(modulus::R64);
            slots
        })
    }
}

impl fmt::Debug for Nonces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nonces").finish_non_exhaustive()
    }
}

impl Drop for Nonces {
    fn drop(&mut self) {
        self.r.zeroize();
        self.e.zeroize();
    }
}

impl ZeroizeOnDrop for Nonces {}

/// The nonces of a round key, drawn in the order of the reference: wide `r*` and `e*`, then small
/// `R'` and `E'`, each row-major, all from one stream.
#[must_use]
pub fn expand_nonces(key: &[u8; KEY_LEN]) -> Nonces {
    let mut stream = Blake2Xb::from_seed(key);
    let (wide, small) = (sample::constants::SIGMA_STAR, sample::constants::SIGMA_E);
    let mut nonces = Nonces {
        r: Matrix::zeros(NONCE_COLS, COLS),
        e: Matrix::zeros(NONCE_COLS, ROWS),
    };
    let mut poly = Poly::ZERO;
    let mut fill = |matrix: &mut LazyNttMatrix, column: usize, row: usize, wide_column: bool| {
        poly = if wide_column {
            wide.sample(&mut stream)
        } else {
            small.sample(&mut stream)
        };
        if let Some(slots) = matrix.get_mut(column, row) {
            ntt::forward_lazy_into(&poly, ntt::Scale::One, slots);
        }
    };
    (0..COLS).for_each(|row| fill(&mut nonces.r, 0, row, true));
    (0..ROWS).for_each(|row| fill(&mut nonces.e, 0, row, true));
    for row in 0..COLS {
        (1..=D_BAR).for_each(|column| fill(&mut nonces.r, column, row, false));
    }
    for row in 0..ROWS {
        (1..=D_BAR).for_each(|column| fill(&mut nonces.e, column, row, false));
    }
    poly.zeroize();
    nonces
}

/// Nonces of the same widths from the constant-time samplers, which reach nine deviations instead
/// of two.
pub(super) fn expand_nonces_hardened(key: &[u8; KEY_LEN]) -> Nonces {
    let mut stream = Blake2Xb::from_seed(key);
    let mut nonces = Nonces {
        r: Matrix::zeros(NONCE_COLS, COLS),
        e: Matrix::zeros(NONCE_COLS, ROWS),
    };
    let mut bytes = Zeroizing::new(alloc::vec![0; sample::WIDE_BYTES]);
    let mut poly = Poly::ZERO;
    for (index, slots) in nonces
        .r
        .iter_mut()
        .enumerate()
        .map(|(i, slots)| (i / COLS, slots))
        .chain(
            nonces
                .e
                .iter_mut()
                .enumerate()
                .map(|(i, slots)| (i / ROWS, slots)),
        )
    {
        let len = if index == 0 {
            sample::WIDE_BYTES
        } else {
            sample::SMALL_BYTES
        };
        let bytes = &mut bytes[..len];
        stream.read(bytes);
        if let Ok(bytes) = <&[u8; sample::WIDE_BYTES]>::try_from(&*bytes) {
            sample::wide_into(bytes, &mut poly);
        } else if let Ok(bytes) = <&[u8; sample::SMALL_BYTES]>::try_from(&*bytes) {
            sample::small_into(bytes, &mut poly);
        }
        ntt::forward_lazy_into(&poly, ntt::Scale::One, slots);
    }
    poly.zeroize();
    nonces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Coefficients of magnitude 13 to 58 in the small columns of `R` and `E`, and how many there are.
    fn beyond(nonces: &Nonces) -> (usize, usize) {
        let small = nonces.r.iter().skip(COLS).chain(nonces.e.iter().skip(ROWS));
        let (mut count, mut all) = (0, 0);
        for slots in small {
            let poly = ntt::inverse(&slots.reduce());
            let sizes = poly.as_array().map(|v| modulus::centered(v).unsigned_abs());
            assert!(sizes.iter().all(|size| *size <= 58));
            count += sizes.iter().filter(|size| **size > 12).count();
            all += sizes.len();
        }
        (count, all)
    }

    #[test]
    fn f04_hedged_nonces_reach_beyond_two_deviations() {
        // 4.1 % of 184,320 lie beyond 12; the reference has none there. One false alarm in 10^20: 9.5 deviations
        // of 85.
        let (count, all) = beyond(&expand_nonces_hardened(&[3; 32]));
        assert_eq!(all, (COLS + ROWS) * D_BAR * 256);
        let expected = 0.0407 * all as f64;
        assert!((count as f64 - expected).abs() < 900.0, "{count} of {all}");
        assert_eq!(beyond(&expand_nonces(&[3; 32])).0, 0);
    }
}
