//! Checks of a relayer's configuration.

use std::path::Path;

use horizon_node::relayer::config::Config;
use serde::Deserialize;

use super::{Check, Findings, clock_gap_ms, one_line};
use crate::ids::Id;
use crate::live::client;
use crate::output::id;

/// The part of the file that names networks; the whole was checked before.
#[derive(Deserialize)]
struct Networks {
    network: Vec<Network>,
}

#[derive(Deserialize)]
struct Network {
    name: String,
    network_id: u32,
    chain_id: String,
    endpoints: Vec<String>,
}

pub(super) async fn examine(path: &Path, text: &str, findings: &mut Findings) {
    let config = match Config::parse(text, std::env::vars()) {
        Ok(config) => config,
        Err(error) => {
            return findings.fault(Check::Config, path.display(), error.to_string());
        }
    };
    findings.pass();
    let networks: Networks = match toml::from_str(text) {
        Ok(networks) => networks,
        Err(error) => return findings.fault(Check::Config, path.display(), one_line(&error)),
    };
    for network in &networks.network {
        if network.endpoints.len() == 1 {
            findings.warning(
                Check::Endpoint,
                &network.name,
                "only one address: the route stands still when that process does",
            );
        }
        for address in &network.endpoints {
            endpoint(network, address, findings).await;
        }
    }
    let own = format!("http://{}", config.listen);
    if let Ok(client) = client(&own)
        && let Ok(ready) = client.readiness().await
    {
        for check in ready.checks {
            if check.ok {
                findings.pass();
            } else {
                findings.fault(Check::Ready, format!("{own} {}", check.name), check.message);
            }
        }
    }
}

async fn endpoint(network: &Network, address: &str, findings: &mut Findings) {
    let subject = format!("{} {address}", network.name);
    let Ok(client) = client(address) else {
        return findings.fault(Check::Endpoint, subject, "not an http:// address");
    };
    let status = match client.status().await {
        Ok(status) => status,
        Err(error) => return findings.fault(Check::Endpoint, subject, error.to_string()),
    };
    findings.pass();
    let wanted = network
        .chain_id
        .parse::<Id>()
        .map_or([0; 32], |Id(bytes)| bytes);
    if (status.network_id, status.chain_id) != (network.network_id, wanted) {
        let text = format!(
            "answers for network {}, chain {}",
            status.network_id,
            id(&status.chain_id)
        );
        return findings.fault(Check::ChainIdentity, subject, text);
    }
    findings.pass();
    match clock_gap_ms(status.time_ms, 60_000) {
        Some(gap) if gap > 0 => {
            let text = format!("its last block is {:.1} s in the future", gap as f64 / 1e3);
            findings.fault(Check::Clock, subject, text);
        }
        _ => findings.pass(),
    }
}
