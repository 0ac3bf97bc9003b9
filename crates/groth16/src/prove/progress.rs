//! How far a long computation is, and how to stop it.

use core::ops::ControlFlow;
use std::time::Instant;

use super::error::ProveError;

/// A part of a setup or a proof.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Setup: the circuit's polynomials at the secret point.
    Polynomials,
    /// Setup: multiples of the generators.
    KeyPoints,
    /// Proof: the rows' values.
    Rows,
    /// Proof: transforms and quotient.
    Transforms,
    /// Proof: the quotient's points.
    QuotientSum,
    /// Proof: the L query's points.
    WitnessSum,
    /// Proof: the A query's points.
    LeftSum,
    /// Proof: the B query's points.
    RightSum,
    /// Proof: putting it together and verifying it.
    Assemble,
    /// Ceremony: applying a secret to the key.
    Contribute,
    /// Ceremony: checking.
    Check,
}

impl Stage {
    /// Stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Polynomials => "polynomials",
            Self::KeyPoints => "key points",
            Self::Rows => "rows",
            Self::Transforms => "transforms",
            Self::QuotientSum => "quotient",
            Self::WitnessSum => "witness",
            Self::LeftSum => "left query",
            Self::RightSum => "right query",
            Self::Assemble => "assembly",
            Self::Contribute => "contribution",
            Self::Check => "checks",
        }
    }
}

/// How far a stage is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The stage.
    pub stage: Stage,
    /// Units done.
    pub done: u64,
    /// Units of the stage.
    pub total: u64,
    /// Seconds since the stage began.
    pub seconds: f64,
    /// Seconds left of the stage at the pace so far, once there is one.
    pub seconds_left: Option<f64>,
}

/// Is told of progress, and answers whether to go on.
pub type Watch<'w> = dyn FnMut(Progress) -> ControlFlow<()> + 'w;

/// Goes on whatever the progress is.
pub fn unwatched(_progress: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A stage that is running.
pub(crate) struct Running {
    stage: Stage,
    total: u64,
    start: Instant,
}

impl Running {
    pub(crate) fn start(
        stage: Stage,
        total: u64,
        watch: &mut Watch<'_>,
    ) -> Result<Self, ProveError> {
        let running = Self {
            stage,
            total,
            start: Instant::now(),
        };
        running.report(0, watch)?;
        Ok(running)
    }

    pub(crate) fn report(&self, done: u64, watch: &mut Watch<'_>) -> Result<(), ProveError> {
        let seconds = self.start.elapsed().as_secs_f64();
        let left = self.total.saturating_sub(done);
        let seconds_left = (done > 0).then(|| seconds * left as f64 / done as f64);
        let progress = Progress {
            stage: self.stage,
            done,
            total: self.total,
            seconds,
            seconds_left,
        };
        match watch(progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ProveError::Interrupted),
        }
    }

    pub(crate) fn finish(&self, watch: &mut Watch<'_>) -> Result<(), ProveError> {
        self.report(self.total, watch)
    }
}
