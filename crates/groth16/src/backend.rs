//! The calls into blst, and mapped files. Only these files may contain `unsafe`.

pub(crate) mod field;
pub(crate) mod group;
#[cfg(feature = "prove")]
pub(crate) mod map;
