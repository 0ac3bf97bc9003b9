//! Addressed calls and hashes.

use alloc::vec::Vec;

use super::{empty_field, wrong_length};
use crate::error::Error;
use crate::rlp::{self, Decoder};

/// A call from a source address. It names no destination: wrap it in [`super::Routed`] or in the
/// application's own addressing before it may act anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressedCall<'a> {
    /// The caller on the source chain, not empty.
    pub source_address: &'a [u8],
    /// What the caller says.
    pub payload: &'a [u8],
}

impl<'a> AddressedCall<'a> {
    /// Decodes an addressed call.
    ///
    /// # Errors
    /// Reasons of class `Rlp`; `PayloadEmptyField` for an empty address.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut input = Decoder::new(bytes, 0);
        let mut fields = input.outer_list("addressed_call")?;
        let address = fields.string("source_address")?;
        let payload = fields.bytes("payload")?;
        fields.end_list("addressed_call")?;
        input.end_input("addressed_call")?;
        if address.body.is_empty() {
            return Err(empty_field("source_address", address.start));
        }
        Ok(Self {
            source_address: address.body,
            payload,
        })
    }

    /// Encodes the call.
    ///
    /// # Errors
    /// `PayloadEmptyField` for an empty address.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        if self.source_address.is_empty() {
            return Err(empty_field("source_address", 0));
        }
        let body =
            rlp::bytes_size(self.source_address).saturating_add(rlp::bytes_size(self.payload));
        let mut out = Vec::with_capacity(rlp::list_size(body));
        rlp::put_list_header(&mut out, body);
        rlp::put_bytes(&mut out, self.source_address);
        rlp::put_bytes(&mut out, self.payload);
        Ok(out)
    }
}

/// A 32-byte hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashPayload {
    /// The hash.
    pub hash: [u8; 32],
}

impl HashPayload {
    /// Decodes a hash.
    ///
    /// # Errors
    /// Reasons of class `Rlp`; `PayloadLength` unless 32 bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Decoder::new(bytes, 0);
        let mut fields = input.outer_list("hash_payload")?;
        let hash = fields.string("hash")?;
        fields.end_list("hash_payload")?;
        input.end_input("hash_payload")?;
        let hash = hash
            .body
            .try_into()
            .map_err(|_| wrong_length("hash", hash.start, 32))?;
        Ok(Self { hash })
    }

    /// Encodes the hash, 34 bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(34);
        rlp::put_list_header(&mut out, 33);
        rlp::put_bytes(&mut out, &self.hash);
        out
    }
}
