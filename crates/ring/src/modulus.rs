//! Scalars modulo the ring modulus q = 2^48 + 18945.
//!
//! # Source
//! `spec/pulsar.md` 1 and 2. q is prime, 49 bits long, and q - 1 = 2^9·3^2·5^2·14621·167113.
//! # Security
//! Everything here is free of branches and divisions on values, except [`inv`] and [`pow`], whose
//! exponent is treated as public.

/// The modulus, 281474976729601 = 2^48 + 18945.
pub const Q: u64 = 0x1_0000_0000_4A01;

/// Bits of the modulus; a field element fits 49 bits.
pub const Q_BITS: u32 = 49;

/// q - 2^48, so that 2^48 = -18945 modulo q.
pub(crate) const Q_LOW: u64 = Q - (1 << 48);

/// q^-1 modulo 2^64. Its low 52 bits are the inverse modulo 2^52.
pub(crate) const Q_INV_64: u64 = 0x04AD_E8E1_2D63_B601;

/// 2^52 modulo q, the radix of [`crate::dot`].
pub const R52: u64 = pow2(52);

/// 2^64 modulo q, the radix of the reference's Montgomery form.
pub const R64: u64 = pow2(64);

/// 2^116 modulo q.
pub const R116: u64 = pow2(116);

/// 2^-12 modulo q: takes a Montgomery (2^64) value to the 2^52 form.
pub const R64_TO_R52: u64 = 0x9FF0_0000_2E3C;

/// The sum of two canonical values, canonical.
#[inline]
#[must_use]
pub const fn add(a: u64, b: u64) -> u64 {
    conditional_subtract(a + b)
}

/// The difference of two canonical values, canonical.
#[inline]
#[must_use]
pub const fn sub(a: u64, b: u64) -> u64 {
    let (difference, borrow) = a.overflowing_sub(b);
    difference.wrapping_add(Q & (borrow as u64).wrapping_neg())
}

/// The negative of a canonical value, canonical.
#[inline]
#[must_use]
pub const fn neg(a: u64) -> u64 {
    conditional_subtract(Q - a)
}

/// Reduces any 64-bit value to [0, q).
#[inline]
#[must_use]
pub const fn reduce(v: u64) -> u64 {
    // v = 2^48 t + low and 2^48 = -18945, so low - 18945 t is the residue, above -2^31.
    let t = v >> 48;
    let low = v & ((1 << 48) - 1);
    let r = low.wrapping_sub(Q_LOW * t);
    r.wrapping_add(Q & (r >> 63).wrapping_neg())
}

/// Reduces any 128-bit value to [0, q).
#[inline]
#[must_use]
pub const fn reduce_wide(v: u128) -> u64 {
    // Three folds by 2^48 = -18945, each adding a multiple of q that keeps the value positive.
    let mask = (1u128 << 48) - 1;
    // v < 2^128: high part < 2^80, its product with 18945 is below 2^95 < q·2^47.
    let v = (v & mask) + ((Q as u128) << 47) - (v >> 48) * (Q_LOW as u128);
    // v < 2^96: high part < 2^48, product below 2^63 < q·2^15.
    let v = (v & mask) + ((Q as u128) << 15) - (v >> 48) * (Q_LOW as u128);
    // v < 2^64.
    reduce(v as u64)
}

/// The product of two values below 2^64, canonical.
#[inline]
#[must_use]
pub const fn mul(a: u64, b: u64) -> u64 {
    reduce_wide((a as u128) * (b as u128))
}

/// The Montgomery product a·b·2^-64 of two values with a·b < 2^112, canonical.
#[inline]
#[must_use]
pub const fn mul_montgomery(a: u64, b: u64) -> u64 {
    let product = (a as u128) * (b as u128);
    let m = (product as u64).wrapping_mul(Q_INV_64);
    let hi = (((m as u128) * (Q as u128)) >> 64) as u64;
    reduce((product >> 64) as u64 + Q - hi)
}

/// base^exponent modulo q. The exponent is public.
#[must_use]
pub const fn pow(base: u64, exponent: u64) -> u64 {
    let mut result = 1;
    let mut bit = 64 - exponent.leading_zeros();
    while bit > 0 {
        bit -= 1;
        result = mul(result, result);
        if (exponent >> bit) & 1 == 1 {
            result = mul(result, base);
        }
    }
    result
}

/// The inverse of a value modulo q; zero for zero.
#[must_use]
pub const fn inv(a: u64) -> u64 {
    pow(a, Q - 2)
}

/// The signed representative in (-q/2, q/2] of a canonical value.
#[inline]
#[must_use]
pub const fn centered(a: u64) -> i64 {
    let above = (Q / 2).wrapping_sub(a) >> 63;
    a.wrapping_sub(Q & above.wrapping_neg()).cast_signed()
}

/// The canonical representative of a signed value with |v| < q.
#[inline]
#[must_use]
pub const fn from_signed(v: i64) -> u64 {
    let v = v.cast_unsigned();
    v.wrapping_add(Q & (v >> 63).wrapping_neg())
}

const fn conditional_subtract(v: u64) -> u64 {
    let (reduced, borrow) = v.overflowing_sub(Q);
    reduced.wrapping_add(Q & (borrow as u64).wrapping_neg())
}

const fn pow2(exponent: u32) -> u64 {
    pow(2, exponent as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_match_the_specification() {
        assert_eq!(Q, 281_474_976_729_601);
        assert_eq!(Q - 1, 512 * 9 * 25 * 14621 * 167_113);
        assert_eq!(R64, 0xFFFF_B5FF_4A01);
        assert_eq!(R52, 0xFFFF_FFFB_A9F1);
        assert_eq!(R116, 0x5649_400F_B5FF);
        assert_eq!(Q.wrapping_mul(Q_INV_64), 1);
        assert_eq!(Q_INV_64 & ((1 << 52) - 1), 0xD_E8E1_2D63_B601);
        assert_eq!(inv(R64), 0xFB52_171F_1B43);
        assert_eq!(mul(R64, R64), 0x9400_F9D1_029C);
        assert_eq!(mul(R64_TO_R52, R64), R52);
        assert_eq!(inv(256), 0xFF00_0000_49B7);
        assert_eq!(mul(inv(256), R64), 0xFFFF_FFB6_4901);
    }

    #[test]
    fn reductions_agree_with_division_on_boundaries() {
        let points = [
            0,
            1,
            Q - 1,
            Q,
            Q + 1,
            2 * Q - 1,
            2 * Q,
            17 * Q,
            (1 << 48) - 1,
            1 << 48,
        ];
        let edges = [
            1 << 52,
            1 << 62,
            1 << 63,
            u64::MAX - 1,
            u64::MAX,
            Q / 2,
            Q / 2 + 1,
        ];
        for &a in points.iter().chain(&edges) {
            assert_eq!(reduce(a), a % Q);
            for &b in points.iter().chain(&edges) {
                let wide = u128::from(a) * u128::from(b);
                assert_eq!(u128::from(reduce_wide(wide)), wide % u128::from(Q));
                assert_eq!(reduce_wide(wide), mul(a, b));
                if a < Q && b < Q {
                    assert_eq!(add(a, b), (a + b) % Q);
                    assert_eq!(sub(a, b), (a + Q - b) % Q);
                    assert_eq!(mul(mul_montgomery(a, b), R64), mul(a, b));
                }
            }
        }
        assert_eq!(reduce_wide(u128::MAX), (u128::MAX % u128::from(Q)) as u64);
    }

    #[test]
    fn centring_sends_half_of_the_residues_below_zero() {
        assert_eq!(centered(Q / 2).cast_unsigned(), Q / 2);
        assert_eq!(centered(Q / 2 + 1), -(Q / 2).cast_signed());
        assert_eq!(centered(Q - 1), -1);
        for v in [-5, -1, 0, 1, 7, (Q / 2).cast_signed()] {
            assert_eq!(centered(from_signed(v)), v);
        }
    }

    #[test]
    fn inverses_multiply_to_one() {
        for a in [1, 2, 3, 255, 256, Q - 1, Q - 2, 1 << 47] {
            assert_eq!(mul(a, inv(a)), 1);
        }
        assert_eq!(inv(0), 0);
    }
}
