//! What Prism said, in the words of the command line.

use std::sync::OnceLock;
use std::time::Instant;

use horizon_warp::prism::{LaneVerdict, Outcome, WrapperSetup};
use horizon_warp::{Error, HorizonVerified, Lane, LaneSet, Reason, Refusal};
use serde_json::{Value, json};

use crate::output::id;

/// A monotonic clock in nanoseconds, from the first call on.
#[must_use]
pub fn clock_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

/// Fields of an accepted envelope; 64-bit numbers as decimal strings.
#[must_use]
pub fn accepted_fields(verified: &HorizonVerified<'_>, total_ns: u64) -> Value {
    let key = verified.record_key();
    let lanes: Vec<Value> = verified.lanes().iter().map(lane_fields).collect();
    json!({"accepted": true, "state": verified.state().name(), "tier": verified.tier().name(),
        "message_id": id(verified.id()), "network_id": key.network_id,
        "chain_id": id(&key.chain_id), "key_era": key.key_era.to_string(),
        "generation": key.generation.to_string(), "record_hash": id(verified.record_hash()),
        "total_weight": verified.total_weight().to_string(),
        "pq_roots": lane_names(verified.pq_roots()), "lanes": lanes,
        "duration_ns": total_ns.to_string()})
}

fn lane_fields(verdict: &LaneVerdict) -> Value {
    json!({"lane": verdict.lane.name(), "post_quantum": verdict.lane.is_post_quantum(),
        "signed_weight": verdict.signed_weight.map(|weight| weight.to_string()),
        "signer_count": verdict.signer_count,
        "wrapper_setup": verdict.wrapper_setup.map(WrapperSetup::name),
        "duration_ns": verdict.duration_ns.map(|ns| ns.to_string())})
}

/// Lines for a person about an accepted envelope.
#[must_use]
pub fn accepted_lines(verified: &HorizonVerified<'_>, total_ns: u64) -> Vec<String> {
    let key = verified.record_key();
    let total = verified.total_weight();
    let mut lines = vec![
        format!(
            "accepted: {} (tier {})",
            verified.state().name(),
            verified.tier().name()
        ),
        format!("  message  {}", id(verified.id())),
        format!(
            "  source   network {}, chain {}, era {}, generation {}",
            key.network_id,
            id(&key.chain_id),
            key.key_era,
            key.generation
        ),
        format!("  record   {}", id(verified.record_hash())),
    ];
    for verdict in verified.lanes() {
        let proven = match verdict.signed_weight {
            Some(weight) if verdict.lane == Lane::Groth16 => {
                format!("at least weight {weight} of {total}")
            }
            Some(weight) => {
                format!(
                    "{} validators, weight {weight} of {total}",
                    verdict.signer_count
                )
            }
            None => format!("threshold of {} points", verdict.signer_count),
        };
        let time = verdict.duration_ns.map(milliseconds).unwrap_or_default();
        let kind = lane_kind(verdict.lane);
        lines.push(format!(
            "  {:<8} {proven}, {kind}  {time}",
            verdict.lane.name()
        ));
        if let Some(setup) = verdict.wrapper_setup.filter(|setup| setup.is_development()) {
            lines.push(format!(
                "           WARNING: {} key: whoever made it can forge this lane",
                setup.name()
            ));
        }
    }
    let roots = lane_names(verified.pq_roots());
    let roots = if roots.is_empty() {
        "none: a quantum computer could forge this".to_owned()
    } else {
        roots.join(", ")
    };
    lines.push(format!("  post-quantum roots: {roots}"));
    lines.push(format!(
        "  all lanes, in parallel: {}",
        milliseconds(total_ns)
    ));
    lines
}

/// Fields of a refusal.
#[must_use]
pub fn refused_fields(refusal: &Refusal) -> Value {
    let mut fields = json!({"accepted": false, "outcome": outcome_name(refusal.outcome()),
        "lane": refusal.lane().map(Lane::name)});
    if let (Value::Object(all), Value::Object(error)) = (&mut fields, error_fields(refusal.error()))
    {
        all.extend(error.into_iter().filter(|(name, _)| name != "lane"));
    }
    fields
}

/// Fields of an error: stable code, class, static text and hint, and where it is.
#[must_use]
pub fn error_fields(error: &Error) -> Value {
    let limit = match error {
        Error::Malformed { limit, .. } => limit.map(|limit| limit.to_string()),
        _ => None,
    };
    let mut fields = reason_fields(error.reason());
    fields["lane"] = json!(error.lane().map(Lane::name));
    fields["validator"] = json!(error.index());
    fields["field"] = json!(error.field());
    fields["offset"] = json!(error.offset().map(|offset| offset.to_string()));
    fields["limit"] = json!(limit);
    fields
}

/// Fields of a reason.
#[must_use]
pub fn reason_fields(reason: Reason) -> Value {
    json!({"reason": reason.code(), "class": format!("{:?}", reason.class()),
        "text": reason.text(), "hint": reason.hint()})
}

/// Stable name of what a refusal means.
#[must_use]
pub const fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::NotEnoughEvidence => "not-enough-evidence",
        Outcome::NotConfigured => "not-configured",
        _ => "refused",
    }
}

/// The names, in reporting order.
#[must_use]
pub fn lane_names(lanes: LaneSet) -> Vec<&'static str> {
    lanes.iter().map(Lane::name).collect()
}

/// `post-quantum` or `classical`.
#[must_use]
pub const fn lane_kind(lane: Lane) -> &'static str {
    if lane.is_post_quantum() {
        "post-quantum"
    } else {
        "classical"
    }
}

/// A duration for a person.
#[must_use]
pub fn milliseconds(ns: u64) -> String {
    format!("{}.{:03} ms", ns / 1_000_000, ns / 1_000 % 1_000)
}
