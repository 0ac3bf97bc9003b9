//! JSON form of registry records: hex with `0x`, 64-bit numbers as decimal strings, unknown keys
//! refused.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Member, Record, RecordKey};
use crate::error::{Error, Reason};
use crate::hex;
use crate::suite::SuiteId;

const FORMAT: &str = "horizon-registry-v1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileJson {
    format: String,
    records: Vec<RecordJson>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordJson {
    network_id: u32,
    chain_id: String,
    key_era: String,
    generation: String,
    suite: String,
    group_key: String,
    threshold: u32,
    valid_from: String,
    valid_until: Option<String>,
    issued_at_s: String,
    previous: String,
    members: Vec<MemberJson>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberJson {
    bls_key: String,
    possession: String,
    mldsa_key: Option<String>,
    weight: String,
    points: u32,
    node_id: String,
    operator: String,
}

/// Reads a registry file. Each record's structure is checked; the chain is checked on loading.
///
/// # Errors
/// `RecordJson` for another format, unknown keys or wrong types; `RecordField` for a value; then as
/// [`Record::check`].
pub fn records_from_json(text: &str) -> Result<Vec<Record>, Error> {
    let json = Error::misuse(Reason::RecordJson, "registry");
    let file: FileJson = serde_json::from_str(text).map_err(|_| json)?;
    if file.format != FORMAT {
        return Err(Error::misuse(Reason::RecordJson, "registry.format"));
    }
    file.records.into_iter().map(record_from_json).collect()
}

/// Writes a registry file.
///
/// # Errors
/// As [`Record::check`].
pub fn records_to_json(records: &[Record]) -> Result<String, Error> {
    let records = records
        .iter()
        .map(record_to_json)
        .collect::<Result<Vec<RecordJson>, Error>>()?;
    let file = FileJson {
        format: FORMAT.to_string(),
        records,
    };
    serde_json::to_string_pretty(&file).map_err(|_| Error::misuse(Reason::RecordJson, "registry"))
}

fn record_from_json(json: RecordJson) -> Result<Record, Error> {
    let record = Record {
        key: RecordKey {
            network_id: json.network_id,
            chain_id: array(&json.chain_id, "record.chain_id")?,
            key_era: number(&json.key_era, "record.key_era")?,
            generation: number(&json.generation, "record.generation")?,
        },
        suite: SuiteId::from_name(json.suite.as_bytes())
            .map_err(|_| Error::misuse(Reason::RecordField, "record.suite"))?,
        group_key: bytes(&json.group_key, "record.group_key")?,
        threshold: json.threshold,
        valid_from: number(&json.valid_from, "record.valid_from")?,
        valid_until: match &json.valid_until {
            Some(until) => Some(number(until, "record.valid_until")?),
            None => None,
        },
        issued_at_s: number(&json.issued_at_s, "record.issued_at_s")?,
        previous: array(&json.previous, "record.previous")?,
        members: json
            .members
            .into_iter()
            .map(member_from_json)
            .collect::<Result<_, _>>()?,
    };
    record.check()?;
    Ok(record)
}

fn member_from_json(json: MemberJson) -> Result<Member, Error> {
    Ok(Member {
        bls_key: array(&json.bls_key, "member.bls_key")?,
        possession: array(&json.possession, "member.possession")?,
        mldsa_key: match &json.mldsa_key {
            Some(key) => Some(Box::new(array(key, "member.mldsa_key")?)),
            None => None,
        },
        weight: number(&json.weight, "member.weight")?,
        points: json.points,
        node_id: array(&json.node_id, "member.node_id")?,
        operator: json.operator,
    })
}

fn record_to_json(record: &Record) -> Result<RecordJson, Error> {
    record.check()?;
    let members = record.members.iter().map(|member| MemberJson {
        bls_key: hex::encode(&member.bls_key),
        possession: hex::encode(&member.possession),
        mldsa_key: member.mldsa_key.as_ref().map(|key| hex::encode(&key[..])),
        weight: member.weight.to_string(),
        points: member.points,
        node_id: hex::encode(&member.node_id),
        operator: member.operator.clone(),
    });
    Ok(RecordJson {
        network_id: record.key.network_id,
        chain_id: hex::encode(&record.key.chain_id),
        key_era: record.key.key_era.to_string(),
        generation: record.key.generation.to_string(),
        suite: record.suite.name().to_string(),
        group_key: hex::encode(&record.group_key),
        threshold: record.threshold,
        valid_from: record.valid_from.to_string(),
        valid_until: record.valid_until.map(|until| until.to_string()),
        issued_at_s: record.issued_at_s.to_string(),
        previous: hex::encode(&record.previous),
        members: members.collect(),
    })
}

fn bytes(text: &str, field: &'static str) -> Result<Vec<u8>, Error> {
    hex::decode(text).ok_or(Error::misuse(Reason::RecordField, field))
}

fn array<const N: usize>(text: &str, field: &'static str) -> Result<[u8; N], Error> {
    bytes(text, field)?
        .try_into()
        .map_err(|_| Error::misuse(Reason::RecordField, field))
}

fn number(text: &str, field: &'static str) -> Result<u64, Error> {
    hex::decimal(text).ok_or(Error::misuse(Reason::RecordField, field))
}
