//! The report as text, as the page of benchmarks, and as the block of the README: all from one JSON value.

use serde_json::Value;

/// The page docs/benchmarks.md: one section per report.
#[must_use]
pub fn page(reports: &[Value]) -> String {
    let mut page = String::from("# Benchmarks\n\n");
    page += "This page is made by `report render` from JSON files; nobody types a number.\n";
    for report in reports {
        page += &format!("\n## {}\n\n", title(report));
        page += &provenance(report);
        page += &format!("* unit: {}; median of the samples\n", text(report, "/unit"));
        page += &format!(
            "* reference: {}; {}\n",
            text(report, "/reference/source"),
            text(report, "/reference/machine")
        );
        page += &format!("* {}\n", text(report, "/reference/note"));
        page += &format!("* {OTHER_MACHINE}\n\n");
        page += &markdown_table(&cells(report));
    }
    page
}

/// `readme` with the block between the two marks replaced by the rows for the first page.
///
/// Returns `None` when the marks are missing.
#[must_use]
pub fn with_readme_block(readme: &str, reports: &[Value]) -> Option<String> {
    let begin = readme.find(README_BEGIN)? + README_BEGIN.len();
    let end = begin + readme.get(begin..)?.find(README_END)?;
    let rows: Vec<[String; 7]> = reports
        .iter()
        .flat_map(cells)
        .filter(|row| README_ROWS.contains(&row[0].as_str()))
        .collect();
    let provenance: String = reports.iter().map(provenance).collect();
    let block = format!(
        "\n{}\n{provenance}* {OTHER_MACHINE}\n",
        markdown_table(&rows)
    );
    Some([readme.get(..begin)?, &block, readme.get(end..)?].concat())
}

fn title(report: &Value) -> &str {
    let command = text(report, "/command");
    match command.rsplit(' ').next() {
        Some("kernel") => "Kernel",
        Some("envelope") => "Signatures and envelope",
        _ => command,
    }
}

const README_BEGIN: &str = "<!-- measured: begin -->";
const README_END: &str = "<!-- measured: end -->";

const OTHER_MACHINE: &str = "The reference was measured on another processor generation than ours: \
     ratios mix the machine with the code. Published figures are from an Apple M1 Max.";

const README_ROWS: [&str; 16] = [
    "forward NTT, AVX-512 IFMA",
    "forward NTT, AVX2",
    "forward NTT, portable",
    "Pulse verify, prepared key, SHA3",
    "Pulse verify, cold key, SHA3",
    "Pulse verify, each of 64, SHA3",
    "committee mode, one member, t = 21, SHA3",
    "committee mode, online part, t = 21",
    "interop mode, one party, K = 21, SHA3",
    "interop mode, one party, K = 21, BLAKE3",
    "ML-DSA-65 verify",
    "parse envelope, Pulse and 21 certificates",
    "Beam verify, 21 signers",
    "certificate set of 21, serial",
    "full path horizon, serial",
    "full path horizon, wall, 2 threads",
];

fn markdown_table(rows: &[[String; 7]]) -> String {
    let mut table = format!(
        "| {} |\n|{}\n",
        COLUMNS.join(" | "),
        " --- |".repeat(COLUMNS.len())
    );
    for row in rows {
        table += &format!("| {} |\n", row.join(" | "));
    }
    table
}

/// Machine, build and command of our figures, as list items.
fn provenance(report: &Value) -> String {
    let features: Vec<&str> = report
        .pointer("/machine/features")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let cores = report.pointer("/machine/cores").and_then(Value::as_u64);
    let changed = report.get("dirty") == Some(&Value::Bool(true));
    format!(
        "* ours: {}, {} cores, {}; backend {}; commit {}{}; {}\n* command: `{}`\n",
        text(report, "/machine/processor"),
        cores.unwrap_or_default(),
        features.join(" "),
        text(report, "/backend"),
        text(report, "/commit"),
        if changed { " with changes" } else { "" },
        text(report, "/rustc"),
        text(report, "/command"),
    )
}

fn text<'a>(report: &'a Value, pointer: &str) -> &'a str {
    let value = report.pointer(pointer);
    value.and_then(Value::as_str).unwrap_or_default()
}

const COLUMNS: [&str; 7] = [
    "operation",
    "published",
    "reference",
    "ours",
    "ratio",
    "target",
    "met",
];

/// The cells of all rows.
fn cells(report: &Value) -> Vec<[String; 7]> {
    let rows = report.get("table").and_then(Value::as_array);
    rows.into_iter().flatten().map(row_cells).collect()
}

fn row_cells(row: &Value) -> [String; 7] {
    let number = |name: &str| row.get(name).and_then(Value::as_f64);
    let text = |name: &str| {
        row.get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let published = row.get("published").map_or_else(String::new, |published| {
        let part = |name: &str| published.get(name).and_then(Value::as_f64);
        part("ms")
            .map(time)
            .or_else(|| part("mb_per_s").map(speed))
            .or_else(|| part("bytes").map(size))
            .unwrap_or_default()
    });
    let reference = row
        .get("reference_ms")
        .and_then(|value| value.get(1))
        .and_then(Value::as_f64);
    let ours = match (
        number("ours_bytes"),
        number("ours_mb_per_s"),
        number("ours_ms"),
    ) {
        (Some(bytes), _, _) => size(bytes),
        (None, Some(rate), _) => speed(rate),
        (None, None, Some(ms)) => time(ms),
        (None, None, None) => String::new(),
    };
    let ratio = match (number("ratio_to_reference"), number("ratio_to_published")) {
        (Some(ratio), _) => format!("{ratio:.1}x"),
        (None, Some(ratio)) => format!("{ratio:.1}x of published"),
        (None, None) => String::new(),
    };
    let met = match row.get("met").and_then(Value::as_bool) {
        Some(true) => "yes".to_owned(),
        Some(false) => format!("NO: {}", text("reason")),
        None => text("reason"),
    };
    let reference = reference.map(time).unwrap_or_default();
    [
        text("operation"),
        published,
        reference,
        ours,
        ratio,
        text("target"),
        met,
    ]
}

fn time(ms: f64) -> String {
    if ms >= 1.0 {
        format!("{ms:.2} ms")
    } else if ms >= 1e-3 {
        format!("{:.2} us", ms * 1e3)
    } else {
        format!("{:.0} ns", ms * 1e6)
    }
}

fn speed(rate: f64) -> String {
    if rate >= 1000.0 {
        format!("{:.2} GB/s", rate / 1000.0)
    } else {
        format!("{rate:.0} MB/s")
    }
}

fn size(bytes: f64) -> String {
    format!("{bytes:.0} B")
}

/// The table as aligned text.
#[must_use]
pub fn text_table(report: &Value) -> String {
    let rows = cells(report);
    let header = COLUMNS.map(str::to_owned);
    let mut widths = [0; 7];
    for row in rows.iter().chain([&header]) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &[String; 7]| {
        let padded: Vec<String> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())))
            .collect();
        padded.join("  ").trim_end().to_owned() + "\n"
    };
    core::iter::once(&header).chain(&rows).map(line).collect()
}
