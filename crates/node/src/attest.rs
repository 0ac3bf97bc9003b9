//! Signatures of this validator over its final outgoing messages, and those of all others.
//!
//! On every final block the service signs its outgoing messages (Beam: BLS over the unsigned message; certificate:
//! ML-DSA-65 over the transcript), gossips the signatures, checks and stores what others send, asks for what is
//! missing as long as a quorum is, and gives out everything it holds about a message.
//!
//! # Source
//! Wire specification, sections "Local signer rule", "Raw cert-set encoding", "Signature request protocol" and
//! "Aggregation". Requests here are batches over the validators' own links; the rules are the same.
//! # Security
//! A validator signs only messages of its own final blocks, and only after its [`Guard`] permitted it. A valid
//! signature in its own name that the guard does not know stops the process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use horizon_ledger::{Effects, Outgoing};
use horizon_sig::{bls, mldsa};
use horizon_warp::{Quorum, ValidatorSet};
use rand_core::CryptoRng;

use crate::gossip::{Attestation, Gossip, Lanes, Refusal, Refused, WANTED_MAX, WantedAttestation};
use crate::service::{Action, Backoff, Fault, Job, JobResult, Outcome, PeerFault, Stream, Unsafe};
use crate::signer::Guard;

mod early;
mod evidence;
mod roster;
mod store;
mod work;

use early::Early;
pub use evidence::{AggregateError, Evidence, LaneEvidence, Missing, MissingReason};
use roster::Roster;
pub use store::AttestStore;
pub(crate) use work::Done;
use work::{SignJob, VerifyItem, VerifyJob};

/// Numbers of the service.
#[derive(Clone, Copy, Debug)]
pub struct AttestConfig {
    /// Quorum of the Beam.
    pub beam_quorum: Quorum,
    /// Quorum of the certificates.
    pub certset_quorum: Quorum,
    /// Time after which missing signatures are asked for, milliseconds; doubles with every try.
    pub request_after_ms: u64,
    /// Longest time between two requests, milliseconds.
    pub request_cap_ms: u64,
}

/// The keys of the validator itself. Not `Clone`; the keys erase themselves.
pub struct AttestKeys {
    /// Canonical position.
    pub position: u16,
    /// Key of the Beam.
    pub bls: bls::SigningKey,
    /// Key of the certificates, if the validator has one.
    pub mldsa: Option<Arc<mldsa::SigningKey>>,
}

/// The service. A node without keys collects and serves, and never signs.
pub struct Attester {
    config: AttestConfig,
    roster: Arc<Roster>,
    signer: Option<Arc<OwnSigner>>,
    store: AttestStore,
    rng: Box<dyn CryptoRng + Send>,
    tracked: BTreeMap<[u8; 32], Tracked>,
    early: Early,
    queue: VecDeque<VerifyItem>,
    is_verifying: bool,
    budgets: BTreeMap<u16, Budget>,
    counts: AttestCounts,
    is_halted: bool,
}

/// Counters since the start, and gauges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttestCounts {
    /// Messages signed by this validator.
    pub signed: u64,
    /// Signatures of others that verified, by lane and message.
    pub verified: u64,
    /// Signatures of others that did not.
    pub rejected: u64,
    /// Signatures asked for.
    pub requested: u64,
    /// Signatures given on request.
    pub answered: u64,
    /// Requests refused, one per signature.
    pub refused: u64,
    /// Attestations dropped because a buffer was full; they are asked for later.
    pub dropped: u64,
    /// Gauge: messages whose signatures are still collected.
    pub tracked: u64,
    /// Gauge: of these, the ones without a quorum in some lane.
    pub waiting: u64,
}

/// Keys and guard: the only way to a signature.
pub(crate) struct OwnSigner {
    keys: AttestKeys,
    guard: Guard,
}

/// A message whose signatures are collected.
struct Tracked {
    message: Arc<Outgoing>,
    /// By position.
    held: Vec<Lanes>,
    since_ms: u64,
    next_ms: u64,
    tries: u32,
    /// How often each validator was asked.
    asked: BTreeMap<u16, u32>,
    refused: BTreeMap<u16, Refusal>,
}

/// How much a peer may still ask for.
struct Budget {
    items: u64,
    at_ms: u64,
}

impl AttestConfig {
    /// 67/100 in both lanes; asks after half a second and at most every ten.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            beam_quorum: Quorum::DEFAULT,
            certset_quorum: Quorum::DEFAULT,
            request_after_ms: 500,
            request_cap_ms: 10_000,
        }
    }
}

impl Default for AttestConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl Attester {
    /// A service over `store`. With `signer` it signs, through the guard.
    ///
    /// # Errors
    /// [`AggregateError::Keys`] when a key of the set does not decode, or the own keys are not those of their
    /// position.
    pub fn new(
        config: AttestConfig,
        validators: &ValidatorSet,
        signer: Option<(AttestKeys, Guard)>,
        store: AttestStore,
        rng: Box<dyn CryptoRng + Send>,
    ) -> Result<Self, AggregateError> {
        let roster = Arc::new(Roster::new(validators)?);
        if let Some((keys, _)) = &signer {
            roster.check_own(keys)?;
        }
        let signer = signer.map(|(keys, guard)| Arc::new(OwnSigner { keys, guard }));
        Ok(Self {
            config,
            roster,
            signer,
            store,
            rng,
            tracked: BTreeMap::new(),
            early: Early::default(),
            queue: VecDeque::new(),
            is_verifying: false,
            budgets: BTreeMap::new(),
            counts: AttestCounts::default(),
            is_halted: false,
        })
    }

    /// Takes a final block's effects: tracks its outgoing messages and signs them. Repeats are free of effect.
    pub fn on_final(&mut self, effects: &Effects, now_ms: u64) -> Vec<Action> {
        for word in &effects.acknowledged {
            self.tracked.remove(&word.id);
        }
        self.on_outgoing(&effects.outgoing, now_ms)
    }

    /// Takes final outgoing messages: those of a block, or after a restart those that may still need signatures,
    /// in order.
    pub fn on_outgoing(&mut self, messages: &[Outgoing], now_ms: u64) -> Vec<Action> {
        if self.is_halted {
            return Vec::new();
        }
        match self.store.note(messages).and_then(|()| self.store.oldest()) {
            // What is not kept is not asked for either.
            Ok(oldest) => self.tracked.retain(|_, t| t.message.sequence >= oldest),
            Err(error) => return self.halt(Unsafe::Store(error.to_string())),
        }
        let mut unsigned = Vec::new();
        for message in messages {
            match self.track(message, now_ms) {
                Ok(Some(message)) => unsigned.push(message),
                Ok(None) => {}
                Err(error) => return self.halt(Unsafe::Store(error.to_string())),
            }
        }
        let mut actions = Vec::new();
        if let Some(signer) = &self.signer {
            for chunk in unsigned.chunks(SIGN_CHUNK) {
                let job = SignJob {
                    signer: Arc::clone(signer),
                    roster: Arc::clone(&self.roster),
                    store: self.store.clone(),
                    messages: chunk.to_vec(),
                    rng: Stream::new(&mut *self.rng),
                };
                actions.push(Action::Run(Job::attest(move || job.run())));
            }
        }
        actions.extend(self.verify_more());
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
        if self.is_halted {
            return Ok(Vec::new());
        }
        match message {
            Gossip::Attestations(items) => {
                for item in &items {
                    self.check_shape(from, item)?;
                }
                for item in items {
                    self.receive(from, item, now_ms);
                }
                Ok(self.verify_more().into_iter().collect())
            }
            Gossip::AttestationRequest(items) => self.answer(from, &items, now_ms),
            Gossip::AttestationRefusal(items) => {
                self.take_refusals(from, &items);
                Ok(Vec::new())
            }
            _ => Err(PeerFault::new(from, Fault::WrongChannel)),
        }
    }

    /// Takes the result of a job.
    pub fn on_job(&mut self, result: JobResult, now_ms: u64) -> Vec<Action> {
        let Outcome::Attest(done) = result.into_outcome() else {
            return Vec::new();
        };
        match done {
            Done::Signed(own) => self.signed(&own),
            Done::Verified { good, bad } => {
                self.is_verifying = false;
                self.verified(&good, bad, now_ms)
            }
            Done::Foreign(id) => self.halt(Unsafe::ForeignAttestation { id }),
            Done::Guard(error) => self.halt(Unsafe::Guard(error)),
            Done::Store(error) => self.halt(Unsafe::Store(error)),
        }
    }

    /// Lets time pass: asks for what is missing. Call it a few times per second.
    pub fn on_tick(&mut self, now_ms: u64) -> Vec<Action> {
        if self.is_halted {
            return Vec::new();
        }
        self.early.expire(now_ms);
        self.retire(now_ms);
        let mut wanted: BTreeMap<u16, Vec<WantedAttestation>> = BTreeMap::new();
        let backoff = Backoff {
            first_ms: self.config.request_after_ms,
            cap_ms: self.config.request_cap_ms,
        };
        let own = self.position();
        for (id, tracked) in &mut self.tracked {
            if tracked.next_ms > now_ms {
                continue;
            }
            tracked.next_ms =
                now_ms.saturating_add(backoff.delay_ms(tracked.tries, &mut *self.rng));
            for (signer, lanes) in self.roster.wanted(&self.config, &tracked.held) {
                if Some(signer) == own {
                    continue;
                }
                let peer = helper(signer, tracked.tries, self.roster.len(), own);
                let list = wanted.entry(peer).or_default();
                if list.len() < REQUESTED_MAX {
                    let id = *id;
                    list.push(WantedAttestation { id, signer, lanes });
                    let asked = tracked.asked.entry(signer).or_default();
                    *asked = asked.saturating_add(1);
                    self.counts.requested = self.counts.requested.saturating_add(1);
                }
            }
            tracked.tries = tracked.tries.saturating_add(1);
        }
        let mut actions = Vec::new();
        for (to, list) in wanted {
            for chunk in list.chunks(WANTED_MAX) {
                let bytes = Gossip::AttestationRequest(chunk.to_vec()).encode();
                actions.push(Action::Send { to, bytes });
            }
        }
        actions
    }

    /// Whether both lanes of a final outgoing message meet their quorum here.
    #[must_use]
    pub fn has_quorum(&self, id: &[u8; 32]) -> bool {
        // A message that is not followed any more is complete.
        let tracked = self.tracked.get(id);
        tracked.is_none_or(|tracked| self.roster.is_enough(&self.config, &tracked.held))
    }

    /// Everything held about a message, and what is missing from whom.
    ///
    /// # Errors
    /// [`AggregateError::Unknown`] for a message that is not final here, [`AggregateError::TooOld`] when its
    /// signatures are not kept any more, [`AggregateError::Store`].
    pub fn aggregate(&self, id: &[u8; 32]) -> Result<Evidence, AggregateError> {
        let sequence = self.store.sequence(id)?.ok_or(AggregateError::Unknown)?;
        if sequence < self.store.oldest()? {
            return Err(AggregateError::TooOld);
        }
        let held = self.store.held(id)?;
        let tracked = self.tracked.get(id);
        let reason = |signer: u16| {
            let asked = tracked.and_then(|tracked| tracked.asked.get(&signer).copied());
            let refused = tracked.and_then(|tracked| tracked.refused.get(&signer).copied());
            match (refused, asked) {
                (Some(reason), _) => MissingReason::Refused(reason),
                (None, Some(asked)) => MissingReason::Silent { asked },
                (None, None) => MissingReason::NotAsked,
            }
        };
        Ok(self.roster.evidence(*id, &self.config, held, reason))
    }

    /// Takes over a new validator set, with other weights or other members. Signatures that are held count again
    /// wherever their keys are still there; what is missing under the new set is asked for.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn set_validators(&mut self, validators: &ValidatorSet) -> Result<(), AggregateError> {
        let roster = Roster::new(validators)?;
        if let Some(signer) = &self.signer {
            roster.check_own(&signer.keys)?;
        }
        for (id, tracked) in &mut self.tracked {
            tracked.held = roster.lanes(&self.store.held(id)?);
            tracked.next_ms = 0;
            tracked.tries = 0;
            tracked.asked.clear();
            tracked.refused.clear();
        }
        self.roster = Arc::new(roster);
        Ok(())
    }

    /// Counters and gauges.
    #[must_use]
    pub fn counts(&self) -> AttestCounts {
        let waiting = self
            .tracked
            .values()
            .filter(|tracked| !self.roster.is_enough(&self.config, &tracked.held));
        AttestCounts {
            tracked: self.tracked.len() as u64,
            waiting: waiting.count() as u64,
            ..self.counts
        }
    }

    fn position(&self) -> Option<u16> {
        self.signer.as_ref().map(|signer| signer.keys.position)
    }

    /// Starts collecting for a message; gives it back when it must be signed here.
    fn track(
        &mut self,
        message: &Outgoing,
        now_ms: u64,
    ) -> Result<Option<Arc<Outgoing>>, AggregateError> {
        if self.tracked.contains_key(&message.id) || message.sequence < self.store.oldest()? {
            return Ok(None);
        }
        let held = self.roster.lanes(&self.store.held(&message.id)?);
        let own = self.position().map(|own| held.get(usize::from(own)));
        let must_sign = own.is_some_and(|lanes| lanes.is_none_or(|lanes| lanes.is_empty()));
        let message = Arc::new(message.clone());
        let tracked = Tracked {
            message: Arc::clone(&message),
            held,
            since_ms: now_ms,
            next_ms: now_ms.saturating_add(self.config.request_after_ms),
            tries: 0,
            asked: BTreeMap::new(),
            refused: BTreeMap::new(),
        };
        self.make_room();
        self.tracked.insert(message.id, tracked);
        for (from, item) in self.early.take(&message.id) {
            self.enqueue(from, item, Arc::clone(&message));
        }
        Ok(must_sign.then_some(message))
    }

    /// Drops the oldest message when too many are tracked: signatures that are held stay in the store.
    fn make_room(&mut self) {
        if self.tracked.len() < TRACKED_MAX {
            return;
        }
        let oldest = self.tracked.iter().min_by_key(|(_, t)| t.message.sequence);
        if let Some(id) = oldest.map(|(id, _)| *id) {
            self.tracked.remove(&id);
            self.counts.dropped = self.counts.dropped.saturating_add(1);
        }
    }

    /// Forgets messages that have all signatures, and after a while those that have enough.
    fn retire(&mut self, now_ms: u64) {
        let (roster, config) = (&self.roster, &self.config);
        self.tracked.retain(|_, tracked| {
            let is_old = now_ms.saturating_sub(tracked.since_ms) > KEPT_MS;
            let is_done = roster.is_complete(&tracked.held)
                || is_old && roster.is_enough(config, &tracked.held);
            !is_done
        });
    }

    fn check_shape(&self, from: u16, item: &Attestation) -> Result<(), PeerFault> {
        let signer = item.signer;
        if usize::from(signer) >= self.roster.len() {
            return Err(PeerFault::new(from, Fault::UnknownSigner { signer }));
        }
        if item.certificate.is_some() && !self.roster.has_certificate_key(signer) {
            return Err(PeerFault::new(from, Fault::NoKey { signer }));
        }
        Ok(())
    }

    /// Takes one attestation: to be verified, or to wait for its message.
    fn receive(&mut self, from: u16, item: Attestation, now_ms: u64) {
        if let Some(tracked) = self.tracked.get(&item.id) {
            let message = Arc::clone(&tracked.message);
            self.enqueue(from, item, message);
            return;
        }
        // Known and not tracked any more: nothing is missing.
        if !matches!(self.store.sequence(&item.id), Ok(None)) {
            return;
        }
        if !self.early.insert(from, item, now_ms) {
            self.counts.dropped = self.counts.dropped.saturating_add(1);
        }
    }

    fn enqueue(&mut self, from: u16, mut item: Attestation, message: Arc<Outgoing>) {
        let held = self.tracked.get(&item.id).map(|tracked| &tracked.held);
        let held = held.and_then(|held| held.get(usize::from(item.signer)));
        if let Some(held) = held {
            if held.beam {
                item.beam = None;
            }
            if held.certificate {
                item.certificate = None;
            }
        }
        if item.lanes().is_empty() {
            return;
        }
        if self.queue.len() >= QUEUE_MAX {
            self.counts.dropped = self.counts.dropped.saturating_add(1);
            return;
        }
        self.queue.push_back(VerifyItem {
            from,
            item,
            message,
        });
    }

    /// Starts the next verification, one at a time.
    fn verify_more(&mut self) -> Option<Action> {
        if self.is_verifying || self.queue.is_empty() {
            return None;
        }
        self.is_verifying = true;
        let count = self.queue.len().min(VERIFY_CHUNK);
        let job = VerifyJob {
            roster: Arc::clone(&self.roster),
            own: self.signer.clone(),
            store: self.store.clone(),
            items: self.queue.drain(..count).collect(),
            rng: Stream::new(&mut *self.rng),
        };
        Some(Action::Run(Job::attest(move || job.run())))
    }

    fn signed(&mut self, own: &[Attestation]) -> Vec<Action> {
        for item in own {
            self.mark(item);
        }
        self.counts.signed = self.counts.signed.saturating_add(own.len() as u64);
        let messages = Gossip::attestations(own);
        messages.into_iter().map(Action::Broadcast).collect()
    }

    fn verified(&mut self, good: &[Attestation], bad: Vec<PeerFault>, now_ms: u64) -> Vec<Action> {
        let _ = now_ms;
        for item in good {
            self.mark(item);
        }
        self.counts.verified = self.counts.verified.saturating_add(good.len() as u64);
        self.counts.rejected = self.counts.rejected.saturating_add(bad.len() as u64);
        let mut actions: Vec<Action> = bad.into_iter().map(Action::Blame).collect();
        actions.extend(self.verify_more());
        actions
    }

    /// Notes that a signature is in the store.
    fn mark(&mut self, item: &Attestation) {
        if let Some(tracked) = self.tracked.get_mut(&item.id)
            && let Some(held) = tracked.held.get_mut(usize::from(item.signer))
        {
            held.beam |= item.beam.is_some();
            held.certificate |= item.certificate.is_some();
            tracked.refused.remove(&item.signer);
        }
    }

    /// Gives what is held, and says what is not.
    fn answer(
        &mut self,
        from: u16,
        items: &[WantedAttestation],
        now_ms: u64,
    ) -> Result<Vec<Action>, PeerFault> {
        let budget = self.budgets.entry(from).or_insert(Budget {
            items: BUDGET_ITEMS,
            at_ms: now_ms,
        });
        if !budget.take(items.len() as u64, now_ms) {
            return Err(PeerFault::new(from, Fault::Flood));
        }
        let (mut given, mut refused) = (Vec::new(), Vec::new());
        for wanted in items {
            match self.look_up(wanted) {
                Ok(Ok(item)) => given.push(item),
                Ok(Err(reason)) => refused.push(Refused {
                    id: wanted.id,
                    signer: wanted.signer,
                    reason,
                }),
                Err(error) => return Ok(self.halt(Unsafe::Store(error.to_string()))),
            }
        }
        self.counts.answered = self.counts.answered.saturating_add(given.len() as u64);
        self.counts.refused = self.counts.refused.saturating_add(refused.len() as u64);
        let mut messages = Gossip::attestations(&given);
        if !refused.is_empty() {
            messages.push(Gossip::AttestationRefusal(refused).encode());
        }
        let send = |bytes: Bytes| Action::Send { to: from, bytes };
        Ok(messages.into_iter().map(send).collect())
    }

    fn look_up(
        &self,
        wanted: &WantedAttestation,
    ) -> Result<Result<Attestation, Refusal>, AggregateError> {
        let Some(sequence) = self.store.sequence(&wanted.id)? else {
            return Ok(Err(Refusal::Unknown));
        };
        if sequence < self.store.oldest()? {
            return Ok(Err(Refusal::TooOld));
        }
        let held = self.store.held(&wanted.id)?;
        let found = self.roster.attestation(wanted, &held);
        Ok(found.ok_or(Refusal::NotHeld))
    }

    fn take_refusals(&mut self, from: u16, items: &[Refused]) {
        for item in items.iter().filter(|item| item.signer == from) {
            if let Some(tracked) = self.tracked.get_mut(&item.id)
                && tracked.asked.contains_key(&from)
            {
                tracked.refused.insert(from, item.reason);
            }
        }
    }

    fn halt(&mut self, why: Unsafe) -> Vec<Action> {
        self.is_halted = true;
        vec![Action::Halt(why)]
    }
}

impl core::fmt::Debug for Attester {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Attester")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl core::fmt::Debug for AttestKeys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AttestKeys")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl Budget {
    /// Takes `items` out of a bucket that fills with time.
    fn take(&mut self, items: u64, now_ms: u64) -> bool {
        let passed = now_ms.saturating_sub(self.at_ms);
        let gained = passed.saturating_mul(BUDGET_ITEMS_PER_SECOND) / 1_000;
        if gained > 0 {
            self.items = self.items.saturating_add(gained).min(BUDGET_ITEMS);
            self.at_ms = now_ms;
        }
        match self.items.checked_sub(items) {
            Some(rest) => {
                self.items = rest;
                true
            }
            None => false,
        }
    }
}

/// Whom to ask: the signer itself, and every third time somebody else who may hold its signature.
fn helper(signer: u16, tries: u32, count: usize, own: Option<u16>) -> u16 {
    if tries % 3 != 2 {
        return signer;
    }
    let count = u32::try_from(count).unwrap_or(1).max(1);
    let at = (u32::from(signer) + 1 + tries / 3) % count;
    let other = u16::try_from(at).unwrap_or(signer);
    if Some(other) == own { signer } else { other }
}

/// Most messages whose signatures are collected at once.
pub const TRACKED_MAX: usize = 16_384;
/// Most attestations that wait to be verified: about 28 MB.
const QUEUE_MAX: usize = 8_192;
/// Most attestations verified by one job.
const VERIFY_CHUNK: usize = 128;
/// Most messages signed by one job.
const SIGN_CHUNK: usize = 32;
/// Most signatures asked for from one peer in one tick.
const REQUESTED_MAX: usize = 1_024;
/// Time after which a message with a quorum in both lanes is not followed any more, milliseconds.
const KEPT_MS: u64 = 60_000;
/// Signatures that a peer may ask for at once.
const BUDGET_ITEMS: u64 = 4_096;
/// Signatures that a peer may ask for per second.
const BUDGET_ITEMS_PER_SECOND: u64 = 1_024;

#[cfg(test)]
mod tests;
