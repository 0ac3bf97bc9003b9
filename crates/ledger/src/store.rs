//! Final blocks, their state and history on disk: one redb transaction per block.
//!
//! The state's entries are kept as they are; opening reads them all, computes their sum anew and
//! compares root and NebulaRoot with the stored block, so a damaged state is never executed on.
//! History (messages, deliveries, receipts, Pulses) only grows; each record carries a checksum.
//!
//! | table | key | content |
//! |---|---|---|
//! | `meta` | name | schema, genesis hash, tip |
//! | `notes` | name | small records of the process, such as its boot fence |
//! | `state` | entry key | entry value |
//! | `blocks` | height | block |
//! | `heights` | block digest | height |
//! | `ranges` | height | sequence numbers of the block's messages and deliveries |
//! | `outgoing` | sequence | outgoing message |
//! | `outgoing_ids`, `subjects` | message id, Pulse subject | sequence |
//! | `deliveries` | sequence | delivery |
//! | `delivery_ids` | message id | newest sequence |
//! | `receipts` | message id | newest word of the destination |
//! | `pulses` | subject | Pulse |

use alloc::sync::Arc;
use core::fmt;
use core::ops::Range;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use horizon_pulsar::committee::ledger::Ledger;
use horizon_warp::nebula;
use imbl::OrdMap;
use redb::{Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition};

use crate::app::App;
use crate::block::Block;
use crate::codec::Fault;
use crate::effects::{Acknowledged, Closed, Delivery, Executed, Outgoing, Status};
use crate::error::{Error, StoreError};
use crate::genesis::Genesis;
use crate::state::{Key, State, Value};

mod records;

use records::{Ranges, Tip, checked, with_checksum};

/// The durable part of a node's application. Shared by reference between threads.
pub struct Store {
    database: Database,
    genesis: Genesis,
    /// Block, state and digest of the tip. Held during a commit, so that there is one at a time.
    tip: Mutex<(Block, State, [u8; 32])>,
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// The block is durable.
    Committed,
    /// It was durable before; nothing changed.
    AlreadyApplied,
    /// A block before it is missing; nothing changed.
    Gap {
        /// Height of the stored tip.
        tip: u64,
    },
}

impl Store {
    /// Opens or makes the store of a network at `path`. Reads the whole state, and checks it
    /// against the stored tip.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open(path: &Path, genesis: &Genesis) -> Result<Self, Error> {
        let database = Database::builder()
            .set_cache_size(CACHE_LEN)
            .set_check_integrity_on_open(true)
            .create(path)
            .map_err(failed)?;
        Self::with_database(database, genesis)
    }

    /// The same over any storage, for simulations.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn with_backend(backend: impl StorageBackend, genesis: &Genesis) -> Result<Self, Error> {
        let database = Database::builder()
            .set_cache_size(CACHE_LEN)
            .set_check_integrity_on_open(true)
            .create_with_backend(backend)
            .map_err(failed)?;
        Self::with_database(database, genesis)
    }

    fn with_database(database: Database, genesis: &Genesis) -> Result<Self, Error> {
        let schema = {
            let write = database.begin_write().map_err(failed)?;
            let schema = {
                // Opening a table makes it, so that readers find every table.
                write.open_table(NOTES).map_err(failed)?;
                write.open_table(STATE).map_err(failed)?;
                write.open_table(BLOCKS).map_err(failed)?;
                write.open_table(HEIGHTS).map_err(failed)?;
                write.open_table(RANGES).map_err(failed)?;
                write.open_table(OUTGOING).map_err(failed)?;
                write.open_table(OUTGOING_IDS).map_err(failed)?;
                write.open_table(SUBJECTS).map_err(failed)?;
                write.open_table(DELIVERIES).map_err(failed)?;
                write.open_table(DELIVERY_IDS).map_err(failed)?;
                write.open_table(RECEIPTS).map_err(failed)?;
                write.open_table(PULSES).map_err(failed)?;
                let meta = write.open_table(META).map_err(failed)?;
                let schema = meta.get(SCHEMA_KEY).map_err(failed)?;
                schema.map(|schema| schema.value().to_vec())
            };
            write.commit().map_err(failed)?;
            schema
        };
        match schema {
            None => Self::create(database, genesis),
            Some(bytes) => {
                let found = bytes.try_into().map_or(u64::MAX, u64::from_be_bytes);
                if found != SCHEMA {
                    return Err(StoreError::Schema { found }.into());
                }
                Self::recover(database, genesis)
            }
        }
    }

    /// With the genesis block as its tip.
    fn at_genesis(database: Database, genesis: &Genesis) -> Result<Self, Error> {
        let app = App::new(genesis.clone())?;
        let block = app.genesis_block();
        let digest = block.digest();
        Ok(Self {
            database,
            genesis: genesis.clone(),
            tip: Mutex::new((block, app.genesis_state(), digest)),
        })
    }

    /// A new store at the genesis block.
    fn create(database: Database, genesis: &Genesis) -> Result<Self, Error> {
        let store = Self::at_genesis(database, genesis)?;
        let write = store.database.begin_write().map_err(failed)?;
        {
            let mut meta = write.open_table(META).map_err(failed)?;
            meta.insert(GENESIS_KEY, &genesis.hash()[..])
                .map_err(failed)?;
            meta.insert(SCHEMA_KEY, &SCHEMA.to_be_bytes()[..])
                .map_err(failed)?;
            let tip = store.lock();
            let (block, state, digest) = &*tip;
            meta.insert(TIP_KEY, &tip_record(block, state, digest)[..])
                .map_err(failed)?;
            put_block(&write, block, digest, Ranges([0; 4]))?;
        }
        write.commit().map_err(failed)?;
        Ok(store)
    }

    /// The tip of an existing store, everything checked.
    fn recover(database: Database, genesis: &Genesis) -> Result<Self, Error> {
        let read = database.begin_read().map_err(failed)?;
        let (tip, entries) = {
            let meta = read.open_table(META).map_err(failed)?;
            let stored = meta.get(GENESIS_KEY).map_err(failed)?;
            if stored.is_none_or(|stored| stored.value() != &genesis.hash()[..]) {
                return Err(StoreError::Genesis.into());
            }
            let stored = meta.get(TIP_KEY).map_err(failed)?.ok_or(corrupt("tip"))?;
            let tip = checked("tip", b"", stored.value()).ok_or(corrupt("tip"))?;
            let tip = Tip::decode(tip).map_err(|_| corrupt("tip"))?;
            let mut entries: OrdMap<Key, Value> = OrdMap::new();
            let table = read.open_table(STATE).map_err(failed)?;
            for entry in table.iter().map_err(failed)? {
                let (key, value) = entry.map_err(failed)?;
                entries.insert(key.value().to_vec(), value.value().into());
            }
            (tip, entries)
        };
        // Only history is read until its tip is checked.
        let mut store = Self::at_genesis(database, genesis)?;
        let tip = store.checked_tip(tip, entries)?;
        store.tip = Mutex::new(tip);
        Ok(store)
    }

    /// Block and state of a stored tip, if they belong together.
    fn checked_tip(
        &self,
        tip: Tip,
        entries: OrdMap<Key, Value>,
    ) -> Result<(Block, State, [u8; 32]), Error> {
        let block = self.block(tip.height)?.ok_or(corrupt("last block"))?;
        if block.height != tip.height || block.digest() != tip.digest {
            return Err(corrupt("last block").into());
        }
        let mut fault = None;
        let message = |subject: &[u8; 32]| match self.message_of_subject(subject) {
            Ok(message) => message.map(|message| message.transcript),
            Err(error) => {
                fault = Some(error);
                None
            }
        };
        let ledger = Ledger::restore(
            self.genesis.committee().clone(),
            Arc::clone(self.genesis.committee_key()),
            self.genesis.spec().pulse,
            &tip.snapshot,
            message,
        );
        let ledger = match (ledger, fault) {
            (_, Some(fault)) => return Err(fault),
            (Err(_), None) => return Err(corrupt("signing ledger").into()),
            (Ok(ledger), None) => ledger,
        };
        let state = State::restore(tip.height, entries, tip.pulse_before, ledger);
        let messages = self.outgoing_at(tip.height)?;
        let ids: Vec<[u8; 32]> = messages.iter().map(|message| message.id).collect();
        if *state.root() != tip.root || nebula::root(state.root(), &ids) != block.nebula_root {
            return Err(corrupt("state").into());
        }
        Ok((block, state, tip.digest))
    }

    /// The last final block and its state.
    #[must_use]
    pub fn tip(&self) -> (Block, State) {
        let tip = self.lock();
        (tip.0.clone(), tip.1.clone())
    }

    /// Makes a block durable with everything it did, in one transaction. Returns after the data is
    /// on stable storage.
    ///
    /// # Errors
    /// [`StoreError::Fork`] for a block that does not extend, or is not part of, the stored chain;
    /// [`StoreError::Database`]. Nothing changed then.
    pub fn commit(&self, block: &Block, executed: &Executed) -> Result<Commit, Error> {
        let mut tip = self.lock();
        let digest = block.digest();
        let stored = tip.0.height;
        if block.height <= stored {
            return match self.digest_at(block.height)? {
                Some(known) if known == digest => Ok(Commit::AlreadyApplied),
                _ => Err(StoreError::Fork.into()),
            };
        }
        if block.height != stored.saturating_add(1) {
            return Ok(Commit::Gap { tip: stored });
        }
        if block.parent != tip.2 || executed.state.height() != block.height {
            return Err(StoreError::Fork.into());
        }
        let write = self.database.begin_write().map_err(failed)?;
        put_state(&write, &executed.state)?;
        put_history(&write, executed)?;
        let ranges = Ranges([
            tip.1.outgoing_count(),
            executed.state.outgoing_count(),
            tip.1.delivery_count(),
            executed.state.delivery_count(),
        ]);
        put_block(&write, block, &digest, ranges)?;
        {
            let mut meta = write.open_table(META).map_err(failed)?;
            let record = tip_record(block, &executed.state, &digest);
            meta.insert(TIP_KEY, &record[..]).map_err(failed)?;
        }
        write.commit().map_err(failed)?;
        *tip = (block.clone(), executed.state.clone(), digest);
        Ok(Commit::Committed)
    }

    /// A final block.
    ///
    /// # Errors
    /// [`StoreError::Database`], [`StoreError::Corrupt`], as for all readers.
    pub fn block(&self, height: u64) -> Result<Option<Block>, Error> {
        self.by_number(BLOCKS, "blocks", height, |bytes| {
            Block::decode(bytes).map_err(|_| Fault("block"))
        })
    }

    /// Digest of the final block at a height.
    ///
    /// # Errors
    /// As [`Store::block`].
    pub fn digest_at(&self, height: u64) -> Result<Option<[u8; 32]>, Error> {
        Ok(self.block(height)?.map(|block| block.digest()))
    }

    /// Height of the final block with this digest.
    ///
    /// # Errors
    /// As [`Store::block`].
    pub fn height_of(&self, digest: &[u8; 32]) -> Result<Option<u64>, Error> {
        self.sequence(HEIGHTS, digest)
    }

    /// An outgoing message.
    ///
    /// # Errors
    /// As [`Store::block`].
    pub fn message(&self, id: &[u8; 32]) -> Result<Option<Outgoing>, Error> {
        match self.sequence(OUTGOING_IDS, id)? {
            Some(sequence) => self.outgoing_one(sequence),
            None => Ok(None),
        }
    }

    /// Outgoing messages by sequence number, at most [`PAGE_MAX`].
    ///
    /// # Errors
    /// As [`Store::block`].
    pub fn outgoing(&self, sequences: Range<u64>) -> Result<Vec<Outgoing>, Error> {
        page(sequences, |sequence| self.outgoing_one(sequence))
    }

    /// Outgoing messages of the block at a height.
    ///
    /// # Errors
    /// As [`Store::block`].
    pub fn outgoing_at(&self, height: u64) -> Result<Vec<Outgoing>, Error> {
        match self.ranges(height)? {
            Some(Ranges([first, end, ..])) => {
                let all = first..end.min(first.saturating_add(BLOCK_RECORDS_MAX));
                collect(all, |sequence| self.outgoing_one(sequence))
            }
            None => Ok(Vec::new()),
        }
    }

    /// The outgoing message with this Pulse subject.
    ///
    /// # Errors
    /// As [`Store::block`].
    pub fn message_of_subject(&self, subject: &[u8; 32]) -> Result<Option<Outgoing>, Error> {
        match self.sequence(SUBJECTS, subject)? {
            Some(sequence) => self.outgoing_one(sequence),
            None => Ok(None),
        }
    }

    /// The newest delivery of a message to this chain.
    ///
    /// # Errors
    /// As [`Store::block`].
    pub fn delivery(&self, id: &[u8; 32]) -> Result<Option<Delivery>, Error> {
        match self.sequence(DELIVERY_IDS, id)? {
            Some(sequence) => self.delivery_one(sequence),
            None => Ok(None),
        }
    }

    /// Deliveries by sequence number, at most [`PAGE_MAX`].
    ///
    /// # Errors
    /// As [`Store::block`].
    pub fn deliveries(&self, sequences: Range<u64>) -> Result<Vec<Delivery>, Error> {
        page(sequences, |sequence| self.delivery_one(sequence))
    }

    /// Deliveries of the block at a height.
    ///
    /// # Errors
    /// As [`Store::block`].
    pub fn deliveries_at(&self, height: u64) -> Result<Vec<Delivery>, Error> {
        match self.ranges(height)? {
            Some(Ranges([.., first, end])) => {
                let all = first..end.min(first.saturating_add(BLOCK_RECORDS_MAX));
                collect(all, |sequence| self.delivery_one(sequence))
            }
            None => Ok(Vec::new()),
        }
    }

    /// The newest word of the destination about a message from here.
    ///
    /// # Errors
    /// As [`Store::block`].
    pub fn receipt(&self, id: &[u8; 32]) -> Result<Option<Acknowledged>, Error> {
        self.by_hash(RECEIPTS, "receipts", id, records::read_receipt)
    }

    /// The final Pulse of a subject.
    ///
    /// # Errors
    /// As [`Store::block`].
    pub fn pulse(&self, subject: &[u8; 32]) -> Result<Option<Closed>, Error> {
        self.by_hash(PULSES, "pulses", subject, records::read_closed)
    }

    /// A small record of the process, kept beside the ledger.
    ///
    /// # Errors
    /// As [`Store::block`].
    pub fn note(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let read = self.database.begin_read().map_err(failed)?;
        let table = read.open_table(NOTES).map_err(failed)?;
        let Some(stored) = table.get(name).map_err(failed)? else {
            return Ok(None);
        };
        let record = checked("notes", name.as_bytes(), stored.value()).ok_or(corrupt("notes"))?;
        Ok(Some(record.to_vec()))
    }

    /// Writes such a record. Returns after it is on stable storage.
    ///
    /// # Errors
    /// [`StoreError::Database`].
    pub fn set_note(&self, name: &str, record: &[u8]) -> Result<(), Error> {
        let write = self.database.begin_write().map_err(failed)?;
        {
            let mut table = write.open_table(NOTES).map_err(failed)?;
            let record = with_checksum("notes", name.as_bytes(), record);
            table.insert(name, &record[..]).map_err(failed)?;
        }
        write.commit().map_err(failed)?;
        Ok(())
    }

    fn outgoing_one(&self, sequence: u64) -> Result<Option<Outgoing>, Error> {
        let suite = self.genesis.suite().name().as_bytes();
        self.by_number(OUTGOING, "outgoing", sequence, |bytes| {
            records::read_outgoing(bytes, suite)
        })
    }

    fn delivery_one(&self, sequence: u64) -> Result<Option<Delivery>, Error> {
        self.by_number(DELIVERIES, "deliveries", sequence, records::read_delivery)
    }

    fn ranges(&self, height: u64) -> Result<Option<Ranges>, Error> {
        self.by_number(RANGES, "ranges", height, Ranges::decode)
    }

    fn by_number<T>(
        &self,
        table: TableDefinition<'_, u64, &[u8]>,
        name: &'static str,
        key: u64,
        decode: impl Fn(&[u8]) -> Result<T, Fault>,
    ) -> Result<Option<T>, Error> {
        let read = self.database.begin_read().map_err(failed)?;
        let table = read.open_table(table).map_err(failed)?;
        let Some(stored) = table.get(key).map_err(failed)? else {
            return Ok(None);
        };
        let record = checked(name, &key.to_be_bytes(), stored.value()).ok_or(corrupt(name))?;
        Ok(Some(decode(record).map_err(|_| corrupt(name))?))
    }

    fn by_hash<T>(
        &self,
        table: TableDefinition<'_, &[u8; 32], &[u8]>,
        name: &'static str,
        key: &[u8; 32],
        decode: impl Fn(&[u8]) -> Result<T, Fault>,
    ) -> Result<Option<T>, Error> {
        let read = self.database.begin_read().map_err(failed)?;
        let table = read.open_table(table).map_err(failed)?;
        let Some(stored) = table.get(key).map_err(failed)? else {
            return Ok(None);
        };
        let record = checked(name, key, stored.value()).ok_or(corrupt(name))?;
        Ok(Some(decode(record).map_err(|_| corrupt(name))?))
    }

    fn sequence(
        &self,
        table: TableDefinition<'_, &[u8; 32], u64>,
        key: &[u8; 32],
    ) -> Result<Option<u64>, Error> {
        let read = self.database.begin_read().map_err(failed)?;
        let table = read.open_table(table).map_err(failed)?;
        let found = table.get(key).map_err(failed)?;
        Ok(found.map(|found| found.value()))
    }

    fn lock(&self) -> MutexGuard<'_, (Block, State, [u8; 32])> {
        // The tip is replaced in one step, so it is whole even after a panic elsewhere.
        self.tip.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

fn put_state(write: &redb::WriteTransaction, state: &State) -> Result<(), Error> {
    let mut table = write.open_table(STATE).map_err(failed)?;
    for (key, value) in state.changes() {
        match value {
            Some(value) => table.insert(&key[..], &value[..]).map_err(failed)?,
            None => table.remove(&key[..]).map_err(failed)?,
        };
    }
    Ok(())
}

fn put_history(write: &redb::WriteTransaction, executed: &Executed) -> Result<(), Error> {
    let effects = &executed.effects;
    let mut outgoing = write.open_table(OUTGOING).map_err(failed)?;
    let mut ids = write.open_table(OUTGOING_IDS).map_err(failed)?;
    let mut subjects = write.open_table(SUBJECTS).map_err(failed)?;
    for message in &effects.outgoing {
        let key = message.sequence.to_be_bytes();
        let record = with_checksum("outgoing", &key, &records::put_outgoing(message));
        outgoing
            .insert(message.sequence, &record[..])
            .map_err(failed)?;
        ids.insert(&message.id, message.sequence).map_err(failed)?;
        subjects
            .insert(&message.subject, message.sequence)
            .map_err(failed)?;
    }
    let mut deliveries = write.open_table(DELIVERIES).map_err(failed)?;
    let mut delivery_ids = write.open_table(DELIVERY_IDS).map_err(failed)?;
    for delivery in &effects.deliveries {
        let key = delivery.sequence.to_be_bytes();
        let record = with_checksum("deliveries", &key, &records::put_delivery(delivery));
        deliveries
            .insert(delivery.sequence, &record[..])
            .map_err(failed)?;
        delivery_ids
            .insert(&delivery.id, delivery.sequence)
            .map_err(failed)?;
    }
    let mut receipts = write.open_table(RECEIPTS).map_err(failed)?;
    for word in &effects.acknowledged {
        if is_newer(word, &ids, &outgoing, &receipts)? {
            let record = with_checksum("receipts", &word.id, &records::put_receipt(word));
            receipts.insert(&word.id, &record[..]).map_err(failed)?;
        }
    }
    let mut pulses = write.open_table(PULSES).map_err(failed)?;
    for closed in &effects.closed {
        let record = with_checksum("pulses", &closed.subject, &records::put_closed(closed));
        pulses
            .insert(&closed.subject, &record[..])
            .map_err(failed)?;
    }
    Ok(())
}

/// Whether a word is about a message that went to the chain that says it, and is not weaker than
/// what that chain said before: a message that was executed stays executed.
fn is_newer(
    word: &Acknowledged,
    ids: &impl ReadableTable<&'static [u8; 32], u64>,
    outgoing: &impl ReadableTable<u64, &'static [u8]>,
    receipts: &impl ReadableTable<&'static [u8; 32], &'static [u8]>,
) -> Result<bool, Error> {
    let Some(sequence) = ids.get(&word.id).map_err(failed)? else {
        return Ok(false);
    };
    let sequence = sequence.value();
    let stored = outgoing.get(sequence).map_err(failed)?;
    let stored = stored.ok_or(corrupt("outgoing"))?;
    let record = checked("outgoing", &sequence.to_be_bytes(), stored.value());
    let record = record.ok_or(corrupt("outgoing"))?;
    let message = records::read_outgoing(record, b"").map_err(|_| corrupt("outgoing"))?;
    if message.destination_network != word.network || message.destination_chain != word.chain {
        return Ok(false);
    }
    let Some(stored) = receipts.get(&word.id).map_err(failed)? else {
        return Ok(true);
    };
    let record = checked("receipts", &word.id, stored.value()).ok_or(corrupt("receipts"))?;
    let before = records::read_receipt(record).map_err(|_| corrupt("receipts"))?;
    Ok(before.status != Status::Executed)
}

fn put_block(
    write: &redb::WriteTransaction,
    block: &Block,
    digest: &[u8; 32],
    ranges: Ranges,
) -> Result<(), Error> {
    let key = block.height.to_be_bytes();
    let mut blocks = write.open_table(BLOCKS).map_err(failed)?;
    let record = with_checksum("blocks", &key, &block.encode());
    blocks.insert(block.height, &record[..]).map_err(failed)?;
    let mut heights = write.open_table(HEIGHTS).map_err(failed)?;
    heights.insert(digest, block.height).map_err(failed)?;
    let mut table = write.open_table(RANGES).map_err(failed)?;
    let record = with_checksum("ranges", &key, &ranges.encode());
    table.insert(block.height, &record[..]).map_err(failed)?;
    Ok(())
}

fn tip_record(block: &Block, state: &State, digest: &[u8; 32]) -> Vec<u8> {
    let tip = Tip {
        height: block.height,
        digest: *digest,
        root: *state.root(),
        pulse_before: *state.pulse_before(),
        snapshot: state.snapshot().to_vec(),
    };
    with_checksum("tip", b"", &tip.encode())
}

/// At most [`PAGE_MAX`] records of a range that exist.
fn page<T>(
    range: Range<u64>,
    one: impl Fn(u64) -> Result<Option<T>, Error>,
) -> Result<Vec<T>, Error> {
    collect(
        range.start..range.end.min(range.start.saturating_add(PAGE_MAX)),
        one,
    )
}

/// Sequence numbers have no gaps: the first missing one is the end.
fn collect<T>(
    range: Range<u64>,
    one: impl Fn(u64) -> Result<Option<T>, Error>,
) -> Result<Vec<T>, Error> {
    let mut out = Vec::new();
    for sequence in range {
        match one(sequence)? {
            Some(record) => out.push(record),
            None => break,
        }
    }
    Ok(out)
}

fn failed(error: impl Into<redb::Error>) -> StoreError {
    StoreError::Database(error.into().to_string())
}

const fn corrupt(what: &'static str) -> StoreError {
    StoreError::Corrupt { what }
}

/// Most records of one answer.
pub const PAGE_MAX: u64 = 1_024;
/// More messages or deliveries than any block has.
const BLOCK_RECORDS_MAX: u64 = 8_192;
/// Version of the tables.
const SCHEMA: u64 = 1;
/// Memory for pages, bytes.
const CACHE_LEN: usize = 16 << 20;
const SCHEMA_KEY: &str = "schema";
const GENESIS_KEY: &str = "genesis";
const TIP_KEY: &str = "tip";
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
const NOTES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("notes");
const STATE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("state");
const BLOCKS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("blocks");
const HEIGHTS: TableDefinition<'_, &[u8; 32], u64> = TableDefinition::new("heights");
const RANGES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("ranges");
const OUTGOING: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("outgoing");
const OUTGOING_IDS: TableDefinition<'_, &[u8; 32], u64> = TableDefinition::new("outgoing_ids");
const SUBJECTS: TableDefinition<'_, &[u8; 32], u64> = TableDefinition::new("subjects");
const DELIVERIES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("deliveries");
const DELIVERY_IDS: TableDefinition<'_, &[u8; 32], u64> = TableDefinition::new("delivery_ids");
const RECEIPTS: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("receipts");
const PULSES: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("pulses");
