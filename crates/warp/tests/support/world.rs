//! A whole source network in one process: validators, committee, records, policy, and everything
//! they sign.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses some of these"
)]

use horizon_pulsar::hazmat::interop::{Dealing, Group, Preprocess, Session, SidFence, gen_key_era};
use horizon_pulsar::signers::{Quorum as Points, SignerSet as Committee};
use horizon_pulsar::{GroupKey, Suite};
use horizon_sig::{bls, mldsa};
use horizon_warp::policy::{Policy, SourceConfig, Tier};
use horizon_warp::prism::{Context, Schedule};
use horizon_warp::registry::{Member, Record, RecordKey, Registry};
use horizon_warp::transcript::CERTIFICATE_CONTEXT;
use horizon_warp::*;

use crate::common::SplitMix;

pub const NETWORK: u32 = 7;
pub const CHAIN: [u8; 32] = [0xc4; 32];
pub const ISSUED_S: u64 = 1_700_000_000;
pub const HEIGHT: u64 = 100;
pub const ERA: u64 = 1;

/// One validator's secrets.
pub struct Secrets {
    pub bls: bls::SigningKey,
    pub mldsa: mldsa::SigningKey,
}

/// A committee's dealing, and how to sign with it.
pub struct Kernel {
    pub suite: Suite,
    pub dealing: Dealing,
    pub group: Group,
}

impl Kernel {
    pub fn new(seed: u64, suite: Suite, threshold: u16, parties: u16) -> Self {
        let mut rng = SplitMix(seed);
        let mut coefficients = SplitMix(seed ^ 0xc0ef);
        let quorum = Points::new(threshold, parties).unwrap();
        let dealing = gen_key_era(
            suite,
            quorum,
            |out| out.iter_mut().for_each(|byte| *byte = rng.next() as u8),
            || coefficients.next() % pulse::MODULUS,
        )
        .unwrap();
        let group = Group::new(dealing.group_key.clone(), suite);
        Self {
            suite,
            dealing,
            group,
        }
    }

    pub fn key(&self) -> &GroupKey {
        &self.dealing.group_key
    }

    /// A Pulse over `message` by everyone, with session number `sid`.
    pub fn sign(&self, sid: u64, message: &[u8]) -> Vec<u8> {
        let signers = Committee::everyone(self.dealing.shares[0].quorum());
        let sessions: Vec<Session<'_>> = self
            .dealing
            .shares
            .iter()
            .map(|share| Session::new(&self.group, share, signers.clone()).unwrap())
            .collect();
        let (nonces, messages): (Vec<_>, Vec<_>) = sessions
            .iter()
            .map(|session| session.round1(&mut SidFence::fresh(), sid).unwrap())
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

/// A source chain with one record.
pub struct World {
    pub secrets: Vec<Secrets>,
    pub kernel: Kernel,
    pub record: Record,
}

impl World {
    /// Validators of these weights, each with one point, and a committee needing `threshold` of
    /// them.
    pub fn new(seed: u64, weights: &[u64], threshold: u16) -> Self {
        Self::with_suite(seed, weights, threshold, Suite::PulsarSha3)
    }

    pub fn with_suite(seed: u64, weights: &[u64], threshold: u16, suite: Suite) -> Self {
        let mut rng = SplitMix(seed);
        let mut secrets: Vec<Secrets> = weights
            .iter()
            .map(|_| {
                let mut scalar = rng.bytes(32);
                scalar[0] = 1;
                Secrets {
                    bls: bls::SigningKey::from_bytes(&scalar).unwrap(),
                    mldsa: mldsa_key(&mut rng),
                }
            })
            .collect();
        secrets.sort_by_key(|secrets| secrets.bls.verifying_key().to_bytes());
        let kernel = Kernel::new(seed ^ 0x9e37, suite, threshold, weights.len() as u16);
        let members = secrets
            .iter()
            .zip(weights)
            .zip(0_u8..)
            .map(|((secrets, weight), index)| member(secrets, *weight, 1, index))
            .collect();
        let record = Record {
            key: RecordKey {
                network_id: NETWORK,
                chain_id: CHAIN,
                key_era: ERA,
                generation: 0,
            },
            suite: match suite {
                Suite::PulsarBlake3 => SuiteId::PulsarBlake3,
                _ => SuiteId::PulsarSha3,
            },
            group_key: kernel.key().to_framed(),
            threshold: threshold.into(),
            valid_from: 0,
            valid_until: None,
            issued_at_s: ISSUED_S,
            previous: [0; 32],
            members,
        };
        Self {
            secrets,
            kernel,
            record,
        }
    }

    pub fn registry(&self) -> Registry {
        Registry::load(
            vec![self.record.clone()],
            &self.config(Tier::Horizon).pins(),
        )
        .unwrap()
    }

    /// A policy of this tier with small minimums.
    pub fn config(&self, tier: Tier) -> Policy {
        policy(std::slice::from_ref(&self.record), tier)
    }

    pub fn unsigned<'a>(&self, payload: &'a [u8]) -> UnsignedMessage<'a> {
        UnsignedMessage::new(NETWORK, CHAIN, payload).unwrap()
    }

    /// Aggregate signature of these validators.
    pub fn beam(&self, message: &[u8], signers: &[u32]) -> [u8; 96] {
        let signatures: Vec<bls::Signature> = signers
            .iter()
            .map(|index| self.secrets[*index as usize].bls.sign_message(message))
            .collect();
        bls::aggregate(&signatures).unwrap().to_bytes()
    }

    pub fn certificate(&self, transcript: &[u8], index: u32) -> [u8; 3309] {
        let key = &self.secrets[index as usize].mldsa;
        key.sign_deterministic(CERTIFICATE_CONTEXT, transcript)
            .unwrap()
            .try_into()
            .unwrap()
    }

    pub fn certificates(&self, transcript: &[u8], signers: &[u32]) -> Vec<u8> {
        let set = SignerSet::from_indices(signers.iter().copied()).unwrap();
        let signatures: Vec<_> = set
            .as_signers()
            .iter()
            .map(|index| self.certificate(transcript, index))
            .collect();
        CertSet::new(set.as_signers(), &signatures)
            .unwrap()
            .encode()
    }

    /// A draft with every lane signed by these validators.
    pub fn seal(&self, payload: &[u8], signers: &[u32], sid: u64) -> Draft {
        let mut draft = Draft::new(payload, signers);
        draft.suite = self.record.suite.name().as_bytes().to_vec();
        draft.beam = self.beam(&draft.unsigned().encode(), signers);
        let transcript = draft.transcript();
        draft.attestation = self.certificates(&transcript, signers);
        draft.pulse = self.kernel.sign(sid, &transcript);
        draft
    }
}

pub fn mldsa_key(rng: &mut SplitMix) -> mldsa::SigningKey {
    let seed: [u8; 32] = rng.bytes(32).try_into().unwrap();
    mldsa::SigningKey::from_seed(mldsa::ParameterSet::MlDsa65, &seed).unwrap()
}

pub fn member(secrets: &Secrets, weight: u64, points: u32, index: u8) -> Member {
    use horizon_sig::traits::Verifier;
    Member {
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
        weight,
        points,
        node_id: [index; 20],
        operator: format!("operator-{index}"),
    }
}

/// A policy for these records' chain: pinned to the last one.
pub fn policy(records: &[Record], tier: Tier) -> Policy {
    Policy::new(&[config(records, tier)]).unwrap()
}

pub fn config(records: &[Record], tier: Tier) -> SourceConfig {
    let last = records.last().unwrap();
    SourceConfig {
        tier,
        validators_min: 1,
        threshold_min: 1,
        ..SourceConfig::new(last.key.network_id, last.key.chain_id, last.hash().unwrap())
    }
}

pub fn context() -> Context<'static> {
    Context::new(NETWORK, HEIGHT, ISSUED_S + 60)
}

pub fn sequential() -> Context<'static> {
    Context {
        schedule: Schedule::Sequential,
        ..context()
    }
}

/// An envelope in parts that tests change before it is encoded.
#[derive(Clone)]
pub struct Draft {
    pub network: u32,
    pub chain: [u8; 32],
    pub payload: Vec<u8>,
    pub signers: SignerSet,
    pub beam: [u8; 96],
    pub lineage: Lineage,
    pub suite: Vec<u8>,
    pub pulse: Vec<u8>,
    pub attestation: Vec<u8>,
}

impl Draft {
    pub fn new(payload: &[u8], signers: &[u32]) -> Self {
        Self {
            network: NETWORK,
            chain: CHAIN,
            payload: payload.to_vec(),
            signers: SignerSet::from_indices(signers.iter().copied()).unwrap(),
            beam: [0; 96],
            lineage: Lineage {
                nebula_root: [0x0a; 32],
                key_era: ERA,
                generation: 0,
            },
            suite: b"Pulsar-SHA3".to_vec(),
            pulse: vec![],
            attestation: vec![],
        }
    }

    pub fn unsigned(&self) -> UnsignedMessage<'_> {
        UnsignedMessage::new(self.network, self.chain, &self.payload).unwrap()
    }

    pub fn transcript(&self) -> Vec<u8> {
        Transcript::new(&self.unsigned(), &self.lineage, &self.suite)
            .as_bytes()
            .to_vec()
    }

    pub fn message(&self) -> Message<'_> {
        Message::new(
            self.unsigned(),
            Beam {
                signers: self.signers.as_signers(),
                signature: &self.beam,
            },
        )
    }

    pub fn envelope(&self) -> Envelope<'_> {
        Envelope::with_lanes_unchecked(
            self.message(),
            self.lineage,
            &self.suite,
            &self.pulse,
            &self.attestation,
        )
        .unwrap()
    }

    pub fn encode(&self) -> Vec<u8> {
        self.envelope().encode()
    }

    /// The draft changed by `change`.
    pub fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut draft = self.clone();
        change(&mut draft);
        draft
    }
}
