//! The deterministic rules that every validator applies to final blocks: which set signs which batch, which
//! index serves which subject, and what happens when it does not work (rules L1 to L8).
//!
//! Feed every final block to [`Ledger::apply`]; two validators with the same blocks have the same state. All in
//! integers, no clock: time is block height.
//!
//! # Source
//! Committee-mode specification section 1.7. Where that leaves room: a block's transactions come first, then
//! deadlines, then assignment, then new batches. Whether a partial carries the right session context cannot be
//! computed from the ledger alone (the matrices are not on it), so the context that more than half of the set
//! posted counts as right; and an attempt whose posted partials verify would have been closed by a PulseCert,
//! so one that was not closed did not verify. The batch of a set that failed is void: otherwise the failed sets
//! of one subject can fill all `P` places, and nothing would ever open again. For the same reason a new batch
//! avoids the sets that failed for any open subject, also after a success with another one, and a subject for
//! which all live batches have failed sets takes one of them after all. Lost messages and restarts look like a
//! spoiler, so whatever was tried in vain is tried again when the others were, too. In one place these rules are
//! others: a missing announcement (L3) counts against the set and not against the member, which may be the
//! victim. The second window of an attempt (L6) lasts until a whole window after the last partial was posted,
//! since an attempt whose sum verifies must have time to be closed.
//! # Security
//! Relies on the safety of the chain. Four or more members that sign garbage for ever can stall this lane at
//! `n = 21` (finding C-06).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::CommitteeKey;
use super::context::{Committee, Plan, SigningSet};
use super::error::{Error, Misuse, PeerFault, Rejected};
use super::gather::Gather;
use super::message::{BatchCommit, BatchHave, BatchVoid, Header, PartialPost, PulseCert, Signed};

mod snapshot;
mod standing;
mod types;

use standing::Standing;
pub use types::{Block, Event, LedgerConfig, LedgerTx, Outcome, Subject, Underway};

/// The state of the signing lane of one generation. Cloning shares everything that is large.
#[derive(Clone)]
pub struct Ledger {
    committee: Arc<Committee>,
    key: Arc<CommitteeKey>,
    config: LedgerConfig,
    height: u64,
    standing: Standing,
    boots: Vec<u32>,
    next_batch: u64,
    batches: BTreeMap<u64, Batch>,
    /// Order of arrival to subject.
    subjects: BTreeMap<u64, Open>,
    arrived: u64,
    retired: bool,
}

/// A batch that is not void and not used up.
#[derive(Clone)]
struct Batch {
    gather: Arc<Gather>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Commitments until this height.
    Commit(u64),
    /// Announcements until this height.
    Have(u64),
    /// Indices from this one on are unassigned.
    Ready(u16),
}

/// A subject that is not closed.
#[derive(Clone)]
struct Open {
    subject: Arc<Subject>,
    attempts: Vec<Attempt>,
}

/// One assignment of an index.
#[derive(Clone)]
struct Attempt {
    batch: u64,
    index: u16,
    set: SigningSet,
    stage: AttemptStage,
    /// Session contexts of valid posts, by position of the sender.
    posts: BTreeMap<u16, [u8; 32]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AttemptStage {
    /// Waits for a PulseCert until this height.
    Signing(u64),
    /// Takes posts until this height.
    Posting(u64),
    /// All partials were posted and did not verify.
    Failed,
    /// A member was silent.
    Silent,
}

impl Ledger {
    /// The lane at the activation of a generation, at block `height`.
    ///
    /// # Errors
    /// [`Misuse::GroupKey`] when the key is not the committee's, [`Misuse::BatchCount`] unless
    /// `1 <= count <= 64`.
    pub fn new(
        committee: Committee,
        key: Arc<CommitteeKey>,
        config: LedgerConfig,
        height: u64,
    ) -> Result<Self, Error> {
        key.check(&committee)?;
        if config.count == 0 || config.count > super::context::BATCH_COUNT_MAX {
            return Err(Error::Misuse(Misuse::BatchCount));
        }
        Ok(Self {
            standing: Standing::new(committee.n()),
            boots: alloc::vec![0; usize::from(committee.n())],
            committee: Arc::new(committee),
            key,
            config,
            height,
            next_batch: 0,
            batches: BTreeMap::new(),
            subjects: BTreeMap::new(),
            arrived: 0,
            retired: false,
        })
    }

    /// Height of the last block.
    #[must_use]
    pub fn height(&self) -> u64 {
        self.height
    }

    /// Current boot counter of every member.
    #[must_use]
    pub fn boots(&self) -> &[u32] {
        &self.boots
    }

    /// The first batch that is not opened yet.
    #[must_use]
    pub fn next_batch(&self) -> u64 {
        self.next_batch
    }

    /// Penalty of every member.
    #[must_use]
    pub fn penalties(&self) -> &[u32] {
        &self.standing.penalty
    }

    /// Suspicion of every member.
    #[must_use]
    pub fn suspicions(&self) -> &[u32] {
        &self.standing.suspicion
    }

    /// Plan, commitments and announcements of a batch that still has open indices.
    #[must_use]
    pub fn batch(&self, batch: u64) -> Option<&Gather> {
        self.batches.get(&batch).map(|batch| &*batch.gather)
    }

    /// Subjects that are not closed, in order.
    pub fn open_subjects(&self) -> impl Iterator<Item = &Subject> {
        self.subjects.values().map(|open| &*open.subject)
    }

    /// The open subject with this identifier.
    #[must_use]
    pub fn open_subject(&self, id: &[u8; 32]) -> Option<&Subject> {
        self.open_subjects().find(|subject| subject.id == *id)
    }

    /// Plans of the batches that still have open indices, in order.
    pub fn plans(&self) -> impl Iterator<Item = &Plan> {
        self.batches.values().map(|batch| batch.gather.plan())
    }

    /// Indices that can be assigned now, over all batches.
    #[must_use]
    pub fn ready_indices(&self) -> u64 {
        let left = |known: &Batch| match known.stage {
            Stage::Ready(next) => u64::from(known.gather.plan().count.saturating_sub(next)),
            Stage::Commit(_) | Stage::Have(_) => 0,
        };
        self.batches.values().map(left).sum()
    }

    /// The attempts under way, in the order of their subjects: what a process that starts must know.
    pub fn attempts_under_way(&self) -> impl Iterator<Item = Underway<'_>> {
        self.subjects
            .values()
            .filter(|open| open.is_attempted())
            .filter_map(|open| {
                let attempt = open.attempts.last()?;
                Some(Underway {
                    subject: &open.subject,
                    attempt: u32::try_from(open.attempts.len() - 1).unwrap_or(u32::MAX),
                    batch: attempt.batch,
                    index: attempt.index,
                    set: &attempt.set,
                    is_posting: matches!(attempt.stage, AttemptStage::Posting(_)),
                })
            })
    }

    /// Applies the next final block.
    ///
    /// # Errors
    /// [`Misuse::BlockHeight`] unless the height is the next one; nothing changes then.
    pub fn apply(&mut self, block: &Block) -> Result<Outcome, Error> {
        if self.height.checked_add(1) != Some(block.height) {
            return Err(Error::Misuse(Misuse::BlockHeight));
        }
        self.height = block.height;
        let mut outcome = Outcome::default();
        if self.config.decay_blocks != 0 && self.height.is_multiple_of(self.config.decay_blocks) {
            self.standing.decay();
        }
        for (position, tx) in block.transactions.iter().enumerate() {
            if let Err(error) = self.transaction(tx, &mut outcome.events) {
                outcome.invalid.push((position, error));
            }
        }
        for subject in &block.subjects {
            let open = Open {
                subject: Arc::new(subject.clone()),
                attempts: Vec::new(),
            };
            self.subjects.insert(self.arrived, open);
            self.arrived = self.arrived.saturating_add(1);
        }
        self.expire_batches(&mut outcome.events);
        self.expire_attempts(&mut outcome.events);
        self.assign(&mut outcome.events);
        self.open_batches(&mut outcome.events)?;
        Ok(outcome)
    }

    /// Rule L8: the next generation is active. Every open index is void and nothing opens any more.
    pub fn retire(&mut self) -> Vec<Event> {
        self.retired = true;
        let batches = core::mem::take(&mut self.batches).into_keys();
        batches
            .map(|batch| Event::Void {
                batch,
                missing: Vec::new(),
            })
            .collect()
    }

    fn transaction(&mut self, tx: &LedgerTx, events: &mut Vec<Event>) -> Result<(), Error> {
        match tx {
            LedgerTx::BatchCommit(tx) => self.commit(tx, events),
            LedgerTx::BatchHave(tx) => self.have(tx, events),
            LedgerTx::BatchVoid(tx) => self.void(tx, events),
            LedgerTx::PartialPost(tx) => self.post(tx),
            LedgerTx::PulseCert(tx) => self.cert(tx, events),
        }
    }

    /// Rule L2.
    fn commit(&mut self, tx: &Signed<BatchCommit>, events: &mut Vec<Event>) -> Result<(), Error> {
        let (boot, deadline) = (
            self.current_boot(tx.header()),
            self.height + self.config.window,
        );
        let batch = tx.header().seq;
        let known = self.batches.get_mut(&batch).ok_or(UNKNOWN)?;
        Arc::make_mut(&mut known.gather).commit(tx, boot)?;
        if known.gather.all_committed() {
            known.stage = Stage::Have(deadline);
            events.push(Event::Committed { batch });
        }
        Ok(())
    }

    fn have(&mut self, tx: &Signed<BatchHave>, events: &mut Vec<Event>) -> Result<(), Error> {
        let boot = self.current_boot(tx.header());
        let batch = tx.header().seq;
        let known = self.batches.get_mut(&batch).ok_or(UNKNOWN)?;
        Arc::make_mut(&mut known.gather).have(tx, boot)?;
        if known.gather.all_have() {
            known.stage = Stage::Ready(0);
            events.push(Event::Ready { batch });
        }
        Ok(())
    }

    /// Rule L7.
    fn void(&mut self, tx: &Signed<BatchVoid>, events: &mut Vec<Event>) -> Result<(), Error> {
        let Header {
            sender, boot, seq, ..
        } = *tx.header();
        let current = self.boots.get_mut(usize::from(sender));
        let Some(current) = current.filter(|current| **current < boot) else {
            return Err(Error::peer(sender, PeerFault::WrongBoot));
        };
        *current = boot;
        let older = self.batches.range(..seq);
        let voided: Vec<u64> = older
            .filter(|(_, known)| known.gather.plan().set.slot(sender).is_some())
            .map(|(batch, _)| *batch)
            .collect();
        for batch in voided {
            self.batches.remove(&batch);
            events.push(Event::Void {
                batch,
                missing: Vec::new(),
            });
        }
        Ok(())
    }

    /// Rule L6, posting.
    fn post(&mut self, tx: &Signed<PartialPost>) -> Result<(), Error> {
        self.check_boot(tx.header())?;
        let inner = &tx.body().partial;
        let (header, body) = (inner.header(), inner.body());
        let height = self.height;
        let attempt = self
            .subjects
            .values_mut()
            .filter_map(|open| Some(open.attempts.len()).zip(open.attempts.last_mut()))
            .find(|(number, attempt)| {
                // The number of attempts so far is one more than the number of the last one.
                (attempt.batch, attempt.index) == (header.seq, body.index)
                    && u32::try_from(*number - 1) == Ok(body.attempt)
                    && matches!(attempt.stage, AttemptStage::Posting(until) if height <= until)
            })
            .map(|(_, attempt)| attempt);
        let attempt = attempt.ok_or(Error::peer(header.sender, PeerFault::WrongSlot))?;
        if attempt.set.slot(header.sender).is_none() {
            return Err(Error::peer(header.sender, PeerFault::NotInSet));
        }
        if attempt.posts.contains_key(&header.sender) {
            return Err(Error::peer(header.sender, PeerFault::PartialTwice));
        }
        attempt.posts.insert(header.sender, body.session_ctx);
        if let AttemptStage::Posting(until) = attempt.stage
            && attempt.posts.len() == attempt.set.len()
        {
            // Whoever adds the partials up learns the last of them now, and must get its certificate in.
            let until = until.max(height.saturating_add(self.config.sign_window));
            attempt.stage = AttemptStage::Posting(until);
        }
        Ok(())
    }

    /// Whether a PulseCert would close its subject now: boot, subject, attempt, batch, and the Pulse
    /// itself. Changes nothing.
    ///
    /// # Errors
    /// [`PeerFault::WrongBoot`], [`Misuse::UnknownSubject`] (also for an attempt or batch that the
    /// subject does not have), [`Rejected::Pulse`].
    pub fn check_cert(&self, tx: &Signed<PulseCert>) -> Result<(), Error> {
        self.cert_target(tx).map(drop)
    }

    /// Rule L5.
    fn cert(&mut self, tx: &Signed<PulseCert>, events: &mut Vec<Event>) -> Result<(), Error> {
        let (order, set) = self.cert_target(tx)?;
        self.close(order, &set, tx.body().attempt, events);
        Ok(())
    }

    /// The place and the signing set of the subject that a valid certificate closes.
    fn cert_target(&self, tx: &Signed<PulseCert>) -> Result<(u64, SigningSet), Error> {
        self.check_boot(tx.header())?;
        let body = tx.body();
        let unknown = Error::Misuse(Misuse::UnknownSubject);
        let found = self
            .subjects
            .iter()
            .find(|(_, open)| open.subject.id == body.subject);
        let (order, open) = found.ok_or(unknown.clone())?;
        let attempt = usize::try_from(body.attempt)
            .ok()
            .and_then(|at| open.attempts.get(at));
        let attempt = attempt
            .filter(|attempt| attempt.batch == tx.header().seq)
            .ok_or(unknown)?;
        let _verified = self
            .key
            .prepared()
            .verify(&open.subject.mu, &body.pulse)
            .map_err(|_| Error::Rejected(Rejected::Pulse))?;
        Ok((*order, attempt.set.clone()))
    }

    fn close(&mut self, order: u64, set: &SigningSet, attempt: u32, events: &mut Vec<Event>) {
        if let Some(open) = self.subjects.remove(&order) {
            self.standing.success(set);
            events.push(Event::Closed {
                subject: open.subject.id,
                attempt,
            });
        }
    }

    /// Rule L3. A commitment that is missing is its member's fault. An announcement is not: whoever does
    /// not have all matrices may be the victim of a member that keeps its own back, and that one would be the
    /// only member without a penalty, and so in every set. As with a sum that does not verify, nobody is
    /// blamed and the set is left aside.
    fn expire_batches(&mut self, events: &mut Vec<Event>) {
        let height = self.height;
        let late = |known: &Batch| match known.stage {
            Stage::Commit(until) | Stage::Have(until) => height >= until,
            Stage::Ready(_) => false,
        };
        let expired: Vec<u64> = self
            .batches
            .iter()
            .filter(|(_, known)| late(known))
            .map(|(batch, _)| *batch)
            .collect();
        for batch in expired {
            let Some(known) = self.batches.remove(&batch) else {
                continue;
            };
            let missing = known.gather.behind();
            let set = &known.gather.plan().set;
            if matches!(known.stage, Stage::Commit(_)) {
                missing
                    .iter()
                    .for_each(|member| self.standing.punish(*member));
                self.standing.in_vain(set);
            } else {
                self.standing.failure(set);
            }
            events.push(Event::Void { batch, missing });
        }
    }

    /// Rule L6, the two windows of an attempt.
    fn expire_attempts(&mut self, events: &mut Vec<Event>) {
        let mut failed = Vec::new();
        let mut mute = BTreeSet::new();
        for open in self.subjects.values_mut() {
            let number = open.attempts.len();
            let Some(attempt) = open.attempts.last_mut() else {
                continue;
            };
            let subject = open.subject.id;
            let number = u32::try_from(number - 1).unwrap_or(u32::MAX);
            match attempt.stage {
                AttemptStage::Signing(until) if self.height >= until => {
                    attempt.stage = AttemptStage::Posting(self.height + self.config.sign_window);
                    events.push(Event::Posting {
                        subject,
                        attempt: number,
                    });
                }
                AttemptStage::Posting(until) if self.height >= until => {
                    let silent = attempt.silent();
                    silent
                        .iter()
                        .for_each(|member| self.standing.punish(*member));
                    if silent.is_empty() {
                        attempt.stage = AttemptStage::Failed;
                        self.standing.failure(&attempt.set);
                        failed.push(attempt.set.clone());
                    } else {
                        attempt.stage = AttemptStage::Silent;
                        mute.extend(silent.iter().copied());
                    }
                    events.push(Event::Failed {
                        subject,
                        attempt: number,
                        silent,
                    });
                }
                _ => {}
            }
        }
        let unusable = |known: &Batch| {
            let set = &known.gather.plan().set;
            failed.contains(set) || set.ids().iter().any(|member| mute.contains(member))
        };
        let batches = self.batches.iter().filter(|(_, known)| unusable(known));
        for batch in batches.map(|(batch, _)| *batch).collect::<Vec<u64>>() {
            self.batches.remove(&batch);
            events.push(Event::Void {
                batch,
                missing: Vec::new(),
            });
        }
    }

    /// Rule L4. Among the batches that can serve, those whose members answer come first: the lowest
    /// of those whose worst member has the least penalty.
    fn assign(&mut self, events: &mut Vec<Event>) {
        let standing = &self.standing;
        for open in self
            .subjects
            .values_mut()
            .filter(|open| !open.is_attempted())
        {
            let serves = |known: &Batch| !open.has_failed_with(&known.gather.plan().set);
            // A set that was tried in vain is none to wait for.
            let hopeful =
                |known: &Batch| serves(known) && standing.has_hope(&known.gather.plan().set);
            let is_stuck = !self.batches.values().any(hopeful);
            let ready = self.batches.iter_mut().filter_map(|(batch, known)| {
                let Stage::Ready(index) = known.stage else {
                    return None;
                };
                (is_stuck || serves(known)).then_some((*batch, index, known))
            });
            let free = ready.min_by_key(|(batch, _, known)| {
                (standing.worst_penalty(&known.gather.plan().set), *batch)
            });
            let Some((batch, index, known)) = free else {
                continue;
            };
            let stage = AttemptStage::Signing(self.height + self.config.sign_window);
            let set = known.gather.plan().set.clone();
            let attempt = u32::try_from(open.attempts.len()).unwrap_or(u32::MAX);
            open.attempts.push(Attempt {
                batch,
                index,
                set,
                stage,
                posts: BTreeMap::new(),
            });
            let subject = open.subject.id;
            events.push(Event::Assigned {
                subject,
                attempt,
                batch,
                index,
            });
            known.stage = Stage::Ready(index + 1);
            if index + 1 == known.gather.plan().count {
                self.batches.remove(&batch);
            }
        }
    }

    /// Rule L1.
    fn open_batches(&mut self, events: &mut Vec<Event>) -> Result<(), Error> {
        while !self.retired && self.batches.len() < usize::from(self.config.live_batches) {
            let batch = self.next_batch;
            let live = self.batches.values().map(|known| &known.gather.plan().set);
            let live: Vec<&SigningSet> = live.collect();
            let failed = self.subjects.values().flat_map(Open::failed_sets);
            let failed: Vec<&SigningSet> = failed.collect();
            let set = self
                .standing
                .choose(&self.committee, batch, &live, &failed)?;
            let plan = self.committee.plan(batch, set, self.config.count)?;
            let gather = Arc::new(Gather::new(&self.committee, plan.clone()));
            let stage = Stage::Commit(self.height + self.config.window);
            self.batches.insert(batch, Batch { gather, stage });
            self.next_batch = batch + 1;
            events.push(Event::Opened(plan));
        }
        Ok(())
    }

    fn current_boot(&self, header: &Header) -> u32 {
        self.boots
            .get(usize::from(header.sender))
            .copied()
            .unwrap_or(0)
    }

    fn check_boot(&self, header: &Header) -> Result<(), Error> {
        if header.boot == self.current_boot(header) {
            return Ok(());
        }
        Err(Error::peer(header.sender, PeerFault::WrongBoot))
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("height", &self.height)
            .field("next_batch", &self.next_batch)
            .field("subjects", &self.subjects.len())
            .finish_non_exhaustive()
    }
}

impl Open {
    /// Sets whose partials were complete and did not verify.
    fn failed_sets(&self) -> impl Iterator<Item = &SigningSet> {
        let failed = |attempt: &&Attempt| attempt.stage == AttemptStage::Failed;
        self.attempts
            .iter()
            .filter(failed)
            .map(|attempt| &attempt.set)
    }

    fn has_failed_with(&self, set: &SigningSet) -> bool {
        self.failed_sets().any(|failed| failed == set)
    }

    /// Whether an attempt is under way.
    fn is_attempted(&self) -> bool {
        self.attempts.last().is_some_and(|attempt| {
            matches!(
                attempt.stage,
                AttemptStage::Signing(_) | AttemptStage::Posting(_)
            )
        })
    }
}

impl Attempt {
    /// Members that posted nothing, or another session context than more than half of the set did.
    fn silent(&self) -> Vec<u16> {
        let share = |ctx| self.posts.values().filter(|other| **other == ctx).count();
        let right = self
            .posts
            .values()
            .copied()
            .find(|ctx| 2 * share(*ctx) > self.set.len());
        let valid = |member: &&u16| match (self.posts.get(*member), right) {
            (Some(posted), Some(right)) => *posted == right,
            // No context has a majority: nothing tells which one is right, so posting at all counts.
            (Some(_), None) => true,
            (None, _) => false,
        };
        self.set
            .ids()
            .iter()
            .filter(|member| !valid(member))
            .copied()
            .collect()
    }
}

const UNKNOWN: Error = Error::Misuse(Misuse::UnknownBatch);
