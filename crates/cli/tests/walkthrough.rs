//! The walkthrough: everything up to a verdict, then a refusal.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::process::{Command, Output};

fn horizon(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_horizon"))
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn the_walkthrough_delivers_a_verdict_and_refuses_a_changed_byte() {
    let ran = horizon(&["walkthrough"]);
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(text.contains("accepted: horizon-final"), "{text}");
    assert!(text.contains("refused: "), "{text}");
    let commands = text
        .lines()
        .filter(|line| line.starts_with("$ horizon "))
        .count();
    assert_eq!(commands, 11, "{text}");
}

#[test]
fn the_walkthrough_in_json_is_one_object_per_line() {
    let ran = horizon(&["--json", "walkthrough", "--validators", "5"]);
    assert!(ran.status.success());
    let text = String::from_utf8(ran.stdout).unwrap();
    let kinds: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["kind"].to_string())
        .collect();
    assert_eq!(kinds.last().unwrap(), "\"walkthrough\"");
    assert_eq!(kinds.iter().filter(|kind| *kind == "\"verify\"").count(), 2);
}

#[test]
fn the_walkthrough_keeps_its_files_on_request_and_overwrites_none() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let kept = kept.to_str().unwrap();
    assert!(horizon(&["walkthrough", "--keep", kept]).status.success());
    assert!(folder.path().join("kept/envelope").exists());
    assert_eq!(
        horizon(&["walkthrough", "--keep", kept]).status.code(),
        Some(6)
    );
}
