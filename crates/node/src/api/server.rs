//! Limits of the interface, and the loop that serves connections.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use hyper::body::{Frame, SizeHint};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tower::Service;

use super::error::{ApiError, Code};

/// Addresses whose request rate is remembered; beyond that the idlest is forgotten.
const ADDRESS_COUNT_MAX: usize = 1_024;
/// Bytes a connection may buffer before its request head must be complete.
const HEAD_LEN_MAX: usize = 16 * 1024;
/// How long open connections may finish their answer when the server stops.
const DRAIN: Duration = Duration::from_secs(2);
/// Pause after a failed accept, so that a lack of file descriptors does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Bytes of an unread body that are taken from a client that was answered before it had sent all.
const LEFTOVER_LEN_MAX: usize = 4 * 1024 * 1024;
/// How long such a client may take for them.
const LEFTOVER_TIMEOUT: Duration = Duration::from_secs(1);

/// What the interface allows at once and over time.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Open connections; further ones wait to be accepted.
    pub connections: usize,
    /// Requests in work; further ones are refused with `overloaded`.
    pub requests: usize,
    /// Event streams open at once; further ones are refused with `overloaded`.
    pub streams: usize,
    /// Requests per second of one address in the long run; 0 for no limit.
    pub rate: u32,
    /// Requests of one address that may come at once before the rate applies.
    pub burst: u32,
    /// How long a request head may take to arrive.
    pub head_timeout: Duration,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
    /// How long an answer may take.
    pub request_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            requests: 64,
            streams: 32,
            rate: 1_000,
            burst: 2_000,
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(30),
        }
    }
}

/// The address a request came from; absent when the router is called without a connection.
#[derive(Clone, Copy, Debug)]
struct Peer(IpAddr);

/// Refuses an address other than loopback unless `public` says that it is meant.
///
/// # Errors
/// One sentence for the operator.
pub fn check_address(address: SocketAddr, public: bool) -> Result<(), &'static str> {
    if address.ip().is_loopback() || public {
        return Ok(());
    }
    Err("the address is not loopback and the interface has no authentication: set public = true")
}

/// Counts what is in work.
#[derive(Debug)]
pub(crate) struct Gate {
    limits: Limits,
    requests: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    rates: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Requests that may still come at once, in thousandths.
    tokens: u64,
    at: Instant,
}

impl Gate {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            requests: Arc::new(Semaphore::new(limits.requests)),
            streams: Arc::new(Semaphore::new(limits.streams)),
            rates: Mutex::new(HashMap::new()),
        }
    }

    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A place among the event streams.
    pub(crate) fn stream(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let permit = Arc::clone(&self.streams).try_acquire_owned();
        permit.map_err(|_| ApiError::new(Code::Overloaded).with("limit", self.limits.streams))
    }

    fn check_rate(&self, address: IpAddr, now: Instant) -> Result<(), ApiError> {
        const TOKEN: u64 = 1_000;
        if self.limits.rate == 0 {
            return Ok(());
        }
        let full = u64::from(self.limits.burst.max(1)).saturating_mul(TOKEN);
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if rates.len() >= ADDRESS_COUNT_MAX && !rates.contains_key(&address) {
            let idlest = rates.iter().min_by_key(|(_, bucket)| bucket.at);
            if let Some(idlest) = idlest.map(|(address, _)| *address) {
                rates.remove(&idlest);
            }
        }
        let fresh = Bucket {
            tokens: full,
            at: now,
        };
        let bucket = rates.entry(address).or_insert(fresh);
        let elapsed_ms = now.saturating_duration_since(bucket.at).as_millis();
        let elapsed_ms = u64::try_from(elapsed_ms).unwrap_or(u64::MAX);
        // A rate per second times milliseconds is in thousandths already.
        let earned = u64::from(self.limits.rate).saturating_mul(elapsed_ms);
        bucket.tokens = bucket.tokens.saturating_add(earned).min(full);
        bucket.at = now;
        match bucket.tokens.checked_sub(TOKEN) {
            Some(rest) => {
                bucket.tokens = rest;
                Ok(())
            }
            None => Err(ApiError::new(Code::RateLimited).with("limit", self.limits.rate)),
        }
    }
}

/// Adds limits and typed answers for unknown paths and methods to a router.
pub(crate) fn guard(router: Router, gate: Arc<Gate>) -> Router {
    router
        .fallback(async || ApiError::new(Code::RouteUnknown))
        .method_not_allowed_fallback(async || ApiError::new(Code::MethodWrong))
        .layer(middleware::from_fn_with_state(gate, pass))
}

/// Answers a request, and takes what the client still sends of a body that nobody read: a connection
/// closed under a client that writes shows it a broken pipe instead of the refusal.
async fn pass(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let left = Leftover::default();
    // Such a client sends its body only when it is asked for it.
    let waits = request.headers().contains_key(header::EXPECT);
    let request = request.map(|body| Body::new(left.watch(body)));
    let response = admit(&gate, request, next).await;
    if !waits {
        let _ = tokio::time::timeout(LEFTOVER_TIMEOUT, left.take_rest()).await;
    }
    response
}

async fn admit(gate: &Gate, request: Request, next: Next) -> Response {
    // Whoever watches the process must be answered when it is busy.
    if matches!(request.uri().path(), "/livez" | "/readyz" | "/metrics") {
        return next.run(request).await;
    }
    if let Some(Peer(address)) = request.extensions().get::<Peer>()
        && let Err(refused) = gate.check_rate(*address, Instant::now())
    {
        return refused.into_response();
    }
    let Ok(_permit) = Arc::clone(&gate.requests).try_acquire_owned() else {
        let refused = ApiError::new(Code::Overloaded).with("limit", gate.limits.requests);
        return refused.into_response();
    };
    let answer = tokio::time::timeout(gate.limits.request_timeout, next.run(request)).await;
    answer.unwrap_or_else(|_| ApiError::new(Code::Slow).into_response())
}

/// Where a body goes when its handler is done with it.
#[derive(Clone, Debug, Default)]
struct Leftover(Arc<Mutex<Option<Body>>>);

impl Leftover {
    fn watch(&self, body: Body) -> Watched {
        Watched {
            body,
            left: self.clone(),
        }
    }

    /// Reads to the end of the body, at most [`LEFTOVER_LEN_MAX`] bytes.
    async fn take_rest(self) {
        let body = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(body) = body else { return };
        let mut parts = body.into_data_stream();
        let mut len = 0_usize;
        while let Some(Ok(part)) = parts.next().await {
            len = len.saturating_add(part.len());
            if len > LEFTOVER_LEN_MAX {
                return;
            }
        }
    }
}

/// A body that is kept when it is dropped before its end.
struct Watched {
    body: Body,
    left: Leftover,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.body.is_end_stream() {
            let body = core::mem::take(&mut self.body);
            *self.left.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

/// Reads a body of at most `limit` bytes and of this content type.
pub(crate) async fn read_body(
    request: Request,
    content_type: &str,
    limit: usize,
    limits: &Limits,
) -> Result<Bytes, ApiError> {
    check_media(request.headers(), content_type)?;
    let too_large = || ApiError::new(Code::BodyTooLarge).with("limit", limit);
    let declared = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|declared| declared > limit) {
        return Err(too_large());
    }
    let read = async {
        let mut body = request.into_body().into_data_stream();
        let mut bytes = BytesMut::with_capacity(declared.unwrap_or(0));
        while let Some(part) = body.next().await {
            let part = part.map_err(|_| ApiError::new(Code::BadBody))?;
            if bytes.len().saturating_add(part.len()) > limit {
                return Err(too_large());
            }
            bytes.extend_from_slice(&part);
        }
        Ok(bytes.freeze())
    };
    let answer = tokio::time::timeout(limits.body_timeout, read).await;
    answer.unwrap_or_else(|_| Err(ApiError::new(Code::BodyTimeout)))
}

fn check_media(headers: &HeaderMap, wanted: &str) -> Result<(), ApiError> {
    let given = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = given.and_then(|value| value.split(';').next());
    match essence {
        Some(essence) if essence.trim().eq_ignore_ascii_case(wanted) => Ok(()),
        _ => Err(ApiError::new(Code::MediaType).with("wanted", wanted)),
    }
}

/// Serves connections until `stop` resolves, then lets open answers finish for two seconds.
///
/// # Errors
/// Never at present: a failed accept is logged and tried again.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(limits.connections));
    let (closing, closed) = watch::channel(false);
    let mut connections = JoinSet::new();
    tokio::pin!(stop);
    loop {
        let accept = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = accept => accepted,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
        };
        match accepted {
            (Ok(place), Ok((stream, peer))) => {
                let (router, closed) = (router.clone(), closed.clone());
                connections.spawn(async move {
                    connection(stream, peer.ip(), router, limits, closed).await;
                    drop(place);
                });
            }
            (_, Err(error)) => {
                tracing::warn!(%error, "accept failed");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
            // The semaphore is never closed.
            (Err(_), _) => break,
        }
    }
    let _ = closing.send(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(DRAIN, drained).await;
    Ok(())
}

async fn connection(
    stream: TcpStream,
    peer: IpAddr,
    router: Router,
    limits: Limits,
    mut closed: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let service = hyper::service::service_fn(move |request: hyper::Request<_>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        // A router is always ready.
        router.clone().call(request)
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_buf_size(HEAD_LEN_MAX)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = async { closed.wait_for(|closed| *closed).await.map(drop).unwrap_or(()) } => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_served_unless_told_otherwise() {
        assert!(check_address("127.0.0.1:80".parse().unwrap(), false).is_ok());
        assert!(check_address("[::1]:80".parse().unwrap(), false).is_ok());
        assert!(check_address("0.0.0.0:80".parse().unwrap(), false).is_err());
        assert!(check_address("10.0.0.1:80".parse().unwrap(), true).is_ok());
    }

    #[test]
    fn an_address_gets_its_burst_and_then_its_rate() {
        let gate = Gate::new(Limits {
            rate: 10,
            burst: 3,
            ..Limits::default()
        });
        let address = IpAddr::from([127, 0, 0, 1]);
        let start = Instant::now();
        for _ in 0..3 {
            gate.check_rate(address, start).unwrap();
        }
        assert_eq!(
            gate.check_rate(address, start).unwrap_err().code(),
            "rate-limited"
        );
        gate.check_rate(IpAddr::from([127, 0, 0, 2]), start)
            .unwrap();
        let later = start + Duration::from_millis(100);
        gate.check_rate(address, later).unwrap();
        assert!(gate.check_rate(address, later).is_err());
    }

    #[test]
    fn the_table_of_addresses_is_bounded() {
        let gate = Gate::new(Limits::default());
        let start = Instant::now();
        for number in 0..5_000_u32 {
            let address = IpAddr::from(number.to_be_bytes());
            gate.check_rate(address, start).unwrap();
        }
        assert_eq!(gate.rates.lock().unwrap().len(), ADDRESS_COUNT_MAX);
    }
}
