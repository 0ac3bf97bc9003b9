//! The C interface: arguments, verdicts, and a C program compiled against the header.

#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test that cannot go on has failed"
)]

#[path = "../../../warp/tests/support/common.rs"]
mod common;
#[path = "../../../warp/tests/support/world.rs"]
mod world;

mod arguments;
mod c_program;
mod fixture;
