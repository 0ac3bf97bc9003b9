//! Cached key points: what every validator's key amounts to under a verifying key.
//!
//! A slot has 9220 public inputs, and all but `mu` depend on the validator alone. The verifier sums
//! them once, from its own registry, into one point per validator and slot. A changed key, weight or
//! order is another snapshot and another table; a table is never changed and never accepted from
//! a peer.

use core::fmt;

use crate::{
    curve::{G1, G1Affine},
    error::{ArtifactError, Error, Misuse},
    fr::Fr,
    inputs::{KEY_IMAGE_LEN, key_image_offset, slot_offset},
    key_image::KeyImage,
    statement::{Member, TR_LEN, key_hash},
    vk::{Profile, VerifyingKey},
};

/// The key points of one registry snapshot under one verifying key.
pub struct KeyTable {
    key_id: [u8; 32],
    snapshot: [u8; 32],
    slots: Slots,
    /// By validator; `None` without a certificate key.
    key_hashes: Vec<Option<[u8; TR_LEN]>>,
}

enum Slots {
    /// The sum of all validators' points, each in its own slot, and of the constant's.
    Roster(G1Affine),
    /// By slot, then by validator, and the point of the constant.
    Quorum(Vec<Vec<G1Affine>>, G1Affine),
}

/// Hashes of the keys in the slots; `None` for a slot that counts nothing.
pub(crate) type SlotHashes<'a> = Vec<Option<&'a [u8; TR_LEN]>>;

impl KeyTable {
    /// Sums the points of a snapshot: about 0.1 s per validator, and per slot as well in the
    /// `quorum` profile.
    ///
    /// `snapshot` names the validators' list; it is kept and compared by whoever looks tables up.
    ///
    /// # Errors
    /// [`Misuse::TooManyValidators`] when a `roster` key has fewer slots than there are validators.
    pub fn new(
        key: &VerifyingKey,
        snapshot: [u8; 32],
        members: &[Member<'_>],
    ) -> Result<Self, Misuse> {
        let slot_count = key.head().slots;
        let constant = constant_point(key);
        let slots = match key.head().profile {
            Profile::Roster => {
                if members.len() > slot_count {
                    return Err(Misuse::TooManyValidators);
                }
                let points = members
                    .iter()
                    .enumerate()
                    .map(|(slot, member)| key_point(key, slot, &image(member), member.weight));
                Slots::Roster((points.sum::<G1>().add_affine(&constant)).to_affine())
            }
            Profile::Quorum => {
                let mut by_slot = vec![Vec::with_capacity(members.len()); slot_count];
                for member in members {
                    let image = image(member);
                    for (slot, points) in by_slot.iter_mut().enumerate() {
                        let point = key_point(key, slot, &image, member.weight);
                        points.push(point.to_affine());
                    }
                }
                Slots::Quorum(by_slot, constant)
            }
        };
        Ok(Self {
            key_id: *key.id(),
            snapshot,
            slots,
            key_hashes: members
                .iter()
                .map(|member| member.key.map(key_hash))
                .collect(),
        })
    }

    /// Id of the verifying key.
    #[must_use]
    pub const fn key_id(&self) -> &[u8; 32] {
        &self.key_id
    }

    /// Name of the snapshot.
    #[must_use]
    pub const fn snapshot(&self) -> &[u8; 32] {
        &self.snapshot
    }

    /// Validators of the snapshot.
    #[must_use]
    pub const fn validator_count(&self) -> usize {
        self.key_hashes.len()
    }

    /// The sum over all slots and the constant, and the key hashes by slot.
    pub(crate) fn resolve(&self, signers: Option<&[usize]>) -> Result<(G1, SlotHashes<'_>), Error> {
        match (&self.slots, signers) {
            (Slots::Roster(sum), None) => {
                let hashes = self.key_hashes.iter().map(Option::as_ref).collect();
                Ok((G1::from(*sum), hashes))
            }
            (Slots::Quorum(by_slot, constant), Some(signers)) => {
                if signers.len() > by_slot.len() {
                    return Err(ArtifactError::Signers.into());
                }
                let mut sum = G1::from(*constant);
                let mut hashes = Vec::with_capacity(signers.len());
                for (signer, points) in signers.iter().zip(by_slot) {
                    // A validator without a certificate key cannot have signed.
                    let hash = self.key_hashes.get(*signer).and_then(Option::as_ref);
                    let point = points.get(*signer);
                    let (Some(hash), Some(point)) = (hash, point) else {
                        return Err(ArtifactError::Signers.into());
                    };
                    sum = sum.add_affine(point);
                    hashes.push(Some(hash));
                }
                Ok((sum, hashes))
            }
            _ => Err(Misuse::Profile.into()),
        }
    }
}

impl fmt::Debug for KeyTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyTable")
            .field("validators", &self.key_hashes.len())
            .finish_non_exhaustive()
    }
}

fn image(member: &Member<'_>) -> Option<KeyImage> {
    member.key.map(KeyImage::of)
}

/// The point of one validator in one slot; infinity without a key, whatever the weight.
fn key_point(key: &VerifyingKey, slot: usize, image: &Option<KeyImage>, weight: u64) -> G1 {
    let inputs = &key.points().inputs;
    let start = key_image_offset(slot);
    let points = inputs.get(start..start + KEY_IMAGE_LEN);
    let (Some(image), Some(points), Some(weight_point)) =
        (image, points, inputs.get(slot_offset(slot)))
    else {
        return G1::infinity();
    };
    G1::msm_fr(points, image.elements()) + G1::from(*weight_point).mul(Fr::from_u64(weight))
}

fn constant_point(key: &VerifyingKey) -> G1Affine {
    // A loaded key has input points; the generator stands for nothing and is never reached.
    let first = key.points().inputs.first().copied();
    first.unwrap_or_else(G1Affine::generator)
}
