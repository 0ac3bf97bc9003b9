//! The commands: arguments in, exit code out.

mod aggregate;
mod bench;
mod demo;
mod devnet;
mod doctor;
mod explain;
mod inspect;
pub(crate) mod keys;
mod locate;
mod message;
pub(crate) mod network;
mod node;
mod policy;
mod pulsar;
mod registry;
pub(crate) mod send;
mod sign;
mod status;
mod vectors;
mod verify;
mod walkthrough;
mod wrapper;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use serde_json::json;

use crate::exit::{Code, Failure};
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
    /// Two networks of real processes and a relayer: deliveries, attacks, failures, figures
    Demo(demo::Options),
    /// Two networks and a relayer on this machine, in the background
    #[command(subcommand)]
    Devnet(devnet::Command),
    /// A message from keys to verdict in this process, by the commands a person would type
    Walkthrough(walkthrough::Options),
    /// Run a validator
    Node(node::Options),
    /// Run a relayer
    Relayer(node::RelayerOptions),
    /// Send a message with an account
    Send(send::Options),
    /// What validators and the relayer say about themselves
    Status(status::StatusOptions),
    /// Messages that the relayer is carrying
    Queue(status::QueueOptions),
    /// Try messages again: at the relayer, or the execution at the destination
    Retry(status::RetryOptions),
    /// Verify an envelope under a policy: one verdict, exit code 3 when it is refused
    Verify(verify::Options),
    /// Say what an envelope proves, or where a message is; what is missing, and what to do
    Explain(explain::Options),
    /// Decode an envelope, message, payload, Pulse, certificate set or record, byte by byte
    Inspect(inspect::Options),
    /// Key files of one signer
    #[command(subcommand)]
    Keys(keys::Command),
    /// Start a network: deal its keys, name its counterparts, check a validator's part
    #[command(subcommand)]
    Network(network::Command),
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
    /// The classical 192-byte proof that stands for the certificates
    #[command(subcommand)]
    Wrapper(wrapper::Command),
    /// Conformance: check vector files against this implementation
    #[command(subcommand)]
    Vectors(vectors::Command),
    /// Measure this machine and write the report
    Bench(bench::Options),
    /// Say what this machine and build can do, and what is wrong with configurations
    Doctor(doctor::Options),
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
    match &arguments.command {
        // They have exit codes and a log of their own.
        Command::Node(options) => return node::validator(options, output),
        Command::Relayer(options) => return node::relayer(options),
        _ => {}
    }
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
        Command::Devnet(command) => devnet::run(&command, output),
        Command::Walkthrough(options) => walkthrough::run(&options, output),
        Command::Node(_) | Command::Relayer(_) => {
            Err(Failure::new(Code::Internal, "a process inside a process"))
        }
        Command::Send(options) => send::run(&options, output),
        Command::Status(options) => status::status(&options, output),
        Command::Queue(options) => status::queue(&options, output),
        Command::Retry(options) => status::retry(&options, output),
        Command::Verify(options) => verify::run(&options, output),
        Command::Explain(options) => explain::run(&options, output),
        Command::Inspect(options) => inspect::run(&options, output),
        Command::Keys(command) => keys::run(command, output),
        Command::Network(command) => network::run(&command, output),
        Command::Registry(command) => registry::run(command, output),
        Command::Policy(command) => policy::run(command, output),
        Command::Message(command) => message::run(command, output),
        Command::Sign(command) => sign::run(command, output),
        Command::Aggregate(options) => aggregate::run(&options, output),
        Command::Pulsar(command) => pulsar::run(command, output),
        Command::Wrapper(command) => wrapper::run(command, output),
        Command::Vectors(command) => vectors::run(command, output),
        Command::Bench(options) => bench::run(&options, output),
        Command::Doctor(options) => doctor::run(&options, output),
        Command::Completions { shell } => {
            let mut command = Arguments::command();
            clap_complete::generate(shell, &mut command, "horizon", &mut std::io::stdout());
            Ok(())
        }
    }
}
