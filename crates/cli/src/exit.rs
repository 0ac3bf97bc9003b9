//! Exit codes, and the error that carries one.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// What the process tells its caller. One number means one thing in every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Code {
    /// Done.
    Ok = 0,
    /// A fault of this program.
    Internal = 1,
    /// The command line or the kind of file is not what the command takes.
    Usage = 2,
    /// Verification refused, or a conformance case failed.
    Refused = 3,
    /// Not enough evidence yet.
    Insufficient = 4,
    /// A file or setting is unreadable or malformed.
    Configuration = 5,
    /// A peer or an I/O operation failed.
    Io = 6,
    /// Going on could reveal a secret: stopped.
    Unsafe = 7,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// A failure with its exit code; the text goes to standard error.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: Code,
    /// One line for a person.
    pub text: String,
}

impl Failure {
    /// A failure with this code and text.
    pub fn new(code: Code, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
        }
    }

    /// An I/O failure on a file.
    #[must_use]
    pub fn io(path: &Path, error: &std::io::Error) -> Self {
        Self::new(Code::Io, format!("{}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}
