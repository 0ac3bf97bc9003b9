//! Shamir sharing over Z_q and interpolation at zero.
//!
//! Party `i` holds the point `i + 1`. Coefficients are computed anew for every signer set: using
//! those of the whole committee for a subset yields invalid signatures.

use alloc::vec::Vec;

use horizon_ring::{Poly, modulus};
use zeroize::Zeroizing;

use crate::{
    error::{Error, Misuse},
    params::DEGREE,
    secret::SecretPolys,
    signers::{Quorum, SignerSet},
};

/// Interpolation coefficients at zero for `signers`, in their order: `secret = sum lambda_k
/// share_k`.
///
/// # Source
/// `lambda_k = prod_{j != k} (-x_j) / (x_k - x_j) mod q`, `x_k = position + 1`.
#[must_use]
pub fn lagrange_at_zero(signers: &SignerSet) -> Vec<u64> {
    let points: Vec<Residue> = signers
        .positions()
        .iter()
        .map(|&position| Residue(u64::from(position) + 1))
        .collect();
    coefficients(&points)
}

/// As [`lagrange_at_zero`] for any distinct points in any order, `1..q`.
///
/// # Errors
/// [`Misuse::Points`] for a point that is zero, not below q, or repeated.
pub fn lagrange_at_points(points: &[u64]) -> Result<Vec<u64>, Error> {
    let mut sorted = points.to_vec();
    sorted.sort_unstable();
    let valid = |&point: &u64| (1..modulus::Q).contains(&point);
    if !sorted.iter().all(valid) || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Misuse::Points.into());
    }
    Ok(coefficients(
        &points
            .iter()
            .map(|&point| Residue(point))
            .collect::<Vec<_>>(),
    ))
}

/// Shares `secret` among `quorum.parties()` parties with the polynomial
/// `P(x) = secret + a_1 x + ... + a_{t-1} x^{t-1}`, one per coefficient; share `i` is `P(i + 1)`.
///
/// `next` supplies the coefficients, each below q, in the order polynomial, coefficient, degree 1
/// to `t - 1`. With `t = 1` it is never called and every share equals the secret.
///
/// # Errors
/// [`Misuse::Secret`] when `next` returns a value that is not below q.
///
/// # Security
/// The values of `next` must be uniform, independent and secret. Straight-line in the shared
/// values.
pub fn share(
    secret: &SecretPolys,
    quorum: Quorum,
    mut next: impl FnMut() -> u64,
) -> Result<Vec<SecretPolys>, Error> {
    let mut shares: Vec<SecretPolys> = (0..quorum.parties())
        .map(|_| SecretPolys::zero(secret.len()))
        .collect();
    let mut polynomial = Zeroizing::new(alloc::vec![0u64; usize::from(quorum.threshold())]);
    for (index, poly) in secret.polys().iter().enumerate() {
        for position in 0..DEGREE {
            polynomial[0] = poly.as_array()[position];
            for coefficient in &mut polynomial[1..] {
                *coefficient = next();
                if *coefficient >= modulus::Q {
                    return Err(Misuse::Secret.into());
                }
            }
            for (point, share) in (1u64..).zip(&mut shares) {
                share.polys_mut()[index].as_mut_array()[position] = evaluate(&polynomial, point);
            }
        }
    }
    Ok(shares)
}

/// Interpolates the value at zero from the shares of `signers`, in their order.
///
/// # Errors
/// [`Misuse::Length`] when the number of shares differs from the number of signers, or their shapes
/// differ.
///
/// # Security
/// Returns the secret. A signer never calls this; dealers and tests do.
pub fn recover(signers: &SignerSet, shares: &[&SecretPolys]) -> Result<SecretPolys, Error> {
    let Some(first) = shares.first() else {
        return Err(Misuse::Length { field: "shares" }.into());
    };
    if shares.len() != signers.len() || shares.iter().any(|share| share.len() != first.len()) {
        return Err(Misuse::Length { field: "shares" }.into());
    }
    let mut secret = SecretPolys::zero(first.len());
    for (lambda, share) in lagrange_at_zero(signers).into_iter().zip(shares) {
        for (sum, poly) in secret.polys_mut().iter_mut().zip(share.polys()) {
            add_scaled(sum, poly, lambda);
        }
    }
    Ok(secret)
}

/// Value at `point` of the polynomial with these coefficients, lowest first, all below q.
pub(crate) fn evaluate(coefficients: &[u64], point: u64) -> u64 {
    coefficients.iter().rev().fold(0, |sum, &coefficient| {
        modulus::add(modulus::mul(sum, point), coefficient)
    })
}

/// `sum += factor * poly`, coefficient by coefficient.
pub(crate) fn add_scaled(sum: &mut Poly, poly: &Poly, factor: u64) {
    for (sum, &value) in sum.as_mut_array().iter_mut().zip(poly.as_array()) {
        *sum = modulus::add(*sum, modulus::mul(value, factor));
    }
}

/// The field operations interpolation needs; a trait so that tests can run every input of a toy
/// field.
trait Field: Copy {
    const ONE: Self;
    fn neg(self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn inv(self) -> Self;
}

/// An element of Z_q.
#[derive(Clone, Copy)]
struct Residue(u64);

impl Field for Residue {
    const ONE: Self = Self(1);
    fn neg(self) -> Self {
        Self(modulus::sub(0, self.0))
    }
    fn sub(self, other: Self) -> Self {
        Self(modulus::sub(self.0, other.0))
    }
    fn mul(self, other: Self) -> Self {
        Self(modulus::mul(self.0, other.0))
    }
    fn inv(self) -> Self {
        Self(modulus::inv(self.0))
    }
}

fn coefficients(points: &[Residue]) -> Vec<u64> {
    (0..points.len())
        .map(|own| coefficient(points, own).0)
        .collect()
}

/// Coefficient at zero of the point with index `own`. The points must be distinct and not zero.
fn coefficient<F: Field>(points: &[F], own: usize) -> F {
    let (mut numerator, mut denominator) = (F::ONE, F::ONE);
    for (index, &point) in points.iter().enumerate() {
        if index != own {
            numerator = numerator.mul(point.neg());
            denominator = denominator.mul(points[own].sub(point));
        }
    }
    numerator.mul(denominator.inv())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Z_11: small enough to try every polynomial and every set of points.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Toy(u64);

    impl Field for Toy {
        const ONE: Self = Self(1);
        fn neg(self) -> Self {
            Self((11 - self.0) % 11)
        }
        fn sub(self, other: Self) -> Self {
            Self((self.0 + 11 - other.0) % 11)
        }
        fn mul(self, other: Self) -> Self {
            Self(self.0 * other.0 % 11)
        }
        fn inv(self) -> Self {
            (1..11)
                .map(Toy)
                .find(|&x| x.mul(self) == Self::ONE)
                .expect("non-zero")
        }
    }

    #[test]
    fn every_polynomial_of_degree_two_over_a_toy_field_interpolates_from_every_set_of_points() {
        for mask in 1u32..1 << 10 {
            let points: Vec<Toy> = (0u32..10)
                .filter(|bit| mask >> bit & 1 == 1)
                .map(|bit| Toy(u64::from(bit) + 1))
                .collect();
            if !(3..=5).contains(&points.len()) {
                continue;
            }
            let lambdas: Vec<Toy> = (0..points.len())
                .map(|own| coefficient(&points, own))
                .collect();
            for packed in 0..11 * 11 * 11 {
                let [a, b, c] = [packed % 11, packed / 11 % 11, packed / 121];
                let sum = points
                    .iter()
                    .zip(&lambdas)
                    .map(|(x, lambda)| (a + b * x.0 + c * x.0 * x.0) * lambda.0)
                    .sum::<u64>();
                assert_eq!(sum % 11, a, "points {points:?}, polynomial {a} {b} {c}");
            }
        }
    }

    #[test]
    fn three_contiguous_signers_have_coefficients_three_minus_three_one() {
        let signers = SignerSet::everyone(Quorum::new(3, 3).expect("3 of 3"));
        assert_eq!(lagrange_at_zero(&signers), [3, modulus::Q - 3, 1]);
    }

    #[test]
    fn one_of_one_is_the_secret_itself() {
        let quorum = Quorum::new(1, 1).expect("1 of 1");
        let mut secret = SecretPolys::zero(1);
        secret.polys_mut()[0].as_mut_array()[7] = 42;
        let shares = share(&secret, quorum, || unreachable!()).expect("shares");
        assert_eq!(
            shares[0].polys()[0].as_array(),
            secret.polys()[0].as_array()
        );
        assert_eq!(lagrange_at_zero(&SignerSet::everyone(quorum)), [1]);
    }

    #[test]
    fn a_coefficient_that_is_not_reduced_is_refused() {
        let secret = SecretPolys::zero(1);
        let quorum = Quorum::new(2, 2).expect("2 of 2");
        let result = share(&secret, quorum, || modulus::Q);
        assert_eq!(result.err(), Some(Misuse::Secret.into()));
    }
}
