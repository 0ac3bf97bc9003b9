//! The additive hash over entries.

use core::fmt;

use horizon_hash::domain::ledger as domain;
use horizon_hash::sponge::Cshake256;

/// Sum of entries: 1,024 lanes of 16 bits.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct LtHash(Box<[u16; LANES]>);

impl LtHash {
    /// Adds an entry.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.each(key, value, u16::wrapping_add);
    }

    /// Takes an entry away that was added.
    pub(crate) fn remove(&mut self, key: &[u8], value: &[u8]) {
        self.each(key, value, u16::wrapping_sub);
    }

    /// Lanes in little-endian order.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|lane| lane.to_le_bytes()).collect()
    }

    fn each(&mut self, key: &[u8], value: &[u8], combine: fn(u16, u16) -> u16) {
        let lanes = expand(key, value);
        for (lane, pair) in self.0.iter_mut().zip(lanes.as_chunks::<2>().0) {
            *lane = combine(*lane, u16::from_le_bytes(*pair));
        }
    }
}

impl Default for LtHash {
    fn default() -> Self {
        Self(Box::new([0; LANES]))
    }
}

impl fmt::Debug for LtHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LtHash").finish_non_exhaustive()
    }
}

/// cSHAKE256 over both lengths, key and value.
fn expand(key: &[u8], value: &[u8]) -> [u8; 2 * LANES] {
    let len = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes();
    let mut hash = Cshake256::new(b"", domain::STATE_ENTRY);
    hash.update(&len(key));
    hash.update(&len(value));
    hash.update(key);
    hash.update(value);
    let mut out = [0; 2 * LANES];
    hash.finalize().read(&mut out);
    out
}

/// Lanes of the sum.
const LANES: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_does_not_depend_on_order_and_removal_undoes_addition() {
        let entries: Vec<(Vec<u8>, Vec<u8>)> = (0_u8..20)
            .map(|i| (vec![i], vec![i; usize::from(i)]))
            .collect();
        let mut forwards = LtHash::default();
        entries.iter().for_each(|(k, v)| forwards.add(k, v));
        let mut backwards = LtHash::default();
        entries.iter().rev().for_each(|(k, v)| backwards.add(k, v));
        assert_eq!(forwards, backwards);
        forwards.add(b"key", b"value");
        assert_ne!(forwards, backwards);
        forwards.remove(b"key", b"value");
        assert_eq!(forwards, backwards);
    }

    #[test]
    fn the_border_between_key_and_value_counts() {
        let sum = |key: &[u8], value: &[u8]| {
            let mut sum = LtHash::default();
            sum.add(key, value);
            sum
        };
        assert_ne!(sum(b"ab", b"c"), sum(b"a", b"bc"));
        assert_ne!(sum(b"", b""), LtHash::default());
    }
}
