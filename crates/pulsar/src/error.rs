//! The error of this crate, grouped by who is at fault.

use core::fmt;

/// Everything that can go wrong in this crate, grouped by fault.
///
/// [`Error::culprits`] says which party caused a [`Peer`] fault, or that nobody can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// Bytes from outside are not a canonical encoding.
    Malformed(Malformed),
    /// A well-formed signature is not valid.
    Rejected(Rejected),
    /// Another party, or the link to it, broke the protocol.
    Peer(Peer),
    /// The caller asked for something that is not allowed.
    Misuse(Misuse),
}

impl Error {
    /// Who is at fault, as far as that can be decided from what this party saw.
    #[must_use]
    pub const fn culprits(&self) -> Culprits {
        match self {
            Self::Malformed(_) | Self::Rejected(_) | Self::Misuse(_) => Culprits::NotAPeerFault,
            Self::Peer(fault) => match *fault {
                Peer::MacMismatch { from, to } => Culprits::Link { from, to },
                Peer::Missing { party, .. } | Peer::WrongSession { party, .. } => {
                    Culprits::Party(party)
                }
                // Whoever relayed the set may have added or changed these: the party named in them
                // need not have sent them.
                Peer::Unexpected { .. }
                | Peer::Duplicate { .. }
                | Peer::OwnMatrixAltered
                | Peer::RankDeficient
                | Peer::SignatureInvalid { .. } => Culprits::Undecidable,
            },
        }
    }
}

/// Which party an error points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Culprits {
    /// The error is not about another party.
    NotAPeerFault,
    /// This party, by its position.
    Party(u16),
    /// One end of this link, or the link. Not transferable: either end can fake it.
    Link {
        /// Position of the sender.
        from: u16,
        /// Position of the recipient.
        to: u16,
    },
    /// Some contributor or the transport; this protocol cannot tell which.
    Undecidable,
}

/// Why bytes were refused. Carries a static field name and limits, never the bytes themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Malformed {
    /// Fewer bytes than the fixed size of the object.
    Short {
        /// What was read.
        field: &'static str,
        /// Size it must have, in bytes.
        expected: usize,
    },
    /// More bytes than the fixed size of the object.
    Trailing {
        /// What was read.
        field: &'static str,
        /// Size it must have, in bytes.
        expected: usize,
    },
    /// A length prefix differs from the fixed size of the frame.
    FrameLength {
        /// The frame.
        field: &'static str,
        /// Size it must have, in bytes.
        expected: usize,
    },
    /// The first four bytes are not those of this object.
    Magic {
        /// The object.
        field: &'static str,
    },
    /// A version other than the one this crate reads.
    Version {
        /// The object.
        field: &'static str,
    },
    /// A count of polynomials or rows differs from the fixed one.
    Count {
        /// The object the count belongs to.
        field: &'static str,
    },
    /// The number of moduli in a polynomial header is not 1.
    Levels {
        /// The object the polynomial belongs to.
        field: &'static str,
    },
    /// The number of coefficients in a polynomial header is not 256.
    Degree {
        /// The object the polynomial belongs to.
        field: &'static str,
    },
    /// A coefficient is out of range.
    Range {
        /// The object the coefficient belongs to.
        field: &'static str,
        /// Largest value allowed.
        max: u64,
    },
    /// A number that is not a coefficient is out of range.
    Value {
        /// The number.
        field: &'static str,
    },
    /// A list of signers breaks a rule.
    Signers(SignersFault),
    /// An unknown hash suite.
    Suite,
}

/// Why a well-formed signature is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rejected {
    /// The squared norm of `(Delta 2^29, z)` is above the bound.
    Norm,
    /// The recomputed challenge differs: other key, other message, other suite, or a forged
    /// signature.
    Challenge,
}

/// A round of the signing protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Round {
    /// First round: matrices and MACs.
    One,
    /// Second round: partial signatures.
    Two,
}

/// A protocol fault of another party or of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Peer {
    /// The MAC over a first-round matrix does not match. Names the link; not transferable evidence.
    MacMismatch {
        /// Position of the sender.
        from: u16,
        /// Position of the recipient.
        to: u16,
    },
    /// A member of the signer set sent nothing (or, in round one, no MAC for this party).
    Missing {
        /// The round.
        round: Round,
        /// Position of the silent party.
        party: u16,
    },
    /// A message in the name of a party outside the signer set.
    Unexpected {
        /// The round.
        round: Round,
        /// Position claimed by the message.
        party: u16,
    },
    /// Two messages in the name of one party.
    Duplicate {
        /// The round.
        round: Round,
        /// Position claimed by both.
        party: u16,
    },
    /// A message made for another session or another signer set.
    WrongSession {
        /// The round.
        round: Round,
        /// Position of the sender.
        party: u16,
    },
    /// The set of first-round messages holds a matrix in this party's name that it did not send.
    OwnMatrixAltered,
    /// The sum of the matrices has a slot of rank below 8. Negligible for honest parties: an attack
    /// or a transport fault; nobody can be named.
    RankDeficient,
    /// The combined signature does not verify. Partials cannot be checked one by one: at least one
    /// of the contributors sent a wrong one, and nothing tells which.
    SignatureInvalid {
        /// Number of contributors.
        contributors: u16,
    },
}

/// What is wrong with a list of signers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SignersFault {
    /// No signer at all.
    Empty,
    /// Not strictly ascending: unsorted or duplicate.
    NotAscending,
    /// A position at or above the committee size.
    OutOfRange,
    /// Fewer signers than the threshold.
    BelowThreshold,
    /// The party that is to act is not in the list.
    SelfMissing,
}

/// A fault of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misuse {
    /// Committee size outside `1..=1024` (or, where the reference requires it, below 2).
    PartyCount,
    /// Threshold zero or above the committee size.
    Threshold,
    /// A position at or above the committee size, or the party's own position where a peer is
    /// meant.
    Position,
    /// An interpolation point is zero, not below q, or repeated.
    Points,
    /// A list of signers breaks a rule.
    Signers(SignersFault),
    /// Two lists that belong together differ in length, or a list has the wrong length.
    Length {
        /// The list.
        field: &'static str,
    },
    /// Message longer than 2^32 - 1 bytes.
    MessageTooLong,
    /// A session identifier at or below one already used with this share.
    SessionReused,
    /// First-round messages were offered in another order than that of the signer set.
    OutOfOrder {
        /// Position of the party whose message is due.
        expected: u16,
    },
    /// The share belongs to another group key or another hash suite.
    WrongGroup,
    /// A share, seed or coefficient given by the caller is out of range.
    Secret,
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

impl From<Peer> for Error {
    fn from(fault: Peer) -> Self {
        Self::Peer(fault)
    }
}

impl From<Misuse> for Error {
    fn from(fault: Misuse) -> Self {
        Self::Misuse(fault)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(fault) => write!(f, "malformed: {fault}"),
            Self::Rejected(fault) => write!(f, "rejected: {fault}"),
            Self::Peer(fault) => write!(f, "peer fault: {fault}"),
            Self::Misuse(fault) => write!(f, "misuse: {fault}"),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Short { field, expected } => write!(f, "{field}: fewer than {expected} bytes"),
            Self::Trailing { field, expected } => write!(f, "{field}: more than {expected} bytes"),
            Self::FrameLength { field, expected } => {
                write!(f, "{field}: length prefix is not {expected}")
            }
            Self::Magic { field } => write!(f, "{field}: wrong magic"),
            Self::Version { field } => write!(f, "{field}: unknown version"),
            Self::Count { field } => write!(f, "{field}: wrong number of polynomials or rows"),
            Self::Levels { field } => write!(f, "{field}: polynomial with other than one modulus"),
            Self::Degree { field } => {
                write!(f, "{field}: polynomial with other than 256 coefficients")
            }
            Self::Range { field, max } => write!(f, "{field}: coefficient above {max}"),
            Self::Value { field } => write!(f, "{field}: value out of range"),
            Self::Signers(fault) => write!(f, "signers: {fault}"),
            Self::Suite => f.write_str("unknown hash suite"),
        }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Norm => "norm above the bound",
            Self::Challenge => "challenge does not match",
        })
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One => "round one",
            Self::Two => "round two",
        })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MacMismatch { from, to } => write!(f, "MAC of {from} to {to} does not match"),
            Self::Missing { round, party } => write!(f, "{round}: nothing usable from {party}"),
            Self::Unexpected { round, party } => {
                write!(
                    f,
                    "{round}: message in the name of {party}, who is not a signer"
                )
            }
            Self::Duplicate { round, party } => {
                write!(f, "{round}: two messages in the name of {party}")
            }
            Self::WrongSession { round, party } => {
                write!(f, "{round}: message of {party} is for another session")
            }
            Self::OwnMatrixAltered => {
                f.write_str("round one: own matrix differs from the one sent")
            }
            Self::RankDeficient => {
                f.write_str("sum of first-round matrices is rank deficient (culprit unknown)")
            }
            Self::SignatureInvalid { contributors } => write!(
                f,
                "combined signature is invalid; one of {contributors} contributors is at fault, \
                 which one cannot be told"
            ),
        }
    }
}

impl fmt::Display for SignersFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "empty",
            Self::NotAscending => "not strictly ascending",
            Self::OutOfRange => "position outside the committee",
            Self::BelowThreshold => "fewer than the threshold",
            Self::SelfMissing => "acting party not included",
        })
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PartyCount => f.write_str("committee size out of range"),
            Self::Threshold => f.write_str("threshold out of range"),
            Self::Position => f.write_str("position out of range"),
            Self::Points => f.write_str("interpolation points must be distinct and not zero"),
            Self::Signers(fault) => write!(f, "signers: {fault}"),
            Self::Length { field } => write!(f, "{field}: wrong number of entries"),
            Self::MessageTooLong => f.write_str("message longer than 2^32 - 1 bytes"),
            Self::SessionReused => f.write_str("session identifier already used with this share"),
            Self::OutOfOrder { expected } => write!(f, "the message of {expected} is due first"),
            Self::WrongGroup => f.write_str("share belongs to another group key or suite"),
            Self::Secret => f.write_str("secret input out of range"),
        }
    }
}

impl core::error::Error for Error {}
