//! A bounded cursor over fixed-layout big-endian bytes.
//!
//! Each user names the reason for "too short" and "too long" once, so that every fixed format of
//! the crate reports in its own class.

use crate::error::{Error, Reason};

/// A cursor that lends sub-slices of its input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
    truncated: Reason,
    trailing: Reason,
    too_large: Reason,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(
        input: &'a [u8],
        truncated: Reason,
        trailing: Reason,
        too_large: Reason,
    ) -> Self {
        Self {
            rest: input,
            offset: 0,
            truncated,
            trailing,
            too_large,
        }
    }

    pub(crate) const fn payload(input: &'a [u8]) -> Self {
        Self::new(
            input,
            Reason::PayloadTruncated,
            Reason::PayloadTrailing,
            Reason::PayloadTooLarge,
        )
    }

    pub(crate) const fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) const fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn take(&mut self, len: usize, field: &'static str) -> Result<&'a [u8], Error> {
        let (head, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or(self.too_short(field))?;
        self.rest = rest;
        self.offset = self.offset.saturating_add(len);
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<&'a [u8; N], Error> {
        let (head, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(self.too_short(field))?;
        self.rest = rest;
        self.offset = self.offset.saturating_add(N);
        Ok(head)
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, Error> {
        self.array::<1>(field).map(|[byte]| *byte)
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, Error> {
        self.array(field).map(|bytes| u16::from_be_bytes(*bytes))
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, Error> {
        self.array(field).map(|bytes| u32::from_be_bytes(*bytes))
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, Error> {
        self.array(field).map(|bytes| u64::from_be_bytes(*bytes))
    }

    /// A `u32` length, then that many bytes; the cap is checked before the bytes that remain.
    pub(crate) fn prefixed_u32(
        &mut self,
        limit: usize,
        field: &'static str,
    ) -> Result<&'a [u8], Error> {
        let offset = self.offset;
        let len = self.u32(field)?;
        self.capped(len, limit, offset, field)
    }

    /// A `u16` length, then that many bytes.
    pub(crate) fn prefixed_u16(
        &mut self,
        limit: usize,
        field: &'static str,
    ) -> Result<&'a [u8], Error> {
        let offset = self.offset;
        let len = self.u16(field)?;
        self.capped(u32::from(len), limit, offset, field)
    }

    /// A `u8` length, then that many bytes.
    pub(crate) fn prefixed_u8(
        &mut self,
        limit: usize,
        field: &'static str,
    ) -> Result<&'a [u8], Error> {
        let offset = self.offset;
        let len = self.u8(field)?;
        self.capped(u32::from(len), limit, offset, field)
    }

    pub(crate) const fn finish(&self, field: &'static str) -> Result<(), Error> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Error::malformed(self.trailing, field, self.offset))
        }
    }

    /// An input without any byte is empty, not cut.
    const fn too_short(&self, field: &'static str) -> Error {
        let empty = self.offset == 0 && self.rest.is_empty();
        let reason = if empty {
            Reason::EmptyInput
        } else {
            self.truncated
        };
        Error::malformed(reason, field, self.offset)
    }

    fn capped(
        &mut self,
        len: u32,
        limit: usize,
        offset: usize,
        field: &'static str,
    ) -> Result<&'a [u8], Error> {
        match usize::try_from(len) {
            Ok(len) if len <= limit => self.take(len, field),
            _ => Err(Error::over(self.too_large, field, offset, limit)),
        }
    }
}
