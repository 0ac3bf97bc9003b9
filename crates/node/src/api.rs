//! The HTTP interface of a node: a router over a [`Backend`], with typed answers and limits.
//!
//! | Part | For |
//! |---|---|
//! | [`types`] | the JSON types, shared with the client |
//! | [`Backend`] | what the process behind the interface must answer |
//! | [`Code`], [`ApiError`] | the one table of codes, and an answer that is no success |
//! | [`EventLog`] | events with resume |
//! | [`server`] | limits, and the loop that serves connections |
//!
//! Paths, fields and statuses are described in `docs/api.md` and `docs/openapi.json`, which a test
//! compares with a running server.
//!
//! # Security
//! The interface has no authentication: whoever reaches it can submit, and read everything it
//! shows. It is meant for the loopback address or a trusted network behind a proxy.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::stream::StreamExt;
use horizon_warp::limits::ENVELOPE_LEN_MAX;
use serde::Deserialize;
use serde::de::DeserializeOwned;

pub mod backend;
pub mod error;
pub mod events;
mod relayer;
pub mod server;
pub mod types;

pub use backend::{Answer, Backend, RelayerBackend};
pub use error::{ApiError, Code};
pub use events::{EventId, EventLog};
pub use server::{Limits, check_address, serve};

use server::{Gate, read_body};
use types::{Have, Id, RetryRequest, text};

/// Greatest number of entries in a page.
pub const PAGE_LEN_MAX: usize = 256;
/// Entries in a page when the request names no number.
pub const PAGE_LEN: usize = 64;
/// Greatest size of a Submit transaction, bytes: a 32 KiB body, a signature, keys and addresses.
pub const TRANSACTION_LEN_MAX: usize = 64 * 1024;
/// Greatest size of a JSON request, bytes.
pub const JSON_LEN_MAX: usize = 4 * 1024;
/// Content type of transactions and envelopes.
pub const OCTETS: &str = "application/octet-stream";
/// Content type of JSON requests.
pub const JSON: &str = "application/json";

/// One operation of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// Path with `{names}`.
    pub path: &'static str,
}

macro_rules! operations {
    (
        $(#[$doc:meta])* $table:ident, $routes:ident, $state:ty;
        $( $method:ident $path:literal $handler:path )*
    ) => {
        $(#[$doc])*
        pub const $table: &[Operation] = &[ $( Operation {
            method: method_name(stringify!($method)), path: $path,
        }, )* ];

        fn $routes() -> Router<Arc<$state>> {
            Router::new() $( .route($path, $method($handler)) )*
        }
    };
}

operations! {
    /// Every operation of a node.
    NODE_OPERATIONS, node_routes, Server;
    get "/v1/status" status
    get "/v1/messages" messages
    post "/v1/messages" submit_message
    get "/v1/messages/{id}" message
    get "/v1/messages/{id}/attestations" attestations
    get "/v1/messages/{id}/aggregate" aggregate
    get "/v1/messages/{id}/pulse" pulse
    get "/v1/messages/{id}/envelope" envelope
    post "/v1/envelopes" submit_envelope
    get "/v1/inbox" deliveries
    get "/v1/inbox/{id}" delivery
    post "/v1/retry" retry
    get "/v1/accounts/{id}" account
    get "/v1/registry" registry
    get "/v1/evidence" evidence
    get "/v1/blocks/{height}" block
    get "/v1/events" events
    get "/livez" livez
    get "/readyz" readyz
    get "/metrics" metrics
}

operations! {
    /// Every operation of a relayer.
    RELAYER_OPERATIONS, relayer_routes, relayer::Server;
    get "/v1/routes" relayer::routes
    get "/v1/queue" relayer::queue
    post "/v1/retry" relayer::retry
    get "/livez" livez
    get "/readyz" relayer::readyz
    get "/metrics" relayer::metrics
}

/// The router of a relayer.
pub fn relayer_router(backend: Arc<dyn RelayerBackend>, limits: Limits) -> Router {
    let gate = Arc::new(Gate::new(limits));
    let server = Arc::new(relayer::Server {
        backend,
        gate: Arc::clone(&gate),
    });
    server::guard(relayer_routes().with_state(server), gate)
}

/// The router of a node.
pub fn router(backend: Arc<dyn Backend>, limits: Limits) -> Router {
    let gate = Arc::new(Gate::new(limits));
    let server = Arc::new(Server {
        backend,
        gate: Arc::clone(&gate),
    });
    server::guard(node_routes().with_state(server), gate)
}

struct Server {
    backend: Arc<dyn Backend>,
    gate: Arc<Gate>,
}

type Shared = State<Arc<Server>>;
type Reply = Result<Response, ApiError>;

/// Query of an operation that takes none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoQuery {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageQuery {
    after: Option<String>,
    limit: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HaveQuery {
    have: Option<String>,
}

impl PageQuery {
    /// First sequence wanted, and how many.
    fn read(uri: &Uri) -> Result<(u64, usize), ApiError> {
        let query: Self = query(uri)?;
        let number = |text: &Option<String>, key| match text {
            None => Ok(None),
            Some(text) => text::from_decimal(text)
                .map(Some)
                .ok_or_else(|| ApiError::new(Code::BadQuery).with("key", key)),
        };
        let from = match number(&query.after, "after")? {
            None => 0,
            Some(after) => after
                .checked_add(1)
                .ok_or_else(|| ApiError::new(Code::BadQuery).with("key", "after"))?,
        };
        let limit = match number(&query.limit, "limit")? {
            None => PAGE_LEN,
            Some(limit) => usize::try_from(limit)
                .ok()
                .filter(|limit| (1..=PAGE_LEN_MAX).contains(limit))
                .ok_or_else(|| ApiError::new(Code::BadQuery).with("key", "limit"))?,
        };
        Ok((from, limit))
    }
}

async fn status(State(server): Shared, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    json(StatusCode::OK, server.backend.status().await)
}

async fn messages(State(server): Shared, uri: Uri) -> Reply {
    let (from, limit) = PageQuery::read(&uri)?;
    json(StatusCode::OK, server.backend.messages(from, limit).await)
}

async fn submit_message(State(server): Shared, request: Request) -> Reply {
    query::<NoQuery>(request.uri())?;
    let bytes = read_body(request, OCTETS, TRANSACTION_LEN_MAX, server.gate.limits()).await?;
    let answer = server.backend.submit_message(bytes).await;
    json(StatusCode::ACCEPTED, answer)
}

async fn message(State(server): Shared, Path(id): Path<String>, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    json(StatusCode::OK, server.backend.message(read_id(&id)?).await)
}

async fn attestations(State(server): Shared, Path(id): Path<String>, uri: Uri) -> Reply {
    let id = read_id(&id)?;
    let query: HaveQuery = query(&uri)?;
    let have = query.have.as_deref().unwrap_or_default();
    let have =
        Have::parse(have).ok_or_else(|| ApiError::new(Code::BadQuery).with("key", "have"))?;
    json(StatusCode::OK, server.backend.attestations(id, have).await)
}

async fn aggregate(State(server): Shared, Path(id): Path<String>, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    json(
        StatusCode::OK,
        server.backend.aggregate(read_id(&id)?).await,
    )
}

async fn pulse(State(server): Shared, Path(id): Path<String>, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    json(StatusCode::OK, server.backend.pulse(read_id(&id)?).await)
}

async fn envelope(State(server): Shared, Path(id): Path<String>, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    let bytes = server.backend.envelope(read_id(&id)?).await?;
    Ok(([(header::CONTENT_TYPE, OCTETS)], bytes).into_response())
}

async fn submit_envelope(State(server): Shared, request: Request) -> Reply {
    query::<NoQuery>(request.uri())?;
    let bytes = read_body(request, OCTETS, ENVELOPE_LEN_MAX, server.gate.limits()).await?;
    let answer = server.backend.submit_envelope(bytes).await;
    json(StatusCode::ACCEPTED, answer)
}

async fn deliveries(State(server): Shared, uri: Uri) -> Reply {
    let (from, limit) = PageQuery::read(&uri)?;
    json(StatusCode::OK, server.backend.deliveries(from, limit).await)
}

async fn delivery(State(server): Shared, Path(id): Path<String>, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    json(StatusCode::OK, server.backend.delivery(read_id(&id)?).await)
}

async fn retry(State(server): Shared, request: Request) -> Reply {
    query::<NoQuery>(request.uri())?;
    let wanted = read_retry(request, server.gate.limits()).await?;
    json(StatusCode::ACCEPTED, server.backend.retry(wanted).await)
}

async fn account(State(server): Shared, Path(id): Path<String>, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    json(StatusCode::OK, server.backend.account(read_id(&id)?).await)
}

async fn registry(State(server): Shared, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    json(StatusCode::OK, server.backend.registry().await)
}

async fn evidence(State(server): Shared, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    json(StatusCode::OK, server.backend.evidence().await)
}

async fn block(State(server): Shared, Path(height): Path<String>, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    let height = text::from_decimal(&height).ok_or(Code::BadHeight)?;
    json(StatusCode::OK, server.backend.block(height).await)
}

async fn events(State(server): Shared, uri: Uri, headers: HeaderMap) -> Reply {
    query::<NoQuery>(&uri)?;
    let permit = server.gate.stream()?;
    let resume = match headers.get("last-event-id") {
        None => None,
        Some(value) => {
            let id = value.to_str().ok().and_then(EventId::parse);
            let wrong = || ApiError::new(Code::BadQuery).with("header", "last-event-id");
            Some(id.ok_or_else(wrong)?)
        }
    };
    let events = server.backend.events(resume).map(move |(id, event)| {
        // The permit lives as long as the stream.
        let _ = &permit;
        let event = SseEvent::default().id(id.to_string()).json_data(&event);
        Ok::<_, Infallible>(event.unwrap_or_default())
    });
    let sse = Sse::new(events).keep_alive(KeepAlive::default());
    Ok(sse.into_response())
}

async fn livez(uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    // The process runs and answers; nothing more is said.
    Ok((StatusCode::OK, "ok\n").into_response())
}

async fn readyz(State(server): Shared, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    Ok(readyz_reply(&server.backend.readiness()))
}

async fn metrics(State(server): Shared, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    Ok(metrics_reply(server.backend.metrics()))
}

fn readyz_reply(readiness: &types::Readiness) -> Response {
    let status = if readiness.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, axum::Json(readiness)).into_response()
}

fn metrics_reply(text: String) -> Response {
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, OPEN_METRICS)], Body::from(text)).into_response()
}

async fn read_retry(request: Request, limits: &Limits) -> Result<RetryRequest, ApiError> {
    let bytes = read_body(request, JSON, JSON_LEN_MAX, limits).await?;
    serde_json::from_slice(&bytes).map_err(|_| ApiError::new(Code::BadBody))
}

fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, ApiError> {
    let query = axum::extract::Query::<T>::try_from_uri(uri);
    query
        .map(|axum::extract::Query(value)| value)
        .map_err(|_| ApiError::new(Code::BadQuery))
}

fn json<T: serde::Serialize>(status: StatusCode, answer: Result<T, ApiError>) -> Reply {
    answer.map(|value| (status, axum::Json(value)).into_response())
}

fn read_id(text: &str) -> Result<Id, ApiError> {
    text::id_from_hex(text).ok_or_else(|| ApiError::new(Code::BadId))
}

const fn method_name(name: &str) -> &'static str {
    match name.as_bytes() {
        b"post" => "POST",
        _ => "GET",
    }
}
