//! The committee mode against its vectors, its findings, and the reference's verification equation.

extern crate alloc;

mod findings;
mod ledger;
mod messages;
mod signing;
mod states;
mod support;
mod vectors;
