//! Messages to here: envelope, window, handler, all in one step.

use horizon_warp::payload::Routed;
use horizon_warp::{Envelope, UnsignedMessage};

use super::acks::{ACK_NAME, ACKS_MAX, RESERVED};
use super::execute::Execution;
use super::submit::{CHANNELS_MAX, ORDERED, UNORDERED};
use super::*;
use crate::effects::{Delivery, Status};
use crate::state::{Entries, Entry, Failed, Seen, Window, key};

/// An envelope whose payload is for this chain. Nothing is proven.
pub(super) struct Incoming<'a> {
    pub(super) envelope: Envelope<'a>,
    pub(super) routed: Routed<'a>,
    pub(super) id: [u8; 32],
}

impl Incoming<'_> {
    pub(super) fn detail(&self) -> Detail {
        let unsigned = self.envelope.message().unsigned();
        Detail::Deliver {
            network: unsigned.network_id(),
            chain: *unsigned.source_chain_id(),
            channel: self.routed.channel,
            nonce: self.routed.nonce,
        }
    }

    fn is_ack(&self) -> bool {
        self.routed.channel.first() == Some(&RESERVED)
    }
}

impl App {
    /// Decodes an envelope and checks that its payload is addressed to this chain.
    pub(super) fn parse_incoming<'a>(&self, bytes: &'a [u8]) -> Result<Incoming<'a>, Refusal> {
        let envelope = Envelope::parse(bytes).map_err(|error| Refusal::Prism(error.into()))?;
        let unsigned = envelope.message().unsigned();
        let routed =
            Routed::parse(unsigned.payload()).map_err(|_| Refusal::Payload { field: "routed" })?;
        if routed.destination_network != self.genesis.network_id()
            || routed.destination_chain != *self.genesis.chain_id()
        {
            return Err(Refusal::Payload {
                field: "destination",
            });
        }
        match routed.channel.first() {
            Some(&(UNORDERED | ORDERED)) => {}
            // Acknowledgements come on the one channel for this chain, and nothing else does.
            Some(&RESERVED)
                if routed.channel == self.ack_channel
                    && routed.sender == ACK_NAME
                    && routed.recipient == ACK_NAME => {}
            _ => return Err(Refusal::Channel),
        }
        Ok(Incoming {
            id: unsigned.id(),
            envelope,
            routed,
        })
    }
}

impl Execution<'_> {
    /// Delivers an envelope: nonce and effect in one step. A message after its expiry height is
    /// marked as processed and does not act, so that it can hold up no channel.
    pub(super) fn deliver(&mut self, bytes: &[u8], digest: &[u8; 32]) -> Result<(), Refusal> {
        let incoming = self.app.parse_incoming(bytes)?;
        let (unsigned, routed) = (incoming.envelope.message().unsigned(), &incoming.routed);
        let (network, chain) = (unsigned.network_id(), *unsigned.source_chain_id());
        self.check_room(network, &chain)?;
        let mut window = look(&self.work, network, &chain, &routed.channel, routed.nonce)?;
        let window_key = key::window(network, &chain, &routed.channel);
        let is_new = self.work.get(&window_key).is_none();
        let mut totals = self.work.totals();
        if is_new && totals.channels >= CHANNELS_MAX {
            return Err(Refusal::StateFull);
        }
        self.app
            .prove(&incoming, digest, Some(self.time_ms / 1_000))?;
        window.mark(routed.nonce);
        self.work.put(window_key, window.encode());
        totals.channels = totals.channels.saturating_add(u64::from(is_new));
        self.work.put(key::totals(), totals.encode());
        let encoded = unsigned.encode();
        let is_ack = incoming.is_ack();
        let status = if is_ack {
            self.acknowledged(network, &chain, routed.body)
        } else if self.height > routed.expiry_height {
            Status::Expired
        } else {
            match handlers::run(&self.work, routed.recipient, routed.body) {
                Ok(change) => {
                    self.change(change);
                    Status::Executed
                }
                Err(failure) => {
                    let status = Status::Failed(failure);
                    handlers::keep_failed(&mut self.work, &incoming.id, status, &encoded);
                    status
                }
            }
        };
        self.record(Delivery {
            id: incoming.id,
            sequence: 0,
            height: self.height,
            source_network: network,
            source_chain: chain,
            channel: routed.channel,
            nonce: routed.nonce,
            status,
            is_retry: false,
            is_ack,
            unsigned: encoded,
        });
        Ok(())
    }

    /// Runs the handler of a failed message again, from the stored bytes.
    pub(super) fn retry(&mut self, id: &[u8; 32]) -> Result<(), Refusal> {
        let retry = plan_retry(&self.work, id, self.height)?;
        let unsigned =
            UnsignedMessage::parse(&retry.failed.unsigned).map_err(|_| Refusal::NothingToRetry)?;
        let (network, chain) = (unsigned.network_id(), *unsigned.source_chain_id());
        self.check_room(network, &chain)?;
        let routed = Routed::parse(unsigned.payload()).map_err(|_| Refusal::NothingToRetry)?;
        let (channel, nonce) = (routed.channel, routed.nonce);
        self.change(retry.change);
        handlers::keep_success(&mut self.work, id, &retry.failed);
        self.record(Delivery {
            id: *id,
            sequence: 0,
            height: self.height,
            source_network: network,
            source_chain: chain,
            channel,
            nonce,
            status: Status::Executed,
            is_retry: true,
            is_ack: false,
            unsigned: retry.failed.unsigned,
        });
        Ok(())
    }

    /// One acknowledgement has to hold all deliveries of a source, and the signing ledger the
    /// acknowledgement.
    fn check_room(&self, network: u32, chain: &[u8; 32]) -> Result<(), Refusal> {
        let same = |delivery: &&Delivery| {
            delivery.source_network == network && delivery.source_chain == *chain
        };
        if self.deliveries.iter().filter(same).count() >= ACKS_MAX || !self.has_room_for_ack() {
            return Err(Refusal::BlockFull);
        }
        Ok(())
    }

    fn change(&mut self, change: Option<(crate::state::Key, Vec<u8>)>) {
        if let Some((key, value)) = change {
            self.work.put(key, value);
        }
    }

    fn record(&mut self, mut delivery: Delivery) {
        let mut totals = self.work.totals();
        delivery.sequence = totals.deliveries;
        totals.deliveries = totals.deliveries.saturating_add(1);
        self.work.put(key::totals(), totals.encode());
        self.deliveries.push(delivery);
    }
}

/// The window of a channel, if it takes this nonce now.
pub(super) fn look(
    entries: &impl Entries,
    network: u32,
    chain: &[u8; 32],
    channel: &[u8; 32],
    nonce: u64,
) -> Result<Window, Refusal> {
    let is_ordered = channel.first() == Some(&ORDERED);
    let window: Window = entries
        .read(&key::window(network, chain, channel))
        .unwrap_or_else(|| Window::new(is_ordered));
    match window.look(nonce) {
        Seen::Fresh => Ok(window),
        Seen::Processed => Err(Refusal::Replay),
        Seen::Gap => Err(Refusal::Gap { next: window.base }),
        Seen::Ahead => Err(Refusal::WindowAhead { base: window.base }),
    }
}

/// A failed message whose handler would succeed now.
pub(super) struct Retry {
    failed: Failed,
    change: Option<(crate::state::Key, Vec<u8>)>,
}

/// Whether a retry in a block of this height would succeed.
pub(super) fn plan_retry(
    entries: &impl Entries,
    id: &[u8; 32],
    height: u64,
) -> Result<Retry, Refusal> {
    let failed: Failed = entries
        .read(&key::failed(id))
        .ok_or(Refusal::NothingToRetry)?;
    if !failed.status.is_failed() {
        return Err(Refusal::AlreadyExecuted);
    }
    let unsigned = UnsignedMessage::parse(&failed.unsigned).map_err(|_| Refusal::NothingToRetry)?;
    let routed = Routed::parse(unsigned.payload()).map_err(|_| Refusal::NothingToRetry)?;
    if height > routed.expiry_height {
        return Err(Refusal::Expired);
    }
    let change =
        handlers::run(entries, routed.recipient, routed.body).map_err(Refusal::StillFails)?;
    Ok(Retry { failed, change })
}
