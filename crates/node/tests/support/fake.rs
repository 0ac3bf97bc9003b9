//! A network in memory that answers as a node does, with real keys, signatures, Pulses and Prism.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::BoxStream;
use horizon_node::api::types::*;
use horizon_node::api::{Answer, ApiError, Backend, Code, EventId, EventLog};
use horizon_pulsar::Suite;
use horizon_pulsar::hazmat::interop::{Dealing, Group, Preprocess, Session, SidFence, gen_key_era};
use horizon_pulsar::signers::{Quorum as Points, SignerSet as Committee};
use horizon_sig::{bls, mldsa};
use horizon_testkit::SeededRng;
use horizon_warp::payload::Routed;
use horizon_warp::policy::{Policy, SourceConfig, Tier};
use horizon_warp::prism::{Context, Schedule};
use horizon_warp::registry::{Member, Record, RecordKey, Registry};
use horizon_warp::transcript::CERTIFICATE_CONTEXT;
use horizon_warp::{Envelope, SignerSet, SuiteId, Transcript, UnsignedMessage, prism, quorum};

pub const ERA: u64 = 1;
/// Virtual time at which records are issued, seconds since 1970.
pub const ISSUED_S: u64 = 1_700_000_000;

/// The committee's shares, all in one hand: for tests only.
struct Kernel {
    dealing: Dealing,
    group: Group,
    sid: u64,
}

impl Kernel {
    fn new(rng: &mut SeededRng) -> Self {
        let mut coefficients = SeededRng::new(rng.next());
        let dealing = gen_key_era(
            Suite::PulsarSha3,
            Points::new(2, 2).unwrap(),
            |out| out.iter_mut().for_each(|byte| *byte = rng.next() as u8),
            || coefficients.next() % horizon_warp::pulse::MODULUS,
        )
        .unwrap();
        let group = Group::new(dealing.group_key.clone(), Suite::PulsarSha3);
        Self {
            dealing,
            group,
            sid: 0,
        }
    }

    fn sign(&mut self, message: &[u8]) -> Vec<u8> {
        self.sid += 1;
        let signers = Committee::everyone(self.dealing.shares[0].quorum());
        let sessions: Vec<Session<'_>> = self
            .dealing
            .shares
            .iter()
            .map(|share| Session::new(&self.group, share, signers.clone()).unwrap())
            .collect();
        let (nonces, messages): (Vec<_>, Vec<_>) = sessions
            .iter()
            .map(|session| session.round1(&mut SidFence::fresh(), self.sid).unwrap())
            .unzip();
        let mut assemblies = Vec::new();
        let mut partials = Vec::new();
        for nonce in nonces {
            let mut preprocess = Preprocess::new(nonce);
            preprocess.absorb_all(&messages).unwrap();
            let ready = preprocess.finish().unwrap();
            let (partial, assembly) = ready.sign(message, &[7; 32]).unwrap();
            partials.push(partial);
            assemblies.push(assembly);
        }
        let (signature, _) = assemblies[0].combine(&partials).unwrap();
        signature.to_pulse_bytes()
    }
}

struct Secrets {
    bls: bls::SigningKey,
    mldsa: mldsa::SigningKey,
}

/// One outgoing message and what has been signed for it.
struct Out {
    message: Message,
    signed: bool,
    beam: BTreeMap<u32, Vec<u8>>,
    certset: BTreeMap<u32, Vec<u8>>,
    pulse: Option<Vec<u8>>,
}

/// One incoming message that is not final yet.
struct Waiting {
    delivery: Delivery,
}

/// What the network was asked.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Every call.
    pub calls: u64,
    /// Per attestation request: what the client had, and the Beam indices it got.
    pub attestations: Vec<(Id, Have, Vec<u32>)>,
    /// When each attestation request came, by the test's clock.
    pub attestation_times: Vec<u64>,
    /// Envelopes per message, accepted or not.
    pub submissions: BTreeMap<Id, u32>,
    /// Envelopes refused by Prism.
    pub refused: u64,
    /// The accepted envelope of each message.
    pub accepted: BTreeMap<Id, Vec<u8>>,
}

pub struct Inner {
    pub height: u64,
    pub now_ms: u64,
    generation: u64,
    records: Vec<Record>,
    out: Vec<Out>,
    /// Validators that do not sign.
    pub silent: BTreeSet<u32>,
    /// Validators whose signatures are garbage.
    pub garbage: BTreeSet<u32>,
    pub refuse_attestations: bool,
    /// Whether Pulses are made.
    pub pulses: bool,
    policy: Option<SourceConfig>,
    registry: Option<Registry>,
    source_records: Vec<Record>,
    pub source_height: u64,
    pub inbox: BTreeMap<Id, Delivery>,
    order: Vec<Id>,
    waiting: BTreeMap<Id, Waiting>,
    /// How often each message acted.
    pub effects: BTreeMap<Id, u32>,
    /// Blocks take envelopes but do not become final.
    pub hold_final: bool,
    /// Nothing is answered.
    pub down: bool,
    /// Pages stop after this sequence this many times.
    pub page_ends: Option<(u64, u32)>,
    /// Handlers fail.
    pub handler_fails: bool,
    /// Envelopes are refused with this.
    pub refuse: Option<Code>,
    pub log: Log,
    kernel: Option<Kernel>,
}

pub struct Fake {
    pub network_id: u32,
    pub chain_id: Id,
    pub events: EventLog,
    secrets: Vec<Secrets>,
    inner: Mutex<Inner>,
}

impl Fake {
    /// A network with validators of these weights; with a Pulse committee unless `classical`.
    pub fn new(seed: u64, network_id: u32, weights: &[u64], classical: bool) -> Arc<Self> {
        let mut rng = SeededRng::new(seed);
        let mut secrets: Vec<Secrets> = weights.iter().map(|_| Secrets::new(&mut rng)).collect();
        secrets.sort_by_key(|secrets| secrets.bls.verifying_key().to_bytes());
        let kernel = (!classical).then(|| Kernel::new(&mut rng));
        let chain_id = [network_id as u8; 32];
        let record = Record {
            key: RecordKey {
                network_id,
                chain_id,
                key_era: ERA,
                generation: 0,
            },
            suite: SuiteId::PulsarSha3,
            group_key: kernel
                .as_ref()
                .map_or_else(Vec::new, |kernel| kernel.dealing.group_key.to_framed()),
            threshold: if classical { 0 } else { 2 },
            valid_from: 0,
            valid_until: None,
            issued_at_s: ISSUED_S,
            previous: [0; 32],
            members: members(&secrets, weights, classical),
        };
        Arc::new(Self {
            network_id,
            chain_id,
            events: EventLog::new(seed, 10_000),
            secrets,
            inner: Mutex::new(Inner {
                height: 1,
                now_ms: ISSUED_S * 1_000,
                generation: 0,
                records: vec![record],
                out: Vec::new(),
                silent: BTreeSet::new(),
                garbage: BTreeSet::new(),
                refuse_attestations: false,
                pulses: true,
                policy: None,
                registry: None,
                source_records: Vec::new(),
                source_height: 1,
                inbox: BTreeMap::new(),
                order: Vec::new(),
                waiting: BTreeMap::new(),
                effects: BTreeMap::new(),
                hold_final: false,
                down: false,
                page_ends: None,
                handler_fails: false,
                refuse: None,
                log: Log::default(),
                kernel,
            }),
        })
    }

    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    /// Makes this network take messages of `source` under a tier.
    pub fn trust(&self, source: &Self, tier: Tier) {
        let records = source.lock().records.clone();
        let mut inner = self.lock();
        let last = records.last().unwrap();
        let config = SourceConfig {
            tier,
            max_age_s: 1_000_000_000_000,
            validators_min: 1,
            threshold_min: 1,
            ..SourceConfig::new(source.network_id, source.chain_id, last.hash().unwrap())
        };
        let policy = Policy::new(&[config]).unwrap();
        inner.registry = Some(Registry::load(records.clone(), &policy.pins()).unwrap());
        inner.policy = Some(config);
        inner.source_records = records;
    }

    /// Starts a generation with other weights and attests every message anew under it.
    pub fn rotate(&self, weights: &[u64]) {
        let mut inner = self.lock();
        let last = inner.records.last().unwrap().clone();
        let mut next = last.clone();
        next.key.generation += 1;
        next.previous = last.hash().unwrap();
        next.valid_from = inner.height;
        for (member, weight) in next.members.iter_mut().zip(weights) {
            member.weight = *weight;
        }
        inner.generation = next.key.generation;
        inner.records.push(next);
        let generation = inner.generation;
        for out in &mut inner.out {
            out.message.lineage.generation = generation;
            out.certset.clear();
            out.pulse = None;
        }
    }

    /// Sends a message to another network; `signed` says whether anybody will ever sign it.
    pub fn send(&self, to: &Self, body: &[u8], signed: bool) -> Id {
        self.send_to((to.network_id, to.chain_id), body, signed, u64::MAX)
    }

    pub fn send_to(&self, to: (u32, Id), body: &[u8], signed: bool, expiry_height: u64) -> Id {
        let mut inner = self.lock();
        let nonce = inner.out.len() as u64;
        let payload = Routed {
            destination_network: to.0,
            destination_chain: to.1,
            channel: [0; 32],
            nonce,
            expiry_height,
            sender: &[9; 32],
            recipient: b"journal",
            body,
        }
        .encode()
        .unwrap();
        let unsigned = UnsignedMessage::new(self.network_id, self.chain_id, &payload).unwrap();
        let id = unsigned.id();
        let message = Message {
            id,
            sequence: nonce,
            height: inner.height,
            time_ms: inner.now_ms,
            destination_network: to.0,
            destination_chain: to.1,
            channel: [0; 32],
            nonce,
            expiry_height,
            is_ack: false,
            unsigned: unsigned.encode(),
            lineage: Lineage {
                nebula_root: [inner.height as u8; 32],
                key_era: ERA,
                generation: inner.generation,
            },
            suite: "Pulsar-SHA3".to_owned(),
            acknowledgement: None,
        };
        inner.out.push(Out {
            message,
            signed,
            beam: BTreeMap::new(),
            certset: BTreeMap::new(),
            pulse: None,
        });
        let height = inner.height;
        drop(inner);
        self.events.push(EventKind::Message, height, Some(id));
        id
    }

    /// One block: what waits is included, or final.
    pub fn block(&self, now_ms: u64) {
        let mut inner = self.lock();
        inner.height += 1;
        inner.now_ms = now_ms;
        let height = inner.height;
        let mut delivered = Vec::new();
        if inner.hold_final {
            for waiting in inner.waiting.values_mut() {
                waiting.delivery.state = DeliveryState::Included;
                waiting.delivery.height = Some(height);
            }
        } else {
            let failed = inner.handler_fails;
            for (id, waiting) in core::mem::take(&mut inner.waiting) {
                let mut delivery = waiting.delivery;
                delivery.state = if failed {
                    DeliveryState::Failed
                } else {
                    DeliveryState::Executed
                };
                delivery.reason = failed.then(|| "handler-failed".to_owned());
                delivery.height = Some(height);
                delivery.sequence = Some(inner.order.len() as u64);
                delivery.attempts = 1;
                inner.order.push(id);
                *inner.effects.entry(id).or_default() += u32::from(!failed);
                inner.inbox.insert(id, delivery);
                delivered.push(id);
            }
        }
        drop(inner);
        for id in delivered {
            self.events.push(EventKind::Delivery, height, Some(id));
        }
        self.events.push(EventKind::Block, height, None);
    }

    /// The destination forgets what it included and had not made final.
    pub fn lose_unfinal(&self) {
        self.lock().waiting.clear();
    }

    /// Marks everything that `destination` has delivered as acknowledged.
    pub fn acknowledge_from(&self, destination: &Self) {
        let done: Vec<(Id, bool)> = {
            let other = destination.lock();
            let states = other.inbox.iter();
            states
                .map(|(id, delivery)| (*id, delivery.state == DeliveryState::Executed))
                .collect()
        };
        let mut inner = self.lock();
        let height = inner.height;
        for (id, executed) in done {
            for out in inner.out.iter_mut().filter(|out| out.message.id == id) {
                out.message.acknowledgement = Some(Acknowledgement { executed, height });
            }
        }
    }

    pub fn policy(&self) -> SourceConfig {
        self.lock().policy.unwrap()
    }

    fn find<'i>(&self, inner: &'i mut Inner, id: Id) -> Result<&'i mut Out, ApiError> {
        let out = inner.out.iter_mut().find(|out| out.message.id == id);
        out.ok_or(ApiError::new(Code::MessageUnknown))
    }

    fn transcript(message: &Message) -> Transcript {
        let unsigned = UnsignedMessage::parse(&message.unsigned).unwrap();
        Transcript::new(&unsigned, &message.lineage.into(), message.suite.as_bytes())
    }

    /// Signs what has not been signed.
    fn sign(&self, inner: &mut Inner, id: Id) -> Result<(), ApiError> {
        let (silent, garbage) = (inner.silent.clone(), inner.garbage.clone());
        let classical = inner.kernel.is_none();
        let out = self.find(inner, id)?;
        if !out.signed {
            return Ok(());
        }
        let transcript = Self::transcript(&out.message);
        for (index, keys) in (0_u32..).zip(&self.secrets) {
            if silent.contains(&index) {
                continue;
            }
            let beam = || {
                keys.bls
                    .sign_message(transcript.beam_bytes())
                    .to_bytes()
                    .to_vec()
            };
            out.beam.entry(index).or_insert_with(beam);
            if classical {
                continue;
            }
            let certificate = || {
                let message = transcript.as_bytes();
                let signed = keys.mldsa.sign_deterministic(CERTIFICATE_CONTEXT, message);
                signed.unwrap()
            };
            out.certset.entry(index).or_insert_with(certificate);
        }
        for index in garbage {
            // A valid signature over something else: only verification tells.
            let other = self.secrets[index as usize].bls.sign_message(b"other");
            out.beam.insert(index, other.to_bytes().to_vec());
            if let Some(certificate) = out.certset.get_mut(&index) {
                certificate[100] ^= 1;
            }
        }
        Ok(())
    }

    fn attest(&self, id: Id, have: &Have) -> Result<Attestations, ApiError> {
        let mut inner = self.lock();
        inner.log.calls += 1;
        if inner.refuse_attestations {
            return Err(ApiError::new(Code::AttestationRefused));
        }
        self.sign(&mut inner, id)?;
        let out = self.find(&mut inner, id)?;
        let missing = |signed: &BTreeMap<u32, Vec<u8>>, have: &SignerSet| -> Vec<Single> {
            // In an order that tells nothing, as replies come.
            let mut singles: Vec<Single> = signed
                .iter()
                .filter(|(index, _)| !have.as_signers().contains(**index))
                .map(|(index, signature)| Single {
                    index: *index,
                    signature: signature.clone(),
                })
                .collect();
            singles.sort_by_key(|single| [2, 0, 3, 1].get(single.index as usize).copied());
            singles.reverse();
            singles
        };
        let answer = Attestations {
            id,
            lineage: out.message.lineage,
            beam: missing(&out.beam, &have.beam),
            certset: missing(&out.certset, &have.certset),
        };
        let served = answer.beam.iter().map(|single| single.index).collect();
        let now_ms = inner.now_ms;
        inner.log.attestations.push((id, have.clone(), served));
        inner.log.attestation_times.push(now_ms);
        Ok(answer)
    }

    fn submit(&self, bytes: &[u8]) -> Result<SubmittedEnvelope, ApiError> {
        let mut inner = self.lock();
        inner.log.calls += 1;
        let envelope = Envelope::parse(bytes)?;
        let unsigned = *envelope.message().unsigned();
        let id = unsigned.id();
        *inner.log.submissions.entry(id).or_default() += 1;
        if inner.inbox.contains_key(&id) {
            return Ok(SubmittedEnvelope {
                id,
                state: SubmitState::Delivered,
            });
        }
        if let Some(code) = inner.refuse {
            return Err(code.into());
        }
        let config = inner.policy.ok_or(ApiError::new(Code::WrongDestination))?;
        let context = Context {
            schedule: Schedule::Sequential,
            ..Context::new(config.network_id, inner.source_height, inner.now_ms / 1_000)
        };
        let policy = Policy::new(&[config]).unwrap();
        let registry = inner.registry.take().unwrap();
        let verdict = prism::verify(&envelope, &registry, &policy, &context).map(drop);
        inner.registry = Some(registry);
        if let Err(refusal) = verdict {
            inner.log.refused += 1;
            return Err(refusal.into());
        }
        let routed = Routed::parse(unsigned.payload())?;
        if (routed.destination_network, routed.destination_chain)
            != (self.network_id, self.chain_id)
        {
            return Err(Code::WrongDestination.into());
        }
        if routed.expiry_height < inner.height {
            return Err(Code::MessageExpired.into());
        }
        if inner.waiting.contains_key(&id) {
            return Ok(SubmittedEnvelope {
                id,
                state: SubmitState::Pending,
            });
        }
        let delivery = Delivery {
            id,
            state: DeliveryState::Pending,
            sequence: None,
            height: None,
            source_network: unsigned.network_id(),
            source_chain: *unsigned.source_chain_id(),
            channel: routed.channel,
            nonce: routed.nonce,
            recipient: String::from_utf8(routed.recipient.to_vec()).unwrap(),
            attempts: 0,
            reason: None,
        };
        inner.waiting.insert(id, Waiting { delivery });
        inner.log.accepted.insert(id, bytes.to_vec());
        Ok(SubmittedEnvelope {
            id,
            state: SubmitState::Accepted,
        })
    }

    fn page(&self, from: u64, limit: usize) -> Result<MessagePage, ApiError> {
        let mut inner = self.lock();
        inner.log.calls += 1;
        let mut limit = limit;
        if let Some((end, times)) = inner.page_ends
            && times > 0
        {
            if from > end {
                inner.page_ends = Some((end, times - 1));
                return Err(Code::Unavailable.into());
            }
            limit = limit.min((end + 1 - from) as usize);
        }
        let messages = inner.out.iter().skip(from as usize).take(limit);
        Ok(MessagePage {
            messages: messages.map(|out| out.message.clone()).collect(),
            total: inner.out.len() as u64,
            height: inner.height,
        })
    }

    fn progress(
        &self,
        record: &Record,
        signed: &BTreeMap<u32, Vec<u8>>,
        evidence: impl FnOnce(&SignerSet) -> Vec<u8>,
    ) -> LaneProgress {
        let signers = SignerSet::from_indices(signed.keys().copied()).unwrap();
        let weight_of = |index: &u32| record.members[*index as usize].weight;
        let weight = signed.keys().map(weight_of).sum();
        let total = record.members.iter().map(|member| member.weight).sum();
        let needed = quorum::Quorum::DEFAULT.weight_needed(total);
        LaneProgress {
            evidence: (weight >= needed).then(|| evidence(&signers)),
            signers,
            weight,
            needed,
            total,
        }
    }

    fn aggregated(&self, id: Id) -> Result<Aggregate, ApiError> {
        let mut inner = self.lock();
        self.sign(&mut inner, id)?;
        let record = inner.records.last().unwrap().clone();
        let out = self.find(&mut inner, id)?;
        let beam = self.progress(&record, &out.beam, |_| {
            let singles = out.beam.values();
            let singles: Vec<_> = singles
                .map(|bytes| bls::Signature::from_bytes(bytes).unwrap())
                .collect();
            bls::aggregate(&singles).unwrap().to_bytes().to_vec()
        });
        let certset = self.progress(&record, &out.certset, |signers| {
            let singles = out.certset.values();
            let singles: Vec<[u8; 3309]> = singles
                .map(|bytes| bytes.as_slice().try_into().unwrap())
                .collect();
            let set = horizon_warp::CertSet::new(signers.as_signers(), &singles);
            set.unwrap().encode()
        });
        let mut missing = Vec::new();
        for (lane, signed) in [("beam", &out.beam), ("certset", &out.certset)] {
            for (index, member) in (0_u32..).zip(&record.members) {
                if !signed.contains_key(&index) {
                    missing.push(Missing {
                        lane: lane.to_owned(),
                        index,
                        operator: member.operator.clone(),
                        weight: member.weight,
                    });
                }
            }
        }
        Ok(Aggregate {
            id,
            lineage: out.message.lineage,
            beam,
            certset,
            missing,
        })
    }

    fn pulsed(&self, id: Id) -> Result<Pulse, ApiError> {
        let mut inner = self.lock();
        inner.log.calls += 1;
        let (pulses, mut kernel) = (inner.pulses, inner.kernel.take());
        let found = self.find(&mut inner, id).map(|out| {
            if pulses && out.signed && out.pulse.is_none() {
                let transcript = Self::transcript(&out.message);
                out.pulse = kernel
                    .as_mut()
                    .map(|kernel| kernel.sign(transcript.as_bytes()));
            }
            Pulse {
                id,
                lineage: out.message.lineage,
                state: if out.pulse.is_some() {
                    PulseState::Ready
                } else {
                    PulseState::Waiting
                },
                attempt: 0,
                members: if out.pulse.is_some() {
                    vec![0, 1]
                } else {
                    Vec::new()
                },
                pulse: out.pulse.clone(),
            }
        });
        inner.kernel = kernel;
        found
    }

    fn view(&self) -> RegistryView {
        let inner = self.lock();
        let views = |records: &[Record]| -> Vec<RecordView> {
            let views = records.iter().map(|record| RecordView::of(record).unwrap());
            views.collect()
        };
        let sources = inner.policy.iter().map(|policy| SourceView {
            policy: PolicyView::from(policy),
            records: views(&inner.source_records),
            source_height: inner.source_height,
        });
        RegistryView {
            network_id: self.network_id,
            chain_id: self.chain_id,
            records: views(&inner.records),
            sources: sources.collect(),
        }
    }
}

impl Secrets {
    fn new(rng: &mut SeededRng) -> Self {
        let mut bytes = [0_u8; 64];
        bytes.iter_mut().for_each(|byte| *byte = rng.next() as u8);
        bytes[0] = 1;
        Self {
            bls: bls::SigningKey::from_bytes(&bytes[..32]).unwrap(),
            mldsa: mldsa::SigningKey::from_seed(mldsa::ParameterSet::MlDsa65, &bytes[32..])
                .unwrap(),
        }
    }
}

fn members(secrets: &[Secrets], weights: &[u64], classical: bool) -> Vec<Member> {
    use horizon_sig::traits::Verifier;
    let secrets = (0_u8..).zip(secrets).zip(weights);
    secrets
        .map(|((index, secrets), weight)| Member {
            bls_key: secrets.bls.verifying_key().to_bytes(),
            possession: secrets.bls.prove_possession().to_bytes(),
            mldsa_key: Some(Box::new(
                secrets
                    .mldsa
                    .verifying_key()
                    .key_bytes()
                    .try_into()
                    .unwrap(),
            )),
            weight: *weight,
            points: u32::from(!classical),
            node_id: [index; 20],
            operator: format!("operator-{index}"),
        })
        .collect()
}

fn done<'a, T: Send + 'a>(answer: Result<T, ApiError>) -> BoxFuture<'a, Result<T, ApiError>> {
    futures::future::ready(answer).boxed()
}

impl Backend for Fake {
    fn status(&self) -> Answer<'_, Status> {
        let inner = self.lock();
        done(Ok(Status {
            version: "0.1.0".to_owned(),
            name: format!("fake-{}", self.network_id),
            network_id: self.network_id,
            chain_id: self.chain_id,
            genesis: [3; 32],
            position: Some(0),
            height: inner.height,
            consensus_height: inner.height,
            view: inner.height,
            time_ms: inner.now_ms,
            peers: 3,
            validators: self.secrets.len() as u32,
            outgoing: inner.out.len() as u64,
            unacknowledged: 0,
            delivered: inner.order.len() as u64,
            mempool_transactions: inner.waiting.len() as u64,
            evidence: 0,
            pulse: PulseStatus {
                state: "ready".to_owned(),
                ready: 8,
                waiting: 0,
                closed: 0,
                excluded: vec![2],
            },
        }))
    }

    fn messages(&self, from: u64, limit: usize) -> Answer<'_, MessagePage> {
        done(self.page(from, limit))
    }

    fn message(&self, id: Id) -> Answer<'_, Message> {
        let mut inner = self.lock();
        inner.log.calls += 1;
        done(self.find(&mut inner, id).map(|out| out.message.clone()))
    }

    fn attestations(&self, id: Id, have: Have) -> Answer<'_, Attestations> {
        done(self.attest(id, &have))
    }

    fn aggregate(&self, id: Id) -> Answer<'_, Aggregate> {
        done(self.aggregated(id))
    }

    fn pulse(&self, id: Id) -> Answer<'_, Pulse> {
        done(self.pulsed(id))
    }

    fn envelope(&self, id: Id) -> Answer<'_, Bytes> {
        let built = self.aggregated(id).and_then(|aggregate| {
            let pulse = self.pulsed(id)?.pulse;
            let (Some(beam), Some(certset), Some(pulse)) =
                (aggregate.beam.evidence, aggregate.certset.evidence, pulse)
            else {
                return Err(Code::EvidenceIncomplete.into());
            };
            let mut inner = self.lock();
            let message = &self.find(&mut inner, id)?.message;
            let beam: [u8; 96] = beam.try_into().unwrap();
            let signed = horizon_warp::Message::new(
                UnsignedMessage::parse(&message.unsigned)?,
                horizon_warp::Beam {
                    signers: aggregate.beam.signers.as_signers(),
                    signature: &beam,
                },
            );
            let envelope = Envelope::new(
                signed,
                message.lineage.into(),
                message.suite.as_bytes(),
                &pulse,
                &certset,
            )?;
            Ok(Bytes::from(envelope.encode()))
        });
        done(built)
    }

    fn submit_message(&self, transaction: Bytes) -> Answer<'_, SubmittedMessage> {
        if transaction.first() != Some(&1) {
            return done(Err(Code::TransactionMalformed.into()));
        }
        done(Ok(SubmittedMessage {
            transaction: [5; 32],
        }))
    }

    fn submit_envelope(&self, envelope: Bytes) -> Answer<'_, SubmittedEnvelope> {
        done(self.submit(&envelope))
    }

    fn delivery(&self, id: Id) -> Answer<'_, Delivery> {
        let mut inner = self.lock();
        inner.log.calls += 1;
        let waiting = inner.waiting.get(&id).map(|waiting| &waiting.delivery);
        let found = inner.inbox.get(&id).or(waiting).cloned();
        done(found.ok_or(ApiError::new(Code::DeliveryUnknown)))
    }

    fn deliveries(&self, from: u64, limit: usize) -> Answer<'_, DeliveryPage> {
        let inner = self.lock();
        let ids = inner.order.iter().skip(from as usize).take(limit);
        done(Ok(DeliveryPage {
            deliveries: ids.map(|id| inner.inbox[id].clone()).collect(),
            total: inner.order.len() as u64,
            height: inner.height,
        }))
    }

    fn retry(&self, request: RetryRequest) -> Answer<'_, RetryResult> {
        let mut inner = self.lock();
        let Some(id) = request.id else {
            return done(Err(Code::NothingToRetry.into()));
        };
        let fails = inner.handler_fails;
        let Some(delivery) = inner.inbox.get_mut(&id) else {
            return done(Err(Code::DeliveryUnknown.into()));
        };
        if delivery.state == DeliveryState::Executed {
            return done(Err(Code::AlreadyExecuted.into()));
        }
        delivery.attempts += 1;
        if !fails {
            delivery.state = DeliveryState::Executed;
            delivery.reason = None;
            *inner.effects.entry(id).or_default() += 1;
        }
        done(Ok(RetryResult { retried: 1 }))
    }

    fn account(&self, id: Id) -> Answer<'_, Account> {
        done(Ok(Account {
            id,
            next_sequence: 7,
        }))
    }

    fn registry(&self) -> Answer<'_, RegistryView> {
        done(Ok(self.view()))
    }

    fn evidence(&self) -> Answer<'_, EvidencePage> {
        done(Ok(EvidencePage {
            evidence: vec![Evidence {
                id: [6; 32],
                kind: "conflicting-votes".to_owned(),
                position: Some(1),
                height: 3,
                bytes: vec![1, 2, 3],
            }],
            total: 1,
        }))
    }

    fn block(&self, height: u64) -> Answer<'_, Block> {
        let inner = self.lock();
        if height > inner.height {
            return done(Err(Code::BlockUnknown.into()));
        }
        done(Ok(Block {
            height,
            digest: [1; 32],
            parent: [0; 32],
            time_ms: inner.now_ms,
            nebula_root: [2; 32],
            transactions: vec![BlockTransaction {
                hash: [4; 32],
                kind: 0x20,
                len: 512,
            }],
        }))
    }

    fn events(&self, resume: Option<EventId>) -> BoxStream<'static, (EventId, Event)> {
        self.events.follow(resume)
    }

    fn readiness(&self) -> Readiness {
        let down = self.lock().down;
        Readiness {
            ready: !down,
            checks: vec![Check {
                name: "consensus".to_owned(),
                ok: !down,
                reason: down.then(|| "unavailable".to_owned()),
                message: "final blocks arrive".to_owned(),
            }],
        }
    }

    fn metrics(&self) -> String {
        "# EOF\n".to_owned()
    }
}
