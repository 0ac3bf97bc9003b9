//! The charts of the page.

use super::Report;
use super::chart::{Curve, Drawing, Scale, Stack, WIDTH, curves, stacks};
use super::prose::times;
use crate::delivery::PHASES;
use crate::sections::{beam, pulsar, sizes};
use crate::tables::{Figure, Verdict};

/// Colours by meaning, the same in all charts.
const BEAM: usize = 1;
const CERTSET: usize = 2;
const PULSE: usize = 3;
const REST: usize = 4;
const FIFTH: usize = 5;
const SIXTH: usize = 6;
const SEVENTH: usize = 7;

fn time(ns: f64) -> String {
    if ns > 0.0 {
        Figure::Ns(ns).to_string()
    } else {
        "0".to_owned()
    }
}

/// How many times better each row is than the reference and than the published figure.
pub(super) fn ratios(report: &Report<'_>) -> String {
    let tables: Vec<(&str, Vec<Verdict>)> = report
        .published()
        .map(|table| {
            let mut rows = report.rows(table);
            rows.retain(|row| row.ratio_to_reference.or(row.ratio_to_published).is_some());
            (table.title.as_str(), rows)
        })
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    let lines = tables.iter().map(|(_, rows)| rows.len() + 1).sum::<usize>();
    let (left, right, top) = (330.0, WIDTH - 20.0, 42.0);
    let bottom = LINE.mul_add(lines as f64, top);
    let title = "How many times better than the reference and than the published figure, by row";
    let mut drawing = Drawing::new(title, bottom + 24.0);
    drawing.legend(
        16.0,
        &[
            (BEAM, "to the reference, as recorded"),
            (CERTSET, "to the published figure"),
        ],
    );
    let all = || tables.iter().flat_map(|(_, rows)| rows);
    let values = all().flat_map(|row| [row.ratio_to_reference, row.ratio_to_published]);
    let scale = Scale::log(values.flatten().chain([0.1, 100.0]), (left, right));
    drawing.axis_x(&scale, (top, bottom), |value| times(Some(value)));
    drawing.axis_x(&scale, (top, top), |value| times(Some(value)));
    drawing.line("mark", (scale.at(1.0), top), (scale.at(1.0), bottom));
    let mut y = top;
    for (title, rows) in &tables {
        y += LINE;
        drawing.heading((8.0, y - 4.0), title);
        for row in rows {
            y += LINE;
            let label: String = row.op.chars().take(LABEL_MAX).collect();
            drawing.text("end", (left - 8.0, y - 4.0), &label);
            for (series, ratio) in [
                (CERTSET, row.ratio_to_published),
                (BEAM, row.ratio_to_reference),
            ] {
                if let Some(ratio) = ratio {
                    let hint = format!("{}: {}", row.op, times(Some(ratio)));
                    drawing.dot(series, false, (scale.at(ratio), y - 8.0), &hint);
                }
            }
        }
    }
    drawing.finish()
}

const LINE: f64 = 17.0;
const LABEL_MAX: usize = 50;

/// What the lanes of a full verification take, published and ours.
pub(super) fn path(report: &Report<'_>) -> String {
    let results = report.results;
    let lane = |schedule: &str, name: &str| {
        results.median_ns(&format!("warp/breakdown/{schedule},wall/{name}"))
    };
    let parts = |schedule: &str| {
        Some((
            lane(schedule, "beam")?,
            lane(schedule, "certset")?,
            lane(schedule, "pulse")?,
            lane(schedule, "total")?,
        ))
    };
    let (Some(serial), Some(parallel)) = (parts("serial"), parts("parallel")) else {
        return String::new();
    };
    let rest = (serial.3 - serial.0 - serial.1 - serial.2).max(0.0);
    let ours = [
        (
            "ours, one thread",
            vec![
                (BEAM, serial.0),
                (CERTSET, serial.1),
                (PULSE, serial.2),
                (REST, rest),
            ],
        ),
        ("ours, two threads: wall", vec![(REST, parallel.3)]),
        ("of it the Beam", vec![(BEAM, parallel.0)]),
        (
            "beside it CertSet, Pulse",
            vec![(CERTSET, parallel.1), (PULSE, parallel.2)],
        ),
    ];
    let published = |op: &str| {
        let rows = report.tables.tables.iter().flat_map(|table| &table.rows);
        let mut found = rows.filter(|row| row.op == op);
        let figure = found
            .next()
            .and_then(|row| row.published.as_ref()?.figure());
        figure.map_or(0.0, Figure::value)
    };
    let theirs = (
        "published, serial sum",
        vec![
            (
                BEAM,
                published("v1 Verifier.Verify (BLS aggregate, n = 21)"),
            ),
            (
                CERTSET,
                published("ML-DSA cert set verify (21 sigs), serial"),
            ),
            (PULSE, published("Pulsar.Verify")),
        ],
    );
    let names = [
        (BEAM, "Beam"),
        (CERTSET, "CertSet of 21"),
        (PULSE, "Pulse"),
        (REST, "the rest, or all"),
    ];
    let stack = |(name, parts): &(&str, Vec<(usize, f64)>)| Stack {
        name: (*name).to_owned(),
        parts: parts.clone(),
    };
    let all: Vec<Stack> = core::iter::once(&theirs).chain(&ours).map(stack).collect();
    let near: Vec<Stack> = ours.iter().map(stack).collect();
    stacks(
        "Full Horizon verification by lane, published and ours",
        &all,
        &names,
        time,
    ) + &stacks("The same, ours alone", &near, &names, time)
}

/// Phases of Pulsar over the size of the committee.
pub(super) fn committee(report: &Report<'_>) -> String {
    let results = report.results;
    let points = |phase: &str| -> Vec<(f64, f64)> {
        let at = |size: &u16| {
            let id = format!("pulsar/{phase}/sha3,K={size}/{{}}");
            Some((f64::from(*size), results.median_ns(&id)?))
        };
        pulsar::SIZES.iter().filter_map(at).collect()
    };
    let ours = [
        ("committee: reserve", "committee-reserve", BEAM, false),
        ("committee: gather", "committee-gather", CERTSET, false),
        ("committee: answer", "committee-answer", PULSE, false),
        ("interop: round 1", "interop-round1", FIFTH, true),
        ("interop: preprocess", "interop-preprocess", SIXTH, true),
        ("interop: round 2", "interop-round2", SEVENTH, true),
    ];
    let mut all: Vec<Curve> = ours
        .into_iter()
        .map(|(name, phase, series, dashed)| Curve {
            name: name.to_owned(),
            series,
            dashed,
            hollow: false,
            points: points(phase),
        })
        .collect();
    for (name, op, series) in [
        ("published: round 1", "SignRound1 (per party)", FIFTH),
        (
            "published: preprocess",
            "SignRound2Preprocess (per party)",
            SIXTH,
        ),
        ("published: round 2", "SignRound2 (per party)", SEVENTH),
    ] {
        all.push(Curve {
            name: name.to_owned(),
            series,
            dashed: true,
            hollow: true,
            points: published(report, op),
        });
    }
    curves(
        "Pulsar, SHA3: one party's phases over the committee's size",
        "members, all signing",
        &all,
        time,
    )
}

fn published(report: &Report<'_>, op: &str) -> Vec<(f64, f64)> {
    let rows = report.tables.tables.iter().flat_map(|table| &table.rows);
    rows.filter_map(|row| {
        let (name, size) = row.op.split_once(", K = ")?;
        let figure = row.published.as_ref()?.figure()?;
        (name == op).then_some((size.parse().ok()?, figure.value()))
    })
    .collect()
}

/// Beam and CertSet over the number of signers.
pub(super) fn signers(report: &Report<'_>) -> String {
    let results = report.results;
    let curve = |name: &str, series, id: &dyn Fn(usize) -> String| Curve {
        name: name.to_owned(),
        series,
        dashed: false,
        hollow: false,
        points: beam::SIZES
            .iter()
            .filter_map(|n| Some((*n as f64, results.median_ns(&id(*n))?)))
            .collect(),
    };
    let all = [
        curve("Beam verify", BEAM, &|n| {
            format!("sig/bls-aggregate-verify/n={n}/cold")
        }),
        curve("CertSet verify, one core", CERTSET, &|n| {
            format!("sig/certset/serial,n={n}/cold")
        }),
        curve("adding decoded Beam shares", FIFTH, &|n| {
            format!("sig/bls-aggregate/decoded,n={n}")
        }),
    ];
    curves(
        "Beam and CertSet over the number of signers",
        "signers",
        &all,
        time,
    )
}

/// Bytes of an envelope by its lanes and signers.
pub(super) fn envelope_sizes(report: &Report<'_>) -> String {
    let results = report.results;
    let mut all: Vec<Curve> = [
        ("Beam", "beam", BEAM),
        ("Beam and Pulse", "pulse", PULSE),
        ("Beam and CertSet", "certset", CERTSET),
        ("Beam, CertSet and Pulse", "pulse+certset", SIXTH),
    ]
    .into_iter()
    .map(|(name, shape, series)| Curve {
        name: name.to_owned(),
        series,
        dashed: false,
        hollow: false,
        points: sizes::SIGNERS
            .iter()
            .filter_map(|n| {
                Some((
                    f64::from(*n),
                    results.figure(&format!("warp/size/{shape},n={n}"))?,
                ))
            })
            .collect(),
    })
    .collect();
    if let Some(cap) = results.figure("warp/size/cap") {
        let ends = [sizes::SIGNERS.first(), sizes::SIGNERS.last()];
        all.push(Curve {
            name: "cap of an envelope".to_owned(),
            series: REST,
            dashed: true,
            hollow: false,
            points: ends
                .into_iter()
                .flatten()
                .map(|n| (f64::from(*n), cap))
                .collect(),
        });
    }
    curves(
        "Bytes of an envelope by lanes and signers",
        "signers",
        &all,
        |len| Figure::Bytes(len).to_string(),
    )
}

/// Phases of the demo, where it was run.
pub(super) fn delivery(report: &Report<'_>) -> String {
    let at = |id: &str| report.results.figure(id).map(|us| us * 1e3);
    let phase = |name: &str| {
        let mut phases = PHASES.iter().zip(1..);
        phases
            .find_map(|((_, label, id), series)| Some((series, at(id)?)).filter(|_| *label == name))
    };
    let line = |name: &str, phases: &[&str]| Stack {
        name: name.to_owned(),
        parts: phases.iter().filter_map(|name| phase(name)).collect(),
    };
    // Certificates and Pulse are made at once: two lines, of which the longer one counts.
    let all = [
        line("event to final, median", &["all"]),
        line(
            "with the Pulse",
            &[
                "source finality",
                "Pulse",
                "build",
                "submit",
                "destination finality",
            ],
        ),
        line(
            "with the certificates",
            &[
                "source finality",
                "Beam and CertSet",
                "build",
                "submit",
                "destination finality",
            ],
        ),
    ];
    if all.iter().all(|stack| stack.parts.is_empty()) {
        return String::from(
            "<p>Phases of a delivery: not measured in this run; they come from \
             <code>horizon demo --json</code>.</p>\n",
        );
    }
    let names: Vec<(usize, &str)> = (1..)
        .zip(PHASES)
        .map(|(series, (_, label, _))| (series, label))
        .collect();
    stacks(
        "Delivery in the demo: medians of the phases",
        &all,
        &names,
        time,
    )
}
