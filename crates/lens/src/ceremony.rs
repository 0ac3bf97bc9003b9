//! What key generation and refresh have in common: three rounds in which every member deals a
//! polynomial.
//!
//! 1. Everybody sends a commitment to everybody ([`Round1Package`]).
//! 2. Everybody sends a digest of all commitments it saw ([`Echo`]); if two differ, the ceremony
//!    ends before any secret has left.
//! 3. Everybody sends each other member one secret value ([`SecretPackage`]) and adds up what it
//!    received.
//!
//! A wrong contribution ends the ceremony and names its author; start another one without it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use frost_core::keys::{SigningShare, VerifiableSecretSharingCommitment, dkg as core_dkg};
use horizon_hash::suite::Suite as HashSuite;

use crate::codec::{
    Core, FrostId, Reader, Writer, elements, frost_id, proof_holds, read_scalar, secret_bytes,
    share_matches,
};
use crate::dealer::{coefficients, read_commitment, write_commitment};
use crate::gather::{Sent, gather, refuse};
use crate::suite::{SCALAR_LEN, Suite, sealed::Sealed};
use crate::wire::{
    COUNT_LEN, Frame, HEADER_LEN, IDENTIFIER_LEN, Kind, SESSION_LEN, SecretBytes, body, points_len,
};
use crate::{Committee, Error, Identifier, Malformed, Misuse, PeerFault, Signature};

/// Names one ceremony; the members agree on it beforehand and never use it twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CeremonyId(pub [u8; SESSION_LEN]);

/// What a ceremony is for: [`Keygen`] or [`Refreshing`]. Sealed.
pub trait Purpose: Sealed + Copy + fmt::Debug + Eq + 'static {
    #[doc(hidden)]
    const ROUND1: Kind;
    #[doc(hidden)]
    const ECHO: Kind;
    #[doc(hidden)]
    const SECRET: Kind;
    /// Whether the constant term is a new secret, whose knowledge is proved; if not it is zero, and
    /// neither it nor a proof is sent.
    #[doc(hidden)]
    const NEW_SECRET: bool;
}

/// Makes a new key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keygen;

/// Makes new shares of the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refreshing;

impl Sealed for Keygen {}
impl Sealed for Refreshing {}

impl Purpose for Keygen {
    const ROUND1: Kind = Kind::DkgRound1;
    const ECHO: Kind = Kind::DkgEcho;
    const SECRET: Kind = Kind::DkgSecret;
    const NEW_SECRET: bool = true;
}

impl Purpose for Refreshing {
    const ROUND1: Kind = Kind::RefreshRound1;
    const ECHO: Kind = Kind::RefreshEcho;
    const SECRET: Kind = Kind::RefreshSecret;
    const NEW_SECRET: bool = false;
}

type Commitment<S> = VerifiableSecretSharingCommitment<Core<S>>;
type Round1<S> = core_dkg::round1::Package<Core<S>>;
type Round2<S> = core_dkg::round2::Package<Core<S>>;

/// First round: a member's commitment to its polynomial, for everybody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round1Package<S: Suite, P: Purpose> {
    ceremony: CeremonyId,
    member: Identifier,
    commitment: Commitment<S>,
    proof: Option<Signature<S>>,
    purpose: PhantomData<P>,
}

impl<S: Suite, P: Purpose> Round1Package<S, P> {
    /// Who sent it.
    #[must_use]
    pub const fn member(&self) -> Identifier {
        self.member
    }
}

impl<S: Suite, P: Purpose> Sealed for Round1Package<S, P> {}
impl<S: Suite, P: Purpose> Frame for Round1Package<S, P> {
    const KIND: Kind = P::ROUND1;
    type Bytes = Vec<u8>;
}

impl<S: Suite, P: Purpose> Sent for Round1Package<S, P> {
    fn sender(&self) -> Identifier {
        self.member
    }
}

impl<S: Suite, P: Purpose> body::Body for Round1Package<S, P> {
    const SUITE: crate::SuiteId = S::ID;

    fn body_len(&self) -> usize {
        let proof = if P::NEW_SECRET { S::SIGNATURE_LEN } else { 0 };
        let count = coefficients::<S>(&self.commitment).len();
        SESSION_LEN + IDENTIFIER_LEN + COUNT_LEN + points_len::<S>(count) + proof
    }

    fn write(&self, writer: &mut Writer) {
        writer.bytes(&self.ceremony.0);
        writer.identifier(self.member);
        write_commitment::<S>(&self.commitment, writer);
        if let Some(proof) = &self.proof {
            writer.bytes(&proof.to_raw());
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let ceremony = CeremonyId(reader.array("ceremony")?);
        let member = reader.identifier("member")?;
        let min = if P::NEW_SECRET { 2 } else { 1 };
        let commitment = read_commitment::<S>(reader, min)?;
        let proof = if P::NEW_SECRET {
            Some(<Signature<S> as body::Body>::read(reader)?)
        } else {
            None
        };
        Ok(Self {
            ceremony,
            member,
            commitment,
            proof,
            purpose: PhantomData,
        })
    }
}

/// Between the rounds: a digest of all first-round messages as one member saw them, for everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo<S: Suite, P: Purpose> {
    ceremony: CeremonyId,
    member: Identifier,
    digest: [u8; 32],
    purpose: PhantomData<(S, P)>,
}

impl<S: Suite, P: Purpose> Echo<S, P> {
    /// Who sent it.
    #[must_use]
    pub const fn member(&self) -> Identifier {
        self.member
    }

    /// The digest; also what humans may compare.
    #[must_use]
    pub const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

impl<S: Suite, P: Purpose> Sealed for Echo<S, P> {}
impl<S: Suite, P: Purpose> Frame for Echo<S, P> {
    const KIND: Kind = P::ECHO;
    type Bytes = Vec<u8>;
}

impl<S: Suite, P: Purpose> Sent for Echo<S, P> {
    fn sender(&self) -> Identifier {
        self.member
    }
}

impl<S: Suite, P: Purpose> body::Body for Echo<S, P> {
    const SUITE: crate::SuiteId = S::ID;

    fn body_len(&self) -> usize {
        SESSION_LEN + IDENTIFIER_LEN + self.digest.len()
    }

    fn write(&self, writer: &mut Writer) {
        writer.bytes(&self.ceremony.0);
        writer.identifier(self.member);
        writer.bytes(&self.digest);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            ceremony: CeremonyId(reader.array("ceremony")?),
            member: reader.identifier("member")?,
            digest: reader.array("digest")?,
            purpose: PhantomData,
        })
    }
}

/// Second round: the value of one member's polynomial for another member; secret.
///
/// # Security
/// Only the recipient may see it: it needs a link that is confidential and authenticated end to
/// end.
pub struct SecretPackage<S: Suite, P: Purpose> {
    ceremony: CeremonyId,
    from: Identifier,
    to: Identifier,
    inner: Round2<S>,
    purpose: PhantomData<P>,
}

impl<S: Suite, P: Purpose> SecretPackage<S, P> {
    /// Who sent it.
    #[must_use]
    pub const fn from(&self) -> Identifier {
        self.from
    }

    /// Who may read it.
    #[must_use]
    pub const fn to(&self) -> Identifier {
        self.to
    }
}

impl<S: Suite, P: Purpose> Sealed for SecretPackage<S, P> {}
impl<S: Suite, P: Purpose> Frame for SecretPackage<S, P> {
    const KIND: Kind = P::SECRET;
    type Bytes = SecretBytes;
}

impl<S: Suite, P: Purpose> Sent for SecretPackage<S, P> {
    fn sender(&self) -> Identifier {
        self.from
    }
}

impl<S: Suite, P: Purpose> body::Body for SecretPackage<S, P> {
    const SUITE: crate::SuiteId = S::ID;

    fn body_len(&self) -> usize {
        SESSION_LEN + 2 * IDENTIFIER_LEN + SCALAR_LEN
    }

    fn write(&self, writer: &mut Writer) {
        writer.bytes(&self.ceremony.0);
        writer.identifier(self.from);
        writer.identifier(self.to);
        writer.bytes(&secret_bytes(self.inner.signing_share().serialize()));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let ceremony = CeremonyId(reader.array("ceremony")?);
        let from = reader.identifier("sender")?;
        let to = reader.identifier("recipient")?;
        let field = "secret share";
        let scalar = read_scalar::<S>(reader, field)?;
        let share = SigningShare::deserialize(scalar).map_err(|_| Malformed::Scalar { field })?;
        Ok(Self {
            ceremony,
            from,
            to,
            inner: core_dkg::round2::Package::new(share),
            purpose: PhantomData,
        })
    }
}

impl<S: Suite, P: Purpose> fmt::Debug for SecretPackage<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretPackage")
            .field("from", &self.from)
            .field("to", &self.to)
            .field("share", &"<redacted>")
            .finish_non_exhaustive()
    }
}

/// Who takes part, as whom, in what.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) ceremony: CeremonyId,
    pub(crate) member: Identifier,
    pub(crate) committee: Committee,
    /// What all members must agree on besides: the group that is refreshed.
    pub(crate) context: Vec<u8>,
}

impl Setting {
    /// Everybody else.
    fn others(&self) -> Vec<Identifier> {
        let members = self.committee.members().iter().copied();
        members.filter(|id| *id != self.member).collect()
    }

    fn gather_others<'a, T: Sent>(
        &self,
        messages: &'a [T],
        in_session: impl Fn(&T) -> bool,
    ) -> Result<BTreeMap<Identifier, &'a T>, Error> {
        if messages.iter().any(|m| m.sender() == self.member) {
            return Err(Misuse::OwnMessage.into());
        }
        gather(messages, &self.others(), in_session)
    }
}

/// A member that has sent its commitment and waits for those of the others.
pub struct Committed<S: Suite, P: Purpose> {
    setting: Setting,
    secret: core_dkg::round1::SecretPackage<Core<S>>,
    own: Round1<S>,
    purpose: PhantomData<P>,
}

type Part2<S> = fn(
    core_dkg::round1::SecretPackage<Core<S>>,
    &BTreeMap<FrostId<S>, Round1<S>>,
) -> Result<
    (
        core_dkg::round2::SecretPackage<Core<S>>,
        BTreeMap<FrostId<S>, Round2<S>>,
    ),
    frost_core::Error<Core<S>>,
>;

impl<S: Suite, P: Purpose> Committed<S, P> {
    pub(crate) fn new(
        setting: Setting,
        secret: core_dkg::round1::SecretPackage<Core<S>>,
        own: Round1<S>,
    ) -> Result<(Self, Round1Package<S, P>), Error> {
        let state = Self {
            setting,
            secret,
            own,
            purpose: PhantomData,
        };
        let package = state.own_package().ok_or(Misuse::Randomness)?;
        Ok((state, package))
    }

    fn own_package(&self) -> Option<Round1Package<S, P>> {
        let commitment = self.own.commitment().clone();
        // Encodes unless a coefficient is zero, which only a failed random generator makes.
        commitment.serialize().ok()?;
        let proof = if P::NEW_SECRET {
            Some(Signature::from_inner(*self.own.proof_of_knowledge())?)
        } else {
            None
        };
        Some(Round1Package {
            ceremony: self.setting.ceremony,
            member: self.setting.member,
            commitment,
            proof,
            purpose: PhantomData,
        })
    }

    #[expect(clippy::type_complexity, reason = "the next state and what it sends")]
    pub(crate) fn receive_with(
        self,
        packages: &[Round1Package<S, P>],
        part2: Part2<S>,
    ) -> Result<(Echoed<S, P>, Echo<S, P>), Error> {
        let ceremony = self.setting.ceremony;
        let found = self
            .setting
            .gather_others(packages, |package| package.ceremony == ceremony)?;
        self.check_degrees(&found)?;
        let digest = self.digest(&found)?;
        let round1: BTreeMap<_, _> = found
            .iter()
            .map(|(id, package)| {
                // A refresh sends no proof; the library's type wants one and its refresh never
                // looks at it.
                let own = *self.own.proof_of_knowledge();
                let proof = package.proof.map_or(own, |proof| *proof.inner());
                let package = Round1::<S>::new(package.commitment.clone(), proof);
                (frost_id::<S>(*id), package)
            })
            .collect();
        // The library stops at the first wrong proof; a failure is gone through again for all of
        // them.
        let (secret, outgoing) = part2(self.secret, &round1).map_err(|_| unproved(&found))?;
        let echo = Echo {
            ceremony,
            member: self.setting.member,
            digest,
            purpose: PhantomData,
        };
        let state = Echoed {
            setting: self.setting,
            digest,
            secret,
            round1,
            outgoing,
            purpose: PhantomData,
        };
        Ok((state, echo))
    }

    fn check_degrees(
        &self,
        found: &BTreeMap<Identifier, &Round1Package<S, P>>,
    ) -> Result<(), Error> {
        let expected = usize::from(self.setting.committee.min_signers());
        let sent = |package: &Round1Package<S, P>| {
            coefficients::<S>(&package.commitment).len() + usize::from(!P::NEW_SECRET)
        };
        let wrong = found
            .iter()
            .filter(|(_, package)| sent(package) != expected);
        refuse(PeerFault::Degree, wrong.map(|(id, _)| *id).collect())
    }

    fn digest(
        &self,
        found: &BTreeMap<Identifier, &Round1Package<S, P>>,
    ) -> Result<[u8; 32], Error> {
        let own = self.own_package().ok_or(Misuse::Randomness)?;
        let mut frames: BTreeMap<Identifier, Vec<u8>> = found
            .iter()
            .map(|(id, package)| (*id, package.to_bytes()))
            .collect();
        frames.insert(self.setting.member, own.to_bytes());
        let min_signers = self.setting.committee.min_signers().to_be_bytes();
        let mut parts: Vec<&[u8]> = alloc::vec![
            horizon_hash::domain::lens::ECHO,
            &self.setting.ceremony.0,
            &min_signers,
            &self.setting.context,
        ];
        // A frame names suite, purpose, ceremony and member, and its length is hashed with it.
        parts.extend(frames.values().map(Vec::as_slice));
        Ok(HashSuite::LensSha3.transcript_hash(&parts))
    }
}

/// A member that has echoed what it saw and waits for the others' echoes.
pub struct Echoed<S: Suite, P: Purpose> {
    setting: Setting,
    digest: [u8; 32],
    secret: core_dkg::round2::SecretPackage<Core<S>>,
    round1: BTreeMap<FrostId<S>, Round1<S>>,
    outgoing: BTreeMap<FrostId<S>, Round2<S>>,
    purpose: PhantomData<P>,
}

impl<S: Suite, P: Purpose> Echoed<S, P> {
    /// Compares the others' echoes with this member's own; if all agree, returns the secret
    /// packages to send, one for each other member.
    ///
    /// # Errors
    /// [`Misuse::OwnMessage`]; [`Error::Peer`]: [`PeerFault::Unexpected`],
    /// [`PeerFault::WrongSession`], [`PeerFault::Duplicate`], [`PeerFault::Missing`],
    /// [`PeerFault::ViewsDiffer`]. The ceremony is over then and no secret has left.
    #[expect(clippy::type_complexity, reason = "the next state and what it sends")]
    pub fn receive(
        self,
        echoes: &[Echo<S, P>],
    ) -> Result<(Sharing<S, P>, Vec<SecretPackage<S, P>>), Error> {
        let (ceremony, from) = (self.setting.ceremony, self.setting.member);
        let found = self
            .setting
            .gather_others(echoes, |echo| echo.ceremony == ceremony)?;
        let differing = found.iter().filter(|(_, echo)| echo.digest != self.digest);
        refuse(
            PeerFault::ViewsDiffer,
            differing.map(|(id, _)| *id).collect(),
        )?;
        let outgoing = self.setting.others().into_iter().filter_map(|to| {
            let inner = self.outgoing.get(&frost_id::<S>(to))?.clone();
            Some(SecretPackage {
                ceremony,
                from,
                to,
                inner,
                purpose: PhantomData,
            })
        });
        let outgoing = outgoing.collect();
        let state = Sharing {
            setting: self.setting,
            secret: self.secret,
            round1: self.round1,
            purpose: PhantomData,
        };
        Ok((state, outgoing))
    }
}

/// A member that has sent its secret packages and waits for those of the others.
pub struct Sharing<S: Suite, P: Purpose> {
    pub(crate) setting: Setting,
    pub(crate) secret: core_dkg::round2::SecretPackage<Core<S>>,
    pub(crate) round1: BTreeMap<FrostId<S>, Round1<S>>,
    purpose: PhantomData<P>,
}

impl<S: Suite, P: Purpose> Sharing<S, P> {
    /// Sorts the secret packages by sender, in the library's form.
    pub(crate) fn gather_secrets(
        &self,
        packages: &[SecretPackage<S, P>],
    ) -> Result<BTreeMap<FrostId<S>, Round2<S>>, Error> {
        let ceremony = self.setting.ceremony;
        let found = self
            .setting
            .gather_others(packages, |package| package.ceremony == ceremony)?;
        let astray = found.values().filter(|p| p.to != self.setting.member);
        refuse(PeerFault::WrongRecipient, astray.map(|p| p.from).collect())?;
        let round2 = found
            .iter()
            .map(|(id, package)| (frost_id::<S>(*id), package.inner.clone()));
        Ok(round2.collect())
    }

    /// After a failure, everybody whose share does not match its commitment: the library names one
    /// sender in key generation and none in a refresh.
    pub(crate) fn wrong_shares(&self, packages: &[SecretPackage<S, P>]) -> Error {
        let first = usize::from(!P::NEW_SECRET);
        let wrong = packages.iter().filter(|package| {
            let round1 = self.round1.get(&frost_id::<S>(package.from));
            let share = secret_bytes(package.inner.signing_share().serialize());
            !round1.is_some_and(|round1| {
                let points = elements::<S>(round1.commitment());
                share_matches::<S>(&share, self.setting.member, &points, first)
            })
        });
        named(PeerFault::SecretShare, wrong.map(|p| p.from).collect())
    }
}

/// After a failure, everybody whose proof of knowledge does not hold.
fn unproved<S: Suite, P: Purpose>(found: &BTreeMap<Identifier, &Round1Package<S, P>>) -> Error {
    let wrong = found.iter().filter(|(id, package)| {
        let key = elements::<S>(&package.commitment).first().copied();
        P::NEW_SECRET
            && !key
                .zip(package.proof)
                .is_some_and(|(key, proof)| proof_holds::<S>(**id, &key, proof.inner()))
    });
    named(
        PeerFault::ProofOfKnowledge,
        wrong.map(|(id, _)| *id).collect(),
    )
}

/// The fault with its culprits; without any, what failed was the sum.
fn named(fault: PeerFault, culprits: Vec<Identifier>) -> Error {
    match refuse(fault, culprits) {
        Err(error) => error,
        Ok(()) => Error::peer(PeerFault::Degenerate, Vec::new()),
    }
}

/// Writes nothing but the name of a state that holds secrets.
macro_rules! redacted {
    ($($state:ident),*) => {$(
        impl<S: Suite, P: Purpose> fmt::Debug for $state<S, P> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($state))
                    .field("ceremony", &self.setting.ceremony)
                    .field("member", &self.setting.member)
                    .finish_non_exhaustive()
            }
        }
    )*};
}
redacted!(Committed, Echoed, Sharing);

const _: () = assert!(HEADER_LEN == 4);
