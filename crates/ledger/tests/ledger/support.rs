//! Two networks in one process: every key, a perfect transport, no consensus.

use std::collections::HashMap;
use std::sync::Arc;

use horizon_hash::suite::Suite;
use horizon_ledger::genesis::{
    self, BlockLimits, GenesisSpec, MLKEM768_KEY_LEN, Source, Validator,
};
use horizon_ledger::tx::{self, Call};
use horizon_ledger::{App, Block, Effects, Executed, Genesis, Outgoing, State};
use horizon_pulsar::committee::ledger::{Event, LedgerConfig, LedgerTx};
use horizon_pulsar::committee::message::{Header, Partial, PulseCert, Signed, Unverified};
use horizon_pulsar::committee::{
    Answer, Assignment, Combiner, LedgerView, Member, MemberSigner, MemberVerifier, Plan,
    RecordsUnavailable, SIGNATURE_LEN, SessionRecords, SignatureRefused, SignerShare,
    SignerUnavailable,
};
use horizon_pulsar::dealer::{self, Ceremony, MemberShare, Variant};
use horizon_pulsar::signers::Quorum;
use horizon_sig::traits::Verifier as _;
use horizon_sig::{bls, ed25519, mldsa};
use horizon_testkit::SeededRng;
use horizon_warp::policy::SourceConfig;
use horizon_warp::registry::{Member as RecordMember, Record, RecordKey};
use horizon_warp::transcript::CERTIFICATE_CONTEXT;
use horizon_warp::{
    Beam, CertSet, Envelope, Lineage, Message, SignerSet, SuiteId, Transcript, UnsignedMessage,
    payload::{EXPIRY_NEVER, Routed},
};

pub(crate) const START_MS: u64 = 1_700_000_000_000;
pub(crate) const INTERVAL_MS: u64 = 500;

/// One validator's secrets.
pub(crate) struct Secrets {
    pub(crate) bls: bls::SigningKey,
    pub(crate) mldsa: mldsa::SigningKey,
    pub(crate) consensus: mldsa::SigningKey,
    pub(crate) identity: ed25519::SigningKey,
}

/// Keys and shares of a network whose genesis is not made yet.
pub(crate) struct Dealt {
    pub(crate) secrets: Vec<Secrets>,
    pub(crate) shares: Vec<MemberShare>,
    pub(crate) record: Record,
}

impl Dealt {
    /// Validators of weight 1 with one point each.
    pub(crate) fn new(network_id: u32, n: u16, t: u16, rng: &mut SeededRng) -> Self {
        let mut secrets: Vec<Secrets> = (0..n)
            .map(|_| Secrets {
                bls: bls::SigningKey::generate(rng).unwrap(),
                mldsa: mldsa_key(rng),
                consensus: mldsa_key(rng),
                identity: ed25519::SigningKey::generate(rng).unwrap(),
            })
            .collect();
        secrets.sort_by_key(|secrets| secrets.bls.verifying_key().to_bytes());
        let members = secrets.iter().zip(0_u8..).map(record_member).collect();
        let mut record = Record {
            key: RecordKey {
                network_id,
                chain_id: chain_id(network_id),
                key_era: 1,
                generation: 0,
            },
            suite: SuiteId::PulsarSha3,
            group_key: Vec::new(),
            threshold: t.into(),
            valid_from: 0,
            valid_until: None,
            issued_at_s: START_MS / 1_000,
            previous: [0; 32],
            members,
        };
        let (group_key, shares) = deal(&record, n, t, rng);
        record.group_key = group_key;
        Self {
            secrets,
            shares,
            record,
        }
    }

    /// A genesis that takes messages of `sources`.
    pub(crate) fn spec(&self, sources: &[&Record]) -> GenesisSpec {
        let validators = self.secrets.iter().enumerate().map(|(index, secrets)| {
            let fill = u8::try_from(index).unwrap();
            Validator {
                name: format!("validator-{index}"),
                identity: secrets
                    .identity
                    .verifying_key()
                    .key_bytes()
                    .try_into()
                    .unwrap(),
                address: format!("127.0.0.1:{}", 1_000 + index).parse().unwrap(),
                consensus_key: key_bytes(&secrets.consensus),
                sealing_x25519: [fill; 32],
                sealing_mlkem768: Box::new([fill; MLKEM768_KEY_LEN]),
            }
        });
        let source = |record: &&Record| Source {
            policy: SourceConfig {
                validators_min: 1,
                threshold_min: 1,
                ..SourceConfig::new(
                    record.key.network_id,
                    record.key.chain_id,
                    record.hash().unwrap(),
                )
            },
            anchors: vec![(*record).clone()],
        };
        GenesisSpec {
            name: "test".into(),
            network_id: self.record.key.network_id,
            chain_id: self.record.key.chain_id,
            time_ms: START_MS,
            validators: validators.collect(),
            record: self.record.clone(),
            group_id: 0,
            pulse: LedgerConfig {
                live_batches: 2,
                count: 8,
                window: 4,
                sign_window: 4,
                decay_blocks: 50,
            },
            block: BlockLimits {
                interval_ms: INTERVAL_MS,
                bytes_max: 1 << 20,
                transactions_max: 1_000,
            },
            sources: sources.iter().map(source).collect(),
        }
    }
}

pub(crate) fn chain_id(network_id: u32) -> [u8; 32] {
    [u8::try_from(network_id).unwrap(); 32]
}

fn record_member((secrets, index): (&Secrets, u8)) -> RecordMember {
    RecordMember {
        bls_key: secrets.bls.verifying_key().to_bytes(),
        possession: secrets.bls.prove_possession().to_bytes(),
        mldsa_key: Some(key_bytes(&secrets.mldsa)),
        weight: 1,
        points: 1,
        node_id: [index; 20],
        operator: format!("operator-{index}"),
    }
}

pub(crate) fn mldsa_key(rng: &mut SeededRng) -> mldsa::SigningKey {
    mldsa::SigningKey::generate(mldsa::ParameterSet::MlDsa65, rng).unwrap()
}

fn key_bytes(key: &mldsa::SigningKey) -> Box<[u8; 1_952]> {
    Box::new(key.verifying_key().key_bytes().try_into().unwrap())
}

fn deal(record: &Record, n: u16, t: u16, rng: &mut SeededRng) -> (Vec<u8>, Vec<MemberShare>) {
    let ceremony = Ceremony {
        variant: Variant::Dkg,
        chain_id: &record.key.chain_id,
        network_id: record.key.network_id,
        group_id: 0,
        suite: Suite::PulsarSha3,
        era: record.key.key_era,
        old_generation: 0,
        new_generation: 0,
        old_set_hash: [0; 32],
        new_set_hash: genesis::set_hash(record),
        old_threshold: 0,
        new_threshold: t.into(),
        group_key_hash: [0; 32],
        opening_block_hash: rng.bytes(),
        attempt: 0,
    };
    let deal = dealer::deal(&ceremony, Quorum::new(t, n).unwrap(), rng).unwrap();
    let public = deal.record;
    let shares = deal
        .packages
        .into_iter()
        .map(|package| package.accept(&public).unwrap());
    (deal.group_key.to_framed(), shares.collect())
}

/// A running network.
pub(crate) struct Chain {
    pub(crate) app: Arc<App>,
    /// A second application that executes every block without anything remembered from building it.
    pub(crate) replica: App,
    pub(crate) secrets: Vec<Secrets>,
    shares: Vec<MemberShare>,
    members: Vec<Member<Records>>,
    plans: HashMap<u64, Plan>,
    /// Batch and index of every assignment, by subject and attempt.
    assigned: HashMap<([u8; 32], u32), (u64, u16)>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) executed: Vec<Executed>,
    pub(crate) state: State,
    /// Transactions for the next block.
    pub(crate) queue: Vec<Arc<[u8]>>,
    pub(crate) messages: HashMap<[u8; 32], Outgoing>,
    pub(crate) pulses: HashMap<[u8; 32], Vec<u8>>,
    pub(crate) rng: SeededRng,
    /// How many members bring the certificate of a finished Pulse.
    pub(crate) certificates: usize,
}

/// Two networks, 1 and 2, that know each other.
pub(crate) fn pair(n: u16, t: u16, seed: u64) -> (Chain, Chain) {
    let mut rng = SeededRng::new(seed);
    let (a, b) = (Dealt::new(1, n, t, &mut rng), Dealt::new(2, n, t, &mut rng));
    let spec_a = a.spec(&[&b.record]);
    let spec_b = b.spec(&[&a.record]);
    (
        Chain::new(a, spec_a, rng.next()),
        Chain::new(b, spec_b, rng.next()),
    )
}

impl Chain {
    pub(crate) fn new(dealt: Dealt, spec: GenesisSpec, seed: u64) -> Self {
        let genesis = Genesis::new(spec).unwrap();
        let committee = genesis.committee().clone();
        let members: Vec<_> = dealt
            .shares
            .iter()
            .map(|share| {
                let share = SignerShare::from_dealt(&committee, share).unwrap();
                let view = LedgerView {
                    boots: vec![0; usize::from(committee.n())],
                    first_batch: 0,
                };
                let key = Arc::clone(genesis.committee_key());
                Member::start(committee.clone(), key, share, Records::default(), view).unwrap()
            })
            .collect();
        let mut queue = Vec::new();
        for member in &members {
            let own = &dealt.secrets[usize::from(member.position())].mldsa;
            queue.push(Arc::from(member.void(&mut Signer(own)).unwrap().bytes()));
        }
        let app = App::new(genesis.clone()).unwrap();
        Self {
            blocks: vec![app.genesis_block()],
            state: app.genesis_state(),
            app: Arc::new(app),
            replica: App::new(genesis).unwrap(),
            secrets: dealt.secrets,
            shares: dealt.shares,
            members,
            plans: HashMap::new(),
            assigned: HashMap::new(),
            executed: Vec::new(),
            queue,
            messages: HashMap::new(),
            pulses: HashMap::new(),
            rng: SeededRng::new(seed),
            certificates: 1,
        }
    }

    pub(crate) fn network_id(&self) -> u32 {
        self.app.genesis().network_id()
    }

    pub(crate) fn chain_id(&self) -> [u8; 32] {
        *self.app.genesis().chain_id()
    }

    pub(crate) fn tip(&self) -> &Block {
        self.blocks.last().unwrap()
    }

    pub(crate) fn push(&mut self, tx: Vec<u8>) {
        self.queue.push(tx.into());
    }

    /// Builds a block from the queue, has the replica execute it, and lets the signing members
    /// act. Gives the block's effects.
    pub(crate) fn step(&mut self) -> Effects {
        let candidates = core::mem::take(&mut self.queue);
        self.step_with(&candidates)
    }

    pub(crate) fn step_with(&mut self, candidates: &[Arc<[u8]>]) -> Effects {
        let parent = self.tip().clone();
        let time_ms = parent.time_ms + INTERVAL_MS;
        let (block, executed) = self
            .app
            .build(&parent, &self.state, time_ms, candidates)
            .unwrap();
        let block = Block::decode(&block.encode()).unwrap();
        let again = self.replica.execute(&parent, &self.state, &block).unwrap();
        assert_eq!(again.effects, executed.effects);
        assert_eq!(again.state, executed.state);
        // Signing transactions that found no room wait; the rest is the caller's business.
        let is_left = |tx: &&Arc<[u8]>| {
            let is_pulse = tx.get(1).is_some_and(|kind| *kind < 8);
            is_pulse && !block.transactions.contains(tx)
        };
        for tx in candidates.iter().filter(is_left) {
            if let Ok(checked) = self.app.check(tx)
                && self.app.screen(&executed.state, &checked).is_ok()
            {
                self.queue.push(Arc::clone(tx));
            }
        }
        self.blocks.push(block);
        self.state = executed.state.clone();
        let effects = executed.effects.clone();
        self.executed.push(executed);
        for message in &effects.outgoing {
            self.messages.insert(message.id, message.clone());
        }
        for closed in &effects.closed {
            self.pulses.insert(closed.subject, closed.pulse.clone());
        }
        self.sign(&effects);
        effects
    }

    /// Steps until `done`, at most `limit` blocks.
    pub(crate) fn until(&mut self, limit: u32, mut done: impl FnMut(&Self) -> bool) {
        for _ in 0..limit {
            if done(self) {
                return;
            }
            self.step();
        }
        assert!(done(self), "not after {limit} blocks");
    }

    fn sign(&mut self, effects: &Effects) {
        for tx in &effects.pulse_transactions {
            for member in &mut self.members {
                match tx {
                    LedgerTx::BatchVoid(tx) => member.void_final(tx).unwrap(),
                    LedgerTx::BatchCommit(tx)
                        if self.plans[&tx.header().seq]
                            .set
                            .slot(member.position())
                            .is_some() =>
                    {
                        member.commit_final(tx).unwrap();
                    }
                    LedgerTx::BatchHave(tx)
                        if self.plans[&tx.header().seq]
                            .set
                            .slot(member.position())
                            .is_some() =>
                    {
                        member.have_final(tx).unwrap();
                    }
                    _ => {}
                }
            }
        }
        for event in &effects.pulse {
            match event {
                Event::Opened(plan) => self.opened(plan),
                Event::Committed { batch } => self.committed(*batch),
                Event::Assigned {
                    subject,
                    attempt,
                    batch,
                    index,
                } => {
                    self.assigned.insert((*subject, *attempt), (*batch, *index));
                    self.assigned(subject, *attempt, *batch, *index);
                }
                Event::Closed { subject, attempt } => {
                    let (batch, index) = self.assigned[&(*subject, *attempt)];
                    self.end(batch, |member| drop(member.close(batch, index, true)));
                }
                Event::Failed {
                    subject, attempt, ..
                } => {
                    let (batch, index) = self.assigned[&(*subject, *attempt)];
                    self.end(batch, |member| drop(member.close(batch, index, false)));
                }
                Event::Void { batch, .. } => {
                    self.end(*batch, |member| drop(member.expire(*batch)));
                }
                _ => {}
            }
        }
    }

    /// Ends something of a batch, and the batch when nothing of it is left.
    fn end(&mut self, batch: u64, end: impl Fn(&mut Member<Records>)) {
        for id in self.plans[&batch].set.ids() {
            let member = &mut self.members[usize::from(*id)];
            end(member);
            let _ = member.forget(batch);
        }
    }

    fn opened(&mut self, plan: &Plan) {
        self.plans.insert(plan.batch, plan.clone());
        for id in plan.set.ids() {
            let member = &mut self.members[usize::from(*id)];
            let mut signer = Signer(&self.secrets[usize::from(*id)].mldsa);
            member.plan(plan.clone()).unwrap();
            member.reserve(plan.batch, &mut self.rng).unwrap();
            let commit = member.commit(plan.batch, &mut signer).unwrap();
            self.queue.push(commit.bytes().into());
        }
    }

    fn committed(&mut self, batch: u64) {
        let ids = self.plans[&batch].set.ids().to_vec();
        for sender in &ids {
            let matrices = self.members[usize::from(*sender)]
                .matrices(batch)
                .unwrap()
                .to_vec();
            for receiver in ids.iter().filter(|id| *id != sender) {
                for matrix in &matrices {
                    self.members[usize::from(*receiver)].matrix(matrix).unwrap();
                }
            }
        }
        for id in &ids {
            let mut signer = Signer(&self.secrets[usize::from(*id)].mldsa);
            let member = &mut self.members[usize::from(*id)];
            let have = member.have(batch, &mut signer).unwrap();
            self.queue.push(have.bytes().into());
        }
    }

    fn assigned(&mut self, subject: &[u8; 32], attempt: u32, batch: u64, index: u16) {
        let subject = self.state.pulse().open_subject(subject).unwrap().clone();
        let ids = self.plans[&batch].set.ids().to_vec();
        let assignment = Assignment {
            batch,
            index,
            attempt,
            mu: &subject.mu,
        };
        let mut partials = Vec::new();
        for id in &ids {
            let mut signer = Signer(&self.secrets[usize::from(*id)].mldsa);
            let member = &mut self.members[usize::from(*id)];
            partials.push(member.answer(&assignment, &mut signer).unwrap());
        }
        let first = &self.members[usize::from(ids[0])];
        let mut combiner = Combiner::new(first.committee(), first.session(batch, index).unwrap());
        for partial in &partials {
            let partial: Unverified<Partial> =
                Unverified::decode(partial, first.committee()).unwrap();
            combiner.add(&partial.verify(&Trusting).unwrap()).unwrap();
        }
        let (pulse, _) = combiner
            .finish(first.key().prepared(), &subject.mu)
            .unwrap();
        let era_ctx = *first.committee().era_ctx();
        for sender in ids.iter().take(self.certificates) {
            let header = Header {
                ctx: era_ctx,
                sender: *sender,
                boot: self.state.pulse().boots()[usize::from(*sender)],
                seq: batch,
            };
            let cert = PulseCert {
                subject: subject.id,
                attempt,
                pulse: pulse.clone(),
            };
            let mut signer = Signer(&self.secrets[usize::from(*sender)].mldsa);
            let cert = Signed::issue(header, cert, &mut signer).unwrap();
            self.queue.push(cert.bytes().into());
        }
    }

    /// The complete envelope of a message of this chain, once its Pulse is final.
    pub(crate) fn envelope(&self, id: &[u8; 32]) -> Vec<u8> {
        let message = &self.messages[id];
        let pulse = &self.pulses[&message.subject];
        self.envelope_with(message, pulse, true)
    }

    pub(crate) fn envelope_with(
        &self,
        message: &Outgoing,
        pulse: &[u8],
        with_certificates: bool,
    ) -> Vec<u8> {
        let everyone = 0..u32::try_from(self.secrets.len()).unwrap();
        let signers = SignerSet::from_indices(everyone).unwrap();
        let beams: Vec<_> = self
            .secrets
            .iter()
            .map(|secrets| secrets.bls.sign_message(&message.unsigned))
            .collect();
        let beam = bls::aggregate(&beams).unwrap().to_bytes();
        let certificates: Vec<[u8; 3_309]> = self
            .secrets
            .iter()
            .map(|secrets| {
                let signature = secrets
                    .mldsa
                    .sign_deterministic(CERTIFICATE_CONTEXT, &message.transcript);
                signature.unwrap().try_into().unwrap()
            })
            .collect();
        let certificates = CertSet::new(signers.as_signers(), &certificates)
            .unwrap()
            .encode();
        let unsigned = UnsignedMessage::parse(&message.unsigned).unwrap();
        let beam = Beam {
            signers: signers.as_signers(),
            signature: &beam,
        };
        let suite = SuiteId::PulsarSha3.name().as_bytes();
        let certificates = if with_certificates {
            &certificates[..]
        } else {
            &[]
        };
        Envelope::new(
            Message::new(unsigned, beam),
            message.lineage,
            suite,
            pulse,
            certificates,
        )
        .unwrap()
        .encode()
    }

    /// An envelope with every lane over a payload that the ledger never sent: what a network of
    /// faulty validators can make. For one validator.
    pub(crate) fn forge(&mut self, routed: &Routed<'_>) -> Vec<u8> {
        let genesis = self.app.genesis();
        let payload = routed.encode().unwrap();
        let unsigned =
            UnsignedMessage::new(genesis.network_id(), *genesis.chain_id(), &payload).unwrap();
        let record = genesis.record();
        let lineage = Lineage {
            nebula_root: [3; 32],
            key_era: record.key.key_era,
            generation: record.key.generation,
        };
        let suite = record.suite.name().as_bytes();
        let transcript = Transcript::new(&unsigned, &lineage, suite)
            .as_bytes()
            .to_vec();
        let committee = genesis.committee().clone();
        let share = SignerShare::from_dealt(&committee, &self.shares[0]).unwrap();
        let view = LedgerView {
            boots: vec![0],
            first_batch: 0,
        };
        let key = Arc::clone(genesis.committee_key());
        let mut member =
            Member::start(committee.clone(), key, share, Records::default(), view).unwrap();
        let signer = &mut Signer(&self.secrets[0].mldsa);
        let void = member.void(signer).unwrap();
        member.void_final(&void).unwrap();
        let set = committee.signing_set(&[0]).unwrap();
        member.plan(committee.plan(0, set, 1).unwrap()).unwrap();
        member.reserve(0, &mut self.rng).unwrap();
        let commit = member.commit(0, signer).unwrap();
        member.commit_final(&commit).unwrap();
        let have = member.have(0, signer).unwrap();
        member.have_final(&have).unwrap();
        let assignment = Assignment {
            batch: 0,
            index: 0,
            attempt: 0,
            mu: &transcript,
        };
        let partial = member.answer(&assignment, signer).unwrap();
        let mut combiner = Combiner::new(&committee, member.session(0, 0).unwrap());
        let partial: Unverified<Partial> = Unverified::decode(&partial, &committee).unwrap();
        combiner.add(&partial.verify(&Trusting).unwrap()).unwrap();
        let (pulse, _) = combiner
            .finish(member.key().prepared(), &transcript)
            .unwrap();
        let message = Outgoing {
            id: unsigned.id(),
            sequence: 0,
            height: 0,
            unsigned: unsigned.encode(),
            lineage,
            subject: [0; 32],
            transcript,
            is_ack: true,
            destination_network: routed.destination_network,
            destination_chain: routed.destination_chain,
            channel: routed.channel,
            nonce: routed.nonce,
            expiry_height: routed.expiry_height,
        };
        self.envelope_with(&message, &pulse.to_pulse_bytes(), true)
    }

    /// Submits a message and runs the chain until its Pulse is final.
    pub(crate) fn send(
        &mut self,
        account: &mut Account,
        to: &To,
        recipient: &str,
        body: &[u8],
    ) -> [u8; 32] {
        let tx = account.submit(self, to, recipient, body);
        self.push(tx);
        let effects = self.step();
        let id = effects.outgoing.first().expect("the message is sent").id;
        let subject = effects.outgoing[0].subject;
        self.until(40, |chain| chain.pulses.contains_key(&subject));
        id
    }
}

/// Where a message goes.
#[derive(Clone, Copy)]
pub(crate) struct To {
    pub(crate) network: u32,
    pub(crate) chain: [u8; 32],
    pub(crate) channel: [u8; 32],
    pub(crate) expiry_height: u64,
}

impl To {
    pub(crate) fn unordered(chain: &Chain) -> Self {
        Self {
            network: chain.network_id(),
            chain: chain.chain_id(),
            channel: [0; 32],
            expiry_height: EXPIRY_NEVER,
        }
    }

    pub(crate) fn ordered(chain: &Chain) -> Self {
        Self {
            channel: [1; 32],
            ..Self::unordered(chain)
        }
    }
}

/// An account.
pub(crate) struct Account {
    pub(crate) key: mldsa::SigningKey,
    pub(crate) sequence: u64,
}

impl Account {
    pub(crate) fn new(rng: &mut SeededRng) -> Self {
        Self {
            key: mldsa_key(rng),
            sequence: 0,
        }
    }

    pub(crate) fn submit(
        &mut self,
        from: &mut Chain,
        to: &To,
        recipient: &str,
        body: &[u8],
    ) -> Vec<u8> {
        let call = Call {
            sequence: self.sequence,
            destination_network: to.network,
            destination_chain: to.chain,
            channel: to.channel,
            expiry_height: to.expiry_height,
            recipient: recipient.as_bytes(),
            body,
        };
        self.sequence += 1;
        let (network, chain) = (from.network_id(), from.chain_id());
        call.sign(network, &chain, &self.key, &mut from.rng)
            .unwrap()
    }
}

pub(crate) fn deliver(envelope: &[u8]) -> Arc<[u8]> {
    tx::deliver(envelope).into()
}

struct Signer<'a>(&'a mldsa::SigningKey);

impl MemberSigner for Signer<'_> {
    fn sign(
        &mut self,
        context: &[u8],
        message: &[u8],
    ) -> Result<[u8; SIGNATURE_LEN], SignerUnavailable> {
        let signature = self.0.sign_deterministic(context, message);
        signature
            .ok()
            .and_then(|signature| signature.try_into().ok())
            .ok_or(SignerUnavailable)
    }
}

/// For partials of this process: the ledger never sees them.
struct Trusting;

impl MemberVerifier for Trusting {
    fn verify(
        &self,
        _: u16,
        _: &[u8],
        _: &[u8],
        _: &[u8; SIGNATURE_LEN],
    ) -> Result<(), SignatureRefused> {
        Ok(())
    }
}

/// A session record in memory.
#[derive(Debug, Default)]
struct Records {
    boot: Option<u32>,
    answers: HashMap<(u64, u16), Answer>,
}

impl SessionRecords for Records {
    fn boot(&self, _: &[u8; 32]) -> Result<Option<u32>, RecordsUnavailable> {
        Ok(self.boot)
    }

    fn reserve(&mut self, _: &[u8; 32], boot: u32, _: u64) -> Result<(), RecordsUnavailable> {
        self.boot = self.boot.max(Some(boot));
        Ok(())
    }

    fn answer(
        &self,
        _: &[u8; 32],
        batch: u64,
        index: u16,
    ) -> Result<Option<Answer>, RecordsUnavailable> {
        Ok(self.answers.get(&(batch, index)).cloned())
    }

    fn record_answer(
        &mut self,
        _: &[u8; 32],
        batch: u64,
        index: u16,
        answer: &Answer,
    ) -> Result<(), RecordsUnavailable> {
        match self.answers.insert((batch, index), answer.clone()) {
            None => Ok(()),
            Some(_) => Err(RecordsUnavailable),
        }
    }
}
