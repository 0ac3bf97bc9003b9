//! The durable session record of a Pulse committee member, in the guard's file.

use core::fmt;

use horizon_pulsar::committee::{Answer, RecordsUnavailable, SessionRecords};
use redb::{
    Durability, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction,
};

use super::{Error, Guard, unreadable, write_failed};

/// Boots, reservations and answers. Every write is durable when it returns, except for the answers of
/// deferred records.
#[derive(Clone)]
pub struct Records {
    guard: Guard,
    answers: Durability,
}

impl Records {
    pub(super) const fn new(guard: Guard) -> Self {
        Self {
            guard,
            answers: Durability::Immediate,
        }
    }

    /// Records whose answers become durable together, with the guard's next flush: for a caller that lets no
    /// partial out before it. One flush then serves all answers of a block.
    pub(crate) fn deferred(self) -> Self {
        Self {
            answers: Durability::None,
            ..self
        }
    }

    /// Drops the bytes of an answer whose subject is closed; its session context stays for the whole generation.
    ///
    /// # Errors
    /// [`RecordsUnavailable`].
    pub fn drop_partial(
        &self,
        era_ctx: &[u8; 32],
        batch: u64,
        index: u16,
    ) -> Result<(), RecordsUnavailable> {
        let key = answer_key(era_ctx, batch, index);
        // Losing this write costs space, not safety.
        let dropped = self.guard.write(Durability::None, |transaction| {
            let mut answers = transaction.open_table(ANSWERS).map_err(unreadable)?;
            let found = answers.get(key).map_err(unreadable)?;
            let context = found.and_then(|value| value.value().get(..32).map(<[u8]>::to_vec));
            if let Some(context) = context {
                answers.insert(key, &context[..]).map_err(write_failed)?;
            }
            Ok(())
        });
        dropped.map_err(refuse)
    }

    /// Writes the boot counter of this process before its first BatchVoid leaves, so that the record is never
    /// behind the ledger.
    ///
    /// # Errors
    /// [`RecordsUnavailable`].
    pub fn reserve_boot(&self, era_ctx: &[u8; 32], boot: u32) -> Result<(), RecordsUnavailable> {
        self.guard
            .write(Durability::Immediate, |transaction| {
                let mut boots = transaction.open_table(BOOTS).map_err(unreadable)?;
                raise_boot(&mut boots, era_ctx, boot)
            })
            .map_err(refuse)
    }
}

impl SessionRecords for Records {
    fn boot(&self, era_ctx: &[u8; 32]) -> Result<Option<u32>, RecordsUnavailable> {
        let read = || {
            self.guard.check_running()?;
            let read = self.guard.database().begin_read().map_err(unreadable)?;
            let boots = read.open_table(BOOTS).map_err(unreadable)?;
            let found = boots.get(*era_ctx).map_err(unreadable)?;
            Ok(found.map(|boot| boot.value()))
        };
        read().map_err(refuse)
    }

    fn reserve(
        &mut self,
        era_ctx: &[u8; 32],
        boot: u32,
        batch: u64,
    ) -> Result<(), RecordsUnavailable> {
        self.guard
            .write(Durability::Immediate, |transaction| {
                let mut boots = transaction.open_table(BOOTS).map_err(unreadable)?;
                raise_boot(&mut boots, era_ctx, boot)?;
                drop(boots);
                let mut batches = transaction.open_table(BATCHES).map_err(unreadable)?;
                batches
                    .insert(batch_key(era_ctx, batch), boot)
                    .map_err(write_failed)?;
                Ok(())
            })
            .map_err(refuse)
    }

    fn answer(
        &self,
        era_ctx: &[u8; 32],
        batch: u64,
        index: u16,
    ) -> Result<Option<Answer>, RecordsUnavailable> {
        let read = || {
            self.guard.check_running()?;
            let read = self.guard.database().begin_read().map_err(unreadable)?;
            let answers = read.open_table(ANSWERS).map_err(unreadable)?;
            let key = answer_key(era_ctx, batch, index);
            let Some(found) = answers.get(key).map_err(unreadable)? else {
                return Ok(None);
            };
            let parts = found.value().split_first_chunk::<32>();
            let (context, partial) = parts.ok_or_else(|| unreadable("answer"))?;
            Ok(Some(Answer {
                session_ctx: *context,
                partial: partial.to_vec(),
            }))
        };
        read().map_err(refuse)
    }

    fn record_answer(
        &mut self,
        era_ctx: &[u8; 32],
        batch: u64,
        index: u16,
        answer: &Answer,
    ) -> Result<(), RecordsUnavailable> {
        if self.answer(era_ctx, batch, index)?.is_some() {
            return Err(RecordsUnavailable);
        }
        let mut value = answer.session_ctx.to_vec();
        value.extend_from_slice(&answer.partial);
        self.guard
            .write(self.answers, |transaction| {
                let mut answers = transaction.open_table(ANSWERS).map_err(unreadable)?;
                answers
                    .insert(answer_key(era_ctx, batch, index), &value[..])
                    .map_err(write_failed)?;
                Ok(())
            })
            .map_err(refuse)
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").finish_non_exhaustive()
    }
}

/// Makes the tables of a new guard.
pub(super) fn create_tables(transaction: &WriteTransaction) -> Result<(), Error> {
    transaction.open_table(BOOTS).map_err(write_failed)?;
    transaction.open_table(BATCHES).map_err(write_failed)?;
    transaction.open_table(ANSWERS).map_err(write_failed)?;
    Ok(())
}

/// Refuses a guard without these tables.
pub(super) fn check_tables(read: &ReadTransaction) -> Result<(), Error> {
    read.open_table(BOOTS).map_err(unreadable)?;
    read.open_table(BATCHES).map_err(unreadable)?;
    read.open_table(ANSWERS).map_err(unreadable)?;
    Ok(())
}

/// The stored counter never shrinks.
fn raise_boot(
    boots: &mut redb::Table<'_, [u8; 32], u32>,
    era_ctx: &[u8; 32],
    boot: u32,
) -> Result<(), Error> {
    let stored = boots.get(*era_ctx).map_err(unreadable)?;
    let stored = stored.map(|stored| stored.value());
    boots
        .insert(*era_ctx, stored.unwrap_or(0).max(boot))
        .map_err(write_failed)?;
    Ok(())
}

fn batch_key(era_ctx: &[u8; 32], batch: u64) -> [u8; 40] {
    let mut key = [0; 40];
    key[..32].copy_from_slice(era_ctx);
    key[32..].copy_from_slice(&batch.to_be_bytes());
    key
}

fn answer_key(era_ctx: &[u8; 32], batch: u64, index: u16) -> [u8; 42] {
    let mut key = [0; 42];
    key[..40].copy_from_slice(&batch_key(era_ctx, batch));
    key[40..].copy_from_slice(&index.to_be_bytes());
    key
}

fn refuse(_: Error) -> RecordsUnavailable {
    RecordsUnavailable
}

/// Era context to the largest boot counter ever used.
const BOOTS: TableDefinition<'_, [u8; 32], u32> = TableDefinition::new("boots");
/// Era context and batch to the boot that reserved it.
const BATCHES: TableDefinition<'_, [u8; 40], u32> = TableDefinition::new("batches");
/// Era context, batch and index to session context and partial.
const ANSWERS: TableDefinition<'_, [u8; 42], &[u8]> = TableDefinition::new("answers");
