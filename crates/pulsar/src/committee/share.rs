//! A member's secrets, and what they become for one signing set.

use alloc::vec::Vec;
use core::fmt;

use horizon_hash::domain::committee as domain;
use horizon_hash::sponge::cshake256;
use horizon_ring::pack::{PACKED_BYTES, pack49};
use horizon_ring::{NttPoly, Poly, modulus, ntt};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::context::{Committee, SigningSet};
use super::error::{Error, Misuse};
use crate::dealer::MemberShare;
use crate::params::COLS;
use crate::secret::SecretPolys;
use crate::shamir::add_scaled;

/// One member's share of one generation: a row of 7 polynomials per point, and one seed per peer.
///
/// # Security
/// Erased when dropped, not `Clone`. A share serves this mode only, never also the interop mode.
pub struct SignerShare {
    member: u16,
    /// One row per point, in the order of the points.
    rows: Vec<SecretPolys>,
    /// Seed shared with each member, by position; the own entry is unused.
    seeds: Zeroizing<Vec<[u8; 32]>>,
    /// Key that hedges nonces with the share.
    nonce_key: Zeroizing<[u8; 32]>,
}

/// A share as one signing set uses it: the interpolated sum of its rows and the seeds of the peers.
///
/// # Security
/// Erased when dropped, not `Clone`.
pub struct SetShare {
    pub(super) member: u16,
    pub(super) set: SigningSet,
    /// Sum of `lambda_x s_x` over the member's points, 7 polynomials, slots times 2^52.
    pub(super) weighted: Zeroizing<Vec<NttPoly>>,
    /// Peers in set order: position and seed.
    pub(super) peers: Zeroizing<Vec<PeerSeed>>,
}

/// A peer and the seed shared with it.
#[derive(Clone, Copy, Zeroize)]
pub(super) struct PeerSeed {
    pub(super) peer: u16,
    pub(super) seed: [u8; 32],
}

impl SignerShare {
    /// Takes over a share: `rows[k]` belongs to the member's `k`-th point and has 7 polynomials in
    /// coefficient form; `seeds[j]` is the seed shared with member `j` (the own entry is ignored).
    ///
    /// # Errors
    /// [`Misuse::Share`] when a count does not fit `committee`, or a coefficient is not below q.
    pub fn new(
        committee: &Committee,
        member: u16,
        rows: Vec<SecretPolys>,
        seeds: Vec<[u8; 32]>,
    ) -> Result<Self, Error> {
        let seeds = Zeroizing::new(seeds);
        if !are_canonical(&rows) {
            return Err(Error::Misuse(Misuse::Share));
        }
        Self::from_canonical(committee, member, rows, seeds)
    }

    /// As [`new`](Self::new) for rows whose coefficients are below q by construction: nothing here decides on
    /// a secret.
    fn from_canonical(
        committee: &Committee,
        member: u16,
        rows: Vec<SecretPolys>,
        seeds: Zeroizing<Vec<[u8; 32]>>,
    ) -> Result<Self, Error> {
        let points = committee.points(member);
        if points.is_empty()
            || rows.len() != points.len()
            || rows.iter().any(|row| row.len() != COLS)
            || seeds.len() != usize::from(committee.n())
        {
            return Err(Error::Misuse(Misuse::Share));
        }
        let nonce_key = nonce_key(&rows);
        Ok(Self {
            member,
            rows,
            seeds,
            nonce_key,
        })
    }

    /// The share that the trusted dealer gave to a member, in a committee of one point per member.
    ///
    /// # Errors
    /// [`Misuse::Share`] when the share is for another committee, group key or suite.
    pub fn from_dealt(committee: &Committee, dealt: &MemberShare) -> Result<Self, Error> {
        let params = committee.params();
        let (n, t) = (dealt.quorum().parties(), dealt.quorum().threshold());
        let own = dealt.position();
        if (n, t, dealt.suite()) != (params.n, params.t, params.suite)
            || *dealt.group_key_hash() != params.group_key_hash
            || committee.points(own) != [own.saturating_add(1)]
        {
            return Err(Error::Misuse(Misuse::Share));
        }
        let mut seeds = Zeroizing::new(alloc::vec![[0; 32]; usize::from(n)]);
        for (peer, seed) in (0..n).zip(seeds.iter_mut()) {
            if let Some(dealt) = dealt.pair_seed(peer) {
                seed.copy_from_slice(dealt);
            }
        }
        // The dealer makes canonical rows, and decoding refuses all others.
        let rows = alloc::vec![SecretPolys::new(dealt.share().to_vec())];
        Self::from_canonical(committee, own, rows, seeds)
    }

    /// Position of the member.
    #[must_use]
    pub fn member(&self) -> u16 {
        self.member
    }

    /// The share as `set` uses it. Straight-line in the secrets.
    ///
    /// # Errors
    /// [`Misuse::NotInSet`], [`Misuse::Share`] for a set of another committee.
    pub fn for_set(&self, committee: &Committee, set: &SigningSet) -> Result<SetShare, Error> {
        if set.slot(self.member).is_none() {
            return Err(Error::Misuse(Misuse::NotInSet));
        }
        let own = committee.points(self.member);
        let all: Vec<u16> = set
            .ids()
            .iter()
            .flat_map(|id| committee.points(*id))
            .copied()
            .collect();
        if own.len() != self.rows.len() || set.ids().last() >= Some(&committee.n()) {
            return Err(Error::Misuse(Misuse::Share));
        }
        let mut sums = SecretPolys::zero(COLS);
        for (point, row) in own.iter().zip(&self.rows) {
            let lambda = lagrange_at_zero(*point, &all);
            for (sum, poly) in sums.polys_mut().iter_mut().zip(row.polys()) {
                add_scaled(sum, poly, lambda);
            }
        }
        let mut weighted = Zeroizing::new(alloc::vec![NttPoly::ZERO; COLS]);
        for (out, sum) in weighted.iter_mut().zip(sums.polys()) {
            ntt::forward_into(sum, ntt::Scale::R52, out);
        }
        let peers = set
            .ids()
            .iter()
            .filter(|id| **id != self.member)
            .filter_map(|&peer| {
                self.seeds
                    .get(usize::from(peer))
                    .map(|&seed| PeerSeed { peer, seed })
            });
        let mut collected = Zeroizing::new(Vec::with_capacity(set.len()));
        collected.extend(peers);
        Ok(SetShare {
            member: self.member,
            set: set.clone(),
            weighted,
            peers: collected,
        })
    }

    /// Whether the share has the shape that `committee` gives this member.
    pub(super) fn fits(&self, committee: &Committee) -> bool {
        self.rows.len() == committee.points(self.member).len()
            && self.seeds.len() == usize::from(committee.n())
    }

    pub(super) fn nonce_key(&self) -> &[u8; 32] {
        &self.nonce_key
    }
}

impl ZeroizeOnDrop for SignerShare {}
impl ZeroizeOnDrop for SetShare {}

impl fmt::Debug for SignerShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignerShare")
            .field("member", &self.member)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for SetShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetShare")
            .field("member", &self.member)
            .field("set", &self.set)
            .finish_non_exhaustive()
    }
}

/// Interpolation coefficient at zero of `own` among the distinct non-zero points `all`.
pub(super) fn lagrange_at_zero(own: u16, all: &[u16]) -> u64 {
    let own = u64::from(own);
    let (mut numerator, mut denominator) = (1, 1);
    for point in all
        .iter()
        .map(|point| u64::from(*point))
        .filter(|point| *point != own)
    {
        numerator = modulus::mul(numerator, modulus::neg(point));
        denominator = modulus::mul(denominator, modulus::sub(own, point));
    }
    modulus::mul(numerator, modulus::inv(denominator))
}

/// `K_share`: 32 bytes of the stream over the packed rows (coefficient form), in the order of the points.
fn nonce_key(rows: &[SecretPolys]) -> Zeroizing<[u8; 32]> {
    let mut packed = Zeroizing::new(Vec::with_capacity(rows.len() * COLS * PACKED_BYTES));
    let mut chunk = Zeroizing::new([0; PACKED_BYTES]);
    for poly in rows.iter().flat_map(SecretPolys::polys) {
        pack49(poly, &mut chunk);
        packed.extend_from_slice(&chunk[..]);
    }
    let mut key = Zeroizing::new([0; 32]);
    cshake256(domain::SHARE_KEY, &[&packed], &mut key[..]);
    key
}

/// Whether all coefficients of all rows are below q: one decision over everything, so that timing shows nothing
/// but the answer.
fn are_canonical(rows: &[SecretPolys]) -> bool {
    let words = rows.iter().flat_map(SecretPolys::polys);
    let words = words.flat_map(Poly::as_array);
    // The high bit of `q - 1 - v` alone would take a `v` of 2^63 + q or more for a small one.
    let bad = words.fold(0, |bad, &v| bad | (modulus::Q - 1).wrapping_sub(v) | v);
    bad >> 63 == 0
}

#[cfg(test)]
pub(super) mod testing {
    //! Committees whose secrets the tests of other modules may see.

    use horizon_hash::suite::Suite;
    use horizon_testkit::SeededRng;
    use horizon_testkit::secret::mark_undefined;

    use super::*;
    use crate::committee::CommitteeParams;

    /// A committee of `n` with threshold `n`.
    pub(crate) fn committee(n: u16) -> Committee {
        Committee::new(CommitteeParams {
            chain_id: [1; 32],
            network_id: 1,
            group_id: 0,
            suite: Suite::PulsarSha3,
            group_key_hash: [2; 32],
            era: 7,
            generation: 3,
            set_hash: [3; 32],
            n,
            t: n,
        })
        .unwrap()
    }

    pub(crate) fn uniform(rng: &mut SeededRng) -> Poly {
        Poly::from_array(core::array::from_fn(|_| rng.below(modulus::Q))).unwrap()
    }

    /// Uniform shares and equal seeds per pair.
    pub(crate) fn shares(committee: &Committee, rng: &mut SeededRng) -> Vec<SignerShare> {
        let n = committee.n();
        (0..n)
            .map(|i| {
                let row = SecretPolys::new((0..COLS).map(|_| uniform(rng)).collect());
                let seeds = (0..n)
                    .map(|j| [(i.min(j) * 16 + i.max(j)) as u8; 32])
                    .collect();
                SignerShare::new(committee, i, alloc::vec![row], seeds).unwrap()
            })
            .collect()
    }

    impl SignerShare {
        /// Marks every secret of the share for valgrind.
        pub(crate) fn mark_secrets(&self) {
            mark_undefined(&self.seeds[..]);
            mark_undefined(&self.nonce_key[..]);
            for poly in self.rows.iter().flat_map(SecretPolys::polys) {
                mark_undefined(poly.as_array());
            }
        }
    }

    /// Root mean square of the centred coefficients, as a power of two; uniform values give 46.2.
    pub(crate) fn log2_deviation(polys: &[Poly]) -> f64 {
        let words = polys.iter().flat_map(|poly| poly.as_array());
        let sum: f64 = words.map(|v| (modulus::centered(*v) as f64).powi(2)).sum();
        (sum / (polys.len() * 256) as f64).sqrt().log2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lagrange_coefficients_interpolate_at_zero() {
        // Points 1, 2, 3 have 3, -3, 1.
        let all = [1, 2, 3];
        let found: Vec<u64> = all.iter().map(|x| lagrange_at_zero(*x, &all)).collect();
        assert_eq!(found, [3, modulus::Q - 3, 1]);
        // P(x) = 7 + 5 x + 11 x^2 at 2, 9 and 1000.
        let all = [2, 9, 1000];
        let value = all.iter().fold(0, |sum, &x| {
            let x64 = u64::from(x);
            let p = 7 + 5 * x64 + 11 * x64 * x64;
            modulus::add(sum, modulus::mul(lagrange_at_zero(x, &all), p))
        });
        assert_eq!(value, 7);
    }

    #[test]
    fn a_share_with_a_coefficient_that_is_not_canonical_is_refused() {
        let committee = testing::committee(2);
        for (value, fine) in [
            (modulus::Q - 1, true),
            (modulus::Q, false),
            (1 << 63, false),
            ((1 << 63) + modulus::Q, false),
            (u64::MAX, false),
        ] {
            let mut row = SecretPolys::zero(COLS);
            row.polys_mut()[COLS - 1].as_mut_array()[255] = value;
            let share = SignerShare::new(&committee, 0, alloc::vec![row], alloc::vec![[0; 32]; 2]);
            let expected = if fine {
                None
            } else {
                Some(Error::Misuse(Misuse::Share))
            };
            assert_eq!(share.err(), expected, "{value:#x}");
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let committee = testing::committee(2);
        let shares = testing::shares(&committee, &mut horizon_testkit::rng(1));
        let set = committee.signing_set(&[0, 1]).unwrap();
        let text = alloc::format!("{:?} {:?}", shares[0], shares[0].for_set(&committee, &set));
        assert_eq!(
            text,
            "SignerShare { member: 0, .. } Ok(SetShare { member: 0, set: SigningSet([0, 1]), .. })"
        );
    }
}
