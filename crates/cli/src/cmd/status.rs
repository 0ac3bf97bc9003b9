//! `horizon status`, `queue` and `retry`: what running processes say about themselves.

use clap::Args;
use horizon_node::api::types::{
    QueueEntry, QueueFilter, QueueState, Readiness, RetryRequest, Route,
};
use horizon_node::client::Client;
use serde_json::{Value, json};

use crate::exit::{Code, Failure};
use crate::ids::Id;
use crate::live::{Endpoints, block_on, failed};
use crate::output::{Output, id};

#[derive(Args, Debug)]
pub(super) struct StatusOptions {
    #[command(flatten)]
    endpoints: Endpoints,
}

#[derive(Args, Debug)]
pub(super) struct QueueOptions {
    #[command(flatten)]
    endpoints: Endpoints,
    /// Only this route
    #[arg(long)]
    route: Option<String>,
    /// Only this state, for example waiting-quorum or dead
    #[arg(long, value_parser = queue_state)]
    state: Option<QueueState>,
    /// Only messages with this last obstacle
    #[arg(long, value_name = "CODE")]
    reason: Option<String>,
    /// Most entries
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

#[derive(Args, Debug)]
pub(super) struct RetryOptions {
    #[command(flatten)]
    endpoints: Endpoints,
    /// The message
    #[arg(value_name = "ID")]
    id: Option<Id>,
    /// Relayer only: messages of this route
    #[arg(long)]
    route: Option<String>,
    /// Relayer only: messages with this last obstacle
    #[arg(long, value_name = "CODE")]
    reason: Option<String>,
    /// Ask the destination to execute a failed message again, instead of the relayer to deliver it
    #[arg(long)]
    execution: bool,
}

fn queue_state(text: &str) -> Result<QueueState, String> {
    serde_json::from_value(json!(text)).map_err(|_| {
        "one of observed, waiting-quorum, waiting-pulse, built, submitted, included, delivered, \
         acknowledged, dead"
            .to_owned()
    })
}

/// Exit code 4 when a process is not ready, 6 when one cannot be reached.
pub(super) fn status(options: &StatusOptions, output: Output) -> Result<(), Failure> {
    show(&options.endpoints, output)
}

/// As [`status`], of these endpoints.
pub(super) fn show(endpoints: &Endpoints, output: Output) -> Result<(), Failure> {
    let endpoints = endpoints.resolve()?;
    let nodes = if endpoints.node.is_empty() && endpoints.relayer.is_some() {
        Vec::new()
    } else {
        endpoints.nodes()?
    };
    let relayer = endpoints
        .relayer
        .as_ref()
        .map(|_| endpoints.relayer())
        .transpose()?;
    block_on(async {
        let mut worst = Code::Ok;
        for client in &nodes {
            worst = worse(worst, show_node(client, output).await);
        }
        if let Some(client) = &relayer {
            worst = worse(worst, show_relayer(client, output).await);
        }
        match worst {
            Code::Ok => Ok(()),
            code => Err(Failure::new(code, "")),
        }
    })
}

const fn worse(a: Code, b: Code) -> Code {
    if (b as u8) > (a as u8) { b } else { a }
}

async fn show_node(client: &Client, output: Output) -> Code {
    let (status, ready) = tokio::join!(client.status(), client.readiness());
    let (status, ready) = match (status, ready) {
        (Ok(status), Ok(ready)) => (status, ready),
        (Err(error), _) | (_, Err(error)) => return unreachable_line(client, &error, output),
    };
    let position = status
        .position
        .map_or_else(|| "observer".to_owned(), |p| format!("#{p}"));
    output.text(&format!(
        "{:<24} {} {position:<4} height {} of {}, {} peers, {}",
        client.address(),
        status.name,
        status.height,
        status.consensus_height.max(status.height),
        status.peers,
        readiness_words(&ready)
    ));
    let pulse = &status.pulse;
    output.text(&format!(
        "{:<24} out {} ({} without acknowledgement), in {}, Pulse {}: {} ready, {} waiting, {} made",
        "",
        status.outgoing,
        status.unacknowledged,
        status.delivered,
        pulse.state,
        pulse.ready,
        pulse.waiting,
        pulse.closed
    ));
    output.object(
        "status.node",
        with_address(client, json_of(&status), &ready),
    );
    if ready.ready {
        Code::Ok
    } else {
        Code::Insufficient
    }
}

async fn show_relayer(client: &Client, output: Output) -> Code {
    let (routes, ready) = tokio::join!(client.routes(), client.readiness());
    let (routes, ready) = match (routes, ready) {
        (Ok(routes), Ok(ready)) => (routes, ready),
        (Err(error), _) | (_, Err(error)) => return unreachable_line(client, &error, output),
    };
    output.text(&format!(
        "{:<24} relayer, {}",
        client.address(),
        readiness_words(&ready)
    ));
    for route in &routes.routes {
        output.text(&route_line(route));
    }
    output.object(
        "status.relayer",
        with_address(client, json_of(&routes), &ready),
    );
    if ready.ready {
        Code::Ok
    } else {
        Code::Insufficient
    }
}

fn route_line(route: &Route) -> String {
    let fault = route.reason.as_deref().unwrap_or("not healthy");
    format!(
        "  {:<20} {}, {} delivered, {} in the queue, {} without acknowledgement, {} dead",
        route.name,
        if route.healthy { "healthy" } else { fault },
        route.delivered,
        route.backlog,
        route.unacknowledged,
        route.dead
    )
}

fn unreachable_line(client: &Client, error: &horizon_node::client::Error, output: Output) -> Code {
    let failure = failed(client, error);
    output.text(&format!("{:<24} {error}", client.address()));
    output.object(
        "status.unreachable",
        json!({"address": client.address(), "reason": error.to_string()}),
    );
    failure.code
}

/// "ready", or the first reason why not.
fn readiness_words(ready: &Readiness) -> String {
    if ready.ready {
        return "ready".to_owned();
    }
    let failing = ready.checks.iter().filter(|check| !check.ok);
    let words: Vec<String> = failing
        .map(|check| format!("{}: {}", check.name, check.message))
        .collect();
    format!("not ready ({})", words.join("; "))
}

fn json_of(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn with_address(client: &Client, mut fields: Value, ready: &Readiness) -> Value {
    fields["address"] = json!(client.address());
    fields["readiness"] = json_of(ready);
    fields
}

/// Whether a node is ready, for those who wait for it.
pub(super) fn is_ready(answer: &Result<Readiness, horizon_node::client::Error>) -> bool {
    matches!(answer, Ok(ready) if ready.ready)
}

pub(super) fn queue(options: &QueueOptions, output: Output) -> Result<(), Failure> {
    let client = options.endpoints.resolve()?.relayer()?;
    let filter = QueueFilter {
        route: options.route.clone(),
        state: options.state,
        id: None,
        reason: options.reason.clone(),
        limit: Some(options.limit),
    };
    block_on(async {
        let page = client
            .queue(&filter)
            .await
            .map_err(|error| failed(&client, &error))?;
        for entry in &page.entries {
            output.text(&entry_line(entry));
            output.object("queue.entry", json_of(entry));
        }
        if page.more {
            output.text("... and more: --limit");
        }
        output.text(&format!("{} messages", page.entries.len()));
        output.object(
            "queue.total",
            json!({"shown": page.entries.len(), "more": page.more}),
        );
        Ok(())
    })
}

/// One line of a queue.
pub(super) fn entry_line(entry: &QueueEntry) -> String {
    let obstacle = entry
        .reason
        .as_deref()
        .map(|reason| format!(", {reason}"))
        .unwrap_or_default();
    format!(
        "{} {:<16} {:<14} {} tries, {} submissions{obstacle}",
        id(&entry.id),
        entry.route,
        state_name(entry.state),
        entry.attempts,
        entry.submissions
    )
}

/// The name of a state as the interface writes it.
pub(super) fn state_name(state: QueueState) -> String {
    json_of(&state).as_str().unwrap_or_default().to_owned()
}

pub(super) fn retry(options: &RetryOptions, output: Output) -> Result<(), Failure> {
    let endpoints = options.endpoints.resolve()?;
    let request = RetryRequest {
        id: options.id.map(|Id(bytes)| bytes),
        route: options.route.clone(),
        reason: options.reason.clone(),
    };
    if request.id.is_none() && (options.execution || request == RetryRequest::default()) {
        let text = "name a message, or a --route or --reason of the relayer's queue";
        return Err(Failure::new(Code::Usage, text));
    }
    block_on(async {
        let (client, answer) = if options.execution {
            retry_execution(&endpoints.nodes()?, &request).await?
        } else {
            let client = endpoints.relayer()?;
            let answer = client.retry(&request).await;
            (client, answer)
        };
        let result = answer.map_err(|error| failed(&client, &error))?;
        output.text(&format!("{} messages will be tried again", result.retried));
        output.object("retry", json!({"retried": result.retried.to_string()}));
        Ok(())
    })
}

type RetryAnswer = Result<horizon_node::api::types::RetryResult, horizon_node::client::Error>;

/// Asks the first node that knows the delivery.
async fn retry_execution(
    nodes: &[Client],
    request: &RetryRequest,
) -> Result<(Client, RetryAnswer), Failure> {
    let wanted = request.id.unwrap_or_default();
    for client in nodes {
        if matches!(client.delivery(&wanted).await, Ok(Some(_))) {
            return Ok((client.clone(), client.retry(request).await));
        }
    }
    let text = format!("{} has arrived at none of the nodes", id(&wanted));
    Err(Failure::new(Code::Refused, text))
}
