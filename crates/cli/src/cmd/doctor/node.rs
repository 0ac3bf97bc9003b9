//! Checks of a validator's configuration.

use core::time::Duration;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use horizon_ledger::Genesis;
use horizon_node::api::types::Status;
use horizon_node::config::NodeConfig;
use horizon_node::keys::{KeyError, ValidatorKeys, read_share};

use super::{Check, Findings, clock_gap_ms};
use crate::cmd::network::read_genesis;
use crate::live::client;
use crate::output::id;

pub(super) async fn examine(path: &Path, findings: &mut Findings) {
    let config = match NodeConfig::read(path) {
        Ok(config) => config,
        Err(error) => return findings.fault(Check::Config, path.display(), error.to_string()),
    };
    findings.pass();
    let genesis = match read_genesis(&config.genesis) {
        Ok(genesis) => {
            findings.pass();
            Some(genesis)
        }
        Err(failure) => {
            findings.fault(Check::Genesis, config.genesis.display(), failure.text);
            None
        }
    };
    secrets(&config, genesis.as_ref(), findings);
    disk(&config, findings);
    let running = process(&config, genesis.as_ref(), findings).await;
    if !running {
        port("listen", config.listen, findings);
        port("api", config.api, findings);
    }
    if let Some(genesis) = &genesis {
        links(&config, genesis, findings).await;
    }
}

fn secrets(config: &NodeConfig, genesis: Option<&Genesis>, findings: &mut Findings) {
    let folder = config.keys.display();
    let keys = match ValidatorKeys::read(&config.keys) {
        Ok(keys) => keys,
        Err(error @ KeyError::ReadableByOthers(_)) => {
            return findings.fault(Check::KeyPermissions, folder, error.to_string());
        }
        Err(error) => return findings.fault(Check::Keys, folder, error.to_string()),
    };
    findings.pass();
    let Some(genesis) = genesis else {
        return;
    };
    let position = match keys.position(genesis) {
        Ok(position) => position,
        Err(error) => return findings.fault(Check::Keys, folder, error.to_string()),
    };
    findings.pass();
    match &config.share {
        None => findings.warning(
            Check::Share,
            folder,
            "no share is configured: this validator signs no Pulse",
        ),
        Some(path) => match read_share(path, &keys.sealing, position, genesis) {
            Ok(_) => findings.pass(),
            Err(error) => findings.fault(Check::Share, path.display(), error.to_string()),
        },
    }
}

fn disk(config: &NodeConfig, findings: &mut Findings) {
    let folder = config.data_dir.as_path();
    // The process makes the folder: until then its parent counts.
    let existing = folder
        .ancestors()
        .find(|path| path.is_dir())
        // The last ancestor of a relative path is empty: the folder the process starts in.
        .unwrap_or(Path::new("."));
    match rustix::fs::statvfs(existing) {
        Ok(figures) => {
            let free = figures.f_bavail.saturating_mul(figures.f_frsize);
            if free < config.limits.min_free {
                let text = format!(
                    "{} MiB free, {} MiB demanded",
                    free >> 20,
                    config.limits.min_free >> 20
                );
                findings.fault(Check::DiskSpace, existing.display(), text);
            } else {
                findings.pass();
            }
        }
        Err(error) => findings.fault(Check::DiskSpace, existing.display(), error.to_string()),
    }
    let probe = existing.join(format!(".horizon-doctor-{}", std::process::id()));
    match fs::write(&probe, b"probe").and_then(|()| fs::remove_file(&probe)) {
        Ok(()) => findings.pass(),
        Err(error) => findings.fault(Check::DiskWrite, existing.display(), error.to_string()),
    }
}

/// Whether the validator of this configuration runs.
async fn process(config: &NodeConfig, genesis: Option<&Genesis>, findings: &mut Findings) -> bool {
    let url = format!("http://{}", config.api);
    let Ok(client) = client(&url) else {
        return false;
    };
    let Ok(status) = client.status().await else {
        return false;
    };
    if let Some(genesis) = genesis {
        identity(&url, genesis, &status, findings);
    }
    let interval = genesis.map_or(1_000, |genesis| genesis.spec().block.interval_ms);
    clock(&url, &status, interval, findings);
    match client.readiness().await {
        Ok(ready) if ready.ready => findings.pass(),
        Ok(ready) => {
            let failing = ready.checks.into_iter().filter(|check| !check.ok);
            let reasons: Vec<String> = failing.map(|check| check.message).collect();
            findings.fault(Check::Ready, &url, reasons.join("; "));
        }
        Err(error) => findings.fault(Check::Endpoint, &url, error.to_string()),
    }
    true
}

fn identity(url: &str, genesis: &Genesis, status: &Status, findings: &mut Findings) {
    let own = (genesis.network_id(), genesis.chain_id());
    if (status.network_id, &status.chain_id) != own {
        let text = format!(
            "answers for network {}, chain {}, not network {}, chain {}",
            status.network_id,
            id(&status.chain_id),
            own.0,
            id(own.1)
        );
        findings.fault(Check::ChainIdentity, url, text);
    } else if &status.genesis != genesis.hash() {
        let text = format!(
            "runs genesis {}, the file is {}",
            id(&status.genesis),
            id(genesis.hash())
        );
        findings.fault(Check::GenesisIdentity, url, text);
    } else {
        findings.pass();
    }
}

fn clock(url: &str, status: &Status, interval_ms: u64, findings: &mut Findings) {
    match clock_gap_ms(status.time_ms, interval_ms) {
        // An idle network makes no blocks: only the future is impossible.
        Some(gap) if gap > 0 => {
            let text = format!("its last block is {:.1} s in the future", gap as f64 / 1e3);
            findings.fault(Check::Clock, url, text);
        }
        Some(gap) => {
            let text = format!("its last block is {:.1} s old", -gap as f64 / 1e3);
            findings.warning(Check::Clock, url, text);
        }
        None => findings.pass(),
    }
}

fn port(key: &str, address: SocketAddr, findings: &mut Findings) {
    match TcpListener::bind(address) {
        Ok(_) => findings.pass(),
        Err(error) => findings.fault(Check::Port, format!("{key} {address}"), error.to_string()),
    }
}

/// Whether the other validators' links can be reached.
async fn links(config: &NodeConfig, genesis: &Genesis, findings: &mut Findings) {
    for validator in &genesis.spec().validators {
        if validator.address.port() == config.listen.port()
            && validator.address.ip() == config.listen.ip()
        {
            continue;
        }
        let connect = tokio::net::TcpStream::connect(validator.address);
        match tokio::time::timeout(CONNECT, connect).await {
            Ok(Ok(_)) => findings.pass(),
            Ok(Err(error)) => findings.warning(
                Check::Endpoint,
                format!("{} {}", validator.name, validator.address),
                error.to_string(),
            ),
            Err(_) => findings.warning(
                Check::Endpoint,
                format!("{} {}", validator.name, validator.address),
                "no answer in time",
            ),
        }
    }
}

const CONNECT: Duration = Duration::from_secs(2);
