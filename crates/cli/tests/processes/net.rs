//! Two small networks and a relayer, made by the program's own provisioning.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_cli::devnet::provision::{Plan, provision};
use horizon_cli::devnet::{ACCOUNT_FILE, Layout, Program, node_program, relayer_program};
use horizon_ledger::tx::{self, Call};
use horizon_node::api::types::{Delivery, DeliveryState, Id, Message, Readiness, Status};
use horizon_node::client::{Client, Timeouts};
use horizon_node::keys::read_mldsa;
use horizon_sig::mldsa::SigningKey;
use horizon_sig::traits::Verifier as _;
use horizon_warp::payload::EXPIRY_NEVER;
use tokio::runtime::Runtime;

use crate::process::{Process, until};

/// Longest time for anything that takes seconds on a quiet machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);
pub(crate) const RELAYER: &str = "relayer";
/// Validators of each network: one of them may fail.
pub(crate) const VALIDATORS: usize = 4;
pub(crate) const ALPHA: usize = 0;
pub(crate) const BETA: usize = 1;

static TURN: Mutex<()> = Mutex::new(());

/// Networks with their processes, which end with it.
pub(crate) struct Net {
    pub(crate) root: PathBuf,
    pub(crate) layout: Layout,
    pub(crate) processes: BTreeMap<String, Process>,
    nodes: [Vec<Client>; 2],
    pub(crate) relayer: Client,
    account: SigningKey,
    sequences: [u64; 2],
    letters: Vec<Letter>,
    runtime: Runtime,
    _turn: MutexGuard<'static, ()>,
}

/// A message that a test has sent.
#[derive(Clone, Debug)]
pub(crate) struct Letter {
    pub(crate) from: usize,
    body: Vec<u8>,
    sequence: u64,
    transaction: Vec<u8>,
    /// Known once it stands in a final block.
    pub(crate) id: Option<Id>,
}

impl Net {
    /// Makes both networks; nothing runs yet.
    pub(crate) fn new(name: &str, interval_ms: u64) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let prefix = format!("horizon-{name}-");
        let root = tempfile::Builder::new().prefix(&prefix).tempdir().unwrap();
        let root = root.keep();
        let plan = Plan {
            validators: VALIDATORS as u16,
            interval_ms,
            batch_count: 8,
        };
        let layout = provision(&root, &plan, &mut |_| {}).unwrap();
        let clients = |network: usize| {
            let nodes = layout.networks[network].nodes.iter();
            nodes.map(|node| client(&node.url())).collect()
        };
        Self {
            nodes: [clients(ALPHA), clients(BETA)],
            relayer: client(&layout.relayer.url()),
            account: read_mldsa(&root.join(ACCOUNT_FILE)).unwrap(),
            root,
            layout,
            processes: BTreeMap::new(),
            sequences: [0; 2],
            letters: Vec::new(),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
            _turn: turn,
        }
    }

    /// As [`Self::new`], with everything running and ready.
    pub(crate) fn running(name: &str, interval_ms: u64) -> Self {
        let mut net = Self::new(name, interval_ms);
        net.start_network(ALPHA);
        net.start_network(BETA);
        net.start(RELAYER);
        net.await_network(ALPHA);
        net.await_network(BETA);
        let relayer = net.relayer.clone();
        until("the relayer is ready", PATIENCE, || {
            net.run(relayer.readiness())
                .is_ok_and(|answer| answer.ready)
        });
        net
    }

    /// As [`Self::new`], with one network running and ready, for what needs no other.
    pub(crate) fn alone(name: &str, interval_ms: u64) -> Self {
        let mut net = Self::new(name, interval_ms);
        net.start_network(ALPHA);
        net.await_network(ALPHA);
        net
    }

    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub(crate) fn start_network(&mut self, network: usize) {
        for index in 0..VALIDATORS {
            self.start(&self.name(network, index));
        }
    }

    fn await_network(&self, network: usize) {
        for index in 0..VALIDATORS {
            self.await_ready(network, index);
        }
        until("nonces for a Pulse", PATIENCE, || {
            let status = self.status(network, 0);
            status.is_some_and(|status| status.pulse.ready > 0)
        });
    }

    pub(crate) fn await_ready(&self, network: usize, index: usize) {
        let what = format!("{} is ready", self.name(network, index));
        until(&what, PATIENCE, || {
            self.readiness(network, index)
                .is_some_and(|answer| answer.ready)
        });
    }

    pub(crate) fn name(&self, network: usize, index: usize) -> String {
        self.layout.networks[network].nodes[index].name.clone()
    }

    pub(crate) fn program(&self, name: &str) -> Program {
        if name == RELAYER {
            return relayer_program(&self.root, &self.layout.relayer);
        }
        let mut nodes = self
            .layout
            .networks
            .iter()
            .flat_map(|network| &network.nodes);
        let node = nodes.find(|node| node.name == name).unwrap();
        node_program(&self.root, node)
    }

    /// Folder of a validator: `keys`, `node.toml`, `data`.
    pub(crate) fn folder(&self, network: usize, index: usize) -> PathBuf {
        self.root
            .join(&self.layout.networks[network].nodes[index].folder)
    }

    pub(crate) fn start(&mut self, name: &str) {
        let process = Process::start(&self.program(name));
        assert!(self.processes.insert(name.to_owned(), process).is_none());
    }

    /// Ends a process with SIGKILL.
    pub(crate) fn kill(&mut self, name: &str) {
        self.take(name).kill();
    }

    /// Takes a process out, to wait for its end.
    pub(crate) fn take(&mut self, name: &str) -> Process {
        self.processes.remove(name).unwrap()
    }

    pub(crate) fn is_up(&self, network: usize, index: usize) -> bool {
        self.processes.contains_key(&self.name(network, index))
    }

    pub(crate) fn node(&self, network: usize, index: usize) -> &Client {
        &self.nodes[network][index]
    }

    /// Clients of the validators that were started and not ended.
    pub(crate) fn up(&self, network: usize) -> Vec<Client> {
        let up = (0..VALIDATORS).filter(|index| self.is_up(network, *index));
        up.map(|index| self.node(network, index).clone()).collect()
    }

    pub(crate) fn status(&self, network: usize, index: usize) -> Option<Status> {
        self.run(self.node(network, index).status()).ok()
    }

    pub(crate) fn height(&self, network: usize, index: usize) -> u64 {
        self.status(network, index)
            .map_or(0, |status| status.height)
    }

    /// Greatest height of a network.
    pub(crate) fn tip(&self, network: usize) -> u64 {
        let heights = (0..VALIDATORS).filter(|index| self.is_up(network, *index));
        heights
            .map(|index| self.height(network, index))
            .max()
            .unwrap_or(0)
    }

    /// Waits until a node has this height.
    pub(crate) fn await_height(&self, network: usize, index: usize, height: u64) {
        let what = format!("{} at height {height}", self.name(network, index));
        until(&what, PATIENCE, || self.height(network, index) >= height);
    }

    /// Checks that the last validator votes: with another one down the network cannot go on without.
    pub(crate) fn assert_last_votes(&mut self, network: usize) {
        let other = self.name(network, VALIDATORS - 2);
        self.kill(&other);
        let tip = self.tip(network);
        self.await_height(network, 0, tip + 20);
        self.start(&other);
        self.await_ready(network, VALIDATORS - 2);
    }

    pub(crate) fn readiness(&self, network: usize, index: usize) -> Option<Readiness> {
        self.run(self.node(network, index).readiness()).ok()
    }

    /// Fails when a process ended that nobody ended.
    pub(crate) fn assert_alive(&mut self) {
        for (name, process) in &mut self.processes {
            assert!(process.is_running(), "{name} ended: {}", process.output());
        }
    }

    /// Signs a message to the other network and gives it to the nodes that answer.
    pub(crate) fn send(&mut self, from: usize) -> usize {
        let number = self.letters.len();
        let body = format!("letter {number} of network {from}.").into_bytes();
        let to = &self.layout.networks[1 - from];
        let mut channel = [0; 32];
        channel[31] = 1;
        let call = Call {
            sequence: self.sequences[from],
            destination_network: to.network_id,
            destination_chain: to.chain_id(),
            channel,
            expiry_height: EXPIRY_NEVER,
            recipient: b"journal",
            body: &body,
        };
        let own = &self.layout.networks[from];
        let mut rng = UnwrapErr(SysRng);
        let transaction = call.sign(own.network_id, &own.chain_id(), &self.account, &mut rng);
        let letter = Letter {
            from,
            transaction: transaction.unwrap(),
            sequence: self.sequences[from],
            body,
            id: None,
        };
        self.sequences[from] += 1;
        self.letters.push(letter);
        self.submit(number);
        number
    }

    fn submit(&self, number: usize) {
        let letter = &self.letters[number];
        for client in self.up(letter.from) {
            // A node that starts or stops does not answer, one that has it refuses it: it is sent
            // again until it is final.
            let _ = self.run(client.submit_message(letter.transaction.clone()));
        }
    }

    pub(crate) fn letter(&self, number: usize) -> &Letter {
        &self.letters[number]
    }

    pub(crate) fn letters(&self) -> usize {
        self.letters.len()
    }

    /// Looks for the ids of what was sent; sends again what no block has.
    fn pump(&mut self) {
        for from in [ALPHA, BETA] {
            if self
                .letters
                .iter()
                .all(|letter| letter.from != from || letter.id.is_some())
            {
                continue;
            }
            let outbox = self.outbox(from);
            for letter in self.letters.iter_mut().filter(|letter| letter.from == from) {
                let found = outbox.iter().find(|message| is_letter(message, letter));
                letter.id = letter.id.or(found.map(|message| message.id));
            }
            let key = self.account.verifying_key();
            let account = tx::account(key.key_bytes().try_into().unwrap());
            let Some(client) = self.up(from).into_iter().next() else {
                continue;
            };
            let Ok(answer) = self.run(client.account(&account)) else {
                continue;
            };
            let next = answer.next_sequence;
            let lost = self
                .letters
                .iter()
                .position(|letter| (letter.from, letter.sequence) == (from, next));
            if let Some(number) = lost {
                self.submit(number);
            }
        }
    }

    /// Waits until the letters stand in final blocks of their networks.
    pub(crate) fn await_final(&mut self, limit: Duration) {
        let end = Instant::now() + limit;
        while self.letters.iter().any(|letter| letter.id.is_none()) {
            self.pump();
            let left: Vec<_> = self
                .letters
                .iter()
                .filter(|letter| letter.id.is_none())
                .collect();
            assert!(
                Instant::now() < end,
                "not final after {limit:?}: {} letters",
                left.len()
            );
            std::thread::sleep(crate::process::POLL);
        }
    }

    /// Waits until every letter has arrived at a node of its destination.
    pub(crate) fn await_delivered(&mut self, limit: Duration) {
        self.await_final(limit);
        for to in [ALPHA, BETA] {
            let wanted = self.wanted(to);
            until("every letter is delivered", limit, || {
                self.assert_alive();
                let inbox = self.up(to).first().map(|client| self.inbox(client));
                let ids: BTreeSet<Id> = inbox.into_iter().flatten().map(|it| it.id).collect();
                wanted.is_subset(&ids)
            });
        }
    }

    fn wanted(&self, to: usize) -> BTreeSet<Id> {
        let letters = self.letters.iter().filter(|letter| letter.from != to);
        letters.filter_map(|letter| letter.id).collect()
    }

    /// Checks at every validator that runs: each letter stands once in the outbox, acted exactly
    /// once, and its acknowledgement came back; and that all have one chain.
    pub(crate) fn assert_exactly_once(&mut self) {
        self.await_delivered(PATIENCE);
        for network in [ALPHA, BETA] {
            let wanted = self.wanted(network);
            let sent = self.wanted(1 - network);
            assert_eq!(
                wanted.len() + sent.len(),
                self.letters.len(),
                "two letters have one id"
            );
            for client in self.up(network) {
                let mut inbox = Vec::new();
                until("every validator has every delivery", PATIENCE, || {
                    inbox = self.inbox(&client);
                    wanted.iter().all(|id| inbox.iter().any(|it| it.id == *id))
                });
                let ids: BTreeSet<Id> = inbox.iter().map(|delivery| delivery.id).collect();
                assert_eq!(
                    ids.len(),
                    inbox.len(),
                    "{}: delivered twice",
                    client.address()
                );
                for delivery in inbox
                    .iter()
                    .filter(|delivery| wanted.contains(&delivery.id))
                {
                    let state = (delivery.state, delivery.attempts);
                    assert_eq!(state, (DeliveryState::Executed, 1), "{}", client.address());
                }
            }
            for id in &sent {
                until("every acknowledgement is back", PATIENCE, || {
                    let client = self.up(network).into_iter().next().unwrap();
                    let message = self.run(client.message(id));
                    message.is_ok_and(|message| {
                        message.acknowledgement.is_some_and(|ack| ack.executed)
                    })
                });
            }
            let outbox = self.outbox(network);
            for letter in self.letters.iter().filter(|letter| letter.from == network) {
                let copies = outbox
                    .iter()
                    .filter(|message| is_letter(message, letter))
                    .count();
                assert_eq!(copies, 1, "{}", String::from_utf8_lossy(&letter.body));
            }
            self.assert_no_fork(network);
        }
    }

    /// Checks that the running validators of a network have the same blocks.
    pub(crate) fn assert_no_fork(&self, network: usize) {
        let up = self.up(network);
        let heights = up
            .iter()
            .filter_map(|client| self.run(client.status()).ok());
        let common = heights.map(|status| status.height).min().unwrap_or(0);
        // A digest covers all blocks before; samples show that each node serves what it says.
        let samples = (1..=common).step_by(usize::try_from(common / 16 + 1).unwrap());
        for height in samples.chain([common]).filter(|height| *height > 0) {
            let digests: BTreeSet<Id> = up
                .iter()
                .map(|client| self.run(client.block(height)).unwrap().digest)
                .collect();
            assert_eq!(digests.len(), 1, "fork at height {height}");
        }
    }

    /// Every final outgoing message, from the first node that answers.
    pub(crate) fn outbox(&self, network: usize) -> Vec<Message> {
        let mut all: Vec<Message> = Vec::new();
        for client in self.up(network) {
            loop {
                let after = all.last().map(|message| message.sequence);
                match self.run(client.messages(after, 256)) {
                    Ok(page) if !page.messages.is_empty() => all.extend(page.messages),
                    Ok(_) => return all,
                    Err(_) => break,
                }
            }
        }
        all
    }

    /// Every final delivery that a node has.
    pub(crate) fn inbox(&self, client: &Client) -> Vec<Delivery> {
        let mut all: Vec<Delivery> = Vec::new();
        loop {
            let after = all.last().and_then(|delivery| delivery.sequence);
            match self.run(client.deliveries(after, 256)) {
                Ok(page) if !page.deliveries.is_empty() => all.extend(page.deliveries),
                _ => return all,
            }
        }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.processes.clear();
        if std::thread::panicking() {
            eprintln!("state directory: {}", self.root.display());
        } else {
            // What cannot be removed stays in the temporary folder.
            let _ = std::fs::remove_dir_all(&self.root);
        }
    }
}

/// A client that gives up soon: processes are killed under it.
pub(crate) fn client(address: &str) -> Client {
    let timeouts = Timeouts {
        connect: Duration::from_secs(1),
        request: Duration::from_secs(5),
        idle: Duration::from_secs(40),
    };
    Client::new(address, timeouts).unwrap()
}

fn is_letter(message: &Message, letter: &Letter) -> bool {
    !message.is_ack && message.unsigned.ends_with(&letter.body)
}
