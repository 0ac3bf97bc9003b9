//! Processor time of the calling thread as a criterion measurement.

use core::time::Duration;

use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter};
use rustix::time::{ClockId, clock_gettime};

/// Measures the processor time that the calling thread used, in nanoseconds.
///
/// Resolution is that of the kernel's scheduler clock (nanoseconds on Linux); one reading costs a
/// system call of about 0.2 us, which criterion spreads over all iterations of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        now()
    }

    fn end(&self, start: Duration) -> Duration {
        now().saturating_sub(start)
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Nanoseconds
    }
}

/// Prints nanoseconds with a fitting unit.
struct Nanoseconds;

impl ValueFormatter for Nanoseconds {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        let (divisor, unit) = match typical {
            t if t < 1e3 => (1.0, "ns"),
            t if t < 1e6 => (1e3, "us"),
            t if t < 1e9 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        values.iter_mut().for_each(|value| *value /= divisor);
        unit
    }

    fn scale_throughputs(
        &self,
        _typical: f64,
        throughput: &Throughput,
        values: &mut [f64],
    ) -> &'static str {
        let (amount, unit) = match *throughput {
            Throughput::Bytes(bytes) | Throughput::BytesDecimal(bytes) => {
                (bytes as f64 / 1e6, "MB/s")
            }
            Throughput::Elements(count) => (count as f64, "elem/s"),
            _ => (1.0, "1/s"),
        };
        values
            .iter_mut()
            .for_each(|value| *value = amount / (*value / 1e9));
        unit
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "ns"
    }
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_costs_no_processor_time_and_working_does() {
        let start = CpuTime.start();
        std::thread::park_timeout(Duration::from_millis(50));
        let waited = CpuTime.end(start);
        assert!(waited < Duration::from_millis(40), "{waited:?}");
        let start = CpuTime.start();
        let mut value = 1u64;
        for _ in 0..2_000_000 {
            value = core::hint::black_box(value.wrapping_mul(3));
        }
        assert!(CpuTime.end(start) > Duration::from_micros(50));
    }
}
