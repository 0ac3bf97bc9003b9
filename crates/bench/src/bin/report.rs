//! Writes the documents that state figures from the stored result of a run.
//!
//! ```text
//! report [REPOSITORY]    docs/benchmarks.md, docs/benchmarks.html, the README's block, and the
//!                        tables inside docs/benchmarks/results.json
//! ```

#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program with std"
)]

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use horizon_bench::{Failed, Results, render, tables};

fn main() -> ExitCode {
    let root = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    match write(Path::new(&root)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("report: {failed}");
            ExitCode::FAILURE
        }
    }
}

fn write(root: &Path) -> Result<(), Failed> {
    let docs = root.join("docs");
    let stored = docs.join("benchmarks/results.json");
    let mut results = Results::from_json(&fs::read(&stored)?)?;
    // Rows, notes and limits may have changed since the run.
    results.tables = tables::to_json(&results)?;
    fs::write(&stored, results.to_json()?)?;
    fs::write(docs.join("benchmarks.md"), render::markdown(&results)?)?;
    fs::write(docs.join("benchmarks.html"), render::html(&results)?)?;
    let readme = root.join("README.md");
    let text = render::readme(&fs::read_to_string(&readme)?, &results)?;
    let text = text.ok_or_else(|| Failed("the README lacks its marks".to_owned()))?;
    fs::write(readme, text)?;
    Ok(())
}
