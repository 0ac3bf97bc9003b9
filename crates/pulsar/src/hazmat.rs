//! Entry points that are sound only when used exactly as their documentation says.

pub mod deal;
pub mod interop;
pub mod local;
