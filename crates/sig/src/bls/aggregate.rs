//! Sums of keys and signatures.

use core::fmt;

use blst::{BLST_ERROR, min_pk};
use rand_core::CryptoRng;

use super::{
    AGGREGATE_LEN_MAX, ALGORITHM, CurvePoint, ProvenKey, SIGNATURE_DST, Signature, VerifyingKey,
    batch::{BatchItem, batch_verify},
    decoding_error, infinity,
    pairing::Equation,
};
use crate::{
    error::{BadSigner, BadSigners, Error, Field, Misuse, Rejected},
    traits::Verified,
};

/// The sum of the public keys of all signers of one message. Never infinity.
///
/// Adding 21 keys costs about 10 us; keep the result per set of signers.
#[derive(Clone, Copy)]
pub struct AggregateKey {
    point: min_pk::PublicKey,
    signer_count: usize,
}

impl AggregateKey {
    /// Adds keys up. A key that occurs twice counts twice; refusing that is the caller's rule.
    ///
    /// # Errors
    /// [`Misuse::EmptySet`], [`Misuse::SetTooLong`];
    /// [`Malformed::Infinity`](crate::error::Malformed::Infinity) when the keys cancel out.
    pub fn new(keys: &[ProvenKey]) -> Result<Self, Error> {
        check_len(keys.len())?;
        let points: Vec<&min_pk::PublicKey> = keys.iter().map(|key| &key.key.point).collect();
        let sum = min_pk::AggregatePublicKey::aggregate(&points, false)
            .map_err(|_| Error::Misuse(Misuse::EmptySet))?;
        let point = sum.to_public_key();
        // Sums of subgroup points stay in the subgroup, so the one open question is infinity.
        if super::is_infinity(&point.to_bytes()) {
            return Err(infinity(Field::AggregateKey));
        }
        Ok(Self {
            point,
            signer_count: keys.len(),
        })
    }

    /// Verifies the sum of all signers' signatures over one message: one pairing check.
    ///
    /// # Errors
    /// [`Rejected::Equation`].
    pub fn verify(
        &self,
        message: &[u8],
        signature: &Signature,
    ) -> Result<AggregateVerified, Error> {
        Equation::new(SIGNATURE_DST)
            .term(&self.point, message)
            .holds_for(&signature.point)?;
        Ok(AggregateVerified {
            signer_count: self.signer_count,
        })
    }

    /// Keys in the sum.
    #[must_use]
    pub const fn signer_count(&self) -> usize {
        self.signer_count
    }

    /// The compressed form.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; super::VERIFYING_KEY_LEN] {
        self.point.to_bytes()
    }
}

impl fmt::Debug for AggregateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("bls::AggregateKey")
            .field("signer_count", &self.signer_count)
            .finish_non_exhaustive()
    }
}

/// Witness that all keys of an [`AggregateKey`] signed the message. Only this module can make one.
#[must_use = "a verification that nobody looks at protects nobody"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregateVerified {
    signer_count: usize,
}

impl AggregateVerified {
    /// Keys in the sum that verified.
    #[must_use]
    pub const fn signer_count(self) -> usize {
        self.signer_count
    }
}

/// Adds signatures up.
///
/// # Errors
/// [`Misuse::EmptySet`], [`Misuse::SetTooLong`];
/// [`Malformed::Infinity`](crate::error::Malformed::Infinity) when they cancel out.
pub fn aggregate(signatures: &[Signature]) -> Result<Signature, Error> {
    check_len(signatures.len())?;
    let points: Vec<&min_pk::Signature> = signatures.iter().map(|sig| &sig.point).collect();
    let point = sum_of(&points)?;
    if super::is_infinity(&point.to_bytes()) {
        return Err(infinity(Field::Signature));
    }
    Ok(Signature { point })
}

/// Builds a verified aggregate from what many signers of one message sent.
///
/// The good case costs one subgroup check and one pairing check, whatever the number of signers.
/// Only when it fails is every signature examined.
///
/// # Errors
/// [`Rejected::Signers`] naming every bad entry: leave them out and call again. Also
/// [`Rejected::DuplicateSigner`], [`Misuse::EmptySet`], [`Misuse::SetTooLong`], and
/// [`Malformed::Infinity`](crate::error::Malformed::Infinity) when the keys cancel out.
pub fn combine<R: CryptoRng + ?Sized>(
    message: &[u8],
    entries: &[(ProvenKey, CurvePoint)],
    rng: &mut R,
) -> Result<(AggregateKey, Signature, AggregateVerified), Error> {
    check_len(entries.len())?;
    check_distinct(entries)?;
    let keys: Vec<ProvenKey> = entries.iter().map(|(key, _)| *key).collect();
    let key = AggregateKey::new(&keys)?;
    let points: Vec<&min_pk::Signature> = entries.iter().map(|(_, sig)| &sig.point).collect();
    let sum = CurvePoint {
        point: sum_of(&points)?,
    };
    if let Ok(signature) = sum.into_signature()
        && let Ok(witness) = key.verify(message, &signature)
    {
        return Ok((key, signature, witness));
    }
    Err(find_bad(message, entries, rng))
}

/// Names the bad entries of a sum that did not verify.
#[cold]
fn find_bad<R: CryptoRng + ?Sized>(
    message: &[u8],
    entries: &[(ProvenKey, CurvePoint)],
    rng: &mut R,
) -> Error {
    let mut bad = Vec::new();
    let mut items = Vec::with_capacity(entries.len());
    let mut positions = Vec::with_capacity(entries.len());
    for (index, (key, point)) in entries.iter().enumerate() {
        match point.into_signature() {
            Ok(signature) => {
                items.push(BatchItem {
                    message,
                    key: *key.verifying_key(),
                    signature,
                });
                positions.push(index);
            }
            Err(error) => {
                bad.extend(
                    error
                        .bad_signature()
                        .map(|reason| BadSigner { index, reason }),
                );
            }
        }
    }
    if !items.is_empty()
        && let Err(error) = batch_verify(&items, rng)
    {
        let Error::Rejected(Rejected::Signers(found)) = error else {
            return error;
        };
        bad.extend(found.entries().iter().filter_map(|entry| {
            let index = *positions.get(entry.index)?;
            Some(BadSigner {
                index,
                reason: entry.reason,
            })
        }));
    }
    // Nothing bad in a sum that failed is impossible; then the sum itself is what was refused.
    BadSigners::new(bad).map_or(Error::equation(ALGORITHM), |bad| {
        Rejected::Signers(bad).into()
    })
}

/// Verifies the sum of signatures over pairwise distinct messages.
///
/// # Errors
/// [`Misuse::EmptySet`], [`Misuse::SetTooLong`]; [`Rejected::Equation`], also when two messages
/// are equal: the basic scheme is forgeable then.
///
/// # Source
/// draft-irtf-cfrg-bls-signature-05, section 3.1.1.
pub fn verify_distinct(
    pairs: &[(VerifyingKey, &[u8])],
    signature: &Signature,
) -> Result<Verified, Error> {
    check_len(pairs.len())?;
    let mut sorted: Vec<&[u8]> = pairs.iter().map(|(_, message)| *message).collect();
    sorted.sort_unstable();
    if sorted
        .windows(2)
        .any(|pair| matches!(pair, [left, right] if left == right))
    {
        return Err(Error::equation(ALGORITHM));
    }
    pairs
        .iter()
        .fold(Equation::new(SIGNATURE_DST), |equation, (key, message)| {
            equation.term(&key.point, message)
        })
        .holds_for(&signature.point)?;
    Ok(Verified::fresh(ALGORITHM))
}

fn sum_of(points: &[&min_pk::Signature]) -> Result<min_pk::Signature, Error> {
    min_pk::AggregateSignature::aggregate(points, false)
        .map(|sum| sum.to_signature())
        .map_err(|error: BLST_ERROR| decoding_error(error, Field::Signature))
}

fn check_distinct(entries: &[(ProvenKey, CurvePoint)]) -> Result<(), Error> {
    let mut order: Vec<(&VerifyingKey, usize)> = entries
        .iter()
        .enumerate()
        .map(|(index, (key, _))| (key.verifying_key(), index))
        .collect();
    order.sort_unstable();
    for pair in order.windows(2) {
        if let &[(left, first), (right, second)] = pair
            && left == right
        {
            return Err(Rejected::DuplicateSigner { first, second }.into());
        }
    }
    Ok(())
}

pub(super) fn check_len(len: usize) -> Result<(), Error> {
    if len == 0 {
        return Err(Misuse::EmptySet.into());
    }
    if len > AGGREGATE_LEN_MAX {
        return Err(Misuse::SetTooLong {
            len,
            limit: AGGREGATE_LEN_MAX,
        }
        .into());
    }
    Ok(())
}
