//! SHA3-256, SHAKE128, SHAKE256 and cSHAKE256 as streaming sponges, and their common output reader.
//!
//! # Source
//! FIPS 202 sections 4 to 6; SP 800-185 section 3.
//! # Security
//! States are wiped on drop and never printed. `Clone` exists so that a state after a fixed prefix
//! can be computed once; a clone of a keyed state is as secret as the key.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::backend::{self, Kind};
use crate::encode::{left_encode, string_head};
use crate::lanes::{self, LaneJob};

/// Rate of SHA3-256, SHAKE256 and everything built on cSHAKE256, in bytes.
pub const RATE_256: usize = 136;

/// Rate of SHAKE128, in bytes.
pub const RATE_128: usize = 168;

/// Streaming SHA3-256.
#[derive(Clone)]
pub struct Sha3_256(Sponge);

/// Streaming SHAKE128.
#[derive(Clone)]
pub struct Shake128(Sponge);

/// Streaming SHAKE256.
#[derive(Clone)]
pub struct Shake256(Sponge);

/// Streaming cSHAKE256 with a function name and a customisation string.
///
/// With both strings empty it is SHAKE256, as the standard demands.
#[derive(Clone)]
pub struct Cshake256 {
    sponge: Sponge,
    suffix: u8,
}

/// Output side of an extendable-output function; successive reads continue one stream.
#[derive(Clone)]
pub struct XofReader(Sponge);

impl Sha3_256 {
    /// An empty message.
    #[must_use]
    pub fn new() -> Self {
        Self(Sponge::new(RATE_256))
    }

    /// Appends `data` to the message.
    pub fn update(&mut self, data: &[u8]) {
        self.0.absorb(data);
    }

    /// The 32-byte digest.
    #[must_use]
    pub fn finalize(self) -> [u8; 32] {
        self.0.into_reader(SUFFIX_SHA3).digest()
    }
}

impl Shake128 {
    /// An empty message.
    #[must_use]
    pub fn new() -> Self {
        Self(Sponge::new(RATE_128))
    }

    /// Appends `data` to the message.
    pub fn update(&mut self, data: &[u8]) {
        self.0.absorb(data);
    }

    /// Ends the message and starts the output.
    #[must_use]
    pub fn finalize(self) -> XofReader {
        self.0.into_reader(SUFFIX_SHAKE)
    }
}

impl Shake256 {
    /// An empty message.
    #[must_use]
    pub fn new() -> Self {
        Self(Sponge::new(RATE_256))
    }

    /// Appends `data` to the message.
    pub fn update(&mut self, data: &[u8]) {
        self.0.absorb(data);
    }

    /// Ends the message and starts the output.
    #[must_use]
    pub fn finalize(self) -> XofReader {
        self.0.into_reader(SUFFIX_SHAKE)
    }
}

impl Cshake256 {
    /// An empty message under function name `name` (N) and customisation `custom` (S).
    #[must_use]
    pub fn new(name: &[u8], custom: &[u8]) -> Self {
        let mut sponge = Sponge::new(RATE_256);
        if name.is_empty() && custom.is_empty() {
            return Self {
                sponge,
                suffix: SUFFIX_SHAKE,
            };
        }
        sponge.absorb(left_encode(RATE_256 as u128).as_slice());
        sponge.absorb_string(name);
        sponge.absorb_string(custom);
        sponge.fill_block();
        Self {
            sponge,
            suffix: SUFFIX_CSHAKE,
        }
    }

    /// Appends `data` to the message.
    pub fn update(&mut self, data: &[u8]) {
        self.sponge.absorb(data);
    }

    /// Ends the message and starts the output.
    #[must_use]
    pub fn finalize(self) -> XofReader {
        let suffix = self.suffix;
        self.sponge.into_reader(suffix)
    }

    /// Appends `bytepad(encode_string(data), 136)`; the message must be at a block boundary.
    pub(crate) fn update_padded_string(&mut self, data: &[u8]) {
        self.sponge.absorb(left_encode(RATE_256 as u128).as_slice());
        self.sponge.absorb_string(data);
        self.sponge.fill_block();
    }

    /// 32 bytes of output for each of many endings of this message, eight endings at a time.
    pub(crate) fn finalize_lanes(&self, endings: &[&[&[u8]]], out: &mut [[u8; 32]]) {
        let (state, offset, suffix) = self.parts();
        // The started block is in the state already: absorbing zeros over it changes nothing.
        let started = &[0u8; RATE_256][..offset];
        let jobs = endings
            .iter()
            .map(|ending| LaneJob::new([&[started], *ending].concat()))
            .collect();
        lanes::hash_jobs(Kind::active(), state, suffix, jobs, out);
    }

    /// The raw state, the offset inside its block and the suffix byte, to continue in lanes.
    pub(crate) fn parts(&self) -> (&[u64; 25], usize, u8) {
        (&self.sponge.state, self.sponge.offset, self.suffix)
    }
}

impl XofReader {
    /// Fills `out` with the next bytes of the stream.
    pub fn read(&mut self, out: &mut [u8]) {
        self.0.squeeze(out);
    }

    /// The next 32 bytes.
    pub(crate) fn digest(mut self) -> [u8; 32] {
        let mut out = [0u8; 32];
        self.read(&mut out);
        out
    }
}

/// SHA3-256 of `data`.
#[must_use]
pub fn sha3_256(data: &[u8]) -> [u8; 32] {
    let mut hash = Sha3_256::new();
    hash.update(data);
    hash.finalize()
}

/// Fills `out` with SHAKE128 of the concatenated `parts`.
pub fn shake128(parts: &[&[u8]], out: &mut [u8]) {
    let mut hash = Shake128::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().read(out);
}

/// Fills `out` with SHAKE256 of the concatenated `parts`.
pub fn shake256(parts: &[&[u8]], out: &mut [u8]) {
    let mut hash = Shake256::new();
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().read(out);
}

/// Fills `out` with cSHAKE256 of the concatenated `parts`, empty function name, customisation
/// `custom`.
pub fn cshake256(custom: &[u8], parts: &[&[u8]], out: &mut [u8]) {
    let mut hash = Cshake256::new(b"", custom);
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().read(out);
}

/// State, position and rate: the construction all functions of this module share.
///
/// `offset` is the next byte of the current block to absorb into or, after padding, to squeeze
/// from.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
struct Sponge {
    state: [u64; 25],
    offset: usize,
    rate: usize,
}

impl Sponge {
    fn new(rate: usize) -> Self {
        Self {
            state: [0; 25],
            offset: 0,
            rate,
        }
    }

    fn absorb(&mut self, mut data: &[u8]) {
        if self.offset > 0 {
            let (head, rest) = data.split_at(data.len().min(self.rate - self.offset));
            self.xor_in(head);
            data = rest;
            if self.offset < self.rate {
                return;
            }
            self.permute();
        }
        let (blocks, rest) = data.split_at(data.len() - data.len() % self.rate);
        if !blocks.is_empty() {
            backend::absorb(Kind::active(), &mut self.state, self.rate, blocks);
        }
        self.xor_in(rest);
    }

    /// Absorbs `encode_string(data)`.
    fn absorb_string(&mut self, data: &[u8]) {
        self.absorb(string_head(data.len() as u64).as_slice());
        self.absorb(data);
    }

    /// Absorbs zeros up to the end of the block; nothing at a block boundary.
    fn fill_block(&mut self) {
        if self.offset > 0 {
            self.permute();
        }
    }

    fn into_reader(mut self, suffix: u8) -> XofReader {
        xor_byte(&mut self.state, self.offset, suffix);
        xor_byte(&mut self.state, self.rate - 1, 0x80);
        self.permute();
        XofReader(self)
    }

    fn squeeze(&mut self, mut out: &mut [u8]) {
        while !out.is_empty() {
            if self.offset == self.rate {
                self.permute();
            }
            let take = out.len().min(self.rate - self.offset);
            let (head, rest) = out.split_at_mut(take);
            copy_out(&self.state, self.offset, head);
            self.offset += take;
            out = rest;
        }
    }

    /// XORs bytes that fit into the current block.
    fn xor_in(&mut self, data: &[u8]) {
        xor_bytes(&mut self.state, self.offset, data);
        self.offset += data.len();
    }

    fn permute(&mut self) {
        backend::permute(Kind::active(), &mut self.state);
        self.offset = 0;
    }
}

macro_rules! redacted_debug {
    ($($name:ident),*) => {$(
        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
        impl ZeroizeOnDrop for $name {}
    )*};
}
pub(crate) use redacted_debug;
redacted_debug!(Sha3_256, Shake128, Shake256, Cshake256, XofReader);

macro_rules! default_is_new {
    ($($name:ident),*) => {$(
        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }
    )*};
}
default_is_new!(Sha3_256, Shake128, Shake256);

/// XORs `data` into the state bytes from `offset` on; byte `i` is byte `i % 8` of word `i / 8`.
fn xor_bytes(state: &mut [u64; 25], mut offset: usize, mut data: &[u8]) {
    while !offset.is_multiple_of(8) {
        let Some((&byte, rest)) = data.split_first() else {
            return;
        };
        xor_byte(state, offset, byte);
        offset += 1;
        data = rest;
    }
    let (words, rest) = data.as_chunks::<8>();
    for (word, bytes) in state[offset / 8..].iter_mut().zip(words) {
        *word ^= u64::from_le_bytes(*bytes);
    }
    offset += 8 * words.len();
    for (i, &byte) in rest.iter().enumerate() {
        xor_byte(state, offset + i, byte);
    }
}

fn xor_byte(state: &mut [u64; 25], index: usize, byte: u8) {
    state[index / 8] ^= u64::from(byte) << (8 * (index % 8));
}

/// Copies state bytes from `offset` on.
fn copy_out(state: &[u64; 25], offset: usize, out: &mut [u8]) {
    if offset.is_multiple_of(8) {
        for (bytes, word) in out.chunks_mut(8).zip(&state[offset / 8..]) {
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
        return;
    }
    for (i, byte) in out.iter_mut().enumerate() {
        let at = offset + i;
        *byte = state[at / 8].to_le_bytes()[at % 8];
    }
}

/// Domain bits and first padding bit of FIPS 202 and SP 800-185.
const SUFFIX_SHA3: u8 = 0x06;
pub(crate) const SUFFIX_SHAKE: u8 = 0x1f;
pub(crate) const SUFFIX_CSHAKE: u8 = 0x04;
