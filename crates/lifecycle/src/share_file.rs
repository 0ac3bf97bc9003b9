//! A share on its way from a dealer to one member: a file that only the member's sealing key opens.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | `HZSS` |
//! | 4 | 2 | version, 1 |
//! | 6 | 32 | context hash of the ceremony |
//! | 38 | 1 | purpose |
//! | 39 | 2 | position of the sender, `ffff` for a dealer |
//! | 41 | 2 | position of the recipient |
//! | 43 | 32 | era context that the share signs under |
//! | 75 | 4 | length of the sealed message |
//! | 79 | | the sealed message |
//!
//! Integers are big-endian. Bytes 6..75 are the `info` of the seal: no field of the head can be
//! changed without the tag failing.

use alloc::vec::Vec;
use core::fmt;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::seal::{self, Coins, Info, OVERHEAD_LEN, PLAINTEXT_LEN_MAX, Purpose};
use crate::seal::{SealingKey, SealingPublicKey};
use crate::{Error, Malformed, Rejected};

/// A decoded file. Decoding says nothing about who wrote it.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedShare {
    info: Info,
    era_ctx: [u8; 32],
    sealed: Vec<u8>,
}

impl SealedShare {
    /// Seals `plaintext` for the member at `info.to`.
    ///
    /// # Errors
    /// Those of [`seal::seal`].
    pub fn seal(
        to: &SealingPublicKey,
        info: Info,
        era_ctx: [u8; 32],
        plaintext: &[u8],
        rng: &mut impl CryptoRng,
    ) -> Result<Self, Error> {
        let bound = bound(&info, &era_ctx);
        let sealed = seal::seal(to, &bound, plaintext, &Coins::generate(rng))?;
        Ok(Self {
            info,
            era_ctx,
            sealed,
        })
    }

    /// Opens the file as the member at `position` of the committee with context `era_ctx`.
    ///
    /// # Errors
    /// [`Rejected::Context`] when the head names another purpose, member or era; otherwise those of
    /// [`SealingKey::open`].
    pub fn open(
        &self,
        key: &SealingKey,
        purpose: Purpose,
        position: u16,
        era_ctx: &[u8; 32],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let differing = [
            ("purpose", self.info.purpose == purpose),
            ("member", self.info.to == position),
            ("era", self.era_ctx == *era_ctx),
        ]
        .into_iter()
        .find_map(|(field, same)| (!same).then_some(field));
        if let Some(field) = differing {
            return Err(Rejected::Context { field }.into());
        }
        key.open(&bound(&self.info, &self.era_ctx), &self.sealed)
    }

    /// Ceremony, purpose, sender and recipient, as the head says.
    #[must_use]
    pub const fn info(&self) -> &Info {
        &self.info
    }

    /// The era context, as the head says.
    #[must_use]
    pub const fn era_ctx(&self) -> &[u8; 32] {
        &self.era_ctx
    }

    /// Digest of the sealed message.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        seal::digest(&self.sealed)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Malformed`]: magic, version, purpose, a length that differs from the announced one, or more
    /// than [`FILE_LEN_MAX`] bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > FILE_LEN_MAX {
            return Err(Malformed::Long {
                field: FIELD,
                max: FILE_LEN_MAX,
            }
            .into());
        }
        let (magic, rest) = split::<4>(bytes)?;
        if magic != MAGIC {
            return Err(Malformed::Magic { field: FIELD }.into());
        }
        let (version, rest) = split::<2>(rest)?;
        if u16::from_be_bytes(*version) != VERSION {
            return Err(Malformed::Version { field: FIELD }.into());
        }
        let (ceremony, rest) = split::<32>(rest)?;
        let ([purpose], rest) = split::<1>(rest)?;
        let purpose = Purpose::from_code(*purpose)?;
        let (from, rest) = split::<2>(rest)?;
        let (to, rest) = split::<2>(rest)?;
        let (era_ctx, rest) = split::<32>(rest)?;
        let (len, sealed) = split::<4>(rest)?;
        let announced = usize::try_from(u32::from_be_bytes(*len)).unwrap_or(usize::MAX);
        if announced != sealed.len() || announced < OVERHEAD_LEN {
            return Err(Malformed::Length {
                field: FIELD,
                expected: HEAD_LEN.saturating_add(announced.max(OVERHEAD_LEN)),
            }
            .into());
        }
        Ok(Self {
            info: Info {
                ceremony: *ceremony,
                purpose,
                from: u16::from_be_bytes(*from),
                to: u16::from_be_bytes(*to),
            },
            era_ctx: *era_ctx,
            sealed: sealed.to_vec(),
        })
    }

    /// The file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEAD_LEN.saturating_add(self.sealed.len()));
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&bound(&self.info, &self.era_ctx));
        // A sealed message has at most twelve megabytes and a little.
        let len = u32::try_from(self.sealed.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(&self.sealed);
        out
    }
}

impl fmt::Debug for SealedShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedShare")
            .field("info", &self.info)
            .field("sealed_len", &self.sealed.len())
            .finish_non_exhaustive()
    }
}

fn bound(info: &Info, era_ctx: &[u8; 32]) -> Vec<u8> {
    [info.to_bytes().as_slice(), era_ctx].concat()
}

fn split<const N: usize>(bytes: &[u8]) -> Result<(&[u8; N], &[u8]), Error> {
    bytes
        .split_first_chunk()
        .ok_or(Error::Malformed(Malformed::Length {
            field: FIELD,
            expected: HEAD_LEN + OVERHEAD_LEN,
        }))
}

/// Most bytes of a file.
pub const FILE_LEN_MAX: usize = HEAD_LEN + OVERHEAD_LEN + PLAINTEXT_LEN_MAX;

const HEAD_LEN: usize = 79;
const MAGIC: &[u8; 4] = b"HZSS";
const VERSION: u16 = 1;
const FIELD: &str = "sealed share";
