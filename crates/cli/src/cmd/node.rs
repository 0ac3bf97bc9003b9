//! `horizon node` and `horizon relayer`: the long-running processes.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use horizon_node::process::{self, Stop};
use serde_json::json;

use crate::output::Output;

#[derive(Args, Debug)]
pub(super) struct Options {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Take on an old copy of the data directory instead of running, with the two numbers of the
    /// refusal. Only when the newest directory is lost and no other copy runs or ever will
    #[arg(long, value_name = "BOOT:HEIGHT", value_parser = life)]
    accept_old_copy: Option<(u64, u64)>,
    /// Stop when standard input ends: for a parent that must not leave children behind
    #[arg(long, hide = true)]
    until_input_ends: bool,
}

#[derive(Args, Debug)]
pub(super) struct RelayerOptions {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Stop when standard input ends: for a parent that must not leave children behind
    #[arg(long, hide = true)]
    until_input_ends: bool,
}

fn life(text: &str) -> Result<(u64, u64), String> {
    let numbers = text
        .split_once(':')
        .and_then(|(boot, height)| Some((boot.parse().ok()?, height.parse().ok()?)));
    numbers.ok_or_else(|| "two numbers, for example 3:1200".to_owned())
}

pub(super) fn validator(options: &Options, output: Output) -> ExitCode {
    if let Some((boot, height)) = options.accept_old_copy {
        return accept(options, boot, height, output);
    }
    process::run_until(&options.config, stop(options.until_input_ends))
}

pub(super) fn relayer(options: &RelayerOptions) -> ExitCode {
    horizon_node::relayer::run_until(&options.config, stop(options.until_input_ends))
}

const fn stop(until_input_ends: bool) -> Stop {
    if until_input_ends {
        Stop::InputEnd
    } else {
        Stop::Signal
    }
}

fn accept(options: &Options, boot: u64, height: u64, output: Output) -> ExitCode {
    match process::accept_old_copy(&options.config, boot, height) {
        Ok(()) => {
            output.text("taken on: start the node as usual; it follows without signing until the");
            output.text(&format!(
                "network is well past height {height}, then stops; start it once more"
            ));
            output.object(
                "node.accept-old-copy",
                json!({"boot": boot.to_string(), "height": height.to_string()}),
            );
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("horizon: {failure}");
            ExitCode::from(failure.code)
        }
    }
}
