//! The wrapper's commands, as far as they go without a key of hundreds of megabytes.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::process::{Command, Output};

fn horizon(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_horizon"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap()
}

fn refusal(ran: &Output) -> (Option<i32>, String) {
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    (ran.status.code(), text)
}

#[test]
fn files_that_are_no_keys_are_refused_and_none_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("junk"), [7; 224]).unwrap();
    std::fs::write(folder.path().join("short"), b"short").unwrap();
    for file in ["junk", "short"] {
        let (code, text) = refusal(&horizon(folder.path(), &["wrapper", "info", file]));
        assert_eq!(code, Some(5), "{text}");
    }
    let setup = ["wrapper", "setup", "dev", "--slots", "1"];
    let over = [&setup[..], &["--key", "junk", "--verifying-key", "new"]].concat();
    let (code, text) = refusal(&horizon(folder.path(), &over));
    assert_eq!(code, Some(5));
    assert!(text.contains("never overwritten"), "{text}");
    for slots in ["0", "65"] {
        let wrong = ["wrapper", "setup", "dev", "--slots", slots, "--key", "k"];
        let wrong = [&wrong[..], &["--verifying-key", "v"]].concat();
        let (code, text) = refusal(&horizon(folder.path(), &wrong));
        assert_eq!(code, Some(2), "{text}");
    }
    assert_eq!(std::fs::read(folder.path().join("junk")).unwrap(), [7; 224]);
}

#[test]
fn an_envelope_without_a_key_file_is_not_wrapped() {
    let folder = tempfile::tempdir().unwrap();
    assert!(
        horizon(folder.path(), &["walkthrough", "--keep", "kept"])
            .status
            .success()
    );
    let prove = [
        "wrapper",
        "prove",
        "--envelope",
        "kept/envelope",
        "--out",
        "wrapped",
    ];
    let files = [
        "--registry",
        "kept/registry.json",
        "--key",
        "kept/registry.json",
    ];
    let (code, text) = refusal(&horizon(folder.path(), &[&prove[..], &files].concat()));
    assert_eq!(code, Some(5));
    assert!(text.contains("does not start as a key file"), "{text}");
    let check = [
        "verify",
        "--policy",
        "kept/policy.json",
        "--registry",
        "kept/registry.json",
    ];
    let key = ["--wrapper-key", "kept/policy.json", "kept/envelope"];
    let (code, text) = refusal(&horizon(folder.path(), &[&check[..], &key].concat()));
    assert_eq!(code, Some(5));
    assert!(text.contains("does not start as a key record"), "{text}");
    assert!(!folder.path().join("wrapped").exists());
}
