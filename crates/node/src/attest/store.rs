//! The signatures that were collected, on disk.
//!
//! Everything here was verified and can be collected again, so writes are not flushed one by one.

use std::path::Path;
use std::sync::Arc;

use horizon_ledger::Outgoing;
use redb::{
    Builder, Database, Durability, ReadableDatabase, ReadableTable, StorageBackend,
    TableDefinition, WriteTransaction,
};

use super::evidence::AggregateError;

/// Single signatures by message and by the signer's BLS key. Clones share one file.
#[derive(Clone)]
pub struct AttestStore {
    database: Arc<Database>,
    messages_max: u64,
}

/// What is held of one signer for one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) bls_key: [u8; 48],
    pub(super) beam: Option<[u8; 96]>,
    /// The signature, and a digest of the ML-DSA key under which it verified.
    pub(super) certificate: Option<(Box<[u8; 3309]>, [u8; 16])>,
}

impl AttestStore {
    /// Opens or makes a store that keeps the signatures of the newest `messages_max` messages.
    ///
    /// # Errors
    /// [`AggregateError::Store`].
    pub fn open(path: &Path, messages_max: u64) -> Result<Self, AggregateError> {
        let database = builder().create(path).map_err(failed)?;
        Self::with(database, messages_max)
    }

    /// The same over any storage.
    ///
    /// # Errors
    /// [`AggregateError::Store`].
    pub fn with_backend(
        backend: impl StorageBackend,
        messages_max: u64,
    ) -> Result<Self, AggregateError> {
        let database = builder().create_with_backend(backend).map_err(failed)?;
        Self::with(database, messages_max)
    }

    fn with(database: Database, messages_max: u64) -> Result<Self, AggregateError> {
        let store = Self {
            database: Arc::new(database),
            messages_max: messages_max.max(1),
        };
        store.write(|transaction| {
            transaction.open_table(SEQUENCES).map_err(failed)?;
            transaction.open_table(IDS).map_err(failed)?;
            transaction.open_table(SIGNATURES).map_err(failed)?;
            Ok(())
        })?;
        Ok(store)
    }

    /// Notes that these messages exist, and drops the signatures of the oldest.
    pub(super) fn note(&self, messages: &[Outgoing]) -> Result<(), AggregateError> {
        if messages.is_empty() {
            return Ok(());
        }
        self.write(|transaction| {
            let mut sequences = transaction.open_table(SEQUENCES).map_err(failed)?;
            let mut ids = transaction.open_table(IDS).map_err(failed)?;
            let mut signatures = transaction.open_table(SIGNATURES).map_err(failed)?;
            for message in messages {
                sequences
                    .insert(message.id, message.sequence)
                    .map_err(failed)?;
                let oldest = message.sequence.saturating_sub(self.messages_max);
                ids.insert(message.sequence, message.id).map_err(failed)?;
                let dropped = ids.range(..oldest).map_err(failed)?;
                let dropped: Vec<(u64, [u8; 32])> = dropped
                    .map(|entry| entry.map(|(key, id)| (key.value(), id.value())))
                    .collect::<Result<_, _>>()
                    .map_err(failed)?;
                for (sequence, id) in dropped {
                    ids.remove(sequence).map_err(failed)?;
                    let (first, last) = (key(&id, &[0; 48]), key(&id, &[0xff; 48]));
                    signatures
                        .retain_in(first..=last, |_, _| false)
                        .map_err(failed)?;
                }
            }
            Ok(())
        })
    }

    /// Number of a message; it stays known after its signatures were dropped.
    pub(super) fn sequence(&self, id: &[u8; 32]) -> Result<Option<u64>, AggregateError> {
        let read = self.database.begin_read().map_err(failed)?;
        let sequences = read.open_table(SEQUENCES).map_err(failed)?;
        let found = sequences.get(*id).map_err(failed)?;
        Ok(found.map(|value| value.value()))
    }

    /// Number of the oldest message whose signatures are kept.
    pub(super) fn oldest(&self) -> Result<u64, AggregateError> {
        let read = self.database.begin_read().map_err(failed)?;
        let ids = read.open_table(IDS).map_err(failed)?;
        let first = ids.first().map_err(failed)?;
        Ok(first.map_or(0, |(sequence, _)| sequence.value()))
    }

    /// What is held for a message.
    pub(super) fn held(&self, id: &[u8; 32]) -> Result<Vec<Held>, AggregateError> {
        let read = self.database.begin_read().map_err(failed)?;
        let signatures = read.open_table(SIGNATURES).map_err(failed)?;
        let range = key(id, &[0; 48])..=key(id, &[0xff; 48]);
        signatures
            .range(range)
            .map_err(failed)?
            .map(|entry| {
                let (key, value) = entry.map_err(failed)?;
                Held::decode(&key.value(), value.value()).ok_or_else(|| failed("signature"))
            })
            .collect()
    }

    /// Adds verified signatures to what is held.
    pub(super) fn put(&self, items: &[([u8; 32], Held)]) -> Result<(), AggregateError> {
        if items.is_empty() {
            return Ok(());
        }
        self.write(|transaction| {
            let mut signatures = transaction.open_table(SIGNATURES).map_err(failed)?;
            for (id, new) in items {
                let key = key(id, &new.bls_key);
                let held = signatures.get(key).map_err(failed)?;
                let held = held.and_then(|value| Held::decode(&key, value.value()));
                let merged = new.clone().merge(held);
                signatures
                    .insert(key, &merged.encode()[..])
                    .map_err(failed)?;
            }
            Ok(())
        })
    }

    fn write(
        &self,
        change: impl FnOnce(&WriteTransaction) -> Result<(), AggregateError>,
    ) -> Result<(), AggregateError> {
        let mut transaction = self.database.begin_write().map_err(failed)?;
        transaction
            .set_durability(Durability::None)
            .map_err(failed)?;
        change(&transaction)?;
        transaction.commit().map_err(failed)
    }
}

impl Held {
    fn merge(self, older: Option<Self>) -> Self {
        let Some(older) = older else {
            return self;
        };
        Self {
            bls_key: self.bls_key,
            beam: self.beam.or(older.beam),
            certificate: self.certificate.or(older.certificate),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = vec![
            u8::from(self.beam.is_some()),
            u8::from(self.certificate.is_some()),
        ];
        out.extend(self.beam.iter().flatten());
        if let Some((certificate, key)) = &self.certificate {
            out.extend_from_slice(&certificate[..]);
            out.extend_from_slice(key);
        }
        out
    }

    fn decode(key: &[u8; 80], bytes: &[u8]) -> Option<Self> {
        let bls_key = *key.last_chunk()?;
        let ([has_beam, has_certificate], mut rest) = bytes.split_first_chunk()?;
        let beam = match has_beam {
            0 => None,
            _ => {
                let (beam, tail) = rest.split_first_chunk()?;
                rest = tail;
                Some(*beam)
            }
        };
        let certificate = match has_certificate {
            0 => None,
            _ => {
                let (certificate, tail) = rest.split_first_chunk()?;
                Some((Box::new(*certificate), tail.try_into().ok()?))
            }
        };
        Some(Self {
            bls_key,
            beam,
            certificate,
        })
    }
}

impl core::fmt::Debug for AttestStore {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AttestStore").finish_non_exhaustive()
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_LEN_MAX);
    builder
}

fn key(id: &[u8; 32], bls_key: &[u8; 48]) -> [u8; 80] {
    let mut key = [0; 80];
    key[..32].copy_from_slice(id);
    key[32..].copy_from_slice(bls_key);
    key
}

fn failed(error: impl core::fmt::Display) -> AggregateError {
    AggregateError::Store(error.to_string())
}

/// Message id to its number.
const SEQUENCES: TableDefinition<'_, [u8; 32], u64> = TableDefinition::new("sequences");
/// Number to message id, of the messages whose signatures are kept.
const IDS: TableDefinition<'_, u64, [u8; 32]> = TableDefinition::new("ids");
/// Message id and BLS key to signatures.
const SIGNATURES: TableDefinition<'_, [u8; 80], &[u8]> = TableDefinition::new("signatures");
/// Bytes that redb may cache.
const CACHE_LEN_MAX: usize = 16 << 20;
