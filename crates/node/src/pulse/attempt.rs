//! One assigned index, as every node follows it: who answered, and whether a Pulse came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use horizon_ledger::Outgoing;
use horizon_pulsar::committee::message::{Partial, Signed};
use horizon_pulsar::committee::{Session, SigningSet};

/// An attempt that is neither closed nor failed.
pub(super) struct Attempt {
    pub(super) message: Arc<Outgoing>,
    pub(super) number: u32,
    pub(super) set: SigningSet,
    pub(super) is_posting: bool,
    /// Height at which posting began.
    pub(super) posting_since: u64,
    pub(super) partials: BTreeMap<u16, Slot>,
    /// Members whose partial is on the ledger.
    pub(super) posted: BTreeSet<u16>,
    /// Own posts that were handed out.
    pub(super) submitted: BTreeSet<u16>,
    /// The session, at a member that answered.
    pub(super) session: Option<Arc<Session>>,
    pub(super) combining: Combining,
    /// When to ask for missing partials next, milliseconds.
    pub(super) next_ms: u64,
    pub(super) tries: u32,
}

/// The partial of one member, as it was sent and as it stands on the ledger. An honest member has one.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) sent: Option<Arc<Signed<Partial>>>,
    pub(super) posted: Option<Arc<Signed<Partial>>>,
}

/// How far the combination is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combining {
    /// Not all partials are there.
    Waiting,
    /// A job does it.
    Running,
    /// The partials that were sent do not verify; those on the ledger may.
    Failed,
    /// Neither do those on the ledger.
    FailedTwice,
    /// There is a Pulse.
    Done,
}

impl Attempt {
    pub(super) fn new(message: Arc<Outgoing>, number: u32, set: SigningSet, next_ms: u64) -> Self {
        Self {
            message,
            number,
            set,
            is_posting: false,
            posting_since: 0,
            partials: BTreeMap::new(),
            posted: BTreeSet::new(),
            submitted: BTreeSet::new(),
            session: None,
            combining: Combining::Waiting,
            next_ms,
            tries: 0,
        }
    }

    /// Members without a partial here.
    pub(super) fn missing(&self) -> Vec<u16> {
        let ids = self.set.ids().iter().copied();
        ids.filter(|id| self.partial(*id).is_none()).collect()
    }

    /// The partial of a member, from wherever it came.
    pub(super) fn partial(&self, member: u16) -> Option<&Arc<Signed<Partial>>> {
        let slot = self.partials.get(&member)?;
        slot.sent.as_ref().or(slot.posted.as_ref())
    }

    /// Whether a partial of this member would bring anything.
    pub(super) fn wants(&self, member: u16, is_posted: bool) -> bool {
        if self.set.slot(member).is_none() {
            return false;
        }
        match self.partials.get(&member) {
            None => true,
            Some(slot) if is_posted => slot.posted.is_none(),
            Some(slot) => slot.sent.is_none() && slot.posted.is_none(),
        }
    }

    /// The partials to be combined now, if any combination is left to be tried: first as they were sent, then as
    /// they stand on the ledger.
    pub(super) fn combination(&self) -> Option<Vec<Arc<Signed<Partial>>>> {
        let prefers_posted = match self.combining {
            Combining::Waiting => false,
            Combining::Failed => true,
            Combining::Running | Combining::FailedTwice | Combining::Done => return None,
        };
        let choose = |id: &u16| {
            let slot = self.partials.get(id)?;
            let (first, second) = if prefers_posted {
                (&slot.posted, &slot.sent)
            } else {
                (&slot.sent, &slot.posted)
            };
            first.as_ref().or(second.as_ref()).cloned()
        };
        let chosen: Vec<_> = self.set.ids().iter().map(choose).collect::<Option<_>>()?;
        let differs = |slot: &Slot| match (&slot.sent, &slot.posted) {
            (Some(sent), Some(posted)) => sent.body() != posted.body(),
            _ => false,
        };
        // The same sum again would fail again.
        (!prefers_posted || self.partials.values().any(differs)).then_some(chosen)
    }
}
