//! Figures of delivery, from what `horizon demo --json` prints.

use serde_json::Value;

use crate::failed::Failed;

/// The phases of a message, in order: the demo's name, the chart's, and that of our figure.
pub const PHASES: [(&str, &str, &str); 7] = [
    (
        "finality at the source",
        "source finality",
        "delivery/finality-us",
    ),
    (
        "attestation (Beam, CertSet)",
        "Beam and CertSet",
        "delivery/attestation-us",
    ),
    ("Pulse", "Pulse", "delivery/pulse-us"),
    ("build", "build", "delivery/build-us"),
    ("submit", "submit", "delivery/submit-us"),
    (
        "destination finality",
        "destination finality",
        "delivery/destination-us",
    ),
    ("submit to delivered", "all", TOTAL),
];

/// From the sender's submission at the source to the effect at the destination, final there.
pub const TOTAL: &str = "delivery/total-us";

/// The object that carries the figures.
const KIND: &str = "demo.summary";
const SECOND_US: f64 = 1e6;

/// Figures by name from JSON lines: medians of phases in microseconds, bytes, messages per second.
/// What the demo does not say has no figure.
///
/// # Errors
/// [`Failed`]: no object with the figures, or one without phases.
pub fn from_demo(lines: &[u8]) -> Result<Vec<(String, f64)>, Failed> {
    let text = core::str::from_utf8(lines)?;
    let mut summary = None;
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let object: Value = serde_json::from_str(line)?;
        if object.get("kind").and_then(Value::as_str) == Some(KIND) {
            summary = Some(object);
        }
    }
    let summary = summary.ok_or_else(|| Failed(format!("no object of kind `{KIND}`")))?;
    let phases = summary.get("phases").and_then(Value::as_object);
    let phases = phases.ok_or_else(|| Failed("no phases".to_owned()))?;
    let median = |value: Option<&Value>| value?.get("median_s")?.as_f64();
    let mut figures: Vec<(String, f64)> = PHASES
        .iter()
        .filter_map(|(name, _, id)| {
            Some(((*id).to_owned(), median(phases.get(*name))? * SECOND_US))
        })
        .collect();
    let number = |path: &str| summary.pointer(path).and_then(Value::as_f64);
    let others = [
        (
            "delivery/verify-us",
            median(summary.get("verify")).map(|s| s * SECOND_US),
        ),
        (
            "delivery/degraded-us",
            median(summary.get("one_down_each")).map(|s| s * SECOND_US),
        ),
        (
            "delivery/demo-us",
            number("/seconds").map(|s| s * SECOND_US),
        ),
        ("delivery/burst-per-s", number("/messages_per_second")),
        ("delivery/envelope-bytes", number("/envelope_bytes/all")),
        (
            "delivery/validator-memory-bytes",
            number("/peak_memory_bytes/a validator"),
        ),
        (
            "delivery/relayer-memory-bytes",
            number("/peak_memory_bytes/the relayer"),
        ),
        ("delivery/source-final-us", source_final(&figures)),
    ];
    let known = others
        .into_iter()
        .filter_map(|(id, value)| Some((id.to_owned(), value?)));
    figures.extend(known);
    Ok(figures)
}

/// Finality, then the slower of certificates and Pulse, which are made at once.
fn source_final(figures: &[(String, f64)]) -> Option<f64> {
    let find = |name: &str| figures.iter().find(|(id, _)| id == name).map(|(_, us)| *us);
    let lanes = find("delivery/attestation-us")?.max(find("delivery/pulse-us")?);
    Some(find("delivery/finality-us")? + lanes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_read_from_the_summary_of_the_demo() {
        let lines = br#"{"schema":1,"kind":"demo.start","folder":"x"}
{"kind":"demo.summary","phases":{"finality at the source":{"median_s":0.5},"attestation (Beam, CertSet)":{"median_s":0.01},"Pulse":{"median_s":0.25},"submit to delivered":{"median_s":2.125}},"verify":{"median_s":0.002},"seconds":41,"messages_per_second":3.5,"peak_memory_bytes":{"a validator":1048576}}"#;
        let figures = from_demo(lines).unwrap();
        let figure = |name: &str| figures.iter().find(|(id, _)| id == name).map(|(_, v)| *v);
        assert_eq!(figure(TOTAL), Some(2_125_000.0));
        assert_eq!(figure("delivery/verify-us"), Some(2_000.0));
        assert_eq!(figure("delivery/demo-us"), Some(41e6));
        assert_eq!(figure("delivery/burst-per-s"), Some(3.5));
        assert_eq!(figure("delivery/validator-memory-bytes"), Some(1_048_576.0));
        assert_eq!(figure("delivery/source-final-us"), Some(750_000.0));
        assert_eq!(figure("delivery/degraded-us"), None);
    }

    #[test]
    fn an_output_without_figures_is_refused() {
        assert!(from_demo(b"{\"kind\":\"demo\"}").is_err());
        assert!(from_demo(b"").is_err());
        assert!(from_demo(br#"{"kind":"demo.summary"}"#).is_err());
        assert!(from_demo(b"{broken").is_err());
    }
}
