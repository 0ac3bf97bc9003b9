//! 49-bit packing: eight values are exactly 49 bytes, little-endian bit order.

use crate::modulus::Q;
use crate::pack::PACKED_BYTES;

const MASK: u64 = (1 << 49) - 1;

/// Packs 256 values below 2^49.
pub(crate) fn pack49(values: &[u64; 256], out: &mut [u8; PACKED_BYTES]) {
    for (values, out) in values.chunks_exact(8).zip(out.chunks_exact_mut(49)) {
        let v: [u64; 8] = core::array::from_fn(|k| values[k] & MASK);
        // Word j starts at bit 64j, inside value floor(64j/49).
        let words = [
            v[0] | v[1] << 49,
            v[1] >> 15 | v[2] << 34,
            v[2] >> 30 | v[3] << 19,
            v[3] >> 45 | v[4] << 4 | v[5] << 53,
            v[5] >> 11 | v[6] << 38,
            v[6] >> 26 | v[7] << 23,
        ];
        let (places, last) = out.as_chunks_mut::<8>();
        places
            .iter_mut()
            .zip(words)
            .for_each(|(place, word)| *place = word.to_le_bytes());
        last.iter_mut().for_each(|byte| *byte = (v[7] >> 41) as u8);
    }
}

/// Unpacks 256 values; false if one of them is not below q.
pub(crate) fn unpack49(bytes: &[u8; PACKED_BYTES], out: &mut [u64; 256]) -> bool {
    let mut excess = 0;
    for (out, bytes) in out.chunks_exact_mut(8).zip(bytes.chunks_exact(49)) {
        for (k, out) in out.iter_mut().enumerate() {
            // Value k starts at bit 49k, that is bit k mod 8 of byte 6k (49k = 8·6k + k).
            let mut word = [0; 8];
            let start = 6 * k;
            word[..7].copy_from_slice(&bytes[start..start + 7]);
            let value = (u64::from_le_bytes(word) >> k) & MASK;
            excess |= (Q - 1).wrapping_sub(value);
            *out = value;
        }
    }
    excess >> 63 == 0
}
