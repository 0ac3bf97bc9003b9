//! Typed access to one case of a vector file; remembers which fields were looked at.

use std::cell::RefCell;
use std::collections::BTreeSet;

use horizon_hash::sponge::shake256;
use horizon_ring::N;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// Coefficients as a file stores them: any 64-bit values, not necessarily canonical.
pub(super) type Raw = [u64; N];

/// Why a case did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mismatch(pub(super) String);

/// What a passing case was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Equal to the file in every field.
    Equal,
    /// The file records an unsound behaviour of the reference; checked was our strict behaviour.
    Strict,
}

pub(super) type Checked = Result<Verdict, Mismatch>;

/// The fields of one JSON object.
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    seen: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(map: &'a Map<String, Value>) -> Self {
        Self {
            map,
            seen: RefCell::default(),
        }
    }

    pub(super) fn of(value: &'a Value) -> Result<Self, Mismatch> {
        value
            .as_object()
            .map(Self::new)
            .ok_or_else(|| fault("an object was expected"))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// Fields nobody asked for: the caller reports them, so that no field goes unchecked silently.
    pub(super) fn unseen(&self) -> Vec<&'a str> {
        let seen = self.seen.borrow();
        self.map
            .keys()
            .map(String::as_str)
            .filter(|name| !seen.contains(name))
            .collect()
    }

    /// Marks fields that only inform a reader.
    pub(super) fn skip(&self, names: &[&str]) {
        for name in names {
            let _ = self.find(name);
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<&'a Value> {
        let (key, value) = self.map.get_key_value(name)?;
        self.seen.borrow_mut().insert(key);
        Some(value)
    }

    pub(super) fn get(&self, name: &str) -> Result<&'a Value, Mismatch> {
        self.find(name)
            .ok_or_else(|| fault(&format!("field {name} is missing")))
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str, Mismatch> {
        self.get(name)?
            .as_str()
            .ok_or_else(|| fault(&format!("{name}: a string was expected")))
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Mismatch> {
        self.get(name)?
            .as_bool()
            .ok_or_else(|| fault(&format!("{name}: a boolean was expected")))
    }

    pub(super) fn bytes(&self, name: &str) -> Result<Vec<u8>, Mismatch> {
        in_field(name, bytes(self.get(name)?))
    }

    pub(super) fn array<const L: usize>(&self, name: &str) -> Result<[u8; L], Mismatch> {
        let problem = |_| fault(&format!("{name}: {L} bytes were expected"));
        self.bytes(name)?.try_into().map_err(problem)
    }

    /// A number, or a decimal string for values that may pass 2^53.
    pub(super) fn number(&self, name: &str) -> Result<u64, Mismatch> {
        in_field(name, number(self.get(name)?))
    }

    pub(super) fn size(&self, name: &str) -> Result<usize, Mismatch> {
        let too_big = |_| fault(&format!("{name}: too large"));
        usize::try_from(self.number(name)?).map_err(too_big)
    }

    pub(super) fn wide(&self, name: &str) -> Result<u128, Mismatch> {
        let problem = |_| fault(&format!("{name}: a decimal string was expected"));
        self.text(name)?.parse().map_err(problem)
    }

    pub(super) fn list(&self, name: &str) -> Result<&'a [Value], Mismatch> {
        in_field(name, list(self.get(name)?))
    }

    pub(super) fn numbers(&self, name: &str) -> Result<Vec<u64>, Mismatch> {
        self.list(name)?
            .iter()
            .map(|item| in_field(name, number(item)))
            .collect()
    }

    pub(super) fn object(&self, name: &str) -> Result<Self, Mismatch> {
        in_field(name, Self::of(self.get(name)?))
    }

    pub(super) fn poly(&self, name: &str) -> Result<Raw, Mismatch> {
        in_field(name, poly(self.get(name)?))
    }

    pub(super) fn polys(&self, name: &str) -> Result<Vec<Raw>, Mismatch> {
        in_field(name, polys(self.get(name)?))
    }
}

pub(super) fn fault(text: &str) -> Mismatch {
    Mismatch(text.to_owned())
}

pub(super) fn in_field<T>(name: &str, result: Result<T, Mismatch>) -> Result<T, Mismatch> {
    result.map_err(|Mismatch(text)| Mismatch(format!("{name}: {text}")))
}

/// Fails naming the field when the values differ.
pub(super) fn same<T: PartialEq>(name: &str, ours: &T, theirs: &T) -> Result<(), Mismatch> {
    if ours == theirs {
        Ok(())
    } else {
        Err(fault(&format!("{name} differs")))
    }
}

pub(super) fn list(value: &Value) -> Result<&[Value], Mismatch> {
    value
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| fault("a list was expected"))
}

pub(super) fn number(value: &Value) -> Result<u64, Mismatch> {
    let parsed = match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    parsed.ok_or_else(|| fault("an unsigned 64-bit number was expected"))
}

/// Hex, or `SHAKE256:label:n` for the first `n` bytes of that stream.
pub(super) fn bytes(value: &Value) -> Result<Vec<u8>, Mismatch> {
    let text = value
        .as_str()
        .ok_or_else(|| fault("a hex string was expected"))?;
    if let Some(rest) = text.strip_prefix("SHAKE256:") {
        return labelled(rest);
    }
    hex(text).ok_or_else(|| fault("not hex"))
}

/// As [`bytes`] for a known length.
pub(super) fn fixed<const L: usize>(value: &Value) -> Result<[u8; L], Mismatch> {
    bytes(value)?
        .try_into()
        .map_err(|_| fault(&format!("{L} bytes were expected")))
}

pub(super) fn polys(value: &Value) -> Result<Vec<Raw>, Mismatch> {
    list(value)?.iter().map(poly).collect()
}

/// 256 coefficients of 16 hex digits, big-endian.
pub(super) fn poly(value: &Value) -> Result<Raw, Mismatch> {
    let text = value
        .as_str()
        .ok_or_else(|| fault("a polynomial was expected"))?;
    let stored = hex(text).ok_or_else(|| fault("not hex"))?;
    let (words, rest) = stored.as_chunks::<8>();
    if words.len() != N || !rest.is_empty() {
        return Err(fault(&format!(
            "a polynomial has {N} coefficients of 16 digits"
        )));
    }
    let mut raw = [0; N];
    raw.iter_mut()
        .zip(words)
        .for_each(|(out, word)| *out = u64::from_be_bytes(*word));
    Ok(raw)
}

pub(crate) fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs
        .iter()
        .map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?))
        .collect()
}

pub(super) fn sha256(data: &[u8]) -> [u8; 32] {
    Sha256::digest(data).into()
}

/// The structure encoding of one polynomial, from the raw values.
///
/// Written here and not taken from the ring crate, because the files also store values outside the
/// ranges which that codec accepts, and because a check needs a second opinion.
pub(super) fn ser_poly(raw: &Raw) -> Vec<u8> {
    let words = [1, N as u64].into_iter().chain(raw.iter().copied());
    words.flat_map(u64::to_le_bytes).collect()
}

pub(super) fn ser_vector<'p>(polys: impl ExactSizeIterator<Item = &'p Raw>) -> Vec<u8> {
    let mut out = (polys.len() as u64).to_le_bytes().to_vec();
    polys.for_each(|raw| out.extend(ser_poly(raw)));
    out
}

/// The structure encoding of a matrix given row by row.
pub(super) fn ser_matrix(polys: &[Raw], cols: usize) -> Vec<u8> {
    let rows = polys.chunks(cols.max(1));
    let mut out = (rows.len() as u64).to_le_bytes().to_vec();
    rows.for_each(|row| out.extend(ser_vector(row.iter())));
    out
}

/// Compares polynomials with a digest object: shape, hash, first and last stored coefficient.
pub(super) fn same_digest(name: &str, digest: &Fields<'_>, polys: &[Raw]) -> Result<(), Mismatch> {
    let shape = |field| in_field(name, digest.size(field));
    let encoded = if digest.has("rows") {
        let (rows, cols) = (shape("rows")?, shape("cols")?);
        same(
            &format!("{name}: number of polynomials"),
            &polys.len(),
            &(rows * cols),
        )?;
        ser_matrix(polys, cols)
    } else {
        same(
            &format!("{name}: number of polynomials"),
            &polys.len(),
            &shape("len")?,
        )?;
        ser_vector(polys.iter())
    };
    same(
        name,
        &sha256(&encoded),
        &in_field(name, digest.array("wire_sha256"))?,
    )?;
    let first = polys.first().map_or(0, |poly| poly[0]);
    let last = polys.last().map_or(0, |poly| poly[N - 1]);
    same(
        &format!("{name}: first"),
        &first,
        &in_field(name, digest.number("first"))?,
    )?;
    same(
        &format!("{name}: last"),
        &last,
        &in_field(name, digest.number("last"))?,
    )?;
    match digest.unseen().first() {
        None => Ok(()),
        Some(field) => Err(fault(&format!("{name}: field {field} has no check"))),
    }
}

/// The stream of polynomials that a label stands for.
pub(super) struct LabelStream {
    bytes: horizon_hash::sponge::XofReader,
}

impl LabelStream {
    pub(super) fn new(label: &str) -> Self {
        let mut hasher = horizon_hash::sponge::Shake256::new();
        hasher.update(label.as_bytes());
        Self {
            bytes: hasher.finalize(),
        }
    }

    pub(super) fn read(&mut self, out: &mut [u8]) {
        self.bytes.read(out);
    }

    /// `count` polynomials of values below `modulus`: big-endian words masked to its length, values
    /// at or above it skipped.
    pub(super) fn polys(&mut self, count: usize, modulus: u64) -> Vec<Raw> {
        (0..count).map(|_| self.poly(modulus)).collect()
    }

    fn poly(&mut self, modulus: u64) -> Raw {
        let mask = u64::MAX >> (modulus - 1).leading_zeros();
        core::array::from_fn(|_| {
            loop {
                let mut word = [0; 8];
                self.bytes.read(&mut word);
                let value = u64::from_be_bytes(word) & mask;
                if value < modulus {
                    return value;
                }
            }
        })
    }
}

fn labelled(rest: &str) -> Result<Vec<u8>, Mismatch> {
    let problem = || fault("SHAKE256:label:n was expected");
    let (label, len) = rest.rsplit_once(':').ok_or_else(problem)?;
    let len: usize = len.parse().map_err(|_| problem())?;
    if len > LABELLED_LEN_MAX {
        return Err(fault("labelled byte string is too long"));
    }
    let mut out = vec![0; len];
    shake256(&[label.as_bytes()], &mut out);
    Ok(out)
}

/// Longest byte string that a label may stand for.
const LABELLED_LEN_MAX: usize = 64 << 20;
