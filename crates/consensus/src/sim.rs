//! A whole network under the deterministic runtime: simulated links, disks and time.
//!
//! The same [`engine`](crate::engine) runs as in the process. A test starts validators, breaks
//! links, crashes and restarts validators, and adds its own actors with [`Net::on_start`]. Equal
//! seeds give equal runs: compare [`Net::trace`].

use core::{fmt, time::Duration};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use commonware_consensus::simplex::mocks::conflicter;
use commonware_cryptography::{
    Sha256, Signer as _,
    ed25519::{PrivateKey, PublicKey},
};
pub use commonware_p2p::simulated::Link;
use commonware_p2p::simulated::{self, Oracle};
pub use commonware_runtime::deterministic::Context;
use commonware_runtime::{Clock as _, Handle as TaskHandle, Spawner as _, Supervisor as _};
use commonware_utils::{NZUsize, channel::oneshot, probability};
use futures::future::BoxFuture;
use horizon_ledger::{App, Genesis, Store};
use horizon_sig::mldsa::SigningKey;

pub use self::{
    disk::{Backup, Disk, FileHandle, Tear},
    provision::{Dealt, Secrets, chain_id},
};
use crate::{
    chain::Chain,
    engine::{self, Config, Hook, Links},
    error::{Error, Fatal},
    evidence::Evidence,
    gossip,
    handle::{Handle, Mesh},
    roster::Roster,
    scheme::Scheme,
};

mod disk;
mod provision;

/// The keys of one seat.
#[derive(Debug)]
pub struct Seat {
    /// Link key.
    pub identity: PrivateKey,
    /// Vote key.
    pub consensus: Arc<SigningKey>,
}

/// What a network is made of.
pub struct Spec {
    /// The genesis.
    pub genesis: Genesis,
    /// The validators of the genesis.
    pub roster: Arc<Roster>,
    /// Their keys in canonical order.
    pub seats: Vec<Seat>,
    /// Time between blocks.
    pub interval: Duration,
    /// Every link at the start.
    pub link: Link,
}

impl Spec {
    /// The specification of a network that was dealt; blocks come as fast as its genesis says.
    ///
    /// # Errors
    /// [`Error::Roster`], [`Error::TooManyValidators`].
    pub fn new(genesis: Genesis, secrets: &[Secrets]) -> Result<Self, Error> {
        let roster = Roster::from_genesis(&genesis)?;
        let seats = secrets
            .iter()
            .map(|secrets| {
                Ok(Seat {
                    identity: crate::network::identity_from_seed(&secrets.link.to_seed()[..])?,
                    consensus: Arc::clone(&secrets.consensus),
                })
            })
            .collect::<Result<_, Error>>()?;
        Ok(Self {
            interval: Duration::from_millis(genesis.spec().block.interval_ms),
            genesis,
            roster: Arc::new(roster),
            seats,
            link: good_link(),
        })
    }
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec")
            .field("seats", &self.seats.len())
            .finish_non_exhaustive()
    }
}

/// What an extra actor of a validator gets when the validator starts or restarts.
pub struct Actor<'a> {
    /// Children of this context end when the validator crashes.
    pub context: &'a Context,
    /// The engine.
    pub handle: &'a Handle,
    /// Its disk, which survives crashes.
    pub disk: &'a Disk,
    /// How often this validator has started before.
    pub restarts: u64,
}

impl fmt::Debug for Actor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Actor")
            .field("handle", &self.handle)
            .field("restarts", &self.restarts)
            .finish_non_exhaustive()
    }
}

type OnStart = Arc<dyn Fn(&Actor<'_>) + Send + Sync>;

/// What runs over the gossip channels before a validator may vote; `false` keeps it from starting.
pub type Gate = Arc<dyn Fn(Opening) -> BoxFuture<'static, bool> + Send + Sync>;

/// What a [`Gate`] gets.
pub struct Opening {
    /// Children of this context end when the validator crashes.
    pub context: Context,
    /// The gossip channels, which run already.
    pub mesh: Mesh,
    /// The disk.
    pub disk: Disk,
    /// The ledger at its tip.
    pub chain: Arc<Chain>,
}

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening")
            .field("mesh", &self.mesh)
            .finish_non_exhaustive()
    }
}

/// A running network.
pub struct Net {
    context: Context,
    oracle: Oracle<PublicKey, Context>,
    spec: Spec,
    nodes: Vec<Node>,
    on_start: Vec<OnStart>,
    evidence: Arc<Mutex<Vec<(u16, Evidence)>>>,
    hooks: BTreeMap<u16, Hook>,
    gate: Option<Gate>,
    followers: BTreeSet<u16>,
    /// Links that are not as in the specification.
    links: BTreeMap<(u16, u16), Option<Link>>,
}

#[derive(Default)]
struct Node {
    disk: Disk,
    restarts: u64,
    running: Option<(TaskHandle<()>, Option<Handle>)>,
    starting: Option<oneshot::Receiver<Result<Handle, Error>>>,
    fatal: Arc<Mutex<Option<Fatal>>>,
}

impl Node {
    fn started(
        &mut self,
        told: Result<Result<Handle, Error>, oneshot::error::RecvError>,
    ) -> Result<(), Error> {
        let handle = told.map_err(|_| Error::Stopped)??;
        if let Some((_, running)) = &mut self.running {
            *running = Some(handle);
        }
        Ok(())
    }
}

/// A link of 10 ms without loss.
#[must_use]
pub fn good_link() -> Link {
    Link {
        latency: Duration::from_millis(10),
        jitter: Duration::from_millis(2),
        success_rate: probability!(1.0),
    }
}

impl Net {
    /// Connects every pair; no validator runs yet.
    pub async fn new(context: Context, spec: Spec) -> Self {
        let identities: Vec<_> = spec
            .seats
            .iter()
            .map(|seat| seat.identity.public_key())
            .collect();
        let config = simulated::Config {
            max_size: engine::max_message_size(identities.len()),
            max_peers_per_set: NZUsize!(crate::limits::MAX_VALIDATORS),
            disconnect_on_block: true,
            tracked_peer_sets: NZUsize!(1),
        };
        let (network, oracle) = simulated::Network::new_with_peers(
            context.child("network"),
            config,
            identities.clone(),
        )
        .await;
        let _running = network.start();
        let nodes = identities.iter().map(|_| Node::default()).collect();
        let mut net = Self {
            context,
            oracle,
            spec,
            nodes,
            on_start: Vec::new(),
            evidence: Arc::default(),
            hooks: BTreeMap::new(),
            gate: None,
            followers: BTreeSet::new(),
            links: BTreeMap::new(),
        };
        net.heal().await;
        net
    }

    /// Adds actors to every validator that starts from now on.
    pub fn on_start(&mut self, actor: impl Fn(&Actor<'_>) + Send + Sync + 'static) {
        self.on_start.push(Arc::new(actor));
    }

    /// Lets a validator follow without voting, or vote again, from its next start.
    pub fn set_follower(&mut self, position: u16, follows: bool) {
        if follows {
            self.followers.insert(position);
        } else {
            self.followers.remove(&position);
        }
    }

    /// Sets what every validator does before it may vote, from its next start.
    pub fn set_gate(&mut self, gate: Gate) {
        self.gate = Some(gate);
    }

    /// Sets the crash hook of a validator, from its next start.
    pub fn set_hook(&mut self, position: u16, hook: Option<Hook>) {
        match hook {
            Some(hook) => self.hooks.insert(position, hook),
            None => self.hooks.remove(&position),
        };
    }

    /// Number of validators.
    #[must_use]
    pub fn len(&self) -> u16 {
        u16::try_from(self.nodes.len()).unwrap_or(u16::MAX)
    }

    /// Whether there is no validator.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The runtime.
    #[must_use]
    pub const fn context(&self) -> &Context {
        &self.context
    }

    /// The validators.
    #[must_use]
    pub const fn roster(&self) -> &Arc<Roster> {
        &self.spec.roster
    }

    /// The disk of a validator.
    #[must_use]
    pub fn disk(&self, position: u16) -> Option<&Disk> {
        self.nodes.get(usize::from(position)).map(|node| &node.disk)
    }

    /// The engine of a validator that runs.
    #[must_use]
    pub fn handle(&self, position: u16) -> Option<&Handle> {
        self.nodes
            .get(usize::from(position))
            .and_then(|node| node.running.as_ref())
            .and_then(|(_, handle)| handle.as_ref())
    }

    /// The engines that run, in canonical order.
    pub fn handles(&self) -> impl Iterator<Item = &Handle> {
        self.nodes
            .iter()
            .filter_map(|node| node.running.as_ref())
            .filter_map(|(_, handle)| handle.as_ref())
    }

    /// Why a validator stopped by itself, if it did.
    #[must_use]
    pub fn fatal(&self, position: u16) -> Option<Fatal> {
        let node = self.nodes.get(usize::from(position))?;
        node.fatal
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Proofs of conflicting votes, with the reporter.
    #[must_use]
    pub fn evidence(&self) -> Vec<(u16, Evidence)> {
        self.evidence
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Starts every validator.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_all(&mut self) -> Result<(), Error> {
        for position in 0..self.len() {
            self.start(position).await?;
        }
        Ok(())
    }

    /// Starts or restarts a validator from its disk.
    ///
    /// # Errors
    /// Those of [`engine::start`], [`Error::NoSuchValidator`], [`Error::Storage`].
    pub async fn start(&mut self, position: u16) -> Result<(), Error> {
        self.begin(position).await?;
        let starting = self.node_mut(position)?.starting.take();
        let handle = starting.ok_or(Error::Stopped)?.await;
        self.node_mut(position)?.started(handle)
    }

    /// As [`Self::start`], without waiting until the validator votes: see [`Self::begun`].
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn begin(&mut self, position: u16) -> Result<(), Error> {
        self.crash(position);
        let disk = self.node_mut(position)?.disk.clone();
        let (task, started) = self.launch(position, disk, "").await?;
        let node = self.node_mut(position)?;
        node.running = Some((task, None));
        node.starting = Some(started);
        Ok(())
    }

    /// Starts a second process of a validator on a copy of its disk, and waits until it votes or
    /// ends. From then on the others reach the copy only.
    ///
    /// # Errors
    /// As [`Self::start`]; [`Error::Stopped`] when it refused to start.
    pub async fn start_copy(&mut self, position: u16, disk: Disk) -> Result<(), Error> {
        let (task, started) = self.launch(position, disk, "-copy").await?;
        let told = started
            .await
            .map_err(|_| Error::Stopped)
            .and_then(|told| told);
        task.abort();
        told.map(drop)
    }

    async fn launch(
        &mut self,
        position: u16,
        disk: Disk,
        suffix: &str,
    ) -> Result<(TaskHandle<()>, oneshot::Receiver<Result<Handle, Error>>), Error> {
        let index = usize::from(position);
        let identity = self
            .spec
            .roster
            .identity(position)
            .cloned()
            .ok_or(Error::NoSuchValidator(position))?;
        let seat = self
            .spec
            .seats
            .get(index)
            .ok_or(Error::NoSuchValidator(position))?;
        let app = App::new(self.spec.genesis.clone())
            .map_err(|error| Error::Storage(error.to_string()))?;
        let node = self
            .nodes
            .get_mut(index)
            .ok_or(Error::NoSuchValidator(position))?;
        let store = Store::with_backend(disk.open("ledger"), app.genesis())
            .map_err(|error| Error::Storage(error.to_string()))?;
        let evidence = Arc::clone(&self.evidence);
        let config = Config {
            key: self
                .followers
                .contains(&position)
                .then_some(())
                .map_or_else(|| Some(Arc::clone(&seat.consensus)), |()| None),
            chain: Arc::new(Chain::open(Arc::new(app), Arc::new(store))),
            interval: self.spec.interval,
            evidence: Arc::new(move |found| {
                evidence
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((position, found));
            }),
            partition: format!(
                "network-{}-validator-{position}{suffix}",
                self.spec.genesis.network_id()
            ),
            journal: 0,
            hook: self.hooks.get(&position).cloned(),
        };
        let channels = register(&self.oracle, &identity).await?;
        let launch = Launch {
            config,
            roster: Arc::clone(&self.spec.roster),
            position,
            channels,
            blocker: self.oracle.control(identity),
            peers: self.oracle.manager(),
            disk,
            restarts: node.restarts,
            on_start: self.on_start.clone(),
            gate: self.gate.clone(),
            fatal: Arc::clone(&node.fatal),
        };
        *node.fatal.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let (ready, started) = oneshot::channel();
        let context = self
            .context
            .child("validator")
            .with_attribute("position", position)
            .with_attribute("restart", node.restarts);
        node.restarts = node.restarts.wrapping_add(1);
        let task = context.spawn(move |context| launch.run(context, ready));
        Ok((task, started))
    }

    /// What became of a validator that was begun; `None` while it starts, or when there is nothing
    /// to tell any more.
    pub fn begun(&mut self, position: u16) -> Option<Result<(), Error>> {
        let node = self.node_mut(position).ok()?;
        let told = match node.starting.as_mut()?.try_recv() {
            Ok(told) => Ok(told),
            Err(oneshot::error::TryRecvError::Empty) => return None,
            Err(oneshot::error::TryRecvError::Closed) => Ok(Err(Error::Stopped)),
        };
        node.starting = None;
        Some(node.started(told))
    }

    fn node_mut(&mut self, position: u16) -> Result<&mut Node, Error> {
        self.nodes
            .get_mut(usize::from(position))
            .ok_or(Error::NoSuchValidator(position))
    }

    /// Runs a validator that votes for everything it hears of and for something else too.
    ///
    /// # Errors
    /// [`Error::NoSuchValidator`].
    pub async fn start_equivocator(&mut self, position: u16) -> Result<(), Error> {
        self.crash(position);
        let index = usize::from(position);
        let (Some(identity), Some(seat)) = (
            self.spec.roster.identity(position).cloned(),
            self.spec.seats.get(index),
        ) else {
            return Err(Error::NoSuchValidator(position));
        };
        let scheme = Scheme::signer(&self.spec.roster, position, Arc::clone(&seat.consensus))?;
        let channels = register(&self.oracle, &identity).await?;
        let task = self
            .context
            .child("equivocator")
            .spawn(move |context| async move {
                let [votes, others @ ..] = channels;
                let actor = conflicter::Conflicter::<_, _, Sha256>::new(
                    context.child("votes"),
                    conflicter::Config { scheme },
                );
                let _ = actor.start(votes).await;
                drop(others);
            });
        if let Some(node) = self.nodes.get_mut(index) {
            node.running = Some((task, None));
        }
        Ok(())
    }

    /// Stops a validator as a power cut does: its tasks end where they are, and what it had not
    /// synced is gone.
    pub fn crash(&mut self, position: u16) {
        self.cut(position, Tear::Nothing);
    }

    /// As [`Self::crash`]; of what was not synced, `tear` remains.
    pub fn cut(&mut self, position: u16, tear: Tear) {
        if let Some(node) = self.nodes.get_mut(usize::from(position))
            && let Some((task, _)) = node.running.take()
        {
            // First: what ends may still want to write.
            node.disk.cut(tear);
            node.starting = None;
            task.abort();
        }
    }

    /// Whether a validator runs or starts.
    #[must_use]
    pub fn is_up(&self, position: u16) -> bool {
        self.nodes
            .get(usize::from(position))
            .is_some_and(|node| node.running.is_some())
    }

    /// Puts another disk in place of a validator's, which must not run.
    pub fn set_disk(&mut self, position: u16, disk: Disk) {
        if let Some(node) = self.nodes.get_mut(usize::from(position)) {
            node.disk = disk;
        }
    }

    /// Changes one direction between two validators; `None` cuts it.
    pub async fn set_link(&mut self, from: u16, to: u16, link: Option<Link>) {
        let (Some(sender), Some(receiver)) = (
            self.spec.roster.identity(from).cloned(),
            self.spec.roster.identity(to).cloned(),
        ) else {
            return;
        };
        // An absent link cannot be removed; that is what is wanted.
        let _ = self
            .oracle
            .remove_link(sender.clone(), receiver.clone())
            .await;
        if let Some(link) = &link {
            let _ = self.oracle.add_link(sender, receiver, link.clone()).await;
        }
        self.links.insert((from, to), link);
    }

    /// Cuts every link between `group` and the others.
    pub async fn partition(&mut self, group: &[u16]) {
        for from in 0..self.len() {
            for to in 0..self.len() {
                if from != to && group.contains(&from) != group.contains(&to) {
                    self.set_link(from, to, None).await;
                }
            }
        }
    }

    /// Makes every link as in the specification.
    pub async fn heal(&mut self) {
        let link = self.spec.link.clone();
        for from in 0..self.len() {
            for to in 0..self.len() {
                if from != to {
                    self.set_link(from, to, Some(link.clone())).await;
                }
            }
        }
    }

    /// Lets simulated time pass until `condition` holds; `false` when it does not within `limit`.
    pub async fn until(&self, limit: Duration, condition: impl Fn(&Self) -> bool) -> bool {
        let end = self.context.current() + limit;
        loop {
            if condition(self) {
                return true;
            }
            if self.context.current() >= end {
                return false;
            }
            self.context.sleep(Duration::from_millis(20)).await;
        }
    }

    /// Which validator refuses all links from which other one.
    pub async fn blocked(&self) -> Vec<(u16, u16)> {
        let position = |key: &PublicKey| {
            let mut positions = 0..self.len();
            positions.find(|at| self.spec.roster.identity(*at) == Some(key))
        };
        let pairs = self.oracle.blocked().await.unwrap_or_default();
        pairs
            .iter()
            .filter_map(|(by, whom)| position(by).zip(position(whom)))
            .collect()
    }

    /// Whether every running validator has applied `height`.
    #[must_use]
    pub fn all_at(&self, height: u64) -> bool {
        self.handles()
            .all(|handle| handle.status().processed >= height)
    }

    /// A height at which two validators have different blocks, if there is one.
    #[must_use]
    pub fn fork(&self) -> Option<u64> {
        let stores: Vec<_> = self
            .handles()
            .map(|handle| handle.chain().store())
            .collect();
        let top = self
            .handles()
            .map(|handle| handle.chain().height())
            .max()
            .unwrap_or(0);
        (0..=top).find(|height| {
            let mut digests = stores
                .iter()
                .filter_map(|store| store.digest_at(*height).ok().flatten());
            digests
                .next()
                .is_some_and(|first| digests.any(|digest| digest != first))
        })
    }

    /// Hash over everything that happened: equal for equal seeds.
    #[must_use]
    pub fn trace(&self) -> String {
        self.context.auditor().state()
    }
}

impl fmt::Debug for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Net")
            .field("validators", &self.nodes.len())
            .finish_non_exhaustive()
    }
}

type Pair = (
    simulated::Sender<PublicKey, Context>,
    simulated::Receiver<PublicKey>,
);

async fn register(
    oracle: &Oracle<PublicKey, Context>,
    identity: &PublicKey,
) -> Result<[Pair; 7], Error> {
    let control = oracle.control(identity.clone());
    let mut pairs = Vec::new();
    for (channel, quota) in engine::channels() {
        let pair = control
            .register(channel, quota)
            .await
            .map_err(|_| Error::Stopped)?;
        pairs.push(pair);
    }
    pairs.try_into().map_err(|_| Error::Stopped)
}

/// Everything that one life of a validator needs.
struct Launch {
    config: Config,
    roster: Arc<Roster>,
    position: u16,
    channels: [Pair; 7],
    blocker: simulated::Control<PublicKey, Context>,
    peers: simulated::Manager<PublicKey, Context>,
    disk: Disk,
    restarts: u64,
    on_start: Vec<OnStart>,
    gate: Option<Gate>,
    fatal: Arc<Mutex<Option<Fatal>>>,
}

impl Launch {
    async fn run(self, context: Context, ready: oneshot::Sender<Result<Handle, Error>>) {
        let [
            votes,
            certificates,
            fetch,
            backfill,
            blocks,
            gossip,
            ceremony,
        ] = self.channels;
        let (mesh, gossip) = gossip::start(
            &context,
            &self.roster,
            self.position,
            &self.blocker,
            gossip,
            ceremony,
        );
        if let Some(gate) = &self.gate
            && !gate(Opening {
                context: context.child("gate"),
                mesh: mesh.clone(),
                disk: self.disk.clone(),
                chain: Arc::clone(&self.config.chain),
            })
            .await
        {
            let _ = ready.send(Err(Error::Stopped));
            return;
        }
        let links = Links {
            votes,
            certificates,
            fetch,
            backfill,
            blocks,
        };
        let started = engine::start(
            context.child("engine"),
            self.config,
            mesh,
            links,
            self.blocker,
            self.peers,
        )
        .await;
        let running = match started {
            Ok(mut running) => {
                running.watch(gossip);
                running
            }
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
        for actor in &self.on_start {
            actor(&Actor {
                context: &context,
                handle: &running.handle,
                disk: &self.disk,
                restarts: self.restarts,
            });
        }
        if ready.send(Ok(running.handle.clone())).is_err() {
            return;
        }
        let fatal = running.ended().await;
        *self.fatal.lock().unwrap_or_else(PoisonError::into_inner) = Some(fatal);
    }
}
