//! The group's public keys and a member's long-lived secret.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use frost_core::keys::{KeyPackage, PublicKeyPackage, SigningShare, VerifyingShare};
use horizon_hash::suite::Suite as HashSuite;

use crate::codec::{
    Core, FrostId, Point, Reader, Writer, frost_id, on_one_polynomial, point_from_bytes,
    read_nonzero_scalar, read_point, secret_bytes,
};
use crate::suite::{SCALAR_LEN, Suite};
use crate::wire::{COUNT_LEN, IDENTIFIER_LEN, body, frame, points_len};
use crate::{Committee, Error, Identifier, MEMBER_COUNT_MAX, Malformed, Misuse, VerifyingKey};

/// What everybody may know of a group: its verifying key, its members' verifying shares, its
/// threshold.
///
/// All verifying shares and the key lie on one polynomial of degree exactly `min_signers - 1`.
/// Decoding checks this: a share that does not belong would put the blame for a failed signature on
/// an honest member, and with a lower degree fewer members could sign than it says.
#[derive(Clone, PartialEq, Eq)]
pub struct GroupKey<S: Suite> {
    committee: Committee,
    key: VerifyingKey<S>,
    package: PublicKeyPackage<Core<S>>,
}

frame!(GroupKey, GroupKey, public);

impl<S: Suite> GroupKey<S> {
    /// The key that verifies the group's signatures.
    #[must_use]
    pub const fn verifying_key(&self) -> &VerifyingKey<S> {
        &self.key
    }

    /// The members and the threshold.
    #[must_use]
    pub const fn committee(&self) -> &Committee {
        &self.committee
    }

    /// A member's verifying share, [`Suite::POINT_LEN`] bytes; `None` for somebody else.
    #[must_use]
    pub fn verifying_share(&self, member: Identifier) -> Option<Vec<u8>> {
        let share = self
            .package
            .verifying_shares()
            .get(&frost_id::<S>(member))?;
        share.serialize().ok()
    }

    /// From the library's package for exactly this committee.
    pub(crate) fn from_package(
        committee: Committee,
        package: PublicKeyPackage<Core<S>>,
    ) -> Option<Self> {
        let key = VerifyingKey::from_inner(package.verifying_key())?;
        let shares = package.verifying_shares();
        let complete = shares.len() == committee.members().len()
            && package.min_signers() == Some(committee.min_signers())
            && committee.members().iter().all(|member| {
                let share = shares.get(&frost_id::<S>(*member));
                share.is_some_and(|share| share.serialize().is_ok())
            });
        complete.then_some(Self {
            committee,
            key,
            package,
        })
    }

    pub(crate) const fn package(&self) -> &PublicKeyPackage<Core<S>> {
        &self.package
    }

    fn is_consistent(&self, key: &Point<S>, points: &[(Identifier, Point<S>)]) -> bool {
        let mut encoding = Writer::new(body::Body::body_len(self));
        body::Body::write(self, &mut encoding);
        let digest_input = encoding.into_bytes();
        let suite = S::ID.context_string().as_bytes();
        let within =
            |min_signers| on_one_polynomial::<S>(min_signers, key, points, &[suite, &digest_input]);
        let min_signers = self.committee.min_signers();
        within(min_signers) && !within(min_signers - 1)
    }
}

impl<S: Suite> body::Body for GroupKey<S> {
    const SUITE: crate::SuiteId = S::ID;

    fn body_len(&self) -> usize {
        let entries = self.committee.members().len();
        2 * COUNT_LEN + S::POINT_LEN + points_len::<S>(entries) + entries * IDENTIFIER_LEN
    }

    fn write(&self, writer: &mut Writer) {
        writer.u16(self.committee.min_signers());
        writer.count(self.committee.members().len());
        writer.bytes(self.key.as_bytes());
        for member in self.committee.members() {
            writer.identifier(*member);
            writer.bytes(&self.verifying_share(*member).unwrap_or_default());
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let min_signers = reader.count("min signers", 2, MEMBER_COUNT_MAX)?;
        let count = reader.count("members", min_signers, MEMBER_COUNT_MAX)?;
        let key_point = read_point::<S>(reader, "verifying key")?;
        let mut points: Vec<(Identifier, Point<S>)> = Vec::new();
        let mut shares: BTreeMap<FrostId<S>, VerifyingShare<Core<S>>> = BTreeMap::new();
        for _ in 0..count {
            let member = reader.identifier("member")?;
            if points.last().is_some_and(|(last, _)| *last >= member) {
                return Err(Malformed::Order { field: "members" });
            }
            let field = "verifying share";
            let bytes = reader.take(S::POINT_LEN, field)?;
            let point = point_from_bytes::<S>(bytes).ok_or(Malformed::Point { field })?;
            let share =
                VerifyingShare::deserialize(bytes).map_err(|_| Malformed::Point { field })?;
            points.push((member, point));
            shares.insert(frost_id::<S>(member), share);
        }
        let inconsistent = Malformed::Inconsistent { field: "group key" };
        let min_signers = u16::try_from(min_signers).map_err(|_| inconsistent)?;
        let members: Vec<_> = points.iter().map(|(member, _)| *member).collect();
        let committee = Committee::new(min_signers, &members).map_err(|_| inconsistent)?;
        let key = VerifyingKey::<S>::from_point(&key_point).ok_or(inconsistent)?;
        let package = PublicKeyPackage::new(shares, *key.inner(), Some(min_signers));
        let group = Self::from_package(committee, package).ok_or(inconsistent)?;
        if group.is_consistent(&key_point, &points) {
            Ok(group)
        } else {
            Err(inconsistent)
        }
    }
}

impl<S: Suite> fmt::Debug for GroupKey<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupKey")
            .field("suite", &S::ID)
            .field("key", &self.key)
            .field("committee", &self.committee)
            .finish_non_exhaustive()
    }
}

/// One member's long-lived secret, with what it needs to know to use it.
///
/// # Security
/// Overwritten when dropped; not `Clone`. Its frame is secret: the bytes go into a file of their
/// own, with mode 0600 or sealed, and nowhere else. A share serves one device: two copies that sign
/// at the same time are two nonce generators, which the session ledger of either does not see.
pub struct KeyShare<S: Suite> {
    member: Identifier,
    key: VerifyingKey<S>,
    package: KeyPackage<Core<S>>,
}

frame!(KeyShare, KeyShare, secret);

impl<S: Suite> KeyShare<S> {
    /// Whose share this is.
    #[must_use]
    pub const fn identifier(&self) -> Identifier {
        self.member
    }

    /// How many signers a signature takes.
    #[must_use]
    pub fn min_signers(&self) -> u16 {
        *self.package.min_signers()
    }

    /// The group's key.
    #[must_use]
    pub const fn verifying_key(&self) -> &VerifyingKey<S> {
        &self.key
    }

    /// This member's verifying share, [`Suite::POINT_LEN`] bytes.
    #[must_use]
    pub fn verifying_share(&self) -> Vec<u8> {
        // The identity alone has no encoding, and no constructor lets a zero share in.
        self.package
            .verifying_share()
            .serialize()
            .unwrap_or_default()
    }

    /// What this share is called in a session ledger: another after every refresh.
    #[must_use]
    pub fn id(&self) -> ShareId {
        let id = HashSuite::LensSha3.transcript_hash(&[
            horizon_hash::domain::lens::SHARE_ID,
            S::ID.context_string().as_bytes(),
            self.key.as_bytes(),
            &self.member.get().to_be_bytes(),
            &self.verifying_share(),
        ]);
        ShareId(id)
    }

    /// Refuses a share that is not the one the group names for this member.
    ///
    /// # Errors
    /// [`Misuse::WrongGroup`].
    pub fn check(&self, group: &GroupKey<S>) -> Result<(), Error> {
        let same = self.key == *group.verifying_key()
            && self.min_signers() == group.committee().min_signers()
            && group.verifying_share(self.member) == Some(self.verifying_share());
        if same {
            Ok(())
        } else {
            Err(Misuse::WrongGroup.into())
        }
    }

    /// From the library's package; the verifying share is computed anew. `None` when the share is
    /// zero.
    pub(crate) fn from_package(member: Identifier, package: &KeyPackage<Core<S>>) -> Option<Self> {
        let share = *package.signing_share();
        let verifying_share = VerifyingShare::from(share);
        verifying_share.serialize().ok()?;
        let key = VerifyingKey::from_inner(package.verifying_key())?;
        let package = KeyPackage::new(
            frost_id::<S>(member),
            share,
            verifying_share,
            *key.inner(),
            *package.min_signers(),
        );
        Some(Self {
            member,
            key,
            package,
        })
    }

    pub(crate) const fn package(&self) -> &KeyPackage<Core<S>> {
        &self.package
    }
}

impl<S: Suite> body::Body for KeyShare<S> {
    const SUITE: crate::SuiteId = S::ID;

    fn body_len(&self) -> usize {
        COUNT_LEN + IDENTIFIER_LEN + SCALAR_LEN + S::POINT_LEN
    }

    fn write(&self, writer: &mut Writer) {
        writer.u16(self.min_signers());
        writer.identifier(self.member);
        writer.bytes(&secret_bytes(self.package.signing_share().serialize()));
        writer.bytes(self.key.as_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let min_signers = reader.count("min signers", 2, MEMBER_COUNT_MAX)?;
        let member = reader.identifier("member")?;
        let scalar = read_nonzero_scalar::<S>(reader, "share")?;
        let key = read_point::<S>(reader, "verifying key")?;
        let inconsistent = Malformed::Inconsistent { field: "key share" };
        let share = SigningShare::deserialize(scalar).map_err(|_| inconsistent)?;
        let package = KeyPackage::new(
            frost_id::<S>(member),
            share,
            VerifyingShare::from(share),
            *VerifyingKey::<S>::from_point(&key)
                .ok_or(inconsistent)?
                .inner(),
            u16::try_from(min_signers).map_err(|_| inconsistent)?,
        );
        Self::from_package(member, &package).ok_or(inconsistent)
    }
}

impl<S: Suite> fmt::Debug for KeyShare<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyShare")
            .field("suite", &S::ID)
            .field("member", &self.member)
            .field("key", &self.key)
            .field("share", &"<redacted>")
            .finish()
    }
}

/// What a key share is called in a session ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShareId(pub(crate) [u8; 32]);

impl ShareId {
    /// The 32 bytes, for a store's key.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}
