//! TupleHash256 (fixed output length): an unambiguous hash of an ordered list of byte strings.
//!
//! # Source
//! SP 800-185 section 5.

use zeroize::ZeroizeOnDrop;

use crate::Error;
use crate::encode::{output_tail, string_head};
use crate::sponge::{Cshake256, redacted_debug};

/// Streaming TupleHash256. An element may be given at once or, with its length announced, in
/// pieces.
#[derive(Clone)]
pub struct TupleHash256 {
    hash: Cshake256,
    /// Bytes still missing from the streamed element.
    missing: u64,
    /// Set once a streamed element got too many bytes or was left short.
    broken: bool,
}

impl TupleHash256 {
    /// An empty list under customisation `custom`.
    #[must_use]
    pub fn new(custom: &[u8]) -> Self {
        Self {
            hash: Cshake256::new(NAME, custom),
            missing: 0,
            broken: false,
        }
    }

    /// Appends one whole element.
    pub fn element(&mut self, data: &[u8]) {
        self.begin_element(data.len() as u64);
        self.update(data);
    }

    /// Opens an element of `len` bytes, to be given with [`update`](Self::update).
    pub fn begin_element(&mut self, len: u64) {
        self.broken |= self.missing != 0;
        self.missing = len;
        self.hash.update(string_head(len).as_slice());
    }

    /// Appends `data` to the open element.
    pub fn update(&mut self, data: &[u8]) {
        match self.missing.checked_sub(data.len() as u64) {
            Some(missing) => self.missing = missing,
            None => self.broken = true,
        }
        self.hash.update(data);
    }

    /// Fills `out` with the hash for exactly this output length.
    ///
    /// # Errors
    /// [`Error::ElementLength`] when a streamed element got more or fewer bytes than announced;
    /// `out` is then untouched. Cannot happen when only [`element`](Self::element) was used.
    pub fn finalize_into(self, out: &mut [u8]) -> Result<(), Error> {
        if self.broken || self.missing != 0 {
            return Err(Error::ElementLength);
        }
        self.finish(out);
        Ok(())
    }

    /// [`finalize_into`](Self::finalize_into) for a list made of whole elements.
    pub(crate) fn finish(mut self, out: &mut [u8]) {
        self.hash.update(output_tail(out.len()).as_slice());
        self.hash.finalize().read(out);
    }
}

redacted_debug!(TupleHash256);

/// Fills `out` with TupleHash256 of the list `parts` under customisation `custom`.
pub fn tuple_hash256(custom: &[u8], parts: &[&[u8]], out: &mut [u8]) {
    let mut hash = TupleHash256::new(custom);
    parts.iter().for_each(|part| hash.element(part));
    hash.finish(out);
}

/// Function name of SP 800-185.
const NAME: &[u8] = b"TupleHash";
