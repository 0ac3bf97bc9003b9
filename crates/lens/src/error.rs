//! The error of this crate, grouped by who is at fault.

use alloc::vec::Vec;
use core::fmt;

use crate::{Identifier, LedgerFault};

/// Everything that can go wrong in this crate, grouped by fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Bytes from outside are not a canonical encoding.
    Malformed(Malformed),
    /// A well-formed value does not hold what it claims.
    Rejected(Rejected),
    /// Another party, or the link to it, broke the protocol.
    Peer(Peer),
    /// The caller asked for something that is not allowed.
    Misuse(Misuse),
}

impl Error {
    /// The parties that caused the error, ascending; empty when it is not about another party or
    /// when nobody can be named.
    #[must_use]
    pub fn culprits(&self) -> &[Identifier] {
        match self {
            Self::Peer(peer) => &peer.culprits,
            Self::Malformed(_) | Self::Rejected(_) | Self::Misuse(_) => &[],
        }
    }

    pub(crate) const fn peer(fault: PeerFault, culprits: Vec<Identifier>) -> Self {
        Self::Peer(Peer { fault, culprits })
    }
}

/// Why bytes were refused. Carries a static field name and limits, never the bytes themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Malformed {
    /// The bytes end inside this field.
    Short {
        /// What was read.
        field: &'static str,
    },
    /// Bytes follow the last field.
    Trailing,
    /// The frame, or a length inside it, is above the limit.
    TooLong {
        /// What was read.
        field: &'static str,
        /// Largest length allowed, in bytes.
        max: usize,
    },
    /// A version other than the one this crate reads.
    Version,
    /// The frame is for another suite, or for none that exists.
    Suite,
    /// The frame holds another message than the one asked for, or none that exists.
    Kind,
    /// A number of entries outside its limits.
    Count {
        /// What is counted.
        field: &'static str,
        /// Smallest count allowed.
        min: usize,
        /// Largest count allowed.
        max: usize,
    },
    /// An identifier outside `1..=65535`.
    Identifier {
        /// Whose identifier.
        field: &'static str,
    },
    /// Identifiers that are not strictly ascending: unsorted or duplicate.
    Order {
        /// The list.
        field: &'static str,
    },
    /// A scalar that is not below the group order, or is zero where zero is not allowed.
    Scalar {
        /// Which scalar.
        field: &'static str,
    },
    /// A point that is not canonical, not on the curve, outside the prime-order group, or the
    /// identity.
    Point {
        /// Which point.
        field: &'static str,
    },
    /// Fields that contradict one another, such as a verifying share that is not on the polynomial
    /// of the others.
    Inconsistent {
        /// The object.
        field: &'static str,
    },
}

/// Why a well-formed value was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rejected {
    /// The signature is not valid for this key and message.
    Signature,
    /// The dealer's share does not match the dealer's own commitment.
    DealtShare,
    /// The dealer's commitment is not that of the group, or the refreshed share is not the one that
    /// the refreshed group names.
    DealtGroup,
    /// A repaired share is not the one the group names. At least one helper lied; nothing tells
    /// which.
    RepairedShare,
}

/// A protocol fault of other parties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// What happened.
    pub fault: PeerFault,
    /// Who did it, ascending; empty when this cannot be told from what this party saw.
    pub culprits: Vec<Identifier>,
}

/// What another party, or whoever relayed its message, did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerFault {
    /// Nothing arrived from these parties.
    Missing,
    /// Messages in the name of these identifiers, who do not take part.
    Unexpected,
    /// More than one message in the name of each of these parties.
    Duplicate,
    /// Messages of these parties are for another session or ceremony.
    WrongSession,
    /// Messages of these parties are addressed to somebody else.
    WrongRecipient,
    /// These parties committed to a polynomial of another degree than the threshold asks for.
    Degree,
    /// These parties do not prove that they know the secret behind their commitment.
    ProofOfKnowledge,
    /// The secret shares these parties sent do not match their commitments.
    SecretShare,
    /// The signature shares of these parties are wrong.
    SignatureShare,
    /// These parties saw other first-round messages than this one did. Somebody told two stories,
    /// or the named parties lie about what they saw: this alone is no proof against them.
    ViewsDiffer,
    /// The sum of all contributions is degenerate; nobody can be named.
    Degenerate,
    /// The signing package holds other commitments in this signer's name than it sent. The
    /// coordinator or the link is at fault.
    OwnCommitmentAltered,
    /// The signing package is for another message than the one this signer approved.
    MessageDiffers,
    /// The signing package has another signer set than the one this signer approved.
    SignersDiffer,
    /// The signing package is for another session than the nonces.
    PackageSession,
}

/// A fault of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misuse {
    /// Number of members outside `2..=256`.
    MemberCount,
    /// Threshold below 2 or above the number of members.
    Threshold,
    /// Identifier 0.
    Identifier,
    /// The same identifier twice.
    DuplicateIdentifier,
    /// An identifier that is not a member of the committee.
    NotAMember,
    /// Fewer signers or helpers than the threshold.
    BelowThreshold,
    /// The member to be repaired is among its own helpers.
    SelfRepair,
    /// A message longer than [`MESSAGE_LEN_MAX`](crate::MESSAGE_LEN_MAX) bytes.
    MessageTooLong,
    /// The share belongs to another group key, or the nonces to another share.
    WrongGroup,
    /// The caller's own message among those of the other parties.
    OwnMessage,
    /// Another threshold than the group's, which refreshing cannot change.
    ThresholdChange,
    /// The random generator repeats itself or returned a degenerate value.
    Randomness,
    /// The session ledger refused.
    Ledger(LedgerFault),
}

impl From<Malformed> for Error {
    fn from(fault: Malformed) -> Self {
        Self::Malformed(fault)
    }
}

impl From<Rejected> for Error {
    fn from(fault: Rejected) -> Self {
        Self::Rejected(fault)
    }
}

impl From<Misuse> for Error {
    fn from(fault: Misuse) -> Self {
        Self::Misuse(fault)
    }
}

impl From<LedgerFault> for Error {
    fn from(fault: LedgerFault) -> Self {
        Self::Misuse(Misuse::Ledger(fault))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(fault) => write!(f, "malformed: {fault}"),
            Self::Rejected(fault) => write!(f, "rejected: {fault}"),
            Self::Peer(peer) => write!(f, "peer fault: {peer}"),
            Self::Misuse(fault) => write!(f, "misuse: {fault}"),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Short { field } => write!(f, "{field}: bytes end too early"),
            Self::Trailing => f.write_str("bytes follow the last field"),
            Self::TooLong { field, max } => write!(f, "{field}: longer than {max} bytes"),
            Self::Version => f.write_str("unknown version"),
            Self::Suite => f.write_str("another suite"),
            Self::Kind => f.write_str("another kind of message"),
            Self::Count { field, min, max } => {
                write!(f, "{field}: number outside {min} to {max}")
            }
            Self::Identifier { field } => write!(f, "{field}: identifier out of range"),
            Self::Order { field } => write!(f, "{field}: identifiers not strictly ascending"),
            Self::Scalar { field } => write!(f, "{field}: not a canonical scalar"),
            Self::Point { field } => write!(f, "{field}: not a canonical group element"),
            Self::Inconsistent { field } => write!(f, "{field}: fields contradict one another"),
        }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Signature => "signature is not valid",
            Self::DealtShare => "share does not match the dealer's commitment",
            Self::DealtGroup => "share does not belong to the group the dealer published",
            Self::RepairedShare => "repaired share is not the one the group names",
        })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.fault)?;
        for (i, culprit) in self.culprits.iter().enumerate() {
            write!(f, "{}{culprit}", if i == 0 { ": " } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Display for PeerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "nothing arrived",
            Self::Unexpected => "message in the name of somebody who does not take part",
            Self::Duplicate => "more than one message in one name",
            Self::WrongSession => "message for another session",
            Self::WrongRecipient => "message for somebody else",
            Self::Degree => "commitment of the wrong degree",
            Self::ProofOfKnowledge => "proof of knowledge is wrong",
            Self::SecretShare => "secret share does not match its commitment",
            Self::SignatureShare => "signature share is wrong",
            Self::ViewsDiffer => "first-round messages were not the same for everybody",
            Self::Degenerate => "sum of the contributions is degenerate",
            Self::OwnCommitmentAltered => "own commitments were altered",
            Self::MessageDiffers => "package is for another message",
            Self::SignersDiffer => "package has another signer set",
            Self::PackageSession => "package is for another session",
        })
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MemberCount => f.write_str("number of members out of range"),
            Self::Threshold => f.write_str("threshold out of range"),
            Self::Identifier => f.write_str("identifier is zero"),
            Self::DuplicateIdentifier => f.write_str("same identifier twice"),
            Self::NotAMember => f.write_str("not a member of the committee"),
            Self::BelowThreshold => f.write_str("fewer than the threshold"),
            Self::SelfRepair => f.write_str("member to be repaired is among its helpers"),
            Self::MessageTooLong => f.write_str("message too long"),
            Self::WrongGroup => f.write_str("share or nonces belong to another group or share"),
            Self::OwnMessage => f.write_str("own message among those of the others"),
            Self::ThresholdChange => f.write_str("refreshing cannot change the threshold"),
            Self::Randomness => f.write_str("random generator failed"),
            Self::Ledger(fault) => write!(f, "session ledger: {fault}"),
        }
    }
}

impl core::error::Error for Error {}
