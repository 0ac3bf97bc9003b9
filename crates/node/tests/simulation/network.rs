//! One simulated network: validators with all their services.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use horizon_consensus::chain::{Bias, Chain};
use horizon_consensus::handle::{Tap, To};
use horizon_consensus::runtime::{Clock as _, Spawner as _, Supervisor as _};
use horizon_consensus::sim::{Actor, Dealt, Gate, Net, Opening, Secrets};
use horizon_consensus::{Channel, FinalBlock, Inbound};
use horizon_ledger::{Block, Delivery, Genesis, Outgoing, Status, tx};
use horizon_node::attest::AttestStore;
use horizon_node::gossip::Gossip;
use horizon_node::process::backend::{self, NodeBackend};
use horizon_node::process::fence::{self, Witness};
use horizon_node::process::router::{Announcer, Exit, Inputs, OnFinal, Peers, Router, since_epoch};
use horizon_node::process::services::{self, Services};
use horizon_node::pulse::PulseConfig;
use horizon_node::signer::{self, Guard};
use horizon_pulsar::committee::message::{Partial, Unverified};
use horizon_pulsar::dealer::MemberShare;
use horizon_sig::bls;
use horizon_testkit::SeededRng;
use horizon_warp::payload::Routed;
use horizon_warp::prism::{self, Schedule};
use horizon_warp::{CertSet, Envelope, UnsignedMessage};
use tokio::sync::mpsc;

use super::history::{self, Attested, Delivered, Id, Sent};

/// What a faulty validator does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Votes for two blocks.
    Equivocator,
    /// Signs partials that do not verify.
    GarbagePartials,
    /// Keeps its nonce matrices to itself.
    WithheldMatrices,
    /// Sends attestations that do not verify.
    GarbageAttestations,
    /// Proposes no deliveries and no signing transactions.
    Censor,
    /// Proposes blocks with a delivery that is replayed or forged.
    Forger,
}

/// Why a life of a validator ended by itself, or did not begin.
#[derive(Clone, Debug)]
pub struct End {
    pub code: u8,
    pub text: String,
}

/// Between the fence and the services.
struct Life {
    announcer: Announcer,
    peers: Peers,
    guard: Guard,
    gossip: mpsc::Receiver<Inbound>,
    ceremony: mpsc::Receiver<Inbound>,
}

/// What a block did, from its effects or from the store.
struct Did {
    outgoing: Vec<Outgoing>,
    deliveries: Vec<Delivery>,
    acknowledged: Vec<Id>,
}

#[derive(Default)]
pub struct Seat {
    life: Option<Life>,
    pub backend: Option<Arc<NodeBackend>>,
    pub end: Option<End>,
    pub lives: u64,
}

/// What the actors of a network share with the driver of the run.
pub struct Shared {
    pub genesis: Genesis,
    pub secrets: Vec<Secrets>,
    pub role: Option<(u16, Role)>,
    /// Whether gossip is now and then doubled or overtaken.
    pub disorder: bool,
    seed: u64,
    seats: Mutex<Vec<Seat>>,
    pub history: Mutex<history::Network>,
    /// A delivery that the forger puts into its blocks.
    pub contraband: Mutex<Option<Vec<u8>>>,
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Equips a network with gate, services and observers.
pub fn equip(net: &mut Net, shared: &Arc<Shared>) {
    let gate = Arc::clone(shared);
    let open: Gate = Arc::new(move |opening| {
        let shared = Arc::clone(&gate);
        Box::pin(async move {
            let me = opening.mesh.me();
            match shared.open(opening).await {
                Ok(life) => {
                    shared.seat(me, |seat| seat.life = Some(life));
                    true
                }
                Err(end) => {
                    shared.seat(me, |seat| seat.end = Some(end));
                    false
                }
            }
        })
    });
    net.set_gate(open);
    let actor = Arc::clone(shared);
    net.on_start(move |node| {
        if let Err(end) = actor.start(node) {
            actor.seat(node.handle.me(), |seat| seat.end = Some(end));
        }
    });
}

impl Shared {
    pub fn new(
        dealt: Dealt,
        genesis: Genesis,
        role: Option<(u16, Role)>,
        disorder: bool,
        seed: u64,
    ) -> Arc<Self> {
        let seats = dealt.secrets.iter().map(|_| Seat::default()).collect();
        let history = history::Network {
            validators: u16::try_from(dealt.secrets.len()).unwrap(),
            faulty: role.iter().map(|(at, _)| *at).collect(),
            ..history::Network::default()
        };
        Arc::new(Self {
            genesis,
            secrets: dealt.secrets,
            role,
            disorder,
            seed,
            seats: Mutex::new(seats),
            history: Mutex::new(history),
            contraband: Mutex::default(),
        })
    }

    pub fn seat<T>(&self, at: u16, act: impl FnOnce(&mut Seat) -> T) -> T {
        act(&mut lock(&self.seats)[usize::from(at)])
    }

    pub fn backend(&self, at: u16) -> Option<Arc<NodeBackend>> {
        self.seat(at, |seat| seat.backend.clone())
    }

    /// Any validator that answers, from `first` on; with care none that was made faulty.
    pub fn any(&self, first: usize, careful: bool) -> Option<Arc<NodeBackend>> {
        let count = self.secrets.len();
        (0..count).find_map(|step| {
            let at = u16::try_from((first + step) % count).unwrap();
            let faulty = self.role.is_some_and(|(faulty, _)| faulty == at);
            self.backend(at).filter(|_| !careful || !faulty)
        })
    }

    fn is(&self, me: u16, role: Role) -> bool {
        self.role == Some((me, role))
    }

    fn rng(&self, me: u16, what: u64) -> SeededRng {
        let lives = self.seat(me, |seat| seat.lives);
        let mut rng = SeededRng::new(
            self.seed ^ (u64::from(self.genesis.network_id()) << 48) ^ (u64::from(me) << 40),
        );
        let first = rng.next();
        SeededRng::new(first ^ (lives << 8) ^ what)
    }

    /// What a process does before it may vote: guard, fence, and the question to its peers.
    async fn open(self: &Arc<Self>, opening: Opening) -> Result<Life, End> {
        let Opening {
            context,
            mesh,
            disk,
            chain,
        } = opening;
        let me = mesh.me();
        self.seat(me, |seat| seat.lives += 1);
        let end = |code, text: String| End { code, text };
        let member = &self.genesis.record().members[usize::from(me)];
        let identity = signer::identity(self.genesis.hash(), &member.bls_key);
        let is_new = disk.read("signer").is_none_or(|bytes| bytes.is_empty());
        let file = disk.open("signer");
        let guard = match is_new {
            true => Guard::create(file, &identity),
            false => Guard::open(file, &identity),
        };
        let guard = guard.map_err(|error| end(6, format!("signer: {error}")))?;
        let fence = fence::begin_with(
            &guard,
            disk.read("boot"),
            |bytes| disk.replace("boot", bytes),
            &mut self.rng(me, 1),
        )
        .map_err(|failure| end(failure.code, failure.text))?;
        mesh.set_tap(self.tap(me));
        self.set_bias(me, &chain);
        let height = chain.height();
        let keys = self.genesis.member_keys().to_vec();
        let number = guard.announcements().unwrap();
        let hash = *self.genesis.hash();
        let witness = Witness::new(me, fence, height, number, hash, keys);
        let peers = Peers::default();
        let mut announcer = Announcer::new(
            witness,
            Arc::clone(&self.secrets[usize::from(me)].certset),
            mesh.clone(),
            peers.clone(),
            guard.clone(),
            Box::new(self.rng(me, 2)),
        );
        let mut gossip = mesh.take_inbox(Channel::Gossip).unwrap();
        let ceremony = mesh.take_inbox(Channel::Ceremony).unwrap();
        announcer
            .probe(&context, &mut gossip, height)
            .await
            .map_err(|other| {
                let failure = fence::refusal(other.boot, other.height);
                end(failure.code, failure.text)
            })?;
        Ok(Life {
            announcer,
            peers,
            guard,
            gossip,
            ceremony,
        })
    }

    /// What a process does once its engine runs.
    fn start(self: &Arc<Self>, node: &Actor<'_>) -> Result<(), End> {
        let me = node.handle.me();
        let Some(life) = self.seat(me, |seat| seat.life.take()) else {
            return Err(End {
                code: 1,
                text: "no life".to_owned(),
            });
        };
        let finals = node.handle.subscribe().unwrap();
        let now = since_epoch(node.context.current());
        let services = self.services(me, node, life.guard, now)?;
        let shown = Arc::new(NodeBackend::new(backend::Parts {
            handle: node.handle.clone(),
            peers: life.peers.clone(),
            services: services.clone(),
            ready_lag: 10,
            has_share: true,
            evidence: "no/such/folder".into(),
            encode: Box::new(String::new),
        }));
        let inputs = Inputs {
            gossip: life.gossip,
            ceremony: life.ceremony,
            finals,
        };
        let (watcher, chain) = (Arc::clone(self), Arc::clone(node.handle.chain()));
        let observer = Arc::clone(&shown);
        let on_final = OnFinal(Arc::new(move |block| {
            observer.on_final(block);
            watcher.observe(me, block, &chain);
        }));
        let router = Router::new(
            node.context,
            node.handle.clone(),
            life.announcer,
            life.peers,
            services,
            on_final,
        );
        let ended = Arc::clone(self);
        let task = node
            .context
            .child("router")
            .spawn(move |context| async move {
                let exit = router.run(context, inputs).await;
                ended.seat(me, |seat| seat.end = Some(why(exit)));
            });
        drop(task);
        self.seat(me, |seat| seat.backend = Some(shown));
        Ok(())
    }

    fn services(
        &self,
        me: u16,
        node: &Actor<'_>,
        guard: Guard,
        now: Duration,
    ) -> Result<Services, End> {
        let secrets = &self.secrets[usize::from(me)];
        let attestations = AttestStore::with_backend(node.disk.open("attestations"), 100_000)
            .map_err(|error| End {
                code: 6,
                text: format!("attestations: {error}"),
            })?;
        let share = MemberShare::from_bytes(&secrets.share.to_bytes()).unwrap();
        let parts = services::Parts {
            genesis: self.genesis.clone(),
            position: me,
            beam: bls::SigningKey::from_bytes(&secrets.beam.to_bytes()[..]).unwrap(),
            certset: Arc::clone(&secrets.certset),
            share: Some(share),
            accepts_older_records: false,
            pulse: PulseConfig {
                garbage_partials: self.is(me, Role::GarbagePartials),
                ..PulseConfig::new()
            },
            guard,
            attestations,
            store: Arc::clone(node.handle.chain().store()),
            attest_rng: Box::new(self.rng(me, 3)),
            pulse_rng: Box::new(self.rng(me, 4)),
        };
        Services::open(parts, now).map_err(|failure| End {
            code: failure.code,
            text: failure.text,
        })
    }

    /// Sees what a validator sends, and spoils it where its role says so.
    fn tap(self: &Arc<Self>, me: u16) -> Tap {
        let shared = Arc::clone(self);
        let state = Mutex::new((self.rng(me, 5), [const { None::<(To, Bytes)> }; 2]));
        Arc::new(move |channel, to, bytes| {
            let decoded = Gossip::decode(&bytes);
            let mut bytes = bytes;
            match &decoded {
                Ok(Gossip::NonceMatrix(_)) if shared.is(me, Role::WithheldMatrices) => {
                    return Vec::new();
                }
                Ok(Gossip::Attestations(_)) if shared.is(me, Role::GarbageAttestations) => {
                    let mut spoilt = bytes.to_vec();
                    *spoilt.last_mut().unwrap() ^= 1;
                    bytes = spoilt.into();
                }
                Ok(message) => shared.note(me, message),
                Err(_) => {}
            }
            let (rng, held) = &mut *lock(&state);
            // A message stays on its channel.
            let held = &mut held[usize::from(channel == Channel::Ceremony)];
            let mut out = vec![(to, bytes)];
            if shared.disorder {
                match rng.below(20) {
                    0 => out.push(out[0].clone()),
                    // Overtaken by the next message, or lost with the process.
                    1 if held.is_none() => *held = out.pop(),
                    _ => out.extend(held.take()),
                }
            }
            // One over its quota must not take the others with it.
            out
        })
    }

    fn note(&self, me: u16, message: &Gossip) {
        match message {
            Gossip::Attestations(items) => {
                let own = items.iter().filter(|item| item.signer == me);
                let own = own.map(|item| Attested {
                    signer: me,
                    id: item.id,
                    beam: item.beam.is_some(),
                    certificate: item.certificate.is_some(),
                });
                lock(&self.history).attested.extend(own);
            }
            Gossip::Partial(bytes) => {
                let Ok(partial) = Unverified::<Partial>::decode(bytes, self.genesis.committee())
                else {
                    return;
                };
                if partial.header().sender == me {
                    let body = partial.body();
                    let fact = (me, partial.header().seq, body.index, body.session_ctx);
                    lock(&self.history).partials.push(fact);
                }
            }
            _ => {}
        }
    }

    fn set_bias(self: &Arc<Self>, me: u16, chain: &Chain) {
        let censors = self.is(me, Role::Censor);
        let forges = self.is(me, Role::Forger);
        if !censors && !forges {
            return;
        }
        let shared = Arc::clone(self);
        chain.set_bias(Bias {
            takes: Arc::new(move |bytes| {
                let own = matches!(bytes.get(1), Some(&(tx::KIND_SUBMIT | tx::KIND_RETRY)));
                !censors || own
            }),
            change: Arc::new(move |mut block| {
                if forges && let Some(bytes) = lock(&shared.contraband).clone() {
                    block.transactions.push(bytes.into());
                }
                block
            }),
        });
    }

    /// Writes down what a final block did.
    fn observe(&self, me: u16, block: &FinalBlock, chain: &Chain) {
        let height = block.block().height;
        let (_, state) = chain.store().tip();
        let history = &mut *lock(&self.history);
        history.finals.push((me, height, *block.digest()));
        history
            .memory
            .push((me, state.height(), state.delivery_count()));
        if history.blocks.contains_key(&height) {
            return;
        }
        let effects = block.effects();
        let did = Did {
            outgoing: effects.outgoing.clone(),
            deliveries: effects.deliveries.clone(),
            acknowledged: effects.acknowledged.iter().map(|word| word.id).collect(),
        };
        let facts = self.facts(block.block(), *block.digest(), &did);
        history.blocks.insert(height, facts);
        self.fill(history, chain, height);
    }

    fn facts(&self, block: &Block, digest: Id, did: &Did) -> history::Block {
        let mut envelopes = BTreeMap::new();
        for transaction in &block.transactions {
            if let Ok(tx::Transaction::Deliver(bytes)) = tx::Transaction::decode(transaction)
                && let Ok(envelope) = Envelope::parse(bytes)
            {
                envelopes.insert(envelope.id(), bytes.to_vec());
            }
        }
        if let Some(bytes) = envelopes.values().next() {
            // A replay, or one with a signature of another message.
            let mut bytes = bytes.clone();
            if block.height.is_multiple_of(2) {
                *bytes.last_mut().unwrap() ^= 1;
            }
            *lock(&self.contraband) = Some(tx::deliver(&bytes));
        }
        let delivered = did.deliveries.iter().map(|delivery| {
            let envelope = envelopes.get(&delivery.id).map(Vec::as_slice);
            let unsigned = UnsignedMessage::parse(&delivery.unsigned).unwrap();
            let routed = Routed::parse(unsigned.payload()).unwrap();
            Delivered {
                id: delivery.id,
                sequence: delivery.sequence,
                channel: delivery.channel,
                nonce: delivery.nonce,
                is_ack: delivery.is_ack,
                is_retry: delivery.is_retry,
                executed: delivery.status == Status::Executed,
                proven: envelope.is_some_and(|bytes| self.proves(bytes, block.time_ms)),
                signers: envelope.map_or([0; 2], signers),
                recipient: routed.recipient.to_vec(),
                body: routed.body.to_vec(),
            }
        });
        history::Block {
            digest,
            delivered: delivered.collect(),
            sent: did
                .outgoing
                .iter()
                .map(|message| Sent {
                    id: message.id,
                    sequence: message.sequence,
                    channel: message.channel,
                    nonce: message.nonce,
                    is_ack: message.is_ack,
                })
                .collect(),
            acknowledged: did.acknowledged.clone(),
        }
    }

    /// What blocks did that no validator lived to tell.
    fn fill(&self, history: &mut history::Network, chain: &Chain, below: u64) {
        let store = chain.store();
        for height in 1..below {
            if history.blocks.contains_key(&height) {
                continue;
            }
            let Some(block) = store.block(height).unwrap() else {
                continue;
            };
            let receipts = history
                .sent()
                .filter_map(|sent| store.receipt(&sent.id).unwrap());
            let did = Did {
                outgoing: store.outgoing_at(height).unwrap(),
                deliveries: store.deliveries_at(height).unwrap(),
                acknowledged: receipts
                    .filter(|receipt| receipt.height == height)
                    .map(|receipt| receipt.id)
                    .collect(),
            };
            let facts = self.facts(&block, block.digest(), &did);
            history.blocks.insert(height, facts);
        }
    }

    /// Prism, without the application's caches.
    fn proves(&self, bytes: &[u8], time_ms: u64) -> bool {
        let envelope = Envelope::parse(bytes).unwrap();
        let network = envelope.message().unsigned().network_id();
        let context = prism::Context {
            schedule: Schedule::Sequential,
            ..prism::Context::new(network, 0, time_ms / 1_000)
        };
        prism::verify(
            &envelope,
            self.genesis.registry(),
            self.genesis.policy(),
            &context,
        )
        .is_ok()
    }
}

fn signers(bytes: &[u8]) -> [u32; 2] {
    let envelope = Envelope::parse(bytes).unwrap();
    let certificates = CertSet::parse(envelope.attestation().unwrap_or_default());
    [
        envelope.message().beam().signers.count(),
        certificates.map_or(0, |set| set.signers().count()),
    ]
}

fn why(exit: Exit) -> End {
    match exit {
        Exit::OtherLife(other) => {
            let failure = fence::refusal(other.boot, other.height);
            End {
                code: failure.code,
                text: failure.text,
            }
        }
        Exit::Halt(reason) => End {
            code: reason.exit_code(),
            text: reason.to_string(),
        },
        Exit::Ended => End {
            code: 6,
            text: "the engine ended".to_owned(),
        },
    }
}

/// A network's validators before they run.
pub fn deal(network: u32, seed: u64) -> Dealt {
    Dealt::new(
        network,
        4,
        3,
        &mut SeededRng::new(seed ^ (u64::from(network) << 32)),
    )
}
