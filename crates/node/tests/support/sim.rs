//! Relayers and networks under one virtual clock: deterministic, without sockets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::future::FutureExt;
use futures::stream::{BoxStream, StreamExt};
use horizon_node::api::types::{Event, Id, QueueFilter, QueueState};
use horizon_node::api::{ApiError, Backend, EventId, PAGE_LEN_MAX};
use horizon_node::relayer::core::{Core, Fault, Input, Note, Request, Settings, Side, Step};
use horizon_node::relayer::entry::Entry;
use horizon_node::relayer::store::{Identity, Store};
use std::io::Error as BackendIoError;

use redb::StorageBackend;

use super::fake::{Fake, ISSUED_S};

pub const START_MS: u64 = (ISSUED_S + 60) * 1_000;

/// A disk in memory that survives the store on it, and can fail at its n-th operation: what was not
/// synced by then is lost, wholly or in part.
#[derive(Clone, Debug, Default)]
pub struct Disk(Arc<Mutex<DiskState>>);

#[derive(Debug, Default)]
struct DiskState {
    bytes: Vec<u8>,
    synced: Vec<u8>,
    operations: u64,
    fail_at: Option<u64>,
    broken: bool,
}

impl Disk {
    /// Fails at this many operations from now.
    pub fn fail_after(&self, operations: u64) {
        let mut state = self.0.lock().unwrap();
        state.fail_at = Some(state.operations + operations);
    }

    /// Another disk with the same content.
    pub fn copy(&self) -> Self {
        let bytes = self.0.lock().unwrap().bytes.clone();
        Self(Arc::new(Mutex::new(DiskState {
            bytes,
            ..DiskState::default()
        })))
    }

    pub fn is_broken(&self) -> bool {
        self.0.lock().unwrap().broken
    }

    /// Power comes back: the synced state, with a part of the later writes if `torn`.
    pub fn repair(&self, torn: bool) {
        let mut state = self.0.lock().unwrap();
        state.fail_at = None;
        state.broken = false;
        if torn {
            // Every other page of 4 KiB made it.
            let (synced, bytes) = (state.synced.clone(), state.bytes.clone());
            let mut mixed = bytes;
            for (page, chunk) in mixed.chunks_mut(4_096).enumerate() {
                let old = synced.get(page * 4_096..page * 4_096 + chunk.len());
                if let (0, Some(old)) = (page % 2, old) {
                    chunk.copy_from_slice(old);
                }
            }
            state.bytes = mixed;
        } else {
            state.bytes = state.synced.clone();
        }
    }

    fn count(state: &mut DiskState) -> Result<(), BackendIoError> {
        state.operations += 1;
        if state.fail_at.is_some_and(|at| state.operations >= at) {
            state.broken = true;
        }
        if state.broken {
            return Err(std::io::Error::other("the disk failed"));
        }
        Ok(())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, BackendIoError> {
        Ok(self.0.lock().unwrap().bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), BackendIoError> {
        let state = self.0.lock().unwrap();
        let from = offset as usize;
        out.copy_from_slice(&state.bytes[from..from + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), BackendIoError> {
        let mut state = self.0.lock().unwrap();
        Self::count(&mut state)?;
        state.bytes.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), BackendIoError> {
        let mut state = self.0.lock().unwrap();
        Self::count(&mut state)?;
        if state.fail_at.is_some() {
            state.synced = state.bytes.clone();
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), BackendIoError> {
        let mut state = self.0.lock().unwrap();
        Self::count(&mut state)?;
        let from = offset as usize;
        state.bytes[from..from + data.len()].copy_from_slice(data);
        Ok(())
    }
}

/// Where a relayer is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kill {
    /// Before the n-th commit.
    Before,
    /// After it, before its requests.
    After,
    /// After its requests were made, before any answer.
    Sent,
}

pub struct Relay {
    pub name: &'static str,
    pub settings: Settings,
    pub source: Arc<Fake>,
    pub destination: Arc<Fake>,
    pub disk: Disk,
    pub core: Core,
    pub store: Option<Store>,
    pub latency_ms: u64,
    pub commits: u64,
    pub kill: Option<(u64, Kill)>,
    pub restarts: u64,
    pub notes: Vec<Note>,
    pub requests: u64,
    /// Most messages in memory at once.
    pub memory: usize,
    hints: Option<[BoxStream<'static, (EventId, Event)>; 2]>,
    answers: BTreeMap<(u64, u64), Input>,
    sent: u64,
    next_ms: u64,
}

pub fn settings(source: &Fake, destination: &Fake) -> Settings {
    Settings {
        source: (source.network_id, source.chain_id),
        destination: (destination.network_id, destination.chain_id),
        catch_up: true,
        look_back: None,
        poll_ms: 200,
        health_ms: 1_000,
        registry_ms: 5_000,
        retry_base_ms: 100,
        retry_cap_ms: 5_000,
        confirm_ms: 3_000,
        submissions_max: 16,
        give_up_ms: 3_600_000,
        ack_wait_ms: 60_000,
        backlog_max: 100_000,
    }
}

impl Relay {
    pub fn new(
        name: &'static str,
        source: &Arc<Fake>,
        destination: &Arc<Fake>,
        settings: Settings,
    ) -> Self {
        let disk = Disk::default();
        let store = Store::open_backend(disk.clone(), &identity(&settings)).unwrap();
        let core = Core::new(settings.clone(), None, 0, store.totals(), 1);
        let hints = [source.events.follow(None), destination.events.follow(None)];
        Self {
            name,
            settings,
            source: Arc::clone(source),
            destination: Arc::clone(destination),
            disk,
            core,
            store: Some(store),
            latency_ms: 5,
            commits: 0,
            kill: None,
            restarts: 0,
            notes: Vec::new(),
            requests: 0,
            memory: 0,
            hints: Some(hints),
            answers: BTreeMap::new(),
            sent: 0,
            next_ms: 0,
        }
    }

    /// The process ends and another starts on the same disk.
    pub fn restart(&mut self) {
        self.store = None;
        if self.disk.is_broken() {
            self.disk.repair(self.restarts % 2 == 1);
        }
        self.restarts += 1;
        let store = Store::open_backend(self.disk.clone(), &identity(&self.settings)).unwrap();
        self.core = Core::new(
            self.settings.clone(),
            store.cursor(),
            store.counts().stored(),
            store.totals(),
            self.restarts + 1,
        );
        self.store = Some(store);
        self.answers.clear();
        self.next_ms = 0;
    }

    pub fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    pub fn entry(&self, id: &Id) -> Option<Entry> {
        self.store().get(id).unwrap().map(|loaded| loaded.entry)
    }

    pub fn state(&self, id: &Id) -> Option<QueueState> {
        self.entry(id).map(|entry| entry.state)
    }

    pub fn entries(&self, state: QueueState) -> Vec<Entry> {
        let filter = QueueFilter {
            state: Some(state),
            ..QueueFilter::default()
        };
        self.store().queue(&filter, 1_000).unwrap().0
    }

    fn step(&mut self, now_ms: u64) {
        let mut all = Step::default();
        let ready: Vec<(u64, u64)> = self
            .answers
            .range(..=(now_ms, u64::MAX))
            .map(|(key, _)| *key)
            .collect();
        for key in ready {
            let input = self.answers.remove(&key).unwrap();
            merge(&mut all, self.core.handle(now_ms, input));
        }
        if let Some(hints) = &mut self.hints {
            let mut events = Vec::new();
            for (side, stream) in [Side::Source, Side::Destination].into_iter().zip(hints) {
                while let Some(Some((_, event))) = stream.next().now_or_never() {
                    events.push(Input::Event(side, event.kind, event.id));
                }
            }
            for event in events {
                merge(&mut all, self.core.handle(now_ms, event));
            }
        }
        // What was just decided must be on disk before the disk is asked what is due.
        if !self.commit(now_ms, all) {
            return;
        }
        let mut more = false;
        if self.core.can_work() {
            let asked = self.core.free();
            let due = self.store().due(now_ms, asked, |at| self.core.holds(at));
            let Ok(due) = due else {
                return self.restart();
            };
            more = asked > 0 && due.len() == asked;
            self.core.admit(due);
        }
        self.memory = self
            .memory
            .max(horizon_node::relayer::core::ACTIVE_MAX - self.core.free());
        let step = self.core.tick(now_ms);
        if !self.commit(now_ms, step) {
            return;
        }
        let stored = self.core.can_work().then(|| self.store().next_due(now_ms));
        let Ok(stored) = stored.transpose() else {
            return self.restart();
        };
        self.next_ms = match more {
            true => now_ms + 1,
            false => self
                .core
                .next_ms()
                .min(stored.flatten().unwrap_or(u64::MAX)),
        };
        self.next_ms = self.next_ms.max(now_ms + 1);
    }

    /// Gives false if the relayer was killed or its disk failed.
    fn commit(&mut self, now_ms: u64, step: Step) -> bool {
        self.notes.extend(step.notes);
        if !step.writes.is_empty()
            || step
                .requests
                .iter()
                .any(|r| matches!(r, Request::Submit(..)))
        {
            self.commits += 1;
        }
        let kill = self.kill.filter(|(at, _)| *at == self.commits).map(|k| k.1);
        if kill == Some(Kill::Before) {
            self.kill = None;
            self.restart();
            return false;
        }
        let committed = self.store.as_mut().unwrap().commit(&step.writes);
        if committed.is_err() {
            self.restart();
            return false;
        }
        let stored = self.store().counts().stored();
        self.core.set_stored(stored);
        if kill == Some(Kill::After) {
            self.kill = None;
            self.restart();
            return false;
        }
        for request in step.requests {
            self.requests += 1;
            let Some(answer) = self.ask(request) else {
                continue;
            };
            self.sent += 1;
            self.answers
                .insert((now_ms + self.latency_ms, self.sent), answer);
        }
        if kill == Some(Kill::Sent) {
            self.kill = None;
            self.restart();
            return false;
        }
        true
    }

    fn ask(&self, request: Request) -> Option<Input> {
        let (from, to) = (&self.source, &self.destination);
        Some(match request {
            Request::Rotate(_) => return None,
            Request::Status(Side::Source) => {
                Input::Status(Side::Source, call(from, |fake| fake.status()))
            }
            Request::Status(Side::Destination) => {
                Input::Status(Side::Destination, call(to, |fake| fake.status()))
            }
            Request::Registry => Input::Registry(call(to, |fake| fake.registry())),
            Request::Page(at) => {
                Input::Page(at, call(from, |fake| fake.messages(at, PAGE_LEN_MAX)))
            }
            Request::Message(at, id) => Input::Message(at, call(from, |fake| fake.message(id))),
            Request::Attestations(at, id, have) => {
                Input::Attestations(at, call(from, |fake| fake.attestations(id, have)))
            }
            Request::Pulse(at, id) => Input::Pulse(at, call(from, |fake| fake.pulse(id))),
            Request::Delivery(at, id) => {
                let answer = call(to, |fake| fake.delivery(id));
                Input::Delivery(
                    at,
                    match answer {
                        Ok(delivery) => Ok(Some(delivery)),
                        Err(Fault::Refused { code, .. }) if code == "delivery-unknown" => Ok(None),
                        Err(fault) => Err(fault),
                    },
                )
            }
            Request::Submit(at, _, envelope) => {
                Input::Submitted(at, call(to, |fake| fake.submit_envelope(envelope)))
            }
        })
    }
}

fn call<'f, T>(
    fake: &'f Arc<Fake>,
    ask: impl FnOnce(&'f Fake) -> horizon_node::api::Answer<'f, T>,
) -> Result<T, Fault> {
    if fake.lock().down {
        return Err(Fault::Unreachable);
    }
    let answer = ask(fake).now_or_never().expect("the fake answers at once");
    answer.map_err(|error: ApiError| match error.code() {
        "unavailable" => Fault::Unreachable,
        code => Fault::Refused {
            code: code.to_owned(),
            retryable: error.is_retryable(),
        },
    })
}

fn identity(settings: &Settings) -> Identity {
    Identity {
        source: settings.source,
        destination: settings.destination,
    }
}

fn merge(all: &mut Step, step: Step) {
    all.writes.extend(step.writes);
    all.requests.extend(step.requests);
    all.notes.extend(step.notes);
}

/// Networks, relayers and the clock.
pub struct Sim {
    pub now_ms: u64,
    pub block_ms: u64,
    pub networks: Vec<Arc<Fake>>,
    pub relays: Vec<Relay>,
    next_block_ms: u64,
}

impl Sim {
    pub fn new(networks: &[&Arc<Fake>], relays: Vec<Relay>) -> Self {
        Self {
            now_ms: START_MS,
            block_ms: 500,
            networks: networks.iter().map(|fake| Arc::clone(fake)).collect(),
            relays,
            next_block_ms: START_MS + 500,
        }
    }

    /// Runs until the condition holds; gives false when the time is over first.
    pub fn run_until(&mut self, ms: u64, mut condition: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now_ms + ms;
        while self.now_ms <= end {
            for fake in &self.networks {
                fake.lock().now_ms = self.now_ms;
            }
            if self.now_ms >= self.next_block_ms {
                self.next_block_ms += self.block_ms;
                for fake in &self.networks {
                    fake.block(self.now_ms);
                }
                for fake in &self.networks {
                    for other in &self.networks {
                        if !Arc::ptr_eq(fake, other) {
                            fake.acknowledge_from(other);
                        }
                    }
                }
            }
            for relay in &mut self.relays {
                relay.step(self.now_ms);
            }
            if condition(self) {
                return true;
            }
            let next = self.relays.iter().map(|relay| {
                let answer = relay.answers.keys().next().map_or(u64::MAX, |key| key.0);
                relay.next_ms.min(answer)
            });
            let next = next.chain([self.next_block_ms]).min().unwrap();
            self.now_ms = next.max(self.now_ms + 1);
        }
        false
    }

    pub fn run(&mut self, ms: u64) {
        self.run_until(ms, |_| false);
    }
}
