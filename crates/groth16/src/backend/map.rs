//! Points in a file, mapped into memory.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapOptions};

use super::group::Wraps;

/// A run of points in a file, read as it is used. Dropping it gives the memory back.
///
/// The bytes were written by this crate on a machine of the same byte order. Bytes that were changed
/// since make wrong points, never invalid memory: every bit pattern is some pair of coordinates.
pub(crate) struct MappedPoints<P> {
    map: Option<Mmap>,
    count: usize,
    points: PhantomData<P>,
}

impl<P: Wraps> MappedPoints<P> {
    /// Maps `count` points from `offset` on, a multiple of [`ALIGNMENT`].
    pub(crate) fn new(file: &File, offset: u64, count: usize) -> io::Result<Self> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let len = count.checked_mul(size_of::<P>()).ok_or_else(invalid)?;
        let end = u64::try_from(len)
            .ok()
            .and_then(|len| offset.checked_add(len));
        if !offset.is_multiple_of(ALIGNMENT) || end.is_none_or(|end| end > u64::MAX / 2) {
            return Err(invalid());
        }
        if end > Some(file.metadata()?.len()) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let map = if len == 0 {
            None
        } else {
            // SAFETY: the mapping is read-only and private to this process. Another process that
            // writes to the file while it is mapped can change the coordinates that are read; they
            // are plain integers without invalid values, so that is a wrong result and not
            // undefined memory. Truncating the file while it is mapped ends the process.
            Some(unsafe { MmapOptions::new().offset(offset).len(len).map(file)? })
        };
        Ok(Self {
            map,
            count,
            points: PhantomData,
        })
    }

    /// The bytes as they lie in the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }

    /// The points.
    pub(crate) fn points(&self) -> &[P] {
        let bytes = self.bytes();
        if bytes.len() != self.count * size_of::<P>() || !bytes.as_ptr().cast::<P>().is_aligned() {
            return &[];
        }
        // SAFETY: `P` wraps a blst point, which is integers without invalid values; the length and
        // the alignment were compared just above; the mapping lives as long as the borrow.
        unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast(), self.count) }
    }
}

/// Alignment of sections in key files, a multiple of every machine's page in use.
pub(crate) const ALIGNMENT: u64 = 65_536;

#[cfg(target_endian = "big")]
compile_error!("key files hold little-endian limbs and are mapped as they are");
