//! The decisions of one route, without clock, network, disk and randomness of their own.
//!
//! [`Core`] takes what happened ([`Input`]) and the time, and gives a [`Step`]: what to put on disk
//! first, and which requests to make then. The same inputs give the same steps. At most
//! [`ACTIVE_MAX`] messages are in memory; the rest waits on disk until the driver hands them in.
//!
//! The driver: [`Core::handle`] what arrived, [`Core::admit`] what the store says is due,
//! [`Core::tick`], commit the writes, make the requests. When a commit fails, throw the core away
//! and open another from the store.

mod message;
mod sides;

use std::collections::BTreeMap;

use bytes::Bytes;

use super::entry::{Entry, Loaded, Totals, Write};
use super::evidence::{Destination, Singles};
use crate::api::Code;
use crate::api::types::{
    Attestations, Delivery, EventKind, Have, Id, Message, MessagePage, Pulse, QueueState,
    RegistryView, Status, SubmittedEnvelope,
};

/// Messages of a route in memory at once.
pub const ACTIVE_MAX: usize = 128;
/// Requests of a route under way at once, besides those for pages, status and registry.
pub const IN_FLIGHT_MAX: usize = 32;
/// An entry whose next look is further away than this leaves the memory.
const SLEEP_MS: u64 = 50;

/// Settings of a route. Times in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Network and chain of the source.
    pub source: (u32, Id),
    /// Network and chain of the destination.
    pub destination: (u32, Id),
    /// Whether a route that starts for the first time begins with the source's first message, or
    /// with the first one sent from now on.
    pub catch_up: bool,
    /// Source heights a message may be old when it is read; older ones are dead at once.
    pub look_back: Option<u64>,
    /// Between two looks for new messages.
    pub poll_ms: u64,
    /// Between two looks at the health of either side.
    pub health_ms: u64,
    /// Between two looks at the destination's registry.
    pub registry_ms: u64,
    /// First pause after a look without progress; doubles from look to look.
    pub retry_base_ms: u64,
    /// Longest pause.
    pub retry_cap_ms: u64,
    /// How long a sent envelope may be unknown at the destination before it is sent again; doubles
    /// from submission to submission.
    pub confirm_ms: u64,
    /// Submissions after which a message is given up.
    pub submissions_max: u32,
    /// How long a message may stay undelivered before it is given up.
    pub give_up_ms: u64,
    /// How long the acknowledgement of a delivered message is looked for.
    pub ack_wait_ms: u64,
    /// Messages on disk, dead ones included, at which reading pauses.
    pub backlog_max: u64,
}

/// Which side of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Where messages come from.
    Source,
    /// Where they go.
    Destination,
}

/// A request to make once the writes of the same step are on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Status of a side; answered by [`Input::Status`].
    Status(Side),
    /// What the destination demands; answered by [`Input::Registry`].
    Registry,
    /// Messages from this sequence on; answered by [`Input::Page`].
    Page(u64),
    /// The message again, from the source; answered by [`Input::Message`].
    Message(u64, Id),
    /// Signatures that are missing; answered by [`Input::Attestations`].
    Attestations(u64, Id, Have),
    /// The Pulse; answered by [`Input::Pulse`].
    Pulse(u64, Id),
    /// Whether it has arrived; answered by [`Input::Delivery`].
    Delivery(u64, Id),
    /// Send it; answered by [`Input::Submitted`].
    Submit(u64, Id, Bytes),
    /// Use another endpoint of this side from now on; not answered.
    Rotate(Side),
}

/// Why a request brought nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nobody answered.
    Unreachable,
    /// The answer is not what the interface promises.
    BadAnswer,
    /// The other side said no.
    Refused {
        /// Its code.
        code: String,
        /// Whether it may say yes later.
        retryable: bool,
    },
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// Answer to [`Request::Status`].
    Status(Side, Result<Status, Fault>),
    /// Answer to [`Request::Registry`].
    Registry(Result<RegistryView, Fault>),
    /// Answer to [`Request::Page`].
    Page(u64, Result<MessagePage, Fault>),
    /// Answer to [`Request::Message`].
    Message(u64, Result<Message, Fault>),
    /// Answer to [`Request::Attestations`].
    Attestations(u64, Result<Attestations, Fault>),
    /// Answer to [`Request::Pulse`].
    Pulse(u64, Result<Pulse, Fault>),
    /// Answer to [`Request::Delivery`].
    Delivery(u64, Result<Option<Delivery>, Fault>),
    /// Answer to [`Request::Submit`].
    Submitted(u64, Result<SubmittedEnvelope, Fault>),
    /// A side says that something happened: a hint to look.
    Event(Side, EventKind, Option<Id>),
}

/// What follows from inputs and time: first all writes, in one transaction, then the requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// To be put on disk.
    pub writes: Vec<Write>,
    /// To be made after that.
    pub requests: Vec<Request>,
    /// For logs and metrics.
    pub notes: Vec<Note>,
}

/// Something worth a log line or a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A message was read.
    Observed(Id),
    /// A message was delivered, by whomever.
    Delivered {
        /// The message.
        id: Id,
        /// From reading to seeing it final, milliseconds.
        after_ms: u64,
        /// Whether another relayer was first.
        redundant: bool,
    },
    /// A message was acknowledged.
    Acknowledged(Id),
    /// A message waits, for this reason.
    Waits(Id, String),
    /// A message was given up, for this reason.
    Dead(Id, String),
}

/// The state of one side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideState {
    /// What is wrong, if anything.
    pub reason: Option<Code>,
    /// Whether its network and chain have been compared with the configuration.
    pub known: bool,
    /// Its height, as last seen.
    pub height: u64,
    failures: u32,
    next_ms: u64,
    busy: bool,
}

impl SideState {
    /// Whether requests make sense.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        self.known && self.reason.is_none()
    }
}

#[derive(Debug)]
struct Active {
    entry: Entry,
    message: Message,
    singles: Singles,
    pulse: Option<Vec<u8>>,
    envelope: Option<Bytes>,
    busy: bool,
    /// The inbox was asked and did not know it, since it was built.
    absent: bool,
    /// Something happened to it while a request was under way.
    woken: bool,
}

/// The decisions of one route.
#[derive(Debug)]
pub struct Core {
    settings: Settings,
    source: SideState,
    destination: SideState,
    cursor: Option<u64>,
    total: u64,
    stored: u64,
    page_busy: bool,
    page_woken: bool,
    page_next_ms: u64,
    page_reason: Option<Code>,
    rules: Option<Destination>,
    rules_view: Option<RegistryView>,
    rules_reason: Option<Code>,
    registry_busy: bool,
    registry_next_ms: u64,
    active: BTreeMap<u64, Active>,
    totals: Totals,
    jitter: u64,
}

impl Core {
    /// A route as its store left it. `stored` is the number of entries on disk that are not
    /// acknowledged; `seed` decides the jitter.
    #[must_use]
    pub fn new(
        settings: Settings,
        cursor: Option<u64>,
        stored: u64,
        totals: Totals,
        seed: u64,
    ) -> Self {
        let cursor = cursor.or(settings.catch_up.then_some(0));
        Self {
            settings,
            source: SideState::default(),
            destination: SideState::default(),
            cursor,
            total: 0,
            stored,
            page_busy: false,
            page_woken: false,
            page_next_ms: 0,
            page_reason: None,
            rules: None,
            rules_view: None,
            rules_reason: None,
            registry_busy: false,
            registry_next_ms: 0,
            active: BTreeMap::new(),
            totals,
            jitter: seed | 1,
        }
    }

    /// State of a side.
    #[must_use]
    pub const fn side(&self, side: Side) -> &SideState {
        match side {
            Side::Source => &self.source,
            Side::Destination => &self.destination,
        }
    }

    /// What keeps the route from working, if anything does.
    #[must_use]
    pub fn reason(&self) -> Option<Code> {
        let unknown = |side: &SideState, code| (!side.known).then_some(code);
        self.source
            .reason
            .or(self.destination.reason)
            .or_else(|| unknown(&self.source, Code::SourceUnreachable))
            .or_else(|| unknown(&self.destination, Code::DestinationUnreachable))
            .or(self.rules_reason)
            .or(self.page_reason)
    }

    /// Sequence of the next message to read; `None` until the source has said where it is.
    #[must_use]
    pub const fn cursor(&self) -> Option<u64> {
        self.cursor
    }

    /// Messages the source has sent, as last seen.
    #[must_use]
    pub const fn source_total(&self) -> u64 {
        self.total
    }

    /// Totals of the route.
    #[must_use]
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// How many more messages can be taken into memory.
    #[must_use]
    pub fn free(&self) -> usize {
        ACTIVE_MAX.saturating_sub(self.active.len())
    }

    /// Whether a message is in memory.
    #[must_use]
    pub fn holds(&self, sequence: u64) -> bool {
        self.active.contains_key(&sequence)
    }

    /// Forgets an entry that somebody else changed on disk, unless a request for it is under way.
    pub fn forget(&mut self, sequence: u64) -> bool {
        if self.active.get(&sequence).is_some_and(|active| active.busy) {
            return false;
        }
        self.active.remove(&sequence);
        true
    }

    /// Tells how many entries are on disk that are not acknowledged.
    pub const fn set_stored(&mut self, stored: u64) {
        self.stored = stored;
    }

    /// Takes messages that are due into memory, as many as are [`Core::free`].
    pub fn admit(&mut self, due: Vec<Loaded>) {
        for loaded in due {
            if self.free() == 0 {
                return;
            }
            let sequence = loaded.entry.sequence;
            self.active.entry(sequence).or_insert(Active {
                entry: loaded.entry,
                message: loaded.message,
                singles: loaded.singles,
                pulse: loaded.pulse,
                envelope: None,
                busy: false,
                absent: false,
                woken: false,
            });
        }
    }

    /// When [`Core::tick`] has something to do next if nothing happens before.
    #[must_use]
    pub fn next_ms(&self) -> u64 {
        let sides = [&self.source, &self.destination];
        let sides = sides.into_iter().filter(|side| !side.busy);
        let page = (!self.page_busy && self.source.is_up()).then_some(self.page_next_ms);
        let registry = !self.registry_busy && self.destination.is_up();
        let busy = self.active.values().filter(|active| active.busy).count();
        // With every place taken, the next answer is what to wait for.
        let room = busy < IN_FLIGHT_MAX;
        let entries = self.active.values().filter(|active| room && !active.busy);
        sides
            .map(|side| side.next_ms)
            .chain(page)
            .chain(registry.then_some(self.registry_next_ms))
            .chain(
                entries
                    .filter(|active| self.can_ask(active))
                    .map(|active| active.entry.next_ms),
            )
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Takes in one thing that happened.
    pub fn handle(&mut self, now_ms: u64, input: Input) -> Step {
        let mut step = Step::default();
        match input {
            Input::Status(side, answer) => self.on_status(now_ms, side, answer, &mut step),
            Input::Registry(answer) => self.on_registry(now_ms, answer, &mut step),
            Input::Page(from, answer) => self.on_page(now_ms, from, answer, &mut step),
            Input::Event(side, kind, id) => self.on_event(now_ms, side, kind, id, &mut step),
            Input::Message(at, answer) => {
                self.on_entry(now_ms, at, &mut step, |core, active, step| {
                    core.on_message(now_ms, active, answer, step)
                })
            }
            Input::Attestations(at, answer) => {
                self.on_entry(now_ms, at, &mut step, |core, active, step| {
                    core.on_attestations(now_ms, active, answer, step)
                });
            }
            Input::Pulse(at, answer) => {
                self.on_entry(now_ms, at, &mut step, |core, active, step| {
                    core.on_pulse(now_ms, active, answer, step)
                })
            }
            Input::Delivery(at, answer) => {
                self.on_entry(now_ms, at, &mut step, |core, active, step| {
                    core.on_delivery(now_ms, active, answer, step)
                });
            }
            Input::Submitted(at, answer) => {
                self.on_entry(now_ms, at, &mut step, |core, active, step| {
                    core.on_submitted(now_ms, active, answer, step)
                });
            }
        }
        step
    }

    /// Does what is due.
    pub fn tick(&mut self, now_ms: u64) -> Step {
        let mut step = Step::default();
        for side in [Side::Source, Side::Destination] {
            let state = self.side_mut(side);
            if !state.busy && state.next_ms <= now_ms {
                state.busy = true;
                step.requests.push(Request::Status(side));
            }
        }
        if self.destination.is_up() && !self.registry_busy && self.registry_next_ms <= now_ms {
            self.registry_busy = true;
            step.requests.push(Request::Registry);
        }
        self.tick_page(now_ms, &mut step);
        self.tick_entries(now_ms, &mut step);
        step
    }

    fn tick_entries(&mut self, now_ms: u64, step: &mut Step) {
        let busy = self.active.values().filter(|active| active.busy).count();
        let mut room = IN_FLIGHT_MAX.saturating_sub(busy);
        let due: Vec<u64> = self
            .active
            .iter()
            .filter(|(_, active)| !active.busy && active.entry.next_ms <= now_ms)
            .map(|(sequence, _)| *sequence)
            .collect();
        for sequence in due {
            if room == 0 {
                break;
            }
            let Some(mut active) = self.active.remove(&sequence) else {
                continue;
            };
            if self.can_ask(&active) {
                self.advance(now_ms, &mut active, step);
            }
            room = room.saturating_sub(usize::from(active.busy));
            self.active.insert(sequence, active);
        }
        let horizon = now_ms.saturating_add(SLEEP_MS);
        let down = |core: &Self, active: &Active| !core.can_ask(active);
        let asleep: Vec<u64> = self
            .active
            .iter()
            .filter(|(_, active)| !active.busy)
            .filter(|(_, active)| {
                active.entry.next_ms > horizon || active.entry.is_settled() || down(self, active)
            })
            .map(|(sequence, _)| *sequence)
            .collect();
        for sequence in asleep {
            self.active.remove(&sequence);
        }
    }

    /// Whether the side that the entry needs next answers.
    fn can_ask(&self, active: &Active) -> bool {
        match active.entry.state {
            QueueState::Observed | QueueState::WaitingQuorum | QueueState::WaitingPulse => {
                self.source.is_up() && self.rules.is_some()
            }
            QueueState::Built | QueueState::Submitted | QueueState::Included => {
                self.destination.is_up() && self.rules.is_some()
            }
            QueueState::Delivered => self.source.is_up(),
            QueueState::Acknowledged | QueueState::Dead => false,
        }
    }

    /// Whether entries that wait on disk can be worked on.
    #[must_use]
    pub const fn can_work(&self) -> bool {
        self.rules.is_some() && self.source.is_up() && self.destination.is_up()
    }

    fn side_mut(&mut self, side: Side) -> &mut SideState {
        match side {
            Side::Source => &mut self.source,
            Side::Destination => &mut self.destination,
        }
    }

    /// Runs a handler on an entry whose request came back.
    fn on_entry(
        &mut self,
        now_ms: u64,
        sequence: u64,
        step: &mut Step,
        handle: impl FnOnce(&mut Self, &mut Active, &mut Step) -> Result<(), (Side, Fault)>,
    ) {
        let Some(mut active) = self.active.remove(&sequence) else {
            return;
        };
        active.busy = false;
        if let Err((side, fault)) = handle(self, &mut active, step) {
            self.on_fault(now_ms, &mut active, side, &fault, step);
        }
        self.active.insert(sequence, active);
    }

    fn on_fault(
        &mut self,
        now_ms: u64,
        active: &mut Active,
        side: Side,
        fault: &Fault,
        step: &mut Step,
    ) {
        match fault {
            // The side's fault, not the message's: its attempts stay.
            Fault::Unreachable => {
                self.side_failed(now_ms, side, step);
                active.entry.next_ms = now_ms;
            }
            Fault::BadAnswer => {
                step.requests.push(Request::Rotate(side));
                self.pause_entry(now_ms, active, Code::BadAnswer.code(), step);
            }
            Fault::Refused { code, .. } if code == Code::AttestationRefused.code() => {
                self.bury(active, code, step);
            }
            Fault::Refused { code, .. } => self.pause_entry(now_ms, active, code, step),
        }
    }

    /// Between half of `base * 2^attempts`, capped, and all of it.
    fn pause(&mut self, attempts: u32) -> u64 {
        let factor = 1_u64.checked_shl(attempts.min(32)).unwrap_or(u64::MAX);
        let full = self
            .settings
            .retry_base_ms
            .saturating_mul(factor)
            .min(self.settings.retry_cap_ms);
        // xorshift64: spreads the looks, protects nothing.
        self.jitter ^= self.jitter << 13;
        self.jitter ^= self.jitter >> 7;
        self.jitter ^= self.jitter << 17;
        let half = full / 2;
        full.saturating_sub(self.jitter.checked_rem(half.saturating_add(1)).unwrap_or(0))
    }
}
