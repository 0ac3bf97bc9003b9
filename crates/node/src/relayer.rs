//! The relayer: carries messages from network to network, and is trusted by nobody.
//!
//! | Module | For |
//! |---|---|
//! | [`config`] | `relayer.toml` |
//! | [`core`](mod@core) | the decisions of one route, without clock, network and disk |
//! | [`entry`] | one message on its route |
//! | [`evidence`] | from single signatures to an envelope that Prism accepts |
//! | [`store`] | the file of one route |
//!
//! [`run`] is the process; [`Relayer`] is the same for whoever embeds it. Every route has a task, a
//! file and requests of its own, so that what happens to one does not concern another.

pub mod config;
pub mod core;
pub mod entry;
pub mod evidence;
mod metrics;
mod process;
mod route;
pub mod store;

pub use process::{Error, Relayer, run, run_until};
