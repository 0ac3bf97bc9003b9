//! A typed client of the HTTP interface, with time and size limits on every answer.

use core::time::Duration;
use std::fmt;

use bytes::{Bytes, BytesMut};
use futures::stream::{BoxStream, StreamExt};
use horizon_warp::limits::ENVELOPE_LEN_MAX;
use reqwest::{Method, StatusCode, Url};
use serde::de::DeserializeOwned;

use crate::api::types::{
    Account, Aggregate, Attestations, Block, Delivery, DeliveryPage, ErrorBody, Event,
    EvidencePage, Have, Id, Message, MessagePage, Pulse, QueueFilter, QueuePage, Readiness,
    RegistryView, RetryRequest, RetryResult, RouteList, Status, SubmittedEnvelope,
    SubmittedMessage, text::to_hex,
};
use crate::api::{EventId, JSON, OCTETS};

/// Greatest page of messages, bytes: 256 of them with a body of 32 KiB, in hex.
const PAGE_ANSWER_LEN_MAX: usize = 32 * 1024 * 1024;
/// Greatest answer of other kinds, bytes: signatures of 256 validators, or records with keys.
const ANSWER_LEN_MAX: usize = 4 * 1024 * 1024;
/// Greatest answer about one message or the process, bytes.
const SMALL_ANSWER_LEN_MAX: usize = 1024 * 1024;
/// Greatest part of an error answer that is read, bytes.
const ERROR_LEN_MAX: usize = 64 * 1024;
/// Greatest event, bytes.
const EVENT_LEN_MAX: usize = 4 * 1024;

/// Why a call brought no answer that can be used.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The other side could not be reached, or did not answer in time.
    Unreachable {
        /// Whether it was the time that ran out.
        timeout: bool,
    },
    /// The other side answered with an error of the interface.
    Api {
        /// HTTP status.
        status: u16,
        /// What it said.
        body: ErrorBody,
    },
    /// The answer is not what the interface promises.
    BadAnswer {
        /// HTTP status.
        status: u16,
    },
    /// The address is no HTTP address.
    BadAddress,
}

impl Error {
    /// Code of the interface, if it answered with one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Api { body, .. } => Some(&body.code),
            _ => None,
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::BadAnswer { .. } => true,
            Self::Api { body, .. } => body.retryable,
            Self::BadAddress => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { timeout: true } => f.write_str("no answer in time"),
            Self::Unreachable { timeout: false } => f.write_str("cannot be reached"),
            Self::Api { status, body } => {
                write!(f, "{}: {} (HTTP {status})", body.code, body.message)
            }
            Self::BadAnswer { status } => write!(f, "unexpected answer (HTTP {status})"),
            Self::BadAddress => f.write_str("not an http:// address"),
        }
    }
}

impl std::error::Error for Error {}

impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Self {
        Self::Unreachable {
            timeout: error.is_timeout(),
        }
    }
}

/// Time limits of a client.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// To connect.
    pub connect: Duration,
    /// From request to the end of the answer.
    pub request: Duration,
    /// Between two parts of an event stream; servers send a sign of life every 15 s.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(3),
            request: Duration::from_secs(15),
            idle: Duration::from_secs(40),
        }
    }
}

/// One endpoint of a node or relayer. Cheap to clone; clones share connections.
#[derive(Clone, Debug)]
pub struct Client {
    base: Url,
    http: reqwest::Client,
    timeouts: Timeouts,
}

impl Client {
    /// A client of `http://host:port`. Nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::BadAddress`].
    pub fn new(address: &str, timeouts: Timeouts) -> Result<Self, Error> {
        let base = Url::parse(address).map_err(|_| Error::BadAddress)?;
        if base.scheme() != "http" || base.cannot_be_a_base() {
            return Err(Error::BadAddress);
        }
        let http = reqwest::Client::builder()
            .connect_timeout(timeouts.connect)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|_| Error::BadAddress)?;
        Ok(Self {
            base,
            http,
            timeouts,
        })
    }

    /// The address it was made for.
    #[must_use]
    pub fn address(&self) -> &str {
        self.base.as_str()
    }

    /// `GET /v1/status`.
    ///
    /// # Errors
    /// [`Error`], as every call of this type.
    pub async fn status(&self) -> Result<Status, Error> {
        self.get_up_to("v1/status", &[], SMALL_ANSWER_LEN_MAX).await
    }

    /// `GET /v1/messages`: outgoing messages after this sequence, or from the first.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn messages(&self, after: Option<u64>, limit: usize) -> Result<MessagePage, Error> {
        let query = page(after, limit);
        self.get_up_to("v1/messages", &query, PAGE_ANSWER_LEN_MAX)
            .await
    }

    /// `GET /v1/messages/{id}`.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn message(&self, id: &Id) -> Result<Message, Error> {
        let path = format!("v1/messages/{}", to_hex(id));
        self.get_up_to(&path, &[], SMALL_ANSWER_LEN_MAX).await
    }

    /// `GET /v1/messages/{id}/attestations`: single signatures that `have` lacks.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn attestations(&self, id: &Id, have: &Have) -> Result<Attestations, Error> {
        let path = format!("v1/messages/{}/attestations", to_hex(id));
        self.get(&path, &[("have", have.to_string())]).await
    }

    /// `GET /v1/messages/{id}/aggregate`.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn aggregate(&self, id: &Id) -> Result<Aggregate, Error> {
        let path = format!("v1/messages/{}/aggregate", to_hex(id));
        self.get(&path, &[]).await
    }

    /// `GET /v1/messages/{id}/pulse`.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn pulse(&self, id: &Id) -> Result<Pulse, Error> {
        let path = format!("v1/messages/{}/pulse", to_hex(id));
        self.get_up_to(&path, &[], SMALL_ANSWER_LEN_MAX).await
    }

    /// `GET /v1/messages/{id}/envelope`.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn envelope(&self, id: &Id) -> Result<Bytes, Error> {
        let path = format!("v1/messages/{}/envelope", to_hex(id));
        let request = self.request(Method::GET, &path, &[])?;
        let (_, bytes) = self.send(request, ENVELOPE_LEN_MAX).await?;
        Ok(bytes)
    }

    /// `POST /v1/messages`: a signed Submit transaction.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn submit_message(&self, transaction: Vec<u8>) -> Result<SubmittedMessage, Error> {
        self.post("v1/messages", OCTETS, transaction).await
    }

    /// `POST /v1/envelopes`.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn submit_envelope(&self, envelope: Bytes) -> Result<SubmittedEnvelope, Error> {
        self.post("v1/envelopes", OCTETS, envelope).await
    }

    /// `GET /v1/inbox/{id}`; `None` if nothing with this id has arrived.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn delivery(&self, id: &Id) -> Result<Option<Delivery>, Error> {
        let path = format!("v1/inbox/{}", to_hex(id));
        let answer = self.get_up_to(&path, &[], SMALL_ANSWER_LEN_MAX).await;
        match answer {
            Ok(delivery) => Ok(Some(delivery)),
            Err(error) if error.code() == Some("delivery-unknown") => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// `GET /v1/inbox`: final deliveries after this sequence, or from the first.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn deliveries(
        &self,
        after: Option<u64>,
        limit: usize,
    ) -> Result<DeliveryPage, Error> {
        self.get("v1/inbox", &page(after, limit)).await
    }

    /// `POST /v1/retry`, of a node or a relayer.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn retry(&self, request: &RetryRequest) -> Result<RetryResult, Error> {
        let body = serde_json::to_vec(request).map_err(|_| Error::BadAddress)?;
        self.post("v1/retry", JSON, body).await
    }

    /// `GET /v1/accounts/{id}`.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn account(&self, id: &Id) -> Result<Account, Error> {
        self.get(&format!("v1/accounts/{}", to_hex(id)), &[]).await
    }

    /// `GET /v1/registry`.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn registry(&self) -> Result<RegistryView, Error> {
        self.get("v1/registry", &[]).await
    }

    /// `GET /v1/evidence`.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn evidence(&self) -> Result<EvidencePage, Error> {
        self.get("v1/evidence", &[]).await
    }

    /// `GET /v1/blocks/{height}`.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn block(&self, height: u64) -> Result<Block, Error> {
        self.get(&format!("v1/blocks/{height}"), &[]).await
    }

    /// `GET /v1/routes` of a relayer.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn routes(&self) -> Result<RouteList, Error> {
        self.get("v1/routes", &[]).await
    }

    /// `GET /v1/queue` of a relayer.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn queue(&self, filter: &QueueFilter) -> Result<QueuePage, Error> {
        let mut query: Vec<(&str, String)> = Vec::new();
        query.extend(filter.route.iter().map(|route| ("route", route.clone())));
        if let Some(state) = filter.state {
            let text = serde_json::to_value(state).map_err(|_| Error::BadAddress)?;
            query.extend(text.as_str().map(|text| ("state", text.to_owned())));
        }
        query.extend(filter.id.iter().map(|id| ("id", to_hex(id))));
        query.extend(filter.reason.iter().map(|code| ("reason", code.clone())));
        query.extend(filter.limit.map(|limit| ("limit", limit.to_string())));
        self.get("v1/queue", &query).await
    }

    /// `GET /readyz`: the answer is the same type whether ready or not.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn readiness(&self) -> Result<Readiness, Error> {
        let request = self.request(Method::GET, "readyz", &[])?;
        let response = request.timeout(self.timeouts.request).send().await?;
        let status = response.status();
        if status != StatusCode::OK && status != StatusCode::SERVICE_UNAVAILABLE {
            return Err(bad_answer(status));
        }
        let bytes = body(response, ANSWER_LEN_MAX).await?;
        serde_json::from_slice(&bytes).map_err(|_| bad_answer(status))
    }

    /// `GET /metrics`.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn metrics(&self) -> Result<String, Error> {
        let request = self.request(Method::GET, "metrics", &[])?;
        let (status, bytes) = self.send(request, ANSWER_LEN_MAX).await?;
        String::from_utf8(bytes.into()).map_err(|_| bad_answer(status))
    }

    /// `GET /v1/events`: what happens from now on, or after `resume`. Ends after the first error;
    /// call again with the last id to go on.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn events(
        &self,
        resume: Option<EventId>,
    ) -> Result<BoxStream<'static, Result<(EventId, Event), Error>>, Error> {
        let mut request = self.request(Method::GET, "v1/events", &[])?;
        if let Some(id) = resume {
            request = request.header("last-event-id", id.to_string());
        }
        let sent = tokio::time::timeout(self.timeouts.request, request.send()).await;
        let response = sent.map_err(|_| Error::Unreachable { timeout: true })??;
        if response.status() != StatusCode::OK {
            return Err(refusal(response).await);
        }
        let reader = EventReader {
            bytes: response.bytes_stream().boxed(),
            buffer: BytesMut::new(),
            idle: self.timeouts.idle,
            done: false,
        };
        let stream = futures::stream::unfold(reader, |mut reader| async move {
            let event = reader.next_event().await?;
            Some((event, reader))
        });
        Ok(stream.boxed())
    }

    async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<T, Error> {
        self.get_up_to(path, query, ANSWER_LEN_MAX).await
    }

    async fn get_up_to<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
        limit: usize,
    ) -> Result<T, Error> {
        let request = self.request(Method::GET, path, query)?;
        self.json(request, limit).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        content_type: &str,
        body: impl Into<reqwest::Body>,
    ) -> Result<T, Error> {
        let request = self.request(Method::POST, path, &[])?;
        let request = request.header("content-type", content_type).body(body);
        self.json(request, SMALL_ANSWER_LEN_MAX).await
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<reqwest::RequestBuilder, Error> {
        let mut url = self.base.join(path).map_err(|_| Error::BadAddress)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(self.http.request(method, url))
    }

    async fn json<T: DeserializeOwned>(
        &self,
        request: reqwest::RequestBuilder,
        limit: usize,
    ) -> Result<T, Error> {
        let (status, bytes) = self.send(request, limit).await?;
        serde_json::from_slice(&bytes).map_err(|_| bad_answer(status))
    }

    async fn send(
        &self,
        request: reqwest::RequestBuilder,
        limit: usize,
    ) -> Result<(StatusCode, Bytes), Error> {
        let response = request.timeout(self.timeouts.request).send().await?;
        let status = response.status();
        if !status.is_success() {
            return Err(refusal(response).await);
        }
        Ok((status, body(response, limit).await?))
    }
}

fn page(after: Option<u64>, limit: usize) -> Vec<(&'static str, String)> {
    let after = after.map(|after| ("after", after.to_string()));
    let limit = Some(("limit", limit.to_string()));
    after.into_iter().chain(limit).collect()
}

const fn bad_answer(status: StatusCode) -> Error {
    Error::BadAnswer {
        status: status.as_u16(),
    }
}

async fn refusal(response: reqwest::Response) -> Error {
    let status = response.status();
    let Ok(bytes) = body(response, ERROR_LEN_MAX).await else {
        return bad_answer(status);
    };
    match serde_json::from_slice(&bytes) {
        Ok(body) => Error::Api {
            status: status.as_u16(),
            body,
        },
        Err(_) => bad_answer(status),
    }
}

async fn body(response: reqwest::Response, limit: usize) -> Result<Bytes, Error> {
    let status = response.status();
    let mut stream = response.bytes_stream();
    let mut bytes = BytesMut::new();
    while let Some(part) = stream.next().await {
        let part = part?;
        if bytes.len().saturating_add(part.len()) > limit {
            return Err(bad_answer(status));
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes.freeze())
}

struct EventReader {
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    buffer: BytesMut,
    idle: Duration,
    done: bool,
}

impl EventReader {
    async fn next_event(&mut self) -> Option<Result<(EventId, Event), Error>> {
        const STATUS: u16 = 200;
        while !self.done {
            match self.take_block() {
                Some(block) => {
                    let parsed = parse_event(&block);
                    match parsed {
                        Ok(Some(event)) => return Some(Ok(event)),
                        Ok(None) => continue,
                        Err(()) => return self.fail(Error::BadAnswer { status: STATUS }),
                    }
                }
                None if self.buffer.len() > EVENT_LEN_MAX => {
                    return self.fail(Error::BadAnswer { status: STATUS });
                }
                None => {}
            }
            match tokio::time::timeout(self.idle, self.bytes.next()).await {
                Ok(Some(Ok(part))) => self.buffer.extend_from_slice(&part),
                Ok(None) => return None,
                Ok(Some(Err(error))) => return self.fail(error.into()),
                Err(_) => return self.fail(Error::Unreachable { timeout: true }),
            }
        }
        None
    }

    fn fail(&mut self, error: Error) -> Option<Result<(EventId, Event), Error>> {
        self.done = true;
        Some(Err(error))
    }

    /// The lines up to the next empty one.
    fn take_block(&mut self) -> Option<BytesMut> {
        let end = self.buffer.windows(2).position(|pair| pair == b"\n\n")?;
        Some(self.buffer.split_to(end.saturating_add(2)))
    }
}

/// One event from its lines; `None` for a comment, which is a sign of life.
fn parse_event(block: &[u8]) -> Result<Option<(EventId, Event)>, ()> {
    let text = core::str::from_utf8(block).map_err(drop)?;
    let (mut id, mut data) = (None, None);
    for line in text.lines() {
        match line.split_once(':') {
            Some(("id", value)) => id = Some(EventId::parse(value.trim_start()).ok_or(())?),
            Some(("data", value)) => {
                data = Some(serde_json::from_str(value.trim_start()).map_err(drop)?);
            }
            _ => {}
        }
    }
    Ok(id.zip(data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_http_addresses_are_taken() {
        for address in ["", "localhost", "ftp://a", "https://a", "mailto:a@b"] {
            let error = Client::new(address, Timeouts::default()).unwrap_err();
            assert_eq!(error, Error::BadAddress, "{address}");
        }
        Client::new("http://127.0.0.1:1", Timeouts::default()).unwrap();
    }

    #[test]
    fn events_are_read_from_their_lines_and_comments_are_skipped() {
        let block =
            b"id: 0000000000000007-3\ndata: {\"kind\":\"block\",\"height\":\"9\",\"id\":null}\n\n";
        let (id, event) = parse_event(block).unwrap().unwrap();
        assert_eq!((id.number, event.height), (3, 9));
        assert_eq!(parse_event(b":\n\n"), Ok(None));
        assert_eq!(parse_event(b"id: x\ndata: {}\n\n"), Err(()));
    }
}
