//! Decode guards of the Pulse lane, in order, each a function of its own.
//!
//! A Pulse is three frames, each a `u32le` length and a lattice object: C (one polynomial), Z (7)
//! and D (8), of one level and 256 `u64le` coefficients each. The guards walk the bytes without
//! recursion and without allocation; no declared count is believed before it is compared with its
//! cap and with the bytes that remain. Guards G7 and G8 make the encoding unique, so that a
//! canonical Pulse has exactly 33,052 bytes.
//!
//! # Source
//! Wire specification, section "Pulse bytes", guards G0 to G8.

use crate::error::{Error, Reason};
use crate::limits::{PULSE_COUNT_MAX, PULSE_LANE_LEN_MAX, PULSE_LEN, PULSE_LEN_MAX};

/// Modulus of C and Z coefficients.
pub const MODULUS: u64 = 0x1_0000_0000_4A01;
/// Modulus of D coefficients.
pub const HINT_MODULUS: u64 = 0x8_0000;

const DEGREE: u64 = 256;
const POLY_LEN: usize = 2_064;
const FRAMES: [Frame; 3] = [
    Frame {
        field: "pulse.c",
        polys: None,
        len: POLY_LEN,
        modulus: MODULUS,
    },
    Frame {
        field: "pulse.z",
        polys: Some(7),
        len: 14_456,
        modulus: MODULUS,
    },
    Frame {
        field: "pulse.d",
        polys: Some(8),
        len: 16_520,
        modulus: HINT_MODULUS,
    },
];

/// What one frame must hold. `polys` is `None` for a bare polynomial.
struct Frame {
    field: &'static str,
    polys: Option<u64>,
    len: usize,
    modulus: u64,
}

/// The three frames of a Pulse that passed every guard, borrowed from the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PulseFrames<'a> {
    /// Challenge: one polynomial, 2,064 bytes.
    pub c: &'a [u8],
    /// Response: `u64le` 7, then 7 polynomials, 14,456 bytes.
    pub z: &'a [u8],
    /// Hint: `u64le` 8, then 8 polynomials, 16,520 bytes.
    pub d: &'a [u8],
}

impl<'a> PulseFrames<'a> {
    /// Applies guards G0 to G8 in order.
    ///
    /// # Errors
    /// Reasons of class `PulseFrame`, with the offset inside the Pulse.
    pub fn parse(pulse: &'a [u8]) -> Result<Self, Error> {
        let frames = Self::parse_structure(pulse)?;
        frames.check_canonical()?;
        Ok(frames)
    }

    /// Guards G0 to G5 only: what the reference's decoder accepts. Shapes and coefficients stay
    /// unchecked.
    ///
    /// # Errors
    /// As [`PulseFrames::parse`].
    pub fn parse_structure(pulse: &'a [u8]) -> Result<Self, Error> {
        check_wire_cap(pulse)?;
        let mut at = 0;
        let mut rest = pulse;
        let mut frames = [&[][..]; 3];
        for (slot, frame) in frames.iter_mut().zip(&FRAMES) {
            let (body, after) = read_frame(rest, frame.field).map_err(|error| error.shifted(at))?;
            let body_at = at.saturating_add(4);
            walk(body, frame.polys.is_some(), frame.field)
                .map_err(|error| error.shifted(body_at))?;
            *slot = body;
            at = body_at.saturating_add(body.len());
            rest = after;
        }
        if !rest.is_empty() {
            return Err(Error::malformed(Reason::PulseTrailing, "pulse", at));
        }
        let [c, z, d] = frames;
        Ok(Self { c, z, d })
    }

    /// Guards G7 and G8: exact shape, then reduced coefficients.
    fn check_canonical(&self) -> Result<(), Error> {
        let mut at = 0_usize;
        for (body, frame) in [self.c, self.z, self.d].into_iter().zip(&FRAMES) {
            at = at.saturating_add(4);
            check_shape(body, frame).map_err(|error| error.shifted(at))?;
            at = at.saturating_add(body.len());
        }
        let mut at = 0_usize;
        for (body, frame) in [self.c, self.z, self.d].into_iter().zip(&FRAMES) {
            at = at.saturating_add(4);
            check_range(body, frame).map_err(|error| error.shifted(at))?;
            at = at.saturating_add(body.len());
        }
        Ok(())
    }
}

/// G0 and G1: not empty, at most 65,536 bytes.
///
/// # Errors
/// `PulseEmpty`, `PulseTooLarge`.
pub const fn check_wire_cap(pulse: &[u8]) -> Result<(), Error> {
    if pulse.is_empty() {
        return Err(Error::malformed(Reason::PulseEmpty, "pulse", 0));
    }
    if pulse.len() > PULSE_LEN_MAX {
        return Err(Error::over(
            Reason::PulseTooLarge,
            "pulse",
            0,
            PULSE_LEN_MAX,
        ));
    }
    Ok(())
}

/// G2 and G3: a length prefix of 4 bytes, a length within what remains and at most 32,768. Gives
/// the frame and what follows it.
///
/// # Errors
/// `PulseTruncated`, `PulseLaneTooLarge`.
pub fn read_frame<'a>(bytes: &'a [u8], field: &'static str) -> Result<(&'a [u8], &'a [u8]), Error> {
    let truncated = Error::malformed(Reason::PulseTruncated, field, 0);
    let (prefix, after) = bytes.split_first_chunk::<4>().ok_or(truncated)?;
    let len = usize::try_from(u32::from_le_bytes(*prefix)).map_err(|_| truncated)?;
    let parts = after.split_at_checked(len).ok_or(truncated)?;
    if len > PULSE_LANE_LEN_MAX {
        return Err(Error::over(
            Reason::PulseLaneTooLarge,
            field,
            0,
            PULSE_LANE_LEN_MAX,
        ));
    }
    Ok(parts)
}

/// G4: walks a frame without believing any count. `vector` says whether the frame starts with a
/// number of polynomials.
///
/// # Errors
/// `PulseCount`, `PulseRow`, `PulseLaneTrailing`.
pub fn walk(body: &[u8], vector: bool, field: &'static str) -> Result<(), Error> {
    let mut rest = body;
    let offset = |rest: &[u8]| body.len().saturating_sub(rest.len());
    let count = |rest: &mut &[u8]| -> Result<u64, Error> {
        let at = offset(rest);
        let (head, after) =
            rest.split_first_chunk::<8>()
                .ok_or(Error::malformed(Reason::PulseRow, field, at))?;
        *rest = after;
        match u64::from_le_bytes(*head) {
            count @ 0..=PULSE_COUNT_MAX => Ok(count),
            _ => Err(Error::Malformed {
                reason: Reason::PulseCount,
                field,
                offset: at,
                limit: Some(PULSE_COUNT_MAX),
            }),
        }
    };
    let polys = if vector { count(&mut rest)? } else { 1 };
    for _ in 0..polys {
        let levels = count(&mut rest)?;
        for _ in 0..levels {
            let coefficients = count(&mut rest)?;
            // At most 4,096 coefficients of 8 bytes: no overflow.
            let len = usize::try_from(coefficients.saturating_mul(8)).unwrap_or(usize::MAX);
            let at = offset(rest);
            let (_, after) =
                rest.split_at_checked(len)
                    .ok_or(Error::malformed(Reason::PulseRow, field, at))?;
            rest = after;
        }
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err(Error::malformed(
            Reason::PulseLaneTrailing,
            field,
            offset(rest),
        ))
    }
}

/// Whether the length is that of a canonical Pulse: a cheap first test before a queue or a peer is
/// believed.
#[must_use]
pub const fn has_canonical_len(pulse: &[u8]) -> bool {
    pulse.len() == PULSE_LEN
}

/// G7: the walked frame has the one shape of its lane.
fn check_shape(body: &[u8], frame: &Frame) -> Result<(), Error> {
    let wrong = |at| Error::malformed(Reason::PulseShape, frame.field, at);
    if body.len() != frame.len {
        return Err(wrong(0));
    }
    let mut rest = body;
    if let Some(polys) = frame.polys {
        let (head, after) = rest.split_first_chunk::<8>().ok_or(wrong(0))?;
        if u64::from_le_bytes(*head) != polys {
            return Err(wrong(0));
        }
        rest = after;
    }
    let base = body.len().saturating_sub(rest.len());
    for (poly, at) in rest.chunks(POLY_LEN).zip((base..).step_by(POLY_LEN)) {
        let (levels, after) = poly.split_first_chunk::<8>().ok_or(wrong(at))?;
        let (degree, _) = after.split_first_chunk::<8>().ok_or(wrong(at))?;
        if u64::from_le_bytes(*levels) != 1 || u64::from_le_bytes(*degree) != DEGREE {
            return Err(wrong(at));
        }
    }
    Ok(())
}

/// G8: every coefficient is below the modulus of its lane. The frame has passed G7.
fn check_range(body: &[u8], frame: &Frame) -> Result<(), Error> {
    let rest = if frame.polys.is_some() {
        body.get(8..).unwrap_or_default()
    } else {
        body
    };
    let base = body.len().saturating_sub(rest.len());
    for (poly, at) in rest.chunks(POLY_LEN).zip((base..).step_by(POLY_LEN)) {
        let (rows, _) = poly.get(16..).unwrap_or_default().as_chunks::<8>();
        // One pass without early exit is what the compiler turns into wide compares; find the place
        // only on failure.
        let reduced = rows.iter().fold(true, |ok, row| {
            ok & (u64::from_le_bytes(*row) < frame.modulus)
        });
        if !reduced {
            let bad = rows
                .iter()
                .position(|row| u64::from_le_bytes(*row) >= frame.modulus);
            let inside = bad.unwrap_or(0).saturating_mul(8).saturating_add(16);
            return Err(Error::malformed(
                Reason::PulseRange,
                frame.field,
                at.saturating_add(inside),
            ));
        }
    }
    Ok(())
}
