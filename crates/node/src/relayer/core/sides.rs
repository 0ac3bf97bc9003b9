//! What concerns a side of the route and no single message: health, registry, pages, events.

use horizon_warp::UnsignedMessage;
use horizon_warp::payload::Routed;

use super::{Core, Fault, Note, Request, Side, Step};
use crate::api::types::{EventKind, Id, Message, MessagePage, QueueState, RegistryView, Status};
use crate::api::{Code, PAGE_LEN_MAX};
use crate::relayer::entry::{Entry, Loaded, Write};
use crate::relayer::evidence::{Destination, Singles};

impl Core {
    pub(super) fn tick_page(&mut self, now_ms: u64, step: &mut Step) {
        if self.page_busy || self.page_next_ms > now_ms || !self.source.is_up() {
            return;
        }
        let Some(cursor) = self.cursor else {
            return;
        };
        if self.stored >= self.settings.backlog_max {
            // Said until a page is read again.
            self.page_reason = Some(Code::BacklogFull);
            self.page_next_ms = now_ms.saturating_add(self.settings.poll_ms);
            return;
        }
        self.page_busy = true;
        step.requests.push(Request::Page(cursor));
    }

    pub(super) fn on_status(
        &mut self,
        now_ms: u64,
        side: Side,
        answer: Result<Status, Fault>,
        step: &mut Step,
    ) {
        let (expected, mismatch) = match side {
            Side::Source => (self.settings.source, Code::SourceMismatch),
            Side::Destination => (self.settings.destination, Code::DestinationMismatch),
        };
        let (health_ms, poll) = (self.settings.health_ms, now_ms);
        let state = self.side_mut(side);
        state.busy = false;
        match answer {
            Err(_) => self.side_failed(now_ms, side, step),
            Ok(status) if (status.network_id, status.chain_id) != expected => {
                state.known = false;
                state.reason = Some(mismatch);
                state.next_ms = now_ms.saturating_add(health_ms);
                step.requests.push(Request::Rotate(side));
            }
            Ok(status) => {
                let healed = !state.is_up();
                state.known = true;
                state.reason = None;
                state.failures = 0;
                state.height = state.height.max(status.height);
                state.next_ms = now_ms.saturating_add(health_ms);
                if side == Side::Source {
                    self.total = self.total.max(status.outgoing);
                    if self.cursor.is_none() {
                        self.cursor = Some(status.outgoing);
                        step.writes.push(Write::Cursor(status.outgoing));
                    }
                }
                if healed {
                    self.page_next_ms = poll;
                    self.registry_next_ms = poll;
                }
            }
        }
    }

    /// A side did not answer: nothing is asked of it until its status comes.
    pub(super) fn side_failed(&mut self, now_ms: u64, side: Side, step: &mut Step) {
        let code = match side {
            Side::Source => Code::SourceUnreachable,
            Side::Destination => Code::DestinationUnreachable,
        };
        let failures = self.side(side).failures;
        let pause = self.pause(failures);
        let state = self.side_mut(side);
        state.failures = failures.saturating_add(1);
        state.reason = Some(code);
        state.next_ms = now_ms.saturating_add(pause);
        step.requests.push(Request::Rotate(side));
    }

    pub(super) fn on_registry(
        &mut self,
        now_ms: u64,
        answer: Result<RegistryView, Fault>,
        step: &mut Step,
    ) {
        self.registry_busy = false;
        let view = match answer {
            Ok(view) => view,
            Err(Fault::Unreachable) => return self.side_failed(now_ms, Side::Destination, step),
            Err(_) => {
                self.rules_reason = Some(Code::BadAnswer);
                self.registry_next_ms = now_ms.saturating_add(self.settings.retry_cap_ms);
                return;
            }
        };
        self.registry_next_ms = now_ms.saturating_add(self.settings.registry_ms);
        if self.rules_view.as_ref() == Some(&view) {
            return;
        }
        let (network, chain) = self.settings.source;
        match Destination::load(&view, network, &chain) {
            Ok(rules) => {
                self.rules = Some(rules);
                self.rules_view = Some(view);
                self.rules_reason = None;
            }
            Err(code) => {
                self.rules_reason = Some(code);
                self.rules = None;
                self.rules_view = None;
            }
        }
    }

    pub(super) fn on_page(
        &mut self,
        now_ms: u64,
        from: u64,
        answer: Result<MessagePage, Fault>,
        step: &mut Step,
    ) {
        self.page_busy = false;
        self.page_next_ms = now_ms.saturating_add(self.settings.poll_ms);
        let page = match answer {
            Ok(page) => page,
            Err(Fault::Unreachable) => return self.side_failed(now_ms, Side::Source, step),
            Err(fault) => {
                let said = match &fault {
                    Fault::Refused { code, .. } => Code::from_code(code),
                    _ => None,
                };
                self.page_reason = Some(said.unwrap_or(Code::BadAnswer));
                step.requests.push(Request::Rotate(Side::Source));
                return;
            }
        };
        if self.cursor != Some(from) {
            return;
        }
        if page.total < from {
            // Another endpoint may know more; the cursor never goes back.
            self.page_reason = Some(Code::SourceRewound);
            step.requests.push(Request::Rotate(Side::Source));
            return;
        }
        let contiguous = (from..).zip(&page.messages);
        let good = page.messages.len() <= PAGE_LEN_MAX
            && contiguous.into_iter().all(|(sequence, message)| {
                message.sequence == sequence && self.is_genuine(message)
            });
        if !good {
            self.page_reason = Some(Code::BadAnswer);
            step.requests.push(Request::Rotate(Side::Source));
            return;
        }
        self.page_reason = None;
        self.total = self.total.max(page.total);
        self.source.height = self.source.height.max(page.height);
        let Some(last) = page.messages.last() else {
            return;
        };
        let next = last.sequence.saturating_add(1);
        if next < page.total || core::mem::take(&mut self.page_woken) {
            self.page_next_ms = now_ms;
        }
        for message in page.messages {
            self.observe(now_ms, message, step);
        }
        self.cursor = Some(next);
        step.writes.push(Write::Cursor(next));
    }

    /// Whether a message is what its id says and comes from the source.
    pub(super) fn is_genuine(&self, message: &Message) -> bool {
        let Ok(unsigned) = UnsignedMessage::parse(&message.unsigned) else {
            return false;
        };
        let chain = (unsigned.network_id(), *unsigned.source_chain_id());
        unsigned.id() == message.id && chain == self.settings.source
    }

    /// Queues a message that is for the destination of this route.
    pub(super) fn observe(&mut self, now_ms: u64, message: Message, step: &mut Step) {
        let Ok(unsigned) = UnsignedMessage::parse(&message.unsigned) else {
            return;
        };
        let Ok(routed) = Routed::parse(unsigned.payload()) else {
            return;
        };
        let destination = (routed.destination_network, routed.destination_chain);
        if destination != self.settings.destination {
            return;
        }
        let mut entry = Entry::observed(&message, now_ms);
        entry.expiry_height = routed.expiry_height;
        let too_old = self
            .settings
            .look_back
            .is_some_and(|look_back| message.height.saturating_add(look_back) < self.source.height);
        if too_old {
            entry.state = QueueState::Dead;
            entry.reason = Some(Code::HeightTooOld.code().to_owned());
        }
        self.stored = self.stored.saturating_add(1);
        step.notes.push(if too_old {
            Note::Dead(entry.id, Code::HeightTooOld.code().to_owned())
        } else {
            Note::Observed(entry.id)
        });
        step.writes.push(Write::Insert(Box::new(Loaded {
            entry,
            message,
            singles: Singles::default(),
            pulse: None,
        })));
    }

    pub(super) fn on_event(
        &mut self,
        now_ms: u64,
        side: Side,
        kind: EventKind,
        id: Option<Id>,
        step: &mut Step,
    ) {
        match (side, kind, id) {
            (Side::Source, EventKind::Message | EventKind::Gap, _) => {
                self.page_next_ms = now_ms;
                self.page_woken = self.page_busy;
            }
            (
                Side::Source,
                EventKind::Quorum | EventKind::Pulse | EventKind::Acknowledged,
                Some(id),
            )
            | (Side::Destination, EventKind::Delivery, Some(id)) => {
                let held = self.active.values_mut();
                let mut held = held.filter(|active| active.entry.id == id);
                match held.next() {
                    Some(active) => {
                        active.entry.next_ms = active.entry.next_ms.min(now_ms);
                        active.woken = active.busy;
                    }
                    None => step.writes.push(Write::Wake(id, now_ms)),
                }
            }
            _ => {}
        }
    }
}
