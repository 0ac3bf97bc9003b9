//! What a proof states, from the verifier's own context. Nothing here is read from a wire.
//!
//! A slot without a validator, or whose validator has no ML-DSA key, has weight 0, a `mu` of zeros
//! and the all-zero key image. Weight 0 is what makes such a slot harmless: the all-zero key image
//! has signatures that anyone can make.

use horizon_hash::sponge::shake256;

use crate::{
    error::Misuse,
    fr::Fr,
    inputs::{MU_LIMBS, SLOT_INPUTS, h_limbs, input_count, mu_limbs},
    key_image::{KeyImage, PUBLIC_KEY_LEN},
};

/// Bytes of a message representative.
pub const MU_LEN: usize = 64;
/// Bytes of a public key's hash.
pub const TR_LEN: usize = 64;

/// What the verifier wants to see proven.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    /// The signed message.
    pub message: &'a [u8],
    /// The ML-DSA context string, at most 255 bytes.
    pub context: &'a [u8],
    /// Hash of the public inputs, recomputed.
    pub inputs_hash: [u8; 32],
    /// Least total weight that meets the quorum; not 0.
    pub weight_min: u64,
}

/// One validator of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// ML-DSA-65 public key; `None` for a validator that signs no certificates.
    pub key: Option<&'a [u8; PUBLIC_KEY_LEN]>,
    /// Weight; ignored without a key.
    pub weight: u64,
}

/// Hash of a public key, as FIPS 204 binds it into every signature.
#[must_use]
pub fn key_hash(key: &[u8; PUBLIC_KEY_LEN]) -> [u8; TR_LEN] {
    let mut out = [0; TR_LEN];
    shake256(&[key], &mut out);
    out
}

/// The message representative of pure ML-DSA.
///
/// # Errors
/// [`Misuse::ContextTooLong`].
pub fn message_representative(
    key_hash: &[u8; TR_LEN],
    context: &[u8],
    message: &[u8],
) -> Result<[u8; MU_LEN], Misuse> {
    let len = u8::try_from(context.len()).map_err(|_| Misuse::ContextTooLong)?;
    let mut out = [0; MU_LEN];
    shake256(&[key_hash, &[0, len], context, message], &mut out);
    Ok(out)
}

/// All public inputs of a statement in order, without the constant one: what a prover needs, and
/// what the cached points of a verifier stand for.
///
/// `slots[s]` is the validator of slot s; missing ones are empty.
///
/// # Errors
/// [`Misuse::TooManyValidators`], [`Misuse::ContextTooLong`].
pub fn public_inputs(
    slot_count: usize,
    slots: &[Member<'_>],
    statement: &Statement<'_>,
) -> Result<Vec<Fr>, Misuse> {
    if slots.len() > slot_count {
        return Err(Misuse::TooManyValidators);
    }
    let mut out = Vec::with_capacity(input_count(slot_count));
    out.extend(h_limbs(&statement.inputs_hash));
    out.push(Fr::from_u64(statement.weight_min));
    for slot in 0..slot_count {
        let keyed = slots
            .get(slot)
            .and_then(|member| Some((member.weight, member.key?)));
        let Some((weight, key)) = keyed else {
            out.resize(out.len() + SLOT_INPUTS, Fr::ZERO);
            continue;
        };
        let mu = message_representative(&key_hash(key), statement.context, statement.message)?;
        out.push(Fr::from_u64(weight));
        out.extend(mu_limbs(&mu));
        out.extend_from_slice(KeyImage::of(key).elements());
    }
    Ok(out)
}

/// Bytes of the short scalars of a verification, which have at most 192 bits.
pub(crate) const SHORT_LEN: usize = 24;

/// The limbs of a `mu` as little-endian scalars.
pub(crate) fn mu_scalars(mu: &[u8; MU_LEN]) -> [[u8; SHORT_LEN]; MU_LIMBS] {
    let mut out = [[0; SHORT_LEN]; MU_LIMBS];
    for (scalar, bytes) in out.iter_mut().zip(mu.chunks(SHORT_LEN)) {
        for (to, from) in scalar.iter_mut().zip(bytes) {
            *to = *from;
        }
    }
    out
}
