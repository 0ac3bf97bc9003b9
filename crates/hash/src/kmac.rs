//! KMAC256 (fixed output length), streaming, in one call, and over batches in lanes.
//!
//! # Source
//! SP 800-185 section 4. The output length is hashed, so a short output is no prefix of a longer
//! one.
//! # Security
//! Compare tags with `subtle::ConstantTimeEq`, never with `==`.

use alloc::vec::Vec;

use zeroize::ZeroizeOnDrop;

use crate::backend::Kind;
use crate::encode::{left_encode, output_tail, string_head};
use crate::lanes::{self, LaneJob};
use crate::sponge::{Cshake256, RATE_256, SUFFIX_CSHAKE, redacted_debug};

/// Streaming KMAC256. Clone it after the key to authenticate many messages under one key.
#[derive(Clone)]
pub struct Kmac256(Cshake256);

/// One entry of a batch: a key and a message given in parts.
#[derive(Clone, Copy)]
pub struct KmacJob<'a> {
    /// Key of any length.
    pub key: &'a [u8],
    /// Message, the concatenation of these parts.
    pub parts: &'a [&'a [u8]],
}

impl Kmac256 {
    /// Starts under `key` (any length) and customisation `custom`.
    #[must_use]
    pub fn new(key: &[u8], custom: &[u8]) -> Self {
        let mut hash = Cshake256::new(NAME, custom);
        hash.update_padded_string(key);
        Self(hash)
    }

    /// Appends `data` to the message.
    pub fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    /// Fills `out` with the tag for exactly this output length.
    pub fn finalize_into(mut self, out: &mut [u8]) {
        self.0.update(output_tail(out.len()).as_slice());
        self.0.finalize().read(out);
    }
}

redacted_debug!(Kmac256);

impl core::fmt::Debug for KmacJob<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("KmacJob").finish_non_exhaustive()
    }
}

/// Fills `out` with KMAC256 of the concatenated `parts`.
pub fn kmac256(key: &[u8], custom: &[u8], parts: &[&[u8]], out: &mut [u8]) {
    let mut mac = Kmac256::new(key, custom);
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize_into(out);
}

/// The 32-byte tags of all `jobs`, in order, computed eight at a time.
///
/// Jobs of about the same total length share a pass, so the batch costs least when all lengths are
/// equal. With AVX-512 a pass over eight messages costs at most as much as two single messages. The
/// same message under many keys (the same slices) is read once per pass.
#[must_use]
pub fn kmac256_batch(custom: &[u8], jobs: &[KmacJob<'_>]) -> Vec<[u8; 32]> {
    kmac256_batch_with(Kind::active(), custom, jobs)
}

/// [`kmac256_batch`] on a chosen backend.
#[must_use]
pub fn kmac256_batch_with(kind: Kind, custom: &[u8], jobs: &[KmacJob<'_>]) -> Vec<[u8; 32]> {
    let prefix = Cshake256::new(NAME, custom);
    let (state, _, _) = prefix.parts();
    let rate = left_encode(RATE_256 as u128);
    let tail = output_tail(32);
    let heads: Vec<_> = jobs
        .iter()
        .map(|job| string_head(job.key.len() as u64))
        .collect();
    let lane_jobs: Vec<LaneJob<'_>> = jobs
        .iter()
        .zip(&heads)
        .map(|(job, head)| {
            let head = head.as_slice();
            let used = rate.as_slice().len() + head.len() + job.key.len();
            let zeros = &ZEROS[..used.next_multiple_of(RATE_256) - used];
            let mut parts = Vec::with_capacity(job.parts.len() + 5);
            parts.extend([rate.as_slice(), head, job.key, zeros]);
            parts.extend_from_slice(job.parts);
            parts.push(tail.as_slice());
            LaneJob::new(parts)
        })
        .collect();
    let mut out = alloc::vec![[0u8; 32]; jobs.len()];
    lanes::hash_jobs(kind, state, SUFFIX_CSHAKE, lane_jobs, &mut out);
    out
}

/// Function name of SP 800-185.
const NAME: &[u8] = b"KMAC";

/// Padding source for key blocks.
static ZEROS: [u8; RATE_256] = [0; RATE_256];
