//! What validators of one network say to each other outside consensus: one tag byte and a body, decoded strictly
//! and within bounds.
//!
//! | tag | message | channel | body |
//! |---|---|---|---|
//! | 01 | transaction | gossip | transaction bytes |
//! | 02 | attestations | gossip | `count u16`, then per item `id[32]`, `signer u16`, `lanes u8`, Beam signature (96 bytes) if bit 0, certificate signature (3,309 bytes) if bit 1 |
//! | 03 | attestation request | gossip | `count u16`, then per item `id[32]`, `signer u16`, `lanes u8` |
//! | 04 | nonce matrix | ceremony | a NonceMatrix, 614,706 bytes |
//! | 05 | matrix request | ceremony | `batch u64`, `member u16`, `indices u64` (bit i: index i) |
//! | 06 | partial | ceremony | a Partial, 14,371 bytes |
//! | 07 | partial request | ceremony | `batch u64`, `index u16`, `attempt u32`, `count u16`, then `member u16` each |
//! | 08 | pulse | gossip | `subject[32]`, `attempt u32`, `batch u64`, Pulse (33,052 bytes) |
//! | 09 | pulse request | gossip | `count u16`, then `subject[32]` each |
//! | 0a | boot announcement | gossip | `sender u16`, `boot u64`, `incarnation[32]`, `height u64`, `number u64`, signature (3,309 bytes) |
//! | 0b | attestation refusal | gossip | `count u16`, then per item `id[32]`, `signer u16`, `reason u8` |
//!
//! Integers are big-endian. Unknown tags, unknown lane bits, counts of zero or above the limit, repeated or
//! unsorted members, a wrong length and bytes after the end are refused.
//!
//! # Security
//! Decoding proves nothing about who made a signature; the services check that. A peer that sends a malformed
//! message is to be disconnected.

use core::fmt;

use bytes::Bytes;
use horizon_pulsar::committee::message::{NONCE_MATRIX_LEN, PARTIAL_LEN, PULSE_LEN};
use horizon_warp::limits::{BLS_SIGNATURE_LEN, MLDSA65_SIGNATURE_LEN};

/// One message between validators.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gossip {
    /// A transaction for the mempools.
    Transaction(Bytes),
    /// Signatures of validators over outgoing messages, usually all of one block.
    Attestations(Vec<Attestation>),
    /// Asks for signatures that are missing.
    AttestationRequest(Vec<WantedAttestation>),
    /// Answers a request with what cannot be given.
    AttestationRefusal(Vec<Refused>),
    /// A first-round matrix of the Pulse committee, not decoded further.
    NonceMatrix(Bytes),
    /// Asks a member for its matrices.
    MatrixRequest(MatrixRequest),
    /// A partial signature of the Pulse committee, not decoded further.
    Partial(Bytes),
    /// Asks for partials.
    PartialRequest(PartialRequest),
    /// A finished Pulse.
    Pulse(FinishedPulse),
    /// Asks for finished Pulses of these subjects.
    PulseRequest(Vec<[u8; 32]>),
    /// A validator's process introduces itself.
    Boot(BootAnnouncement),
}

/// The signatures of one validator over one message.
#[derive(Clone, PartialEq, Eq)]
pub struct Attestation {
    /// Message id.
    pub id: [u8; 32],
    /// Canonical position of the validator.
    pub signer: u16,
    /// Its BLS signature over the encoded unsigned message.
    pub beam: Option<[u8; BLS_SIGNATURE_LEN]>,
    /// Its ML-DSA-65 signature over the transcript.
    pub certificate: Option<Box<[u8; MLDSA65_SIGNATURE_LEN]>>,
}

/// A signature that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedAttestation {
    /// Message id.
    pub id: [u8; 32],
    /// Canonical position of the validator whose signature is wanted.
    pub signer: u16,
    /// In which lanes.
    pub lanes: Lanes,
}

/// A signature that a validator does not give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Message id.
    pub id: [u8; 32],
    /// Whose signature was asked for.
    pub signer: u16,
    /// Why it is not given.
    pub reason: Refusal,
}

/// Why a signature is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Refusal {
    /// The message is not final in this validator's view.
    Unknown = 1,
    /// The message is older than what is kept.
    TooOld = 2,
    /// This validator does not hold the signature asked for.
    NotHeld = 3,
}

/// Which attestation lanes are meant; never empty on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// The Beam.
    pub beam: bool,
    /// The certificates.
    pub certificate: bool,
}

/// Asks a member for its matrices of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixRequest {
    /// The batch.
    pub batch: u64,
    /// Whose matrices.
    pub member: u16,
    /// Bit `i` asks for index `i`; not 0.
    pub indices: u64,
}

/// Asks for the partials of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialRequest {
    /// The batch.
    pub batch: u64,
    /// The index within the batch.
    pub index: u16,
    /// The attempt at the subject.
    pub attempt: u32,
    /// Whose partials; ascending, 1 to [`MEMBERS_MAX`].
    pub members: Vec<u16>,
}

/// A finished Pulse and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedPulse {
    /// The subject it signs.
    pub subject: [u8; 32],
    /// The attempt that made it.
    pub attempt: u32,
    /// The batch that served the attempt.
    pub batch: u64,
    /// 33,052 bytes, not verified.
    pub pulse: Bytes,
}

/// What a validator's process says about itself when it starts and when it meets a peer.
///
/// # Security
/// Signed with the certificate key under [`BOOT_CONTEXT`]. A peer that holds an announcement of the same
/// validator with another incarnation sends it back when its boot or number is not smaller, or its height is
/// greater: that is proof, by the validator's own signature, that the directory was copied or restored.
#[derive(Clone, PartialEq, Eq)]
pub struct BootAnnouncement {
    /// Canonical position of the validator.
    pub sender: u16,
    /// Boot counter of its directory.
    pub boot: u64,
    /// Random name of this start.
    pub incarnation: [u8; 32],
    /// Its final height.
    pub height: u64,
    /// How many announcements its directory has made, this one included: on disk before it is said.
    pub number: u64,
    /// ML-DSA-65 signature over [`BootAnnouncement::message`].
    pub signature: Box<[u8; MLDSA65_SIGNATURE_LEN]>,
}

/// The two peer-to-peer channels of the services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Transactions, attestations, Pulses: channel number 5.
    Gossip,
    /// Matrices and partials: channel number 6.
    Ceremony,
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The field at fault.
    pub field: &'static str,
    /// What is wrong with it.
    pub fault: MalformedFault,
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MalformedFault {
    /// The input ends inside it.
    Truncated,
    /// Bytes follow the last field.
    Trailing,
    /// The tag or a flag bit is unknown.
    Unknown,
    /// The value or length is outside its limits.
    OutOfRange,
    /// The elements are not strictly ascending.
    Order,
}

impl Gossip {
    /// Decodes one message. Payloads share the buffer of `bytes`.
    ///
    /// # Errors
    /// [`Malformed`] with the first fault found. Nothing is allocated for a declared count before it was
    /// compared with its limit and with the bytes that are there.
    pub fn decode(bytes: &Bytes) -> Result<Self, Malformed> {
        let Some((tag, body)) = bytes.split_first() else {
            return Err(fault("tag", MalformedFault::Truncated));
        };
        let mut reader = Reader(body);
        let payload = || bytes.slice(1..);
        let message = match *tag {
            TAG_TRANSACTION => {
                check_len("transaction", body.len(), 1, TRANSACTION_LEN_MAX)?;
                return Ok(Self::Transaction(payload()));
            }
            TAG_ATTESTATIONS => Self::Attestations(read_attestations(&mut reader)?),
            TAG_ATTESTATION_REQUEST => Self::AttestationRequest(read_wanted(&mut reader)?),
            TAG_MATRIX => {
                check_len("matrix", body.len(), NONCE_MATRIX_LEN, NONCE_MATRIX_LEN)?;
                return Ok(Self::NonceMatrix(payload()));
            }
            TAG_MATRIX_REQUEST => Self::MatrixRequest(MatrixRequest::read(&mut reader)?),
            TAG_PARTIAL => {
                check_len("partial", body.len(), PARTIAL_LEN, PARTIAL_LEN)?;
                return Ok(Self::Partial(payload()));
            }
            TAG_PARTIAL_REQUEST => Self::PartialRequest(PartialRequest::read(&mut reader)?),
            TAG_PULSE => {
                check_len("pulse", body.len(), FINISHED_LEN, FINISHED_LEN)?;
                let subject = *reader.array("subject")?;
                let attempt = reader.u32("attempt")?;
                let batch = reader.u64("batch")?;
                let pulse = bytes.slice(bytes.len().saturating_sub(PULSE_LEN)..);
                return Ok(Self::Pulse(FinishedPulse {
                    subject,
                    attempt,
                    batch,
                    pulse,
                }));
            }
            TAG_PULSE_REQUEST => Self::PulseRequest(read_subjects(&mut reader)?),
            TAG_BOOT => Self::Boot(BootAnnouncement::read(&mut reader)?),
            TAG_REFUSAL => Self::AttestationRefusal(read_refused(&mut reader)?),
            _ => return Err(fault("tag", MalformedFault::Unknown)),
        };
        reader.finish()?;
        Ok(message)
    }

    /// The encoding.
    ///
    /// Lists above their limit are the caller's to split: [`Gossip::attestations`] does it.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::new();
        match self {
            Self::Transaction(bytes) => put_payload(&mut out, TAG_TRANSACTION, bytes),
            Self::Attestations(items) => put_attestations(&mut out, items),
            Self::AttestationRequest(items) => {
                out.push(TAG_ATTESTATION_REQUEST);
                put_count(&mut out, items.len());
                for item in items {
                    out.extend_from_slice(&item.id);
                    out.extend_from_slice(&item.signer.to_be_bytes());
                    out.push(item.lanes.bits());
                }
            }
            Self::NonceMatrix(bytes) => put_payload(&mut out, TAG_MATRIX, bytes),
            Self::MatrixRequest(request) => {
                out.push(TAG_MATRIX_REQUEST);
                out.extend_from_slice(&request.batch.to_be_bytes());
                out.extend_from_slice(&request.member.to_be_bytes());
                out.extend_from_slice(&request.indices.to_be_bytes());
            }
            Self::Partial(bytes) => put_payload(&mut out, TAG_PARTIAL, bytes),
            Self::PartialRequest(request) => request.put(&mut out),
            Self::Pulse(pulse) => {
                out.reserve_exact(1 + FINISHED_LEN);
                out.push(TAG_PULSE);
                out.extend_from_slice(&pulse.subject);
                out.extend_from_slice(&pulse.attempt.to_be_bytes());
                out.extend_from_slice(&pulse.batch.to_be_bytes());
                out.extend_from_slice(&pulse.pulse);
            }
            Self::PulseRequest(subjects) => {
                out.push(TAG_PULSE_REQUEST);
                put_count(&mut out, subjects.len());
                out.extend_from_slice(subjects.as_flattened());
            }
            Self::AttestationRefusal(items) => {
                out.push(TAG_REFUSAL);
                put_count(&mut out, items.len());
                for item in items {
                    out.extend_from_slice(&item.id);
                    out.extend_from_slice(&item.signer.to_be_bytes());
                    out.push(item.reason as u8);
                }
            }
            Self::Boot(announcement) => {
                out.push(TAG_BOOT);
                announcement.put_fields(&mut out);
                out.extend_from_slice(&announcement.signature[..]);
            }
        }
        Bytes::from(out)
    }

    /// As many attestation messages as the items need, each within its limit.
    #[must_use]
    pub fn attestations(items: &[Attestation]) -> Vec<Bytes> {
        items
            .chunks(ATTESTATIONS_MAX)
            .map(|chunk| {
                let mut out = Vec::new();
                put_attestations(&mut out, chunk);
                Bytes::from(out)
            })
            .collect()
    }

    /// A matrix or partial of this process, framed.
    #[must_use]
    pub fn matrix(message: &[u8]) -> Bytes {
        let mut out = Vec::new();
        put_payload(&mut out, TAG_MATRIX, message);
        Bytes::from(out)
    }

    /// The channel that carries this message.
    #[must_use]
    pub const fn channel(&self) -> Channel {
        match self {
            Self::NonceMatrix(_)
            | Self::MatrixRequest(_)
            | Self::Partial(_)
            | Self::PartialRequest(_) => Channel::Ceremony,
            Self::Transaction(_)
            | Self::Attestations(_)
            | Self::AttestationRequest(_)
            | Self::AttestationRefusal(_)
            | Self::Pulse(_)
            | Self::PulseRequest(_)
            | Self::Boot(_) => Channel::Gossip,
        }
    }
}

impl Channel {
    /// The channel that carries a message with this first byte, as the process sends it.
    #[must_use]
    pub fn of_encoded(bytes: &[u8]) -> Option<Self> {
        match *bytes.first()? {
            TAG_TRANSACTION
            | TAG_ATTESTATIONS
            | TAG_ATTESTATION_REQUEST
            | TAG_PULSE
            | TAG_PULSE_REQUEST
            | TAG_BOOT
            | TAG_REFUSAL => Some(Self::Gossip),
            TAG_MATRIX | TAG_MATRIX_REQUEST | TAG_PARTIAL | TAG_PARTIAL_REQUEST => {
                Some(Self::Ceremony)
            }
            _ => None,
        }
    }

    /// Its number on the peer-to-peer link.
    #[must_use]
    pub const fn number(self) -> u64 {
        match self {
            Self::Gossip => 5,
            Self::Ceremony => 6,
        }
    }
}

impl Lanes {
    /// Both lanes.
    pub const BOTH: Self = Self {
        beam: true,
        certificate: true,
    };

    /// Whether no lane is meant.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        !self.beam && !self.certificate
    }

    const fn bits(self) -> u8 {
        (if self.beam { LANE_BEAM } else { 0 }) | (if self.certificate { LANE_CERT } else { 0 })
    }

    fn from_bits(bits: u8) -> Result<Self, Malformed> {
        if bits & !(LANE_BEAM | LANE_CERT) != 0 {
            return Err(fault("lanes", MalformedFault::Unknown));
        }
        if bits == 0 {
            return Err(fault("lanes", MalformedFault::OutOfRange));
        }
        Ok(Self {
            beam: bits & LANE_BEAM != 0,
            certificate: bits & LANE_CERT != 0,
        })
    }
}

impl Attestation {
    /// The lanes it has.
    #[must_use]
    pub const fn lanes(&self) -> Lanes {
        Lanes {
            beam: self.beam.is_some(),
            certificate: self.certificate.is_some(),
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let id = *reader.array("id")?;
        let signer = reader.u16("signer")?;
        let lanes = Lanes::from_bits(reader.u8("lanes")?)?;
        let beam = lanes.beam.then(|| reader.array("beam")).transpose()?;
        let beam = beam.copied();
        let certificate = lanes.certificate.then(|| reader.array("certificate"));
        let certificate = certificate.transpose()?.map(|bytes| Box::new(*bytes));
        Ok(Self {
            id,
            signer,
            beam,
            certificate,
        })
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id);
        out.extend_from_slice(&self.signer.to_be_bytes());
        out.push(self.lanes().bits());
        if let Some(beam) = &self.beam {
            out.extend_from_slice(beam);
        }
        if let Some(certificate) = &self.certificate {
            out.extend_from_slice(&certificate[..]);
        }
    }
}

impl fmt::Debug for Attestation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attestation")
            .field("signer", &self.signer)
            .field("lanes", &self.lanes())
            .finish_non_exhaustive()
    }
}

impl MatrixRequest {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let batch = reader.u64("batch")?;
        let member = reader.u16("member")?;
        let indices = reader.u64("indices")?;
        if indices == 0 {
            return Err(fault("indices", MalformedFault::OutOfRange));
        }
        Ok(Self {
            batch,
            member,
            indices,
        })
    }
}

impl PartialRequest {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let batch = reader.u64("batch")?;
        let index = reader.u16("index")?;
        let attempt = reader.u32("attempt")?;
        let count = read_count(reader, MEMBERS_MAX, 2)?;
        let members: Vec<u16> = (0..count)
            .map(|_| reader.u16("members"))
            .collect::<Result<_, _>>()?;
        if !members.is_sorted_by(|a, b| a < b) {
            return Err(fault("members", MalformedFault::Order));
        }
        Ok(Self {
            batch,
            index,
            attempt,
            members,
        })
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.push(TAG_PARTIAL_REQUEST);
        out.extend_from_slice(&self.batch.to_be_bytes());
        out.extend_from_slice(&self.index.to_be_bytes());
        out.extend_from_slice(&self.attempt.to_be_bytes());
        put_count(out, self.members.len());
        for member in &self.members {
            out.extend_from_slice(&member.to_be_bytes());
        }
    }
}

impl BootAnnouncement {
    /// What the signature is over: the hash of the genesis, sender, boot, incarnation, height and
    /// number, 90 bytes.
    #[must_use]
    pub fn message(&self, genesis_hash: &[u8; 32]) -> Vec<u8> {
        let mut out = genesis_hash.to_vec();
        self.put_fields(&mut out);
        out
    }

    fn put_fields(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sender.to_be_bytes());
        out.extend_from_slice(&self.boot.to_be_bytes());
        out.extend_from_slice(&self.incarnation);
        out.extend_from_slice(&self.height.to_be_bytes());
        out.extend_from_slice(&self.number.to_be_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            sender: reader.u16("sender")?,
            boot: reader.u64("boot")?,
            incarnation: *reader.array("incarnation")?,
            height: reader.u64("height")?,
            number: reader.u64("number")?,
            signature: Box::new(*reader.array("signature")?),
        })
    }
}

impl fmt::Debug for BootAnnouncement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BootAnnouncement")
            .field("sender", &self.sender)
            .field("boot", &self.boot)
            .field("height", &self.height)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, fault } = self;
        match fault {
            MalformedFault::Truncated => write!(f, "{field} is cut short"),
            MalformedFault::Trailing => write!(f, "bytes after the last field"),
            MalformedFault::Unknown => write!(f, "{field} is unknown"),
            MalformedFault::OutOfRange => write!(f, "{field} is outside its limits"),
            MalformedFault::Order => write!(f, "{field} are not strictly ascending"),
        }
    }
}

impl core::error::Error for Malformed {}

fn read_attestations(reader: &mut Reader<'_>) -> Result<Vec<Attestation>, Malformed> {
    let count = read_count(reader, ATTESTATIONS_MAX, ATTESTATION_LEN_MIN)?;
    (0..count).map(|_| Attestation::read(reader)).collect()
}

fn read_wanted(reader: &mut Reader<'_>) -> Result<Vec<WantedAttestation>, Malformed> {
    let count = read_count(reader, WANTED_MAX, WANTED_LEN)?;
    let item = |reader: &mut Reader<'_>| {
        Ok(WantedAttestation {
            id: *reader.array("id")?,
            signer: reader.u16("signer")?,
            lanes: Lanes::from_bits(reader.u8("lanes")?)?,
        })
    };
    (0..count).map(|_| item(reader)).collect()
}

fn read_refused(reader: &mut Reader<'_>) -> Result<Vec<Refused>, Malformed> {
    let count = read_count(reader, WANTED_MAX, WANTED_LEN)?;
    let item = |reader: &mut Reader<'_>| {
        Ok(Refused {
            id: *reader.array("id")?,
            signer: reader.u16("signer")?,
            reason: match reader.u8("reason")? {
                1 => Refusal::Unknown,
                2 => Refusal::TooOld,
                3 => Refusal::NotHeld,
                _ => return Err(fault("reason", MalformedFault::Unknown)),
            },
        })
    };
    (0..count).map(|_| item(reader)).collect()
}

fn read_subjects(reader: &mut Reader<'_>) -> Result<Vec<[u8; 32]>, Malformed> {
    let count = read_count(reader, SUBJECTS_MAX, 32)?;
    (0..count)
        .map(|_| reader.array("subject").copied())
        .collect()
}

/// A count between 1 and `max` whose elements, of at least `unit` bytes each, can be in the rest.
fn read_count(reader: &mut Reader<'_>, max: usize, unit: usize) -> Result<usize, Malformed> {
    let count = usize::from(reader.u16("count")?);
    if count == 0 || count > max {
        return Err(fault("count", MalformedFault::OutOfRange));
    }
    if count.saturating_mul(unit) > reader.0.len() {
        return Err(fault("count", MalformedFault::Truncated));
    }
    Ok(count)
}

fn put_attestations(out: &mut Vec<u8>, items: &[Attestation]) {
    out.push(TAG_ATTESTATIONS);
    put_count(out, items.len());
    items.iter().for_each(|item| item.put(out));
}

fn put_payload(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.reserve_exact(1 + bytes.len());
    out.push(tag);
    out.extend_from_slice(bytes);
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u16::try_from(count).unwrap_or(u16::MAX).to_be_bytes());
}

const fn check_len(
    field: &'static str,
    len: usize,
    min: usize,
    max: usize,
) -> Result<(), Malformed> {
    if len < min {
        return Err(fault(field, MalformedFault::Truncated));
    }
    if len > max {
        return Err(fault(field, MalformedFault::OutOfRange));
    }
    Ok(())
}

const fn fault(field: &'static str, fault: MalformedFault) -> Malformed {
    Malformed { field, fault }
}

/// Splits fields off the front, never past the end.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const L: usize>(&mut self, field: &'static str) -> Result<&'a [u8; L], Malformed> {
        let truncated = fault(field, MalformedFault::Truncated);
        let (head, rest) = self.0.split_first_chunk().ok_or(truncated)?;
        self.0 = rest;
        Ok(head)
    }

    fn u8(&mut self, field: &'static str) -> Result<u8, Malformed> {
        self.array::<1>(field).map(|[byte]| *byte)
    }

    fn u16(&mut self, field: &'static str) -> Result<u16, Malformed> {
        self.array(field).map(|bytes| u16::from_be_bytes(*bytes))
    }

    fn u32(&mut self, field: &'static str) -> Result<u32, Malformed> {
        self.array(field).map(|bytes| u32::from_be_bytes(*bytes))
    }

    fn u64(&mut self, field: &'static str) -> Result<u64, Malformed> {
        self.array(field).map(|bytes| u64::from_be_bytes(*bytes))
    }

    const fn finish(&self) -> Result<(), Malformed> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(fault("end", MalformedFault::Trailing))
    }
}

/// Context string of the signature in a [`BootAnnouncement`].
pub const BOOT_CONTEXT: &[u8] = horizon_hash::domain::services::BOOT;
/// Most bytes of a gossiped transaction: 1 MiB.
pub const TRANSACTION_LEN_MAX: usize = 1_048_576;
/// Most attestations in one message: 880,643 bytes.
pub const ATTESTATIONS_MAX: usize = 256;
/// Most signatures asked for in one message.
pub const WANTED_MAX: usize = 1_024;
/// Most members in a partial request.
pub const MEMBERS_MAX: usize = 1_024;
/// Most subjects in a Pulse request; an answer is one message per subject.
pub const SUBJECTS_MAX: usize = 64;
/// Most bytes of any message: the tag and a transaction.
pub const GOSSIP_LEN_MAX: usize = 1 + TRANSACTION_LEN_MAX;

pub(crate) const TAG_TRANSACTION: u8 = 0x01;
const TAG_ATTESTATIONS: u8 = 0x02;
const TAG_ATTESTATION_REQUEST: u8 = 0x03;
const TAG_MATRIX: u8 = 0x04;
const TAG_MATRIX_REQUEST: u8 = 0x05;
const TAG_PARTIAL: u8 = 0x06;
const TAG_PARTIAL_REQUEST: u8 = 0x07;
const TAG_PULSE: u8 = 0x08;
const TAG_PULSE_REQUEST: u8 = 0x09;
pub(crate) const TAG_BOOT: u8 = 0x0a;
const TAG_REFUSAL: u8 = 0x0b;

const LANE_BEAM: u8 = 1;
const LANE_CERT: u8 = 2;
/// Id, signer, lanes and the smaller of the two signatures.
const ATTESTATION_LEN_MIN: usize = 35 + BLS_SIGNATURE_LEN;
const WANTED_LEN: usize = 35;
/// Subject, attempt, batch and Pulse.
const FINISHED_LEN: usize = 44 + PULSE_LEN;

#[cfg(test)]
mod tests {
    use super::*;
    use horizon_testkit::rng;

    fn attestation(seed: u8, beam: bool, certificate: bool) -> Attestation {
        Attestation {
            id: [seed; 32],
            signer: u16::from(seed),
            beam: beam.then_some([seed; BLS_SIGNATURE_LEN]),
            certificate: certificate.then(|| Box::new([seed; MLDSA65_SIGNATURE_LEN])),
        }
    }

    fn samples() -> Vec<Gossip> {
        vec![
            Gossip::Transaction(Bytes::from_static(b"t")),
            Gossip::Attestations(vec![
                attestation(0, true, false),
                attestation(1, false, true),
                attestation(2, true, true),
            ]),
            Gossip::AttestationRequest(vec![
                WantedAttestation {
                    id: [0; 32],
                    signer: 0,
                    lanes: Lanes::BOTH,
                },
                WantedAttestation {
                    id: [9; 32],
                    signer: 3,
                    lanes: Lanes {
                        beam: false,
                        certificate: true,
                    },
                },
            ]),
            Gossip::NonceMatrix(Bytes::from(vec![7; NONCE_MATRIX_LEN])),
            Gossip::MatrixRequest(MatrixRequest {
                batch: 5,
                member: 2,
                indices: u64::MAX,
            }),
            Gossip::Partial(Bytes::from(vec![3; PARTIAL_LEN])),
            Gossip::PartialRequest(PartialRequest {
                batch: 1,
                index: 2,
                attempt: 3,
                members: vec![0, 1, 9],
            }),
            Gossip::Pulse(FinishedPulse {
                subject: [4; 32],
                attempt: 0,
                batch: u64::MAX,
                pulse: Bytes::from(vec![1; PULSE_LEN]),
            }),
            Gossip::PulseRequest(vec![[1; 32], [2; 32]]),
            Gossip::AttestationRefusal(vec![
                Refused {
                    id: [1; 32],
                    signer: 2,
                    reason: Refusal::Unknown,
                },
                Refused {
                    id: [2; 32],
                    signer: 0,
                    reason: Refusal::NotHeld,
                },
            ]),
            Gossip::Boot(BootAnnouncement {
                sender: 3,
                boot: 9,
                incarnation: [8; 32],
                height: 77,
                number: 12,
                signature: Box::new([5; MLDSA65_SIGNATURE_LEN]),
            }),
        ]
    }

    #[test]
    fn every_message_decodes_to_itself_and_names_its_channel() {
        for message in samples() {
            let bytes = message.encode();
            assert!(bytes.len() <= GOSSIP_LEN_MAX);
            assert_eq!(Gossip::decode(&bytes).unwrap(), message);
            assert_eq!(Channel::of_encoded(&bytes), Some(message.channel()));
        }
        assert_eq!(Channel::of_encoded(&[0x0c]), None);
        assert_eq!(Channel::of_encoded(&[]), None);
        assert_eq!(
            [Channel::Gossip.number(), Channel::Ceremony.number()],
            [5, 6]
        );
    }

    #[test]
    fn every_truncation_and_every_extension_is_refused() {
        for message in samples() {
            let bytes = message.encode();
            // A transaction has no length of its own: it is as long as it is.
            let free = matches!(message, Gossip::Transaction(_));
            let step = if bytes.len() > 10_000 { 997 } else { 1 };
            for len in (0..bytes.len()).step_by(step) {
                if !free || len < 2 {
                    let error = Gossip::decode(&bytes.slice(..len)).unwrap_err();
                    assert_eq!(error.fault, MalformedFault::Truncated, "{message:?} {len}");
                }
            }
            let longer: Bytes = [&bytes[..], &[0]].concat().into();
            if !free {
                let error = Gossip::decode(&longer).unwrap_err();
                let expected = [MalformedFault::Trailing, MalformedFault::OutOfRange];
                assert!(expected.contains(&error.fault), "{message:?}: {error}");
            }
        }
    }

    #[test]
    fn counts_flags_and_orders_outside_their_limits_are_refused() {
        let refused = |bytes: Vec<u8>| Gossip::decode(&bytes.into()).unwrap_err();
        let unknown = MalformedFault::Unknown;
        assert_eq!(refused(vec![0]), fault("tag", unknown));
        assert_eq!(refused(vec![0x0c, 1]), fault("tag", unknown));
        let range = MalformedFault::OutOfRange;
        for tag in [TAG_ATTESTATIONS, TAG_ATTESTATION_REQUEST, TAG_PULSE_REQUEST] {
            assert_eq!(refused(vec![tag, 0, 0]), fault("count", range));
            assert_eq!(refused(vec![tag, 255, 255]), fault("count", range));
            // A count within the limit that the input cannot hold allocates nothing.
            assert_eq!(
                refused(vec![tag, 0, 60]),
                fault("count", MalformedFault::Truncated)
            );
        }
        let mut bytes = Gossip::Attestations(vec![attestation(1, true, true)])
            .encode()
            .to_vec();
        for (lanes, expected) in [(0, range), (4, unknown), (0xff, unknown)] {
            bytes[3 + 34] = lanes;
            assert_eq!(refused(bytes.clone()), fault("lanes", expected));
        }
        let request = Gossip::PartialRequest(PartialRequest {
            batch: 0,
            index: 0,
            attempt: 0,
            members: vec![1, 1],
        });
        let error = Gossip::decode(&request.encode()).unwrap_err();
        assert_eq!(error, fault("members", MalformedFault::Order));
        let request = Gossip::MatrixRequest(MatrixRequest {
            batch: 0,
            member: 0,
            indices: 0,
        });
        let error = Gossip::decode(&request.encode()).unwrap_err();
        assert_eq!(error, fault("indices", range));
        let long = Gossip::Transaction(vec![0; TRANSACTION_LEN_MAX + 1].into());
        let error = Gossip::decode(&long.encode()).unwrap_err();
        assert_eq!(error, fault("transaction", range));
    }

    #[test]
    fn random_bytes_never_decode_to_something_that_encodes_differently() {
        let mut rng = rng(4);
        for _ in 0..20_000 {
            let len = rng.below(200) as usize;
            let mut bytes: Vec<u8> = (0..len).map(|_| rng.below(256) as u8).collect();
            if let Some(tag) = bytes.first_mut() {
                *tag %= 13;
            }
            // Small counts, so that some inputs get through.
            if let Some(count) = bytes.get_mut(1..3) {
                count.copy_from_slice(&[0, 1]);
            }
            let bytes = Bytes::from(bytes);
            if let Ok(message) = Gossip::decode(&bytes) {
                assert_eq!(message.encode(), bytes);
            }
        }
    }

    #[test]
    fn many_attestations_become_messages_within_the_limit() {
        let items: Vec<Attestation> = (0..600).map(|_| attestation(1, true, true)).collect();
        let messages = Gossip::attestations(&items);
        assert_eq!(messages.len(), 3);
        let mut back = Vec::new();
        for bytes in &messages {
            assert!(bytes.len() <= GOSSIP_LEN_MAX);
            match Gossip::decode(bytes).unwrap() {
                Gossip::Attestations(chunk) => back.extend(chunk),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(back, items);
        assert!(Gossip::attestations(&[]).is_empty());
    }
}
