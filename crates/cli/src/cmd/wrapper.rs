//! `horizon wrapper`: the classical 192-byte proof that enough validators signed.

use clap::Subcommand;

use crate::exit::Failure;
use crate::output::Output;

mod check;
mod info;
mod progress;
mod prove;
mod setup;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make proving and verifying keys
    #[command(subcommand)]
    Setup(setup::Command),
    /// Replace the certificates of an envelope by a proof that they verify
    Prove(prove::Options),
    /// Verify the wrapper of one envelope, without the other lanes
    Verify(check::VerifyOptions),
    /// Verify the wrappers of many envelopes of one record at once
    Batch(check::BatchOptions),
    /// Say what a wrapper's key, proof or ceremony file is
    Info(info::Options),
}

pub(super) fn run(command: Command, output: Output) -> Result<(), Failure> {
    match command {
        Command::Setup(command) => setup::run(command, output),
        Command::Prove(options) => prove::run(&options, output),
        Command::Verify(options) => check::verify(&options, output),
        Command::Batch(options) => check::batch(&options, output),
        Command::Info(options) => info::run(&options, output),
    }
}
