//! The attestation lane: raw ML-DSA-65 certificates of the validators, or a Groth16 artifact about
//! them.
//!
//! The wire field does not say which. The length does: exactly 224 bytes is the Groth16 artifact,
//! anything else is a certificate set, which is never shorter than 3,316 bytes.
//!
//! # Source
//! Wire specification, sections "Raw cert-set encoding" and "Groth16 wrapper artifact".

use alloc::vec::Vec;

use sha2::{Digest, Sha256};

use crate::error::{Error, Lane, Reason};
use crate::limits::{GROTH16_LEN, LANES_LEN_MAX, MLDSA65_SIGNATURE_LEN, SIGNERS_LEN_MAX};
use crate::quorum::Quorum;
use crate::signers::Signers;

/// Kind byte of a raw certificate set.
pub const KIND_RAW: u8 = 0x01;
/// Scheme byte of ML-DSA-65.
pub const SCHEME_MLDSA65: u8 = 0x03;

const HEADER_LEN: usize = 6;

/// What the attestation field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attestation<'a> {
    /// One ML-DSA-65 signature per named validator.
    CertSet(CertSet<'a>),
    /// A classical proof about such signatures.
    Groth16(Groth16Artifact<'a>),
}

impl<'a> Attestation<'a> {
    /// Decodes the lane by its length.
    ///
    /// # Errors
    /// As [`CertSet::parse`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.len() == GROTH16_LEN {
            return Groth16Artifact::parse(bytes).map(Self::Groth16);
        }
        CertSet::parse(bytes).map(Self::CertSet)
    }

    /// The lane this is evidence for.
    #[must_use]
    pub const fn lane(&self) -> Lane {
        match self {
            Self::CertSet(_) => Lane::CertSet,
            Self::Groth16(_) => Lane::Groth16,
        }
    }
}

/// A raw certificate set, borrowed from the lane.
///
/// Layout: kind 1, scheme 1, `u16be` n, `u16be` b, b signer bytes, n signatures of 3,309 bytes in
/// ascending validator order. Exactly n bits are set and the last signer byte is not zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CertSet<'a> {
    signers: Signers<'a>,
    signatures: &'a [[u8; MLDSA65_SIGNATURE_LEN]],
}

impl<'a> CertSet<'a> {
    /// Decodes a certificate set.
    ///
    /// # Errors
    /// `CertSetLength`, `CertSetKind`, `CertSetEmpty`, `CertSetSigners`, `CertSetCount`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let length = |at| Error::malformed(Reason::CertSetLength, "certset", at);
        if bytes.is_empty() {
            return Err(Error::malformed(Reason::EmptyInput, "certset", 0));
        }
        if bytes.len() > LANES_LEN_MAX {
            return Err(Error::over(
                Reason::CertSetLength,
                "certset",
                0,
                LANES_LEN_MAX,
            ));
        }
        let (header, rest) = bytes
            .split_first_chunk::<HEADER_LEN>()
            .ok_or(length(bytes.len()))?;
        let [kind, scheme, n1, n0, b1, b0] = *header;
        if kind != KIND_RAW {
            return Err(Error::malformed(Reason::CertSetKind, "certset.kind", 0));
        }
        if scheme != SCHEME_MLDSA65 {
            return Err(Error::malformed(Reason::CertSetKind, "certset.scheme", 1));
        }
        let n = u16::from_be_bytes([n1, n0]);
        let b = u16::from_be_bytes([b1, b0]);
        if n == 0 {
            return Err(Error::malformed(Reason::CertSetEmpty, "certset.count", 2));
        }
        if b == 0 {
            return Err(Error::malformed(Reason::CertSetEmpty, "certset.signers", 4));
        }
        if usize::from(b) > SIGNERS_LEN_MAX {
            return Err(Error::over(
                Reason::CertSetSigners,
                "certset.signers",
                4,
                SIGNERS_LEN_MAX,
            ));
        }
        let (bits, rest) = rest
            .split_at_checked(usize::from(b))
            .ok_or(length(bytes.len()))?;
        let (signatures, tail) = rest.as_chunks::<MLDSA65_SIGNATURE_LEN>();
        if !tail.is_empty() || signatures.len() != usize::from(n) {
            return Err(length(bytes.len().min(expected_len(n, b))));
        }
        let signers = Signers::new(bits).map_err(|_| {
            let last = HEADER_LEN.saturating_add(bits.len()).saturating_sub(1);
            Error::malformed(Reason::CertSetSigners, "certset.signers", last)
        })?;
        if signers.count() != u32::from(n) {
            return Err(Error::malformed(Reason::CertSetCount, "certset.count", 2));
        }
        Ok(Self {
            signers,
            signatures,
        })
    }

    /// Joins signers and their signatures, ascending by index.
    ///
    /// # Errors
    /// `CertSetEmpty`, `CertSetCount` if the numbers differ or pass 65,535.
    pub fn new(
        signers: Signers<'a>,
        signatures: &'a [[u8; MLDSA65_SIGNATURE_LEN]],
    ) -> Result<Self, Error> {
        if signers.is_empty() {
            return Err(Error::malformed(Reason::CertSetEmpty, "certset.signers", 4));
        }
        let count = u16::try_from(signatures.len()).ok().map(u32::from);
        if count != Some(signers.count()) {
            return Err(Error::malformed(Reason::CertSetCount, "certset.count", 2));
        }
        Ok(Self {
            signers,
            signatures,
        })
    }

    /// Who signed.
    #[must_use]
    pub const fn signers(&self) -> Signers<'a> {
        self.signers
    }

    /// The signatures, ascending by validator index.
    #[must_use]
    pub const fn signatures(&self) -> &'a [[u8; MLDSA65_SIGNATURE_LEN]] {
        self.signatures
    }

    /// Validator index and signature, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &'a [u8; MLDSA65_SIGNATURE_LEN])> + use<'a> {
        self.signers.iter().zip(self.signatures)
    }

    /// The encoding, `6 + b + 3309 n` bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let bits = self.signers.as_bytes();
        // Both counts are capped at u16 by the constructors.
        let n = u16::try_from(self.signatures.len()).unwrap_or(u16::MAX);
        let b = u16::try_from(bits.len()).unwrap_or(u16::MAX);
        let mut out = Vec::with_capacity(expected_len(n, b));
        out.extend_from_slice(&[KIND_RAW, SCHEME_MLDSA65]);
        out.extend_from_slice(&n.to_be_bytes());
        out.extend_from_slice(&b.to_be_bytes());
        out.extend_from_slice(bits);
        out.extend_from_slice(self.signatures.as_flattened());
        out
    }
}

impl core::fmt::Debug for CertSet<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CertSet")
            .field("signers", &self.signers)
            .finish_non_exhaustive()
    }
}

/// A Groth16 artifact, not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groth16Artifact<'a> {
    /// Compressed G1 point A.
    pub a: &'a [u8; 48],
    /// Compressed G2 point B.
    pub b: &'a [u8; 96],
    /// Compressed G1 point C.
    pub c: &'a [u8; 48],
    /// Hash of the public inputs, to be recomputed and never believed.
    pub inputs_hash: &'a [u8; 32],
}

impl<'a> Groth16Artifact<'a> {
    /// Splits 224 bytes into their parts; no point is decoded.
    ///
    /// # Errors
    /// `Groth16Length`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let wrong = Error::over(Reason::Groth16Length, "groth16", 0, GROTH16_LEN);
        let (a, rest) = bytes.split_first_chunk::<48>().ok_or(wrong)?;
        let (b, rest) = rest.split_first_chunk::<96>().ok_or(wrong)?;
        let (c, rest) = rest.split_first_chunk::<48>().ok_or(wrong)?;
        let inputs_hash = rest.try_into().map_err(|_| wrong)?;
        Ok(Self {
            a,
            b,
            c,
            inputs_hash,
        })
    }
}

/// The public-inputs hash a Groth16 artifact must carry.
///
/// SHA-256 over `lux-warp-mldsa-groth16-v1`, `u32be` length and bytes of the transcript, validator
/// root, `u64be` quorum numerator and denominator, and the verifying key's root.
#[must_use]
pub fn groth16_inputs_hash(
    transcript: &[u8],
    validator_root: &[u8; 32],
    quorum: Quorum,
    verifying_key_root: &[u8; 32],
) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(horizon_hash::domain::warp::GROTH16);
    hash.update(
        u32::try_from(transcript.len())
            .unwrap_or(u32::MAX)
            .to_be_bytes(),
    );
    hash.update(transcript);
    hash.update(validator_root);
    hash.update(quorum.numerator().to_be_bytes());
    hash.update(quorum.denominator().to_be_bytes());
    hash.update(verifying_key_root);
    hash.finalize().into()
}

fn expected_len(n: u16, b: u16) -> usize {
    usize::from(n)
        .saturating_mul(MLDSA65_SIGNATURE_LEN)
        .saturating_add(usize::from(b))
        .saturating_add(HEADER_LEN)
}
