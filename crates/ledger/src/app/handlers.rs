//! Who acts on messages: three handlers, by name. Nothing else is reachable from a payload.
//!
//! A handler looks at the state and names at most one change, or fails and changes nothing.

use horizon_hash::domain::ledger as domain;
use horizon_hash::tuplehash::tuple_hash256;

use crate::effects::{Failure, Status};
use crate::state::{Account, Entries, Entry, Failed, Journal, Key, Work, key};

/// Runs the handler that the recipient names.
pub(super) fn run(
    entries: &impl Entries,
    recipient: &[u8],
    body: &[u8],
) -> Result<Option<(Key, Vec<u8>)>, Failure> {
    match recipient {
        JOURNAL => Ok(Some(journal(entries, body))),
        COUNTER => counter(entries, body).map(Some),
        GATE => gate(entries, body),
        _ => Err(Failure::Recipient),
    }
}

/// Keeps a failed message for a retry, and forgets the oldest ones above the limits.
pub(super) fn keep_failed(work: &mut Work, id: &[u8; 32], status: Status, unsigned: &[u8]) {
    let mut totals = work.totals();
    let failed = Failed {
        order: totals.failed_next,
        status,
        unsigned: unsigned.to_vec(),
    };
    work.put(key::failed(id), failed.encode());
    work.put(key::failed_at(failed.order), id.to_vec());
    totals.failed_next = totals.failed_next.saturating_add(1);
    totals.failed_bytes = totals.failed_bytes.saturating_add(len(unsigned));
    let too_much = |totals: &crate::state::Totals| {
        let count = totals.failed_next.saturating_sub(totals.failed_first);
        count > FAILED_MAX || totals.failed_bytes > FAILED_BYTES_MAX
    };
    while too_much(&totals) && totals.failed_first < totals.failed_next {
        let order = totals.failed_first;
        totals.failed_first = order.saturating_add(1);
        let oldest = work.get(&key::failed_at(order)).cloned();
        let Some(id) = oldest.and_then(|id| <[u8; 32]>::try_from(&id[..]).ok()) else {
            continue;
        };
        let bytes = work
            .read::<Failed>(&key::failed(&id))
            .map_or(0, |failed| len(&failed.unsigned));
        totals.failed_bytes = totals.failed_bytes.saturating_sub(bytes);
        work.delete(key::failed(&id));
        work.delete(key::failed_at(order));
    }
    work.put(key::totals(), totals.encode());
}

/// A retry succeeded: the bytes go, the fact stays.
pub(super) fn keep_success(work: &mut Work, id: &[u8; 32], failed: &Failed) {
    let mut totals = work.totals();
    totals.failed_bytes = totals.failed_bytes.saturating_sub(len(&failed.unsigned));
    let done = Failed {
        order: failed.order,
        status: Status::Executed,
        unsigned: Vec::new(),
    };
    work.put(key::failed(id), done.encode());
    work.put(key::totals(), totals.encode());
}

/// Takes any body; the state keeps the number of entries and a hash over all of them.
fn journal(entries: &impl Entries, body: &[u8]) -> (Key, Vec<u8>) {
    let Journal { count, hash } = entries.read(&key::journal()).unwrap_or_default();
    let mut next = [0; 32];
    tuple_hash256(
        domain::JOURNAL,
        &[&hash, &count.to_be_bytes(), body],
        &mut next,
    );
    let journal = Journal {
        count: count.saturating_add(1),
        hash: next,
    };
    (key::journal(), journal.encode())
}

/// Adds a big-endian amount of eight bytes.
fn counter(entries: &impl Entries, body: &[u8]) -> Result<(Key, Vec<u8>), Failure> {
    let amount = <[u8; 8]>::try_from(body).map_err(|_| Failure::Body)?;
    let sum = entries
        .number(&key::counter())
        .checked_add(u64::from_be_bytes(amount))
        .ok_or(Failure::Overflow)?;
    Ok((key::counter(), Account(sum).encode()))
}

/// `open` and `close` always succeed; anything else only while the gate is open.
fn gate(entries: &impl Entries, body: &[u8]) -> Result<Option<(Key, Vec<u8>)>, Failure> {
    let set = |open: u64| Some((key::gate(), Account(open).encode()));
    match body {
        b"open" => Ok(set(1)),
        b"close" => Ok(set(0)),
        _ if entries.number(&key::gate()) == 1 => Ok(None),
        _ => Err(Failure::Closed),
    }
}

fn len(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Recipient that keeps every body.
pub const JOURNAL: &[u8] = b"journal";
/// Recipient that adds amounts.
pub const COUNTER: &[u8] = b"counter";
/// Recipient that can be opened and closed.
pub const GATE: &[u8] = b"gate";
/// Most failed messages that are remembered.
pub const FAILED_MAX: u64 = 1_024;
/// Most bytes of failed messages that are kept for a retry.
pub const FAILED_BYTES_MAX: u64 = 16 << 20;
