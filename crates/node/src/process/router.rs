//! Between the links and everything that reads from them: transactions to the waiting ones,
//! announcements to the fence, the rest to the services.
//!
//! Generic over the runtime: the process and the simulation run the same code.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use horizon_consensus::handle::{Mesh, To};
use horizon_consensus::runtime::{Clock, Spawner};
use horizon_consensus::{Channel, FinalBlock, Handle, Inbound};
use horizon_sig::mldsa::SigningKey;
use rand_core::CryptoRng;
use tokio::sync::mpsc;
use tracing::{debug, warn};

use super::fence::{Heard, Witness};
use super::services::Services;
use crate::gossip::{self, BootAnnouncement, Gossip};
use crate::service::{Action, Job, JobResult, PeerFault, Unsafe};
use crate::signer::Guard;

/// How often a node announces itself.
pub const ANNOUNCE_EVERY: Duration = Duration::from_secs(2);
/// A peer that was not heard for this long counts as disconnected.
pub const PEER_SILENCE: Duration = Duration::from_secs(7);
/// How long a start waits to hear from its peers before it may vote.
pub const PROBE: Duration = Duration::from_secs(3);
/// How long a start still listens when enough peers were heard: their objections are under way.
pub const SETTLE: Duration = Duration::from_millis(500);
/// How often a start repeats its announcement while it waits.
const PROBE_EVERY: Duration = Duration::from_millis(200);

/// When each peer was last heard, and what it said of itself.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    seen: Arc<Mutex<BTreeMap<u16, Seen>>>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Duration,
    height: u64,
}

impl Peers {
    /// Number of peers heard within [`PEER_SILENCE`] before `now` (time since 1970).
    #[must_use]
    pub fn connected(&self, now: Duration) -> usize {
        let since = now.saturating_sub(PEER_SILENCE);
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.values().filter(|seen| seen.at >= since).count()
    }

    /// The peers heard within [`PEER_SILENCE`] with the height each announced.
    #[must_use]
    pub fn heights(&self, now: Duration) -> Vec<(u16, u64)> {
        let since = now.saturating_sub(PEER_SILENCE);
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter()
            .filter(|(_, seen)| seen.at >= since)
            .map(|(position, seen)| (*position, seen.height))
            .collect()
    }

    fn heard(&self, position: u16, at: Duration, height: Option<u64>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = seen.entry(position).or_insert(Seen { at, height: 0 });
        entry.at = entry.at.max(at);
        entry.height = entry.height.max(height.unwrap_or(0));
    }
}

/// Announcements of this validator and of its peers.
pub struct Announcer {
    witness: Witness,
    key: Arc<SigningKey>,
    mesh: Mesh,
    peers: Peers,
    guard: Guard,
    /// Announcements of a life that is known to be lost.
    lost: u64,
    rng: Box<dyn CryptoRng + Send>,
}

impl fmt::Debug for Announcer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Announcer")
            .field("witness", &self.witness)
            .finish_non_exhaustive()
    }
}

/// There is, or was, another life of this validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherLife {
    /// Its boot number.
    pub boot: u64,
    /// The height it had reached.
    pub height: u64,
}

impl Announcer {
    /// `key` is the certificate key of this validator, `guard` counts its announcements.
    #[must_use]
    pub fn new(
        witness: Witness,
        key: Arc<SigningKey>,
        mesh: Mesh,
        peers: Peers,
        guard: Guard,
        rng: Box<dyn CryptoRng + Send>,
    ) -> Self {
        Self {
            witness,
            key,
            mesh,
            peers,
            guard,
            lost: 0,
            rng,
        }
    }

    /// Announces this life with a height that is on disk.
    pub fn announce(&mut self, height: u64) {
        let number = match self.guard.count_announcement(self.lost) {
            Ok(number) => number,
            Err(error) => {
                warn!(%error, "cannot count an announcement");
                return;
            }
        };
        let announcement = self
            .witness
            .announce(&self.key, height, number, &mut *self.rng);
        match announcement {
            Ok(announcement) => self.send(To::All, announcement),
            Err(error) => warn!(%error, "cannot sign an announcement"),
        }
    }

    /// Takes an announcement from the link of `from`.
    ///
    /// # Errors
    /// [`OtherLife`]: stop at once.
    pub fn hear(
        &mut self,
        from: u16,
        announcement: BootAnnouncement,
        now: Duration,
    ) -> Result<(), OtherLife> {
        let about_itself = announcement.sender == from;
        let height = announcement.height;
        match self.witness.hear(from, announcement) {
            Heard::Fine => {
                self.peers.heard(from, now, about_itself.then_some(height));
                Ok(())
            }
            Heard::Lost { number } => {
                // From here on, so that peers take this directory's announcements for the newer ones.
                self.lost = self.lost.max(number);
                self.peers.heard(from, now, None);
                Ok(())
            }
            Heard::Older(newer) => {
                warn!(from, "a validator claims less than it claimed before");
                self.send(To::One(from), *newer);
                Ok(())
            }
            Heard::Forged => {
                // Fails only while the process stops.
                let _ = self.mesh.block(from);
                Ok(())
            }
            Heard::Myself { boot, height } => Err(OtherLife { boot, height }),
        }
    }

    /// Before the first vote: announces this life and listens for what peers know of another one.
    /// Ends [`SETTLE`] after more than the tolerated number of faulty peers was heard, or after
    /// [`PROBE`].
    ///
    /// # Errors
    /// [`OtherLife`].
    pub async fn probe<E: Clock>(
        &mut self,
        runtime: &E,
        inbox: &mut mpsc::Receiver<Inbound>,
        height: u64,
    ) -> Result<(), OtherLife> {
        let wanted = self.mesh.roster().max_faults().saturating_add(1);
        let mut end = runtime.current() + PROBE;
        let mut next = runtime.current();
        let mut is_heard = false;
        while runtime.current() < end {
            if !is_heard && self.witness.peers().count() >= wanted {
                // What was under way already is no answer: what peers hold against this life comes
                // after it.
                is_heard = true;
                next = runtime.current();
                end = end.min(next + SETTLE);
            }
            if runtime.current() >= next {
                self.announce(height);
                next = runtime.current() + PROBE_EVERY;
            }
            let pause = runtime.sleep_until(next.min(end));
            let received = tokio::select! {
                biased;
                received = inbox.recv() => received,
                () = pause => continue,
            };
            let Some(inbound) = received else {
                return Ok(());
            };
            if let Ok(Gossip::Boot(announcement)) = Gossip::decode(&inbound.bytes) {
                self.hear(inbound.from, announcement, since_epoch(runtime.current()))?;
            }
        }
        // Once more, for peers that connected last.
        self.announce(height);
        Ok(())
    }

    fn send(&self, to: To, announcement: BootAnnouncement) {
        let bytes = Gossip::Boot(announcement).encode();
        if let Err(error) = self.mesh.gossip(Channel::Gossip, to, bytes) {
            debug!(%error, "announcement not sent");
        }
    }
}

/// Why the router ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// There is, or was, another life of this validator.
    OtherLife(OtherLife),
    /// A service must not go on.
    Halt(Unsafe),
    /// The engine has gone.
    Ended,
}

impl From<OtherLife> for Exit {
    fn from(other: OtherLife) -> Self {
        Self::OtherLife(other)
    }
}

/// Everything that the router reads.
#[derive(Debug)]
pub struct Inputs {
    /// The gossip channel.
    pub gossip: mpsc::Receiver<Inbound>,
    /// The ceremony channel.
    pub ceremony: mpsc::Receiver<Inbound>,
    /// Final blocks.
    pub finals: mpsc::Receiver<Arc<FinalBlock>>,
}

/// Carries messages between the links, the waiting transactions, the fence and the services.
#[derive(Debug)]
pub struct Router {
    handle: Handle,
    announcer: Announcer,
    peers: Peers,
    services: Services,
    transactions: mpsc::Sender<Inbound>,
    /// Called with every final block, after the services.
    on_final: OnFinal,
}

/// A last reader of final blocks: events of the HTTP interface.
#[derive(Clone)]
pub struct OnFinal(pub Arc<dyn Fn(&FinalBlock) + Send + Sync>);

impl fmt::Debug for OnFinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnFinal")
    }
}

impl Router {
    /// Starts the task that checks transactions of peers, and a router over it.
    pub fn new<E: Spawner>(
        runtime: &E,
        handle: Handle,
        announcer: Announcer,
        peers: Peers,
        services: Services,
        on_final: OnFinal,
    ) -> Self {
        let (transactions, received) = mpsc::channel(TRANSACTIONS);
        let checker = handle.clone();
        // Signatures are checked here, off the path of everything else.
        drop(
            runtime
                .child("transactions")
                .dedicated()
                .spawn(move |_| check_transactions(checker, received)),
        );
        Self {
            handle,
            announcer,
            peers,
            services,
            transactions,
            on_final,
        }
    }

    /// Runs until the node must stop.
    pub async fn run<E: Clock + Spawner>(mut self, runtime: E, mut inputs: Inputs) -> Exit {
        let (done, mut results) = mpsc::channel(JOBS);
        let mut announce_at = runtime.current();
        let mut tick_at = runtime.current();
        let started = self.services.start(since_epoch(runtime.current()));
        if let Err(exit) = self.act_all(&runtime, &done, started) {
            return exit;
        }
        loop {
            let pause = runtime.sleep_until(tick_at);
            // Biased towards what ends and what is rare, so that the order is the same in every
            // simulated run.
            let actions = tokio::select! {
                biased;
                result = results.recv() => match result {
                    Some(result) => Ok(self.services.on_job(result, since_epoch(runtime.current()))),
                    None => return Exit::Ended,
                },
                block = inputs.finals.recv() => match block {
                    Some(block) => {
                        let actions = self.services.on_final(&block, since_epoch(runtime.current()));
                        (self.on_final.0)(&block);
                        Ok(actions)
                    }
                    None => return Exit::Ended,
                },
                () = pause => {
                    let now = runtime.current();
                    tick_at = now + TICK;
                    if now >= announce_at {
                        announce_at = now + ANNOUNCE_EVERY;
                        self.announcer.announce(self.handle.chain().height());
                    }
                    Ok(self.services.on_tick(since_epoch(now)))
                },
                message = inputs.gossip.recv() => match message {
                    Some(message) => {
                        match self.on_gossip(message, since_epoch(runtime.current())) {
                            Ok(actions) => actions,
                            Err(exit) => return exit,
                        }
                    }
                    None => return Exit::Ended,
                },
                message = inputs.ceremony.recv() => match message {
                    Some(message) => {
                        self.on_service(message, Channel::Ceremony, since_epoch(runtime.current()))
                    }
                    None => return Exit::Ended,
                },
            };
            let actions = match actions {
                Ok(actions) => actions,
                Err(fault) => {
                    self.blame(&fault);
                    continue;
                }
            };
            if let Err(exit) = self.act_all(&runtime, &done, actions) {
                return exit;
            }
        }
    }

    fn on_gossip(
        &mut self,
        message: Inbound,
        now: Duration,
    ) -> Result<Result<Vec<Action>, PeerFault>, Exit> {
        match message.bytes.first() {
            Some(&gossip::TAG_TRANSACTION) => {
                self.peers.heard(message.from, now, None);
                // A full queue drops it: its sender's own block can still bring it.
                let _ = self.transactions.try_send(message);
                Ok(Ok(Vec::new()))
            }
            Some(&gossip::TAG_BOOT) => match Gossip::decode(&message.bytes) {
                Ok(Gossip::Boot(announcement)) => {
                    self.announcer.hear(message.from, announcement, now)?;
                    Ok(Ok(Vec::new()))
                }
                _ => Ok(self.on_service(message, Channel::Gossip, now)),
            },
            _ => Ok(self.on_service(message, Channel::Gossip, now)),
        }
    }

    fn on_service(
        &mut self,
        message: Inbound,
        channel: Channel,
        now: Duration,
    ) -> Result<Vec<Action>, PeerFault> {
        self.peers.heard(message.from, now, None);
        self.services
            .on_gossip(message.from, channel, &message.bytes, now)
    }

    fn act_all<E: Spawner>(
        &mut self,
        runtime: &E,
        done: &mpsc::Sender<JobResult>,
        actions: Vec<Action>,
    ) -> Result<(), Exit> {
        actions
            .into_iter()
            .try_for_each(|action| self.act(runtime, done, action))
    }

    fn act<E: Spawner>(
        &self,
        runtime: &E,
        done: &mpsc::Sender<JobResult>,
        action: Action,
    ) -> Result<(), Exit> {
        match action {
            Action::Submit(bytes) => {
                if let Err(error) = self.handle.submit(&bytes)
                    && !error.is_known()
                {
                    debug!(?error, "a transaction of a service was refused");
                }
                self.send(To::All, Gossip::Transaction(bytes).encode());
            }
            Action::Send { to, bytes } => self.send(To::One(to), bytes),
            Action::Broadcast(bytes) => self.send(To::All, bytes),
            Action::Run(job) => run_job(runtime, done.clone(), job),
            Action::Blame(fault) => self.blame(&fault),
            Action::Halt(reason) => return Err(Exit::Halt(reason)),
        }
        Ok(())
    }

    fn send(&self, to: To, bytes: Bytes) {
        let channel = match gossip::Channel::of_encoded(&bytes) {
            Some(gossip::Channel::Ceremony) => Channel::Ceremony,
            _ => Channel::Gossip,
        };
        if let Err(error) = self.handle.gossip(channel, to, bytes) {
            debug!(%error, "gossip not sent");
        }
    }

    fn blame(&self, fault: &PeerFault) {
        let grave = fault.fault.is_grave();
        warn!(
            peer = fault.peer,
            fault = fault.fault.name(),
            grave,
            "a validator broke a rule"
        );
        if grave {
            // Fails only while the process stops.
            let _ = self.handle.mesh().block(fault.peer);
        }
    }
}

fn run_job<E: Spawner>(runtime: &E, done: mpsc::Sender<JobResult>, job: Job) {
    let task = runtime.child("job").shared(true);
    drop(task.spawn(move |_| async move {
        // The router has gone when this fails.
        let _ = done.send(job.run()).await;
    }));
}

async fn check_transactions(handle: Handle, mut received: mpsc::Receiver<Inbound>) {
    while let Some(message) = received.recv().await {
        let Ok(Gossip::Transaction(bytes)) = Gossip::decode(&message.bytes) else {
            continue;
        };
        if let Err(error) = handle.submit(&bytes)
            && !error.is_known()
        {
            debug!(
                from = message.from,
                ?error,
                "refused a transaction of a peer"
            );
        }
    }
}

/// How often the services see time pass.
pub const TICK: Duration = Duration::from_millis(100);
/// Transactions of peers that wait to be checked.
const TRANSACTIONS: usize = 256;
/// Finished jobs that wait to be handed back.
const JOBS: usize = 64;

/// Time since 1970.
#[must_use]
pub fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}
