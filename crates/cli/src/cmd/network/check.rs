//! `horizon network check`: what a validator verifies before it starts with files from a dealer.

use std::path::PathBuf;

use clap::Args;
use horizon_ledger::genesis::{self, Genesis};
use horizon_node::keys::{KeyError, ValidatorKeys, read_share};
use horizon_pulsar::dealer::{Ceremony, MemberShare, Record, Variant};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{DEALING_FILE, GENESIS_FILE, NETWORK_FILE, read_genesis};
use crate::exit::{Code, Failure};
use crate::ids::bytes_from_hex;
use crate::key_files::{malformed, read_bounded};
use crate::output::{Output, id};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Folder with the network's public files
    #[arg(long, value_name = "DIR")]
    network: PathBuf,
    /// Folder with the validator's keys
    #[arg(long, value_name = "DIR")]
    keys: PathBuf,
    /// The validator's sealed share
    #[arg(long, value_name = "FILE")]
    share: PathBuf,
}

/// The public part of a dealing.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DealingJson {
    format: String,
    /// Always `trusted`.
    dealer: String,
    ceremony: String,
    opening: String,
    point_leaves: Vec<String>,
    cross_leaves: Vec<String>,
}

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    let connected = options.network.join(GENESIS_FILE);
    let is_connected = connected.exists();
    let path = if is_connected {
        connected
    } else {
        options.network.join(NETWORK_FILE)
    };
    let genesis = read_genesis(&path)?;
    let failed = |error: KeyError| Failure::new(Code::Configuration, error.to_string());
    let keys = ValidatorKeys::read(&options.keys).map_err(failed)?;
    let position = keys.position(&genesis).map_err(failed)?;
    let share = read_share(&options.share, &keys.sealing, position, &genesis).map_err(failed)?;
    check_leaves(options, &genesis, &share)?;
    let name = genesis
        .spec()
        .validators
        .get(usize::from(position))
        .map_or("", |validator| validator.name.as_str());
    output.text(&format!(
        "{name}: position {position}, keys, share and dealing agree"
    ));
    output.text(&format!("  genesis {}", id(genesis.hash())));
    if !is_connected {
        output.text("  without counterparts: `network connect` has not been run");
    }
    output.object(
        "network.check",
        json!({"name": name, "position": position, "genesis": id(genesis.hash()),
            "connected": is_connected}),
    );
    Ok(())
}

/// The share must give the leaves that every member can compare, under this network's ceremony.
fn check_leaves(options: &Options, genesis: &Genesis, share: &MemberShare) -> Result<(), Failure> {
    let path = options.network.join(DEALING_FILE);
    let bytes = read_bounded(&path, DEALING_LEN_MAX)?;
    let file: DealingJson =
        serde_json::from_slice(&bytes).map_err(|error| malformed(&path, &error))?;
    if file.format != FORMAT || file.dealer != "trusted" {
        return Err(malformed(&path, &"not a dealing of this version"));
    }
    let leaf = |text: &String| -> Option<[u8; 32]> { bytes_from_hex(text).ok()?.try_into().ok() };
    let leaves = |list: &[String]| -> Option<Vec<[u8; 32]>> { list.iter().map(leaf).collect() };
    let parsed = (
        leaf(&file.opening),
        leaves(&file.point_leaves),
        leaves(&file.cross_leaves),
    );
    let (Some(opening_block_hash), Some(point_leaves), Some(cross_leaves)) = parsed else {
        return Err(malformed(&path, &"a hash is not 32 bytes of hex"));
    };
    let record = genesis.record();
    let ceremony = Ceremony {
        variant: Variant::Dkg,
        chain_id: genesis.chain_id(),
        network_id: genesis.network_id(),
        group_id: genesis.spec().group_id,
        suite: genesis.committee().params().suite,
        era: record.key.key_era,
        old_generation: 0,
        new_generation: record.key.generation,
        old_set_hash: [0; 32],
        new_set_hash: genesis::set_hash(record),
        old_threshold: 0,
        new_threshold: record.threshold,
        group_key_hash: [0; 32],
        opening_block_hash,
        attempt: 0,
    };
    let refused = |text: &str| Failure::new(Code::Refused, format!("{}: {text}", path.display()));
    if ceremony.id() != *share.ceremony() {
        return Err(refused("the share comes from another ceremony"));
    }
    let dealing = Record {
        point_leaves,
        cross_leaves,
    };
    let agrees = (0..share.quorum().parties())
        .all(|peer| dealing.cross_leaf(share.position(), peer) == Some(&share.cross_leaf(peer)));
    if !agrees {
        return Err(refused("the share does not fit the published leaves"));
    }
    Ok(())
}

/// The file that [`check_leaves`] reads.
pub(super) fn dealing_json(ceremony: &Ceremony<'_>, record: &Record) -> String {
    let leaves = |list: &[[u8; 32]]| list.iter().map(|leaf| id(leaf)).collect();
    let file = DealingJson {
        format: FORMAT.to_owned(),
        dealer: "trusted".to_owned(),
        ceremony: id(&ceremony.id().0),
        opening: id(&ceremony.opening_block_hash),
        point_leaves: leaves(&record.point_leaves),
        cross_leaves: leaves(&record.cross_leaves),
    };
    // Strings only: this cannot fail.
    serde_json::to_string(&file).unwrap_or_default()
}

const FORMAT: &str = "horizon-dealing-v1";
/// Room for the leaves of 128 validators.
const DEALING_LEN_MAX: u64 = 4 << 20;
