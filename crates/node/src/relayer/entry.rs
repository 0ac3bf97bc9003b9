//! One message on its route, as it is kept on disk.

use horizon_warp::Lane;
use serde::{Deserialize, Serialize};

use super::evidence::{Signer, Singles};
use crate::api::Code;
use crate::api::types::{Id, Message, Missing, QueueEntry, QueueLane, QueueState};

/// What is remembered of one message besides its bytes and signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Sequence at the source: the key of the entry.
    pub sequence: u64,
    /// The message.
    pub id: Id,
    /// Where it is.
    pub state: QueueState,
    /// Envelopes sent so far; never reset.
    pub submissions: u32,
    /// Envelopes sent since the last retry by hand; bounded by the configuration.
    pub tries: u32,
    /// Looks without progress in the current state.
    pub attempts: u32,
    /// When it is looked at next, milliseconds since 1970.
    pub next_ms: u64,
    /// When it was read, milliseconds since 1970.
    pub observed_ms: u64,
    /// Since when its patience counts: reading, retry by hand, or delivery.
    pub since_ms: u64,
    /// When the last envelope was sent.
    pub sent_ms: u64,
    /// Destination height after which it cannot be delivered.
    pub expiry_height: u64,
    /// Whether it is an acknowledgement.
    pub is_ack: bool,
    /// Whether the destination has shown it since it was sent: if not any more, it got lost.
    pub seen: bool,
    /// Whether another relayer was first.
    pub redundant: bool,
    /// Whether the source is to be asked for the message's lineage before anything else.
    pub stale: bool,
    /// Code of the last obstacle.
    pub reason: Option<String>,
    /// Weights, while it waits for a quorum.
    pub lanes: Vec<QueueLane>,
    /// Who is missing, while it waits for a quorum.
    pub missing: Vec<Missing>,
}

/// How soon an entry is looked at among those that are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Never looked at, or something happened to it.
    Fresh,
    /// Looked at before.
    Usual,
    /// Looked at often without progress.
    Stale,
}

impl Urgency {
    /// Every urgency, most urgent first.
    pub const ALL: [Self; 3] = [Self::Fresh, Self::Usual, Self::Stale];
}

/// Looks without progress after which an entry counts as stale.
const STALE_ATTEMPTS: u32 = 8;

impl Entry {
    /// A message just read.
    #[must_use]
    pub fn observed(message: &Message, now_ms: u64) -> Self {
        Self {
            sequence: message.sequence,
            id: message.id,
            state: QueueState::Observed,
            submissions: 0,
            tries: 0,
            attempts: 0,
            next_ms: now_ms,
            observed_ms: now_ms,
            since_ms: now_ms,
            sent_ms: 0,
            expiry_height: message.expiry_height,
            is_ack: message.is_ack,
            seen: false,
            redundant: false,
            stale: false,
            reason: None,
            lanes: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Whether nothing more will be done unless somebody asks.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        matches!(self.state, QueueState::Acknowledged | QueueState::Dead)
    }

    /// Whether it counts as backlog: read, not delivered, not given up.
    #[must_use]
    pub const fn is_backlog(&self) -> bool {
        !matches!(
            self.state,
            QueueState::Delivered | QueueState::Acknowledged | QueueState::Dead
        )
    }

    /// How soon it is looked at.
    #[must_use]
    pub const fn urgency(&self) -> Urgency {
        if self.attempts == 0 && self.is_backlog() {
            Urgency::Fresh
        } else if self.attempts <= STALE_ATTEMPTS && self.is_backlog() {
            Urgency::Usual
        } else {
            Urgency::Stale
        }
    }

    /// The entry as the interface shows it.
    #[must_use]
    pub fn view(&self, route: &str) -> QueueEntry {
        let code = self.reason.as_deref().and_then(Code::from_code);
        QueueEntry {
            route: route.to_owned(),
            id: self.id,
            sequence: self.sequence,
            state: self.state,
            submissions: self.submissions,
            attempts: self.attempts,
            next_ms: self.next_ms,
            observed_ms: self.observed_ms,
            reason: self.reason.clone(),
            message: code.map(|code| code.text().to_owned()),
            hint: code.map(|code| code.hint().to_owned()),
            lanes: self.lanes.clone(),
            missing: self.missing.clone(),
        }
    }
}

/// An entry with everything collected for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The entry.
    pub entry: Entry,
    /// The message as the source shows it.
    pub message: Message,
    /// Signatures collected so far.
    pub singles: Singles,
    /// The Pulse, if it has been fetched.
    pub pulse: Option<Vec<u8>>,
}

/// Totals of a route since it was set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Messages delivered, by whomever.
    pub delivered: u64,
    /// Of those, messages another relayer brought first.
    pub redundant: u64,
    /// Envelopes sent.
    pub submissions: u64,
}

/// Something to put on disk before the requests that come with it are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Sequence of the next message to read.
    Cursor(u64),
    /// A message just read.
    Insert(Box<Loaded>),
    /// An entry has changed.
    Update(Box<Entry>),
    /// The source shows a message under another lineage.
    Message(Box<Message>),
    /// A signature was collected.
    Single(u64, Lane, Box<Signer>, Vec<u8>),
    /// A signature turned out invalid, or binds an old lineage.
    DropSingle(u64, Lane, Box<Signer>),
    /// The Pulse was fetched, or is dropped.
    Pulse(u64, Option<Vec<u8>>),
    /// What was collected is no longer needed.
    DropEvidence(u64),
    /// Look at these now if they still wait: something happened to them.
    Wake(Id, u64),
    /// The totals have changed.
    Totals(Totals),
}
