//! Acknowledgements: what became of a block's deliveries, told to their source in one message.
//!
//! Body: up to 256 times message id 32 and status 1. They travel on a reserved channel of their
//! own per destination, are ordinary messages with every lane, and are never acknowledged.

use alloc::collections::BTreeMap;

use horizon_hash::domain::ledger as domain;
use horizon_hash::tuplehash::tuple_hash256;
use horizon_warp::payload::{EXPIRY_NEVER, Routed};

use super::execute::Execution;
use super::submit::clear_waiting;
use super::*;
use crate::effects::{Acknowledged, Status};
use crate::state::{Channel, Entries, key};

/// The channel of acknowledgements to a chain: `ff`, then 31 bytes of a hash of its name.
#[must_use]
pub fn ack_channel(network_id: u32, chain_id: &[u8; 32]) -> [u8; 32] {
    let mut out = [0; 32];
    tuple_hash256(
        domain::ACK_CHANNEL,
        &[&network_id.to_be_bytes(), chain_id],
        &mut out,
    );
    out[0] = RESERVED;
    out
}

impl Execution<'_> {
    /// Writes one message per source that brought something in this block.
    pub(super) fn acknowledge(&mut self) -> Result<(), Refusal> {
        let mut words: BTreeMap<(u32, [u8; 32]), Vec<u8>> = BTreeMap::new();
        for delivery in self.deliveries.iter().filter(|delivery| !delivery.is_ack) {
            let source = (delivery.source_network, delivery.source_chain);
            let body = words.entry(source).or_default();
            body.extend_from_slice(&delivery.id);
            body.push(delivery.status.code());
        }
        for ((network, chain), body) in words {
            let channel = ack_channel(network, &chain);
            let known: Option<Channel> = self.work.read(&key::channel(&channel));
            let mut pending = self.pending(&Routed {
                destination_network: network,
                destination_chain: chain,
                channel,
                nonce: known.map_or(0, |known| known.next),
                expiry_height: EXPIRY_NEVER,
                sender: ACK_NAME,
                recipient: ACK_NAME,
                body: &body,
            })?;
            pending.is_ack = true;
            self.send(pending);
        }
        Ok(())
    }

    /// Takes another chain's word about messages from here.
    pub(super) fn acknowledged(&mut self, network: u32, chain: &[u8; 32], body: &[u8]) -> Status {
        let Some(words) = decode(body) else {
            return Status::Failed(crate::effects::Failure::Body);
        };
        for (id, status) in words {
            let first = clear_waiting(&mut self.work, &id, network, chain);
            self.acknowledged.push(Acknowledged {
                id,
                status,
                network,
                chain: *chain,
                first,
                height: self.height,
            });
        }
        Status::Executed
    }
}

fn decode(body: &[u8]) -> Option<Vec<([u8; 32], Status)>> {
    let (words, []) = body.as_chunks::<ACK_LEN>() else {
        return None;
    };
    if words.is_empty() || words.len() > ACKS_MAX {
        return None;
    }
    let word = |word: &[u8; ACK_LEN]| {
        let (id, [code]) = word.split_first_chunk::<32>()? else {
            return None;
        };
        Some((*id, Status::from_code(*code)?))
    };
    words.iter().map(word).collect()
}

/// First byte of reserved channels.
pub(super) const RESERVED: u8 = 0xff;
/// Sender and recipient of acknowledgements. No account has a name of three bytes.
pub const ACK_NAME: &[u8] = b"ack";
/// Bytes about one message in an acknowledgement.
pub const ACK_LEN: usize = 33;
/// Most messages in one acknowledgement, hence most deliveries of one source in one block.
pub const ACKS_MAX: usize = 256;
