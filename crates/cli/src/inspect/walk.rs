//! Fields and a cursor that finds them.

/// One field of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name, as the wire format calls it.
    pub name: String,
    /// Offset of the first byte, header included.
    pub offset: usize,
    /// Bytes of header (a length) before the value.
    pub header: usize,
    /// Bytes of value that are there.
    pub size: usize,
    /// Nesting, from 0.
    pub depth: u8,
    /// Whether other fields show the value.
    pub is_container: bool,
    /// The value for a person, when hex alone does not say it.
    pub note: String,
}

/// One part of a fixed order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// This many bytes.
    Bytes(usize),
    /// A big-endian number of this many bytes.
    Number(usize),
    /// A big-endian length of this many bytes, then what it counts.
    Prefixed(usize),
}

/// Cuts fields off the front of bytes; ends quietly where they end.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    bytes: &'a [u8],
    base: usize,
    at: usize,
    depth: u8,
    pub(super) fields: Vec<Field>,
}

impl<'a> Walk<'a> {
    /// A walk over `bytes`, which stand at `base` in the file.
    pub(super) const fn new(bytes: &'a [u8], base: usize, depth: u8) -> Self {
        Self {
            bytes,
            base,
            at: 0,
            depth,
            fields: Vec::new(),
        }
    }

    /// Offset of the next byte in the file.
    pub(super) const fn offset(&self) -> usize {
        self.base + self.at
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next `len` bytes as a field, `None` if they are not all there (what is there is shown).
    pub(super) fn take(&mut self, name: impl Into<String>, len: usize) -> Option<&'a [u8]> {
        let rest = self.rest();
        let found = rest.get(..len);
        let shown = found.unwrap_or(rest);
        if found.is_some() || !shown.is_empty() {
            let note = if found.is_some() {
                String::new()
            } else {
                format!("cut: {len} expected")
            };
            self.fields.push(Field {
                name: name.into(),
                offset: self.offset(),
                header: 0,
                size: shown.len(),
                depth: self.depth,
                is_container: false,
                note,
            });
        }
        self.at += shown.len();
        found
    }

    /// A big-endian number of at most 8 bytes, noted in decimal.
    pub(super) fn number(&mut self, name: impl Into<String>, len: usize) -> Option<u64> {
        let bytes = self.take(name, len)?;
        let value = bytes
            .iter()
            .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        self.note(value.to_string());
        Some(value)
    }

    /// A little-endian number of at most 8 bytes, noted in decimal.
    pub(super) fn number_le(&mut self, name: impl Into<String>, len: usize) -> Option<u64> {
        let bytes = self.take(name, len)?;
        let value = bytes
            .iter()
            .rev()
            .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        self.note(value.to_string());
        Some(value)
    }

    /// A length of `len_size` bytes, big-endian, and what it counts.
    pub(super) fn prefixed(&mut self, name: &str, len_size: usize) -> Option<&'a [u8]> {
        let len = self.number(format!("{name}.length"), len_size)?;
        self.take(name, usize::try_from(len).ok()?)
    }

    /// Parts of fixed order, up to the first that is cut.
    pub(super) fn parts(&mut self, parts: &[(&'static str, Part)]) -> Option<()> {
        for (name, part) in parts {
            match *part {
                Part::Bytes(len) => {
                    self.take(*name, len)?;
                }
                Part::Number(len) => {
                    self.number(*name, len)?;
                }
                Part::Prefixed(len) => {
                    let body = self.prefixed(name, len)?;
                    self.note(text(body));
                }
            }
        }
        Some(())
    }

    /// Explains the last field.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        if let Some(field) = self.fields.last_mut() {
            field.note = note.into();
        }
    }

    /// Whatever is left, as one field.
    pub(super) fn remainder(&mut self, name: &str) {
        let len = self.rest().len();
        if len > 0 {
            self.take(name, len);
        }
    }
}

/// ASCII for a person, or nothing.
pub(super) fn text(bytes: &[u8]) -> String {
    let plain = !bytes.is_empty() && bytes.iter().all(|byte| matches!(byte, b' '..=b'~'));
    match str::from_utf8(bytes) {
        Ok(text) if plain => format!("{text:?}"),
        _ => String::new(),
    }
}
