//! Tests of the circuit.
#![allow(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::std_instead_of_alloc,
    reason = "test data is small"
)]

mod ball;
mod gadgets;
mod genuine;
mod identity;
mod keccak;
mod negative;
mod relation;
mod search;
mod shape;
mod support;
