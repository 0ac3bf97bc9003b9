//! Verdicts of the reference implementation, with real keys and signatures, against Prism's.
//!
//! The reference takes its verifiers as options and ignores lanes without one; Prism has one door.
//! Each case says what the reference did; where Prism differs it is listed by name as *ours is
//! stricter*, and once as *ours is exact*.

#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test that cannot go on has failed"
)]

#[path = "support/common.rs"]
mod common;

use common::*;
use horizon_hash::sponge::shake256;
use horizon_pulsar::Suite;
use horizon_pulsar::hazmat::interop::gen_key_era;
use horizon_pulsar::signers::Quorum as Points;
use horizon_sig::bls;
use horizon_warp::policy::{Policy, SourceConfig, Tier};
use horizon_warp::prism::Context;
use horizon_warp::registry::{Member, Record, RecordKey, Registry};
use horizon_warp::*;

fn members(list: &Value) -> Vec<Member> {
    let members = list
        .as_array()
        .expect("validators")
        .iter()
        .map(|validator| {
            let key = bls::SigningKey::from_bytes(&bytes(validator, "sk")).unwrap();
            assert_eq!(key.verifying_key().to_bytes()[..], bytes(validator, "pk"));
            Member {
                bls_key: key.verifying_key().to_bytes(),
                possession: key.prove_possession().to_bytes(),
                mldsa_key: None,
                weight: number(validator, "weight"),
                points: 0,
                node_id: array(&bytes(validator, "node_id")),
                operator: String::new(),
            }
        });
    members.collect()
}

fn record(network_id: u32, chain_id: [u8; 32], members: Vec<Member>) -> Record {
    Record {
        key: RecordKey {
            network_id,
            chain_id,
            key_era: 1,
            generation: 0,
        },
        suite: SuiteId::PulsarSha3,
        group_key: vec![],
        threshold: 0,
        valid_from: 0,
        valid_until: None,
        issued_at_s: 0,
        previous: [0; 32],
        members,
    }
}

fn config(record: &Record, tier: Tier, quorum: (u64, u64)) -> SourceConfig {
    SourceConfig {
        tier,
        beam_quorum: quorum,
        validators_min: 1,
        threshold_min: 1,
        ..SourceConfig::new(
            record.key.network_id,
            record.key.chain_id,
            record.hash().unwrap_or([1; 32]),
        )
    }
}

/// `VerifyMessage` with validator sets and real signatures.
#[test]
fn message_verdicts_of_the_reference_match_or_are_stricter() {
    let file = vectors("warp-v1/quorum.json");
    let (mut same, mut stricter) = (0, Vec::new());
    for case in cases(&file)
        .iter()
        .filter(|case| case["kind"] == "verify_message")
    {
        let expected = case["ok"] == true;
        let wire = bytes(case, "message");
        let verdict = verify_message(case, &wire);
        if let (true, Err(reason)) = (expected, verdict) {
            stricter.push((text(case, "note"), reason));
            continue;
        }
        assert_eq!(
            verdict.is_ok(),
            expected,
            "{}: {verdict:?}",
            text(case, "name")
        );
        if let (Err(reason), Some(error)) = (verdict, case["error"].as_str()) {
            let class = match error {
                _ if error.contains("signer index") => Class::SignerIndex,
                _ if error.contains("network ID") => Class::InvalidMessage,
                _ if error.contains("parse signature") => Class::SigParse,
                _ if error.contains("validator set") => Class::ValidatorSet,
                // The reference accepts infinity as a point and fails the equation; ours does not
                // decode it.
                _ if error.contains("invalid signature")
                    && case["note"] == "identity signature" =>
                {
                    Class::SigParse
                }
                _ if error.contains("invalid signature") => Class::SigVerify,
                _ if case["note"] == "signers two zero bytes" => Class::NonCanonicalBits,
                _ => Class::InsufficientWeight,
            };
            assert_eq!(reason.class(), class, "{error}");
        }
        same += 1;
    }
    assert!(same >= 15, "{same}");
    assert_eq!(
        stricter,
        [(
            "signers padded with two zero bytes",
            Reason::NonCanonicalSigners
        )]
    );
}

fn verify_message(case: &Value, wire: &[u8]) -> Result<State, Reason> {
    let message = Message::parse(wire).map_err(|error| error.reason())?;
    let network = message.unsigned().network_id();
    let chain = *message.unsigned().source_chain_id();
    let record = record(network, chain, members(&case["validators_canonical_order"]));
    let config = config(
        &record,
        Tier::Classical,
        (number(case, "num"), number(case, "den")),
    );
    let policy = Policy::new(&[config]).map_err(|error| error.reason())?;
    let registry = Registry::load(vec![record], &policy.pins()).map_err(|error| error.reason())?;
    let context = Context {
        message_generation: Some((1, 0)),
        ..Context::new(number(case, "network_id") as u32, 0, 0)
    };
    verify_bytes(wire, &registry, &policy, &context)
        .map(|verdict| verdict.state())
        .map_err(|refusal| refusal.reason())
}

/// The era key of env-1: a dealing from a labelled stream, compared with the published digests.
fn era_key(file: &Value) -> Vec<u8> {
    let mut stream = vec![0; 4096];
    shake256(&[b"warp-era-3"], &mut stream);
    let mut at = 0;
    let dealing = gen_key_era(
        Suite::PulsarSha3,
        Points::new(2, 3).unwrap(),
        |out| {
            out.copy_from_slice(&stream[at..at + out.len()]);
            at += out.len();
        },
        || 1,
    )
    .unwrap();
    let raw = dealing.group_key.as_bytes();
    let b = &raw[raw.len() - 16_520..];
    assert_eq!(to_hex(b), text(&file["group_key"], "b_tilde_wire"));
    assert_eq!(
        sha256(&raw[..raw.len() - 16_520]),
        text(&file["group_key"], "A_wire_sha256")
    );
    dealing.group_key.to_framed()
}

/// `VerifyV2` over an envelope with a real Beam and a real Pulse. Its certificate set is 52 filler
/// bytes that the reference's stub verifier waves through; Prism refuses it, so the lane is removed
/// first, and the Beam and the Pulse are judged.
#[test]
fn envelope_verdicts_of_the_reference_match_or_are_stricter() {
    let file = vectors("warp-v2/envelopes.json");
    let env1 = cases(&file)
        .iter()
        .find(|case| case["name"] == "env-1")
        .unwrap();
    let wire = bytes(env1, "envelope_bytes");
    let base = Envelope::parse(&wire).unwrap();
    let mut record = record(
        base.message().unsigned().network_id(),
        *base.message().unsigned().source_chain_id(),
        members(&file["validators_canonical_order"]),
    );
    record.key.key_era = 3;
    record.group_key = era_key(&file);
    record.threshold = 2;
    record.members[..3]
        .iter_mut()
        .for_each(|member| member.points = 1);

    let cases_file = vectors("warp-v2/verify_v2.json");
    let (mut same, mut stricter) = (0, Vec::new());
    for case in cases(&cases_file) {
        let name = text(case, "name");
        let changed = changed_wire(case, &wire);
        let envelope = Envelope::parse(&changed).unwrap();
        // As it stands, the filler certificate set is refused.
        let full = judge(&envelope, &record, case);
        if envelope.attestation().is_some() {
            let reason = full.unwrap_err();
            assert!(
                case["ok"] == false || reason.class() != Class::SigVerify,
                "{name}: {reason}"
            );
        }
        let stripped = Envelope::with_lanes_unchecked(
            *envelope.message(),
            *envelope.lineage(),
            envelope.suite_field(),
            envelope.pulse().unwrap_or_default(),
            &[],
        )
        .unwrap();
        let ours = judge(&stripped, &record, case);
        let expected = case["ok"] == true;
        // Cases about the stub verifier of the certificate lane say nothing about Beam and Pulse.
        if name.contains("cert verifier") || name.contains("no pulse verifier, required") {
            continue;
        }
        match (expected, ours) {
            (true, Err(reason)) => stricter.push((name, reason)),
            (true, Ok(state)) => {
                assert_eq!(state, State::PulseSealed);
                same += 1;
            }
            (false, ours) => {
                assert!(ours.is_err(), "{name}");
                same += 1;
            }
        }
    }
    assert!(same > 12, "{same}");
    assert_eq!(stricter, STRICTER);
}

/// F-37: the network is compared whatever lanes are skipped. An empty suite in a registry is not
/// expressible here, so that case is one of the accepted ones.
const STRICTER: [(&str, Reason); 1] = [(
    "network id + 1, skip beam of env-1",
    Reason::NetworkMismatch,
)];

fn judge(envelope: &Envelope<'_>, record: &Record, case: &Value) -> Result<State, Reason> {
    let options = &case["options"];
    let mut record = record.clone();
    let resolver = options["pulse_verifier"].as_str().unwrap_or_default();
    let pinned = options["hash_suite_id"].as_str();
    if resolver.contains("nil key") {
        record.group_key.clear();
        record.threshold = 0;
        record
            .members
            .iter_mut()
            .for_each(|member| member.points = 0);
    }
    if resolver.contains("BLAKE3") || pinned == Some("Pulsar-BLAKE3") {
        record.suite = SuiteId::PulsarBlake3;
    }
    let (num, den) = text(options, "quorum").split_once('/').unwrap();
    let quorum = (num.parse().unwrap(), den.parse().unwrap());
    let tier = if options["require_pulse"] == true {
        Tier::Pulse
    } else {
        Tier::Classical
    };
    let policy = Policy::new(&[config(&record, tier, quorum)]).unwrap();
    let network = record.key.network_id + u32::from(options["network_id"] == "+1");
    let registry = Registry::load(vec![record], &policy.pins()).unwrap();
    verify(envelope, &registry, &policy, &Context::new(network, 0, 0))
        .map(|verdict| verdict.state())
        .map_err(|refusal| refusal.reason())
}

/// The case's bytes: those of env-1 with a middle part replaced.
fn changed_wire(case: &Value, base: &[u8]) -> Vec<u8> {
    let diff = &case["diff_from_env"];
    if diff.is_null() {
        return base.to_vec();
    }
    let prefix = &base[..number(diff, "prefix") as usize];
    let suffix = &base[base.len() - number(diff, "suffix") as usize..];
    [prefix, &bytes(diff, "insert"), suffix].concat()
}
