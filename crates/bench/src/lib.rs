//! What the product costs, measured on the machine at hand, and the report made of it.
//!
//! [`sections`] runs the operations, [`measure`] takes their time, [`result`] is what one run leaves
//! behind, as JSON. Everything people read ([`tables`], [`render`]) is computed from that JSON and
//! from two data files: `data/tables.json` (every row of the published tables, with doubts and
//! limits) and `data/baselines.json` (the reference, measured apart). Nobody types a number.
//!
//! # Why processor time
//! The machines that run this are small and shared. A job beside the measurement stretches wall time
//! by whole multiples while it moves processor time by a few per cent (caches, clock rate). What
//! runs on one thread is therefore timed by the processor time of that thread, with the wall time
//! and the processor time of the whole process beside it. Where the point is that lanes run at once,
//! the row counts wall time and its identifier has `wall,threads=N`: such a row is only as good as
//! the machine is quiet, and [`noise`] says whether it was.
//!
//! Identifiers are `crate/operation/parameters/backend/{cold,cached}`, the last part only where
//! there is something to cache.

#![forbid(unsafe_code)]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program with std"
)]

pub mod clock;
pub mod delivery;
pub mod failed;
pub mod fixture;
pub mod machine;
pub mod measure;
pub mod noise;

pub mod render;
pub mod result;
pub mod run;
pub mod scaling;

pub mod sections;
pub mod source;
pub mod tables;

pub use failed::Failed;
pub use measure::{Bench, Plan};
pub use result::Results;
