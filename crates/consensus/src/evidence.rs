//! Proof that one validator signed two statements no honest validator signs both of.
//!
//! The file is self-contained: two ML-DSA-65 signatures of one key over two statements of one
//! round. Whoever has the genesis file can check it with [`Evidence::check`], or by hand: the
//! signing contexts are the namespace of the network and a suffix for the kind of vote.

use core::{fmt, sync::atomic::Ordering};
use std::sync::Arc;

use bytes::Bytes;
use commonware_actor::Feedback;
use commonware_codec::{DecodeExt as _, Encode as _, ReadExt as _};
use commonware_consensus::{
    Reporter,
    simplex::{
        scheme::Namespace,
        types::{Activity, Finalize, Notarize, Nullify, Proposal, Subject},
    },
    types::Round,
};
use commonware_cryptography::certificate::{Attestation, Namespace as _, Subject as _};
use horizon_sig::traits::Verifier as _;
use serde::{Deserialize, Serialize};

use crate::{
    block::Digest,
    handle::StatusCell,
    roster::Roster,
    scheme::{SIGNATURE_LEN, Scheme},
};

/// Receives every proof once per report. It is called on a task of the engine: hand on and return.
pub type Sink = Arc<dyn Fn(Evidence) + Send + Sync>;

/// Version of the file format.
pub const VERSION: u32 = 1;

/// Largest file that is read, in bytes.
pub const MAX_FILE_BYTES: usize = 64 * 1024;

/// Longest signed statement, in bytes.
const MAX_STATEMENT: usize = 256;

/// Two conflicting signatures of one validator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// [`VERSION`].
    pub version: u32,
    /// Chain id of the network, hex.
    pub chain_id: String,
    /// Hash of its genesis file, hex.
    pub genesis_hash: String,
    /// Canonical position of the accused.
    pub validator: u16,
    /// Its identity key, hex.
    pub identity: String,
    /// Its ML-DSA-65 consensus key, hex.
    pub consensus_key: String,
    /// The one statement.
    pub first: Statement,
    /// The other.
    pub second: Statement,
}

/// A signed vote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// What was voted.
    pub kind: Kind,
    /// The signed bytes, hex: the round and, except for nullify, the parent view and the block
    /// digest.
    pub message: String,
    /// ML-DSA-65 signature, hex.
    pub signature: String,
}

/// The kinds of vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A vote for a block.
    Notarize,
    /// A vote to skip a view.
    Nullify,
    /// A vote that a block is final.
    Finalize,
}

/// What a checked proof says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offence {
    /// Canonical position of the validator.
    pub validator: u16,
    /// View of both votes.
    pub view: u64,
    /// Kinds of the two votes.
    pub kinds: (Kind, Kind),
}

/// Why a file proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotProven {
    /// Not a file of this format.
    #[error("not an evidence file: {0}")]
    Format(String),
    /// Another network.
    #[error("the evidence is about another network")]
    OtherNetwork,
    /// The accused is not the validator at that position.
    #[error("the keys are not those of validator {0}")]
    OtherValidator(u16),
    /// A statement does not decode.
    #[error("a statement does not decode as {0:?}")]
    Statement(Kind),
    /// The two statements may both be signed by an honest validator.
    #[error("the two statements do not conflict")]
    NoConflict,
    /// A signature does not verify.
    #[error("the signature of the {0:?} statement does not verify")]
    Signature(Kind),
}

impl Evidence {
    /// Reads a file.
    ///
    /// # Errors
    /// [`NotProven::Format`].
    pub fn from_json(bytes: &[u8]) -> Result<Self, NotProven> {
        if bytes.len() > MAX_FILE_BYTES {
            return Err(NotProven::Format(format!("{} bytes", bytes.len())));
        }
        serde_json::from_slice(bytes).map_err(|error| NotProven::Format(error.to_string()))
    }

    /// The file.
    ///
    /// # Errors
    /// [`NotProven::Format`], which does not happen for a value of this type.
    pub fn to_json(&self) -> Result<Vec<u8>, NotProven> {
        serde_json::to_vec_pretty(self).map_err(|error| NotProven::Format(error.to_string()))
    }

    /// Name of the file: the same proof has the same name on every node.
    #[must_use]
    pub fn file_name(&self) -> String {
        let view = self
            .first
            .decode()
            .map_or(0, |statement| statement.round.view().get());
        format!(
            "view-{view}-validator-{}-{:?}-{:?}.json",
            self.validator, self.first.kind, self.second.kind
        )
        .to_lowercase()
    }

    /// Checks the proof against the genesis: network, keys, conflict, both signatures.
    ///
    /// # Errors
    /// The first rule that fails.
    pub fn check(&self, roster: &Roster) -> Result<Offence, NotProven> {
        if self.version != VERSION {
            return Err(NotProven::Format(format!("version {}", self.version)));
        }
        if self.chain_id != to_hex(roster.chain_id())
            || self.genesis_hash != to_hex(roster.genesis_hash())
        {
            return Err(NotProven::OtherNetwork);
        }
        let accused = roster
            .validator(self.validator)
            .filter(|accused| {
                self.identity == to_hex(accused.identity.as_ref())
                    && self.consensus_key == to_hex(accused.consensus.key_bytes())
            })
            .ok_or(NotProven::OtherValidator(self.validator))?;
        let first = self.first.decode()?;
        let second = self.second.decode()?;
        if first.round != second.round || !conflict(&first, &second) {
            return Err(NotProven::NoConflict);
        }
        let namespace = Namespace::derive(&roster.namespace());
        for statement in [&first, &second] {
            let _verified = accused
                .consensus
                .verify(
                    context(&namespace, statement.kind),
                    &statement.message,
                    &statement.signature,
                )
                .map_err(|_| NotProven::Signature(statement.kind))?;
        }
        Ok(Offence {
            validator: self.validator,
            view: first.round.view().get(),
            kinds: (first.kind, second.kind),
        })
    }
}

impl Statement {
    fn decode(&self) -> Result<Decoded, NotProven> {
        let wrong = || NotProven::Statement(self.kind);
        if self.message.len() > MAX_STATEMENT * 2 || self.signature.len() != SIGNATURE_LEN * 2 {
            return Err(wrong());
        }
        let message = from_hex(&self.message).ok_or_else(wrong)?;
        let signature = from_hex(&self.signature).ok_or_else(wrong)?;
        let bytes = Bytes::from(message.clone());
        let (round, proposal) = match self.kind {
            Kind::Nullify => (Round::decode(bytes).map_err(|_| wrong())?, None),
            Kind::Notarize | Kind::Finalize => {
                let proposal = Proposal::<Digest>::decode(bytes).map_err(|_| wrong())?;
                (proposal.round, Some(proposal))
            }
        };
        Ok(Decoded {
            kind: self.kind,
            round,
            proposal,
            message,
            signature,
        })
    }
}

struct Decoded {
    kind: Kind,
    round: Round,
    proposal: Option<Proposal<Digest>>,
    message: Vec<u8>,
    signature: Vec<u8>,
}

/// The three pairs that simplex forbids, in one round.
fn conflict(first: &Decoded, second: &Decoded) -> bool {
    match (first.kind, second.kind) {
        (Kind::Notarize, Kind::Notarize) | (Kind::Finalize, Kind::Finalize) => {
            first.proposal != second.proposal
        }
        (Kind::Nullify, Kind::Finalize) | (Kind::Finalize, Kind::Nullify) => true,
        _ => false,
    }
}

fn context(namespace: &Namespace, kind: Kind) -> &[u8] {
    match kind {
        Kind::Notarize => &namespace.notarize,
        Kind::Nullify => &namespace.nullify,
        Kind::Finalize => &namespace.finalize,
    }
}

/// Turns fault reports of simplex into [`Evidence`].
#[derive(Clone)]
pub(crate) struct EvidenceReporter {
    roster: Arc<Roster>,
    sink: Sink,
    status: Arc<StatusCell>,
}

impl EvidenceReporter {
    pub(crate) const fn new(roster: Arc<Roster>, sink: Sink, status: Arc<StatusCell>) -> Self {
        Self {
            roster,
            sink,
            status,
        }
    }

    fn evidence(&self, first: Vote, second: Vote) -> Option<Evidence> {
        let position = self
            .roster
            .position_of_participant(first.attestation.signer)?;
        let accused = self.roster.validator(position)?;
        Some(Evidence {
            version: VERSION,
            chain_id: to_hex(self.roster.chain_id()),
            genesis_hash: to_hex(self.roster.genesis_hash()),
            validator: position,
            identity: to_hex(accused.identity.as_ref()),
            consensus_key: to_hex(accused.consensus.key_bytes()),
            first: first.statement()?,
            second: second.statement()?,
        })
    }
}

impl fmt::Debug for EvidenceReporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvidenceReporter").finish_non_exhaustive()
    }
}

impl Reporter for EvidenceReporter {
    type Activity = Activity<Scheme, Digest>;

    fn report(&mut self, activity: Self::Activity) -> Feedback {
        // The library keeps the two votes private; their encodings follow one another.
        let votes = match activity {
            Activity::ConflictingNotarize(fault) => {
                let mut bytes = fault.encode();
                Notarize::read(&mut bytes)
                    .and_then(|first| Ok((first.into(), Notarize::read(&mut bytes)?.into())))
            }
            Activity::ConflictingFinalize(fault) => {
                let mut bytes = fault.encode();
                Finalize::read(&mut bytes)
                    .and_then(|first| Ok((first.into(), Finalize::read(&mut bytes)?.into())))
            }
            Activity::NullifyFinalize(fault) => {
                let mut bytes = fault.encode();
                Nullify::read(&mut bytes)
                    .and_then(|first| Ok((first.into(), Finalize::read(&mut bytes)?.into())))
            }
            _ => return Feedback::Ok,
        };
        if let Ok((first, second)) = votes
            && let Some(evidence) = self.evidence(first, second)
        {
            self.status.evidence.fetch_add(1, Ordering::Relaxed);
            (self.sink)(evidence);
        }
        Feedback::Ok
    }
}

struct Vote {
    kind: Kind,
    message: Bytes,
    attestation: Attestation<Scheme>,
}

impl Vote {
    fn statement(&self) -> Option<Statement> {
        Some(Statement {
            kind: self.kind,
            message: to_hex(&self.message),
            signature: to_hex(self.attestation.signature.get()?.as_ref()),
        })
    }
}

impl From<Notarize<Scheme, Digest>> for Vote {
    fn from(vote: Notarize<Scheme, Digest>) -> Self {
        let subject = Subject::Notarize {
            proposal: &vote.proposal,
        };
        Self {
            kind: Kind::Notarize,
            message: subject.message(),
            attestation: vote.attestation,
        }
    }
}

impl From<Finalize<Scheme, Digest>> for Vote {
    fn from(vote: Finalize<Scheme, Digest>) -> Self {
        let subject = Subject::Finalize {
            proposal: &vote.proposal,
        };
        Self {
            kind: Kind::Finalize,
            message: subject.message(),
            attestation: vote.attestation,
        }
    }
}

impl From<Nullify<Scheme>> for Vote {
    fn from(vote: Nullify<Scheme>) -> Self {
        let subject: Subject<'_, Digest> = Subject::Nullify { round: vote.round };
        Self {
            kind: Kind::Nullify,
            message: subject.message(),
            attestation: vote.attestation,
        }
    }
}

fn to_hex(bytes: &[u8]) -> String {
    use core::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Accepts lower case only, so that one proof has one file.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks_exact(2);
    if !digits.remainder().is_empty() {
        return None;
    }
    digits
        .map(|pair| match pair {
            [high, low] => Some(nibble(*high)? << 4 | nibble(*low)?),
            _ => None,
        })
        .collect()
}

const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
