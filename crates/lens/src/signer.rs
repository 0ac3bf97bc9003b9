//! A member that signs, and the coordinator's last step.

use alloc::vec::Vec;

use frost_core::CheaterDetection;
use rand_core::CryptoRng;

use crate::codec::{from_frost_id, frost_id};
use crate::gather::gather;
use crate::rng::Bridge;
use crate::suite::Suite;
use crate::{
    Approval, Commitments, Error, GroupKey, Identifier, KeyShare, Misuse, Opening, PeerFault,
    SessionId, SessionLedger, Signature, SignatureShare, SigningNonces, SigningPackage, Spending,
    verify,
};

/// A member with its share and the group it belongs to.
///
/// ```
/// use horizon_lens::ed25519::Ed25519;
/// use horizon_lens::{Approval, Committee, MemoryLedger, SessionId, SigningPackage};
/// use horizon_lens::{aggregate, dealer, verify};
///
/// # let mut rng = horizon_testkit::rng(1);
/// let (group, dealt) = dealer::deal::<Ed25519, _>(&Committee::numbered(2, 3)?, &mut rng)?;
/// let signers: Vec<_> = dealt
///     .into_iter()
///     .take(2)
///     .map(|share| share.into_signer(&group))
///     .collect::<Result<_, _>>()?;
/// let mut ledgers = vec![MemoryLedger::new(100); 2];
/// let (session, message) = (SessionId([7; 32]), b"rotate keys");
///
/// let mut nonces = Vec::new();
/// let mut commitments = Vec::new();
/// for (signer, ledger) in signers.iter().zip(&mut ledgers) {
///     let (secret, public) = signer.commit(session, ledger, &mut rng)?;
///     nonces.push(secret);
///     commitments.push(public);
/// }
/// let package = SigningPackage::new(&group, session, message, &commitments)?;
///
/// let set = [signers[0].identifier(), signers[1].identifier()];
/// let approval = Approval { message, signers: &set };
/// let mut shares = Vec::new();
/// for ((signer, ledger), secret) in signers.iter().zip(&mut ledgers).zip(nonces) {
///     shares.push(signer.sign(secret, &package, &approval, ledger)?);
/// }
/// let signature = aggregate(&group, &package, &shares)?;
/// let _verified = verify(group.verifying_key(), message, &signature)?;
/// # Ok::<(), horizon_lens::Error>(())
/// ```
#[derive(Debug)]
pub struct Signer<S: Suite> {
    share: KeyShare<S>,
    group: GroupKey<S>,
}

impl<S: Suite> Signer<S> {
    /// A signer; the share is checked against the group.
    ///
    /// # Errors
    /// [`Misuse::WrongGroup`]: another key, another threshold, or not the share that the group
    /// names.
    pub fn new(share: KeyShare<S>, group: GroupKey<S>) -> Result<Self, Error> {
        share.check(&group)?;
        Ok(Self { share, group })
    }

    /// Which member this is.
    #[must_use]
    pub const fn identifier(&self) -> Identifier {
        self.share.identifier()
    }

    /// The share.
    #[must_use]
    pub const fn share(&self) -> &KeyShare<S> {
        &self.share
    }

    /// The group.
    #[must_use]
    pub const fn group(&self) -> &GroupKey<S> {
        &self.group
    }

    /// First round: makes the nonces of a session and has the ledger note them.
    ///
    /// # Errors
    /// [`Misuse::Ledger`] when the session or the nonces were used before or the store failed;
    /// [`Misuse::Randomness`].
    ///
    /// # Security
    /// Each nonce hashes 32 fresh bytes of `rng` with the share (RFC 9591 section 4.1). That hedges
    /// against a weak generator and not against a repeating one; a repeated pair is caught by the
    /// ledger.
    pub fn commit<L, R>(
        &self,
        session: SessionId,
        ledger: &mut L,
        rng: &mut R,
    ) -> Result<(SigningNonces<S>, Commitments<S>), Error>
    where
        L: SessionLedger + ?Sized,
        R: CryptoRng + ?Sized,
    {
        let secret = self.share.package().signing_share();
        let (inner, public) = frost_core::round1::commit(secret, &mut Bridge(rng));
        let commitments = Commitments::from_inner(session, self.identifier(), public)
            .ok_or(Misuse::Randomness)?;
        let share = self.share.id();
        let id = commitments.nonce_id(share);
        let nonces = SigningNonces {
            inner,
            session,
            share,
            id,
        };
        ledger.open(&Opening {
            share,
            session,
            nonce: id,
        })?;
        Ok((nonces, commitments))
    }

    /// Second round: signs the package, if it is what this signer approved.
    ///
    /// The nonces are gone afterwards, whatever the outcome; after an error start a new session.
    ///
    /// # Errors
    /// [`Misuse::WrongGroup`] for another share's nonces; [`Misuse::NotAMember`],
    /// [`Misuse::DuplicateIdentifier`], [`Misuse::BelowThreshold`] for the approval itself.
    /// [`Error::Peer`]: [`PeerFault::PackageSession`], [`PeerFault::MessageDiffers`],
    /// [`PeerFault::SignersDiffer`], [`PeerFault::OwnCommitmentAltered`],
    /// [`PeerFault::Degenerate`]. [`Misuse::Ledger`] when the nonces are spent or unknown.
    ///
    /// # Source
    /// RFC 9591 section 5.2. Lagrange coefficients are those of the package's signers.
    pub fn sign<L: SessionLedger + ?Sized>(
        &self,
        nonces: SigningNonces<S>,
        package: &SigningPackage<S>,
        approval: &Approval<'_>,
        ledger: &mut L,
    ) -> Result<SignatureShare<S>, Error> {
        if nonces.share != self.share.id() {
            return Err(Misuse::WrongGroup.into());
        }
        let approved = self.approved_signers(approval)?;
        let refuse = |fault| Err(Error::peer(fault, Vec::new()));
        if package.session() != nonces.session {
            return refuse(PeerFault::PackageSession);
        }
        if package.message() != approval.message {
            return refuse(PeerFault::MessageDiffers);
        }
        if package.signers() != approved {
            return refuse(PeerFault::SignersDiffer);
        }
        let own = package
            .inner()
            .signing_commitment(&frost_id::<S>(self.identifier()));
        if own.as_ref() != Some(nonces.inner.commitments()) {
            return refuse(PeerFault::OwnCommitmentAltered);
        }
        ledger.spend(&Spending {
            share: nonces.share,
            session: nonces.session,
            nonce: nonces.id,
            package: package.digest(),
        })?;
        let inner = frost_core::round2::sign(package.inner(), &nonces.inner, self.share.package())
            .map_err(|_| Error::peer(PeerFault::Degenerate, Vec::new()))?;
        Ok(SignatureShare {
            session: nonces.session,
            signer: self.identifier(),
            inner,
        })
    }

    fn approved_signers(&self, approval: &Approval<'_>) -> Result<Vec<Identifier>, Error> {
        let committee = self.group.committee();
        for signer in approval.signers {
            committee.require(*signer)?;
        }
        let mut signers = approval.signers.to_vec();
        signers.sort_unstable();
        if !signers.is_sorted_by(|a, b| a < b) {
            return Err(Misuse::DuplicateIdentifier.into());
        }
        if signers.len() < usize::from(committee.min_signers()) {
            return Err(Misuse::BelowThreshold.into());
        }
        Ok(signers)
    }
}

/// Adds the signature shares up and verifies the result; if it is wrong, names everybody whose
/// share is.
///
/// Shares are looked at one by one only when the sum is wrong: parties that send wrong shares whose
/// errors cancel out have signed.
///
/// # Errors
/// [`Misuse::NotAMember`], [`Misuse::BelowThreshold`]: the package is not for this group.
/// [`Error::Peer`]: [`PeerFault::Unexpected`], [`PeerFault::WrongSession`],
/// [`PeerFault::Duplicate`], [`PeerFault::Missing`], [`PeerFault::SignatureShare`] with all
/// culprits, [`PeerFault::Degenerate`]. Never [`Rejected::Signature`](crate::Rejected::Signature),
/// unless the library and [`verify`] disagree.
///
/// # Source
/// RFC 9591 section 5.3 and 5.4.
pub fn aggregate<S: Suite>(
    group: &GroupKey<S>,
    package: &SigningPackage<S>,
    shares: &[SignatureShare<S>],
) -> Result<Signature<S>, Error> {
    let signers = package.signers();
    for signer in signers {
        group.committee().require(*signer)?;
    }
    if signers.len() < usize::from(group.committee().min_signers()) {
        return Err(Misuse::BelowThreshold.into());
    }
    let found = gather(shares, signers, |s| s.session() == package.session())?;
    let inner = found
        .iter()
        .map(|(id, share)| (frost_id::<S>(*id), share.inner))
        .collect();
    let detection = CheaterDetection::AllCheaters;
    let sum = frost_core::aggregate_custom(package.inner(), &inner, group.package(), detection)
        .map_err(|error| {
            let named = error.culprits();
            let culprits: Vec<_> = named
                .iter()
                .filter_map(|id| from_frost_id::<S>(signers, id))
                .collect();
            let fault = if culprits.is_empty() {
                PeerFault::Degenerate
            } else {
                PeerFault::SignatureShare
            };
            Error::peer(fault, culprits)
        })?;
    let signature =
        Signature::from_inner(sum).ok_or_else(|| Error::peer(PeerFault::Degenerate, Vec::new()))?;
    // The library has verified it; what leaves has passed the verifier that everybody else uses.
    let _checked = verify(group.verifying_key(), package.message(), &signature)?;
    Ok(signature)
}
