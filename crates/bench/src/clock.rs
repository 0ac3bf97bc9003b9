//! The three clocks of a sample, and the core it runs on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// Time that passed on all three clocks, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// On the wall.
    pub wall: f64,
    /// Processor time of the calling thread.
    pub cpu: f64,
    /// Processor time of all threads of the process.
    pub process: f64,
}

impl Reading {
    /// The reading for one of `count` equal parts.
    #[must_use]
    pub fn per(self, count: usize) -> Self {
        let count = count.max(1) as f64;
        Self {
            wall: self.wall / count,
            cpu: self.cpu / count,
            process: self.process / count,
        }
    }
}

/// A running stopwatch. One reading costs two system calls of about 0.2 us, so samples last
/// milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Watch(Reading);

impl Watch {
    /// Starts.
    #[must_use]
    pub fn start() -> Self {
        Self(Reading {
            wall: now(ClockId::Monotonic),
            process: now(ClockId::ProcessCPUTime),
            cpu: now(ClockId::ThreadCPUTime),
        })
    }

    /// What passed since the start; must be asked on the same thread.
    #[must_use]
    pub fn stop(self) -> Reading {
        let cpu = now(ClockId::ThreadCPUTime) - self.0.cpu;
        let process = now(ClockId::ProcessCPUTime) - self.0.process;
        let wall = now(ClockId::Monotonic) - self.0.wall;
        Reading { wall, cpu, process }
    }
}

/// Nanoseconds of a clock that only goes forward.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

fn now(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Holds the calling thread on one core until dropped, where the system allows it.
#[derive(Debug)]
pub struct Pinned {
    before: Option<CpuSet>,
}

impl Pinned {
    /// Pins the calling thread to the last core it may use: the first one serves most interrupts.
    #[must_use]
    pub fn new() -> Self {
        let before = sched_getaffinity(None).ok();
        let before = before.filter(|set| {
            let mut one = CpuSet::new();
            last_core(set).is_some_and(|core| {
                one.set(core);
                sched_setaffinity(None, &one).is_ok()
            })
        });
        Self { before }
    }

    /// The core, or `None` where the system does not allow pinning.
    #[must_use]
    pub fn core(&self) -> Option<usize> {
        self.before.as_ref().and_then(last_core)
    }
}

impl Default for Pinned {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // The thread had this set a moment ago; if it is refused now, it stays on one core.
            let _ = sched_setaffinity(None, before);
        }
    }
}

fn last_core(set: &CpuSet) -> Option<usize> {
    (0..CpuSet::MAX_CPU).rev().find(|core| set.is_set(*core))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn waiting_costs_no_processor_time_and_working_does() {
        let watch = Watch::start();
        std::thread::park_timeout(Duration::from_millis(50));
        let waited = watch.stop();
        assert!(waited.cpu < 40e6, "{waited:?}");
        let watch = Watch::start();
        let mut value = 1u64;
        for _ in 0..2_000_000 {
            value = core::hint::black_box(value.wrapping_mul(3));
        }
        assert!(watch.stop().cpu > 50e3);
    }

    #[test]
    fn a_pin_is_undone() {
        let before = sched_getaffinity(None).unwrap();
        drop(Pinned::new());
        let after = sched_getaffinity(None).unwrap();
        assert_eq!(last_core(&before), last_core(&after));
        assert_eq!(before.count(), after.count());
    }
}
