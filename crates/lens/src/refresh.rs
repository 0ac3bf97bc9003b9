//! New shares of the same key, so that shares stolen before and after do not add up; members may be
//! left out.
//!
//! The key and the threshold stay. Nobody can join (see [`repair`](crate::repair) for a lost
//! share). By all remaining members together ([`begin`]) or by a trusted dealer, who learns no
//! share ([`deal`]).
//!
//! # Security
//! Refreshing protects only if the old shares are destroyed, and removes a member only if enough of
//! the others destroy theirs: `min_signers` old shares still sign. Make the new share durable
//! before destroying the old one, and use it only when all remaining members have theirs.

use alloc::vec::Vec;
use core::fmt;

use frost_core::keys::{SecretShare, refresh as core_refresh};
use rand_core::CryptoRng;

use crate::ceremony::{self, Refreshing, Setting};
use crate::codec::{Core, Reader, Writer, frost_id};
use crate::dealer::{dealt_len, read_dealt, write_dealt};
use crate::rng::Bridge;
use crate::suite::Suite;
use crate::wire::{Frame as _, body, frame};
use crate::{
    CeremonyId, Committee, Error, GroupKey, Identifier, KeyShare, Malformed, Misuse, PeerFault,
    Rejected, Signer,
};

/// First round, to everybody: commitment to a polynomial whose constant term is zero by
/// construction.
pub type Round1Package<S> = ceremony::Round1Package<S, Refreshing>;
/// Between the rounds, to everybody: what this member saw.
pub type Echo<S> = ceremony::Echo<S, Refreshing>;
/// Second round, to one member; secret.
pub type SecretPackage<S> = ceremony::SecretPackage<S, Refreshing>;
/// Waits for first-round packages.
pub type Committed<S> = ceremony::Committed<S, Refreshing>;
/// Waits for echoes.
pub type Echoed<S> = ceremony::Echoed<S, Refreshing>;
/// Waits for secret packages.
pub type Sharing<S> = ceremony::Sharing<S, Refreshing>;

/// Begins a refresh by `remaining`, all of whom must take part; the others are left out for good.
///
/// # Errors
/// [`Misuse::NotAMember`] when `remaining` holds a stranger or not this signer;
/// [`Misuse::MemberCount`], [`Misuse::Threshold`] when too few remain;
/// [`Misuse::DuplicateIdentifier`]; [`Misuse::Randomness`].
pub fn begin<S: Suite, R: CryptoRng + ?Sized>(
    ceremony: CeremonyId,
    signer: &Signer<S>,
    remaining: &[Identifier],
    rng: &mut R,
) -> Result<(Committed<S>, Round1Package<S>), Error> {
    let committee = remaining_committee(signer.group(), remaining)?;
    committee.require(signer.identifier())?;
    let (secret, own) = core_refresh::refresh_dkg_part1(
        frost_id::<S>(signer.identifier()),
        committee.max_signers(),
        committee.min_signers(),
        Bridge(rng),
    )
    .map_err(|_| Misuse::Randomness)?;
    let setting = Setting {
        ceremony,
        member: signer.identifier(),
        committee,
        context: signer.group().to_bytes(),
    };
    Committed::new(setting, secret, own)
}

impl<S: Suite> Committed<S> {
    /// Takes the first-round packages of all other remaining members and returns the echo to send.
    ///
    /// # Errors
    /// [`Misuse::OwnMessage`]; [`Error::Peer`]: [`PeerFault::Unexpected`],
    /// [`PeerFault::WrongSession`], [`PeerFault::Duplicate`], [`PeerFault::Missing`],
    /// [`PeerFault::Degree`], each with all culprits.
    pub fn receive(self, packages: &[Round1Package<S>]) -> Result<(Echoed<S>, Echo<S>), Error> {
        self.receive_with(packages, core_refresh::refresh_dkg_part2)
    }
}

impl<S: Suite> Sharing<S> {
    /// Takes the secret packages sent to this member and returns it with its new share and the
    /// group's new verifying shares. `signer` is left as it is: destroy it once the new one is
    /// durable.
    ///
    /// # Errors
    /// [`Misuse::WrongGroup`] when `signer` is not the one the ceremony began with;
    /// [`Misuse::OwnMessage`]; [`Error::Peer`] as for key generation.
    pub fn finish(
        self,
        signer: &Signer<S>,
        packages: &[SecretPackage<S>],
    ) -> Result<Signer<S>, Error> {
        if self.setting.context != signer.group().to_bytes()
            || self.setting.member != signer.identifier()
        {
            return Err(Misuse::WrongGroup.into());
        }
        let round2 = self.gather_secrets(packages)?;
        let degenerate = || Error::peer(PeerFault::Degenerate, Vec::new());
        let (key, public) = core_refresh::refresh_dkg_shares(
            &self.secret,
            &self.round1,
            &round2,
            signer.group().package().clone(),
            signer.share().package().clone(),
        )
        .map_err(|_| self.wrong_shares(packages))?;
        let group =
            GroupKey::from_package(self.setting.committee, public).ok_or_else(degenerate)?;
        let share = KeyShare::from_package(self.setting.member, &key).ok_or_else(degenerate)?;
        Signer::new(share, group)
    }
}

/// As a trusted dealer, makes an update for each of `remaining` and the refreshed group.
///
/// # Errors
/// As [`begin`].
///
/// # Security
/// The dealer learns no share, but the differences: together with one old share it knows the new
/// one. Each [`DealtUpdate`] needs a confidential and authenticated link.
pub fn deal<S: Suite, R: CryptoRng + ?Sized>(
    group: &GroupKey<S>,
    remaining: &[Identifier],
    rng: &mut R,
) -> Result<(GroupKey<S>, Vec<DealtUpdate<S>>), Error> {
    let committee = remaining_committee(group, remaining)?;
    let members = committee.members().to_vec();
    let identifiers: Vec<_> = members.iter().map(|id| frost_id::<S>(*id)).collect();
    let (shares, public) = core_refresh::compute_refreshing_shares(
        group.package().clone(),
        &identifiers,
        &mut Bridge(rng),
    )
    .map_err(|_| Misuse::Randomness)?;
    let refreshed = GroupKey::from_package(committee, public).ok_or(Misuse::Randomness)?;
    let updates = members.into_iter().zip(shares);
    let updates = updates.map(|(member, inner)| DealtUpdate { member, inner });
    Ok((refreshed, updates.collect()))
}

/// What a dealer sends one member to refresh its share; secret.
pub struct DealtUpdate<S: Suite> {
    member: Identifier,
    inner: SecretShare<Core<S>>,
}

frame!(DealtUpdate, DealtUpdate, secret);

impl<S: Suite> DealtUpdate<S> {
    /// Whose update this is.
    #[must_use]
    pub const fn identifier(&self) -> Identifier {
        self.member
    }

    /// Returns the signer with its new share; `signer` is left as it is.
    ///
    /// # Errors
    /// [`Misuse::WrongGroup`] for another member's update; [`Rejected::DealtShare`] when it does
    /// not match its commitment or has another degree; [`Rejected::DealtGroup`] when `refreshed`
    /// has another key or threshold or does not name the new share.
    pub fn apply(self, signer: &Signer<S>, refreshed: &GroupKey<S>) -> Result<Signer<S>, Error> {
        if self.member != signer.identifier() {
            return Err(Misuse::WrongGroup.into());
        }
        if refreshed.verifying_key() != signer.group().verifying_key() {
            return Err(Rejected::DealtGroup.into());
        }
        let package = core_refresh::refresh_share(self.inner.clone(), signer.share().package())
            .map_err(|_| Rejected::DealtShare)?;
        // The library leaves the old verifying share in its result; ours is computed from the new
        // share.
        let share = KeyShare::from_package(self.member, &package).ok_or(Rejected::DealtShare)?;
        Signer::new(share, refreshed.clone()).map_err(|_| Rejected::DealtGroup.into())
    }
}

impl<S: Suite> body::Body for DealtUpdate<S> {
    const SUITE: crate::SuiteId = S::ID;

    fn body_len(&self) -> usize {
        dealt_len::<S>(&self.inner)
    }

    fn write(&self, writer: &mut Writer) {
        write_dealt::<S>(self.member, &self.inner, writer);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (member, inner) = read_dealt::<S>(reader, 1)?;
        Ok(Self { member, inner })
    }
}

impl<S: Suite> fmt::Debug for DealtUpdate<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DealtUpdate")
            .field("suite", &S::ID)
            .field("member", &self.member)
            .field("share", &"<redacted>")
            .finish_non_exhaustive()
    }
}

fn remaining_committee<S: Suite>(
    group: &GroupKey<S>,
    remaining: &[Identifier],
) -> Result<Committee, Error> {
    for member in remaining {
        group.committee().require(*member)?;
    }
    Committee::new(group.committee().min_signers(), remaining)
}
