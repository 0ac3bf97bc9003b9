//! JSON form of policies: 64-bit numbers as decimal strings, unknown keys refused.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{SourceConfig, Tier};
use crate::error::{Error, Reason};
use crate::hex;

const FORMAT: &str = "horizon-policy-v1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileJson {
    format: String,
    sources: Vec<SourceJson>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceJson {
    network_id: u32,
    chain_id: String,
    tier: String,
    beam_quorum: QuorumJson,
    certset_quorum: QuorumJson,
    pq_since: Option<String>,
    max_age_s: String,
    grace_heights: String,
    validators_min: u32,
    threshold_min: u32,
    registry_head: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wrapper_key: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuorumJson {
    numerator: String,
    denominator: String,
}

/// Reads a policy file into configurations, not yet checked: pass them to [`super::lint`] and
/// [`super::Policy::new`].
///
/// # Errors
/// `PolicyJson`, `PolicyTier`, `PolicyField` naming the field.
pub fn sources_from_json(text: &str) -> Result<Vec<SourceConfig>, Error> {
    let json = Error::misuse(Reason::PolicyJson, "policy");
    let file: FileJson = serde_json::from_str(text).map_err(|_| json)?;
    if file.format != FORMAT {
        return Err(Error::misuse(Reason::PolicyJson, "policy.format"));
    }
    file.sources.iter().map(source_from_json).collect()
}

/// Writes a policy file.
///
/// # Errors
/// `PolicyJson` if the text cannot be written.
pub fn sources_to_json(sources: &[SourceConfig]) -> Result<String, Error> {
    let sources = sources.iter().map(source_to_json).collect();
    let file = FileJson {
        format: FORMAT.to_string(),
        sources,
    };
    serde_json::to_string_pretty(&file).map_err(|_| Error::misuse(Reason::PolicyJson, "policy"))
}

fn source_from_json(json: &SourceJson) -> Result<SourceConfig, Error> {
    let quorum = |json: &QuorumJson, field| -> Result<(u64, u64), Error> {
        Ok((
            number(&json.numerator, field)?,
            number(&json.denominator, field)?,
        ))
    };
    Ok(SourceConfig {
        network_id: json.network_id,
        chain_id: array(&json.chain_id, "chain_id")?,
        tier: Tier::from_name(&json.tier)?,
        beam_quorum: quorum(&json.beam_quorum, "beam_quorum")?,
        certset_quorum: quorum(&json.certset_quorum, "certset_quorum")?,
        pq_since: match &json.pq_since {
            Some(height) => Some(number(height, "pq_since")?),
            None => None,
        },
        max_age_s: number(&json.max_age_s, "max_age_s")?,
        grace_heights: number(&json.grace_heights, "grace_heights")?,
        validators_min: json.validators_min,
        threshold_min: json.threshold_min,
        registry_head: array(&json.registry_head, "registry_head")?,
        wrapper_key: match &json.wrapper_key {
            Some(id) => Some(array(id, "wrapper_key")?),
            None => None,
        },
    })
}

fn source_to_json(source: &SourceConfig) -> SourceJson {
    let quorum = |(numerator, denominator): (u64, u64)| QuorumJson {
        numerator: numerator.to_string(),
        denominator: denominator.to_string(),
    };
    SourceJson {
        network_id: source.network_id,
        chain_id: hex::encode(&source.chain_id),
        tier: source.tier.name().to_string(),
        beam_quorum: quorum(source.beam_quorum),
        certset_quorum: quorum(source.certset_quorum),
        pq_since: source.pq_since.map(|height| height.to_string()),
        max_age_s: source.max_age_s.to_string(),
        grace_heights: source.grace_heights.to_string(),
        validators_min: source.validators_min,
        threshold_min: source.threshold_min,
        registry_head: hex::encode(&source.registry_head),
        wrapper_key: source.wrapper_key.map(|id| hex::encode(&id)),
    }
}

fn array(text: &str, field: &'static str) -> Result<[u8; 32], Error> {
    let bytes = hex::decode(text).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or(Error::misuse(Reason::PolicyField, field))
}

fn number(text: &str, field: &'static str) -> Result<u64, Error> {
    hex::decimal(text).ok_or(Error::misuse(Reason::PolicyField, field))
}
