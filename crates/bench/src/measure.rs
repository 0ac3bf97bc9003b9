//! Taking time: warm-up, batches of iterations, several passes, medians with spread and tail.

use core::fmt::Display;
use core::hint::black_box;
use std::collections::BTreeMap;

use rayon::ThreadPool;
use serde::{Deserialize, Serialize};

use crate::clock::{Pinned, Reading, Watch};
use crate::failed::Failed;

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// How often the whole list of sections runs: the machine of one minute is not that of the next.
    pub passes: usize,
    /// Samples of an operation in each pass.
    pub samples: usize,
    /// Samples in each pass of an operation that is slower than a sample should be.
    pub samples_min: usize,
    /// Time of a sample, nanoseconds.
    pub sample_ns: f64,
    /// Time to warm up, nanoseconds.
    pub warm_up_ns: f64,
}

impl Plan {
    /// For figures that are quoted.
    pub const FULL: Self = Self {
        passes: 3,
        samples: 35,
        samples_min: 7,
        sample_ns: 4e6,
        warm_up_ns: 40e6,
    };
    /// To see in a minute that everything works, and roughly how fast.
    pub const QUICK: Self = Self {
        passes: 2,
        samples: 7,
        samples_min: 2,
        sample_ns: 1e6,
        warm_up_ns: 3e6,
    };
    /// One sample of each operation, for tests.
    pub const SMOKE: Self = Self {
        passes: 1,
        samples: 1,
        samples_min: 1,
        sample_ns: 1.0,
        warm_up_ns: 1.0,
    };
}

/// What a row's figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Processor time of the one thread that works.
    Cpu,
    /// Wall time: several threads work.
    Wall,
}

/// One operation as measured. Times are nanoseconds for one iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// What the figures count.
    pub clock: Clock,
    /// Number of samples over all passes.
    pub samples: usize,
    /// Smallest sample.
    pub min_ns: f64,
    /// Median of the samples: the figure to quote.
    pub median_ns: f64,
    /// Mean of the samples.
    pub mean_ns: f64,
    /// 99th percentile of the samples; a sample is the mean over its iterations.
    pub p99_ns: f64,
    /// Relative to the median: the larger of half the distance between the 5th and the 95th
    /// percentile, and the distance between the medians of the passes.
    pub spread: f64,
    /// Median wall time.
    pub wall_ns: f64,
    /// Median processor time of the whole process.
    pub process_ns: f64,
    /// Bytes worked on by one iteration, for rows about throughput.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Takes the time of operations and keeps it by identifier.
pub struct Bench<'p> {
    plan: Plan,
    series: BTreeMap<String, Series>,
    figures: BTreeMap<String, f64>,
    skipped: BTreeMap<String, String>,
    progress: &'p mut dyn FnMut(&str),
}

impl core::fmt::Debug for Bench<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Bench")
            .field("plan", &self.plan)
            .field("series", &self.series.len())
            .finish_non_exhaustive()
    }
}

struct Series {
    clock: Clock,
    bytes: Option<u64>,
    passes: Vec<Vec<Reading>>,
}

impl<'p> Bench<'p> {
    /// An empty bench; `progress` is told each identifier before it is measured.
    pub const fn new(plan: Plan, progress: &'p mut dyn FnMut(&str)) -> Self {
        Self {
            plan,
            series: BTreeMap::new(),
            figures: BTreeMap::new(),
            skipped: BTreeMap::new(),
            progress,
        }
    }

    /// How long it measures.
    #[must_use]
    pub const fn plan(&self) -> Plan {
        self.plan
    }

    /// Measures `run` on one pinned thread.
    ///
    /// # Errors
    /// None but those of the clock's arithmetic: the operation cannot fail.
    pub fn time<T>(&mut self, id: &str, mut run: impl FnMut() -> T) -> Result<(), Failed> {
        self.check(id, || Ok::<T, Failed>(run()))
    }

    /// Measures `run` on one pinned thread; an operation that fails ends the measurement.
    ///
    /// # Errors
    /// [`Failed`] with the first failure.
    pub fn check<T, E: Display>(
        &mut self,
        id: &str,
        mut run: impl FnMut() -> Result<T, E>,
    ) -> Result<(), Failed> {
        self.series(id, Clock::Cpu, usize::MAX, &mut |count| {
            timed(count, &mut run)
        })
    }

    /// Measures `run`, which uses up what `setup` makes; only `run` is timed.
    ///
    /// # Errors
    /// [`Failed`] with the first failure of either.
    pub fn consume<I, T, E: Display>(
        &mut self,
        id: &str,
        mut setup: impl FnMut() -> Result<I, Failed>,
        mut run: impl FnMut(I) -> Result<T, E>,
    ) -> Result<(), Failed> {
        self.series(id, Clock::Cpu, PREPARED_MAX, &mut |count| {
            let inputs = (0..count).map(|_| setup()).collect::<Result<Vec<I>, _>>()?;
            // Outputs are dropped after the clock has stopped.
            let mut outputs = Vec::with_capacity(count);
            let watch = Watch::start();
            for input in inputs {
                outputs.push(run(black_box(input)));
            }
            let reading = watch.stop();
            match outputs.into_iter().find_map(Result::err) {
                Some(error) => Err(Failed(error.to_string())),
                None => Ok(reading),
            }
        })
    }

    /// Measures the wall time of `run` on the threads of `pool`.
    ///
    /// # Errors
    /// [`Failed`] with the first failure.
    pub fn wall<T, E: Display>(
        &mut self,
        id: &str,
        pool: &ThreadPool,
        mut run: impl FnMut() -> Result<T, E> + Send,
    ) -> Result<(), Failed> {
        self.series(id, Clock::Wall, usize::MAX, &mut |count| {
            pool.install(|| timed(count, &mut run))
        })
    }

    /// Keeps one sample that was taken elsewhere.
    pub fn record(&mut self, id: &str, clock: Clock, reading: Reading) {
        let series = self.entry(id, clock);
        match series.passes.last_mut() {
            Some(pass) => pass.push(reading),
            None => series.passes.push(vec![reading]),
        }
    }

    /// States how many bytes an iteration of `id` works on.
    pub fn bytes(&mut self, id: &str, bytes: usize) {
        if let Some(series) = self.series.get_mut(id) {
            series.bytes = u64::try_from(bytes).ok();
        }
    }

    /// Keeps a number that is no time: a size in bytes, a count.
    pub fn figure(&mut self, id: &str, value: f64) {
        self.figures.insert(id.to_owned(), value);
    }

    /// States why this plan leaves out what begins with `prefix`.
    pub fn skip(&mut self, prefix: &str, reason: &str) {
        self.skipped.insert(prefix.to_owned(), reason.to_owned());
    }

    /// What was left out and why, by beginning of the identifier.
    #[must_use]
    pub const fn skipped(&self) -> &BTreeMap<String, String> {
        &self.skipped
    }

    /// Everything measured, by identifier: times, then other numbers.
    #[must_use]
    pub fn finish(self) -> (BTreeMap<String, Summary>, BTreeMap<String, f64>) {
        let summaries = self
            .series
            .into_iter()
            .filter_map(|(id, series)| Some((id, series.summary()?)))
            .collect();
        (summaries, self.figures)
    }

    fn entry(&mut self, id: &str, clock: Clock) -> &mut Series {
        self.series.entry(id.to_owned()).or_insert_with(|| Series {
            clock,
            bytes: None,
            passes: Vec::new(),
        })
    }

    /// One pass of one operation. `run` performs a number of iterations and says how long they took.
    fn series(
        &mut self,
        id: &str,
        clock: Clock,
        batch_max: usize,
        run: &mut dyn FnMut(usize) -> Result<Reading, Failed>,
    ) -> Result<(), Failed> {
        (self.progress)(id);
        let named = |failed: Failed| Failed(format!("{id}: {failed}"));
        let pin = (clock == Clock::Cpu).then(Pinned::new);
        let (mut count, mut spent) = (1, 0.0);
        // Doubling until the warm-up is over also tells how long an iteration takes.
        let estimate = loop {
            let reading = run(count).map_err(named)?;
            spent += reading.wall;
            if spent >= self.plan.warm_up_ns {
                break (reading.wall / count as f64).max(0.1);
            }
            count = (count * 2).min(batch_max);
        };
        #[allow(clippy::cast_sign_loss, reason = "both are positive")]
        let batch = ((self.plan.sample_ns / estimate) as usize).clamp(1, batch_max);
        let budget = self.plan.sample_ns * self.plan.samples as f64;
        #[allow(clippy::cast_sign_loss, reason = "both are positive")]
        let affordable = (budget / (estimate * batch as f64)) as usize;
        let samples = affordable.clamp(self.plan.samples_min, self.plan.samples);
        let pass = (0..samples)
            .map(|_| Ok(run(batch).map_err(named)?.per(batch)))
            .collect::<Result<Vec<Reading>, Failed>>()?;
        drop(pin);
        self.entry(id, clock).passes.push(pass);
        Ok(())
    }
}

/// Inputs made ahead for one sample.
const PREPARED_MAX: usize = 64;

fn timed<T, E: Display>(
    count: usize,
    run: &mut impl FnMut() -> Result<T, E>,
) -> Result<Reading, Failed> {
    let watch = Watch::start();
    for _ in 0..count {
        if let Err(error) = black_box(run()) {
            return Err(Failed(error.to_string()));
        }
    }
    Ok(watch.stop())
}

impl Series {
    fn summary(&self) -> Option<Summary> {
        let value = |reading: &Reading| match self.clock {
            Clock::Cpu => reading.cpu,
            Clock::Wall => reading.wall,
        };
        let all = || self.passes.iter().flatten();
        let times = sorted(all().map(value));
        let median_ns = quantile(&times, 0.5)?;
        let medians = sorted(
            self.passes
                .iter()
                .filter_map(|pass| quantile(&sorted(pass.iter().map(value)), 0.5)),
        );
        let width = (quantile(&times, 0.95)? - quantile(&times, 0.05)?) / 2.0;
        let drift = medians.last()? - medians.first()?;
        Some(Summary {
            clock: self.clock,
            samples: times.len(),
            min_ns: *times.first()?,
            median_ns,
            mean_ns: times.iter().sum::<f64>() / times.len() as f64,
            p99_ns: quantile(&times, 0.99)?,
            spread: width.max(drift) / median_ns.max(f64::MIN_POSITIVE),
            wall_ns: quantile(&sorted(all().map(|r| r.wall)), 0.5)?,
            process_ns: quantile(&sorted(all().map(|r| r.process)), 0.5)?,
            bytes: self.bytes,
        })
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Linear interpolation between the two nearest of sorted values.
pub(crate) fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = part * last as f64;
    #[allow(clippy::cast_sign_loss, reason = "both factors are positive")]
    let low = position as usize;
    let (low_value, high_value) = (sorted.get(low)?, sorted.get((low + 1).min(last))?);
    Some(low_value + (high_value - low_value) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(cpu: f64) -> Reading {
        Reading {
            cpu,
            wall: 2.0 * cpu,
            process: 3.0 * cpu,
        }
    }

    #[test]
    fn quantiles_interpolate_and_need_a_value() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0], 0.5), Some(1.5));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_spread_covers_the_distance_between_passes() {
        let pass = |center: f64| (0..11).map(|_| reading(center)).collect();
        let series = Series {
            clock: Clock::Cpu,
            bytes: None,
            passes: vec![pass(100.0), pass(110.0), pass(100.0)],
        };
        let summary = series.summary().unwrap();
        assert_eq!((summary.samples, summary.median_ns), (33, 100.0));
        assert!((summary.spread - 0.1).abs() < 1e-12, "{}", summary.spread);
        assert_eq!((summary.wall_ns, summary.process_ns), (200.0, 300.0));
    }

    #[test]
    fn a_failing_operation_ends_the_measurement_with_its_name() {
        let mut silent = |_: &str| {};
        let mut bench = Bench::new(Plan::SMOKE, &mut silent);
        let failed = bench.check("a/b", || Err::<(), _>("broken")).unwrap_err();
        assert_eq!(failed.0, "a/b: broken");
        bench.time("a/c", || 1 + 1).unwrap();
        let (summaries, _) = bench.finish();
        assert!(summaries.contains_key("a/c") && !summaries.contains_key("a/b"));
    }

    #[test]
    fn only_the_operation_is_timed_not_its_setup() {
        let mut silent = |_: &str| {};
        let mut bench = Bench::new(Plan::SMOKE, &mut silent);
        let slow = || {
            (0..3_000_000u64).for_each(|i| {
                black_box(i);
            });
            Ok(())
        };
        bench.consume("x", slow, |()| Ok::<_, Failed>(())).unwrap();
        let (summaries, _) = bench.finish();
        assert!(summaries["x"].median_ns < 200_000.0, "{summaries:?}");
    }
}
