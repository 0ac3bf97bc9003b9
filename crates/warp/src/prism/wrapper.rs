//! The Groth16 lane: verifying keys of the wrapper, and the key points of every record they meet.
//!
//! Without the crate feature `groth16` there is no way to make a [`Wrapper`], and every envelope
//! that carries the lane is refused.

use core::fmt;

/// How the verifying key of a wrapper was made, and so who could forge.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WrapperSetup {
    /// One process: whoever ran it can forge any proof.
    Dev,
    /// One process with a published seed: everybody can forge any proof.
    Test,
    /// A ceremony: sound if one contributor was honest.
    Ceremony,
}

impl WrapperSetup {
    /// Stable name: `dev`, `test` or `mpc`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Test => "test",
            Self::Ceremony => "mpc",
        }
    }

    /// Whether one party alone could forge.
    #[must_use]
    pub const fn is_development(self) -> bool {
        !matches!(self, Self::Ceremony)
    }
}

/// The verifying keys that a verifier has, with the key points of the records they met.
///
/// Which key counts for a source chain is pinned in its policy
/// ([`SourceConfig::wrapper_key`](crate::policy::SourceConfig::wrapper_key)).
#[cfg(feature = "groth16")]
pub struct Wrapper {
    keys: alloc::collections::BTreeMap<[u8; 32], horizon_groth16::vk::VerifyingKey>,
    accept: horizon_groth16::vk::Accept,
    tables: std::sync::Mutex<Tables>,
}

/// Nothing: this build has no verifier of wrappers.
#[cfg(not(feature = "groth16"))]
pub enum Wrapper {}

impl fmt::Debug for Wrapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wrapper").finish_non_exhaustive()
    }
}

#[cfg(feature = "groth16")]
use lane::Tables;
#[cfg(feature = "groth16")]
pub(super) use lane::WrapperJob;

#[cfg(not(feature = "groth16"))]
pub(super) use absent::WrapperJob;

#[cfg(feature = "groth16")]
mod lane {
    use alloc::collections::BTreeMap;
    use alloc::sync::Arc;
    use alloc::vec::Vec;
    use std::sync::PoisonError;

    use horizon_groth16::artifact::Artifact;
    use horizon_groth16::error::{ArtifactError, Error as ProofError, Misuse, Rejected};
    use horizon_groth16::points::KeyTable;
    use horizon_groth16::statement::{Member, Statement};
    use horizon_groth16::verify::verify;
    use horizon_groth16::vk::{Accept, Profile, SetupKind, VerifyingKey};

    use super::{Wrapper, WrapperSetup};
    use crate::attestation::groth16_inputs_hash;
    use crate::error::{Error, Lane, Reason};
    use crate::policy::SourcePolicy;
    use crate::prism::LaneVerdict;
    use crate::registry::Entry;
    use crate::transcript::CERTIFICATE_CONTEXT;

    /// Verifying key and record, by their hashes.
    type TableKey = ([u8; 32], [u8; 32]);

    #[derive(Default)]
    pub(super) struct Tables {
        by_key: BTreeMap<TableKey, Arc<KeyTable>>,
        /// Oldest first.
        order: alloc::collections::VecDeque<TableKey>,
    }

    /// Tables kept: one per verifying key and registry record in use, about a kilobyte each.
    const TABLES_MAX: usize = 64;

    impl Wrapper {
        /// A verifier with these keys. `accept` says whether keys whose maker can forge may count.
        #[must_use]
        pub fn new(keys: impl IntoIterator<Item = VerifyingKey>, accept: Accept) -> Self {
            Self {
                keys: keys.into_iter().map(|key| (*key.id(), key)).collect(),
                accept,
                tables: std::sync::Mutex::default(),
            }
        }

        /// The key with this id.
        #[must_use]
        pub fn key(&self, id: &[u8; 32]) -> Option<&VerifyingKey> {
            self.keys.get(id)
        }

        /// Sums the key points of a record now instead of with the first envelope: about 0.1 s per
        /// validator, once per key and record.
        ///
        /// # Errors
        /// `Groth16Key`, `Groth16Slots`.
        pub fn prepare(&self, key_id: &[u8; 32], entry: &Entry) -> Result<(), Error> {
            let refused = Error::lane_rejected(Reason::Groth16Key, Lane::Groth16);
            let key = self.keys.get(key_id).ok_or(refused)?;
            self.table(key, entry).map(drop)
        }

        fn table(&self, key: &VerifyingKey, entry: &Entry) -> Result<Arc<KeyTable>, Error> {
            let at = (*key.id(), *entry.hash());
            // A panic while the lock is held cannot leave a wrong table behind.
            let lock = || self.tables.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(table) = lock().by_key.get(&at) {
                return Ok(Arc::clone(table));
            }
            let members: Vec<Member<'_>> = entry
                .validators()
                .as_slice()
                .iter()
                .map(|validator| Member {
                    key: validator.mldsa_key.as_deref(),
                    weight: validator.weight,
                })
                .collect();
            let table = KeyTable::new(key, *entry.hash(), &members)
                .map_err(|_| Error::lane_rejected(Reason::Groth16Slots, Lane::Groth16))?;
            let table = Arc::new(table);
            let mut tables = lock();
            if tables.by_key.insert(at, Arc::clone(&table)).is_none() {
                tables.order.push_back(at);
            }
            while tables.order.len() > TABLES_MAX {
                if let Some(oldest) = tables.order.pop_front() {
                    tables.by_key.remove(&oldest);
                }
            }
            Ok(table)
        }
    }

    /// A decoded proof with the key it must verify under.
    pub(in crate::prism) struct WrapperJob<'r> {
        artifact: Artifact,
        wrapper: &'r Wrapper,
        key: &'r VerifyingKey,
        entry: &'r Entry,
        source: SourcePolicy,
    }

    impl<'r> WrapperJob<'r> {
        pub(in crate::prism) fn new(
            bytes: &[u8],
            entry: &'r Entry,
            source: &SourcePolicy,
            wrapper: Option<&'r Wrapper>,
        ) -> Result<Self, Error> {
            let refused = |reason| Error::lane_rejected(reason, Lane::Groth16);
            let wrapper = wrapper.ok_or(refused(Reason::Groth16Unsupported))?;
            let pinned = source.config().wrapper_key;
            let pinned = pinned.ok_or(refused(Reason::Groth16Unsupported))?;
            let key = wrapper.key(&pinned).ok_or(refused(Reason::Groth16Key))?;
            let development = key.head().setup.is_development();
            if development && wrapper.accept != Accept::Development {
                return Err(refused(Reason::Groth16Development));
            }
            // The lane carries no signer bitmap, so only one profile can be meant.
            if key.head().profile != Profile::Roster {
                return Err(refused(Reason::Groth16Key));
            }
            let artifact = Artifact::from_bytes(bytes).map_err(|error| match error {
                ArtifactError::Length { .. } => refused(Reason::Groth16Length),
                _ => refused(Reason::Groth16Point),
            })?;
            if entry.validators().len() > key.head().slots {
                return Err(refused(Reason::Groth16Slots));
            }
            Ok(Self {
                artifact,
                wrapper,
                key,
                entry,
                source: *source,
            })
        }

        pub(in crate::prism) fn run(&self, transcript: &[u8]) -> Result<LaneVerdict, Error> {
            let validators = self.entry.validators();
            let quorum = self.source.certset_quorum();
            let weight_min = quorum.weight_needed(validators.total_weight());
            let statement = Statement {
                message: transcript,
                context: CERTIFICATE_CONTEXT,
                inputs_hash: groth16_inputs_hash(
                    transcript,
                    &validators.root(),
                    quorum,
                    self.key.id(),
                ),
                weight_min,
            };
            let table = self.wrapper.table(self.key, self.entry)?;
            let witness = verify(self.key, &table, &statement, &self.artifact)
                .map_err(|error| Error::lane_rejected(reason(&error), Lane::Groth16))?;
            Ok(LaneVerdict {
                lane: Lane::Groth16,
                signed_weight: Some(weight_min),
                signer_count: 0,
                cached_count: 0,
                duration_ns: None,
                wrapper_setup: Some(match witness.setup() {
                    SetupKind::Dev => WrapperSetup::Dev,
                    SetupKind::Test => WrapperSetup::Test,
                    SetupKind::Mpc(_) => WrapperSetup::Ceremony,
                }),
            })
        }
    }

    fn reason(error: &ProofError) -> Reason {
        match error {
            ProofError::Rejected(Rejected::InputsHash) => Reason::Groth16Inputs,
            ProofError::Misuse(Misuse::TooManyValidators) => Reason::Groth16Slots,
            ProofError::Misuse(_) => Reason::Groth16Key,
            _ => Reason::Groth16Invalid,
        }
    }
}

#[cfg(not(feature = "groth16"))]
mod absent {
    use core::marker::PhantomData;

    use super::Wrapper;
    use crate::error::{Error, Lane, Reason};
    use crate::policy::SourcePolicy;
    use crate::prism::LaneVerdict;
    use crate::registry::Entry;

    /// Never made.
    pub(in crate::prism) struct WrapperJob<'r>(core::convert::Infallible, PhantomData<&'r ()>);

    impl<'r> WrapperJob<'r> {
        pub(in crate::prism) const fn new(
            _bytes: &[u8],
            _entry: &'r Entry,
            _source: &SourcePolicy,
            _wrapper: Option<&'r Wrapper>,
        ) -> Result<Self, Error> {
            Err(Error::lane_rejected(
                Reason::Groth16Unsupported,
                Lane::Groth16,
            ))
        }

        pub(in crate::prism) const fn run(&self, _transcript: &[u8]) -> Result<LaneVerdict, Error> {
            match self.0 {}
        }
    }
}
