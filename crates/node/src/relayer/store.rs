//! The file of one route: cursor, queue, collected evidence, totals.
//!
//! A redb file per route, so that a damaged file or a full disk concerns one route. Every commit is
//! one transaction that is on disk when it returns; what it holds is never half there.

mod tables;

use std::collections::BTreeMap;
use std::path::Path;

use redb::{Database, ReadableDatabase, ReadableTable, StorageBackend, Table, TableDefinition};
use serde::{Deserialize, Serialize};

use tables::Tables;

use super::entry::{Entry, Loaded, Totals, Urgency, Write};
use super::evidence::{Signer, Singles};
use crate::api::types::{Id, Message, QueueFilter, QueueState, RetryRequest};

/// Acknowledged messages that stay visible; beyond that the oldest are forgotten.
pub const SETTLED_MAX: u64 = 10_000;
/// Greatest number of queue entries in one answer.
pub const QUEUE_LEN_MAX: usize = 1_000;
const SCHEMA: u32 = 1;

const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
const ENTRIES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("entries");
const MESSAGES: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("messages");
const IDS: TableDefinition<'_, [u8; 32], u64> = TableDefinition::new("ids");
/// Urgency, time of the next look, sequence.
const DUE: TableDefinition<'_, (u8, u64, u64), ()> = TableDefinition::new("due");
/// Messages of the backlog, and when they were read.
const BACKLOG: TableDefinition<'_, u64, u64> = TableDefinition::new("backlog");
/// Acknowledged messages, to forget the oldest.
const SETTLED: TableDefinition<'_, u64, ()> = TableDefinition::new("settled");
/// Sequence, kind, signer: single signatures and, with an empty signer, the Pulse.
const PARTS: TableDefinition<'_, (u64, u8, &[u8]), &[u8]> = TableDefinition::new("parts");

const PART_BEAM: u8 = 0;
const PART_CERTSET: u8 = 1;
const PART_PULSE: u8 = 2;

/// Why the store failed.
#[non_exhaustive]
#[derive(Debug)]
pub enum Error {
    /// The file could not be read or written.
    Storage(Box<redb::Error>),
    /// The file was made for another route, another version, or is damaged.
    Foreign(&'static str),
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Storage(error) => write!(f, "the route's file failed: {error}"),
            Self::Foreign(what) => write!(f, "the route's file cannot be used: {what}"),
        }
    }
}

impl std::error::Error for Error {}

impl<E: Into<redb::Error>> From<E> for Error {
    fn from(error: E) -> Self {
        Self::Storage(Box::new(error.into()))
    }
}

/// Which route a file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Network and chain of the source.
    pub source: (u32, Id),
    /// Network and chain of the destination.
    pub destination: (u32, Id),
}

/// Numbers of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Read, not delivered, not given up.
    pub backlog: u64,
    /// Delivered, not acknowledged.
    pub delivered: u64,
    /// Given up.
    pub dead: u64,
    /// Acknowledged and still visible.
    pub settled: u64,
}

impl Counts {
    /// Entries that are not acknowledged.
    #[must_use]
    pub const fn stored(&self) -> u64 {
        self.backlog
            .saturating_add(self.delivered)
            .saturating_add(self.dead)
    }

    const fn slot(&mut self, entry: &Entry) -> &mut u64 {
        match entry.state {
            QueueState::Delivered => &mut self.delivered,
            QueueState::Dead => &mut self.dead,
            QueueState::Acknowledged => &mut self.settled,
            _ => &mut self.backlog,
        }
    }
}

/// An open file of one route.
#[derive(Debug)]
pub struct Store {
    /// `None` after [`Store::close`].
    database: Option<Database>,
    cursor: Option<u64>,
    totals: Totals,
    counts: Counts,
}

impl Store {
    /// Opens or makes the file of a route.
    ///
    /// # Errors
    /// [`Error::Storage`]; [`Error::Foreign`] if the file belongs to another route or version.
    pub fn open(path: &Path, identity: &Identity) -> Result<Self, Error> {
        let database = Database::create(path)?;
        Self::with(database, identity)
    }

    /// Opens or makes the file in any storage.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_backend(backend: impl StorageBackend, identity: &Identity) -> Result<Self, Error> {
        let database = Database::builder().create_with_backend(backend)?;
        Self::with(database, identity)
    }

    fn with(database: Database, identity: &Identity) -> Result<Self, Error> {
        let write = database.begin_write()?;
        let (cursor, totals, counts);
        {
            let mut meta = write.open_table(META)?;
            match read_meta::<u32>(&meta, "schema")? {
                None => {
                    put_meta(&mut meta, "schema", &SCHEMA)?;
                    put_meta(&mut meta, "route", identity)?;
                }
                Some(SCHEMA) => {}
                Some(_) => return Err(Error::Foreign("it has another schema version")),
            }
            if read_meta::<Identity>(&meta, "route")?.as_ref() != Some(identity) {
                return Err(Error::Foreign("it belongs to another route"));
            }
            cursor = read_meta(&meta, "cursor")?;
            totals = read_meta(&meta, "totals")?.unwrap_or_default();
            counts = read_meta(&meta, "counts")?.unwrap_or_default();
            write.open_table(ENTRIES)?;
            write.open_table(MESSAGES)?;
            write.open_table(IDS)?;
            write.open_table(DUE)?;
            write.open_table(BACKLOG)?;
            write.open_table(SETTLED)?;
            write.open_table(PARTS)?;
        }
        write.commit()?;
        Ok(Self {
            database: Some(database),
            cursor,
            totals,
            counts,
        })
    }

    /// Sequence of the next message to read, once reading has begun.
    #[must_use]
    pub const fn cursor(&self) -> Option<u64> {
        self.cursor
    }

    /// Totals since the route was set up.
    #[must_use]
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// Numbers of entries.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Closes the file; every later call fails.
    pub fn close(&mut self) {
        self.database = None;
    }

    fn database(&self) -> Result<&Database, Error> {
        let closed = Error::Foreign("it is closed");
        self.database.as_ref().ok_or(closed)
    }

    /// Puts all of it on disk, or nothing.
    ///
    /// # Errors
    /// [`Error::Storage`], [`Error::Foreign`] for an entry that does not decode.
    pub fn commit(&mut self, writes: &[Write]) -> Result<(), Error> {
        if writes.is_empty() {
            return Ok(());
        }
        let transaction = self.database()?.begin_write()?;
        let (mut cursor, mut totals, mut counts) = (self.cursor, self.totals, self.counts);
        {
            let mut tables = Tables::open(&transaction, &mut counts)?;
            for write in writes {
                match write {
                    Write::Cursor(next) => {
                        put_meta(&mut tables.meta, "cursor", next)?;
                        cursor = Some(*next);
                    }
                    Write::Totals(new) => {
                        put_meta(&mut tables.meta, "totals", new)?;
                        totals = *new;
                    }
                    other => tables.apply(other)?,
                }
            }
            tables.forget_settled()?;
            let counts = *tables.counts;
            put_meta(&mut tables.meta, "counts", &counts)?;
        }
        transaction.commit()?;
        (self.cursor, self.totals, self.counts) = (cursor, totals, counts);
        Ok(())
    }

    /// At most `limit` entries that are due and not skipped: half of the places for fresh ones, the
    /// newest and the oldest of them alternating, so that neither a flood nor what it buries waits
    /// for the other; the rest for those looked at before.
    ///
    /// # Errors
    /// [`Error`].
    pub fn due(
        &self,
        now_ms: u64,
        limit: usize,
        skip: impl Fn(u64) -> bool,
    ) -> Result<Vec<Loaded>, Error> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let read = self.database()?.begin_read()?;
        let due = read.open_table(DUE)?;
        let span = |urgency: Urgency| (urgency as u8, 0, 0)..=(urgency as u8, now_ms, u64::MAX);
        let mut queues: Vec<Vec<u64>> = Vec::with_capacity(Urgency::ALL.len());
        for urgency in Urgency::ALL {
            let mut range = due.range(span(urgency))?;
            let mut found = Vec::new();
            let mut newest = urgency == Urgency::Fresh;
            while found.len() < limit {
                let next = if newest {
                    range.next_back()
                } else {
                    range.next()
                };
                let Some(next) = next else { break };
                let (_, _, sequence) = next?.0.value();
                if !skip(sequence) {
                    found.push(sequence);
                    newest = urgency == Urgency::Fresh && !newest;
                }
            }
            queues.push(found);
        }
        let shares = [limit.div_ceil(2), limit.div_ceil(4), limit.div_ceil(4)];
        let mut chosen = Vec::with_capacity(limit);
        let mut rest = Vec::new();
        for (mut queue, share) in queues.into_iter().zip(shares) {
            let left = queue.split_off(share.min(queue.len()));
            chosen.extend(queue);
            rest.extend(left);
        }
        chosen.extend(rest);
        chosen.truncate(limit);
        let chosen = chosen.into_iter();
        chosen.map(|sequence| load(&read, sequence)).collect()
    }

    /// When the next entry after `now_ms` is due.
    ///
    /// # Errors
    /// [`Error`].
    pub fn next_due(&self, now_ms: u64) -> Result<Option<u64>, Error> {
        let read = self.database()?.begin_read()?;
        let due = read.open_table(DUE)?;
        let mut earliest: Option<u64> = None;
        for urgency in Urgency::ALL {
            let from = (urgency as u8, now_ms.saturating_add(1), 0);
            let mut range = due.range(from..=(urgency as u8, u64::MAX, u64::MAX))?;
            if let Some(next) = range.next() {
                let (_, next_ms, _) = next?.0.value();
                earliest = Some(earliest.map_or(next_ms, |other| other.min(next_ms)));
            }
        }
        Ok(earliest)
    }

    /// When the oldest message of the backlog was read, milliseconds since 1970.
    ///
    /// # Errors
    /// [`Error`].
    pub fn oldest_ms(&self) -> Result<Option<u64>, Error> {
        let read = self.database()?.begin_read()?;
        let backlog = read.open_table(BACKLOG)?;
        let first = backlog.first()?;
        Ok(first.map(|(_, observed_ms)| observed_ms.value()))
    }

    /// One entry with everything collected for it.
    ///
    /// # Errors
    /// [`Error`].
    pub fn get(&self, id: &Id) -> Result<Option<Loaded>, Error> {
        let read = self.database()?.begin_read()?;
        let ids = read.open_table(IDS)?;
        let sequence = ids.get(id)?.map(|sequence| sequence.value());
        sequence.map(|sequence| load(&read, sequence)).transpose()
    }

    /// Entries that match, by sequence, and whether there are more than `limit`.
    ///
    /// # Errors
    /// [`Error`].
    pub fn queue(&self, filter: &QueueFilter, limit: usize) -> Result<(Vec<Entry>, bool), Error> {
        let read = self.database()?.begin_read()?;
        let entries = read.open_table(ENTRIES)?;
        let mut found = Vec::new();
        for row in entries.iter()? {
            let entry: Entry = decode(row?.1.value())?;
            let matches = filter.state.is_none_or(|state| state == entry.state)
                && filter.id.is_none_or(|id| id == entry.id)
                && (filter.reason.is_none() || filter.reason == entry.reason);
            if !matches {
                continue;
            }
            if found.len() >= limit.min(QUEUE_LEN_MAX) {
                return Ok((found, true));
            }
            found.push(entry);
        }
        Ok((found, false))
    }

    /// Makes every entry whose next look is after `latest_ms` due at `now_ms`.
    ///
    /// # Errors
    /// [`Error`].
    pub fn bring_forward(&mut self, now_ms: u64, latest_ms: u64) -> Result<(), Error> {
        let mut ids = Vec::new();
        {
            let read = self.database()?.begin_read()?;
            let (due, entries) = (read.open_table(DUE)?, read.open_table(ENTRIES)?);
            for urgency in Urgency::ALL {
                let from = (urgency as u8, latest_ms.saturating_add(1), 0);
                for row in due.range(from..=(urgency as u8, u64::MAX, u64::MAX))? {
                    let (_, _, sequence) = row?.0.value();
                    if let Some(entry) = entries.get(sequence)? {
                        let entry: Entry = decode(entry.value())?;
                        ids.push(Write::Wake(entry.id, now_ms));
                    }
                }
            }
        }
        self.commit(&ids)
    }

    /// Numbers of entries by state, counted one by one.
    ///
    /// # Errors
    /// [`Error`].
    pub fn recount(&self) -> Result<BTreeMap<QueueState, u64>, Error> {
        let read = self.database()?.begin_read()?;
        let entries = read.open_table(ENTRIES)?;
        let mut counts = BTreeMap::new();
        for row in entries.iter()? {
            let entry: Entry = decode(row?.1.value())?;
            let count: &mut u64 = counts.entry(entry.state).or_default();
            *count = count.saturating_add(1);
        }
        Ok(counts)
    }

    /// Starts matching dead messages again, and looks at matching waiting ones at once. Entries
    /// that are skipped stay as they are. Gives the number of messages.
    ///
    /// # Errors
    /// [`Error`].
    pub fn retry(
        &mut self,
        request: &RetryRequest,
        now_ms: u64,
        mut skip: impl FnMut(u64) -> bool,
    ) -> Result<u64, Error> {
        let mut writes = Vec::new();
        {
            let read = self.database()?.begin_read()?;
            let entries = read.open_table(ENTRIES)?;
            for row in entries.iter()? {
                let mut entry: Entry = decode(row?.1.value())?;
                let matches = request.id.is_none_or(|id| id == entry.id)
                    && (request.reason.is_none() || request.reason == entry.reason);
                let open = entry.is_backlog() || entry.state == QueueState::Dead;
                if !matches || !open || skip(entry.sequence) {
                    continue;
                }
                if entry.state == QueueState::Dead {
                    entry.state = QueueState::Observed;
                    entry.reason = None;
                    entry.stale = true;
                }
                entry.attempts = 0;
                entry.tries = 0;
                entry.since_ms = now_ms;
                entry.next_ms = now_ms;
                writes.push(Write::Update(Box::new(entry)));
            }
        }
        self.commit(&writes)?;
        Ok(u64::try_from(writes.len()).unwrap_or(u64::MAX))
    }
}

fn load(read: &redb::ReadTransaction, sequence: u64) -> Result<Loaded, Error> {
    let gone = Error::Foreign("an index names an entry that is not there");
    let entries = read.open_table(ENTRIES)?;
    let Some(entry) = entries.get(sequence)? else {
        return Err(gone);
    };
    let entry: Entry = decode(entry.value())?;
    let messages = read.open_table(MESSAGES)?;
    let Some(message) = messages.get(sequence)? else {
        return Err(gone);
    };
    let message: Message = decode(message.value())?;
    let mut singles = Singles::default();
    let mut pulse = None;
    let parts = read.open_table(PARTS)?;
    let (from, to) = (
        (sequence, 0, [].as_slice()),
        (sequence, u8::MAX, [].as_slice()),
    );
    for row in parts.range(from..to)? {
        let (key, value) = row?;
        let (_, kind, signer) = key.value();
        let value = value.value().to_vec();
        match (kind, Signer::try_from(signer)) {
            (PART_BEAM, Ok(signer)) => drop(singles.beam.insert(signer, value)),
            (PART_CERTSET, Ok(signer)) => drop(singles.certset.insert(signer, value)),
            (PART_PULSE, _) => pulse = Some(value),
            _ => return Err(Error::Foreign("a part is of unknown kind")),
        }
    }
    Ok(Loaded {
        entry,
        message,
        singles,
        pulse,
    })
}

fn read_meta<T: for<'de> Deserialize<'de>>(
    meta: &impl ReadableTable<&'static str, &'static [u8]>,
    key: &str,
) -> Result<Option<T>, Error> {
    let row = meta.get(key)?;
    row.map(|row| decode(row.value())).transpose()
}

fn put_meta(
    meta: &mut Table<'_, &'static str, &'static [u8]>,
    key: &str,
    value: &impl Serialize,
) -> Result<(), Error> {
    let bytes = encode(value)?;
    meta.insert(key, bytes.as_slice())?;
    Ok(())
}

fn encode(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(value).map_err(|_| Error::Foreign("a row cannot be written"))
}

fn decode<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|_| Error::Foreign("a row does not decode"))
}
