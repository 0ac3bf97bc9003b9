//! The computations that need no member: checking partials, combining, checking finished Pulses, signing what
//! goes to the ledger.

use std::sync::Arc;

use bytes::Bytes;
use horizon_pulsar::Signature;
use horizon_pulsar::committee::message::{
    Body, Header, Partial, PartialPost, PulseCert, Signed, Unverified,
};
use horizon_pulsar::committee::{
    Combiner, Committee, CommitteeKey, Error, PeerFault as MemberFault, Session,
};

use super::keys::{MemberKey, MemberKeys};
use super::lane::LaneDone;
use crate::gossip::FinishedPulse;

/// What a job found.
pub(crate) enum Done {
    Lane(LaneDone),
    Partials(Vec<CheckedPartial>),
    Combined {
        batch: u64,
        index: u16,
        result: Result<Bytes, Error>,
    },
    Finished {
        from: u16,
        pulse: FinishedPulse,
        is_good: bool,
    },
    Signed(Vec<(Key, Bytes)>),
}

/// A transaction of this member that waits to become final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Void,
    Commit(u64),
    Have(u64),
    Post(u64, u16, u16),
    Cert([u8; 32]),
}

/// A partial whose signature is to be checked.
pub(super) struct UncheckedPartial {
    pub(super) from: u16,
    pub(super) partial: Unverified<Partial>,
    pub(super) is_posted: bool,
}

/// What became of it.
pub(crate) struct CheckedPartial {
    pub(super) from: u16,
    pub(super) is_posted: bool,
    pub(super) result: Result<Arc<Signed<Partial>>, Error>,
}

/// What to sign for the ledger.
pub(super) enum ToSign {
    Post(Arc<Signed<Partial>>),
    Cert {
        batch: u64,
        subject: [u8; 32],
        attempt: u32,
        pulse: Bytes,
    },
}

pub(super) fn check_partials(items: Vec<UncheckedPartial>, keys: &MemberKeys) -> Done {
    let check = |item: UncheckedPartial| CheckedPartial {
        from: item.from,
        is_posted: item.is_posted,
        result: item.partial.verify(keys).map(Arc::new),
    };
    Done::Partials(items.into_iter().map(check).collect())
}

/// Adds the partials up and verifies the result.
pub(super) fn combine(
    committee: &Committee,
    key: &CommitteeKey,
    session: &Session,
    partials: &[Arc<Signed<Partial>>],
    mu: &[u8],
) -> Done {
    let run = || {
        let mut combiner = Combiner::new(committee, session);
        for partial in partials {
            combiner.add(partial)?;
        }
        let (signature, _verified) = combiner.finish(key.prepared(), mu)?;
        Ok(Bytes::from(signature.to_pulse_bytes()))
    };
    Done::Combined {
        batch: session.batch(),
        index: session.index(),
        result: run(),
    }
}

/// Checks a Pulse that somebody else finished.
pub(super) fn check_finished(
    key: &CommitteeKey,
    from: u16,
    pulse: FinishedPulse,
    mu: &[u8],
) -> Done {
    let decoded = Signature::from_pulse_bytes(&pulse.pulse);
    let is_good = decoded.is_ok_and(|signature| key.prepared().verify(mu, &signature).is_ok());
    Done::Finished {
        from,
        pulse,
        is_good,
    }
}

/// Signs transactions; one that cannot be signed is left out and tried again with the next tick.
pub(super) fn sign(header: &Header, items: Vec<ToSign>, key: &mut MemberKey) -> Done {
    let mut signed = Vec::new();
    for item in items {
        signed.extend(match item {
            ToSign::Post(partial) => {
                let (batch, index, member) = (
                    partial.header().seq,
                    partial.body().index,
                    partial.header().sender,
                );
                let body = PartialPost::from(Signed::clone(&partial));
                issue(header, batch, body, key).map(|tx| (Key::Post(batch, index, member), tx))
            }
            ToSign::Cert {
                batch,
                subject,
                attempt,
                pulse,
            } => Signature::from_pulse_bytes(&pulse).ok().and_then(|pulse| {
                let body = PulseCert {
                    subject,
                    attempt,
                    pulse,
                };
                issue(header, batch, body, key).map(|tx| (Key::Cert(subject), tx))
            }),
        });
    }
    Done::Signed(signed)
}

fn issue<B: Body>(header: &Header, batch: u64, body: B, key: &mut MemberKey) -> Option<Bytes> {
    let header = Header {
        seq: batch,
        ..*header
    };
    let tx = Signed::issue(header, body, key).ok()?;
    Some(Bytes::copy_from_slice(tx.bytes()))
}

/// The partial with one value changed, signed again: what a faulty member could send.
///
/// # Security
/// A public constant is added to a masked sum: nothing is revealed that the honest partial does not
/// reveal.
pub(super) fn spoil(partial: &Signed<Partial>, key: &mut MemberKey) -> Option<Signed<Partial>> {
    let mut body = partial.body().clone();
    let slot = body.z.first_mut()?.as_mut_array().first_mut()?;
    *slot = if *slot == 0 { 1 } else { 0 };
    Signed::issue(*partial.header(), body, key).ok()
}

/// Whether an error of a combination names one member rather than all contributors.
pub(super) const fn names_one(error: &Error) -> Option<u16> {
    match error {
        Error::Peer {
            member,
            fault: MemberFault::WrongSessionContext,
        } => Some(*member),
        _ => None,
    }
}
