//! Everything people read, computed from one result.

mod chart;
mod charts;
mod page;
mod prose;

use serde_json::Value;

use crate::failed::Failed;
use crate::result::Results;
use crate::tables::{self, Table, Tables, Verdict};

/// The tables of one run, ready to be written down.
struct Report<'r> {
    results: &'r Results,
    tables: Tables,
    baselines: Value,
}

impl<'r> Report<'r> {
    fn new(results: &'r Results) -> Result<Self, Failed> {
        Ok(Self {
            results,
            tables: tables::load()?,
            baselines: tables::baselines()?,
        })
    }

    fn rows(&self, table: &Table) -> Vec<Verdict> {
        tables::evaluate(table, self.results, &self.baselines)
    }

    /// The tables of the published documents.
    fn published(&self) -> impl Iterator<Item = &Table> {
        self.tables
            .tables
            .iter()
            .filter(|table| table.section != TARGETS)
    }

    /// The rows of the table of targets.
    fn targets(&self) -> Vec<Verdict> {
        let table = self
            .tables
            .tables
            .iter()
            .find(|table| table.section == TARGETS);
        table.map(|table| self.rows(table)).unwrap_or_default()
    }

    fn baseline(&self, key: &str) -> &str {
        self.baselines
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

const TARGETS: &str = "targets";

/// The page of benchmarks as Markdown.
///
/// # Errors
/// [`Failed`]: a fault in a data file.
pub fn markdown(results: &Results) -> Result<String, Failed> {
    Ok(prose::markdown(&Report::new(results)?))
}

/// The same as one HTML page with charts; it loads nothing from anywhere and runs no script.
///
/// # Errors
/// [`Failed`]: a fault in a data file.
pub fn html(results: &Results) -> Result<String, Failed> {
    Ok(page::html(&Report::new(results)?))
}

/// What was measured, as aligned text for a terminal.
///
/// # Errors
/// [`Failed`]: a fault in a data file.
pub fn text(results: &Results) -> Result<String, Failed> {
    Ok(prose::text(&Report::new(results)?))
}

/// `readme` with the block between its two marks replaced. `None` when the marks are missing.
///
/// # Errors
/// [`Failed`]: a fault in a data file.
pub fn readme(readme: &str, results: &Results) -> Result<Option<String>, Failed> {
    let block = prose::readme_block(&Report::new(results)?);
    let replaced = || {
        let begin = readme.find(BEGIN)? + BEGIN.len();
        let end = begin + readme.get(begin..)?.find(END)?;
        Some([readme.get(..begin)?, &block, readme.get(end..)?].concat())
    };
    Ok(replaced())
}

const BEGIN: &str = "<!-- measured: begin -->";
const END: &str = "<!-- measured: end -->";
