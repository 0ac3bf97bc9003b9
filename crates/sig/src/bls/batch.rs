//! Many unrelated signatures at once.

use alloc::collections::BTreeMap;

use blst::{MultiPoint as _, min_pk};
use rand_core::CryptoRng;

use super::{
    SIGNATURE_DST, Signature, VerifyingKey, aggregate::check_len, is_infinity, pairing::Equation,
};
use crate::error::{BadSignature, BadSigner, BadSigners, Error, Rejected};

/// One signature to be checked.
#[derive(Clone, Copy, Debug)]
pub struct BatchItem<'a> {
    /// What was signed.
    pub message: &'a [u8],
    /// By whom.
    pub key: VerifyingKey,
    /// The signature.
    pub signature: Signature,
}

/// Verifies every item, sharing the pairing work.
///
/// Each item is multiplied by a fresh random coefficient of 64 bits, never zero, so that errors
/// of several items cannot cancel out; items with the same message share one Miller loop. A batch
/// that fails is halved until each bad item is known: never more than twice as many pairing
/// checks as items.
///
/// # Errors
/// [`Rejected::Signers`] naming every bad item by its position; `Misuse` for an empty or
/// oversized batch.
///
/// # Security
/// A batch with a bad item passes with probability at most 2^-63, over `rng` alone. `rng` must be
/// unpredictable to whoever made the signatures.
pub fn batch_verify<R: CryptoRng + ?Sized>(
    items: &[BatchItem<'_>],
    rng: &mut R,
) -> Result<BatchVerified, Error> {
    check_len(items.len())?;
    let mut bad = Vec::new();
    // Ranges still to be examined; halving keeps at most one per level of the binary tree.
    let mut pending = vec![(0, items.len())];
    while let Some((start, end)) = pending.pop() {
        let Some(slice) = items.get(start..end) else {
            continue;
        };
        if let [item] = slice {
            if item
                .key
                .verify_message(item.message, &item.signature)
                .is_err()
            {
                bad.push(BadSigner {
                    index: start,
                    reason: BadSignature::Equation,
                });
            }
            continue;
        }
        if !holds(slice, rng) {
            let middle = start.midpoint(end);
            pending.push((middle, end));
            pending.push((start, middle));
        }
    }
    match BadSigners::new(bad) {
        Some(bad) => Err(Rejected::Signers(bad).into()),
        None => Ok(BatchVerified {
            item_count: items.len(),
        }),
    }
}

/// Witness that every item of a batch verified. Only this module can make one.
#[must_use = "a verification that nobody looks at protects nobody"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchVerified {
    item_count: usize,
}

impl BatchVerified {
    /// Items that verified.
    #[must_use]
    pub const fn item_count(self) -> usize {
        self.item_count
    }
}

/// Whether the random linear combination of the items verifies.
fn holds<R: CryptoRng + ?Sized>(items: &[BatchItem<'_>], rng: &mut R) -> bool {
    let coefficients: Vec<[u8; COEFFICIENT_LEN]> =
        items.iter().map(|_| nonzero_coefficient(rng)).collect();
    let signatures: Vec<min_pk::Signature> =
        items.iter().map(|item| item.signature.point).collect();
    let sum = signatures
        .as_slice()
        .mult(coefficients.as_flattened(), COEFFICIENT_BITS)
        .to_signature();
    if is_infinity(&sum.to_bytes()) {
        // Good items give infinity with probability 2^-64; singly they are good still.
        return false;
    }
    // Ordered, so that the work does not depend on a hasher's state.
    let mut groups: BTreeMap<&[u8], Group> = BTreeMap::new();
    for (item, coefficient) in items.iter().zip(&coefficients) {
        let group = groups.entry(item.message).or_default();
        group.keys.push(item.key.point);
        group.coefficients.push(*coefficient);
    }
    groups
        .iter()
        .fold(
            Equation::new(SIGNATURE_DST),
            |equation, (message, group)| group.add_to(equation, message),
        )
        .holds_for(&sum)
        .is_ok()
}

/// Keys that signed the same message, with their coefficients.
#[derive(Default)]
struct Group {
    keys: Vec<min_pk::PublicKey>,
    coefficients: Vec<[u8; COEFFICIENT_LEN]>,
}

impl Group {
    fn add_to(&self, equation: Equation, message: &[u8]) -> Equation {
        if let ([key], [coefficient]) = (&*self.keys, &*self.coefficients) {
            return equation.scaled_term(key, coefficient, message);
        }
        let coefficients = self.coefficients.as_flattened();
        let sum = self.keys.as_slice().mult(coefficients, COEFFICIENT_BITS);
        equation.term(&sum.to_public_key(), message)
    }
}

/// A uniform coefficient in `1..2^64`, little-endian.
fn nonzero_coefficient<R: CryptoRng + ?Sized>(rng: &mut R) -> [u8; COEFFICIENT_LEN] {
    // One more draw happens with probability 2^-64; a generator stuck at zero must not hang us,
    // and any non-zero constant is then as good as another.
    for _ in 0..DRAWS_MAX {
        let mut coefficient = [0; COEFFICIENT_LEN];
        rng.fill_bytes(&mut coefficient);
        if coefficient != [0; COEFFICIENT_LEN] {
            return coefficient;
        }
    }
    [1; COEFFICIENT_LEN]
}

const COEFFICIENT_LEN: usize = 8;
const COEFFICIENT_BITS: usize = 64;
const DRAWS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use core::convert::Infallible;

    use rand_core::{TryCryptoRng, TryRng};

    use super::*;

    /// A broken generator: only zeros.
    struct Stuck;

    impl TryRng for Stuck {
        type Error = Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            Ok(0)
        }
        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            Ok(0)
        }
        fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
            dst.fill(0);
            Ok(())
        }
    }

    impl TryCryptoRng for Stuck {}

    #[test]
    fn coefficients_are_never_zero() {
        assert_ne!(nonzero_coefficient(&mut Stuck), [0; COEFFICIENT_LEN]);
    }
}
