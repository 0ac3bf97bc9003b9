//! Constant-time Gaussians of committee mode.
//!
//! # Source
//! `spec/pulsar-speed.md` 6.1 and 6.2.
//! # Security
//! No branch, index or division depends on the random bytes; the number of bytes is fixed and
//! nothing is rejected. The byte layout is the specification: all backends give the same values.

use crate::backend::{self, Kind};
use crate::poly::Poly;

/// Bytes for 256 samples of the small width: nine planes of 256.
///
/// Plane 0: bits 0-5 column, bit 6 sign, bit 7 unused. Planes 1-8: a 64-bit number, most
/// significant byte first.
pub const SMALL_BYTES: usize = 9 * 256;

/// Bytes for 256 samples of the wide width: twenty units of [`SMALL_BYTES`].
pub const WIDE_BYTES: usize = 20 * SMALL_BYTES;

/// 256 independent samples of width 6.108, |x| <= 58; canonical.
#[must_use]
pub fn small(bytes: &[u8; SMALL_BYTES]) -> Poly {
    let mut poly = Poly::ZERO;
    small_into(bytes, &mut poly);
    poly
}

/// As [`small`], into existing storage.
pub fn small_into(bytes: &[u8; SMALL_BYTES], poly: &mut Poly) {
    backend::sample_small(Kind::active(), bytes, poly.as_mut_array());
}

/// 256 independent samples of width 2^37.33, |x| < 2^41.03; canonical.
#[must_use]
pub fn wide(bytes: &[u8; WIDE_BYTES]) -> Poly {
    let mut poly = Poly::ZERO;
    wide_into(bytes, &mut poly);
    poly
}

/// As [`wide`], into existing storage.
pub fn wide_into(bytes: &[u8; WIDE_BYTES], poly: &mut Poly) {
    backend::sample_wide(Kind::active(), bytes, poly.as_mut_array());
}
