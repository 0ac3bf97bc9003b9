//! Samplers: the reference's three, bit for bit, and those of committee mode.
//!
//! | sampler | input | output secret |
//! |---|---|---|
//! | [`uniform`], [`ternary`] | keyed BLAKE2Xb | no |
//! | [`Ziggurat`] | keyed BLAKE2Xb | interop mode only; not constant time |
//! | [`field_poly`], [`field_polys`] | cSHAKE256 | yes; which words are accepted shows |
//! | [`small`], [`wide`] | random bytes from the caller | yes; constant time |
//! | [`committee_u`], [`committee_us`] | cSHAKE256 | no |
//!
//! [`parse_field_elements`] and [`CommitteeU`] are the parsers behind them, for callers that
//! squeeze their streams themselves.
//!
//! Samplers that reject words end with probability one on a random stream; a [`ByteSource`] has to
//! be one.

mod committee;
mod committee_tables;
mod field;
mod lanes;
mod nonce;
pub(crate) mod nonce_tables;
mod ternary;
mod uniform;
mod ziggurat;
mod ziggurat_tables;

pub use committee::{CommitteeU, SIGMA_U, committee_u};
pub use field::{field_poly, parse_field_elements};
pub use lanes::{committee_us, field_polys};
pub use nonce::{SMALL_BYTES, WIDE_BYTES, small, small_into, wide, wide_into};
pub use ternary::ternary;
pub use uniform::uniform;
pub use ziggurat::{Ziggurat, constants};

/// A stream of pseudo-random bytes, consumed in order.
pub trait ByteSource {
    /// Writes the next `out.len()` bytes of the stream.
    fn fill(&mut self, out: &mut [u8]);
}

impl<S: ByteSource + ?Sized> ByteSource for &mut S {
    fn fill(&mut self, out: &mut [u8]) {
        (**self).fill(out);
    }
}

/// The word source of the reference's samplers: a private buffer of 1,024 bytes per polynomial.
///
/// A fresh buffer is read at once, the next ones only when a word is needed; what is left at the
/// end is dropped. The consumed length of the stream depends on exactly this.
pub(crate) struct WordBuffer<'a, S> {
    source: &'a mut S,
    bytes: [u8; WordBuffer::<()>::BYTES],
    position: usize,
}

impl WordBuffer<'_, ()> {
    pub(crate) const BYTES: usize = 1024;
}

impl<'a, S: ByteSource> WordBuffer<'a, S> {
    pub(crate) fn new(source: &'a mut S) -> Self {
        let mut bytes = [0; WordBuffer::<()>::BYTES];
        source.fill(&mut bytes);
        Self {
            source,
            bytes,
            position: 0,
        }
    }

    /// The next eight bytes.
    #[inline]
    pub(crate) fn word(&mut self) -> [u8; 8] {
        if self.position == self.bytes.len() {
            self.source.fill(&mut self.bytes);
            self.position = 0;
        }
        let word = self.bytes[self.position..]
            .first_chunk()
            .copied()
            .unwrap_or_default();
        self.position += 8;
        word
    }

    /// The whole current buffer, refilled first unless this is the first call.
    pub(crate) fn buffer(&mut self) -> &[u8] {
        if self.position != 0 {
            self.source.fill(&mut self.bytes);
        }
        self.position = self.bytes.len();
        &self.bytes
    }
}

impl ByteSource for horizon_hash::blake2xb::Blake2Xb {
    fn fill(&mut self, out: &mut [u8]) {
        self.read(out);
    }
}

impl ByteSource for horizon_hash::sponge::XofReader {
    fn fill(&mut self, out: &mut [u8]) {
        self.read(out);
    }
}
