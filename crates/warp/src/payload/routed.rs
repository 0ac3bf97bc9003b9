//! Our own payload: a message with an address, a channel and a number.
//!
//! The message format has no destination, no nonce and no expiry, so a payload without them is
//! valid on every chain and for ever. [`Routed`] puts them inside the signed bytes. Its first byte
//! (`0x48`) is no RLP list, so it is never mistaken for another payload type.

use alloc::vec::Vec;

use super::empty_field;
use crate::error::{Error, Reason};
use crate::limits::{ROUTED_ADDRESS_LEN_MAX, UNSIGNED_LEN_MAX};
use crate::reader::Reader;

/// First four bytes: `HZR` and version 1.
const MAGIC: [u8; 4] = *b"HZR\x01";

/// An expiry height that is never reached.
pub const EXPIRY_NEVER: u64 = u64::MAX;

/// A payload addressed to one chain.
///
/// Layout, big-endian, `96 + s + r + n` bytes: magic and version 4, destination network 4,
/// destination chain 32, channel 32, nonce 8, expiry height 8, sender (`u16` length), recipient
/// (`u16` length), body (`u32` length).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routed<'a> {
    /// Network of the destination.
    pub destination_network: u32,
    /// Chain of the destination.
    pub destination_chain: [u8; 32],
    /// The sender's channel; nonces count per source chain and channel.
    pub channel: [u8; 32],
    /// Number in the channel, from 0.
    pub nonce: u64,
    /// Destination height after which the payload must not act; [`EXPIRY_NEVER`] for none.
    pub expiry_height: u64,
    /// Sender on the source chain, 1 to 256 bytes.
    pub sender: &'a [u8],
    /// Recipient on the destination chain, 1 to 256 bytes.
    pub recipient: &'a [u8],
    /// What is said.
    pub body: &'a [u8],
}

impl<'a> Routed<'a> {
    /// Decodes a routed payload.
    ///
    /// # Errors
    /// `PayloadVersion`, `PayloadTruncated`, `PayloadTrailing`, `PayloadTooLarge`,
    /// `PayloadEmptyField`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut input = Reader::payload(bytes);
        if *input.array::<4>("routed.version")? != MAGIC {
            return Err(Error::malformed(
                Reason::PayloadVersion,
                "routed.version",
                0,
            ));
        }
        let routed = Self {
            destination_network: input.u32("routed.destination_network")?,
            destination_chain: *input.array("routed.destination_chain")?,
            channel: *input.array("routed.channel")?,
            nonce: input.u64("routed.nonce")?,
            expiry_height: input.u64("routed.expiry_height")?,
            sender: input.prefixed_u16(ROUTED_ADDRESS_LEN_MAX, "routed.sender")?,
            recipient: input.prefixed_u16(ROUTED_ADDRESS_LEN_MAX, "routed.recipient")?,
            body: input.prefixed_u32(UNSIGNED_LEN_MAX, "routed.body")?,
        };
        input.finish("routed")?;
        routed.validate()?;
        Ok(routed)
    }

    /// Encodes the payload.
    ///
    /// # Errors
    /// `PayloadEmptyField`, `PayloadTooLarge`.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        self.validate()?;
        let mut out = Vec::new();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.destination_network.to_be_bytes());
        out.extend_from_slice(&self.destination_chain);
        out.extend_from_slice(&self.channel);
        out.extend_from_slice(&self.nonce.to_be_bytes());
        out.extend_from_slice(&self.expiry_height.to_be_bytes());
        for address in [self.sender, self.recipient] {
            let len = u16::try_from(address.len()).unwrap_or(u16::MAX);
            out.extend_from_slice(&len.to_be_bytes());
            out.extend_from_slice(address);
        }
        let len = u32::try_from(self.body.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(self.body);
        Ok(out)
    }

    fn validate(&self) -> Result<(), Error> {
        for (address, field) in [
            (self.sender, "routed.sender"),
            (self.recipient, "routed.recipient"),
        ] {
            if address.is_empty() {
                return Err(empty_field(field, 88));
            }
            if address.len() > ROUTED_ADDRESS_LEN_MAX {
                return Err(Error::over(
                    Reason::PayloadTooLarge,
                    field,
                    88,
                    ROUTED_ADDRESS_LEN_MAX,
                ));
            }
        }
        if self.body.len() > UNSIGNED_LEN_MAX {
            return Err(Error::over(
                Reason::PayloadTooLarge,
                "routed.body",
                92,
                UNSIGNED_LEN_MAX,
            ));
        }
        Ok(())
    }
}
