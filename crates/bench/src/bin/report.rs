//! Turns criterion's results into one JSON file per part, and those files into tables.
//!
//! ```text
//! report collect PART CRITERION_DIR OUT.json    criterion's results to one JSON file
//! report table FILE.json                        the table as text
//! report render FILE.json... OUT.md README.md   the page, and the block of the README
//! ```

#![allow(clippy::print_stdout, reason = "a program")]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program with std"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use horizon_bench::render::{page, text_table, with_readme_block};
use horizon_bench::report::{Measured, collect};
use horizon_bench::rows::{self, Published, Row, Target};
use serde_json::{Value, json};

const BASELINES: &str = include_str!("../../data/baselines.json");

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["collect", part, folder, out] => write_report(part, Path::new(folder), out),
        ["table", file] => read(file).map(|report| print!("{}", text_table(&report))),
        ["render", files @ .., out, readme] if !files.is_empty() => render(files, out, readme),
        _ => Err("report collect PART DIR OUT | table FILE | render FILE... OUT README".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("report: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write_report(part: &str, folder: &Path, out: &str) -> Result<(), Failure> {
    let rows = rows::of(part).ok_or("no such part")?;
    let measured = collect(folder)?;
    if measured.is_empty() {
        return Err("no results in the folder".into());
    }
    let baselines: Value = serde_json::from_str(BASELINES)?;
    let backend = horizon_ring::backend::Kind::active().name();
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| evaluate(row, &measured, &baselines, backend))
        .collect();
    let results: BTreeMap<&String, Value> = measured
        .iter()
        .map(|(id, m)| {
            let value = json!({"samples": m.samples, "min_ns": m.min, "median_ns": m.median,
                "spread": m.spread, "p99_ns": m.p99, "bytes": m.bytes});
            (id, value)
        })
        .collect();
    let report = json!({
        "schema": 1,
        "part": part,
        "unit": "nanoseconds of CPU time of one thread (where a row says wall: wall time, fastest \
            sample)",
        "machine": machine(),
        "backend": backend,
        "commit": output("git", &["rev-parse", "--short=12", "HEAD"]),
        "dirty": !output("git", &["status", "--porcelain"]).is_empty(),
        "rustc": output("rustc", &["--version"]),
        "command": command(part),
        "reference": {"source": baselines.get("source"), "machine": baselines.get("machine"),
            "note": baselines.get("note")},
        "results": results,
        "table": rows,
    });
    if let Some(parent) = Path::new(out).parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(out, serde_json::to_string_pretty(&report)? + "\n")?;
    print!("{}", text_table(&report));
    Ok(())
}

/// One row: our figure in milliseconds, the reference's, the ratio, and whether the target is met.
fn evaluate(
    row: &Row,
    measured: &BTreeMap<String, Measured>,
    baselines: &Value,
    backend: &str,
) -> Value {
    let find = |ids: &[&str]| -> Option<Vec<&Measured>> {
        let found = ids
            .iter()
            .map(|id| measured.get(&id.replace("{}", backend)));
        found.collect()
    };
    let parts = find(row.ids);
    let wall = row.ids.iter().any(|id| id.contains(",wall,"));
    let sum = |value: fn(&Measured) -> f64| {
        parts
            .as_ref()
            .map(|parts| parts.iter().map(|m| value(m)).sum::<f64>() / row.divisor / 1e6)
    };
    // What else runs on the machine can only add to wall time, and by whole multiples.
    let ours = if wall {
        sum(|m| m.min)
    } else {
        sum(|m| m.median)
    };
    let bytes = parts.as_ref().and_then(|parts| parts.first()?.bytes);
    let rate = ours
        .zip(bytes)
        .map(|(ms, bytes)| bytes as f64 / 1e6 / (ms / 1e3));
    let reference = reference(row, baselines);
    let ratio = reference.zip(ours).map(|(theirs, ours)| theirs[1] / ours);
    let against_published = match (row.published, ours, rate) {
        (Published::Milliseconds(theirs), Some(ours), _) => Some(theirs / ours),
        (Published::MegabytesPerSecond(theirs), _, Some(rate)) => Some(rate / theirs),
        (Published::Bytes(theirs), _, _) => bytes.map(|bytes| theirs / bytes as f64),
        _ => None,
    };
    let (target, met) = match row.target {
        Target::None => (String::new(), None),
        Target::Ratio(wanted) => (format!(">= {wanted}x"), ratio.map(|ratio| ratio >= wanted)),
        Target::AtMostMilliseconds(limit) => {
            (format!("<= {limit} ms"), ours.map(|ours| ours <= limit))
        }
        Target::AtMostTimes(factor, ids) => {
            // The fastest samples of both: they were not measured in the same moment.
            let others = find(ids).map(|all| all.iter().map(|m| m.min).sum::<f64>() / 1e6);
            let share = sum(|m| m.min)
                .zip(others)
                .map(|(ours, others)| ours / others);
            let text = share.map_or_else(String::new, |share| format!(", is {share:.4}x"));
            let what = row.against;
            (
                format!("<= {factor}x of {what}{text}"),
                share.map(|share| share <= factor),
            )
        }
    };
    let reason = match met {
        Some(true) => "",
        Some(false) if row.reason.is_empty() => "not explained yet",
        Some(false) => row.reason,
        None if parts.is_none() => "not measured on this machine",
        None => "",
    };
    json!({
        "operation": row.operation,
        "published": match row.published {
            Published::Nothing => Value::Null,
            Published::Milliseconds(ms) => json!({"ms": ms}),
            Published::MegabytesPerSecond(rate) => json!({"mb_per_s": rate}),
            Published::Bytes(bytes) => json!({"bytes": bytes}),
        },
        "reference_ms": reference,
        "ours_ms": ours,
        "ours_min_ms": sum(|m| m.min),
        "ours_median_ms": sum(|m| m.median),
        "ours_bytes": if matches!(row.published, Published::Bytes(_)) { bytes } else { None },
        "ours_p99_ms": sum(|m| m.p99),
        "ours_mb_per_s": rate,
        "ratio_to_reference": ratio,
        "ratio_to_published": against_published,
        "target": target,
        "met": met,
        "reason": reason,
    })
}

/// Minimum and median of the reference, in milliseconds, summed over the places of a row.
fn reference(row: &Row, baselines: &Value) -> Option<[f64; 2]> {
    let mut sum = [0.0; 2];
    for [section, operation, size] in row.reference {
        let mut value = baselines.get(section)?.get(operation)?;
        if !size.is_empty() {
            value = value.get(size)?;
        }
        let scale = if section.ends_with("_us") { 1e-3 } else { 1.0 };
        for (sum, part) in sum.iter_mut().zip(value.as_array()?) {
            *sum += part.as_f64()? * scale;
        }
    }
    (!row.reference.is_empty()).then_some(sum)
}

/// What to type for the same measurement.
fn command(part: &str) -> String {
    let realtime =
        std::env::var_os("HORIZON_BENCH_REALTIME").is_some_and(|value| !value.is_empty());
    let prefix = if realtime {
        "HORIZON_BENCH_REALTIME=1 "
    } else {
        ""
    };
    format!("{prefix}just bench {part}")
}

fn machine() -> Value {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim().to_owned())
    };
    let flags = field("flags").unwrap_or_default();
    let interesting = [
        "avx2",
        "avx512f",
        "avx512ifma",
        "avx512vbmi",
        "sha_ni",
        "bmi2",
        "adx",
    ];
    let features: Vec<&str> = interesting
        .into_iter()
        .filter(|name| flags.split(' ').any(|flag| flag == *name))
        .collect();
    let name = format!(
        "{} (family {}, model {})",
        field("model name").unwrap_or_default(),
        field("cpu family").unwrap_or_default(),
        field("model\t").unwrap_or_default(),
    );
    json!({"processor": name, "features": features,
        "cores": std::thread::available_parallelism().map_or(1, usize::from),
        "os": std::env::consts::OS, "architecture": std::env::consts::ARCH})
}

fn output(program: &str, arguments: &[&str]) -> String {
    let ran = Command::new(program).args(arguments).output();
    ran.map(|ran| String::from_utf8_lossy(&ran.stdout).trim().to_owned())
        .unwrap_or_default()
}

fn read(file: &str) -> Result<Value, Failure> {
    Ok(serde_json::from_slice(&fs::read(file)?)?)
}

fn render(files: &[&str], out: &str, readme: &str) -> Result<(), Failure> {
    let reports = files
        .iter()
        .map(|file| read(file))
        .collect::<Result<Vec<Value>, Failure>>()?;
    fs::write(out, page(&reports))?;
    let text = fs::read_to_string(readme)?;
    let text = with_readme_block(&text, &reports).ok_or("the README lacks the marks")?;
    fs::write(readme, text)?;
    Ok(())
}
