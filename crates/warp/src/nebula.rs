//! The NebulaRoot: one hash that commits a block to its state root and its outgoing messages.
//!
//! A Merkle tree whose leaf 0 is the state root and whose leaf `i + 1` is message id `i`. Leaves and
//! nodes have tags of their own, every leaf binds its index and the number of leaves, and a node
//! without a partner moves up unchanged, so that no two sequences of leaves share a root.
//!
//! ```
//! use horizon_warp::nebula::{Inclusion, root};
//!
//! let (state, ids) = ([7; 32], [[1; 32], [2; 32], [3; 32]]);
//! let proof = Inclusion::of_message(&state, &ids, 1).ok_or("no such message")?;
//! assert_eq!(proof.implied_root(&ids[1]), Some(root(&state, &ids)));
//! # Ok::<(), &str>(())
//! ```
//!
//! # Source
//! This project's own; cSHAKE256 with 32 bytes of output and the customisation strings of
//! [`horizon_hash::domain::warp`].

use alloc::vec::Vec;

use horizon_hash::domain::warp::{NEBULA_LEAF, NEBULA_NODE};
use horizon_hash::sponge::cshake256;

/// The root over a state root and the ids of a block's messages, in the order of its outbox.
#[must_use]
pub fn root(state_root: &[u8; 32], message_ids: &[[u8; 32]]) -> [u8; 32] {
    let mut level = leaves(state_root, message_ids);
    while level.len() > 1 {
        level = above(&level);
    }
    level.first().copied().unwrap_or_default()
}

/// Proof that a leaf is part of a tree: where it stands, and the neighbours on its way up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inclusion {
    /// Position of the leaf: 0 for the state root, `i + 1` for message `i`.
    pub index: u64,
    /// Number of leaves: messages and the state root.
    pub count: u64,
    /// Neighbours from the leaf upwards.
    pub siblings: Vec<[u8; 32]>,
}

impl Inclusion {
    /// The proof for message `position` of a block; `None` if the block has no such message.
    #[must_use]
    pub fn of_message(
        state_root: &[u8; 32],
        message_ids: &[[u8; 32]],
        position: usize,
    ) -> Option<Self> {
        message_ids.get(position)?;
        let mut level = leaves(state_root, message_ids);
        let count = as_u64(level.len());
        let mut at = position.checked_add(1)?;
        let index = as_u64(at);
        let mut siblings = Vec::new();
        while level.len() > 1 {
            siblings.extend(level.get(at ^ 1).copied());
            level = above(&level);
            at >>= 1;
        }
        Some(Self {
            index,
            count,
            siblings,
        })
    }

    /// The root that `value` leads to by this proof. The caller compares it with the root that was
    /// proven final. `None` when the proof has not the one shape that index and count demand.
    #[must_use]
    pub fn implied_root(&self, value: &[u8; 32]) -> Option<[u8; 32]> {
        let (mut at, mut last) = (self.index, self.count.checked_sub(1)?);
        if at > last {
            return None;
        }
        let mut hash = leaf(self.index, self.count, value);
        let mut siblings = self.siblings.iter();
        while last > 0 {
            // The last node of a level with an odd number of them has no partner.
            if at & 1 == 1 {
                hash = node(siblings.next()?, &hash);
            } else if at < last {
                hash = node(&hash, siblings.next()?);
            }
            at >>= 1;
            last >>= 1;
        }
        siblings.next().is_none().then_some(hash)
    }
}

fn leaves(state_root: &[u8; 32], message_ids: &[[u8; 32]]) -> Vec<[u8; 32]> {
    let count = as_u64(message_ids.len()).saturating_add(1);
    let values = core::iter::once(state_root).chain(message_ids);
    (0..count)
        .zip(values)
        .map(|(index, value)| leaf(index, count, value))
        .collect()
}

fn above(level: &[[u8; 32]]) -> Vec<[u8; 32]> {
    let pairs = level.chunks(2).map(|pair| match pair {
        [left, right] => node(left, right),
        rest => rest.first().copied().unwrap_or_default(),
    });
    pairs.collect()
}

fn leaf(index: u64, count: u64, value: &[u8; 32]) -> [u8; 32] {
    let mut out = [0; 32];
    let parts: [&[u8]; 3] = [&index.to_be_bytes(), &count.to_be_bytes(), value];
    cshake256(NEBULA_LEAF, &parts, &mut out);
    out
}

fn node(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    let mut out = [0; 32];
    cshake256(NEBULA_NODE, &[left, right], &mut out);
    out
}

/// Lengths of slices fit 64 bits on every machine this builds for.
fn as_u64(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn ids(count: u8) -> Vec<[u8; 32]> {
        (0..count).map(|i| [i + 1; 32]).collect()
    }

    #[test]
    fn every_message_of_every_small_block_has_one_proof() {
        for count in 1..=40 {
            let ids = ids(count);
            let root = root(&[0xaa; 32], &ids);
            for (position, id) in ids.iter().enumerate() {
                let proof = Inclusion::of_message(&[0xaa; 32], &ids, position).unwrap();
                assert_eq!(proof.implied_root(id), Some(root), "{position} of {count}");
                assert_ne!(proof.implied_root(&[0xbb; 32]), Some(root));
                let mut longer = proof.clone();
                longer.siblings.push([0; 32]);
                assert_eq!(longer.implied_root(id), None);
                let mut shorter = proof;
                if shorter.siblings.pop().is_some() {
                    assert_eq!(shorter.implied_root(id), None);
                }
            }
            assert_eq!(Inclusion::of_message(&[0xaa; 32], &ids, ids.len()), None);
        }
    }

    #[test]
    fn q23_a_leaf_cannot_be_moved_or_counted_differently_with_the_same_siblings() {
        let ids = ids(7);
        let root = root(&[0xaa; 32], &ids);
        let proof = Inclusion::of_message(&[0xaa; 32], &ids, 3).unwrap();
        for index in 0..70 {
            for count in 0..70 {
                let mut moved = proof.clone();
                (moved.index, moved.count) = (index, count);
                let same = (index, count) == (proof.index, proof.count);
                assert_eq!(moved.implied_root(&ids[3]) == Some(root), same);
            }
        }
    }

    #[test]
    fn q75_an_odd_leaf_is_not_doubled_and_a_node_is_no_leaf() {
        let state = [0xaa; 32];
        // Three leaves; with the last one doubled there would be four with the same root.
        let three = [[1; 32], [2; 32]];
        let doubled = [[1; 32], [2; 32], [2; 32]];
        assert_ne!(root(&state, &three), root(&state, &doubled));
        // A single leaf is not its own root, and an inner node cannot stand in for a leaf.
        assert_ne!(root(&state, &[]), state);
        let four = ids(3);
        let level = leaves(&state, &four);
        let inner = [node(&level[0], &level[1]), node(&level[2], &level[3])];
        assert_ne!(root(&inner[0], &inner[1..]), root(&state, &four));
        let forged = Inclusion {
            index: 1,
            count: 2,
            siblings: vec![inner[0]],
        };
        assert_ne!(forged.implied_root(&inner[1]), Some(root(&state, &four)));
    }
}
