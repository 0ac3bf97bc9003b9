//! What happened in a run, as plain facts that the checks read.

use std::collections::{BTreeMap, BTreeSet};

/// Identity of a message or block.
pub type Id = [u8; 32];

#[derive(Clone, Debug, Default)]
pub struct History {
    pub networks: [Network; 2],
    /// What relayers presented to a destination, in order.
    pub presented: Vec<Presented>,
    /// Forged, replayed and mutilated envelopes, and what the destination said.
    pub attacks: Vec<Attack>,
    /// Whether every message was delivered and acknowledged before the time was over.
    pub is_complete: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Network {
    pub validators: u16,
    /// Validators that were made faulty.
    pub faulty: BTreeSet<u16>,
    /// Every final block that any validator told of: validator, height, digest.
    pub finals: Vec<(u16, u64, Id)>,
    /// The blocks, once each.
    pub blocks: BTreeMap<u64, Block>,
    /// What validators signed in the lanes that are not voted on.
    pub attested: Vec<Attested>,
    /// Partial signatures: signer, batch, index, session.
    pub partials: Vec<(u16, u64, u16, Id)>,
    /// Validators named by proofs of conflicting votes.
    pub accused: Vec<u16>,
    /// Validator, height, deliveries so far, over time.
    pub memory: Vec<(u16, u64, u64)>,
    /// What the handlers hold at the end, by validator: counter, journal entries.
    pub effects: Vec<(u64, u64)>,
    /// Old copies that were started, and whether they were refused with exit code 7.
    pub copies: Vec<bool>,
}

#[derive(Clone, Debug, Default)]
pub struct Block {
    pub digest: Id,
    pub sent: Vec<Sent>,
    pub delivered: Vec<Delivered>,
    pub acknowledged: Vec<Id>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub id: Id,
    pub sequence: u64,
    pub channel: Id,
    pub nonce: u64,
    pub is_ack: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    pub id: Id,
    pub sequence: u64,
    pub channel: Id,
    pub nonce: u64,
    pub is_ack: bool,
    pub is_retry: bool,
    pub executed: bool,
    /// Whether the envelope in the block passes a Prism of our own, without caches.
    pub proven: bool,
    /// Validators that signed, in the Beam and in the certificates.
    pub signers: [u32; 2],
    /// What the handler got.
    pub recipient: Vec<u8>,
    pub body: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Attested {
    pub signer: u16,
    pub id: Id,
    pub beam: bool,
    pub certificate: bool,
}

#[derive(Clone, Debug)]
pub struct Presented {
    /// Index of the destination.
    pub network: usize,
    pub id: Id,
    /// Whether the destination had it in a final block then.
    pub is_known: bool,
    /// The code of a refusal.
    pub refused: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A delivered envelope again.
    Replay,
    /// One byte of the subject changed.
    Flip,
    /// A lane taken away.
    Strip,
    /// Signatures of less than a quorum.
    BelowQuorum,
    /// Signatures of exactly a quorum, which is right.
    ExactQuorum,
    /// Signatures of as many validators as may be faulty, over a message of their own.
    Alone,
}

#[derive(Clone, Debug)]
pub struct Attack {
    pub kind: Kind,
    pub network: usize,
    /// The code of the refusal; `None` when it was taken, or known already.
    pub refused: Option<String>,
}

impl Network {
    pub fn sent(&self) -> impl Iterator<Item = &Sent> {
        self.blocks.values().flat_map(|block| &block.sent)
    }

    pub fn delivered(&self) -> impl Iterator<Item = &Delivered> {
        self.blocks.values().flat_map(|block| &block.delivered)
    }

    pub fn acknowledged(&self) -> impl Iterator<Item = &Id> {
        self.blocks.values().flat_map(|block| &block.acknowledged)
    }
}
