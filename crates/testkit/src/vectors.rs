//! Test-vector files: JSON, plain or gzip-compressed, with hex byte strings.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Largest accepted file after decompression, in bytes: a compressed file cannot exhaust memory.
pub const FILE_LEN_MAX: u64 = 256 << 20;

/// Reads a `.json` or `.json.gz` file; the content decides which, not the name.
///
/// # Errors
/// [`io::Error`]: unreadable, larger than [`FILE_LEN_MAX`], not gzip though it starts like it, or
/// not JSON.
pub fn read_json(path: &Path) -> io::Result<Value> {
    parse_json(&fs::read(path)?)
}

/// As [`read_json`], from bytes.
///
/// # Errors
/// [`io::Error`]: as for [`read_json`].
pub fn parse_json(bytes: &[u8]) -> io::Result<Value> {
    let invalid = |error: serde_json::Error| io::Error::new(io::ErrorKind::InvalidData, error);
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return serde_json::from_slice(bytes).map_err(invalid);
    }
    let mut plain = Vec::new();
    let mut reader = flate2::read::MultiGzDecoder::new(bytes).take(FILE_LEN_MAX + 1);
    reader.read_to_end(&mut plain)?;
    if plain.len() as u64 > FILE_LEN_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "file is too large",
        ));
    }
    serde_json::from_slice(&plain).map_err(invalid)
}

/// Decodes lower- or upper-case hex; `None` for an odd length or another character.
#[must_use]
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
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

/// Encodes as lower-case hex.
#[must_use]
pub fn to_hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(hex_digit)
        .collect()
}

/// Finds a file of the repository's `vectors/` folder, e.g. `sign/t_of_n.json`, also when it is
/// stored compressed.
///
/// # Panics
/// When the file is not there: a test without its data must not pass.
#[must_use]
pub fn vector_path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    let plain = folder.join(name);
    let packed = folder.join(format!("{name}.gz"));
    assert!(
        plain.exists() || packed.exists(),
        "vectors/{name} is missing"
    );
    if plain.exists() { plain } else { packed }
}

/// Reads a file of the repository's `vectors/` folder by its name without `.gz`.
///
/// # Panics
/// When the file is missing or is not JSON.
#[must_use]
pub fn vector(name: &str) -> Value {
    let path = vector_path(name);
    read_json(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn hex_digit(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('?')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn hex_round_trips_and_refuses_everything_else() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&bytes)), Some(bytes));
        assert_eq!(from_hex("ABcd"), Some(vec![0xab, 0xcd]));
        assert_eq!(from_hex("abc"), None);
        assert_eq!(from_hex("zz"), None);
        assert_eq!(from_hex("é"), None);
    }

    #[test]
    fn compressed_and_plain_files_read_the_same() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"{\"a\":[1]}").unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(
            parse_json(&packed).unwrap(),
            parse_json(b"{\"a\":[1]}").unwrap()
        );
        assert!(parse_json(&packed[..packed.len() - 9]).is_err());
        assert!(parse_json(b"{").is_err());
    }
}
