//! Payload types inside a message. A receiver names the type it expects; nothing here guesses.
//!
//! No type number is on the wire, and some byte strings decode as two types (a registration with
//! `valid = true` is also an addressed call from address `01`). So there is no "parse any payload":
//! the application knows what it receives.
//!
//! # Source
//! Wire specification, section "Payloads". [`Routed`] is ours: a destination, a channel and a nonce
//! inside the payload, since the message itself has none.

mod call;
mod l1;
mod routed;
mod swap;
mod teleport;

pub use call::{AddressedCall, HashPayload};
pub use l1::{
    ChainToL1Conversion, L1ValidatorRegistration, L1ValidatorWeight, RegisterL1Validator,
};
pub use routed::{EXPIRY_NEVER, Routed};
pub use swap::{AssetLock, AtomicSwap, Hop, MultiHopRoute, Operation};
pub use teleport::Teleport;

use crate::error::{Error, Reason};

const fn empty_field(field: &'static str, offset: usize) -> Error {
    Error::malformed(Reason::PayloadEmptyField, field, offset)
}

const fn zero_field(field: &'static str, offset: usize) -> Error {
    Error::malformed(Reason::PayloadZeroField, field, offset)
}

const fn wrong_length(field: &'static str, offset: usize, len: usize) -> Error {
    Error::over(Reason::PayloadLength, field, offset, len)
}
