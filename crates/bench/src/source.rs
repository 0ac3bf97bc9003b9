//! A source network in one process: validators, committee, record, and envelopes they signed.

use horizon_hash::suite::Suite;
use horizon_sig::traits::Verifier as _;
use horizon_sig::{bls, mldsa};
use horizon_testkit::SeededRng;
use horizon_warp::policy::{Policy, SourceConfig, Tier};
use horizon_warp::prism::{Context, Schedule};
use horizon_warp::registry::{Member, Record, RecordKey, Registry};
use horizon_warp::transcript::CERTIFICATE_CONTEXT;
use horizon_warp::{
    Beam, CertSet, Envelope, Lineage, Message, SignerSet, SuiteId, Transcript, UnsignedMessage,
};

use crate::failed::Failed;
use crate::fixture::Fixture;

/// The network of the source and of the verifier.
pub const NETWORK: u32 = 7;
/// Payload of every message.
pub const PAYLOAD: [u8; 128] = [0x5a; 128];

const CHAIN: [u8; 32] = [0xc4; 32];
const ISSUED_S: u64 = 1_700_000_000;
const ERA: u64 = 1;

/// Keys of one validator.
struct Keys {
    bls: bls::SigningKey,
    mldsa: mldsa::SigningKey,
}

/// A source chain with one record, whose validators all sign.
pub struct Source {
    keys: Vec<Keys>,
    /// The committee of the Pulse.
    pub committee: Fixture,
    /// The registry record of the chain.
    pub record: Record,
}

impl core::fmt::Debug for Source {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Source")
            .field("validators", &self.keys.len())
            .finish_non_exhaustive()
    }
}

/// The parts of one envelope.
#[derive(Clone, Debug)]
pub struct Draft {
    signers: SignerSet,
    /// Aggregate signature, 96 bytes.
    pub beam: [u8; 96],
    /// Suite name.
    pub suite: Vec<u8>,
    /// Pulse bytes; empty for none.
    pub pulse: Vec<u8>,
    /// Certificate set or wrapper; empty for none.
    pub attestation: Vec<u8>,
}

impl Source {
    /// A network of `validators`, each of whom has one share of the Pulse.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn new(validators: u16, rng: &mut SeededRng) -> Result<Self, Failed> {
        let mut keys = (0..validators)
            .map(|_| {
                Ok(Keys {
                    bls: bls::SigningKey::generate(rng)?,
                    mldsa: mldsa::SigningKey::generate(mldsa::ParameterSet::MlDsa65, rng)?,
                })
            })
            .collect::<Result<Vec<Keys>, Failed>>()?;
        keys.sort_by_key(|keys| keys.bls.verifying_key().to_bytes());
        let committee = Fixture::new(validators, Suite::PulsarSha3, rng)?;
        let members = keys.iter().zip(0..).map(member).collect::<Result<_, _>>()?;
        let record = Record {
            key: RecordKey {
                network_id: NETWORK,
                chain_id: CHAIN,
                key_era: ERA,
                generation: 0,
            },
            suite: SuiteId::PulsarSha3,
            group_key: committee.group_key.to_framed(),
            threshold: validators.into(),
            valid_from: 0,
            valid_until: None,
            issued_at_s: ISSUED_S,
            previous: [0; 32],
            members,
        };
        Ok(Self {
            keys,
            committee,
            record,
        })
    }

    /// The registry with the one record, as the destination loads it.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn registry(&self) -> Result<Registry, Failed> {
        let pins = self.policy(Tier::Horizon)?.pins();
        Ok(Registry::load(vec![self.record.clone()], &pins)?)
    }

    /// A policy of this tier, pinned to the record.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn policy(&self, tier: Tier) -> Result<Policy, Failed> {
        let config = SourceConfig {
            tier,
            validators_min: 1,
            threshold_min: 1,
            ..SourceConfig::new(NETWORK, CHAIN, self.record.hash()?)
        };
        Ok(Policy::new(&[config])?)
    }

    /// An envelope with every lane, signed by everybody.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn seal(&self, rng: &mut SeededRng) -> Result<Draft, Failed> {
        let unsigned = unsigned()?.encode();
        let signatures: Vec<bls::Signature> = self
            .keys
            .iter()
            .map(|keys| keys.bls.sign_message(&unsigned))
            .collect();
        let mut draft = Draft {
            signers: SignerSet::from_indices((0..).zip(&self.keys).map(|(index, _)| index))?,
            beam: bls::aggregate(&signatures)?.to_bytes(),
            suite: SuiteId::PulsarSha3.name().as_bytes().to_vec(),
            pulse: Vec::new(),
            attestation: Vec::new(),
        };
        let transcript = draft.transcript()?;
        draft.pulse = self.committee.sign(&transcript, rng)?.to_pulse_bytes();
        let certificates = self
            .keys
            .iter()
            .map(|keys| {
                let signature = keys
                    .mldsa
                    .sign_deterministic(CERTIFICATE_CONTEXT, &transcript)?;
                <[u8; 3309]>::try_from(signature)
                    .map_err(|_| Failed("certificate length".to_owned()))
            })
            .collect::<Result<Vec<_>, Failed>>()?;
        draft.attestation = CertSet::new(draft.signers.as_signers(), &certificates)?.encode();
        Ok(draft)
    }

    /// The keys of the Beam, as a registry holds them.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn beam_keys(&self) -> Result<Vec<bls::ProvenKey>, Failed> {
        self.keys
            .iter()
            .map(|keys| {
                let proof = keys.bls.prove_possession();
                Ok(keys.bls.verifying_key().verify_possession(&proof)?)
            })
            .collect()
    }
}

fn member((keys, index): (&Keys, u8)) -> Result<Member, Failed> {
    let mldsa_key = <[u8; 1952]>::try_from(keys.mldsa.verifying_key().key_bytes())
        .map_err(|_| Failed("certificate key length".to_owned()))?;
    Ok(Member {
        bls_key: keys.bls.verifying_key().to_bytes(),
        possession: keys.bls.prove_possession().to_bytes(),
        mldsa_key: Some(Box::new(mldsa_key)),
        weight: 10,
        points: 1,
        node_id: [index; 20],
        operator: format!("operator-{index}"),
    })
}

/// The message that everybody signs.
///
/// # Errors
/// [`Failed`], a fault of this program.
pub fn unsigned() -> Result<UnsignedMessage<'static>, Failed> {
    Ok(UnsignedMessage::new(NETWORK, CHAIN, &PAYLOAD)?)
}

/// The lineage of every envelope.
#[must_use]
pub const fn lineage() -> Lineage {
    Lineage {
        nebula_root: [0x0a; 32],
        key_era: ERA,
        generation: 0,
    }
}

/// Where the verifier stands.
#[must_use]
pub const fn context(schedule: Schedule) -> Context<'static> {
    let mut context = Context::new(NETWORK, 100, ISSUED_S + 60);
    context.schedule = schedule;
    context
}

impl Draft {
    /// An envelope of `signer_count` signers with these lanes, for its size: it proves nothing.
    ///
    /// # Errors
    /// [`Failed`]: more signers than a set may have.
    pub fn filler(signer_count: u32, pulse: bool, attestation: Vec<u8>) -> Result<Self, Failed> {
        Ok(Self {
            signers: SignerSet::from_indices(0..signer_count)?,
            beam: [0xab; 96],
            suite: SuiteId::PulsarSha3.name().as_bytes().to_vec(),
            pulse: vec![
                0x5a;
                if pulse {
                    horizon_warp::limits::PULSE_LEN
                } else {
                    0
                }
            ],
            attestation,
        })
    }

    /// The draft changed by `change`.
    #[must_use]
    pub fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut draft = self.clone();
        change(&mut draft);
        draft
    }

    /// The draft without a Beam.
    #[must_use]
    pub fn without_beam(&self) -> Self {
        self.with(|draft| {
            draft.signers = SignerSet::new();
            draft.beam = [0; 96];
        })
    }

    /// What CertSet and Pulse sign.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn transcript(&self) -> Result<Vec<u8>, Failed> {
        let transcript = Transcript::new(&unsigned()?, &lineage(), &self.suite);
        Ok(transcript.as_bytes().to_vec())
    }

    /// Version 1 bytes: the message with its Beam.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn encode_message(&self) -> Result<Vec<u8>, Failed> {
        Ok(self.message()?.encode())
    }

    /// Version 2 bytes.
    ///
    /// # Errors
    /// [`Failed`]: lanes beyond their caps.
    pub fn encode(&self) -> Result<Vec<u8>, Failed> {
        let envelope = Envelope::with_lanes_unchecked(
            self.message()?,
            lineage(),
            &self.suite,
            &self.pulse,
            &self.attestation,
        )?;
        Ok(envelope.encode())
    }

    fn message(&self) -> Result<Message<'_>, Failed> {
        let beam = Beam {
            signers: self.signers.as_signers(),
            signature: &self.beam,
        };
        Ok(Message::new(unsigned()?, beam))
    }
}
