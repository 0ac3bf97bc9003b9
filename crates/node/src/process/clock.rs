//! A wall clock that is set back while the process runs.
//!
//! The consensus library keeps its deadlines in wall time: after a step back they are as far away as
//! the step was long, and the node would not vote until then. A new process has none.

use std::time::{Duration, Instant, SystemTime};

use super::{Failure, IO};

/// Resolves once the clock was set back by more than [`STEP_MAX`].
pub(super) async fn set_back() -> Failure {
    loop {
        let (wall, steady) = (SystemTime::now(), Instant::now());
        tokio::time::sleep(LOOK_EVERY).await;
        let expected = wall.checked_add(steady.elapsed());
        if let Some(step) = expected.and_then(|expected| step_back(expected, SystemTime::now())) {
            let seconds = step.as_secs();
            return Failure::new(
                IO,
                format!(
                    "the clock of this machine was set back by {seconds} s, and timers would wait for \
                     as long: start the node again"
                ),
            );
        }
    }
}

/// How far `now` is behind what it should be, if that is too far.
fn step_back(expected: SystemTime, now: SystemTime) -> Option<Duration> {
    let step = expected.duration_since(now).ok()?;
    (step > STEP_MAX).then_some(step)
}

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A step back that the timers of consensus take without harm.
const STEP_MAX: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_long_step_back_counts() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(step_back(after(10), after(10)), None);
        assert_eq!(step_back(after(10), after(3_600)), None);
        assert_eq!(step_back(after(10), after(8)), None);
        assert_eq!(step_back(after(10), after(7)), Some(Duration::from_secs(3)));
        assert_eq!(
            step_back(after(10), SystemTime::UNIX_EPOCH),
            Some(Duration::from_secs(1_010))
        );
    }
}
