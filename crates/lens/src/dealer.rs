//! Key generation by one trusted dealer, who knows the secret and is trusted to forget it.
//!
//! Prefer [`dkg`](crate::dkg), where nobody ever knows the secret.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::fmt;

use frost_core::keys::{
    IdentifierList, KeyPackage, PublicKeyPackage, SecretShare, SigningShare,
    VerifiableSecretSharingCommitment,
};
use rand_core::CryptoRng;

use crate::codec::{Core, Reader, Writer, frost_id, read_nonzero_scalar, secret_bytes};
use crate::rng::Bridge;
use crate::suite::{SCALAR_LEN, Suite};
use crate::wire::{COUNT_LEN, IDENTIFIER_LEN, body, frame, points_len};
use crate::{
    Committee, Error, GroupKey, Identifier, KeyShare, MEMBER_COUNT_MAX, Malformed, Misuse,
    Rejected, Signer,
};

/// Makes a group's secret and deals its shares.
///
/// # Errors
/// [`Misuse::Randomness`] when the random generator returned a degenerate value.
///
/// # Security
/// Each [`DealtShare`] goes to its member over a confidential and authenticated link. Whoever runs
/// this can sign alone, and so can whoever reads its memory.
///
/// # Source
/// RFC 9591 appendix C.
pub fn deal<S: Suite, R: CryptoRng + ?Sized>(
    committee: &Committee,
    rng: &mut R,
) -> Result<(GroupKey<S>, Vec<DealtShare<S>>), Error> {
    let members = committee.members();
    let identifiers: Vec<_> = members.iter().map(|id| frost_id::<S>(*id)).collect();
    let (shares, package) = frost_core::keys::generate_with_dealer::<Core<S>, _>(
        committee.max_signers(),
        committee.min_signers(),
        IdentifierList::Custom(&identifiers),
        &mut Bridge(rng),
    )
    .map_err(|_| Misuse::Randomness)?;
    let group = GroupKey::from_package(committee.clone(), package).ok_or(Misuse::Randomness)?;
    // The library keeps shares by identifier, in the same order as ours.
    let dealt = members.iter().zip(shares.into_values());
    let dealt = dealt.map(|(member, inner)| DealtShare {
        member: *member,
        inner,
    });
    Ok((group, dealt.collect()))
}

/// What a dealer sends one member; secret.
pub struct DealtShare<S: Suite> {
    member: Identifier,
    inner: SecretShare<Core<S>>,
}

frame!(DealtShare, DealtShare, secret);

impl<S: Suite> DealtShare<S> {
    /// Whose share this is.
    #[must_use]
    pub const fn identifier(&self) -> Identifier {
        self.member
    }

    /// Checks the share against the dealer's commitment, and that commitment against the group that
    /// the dealer published.
    ///
    /// # Errors
    /// [`Rejected::DealtShare`], [`Rejected::DealtGroup`].
    ///
    /// # Security
    /// All members must have the same [`GroupKey`]: compare it over a channel the dealer does not
    /// control.
    pub fn into_key_share(self, group: &GroupKey<S>) -> Result<KeyShare<S>, Error> {
        let members = group.committee().members();
        let members: BTreeSet<_> = members.iter().map(|id| frost_id::<S>(*id)).collect();
        let derived = PublicKeyPackage::from_commitment(&members, self.inner.commitment());
        if derived.ok().as_ref() != Some(group.package()) {
            return Err(Rejected::DealtGroup.into());
        }
        let package = KeyPackage::try_from(self.inner.clone()).map_err(|_| Rejected::DealtShare)?;
        let share = KeyShare::from_package(self.member, &package).ok_or(Rejected::DealtShare)?;
        share.check(group).map_err(|_| Rejected::DealtGroup)?;
        Ok(share)
    }

    /// As [`DealtShare::into_key_share`], ready to sign.
    ///
    /// # Errors
    /// As [`DealtShare::into_key_share`].
    pub fn into_signer(self, group: &GroupKey<S>) -> Result<Signer<S>, Error> {
        Signer::new(self.into_key_share(group)?, group.clone())
    }
}

impl<S: Suite> body::Body for DealtShare<S> {
    const SUITE: crate::SuiteId = S::ID;

    fn body_len(&self) -> usize {
        dealt_len::<S>(&self.inner)
    }

    fn write(&self, writer: &mut Writer) {
        write_dealt::<S>(self.member, &self.inner, writer);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (member, inner) = read_dealt::<S>(reader, 2)?;
        Ok(Self { member, inner })
    }
}

impl<S: Suite> fmt::Debug for DealtShare<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DealtShare")
            .field("suite", &S::ID)
            .field("member", &self.member)
            .field("share", &"<redacted>")
            .finish_non_exhaustive()
    }
}

pub(crate) fn dealt_len<S: Suite>(share: &SecretShare<Core<S>>) -> usize {
    let count = coefficients::<S>(share.commitment()).len();
    IDENTIFIER_LEN + SCALAR_LEN + COUNT_LEN + points_len::<S>(count)
}

pub(crate) fn write_dealt<S: Suite>(
    member: Identifier,
    share: &SecretShare<Core<S>>,
    writer: &mut Writer,
) {
    writer.identifier(member);
    writer.bytes(&secret_bytes(share.signing_share().serialize()));
    write_commitment::<S>(share.commitment(), writer);
}

/// Reads a dealt share whose commitment has at least `min` coefficients.
pub(crate) fn read_dealt<S: Suite>(
    reader: &mut Reader<'_>,
    min: usize,
) -> Result<(Identifier, SecretShare<Core<S>>), Malformed> {
    let member = reader.identifier("member")?;
    let field = "share";
    let scalar = read_nonzero_scalar::<S>(reader, field)?;
    let share = SigningShare::deserialize(scalar).map_err(|_| Malformed::Scalar { field })?;
    let commitment = read_commitment::<S>(reader, min)?;
    let inner = SecretShare::new(frost_id::<S>(member), share, commitment);
    Ok((member, inner))
}

pub(crate) fn write_commitment<S: Suite>(
    commitment: &VerifiableSecretSharingCommitment<Core<S>>,
    writer: &mut Writer,
) {
    let coefficients = coefficients::<S>(commitment);
    writer.count(coefficients.len());
    for coefficient in coefficients {
        writer.bytes(&coefficient);
    }
}

/// Reads `min..=256` coefficients.
pub(crate) fn read_commitment<S: Suite>(
    reader: &mut Reader<'_>,
    min: usize,
) -> Result<VerifiableSecretSharingCommitment<Core<S>>, Malformed> {
    let count = reader.count("coefficients", min, MEMBER_COUNT_MAX)?;
    let fault = Malformed::Point {
        field: "coefficient",
    };
    let mut encoded: Vec<&[u8]> = Vec::new();
    for _ in 0..count {
        encoded.push(reader.take(S::POINT_LEN, "coefficient")?);
    }
    let commitment = VerifiableSecretSharingCommitment::deserialize(&encoded).map_err(|_| fault)?;
    // The library decodes strictly; comparing makes the promise ours.
    if coefficients::<S>(&commitment) == encoded {
        Ok(commitment)
    } else {
        Err(fault)
    }
}

/// The encoded coefficients; none is the identity, in whatever was read or made here.
pub(crate) fn coefficients<S: Suite>(
    commitment: &VerifiableSecretSharingCommitment<Core<S>>,
) -> Vec<Vec<u8>> {
    commitment.serialize().unwrap_or_default()
}
