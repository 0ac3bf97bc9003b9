//! Owned secret polynomials.

use alloc::vec::Vec;
use core::fmt;

use horizon_ring::Poly;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Secret polynomials in coefficient form, erased when dropped.
///
/// # Security
/// Not `Clone`, and `Debug` shows only the number of polynomials.
pub struct SecretPolys(Vec<Poly>);

impl SecretPolys {
    /// `len` zero polynomials.
    #[must_use]
    pub fn zero(len: usize) -> Self {
        Self(alloc::vec![Poly::ZERO; len])
    }

    /// Takes over `polys`; every coefficient must be below q.
    #[must_use]
    pub const fn new(polys: Vec<Poly>) -> Self {
        Self(polys)
    }

    /// Number of polynomials.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no polynomial.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The polynomials.
    #[must_use]
    pub fn polys(&self) -> &[Poly] {
        &self.0
    }

    /// The polynomials, for writing; coefficients must stay below q.
    pub fn polys_mut(&mut self) -> &mut [Poly] {
        &mut self.0
    }
}

impl fmt::Debug for SecretPolys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretPolys({} polynomials, redacted)", self.0.len())
    }
}

impl Drop for SecretPolys {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for SecretPolys {}
