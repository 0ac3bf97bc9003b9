//! The rows of every table, and what a run says about each of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failed::Failed;
use crate::measure::{Clock, Summary};
use crate::result::Results;

const TABLES: &str = include_str!("../data/tables.json");
const BASELINES: &str = include_str!("../data/baselines.json");

/// All tables as data.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    /// Footnotes by key.
    pub notes: BTreeMap<String, String>,
    /// In the order of the report; the last one holds the targets.
    pub tables: Vec<Table>,
}

/// One table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Name in links and charts.
    pub id: String,
    /// The section that measures it.
    pub section: String,
    /// Heading.
    pub title: String,
    /// Where the published figures come from.
    pub source: String,
    /// What is measured, where the heading does not say it.
    #[serde(default)]
    pub about: String,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What is done, in the published words where there are some.
    pub op: String,
    /// Operations whose medians are added; `{}` stands for the active backend.
    #[serde(default)]
    pub ids: Vec<String>,
    /// A number instead of a time: bytes, or microseconds where its name ends in `-us`, times per second
    /// where it ends in `-per-s`.
    pub figure: Option<String>,
    /// A number to subtract from it.
    pub minus: Option<String>,
    /// The sum is divided by this (batch sizes).
    #[serde(default = "one")]
    pub div: f64,
    /// Which quantity of the samples is compared.
    #[serde(default)]
    pub quantity: Quantity,
    /// Published figure.
    pub published: Option<Published>,
    /// Places in `data/baselines.json`, added.
    #[serde(default)]
    pub reference: Vec<String>,
    /// A physical limit, or the best figure of a library.
    pub limit: Option<Limit>,
    /// What our figure has to reach.
    pub target: Option<Target>,
    /// Keys of footnotes.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Why there is no figure, where the product lacks the thing.
    pub missing: Option<String>,
    /// Operations that this one consists of.
    #[serde(default)]
    pub parts: Vec<(String, String)>,
    /// What would make it faster.
    #[serde(default)]
    pub closes: String,
    /// Whether the README shows it.
    #[serde(default)]
    pub readme: bool,
}

const fn one() -> f64 {
    1.0
}

/// A quantity of the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantity {
    /// The median.
    #[default]
    Median,
    /// The 99th percentile.
    P99,
}

/// A published figure; one of the numbers, and the published words where they are less exact.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Microseconds; of a range the smaller end, which favours the published side.
    pub us: Option<f64>,
    /// The mean beside a median, microseconds.
    pub mean_us: Option<f64>,
    /// Megabytes per second.
    pub mb_s: Option<f64>,
    /// Bytes.
    pub bytes: Option<f64>,
    /// The published words.
    pub text: Option<String>,
}

/// A figure that cannot be passed, or that nobody else has passed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Microseconds.
    pub us: Option<f64>,
    /// Megabytes per second.
    pub mb_s: Option<f64>,
    /// Whose figure it is.
    pub what: String,
}

/// What a row has to reach: one of these.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// At least this many times as fast as the reference.
    pub ratio: Option<f64>,
    /// At most this many microseconds.
    pub max_us: Option<f64>,
    /// At most this many times the sum of other operations.
    pub times: Option<f64>,
    /// Those operations.
    #[serde(default)]
    pub of: Vec<String>,
    /// Their name.
    #[serde(default)]
    pub what: String,
}

/// A figure with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Nanoseconds.
    Ns(f64),
    /// Megabytes (10^6 bytes) per second.
    MbS(f64),
    /// Bytes.
    Bytes(f64),
    /// Times per second.
    PerS(f64),
}

/// What a run says about one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What is done.
    pub op: String,
    /// The published figure, as published.
    pub published: Option<String>,
    /// The reference, as recorded.
    pub reference: Option<Figure>,
    /// Ours.
    pub ours: Option<Figure>,
    /// Why there is no figure of ours.
    pub absent: Option<String>,
    /// Whether ours is wall time.
    pub wall: bool,
    /// Relative spread of ours.
    pub spread: Option<f64>,
    /// 99th percentile of ours.
    pub p99: Option<Figure>,
    /// How many times better ours is than the published figure.
    pub ratio_to_published: Option<f64>,
    /// How many times better ours is than the reference.
    pub ratio_to_reference: Option<f64>,
    /// The limit and whose it is.
    pub limit: Option<(Figure, String)>,
    /// The target in words.
    pub target: Option<String>,
    /// Whether it is met.
    pub met: Option<bool>,
    /// Parts that were measured, with their figures.
    pub parts: Vec<(String, Figure)>,
    /// What would make it faster.
    pub closes: String,
    /// Keys of footnotes.
    pub notes: Vec<String>,
    /// Whether the README shows it.
    pub readme: bool,
}

/// The tables of this build.
///
/// # Errors
/// [`Failed`]: a fault in the data file.
pub fn load() -> Result<Tables, Failed> {
    Ok(serde_json::from_str(TABLES)?)
}

/// The recorded reference: figures, machine and source.
///
/// # Errors
/// [`Failed`]: a fault in the data file.
pub fn baselines() -> Result<Value, Failed> {
    Ok(serde_json::from_str(BASELINES)?)
}

/// What a run says about every row of a table.
#[must_use]
pub fn evaluate(table: &Table, results: &Results, baselines: &Value) -> Vec<Verdict> {
    table
        .rows
        .iter()
        .map(|row| verdict(row, table, results, baselines))
        .collect()
}

/// All evaluated tables, for readers of the JSON.
///
/// # Errors
/// [`Failed`]: a fault in a data file.
pub fn to_json(results: &Results) -> Result<Value, Failed> {
    let (tables, baselines) = (load()?, baselines()?);
    let evaluated: Vec<Value> = tables
        .tables
        .iter()
        .map(|table| {
            let rows = evaluate(table, results, &baselines);
            Ok(
                serde_json::json!({"id": table.id, "title": table.title, "source": table.source,
                "rows": serde_json::to_value(rows)?}),
            )
        })
        .collect::<Result<_, Failed>>()?;
    Ok(serde_json::json!({"notes": tables.notes, "tables": evaluated}))
}

fn verdict(row: &Row, table: &Table, results: &Results, baselines: &Value) -> Verdict {
    let parts = find(&row.ids, results);
    let ours = ours(row, parts.as_deref(), results);
    let reference = reference(row, baselines).map(|(median, _)| Figure::Ns(median));
    let ratio_to_reference = reference
        .zip(ours)
        .and_then(|(theirs, ours)| ours.better_than(theirs));
    let published = row.published.as_ref();
    let (target, met) = target(row, ours, ratio_to_reference, results);
    let sum = |value: fn(&Summary) -> f64| {
        let parts = parts.as_deref()?;
        Some(parts.iter().map(|part| value(part)).sum::<f64>())
    };
    Verdict {
        op: row.op.clone(),
        published: published.map(Published::words),
        reference,
        ours,
        absent: ours.is_none().then(|| absent(row, table, results)),
        wall: parts
            .as_deref()
            .is_some_and(|parts| parts.iter().any(|p| p.clock == Clock::Wall)),
        spread: sum(|part| part.spread * part.median_ns)
            .zip(sum(|part| part.median_ns))
            .map(|(width, median)| width / median),
        p99: sum(|part| part.p99_ns).map(|ns| Figure::Ns(ns / row.div)),
        ratio_to_published: published
            .and_then(Published::figure)
            .zip(ours)
            .and_then(|(theirs, ours)| ours.better_than(theirs)),
        ratio_to_reference,
        limit: row.limit.as_ref().and_then(Limit::figure),
        target,
        met,
        parts: row
            .parts
            .iter()
            .filter_map(|(name, id)| Some((name.clone(), part(id, results)?)))
            .collect(),
        closes: row.closes.clone(),
        notes: row.notes.clone(),
        readme: row.readme,
    }
}

fn find<'r>(ids: &[String], results: &'r Results) -> Option<Vec<&'r Summary>> {
    let found: Option<Vec<_>> = ids.iter().map(|id| results.time(id)).collect();
    found.filter(|found| !found.is_empty())
}

fn part(id: &str, results: &Results) -> Option<Figure> {
    let time = results.median_ns(id);
    time.or_else(|| Some(results.figure(id)? * 1e3))
        .map(Figure::Ns)
}

fn ours(row: &Row, parts: Option<&[&Summary]>, results: &Results) -> Option<Figure> {
    if let Some(name) = &row.figure {
        let value = results.figure(name)?;
        let minus = match &row.minus {
            Some(name) => results.figure(name)?,
            None => 0.0,
        };
        let value = value - minus;
        return Some(match name {
            name if name.ends_with("-us") => Figure::Ns(value * 1e3),
            name if name.ends_with("-per-s") => Figure::PerS(value),
            _ => Figure::Bytes(value),
        });
    }
    let parts = parts?;
    let value = |part: &&Summary| match row.quantity {
        Quantity::Median => part.median_ns,
        Quantity::P99 => part.p99_ns,
    };
    let ns = parts.iter().map(value).sum::<f64>() / row.div;
    let bytes = parts.first().and_then(|part| part.bytes);
    Some(bytes.map_or(Figure::Ns(ns), |bytes| Figure::MbS(bytes as f64 * 1e3 / ns)))
}

fn absent(row: &Row, table: &Table, results: &Results) -> String {
    if let Some(reason) = &row.missing {
        return reason.clone();
    }
    let from_demo = row
        .figure
        .as_ref()
        .is_some_and(|name| name.starts_with("delivery/"));
    let of_wrapper = |id: &String| id.starts_with("groth16/");
    let named = || row.ids.iter().chain(&row.figure);
    // Rows of other tables show operations of these sections too.
    let section = if from_demo {
        "delivery"
    } else if named().any(of_wrapper) {
        "wrapper"
    } else {
        &table.section
    };
    let left_out = results
        .absent
        .iter()
        .find(|(beginning, _)| named().any(|id| id.starts_with(beginning.as_str())));
    if let Some((_, reason)) = left_out {
        return format!("not measured in this run: {reason}");
    }
    let why = match results.absent.get(section) {
        Some(reason) => reason.clone(),
        None if section == "targets" || results.sections.iter().any(|ran| ran == section) => {
            "its source gave no figure".to_owned()
        }
        None => format!("section `{section}` was not asked for"),
    };
    format!("not measured in this run: {why}")
}

/// Median and minimum of the reference, nanoseconds, summed over the places of a row.
fn reference(row: &Row, baselines: &Value) -> Option<(f64, f64)> {
    let mut sum = (0.0, 0.0);
    for place in &row.reference {
        let value = place
            .split('/')
            .try_fold(baselines, |value, key| value.get(key))?;
        let scale = if place.contains("_us/") { 1e3 } else { 1e6 };
        let at = |index: usize| value.get(index).and_then(Value::as_f64);
        sum.0 += at(1)? * scale;
        sum.1 += at(0)? * scale;
    }
    (!row.reference.is_empty()).then_some(sum)
}

/// The target in words, and whether it is met.
fn target(
    row: &Row,
    ours: Option<Figure>,
    ratio: Option<f64>,
    results: &Results,
) -> (Option<String>, Option<bool>) {
    let Some(target) = &row.target else {
        return (None, None);
    };
    if let Some(wanted) = target.ratio {
        let met = ratio.map(|ratio| ratio >= wanted);
        return (Some(format!(">= {wanted}x the reference")), met);
    }
    if let Some(limit) = target.max_us {
        let met = match ours {
            Some(Figure::Ns(ns)) => Some(ns <= limit * 1e3),
            _ => None,
        };
        return (Some(format!("<= {}", Figure::Ns(limit * 1e3))), met);
    }
    let Some(factor) = target.times else {
        return (None, None);
    };
    // The fastest samples of both sides: they were not measured in the same moment.
    let fastest = |ids: &[String]| -> Option<f64> {
        let found = find(ids, results)?;
        Some(found.iter().map(|part| part.min_ns).sum())
    };
    let share = fastest(&row.ids)
        .zip(fastest(&target.of))
        .map(|(ours, whole)| ours / whole);
    let is = share.map_or_else(String::new, |share| format!(", is {share:.4}x"));
    (
        Some(format!("<= {factor}x of {}{is}", target.what)),
        share.map(|share| share <= factor),
    )
}

impl Published {
    /// The number to compare with.
    #[must_use]
    pub fn figure(&self) -> Option<Figure> {
        let us = self.us.map(|us| Figure::Ns(us * 1e3));
        us.or_else(|| self.mb_s.map(Figure::MbS))
            .or_else(|| self.bytes.map(Figure::Bytes))
    }

    fn words(&self) -> String {
        let figure = self.figure().map(|figure| figure.to_string());
        let words = self.text.clone().or(figure).unwrap_or_default();
        match self.mean_us {
            Some(mean) => format!("{words} (mean {})", Figure::Ns(mean * 1e3)),
            None => words,
        }
    }
}

impl Limit {
    fn figure(&self) -> Option<(Figure, String)> {
        let us = self.us.map(|us| Figure::Ns(us * 1e3));
        let figure = us.or_else(|| self.mb_s.map(Figure::MbS))?;
        Some((figure, self.what.clone()))
    }
}

impl Figure {
    /// The bare number.
    #[must_use]
    pub const fn value(self) -> f64 {
        let (Self::Ns(value) | Self::MbS(value) | Self::Bytes(value) | Self::PerS(value)) = self;
        value
    }

    /// How many times better than `other`; `None` for different units.
    #[must_use]
    pub fn better_than(self, other: Self) -> Option<f64> {
        match (self, other) {
            (Self::Ns(ours), Self::Ns(theirs)) | (Self::Bytes(ours), Self::Bytes(theirs)) => {
                Some(theirs / ours)
            }
            (Self::MbS(ours), Self::MbS(theirs)) | (Self::PerS(ours), Self::PerS(theirs)) => {
                Some(ours / theirs)
            }
            _ => None,
        }
    }
}

impl core::fmt::Display for Figure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Self::Ns(ns) if ns < 10.0 => write!(f, "{ns:.1} ns"),
            Self::Ns(ns) if ns < 1e3 => write!(f, "{ns:.0} ns"),
            Self::Ns(ns) if ns < 1e6 => write!(f, "{} us", three_digits(ns / 1e3)),
            Self::Ns(ns) if ns < 1e9 => write!(f, "{} ms", three_digits(ns / 1e6)),
            Self::Ns(ns) => write!(f, "{} s", three_digits(ns / 1e9)),
            Self::PerS(rate) => write!(f, "{rate:.1} per second"),
            Self::MbS(rate) if rate < 1e3 => write!(f, "{rate:.0} MB/s"),
            Self::MbS(rate) => write!(f, "{:.2} GB/s", rate / 1e3),
            Self::Bytes(bytes) if bytes < 10e3 => write!(f, "{bytes:.0} B"),
            Self::Bytes(bytes) if bytes < 1e6 => write!(f, "{:.1} KB", bytes / 1e3),
            Self::Bytes(bytes) if bytes < 1e9 => write!(f, "{:.2} MB", bytes / 1e6),
            Self::Bytes(bytes) => write!(f, "{:.2} GB", bytes / 1e9),
        }
    }
}

/// Three significant digits of a number between 1 and 1,000.
fn three_digits(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2}")
    } else if value < 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_in_the_tables_exists() {
        let (tables, baselines) = (load().unwrap(), baselines().unwrap());
        for table in &tables.tables {
            for row in &table.rows {
                let found = reference(row, &baselines).is_some();
                assert_eq!(found, !row.reference.is_empty(), "{}: {}", table.id, row.op);
                for note in &row.notes {
                    assert!(tables.notes.contains_key(note), "{}: note {note}", row.op);
                }
                let sources = [
                    !row.ids.is_empty(),
                    row.figure.is_some(),
                    row.missing.is_some(),
                ];
                assert!(sources.contains(&true), "{}: nothing to show", row.op);
            }
        }
    }

    #[test]
    fn ten_rows_are_for_the_readme() {
        let tables = load().unwrap();
        let rows = tables.tables.iter().flat_map(|table| &table.rows);
        assert_eq!(rows.filter(|row| row.readme).count(), 10);
    }

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        let texts = [0.5, 143.0, 29_270.0, 1_464_000.0, 2.5e9].map(|ns| Figure::Ns(ns).to_string());
        assert_eq!(texts, ["0.5 ns", "143 ns", "29.3 us", "1.46 ms", "2.50 s"]);
        assert_eq!(Figure::MbS(4200.0).to_string(), "4.20 GB/s");
        assert_eq!(Figure::Bytes(33_052.0).to_string(), "33.1 KB");
    }

    #[test]
    fn ratios_say_how_many_times_better_ours_is() {
        assert_eq!(Figure::Ns(10.0).better_than(Figure::Ns(30.0)), Some(3.0));
        assert_eq!(Figure::MbS(30.0).better_than(Figure::MbS(10.0)), Some(3.0));
        assert_eq!(Figure::Ns(1.0).better_than(Figure::Bytes(1.0)), None);
    }
}
