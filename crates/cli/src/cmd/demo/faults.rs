//! Validators that fail: one that signs garbage, then one per network without warning.

use std::fs;
use std::time::Instant;

use horizon_node::api::types::PulseState;
use serde_json::json;

use super::stage::Stage;
use super::summary::Summary;
use super::track::Tracker;
use crate::devnet::node_program;
use crate::exit::{Code, Failure};

/// Kills the last validator of each network, delivers, starts them again, waits until they caught
/// up.
pub(super) async fn kill_and_return(
    stage: &mut Stage,
    tracker: &mut Tracker,
    summary: &mut Summary,
) -> Result<(), Failure> {
    stage.title("one validator of each network is killed (SIGKILL)");
    let last = stage.nodes[0].len() - 1;
    for network in 0..2 {
        let name = stage.layout.networks[network].nodes[last].name.clone();
        stage.processes.kill(&name)?;
        stage.output.text(&format!("  {name} is gone"));
    }
    let mut rows = Vec::new();
    for _ in 0..2 {
        for from in 0..2 {
            rows.push(tracker.send(stage, from).await?);
        }
    }
    tracker.await_delivered(stage, &rows).await?;
    for row in &rows {
        summary.degraded(tracker.row(*row));
    }
    for network in 0..2 {
        let name = stage.layout.networks[network].nodes[last].name.clone();
        let start = Instant::now();
        stage.restart_node(network, last)?;
        let target = stage.status(network, 0).await?.height;
        let client = stage.nodes[network][last].clone();
        let mut first = None;
        stage
            .until(&format!("{name} has caught up"), async || {
                match client.status().await {
                    Ok(status) => {
                        first.get_or_insert(status.height);
                        status.height >= target
                    }
                    Err(_) => false,
                }
            })
            .await?;
        let seconds = start.elapsed().as_secs_f64();
        let behind = target.saturating_sub(first.unwrap_or(target));
        stage.output.text(&format!(
            "  {name} is back: {behind} blocks behind when it answered, caught up after \
             {seconds:.1} s"
        ));
        stage.output.object(
            "demo.recovery",
            json!({"validator": name, "blocks_behind": behind.to_string(), "seconds": seconds}),
        );
        summary.recovery(&name, behind, seconds);
    }
    Ok(())
}

/// Lets one member of the first network send wrong partial signatures, and shows that its signing
/// sets are left aside.
pub(super) async fn garbage(
    stage: &mut Stage,
    tracker: &mut Tracker,
    summary: &mut Summary,
) -> Result<(), Failure> {
    // Members that missed a deadline are asked for no signature: one that is asked is the right spoiler.
    for spoiler in 1..stage.nodes[0].len() {
        let status = stage.status(0, spoiler).await?;
        let position = status.position.unwrap_or_default();
        if status.pulse.excluded.contains(&position) {
            continue;
        }
        let node = stage.layout.networks[0].nodes[spoiler].clone();
        stage.title(&format!("{} signs garbage", node.name));
        let program = node_program(&stage.root, &node);
        let honest = fs::read_to_string(&program.config)
            .map_err(|error| Failure::io(&program.config, &error))?;
        let write = |text: &str| {
            fs::write(&program.config, text).map_err(|error| Failure::io(&program.config, &error))
        };
        stage.processes.kill(&node.name)?;
        write(&format!("{honest}\n[faults]\ngarbage_partials = true\n"))?;
        let outcome = spoil(stage, tracker, summary, spoiler, position).await;
        // The folder stays: nobody shall start this validator like that by accident.
        write(&honest)?;
        let was_met = outcome?;
        stage.processes.kill(&node.name)?;
        stage.restart_node(0, spoiler)?;
        let client = stage.nodes[0][spoiler].clone();
        stage
            .until("it is back and honest", async || {
                super::super::status::is_ready(&client.readiness().await)
            })
            .await?;
        if was_met {
            return Ok(());
        }
        stage
            .output
            .text("  it missed a deadline while it started and is asked for no signature");
    }
    let text = "no signing set had a spoiler in it";
    Err(Failure::new(Code::Insufficient, text))
}

/// Whether a signing set with the spoiler in it was met and failed.
async fn spoil(
    stage: &mut Stage,
    tracker: &mut Tracker,
    summary: &mut Summary,
    spoiler: usize,
    position: u32,
) -> Result<bool, Failure> {
    stage.restart_node(0, spoiler)?;
    let client = stage.nodes[0][spoiler].clone();
    stage
        .until("it is back", async || {
            super::super::status::is_ready(&client.readiness().await)
        })
        .await?;
    for messages in 1..=MESSAGES_MAX {
        let row = tracker.send(stage, 0).await?;
        tracker.await_final(stage, &[row]).await?;
        let attempts = follow(stage, &tracker.row(row).id.unwrap_or_default()).await?;
        tracker.await_delivered(stage, &[row]).await?;
        let with_spoiler = attempts
            .iter()
            .filter(|set| set.contains(&position))
            .count();
        if attempts.len() > 1 && with_spoiler > 0 {
            report(stage, summary, position, &attempts, messages);
            return Ok(true);
        }
    }
    Ok(false)
}

/// The signing sets that were asked for the Pulse of a message, in order, until it exists.
async fn follow(stage: &mut Stage, id: &[u8; 32]) -> Result<Vec<Vec<u32>>, Failure> {
    let source = stage.nodes[0][0].clone();
    let mut sets: Vec<Vec<u32>> = Vec::new();
    stage
        .until("the Pulse exists", async || match source.pulse(id).await {
            Ok(pulse) => {
                let number = usize::try_from(pulse.attempt).unwrap_or_default();
                if pulse.state == PulseState::Assigned && number >= sets.len() {
                    sets.resize(number, Vec::new());
                    sets.push(pulse.members);
                } else if pulse.state == PulseState::Ready && number >= sets.len() {
                    // It was made between two looks.
                    sets.resize(number + 1, Vec::new());
                }
                pulse.state == PulseState::Ready
            }
            Err(_) => false,
        })
        .await?;
    Ok(sets)
}

fn report(
    stage: &Stage,
    summary: &mut Summary,
    spoiler: u32,
    attempts: &[Vec<u32>],
    messages: u32,
) {
    let failed = attempts.len().saturating_sub(1);
    for (number, set) in attempts.iter().enumerate() {
        let outcome = if number < failed {
            "all partials posted, the sum does not verify: the set is left aside"
        } else {
            "the Pulse"
        };
        stage
            .output
            .text(&format!("  attempt {number}: members {set:?}: {outcome}"));
    }
    stage.output.text(&format!(
        "  member {spoiler} is the spoiler; the ledger cannot tell which member of a set it is and \
         blames nobody"
    ));
    stage.output.object(
        "demo.garbage",
        json!({"spoiler": spoiler, "attempts": attempts, "failed_sets": failed,
            "messages": messages}),
    );
    let left_out = attempts
        .last()
        .is_some_and(|set| !set.is_empty() && !set.contains(&spoiler));
    summary.garbage(spoiler, u32::try_from(failed).unwrap_or(u32::MAX), left_out);
}

/// The batches that were ready before the spoiler came back are used up first.
const MESSAGES_MAX: u32 = 12;
