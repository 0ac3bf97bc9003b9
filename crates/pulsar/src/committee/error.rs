//! Why the committee mode refuses something, grouped by whose fault it is.
//!
//! A member is named only where the fault is decidable from signed or committed bytes. A combination
//! that does not verify lists its contributors and blames nobody (finding C-06).

use alloc::vec::Vec;
use core::fmt;

/// Why an operation of the committee mode was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not a message of this protocol.
    Malformed(Malformed),
    /// The bytes are well formed, and a cryptographic check said no.
    Rejected(Rejected),
    /// One member broke the protocol.
    Peer {
        /// Position of the member.
        member: u16,
        /// What it did.
        fault: PeerFault,
    },
    /// The caller asked for something that the state does not allow.
    Misuse(Misuse),
    /// Going on could reveal the share: stop the process (exit code 7) and look.
    UnsafeState(UnsafeState),
    /// The durable record could not be written or read; nothing left the process.
    RecordsUnavailable,
    /// The sender's signature could not be made; nothing left the process.
    SignerUnavailable,
    /// A kernel function refused shapes that this module chose itself: a fault here, nothing left the
    /// process.
    Internal,
}

/// Faults of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// Fewer bytes than the layout needs.
    Truncated {
        /// The field that did not fit.
        field: &'static str,
    },
    /// Bytes after the last field.
    Trailing {
        /// How many.
        bytes: usize,
    },
    /// A version other than 1.
    Version,
    /// A message type outside 01..=07.
    UnknownType,
    /// A known message type, but not the one expected here.
    UnexpectedType,
    /// The context is not the era context of this committee.
    WrongContext,
    /// The sender's position is not below `n`.
    UnknownSender,
    /// A number outside its limits.
    OutOfRange {
        /// The field.
        field: &'static str,
    },
    /// A packed polynomial holds a value `>= q`.
    NotCanonical {
        /// The field.
        field: &'static str,
    },
    /// The Pulse inside a certificate does not decode.
    Pulse,
}

/// Refusals of cryptographic checks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejected {
    /// The sender's signature does not verify. Nobody is to blame: anyone can write such bytes.
    SenderSignature,
    /// The sum of the first-round matrices of this index is rank deficient. After commit-before-reveal
    /// only a fault of an implementation explains it: void the batch, raise an alarm, name nobody.
    RankDeficient {
        /// The index within the batch.
        index: u16,
    },
    /// All partials are in and the signature does not verify. Which partial is wrong is not decidable
    /// (finding C-06), so this lists everybody who contributed.
    Combination {
        /// Positions of all contributors, ascending.
        contributors: Vec<u16>,
    },
    /// A certificate's Pulse does not verify under the group key.
    Pulse,
}

/// Attributable faults of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerFault {
    /// The member is not in the signing set of the batch.
    NotInSet,
    /// The commitment names another signing set.
    WrongSetDigest,
    /// The commitment has another number of digests than the plan.
    WrongCount,
    /// A digest appears twice.
    RepeatedDigest,
    /// A second commitment, or a second announcement, of one member for one batch.
    Twice,
    /// The boot counter is not the member's current one.
    WrongBoot,
    /// The matrix does not have the committed digest. Whoever forwarded it may have altered it.
    MatrixDigest,
    /// The committed matrix holds a value `>= q`: the member committed to it, so it is its fault.
    MatrixNotCanonical,
    /// The matrix was received before.
    MatrixTwice,
    /// The announcement of held matrices names other digests than the final ones.
    WrongHaveRoot,
    /// The partial belongs to another session context.
    WrongSessionContext,
    /// The partial names another batch, index or attempt.
    WrongSlot,
    /// A second partial of one member for one session.
    PartialTwice,
}

/// Faults of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// `n` is zero or above the limit.
    PartyCount,
    /// `t` is zero or above the number of points.
    Threshold,
    /// The points are not distinct and non-zero, or a member has none.
    Points,
    /// The signing set is empty, unsorted or repeats a member.
    SetOrder,
    /// The signing set names a position that is not below `n`.
    SetMember,
    /// The signing set holds fewer than `t` points, or could lose a member and still hold `t`.
    SetSize,
    /// The batch count is not within 1..=64.
    BatchCount,
    /// The share does not belong to this committee or this position.
    Share,
    /// This member is not in the signing set.
    NotInSet,
    /// The batch is not known.
    UnknownBatch,
    /// The subject is not known, or the certificate names an attempt that did not happen.
    UnknownSubject,
    /// The height is not one more than that of the last block.
    BlockHeight,
    /// The batch is already known.
    BatchExists,
    /// The index is not below the batch count.
    Index,
    /// The step is not allowed in the state that the batch or index is in.
    State {
        /// That state.
        state: super::State,
    },
    /// The digests of this sender are not final yet; hold the matrix back.
    NotCommitted,
    /// The own matrix came back with other bytes than were sent.
    OwnMatrixAltered,
    /// Session, share and nonce do not belong together, or the session cannot answer.
    Session,
    /// The message is 2^32 bytes or longer.
    Message,
    /// The group key was prepared for another hash suite than the committee's, or is another key.
    GroupKey,
    /// A coefficient of a commitment is not below 2^19.
    Commitment,
    /// More live batches than [`super::BATCHES_MAX`].
    TooManyBatches,
    /// A BatchVoid whose boot counter is not larger than the current one.
    StaleBoot,
    /// Fewer matrices, digests or partials than needed.
    Incomplete {
        /// How many are missing.
        missing: usize,
    },
}

/// Faults after which the signer refuses for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnsafeState {
    /// An index already answered, or assigned, is asked for in another context.
    SecondContext {
        /// The batch.
        batch: u64,
        /// The index within the batch.
        index: u16,
    },
    /// The ledger shows, in this member's name, something that this process did not make.
    SecondCopy {
        /// The batch, or the first valid batch of a void.
        batch: u64,
    },
}

impl Error {
    /// The members this error names: one for a peer fault, all contributors for a failed combination
    /// (which is not blame), nobody else.
    #[must_use]
    pub fn members(&self) -> Vec<u16> {
        match self {
            Self::Peer { member, .. } => alloc::vec![*member],
            Self::Rejected(Rejected::Combination { contributors }) => contributors.clone(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn peer(member: u16, fault: PeerFault) -> Self {
        Self::Peer { member, fault }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(m) => write!(f, "malformed committee message: {m}"),
            Self::Rejected(r) => write!(f, "{r}"),
            Self::Peer { member, fault } => write!(f, "member {member}: {fault}"),
            Self::Misuse(m) => write!(f, "not allowed: {m}"),
            Self::UnsafeState(u) => write!(f, "unsafe state, signing stopped: {u}"),
            Self::RecordsUnavailable => f.write_str("the durable session record is unavailable"),
            Self::SignerUnavailable => f.write_str("the sender's signature could not be made"),
            Self::Internal => f.write_str("internal fault"),
        }
    }
}

impl core::error::Error for Error {}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { field } => write!(f, "{field} is cut short"),
            Self::Trailing { bytes } => write!(f, "{bytes} bytes after the last field"),
            Self::Version => f.write_str("version is not 1"),
            Self::UnknownType => f.write_str("unknown type"),
            Self::UnexpectedType => f.write_str("another type was expected"),
            Self::WrongContext => f.write_str("context of another era, set or group"),
            Self::UnknownSender => f.write_str("sender is not a member"),
            Self::OutOfRange { field } => write!(f, "{field} is out of range"),
            Self::NotCanonical { field } => write!(f, "{field} holds a value that is not below q"),
            Self::Pulse => f.write_str("the Pulse does not decode"),
        }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SenderSignature => f.write_str("the sender's signature does not verify"),
            Self::RankDeficient { index } => {
                write!(f, "the nonce sum of index {index} is rank deficient")
            }
            Self::Combination { contributors } => write!(
                f,
                "the combined signature does not verify; which of {contributors:?} is wrong is not decidable"
            ),
            Self::Pulse => f.write_str("the Pulse does not verify under the group key"),
        }
    }
}

impl fmt::Display for PeerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotInSet => "not in the signing set",
            Self::WrongSetDigest => "committed to another signing set",
            Self::WrongCount => "committed to another number of matrices",
            Self::RepeatedDigest => "committed to one digest twice",
            Self::Twice => "announced twice for one batch",
            Self::WrongBoot => "used a boot counter that is not current",
            Self::MatrixDigest => "matrix does not have the committed digest",
            Self::MatrixNotCanonical => "committed to a matrix with a value that is not below q",
            Self::MatrixTwice => "matrix was received before",
            Self::WrongHaveRoot => "announced other digests than the final ones",
            Self::WrongSessionContext => "partial belongs to another session context",
            Self::WrongSlot => "partial names another batch, index or attempt",
            Self::PartialTwice => "sent a second partial for one session",
        })
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PartyCount => f.write_str("party count out of range"),
            Self::Threshold => f.write_str("threshold out of range"),
            Self::Points => f.write_str("evaluation points must be distinct and non-zero"),
            Self::SetOrder => f.write_str("signing set must be non-empty and strictly ascending"),
            Self::SetMember => f.write_str("signing set names a position outside the committee"),
            Self::SetSize => f.write_str("signing set does not match the threshold"),
            Self::BatchCount => f.write_str("batch count must be within 1..=64"),
            Self::Share => f.write_str("share does not fit this committee and position"),
            Self::NotInSet => f.write_str("this member is not in the signing set"),
            Self::UnknownBatch => f.write_str("unknown batch"),
            Self::UnknownSubject => f.write_str("unknown subject or attempt"),
            Self::BlockHeight => f.write_str("block out of order"),
            Self::BatchExists => f.write_str("batch is already known"),
            Self::Index => f.write_str("index is not below the batch count"),
            Self::State { state } => write!(f, "the step is not allowed in state {state:?}"),
            Self::NotCommitted => f.write_str("the sender's digests are not final yet"),
            Self::OwnMatrixAltered => f.write_str("the own matrix came back altered"),
            Self::Session => f.write_str("session, share and nonce do not belong together"),
            Self::Message => f.write_str("message of 2^32 bytes or more"),
            Self::GroupKey => f.write_str("group key or suite is not the committee's"),
            Self::Commitment => f.write_str("commitment out of range"),
            Self::TooManyBatches => f.write_str("too many live batches"),
            Self::StaleBoot => f.write_str("boot counter does not grow"),
            Self::Incomplete { missing } => write!(f, "{missing} parts are missing"),
        }
    }
}

impl fmt::Display for UnsafeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SecondContext { batch, index } => {
                write!(
                    f,
                    "batch {batch} index {index} was asked for in a second context"
                )
            }
            Self::SecondCopy { batch } => {
                write!(
                    f,
                    "a second copy of this signer runs (seen at batch {batch})"
                )
            }
        }
    }
}
