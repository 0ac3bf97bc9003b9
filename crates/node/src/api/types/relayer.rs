//! The types of a relayer's own operations.

use serde::{Deserialize, Serialize};

use super::text::{decimal, hex};
use super::{Id, Missing};

/// One route of a relayer: `GET /v1/routes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Name.
    pub name: String,
    /// Name of the source network.
    pub from: String,
    /// Name of the destination network.
    pub to: String,
    /// Whether source and destination answer.
    pub healthy: bool,
    /// Code of what is wrong.
    pub reason: Option<String>,
    /// Sequence of the next message to read from the source.
    #[serde(with = "decimal")]
    pub cursor: u64,
    /// Messages the source has sent, as last seen.
    #[serde(with = "decimal")]
    pub source_total: u64,
    /// Height of the source, as last seen.
    #[serde(with = "decimal")]
    pub source_height: u64,
    /// Height of the destination, as last seen.
    #[serde(with = "decimal")]
    pub destination_height: u64,
    /// Messages read and not yet delivered or dead.
    #[serde(with = "decimal")]
    pub backlog: u64,
    /// Messages delivered and not yet acknowledged.
    #[serde(with = "decimal")]
    pub unacknowledged: u64,
    /// Dead letters.
    #[serde(with = "decimal")]
    pub dead: u64,
    /// Messages delivered by this relayer or another.
    #[serde(with = "decimal")]
    pub delivered: u64,
    /// Of those, messages that were there before this relayer's own submission.
    #[serde(with = "decimal")]
    pub redundant: u64,
    /// Envelopes sent to the destination.
    #[serde(with = "decimal")]
    pub submissions: u64,
    /// When the oldest message of the backlog was read, milliseconds since 1970.
    #[serde(with = "decimal::option")]
    pub oldest_ms: Option<u64>,
}

/// Routes of a relayer: `GET /v1/routes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteList {
    /// In the order of the configuration.
    pub routes: Vec<Route>,
}

/// Where a message is on its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueState {
    /// Read from the source.
    Observed,
    /// Beam or certificates lack weight.
    WaitingQuorum,
    /// The Pulse does not exist yet.
    WaitingPulse,
    /// The envelope passed Prism and is to be sent.
    Built,
    /// Sent to the destination.
    Submitted,
    /// Stands in a block of the destination that is not final.
    Included,
    /// Delivered in a final block; the acknowledgement is awaited.
    Delivered,
    /// The acknowledgement has reached the source.
    Acknowledged,
    /// Given up, with a reason; a retry starts it again.
    Dead,
}

/// One message of a relayer's queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueEntry {
    /// Name of the route.
    pub route: String,
    /// The message.
    #[serde(with = "hex")]
    pub id: Id,
    /// Sequence at the source.
    #[serde(with = "decimal")]
    pub sequence: u64,
    /// Where it is.
    pub state: QueueState,
    /// Envelopes sent so far.
    pub submissions: u32,
    /// Tries in the current state without progress.
    pub attempts: u32,
    /// When it is looked at next, milliseconds since 1970.
    #[serde(with = "decimal")]
    pub next_ms: u64,
    /// When it was read from the source, milliseconds since 1970.
    #[serde(with = "decimal")]
    pub observed_ms: u64,
    /// Code of the last obstacle.
    pub reason: Option<String>,
    /// One sentence about it.
    pub message: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// Weight per lane, while it waits for a quorum.
    pub lanes: Vec<QueueLane>,
    /// Validators whose signature is missing, while it waits for a quorum.
    pub missing: Vec<Missing>,
}

/// Weight of one lane of a waiting message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLane {
    /// `beam` or `certset`.
    pub lane: String,
    /// Weight collected.
    #[serde(with = "decimal")]
    pub weight: u64,
    /// Weight the destination's policy needs.
    #[serde(with = "decimal")]
    pub needed: u64,
    /// Weight of all validators.
    #[serde(with = "decimal")]
    pub total: u64,
}

/// A page of a relayer's queue: `GET /v1/queue`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePage {
    /// By route in the order of the configuration, then by sequence.
    pub entries: Vec<QueueEntry>,
    /// Matching messages that are not shown.
    pub more: bool,
}

/// What `GET /v1/queue` selects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueFilter {
    /// Name of the route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// State.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<QueueState>,
    /// Message.
    #[serde(default, with = "hex::option", skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// Code of the last obstacle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Greatest number of entries, at most 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}
