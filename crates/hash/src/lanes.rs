//! Many sponges in step: hashing of job lists, and output streams that differ in a short input
//! only.
//!
//! All functions here have the rate of 136 bytes. Eight lanes run at once; on AVX-512 a step of
//! eight lanes costs less than two steps of a single sponge.

use alloc::vec::Vec;
use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::Error;
use crate::backend::{self, Kind, LANES, LaneState};
use crate::sponge::{Cshake256, RATE_256, XofReader};

/// A cached cSHAKE256 state (empty function name) after its customisation block.
#[derive(Clone)]
pub struct XofPrefix(Cshake256);

/// Up to eight cSHAKE256 output streams, read in step.
pub struct XofLanes {
    /// States before the permutation that makes the next block.
    state: LaneState,
    lanes: usize,
    kind: Kind,
}

impl XofPrefix {
    /// The state under customisation `custom`.
    #[must_use]
    pub fn new(custom: &[u8]) -> Self {
        Self(Cshake256::new(b"", custom))
    }

    /// One stream over the concatenated `parts`.
    #[must_use]
    pub fn reader(&self, parts: &[&[u8]]) -> XofReader {
        let mut hash = self.0.clone();
        parts.iter().for_each(|part| hash.update(part));
        hash.finalize()
    }

    /// One stream per input, to be read in step. An input must be shorter than a block (136 bytes),
    /// which is checked at compile time.
    ///
    /// # Errors
    /// [`Error::LaneCount`] for no input or more than eight.
    pub fn lanes<const L: usize>(&self, inputs: &[[u8; L]]) -> Result<XofLanes, Error> {
        self.lanes_with(Kind::active(), inputs)
    }

    /// [`lanes`](Self::lanes) on a chosen backend.
    ///
    /// # Errors
    /// [`Error::LaneCount`] for no input or more than eight.
    pub fn lanes_with<const L: usize>(
        &self,
        kind: Kind,
        inputs: &[[u8; L]],
    ) -> Result<XofLanes, Error> {
        const { assert!(L < RATE_256, "a lane input must be shorter than one block") };
        if inputs.is_empty() || inputs.len() > LANES {
            return Err(Error::LaneCount {
                count: inputs.len(),
            });
        }
        let (start, _, suffix) = self.0.parts();
        let mut state = LaneState::broadcast(start);
        let mut block = Zeroizing::new([0u8; RATE_256]);
        for (lane, input) in inputs.iter().enumerate() {
            block[..L].copy_from_slice(input);
            block[L] = suffix;
            block[RATE_256 - 1] |= 0x80;
            state.xor_block(lane, &block);
            block[RATE_256 - 1] = 0;
        }
        Ok(XofLanes {
            state,
            lanes: inputs.len(),
            kind,
        })
    }

    /// Fills `out` with one stream per input, stream after stream, each `out.len() / inputs.len()`
    /// bytes.
    ///
    /// # Errors
    /// [`Error::OutputLength`] when `out` does not divide evenly among the inputs.
    pub fn fill<const L: usize>(&self, inputs: &[[u8; L]], out: &mut [u8]) -> Result<(), Error> {
        if inputs.is_empty() || !out.len().is_multiple_of(inputs.len()) {
            return Err(Error::OutputLength);
        }
        let len = out.len() / inputs.len();
        if len == 0 {
            return Ok(());
        }
        let whole = len - len % RATE_256;
        let mut last = Zeroizing::new([0u8; LANES * RATE_256]);
        for (inputs, out) in inputs.chunks(LANES).zip(out.chunks_mut(LANES * len)) {
            let mut lanes = self.lanes(inputs)?;
            lanes.squeeze_strided(out, len, whole / RATE_256);
            if whole < len {
                lanes.squeeze_strided(&mut last[..], RATE_256, 1);
                let ends = out.chunks_exact_mut(len).map(|stream| &mut stream[whole..]);
                for (end, block) in ends.zip(last.chunks_exact(RATE_256)) {
                    end.copy_from_slice(&block[..len - whole]);
                }
            }
        }
        Ok(())
    }
}

impl XofLanes {
    /// Number of streams.
    #[must_use]
    pub fn lane_count(&self) -> usize {
        self.lanes
    }

    /// Fills `out` with the next whole blocks of every stream: first those of stream 0, then of
    /// stream 1, and so on. Length: a multiple of `136 * lane_count()` bytes.
    ///
    /// # Errors
    /// [`Error::OutputLength`] otherwise; `out` and the streams are then untouched.
    pub fn squeeze_blocks(&mut self, out: &mut [u8]) -> Result<(), Error> {
        if !out.len().is_multiple_of(RATE_256 * self.lanes) {
            return Err(Error::OutputLength);
        }
        let stride = out.len() / self.lanes;
        self.squeeze_strided(out, stride, stride / RATE_256);
        Ok(())
    }

    fn squeeze_strided(&mut self, out: &mut [u8], stride: usize, blocks: usize) {
        backend::squeeze_lanes(self.kind, &mut self.state, self.lanes, out, stride, blocks);
    }
}

impl ZeroizeOnDrop for XofPrefix {}
impl ZeroizeOnDrop for XofLanes {}

impl fmt::Debug for XofPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XofPrefix").finish_non_exhaustive()
    }
}

impl fmt::Debug for XofLanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XofLanes")
            .field("lanes", &self.lanes)
            .finish_non_exhaustive()
    }
}

/// A message in pieces, hashed from a common starting state.
pub(crate) struct LaneJob<'a> {
    parts: Vec<&'a [u8]>,
    len: usize,
}

impl<'a> LaneJob<'a> {
    pub(crate) fn new(parts: Vec<&'a [u8]>) -> Self {
        let len = parts.iter().map(|part| part.len()).sum();
        Self { parts, len }
    }
}

/// Hashes every job from `start` with padding byte `suffix`; digest `i` belongs to job `i`.
///
/// Jobs are grouped by length, so that lanes of one pass end at about the same block. `N <= 136`.
pub(crate) fn hash_jobs<const N: usize>(
    kind: Kind,
    start: &[u64; 25],
    suffix: u8,
    jobs: Vec<LaneJob<'_>>,
    out: &mut [[u8; N]],
) {
    const { assert!(N <= RATE_256) };
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&job| jobs[job].len);
    for group in order.chunks(LANES) {
        let mut cursors: Vec<Cursor<'_, '_>> =
            group.iter().map(|&job| Cursor::new(&jobs[job])).collect();
        let mut state = LaneState::broadcast(start);
        absorb_all(kind, &mut state, suffix, &mut cursors, |lane, state| {
            state.copy_lane(lane, &mut out[group[lane]]);
        });
    }
}

/// Absorbs all cursors in step with padding. `done(lane, state)` is called when that lane's sponge
/// has seen its last block; later blocks of the other lanes leave garbage in the finished lane.
fn absorb_all(
    kind: Kind,
    state: &mut LaneState,
    suffix: u8,
    cursors: &mut [Cursor<'_, '_>],
    mut done: impl FnMut(usize, &LaneState),
) {
    let lanes = cursors.len();
    let mut blocks = Zeroizing::new([[0u8; RATE_256]; LANES]);
    loop {
        let live = |cursor: &&mut Cursor<'_, '_>| !cursor.ended;
        let Some(run) = cursors.iter_mut().filter(live).map(|c| c.run()).min() else {
            return;
        };
        if run > 0 {
            let len = run * RATE_256;
            let heads = cursors
                .iter()
                .filter(|cursor| !cursor.ended)
                .map(|cursor| cursor.head);
            let Some(filler) = heads.clone().next() else {
                return;
            };
            let mut data = [&filler[..len]; LANES];
            for (slot, cursor) in data
                .iter_mut()
                .zip(cursors.iter())
                .filter(|(_, c)| !c.ended)
            {
                *slot = &cursor.head[..len];
            }
            backend::absorb_lanes(kind, state, lanes, &data);
            cursors
                .iter_mut()
                .filter(live)
                .for_each(|cursor| cursor.advance(len));
            continue;
        }
        let mut ended = [false; LANES];
        for (lane, cursor) in cursors.iter_mut().enumerate().filter(|(_, c)| !c.ended) {
            cursor.next_block(suffix, &mut blocks[lane]);
            ended[lane] = cursor.ended;
        }
        backend::absorb_lanes(
            kind,
            state,
            lanes,
            &blocks.each_ref().map(|block| &block[..]),
        );
        (0..lanes)
            .filter(|&lane| ended[lane])
            .for_each(|lane| done(lane, state));
    }
}

/// Reading position in one job.
struct Cursor<'j, 'a> {
    parts: &'j [&'a [u8]],
    /// Unread rest of the current part.
    head: &'a [u8],
    /// The padded last block has been handed out.
    ended: bool,
}

impl<'j, 'a> Cursor<'j, 'a> {
    fn new(job: &'j LaneJob<'a>) -> Self {
        Self {
            parts: &job.parts,
            head: &[],
            ended: false,
        }
    }

    /// Whole blocks that lie contiguous at the position.
    fn run(&mut self) -> usize {
        self.skip_empty();
        self.head.len() / RATE_256
    }

    fn advance(&mut self, len: usize) {
        self.head = &self.head[len..];
    }

    /// Copies the next block; pads and ends the job if the message stops within it.
    fn next_block(&mut self, suffix: u8, block: &mut [u8; RATE_256]) {
        let mut filled = 0;
        while filled < RATE_256 {
            self.skip_empty();
            if self.head.is_empty() {
                block[filled..].zeroize();
                block[filled] = suffix;
                block[RATE_256 - 1] |= 0x80;
                self.ended = true;
                return;
            }
            let take = self.head.len().min(RATE_256 - filled);
            block[filled..filled + take].copy_from_slice(&self.head[..take]);
            self.advance(take);
            filled += take;
        }
    }

    fn skip_empty(&mut self) {
        while self.head.is_empty() {
            let Some((first, rest)) = self.parts.split_first() else {
                return;
            };
            self.head = first;
            self.parts = rest;
        }
    }
}
