//! Stored records and their checksums.

use horizon_hash::domain::ledger as domain;
use horizon_hash::sponge::Cshake256;
use horizon_warp::limits::UNSIGNED_LEN_MAX;
use horizon_warp::{Lineage, Transcript, UnsignedMessage};

use crate::app::subject_id;
use crate::codec::{Fault, Reader, put_long};
use crate::effects::{Acknowledged, Closed, Delivery, Outgoing, Status};

/// What is known about the stored tip beside its block and entries.
pub(super) struct Tip {
    pub(super) height: u64,
    pub(super) digest: [u8; 32],
    pub(super) root: [u8; 32],
    pub(super) pulse_before: [u8; 32],
    pub(super) snapshot: Vec<u8>,
}

impl Tip {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = self.height.to_be_bytes().to_vec();
        out.extend_from_slice(&self.digest);
        out.extend_from_slice(&self.root);
        out.extend_from_slice(&self.pulse_before);
        put_long(&mut out, &self.snapshot);
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let mut input = Reader::new(bytes);
        let tip = Self {
            height: input.u64("height")?,
            digest: *input.array("digest")?,
            root: *input.array("root")?,
            pulse_before: *input.array("pulse_before")?,
            snapshot: input.long(usize::MAX, "snapshot")?.to_vec(),
        };
        input.finish("tip")?;
        Ok(tip)
    }
}

/// Which sequence numbers a block used: first outgoing, end of outgoing, the same of deliveries.
#[derive(Clone, Copy)]
pub(super) struct Ranges(pub(super) [u64; 4]);

impl Ranges {
    pub(super) fn encode(self) -> Vec<u8> {
        self.0
            .iter()
            .flat_map(|number| number.to_be_bytes())
            .collect()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let mut input = Reader::new(bytes);
        let mut numbers = [0; 4];
        for number in &mut numbers {
            *number = input.u64("range")?;
        }
        input.finish("range")?;
        Ok(Self(numbers))
    }
}

pub(super) fn put_outgoing(message: &Outgoing) -> Vec<u8> {
    let mut out = message.sequence.to_be_bytes().to_vec();
    out.extend_from_slice(&message.height.to_be_bytes());
    out.extend_from_slice(&message.lineage.nebula_root);
    out.extend_from_slice(&message.lineage.key_era.to_be_bytes());
    out.extend_from_slice(&message.lineage.generation.to_be_bytes());
    out.push(u8::from(message.is_ack));
    out.extend_from_slice(&message.destination_network.to_be_bytes());
    out.extend_from_slice(&message.destination_chain);
    out.extend_from_slice(&message.channel);
    out.extend_from_slice(&message.nonce.to_be_bytes());
    out.extend_from_slice(&message.expiry_height.to_be_bytes());
    put_long(&mut out, &message.unsigned);
    out
}

/// `suite` is the network's: the transcript is computed and not stored.
pub(super) fn read_outgoing(bytes: &[u8], suite: &[u8]) -> Result<Outgoing, Fault> {
    let mut input = Reader::new(bytes);
    let sequence = input.u64("sequence")?;
    let height = input.u64("height")?;
    let lineage = Lineage {
        nebula_root: *input.array("nebula_root")?,
        key_era: input.u64("key_era")?,
        generation: input.u64("generation")?,
    };
    let is_ack = input.flag("is_ack")?;
    let destination_network = input.u32("destination_network")?;
    let destination_chain = *input.array("destination_chain")?;
    let channel = *input.array("channel")?;
    let nonce = input.u64("nonce")?;
    let expiry_height = input.u64("expiry_height")?;
    let bytes = input.long(UNSIGNED_LEN_MAX, "unsigned")?;
    input.finish("outgoing")?;
    let unsigned = UnsignedMessage::parse(bytes).map_err(|_| Fault("unsigned"))?;
    let transcript = Transcript::new(&unsigned, &lineage, suite)
        .as_bytes()
        .to_vec();
    Ok(Outgoing {
        id: unsigned.id(),
        sequence,
        height,
        unsigned: bytes.to_vec(),
        lineage,
        subject: subject_id(&transcript),
        transcript,
        is_ack,
        destination_network,
        destination_chain,
        channel,
        nonce,
        expiry_height,
    })
}

pub(super) fn put_delivery(delivery: &Delivery) -> Vec<u8> {
    let mut out = delivery.sequence.to_be_bytes().to_vec();
    out.extend_from_slice(&delivery.height.to_be_bytes());
    out.extend_from_slice(&delivery.source_network.to_be_bytes());
    out.extend_from_slice(&delivery.source_chain);
    out.extend_from_slice(&delivery.channel);
    out.extend_from_slice(&delivery.nonce.to_be_bytes());
    out.push(delivery.status.code());
    out.push(u8::from(delivery.is_retry));
    out.push(u8::from(delivery.is_ack));
    put_long(&mut out, &delivery.unsigned);
    out
}

pub(super) fn read_delivery(bytes: &[u8]) -> Result<Delivery, Fault> {
    let mut input = Reader::new(bytes);
    let sequence = input.u64("sequence")?;
    let height = input.u64("height")?;
    let source_network = input.u32("source_network")?;
    let source_chain = *input.array("source_chain")?;
    let channel = *input.array("channel")?;
    let nonce = input.u64("nonce")?;
    let status = read_status(&mut input)?;
    let is_retry = input.flag("is_retry")?;
    let is_ack = input.flag("is_ack")?;
    let unsigned = input.long(UNSIGNED_LEN_MAX, "unsigned")?;
    input.finish("delivery")?;
    let id = UnsignedMessage::parse(unsigned)
        .map_err(|_| Fault("unsigned"))?
        .id();
    Ok(Delivery {
        id,
        sequence,
        height,
        source_network,
        source_chain,
        channel,
        nonce,
        status,
        is_retry,
        is_ack,
        unsigned: unsigned.to_vec(),
    })
}

pub(super) fn put_receipt(word: &Acknowledged) -> Vec<u8> {
    let mut out = word.id.to_vec();
    out.push(word.status.code());
    out.extend_from_slice(&word.network.to_be_bytes());
    out.extend_from_slice(&word.chain);
    out.push(u8::from(word.first));
    out.extend_from_slice(&word.height.to_be_bytes());
    out
}

pub(super) fn read_receipt(bytes: &[u8]) -> Result<Acknowledged, Fault> {
    let mut input = Reader::new(bytes);
    let word = Acknowledged {
        id: *input.array("id")?,
        status: read_status(&mut input)?,
        network: input.u32("network")?,
        chain: *input.array("chain")?,
        first: input.flag("first")?,
        height: input.u64("height")?,
    };
    input.finish("receipt")?;
    Ok(word)
}

pub(super) fn put_closed(closed: &Closed) -> Vec<u8> {
    let mut out = closed.subject.to_vec();
    out.extend_from_slice(&closed.attempt.to_be_bytes());
    put_long(&mut out, &closed.pulse);
    out
}

pub(super) fn read_closed(bytes: &[u8]) -> Result<Closed, Fault> {
    let mut input = Reader::new(bytes);
    let closed = Closed {
        subject: *input.array("subject")?,
        attempt: input.u32("attempt")?,
        pulse: input
            .long(horizon_warp::limits::PULSE_LEN_MAX, "pulse")?
            .to_vec(),
    };
    input.finish("pulse")?;
    Ok(closed)
}

fn read_status(input: &mut Reader<'_>) -> Result<Status, Fault> {
    Status::from_code(input.u8("status")?).ok_or(Fault("status"))
}

/// A record with its checksum in front. The table's name and the key are covered.
pub(super) fn with_checksum(table: &str, key: &[u8], record: &[u8]) -> Vec<u8> {
    let mut out = checksum(table, key, record).to_vec();
    out.extend_from_slice(record);
    out
}

/// The record behind a checksum that is right.
pub(super) fn checked<'a>(table: &str, key: &[u8], stored: &'a [u8]) -> Option<&'a [u8]> {
    let (sum, record) = stored.split_first_chunk::<CHECKSUM_LEN>()?;
    (*sum == checksum(table, key, record)).then_some(record)
}

fn checksum(table: &str, key: &[u8], record: &[u8]) -> [u8; CHECKSUM_LEN] {
    let mut hash = Cshake256::new(b"", domain::STORED);
    for part in [table.as_bytes(), key] {
        let len = u64::try_from(part.len()).unwrap_or(u64::MAX);
        hash.update(&len.to_be_bytes());
        hash.update(part);
    }
    hash.update(record);
    let mut out = [0; CHECKSUM_LEN];
    hash.finalize().read(&mut out);
    out
}

/// Bytes of a checksum: against damage, not against an attacker who can write to the disk.
const CHECKSUM_LEN: usize = 16;
