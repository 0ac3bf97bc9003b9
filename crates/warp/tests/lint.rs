//! Each lint rule finds its sample, and nothing else does.

#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test that cannot go on has failed"
)]

#[path = "support/common.rs"]
mod common;

use std::collections::BTreeSet;

use common::*;
use horizon_warp::policy::{Policy, Rule, Severity, lint, sources_from_json, sources_to_json};
use horizon_warp::registry::records_from_json;
use horizon_warp::*;

fn samples() -> Vec<(String, Value)> {
    let folder = format!("{}/../../vectors/lint", env!("CARGO_MANIFEST_DIR"));
    let mut samples: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".json"))
        .map(|name| (name.clone(), vectors(&format!("lint/{name}"))))
        .collect();
    samples.sort_by(|a, b| a.0.cmp(&b.0));
    samples
}

#[test]
fn every_sample_gives_exactly_its_findings() {
    let mut found = BTreeSet::new();
    for (name, sample) in samples() {
        let sources = sources_from_json(&sample["policy"].to_string()).unwrap();
        let records = records_from_json(&sample["registry"].to_string()).unwrap();
        let findings = lint(&sources, &records, number(&sample, "now_s"));
        let codes: BTreeSet<&str> = findings.iter().map(|finding| finding.rule.code()).collect();
        let expected: BTreeSet<&str> = sample["expect"]
            .as_array()
            .unwrap()
            .iter()
            .map(|code| code.as_str().unwrap())
            .collect();
        assert_eq!(codes, expected, "{name}");
        found.extend(findings.iter().map(|finding| finding.rule));
        let again = sources_from_json(&sources_to_json(&sources).unwrap()).unwrap();
        assert_eq!(again, sources);
    }
    for rule in Rule::ALL {
        assert!(found.contains(rule), "no sample for {}", rule.code());
    }
}

#[test]
fn rule_codes_are_distinct_and_explained() {
    let codes: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.code()).collect();
    assert_eq!(codes.len(), Rule::ALL.len());
    for rule in Rule::ALL {
        assert!(!rule.text().is_empty() && !rule.hint().is_empty());
        assert!(matches!(rule.severity(), Severity::Warn | Severity::Refuse));
    }
}

/// The good sample is a policy that loads; the impossible quorums do not.
#[test]
fn samples_with_impossible_quorums_do_not_load_as_policies() {
    for (name, sample) in samples() {
        let sources = sources_from_json(&sample["policy"].to_string()).unwrap();
        let loaded = Policy::new(&sources);
        if name == "quorum-zero.json" || name == "quorum-over-one.json" {
            assert_eq!(reason(loaded), Reason::QuorumParameters);
        } else {
            let policy = loaded.unwrap();
            assert_eq!(policy.pins().len(), sources.len());
        }
    }
}

#[test]
fn policy_files_with_unknown_keys_or_tiers_are_refused() {
    let sample = vectors("lint/good.json")["policy"].to_string();
    let of = |from: &str, to: &str| {
        let changed = sample.replacen(from, to, 1);
        assert_ne!(changed, sample);
        reason(sources_from_json(&changed))
    };
    assert_eq!(
        of("\"tier\":\"horizon\"", "\"tier\":\"Horizon\""),
        Reason::PolicyTier
    );
    assert_eq!(of("\"tier\"", "\"teir\""), Reason::PolicyJson);
    assert_eq!(
        of("\"format\":\"horizon-policy-v1\"", "\"format\":\"v2\""),
        Reason::PolicyJson
    );
    assert_eq!(of("\"2592000\"", "\"030\""), Reason::PolicyField);
    assert_eq!(of("\"2592000\"", "2592000"), Reason::PolicyJson);
    assert_eq!(of("\"0xc4", "\"0xC4"), Reason::PolicyField);
    assert_eq!(
        of("\"sources\"", "\"skip_beam\":true,\"sources\""),
        Reason::PolicyJson
    );
}
