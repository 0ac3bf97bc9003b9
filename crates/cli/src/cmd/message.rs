//! `horizon message`: an envelope without lanes, to be signed.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use horizon_warp::payload::{AddressedCall, EXPIRY_NEVER, HashPayload, Routed};
use horizon_warp::registry::Record;
use horizon_warp::{Beam, Envelope, Error, Lineage, Message, Signers, SuiteId, UnsignedMessage};
use serde_json::json;

use crate::exit::{Code, Failure};
use crate::ids::{Id, bytes_from_hex};
use crate::key_files::{PUBLIC_MODE, read_bounded, write_new};
use crate::output::{Output, id};
use crate::sources;

const PAYLOAD_LEN_MAX: u64 = 262_144;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Write a version 2 envelope without signatures
    New(New),
}

#[derive(Args, Debug)]
pub(super) struct New {
    /// Registry whose newest record of the chain gives network, era, generation and suite
    #[arg(long, value_name = "FILE")]
    registry: PathBuf,
    /// The source chain, 0x hex or CB58; needed when the registry has several
    #[arg(long)]
    chain: Option<Id>,
    /// File with the payload, or with its body when one of the types below wraps it
    #[arg(long, value_name = "FILE", required_unless_present = "hash")]
    payload: Option<PathBuf>,
    /// Wrap as an addressed call from this address, 0x hex
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["hash", "to_chain"])]
    call_from: Option<Bytes>,
    /// A hash payload instead of a file
    #[arg(long, conflicts_with_all = ["payload", "to_chain"])]
    hash: Option<Id>,
    #[command(flatten)]
    route: Route,
    /// Root of the source's state commitments
    #[arg(long, value_name = "ROOT")]
    nebula_root: Option<Id>,
    /// File for the envelope
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// The fields of a routed payload.
#[derive(Args, Debug)]
struct Route {
    /// Wrap as a routed payload to this chain
    #[arg(long, requires_all = ["to_network", "sender", "recipient"])]
    to_chain: Option<Id>,
    /// Network of the destination
    #[arg(long, requires = "to_chain")]
    to_network: Option<u32>,
    /// Channel of the sender
    #[arg(long, requires = "to_chain")]
    channel: Option<Id>,
    /// Number in the channel
    #[arg(long, default_value_t = 0)]
    nonce: u64,
    /// Destination height after which the payload must not act
    #[arg(long)]
    expiry_height: Option<u64>,
    /// Sender on the source chain, 0x hex
    #[arg(long, requires = "to_chain")]
    sender: Option<Bytes>,
    /// Recipient on the destination chain, 0x hex
    #[arg(long, requires = "to_chain")]
    recipient: Option<Bytes>,
}

/// An argument in hex.
#[derive(Clone, Debug)]
struct Bytes(Vec<u8>);

impl core::str::FromStr for Bytes {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        bytes_from_hex(text).map(Self)
    }
}

pub(super) fn run(command: Command, output: Output) -> Result<(), Failure> {
    let Command::New(options) = command;
    let records = sources::read_records(&options.registry)?;
    let record = newest(&records, options.chain)?;
    let body = match &options.payload {
        Some(path) => read_bounded(path, PAYLOAD_LEN_MAX)?,
        None => Vec::new(),
    };
    let described = |error: Error| {
        let hint = error.reason().hint();
        Failure::new(Code::Usage, format!("{error}. {hint}"))
    };
    let payload = payload(&options, body).map_err(described)?;
    let key = &record.key;
    let unsigned =
        UnsignedMessage::new(key.network_id, key.chain_id, &payload).map_err(described)?;
    let beam = Beam {
        signers: Signers::default(),
        signature: &[0; 96],
    };
    let lineage = Lineage {
        nebula_root: options.nebula_root.map_or([0; 32], |root| root.0),
        key_era: key.key_era,
        generation: key.generation,
    };
    // The default suite has one short spelling: the empty field.
    let suite = match record.suite {
        SuiteId::DEFAULT => &[][..],
        other => other.name().as_bytes(),
    };
    let message = Message::new(unsigned, beam);
    let envelope = Envelope::new(message, lineage, suite, &[], &[]).map_err(described)?;
    write_new(&options.out, &envelope.encode(), PUBLIC_MODE)?;
    let message_id = id(&unsigned.id());
    output.text(&format!("message {message_id}"));
    output.text(&format!(
        "  network {}, chain {}, era {}, generation {}, {} payload bytes, no lane signed yet",
        key.network_id,
        id(&key.chain_id),
        key.key_era,
        key.generation,
        payload.len()
    ));
    output.object(
        "message.new",
        json!({"envelope": options.out, "message_id": message_id, "network_id": key.network_id,
            "chain_id": id(&key.chain_id), "key_era": key.key_era.to_string(),
            "generation": key.generation.to_string(), "suite": record.suite.name(),
            "payload_bytes": payload.len()}),
    );
    Ok(())
}

/// The newest record of the chain, or of the only chain.
fn newest(records: &[Record], chain: Option<Id>) -> Result<&Record, Failure> {
    let of_chain = |record: &&Record| chain.is_none_or(|chain| chain.0 == record.key.chain_id);
    let last = records.iter().rfind(of_chain);
    let last =
        last.ok_or_else(|| Failure::new(Code::Usage, "the registry has no record of this chain"))?;
    let other = |record: &Record| record.key.chain_id != last.key.chain_id;
    if chain.is_none() && records.iter().any(other) {
        return Err(Failure::new(
            Code::Usage,
            "the registry has several chains: say --chain",
        ));
    }
    Ok(last)
}

fn payload(options: &New, body: Vec<u8>) -> Result<Vec<u8>, Error> {
    if let Some(hash) = options.hash {
        return Ok(HashPayload { hash: hash.0 }.encode());
    }
    if let Some(address) = &options.call_from {
        let call = AddressedCall {
            source_address: &address.0,
            payload: &body,
        };
        return call.encode();
    }
    let Some(chain) = options.route.to_chain else {
        return Ok(body);
    };
    let route = &options.route;
    let bytes = |field: &Option<Bytes>| field.as_ref().map(|bytes| bytes.0.clone());
    let (sender, recipient) = (bytes(&route.sender), bytes(&route.recipient));
    let routed = Routed {
        destination_network: route.to_network.unwrap_or_default(),
        destination_chain: chain.0,
        channel: route.channel.map_or([0; 32], |channel| channel.0),
        nonce: route.nonce,
        expiry_height: route.expiry_height.unwrap_or(EXPIRY_NEVER),
        sender: sender.as_deref().unwrap_or_default(),
        recipient: recipient.as_deref().unwrap_or_default(),
        body: &body,
    };
    routed.encode()
}
