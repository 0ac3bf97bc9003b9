//! `horizon network connect`: embeds the counterparts' records and what is demanded of them.

use std::path::{Path, PathBuf};

use clap::Args;
use horizon_ledger::genesis::{Genesis, Source};
use horizon_warp::policy::{SourceConfig, Tier};
use serde_json::json;

use super::{GENESIS_FILE, NETWORK_FILE, read_spec};
use crate::exit::Failure;
use crate::key_files::{PUBLIC_MODE, malformed, write_new};
use crate::output::{Output, id};
use crate::sources::{described, own_pins, read_records};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Folder that `network init` wrote
    #[arg(long, value_name = "DIR")]
    network: PathBuf,
    /// Registry files of the counterparts; compare their record hashes with a second source
    #[arg(long, value_name = "FILE", num_args = 1..)]
    counterpart: Vec<PathBuf>,
    /// Lanes that every message of a counterpart must prove
    #[arg(long, default_value = "horizon", value_parser = Tier::from_name)]
    tier: Tier,
    /// Days after which a counterpart's record is too old to be used
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u64).range(1..=3650))]
    max_age_days: u64,
}

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    let max_age_s = options.max_age_days * 86_400;
    let genesis = connect(
        &options.network,
        &options.counterpart,
        options.tier,
        max_age_s,
    )?;
    let path = options.network.join(GENESIS_FILE);
    let spec = genesis.spec();
    output.text(&format!("{} of network {:?}", path.display(), spec.name));
    output.text(&format!("  genesis {}", id(genesis.hash())));
    for source in &spec.sources {
        let policy = &source.policy;
        output.text(&format!(
            "  takes from network {}, chain {}: tier {}, pinned to record {}",
            policy.network_id,
            id(&policy.chain_id),
            policy.tier.name(),
            id(&policy.registry_head)
        ));
    }
    output.text("every validator must start with the same file: compare the genesis hash");
    let source = |source: &Source| {
        let policy = &source.policy;
        json!({"network_id": policy.network_id, "chain_id": id(&policy.chain_id),
            "tier": policy.tier.name(), "registry_head": id(&policy.registry_head)})
    };
    let sources: Vec<_> = spec.sources.iter().map(source).collect();
    output.object(
        "network.connect",
        json!({"genesis_file": path, "genesis": id(genesis.hash()), "sources": sources}),
    );
    Ok(())
}

/// Writes `genesis.json` beside `network.json`.
///
/// # Errors
/// `Configuration`: unreadable, malformed, the network itself among the counterparts, or a
/// genesis exists.
pub(crate) fn connect(
    network: &Path,
    counterparts: &[PathBuf],
    tier: Tier,
    max_age_s: u64,
) -> Result<Genesis, Failure> {
    let path = network.join(NETWORK_FILE);
    let mut spec = read_spec(&path)?;
    for file in counterparts {
        let anchors = read_records(file)?;
        let pins = own_pins(&anchors).map_err(|error| described(file, &error))?;
        let [pin] = pins[..] else {
            return Err(malformed(file, &"not the records of one chain"));
        };
        let own = (pin.network_id, pin.chain_id) == (spec.network_id, spec.chain_id);
        if own {
            return Err(malformed(
                file,
                &"the record of this network, not of a counterpart",
            ));
        }
        let fewest = anchors.iter().map(|record| record.members.len()).min();
        let mut policy = SourceConfig {
            tier,
            max_age_s,
            ..SourceConfig::new(pin.network_id, pin.chain_id, pin.head)
        };
        if fewest.is_some_and(|count| count < 4) {
            let text = "fewer than four validators: one faulty one stops the network";
            return Err(malformed(file, &text));
        }
        // A counterpart may shrink to two thirds of what it is before its messages are refused.
        if let Some(last) = anchors.last() {
            policy.threshold_min = last.threshold.clamp(1, policy.threshold_min.max(1));
        }
        spec.sources.push(Source { policy, anchors });
    }
    let json = spec.to_json().map_err(|error| malformed(&path, &error))?;
    let genesis = Genesis::new(spec).map_err(|error| malformed(&path, &error))?;
    let target = network.join(GENESIS_FILE);
    write_new(&target, format!("{json}\n").as_bytes(), PUBLIC_MODE)?;
    Ok(genesis)
}
