//! The libraries under ML-DSA, one file each. Only these files may contain `unsafe`.
//!
//! AWS-LC is reached through its C interface because its safe wrapper has no context strings; see
//! [`crate::mldsa::Backend`] for the choice between the two.

pub(crate) mod aws_lc;
pub(crate) mod libcrux;
