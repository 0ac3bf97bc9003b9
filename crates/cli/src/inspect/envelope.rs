//! Envelopes, version 1 messages and unsigned messages.

use horizon_warp::layout::{Span, layout};
use horizon_warp::limits::GROTH16_LEN;
use horizon_warp::pulse::PulseFrames;
use horizon_warp::rlp::Decoder;
use horizon_warp::{Attestation, Envelope, Message, Shape, SignerSet, UnsignedMessage};
use serde_json::{Value, json};

use super::walk::{Field, text};
use super::{Fault, Kind, Report, attestation, payload, pulse};
use crate::ids::to_cb58;
use crate::output::id;
use crate::verdict::lane_names;

/// Lists: their fields show what is inside.
const LISTS: [&str; 4] = ["envelope", "message", "unsigned", "signature"];

pub(super) fn inspect(bytes: &[u8], kind: Kind) -> Report {
    let spans = layout(bytes);
    let mut fields = Vec::new();
    for span in &spans {
        fields.push(field(bytes, span));
        let body = value(bytes, span);
        if body.is_empty() {
            continue;
        }
        let depth = span.depth.saturating_add(1);
        match span.field {
            "pulse" => fields.extend(pulse::fields(body, span.body, depth)),
            "attestation" => fields.extend(attestation::fields(body, span.body, depth)),
            _ => {}
        }
    }
    mark_containers(&mut fields);
    let parsed = match kind {
        Kind::Message => Message::parse(bytes).map(Envelope::lift),
        _ => Envelope::parse_v2(bytes),
    };
    let (facts, fault) = match parsed {
        Ok(envelope) => (facts(&envelope), lane_fault(&envelope, &spans)),
        Err(error) => (Vec::new(), Some(Fault::from(error))),
    };
    Report {
        kind,
        fields,
        facts,
        fault,
    }
}

/// Fields that nested fields follow are shown by those.
fn mark_containers(fields: &mut [Field]) {
    for at in 1..fields.len() {
        if fields[at].depth > fields[at - 1].depth {
            fields[at - 1].is_container = true;
        }
    }
}

fn value<'a>(bytes: &'a [u8], span: &Span) -> &'a [u8] {
    bytes
        .get(span.body..span.body.saturating_add(span.len))
        .unwrap_or_default()
}

fn field(bytes: &[u8], span: &Span) -> Field {
    let body = value(bytes, span);
    let number = || {
        body.iter()
            .fold(0_u64, |value, byte| value << 8 | u64::from(*byte))
    };
    let note = match span.field {
        "network_id" | "signature_type" | "source_key_era" | "source_generation"
            if body.len() <= 8 =>
        {
            number().to_string()
        }
        "source_chain_id" => to_cb58(body),
        "signers" => match SignerSet::from_bytes_trimmed(body) {
            Ok(set) => format!(
                "validators {:?}",
                set.as_signers().iter().collect::<Vec<_>>()
            ),
            Err(_) => String::new(),
        },
        "suite" if body.is_empty() => "default, Pulsar-SHA3".to_owned(),
        "suite" | "payload" => text(body),
        "pulse" | "attestation" if body.is_empty() => "absent".to_owned(),
        "attestation" if body.len() == GROTH16_LEN => "Groth16 artifact".to_owned(),
        "attestation" => "certificate set".to_owned(),
        _ => String::new(),
    };
    Field {
        name: span.field.to_owned(),
        offset: span.start,
        header: span.body.saturating_sub(span.start),
        size: span.len,
        depth: span.depth,
        is_container: LISTS.contains(&span.field),
        note,
    }
}

/// The first fault inside a lane: the envelope's own decoder takes lanes as they come.
fn lane_fault(envelope: &Envelope<'_>, spans: &[Span]) -> Option<Fault> {
    let base = |name| {
        let span = spans.iter().find(|span| span.field == name);
        span.map_or(0, |span| span.body)
    };
    if let Some(Err(error)) = envelope.pulse().map(PulseFrames::parse) {
        let base = base("pulse");
        return Some(Fault { error, base });
    }
    let error = envelope.attestation().map(Attestation::parse)?.err()?;
    let base = base("attestation");
    Some(Fault { error, base })
}

fn facts(envelope: &Envelope<'_>) -> Vec<(&'static str, Value)> {
    let unsigned = envelope.message().unsigned();
    let mut facts = vec![("version", json!(envelope.version()))];
    facts.extend(unsigned_facts(unsigned));
    let lineage = envelope.lineage();
    if envelope.version() == 2 {
        let suite = String::from_utf8_lossy(envelope.effective_suite()).into_owned();
        facts.extend([
            ("nebula_root", json!(id(&lineage.nebula_root))),
            ("key_era", json!(lineage.key_era.to_string())),
            ("generation", json!(lineage.generation.to_string())),
            ("suite", json!(suite)),
        ]);
    }
    let signers: Vec<u32> = envelope.message().beam().signers.iter().collect();
    facts.push(("beam_signers", json!(signers)));
    if let Some(Ok(Attestation::CertSet(set))) = envelope.attestation().map(Attestation::parse) {
        facts.extend(attestation::facts(&set));
    }
    let lanes = lane_names(Shape::of(envelope).lanes);
    facts.push(("lanes_carried_unverified", json!(lanes)));
    facts
}

fn unsigned_facts(unsigned: &UnsignedMessage<'_>) -> Vec<(&'static str, Value)> {
    let chain = unsigned.source_chain_id();
    vec![
        ("message_id", json!(id(&unsigned.id()))),
        ("network_id", json!(unsigned.network_id())),
        ("chain_id", json!(id(chain))),
        ("chain_id_cb58", json!(to_cb58(chain))),
        ("payload_bytes", json!(unsigned.payload().len())),
        (
            "payload_decodes_as",
            json!(payload::readings(unsigned.payload())),
        ),
    ]
}

pub(super) fn inspect_unsigned(bytes: &[u8]) -> Report {
    let names = ["network_id", "source_chain_id", "payload"];
    let (facts, fault) = match UnsignedMessage::parse(bytes) {
        Ok(unsigned) => (unsigned_facts(&unsigned), None),
        Err(error) => (Vec::new(), Some(Fault::from(error))),
    };
    Report {
        kind: Kind::Unsigned,
        fields: rlp_fields(bytes, "unsigned", &names),
        facts,
        fault,
    }
}

/// The fields of one RLP list, as far as they go.
pub(super) fn rlp_fields(bytes: &[u8], list: &'static str, names: &[&'static str]) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut outer = Decoder::new(bytes, 0);
    let Ok(item) = outer.item(list) else {
        return fields;
    };
    let span = |field, start: usize, body: usize, len: usize, depth| Span {
        field,
        start,
        body,
        len,
        depth,
    };
    let outermost = span(list, item.start, item.body_offset, item.body.len(), 0);
    let mut outermost = field(bytes, &outermost);
    outermost.is_container = item.is_list;
    fields.push(outermost);
    if !item.is_list {
        return fields;
    }
    let mut inner = Decoder::new(item.body, item.body_offset);
    for name in names {
        let Ok(item) = inner.item(name) else {
            break;
        };
        let span = span(name, item.start, item.body_offset, item.body.len(), 1);
        fields.push(field(bytes, &span));
    }
    fields
}
