//! ParallelHash256 (fixed output length): hashes blocks of a long message in lanes.
//!
//! # Source
//! SP 800-185 section 6. Inner hash: SHAKE256 of each block, 64 bytes.

use alloc::vec::Vec;

use crate::Error;
use crate::backend::Kind;
use crate::encode::{left_encode, output_tail, right_encode};
use crate::lanes::{self, LaneJob};
use crate::sponge::{Cshake256, SUFFIX_SHAKE};

/// Fills `out` with ParallelHash256 of the concatenated `parts`, in blocks of `block_len` bytes.
///
/// # Errors
/// [`Error::BlockLength`] when `block_len` is zero.
pub fn parallel_hash256(
    block_len: usize,
    custom: &[u8],
    parts: &[&[u8]],
    out: &mut [u8],
) -> Result<(), Error> {
    parallel_hash256_with(Kind::active(), block_len, custom, parts, out)
}

/// [`parallel_hash256`] on a chosen backend.
///
/// # Errors
/// [`Error::BlockLength`] when `block_len` is zero.
pub fn parallel_hash256_with(
    kind: Kind,
    block_len: usize,
    custom: &[u8],
    parts: &[&[u8]],
    out: &mut [u8],
) -> Result<(), Error> {
    if block_len == 0 {
        return Err(Error::BlockLength);
    }
    let blocks = split_blocks(block_len, parts);
    let mut inner = alloc::vec![[0u8; 64]; blocks.len()];
    lanes::hash_jobs(kind, &[0; 25], SUFFIX_SHAKE, blocks, &mut inner);
    finish(block_len, custom, inner.as_flattened(), out);
    Ok(())
}

/// Cuts the concatenation of `parts` into blocks; the last may be short, none is empty.
fn split_blocks<'a>(block_len: usize, parts: &[&'a [u8]]) -> Vec<LaneJob<'a>> {
    let total: usize = parts.iter().map(|part| part.len()).sum();
    let mut blocks = Vec::with_capacity(total.div_ceil(block_len));
    let mut block: Vec<&'a [u8]> = Vec::new();
    let mut room = block_len;
    for &part in parts {
        let mut rest = part;
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(rest.len().min(room));
            block.push(head);
            room -= head.len();
            rest = tail;
            if room == 0 {
                blocks.push(LaneJob::new(core::mem::take(&mut block)));
                room = block_len;
            }
        }
    }
    if !block.is_empty() {
        blocks.push(LaneJob::new(block));
    }
    blocks
}

/// The outer hash over all inner hashes.
fn finish(block_len: usize, custom: &[u8], inner: &[u8], out: &mut [u8]) {
    let mut outer = Cshake256::new(NAME, custom);
    outer.update(left_encode(block_len as u128).as_slice());
    outer.update(inner);
    outer.update(right_encode((inner.len() / 64) as u128).as_slice());
    outer.update(output_tail(out.len()).as_slice());
    outer.finalize().read(out);
}

/// Function name of SP 800-185.
const NAME: &[u8] = b"ParallelHash";
