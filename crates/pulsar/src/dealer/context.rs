//! Ceremony context, leaves, public matrix and pair seeds: the hashes of key generation.

use alloc::vec::Vec;

use horizon_hash::{
    blake2xb::Blake2Xb, domain::committee as domain, kmac::kmac256, sponge::cshake256,
    suite::Suite, tuplehash::tuple_hash256,
};
use horizon_ring::{NttPoly, ntt, sample};

use crate::{
    params::{COLS, KEY_LEN, ROWS},
    signers::Quorum,
};

/// What a ceremony does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Variant {
    /// A new group key.
    Dkg,
    /// New shares of the same key for another committee.
    Reshare,
    /// New shares of the same key for the same committee.
    Refresh,
}

impl Variant {
    /// The name that is hashed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dkg => "dkg",
            Self::Reshare => "reshare",
            Self::Refresh => "refresh",
        }
    }
}

/// Everything that tells one key ceremony from every other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ceremony<'a> {
    /// Key generation, resharing or refresh.
    pub variant: Variant,
    /// The chain.
    pub chain_id: &'a [u8; 32],
    /// The network.
    pub network_id: u32,
    /// The group.
    pub group_id: u64,
    /// The hash suite of the key.
    pub suite: Suite,
    /// The key era.
    pub era: u64,
    /// Generation before.
    pub old_generation: u64,
    /// Generation after.
    pub new_generation: u64,
    /// Validator-set hash before; zero for key generation.
    pub old_set_hash: [u8; 32],
    /// Validator-set hash after.
    pub new_set_hash: [u8; 32],
    /// Threshold before; zero for key generation.
    pub old_threshold: u32,
    /// Threshold after.
    pub new_threshold: u32,
    /// Group-key hash; zero for key generation.
    pub group_key_hash: [u8; 32],
    /// Hash of the block that opened the ceremony.
    pub opening_block_hash: [u8; 32],
    /// Attempt, counted from zero.
    pub attempt: u32,
}

/// The context hash of a ceremony.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CeremonyId(pub [u8; 32]);

impl Ceremony<'_> {
    /// The 32-byte context hash that every message and leaf of the ceremony carries.
    #[must_use]
    pub fn id(&self) -> CeremonyId {
        let mut out = [0; 32];
        tuple_hash256(
            domain::CEREMONY,
            &[
                self.variant.name().as_bytes(),
                self.chain_id,
                &self.network_id.to_be_bytes(),
                &self.group_id.to_be_bytes(),
                self.suite.id().as_bytes(),
                &self.era.to_be_bytes(),
                &self.old_generation.to_be_bytes(),
                &self.new_generation.to_be_bytes(),
                &self.old_set_hash,
                &self.new_set_hash,
                &self.old_threshold.to_be_bytes(),
                &self.new_threshold.to_be_bytes(),
                &self.group_key_hash,
                &self.opening_block_hash,
                &self.attempt.to_be_bytes(),
            ],
            &mut out,
        );
        CeremonyId(out)
    }

    /// Whether this is a key generation with the threshold of `quorum`.
    pub(super) fn generates_key_for(&self, quorum: Quorum) -> bool {
        self.variant == Variant::Dkg
            && self.old_set_hash == [0; 32]
            && self.old_threshold == 0
            && self.new_threshold == u32::from(quorum.threshold())
            && self.group_key_hash == [0; 32]
    }
}

/// A 32-byte commitment to a value of at least several thousand bits of entropy.
pub type Leaf = [u8; 32];

/// What a leaf commits to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeafKind {
    /// The point value of one member: share, error point, mask points. Kind 1.
    Point {
        /// Position of the dealer.
        dealer: u16,
        /// Evaluation point of the member, from 1.
        point: u16,
    },
    /// The cross value of two members as dealt. Kind 2.
    Cross {
        /// Position of the dealer.
        dealer: u16,
        /// Evaluation points of the two members, from 1, in any order.
        points: (u16, u16),
    },
    /// The cross value of two members as they hold it in the end. Kind 4.
    Receipt {
        /// Evaluation points of the two members, from 1, in any order.
        points: (u16, u16),
    },
}

impl LeafKind {
    /// The leaf of `value`.
    #[must_use]
    pub fn leaf(self, ceremony: &CeremonyId, value: &[u8]) -> Leaf {
        let (kind, dealer, (a, b)) = match self {
            Self::Point { dealer, point } => (1, dealer, (point, 0)),
            Self::Cross { dealer, points } => (2, dealer, ordered(points)),
            Self::Receipt { points } => (4, 0xffff, ordered(points)),
        };
        let mut head = [0; 39];
        head[0] = kind;
        head[1..33].copy_from_slice(&ceremony.0);
        head[33..35].copy_from_slice(&dealer.to_be_bytes());
        head[35..37].copy_from_slice(&a.to_be_bytes());
        head[37..].copy_from_slice(&b.to_be_bytes());
        let mut out = [0; 32];
        cshake256(domain::LEAF, &[&head, value], &mut out);
        out
    }
}

const fn ordered((a, b): (u16, u16)) -> (u16, u16) {
    if a <= b { (a, b) } else { (b, a) }
}

/// Key of the stream of the public matrix.
#[must_use]
pub(super) fn public_matrix_key(ceremony: &CeremonyId) -> [u8; KEY_LEN] {
    let mut key = [0; KEY_LEN];
    tuple_hash256(domain::PUBLIC_MATRIX, &[&ceremony.0], &mut key);
    key
}

/// The public matrix of a key generation: 56 polynomials row-major, NM form. Nobody chooses it.
#[must_use]
pub fn public_matrix(ceremony: &CeremonyId) -> Vec<NttPoly> {
    matrix_from_stream(&mut Blake2Xb::from_seed(&public_matrix_key(ceremony)))
}

/// 56 uniform polynomials, NM form, from where `stream` stands.
pub(crate) fn matrix_from_stream(stream: &mut Blake2Xb) -> Vec<NttPoly> {
    (0..ROWS * COLS)
        .map(|_| ntt::forward_montgomery(&sample::uniform(stream)))
        .collect()
}

/// The seed shared by the members at positions `low < high`, from one random value of each:
/// `from_low` was chosen by the lower one.
///
/// # Security
/// Secret.
#[must_use]
pub fn pair_seed(
    ceremony: &CeremonyId,
    (low, high): (u16, u16),
    from_low: &[u8; KEY_LEN],
    from_high: &[u8; KEY_LEN],
) -> [u8; KEY_LEN] {
    let mut key = zeroize::Zeroizing::new([0; 2 * KEY_LEN]);
    key[..KEY_LEN].copy_from_slice(from_low);
    key[KEY_LEN..].copy_from_slice(from_high);
    pair_kmac(domain::PAIR, &*key, ceremony, (low, high))
}

/// What both members of a pair publish to show that they hold the same seed.
#[must_use]
pub fn pair_confirmation(
    ceremony: &CeremonyId,
    (low, high): (u16, u16),
    seed: &[u8; KEY_LEN],
) -> [u8; KEY_LEN] {
    pair_kmac(domain::PAIR_CONFIRM, seed, ceremony, (low, high))
}

fn pair_kmac(
    custom: &[u8],
    key: &[u8],
    ceremony: &CeremonyId,
    (low, high): (u16, u16),
) -> [u8; KEY_LEN] {
    let mut out = [0; KEY_LEN];
    kmac256(
        key,
        custom,
        &[&ceremony.0, &low.to_be_bytes(), &high.to_be_bytes()],
        &mut out,
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ceremony of the published layout vectors.
    fn ceremony() -> Ceremony<'static> {
        Ceremony {
            variant: Variant::Dkg,
            chain_id: &[1; 32],
            network_id: 1,
            group_id: 0,
            suite: Suite::PulsarSha3,
            era: 7,
            old_generation: 0,
            new_generation: 0,
            old_set_hash: [0; 32],
            new_set_hash: [3; 32],
            old_threshold: 0,
            new_threshold: 3,
            group_key_hash: [0; 32],
            opening_block_hash: [6; 32],
            attempt: 0,
        }
    }

    fn hex(bytes: &[u8]) -> alloc::string::String {
        horizon_testkit::vectors::to_hex(bytes)
    }

    #[test]
    fn the_ceremony_context_has_its_published_value() {
        let expected = "0574ef19e11e922cda4666f78efbaab6c65ef880f47166127930eae16449dfb4";
        assert_eq!(hex(&ceremony().id().0), expected);
    }

    #[test]
    fn the_key_of_the_public_matrix_has_its_published_value() {
        let expected = "a4e5f51809b2b4603b538f4ad12219766115d66709cb1771caf5ba6a109b92e9";
        assert_eq!(hex(&public_matrix_key(&ceremony().id())), expected);
    }

    #[test]
    fn a_cross_leaf_of_zeros_has_its_published_value_and_no_order() {
        let expected = "eda1cd6e29da86533aa21151e9898a1cfad0aeaafa531bd12856d5c2d202b885";
        let id = ceremony().id();
        for points in [(1, 2), (2, 1)] {
            let leaf = LeafKind::Cross { dealer: 0, points }.leaf(&id, &[0; 10_976]);
            assert_eq!(hex(&leaf), expected);
        }
    }

    #[test]
    fn a_pair_seed_has_its_published_value() {
        let expected = "8df6459f4dc2e40968dd6c5083728b6ac1c8df01a0812cf972e3a45ad94d6362";
        let seed = pair_seed(&ceremony().id(), (0, 1), &[8; 32], &[9; 32]);
        assert_eq!(hex(&seed), expected);
    }

    #[test]
    fn every_field_of_the_context_changes_it() {
        let base = ceremony();
        let id = base.id();
        let variants = [
            Ceremony {
                variant: Variant::Refresh,
                ..base.clone()
            },
            Ceremony {
                chain_id: &[2; 32],
                ..base.clone()
            },
            Ceremony {
                network_id: 2,
                ..base.clone()
            },
            Ceremony {
                group_id: 1,
                ..base.clone()
            },
            Ceremony {
                suite: Suite::PulsarBlake3,
                ..base.clone()
            },
            Ceremony {
                era: 8,
                ..base.clone()
            },
            Ceremony {
                old_generation: 1,
                ..base.clone()
            },
            Ceremony {
                new_generation: 1,
                ..base.clone()
            },
            Ceremony {
                old_set_hash: [1; 32],
                ..base.clone()
            },
            Ceremony {
                new_set_hash: [4; 32],
                ..base.clone()
            },
            Ceremony {
                old_threshold: 1,
                ..base.clone()
            },
            Ceremony {
                new_threshold: 4,
                ..base.clone()
            },
            Ceremony {
                group_key_hash: [1; 32],
                ..base.clone()
            },
            Ceremony {
                opening_block_hash: [7; 32],
                ..base.clone()
            },
            Ceremony { attempt: 1, ..base },
        ];
        assert!(variants.iter().all(|other| other.id() != id));
    }
}
