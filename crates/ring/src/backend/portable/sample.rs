//! Parsing of words and the constant-time samplers, eight samples in a 64-bit register.
//!
//! # Source
//! `spec/pulsar-speed.md` 6.

use zeroize::Zeroize;

use crate::backend::ByteOrder;
use crate::modulus::Q;
use crate::sample::nonce_tables::{ALIAS, LEAF_FACTORS, THRESHOLD_PLANES};
use crate::sample::{SMALL_BYTES, WIDE_BYTES};

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * ONES;
const LOW: u64 = 0x7F * ONES;

/// Appends the accepted words to `out[filled..]`; returns the new count.
pub(crate) fn parse_words(
    order: ByteOrder,
    bytes: &[u8],
    out: &mut [u64; 256],
    filled: usize,
) -> usize {
    let mut filled = filled.min(256);
    let (words, _) = bytes.as_chunks::<8>();
    for word in words {
        let word = match order {
            ByteOrder::Big => u64::from_be_bytes(*word),
            ByteOrder::Little => u64::from_le_bytes(*word),
        } & ((1 << 49) - 1);
        let Some(place) = out.get_mut(filled) else {
            break;
        };
        // Written always, kept only if accepted.
        *place = word;
        filled += (word.wrapping_sub(Q) >> 63) as usize;
    }
    filled
}

/// 256 samples of the small width.
pub(crate) fn sample_small(bytes: &[u8; SMALL_BYTES], out: &mut [u64; 256]) {
    let mut samples = [0; 256];
    signed_samples(bytes, &mut samples);
    for (out, &sample) in out.iter_mut().zip(&samples) {
        *out = widen(i64::from(sample));
    }
    samples.zeroize();
}

/// 256 samples of the wide width.
pub(crate) fn sample_wide(bytes: &[u8; WIDE_BYTES], out: &mut [u64; 256]) {
    let mut samples = [0; 256];
    *out = [0; 256];
    let (units, _) = bytes.as_chunks::<SMALL_BYTES>();
    for (unit, &factor) in units.iter().zip(&LEAF_FACTORS) {
        signed_samples(unit, &mut samples);
        for (out, &sample) in out.iter_mut().zip(&samples) {
            let product = i64::from(sample).wrapping_mul(factor.cast_signed());
            *out = out.wrapping_add(product.cast_unsigned());
        }
    }
    out.iter_mut()
        .for_each(|out| *out = widen(out.cast_signed()));
    samples.zeroize();
}

/// A signed value as a residue, by a masked addition.
#[inline(always)]
fn widen(v: i64) -> u64 {
    v.cast_unsigned()
        .wrapping_add(Q & (v >> 63).cast_unsigned())
}

/// One unit of nine planes to 256 signed samples.
fn signed_samples(bytes: &[u8; SMALL_BYTES], out: &mut [i8; 256]) {
    let (groups, _) = out.as_chunks_mut::<8>();
    for (group, out) in groups.iter_mut().enumerate() {
        let plane = |p: usize| {
            let start = 256 * p + 8 * group;
            u64::from_le_bytes(bytes[start..].first_chunk().copied().unwrap_or_default())
        };
        let head = plane(0);
        let column = head & (0x3F * ONES);
        let (thresholds, alias) = look_up(column);
        // Number < threshold, as the borrow of a subtraction from the least significant plane up.
        let mut borrow = 0;
        for p in (0..8).rev() {
            borrow = borrow_out(plane(p + 1), thresholds[p], borrow);
        }
        let magnitude = alias ^ ((alias ^ column) & fill(borrow));
        // Magnitudes are below 128: 128 - m does not borrow, and flipping its top bit gives -m.
        let negative = (HIGH - magnitude) ^ HIGH;
        let value = magnitude ^ ((magnitude ^ negative) & fill((head >> 6) & ONES));
        *out = value.to_le_bytes().map(u8::cast_signed);
    }
}

/// 0xFF in every byte whose low bit is set in `bits`.
#[inline(always)]
fn fill(bits: u64) -> u64 {
    (bits << 8).wrapping_sub(bits)
}

/// Threshold bytes and alias of eight columns: a scan of the whole table with equality masks.
#[inline(always)]
fn look_up(column: u64) -> ([u64; 8], u64) {
    let mut thresholds = [0; 8];
    let mut alias = 0;
    for k in 0..64 {
        let difference = column ^ (k as u64 * ONES);
        // Bytes are below 64: adding 127 sets the top bit exactly when one is not zero.
        let equal = fill(((difference + LOW) & HIGH ^ HIGH) >> 7);
        for (threshold, plane) in thresholds.iter_mut().zip(&THRESHOLD_PLANES) {
            *threshold |= equal & (u64::from(plane[k]) * ONES);
        }
        alias |= equal & (u64::from(ALIAS[k]) * ONES);
    }
    (thresholds, alias)
}

/// Per byte: does r - t - borrow borrow? All borrows in the low bit of their byte.
#[inline(always)]
fn borrow_out(r: u64, t: u64, borrow: u64) -> u64 {
    let partial = (r | HIGH) - (t & LOW) - borrow;
    let difference = partial ^ (r ^ !t);
    (((!r & t) | ((!r | t) & difference)) & HIGH) >> 7
}
