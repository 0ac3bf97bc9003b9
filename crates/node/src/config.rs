//! `node.toml`: the configuration of a validator process.
//!
//! ```toml
//! genesis = "../genesis.json"     # paths are relative to this file
//! keys = "keys"                   # folder with link.key, consensus.key, beam.key, ...
//! share = "../shares/a.share"     # sealed share of the Pulse key; without it no Pulse is signed
//! data_dir = "data"
//! listen = "127.0.0.1:7001"       # links of the other validators
//! api = "127.0.0.1:8001"          # HTTP interface
//!
//! [log]
//! format = "text"                 # or "json"
//! level = "info"                  # as in RUST_LOG
//!
//! [limits]
//! ready_lag = 20                  # blocks behind the network before /readyz says no
//! min_free = "64 MiB"             # free disk space below which the node does not start
//! block_peer = "5m"               # how long a validator that broke the rules stays disconnected
//! workers = 2                     # threads that serve network and disk
//! ```
//!
//! Unknown keys are refused. `HORIZON_A__B=value` overrides `a.b`.

use core::fmt;
use core::time::Duration;
use std::fs;
use std::io::Read as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de};

/// Everything a validator process is told by its operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Genesis file.
    pub genesis: PathBuf,
    /// Folder of the five secret files.
    pub keys: PathBuf,
    /// Sealed share; `None` for a validator that does not sign Pulses.
    pub share: Option<PathBuf>,
    /// Everything the process writes.
    pub data_dir: PathBuf,
    /// Address for the links of other validators.
    pub listen: SocketAddr,
    /// Address of the HTTP interface.
    pub api: SocketAddr,
    /// Whether the interface may listen beyond the loopback address.
    pub public_api: bool,
    /// Logging.
    pub log: Log,
    /// Limits.
    pub limits: Limits,
    /// Faults that this validator shall have. For demonstrations; each is told loudly in the log.
    pub faults: Faults,
}

/// What a faulty validator does. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Signs wrong partials, so that every Pulse this member takes part in fails.
    pub garbage_partials: bool,
}

/// How the process logs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// Text or JSON lines, on standard error.
    pub format: LogFormat,
    /// Filter as in `RUST_LOG`.
    pub level: String,
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Limits of the process.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Blocks between the network's final height and the ledger on disk above which the node is not
    /// ready.
    pub ready_lag: u64,
    /// Free bytes of disk needed to start.
    #[serde(deserialize_with = "size")]
    pub min_free: u64,
    /// How long a validator that broke the rules stays disconnected.
    #[serde(deserialize_with = "duration")]
    pub block_peer: Duration,
    /// Threads that serve network and disk, 1 to 64.
    pub workers: usize,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            format: LogFormat::Text,
            level: "info".to_owned(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            ready_lag: 20,
            min_free: 64 << 20,
            block_peer: Duration::from_secs(300),
            workers: 2,
        }
    }
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    genesis: PathBuf,
    keys: PathBuf,
    share: Option<PathBuf>,
    data_dir: PathBuf,
    listen: SocketAddr,
    api: SocketAddr,
    #[serde(default)]
    public_api: bool,
    #[serde(default)]
    log: Log,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    faults: Faults,
}

impl NodeConfig {
    /// Reads a file and the overrides of the environment.
    ///
    /// # Errors
    /// [`ConfigError`] with one sentence for the operator.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = read_bounded(path)?;
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        Self::parse(&text, folder, variables)
            .map_err(|error| ConfigError(format!("{}: {error}", path.display())))
    }

    /// Reads a configuration text; relative paths are resolved against `folder`.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn parse(
        text: &str,
        folder: &Path,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut table: toml::Table = text.parse().map_err(one_line)?;
        for (name, value) in variables {
            if let Some(key) = name.strip_prefix(ENV_PREFIX) {
                set(&mut table, key, &value).ok_or_else(|| {
                    ConfigError(format!("the environment variable {name} names no key"))
                })?;
            }
        }
        let file: File = toml::Value::Table(table).try_into().map_err(one_line)?;
        if !(1..=MAX_WORKERS).contains(&file.limits.workers) {
            return Err(ConfigError(format!(
                "limits.workers must be 1 to {MAX_WORKERS}"
            )));
        }
        if file.limits.ready_lag == 0 {
            return Err(ConfigError("limits.ready_lag must not be 0".to_owned()));
        }
        let config = Self {
            genesis: folder.join(file.genesis),
            keys: folder.join(file.keys),
            share: file.share.map(|share| folder.join(share)),
            data_dir: folder.join(file.data_dir),
            listen: file.listen,
            api: file.api,
            public_api: file.public_api,
            log: file.log,
            limits: file.limits,
            faults: file.faults,
        };
        crate::api::check_address(config.api, config.public_api)
            .map_err(|_| ConfigError(PUBLIC_API.to_owned()))?;
        Ok(config)
    }
}

/// One sentence about what is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// Prefix of environment variables that override keys.
pub const ENV_PREFIX: &str = "HORIZON_";
/// Largest configuration file in bytes.
pub const FILE_LEN_MAX: u64 = 64 * 1024;
const MAX_WORKERS: usize = 64;
const PUBLIC_API: &str = "api: the address is not loopback and the interface has no \
                          authentication; set public_api = true if that is meant";

fn read_bounded(path: &Path) -> Result<String, ConfigError> {
    let failed = |error: std::io::Error| ConfigError(format!("{}: {error}", path.display()));
    let mut text = String::new();
    fs::File::open(path)
        .map_err(failed)?
        .take(FILE_LEN_MAX.saturating_add(1))
        .read_to_string(&mut text)
        .map_err(failed)?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > FILE_LEN_MAX {
        return Err(ConfigError(format!(
            "{}: larger than {FILE_LEN_MAX} bytes",
            path.display()
        )));
    }
    Ok(text)
}

/// A parser's message on one line.
fn one_line(error: impl fmt::Display) -> ConfigError {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    ConfigError(lines.join(" "))
}

/// Sets `A__B` to a value: a TOML value if it reads as one, else a string.
fn set(table: &mut toml::Table, key: &str, value: &str) -> Option<()> {
    let lower = key.to_ascii_lowercase();
    let mut parts: Vec<&str> = lower.split("__").collect();
    let last = parts.pop().filter(|last| !last.is_empty())?;
    let mut table = table;
    for part in parts {
        table = table
            .entry(part)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()))
            .as_table_mut()?;
    }
    let read = format!("value = {value}").parse::<toml::Table>().ok();
    let read = read.and_then(|mut table| table.remove("value"));
    let value = match read {
        Some(value @ (toml::Value::Integer(_) | toml::Value::Boolean(_))) => value,
        Some(value @ toml::Value::String(_)) => value,
        _ => toml::Value::String(value.to_owned()),
    };
    table.insert(last.to_owned(), value);
    Some(())
}

fn duration<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(input)?;
    humantime::parse_duration(&text)
        .map_err(|_| de::Error::custom(format!("{text:?} is not a duration such as \"5m\"")))
}

fn size<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
    let text = String::deserialize(input)?;
    parse_size(&text)
        .ok_or_else(|| de::Error::custom(format!("{text:?} is not a size such as \"64 MiB\"")))
}

/// Bytes of a size with unit: B, KiB, MiB or GiB.
fn parse_size(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(split)?;
    let shift = match unit.trim() {
        "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = "genesis = \"../genesis.json\"\nkeys = \"keys\"\ndata_dir = \"data\"\n\
                           listen = \"127.0.0.1:7001\"\napi = \"127.0.0.1:8001\"\n";

    fn parse(text: &str, variables: &[(&str, &str)]) -> Result<NodeConfig, ConfigError> {
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        NodeConfig::parse(text, Path::new("/n"), variables)
    }

    #[test]
    fn a_minimal_file_has_defaults_and_paths_beside_it() {
        let config = parse(MINIMAL, &[]).expect("it is valid");
        assert_eq!(config.genesis, Path::new("/n/../genesis.json"));
        assert_eq!(config.share, None);
        assert_eq!(config.limits, Limits::default());
        assert_eq!(config.log, Log::default());
        assert_eq!(config.faults, Faults::default());
    }

    #[test]
    fn the_environment_overrides_keys_of_any_depth() {
        let variables = [
            ("HORIZON_LISTEN", "127.0.0.1:9"),
            ("HORIZON_LOG__LEVEL", "debug"),
            ("HORIZON_LOG__FORMAT", "json"),
            ("HORIZON_LIMITS__READY_LAG", "7"),
            ("HORIZON_LIMITS__BLOCK_PEER", "90s"),
            ("HORIZON_LIMITS__MIN_FREE", "3 GiB"),
            ("HOME", "/root"),
        ];
        let config = parse(MINIMAL, &variables).expect("it is valid");
        assert_eq!(config.listen.port(), 9);
        assert_eq!(config.log.level, "debug");
        assert_eq!(config.log.format, LogFormat::Json);
        assert_eq!(config.limits.ready_lag, 7);
        assert_eq!(config.limits.block_peer, Duration::from_secs(90));
        assert_eq!(config.limits.min_free, 3 << 30);
    }

    #[test]
    fn unknown_keys_are_named_in_one_line() {
        for (text, variables, word) in [
            (format!("{MINIMAL}lisen = 1\n"), &[][..], "lisen"),
            (format!("{MINIMAL}[limits]\nready = 1\n"), &[], "ready"),
            (
                MINIMAL.to_owned(),
                &[("HORIZON_LOG__COLOUR", "1")],
                "colour",
            ),
            (
                MINIMAL.to_owned(),
                &[("HORIZON_LISTEN__PORT", "1")],
                "HORIZON_LISTEN__PORT",
            ),
        ] {
            let error = parse(&text, variables).expect_err("refused").to_string();
            assert!(error.contains(word), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn an_interface_beyond_loopback_must_be_meant() {
        let text = MINIMAL.replace("127.0.0.1:8001", "0.0.0.0:8001");
        assert_eq!(parse(&text, &[]), Err(ConfigError(PUBLIC_API.to_owned())));
        let meant = parse(&text, &[("HORIZON_PUBLIC_API", "true")]);
        assert!(meant.expect("it is valid").public_api);
    }

    #[test]
    fn sizes_and_durations_need_a_unit_and_limits_a_range() {
        for line in [
            "min_free = \"64\"",
            "min_free = \"64 MB\"",
            "min_free = 64",
            "min_free = \"99999999999999999999 B\"",
            "block_peer = \"5\"",
            "block_peer = 5",
            "workers = 0",
            "workers = 65",
            "ready_lag = 0",
        ] {
            let text = format!("{MINIMAL}[limits]\n{line}\n");
            assert!(parse(&text, &[]).is_err(), "{line}");
        }
        assert_eq!(parse_size("5 KiB"), Some(5 << 10));
    }
}
