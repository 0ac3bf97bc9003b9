//! Attestations for messages that are not final here yet.

use std::collections::BTreeMap;

use crate::gossip::Attestation;

/// A bounded buffer: each peer has its own share, so that none can push out the others'.
#[derive(Default)]
pub(super) struct Early {
    by_message: BTreeMap<[u8; 32], Vec<Waiting>>,
    by_peer: BTreeMap<u16, usize>,
}

struct Waiting {
    from: u16,
    since_ms: u64,
    item: Attestation,
}

impl Early {
    /// Keeps `item`, unless its sender's share is used up.
    pub(super) fn insert(&mut self, from: u16, item: Attestation, now_ms: u64) -> bool {
        let held = self.by_peer.entry(from).or_default();
        if *held >= PER_PEER_MAX {
            return false;
        }
        *held += 1;
        self.by_message.entry(item.id).or_default().push(Waiting {
            from,
            since_ms: now_ms,
            item,
        });
        true
    }

    /// What waited for this message.
    pub(super) fn take(&mut self, id: &[u8; 32]) -> Vec<(u16, Attestation)> {
        let waiting = self.by_message.remove(id).unwrap_or_default();
        for entry in &waiting {
            self.release(entry.from);
        }
        waiting.into_iter().map(|w| (w.from, w.item)).collect()
    }

    /// Drops what has waited too long.
    pub(super) fn expire(&mut self, now_ms: u64) {
        let mut released = Vec::new();
        self.by_message.retain(|_, waiting| {
            waiting.retain(|entry| {
                let keep = now_ms.saturating_sub(entry.since_ms) <= KEPT_MS;
                if !keep {
                    released.push(entry.from);
                }
                keep
            });
            !waiting.is_empty()
        });
        for from in released {
            self.release(from);
        }
    }

    fn release(&mut self, from: u16) {
        if let Some(held) = self.by_peer.get_mut(&from) {
            *held = held.saturating_sub(1);
        }
    }
}

/// Most attestations kept per sending peer: about 1.8 MB.
const PER_PEER_MAX: usize = 512;
/// How long they are kept, milliseconds.
const KEPT_MS: u64 = 30_000;
