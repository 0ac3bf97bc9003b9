//! The seven messages of the mode: exact layouts, total strict decoding, sender signatures.
//!
//! A transaction is a header of 48 bytes, a body, and the sender's signature over both. Bytes become an
//! [`Unverified`] value (layout, context, ranges), and that a [`Signed`] one (signature); only the latter
//! is accepted by the rest of the mode. A first-round matrix carries no signature: its digest on the ledger
//! authenticates it.
//!
//! # Source
//! Committee-mode specification sections 1.2 and 1.3.

use alloc::vec::Vec;
use core::fmt;

use super::context::{BATCH_COUNT_MAX, Committee};
use super::error::{Error, Malformed, Rejected};
use super::traits::{MemberSigner, MemberVerifier, SIGNATURE_CONTEXT, SIGNATURE_LEN};
use crate::params::{COLS, NONCE_COLS, PACKED_POLY_LEN, ROWS};
use crate::wire::Signature;

mod bodies;

pub use bodies::{BatchCommit, BatchHave, BatchVoid, Partial, PartialPost, PulseCert};

/// The type byte of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Digests of all matrices of one member for one batch; ledger.
    BatchCommit = 1,
    /// One first-round matrix; to the peers of the set, unsigned.
    NonceMatrix = 2,
    /// All matrices of a batch are held; ledger.
    BatchHave = 3,
    /// One partial signature; to all members.
    Partial = 4,
    /// All older unfinished batches of the sender are void; ledger.
    BatchVoid = 5,
    /// A partial put on the ledger after a failed attempt.
    PartialPost = 6,
    /// A finished Pulse; ledger.
    PulseCert = 7,
}

/// The first 48 bytes of every message, after version and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The era context.
    pub ctx: [u8; 32],
    /// Position of the sender.
    pub sender: u16,
    /// Boot counter of the sender's process.
    pub boot: u32,
    /// The batch; for a BatchVoid the first valid batch.
    pub seq: u64,
}

/// A message body with one layout.
pub trait Body: Sized + sealed::Sealed {
    /// Its type byte.
    const KIND: Kind;

    /// Appends the body.
    fn encode_body(&self, out: &mut Vec<u8>);

    /// Reads the body from exactly `bytes`.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    fn decode_body(bytes: &[u8], committee: &Committee) -> Result<Self, Error>;

    /// Checks signatures inside the body; most bodies have none.
    ///
    /// # Errors
    /// [`Rejected::SenderSignature`].
    fn verify_inner(&self, verifier: &impl MemberVerifier) -> Result<(), Error> {
        let _ = verifier;
        Ok(())
    }
}

/// One first-round matrix message, layout checked: who, which, and its packed polynomials.
///
/// Whether the values are canonical is decided while they are summed, after the digest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NonceMatrix<'a> {
    /// Header; `sender` is whose matrix this claims to be.
    pub header: Header,
    /// Index within the batch.
    pub index: u16,
    bytes: &'a [u8],
}

/// A decoded transaction whose signature was not checked yet.
#[derive(Clone, PartialEq, Eq)]
pub struct Unverified<B> {
    header: Header,
    body: B,
    bytes: Vec<u8>,
}

/// A transaction whose signatures are the sender's.
#[derive(Clone, PartialEq, Eq)]
pub struct Signed<B> {
    header: Header,
    body: B,
    bytes: Vec<u8>,
}

/// Any signed transaction, for a receiver that does not know the type beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the message types")]
pub enum Transaction {
    BatchCommit(Unverified<BatchCommit>),
    BatchHave(Unverified<BatchHave>),
    Partial(Unverified<Partial>),
    BatchVoid(Unverified<BatchVoid>),
    PartialPost(Unverified<PartialPost>),
    PulseCert(Unverified<PulseCert>),
}

impl Transaction {
    /// Decodes a signed transaction of any type.
    ///
    /// # Errors
    /// [`Error::Malformed`]; a NonceMatrix, which is not a signed transaction, is
    /// [`Malformed::UnexpectedType`].
    pub fn decode(bytes: &[u8], committee: &Committee) -> Result<Self, Error> {
        Ok(match peek_kind(bytes)? {
            Kind::BatchCommit => Self::BatchCommit(Unverified::decode(bytes, committee)?),
            Kind::BatchHave => Self::BatchHave(Unverified::decode(bytes, committee)?),
            Kind::Partial => Self::Partial(Unverified::decode(bytes, committee)?),
            Kind::BatchVoid => Self::BatchVoid(Unverified::decode(bytes, committee)?),
            Kind::PartialPost => Self::PartialPost(Unverified::decode(bytes, committee)?),
            Kind::PulseCert => Self::PulseCert(Unverified::decode(bytes, committee)?),
            Kind::NonceMatrix => return Err(malformed(Malformed::UnexpectedType)),
        })
    }
}

impl<B: Body> Unverified<B> {
    /// Decodes a transaction of this type: exact length, version, type, era context, sender `< n`,
    /// canonical elements.
    ///
    /// # Errors
    /// [`Error::Malformed`] with the first fault found.
    pub fn decode(bytes: &[u8], committee: &Committee) -> Result<Self, Error> {
        let (header, rest) = Header::decode(bytes, B::KIND, committee)?;
        let Some((body, _)) = rest.split_last_chunk::<SIGNATURE_LEN>() else {
            return Err(malformed(Malformed::Truncated { field: "signature" }));
        };
        let body = B::decode_body(body, committee)?;
        Ok(Self {
            header,
            body,
            bytes: bytes.to_vec(),
        })
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The body, not authenticated.
    #[must_use]
    pub fn body(&self) -> &B {
        &self.body
    }

    /// The bytes it was decoded from.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Checks the sender's signature, and those inside the body.
    ///
    /// # Errors
    /// [`Rejected::SenderSignature`].
    pub fn verify(self, verifier: &impl MemberVerifier) -> Result<Signed<B>, Error> {
        self.check(verifier)?;
        Ok(Signed {
            header: self.header,
            body: self.body,
            bytes: self.bytes,
        })
    }

    fn check(&self, verifier: &impl MemberVerifier) -> Result<(), Error> {
        let refused = Error::Rejected(Rejected::SenderSignature);
        let Some((message, signature)) = self.bytes.split_last_chunk::<SIGNATURE_LEN>() else {
            return Err(refused);
        };
        if verifier
            .verify(self.header.sender, SIGNATURE_CONTEXT, message, signature)
            .is_err()
        {
            return Err(refused);
        }
        self.body.verify_inner(verifier)
    }
}

impl<B: Body> Signed<B> {
    /// Signs a new transaction with this member's own key.
    ///
    /// # Errors
    /// [`Error::SignerUnavailable`].
    pub fn issue(header: Header, body: B, signer: &mut impl MemberSigner) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        header.encode(B::KIND, &mut bytes);
        body.encode_body(&mut bytes);
        let signature = signer.sign(SIGNATURE_CONTEXT, &bytes)?;
        bytes.extend_from_slice(&signature);
        Ok(Self {
            header,
            body,
            bytes,
        })
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &B {
        &self.body
    }

    /// The complete transaction bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Header {
    /// Appends version, type and header: 48 bytes.
    pub fn encode(&self, kind: Kind, out: &mut Vec<u8>) {
        out.push(VERSION);
        out.push(kind as u8);
        out.extend_from_slice(&self.ctx);
        out.extend_from_slice(&self.sender.to_be_bytes());
        out.extend_from_slice(&self.boot.to_be_bytes());
        out.extend_from_slice(&self.seq.to_be_bytes());
    }

    /// Splits the header off `bytes` and checks it.
    fn decode<'a>(
        bytes: &'a [u8],
        kind: Kind,
        committee: &Committee,
    ) -> Result<(Self, &'a [u8]), Error> {
        if peek_kind(bytes)? != kind {
            return Err(malformed(Malformed::UnexpectedType));
        }
        let mut reader = Reader(&bytes[2..]);
        let ctx = *reader.array("ctx")?;
        let sender = u16::from_be_bytes(*reader.array("sender")?);
        let boot = u32::from_be_bytes(*reader.array("boot")?);
        let seq = u64::from_be_bytes(*reader.array("seq")?);
        if ctx != *committee.era_ctx() {
            return Err(malformed(Malformed::WrongContext));
        }
        if sender >= committee.n() {
            return Err(malformed(Malformed::UnknownSender));
        }
        Ok((
            Self {
                ctx,
                sender,
                boot,
                seq,
            },
            reader.0,
        ))
    }
}

impl<'a> NonceMatrix<'a> {
    /// Checks length, header and index of a matrix message of exactly [`NONCE_MATRIX_LEN`] bytes.
    ///
    /// # Errors
    /// [`Error::Malformed`].
    pub fn decode(bytes: &'a [u8], committee: &Committee) -> Result<Self, Error> {
        let (header, rest) = Header::decode(bytes, Kind::NonceMatrix, committee)?;
        let mut reader = Reader(rest);
        let index = read_index(&mut reader)?;
        reader.bytes("D", MATRIX_LEN)?;
        reader.finish()?;
        Ok(Self {
            header,
            index,
            bytes,
        })
    }

    /// The whole message.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The packed matrix: 8 × 49 polynomials of 1,568 bytes, row-major, plain NTT slots.
    #[must_use]
    pub fn packed(&self) -> &'a [u8] {
        &self.bytes[NONCE_MATRIX_LEN - MATRIX_LEN..]
    }

    /// Starts a matrix message: header and index, with room for the matrix after it.
    #[must_use]
    pub fn prefix(header: &Header, index: u16) -> Vec<u8> {
        let mut out = Vec::with_capacity(NONCE_MATRIX_LEN);
        header.encode(Kind::NonceMatrix, &mut out);
        out.extend_from_slice(&index.to_be_bytes());
        out
    }
}

macro_rules! short_debug {
    ($($name:literal: $type:ty [$($parameter:tt)*] { $($field:ident),* };)*) => {$(
        impl<$($parameter)*> fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct($name)$(.field(stringify!($field), &self.$field))*
                    .finish_non_exhaustive()
            }
        }
    )*};
}

short_debug! {
    "NonceMatrix": NonceMatrix<'_> [] { header, index };
    "Unverified": Unverified<B> [B: fmt::Debug] { header, body };
    "Signed": Signed<B> [B: fmt::Debug] { header, body };
}

mod sealed {
    /// Closes the set of bodies.
    #[expect(unnameable_types, reason = "that is how a trait is sealed")]
    pub trait Sealed {}
}

/// Version and type of any message.
fn peek_kind(bytes: &[u8]) -> Result<Kind, Error> {
    let [version, kind, ..] = bytes else {
        return Err(malformed(Malformed::Truncated { field: "header" }));
    };
    if *version != VERSION {
        return Err(malformed(Malformed::Version));
    }
    Ok(match kind {
        1 => Kind::BatchCommit,
        2 => Kind::NonceMatrix,
        3 => Kind::BatchHave,
        4 => Kind::Partial,
        5 => Kind::BatchVoid,
        6 => Kind::PartialPost,
        7 => Kind::PulseCert,
        _ => return Err(malformed(Malformed::UnknownType)),
    })
}

fn read_index(reader: &mut Reader<'_>) -> Result<u16, Error> {
    let index = u16::from_be_bytes(*reader.array("index")?);
    if index >= BATCH_COUNT_MAX {
        return Err(malformed(Malformed::OutOfRange { field: "index" }));
    }
    Ok(index)
}

fn malformed(fault: Malformed) -> Error {
    Error::Malformed(fault)
}

/// Splits fields off the front; never past the end, never allocating.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn array<const L: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<&'a [u8; L], Error> {
        let (head, rest) = self
            .0
            .split_first_chunk()
            .ok_or(malformed(Malformed::Truncated { field }))?;
        self.0 = rest;
        Ok(head)
    }

    pub(super) fn bytes(&mut self, field: &'static str, len: usize) -> Result<&'a [u8], Error> {
        let (head, rest) = self
            .0
            .split_at_checked(len)
            .ok_or(malformed(Malformed::Truncated { field }))?;
        self.0 = rest;
        Ok(head)
    }

    pub(super) fn finish(&self) -> Result<(), Error> {
        match self.0.len() {
            0 => Ok(()),
            bytes => Err(malformed(Malformed::Trailing { bytes })),
        }
    }
}

/// Version byte of every message.
pub const VERSION: u8 = 1;
/// Bytes of a message header.
pub const HEADER_LEN: usize = 48;
/// Bytes of the packed matrix in a NonceMatrix.
pub const MATRIX_LEN: usize = ROWS * NONCE_COLS * PACKED_POLY_LEN;
/// Bytes of a NonceMatrix.
pub const NONCE_MATRIX_LEN: usize = HEADER_LEN + 2 + MATRIX_LEN;
/// Bytes of a Partial.
pub const PARTIAL_LEN: usize = HEADER_LEN + 38 + COLS * PACKED_POLY_LEN + SIGNATURE_LEN;
/// Bytes of a BatchHave.
pub const BATCH_HAVE_LEN: usize = HEADER_LEN + 32 + SIGNATURE_LEN;
/// Bytes of a BatchVoid.
pub const BATCH_VOID_LEN: usize = HEADER_LEN + SIGNATURE_LEN;
/// Bytes of a PartialPost.
pub const PARTIAL_POST_LEN: usize = HEADER_LEN + PARTIAL_LEN + SIGNATURE_LEN;
/// Bytes of a Pulse, in its encoding inside an envelope.
pub const PULSE_LEN: usize = Signature::PULSE_LEN;
/// Bytes of a PulseCert.
pub const PULSE_CERT_LEN: usize = HEADER_LEN + 36 + PULSE_LEN + SIGNATURE_LEN;

/// Bytes of a BatchCommit with `count` digests.
#[must_use]
pub const fn batch_commit_len(count: usize) -> usize {
    HEADER_LEN + 34 + 64 * count + SIGNATURE_LEN
}
