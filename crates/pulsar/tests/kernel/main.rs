//! The kernel against the reference's vectors, its published tables, its faults, and malformed
//! input.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![allow(
    clippy::std_instead_of_alloc,
    reason = "tests have the standard library"
)]

mod dealing;
mod faults;
mod frames;
mod golden;
mod primitives;
mod sessions;
mod shamir;
mod sign;
mod support;
mod verify;
