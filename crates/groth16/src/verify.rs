//! Verification of one wrapper.

use crate::{
    artifact::{Artifact, Proof, QuorumArtifact},
    curve::G1,
    error::{Error, Misuse, Rejected},
    inputs::MU_LIMBS,
    points::KeyTable,
    statement::{MU_LEN, SHORT_LEN, Statement, TR_LEN, message_representative, mu_scalars},
    vk::{SetupKind, VerifyingKey, verify_equation},
};

/// Witness that a wrapper verified. Only this module and the batch make one.
#[must_use = "a verification that nobody looks at protects nobody"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrapperVerified {
    key_id: [u8; 32],
    setup: SetupKind,
}

impl WrapperVerified {
    pub(crate) const fn new(key: &VerifyingKey) -> Self {
        Self {
            key_id: *key.id(),
            setup: key.head().setup,
        }
    }

    /// Id of the verifying key.
    #[must_use]
    pub const fn key_id(&self) -> &[u8; 32] {
        &self.key_id
    }

    /// How the key was made. A proof under a development key proves nothing to anyone but its maker.
    #[must_use]
    pub const fn setup(&self) -> SetupKind {
        self.setup
    }
}

/// Verifies a wrapper of the `roster` profile.
///
/// # Errors
/// [`Rejected::InputsHash`], [`Rejected::Equation`]; [`Misuse::TableOfAnotherKey`],
/// [`Misuse::Profile`], [`Misuse::ContextTooLong`].
pub fn verify(
    key: &VerifyingKey,
    table: &KeyTable,
    statement: &Statement<'_>,
    artifact: &Artifact,
) -> Result<WrapperVerified, Error> {
    verify_slots(key, table, statement, artifact, None)
}

/// Verifies a wrapper of the `quorum` profile.
///
/// # Errors
/// As [`verify`]; also [`ArtifactError::Signers`](crate::error::ArtifactError::Signers) for signers
/// beyond the slots or without a certificate key.
pub fn verify_quorum(
    key: &VerifyingKey,
    table: &KeyTable,
    statement: &Statement<'_>,
    artifact: &QuorumArtifact,
) -> Result<WrapperVerified, Error> {
    let signers = Some(artifact.signers());
    verify_slots(key, table, statement, &artifact.artifact, signers)
}

fn verify_slots(
    key: &VerifyingKey,
    table: &KeyTable,
    statement: &Statement<'_>,
    artifact: &Artifact,
    signers: Option<&[usize]>,
) -> Result<WrapperVerified, Error> {
    let prepared = prepare(key, table, statement, artifact, signers)?;
    let inputs = prepared.inputs(key);
    verify_equation(key.points(), key.target(), &prepared.proof, &inputs)?;
    Ok(WrapperVerified::new(key))
}

/// A proof whose hash was compared, with its public inputs split into points and scalars.
pub(crate) struct Prepared {
    pub(crate) proof: Proof,
    /// The constant and everything about the validators.
    pub(crate) keys: G1,
    /// Scalars of the key's short bases, 24 little-endian bytes each.
    pub(crate) scalars: Vec<u8>,
}

impl Prepared {
    fn inputs(&self, key: &VerifyingKey) -> G1 {
        // The number of scalars is that of the bases by construction in `prepare`.
        let short = key
            .short_bases()
            .inner_product(&self.scalars, 8 * SHORT_LEN);
        short.map_or(self.keys, |point| self.keys + G1::from_raw(point))
    }
}

pub(crate) fn prepare(
    key: &VerifyingKey,
    table: &KeyTable,
    statement: &Statement<'_>,
    artifact: &Artifact,
    signers: Option<&[usize]>,
) -> Result<Prepared, Error> {
    if table.key_id() != key.id() {
        return Err(Misuse::TableOfAnotherKey.into());
    }
    if artifact.inputs_hash != statement.inputs_hash {
        return Err(Rejected::InputsHash.into());
    }
    let (keys, hashes) = table.resolve(signers)?;
    let scalars = short_scalars(key.head().slots, &hashes, statement)?;
    Ok(Prepared {
        proof: artifact.proof,
        keys,
        scalars,
    })
}

/// `H`, the least weight and every slot's `mu`, as little-endian scalars of 24 bytes. Empty slots
/// have zeros.
fn short_scalars(
    slots: usize,
    key_hashes: &[Option<&[u8; TR_LEN]>],
    statement: &Statement<'_>,
) -> Result<Vec<u8>, Misuse> {
    let mut out = Vec::with_capacity((3 + MU_LIMBS * slots) * SHORT_LEN);
    let mut push = |little_endian: &mut dyn Iterator<Item = u8>| {
        let end = out.len() + SHORT_LEN;
        out.extend(little_endian.take(SHORT_LEN));
        out.resize(end, 0);
    };
    for half in statement.inputs_hash.chunks(16) {
        push(&mut half.iter().rev().copied());
    }
    push(&mut statement.weight_min.to_le_bytes().into_iter());
    for slot in 0..slots {
        let mu = match key_hashes.get(slot).copied().flatten() {
            Some(hash) => message_representative(hash, statement.context, statement.message)?,
            None => [0; MU_LEN],
        };
        for scalar in mu_scalars(&mu) {
            push(&mut scalar.into_iter());
        }
    }
    Ok(out)
}
