//! The operations of a relayer.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri};

use super::server::Gate;
use super::types::QueueFilter;
use super::{NoQuery, RelayerBackend, Reply, json, metrics_reply, query, read_retry, readyz_reply};

pub(super) struct Server {
    pub(super) backend: Arc<dyn RelayerBackend>,
    pub(super) gate: Arc<Gate>,
}

type Shared = State<Arc<Server>>;

pub(super) async fn routes(State(server): Shared, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    json(StatusCode::OK, server.backend.routes().await)
}

pub(super) async fn queue(State(server): Shared, uri: Uri) -> Reply {
    let filter: QueueFilter = query(&uri)?;
    json(StatusCode::OK, server.backend.queue(filter).await)
}

pub(super) async fn retry(State(server): Shared, request: Request) -> Reply {
    query::<NoQuery>(request.uri())?;
    let wanted = read_retry(request, server.gate.limits()).await?;
    json(StatusCode::ACCEPTED, server.backend.retry(wanted).await)
}

pub(super) async fn readyz(State(server): Shared, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    Ok(readyz_reply(&server.backend.readiness()))
}

pub(super) async fn metrics(State(server): Shared, uri: Uri) -> Reply {
    query::<NoQuery>(&uri)?;
    Ok(metrics_reply(server.backend.metrics()))
}
