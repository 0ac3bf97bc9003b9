//! What the server asks of the process behind it.

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

use super::error::ApiError;
use super::events::EventId;
use super::types::{
    Account, Aggregate, Attestations, Block, Delivery, DeliveryPage, Event, EvidencePage, Have, Id,
    Message, MessagePage, Pulse, QueueFilter, QueuePage, Readiness, RegistryView, RetryRequest,
    RetryResult, RouteList, Status, SubmittedEnvelope, SubmittedMessage,
};

/// The answer of a [`Backend`] call.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ApiError>>;

/// A node as the interface sees it. The server has checked sizes, ids and query keys before it
/// asks; everything else is for the implementation to refuse.
///
/// Everything that is told is final, except where a type says otherwise. Calls are cancelled by
/// dropping them when a client leaves or a time limit passes.
pub trait Backend: Send + Sync + 'static {
    /// `GET /v1/status`.
    fn status(&self) -> Answer<'_, Status>;

    /// `GET /v1/messages`: at most `limit` outgoing messages with sequences from `from` on,
    /// ascending, without gaps. Empty when there are none yet.
    fn messages(&self, from: u64, limit: usize) -> Answer<'_, MessagePage>;

    /// `GET /v1/messages/{id}`.
    ///
    /// # Errors
    /// `MessageUnknown`.
    fn message(&self, id: Id) -> Answer<'_, Message>;

    /// `GET /v1/messages/{id}/attestations`: the verified single signatures this node has and
    /// `have` lacks.
    ///
    /// # Errors
    /// `MessageUnknown`; `AttestationRefused` when the validators will never sign it.
    fn attestations(&self, id: Id, have: Have) -> Answer<'_, Attestations>;

    /// `GET /v1/messages/{id}/aggregate`.
    ///
    /// # Errors
    /// `MessageUnknown`.
    fn aggregate(&self, id: Id) -> Answer<'_, Aggregate>;

    /// `GET /v1/messages/{id}/pulse`.
    ///
    /// # Errors
    /// `MessageUnknown`.
    fn pulse(&self, id: Id) -> Answer<'_, Pulse>;

    /// `GET /v1/messages/{id}/envelope`: a version 2 envelope with every lane, under the default
    /// quorum. A destination with another policy may want other lanes; a relayer builds its own.
    ///
    /// # Errors
    /// `MessageUnknown`, `EvidenceIncomplete`.
    fn envelope(&self, id: Id) -> Answer<'_, Bytes>;

    /// `POST /v1/messages`: takes the bytes of a signed Submit transaction.
    ///
    /// # Errors
    /// `TransactionMalformed`, `TransactionSignature`, `AccountSequence`, `MempoolFull`, or what
    /// the ledger refuses.
    fn submit_message(&self, transaction: Bytes) -> Answer<'_, SubmittedMessage>;

    /// `POST /v1/envelopes`: takes a version 2 envelope. A message that is pending or delivered
    /// already is a success.
    ///
    /// # Errors
    /// Any refusal of Prism, the destination's checks, `MempoolFull`.
    fn submit_envelope(&self, envelope: Bytes) -> Answer<'_, SubmittedEnvelope>;

    /// `GET /v1/inbox/{id}`.
    ///
    /// # Errors
    /// `DeliveryUnknown`.
    fn delivery(&self, id: Id) -> Answer<'_, Delivery>;

    /// `GET /v1/inbox`: at most `limit` final deliveries with sequences from `from` on, ascending.
    fn deliveries(&self, from: u64, limit: usize) -> Answer<'_, DeliveryPage>;

    /// `POST /v1/retry`: executes a failed message again from its stored bytes.
    ///
    /// # Errors
    /// `DeliveryUnknown`, `AlreadyExecuted`, `NothingToRetry`.
    fn retry(&self, request: RetryRequest) -> Answer<'_, RetryResult>;

    /// `GET /v1/accounts/{id}`. An account that never sent anything has the number 0.
    fn account(&self, id: Id) -> Answer<'_, Account>;

    /// `GET /v1/registry`.
    fn registry(&self) -> Answer<'_, RegistryView>;

    /// `GET /v1/evidence`.
    fn evidence(&self) -> Answer<'_, EvidencePage>;

    /// `GET /v1/blocks/{height}`.
    ///
    /// # Errors
    /// `BlockUnknown`.
    fn block(&self, height: u64) -> Answer<'_, Block>;

    /// `GET /v1/events`: what happens from now on, or after `resume`. An
    /// [`EventLog`](super::events::EventLog) implements it.
    fn events(&self, resume: Option<EventId>) -> BoxStream<'static, (EventId, Event)>;

    /// `GET /readyz`. Must answer at once: what it says was found out before.
    fn readiness(&self) -> Readiness;

    /// `GET /metrics` in the OpenMetrics text format.
    fn metrics(&self) -> String;
}

/// A relayer as its interface sees it.
pub trait RelayerBackend: Send + Sync + 'static {
    /// `GET /v1/routes`.
    fn routes(&self) -> Answer<'_, RouteList>;

    /// `GET /v1/queue`.
    fn queue(&self, filter: QueueFilter) -> Answer<'_, QueuePage>;

    /// `POST /v1/retry`: starts matching dead letters again and looks at matching waiting messages
    /// at once.
    ///
    /// # Errors
    /// `NothingToRetry`.
    fn retry(&self, request: RetryRequest) -> Answer<'_, RetryResult>;

    /// `GET /readyz`, one check per route. Must answer at once.
    fn readiness(&self) -> Readiness;

    /// `GET /metrics` in the OpenMetrics text format.
    fn metrics(&self) -> String;
}
