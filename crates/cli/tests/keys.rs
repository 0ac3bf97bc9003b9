//! `horizon keys`, `registry` and `policy`: what reaches the disk, what is refused.

#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    reason = "a test of a program with std"
)]

#[path = "support/by_hand.rs"]
mod by_hand;
#[path = "support/common.rs"]
mod common;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use by_hand::{CHAIN, good, prepared};
use common::{folder, objects, run};
use serde_json::Value;

const SCHEMES: [&str; 8] = [
    "bls",
    "ml-dsa-44",
    "ml-dsa-65",
    "ml-dsa-87",
    "slh-dsa",
    "ed25519",
    "p256",
    "secp256k1",
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn keys_of_every_scheme_are_private_never_overwritten_and_never_printed() {
    let folder = folder("schemes");
    for scheme in SCHEMES {
        let made = good(
            &folder,
            &format!("--json keys new {scheme} --out {scheme}.key"),
        );
        let path = folder.join(format!("{scheme}.key"));
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{scheme}");
        let secret = fs::read(&path).unwrap();
        let again = run(&folder, &format!("keys new {scheme} --out {scheme}.key"));
        assert_eq!(again.code, 5, "{scheme}");
        assert_eq!(fs::read(&path).unwrap(), secret, "{scheme}");
        let shown = good(&folder, &format!("--json keys show {scheme}.key"));
        let text = good(&folder, &format!("keys show {scheme}.key"));
        // Tag of 21 bytes, length of the name, name, secret; SLH-DSA's ends in the public key.
        let body = &secret[22 + scheme.len()..];
        let body = if scheme == "slh-dsa" {
            &body[..48]
        } else {
            body
        };
        let public = fs::read_to_string(folder.join(format!("{scheme}.key.pub"))).unwrap();
        for output in [
            &made.stdout,
            &made.stderr,
            &shown.stdout,
            &text.stdout,
            &public,
        ] {
            for part in body.chunks_exact(16) {
                assert!(!output.contains(&hex(part)), "{scheme}");
            }
        }
        let (made, shown) = (&objects(&made)[0], &objects(&shown)[0]);
        assert_eq!(made["public_key"], shown["public_key"], "{scheme}");
        assert_eq!(shown["scheme"], scheme);
        let public: Value = serde_json::from_str(&public).unwrap();
        assert_eq!(public["public_key"], shown["public_key"], "{scheme}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let open = run(&folder, &format!("keys show {scheme}.key"));
        assert_eq!(open.code, 5, "{scheme}");
        assert!(open.stderr.contains("chmod 600"), "{}", open.stderr);
    }
    // A public file alone is in the way as well.
    fs::remove_file(folder.join("bls.key")).unwrap();
    assert_eq!(run(&folder, "keys new bls --out bls.key").code, 5);
    assert!(!folder.join("bls.key").exists());
}

#[test]
fn a_damaged_key_file_or_one_of_another_scheme_is_refused() {
    let folder = prepared("damaged", 4, 3);
    let path = folder.join("validators/validator-000/beam.key");
    let valid = fs::read(&path).unwrap();
    for len in [0, 10, 21, 22, 25, valid.len() - 1] {
        fs::write(&path, &valid[..len]).unwrap();
        let refused = run(&folder, "keys show validators/validator-000/beam.key");
        assert_eq!(refused.code, 5, "{len}: {}", refused.stdout);
    }
    let swapped = run(
        &folder,
        "sign beam --key validators/validator-001/certset.key --envelope draft.bin --out x",
    );
    assert_eq!(swapped.code, 5);
    assert!(
        swapped.stderr.contains("a ml-dsa-65 key, wanted bls"),
        "{}",
        swapped.stderr
    );
}

#[test]
fn a_registry_grows_by_generations_and_eras_and_a_changed_record_is_refused() {
    let folder = prepared("grows", 4, 3);
    let next = |previous: &str, group: &str, out: &str| {
        good(
            &folder,
            &format!(
                "--json registry new --network 7 --chain {CHAIN} --validators validators \
                 --group {group} --previous {previous} --out {out}"
            ),
        )
    };
    let made = objects(&next("registry.json", "group", "second.json"));
    assert_eq!(
        (&made[0]["key_era"], &made[0]["generation"]),
        (&"1".into(), &"1".into())
    );
    good(&folder, "pulsar deal --n 4 --t 3 --out group2");
    let made = objects(&next("second.json", "group2", "third.json"));
    assert_eq!(
        (&made[0]["key_era"], &made[0]["generation"]),
        (&"2".into(), &"0".into())
    );
    let head = made[0]["hash"].as_str().unwrap();
    good(&folder, &format!("registry verify third.json --pin {head}"));
    let wrong = "0x".to_owned() + &"11".repeat(32);
    let refused = run(
        &folder,
        &format!("registry verify third.json --pin {wrong}"),
    );
    assert_eq!(refused.code, 3);
    assert!(refused.stderr.contains("chain-pin"), "{}", refused.stderr);
    let text = fs::read_to_string(folder.join("third.json")).unwrap();
    let changed = text.replacen("\"weight\": \"1\"", "\"weight\": \"9\"", 1);
    assert_ne!(text, changed);
    fs::write(folder.join("changed.json"), changed).unwrap();
    let refused = run(&folder, "registry verify changed.json");
    assert_eq!(refused.code, 3);
    assert!(
        refused.stderr.contains("chain-previous"),
        "{}",
        refused.stderr
    );
    let text = run(&folder, "registry show third.json").stdout;
    assert_eq!(text.matches("record 0x").count(), 3);
}

#[test]
fn chain_ids_are_read_as_hex_or_cb58_and_printed_as_hex() {
    let folder = prepared("cb58", 4, 3);
    let shown = objects(&run(&folder, "--json inspect draft.bin"));
    let cb58 = shown.last().unwrap()["chain_id_cb58"].as_str().unwrap();
    let line = format!("message new --registry registry.json --payload body --chain {cb58}");
    let made = objects(&good(&folder, &format!("--json {line} --out again.bin")));
    assert_eq!(made[0]["chain_id"], CHAIN);
    let again = fs::read(folder.join("again.bin")).unwrap();
    assert_eq!(again, fs::read(folder.join("draft.bin")).unwrap());
    for bad in ["0xC4", "2VfC3qDLo2wuQqRcs", "0x12"] {
        let line = format!("message new --registry registry.json --payload body --chain {bad}");
        assert_eq!(
            run(&folder, &format!("{line} --out bad.bin")).code,
            2,
            "{bad}"
        );
    }
}

#[test]
fn lint_finds_in_every_sample_what_the_sample_says() {
    let samples = format!("{}/../../vectors/lint", env!("CARGO_MANIFEST_DIR"));
    let folder = folder("lint");
    let mut count = 0;
    for entry in fs::read_dir(samples).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let sample: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let expected: BTreeSet<String> = sample["expect"]
            .as_array()
            .unwrap()
            .iter()
            .map(|code| code.as_str().unwrap().to_owned())
            .collect();
        let ran = run(&folder, &format!("--json policy lint {}", path.display()));
        let objects = objects(&ran);
        let (total, findings) = objects.split_last().unwrap();
        let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
        let found = findings.iter().map(|finding| text(finding, "rule"));
        assert_eq!(
            found.collect::<BTreeSet<_>>(),
            expected,
            "{}",
            path.display()
        );
        let refuse = findings
            .iter()
            .any(|finding| text(finding, "severity") == "refuse");
        assert_eq!(ran.code, if refuse { 3 } else { 0 }, "{}", path.display());
        assert_eq!(total["refuse"].as_u64().unwrap() > 0, refuse);
        count += 1;
    }
    assert!(count >= 20, "{count}");
    fs::write(
        folder.join("bad.json"),
        b"{\"format\":\"horizon-policy-v1\"}",
    )
    .unwrap();
    assert_eq!(run(&folder, "policy lint bad.json").code, 2);
    fs::write(folder.join("text"), b"no json").unwrap();
    assert_eq!(run(&folder, "policy lint text").code, 5);
}

#[test]
fn unknown_commands_and_missing_arguments_are_usage_errors() {
    let folder = folder("usage");
    for line in [
        "frobnicate",
        "verify",
        "verify --registry r envelope",
        "keys new rsa --out x",
        "keys new bls",
        "inspect --as nothing file",
        "sign beam",
        "policy",
    ] {
        let refused = run(&folder, line);
        assert_eq!(refused.code, 2, "{line}");
        assert!(
            refused.stdout.is_empty() && !refused.stderr.is_empty(),
            "{line}"
        );
    }
}
