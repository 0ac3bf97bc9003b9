//! `horizon keys validator` and `horizon network`: from keys to a genesis that nodes start with.

#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    reason = "a test of a program with std"
)]

#[path = "support/common.rs"]
mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use common::{Ran, folder, objects, run};
use serde_json::Value;

const CHAINS: [&str; 2] = [
    "0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1",
    "0xb2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2",
];

fn good(folder: &Path, line: &str) -> Ran {
    let ran = run(folder, line);
    assert_eq!(ran.code, 0, "{line}: {}{}", ran.stdout, ran.stderr);
    ran
}

fn refused(folder: &Path, line: &str, code: i32, words: &str) {
    let ran = run(folder, line);
    assert_eq!(ran.code, code, "{line}: {}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains(words), "{line}: {}", ran.stderr);
    assert_eq!(
        ran.stderr.lines().count(),
        1,
        "one sentence: {}",
        ran.stderr
    );
}

/// Keys of `n` validators of a network.
fn validators(folder: &Path, network: &str, n: u16) -> String {
    let base = if network == "a" { 9100 } else { 9200 };
    let mut all = Vec::new();
    for index in 0..n {
        let out = format!("{network}/v{index}");
        let port = base + index;
        good(
            folder,
            &format!(
                "keys validator --out {out} --name {network}{index} --address 127.0.0.1:{port}"
            ),
        );
        all.push(out);
    }
    all.join(" ")
}

fn init(folder: &Path, network: &str, n: u16, more: &str) -> Ran {
    let files = validators(folder, network, n);
    let (number, chain) = if network == "a" {
        (1, CHAINS[0])
    } else {
        (2, CHAINS[1])
    };
    run(
        folder,
        &format!(
            "--json network init --network {number} --chain {chain} --name net-{network} \
             --out {network}/net {more} --validators {files}"
        ),
    )
}

#[test]
fn a_validator_has_one_private_file_per_key_and_a_public_file_with_proofs() {
    let folder = folder("network-keys");
    good(
        &folder,
        "keys validator --out v --name one --address 127.0.0.1:9000",
    );
    assert_eq!(
        fs::metadata(folder.join("v")).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let public = fs::read_to_string(folder.join("v/validator.json")).unwrap();
    for file in ["link", "consensus", "beam", "certset", "sealing"] {
        let path = folder.join(format!("v/{file}.key"));
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600,
            "{file}"
        );
        // Whatever the scheme, the secret is what follows tag and name.
        let secret = fs::read(&path).unwrap();
        let name = usize::from(secret[21]);
        let hex: String = secret[22 + name..]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert!(!public.contains(&hex), "{file}");
    }
    refused(
        &folder,
        "keys validator --out v --name one --address 127.0.0.1:9000",
        5,
        "never overwritten",
    );
    refused(
        &folder,
        "keys validator --out w --name one --address 127.0.0.1:0",
        2,
        "a port",
    );
}

#[test]
fn two_networks_are_dealt_connected_and_checked_by_each_validator() {
    let folder = folder("network-two");
    for network in ["a", "b"] {
        let made = init(&folder, network, 4, "");
        assert_eq!(made.code, 0, "{}", made.stderr);
        let made = &objects(&made)[0];
        assert_eq!(
            (&made["threshold"], &made["dealer"]),
            (&3.into(), &"trusted".into())
        );
    }
    good(
        &folder,
        "network connect --network a/net --counterpart b/net/record.json",
    );
    good(
        &folder,
        "network connect --network b/net --counterpart a/net/record.json",
    );
    let mut positions = Vec::new();
    for index in 0..4 {
        let line = format!(
            "--json network check --network a/net --keys a/v{index} \
             --share a/net/shares/a{index}.share"
        );
        let checked = &objects(&good(&folder, &line))[0];
        assert_eq!(checked["connected"], true);
        positions.push(checked["position"].as_u64().unwrap());
        let path = folder.join(format!("a/net/shares/a{index}.share"));
        assert_eq!(
            fs::metadata(path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    positions.sort_unstable();
    assert_eq!(positions, [0, 1, 2, 3]);
    // Another's share, another network's share, another network's keys.
    let check = |keys: &str, share: &str| {
        format!("network check --network a/net --keys {keys} --share {share}")
    };
    refused(
        &folder,
        &check("a/v0", "a/net/shares/a1.share"),
        5,
        "another member",
    );
    refused(
        &folder,
        &check("a/v0", "b/net/shares/b0.share"),
        5,
        "another",
    );
    refused(
        &folder,
        &check("b/v0", "a/net/shares/a0.share"),
        5,
        "link.key",
    );
    fs::set_permissions(
        folder.join("a/v0/beam.key"),
        fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    refused(
        &folder,
        &check("a/v0", "a/net/shares/a0.share"),
        5,
        "chmod 600",
    );
    // A changed leaf: the dealer told the members different things.
    let path = folder.join("a/net/dealing.json");
    let mut dealing: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for leaf in dealing["cross_leaves"].as_array_mut().unwrap() {
        *leaf = Value::from(format!("0x{}", "00".repeat(32)));
    }
    fs::write(&path, dealing.to_string()).unwrap();
    refused(
        &folder,
        &check("a/v1", "a/net/shares/a1.share"),
        3,
        "leaves",
    );
    // Nothing is dealt or connected twice into one folder.
    let again = run(
        &folder,
        "network connect --network a/net --counterpart b/net/record.json",
    );
    assert_eq!(again.code, 5, "{}", again.stderr);
    refused(
        &folder,
        "network connect --network a/net --counterpart a/net/record.json",
        5,
        "this network",
    );
}

#[test]
fn what_a_dealer_is_is_said_before_anything_is_dealt() {
    let folder = folder("network-dealer");
    let files = validators(&folder, "a", 4);
    let line = format!(
        "network init --network 1 --chain {} --name net --out a/net --validators {files}",
        CHAINS[0]
    );
    let made = good(&folder, &line);
    let said: Vec<&str> = made.stdout.lines().take(4).collect();
    assert!(
        said.join(" ")
            .contains("whoever runs it could keep them all"),
        "{said:?}"
    );
}

#[test]
fn networks_that_break_a_rule_are_refused_with_one_sentence() {
    let folder = folder("network-refused");
    let files = validators(&folder, "a", 4);
    let line = |more: &str, files: &str| {
        format!(
            "network init --network 1 --chain {} --name net --out a/net {more} --validators {files}",
            CHAINS[0]
        )
    };
    // Three of four members hold 12 of 112 weight together in the worst case.
    refused(
        &folder,
        &line("--weights 4,4,4,100", &files),
        5,
        "12 of 112 weight",
    );
    refused(&folder, &line("--threshold 2", &files), 5, "two thirds");
    refused(
        &folder,
        &line("--threshold 5", &files),
        2,
        "threshold 5 with 4",
    );
    refused(
        &folder,
        &line("--weights 1,1", &files),
        2,
        "2 weights for 4 validators",
    );
    let twice = format!("{files} a/v0");
    refused(&folder, &line("", &twice), 5, "another validator is called");
    assert!(!folder.join("a/net").exists(), "nothing was written");
    // A statement with one field changed is not what its keys signed.
    let path = folder.join("a/v0/validator.json");
    let original = fs::read_to_string(&path).unwrap();
    let file: Value = serde_json::from_str(&original).unwrap();
    for (field, value) in [
        ("name", Value::from("mallory")),
        ("address", Value::from("127.0.0.1:9999")),
        ("sealing_key", other(&folder, "sealing_key")),
        ("certset_key", other(&folder, "certset_key")),
        ("consensus_key", other(&folder, "consensus_key")),
        ("beam_key", other(&folder, "beam_key")),
        ("beam_possession", other(&folder, "beam_possession")),
        ("identity", other(&folder, "identity")),
    ] {
        let mut changed = file.clone();
        changed[field] = value;
        fs::write(&path, changed.to_string()).unwrap();
        refused(&folder, &line("", &files), 3, "does not verify");
    }
    let mut unknown = file;
    unknown["extra"] = Value::from(1);
    fs::write(&path, unknown.to_string()).unwrap();
    refused(&folder, &line("", &files), 5, "unknown field");
    fs::write(&path, original).unwrap();
    good(&folder, &line("", &files));
}

/// The same field of another validator.
fn other(folder: &Path, field: &str) -> Value {
    let bytes = fs::read(folder.join("a/v1/validator.json")).unwrap();
    let file: Value = serde_json::from_slice(&bytes).unwrap();
    file[field].clone()
}
