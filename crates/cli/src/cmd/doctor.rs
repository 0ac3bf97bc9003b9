//! `horizon doctor`: what this machine and build can do, and what is wrong with configurations.
//!
//! Checks are made the way the processes use things: files are opened and decoded, ports are bound,
//! addresses are asked over HTTP.

mod node;
mod relayer;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::exit::{Code, Failure};
use crate::key_files::read_bounded;
use crate::live::block_on;
use crate::output::Output;

#[derive(Args, Debug)]
pub(super) struct Options {
    /// Configuration files of validators and relayers
    #[arg(long, value_name = "FILE", num_args = 1..)]
    config: Vec<PathBuf>,
}

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    machine(output);
    if options.config.is_empty() {
        return Ok(());
    }
    let findings = block_on(async {
        let mut findings = Findings::default();
        for path in &options.config {
            examine(path, &mut findings).await;
        }
        Ok(findings)
    })?;
    findings.print(output);
    if findings.faults() == 0 {
        return Ok(());
    }
    Err(Failure::new(Code::Configuration, ""))
}

async fn examine(path: &Path, findings: &mut Findings) {
    let text = match read_bounded(path, CONFIG_LEN_MAX) {
        Ok(bytes) => String::from_utf8(bytes).unwrap_or_default(),
        Err(failure) => return findings.fault(Check::Config, path.display(), failure.text),
    };
    let table: Result<toml::Table, _> = text.parse();
    match table {
        Ok(table) if table.contains_key("route") => {
            relayer::examine(path, &text, findings).await;
        }
        Ok(_) => node::examine(path, findings).await,
        Err(error) => findings.fault(Check::Config, path.display(), one_line(&error)),
    }
}

/// What is looked at. The names do not change: programs rely on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// The configuration file: readable, known keys, values in range.
    Config,
    /// The genesis file, or the counterpart's record in it.
    Genesis,
    /// Nobody else may open a secret.
    KeyPermissions,
    /// Keys are those of the genesis.
    Keys,
    /// The sealed share opens and belongs to the committee.
    Share,
    /// Addresses that the process needs are free, or its own.
    Port,
    /// Free space.
    DiskSpace,
    /// The data folder can be written.
    DiskWrite,
    /// An address answers.
    Endpoint,
    /// An address is of the chain it is said to be.
    ChainIdentity,
    /// An address runs the same genesis.
    GenesisIdentity,
    /// Clocks agree.
    Clock,
    /// A process says that it is ready.
    Ready,
}

impl Check {
    const fn name(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Genesis => "genesis",
            Self::KeyPermissions => "key-permissions",
            Self::Keys => "keys",
            Self::Share => "share",
            Self::Port => "port",
            Self::DiskSpace => "disk-space",
            Self::DiskWrite => "disk-write",
            Self::Endpoint => "endpoint",
            Self::ChainIdentity => "chain-identity",
            Self::GenesisIdentity => "genesis-identity",
            Self::Clock => "clock",
            Self::Ready => "ready",
        }
    }

    const fn hint(self) -> &'static str {
        match self {
            Self::Config => "correct the file; docs/operations.md lists every key",
            Self::Genesis => "get the file that the other validators use and compare its hash",
            Self::KeyPermissions => "chmod 600 the file; if others could read it, make a new key",
            Self::Keys => "use the folder of keys whose validator.json the network started with",
            Self::Share => "use the share file with this validator's name from the same dealing",
            Self::Port => "stop the other program or choose another port",
            Self::DiskSpace => "make room, or set limits.min_free lower",
            Self::DiskWrite => "give the process's user the folder",
            Self::Endpoint => "start the process there, or correct the address",
            Self::ChainIdentity => "correct the address: messages of a stranger are not used",
            Self::GenesisIdentity => "one of the two runs another network under the same numbers",
            Self::Clock => "synchronise the clocks of both machines",
            Self::Ready => "read the reason and the log of that process",
        }
    }
}

/// What was found.
#[derive(Debug, Default)]
struct Findings {
    all: Vec<Finding>,
    passed: usize,
}

#[derive(Debug)]
struct Finding {
    check: Check,
    subject: String,
    text: String,
    is_fault: bool,
}

impl Findings {
    fn fault(&mut self, check: Check, subject: impl core::fmt::Display, text: impl Into<String>) {
        self.add(check, subject, text, true);
    }

    fn warning(&mut self, check: Check, subject: impl core::fmt::Display, text: impl Into<String>) {
        self.add(check, subject, text, false);
    }

    fn pass(&mut self) {
        self.passed += 1;
    }

    fn add(
        &mut self,
        check: Check,
        subject: impl core::fmt::Display,
        text: impl Into<String>,
        is_fault: bool,
    ) {
        self.all.push(Finding {
            check,
            subject: subject.to_string(),
            text: text.into(),
            is_fault,
        });
    }

    fn faults(&self) -> usize {
        self.all.iter().filter(|finding| finding.is_fault).count()
    }

    fn print(&self, output: Output) {
        for finding in &self.all {
            let (name, hint) = (finding.check.name(), finding.check.hint());
            let severity = if finding.is_fault { "fault" } else { "warning" };
            output.text(&format!(
                "{severity}: {name}: {}: {}",
                finding.subject, finding.text
            ));
            output.text(&format!("  what to do: {hint}"));
            output.object(
                "doctor.finding",
                json!({"severity": severity, "check": name, "subject": finding.subject,
                    "text": finding.text, "hint": hint}),
            );
        }
        let (faults, all) = (self.faults(), self.all.len());
        output.text(&format!(
            "{} checks passed, {faults} faults, {} warnings",
            self.passed,
            all - faults
        ));
        output.object(
            "doctor.total",
            json!({"passed": self.passed, "faults": faults, "warnings": all - faults}),
        );
    }
}

/// The difference between two clocks in milliseconds, if it is too large.
fn clock_gap_ms(theirs_ms: u64, interval_ms: u64) -> Option<i128> {
    let now_ms = i128::from(crate::sources::now_s()) * 1_000;
    let gap = i128::from(theirs_ms) - now_ms;
    // The last block is a little old, never young.
    let behind = i128::from(interval_ms) * 4 + CLOCK_GAP_MS;
    (gap > CLOCK_GAP_MS || -gap > behind).then_some(gap)
}

fn one_line(error: &dyn core::fmt::Display) -> String {
    let text = error.to_string();
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

fn machine(output: Output) {
    let ring: Vec<&str> = horizon_ring::backend::Kind::available()
        .map(horizon_ring::backend::Kind::name)
        .collect();
    let hash: Vec<String> = horizon_hash::backend::Kind::available()
        .map(|kind| format!("{kind:?}").to_lowercase())
        .collect();
    let ring_active = horizon_ring::backend::Kind::active().name();
    let hash_active = format!("{:?}", horizon_hash::backend::Kind::active()).to_lowercase();
    output.text(&format!("horizon {}", env!("CARGO_PKG_VERSION")));
    output.text(&format!(
        "ring backends: {} (in use: {ring_active})",
        ring.join(", ")
    ));
    output.text(&format!(
        "hash backends: {} (in use: {hash_active})",
        hash.join(", ")
    ));
    output.text("this implementation is unaudited");
    output.object(
        "doctor",
        json!({"version": env!("CARGO_PKG_VERSION"),
            "ring": {"available": ring, "active": ring_active},
            "hash": {"available": hash, "active": hash_active}, "audited": false}),
    );
}

const CONFIG_LEN_MAX: u64 = 64 << 10;
/// Largest difference of clocks that needs no attention, milliseconds.
const CLOCK_GAP_MS: i128 = 5_000;
