//! Instruction sets: detection, and the operations that have one implementation per set.
//!
//! Dispatch happens once per call, never per permutation inside a call. Every operation gives the
//! same bytes on every backend, and takes the backend as an argument so that tests and benchmarks
//! can compare them; asking for one that this machine lacks runs the portable code.

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::sponge::{RATE_128, RATE_256};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod portable;
#[cfg(target_arch = "x86_64")]
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

/// Sponges that run in step.
pub const LANES: usize = 8;

/// Bytes that one call of [`blake2xb_blocks`] makes: sixteen blocks of 64.
pub const BLAKE2XB_CHUNK: usize = 1024;

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Plain Rust.
    Portable,
    /// x86-64 with AVX2.
    Avx2,
    /// x86-64 with AVX-512 F, VL, BW and DQ.
    Avx512,
}

impl Kind {
    /// What this machine can run, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        [Self::Portable, Self::Avx2, Self::Avx512]
            .into_iter()
            .filter(|kind| kind.is_available())
    }

    /// The fastest available one, or the one forced by `--cfg horizon_backend="..."`.
    ///
    /// A forced backend that this machine lacks runs the portable code. Under Miri: portable.
    #[must_use]
    pub fn active() -> Self {
        if cfg!(horizon_backend = "portable") {
            Self::Portable
        } else if cfg!(horizon_backend = "avx2") {
            Self::Avx2
        } else if cfg!(horizon_backend = "avx512") || Self::Avx512.is_available() {
            Self::Avx512
        } else if Self::Avx2.is_available() {
            Self::Avx2
        } else {
            Self::Portable
        }
    }

    /// Whether this machine can run it. Detected once, then read from memory.
    #[must_use]
    pub fn is_available(self) -> bool {
        self == Self::Portable || !matches!(self.runnable(), Runnable::Portable)
    }

    fn runnable(self) -> Runnable {
        #[cfg(target_arch = "x86_64")]
        if let Some(isa) = x86::Isa::detect(self) {
            return Runnable::X86(isa);
        }
        Runnable::Portable
    }
}

#[cfg(all(
    not(target_arch = "x86_64"),
    any(horizon_backend = "avx2", horizon_backend = "avx512")
))]
compile_error!("the AVX2 and AVX-512 backends exist on x86-64 only");

/// Eight Keccak states, word by word: word `w` of lane `l` is `words[w][l]`.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C, align(64))]
pub struct LaneState {
    words: [[u64; LANES]; 25],
}

impl LaneState {
    /// The same state in all lanes.
    #[must_use]
    pub fn broadcast(state: &[u64; 25]) -> Self {
        Self {
            words: state.map(|word| [word; LANES]),
        }
    }

    /// XORs one block of 136 bytes into lane `lane`.
    ///
    /// # Panics
    /// If `lane` is not below 8.
    pub fn xor_block(&mut self, lane: usize, block: &[u8; RATE_256]) {
        for (words, bytes) in self.words.iter_mut().zip(block.as_chunks::<8>().0) {
            words[lane] ^= u64::from_le_bytes(*bytes);
        }
    }

    /// Copies the first bytes of lane `lane` into `out`, at most 200.
    ///
    /// # Panics
    /// If `lane` is not below 8.
    pub fn copy_lane(&self, lane: usize, out: &mut [u8]) {
        for (bytes, words) in out.chunks_mut(8).zip(&self.words) {
            bytes.copy_from_slice(&words[lane].to_le_bytes()[..bytes.len()]);
        }
    }
}

impl core::fmt::Debug for LaneState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LaneState").finish_non_exhaustive()
    }
}

/// Keccak-f\[1600\] of one state.
pub fn permute(kind: Kind, state: &mut [u64; 25]) {
    match kind.runnable() {
        Runnable::Portable => portable::permute(state),
        #[cfg(target_arch = "x86_64")]
        Runnable::X86(isa) => isa.permute(state),
    }
}

/// Absorbs whole blocks into one state: for each, XOR and permute.
///
/// `rate` is 136 or 168 bytes (another rate takes the portable code); bytes after the last whole
/// block are ignored.
pub fn absorb(kind: Kind, state: &mut [u64; 25], rate: usize, data: &[u8]) {
    match kind.runnable() {
        #[cfg(target_arch = "x86_64")]
        Runnable::X86(isa) if rate == RATE_256 => {
            isa.absorb(state, data.as_chunks().0.as_chunks::<{ RATE_256 / 8 }>().0);
        }
        #[cfg(target_arch = "x86_64")]
        Runnable::X86(isa) if rate == RATE_128 => {
            isa.absorb(state, data.as_chunks().0.as_chunks::<{ RATE_128 / 8 }>().0);
        }
        _ => portable::absorb(state, rate, data),
    }
}

/// Absorbs whole blocks of 136 bytes into the first `lanes` lanes; the other lanes hold garbage
/// after.
///
/// The number of blocks is that of the shortest slice, lanes that do not take part included.
pub fn absorb_lanes(kind: Kind, state: &mut LaneState, lanes: usize, data: &[&[u8]; LANES]) {
    let data = data.map(|bytes| bytes.as_chunks().0);
    let blocks = data.iter().map(|lane| lane.len()).min().unwrap_or(0);
    let data = data.map(|lane| &lane[..blocks]);
    match kind.runnable() {
        Runnable::Portable => portable::absorb_lanes(state, lanes, &data),
        #[cfg(target_arch = "x86_64")]
        Runnable::X86(isa) => isa.absorb_lanes(state, lanes, data),
    }
}

/// Makes `blocks` blocks of output per lane: permute, then copy 136 bytes, each time.
///
/// Lane `l` is written to `out[l * stride..]`. Makes fewer blocks when that many do not fit.
pub fn squeeze_lanes(
    kind: Kind,
    state: &mut LaneState,
    lanes: usize,
    out: &mut [u8],
    stride: usize,
    blocks: usize,
) {
    let lanes = lanes.min(LANES);
    if lanes == 0 || stride == 0 || out.len() <= stride * (lanes - 1) {
        return;
    }
    let blocks = blocks.min(stride.min(out.len() - stride * (lanes - 1)) / RATE_256);
    let mut streams = out.chunks_mut(stride).take(lanes);
    let out: [&mut [Block]; LANES] = core::array::from_fn(|_| match streams.next() {
        Some(stream) => &mut stream.as_chunks_mut().0[..blocks],
        None => &mut [],
    });
    match kind.runnable() {
        Runnable::Portable => portable::squeeze_lanes(state, out),
        #[cfg(target_arch = "x86_64")]
        Runnable::X86(isa) => isa.squeeze_lanes(state, lanes, out, blocks),
    }
}

/// Sixteen consecutive output blocks of BLAKE2Xb (unknown output length) from block number `first`
/// on.
pub fn blake2xb_blocks(kind: Kind, root: &[u64; 8], first: u32, out: &mut [u8; BLAKE2XB_CHUNK]) {
    match kind.runnable() {
        Runnable::Portable => portable::blake2xb_blocks(root, first, out),
        #[cfg(target_arch = "x86_64")]
        Runnable::X86(isa) => isa.blake2xb(root, first, out),
    }
}

/// One block of a sponge with rate 136.
pub(crate) type Block = [u8; RATE_256];

/// A backend that has been checked to exist here.
enum Runnable {
    Portable,
    #[cfg(target_arch = "x86_64")]
    X86(x86::Isa),
}
