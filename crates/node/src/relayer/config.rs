//! The relayer's configuration: one TOML file, every key known, durations with units.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Value;

use super::core::Settings;
use crate::api::types::{Id, text};
use crate::api::{Limits, check_address};
use crate::client::{Client, Timeouts};

/// Greatest number of routes.
pub const ROUTE_COUNT_MAX: usize = 64;
/// Greatest number of endpoints of one network.
pub const ENDPOINT_COUNT_MAX: usize = 16;
/// Environment variables with this prefix replace keys: `HORIZON_TIMEOUTS__REQUEST=5s`.
pub const VARIABLE_PREFIX: &str = "HORIZON_";

/// What is wrong with a configuration, as one sentence that names the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// A checked configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Directory of lock and route files.
    pub data_dir: PathBuf,
    /// Where the interface listens.
    pub listen: SocketAddr,
    /// Limits of the interface.
    pub limits: Limits,
    /// Time limits of requests to networks.
    pub timeouts: Timeouts,
    /// `true` for JSON lines, `false` for text.
    pub log_json: bool,
    /// The routes.
    pub routes: Vec<RouteConfig>,
    /// Keys that the environment replaced.
    pub overrides: Vec<String>,
}

/// One route.
#[derive(Clone, Debug)]
pub struct RouteConfig {
    /// Name: letters, digits and hyphens.
    pub name: String,
    /// Name of the source network.
    pub from: String,
    /// Name of the destination network.
    pub to: String,
    /// Endpoints of the source.
    pub source: Vec<Client>,
    /// Endpoints of the destination.
    pub destination: Vec<Client>,
    /// Settings of the decisions.
    pub settings: Settings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileToml {
    data_dir: PathBuf,
    #[serde(default = "default_listen")]
    listen: SocketAddr,
    #[serde(default)]
    public: bool,
    #[serde(default)]
    log_format: LogFormat,
    #[serde(default)]
    timeouts: TimeoutsToml,
    #[serde(default)]
    limits: LimitsToml,
    network: Vec<NetworkToml>,
    route: Vec<RouteToml>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum LogFormat {
    #[default]
    Text,
    Json,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct TimeoutsToml {
    connect: Option<Time>,
    request: Option<Time>,
    idle: Option<Time>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct LimitsToml {
    connections: Option<usize>,
    requests: Option<usize>,
    rate: Option<u32>,
    burst: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkToml {
    name: String,
    network_id: u32,
    chain_id: String,
    endpoints: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteToml {
    name: Option<String>,
    from: String,
    to: String,
    catch_up: Option<bool>,
    look_back: Option<u64>,
    poll: Option<Time>,
    health: Option<Time>,
    registry: Option<Time>,
    retry_base: Option<Time>,
    retry_cap: Option<Time>,
    confirm: Option<Time>,
    submissions_max: Option<u32>,
    give_up: Option<Time>,
    ack_wait: Option<Time>,
    backlog_max: Option<u64>,
}

/// A duration with its unit, for example `500ms` or `2h`.
#[derive(Clone, Copy)]
struct Time(Duration);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        let time = humantime::parse_duration(&text).ok();
        let time = time.filter(|time| !time.is_zero());
        time.map(Self).ok_or_else(|| {
            serde::de::Error::custom("expected a duration with its unit, such as \"500ms\"")
        })
    }
}

impl Config {
    /// Reads a configuration and replaces keys by `HORIZON_…` variables; `variables` are names and
    /// values of the environment.
    ///
    /// # Errors
    /// [`ConfigError`] naming the key.
    pub fn parse(
        text: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut value: Value = toml::from_str::<toml::Table>(text)
            .map(Value::Table)
            .map_err(|error| ConfigError(one_line(&error.to_string())))?;
        let mut overrides = Vec::new();
        for (name, text) in variables {
            if let Some(key) = replace(&mut value, &name, &text)? {
                overrides.push(key);
            }
        }
        overrides.sort();
        let file: FileToml = value
            .try_into()
            .map_err(|error: toml::de::Error| ConfigError(one_line(&error.to_string())))?;
        Self::check(file, overrides)
    }

    fn check(file: FileToml, overrides: Vec<String>) -> Result<Self, ConfigError> {
        check_address(file.listen, file.public)
            .map_err(|why| ConfigError(format!("listen = \"{}\": {why}", file.listen)))?;
        let mut timeouts = Timeouts::default();
        set(&mut timeouts.connect, file.timeouts.connect);
        set(&mut timeouts.request, file.timeouts.request);
        set(&mut timeouts.idle, file.timeouts.idle);
        let defaults = Limits::default();
        let limits = Limits {
            connections: file.limits.connections.unwrap_or(defaults.connections),
            requests: file.limits.requests.unwrap_or(defaults.requests),
            rate: file.limits.rate.unwrap_or(defaults.rate),
            burst: file.limits.burst.unwrap_or(defaults.burst),
            ..defaults
        };
        if limits.connections == 0 || limits.requests == 0 {
            return Err(ConfigError(
                "limits.connections and limits.requests must not be 0".to_owned(),
            ));
        }
        let networks = networks(&file.network, timeouts)?;
        let routes = routes(file.route, &networks)?;
        Ok(Self {
            data_dir: file.data_dir,
            listen: file.listen,
            limits,
            timeouts,
            log_json: matches!(file.log_format, LogFormat::Json),
            routes,
            overrides,
        })
    }
}

struct Network {
    name: String,
    key: (u32, Id),
    endpoints: Vec<Client>,
}

fn networks(list: &[NetworkToml], timeouts: Timeouts) -> Result<Vec<Network>, ConfigError> {
    let mut names = BTreeSet::new();
    let mut keys = BTreeSet::new();
    let mut networks = Vec::with_capacity(list.len());
    for network in list {
        let name = check_name("network.name", &network.name)?;
        let chain = text::id_from_hex(&network.chain_id).ok_or_else(|| {
            ConfigError(format!(
                "network {name}: chain_id must be 0x and 64 lower-case hex digits"
            ))
        })?;
        let key = (network.network_id, chain);
        if !names.insert(name.clone()) || !keys.insert(key) {
            return Err(ConfigError(format!(
                "network {name}: name or network_id and chain_id stand there twice"
            )));
        }
        if network.endpoints.is_empty() || network.endpoints.len() > ENDPOINT_COUNT_MAX {
            return Err(ConfigError(format!(
                "network {name}: endpoints must be 1 to {ENDPOINT_COUNT_MAX} addresses"
            )));
        }
        let endpoints = network.endpoints.iter().map(|address| {
            Client::new(address, timeouts).map_err(|_| {
                ConfigError(format!(
                    "network {name}: endpoint \"{address}\" is no http:// address"
                ))
            })
        });
        networks.push(Network {
            key,
            endpoints: endpoints.collect::<Result<_, _>>()?,
            name,
        });
    }
    Ok(networks)
}

fn routes(list: Vec<RouteToml>, networks: &[Network]) -> Result<Vec<RouteConfig>, ConfigError> {
    if list.is_empty() || list.len() > ROUTE_COUNT_MAX {
        return Err(ConfigError(format!(
            "there must be 1 to {ROUTE_COUNT_MAX} routes"
        )));
    }
    let mut names = BTreeSet::new();
    let mut pairs = BTreeSet::new();
    let mut routes = Vec::with_capacity(list.len());
    for route in list {
        let name = match &route.name {
            Some(name) => check_name("route.name", name)?,
            None => format!("{}-{}", route.from, route.to),
        };
        let find = |wanted: &str| {
            let found = networks.iter().find(|network| network.name == wanted);
            found.ok_or_else(|| {
                ConfigError(format!("route {name}: there is no network \"{wanted}\""))
            })
        };
        let (source, destination) = (find(&route.from)?, find(&route.to)?);
        if source.key == destination.key {
            return Err(ConfigError(format!(
                "route {name}: source and destination are the same network"
            )));
        }
        if !names.insert(name.clone()) || !pairs.insert((source.key, destination.key)) {
            return Err(ConfigError(format!(
                "route {name}: name or direction stands there twice"
            )));
        }
        let settings = settings(&name, &route, source.key, destination.key)?;
        routes.push(RouteConfig {
            name,
            from: route.from,
            to: route.to,
            source: source.endpoints.clone(),
            destination: destination.endpoints.clone(),
            settings,
        });
    }
    Ok(routes)
}

fn settings(
    name: &str,
    route: &RouteToml,
    source: (u32, Id),
    destination: (u32, Id),
) -> Result<Settings, ConfigError> {
    const SECOND: u64 = 1_000;
    let ms = |time: Option<Time>, default| {
        time.map_or(default, |Time(time)| {
            u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1)
        })
    };
    let settings = Settings {
        source,
        destination,
        catch_up: route.catch_up.unwrap_or(true),
        look_back: route.look_back,
        poll_ms: ms(route.poll, 200),
        health_ms: ms(route.health, 2 * SECOND),
        registry_ms: ms(route.registry, 10 * SECOND),
        retry_base_ms: ms(route.retry_base, 100),
        retry_cap_ms: ms(route.retry_cap, 30 * SECOND),
        confirm_ms: ms(route.confirm, 5 * SECOND),
        submissions_max: route.submissions_max.unwrap_or(32),
        give_up_ms: ms(route.give_up, 86_400 * SECOND),
        ack_wait_ms: ms(route.ack_wait, 86_400 * SECOND),
        backlog_max: route.backlog_max.unwrap_or(100_000),
    };
    if settings.retry_base_ms > settings.retry_cap_ms {
        return Err(ConfigError(format!(
            "route {name}: retry_base is longer than retry_cap"
        )));
    }
    if settings.submissions_max == 0 || settings.backlog_max == 0 {
        return Err(ConfigError(format!(
            "route {name}: submissions_max and backlog_max must not be 0"
        )));
    }
    Ok(settings)
}

const fn set(slot: &mut Duration, time: Option<Time>) {
    if let Some(Time(time)) = time {
        *slot = time;
    }
}

fn check_name(key: &str, name: &str) -> Result<String, ConfigError> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(good) {
        return Err(ConfigError(format!(
            "{key} must be 1 to 64 letters, digits and hyphens"
        )));
    }
    Ok(name.to_owned())
}

/// Replaces the key that a variable names, if its first part is a key of the file's top level:
/// other variables with the prefix belong to other programs.
fn replace(value: &mut Value, name: &str, text: &str) -> Result<Option<String>, ConfigError> {
    const KEYS: [&str; 8] = [
        "data_dir",
        "listen",
        "public",
        "log_format",
        "timeouts",
        "limits",
        "network",
        "route",
    ];
    let Some(path) = name.strip_prefix(VARIABLE_PREFIX) else {
        return Ok(None);
    };
    let path: Vec<String> = path.split("__").map(str::to_lowercase).collect();
    let Some((last, parents)) = path.split_last() else {
        return Ok(None);
    };
    if !path
        .first()
        .is_some_and(|first| KEYS.contains(&first.as_str()))
    {
        return Ok(None);
    }
    let nowhere = || ConfigError(format!("{name} names no key of the configuration"));
    let mut place = value;
    for part in parents {
        place = match place {
            Value::Table(table) => table
                .entry(part.clone())
                .or_insert_with(|| Value::Table(toml::Table::new())),
            Value::Array(items) => part
                .parse::<usize>()
                .ok()
                .and_then(|at| items.get_mut(at))
                .ok_or_else(nowhere)?,
            _ => return Err(nowhere()),
        };
    }
    let Value::Table(table) = place else {
        return Err(nowhere());
    };
    table.insert(last.clone(), scalar(text));
    Ok(Some(path.join(".")))
}

/// A TOML value if the text is one, else the text itself.
fn scalar(text: &str) -> Value {
    let parsed = toml::from_str::<toml::Table>(&format!("value = {text}"));
    let value = parsed.ok().and_then(|mut table| table.remove("value"));
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// A complete sample, which the tests parse.
pub const SAMPLE: &str = include_str!("sample.toml");

const fn default_listen() -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9_500)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, [])
    }

    #[test]
    fn the_sample_parses_and_shows_the_defaults() {
        let config = parse(SAMPLE).unwrap();
        assert_eq!(config.routes.len(), 2);
        assert_eq!(config.routes[0].name, "a-b");
        let mut short = String::new();
        for line in SAMPLE.lines() {
            // Every key below the routes' direction has a default; the sample shows it.
            let key = line.split(" = ").next().unwrap_or_default();
            let needed = ["name", "network_id", "chain_id", "endpoints", "from", "to"];
            if line.starts_with('[') || needed.contains(&key) || key == "data_dir" {
                short.push_str(line);
                short.push('\n');
            }
        }
        let defaults = parse(&short).unwrap();
        assert_eq!(
            config.routes[0].settings,
            Settings {
                look_back: Some(100_000),
                ..defaults.routes[0].settings.clone()
            }
        );
        assert_eq!(config.listen, defaults.listen);
    }

    #[test]
    fn mistakes_are_refused_with_the_key_in_the_sentence() {
        let cases = [
            ("poll = \"200ms\"", "poll = \"200\"", "unit"),
            ("poll = \"200ms\"", "pol = \"200ms\"", "pol"),
            ("poll = \"200ms\"", "poll = \"0ms\"", "unit"),
            (
                "listen = \"127.0.0.1:9500\"",
                "listen = \"0.0.0.0:9500\"",
                "public",
            ),
            ("to = \"b\"", "to = \"c\"", "no network \"c\""),
            ("to = \"b\"", "to = \"a\"", "same network"),
            ("network_id = 2", "network_id = \"2\"", "network_id"),
            ("retry_cap = \"30s\"", "retry_cap = \"1ms\"", "retry_base"),
            ("http://127.0.0.1:9101", "https://127.0.0.1:9101", "http://"),
            ("name = \"b\"", "name = \"a\"", "twice"),
            (
                "submissions_max = 32",
                "submissions_max = 0",
                "submissions_max",
            ),
        ];
        for (from, to, word) in cases {
            assert!(SAMPLE.contains(from), "{from}");
            let error = parse(&SAMPLE.replacen(from, to, 1)).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(word), "{to}: {text}");
            assert!(!text.contains('\n'));
        }
    }

    #[test]
    fn variables_replace_keys_and_strangers_are_left_alone() {
        let variables = [
            ("HORIZON_LISTEN", "127.0.0.1:1"),
            ("HORIZON_ROUTE__0__POLL", "1s"),
            ("HORIZON_ROUTE__1__SUBMISSIONS_MAX", "5"),
            ("HORIZON_TIMEOUTS__REQUEST", "2s"),
            ("HORIZON_TEST_SEED", "7"),
            ("PATH", "/bin"),
        ];
        let variables = variables.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let config = Config::parse(SAMPLE, variables).unwrap();
        assert_eq!(config.listen.port(), 1);
        assert_eq!(config.routes[0].settings.poll_ms, 1_000);
        assert_eq!(config.routes[1].settings.submissions_max, 5);
        assert_eq!(config.timeouts.request, Duration::from_secs(2));
        assert_eq!(
            config.overrides,
            [
                "listen",
                "route.0.poll",
                "route.1.submissions_max",
                "timeouts.request"
            ]
        );
        for name in ["HORIZON_ROUTE__9__POLL", "HORIZON_ROUTE__0__POL"] {
            let variable = (name.to_owned(), "1s".to_owned());
            assert!(Config::parse(SAMPLE, [variable]).is_err(), "{name}");
        }
    }
}
