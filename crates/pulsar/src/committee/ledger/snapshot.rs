//! The canonical bytes of a ledger: what state roots cover and what a restart reads.
//!
//! Two ledgers with the same history have the same bytes. Messages of subjects are not part of
//! them, only their identifiers: whoever restores a ledger looks the messages up, so that a long
//! queue of subjects does not make every snapshot large.
//!
//! # Source
//! This project's own layout, big-endian.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::standing::Standing;
use super::{Attempt, AttemptStage, Batch, Ledger, LedgerConfig, Open, Stage, Subject};
use crate::committee::CommitteeKey;
use crate::committee::context::{Committee, SigningSet};
use crate::committee::error::{Error, Malformed, Misuse};
use crate::committee::gather::{Gather, read_flag};
use crate::committee::message::Reader;

impl Ledger {
    /// The canonical bytes: version 1, era context 32, height 8, retired 1, next batch 8, subjects
    /// so far 8; per member boot, penalty, suspicion 4 each; sets tried in vain with their number
    /// of times 4; batches with their deadlines, commitments and announcements; open subjects with their attempts.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.push(VERSION);
        out.extend_from_slice(self.committee.era_ctx());
        put_u64(&mut out, self.height);
        out.push(u8::from(self.retired));
        put_u64(&mut out, self.next_batch);
        put_u64(&mut out, self.arrived);
        for ((boot, penalty), suspicion) in self
            .boots
            .iter()
            .zip(&self.standing.penalty)
            .zip(&self.standing.suspicion)
        {
            put_u32(&mut out, *boot);
            put_u32(&mut out, *penalty);
            put_u32(&mut out, *suspicion);
        }
        put_len(&mut out, self.standing.vain.len());
        for (set, times) in &self.standing.vain {
            put_set(&mut out, set);
            put_u32(&mut out, *times);
        }
        put_len(&mut out, self.batches.len());
        for (number, batch) in &self.batches {
            put_u64(&mut out, *number);
            let (tag, value) = match batch.stage {
                Stage::Commit(until) => (0, until),
                Stage::Have(until) => (1, until),
                Stage::Ready(index) => (2, u64::from(index)),
            };
            out.push(tag);
            put_u64(&mut out, value);
            put_set(&mut out, &batch.gather.plan().set);
            batch.gather.put_final(&mut out);
        }
        put_len(&mut out, self.subjects.len());
        for (order, open) in &self.subjects {
            put_u64(&mut out, *order);
            out.extend_from_slice(&open.subject.id);
            put_len(&mut out, open.attempts.len());
            open.attempts
                .iter()
                .for_each(|attempt| attempt.put(&mut out));
        }
        out
    }

    /// A ledger from its canonical bytes. `message` gives the canonical Pulse message of an open
    /// subject.
    ///
    /// # Errors
    /// [`Error::Malformed`] for other bytes than [`snapshot`](Self::snapshot) writes for this
    /// committee, [`Misuse::UnknownSubject`] when a message is not known, and the errors of
    /// [`Ledger::new`].
    pub fn restore(
        committee: Committee,
        key: Arc<CommitteeKey>,
        config: LedgerConfig,
        bytes: &[u8],
        mut message: impl FnMut(&[u8; 32]) -> Option<Vec<u8>>,
    ) -> Result<Self, Error> {
        let mut ledger = Self::new(committee, key, config, 0)?;
        let input = &mut Reader(bytes);
        if input.array("version")? != &[VERSION] {
            return Err(Error::Malformed(Malformed::Version));
        }
        if input.array("ctx")? != ledger.committee.era_ctx() {
            return Err(Error::Malformed(Malformed::WrongContext));
        }
        ledger.height = read_u64(input, "height")?;
        ledger.retired = read_flag(input, "retired")?;
        ledger.next_batch = read_u64(input, "next_batch")?;
        ledger.arrived = read_u64(input, "arrived")?;
        ledger.read_members(input)?;
        ledger.read_batches(input)?;
        let count = read_len(input, "subjects")?;
        for _ in 0..count {
            let order = ledger.read_order(input)?;
            let id = *input.array("subject")?;
            let mu = message(&id).ok_or(Error::Misuse(Misuse::UnknownSubject))?;
            let count = read_len(input, "attempts")?;
            let attempts = (0..count)
                .map(|_| Attempt::read(input, &ledger.committee))
                .collect::<Result<_, _>>()?;
            let subject = Arc::new(Subject { id, mu });
            ledger.subjects.insert(order, Open { subject, attempts });
        }
        input.finish()?;
        Ok(ledger)
    }

    fn read_members(&mut self, input: &mut Reader<'_>) -> Result<(), Error> {
        let Standing {
            penalty,
            suspicion,
            vain,
        } = &mut self.standing;
        for ((boot, penalty), suspicion) in self.boots.iter_mut().zip(penalty).zip(suspicion) {
            *boot = read_u32(input, "boot")?;
            *penalty = read_u32(input, "penalty")?;
            *suspicion = read_u32(input, "suspicion")?;
        }
        for _ in 0..read_len(input, "vain")? {
            let set = read_set(input, &self.committee)?;
            let times = read_u32(input, "vain")?;
            let last = vain.last_key_value().map(|(last, _)| last);
            if times == 0 || last.is_some_and(|last| *last >= set) {
                return Err(out_of_range("vain"));
            }
            vain.insert(set, times);
        }
        Ok(())
    }

    fn read_batches(&mut self, input: &mut Reader<'_>) -> Result<(), Error> {
        for _ in 0..read_len(input, "batches")? {
            let number = read_u64(input, "batch")?;
            let last = self.batches.last_key_value().map(|(last, _)| *last);
            if number >= self.next_batch || last.is_some_and(|last| last >= number) {
                return Err(out_of_range("batch"));
            }
            let tag = read_u8(input, "stage")?;
            let value = read_u64(input, "stage")?;
            let set = read_set(input, &self.committee)?;
            let plan = self.committee.plan(number, set, self.config.count)?;
            let mut gather = Gather::new(&self.committee, plan);
            gather.read_final(input)?;
            let stage = match tag {
                0 if !gather.all_committed() => Stage::Commit(value),
                1 if gather.all_committed() && !gather.all_have() => Stage::Have(value),
                2 if gather.all_have() && value < u64::from(self.config.count) => {
                    Stage::Ready(u16::try_from(value).map_err(|_| out_of_range("stage"))?)
                }
                _ => return Err(out_of_range("stage")),
            };
            let gather = Arc::new(gather);
            self.batches.insert(number, Batch { gather, stage });
        }
        Ok(())
    }

    fn read_order(&self, input: &mut Reader<'_>) -> Result<u64, Error> {
        let order = read_u64(input, "order")?;
        let last = self.subjects.last_key_value().map(|(last, _)| *last);
        if order >= self.arrived || last.is_some_and(|last| last >= order) {
            return Err(out_of_range("order"));
        }
        Ok(order)
    }
}

impl Attempt {
    fn put(&self, out: &mut Vec<u8>) {
        put_u64(out, self.batch);
        out.extend_from_slice(&self.index.to_be_bytes());
        put_set(out, &self.set);
        let (tag, until) = match self.stage {
            AttemptStage::Signing(until) => (0, until),
            AttemptStage::Posting(until) => (1, until),
            AttemptStage::Failed => (2, 0),
            AttemptStage::Silent => (3, 0),
        };
        out.push(tag);
        put_u64(out, until);
        put_len(out, self.posts.len());
        for (sender, ctx) in &self.posts {
            out.extend_from_slice(&sender.to_be_bytes());
            out.extend_from_slice(ctx);
        }
    }

    fn read(input: &mut Reader<'_>, committee: &Committee) -> Result<Self, Error> {
        let batch = read_u64(input, "attempt")?;
        let index = read_u16(input, "index")?;
        let set = read_set(input, committee)?;
        let tag = read_u8(input, "stage")?;
        let stage = match (tag, read_u64(input, "stage")?) {
            (0, until) => AttemptStage::Signing(until),
            (1, until) => AttemptStage::Posting(until),
            (2, 0) => AttemptStage::Failed,
            (3, 0) => AttemptStage::Silent,
            _ => return Err(out_of_range("stage")),
        };
        let mut posts = BTreeMap::new();
        for _ in 0..read_len(input, "posts")? {
            let sender = read_u16(input, "posts")?;
            let last = posts.last_key_value().map(|(last, _)| *last);
            if set.slot(sender).is_none() || last.is_some_and(|last| last >= sender) {
                return Err(out_of_range("posts"));
            }
            posts.insert(sender, *input.array("posts")?);
        }
        Ok(Self {
            batch,
            index,
            set,
            stage,
            posts,
        })
    }
}

fn put_set(out: &mut Vec<u8>, set: &SigningSet) {
    put_len(out, set.len());
    set.ids()
        .iter()
        .for_each(|id| out.extend_from_slice(&id.to_be_bytes()));
}

fn read_set(input: &mut Reader<'_>, committee: &Committee) -> Result<SigningSet, Error> {
    let len = read_len(input, "set")?;
    if len > usize::from(committee.n()) {
        return Err(out_of_range("set"));
    }
    let ids = (0..len)
        .map(|_| read_u16(input, "set"))
        .collect::<Result<Vec<u16>, _>>()?;
    committee.signing_set(&ids).map_err(|_| out_of_range("set"))
}

/// Lists are bounded by the ledger far below 2^32.
fn put_len(out: &mut Vec<u8>, len: usize) {
    put_u32(out, u32::try_from(len).unwrap_or(u32::MAX));
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// The length of a list, whose elements are read one by one: nothing is allocated for it.
fn read_len(input: &mut Reader<'_>, field: &'static str) -> Result<usize, Error> {
    usize::try_from(read_u32(input, field)?).map_err(|_| out_of_range(field))
}

fn read_u8(input: &mut Reader<'_>, field: &'static str) -> Result<u8, Error> {
    let [byte] = *input.array(field)?;
    Ok(byte)
}

fn read_u16(input: &mut Reader<'_>, field: &'static str) -> Result<u16, Error> {
    Ok(u16::from_be_bytes(*input.array(field)?))
}

fn read_u32(input: &mut Reader<'_>, field: &'static str) -> Result<u32, Error> {
    Ok(u32::from_be_bytes(*input.array(field)?))
}

fn read_u64(input: &mut Reader<'_>, field: &'static str) -> Result<u64, Error> {
    Ok(u64::from_be_bytes(*input.array(field)?))
}

const fn out_of_range(field: &'static str) -> Error {
    Error::Malformed(Malformed::OutOfRange { field })
}

/// Version byte.
const VERSION: u8 = 2;
