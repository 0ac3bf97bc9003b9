//! Every section runs, and every row finds what it shows.

#![allow(clippy::unwrap_used, reason = "a test")]

use horizon_bench::run::{Request, run};
use horizon_bench::sections::{self, ALL};
use horizon_bench::{Plan, Results, render, result, tables};

fn smoke(names: &[&str]) -> Results {
    let request = Request {
        sections: names
            .iter()
            .map(|name| sections::find(name).unwrap())
            .collect(),
        plan: Plan::SMOKE,
        command: "horizon bench".to_owned(),
        delivery: &|| Err("no demo in a test".to_owned()),
    };
    run(&request, &mut |_| {}).unwrap()
}

#[test]
fn every_row_of_every_table_is_measured_or_says_why_not() {
    let names: Vec<&str> = ALL.iter().map(|section| section.name).collect();
    let results = smoke(&names);
    let (tables, baselines) = (tables::load().unwrap(), tables::baselines().unwrap());
    for table in &tables.tables {
        for (row, verdict) in table
            .rows
            .iter()
            .zip(tables::evaluate(table, &results, &baselines))
        {
            // Some machines lack a backend; only the demo knows about delivery.
            let elsewhere = row.missing.is_some()
                || row
                    .figure
                    .as_ref()
                    .is_some_and(|name| name.starts_with("delivery/"))
                || row.ids.iter().chain(&row.figure).any(|id| {
                    let left_out = |start: &String| id.starts_with(start.as_str());
                    results.absent.keys().any(left_out)
                })
                || row
                    .ids
                    .iter()
                    .any(|id| id.ends_with("/avx512") || id.ends_with("/avx2"));
            if !elsewhere {
                assert!(
                    verdict.ours.is_some(),
                    "{}: {} has no figure",
                    table.id,
                    row.op
                );
                assert!(
                    verdict.ours.unwrap().value() > 0.0,
                    "{}: {} is zero",
                    table.id,
                    row.op
                );
            }
        }
    }
    for name in ["limit-per-s", "below/median-s", "above/growth"] {
        let id = format!("scaling/{name}");
        assert!(results.figure(&id).is_some_and(|value| value > 0.0), "{id}");
    }
    let page = render::markdown(&results).unwrap();
    assert!(page.contains("not measured in this run: no demo in a test"));
    assert!(page.contains("a short run") && page.contains("Check by simulation"));
    let again = Results::from_json(results.to_json().unwrap().as_bytes()).unwrap();
    assert_eq!(
        render::html(&again).unwrap(),
        render::html(&results).unwrap()
    );
}

#[test]
fn a_section_that_was_not_asked_for_is_named_as_the_reason() {
    let results = smoke(&["guards"]);
    let page = render::markdown(&results).unwrap();
    assert!(page.contains("section `hash` was not asked for"));
    assert!(page.contains("not built"));
}

#[test]
fn a_run_compared_with_itself_differs_nowhere_and_a_slower_one_does() {
    let results = smoke(&["guards"]);
    let differences = result::compare(&results, &results);
    assert!(!differences.is_empty());
    assert!(
        differences
            .iter()
            .all(|difference| !difference.is_beyond_spread())
    );
    let mut slower = results.clone();
    for summary in slower.times.values_mut() {
        summary.median_ns *= 10.0;
        summary.spread = 0.01;
    }
    let differences = result::compare(&slower, &results);
    assert!(differences.iter().any(result::Difference::is_beyond_spread));
    assert!(differences[0].factor > 9.0);
}
