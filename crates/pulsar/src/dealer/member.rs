//! What a member receives and what it keeps.

use alloc::vec::Vec;
use core::fmt;

use horizon_hash::{sponge::Shake256, suite::Suite};
use horizon_ring::{Poly, pack};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{
    FieldStream, Record,
    context::{CeremonyId, Leaf, LeafKind, pair_seed},
};
use crate::{
    Error,
    codec::{self, Reader, VERSION},
    error::{Malformed, Misuse},
    params::{COLS, KEY_LEN, PACKED_POLY_LEN, ROWS},
    secret::SecretPolys,
    shamir,
    signers::Quorum,
};

/// One member's key material for committee mode: its row, with its share at zero, and a seed per
/// peer.
///
/// # Security
/// Secret. Erased on drop, not `Clone`, redacted `Debug`. For committee mode only.
pub struct MemberShare {
    position: u16,
    quorum: Quorum,
    suite: Suite,
    ceremony: CeremonyId,
    group_key_hash: [u8; 32],
    /// Coefficients of `x^0 .. x^(t-1)` of the row, 7 polynomials each, coefficient form.
    row: SecretPolys,
    /// By position; the own entry is zero and unused.
    pair_seeds: Zeroizing<Vec<[u8; KEY_LEN]>>,
}

impl MemberShare {
    pub(super) const fn from_parts(
        position: u16,
        quorum: Quorum,
        suite: Suite,
        ceremony: CeremonyId,
        group_key_hash: [u8; 32],
        row: SecretPolys,
        pair_seeds: Zeroizing<Vec<[u8; KEY_LEN]>>,
    ) -> Self {
        Self {
            position,
            quorum,
            suite,
            ceremony,
            group_key_hash,
            row,
            pair_seeds,
        }
    }

    /// Position of the member, from 0; its evaluation point is one more.
    #[must_use]
    pub const fn position(&self) -> u16 {
        self.position
    }

    /// Committee size and threshold.
    #[must_use]
    pub const fn quorum(&self) -> Quorum {
        self.quorum
    }

    /// Hash suite of the group key.
    #[must_use]
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// The ceremony that made the share.
    #[must_use]
    pub const fn ceremony(&self) -> &CeremonyId {
        &self.ceremony
    }

    /// [`GroupKey::hash`](crate::GroupKey::hash) of the key the share belongs to.
    #[must_use]
    pub const fn group_key_hash(&self) -> &[u8; 32] {
        &self.group_key_hash
    }

    /// The share `s_i`: 7 polynomials, coefficient form. Secret.
    #[must_use]
    pub fn share(&self) -> &[Poly] {
        &self.row.polys()[..COLS]
    }

    /// The row: `t` times 7 polynomials, coefficient form, lowest power first. Secret; kept for
    /// resharing.
    #[must_use]
    pub fn row(&self) -> &[Poly] {
        self.row.polys()
    }

    /// The seed shared with the member at `peer`; `None` for the own position and outside the
    /// committee. Secret.
    #[must_use]
    pub fn pair_seed(&self, peer: u16) -> Option<&[u8; KEY_LEN]> {
        if peer == self.position {
            return None;
        }
        self.pair_seeds.get(usize::from(peer))
    }

    /// The value of the row at the point of the member at `peer`, 7 polynomials: both members of a
    /// pair hold the same. Secret.
    #[must_use]
    pub fn cross_value(&self, peer: u16) -> SecretPolys {
        let point = u64::from(peer) + 1;
        let mut value = SecretPolys::zero(COLS);
        for chunk in self.row.polys().chunks_exact(COLS).rev() {
            for (value, poly) in value.polys_mut().iter_mut().zip(chunk) {
                value.scale(point);
                value.add_assign(poly);
            }
        }
        value
    }

    /// The leaf of [`cross_value`](Self::cross_value) as the dealer (position 0) publishes it.
    #[must_use]
    pub fn cross_leaf(&self, peer: u16) -> Leaf {
        self.leaf_of_cross(
            LeafKind::Cross {
                dealer: 0,
                points: self.points(peer),
            },
            peer,
        )
    }

    /// The leaf of [`cross_value`](Self::cross_value) that both members of a pair post as a
    /// receipt.
    #[must_use]
    pub fn receipt(&self, peer: u16) -> Leaf {
        self.leaf_of_cross(
            LeafKind::Receipt {
                points: self.points(peer),
            },
            peer,
        )
    }

    /// Bytes of the encoding.
    #[must_use]
    pub const fn encoded_len(quorum: Quorum) -> usize {
        HEAD_LEN
            + quorum.threshold() as usize * COLS * PACKED_POLY_LEN
            + KEY_LEN * (quorum.parties() as usize - 1)
    }

    /// Reads the frame `"PLMS"`: version, position, committee size, threshold, suite, ceremony,
    /// group-key hash, row at 49 bits per coefficient, seeds of the other members ascending.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let head = bytes.get(..HEAD_LEN).ok_or(Malformed::Short {
            field: FIELD,
            expected: HEAD_LEN,
        })?;
        let mut head = Reader::new(FIELD, head, HEAD_LEN)?;
        head.header(MAGIC)?;
        let (position, parties, threshold) = (head.be16()?, head.be16()?, head.be16()?);
        let suite = codec::suite_from_code(head.be16()?)?;
        let ceremony = CeremonyId(*head.array()?);
        let group_key_hash = *head.array()?;
        let quorum =
            Quorum::new(threshold, parties).map_err(|_| Malformed::Value { field: FIELD })?;
        if position >= parties {
            return Err(Malformed::Value { field: FIELD }.into());
        }
        let mut reader = Reader::new(FIELD, bytes, Self::encoded_len(quorum))?;
        reader.take(HEAD_LEN)?;
        let mut row = SecretPolys::zero(usize::from(threshold) * COLS);
        let packed = reader.take(row.len() * PACKED_POLY_LEN)?;
        pack::unpack49_all(packed, FIELD, row.polys_mut().iter_mut())
            .map_err(|error| codec::malformed(&error))?;
        let mut pair_seeds = Zeroizing::new(alloc::vec![[0; KEY_LEN]; usize::from(parties)]);
        for peer in (0..parties).filter(|&peer| peer != position) {
            pair_seeds[usize::from(peer)] = *reader.array()?;
        }
        Ok(Self {
            position,
            quorum,
            suite,
            ceremony,
            group_key_hash,
            row,
            pair_seeds,
        })
    }

    /// The frame. Secret.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(Self::encoded_len(self.quorum)));
        out.extend_from_slice(MAGIC);
        let code = codec::suite_code(self.suite);
        let numbers = [
            VERSION,
            self.position,
            self.quorum.parties(),
            self.quorum.threshold(),
            code,
        ];
        numbers
            .iter()
            .for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
        out.extend_from_slice(&self.ceremony.0);
        out.extend_from_slice(&self.group_key_hash);
        append_packed(&mut out, self.row.polys());
        for peer in (0..self.quorum.parties()).filter(|&peer| peer != self.position) {
            out.extend_from_slice(&self.pair_seeds[usize::from(peer)]);
        }
        out
    }

    fn points(&self, peer: u16) -> (u16, u16) {
        (self.position + 1, peer + 1)
    }

    fn leaf_of_cross(&self, kind: LeafKind, peer: u16) -> Leaf {
        let mut bytes = Zeroizing::new(Vec::with_capacity(COLS * PACKED_POLY_LEN));
        append_packed(&mut bytes, self.cross_value(peer).polys());
        kind.leaf(&self.ceremony, &bytes)
    }
}

impl fmt::Debug for MemberShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberShare")
            .field("position", &self.position)
            .field("quorum", &self.quorum)
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

impl ZeroizeOnDrop for MemberShare {}

/// What the dealer sends to one member: its share, and its points of the error and mask
/// polynomials, which are checked against the leaves and then erased.
///
/// # Security
/// Secret; seal it to the member.
pub struct Package {
    pub(super) share: MemberShare,
    /// 8 polynomials.
    pub(super) e: SecretPolys,
    /// 1 polynomial.
    pub(super) p: SecretPolys,
    pub(super) g: Zeroizing<[u64; MASKS]>,
}

impl Package {
    /// Position of the member it is for.
    #[must_use]
    pub const fn recipient(&self) -> u16 {
        self.share.position
    }

    /// Checks the package against the published leaves and keeps the share.
    ///
    /// # Errors
    /// [`Misuse::WrongGroup`] when a leaf differs: the package is not the one the record describes.
    pub fn accept(self, record: &Record) -> Result<MemberShare, Error> {
        let share = &self.share;
        let own = record.point_leaves.get(usize::from(share.position));
        let parties = share.quorum.parties();
        let agrees = record.point_leaves.len() == usize::from(parties)
            && own == Some(&self.point_leaf())
            && (0..parties).all(|peer| {
                record.cross_leaf(share.position, peer) == Some(&share.cross_leaf(peer))
            });
        if !agrees {
            return Err(Misuse::WrongGroup.into());
        }
        Ok(self.share)
    }

    /// The package plaintext in the layout of the ceremony: row, error point and mask point at 49
    /// bits per coefficient, then four masks; 10,976 t + 14,144 bytes.
    #[must_use]
    pub fn to_plaintext(&self) -> Zeroizing<Vec<u8>> {
        let len = 10_976 * usize::from(self.share.quorum.threshold()) + 14_144;
        let mut out = Zeroizing::new(Vec::with_capacity(len));
        append_packed(&mut out, self.share.row.polys());
        self.append_points(&mut out);
        out
    }

    /// The leaf of the point value: share, error point, mask points.
    pub(super) fn point_leaf(&self) -> Leaf {
        let mut value =
            Zeroizing::new(Vec::with_capacity((COLS + ROWS + 1) * PACKED_POLY_LEN + 32));
        append_packed(&mut value, self.share.share());
        self.append_points(&mut value);
        let kind = LeafKind::Point {
            dealer: 0,
            point: self.share.position + 1,
        };
        kind.leaf(&self.share.ceremony, &value)
    }

    fn append_points(&self, out: &mut Vec<u8>) {
        append_packed(out, self.e.polys());
        append_packed(out, self.p.polys());
        self.g
            .iter()
            .for_each(|value| out.extend_from_slice(&value.to_be_bytes()));
    }
}

impl fmt::Debug for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Package")
            .field("recipient", &self.recipient())
            .finish_non_exhaustive()
    }
}

impl ZeroizeOnDrop for Package {}

/// Rows `F(x, x_j)` of a uniform symmetric `F` of degree below `t` in each variable with `F(0, 0) =
/// secret`.
pub(super) fn symmetric_rows(
    secret: &SecretPolys,
    quorum: Quorum,
    stream: &mut FieldStream,
) -> Vec<SecretPolys> {
    let t = usize::from(quorum.threshold());
    // Coefficient of x^u y^v for u <= v, in the order (0,0) (0,1) .. (0,t-1) (1,1) ...
    let mut upper: Vec<SecretPolys> = Vec::with_capacity(t * (t + 1) / 2);
    for index in 0..t * (t + 1) / 2 {
        let mut polys = SecretPolys::zero(secret.len());
        for (poly, secret) in polys.polys_mut().iter_mut().zip(secret.polys()) {
            if index == 0 {
                poly.as_mut_array().copy_from_slice(secret.as_array());
            } else {
                stream.fill(poly);
            }
        }
        upper.push(polys);
    }
    let at = |u: usize, v: usize| {
        let (low, high) = (u.min(v), u.max(v));
        &upper[low * (2 * t + 1 - low) / 2 + high - low]
    };
    (1..=u64::from(quorum.parties()))
        .map(|point| {
            let mut row = SecretPolys::zero(t * secret.len());
            for (u, power) in row.polys_mut().chunks_exact_mut(secret.len()).enumerate() {
                for v in (0..t).rev() {
                    for (sum, poly) in power.iter_mut().zip(at(u, v).polys()) {
                        sum.scale(point);
                        sum.add_assign(poly);
                    }
                }
            }
            row
        })
        .collect()
}

/// Points of four uniform polynomials of degree below `t`.
pub(super) fn mask_points(
    quorum: Quorum,
    stream: &mut FieldStream,
) -> Vec<Zeroizing<[u64; MASKS]>> {
    let degree = usize::from(quorum.threshold());
    let polynomials: Vec<Zeroizing<Vec<u64>>> = (0..MASKS)
        .map(|_| Zeroizing::new((0..degree).map(|_| stream.next()).collect()))
        .collect();
    (1..=u64::from(quorum.parties()))
        .map(|point| {
            let mut values = Zeroizing::new([0; MASKS]);
            for (value, polynomial) in values.iter_mut().zip(&polynomials) {
                *value = shamir::evaluate(polynomial, point);
            }
            values
        })
        .collect()
}

/// One seed per unordered pair, as a table by member and peer.
pub(super) fn pair_seeds(
    ceremony: &CeremonyId,
    quorum: Quorum,
    seed: &[u8; 64],
) -> Vec<Zeroizing<Vec<[u8; KEY_LEN]>>> {
    let n = quorum.parties();
    let mut hash = Shake256::new();
    hash.update(seed);
    let mut stream = hash.finalize();
    let mut tables: Vec<_> = (0..n)
        .map(|_| Zeroizing::new(alloc::vec![[0; KEY_LEN]; usize::from(n)]))
        .collect();
    for low in 0..n {
        for high in low + 1..n {
            let mut halves = Zeroizing::new([[0; KEY_LEN]; 2]);
            halves.iter_mut().for_each(|half| stream.read(half));
            let mut seed = pair_seed(ceremony, (low, high), &halves[0], &halves[1]);
            tables[usize::from(low)][usize::from(high)] = seed;
            tables[usize::from(high)][usize::from(low)] = seed;
            seed.zeroize();
        }
    }
    tables
}

fn append_packed(out: &mut Vec<u8>, polys: &[Poly]) {
    let mut packed = Zeroizing::new([0; PACKED_POLY_LEN]);
    for poly in polys {
        pack::pack49(poly, &mut packed);
        out.extend_from_slice(&*packed);
    }
}

/// Scalar mask polynomials of a dealing.
pub(super) const MASKS: usize = 4;

const HEAD_LEN: usize = 14 + 64;
const MAGIC: &[u8; 4] = b"PLMS";
const FIELD: &str = "member share";
