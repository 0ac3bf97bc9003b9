//! `horizon network`: from the public files of validators to the files that a node starts with.
//!
//! | file | made by | content |
//! |---|---|---|
//! | `record.json` | `init` | registry record: what counterparts pin |
//! | `network.json` | `init` | genesis without counterparts |
//! | `dealing.json` | `init` | ceremony and leaves, to check shares against |
//! | `shares/NAME.share` | `init` | one share, sealed to its validator |
//! | `genesis.json` | `connect` | genesis with the records and policies of the counterparts |

pub(crate) mod check;
pub(crate) mod connect;
pub(crate) mod init;

use std::path::Path;

use clap::Subcommand;
use horizon_ledger::genesis::{GENESIS_LEN_MAX, Genesis, GenesisSpec};

use crate::exit::Failure;
use crate::key_files::{malformed, read_bounded};
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Deal the keys of a new network to its validators: this process knows every share
    Init(init::Options),
    /// Name the networks to send to and to take from, and write the genesis file
    Connect(connect::Options),
    /// Check as one validator that keys, share, dealing and genesis belong together
    Check(check::Options),
}

pub(super) fn run(command: &Command, output: Output) -> Result<(), Failure> {
    match command {
        Command::Init(options) => init::run(options, output),
        Command::Connect(options) => connect::run(options, output),
        Command::Check(options) => check::run(options, output),
    }
}

/// Reads a genesis file without checking its keys.
fn read_spec(path: &Path) -> Result<GenesisSpec, Failure> {
    let limit = u64::try_from(GENESIS_LEN_MAX).unwrap_or(u64::MAX);
    let bytes = read_bounded(path, limit)?;
    let text = str::from_utf8(&bytes).map_err(|error| malformed(path, &error))?;
    GenesisSpec::from_json(text).map_err(|error| malformed(path, &error))
}

/// Reads and checks a genesis file.
///
/// # Errors
/// [`Code::Configuration`](crate::exit::Code::Configuration) with the first fault.
pub(crate) fn read_genesis(path: &Path) -> Result<Genesis, Failure> {
    Genesis::new(read_spec(path)?).map_err(|error| malformed(path, &error))
}

/// Registry record of the network.
pub(crate) const RECORD_FILE: &str = "record.json";
/// Genesis without counterparts.
pub(crate) const NETWORK_FILE: &str = "network.json";
/// Genesis.
pub(crate) const GENESIS_FILE: &str = "genesis.json";
/// Ceremony and leaves.
pub(crate) const DEALING_FILE: &str = "dealing.json";
/// Folder of sealed shares.
pub(crate) const SHARES_FOLDER: &str = "shares";
