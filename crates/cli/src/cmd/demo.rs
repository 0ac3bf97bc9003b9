//! `horizon demo`: two networks of real processes, a relayer, and what happens when things go wrong.
//!
//! Every validator and the relayer is a process of its own, started from this program's file. This
//! process only makes their keys, sends messages with an account, asks over HTTP like anybody else,
//! and pulls plugs.

mod attacks;
mod board;
mod faults;
mod stage;
mod summary;
mod track;

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::{Code, Failure};
use crate::live::block_on;
use crate::output::Output;
use stage::Stage;
use summary::Summary;
use track::Tracker;

#[derive(Args, Debug)]
pub(super) struct Options {
    /// Validators of each network
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(4..=64))]
    validators: u16,
    /// Messages sent each way at once
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    messages: u32,
    /// Least time between two blocks, milliseconds
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u64).range(50..=10_000))]
    interval_ms: u64,
    /// Folder for everything, which must not hold a devnet; a new one by default
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Only send and deliver: no attacks, no faults
    #[arg(long)]
    quick: bool,
}

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    let root = match &options.dir {
        Some(folder) => folder.clone(),
        None => tempfile::Builder::new()
            .prefix("horizon-demo-")
            .tempdir()
            .map_err(|error| Failure::io(&std::env::temp_dir(), &error))?
            .keep(),
    };
    // Whatever happens below, the path has been said.
    output.text(&format!("everything is in {}", root.display()));
    output.object(
        "demo.start",
        json!({"folder": root, "validators": options.validators,
        "messages": options.messages, "interval_ms": options.interval_ms}),
    );
    let outcome = block_on(async {
        let mut interrupt = listen(SignalKind::interrupt())?;
        let mut terminate = listen(SignalKind::terminate())?;
        // Dropping the play ends every child.
        tokio::select! {
            outcome = play(options, root.clone(), output) => outcome,
            _ = interrupt.recv() => Err(Failure::new(Code::Io, "interrupted: all processes ended")),
            _ = terminate.recv() => Err(Failure::new(Code::Io, "terminated: all processes ended")),
        }
    });
    output.text(&format!(
        "\nstate, logs and configurations stay in {}",
        root.display()
    ));
    outcome
}

fn listen(kind: SignalKind) -> Result<tokio::signal::unix::Signal, Failure> {
    signal(kind).map_err(|error| Failure::new(Code::Internal, error.to_string()))
}

async fn play(options: &Options, root: PathBuf, output: Output) -> Result<(), Failure> {
    let start = Instant::now();
    let mut stage = Stage::build(options, root, output).await?;
    let mut tracker = Tracker::new(&stage);
    let mut summary = Summary::new(start);
    stage.title(&format!(
        "{} messages each way, all at once",
        options.messages
    ));
    let rows = tracker.send_both_ways(&mut stage, options.messages).await?;
    tracker.await_acknowledged(&mut stage, &rows).await?;
    summary.messages(&tracker, &rows, output);
    stage.check_once(&tracker, &rows).await?;
    if !options.quick {
        attacks::run(&mut stage, &mut tracker, &mut summary).await?;
        faults::garbage(&mut stage, &mut tracker, &mut summary).await?;
        faults::kill_and_return(&mut stage, &mut tracker, &mut summary).await?;
        let all = tracker.rows();
        stage.check_once(&tracker, &all).await?;
    }
    summary.print(&mut stage, &tracker, output).await;
    Ok(())
}
