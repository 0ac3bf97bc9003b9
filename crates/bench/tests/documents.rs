//! Documents that state figures are what the generator makes of the stored measurement.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::Path;

use horizon_bench::render::{page, with_readme_block};
use serde_json::Value;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap()
}

fn reports() -> [Value; 2] {
    ["kernel", "envelope"]
        .map(|part| serde_json::from_str(&read(&format!("docs/benchmarks/{part}.json"))).unwrap())
}

#[test]
fn no_figure_in_the_documents_is_typed_by_hand() {
    let reports = reports();
    assert_eq!(page(&reports), read("docs/benchmarks.md"));
    let readme = read("README.md");
    assert_eq!(with_readme_block(&readme, &reports).unwrap(), readme);
}

#[test]
fn a_readme_without_marks_is_left_alone() {
    assert_eq!(with_readme_block("no marks", &reports()), None);
}

/// Every `path::name` of the threat model is a test that exists.
#[test]
fn the_threat_model_points_at_tests_that_exist() {
    let text = read("docs/threat-model.md");
    let rows: Vec<&str> = text
        .split('`')
        .filter(|piece| piece.contains(".rs::"))
        .collect();
    assert!(rows.len() > 20, "only {} references", rows.len());
    for row in rows {
        let (file, name) = row.split_once("::").unwrap();
        // The bodies that run once per curve are generic.
        let source = read(file);
        let defined = ["(", "<"].map(|next| source.contains(&format!("fn {name}{next}")));
        assert!(
            defined.contains(&true),
            "the threat model names {row}, which does not exist"
        );
    }
}
