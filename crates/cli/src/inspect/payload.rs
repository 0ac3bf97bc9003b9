//! Payloads: each type on request, and which types a payload decodes as.

use horizon_warp::Error;
use horizon_warp::limits::ROUTE_HOP_COUNT_MAX;
use horizon_warp::payload::{
    AddressedCall, AssetLock, AtomicSwap, ChainToL1Conversion, HashPayload,
    L1ValidatorRegistration, L1ValidatorWeight, MultiHopRoute, RegisterL1Validator, Routed,
    Teleport,
};
use serde_json::{Value, json};

use super::envelope::rlp_fields;
use super::walk::{Part, Walk};
use super::{Fault, Field, Kind, PayloadKind, Report};

impl PayloadKind {
    /// Every type.
    pub const ALL: [Self; 12] = [
        Self::Call,
        Self::Hash,
        Self::Routed,
        Self::Teleport,
        Self::TeleportFixed,
        Self::Swap,
        Self::Route,
        Self::AssetLock,
        Self::L1Registration,
        Self::RegisterL1,
        Self::L1Conversion,
        Self::L1Weight,
    ];

    /// Stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Hash => "hash",
            Self::Routed => "routed",
            Self::Teleport => "teleport",
            Self::TeleportFixed => "teleport-fixed",
            Self::Swap => "swap",
            Self::Route => "route",
            Self::AssetLock => "asset-lock",
            Self::L1Registration => "l1-registration",
            Self::RegisterL1 => "register-l1",
            Self::L1Conversion => "l1-conversion",
            Self::L1Weight => "l1-weight",
        }
    }
}

/// The types a payload decodes as. Often more than one: only the receiver knows which is meant.
pub(super) fn readings(bytes: &[u8]) -> Vec<&'static str> {
    let decodes = |kind: &PayloadKind| decode(bytes, *kind).is_ok();
    let kinds = PayloadKind::ALL.into_iter().filter(decodes);
    kinds.map(PayloadKind::name).collect()
}

pub(super) fn inspect(bytes: &[u8], kind: PayloadKind) -> Report {
    let (facts, fault) = match decode(bytes, kind) {
        Ok(decoded) => (vec![("payload", json!(decoded))], None),
        Err(error) => (Vec::new(), Some(Fault::from(error))),
    };
    Report {
        kind: Kind::Payload(kind),
        fields: fields(bytes, kind),
        facts: [facts, vec![("bytes", Value::from(bytes.len()))]].concat(),
        fault,
    }
}

/// The decoded value for a person.
fn decode(bytes: &[u8], kind: PayloadKind) -> Result<String, Error> {
    Ok(match kind {
        PayloadKind::Call => format!("{:?}", AddressedCall::parse(bytes)?),
        PayloadKind::Hash => format!("{:?}", HashPayload::parse(bytes)?),
        PayloadKind::Routed => format!("{:?}", Routed::parse(bytes)?),
        PayloadKind::Teleport => format!("{:?}", Teleport::parse_rlp(bytes)?),
        PayloadKind::TeleportFixed => format!("{:?}", Teleport::parse_fixed(bytes)?),
        PayloadKind::Swap => format!("{:?}", AtomicSwap::parse(bytes)?),
        PayloadKind::Route => format!("{:?}", MultiHopRoute::parse(bytes)?),
        PayloadKind::AssetLock => format!("{:?}", AssetLock::parse(bytes)?),
        PayloadKind::L1Registration => format!("{:?}", L1ValidatorRegistration::parse(bytes)?),
        PayloadKind::RegisterL1 => format!("{:?}", RegisterL1Validator::parse(bytes)?),
        PayloadKind::L1Conversion => format!("{:?}", ChainToL1Conversion::parse(bytes)?),
        PayloadKind::L1Weight => format!("{:?}", L1ValidatorWeight::parse(bytes)?),
    })
}

fn fields(bytes: &[u8], kind: PayloadKind) -> Vec<Field> {
    let list = |list, names: &[&'static str]| rlp_fields(bytes, list, names);
    let fixed = |parts: &[(&'static str, Part)]| {
        let mut walk = Walk::new(bytes, 0, 0);
        let _ = walk.parts(parts);
        walk.remainder("rest");
        walk.fields
    };
    match kind {
        PayloadKind::Call => list("addressed_call", &["source_address", "payload"]),
        PayloadKind::Hash => list("hash_payload", &["hash"]),
        PayloadKind::L1Registration => list("l1_registration", &["valid", "validation"]),
        PayloadKind::L1Weight => list("l1_weight", &["validation_id", "nonce", "weight"]),
        PayloadKind::RegisterL1 => list(
            "register_l1",
            &[
                "chain_id",
                "node_id",
                "weight",
                "bls_key",
                "registration_time",
            ],
        ),
        PayloadKind::L1Conversion => list(
            "l1_conversion",
            &["chain_id", "manager_chain_id", "address", "managers"],
        ),
        PayloadKind::Teleport => list("teleport", &TELEPORT.map(|(name, _)| name)),
        PayloadKind::TeleportFixed => fixed(&TELEPORT),
        PayloadKind::Routed => fixed(&ROUTED),
        PayloadKind::Swap => fixed(&SWAP),
        PayloadKind::AssetLock => fixed(&LOCK),
        PayloadKind::Route => {
            let mut walk = Walk::new(bytes, 0, 0);
            let count = walk.number("route.count", 4).unwrap_or_default();
            let hops = count.min(u64::from(ROUTE_HOP_COUNT_MAX));
            let _ = (0..hops).try_for_each(|_| walk.parts(&HOP));
            walk.remainder("rest");
            walk.fields
        }
    }
}

const ROUTED: [(&str, Part); 9] = [
    ("routed.version", Part::Bytes(4)),
    ("routed.destination_network", Part::Number(4)),
    ("routed.destination_chain", Part::Bytes(32)),
    ("routed.channel", Part::Bytes(32)),
    ("routed.nonce", Part::Number(8)),
    ("routed.expiry_height", Part::Number(8)),
    ("routed.sender", Part::Prefixed(2)),
    ("routed.recipient", Part::Prefixed(2)),
    ("routed.body", Part::Prefixed(4)),
];

/// Sizes of the fixed form; the RLP form has the same fields in the same order.
const TELEPORT: [(&str, Part); 7] = [
    ("teleport.version", Part::Number(1)),
    ("teleport.destination_chain", Part::Number(8)),
    ("teleport.token", Part::Bytes(20)),
    ("teleport.amount", Part::Bytes(32)),
    ("teleport.recipient", Part::Bytes(20)),
    ("teleport.vault_is_zero", Part::Number(1)),
    ("teleport.nonce", Part::Number(8)),
];

const SWAP: [(&str, Part); 13] = [
    ("swap.version", Part::Number(1)),
    ("swap.operation", Part::Number(1)),
    ("swap.id", Part::Bytes(32)),
    ("swap.source_chain", Part::Bytes(32)),
    ("swap.destination_chain", Part::Bytes(32)),
    ("swap.sender", Part::Prefixed(4)),
    ("swap.recipient", Part::Prefixed(4)),
    ("swap.asset", Part::Bytes(32)),
    ("swap.amount", Part::Bytes(32)),
    ("swap.minimum_receive", Part::Bytes(32)),
    ("swap.deadline", Part::Number(8)),
    ("swap.nonce", Part::Number(8)),
    ("swap.data", Part::Prefixed(4)),
];

const HOP: [(&str, Part); 5] = [
    ("route.token_in", Part::Bytes(20)),
    ("route.token_out", Part::Bytes(20)),
    ("route.fee", Part::Number(4)),
    ("route.tick_spacing", Part::Number(4)),
    ("route.hooks", Part::Bytes(20)),
];

const LOCK: [(&str, Part); 7] = [
    ("lock.tx_id", Part::Bytes(32)),
    ("lock.output_index", Part::Number(4)),
    ("lock.asset_id", Part::Bytes(32)),
    ("lock.amount", Part::Number(8)),
    ("lock.script", Part::Prefixed(4)),
    ("lock.hash_lock", Part::Bytes(32)),
    ("lock.time_lock", Part::Number(8)),
];
