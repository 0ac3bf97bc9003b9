//! A network of services around the real ledger: one order of blocks, a bad wire, no consensus.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use horizon_hash::suite::Suite;
use horizon_ledger::genesis::{
    self, BlockLimits, GenesisSpec, MLKEM768_KEY_LEN, Source, Validator,
};
use horizon_ledger::tx::Call;
use horizon_ledger::{App, Block, Genesis, Mempool, State};
use horizon_pulsar::committee::ledger::LedgerConfig;
use horizon_pulsar::committee::message::{PartialPost, PulseCert, Signed};
use horizon_pulsar::dealer::{self, Ceremony, MemberShare, Variant};
use horizon_pulsar::signers::Quorum;
use horizon_sig::traits::Verifier as _;
use horizon_sig::{bls, ed25519};
use horizon_testkit::SeededRng;
use horizon_warp::SuiteId;
use horizon_warp::payload::EXPIRY_NEVER;
use horizon_warp::policy::SourceConfig;
use horizon_warp::registry::{Member as RecordMember, Record, RecordKey};

use super::super::*;
use crate::testing::CrashStorage;

const START_MS: u64 = 1_700_000_000_000;
const CHAIN: [u8; 32] = [1; 32];
const OTHER_CHAIN: [u8; 32] = [2; 32];
const STEP_MS: u64 = 25;

/// What goes wrong on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Faults {
    /// Of 1,000 messages, how many are lost, and how many come twice.
    pub(super) lost: u64,
    pub(super) twice: u64,
    /// Delay of a message and of a final block, at most, milliseconds.
    pub(super) delay_ms: u64,
    pub(super) block_delay_ms: u64,
}

impl Faults {
    pub(super) const NONE: Self = Self {
        lost: 0,
        twice: 0,
        delay_ms: 20,
        block_delay_ms: 20,
    };
    pub(super) const BAD: Self = Self {
        lost: 150,
        twice: 100,
        delay_ms: 300,
        block_delay_ms: 500,
    };
}

pub(super) struct Node {
    pub(super) storage: CrashStorage,
    pub(super) core: Option<PulseService>,
    /// Height of the last block taken.
    height: u64,
    /// When the next blocks arrive.
    arrivals: VecDeque<u64>,
    pub(super) halted: Option<Unsafe>,
    pub(super) blamed: Vec<PeerFault>,
    /// Signs garbage.
    pub(super) is_spoiler: bool,
    /// Sends garbage to its peers, and posts the truth.
    pub(super) spoils_links_only: bool,
    /// Keeps its matrices to itself.
    pub(super) withholds_matrices: bool,
    /// Keeps partials and Pulses of attempts before this one to itself.
    pub(super) silent_before: u32,
}

/// Attempt, session context and bytes of a partial.
type Answered = (u32, [u8; 32], Vec<u8>);

/// Everything about one network.
pub(super) struct Net {
    pub(super) app: App,
    shares: Vec<MemberShare>,
    keys: Vec<Arc<mldsa::SigningKey>>,
    account: mldsa::SigningKey,
    sequence: u64,
    pub(super) now_ms: u64,
    block_ms: u64,
    next_block_ms: u64,
    pool: Mempool,
    tip: Block,
    /// By height.
    states: Vec<State>,
    effects: Vec<Arc<Effects>>,
    pub(super) nodes: Vec<Node>,
    wire: BTreeMap<(u64, u64), (u16, u16, Bytes)>,
    sent: u64,
    pub(super) faults: Faults,
    pub(super) rng: SeededRng,
    /// By member, batch and index: attempt and session context of the partial that left the process.
    answers: BTreeMap<(u16, u64, u16), Answered>,
    pub(super) closed: BTreeMap<[u8; 32], u32>,
    pub(super) opened_at: BTreeMap<[u8; 32], u64>,
    pub(super) pulse_at: BTreeMap<[u8; 32], u64>,
    pub(super) wire_bytes: u64,
}

impl Net {
    pub(super) fn new(n: u16, t: u16, config: LedgerConfig, seed: u64) -> Self {
        let mut rng = SeededRng::new(seed);
        let (genesis, shares, keys) = make_genesis(n, t, config, &mut rng);
        let app = App::new(genesis).unwrap();
        let mut net = Self {
            tip: app.genesis_block(),
            states: vec![app.genesis_state()],
            app,
            shares,
            keys,
            account: mldsa_key(&mut rng),
            sequence: 0,
            now_ms: START_MS,
            block_ms: 400,
            next_block_ms: START_MS + 400,
            pool: Mempool::new(),
            effects: vec![Arc::default()],
            nodes: Vec::new(),
            wire: BTreeMap::new(),
            sent: 0,
            faults: Faults::NONE,
            rng,
            answers: BTreeMap::new(),
            closed: BTreeMap::new(),
            opened_at: BTreeMap::new(),
            pulse_at: BTreeMap::new(),
            wire_bytes: 0,
        };
        for _ in 0..n {
            let storage = CrashStorage::new();
            drop(Guard::create(storage.backend(), &[7; 32]).unwrap());
            net.nodes.push(Node {
                storage,
                core: None,
                height: 0,
                arrivals: VecDeque::new(),
                halted: None,
                blamed: Vec::new(),
                is_spoiler: false,
                spoils_links_only: false,
                withholds_matrices: false,
                silent_before: 0,
            });
        }
        for at in 0..n {
            net.start(at);
        }
        net
    }

    /// Starts a node from its disk. An old copy is refused: the node stays down with the reason.
    pub(super) fn start(&mut self, at: u16) {
        let storage = self.nodes[usize::from(at)].storage.clone();
        let height = self.nodes[usize::from(at)].height;
        match self.start_over(at, &storage, height, false) {
            Ok((core, actions)) => {
                let node = &mut self.nodes[usize::from(at)];
                node.core = Some(core);
                node.halted = None;
                self.perform(at, actions);
            }
            Err(why) => self.nodes[usize::from(at)].halted = Some(why),
        }
    }

    pub(super) fn start_over(
        &mut self,
        at: u16,
        storage: &CrashStorage,
        height: u64,
        accepts_older_records: bool,
    ) -> Result<(PulseService, Vec<Action>), Unsafe> {
        let guard = Guard::open(storage.restart(), &[7; 32]).map_err(Unsafe::Guard)?;
        let genesis = self.app.genesis();
        let state = self.states[height as usize].clone();
        let open = state.pulse().open_subjects().map(|subject| subject.id);
        let open: BTreeSet<[u8; 32]> = open.collect();
        let messages = self.effects.iter().flat_map(|effects| &effects.outgoing);
        let messages = messages.filter(|message| open.contains(&message.subject));
        let start = PulseStart {
            committee: genesis.committee().clone(),
            key: Arc::clone(genesis.committee_key()),
            keys: MemberKeys::new(genesis.member_keys()),
            member: Some(PulseMember {
                share: SignerShare::from_dealt(genesis.committee(), &self.shares[usize::from(at)])
                    .unwrap(),
                signing_key: Arc::clone(&self.keys[usize::from(at)]),
                guard,
                accepts_older_records,
            }),
            ledger: state.pulse(),
            open: messages.cloned().collect(),
            rng: Box::new(SeededRng::new(self.rng.next())),
        };
        PulseService::start(PulseConfig::new(), start, self.now_ms)
    }

    /// The process dies.
    pub(super) fn crash(&mut self, at: u16) {
        let node = &mut self.nodes[usize::from(at)];
        node.storage.crash();
        node.core = None;
    }

    /// Hands `count` messages in.
    pub(super) fn submit(&mut self, count: u64) {
        for _ in 0..count {
            let body = self.sequence.to_be_bytes();
            let call = Call {
                sequence: self.sequence,
                destination_network: 2,
                destination_chain: OTHER_CHAIN,
                channel: [0; 32],
                expiry_height: EXPIRY_NEVER,
                recipient: b"journal",
                body: &body,
            };
            let tx = call.sign(1, &CHAIN, &self.account, &mut self.rng).unwrap();
            self.sequence += 1;
            self.add_to_pool(&tx);
        }
    }

    pub(super) fn height(&self) -> u64 {
        self.tip.height
    }

    /// Height of the last block that a node took.
    pub(super) fn height_of(&self, at: usize) -> u64 {
        self.nodes[at].height
    }

    pub(super) fn effects_at(&self, height: u64) -> Arc<Effects> {
        Arc::clone(&self.effects[height as usize])
    }

    pub(super) fn state(&self) -> &State {
        self.states.last().unwrap()
    }

    /// Runs until `done`, at most `limit_ms` of the network's time.
    pub(super) fn until(&mut self, limit_ms: u64, mut done: impl FnMut(&mut Self) -> bool) {
        let end = self.now_ms + limit_ms;
        while !done(self) {
            assert!(
                self.now_ms < end,
                "not after {limit_ms} ms: height {}, {} of {} closed, seed {:#x}, {}",
                self.height(),
                self.closed.len(),
                self.sequence,
                self.rng.seed(),
                self.summary(),
            );
            self.step();
        }
    }

    pub(super) fn summary(&self) -> String {
        let of = |node: &Node| match (&node.core, &node.halted) {
            (_, Some(why)) => format!("halted: {why}"),
            (None, None) => "down".into(),
            (Some(core), None) => format!("{:?}", core.status()),
        };
        let nodes: Vec<String> = self.nodes.iter().map(of).collect();
        format!("\n{}", nodes.join("\n"))
    }

    pub(super) fn run(&mut self, ms: u64) {
        let end = self.now_ms + ms;
        while self.now_ms < end {
            self.step();
        }
    }

    pub(super) fn step(&mut self) {
        self.now_ms += STEP_MS;
        while let Some(entry) = self.wire.first_entry() {
            if entry.key().0 > self.now_ms {
                break;
            }
            let (from, to, bytes) = entry.remove();
            self.deliver(from, to, &bytes);
        }
        if self.now_ms >= self.next_block_ms {
            self.next_block_ms += self.block_ms;
            self.block();
        }
        for at in 0..self.nodes.len() {
            self.catch_up(at as u16);
            let now_ms = self.now_ms;
            if let Some(core) = &mut self.nodes[at].core {
                let actions = core.on_tick(now_ms);
                self.perform(at as u16, actions);
            }
        }
    }

    fn block(&mut self) {
        let candidates = self.pool.candidates(2 << 20);
        let time_ms = self.tip.time_ms + self.block_ms;
        let built = self
            .app
            .build(&self.tip, self.states.last().unwrap(), time_ms, &candidates);
        let (block, executed) = built.unwrap();
        self.pool.on_final(&self.app, &block, &executed.state);
        for message in &executed.effects.outgoing {
            self.opened_at.insert(message.subject, self.now_ms);
        }
        for closed in &executed.effects.closed {
            let before = self.closed.insert(closed.subject, closed.attempt);
            assert_eq!(before, None, "a subject closes once");
        }
        self.tip = block;
        self.states.push(executed.state);
        self.effects.push(Arc::new(executed.effects));
        for node in &mut self.nodes {
            let delay = self.rng.below(self.faults.block_delay_ms + 1);
            let at = (self.now_ms + delay).max(node.arrivals.back().copied().unwrap_or(0));
            node.arrivals.push_back(at);
        }
    }

    /// Gives a node the blocks that have reached it; a node that was down gets what it missed.
    fn catch_up(&mut self, at: u16) {
        loop {
            let now_ms = self.now_ms;
            let node = &mut self.nodes[usize::from(at)];
            let Some(core) = &mut node.core else {
                return;
            };
            if node
                .arrivals
                .front()
                .is_none_or(|arrival| *arrival > now_ms)
            {
                return;
            }
            node.arrivals.pop_front();
            node.height += 1;
            let effects = Arc::clone(&self.effects[node.height as usize]);
            let actions = core.on_final(&effects, now_ms);
            // Blocks may be repeated.
            assert!(core.on_final(&effects, now_ms).is_empty());
            self.perform(at, actions);
        }
    }

    fn deliver(&mut self, from: u16, to: u16, bytes: &Bytes) {
        let now_ms = self.now_ms;
        let node = &mut self.nodes[usize::from(to)];
        let Some(core) = &mut node.core else {
            return;
        };
        let message = Gossip::decode(bytes).unwrap();
        match core.on_gossip(from, message, now_ms) {
            Ok(actions) => self.perform(to, actions),
            Err(fault) => node.blamed.push(fault),
        }
        self.note_pulses(to);
    }

    fn note_pulses(&mut self, at: u16) {
        let Some(core) = &self.nodes[usize::from(at)].core else {
            return;
        };
        for subject in self.opened_at.keys() {
            if core.pulse(subject).is_some() {
                self.pulse_at.entry(*subject).or_insert(self.now_ms);
            }
        }
    }

    pub(super) fn perform(&mut self, at: u16, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Run(job) => {
                    let result = job.run();
                    let now_ms = self.now_ms;
                    if let Some(core) = &mut self.nodes[usize::from(at)].core {
                        let more = core.on_job(result, now_ms);
                        self.perform(at, more);
                    }
                }
                Action::Submit(tx) => self.submitted(at, tx),
                Action::Send { to, bytes } => self.send(at, to, bytes),
                Action::Broadcast(bytes) => {
                    for to in (0..self.nodes.len() as u16).filter(|to| *to != at) {
                        self.send(at, to, bytes.clone());
                    }
                }
                Action::Blame(fault) => self.nodes[usize::from(at)].blamed.push(fault),
                Action::Halt(why) => {
                    let node = &mut self.nodes[usize::from(at)];
                    node.halted = Some(why);
                    node.core = None;
                }
            }
        }
    }

    fn submitted(&mut self, at: u16, tx: Bytes) {
        let node = &self.nodes[usize::from(at)];
        // Whoever withholds its partial could finish the Pulse alone; these keep it.
        if tx.get(1) == Some(&7) {
            let committee = self.app.genesis().committee();
            let cert: Unverified<PulseCert> = Unverified::decode(&tx, committee).unwrap();
            if node.is_spoiler || cert.body().attempt < node.silent_before {
                return;
            }
        }
        if tx.get(1) == Some(&6) && (node.is_spoiler || node.silent_before > 0) {
            let own = self.decode_post(&tx);
            if own.header().sender == at {
                if own.body().attempt < node.silent_before {
                    return;
                }
                if !node.is_spoiler {
                    self.add_to_pool(&tx);
                    return;
                }
                let bytes = self.spoil(at, own.bytes());
                let tx = self.repost(at, &tx, &bytes);
                self.add_to_pool(&tx);
                return;
            }
        }
        self.add_to_pool(&tx);
    }

    pub(super) fn add_to_pool(&mut self, tx: &[u8]) {
        // Every honest transaction is one that every node admits.
        let checked = self.app.check(tx).unwrap();
        let state = self.states.last().unwrap();
        let _ = self.pool.insert(&self.app, state, checked);
    }

    fn send(&mut self, from: u16, to: u16, bytes: Bytes) {
        let node = &self.nodes[usize::from(from)];
        let bytes = match Gossip::decode(&bytes).unwrap() {
            Gossip::NonceMatrix(_) if node.withholds_matrices => return,
            Gossip::Pulse(pulse) if node.is_spoiler || pulse.attempt < node.silent_before => return,
            Gossip::Partial(partial) => {
                let decoded = self.decode_partial(&partial);
                if decoded.header().sender == from {
                    if decoded.body().attempt < node.silent_before {
                        return;
                    }
                    self.check_answer(from, &decoded);
                    let node = &self.nodes[usize::from(from)];
                    if node.is_spoiler || node.spoils_links_only {
                        Gossip::Partial(self.spoil(from, &partial).into()).encode()
                    } else {
                        bytes
                    }
                } else {
                    bytes
                }
            }
            _ => bytes,
        };
        self.wire_bytes += bytes.len() as u64;
        let copies = match self.rng.below(1_000) {
            chance if chance < self.faults.lost => 0,
            chance if chance < self.faults.lost + self.faults.twice => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let at = self.now_ms + self.rng.below(self.faults.delay_ms + 1);
            self.sent += 1;
            self.wire.insert((at, self.sent), (from, to, bytes.clone()));
        }
    }

    /// No index is ever answered twice, in whatever life of the member.
    fn check_answer(&mut self, member: u16, partial: &Unverified<Partial>) {
        let body = partial.body();
        let key = (member, partial.header().seq, body.index);
        let value = (body.attempt, body.session_ctx, partial.bytes().to_vec());
        let before = self.answers.entry(key).or_insert_with(|| value.clone());
        assert!(
            *before == value,
            "member {member} answered batch {} index {} twice",
            key.1,
            key.2
        );
    }

    pub(super) fn answer_count(&self) -> usize {
        self.answers.len()
    }

    fn decode_partial(&self, bytes: &[u8]) -> Unverified<Partial> {
        Unverified::decode(bytes, self.app.genesis().committee()).unwrap()
    }

    fn decode_post(&self, bytes: &[u8]) -> Unverified<Partial> {
        let committee = self.app.genesis().committee();
        let post: Unverified<PartialPost> = Unverified::decode(bytes, committee).unwrap();
        post.body().partial.clone()
    }

    /// The partial with one value changed, signed again: the same bytes every time.
    fn spoil(&self, at: u16, partial: &[u8]) -> Vec<u8> {
        let decoded = self.decode_partial(partial);
        let mut body = decoded.body().clone();
        let twice = body.z[0].clone();
        body.z[1].add_assign(&twice);
        let signed = Signed::issue(*decoded.header(), body, &mut self.signer(at)).unwrap();
        signed.bytes().to_vec()
    }

    fn repost(&self, at: u16, tx: &[u8], partial: &[u8]) -> Vec<u8> {
        let committee = self.app.genesis().committee();
        let post: Unverified<PartialPost> = Unverified::decode(tx, committee).unwrap();
        let body = PartialPost {
            partial: self.decode_partial(partial),
        };
        let signed = Signed::issue(*post.header(), body, &mut self.signer(at)).unwrap();
        signed.bytes().to_vec()
    }

    fn signer(&self, at: u16) -> MemberKey {
        MemberKey {
            key: Arc::clone(&self.keys[usize::from(at)]),
            rng: Stream::new(&mut SeededRng::new(9)),
        }
    }
}

fn mldsa_key(rng: &mut SeededRng) -> mldsa::SigningKey {
    mldsa::SigningKey::generate(mldsa::ParameterSet::MlDsa65, rng).unwrap()
}

fn key_bytes(key: &mldsa::SigningKey) -> Box<[u8; 1_952]> {
    Box::new(key.verifying_key().key_bytes().try_into().unwrap())
}

/// A genesis of `n` validators with one point each, their shares and their registry keys.
fn make_genesis(
    n: u16,
    t: u16,
    pulse: LedgerConfig,
    rng: &mut SeededRng,
) -> (Genesis, Vec<MemberShare>, Vec<Arc<mldsa::SigningKey>>) {
    let own = make_record(1, CHAIN, n, t, rng);
    let other = make_record(2, OTHER_CHAIN, 1, 1, rng).record;
    let validators = own.keys.iter().enumerate().map(|(at, _)| Validator {
        name: format!("validator-{at}"),
        identity: ed25519::SigningKey::generate(rng)
            .unwrap()
            .verifying_key()
            .key_bytes()
            .try_into()
            .unwrap(),
        address: format!("127.0.0.1:{}", 1_000 + at).parse().unwrap(),
        consensus_key: key_bytes(&mldsa_key(rng)),
        sealing_x25519: [at as u8; 32],
        sealing_mlkem768: Box::new([at as u8; MLKEM768_KEY_LEN]),
    });
    let spec = GenesisSpec {
        name: "test".into(),
        network_id: 1,
        chain_id: CHAIN,
        time_ms: START_MS,
        validators: validators.collect(),
        record: own.record.clone(),
        group_id: 0,
        pulse,
        block: BlockLimits {
            interval_ms: 400,
            bytes_max: 1 << 20,
            transactions_max: 1_000,
        },
        sources: vec![Source {
            policy: SourceConfig {
                validators_min: 1,
                threshold_min: 1,
                ..SourceConfig::new(2, OTHER_CHAIN, other.hash().unwrap())
            },
            anchors: vec![other],
        }],
    };
    let keys = own.keys.into_iter().map(Arc::new).collect();
    (Genesis::new(spec).unwrap(), own.shares, keys)
}

struct Dealt {
    record: Record,
    shares: Vec<MemberShare>,
    keys: Vec<mldsa::SigningKey>,
}

fn make_record(network_id: u32, chain_id: [u8; 32], n: u16, t: u16, rng: &mut SeededRng) -> Dealt {
    let mut beams: Vec<bls::SigningKey> = (0..n)
        .map(|_| bls::SigningKey::generate(rng).unwrap())
        .collect();
    beams.sort_by_key(|key| key.verifying_key().to_bytes());
    let keys: Vec<mldsa::SigningKey> = (0..n).map(|_| mldsa_key(rng)).collect();
    let members = beams.iter().zip(&keys).zip(0_u8..);
    let members = members.map(|((bls, mldsa), at)| RecordMember {
        bls_key: bls.verifying_key().to_bytes(),
        possession: bls.prove_possession().to_bytes(),
        mldsa_key: Some(key_bytes(mldsa)),
        weight: 1,
        points: 1,
        node_id: [at; 20],
        operator: format!("operator-{at}"),
    });
    let mut record = Record {
        key: RecordKey {
            network_id,
            chain_id,
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
        members: members.collect(),
    };
    let ceremony = Ceremony {
        variant: Variant::Dkg,
        chain_id: &chain_id,
        network_id,
        group_id: 0,
        suite: Suite::PulsarSha3,
        era: 1,
        old_generation: 0,
        new_generation: 0,
        old_set_hash: [0; 32],
        new_set_hash: genesis::set_hash(&record),
        old_threshold: 0,
        new_threshold: t.into(),
        group_key_hash: [0; 32],
        opening_block_hash: [5; 32],
        attempt: 0,
    };
    let deal = dealer::deal(&ceremony, Quorum::new(t, n).unwrap(), rng).unwrap();
    record.group_key = deal.group_key.to_framed();
    let shares = deal
        .packages
        .into_iter()
        .map(|package| package.accept(&deal.record).unwrap())
        .collect();
    Dealt {
        record,
        shares,
        keys,
    }
}
