//! The Groth16 wrapper: its key files, and what a proof of an envelope states.
//!
//! # Security
//! The wrapper is classical: whoever breaks the pairing, or kept the secret of a setup, forges it
//! without any signature.

use std::path::{Path, PathBuf};

use clap::Args;
use horizon_groth16::artifact::Artifact;
use horizon_groth16::error::{ArtifactError, Error as ProofError, KeyError, Rejected};
use horizon_groth16::points::KeyTable;
use horizon_groth16::statement::{Member, Statement};
use horizon_groth16::verify::{WrapperVerified, verify};
use horizon_groth16::vk::{Accept, VerifyingKey};
use horizon_warp::attestation::groth16_inputs_hash;
use horizon_warp::limits::GROTH16_LEN;
use horizon_warp::prism::Wrapper;
use horizon_warp::registry::Record;
use horizon_warp::transcript::CERTIFICATE_CONTEXT;
use horizon_warp::{Envelope, Error, Policy, Quorum, Reason, RecordKey, Registry, ValidatorSet};

use crate::exit::{Code, Failure};
use crate::key_files::{malformed, read_bounded};
use crate::sources;

/// Longest verifying key file: 64 slots are 28 MB.
pub const VERIFYING_KEY_LEN_MAX: u64 = 64 << 20;

/// Verifying keys of the Groth16 lane.
#[derive(Args, Clone, Debug, Default)]
pub struct KeyOptions {
    /// Verifying key of the wrapper; the policy pins which one counts for a source
    #[arg(long, value_name = "FILE")]
    pub wrapper_key: Vec<PathBuf>,
    /// Accept wrapper keys of a development setup, whose maker can forge any proof
    #[arg(long)]
    pub allow_dev_wrapper: bool,
}

impl KeyOptions {
    /// The keys that the caller allows.
    #[must_use]
    pub const fn accept(&self) -> Accept {
        if self.allow_dev_wrapper {
            Accept::Development
        } else {
            Accept::Ceremony
        }
    }

    /// All keys, loaded. `None` without any.
    ///
    /// # Errors
    /// [`Code::Configuration`] for a file that is unreadable or a key that is refused.
    pub fn load(&self) -> Result<Option<Wrapper>, Failure> {
        if self.wrapper_key.is_empty() {
            return Ok(None);
        }
        let keys = self.wrapper_key.iter();
        let keys = keys
            .map(|path| read_key(path, self.accept()))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Some(Wrapper::new(keys, self.accept())))
    }
}

/// Sums the key points of the record that an envelope names, which a verifier keeps: without this the
/// first verdict's time would be theirs. Whatever is wrong is left to the verdict to say.
pub fn prepare(wrapper: Option<&Wrapper>, registry: &Registry, policy: &Policy, bytes: &[u8]) {
    let (Some(wrapper), Ok(envelope)) = (wrapper, Envelope::parse(bytes)) else {
        return;
    };
    let unsigned = envelope.message().unsigned();
    let key = RecordKey {
        network_id: unsigned.network_id(),
        chain_id: *unsigned.source_chain_id(),
        key_era: envelope.lineage().key_era,
        generation: envelope.lineage().generation,
    };
    let carries = envelope
        .attestation()
        .is_some_and(|bytes| bytes.len() == GROTH16_LEN);
    let source = policy.source(key.network_id, &key.chain_id);
    let pinned = source.ok().and_then(|source| source.config().wrapper_key);
    if let (true, Some(pinned), Ok(entry)) = (carries, pinned, registry.get(&key)) {
        let _ = wrapper.prepare(&pinned, entry);
    }
}

/// Reads a verifying key.
///
/// # Errors
/// [`Code::Configuration`] for a file that is unreadable or a key that is refused.
pub fn read_key(path: &Path, accept: Accept) -> Result<VerifyingKey, Failure> {
    let bytes = read_bounded(path, VERIFYING_KEY_LEN_MAX)?;
    VerifyingKey::from_bytes(&bytes, accept).map_err(|error| {
        let hint = if error == KeyError::DevelopmentKey {
            "; --allow-dev-wrapper takes it for tests"
        } else {
            ""
        };
        malformed(path, &format!("{error}{hint}"))
    })
}

/// What a wrapper of a transcript must prove, from the verifier's own record.
#[derive(Clone, Debug)]
pub struct Claim {
    validators: ValidatorSet,
    record_hash: [u8; 32],
    quorum: Quorum,
}

impl Claim {
    /// The claim under this record and quorum.
    ///
    /// # Errors
    /// As [`Record::validators`] and [`Record::hash`].
    pub fn of(record: &Record, quorum: Quorum) -> Result<Self, Error> {
        Ok(Self {
            validators: record.validators()?,
            record_hash: record.hash()?,
            quorum,
        })
    }

    /// The claim under a record of this file.
    ///
    /// # Errors
    /// [`Code::Configuration`] for a record that is no validator set.
    pub fn new(path: &Path, record: &Record, quorum: Quorum) -> Result<Self, Failure> {
        Self::of(record, quorum).map_err(|error| sources::described(path, &error))
    }

    /// The validators in slot order.
    #[must_use]
    pub fn members(&self) -> Vec<Member<'_>> {
        let validators = self.validators.as_slice().iter();
        validators
            .map(|validator| Member {
                key: validator.mldsa_key.as_deref(),
                weight: validator.weight,
            })
            .collect()
    }

    /// The statement about a transcript under a verifying key.
    #[must_use]
    pub fn statement<'m>(&self, transcript: &'m [u8], key_id: &[u8; 32]) -> Statement<'m> {
        let root = self.validators.root();
        Statement {
            message: transcript,
            context: CERTIFICATE_CONTEXT,
            inputs_hash: groth16_inputs_hash(transcript, &root, self.quorum, key_id),
            weight_min: self.weight_min(),
        }
    }

    /// Least total weight that meets the quorum.
    #[must_use]
    pub fn weight_min(&self) -> u64 {
        self.quorum.weight_needed(self.total_weight())
    }

    /// Total weight of the validators.
    #[must_use]
    pub const fn total_weight(&self) -> u64 {
        self.validators.total_weight()
    }

    /// The key points of the record under a verifying key.
    ///
    /// # Errors
    /// `Groth16Slots`.
    pub fn table(&self, key: &VerifyingKey) -> Result<KeyTable, Reason> {
        KeyTable::new(key, self.record_hash, &self.members()).map_err(|_| Reason::Groth16Slots)
    }

    /// Verifies one artifact alone.
    ///
    /// # Errors
    /// The reason of the product's table.
    pub fn verify(
        &self,
        key: &VerifyingKey,
        table: &KeyTable,
        transcript: &[u8],
        artifact: &[u8],
    ) -> Result<WrapperVerified, Reason> {
        let artifact = Artifact::from_bytes(artifact).map_err(|error| match error {
            ArtifactError::Length { .. } => Reason::Groth16Length,
            _ => Reason::Groth16Point,
        })?;
        let statement = self.statement(transcript, key.id());
        verify(key, table, &statement, &artifact).map_err(|error| match error {
            ProofError::Rejected(Rejected::InputsHash) => Reason::Groth16Inputs,
            ProofError::Misuse(_) => Reason::Groth16Key,
            _ => Reason::Groth16Invalid,
        })
    }
}

/// The line that belongs beside every result under a key whose maker can forge.
#[must_use]
pub fn development_warning(key: &VerifyingKey) -> Option<String> {
    let setup = key.head().setup;
    setup.is_development().then(|| {
        format!(
            "WARNING: {} key: whoever made it can forge this proof; it proves nothing to others",
            setup.name()
        )
    })
}

/// A quorum as two numbers with a slash.
///
/// # Errors
/// A text for the command line's own message.
pub fn parse_quorum(text: &str) -> Result<Quorum, String> {
    let parts = text.split_once('/');
    let parsed = parts.and_then(|(n, d)| Quorum::new(n.parse().ok()?, d.parse().ok()?).ok());
    parsed.ok_or_else(|| "a fraction of at most one, for example 67/100".to_owned())
}

/// A refusal with its stable reason.
#[must_use]
pub fn refused(path: &Path, reason: Reason) -> Failure {
    let text = format!(
        "{}: refused: {}: {}. {}",
        path.display(),
        reason.code(),
        reason.text(),
        reason.hint()
    );
    Failure::new(Code::Refused, text)
}
