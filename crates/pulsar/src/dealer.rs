//! Keys from one **trusted dealer**: whoever runs this knows every secret of the committee while it
//! runs.
//!
//! The dealing has the form of the dealerless ceremony with a single dealer, so that everything
//! after it (receipts, pair seeds, resharing) is the same: the secret is the constant term of a
//! symmetric polynomial in two variables, member `j` gets the row `F(x, x_j)` with its share at
//! zero, and hash leaves bind every value two members can compare. What only serves to convince
//! others of the dealer's honesty (the shortness proof and the published functionals) is absent: a
//! trusted dealer is trusted.
//!
//! # Security
//! `A` comes from a public hash; the secret and its error, the sharing polynomials and the pair
//! seeds each come from a fresh seed of their own. Nothing the reference's dealer draws twice from
//! one stream is shared here.
//!
//! # Source
//! `spec/pulsar-committee.md` 2.2, 2.4, 2.5, 2.7, 2.8, 2.10 (trusted-dealer mode).

mod context;
mod member;

use alloc::vec::Vec;
use core::fmt;

use horizon_hash::sponge::Shake256;
use horizon_ring::{NttPoly, Poly, dot, modulus, ntt, round, sample};
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

#[cfg(feature = "hazmat")]
pub(crate) use self::context::matrix_from_stream;
pub use self::{
    context::{
        Ceremony, CeremonyId, Leaf, LeafKind, Variant, pair_confirmation, pair_seed, public_matrix,
    },
    member::{MemberShare, Package},
};
use crate::{
    Error, GroupKey,
    error::Misuse,
    params::{COLS, DEGREE, ROWS, XI},
    secret::SecretPolys,
    shamir,
    signers::Quorum,
};

/// Everything one trusted dealer produces.
///
/// # Security
/// `packages` hold every secret of the committee. Give each to its member over a sealed channel and
/// drop the rest.
pub struct Deal {
    /// The group key.
    pub group_key: GroupKey,
    /// The public part: leaves.
    pub record: Record,
    /// One package per member, in order of position. Secret.
    pub packages: Vec<Package>,
}

/// The public commitments of a dealing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Leaf of the point value of member `j`, in order of position.
    pub point_leaves: Vec<Leaf>,
    /// Leaves of the cross values, in the order (1,1) (1,2) .. (1,n) (2,2) ...
    pub cross_leaves: Vec<Leaf>,
}

impl Record {
    /// The cross leaf of the members at positions `a` and `b`, in any order.
    #[must_use]
    pub fn cross_leaf(&self, a: u16, b: u16) -> Option<&Leaf> {
        let n = self.point_leaves.len();
        let (low, high) = (usize::from(a.min(b)), usize::from(a.max(b)));
        if high >= n {
            return None;
        }
        // Row `low` starts after `low` rows of n, n-1, ... leaves.
        let start = low * (2 * n + 1 - low) / 2;
        self.cross_leaves.get(start + high - low)
    }
}

/// Deals a new group key to `quorum.parties()` members, any `quorum.threshold()` of which can sign;
/// `t = n` and one member alone are allowed.
///
/// # Errors
/// [`Misuse::WrongGroup`] when the ceremony is not a key generation for this threshold (variant
/// `dkg`, no old committee, no group key yet).
///
/// # Security
/// **Trusted dealer**: the caller's process holds the whole secret; run it on a machine that is
/// erased afterwards.
/// `rng` must be cryptographically secure: it seeds every secret.
pub fn deal(
    ceremony: &Ceremony<'_>,
    quorum: Quorum,
    rng: &mut impl CryptoRng,
) -> Result<Deal, Error> {
    if !ceremony.generates_key_for(quorum) {
        return Err(Misuse::WrongGroup.into());
    }
    let id = ceremony.id();
    let a = public_matrix(&id);
    let mut fresh = || {
        let mut seed = Zeroizing::new([0; 64]);
        rng.fill_bytes(&mut *seed);
        seed
    };
    let (s, e) = short_secrets(&fresh());
    let group_key = public_key(&a, &s, &e)?;
    let mut sharing = FieldStream::new(&fresh());
    let rows = member::symmetric_rows(&s, quorum, &mut sharing);
    let e_points = shamir::share(&e, quorum, || sharing.next())?;
    let p_points = shamir::share(&projection_mask(&fresh()), quorum, || sharing.next())?;
    let g_points = member::mask_points(quorum, &mut sharing);
    let seeds = member::pair_seeds(&id, quorum, &fresh());
    let hash = group_key.hash(ceremony.suite);
    let points = e_points.into_iter().zip(p_points).zip(g_points);
    let packages: Vec<Package> = (0..quorum.parties())
        .zip(rows.into_iter().zip(points).zip(seeds))
        .map(|(position, ((row, ((e, p), g)), seeds))| {
            let share =
                MemberShare::from_parts(position, quorum, ceremony.suite, id, hash, row, seeds);
            Package { share, e, p, g }
        })
        .collect();
    let record = record(&packages);
    Ok(Deal {
        group_key,
        record,
        packages,
    })
}

/// The leaves of all packages.
fn record(packages: &[Package]) -> Record {
    let point_leaves = packages.iter().map(Package::point_leaf).collect();
    let cross_leaves = packages
        .iter()
        .flat_map(|package| {
            (package.share.position()..package.share.quorum().parties())
                .map(|peer| package.share.cross_leaf(peer))
        })
        .collect();
    Record {
        point_leaves,
        cross_leaves,
    }
}

impl fmt::Debug for Deal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deal")
            .field("packages", &self.packages.len())
            .finish_non_exhaustive()
    }
}

/// `s` (7) and `e` (8): the small width, tails beyond nine deviations, constant time.
fn short_secrets(seed: &[u8; 64]) -> (SecretPolys, SecretPolys) {
    let mut hash = Shake256::new();
    hash.update(seed);
    let mut stream = hash.finalize();
    let mut bytes = Zeroizing::new([0; sample::SMALL_BYTES]);
    let mut draw = |len: usize| {
        let mut polys = SecretPolys::zero(len);
        for poly in polys.polys_mut() {
            stream.read(&mut *bytes);
            sample::small_into(&bytes, poly);
        }
        polys
    };
    (draw(COLS), draw(ROWS))
}

/// 256 uniform integers of `[-2^23, 2^23]`, modulo q.
fn projection_mask(seed: &[u8; 64]) -> SecretPolys {
    let mut hash = Shake256::new();
    hash.update(seed);
    let mut stream = hash.finalize();
    let mut polys = SecretPolys::zero(1);
    for value in polys.polys_mut()[0].as_mut_array() {
        let mut word = Zeroizing::new([0; 4]);
        *value = loop {
            stream.read(&mut *word);
            let candidate = i64::from(u32::from_le_bytes(*word) & 0x01ff_ffff);
            if candidate <= 1 << 24 {
                break modulus::from_signed(candidate - (1 << 23));
            }
        };
    }
    polys
}

/// `b = A s + e`, rounded; `a` in NM form, `s` and `e` coefficients up to q inclusive.
pub(crate) fn public_key(
    a: &[NttPoly],
    s: &SecretPolys,
    e: &SecretPolys,
) -> Result<GroupKey, Error> {
    let slots = |polys: &SecretPolys| -> Zeroizing<Vec<NttPoly>> {
        Zeroizing::new(polys.polys().iter().map(ntt::forward).collect())
    };
    let (s, e) = (slots(s), slots(e));
    let radix = NttPoly::constant(modulus::R64);
    let b: Vec<Poly> = a
        .chunks_exact(COLS)
        .zip(e.iter())
        .map(|(row, e)| {
            let mut terms: Vec<_> = row
                .iter()
                .zip(s.iter())
                .map(|(a, s)| dot::term(a, s))
                .collect();
            terms.push(dot::term(&radix, e));
            // The sum carries 2^64 of the matrix and 2^-52 of the product.
            let mut sum = dot::dot(&terms);
            sum.scale(modulus::R64_TO_R52);
            round::round_shift(&ntt::inverse(&sum), XI)
        })
        .collect();
    GroupKey::new(a, &b)
}

/// Uniform field elements from a seed of their own.
pub(crate) struct FieldStream {
    stream: horizon_hash::sponge::XofReader,
    elements: Zeroizing<Vec<NttPoly>>,
    at: usize,
}

impl FieldStream {
    fn new(seed: &[u8; 64]) -> Self {
        let mut hash = Shake256::new();
        hash.update(seed);
        Self {
            stream: hash.finalize(),
            elements: Zeroizing::new(alloc::vec![NttPoly::ZERO]),
            at: DEGREE,
        }
    }

    fn next(&mut self) -> u64 {
        if self.at == DEGREE {
            let mut fresh = sample::field_poly(&mut self.stream);
            self.elements[0]
                .as_mut_array()
                .copy_from_slice(fresh.as_array());
            fresh.zeroize();
            self.at = 0;
        }
        self.at += 1;
        self.elements[0].as_array()[self.at - 1]
    }

    /// Makes `poly` uniform. In place, so that no copy of a secret stays behind.
    fn fill(&mut self, poly: &mut Poly) {
        let mut fresh = sample::field_poly(&mut self.stream);
        poly.as_mut_array().copy_from_slice(fresh.as_array());
        fresh.zeroize();
    }
}
