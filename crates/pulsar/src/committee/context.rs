//! What everything in this mode is bound to: the committee of one key generation, its signing sets, and
//! the hashes that tie matrices, sessions and challenges to them.
//!
//! # Source
//! Committee-mode specification sections 1.2 to 1.4 and 1.8; layouts checked against its vectors 2.14.

use alloc::vec::Vec;

use horizon_hash::domain::committee as domain;
use horizon_hash::parallelhash::parallel_hash256;
use horizon_hash::suite::Suite;
use horizon_hash::tuplehash::{TupleHash256, tuple_hash256};

use super::error::{Error, Misuse};
use crate::params::PARTIES_MAX;

/// Digest of one first-round matrix message: 64 bytes.
pub type Digest = [u8; 64];

/// Everything that names one generation of one group key. Integers are hashed big-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitteeParams {
    /// Identifier of the chain.
    pub chain_id: [u8; 32],
    /// Identifier of the network.
    pub network_id: u32,
    /// Identifier of the group within the network.
    pub group_id: u64,
    /// Hash suite of the era.
    pub suite: Suite,
    /// Hash of the group key.
    pub group_key_hash: [u8; 32],
    /// Number of the key era.
    pub era: u64,
    /// Number of the generation within the era.
    pub generation: u64,
    /// Hash of the validator set, with its points.
    pub set_hash: [u8; 32],
    /// Number of members, 1..=1024.
    pub n: u16,
    /// Number of points needed to sign, 1..=number of all points.
    pub t: u16,
}

/// The committee of one generation: parameters, the points of every member, and the era context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committee {
    params: CommitteeParams,
    points: Vec<Vec<u16>>,
    era_ctx: [u8; 32],
}

/// The members that sign together: strictly ascending positions whose points reach the threshold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SigningSet(Vec<u16>);

/// One batch as the ledger opened it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Number of the batch.
    pub batch: u64,
    /// The signing set that the batch is bound to (finding C-03).
    pub set: SigningSet,
    /// Number of indices, 1..=64: each serves one signature attempt.
    pub count: u16,
}

impl Committee {
    /// A committee whose member `i` holds the one point `i + 1`.
    ///
    /// # Errors
    /// [`Misuse::PartyCount`] unless `1 <= n <= 1024`, [`Misuse::Threshold`] unless `1 <= t <= n`.
    pub fn new(params: CommitteeParams) -> Result<Self, Error> {
        let points = (1..=params.n).map(|x| alloc::vec![x]).collect();
        Self::with_points(params, points)
    }

    /// A committee whose member `i` holds the points `points[i]`. A member stays one signer with one
    /// matrix and one partial, however many points it holds; `t` counts points.
    ///
    /// # Errors
    /// [`Misuse::PartyCount`] unless `1 <= n <= 1024`; [`Misuse::Points`] unless `points` has one
    /// non-empty list per member, all points are distinct and non-zero and at most 1024 in number;
    /// [`Misuse::Threshold`] unless `1 <= t <=` the number of points.
    pub fn with_points(params: CommitteeParams, points: Vec<Vec<u16>>) -> Result<Self, Error> {
        if params.n == 0 || params.n > PARTIES_MAX {
            return Err(Error::Misuse(Misuse::PartyCount));
        }
        let mut all: Vec<u16> = points.iter().flatten().copied().collect();
        all.sort_unstable();
        if points.len() != usize::from(params.n)
            || points.iter().any(Vec::is_empty)
            || all.first() == Some(&0)
            || all.windows(2).any(|pair| pair[0] == pair[1])
            || all.len() > usize::from(PARTIES_MAX)
        {
            return Err(Error::Misuse(Misuse::Points));
        }
        if params.t == 0 || usize::from(params.t) > all.len() {
            return Err(Error::Misuse(Misuse::Threshold));
        }
        let era_ctx = era_context(&params);
        Ok(Self {
            params,
            points,
            era_ctx,
        })
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> &CommitteeParams {
        &self.params
    }

    /// The context that every message and every session of this generation is bound to.
    #[must_use]
    pub fn era_ctx(&self) -> &[u8; 32] {
        &self.era_ctx
    }

    /// Number of members.
    #[must_use]
    pub fn n(&self) -> u16 {
        self.params.n
    }

    /// Number of points needed to sign.
    #[must_use]
    pub fn t(&self) -> u16 {
        self.params.t
    }

    /// The evaluation points of member `member`; empty for a position that does not exist.
    #[must_use]
    pub fn points(&self, member: u16) -> &[u16] {
        self.points
            .get(usize::from(member))
            .map_or(&[], Vec::as_slice)
    }

    /// Checks `ids` as a signing set: the members' points reach the threshold, and would not without the
    /// member that holds most of them. With one point each this means exactly `t` members.
    ///
    /// # Errors
    /// [`Misuse::SetOrder`] when empty, unsorted or repeated; [`Misuse::SetMember`] for a position
    /// `>= n`; [`Misuse::SetSize`] when the points are too few or too many.
    pub fn signing_set(&self, ids: &[u16]) -> Result<SigningSet, Error> {
        if ids.is_empty() || ids.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(Error::Misuse(Misuse::SetOrder));
        }
        if ids.iter().any(|id| *id >= self.params.n) {
            return Err(Error::Misuse(Misuse::SetMember));
        }
        let held = |id: &u16| self.points(*id).len();
        let total: usize = ids.iter().map(held).sum();
        let most = ids.iter().map(held).max().unwrap_or(0);
        let need = usize::from(self.params.t);
        if total < need || total - most >= need {
            return Err(Error::Misuse(Misuse::SetSize));
        }
        Ok(SigningSet(ids.to_vec()))
    }

    /// A batch of `count` indices bound to `set`.
    ///
    /// # Errors
    /// [`Misuse::BatchCount`] unless `1 <= count <= 64`; the set errors when `set` was made for another
    /// committee.
    pub fn plan(&self, batch: u64, set: SigningSet, count: u16) -> Result<Plan, Error> {
        if count == 0 || count > BATCH_COUNT_MAX {
            return Err(Error::Misuse(Misuse::BatchCount));
        }
        let set = self.signing_set(set.ids())?;
        Ok(Plan { batch, set, count })
    }
}

impl SigningSet {
    /// Positions of the members, strictly ascending.
    #[must_use]
    pub fn ids(&self) -> &[u16] {
        &self.0
    }

    /// Number of members.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a signing set is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Where `member` stands in the set.
    #[must_use]
    pub fn slot(&self, member: u16) -> Option<usize> {
        self.0.binary_search(&member).ok()
    }
}

/// `era_ctx`: the context of one generation.
#[must_use]
pub fn era_context(p: &CommitteeParams) -> [u8; 32] {
    hash32(
        domain::ERA,
        &[
            &p.chain_id,
            &p.network_id.to_be_bytes(),
            &p.group_id.to_be_bytes(),
            p.suite.id().as_bytes(),
            &p.group_key_hash,
            &p.era.to_be_bytes(),
            &p.generation.to_be_bytes(),
            &p.set_hash,
            &u32::from(p.n).to_be_bytes(),
            &u32::from(p.t).to_be_bytes(),
        ],
    )
}

/// `set_digest`: the signing set of one batch. The third element is the number of members in the set.
#[must_use]
pub fn set_digest(era_ctx: &[u8; 32], batch: u64, set: &SigningSet) -> [u8; 32] {
    let mut hash = TupleHash256::new(domain::SIGNING_SET);
    hash.element(era_ctx);
    hash.element(&batch.to_be_bytes());
    hash.element(&member_count(set));
    set.ids()
        .iter()
        .for_each(|id| hash.element(&id.to_be_bytes()));
    finish(hash)
}

/// Digest of a first-round matrix message given in pieces: header, index and packed matrix.
#[must_use]
pub fn matrix_digest(parts: &[&[u8]]) -> Digest {
    let mut out = [0; 64];
    // Only a block length of zero is refused.
    let _ = parallel_hash256(MATRIX_BLOCK_LEN, domain::MATRIX, parts, &mut out);
    out
}

/// `root` of a BatchHave: all digests of the batch, the first member's `count` first.
#[must_use]
pub fn have_root<'a>(digests: impl IntoIterator<Item = &'a Digest>) -> [u8; 32] {
    let mut hash = TupleHash256::new(domain::HAVE);
    digests.into_iter().for_each(|digest| hash.element(digest));
    finish(hash)
}

/// Hash that orders members when a batch is planned; `round` is the extra element of a re-ranking.
#[must_use]
pub fn plan_hash(era_ctx: &[u8; 32], batch: u64, member: u16, round: Option<u32>) -> [u8; 32] {
    let mut hash = TupleHash256::new(domain::PLAN);
    hash.element(era_ctx);
    hash.element(&batch.to_be_bytes());
    hash.element(&member.to_be_bytes());
    if let Some(round) = round {
        hash.element(&round.to_be_bytes());
    }
    finish(hash)
}

/// `H`: one index and attempt with its signing set and the digests of its matrices, in set order.
#[must_use]
pub fn transcript(
    era_ctx: &[u8; 32],
    plan: &Plan,
    index: u16,
    attempt: u32,
    digests: &[&Digest],
) -> [u8; 64] {
    let mut hash = TupleHash256::new(domain::SESSION_HASH);
    hash.element(era_ctx);
    hash.element(&plan.batch.to_be_bytes());
    hash.element(&index.to_be_bytes());
    hash.element(&attempt.to_be_bytes());
    hash.element(&member_count(&plan.set));
    plan.set
        .ids()
        .iter()
        .for_each(|id| hash.element(&id.to_be_bytes()));
    digests.iter().for_each(|digest| hash.element(*digest));
    let mut out = [0; 64];
    // Only whole elements were given, so this cannot fail.
    let _ = hash.finalize_into(&mut out);
    out
}

/// `useed`: the transcript and the message.
#[must_use]
pub fn u_seed(transcript: &[u8; 64], mu: &[u8]) -> [u8; 32] {
    hash32(domain::U_SEED, &[transcript, mu])
}

/// `sctx`: what one partial belongs to.
#[must_use]
pub fn session_context(
    transcript: &[u8; 64],
    u_seed: &[u8; 32],
    challenge_seed: &[u8; 32],
) -> [u8; 32] {
    hash32(
        domain::SESSION_CONTEXT,
        &[transcript, u_seed, challenge_seed],
    )
}

/// Number of members as two bytes; a set never has more than 1024.
fn member_count(set: &SigningSet) -> [u8; 2] {
    u16::try_from(set.len()).unwrap_or(u16::MAX).to_be_bytes()
}

fn hash32(custom: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut out = [0; 32];
    tuple_hash256(custom, parts, &mut out);
    out
}

fn finish(hash: TupleHash256) -> [u8; 32] {
    let mut out = [0; 32];
    // Only whole elements were given, so this cannot fail.
    let _ = hash.finalize_into(&mut out);
    out
}

/// Most indices in one batch.
pub const BATCH_COUNT_MAX: u16 = 64;
/// Block length of the matrix digest, bytes.
const MATRIX_BLOCK_LEN: usize = 8192;
