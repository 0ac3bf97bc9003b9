//! Messages of the ceremony that arrive before the block that makes sense of them.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

/// Matrices, partials and Pulses of the near future. Each peer has its own share.
pub(super) struct Early {
    /// Matrices by batch.
    matrices: BTreeMap<u64, Vec<(u16, Bytes)>>,
    matrix_bytes: usize,
    matrix_bytes_max: usize,
    small: BTreeMap<u16, VecDeque<(Place, Bytes)>>,
}

/// What a small message waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The assignment of an index.
    Index(u64, u16),
    /// A subject.
    Subject([u8; 32]),
}

impl Early {
    pub(super) fn new(matrix_bytes_max: usize) -> Self {
        Self {
            matrices: BTreeMap::new(),
            matrix_bytes: 0,
            matrix_bytes_max,
            small: BTreeMap::new(),
        }
    }

    /// Keeps a matrix, unless there is no room: it is asked for later.
    pub(super) fn add_matrix(&mut self, batch: u64, from: u16, bytes: Bytes, count: u16) -> bool {
        let held = self.matrices.entry(batch).or_default();
        let of_peer = held.iter().filter(|(peer, _)| *peer == from).count();
        if of_peer >= usize::from(count) || self.matrix_bytes + bytes.len() > self.matrix_bytes_max
        {
            return false;
        }
        self.matrix_bytes += bytes.len();
        held.push((from, bytes));
        true
    }

    /// What waited for this batch.
    pub(super) fn take_matrices(&mut self, batch: u64) -> Vec<(u16, Bytes)> {
        let taken = self.matrices.remove(&batch).unwrap_or_default();
        let freed: usize = taken.iter().map(|(_, bytes)| bytes.len()).sum();
        self.matrix_bytes = self.matrix_bytes.saturating_sub(freed);
        taken
    }

    /// Keeps a partial or a Pulse; the oldest of the same peer makes room.
    pub(super) fn add_small(&mut self, from: u16, place: Place, bytes: Bytes) {
        let held = self.small.entry(from).or_default();
        if held.len() >= SMALL_PER_PEER_MAX {
            held.pop_front();
        }
        held.push_back((place, bytes));
    }

    /// What waited for this place.
    pub(super) fn take_small(&mut self, place: Place) -> Vec<(u16, Bytes)> {
        let mut taken = Vec::new();
        for (from, held) in &mut self.small {
            held.retain(|(wanted, bytes)| {
                let keep = *wanted != place;
                if !keep {
                    taken.push((*from, bytes.clone()));
                }
                keep
            });
        }
        taken
    }

    /// Bytes of matrices that are held.
    pub(super) const fn matrix_bytes(&self) -> usize {
        self.matrix_bytes
    }
}

/// Most partials and Pulses kept per peer: at most 2 MB.
const SMALL_PER_PEER_MAX: usize = 64;
