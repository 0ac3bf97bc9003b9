//! Errors of this crate.

use crate::limits;

/// What a caller of this crate can get back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The validators of the genesis file do not form a network.
    #[error("the validator set is not usable: {0}")]
    Roster(String),
    /// More validators than ML-DSA-65 votes are supported for.
    #[error(
        "{found} validators: post-quantum votes are supported up to {max}, and there is no other \
         vote scheme"
    )]
    TooManyValidators {
        /// Validators in the genesis.
        found: usize,
        /// [`limits::MAX_VALIDATORS`].
        max: usize,
    },
    /// The consensus key file does not hold the key that the genesis names for this validator.
    #[error("the consensus key does not belong to validator {position}")]
    ForeignKey {
        /// Canonical position.
        position: u16,
    },
    /// A gossip message above the limit of its channel.
    #[error("a gossip message of {len} bytes exceeds the limit of {max}")]
    Oversize {
        /// Length in bytes.
        len: usize,
        /// Limit in bytes.
        max: usize,
    },
    /// The outgoing queue is full; the message was dropped.
    #[error("the outgoing gossip queue is full")]
    Backlog,
    /// A position outside the validator set.
    #[error("there is no validator at position {0}")]
    NoSuchValidator(u16),
    /// The engine has stopped.
    #[error("the consensus engine has stopped")]
    Stopped,
    /// Too many subscribers.
    #[error("more than {} subscribers of final blocks", limits::MAX_SUBSCRIBERS)]
    TooManySubscribers,
    /// The block archives could not be opened.
    #[error("the block archives could not be opened: {0}")]
    Storage(String),
    /// An evidence file that proves nothing.
    #[error("evidence: {0}")]
    Evidence(#[from] crate::evidence::NotProven),
}

/// Why a node must stop. The process turns it into its exit code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fatal {
    /// A final block does not follow the stored one.
    #[error(
        "ledger.redb ends at height {stored}, and the library goes on with block {delivered}: the ledger lost \
         blocks that it had stored"
    )]
    Gap {
        /// Height of the delivered block.
        delivered: u64,
        /// Height in the ledger store.
        stored: u64,
    },
    /// A block that a quorum finalised is invalid here.
    #[error("final block {height} does not execute: {reason}")]
    Diverged {
        /// Height of the block.
        height: u64,
        /// Reason of the ledger.
        reason: String,
    },
    /// The stored ledger holds another block at this height.
    #[error("final block {height} differs from the stored block of that height")]
    Fork {
        /// Height of the block.
        height: u64,
    },
    /// The ledger store failed.
    #[error("the ledger store failed at height {height}: {reason}")]
    Store {
        /// Height of the block.
        height: u64,
        /// Reason of the store.
        reason: String,
    },
    /// An actor of the engine ended.
    #[error("the {0} task of the engine ended")]
    Actor(&'static str),
}

impl Fatal {
    /// Whether going on could harm: a node in this state must not restart by itself.
    #[must_use]
    pub const fn is_unsafe(&self) -> bool {
        matches!(
            self,
            Self::Gap { .. } | Self::Diverged { .. } | Self::Fork { .. }
        )
    }
}
