//! `horizon vectors run`: every file of the repository, and files that are wrong.

#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "support/common.rs"]
mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{folder, horizon, objects, run};
use serde_json::json;

fn repository_vectors(folders: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let files = |folder: &&str| -> Vec<PathBuf> {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let mut paths: Vec<String> = folders
        .iter()
        .flat_map(files)
        .map(|path| path.to_str().unwrap().to_owned())
        .filter(|path| path.ends_with(".json") || path.ends_with(".json.gz"))
        .collect();
    paths.sort();
    paths
}

const FOLDERS: [&str; 20] = [
    "hash",
    "prng",
    "samplers",
    "ntt",
    "shamir",
    "primitives",
    "sign",
    "verify",
    "pulse",
    "sp800-185",
    "warp-v1",
    "warp-v2",
    "payload",
    "teleport",
    "bls",
    "acvp",
    "wycheproof",
    "slh-dsa",
    "lens",
    "wire-format",
];

#[test]
fn every_case_of_the_repository_passes_and_every_field_has_a_check() {
    let files = repository_vectors(&FOLDERS);
    assert!(files.len() >= 20, "the vectors folder is complete");
    let arguments = ["vectors", "run"]
        .into_iter()
        .chain(files.iter().map(String::as_str));
    let ran = horizon(&folder("all"), arguments);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert_eq!(ran.stderr, "", "a field without a check is announced there");
    let last = ran.stdout.lines().last().unwrap();
    let passed: usize = last
        .strip_suffix(" passed, 0 failed")
        .unwrap()
        .parse()
        .unwrap();
    assert!(passed > 1000, "{last}");
    assert!(ran.stdout.contains("checked as our strict behaviour"));
}

#[test]
fn a_changed_value_fails_its_case_by_name_with_exit_code_3() {
    let folder = folder("changed");
    let path = repository_vectors(&["prng"]).remove(0);
    let mut document: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    document["cases"][2]["sha256_100000"] = json!("00".repeat(32));
    fs::write(folder.join("file.json"), document.to_string()).unwrap();
    let ran = run(&folder, "vectors run file.json");
    assert_eq!(ran.code, 3);
    let name = document["cases"][2]["name"].as_str().unwrap();
    assert!(ran.stdout.contains(&format!(
        "FAILED file.json #2 {name}: sha256_100000 differs"
    )));
    assert!(
        ran.stdout
            .lines()
            .last()
            .unwrap()
            .ends_with(" passed, 1 failed")
    );
    let lines = objects(&run(&folder, "vectors run file.json --json"));
    assert_eq!(lines.last().unwrap()["failed"], 1);
    assert!(lines.iter().all(|line| line["schema"] == 1));
}

/// Changes one leaf at a time in files of every kind: each change must make a case fail.
#[test]
fn no_field_can_be_altered_without_a_failure() {
    let folder = folder("altered");
    for name in [
        "hash/suite_pulsar_sha3.json",
        "samplers/ternary.json",
        "shamir/general.json",
        "shamir/lagrange.json",
        "ntt/l2norm.json",
        "sign/generate_keys.json",
        "warp-v1/messages.json",
        "lens/dkg_secp256k1.json",
        "lens/reshare_ed25519.json",
    ] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
        let document: serde_json::Value =
            serde_json::from_slice(&fs::read(root.join(name)).unwrap()).unwrap();
        let cases = document["cases"].as_array().unwrap();
        let case = cases
            .iter()
            .rfind(|case| case.get("error").is_none())
            .unwrap();
        for (field, value) in case.as_object().unwrap() {
            if INFORMATION.contains(&field.as_str()) {
                continue;
            }
            let mut changed = case.clone();
            changed[field] = alter(value);
            let mut file = document.clone();
            file["cases"] = json!([changed]);
            fs::write(folder.join("file.json"), file.to_string()).unwrap();
            let ran = run(&folder, "vectors run file.json");
            assert_ne!(ran.code, 0, "{name}: {field} was altered unnoticed");
        }
    }
}

/// Fields that only inform a reader, like the outcome of the reference's key generation as a text.
const INFORMATION: [&str; 5] = ["name", "outcome", "panic", "label", "fn"];

fn alter(value: &serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Bool(flag) => json!(!flag),
        serde_json::Value::Number(number) => json!(number.as_u64().unwrap() + 1),
        serde_json::Value::String(text) => match text.parse::<u128>() {
            Ok(number) if text.len() < 32 => json!((number + 1).to_string()),
            _ => json!(format!("{text}00")),
        },
        serde_json::Value::Array(items) => match items.split_first() {
            Some((first, rest)) => {
                json!([vec![alter(first)], rest.to_vec()].concat())
            }
            None => json!(["00"]),
        },
        serde_json::Value::Object(fields) => {
            let mut fields = fields.clone();
            let first = fields.keys().next().unwrap().clone();
            fields[&first] = alter(&fields[&first]);
            serde_json::Value::Object(fields)
        }
        serde_json::Value::Null => json!(1),
    }
}

#[test]
fn unreadable_files_and_unknown_formats_have_their_own_exit_codes() {
    let folder = folder("unknown");
    for (content, code) in [
        ("", 5),
        ("{\"cases\": [", 5),
        ("\u{1f}\u{8b}", 5),
        ("{}", 2),
        ("{\"cases\": [{\"colour\": \"blue\"}]}", 2),
        ("[1, 2, 3]", 2),
    ] {
        fs::write(folder.join("file.json"), content).unwrap();
        let ran = run(&folder, "vectors run file.json");
        assert_eq!(ran.code, code, "{content:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("file.json"));
        assert_eq!(ran.stdout.lines().last(), Some("0 passed, 0 failed"));
    }
    assert_eq!(run(&folder, "vectors run none.json").code, 5);
    assert_eq!(run(&folder, "vectors run").code, 2);
}

#[test]
fn referenced_signatures_that_are_missing_are_named() {
    let folder = folder("missing");
    // The runner also looks into the repository around it, so the name must exist nowhere.
    for (file, of) in [
        ("absent", "a session of nobody"),
        ("file", "tk-0-n2-Pulsar-SHA3"),
    ] {
        let case = json!({"of": of, "mutation": "none", "accept": true});
        let text = json!({"cases": [case]}).to_string();
        fs::write(folder.join(file).with_extension("json"), text).unwrap();
    }
    let ran = run(&folder, "vectors run absent.json");
    assert_eq!(ran.code, 3);
    assert!(
        ran.stdout
            .contains("signing case a session of nobody was not found")
    );
    let sign = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/sign");
    let line = format!("vectors run file.json --sign-dir {}", sign.display());
    assert_eq!(run(&folder, &line).code, 0);
}
