//! The second round: what the coordinator sends out, and the signature shares that come back.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use frost_core::round2 as core_round2;
use horizon_hash::suite::Suite as HashSuite;

use crate::codec::{Core, Reader, Writer, frost_id, read_scalar};
use crate::gather::{Sent, gather_some};
use crate::round1::{read_pair, write_pair};
use crate::suite::{SCALAR_LEN, Suite};
use crate::wire::{COUNT_LEN, Frame as _, IDENTIFIER_LEN, SESSION_LEN, body, frame, points_len};
use crate::{
    Commitments, Error, GroupKey, Identifier, MEMBER_COUNT_MAX, MESSAGE_LEN_MAX, Malformed, Misuse,
    PeerFault, SessionId,
};

/// What is to be signed, and by whom with which commitments.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningPackage<S: Suite> {
    session: SessionId,
    signers: Vec<Identifier>,
    inner: frost_core::SigningPackage<Core<S>>,
}

frame!(SigningPackage, SigningPackage, public);

impl<S: Suite> SigningPackage<S> {
    /// Puts the first-round messages of a session together; whoever sent one becomes a signer.
    ///
    /// # Errors
    /// [`Misuse::MessageTooLong`], [`Misuse::BelowThreshold`]; [`Error::Peer`] naming members whose
    /// messages are [`PeerFault::Unexpected`], for another session, or [`PeerFault::Duplicate`].
    pub fn new(
        group: &GroupKey<S>,
        session: SessionId,
        message: &[u8],
        commitments: &[Commitments<S>],
    ) -> Result<Self, Error> {
        if message.len() > MESSAGE_LEN_MAX {
            return Err(Misuse::MessageTooLong.into());
        }
        let committee = group.committee();
        let found = gather_some(
            commitments,
            |id| committee.contains(id),
            |c| c.session() == session,
        )?;
        if found.len() < usize::from(committee.min_signers()) {
            return Err(Misuse::BelowThreshold.into());
        }
        let pairs = found.iter().map(|(id, c)| (frost_id::<S>(*id), *c.inner()));
        Ok(Self {
            session,
            signers: found.keys().copied().collect(),
            inner: frost_core::SigningPackage::new(pairs.collect(), message),
        })
    }

    /// The session.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &[u8] {
        self.inner.message()
    }

    /// The signers, ascending.
    #[must_use]
    pub fn signers(&self) -> &[Identifier] {
        &self.signers
    }

    /// Checks one signature share as it arrives; [`aggregate`](crate::aggregate) finds the same
    /// culprits.
    ///
    /// # Errors
    /// [`Error::Peer`] naming the sender: [`PeerFault::Unexpected`], [`PeerFault::WrongSession`],
    /// [`PeerFault::SignatureShare`]; [`Misuse::NotAMember`] when the package is for another group.
    pub fn check_share(&self, group: &GroupKey<S>, share: &SignatureShare<S>) -> Result<(), Error> {
        let signer = share.signer;
        gather_some(
            core::slice::from_ref(share),
            |id| self.signers.contains(&id),
            |share| share.session == self.session,
        )?;
        let shares = group.package().verifying_shares();
        let verifying_share = shares
            .get(&frost_id::<S>(signer))
            .ok_or(Misuse::NotAMember)?;
        frost_core::verify_signature_share(
            frost_id::<S>(signer),
            verifying_share,
            &share.inner,
            &self.inner,
            group.verifying_key().inner(),
        )
        .map_err(|_| Error::peer(PeerFault::SignatureShare, alloc::vec![signer]))
    }

    pub(crate) const fn inner(&self) -> &frost_core::SigningPackage<Core<S>> {
        &self.inner
    }

    pub(crate) fn digest(&self) -> [u8; 32] {
        HashSuite::LensSha3
            .transcript_hash(&[horizon_hash::domain::lens::PACKAGE, &self.to_bytes()])
    }
}

impl<S: Suite> body::Body for SigningPackage<S> {
    const SUITE: crate::SuiteId = S::ID;

    fn body_len(&self) -> usize {
        let entry = IDENTIFIER_LEN + points_len::<S>(2);
        SESSION_LEN + 4 + self.message().len() + COUNT_LEN + self.signers.len() * entry
    }

    fn write(&self, writer: &mut Writer) {
        writer.bytes(&self.session.0);
        writer.u32(u32::try_from(self.message().len()).unwrap_or(u32::MAX));
        writer.bytes(self.message());
        writer.count(self.signers.len());
        for signer in &self.signers {
            writer.identifier(*signer);
            if let Some(pair) = self.inner.signing_commitment(&frost_id::<S>(*signer)) {
                write_pair::<S>(&pair, writer);
            }
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let session = SessionId(reader.array("session")?);
        let len = usize::try_from(reader.u32("message length")?).unwrap_or(usize::MAX);
        if len > MESSAGE_LEN_MAX {
            return Err(Malformed::TooLong {
                field: "message",
                max: MESSAGE_LEN_MAX,
            });
        }
        let message = reader.take(len, "message")?;
        let count = reader.count("signers", 2, MEMBER_COUNT_MAX)?;
        let mut signers: Vec<Identifier> = Vec::new();
        let mut pairs = BTreeMap::new();
        for _ in 0..count {
            let signer = reader.identifier("signer")?;
            if signers.last().is_some_and(|last| *last >= signer) {
                return Err(Malformed::Order { field: "signers" });
            }
            signers.push(signer);
            pairs.insert(frost_id::<S>(signer), read_pair::<S>(reader)?);
        }
        Ok(Self {
            session,
            signers,
            inner: frost_core::SigningPackage::new(pairs, message),
        })
    }
}

impl<S: Suite> fmt::Debug for SigningPackage<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningPackage")
            .field("session", &self.session)
            .field("signers", &self.signers)
            .field("message_len", &self.message().len())
            .finish_non_exhaustive()
    }
}

/// What a signer agreed to, from its own knowledge and not from the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Approval<'a> {
    /// The message.
    pub message: &'a [u8],
    /// The signer set, in any order.
    pub signers: &'a [Identifier],
}

/// One signer's part of a signature; public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureShare<S: Suite> {
    pub(crate) session: SessionId,
    pub(crate) signer: Identifier,
    pub(crate) inner: core_round2::SignatureShare<Core<S>>,
}

frame!(SignatureShare, SignatureShare, public);

impl<S: Suite> SignatureShare<S> {
    /// The session it is for.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// Whose it is.
    #[must_use]
    pub const fn signer(&self) -> Identifier {
        self.signer
    }
}

impl<S: Suite> Sent for SignatureShare<S> {
    fn sender(&self) -> Identifier {
        self.signer
    }
}

impl<S: Suite> body::Body for SignatureShare<S> {
    const SUITE: crate::SuiteId = S::ID;

    fn body_len(&self) -> usize {
        SESSION_LEN + IDENTIFIER_LEN + SCALAR_LEN
    }

    fn write(&self, writer: &mut Writer) {
        writer.bytes(&self.session.0);
        writer.identifier(self.signer);
        writer.bytes(&self.inner.serialize());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let session = SessionId(reader.array("session")?);
        let signer = reader.identifier("signer")?;
        let field = "signature share";
        let scalar = read_scalar::<S>(reader, field)?;
        let inner = core_round2::SignatureShare::deserialize(scalar)
            .map_err(|_| Malformed::Scalar { field })?;
        Ok(Self {
            session,
            signer,
            inner,
        })
    }
}
