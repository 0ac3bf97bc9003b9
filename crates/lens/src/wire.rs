//! Frames: what every message of this crate looks like on a wire or in a file.
//!
//! `version u16 = 1 || suite u8 || kind u8 || body`, all numbers big-endian. One message has one
//! encoding: counts are bounded before anything is allocated, lists are strictly ascending,
//! elements and scalars are canonical, and nothing may follow the last field. An identifier is a
//! `u32` in `1..=65535`.
//!
//! | Kind | Message | Body |
//! |---|---|---|
//! | 1 | [`Commitments`](crate::Commitments) | session 32, signer u32, hiding point, binding point |
//! | 2 | [`SignatureShare`](crate::SignatureShare) | session 32, signer u32, scalar |
//! | 3 | [`Signature`](crate::Signature) | point, scalar |
//! | 4 | [`SigningPackage`](crate::SigningPackage) | session 32, length u32, message, count u16, count x (signer u32, point, point) |
//! | 5 | [`GroupKey`](crate::GroupKey) | min signers u16, count u16, key point, count x (member u32, point) |
//! | 6 | [`KeyShare`](crate::KeyShare), secret | min signers u16, member u32, scalar, key point |
//! | 7 | [`DealtShare`](crate::dealer::DealtShare), secret | member u32, scalar, count u16, count x point |
//! | 8 | [`dkg::Round1Package`](crate::dkg::Round1Package) | ceremony 32, member u32, count u16, count x point, point, scalar |
//! | 9 | [`dkg::Echo`](crate::dkg::Echo) | ceremony 32, member u32, digest 32 |
//! | 10 | [`dkg::SecretPackage`](crate::dkg::SecretPackage), secret | ceremony 32, from u32, to u32, scalar |
//! | 11 | [`refresh::DealtUpdate`](crate::refresh::DealtUpdate), secret | member u32, scalar, count u16, count x point |
//! | 12 | [`refresh::Round1Package`](crate::refresh::Round1Package) | ceremony 32, member u32, count u16, count x point |
//! | 13 | [`refresh::Echo`](crate::refresh::Echo) | as 9 |
//! | 14 | [`refresh::SecretPackage`](crate::refresh::SecretPackage), secret | as 10 |
//! | 15 | [`repair::Delta`](crate::repair::Delta), secret | ceremony 32, lost u32, from u32, to u32, scalar |
//! | 16 | [`repair::Sigma`](crate::repair::Sigma), secret | ceremony 32, lost u32, from u32, scalar |
//!
//! # Security
//! A frame authenticates nobody. Whoever receives one must know from the link who sent it, and must
//! compare that with the identifier inside; secret messages need a confidential link besides.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use alloc::vec::Vec;

use zeroize::Zeroizing;

use crate::codec::{Reader, Writer};
use crate::suite::{SCALAR_LEN, Suite, SuiteId, sealed::Sealed};
use crate::{Error, MEMBER_COUNT_MAX, Malformed};

/// What a frame holds; one byte on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Kind {
    /// Round 1 of signing.
    Commitments = 1,
    /// Round 2 of signing.
    SignatureShare = 2,
    /// The result of signing.
    Signature = 3,
    /// What the coordinator sends between the rounds.
    SigningPackage = 4,
    /// The group's public keys.
    GroupKey = 5,
    /// One member's long-lived secret.
    KeyShare = 6,
    /// What a trusted dealer sends one member.
    DealtShare = 7,
    /// Key generation, first round, to everybody.
    DkgRound1 = 8,
    /// Key generation, echo, to everybody.
    DkgEcho = 9,
    /// Key generation, second round, to one member.
    DkgSecret = 10,
    /// What a trusted dealer sends one member to refresh its share.
    DealtUpdate = 11,
    /// Refresh, first round, to everybody.
    RefreshRound1 = 12,
    /// Refresh, echo, to everybody.
    RefreshEcho = 13,
    /// Refresh, second round, to one member.
    RefreshSecret = 14,
    /// Repair, from helper to helper.
    RepairDelta = 15,
    /// Repair, from helper to the member that lost its share.
    RepairSigma = 16,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 16] = [
        Self::Commitments,
        Self::SignatureShare,
        Self::Signature,
        Self::SigningPackage,
        Self::GroupKey,
        Self::KeyShare,
        Self::DealtShare,
        Self::DkgRound1,
        Self::DkgEcho,
        Self::DkgSecret,
        Self::DealtUpdate,
        Self::RefreshRound1,
        Self::RefreshEcho,
        Self::RefreshSecret,
        Self::RepairDelta,
        Self::RepairSigma,
    ];

    /// The byte in a frame's header.
    #[must_use]
    pub const fn to_byte(self) -> u8 {
        self as u8
    }
}

/// The first four bytes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The suite.
    pub suite: SuiteId,
    /// What the body holds.
    pub kind: Kind,
}

impl Header {
    /// Reads the header of a frame, to choose a decoder by it.
    ///
    /// # Errors
    /// [`Malformed::TooLong`] above [`FRAME_LEN_MAX`], [`Malformed::Short`],
    /// [`Malformed::Version`], [`Malformed::Suite`], [`Malformed::Kind`].
    pub fn peek(frame: &[u8]) -> Result<Self, Error> {
        Ok(Self::read(frame)?.0)
    }

    fn read(frame: &[u8]) -> Result<(Self, Reader<'_>), Malformed> {
        if frame.len() > FRAME_LEN_MAX {
            return Err(Malformed::TooLong {
                field: "frame",
                max: FRAME_LEN_MAX,
            });
        }
        let mut reader = Reader::new(frame);
        if reader.u16("version")? != VERSION {
            return Err(Malformed::Version);
        }
        let [suite] = reader.array("suite")?;
        let suite = SuiteId::from_byte(suite).map_err(|_| Malformed::Suite)?;
        let [kind] = reader.array("kind")?;
        let known = Kind::ALL.into_iter().find(|known| known.to_byte() == kind);
        let kind = known.ok_or(Malformed::Kind)?;
        Ok((Self { suite, kind }, reader))
    }
}

/// A message with a frame of its own. Sealed.
pub trait Frame: Sealed + body::Body + Sized {
    /// What the header says.
    const KIND: Kind;
    /// `Vec<u8>`, or for a secret message one that is overwritten when dropped.
    type Bytes: AsRef<[u8]> + From<Vec<u8>>;

    /// The frame.
    #[must_use]
    fn to_bytes(&self) -> Self::Bytes {
        let len = HEADER_LEN.saturating_add(self.body_len());
        let mut writer = Writer::new(len);
        writer.u16(VERSION);
        writer.bytes(&[Self::SUITE.to_byte(), Self::KIND.to_byte()]);
        self.write(&mut writer);
        writer.into_bytes().into()
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// [`Error::Malformed`] for anything but the one encoding of a value of this kind and suite.
    fn from_bytes(frame: &[u8]) -> Result<Self, Error> {
        let (header, mut reader) = Header::read(frame)?;
        if header.suite != Self::SUITE {
            return Err(Malformed::Suite.into());
        }
        if header.kind != Self::KIND {
            return Err(Malformed::Kind.into());
        }
        let value = Self::read(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

pub(crate) mod body {
    use super::{Malformed, Reader, SuiteId, Writer};

    /// The part of a frame behind its header.
    #[expect(unnameable_types, reason = "sealed part of `Frame`")]
    pub trait Body: Sized {
        /// The suite in the header.
        const SUITE: SuiteId;
        /// Exact length of the body, in bytes.
        fn body_len(&self) -> usize;
        /// Writes exactly that many.
        fn write(&self, writer: &mut Writer);
        /// Reads the body and leaves what follows it.
        fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed>;
    }
}

/// Declares the frame of a message: its kind, and whether its bytes are secret.
macro_rules! frame {
    ($message:ident, $kind:ident, public) => {
        frame!($message, $kind, alloc::vec::Vec<u8>);
    };
    ($message:ident, $kind:ident, secret) => {
        frame!($message, $kind, zeroize::Zeroizing<alloc::vec::Vec<u8>>);
    };
    ($message:ident, $kind:ident, $bytes:ty) => {
        impl<S: $crate::suite::Suite> $crate::suite::sealed::Sealed for $message<S> {}
        impl<S: $crate::suite::Suite> $crate::wire::Frame for $message<S> {
            const KIND: $crate::wire::Kind = $crate::wire::Kind::$kind;
            type Bytes = $bytes;
        }
    };
}
pub(crate) use frame;

/// Bytes of a secret message: overwritten when dropped.
pub type SecretBytes = Zeroizing<Vec<u8>>;

/// Version of the frames this crate reads and writes.
pub const VERSION: u16 = 1;

/// Bytes of a header.
pub const HEADER_LEN: usize = 4;

/// Longest message that can be signed, in bytes; what Lens signs are control-plane statements.
pub const MESSAGE_LEN_MAX: usize = 65_536;

/// Longest frame, in bytes: a signing package of 256 signers over the longest message.
pub const FRAME_LEN_MAX: usize =
    HEADER_LEN + SESSION_LEN + 4 + MESSAGE_LEN_MAX + 2 + MEMBER_COUNT_MAX * (4 + 2 * POINT_LEN_MAX);

/// Bytes of a session or ceremony identifier.
pub const SESSION_LEN: usize = 32;

const POINT_LEN_MAX: usize = 33;

/// Bytes of a scalar list entry, for body lengths.
pub(crate) const fn list_len(count: usize, entry: usize) -> usize {
    count.saturating_mul(entry)
}

/// Bytes of `count` points of this suite.
pub(crate) const fn points_len<S: Suite>(count: usize) -> usize {
    list_len(count, S::POINT_LEN)
}

/// Bytes of an encoded identifier.
pub(crate) const IDENTIFIER_LEN: usize = 4;

/// Bytes of an encoded count.
pub(crate) const COUNT_LEN: usize = 2;

const _: () = assert!(SCALAR_LEN == 32 && FRAME_LEN_MAX < 1 << 17);
