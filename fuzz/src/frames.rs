//! Decoders of messages, envelopes, payloads, records, keys, signatures and Lens frames.

use horizon_ledger::genesis::GenesisSpec;
use horizon_ledger::{Block, tx};
use horizon_lens::ed25519::Ed25519;
use horizon_lens::ristretto255::Ristretto255;
use horizon_lens::secp256k1::Secp256k1;
use horizon_lens::wire::{Frame, Header, Kind};
use horizon_lens::{
    Commitments, GroupKey, KeyShare, MemoryLedger, SignatureShare, SigningPackage, Suite, SuiteId,
    dealer, dkg, refresh, repair,
};
use horizon_sig::mldsa::{self, ParameterSet};
use horizon_sig::traits::Verifier;
use horizon_sig::{bls, ed25519, p256, secp256k1, slhdsa};
use horizon_warp::attestation::{CertSet, Groth16Artifact};
use horizon_warp::certificate::HorizonCertificate;
use horizon_warp::payload::{
    AddressedCall, AssetLock, AtomicSwap, ChainToL1Conversion, HashPayload,
    L1ValidatorRegistration, L1ValidatorWeight, MultiHopRoute, RegisterL1Validator, Routed,
    Teleport,
};
use horizon_warp::pulse::PulseFrames;
use horizon_warp::request::{SignatureRequest, SignatureResponse};
use horizon_warp::{Attestation, Envelope, Message, Record, UnsignedMessage, policy, registry};

use super::Target;

macro_rules! targets {
    ($($name:ident,)*) => {
        /// The targets of this file.
        pub const TARGETS: &[Target] = &[$(Target {
            name: stringify!($name),
            body: $name,
        },)*];
    };
}

targets! {
    warp_unsigned,
    warp_message,
    warp_envelope,
    warp_attestation,
    warp_certificate,
    warp_pulse_frames,
    warp_payload,
    warp_routed,
    warp_request,
    warp_record,
    warp_records_json,
    warp_policy_json,
    sig_keys,
    sig_signatures,
    lens_frame,
    lens_keys,
    lens_ledger,
    ledger_transaction,
    ledger_block,
    ledger_genesis_json,
}

/// Whether the bytes were accepted; if so, their second encoding must be the same.
fn again(encoded: Option<Vec<u8>>, data: &[u8]) -> bool {
    match encoded {
        Some(encoded) => {
            assert_eq!(encoded, data);
            true
        }
        None => false,
    }
}

/// An unsigned message.
pub fn warp_unsigned(data: &[u8]) -> bool {
    again(UnsignedMessage::parse(data).ok().map(|m| m.encode()), data)
}

/// A version 1 message.
pub fn warp_message(data: &[u8]) -> bool {
    again(Message::parse(data).ok().map(|m| m.encode()), data)
}

/// An envelope of either version, with what is derived from it.
pub fn warp_envelope(data: &[u8]) -> bool {
    let Ok(envelope) = Envelope::parse(data) else {
        return false;
    };
    let _ = (envelope.id(), envelope.transcript());
    let certificate = HorizonCertificate::from_envelope(&envelope);
    let _ = certificate.check_structure();
    // A message of version 1 is lifted, so its second encoding is one of version 2.
    envelope.version() != 2 || again(Some(envelope.encode()), data)
}

/// The attestation lane.
pub fn warp_attestation(data: &[u8]) -> bool {
    let _ = Groth16Artifact::parse(data);
    again(CertSet::parse(data).ok().map(|set| set.encode()), data)
        | Attestation::parse(data).is_ok()
}

/// A Horizon certificate.
pub fn warp_certificate(data: &[u8]) -> bool {
    let certificate = HorizonCertificate::parse(data).ok();
    again(certificate.map(|certificate| certificate.encode()), data)
}

/// The frames of a Pulse; what passes here the kernel's decoder takes as well.
pub fn warp_pulse_frames(data: &[u8]) -> bool {
    let frames = PulseFrames::parse(data).is_ok();
    assert!(!frames || PulseFrames::parse_structure(data).is_ok());
    assert!(!frames || horizon_pulsar::Signature::from_pulse_bytes(data).is_ok());
    frames
}

/// Every payload type; each that accepts must encode to the same bytes.
pub fn warp_payload(data: &[u8]) -> bool {
    let encodings = [
        AddressedCall::parse(data)
            .ok()
            .and_then(|p| p.encode().ok()),
        HashPayload::parse(data).ok().map(|p| p.encode()),
        L1ValidatorRegistration::parse(data)
            .ok()
            .map(|p| p.encode()),
        RegisterL1Validator::parse(data)
            .ok()
            .and_then(|p| p.encode().ok()),
        ChainToL1Conversion::parse(data).ok().map(|p| p.encode()),
        L1ValidatorWeight::parse(data).ok().map(|p| p.encode()),
        AtomicSwap::parse(data).ok().and_then(|p| p.encode().ok()),
        MultiHopRoute::parse(data)
            .ok()
            .and_then(|p| p.encode().ok()),
        AssetLock::parse(data).ok().map(|p| p.encode()),
        Teleport::parse_rlp(data)
            .ok()
            .and_then(|p| p.encode_rlp().ok()),
        Teleport::parse_fixed(data)
            .ok()
            .and_then(|p| p.encode_fixed().ok()),
    ];
    let accepted = encodings.into_iter().map(|encoded| again(encoded, data));
    accepted.fold(false, |any, one| any | one)
}

/// This project's own payload.
pub fn warp_routed(data: &[u8]) -> bool {
    let routed = Routed::parse(data).ok();
    again(routed.and_then(|routed| routed.encode().ok()), data)
}

/// Signature requests and responses.
pub fn warp_request(data: &[u8]) -> bool {
    let request = SignatureRequest::parse(data).ok();
    let response = SignatureResponse::parse(data).ok();
    again(request.and_then(|request| request.encode().ok()), data)
        | again(response.map(|response| response.encode()), data)
}

/// A registry record in its canonical bytes.
pub fn warp_record(data: &[u8]) -> bool {
    let record = Record::parse(data).ok();
    again(record.and_then(|record| record.encode().ok()), data)
}

/// Registry records in JSON; accepted ones survive a second reading.
pub fn warp_records_json(data: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(data) else {
        return false;
    };
    let Ok(records) = registry::records_from_json(text) else {
        return false;
    };
    if let Ok(text) = registry::records_to_json(&records) {
        assert!(registry::records_from_json(&text).is_ok_and(|again| again == records));
    }
    true
}

/// Policies in JSON.
pub fn warp_policy_json(data: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(data) else {
        return false;
    };
    policy::sources_from_json(text).is_ok()
}

/// Verifying keys of every scheme.
pub fn sig_keys(data: &[u8]) -> bool {
    fn bytes<V: Verifier>(key: Option<V>) -> Option<Vec<u8>> {
        key.map(|key| key.key_bytes().to_vec())
    }
    let mut accepted = again(bytes(bls::VerifyingKey::from_bytes(data).ok()), data);
    accepted |= again(bytes(ed25519::VerifyingKey::from_bytes(data).ok()), data);
    accepted |= again(bytes(slhdsa::VerifyingKey::from_bytes(data).ok()), data);
    for set in ParameterSet::ALL {
        accepted |= again(bytes(mldsa::VerifyingKey::from_bytes(set, data).ok()), data);
    }
    // Points have a compressed and an uncompressed form.
    let short = data.len() == 33;
    let key = bytes(p256::VerifyingKey::from_bytes(data).ok());
    accepted |= key.is_some() && (!short || again(key, data));
    let key = bytes(secp256k1::VerifyingKey::from_bytes(data).ok());
    accepted | (key.is_some() && (!short || again(key, data)))
}

/// BLS signatures and proofs, and DER signatures under fixed keys.
pub fn sig_signatures(data: &[u8]) -> bool {
    let signature = bls::Signature::from_bytes(data).ok();
    let proof = bls::PossessionProof::from_bytes(data).ok();
    let _ = bls::CurvePoint::from_bytes(data);
    let accepted = again(signature.map(|s| s.to_bytes().to_vec()), data)
        | again(proof.map(|p| p.to_bytes().to_vec()), data);
    if let Ok(key) = secp256k1::VerifyingKey::from_bytes(&SECP256K1_BASE) {
        assert!(key.verify_der(b"nobody signed this", data).is_err());
        assert!(key.verify(b"", b"nobody signed this", data).is_err());
    }
    accepted
}

/// The generator of secp256k1, compressed.
const SECP256K1_BASE: [u8; 33] = [
    0x02, 0x79, 0xbe, 0x66, 0x7e, 0xf9, 0xdc, 0xbb, 0xac, 0x55, 0xa0, 0x62, 0x95, 0xce, 0x87, 0x0b,
    0x07, 0x02, 0x9b, 0xfc, 0xdb, 0x2d, 0xce, 0x28, 0xd9, 0x59, 0xf2, 0x81, 0x5b, 0x16, 0xf8, 0x17,
    0x98,
];

/// A frame of any suite and kind.
pub fn lens_frame(data: &[u8]) -> bool {
    let Ok(header) = Header::peek(data) else {
        return false;
    };
    match header.suite {
        SuiteId::Ed25519 => frame_of::<Ed25519>(header.kind, data),
        SuiteId::Secp256k1 => frame_of::<Secp256k1>(header.kind, data),
        _ => frame_of::<Ristretto255>(header.kind, data),
    }
}

fn frame_of<S: Suite>(kind: Kind, data: &[u8]) -> bool {
    fn read<F: Frame>(data: &[u8]) -> bool {
        let frame = F::from_bytes(data).ok();
        again(frame.map(|frame| frame.to_bytes().as_ref().to_vec()), data)
    }
    match kind {
        Kind::Commitments => read::<Commitments<S>>(data),
        Kind::SignatureShare => read::<SignatureShare<S>>(data),
        Kind::Signature => read::<horizon_lens::Signature<S>>(data),
        Kind::SigningPackage => read::<SigningPackage<S>>(data),
        Kind::GroupKey => read::<GroupKey<S>>(data),
        Kind::KeyShare => read::<KeyShare<S>>(data),
        Kind::DealtShare => read::<dealer::DealtShare<S>>(data),
        Kind::DkgRound1 => read::<dkg::Round1Package<S>>(data),
        Kind::DkgEcho => read::<dkg::Echo<S>>(data),
        Kind::DkgSecret => read::<dkg::SecretPackage<S>>(data),
        Kind::DealtUpdate => read::<refresh::DealtUpdate<S>>(data),
        Kind::RefreshRound1 => read::<refresh::Round1Package<S>>(data),
        Kind::RefreshEcho => read::<refresh::Echo<S>>(data),
        Kind::RefreshSecret => read::<refresh::SecretPackage<S>>(data),
        Kind::RepairDelta => read::<repair::Delta<S>>(data),
        Kind::RepairSigma => read::<repair::Sigma<S>>(data),
        _ => false,
    }
}

/// Bare keys and signatures of Lens.
pub fn lens_keys(data: &[u8]) -> bool {
    fn read<S: Suite>(data: &[u8]) -> bool {
        let key = horizon_lens::VerifyingKey::<S>::from_bytes(data).ok();
        let signature = horizon_lens::Signature::<S>::from_raw(data).ok();
        again(key.map(|key| key.as_bytes().to_vec()), data)
            | again(signature.map(|signature| signature.to_raw()), data)
    }
    read::<Ed25519>(data) | read::<Secp256k1>(data) | read::<Ristretto255>(data)
}

/// A stored session ledger.
pub fn lens_ledger(data: &[u8]) -> bool {
    let ledger = MemoryLedger::from_bytes(data, 0).ok();
    again(ledger.map(|ledger| ledger.to_bytes()), data)
}

/// A transaction of the application; a decoded one holds all of its bytes.
pub fn ledger_transaction(data: &[u8]) -> bool {
    let Ok(transaction) = tx::Transaction::decode(data) else {
        return false;
    };
    match transaction {
        tx::Transaction::Pulse(bytes) => again(Some(bytes.to_vec()), data),
        tx::Transaction::Deliver(envelope) => again(Some(tx::deliver(envelope)), data),
        tx::Transaction::Retry(id) => again(Some(tx::retry(id)), data),
        tx::Transaction::Submit(submit) => {
            // What is signed starts with the chain; the rest is the transaction's own layout.
            let signed = submit.call.signing_bytes(0, &[0; 32]);
            let parts = [
                &[tx::VERSION, tx::KIND_SUBMIT][..],
                submit.key,
                &signed[36..],
                submit.signature,
            ];
            again(Some(parts.concat()), data)
        }
    }
}

/// A block of the application.
pub fn ledger_block(data: &[u8]) -> bool {
    let Ok(block) = Block::decode(data) else {
        return false;
    };
    let _ = block.digest();
    again(Some(block.encode()), data)
}

/// A genesis file; the text may be spaced in many ways, so values are compared.
pub fn ledger_genesis_json(data: &[u8]) -> bool {
    let text = core::str::from_utf8(data);
    let Some(spec) = text.ok().and_then(|text| GenesisSpec::from_json(text).ok()) else {
        return false;
    };
    let written = spec.to_json().expect("what was read can be written");
    assert_eq!(GenesisSpec::from_json(&written), Ok(spec));
    true
}
