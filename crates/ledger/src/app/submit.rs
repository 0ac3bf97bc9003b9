//! Messages from here: accounts, channels, nonces.

use horizon_warp::UnsignedMessage;
use horizon_warp::payload::Routed;

use super::execute::{Execution, Pending};
use super::*;
use crate::state::{Account, Channel, Entries, Entry, Waiting, Work, key};
use crate::tx::Submit;

impl App {
    /// Where a submit goes, if there is a route and the channel is one for accounts.
    pub(super) fn submit_detail(&self, submit: &Submit<'_>) -> Result<Detail, Refusal> {
        let call = &submit.call;
        check_channel(&call.channel)?;
        self.genesis
            .source(call.destination_network, &call.destination_chain)
            .ok_or(Refusal::NoRoute)?;
        Ok(Detail::Submit {
            account: submit.account(),
            sequence: call.sequence,
        })
    }
}

impl Execution<'_> {
    /// Assigns the next nonce of its channel to a message and puts it into the outbox.
    pub(super) fn submit(&mut self, submit: &Submit<'_>, digest: &[u8; 32]) -> Result<(), Refusal> {
        let call = &submit.call;
        let (network, chain) = (call.destination_network, &call.destination_chain);
        let account = submit.account();
        check_sequence(&self.work, &account, call.sequence)?;
        check_channel(&call.channel)?;
        self.app
            .genesis
            .source(network, chain)
            .ok_or(Refusal::NoRoute)?;
        let known: Option<Channel> = self.work.read(&key::channel(&call.channel));
        if known.is_some_and(|known| known.network != network || known.chain != *chain) {
            return Err(Refusal::ChannelTaken);
        }
        let mut totals = self.work.totals();
        let is_new_account = self.work.get(&key::account(&account)).is_none();
        if is_new_account && totals.accounts >= ACCOUNTS_MAX
            || known.is_none() && totals.channels >= CHANNELS_MAX
        {
            return Err(Refusal::StateFull);
        }
        let waiting = self.work.number(&key::waiting_count(network, chain));
        if waiting >= WAITING_MAX || !self.has_room_for_subject() {
            return Err(Refusal::OutboxFull);
        }
        self.app.check_signature(submit, digest)?;
        let pending = self.pending(&Routed {
            destination_network: network,
            destination_chain: *chain,
            channel: call.channel,
            nonce: known.map_or(0, |known| known.next),
            expiry_height: call.expiry_height,
            sender: &account,
            recipient: call.recipient,
            body: call.body,
        })?;
        totals.accounts = totals.accounts.saturating_add(u64::from(is_new_account));
        self.work.put(key::totals(), totals.encode());
        let next = Account(call.sequence.saturating_add(1));
        self.work.put(key::account(&account), next.encode());
        self.work.put(
            key::waiting_count(network, chain),
            Account(waiting.saturating_add(1)).encode(),
        );
        let entry = Waiting {
            sequence: totals.outgoing,
            network,
            chain: *chain,
        };
        self.work.put(key::waiting(&pending.id), entry.encode());
        self.send(pending);
        Ok(())
    }

    /// The message of a payload that is to leave.
    pub(super) fn pending(&self, routed: &Routed<'_>) -> Result<Pending, Refusal> {
        let payload = routed
            .encode()
            .map_err(|_| Refusal::Payload { field: "routed" })?;
        let genesis = &self.app.genesis;
        let unsigned = UnsignedMessage::new(genesis.network_id(), *genesis.chain_id(), &payload)
            .map_err(|_| Refusal::Payload { field: "length" })?;
        Ok(Pending {
            id: unsigned.id(),
            unsigned: unsigned.encode(),
            destination_network: routed.destination_network,
            destination_chain: routed.destination_chain,
            channel: routed.channel,
            nonce: routed.nonce,
            expiry_height: routed.expiry_height,
            is_ack: false,
            sequence: 0,
        })
    }

    /// Numbers a message, moves its channel on and puts it into the block's outbox.
    pub(super) fn send(&mut self, mut pending: Pending) {
        let mut totals = self.work.totals();
        let channel = key::channel(&pending.channel);
        let is_new = self.work.get(&channel).is_none();
        pending.sequence = totals.outgoing;
        totals.outgoing = totals.outgoing.saturating_add(1);
        totals.channels = totals.channels.saturating_add(u64::from(is_new));
        self.work.put(key::totals(), totals.encode());
        let next = Channel {
            network: pending.destination_network,
            chain: pending.destination_chain,
            next: pending.nonce.saturating_add(1),
        };
        self.work.put(channel, next.encode());
        self.outgoing.push(pending);
    }
}

/// Whether the transaction is the account's next one.
pub(super) fn check_sequence(
    entries: &impl Entries,
    account: &[u8; 32],
    sequence: u64,
) -> Result<(), Refusal> {
    let next = entries.number(&key::account(account));
    // The largest number ends an account: there would be none after it.
    if sequence < next || sequence == u64::MAX {
        Err(Refusal::SequenceUsed)
    } else if sequence > next {
        Err(Refusal::SequenceGap)
    } else {
        Ok(())
    }
}

/// Whether accounts may send on this channel.
fn check_channel(channel: &[u8; 32]) -> Result<(), Refusal> {
    match channel.first() {
        Some(&(UNORDERED | ORDERED)) => Ok(()),
        _ => Err(Refusal::Channel),
    }
}

/// Takes an acknowledged message out of the outbox; whether it was there, sent to this chain.
pub(super) fn clear_waiting(
    work: &mut Work,
    id: &[u8; 32],
    network: u32,
    chain: &[u8; 32],
) -> bool {
    let entry: Option<Waiting> = work.read(&key::waiting(id));
    if !entry.is_some_and(|entry| entry.network == network && entry.chain == *chain) {
        return false;
    }
    work.delete(key::waiting(id));
    let count = key::waiting_count(network, chain);
    let left = work.number(&count).saturating_sub(1);
    work.put(count, Account(left).encode());
    true
}

/// First byte of an unordered channel.
pub const UNORDERED: u8 = 0x00;
/// First byte of an ordered channel: each message waits for the one before it.
pub const ORDERED: u8 = 0x01;
/// Most messages to one destination without acknowledgement.
pub const WAITING_MAX: u64 = 4_096;
/// Most accounts.
pub const ACCOUNTS_MAX: u64 = 1 << 20;
/// Most channels, incoming and outgoing together.
pub const CHANNELS_MAX: u64 = 1 << 20;
