//! The program as its users meet it: real processes, sockets, disks and signals, and what goes wrong
//! with them.
//!
//! Networks run one after the other, since every one of them takes all cores. A test that fails says
//! where its state directory is and leaves it there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test of a program with std"
)]

mod burst;
mod clock;
mod directory;
mod disk;
mod input;
mod kill;
#[allow(dead_code, reason = "a harness")]
mod net;
mod outage;
#[allow(dead_code, reason = "a harness")]
mod process;
mod start;
