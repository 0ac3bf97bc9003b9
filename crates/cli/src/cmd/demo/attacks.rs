//! What an attacker on the way can do with an envelope: change it, strip it, send it twice.

use bytes::Bytes;
use horizon_node::api::types::SubmitState;
use horizon_node::client::{Client, Error};
use horizon_warp::{Envelope, Message};
use serde_json::json;

use super::stage::Stage;
use super::summary::Summary;
use super::track::Tracker;
use crate::exit::{Code, Failure};
use crate::live::failed;

pub(super) async fn run(
    stage: &mut Stage,
    tracker: &mut Tracker,
    summary: &mut Summary,
) -> Result<(), Failure> {
    stage.title("an attacker between the networks");
    // Without the relayer nobody delivers the real envelope first. SIGKILL, as by a power cut.
    stage.processes.kill("relayer")?;
    stage
        .output
        .text("  the relayer is killed; a message is sent");
    let row = tracker.send(stage, 0).await?;
    tracker.await_final(stage, &[row]).await?;
    let id = tracker.row(row).id.unwrap_or_default();
    let source = stage.nodes[0][0].clone();
    let mut envelope = Bytes::new();
    stage
        .until("the source has all evidence", async || {
            match source.envelope(&id).await {
                Ok(bytes) => {
                    envelope = bytes;
                    true
                }
                Err(_) => false,
            }
        })
        .await?;
    summary.envelope(&envelope);
    let destination = stage.nodes[1][0].clone();
    for (what, bytes) in variants(&envelope)? {
        let refusal = refused(&destination, what, bytes).await?;
        let code = refusal.code().unwrap_or_default().to_owned();
        stage
            .output
            .text(&format!("  {what:<42} refused: {refusal}"));
        stage.output.object(
            "demo.attack",
            json!({"attack": what, "refused": true, "code": code}),
        );
        summary.attack(what, &code);
    }
    stage.restart_relayer()?;
    stage
        .output
        .text("  the relayer starts again and goes on where it was");
    tracker.await_delivered(stage, &[row]).await?;
    replay(stage, &destination, &id, envelope, summary).await?;
    tracker.await_acknowledged(stage, &[row]).await
}

/// Altered forms of an envelope.
fn variants(envelope: &Bytes) -> Result<Vec<(&'static str, Bytes)>, Failure> {
    let internal = |error: horizon_warp::Error| Failure::new(Code::Internal, error.to_string());
    let parsed = Envelope::parse(envelope).map_err(internal)?;
    let pulse = parsed.pulse().unwrap_or_default();
    let attestation = parsed.attestation().unwrap_or_default();
    let message = *parsed.message();
    let flipped = |lane: &[u8], what| flip(envelope, lane).map(|bytes| (what, bytes));
    let without = |pulse, attestation| -> Result<Bytes, Failure> {
        let lineage = *parsed.lineage();
        let stripped = Envelope::new(message, lineage, parsed.suite_field(), pulse, attestation);
        Ok(stripped.map_err(internal)?.encode().into())
    };
    let mut all: Vec<(&str, Bytes)> = [
        flipped(message.beam().signature, "a byte of the Beam is changed"),
        flipped(attestation, "a byte of the certificates is changed"),
        flipped(pulse, "a byte of the Pulse is changed"),
        flipped(payload(&message), "a byte of the message is changed"),
    ]
    .into_iter()
    .flatten()
    .collect();
    all.push(("the Pulse is stripped", without(&[], attestation)?));
    all.push(("the certificates are stripped", without(pulse, &[])?));
    Ok(all)
}

fn payload<'a>(message: &Message<'a>) -> &'a [u8] {
    message.unsigned().payload()
}

/// The envelope with the middle byte of one of its parts changed.
fn flip(envelope: &Bytes, part: &[u8]) -> Option<Bytes> {
    if part.is_empty() {
        return None;
    }
    let start = envelope
        .windows(part.len())
        .position(|window| window == part)?;
    let mut bytes = envelope.to_vec();
    *bytes.get_mut(start + part.len() / 2)? ^= 1;
    Some(bytes.into())
}

async fn refused(client: &Client, what: &str, bytes: Bytes) -> Result<Error, Failure> {
    match client.submit_envelope(bytes).await {
        Err(error @ Error::Api { .. }) => Ok(error),
        Err(error) => Err(failed(client, &error)),
        Ok(_) => {
            let text = format!("accepted although {what}");
            Err(Failure::new(Code::Internal, text))
        }
    }
}

/// The untouched envelope once more: it is known, and nothing acts again.
async fn replay(
    stage: &mut Stage,
    destination: &Client,
    id: &[u8; 32],
    envelope: Bytes,
    summary: &mut Summary,
) -> Result<(), Failure> {
    let before = stage.status(1, 0).await?.delivered;
    let answer = destination.submit_envelope(envelope).await;
    let height = stage.status(1, 0).await?.height;
    let code = match answer {
        Ok(answer) if answer.state == SubmitState::Delivered => "already-delivered".to_owned(),
        Err(Error::Api { body, .. }) => body.code,
        Ok(_) => {
            let text = "a replayed envelope waits for a block";
            return Err(Failure::new(Code::Internal, text));
        }
        Err(error) => return Err(failed(destination, &error)),
    };
    // Two more blocks: had it been taken, it would act by then.
    let client = destination.clone();
    stage
        .until(
            "two more blocks",
            async || matches!(client.status().await, Ok(status) if status.height >= height + 2),
        )
        .await?;
    let after = stage.status(1, 0).await?.delivered;
    let delivery = destination.delivery(id).await;
    let delivery = delivery.map_err(|error| failed(destination, &error))?;
    if after != before || delivery.is_none_or(|delivery| delivery.attempts != 1) {
        return Err(Failure::new(
            Code::Internal,
            "a replayed envelope acted again",
        ));
    }
    let what = "the envelope is sent a second time";
    stage.output.text(&format!(
        "  {what:<42} refused: {code}: it acted once and does not again"
    ));
    stage.output.object(
        "demo.attack",
        json!({"attack": what, "refused": true, "code": code}),
    );
    summary.attack(what, &code);
    Ok(())
}
