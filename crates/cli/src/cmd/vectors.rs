//! `horizon vectors run`: the conformance runner.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::exit::{Code, Failure};
use crate::output::Output;
use crate::vectors::{FileError, FileReport, Runner};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Check every case of the files; the last line is `N passed, N failed`
    Run(Run),
}

#[derive(Args, Debug)]
pub(super) struct Run {
    /// Vector files, `.json` or `.json.gz`; the content tells the format
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Folder with the signing files that other files refer to, besides the usual places
    #[arg(long, value_name = "DIR")]
    sign_dir: Vec<PathBuf>,
}

pub(super) fn run(command: Command, output: Output) -> Result<(), Failure> {
    let Command::Run(options) = command;
    let mut runner = Runner::new(&options.sign_dir, &options.files);
    let mut total = Total::default();
    let mut first_problem = None;
    for path in &options.files {
        let name = path.display().to_string();
        match runner.run(path) {
            Ok(report) => total.add(&name, &report, output),
            Err(error) => {
                let failure = refused(&name, &error);
                eprintln!("horizon: {}", failure.text);
                first_problem.get_or_insert(failure.code);
            }
        }
    }
    total.print(output);
    match first_problem {
        Some(code) => Err(Failure::new(code, "")),
        None if total.failed > 0 => Err(Failure::new(Code::Refused, "")),
        None => Ok(()),
    }
}

#[derive(Default)]
struct Total {
    passed: usize,
    failed: usize,
    strict: usize,
}

impl Total {
    fn add(&mut self, name: &str, report: &FileReport, output: Output) {
        self.passed += report.passed;
        self.failed += report.failed.len();
        self.strict += report.strict;
        for (id, reason) in &report.failed {
            output.text(&format!("FAILED {name} {id}: {reason}"));
            output.object(
                "case",
                json!({"file": name, "id": id, "ok": false, "reason": reason}),
            );
        }
        for (field, count) in &report.unchecked {
            eprintln!("horizon: {name}: no check for field {field} ({count} cases)");
        }
        let (passed, failed) = (report.passed, report.failed.len());
        let formats: Vec<&str> = report.formats.keys().copied().collect();
        output.text(&format!(
            "{name}: {} cases: {passed} ok, {failed} bad",
            formats.join(", ")
        ));
        output.object(
            "file",
            json!({"file": name, "formats": report.formats, "passed": passed, "failed": failed,
                "strict": report.strict, "unchecked": report.unchecked}),
        );
    }

    fn print(&self, output: Output) {
        let Self {
            passed,
            failed,
            strict,
        } = self;
        output.text(&format!(
            "{strict} cases record unsound behaviour of the reference and were checked as our \
             strict behaviour"
        ));
        output.object(
            "total",
            json!({"passed": passed, "failed": failed, "strict": strict}),
        );
        if !output.is_json() {
            output.always(&format!("{passed} passed, {failed} failed"));
        }
    }
}

fn refused(name: &str, error: &FileError) -> Failure {
    match error {
        FileError::Unreadable(reason) => {
            Failure::new(Code::Configuration, format!("{name}: {reason}"))
        }
        FileError::UnknownFormat => Failure::new(
            Code::Usage,
            format!("{name}: no case of a known vector format"),
        ),
    }
}
