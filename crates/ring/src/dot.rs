//! Dot products of slot vectors: the sum of a·b·2^-52 modulo q.
//!
//! The radix is 2^52 in every backend, so one factor of each product is kept times 2^52 (see
//! [`crate::ntt::Scale`]). One reduction serves the whole sum.
//!
//! # Source
//! `spec/pulsar-speed.md` 4.
//! # Security
//! Constant time in all values; the number of terms is public.

use crate::backend::{self, Kind, Term};
use crate::poly::{NttPoly, Slots};

/// Most terms one reduction can serve; longer sums are taken in pieces.
pub const MAX_TERMS: usize = 4095;

/// The two operands of one product.
#[inline]
#[must_use]
pub fn term<'a>(a: &'a impl Slots, b: &'a impl Slots) -> Term<'a> {
    (a.slots(), b.slots())
}

/// Sum of the products of all terms, times 2^-52, canonical.
#[must_use]
pub fn dot(terms: &[Term<'_>]) -> NttPoly {
    let mut out = NttPoly::ZERO;
    dot_into(terms, &mut out);
    out
}

/// As [`dot`], into existing storage.
pub fn dot_into(terms: &[Term<'_>], out: &mut NttPoly) {
    let kind = Kind::active();
    let (first, rest) = terms.split_at(terms.len().min(MAX_TERMS));
    backend::dot(kind, first, out.as_mut_array());
    for piece in rest.chunks(MAX_TERMS) {
        let mut sum = NttPoly::ZERO;
        backend::dot(kind, piece, sum.as_mut_array());
        out.add_assign(&sum);
    }
}

/// The product a·b·2^-52, canonical.
#[must_use]
pub fn mul(a: &impl Slots, b: &impl Slots) -> NttPoly {
    dot(&[term(a, b)])
}
