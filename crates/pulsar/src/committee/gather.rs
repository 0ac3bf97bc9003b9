//! One batch as it fills: commitments, then matrices in any order, then the announcements of everybody.
//!
//! A member of the set uses it, and so can any other node that wants the nonce sums to combine. A matrix is
//! hashed and added while it is in cache, and never kept.
//!
//! # Source
//! Committee-mode specification sections 1.3, 1.4 step 3, and ledger rule L2.

use alloc::vec::Vec;

use horizon_ring::matrix::MatrixSum;
use horizon_ring::rank::full_rank;

use super::context::{Committee, Digest, Plan, have_root, matrix_digest, set_digest};
use super::error::{Error, Malformed, Misuse, PeerFault, Rejected};
use super::message::{BatchCommit, BatchHave, MATRIX_LEN, NonceMatrix, Reader, Signed};
use super::session::NonceSum;
use crate::params::{NONCE_COLS, ROWS};

/// The public state of one batch.
#[derive(Clone, Debug)]
pub struct Gather {
    plan: Plan,
    set_digest: [u8; 32],
    /// Final digests per member of the set, in set order.
    digests: Vec<Option<Vec<Digest>>>,
    /// Announcements per member of the set.
    haves: Vec<bool>,
    sums: Vec<IndexSum>,
}

/// A sum in progress or done.
#[derive(Clone, Debug)]
struct IndexSum {
    received: Vec<bool>,
    state: SumState,
}

#[derive(Clone, Debug)]
enum SumState {
    /// Still adding; the sum is allocated with the first matrix.
    Open(Option<MatrixSum>),
    Done(NonceSum),
    Deficient,
    Forgotten,
}

impl Gather {
    /// An empty batch.
    #[must_use]
    pub fn new(committee: &Committee, plan: Plan) -> Self {
        let members = plan.set.len();
        let open = || IndexSum {
            received: alloc::vec![false; members],
            state: SumState::Open(None),
        };
        Self {
            set_digest: set_digest(committee.era_ctx(), plan.batch, &plan.set),
            digests: alloc::vec![None; members],
            haves: alloc::vec![false; members],
            sums: (0..plan.count).map(|_| open()).collect(),
            plan,
        }
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Digest of the signing set.
    #[must_use]
    pub fn set_digest(&self) -> &[u8; 32] {
        &self.set_digest
    }

    /// Takes a final BatchCommit. `boot` is the sender's current boot counter on the ledger.
    ///
    /// # Errors
    /// [`Misuse::UnknownBatch`] for another batch; a [`PeerFault`] naming the sender: `NotInSet`,
    /// `WrongBoot`, `WrongSetDigest`, `WrongCount`, `RepeatedDigest` (also against other members), `Twice`.
    pub fn commit(&mut self, tx: &Signed<BatchCommit>, boot: u32) -> Result<(), Error> {
        let slot = self.sender_slot(tx.header().seq, tx.header().sender)?;
        let fault = |fault| Err(Error::peer(tx.header().sender, fault));
        let body = tx.body();
        if tx.header().boot != boot {
            return fault(PeerFault::WrongBoot);
        }
        if body.set_digest != self.set_digest {
            return fault(PeerFault::WrongSetDigest);
        }
        if body.digests.len() != usize::from(self.plan.count) {
            return fault(PeerFault::WrongCount);
        }
        if self.digests[slot].is_some() {
            return fault(PeerFault::Twice);
        }
        let mut all: Vec<&Digest> = self
            .digests
            .iter()
            .flatten()
            .flatten()
            .chain(&body.digests)
            .collect();
        all.sort_unstable();
        if all.windows(2).any(|pair| pair[0] == pair[1]) {
            return fault(PeerFault::RepeatedDigest);
        }
        self.digests[slot] = Some(body.digests.clone());
        Ok(())
    }

    /// Whether the commitments of all members are final: the moment from which matrices may be sent.
    #[must_use]
    pub fn all_committed(&self) -> bool {
        self.digests.iter().all(Option::is_some)
    }

    /// Whether the commitment of `member` is final.
    #[must_use]
    pub fn has_committed(&self, member: u16) -> bool {
        self.plan
            .set
            .slot(member)
            .is_some_and(|slot| self.digests[slot].is_some())
    }

    /// Takes one matrix: digest as committed, values canonical, then added to the sum of its index.
    /// Returns how many matrices the batch still misses.
    ///
    /// # Errors
    /// [`Misuse::UnknownBatch`], [`Misuse::Index`], [`Misuse::NotCommitted`] (hold it back until the
    /// commitment is final); a [`PeerFault`] naming the sender: `NotInSet`, `MatrixTwice`, `MatrixDigest`
    /// (the forwarder may be the culprit), `MatrixNotCanonical`. The sums are unchanged after an error.
    pub fn matrix(&mut self, matrix: &NonceMatrix<'_>) -> Result<usize, Error> {
        let sender = matrix.header.sender;
        let slot = self.sender_slot(matrix.header.seq, sender)?;
        let index = usize::from(matrix.index);
        let sum = self
            .sums
            .get_mut(index)
            .ok_or(Error::Misuse(Misuse::Index))?;
        let Some(digests) = &self.digests[slot] else {
            return Err(Error::Misuse(Misuse::NotCommitted));
        };
        if sum.received[slot] {
            return Err(Error::peer(sender, PeerFault::MatrixTwice));
        }
        if digests.get(index) != Some(&matrix_digest(&[matrix.bytes()])) {
            return Err(Error::peer(sender, PeerFault::MatrixDigest));
        }
        sum.add(slot, matrix.packed())
            .map_err(|()| Error::peer(sender, PeerFault::MatrixNotCanonical))?;
        Ok(self.missing())
    }

    /// Matrices of the whole batch that are not held yet.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.sums
            .iter()
            .flat_map(|sum| &sum.received)
            .filter(|received| !**received)
            .count()
    }

    /// Reduces all sums, checks their rank, and returns the root to announce. Repeating it is free.
    ///
    /// # Errors
    /// [`Misuse::Incomplete`] while matrices are missing; [`Rejected::RankDeficient`]: void the batch.
    pub fn finish(&mut self) -> Result<[u8; 32], Error> {
        match self.missing() {
            0 => {}
            missing => return Err(Error::Misuse(Misuse::Incomplete { missing })),
        }
        for (index, sum) in (0..).zip(&mut self.sums) {
            sum.finish(index)?;
        }
        Ok(self.root())
    }

    /// Takes a final BatchHave.
    ///
    /// # Errors
    /// [`Misuse::UnknownBatch`], [`Misuse::NotCommitted`] while commitments are missing; a [`PeerFault`]
    /// naming the sender: `NotInSet`, `WrongBoot`, `WrongHaveRoot`, `Twice`.
    pub fn have(&mut self, tx: &Signed<BatchHave>, boot: u32) -> Result<(), Error> {
        let slot = self.sender_slot(tx.header().seq, tx.header().sender)?;
        let fault = |fault| Err(Error::peer(tx.header().sender, fault));
        if !self.all_committed() {
            return Err(Error::Misuse(Misuse::NotCommitted));
        }
        if tx.header().boot != boot {
            return fault(PeerFault::WrongBoot);
        }
        if self.haves[slot] {
            return fault(PeerFault::Twice);
        }
        if tx.body().root != self.root() {
            return fault(PeerFault::WrongHaveRoot);
        }
        self.haves[slot] = true;
        Ok(())
    }

    /// Whether every member announced that it holds all matrices.
    #[must_use]
    pub fn all_have(&self) -> bool {
        self.haves.iter().all(|have| *have)
    }

    /// Members that did not do what is due: commit, or once everybody committed, announce.
    #[must_use]
    pub fn behind(&self) -> Vec<u16> {
        let done = |slot: usize| {
            if self.all_committed() {
                self.haves[slot]
            } else {
                self.digests[slot].is_some()
            }
        };
        let ids = self.plan.set.ids().iter().enumerate();
        ids.filter(|(slot, _)| !done(*slot))
            .map(|(_, id)| *id)
            .collect()
    }

    /// The nonce sum of an index, once [`finish`](Self::finish) succeeded for it.
    #[must_use]
    pub fn sum(&self, index: u16) -> Option<&NonceSum> {
        match &self.sums.get(usize::from(index))?.state {
            SumState::Done(sum) => Some(sum),
            SumState::Open(_) | SumState::Deficient | SumState::Forgotten => None,
        }
    }

    /// The final digests of one index in set order; `None` while a commitment is missing.
    #[must_use]
    pub fn digests(&self, index: u16) -> Option<Vec<&Digest>> {
        self.digests
            .iter()
            .map(|digests| {
                digests
                    .as_ref()
                    .and_then(|digests| digests.get(usize::from(index)))
            })
            .collect()
    }

    /// Adds this member's own matrices, whose digests it computed itself and found final.
    pub(super) fn add_own(&mut self, member: u16, messages: &[Vec<u8>]) -> Result<(), Error> {
        let slot = self.sender_slot(self.plan.batch, member)?;
        for (sum, message) in self.sums.iter_mut().zip(messages) {
            let packed = message
                .len()
                .checked_sub(MATRIX_LEN)
                .and_then(|at| message.get(at..));
            sum.add(slot, packed.unwrap_or(&[]))
                .map_err(|()| Error::Internal)?;
        }
        Ok(())
    }

    /// Forgets everything about an index but that its matrices were received.
    pub(super) fn forget(&mut self, index: u16) {
        if let Some(sum) = self.sums.get_mut(usize::from(index)) {
            sum.state = SumState::Forgotten;
        }
    }

    /// Appends commitments and announcements: per member of the set a flag and its digests, then per
    /// member a flag. Matrices and sums are not part of it.
    pub(super) fn put_final(&self, out: &mut Vec<u8>) {
        for digests in &self.digests {
            out.push(u8::from(digests.is_some()));
            digests
                .iter()
                .flatten()
                .for_each(|digest| out.extend_from_slice(digest));
        }
        out.extend(self.haves.iter().map(|have| u8::from(*have)));
    }

    /// Reads what [`put_final`](Self::put_final) wrote into an empty batch.
    pub(super) fn read_final(&mut self, input: &mut Reader<'_>) -> Result<(), Error> {
        let len = 64 * usize::from(self.plan.count);
        for digests in &mut self.digests {
            *digests = match read_flag(input, "digests")? {
                true => Some(input.bytes("digests", len)?.as_chunks::<64>().0.to_vec()),
                false => None,
            };
        }
        for have in &mut self.haves {
            *have = read_flag(input, "haves")?;
        }
        if self.haves.contains(&true) && !self.all_committed() {
            return Err(Error::Malformed(Malformed::OutOfRange { field: "haves" }));
        }
        Ok(())
    }

    fn root(&self) -> [u8; 32] {
        have_root(self.digests.iter().flatten().flatten())
    }

    fn sender_slot(&self, batch: u64, sender: u16) -> Result<usize, Error> {
        if batch != self.plan.batch {
            return Err(Error::Misuse(Misuse::UnknownBatch));
        }
        self.plan
            .set
            .slot(sender)
            .ok_or(Error::peer(sender, PeerFault::NotInSet))
    }
}

impl IndexSum {
    fn add(&mut self, slot: usize, packed: &[u8]) -> Result<(), ()> {
        let SumState::Open(sum) = &mut self.state else {
            return Err(());
        };
        sum.get_or_insert_with(|| MatrixSum::new(ROWS, NONCE_COLS))
            .add_packed(packed, "D")
            .map_err(|_| ())?;
        self.received[slot] = true;
        Ok(())
    }

    fn finish(&mut self, index: u16) -> Result<(), Error> {
        if let SumState::Open(sum) = &mut self.state {
            let sum = sum.take().ok_or(Error::Internal)?.finish();
            // The rank is that of columns 1 to 48 in every slot.
            self.state = if full_rank(&sum) {
                SumState::Done(NonceSum(sum))
            } else {
                SumState::Deficient
            };
        }
        match self.state {
            SumState::Deficient => Err(Error::Rejected(Rejected::RankDeficient { index })),
            SumState::Open(_) | SumState::Done(_) | SumState::Forgotten => Ok(()),
        }
    }
}

/// A byte that is 0 or 1.
pub(super) fn read_flag(input: &mut Reader<'_>, field: &'static str) -> Result<bool, Error> {
    match input.array::<1>(field)? {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(Error::Malformed(Malformed::OutOfRange { field })),
    }
}
