//! A group prepared for signing, a member's standing for one signer set, and round one.

use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use horizon_hash::{
    kmac::KmacJob,
    suite::{Suite, TranscriptHasher},
};
use horizon_ring::{NttPoly, dot, matrix::NttMatrix, modulus};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::{
    frames::{Matrix, Round1Message},
    hashes,
    keygen::Share,
    nonce::{Nonces, expand_nonces},
};
use crate::{
    Error, GroupKey, PreparedKey,
    error::Misuse,
    params::{COLS, D_LEN, NONCE_COLS, POLY_LEN, ROWS, vector_len},
    shamir,
    signers::SignerSet,
};

/// How `h` is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HRounding {
    /// Reduced modulo 2^19: every honest signature verifies. The default.
    #[default]
    Reduced,
    /// As the reference: a coefficient may be 2^19, and one honest signature in 512 is then
    /// invalid. For vectors.
    Reference,
}

/// A group key prepared for signing and verifying; about 400 KB.
#[derive(Debug)]
pub struct Group {
    pub(super) key: GroupKey,
    pub(super) prepared: PreparedKey,
    pub(super) rounding: HRounding,
    /// `A` times 2^116, so that a product with plain slots is in NM form.
    nonce_matrix: NttMatrix,
}

impl Group {
    /// Prepares `key` for `suite`.
    #[must_use]
    pub fn new(key: GroupKey, suite: Suite) -> Self {
        let mut a = key.a_scaled(modulus::R52).into_iter();
        let nonce_matrix = NttMatrix::from_fn(ROWS, COLS, |_, _| a.next().unwrap_or_default());
        let prepared = PreparedKey::new(&key, suite);
        Self {
            key,
            prepared,
            rounding: HRounding::default(),
            nonce_matrix,
        }
    }

    /// Replaces the rounding of `h`.
    #[must_use]
    pub const fn with_rounding(mut self, rounding: HRounding) -> Self {
        self.rounding = rounding;
        self
    }

    /// The group key.
    #[must_use]
    pub const fn key(&self) -> &GroupKey {
        &self.key
    }

    /// The group key prepared for verification.
    #[must_use]
    pub const fn prepared(&self) -> &PreparedKey {
        &self.prepared
    }

    /// `SER(D)` for `D = A R + E`, NM form.
    #[must_use]
    pub fn commit(&self, nonces: &Nonces) -> Matrix {
        let mut out = alloc::vec![0; D_LEN].into_boxed_slice();
        out[..8].copy_from_slice(&(ROWS as u64).to_le_bytes());
        for row in out[8..].chunks_exact_mut(vector_len(NONCE_COLS)) {
            row[..8].copy_from_slice(&(NONCE_COLS as u64).to_le_bytes());
        }
        let radix = NttPoly::constant(modulus::R116);
        let mut slots = NttPoly::ZERO;
        for column in 0..NONCE_COLS {
            for (row, e) in nonces.e.row(column).enumerate() {
                let mut terms = [dot::term(&radix, e); COLS + 1];
                let products = self.nonce_matrix.row(row).zip(nonces.r.row(column));
                for (term, (a, r)) in terms.iter_mut().zip(products) {
                    *term = dot::term(a, r);
                }
                dot::dot_into(&terms, &mut slots);
                let start = 16 + row * vector_len(NONCE_COLS) + column * POLY_LEN;
                write_slots(&slots, &mut out[start..start + POLY_LEN]);
            }
        }
        Matrix::from_canonical(out)
    }
}

/// The highest session number used with a share.
///
/// Nonces are a function of share and session number: a number that serves twice reveals the share.
/// Store [`last`](Self::last) durably **before** a round-one message leaves the process, and never
/// restore an older one.
#[derive(Debug, PartialEq, Eq)]
pub struct SidFence(Option<u64>);

impl SidFence {
    /// For a share that never signed.
    #[must_use]
    pub const fn fresh() -> Self {
        Self(None)
    }

    /// For a share whose last session number was `last`.
    #[must_use]
    pub const fn after(last: u64) -> Self {
        Self(Some(last))
    }

    /// The highest session number used.
    #[must_use]
    pub const fn last(&self) -> Option<u64> {
        self.0
    }

    fn pass(&mut self, sid: u64) -> Result<(), Error> {
        if self.0.is_some_and(|last| sid <= last) {
            return Err(Misuse::SessionReused.into());
        }
        self.0 = Some(sid);
        Ok(())
    }
}

/// One member's standing for one signer set: everything that does not depend on the session.
///
/// Holds `lambda s` for exactly this set, and the transcript hash after `SER(A) || SER(b)`.
pub struct Session<'a> {
    pub(super) group: &'a Group,
    pub(super) share: &'a Share,
    pub(super) signers: SignerSet,
    /// Index of the member in the set.
    pub(super) own: usize,
    /// `lambda s`, 7 polynomials, plain slots times 2^52.
    pub(super) weighted_share: Zeroizing<Vec<NttPoly>>,
    pub(super) transcript: TranscriptHasher,
}

impl<'a> Session<'a> {
    /// Prepares `share` for signing with `signers`.
    ///
    /// # Errors
    /// [`Misuse::WrongGroup`] when share, group and set do not belong together, `SelfMissing` when
    /// the share's party is not in the set.
    pub fn new(group: &'a Group, share: &'a Share, signers: SignerSet) -> Result<Self, Error> {
        let prepared = &group.prepared;
        if share.suite != prepared.suite()
            || share.group_key_hash != *prepared.group_key_hash()
            || share.quorum != signers.quorum()
        {
            return Err(Misuse::WrongGroup.into());
        }
        let own = signers.require(share.position)?;
        let lambda = shamir::lagrange_at_zero(&signers)[own];
        let factor = modulus::mul(lambda, modulus::R64_TO_R52);
        let mut weighted_share = Zeroizing::new(share.share.clone());
        weighted_share
            .iter_mut()
            .for_each(|poly| poly.scale(factor));
        let count = signers.len();
        let len = group.key.as_bytes().len() + 12 + 4 * count + D_LEN * count;
        let mut transcript = TranscriptHasher::new(prepared.suite(), len as u64);
        transcript.update(group.key.as_bytes());
        Ok(Self {
            group,
            share,
            signers,
            own,
            weighted_share,
            transcript,
        })
    }

    /// The signer set.
    #[must_use]
    pub const fn signers(&self) -> &SignerSet {
        &self.signers
    }

    /// Round one with the reference's nonces, a function of share and `sid`. Independent of the
    /// message.
    ///
    /// # Errors
    /// [`Misuse::SessionReused`] unless `sid` is above every number used with this share.
    pub fn round1(
        &self,
        fence: &mut SidFence,
        sid: u64,
    ) -> Result<(Nonce<'_>, Round1Message), Error> {
        fence.pass(sid)?;
        let key = Zeroizing::new(hashes::round_key(self.suite(), &self.share.share, sid));
        Ok(self.start(sid, expand_nonces(&key)))
    }

    /// Round one with nonces that also depend on fresh randomness and come from constant-time
    /// samplers without the reference's cut at two deviations. Other parties cannot tell the
    /// difference.
    ///
    /// # Errors
    /// [`Misuse::SessionReused`] unless `sid` is above every number used with this share.
    pub fn round1_hedged(
        &self,
        fence: &mut SidFence,
        sid: u64,
        fresh: &[u8; 32],
    ) -> Result<(Nonce<'_>, Round1Message), Error> {
        fence.pass(sid)?;
        let prefix = hashes::round_prefix(self.suite());
        let parts: [&[u8]; 3] = [prefix, &sid.to_be_bytes(), fresh];
        let key = Zeroizing::new(hashes::keyed_by_share(
            self.suite(),
            &self.share.share,
            &parts,
        ));
        Ok(self.start(sid, super::nonce::expand_nonces_hardened(&key)))
    }

    pub(super) const fn suite(&self) -> Suite {
        self.group.prepared.suite()
    }

    /// Positions as the 32-bit numbers that are hashed.
    pub(super) fn ids(&self) -> Vec<u32> {
        self.signers
            .positions()
            .iter()
            .map(|&position| u32::from(position))
            .collect()
    }

    /// The signers other than this member.
    pub(super) fn peers(&self) -> impl Iterator<Item = u16> {
        let own = self.share.position;
        self.signers
            .positions()
            .iter()
            .copied()
            .filter(move |&position| position != own)
    }

    fn start(&self, sid: u64, nonces: Nonces) -> (Nonce<'_>, Round1Message) {
        let matrix = self.group.commit(&nonces);
        let sender = self.share.position;
        let head = u64::from(sender).to_be_bytes();
        let tail = hashes::session_tail(sid, &self.ids());
        let parts: [&[u8]; 3] = [&head, matrix.as_ser(), &tail];
        let jobs: Vec<KmacJob<'_>> = self
            .peers()
            .map(|peer| KmacJob {
                key: &self.share.mac_keys[usize::from(peer)],
                parts: &parts,
            })
            .collect();
        let macs = self.suite().mac_batch(&jobs);
        let signers: Box<[u16]> = self.signers.positions().into();
        let message = Round1Message {
            sender,
            sid,
            signers,
            matrix: matrix.clone(),
            macs,
        };
        (
            Nonce {
                session: self,
                sid,
                r: nonces,
                matrix,
            },
            message,
        )
    }
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("position", &self.share.position)
            .field("signers", &self.signers)
            .finish_non_exhaustive()
    }
}

/// The secret state between round one and round two. Consumed by
/// [`Preprocess::new`](super::Preprocess::new); there is no way to use it twice. This compiles
/// without its last line:
///
/// ```
/// use horizon_pulsar::hazmat::interop::{Nonce, Preprocess};
/// fn once(nonce: Nonce<'_>) {
///     let _first = Preprocess::new(nonce);
/// }
/// ```
///
/// ```compile_fail,E0382
/// use horizon_pulsar::hazmat::interop::{Nonce, Preprocess};
/// fn twice(nonce: Nonce<'_>) {
///     let _first = Preprocess::new(nonce);
///     let _second = Preprocess::new(nonce);
/// }
/// ```
pub struct Nonce<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) sid: u64,
    pub(super) r: Nonces,
    pub(super) matrix: Matrix,
}

impl fmt::Debug for Nonce<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nonce")
            .field("sid", &self.sid)
            .finish_non_exhaustive()
    }
}

impl ZeroizeOnDrop for Nonce<'_> {}

/// One encoded polynomial into its place.
fn write_slots(slots: &NttPoly, out: &mut [u8]) {
    let (words, _) = out.as_chunks_mut::<8>();
    let values = [1, crate::params::DEGREE as u64]
        .into_iter()
        .chain(slots.as_array().iter().copied());
    words
        .iter_mut()
        .zip(values)
        .for_each(|(word, value)| *word = value.to_le_bytes());
}
