//! Decoding for people: what stands where in a file, and the first byte at fault.
//!
//! Nothing here verifies a signature. What is malformed is said by the decoders that verifiers use;
//! the walks here only find the fields, as far as the bytes allow.

mod attestation;
mod envelope;
mod payload;
mod pulse;
mod record;
mod walk;

use horizon_warp::certificate;
use horizon_warp::registry::RECORD_TAG;
use horizon_warp::{Error, layout};
use serde_json::Value;

pub use walk::Field;

/// What a file is read as.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Version 2 envelope.
    Envelope,
    /// Version 1 message with its Beam.
    Message,
    /// Unsigned message.
    Unsigned,
    /// Pulse.
    Pulse,
    /// Certificate set.
    CertSet,
    /// Groth16 artifact.
    Groth16,
    /// Registry record in canonical bytes.
    Record,
    /// Horizon certificate.
    Certificate,
    /// Payload of a named type.
    Payload(PayloadKind),
}

/// The types of payload. The bytes do not say which one they are.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadKind {
    /// Addressed call.
    Call,
    /// Hash.
    Hash,
    /// Our routed payload.
    Routed,
    /// Teleport, RLP form.
    Teleport,
    /// Teleport, fixed form.
    TeleportFixed,
    /// Atomic swap.
    Swap,
    /// Multi-hop route.
    Route,
    /// Asset lock.
    AssetLock,
    /// Validator registration result.
    L1Registration,
    /// Validator registration.
    RegisterL1,
    /// Conversion of a chain.
    L1Conversion,
    /// Validator weight.
    L1Weight,
}

impl Kind {
    /// Stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Envelope => "envelope",
            Self::Message => "message",
            Self::Unsigned => "unsigned",
            Self::Pulse => "pulse",
            Self::CertSet => "certset",
            Self::Groth16 => "groth16",
            Self::Record => "record",
            Self::Certificate => "certificate",
            Self::Payload(kind) => kind.name(),
        }
    }

    /// What the first bytes look like, if they look like anything. Payloads never do.
    #[must_use]
    pub fn guess(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(RECORD_TAG) {
            return Some(Self::Record);
        }
        if bytes.starts_with(certificate::PREFIX) {
            return Some(Self::Certificate);
        }
        match bytes {
            [0x02, ..] => Some(Self::Envelope),
            [0x01, 0x03, ..] => Some(Self::CertSet),
            // The length of the first frame, 2,064.
            [0x10, 0x08, 0, 0, ..] => Some(Self::Pulse),
            [0xc0..=0xff, ..] => {
                // A message starts with a list, an unsigned message with a number.
                let spans = layout::layout(bytes);
                let inner = spans.get(1).map(|span| span.start);
                let first = inner.and_then(|at| bytes.get(at));
                Some(match first {
                    Some(0xc0..=0xff) | None => Self::Message,
                    Some(_) => Self::Unsigned,
                })
            }
            _ => None,
        }
    }
}

/// What was found.
#[derive(Debug)]
pub struct Report {
    /// What the bytes were read as.
    pub kind: Kind,
    /// The fields in order, as far as they can be told apart.
    pub fields: Vec<Field>,
    /// Decoded facts, for people and programs.
    pub facts: Vec<(&'static str, Value)>,
    /// The first fault, if there is one.
    pub fault: Option<Fault>,
}

/// A refusal by a decoder.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The refusal; its offset counts from `base`.
    pub error: Error,
    /// Where the part that was being decoded starts in the file.
    pub base: usize,
}

impl Fault {
    /// Offset in the file of the byte at fault.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        Some(self.base.saturating_add(self.error.offset()?))
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { error, base: 0 }
    }
}

/// Decodes `bytes` as `kind`.
#[must_use]
pub fn inspect(bytes: &[u8], kind: Kind) -> Report {
    match kind {
        Kind::Envelope | Kind::Message => envelope::inspect(bytes, kind),
        Kind::Unsigned => envelope::inspect_unsigned(bytes),
        Kind::Pulse => pulse::inspect(bytes),
        Kind::CertSet | Kind::Groth16 => attestation::inspect(bytes, kind),
        Kind::Record => record::inspect(bytes),
        Kind::Certificate => record::inspect_certificate(bytes),
        Kind::Payload(payload) => payload::inspect(bytes, payload),
    }
}
