//! `docs/wire-format.md`: its worked example is the vector file's, byte for byte.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::{Path, PathBuf};

use horizon_cli::vectors::Runner;

fn repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

/// The first column of the document's block that is marked `hex`.
fn example() -> String {
    let document = fs::read_to_string(repository("docs/wire-format.md")).unwrap();
    let (_, rest) = document.split_once("```hex\n").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    let bytes = block.lines().map(|line| line.split('#').next().unwrap());
    bytes.flat_map(str::split_whitespace).collect()
}

#[test]
fn the_worked_example_of_the_document_is_the_vector() {
    let path = repository("vectors/wire-format/envelope.json");
    let file: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(example(), file["cases"][0]["envelope_bytes"]);
    let report = Runner::default().run(&path).unwrap();
    assert_eq!((report.passed, report.failed.len()), (1, 0));
    assert!(report.unchecked.is_empty());
}
