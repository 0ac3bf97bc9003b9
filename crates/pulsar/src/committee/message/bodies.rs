//! The bodies of the six signed transactions.

use alloc::vec::Vec;
use core::fmt;

use horizon_ring::NttPoly;
use horizon_ring::pack::{pack49, unpack49};

use super::{Body, Kind, PULSE_LEN, Reader, Signed, Unverified, malformed, read_index, sealed};
use crate::committee::context::{BATCH_COUNT_MAX, Committee, Digest};
use crate::committee::error::{Error, Malformed};
use crate::committee::traits::MemberVerifier;
use crate::params::{COLS, PACKED_POLY_LEN};
use crate::wire::Signature;

/// Digests of the member's matrices, one per index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchCommit {
    /// Digest of the signing set.
    pub set_digest: [u8; 32],
    /// 1..=64 digests.
    pub digests: Vec<Digest>,
}

/// Announces that every matrix of the batch is held and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchHave {
    /// Hash of all digests of the batch.
    pub root: [u8; 32],
}

/// One partial signature.
#[derive(Clone, PartialEq, Eq)]
pub struct Partial {
    /// Index within the batch.
    pub index: u16,
    /// Attempt at the subject.
    pub attempt: u32,
    /// Session context.
    pub session_ctx: [u8; 32],
    /// 7 polynomials, plain NTT slots `< q`.
    pub z: Vec<NttPoly>,
}

/// Voids every older unfinished batch of the sender; the header's `seq` is the first valid one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchVoid;

/// A complete Partial of any member, posted by anyone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialPost {
    /// The partial as its maker signed it.
    pub partial: Unverified<Partial>,
}

/// A finished signature over a subject.
#[derive(Clone, PartialEq, Eq)]
pub struct PulseCert {
    /// The subject it closes.
    pub subject: [u8; 32],
    /// The attempt that made it.
    pub attempt: u32,
    /// The Pulse, shape and range checked; not verified.
    pub pulse: Signature,
}

impl Body for BatchCommit {
    const KIND: Kind = Kind::BatchCommit;

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.set_digest);
        let count = u16::try_from(self.digests.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&count.to_be_bytes());
        self.digests
            .iter()
            .for_each(|digest| out.extend_from_slice(digest));
    }

    fn decode_body(bytes: &[u8], _: &Committee) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        let set_digest = *reader.array("set_digest")?;
        let count = u16::from_be_bytes(*reader.array("count")?);
        if count == 0 || count > BATCH_COUNT_MAX {
            return Err(malformed(Malformed::OutOfRange { field: "count" }));
        }
        let raw = reader.bytes("digests", 64 * usize::from(count))?;
        reader.finish()?;
        Ok(Self {
            set_digest,
            digests: raw.as_chunks::<64>().0.to_vec(),
        })
    }
}

impl Body for BatchHave {
    const KIND: Kind = Kind::BatchHave;

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.root);
    }

    fn decode_body(bytes: &[u8], _: &Committee) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        let root = *reader.array("root")?;
        reader.finish()?;
        Ok(Self { root })
    }
}

impl Body for Partial {
    const KIND: Kind = Kind::Partial;

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.index.to_be_bytes());
        out.extend_from_slice(&self.attempt.to_be_bytes());
        out.extend_from_slice(&self.session_ctx);
        for poly in &self.z {
            let start = out.len();
            out.resize(start + PACKED_POLY_LEN, 0);
            if let Some(chunk) = out[start..].first_chunk_mut() {
                pack49(poly, chunk);
            }
        }
    }

    fn decode_body(bytes: &[u8], _: &Committee) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        let index = read_index(&mut reader)?;
        let attempt = u32::from_be_bytes(*reader.array("attempt")?);
        let session_ctx = *reader.array("sctx")?;
        let packed = reader.bytes("z", COLS * PACKED_POLY_LEN)?;
        reader.finish()?;
        let z = packed
            .as_chunks::<PACKED_POLY_LEN>()
            .0
            .iter()
            .map(|chunk| {
                unpack49(chunk, "z").map_err(|_| malformed(Malformed::NotCanonical { field: "z" }))
            })
            .collect::<Result<Vec<NttPoly>, Error>>()?;
        Ok(Self {
            index,
            attempt,
            session_ctx,
            z,
        })
    }
}

impl Body for BatchVoid {
    const KIND: Kind = Kind::BatchVoid;

    fn encode_body(&self, _: &mut Vec<u8>) {}

    fn decode_body(bytes: &[u8], _: &Committee) -> Result<Self, Error> {
        Reader(bytes).finish()?;
        Ok(Self)
    }
}

impl Body for PartialPost {
    const KIND: Kind = Kind::PartialPost;

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.partial.bytes);
    }

    fn decode_body(bytes: &[u8], committee: &Committee) -> Result<Self, Error> {
        Ok(Self {
            partial: Unverified::decode(bytes, committee)?,
        })
    }

    fn verify_inner(&self, verifier: &impl MemberVerifier) -> Result<(), Error> {
        self.partial.check(verifier)
    }
}

impl Body for PulseCert {
    const KIND: Kind = Kind::PulseCert;

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.subject);
        out.extend_from_slice(&self.attempt.to_be_bytes());
        out.extend_from_slice(&self.pulse.to_pulse_bytes());
    }

    fn decode_body(bytes: &[u8], _: &Committee) -> Result<Self, Error> {
        let mut reader = Reader(bytes);
        let subject = *reader.array("subject")?;
        let attempt = u32::from_be_bytes(*reader.array("attempt")?);
        let raw = reader.bytes("pulse", PULSE_LEN)?;
        reader.finish()?;
        let pulse = Signature::from_pulse_bytes(raw).map_err(|_| malformed(Malformed::Pulse))?;
        Ok(Self {
            subject,
            attempt,
            pulse,
        })
    }
}

impl From<Signed<Partial>> for PartialPost {
    fn from(partial: Signed<Partial>) -> Self {
        let Signed {
            header,
            body,
            bytes,
        } = partial;
        Self {
            partial: Unverified {
                header,
                body,
                bytes,
            },
        }
    }
}

impl fmt::Debug for Partial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partial")
            .field("index", &self.index)
            .field("attempt", &self.attempt)
            .field("session_ctx", &self.session_ctx)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PulseCert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PulseCert")
            .field("subject", &self.subject)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

impl sealed::Sealed for BatchCommit {}
impl sealed::Sealed for BatchHave {}
impl sealed::Sealed for Partial {}
impl sealed::Sealed for BatchVoid {}
impl sealed::Sealed for PartialPost {}
impl sealed::Sealed for PulseCert {}
