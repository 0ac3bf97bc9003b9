//! What a block did, for everybody who acts on final blocks.

use horizon_pulsar::committee::ledger::{Event, LedgerTx};
use horizon_warp::Lineage;

use crate::state::State;

/// A block's state and effects.
#[derive(Clone, Debug)]
pub struct Executed {
    /// The state after the block.
    pub state: State,
    /// What the block did.
    pub effects: Effects,
}

/// Everything a block did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Height of the block.
    pub height: u64,
    /// New outgoing messages, acknowledgements last, in the order of the NebulaRoot's leaves. Each
    /// is one Pulse subject.
    pub outgoing: Vec<Outgoing>,
    /// Messages delivered to this chain, and failed ones that were retried with success.
    pub deliveries: Vec<Delivery>,
    /// What other chains say about messages from here.
    pub acknowledged: Vec<Acknowledged>,
    /// What the signing ledger did, in order.
    pub pulse: Vec<Event>,
    /// The block's transactions of the signing committee, decoded, in order.
    pub pulse_transactions: Vec<LedgerTx>,
    /// Subjects that a verified Pulse closed, with the bytes of the Pulse.
    pub closed: Vec<Closed>,
}

/// One outgoing message of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// SHA-256 of the unsigned message.
    pub id: [u8; 32],
    /// Number among all outgoing messages of this chain, from 0.
    pub sequence: u64,
    /// Height of the block.
    pub height: u64,
    /// Encoded unsigned message: what the Beam signs.
    pub unsigned: Vec<u8>,
    /// Lineage for the envelope.
    pub lineage: Lineage,
    /// Identity of the Pulse subject.
    pub subject: [u8; 32],
    /// Transcript: what Pulse and certificates sign.
    pub transcript: Vec<u8>,
    /// Whether this is an acknowledgement. Those are not acknowledged.
    pub is_ack: bool,
    /// Network of the destination.
    pub destination_network: u32,
    /// Chain of the destination.
    pub destination_chain: [u8; 32],
    /// The channel.
    pub channel: [u8; 32],
    /// Number in the channel.
    pub nonce: u64,
    /// Last destination height at which the message may act.
    pub expiry_height: u64,
}

/// One message that reached this chain, or a failed one that was retried with success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Id of the message.
    pub id: [u8; 32],
    /// Number among all deliveries to this chain, from 0; retries have their own.
    pub sequence: u64,
    /// Height of the block.
    pub height: u64,
    /// Network of the source.
    pub source_network: u32,
    /// Chain of the source.
    pub source_chain: [u8; 32],
    /// The channel.
    pub channel: [u8; 32],
    /// Number in the channel.
    pub nonce: u64,
    /// What became of it.
    pub status: Status,
    /// Whether this is a retry of an earlier failure.
    pub is_retry: bool,
    /// Whether this was an acknowledgement of the other chain.
    pub is_ack: bool,
    /// Encoded unsigned message.
    pub unsigned: Vec<u8>,
}

/// What became of a delivered message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Its handler succeeded.
    Executed,
    /// Its handler failed and changed nothing; it can be retried.
    Failed(Failure),
    /// It came after its expiry height and did not act. It never will.
    Expired,
}

/// Why a handler failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Failure {
    /// No handler has this name.
    Recipient,
    /// The handler does not understand the body.
    Body,
    /// The counter would overflow.
    Overflow,
    /// The gate is closed.
    Closed,
}

/// What the destination says about one message from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// Id of the message.
    pub id: [u8; 32],
    /// What became of it there.
    pub status: Status,
    /// Network of the chain that says it.
    pub network: u32,
    /// The chain that says it.
    pub chain: [u8; 32],
    /// Whether the message was waiting for this. False for a later word, such as a retry's, and for
    /// a word about a message that was never sent there.
    pub first: bool,
    /// Height of the block here that carried it.
    pub height: u64,
}

/// A subject that is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The subject.
    pub subject: [u8; 32],
    /// The attempt that made the Pulse.
    pub attempt: u32,
    /// The Pulse, in its encoding inside an envelope.
    pub pulse: Vec<u8>,
}

impl Status {
    /// One byte: what acknowledgements carry.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Executed => 0x01,
            Self::Expired => 0x02,
            Self::Failed(Failure::Recipient) => 0x10,
            Self::Failed(Failure::Body) => 0x11,
            Self::Failed(Failure::Overflow) => 0x12,
            Self::Failed(Failure::Closed) => 0x13,
        }
    }

    /// The status of a byte.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0x01 => Self::Executed,
            0x02 => Self::Expired,
            0x10 => Self::Failed(Failure::Recipient),
            0x11 => Self::Failed(Failure::Body),
            0x12 => Self::Failed(Failure::Overflow),
            0x13 => Self::Failed(Failure::Closed),
            _ => return None,
        })
    }

    /// A stable name for interfaces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Expired => "expired",
            Self::Failed(Failure::Recipient) => "failed_recipient",
            Self::Failed(Failure::Body) => "failed_body",
            Self::Failed(Failure::Overflow) => "failed_overflow",
            Self::Failed(Failure::Closed) => "failed_closed",
        }
    }

    /// Whether a retry is possible.
    #[must_use]
    pub const fn is_failed(self) -> bool {
        matches!(self, Self::Failed(_))
    }
}
