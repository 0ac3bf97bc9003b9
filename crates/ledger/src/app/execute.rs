//! One block on its way from transactions to state, roots and effects.

use alloc::collections::BTreeSet;

use horizon_hash::domain::ledger as domain;
use horizon_hash::sponge::cshake256;
use horizon_pulsar::committee;
use horizon_pulsar::committee::ledger::{Block as PulseBlock, Event, LedgerTx, Subject};
use horizon_warp::{Lineage, Transcript, UnsignedMessage};

use super::*;
use crate::effects::{Acknowledged, Closed, Delivery, Effects, Outgoing};
use crate::state::Work;

/// A block under execution.
pub(super) struct Execution<'a> {
    pub(super) app: &'a App,
    pub(super) height: u64,
    pub(super) time_ms: u64,
    pub(super) work: Work,
    pub(super) outgoing: Vec<Pending>,
    pub(super) deliveries: Vec<Delivery>,
    pub(super) acknowledged: Vec<Acknowledged>,
    parent: &'a State,
    /// With their positions in the block.
    pulse: Vec<(usize, LedgerTx)>,
    /// Subjects with a certificate in this block.
    closing: BTreeSet<[u8; 32]>,
    position: usize,
    /// Subjects that were open before the block, and bytes of their messages.
    open: (usize, usize),
}

/// An outgoing message whose lineage is not known yet.
pub(super) struct Pending {
    pub(super) id: [u8; 32],
    pub(super) sequence: u64,
    pub(super) unsigned: Vec<u8>,
    pub(super) destination_network: u32,
    pub(super) destination_chain: [u8; 32],
    pub(super) channel: [u8; 32],
    pub(super) nonce: u64,
    pub(super) expiry_height: u64,
    pub(super) is_ack: bool,
}

/// What execution gives.
pub(super) struct Finished {
    pub(super) executed: Executed,
    pub(super) nebula_root: [u8; 32],
    /// Signing transactions that the signing ledger refused, ascending by position. They did
    /// nothing.
    pub(super) refused: Vec<(usize, committee::Error)>,
}

impl<'a> Execution<'a> {
    pub(super) fn new(app: &'a App, parent: &'a State, height: u64, time_ms: u64) -> Self {
        let open = parent.pulse().open_subjects();
        let open = open.fold((0, 0), |(count, bytes): (usize, usize), subject| {
            (
                count.saturating_add(1),
                bytes.saturating_add(subject.mu.len()),
            )
        });
        Self {
            app,
            height,
            time_ms,
            work: Work::on(parent),
            outgoing: Vec::new(),
            deliveries: Vec::new(),
            acknowledged: Vec::new(),
            parent,
            pulse: Vec::new(),
            closing: BTreeSet::new(),
            position: 0,
            open,
        }
    }

    /// Applies one transaction. A refused one changes nothing.
    pub(super) fn transaction(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        match Transaction::decode(bytes)? {
            Transaction::Pulse(bytes) => {
                let transaction = self.app.pulse_transaction(bytes)?;
                self.check_cert(&transaction)?;
                self.pulse.push((self.position, transaction));
            }
            Transaction::Submit(submit) => self.submit(&submit, &tx::digest(bytes))?,
            Transaction::Deliver(envelope) => self.deliver(envelope, &tx::digest(bytes))?,
            Transaction::Retry(id) => self.retry(id)?,
        }
        self.position = self.position.saturating_add(1);
        Ok(())
    }

    /// Refuses a certificate that closes nothing before it takes the room of a block: several nodes
    /// may bring one for the same subject, and each is as large as an envelope.
    fn check_cert(&mut self, transaction: &LedgerTx) -> Result<(), Refusal> {
        let LedgerTx::PulseCert(tx) = transaction else {
            return Ok(());
        };
        let subject = tx.body().subject;
        if self.closing.contains(&subject) {
            let unknown = committee::Misuse::UnknownSubject;
            return Err(Refusal::Pulse(committee::Error::Misuse(unknown)));
        }
        // A BatchVoid earlier in the block may change the sender's boot; the signing ledger, which
        // is asked last, sees that.
        self.parent.pulse().check_cert(tx).map_err(Refusal::Pulse)?;
        self.closing.insert(subject);
        Ok(())
    }

    /// Whether an account may open one more subject.
    pub(super) fn has_room_for_subject(&self) -> bool {
        let (count, bytes) = self.open;
        let new: usize = self
            .outgoing
            .iter()
            .map(|pending| pending.unsigned.len())
            .sum();
        count.saturating_add(self.outgoing.len()) < OPEN_SUBJECTS_MAX
            && bytes.saturating_add(new) < OPEN_BYTES_MAX
    }

    /// Whether an acknowledgement may open one: there is room beyond the accounts' share.
    pub(super) fn has_room_for_ack(&self) -> bool {
        let (count, bytes) = self.open;
        count < OPEN_SUBJECTS_MAX.saturating_mul(2) && bytes < OPEN_BYTES_MAX.saturating_mul(2)
    }

    /// Ends the block: acknowledgements, roots, subjects, signing ledger.
    pub(super) fn finish(mut self) -> Result<Finished, committee::Error> {
        // A list of at most 256 times 33 bytes always fits a message.
        self.acknowledge().map_err(|_| committee::Error::Internal)?;
        let sealed = self.work.seal(self.height);
        let ids: Vec<[u8; 32]> = self.outgoing.iter().map(|pending| pending.id).collect();
        let nebula_root = nebula::root(sealed.root(), &ids);
        let record = self.app.genesis.record();
        let lineage = Lineage {
            nebula_root,
            key_era: record.key.key_era,
            generation: record.key.generation,
        };
        let suite = record.suite.name().as_bytes();
        let height = self.height;
        let outgoing: Vec<Outgoing> = self
            .outgoing
            .into_iter()
            .filter_map(|pending| pending.with_lineage(height, &lineage, suite))
            .collect();
        let subjects = outgoing.iter().map(|message| Subject {
            id: message.subject,
            mu: message.transcript.clone(),
        });
        let (positions, transactions): (Vec<usize>, Vec<LedgerTx>) = self.pulse.into_iter().unzip();
        let mut pulse_block = PulseBlock {
            height,
            transactions,
            subjects: subjects.collect(),
        };
        let mut pulse = self.parent.pulse().clone();
        let outcome = pulse.apply(&pulse_block)?;
        let mut refused = Vec::new();
        // From the back, so that earlier positions stay what they are.
        for (at, error) in outcome.invalid.into_iter().rev() {
            if at < pulse_block.transactions.len() {
                pulse_block.transactions.remove(at);
            }
            let position = positions.get(at).copied().unwrap_or(usize::MAX);
            refused.insert(0, (position, error));
        }
        let closed = closed(&outcome.events, &pulse_block.transactions);
        Ok(Finished {
            executed: Executed {
                state: sealed.with_pulse(pulse),
                effects: Effects {
                    height,
                    outgoing,
                    deliveries: self.deliveries,
                    acknowledged: self.acknowledged,
                    pulse: outcome.events,
                    pulse_transactions: pulse_block.transactions,
                    closed,
                },
            },
            nebula_root,
            refused,
        })
    }
}

impl Pending {
    /// The complete message. `None` cannot happen: the bytes were encoded here.
    fn with_lineage(self, height: u64, lineage: &Lineage, suite: &[u8]) -> Option<Outgoing> {
        let unsigned = UnsignedMessage::parse(&self.unsigned).ok()?;
        let transcript = Transcript::new(&unsigned, lineage, suite)
            .as_bytes()
            .to_vec();
        Some(Outgoing {
            id: self.id,
            sequence: self.sequence,
            height,
            subject: subject_id(&transcript),
            transcript,
            unsigned: self.unsigned,
            lineage: *lineage,
            is_ack: self.is_ack,
            destination_network: self.destination_network,
            destination_chain: self.destination_chain,
            channel: self.channel,
            nonce: self.nonce,
            expiry_height: self.expiry_height,
        })
    }
}

/// The Pulses of the subjects that were closed.
fn closed(events: &[Event], transactions: &[LedgerTx]) -> Vec<Closed> {
    let of = |event: &Event| {
        let Event::Closed { subject, attempt } = event else {
            return None;
        };
        transactions
            .iter()
            .find_map(|transaction| match transaction {
                LedgerTx::PulseCert(tx) if tx.body().subject == *subject => Some(Closed {
                    subject: *subject,
                    attempt: *attempt,
                    pulse: tx.body().pulse.to_pulse_bytes(),
                }),
                _ => None,
            })
    };
    events.iter().filter_map(of).collect()
}

/// Identity of the Pulse subject with this transcript.
pub(crate) fn subject_id(transcript: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    cshake256(domain::SUBJECT, &[transcript], &mut out);
    out
}

/// Most subjects that accounts can have open; acknowledgements may open as many again.
pub const OPEN_SUBJECTS_MAX: usize = 8_192;
/// Most bytes of the messages of open subjects, for accounts; as many again for acknowledgements.
pub const OPEN_BYTES_MAX: usize = 64 << 20;
