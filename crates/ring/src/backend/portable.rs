//! Plain Rust, the reference for the vector backends and the only one under Miri.
//!
//! Reductions are arithmetic on masks; no branch or index depends on a value, except in the
//! functions that say so because their data is public.

pub(crate) mod dot;
pub(crate) mod ntt;
pub(crate) mod pack;
pub(crate) mod rank;
pub(crate) mod sample;
