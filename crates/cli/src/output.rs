//! Results on standard output: text for people, or one JSON object per line.

use std::io::{self, Write as _};

use serde_json::{Map, Value, json};

use crate::exit::{Code, Failure};

/// Version of the JSON objects: raised when a field changes its meaning or disappears.
pub const SCHEMA_VERSION: u64 = 1;

/// Where and how results are written.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    json: bool,
}

impl Output {
    /// Text, or JSON lines.
    #[must_use]
    pub const fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether results are JSON lines.
    #[must_use]
    pub const fn is_json(self) -> bool {
        self.json
    }

    /// Writes a line for people; nothing in JSON mode.
    pub fn text(self, line: &str) {
        if !self.json {
            write_line(line);
        }
    }

    /// Writes one object, with `schema` and `kind` first; nothing in text mode.
    pub fn object(self, kind: &str, fields: Value) {
        if self.json {
            let mut object = Map::new();
            object.insert("schema".to_owned(), json!(SCHEMA_VERSION));
            object.insert("kind".to_owned(), json!(kind));
            if let Value::Object(fields) = fields {
                object.extend(fields);
            }
            write_line(&Value::Object(object).to_string());
        }
    }

    /// A failure whose details an object has told already: text for people only.
    #[must_use]
    pub fn told(self, code: Code, text: impl Into<String>) -> Failure {
        let text = if self.json {
            String::new()
        } else {
            text.into()
        };
        Failure::new(code, text)
    }

    /// Writes a line in both modes: for a last line that other programs look for.
    pub fn always(self, line: &str) {
        write_line(line);
    }
}

/// A reader that closed the pipe has seen enough: not an error of ours.
fn write_line(line: &str) {
    let _ = writeln!(io::stdout().lock(), "{line}");
}

/// Lower-case hex with the `0x` of all identifiers.
#[must_use]
pub fn id(bytes: &[u8]) -> String {
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    core::iter::once("0x".to_owned()).chain(digits).collect()
}
