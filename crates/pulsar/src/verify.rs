//! Verification: one signature, many, prepared or cold.
//!
//! # Source
//! `luxfi/pulsar@4043d76`, `sign/sign.go`, Verify. The verdict is the same for every canonical
//! signature; what is not canonical never becomes a [`Signature`].
//! # Security
//! All inputs are public and borrowed immutably; running time depends on them. The norm is checked
//! before the hash because it is five times cheaper; the verdict does not depend on the order.

use alloc::{boxed::Box, vec::Vec};

use horizon_hash::suite::Suite;
use horizon_ring::{Poly, codec, ntt, round};

use crate::{
    error::{Error, Rejected},
    group_key::{Equation, GroupKey, PreparedKey, challenge, check_message},
    params::{B_LEN, B_SQUARED, NU, Q_NU, ROWS},
    wire::Signature,
};

/// Proof that a signature was verified; only verification in this module makes one.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulseVerified {
    suite: Suite,
    key_digest: [u8; 32],
    challenge_seed: [u8; 32],
}

impl PulseVerified {
    /// The suite the signature verified under.
    #[must_use]
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// Digest of the key it verified under; compare with [`PreparedKey::key_digest`].
    #[must_use]
    pub const fn key_digest(&self) -> &[u8; 32] {
        &self.key_digest
    }

    /// The challenge seed: a hash over group key, commitment and message, hence unique to the
    /// signed message.
    #[must_use]
    pub const fn challenge_seed(&self) -> &[u8; 32] {
        &self.challenge_seed
    }
}

impl PreparedKey {
    /// Verifies one signature over `message`.
    ///
    /// # Errors
    /// [`Rejected::Norm`], [`Rejected::Challenge`]; `MessageTooLong`.
    pub fn verify(&self, message: &[u8], signature: &Signature) -> Result<PulseVerified, Error> {
        check_message(message)?;
        check_norm(signature)?;
        self.equation().verify(message, signature)
    }
}

impl Equation {
    /// Everything after the checks of message length and norm.
    fn verify(&self, message: &[u8], signature: &Signature) -> Result<PulseVerified, Error> {
        let seed = self.challenge_seed(&self.hinted(signature), message)?;
        self.conclude(seed, signature)
    }

    /// `h' + Delta`: the vector the signer hashed, if the signature is valid.
    fn hinted(&self, signature: &Signature) -> Box<[Poly; ROWS]> {
        let mut h = self.rounded_response(signature.zc());
        for (h, delta) in h.iter_mut().zip(signature.delta()) {
            *h = round::add_pow2(h, delta, Q_NU.trailing_zeros());
        }
        h
    }

    fn conclude(
        &self,
        challenge_seed: [u8; 32],
        signature: &Signature,
    ) -> Result<PulseVerified, Error> {
        if challenge(&challenge_seed).as_array() != signature.c().as_array() {
            return Err(Rejected::Challenge.into());
        }
        Ok(PulseVerified {
            suite: self.suite,
            key_digest: self.key_digest,
            challenge_seed,
        })
    }
}

/// Verifies one signature under a key that was not prepared. Preparing dominates the cost: keep a
/// [`PreparedKey`] when a key is used twice.
///
/// # Errors
/// As [`PreparedKey::verify`].
pub fn verify(
    key: &GroupKey,
    suite: Suite,
    message: &[u8],
    signature: &Signature,
) -> Result<PulseVerified, Error> {
    // The cheap reasons first: preparing the key costs several times the rest.
    check_message(message)?;
    check_norm(signature)?;
    Equation::new(key, suite).verify(message, signature)
}

/// Verifies many signatures under one key; the verdicts are those of [`PreparedKey::verify`], in
/// order.
///
/// There is no algebraic batching and no early exit: one bad signature does not touch the verdict
/// of another.
#[must_use]
pub fn verify_batch(
    key: &PreparedKey,
    entries: &[(&[u8], &Signature)],
) -> Vec<Result<PulseVerified, Error>> {
    let mut verdicts = Vec::with_capacity(entries.len());
    for group in entries.chunks(GROUP) {
        verify_group(key.equation(), group, &mut verdicts);
    }
    verdicts
}

/// Verifies one group; what fails before the hash takes no lane.
fn verify_group(
    equation: &Equation,
    entries: &[(&[u8], &Signature)],
    verdicts: &mut Vec<Result<PulseVerified, Error>>,
) {
    let checked: Vec<Result<Vec<u8>, Error>> = entries
        .iter()
        .map(|(message, signature)| {
            check_message(message)?;
            check_norm(signature)?;
            let mut ser = Vec::with_capacity(B_LEN);
            codec::write_vector(equation.hinted(signature).iter(), &mut ser);
            Ok(ser)
        })
        .collect();
    let inputs: Vec<[&[u8]; 2]> = checked
        .iter()
        .zip(entries)
        .filter_map(|(checked, (message, _))| checked.as_ref().ok().map(|ser| [&ser[..], message]))
        .collect();
    let mut seeds = equation.challenge_seeds(&inputs).into_iter();
    verdicts.extend(
        checked
            .iter()
            .zip(entries)
            .map(|(checked, (_, signature))| {
                if let Err(error) = checked {
                    return Err(*error);
                }
                // One seed was made for every entry that passed.
                let seed = seeds.next().unwrap_or_default();
                equation.conclude(seed, signature)
            }),
    );
}

/// Squared L2 norm of `(Delta 2^29, z)`, both centred modulo q; below 2^106.
#[must_use]
pub fn norm_squared(signature: &Signature) -> u128 {
    delta_norm(signature) + response_norm(signature)
}

fn delta_norm(signature: &Signature) -> u128 {
    round::norm_sq_shifted(signature.delta(), NU)
}

fn response_norm(signature: &Signature) -> u128 {
    let mut poly = Poly::ZERO;
    let square = |z| {
        ntt::inverse_into(z, ntt::Unscale::R64, &mut poly);
        round::norm_sq([&poly])
    };
    signature.z().iter().map(square).sum()
}

/// `Delta` first: its norm needs no transform.
fn check_norm(signature: &Signature) -> Result<(), Error> {
    let delta = delta_norm(signature);
    if delta > B_SQUARED || delta + response_norm(signature) > B_SQUARED {
        return Err(Rejected::Norm.into());
    }
    Ok(())
}

/// Signatures whose hashes run together; several lane groups, so that equal lengths find each
/// other.
const GROUP: usize = 32;
