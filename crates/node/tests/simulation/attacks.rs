//! What an attacker presents to a destination, made from what was really delivered.

use bytes::Bytes;
use futures::FutureExt as _;
use horizon_ledger::{Block, Outgoing, tx};
use horizon_node::api::Backend;
use horizon_node::api::types::Have;
use horizon_node::process::backend::NodeBackend;
use horizon_sig::bls;
use horizon_testkit::SeededRng;
use horizon_warp::transcript::CERTIFICATE_CONTEXT;
use horizon_warp::{Beam, CertSet, Envelope, Message, SignerSet, UnsignedMessage};

use super::history::{Attack, Kind};
use super::network::Shared;

/// Presents copies of a delivered envelope that are wrong in every way, and one that is right.
pub fn attack(
    network: usize,
    source: &Shared,
    source_node: &NodeBackend,
    sent: &Outgoing,
    destination: &NodeBackend,
    envelope: &[u8],
    rng: &mut SeededRng,
) -> Vec<Attack> {
    let mut tries = vec![
        (Kind::Strip, strip(envelope, true)),
        (Kind::Strip, strip(envelope, false)),
    ];
    for _ in 0..6 {
        tries.extend(flip(envelope, rng).map(|bytes| (Kind::Flip, bytes)));
    }
    let singles = source_node
        .attestations(sent.id, Have::default())
        .now_or_never()
        .expect("a node answers at once");
    if let Ok(singles) = singles {
        let beam: Vec<_> = singles
            .beam
            .iter()
            .map(|s| (s.index, s.signature.clone()))
            .collect();
        let certs: Vec<_> = singles
            .certset
            .iter()
            .map(|s| (s.index, s.signature.clone()))
            .collect();
        let of = |count: usize| assemble(envelope, &beam[..count], &certs[..count]);
        if beam.len() >= 3 && certs.len() >= 3 {
            tries.push((Kind::ExactQuorum, of(3)));
            tries.push((Kind::BelowQuorum, of(2)));
        }
    }
    tries.push((Kind::Alone, alone(envelope, source, rng)));
    tries
        .into_iter()
        .map(|(kind, bytes)| {
            let answer = destination
                .submit_envelope(Bytes::from(bytes))
                .now_or_never();
            let answer = answer.expect("a node answers at once");
            let refused = answer.err().map(|error| error.code().to_owned());
            Attack {
                kind,
                network,
                refused,
            }
        })
        .collect()
}

/// Whether the ledger itself would put a delivered envelope into a block once more.
pub fn replay(network: usize, shared: &Shared, node: &Node<'_>, envelope: &[u8]) -> Attack {
    let _ = shared;
    let (parent, state) = node.chain.tip();
    let candidate = tx::deliver(envelope).into();
    let time_ms = parent.time_ms + 1_000;
    let built = node
        .chain
        .app()
        .build(&parent, &state, time_ms, &[candidate]);
    let taken = built.is_ok_and(|(block, _): (Block, _)| !block.transactions.is_empty());
    Attack {
        kind: Kind::Replay,
        network,
        refused: (!taken).then(|| "left out".to_owned()),
    }
}

pub struct Node<'c> {
    pub chain: &'c horizon_consensus::chain::Chain,
}

fn strip(envelope: &[u8], pulse: bool) -> Vec<u8> {
    let envelope = Envelope::parse(envelope).unwrap();
    let (kept_pulse, kept_certs) = match pulse {
        true => (&[][..], envelope.attestation().unwrap()),
        false => (envelope.pulse().unwrap(), &[][..]),
    };
    Envelope::with_lanes_unchecked(
        *envelope.message(),
        *envelope.lineage(),
        envelope.suite_field(),
        kept_pulse,
        kept_certs,
    )
    .unwrap()
    .encode()
}

/// Changes one byte of what the lanes sign: payload, chain, or lineage.
fn flip(envelope: &[u8], rng: &mut SeededRng) -> Option<Vec<u8>> {
    let parsed = Envelope::parse(envelope).unwrap();
    let unsigned = parsed.message().unsigned().encode();
    let at = envelope
        .windows(unsigned.len())
        .position(|window| window == unsigned)?;
    let root = parsed.lineage().nebula_root;
    let root_at = envelope.windows(32).position(|window| window == root)?;
    let mut bytes = envelope.to_vec();
    let spot = match rng.below(4) {
        0 => root_at + rng.index(32),
        _ => at + rng.index(unsigned.len()),
    };
    bytes[spot] ^= 1 << rng.below(8);
    Some(bytes)
}

fn assemble(envelope: &[u8], beam: &[(u32, Vec<u8>)], certs: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let parsed = Envelope::parse(envelope).unwrap();
    let signatures: Vec<_> = beam
        .iter()
        .map(|(_, bytes)| bls::Signature::from_bytes(bytes).unwrap())
        .collect();
    let sum = bls::aggregate(&signatures).unwrap().to_bytes();
    let signers = SignerSet::from_indices(beam.iter().map(|(index, _)| *index)).unwrap();
    let cert_signers = SignerSet::from_indices(certs.iter().map(|(index, _)| *index)).unwrap();
    let cert_bytes: Vec<_> = certs
        .iter()
        .map(|(_, bytes)| bytes[..].try_into().unwrap())
        .collect();
    let certset = CertSet::new(cert_signers.as_signers(), &cert_bytes)
        .unwrap()
        .encode();
    let unsigned = parsed.message().unsigned().encode();
    let unsigned = UnsignedMessage::parse(&unsigned).unwrap();
    let beam = Beam {
        signers: signers.as_signers(),
        signature: &sum,
    };
    Envelope::new(
        Message::new(unsigned, beam),
        *parsed.lineage(),
        parsed.suite_field(),
        parsed.pulse().unwrap(),
        &certset,
    )
    .unwrap()
    .encode()
}

/// A message that one validator made up and signed in every lane that it can sign alone.
fn alone(envelope: &[u8], source: &Shared, rng: &mut SeededRng) -> Vec<u8> {
    let parsed = Envelope::parse(envelope).unwrap();
    let mut unsigned = parsed.message().unsigned().encode();
    // The last byte is the message's body or its length: another message either way.
    *unsigned.last_mut().unwrap() ^= 1;
    let at = u16::try_from(rng.below(4)).unwrap();
    let secrets = &source.secrets[usize::from(at)];
    let beam = secrets.beam.sign_message(&unsigned).to_bytes();
    let index = u32::from(at);
    let message = UnsignedMessage::parse(&unsigned).unwrap();
    let signers = SignerSet::from_indices([index]).unwrap();
    let lineage = *parsed.lineage();
    let shell = |certset: &[u8]| {
        let beam = Beam {
            signers: signers.as_signers(),
            signature: &beam,
        };
        Envelope::with_lanes_unchecked(
            Message::new(message, beam),
            lineage,
            parsed.suite_field(),
            parsed.pulse().unwrap(),
            certset,
        )
        .unwrap()
        .encode()
    };
    let unsigned_bytes = shell(&[]);
    let transcript = Envelope::parse(&unsigned_bytes).unwrap().transcript();
    let certificate = secrets
        .certset
        .sign_hedged(CERTIFICATE_CONTEXT, transcript.as_bytes(), rng)
        .unwrap();
    let certificate = certificate[..].try_into().unwrap();
    let certset = CertSet::new(signers.as_signers(), core::slice::from_ref(&certificate))
        .unwrap()
        .encode();
    shell(&certset)
}
