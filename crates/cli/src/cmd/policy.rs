//! `horizon policy`: write a policy file, look for configurations that are valid and unwise.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use horizon_warp::policy::sources_to_json;
use horizon_warp::policy::{Finding, Severity, SourceConfig, Tier, lint, sources_from_json};
use horizon_warp::registry::{Record, records_from_json};
use serde_json::{Value, json};

use crate::exit::{Code, Failure};
use crate::key_files::{PUBLIC_MODE, malformed, read_bounded, write_new};
use crate::output::{Output, id};
use crate::sources::{self, POLICY_LEN_MAX, REGISTRY_LEN_MAX};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Write a policy that pins the last record of every chain in a registry
    New(New),
    /// Look for unwise policies; exit code 3 when one should not be run
    Lint(Lint),
}

#[derive(Args, Debug)]
pub(super) struct New {
    /// Registry file
    #[arg(long, value_name = "FILE")]
    registry: PathBuf,
    /// Lanes that are required
    #[arg(long, value_enum, default_value = "horizon")]
    tier: TierName,
    /// File for the policy
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct Lint {
    /// Registry file that the policies rely on
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// Seconds since 1970; the clock of this machine by default
    #[arg(long, value_name = "SECONDS")]
    time: Option<u64>,
    /// Warnings count too
    #[arg(long)]
    deny_warnings: bool,
    /// Policy files, or samples that hold policy, registry and time in one object
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TierName {
    Classical,
    Pulse,
    Horizon,
    Pq,
    Wrapped,
}

impl TierName {
    const fn tier(self) -> Tier {
        match self {
            Self::Classical => Tier::Classical,
            Self::Pulse => Tier::Pulse,
            Self::Horizon => Tier::Horizon,
            Self::Pq => Tier::Pq,
            Self::Wrapped => Tier::Wrapped,
        }
    }
}

pub(super) fn run(command: Command, output: Output) -> Result<(), Failure> {
    match command {
        Command::New(options) => create(&options, output),
        Command::Lint(options) => run_lint(&options, output),
    }
}

fn create(options: &New, output: Output) -> Result<(), Failure> {
    let records = sources::read_records(&options.registry)?;
    let described = |error| sources::described(&options.registry, &error);
    let pins = sources::own_pins(&records).map_err(described)?;
    let configs: Vec<SourceConfig> = pins
        .iter()
        .map(|pin| SourceConfig {
            tier: options.tier.tier(),
            ..SourceConfig::new(pin.network_id, pin.chain_id, pin.head)
        })
        .collect();
    let text = sources_to_json(&configs).map_err(described)?;
    write_new(&options.out, format!("{text}\n").as_bytes(), PUBLIC_MODE)?;
    for config in &configs {
        let (chain, head) = (id(&config.chain_id), id(&config.registry_head));
        let tier = config.tier.name();
        output.text(&format!(
            "chain {chain}: tier {tier}, pinned to record {head}"
        ));
        output.object(
            "policy.new",
            json!({"policy": options.out, "network_id": config.network_id, "chain_id": chain,
                "tier": tier, "registry_head": head}),
        );
    }
    output.text("the pins trust the registry file as it is: compare them with a second source");
    Ok(())
}

fn run_lint(options: &Lint, output: Output) -> Result<(), Failure> {
    let shared = match &options.registry {
        Some(path) => Some(sources::read_records(path)?),
        None => None,
    };
    let now_s = options.time.unwrap_or_else(sources::now_s);
    let (mut refused, mut warned) = (0_usize, 0_usize);
    for path in &options.files {
        let subject = Subject::read(path, shared.as_deref(), now_s)?;
        for finding in lint(&subject.sources, &subject.records, subject.now_s) {
            match finding.rule.severity() {
                Severity::Refuse => refused += 1,
                Severity::Warn => warned += 1,
            }
            print(path, &finding, output);
        }
    }
    output.text(&format!("{refused} to refuse, {warned} to think about"));
    output.object(
        "policy.lint.total",
        json!({"refuse": refused, "warn": warned}),
    );
    if refused > 0 || (options.deny_warnings && warned > 0) {
        return Err(Failure::new(Code::Refused, ""));
    }
    Ok(())
}

fn print(path: &Path, finding: &Finding, output: Output) {
    let (rule, chain) = (finding.rule, id(&finding.chain_id));
    let severity = rule.severity().name();
    let code = rule.code();
    output.text(&format!(
        "{}: {severity}: {code}: {}",
        path.display(),
        rule.text()
    ));
    output.text(&format!("  network {}, chain {chain}", finding.network_id));
    output.text(&format!("  what to do: {}", rule.hint()));
    output.object(
        "policy.lint",
        json!({"file": path, "severity": severity, "rule": code, "text": rule.text(),
            "hint": rule.hint(), "network_id": finding.network_id, "chain_id": chain}),
    );
}

/// What one file asks to be examined.
struct Subject {
    sources: Vec<SourceConfig>,
    records: Vec<Record>,
    now_s: u64,
}

impl Subject {
    fn read(path: &Path, shared: Option<&[Record]>, now_s: u64) -> Result<Self, Failure> {
        let bytes = read_bounded(path, REGISTRY_LEN_MAX)?;
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| malformed(path, &error))?;
        let described = |error| sources::described(path, &error);
        if let (Some(policy), Some(registry)) = (value.get("policy"), value.get("registry")) {
            let own_time = value.get("now_s").and_then(Value::as_str);
            return Ok(Self {
                sources: sources_from_json(&policy.to_string()).map_err(described)?,
                records: records_from_json(&registry.to_string()).map_err(described)?,
                now_s: own_time.and_then(|text| text.parse().ok()).unwrap_or(now_s),
            });
        }
        if u64::try_from(bytes.len()).is_ok_and(|len| len > POLICY_LEN_MAX) {
            return Err(malformed(
                path,
                &format!("larger than {POLICY_LEN_MAX} bytes"),
            ));
        }
        let Some(records) = shared else {
            let text = format!(
                "{}: a policy needs --registry to be examined",
                path.display()
            );
            return Err(Failure::new(Code::Usage, text));
        };
        Ok(Self {
            sources: sources::read_sources(path)?,
            records: records.to_vec(),
            now_s,
        })
    }
}
