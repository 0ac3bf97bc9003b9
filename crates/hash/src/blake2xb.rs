//! Keyed BLAKE2Xb with unknown output length: the byte stream behind all lattice sampling.
//!
//! # Source
//! BLAKE2X specification (2016), section 2, as used by the reference: a keyed root over the empty
//! message, then one independent compression per 64-byte output block.
//! # Security
//! Root and buffer are wiped on drop. The position in the stream is public.

use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Error;
use crate::backend::portable::blake2b_compress;
use crate::backend::{self, BLAKE2XB_CHUNK, Kind};

/// An endless byte stream from a key. Deterministic: equal keys give equal streams.
///
/// The block counter has 32 bits, so a stream holds 256 GiB; nothing in Horizon reads more than a
/// few megabytes. It starts again from its first block after that.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Blake2Xb {
    root: [u64; 8],
    /// Number of the next 64-byte block to make.
    block: u32,
    buffer: [u8; BLAKE2XB_CHUNK],
    /// Next unread byte of `buffer`; its length when empty.
    offset: usize,
    #[zeroize(skip)]
    kind: Kind,
}

impl Blake2Xb {
    /// Starts the stream of `key` (0 to 64 bytes; empty means unkeyed).
    ///
    /// # Errors
    /// [`Error::KeyLength`] for more than 64 bytes.
    pub fn new(key: &[u8]) -> Result<Self, Error> {
        Self::with_backend(Kind::active(), key)
    }

    /// [`new`](Self::new) on a chosen backend.
    ///
    /// # Errors
    /// [`Error::KeyLength`] for more than 64 bytes.
    pub fn with_backend(kind: Kind, key: &[u8]) -> Result<Self, Error> {
        if key.len() > 64 {
            return Err(Error::KeyLength { len: key.len() });
        }
        Ok(Self {
            root: root(key),
            block: 0,
            buffer: [0; BLAKE2XB_CHUNK],
            offset: BLAKE2XB_CHUNK,
            kind,
        })
    }

    /// Starts the stream of a 32-byte key, the only kind the protocols use.
    #[must_use]
    pub fn from_seed(key: &[u8; 32]) -> Self {
        Self {
            root: root(key),
            block: 0,
            buffer: [0; BLAKE2XB_CHUNK],
            offset: BLAKE2XB_CHUNK,
            kind: Kind::active(),
        }
    }

    /// Fills `out` with the next bytes of the stream.
    pub fn read(&mut self, mut out: &mut [u8]) {
        while !out.is_empty() {
            if self.offset == BLAKE2XB_CHUNK {
                let (chunks, rest) = out.as_chunks_mut::<BLAKE2XB_CHUNK>();
                for chunk in chunks {
                    backend::blake2xb_blocks(self.kind, &self.root, self.block, chunk);
                    self.block = self.block.wrapping_add(BLOCKS);
                }
                out = rest;
                if out.is_empty() {
                    return;
                }
                backend::blake2xb_blocks(self.kind, &self.root, self.block, &mut self.buffer);
                self.block = self.block.wrapping_add(BLOCKS);
                self.offset = 0;
            }
            let take = out.len().min(BLAKE2XB_CHUNK - self.offset);
            let (head, rest) = out.split_at_mut(take);
            head.copy_from_slice(&self.buffer[self.offset..self.offset + take]);
            self.offset += take;
            out = rest;
        }
    }
}

impl fmt::Debug for Blake2Xb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blake2Xb").finish_non_exhaustive()
    }
}

/// BLAKE2b of the empty message, keyed (or not, for an empty key), with the XOF length "unknown".
fn root(key: &[u8]) -> [u64; 8] {
    let mut block = [0u8; 128];
    block[..key.len()].copy_from_slice(key);
    let mut words = [0u64; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    // Digest length 64, key length, fanout 1, depth 1; XOF length in the upper half of word 1.
    let first = 64 | (key.len() as u64) << 8 | 1 << 16 | 1 << 24;
    let counter = if key.is_empty() { 0 } else { 128 };
    let hash = blake2b_compress([first, XOF_LENGTH, 0], &words, counter);
    block.zeroize();
    words.zeroize();
    hash
}

/// Output length "unknown" in its field of parameter word 1.
const XOF_LENGTH: u64 = 0xffff_ffff << 32;

/// Output blocks per chunk.
const BLOCKS: u32 = (BLAKE2XB_CHUNK / 64) as u32;
