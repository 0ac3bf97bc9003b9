//! The JSON types of the HTTP interface, shared by server and client.
//!
//! 64-bit numbers are decimal strings, ids and bytes are lower-case hex with `0x`, absent values
//! are `null`. A request with an unknown key is refused; a reader of answers ignores keys it does
//! not know, so that fields can be added.

use serde::{Deserialize, Serialize};

mod relayer;
pub mod text;

pub use relayer::{QueueEntry, QueueFilter, QueueLane, QueuePage, QueueState, Route, RouteList};

use text::{bits, decimal, hex};

/// A message id, a chain id or a hash: 32 bytes.
pub type Id = [u8; 32];

/// Where in the source's history a message stands; what Pulse and certificates bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// NebulaRoot of the block that holds the message.
    #[serde(with = "hex")]
    pub nebula_root: Id,
    /// Key era.
    #[serde(with = "decimal")]
    pub key_era: u64,
    /// Generation within the era.
    #[serde(with = "decimal")]
    pub generation: u64,
}

impl From<horizon_warp::Lineage> for Lineage {
    fn from(lineage: horizon_warp::Lineage) -> Self {
        Self {
            nebula_root: lineage.nebula_root,
            key_era: lineage.key_era,
            generation: lineage.generation,
        }
    }
}

impl From<Lineage> for horizon_warp::Lineage {
    fn from(lineage: Lineage) -> Self {
        Self {
            nebula_root: lineage.nebula_root,
            key_era: lineage.key_era,
            generation: lineage.generation,
        }
    }
}

/// What a node says about itself: `GET /v1/status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the software.
    pub version: String,
    /// Name of the network, from its genesis file.
    pub name: String,
    /// Network number.
    pub network_id: u32,
    /// Chain id.
    #[serde(with = "hex")]
    pub chain_id: Id,
    /// Hash of the genesis file.
    #[serde(with = "hex")]
    pub genesis: Id,
    /// Canonical position of this validator; `null` for a node that is none.
    pub position: Option<u32>,
    /// Last block whose effects are stored.
    #[serde(with = "decimal")]
    pub height: u64,
    /// Last block that consensus made final; above `height` while the node catches up.
    #[serde(with = "decimal")]
    pub consensus_height: u64,
    /// Consensus view.
    #[serde(with = "decimal")]
    pub view: u64,
    /// Time of the last stored block, milliseconds since 1970.
    #[serde(with = "decimal")]
    pub time_ms: u64,
    /// Validators connected at this moment, this one not counted.
    pub peers: u32,
    /// Validators of the network, this one counted.
    pub validators: u32,
    /// Messages this network has sent so far; the next one gets this sequence number.
    #[serde(with = "decimal")]
    pub outgoing: u64,
    /// Messages whose acknowledgement has not come back.
    #[serde(with = "decimal")]
    pub unacknowledged: u64,
    /// Messages from other networks delivered so far.
    #[serde(with = "decimal")]
    pub delivered: u64,
    /// Transactions waiting for a block.
    #[serde(with = "decimal")]
    pub mempool_transactions: u64,
    /// Evidence files written.
    #[serde(with = "decimal")]
    pub evidence: u64,
    /// State of the Pulse service.
    pub pulse: PulseStatus,
}

/// The Pulse service in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulseStatus {
    /// `absent` (no share here), `preparing`, `ready` or `halted`.
    pub state: String,
    /// Signatures for which the committee has nonces ready, whoever holds them.
    #[serde(with = "decimal")]
    pub ready: u64,
    /// Messages that wait for their Pulse.
    #[serde(with = "decimal")]
    pub waiting: u64,
    /// Pulses made so far.
    #[serde(with = "decimal")]
    pub closed: u64,
    /// Canonical positions that the ledger has excluded.
    pub excluded: Vec<u32>,
}

/// One outgoing message of a final block: `GET /v1/messages/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The id: SHA-256 of `unsigned`.
    #[serde(with = "hex")]
    pub id: Id,
    /// Position in the network's outbox, from 0, without gaps.
    #[serde(with = "decimal")]
    pub sequence: u64,
    /// Height of the block that holds the message.
    #[serde(with = "decimal")]
    pub height: u64,
    /// Time of that block, milliseconds since 1970.
    #[serde(with = "decimal")]
    pub time_ms: u64,
    /// Network of the destination.
    pub destination_network: u32,
    /// Chain of the destination.
    #[serde(with = "hex")]
    pub destination_chain: Id,
    /// Channel; a first byte of 1 means ordered.
    #[serde(with = "hex")]
    pub channel: Id,
    /// Number in the channel.
    #[serde(with = "decimal")]
    pub nonce: u64,
    /// Destination height after which the message must not act; 2^64 - 1 for never.
    #[serde(with = "decimal")]
    pub expiry_height: u64,
    /// Whether the message is an acknowledgement, which is not acknowledged itself.
    pub is_ack: bool,
    /// Canonical unsigned message.
    #[serde(with = "hex")]
    pub unsigned: Vec<u8>,
    /// What Pulse and certificates bind. Changes when the message is attested again under another
    /// generation; the id does not.
    pub lineage: Lineage,
    /// Hash suite of the Pulse.
    pub suite: String,
    /// The acknowledgement, once it has come back.
    pub acknowledgement: Option<Acknowledgement>,
}

/// What the destination said about a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledgement {
    /// `true` if the message acted, `false` if its handler failed.
    pub executed: bool,
    /// Height of the source block that took the acknowledgement.
    #[serde(with = "decimal")]
    pub height: u64,
}

/// A page of outgoing messages: `GET /v1/messages`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagePage {
    /// Ascending by sequence, without gaps.
    pub messages: Vec<Message>,
    /// Messages the network has sent so far: one more than the greatest sequence.
    #[serde(with = "decimal")]
    pub total: u64,
    /// Height of the last stored block.
    #[serde(with = "decimal")]
    pub height: u64,
}

/// Signatures a client already has: `have=beam:0x0f,certset:0x05`, signer bits as in the wire
/// format. Absent lanes count as empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Have {
    /// Validators whose Beam signature is known.
    pub beam: horizon_warp::SignerSet,
    /// Validators whose certificate is known.
    pub certset: horizon_warp::SignerSet,
}

/// One validator's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Single {
    /// Canonical index of the validator in the record that the lineage names.
    pub index: u32,
    /// 96 bytes in the Beam, 3,309 in the certificates.
    #[serde(with = "hex")]
    pub signature: Vec<u8>,
}

/// Single signatures over one message, without those the client has:
/// `GET /v1/messages/{id}/attestations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attestations {
    /// The message.
    #[serde(with = "hex")]
    pub id: Id,
    /// The lineage the certificates bind and whose record the indices refer to.
    pub lineage: Lineage,
    /// Beam signatures, ascending by index.
    pub beam: Vec<Single>,
    /// Certificates, ascending by index.
    pub certset: Vec<Single>,
}

/// What one lane of a message has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneProgress {
    /// Signer bits.
    #[serde(with = "bits")]
    pub signers: horizon_warp::SignerSet,
    /// Weight of the signers.
    #[serde(with = "decimal")]
    pub weight: u64,
    /// Weight that the default quorum of 67/100 needs.
    #[serde(with = "decimal")]
    pub needed: u64,
    /// Weight of all validators.
    #[serde(with = "decimal")]
    pub total: u64,
    /// Aggregate signature or certificate set, once the weight suffices.
    #[serde(with = "hex::option")]
    pub evidence: Option<Vec<u8>>,
}

/// A validator whose signature is not there yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// `beam` or `certset`.
    pub lane: String,
    /// Canonical index.
    pub index: u32,
    /// Operator name from the registry record; may be empty.
    pub operator: String,
    /// Weight.
    #[serde(with = "decimal")]
    pub weight: u64,
}

/// Aggregated lanes of a message: `GET /v1/messages/{id}/aggregate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aggregate {
    /// The message.
    #[serde(with = "hex")]
    pub id: Id,
    /// The lineage.
    pub lineage: Lineage,
    /// The Beam.
    pub beam: LaneProgress,
    /// The certificates.
    pub certset: LaneProgress,
    /// Who has not signed, by lane and index.
    pub missing: Vec<Missing>,
}

/// How far the Pulse of a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PulseState {
    /// The ledger has no nonces to give to it yet.
    Waiting,
    /// A signing set is assigned and its partials are awaited.
    Assigned,
    /// Every allowed attempt failed.
    Aborted,
    /// The Pulse exists.
    Ready,
}

/// The Pulse of a message: `GET /v1/messages/{id}/pulse`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    /// The message.
    #[serde(with = "hex")]
    pub id: Id,
    /// The lineage the Pulse binds.
    pub lineage: Lineage,
    /// How far it is.
    pub state: PulseState,
    /// Number of the current or last attempt, from 0.
    pub attempt: u32,
    /// Canonical positions of the assigned signing set; empty while waiting.
    pub members: Vec<u32>,
    /// The Pulse, 33,052 bytes, when `state` is `ready`.
    #[serde(with = "hex::option")]
    pub pulse: Option<Vec<u8>>,
}

/// Answer to `POST /v1/messages`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmittedMessage {
    /// Hash of the transaction. The message id exists once a block has given it a nonce.
    #[serde(with = "hex")]
    pub transaction: Id,
}

/// What became of a submitted envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubmitState {
    /// New here, and waiting for a block.
    Accepted,
    /// The same message already waits for a block or stands in one that is not final.
    Pending,
    /// The message was delivered before, in a final block.
    Delivered,
}

/// Answer to `POST /v1/envelopes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmittedEnvelope {
    /// The message inside.
    #[serde(with = "hex")]
    pub id: Id,
    /// What became of it. All three are successes.
    pub state: SubmitState,
}

/// An account of this network: `GET /v1/accounts/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The account: what stands as the sender in its messages.
    #[serde(with = "hex")]
    pub id: Id,
    /// Number that its next transaction must have.
    #[serde(with = "decimal")]
    pub next_sequence: u64,
}

/// Where an incoming message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryState {
    /// Waits for a block.
    Pending,
    /// Stands in a block that is not final.
    Included,
    /// Acted, in a final block.
    Executed,
    /// Its handler failed, in a final block; the bytes are kept and it can be retried.
    Failed,
}

/// One incoming message: `GET /v1/inbox/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The message.
    #[serde(with = "hex")]
    pub id: Id,
    /// Where it is.
    pub state: DeliveryState,
    /// Position in the network's inbox, from 0, once it is final.
    #[serde(with = "decimal::option")]
    pub sequence: Option<u64>,
    /// Height of the block, once there is one.
    #[serde(with = "decimal::option")]
    pub height: Option<u64>,
    /// Network it came from.
    pub source_network: u32,
    /// Chain it came from.
    #[serde(with = "hex")]
    pub source_chain: Id,
    /// Channel.
    #[serde(with = "hex")]
    pub channel: Id,
    /// Number in the channel.
    #[serde(with = "decimal")]
    pub nonce: u64,
    /// Name of the handler it was addressed to.
    pub recipient: String,
    /// Executions tried so far.
    pub attempts: u32,
    /// Code of the last failure.
    pub reason: Option<String>,
}

/// A page of incoming messages: `GET /v1/inbox`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryPage {
    /// Ascending by sequence.
    pub deliveries: Vec<Delivery>,
    /// Deliveries so far.
    #[serde(with = "decimal")]
    pub total: u64,
    /// Height of the last stored block.
    #[serde(with = "decimal")]
    pub height: u64,
}

/// Body of `POST /v1/retry`. A node wants `id`; a relayer takes any combination and retries what
/// matches all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryRequest {
    /// The message.
    #[serde(default, with = "hex::option", skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// Relayer only: name of the route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Relayer only: code of the last refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Answer to `POST /v1/retry`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryResult {
    /// Messages that will be tried again.
    #[serde(with = "decimal")]
    pub retried: u64,
}

/// What the node knows of keys and demands of sources: `GET /v1/registry`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistryView {
    /// This network's number.
    pub network_id: u32,
    /// This chain.
    #[serde(with = "hex")]
    pub chain_id: Id,
    /// This network's own records, oldest first.
    pub records: Vec<RecordView>,
    /// The networks whose messages this one takes.
    pub sources: Vec<SourceView>,
}

/// One registry record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordView {
    /// SHA-256 of `record`.
    #[serde(with = "hex")]
    pub hash: Id,
    /// Key era.
    #[serde(with = "decimal")]
    pub key_era: u64,
    /// Generation.
    #[serde(with = "decimal")]
    pub generation: u64,
    /// Points that make a Pulse.
    pub threshold: u32,
    /// The members in canonical order.
    pub members: Vec<MemberView>,
    /// Canonical bytes of the record; everything above is read from them.
    #[serde(with = "hex")]
    pub record: Vec<u8>,
}

/// One validator of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberView {
    /// Canonical index.
    pub index: u32,
    /// Operator name; may be empty.
    pub operator: String,
    /// Weight.
    #[serde(with = "decimal")]
    pub weight: u64,
    /// Points in the Pulse committee.
    pub points: u32,
}

/// What this network demands of one source, and the records it has of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceView {
    /// The pinned policy.
    pub policy: PolicyView,
    /// The source's records, oldest first.
    pub records: Vec<RecordView>,
    /// Height of the source as this network knows it, for validity and retirement of records.
    #[serde(with = "decimal")]
    pub source_height: u64,
}

/// A policy, field by field as in a policy file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyView {
    /// Network of the source.
    pub network_id: u32,
    /// Chain of the source.
    #[serde(with = "hex")]
    pub chain_id: Id,
    /// `classical`, `pulse`, `horizon`, `pq` or `wrapped`.
    pub tier: String,
    /// Beam quorum.
    pub beam_quorum: QuorumView,
    /// Certificate quorum.
    pub certset_quorum: QuorumView,
    /// Source height from which post-quantum evidence is demanded whatever the tier.
    #[serde(with = "decimal::option")]
    pub pq_since: Option<u64>,
    /// Greatest age of a record, seconds.
    #[serde(with = "decimal")]
    pub max_age_s: u64,
    /// Source heights during which a retired generation still verifies.
    #[serde(with = "decimal")]
    pub grace_heights: u64,
    /// Fewest validators.
    pub validators_min: u32,
    /// Lowest threshold, points.
    pub threshold_min: u32,
    /// Hash of the last record.
    #[serde(with = "hex")]
    pub registry_head: Id,
}

/// A fraction of the total weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuorumView {
    /// Numerator.
    #[serde(with = "decimal")]
    pub numerator: u64,
    /// Denominator.
    #[serde(with = "decimal")]
    pub denominator: u64,
}

/// One evidence file: `GET /v1/evidence`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Hash of the bytes.
    #[serde(with = "hex")]
    pub id: Id,
    /// What was done, for example `conflicting-votes`.
    pub kind: String,
    /// Canonical position of the culprit, if one is known.
    pub position: Option<u32>,
    /// Height or view concerned.
    #[serde(with = "decimal")]
    pub height: u64,
    /// The evidence itself.
    #[serde(with = "hex")]
    pub bytes: Vec<u8>,
}

/// Evidence this node has: `GET /v1/evidence`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidencePage {
    /// The newest first, at most 100.
    pub evidence: Vec<Evidence>,
    /// Number of evidence files, shown or not.
    #[serde(with = "decimal")]
    pub total: u64,
}

/// One final block: `GET /v1/blocks/{height}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Height.
    #[serde(with = "decimal")]
    pub height: u64,
    /// Digest.
    #[serde(with = "hex")]
    pub digest: Id,
    /// Digest of the block before.
    #[serde(with = "hex")]
    pub parent: Id,
    /// Time, milliseconds since 1970.
    #[serde(with = "decimal")]
    pub time_ms: u64,
    /// NebulaRoot after the block.
    #[serde(with = "hex")]
    pub nebula_root: Id,
    /// The transactions in order.
    pub transactions: Vec<BlockTransaction>,
}

/// One transaction of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockTransaction {
    /// Hash of the transaction.
    #[serde(with = "hex")]
    pub hash: Id,
    /// Its kind byte.
    pub kind: u8,
    /// Size, bytes.
    #[serde(with = "decimal")]
    pub len: u64,
}

/// What an event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A block is final and stored.
    Block,
    /// A message was sent.
    Message,
    /// Beam and certificates of a message have reached the default quorum here.
    Quorum,
    /// A message has its Pulse.
    Pulse,
    /// A message of another network was delivered, or its handler failed.
    Delivery,
    /// The acknowledgement of a message came back.
    Acknowledged,
    /// New evidence was written.
    Evidence,
    /// Events between the one asked for and the next are no longer here: read the pages again.
    Gap,
}

/// One event of `GET /v1/events`. Hints only: what an event says can be read again elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// Height of the last stored block.
    #[serde(with = "decimal")]
    pub height: u64,
    /// The message concerned.
    #[serde(with = "hex::option")]
    pub id: Option<Id>,
}

/// Answer of `GET /readyz`: 200 when every check passes, else 503.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Readiness {
    /// Whether every check passes.
    pub ready: bool,
    /// The checks; one per route in a relayer.
    pub checks: Vec<Check>,
}

/// One part of readiness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Name of the part or route.
    pub name: String,
    /// Whether it works.
    pub ok: bool,
    /// Code of what is wrong.
    pub reason: Option<String>,
    /// One sentence.
    pub message: String,
}

/// Body of every answer that is not a success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// Stable code.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Further facts, by name.
    pub detail: std::collections::BTreeMap<String, String>,
}
