//! What goes into the ledger rules and what comes out.

use alloc::vec::Vec;

use crate::committee::context::{Plan, SigningSet};
use crate::committee::error::Error;
use crate::committee::message::{
    BatchCommit, BatchHave, BatchVoid, PartialPost, PulseCert, Signed,
};

/// Numbers that all validators of an era share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerConfig {
    /// `P`: batches kept planned to ready.
    pub live_batches: u16,
    /// Indices per batch, 1..=64.
    pub count: u16,
    /// `W`: blocks for commitments, and again for announcements.
    pub window: u64,
    /// `W_s`: blocks for an attempt, and again for posting partials after it.
    pub sign_window: u64,
    /// Blocks after which every penalty shrinks by one.
    pub decay_blocks: u64,
}

/// A final transaction, its signature checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the ledger's message types")]
pub enum LedgerTx {
    BatchCommit(Signed<BatchCommit>),
    BatchHave(Signed<BatchHave>),
    BatchVoid(Signed<BatchVoid>),
    PartialPost(Signed<PartialPost>),
    PulseCert(Signed<PulseCert>),
}

/// A subject to be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its identifier.
    pub id: [u8; 32],
    /// Its canonical Pulse message.
    pub mu: Vec<u8>,
}

/// What a final block brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Height, one more than that of the block before.
    pub height: u64,
    /// Transactions in their order.
    pub transactions: Vec<LedgerTx>,
    /// New subjects in their order.
    pub subjects: Vec<Subject>,
}

/// What a block caused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A batch was opened: members of its set reserve and commit.
    Opened(Plan),
    /// All commitments of a batch are final: its members send their matrices.
    Committed {
        /// The batch.
        batch: u64,
    },
    /// All announcements of a batch are final.
    Ready {
        /// The batch.
        batch: u64,
    },
    /// The open indices of a batch are void.
    Void {
        /// The batch.
        batch: u64,
        /// Members that missed the deadline; empty for a restart, a failed set, or the end of the
        /// generation.
        missing: Vec<u16>,
    },
    /// An index was assigned: the members of its set answer.
    Assigned {
        /// The subject.
        subject: [u8; 32],
        /// The attempt at it.
        attempt: u32,
        /// The batch.
        batch: u64,
        /// The index within the batch.
        index: u16,
    },
    /// Partials of an attempt may be posted.
    Posting {
        /// The subject.
        subject: [u8; 32],
        /// The attempt at it.
        attempt: u32,
    },
    /// An attempt failed; the next one follows.
    Failed {
        /// The subject.
        subject: [u8; 32],
        /// The attempt at it.
        attempt: u32,
        /// Members without a valid posted partial. When empty, all partials are in and do not verify, and
        /// who is wrong is not decidable.
        silent: Vec<u16>,
    },
    /// A verified PulseCert closed the subject.
    Closed {
        /// The subject.
        subject: [u8; 32],
        /// The attempt that succeeded.
        attempt: u32,
    },
}

/// Everything a block did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// In the order in which it happened.
    pub events: Vec<Event>,
    /// Transactions that are invalid: position in the block, and why. They change nothing.
    pub invalid: Vec<(usize, Error)>,
}

/// An attempt that was neither closed nor failed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Underway<'a> {
    /// The subject.
    pub subject: &'a Subject,
    /// Number of the attempt at it.
    pub attempt: u32,
    /// The batch that serves it.
    pub batch: u64,
    /// The index within the batch.
    pub index: u16,
    /// The signing set.
    pub set: &'a SigningSet,
    /// Whether partials may be posted.
    pub is_posting: bool,
}

impl LedgerConfig {
    /// The defaults for a committee of `n` members with one point each.
    #[must_use]
    pub fn for_size(n: u16) -> Self {
        Self {
            live_batches: if n == 4 { 4 } else { 3 },
            count: if n <= 21 { 16 } else { 4 },
            window: 4,
            sign_window: 4,
            decay_blocks: 50,
        }
    }
}
