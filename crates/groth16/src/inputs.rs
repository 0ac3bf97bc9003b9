//! Order and encoding of the public inputs: the one place that circuit and verifier share.
//!
//! Index 0 of every assignment is the constant one and is not counted as an input. After it:
//!
//! | Index | Count | Value |
//! | --- | ---: | --- |
//! | 1 | 2 | `H[0..16]`, `H[16..32]`, big-endian integers |
//! | 3 | 1 | `W_min`, the least total weight that meets the quorum |
//! | [`slot_offset`]`(s)` | 1 | weight of the validator in slot `s` |
//! | + 1 | 3 | `mu` of the slot as 192, 192 and 128 bits, least significant bit first |
//! | + 4 | 7680 | key image `A~`: row `i` of 6, column `j` of 5, point `m` of 256, `m` fastest |
//! | + 7684 | 1536 | key image `t~`: row `i` of 6, point `m` of 256, `m` fastest |
//!
//! Slots follow each other without gaps; an empty slot has weight 0, the all-zero key image and a
//! `mu` of zeros.
//!
//! # Source
//! FIPS 204 for the shape of the key; the numbering is this crate's own and part of the circuit
//! digest.

use crate::fr::Fr;

/// Index of the first limb of `H`; the second follows it.
pub const H_INDEX: usize = 1;
/// Index of `W_min`.
pub const W_MIN_INDEX: usize = 3;
/// Inputs that exist once per proof.
pub const SHARED_INPUTS: usize = 3;
/// Field elements of one `mu`.
pub const MU_LIMBS: usize = 3;
/// Bits in each limb of `mu`.
pub const MU_LIMB_BITS: [usize; MU_LIMBS] = [192, 192, 128];
/// Field elements of one key image: 30 transforms of the matrix, 6 of `t`.
pub const KEY_IMAGE_LEN: usize = 36 * 256;
/// Inputs of one slot: weight, `mu`, key image.
pub const SLOT_INPUTS: usize = 1 + MU_LIMBS + KEY_IMAGE_LEN;
/// Most slots of one circuit: the largest committee the wrapper is specified for is far smaller.
pub const SLOTS_MAX: usize = 64;

/// Public inputs of a circuit with `slots` slots, the constant one not counted.
#[must_use]
pub const fn input_count(slots: usize) -> usize {
    SHARED_INPUTS + slots * SLOT_INPUTS
}

/// Index of the weight of slot `slot`: the first input of that slot.
#[must_use]
pub const fn slot_offset(slot: usize) -> usize {
    1 + SHARED_INPUTS + slot * SLOT_INPUTS
}

/// Index of the first limb of `mu` of slot `slot`.
#[must_use]
pub const fn mu_offset(slot: usize) -> usize {
    slot_offset(slot) + 1
}

/// Index of the first element of the key image of slot `slot`.
#[must_use]
pub const fn key_image_offset(slot: usize) -> usize {
    mu_offset(slot) + MU_LIMBS
}

/// The two limbs of the transcript hash `H`.
#[must_use]
pub fn h_limbs(h: &[u8; 32]) -> [Fr; 2] {
    let (high, low) = h.split_at(16);
    [high, low].map(|half| {
        let value = half
            .iter()
            .fold(0u128, |sum, &byte| sum << 8 | u128::from(byte));
        Fr::from_u128(value)
    })
}

/// The three limbs of a message representative. Bit `i` of the string is bit `i % 8` of byte
/// `i / 8`, so each limb is a little-endian integer of 24, 24 and 16 bytes.
#[must_use]
pub fn mu_limbs(mu: &[u8; 64]) -> [Fr; MU_LIMBS] {
    let limb = |bytes: &[u8]| {
        // Horner's rule; at most 24 bytes, so nothing wraps modulo the group order.
        let radix = Fr::from_u64(256);
        bytes.iter().rev().fold(Fr::ZERO, |sum, &byte| {
            sum * radix + Fr::from_u64(byte.into())
        })
    };
    let (first, rest) = mu.split_at(24);
    let (second, third) = rest.split_at(24);
    [limb(first), limb(second), limb(third)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_each_other_without_gaps() {
        assert_eq!(slot_offset(0), 4);
        assert_eq!(key_image_offset(0) + KEY_IMAGE_LEN, slot_offset(1));
        assert_eq!(slot_offset(3), input_count(3) + 1);
        assert_eq!(SLOT_INPUTS, 9220);
    }

    #[test]
    fn limbs_have_the_documented_byte_orders() {
        let mut h = [0; 32];
        (h[15], h[16]) = (2, 1);
        assert_eq!(h_limbs(&h), [Fr::from_u64(2), Fr::from_u128(1 << 120)]);
        let mut mu = [0; 64];
        (mu[0], mu[24], mu[49]) = (3, 5, 7);
        assert_eq!(mu_limbs(&mu), [3, 5, 7 << 8].map(Fr::from_u64));
    }
}
