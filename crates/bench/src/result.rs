//! What one run leaves behind: the only input of every document.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failed::Failed;
use crate::machine::Machine;
use crate::measure::Summary;
use crate::noise::Noise;

/// Version of the format: raised when a field changes its meaning.
pub const SCHEMA: u32 = 2;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What was typed.
    pub command: String,
    /// Whether it was a short run, whose figures are rough.
    pub quick: bool,
    /// Sections that ran.
    pub sections: Vec<String>,
    /// Duration of the run, seconds.
    pub seconds: f64,
    /// Where it ran.
    pub machine: Machine,
    /// How quiet it was.
    pub noise: Noise,
    /// Times by identifier.
    pub times: BTreeMap<String, Summary>,
    /// Sizes in bytes, counts, and figures that another command measured.
    pub figures: BTreeMap<String, f64>,
    /// Sections without figures, or beginnings of identifiers that were left out, and why.
    pub absent: BTreeMap<String, String>,
    /// The tables as evaluated, for readers of the JSON; documents compute them anew.
    #[serde(default)]
    pub tables: Value,
}

impl Results {
    /// Reads a result file.
    ///
    /// # Errors
    /// [`Failed`]: not JSON of this format, or another version of it.
    pub fn from_json(bytes: &[u8]) -> Result<Self, Failed> {
        let results: Self = serde_json::from_slice(bytes)?;
        if results.schema == SCHEMA {
            Ok(results)
        } else {
            Err(Failed(format!(
                "result file of version {}, this program reads {SCHEMA}",
                results.schema
            )))
        }
    }

    /// The result as JSON, indented.
    ///
    /// # Errors
    /// [`Failed`]: a number that JSON cannot hold.
    pub fn to_json(&self) -> Result<String, Failed> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// A measured time, with `{}` in the identifier standing for the active backend.
    #[must_use]
    pub fn time(&self, id: &str) -> Option<&Summary> {
        self.times.get(&id.replace("{}", &self.machine.backend))
    }

    /// The median of an operation, nanoseconds.
    #[must_use]
    pub fn median_ns(&self, id: &str) -> Option<f64> {
        self.time(id).map(|summary| summary.median_ns)
    }

    /// A number that is no time.
    #[must_use]
    pub fn figure(&self, id: &str) -> Option<f64> {
        self.figures.get(id).copied()
    }
}

/// One operation in two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The operation.
    pub id: String,
    /// Median of this run over median of the other.
    pub factor: f64,
    /// Spread of both, added.
    pub spread: f64,
}

impl Difference {
    /// Whether the runs differ by more than both spreads explain.
    #[must_use]
    pub fn is_beyond_spread(&self) -> bool {
        (self.factor.ln()).abs() > (1.0 + self.spread).ln()
    }
}

/// What both runs measured, largest change first.
#[must_use]
pub fn compare(this: &Results, other: &Results) -> Vec<Difference> {
    let mut differences: Vec<Difference> = this
        .times
        .iter()
        .filter_map(|(id, ours)| {
            let theirs = other.times.get(id)?;
            Some(Difference {
                id: id.clone(),
                factor: ours.median_ns / theirs.median_ns,
                spread: ours.spread + theirs.spread,
            })
        })
        .collect();
    differences.sort_by(|a, b| b.factor.ln().abs().total_cmp(&a.factor.ln().abs()));
    differences
}
