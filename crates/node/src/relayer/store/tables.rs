//! The tables of a route's file, and what a write does to them.

use horizon_warp::Lane;
use redb::{ReadableTable, Table, WriteTransaction};

use super::{
    BACKLOG, Counts, DUE, ENTRIES, Error, IDS, MESSAGES, META, PART_BEAM, PART_CERTSET, PART_PULSE,
    PARTS, SETTLED, SETTLED_MAX, decode, encode,
};
use crate::api::types::{Id, QueueState};
use crate::relayer::entry::{Entry, Loaded, Write};

/// The tables of one transaction.
pub(super) struct Tables<'t, 'c> {
    pub(super) meta: Table<'t, &'static str, &'static [u8]>,
    entries: Table<'t, u64, &'static [u8]>,
    messages: Table<'t, u64, &'static [u8]>,
    ids: Table<'t, [u8; 32], u64>,
    due: Table<'t, (u8, u64, u64), ()>,
    backlog: Table<'t, u64, u64>,
    settled: Table<'t, u64, ()>,
    parts: Table<'t, (u64, u8, &'static [u8]), &'static [u8]>,
    pub(super) counts: &'c mut Counts,
}

impl<'t, 'c> Tables<'t, 'c> {
    pub(super) fn open(
        transaction: &'t WriteTransaction,
        counts: &'c mut Counts,
    ) -> Result<Self, Error> {
        Ok(Self {
            meta: transaction.open_table(META)?,
            entries: transaction.open_table(ENTRIES)?,
            messages: transaction.open_table(MESSAGES)?,
            ids: transaction.open_table(IDS)?,
            due: transaction.open_table(DUE)?,
            backlog: transaction.open_table(BACKLOG)?,
            settled: transaction.open_table(SETTLED)?,
            parts: transaction.open_table(PARTS)?,
            counts,
        })
    }

    pub(super) fn apply(&mut self, write: &Write) -> Result<(), Error> {
        match write {
            Write::Insert(loaded) => self.insert(loaded),
            Write::Update(entry) => self.update(entry),
            Write::Message(message) => {
                let bytes = encode(&**message)?;
                self.messages.insert(message.sequence, bytes.as_slice())?;
                Ok(())
            }
            Write::Single(sequence, lane, signer, signature) => {
                let key = (*sequence, part(*lane), signer.as_slice());
                self.parts.insert(key, signature.as_slice())?;
                Ok(())
            }
            Write::DropSingle(sequence, lane, signer) => {
                self.parts
                    .remove((*sequence, part(*lane), signer.as_slice()))?;
                Ok(())
            }
            Write::Pulse(sequence, pulse) => {
                let key = (*sequence, PART_PULSE, [].as_slice());
                match pulse {
                    Some(pulse) => self.parts.insert(key, pulse.as_slice())?,
                    None => self.parts.remove(key)?,
                };
                Ok(())
            }
            Write::DropEvidence(sequence) => self.drop_evidence(*sequence),
            Write::Wake(id, now_ms) => self.wake(id, *now_ms),
            Write::Cursor(_) | Write::Totals(_) => Ok(()),
        }
    }

    fn entry(&self, sequence: u64) -> Result<Option<Entry>, Error> {
        let row = self.entries.get(sequence)?;
        row.map(|row| decode(row.value())).transpose()
    }

    /// A message that is known already, by sequence or id, stays as it is.
    fn insert(&mut self, loaded: &Loaded) -> Result<(), Error> {
        let sequence = loaded.entry.sequence;
        if self.entries.get(sequence)?.is_some() || self.ids.get(loaded.entry.id)?.is_some() {
            return Ok(());
        }
        self.ids.insert(loaded.entry.id, sequence)?;
        let message = encode(&loaded.message)?;
        self.messages.insert(sequence, message.as_slice())?;
        self.put(&loaded.entry)
    }

    fn update(&mut self, entry: &Entry) -> Result<(), Error> {
        if let Some(old) = self.entry(entry.sequence)? {
            self.unindex(&old)?;
        }
        self.put(entry)
    }

    fn put(&mut self, entry: &Entry) -> Result<(), Error> {
        let count = self.counts.slot(entry);
        *count = count.saturating_add(1);
        if !entry.is_settled() {
            let key = (entry.urgency() as u8, entry.next_ms, entry.sequence);
            self.due.insert(key, ())?;
        }
        if entry.is_backlog() {
            self.backlog.insert(entry.sequence, entry.observed_ms)?;
        }
        if entry.state == QueueState::Acknowledged {
            self.settled.insert(entry.sequence, ())?;
        }
        let bytes = encode(entry)?;
        self.entries.insert(entry.sequence, bytes.as_slice())?;
        Ok(())
    }

    fn unindex(&mut self, entry: &Entry) -> Result<(), Error> {
        let count = self.counts.slot(entry);
        *count = count.saturating_sub(1);
        let key = (entry.urgency() as u8, entry.next_ms, entry.sequence);
        self.due.remove(key)?;
        self.backlog.remove(entry.sequence)?;
        self.settled.remove(entry.sequence)?;
        Ok(())
    }

    fn wake(&mut self, id: &Id, now_ms: u64) -> Result<(), Error> {
        let sequence = self.ids.get(id)?.map(|sequence| sequence.value());
        let Some(mut entry) = sequence.map(|at| self.entry(at)).transpose()?.flatten() else {
            return Ok(());
        };
        if entry.is_settled() || entry.next_ms <= now_ms {
            return Ok(());
        }
        self.unindex(&entry)?;
        entry.next_ms = now_ms;
        self.put(&entry)
    }

    fn drop_evidence(&mut self, sequence: u64) -> Result<(), Error> {
        let (from, to) = (
            (sequence, 0, [].as_slice()),
            (sequence, u8::MAX, [].as_slice()),
        );
        self.parts.retain_in(from..to, |_, _| false)?;
        Ok(())
    }

    /// Forgets the oldest acknowledged messages beyond [`SETTLED_MAX`].
    pub(super) fn forget_settled(&mut self) -> Result<(), Error> {
        while self.counts.settled > SETTLED_MAX {
            let Some(sequence) = self.settled.first()?.map(|(sequence, _)| sequence.value()) else {
                return Ok(());
            };
            if let Some(entry) = self.entry(sequence)? {
                self.unindex(&entry)?;
                self.ids.remove(entry.id)?;
            }
            self.entries.remove(sequence)?;
            self.messages.remove(sequence)?;
            self.settled.remove(sequence)?;
        }
        Ok(())
    }
}

const fn part(lane: Lane) -> u8 {
    match lane {
        Lane::Beam => PART_BEAM,
        _ => PART_CERTSET,
    }
}
