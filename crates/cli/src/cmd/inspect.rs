//! `horizon inspect`: annotated bytes, the first one at fault marked.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::exit::{Code, Failure};
use crate::inspect::{Fault, Field, Kind, PayloadKind, Report, inspect};
use crate::key_files::{malformed, read_up_to};
use crate::output::{Output, id};
use crate::verdict;

/// A record of the largest validator set takes more; it can be shown with `registry show`.
const FILE_LEN_MAX: usize = 16 << 20;
/// Bytes of a line of hex.
const ROW_LEN: usize = 16;
/// Rows of a value without `--full`.
const ROW_COUNT_MAX: usize = 2;

#[derive(Args, Debug)]
pub(super) struct Options {
    /// What the file is; told from its first bytes by default, except for payloads
    #[arg(long = "as", value_enum, value_name = "TYPE")]
    kind: Option<KindName>,
    /// Show every byte
    #[arg(long)]
    full: bool,
    /// The file
    file: PathBuf,
}

#[derive(Clone, Copy, Debug)]
struct KindName(Kind);

impl ValueEnum for KindName {
    fn value_variants<'a>() -> &'a [Self] {
        const P: fn(PayloadKind) -> KindName = |kind| KindName(Kind::Payload(kind));
        static ALL: std::sync::OnceLock<Vec<KindName>> = std::sync::OnceLock::new();
        ALL.get_or_init(|| {
            let own = [
                Kind::Envelope,
                Kind::Message,
                Kind::Unsigned,
                Kind::Pulse,
                Kind::CertSet,
                Kind::Groth16,
                Kind::Record,
                Kind::Certificate,
            ];
            own.into_iter()
                .map(KindName)
                .chain(PayloadKind::ALL.into_iter().map(P))
                .collect()
        })
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    let bytes = read_up_to(&options.file, FILE_LEN_MAX)?;
    if bytes.len() > FILE_LEN_MAX {
        return Err(malformed(
            &options.file,
            &format!("larger than {FILE_LEN_MAX} bytes"),
        ));
    }
    let kind = match options.kind {
        Some(KindName(kind)) => kind,
        None => guess(options, &bytes)?,
    };
    let report = inspect(&bytes, kind);
    output.text(&format!(
        "{}: {}, {} bytes",
        options.file.display(),
        kind.name(),
        bytes.len()
    ));
    if !output.is_json() {
        for field in &report.fields {
            print(field, &bytes, options.full, output);
        }
    }
    for field in &report.fields {
        output.object("inspect.field", field_object(field, &bytes, options.full));
    }
    for (name, value) in &report.facts {
        output.text(&format!("{name}: {}", plain(value)));
    }
    finish(options, &report, &bytes, output)
}

/// What the bytes look like. What looks like nothing is refused as an envelope would be.
fn guess(options: &Options, bytes: &[u8]) -> Result<Kind, Failure> {
    if bytes.first() == Some(&b'{') {
        let file = options.file.display();
        let text = format!("{file} is JSON: see `registry show` and `policy lint`");
        return Err(Failure::new(Code::Usage, text));
    }
    Ok(Kind::guess(bytes).unwrap_or(Kind::Envelope))
}

fn finish(options: &Options, report: &Report, bytes: &[u8], output: Output) -> Result<(), Failure> {
    let mut fields = json!({"file": options.file, "type": report.kind.name(),
        "bytes": bytes.len(), "well_formed": report.fault.is_none(),
        "error": report.fault.as_ref().map(fault_object)});
    for (name, value) in &report.facts {
        fields[name] = value.clone();
    }
    output.object("inspect", fields);
    let Some(fault) = &report.fault else {
        output.text("well formed; nothing was verified");
        return Ok(());
    };
    let code = fault.error.reason().code();
    if let Some(offset) = fault.offset() {
        output.text(&format!("malformed at offset {offset}: {code}"));
        for line in marked(bytes, offset) {
            output.text(&line);
        }
    } else {
        output.text(&format!("malformed: {code}"));
    }
    let hint = fault.error.reason().hint();
    let mut text = format!("malformed: {}\n  what to do: {hint}", fault.error);
    if options.kind.is_none() {
        text += "; if it is something else: --as TYPE";
    }
    Err(output.told(Code::Refused, text))
}

fn fault_object(fault: &Fault) -> Value {
    let mut fields = verdict::error_fields(&fault.error);
    fields["offset"] = json!(fault.offset().map(|offset| offset.to_string()));
    fields["part_offset"] = json!(fault.base.to_string());
    fields
}

fn field_object(field: &Field, bytes: &[u8], full: bool) -> Value {
    let value = value(field, bytes);
    let shown = if field.is_container {
        None
    } else if full {
        Some(id(value))
    } else {
        Some(id(&value[..value.len().min(ROW_LEN * ROW_COUNT_MAX)]))
    };
    json!({"field": field.name, "offset": field.offset.to_string(),
        "header": field.header.to_string(), "size": field.size.to_string(), "depth": field.depth,
        "hex": shown, "note": field.note})
}

fn value<'a>(field: &Field, bytes: &'a [u8]) -> &'a [u8] {
    let start = field.offset.saturating_add(field.header);
    bytes
        .get(start..start.saturating_add(field.size))
        .unwrap_or_default()
}

/// `offset  header+size  name  [header] value  note`.
fn print(field: &Field, bytes: &[u8], full: bool, output: Output) {
    let indent = "  ".repeat(usize::from(field.depth));
    let start = field.offset.saturating_add(field.header);
    let header = bytes.get(field.offset..start).unwrap_or_default();
    let (size, header) = match field.header {
        0 => (field.size.to_string(), String::new()),
        len => (
            format!("{len}+{}", field.size),
            format!("[{}] ", hex_row(header)),
        ),
    };
    let name = format!("{indent}{}", field.name);
    let value = if field.is_container {
        &[][..]
    } else {
        value(field, bytes)
    };
    let rows: Vec<String> = value.chunks(ROW_LEN).map(hex_row).collect();
    let count = if full {
        rows.len()
    } else {
        rows.len().min(ROW_COUNT_MAX)
    };
    let first = rows.first().map(String::as_str).unwrap_or_default();
    let note = &field.note;
    let line = format!(
        "{:08x}  {size:>10}  {name:<30} {header}{first}  {note}",
        field.offset
    );
    output.text(line.trim_end());
    let margin = 53 + header.len();
    for row in rows.iter().take(count).skip(1) {
        output.text(&format!("{:margin$}{row}", ""));
    }
    if count < rows.len() {
        let more = value.len() - count * ROW_LEN;
        output.text(&format!("{:margin$}... {more} more", ""));
    }
}

fn hex_row(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}

/// The row with the byte at fault, the one before, and a mark under the byte. The byte may be one
/// past the end: there the input was cut.
fn marked(bytes: &[u8], offset: usize) -> Vec<String> {
    let row_at = offset - offset % ROW_LEN;
    let start = row_at.saturating_sub(ROW_LEN);
    let mut lines = Vec::new();
    let mut at = start;
    while at <= row_at {
        let row = bytes
            .get(at..bytes.len().min(at + ROW_LEN))
            .unwrap_or_default();
        lines.push(format!("{at:08x}  {}", hex_row(row)));
        at += ROW_LEN;
    }
    let column = 10 + 3 * (offset - row_at);
    let place = if offset < bytes.len() {
        ""
    } else {
        " the input ends here"
    };
    lines.push(format!("{:column$}^^{place}", ""));
    lines
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
