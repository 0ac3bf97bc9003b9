//! The signing guard: what this validator has signed, on disk before any signature leaves.
//!
//! One redb file holds three records. *Messages*: (lane, message id) to the digest of what was signed, and
//! (channel, nonce) to the message id; a second, different statement is refused in every lane. *Sessions*: boot
//! counters, reservations and answers of the Pulse committee ([`Records`]). *Fence*: the boot counter and random
//! name of the last start, to notice that the directory was copied or restored.
//!
//! # Security
//! Never restore this file from a backup. A file that is missing, truncated, unreadable, or that belongs to
//! somebody else is an error, never an empty record: only [`Guard::create`], an explicit act of the operator,
//! makes an empty one. After a failed write the guard refuses everything until the process is restarted, since
//! it is unknown what reached the disk.

use core::fmt;
use core::sync::atomic::{AtomicU8, Ordering};
use std::path::Path;
use std::sync::Arc;

use horizon_hash::tuplehash::tuple_hash256;
use redb::{
    Builder, Database, Durability, ReadableDatabase, ReadableTable, StorageBackend,
    TableDefinition, WriteTransaction,
};

mod records;

pub use records::Records;

/// The guard of one validator. Clones share the same file.
#[derive(Clone)]
pub struct Guard {
    shared: Arc<Shared>,
}

/// A lane in which a validator signs statements about messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Lane {
    /// BLS over the unsigned message.
    Beam = 1,
    /// ML-DSA-65 over the transcript.
    CertSet = 2,
    /// A partial of the group's signature over the transcript.
    Pulse = 3,
}

/// What is about to be signed: one message of a final block.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    /// Message id.
    pub id: [u8; 32],
    /// The channel of the message.
    pub channel: [u8; 32],
    /// The nonce within the channel.
    pub nonce: u64,
    /// The transcript: it determines what every lane signs.
    pub transcript: &'a [u8],
}

/// Boot counter and random name of the last start of the process that owns this directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Grows by one with every start.
    pub boot: u64,
    /// Random name of the start.
    pub incarnation: [u8; 32],
}

/// Why the guard refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// There is no guard here. Nothing may be signed until the operator decides what that means.
    Missing,
    /// There is one already: it is never replaced.
    Exists,
    /// The file cannot be read as a guard.
    Unreadable(String),
    /// The guard belongs to another validator or network.
    WrongIdentity,
    /// The layout is another version's.
    Schema {
        /// The version found.
        found: u64,
    },
    /// Another process has the file open.
    Locked,
    /// A different statement was signed before.
    Conflict(Conflict),
    /// A write failed, or a conflict was found, earlier in this process: restart it.
    Stopped,
    /// The write did not become durable.
    Write(String),
}

/// Two statements that exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conflict {
    /// This message was signed with another transcript.
    Transcript {
        /// The lane in which the other one was signed.
        lane: Lane,
        /// Message id.
        id: [u8; 32],
    },
    /// This nonce was used by another message.
    Nonce {
        /// The channel.
        channel: [u8; 32],
        /// The nonce.
        nonce: u64,
        /// The message signed before.
        before: [u8; 32],
        /// The message refused now.
        now: [u8; 32],
    },
}

struct Shared {
    database: Database,
    stopped: AtomicU8,
}

impl Guard {
    /// Makes an empty guard. `identity` names the validator and the network, see [`identity`].
    ///
    /// # Errors
    /// [`Error::Exists`] when the storage is not empty; [`Error::Write`].
    pub fn create(backend: impl StorageBackend, identity: &[u8; 32]) -> Result<Self, Error> {
        if backend.len().map_err(unreadable)? != 0 {
            return Err(Error::Exists);
        }
        let guard = Self::with(backend)?;
        guard.write(Durability::Immediate, |transaction| {
            let mut meta = transaction.open_table(META).map_err(write_failed)?;
            let schema = SCHEMA.to_be_bytes();
            meta.insert(KEY_SCHEMA, &schema[..]).map_err(write_failed)?;
            meta.insert(KEY_IDENTITY, &identity[..])
                .map_err(write_failed)?;
            drop(meta);
            transaction.open_table(SIGNED).map_err(write_failed)?;
            transaction.open_table(NONCES).map_err(write_failed)?;
            records::create_tables(transaction)
        })?;
        Ok(guard)
    }

    /// As [`create`](Self::create), in a new file that only the owner can read.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_file(path: &Path, identity: &[u8; 32]) -> Result<Self, Error> {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::Exists,
            _ => write_failed(error),
        })?;
        let backend = redb::backends::FileBackend::new(file).map_err(unreadable)?;
        let guard = Self::create(backend, identity)?;
        if let Some(parent) = path.parent() {
            let sync = std::fs::File::open(parent).and_then(|directory| directory.sync_all());
            sync.map_err(write_failed)?;
        }
        Ok(guard)
    }

    /// Opens an existing guard and checks all of it.
    ///
    /// # Errors
    /// [`Error::Missing`] when the storage is empty, [`Error::Unreadable`], [`Error::Schema`],
    /// [`Error::WrongIdentity`].
    pub fn open(backend: impl StorageBackend, identity: &[u8; 32]) -> Result<Self, Error> {
        if backend.len().map_err(unreadable)? == 0 {
            return Err(Error::Missing);
        }
        let guard = Self::with(backend)?;
        let read = guard.shared.database.begin_read().map_err(unreadable)?;
        let meta = read.open_table(META).map_err(unreadable)?;
        let field = |key| {
            let found = meta.get(key).map_err(unreadable)?;
            let found = found.map(|value| value.value().to_vec());
            found.ok_or_else(|| Error::Unreadable(format!("no {key}")))
        };
        let schema = field(KEY_SCHEMA)?;
        let schema = <[u8; 8]>::try_from(&schema[..]).map_or(0, u64::from_be_bytes);
        if schema != SCHEMA {
            return Err(Error::Schema { found: schema });
        }
        if field(KEY_IDENTITY)? != identity {
            return Err(Error::WrongIdentity);
        }
        // A guard without one of its tables is not an empty guard.
        read.open_table(SIGNED).map_err(unreadable)?;
        read.open_table(NONCES).map_err(unreadable)?;
        records::check_tables(&read)?;
        drop((meta, read));
        Ok(guard)
    }

    /// As [`open`](Self::open), from a file.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Error::Locked`].
    pub fn open_file(path: &Path, identity: &[u8; 32]) -> Result<Self, Error> {
        let mut options = std::fs::OpenOptions::new();
        let file = options.read(true).write(true).open(path);
        let file = file.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::Missing,
            _ => unreadable(error),
        })?;
        let backend =
            redb::backends::FileBackend::new(file).map_err(|error| database_failed(&error))?;
        Self::open(backend, identity)
    }

    /// Records that these statements are about to be signed in `lanes`, all or none of them. When it returns, the
    /// record is durable and the signatures may leave. Repeating it is free of effect.
    ///
    /// # Errors
    /// [`Error::Conflict`] when any of them excludes an earlier one, in whatever lane: nothing is written, and
    /// the guard is stopped. [`Error::Stopped`], [`Error::Unreadable`], [`Error::Write`].
    pub fn permit(&self, lanes: &[Lane], statements: &[Statement<'_>]) -> Result<(), Error> {
        self.permit_with(Durability::Immediate, lanes, statements)
    }

    /// As [`permit`](Self::permit), but durable only after [`flush`](Self::flush): for a caller that lets nothing
    /// out before it.
    pub(crate) fn permit_deferred(
        &self,
        lanes: &[Lane],
        statements: &[Statement<'_>],
    ) -> Result<(), Error> {
        self.permit_with(Durability::None, lanes, statements)
    }

    /// Makes everything written so far durable.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        self.write(Durability::Immediate, |_| Ok(()))
    }

    fn permit_with(
        &self,
        durability: Durability,
        lanes: &[Lane],
        statements: &[Statement<'_>],
    ) -> Result<(), Error> {
        self.check_running()?;
        let digests: Vec<[u8; 32]> = statements
            .iter()
            .map(|statement| digest(statement.transcript))
            .collect();
        if self.are_recorded(lanes, statements, &digests)? {
            return Ok(());
        }
        self.write(durability, |transaction| {
            let mut signed = transaction.open_table(SIGNED).map_err(unreadable)?;
            let mut nonces = transaction.open_table(NONCES).map_err(unreadable)?;
            for (statement, digest) in statements.iter().zip(&digests) {
                // Also against the statements of the same call.
                check(&signed, &nonces, statement, digest)?;
                for lane in lanes {
                    signed
                        .insert(signed_key(*lane, &statement.id), digest)
                        .map_err(write_failed)?;
                }
                nonces
                    .insert(
                        nonce_key(&statement.channel, statement.nonce),
                        &statement.id,
                    )
                    .map_err(write_failed)?;
            }
            Ok(())
        })
    }

    /// Whether this message was signed in `lane`.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::Unreadable`].
    pub fn has_signed(&self, lane: Lane, id: &[u8; 32]) -> Result<bool, Error> {
        self.check_running()?;
        let read = self.shared.database.begin_read().map_err(unreadable)?;
        let signed = read.open_table(SIGNED).map_err(unreadable)?;
        let found = signed.get(signed_key(lane, id)).map_err(unreadable)?;
        Ok(found.is_some())
    }

    /// The fence of the last start; `None` before the first one.
    ///
    /// # Errors
    /// [`Error::Unreadable`].
    pub fn fence(&self) -> Result<Option<Fence>, Error> {
        let read = self.shared.database.begin_read().map_err(unreadable)?;
        let meta = read.open_table(META).map_err(unreadable)?;
        let found = meta.get(KEY_FENCE).map_err(unreadable)?;
        let Some(found) = found.map(|value| value.value().to_vec()) else {
            return Ok(None);
        };
        let parts = found.split_first_chunk::<8>();
        let fence = parts.and_then(|(boot, incarnation)| {
            Some(Fence {
                boot: u64::from_be_bytes(*boot),
                incarnation: incarnation.try_into().ok()?,
            })
        });
        fence
            .map(Some)
            .ok_or_else(|| Error::Unreadable("fence".into()))
    }

    /// Writes the fence of this start, durably.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::Write`].
    pub fn set_fence(&self, fence: &Fence) -> Result<(), Error> {
        self.check_running()?;
        let mut bytes = fence.boot.to_be_bytes().to_vec();
        bytes.extend_from_slice(&fence.incarnation);
        self.write(Durability::Immediate, |transaction| {
            let mut meta = transaction.open_table(META).map_err(unreadable)?;
            meta.insert(KEY_FENCE, &bytes[..]).map_err(write_failed)?;
            Ok(())
        })
    }

    /// Number of boot announcements that this directory has made.
    ///
    /// # Errors
    /// [`Error::Unreadable`].
    pub fn announcements(&self) -> Result<u64, Error> {
        let read = self.shared.database.begin_read().map_err(unreadable)?;
        let meta = read.open_table(META).map_err(unreadable)?;
        let found = meta.get(KEY_ANNOUNCEMENTS).map_err(unreadable)?;
        let Some(found) = found else {
            return Ok(0);
        };
        let count = found.value().try_into().map(u64::from_be_bytes);
        count.map_err(|_| Error::Unreadable("announcements".into()))
    }

    /// Counts one more announcement, durably, and gives its number, which is greater than `lost`.
    ///
    /// # Errors
    /// [`Error::Stopped`], [`Error::Unreadable`], [`Error::Write`].
    pub fn count_announcement(&self, lost: u64) -> Result<u64, Error> {
        let number = self.announcements()?.max(lost).saturating_add(1);
        self.write(Durability::Immediate, |transaction| {
            let mut meta = transaction.open_table(META).map_err(unreadable)?;
            meta.insert(KEY_ANNOUNCEMENTS, &number.to_be_bytes()[..])
                .map_err(write_failed)?;
            Ok(())
        })?;
        Ok(number)
    }

    /// The session records of the Pulse committee, in the same file.
    #[must_use]
    pub fn records(&self) -> Records {
        Records::new(self.clone())
    }

    fn with(backend: impl StorageBackend) -> Result<Self, Error> {
        let database = Builder::new()
            .set_cache_size(CACHE_LEN_MAX)
            .set_check_integrity_on_open(true)
            .create_with_backend(backend)
            .map_err(|error| database_failed(&error))?;
        let shared = Shared {
            database,
            stopped: AtomicU8::new(0),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Whether all of it was permitted before; the common case after a restart, without a write.
    fn are_recorded(
        &self,
        lanes: &[Lane],
        statements: &[Statement<'_>],
        digests: &[[u8; 32]],
    ) -> Result<bool, Error> {
        let read = self.shared.database.begin_read().map_err(unreadable)?;
        let signed = read.open_table(SIGNED).map_err(unreadable)?;
        let nonces = read.open_table(NONCES).map_err(unreadable)?;
        let mut all = true;
        for (statement, digest) in statements.iter().zip(digests) {
            check(&signed, &nonces, statement, digest).inspect_err(|_| self.stop())?;
            for lane in lanes {
                let key = signed_key(*lane, &statement.id);
                all &= signed.get(key).map_err(unreadable)?.is_some();
            }
        }
        Ok(all)
    }

    /// Runs `change` in one transaction. After any error nothing is written any more.
    fn write(
        &self,
        durability: Durability,
        change: impl FnOnce(&WriteTransaction) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.check_running()?;
        let run = || {
            let mut transaction = self.shared.database.begin_write().map_err(write_failed)?;
            transaction
                .set_durability(durability)
                .map_err(write_failed)?;
            change(&transaction)?;
            transaction.commit().map_err(write_failed)
        };
        run().inspect_err(|_| self.stop())
    }

    fn database(&self) -> &Database {
        &self.shared.database
    }

    fn stop(&self) {
        self.shared.stopped.store(1, Ordering::SeqCst);
    }

    fn check_running(&self) -> Result<(), Error> {
        match self.shared.stopped.load(Ordering::SeqCst) {
            0 => Ok(()),
            _ => Err(Error::Stopped),
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no signing guard"),
            Self::Exists => f.write_str("a signing guard is already there"),
            Self::Unreadable(why) => write!(f, "the signing guard cannot be read: {why}"),
            Self::WrongIdentity => f.write_str("the signing guard is another validator's"),
            Self::Schema { found } => write!(f, "the signing guard has layout {found}"),
            Self::Locked => f.write_str("another process has the signing guard open"),
            Self::Conflict(Conflict::Transcript { lane, .. }) => {
                write!(f, "this message was signed otherwise in lane {lane:?}")
            }
            Self::Conflict(Conflict::Nonce { nonce, .. }) => {
                write!(f, "another message was signed for nonce {nonce}")
            }
            Self::Stopped => f.write_str("the signing guard stopped after a fault"),
            Self::Write(why) => write!(f, "the signing guard cannot be written: {why}"),
        }
    }
}

impl core::error::Error for Error {}

/// Names the owner of a guard: the genesis of the network and the validator's BLS key.
#[must_use]
pub fn identity(genesis_hash: &[u8; 32], bls_key: &[u8; 48]) -> [u8; 32] {
    let mut out = [0; 32];
    let custom = horizon_hash::domain::services::SIGNED;
    tuple_hash256(custom, &[b"owner", genesis_hash, bls_key], &mut out);
    out
}

/// Refuses a statement that excludes a recorded one.
fn check(
    signed: &impl ReadableTable<[u8; 33], [u8; 32]>,
    nonces: &impl ReadableTable<[u8; 40], [u8; 32]>,
    statement: &Statement<'_>,
    digest: &[u8; 32],
) -> Result<(), Error> {
    let id = statement.id;
    for lane in [Lane::Beam, Lane::CertSet, Lane::Pulse] {
        let before = signed.get(signed_key(lane, &id)).map_err(unreadable)?;
        if before.is_some_and(|before| before.value() != *digest) {
            return Err(Error::Conflict(Conflict::Transcript { lane, id }));
        }
    }
    let (channel, nonce) = (statement.channel, statement.nonce);
    let before = nonces.get(nonce_key(&channel, nonce)).map_err(unreadable)?;
    match before.map(|before| before.value()) {
        Some(before) if before != id => Err(Error::Conflict(Conflict::Nonce {
            channel,
            nonce,
            before,
            now: id,
        })),
        _ => Ok(()),
    }
}

fn digest(transcript: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    let custom = horizon_hash::domain::services::SIGNED;
    tuple_hash256(custom, &[b"transcript", transcript], &mut out);
    out
}

fn signed_key(lane: Lane, id: &[u8; 32]) -> [u8; 33] {
    let mut key = [lane as u8; 33];
    key[1..].copy_from_slice(id);
    key
}

fn nonce_key(channel: &[u8; 32], nonce: u64) -> [u8; 40] {
    let mut key = [0; 40];
    key[..32].copy_from_slice(channel);
    key[32..].copy_from_slice(&nonce.to_be_bytes());
    key
}

fn database_failed(error: &redb::DatabaseError) -> Error {
    match error {
        redb::DatabaseError::DatabaseAlreadyOpen => Error::Locked,
        other => unreadable(other),
    }
}

fn unreadable(error: impl fmt::Display) -> Error {
    Error::Unreadable(error.to_string())
}

fn write_failed(error: impl fmt::Display) -> Error {
    Error::Write(error.to_string())
}

const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// Lane and message id to digest.
const SIGNED: TableDefinition<'_, [u8; 33], [u8; 32]> = TableDefinition::new("signed");
/// Channel and nonce (big-endian) to message id.
const NONCES: TableDefinition<'_, [u8; 40], [u8; 32]> = TableDefinition::new("nonces");
const KEY_SCHEMA: &str = "schema";
const KEY_IDENTITY: &str = "identity";
const KEY_FENCE: &str = "fence";
const KEY_ANNOUNCEMENTS: &str = "announcements";
/// Version of the layout.
const SCHEMA: u64 = 1;
/// Bytes that redb may cache.
const CACHE_LEN_MAX: usize = 8 << 20;

#[cfg(test)]
mod tests;
