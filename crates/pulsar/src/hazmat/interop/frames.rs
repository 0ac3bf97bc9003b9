//! Messages of the two rounds and the share file, each with one fixed size per committee.
//!
//! The reference defines no encoding for these; the frames here are this implementation's own, in
//! the style of its signature frame: magic, version, fields in big-endian, polynomials in the
//! structure encoding.

use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use horizon_ring::{NttPoly, codec as ring, modulus};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::keygen::Share;
use crate::{
    Error,
    codec::{self, Reader, VERSION},
    error::Malformed,
    params::{COLS, D_LEN, KEY_LEN, NONCE_COLS, PARTIES_MAX, ROWS, Z_LEN},
    signers::{self, Quorum},
};

/// A first-round matrix `D` (8 x 49, NM form) as its canonical encoding, 809,160 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Matrix(Box<[u8]>);

impl Matrix {
    /// Reads `SER(D)`.
    ///
    /// # Errors
    /// [`Malformed`]: wrong size, shape, or a slot not below q.
    pub fn from_ser(bytes: &[u8]) -> Result<Self, Error> {
        codec::check_matrix(FIELD_D, bytes, (ROWS, NONCE_COLS))?;
        Ok(Self(bytes.into()))
    }

    /// `SER(D)`.
    #[must_use]
    pub const fn as_ser(&self) -> &[u8] {
        &self.0
    }

    /// The bytes must already be canonical.
    pub(super) const fn from_canonical(bytes: Box<[u8]>) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matrix").finish_non_exhaustive()
    }
}

/// What a signer sends in round one: its matrix, and one MAC per other signer.
///
/// Public, except that each MAC needs to reach its recipient only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round1Message {
    /// Position of the sender.
    pub sender: u16,
    /// Session number.
    pub sid: u64,
    /// The signer set the MACs were made for, ascending; contains the sender.
    pub signers: Box<[u16]>,
    /// The sender's matrix.
    pub matrix: Matrix,
    /// One MAC per signer other than the sender, ascending by recipient.
    pub macs: Vec<[u8; KEY_LEN]>,
}

impl Round1Message {
    /// Bytes of the encoding for `signers` signers.
    #[must_use]
    pub const fn encoded_len(signers: usize) -> usize {
        22 + 4 * signers + D_LEN + KEY_LEN * signers.saturating_sub(1)
    }

    /// Reads the frame `"PLR1"`: version, sender, session, signers, `SER(D)`, MACs.
    ///
    /// # Errors
    /// [`Malformed`]; [`Malformed::Signers`] for a list that is empty, unsorted, has duplicates, is
    /// longer than 1,024 or misses the sender.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let head = bytes.get(..22).ok_or(Malformed::Short {
            field: FIELD_R1,
            expected: 22,
        })?;
        let mut head = Reader::new(FIELD_R1, head, 22)?;
        head.header(MAGIC_R1)?;
        let sender = position(head.be32()?)?;
        let sid = head.be64()?;
        let count = head.be32()?;
        if count == 0 {
            return Err(Malformed::Signers(crate::error::SignersFault::Empty).into());
        }
        if count > u32::from(PARTIES_MAX) {
            return Err(Malformed::Value { field: FIELD_R1 }.into());
        }
        let count = count as usize;
        let mut reader = Reader::new(FIELD_R1, bytes, Self::encoded_len(count))?;
        reader.take(22)?;
        let signers = (0..count)
            .map(|_| position(reader.be32()?))
            .collect::<Result<Box<[u16]>, Malformed>>()?;
        signers::check(&signers, PARTIES_MAX).map_err(Malformed::Signers)?;
        if signers.binary_search(&sender).is_err() {
            return Err(Malformed::Signers(crate::error::SignersFault::SelfMissing).into());
        }
        let matrix = Matrix::from_ser(reader.take(D_LEN)?)?;
        let macs = (1..count)
            .map(|_| reader.array().copied())
            .collect::<Result<Vec<_>, Malformed>>()?;
        Ok(Self {
            sender,
            sid,
            signers,
            matrix,
            macs,
        })
    }

    /// The frame, [`Self::encoded_len`] bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::encoded_len(self.signers.len()));
        out.extend_from_slice(MAGIC_R1);
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&u32::from(self.sender).to_be_bytes());
        out.extend_from_slice(&self.sid.to_be_bytes());
        out.extend_from_slice(&(self.signers.len() as u32).to_be_bytes());
        for &signer in &self.signers {
            out.extend_from_slice(&u32::from(signer).to_be_bytes());
        }
        out.extend_from_slice(self.matrix.as_ser());
        self.macs.iter().for_each(|mac| out.extend_from_slice(mac));
        out
    }

    /// The MAC for `recipient`, if it is one of the other signers.
    #[must_use]
    pub fn mac_for(&self, recipient: u16) -> Option<&[u8; KEY_LEN]> {
        if recipient == self.sender {
            return None;
        }
        let index = self.signers.binary_search(&recipient).ok()?;
        self.macs.get(if recipient > self.sender {
            index - 1
        } else {
            index
        })
    }
}

/// What a signer sends in round two: its part of the response. Public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// Position of the sender.
    pub sender: u16,
    /// Session number.
    pub sid: u64,
    /// 7 polynomials, NM form.
    pub z: [NttPoly; COLS],
}

impl Partial {
    /// Bytes of the encoding.
    pub const ENCODED_LEN: usize = 18 + Z_LEN;

    /// Reads the frame `"PLR2"`: version, sender, session, `SER(z)`.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(FIELD_R2, bytes, Self::ENCODED_LEN)?;
        reader.header(MAGIC_R2)?;
        let sender = position(reader.be32()?)?;
        let sid = reader.be64()?;
        let mut z = [const { NttPoly::ZERO }; COLS];
        codec::read_vector(FIELD_R2, reader.take(Z_LEN)?, modulus::Q - 1, z.iter_mut())?;
        Ok(Self { sender, sid, z })
    }

    /// The frame, [`Self::ENCODED_LEN`] bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::ENCODED_LEN);
        out.extend_from_slice(MAGIC_R2);
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&u32::from(self.sender).to_be_bytes());
        out.extend_from_slice(&self.sid.to_be_bytes());
        ring::write_vector(self.z.iter(), &mut out);
        out
    }
}

impl Share {
    /// Bytes of the encoding for a committee of `parties`.
    #[must_use]
    pub const fn encoded_len(parties: usize) -> usize {
        52 + Z_LEN + 3 * KEY_LEN * parties
    }

    /// Reads the frame `"PLKS"`: version, position, committee size, threshold, suite, group-key
    /// hash, `SER(share)`, own row and column of seeds, MAC keys.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let head = bytes.get(..20).ok_or(Malformed::Short {
            field: FIELD_KS,
            expected: 20,
        })?;
        let mut head = Reader::new(FIELD_KS, head, 20)?;
        head.header(MAGIC_KS)?;
        let own = position(head.be32()?)?;
        let parties = position(head.be32()?)?;
        let threshold = position(head.be32()?)?;
        let suite = codec::suite_from_code(head.be16()?)?;
        let quorum = Quorum::new(threshold, parties).map_err(|_| Malformed::Value {
            field: "share.threshold",
        })?;
        let size = usize::from(parties);
        let mut reader = Reader::new(FIELD_KS, bytes, Self::encoded_len(size))?;
        reader.take(20)?;
        let group_key_hash = *reader.array()?;
        let mut share = alloc::vec![NttPoly::ZERO; COLS];
        codec::read_vector(
            FIELD_KS,
            reader.take(Z_LEN)?,
            modulus::Q - 1,
            share.iter_mut(),
        )?;
        let mut keys = || -> Result<Vec<[u8; KEY_LEN]>, Malformed> {
            // One allocation: growing would leave copies of the keys behind.
            let mut keys = Vec::with_capacity(size);
            for _ in 0..size {
                keys.push(*reader.array()?);
            }
            Ok(keys)
        };
        let (row, column, mac) = (keys()?, keys()?, keys()?);
        Self::new(own, quorum, suite, group_key_hash, share, row, column, mac)
            .map_err(|_| Malformed::Value { field: FIELD_KS }.into())
    }

    /// The frame, [`Self::encoded_len`] bytes. Secret.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let size = usize::from(self.quorum().parties());
        let mut out = Zeroizing::new(Vec::with_capacity(Self::encoded_len(size)));
        out.extend_from_slice(MAGIC_KS);
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&u32::from(self.position()).to_be_bytes());
        out.extend_from_slice(&u32::from(self.quorum().parties()).to_be_bytes());
        out.extend_from_slice(&u32::from(self.quorum().threshold()).to_be_bytes());
        out.extend_from_slice(&codec::suite_code(self.suite()).to_be_bytes());
        out.extend_from_slice(self.group_key_hash());
        ring::write_vector(self.secret().iter(), &mut *out);
        for list in [self.row_seeds(), self.column_seeds(), self.mac_keys()] {
            list.iter().for_each(|key| out.extend_from_slice(key));
        }
        out
    }
}

/// Compares two keys or MACs in constant time.
pub(super) fn equal(a: &[u8; KEY_LEN], b: &[u8; KEY_LEN]) -> bool {
    a.ct_eq(b).into()
}

fn position(value: u32) -> Result<u16, Malformed> {
    u16::try_from(value)
        .ok()
        .filter(|&position| position <= PARTIES_MAX)
        .ok_or(Malformed::Value { field: "position" })
}

const MAGIC_R1: &[u8; 4] = b"PLR1";
const MAGIC_R2: &[u8; 4] = b"PLR2";
const MAGIC_KS: &[u8; 4] = b"PLKS";
const FIELD_D: &str = "matrix";
const FIELD_R1: &str = "round-one message";
const FIELD_R2: &str = "partial";
const FIELD_KS: &str = "share";
