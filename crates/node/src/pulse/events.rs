//! What final blocks mean for the service.

use super::*;

impl PulseService {
    pub(super) fn apply(&mut self, effects: &Effects, actions: &mut Vec<Action>) {
        for message in &effects.outgoing {
            let message = Arc::new(message.clone());
            self.subjects.insert(message.subject, Arc::clone(&message));
            for (from, bytes) in self.early.take_small(Place::Subject(message.subject)) {
                if let Ok(Gossip::Pulse(pulse)) = Gossip::decode(&bytes) {
                    self.take_pulse(from, pulse, actions);
                }
            }
        }
        for tx in &effects.pulse_transactions {
            self.on_transaction(tx);
        }
        for event in &effects.pulse {
            self.on_event(event);
        }
        for closed in &effects.closed {
            self.on_closed(closed.subject, closed.attempt, &closed.pulse);
        }
        self.post(actions);
    }

    fn on_transaction(&mut self, tx: &LedgerTx) {
        match tx {
            LedgerTx::BatchCommit(inner) => {
                if Some(inner.header().sender) == self.position() {
                    self.pending.remove(&Key::Commit(inner.header().seq));
                }
            }
            LedgerTx::BatchHave(inner) => {
                if Some(inner.header().sender) == self.position() {
                    self.pending.remove(&Key::Have(inner.header().seq));
                }
            }
            LedgerTx::BatchVoid(inner) => {
                count(&mut self.counts.boots);
                self.on_void(inner.header());
            }
            LedgerTx::PartialPost(inner) => {
                let partial = inner.body().partial.clone();
                let place = (partial.header().seq, partial.body().index);
                let sender = partial.header().sender;
                if let Some(attempt) = self.attempts.get_mut(&place) {
                    attempt.posted.insert(sender);
                    if attempt.wants(sender, true) {
                        let from = inner.header().sender;
                        self.check_later(UncheckedPartial {
                            from,
                            partial,
                            is_posted: true,
                        });
                    }
                }
                return;
            }
            LedgerTx::PulseCert(_) => return,
        }
        if self.own.is_some() {
            self.queue.push(Op::Final(tx.clone()));
        }
    }

    /// A final BatchVoid; with the own one the member takes part.
    fn on_void(&mut self, header: &Header) {
        let Some(own) = &mut self.own else {
            return;
        };
        if header.sender != own.position || header.boot != own.boot || own.is_current {
            return;
        }
        own.is_current = true;
        self.pending.remove(&Key::Void);
        let waiting: Vec<u64> = self
            .batches
            .iter()
            .filter(|(_, view)| view.is_planned && !view.is_committed)
            .map(|(batch, _)| *batch)
            .collect();
        for batch in waiting {
            self.reserve(batch);
        }
    }

    fn reserve(&mut self, batch: u64) {
        let rng = Stream::new(&mut *self.rng);
        self.queue.push(Op::Reserve { batch, rng });
    }

    fn on_event(&mut self, event: &Event) {
        match event {
            Event::Opened(plan) => self.on_opened(plan),
            Event::Committed { batch } => self.on_committed(*batch),
            Event::Ready { batch } => {
                count(&mut self.counts.batches_ready);
                if let Some(view) = self.batches.get_mut(batch) {
                    view.is_ready = true;
                    view.taken.clear();
                }
                self.early.take_matrices(*batch);
            }
            Event::Void { batch, missing } => {
                if missing.is_empty() {
                    count(&mut self.counts.batches_void);
                } else {
                    count(&mut self.counts.batches_late);
                }
                self.drop_batch(*batch);
            }
            Event::Assigned {
                subject,
                attempt,
                batch,
                index,
            } => self.on_assigned(subject, *attempt, *batch, *index),
            Event::Posting { subject, attempt } => {
                count(&mut self.counts.posting);
                let height = self.height;
                if let Some((_, found)) = self.find(subject, *attempt) {
                    found.is_posting = true;
                    found.posting_since = height;
                }
            }
            Event::Failed {
                subject,
                attempt,
                silent,
            } => {
                if silent.is_empty() {
                    count(&mut self.counts.failed_sets);
                } else {
                    count(&mut self.counts.failed_silent);
                }
                if let Some((place, _)) = self.find(subject, *attempt) {
                    self.end(place, false);
                }
            }
            // The Pulse itself comes with the block.
            Event::Closed { .. } => count(&mut self.counts.closed),
            _ => {}
        }
    }

    fn on_opened(&mut self, plan: &Plan) {
        count(&mut self.counts.batches_opened);
        let mut view = BatchView::new(plan.clone());
        if self.is_in(plan) {
            view.is_planned = true;
            self.queue.push(Op::Plan(plan.clone()));
            if self.own.as_ref().is_some_and(|own| own.is_current) {
                self.reserve(plan.batch);
            }
        }
        self.batches.insert(plan.batch, view);
    }

    fn on_committed(&mut self, batch: u64) {
        count(&mut self.counts.batches_committed);
        let next_ms = self.now_ms.saturating_add(self.config.request_after_ms);
        let Some(view) = self.batches.get_mut(&batch) else {
            return;
        };
        view.is_committed = true;
        view.next_ms = next_ms;
        let plan = view.plan.clone();
        if self.is_in(&plan) {
            self.queue.push(Op::Reveal(batch));
        }
        for (from, bytes) in self.early.take_matrices(batch) {
            self.queue.push(Op::Matrix { from, bytes });
        }
    }

    fn drop_batch(&mut self, batch: u64) {
        if let Some(view) = self.batches.remove(&batch)
            && self.is_in(&view.plan)
        {
            self.queue.push(Op::Expire(batch));
        }
        self.early.take_matrices(batch);
    }

    fn on_assigned(&mut self, subject: &[u8; 32], number: u32, batch: u64, index: u16) {
        count(&mut self.counts.assigned);
        let next_ms = self.now_ms.saturating_add(self.config.request_after_ms);
        let Some(view) = self.batches.get_mut(&batch) else {
            return;
        };
        view.assigned = view.assigned.saturating_add(1);
        let (plan, is_used_up) = (view.plan.clone(), view.assigned >= view.plan.count);
        if is_used_up {
            self.batches.remove(&batch);
        }
        let Some(message) = self.subjects.get(subject).cloned() else {
            return;
        };
        let attempt = Attempt::new(Arc::clone(&message), number, plan.set.clone(), next_ms);
        self.attempts.insert((batch, index), attempt);
        if self.is_in(&plan) {
            self.queue.push(Op::Answer(Box::new(AnswerOp {
                batch,
                index,
                attempt: number,
                message,
            })));
        }
        for (from, bytes) in self.early.take_small(Place::Index(batch, index)) {
            // It decoded before.
            let _ = self.take_partial(from, &bytes);
        }
    }

    /// A subject is signed: everything about it ends.
    fn on_closed(&mut self, subject: [u8; 32], number: u32, pulse: &[u8]) {
        let places: Vec<((u64, u16), u32)> = self
            .attempts
            .iter()
            .filter(|(_, attempt)| attempt.message.subject == subject)
            .map(|(place, attempt)| (*place, attempt.number))
            .collect();
        let batch = places.iter().find(|(_, other)| *other == number);
        let batch = batch.map_or(0, |((batch, _), _)| *batch);
        self.subjects.remove(&subject);
        self.turns.remove(&subject);
        self.pending.remove(&Key::Cert(subject));
        if !self.pulses.contains_key(&subject) {
            self.keep(FinishedPulse {
                subject,
                attempt: number,
                batch,
                pulse: Bytes::copy_from_slice(pulse),
            });
        }
        for (place, other) in places {
            self.end(place, other == number);
        }
    }

    /// An attempt is over.
    fn end(&mut self, place: (u64, u16), done: bool) {
        let Some(attempt) = self.attempts.remove(&place) else {
            return;
        };
        let mine = self.position();
        if mine.is_some_and(|own| attempt.set.slot(own).is_some()) {
            let (batch, index) = place;
            self.queue.push(Op::Close { batch, index, done });
        }
    }

    fn find(&mut self, subject: &[u8; 32], number: u32) -> Option<((u64, u16), &mut Attempt)> {
        self.attempts
            .iter_mut()
            .find(|(_, attempt)| attempt.message.subject == *subject && attempt.number == number)
            .map(|(place, attempt)| (*place, attempt))
    }
}
