//! Why something was refused, grouped by whose fault it is.

use core::fmt;

use horizon_pulsar::committee;
use horizon_warp::prism;

use crate::codec::Fault;
use crate::effects::{Failure, Status};

/// Everything that can go wrong in this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The genesis is not acceptable: the node must not start (exit code 5).
    Genesis(GenesisError),
    /// The store cannot be opened, read or written.
    Store(StoreError),
    /// A block is not valid.
    Invalid(Invalid),
    /// The signing ledger refused what this crate chose itself: a fault here.
    Pulse(committee::Error),
}

/// Why a genesis is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GenesisError {
    /// Not JSON of the expected form.
    Json,
    /// The format name or version is not known.
    Format,
    /// A value is outside its limits.
    Field {
        /// Name of the field.
        field: &'static str,
    },
    /// Two validators share something that must be their own.
    Duplicate {
        /// What they share.
        field: &'static str,
        /// Canonical position of the second one.
        index: usize,
    },
    /// The registry record is not about this network, this chain or these validators.
    RecordMismatch {
        /// What differs.
        field: &'static str,
    },
    /// A member of the record lacks something that a validator needs.
    Member {
        /// What is missing or wrong.
        field: &'static str,
        /// Canonical position.
        index: usize,
    },
    /// The members that can sign a Pulse together may hold two thirds of the weight or less.
    Threshold {
        /// Least weight of a set of members that reaches the threshold.
        lightest: u64,
        /// Total weight.
        total: u64,
    },
    /// A chain id is zero, or a source is this chain itself.
    ChainId {
        /// Name of the field.
        field: &'static str,
    },
    /// A registry record or a chain of records is refused.
    Registry(horizon_warp::Error),
    /// A policy is refused.
    Policy(horizon_warp::Error),
    /// The group key does not decode.
    GroupKey,
    /// The committee's parameters are refused.
    Committee(committee::Error),
}

/// Why a transaction is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The bytes are not a transaction.
    Malformed {
        /// The field at fault.
        field: &'static str,
    },
    /// A transaction of the signing committee is refused.
    Pulse(committee::Error),
    /// The account's signature does not verify.
    Signature,
    /// The account's sequence number was used before.
    SequenceUsed,
    /// Earlier transactions of the account are missing.
    SequenceGap,
    /// The message goes to a chain that this network has no route to.
    NoRoute,
    /// The channel's first byte names no kind of channel, or the channel is reserved.
    Channel,
    /// The channel belongs to another destination.
    ChannelTaken,
    /// Too many messages to this destination wait for their acknowledgement.
    OutboxFull,
    /// No more accounts or channels can be opened.
    StateFull,
    /// Prism refused the envelope.
    Prism(prism::Refusal),
    /// The payload is not a routed one, or not one for this chain.
    Payload {
        /// What is wrong.
        field: &'static str,
    },
    /// The message was processed before.
    Replay,
    /// An ordered channel waits for an earlier message.
    Gap {
        /// The next nonce of the channel.
        next: u64,
    },
    /// The nonce is too far ahead of the channel's window.
    WindowAhead {
        /// The first nonce of the window.
        base: u64,
    },
    /// A retry names a message that succeeded.
    AlreadyExecuted,
    /// A retry names a message that did not fail here.
    NothingToRetry,
    /// A retry names a message whose handler fails again.
    StillFails(Failure),
    /// A retry names a message whose expiry height has passed.
    Expired,
    /// The block has no room.
    BlockFull,
}

/// Why a block is not valid. It is never applied, and changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Invalid {
    /// The bytes are not a block.
    Malformed {
        /// The field at fault.
        field: &'static str,
    },
    /// Another parent.
    Parent,
    /// Not the parent's height plus one.
    Height,
    /// The time is not larger than the parent's.
    Time,
    /// More bytes or transactions than the genesis allows.
    TooLarge,
    /// One transaction is refused.
    Transaction {
        /// Its position.
        position: usize,
        /// Why.
        refusal: Refusal,
    },
    /// Execution gives another root than the block names.
    NebulaRoot,
    /// The signing ledger cannot go on: a fault here.
    Pulse(committee::Error),
}

/// Faults of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The database refused; its own words.
    Database(String),
    /// Another schema version.
    Schema {
        /// The version found.
        found: u64,
    },
    /// The store belongs to another genesis.
    Genesis,
    /// A stored record does not decode or fails its check.
    Corrupt {
        /// Which record.
        what: &'static str,
    },
    /// Executed from another state than the stored tip.
    Fork,
}

impl Refusal {
    /// A stable code for interfaces and metrics.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "tx_malformed",
            Self::Pulse(_) => "tx_pulse",
            Self::Signature => "tx_signature",
            Self::SequenceUsed => "sequence_used",
            Self::SequenceGap => "sequence_gap",
            Self::NoRoute => "no_route",
            Self::Channel => "channel_kind",
            Self::ChannelTaken => "channel_taken",
            Self::OutboxFull => "outbox_full",
            Self::StateFull => "state_full",
            Self::Prism(refusal) => refusal.reason().code(),
            Self::Payload { .. } => "payload",
            Self::Replay => "replay",
            Self::Gap { .. } => "channel_gap",
            Self::WindowAhead { .. } => "window_ahead",
            Self::AlreadyExecuted => "already_executed",
            Self::NothingToRetry => "nothing_to_retry",
            Self::StillFails(_) => "still_fails",
            Self::Expired => "expired",
            Self::BlockFull => "block_full",
        }
    }

    /// Whether the same bytes may be accepted later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::SequenceGap
            | Self::OutboxFull
            | Self::Gap { .. }
            | Self::WindowAhead { .. }
            | Self::StillFails(_)
            | Self::BlockFull => true,
            // A batch may open, a commitment may become final: the signing ledger moves on.
            Self::Pulse(committee::Error::Misuse(_)) => true,
            Self::Prism(refusal) => refusal.outcome() != prism::Outcome::Refused,
            _ => false,
        }
    }
}

impl From<Fault> for Refusal {
    fn from(Fault(field): Fault) -> Self {
        Self::Malformed { field }
    }
}

impl From<Fault> for Invalid {
    fn from(Fault(field): Fault) -> Self {
        Self::Malformed { field }
    }
}

impl From<GenesisError> for Error {
    fn from(error: GenesisError) -> Self {
        Self::Genesis(error)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Invalid> for Error {
    fn from(error: Invalid) -> Self {
        Self::Invalid(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Genesis(error) => write!(f, "genesis: {error}"),
            Self::Store(error) => write!(f, "store: {error}"),
            Self::Invalid(error) => write!(f, "block: {error}"),
            Self::Pulse(error) => write!(f, "signing ledger: {error}"),
        }
    }
}

impl fmt::Display for GenesisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json => f.write_str("not a genesis file"),
            Self::Format => f.write_str("unknown format"),
            Self::Field { field } => write!(f, "{field} is outside its limits"),
            Self::Duplicate { field, index } => {
                write!(f, "validator {index} has the {field} of an earlier one")
            }
            Self::RecordMismatch { field } => {
                write!(f, "the registry record has another {field}")
            }
            Self::Member { field, index } => write!(f, "validator {index}: {field}"),
            Self::Threshold { lightest, total } => write!(
                f,
                "a set of members holding {lightest} of {total} weight can sign a Pulse; it must \
                 hold more than two thirds: raise the threshold or give members several points"
            ),
            Self::ChainId { field } => write!(f, "{field} is zero or this chain itself"),
            Self::Registry(error) => write!(f, "registry: {error}"),
            Self::Policy(error) => write!(f, "policy: {error}"),
            Self::GroupKey => f.write_str("the group key does not decode"),
            Self::Committee(error) => write!(f, "committee: {error}"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { field } => write!(f, "malformed {field}"),
            Self::Pulse(error) => write!(f, "{error}"),
            Self::Signature => f.write_str("the account's signature does not verify"),
            Self::SequenceUsed => f.write_str("the account's sequence number was used before"),
            Self::SequenceGap => f.write_str("earlier transactions of the account are missing"),
            Self::NoRoute => f.write_str("there is no route to this destination"),
            Self::Channel => f.write_str("unknown kind of channel, or a reserved one"),
            Self::ChannelTaken => f.write_str("the channel belongs to another destination"),
            Self::OutboxFull => f.write_str("too many messages wait for their acknowledgement"),
            Self::StateFull => f.write_str("no more accounts or channels can be opened"),
            Self::Prism(refusal) => write!(f, "{refusal}"),
            Self::Payload { field } => write!(f, "payload: {field}"),
            Self::Replay => f.write_str("the message was processed before"),
            Self::Gap { next } => write!(f, "the channel waits for nonce {next}"),
            Self::WindowAhead { base } => {
                write!(f, "the nonce is beyond the window that starts at {base}")
            }
            Self::AlreadyExecuted => f.write_str("already executed"),
            Self::NothingToRetry => f.write_str("no failed message with this id"),
            Self::StillFails(failure) => {
                write!(f, "it fails again: {}", Status::Failed(*failure).name())
            }
            Self::Expired => f.write_str("the message's expiry height has passed"),
            Self::BlockFull => f.write_str("no room in this block"),
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { field } => write!(f, "malformed {field}"),
            Self::Parent => f.write_str("another parent"),
            Self::Height => f.write_str("not the next height"),
            Self::Time => f.write_str("time not larger than the parent's"),
            Self::TooLarge => f.write_str("more bytes or transactions than allowed"),
            Self::Transaction { position, refusal } => {
                write!(f, "transaction {position}: {refusal}")
            }
            Self::NebulaRoot => f.write_str("execution gives another root"),
            Self::Pulse(error) => write!(f, "signing ledger: {error}"),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(text) => f.write_str(text),
            Self::Schema { found } => write!(f, "schema version {found} is not known here"),
            Self::Genesis => f.write_str("it belongs to another genesis"),
            Self::Corrupt { what } => write!(f, "the stored {what} is damaged"),
            Self::Fork => f.write_str("the block was not executed on the stored tip"),
        }
    }
}

impl core::error::Error for Error {}
impl core::error::Error for GenesisError {}
impl core::error::Error for Refusal {}
impl core::error::Error for Invalid {}
impl core::error::Error for StoreError {}
