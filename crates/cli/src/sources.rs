//! Registry and policy files, read with limits.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use horizon_warp::policy::{SourceConfig, sources_from_json};
use horizon_warp::registry::{Pin, RECORD_TAG, Record, records_from_json};
use horizon_warp::{Error, Policy, Registry};

use serde_json::Value;

use crate::exit::{Code, Failure};
use crate::key_files::{malformed, read_bounded};

/// Longest registry file, bytes.
pub const REGISTRY_LEN_MAX: u64 = 64 << 20;
/// Longest policy file, bytes.
pub const POLICY_LEN_MAX: u64 = 1 << 20;

/// The records of a registry file: JSON, or one record in its canonical bytes.
///
/// # Errors
/// [`Code::Configuration`] when the file cannot be read or is malformed.
pub fn read_records(path: &Path) -> Result<Vec<Record>, Failure> {
    let bytes = read_bounded(path, REGISTRY_LEN_MAX)?;
    if bytes.starts_with(RECORD_TAG) {
        let record = Record::parse(&bytes).map_err(|error| described(path, &error))?;
        return Ok(vec![record]);
    }
    let text = str::from_utf8(&bytes).map_err(|error| malformed(path, &error))?;
    check_json(path, text)?;
    records_from_json(text).map_err(|error| described(path, &error))
}

/// The sources of a policy file, not yet checked.
///
/// # Errors
/// [`Code::Configuration`] when the file cannot be read or is malformed.
pub fn read_sources(path: &Path) -> Result<Vec<SourceConfig>, Failure> {
    let bytes = read_bounded(path, POLICY_LEN_MAX)?;
    let text = str::from_utf8(&bytes).map_err(|error| malformed(path, &error))?;
    check_json(path, text)?;
    sources_from_json(text).map_err(|error| described(path, &error))
}

/// Says line and column of a syntax error, which the readers of records and policies do not.
fn check_json(path: &Path, text: &str) -> Result<(), Failure> {
    let parsed: Result<Value, _> = serde_json::from_str(text);
    parsed.map(drop).map_err(|error| malformed(path, &error))
}

/// A checked policy.
///
/// # Errors
/// [`Code::Configuration`] when it is malformed or refused.
pub fn read_policy(path: &Path) -> Result<Policy, Failure> {
    Policy::new(&read_sources(path)?).map_err(|error| described(path, &error))
}

/// A registry file loaded under the policy's pins: every chain, key and proof checked.
///
/// # Errors
/// [`Code::Configuration`] when it is malformed or refused.
pub fn load_registry(path: &Path, policy: &Policy) -> Result<Registry, Failure> {
    let records = read_records(path)?;
    let pins = policy.pins();
    let known = |record: &Record| pins.iter().any(|pin| of_pin(record, pin));
    // Records of chains that the policy does not know are of no use to it: the rest must be whole.
    let records = records.into_iter().filter(known).collect();
    Registry::load(records, &pins).map_err(|error| described(path, &error))
}

/// Pins that name the last record of every chain in the file: proves that the file is whole, and
/// nothing about who wrote it.
///
/// # Errors
/// As [`Record::hash`].
pub fn own_pins(records: &[Record]) -> Result<Vec<Pin>, Error> {
    let mut pins: Vec<Pin> = Vec::new();
    for record in records {
        let head = record.hash()?;
        match pins.iter_mut().find(|pin| of_pin(record, pin)) {
            Some(pin) => pin.head = head,
            None => pins.push(Pin {
                network_id: record.key.network_id,
                chain_id: record.key.chain_id,
                head,
            }),
        }
    }
    Ok(pins)
}

/// Whether the record is of the pin's chain.
#[must_use]
pub fn of_pin(record: &Record, pin: &Pin) -> bool {
    record.key.network_id == pin.network_id && record.key.chain_id == pin.chain_id
}

/// Seconds since 1970.
#[must_use]
pub fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// A refused file, with its reason and what to do.
#[must_use]
pub fn described(path: &Path, error: &Error) -> Failure {
    let hint = error.reason().hint();
    Failure::new(
        Code::Configuration,
        format!("{}: {error}. {hint}", path.display()),
    )
}
