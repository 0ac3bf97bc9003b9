//! Networks with every key, from a seed. One dealer makes the group key: for tests only.

use core::fmt;
use std::sync::Arc;

use horizon_hash::suite::Suite;
use horizon_ledger::{
    Genesis, GenesisError,
    genesis::{self, BlockLimits, GenesisSpec, MLKEM768_KEY_LEN, Source, Validator},
};
use horizon_pulsar::{
    committee::ledger::LedgerConfig,
    dealer::{self, Ceremony, MemberShare, Variant},
    signers::Quorum,
};
use horizon_sig::{bls, ed25519, mldsa, traits::Verifier as _};
use horizon_warp::{
    SuiteId,
    policy::SourceConfig,
    registry::{Member, Record, RecordKey},
};
use rand_core::CryptoRng;

/// Every secret of one validator.
pub struct Secrets {
    /// Of its links.
    pub link: ed25519::SigningKey,
    /// Of its votes.
    pub consensus: Arc<mldsa::SigningKey>,
    /// Of its Beam signatures.
    pub beam: bls::SigningKey,
    /// Of its certificates and signing transactions.
    pub certset: Arc<mldsa::SigningKey>,
    /// Of the group key.
    pub share: MemberShare,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// The keys of a network whose genesis is not made yet.
#[derive(Debug)]
pub struct Dealt {
    /// In canonical order.
    pub secrets: Vec<Secrets>,
    /// The registry record.
    pub record: Record,
}

impl Dealt {
    /// Validators of weight 1 with one point each; `threshold` of them sign a Pulse.
    ///
    /// # Panics
    /// For numbers that no network can have: this is for tests.
    #[must_use]
    #[expect(clippy::expect_used, reason = "test support")]
    pub fn new(network_id: u32, validators: u16, threshold: u16, rng: &mut impl CryptoRng) -> Self {
        let mut keys: Vec<_> = (0..validators)
            .map(|_| {
                (
                    bls::SigningKey::generate(rng).expect("a Beam key"),
                    ed25519::SigningKey::generate(rng).expect("a link key"),
                    mldsa_key(rng),
                    mldsa_key(rng),
                )
            })
            .collect();
        keys.sort_by_key(|(beam, ..)| beam.verifying_key().to_bytes());
        let members = keys
            .iter()
            .zip(0_u8..)
            .map(|((beam, _, _, certset), index)| Member {
                bls_key: beam.verifying_key().to_bytes(),
                possession: beam.prove_possession().to_bytes(),
                mldsa_key: Some(key_bytes(certset)),
                weight: 1,
                points: 1,
                node_id: [index; 20],
                operator: format!("operator-{index}"),
            })
            .collect();
        let mut record = Record {
            key: RecordKey {
                network_id,
                chain_id: chain_id(network_id),
                key_era: 1,
                generation: 0,
            },
            suite: SuiteId::PulsarSha3,
            group_key: Vec::new(),
            threshold: threshold.into(),
            valid_from: 0,
            valid_until: None,
            issued_at_s: 0,
            previous: [0; 32],
            members,
        };
        let (group_key, shares) = deal(&record, validators, threshold, rng);
        record.group_key = group_key;
        let secrets = keys
            .into_iter()
            .zip(shares)
            .map(|((beam, link, consensus, certset), share)| Secrets {
                link,
                consensus: Arc::new(consensus),
                beam,
                certset: Arc::new(certset),
                share,
            })
            .collect();
        Self { secrets, record }
    }

    /// What a genesis says that takes messages of `sources`.
    ///
    /// # Panics
    /// When a record has no hash: this is for tests.
    #[must_use]
    #[expect(clippy::expect_used, reason = "test support")]
    pub fn spec(&self, sources: &[&Record], interval_ms: u64) -> GenesisSpec {
        let validators = self.secrets.iter().zip(0_u8..).map(|(secrets, index)| {
            let identity = secrets.link.verifying_key().key_bytes();
            Validator {
                name: format!("validator-{index}"),
                identity: identity.try_into().expect("32 bytes"),
                address: ([127, 0, 0, 1], 1_000_u16.saturating_add(index.into())).into(),
                consensus_key: key_bytes(&secrets.consensus),
                sealing_x25519: [index; 32],
                sealing_mlkem768: Box::new([index; MLKEM768_KEY_LEN]),
            }
        });
        let source = |record: &&Record| Source {
            policy: SourceConfig {
                validators_min: 1,
                threshold_min: 1,
                ..SourceConfig::new(
                    record.key.network_id,
                    record.key.chain_id,
                    record.hash().expect("a record that was dealt"),
                )
            },
            anchors: vec![(*record).clone()],
        };
        GenesisSpec {
            name: "simulated".to_owned(),
            network_id: self.record.key.network_id,
            chain_id: self.record.key.chain_id,
            time_ms: 0,
            validators: validators.collect(),
            record: self.record.clone(),
            group_id: 0,
            pulse: LedgerConfig {
                live_batches: 4,
                count: 8,
                window: 4,
                sign_window: 4,
                decay_blocks: 50,
            },
            block: BlockLimits {
                interval_ms,
                bytes_max: 1 << 20,
                transactions_max: 1_000,
            },
            sources: sources.iter().map(source).collect(),
        }
    }

    /// The genesis of a network that takes messages of `sources`.
    ///
    /// # Errors
    /// [`GenesisError`].
    pub fn genesis(&self, sources: &[&Record], interval_ms: u64) -> Result<Genesis, GenesisError> {
        Genesis::new(self.spec(sources, interval_ms))
    }
}

/// The chain of a simulated network.
#[must_use]
pub fn chain_id(network_id: u32) -> [u8; 32] {
    let [.., low] = network_id.to_be_bytes();
    [low; 32]
}

#[expect(clippy::expect_used, reason = "test support")]
fn mldsa_key(rng: &mut impl CryptoRng) -> mldsa::SigningKey {
    mldsa::SigningKey::generate(mldsa::ParameterSet::MlDsa65, rng).expect("an ML-DSA key")
}

#[expect(clippy::expect_used, reason = "test support")]
fn key_bytes(key: &mldsa::SigningKey) -> Box<[u8; 1_952]> {
    let bytes = key.verifying_key().key_bytes();
    Box::new(bytes.try_into().expect("the length of ML-DSA-65"))
}

#[expect(clippy::expect_used, reason = "test support")]
fn deal(record: &Record, n: u16, t: u16, rng: &mut impl CryptoRng) -> (Vec<u8>, Vec<MemberShare>) {
    let mut opening = [0; 32];
    rng.fill_bytes(&mut opening);
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
        opening_block_hash: opening,
        attempt: 0,
    };
    let quorum = Quorum::new(t, n).expect("a threshold of the validators");
    let deal = dealer::deal(&ceremony, quorum, rng).expect("a deal");
    let public = deal.record;
    let shares = deal
        .packages
        .into_iter()
        .map(|package| package.accept(&public).expect("an honest dealer"))
        .collect();
    (deal.group_key.to_framed(), shares)
}
