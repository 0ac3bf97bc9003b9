//! Text forms of identifiers: lower-case `0x` hex is written, and CB58 is read as well.
//!
//! CB58 is base 58 over the bytes and the last 4 bytes of their SHA-256.

use sha2::{Digest as _, Sha256};

const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const CHECKSUM_LEN: usize = 4;
/// Enough for 32 bytes and a checksum, and a bound on quadratic work.
const TEXT_LEN_MAX: usize = 64;

/// A 32-byte identifier of a chain, network object, record or message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(pub [u8; 32]);

impl core::str::FromStr for Id {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = match text.strip_prefix("0x") {
            Some(_) => bytes_from_hex(text)?,
            None => from_cb58(text)?,
        };
        let bytes = bytes.try_into().map_err(|_| "an id has 32 bytes")?;
        Ok(Self(bytes))
    }
}

/// Bytes from `0x` and lower-case hex of even length.
///
/// # Errors
/// A sentence for the person who typed it.
pub fn bytes_from_hex(text: &str) -> Result<Vec<u8>, &'static str> {
    let digits = text.strip_prefix("0x").ok_or("hex starts with 0x")?;
    if digits.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err("hex digits are lower case");
    }
    crate::vectors::hex(digits).ok_or("not an even number of hex digits")
}

/// The CB58 form.
#[must_use]
pub fn to_cb58(bytes: &[u8]) -> String {
    let mut input = bytes.to_vec();
    input.extend_from_slice(&checksum(bytes));
    let zeros = input.iter().take_while(|byte| **byte == 0).count();
    // Little-endian base 58 digits.
    let mut digits: Vec<u8> = Vec::new();
    for byte in &input {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 58) as u8;
            carry /= 58;
        }
        while carry > 0 {
            digits.push((carry % 58) as u8);
            carry /= 58;
        }
    }
    let letter = |digit: &u8| char::from(ALPHABET[usize::from(*digit)]);
    let leading = std::iter::repeat_n('1', zeros);
    leading.chain(digits.iter().rev().map(letter)).collect()
}

fn from_cb58(text: &str) -> Result<Vec<u8>, &'static str> {
    if text.len() > TEXT_LEN_MAX {
        return Err("longer than any id");
    }
    let mut bytes: Vec<u8> = Vec::new();
    for letter in text.bytes() {
        let digit = ALPHABET.iter().position(|known| *known == letter);
        let mut carry = digit.ok_or("neither 0x hex nor CB58")? as u32;
        for byte in &mut bytes {
            carry += u32::from(*byte) * 58;
            *byte = (carry & 0xff) as u8;
            carry >>= 8;
        }
        if carry > 0 {
            bytes.push(carry as u8);
        }
    }
    bytes.extend(text.bytes().take_while(|letter| *letter == b'1').map(|_| 0));
    bytes.reverse();
    let at = bytes
        .len()
        .checked_sub(CHECKSUM_LEN)
        .ok_or("too short for CB58")?;
    let sum = bytes.split_off(at);
    if sum == checksum(&bytes) {
        Ok(bytes)
    } else {
        Err("the CB58 checksum is wrong")
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_LEN] {
    let hash: [u8; 32] = Sha256::digest(bytes).into();
    [hash[28], hash[29], hash[30], hash[31]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_all_zero_id_has_its_published_cb58_form() {
        let text = "11111111111111111111111111111111LpoYY";
        assert_eq!(to_cb58(&[0; 32]), text);
        assert_eq!(text.parse(), Ok(Id([0; 32])));
    }

    #[test]
    fn hex_and_cb58_name_the_same_id_and_nothing_else_is_read() {
        for first in [0, 1, 57, 58, 255] {
            let mut id = [0xa7; 32];
            id[0] = first;
            assert_eq!(to_cb58(&id).parse(), Ok(Id(id)));
            assert_eq!(crate::output::id(&id).parse(), Ok(Id(id)));
            let mut wrong = to_cb58(&id).into_bytes();
            wrong[9] = if wrong[9] == b'z' { b'y' } else { b'z' };
            let wrong = String::from_utf8(wrong).unwrap();
            assert_eq!(wrong.parse::<Id>(), Err("the CB58 checksum is wrong"));
        }
        let upper = format!("0x{}", "AB".repeat(32));
        let long = "2".repeat(65);
        for text in ["", "0x", "0xab", &upper, "0O", "1", &long] {
            assert!(text.parse::<Id>().is_err(), "{text}");
        }
    }
}
