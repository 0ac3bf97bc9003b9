//! Reading and writing of fixed layouts: big-endian, lengths before bytes, nothing past the end.

/// Splits fields off the front of bytes. Never past the end, never allocating on a declared size.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

/// The bytes end early, go on too long, or a length is above its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault(pub(crate) &'static str);

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn remaining(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<&'a [u8; N], Fault> {
        let (head, rest) = self.0.split_first_chunk().ok_or(Fault(field))?;
        self.0 = rest;
        Ok(head)
    }

    pub(crate) fn bytes(&mut self, len: usize, field: &'static str) -> Result<&'a [u8], Fault> {
        let (head, rest) = self.0.split_at_checked(len).ok_or(Fault(field))?;
        self.0 = rest;
        Ok(head)
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, Fault> {
        let [byte] = *self.array::<1>(field)?;
        Ok(byte)
    }

    pub(crate) fn flag(&mut self, field: &'static str) -> Result<bool, Fault> {
        match self.u8(field)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Fault(field)),
        }
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, Fault> {
        Ok(u16::from_be_bytes(*self.array(field)?))
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, Fault> {
        Ok(u32::from_be_bytes(*self.array(field)?))
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, Fault> {
        Ok(u64::from_be_bytes(*self.array(field)?))
    }

    /// A `u32` length of at most `max`, and that many bytes.
    pub(crate) fn long(&mut self, max: usize, field: &'static str) -> Result<&'a [u8], Fault> {
        let len = usize::try_from(self.u32(field)?).map_err(|_| Fault(field))?;
        if len > max {
            return Err(Fault(field));
        }
        self.bytes(len, field)
    }

    /// A `u16` length of at most `max`, and that many bytes.
    pub(crate) fn short(&mut self, max: usize, field: &'static str) -> Result<&'a [u8], Fault> {
        let len = usize::from(self.u16(field)?);
        if len > max {
            return Err(Fault(field));
        }
        self.bytes(len, field)
    }

    pub(crate) const fn finish(&self, field: &'static str) -> Result<(), Fault> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Fault(field))
        }
    }
}

/// Appends a `u32` length and the bytes. Callers bound the length far below 2^32.
pub(crate) fn put_long(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends a `u16` length and the bytes. Callers bound the length below 2^16.
pub(crate) fn put_short(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Lower-case hex with `0x`.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    let digits = bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    "0x".chars().chain(digits).collect()
}

/// Reads what [`hex`] writes and nothing else.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.strip_prefix("0x")?.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let nibble = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_length_is_checked_against_its_limit_and_against_what_remains() {
        let bytes = [0, 0, 0, 3, 7, 8, 9];
        assert_eq!(Reader::new(&bytes).long(3, "x"), Ok(&[7, 8, 9][..]));
        assert_eq!(Reader::new(&bytes).long(2, "x"), Err(Fault("x")));
        assert_eq!(Reader::new(&bytes[..6]).long(3, "x"), Err(Fault("x")));
        assert_eq!(Reader::new(&[2]).flag("f"), Err(Fault("f")));
        assert_eq!(Reader::new(&[1]).finish("end"), Err(Fault("end")));
    }

    #[test]
    fn hex_and_decimals_have_one_spelling() {
        assert_eq!(unhex(&hex(&[0, 0xab])), Some(vec![0, 0xab]));
        for text in ["00", "0x0", "0xAB", ""] {
            assert_eq!(unhex(text), None);
        }
        assert_eq!(decimal("10"), Some(10));
        for text in ["", "01", "+1", "1 "] {
            assert_eq!(decimal(text), None);
        }
    }
}
