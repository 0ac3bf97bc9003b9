//! `horizon pulsar`: what a user sees, what is refused, what reaches the disk.

#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "support/common.rs"]
mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use common::{folder, objects, run};
use serde_json::json;

const VERIFY: &str = "pulsar verify --group-key keys/group.key --message message";

fn dealt(name: &str, t: u16, n: u16) -> std::path::PathBuf {
    let folder = folder(name);
    fs::write(folder.join("message"), b"a message between two chains").unwrap();
    let dealt = run(&folder, &format!("pulsar deal --n {n} --t {t} --out keys"));
    assert_eq!(dealt.code, 0, "{}", dealt.stderr);
    folder
}

fn sign(folder: &Path, signers: &str, out: &str) {
    let line = format!("pulsar sign --keys keys --signers {signers} --message message --out {out}");
    let signed = run(folder, &line);
    assert_eq!(signed.code, 0, "{}", signed.stderr);
    assert!(
        signed.stdout.contains("a demonstration"),
        "{}",
        signed.stdout
    );
}

#[test]
fn dealt_keys_sign_and_the_signature_verifies_for_every_signing_set() {
    let folder = dealt("sets", 2, 3);
    for (index, signers) in ["0,1", "0,2", "1,2"].iter().enumerate() {
        sign(&folder, signers, &format!("sig{index}"));
        let verified = run(&folder, &format!("{VERIFY} sig{index}"));
        assert_eq!(verified.code, 0, "{}", verified.stderr);
        assert!(verified.stdout.starts_with("valid under group key 0x"));
    }
}

#[test]
fn a_flipped_byte_in_signature_or_message_is_refused_with_exit_code_3() {
    let folder = dealt("flipped", 2, 2);
    sign(&folder, "0,1", "sig");
    let valid = fs::read(folder.join("sig")).unwrap();
    assert_eq!(valid.len(), 33_058);
    for offset in [0, 17, 30, 2_100, 20_000, valid.len() - 8] {
        let mut bytes = valid.clone();
        bytes[offset] ^= 1;
        fs::write(folder.join("bad"), bytes).unwrap();
        let refused = run(&folder, &format!("{VERIFY} bad"));
        assert_eq!(refused.code, 3, "offset {offset}: {}", refused.stdout);
        assert!(refused.stdout.is_empty() && refused.stderr.contains("refused"));
    }
    fs::write(folder.join("short"), &valid[..valid.len() - 1]).unwrap();
    assert_eq!(run(&folder, &format!("{VERIFY} short")).code, 3);
    fs::write(folder.join("message"), b"another message").unwrap();
    assert_eq!(run(&folder, &format!("{VERIFY} sig")).code, 3);
}

#[test]
fn the_other_suite_refuses_a_signature() {
    let folder = dealt("suite", 1, 1);
    sign(&folder, "0", "sig");
    assert_eq!(
        run(&folder, &format!("{VERIFY} sig --suite blake3")).code,
        3
    );
    assert_eq!(run(&folder, &format!("{VERIFY} sig --suite sha3")).code, 0);
}

#[test]
fn keys_and_signatures_are_never_overwritten() {
    let folder = dealt("overwrite", 2, 2);
    let before = fs::read(folder.join("keys/group.key")).unwrap();
    let again = run(&folder, "pulsar deal --n 2 --t 2 --out keys");
    assert_eq!(again.code, 5);
    assert!(
        again.stderr.contains("never overwritten"),
        "{}",
        again.stderr
    );
    assert_eq!(fs::read(folder.join("keys/group.key")).unwrap(), before);
    sign(&folder, "0,1", "sig");
    let again = run(
        &folder,
        "pulsar sign --keys keys --signers 0,1 --message message --out sig",
    );
    assert_eq!(again.code, 5, "{}", again.stderr);
}

#[test]
fn secrets_are_readable_by_their_owner_only_and_an_open_share_is_not_used() {
    let folder = dealt("modes", 2, 3);
    sign(&folder, "0,1", "sig");
    let mut secrets = 0;
    for entry in fs::read_dir(folder.join("keys")).unwrap() {
        let path = entry.unwrap().path();
        let secret = path
            .extension()
            .is_some_and(|end| end == "share" || end == "record");
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077 == 0, secret, "{}: {mode:o}", path.display());
        secrets += usize::from(secret);
    }
    assert_eq!(secrets, 5, "three shares and two session records");
    let share = folder.join("keys/member-001.share");
    fs::set_permissions(&share, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = run(
        &folder,
        "pulsar sign --keys keys --signers 0,1 --message message --out other",
    );
    assert_eq!(refused.code, 5);
    assert!(
        refused.stderr.contains("readable by others"),
        "{}",
        refused.stderr
    );
}

#[test]
fn wrong_numbers_and_signer_lists_are_usage_errors() {
    let folder = dealt("usage", 2, 3);
    for line in [
        "pulsar deal --n 2 --t 3 --out other",
        "pulsar deal --n 0 --t 0 --out other",
        "pulsar deal --n 2000 --t 3 --out other",
        "pulsar sign --keys keys --signers 0 --message message --out sig",
        "pulsar sign --keys keys --signers 1,0 --message message --out sig",
        "pulsar sign --keys keys --signers 0,0 --message message --out sig",
        "pulsar sign --keys keys --signers 0,7 --message message --out sig",
        "pulsar sign --keys keys --signers 0,1,2 --message message --out sig",
        "pulsar nothing",
    ] {
        let refused = run(&folder, line);
        assert_eq!(refused.code, 2, "{line}: {}", refused.stderr);
        assert!(!refused.stderr.is_empty());
    }
    assert!(!folder.join("sig").exists() && !folder.join("other").exists());
}

#[test]
fn missing_and_malformed_files_are_configuration_errors() {
    let folder = dealt("files", 2, 2);
    let sign = "pulsar sign --keys keys --signers 0,1 --message message --out sig";
    assert_eq!(
        run(&folder, &sign.replace("--keys keys", "--keys none")).code,
        5
    );
    assert_eq!(
        run(
            &folder,
            &sign.replace("--message message", "--message none")
        )
        .code,
        5
    );
    for (file, bytes) in [
        ("keys/member-001.share", &b"PLMS"[..]),
        ("keys/member-000.record", b"{\"version\":1,\"boot\":7"),
        ("keys/ledger.json", b"{}"),
        (
            "keys/committee.json",
            b"{\"version\":1,\"suite\":\"none\",\"members\":2,\"threshold\":2}",
        ),
        ("keys/group.key", b"CORG"),
    ] {
        let path = folder.join(file);
        let saved = fs::read(&path).ok();
        fs::write(&path, bytes).unwrap();
        if file.ends_with("share") || file.ends_with("record") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let refused = run(&folder, sign);
        assert_eq!(refused.code, 5, "{file}: {}", refused.stderr);
        assert!(refused.stderr.contains(file), "{file}: {}", refused.stderr);
        match saved {
            Some(saved) => fs::write(&path, saved).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
    assert_eq!(run(&folder, sign).code, 0);
}

#[test]
fn json_output_is_one_object_per_line_with_schema_and_kind() {
    let folder = folder("json");
    fs::write(folder.join("message"), b"m").unwrap();
    let dealt = run(&folder, "--json pulsar deal --n 1 --t 1 --out keys");
    let [object] = &objects(&dealt)[..] else {
        panic!("one line")
    };
    assert_eq!(
        (&object["schema"], &object["kind"]),
        (&json!(1), &json!("pulsar.deal"))
    );
    assert_eq!(object["dealer"], "trusted");
    let line = "pulsar sign --keys keys --signers 0 --message message --out sig --json";
    let [object] = &objects(&run(&folder, line))[..] else {
        panic!("one line")
    };
    assert_eq!(
        (&object["kind"], &object["demonstration"]),
        (&json!("pulsar.sign"), &json!(true))
    );
    let verified = run(&folder, &format!("{VERIFY} sig --json"));
    let [object] = &objects(&verified)[..] else {
        panic!("one line")
    };
    assert_eq!(object["valid"], true);
    fs::write(folder.join("message"), b"n").unwrap();
    let refused = run(&folder, &format!("{VERIFY} sig --json"));
    let [object] = &objects(&refused)[..] else {
        panic!("one line")
    };
    assert_eq!((refused.code, &object["valid"]), (3, &json!(false)));
}

#[test]
fn the_demo_signs_verifies_and_shows_a_refusal() {
    let demo = run(&folder("demo"), "pulsar demo");
    assert_eq!(demo.code, 0, "{}", demo.stderr);
    for step in ["dealt", "signed", "verified", "changed one byte: refused"] {
        assert!(
            demo.stdout.lines().any(|line| line.starts_with(step)),
            "{step}: {}",
            demo.stdout
        );
    }
}

#[test]
fn doctor_and_completions_print_something_useful() {
    let folder = folder("doctor");
    assert!(
        run(&folder, "doctor")
            .stdout
            .contains("ring backends: portable")
    );
    let [object] = &objects(&run(&folder, "doctor --json"))[..] else {
        panic!("one line")
    };
    assert_eq!(object["audited"], false);
    assert!(run(&folder, "completions bash").stdout.contains("_horizon"));
}
