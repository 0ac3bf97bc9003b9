//! The first round: a pair of nonces stays, a pair of commitments goes out.

use core::fmt;

use frost_core::round1 as core_round1;
use horizon_hash::suite::Suite as HashSuite;

use crate::codec::{Core, Reader, Writer, read_canonical};
use crate::gather::Sent;
use crate::suite::Suite;
use crate::wire::{IDENTIFIER_LEN, SESSION_LEN, body, frame, points_len};
use crate::{Identifier, Malformed, NonceId, SessionId, ShareId};

/// One signer's commitments to its two nonces; public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commitments<S: Suite> {
    session: SessionId,
    signer: Identifier,
    inner: core_round1::SigningCommitments<Core<S>>,
}

frame!(Commitments, Commitments, public);

impl<S: Suite> Commitments<S> {
    /// The session they are for.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// Whose they are.
    #[must_use]
    pub const fn signer(&self) -> Identifier {
        self.signer
    }

    pub(crate) const fn inner(&self) -> &core_round1::SigningCommitments<Core<S>> {
        &self.inner
    }

    /// Wraps fresh commitments; `None` when a nonce is zero or both are the same, which only a
    /// failed random generator makes.
    pub(crate) fn from_inner(
        session: SessionId,
        signer: Identifier,
        inner: core_round1::SigningCommitments<Core<S>>,
    ) -> Option<Self> {
        let hiding = inner.hiding().serialize().ok()?;
        let binding = inner.binding().serialize().ok()?;
        (hiding != binding).then_some(Self {
            session,
            signer,
            inner,
        })
    }

    pub(crate) fn nonce_id(&self, share: ShareId) -> NonceId {
        let mut pair = Writer::new(points_len::<S>(2));
        write_pair::<S>(&self.inner, &mut pair);
        let parts = [
            horizon_hash::domain::lens::NONCE_ID,
            &share.0,
            &pair.into_bytes(),
        ];
        NonceId(HashSuite::LensSha3.transcript_hash(&parts))
    }
}

impl<S: Suite> Sent for Commitments<S> {
    fn sender(&self) -> Identifier {
        self.signer
    }
}

impl<S: Suite> body::Body for Commitments<S> {
    const SUITE: crate::SuiteId = S::ID;

    fn body_len(&self) -> usize {
        SESSION_LEN + IDENTIFIER_LEN + points_len::<S>(2)
    }

    fn write(&self, writer: &mut Writer) {
        writer.bytes(&self.session.0);
        writer.identifier(self.signer);
        write_pair::<S>(&self.inner, writer);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            session: SessionId(reader.array("session")?),
            signer: reader.identifier("signer")?,
            inner: read_pair::<S>(reader)?,
        })
    }
}

/// The secret half of [`Commitments`]: good for one signature share, then gone.
///
/// Not `Clone`, not `Copy`, no encoding; [`Signer::sign`](crate::Signer::sign) takes it by value
/// and it is overwritten when dropped, whether signing succeeds or not.
///
/// ```compile_fail,E0382
/// use horizon_lens::ed25519::Ed25519;
/// use horizon_lens::{Approval, MemoryLedger, Signer, SigningNonces, SigningPackage};
///
/// fn twice(
///     signer: &Signer<Ed25519>,
///     nonces: SigningNonces<Ed25519>,
///     package: &SigningPackage<Ed25519>,
///     approval: &Approval<'_>,
///     ledger: &mut MemoryLedger,
/// ) {
///     let _ = signer.sign(nonces, package, approval, ledger);
///     let _ = signer.sign(nonces, package, approval, ledger); // use of moved value
/// }
/// ```
///
/// ```compile_fail,E0277
/// use horizon_lens::{SigningNonces, ed25519::Ed25519};
///
/// fn needs_copies<T: Clone>() {}
/// needs_copies::<SigningNonces<Ed25519>>(); // nonces cannot be copied
/// ```
pub struct SigningNonces<S: Suite> {
    pub(crate) inner: core_round1::SigningNonces<Core<S>>,
    pub(crate) session: SessionId,
    pub(crate) share: ShareId,
    pub(crate) id: NonceId,
}

impl<S: Suite> SigningNonces<S> {
    /// The session they are for.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.session
    }
}

impl<S: Suite> fmt::Debug for SigningNonces<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningNonces")
            .field("session", &self.session)
            .field("nonces", &"<redacted>")
            .finish_non_exhaustive()
    }
}

pub(crate) fn write_pair<S: Suite>(
    pair: &core_round1::SigningCommitments<Core<S>>,
    writer: &mut Writer,
) {
    for commitment in [pair.hiding(), pair.binding()] {
        // Every pair in this crate was decoded, or encoded once when it was made.
        writer.bytes(&commitment.serialize().unwrap_or_default());
    }
}

pub(crate) fn read_pair<S: Suite>(
    reader: &mut Reader<'_>,
) -> Result<core_round1::SigningCommitments<Core<S>>, Malformed> {
    let mut one = |field| {
        read_canonical::<S, _>(
            reader,
            field,
            core_round1::NonceCommitment::deserialize,
            core_round1::NonceCommitment::serialize,
        )
    };
    let hiding = one("hiding commitment")?;
    let binding = one("binding commitment")?;
    Ok(core_round1::SigningCommitments::new(hiding, binding))
}
