//! One batch of a member: its stage, and exactly the secrets that exist in it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use horizon_ring::matrix::NttMatrix;
use rand_core::CryptoRng;

use crate::committee::context::Digest;
use crate::committee::error::{Error, Misuse};
use crate::committee::gather::Gather;
use crate::committee::message::{Header, Partial, Signed};
use crate::committee::nonce::{Made, Nonce, make};
use crate::committee::session::Session;
use crate::committee::share::{SetShare, SignerShare};
use crate::committee::traits::{Answer, MemberSigner};

/// Where one `(batch, index)` stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// The ledger opened the batch and this member is in its set.
    Planned,
    /// The durable record is written and the nonces are made.
    Reserved,
    /// The own BatchCommit is final.
    Committed,
    /// The BatchCommits of all members are final; matrices may be sent.
    Revealed,
    /// The BatchHaves of all members are final.
    Ready,
    /// A final block named subject and attempt; the answer is not durable yet.
    Assigned,
    /// The answer is durable and the nonce erased.
    Answered,
    /// Ended without an answer; memory erased.
    Void,
    /// Ended with a final PulseCert.
    Done,
    /// Ended without one.
    Failed,
}

/// One batch of this member.
pub(super) struct Batch {
    pub(super) gather: Gather,
    pub(super) phase: Phase,
    /// Digests this process made, kept to recognise a second copy.
    pub(super) digests: Vec<Digest>,
}

/// The stage of a batch, with exactly the secrets that exist in it.
pub(super) enum Phase {
    Planned,
    /// Nonces made, digests not final.
    Reserved(Pool),
    /// Own digests final. Matrices leave only once everybody's are (finding C-14).
    Committed(Pool),
    /// All members hold all matrices: indices can be assigned one by one.
    Ready {
        share: SetShare,
        slots: Vec<Slot>,
    },
    Void,
}

/// Secrets and own messages of a batch, by index.
pub(super) struct Pool {
    pub(super) nonces: Vec<Nonce>,
    pub(super) messages: Vec<Vec<u8>>,
}

/// One index of a ready batch. The nonce is in exactly one state and leaves it by value.
pub(super) enum Slot {
    Ready(Nonce),
    Assigned {
        session: Box<Session>,
        partial: Partial,
    },
    Answered {
        session: Box<Session>,
        partial: Vec<u8>,
    },
    Ended(State),
}

impl Batch {
    pub(super) fn state(&self, index: u16) -> State {
        match &self.phase {
            Phase::Planned => State::Planned,
            Phase::Reserved(_) => State::Reserved,
            Phase::Committed(_) if self.gather.all_committed() => State::Revealed,
            Phase::Committed(_) => State::Committed,
            Phase::Ready { slots, .. } => slots
                .get(usize::from(index))
                .map_or(State::Void, Slot::state),
            Phase::Void => State::Void,
        }
    }

    pub(super) fn checked_state(&self, index: u16) -> Result<State, Error> {
        if index >= self.gather.plan().count {
            return Err(Error::Misuse(Misuse::Index));
        }
        Ok(self.state(index))
    }

    pub(super) fn wrong_state(&self) -> Error {
        Error::Misuse(Misuse::State {
            state: self.state(0),
        })
    }

    /// Erases the nonces of all open indices.
    pub(super) fn void(&mut self) {
        match &mut self.phase {
            Phase::Ready { slots, .. } => {
                for (index, slot) in (0..).zip(slots) {
                    if let Slot::Ready(_) = slot {
                        *slot = Slot::Ended(State::Void);
                        self.gather.forget(index);
                    }
                }
            }
            phase => {
                *phase = Phase::Void;
                (0..self.gather.plan().count).for_each(|index| self.gather.forget(index));
            }
        }
    }
}

impl Pool {
    pub(super) fn make(
        a: &NttMatrix,
        share: &SignerShare,
        header: &Header,
        count: u16,
        rng: &mut impl CryptoRng,
    ) -> Result<Self, Error> {
        let mut pool = Self {
            nonces: Vec::new(),
            messages: Vec::new(),
        };
        for index in 0..count {
            let Made { nonce, message } = make(a, share, header, index, rng)?;
            pool.nonces.push(nonce);
            pool.messages.push(message);
        }
        Ok(pool)
    }
}

impl Slot {
    pub(super) fn state(&self) -> State {
        match self {
            Self::Ready(_) => State::Ready,
            Self::Assigned { .. } => State::Assigned,
            Self::Answered { .. } => State::Answered,
            Self::Ended(state) => *state,
        }
    }

    pub(super) fn session_ctx(&self) -> Option<[u8; 32]> {
        match self {
            Self::Assigned { session, .. } | Self::Answered { session, .. } => {
                Some(*session.session_ctx())
            }
            Self::Ready(_) | Self::Ended(_) => None,
        }
    }

    /// Ready to Assigned: consumes the nonce.
    pub(super) fn assign(&mut self, session: Session, share: &SetShare) -> Result<(), Error> {
        match core::mem::replace(self, Self::Ended(State::Void)) {
            Self::Ready(nonce) => {
                let partial = nonce.respond(&session, share)?;
                *self = Self::Assigned {
                    session: Box::new(session),
                    partial,
                };
            }
            other => *self = other,
        }
        Ok(())
    }

    /// The signed bytes of an assigned index. Not durable yet: a retry may sign anew.
    pub(super) fn sign(
        &self,
        header: Header,
        signer: &mut impl MemberSigner,
    ) -> Result<Vec<u8>, Error> {
        let Self::Assigned { partial, .. } = self else {
            return Err(Error::Internal);
        };
        let signed = Signed::issue(header, partial.clone(), signer)?;
        Ok(signed.into_bytes())
    }

    /// Assigned to Answered.
    pub(super) fn answered(&mut self, answer: &Answer) {
        match core::mem::replace(self, Self::Ended(State::Void)) {
            Self::Assigned { session, .. } => {
                *self = Self::Answered {
                    session,
                    partial: answer.partial.clone(),
                };
            }
            other => *self = other,
        }
    }
}
