//! One route at work: its core, its file, and the requests to both sides.

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use futures::StreamExt;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::config::RouteConfig;
use super::core::{Core, Fault, Input, Note, Request, Side, Step};
use super::metrics::Metrics;
use super::store::{self, Identity, Store};
use crate::api::types::{
    EventKind, QueueEntry, QueueFilter, RetryRequest, Route, RouteList, text::to_hex,
};
use crate::api::{Code, EventId, PAGE_LEN_MAX};
use crate::client::{self, Client};

/// Answers and hints that wait for the core. Answers are bounded by the requests under way; hints
/// beyond this are dropped.
const INPUT_COUNT_MAX: usize = 256;
/// Questions that wait for the route.
const COMMAND_COUNT_MAX: usize = 16;
/// Inputs taken into one transaction.
const BATCH_LEN_MAX: usize = 64;
/// Longest sleep: the clock may be set while the process sleeps.
const SLEEP_MS_MAX: u64 = 1_000;
/// Pause before a failed file is opened again.
const REOPEN: Duration = Duration::from_secs(1);
/// Pauses before an event stream is opened again.
const STREAM_PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));
/// How often the route's figures are refreshed.
const SHOW_MS: u64 = 200;

/// A question to a route.
pub(super) enum Command {
    Queue(
        Box<QueueFilter>,
        usize,
        oneshot::Sender<(Vec<QueueEntry>, bool)>,
    ),
    Retry(Box<RetryRequest>, oneshot::Sender<u64>),
}

/// A route as the interface sees it.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    pub(super) name: String,
    pub(super) commands: mpsc::Sender<Command>,
    shown: Arc<Mutex<Route>>,
}

impl Handle {
    pub(super) fn shown(&self) -> Route {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.clone()
    }
}

/// The endpoints of one side, one of which is used at a time.
#[derive(Debug)]
struct Endpoints {
    clients: Vec<Client>,
    current: AtomicUsize,
}

impl Endpoints {
    const fn new(clients: Vec<Client>) -> Self {
        Self {
            clients,
            current: AtomicUsize::new(0),
        }
    }

    fn current(&self) -> Option<Client> {
        let at = self.current.load(Ordering::Relaxed);
        let at = at.checked_rem(self.clients.len())?;
        self.clients.get(at).cloned()
    }

    fn rotate(&self) {
        self.current.fetch_add(1, Ordering::Relaxed);
    }
}

/// An input and the epoch of the core it is for; hints are for any.
type Tagged = (u64, Input);

pub(super) struct Runner {
    config: RouteConfig,
    path: PathBuf,
    core: Core,
    store: Store,
    /// Grows with every core: answers to an earlier one are not for this one.
    epoch: u64,
    source: Arc<Endpoints>,
    destination: Arc<Endpoints>,
    metrics: Arc<Metrics>,
    shown: Arc<Mutex<Route>>,
    clock: Clock,
    shown_ms: u64,
    /// Something changed since the figures were shown.
    changed: bool,
    degraded: Option<Code>,
    inputs: (mpsc::Sender<Tagged>, mpsc::Receiver<Tagged>),
    commands: mpsc::Receiver<Command>,
    requests: JoinSet<()>,
}

impl Runner {
    /// Opens the route's file.
    pub(super) fn open(
        config: RouteConfig,
        path: PathBuf,
        metrics: Arc<Metrics>,
    ) -> Result<(Self, Handle), store::Error> {
        let clock = Clock::start();
        let store = open_store(&path, &config, clock.now_ms())?;
        let core = core_of(&config, &store);
        let shown = Arc::new(Mutex::new(show(&config, &core, &store)));
        let (sender, commands) = mpsc::channel(COMMAND_COUNT_MAX);
        let handle = Handle {
            name: config.name.clone(),
            commands: sender,
            shown: Arc::clone(&shown),
        };
        let runner = Self {
            source: Arc::new(Endpoints::new(config.source.clone())),
            destination: Arc::new(Endpoints::new(config.destination.clone())),
            config,
            path,
            core,
            store,
            epoch: 0,
            metrics,
            shown,
            clock,
            shown_ms: 0,
            changed: true,
            degraded: None,
            inputs: mpsc::channel(INPUT_COUNT_MAX),
            commands,
            requests: JoinSet::new(),
        };
        Ok((runner, handle))
    }

    /// Works until `stop` says true.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut hints = JoinSet::new();
        for (side, endpoints) in [
            (Side::Source, &self.source),
            (Side::Destination, &self.destination),
        ] {
            hints.spawn(follow(side, Arc::clone(endpoints), self.inputs.0.clone()));
        }
        let mut arrived = Vec::new();
        loop {
            let wait_ms = match tokio::task::block_in_place(|| self.step(&mut arrived)) {
                Ok(wait_ms) => wait_ms,
                Err(error) => {
                    self.metrics.store_failed(&self.config.name);
                    tracing::error!(route = self.config.name, %error, "store failed");
                    if !self.reopen(&mut stop).await {
                        return;
                    }
                    continue;
                }
            };
            let sleep = tokio::time::sleep(Duration::from_millis(wait_ms.min(SLEEP_MS_MAX)));
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => return,
                Some(command) = self.commands.recv() => {
                    tokio::task::block_in_place(|| self.answer(command));
                }
                Some(input) = self.inputs.1.recv() => {
                    arrived.push(input);
                    while arrived.len() < BATCH_LEN_MAX {
                        let Ok(input) = self.inputs.1.try_recv() else { break };
                        arrived.push(input);
                    }
                }
                Some(_) = self.requests.join_next(), if !self.requests.is_empty() => {}
                () = sleep => {}
            }
        }
    }

    /// Takes in what arrived, does what is due, and says how long to wait, in milliseconds.
    fn step(&mut self, arrived: &mut Vec<Tagged>) -> Result<u64, store::Error> {
        let now_ms = self.clock.now_ms();
        let mut step = Step::default();
        for (epoch, input) in arrived.drain(..) {
            // Hints belong to no core.
            if epoch == self.epoch || matches!(input, Input::Event(..)) {
                let more = self.core.handle(now_ms, input);
                step.writes.extend(more.writes);
                step.requests.extend(more.requests);
                step.notes.extend(more.notes);
            }
        }
        self.perform(step)?;
        let mut more = false;
        if self.core.can_work() {
            let free = self.core.free();
            let core = &self.core;
            let due = self.store.due(now_ms, free, |at| core.holds(at))?;
            more = free > 0 && due.len() >= free;
            self.core.admit(due);
        }
        let step = self.core.tick(now_ms);
        self.perform(step)?;
        let shown_ago_ms = now_ms.saturating_sub(self.shown_ms);
        let news = self.core.reason() != self.degraded;
        if news || shown_ago_ms >= if self.changed { SHOW_MS } else { SLEEP_MS_MAX } {
            self.show(now_ms)?;
        }
        if more && self.core.free() > 0 {
            return Ok(0);
        }
        let mut next_ms = self.core.next_ms();
        if self.core.can_work()
            && self.core.free() > 0
            && let Some(due_ms) = self.store.next_due(now_ms)?
        {
            next_ms = next_ms.min(due_ms);
        }
        if self.changed {
            next_ms = next_ms.min(now_ms.saturating_add(SHOW_MS));
        }
        Ok(next_ms.saturating_sub(now_ms))
    }

    /// Writes first; only then makes the requests.
    fn perform(&mut self, step: Step) -> Result<(), store::Error> {
        self.changed |= !step.writes.is_empty();
        self.store.commit(&step.writes)?;
        self.core.set_stored(self.store.counts().stored());
        for note in step.notes {
            self.note(&note);
        }
        for request in step.requests {
            self.request(request);
        }
        Ok(())
    }

    fn note(&self, note: &Note) {
        let route = self.config.name.as_str();
        match note {
            Note::Observed(id) => {
                self.metrics.message(route, "observed");
                tracing::debug!(route, message_id = to_hex(id), "observed");
            }
            Note::Delivered {
                id,
                after_ms,
                redundant,
            } => {
                self.metrics.message(route, "delivered");
                if *redundant {
                    self.metrics.message(route, "redundant");
                }
                let seconds = Duration::from_millis(*after_ms).as_secs_f64();
                self.metrics.delivered(route, seconds);
                tracing::info!(
                    route,
                    message_id = to_hex(id),
                    after_ms,
                    redundant,
                    "delivered"
                );
            }
            Note::Acknowledged(id) => {
                self.metrics.message(route, "acknowledged");
                tracing::debug!(route, message_id = to_hex(id), "acknowledged");
            }
            Note::Waits(id, reason) => {
                self.metrics.wait(route, reason);
                tracing::debug!(route, message_id = to_hex(id), reason, "waits");
            }
            Note::Dead(id, reason) => {
                self.metrics.message(route, "dead");
                tracing::warn!(route, message_id = to_hex(id), reason, "dead letter");
            }
        }
    }

    fn request(&mut self, request: Request) {
        let side = match &request {
            Request::Rotate(Side::Source) => return self.source.rotate(),
            Request::Rotate(Side::Destination) => return self.destination.rotate(),
            Request::Status(side) => *side,
            Request::Page(_)
            | Request::Message(..)
            | Request::Attestations(..)
            | Request::Pulse(..) => Side::Source,
            Request::Registry | Request::Delivery(..) | Request::Submit(..) => Side::Destination,
        };
        let (endpoints, name) = match side {
            Side::Source => (&self.source, "source"),
            Side::Destination => (&self.destination, "destination"),
        };
        // A configuration has at least one endpoint per side.
        let Some(client) = endpoints.current() else {
            return;
        };
        let (metrics, route) = (Arc::clone(&self.metrics), self.config.name.clone());
        let (answers, epoch) = (self.inputs.0.clone(), self.epoch);
        self.requests.spawn(async move {
            let submit = matches!(request, Request::Submit(..));
            let start = Instant::now();
            let (input, result) = ask(&client, request).await;
            metrics.request(&route, name, result);
            if submit {
                metrics.submitted(&route, start.elapsed().as_secs_f64());
            }
            // The receiver goes only with the route.
            let _ = answers.send((epoch, input)).await;
        });
    }

    /// Opens the file again and starts a new core from it. Gives false when told to stop.
    async fn reopen(&mut self, stop: &mut watch::Receiver<bool>) -> bool {
        self.requests.shutdown().await;
        self.epoch = self.epoch.saturating_add(1);
        self.degrade(Some(Code::StoreFailed));
        loop {
            let stopped = tokio::time::timeout(REOPEN, stop.wait_for(|stop| *stop)).await;
            if stopped.is_ok() {
                return false;
            }
            // The old file must be closed before it can be opened again.
            let opened = tokio::task::block_in_place(|| {
                self.store.close();
                open_store(&self.path, &self.config, self.clock.now_ms())
            });
            match opened {
                Ok(store) => {
                    self.core = core_of(&self.config, &store);
                    self.store = store;
                    return true;
                }
                Err(error) => {
                    self.metrics.store_failed(&self.config.name);
                    tracing::debug!(route = self.config.name, %error, "store still fails");
                }
            }
        }
    }

    fn answer(&mut self, command: Command) {
        let failed = |error: store::Error| {
            tracing::error!(%error, "store failed");
        };
        match command {
            Command::Queue(filter, limit, reply) => match self.store.queue(&filter, limit) {
                Ok((entries, more)) => {
                    let entries = entries.iter().map(|entry| entry.view(&self.config.name));
                    let _ = reply.send((entries.collect(), more));
                }
                Err(error) => failed(error),
            },
            Command::Retry(request, reply) => {
                let (core, now_ms) = (&mut self.core, self.clock.now_ms());
                let retried = self
                    .store
                    .retry(&request, now_ms, |at| core.holds(at) && !core.forget(at));
                match retried {
                    Ok(retried) => {
                        let _ = reply.send(retried);
                    }
                    Err(error) => failed(error),
                }
            }
        }
    }

    fn show(&mut self, now_ms: u64) -> Result<(), store::Error> {
        self.shown_ms = now_ms;
        self.changed = false;
        let mut route = show(&self.config, &self.core, &self.store);
        route.oldest_ms = self.store.oldest_ms()?;
        self.metrics.show(&route, now_ms);
        self.degrade(self.core.reason());
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        *shown = route;
        Ok(())
    }

    /// Logs a change of health once.
    fn degrade(&mut self, reason: Option<Code>) {
        if reason == self.degraded {
            return;
        }
        let route = self.config.name.as_str();
        match reason {
            Some(code) => tracing::warn!(route, reason = code.code(), "route degraded"),
            None => tracing::info!(route, "route healthy"),
        }
        self.degraded = reason;
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.healthy = reason.is_none();
        shown.reason = reason.map(|code| code.code().to_owned());
    }
}

/// All routes, for the interface.
pub(super) fn list(handles: &[Handle]) -> RouteList {
    RouteList {
        routes: handles.iter().map(Handle::shown).collect(),
    }
}

/// Time that follows the wall clock at the start and runs evenly from there: a clock that is set
/// while the relayer works neither wakes nor delays anything.
#[derive(Clone, Copy, Debug)]
struct Clock {
    wall_ms: u64,
    start: Instant,
}

impl Clock {
    fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            wall_ms: since.map_or(0, milliseconds),
            start: Instant::now(),
        }
    }

    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64 {
        self.wall_ms
            .saturating_add(milliseconds(self.start.elapsed()))
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Opens the file; looks that a wrong clock put further away than any pause come at once.
fn open_store(path: &Path, config: &RouteConfig, now_ms: u64) -> Result<Store, store::Error> {
    let mut store = Store::open(path, &identity(config))?;
    let settings = &config.settings;
    let pause_ms = settings.retry_cap_ms.max(settings.poll_ms);
    store.bring_forward(now_ms, now_ms.saturating_add(pause_ms))?;
    Ok(store)
}

fn core_of(config: &RouteConfig, store: &Store) -> Core {
    // Relayers that started together must not look together.
    let seed = getrandom::u64().unwrap_or_else(|_| Clock::start().now_ms());
    Core::new(
        config.settings.clone(),
        store.cursor(),
        store.counts().stored(),
        store.totals(),
        seed,
    )
}

const fn identity(config: &RouteConfig) -> Identity {
    Identity {
        source: config.settings.source,
        destination: config.settings.destination,
    }
}

fn show(config: &RouteConfig, core: &Core, store: &Store) -> Route {
    let (counts, totals, reason) = (store.counts(), core.totals(), core.reason());
    Route {
        name: config.name.clone(),
        from: config.from.clone(),
        to: config.to.clone(),
        healthy: reason.is_none(),
        reason: reason.map(|code| code.code().to_owned()),
        cursor: core.cursor().unwrap_or(0),
        source_total: core.source_total(),
        source_height: core.side(Side::Source).height,
        destination_height: core.side(Side::Destination).height,
        backlog: counts.backlog,
        unacknowledged: counts.delivered,
        dead: counts.dead,
        delivered: totals.delivered,
        redundant: totals.redundant,
        submissions: totals.submissions,
        oldest_ms: None,
    }
}

async fn ask(client: &Client, request: Request) -> (Input, &'static str) {
    fn fault<T>(answer: Result<T, client::Error>) -> (Result<T, Fault>, &'static str) {
        match answer {
            Ok(value) => (Ok(value), "ok"),
            Err(client::Error::Api { body, .. }) => {
                let fault = Fault::Refused {
                    code: body.code,
                    retryable: body.retryable,
                };
                (Err(fault), "refused")
            }
            Err(client::Error::BadAnswer { .. }) => (Err(Fault::BadAnswer), "bad_answer"),
            Err(_) => (Err(Fault::Unreachable), "unreachable"),
        }
    }
    match request {
        Request::Status(side) => {
            let (answer, result) = fault(client.status().await);
            (Input::Status(side, answer), result)
        }
        Request::Registry => {
            let (answer, result) = fault(client.registry().await);
            (Input::Registry(answer), result)
        }
        Request::Page(from) => {
            let after = from.checked_sub(1);
            let (answer, result) = fault(client.messages(after, PAGE_LEN_MAX).await);
            (Input::Page(from, answer), result)
        }
        Request::Message(at, id) => {
            let (answer, result) = fault(client.message(&id).await);
            (Input::Message(at, answer), result)
        }
        Request::Attestations(at, id, have) => {
            let (answer, result) = fault(client.attestations(&id, &have).await);
            (Input::Attestations(at, answer), result)
        }
        Request::Pulse(at, id) => {
            let (answer, result) = fault(client.pulse(&id).await);
            (Input::Pulse(at, answer), result)
        }
        Request::Delivery(at, id) => {
            let (answer, result) = fault(client.delivery(&id).await);
            (Input::Delivery(at, answer), result)
        }
        Request::Submit(at, _, envelope) => {
            let (answer, result) = fault(client.submit_envelope(envelope).await);
            (Input::Submitted(at, answer), result)
        }
        // Handled before a task is made.
        Request::Rotate(side) => (Input::Event(side, EventKind::Gap, None), "ok"),
    }
}

/// Follows a side's events, which shorten waits and are needed for nothing else.
async fn follow(side: Side, endpoints: Arc<Endpoints>, inputs: mpsc::Sender<Tagged>) {
    let (shortest, longest) = STREAM_PAUSE;
    let mut pause = shortest;
    let mut last: Option<EventId> = None;
    loop {
        let Some(client) = endpoints.current() else {
            return;
        };
        if let Ok(mut events) = client.events(last).await {
            while let Some(Ok((id, event))) = events.next().await {
                pause = shortest;
                last = Some(id);
                if event.kind == EventKind::Block {
                    continue;
                }
                // A full queue has enough to do already.
                let hint = Input::Event(side, event.kind, event.id);
                if let Err(mpsc::error::TrySendError::Closed(_)) = inputs.try_send((0, hint)) {
                    return;
                }
            }
        }
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2).min(longest);
    }
}
