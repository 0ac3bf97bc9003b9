//! Integer and string encoders of SP 800-185 section 2.3, into a small buffer on the stack.

/// An encoded integer: at most 1 + 16 bytes.
pub(crate) struct Encoded {
    bytes: [u8; 17],
    start: usize,
    end: usize,
}

impl Encoded {
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }
}

/// `left_encode(value)`: the byte count, then the value in that many big-endian bytes.
///
/// Takes `u128` because a bit length of a byte string may need 67 bits.
pub(crate) fn left_encode(value: u128) -> Encoded {
    let mut bytes = [0u8; 17];
    bytes[1..].copy_from_slice(&value.to_be_bytes());
    let start = 16 - significant(value);
    bytes[start] = significant(value) as u8;
    Encoded {
        bytes,
        start,
        end: 17,
    }
}

/// `right_encode(value)`: the value in the fewest big-endian bytes, then the byte count.
pub(crate) fn right_encode(value: u128) -> Encoded {
    let mut bytes = [0u8; 17];
    bytes[..16].copy_from_slice(&value.to_be_bytes());
    bytes[16] = significant(value) as u8;
    Encoded {
        bytes,
        start: 16 - significant(value),
        end: 17,
    }
}

/// `left_encode` of the length of `len` bytes, in bits: the head of `encode_string`.
pub(crate) fn string_head(len: u64) -> Encoded {
    left_encode(u128::from(len) * 8)
}

/// `right_encode` of an output length of `len` bytes, in bits.
pub(crate) fn output_tail(len: usize) -> Encoded {
    right_encode(len as u128 * 8)
}

/// Bytes needed for `value`, at least one.
fn significant(value: u128) -> usize {
    let bits = (128 - value.leading_zeros()).max(1);
    bits.div_ceil(8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoders_match_the_examples_of_the_standard() {
        assert_eq!(left_encode(0).as_slice(), [1, 0]);
        assert_eq!(left_encode(12).as_slice(), [1, 12]);
        assert_eq!(left_encode(256).as_slice(), [2, 1, 0]);
        assert_eq!(left_encode(65536).as_slice(), [3, 1, 0, 0]);
        assert_eq!(right_encode(0).as_slice(), [0, 1]);
        assert_eq!(right_encode(12).as_slice(), [12, 1]);
        assert_eq!(right_encode(256).as_slice(), [1, 0, 2]);
        assert_eq!(string_head(u64::MAX).as_slice()[0], 9);
    }
}
