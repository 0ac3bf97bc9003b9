//! Documents that state figures are what the generator makes of the stored result.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::Path;

use horizon_bench::{Results, render, tables};

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap()
}

fn stored() -> Results {
    Results::from_json(read("docs/benchmarks/results.json").as_bytes()).unwrap()
}

#[test]
fn no_figure_in_the_documents_is_typed_by_hand() {
    let results = stored();
    let stale = "differs from the stored result: run `just documents`";
    let page = render::markdown(&results).unwrap();
    assert!(
        page == read("docs/benchmarks.md"),
        "docs/benchmarks.md {stale}"
    );
    let html = render::html(&results).unwrap();
    assert!(
        html == read("docs/benchmarks.html"),
        "docs/benchmarks.html {stale}"
    );
    let readme = read("README.md");
    let fresh = render::readme(&readme, &results).unwrap().unwrap();
    assert!(fresh == readme, "README.md {stale}");
}

#[test]
fn the_tables_in_the_result_are_what_its_figures_say() {
    let results = stored();
    let text = |value: &serde_json::Value| serde_json::to_string(value).unwrap();
    assert!(
        text(&tables::to_json(&results).unwrap()) == text(&results.tables),
        "tables are stale"
    );
}

#[test]
fn a_readme_without_marks_is_left_alone() {
    assert_eq!(render::readme("no marks", &stored()).unwrap(), None);
}

#[test]
fn every_row_has_a_figure_or_a_reason_in_every_document() {
    let results = stored();
    let (page, html) = (
        render::markdown(&results).unwrap(),
        render::html(&results).unwrap(),
    );
    let (all, baselines) = (tables::load().unwrap(), tables::baselines().unwrap());
    for table in &all.tables {
        for row in tables::evaluate(table, &results, &baselines) {
            assert_ne!(
                row.ours.is_some(),
                row.absent.is_some(),
                "{}: {}",
                table.id,
                row.op
            );
            assert!(
                page.contains(&row.op),
                "{}: {} is not on the page",
                table.id,
                row.op
            );
            let escaped = row.op.replace('&', "&amp;").replace('<', "&lt;");
            assert!(
                html.contains(&escaped),
                "{}: {} is not in the HTML",
                table.id,
                row.op
            );
        }
    }
}

#[test]
fn the_html_page_loads_nothing_and_runs_nothing() {
    let html = render::html(&stored()).unwrap();
    for forbidden in ["<script", "http:", "https:", "@import", "url(", "src="] {
        assert!(!html.contains(forbidden), "the page contains {forbidden}");
    }
    assert!(html.contains("prefers-color-scheme:dark"));
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
