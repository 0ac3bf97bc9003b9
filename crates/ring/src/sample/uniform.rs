//! Uniform polynomials of the reference.

use super::{ByteSource, WordBuffer};
use crate::backend::{self, ByteOrder, Kind};
use crate::poly::Poly;

/// A uniform polynomial, canonical; consumes whole buffers of 1,024 bytes, four or five as a rule.
///
/// # Source
/// `spec/pulsar.md` 3.2 and 3.3.
#[must_use]
pub fn uniform(source: &mut impl ByteSource) -> Poly {
    let kind = Kind::active();
    let mut poly = Poly::ZERO;
    let mut words = WordBuffer::new(source);
    let mut filled = 0;
    while filled < 256 {
        let bytes = words.buffer();
        filled = backend::parse_words(kind, ByteOrder::Big, bytes, poly.as_mut_array(), filled);
    }
    poly
}
