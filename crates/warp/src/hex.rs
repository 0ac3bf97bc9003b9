//! Text forms of bytes and numbers in JSON files: one spelling each.

use alloc::string::String;
use alloc::vec::Vec;

/// Lower-case hex with `0x`.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    let digits = bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    "0x".chars().chain(digits).collect()
}

/// Reads what [`encode`] writes and nothing else.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.strip_prefix("0x")?.as_bytes().as_chunks::<2>() else {
        return None;
    };
    pairs
        .iter()
        .map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?))
        .collect()
}

/// A decimal number without sign and leading zero.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    if plain && !padded {
        text.parse().ok()
    } else {
        None
    }
}

const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(digit.wrapping_sub(b'a').wrapping_add(10)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_and_decimals_have_one_spelling() {
        assert_eq!(encode(&[0, 0xab, 0x1f]), "0x00ab1f");
        assert_eq!(decode("0x00ab1f"), Some(alloc::vec![0, 0xab, 0x1f]));
        assert_eq!(decode("0x"), Some(Vec::new()));
        for text in ["00ab", "0x0", "0xAB", "0xgg", ""] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(decimal("18446744073709551615"), Some(u64::MAX));
        for text in ["", "01", "+1", "-1", "1.0", "18446744073709551616", " 1"] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }
}
