//! A member that lost its share gets the same one back from at least `min_signers` others, none of
//! whom learns it.
//!
//! Each helper sends every helper (itself included) one [`Delta`]; each adds up what it received
//! and sends the [`Sigma`] to the member, which adds those up and checks the sum against the group.
//!
//! # Security
//! A lie is found, at the end, but its author is not: the parts cannot be checked one by one. Only
//! members of the group are repaired; the same sums for a new identifier would make a new share. If
//! the lost device may still exist, [`refresh`](crate::refresh) as well.
//!
//! # Source
//! Laing and Stinson, "A Survey and Refinement of Repairable Threshold Schemes", 2017.

use alloc::vec::Vec;
use core::fmt;

use frost_core::keys::repairable;
use rand_core::CryptoRng;

use crate::codec::{Reader, Writer, frost_id, read_scalar, secret_bytes};
use crate::gather::{Sent, gather, refuse};
use crate::rng::Bridge;
use crate::suite::{SCALAR_LEN, Suite};
use crate::wire::{IDENTIFIER_LEN, SESSION_LEN, SecretBytes, body, frame};
use crate::{
    CeremonyId, Error, GroupKey, Identifier, KeyShare, Malformed, Misuse, PeerFault, Rejected,
    Signer,
};

/// Who repairs whose share.
#[derive(Clone, Debug)]
pub struct Repair<S: Suite> {
    ceremony: CeremonyId,
    lost: Identifier,
    helpers: Vec<Identifier>,
    group: GroupKey<S>,
}

impl<S: Suite> Repair<S> {
    /// A repair of the share of `lost` by `helpers`, in any order.
    ///
    /// # Errors
    /// [`Misuse::NotAMember`], [`Misuse::SelfRepair`], [`Misuse::DuplicateIdentifier`],
    /// [`Misuse::BelowThreshold`].
    pub fn new(
        ceremony: CeremonyId,
        group: &GroupKey<S>,
        lost: Identifier,
        helpers: &[Identifier],
    ) -> Result<Self, Error> {
        for member in helpers.iter().chain([&lost]) {
            group.committee().require(*member)?;
        }
        if helpers.contains(&lost) {
            return Err(Misuse::SelfRepair.into());
        }
        let mut helpers = helpers.to_vec();
        helpers.sort_unstable();
        if !helpers.is_sorted_by(|a, b| a < b) {
            return Err(Misuse::DuplicateIdentifier.into());
        }
        if helpers.len() < usize::from(group.committee().min_signers()) {
            return Err(Misuse::BelowThreshold.into());
        }
        Ok(Self {
            ceremony,
            lost,
            helpers,
            group: group.clone(),
        })
    }

    /// As a helper: one value for each helper, this one included.
    ///
    /// # Errors
    /// [`Misuse::WrongGroup`] when the signer is not of this group, [`Misuse::NotAMember`] when it
    /// is no helper.
    pub fn deltas<R: CryptoRng + ?Sized>(
        &self,
        signer: &Signer<S>,
        rng: &mut R,
    ) -> Result<Vec<Delta<S>>, Error> {
        self.require_helper(signer)?;
        let helpers: Vec<_> = self.helpers.iter().map(|id| frost_id::<S>(*id)).collect();
        let values = repairable::repair_share_part1(
            &helpers,
            signer.share().package(),
            &mut Bridge(rng),
            frost_id::<S>(self.lost),
        )
        .map_err(|_| Misuse::WrongGroup)?;
        let delta = |to: &Identifier| {
            let value = values.get(&frost_id::<S>(*to))?;
            Some(Delta {
                route: self.route(signer.identifier()),
                to: *to,
                value: secret_bytes(value.serialize()),
                suite: core::marker::PhantomData,
            })
        };
        Ok(self.helpers.iter().filter_map(delta).collect())
    }

    /// As a helper: adds up the values that all helpers sent it, this one included.
    ///
    /// # Errors
    /// As [`Repair::deltas`]; [`Error::Peer`]: [`PeerFault::Unexpected`],
    /// [`PeerFault::WrongSession`], [`PeerFault::Duplicate`], [`PeerFault::Missing`],
    /// [`PeerFault::WrongRecipient`].
    pub fn sigma(&self, signer: &Signer<S>, deltas: &[Delta<S>]) -> Result<Sigma<S>, Error> {
        self.require_helper(signer)?;
        let found = gather(deltas, &self.helpers, |delta| self.is_ours(&delta.route))?;
        let astray = found.values().filter(|d| d.to != signer.identifier());
        refuse(
            PeerFault::WrongRecipient,
            astray.map(|d| d.route.from).collect(),
        )?;
        let values: Vec<_> = found
            .values()
            .filter_map(|delta| repairable::Delta::deserialize(&delta.value).ok())
            .collect();
        let sum = repairable::repair_share_part2::<S::Frost>(&values);
        Ok(Sigma {
            route: self.route(signer.identifier()),
            value: secret_bytes(sum.serialize()),
            suite: core::marker::PhantomData,
        })
    }

    /// As the member that lost its share: adds up what all helpers sent.
    ///
    /// # Errors
    /// [`Error::Peer`]: [`PeerFault::Unexpected`], [`PeerFault::WrongSession`],
    /// [`PeerFault::Duplicate`], [`PeerFault::Missing`]. [`Rejected::RepairedShare`] when the sum
    /// is not the share that the group names.
    pub fn recover(&self, sigmas: &[Sigma<S>]) -> Result<Signer<S>, Error> {
        let found = gather(sigmas, &self.helpers, |sigma| self.is_ours(&sigma.route))?;
        let values: Vec<_> = found
            .values()
            .filter_map(|sigma| repairable::Sigma::deserialize(&sigma.value).ok())
            .collect();
        let lost = frost_id::<S>(self.lost);
        let package = repairable::repair_share_part3(&values, lost, self.group.package())
            .map_err(|_| Rejected::RepairedShare)?;
        // The library does not compare the sum with anything.
        let share = KeyShare::from_package(self.lost, &package).ok_or(Rejected::RepairedShare)?;
        Signer::new(share, self.group.clone()).map_err(|_| Rejected::RepairedShare.into())
    }

    fn require_helper(&self, signer: &Signer<S>) -> Result<(), Error> {
        if *signer.group() != self.group {
            return Err(Misuse::WrongGroup.into());
        }
        if self.helpers.contains(&signer.identifier()) {
            Ok(())
        } else {
            Err(Misuse::NotAMember.into())
        }
    }

    const fn route(&self, from: Identifier) -> Route {
        Route {
            ceremony: self.ceremony,
            lost: self.lost,
            from,
        }
    }

    fn is_ours(&self, route: &Route) -> bool {
        route.ceremony == self.ceremony && route.lost == self.lost
    }
}

#[derive(Clone, Copy, Debug)]
struct Route {
    ceremony: CeremonyId,
    lost: Identifier,
    from: Identifier,
}

impl Route {
    fn write(&self, writer: &mut Writer) {
        writer.bytes(&self.ceremony.0);
        writer.identifier(self.lost);
        writer.identifier(self.from);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            ceremony: CeremonyId(reader.array("ceremony")?),
            lost: reader.identifier("lost member")?,
            from: reader.identifier("sender")?,
        })
    }
}

const ROUTE_LEN: usize = SESSION_LEN + 2 * IDENTIFIER_LEN;

/// From helper to helper; secret.
pub struct Delta<S: Suite> {
    route: Route,
    to: Identifier,
    value: SecretBytes,
    suite: core::marker::PhantomData<S>,
}

frame!(Delta, RepairDelta, secret);

impl<S: Suite> Delta<S> {
    /// Who sent it.
    #[must_use]
    pub const fn from(&self) -> Identifier {
        self.route.from
    }

    /// Who may read it.
    #[must_use]
    pub const fn to(&self) -> Identifier {
        self.to
    }
}

impl<S: Suite> Sent for Delta<S> {
    fn sender(&self) -> Identifier {
        self.route.from
    }
}

impl<S: Suite> body::Body for Delta<S> {
    const SUITE: crate::SuiteId = S::ID;

    fn body_len(&self) -> usize {
        ROUTE_LEN + IDENTIFIER_LEN + SCALAR_LEN
    }

    fn write(&self, writer: &mut Writer) {
        self.route.write(writer);
        writer.identifier(self.to);
        writer.bytes(&self.value);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            route: Route::read(reader)?,
            to: reader.identifier("recipient")?,
            value: secret_bytes(read_scalar::<S>(reader, "delta")?.to_vec()),
            suite: core::marker::PhantomData,
        })
    }
}

/// From helper to the member that lost its share; secret.
pub struct Sigma<S: Suite> {
    route: Route,
    value: SecretBytes,
    suite: core::marker::PhantomData<S>,
}

frame!(Sigma, RepairSigma, secret);

impl<S: Suite> Sigma<S> {
    /// Who sent it.
    #[must_use]
    pub const fn from(&self) -> Identifier {
        self.route.from
    }
}

impl<S: Suite> Sent for Sigma<S> {
    fn sender(&self) -> Identifier {
        self.route.from
    }
}

impl<S: Suite> body::Body for Sigma<S> {
    const SUITE: crate::SuiteId = S::ID;

    fn body_len(&self) -> usize {
        ROUTE_LEN + SCALAR_LEN
    }

    fn write(&self, writer: &mut Writer) {
        self.route.write(writer);
        writer.bytes(&self.value);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            route: Route::read(reader)?,
            value: secret_bytes(read_scalar::<S>(reader, "sigma")?.to_vec()),
            suite: core::marker::PhantomData,
        })
    }
}

/// Writes where a secret value goes and not the value.
macro_rules! redacted {
    ($($message:ident),*) => {$(
        impl<S: Suite> fmt::Debug for $message<S> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($message))
                    .field("route", &self.route)
                    .field("value", &"<redacted>")
                    .finish_non_exhaustive()
            }
        }
    )*};
}
redacted!(Delta, Sigma);
