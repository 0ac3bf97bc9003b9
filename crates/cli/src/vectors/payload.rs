//! Payloads: typed RLP payloads, swaps, routes, locks, teleports.

use horizon_warp::payload::{
    AddressedCall, AssetLock, AtomicSwap, ChainToL1Conversion, HashPayload, Hop,
    L1ValidatorRegistration, L1ValidatorWeight, MultiHopRoute, Operation, RegisterL1Validator,
    Teleport,
};
use horizon_warp::{Class, Reason, UnsignedMessage, rlp};
use serde_json::Value;

use super::Context;
use super::fields::{Checked, Fields, Mismatch, Verdict, fault, in_field, same};
use super::message::{accepted, byte_lists, refused, strict_if};

/// A payload built from its fields, and what the reference's guessing decoder says of it.
pub(super) fn check_build(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let kind = case.text("kind")?;
    let fields = case.object("fields")?;
    let built = build(kind, &fields)?;
    if let Some(name) = fields.unseen().first() {
        return Err(fault(&format!("fields.{name} has no check")));
    }
    let accepted = case.get("error")?.is_null();
    if !case.has("bytes") {
        same("error", &accepted, &false)?;
        same("our refusal", &built.is_none(), &true)?;
        return Ok(Verdict::Equal);
    }
    same("error", &accepted, &true)?;
    let wire = case.bytes("bytes")?;
    if let Some((encoded, decoded)) = &built {
        same("bytes", encoded, &wire)?;
        same("decoding of our encoding", decoded, &true)?;
    }
    let guessed = guess(&wire);
    same(
        "parse_payload_type",
        &guessed.unwrap_or("<nil>"),
        &case.text("parse_payload_type")?,
    )?;
    same(
        "parse_payload_error",
        &guessed.is_some(),
        &case.get("parse_payload_error")?.is_null(),
    )?;
    if case.has("parse_payload_reencoded_equal") {
        let equal = case.flag("parse_payload_reencoded_equal")?;
        same("parse_payload_reencoded_equal", &guessed.is_some(), &equal)?;
    }
    // Guessing reads some payloads as another type; ours has no guessing decoder at all.
    let confused = guessed.is_some_and(|guessed| !guessed.ends_with(kind));
    Ok(strict_if(built.is_none() || confused))
}

/// Encodes a payload; none if ours refuses the fields. Says whether decoding gives it back.
fn build(kind: &str, fields: &Fields<'_>) -> Result<Option<(Vec<u8>, bool)>, Mismatch> {
    macro_rules! fixed {
        ($name:literal) => {
            match fields.bytes($name)?.try_into() {
                Ok(bytes) => bytes,
                Err(_) => {
                    fields.skip(&REST);
                    return Ok(None);
                }
            }
        };
    }
    Ok(match kind {
        "AddressedCall" => {
            let (address, payload) = (fields.bytes("source_address")?, fields.bytes("payload")?);
            let call = AddressedCall {
                source_address: &address,
                payload: &payload,
            };
            let wire = call.encode().ok();
            wire.map(|wire| (wire.clone(), AddressedCall::parse(&wire) == Ok(call)))
        }
        "Hash" => {
            let payload = HashPayload {
                hash: fixed!("hash"),
            };
            let wire = payload.encode();
            let same = HashPayload::parse(&wire) == Ok(payload);
            Some((wire, same))
        }
        "L1ValidatorRegistration" => {
            let validation = fields.bytes("validation")?;
            let payload = L1ValidatorRegistration {
                valid: fields.flag("valid")?,
                validation: &validation,
            };
            let wire = payload.encode();
            let same = L1ValidatorRegistration::parse(&wire) == Ok(payload);
            Some((wire, same))
        }
        "RegisterL1Validator" => {
            let key: [u8; 48] = fixed!("bls_public_key");
            let payload = RegisterL1Validator {
                chain_id: fixed!("chain_id"),
                node_id: fixed!("node_id"),
                weight: fields.number("weight")?,
                bls_key: &key,
                registration_time_s: fields.number("registration_time")?,
            };
            let wire = payload.encode().ok();
            wire.map(|wire| {
                (
                    wire.clone(),
                    RegisterL1Validator::parse(&wire) == Ok(payload),
                )
            })
        }
        "ChainToL1Conversion" => {
            let address = fields.bytes("address")?;
            let managers = byte_lists(fields, "managers")?;
            let payload = ChainToL1Conversion {
                chain_id: fixed!("chain_id"),
                manager_chain_id: fixed!("manager_chain_id"),
                address: &address,
                managers: managers.iter().map(Vec::as_slice).collect(),
            };
            let wire = payload.encode();
            let same = ChainToL1Conversion::parse(&wire).as_ref() == Ok(&payload);
            Some((wire, same))
        }
        "L1ValidatorWeight" => {
            let payload = L1ValidatorWeight {
                validation_id: fixed!("validation_id"),
                nonce: fields.number("nonce")?,
                weight: fields.number("weight")?,
            };
            let wire = payload.encode();
            let same = L1ValidatorWeight::parse(&wire) == Ok(payload);
            Some((wire, same))
        }
        other => return Err(fault(&format!("payload kind {other} is unknown"))),
    })
}

/// Fields that need no look once one field is refused.
const REST: [&str; 6] = [
    "bls_public_key",
    "chain_id",
    "node_id",
    "weight",
    "registration_time",
    "manager_chain_id",
];

/// The reference's guessing decoder, only to compare: the first type that decodes wins.
fn guess(bytes: &[u8]) -> Option<&'static str> {
    if AddressedCall::parse(bytes).is_ok() {
        Some("*payload.AddressedCall")
    } else if HashPayload::parse(bytes).is_ok() {
        Some("*payload.Hash")
    } else if L1ValidatorRegistration::parse(bytes).is_ok() {
        Some("*payload.L1ValidatorRegistration")
    } else if loose_register(bytes) == Some(true) {
        Some("*payload.RegisterL1Validator")
    } else {
        None
    }
}

/// A validator registration as the reference reads it: keys and identifiers of any length.
fn loose_register(bytes: &[u8]) -> Option<bool> {
    let mut input = rlp::Decoder::new(bytes, 0);
    let mut fields = input.list("list").ok()?;
    let chain = fields.bytes("chain").ok()?;
    let node = fields.bytes("node").ok()?;
    let weight = fields.u64("weight").ok()?;
    let key = fields.bytes("key").ok()?;
    fields.u64("time").ok()?;
    fields.end_list("list").ok()?;
    input.end_input("list").ok()?;
    Some(chain.len() == 32 && !node.is_empty() && weight > 0 && !key.is_empty())
}

pub(super) fn check_guess(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let wire = case.bytes("bytes")?;
    let accepted = accepted(case)?;
    let guessed = guess(&wire);
    same("ok", &guessed.is_some(), &accepted)?;
    if let Some(name) = guessed {
        same("type", &name, &case.text("type")?)?;
        // Every accepted encoding is canonical, so it is its own second encoding.
        same("reencoded", &wire, &case.bytes("reencoded")?)?;
    }
    Ok(Verdict::Equal)
}

pub(super) fn check_swap(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let wire = case.bytes("bytes")?;
    let ours = AtomicSwap::parse(&wire);
    let valid = case.get("valid_error")?.is_null();
    let reparses = case.flag("reparse_equal")?;
    let swap = match ours {
        Ok(swap) => swap,
        Err(error) => {
            same("valid_error", &false, &valid)?;
            same("class", &error.class(), &Class::Payload)?;
            case.skip(&SWAP_FIELDS);
            return Ok(strict_if(reparses));
        }
    };
    same("valid_error", &true, &valid)?;
    let (sender, recipient) = (case.bytes("sender")?, case.bytes("recipient")?);
    let data = case.bytes("data")?;
    let expected = AtomicSwap {
        operation: operation(case.number("operation")?)?,
        swap_id: case.array("swap_id")?,
        source_chain: case.array("source_chain")?,
        destination_chain: case.array("dest_chain")?,
        sender: &sender,
        recipient: &recipient,
        asset: case.array("asset")?,
        amount: amount(case.text("amount")?).ok_or_else(|| fault("amount: not below 2^256"))?,
        minimum_receive: match case.get("min_receive")?.as_str() {
            None => [0; 32],
            Some(text) => amount(text).ok_or_else(|| fault("min_receive: not below 2^256"))?,
        },
        deadline_s: case.number("deadline")?,
        nonce: case.number("nonce")?,
        data: &data,
    };
    same("the decoded swap", &swap, &expected)?;
    let name = format!("{:?}", swap.operation);
    same(
        "operation_name",
        &name.as_str(),
        &case.text("operation_name")?,
    )?;
    let again = swap.encode().map_err(refused)? == wire;
    same("reparse_equal", &again, &reparses)?;
    Ok(Verdict::Equal)
}

const SWAP_FIELDS: [&str; 13] = [
    "amount",
    "asset",
    "data",
    "deadline",
    "dest_chain",
    "min_receive",
    "nonce",
    "operation",
    "operation_name",
    "recipient",
    "sender",
    "source_chain",
    "swap_id",
];

fn operation(number: u64) -> Result<Operation, Mismatch> {
    use Operation::{Burn, Lock, Mint, Settle, Swap, Unlock};
    let all = [Lock, Unlock, Mint, Burn, Swap, Settle];
    all.into_iter()
        .find(|operation| *operation as u64 == number)
        .ok_or_else(|| fault("operation: unknown"))
}

/// Swaps that are wrong. The reference accepts trailing bytes and unknown operations, and panics on
/// a short body.
pub(super) fn check_swap_parse(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let wire = case.bytes("bytes")?;
    let accepted = accepted(case)?;
    let panicked = !case.text("panic")?.is_empty();
    let valid = case.find("valid_error").is_none_or(Value::is_null);
    match AtomicSwap::parse(&wire) {
        Ok(swap) => {
            same("ok", &true, &accepted)?;
            same("valid_error", &true, &valid)?;
            same(
                "our second encoding",
                &swap.encode().map_err(refused)?,
                &wire,
            )?;
            Ok(Verdict::Equal)
        }
        Err(error) => {
            same("class", &error.class(), &Class::Payload)?;
            if accepted && valid {
                same(
                    "ours is stricter",
                    &error.reason(),
                    &Reason::PayloadTrailing,
                )?;
            }
            Ok(strict_if(accepted || panicked))
        }
    }
}

pub(super) fn check_route(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let wire = case.bytes("bytes")?;
    let hops = match case.get("hops")? {
        Value::Null => Vec::new(),
        _ => case
            .list("hops")?
            .iter()
            .map(|hop| in_field("hops", hop_of(hop)))
            .collect::<Result<_, _>>()?,
    };
    let route = MultiHopRoute { hops };
    same("bytes", &route.encode().map_err(refused)?, &wire)?;
    same("decoding", &MultiHopRoute::parse(&wire), &Ok(route))?;
    Ok(Verdict::Equal)
}

fn hop_of(value: &Value) -> Result<Hop, Mismatch> {
    let hop = Fields::of(value)?;
    let spacing = hop.get("tick_spacing")?.as_i64();
    let spacing = spacing.and_then(|spacing| i32::try_from(spacing).ok());
    let read = Hop {
        token_in: hop.array("token_in")?,
        token_out: hop.array("token_out")?,
        fee: u32::try_from(hop.number("pool_fee")?).map_err(|_| fault("pool_fee: too large"))?,
        tick_spacing: spacing.ok_or_else(|| fault("tick_spacing: 32 bits were expected"))?,
        hooks: hop.array("hooks")?,
    };
    match hop.unseen().first() {
        None => Ok(read),
        Some(name) => Err(fault(&format!("{name} has no check"))),
    }
}

pub(super) fn check_lock(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let wire = case.bytes("bytes")?;
    let script = case.bytes("lock_script")?;
    let index = u32::try_from(case.number("output_index")?);
    let lock = AssetLock {
        tx_id: case.array("tx_id")?,
        output_index: index.map_err(|_| fault("output_index: too large"))?,
        asset_id: case.array("asset_id")?,
        amount: case.number("amount")?,
        script: &script,
        hash_lock: case.array("hash_lock")?,
        time_lock_s: case.number("time_lock")?,
    };
    same("bytes", &lock.encode(), &wire)?;
    same("decoding", &AssetLock::parse(&wire), &Ok(lock))?;
    Ok(Verdict::Equal)
}

/// Both forms of a teleport, and the message around it.
pub(super) fn check_teleport(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let fixed = case.text("kind")? == "teleport90";
    let accepted = case.get("error")?.is_null();
    same("version", &case.number("version")?, &3)?;
    let amount = case.find("amount").and_then(Value::as_str).and_then(amount);
    let (network, chain) = (case.number("network_id")?, case.array("source_chain_id")?);
    let network = u32::try_from(network).map_err(|_| fault("network_id: too large"))?;
    let teleport = Teleport {
        destination_chain: case.number("dest_chain_id")?,
        token: case.array("token")?,
        amount: amount.unwrap_or_default(),
        recipient: case.array("recipient")?,
        vault_is_zero: case.flag("vault_is_zero")?,
        nonce: case.number("nonce")?,
    };
    let encoded = if fixed {
        teleport.encode_fixed()
    } else {
        teleport.encode_rlp()
    };
    // An amount that is negative, missing or too large cannot be expressed.
    let ours = amount.and_then(|_| encoded.ok());
    same("error", &ours.is_some(), &accepted)?;
    let Some(wire) = ours else {
        return Ok(Verdict::Equal);
    };
    same("payload", &wire, &case.bytes("payload")?)?;
    if fixed {
        same("decoding", &Teleport::parse_fixed(&wire), &Ok(teleport))?;
        // Version 1, network, chain, reserved, length and payload of the later message format.
        let canonical = case.bytes("message_c14n")?;
        let head = [&[1], &network.to_be_bytes()[..], &chain].concat();
        same("message_c14n, start", &canonical.starts_with(&head), &true)?;
        same("message_c14n, end", &canonical.ends_with(&wire), &true)?;
        let tag = horizon_hash::domain::warp::ZAP_CORE;
        let hash = keccak256(&[tag, &canonical].concat());
        same("message_hash", &hash, &case.array("message_hash")?)?;
    } else {
        same("decoding", &Teleport::parse_rlp(&wire), &Ok(teleport))?;
        let message = UnsignedMessage::new(network, chain, &wire).map_err(refused)?;
        same(
            "unsigned_message",
            &message.encode(),
            &case.bytes("unsigned_message")?,
        )?;
        same("message_hash", &message.id(), &case.array("message_hash")?)?;
    }
    Ok(Verdict::Equal)
}

/// The reference accepts amounts with leading zeros in RLP.
pub(super) fn check_teleport_parse(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let wire = case.bytes("bytes")?;
    let accepted = accepted(case)?;
    let fixed = case.text("kind")? == "teleport90_parse";
    let ours = if fixed {
        Teleport::parse_fixed(&wire)
    } else {
        Teleport::parse_rlp(&wire)
    };
    match ours {
        Ok(teleport) => {
            same("ok", &true, &accepted)?;
            let again = if fixed {
                teleport.encode_fixed()
            } else {
                teleport.encode_rlp()
            };
            let again = again.map_err(refused)?;
            same("our second encoding", &again, &wire)?;
            if case.has("reencoded") {
                same("reencoded", &again, &case.bytes("reencoded")?)?;
            }
            Ok(Verdict::Equal)
        }
        Err(error) => {
            if accepted {
                same(
                    "ours is stricter",
                    &error.reason(),
                    &Reason::PayloadLeadingZero,
                )?;
                case.skip(&["reencoded"]);
            }
            Ok(strict_if(accepted))
        }
    }
}

/// Decimal text to 32 big-endian bytes; none outside `0..2^256`.
fn amount(text: &str) -> Option<[u8; 32]> {
    let mut out = [0_u8; 32];
    if text.is_empty() {
        return None;
    }
    for digit in text.chars() {
        let mut carry = digit.to_digit(10)?;
        for byte in out.iter_mut().rev() {
            let value = u32::from(*byte) * 10 + carry;
            let [low, high, ..] = value.to_le_bytes();
            *byte = low;
            carry = u32::from(high);
        }
        if carry != 0 {
            return None;
        }
    }
    Some(out)
}

/// Keccak-256 with the first padding of Keccak, which no other part of the product needs.
fn keccak256(input: &[u8]) -> [u8; 32] {
    const RATE: usize = 136;
    let keccak = keccak::Keccak::new();
    let mut state = [0_u64; 25];
    let mut padded = input.to_vec();
    padded.push(1);
    padded.resize(padded.len().next_multiple_of(RATE), 0);
    if let Some(last) = padded.last_mut() {
        *last |= 0x80;
    }
    for block in padded.chunks(RATE) {
        let (words, _) = block.as_chunks::<8>();
        for (lane, word) in state.iter_mut().zip(words) {
            *lane ^= u64::from_le_bytes(*word);
        }
        keccak.with_f1600(|permute| permute(&mut state));
    }
    let mut out = [0; 32];
    let (words, _) = out.as_chunks_mut::<8>();
    for (word, lane) in words.iter_mut().zip(state) {
        *word = lane.to_le_bytes();
    }
    out
}
