//! Rules that hold between the records of one chain, and between chains.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Record;
use crate::error::{Error, Reason};
use crate::limits::RECORD_COUNT_MAX;

/// The hash of the last record of a chain, known from a trusted source. It authenticates every
/// record before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pin {
    /// The network.
    pub network_id: u32,
    /// The source chain.
    pub chain_id: [u8; 32],
    /// SHA-256 of the last record's canonical bytes.
    pub head: [u8; 32],
}

/// Checks one chain of records, first to last, against its pin. Gives the record hashes.
///
/// # Errors
/// `ChainFirst`, `ChainPrevious`, `ChainStep`, `ChainGroupKey`, `ChainSuite`, `ChainWindow`,
/// `ChainPin`, `ChainUnpinned` for no records, `RecordTooLarge` for more than 4,096, or any reason
/// of [`Record::check`].
pub fn check_chain(records: &[Record], pin: &Pin) -> Result<Vec<[u8; 32]>, Error> {
    let Some(first) = records.first() else {
        return Err(Error::rejected(Reason::ChainUnpinned));
    };
    if records.len() > RECORD_COUNT_MAX {
        return Err(Error::misuse(Reason::RecordTooLarge, "records"));
    }
    if first.previous != [0; 32] {
        return Err(Error::rejected(Reason::ChainFirst));
    }
    let mut hashes = Vec::with_capacity(records.len());
    let mut before: Option<(&Record, [u8; 32])> = None;
    for record in records {
        let of_pin = record.key.network_id == pin.network_id && record.key.chain_id == pin.chain_id;
        if !of_pin {
            return Err(Error::rejected(Reason::ChainPin));
        }
        let hash = record.hash()?;
        if let Some((previous, previous_hash)) = before {
            check_successor(previous, &previous_hash, record)?;
        }
        hashes.push(hash);
        before = Some((record, hash));
    }
    check_group_keys(records)?;
    if hashes.last() != Some(&pin.head) {
        return Err(Error::rejected(Reason::ChainPin));
    }
    Ok(hashes)
}

/// Checks that `record` may follow `previous`, whose hash is `previous_hash`.
///
/// Inside an era the generation grows by one and group key and suite stay; a new era grows by one,
/// starts at generation 0 and has another group key.
///
/// # Errors
/// `ChainPrevious`, `ChainStep`, `ChainGroupKey`, `ChainSuite`, `ChainWindow`.
pub fn check_successor(
    previous: &Record,
    previous_hash: &[u8; 32],
    record: &Record,
) -> Result<(), Error> {
    let refused = |reason| Err(Error::rejected(reason));
    if &record.previous != previous_hash {
        return refused(Reason::ChainPrevious);
    }
    let (old, new) = (&previous.key, &record.key);
    let same_chain = old.network_id == new.network_id && old.chain_id == new.chain_id;
    let same_era = old.key_era == new.key_era;
    let step = if same_era {
        old.generation.checked_add(1) == Some(new.generation)
    } else {
        old.key_era.checked_add(1) == Some(new.key_era) && new.generation == 0
    };
    if !same_chain || !step {
        return refused(Reason::ChainStep);
    }
    if same_era && record.suite != previous.suite {
        return refused(Reason::ChainSuite);
    }
    let kept = record.group_key == previous.group_key;
    let both_without = record.group_key.is_empty() && previous.group_key.is_empty();
    if same_era != kept && !both_without {
        return refused(Reason::ChainGroupKey);
    }
    if record.valid_from < previous.valid_from {
        return refused(Reason::ChainWindow);
    }
    Ok(())
}

/// No two eras share a group key, in one chain or across chains.
///
/// # Errors
/// `ChainGroupKey`.
pub(super) fn check_group_keys<'a>(
    records: impl IntoIterator<Item = &'a Record>,
) -> Result<(), Error> {
    let mut owners: BTreeMap<&[u8], (u32, [u8; 32], u64)> = BTreeMap::new();
    for record in records {
        if record.group_key.is_empty() {
            continue;
        }
        let era = (
            record.key.network_id,
            record.key.chain_id,
            record.key.key_era,
        );
        if *owners.entry(&record.group_key).or_insert(era) != era {
            return Err(Error::rejected(Reason::ChainGroupKey));
        }
    }
    Ok(())
}
