//! `horizon bench`: measures this machine and writes the report.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::{Args, builder::PossibleValuesParser};
use horizon_bench::result::{Results, compare};
use horizon_bench::run::{Request, run as measure};
use horizon_bench::sections::{self, Section};
use horizon_bench::{Failed, Plan, delivery, render};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::exit::{Code, Failure};
use crate::output::Output;

#[derive(Args, Debug)]
pub(super) struct Options {
    /// What to measure; everything when none is named
    #[arg(value_name = "SECTION", value_parser = PossibleValuesParser::new(sections::ALL.iter().map(|section| section.name)))]
    sections: Vec<String>,
    /// Few and short samples: under two minutes, rough figures
    #[arg(long)]
    quick: bool,
    /// Write results.json, benchmarks.md and benchmarks.html into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Compare with the results.json of another run
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    /// Take the figures of delivery from this output of `horizon demo --json` instead of running it
    #[arg(long, value_name = "FILE")]
    demo: Option<PathBuf>,
}

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    let other = options.compare.as_deref().map(read_results).transpose()?;
    if let Some(folder) = &options.out {
        fs::create_dir_all(folder).map_err(|error| Failure::io(folder, &error))?;
    }
    let request = Request {
        sections: chosen(&options.sections),
        plan: if options.quick {
            Plan::QUICK
        } else {
            Plan::FULL
        },
        command: command(options),
        delivery: &|| delivery_figures(options),
    };
    let bar = bar(&request);
    let mut told = usize::MAX;
    let results = measure(&request, &mut |progress| {
        let step = progress.pass * request.sections.len() + progress.section;
        bar.set_position(u64::try_from(step).unwrap_or(0));
        bar.set_message(progress.id.to_owned());
        // Without a terminal the bar is hidden: one line per section instead.
        if bar.is_hidden() && step != told {
            told = step;
            let name = request
                .sections
                .get(progress.section)
                .map_or("", |section| section.name);
            eprintln!(
                "pass {} of {}: {name}",
                progress.pass + 1,
                request.plan.passes
            );
        }
    });
    bar.finish_and_clear();
    let results = results.map_err(internal)?;
    output.text(&render::text(&results).map_err(internal)?);
    if let Some(folder) = &options.out {
        write(folder, &results)?;
        output.text(&format!("written to {}", folder.display()));
    }
    if let Some(other) = &other {
        report_differences(&results, other, output);
    }
    output.object("bench", serde_json::to_value(&results).unwrap_or_default());
    Ok(())
}

/// Figures of the demo: from a file, or by running it. A short run leaves it out unless asked by name.
fn delivery_figures(options: &Options) -> Result<Vec<(String, f64)>, String> {
    let lines = match &options.demo {
        Some(file) => read(file).map_err(|failure| failure.text)?,
        None if options.quick && !options.sections.iter().any(|name| name == "delivery") => {
            return Err("a short run leaves the demo out".to_owned());
        }
        None => run_demo()?,
    };
    delivery::from_demo(&lines).map_err(|failed| format!("`horizon demo --json` gave {failed}"))
}

/// Runs `horizon demo --json` as a person would, in a process of its own.
fn run_demo() -> Result<Vec<u8>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let ran = Command::new(program)
        .args(["--json", "demo", "--dir"])
        .arg(folder.path())
        .output()
        .map_err(|error| format!("`horizon demo`: {error}"))?;
    if ran.status.success() {
        Ok(ran.stdout)
    } else {
        Err(format!("`horizon demo` ended with {}", ran.status))
    }
}

fn chosen(names: &[String]) -> Vec<&'static Section> {
    let asked = |section: &&Section| names.is_empty() || names.iter().any(|n| n == section.name);
    sections::ALL.iter().filter(asked).collect()
}

/// What was typed, without what does not change the figures.
fn command(options: &Options) -> String {
    let mut words = vec!["horizon bench".to_owned()];
    words.extend(options.sections.iter().cloned());
    if options.quick {
        words.push("--quick".to_owned());
    }
    words.join(" ")
}

fn bar(request: &Request<'_>) -> ProgressBar {
    let steps = request.plan.passes * request.sections.len();
    let bar = ProgressBar::new(u64::try_from(steps).unwrap_or(0));
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed} {wide_msg}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

fn write(folder: &Path, results: &Results) -> Result<(), Failure> {
    let files = [
        ("results.json", results.to_json().map_err(internal)?),
        (
            "benchmarks.md",
            render::markdown(results).map_err(internal)?,
        ),
        ("benchmarks.html", render::html(results).map_err(internal)?),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| Failure::io(&path, &error))?;
    }
    Ok(())
}

fn report_differences(results: &Results, other: &Results, output: Output) {
    let differences = compare(results, other);
    let beyond: Vec<_> = differences
        .iter()
        .filter(|d| d.is_beyond_spread())
        .collect();
    output.text(&format!(
        "{} operations in both runs, {} differ by more than their spreads",
        differences.len(),
        beyond.len()
    ));
    for difference in &beyond {
        output.text(&format!(
            "  {:<60} {:+.1} % (spreads {:.1} %)",
            difference.id,
            (difference.factor - 1.0) * 100.0,
            difference.spread * 100.0
        ));
    }
    for difference in &differences {
        output.object(
            "difference",
            json!({"id": difference.id, "factor": difference.factor,
                "spread": difference.spread, "beyond_spread": difference.is_beyond_spread()}),
        );
    }
}

fn read_results(file: &Path) -> Result<Results, Failure> {
    Results::from_json(&read(file)?).map_err(|failed| {
        Failure::new(Code::Configuration, format!("{}: {failed}", file.display()))
    })
}

/// Result files and a demo's output have some hundred kilobytes.
const FILE_LEN_MAX: u64 = 64 << 20;

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let len = fs::metadata(file)
        .map_err(|error| Failure::io(file, &error))?
        .len();
    if len > FILE_LEN_MAX {
        let text = format!("{}: {len} bytes, limit {FILE_LEN_MAX}", file.display());
        return Err(Failure::new(Code::Configuration, text));
    }
    fs::read(file).map_err(|error| Failure::io(file, &error))
}

fn internal(failed: Failed) -> Failure {
    Failure::new(Code::Internal, failed.0)
}
