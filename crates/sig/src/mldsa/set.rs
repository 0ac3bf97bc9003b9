//! Many signers, one message.

use super::VerifyingKey;
use crate::{
    algorithm::Algorithm,
    error::{BadSigner, BadSigners, Error, Misuse, Rejected},
    traits::{SetVerified, Verified, Verifier, check_context_len},
};

/// One signer of a set: a prepared key and the bytes of its signature.
#[derive(Clone, Copy, Debug)]
pub struct Attestation<'a> {
    /// Who signed.
    pub key: &'a VerifyingKey,
    /// What they sent, of any length.
    pub signature: &'a [u8],
}

/// Verifies the signatures of all signers over the same message, on the calling thread.
///
/// All or nothing: the witness exists only when every signature is good. There is no batch
/// equation, so one bad signature never hides or spoils another.
///
/// Weights, bitmaps and quorums are the caller's.
///
/// # Errors
/// [`Misuse::EmptySet`], [`Misuse::SetTooLong`], [`Misuse::MixedAlgorithms`],
/// [`Misuse::ContextTooLong`] before any signature is looked at; then
/// [`Rejected::DuplicateSigner`]; then [`Rejected::Signers`] naming every bad entry.
pub fn verify_set(
    message: &[u8],
    context: &[u8],
    signers: &[Attestation<'_>],
) -> Result<SetVerified, Error> {
    verify_entries(signers, context, |entries| {
        entries
            .iter()
            .map(|entry| entry.key.verify(context, message, entry.signature))
            .collect()
    })
}

/// [`verify_set`] on all threads of the current rayon pool.
///
/// # Errors
/// As [`verify_set`]; the verdict does not depend on the number of threads.
#[cfg(feature = "rayon")]
pub fn par_verify_set(
    message: &[u8],
    context: &[u8],
    signers: &[Attestation<'_>],
) -> Result<SetVerified, Error> {
    use rayon::prelude::*;

    if signers.len() < PARALLEL_LEN_MIN {
        return verify_set(message, context, signers);
    }
    verify_entries(signers, context, |entries| {
        entries
            .par_iter()
            .map(|entry| entry.key.verify(context, message, entry.signature))
            .collect()
    })
}

/// Checks the set itself, runs `verify_all`, and turns its verdicts into one.
fn verify_entries(
    signers: &[Attestation<'_>],
    context: &[u8],
    verify_all: impl FnOnce(&[Attestation<'_>]) -> Vec<Result<Verified, Error>>,
) -> Result<SetVerified, Error> {
    check_context_len(context)?;
    let algorithm = check_set(signers)?;
    let mut bad = Vec::new();
    for (index, verdict) in verify_all(signers).into_iter().enumerate() {
        let Err(error) = verdict else { continue };
        let Some(reason) = error.bad_signature() else {
            return Err(error);
        };
        bad.push(BadSigner { index, reason });
    }
    match BadSigners::new(bad) {
        Some(bad) => Err(Rejected::Signers(bad).into()),
        None => Ok(SetVerified::new(algorithm, signers.len(), 0)),
    }
}

/// Refuses empty, oversized and mixed sets, and a key that occurs twice; returns the algorithm
/// that all keys share.
pub(crate) fn check_set(signers: &[Attestation<'_>]) -> Result<Algorithm, Error> {
    let Some(first) = signers.first() else {
        return Err(Misuse::EmptySet.into());
    };
    if signers.len() > SET_LEN_MAX {
        return Err(Misuse::SetTooLong {
            len: signers.len(),
            limit: SET_LEN_MAX,
        }
        .into());
    }
    let set = first.key.parameter_set();
    if let Some(index) = signers
        .iter()
        .position(|entry| entry.key.parameter_set() != set)
    {
        return Err(Misuse::MixedAlgorithms { index }.into());
    }
    // Sorted by key, then by position, so that the pair reported is the first one of its key.
    let mut order: Vec<(&[u8], usize)> = signers
        .iter()
        .enumerate()
        .map(|(index, entry)| (entry.key.key_bytes(), index))
        .collect();
    order.sort_unstable();
    for pair in order.windows(2) {
        if let &[(left, first), (right, second)] = pair
            && left == right
        {
            return Err(Rejected::DuplicateSigner { first, second }.into());
        }
    }
    Ok(set.algorithm())
}

/// Most signers of one set: above three times what fits into an envelope of 1 MiB.
pub const SET_LEN_MAX: usize = 1024;

/// Below this many signatures, waking another thread costs about what it saves.
#[cfg(feature = "rayon")]
const PARALLEL_LEN_MIN: usize = 3;
