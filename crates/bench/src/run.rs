//! One run from plan to result.

use crate::clock::Watch;
use crate::failed::Failed;
use crate::machine::Machine;
use crate::measure::{Bench, Plan};
use crate::noise::{Noise, Probe};
use crate::result::{Results, SCHEMA};
use crate::sections::{Fixtures, Section};
use crate::{scaling, tables};

/// What to measure.
#[derive(Clone)]
pub struct Request<'a> {
    /// Sections, in order.
    pub sections: Vec<&'static Section>,
    /// How long.
    pub plan: Plan,
    /// What was typed.
    pub command: String,
    /// Asked once everything else is measured: figures of a delivery, by name, or why there are none.
    pub delivery: &'a dyn Fn() -> Result<Vec<(String, f64)>, String>,
}

impl core::fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Request")
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

/// Where a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Pass, from 0.
    pub pass: usize,
    /// Section of this pass, from 0.
    pub section: usize,
    /// The operation that is measured next.
    pub id: &'a str,
}

/// Runs the sections and evaluates the tables.
///
/// # Errors
/// [`Failed`] with the first failure.
pub fn run(
    request: &Request<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Results, Failed> {
    let watch = Watch::start();
    let fixtures = Fixtures::default();
    let mut probes = vec![Probe::take()];
    let position = core::cell::Cell::new((0, 0));
    let mut tell = |id: &str| {
        let (pass, section) = position.get();
        progress(Progress { pass, section, id });
    };
    let mut bench = Bench::new(request.plan, &mut tell);
    for pass in 0..request.plan.passes {
        for (index, section) in request.sections.iter().enumerate() {
            position.set((pass, index));
            section.run(&mut bench, &fixtures)?;
        }
        probes.push(Probe::take());
    }
    let mut absent = bench.skipped().clone();
    let (times, mut figures) = bench.finish();
    let asked = |name: &str| request.sections.iter().any(|section| section.name == name);
    if asked("delivery") {
        match (request.delivery)() {
            Ok(measured) => figures.extend(measured),
            Err(reason) => {
                absent.insert("delivery".to_owned(), reason);
            }
        }
    }
    let mut results = Results {
        schema: SCHEMA,
        command: request.command.clone(),
        quick: request.plan != Plan::FULL,
        sections: request
            .sections
            .iter()
            .map(|section| section.name.to_owned())
            .collect(),
        seconds: watch.stop().wall / 1e9,
        machine: Machine::here(),
        noise: Noise::judge(probes),
        times,
        figures,
        absent,
        tables: serde_json::Value::Null,
    };
    if request
        .sections
        .iter()
        .any(|section| section.name == "scaling")
    {
        let simulated = scaling::simulate(&results);
        results.figures.extend(simulated);
    }
    results.tables = tables::to_json(&results)?;
    Ok(results)
}
