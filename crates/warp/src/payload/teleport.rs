//! Token teleports in their two encodings: an RLP list, and 90 fixed bytes.
//!
//! # Source
//! Wire specification, "Teleport payload, May 2026 form" and "Teleport, fixed 90 bytes". The two
//! are told apart by the caller; their first bytes differ (`0xc0` and above against `0x03`).

use alloc::vec::Vec;

use super::{wrong_length, zero_field};
use crate::error::{Error, Reason};
use crate::reader::Reader;
use crate::rlp::{self, Decoder};

/// Version byte of both encodings.
const VERSION: u8 = 3;
const FIXED_LEN: usize = 90;

/// Moves an amount of a token to another chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Teleport {
    /// Destination chain number, not 0.
    pub destination_chain: u64,
    /// Token address.
    pub token: [u8; 20],
    /// Unsigned 256-bit big-endian.
    pub amount: [u8; 32],
    /// Recipient address.
    pub recipient: [u8; 20],
    /// True for burn-and-mint, false for a vault.
    pub vault_is_zero: bool,
    /// Sender's counter.
    pub nonce: u64,
}

impl Teleport {
    /// Decodes the RLP form.
    ///
    /// # Errors
    /// Reasons of class `Rlp`; `PayloadVersion`, `PayloadZeroField` for destination 0,
    /// `PayloadLength` for another length of token, recipient or amount, `PayloadLeadingZero` for a
    /// padded amount (the reference accepts it).
    pub fn parse_rlp(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Decoder::new(bytes, 0);
        let mut fields = input.outer_list("teleport")?;
        let version_at = fields.offset();
        let version = fields.u8("teleport.version")?;
        let destination_at = fields.offset();
        let destination_chain = fields.u64("teleport.destination_chain")?;
        let token = fields.string("teleport.token")?;
        let amount = fields.string("teleport.amount")?;
        let recipient = fields.string("teleport.recipient")?;
        let vault_is_zero = fields.bool("teleport.vault_is_zero")?;
        let nonce = fields.u64("teleport.nonce")?;
        fields.end_list("teleport")?;
        input.end_input("teleport")?;
        if version != VERSION {
            return Err(Error::malformed(
                Reason::PayloadVersion,
                "teleport.version",
                version_at,
            ));
        }
        if destination_chain == 0 {
            return Err(zero_field("teleport.destination_chain", destination_at));
        }
        let address = |item: rlp::Item<'_>, field| -> Result<[u8; 20], Error> {
            item.body
                .try_into()
                .map_err(|_| wrong_length(field, item.start, 20))
        };
        Ok(Self {
            destination_chain,
            token: address(token, "teleport.token")?,
            amount: minimal_amount(amount.body).map_err(|error| error.shifted(amount.start))?,
            recipient: address(recipient, "teleport.recipient")?,
            vault_is_zero,
            nonce,
        })
    }

    /// Encodes the RLP form.
    ///
    /// # Errors
    /// `PayloadZeroField` for destination 0.
    pub fn encode_rlp(&self) -> Result<Vec<u8>, Error> {
        self.validate()?;
        let first = self.amount.iter().position(|byte| *byte != 0).unwrap_or(32);
        let mut body = Vec::new();
        rlp::put_uint(&mut body, u64::from(VERSION));
        rlp::put_uint(&mut body, self.destination_chain);
        rlp::put_bytes(&mut body, &self.token);
        rlp::put_bytes(&mut body, self.amount.get(first..).unwrap_or_default());
        rlp::put_bytes(&mut body, &self.recipient);
        rlp::put_bool(&mut body, self.vault_is_zero);
        rlp::put_uint(&mut body, self.nonce);
        let mut out = Vec::with_capacity(rlp::list_size(body.len()));
        rlp::put_list_header(&mut out, body.len());
        out.extend_from_slice(&body);
        Ok(out)
    }

    /// Decodes the fixed form: version 1, destination 8, token 20, amount 32, recipient 20, flag 1,
    /// nonce 8.
    ///
    /// # Errors
    /// `PayloadLength` unless 90 bytes, `PayloadVersion`, `PayloadZeroField`, `PayloadBoolean`.
    pub fn parse_fixed(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.is_empty() {
            return Err(Error::malformed(Reason::EmptyInput, "teleport", 0));
        }
        if bytes.len() != FIXED_LEN {
            return Err(wrong_length(
                "teleport",
                bytes.len().min(FIXED_LEN),
                FIXED_LEN,
            ));
        }
        let mut input = Reader::payload(bytes);
        if input.u8("teleport.version")? != VERSION {
            return Err(Error::malformed(
                Reason::PayloadVersion,
                "teleport.version",
                0,
            ));
        }
        let teleport = Self {
            destination_chain: input.u64("teleport.destination_chain")?,
            token: *input.array("teleport.token")?,
            amount: *input.array("teleport.amount")?,
            recipient: *input.array("teleport.recipient")?,
            vault_is_zero: match input.u8("teleport.vault_is_zero")? {
                0 => false,
                1 => true,
                _ => {
                    let field = "teleport.vault_is_zero";
                    return Err(Error::malformed(Reason::PayloadBoolean, field, 81));
                }
            },
            nonce: input.u64("teleport.nonce")?,
        };
        input.finish("teleport")?;
        teleport.validate()?;
        Ok(teleport)
    }

    /// Encodes the fixed form, 90 bytes.
    ///
    /// # Errors
    /// `PayloadZeroField` for destination 0.
    pub fn encode_fixed(&self) -> Result<Vec<u8>, Error> {
        self.validate()?;
        let mut out = Vec::with_capacity(FIXED_LEN);
        out.push(VERSION);
        out.extend_from_slice(&self.destination_chain.to_be_bytes());
        out.extend_from_slice(&self.token);
        out.extend_from_slice(&self.amount);
        out.extend_from_slice(&self.recipient);
        out.push(u8::from(self.vault_is_zero));
        out.extend_from_slice(&self.nonce.to_be_bytes());
        Ok(out)
    }

    const fn validate(&self) -> Result<(), Error> {
        if self.destination_chain == 0 {
            return Err(zero_field("teleport.destination_chain", 1));
        }
        Ok(())
    }
}

/// A minimal big-endian amount of at most 32 bytes, widened.
fn minimal_amount(bytes: &[u8]) -> Result<[u8; 32], Error> {
    let field = "teleport.amount";
    if bytes.first() == Some(&0) {
        return Err(Error::malformed(Reason::PayloadLeadingZero, field, 0));
    }
    let pad = 32_usize
        .checked_sub(bytes.len())
        .ok_or(wrong_length(field, 0, 32))?;
    let mut amount = [0; 32];
    for (to, from) in amount.iter_mut().skip(pad).zip(bytes) {
        *to = *from;
    }
    Ok(amount)
}
