//! What concerns one message: collecting, building, sending, confirming.

use horizon_warp::limits::{BLS_SIGNATURE_LEN, MLDSA65_SIGNATURE_LEN, PULSE_LEN};
use horizon_warp::{Lane, Reason};

use super::{Active, Core, Fault, Note, Request, Side, Step};
use crate::api::Code;
use crate::api::types::{
    Attestations, Delivery, DeliveryState, Message, Pulse, PulseState, QueueState, SubmitState,
    SubmittedEnvelope,
};
use crate::relayer::entry::Write;
use crate::relayer::evidence::{BuildFault, Destination, Singles};

impl Core {
    /// Goes on with an entry: makes its next request, or a change of state that needs none.
    pub(super) fn advance(&mut self, now_ms: u64, active: &mut Active, step: &mut Step) {
        let entry = &active.entry;
        let waited_ms = now_ms.saturating_sub(entry.since_ms);
        if entry.is_backlog() && waited_ms > self.settings.give_up_ms {
            let last = entry.reason.clone();
            let code = last.unwrap_or_else(|| Code::NotFinal.code().to_owned());
            return self.bury(active, &code, step);
        }
        let (sequence, id) = (entry.sequence, entry.id);
        match entry.state {
            QueueState::Observed | QueueState::WaitingQuorum | QueueState::WaitingPulse => {
                self.collect(now_ms, active, step);
            }
            QueueState::Built if active.envelope.is_none() => {
                // After a restart or a loss: what was collected is on disk, the envelope is not.
                active.entry.state = QueueState::Observed;
                self.collect(now_ms, active, step);
            }
            QueueState::Built if active.absent => self.submit(now_ms, active, step),
            QueueState::Built | QueueState::Submitted | QueueState::Included => {
                active.busy = true;
                step.requests.push(Request::Delivery(sequence, id));
            }
            QueueState::Delivered => {
                if waited_ms > self.settings.ack_wait_ms {
                    active.entry.state = QueueState::Acknowledged;
                    active.entry.reason = Some(Code::AckWaiting.code().to_owned());
                    self.stored = self.stored.saturating_sub(1);
                    step.writes
                        .push(Write::Update(Box::new(active.entry.clone())));
                } else {
                    active.busy = true;
                    step.requests.push(Request::Message(sequence, id));
                }
            }
            QueueState::Acknowledged | QueueState::Dead => {}
        }
    }

    /// Asks for what is missing, or builds when nothing is.
    pub(super) fn collect(&mut self, now_ms: u64, active: &mut Active, step: &mut Step) {
        let (sequence, id) = (active.entry.sequence, active.entry.id);
        if active.entry.expiry_height < self.destination.height {
            return self.bury(active, Code::MessageExpired.code(), step);
        }
        if active.entry.stale {
            active.busy = true;
            step.requests.push(Request::Message(sequence, id));
            return;
        }
        let Some(rules) = &self.rules else {
            return;
        };
        let lineage = active.message.lineage;
        let progress = match rules.progress(&lineage, &active.singles) {
            Ok(progress) => progress,
            Err(reason) => return self.needs_record(now_ms, active, reason, step),
        };
        if !progress.complete {
            match rules.have(&lineage, &active.singles) {
                Ok(have) => {
                    active.busy = true;
                    step.requests
                        .push(Request::Attestations(sequence, id, have));
                }
                Err(reason) => self.needs_record(now_ms, active, reason, step),
            }
            return;
        }
        if rules.wants(Lane::Pulse) && active.pulse.is_none() {
            active.busy = true;
            step.requests.push(Request::Pulse(sequence, id));
            return;
        }
        let built = rules.build(
            &active.message,
            &active.singles,
            active.pulse.as_deref(),
            now_ms / 1_000,
        );
        match built {
            Ok(envelope) => {
                active.envelope = Some(envelope);
                active.absent = false;
                active.entry.state = QueueState::Built;
                if active.entry.submissions == 0 {
                    active.entry.attempts = 0;
                }
                active.entry.reason = None;
                active.entry.lanes.clear();
                active.entry.missing.clear();
                active.entry.next_ms = now_ms;
                step.writes
                    .push(Write::Update(Box::new(active.entry.clone())));
                active.busy = true;
                step.requests.push(Request::Delivery(sequence, id));
            }
            Err(fault) => self.on_build_fault(now_ms, active, fault, step),
        }
    }

    /// The destination has no record for the lineage, or the record does not serve any more: read
    /// both sides again.
    pub(super) fn needs_record(
        &mut self,
        now_ms: u64,
        active: &mut Active,
        reason: Reason,
        step: &mut Step,
    ) {
        self.registry_next_ms = now_ms;
        active.entry.stale = true;
        active.entry.state = QueueState::WaitingQuorum;
        self.pause_entry(now_ms, active, reason.code(), step);
    }

    pub(super) fn on_build_fault(
        &mut self,
        now_ms: u64,
        active: &mut Active,
        fault: BuildFault,
        step: &mut Step,
    ) {
        let sequence = active.entry.sequence;
        let dropped = !fault.invalid.is_empty() || fault.invalid_pulse;
        for (lane, signer) in fault.invalid {
            match lane {
                Lane::Beam => active.singles.beam.remove(&signer),
                _ => active.singles.certset.remove(&signer),
            };
            step.writes
                .push(Write::DropSingle(sequence, lane, Box::new(signer)));
        }
        if fault.invalid_pulse {
            active.pulse = None;
            step.writes.push(Write::Pulse(sequence, None));
        }
        if dropped {
            active.entry.state = QueueState::WaitingQuorum;
            step.requests.push(Request::Rotate(Side::Source));
            self.pause_entry(now_ms, active, Code::SignaturesInvalid.code(), step);
            return;
        }
        self.on_refusal(now_ms, active, Code::Warp(fault.reason), step);
    }

    /// A refusal by Prism, here or at the destination.
    pub(super) fn on_refusal(
        &mut self,
        now_ms: u64,
        active: &mut Active,
        code: Code,
        step: &mut Step,
    ) {
        let Code::Warp(reason) = code else {
            return self.pause_entry(now_ms, active, code.code(), step);
        };
        active.envelope = None;
        active.absent = false;
        match reason {
            // The set or the record changed: more signatures, or the message attested anew, help.
            Reason::EraRetired
            | Reason::RecordExpired
            | Reason::RecordUnknown
            | Reason::RecordNotYetValid
            | Reason::RecordTooOld
            | Reason::PolicyMissing
            | Reason::InsufficientWeight
            | Reason::NoSignedWeight
            | Reason::CertSetWeight
            | Reason::LaneMissing
            | Reason::PqEvidenceMissing
            | Reason::SuiteDiffers => self.needs_record(now_ms, active, reason, step),
            _ => self.bury(active, reason.code(), step),
        }
    }

    pub(super) fn submit(&mut self, now_ms: u64, active: &mut Active, step: &mut Step) {
        let Some(envelope) = active.envelope.clone() else {
            return;
        };
        let entry = &mut active.entry;
        if entry.tries >= self.settings.submissions_max {
            return self.bury(active, Code::SubmissionsExhausted.code(), step);
        }
        entry.submissions = entry.submissions.saturating_add(1);
        entry.tries = entry.tries.saturating_add(1);
        entry.state = QueueState::Submitted;
        entry.reason = Some(Code::NotFinal.code().to_owned());
        entry.next_ms = now_ms;
        entry.sent_ms = now_ms;
        entry.seen = false;
        self.totals.submissions = self.totals.submissions.saturating_add(1);
        step.writes.push(Write::Update(Box::new(entry.clone())));
        step.writes.push(Write::Totals(self.totals));
        active.absent = false;
        active.busy = true;
        step.requests
            .push(Request::Submit(entry.sequence, entry.id, envelope));
    }

    pub(super) fn on_message(
        &mut self,
        now_ms: u64,
        active: &mut Active,
        answer: Result<Message, Fault>,
        step: &mut Step,
    ) -> Result<(), (Side, Fault)> {
        let message = answer.map_err(|fault| (Side::Source, fault))?;
        let same = message.id == active.entry.id && message.unsigned == active.message.unsigned;
        if !same {
            return Err((Side::Source, Fault::BadAnswer));
        }
        if active.entry.state == QueueState::Delivered {
            return self.on_acknowledgement(now_ms, active, &message, step);
        }
        active.entry.stale = false;
        if message.lineage == active.message.lineage && message.suite == active.message.suite {
            // Nothing new there. The registry was read again too: the next look tells.
            active.entry.next_ms = now_ms;
            return Ok(());
        }
        let sequence = active.entry.sequence;
        for signer in core::mem::take(&mut active.singles.certset).into_keys() {
            step.writes
                .push(Write::DropSingle(sequence, Lane::CertSet, Box::new(signer)));
        }
        active.pulse = None;
        step.writes.push(Write::Pulse(sequence, None));
        step.writes.push(Write::Message(Box::new(Message {
            sequence,
            ..message.clone()
        })));
        active.message = message;
        active.entry.attempts = 0;
        active.entry.next_ms = now_ms;
        step.writes
            .push(Write::Update(Box::new(active.entry.clone())));
        Ok(())
    }

    pub(super) fn on_acknowledgement(
        &mut self,
        now_ms: u64,
        active: &mut Active,
        message: &Message,
        step: &mut Step,
    ) -> Result<(), (Side, Fault)> {
        if message.acknowledgement.is_none() {
            let reason = active.entry.reason.clone();
            let code = reason.unwrap_or_else(|| Code::AckWaiting.code().to_owned());
            self.pause_entry(now_ms, active, &code, step);
            return Ok(());
        }
        active.entry.state = QueueState::Acknowledged;
        if active.entry.reason.as_deref() == Some(Code::AckWaiting.code()) {
            active.entry.reason = None;
        }
        step.notes.push(Note::Acknowledged(active.entry.id));
        self.stored = self.stored.saturating_sub(1);
        step.writes
            .push(Write::Update(Box::new(active.entry.clone())));
        Ok(())
    }

    pub(super) fn on_attestations(
        &mut self,
        now_ms: u64,
        active: &mut Active,
        answer: Result<Attestations, Fault>,
        step: &mut Step,
    ) -> Result<(), (Side, Fault)> {
        let answer = answer.map_err(|fault| (Side::Source, fault))?;
        if answer.id != active.entry.id {
            return Err((Side::Source, Fault::BadAnswer));
        }
        if answer.lineage != active.message.lineage {
            active.entry.stale = true;
            active.entry.next_ms = now_ms;
            return Ok(());
        }
        let Some(rules) = &self.rules else {
            return Ok(());
        };
        let writes = take_singles(rules, active, answer);
        let news = match writes {
            Some(writes) => {
                let news = !writes.is_empty();
                step.writes.extend(writes);
                news
            }
            None => return Err((Side::Source, Fault::BadAnswer)),
        };
        let progress = match rules.progress(&active.message.lineage, &active.singles) {
            Ok(progress) => progress,
            Err(reason) => {
                self.needs_record(now_ms, active, reason, step);
                return Ok(());
            }
        };
        if progress.complete {
            active.entry.next_ms = now_ms;
            return Ok(());
        }
        if news {
            active.entry.attempts = 0;
        }
        active.entry.state = QueueState::WaitingQuorum;
        active.entry.lanes = progress.lanes;
        active.entry.missing = progress.missing;
        let code = Reason::InsufficientWeight.code();
        self.pause_entry(now_ms, active, code, step);
        Ok(())
    }

    pub(super) fn on_pulse(
        &mut self,
        now_ms: u64,
        active: &mut Active,
        answer: Result<Pulse, Fault>,
        step: &mut Step,
    ) -> Result<(), (Side, Fault)> {
        let answer = answer.map_err(|fault| (Side::Source, fault))?;
        if answer.id != active.entry.id {
            return Err((Side::Source, Fault::BadAnswer));
        }
        if answer.lineage != active.message.lineage {
            active.entry.stale = true;
            active.entry.next_ms = now_ms;
            return Ok(());
        }
        match answer.pulse {
            Some(pulse) if pulse.len() == PULSE_LEN => {
                let sequence = active.entry.sequence;
                active.entry.next_ms = now_ms;
                step.writes
                    .push(Write::Pulse(sequence, Some(pulse.clone())));
                active.pulse = Some(pulse);
            }
            Some(_) => return Err((Side::Source, Fault::BadAnswer)),
            None => {
                active.entry.state = QueueState::WaitingPulse;
                active.entry.lanes.clear();
                active.entry.missing.clear();
                let code = match answer.state {
                    PulseState::Aborted => Code::PulseAborted,
                    _ => Code::PulseWaiting,
                };
                self.pause_entry(now_ms, active, code.code(), step);
            }
        }
        Ok(())
    }

    pub(super) fn on_submitted(
        &mut self,
        now_ms: u64,
        active: &mut Active,
        answer: Result<SubmittedEnvelope, Fault>,
        step: &mut Step,
    ) -> Result<(), (Side, Fault)> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(Fault::Refused { code, retryable }) => {
                self.on_submit_refused(now_ms, active, &code, retryable, step);
                return Ok(());
            }
            // Whether it arrived is not known: the inbox tells.
            Err(fault) => return Err((Side::Destination, fault)),
        };
        if answer.id != active.entry.id {
            return Err((Side::Destination, Fault::BadAnswer));
        }
        if answer.state != SubmitState::Accepted && active.entry.submissions <= 1 {
            active.entry.redundant = true;
        }
        active.entry.seen = true;
        active.entry.attempts = 0;
        let wait = match answer.state {
            SubmitState::Delivered => 0,
            _ => self.pause(0),
        };
        active.entry.next_ms = now_ms.saturating_add(wait);
        step.writes
            .push(Write::Update(Box::new(active.entry.clone())));
        Ok(())
    }

    pub(super) fn on_submit_refused(
        &mut self,
        now_ms: u64,
        active: &mut Active,
        code: &str,
        retryable: bool,
        step: &mut Step,
    ) {
        active.entry.state = QueueState::Built;
        active.absent = false;
        let known = Code::from_code(code);
        if let Some(Code::Warp(reason)) = known {
            return self.on_refusal(now_ms, active, Code::Warp(reason), step);
        }
        // A fault of the server's own says nothing about the message.
        let broken = known.is_some_and(|code| code.status().is_server_error());
        if retryable || broken {
            // It was not taken, so it does not count as sent without effect.
            active.entry.tries = active.entry.tries.saturating_sub(1);
            return self.pause_entry(now_ms, active, code, step);
        }
        self.bury(active, code, step);
    }

    pub(super) fn on_delivery(
        &mut self,
        now_ms: u64,
        active: &mut Active,
        answer: Result<Option<Delivery>, Fault>,
        step: &mut Step,
    ) -> Result<(), (Side, Fault)> {
        let answer = answer.map_err(|fault| (Side::Destination, fault))?;
        let Some(delivery) = answer else {
            self.on_absent(now_ms, active, step);
            return Ok(());
        };
        if delivery.id != active.entry.id {
            return Err((Side::Destination, Fault::BadAnswer));
        }
        if let Some(height) = delivery.height {
            self.destination.height = self.destination.height.max(height);
        }
        match delivery.state {
            DeliveryState::Executed | DeliveryState::Failed => {
                self.deliver(now_ms, active, &delivery, step);
            }
            DeliveryState::Pending | DeliveryState::Included => {
                let state = match delivery.state {
                    DeliveryState::Included => QueueState::Included,
                    _ => QueueState::Submitted,
                };
                if active.entry.submissions == 0 {
                    active.entry.redundant = true;
                }
                active.entry.seen = true;
                active.entry.state = state;
                self.pause_entry(now_ms, active, Code::NotFinal.code(), step);
            }
        }
        Ok(())
    }

    /// The destination does not know the message.
    pub(super) fn on_absent(&mut self, now_ms: u64, active: &mut Active, step: &mut Step) {
        let entry = &mut active.entry;
        if entry.state == QueueState::Built {
            active.absent = true;
            entry.next_ms = now_ms;
            return;
        }
        // Shown before and gone now: it was lost. Never shown: it may be on its way for a while.
        let lost = entry.seen;
        let doublings = entry.tries.saturating_sub(1).min(16);
        let patience = self.settings.confirm_ms.saturating_mul(1 << doublings);
        let patience = patience.min(self.settings.retry_cap_ms.max(self.settings.confirm_ms));
        let waited = now_ms.saturating_sub(entry.sent_ms);
        if !lost && waited < patience {
            return self.pause_entry(now_ms, active, Code::NotFinal.code(), step);
        }
        entry.seen = false;
        entry.redundant = false;
        entry.state = QueueState::Built;
        entry.attempts = entry.tries.saturating_sub(1);
        active.envelope = None;
        active.absent = false;
        self.pause_entry(now_ms, active, Code::LostBeforeFinality.code(), step);
    }

    pub(super) fn deliver(
        &mut self,
        now_ms: u64,
        active: &mut Active,
        delivery: &Delivery,
        step: &mut Step,
    ) {
        let entry = &mut active.entry;
        entry.redundant |= entry.submissions == 0;
        entry.attempts = 0;
        entry.lanes.clear();
        entry.missing.clear();
        entry.next_ms = now_ms.saturating_add(self.settings.poll_ms);
        let after_ms = now_ms.saturating_sub(entry.observed_ms);
        entry.since_ms = now_ms;
        entry.state = if entry.is_ack {
            QueueState::Acknowledged
        } else {
            QueueState::Delivered
        };
        entry.reason = match (delivery.state, entry.is_ack) {
            (DeliveryState::Failed, _) => Some(Code::HandlerFailed.code().to_owned()),
            (_, false) => Some(Code::AckWaiting.code().to_owned()),
            (_, true) => None,
        };
        self.totals.delivered = self.totals.delivered.saturating_add(1);
        let redundant = u64::from(entry.redundant);
        self.totals.redundant = self.totals.redundant.saturating_add(redundant);
        if entry.is_ack {
            self.stored = self.stored.saturating_sub(1);
        }
        active.singles = Singles::default();
        active.pulse = None;
        active.envelope = None;
        step.notes.push(Note::Delivered {
            id: entry.id,
            after_ms,
            redundant: entry.redundant,
        });
        step.writes.push(Write::DropEvidence(entry.sequence));
        step.writes.push(Write::Update(Box::new(entry.clone())));
        step.writes.push(Write::Totals(self.totals));
    }

    /// Gives a message up; a retry starts it again.
    pub(super) fn bury(&mut self, active: &mut Active, code: &str, step: &mut Step) {
        active.entry.state = QueueState::Dead;
        active.entry.reason = Some(code.to_owned());
        active.envelope = None;
        step.notes
            .push(Note::Dead(active.entry.id, code.to_owned()));
        step.writes
            .push(Write::Update(Box::new(active.entry.clone())));
    }

    /// Looks again after a pause that doubles from look to look, up to the cap.
    pub(super) fn pause_entry(
        &mut self,
        now_ms: u64,
        active: &mut Active,
        code: &str,
        step: &mut Step,
    ) {
        let pause = self.pause(active.entry.attempts);
        active.entry.attempts = active.entry.attempts.saturating_add(1);
        active.entry.reason = Some(code.to_owned());
        let woken = core::mem::take(&mut active.woken);
        let pause = if woken { 0 } else { pause };
        active.entry.next_ms = now_ms.saturating_add(pause);
        step.notes
            .push(Note::Waits(active.entry.id, code.to_owned()));
        step.writes
            .push(Write::Update(Box::new(active.entry.clone())));
    }
}

/// Files the signatures that were asked for by their signers' keys; a second one of the same signer
/// is ignored. `None` if the answer names a validator that is not there, or a signature has another
/// length than its lane's.
fn take_singles(
    rules: &Destination,
    active: &mut Active,
    answer: Attestations,
) -> Option<Vec<Write>> {
    let sequence = active.entry.sequence;
    let members = rules.members(&answer.lineage).unwrap_or_default();
    let lanes = [
        (
            Lane::Beam,
            answer.beam,
            BLS_SIGNATURE_LEN,
            &mut active.singles.beam,
        ),
        (
            Lane::CertSet,
            answer.certset,
            MLDSA65_SIGNATURE_LEN,
            &mut active.singles.certset,
        ),
    ];
    let mut writes = Vec::new();
    for (lane, singles, len, held) in lanes {
        for single in singles {
            let index = usize::try_from(single.index).ok()?;
            let member = members.get(index)?;
            if single.signature.len() != len {
                return None;
            }
            if !rules.wants(lane) || held.contains_key(&member.bls_key) {
                continue;
            }
            held.insert(member.bls_key, single.signature.clone());
            let signer = Box::new(member.bls_key);
            writes.push(Write::Single(sequence, lane, signer, single.signature));
        }
    }
    Some(writes)
}
