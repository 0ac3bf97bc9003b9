//! A bar with the time left, on a terminal.

use core::ops::ControlFlow;

use horizon_groth16::prove::error::ProveError;
use horizon_groth16::prove::progress::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::exit::{Code, Failure};

/// One bar per stage; silent when standard error is no terminal.
pub(super) fn bar() -> impl FnMut(Progress) -> ControlFlow<()> {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg:14} {bar:40} {percent:>3}% {prefix}") {
        bar.set_style(style);
    }
    move |progress| {
        bar.set_message(progress.stage.name());
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        bar.set_prefix(match progress.seconds_left {
            Some(left) if progress.done < progress.total => format!("{left:.0} s left"),
            _ => format!("{:.1} s", progress.seconds),
        });
        if progress.done >= progress.total && bar.is_hidden() {
            return ControlFlow::Continue(());
        }
        if progress.done >= progress.total {
            bar.println(format!(
                "{:14} {:.1} s",
                progress.stage.name(),
                progress.seconds
            ));
        }
        ControlFlow::Continue(())
    }
}

/// A failed setup or proof.
pub(super) fn failed(error: &ProveError) -> Failure {
    let code = match error {
        ProveError::Io { .. } => Code::Io,
        ProveError::SelfCheck | ProveError::Unsatisfied => Code::Internal,
        _ => Code::Configuration,
    };
    Failure::new(code, error.to_string())
}
