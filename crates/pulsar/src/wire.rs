//! The signature and its two encodings.
//!
//! Decoding checks every rule there is: exact sizes and shapes, `c` and `z` below q, `Delta` below
//! 2^19, nothing left over. A [`Signature`] therefore always satisfies them, and each signature has
//! one encoding per format.

use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use horizon_ring::{NttPoly, Poly, codec as ring, modulus};

use crate::{
    codec::{self, Reader, VERSION},
    error::{Error, Malformed},
    params::{B_LEN, COLS, POLY_LEN, Q_NU, ROWS, Z_LEN},
};

/// One Pulse signature `(c, z, Delta)`.
///
/// `c` and `z` hold NTT slots times 2^64, `Delta` coefficients below 2^19. Public, immutable, 32
/// KiB on the heap.
#[derive(Clone)]
pub struct Signature {
    /// `z` and then `c`: the vector that verification multiplies by `(A, -b 2^30)`.
    zc: Box<[NttPoly; ROWS]>,
    delta: Box<[Poly; ROWS]>,
}

impl Signature {
    /// Bytes of the framed encoding.
    pub const FRAMED_LEN: usize = 18 + POLY_LEN + Z_LEN + B_LEN;
    /// Bytes of the encoding inside a Warp envelope.
    pub const PULSE_LEN: usize = 12 + POLY_LEN + Z_LEN + B_LEN;

    /// Assembles a signature: `z` 7 and `delta` 8 polynomials.
    ///
    /// # Errors
    /// [`Malformed::Range`] for a slot of `c` or `z` not below q, or a coefficient of `delta` not
    /// below 2^19.
    pub fn new(c: NttPoly, z: [NttPoly; COLS], delta: Box<[Poly; ROWS]>) -> Result<Self, Error> {
        let within = |words: &[u64], max| words.iter().all(|&word| word <= max);
        if !within(c.as_array(), modulus::Q - 1) {
            return Err(Malformed::Range {
                field: FIELD_C,
                max: modulus::Q - 1,
            }
            .into());
        }
        if !z.iter().all(|poly| within(poly.as_array(), modulus::Q - 1)) {
            return Err(Malformed::Range {
                field: FIELD_Z,
                max: modulus::Q - 1,
            }
            .into());
        }
        check_delta(&delta)?;
        let [z0, z1, z2, z3, z4, z5, z6] = z;
        Ok(Self {
            zc: Box::new([z0, z1, z2, z3, z4, z5, z6, c]),
            delta,
        })
    }

    /// Reads the framed encoding: `"CORS"`, version 1, three big-endian length prefixes, `c`, `z`,
    /// `Delta`.
    ///
    /// # Errors
    /// [`Malformed`], naming the field.
    pub fn from_framed(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(FIELD, bytes, Self::FRAMED_LEN)?;
        reader.header(MAGIC)?;
        let c = reader.frame_be(FIELD_C, POLY_LEN)?;
        let z = reader.frame_be(FIELD_Z, Z_LEN)?;
        let delta = reader.frame_be(FIELD_DELTA, B_LEN)?;
        Ok(Self::from_ser(c, z, delta)?)
    }

    /// Reads the encoding inside a Warp envelope: three little-endian length prefixes, `c`, `z`,
    /// `Delta`.
    ///
    /// # Errors
    /// [`Malformed`], naming the field. Shapes other than those of a real signature are refused
    /// here, not later.
    pub fn from_pulse_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(FIELD, bytes, Self::PULSE_LEN)?;
        let c = reader.frame_le(FIELD_C, POLY_LEN)?;
        let z = reader.frame_le(FIELD_Z, Z_LEN)?;
        let delta = reader.frame_le(FIELD_DELTA, B_LEN)?;
        Ok(Self::from_ser(c, z, delta)?)
    }

    /// The framed encoding, [`Self::FRAMED_LEN`] bytes.
    #[must_use]
    pub fn to_framed(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::FRAMED_LEN);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_be_bytes());
        self.write(&mut out, u32::to_be_bytes);
        out
    }

    /// The encoding inside a Warp envelope, [`Self::PULSE_LEN`] bytes.
    #[must_use]
    pub fn to_pulse_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::PULSE_LEN);
        self.write(&mut out, u32::to_le_bytes);
        out
    }

    /// The challenge: slots times 2^64.
    #[must_use]
    pub fn c(&self) -> &NttPoly {
        &self.zc[COLS]
    }

    /// The response, 7 polynomials: slots times 2^64.
    #[must_use]
    pub fn z(&self) -> &[NttPoly] {
        &self.zc[..COLS]
    }

    /// The hint, 8 polynomials of coefficients below 2^19.
    #[must_use]
    pub fn delta(&self) -> &[Poly; ROWS] {
        &self.delta
    }

    /// The same `c` and `z` with another hint.
    pub(crate) fn with_delta(self, delta: Box<[Poly; ROWS]>) -> Result<Self, Error> {
        check_delta(&delta)?;
        Ok(Self { delta, ..self })
    }

    /// `z` and then `c`.
    pub(crate) fn zc(&self) -> &[NttPoly; ROWS] {
        &self.zc
    }

    fn from_ser(c: &[u8], z: &[u8], delta: &[u8]) -> Result<Self, Malformed> {
        let mut zc = Box::new([const { NttPoly::ZERO }; ROWS]);
        let (z_polys, c_poly) = zc.split_at_mut(COLS);
        c_poly[0] = ring::read_poly(c, modulus::Q - 1, FIELD_C)
            .map_err(|error| codec::malformed(&error))?;
        codec::read_vector(FIELD_Z, z, modulus::Q - 1, z_polys.iter_mut())?;
        let mut polys = Box::new([const { Poly::ZERO }; ROWS]);
        codec::read_vector(FIELD_DELTA, delta, Q_NU - 1, polys.iter_mut())?;
        Ok(Self { zc, delta: polys })
    }

    fn write(&self, out: &mut Vec<u8>, prefix: fn(u32) -> [u8; 4]) {
        out.extend_from_slice(&prefix(POLY_LEN as u32));
        ring::write_poly(self.c(), out);
        out.extend_from_slice(&prefix(Z_LEN as u32));
        ring::write_vector(self.z().iter(), out);
        out.extend_from_slice(&prefix(B_LEN as u32));
        ring::write_vector(self.delta.iter(), out);
    }
}

fn check_delta(delta: &[Poly; ROWS]) -> Result<(), Malformed> {
    if delta
        .iter()
        .flat_map(Poly::as_array)
        .any(|&value| value >= Q_NU)
    {
        return Err(Malformed::Range {
            field: FIELD_DELTA,
            max: Q_NU - 1,
        });
    }
    Ok(())
}

impl PartialEq for Signature {
    fn eq(&self, other: &Self) -> bool {
        self.zc == other.zc && self.delta == other.delta
    }
}

impl Eq for Signature {}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signature").finish_non_exhaustive()
    }
}

const MAGIC: &[u8; 4] = b"CORS";
const FIELD: &str = "signature";
const FIELD_C: &str = "signature.c";
const FIELD_Z: &str = "signature.z";
const FIELD_DELTA: &str = "signature.delta";

#[cfg(test)]
mod tests {
    use super::*;

    fn zero() -> Signature {
        Signature::new(
            NttPoly::ZERO,
            [const { NttPoly::ZERO }; COLS],
            Box::new([const { Poly::ZERO }; ROWS]),
        )
        .expect("zero is in range")
    }

    #[test]
    fn sizes_are_the_published_ones() {
        assert_eq!(
            (Signature::FRAMED_LEN, Signature::PULSE_LEN),
            (33_058, 33_052)
        );
        assert_eq!(zero().to_framed().len(), Signature::FRAMED_LEN);
        assert_eq!(zero().to_pulse_bytes().len(), Signature::PULSE_LEN);
    }

    #[test]
    fn decoding_inverts_encoding() {
        let framed = zero().to_framed();
        assert_eq!(
            Signature::from_framed(&framed).expect("framed").to_framed(),
            framed
        );
        let pulse = zero().to_pulse_bytes();
        assert_eq!(
            Signature::from_pulse_bytes(&pulse)
                .expect("pulse")
                .to_pulse_bytes(),
            pulse
        );
    }

    #[test]
    fn assembling_refuses_values_out_of_range() {
        let mut delta = Box::new([const { Poly::ZERO }; ROWS]);
        delta[7].as_mut_array()[255] = Q_NU;
        let refused = Signature::new(NttPoly::ZERO, [const { NttPoly::ZERO }; COLS], delta);
        let max = Q_NU - 1;
        assert_eq!(
            refused.err(),
            Some(
                Malformed::Range {
                    field: FIELD_DELTA,
                    max
                }
                .into()
            )
        );
    }
}
