//! An envelope by hand: made, verified, broken, explained, inspected, with no network.

#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    reason = "a test of a program with std"
)]

#[path = "support/by_hand.rs"]
mod by_hand;
#[path = "support/common.rs"]
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use by_hand::{VERIFY, good, prepared, sealed, sign};
use common::{folder, objects, run};
use horizon_testkit::rng;
use serde_json::Value;

fn json(folder: &Path, line: &str) -> (i32, Vec<Value>) {
    let ran = run(folder, &format!("--json {line}"));
    (ran.code, objects(&ran))
}

/// The one object of a command in JSON.
fn object(folder: &Path, line: &str) -> (i32, Value) {
    let (code, mut objects) = json(folder, line);
    assert_eq!(objects.len(), 1, "{line}: {objects:?}");
    (code, objects.remove(0))
}

fn names(object: &Value) -> Vec<&str> {
    object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn keys_record_policy_and_three_lanes_make_a_horizon_final_envelope() {
    let folder = sealed("by-hand", 4, 3);
    let (code, verdict) = object(&folder, &format!("{VERIFY} envelope.bin"));
    assert_eq!(code, 0);
    assert_eq!(verdict["state"], "horizon-final");
    assert_eq!(verdict["pq_roots"], serde_json::json!(["certset", "pulse"]));
    let text = good(&folder, &format!("{VERIFY} envelope.bin")).stdout;
    for lane in ["beam", "certset", "pulse"] {
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(lane))
            .unwrap();
        assert!(line.ends_with(" ms"), "{line}");
    }
    let explained = good(
        &folder,
        "explain --registry registry.json --policy policy.json envelope.bin",
    );
    assert_eq!(
        explained.stdout.matches(" proven ").count(),
        3,
        "{}",
        explained.stdout
    );
    // The Beam alone, as version 1 bytes, is enough for a classical policy only.
    let refused = run(&folder, &format!("{VERIFY} message.bin"));
    assert_eq!(refused.code, 3);
    assert!(
        refused.stderr.contains("--message-generation"),
        "{}",
        refused.stderr
    );
    good(
        &folder,
        "policy new --registry registry.json --tier classical --out classical.json",
    );
    let (code, verdict) = object(
        &folder,
        "verify --registry registry.json --policy classical.json --message-generation 1:0 \
         message.bin",
    );
    assert_eq!((code, &verdict["state"]), (0, &Value::from("beam-final")));
}

#[test]
fn an_envelope_of_21_validators_is_verified_with_a_time_per_lane() {
    let folder = sealed("twenty-one", 21, 15);
    let len = fs::metadata(folder.join("envelope.bin")).unwrap().len();
    assert!((102_000..104_000).contains(&len), "{len}");
    let (code, verdict) = object(&folder, &format!("{VERIFY} envelope.bin"));
    assert_eq!((code, &verdict["accepted"]), (0, &Value::Bool(true)));
    let lanes = verdict["lanes"].as_array().unwrap();
    let times: Vec<u64> = lanes
        .iter()
        .map(|lane| lane["duration_ns"].as_str().unwrap().parse().unwrap())
        .collect();
    assert_eq!(times.len(), 3);
    assert!(times.iter().all(|ns| *ns > 0), "{times:?}");
    assert_eq!(verdict["total_weight"], "21");
    let sequential = run(&folder, &format!("{VERIFY} --sequential envelope.bin"));
    assert_eq!(sequential.code, 0, "{}", sequential.stderr);
}

#[test]
fn a_flipped_byte_anywhere_is_refused_with_a_reason_and_inspect_agrees() {
    let folder = sealed("flipped", 4, 3);
    let valid = fs::read(folder.join("envelope.bin")).unwrap();
    let (_, fields) = json(&folder, "inspect envelope.bin");
    let of = |name: &str| {
        let field = fields.iter().find(|field| field["field"] == name).unwrap();
        field["offset"].as_str().unwrap().parse::<usize>().unwrap()
    };
    // Every byte up to and including the first counts of the Pulse, then a sample over the lanes.
    let mut offsets: Vec<usize> = (0..of("pulse.c.coefficients")).collect();
    let attestation = of("attestation");
    offsets.extend(attestation..of("certset.signature[0]") + 2);
    offsets.push(valid.len() - 1);
    let seed = 0x1f11;
    let mut rng = rng(seed);
    offsets.extend((0..80).map(|_| rng.below(valid.len() as u64) as usize));
    for offset in offsets {
        let mut bytes = valid.clone();
        bytes[offset] ^= 1 << rng.below(8);
        fs::write(folder.join("bad.bin"), &bytes).unwrap();
        let place = format!("seed {seed:#x}, offset {offset}");
        let (code, refusal) = object(&folder, &format!("{VERIFY} bad.bin"));
        assert_eq!(
            (code, &refusal["accepted"]),
            (3, &Value::Bool(false)),
            "{place}"
        );
        for name in ["reason", "class", "text", "hint", "outcome"] {
            assert!(
                !refusal[name].as_str().unwrap().is_empty(),
                "{place}: {name}"
            );
        }
        let (code, objects) = json(&folder, "inspect bad.bin");
        let last = objects.last().unwrap();
        let error = &last["error"];
        assert_eq!(code == 3, !error.is_null(), "{place}: {last}");
        if !error.is_null() {
            // Prism looks at network and registry before the lanes; the same fault otherwise.
            let structural = refusal["offset"].is_string();
            assert!(
                !structural || refusal["reason"] == error["reason"],
                "{place}: {error}"
            );
            let at: usize = error["offset"].as_str().unwrap().parse().unwrap();
            assert!(at <= valid.len(), "{place}");
        }
    }
}

#[test]
fn inspect_points_at_the_malformed_byte() {
    let folder = sealed("pointed", 4, 3);
    let valid = fs::read(folder.join("envelope.bin")).unwrap();
    let (code, fields) = json(&folder, "inspect envelope.bin");
    assert_eq!(code, 0);
    let of = |name: &str, part: &str| {
        let field = fields.iter().find(|field| field["field"] == name).unwrap();
        field[part].as_str().unwrap().parse::<usize>().unwrap()
    };
    let start = |name| of(name, "offset");
    let body = |name| of(name, "offset") + of(name, "header");
    let range = start("pulse.z[3].coefficients");
    let cases = [
        (0, 0x03, "unknown-version", 0),
        (
            start("source_chain_id"),
            0x9f,
            "rlp-fixed-length",
            start("source_chain_id"),
        ),
        (
            start("signature_type"),
            1,
            "unknown-signature-type",
            start("signature_type"),
        ),
        (
            body("signers"),
            0x00,
            "non-canonical-signers",
            body("signers"),
        ),
        (
            start("source_key_era"),
            0x00,
            "rlp-integer-leading-zero",
            start("source_key_era"),
        ),
        (
            start("pulse.z[3].levels") + 7,
            0x7f,
            "pulse-count",
            start("pulse.z[3].levels"),
        ),
        (range + 15, 0xff, "pulse-range", range + 8),
        (
            start("certset.scheme"),
            0x09,
            "certset-kind",
            start("certset.scheme"),
        ),
        (
            start("certset.count") + 1,
            0,
            "certset-empty",
            start("certset.count"),
        ),
    ];
    for (at, byte, reason, marked) in cases {
        let mut bytes = valid.clone();
        bytes[at] = byte;
        fs::write(folder.join("bad.bin"), &bytes).unwrap();
        let (code, objects) = json(&folder, "inspect bad.bin");
        let error = &objects.last().unwrap()["error"];
        assert_eq!(
            (code, &error["reason"]),
            (3, &Value::from(reason)),
            "{at}: {error}"
        );
        assert_eq!(error["offset"], marked.to_string(), "{reason}");
        let shown = run(&folder, "inspect bad.bin");
        assert!(
            shown
                .stdout
                .contains(&format!("malformed at offset {marked}: {reason}"))
        );
        // The mark stands under the byte.
        let lines: Vec<&str> = shown.stdout.lines().collect();
        let mark = lines.iter().position(|line| line.trim() == "^^").unwrap();
        let column = lines[mark].find("^^").unwrap();
        let byte_shown = &lines[mark - 1][column..column + 2];
        assert_eq!(byte_shown, format!("{:02x}", bytes[marked]), "{reason}");
    }
    let cut = &valid[..valid.len() - 1];
    fs::write(folder.join("bad.bin"), cut).unwrap();
    assert!(
        run(&folder, "inspect bad.bin")
            .stdout
            .contains("rlp-truncated")
    );
    fs::write(folder.join("bad.bin"), b"").unwrap();
    let empty = run(&folder, "inspect bad.bin");
    assert_eq!(empty.code, 3);
    assert!(empty.stderr.contains("empty-input"), "{}", empty.stderr);
}

#[test]
fn inspect_decodes_every_file_that_the_builder_writes() {
    let folder = sealed("kinds", 4, 3);
    for (file, kind) in [
        ("envelope.bin", "envelope"),
        ("draft.bin", "envelope"),
        ("message.bin", "message"),
        ("pulse.bin", "pulse"),
        ("record.bin", "record"),
    ] {
        let (code, objects) = json(&folder, &format!("inspect {file}"));
        let (last, fields) = objects.split_last().unwrap();
        assert_eq!((code, &last["type"]), (0, &Value::from(kind)), "{file}");
        assert_eq!(last["well_formed"], true, "{file}");
        // Fields that hold no others cover the file without gap or overlap.
        let number =
            |field: &Value, name: &str| -> usize { field[name].as_str().unwrap().parse().unwrap() };
        let mut at = 0;
        for field in fields {
            assert_eq!(number(field, "offset"), at, "{file}: {field}");
            at += number(field, "header");
            if !field["hex"].is_null() {
                at += number(field, "size");
            }
        }
        assert_eq!(
            at as u64,
            fs::metadata(folder.join(file)).unwrap().len(),
            "{file}"
        );
    }
    let record = fs::read(folder.join("record.bin")).unwrap();
    fs::write(folder.join("bad.bin"), &record[..300]).unwrap();
    let (code, objects) = json(&folder, "inspect bad.bin");
    assert_eq!(code, 3);
    assert_eq!(
        objects.last().unwrap()["error"]["reason"],
        "record-truncated"
    );
}

#[test]
fn payloads_are_typed_by_the_reader_and_routed_ones_round_trip() {
    let folder = prepared("payloads", 4, 3);
    let to = by_hand::CHAIN;
    good(
        &folder,
        &format!(
            "message new --registry registry.json --payload body --to-chain {to} --to-network 9 \
             --nonce 5 --sender 0x01 --recipient 0x02 --out routed.bin"
        ),
    );
    let (_, objects) = json(&folder, "inspect --full routed.bin");
    let last = objects.last().unwrap();
    assert_eq!(last["payload_decodes_as"], serde_json::json!(["routed"]));
    let payload = objects
        .iter()
        .find(|field| field["field"] == "payload")
        .unwrap();
    let hex = payload["hex"].as_str().unwrap().trim_start_matches("0x");
    let bytes: Vec<u8> = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect();
    fs::write(folder.join("payload"), &bytes).unwrap();
    let (code, objects) = json(&folder, "inspect --as routed payload");
    assert_eq!(code, 0);
    let nonce = objects
        .iter()
        .find(|field| field["field"] == "routed.nonce")
        .unwrap();
    assert_eq!(nonce["note"], "5");
    let (code, objects) = json(&folder, "inspect --as call payload");
    assert_eq!(code, 3);
    assert!(objects.last().unwrap()["error"]["offset"].is_string());
}

/// A few payloads of each kind that the vectors have.
fn payload_vectors() -> Vec<Vec<u8>> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut payloads = Vec::new();
    for file in [
        "payload/atomic_swap.json",
        "payload/payloads.json",
        "teleport/teleport_rlp.json",
        "teleport/teleport_zap.json",
    ] {
        for case in horizon_testkit::vectors::vector(file)["cases"]
            .as_array()
            .unwrap()
        {
            let bytes = case["bytes"].as_str().or(case["payload"].as_str());
            let kind = case["kind"].as_str().unwrap_or_default().to_owned();
            let count = counts.entry(kind).or_default();
            let valid = case["error"].is_null();
            if let (true, Some(bytes)) = (valid && *count < 3, bytes) {
                payloads.push(horizon_testkit::vectors::from_hex(bytes).unwrap());
                *count += 1;
            }
        }
    }
    payloads
}

/// Every payload of the vectors is shown whole under its own type.
#[test]
fn every_payload_type_of_the_vectors_is_shown_field_by_field() {
    let folder = folder("payload-types");
    let mut seen = BTreeSet::new();
    for kind in [
        "routed",
        "call",
        "hash",
        "teleport",
        "teleport-fixed",
        "swap",
        "route",
        "asset-lock",
        "l1-registration",
        "register-l1",
        "l1-conversion",
        "l1-weight",
    ] {
        for bytes in payload_vectors() {
            fs::write(folder.join("payload"), bytes).unwrap();
            let (code, objects) = json(&folder, &format!("inspect --as {kind} payload"));
            let (last, fields) = objects.split_last().unwrap();
            assert_eq!(last["well_formed"], code == 0, "{kind}");
            if code != 0 {
                continue;
            }
            let whole: Vec<&Value> = fields
                .iter()
                .filter(|field| field["field"] == "rest")
                .collect();
            assert!(whole.is_empty(), "{kind}: {whole:?}");
            assert!(!fields.is_empty(), "{kind}");
            seen.insert(kind);
        }
    }
    assert!(seen.len() >= 8, "{seen:?}");
}

#[test]
fn too_few_signatures_are_refused_and_explain_says_what_is_missing() {
    let folder = prepared("few", 4, 3);
    sign(&folder, "beam", &[0, 1], "beam.json");
    sign(&folder, "certset", &[0, 1, 2], "certset.json");
    good(
        &folder,
        "aggregate --envelope draft.bin --registry registry.json --beam beam.json \
         --certset certset.json --out some.bin",
    );
    let line = "explain --registry registry.json --policy policy.json some.bin";
    let explained = run(&folder, line);
    assert_eq!(explained.code, 3);
    for text in [
        "beam     proven",
        "weight 2 of 4, 3 needed: too little",
        "certset  proven",
        "pulse    absent",
        "next: beam: collect weight 1 more",
        "next: pulse: the policy requires it",
    ] {
        assert!(
            explained.stdout.contains(text),
            "{text}: {}",
            explained.stdout
        );
    }
    let (code, object) = object(&folder, line);
    assert_eq!(code, 3);
    assert_eq!(object["verdict"]["reason"], "lane-missing");
    assert_eq!(object["lanes"][0]["needed_weight"], "3");
    // The rest comes later, on top of what is there.
    sign(&folder, "beam", &[2, 3, 0], "more.json");
    good(
        &folder,
        "sign pulse --keys group --signers 1,2,3 --envelope draft.bin --out pulse.bin",
    );
    good(
        &folder,
        "aggregate --envelope some.bin --registry registry.json --beam beam.json more.json \
         --pulse pulse.bin --out all.bin",
    );
    good(&folder, &format!("{VERIFY} all.bin"));
}

#[test]
fn aggregate_refuses_wrong_signatures_unless_told_to_build_a_broken_envelope() {
    let folder = prepared("wrong", 4, 3);
    fs::write(folder.join("body"), b"another message").unwrap();
    good(
        &folder,
        "message new --registry registry.json --payload body --out other.bin",
    );
    fs::rename(folder.join("draft.bin"), folder.join("mine.bin")).unwrap();
    fs::rename(folder.join("other.bin"), folder.join("draft.bin")).unwrap();
    sign(&folder, "beam", &[0, 1, 2], "beam.json");
    sign(&folder, "certset", &[0, 1, 2], "certset.json");
    good(
        &folder,
        "sign pulse --keys group --signers 0,1,2 --envelope draft.bin --out pulse.bin",
    );
    for (lane, file) in [
        ("beam", "beam.json"),
        ("certset", "certset.json"),
        ("pulse", "pulse.bin"),
    ] {
        let line = format!(
            "aggregate --envelope mine.bin --registry registry.json --{lane} {file} --out bad.bin"
        );
        let refused = run(&folder, &line);
        assert_eq!(refused.code, 3, "{lane}: {}", refused.stderr);
        assert!(refused.stderr.contains(file), "{lane}: {}", refused.stderr);
        assert!(!folder.join("bad.bin").exists());
    }
    good(
        &folder,
        "aggregate --envelope mine.bin --registry registry.json --beam beam.json \
         --certset certset.json --pulse pulse.bin --unchecked --out bad.bin",
    );
    let (code, refusal) = object(&folder, &format!("{VERIFY} bad.bin"));
    assert_eq!(
        (code, &refusal["reason"]),
        (3, &Value::from("beam-invalid"))
    );
    let explained = run(
        &folder,
        "explain --registry registry.json --policy policy.json bad.bin",
    );
    for reason in ["beam-invalid", "certset-invalid", "pulse-invalid"] {
        assert!(explained.stdout.contains(reason), "{}", explained.stdout);
    }
}

#[test]
fn the_json_objects_keep_their_fields() {
    let folder = sealed("schema", 4, 3);
    let (_, accepted) = object(&folder, &format!("{VERIFY} envelope.bin"));
    assert_eq!(
        names(&accepted),
        [
            "accepted",
            "chain_id",
            "duration_ns",
            "generation",
            "key_era",
            "kind",
            "lanes",
            "message_id",
            "network_id",
            "pq_roots",
            "record_hash",
            "schema",
            "state",
            "tier",
            "total_weight",
        ]
    );
    assert_eq!(accepted["schema"], 1);
    assert_eq!(
        names(&accepted["lanes"][0]),
        [
            "duration_ns",
            "lane",
            "post_quantum",
            "signed_weight",
            "signer_count",
            "wrapper_setup"
        ]
    );
    let (_, refused) = object(&folder, &format!("{VERIFY} draft.bin"));
    assert_eq!(
        names(&refused),
        [
            "accepted",
            "class",
            "field",
            "hint",
            "kind",
            "lane",
            "limit",
            "offset",
            "outcome",
            "reason",
            "schema",
            "text",
            "validator",
        ]
    );
    let (_, explained) = object(
        &folder,
        "explain --registry registry.json --policy policy.json envelope.bin",
    );
    assert_eq!(
        names(&explained),
        ["kind", "lanes", "next", "schema", "verdict"]
    );
    assert_eq!(
        names(&explained["lanes"][0]),
        [
            "hint",
            "lane",
            "needed_weight",
            "post_quantum",
            "reason",
            "required",
            "signed_weight",
            "signer_count",
            "status",
            "total_weight",
            "validator",
        ]
    );
    let (_, inspected) = json(&folder, "inspect envelope.bin");
    assert_eq!(
        names(&inspected[0]),
        [
            "depth", "field", "header", "hex", "kind", "note", "offset", "schema", "size"
        ]
    );
    let (_, record) = object(&folder, "registry show registry.json");
    assert_eq!(
        names(&record),
        [
            "chain_id",
            "generation",
            "has_group_key",
            "hash",
            "issued_at_s",
            "key_era",
            "kind",
            "members",
            "network_id",
            "previous",
            "schema",
            "suite",
            "threshold",
            "total_weight",
            "valid_from",
            "valid_until",
        ]
    );
    let kinds: BTreeSet<&str> = [&accepted, &refused, &explained, &record]
        .into_iter()
        .map(|object| object["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        BTreeSet::from(["explain", "registry.record", "verify"])
    );
}

#[test]
fn files_are_read_with_a_limit_and_a_bad_one_is_a_typed_refusal() {
    let folder = sealed("limits", 4, 3);
    let (code, refusal) = object(&folder, &format!("{VERIFY} /dev/zero"));
    assert_eq!(
        (code, &refusal["reason"]),
        (3, &Value::from("envelope-too-large"))
    );
    // Counts that ask for millions of fields get none of them.
    let mut crafted = vec![0; 8 << 20];
    crafted[..16].copy_from_slice(&[16, 8, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    fs::write(folder.join("crafted"), &crafted).unwrap();
    let (code, objects) = json(&folder, "inspect crafted");
    let (last, fields) = objects.split_last().unwrap();
    assert_eq!(
        (code, &last["error"]["reason"]),
        (3, &Value::from("pulse-too-large"))
    );
    assert!(fields.len() < 20_000, "{}", fields.len());
    let huge = fs::File::create(folder.join("huge.json")).unwrap();
    huge.set_len(65 << 20).unwrap();
    let refused = run(&folder, "registry show huge.json");
    assert_eq!(refused.code, 5);
    assert!(refused.stderr.contains("larger than"), "{}", refused.stderr);
    let line = "verify --registry registry.json --policy huge.json envelope.bin";
    assert_eq!(run(&folder, line).code, 5);
    let (code, error) = object(&folder, &format!("{VERIFY} missing.bin"));
    assert_eq!((code, &error["kind"]), (5, &Value::from("error")));
    assert_eq!(names(&error), ["exit_code", "kind", "schema", "text"]);
    fs::write(folder.join("syntax.json"), b"{\n \"format\": }").unwrap();
    let refused = run(&folder, "registry show syntax.json");
    assert_eq!(refused.code, 5);
    assert!(
        refused.stderr.contains("line 2 column"),
        "{}",
        refused.stderr
    );
    fs::write(folder.join("empty"), b"").unwrap();
    let (code, refusal) = object(&folder, &format!("{VERIFY} empty"));
    assert_eq!((code, &refusal["reason"]), (3, &Value::from("empty-input")));
}

#[test]
fn verification_without_a_height_is_the_strictest() {
    let folder = prepared("heights", 4, 3);
    good(
        &folder,
        &format!(
            "registry new --network 7 --chain {} --validators validators --group group \
             --valid-until 500 --out ending.json",
            by_hand::CHAIN
        ),
    );
    good(
        &folder,
        "policy new --registry ending.json --out ending-policy.json",
    );
    good(
        &folder,
        "message new --registry ending.json --payload body --out draft2.bin",
    );
    let line = "verify --registry ending.json --policy ending-policy.json";
    let (_, refusal) = object(&folder, &format!("{line} draft2.bin"));
    assert_eq!(refusal["reason"], "record-expired");
    let (_, refusal) = object(&folder, &format!("{line} --height 500 draft2.bin"));
    assert_eq!(refusal["reason"], "pq-evidence-missing");
    let line = format!("{VERIFY} --time 9999999999 draft.bin");
    assert_eq!(object(&folder, &line).1["reason"], "record-too-old");
    let line = format!("{VERIFY} --network 8 draft.bin");
    assert_eq!(object(&folder, &line).1["reason"], "network-mismatch");
}
