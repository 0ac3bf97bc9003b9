//! A validator process: checks before the start, lock, fence, engine, services and HTTP interface.
//!
//! [`run`] is the whole of `horizon node`. Nothing is written and no port is opened before every
//! check has passed, so that a wrong start ends with exit code 5 and one sentence.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | stopped on request |
//! | 1 | a fault of this program |
//! | 5 | the configuration, the keys or the directory are wrong |
//! | 6 | a disk or a port failed while running |
//! | 7 | going on could sign twice or fork: an operator must look |

use core::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use tracing::{error, info};

use crate::config::NodeConfig;
use crate::service::Unsafe;

pub mod backend;
mod clock;
mod directory;
pub mod fence;
mod logs;
mod node;
mod panics;
pub mod router;
pub mod services;
mod start;

pub use start::Prepared;

/// When a process ends without a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// On SIGTERM or SIGINT.
    #[default]
    Signal,
    /// On a signal, or when standard input ends: for children that must not outlive their parent.
    InputEnd,
}

/// Runs a validator until it is told to stop or must.
#[must_use]
pub fn run(config: &Path) -> ExitCode {
    run_until(config, Stop::Signal)
}

/// As [`run`], with another end.
#[must_use]
pub fn run_until(config: &Path, stop: Stop) -> ExitCode {
    match execute(config, stop) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report();
            ExitCode::from(failure.code)
        }
    }
}

/// Reads a configuration and does every check of a start, without starting: the directory is locked
/// until the result is dropped.
///
/// # Errors
/// [`Failure`].
pub fn check(config: &Path) -> Result<Prepared, Failure> {
    start::prepare(NodeConfig::read(config).map_err(Failure::configuration)?)
}

/// Takes on an old copy of a validator's directory after the newest one was lost. `boot` and
/// `height` are those of the refusal. From its next start the node follows the network without
/// signing until nothing that the lost life signed matters any more, and then stops; the start
/// after that is a normal one.
///
/// # Security
/// The caller says that no other copy of this validator runs, or ever will.
///
/// # Errors
/// [`Failure`].
pub fn accept_old_copy(config: &Path, boot: u64, height: u64) -> Result<(), Failure> {
    let config = NodeConfig::read(config).map_err(Failure::configuration)?;
    start::accept(&config, boot, height)
}

fn execute(path: &Path, stop: Stop) -> Result<(), Failure> {
    let config = NodeConfig::read(path).map_err(Failure::configuration)?;
    logs::install(&config.log)?;
    panics::install();
    let prepared = start::prepare(config)?;
    let outcome = catch_unwind(AssertUnwindSafe(|| node::serve(prepared, stop)));
    let outcome = outcome.unwrap_or_else(|_| Err(panics::failure()));
    if outcome.is_ok() {
        info!("stopped");
    }
    outcome
}

/// Why a process ends by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Exit code.
    pub code: u8,
    /// One sentence for the operator.
    pub text: String,
}

impl Failure {
    pub(crate) fn new(code: u8, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }

    pub(crate) fn configuration(error: impl fmt::Display) -> Self {
        Self::new(CONFIGURATION, error.to_string())
    }

    /// Tells the operator, in the log if there is one and on standard error in any case.
    fn report(&self) {
        use std::io::Write as _;
        error!(code = self.code, "{}", self.text);
        // There is nobody left to tell when this fails.
        let _ = writeln!(std::io::stderr(), "error: {}", self.text);
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

impl From<horizon_consensus::Fatal> for Failure {
    fn from(fatal: horizon_consensus::Fatal) -> Self {
        let code = if fatal.is_unsafe() { UNSAFE } else { IO };
        Self::new(code, fatal.to_string())
    }
}

impl From<Unsafe> for Failure {
    fn from(halt: Unsafe) -> Self {
        Self::new(halt.exit_code(), halt.to_string())
    }
}

/// A fault of this program.
pub const INTERNAL: u8 = 1;
/// Configuration, keys or directory.
pub const CONFIGURATION: u8 = 5;
/// Disk or port.
pub const IO: u8 = 6;
/// Going on could sign twice or fork.
pub const UNSAFE: u8 = 7;
