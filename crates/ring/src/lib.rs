//! Arithmetic in `R_q = Z_q[X]/(X^256+1)`, q = 2^48 + 18945: transforms, products, samplers, codec.
//!
//! | module | content |
//! |---|---|
//! | [`modulus`] | scalars |
//! | [`poly`] | the representations: [`Poly`], [`NttPoly`], [`LazyNttPoly`] |
//! | [`ntt`] | transforms, with a scale on the way |
//! | [`dot`], [`matrix`] | sums of products with one reduction, matrices, sums of matrices |
//! | [`round`], [`rank`] | rounding, norm, rank check |
//! | [`codec`], [`pack`] | the reference's structure encoding; 49-bit packing |
//! | [`sample`] | samplers |
//! | [`backend`] | the same operations per instruction set, for tests and benches |
//!
//! The backend is chosen once at run time; all of them give the same residues.
//!
//! ```
//! use horizon_ring::{Poly, Q, dot, ntt, ntt::Scale};
//!
//! // X^255 times X is -1. One factor carries 2^52, which the product removes.
//! let (mut a, mut b) = (Poly::ZERO, Poly::ZERO);
//! a.as_mut_array()[255] = 1;
//! b.as_mut_array()[1] = 1;
//! let product = dot::mul(&ntt::forward_scaled(&a, Scale::R52), &ntt::forward(&b));
//! assert_eq!(ntt::inverse(&product).as_array()[0], Q - 1);
//! ```
//!
//! # Security
//! Constant time in values unless an item says otherwise. Elements are not erased on drop, since
//! most are public: keep secret ones in `zeroize::Zeroizing`.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod backend;
pub mod codec;
pub mod dot;
mod error;
pub mod matrix;
pub mod modulus;
pub mod ntt;
pub mod pack;
pub mod poly;
pub mod rank;
pub mod round;
pub mod sample;
mod tables;

pub use error::{Error, Fault};
pub use matrix::{LazyNttMatrix, Matrix, MatrixSum, NttMatrix};
pub use modulus::Q;
pub use poly::{LazyNttPoly, N, NttPoly, Poly, Residues, Slots};
