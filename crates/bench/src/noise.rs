//! Whether the machine was quiet enough to quote what was measured on it.

use core::hint::black_box;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::clock::{Pinned, Reading, Watch};

/// What the machine did while a fixed loop ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Processor time of the loop, nanoseconds; fastest of several runs.
    pub cpu_ns: f64,
    /// Wall time over processor time of all runs: above 1 when something else had the core.
    pub stretch: f64,
    /// Load average over one minute, where the system tells it.
    pub load: Option<f64>,
}

impl Probe {
    /// Runs the loop, about a tenth of a second.
    #[must_use]
    pub fn take() -> Self {
        let _pin = Pinned::new();
        let load = load();
        let runs: Vec<Reading> = (0..PROBE_RUNS).map(|_| calibration()).collect();
        let sum = |value: fn(&Reading) -> f64| runs.iter().map(value).sum::<f64>();
        Self {
            cpu_ns: runs.iter().map(|run| run.cpu).fold(f64::INFINITY, f64::min),
            stretch: sum(|run| run.wall) / sum(|run| run.cpu).max(1.0),
            load,
        }
    }
}

const PROBE_RUNS: usize = 8;
const PROBE_STEPS: u64 = 8_000_000;

/// A chain of multiplications: its time follows the clock rate and nothing else.
fn calibration() -> Reading {
    let watch = Watch::start();
    let mut value = black_box(1u64);
    for step in 0..PROBE_STEPS {
        value = (value ^ step).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    black_box(value);
    watch.stop()
}

fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// The probes of a run and what follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Before the first pass, between passes, after the last.
    pub probes: Vec<Probe>,
    /// Whether the figures may be quoted.
    pub quiet: bool,
    /// Why not.
    pub reasons: Vec<String>,
}

impl Noise {
    /// Judges the probes.
    #[must_use]
    pub fn judge(probes: Vec<Probe>) -> Self {
        let mut reasons = Vec::new();
        let before = probes.first().and_then(|probe| probe.load);
        if let Some(load) = before.filter(|load| *load > LOAD_MAX) {
            reasons.push(format!(
                "the load average was {load:.2} before the run (limit {LOAD_MAX})"
            ));
        }
        let stretch = probes.iter().map(|probe| probe.stretch).fold(1.0, f64::max);
        if stretch > STRETCH_MAX {
            reasons.push(format!(
                "a fixed loop took {stretch:.2} times its processor time on the wall \
                 (limit {STRETCH_MAX})"
            ));
        }
        let times = || probes.iter().map(|probe| probe.cpu_ns);
        let drift = times().fold(0.0, f64::max) / times().fold(f64::INFINITY, f64::min);
        if drift > DRIFT_MAX {
            reasons.push(format!(
                "the processor time of a fixed loop varied by a factor of {drift:.3} \
                 (limit {DRIFT_MAX})"
            ));
        }
        Self {
            quiet: reasons.is_empty(),
            probes,
            reasons,
        }
    }
}

/// Highest load average before a quiet run.
const LOAD_MAX: f64 = 0.7;
/// Largest wall time of the loop, in its processor time.
const STRETCH_MAX: f64 = 1.05;
/// Largest processor time of the loop, in the smallest.
const DRIFT_MAX: f64 = 1.05;

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(cpu_ns: f64, stretch: f64, load: f64) -> Probe {
        Probe {
            cpu_ns,
            stretch,
            load: Some(load),
        }
    }

    #[test]
    fn a_quiet_machine_has_nothing_said_against_it() {
        let noise = Noise::judge(vec![probe(100.0, 1.0, 0.1), probe(101.0, 1.01, 1.0)]);
        assert!(noise.quiet && noise.reasons.is_empty(), "{noise:?}");
    }

    #[test]
    fn load_stretch_and_drift_are_each_a_reason() {
        for probes in [
            vec![probe(100.0, 1.0, 3.0)],
            vec![probe(100.0, 1.5, 0.0)],
            vec![probe(100.0, 1.0, 0.0), probe(120.0, 1.0, 0.0)],
        ] {
            let noise = Noise::judge(probes);
            assert!(!noise.quiet);
            assert_eq!(noise.reasons.len(), 1, "{noise:?}");
        }
    }

    #[test]
    fn the_loop_takes_measurable_time() {
        let probe = Probe::take();
        assert!(probe.cpu_ns > 1e5 && probe.stretch > 0.9, "{probe:?}");
    }
}
