//! The `horizon` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    horizon_cli::cmd::main()
}
