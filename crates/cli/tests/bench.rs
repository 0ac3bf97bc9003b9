//! `horizon bench`: sections by name, files, comparison.

#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "support/common.rs"]
mod common;

use std::fs;

use common::{folder, objects, run};

#[test]
fn a_section_by_name_writes_its_result_and_both_documents() {
    let folder = folder("bench-sections");
    let ran = run(&folder, "bench guards sizes --quick --out out");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("Frame walker on C lane"),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("SHA3-256"), "{}", ran.stdout);
    let read = |name: &str| fs::read_to_string(folder.join("out").join(name)).unwrap();
    let result: serde_json::Value = serde_json::from_str(&read("results.json")).unwrap();
    assert_eq!(result["command"], "horizon bench guards sizes --quick");
    assert_eq!(result["sections"], serde_json::json!(["guards", "sizes"]));
    assert!(
        result["times"]["warp/guard/all"]["median_ns"]
            .as_f64()
            .unwrap()
            > 0.0
    );
    assert!(read("benchmarks.md").contains("section `hash` was not asked for"));
    assert!(read("benchmarks.html").starts_with("<!doctype html>"));
}

#[test]
fn a_run_is_compared_with_another_ones_file() {
    let folder = folder("bench-compare");
    assert_eq!(run(&folder, "bench guards --quick --out first").code, 0);
    let ran = run(
        &folder,
        "--json bench guards --quick --compare first/results.json",
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let objects = objects(&ran);
    let of = |kind: &str| {
        objects
            .iter()
            .filter(|object| object["kind"] == kind)
            .count()
    };
    assert_eq!(of("bench"), 1);
    assert!(of("difference") > 5, "{}", ran.stdout);
}

#[test]
fn an_unknown_section_is_a_usage_error_and_a_foreign_file_a_configuration_error() {
    let folder = folder("bench-errors");
    assert_eq!(run(&folder, "bench everything --quick").code, 2);
    fs::write(folder.join("other.json"), "{}").unwrap();
    let ran = run(&folder, "bench guards --quick --compare other.json");
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert_eq!(
        run(&folder, "bench guards --quick --compare missing.json").code,
        6
    );
}
