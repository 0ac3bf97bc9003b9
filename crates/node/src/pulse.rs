//! The signing committee: keeps batches of nonces ready, answers what final blocks assign, and makes Pulses.
//!
//! ```text
//! Opened -> reserve, BatchCommit -> Committed -> matrices to the set -> all held: BatchHave -> Ready
//! Assigned -> answer (durable), Partial to all -> all partials: combine, verify -> Pulse to all, PulseCert
//! Posting -> PartialPost;  Void, Failed, Closed -> forget
//! ```
//!
//! Everything is driven by final blocks; peers only bring matrices, partials and Pulses, each of which is checked
//! against what is final. A node without a share, or outside a signing set, checks and keeps the finished Pulses.
//!
//! # Source
//! Committee-mode specification, section 1, states of 1.6 and ledger rules of 1.7.
//! # Security
//! Nonces live in memory only: a restart voids them on purpose (BatchVoid). Answers are on disk before they leave.
//! The member stops for ever when it sees a second copy of itself, and so does the process (exit code 7).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use horizon_hash::tuplehash::tuple_hash256;
use horizon_ledger::{Effects, Outgoing};
use horizon_pulsar::committee::ledger::{Event, Ledger, LedgerTx};
use horizon_pulsar::committee::message::{Header, NonceMatrix, Partial, Signed, Unverified};
use horizon_pulsar::committee::{
    Committee, CommitteeKey, Error, LedgerView, Member, Plan, SessionRecords, SignerShare,
};
use horizon_sig::mldsa;
use rand_core::CryptoRng;

use crate::gossip::{FinishedPulse, Gossip, MatrixRequest, PartialRequest};
use crate::service::{Action, Backoff, Fault, Job, JobResult, Outcome, PeerFault, Stream, Unsafe};
use crate::signer::Guard;

mod attempt;
mod early;
mod events;
mod keys;
mod lane;
mod status;
mod work;

use attempt::{Attempt, Combining, Slot};
use early::{Early, Place};
use keys::MemberKey;
pub use keys::MemberKeys;
use lane::{AnswerOp, Bench, Op, Out, Queue, Stop};
pub use status::{PulseCounts, PulseStatus};
pub(crate) use work::Done;
use work::{Key, ToSign, UncheckedPartial};

/// Numbers of the service.
#[derive(Clone, Copy, Debug)]
pub struct PulseConfig {
    /// Time after which missing matrices and partials are asked for, milliseconds; doubles with every try.
    pub request_after_ms: u64,
    /// Longest time between two requests, milliseconds.
    pub request_cap_ms: u64,
    /// Time between one member's turn to submit a finished Pulse and the next one's, milliseconds.
    pub submit_step_ms: u64,
    /// Time after which a transaction that is not final is handed out again, milliseconds; doubles.
    pub resubmit_ms: u64,
    /// Most bytes of matrices that wait for their block or their turn.
    pub matrix_bytes_max: usize,
    /// **For demonstrations and tests**: sends wrong partials under a valid signature, as a faulty
    /// member would.
    pub garbage_partials: bool,
}

/// Everything the service starts from.
pub struct PulseStart<'l> {
    /// The committee of this generation.
    pub committee: Committee,
    /// Its group key.
    pub key: Arc<CommitteeKey>,
    /// Registry keys of all members.
    pub keys: MemberKeys,
    /// The member itself; `None` for a node without a share.
    pub member: Option<PulseMember>,
    /// The signing ledger at the node's tip.
    pub ledger: &'l Ledger,
    /// The messages of the ledger's open subjects.
    pub open: Vec<Outgoing>,
    /// Randomness of the operating system.
    pub rng: Box<dyn CryptoRng + Send>,
}

/// A member's secrets and records.
pub struct PulseMember {
    /// Its share.
    pub share: SignerShare,
    /// Its ML-DSA-65 registry key.
    pub signing_key: Arc<mldsa::SigningKey>,
    /// Its guard, which holds the session records too.
    pub guard: Guard,
    /// The operator's word that the session record may be older than the ledger: after a restore, and only when
    /// no other copy runs. Every older batch is void then.
    pub accepts_older_records: bool,
}

/// The service.
pub struct PulseService {
    config: PulseConfig,
    committee: Arc<Committee>,
    key: Arc<CommitteeKey>,
    keys: MemberKeys,
    own: Option<Own>,
    rng: Box<dyn CryptoRng + Send>,
    now_ms: u64,
    height: u64,
    queue: Queue,
    batches: BTreeMap<u64, BatchView>,
    subjects: BTreeMap<[u8; 32], Arc<Outgoing>>,
    attempts: BTreeMap<(u64, u16), Attempt>,
    early: Early,
    unchecked: Vec<UncheckedPartial>,
    is_checking: bool,
    /// Finished Pulses, with the order in which they came.
    pulses: BTreeMap<[u8; 32], FinishedPulse>,
    pulse_order: VecDeque<[u8; 32]>,
    /// When to submit a finished Pulse, milliseconds.
    turns: BTreeMap<[u8; 32], u64>,
    pending: BTreeMap<Key, Pending>,
    budgets: BTreeMap<u16, Budget>,
    counts: PulseCounts,
    states: [u64; lane::STATES],
    is_halted: bool,
}

/// This member.
struct Own {
    position: u16,
    boot: u32,
    /// Whether the BatchVoid of this boot is final.
    is_current: bool,
    /// `None` while a job has it.
    bench: Option<Box<Bench>>,
    signing_key: Arc<mldsa::SigningKey>,
}

/// A batch that is not used up.
struct BatchView {
    plan: Plan,
    assigned: u16,
    /// Whether this member takes part.
    is_planned: bool,
    is_committed: bool,
    is_ready: bool,
    /// Which indices of which member were taken, at a member of the set.
    taken: BTreeMap<u16, u64>,
    next_ms: u64,
    tries: u32,
}

/// A transaction that is not final yet.
struct Pending {
    bytes: Bytes,
    next_ms: u64,
    tries: u32,
}

/// How much a peer may still ask for, in bytes.
struct Budget {
    bytes: u64,
    at_ms: u64,
}

impl PulseConfig {
    /// For blocks of about half a second.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            request_after_ms: 400,
            request_cap_ms: 5_000,
            submit_step_ms: 1_000,
            resubmit_ms: 2_000,
            matrix_bytes_max: 128 << 20,
            garbage_partials: false,
        }
    }
}

impl Default for PulseConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl PulseService {
    /// Starts the service. A member takes a new boot counter, writes it down, and announces it: what it may have
    /// promised before is void.
    ///
    /// # Errors
    /// [`Unsafe::OlderRecords`] when the session record was restored from a copy, [`Unsafe::Records`], and
    /// [`Unsafe::Start`] when committee, key and share do not belong together.
    pub fn start(
        config: PulseConfig,
        start: PulseStart<'_>,
        now_ms: u64,
    ) -> Result<(Self, Vec<Action>), Unsafe> {
        let PulseStart {
            committee,
            key,
            keys,
            member,
            ledger,
            open,
            mut rng,
        } = start;
        let committee = Arc::new(committee);
        let mut actions = Vec::new();
        let mut pending = BTreeMap::new();
        let own = match member {
            None => None,
            Some(member) => {
                let (own, void) = Own::start(&committee, &key, &keys, member, ledger, &mut *rng)?;
                actions.push(Action::Submit(void.clone()));
                pending.insert(Key::Void, Pending::new(void, now_ms, config.resubmit_ms));
                Some(own)
            }
        };
        let mut service = Self {
            config,
            committee,
            key,
            keys,
            own,
            rng,
            now_ms,
            height: ledger.height(),
            queue: Queue::default(),
            batches: BTreeMap::new(),
            subjects: BTreeMap::new(),
            attempts: BTreeMap::new(),
            early: Early::new(config.matrix_bytes_max),
            unchecked: Vec::new(),
            is_checking: false,
            pulses: BTreeMap::new(),
            pulse_order: VecDeque::new(),
            turns: BTreeMap::new(),
            pending,
            budgets: BTreeMap::new(),
            counts: PulseCounts::default(),
            states: [0; lane::STATES],
            is_halted: false,
        };
        service.resume(ledger, open);
        service.kick(&mut actions);
        Ok((service, actions))
    }

    /// Takes a final block's effects, in order of heights. Repeats are free of effect.
    pub fn on_final(&mut self, effects: &Effects, now_ms: u64) -> Vec<Action> {
        self.now_ms = self.now_ms.max(now_ms);
        let mut actions = Vec::new();
        if self.is_halted || effects.height <= self.height {
            return actions;
        }
        self.height = effects.height;
        self.apply(effects, &mut actions);
        self.kick(&mut actions);
        actions
    }

    /// Takes a message of another validator.
    ///
    /// # Errors
    /// [`PeerFault`] when the message is at fault; faults found later come as [`Action::Blame`].
    pub fn on_gossip(
        &mut self,
        from: u16,
        message: Gossip,
        now_ms: u64,
    ) -> Result<Vec<Action>, PeerFault> {
        self.now_ms = self.now_ms.max(now_ms);
        let mut actions = Vec::new();
        if self.is_halted {
            return Ok(actions);
        }
        match message {
            Gossip::NonceMatrix(bytes) => self.take_matrix(from, bytes)?,
            Gossip::Partial(bytes) => self.take_partial(from, &bytes)?,
            Gossip::Pulse(pulse) => self.take_pulse(from, pulse, &mut actions),
            Gossip::MatrixRequest(request) => self.serve_matrices(from, request)?,
            Gossip::PartialRequest(request) => {
                self.serve_partials(from, &request, &mut actions)?;
            }
            Gossip::PulseRequest(subjects) => self.serve_pulses(from, &subjects, &mut actions)?,
            _ => return Err(PeerFault::new(from, Fault::WrongChannel)),
        }
        self.kick(&mut actions);
        Ok(actions)
    }

    /// Takes the result of a job.
    pub fn on_job(&mut self, result: JobResult, now_ms: u64) -> Vec<Action> {
        self.now_ms = self.now_ms.max(now_ms);
        let mut actions = Vec::new();
        let Outcome::Pulse(done) = result.into_outcome() else {
            return actions;
        };
        if self.is_halted {
            return actions;
        }
        match done {
            Done::Lane(done) => self.lane_done(done, &mut actions),
            Done::Partials(items) => {
                self.is_checking = false;
                for item in items {
                    self.partial_checked(item, &mut actions);
                }
            }
            Done::Combined {
                batch,
                index,
                result,
            } => self.combined((batch, index), result, &mut actions),
            Done::Finished {
                from,
                pulse,
                is_good,
            } => self.finished(from, pulse, is_good, &mut actions),
            Done::Signed(items) => {
                for (key, bytes) in items {
                    self.submit(key, bytes, &mut actions);
                }
            }
        }
        self.kick(&mut actions);
        actions
    }

    /// Lets time pass: asks for what is missing, hands out again what is not final. Call it every 50 to 200 ms.
    pub fn on_tick(&mut self, now_ms: u64) -> Vec<Action> {
        self.now_ms = self.now_ms.max(now_ms);
        let mut actions = Vec::new();
        if self.is_halted {
            return actions;
        }
        self.request_matrices(&mut actions);
        self.request_partials(&mut actions);
        self.take_turns(&mut actions);
        self.post(&mut actions);
        self.resubmit(&mut actions);
        self.kick(&mut actions);
        actions
    }

    /// The finished Pulse of a subject, verified: recent ones only, older ones are in the ledger's store.
    #[must_use]
    pub fn pulse(&self, subject: &[u8; 32]) -> Option<&FinishedPulse> {
        self.pulses.get(subject)
    }

    /// The attempt under way at a subject: its number, its set, and whose partials are missing here.
    #[must_use]
    pub fn attempt(&self, subject: &[u8; 32]) -> Option<(u32, Vec<u16>, Vec<u16>)> {
        let mut attempts = self.attempts.values();
        let found = attempts.find(|attempt| attempt.message.subject == *subject)?;
        let set = found.set.ids().to_vec();
        Some((found.number, set, found.missing()))
    }

    /// Figures.
    #[must_use]
    pub fn status(&self) -> PulseStatus {
        PulseStatus {
            boot: self.own.as_ref().map_or(0, |own| own.boot),
            is_current: self.own.as_ref().is_some_and(|own| own.is_current),
            height: self.height,
            states: status::STATES.into_iter().zip(self.states).collect(),
            open_subjects: self.subjects.len() as u64,
            attempts: self.attempts.len() as u64,
            queue: self.queue.len() as u64,
            matrix_bytes: self.matrix_bytes() as u64,
            counts: self.counts,
        }
    }

    /// The guard of the member, while no job has it.
    #[cfg(test)]
    fn bench_guard(&self) -> Option<Guard> {
        let bench = self.own.as_ref()?.bench.as_ref()?;
        Some(bench.guard.clone())
    }

    fn position(&self) -> Option<u16> {
        self.own.as_ref().map(|own| own.position)
    }

    /// Whether this member is in a set.
    fn is_in(&self, plan: &Plan) -> bool {
        self.position()
            .is_some_and(|own| plan.set.slot(own).is_some())
    }

    fn matrix_bytes(&self) -> usize {
        let waiting = self.queue.matrices().saturating_mul(MATRIX_LEN);
        waiting.saturating_add(self.early.matrix_bytes())
    }

    /// Picks up the ledger where it stands.
    fn resume(&mut self, ledger: &Ledger, open: Vec<Outgoing>) {
        for message in open {
            self.subjects.insert(message.subject, Arc::new(message));
        }
        for plan in ledger.plans() {
            self.batches
                .insert(plan.batch, BatchView::new(plan.clone()));
        }
        let next_ms = self.now_ms.saturating_add(self.config.request_after_ms);
        for under in ledger.attempts_under_way() {
            let Some(message) = self.subjects.get(&under.subject.id).cloned() else {
                continue;
            };
            let set = under.set.clone();
            let mine = self.position().is_some_and(|own| set.slot(own).is_some());
            let mut attempt = Attempt::new(message, under.attempt, set, next_ms);
            attempt.is_posting = under.is_posting;
            attempt.posting_since = self.height;
            let (batch, index) = (under.batch, under.index);
            self.attempts.insert((batch, index), attempt);
            if mine {
                // An earlier process may have answered.
                self.queue.push(Op::Recall { batch, index });
            }
        }
    }

    /// Starts whatever can start: one job of the member, one check of partials.
    fn kick(&mut self, actions: &mut Vec<Action>) {
        if self.is_halted {
            return;
        }
        if let Some(own) = &mut self.own
            && self.queue.len() > 0
            && let Some(bench) = own.bench.take()
        {
            let ops = self.queue.next();
            actions.push(Action::Run(Job::pulse(move || Done::Lane(bench.run(ops)))));
        }
        if !self.is_checking && !self.unchecked.is_empty() {
            self.is_checking = true;
            let count = self.unchecked.len().min(CHECK_CHUNK);
            let items: Vec<UncheckedPartial> = self.unchecked.drain(..count).collect();
            let keys = self.keys.clone();
            actions.push(Action::Run(Job::pulse(move || {
                work::check_partials(items, &keys)
            })));
        }
    }

    fn lane_done(&mut self, done: lane::LaneDone, actions: &mut Vec<Action>) {
        self.states = done.states;
        if let Some(stop) = done.stop {
            let why = match stop {
                Stop::Unsafe(state) => Unsafe::Committee(state),
                Stop::Guard(error) => Unsafe::Guard(error),
                Stop::Records => Unsafe::Records,
            };
            self.halt(why, actions);
            return;
        }
        if let Some(own) = &mut self.own {
            own.bench = Some(done.bench);
        }
        for op in done.again {
            self.queue.push(op);
        }
        for out in done.outs {
            self.lane_out(out, actions);
        }
    }

    /// The partial, or what a faulty member would send in its place.
    fn maybe_spoilt(&mut self, partial: Arc<Signed<Partial>>) -> Arc<Signed<Partial>> {
        let Some(own) = self.own.as_ref().filter(|_| self.config.garbage_partials) else {
            return partial;
        };
        let mut key = MemberKey {
            key: Arc::clone(&own.signing_key),
            rng: Stream::new(&mut *self.rng),
        };
        work::spoil(&partial, &mut key).map_or(partial, Arc::new)
    }

    fn lane_out(&mut self, out: Out, actions: &mut Vec<Action>) {
        match out {
            Out::Commit { batch, bytes } => self.submit(Key::Commit(batch), bytes, actions),
            Out::Have { batch, bytes } => self.submit(Key::Have(batch), bytes, actions),
            Out::Matrices { batch, messages } => self.send_matrices(batch, &messages, actions),
            Out::Served { to, messages } => {
                let sent = messages.len() as u64;
                self.counts.matrices_sent = self.counts.matrices_sent.saturating_add(sent);
                let sends = messages.into_iter();
                actions.extend(sends.map(|bytes| Action::Send { to, bytes }));
            }
            Out::Taken {
                batch,
                sender,
                index,
            } => {
                count(&mut self.counts.matrices_taken);
                self.taken(batch, sender, index);
            }
            Out::Answered {
                batch,
                index,
                partial,
                session,
            } => {
                count(&mut self.counts.answered);
                let partial = self.maybe_spoilt(partial);
                actions.push(Action::Broadcast(
                    Gossip::Partial(Bytes::copy_from_slice(partial.bytes())).encode(),
                ));
                if let Some(attempt) = self.attempts.get_mut(&(batch, index)) {
                    attempt.session = Some(session);
                    let sender = partial.header().sender;
                    attempt.partials.entry(sender).or_default().sent = Some(partial);
                }
                self.try_combine((batch, index), actions);
            }
            Out::Recalled {
                batch,
                index,
                partial,
            } => {
                let partial = self.maybe_spoilt(partial);
                // Others may have lost it.
                let framed = Gossip::Partial(Bytes::copy_from_slice(partial.bytes())).encode();
                actions.push(Action::Broadcast(framed));
                if let Some(attempt) = self.attempts.get_mut(&(batch, index)) {
                    let sender = partial.header().sender;
                    attempt.partials.entry(sender).or_default().sent = Some(partial);
                }
            }
            Out::RankDeficient => count(&mut self.counts.rank_deficient),
            Out::Refused { from, error } => {
                count(&mut self.counts.late);
                // Repeats and latecomers are nobody's fault.
                let fault = Fault::Committee(error);
                if fault.is_grave() {
                    actions.push(Action::Blame(PeerFault::new(from, fault)));
                }
            }
            Out::Late => count(&mut self.counts.late),
        }
    }

    fn taken(&mut self, batch: u64, sender: u16, index: u16) {
        let Some(view) = self.batches.get_mut(&batch) else {
            return;
        };
        *view.taken.entry(sender).or_default() |= 1 << index;
    }

    /// Sends the own matrices to the other members of the set.
    fn send_matrices(&mut self, batch: u64, messages: &[Bytes], actions: &mut Vec<Action>) {
        let own = self.position();
        let Some(view) = self.batches.get(&batch) else {
            return;
        };
        let mut sent = 0_u64;
        for &to in view.plan.set.ids().iter().filter(|to| Some(**to) != own) {
            for bytes in messages {
                let bytes = bytes.clone();
                actions.push(Action::Send { to, bytes });
                sent = sent.saturating_add(1);
            }
        }
        self.counts.matrices_sent = self.counts.matrices_sent.saturating_add(sent);
    }

    fn take_matrix(&mut self, from: u16, bytes: Bytes) -> Result<(), PeerFault> {
        let decoded = NonceMatrix::decode(&bytes, &self.committee);
        let (header, index) = match decoded {
            Ok(matrix) => (matrix.header, matrix.index),
            Err(error) => return Err(PeerFault::new(from, Fault::Committee(error))),
        };
        let room = self.matrix_bytes().saturating_add(bytes.len()) <= self.config.matrix_bytes_max;
        let Some(view) = self.batches.get(&header.seq) else {
            return Ok(());
        };
        let wanted = view.is_planned
            && Some(header.sender) != self.position()
            && view.plan.set.slot(header.sender).is_some()
            && index < view.plan.count
            && !view.is_ready
            && !view.has(header.sender, index);
        if !wanted {
            return Ok(());
        }
        let count_max = view.plan.count;
        let kept = if view.is_committed {
            if room {
                self.queue.push(Op::Matrix { from, bytes });
            }
            room
        } else {
            // Its sender has seen the last commitment before us.
            room && self.early.add_matrix(header.seq, from, bytes, count_max)
        };
        if !kept {
            count(&mut self.counts.matrices_dropped);
        }
        Ok(())
    }

    fn take_partial(&mut self, from: u16, bytes: &Bytes) -> Result<(), PeerFault> {
        let decoded = Unverified::<Partial>::decode(bytes, &self.committee);
        let partial = decoded.map_err(|error| PeerFault::new(from, Fault::Committee(error)))?;
        let place = (partial.header().seq, partial.body().index);
        let sender = partial.header().sender;
        match self.attempts.get(&place) {
            Some(attempt) => {
                if attempt.number == partial.body().attempt && attempt.wants(sender, false) {
                    self.check_later(UncheckedPartial {
                        from,
                        partial,
                        is_posted: false,
                    });
                }
            }
            None => {
                let place = Place::Index(place.0, place.1);
                self.early.add_small(from, place, bytes.clone());
            }
        }
        Ok(())
    }

    fn check_later(&mut self, item: UncheckedPartial) {
        if self.unchecked.len() < UNCHECKED_MAX {
            self.unchecked.push(item);
        }
    }

    fn partial_checked(&mut self, item: work::CheckedPartial, actions: &mut Vec<Action>) {
        let partial = match item.result {
            Ok(partial) => partial,
            Err(error) => {
                let fault = PeerFault::new(item.from, Fault::Committee(error));
                actions.push(Action::Blame(fault));
                return;
            }
        };
        let place = (partial.header().seq, partial.body().index);
        let sender = partial.header().sender;
        let Some(attempt) = self.attempts.get_mut(&place) else {
            return;
        };
        if attempt.number != partial.body().attempt || !attempt.wants(sender, item.is_posted) {
            return;
        }
        count(&mut self.counts.partials_taken);
        let slot: &mut Slot = attempt.partials.entry(sender).or_default();
        if item.is_posted {
            slot.posted = Some(partial);
        } else {
            slot.sent = Some(partial);
        }
        self.try_combine(place, actions);
    }

    /// Combines as soon as everything is there.
    fn try_combine(&mut self, place: (u64, u16), actions: &mut Vec<Action>) {
        let Some(attempt) = self.attempts.get_mut(&place) else {
            return;
        };
        if self.pulses.contains_key(&attempt.message.subject) {
            attempt.combining = Combining::Done;
        }
        let (Some(session), Some(partials)) = (attempt.session.clone(), attempt.combination())
        else {
            return;
        };
        attempt.combining = match attempt.combining {
            // A second failure is final.
            Combining::Failed => Combining::FailedTwice,
            _ => Combining::Running,
        };
        let (committee, key) = (Arc::clone(&self.committee), Arc::clone(&self.key));
        let message = Arc::clone(&attempt.message);
        actions.push(Action::Run(Job::pulse(move || {
            work::combine(&committee, &key, &session, &partials, &message.transcript)
        })));
    }

    fn combined(
        &mut self,
        place: (u64, u16),
        result: Result<Bytes, Error>,
        actions: &mut Vec<Action>,
    ) {
        let Some(attempt) = self.attempts.get_mut(&place) else {
            return;
        };
        match result {
            Ok(pulse) => {
                attempt.combining = Combining::Done;
                count(&mut self.counts.combined);
                let finished = FinishedPulse {
                    subject: attempt.message.subject,
                    attempt: attempt.number,
                    batch: place.0,
                    pulse,
                };
                self.keep(finished);
                self.take_turns(actions);
            }
            Err(error) => {
                count(&mut self.counts.combinations_failed);
                if attempt.combining == Combining::Running {
                    attempt.combining = Combining::Failed;
                }
                if let Some(peer) = work::names_one(&error) {
                    let fault = PeerFault::new(peer, Fault::Committee(error));
                    actions.push(Action::Blame(fault));
                }
                self.try_combine(place, actions);
            }
        }
    }

    fn take_pulse(&mut self, from: u16, pulse: FinishedPulse, actions: &mut Vec<Action>) {
        if self.pulses.contains_key(&pulse.subject) {
            return;
        }
        let Some(message) = self.subjects.get(&pulse.subject).cloned() else {
            let place = Place::Subject(pulse.subject);
            let bytes = Gossip::Pulse(pulse).encode();
            self.early.add_small(from, place, bytes);
            return;
        };
        let key = Arc::clone(&self.key);
        actions.push(Action::Run(Job::pulse(move || {
            work::check_finished(&key, from, pulse, &message.transcript)
        })));
    }

    fn finished(
        &mut self,
        from: u16,
        pulse: FinishedPulse,
        is_good: bool,
        actions: &mut Vec<Action>,
    ) {
        if !is_good {
            actions.push(Action::Blame(PeerFault::new(from, Fault::Pulse)));
        } else if !self.pulses.contains_key(&pulse.subject) {
            count(&mut self.counts.pulses_taken);
            self.keep(pulse);
        }
    }

    /// Keeps a verified Pulse, and notes when it is this member's turn to submit it.
    fn keep(&mut self, pulse: FinishedPulse) {
        let subject = pulse.subject;
        if self.pulses.contains_key(&subject) {
            return;
        }
        if self.subjects.contains_key(&subject) && self.own.is_some() {
            let turn = self.turn(&pulse);
            let step = self.config.submit_step_ms.saturating_mul(turn);
            self.turns.insert(subject, self.now_ms.saturating_add(step));
        }
        for attempt in self.attempts.values_mut() {
            if attempt.message.subject == subject {
                attempt.combining = Combining::Done;
            }
        }
        self.pulse_order.push_back(subject);
        self.pulses.insert(subject, pulse);
        while self.pulses.len() > PULSES_MAX
            && let Some(oldest) = self.pulse_order.pop_front()
        {
            self.pulses.remove(&oldest);
        }
    }

    /// Whose turn it is: members of the signing set first, in an order that the subject decides.
    fn turn(&self, pulse: &FinishedPulse) -> u64 {
        let own = self.position();
        let attempt = self
            .attempts
            .values()
            .find(|attempt| attempt.message.subject == pulse.subject);
        let rank = |member: u16| {
            let outside = attempt.is_some_and(|attempt| attempt.set.slot(member).is_none());
            let mut hash = [0; 32];
            tuple_hash256(
                horizon_hash::domain::services::SUBMITTER,
                &[
                    self.committee.era_ctx(),
                    &pulse.subject,
                    &pulse.attempt.to_be_bytes(),
                    &member.to_be_bytes(),
                ],
                &mut hash,
            );
            (outside, hash)
        };
        let Some(own) = own else {
            return 0;
        };
        let mine = rank(own);
        let before = (0..self.committee.n()).filter(|member| rank(*member) < mine);
        before.count() as u64
    }

    /// Submits and gossips the Pulses whose turn has come.
    fn take_turns(&mut self, actions: &mut Vec<Action>) {
        let now_ms = self.now_ms;
        let due: Vec<[u8; 32]> = self
            .turns
            .iter()
            .filter(|(_, at)| **at <= now_ms)
            .map(|(subject, _)| *subject)
            .collect();
        let mut items = Vec::new();
        for subject in due {
            self.turns.remove(&subject);
            if let Some(pulse) = self.pulses.get(&subject) {
                actions.push(Action::Broadcast(Gossip::Pulse(pulse.clone()).encode()));
                items.push(ToSign::Cert {
                    batch: pulse.batch,
                    subject,
                    attempt: pulse.attempt,
                    pulse: pulse.pulse.clone(),
                });
            }
        }
        self.sign(items, actions);
    }

    /// Signs transactions in a job.
    fn sign(&mut self, items: Vec<ToSign>, actions: &mut Vec<Action>) {
        let Some(own) = self.own.as_ref().filter(|own| own.is_current) else {
            return;
        };
        if items.is_empty() {
            return;
        }
        let header = Header {
            ctx: *self.committee.era_ctx(),
            sender: own.position,
            boot: own.boot,
            seq: 0,
        };
        let mut key = MemberKey {
            key: Arc::clone(&own.signing_key),
            rng: Stream::new(&mut *self.rng),
        };
        actions.push(Action::Run(Job::pulse(move || {
            work::sign(&header, items, &mut key)
        })));
    }

    /// Posts partials of attempts that were not closed in time: the own one at once, others' two blocks later in
    /// case their makers cannot.
    fn post(&mut self, actions: &mut Vec<Action>) {
        let own = self.position();
        let mut items = Vec::new();
        for attempt in self.attempts.values_mut() {
            if !attempt.is_posting || attempt.combining == Combining::Done {
                continue;
            }
            let is_late =
                self.height >= attempt.posting_since.saturating_add(POST_FOR_OTHERS_BLOCKS);
            for &member in attempt.set.ids() {
                let due = Some(member) == own || is_late;
                if !due || attempt.posted.contains(&member) || attempt.submitted.contains(&member) {
                    continue;
                }
                if let Some(partial) = attempt.partial(member).cloned() {
                    attempt.submitted.insert(member);
                    items.push(ToSign::Post(partial));
                }
            }
        }
        self.sign(items, actions);
    }

    /// Hands a transaction out, and remembers it until it is final.
    fn submit(&mut self, key: Key, bytes: Bytes, actions: &mut Vec<Action>) {
        if !self.is_open(key) {
            return;
        }
        count(&mut self.counts.submitted);
        let pending = Pending::new(bytes.clone(), self.now_ms, self.config.resubmit_ms);
        self.pending.insert(key, pending);
        actions.push(Action::Submit(bytes));
    }

    /// Whether a transaction still serves.
    fn is_open(&self, key: Key) -> bool {
        match key {
            Key::Void => self.own.as_ref().is_some_and(|own| !own.is_current),
            Key::Commit(batch) => self.batches.get(&batch).is_some_and(|b| !b.is_committed),
            Key::Have(batch) => self.batches.get(&batch).is_some_and(|b| !b.is_ready),
            Key::Post(batch, index, member) => self
                .attempts
                .get(&(batch, index))
                .is_some_and(|attempt| !attempt.posted.contains(&member)),
            Key::Cert(subject) => self.subjects.contains_key(&subject),
        }
    }

    fn resubmit(&mut self, actions: &mut Vec<Action>) {
        let stale: Vec<Key> = self.pending.keys().copied().collect();
        for key in stale {
            if !self.is_open(key) {
                self.pending.remove(&key);
            }
        }
        let backoff = Backoff {
            first_ms: self.config.resubmit_ms,
            cap_ms: self.config.resubmit_ms.saturating_mul(8),
        };
        for pending in self.pending.values_mut() {
            if pending.next_ms <= self.now_ms {
                pending.tries = pending.tries.saturating_add(1);
                let delay = backoff.delay_ms(pending.tries, &mut *self.rng);
                pending.next_ms = self.now_ms.saturating_add(delay);
                count(&mut self.counts.submitted);
                actions.push(Action::Submit(pending.bytes.clone()));
            }
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff {
            first_ms: self.config.request_after_ms,
            cap_ms: self.config.request_cap_ms,
        }
    }

    fn request_matrices(&mut self, actions: &mut Vec<Action>) {
        let Some(own) = self.position() else {
            return;
        };
        let backoff = self.backoff();
        for (&batch, view) in &mut self.batches {
            if !view.is_planned || !view.is_committed || view.is_ready || view.next_ms > self.now_ms
            {
                continue;
            }
            view.tries = view.tries.saturating_add(1);
            let delay = backoff.delay_ms(view.tries, &mut *self.rng);
            view.next_ms = self.now_ms.saturating_add(delay);
            let mut is_complete = true;
            for &member in view.plan.set.ids().iter().filter(|id| **id != own) {
                let indices = view.missing(member);
                if indices == 0 {
                    continue;
                }
                is_complete = false;
                let asked = u64::from(indices.count_ones());
                self.counts.matrices_requested =
                    self.counts.matrices_requested.saturating_add(asked);
                let request = MatrixRequest {
                    batch,
                    member,
                    indices,
                };
                let bytes = Gossip::MatrixRequest(request).encode();
                actions.push(Action::Send { to: member, bytes });
            }
            if is_complete && !self.pending.contains_key(&Key::Have(batch)) {
                self.queue.push(Op::Announce(batch));
            }
        }
    }

    fn request_partials(&mut self, actions: &mut Vec<Action>) {
        let own = self.position();
        let backoff = self.backoff();
        for (&(batch, index), attempt) in &mut self.attempts {
            if attempt.next_ms > self.now_ms || attempt.combining == Combining::Done {
                continue;
            }
            let tries = attempt.tries;
            attempt.tries = tries.saturating_add(1);
            let delay = backoff.delay_ms(attempt.tries, &mut *self.rng);
            attempt.next_ms = self.now_ms.saturating_add(delay);
            let members: Vec<u16> = attempt.missing();
            let peers: Vec<u16> = attempt
                .set
                .ids()
                .iter()
                .copied()
                .filter(|id| Some(*id) != own)
                .collect();
            if tries > 0
                && let Some(&to) = peers.get(tries as usize % peers.len().max(1))
            {
                // Somebody may have finished long ago.
                let subjects = vec![attempt.message.subject];
                let bytes = Gossip::PulseRequest(subjects).encode();
                actions.push(Action::Send { to, bytes });
            }
            for to in peers {
                // Its own, and every other time also what others may have sent it.
                let mut members = members.clone();
                if tries.is_multiple_of(2) {
                    members.retain(|member| *member == to);
                }
                if members.is_empty() {
                    continue;
                }
                let asked = members.len() as u64;
                self.counts.partials_requested =
                    self.counts.partials_requested.saturating_add(asked);
                let request = PartialRequest {
                    batch,
                    index,
                    attempt: attempt.number,
                    members,
                };
                let bytes = Gossip::PartialRequest(request).encode();
                actions.push(Action::Send { to, bytes });
            }
        }
    }

    fn serve_matrices(&mut self, from: u16, request: MatrixRequest) -> Result<(), PeerFault> {
        let MatrixRequest {
            batch,
            member,
            indices,
        } = request;
        let Some(view) = self.batches.get(&batch) else {
            return Ok(());
        };
        let is_mine = Some(member) == self.position();
        let is_served = view.plan.set.slot(from).is_some();
        if !is_mine || !is_served || view.is_ready {
            return Ok(());
        }
        let bytes = u64::from(indices.count_ones()).saturating_mul(MATRIX_LEN as u64);
        self.charge(from, bytes)?;
        self.queue.push(Op::Serve {
            to: from,
            batch,
            indices,
        });
        Ok(())
    }

    fn serve_partials(
        &mut self,
        from: u16,
        request: &PartialRequest,
        actions: &mut Vec<Action>,
    ) -> Result<(), PeerFault> {
        self.charge(from, request.members.len() as u64 * SMALL_LEN)?;
        let place = (request.batch, request.index);
        let Some(attempt) = self.attempts.get(&place) else {
            return Ok(());
        };
        if attempt.number != request.attempt {
            return Ok(());
        }
        let held = request.members.iter().filter_map(|m| attempt.partial(*m));
        actions.extend(held.map(|partial| Action::Send {
            to: from,
            bytes: Gossip::Partial(Bytes::copy_from_slice(partial.bytes())).encode(),
        }));
        Ok(())
    }

    fn serve_pulses(
        &mut self,
        from: u16,
        subjects: &[[u8; 32]],
        actions: &mut Vec<Action>,
    ) -> Result<(), PeerFault> {
        self.charge(from, subjects.len() as u64 * SMALL_LEN)?;
        let held = subjects.iter().filter_map(|s| self.pulses.get(s));
        actions.extend(held.map(|pulse| Action::Send {
            to: from,
            bytes: Gossip::Pulse(pulse.clone()).encode(),
        }));
        Ok(())
    }

    fn charge(&mut self, from: u16, bytes: u64) -> Result<(), PeerFault> {
        let now_ms = self.now_ms;
        let budget = self.budgets.entry(from).or_insert(Budget {
            bytes: BUDGET_BYTES,
            at_ms: now_ms,
        });
        if budget.take(bytes, now_ms) {
            Ok(())
        } else {
            Err(PeerFault::new(from, Fault::Flood))
        }
    }

    fn halt(&mut self, why: Unsafe, actions: &mut Vec<Action>) {
        self.is_halted = true;
        self.own = None;
        actions.push(Action::Halt(why));
    }
}

impl Own {
    /// Starts the member and signs its BatchVoid.
    fn start(
        committee: &Arc<Committee>,
        key: &Arc<CommitteeKey>,
        keys: &MemberKeys,
        member: PulseMember,
        ledger: &Ledger,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Self, Bytes), Unsafe> {
        let PulseMember {
            share,
            signing_key,
            guard,
            accepts_older_records,
        } = member;
        let position = share.member();
        let records = guard.records();
        let stored = records.boot(committee.era_ctx());
        let stored = stored.map_err(|_| Unsafe::Records)?.unwrap_or(0);
        let boots = ledger.boots().to_vec();
        let on_ledger = boots.get(usize::from(position)).copied().unwrap_or(0);
        if stored < on_ledger && !accepts_older_records {
            return Err(Unsafe::OlderRecords {
                stored,
                ledger: on_ledger,
            });
        }
        let view = LedgerView {
            boots,
            first_batch: ledger.next_batch(),
        };
        let member = Member::start(
            Committee::clone(committee),
            Arc::clone(key),
            share,
            records.clone().deferred(),
            view,
        )
        .map_err(Unsafe::Start)?;
        let boot = member.boot();
        // Before the first word of this boot leaves: the record is never behind the ledger.
        records
            .reserve_boot(committee.era_ctx(), boot)
            .map_err(|_| Unsafe::Records)?;
        let mut own_key = MemberKey {
            key: Arc::clone(&signing_key),
            rng: Stream::new(rng),
        };
        let void = member.void(&mut own_key).map_err(Unsafe::Start)?;
        let bench = Bench {
            member,
            records,
            guard,
            key: own_key,
            keys: keys.clone(),
        };
        let own = Self {
            position,
            boot,
            is_current: false,
            bench: Some(Box::new(bench)),
            signing_key,
        };
        Ok((own, Bytes::copy_from_slice(void.bytes())))
    }
}

impl BatchView {
    const fn new(plan: Plan) -> Self {
        Self {
            plan,
            assigned: 0,
            is_planned: false,
            is_committed: false,
            is_ready: false,
            taken: BTreeMap::new(),
            next_ms: 0,
            tries: 0,
        }
    }

    fn has(&self, member: u16, index: u16) -> bool {
        let taken = self.taken.get(&member).copied().unwrap_or(0);
        taken >> index & 1 == 1
    }

    /// Bits of all indices.
    const fn all(&self) -> u64 {
        let spare = 64_u16.saturating_sub(self.plan.count);
        if spare > 63 { 0 } else { u64::MAX >> spare }
    }

    /// Bits of the indices whose matrix of `member` was not taken.
    fn missing(&self, member: u16) -> u64 {
        self.all() & !self.taken.get(&member).copied().unwrap_or(0)
    }
}

impl Pending {
    const fn new(bytes: Bytes, now_ms: u64, after_ms: u64) -> Self {
        Self {
            bytes,
            next_ms: now_ms.saturating_add(after_ms),
            tries: 0,
        }
    }
}

impl Budget {
    fn take(&mut self, bytes: u64, now_ms: u64) -> bool {
        let passed = now_ms.saturating_sub(self.at_ms);
        let gained = passed.saturating_mul(BUDGET_BYTES_PER_SECOND / 1_000);
        self.bytes = self.bytes.saturating_add(gained).min(BUDGET_BYTES);
        self.at_ms = self.at_ms.max(now_ms);
        match self.bytes.checked_sub(bytes) {
            Some(rest) => {
                self.bytes = rest;
                true
            }
            None => false,
        }
    }
}

impl core::fmt::Debug for PulseService {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PulseService")
            .field("height", &self.height)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl core::fmt::Debug for PulseMember {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PulseMember")
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}

impl core::fmt::Debug for PulseStart<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PulseStart")
            .field("member", &self.member)
            .finish_non_exhaustive()
    }
}

const fn count(counter: &mut u64) {
    *counter = counter.saturating_add(1);
}

const MATRIX_LEN: usize = horizon_pulsar::committee::message::NONCE_MATRIX_LEN;
/// More than a partial or a Pulse.
const SMALL_LEN: u64 = 34_000;
/// Most partials that wait to be checked: about 30 MB.
const UNCHECKED_MAX: usize = 1_024;
/// Most partials checked by one job.
const CHECK_CHUNK: usize = 32;
/// Most finished Pulses kept in memory: about 17 MB.
const PULSES_MAX: usize = 512;
/// Blocks after which partials of others are posted too.
const POST_FOR_OTHERS_BLOCKS: u64 = 2;
/// Bytes that a peer may ask for at once: all matrices of two batches of 64.
const BUDGET_BYTES: u64 = 80 << 20;
/// Bytes that a peer may ask for per second.
const BUDGET_BYTES_PER_SECOND: u64 = 8 << 20;

#[cfg(test)]
mod tests;
