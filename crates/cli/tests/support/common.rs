//! Runs the binary in a folder of its own.

#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    missing_debug_implementations
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A fresh empty folder for one test.
pub fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The result of one run.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `horizon` in `folder` with these arguments.
pub fn horizon<'a>(folder: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Ran {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_horizon"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap();
    let code = status.code().expect("the process was not killed");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran {
        code,
        stdout: text(stdout),
        stderr: text(stderr),
    }
}

/// As [`horizon`], arguments separated by blanks.
pub fn run(folder: &Path, line: &str) -> Ran {
    horizon(folder, line.split_whitespace())
}

/// Every line of JSON output.
pub fn objects(ran: &Ran) -> Vec<serde_json::Value> {
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
