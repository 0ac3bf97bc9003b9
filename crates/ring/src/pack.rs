//! The packed form of an element: 256 values of 49 bits, 1,568 bytes.
//!
//! Little-endian bit order; every value is below q, so that each element has exactly one packed
//! form.
//!
//! # Source
//! `spec/pulsar-committee.md` 1.2.

use crate::backend::{self, Kind};
use crate::error::{Error, Fault};
use crate::modulus::Q;
use crate::poly::Residues;

/// Bytes of one packed element.
pub const PACKED_BYTES: usize = 1568;

/// Packs a canonical element.
pub fn pack49(element: &impl Residues, out: &mut [u8; PACKED_BYTES]) {
    backend::pack49(Kind::active(), element.residues(), out);
}

/// Packs elements one after the other.
///
/// # Errors
/// [`Error::Misuse`] if `out` has not 1,568 bytes for each element.
pub fn pack49_all<'a, T: Residues + 'a>(
    elements: impl ExactSizeIterator<Item = &'a T>,
    out: &mut [u8],
) -> Result<(), Error> {
    if elements.len().checked_mul(PACKED_BYTES) != Some(out.len()) {
        return Err(Error::Misuse("length of the packed output"));
    }
    let (chunks, _) = out.as_chunks_mut::<PACKED_BYTES>();
    elements
        .zip(chunks)
        .for_each(|(element, out)| pack49(element, out));
    Ok(())
}

/// Unpacks one element.
///
/// # Errors
/// [`Error::Malformed`] with `field` if a value is not below q.
pub fn unpack49<T: Residues>(bytes: &[u8; PACKED_BYTES], field: &'static str) -> Result<T, Error> {
    let mut element = T::ZERO;
    if backend::unpack49(Kind::active(), bytes, element.residues_mut()) {
        Ok(element)
    } else {
        Err(Error::malformed(field, Fault::OutOfRange { max: Q - 1 }))
    }
}

/// Unpacks elements that lie one after the other into `out`.
///
/// # Errors
/// [`Error::Malformed`] with `field` for a wrong length or a value not below q; `out` is then
/// partly written.
pub fn unpack49_all<'a, T: Residues + 'a>(
    bytes: &[u8],
    field: &'static str,
    out: impl ExactSizeIterator<Item = &'a mut T>,
) -> Result<(), Error> {
    let expected = out.len().saturating_mul(PACKED_BYTES);
    if bytes.len() != expected {
        return Err(Error::malformed(
            field,
            Fault::Length {
                expected,
                found: bytes.len(),
            },
        ));
    }
    let (chunks, _) = bytes.as_chunks::<PACKED_BYTES>();
    for (out, chunk) in out.zip(chunks) {
        if !backend::unpack49(Kind::active(), chunk, out.residues_mut()) {
            return Err(Error::malformed(field, Fault::OutOfRange { max: Q - 1 }));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poly::NttPoly;

    #[test]
    fn value_k_occupies_bits_49k_to_49k_plus_48() {
        let mut element = NttPoly::ZERO;
        element.as_mut_array()[3] = 1;
        element.as_mut_array()[255] = Q - 1;
        let mut bytes = [0; PACKED_BYTES];
        pack49(&element, &mut bytes);
        assert_eq!(bytes[49 * 3 / 8], 1 << (49 * 3 % 8));
        // q - 1 = 2^48 + 2^14 + 2^11 + 2^9: its top bit is the last bit of all.
        assert_eq!(bytes[PACKED_BYTES - 1], 0x80);
        assert_eq!(unpack49::<NttPoly>(&bytes, "element").unwrap(), element);
    }

    #[test]
    fn a_value_of_q_is_refused_in_every_position() {
        for k in 0..256 {
            let mut words = [Q - 1; 256];
            words[k] = Q;
            let mut bytes = [0; PACKED_BYTES];
            for kind in Kind::available() {
                backend::pack49(kind, &words, &mut bytes);
                let mut out = [0; 256];
                assert!(!backend::unpack49(kind, &bytes, &mut out));
            }
            let expected = Error::malformed("element", Fault::OutOfRange { max: Q - 1 });
            assert_eq!(unpack49::<NttPoly>(&bytes, "element"), Err(expected));
        }
    }

    #[test]
    fn lengths_are_checked_before_anything_is_read() {
        let mut out = [NttPoly::ZERO, NttPoly::ZERO];
        let bytes = [0; 2 * PACKED_BYTES + 1];
        let fault = Fault::Length {
            expected: 2 * PACKED_BYTES,
            found: 2 * PACKED_BYTES + 1,
        };
        let result = unpack49_all(&bytes, "matrix", out.iter_mut());
        assert_eq!(result, Err(Error::malformed("matrix", fault)));
        let mut short = [0; PACKED_BYTES];
        let result = pack49_all(out.iter(), &mut short);
        assert_eq!(result, Err(Error::Misuse("length of the packed output")));
    }
}
