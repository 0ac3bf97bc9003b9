//! All integration tests of the crate in one program: linking the libraries once takes longer
//! than running the tests.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod aggregates;
mod cache;
mod cases;
mod contract;
mod forge;
mod forgeries;
mod sets;
mod vectors;
mod wycheproof;
