//! Elements of R_q in their three representations, as three types.
//!
//! [`Poly`] holds coefficients, [`NttPoly`] canonical values of the 256 slots, [`LazyNttPoly`]
//! slots that are correct modulo q but not reduced. A product cannot be taken in the wrong domain
//! and an unreduced value cannot reach an encoder.
//!
//! # Security
//! Any of them may hold a secret. None prints its contents, comparison is constant time, and all
//! implement [`Zeroize`]: keep secrets in [`zeroize::Zeroizing`].

use core::fmt;

use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroize;

use crate::backend::{self, Kind};
use crate::modulus;

/// Number of coefficients (and slots) of a ring element.
pub const N: usize = 256;

/// A polynomial by its coefficients, lowest degree first.
///
/// Values are in [0, q], where q stands for zero: the samplers may emit it, the transforms accept
/// it. [`Poly::canonicalize`] removes it, which is needed before encoding, comparing or rounding.
#[derive(Clone, Zeroize)]
#[repr(C, align(64))]
pub struct Poly([u64; N]);

/// A polynomial by its values at the 256 roots, each in [0, q).
///
/// Slot k is the value at psi^(2·brv8(k)+1), times the scale the transform was asked for.
#[derive(Clone, Zeroize)]
#[repr(C, align(64))]
pub struct NttPoly([u64; N]);

/// Slot values that are correct modulo q but only bounded by 9q (below 2^52).
///
/// Good as a factor of [`crate::dot`] only. Backends may differ in the words, never in the
/// residues.
#[derive(Clone, Zeroize)]
#[repr(C, align(64))]
pub struct LazyNttPoly([u64; N]);

/// Operands of products: canonical or lazy slots.
pub trait Slots: sealed::Sealed {
    /// The 256 slot values, each below 9q.
    fn slots(&self) -> &[u64; N];
}

/// Types that hold 256 canonical residues and may be encoded: [`Poly`] and [`NttPoly`].
pub trait Residues: sealed::Sealed {
    /// The zero element.
    const ZERO: Self;
    /// The 256 words.
    fn residues(&self) -> &[u64; N];
    /// The 256 words. The caller keeps the bound of the type.
    fn residues_mut(&mut self) -> &mut [u64; N];
}

macro_rules! common {
    ($type:ident, $name:literal) => {
        impl $type {
            /// The zero polynomial.
            pub const ZERO: Self = Self([0; N]);

            /// The words as they are stored.
            #[inline]
            #[must_use]
            pub const fn as_array(&self) -> &[u64; N] {
                &self.0
            }

            /// The words as they are stored. The caller keeps the bound of the type; a larger value
            /// makes later results wrong, but never memory-unsafe and never a panic.
            #[inline]
            pub const fn as_mut_array(&mut self) -> &mut [u64; N] {
                &mut self.0
            }

            /// Wraps words that already satisfy the bound of the type.
            #[inline]
            #[must_use]
            pub const fn from_array_unchecked(words: [u64; N]) -> Self {
                Self(words)
            }
        }

        impl Default for $type {
            fn default() -> Self {
                Self::ZERO
            }
        }

        impl fmt::Debug for $type {
            /// Prints the type only: the value may be secret.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!($name, "(..)"))
            }
        }

        impl sealed::Sealed for $type {}
    };
}

macro_rules! canonical {
    ($type:ident) => {
        impl $type {
            /// Accepts 256 words below q; `None` when one is not.
            #[must_use]
            pub fn from_array(words: [u64; N]) -> Option<Self> {
                words.iter().all(|&w| w < modulus::Q).then_some(Self(words))
            }

            /// Reduces 256 arbitrary words modulo q.
            #[must_use]
            pub fn from_reduced(words: [u64; N]) -> Self {
                let mut out = Self::ZERO;
                backend::reduce(Kind::active(), &words, &mut out.0);
                out
            }

            /// Reduces every word modulo q in place; afterwards each is in [0, q).
            pub fn canonicalize(&mut self) {
                let mut words = self.0;
                backend::reduce(Kind::active(), &words, &mut self.0);
                words.zeroize();
            }

            /// Adds `other` to `self`; both canonical, and so is the result.
            pub fn add_assign(&mut self, other: &Self) {
                backend::add(Kind::active(), &mut self.0, &other.0);
            }

            /// Subtracts `other` from `self`; both canonical, and so is the result.
            pub fn sub_assign(&mut self, other: &Self) {
                backend::sub(Kind::active(), &mut self.0, &other.0);
            }

            /// Replaces a canonical value by its negative, canonical.
            pub fn negate(&mut self) {
                self.0.iter_mut().for_each(|a| *a = modulus::neg(*a));
            }

            /// Multiplies every word by the constant `k` < q; words at most q, the result
            /// canonical.
            pub fn scale(&mut self, k: u64) {
                backend::scale(Kind::active(), &mut self.0, k);
            }
        }

        impl Residues for $type {
            const ZERO: Self = Self([0; N]);

            #[inline]
            fn residues(&self) -> &[u64; N] {
                &self.0
            }

            #[inline]
            fn residues_mut(&mut self) -> &mut [u64; N] {
                &mut self.0
            }
        }

        impl ConstantTimeEq for $type {
            /// Compares the stored words, without an early exit.
            fn ct_eq(&self, other: &Self) -> Choice {
                let difference = self
                    .0
                    .iter()
                    .zip(&other.0)
                    .fold(0, |d, (&a, &b)| d | (a ^ b));
                difference.ct_eq(&0)
            }
        }

        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                self.ct_eq(other).into()
            }
        }

        impl Eq for $type {}
    };
}

macro_rules! slots {
    ($($type:ident)*) => {$(
        impl Slots for $type {
            #[inline]
            fn slots(&self) -> &[u64; N] {
                &self.0
            }
        }
    )*};
}

common!(Poly, "Poly");
common!(NttPoly, "NttPoly");
common!(LazyNttPoly, "LazyNttPoly");
canonical!(Poly);
canonical!(NttPoly);
slots!(NttPoly LazyNttPoly);

impl NttPoly {
    /// The constant polynomial `k` < q: the same word in every slot.
    #[must_use]
    pub const fn constant(k: u64) -> Self {
        Self([k; N])
    }
}

impl LazyNttPoly {
    /// The constant polynomial `k` < q: the same word in every slot.
    #[must_use]
    pub const fn constant(k: u64) -> Self {
        Self([k; N])
    }

    /// The canonical form.
    #[must_use]
    pub fn reduce(&self) -> NttPoly {
        NttPoly::from_reduced(self.0)
    }
}

impl From<NttPoly> for LazyNttPoly {
    fn from(poly: NttPoly) -> Self {
        Self(poly.0)
    }
}

mod sealed {
    /// Keeps the representations to the ones of this module.
    #[expect(unnameable_types, reason = "that is what seals a trait")]
    pub trait Sealed {}
}
