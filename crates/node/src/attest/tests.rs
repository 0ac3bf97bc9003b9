use horizon_sig::mldsa::ParameterSet;
use horizon_testkit::SeededRng;
use horizon_warp::envelope::Lineage;
use horizon_warp::{CertSet, Reason, SuiteId, Transcript, UnsignedMessage, Validator};
use redb::backends::InMemoryBackend;

use super::*;
use crate::service::Service;

const CHAIN: [u8; 32] = [1; 32];

/// Keys of `weights.len()` validators, in canonical order; the positions in `without` have no ML-DSA key.
struct World {
    set: ValidatorSet,
    keys: Vec<(bls::SigningKey, Option<mldsa::SigningKey>)>,
}

impl World {
    fn new(weights: &[u64], without: &[usize]) -> Self {
        let mut rng = SeededRng::new(7);
        let mut keys: Vec<bls::SigningKey> = weights
            .iter()
            .map(|_| bls::SigningKey::generate(&mut rng).unwrap())
            .collect();
        keys.sort_by_key(|key| key.verifying_key().to_bytes());
        let keys = keys.into_iter().enumerate().map(|(at, key)| {
            let mldsa = mldsa::SigningKey::generate(ParameterSet::MlDsa65, &mut rng).unwrap();
            (key, (!without.contains(&at)).then_some(mldsa))
        });
        let keys: Vec<_> = keys.collect();
        let set = Self::set(&keys, weights);
        Self { set, keys }
    }

    fn set(keys: &[(bls::SigningKey, Option<mldsa::SigningKey>)], weights: &[u64]) -> ValidatorSet {
        let validator =
            |((bls, mldsa), weight): (&(bls::SigningKey, Option<mldsa::SigningKey>), &u64)| {
                let bytes = |key: &mldsa::SigningKey| {
                    let bytes = horizon_sig::traits::Verifier::key_bytes(key.verifying_key());
                    Box::new(<[u8; 1952]>::try_from(bytes).unwrap())
                };
                Validator {
                    bls_key: bls.verifying_key().to_bytes(),
                    mldsa_key: mldsa.as_ref().map(bytes),
                    weight: *weight,
                    node_id: [0; 20],
                }
            };
        ValidatorSet::new(keys.iter().zip(weights).map(validator).collect()).unwrap()
    }

    fn own_keys(&self, position: u16) -> AttestKeys {
        let (bls, mldsa) = &self.keys[usize::from(position)];
        let copy = |key: &mldsa::SigningKey| {
            let copy = mldsa::SigningKey::from_seed(ParameterSet::MlDsa65, &key.to_seed()[..]);
            Arc::new(copy.unwrap())
        };
        AttestKeys {
            position,
            bls: bls::SigningKey::from_bytes(&bls.to_bytes()[..]).unwrap(),
            mldsa: mldsa.as_ref().map(copy),
        }
    }

    fn attester(&self, position: u16, guard: Guard) -> Attester {
        let store = AttestStore::with_backend(InMemoryBackend::new(), 1_000).unwrap();
        self.attester_over(position, guard, store)
    }

    fn attester_over(&self, position: u16, guard: Guard, store: AttestStore) -> Attester {
        Attester::new(
            AttestConfig::new(),
            &self.set,
            Some((self.own_keys(position), guard)),
            store,
            Box::new(SeededRng::new(100 + u64::from(position))),
        )
        .unwrap()
    }

    /// One core per validator.
    fn network(&self) -> Net<'_> {
        let cores = (0..self.keys.len() as u16).map(|at| self.attester(at, fresh_guard()));
        Net {
            world: self,
            cores: cores.map(Some).collect(),
            sent: Vec::new(),
            halted: Vec::new(),
            blamed: Vec::new(),
            now_ms: 1_000,
        }
    }
}

struct Net<'w> {
    world: &'w World,
    cores: Vec<Option<Attester>>,
    /// From, to, message: not delivered yet.
    sent: Vec<(u16, u16, Bytes)>,
    halted: Vec<(u16, Unsafe)>,
    blamed: Vec<PeerFault>,
    now_ms: u64,
}

impl Net<'_> {
    fn each(&mut self, act: impl Fn(&mut Attester, u64) -> Vec<Action>) {
        for at in 0..self.cores.len() {
            if let Some(core) = &mut self.cores[at] {
                let actions = act(core, self.now_ms);
                self.perform(at as u16, actions);
            }
        }
    }

    fn on_final(&mut self, messages: &[Outgoing]) {
        self.each(|core, now| core.on_outgoing(messages, now));
    }

    fn perform(&mut self, at: u16, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Run(job) => {
                    assert_eq!(job.service(), Service::Attest);
                    let result = job.run();
                    let core = self.cores[usize::from(at)].as_mut().unwrap();
                    let more = core.on_job(result, self.now_ms);
                    self.perform(at, more);
                }
                Action::Send { to, bytes } => self.sent.push((at, to, bytes)),
                Action::Broadcast(bytes) => {
                    let others = (0..self.cores.len() as u16).filter(|to| *to != at);
                    self.sent.extend(others.map(|to| (at, to, bytes.clone())));
                }
                Action::Halt(why) => self.halted.push((at, why)),
                Action::Blame(fault) => self.blamed.push(fault),
                Action::Submit(_) => panic!("attestations are no transactions"),
            }
        }
    }

    /// Delivers what was sent so far, in this order, as far as the receiver is up and `pass` lets it.
    fn deliver(&mut self, pass: impl Fn(u16, u16, &Gossip) -> bool) {
        while !self.sent.is_empty() {
            for (from, to, bytes) in core::mem::take(&mut self.sent) {
                let message = Gossip::decode(&bytes).unwrap();
                if !pass(from, to, &message) {
                    continue;
                }
                if let Some(core) = &mut self.cores[usize::from(to)] {
                    match core.on_gossip(from, message, self.now_ms) {
                        Ok(actions) => self.perform(to, actions),
                        Err(fault) => self.blamed.push(fault),
                    }
                }
            }
        }
    }

    fn tick(&mut self, ms: u64) {
        self.now_ms += ms;
        self.each(Attester::on_tick);
    }

    fn evidence(&self, at: usize, id: &[u8; 32]) -> Evidence {
        self.cores[at].as_ref().unwrap().aggregate(id).unwrap()
    }
}

fn fresh_guard() -> Guard {
    Guard::create(InMemoryBackend::new(), &[7; 32]).unwrap()
}

fn outgoing(sequence: u64, payload: &[u8]) -> Outgoing {
    let unsigned = UnsignedMessage::new(1, CHAIN, payload).unwrap();
    let lineage = Lineage::default();
    let suite = SuiteId::DEFAULT.name().as_bytes();
    let transcript = Transcript::new(&unsigned, &lineage, suite);
    Outgoing {
        id: unsigned.id(),
        sequence,
        height: 0,
        unsigned: unsigned.encode(),
        lineage,
        subject: [sequence as u8; 32],
        transcript: transcript.as_bytes().to_vec(),
        is_ack: false,
        destination_network: 2,
        destination_chain: [2; 32],
        channel: [0; 32],
        nonce: sequence,
        expiry_height: 0,
    }
}

fn positions<S>(lane: &LaneEvidence<S>) -> Vec<u16> {
    lane.signatures.iter().map(|(at, ..)| *at).collect()
}

fn everything(_: u16, _: u16, _: &Gossip) -> bool {
    true
}

/// Prism's own checks of both lanes.
fn verify(world: &World, message: &Outgoing, evidence: &Evidence) {
    let (signers, beam) = evidence.aggregate_beam().unwrap();
    let keys: Vec<_> = signers
        .as_signers()
        .iter()
        .map(|at| bls::hazmat::assume_possession(*world.keys[at as usize].0.verifying_key()))
        .collect();
    let beam = bls::Signature::from_bytes(&beam).unwrap();
    let key = bls::AggregateKey::new(&keys).unwrap();
    let _ = key.verify(&message.unsigned, &beam).unwrap();
    let bytes = evidence.certificate_set().unwrap();
    let certificates = CertSet::parse(&bytes).unwrap();
    let weight = world
        .set
        .check_quorum(certificates.signers(), Quorum::DEFAULT);
    assert!(weight.unwrap() > 0);
    for (at, signature) in certificates.iter() {
        let key = world.keys[at as usize].1.as_ref().unwrap().verifying_key();
        let context = horizon_warp::transcript::CERTIFICATE_CONTEXT;
        let checked =
            horizon_sig::traits::Verifier::verify(key, context, &message.transcript, signature);
        let _ = checked.unwrap();
    }
}

#[test]
fn a03_message_zero_of_validator_zero_is_complete_and_in_index_order_whatever_the_order_of_replies()
{
    let world = World::new(&[25; 4], &[]);
    let mut net = world.network();
    // Nonce 0, sequence 0, height 0, generation 0, empty payload.
    let message = outgoing(0, b"");
    net.on_final(core::slice::from_ref(&message));
    let mut replies = core::mem::take(&mut net.sent);
    let order = [3, 1, 0, 2];
    replies.sort_by_key(|(from, ..)| order.iter().position(|at| at == from));
    net.sent = replies;
    net.deliver(everything);
    for at in 0..4 {
        let evidence = net.evidence(at, &message.id);
        assert_eq!(positions(&evidence.beam), [0, 1, 2, 3]);
        assert_eq!(positions(&evidence.certificates), [0, 1, 2, 3]);
        assert!(evidence.beam.missing.is_empty());
        verify(&world, &message, &evidence);
    }
    assert_eq!(net.cores[0].as_ref().unwrap().counts().waiting, 0);
}

#[test]
fn a04_two_of_four_down_wait_for_the_quorum_by_name_with_capped_spacing_and_end_without_a_restart()
{
    let world = World::new(&[25; 4], &[]);
    let mut net = world.network();
    let down: Vec<Attester> = [2, 3].map(|at| net.cores[at].take().unwrap()).into();
    let message = outgoing(5, b"m");
    net.on_final(core::slice::from_ref(&message));
    net.deliver(everything);
    let mut gaps = Vec::new();
    let mut last = net.now_ms;
    for _ in 0..2_000 {
        net.tick(100);
        if net.sent.iter().any(|(from, ..)| *from == 0) {
            gaps.push(net.now_ms - last);
            last = net.now_ms;
        }
        net.deliver(everything);
    }
    assert!(gaps.iter().all(|gap| *gap <= 12_600), "{gaps:?}");
    assert!(gaps.len() < 30 && gaps.last() > Some(&9_900), "{gaps:?}");
    let evidence = net.evidence(0, &message.id);
    assert_eq!((evidence.beam.weight, evidence.beam.needed), (50, 67));
    let missing: Vec<u16> = evidence.beam.missing.iter().map(|m| m.signer).collect();
    assert_eq!(missing, [2, 3]);
    let silent = |m: &Missing| matches!(m.reason, MissingReason::Silent { asked } if asked > 10);
    assert!(evidence.certificates.missing.iter().all(silent));
    let refused = evidence.certificate_set().unwrap_err();
    assert!(
        matches!(refused, AggregateError::Quorum(e) if e.reason() == Reason::InsufficientWeight)
    );
    assert_eq!(net.cores[0].as_ref().unwrap().counts().waiting, 1);
    // One starts later, and learns of the block only now.
    net.cores[2] = Some(down.into_iter().next().unwrap());
    let (now, started) = (net.now_ms, net.cores[2].as_mut().unwrap());
    let actions = started.on_outgoing(core::slice::from_ref(&message), now);
    net.perform(2, actions);
    for _ in 0..150 {
        net.deliver(everything);
        net.tick(100);
    }
    for at in [0, 1, 2] {
        verify(&world, &message, &net.evidence(at, &message.id));
    }
}

#[test]
fn a07_after_a_change_of_weights_one_request_goes_to_the_new_heavy_validator_and_nobody_else() {
    let mut world = World::new(&[20; 5], &[]);
    let mut net = world.network();
    let message = outgoing(0, b"m");
    net.on_final(core::slice::from_ref(&message));
    // v4's signatures are lost on the way.
    net.deliver(|from, _, _| from != 4);
    let before = net.evidence(0, &message.id);
    assert_eq!((before.beam.weight, before.is_enough()), (80, true));
    net.tick(600);
    assert!(
        net.sent.is_empty(),
        "a quorum is there: nothing is asked for"
    );
    let cores = core::mem::take(&mut net.cores);
    let now_ms = net.now_ms;
    world.set = World::set(&world.keys, &[10, 10, 20, 20, 40]);
    let mut net = Net {
        world: &world,
        cores,
        sent: Vec::new(),
        halted: Vec::new(),
        blamed: Vec::new(),
        now_ms,
    };
    let set = net.world.set.clone();
    for core in net.cores.iter_mut().flatten() {
        core.set_validators(&set).unwrap();
    }
    let first = net.evidence(0, &message.id);
    assert_eq!(first.beam.weight, 60);
    let refused = first.aggregate_beam().unwrap_err();
    assert!(
        matches!(refused, AggregateError::Quorum(e) if e.reason() == Reason::InsufficientWeight)
    );
    let now_ms = net.now_ms;
    let actions = net.cores[0].as_mut().unwrap().on_tick(now_ms);
    net.perform(0, actions);
    let asked: Vec<(u16, u16)> = net.sent.iter().map(|(from, to, _)| (*from, *to)).collect();
    assert_eq!(asked, [(0, 4)]);
    net.deliver(everything);
    let second = net.evidence(0, &message.id);
    assert_eq!((second.id, second.beam.weight), (message.id, 100));
    verify(&world, &message, &second);
}

#[test]
fn a08_a_validator_without_an_mldsa_key_counts_in_the_total_and_is_never_asked_for_a_certificate() {
    let world = World::new(&[25; 4], &[3]);
    let mut net = world.network();
    let message = outgoing(0, b"m");
    net.on_final(core::slice::from_ref(&message));
    // v0 gets nothing from v2 and v3 at first.
    net.deliver(|from, to, _| to != 0 || from == 1);
    for _ in 0..40 {
        net.tick(100);
        for (_, _, bytes) in &net.sent {
            if let Gossip::AttestationRequest(items) = Gossip::decode(bytes).unwrap() {
                let v3 = items.iter().filter(|item| item.signer == 3);
                assert!(v3.clone().all(|item| !item.lanes.certificate));
            }
        }
        net.deliver(|_, to, message| match message {
            Gossip::Attestations(items) => to != 0 || items.iter().all(|item| item.signer != 2),
            _ => true,
        });
    }
    let evidence = net.evidence(0, &message.id);
    assert_eq!(positions(&evidence.beam), [0, 1, 3]);
    let v3 = evidence.certificates.missing.iter().find(|m| m.signer == 3);
    assert_eq!(v3.unwrap().reason, MissingReason::NoKey);
    // {0, 1, 3} is no certificate quorum.
    assert_eq!(evidence.certificates.weight, 50);
    net.tick(20_000);
    net.deliver(everything);
    let evidence = net.evidence(0, &message.id);
    assert_eq!(positions(&evidence.certificates), [0, 1, 2]);
    verify(&world, &message, &evidence);
    // A certificate in the name of v3 is a fault of its sender.
    let mut item = net.world.own_keys(0).sign_for_tests(&message);
    item.signer = 3;
    let now_ms = net.now_ms;
    let core = net.cores[1].as_mut().unwrap();
    let fault = core.on_gossip(0, Gossip::Attestations(vec![item]), now_ms);
    assert_eq!(
        fault.unwrap_err(),
        PeerFault::new(0, Fault::NoKey { signer: 3 })
    );
}

#[test]
fn a13_answers_count_once_and_a_refusal_counts_nothing() {
    let world = World::new(&[25; 4], &[]);
    let mut net = world.network();
    let message = outgoing(0, b"m");
    // Only v3 sees the block final; v0 answers on three connections.
    let v0 = world.own_keys(0).sign_for_tests(&message);
    let actions = net.cores[3]
        .as_mut()
        .unwrap()
        .on_outgoing(core::slice::from_ref(&message), 1_000);
    net.perform(3, actions);
    net.sent.clear();
    for from in [0, 1, 2, 0] {
        let copy = Gossip::Attestations(vec![v0.clone(), v0.clone()]).encode();
        net.sent.push((from, 3, copy));
    }
    net.deliver(everything);
    let evidence = net.evidence(3, &message.id);
    assert_eq!(
        (positions(&evidence.beam), evidence.beam.weight),
        (vec![0, 3], 50)
    );
    // v1 and v2 answer that they do not know the message.
    net.tick(800);
    net.deliver(everything);
    let evidence = net.evidence(3, &message.id);
    assert_eq!(evidence.beam.weight, 50);
    let reasons: Vec<(u16, MissingReason)> = evidence
        .beam
        .missing
        .iter()
        .map(|m| (m.signer, m.reason))
        .collect();
    let unknown = MissingReason::Refused(Refusal::Unknown);
    assert_eq!(reasons, [(1, unknown), (2, unknown)]);
    // No bit at all.
    let nobody = LaneEvidence::<[u8; 96]> {
        signatures: Vec::new(),
        weight: 0,
        ..evidence.beam
    };
    let refused = nobody.check().unwrap_err();
    assert!(matches!(refused, AggregateError::Quorum(e) if e.reason() == Reason::NoSignedWeight));
}

#[test]
fn a09_too_old_refused_and_unreachable_are_three_different_answers() {
    let world = World::new(&[25; 4], &[]);
    let store = AttestStore::with_backend(InMemoryBackend::new(), 3).unwrap();
    let mut core = world.attester_over(0, fresh_guard(), store);
    let messages: Vec<Outgoing> = (0..5).map(|n| outgoing(n, &[n as u8])).collect();
    for message in &messages {
        let _ = core.on_outgoing(core::slice::from_ref(message), 0);
    }
    let old = core.aggregate(&messages[0].id);
    assert_eq!(old, Err(AggregateError::TooOld));
    assert_eq!(core.aggregate(&[9; 32]), Err(AggregateError::Unknown));
    let sent = core.on_tick(10_000);
    let asked = |action: &Action| match action {
        Action::Send { bytes, .. } => match Gossip::decode(bytes).unwrap() {
            Gossip::AttestationRequest(items) => items.iter().any(|i| i.id == messages[0].id),
            _ => false,
        },
        _ => false,
    };
    assert!(
        !sent.iter().any(asked),
        "nobody is asked for what is too old"
    );
    let refusal = Refused {
        id: messages[4].id,
        signer: 1,
        reason: Refusal::Unknown,
    };
    core.on_gossip(1, Gossip::AttestationRefusal(vec![refusal]), 10_100)
        .unwrap();
    // A refusal in somebody else's name says nothing.
    let forged = Refused {
        signer: 2,
        ..refusal
    };
    core.on_gossip(3, Gossip::AttestationRefusal(vec![forged]), 10_100)
        .unwrap();
    let evidence = core.aggregate(&messages[4].id).unwrap();
    let reason = |at| {
        let found = evidence.beam.missing.iter().find(|m| m.signer == at);
        found.unwrap().reason
    };
    assert_eq!(reason(1), MissingReason::Refused(Refusal::Unknown));
    assert_eq!(reason(2), MissingReason::Silent { asked: 1 });
    // The other side of it: a peer asks for the old one.
    let wanted = WantedAttestation {
        id: messages[0].id,
        signer: 0,
        lanes: Lanes::BOTH,
    };
    let answer = core.on_gossip(2, Gossip::AttestationRequest(vec![wanted]), 10_200);
    let [Action::Send { to: 2, bytes }] = &answer.unwrap()[..] else {
        panic!("one answer")
    };
    let Gossip::AttestationRefusal(items) = Gossip::decode(bytes).unwrap() else {
        panic!("a refusal")
    };
    assert_eq!(items[0].reason, Refusal::TooOld);
}

#[test]
fn a_bad_signature_is_dropped_alone_and_its_sender_blamed() {
    let world = World::new(&[25; 4], &[]);
    let mut net = world.network();
    let messages: Vec<Outgoing> = (0..6).map(|n| outgoing(n, &[n as u8])).collect();
    let mut items: Vec<Attestation> = messages
        .iter()
        .map(|m| world.own_keys(1).sign_for_tests(m))
        .collect();
    // Another message's Beam, and a flipped bit in a certificate.
    items[2].beam = items[3].beam;
    items[4].certificate.as_mut().unwrap()[100] ^= 1;
    let actions = net.cores[0].as_mut().unwrap().on_outgoing(&messages, 0);
    net.perform(0, actions);
    net.sent = vec![(1, 0, Gossip::Attestations(items).encode())];
    net.deliver(everything);
    let lanes = |beam, certificate| Fault::Signature {
        signer: 1,
        lanes: Lanes { beam, certificate },
    };
    let expected = [
        PeerFault::new(1, lanes(true, false)),
        PeerFault::new(1, lanes(false, true)),
    ];
    assert_eq!(net.blamed, expected);
    for (n, message) in messages.iter().enumerate() {
        let evidence = net.evidence(0, &message.id);
        let has = |signed: &[u16]| signed.contains(&1);
        assert_eq!(has(&positions(&evidence.beam)), n != 2, "{n}");
        assert_eq!(has(&positions(&evidence.certificates)), n != 4, "{n}");
    }
}

#[test]
fn signatures_that_come_before_their_block_wait_within_the_share_of_their_sender() {
    let world = World::new(&[25; 4], &[]);
    let mut net = world.network();
    let message = outgoing(0, b"m");
    let early = world.own_keys(1).sign_for_tests(&message);
    let flood: Vec<Attestation> = (0..700_u32)
        .map(|n| {
            let mut item = early.clone();
            item.id[..4].copy_from_slice(&n.to_be_bytes());
            item
        })
        .collect();
    for bytes in Gossip::attestations(&flood) {
        net.sent.push((2, 0, bytes));
    }
    net.sent
        .push((1, 0, Gossip::Attestations(vec![early]).encode()));
    net.deliver(everything);
    assert_eq!(net.cores[0].as_ref().unwrap().counts().dropped, 700 - 512);
    net.on_final(core::slice::from_ref(&message));
    let evidence = net.evidence(0, &message.id);
    assert_eq!(positions(&evidence.beam), [0, 1]);
}

#[test]
fn a_second_copy_that_signs_for_us_stops_this_one() {
    let world = World::new(&[25; 4], &[]);
    let mut net = world.network();
    let message = outgoing(0, b"m");
    // The clone was faster: its signature is here before our own was made.
    let foreign = world.own_keys(0).sign_for_tests(&message);
    net.sent = vec![(2, 0, Gossip::Attestations(vec![foreign]).encode())];
    net.deliver(everything);
    // Its message becomes final; the sign job is slow and has not run.
    let core = net.cores[0].as_mut().unwrap();
    let mut jobs = core.on_outgoing(core::slice::from_ref(&message), 0);
    let Some(Action::Run(verify)) = jobs.pop() else {
        panic!("a job")
    };
    let stopped = core.on_job(verify.run(), 0);
    let [Action::Halt(why)] = &stopped[..] else {
        panic!("{stopped:?}")
    };
    assert_eq!(*why, Unsafe::ForeignAttestation { id: message.id });
    assert_eq!(why.exit_code(), 7);
    // It does nothing any more.
    assert!(core.on_outgoing(&[outgoing(1, b"n")], 0).is_empty());
    assert!(core.on_tick(100_000).is_empty());
}

#[test]
fn own_signatures_that_come_back_are_no_second_copy() {
    let world = World::new(&[25; 4], &[]);
    let mut net = world.network();
    let message = outgoing(0, b"m");
    net.on_final(core::slice::from_ref(&message));
    net.deliver(everything);
    let evidence = net.evidence(0, &message.id);
    let own = Attestation {
        id: message.id,
        signer: 0,
        beam: Some(evidence.beam.signatures[0].2),
        certificate: Some(evidence.certificates.signatures[0].2.clone()),
    };
    // After a restart with the same guard and an empty store of signatures.
    let guard = match &net.cores[0].as_ref().unwrap().signer {
        Some(signer) => signer.guard.clone(),
        None => panic!("it signs"),
    };
    net.cores[0] = Some(world.attester(0, guard));
    net.sent = vec![(1, 0, Gossip::Attestations(vec![own]).encode())];
    net.deliver(everything);
    net.on_final(core::slice::from_ref(&message));
    net.deliver(everything);
    assert_eq!(net.halted, []);
    assert!(positions(&net.evidence(0, &message.id).beam).contains(&0));
}

#[test]
fn q2_a_conflicting_block_is_not_signed_and_the_process_stops() {
    let world = World::new(&[25; 4], &[]);
    let guard = fresh_guard();
    let mut net = world.network();
    net.cores[0] = Some(world.attester(0, guard.clone()));
    net.on_final(&[outgoing(7, b"M")]);
    net.sent.clear();
    // The same nonce with another message, after a restart without the store.
    net.cores[0] = Some(world.attester(0, guard));
    let mut other = outgoing(7, b"M'");
    other.sequence = 8;
    let core = net.cores[0].as_mut().unwrap();
    let actions = core.on_outgoing(&[other], 0);
    net.perform(0, actions);
    let [(0, why)] = &net.halted[..] else {
        panic!("{:?}", net.halted)
    };
    assert!(matches!(
        why,
        Unsafe::Guard(crate::signer::Error::Conflict(_))
    ));
    assert_eq!((why.exit_code(), net.sent.len()), (7, 0));
}

#[test]
fn a_peer_that_asks_too_much_is_not_answered() {
    let world = World::new(&[25; 4], &[]);
    let mut core = world.attester(0, fresh_guard());
    let wanted = vec![
        WantedAttestation {
            id: [1; 32],
            signer: 0,
            lanes: Lanes::BOTH,
        };
        WANTED_MAX
    ];
    let request = Gossip::AttestationRequest(wanted);
    for _ in 0..4 {
        core.on_gossip(1, request.clone(), 5).unwrap();
    }
    let flood = core.on_gossip(1, request.clone(), 5).unwrap_err();
    assert_eq!(
        (&flood.fault, flood.fault.is_grave()),
        (&Fault::Flood, false)
    );
    core.on_gossip(2, request.clone(), 5).unwrap();
    core.on_gossip(1, request, 1_005).unwrap();
}

#[test]
fn lost_reordered_and_repeated_signatures_still_reach_a_quorum_everywhere() {
    for seed in 0..6 {
        let mut rng = horizon_testkit::rng(seed);
        let world = World::new(&[10, 20, 30, 20, 20], &[]);
        let mut net = world.network();
        let messages: Vec<Outgoing> = (0..20).map(|n| outgoing(n, &[n as u8])).collect();
        for block in messages.chunks(5) {
            net.on_final(block);
            let mut kept = Vec::new();
            for entry in core::mem::take(&mut net.sent) {
                match rng.below(10) {
                    0..5 => {}
                    5 => kept.extend([entry.clone(), entry]),
                    _ => kept.insert(rng.below(kept.len() as u64 + 1) as usize, entry),
                }
            }
            net.sent = kept;
            net.deliver(everything);
        }
        for round in 0..300 {
            net.tick(100);
            net.deliver(|from, to, _| (u64::from(from) * 7 + u64::from(to) + round) % 3 != 0);
        }
        for at in 0..5 {
            for message in &messages {
                verify(&world, message, &net.evidence(at, &message.id));
            }
            assert_eq!(net.cores[at].as_ref().unwrap().counts().waiting, 0);
        }
        assert_eq!((net.halted.len(), net.blamed.len()), (0, 0));
    }
}

#[test]
fn a_signature_never_leaves_before_the_guard_has_it_on_disk() {
    let world = World::new(&[25; 4], &[]);
    let message = outgoing(0, b"m");
    let mut failed = 0;
    for writes in 0..40 {
        let storage = crate::testing::CrashStorage::new();
        let guard = Guard::create(storage.backend(), &[7; 32]).unwrap();
        storage.fail_after(writes);
        let mut net = world.network();
        net.cores[0] = Some(world.attester(0, guard));
        let core = net.cores[0].as_mut().unwrap();
        let actions = core.on_outgoing(core::slice::from_ref(&message), 0);
        net.perform(0, actions);
        let has_left = !net.sent.is_empty();
        let halted = net.halted.first().map(|(_, why)| why.exit_code());
        assert_eq!(
            (has_left, halted),
            if has_left {
                (true, None)
            } else {
                (false, Some(6))
            }
        );
        failed += u32::from(!has_left);
        net.cores[0] = None;
        let guard = Guard::open(storage.restart(), &[7; 32]).unwrap();
        if has_left {
            assert_eq!(
                guard.has_signed(crate::signer::Lane::Beam, &message.id),
                Ok(true)
            );
        }
        // The next life signs the same.
        net.cores[0] = Some(world.attester(0, guard));
        net.halted.clear();
        net.on_final(core::slice::from_ref(&message));
        net.deliver(everything);
        assert_eq!(net.halted, []);
        verify(&world, &message, &net.evidence(0, &message.id));
    }
    assert!(failed > 3, "{failed}");
}
