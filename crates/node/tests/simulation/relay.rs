//! One route of a simulated relayer: the real core over the real store on a simulated disk, with a
//! lossy and slow way to the interfaces of the validators.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use horizon_consensus::sim::{Disk, Tear};
use horizon_node::api::{Answer, ApiError, Backend, PAGE_LEN_MAX};
use horizon_node::process::backend::NodeBackend;
use horizon_node::relayer::core::{Core, Fault, Input, Note, Request, Settings, Side, Step};
use horizon_node::relayer::store::{Identity, Store};
use horizon_testkit::SeededRng;

use super::history::Presented;
use super::network::{Shared, lock};

enum Pending {
    Ask(Request),
    Hear(Input),
}

pub struct Relay {
    pub name: String,
    /// Index of the source among the networks.
    pub from: usize,
    settings: Settings,
    disk: Disk,
    core: Core,
    store: Option<Store>,
    pending: BTreeMap<(u64, u64), Pending>,
    sent: u64,
    rng: SeededRng,
    endpoints: [usize; 2],
    /// Loses this many of 100 requests and answers.
    pub loss: u64,
    /// Talks to validators that were not made faulty only. An answer of a validator that is cut off
    /// or lies is an answer: a relayer does not leave such an endpoint by itself.
    pub is_careful: bool,
    /// Presents nothing whose id is odd.
    pub withholds: bool,
    /// Dies after this many more commits.
    pub dies_in: Option<u64>,
    restarts: u64,
    pub dead: Vec<String>,
    verbose: bool,
}

pub fn settings(source: &Shared, destination: &Shared) -> Settings {
    let key = |shared: &Shared| (shared.genesis.network_id(), *shared.genesis.chain_id());
    Settings {
        source: key(source),
        destination: key(destination),
        catch_up: true,
        look_back: None,
        poll_ms: 400,
        health_ms: 2_000,
        registry_ms: 10_000,
        retry_base_ms: 200,
        retry_cap_ms: 2_000,
        confirm_ms: 3_000,
        submissions_max: 64,
        give_up_ms: 3_600_000,
        ack_wait_ms: 3_600_000,
        backlog_max: 10_000,
    }
}

fn identity(settings: &Settings) -> Identity {
    Identity {
        source: settings.source,
        destination: settings.destination,
    }
}

impl Relay {
    pub fn new(name: &str, from: usize, settings: Settings, seed: u64, verbose: bool) -> Self {
        let disk = Disk::default();
        let store = Store::open_backend(disk.open("route"), &identity(&settings)).unwrap();
        let core = Core::new(settings.clone(), None, 0, store.totals(), seed);
        Self {
            name: name.to_owned(),
            from,
            settings,
            disk,
            core,
            store: Some(store),
            pending: BTreeMap::new(),
            sent: 0,
            rng: SeededRng::new(seed),
            endpoints: [0, 0],
            loss: 0,
            is_careful: false,
            withholds: false,
            dies_in: None,
            restarts: 0,
            dead: Vec::new(),
            verbose,
        }
    }

    /// Puts the power of its disk at risk: the n-th write from now fails.
    pub fn fail_after(&self, operations: u64) {
        self.disk.fail_after(operations);
    }

    /// The process ends and another starts on what the disk kept.
    pub fn restart(&mut self) {
        let tear = match self.restarts % 2 {
            0 => Tear::Nothing,
            _ => Tear::Some(self.rng.next()),
        };
        self.disk.cut(tear);
        self.store = None;
        self.restarts += 1;
        self.pending.clear();
        self.dies_in = None;
        let store =
            Store::open_backend(self.disk.open("route"), &identity(&self.settings)).unwrap();
        self.core = Core::new(
            self.settings.clone(),
            store.cursor(),
            store.counts().stored(),
            store.totals(),
            self.rng.next(),
        );
        self.store = Some(store);
        if self.verbose {
            println!("        {} restarts", self.name);
        }
    }

    /// Lets the relayer act at this time.
    pub fn step(&mut self, now_ms: u64, nets: &[Arc<Shared>; 2], presented: &mut Vec<Presented>) {
        let due: Vec<_> = self
            .pending
            .range(..=(now_ms, u64::MAX))
            .map(|(at, _)| *at)
            .collect();
        let mut all = Step::default();
        for at in due {
            match self.pending.remove(&at) {
                Some(Pending::Ask(request)) => self.ask(now_ms, request, nets, presented),
                Some(Pending::Hear(input)) => {
                    let step = self.core.handle(now_ms, input);
                    all.writes.extend(step.writes);
                    all.requests.extend(step.requests);
                    all.notes.extend(step.notes);
                }
                None => {}
            }
        }
        if !self.commit(now_ms, all) {
            return;
        }
        if self.core.can_work() {
            let (core, free) = (&self.core, self.core.free());
            let Some(store) = &self.store else { return };
            match store.due(now_ms, free, |at| core.holds(at)) {
                Ok(due) => self.core.admit(due),
                Err(_) => return self.restart(),
            }
        }
        let step = self.core.tick(now_ms);
        self.commit(now_ms, step);
    }

    fn commit(&mut self, now_ms: u64, step: Step) -> bool {
        for note in &step.notes {
            if let Note::Dead(id, reason) = note {
                self.dead.push(format!("{}: {id:02x?} {reason}", self.name));
            }
            if self.verbose && !matches!(note, Note::Waits(..)) {
                println!("{now_ms:>7} {} {note:02x?}", self.name);
            }
        }
        if !step.writes.is_empty() {
            // Before the commit, after it, or after the requests went out.
            if let Some(left) = &mut self.dies_in {
                *left = left.saturating_sub(1);
            }
        }
        let dies = self.dies_in == Some(0);
        let point = self.restarts % 3;
        if dies && point == 0 {
            self.restart();
            return false;
        }
        let Some(store) = &mut self.store else {
            return false;
        };
        if store.commit(&step.writes).is_err() {
            self.restart();
            return false;
        }
        let stored = store.counts().stored();
        self.core.set_stored(stored);
        if dies && point == 1 {
            self.restart();
            return false;
        }
        for request in step.requests {
            if let Request::Rotate(side) = request {
                self.endpoints[usize::from(side == Side::Destination)] += 1;
                continue;
            }
            let at = now_ms + 5 + self.rng.below(60);
            self.sent += 1;
            self.pending.insert((at, self.sent), Pending::Ask(request));
        }
        if dies {
            self.restart();
            return false;
        }
        true
    }

    fn ask(
        &mut self,
        now_ms: u64,
        request: Request,
        nets: &[Arc<Shared>; 2],
        presented: &mut Vec<Presented>,
    ) {
        let there = 1 - self.from;
        let (lost, answer_lost) = (
            self.rng.below(100) < self.loss,
            self.rng.below(100) < self.loss,
        );
        // The request may arrive twice, and the answer to a request that arrived may be lost.
        let twice = self.loss > 0 && self.rng.below(10) == 0;
        let mut answer = None;
        for _ in 0..=u8::from(twice) {
            let source = nets[self.from]
                .any(self.endpoints[0], self.is_careful)
                .filter(|_| !lost);
            let destination = nets[there]
                .any(self.endpoints[1], self.is_careful)
                .filter(|_| !lost);
            let ends = [source.as_deref(), destination.as_deref()];
            answer = Some(self.call(&request, ends, nets, presented));
        }
        let mut input = answer.expect("it was asked at least once");
        if answer_lost {
            input = self.call(&request, [None, None], nets, presented);
        }
        let at = now_ms + 5 + self.rng.below(60);
        self.sent += 1;
        self.pending.insert((at, self.sent), Pending::Hear(input));
    }

    fn call(
        &self,
        request: &Request,
        [source, destination]: [Option<&NodeBackend>; 2],
        nets: &[Arc<Shared>; 2],
        presented: &mut Vec<Presented>,
    ) -> Input {
        match request {
            Request::Rotate(_) => unreachable!("it was taken before"),
            Request::Status(Side::Source) => {
                Input::Status(Side::Source, call(source, |end| end.status()))
            }
            Request::Status(Side::Destination) => {
                Input::Status(Side::Destination, call(destination, |end| end.status()))
            }
            Request::Registry => Input::Registry(call(destination, |end| end.registry())),
            Request::Page(at) => {
                Input::Page(*at, call(source, |end| end.messages(*at, PAGE_LEN_MAX)))
            }
            Request::Message(at, id) => Input::Message(*at, call(source, |end| end.message(*id))),
            Request::Attestations(at, id, have) => {
                let answer = call(source, |end| end.attestations(*id, have.clone()));
                Input::Attestations(*at, answer)
            }
            Request::Pulse(at, id) => Input::Pulse(*at, call(source, |end| end.pulse(*id))),
            Request::Delivery(at, id) => {
                let answer = match call(destination, |end| end.delivery(*id)) {
                    Ok(delivery) => Ok(Some(delivery)),
                    Err(Fault::Refused { code, .. }) if code == "delivery-unknown" => Ok(None),
                    Err(fault) => Err(fault),
                };
                Input::Delivery(*at, answer)
            }
            Request::Submit(at, id, envelope) => {
                if self.withholds && id[31] % 2 == 1 {
                    return Input::Submitted(*at, Err(Fault::Unreachable));
                }
                let answer = call(destination, |end| end.submit_envelope(envelope.clone()));
                if destination.is_some() {
                    let network = 1 - self.from;
                    let refused = match &answer {
                        Err(Fault::Refused { code, .. }) => Some(code.clone()),
                        _ => None,
                    };
                    let is_known = refused.is_some()
                        && lock(&nets[network].history)
                            .delivered()
                            .any(|delivered| delivered.id == *id);
                    presented.push(Presented {
                        network,
                        id: *id,
                        is_known,
                        refused,
                    });
                }
                Input::Submitted(*at, answer)
            }
        }
    }
}

fn call<'b, T>(
    backend: Option<&'b NodeBackend>,
    ask: impl FnOnce(&'b NodeBackend) -> Answer<'b, T>,
) -> Result<T, Fault> {
    let answer = ask(backend.ok_or(Fault::Unreachable)?);
    let answer = answer.now_or_never().expect("a node answers at once");
    answer.map_err(|error: ApiError| match error.code() {
        "unavailable" => Fault::Unreachable,
        code => Fault::Refused {
            code: code.to_owned(),
            retryable: error.is_retryable(),
        },
    })
}
