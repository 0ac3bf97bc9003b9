//! Field elements of committee mode, read directly as slots.

use zeroize::Zeroize;

use super::ByteSource;
use crate::backend::{self, ByteOrder, Kind};
use crate::poly::{N, NttPoly};

/// Appends field elements to `poly` from slot `filled` on; returns the number of slots now filled.
///
/// Words of `bytes` are little-endian u64; the low 49 bits count, if below q. Bytes beyond the
/// 256th element, and beyond the last whole word, are not used: pass whole words until it returns
/// 256.
///
/// # Source
/// `spec/pulsar-committee.md`, notation paragraph.
/// # Security
/// Which words are accepted shows in the running time; it is independent of the accepted values.
#[must_use]
pub fn parse_field_elements(bytes: &[u8], poly: &mut NttPoly, filled: usize) -> usize {
    backend::parse_words(
        Kind::active(),
        ByteOrder::Little,
        bytes,
        poly.as_mut_array(),
        filled,
    )
}

/// 256 field elements from a stream of their own; reads a few blocks more than it needs.
#[must_use]
pub fn field_poly(source: &mut impl ByteSource) -> NttPoly {
    // Eight blocks of SHAKE256.
    let mut bytes = [0; 8 * 136];
    let mut poly = NttPoly::ZERO;
    let mut filled = 0;
    while filled < N {
        source.fill(&mut bytes);
        filled = parse_field_elements(&bytes, &mut poly, filled);
    }
    bytes.zeroize();
    poly
}
