//! The commands: arguments in, exit code out.

mod aggregate;
mod demo;
mod doctor;
mod explain;
mod inspect;
mod keys;
mod message;
mod policy;
mod pulsar;
mod registry;
mod sign;
mod vectors;
mod verify;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use serde_json::json;

use crate::exit::Failure;
use crate::output::Output;

#[derive(Debug, Parser)]
#[command(name = "horizon", version, about = "Post-quantum cross-chain messages", long_about = None)]
struct Arguments {
    /// Print one JSON object per line instead of text
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A message from keys to verdict, and the refusal of a changed one, by the commands below
    Demo(demo::Options),
    /// Verify an envelope under a policy: one verdict, exit code 3 when it is refused
    Verify(verify::Options),
    /// Say lane by lane what an envelope proves, what is missing, and what to do
    Explain(verify::Options),
    /// Decode an envelope, message, payload, Pulse, certificate set or record, byte by byte
    Inspect(inspect::Options),
    /// Key files of one signer
    #[command(subcommand)]
    Keys(keys::Command),
    /// Who the validators of a source chain are
    #[command(subcommand)]
    Registry(registry::Command),
    /// What a destination demands
    #[command(subcommand)]
    Policy(policy::Command),
    /// Messages to be signed
    #[command(subcommand)]
    Message(message::Command),
    /// Sign one lane of an envelope
    #[command(subcommand)]
    Sign(sign::Command),
    /// Put signatures together into an envelope
    Aggregate(aggregate::Options),
    /// The lattice threshold signature: deal keys, sign, verify
    #[command(subcommand)]
    Pulsar(pulsar::Command),
    /// Conformance: check vector files against this implementation
    #[command(subcommand)]
    Vectors(vectors::Command),
    /// Say what this machine and build can do
    Doctor,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let output = Output::new(arguments.json);
    match run(arguments.command, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { code, text }) => {
            if !text.is_empty() {
                eprintln!("horizon: {text}");
                let exit_code = code as u8;
                output.object("error", json!({"exit_code": exit_code, "text": text}));
            }
            code.into()
        }
    }
}

fn run(command: Command, output: Output) -> Result<(), Failure> {
    match command {
        Command::Demo(options) => demo::run(&options, output),
        Command::Verify(options) => verify::run(&options, output),
        Command::Explain(options) => explain::run(&options, output),
        Command::Inspect(options) => inspect::run(&options, output),
        Command::Keys(command) => keys::run(command, output),
        Command::Registry(command) => registry::run(command, output),
        Command::Policy(command) => policy::run(command, output),
        Command::Message(command) => message::run(command, output),
        Command::Sign(command) => sign::run(command, output),
        Command::Aggregate(options) => aggregate::run(&options, output),
        Command::Pulsar(command) => pulsar::run(command, output),
        Command::Vectors(command) => vectors::run(command, output),
        Command::Doctor => {
            doctor::run(output);
            Ok(())
        }
        Command::Completions { shell } => {
            let mut command = Arguments::command();
            clap_complete::generate(shell, &mut command, "horizon", &mut std::io::stdout());
            Ok(())
        }
    }
}
