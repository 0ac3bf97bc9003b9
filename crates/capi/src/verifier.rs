//! The verifier behind the C interface, in safe Rust: statuses, verdicts as JSON.

use std::sync::OnceLock;
use std::time::Instant;

use horizon_warp::policy::sources_from_json;
use horizon_warp::prism::{Context, HorizonVerified, Outcome, Refusal};
use horizon_warp::registry::records_from_json;
use horizon_warp::{Error, Policy, Reason, Registry, verify_bytes};
use serde_json::{Value, json};

/// A loaded registry with the policy that pins it.
#[derive(Debug)]
pub struct Verifier {
    registry: Registry,
    policy: Policy,
}

impl Verifier {
    /// Loads both files' JSON. Costs about one pairing check per validator, once.
    ///
    /// # Errors
    /// An [`Answer`] with [`Status::Configuration`] and the reason.
    pub fn load(registry: &[u8], policy: &[u8]) -> Result<Self, Answer> {
        let text = |bytes, reason, field| {
            core::str::from_utf8(bytes).map_err(|_| Error::Misuse { reason, field })
        };
        let load = || {
            let policy = text(policy, Reason::PolicyJson, "policy")?;
            let policy = Policy::new(&sources_from_json(policy)?)?;
            let registry = text(registry, Reason::RecordJson, "registry")?;
            let registry = Registry::load(records_from_json(registry)?, &policy.pins())?;
            Ok(Self { registry, policy })
        };
        load().map_err(|error: Error| Answer {
            status: Status::Configuration,
            json: refused("not-configured", &error.into()),
        })
    }

    /// Verifies one envelope.
    #[must_use]
    pub fn verify(&self, envelope: &[u8], context: &Context<'_>) -> Answer {
        let context = Context {
            clock: Some(monotonic_ns),
            ..*context
        };
        match verify_bytes(envelope, &self.registry, &self.policy, &context) {
            Ok(verdict) => Answer {
                status: Status::Ok,
                json: accepted(envelope, &verdict),
            },
            Err(refusal) => {
                let (status, name) = match refusal.outcome() {
                    Outcome::NotEnoughEvidence => {
                        (Status::NotEnoughEvidence, "not-enough-evidence")
                    }
                    Outcome::NotConfigured => (Status::Configuration, "not-configured"),
                    _ => (Status::Refused, "refused"),
                };
                Answer {
                    status,
                    json: refused(name, &refusal),
                }
            }
        }
    }
}

/// A status and the JSON that explains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: Status,
    /// One JSON object without line breaks, at most [`VERDICT_LEN_MAX`] bytes of UTF-8.
    pub json: String,
}

/// What a call returns. The numbers are those of the command line's exit codes, and never change.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// The envelope satisfies the policy. The only status on which to act.
    Ok = 0,
    /// A fault of this library.
    Internal = 1,
    /// A null pointer, a length above its limit, an unknown flag.
    Usage = 2,
    /// The envelope will never be accepted.
    Refused = 3,
    /// The same message may be accepted with more evidence, or later.
    NotEnoughEvidence = 4,
    /// Registry or policy do not load, or do not cover the source.
    Configuration = 5,
    /// The buffer for the verdict is too small; the needed length was stored. Says nothing about
    /// the envelope.
    BufferTooSmall = 8,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 7] = [
        Self::Ok,
        Self::Internal,
        Self::Usage,
        Self::Refused,
        Self::NotEnoughEvidence,
        Self::Configuration,
        Self::BufferTooSmall,
    ];

    /// The number C sees.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// A sentence without a stop.
    #[must_use]
    pub const fn text(self) -> &'static core::ffi::CStr {
        match self {
            Self::Ok => c"The envelope satisfies the policy",
            Self::Internal => c"A fault of the library; nothing was verified",
            Self::Usage => c"A null pointer, a length above its limit, or an unknown flag",
            Self::Refused => c"The envelope is refused for good",
            Self::NotEnoughEvidence => c"The message needs more evidence or more time",
            Self::Configuration => c"Registry or policy do not load or do not cover the source",
            Self::BufferTooSmall => c"The buffer for the verdict is too small",
        }
    }
}

fn accepted(envelope: &[u8], verdict: &HorizonVerified<'_>) -> String {
    let payload = verdict.message().payload();
    let lanes: Vec<Value> = verdict
        .lanes()
        .iter()
        .map(|lane| {
            json!({
                "lane": lane.lane.name(),
                "post_quantum": lane.lane.is_post_quantum(),
                "signed_weight": lane.signed_weight.map(|weight| weight.to_string()),
                "signer_count": lane.signer_count,
                "duration_ns": lane.duration_ns.map(|ns| ns.to_string()),
            })
        })
        .collect();
    let roots: Vec<&str> = verdict.pq_roots().iter().map(|lane| lane.name()).collect();
    let key = verdict.record_key();
    json!({
        "schema": SCHEMA,
        "verdict": "accepted",
        "state": verdict.state().name(),
        "tier": verdict.tier().name(),
        "id": hex(verdict.id()),
        "network_id": key.network_id,
        "source_chain_id": hex(&key.chain_id),
        "key_era": key.key_era.to_string(),
        "generation": key.generation.to_string(),
        "record_hash": hex(verdict.record_hash()),
        "nebula_root": verdict.lineage().map(|lineage| hex(&lineage.nebula_root)),
        "total_weight": verdict.total_weight().to_string(),
        "pq_roots": roots,
        "lanes": lanes,
        // The payload stays where it is: C reads it from the envelope's bytes.
        "payload_offset": payload.as_ptr().addr().checked_sub(envelope.as_ptr().addr()),
        "payload_len": payload.len(),
    })
    .to_string()
}

fn refused(verdict: &'static str, refusal: &Refusal) -> String {
    json!({
        "schema": SCHEMA,
        "verdict": verdict,
        "code": refusal.reason().code(),
        "text": refusal.reason().text(),
        "hint": refusal.hint(),
        "lane": refusal.lane().map(|lane| lane.name()),
        "index": refusal.index(),
        "field": refusal.error().field(),
        "offset": refusal.offset(),
    })
    .to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |mut text, byte| {
        for digit in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(digit.into(), 16));
        }
        text
    })
}

fn monotonic_ns() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

/// Version of the verdict's JSON. Keys may be added to a version; none changes its meaning.
const SCHEMA: u32 = 1;
/// Longest registry file, bytes: 64 MiB.
pub const REGISTRY_LEN_MAX: usize = 67_108_864;
/// Longest policy file, bytes: 1 MiB.
pub const POLICY_LEN_MAX: usize = 1_048_576;
/// Longest verdict, bytes. A buffer of this size is never too small.
pub const VERDICT_LEN_MAX: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_fits_a_verdict_and_parses() {
        for reason in Reason::ALL {
            let error = Error::Malformed {
                reason: *reason,
                field: "a field with a name longer than any that exists in the crate",
                offset: usize::MAX,
                limit: Some(u64::MAX),
            };
            let json = refused("not-enough-evidence", &error.into());
            // Half of the limit, to leave room for keys to come.
            assert!(json.len() <= VERDICT_LEN_MAX / 2, "{json}");
            let value: Value = serde_json::from_str(&json).unwrap();
            assert_eq!(value["code"], reason.code());
        }
    }

    #[test]
    fn files_that_are_not_json_are_a_configuration_fault() {
        for (registry, policy, code) in [
            (&b"{}"[..], &b"\xff"[..], "policy-json"),
            (b"{}", b"{}", "policy-json"),
            (b"\xff", POLICY, "record-json"),
            (b"[", POLICY, "record-json"),
        ] {
            let answer = Verifier::load(registry, policy).unwrap_err();
            assert_eq!(answer.status, Status::Configuration);
            let value: Value = serde_json::from_str(&answer.json).unwrap();
            assert_eq!(value["code"], code);
        }
    }

    const POLICY: &[u8] = br#"{"format":"horizon-policy-v1","sources":[]}"#;
}
