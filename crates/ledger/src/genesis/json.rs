//! JSON form of a genesis: hex with `0x`, 64-bit numbers as decimal strings, unknown keys refused.

use horizon_warp::policy::{sources_from_json, sources_to_json};
use horizon_warp::registry::{records_from_json, records_to_json};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::*;
use crate::codec::{decimal, hex, unhex};

const FORMAT: &str = "horizon-genesis-v1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileJson {
    format: String,
    name: String,
    network_id: u32,
    chain_id: String,
    time_ms: String,
    validators: Vec<ValidatorJson>,
    /// A registry file with this chain's one record.
    registry: Value,
    group_id: String,
    pulse: PulseJson,
    block: BlockJson,
    sources: Vec<SourceJson>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ValidatorJson {
    name: String,
    identity: String,
    address: String,
    consensus_key: String,
    sealing_x25519: String,
    sealing_mlkem768: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PulseJson {
    live_batches: u16,
    count: u16,
    window: String,
    sign_window: String,
    decay_blocks: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockJson {
    interval_ms: String,
    bytes_max: u32,
    transactions_max: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceJson {
    /// A policy file with this one source.
    policy: Value,
    /// A registry file with the source's records.
    anchors: Value,
}

impl GenesisSpec {
    /// Reads a genesis file of at most [`GENESIS_LEN_MAX`] bytes. Its content is not checked yet.
    ///
    /// # Errors
    /// [`GenesisError::Json`], [`GenesisError::Format`], [`GenesisError::Field`],
    /// [`GenesisError::Registry`], [`GenesisError::Policy`].
    pub fn from_json(text: &str) -> Result<Self, GenesisError> {
        if text.len() > GENESIS_LEN_MAX {
            return Err(GenesisError::Json);
        }
        let file: FileJson = serde_json::from_str(text).map_err(|_| GenesisError::Json)?;
        if file.format != FORMAT {
            return Err(GenesisError::Format);
        }
        let Ok([record]) = <[Record; 1]>::try_from(records(&file.registry)?) else {
            return Err(field("registry"));
        };
        Ok(Self {
            name: file.name,
            network_id: file.network_id,
            chain_id: array(&file.chain_id, "chain_id")?,
            time_ms: number(&file.time_ms, "time_ms")?,
            validators: file
                .validators
                .into_iter()
                .map(validator)
                .collect::<Result<_, _>>()?,
            record,
            group_id: number(&file.group_id, "group_id")?,
            pulse: LedgerConfig {
                live_batches: file.pulse.live_batches,
                count: file.pulse.count,
                window: number(&file.pulse.window, "pulse.window")?,
                sign_window: number(&file.pulse.sign_window, "pulse.sign_window")?,
                decay_blocks: number(&file.pulse.decay_blocks, "pulse.decay_blocks")?,
            },
            block: BlockLimits {
                interval_ms: number(&file.block.interval_ms, "block.interval_ms")?,
                bytes_max: size(file.block.bytes_max),
                transactions_max: size(file.block.transactions_max),
            },
            sources: file.sources.iter().map(source).collect::<Result<_, _>>()?,
        })
    }

    /// Writes a genesis file.
    ///
    /// # Errors
    /// [`GenesisError::Json`], or a reason why a record or policy cannot be written.
    pub fn to_json(&self) -> Result<String, GenesisError> {
        let short = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let validators = self.validators.iter().map(|validator| ValidatorJson {
            name: validator.name.clone(),
            identity: hex(&validator.identity),
            address: validator.address.to_string(),
            consensus_key: hex(&validator.consensus_key[..]),
            sealing_x25519: hex(&validator.sealing_x25519),
            sealing_mlkem768: hex(&validator.sealing_mlkem768[..]),
        });
        let sources = self.sources.iter().map(|source| {
            let policy = sources_to_json(&[source.policy]).map_err(GenesisError::Policy)?;
            let anchors = records_to_json(&source.anchors).map_err(GenesisError::Registry)?;
            Ok(SourceJson {
                policy: value(&policy)?,
                anchors: value(&anchors)?,
            })
        });
        let registry = core::slice::from_ref(&self.record);
        let registry = records_to_json(registry).map_err(GenesisError::Registry)?;
        let file = FileJson {
            format: FORMAT.to_owned(),
            name: self.name.clone(),
            network_id: self.network_id,
            chain_id: hex(&self.chain_id),
            time_ms: self.time_ms.to_string(),
            validators: validators.collect(),
            registry: value(&registry)?,
            group_id: self.group_id.to_string(),
            pulse: PulseJson {
                live_batches: self.pulse.live_batches,
                count: self.pulse.count,
                window: self.pulse.window.to_string(),
                sign_window: self.pulse.sign_window.to_string(),
                decay_blocks: self.pulse.decay_blocks.to_string(),
            },
            block: BlockJson {
                interval_ms: self.block.interval_ms.to_string(),
                bytes_max: short(self.block.bytes_max),
                transactions_max: short(self.block.transactions_max),
            },
            sources: sources.collect::<Result<_, GenesisError>>()?,
        };
        serde_json::to_string_pretty(&file).map_err(|_| GenesisError::Json)
    }
}

fn validator(json: ValidatorJson) -> Result<Validator, GenesisError> {
    Ok(Validator {
        name: json.name,
        identity: array(&json.identity, "validator.identity")?,
        address: json
            .address
            .parse()
            .map_err(|_| field("validator.address"))?,
        consensus_key: boxed(&json.consensus_key, "validator.consensus_key")?,
        sealing_x25519: array(&json.sealing_x25519, "validator.sealing_x25519")?,
        sealing_mlkem768: boxed(&json.sealing_mlkem768, "validator.sealing_mlkem768")?,
    })
}

fn source(json: &SourceJson) -> Result<Source, GenesisError> {
    let policies = sources_from_json(&json.policy.to_string()).map_err(GenesisError::Policy)?;
    let [policy] = policies[..] else {
        return Err(field("source.policy"));
    };
    Ok(Source {
        policy,
        anchors: records(&json.anchors)?,
    })
}

fn records(json: &Value) -> Result<Vec<Record>, GenesisError> {
    records_from_json(&json.to_string()).map_err(GenesisError::Registry)
}

fn value(text: &str) -> Result<Value, GenesisError> {
    serde_json::from_str(text).map_err(|_| GenesisError::Json)
}

fn array<const N: usize>(text: &str, name: &'static str) -> Result<[u8; N], GenesisError> {
    let bytes = unhex(text).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or(field(name))
}

fn boxed<const N: usize>(text: &str, name: &'static str) -> Result<Box<[u8; N]>, GenesisError> {
    let bytes = unhex(text).and_then(|bytes| bytes.into_boxed_slice().try_into().ok());
    bytes.ok_or(field(name))
}

fn number(text: &str, name: &'static str) -> Result<u64, GenesisError> {
    decimal(text).ok_or(field(name))
}

fn size(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

const fn field(field: &'static str) -> GenesisError {
    GenesisError::Field { field }
}
