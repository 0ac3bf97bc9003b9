//! Registry records and Horizon certificates.

use horizon_warp::Error;
use horizon_warp::certificate::{HorizonCertificate, PREFIX};
use horizon_warp::registry::{RECORD_TAG, Record};
use serde_json::{Value, json};

use super::walk::{Part, Walk, text};
use super::{Fault, Kind, Report};
use crate::ids::to_cb58;
use crate::output::id;

const CERTIFICATE: [(&str, Part); 10] = [
    ("prefix", Part::Bytes(PREFIX.len())),
    ("source_chain_id", Part::Bytes(32)),
    ("source_nebula_root", Part::Bytes(32)),
    ("source_key_era", Part::Number(8)),
    ("source_generation", Part::Number(8)),
    ("suite", Part::Prefixed(4)),
    ("beam", Part::Prefixed(4)),
    ("attestation", Part::Prefixed(4)),
    ("pulse", Part::Prefixed(4)),
    ("unsigned", Part::Prefixed(4)),
];

pub(super) fn inspect(bytes: &[u8]) -> Report {
    let (facts, fault) = match Record::parse(bytes).and_then(|record| facts(&record)) {
        Ok(facts) => (facts, None),
        Err(error) => (Vec::new(), Some(Fault::from(error))),
    };
    let mut walk = Walk::new(bytes, 0, 0);
    let _ = record(&mut walk);
    walk.remainder("record.rest");
    Report {
        kind: Kind::Record,
        fields: walk.fields,
        facts,
        fault,
    }
}

fn facts(record: &Record) -> Result<Vec<(&'static str, Value)>, Error> {
    let key = &record.key;
    Ok(vec![
        ("record_hash", json!(id(&record.hash()?))),
        ("network_id", json!(key.network_id)),
        ("chain_id", json!(id(&key.chain_id))),
        ("key_era", json!(key.key_era.to_string())),
        ("generation", json!(key.generation.to_string())),
        ("suite", json!(record.suite.name())),
        ("threshold", json!(record.threshold)),
        ("validators", json!(record.members.len())),
        (
            "total_weight",
            json!(record.validators()?.total_weight().to_string()),
        ),
    ])
}

fn record(walk: &mut Walk<'_>) -> Option<()> {
    walk.take("record.prefix", RECORD_TAG.len())?;
    walk.note("tag");
    walk.number("record.network_id", 4)?;
    let chain = walk.take("record.chain_id", 32)?;
    walk.note(to_cb58(chain));
    walk.number("record.key_era", 8)?;
    walk.number("record.generation", 8)?;
    let suite = walk.prefixed("record.suite", 1)?;
    walk.note(text(suite));
    walk.prefixed("record.group_key", 4)?;
    walk.number("record.threshold", 4)?;
    walk.number("record.valid_from", 8)?;
    if walk.number("record.valid_until.flag", 1)? == 1 {
        walk.number("record.valid_until", 8)?;
    }
    walk.number("record.issued_at", 8)?;
    walk.take("record.previous", 32)?;
    let count = walk.number("record.members", 4)?;
    for index in 0..count {
        walk.take(format!("member[{index}].bls_key"), 48)?;
        walk.take(format!("member[{index}].possession"), 96)?;
        if walk.number(format!("member[{index}].mldsa_key.flag"), 1)? == 1 {
            walk.take(format!("member[{index}].mldsa_key"), 1_952)?;
        }
        walk.number(format!("member[{index}].weight"), 8)?;
        walk.number(format!("member[{index}].points"), 4)?;
        walk.take(format!("member[{index}].node_id"), 20)?;
        let operator = walk.prefixed(&format!("member[{index}].operator"), 1)?;
        walk.note(text(operator));
    }
    Some(())
}

pub(super) fn inspect_certificate(bytes: &[u8]) -> Report {
    let (facts, fault) = match HorizonCertificate::parse(bytes) {
        Ok(certificate) => {
            let facts = vec![
                ("chain_id", json!(id(&certificate.source_chain_id))),
                ("key_era", json!(certificate.lineage.key_era.to_string())),
                (
                    "generation",
                    json!(certificate.lineage.generation.to_string()),
                ),
                ("pulse_bytes", json!(certificate.pulse.len())),
                ("attestation_bytes", json!(certificate.attestation.len())),
            ];
            (facts, None)
        }
        Err(error) => (Vec::new(), Some(Fault::from(error))),
    };
    let mut walk = Walk::new(bytes, 0, 0);
    let _ = walk.parts(&CERTIFICATE);
    walk.remainder("certificate.rest");
    Report {
        kind: Kind::Certificate,
        fields: walk.fields,
        facts,
        fault,
    }
}
