//! The signing state machine of one member: what it may do next for every batch and index.
//!
//! Pure: events and answers go through method calls, time and finality are the caller's, durable writes go
//! through [`SessionRecords`]. "Final" below always means: in a final block of the ledger.
//!
//! # Source
//! Committee-mode specification sections 1.4 and 1.6.
//! # Security
//! A nonce exists in memory from reservation to answer, and nowhere else. After an [`UnsafeState`] error
//! every nonce is erased and the member refuses for ever.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use rand_core::CryptoRng;

use super::CommitteeKey;
use super::context::{Committee, Digest, Plan, have_root, matrix_digest};
use super::error::{Error, Misuse, PeerFault, UnsafeState};
use super::gather::Gather;
use super::message::{BatchCommit, BatchHave, BatchVoid, Header, NonceMatrix, Signed};
use super::session::{Assignment, Session};
use super::share::SignerShare;
use super::traits::{Answer, MemberSigner, SessionRecords};

mod batch;

pub use batch::State;
use batch::{Batch, Phase, Pool, Slot};

/// What the ledger says when a member's process starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerView {
    /// Current boot counter of every member by position: that of its last final BatchVoid, or 0.
    pub boots: Vec<u32>,
    /// The first batch that is not opened yet.
    pub first_batch: u64,
}

/// One signing member of one generation.
pub struct Member<R> {
    committee: Committee,
    key: Arc<CommitteeKey>,
    share: SignerShare,
    records: R,
    boot: u32,
    /// Every batch before this one belongs to an earlier boot and is void.
    first_batch: u64,
    /// Current boot counter of every member, as the ledger has it.
    boots: Vec<u32>,
    batches: BTreeMap<u64, Batch>,
    /// Batches of this boot that were dropped, with the root of the digests this process made: 40 bytes each.
    /// A number serves once, and an own commitment that comes again is no second copy.
    dropped: BTreeMap<u64, [u8; 32]>,
    halted: Option<UnsafeState>,
}

impl<R: SessionRecords> Member<R> {
    /// Starts a member's process. The boot becomes one more than the larger of the durable record's and the
    /// ledger's, and every index of a batch opened before is void. Send [`void`](Self::void) next.
    ///
    /// # Errors
    /// [`Misuse::GroupKey`] or [`Misuse::Share`] when the parts do not belong together;
    /// [`Misuse::PartyCount`] unless `ledger` has one boot per member; [`Error::RecordsUnavailable`];
    /// [`Misuse::StaleBoot`] when the counter is exhausted.
    pub fn start(
        committee: Committee,
        key: Arc<CommitteeKey>,
        share: SignerShare,
        records: R,
        ledger: LedgerView,
    ) -> Result<Self, Error> {
        key.check(&committee)?;
        if share.member() >= committee.n() || !share.fits(&committee) {
            return Err(Error::Misuse(Misuse::Share));
        }
        let LedgerView { boots, first_batch } = ledger;
        let final_boot = boots.get(usize::from(share.member())).copied();
        let Some(final_boot) = final_boot.filter(|_| boots.len() == usize::from(committee.n()))
        else {
            return Err(Error::Misuse(Misuse::PartyCount));
        };
        let stored = records.boot(committee.era_ctx())?.unwrap_or(0);
        let boot = stored.max(final_boot).checked_add(1);
        let boot = boot.ok_or(Error::Misuse(Misuse::StaleBoot))?;
        let batches = BTreeMap::new();
        Ok(Self {
            committee,
            key,
            share,
            records,
            boot,
            first_batch,
            boots,
            batches,
            dropped: BTreeMap::new(),
            halted: None,
        })
    }

    /// The committee.
    #[must_use]
    pub fn committee(&self) -> &Committee {
        &self.committee
    }

    /// The prepared group key.
    #[must_use]
    pub fn key(&self) -> &Arc<CommitteeKey> {
        &self.key
    }

    /// Position of this member.
    #[must_use]
    pub fn position(&self) -> u16 {
        self.share.member()
    }

    /// Boot counter of this process.
    #[must_use]
    pub fn boot(&self) -> u32 {
        self.boot
    }

    /// Why this member refuses for ever, if it does.
    #[must_use]
    pub fn halted(&self) -> Option<UnsafeState> {
        self.halted
    }

    /// The durable record.
    #[must_use]
    pub fn records(&self) -> &R {
        &self.records
    }

    /// Ends the process's use of the share and hands the record back; all nonces are erased.
    #[must_use]
    pub fn into_records(self) -> R {
        self.records
    }

    /// Where an index stands. Batches before the first one of this boot are void; unknown ones `None`.
    #[must_use]
    pub fn state(&self, batch: u64, index: u16) -> Option<State> {
        match self.batches.get(&batch) {
            Some(known) if index < known.gather.plan().count => Some(known.state(index)),
            None if batch < self.first_batch => Some(State::Void),
            _ => None,
        }
    }

    /// Batches that are kept, with the number of their indices.
    pub fn batches(&self) -> impl Iterator<Item = (u64, u16)> {
        let kept = self.batches.iter();
        kept.map(|(batch, known)| (*batch, known.gather.plan().count))
    }

    /// The public side of a batch: commitments, digests, nonce sums.
    #[must_use]
    pub fn gather(&self, batch: u64) -> Option<&Gather> {
        self.batches.get(&batch).map(|batch| &batch.gather)
    }

    /// The session of an assigned or answered index, for combining.
    #[must_use]
    pub fn session(&self, batch: u64, index: u16) -> Option<&Session> {
        match &self.batches.get(&batch)?.phase {
            Phase::Ready { slots, .. } => match slots.get(usize::from(index))? {
                Slot::Assigned { session, .. } | Slot::Answered { session, .. } => Some(session),
                Slot::Ready(_) | Slot::Ended(_) => None,
            },
            _ => None,
        }
    }

    /// The BatchVoid that announces this boot.
    ///
    /// # Errors
    /// [`Error::UnsafeState`], [`Error::SignerUnavailable`].
    pub fn void(&self, signer: &mut impl MemberSigner) -> Result<Signed<BatchVoid>, Error> {
        self.check_running()?;
        Signed::issue(self.header(self.first_batch), BatchVoid, signer)
    }

    /// Takes a final BatchVoid of any member: its older unfinished batches are void, and its boot current.
    ///
    /// # Errors
    /// [`PeerFault::WrongBoot`] unless the boot grew. In this member's own name, with a boot that this
    /// process does not have: [`UnsafeState::SecondCopy`] when it is larger, nothing when it is older.
    pub fn void_final(&mut self, tx: &Signed<BatchVoid>) -> Result<(), Error> {
        self.check_running()?;
        let Header {
            sender, boot, seq, ..
        } = *tx.header();
        if sender == self.position() && boot > self.boot {
            return Err(self.halt(UnsafeState::SecondCopy { batch: seq }));
        }
        let current = self.boots.get_mut(usize::from(sender));
        let Some(current) = current.filter(|current| **current < boot) else {
            return Err(Error::peer(sender, PeerFault::WrongBoot));
        };
        *current = boot;
        for batch in self.batches.range_mut(..seq).map(|(_, batch)| batch) {
            if batch.gather.plan().set.slot(sender).is_some() {
                batch.void();
            }
        }
        Ok(())
    }

    /// Planned: the ledger opened a batch with this member in its set.
    ///
    /// # Errors
    /// [`Misuse::State`] for a batch before the first of this boot, [`Misuse::BatchExists`] also when it was
    /// [forgotten](Self::forget), [`Misuse::TooManyBatches`], [`Misuse::NotInSet`], and the errors of [`Committee::plan`].
    pub fn plan(&mut self, plan: Plan) -> Result<(), Error> {
        self.check_running()?;
        let plan = self.committee.plan(plan.batch, plan.set, plan.count)?;
        if plan.batch < self.first_batch {
            return Err(Error::Misuse(Misuse::State { state: State::Void }));
        }
        if self.batches.contains_key(&plan.batch) || self.dropped.contains_key(&plan.batch) {
            return Err(Error::Misuse(Misuse::BatchExists));
        }
        if plan.set.slot(self.position()).is_none() {
            return Err(Error::Misuse(Misuse::NotInSet));
        }
        if self.batches.len() >= BATCHES_MAX {
            return Err(Error::Misuse(Misuse::TooManyBatches));
        }
        let gather = Gather::new(&self.committee, plan);
        self.batches.insert(
            gather.plan().batch,
            Batch {
                gather,
                phase: Phase::Planned,
                digests: Vec::new(),
            },
        );
        Ok(())
    }

    /// Planned to Reserved: writes the durable record, then makes the nonces of all indices.
    ///
    /// # Errors
    /// [`Error::RecordsUnavailable`]: nothing was made. [`Misuse::UnknownBatch`], [`Misuse::State`].
    pub fn reserve(&mut self, batch: u64, rng: &mut impl CryptoRng) -> Result<(), Error> {
        self.check_running()?;
        let header = self.header(batch);
        let known = self.batches.get_mut(&batch).ok_or(UNKNOWN)?;
        let Phase::Planned = known.phase else {
            return Err(known.wrong_state());
        };
        self.records
            .reserve(self.committee.era_ctx(), self.boot, batch)?;
        let count = known.gather.plan().count;
        let pool = Pool::make(self.key.a(), &self.share, &header, count, rng)?;
        known.digests = pool.messages.iter().map(|m| matrix_digest(&[m])).collect();
        known.phase = Phase::Reserved(pool);
        Ok(())
    }

    /// The BatchCommit of a reserved batch.
    ///
    /// # Errors
    /// [`Misuse::UnknownBatch`], [`Misuse::State`], [`Error::SignerUnavailable`].
    pub fn commit(
        &self,
        batch: u64,
        signer: &mut impl MemberSigner,
    ) -> Result<Signed<BatchCommit>, Error> {
        self.check_running()?;
        let known = self.batches.get(&batch).ok_or(UNKNOWN)?;
        let Phase::Reserved(_) = &known.phase else {
            return Err(known.wrong_state());
        };
        let set_digest = *known.gather.set_digest();
        let body = BatchCommit {
            set_digest,
            digests: known.digests.clone(),
        };
        Signed::issue(self.header(batch), body, signer)
    }

    /// Takes a final BatchCommit of any member. The own one leads to Committed, the last one to Revealed.
    ///
    /// # Errors
    /// As [`Gather::commit`]. In this member's own name, with digests or a batch that this process did not
    /// make, or with a larger boot: [`UnsafeState::SecondCopy`]; with an older boot it is a leftover and
    /// [`PeerFault::WrongBoot`].
    pub fn commit_final(&mut self, tx: &Signed<BatchCommit>) -> Result<(), Error> {
        self.check_running()?;
        let Header {
            sender, boot, seq, ..
        } = *tx.header();
        let own = sender == self.position();
        let later = boot > self.boot;
        if own && (later || boot == self.boot && !self.made(seq, &tx.body().digests)) {
            return Err(self.halt(UnsafeState::SecondCopy { batch: seq }));
        }
        let current = self.current_boot(sender);
        let known = self.batches.get_mut(&seq).ok_or(UNKNOWN)?;
        if let Phase::Void = known.phase {
            return Err(known.wrong_state());
        }
        known.gather.commit(tx, current)?;
        if own && let Phase::Reserved(_) = known.phase {
            let Phase::Reserved(pool) = core::mem::replace(&mut known.phase, Phase::Void) else {
                return Err(Error::Internal);
            };
            known.gather.add_own(sender, &pool.messages)?;
            known.phase = Phase::Committed(pool);
        }
        Ok(())
    }

    /// The own matrix messages, one per index, for the peers of the set: only from the moment all digests
    /// of the batch are final, so that no member can choose its matrix after seeing another (finding C-14).
    ///
    /// # Errors
    /// [`Misuse::UnknownBatch`]; [`Misuse::State`] before Revealed and after Ready.
    pub fn matrices(&self, batch: u64) -> Result<&[Vec<u8>], Error> {
        self.check_running()?;
        let known = self.batches.get(&batch).ok_or(UNKNOWN)?;
        match &known.phase {
            Phase::Committed(pool) if known.gather.all_committed() => Ok(&pool.messages),
            _ => Err(known.wrong_state()),
        }
    }

    /// Takes one matrix message, in any order. Returns how many the batch still misses.
    ///
    /// # Errors
    /// [`Error::Malformed`]; those of [`Gather::matrix`]; [`Misuse::OwnMatrixAltered`] when the own matrix
    /// comes back changed (unchanged it is [`PeerFault::MatrixTwice`]); [`Misuse::State`] after Ready.
    pub fn matrix(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        self.check_running()?;
        let matrix = NonceMatrix::decode(bytes, &self.committee)?;
        let own = self.position();
        let known = self.batches.get_mut(&matrix.header.seq).ok_or(UNKNOWN)?;
        let Phase::Committed(pool) = &known.phase else {
            return Err(match known.phase {
                Phase::Planned | Phase::Reserved(_) => Error::Misuse(Misuse::NotCommitted),
                _ => known.wrong_state(),
            });
        };
        if matrix.header.sender == own {
            let stored = pool.messages.get(usize::from(matrix.index));
            let stored = stored.ok_or(Error::Misuse(Misuse::Index))?;
            return Err(if stored == bytes {
                Error::peer(own, PeerFault::MatrixTwice)
            } else {
                Error::Misuse(Misuse::OwnMatrixAltered)
            });
        }
        known.gather.matrix(&matrix)
    }

    /// The BatchHave of a revealed batch whose matrices are all held, after the rank check.
    ///
    /// # Errors
    /// [`Misuse::State`] before Revealed; those of [`Gather::finish`]: after
    /// [`RankDeficient`](super::Rejected::RankDeficient) the batch is void.
    pub fn have(
        &mut self,
        batch: u64,
        signer: &mut impl MemberSigner,
    ) -> Result<Signed<BatchHave>, Error> {
        self.check_running()?;
        let header = self.header(batch);
        let known = self.batches.get_mut(&batch).ok_or(UNKNOWN)?;
        let State::Revealed = known.state(0) else {
            return Err(known.wrong_state());
        };
        let finished = known.gather.finish();
        if let Err(Error::Rejected(_)) = finished {
            known.void();
        }
        Signed::issue(header, BatchHave { root: finished? }, signer)
    }

    /// Takes a final BatchHave of any member; the last one leads to Ready.
    ///
    /// # Errors
    /// As [`Gather::have`]; [`Misuse::State`] for a void batch.
    pub fn have_final(&mut self, tx: &Signed<BatchHave>) -> Result<(), Error> {
        self.check_running()?;
        let current = self.current_boot(tx.header().sender);
        let known = self.batches.get_mut(&tx.header().seq).ok_or(UNKNOWN)?;
        if let Phase::Void = known.phase {
            return Err(known.wrong_state());
        }
        known.gather.have(tx, current)?;
        // The own announcement proves that the sums are finished here.
        if !known.gather.all_have() || known.gather.sum(0).is_none() {
            return Ok(());
        }
        let share = self
            .share
            .for_set(&self.committee, &known.gather.plan().set)?;
        if let Phase::Committed(pool) = core::mem::replace(&mut known.phase, Phase::Void) {
            let slots = pool.nonces.into_iter().map(Slot::Ready).collect();
            known.phase = Phase::Ready { share, slots };
        }
        Ok(())
    }

    /// Assigned and Answered: a final block assigned an index. Returns the bytes of the signed Partial,
    /// which are durable by then; the same request again returns the same bytes.
    ///
    /// # Errors
    /// [`Misuse::UnknownBatch`], [`Misuse::Index`]; [`Misuse::State`] unless Ready, Assigned or Answered;
    /// [`Error::SignerUnavailable`] and [`Error::RecordsUnavailable`]: try the same request again;
    /// [`UnsafeState::SecondContext`] when this index was answered, or asked for, in another context.
    pub fn answer(
        &mut self,
        assignment: &Assignment<'_>,
        signer: &mut impl MemberSigner,
    ) -> Result<Vec<u8>, Error> {
        self.check_running()?;
        let Assignment { batch, index, .. } = *assignment;
        let session = self.derive(assignment)?;
        let era_ctx = *self.committee.era_ctx();
        let recorded = self.records.answer(&era_ctx, batch, index)?;
        let conflict = recorded
            .as_ref()
            .is_some_and(|a| a.session_ctx != *session.session_ctx());
        let held = self.session(batch, index);
        if conflict || held.is_some_and(|held| held.session_ctx() != session.session_ctx()) {
            return Err(self.halt(UnsafeState::SecondContext { batch, index }));
        }
        let header = self.header(batch);
        let known = self.batches.get_mut(&batch).ok_or(UNKNOWN)?;
        let Phase::Ready { share, slots } = &mut known.phase else {
            return Err(Error::Internal);
        };
        let slot = slots
            .get_mut(usize::from(index))
            .ok_or(Error::Misuse(Misuse::Index))?;
        if let Slot::Answered { partial, .. } = slot {
            return Ok(partial.clone());
        }
        if let Some(answer) = recorded {
            // Answered under the same context by a process that shares this record: one answer exists. When its
            // bytes were dropped since, there is nothing to send and nothing is made anew.
            if answer.partial.is_empty() {
                *slot = Slot::Ended(State::Done);
                let state = State::Answered;
                return Err(Error::Misuse(Misuse::State { state }));
            }
            let (session, partial) = (Box::new(session), answer.partial.clone());
            *slot = Slot::Answered { session, partial };
            return Ok(answer.partial);
        }
        slot.assign(session, share)?;
        let bytes = slot.sign(header, signer)?;
        let session_ctx = slot.session_ctx().ok_or(Error::Internal)?;
        let answer = Answer {
            session_ctx,
            partial: bytes,
        };
        self.records
            .record_answer(&era_ctx, batch, index, &answer)?;
        slot.answered(&answer);
        Ok(answer.partial)
    }

    /// The partial that this member answered `(batch, index)` with, from the durable record: after a restart
    /// it can be sent again as long as its subject is open. Nothing is signed or computed. `None` too when the
    /// record dropped the bytes.
    ///
    /// # Errors
    /// [`Error::RecordsUnavailable`], [`Error::UnsafeState`].
    pub fn stored_partial(&self, batch: u64, index: u16) -> Result<Option<Vec<u8>>, Error> {
        self.check_running()?;
        let answer = self
            .records
            .answer(self.committee.era_ctx(), batch, index)?;
        let partial = answer.map(|answer| answer.partial);
        Ok(partial.filter(|partial| !partial.is_empty()))
    }

    /// Ends an index: `Done` after a final PulseCert of its subject, `Failed` when the attempt failed.
    /// Session and stored partial are erased from memory; the durable context stays.
    ///
    /// # Errors
    /// [`Misuse::UnknownBatch`], [`Misuse::Index`], [`Misuse::State`] unless Assigned or Answered.
    pub fn close(&mut self, batch: u64, index: u16, done: bool) -> Result<(), Error> {
        self.check_running()?;
        let known = self.batches.get_mut(&batch).ok_or(UNKNOWN)?;
        let state = known.checked_state(index)?;
        if let Phase::Ready { slots, .. } = &mut known.phase
            && let Some(slot) = slots.get_mut(usize::from(index))
            && matches!(slot, Slot::Assigned { .. } | Slot::Answered { .. })
        {
            *slot = Slot::Ended(if done { State::Done } else { State::Failed });
            known.gather.forget(index);
            return Ok(());
        }
        Err(Error::Misuse(Misuse::State { state }))
    }

    /// Void: a deadline passed, or the generation ended. Open indices lose their nonces; answered ones
    /// stay as they are until closed.
    ///
    /// # Errors
    /// [`Misuse::UnknownBatch`].
    pub fn expire(&mut self, batch: u64) -> Result<(), Error> {
        self.check_running()?;
        self.batches.get_mut(&batch).ok_or(UNKNOWN)?.void();
        Ok(())
    }

    /// Drops a batch all of whose indices ended; its number serves no other batch.
    ///
    /// # Errors
    /// [`Misuse::UnknownBatch`], [`Misuse::State`] with the state of an index that did not end.
    pub fn forget(&mut self, batch: u64) -> Result<(), Error> {
        let known = self.batches.get(&batch).ok_or(UNKNOWN)?;
        let open = (0..known.gather.plan().count)
            .map(|index| known.state(index))
            .find(|state| !matches!(state, State::Void | State::Done | State::Failed));
        if let Some(state) = open {
            return Err(Error::Misuse(Misuse::State { state }));
        }
        let root = have_root(&known.digests);
        self.batches.remove(&batch);
        self.dropped.insert(batch, root);
        Ok(())
    }

    /// The session of a request, when the index is in a state in which it can be answered.
    fn derive(&self, assignment: &Assignment<'_>) -> Result<Session, Error> {
        let known = match self.batches.get(&assignment.batch) {
            Some(known) => known,
            None if assignment.batch < self.first_batch => {
                return Err(Error::Misuse(Misuse::State { state: State::Void }));
            }
            None => return Err(UNKNOWN),
        };
        let state = known.checked_state(assignment.index)?;
        let wrong = Error::Misuse(Misuse::State { state });
        if !matches!(state, State::Ready | State::Assigned | State::Answered) {
            return Err(wrong);
        }
        let gather = &known.gather;
        let (Some(sum), Some(digests)) = (
            gather.sum(assignment.index),
            gather.digests(assignment.index),
        ) else {
            return Err(wrong);
        };
        let key = self.key.prepared();
        Session::derive(
            &self.committee,
            key,
            gather.plan(),
            &digests,
            sum,
            assignment,
        )
    }

    fn header(&self, seq: u64) -> Header {
        let (ctx, sender) = (*self.committee.era_ctx(), self.position());
        Header {
            ctx,
            sender,
            boot: self.boot,
            seq,
        }
    }

    /// Current boot of a member; for this member the boot of this process.
    fn current_boot(&self, member: u16) -> u32 {
        if member == self.position() {
            return self.boot;
        }
        self.boots.get(usize::from(member)).copied().unwrap_or(0)
    }

    /// Whether this process made these digests for this batch.
    fn made(&self, batch: u64, digests: &[Digest]) -> bool {
        match self.batches.get(&batch) {
            Some(known) => known.digests == digests,
            None => self.dropped.get(&batch) == Some(&have_root(digests)),
        }
    }

    fn check_running(&self) -> Result<(), Error> {
        self.halted
            .map_or(Ok(()), |fault| Err(Error::UnsafeState(fault)))
    }

    /// Erases every nonce and refuses from now on.
    fn halt(&mut self, fault: UnsafeState) -> Error {
        self.batches.values_mut().for_each(Batch::void);
        self.halted = Some(fault);
        Error::UnsafeState(fault)
    }
}

impl<R> fmt::Debug for Member<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("position", &self.share.member())
            .field("boot", &self.boot)
            .field("halted", &self.halted)
            .finish_non_exhaustive()
    }
}

const UNKNOWN: Error = Error::Misuse(Misuse::UnknownBatch);
/// Most batches a member keeps at once.
pub const BATCHES_MAX: usize = 64;
