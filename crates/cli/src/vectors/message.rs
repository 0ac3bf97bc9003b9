//! Warp 1: messages, signer bit sets, quorums, verification, signature requests.

use horizon_hash::sponge::shake256;
use horizon_sig::bls;
use horizon_warp::policy::{Policy, SourceConfig, Tier};
use horizon_warp::prism::Context as PrismContext;
use horizon_warp::registry::{Member, Record, RecordKey};
use horizon_warp::request::{SignatureRequest, SignatureResponse};
use horizon_warp::{
    Beam, Class, Envelope, Message, Quorum, Reason, Registry, SignerSet, Signers, State, SuiteId,
    UnsignedMessage, verify_bytes,
};
use serde_json::Value;

use super::Context;
use super::fields::{Checked, Fields, Mismatch, Verdict, fault, in_field, list, same, sha256};

/// Fields, encodings and identifiers of a message, and decoding it again.
pub(super) fn check_message(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let payload = payload(case)?;
    let unsigned = unsigned(case, &payload)?;
    same_bytes(case, "unsigned_bytes", &unsigned.encode())?;
    same("unsigned_id", &unsigned.id(), &case.array("unsigned_id")?)?;
    let signers = case.bytes("signers")?;
    let signature = case.array("signature")?;
    same(
        "signature_bytes",
        &case.array("signature_bytes")?,
        &signature,
    )?;
    let signers = Signers::new(&signers).map_err(refused)?;
    let beam = Beam {
        signers,
        signature: &signature,
    };
    let message = Message::new(unsigned, beam);
    let wire = message.encode();
    same_bytes(case, "message_bytes", &wire)?;
    same("message_id", &message.id(), &case.array("message_id")?)?;
    let parsed = Message::parse(&wire).map_err(refused);
    same(
        "parse_error",
        &parsed.is_ok(),
        &case.get("parse_error")?.is_null(),
    )?;
    let equal = parsed? == message;
    same("reparse_equal", &equal, &case.flag("reparse_equal")?)?;
    Ok(Verdict::Equal)
}

fn payload(case: &Fields<'_>) -> Result<Vec<u8>, Mismatch> {
    if case.has("payload") {
        return case.bytes("payload");
    }
    let len = case.size("payload_len")?;
    if len > horizon_warp::limits::ENVELOPE_LEN_MAX {
        return Err(fault("payload_len: too large"));
    }
    let mut payload = vec![0; len];
    shake256(&[case.text("payload_label")?.as_bytes()], &mut payload);
    same(
        "payload_sha256",
        &sha256(&payload),
        &case.array("payload_sha256")?,
    )?;
    Ok(payload)
}

/// The message that the fields `network_id` and `source_chain_id` describe.
pub(super) fn unsigned<'p>(
    case: &Fields<'_>,
    payload: &'p [u8],
) -> Result<UnsignedMessage<'p>, Mismatch> {
    let (network, chain) = (network(case)?, case.array("source_chain_id")?);
    UnsignedMessage::new(network, chain, payload).map_err(refused)
}

fn network(case: &Fields<'_>) -> Result<u32, Mismatch> {
    u32::try_from(case.number("network_id")?).map_err(|_| fault("network_id: too large"))
}

/// Compares with hex, or with an object of length, hash, and the first and last 64 bytes.
fn same_bytes(case: &Fields<'_>, name: &str, ours: &[u8]) -> Result<(), Mismatch> {
    if case.get(name)?.is_string() {
        return same(name, &ours, &case.bytes(name)?.as_slice());
    }
    let digest = case.object(name)?;
    same(name, &sha256(ours), &digest.array("sha256")?)?;
    same(&format!("{name}.len"), &ours.len(), &digest.size("len")?)?;
    let (first, last) = (digest.bytes("first64")?, digest.bytes("last64")?);
    same(&format!("{name}.first64"), &ours.starts_with(&first), &true)?;
    same(&format!("{name}.last64"), &ours.ends_with(&last), &true)
}

/// The size limit of an unsigned message, from both sides.
pub(super) fn check_size(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let len = case.size("zero_payload_len")?;
    if len > horizon_warp::limits::ENVELOPE_LEN_MAX {
        return Err(fault("zero_payload_len: too large"));
    }
    let payload = vec![0; len];
    let ours = UnsignedMessage::new(network(case)?, case.array("source_chain_id")?, &payload);
    let expected = case.size("encoded_len")?;
    same(
        "verify_error",
        &ours.is_ok(),
        &case.get("verify_error")?.is_null(),
    )?;
    match ours {
        Ok(message) => same("encoded_len", &message.encode().len(), &expected)?,
        Err(error) => {
            same("reason", &error.reason(), &Reason::UnsignedTooLarge)?;
            // What the encoding would be: three items of which only the payload's length varies.
            let limit = horizon_warp::limits::UNSIGNED_LEN_MAX;
            same("encoded_len above the limit", &(expected > limit), &true)?;
            let net = UnsignedMessage::new(network(case)?, [1; 32], &[]).map_err(refused)?;
            let items = net.encode().len() - 1 + 4 + len;
            same("encoded_len", &(items - 1 + 4), &expected)?;
        }
    }
    Ok(Verdict::Equal)
}

/// Decoding of a signed message. The reference also accepts padded signer sets.
pub(super) fn check_parse(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let wire = case.bytes("bytes")?;
    let accepted = accepted(case)?;
    same(
        "parse_envelope_error",
        &case.get("parse_envelope_error")?.is_null(),
        &case.flag("parse_envelope_ok")?,
    )?;
    let (ours, lifted) = (Message::parse(&wire), Envelope::parse(&wire));
    let reencoded = case.has("reencoded").then(|| case.bytes("reencoded"));
    let id = case.has("id").then(|| case.array("id"));
    match ours {
        Ok(message) => {
            same("ok", &true, &accepted)?;
            let lifted = lifted.map_err(refused)?;
            same("parse_envelope_ok", &true, &case.flag("parse_envelope_ok")?)?;
            same("the lifted envelope", &lifted, &Envelope::lift(message))?;
            same(
                "reencoded",
                &Some(message.encode()),
                &reencoded.transpose()?,
            )?;
            same("id", &Some(message.id()), &id.transpose()?)?;
            Ok(Verdict::Equal)
        }
        Err(error) => {
            if accepted {
                same(
                    "ours is stricter",
                    &error.reason(),
                    &Reason::NonCanonicalSigners,
                )?;
            }
            if lifted.is_ok() {
                return Err(fault("decodes as an envelope but not as a message"));
            }
            Ok(strict_if(accepted))
        }
    }
}

pub(super) fn check_parse_unsigned(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let wire = case.bytes("bytes")?;
    let accepted = accepted(case)?;
    let ours = UnsignedMessage::parse(&wire);
    same("ok", &ours.is_ok(), &accepted)?;
    if let Ok(message) = ours {
        same("the second encoding", &message.encode(), &wire)?;
    }
    Ok(Verdict::Equal)
}

/// The flag `ok`, which must agree with `error` and `panic`.
pub(super) fn accepted(case: &Fields<'_>) -> Result<bool, Mismatch> {
    let accepted = case.flag("ok")?;
    let panicked = case
        .find("panic")
        .and_then(Value::as_str)
        .is_some_and(|panic| !panic.is_empty());
    let clean = case.get("error")?.is_null() && !panicked;
    same("error", &clean, &accepted)?;
    Ok(accepted)
}

pub(super) fn strict_if(strict: bool) -> Verdict {
    if strict {
        Verdict::Strict
    } else {
        Verdict::Equal
    }
}

pub(super) fn refused(error: impl core::fmt::Display) -> Mismatch {
    fault(&format!("we refuse it: {error}"))
}

/// Bit sets: as bytes, as indices, and the set operations.
pub(super) fn check_bit_set(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let set = |name| SignerSet::from_bytes_trimmed(&case.bytes(name)?).map_err(refused);
    let (a, b) = (set("a_bytes")?, set("b_bytes")?);
    let view = a.as_signers();
    same("equal", &(a == b), &case.flag("equal")?)?;
    same("len", &u64::from(view.count()), &case.number("len")?)?;
    let highest = u64::from(view.highest_plus_one());
    same("highest_plus1", &highest, &case.number("highest_plus1")?)?;
    if case.has("contains_0_7_8") {
        let ours = [0, 7, 8].map(|index| Value::Bool(view.contains(index)));
        same(
            "contains_0_7_8",
            &ours.as_slice(),
            &case.list("contains_0_7_8")?,
        )?;
        return Ok(Verdict::Equal);
    }
    for (name, set) in [
        ("union", a.union(&b)),
        ("intersection", a.intersection(&b)),
        ("difference", a.difference(&b)),
    ] {
        same(
            name,
            &set.as_signers().as_bytes(),
            &case.bytes(name)?.as_slice(),
        )?;
    }
    for (name, set) in [("a", &a), ("b", &b)] {
        // The reference ignores negative indices; ours cannot express them.
        let indices = case.list(name)?.iter().filter_map(Value::as_u64);
        let indices: Result<Vec<u32>, _> = indices.map(u32::try_from).collect();
        let indices = indices.map_err(|_| fault("an index is too large"))?;
        let built = SignerSet::from_indices(indices).map_err(refused)?;
        same(name, &built, set)?;
    }
    let bits = view.as_bytes().len() * 8;
    same("bit_len", &bits, &case.size("bit_len")?)?;
    let names: Vec<String> = view.iter().map(|index| index.to_string()).collect();
    let text = if names.is_empty() {
        "{}".to_owned()
    } else {
        format!("[{}]", names.join(" "))
    };
    same("string", &text.as_str(), &case.text("string")?)?;
    Ok(Verdict::Equal)
}

/// `signed / total >= num / den`. The reference accepts quorums of 0 and above 1, and fails where
/// 64 bits do not hold its products; ours refuses the former and decides the latter exactly.
pub(super) fn check_weight(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let accepted = accepted(case)?;
    let (num, den) = (case.number("num")?, case.number("den")?);
    let (signed, total) = (case.number("signed")?, case.number("total")?);
    let Ok(quorum) = Quorum::new(num, den) else {
        let unusable = num == 0 || den == 0 || num > den;
        same("our refusal of the quorum", &unusable, &true)?;
        return Ok(strict_if(accepted));
    };
    let ours = quorum.check(signed, total).is_ok();
    if ours && !accepted {
        let overflow = case.text("error")?.contains("overflow");
        same(
            "ours is exact where the reference overflows",
            &overflow,
            &true,
        )?;
        return Ok(Verdict::Strict);
    }
    same("ok", &ours, &accepted)?;
    Ok(Verdict::Equal)
}

/// Full verification of a signed message against a validator set, through Prism.
pub(super) fn check_verify(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let accepted = accepted(case)?;
    let note = case.text("note")?;
    let quorum = (case.number("num")?, case.number("den")?);
    let members = members(case.list("validators_canonical_order")?)?;
    if case.has("signer_indices") {
        check_signer_indices(case, note)?;
    }
    let wire = case.bytes("message")?;
    let verdict = verify(&wire, members, quorum, network(case)?);
    match (accepted, verdict) {
        (true, Ok(state)) => {
            same("verdict", &state, &State::BeamFinal)?;
            Ok(Verdict::Equal)
        }
        (true, Err(reason)) => {
            let lax =
                reason == Reason::NonCanonicalSigners || Quorum::new(quorum.0, quorum.1).is_err();
            if !lax {
                return Err(fault(&format!("ok differs: we refuse it as {reason:?}")));
            }
            Ok(Verdict::Strict)
        }
        (false, Ok(_)) => Err(fault("ok differs: we accept it")),
        (false, Err(reason)) => {
            check_reason(case.text("error")?, note, reason)?;
            Ok(Verdict::Equal)
        }
    }
}

/// In honest cases the message's bit set names exactly these validators.
fn check_signer_indices(case: &Fields<'_>, note: &str) -> Result<(), Mismatch> {
    let indices = case.numbers("signer_indices")?;
    if note != "honest" {
        return Ok(());
    }
    let wire = case.bytes("message")?;
    let message = Message::parse(&wire).map_err(refused)?;
    let ours: Vec<u64> = message.beam().signers.iter().map(u64::from).collect();
    same("signer_indices", &ours, &indices)
}

/// Our reason has to be the one that the reference's message describes.
fn check_reason(error: &str, note: &str, reason: Reason) -> Result<(), Mismatch> {
    let rows = [
        ("signer index", Class::SignerIndex),
        ("network ID", Class::InvalidMessage),
        ("parse signature", Class::SigParse),
        ("validator set", Class::ValidatorSet),
        ("invalid signature", Class::SigVerify),
        ("insufficient weight", Class::InsufficientWeight),
    ];
    // Padded signer sets do not decode here, and infinity is no signature; a quorum that cannot be
    // is a fault of the policy.
    let ours_first = reason == Reason::NonCanonicalSigners
        || (reason.class() == Class::SigParse && note == "identity signature")
        || reason.class() == Class::Policy;
    if ours_first {
        return Ok(());
    }
    let known = rows.iter().find(|(text, _)| error.contains(text));
    match known {
        Some((_, class)) => same(
            &format!("reason {reason:?} for \"{error}\""),
            &reason.class(),
            class,
        ),
        None => Err(fault(&format!("error \"{error}\" is not known"))),
    }
}

fn verify(
    wire: &[u8],
    members: Vec<Member>,
    quorum: (u64, u64),
    network: u32,
) -> Result<State, Reason> {
    let message = Message::parse(wire).map_err(|error| error.reason())?;
    let unsigned = message.unsigned();
    let record = record(unsigned.network_id(), *unsigned.source_chain_id(), members);
    let config = config(&record, Tier::Classical, quorum);
    let policy = Policy::new(&[config]).map_err(|error| error.reason())?;
    let registry = Registry::load(vec![record], &policy.pins()).map_err(|error| error.reason())?;
    let context = PrismContext {
        message_generation: Some((1, 0)),
        ..PrismContext::new(network, 0, 0)
    };
    verify_bytes(wire, &registry, &policy, &context)
        .map(|verdict| verdict.state())
        .map_err(|refusal| refusal.reason())
}

/// Validators with their secret keys, from which the proofs of possession are made.
pub(super) fn members(listed: &[Value]) -> Result<Vec<Member>, Mismatch> {
    let members = listed.iter().enumerate().map(|(index, validator)| {
        let name = format!("validators[{index}]");
        let validator = in_field(&name, Fields::of(validator))?;
        let key = bls::SigningKey::from_bytes(&validator.bytes("sk")?).map_err(refused)?;
        let public = key.verifying_key().to_bytes();
        same(&format!("{name}.pk"), &public, &validator.array("pk")?)?;
        Ok(Member {
            bls_key: public,
            possession: key.prove_possession().to_bytes(),
            mldsa_key: None,
            weight: validator.number("weight")?,
            points: 0,
            node_id: validator.array("node_id")?,
            operator: String::new(),
        })
    });
    members.collect()
}

/// A record of these validators, without a group key.
pub(super) fn record(network_id: u32, chain_id: [u8; 32], members: Vec<Member>) -> Record {
    Record {
        key: RecordKey {
            network_id,
            chain_id,
            key_era: 1,
            generation: 0,
        },
        suite: SuiteId::PulsarSha3,
        group_key: vec![],
        threshold: 0,
        valid_from: 0,
        valid_until: None,
        issued_at_s: 0,
        previous: [0; 32],
        members,
    }
}

/// A policy for one source, as lax as the reference's options.
pub(super) fn config(record: &Record, tier: Tier, beam_quorum: (u64, u64)) -> SourceConfig {
    SourceConfig {
        tier,
        beam_quorum,
        validators_min: 1,
        threshold_min: 1,
        ..SourceConfig::new(
            record.key.network_id,
            record.key.chain_id,
            record.hash().unwrap_or([1; 32]),
        )
    }
}

/// The reference finds its own key by address and never by value, so it cannot sign. Ours finds it.
pub(super) fn check_sign_quirk(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let error = case.text("error")?;
    same("error", &error.contains("not found"), &true)?;
    let mut scalar = [0; 32];
    scalar[31] = 7;
    let key = || bls::SigningKey::from_bytes(&scalar).map_err(refused);
    let (one, two) = (key()?, key()?);
    let found = one.verifying_key() == two.verifying_key();
    same("our search by value", &found, &true)?;
    Ok(Verdict::Strict)
}

/// Requests. The reference frames any bytes as a response; ours holds a signature of 96 bytes.
pub(super) fn check_request(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let (message, justification) = (case.bytes("message")?, case.bytes("justification")?);
    let request = SignatureRequest {
        message: &message,
        justification: &justification,
    };
    let wire = case.bytes("request")?;
    same("request", &request.encode().map_err(refused)?, &wire)?;
    let parsed = SignatureRequest::parse(&wire).map_err(refused)?;
    same("the decoded request", &parsed, &request)?;
    let response = case.bytes("response")?;
    let len = u32::try_from(message.len()).map_err(|_| fault("message: too long"))?;
    let framed = [&len.to_be_bytes()[..], &message].concat();
    same("response", &response, &framed)?;
    match SignatureResponse::parse(&response) {
        Ok(parsed) => same("the decoded response", &parsed.encode(), &response)?,
        Err(error) => same("reason", &error.reason(), &Reason::ResponseLength)?,
    }
    Ok(strict_if(message.len() != 96))
}

/// Requests that are wrong; some make the reference panic.
pub(super) fn check_request_parse(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let wire = case.bytes("bytes")?;
    let accepted = accepted(case)?;
    let panicked = !case.text("panic")?.is_empty();
    match SignatureRequest::parse(&wire) {
        Ok(request) => {
            same("ok", &true, &accepted)?;
            same(
                "the second encoding",
                &request.encode().map_err(refused)?,
                &wire,
            )?;
            Ok(Verdict::Equal)
        }
        Err(error) => {
            same("class", &error.class(), &Class::Request)?;
            Ok(strict_if(accepted || panicked))
        }
    }
}

/// Hex texts of a list.
pub(super) fn byte_lists(case: &Fields<'_>, name: &str) -> Result<Vec<Vec<u8>>, Mismatch> {
    list(case.get(name)?)?
        .iter()
        .map(|item| in_field(name, super::fields::bytes(item)))
        .collect()
}
