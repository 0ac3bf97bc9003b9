//! Benchmarks of the workspace and the report made of them.
//!
//! # Why criterion, and why CPU time
//! Criterion keeps every sample as JSON, so the report can state samples, spread and tail instead of
//! one number, and it accepts a measurement of one's own. That is used here: [`CpuTime`] counts the
//! processor time of the measuring thread, not wall time. The machines that run this are small and
//! shared; a job beside the benchmark stretches wall time by whole multiples while it moves CPU time
//! by a few per cent (caches, clock). The Go reference was measured the same way, so the ratios
//! compare like with like. What runs on one thread is timed so. Where the point is that lanes run at
//! once, the benchmark counts wall time instead and its identifier has `wall,threads=N`: such a row
//! is only as good as the machine is quiet.
//!
//! Identifiers are `crate/operation/parameters/backend/{cold,cached}`, the last part only where
//! there is something to cache. The binary `report` reads what criterion wrote, compares it with
//! `data/baselines.json`, and writes JSON and the Markdown table; nobody types a number.

#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program with std"
)]

pub mod cpu_time;
pub mod fixture;
pub mod render;
pub mod report;
pub mod rows;

use core::time::Duration;

use criterion::Criterion;
use criterion::measurement::{Measurement, WallTime};
use horizon_testkit::SeededRng;

pub use cpu_time::CpuTime;

/// Batch sizes of the transforms: one list for all backends.
pub const BATCHES: [usize; 4] = [1, 8, 32, 128];
/// Committee sizes of the published table.
pub const COMMITTEES: [u16; 2] = [5, 21];

/// The settings of all benchmarks: short, since spread comes from the machine and not from the
/// number of seconds. `HORIZON_BENCH_SMOKE=1` runs each benchmark just long enough to see it work.
#[must_use]
pub fn criterion() -> Criterion<CpuTime> {
    settings(CpuTime)
}

/// The same settings with wall time, for what runs on several threads.
#[must_use]
pub fn criterion_wall() -> Criterion<WallTime> {
    settings(WallTime)
}

fn settings<M: Measurement + 'static>(measurement: M) -> Criterion<M> {
    let smoke = std::env::var_os("HORIZON_BENCH_SMOKE").is_some();
    let millis =
        |normal, smoke_time| Duration::from_millis(if smoke { smoke_time } else { normal });
    Criterion::default()
        .with_measurement(measurement)
        .without_plots()
        .sample_size(if smoke { 10 } else { 40 })
        .warm_up_time(millis(200, 1))
        .measurement_time(millis(600, 10))
        .nresamples(if smoke { 10 } else { 2_000 })
        .configure_from_args()
}

/// Random bytes handed out at changing offsets, so that no alignment is favoured.
#[derive(Debug)]
pub struct Inputs {
    bytes: Vec<u8>,
    len: usize,
    offset: usize,
}

impl Inputs {
    /// Inputs of `len` bytes.
    #[must_use]
    pub fn new(seed: u64, len: usize) -> Self {
        Self {
            bytes: SeededRng::new(seed).vec(len + PAGE),
            len,
            offset: 0,
        }
    }

    /// The next input: 17 bytes further than the last one, within one page.
    #[allow(
        clippy::should_implement_trait,
        reason = "it lends from itself, an iterator cannot"
    )]
    pub fn next(&mut self) -> &[u8] {
        self.offset = (self.offset + 17) % PAGE;
        &self.bytes[self.offset..self.offset + self.len]
    }
}

const PAGE: usize = 4096;
