//! The strict RLP profile: exactly one encoding per value, every other encoding refused with its
//! rule.
//!
//! [`Decoder`] walks one list body (or the outermost input) and lends sub-slices of the input; it
//! never allocates and never recurses. The `put_*` functions append canonical encodings.
//!
//! # Source
//! Wire specification, RLP profile, decoder rules R1 to R11. The reasons map one to one: R1
//! `RlpTruncated`, R2 `RlpTrailingBytes`, R3 `RlpLongFormForShort`, R4 `RlpLengthLeadingZero`, R5
//! `RlpByteAsString`, R6 `RlpIntegerLeadingZero`, R7 `RlpIntegerTooLong`, R8 `RlpFixedLength`, R9
//! `RlpWrongKind`, R10 `RlpFieldCount`, R11 `RlpBoolean`.

use alloc::vec::Vec;

use crate::error::{Error, Reason};

/// A cursor over RLP items.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
    offset: usize,
}

/// One decoded item: a string's bytes or a list's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// Whether the item is a list.
    pub is_list: bool,
    /// The bytes of the string or of the list body.
    pub body: &'a [u8],
    /// Offset of the item's first header byte in the input.
    pub start: usize,
    /// Offset of the first body byte in the input.
    pub body_offset: usize,
}

impl<'a> Decoder<'a> {
    /// A cursor over `input`, whose first byte is at `offset` of what the caller was given.
    #[must_use]
    pub const fn new(input: &'a [u8], offset: usize) -> Self {
        Self {
            rest: input,
            offset,
        }
    }

    /// Whether every byte is consumed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Number of bytes that remain.
    pub(crate) const fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Offset of the next byte.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Reads the next item whatever its kind.
    ///
    /// # Errors
    /// `RlpTruncated`, `RlpLongFormForShort`, `RlpLengthLeadingZero`, `RlpByteAsString`.
    pub fn item(&mut self, field: &'static str) -> Result<Item<'a>, Error> {
        let start = self.offset;
        let truncated = Error::malformed(Reason::RlpTruncated, field, start);
        let (head, header_len, len) = self.header(field)?;
        let is_list = head >= 0xc0;
        let (_, tail) = self.rest.split_at_checked(header_len).ok_or(truncated)?;
        let (body, rest) = tail.split_at_checked(len).ok_or(truncated)?;
        if head == 0x81 && body.first().is_some_and(|byte| *byte < 0x80) {
            return Err(Error::malformed(Reason::RlpByteAsString, field, start));
        }
        let body_offset = start.saturating_add(header_len);
        self.rest = rest;
        self.offset = body_offset.saturating_add(len);
        Ok(Item {
            is_list,
            body,
            start,
            body_offset,
        })
    }

    /// A cursor over as much of the next list's body as there is, for tools that show cut inputs.
    pub(crate) fn cut_list(&self, field: &'static str) -> Option<Self> {
        let (head, header_len, _) = self.header(field).ok()?;
        let body = self.rest.get(header_len..)?;
        (head >= 0xc0).then(|| Self::new(body, self.offset.saturating_add(header_len)))
    }

    /// First byte, header size and body size of the next item.
    fn header(&self, field: &'static str) -> Result<(u8, usize, usize), Error> {
        let truncated = Error::malformed(Reason::RlpTruncated, field, self.offset);
        let (&head, after) = self.rest.split_first().ok_or(truncated)?;
        let (header_len, len) = match head {
            0x00..=0x7f => (0, 1),
            0x80..=0xb7 => (1, usize::from(head.wrapping_sub(0x80))),
            0xb8..=0xbf => self.long_len(after, head.wrapping_sub(0xb7), field)?,
            0xc0..=0xf7 => (1, usize::from(head.wrapping_sub(0xc0))),
            0xf8..=0xff => self.long_len(after, head.wrapping_sub(0xf7), field)?,
        };
        Ok((head, header_len, len))
    }

    /// Reads a byte string of any length.
    ///
    /// # Errors
    /// As [`Decoder::item`], `RlpFieldCount` at the end of the list, `RlpWrongKind` for a list.
    pub fn bytes(&mut self, field: &'static str) -> Result<&'a [u8], Error> {
        Ok(self.string(field)?.body)
    }

    /// Reads a byte string and gives its position as well.
    ///
    /// # Errors
    /// As [`Decoder::bytes`].
    pub fn string(&mut self, field: &'static str) -> Result<Item<'a>, Error> {
        let item = self.field(field)?;
        if item.is_list {
            return Err(Error::malformed(Reason::RlpWrongKind, field, item.start));
        }
        Ok(item)
    }

    /// Reads a byte string of exactly `N` bytes.
    ///
    /// # Errors
    /// As [`Decoder::bytes`], `RlpFixedLength`.
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<&'a [u8; N], Error> {
        let item = self.string(field)?;
        item.body
            .try_into()
            .map_err(|_| Error::over(Reason::RlpFixedLength, field, item.start, N))
    }

    /// Reads an unsigned integer of at most `size` bytes (`size` at most 8).
    ///
    /// # Errors
    /// As [`Decoder::bytes`], `RlpIntegerTooLong`, `RlpIntegerLeadingZero`.
    fn uint(&mut self, size: usize, field: &'static str) -> Result<u64, Error> {
        let item = self.string(field)?;
        if item.body.len() > size {
            return Err(Error::over(
                Reason::RlpIntegerTooLong,
                field,
                item.start,
                size,
            ));
        }
        if item.body.first() == Some(&0) {
            return Err(Error::malformed(
                Reason::RlpIntegerLeadingZero,
                field,
                item.start,
            ));
        }
        Ok(item
            .body
            .iter()
            .fold(0, |value, byte| (value << 8) | u64::from(*byte)))
    }

    /// Reads a `u64`.
    ///
    /// # Errors
    /// As [`Decoder::bytes`], `RlpIntegerTooLong`, `RlpIntegerLeadingZero`.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, Error> {
        self.uint(8, field)
    }

    /// Reads a `u32`.
    ///
    /// # Errors
    /// As [`Decoder::u64`].
    pub fn u32(&mut self, field: &'static str) -> Result<u32, Error> {
        let offset = self.offset;
        let value = self.uint(4, field)?;
        u32::try_from(value).map_err(|_| Error::malformed(Reason::RlpIntegerTooLong, field, offset))
    }

    /// Reads a `u8`.
    ///
    /// # Errors
    /// As [`Decoder::u64`].
    pub fn u8(&mut self, field: &'static str) -> Result<u8, Error> {
        let offset = self.offset;
        let value = self.uint(1, field)?;
        u8::try_from(value).map_err(|_| Error::malformed(Reason::RlpIntegerTooLong, field, offset))
    }

    /// Reads a boolean.
    ///
    /// # Errors
    /// As [`Decoder::u8`], `RlpBoolean`.
    pub fn bool(&mut self, field: &'static str) -> Result<bool, Error> {
        let offset = self.offset;
        match self.u8(field)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Error::malformed(Reason::RlpBoolean, field, offset)),
        }
    }

    /// Reads a list and gives a cursor over its body.
    ///
    /// # Errors
    /// As [`Decoder::item`], `RlpFieldCount` at the end of the list, `RlpWrongKind` for a string.
    pub fn list(&mut self, field: &'static str) -> Result<Self, Error> {
        let item = self.field(field)?;
        if !item.is_list {
            return Err(Error::malformed(Reason::RlpWrongKind, field, item.start));
        }
        Ok(Self::new(item.body, item.body_offset))
    }

    /// Reads the outermost list of an input and gives a cursor over its body.
    ///
    /// # Errors
    /// `EmptyInput`, then as [`Decoder::list`].
    pub fn outer_list(&mut self, field: &'static str) -> Result<Self, Error> {
        if self.rest.is_empty() {
            return Err(Error::malformed(Reason::EmptyInput, field, self.offset));
        }
        self.list(field)
    }

    /// Ends a list: nothing may remain (R10).
    ///
    /// # Errors
    /// `RlpFieldCount`.
    pub const fn end_list(&self, field: &'static str) -> Result<(), Error> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Error::malformed(Reason::RlpFieldCount, field, self.offset))
        }
    }

    /// Ends the input: nothing may remain (R2).
    ///
    /// # Errors
    /// `RlpTrailingBytes`.
    pub const fn end_input(&self, field: &'static str) -> Result<(), Error> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Error::malformed(
                Reason::RlpTrailingBytes,
                field,
                self.offset,
            ))
        }
    }

    /// The next element of a list: its absence is a wrong number of fields, not a cut input.
    fn field(&mut self, field: &'static str) -> Result<Item<'a>, Error> {
        if self.rest.is_empty() {
            return Err(Error::malformed(Reason::RlpFieldCount, field, self.offset));
        }
        self.item(field)
    }

    /// Length in the long form: `size` big-endian bytes without leading zero, at least 56.
    fn long_len(
        &self,
        after: &[u8],
        size: u8,
        field: &'static str,
    ) -> Result<(usize, usize), Error> {
        let truncated = Error::malformed(Reason::RlpTruncated, field, self.offset);
        let (digits, _) = after.split_at_checked(usize::from(size)).ok_or(truncated)?;
        if digits.first() == Some(&0) {
            return Err(Error::malformed(
                Reason::RlpLengthLeadingZero,
                field,
                self.offset,
            ));
        }
        let len = digits
            .iter()
            .fold(0_u64, |value, byte| (value << 8) | u64::from(*byte));
        if len < 56 {
            return Err(Error::malformed(
                Reason::RlpLongFormForShort,
                field,
                self.offset,
            ));
        }
        let len = usize::try_from(len).map_err(|_| truncated)?;
        Ok((usize::from(size).saturating_add(1), len))
    }
}

/// Size in bytes of the header before `len` body bytes.
#[must_use]
pub fn header_size(len: usize) -> usize {
    if len < 56 {
        1
    } else {
        1_usize.saturating_add(significant_bytes(len as u64))
    }
}

/// Encoded size of a byte string.
#[must_use]
pub fn bytes_size(bytes: &[u8]) -> usize {
    match bytes {
        [byte] if *byte < 0x80 => 1,
        _ => header_size(bytes.len()).saturating_add(bytes.len()),
    }
}

/// Encoded size of an unsigned integer.
#[must_use]
pub fn uint_size(value: u64) -> usize {
    if value < 0x80 {
        1
    } else {
        1_usize.saturating_add(significant_bytes(value))
    }
}

/// Encoded size of a list whose elements take `body` bytes.
#[must_use]
pub fn list_size(body: usize) -> usize {
    header_size(body).saturating_add(body)
}

/// Appends a byte string.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes {
        [byte] if *byte < 0x80 => out.push(*byte),
        _ => {
            put_bytes_header(out, bytes.len());
            out.extend_from_slice(bytes);
        }
    }
}

/// Appends the header of a byte string of `len` bytes, for a caller that appends the bytes itself.
///
/// Not for a string of one byte below 0x80, which has no header.
pub fn put_bytes_header(out: &mut Vec<u8>, len: usize) {
    put_header(out, 0x80, len);
}

/// Appends an unsigned integer.
pub fn put_uint(out: &mut Vec<u8>, value: u64) {
    let digits = value.to_be_bytes();
    let first = digits
        .iter()
        .position(|byte| *byte != 0)
        .unwrap_or(digits.len());
    put_bytes(out, digits.get(first..).unwrap_or_default());
}

/// Appends a boolean.
pub fn put_bool(out: &mut Vec<u8>, value: bool) {
    put_uint(out, u64::from(value));
}

/// Appends the header of a list whose elements take `body` bytes.
pub fn put_list_header(out: &mut Vec<u8>, body: usize) {
    put_header(out, 0xc0, body);
}

fn put_header(out: &mut Vec<u8>, base: u8, len: usize) {
    if let (true, Ok(short)) = (len < 56, u8::try_from(len)) {
        out.push(base.saturating_add(short));
        return;
    }
    let digits = (len as u64).to_be_bytes();
    let first = digits
        .iter()
        .position(|byte| *byte != 0)
        .unwrap_or(digits.len());
    let digits = digits.get(first..).unwrap_or_default();
    let size = u8::try_from(digits.len()).unwrap_or(8);
    out.push(base.saturating_add(55).saturating_add(size));
    out.extend_from_slice(digits);
}

fn significant_bytes(value: u64) -> usize {
    let zeros = (value.leading_zeros() / 8) as usize;
    8_usize.saturating_sub(zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason<T: core::fmt::Debug>(result: Result<T, Error>) -> Reason {
        result.expect_err("must be refused").reason()
    }

    fn decode(bytes: &[u8]) -> Decoder<'_> {
        Decoder::new(bytes, 0)
    }

    #[test]
    fn integers_have_the_published_encodings() {
        let cases: &[(u64, &[u8])] = &[
            (0, &[0x80]),
            (127, &[0x7f]),
            (128, &[0x81, 0x80]),
            (255, &[0x81, 0xff]),
            (256, &[0x82, 1, 0]),
            (65_535, &[0x82, 0xff, 0xff]),
            (65_536, &[0x83, 1, 0, 0]),
            (0xffff_ffff, &[0x84, 0xff, 0xff, 0xff, 0xff]),
            (
                u64::MAX,
                &[0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            ),
        ];
        for (value, bytes) in cases {
            let mut out = Vec::new();
            put_uint(&mut out, *value);
            assert_eq!(out, *bytes);
            assert_eq!(uint_size(*value), bytes.len());
            assert_eq!(decode(bytes).u64("x"), Ok(*value));
        }
    }

    #[test]
    fn strings_and_lists_round_trip_around_the_length_form_boundaries() {
        for len in [0_usize, 1, 2, 54, 55, 56, 57, 255, 256, 65_535, 65_536] {
            for fill in [0_u8, 0x7f, 0x80] {
                let body = alloc::vec![fill; len];
                let mut out = Vec::new();
                put_bytes(&mut out, &body);
                assert_eq!(out.len(), bytes_size(&body));
                let mut decoder = decode(&out);
                assert_eq!(decoder.bytes("x"), Ok(body.as_slice()));
                decoder.end_input("x").unwrap();

                let mut out = Vec::new();
                put_list_header(&mut out, body.len());
                assert_eq!(out.len() + body.len(), list_size(body.len()));
                out.extend_from_slice(&body);
                assert_eq!(decode(&out).list("x").unwrap().rest, body.as_slice());
            }
        }
    }

    #[test]
    fn r1_an_early_end_is_refused_at_every_place() {
        for bytes in [
            &[][..],
            &[0x81],
            &[0x82, 0x80],
            &[0xb8],
            &[0xb8, 56],
            &[0xb9, 1],
            &[0xbf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            &[0xc1],
            &[0xf8, 60, 1],
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert_eq!(
                reason(decode(bytes).item("x")),
                Reason::RlpTruncated,
                "{bytes:02x?}"
            );
        }
        // An element may not reach past its list even when the input goes on.
        let mut list = decode(&[0xc2, 0x83, 1, 2, 3, 4]).list("x").unwrap();
        assert_eq!(reason(list.bytes("y")), Reason::RlpTruncated);
    }

    #[test]
    fn r2_bytes_after_the_outermost_item_are_refused_at_their_offset() {
        let mut decoder = decode(&[0xc0, 0x00]);
        decoder.list("x").unwrap();
        assert_eq!(reason(decoder.end_input("x")), Reason::RlpTrailingBytes);
        assert_eq!(decoder.end_input("x").unwrap_err().offset(), Some(1));
    }

    #[test]
    fn r3_r4_r5_other_length_forms_are_refused() {
        let mut padded = alloc::vec![0xb8, 55];
        padded.extend([0; 55]);
        assert_eq!(
            reason(decode(&padded).item("x")),
            Reason::RlpLongFormForShort
        );
        assert_eq!(
            reason(decode(&[0xb8, 10, 0]).item("x")),
            Reason::RlpLongFormForShort
        );
        assert_eq!(
            reason(decode(&[0xf8, 0]).item("x")),
            Reason::RlpLengthLeadingZero
        );
        assert_eq!(
            reason(decode(&[0xb9, 0, 0x37]).item("x")),
            Reason::RlpLengthLeadingZero
        );
        assert_eq!(
            reason(decode(&[0xf9, 0, 60]).item("x")),
            Reason::RlpLengthLeadingZero
        );
        assert_eq!(
            reason(decode(&[0x81, 0x00]).item("x")),
            Reason::RlpByteAsString
        );
        assert_eq!(
            reason(decode(&[0x81, 0x7f]).item("x")),
            Reason::RlpByteAsString
        );
        assert!(decode(&[0x81, 0x80]).item("x").is_ok());
    }

    #[test]
    fn r6_r7_integers_are_minimal_and_fit_their_type() {
        assert_eq!(
            reason(decode(&[0x00]).u64("x")),
            Reason::RlpIntegerLeadingZero
        );
        assert_eq!(
            reason(decode(&[0x82, 0, 1]).u64("x")),
            Reason::RlpIntegerLeadingZero
        );
        assert_eq!(
            reason(decode(&[0x85, 1, 0, 0, 0, 0]).u32("x")),
            Reason::RlpIntegerTooLong
        );
        assert_eq!(
            reason(decode(&[0x82, 1, 0]).u8("x")),
            Reason::RlpIntegerTooLong
        );
        assert_eq!(
            reason(decode(&[0x89, 1, 0, 0, 0, 0, 0, 0, 0, 0]).u64("x")),
            Reason::RlpIntegerTooLong
        );
    }

    #[test]
    fn r8_r9_r10_r11_types_are_exact() {
        assert_eq!(
            reason(decode(&[0x82, 1, 2]).array::<3>("x")),
            Reason::RlpFixedLength
        );
        assert_eq!(reason(decode(&[0xc0]).bytes("x")), Reason::RlpWrongKind);
        assert_eq!(reason(decode(&[0x80]).list("x")), Reason::RlpWrongKind);
        assert_eq!(reason(decode(&[]).bytes("x")), Reason::RlpFieldCount);
        assert_eq!(reason(decode(&[1]).end_list("x")), Reason::RlpFieldCount);
        assert_eq!(reason(decode(&[2]).bool("x")), Reason::RlpBoolean);
        assert_eq!(decode(&[1]).bool("x"), Ok(true));
        assert_eq!(decode(&[0x80]).bool("x"), Ok(false));
    }
}
