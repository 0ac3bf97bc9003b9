//! Transforms between coefficients and slots.
//!
//! The slot order and the roots are the reference's: slot k is the value at psi^(2·brv8(k)+1). A
//! transform can multiply by a fixed power of two on the way, which costs nothing and saves every
//! later conversion.
//!
//! # Source
//! `spec/pulsar.md` 2.1 and 2.2, `spec/pulsar-speed.md` 3.
//! # Security
//! Constant time in all values.

use crate::backend::{self, Kind};
use crate::poly::{LazyNttPoly, NttPoly, Poly};

/// Factor that a forward transform multiplies every slot by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// 1: plain slots.
    One,
    /// 2^52: a factor in this form gives a product with plain slots in plain form.
    R52,
    /// 2^64: the reference's "NM" (NTT and Montgomery) form.
    R64,
    /// 2^116: a factor in this form gives a product with plain slots in NM form.
    R116,
}

/// Factor that an inverse transform divides every coefficient by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unscale {
    /// 1.
    One,
    /// 2^52.
    R52,
    /// 2^64: leaves NM form.
    R64,
    /// 2^128.
    R128,
}

/// Plain slots of a polynomial with coefficients in [0, q].
#[must_use]
pub fn forward(poly: &Poly) -> NttPoly {
    forward_scaled(poly, Scale::One)
}

/// Slots times 2^64 ("NM" form) of a polynomial with coefficients in [0, q].
#[must_use]
pub fn forward_montgomery(poly: &Poly) -> NttPoly {
    forward_scaled(poly, Scale::R64)
}

/// Slots times 2^116 of a polynomial with coefficients in [0, q].
#[must_use]
pub fn forward_fused(poly: &Poly) -> NttPoly {
    forward_scaled(poly, Scale::R116)
}

/// Slots times `scale` of a polynomial with coefficients in [0, q].
#[must_use]
pub fn forward_scaled(poly: &Poly, scale: Scale) -> NttPoly {
    let mut out = NttPoly::ZERO;
    forward_into(poly, scale, &mut out);
    out
}

/// As [`forward_scaled`], into existing storage.
pub fn forward_into(poly: &Poly, scale: Scale, out: &mut NttPoly) {
    backend::forward(Kind::active(), poly.as_array(), scale, out.as_mut_array());
}

/// Plain slots, unreduced, for use as a factor: the fastest form.
#[must_use]
pub fn forward_lazy(poly: &Poly) -> LazyNttPoly {
    let mut out = LazyNttPoly::ZERO;
    forward_lazy_into(poly, Scale::One, &mut out);
    out
}

/// Slots times `scale`, unreduced, into existing storage.
pub fn forward_lazy_into(poly: &Poly, scale: Scale, out: &mut LazyNttPoly) {
    backend::forward_lazy(Kind::active(), poly.as_array(), scale, out.as_mut_array());
}

/// Coefficients in [0, q) of plain slots.
#[must_use]
pub fn inverse(poly: &NttPoly) -> Poly {
    inverse_unscaled(poly, Unscale::One)
}

/// Coefficients in [0, q) of slots that carry 2^64.
#[must_use]
pub fn inverse_montgomery(poly: &NttPoly) -> Poly {
    inverse_unscaled(poly, Unscale::R64)
}

/// Coefficients in [0, q) of slots that carry 2^128.
#[must_use]
pub fn inverse_double_montgomery(poly: &NttPoly) -> Poly {
    inverse_unscaled(poly, Unscale::R128)
}

/// Coefficients in [0, q), with `unscale` divided out.
#[must_use]
pub fn inverse_unscaled(poly: &NttPoly, unscale: Unscale) -> Poly {
    let mut out = Poly::ZERO;
    inverse_into(poly, unscale, &mut out);
    out
}

/// As [`inverse_unscaled`], into existing storage.
pub fn inverse_into(poly: &NttPoly, unscale: Unscale, out: &mut Poly) {
    backend::inverse(Kind::active(), poly.as_array(), unscale, out.as_mut_array());
}
