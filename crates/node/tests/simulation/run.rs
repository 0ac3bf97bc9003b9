//! One seed from the first block to the verdict.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt as _;
use horizon_consensus::runtime::deterministic::{
    Config, FaultConfig, PartialWriteMode, Runner, WriteConfig,
};
use horizon_consensus::runtime::{Clock as _, Runner as _, Supervisor as _};
use horizon_consensus::sim::{Backup, Context, Dealt, Disk, Net, Spec, Tear};
use horizon_ledger::{Genesis, tx};
use horizon_node::api::Backend;
use horizon_node::process::router::since_epoch;
use horizon_sig::mldsa::{ParameterSet, SigningKey};
use horizon_testkit::SeededRng;
use horizon_warp::payload::EXPIRY_NEVER;

use super::attacks::{self, Node};
use super::checks;
use super::history::{History, Id};
use super::network::{self, Role, Shared, lock};
use super::plan::{Call, Event, Plan, What};
use super::relay::{self, Relay};

/// Between two looks of the driver.
const STEP: Duration = Duration::from_millis(25);
/// Simulated time after which a run has failed to deliver.
const LIMIT_MS: u64 = 240_000;
/// Between blocks.
const INTERVAL_MS: u64 = 400;

pub struct Outcome {
    pub seed: u64,
    pub trace: String,
    pub history: History,
    /// Ends of processes that no fault explains.
    pub unexpected: Vec<String>,
    pub simulated_ms: u64,
}

impl Outcome {
    pub fn violations(&self) -> Vec<String> {
        let checks = checks::ALL.iter().chain(&checks::MORE);
        let failed = checks.filter_map(|(name, check)| {
            let why = check(&self.history).err()?;
            Some(format!("{name}: {why}"))
        });
        failed.chain(self.unexpected.iter().cloned()).collect()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heights = self
            .history
            .networks
            .each_ref()
            .map(|network| network.blocks.len());
        write!(
            f,
            "seed {}: {} simulated ms, blocks {heights:?}, trace {}",
            self.seed, self.simulated_ms, self.trace
        )
    }
}

pub fn run(seed: u64, verbose: bool) -> Outcome {
    let plan = Plan::draw(seed);
    if verbose {
        println!("{plan:#?}");
        // RUST_LOG=debug shows what the product says. Set once in a process.
        let _ = tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
            .without_time()
            .try_init();
    }
    let faults = FaultConfig::default().write(WriteConfig {
        failure_rate: commonware_utils::probability!(0.0),
        retention_rate: commonware_utils::probability!(0.5),
        mode: PartialWriteMode::Prefix,
    });
    let config = Config::new()
        .with_seed(seed)
        .with_storage_fault_config(faults)
        .with_timeout(Some(Duration::from_secs(3_600)));
    Runner::new(config).start(|context| async move {
        let mut run = Run::new(context, plan, verbose).await;
        run.drive().await;
        let blocked = [run.nets[0].blocked().await, run.nets[1].blocked().await];
        run.finish(&blocked)
    })
}

struct Run {
    context: Context,
    plan: Plan,
    verbose: bool,
    nets: [Net; 2],
    shared: [Arc<Shared>; 2],
    relays: Vec<Relay>,
    senders: [Sender; 2],
    /// Validators that come back: time, network, position.
    returns: Vec<(u64, usize, u16)>,
    /// Links that heal: time, network.
    heals: Vec<(u64, usize)>,
    copies: Vec<Copy>,
    /// Ends with exit code 7 that a copy explains.
    excused: [Option<u16>; 2],
    history: History,
    unexpected: Vec<String>,
    rng: SeededRng,
}

/// An old copy that waits for its time.
struct Copy {
    at_ms: u64,
    network: usize,
    at: u16,
    backup: Backup,
    is_clone: bool,
}

/// An account and what it still has to send.
struct Sender {
    key: SigningKey,
    calls: Vec<Call>,
    signed: Option<Vec<u8>>,
    next_ms: u64,
}

fn genesis(dealt: &Dealt, other: &Dealt) -> Genesis {
    let mut spec = dealt.spec(&[&other.record], INTERVAL_MS);
    // Small batches: an index costs all four members a matrix.
    spec.pulse.count = 2;
    spec.pulse.live_batches = 4;
    Genesis::new(spec).unwrap()
}

impl Run {
    async fn new(context: Context, plan: Plan, verbose: bool) -> Self {
        let [one, two] = [1, 2].map(|network| network::deal(network, plan.seed));
        let geneses = [genesis(&one, &two), genesis(&two, &one)];
        let mut rng = SeededRng::new(plan.seed ^ 0xace);
        let mut nets = Vec::new();
        let mut shared = Vec::new();
        for (at, (dealt, genesis)) in [one, two].into_iter().zip(geneses).enumerate() {
            let mut spec = Spec::new(genesis.clone(), &dealt.secrets).unwrap();
            spec.link = plan.links[at].link();
            let child = context.child(["one", "two"][at]);
            let mut net = Net::new(child, spec).await;
            let common = Shared::new(dealt, genesis, plan.roles[at], plan.disorder, plan.seed);
            network::equip(&mut net, &common);
            nets.push(net);
            shared.push(common);
        }
        let Ok(nets) = <[Net; 2]>::try_from(nets) else {
            unreachable!()
        };
        let Ok(shared) = <[Arc<Shared>; 2]>::try_from(shared) else {
            unreachable!()
        };
        let mut relays = Vec::new();
        for relayer in 0..2_u64 {
            for from in 0..2 {
                let settings = relay::settings(&shared[from], &shared[1 - from]);
                let name = format!("relayer {relayer} from {from}");
                let mut relay = Relay::new(&name, from, settings, rng.next(), verbose);
                relay.loss = plan.loss;
                relay.withholds = plan.withholds && relayer == 0;
                relay.is_careful = relayer == 1;
                relays.push(relay);
            }
        }
        let senders = [0, 1].map(|at: usize| Sender {
            key: SigningKey::generate(ParameterSet::MlDsa65, &mut rng).unwrap(),
            calls: {
                let mut calls = plan.calls[at].clone();
                calls.sort_by_key(|call| call.at_ms);
                calls
            },
            signed: None,
            next_ms: 0,
        });
        Self {
            context,
            verbose,
            nets,
            shared,
            relays,
            senders,
            returns: Vec::new(),
            heals: Vec::new(),
            copies: Vec::new(),
            excused: [None; 2],
            history: History::default(),
            unexpected: Vec::new(),
            rng,
            plan,
        }
    }

    fn now_ms(&self) -> u64 {
        since_epoch(self.context.current())
            .as_millis()
            .try_into()
            .unwrap()
    }

    fn say(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            println!("{:>7} {}", self.now_ms(), what());
        }
    }

    /// How far every validator is, for a run that is watched.
    fn heights(&self) -> String {
        let of = |net: &Net| {
            let heights = (0..4).map(|at| net.handle(at).map(|handle| handle.chain().height()));
            heights.collect::<Vec<_>>()
        };
        format!(
            "heights {:?} and {:?}",
            of(&self.nets[0]),
            of(&self.nets[1])
        )
    }

    /// The open batches as the ledger has them: number, set, and who is behind.
    fn batches(&self, net: usize) -> Vec<String> {
        let Some(handle) = self.nets[net].handles().next() else {
            return Vec::new();
        };
        let (_, state) = handle.chain().tip();
        let ledger = state.pulse();
        let batches = ledger.plans().map(|plan| {
            let behind = ledger.batch(plan.batch).map(|gather| gather.behind());
            format!("{} {:?} waits for {behind:?}", plan.batch, plan.set.ids())
        });
        batches.collect()
    }

    async fn drive(&mut self) {
        for at in 0..2 {
            for position in 0..4 {
                if self.plan.roles[at] == Some((position, Role::Equivocator)) {
                    self.nets[at].start_equivocator(position).await.unwrap();
                } else {
                    self.nets[at].begin(position).await.unwrap();
                }
            }
        }
        let mut events = self.plan.events.clone().into_iter().peekable();
        // Copies are taken before they are used.
        for event in self.plan.events.clone() {
            let (at, is_clone) = match event.what {
                What::OldCopy { at, .. } => (at, false),
                What::Clone { at, .. } => (at, true),
                _ => continue,
            };
            self.copies.push(Copy {
                at_ms: event.at_ms,
                network: event.network,
                at,
                backup: Disk::default().backup(),
                is_clone,
            });
        }
        loop {
            self.context.sleep(STEP).await;
            let now_ms = self.now_ms();
            if now_ms % 1_000 < STEP.as_millis() as u64 {
                self.say(|| self.heights());
            }
            while let Some(event) = events.next_if(|event| event.at_ms <= now_ms) {
                self.apply(event).await;
            }
            self.copies(now_ms).await;
            self.returns(now_ms).await;
            for at in 0..2 {
                self.look(at, now_ms);
                self.send(at, now_ms);
            }
            let mut presented = core::mem::take(&mut self.history.presented);
            for relay in &mut self.relays {
                relay.step(now_ms, &self.shared, &mut presented);
            }
            self.history.presented = presented;
            let quiet = events.peek().is_none()
                && self.copies.is_empty()
                && self.returns.is_empty()
                && self.heals.is_empty();
            if quiet && self.is_complete() {
                self.history.is_complete = true;
                return;
            }
            if now_ms > LIMIT_MS {
                return;
            }
        }
    }

    async fn apply(&mut self, event: Event) {
        self.say(|| format!("network {}: {:?}", event.network, event.what));
        let net = event.network;
        let now_ms = self.now_ms();
        match event.what {
            What::Crash { at, down_ms, tear } => self.cut(net, at, tear, now_ms + down_ms),
            What::PowerAt { at, operations } => {
                if let Some(disk) = self.nets[net].disk(at) {
                    disk.fail_after(operations);
                }
            }
            What::Blackout { down_ms } => {
                for at in 0..4 {
                    if self.plan.roles[net] != Some((at, Role::Equivocator)) {
                        let tear = Some(self.rng.next());
                        self.cut(net, at, tear, now_ms + down_ms + 100 * u64::from(at));
                    }
                }
            }
            What::Partition { group, for_ms } => {
                self.nets[net].partition(&group).await;
                self.heals.push((now_ms + for_ms, net));
            }
            What::OldCopy { at, age_ms } | What::Clone { at, age_ms } => {
                let backup = self.nets[net].disk(at).unwrap().backup();
                let found = self
                    .copies
                    .iter_mut()
                    .find(|copy| copy.network == net && copy.at == at && copy.at_ms == event.at_ms);
                let copy = found.unwrap();
                copy.backup = backup;
                copy.at_ms = now_ms + age_ms;
            }
            What::Relay { which, commits } => self.relays[which].dies_in = Some(commits),
            What::RelayDisk { which, operations } => self.relays[which].fail_after(operations),
        }
    }

    fn cut(&mut self, net: usize, at: u16, tear: Option<u64>, back_ms: u64) {
        self.shared[net].seat(at, |seat| {
            seat.backend = None;
            seat.end = None;
        });
        let tear = tear.map_or(Tear::Nothing, Tear::Some);
        self.nets[net].cut(at, tear);
        self.returns
            .retain(|(_, network, position)| (*network, *position) != (net, at));
        self.returns.push((back_ms, net, at));
    }

    async fn returns(&mut self, now_ms: u64) {
        let due: Vec<_> = self
            .returns
            .iter()
            .filter(|(at, ..)| *at <= now_ms)
            .copied()
            .collect();
        self.returns.retain(|(at, ..)| *at > now_ms);
        for (_, net, at) in due {
            self.say(|| format!("network {net}: validator {at} comes back"));
            let Err(error) = self.nets[net].begin(at).await else {
                continue;
            };
            if self.nets[net].disk(at).is_some_and(Disk::is_broken) {
                // The power went while it opened its files.
                if let Some(disk) = self.nets[net].disk(at) {
                    disk.cut(Tear::Nothing);
                }
                self.returns.push((now_ms + 500, net, at));
            } else {
                self.unexpected
                    .push(format!("validator {at} of {net} cannot open: {error}"));
            }
        }
        let healed: Vec<_> = self
            .heals
            .iter()
            .filter(|(at, _)| *at <= now_ms)
            .copied()
            .collect();
        self.heals.retain(|(at, _)| *at > now_ms);
        for (_, net) in healed {
            self.nets[net].heal().await;
        }
    }

    /// Old copies whose time has come: started, and refused if all is well.
    async fn copies(&mut self, now_ms: u64) {
        // Not while they wait for being taken.
        let waiting: Vec<_> = self
            .copies
            .iter()
            .position(|copy| copy.at_ms <= now_ms)
            .into_iter()
            .collect();
        for index in waiting {
            let copy = self.copies.remove(index);
            let (net, at) = (copy.network, copy.at);
            if !self.nets[net].is_up(at) {
                continue;
            }
            let newest = self.nets[net].disk(at).unwrap().clone();
            let old = Disk::default();
            old.restore(&copy.backup);
            if !copy.is_clone {
                self.cut(net, at, None, now_ms + 60_000);
            }
            self.excused[net] = Some(at);
            let started = self.nets[net].start_copy(at, old).await;
            let end = self.shared[net].seat(at, |seat| {
                seat.backend = None;
                seat.end.take()
            });
            let refused = started.is_err() && end.as_ref().is_some_and(|end| end.code == 7);
            self.say(|| format!("network {net}: copy of validator {at}: {end:?}"));
            lock(&self.shared[net].history).copies.push(refused);
            self.nets[net].crash(at);
            self.nets[net].set_disk(at, newest);
            let back_ms = self.now_ms() + 1_000;
            self.cut(net, at, None, back_ms);
        }
    }

    /// Takes note of validators that ended by themselves; they come back after a while.
    fn look(&mut self, net: usize, now_ms: u64) {
        for at in 0..4 {
            let told = self.nets[net].begun(at);
            let ended = self.shared[net].seat(at, |seat| seat.end.take());
            let fatal = self.nets[net].fatal(at);
            let is_broken = self.nets[net].disk(at).is_some_and(Disk::is_broken);
            let refused = matches!(told, Some(Err(_)));
            if ended.is_none() && fatal.is_none() && !is_broken && !refused {
                continue;
            }
            if !self.nets[net].is_up(at) {
                continue;
            }
            self.say(|| {
                format!(
                    "network {net}: validator {at} ends: {ended:?} {fatal:?} {told:?} {is_broken}"
                )
            });
            let code = ended.as_ref().map_or(0, |end| end.code);
            let is_unsafe = code == 7 || fatal.as_ref().is_some_and(|fatal| fatal.is_unsafe());
            if is_unsafe && !is_broken && self.excused[net] != Some(at) {
                let text = ended.map_or_else(|| format!("{fatal:?}"), |end| end.text);
                self.unexpected
                    .push(format!("validator {at} of network {net}: {text}"));
            }
            let tear = Some(self.rng.next());
            let back_ms = now_ms + 500 + self.rng.below(2_000);
            self.cut(net, at, tear, back_ms);
        }
    }

    /// Lets the account of a network go on: signs, submits, and submits again.
    fn send(&mut self, net: usize, now_ms: u64) {
        let first = self.rng.index(4);
        let Some(node) = self.shared[net].any(first, false) else {
            return;
        };
        let genesis = &self.shared[net].genesis;
        let there = &self.shared[1 - net].genesis;
        let sender = &mut self.senders[net];
        let key_bytes = {
            use horizon_sig::traits::Verifier as _;
            sender.key.verifying_key().key_bytes().to_vec()
        };
        let account = tx::account(key_bytes[..].try_into().unwrap());
        let state = node.account(account).now_or_never().unwrap();
        let total = self.plan.calls[net].len();
        let sent = total - sender.calls.len();
        if let Ok(account) = state
            && account.next_sequence > sent as u64
        {
            sender.calls.remove(0);
            sender.signed = None;
            sender.next_ms = 0;
            return;
        }
        let Some(call) = sender.calls.first() else {
            return;
        };
        if call.at_ms > now_ms || sender.next_ms > now_ms {
            return;
        }
        let mut channel = [7; 32];
        channel[0] = u8::from(call.is_ordered);
        let signed = sender.signed.get_or_insert_with(|| {
            tx::Call {
                sequence: sent as u64,
                destination_network: there.network_id(),
                destination_chain: *there.chain_id(),
                channel,
                expiry_height: EXPIRY_NEVER,
                recipient: call.recipient,
                body: &call.body,
            }
            .sign(
                genesis.network_id(),
                genesis.chain_id(),
                &sender.key,
                &mut self.rng,
            )
            .unwrap()
        });
        let answer = node
            .submit_message(Bytes::copy_from_slice(signed))
            .now_or_never()
            .unwrap();
        sender.next_ms = now_ms + 2_000;
        if self.verbose {
            println!("{now_ms:>7} network {net}: message {sent} submitted: {answer:?}");
        }
    }

    fn is_complete(&self) -> bool {
        if self.senders.iter().any(|sender| !sender.calls.is_empty()) {
            return false;
        }
        let up = |net: usize, at: u16| {
            self.plan.roles[net] == Some((at, Role::Equivocator))
                || self.shared[net].backend(at).is_some()
        };
        if !(0..2).all(|net| (0..4).all(|at| up(net, at))) {
            return false;
        }
        let histories = [lock(&self.shared[0].history), lock(&self.shared[1].history)];
        let calls: usize = self.plan.calls.iter().map(Vec::len).sum();
        let sent: Vec<_> = histories
            .iter()
            .map(|history| {
                history
                    .sent()
                    .filter(|sent| !sent.is_ack)
                    .map(|s| s.id)
                    .collect::<Vec<_>>()
            })
            .collect();
        if sent.iter().map(Vec::len).sum::<usize>() < calls {
            return false;
        }
        sent.iter().zip(&histories).all(|(sent, history)| {
            let told: std::collections::BTreeSet<Id> = history.acknowledged().copied().collect();
            sent.iter().all(|id| told.contains(id))
        })
    }

    /// Attacks with what was delivered, and collects the facts.
    fn finish(mut self, blocked: &[Vec<(u16, u16)>; 2]) -> Outcome {
        for net in 0..2 {
            self.attack(net);
        }
        for net in 0..2 {
            let mut history = lock(&self.shared[net].history).clone();
            for (_, proof) in self.nets[net].evidence() {
                let offence = proof.check(self.nets[net].roster()).expect("it proves");
                history.accused.push(offence.validator);
            }
            if let Some(copied) = self.excused[net] {
                // Two lives at once may disagree: that is why copies are refused.
                history.faulty.insert(copied);
            }
            let top = history.blocks.keys().max().copied().unwrap_or(0);
            for handle in self.nets[net].handles() {
                let chain = handle.chain();
                let (_, state) = chain.tip();
                for height in 0..=chain.height() {
                    if let Ok(Some(digest)) = chain.store().digest_at(height) {
                        history.finals.push((handle.me(), height, digest));
                    }
                }
                if chain.height() >= top {
                    history.effects.push((state.counter(), state.journal().0));
                }
            }
            self.history.networks[net] = history;
        }
        if !self.history.is_complete {
            for net in 0..2 {
                for at in 0..4 {
                    let handle = self.nets[net].handle(at);
                    let height = handle.map(|handle| handle.chain().height());
                    let pulse = self.shared[net].backend(at).map(|node| {
                        node.status()
                            .now_or_never()
                            .unwrap()
                            .map(|s| (s.peers, s.pulse))
                    });
                    self.unexpected.push(format!(
                        "network {net} validator {at}: {height:?} {pulse:?}"
                    ));
                }
            }
            for (net, blocked) in blocked.iter().enumerate() {
                let batches = self.batches(net);
                self.unexpected.push(format!(
                    "network {net}: blocked {blocked:?}, batches {batches:?}"
                ));
            }
            for relay in &self.relays {
                self.unexpected.extend(relay.dead.iter().cloned());
            }
        }
        Outcome {
            seed: self.plan.seed,
            trace: self.context.auditor().state(),
            simulated_ms: self.now_ms(),
            history: self.history,
            unexpected: self.unexpected,
        }
    }

    fn attack(&mut self, net: usize) {
        let (source, destination) = (&self.shared[1 - net], &self.shared[net]);
        let delivered = lock(&destination.history)
            .blocks
            .iter()
            .find(|(_, block)| block.delivered.iter().any(|delivered| !delivered.is_retry))
            .map(|(height, _)| *height);
        let (Some(height), Some(node), Some(from)) =
            (delivered, destination.any(0, true), source.any(0, true))
        else {
            return;
        };
        let Some(handle) = self.nets[net]
            .handles()
            .find(|handle| handle.chain().height() >= height)
        else {
            return;
        };
        let chain = handle.chain();
        let block = chain.store().block(height).unwrap().unwrap();
        let envelope =
            block
                .transactions
                .iter()
                .find_map(|bytes| match tx::Transaction::decode(bytes) {
                    Ok(tx::Transaction::Deliver(envelope)) => Some(envelope.to_vec()),
                    _ => None,
                });
        let Some(envelope) = envelope else { return };
        let id = horizon_warp::Envelope::parse(&envelope).unwrap().id();
        let sent = self.nets[1 - net]
            .handles()
            .find_map(|handle| handle.chain().store().message(&id).ok().flatten());
        let Some(sent) = sent else { return };
        let tried = attacks::attack(net, source, &from, &sent, &node, &envelope, &mut self.rng);
        self.history.attacks.extend(tried);
        let replay = attacks::replay(net, destination, &Node { chain }, &envelope);
        self.history.attacks.push(replay);
    }
}
