//! Constant tables of the transforms, computed at compile time for any negacyclic ring.
//!
//! # Source
//! `spec/pulsar.md` 2.1 (order of the twiddles), `spec/pulsar-speed.md` 3 (Shoup quotients).

use crate::modulus::Q;

/// psi, a primitive 512th root of unity modulo q: 11^((q-1)/512).
pub(crate) const PSI: u64 = 182_013_311_964_515;

/// A factor and its Shoup quotient floor(w·2^64/q).
#[derive(Clone, Copy)]
pub(crate) struct Factor {
    pub(crate) w: u64,
    pub(crate) quotient: u64,
}

impl Factor {
    pub(crate) const fn new(w: u64, q: u64) -> Self {
        Self {
            w,
            quotient: shoup(w, q),
        }
    }
}

/// floor(w·2^64/q) for w < q.
pub(crate) const fn shoup(w: u64, q: u64) -> u64 {
    (((w as u128) << 64) / (q as u128)) as u64
}

/// y·w modulo q in [0, 2q), for any 64-bit y and w < q < 2^62.
#[inline(always)]
pub(crate) const fn shoup_mul(y: u64, w: u64, quotient: u64, q: u64) -> u64 {
    let estimate = (((y as u128) * (quotient as u128)) >> 64) as u64;
    y.wrapping_mul(w).wrapping_sub(estimate.wrapping_mul(q))
}

const fn mul_mod(a: u64, b: u64, q: u64) -> u64 {
    ((a as u128) * (b as u128) % (q as u128)) as u64
}

/// base^exponent modulo q.
pub(crate) const fn pow_mod(base: u64, exponent: u64, q: u64) -> u64 {
    let mut result = 1;
    let mut square = base % q;
    let mut rest = exponent;
    while rest > 0 {
        if rest & 1 == 1 {
            result = mul_mod(result, square, q);
        }
        square = mul_mod(square, square, q);
        rest >>= 1;
    }
    result
}

/// Reverses the low log2(n) bits of `i`.
pub(crate) const fn bit_reverse(i: usize, n: usize) -> usize {
    i.reverse_bits() >> (usize::BITS - n.trailing_zeros())
}

/// `table[brv(j)] = root^j` for j in 0..N: the twiddles in the order the layers use them.
pub(crate) const fn twiddles<const N: usize>(root: u64, q: u64) -> [u64; N] {
    let mut table = [0; N];
    let mut power = 1;
    let mut j = 0;
    while j < N {
        table[bit_reverse(j, N)] = power;
        power = mul_mod(power, root, q);
        j += 1;
    }
    table
}

#[cfg(target_arch = "x86_64")]
/// `table[j] = start·root^j` for j in 0..N.
pub(crate) const fn powers<const N: usize>(start: u64, root: u64, q: u64) -> [u64; N] {
    let mut table = [0; N];
    let mut power = start;
    let mut j = 0;
    while j < N {
        table[j] = power;
        power = mul_mod(power, root, q);
        j += 1;
    }
    table
}

#[cfg(target_arch = "x86_64")]
/// Multiplies a whole table by `k`.
pub(crate) const fn scaled<const N: usize>(table: &[u64; N], k: u64, q: u64) -> [u64; N] {
    let mut out = [0; N];
    let mut j = 0;
    while j < N {
        out[j] = mul_mod(table[j], k, q);
        j += 1;
    }
    out
}

/// F: powers of psi in bit-reversed order.
pub(crate) const FORWARD: [u64; 256] = twiddles(PSI, Q);

/// G: powers of psi^-1 in bit-reversed order.
pub(crate) const INVERSE: [u64; 256] = twiddles(pow_mod(PSI, Q - 2, Q), Q);
