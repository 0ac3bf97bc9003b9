//! Checks of a genesis that need no keys decoded.

use super::*;

/// Everything but keys, proofs and chains of records.
pub(super) fn structure(spec: &GenesisSpec) -> Result<(), GenesisError> {
    limits(spec)?;
    chains(spec)?;
    validators(spec)?;
    record(spec)
}

fn limits(spec: &GenesisSpec) -> Result<(), GenesisError> {
    let (block, pulse) = (&spec.block, &spec.pulse);
    let fields = [
        (is_name(&spec.name), "name"),
        (
            (1..=VALIDATORS_MAX).contains(&spec.validators.len()),
            "validators",
        ),
        (spec.sources.len() <= SOURCES_MAX, "sources"),
        (
            (10..=60_000).contains(&block.interval_ms),
            "block.interval_ms",
        ),
        (
            (BLOCK_BYTES_MIN..=BLOCK_LEN_MAX).contains(&block.bytes_max),
            "block.bytes_max",
        ),
        (
            (16..=TRANSACTIONS_MAX).contains(&block.transactions_max),
            "block.transactions_max",
        ),
        (
            (1..=BATCHES_MAX).contains(&usize::from(pulse.live_batches)),
            "pulse.live_batches",
        ),
        ((1..=64).contains(&pulse.count), "pulse.count"),
        ((1..=WINDOW_MAX).contains(&pulse.window), "pulse.window"),
        (
            (1..=WINDOW_MAX).contains(&pulse.sign_window),
            "pulse.sign_window",
        ),
        (pulse.decay_blocks != 0, "pulse.decay_blocks"),
    ];
    match fields.into_iter().find(|(good, _)| !good) {
        Some((_, field)) => Err(GenesisError::Field { field }),
        None => Ok(()),
    }
}

fn chains(spec: &GenesisSpec) -> Result<(), GenesisError> {
    if spec.chain_id == [0; 32] {
        return Err(GenesisError::ChainId { field: "chain_id" });
    }
    for source in &spec.sources {
        let policy = &source.policy;
        let own = policy.network_id == spec.network_id && policy.chain_id == spec.chain_id;
        if own || policy.chain_id == [0; 32] {
            return Err(GenesisError::ChainId {
                field: "source.chain_id",
            });
        }
        let foreign = |anchor: &Record| {
            anchor.key.network_id != policy.network_id || anchor.key.chain_id != policy.chain_id
        };
        if source.anchors.is_empty() || source.anchors.iter().any(foreign) {
            return Err(GenesisError::RecordMismatch {
                field: "source.anchors",
            });
        }
    }
    Ok(())
}

fn validators(spec: &GenesisSpec) -> Result<(), GenesisError> {
    for (index, validator) in spec.validators.iter().enumerate() {
        if !is_name(&validator.name) {
            return Err(GenesisError::Member {
                field: "name",
                index,
            });
        }
        if ed25519::VerifyingKey::from_bytes(&validator.identity).is_err() {
            return Err(GenesisError::Member {
                field: "identity",
                index,
            });
        }
        if validator.address.port() == 0 {
            return Err(GenesisError::Member {
                field: "address",
                index,
            });
        }
        let earlier = spec.validators.iter().take(index);
        for other in earlier {
            let same = [
                (other.name == validator.name, "name"),
                (other.identity == validator.identity, "identity"),
                (other.address == validator.address, "address"),
                (
                    other.consensus_key == validator.consensus_key,
                    "consensus_key",
                ),
                (
                    other.sealing_x25519 == validator.sealing_x25519,
                    "sealing_x25519",
                ),
                (
                    other.sealing_mlkem768 == validator.sealing_mlkem768,
                    "sealing_mlkem768",
                ),
            ];
            if let Some((_, field)) = same.into_iter().find(|(same, _)| *same) {
                return Err(GenesisError::Duplicate { field, index });
            }
        }
        // One key for votes and certificates would let a vote be taken for a certificate's signer.
        let certificate = |key: &[u8; MLDSA65_KEY_LEN]| *key == *validator.consensus_key;
        let mut keys = spec
            .record
            .members
            .iter()
            .filter_map(|m| m.mldsa_key.as_deref());
        if keys.any(certificate) {
            return Err(GenesisError::Duplicate {
                field: "consensus_key",
                index,
            });
        }
    }
    Ok(())
}

fn record(spec: &GenesisSpec) -> Result<(), GenesisError> {
    let record = &spec.record;
    record.check().map_err(GenesisError::Registry)?;
    let same = [
        (record.key.network_id == spec.network_id, "network_id"),
        (record.key.chain_id == spec.chain_id, "chain_id"),
        (record.members.len() == spec.validators.len(), "validators"),
        (record.previous == [0; 32], "previous"),
        (!record.group_key.is_empty(), "group_key"),
        (
            record.valid_from == 0 && record.valid_until.is_none(),
            "validity",
        ),
    ];
    if let Some((_, field)) = same.into_iter().find(|(same, _)| !same) {
        return Err(GenesisError::RecordMismatch { field });
    }
    let total = record
        .members
        .iter()
        .map(|m| u128::from(m.weight))
        .sum::<u128>();
    let (least, sum) = lightest(record).ok_or(GenesisError::Threshold {
        lightest: 0,
        total: u64::try_from(total).unwrap_or(u64::MAX),
    })?;
    if 3 * u128::from(least) <= 2 * u128::from(sum) {
        return Err(GenesisError::Threshold {
            lightest: least,
            total: sum,
        });
    }
    Ok(())
}

/// The certificate keys, of which every validator must have one.
pub(super) fn member_keys(record: &Record) -> Result<Vec<mldsa::VerifyingKey>, GenesisError> {
    let key = |(index, member): (usize, &horizon_warp::registry::Member)| {
        let bad = GenesisError::Member {
            field: "mldsa_key",
            index,
        };
        let bytes = member.mldsa_key.as_deref().ok_or(bad.clone())?;
        mldsa::VerifyingKey::from_bytes(mldsa::ParameterSet::MlDsa65, bytes).map_err(|_| bad)
    };
    record.members.iter().enumerate().map(key).collect()
}

/// Least weight of a set of members whose points reach the threshold, and the total.
///
/// With one point each these are the `t` lightest members. In general it is the smallest sum over
/// all sets, found point by point: `best[p]` is the least weight that holds at least `p` points.
pub(super) fn lightest(record: &Record) -> Option<(u64, u64)> {
    let need = usize::try_from(record.threshold).ok()?;
    if need == 0 || need > POINTS_MAX {
        return None;
    }
    let mut best: Vec<Option<u64>> = vec![None; need.checked_add(1)?];
    *best.first_mut()? = Some(0);
    let mut total: u64 = 0;
    for member in &record.members {
        total = total.checked_add(member.weight)?;
        let points = usize::try_from(member.points).ok()?;
        if points == 0 {
            continue;
        }
        // Downwards, so that a member counts once.
        for have in (1..=need).rev() {
            let before = best.get(have.saturating_sub(points)).copied().flatten();
            let with = before.and_then(|weight| weight.checked_add(member.weight));
            let slot = best.get_mut(have)?;
            *slot = match (*slot, with) {
                (Some(old), Some(new)) => Some(old.min(new)),
                (old, new) => old.or(new),
            };
        }
    }
    Some((best.get(need).copied().flatten()?, total))
}

fn is_name(name: &str) -> bool {
    let printable = name.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    (1..=NAME_LEN_MAX).contains(&name.len()) && printable
}

/// Longest window of the signing ledger, blocks.
const WINDOW_MAX: u64 = 10_000;
/// Most points of a committee.
const POINTS_MAX: usize = 1_024;
