//! Parameters of the Pulsar scheme and the bounds this implementation adds.
//!
//! # Source
//! `luxfi/pulsar@4043d76`, `sign/config.go`; the derived sizes are those of the structure encoding.
//! The widths of the Gaussians live with the samplers, in [`horizon_ring::sample`].

/// Rows of `A`; length of `b`, `h` and `Delta` (polynomials).
pub const ROWS: usize = 8;
/// Columns of `A`; length of `s` and `z` (polynomials).
pub const COLS: usize = 7;
/// Extra nonce columns.
pub const D_BAR: usize = 48;
/// Columns of a nonce matrix: one wide column and [`D_BAR`] small ones.
pub const NONCE_COLS: usize = D_BAR + 1;
/// Hamming weight of the ternary challenge.
pub const KAPPA: usize = 23;
/// Bits dropped from `b`.
pub const XI: u32 = 30;
/// Bits dropped from `h`.
pub const NU: u32 = 29;
/// Largest value of a coefficient of the rounded `b`, inclusive: rounding does not reduce.
pub const B_TILDE_MAX: u64 = 1 << 18;
/// Modulus of rounded `h` and of `Delta`.
pub const Q_NU: u64 = 1 << 19;
/// Squared L2 bound of verification, inclusive.
pub const B_SQUARED: u128 = 184_960_669_042_442_604_975_662_780_477;
/// Seeds, MAC keys, stream keys and MACs, in bytes.
pub const KEY_LEN: usize = 32;

/// Largest committee. The norm bound is constant and sized for 1,024 signers.
pub const PARTIES_MAX: u16 = 1024;
/// Longest message, in bytes (2^32 - 1).
pub const MESSAGE_LEN_MAX: u64 = 0xffff_ffff;

/// Coefficients of one polynomial.
pub const DEGREE: usize = horizon_ring::N;
/// Bytes of one polynomial in the structure encoding: two header words and 256 coefficients.
pub const POLY_LEN: usize = 16 + 8 * DEGREE;
/// Bytes of an encoded vector of `len` polynomials.
#[must_use]
pub const fn vector_len(len: usize) -> usize {
    8 + len * POLY_LEN
}
/// Bytes of an encoded matrix of `rows` x `cols` polynomials.
#[must_use]
pub const fn matrix_len(rows: usize, cols: usize) -> usize {
    8 + rows * vector_len(cols)
}
/// Bytes of an encoded `A`.
pub const A_LEN: usize = matrix_len(ROWS, COLS);
/// Bytes of an encoded `b`, `h` or `Delta`.
pub const B_LEN: usize = vector_len(ROWS);
/// Bytes of an encoded `z`, partial `z_i` or share.
pub const Z_LEN: usize = vector_len(COLS);
/// Bytes of an encoded first-round matrix `D`.
pub const D_LEN: usize = matrix_len(ROWS, NONCE_COLS);
/// Bytes of a polynomial packed at 49 bits per coefficient.
pub const PACKED_POLY_LEN: usize = 49 * DEGREE / 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_structure_encoding() {
        assert_eq!(
            (POLY_LEN, Z_LEN, B_LEN, A_LEN, D_LEN, PACKED_POLY_LEN),
            (2_064, 14_456, 16_520, 115_656, 809_160, 1_568)
        );
    }
}
