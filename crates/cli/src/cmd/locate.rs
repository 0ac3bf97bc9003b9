//! `horizon explain ID`: where a message is, what is missing, from whom, and what to do.

use std::collections::BTreeMap;

use horizon_node::api::types::{
    Aggregate, Check, Delivery, DeliveryState, Id, LaneProgress, Message, Missing, Pulse,
    PulseState, QueueEntry, QueueFilter, QueueState, Status,
};
use horizon_node::client::Client;
use horizon_warp::payload::EXPIRY_NEVER;
use serde_json::{Value, json};

use super::status::state_name;
use crate::exit::{Code, Failure};
use crate::live::{Endpoints, block_on};
use crate::output::{Output, id};

/// What every process said.
#[derive(Default)]
struct Found {
    /// Address and what the source says.
    source: Option<(String, Status, Message)>,
    aggregate: Option<Aggregate>,
    pulse: Option<Pulse>,
    relayer: Option<QueueEntry>,
    /// Whether a relayer answered at all.
    relayer_answered: bool,
    /// Address and what the destination says.
    destination: Option<(String, Delivery)>,
    destination_height: Option<u64>,
    /// Nodes that did not answer.
    silent: Vec<String>,
    /// What nodes that are not ready say, by network: the first of each.
    unready: BTreeMap<String, Vec<String>>,
}

/// Where the message is, and what to do.
struct Finding {
    place: &'static str,
    code: Code,
    next: Vec<String>,
}

pub(super) fn run(wanted: &Id, endpoints: &Endpoints, output: Output) -> Result<(), Failure> {
    let endpoints = endpoints.resolve()?;
    let nodes = endpoints.nodes()?;
    let relayer = endpoints
        .relayer
        .as_ref()
        .map(|_| endpoints.relayer())
        .transpose()?;
    let found = block_on(async { Ok(look(wanted, &nodes, relayer.as_ref()).await) })?;
    let mut finding = judge(&found, relayer.is_some());
    if finding.code == Code::Insufficient {
        finding.next.extend(unwell(&found));
    }
    print(wanted, &found, &finding, output);
    match finding.code {
        Code::Ok => Ok(()),
        code => Err(Failure::new(code, "")),
    }
}

async fn look(wanted: &Id, nodes: &[Client], relayer: Option<&Client>) -> Found {
    let mut found = Found::default();
    let mut statuses = Vec::new();
    for client in nodes {
        match client.status().await {
            Ok(status) => statuses.push((client, status)),
            Err(_) => found.silent.push(client.address().to_owned()),
        }
    }
    for (client, status) in &statuses {
        let failed = |check: Check| {
            let reason = check.reason.unwrap_or(check.name);
            (!check.ok).then(|| format!("{reason}: {}", check.message))
        };
        if let Ok(answer) = client.readiness().await
            && !answer.ready
        {
            let reasons = answer.checks.into_iter().filter_map(failed).collect();
            found.unready.entry(status.name.clone()).or_insert(reasons);
        }
    }
    for (client, status) in &statuses {
        if found.source.is_none()
            && let Ok(message) = client.message(wanted).await
        {
            found.aggregate = client.aggregate(wanted).await.ok();
            found.pulse = client.pulse(wanted).await.ok();
            found.source = Some((client.address().to_owned(), status.clone(), message));
        } else if found.destination.is_none()
            && let Ok(Some(delivery)) = client.delivery(wanted).await
        {
            found.destination_height = Some(status.height);
            found.destination = Some((client.address().to_owned(), delivery));
        }
    }
    if let (None, Some((_, _, message))) = (found.destination_height, &found.source) {
        let place = (message.destination_network, message.destination_chain);
        let there = statuses.iter().map(|(_, status)| status);
        let there = there.filter(|status| (status.network_id, status.chain_id) == place);
        found.destination_height = there.map(|status| status.height).max();
    }
    if let Some(client) = relayer {
        let filter = QueueFilter {
            id: Some(*wanted),
            ..QueueFilter::default()
        };
        if let Ok(page) = client.queue(&filter).await {
            found.relayer_answered = true;
            found.relayer = page.entries.into_iter().next();
        }
    }
    found
}

fn judge(found: &Found, has_relayer: bool) -> Finding {
    if let Some((_, delivery)) = &found.destination {
        match delivery.state {
            DeliveryState::Executed => return executed(found),
            DeliveryState::Failed => return failed_there(delivery),
            DeliveryState::Pending | DeliveryState::Included => {
                return finding(
                    "destination",
                    Code::Insufficient,
                    ["wait: it stands before the destination's next block"],
                );
            }
        }
    }
    let Some((_, _, message)) = &found.source else {
        return unknown();
    };
    let late = |height| message.expiry_height != EXPIRY_NEVER && height > message.expiry_height;
    if found.destination_height.is_some_and(late) {
        return finding(
            "expired",
            Code::Refused,
            ["the destination has passed the expiry height: send it again"],
        );
    }
    let next = evidence_missing(found);
    if !next.is_empty() {
        return Finding {
            place: "source",
            code: Code::Insufficient,
            next,
        };
    }
    match (&found.relayer, has_relayer) {
        (Some(entry), _) => at_relayer(entry),
        (None, true) if !found.relayer_answered => finding(
            "source",
            Code::Insufficient,
            ["the relayer does not answer: look at its log"],
        ),
        (None, true) => finding(
            "source",
            Code::Insufficient,
            ["the relayer has not read it yet: `horizon status` shows its routes"],
        ),
        (None, false) => finding(
            "source",
            Code::Insufficient,
            ["evidence is complete; name the relayer with --relayer to see what it does"],
        ),
    }
}

fn finding<const N: usize>(place: &'static str, code: Code, next: [&str; N]) -> Finding {
    Finding {
        place,
        code,
        next: next.into_iter().map(str::to_owned).collect(),
    }
}

fn executed(found: &Found) -> Finding {
    let acknowledged = found
        .source
        .as_ref()
        .is_some_and(|(_, _, message)| message.acknowledgement.is_some());
    if acknowledged {
        finding(
            "acknowledged",
            Code::Ok,
            ["nothing: it acted, and the source knows"],
        )
    } else {
        finding(
            "executed",
            Code::Ok,
            ["nothing: it acted; the acknowledgement is on its way back to the source"],
        )
    }
}

fn failed_there(delivery: &Delivery) -> Finding {
    let reason = delivery.reason.as_deref().unwrap_or("unknown");
    Finding {
        place: "failed",
        code: Code::Refused,
        next: vec![
            format!("its handler {:?} failed: {reason}", delivery.recipient),
            format!(
                "remove the cause, then: horizon retry --execution {}",
                id(&delivery.id)
            ),
        ],
    }
}

fn unknown() -> Finding {
    finding(
        "unknown",
        Code::Insufficient,
        ["no node knows it: it is not in a final block, or belongs to a network not named here"],
    )
}

/// What keeps networks from going on, and nodes that do not answer.
fn unwell(found: &Found) -> Vec<String> {
    let unready = found.unready.iter();
    let mut all: Vec<String> = unready
        .map(|(network, reasons)| format!("{network} is not ready: {}", reasons.join("; ")))
        .collect();
    if !found.silent.is_empty() {
        let silent = found.silent.join(", ");
        all.push(format!(
            "start or reach these nodes, which do not answer: {silent}"
        ));
    }
    all
}

/// What the lanes still need, from whom.
fn evidence_missing(found: &Found) -> Vec<String> {
    let mut next = Vec::new();
    if let Some(aggregate) = &found.aggregate {
        for (name, lane) in [("beam", &aggregate.beam), ("certset", &aggregate.certset)] {
            if lane.evidence.is_none() {
                let who = names(&aggregate.missing, name);
                next.push(format!(
                    "{name}: weight {} of {} needed; start or reach {who}",
                    lane.weight, lane.needed
                ));
            }
        }
    }
    match found.pulse.as_ref().map(|pulse| (pulse.state, pulse)) {
        Some((PulseState::Waiting, _)) => next.push(
            "pulse: no nonces are ready; enough members must be up to prepare them \
             (`horizon status`)"
                .to_owned(),
        ),
        Some((PulseState::Assigned, pulse)) => next.push(format!(
            "pulse: attempt {} waits for partials of members {:?}; a silent one is replaced after \
             a few blocks",
            pulse.attempt, pulse.members
        )),
        Some((PulseState::Aborted, _)) => {
            next.push("pulse: every signing set failed; find the member that signs garbage".into());
        }
        Some((PulseState::Ready, _)) | None => {}
    }
    next
}

fn names(missing: &[Missing], lane: &str) -> String {
    let of_lane = missing.iter().filter(|missing| missing.lane == lane);
    let names: Vec<String> = of_lane
        .map(|missing| match missing.operator.as_str() {
            "" => format!("validator {}", missing.index),
            operator => format!("validator {} ({operator})", missing.index),
        })
        .collect();
    names.join(", ")
}

fn at_relayer(entry: &QueueEntry) -> Finding {
    let code = if entry.state == QueueState::Dead {
        Code::Refused
    } else {
        Code::Insufficient
    };
    let mut next = Vec::new();
    if let Some(message) = &entry.message {
        next.push(message.clone());
    }
    if let Some(hint) = &entry.hint {
        next.push(hint.clone());
    }
    if entry.state == QueueState::Dead {
        next.push(format!("try it again: horizon retry {}", id(&entry.id)));
    } else if next.is_empty() {
        next.push("wait: the relayer is at work on it".to_owned());
    }
    Finding {
        place: "relayer",
        code,
        next,
    }
}

fn print(wanted: &Id, found: &Found, finding: &Finding, output: Output) {
    output.text(&format!("message {}: {}", id(wanted), finding.place));
    if let Some((address, status, message)) = &found.source {
        output.text(&format!(
            "  source       {} ({address}): block {}, sequence {}, nonce {}{}",
            status.name,
            message.height,
            message.sequence,
            message.nonce,
            if message.is_ack {
                ", an acknowledgement"
            } else {
                ""
            }
        ));
    }
    if let Some(aggregate) = &found.aggregate {
        output.text(&lane_line("beam", &aggregate.beam));
        output.text(&lane_line("certset", &aggregate.certset));
    }
    if let Some(pulse) = &found.pulse {
        let state = json!(pulse.state);
        output.text(&format!(
            "  pulse        {}, attempt {}, members {:?}",
            state.as_str().unwrap_or_default(),
            pulse.attempt,
            pulse.members
        ));
    }
    if let Some(entry) = &found.relayer {
        output.text(&format!(
            "  relayer      {} on {}, {} tries, {} submissions",
            state_name(entry.state),
            entry.route,
            entry.attempts,
            entry.submissions
        ));
    }
    if let Some((address, delivery)) = &found.destination {
        let state = json!(delivery.state);
        let height = delivery
            .height
            .map_or_else(|| "-".to_owned(), |height| height.to_string());
        output.text(&format!(
            "  destination  {} in block {height}, handler {:?}, {} executions ({address})",
            state.as_str().unwrap_or_default(),
            delivery.recipient,
            delivery.attempts
        ));
    }
    for line in &finding.next {
        output.text(&format!("next: {line}"));
    }
    let message = found
        .source
        .as_ref()
        .map(|(_, _, message)| shown(json!(message), &["unsigned"]));
    output.object(
        "explain.message",
        json!({"id": id(wanted), "place": finding.place, "message": message,
            "aggregate": found.aggregate.as_ref().map(without_evidence),
            "pulse": found.pulse.as_ref().map(|pulse| shown(json!(pulse), &["pulse"])),
            "relayer": found.relayer,
            "delivery": found.destination.as_ref().map(|(_, delivery)| delivery),
            "unreachable": found.silent, "next": finding.next}),
    );
}

fn lane_line(name: &str, lane: &LaneProgress) -> String {
    let state = if lane.evidence.is_some() {
        "complete"
    } else {
        "incomplete"
    };
    format!(
        "  {name:<12} {state}: weight {} of {} needed, {} in all",
        lane.weight, lane.needed, lane.total
    )
}

/// Lane bytes are for programs that ask the node.
fn without_evidence(aggregate: &Aggregate) -> Value {
    let mut value = json!(aggregate);
    for lane in ["beam", "certset"] {
        value[lane] = shown(value[lane].take(), &["evidence"]);
    }
    value
}

fn shown(mut value: Value, hidden: &[&str]) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|name, _| !hidden.contains(&name.as_str()));
    }
    value
}
