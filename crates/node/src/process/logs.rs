//! The log: lines on standard error.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt as lines;

use super::Failure;
use crate::config::{Log, LogFormat};

/// Installs the subscriber of this process. A second call, in a test, keeps the first.
pub(super) fn install(config: &Log) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&config.level)
        .map_err(|error| Failure::configuration(format!("log.level: {error}")))?;
    let builder = lines().with_env_filter(filter).with_writer(std::io::stderr);
    let installed = match config.format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    drop(installed);
    Ok(())
}
