//! Distributed key generation: a key whose secret nobody ever knows.
//!
//! Pedersen's scheme with Feldman commitments and a proof of knowledge of each contribution (Komlo
//! and Goldberg, "FROST", figure 1), between an echo round that ends the ceremony when somebody
//! tells two stories.
//!
//! ```
//! use horizon_lens::{CeremonyId, Committee, dkg, ed25519::Ed25519};
//!
//! # let mut rng = horizon_testkit::rng(1);
//! let committee = Committee::numbered(2, 3)?;
//! let ceremony = CeremonyId([1; 32]);
//! // Each list below is held by three machines, one entry each; `others` is the network.
//! let (states, round1): (Vec<_>, Vec<_>) = committee
//!     .members()
//!     .iter()
//!     .map(|me| dkg::begin::<Ed25519, _>(ceremony, *me, &committee, &mut rng))
//!     .collect::<Result<_, _>>()?;
//! fn others<T: Clone>(all: &[T], me: usize) -> Vec<T> {
//!     let rest = all.iter().enumerate().filter(|(i, _)| *i != me);
//!     rest.map(|(_, message)| message.clone()).collect()
//! }
//! let mut echoed = Vec::new();
//! for (me, state) in states.into_iter().enumerate() {
//!     echoed.push(state.receive(&others(&round1, me))?);
//! }
//! let (states, echoes): (Vec<_>, Vec<_>) = echoed.into_iter().unzip();
//! let (mut sharing, mut sent) = (Vec::new(), Vec::new());
//! for (me, state) in states.into_iter().enumerate() {
//!     let (state, packages) = state.receive(&others(&echoes, me))?;
//!     sharing.push(state);
//!     sent.extend(packages);
//! }
//! let mut signers = Vec::new();
//! for (me, state) in committee.members().iter().zip(sharing) {
//!     let mine: Vec<_> = sent.extract_if(.., |package| package.to() == *me).collect();
//!     signers.push(state.finish(&mine)?);
//! }
//! assert_eq!(signers[0].group(), signers[2].group());
//! # Ok::<(), horizon_lens::Error>(())
//! ```

use frost_core::keys::dkg as core_dkg;
use rand_core::CryptoRng;

use crate::ceremony::{self, Keygen, Setting};
use crate::codec::frost_id;
use crate::rng::Bridge;
use crate::suite::Suite;
use crate::{
    CeremonyId, Committee, Error, GroupKey, Identifier, KeyShare, Misuse, PeerFault, Signer,
};

/// First round, to everybody: commitment and proof of knowledge.
pub type Round1Package<S> = ceremony::Round1Package<S, Keygen>;
/// Between the rounds, to everybody: what this member saw.
pub type Echo<S> = ceremony::Echo<S, Keygen>;
/// Second round, to one member; secret.
pub type SecretPackage<S> = ceremony::SecretPackage<S, Keygen>;
/// Waits for first-round packages.
pub type Committed<S> = ceremony::Committed<S, Keygen>;
/// Waits for echoes.
pub type Echoed<S> = ceremony::Echoed<S, Keygen>;
/// Waits for secret packages.
pub type Sharing<S> = ceremony::Sharing<S, Keygen>;

/// Begins key generation as `member` of `committee`; all of it must take part.
///
/// # Errors
/// [`Misuse::NotAMember`], [`Misuse::Randomness`].
pub fn begin<S: Suite, R: CryptoRng + ?Sized>(
    ceremony: CeremonyId,
    member: Identifier,
    committee: &Committee,
    rng: &mut R,
) -> Result<(Committed<S>, Round1Package<S>), Error> {
    committee.require(member)?;
    let (secret, own) = core_dkg::part1(
        frost_id::<S>(member),
        committee.max_signers(),
        committee.min_signers(),
        Bridge(rng),
    )
    .map_err(|_| Misuse::Randomness)?;
    let setting = Setting {
        ceremony,
        member,
        committee: committee.clone(),
        context: alloc::vec::Vec::new(),
    };
    Committed::new(setting, secret, own)
}

impl<S: Suite> Committed<S> {
    /// Takes the first-round packages of all other members and returns the echo to send to
    /// everybody.
    ///
    /// # Errors
    /// [`Misuse::OwnMessage`]; [`Error::Peer`]: [`PeerFault::Unexpected`],
    /// [`PeerFault::WrongSession`], [`PeerFault::Duplicate`], [`PeerFault::Missing`],
    /// [`PeerFault::Degree`], [`PeerFault::ProofOfKnowledge`], each with all culprits.
    pub fn receive(self, packages: &[Round1Package<S>]) -> Result<(Echoed<S>, Echo<S>), Error> {
        self.receive_with(packages, core_dkg::part2)
    }
}

impl<S: Suite> Sharing<S> {
    /// Takes the secret packages sent to this member and returns its share with the group it
    /// belongs to.
    ///
    /// # Errors
    /// [`Misuse::OwnMessage`]; [`Error::Peer`]: [`PeerFault::Unexpected`],
    /// [`PeerFault::WrongSession`], [`PeerFault::Duplicate`], [`PeerFault::Missing`],
    /// [`PeerFault::WrongRecipient`], [`PeerFault::SecretShare`], each with all culprits;
    /// [`PeerFault::Degenerate`].
    pub fn finish(self, packages: &[SecretPackage<S>]) -> Result<Signer<S>, Error> {
        let round2 = self.gather_secrets(packages)?;
        let degenerate = || Error::peer(PeerFault::Degenerate, alloc::vec::Vec::new());
        let (key, public) = core_dkg::part3(&self.secret, &self.round1, &round2)
            .map_err(|_| self.wrong_shares(packages))?;
        let group =
            GroupKey::from_package(self.setting.committee, public).ok_or_else(degenerate)?;
        let share = KeyShare::from_package(self.setting.member, &key).ok_or_else(degenerate)?;
        Signer::new(share, group)
    }
}
