//! The member's state machine and the queue in front of it. Whoever runs the job owns the member meanwhile.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use horizon_ledger::Outgoing;
use horizon_pulsar::committee::ledger::LedgerTx;
use horizon_pulsar::committee::message::{Partial, Signed, Unverified};
use horizon_pulsar::committee::{
    Assignment, Error, Member, Misuse, Plan, Rejected, Session, State, UnsafeState,
};

use super::keys::{MemberKey, MemberKeys};
use crate::gossip::Gossip;
use crate::service::Stream;
use crate::signer::{self, Guard, Records, Statement};

/// A step of the member. All but the last three happen in the order in which they were asked for.
pub(super) enum Op {
    /// A final transaction of any member.
    Final(LedgerTx),
    /// A batch was opened with this member in its set.
    Plan(Plan),
    /// All commitments are final: hand out the own matrices.
    Reveal(u64),
    /// Announce a batch whose matrices are all held.
    Announce(u64),
    /// A final block assigned an index.
    Answer(Box<AnswerOp>),
    /// The subject of an index was closed, or the attempt failed.
    Close { batch: u64, index: u16, done: bool },
    /// The open indices of a batch are void.
    Expire(u64),
    /// Look up a partial of an earlier process.
    Recall { batch: u64, index: u16 },
    /// Make the nonces of a batch.
    Reserve { batch: u64, rng: Stream },
    /// A matrix of a peer.
    Matrix { from: u16, bytes: Bytes },
    /// A peer lacks own matrices.
    Serve { to: u16, batch: u64, indices: u64 },
}

/// What an index was assigned to.
pub(super) struct AnswerOp {
    pub(super) batch: u64,
    pub(super) index: u16,
    pub(super) attempt: u32,
    pub(super) message: Arc<Outgoing>,
}

/// What a step brought.
pub(super) enum Out {
    /// The own BatchCommit.
    Commit { batch: u64, bytes: Bytes },
    /// The own BatchHave.
    Have { batch: u64, bytes: Bytes },
    /// The own matrices, framed.
    Matrices { batch: u64, messages: Vec<Bytes> },
    /// Own matrices for one peer, framed.
    Served { to: u16, messages: Vec<Bytes> },
    /// A matrix was taken.
    Taken { batch: u64, sender: u16, index: u16 },
    /// The own partial, durable, and the session it belongs to.
    Answered {
        batch: u64,
        index: u16,
        partial: Arc<Signed<Partial>>,
        session: Arc<Session>,
    },
    /// A partial that an earlier process made.
    Recalled {
        batch: u64,
        index: u16,
        partial: Arc<Signed<Partial>>,
    },
    /// The sums of a batch are not of full rank: a fault of an implementation, nobody's in particular.
    RankDeficient,
    /// A matrix was refused.
    Refused { from: u16, error: Error },
    /// A step that the state does not allow any more.
    Late,
}

/// Why the member must not go on.
pub(super) enum Stop {
    Unsafe(UnsafeState),
    Guard(signer::Error),
    Records,
}

/// A member with its keys.
pub(super) struct Bench {
    pub(super) member: Member<Records>,
    pub(super) records: Records,
    pub(super) guard: Guard,
    pub(super) key: MemberKey,
    pub(super) keys: MemberKeys,
}

/// What a job of the lane brings back.
pub(crate) struct LaneDone {
    pub(super) bench: Box<Bench>,
    pub(super) outs: Vec<Out>,
    /// Steps to be tried again: the own signature could not be made.
    pub(super) again: Vec<Op>,
    pub(super) stop: Option<Stop>,
    pub(super) states: [u64; STATES],
}

/// Steps that wait.
#[derive(Default)]
pub(super) struct Queue {
    ordered: VecDeque<Op>,
    bulk: VecDeque<Op>,
    matrices: usize,
}

impl Queue {
    /// Adds a step.
    pub(super) fn push(&mut self, op: Op) {
        match op {
            Op::Reserve { .. } | Op::Serve { .. } => self.bulk.push_back(op),
            Op::Matrix { .. } => {
                self.matrices += 1;
                self.bulk.push_back(op);
            }
            _ => self.ordered.push_back(op),
        }
    }

    /// Matrices that wait.
    pub(super) const fn matrices(&self) -> usize {
        self.matrices
    }

    pub(super) fn len(&self) -> usize {
        self.ordered.len() + self.bulk.len()
    }

    /// The steps of the next job: all ordered ones, and bulk up to its limit.
    pub(super) fn next(&mut self) -> Vec<Op> {
        let mut ops: Vec<Op> = self.ordered.drain(..).collect();
        let mut cost = 0;
        while cost < JOB_COST_MAX
            && let Some(op) = self.bulk.pop_front()
        {
            cost += match &op {
                Op::Matrix { .. } => {
                    self.matrices = self.matrices.saturating_sub(1);
                    1
                }
                _ => JOB_COST_MAX,
            };
            ops.push(op);
        }
        ops
    }
}

impl Bench {
    /// Takes the steps one by one, then makes the answers durable together. Nothing is returned before they are.
    pub(super) fn run(mut self: Box<Self>, ops: Vec<Op>) -> LaneDone {
        let (mut outs, mut again) = (Vec::new(), Vec::new());
        let mut stop = self.permit(&ops).err();
        if stop.is_none() {
            for op in ops {
                match self.step(op, &mut outs) {
                    Ok(None) => {}
                    Ok(Some(op)) => again.push(op),
                    Err(why) => {
                        stop = Some(why);
                        break;
                    }
                }
            }
        }
        let answered = outs.iter().any(|out| matches!(out, Out::Answered { .. }));
        if stop.is_none() && answered {
            stop = self.guard.flush().err().map(Stop::Guard);
        }
        if stop.is_some() {
            outs.clear();
        }
        LaneDone {
            states: self.states(),
            bench: self,
            outs,
            again,
            stop,
        }
    }

    /// The guard's word on everything that is to be answered.
    fn permit(&self, ops: &[Op]) -> Result<(), Stop> {
        let statements: Vec<Statement<'_>> = ops
            .iter()
            .filter_map(|op| match op {
                Op::Answer(answer) => Some(Statement {
                    id: answer.message.id,
                    channel: answer.message.channel,
                    nonce: answer.message.nonce,
                    transcript: &answer.message.transcript,
                }),
                _ => None,
            })
            .collect();
        if statements.is_empty() {
            return Ok(());
        }
        let permitted = self
            .guard
            .permit_deferred(&[signer::Lane::Pulse], &statements);
        permitted.map_err(Stop::Guard)
    }

    fn step(&mut self, op: Op, outs: &mut Vec<Out>) -> Result<Option<Op>, Stop> {
        let result = match &op {
            Op::Final(tx) => self.on_final(tx),
            Op::Plan(plan) => self.member.plan(plan.clone()),
            Op::Reveal(batch) => self.reveal(*batch, outs),
            Op::Announce(batch) => self.have(*batch, outs),
            Op::Answer(answer) => self.answer(answer, outs),
            Op::Close { batch, index, done } => {
                let closed = self.member.close(*batch, *index, *done);
                // Losing this costs space only.
                let _ =
                    self.records
                        .drop_partial(self.member.committee().era_ctx(), *batch, *index);
                let _ = self.member.forget(*batch);
                closed
            }
            Op::Expire(batch) => {
                let expired = self.member.expire(*batch);
                let _ = self.member.forget(*batch);
                expired
            }
            Op::Recall { batch, index } => self.recall(*batch, *index, outs),
            Op::Reserve { .. } => return self.reserve(op, outs),
            Op::Matrix { from, bytes } => {
                return self.matrix(*from, bytes, outs).map(|()| None);
            }
            Op::Serve { to, batch, indices } => self.serve(*to, *batch, *indices, outs),
        };
        match result {
            Ok(()) => Ok(None),
            Err(Error::SignerUnavailable) => Ok(Some(op)),
            Err(error) => stop_for(&error).map_or_else(
                || {
                    outs.push(Out::Late);
                    Ok(None)
                },
                Err,
            ),
        }
    }

    fn on_final(&mut self, tx: &LedgerTx) -> Result<(), Error> {
        match tx {
            LedgerTx::BatchCommit(tx) => self.member.commit_final(tx),
            LedgerTx::BatchHave(tx) => self.member.have_final(tx),
            LedgerTx::BatchVoid(tx) => self.member.void_final(tx),
            LedgerTx::PartialPost(_) | LedgerTx::PulseCert(_) => Ok(()),
        }
    }

    fn reserve(&mut self, op: Op, outs: &mut Vec<Out>) -> Result<Option<Op>, Stop> {
        let Op::Reserve { batch, mut rng } = op else {
            return Ok(None);
        };
        let reserved = match self.member.state(batch, 0) {
            Some(State::Reserved) => Ok(()),
            _ => self.member.reserve(batch, &mut rng),
        };
        let committed = reserved.and_then(|()| self.member.commit(batch, &mut self.key));
        match committed {
            Ok(tx) => {
                let bytes = Bytes::copy_from_slice(tx.bytes());
                outs.push(Out::Commit { batch, bytes });
                Ok(None)
            }
            Err(Error::SignerUnavailable) => Ok(Some(Op::Reserve { batch, rng })),
            Err(error) => stop_for(&error).map_or(Ok(None), Err),
        }
    }

    fn reveal(&mut self, batch: u64, outs: &mut Vec<Out>) -> Result<(), Error> {
        let messages = self.member.matrices(batch)?;
        let messages = messages.iter().map(|m| Gossip::matrix(m)).collect();
        outs.push(Out::Matrices { batch, messages });
        // A set of one has nobody to wait for.
        self.have(batch, outs)
    }

    fn serve(
        &mut self,
        to: u16,
        batch: u64,
        indices: u64,
        outs: &mut Vec<Out>,
    ) -> Result<(), Error> {
        let messages = self.member.matrices(batch)?;
        let wanted = (0..64)
            .zip(messages)
            .filter(|(at, _)| indices >> at & 1 == 1);
        let messages = wanted.map(|(_, m)| Gossip::matrix(m)).collect();
        outs.push(Out::Served { to, messages });
        Ok(())
    }

    fn matrix(&mut self, from: u16, bytes: &Bytes, outs: &mut Vec<Out>) -> Result<(), Stop> {
        let place =
            horizon_pulsar::committee::message::NonceMatrix::decode(bytes, self.member.committee());
        let taken = self.member.matrix(bytes);
        match (place, taken) {
            (Ok(place), Ok(missing)) => {
                let batch = place.header.seq;
                outs.push(Out::Taken {
                    batch,
                    sender: place.header.sender,
                    index: place.index,
                });
                if missing == 0
                    && let Err(error) = self.have(batch, outs)
                {
                    return stop_for(&error).map_or(Ok(()), Err);
                }
                Ok(())
            }
            (_, Err(error)) | (Err(error), _) => match stop_for(&error) {
                Some(stop) => Err(stop),
                None => {
                    outs.push(Out::Refused { from, error });
                    Ok(())
                }
            },
        }
    }

    /// Announces a batch whose matrices are all held.
    fn have(&mut self, batch: u64, outs: &mut Vec<Out>) -> Result<(), Error> {
        match self.member.have(batch, &mut self.key) {
            Ok(tx) => {
                let bytes = Bytes::copy_from_slice(tx.bytes());
                outs.push(Out::Have { batch, bytes });
                Ok(())
            }
            Err(Error::Misuse(Misuse::Incomplete { .. })) => Ok(()),
            Err(Error::Rejected(Rejected::RankDeficient { .. })) => {
                outs.push(Out::RankDeficient);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn answer(&mut self, op: &AnswerOp, outs: &mut Vec<Out>) -> Result<(), Error> {
        let assignment = Assignment {
            batch: op.batch,
            index: op.index,
            attempt: op.attempt,
            mu: &op.message.transcript,
        };
        let bytes = self.member.answer(&assignment, &mut self.key)?;
        let session = self.member.session(op.batch, op.index);
        let session = Arc::new(session.ok_or(Error::Internal)?.clone());
        let partial = self.decode(&bytes)?;
        outs.push(Out::Answered {
            batch: op.batch,
            index: op.index,
            partial,
            session,
        });
        Ok(())
    }

    fn recall(&self, batch: u64, index: u16, outs: &mut Vec<Out>) -> Result<(), Error> {
        if let Some(bytes) = self.member.stored_partial(batch, index)? {
            let partial = self.decode(&bytes)?;
            outs.push(Out::Recalled {
                batch,
                index,
                partial,
            });
        }
        Ok(())
    }

    fn decode(&self, bytes: &[u8]) -> Result<Arc<Signed<Partial>>, Error> {
        let partial = Unverified::decode(bytes, self.member.committee())?;
        Ok(Arc::new(partial.verify(&self.keys)?))
    }

    /// How many indices are in each state.
    fn states(&self) -> [u64; STATES] {
        let mut counts = [0; STATES];
        for (batch, count) in self.member.batches() {
            for index in 0..count {
                if let Some(state) = self.member.state(batch, index)
                    && let Some(place) = counts.get_mut(state as usize)
                {
                    *place += 1;
                }
            }
        }
        counts
    }
}

/// Whether the process may not go on after this error.
const fn stop_for(error: &Error) -> Option<Stop> {
    match error {
        Error::UnsafeState(state) => Some(Stop::Unsafe(*state)),
        Error::RecordsUnavailable => Some(Stop::Records),
        _ => None,
    }
}

/// Number of states of an index.
pub(super) const STATES: usize = 10;
/// Bulk work of one job: matrices, each a fraction of a millisecond.
const JOB_COST_MAX: usize = 16;
