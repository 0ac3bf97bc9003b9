//! Everything that can go wrong, as one error type over one table of stable reasons.
//!
//! A [`Reason`] has a code that never changes (logs, metrics, the command line and the HTTP
//! interface print it), a [`Class`] that says which family of check refused, a static sentence, and
//! a hint what to do next. Errors carry static field names, limits, offsets and indices; they never
//! carry bytes taken from the input.

use core::fmt;

/// Why something was refused, with where and for whom.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The bytes are not a canonical encoding.
    Malformed {
        /// Stable reason.
        reason: Reason,
        /// Static name of the field that was being read.
        field: &'static str,
        /// Offset in bytes, from the start of the input given to the decoder, of the first byte at
        /// fault.
        offset: usize,
        /// The limit that was exceeded, in bytes or units of the field, if the reason is a limit.
        limit: Option<u64>,
    },
    /// The bytes are well formed, but policy, registry, weights or cryptography say no.
    Rejected {
        /// Stable reason.
        reason: Reason,
        /// The lane that failed, if one did.
        lane: Option<Lane>,
        /// The validator index at fault, if one is.
        index: Option<u32>,
    },
    /// The caller's own configuration or arguments are refused.
    Misuse {
        /// Stable reason.
        reason: Reason,
        /// Static name of the argument or configuration key.
        field: &'static str,
    },
}

impl Error {
    /// The stable reason.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        match self {
            Self::Malformed { reason, .. }
            | Self::Rejected { reason, .. }
            | Self::Misuse { reason, .. } => *reason,
        }
    }

    /// The class of [`Error::reason`].
    #[must_use]
    pub const fn class(&self) -> Class {
        self.reason().class()
    }

    /// Offset of the first byte at fault, when the input itself is malformed.
    #[must_use]
    pub const fn offset(&self) -> Option<usize> {
        match self {
            Self::Malformed { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// The static field name, when there is one.
    #[must_use]
    pub const fn field(&self) -> Option<&'static str> {
        match self {
            Self::Malformed { field, .. } | Self::Misuse { field, .. } => Some(field),
            Self::Rejected { .. } => None,
        }
    }

    /// The lane at fault, when one is.
    #[must_use]
    pub const fn lane(&self) -> Option<Lane> {
        match self {
            Self::Rejected { lane, .. } => *lane,
            _ => None,
        }
    }

    /// The validator index at fault, when one is.
    #[must_use]
    pub const fn index(&self) -> Option<u32> {
        match self {
            Self::Rejected { index, .. } => *index,
            _ => None,
        }
    }

    /// Malformed bytes at `offset`.
    pub(crate) const fn malformed(reason: Reason, field: &'static str, offset: usize) -> Self {
        Self::Malformed {
            reason,
            field,
            offset,
            limit: None,
        }
    }

    /// Malformed bytes at `offset`: more than `limit`.
    pub(crate) const fn over(
        reason: Reason,
        field: &'static str,
        offset: usize,
        limit: usize,
    ) -> Self {
        Self::Malformed {
            reason,
            field,
            offset,
            limit: Some(limit as u64),
        }
    }

    /// A refusal that concerns no lane.
    pub(crate) const fn rejected(reason: Reason) -> Self {
        Self::Rejected {
            reason,
            lane: None,
            index: None,
        }
    }

    /// A refusal by one lane.
    #[cfg(feature = "std")]
    pub(crate) const fn lane_rejected(reason: Reason, lane: Lane) -> Self {
        Self::Rejected {
            reason,
            lane: Some(lane),
            index: None,
        }
    }

    /// A refusal naming a validator index.
    pub(crate) const fn index_rejected(reason: Reason, lane: Option<Lane>, index: u32) -> Self {
        Self::Rejected {
            reason,
            lane,
            index: Some(index),
        }
    }

    /// The caller's fault.
    pub(crate) const fn misuse(reason: Reason, field: &'static str) -> Self {
        Self::Misuse { reason, field }
    }

    /// The same error, `delta` bytes further into an enclosing input.
    pub(crate) const fn shifted(self, delta: usize) -> Self {
        match self {
            Self::Malformed {
                reason,
                field,
                offset,
                limit,
            } => Self::Malformed {
                reason,
                field,
                offset: offset.saturating_add(delta),
                limit,
            },
            other => other,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.reason();
        write!(f, "{}: {}", reason.code(), reason.text())?;
        match self {
            Self::Malformed {
                field,
                offset,
                limit,
                ..
            } => {
                write!(f, " (field {field}, offset {offset}")?;
                if let Some(limit) = limit {
                    write!(f, ", limit {limit}")?;
                }
                f.write_str(")")
            }
            Self::Rejected { lane, index, .. } => {
                if let Some(lane) = lane {
                    write!(f, " (lane {})", lane.name())?;
                }
                if let Some(index) = index {
                    write!(f, " (validator {index})")?;
                }
                Ok(())
            }
            Self::Misuse { field, .. } => write!(f, " (argument {field})"),
        }
    }
}

impl core::error::Error for Error {}

/// One lane of evidence carried by an envelope.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// BLS12-381 aggregate signature of the source validators. Classical.
    Beam,
    /// One ML-DSA-65 signature per validator. Post-quantum.
    CertSet,
    /// Groth16 proof about a CertSet. Classical.
    Groth16,
    /// One lattice threshold signature of the source committee. Post-quantum.
    Pulse,
}

impl Lane {
    /// Every lane, in the order in which failures are reported.
    pub const ALL: [Self; 4] = [Self::Beam, Self::CertSet, Self::Groth16, Self::Pulse];

    /// Stable lower-case name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Beam => "beam",
            Self::CertSet => "certset",
            Self::Groth16 => "groth16",
            Self::Pulse => "pulse",
        }
    }

    /// Whether a verified lane of this kind is post-quantum evidence.
    ///
    /// # Security
    /// A Groth16 proof about post-quantum signatures is a classical proof: whoever breaks the
    /// pairing forges it without any signature.
    #[must_use]
    pub const fn is_post_quantum(self) -> bool {
        matches!(self, Self::CertSet | Self::Pulse)
    }
}

/// The family of check that refused.
///
/// # Source
/// The error classes of the wire specification, plus `Registry` and `Policy` for configuration of
/// our own.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Zero-length input.
    Empty,
    /// The lead byte names no known envelope version.
    Version,
    /// A size cap is exceeded.
    TooLarge,
    /// The strict RLP profile is violated.
    Rlp,
    /// The structure is wrong, a required lane is missing, or no verifier for it is configured.
    InvalidMessage,
    /// The signature type is not 0.
    UnknownSigType,
    /// A bit set ends in a zero byte.
    NonCanonicalBits,
    /// A validator set is empty, inconsistent or overflows.
    ValidatorSet,
    /// A signer bit has no validator.
    SignerIndex,
    /// Quorum not reached, or signed weight 0.
    InsufficientWeight,
    /// The BLS signature does not decode.
    SigParse,
    /// The BLS signature does not verify.
    SigVerify,
    /// The hash suite differs from what the verifier or the registry expects.
    SuiteMismatch,
    /// The registry could not give a key.
    Resolver,
    /// The Pulse bytes fail a decode guard.
    PulseFrame,
    /// The kernel rejected the Pulse.
    PulseVerify,
    /// The ML-DSA or Groth16 lane failed.
    CertSet,
    /// Policy wants post-quantum evidence and the envelope has none.
    ClassicalForbidden,
    /// Horizon certificate codec or structural check failed.
    Horizon,
    /// A payload is malformed.
    Payload,
    /// A signature request or response is malformed.
    Request,
    /// A registry record or the registry's chain of records is refused.
    Registry,
    /// A policy is refused or does not cover this envelope.
    Policy,
}

/// One row of the reason table.
#[derive(Clone, Copy, Debug)]
struct Row {
    code: &'static str,
    class: Class,
    text: &'static str,
    hint: &'static str,
}

macro_rules! reasons {
    ($( $variant:ident $class:ident $code:literal $text:literal $hint:literal )*) => {
        /// The stable reasons, one per way of being refused. [`Reason::ALL`] is the table.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $( #[doc = $text] $variant, )*
        }

        impl Reason {
            /// Every reason, in table order.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )* ];

            const fn row(self) -> Row {
                match self {
                    $( Self::$variant => Row {
                        code: $code, class: Class::$class, text: $text, hint: $hint,
                    }, )*
                }
            }
        }
    };
}

impl Reason {
    /// The stable code: lower-case words joined by hyphens, never renamed.
    #[must_use]
    pub const fn code(self) -> &'static str {
        self.row().code
    }

    /// The family of check.
    #[must_use]
    pub const fn class(self) -> Class {
        self.row().class
    }

    /// One static sentence without a full stop.
    #[must_use]
    pub const fn text(self) -> &'static str {
        self.row().text
    }

    /// What to do next.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        self.row().hint
    }

    /// The reason with this code.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|reason| reason.code() == code)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

reasons! {
    EmptyInput Empty "empty-input"
        "The input has no bytes"
        "Check that the transport delivered the envelope"
    UnknownVersion Version "unknown-version"
        "The first byte names no known envelope version"
        "Expected 0x02, or an RLP list for a version 1 message"
    EnvelopeTooLarge TooLarge "envelope-too-large"
        "The envelope is larger than the wire cap"
        "Send fewer certificates, or rely on the Pulse"
    MessageTooLarge TooLarge "message-too-large"
        "The version 1 message is larger than the wire cap"
        "Reject the sender; no conforming encoder produces it"
    SignersTooLarge TooLarge "signers-too-large"
        "The signer bit set is longer than the cap"
        "Reject the sender; no validator set is that large"
    LanesTooLarge TooLarge "lanes-too-large"
        "Pulse and certificate lanes together are larger than the cap"
        "Send fewer certificates"
    UnsignedTooLarge InvalidMessage "unsigned-too-large"
        "The encoded unsigned message is larger than its cap"
        "Send a smaller payload"
    RlpTruncated Rlp "rlp-truncated"
        "Input or enclosing list ends before the declared size"
        "The bytes were cut or the length is wrong"
    RlpTrailingBytes Rlp "rlp-trailing-bytes"
        "Bytes remain after the outermost item"
        "Remove what follows the item"
    RlpLongFormForShort Rlp "rlp-long-form-for-short"
        "A length below 56 is in the long form"
        "Encode canonically"
    RlpLengthLeadingZero Rlp "rlp-length-leading-zero"
        "A length has a leading zero byte"
        "Encode canonically"
    RlpByteAsString Rlp "rlp-byte-as-string"
        "A single byte below 0x80 has a length prefix"
        "Encode canonically"
    RlpIntegerLeadingZero Rlp "rlp-integer-leading-zero"
        "An integer has a leading zero byte"
        "Encode canonically; zero is the empty string"
    RlpIntegerTooLong Rlp "rlp-integer-too-long"
        "An integer is longer than its type"
        "The value does not fit the field"
    RlpFixedLength Rlp "rlp-fixed-length"
        "A fixed array has another length"
        "Check the field's size"
    RlpWrongKind Rlp "rlp-wrong-kind"
        "A list stands where a string is expected, or the reverse"
        "The fields are in another order or of another type"
    RlpFieldCount Rlp "rlp-field-count"
        "A list has fewer or more elements than the type has fields"
        "The bytes are of another type or version"
    RlpBoolean Rlp "rlp-boolean"
        "A boolean is greater than 1"
        "Encode canonically"
    UnknownSignatureType UnknownSigType "unknown-signature-type"
        "The signature type is not 0"
        "Only bit-set aggregate signatures exist"
    NonCanonicalSigners NonCanonicalBits "non-canonical-signers"
        "The signer bit set ends in a zero byte"
        "Trim trailing zero bytes; the signature needs no change"
    SignerWithoutValidator SignerIndex "signer-without-validator"
        "A signer bit is set beyond the validator set"
        "The signers come from another validator set; attest again under the current one"
    ValidatorSetEmpty ValidatorSet "validator-set-empty"
        "The validator set is empty"
        "Load the source chain's registry record"
    ValidatorSetTooLarge ValidatorSet "validator-set-too-large"
        "The validator set has more members than the cap"
        "Use a sampled committee"
    ValidatorWeightZero ValidatorSet "validator-weight-zero"
        "A validator has weight 0"
        "Leave it out of the set"
    ValidatorDuplicateKey ValidatorSet "validator-duplicate-key"
        "Two validators share one key"
        "Each validator needs keys of its own"
    ValidatorWeightOverflow ValidatorSet "validator-weight-overflow"
        "The total weight does not fit 64 bits"
        "Scale the weights down"
    NoSignedWeight InsufficientWeight "no-signed-weight"
        "No validator signed"
        "Collect signatures first"
    InsufficientWeight InsufficientWeight "insufficient-weight"
        "The signed weight is below the quorum"
        "Collect more signatures under the current validator set"
    QuorumParameters Policy "quorum-parameters"
        "The quorum is zero, more than one, or has denominator 0"
        "Choose a fraction in (0, 1], for example 67/100"
    BeamMalformed SigParse "beam-malformed"
        "The Beam signature is not a point of the signature group"
        "The bytes were damaged, or another curve or encoding was used"
    BeamInvalid SigVerify "beam-invalid"
        "The Beam signature does not verify under the named signers"
        "Check signers, message bytes and domain separation tag"
    NetworkMismatch InvalidMessage "network-mismatch"
        "The message is of another network"
        "Send it to a verifier of that network"
    SuiteSyntax SuiteMismatch "suite-syntax"
        "The hash suite is too long or not printable ASCII"
        "Use a suite name of the registry"
    SuiteUnknown SuiteMismatch "suite-unknown"
        "The hash suite is not known"
        "Use a suite name of the registry"
    SuiteDiffers SuiteMismatch "suite-differs"
        "The envelope's hash suite is not the registry's"
        "The envelope was built for another era or relabelled"
    LaneMissing InvalidMessage "lane-missing"
        "A lane that policy requires is absent"
        "Wait for the lane, or ask a relayer that has it"
    LaneUnverifiable InvalidMessage "lane-unverifiable"
        "A lane is present or required, and no verifier or key for it is configured"
        "Add the key to the registry record, or drop the lane"
    PqEvidenceMissing ClassicalForbidden "pq-evidence-missing"
        "Policy wants post-quantum evidence and the envelope has none"
        "Ask for the Pulse or the certificate set; lanes may have been stripped on the way"
    PulseEmpty PulseFrame "pulse-empty"
        "The Pulse has no bytes"
        "Leave the field empty only when the lane is absent"
    PulseTooLarge PulseFrame "pulse-too-large"
        "The Pulse is larger than its wire cap"
        "Reject the sender"
    PulseTruncated PulseFrame "pulse-truncated"
        "A Pulse frame prefix or body runs past the end"
        "The bytes were cut or the length is wrong"
    PulseLaneTooLarge PulseFrame "pulse-lane-too-large"
        "A Pulse frame is larger than the per-lane cap"
        "Reject the sender"
    PulseCount PulseFrame "pulse-count"
        "A declared count inside a Pulse frame is above the cap"
        "Reject the sender"
    PulseRow PulseFrame "pulse-row"
        "A Pulse frame ends inside a declared row"
        "The bytes were cut or a count is wrong"
    PulseLaneTrailing PulseFrame "pulse-lane-trailing"
        "A Pulse frame has bytes after its object"
        "Remove what follows the object"
    PulseTrailing PulseFrame "pulse-trailing"
        "Bytes follow the last Pulse frame"
        "Remove what follows the frame"
    PulseShape PulseFrame "pulse-shape"
        "A Pulse frame has another shape than 1, 7 and 8 polynomials of 256 coefficients"
        "It was made by another kernel or padded"
    PulseRange PulseFrame "pulse-range"
        "A Pulse coefficient is not reduced"
        "Encode canonically"
    PulseInvalid PulseVerify "pulse-invalid"
        "The Pulse does not verify under the era's group key"
        "Check era, generation, suite and message; the Pulse may belong to another envelope"
    CertSetLength CertSet "certset-length"
        "The certificate set has another length than its header says"
        "The bytes were cut or a count is wrong"
    CertSetKind CertSet "certset-kind"
        "The certificate set's kind or scheme is not known"
        "Only ML-DSA-65 sets of kind 1 exist"
    CertSetEmpty CertSet "certset-empty"
        "The certificate set names no signer"
        "Collect signatures first"
    CertSetSigners CertSet "certset-signers"
        "The certificate set's signer bits are not canonical"
        "Trim trailing zero bytes"
    CertSetCount CertSet "certset-count"
        "The certificate set's count differs from its signer bits"
        "Rebuild the set from the collected signatures"
    CertSetSignerIndex CertSet "certset-signer-index"
        "A certificate's signer bit is beyond the validator set"
        "The signers come from another validator set"
    CertSetKeyMissing CertSet "certset-key-missing"
        "A signer has no ML-DSA key in the registry"
        "Leave that validator out of the certificate set"
    CertSetInvalid CertSet "certset-invalid"
        "A certificate does not verify"
        "Drop the signer named by the index and collect again"
    CertSetWeight CertSet "certset-weight"
        "The certificates' weight is below the quorum"
        "Collect more certificates under the current validator set"
    Groth16Unsupported CertSet "groth16-unsupported"
        "The lane carries a Groth16 proof and no verifying key for it is configured"
        "Send the raw certificate set, or pin a wrapper key and load it"
    Groth16Length CertSet "groth16-length"
        "A Groth16 artifact is not 224 bytes"
        "Check the prover's output format"
    Groth16Point CertSet "groth16-point"
        "A point of the Groth16 proof is infinity, not canonical, off the curve or outside its group"
        "Check the prover's output format"
    Groth16Inputs CertSet "groth16-inputs"
        "The Groth16 proof carries another public-inputs hash than the one recomputed"
        "It was made for another message, validator set, quorum or verifying key"
    Groth16Invalid CertSet "groth16-invalid"
        "The Groth16 proof does not verify"
        "Prove again under the current validator set, quorum and verifying key"
    Groth16Key Policy "groth16-key"
        "The wrapper key that policy pins is not loaded or not for this lane"
        "Load the verifying key with the pinned id"
    Groth16Slots Policy "groth16-slots"
        "The source has more validators than the wrapper key has slots"
        "Pin a wrapper key made for that many validators"
    Groth16Development Policy "groth16-development"
        "The wrapper key comes from a development setup, whose maker can forge any proof"
        "Use a key from a ceremony; development keys need an explicit permission"
    PolicyMissing Policy "policy-missing"
        "No policy is pinned for this source chain"
        "Add the source chain to the policy file"
    PolicyDuplicate Policy "policy-duplicate"
        "Two policies name one source chain"
        "Keep one of them"
    PolicyTier Policy "policy-tier"
        "The tier name is not known"
        "Use classical, pulse, horizon, pq or wrapped"
    PolicyField Policy "policy-field"
        "A policy field is missing or out of range"
        "Correct the named field"
    CommitteeTooSmall Policy "committee-too-small"
        "The record has fewer validators or a lower threshold than policy demands"
        "The source must grow its committee"
    PolicyJson Policy "policy-json"
        "The policy file is not the expected JSON"
        "Compare with the sample; unknown keys are refused"
    RecordUnknown Resolver "record-unknown"
        "The registry has no record for this network, chain, era and generation"
        "Update the registry; lookups are exact and never fall back"
    EraRetired Resolver "era-retired"
        "The key generation is retired and its grace is over"
        "Have the message attested again under the current generation"
    RecordNotYetValid Resolver "record-not-yet-valid"
        "The record's validity has not begun at this height"
        "Wait, or check the height given to the verifier"
    RecordExpired Resolver "record-expired"
        "The record's validity is over at this height"
        "Update the registry"
    RecordTooOld Resolver "record-too-old"
        "The record is older than the policy's maximum age"
        "Update the registry from a trusted source"
    RecordRevoked Resolver "record-revoked"
        "The key generation is revoked"
        "Do not use this source until it has a new generation"
    RecordTruncated Registry "record-truncated"
        "A registry record ends inside a field"
        "The file was cut"
    RecordTrailing Registry "record-trailing"
        "Bytes follow a registry record"
        "The file was damaged"
    RecordPrefix Registry "record-prefix"
        "A registry record has another prefix"
        "The file is of another type or version"
    RecordTooLarge Registry "record-too-large"
        "A registry record field is larger than its cap"
        "The file was damaged"
    RecordField Registry "record-field"
        "A registry record field is not canonical or out of range"
        "Correct the named field"
    RecordOrder Registry "record-order"
        "The record's validators are not in canonical order"
        "Sort by the 48-byte compressed BLS key"
    RecordThreshold Registry "record-threshold"
        "The threshold is zero or above the committee's points"
        "Correct threshold and points"
    RecordKey Registry "record-key"
        "A key in the record does not decode"
        "Export the key again from its owner"
    RecordPossession Registry "record-possession"
        "A proof of possession does not verify"
        "Refuse this validator; its key may be a rogue key"
    RecordJson Registry "record-json"
        "The registry file is not the expected JSON"
        "Compare with the sample; unknown keys are refused"
    ChainFirst Registry "chain-first"
        "The first record of a chain names a previous record"
        "Load the whole chain of records"
    ChainPrevious Registry "chain-previous"
        "A record's previous hash is not the hash of the record before it"
        "Load the whole chain of records, in order"
    ChainStep Registry "chain-step"
        "Era and generation do not follow the previous record"
        "A generation is missing or repeated"
    ChainGroupKey Registry "chain-group-key"
        "A group key changed inside an era, or is used by two eras or chains"
        "Refuse the file; its source is not trustworthy"
    ChainSuite Registry "chain-suite"
        "The hash suite changed inside an era"
        "A new suite needs a new era"
    ChainWindow Registry "chain-window"
        "A record becomes valid before the one it follows"
        "Correct the validity heights"
    ChainPin Registry "chain-pin"
        "The last record is not the pinned one"
        "Compare the pinned hash with a trusted source"
    ChainUnpinned Registry "chain-unpinned"
        "A chain of records has no pinned head, or a pin has no records"
        "Pin the head hash of every source chain"
    RetirementConflict Registry "retirement-conflict"
        "The generation is already retired, or is not known"
        "Retire a known generation once"
    HorizonPrefix Horizon "horizon-prefix"
        "The Horizon certificate has another prefix"
        "The bytes are of another type or version"
    HorizonTruncated Horizon "horizon-truncated"
        "The Horizon certificate ends inside a field"
        "The bytes were cut or a length is wrong"
    HorizonTrailing Horizon "horizon-trailing"
        "Bytes follow the Horizon certificate"
        "Remove what follows"
    HorizonTooLarge Horizon "horizon-too-large"
        "A Horizon certificate field is larger than its cap"
        "Reject the sender"
    HorizonBeam Horizon "horizon-beam"
        "The certificate's Beam is neither empty nor 96 bytes"
        "Check the exporter"
    HorizonChain Horizon "horizon-chain"
        "The certificate's chain is zero or not the message's"
        "The certificate was assembled from two messages"
    HorizonUnsigned Horizon "horizon-unsigned"
        "The certificate has no unsigned message, or one that does not decode"
        "Check the exporter"
    HorizonSuite Horizon "horizon-suite"
        "The certificate's hash suite is empty or unknown"
        "Check the exporter"
    HorizonNoLanes Horizon "horizon-no-lanes"
        "The certificate carries no lane"
        "There is nothing to verify"
    HorizonLane Horizon "horizon-lane"
        "A lane of the certificate does not decode"
        "The lane's bytes were damaged"
    PayloadTruncated Payload "payload-truncated"
        "The payload ends inside a field"
        "The bytes were cut or a length is wrong"
    PayloadTrailing Payload "payload-trailing"
        "Bytes follow the payload"
        "Remove what follows"
    PayloadVersion Payload "payload-version"
        "The payload's magic or version is not known"
        "The payload is of another type"
    PayloadOperation Payload "payload-operation"
        "The operation is not known"
        "Use an operation of 0 to 5"
    PayloadLength Payload "payload-length"
        "A payload field has another length than its type"
        "Check the field's size"
    PayloadTooLarge Payload "payload-too-large"
        "A payload field is larger than its cap"
        "Send a smaller field"
    PayloadEmptyField Payload "payload-empty-field"
        "A payload field that must not be empty is empty"
        "Fill the named field"
    PayloadZeroField Payload "payload-zero-field"
        "A payload field that must not be zero is zero"
        "Fill the named field"
    PayloadLeadingZero Payload "payload-leading-zero"
        "A minimal amount has a leading zero byte"
        "Encode canonically"
    PayloadBoolean Payload "payload-boolean"
        "A boolean byte is greater than 1"
        "Encode canonically"
    RequestTruncated Request "request-truncated"
        "The request ends inside a field"
        "The bytes were cut or a length is wrong"
    RequestTrailing Request "request-trailing"
        "Bytes follow the request"
        "Remove what follows"
    RequestTooLarge Request "request-too-large"
        "A request field is larger than its cap"
        "Reject the peer"
    ResponseLength Request "response-length"
        "The response's signature is not 96 bytes"
        "Reject the peer"
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::string::ToString;

    #[test]
    fn every_reason_has_one_code_of_its_own_and_no_empty_text() {
        let mut codes = BTreeSet::new();
        for reason in Reason::ALL {
            assert!(codes.insert(reason.code()), "duplicate {}", reason.code());
            assert!(
                reason
                    .code()
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            );
            assert!(!reason.text().is_empty() && !reason.hint().is_empty());
            assert!(!reason.text().ends_with('.') && !reason.hint().ends_with('.'));
            assert_eq!(Reason::from_code(reason.code()), Some(*reason));
        }
        assert_eq!(Reason::from_code("no-such-code"), None);
    }

    #[test]
    fn display_names_code_field_offset_and_limit() {
        let error = Error::over(Reason::SignersTooLarge, "signers", 7, 8192);
        assert_eq!(
            error.to_string(),
            "signers-too-large: The signer bit set is longer than the cap (field signers, offset 7, limit 8192)"
        );
        assert_eq!(error.shifted(3).offset(), Some(10));
    }
}
