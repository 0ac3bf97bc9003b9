//! One list of messages against the list of those who should have sent them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::{Error, Identifier, PeerFault};

/// Who sent a message, as the message says.
pub(crate) trait Sent {
    fn sender(&self) -> Identifier;
}

/// Sorts `messages` by sender; each of `expected` exactly once, and nobody else.
///
/// # Errors
/// [`Error::Peer`] naming everybody concerned: `Unexpected`, `WrongSession` (where `in_session` is
/// false), `Duplicate`, `Missing`, in this order.
pub(crate) fn gather<'a, T: Sent>(
    messages: &'a [T],
    expected: &[Identifier],
    in_session: impl Fn(&T) -> bool,
) -> Result<BTreeMap<Identifier, &'a T>, Error> {
    let found = gather_some(messages, |id| expected.contains(&id), in_session)?;
    let missing = expected.iter().filter(|id| !found.contains_key(id));
    refuse(PeerFault::Missing, missing.copied().collect())?;
    Ok(found)
}

/// As [`gather`], from any of those for whom `allowed` holds.
pub(crate) fn gather_some<T: Sent>(
    messages: &[T],
    allowed: impl Fn(Identifier) -> bool,
    in_session: impl Fn(&T) -> bool,
) -> Result<BTreeMap<Identifier, &T>, Error> {
    let senders_where = |bad: &dyn Fn(&T) -> bool| -> Vec<Identifier> {
        let chosen = messages.iter().filter(|message| bad(message));
        chosen.map(Sent::sender).collect()
    };
    let unexpected = senders_where(&|message| !allowed(message.sender()));
    refuse(PeerFault::Unexpected, unexpected)?;
    let strangers = senders_where(&|message| !in_session(message));
    refuse(PeerFault::WrongSession, strangers)?;
    let mut found = BTreeMap::new();
    let mut twice = Vec::new();
    for message in messages {
        if found.insert(message.sender(), message).is_some() {
            twice.push(message.sender());
        }
    }
    refuse(PeerFault::Duplicate, twice)?;
    Ok(found)
}

/// An error naming `culprits`, if there are any.
pub(crate) fn refuse(fault: PeerFault, mut culprits: Vec<Identifier>) -> Result<(), Error> {
    if culprits.is_empty() {
        return Ok(());
    }
    culprits.sort_unstable();
    culprits.dedup();
    Err(Error::peer(fault, culprits))
}
