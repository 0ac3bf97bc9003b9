//! Version 1 messages: what the source chain says, and the Beam over it.
//!
//! # Source
//! Wire specification, section "Warp 1.x message".

use alloc::vec::Vec;

use sha2::{Digest, Sha256};

use crate::error::{Error, Reason};
use crate::limits::{BLS_SIGNATURE_LEN, ENVELOPE_LEN_MAX, UNSIGNED_LEN_MAX};
use crate::rlp::{self, Decoder};
use crate::signers::Signers;

/// What a source chain says: the three fields every lane binds.
///
/// The encoding is at most 262,144 bytes. There is no destination, nonce or expiry; a payload
/// carries those (see [`crate::payload::Routed`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsignedMessage<'a> {
    network_id: u32,
    source_chain_id: [u8; 32],
    payload: &'a [u8],
}

impl<'a> UnsignedMessage<'a> {
    /// Builds a message. Every network and chain number is structurally valid, 0 included.
    ///
    /// # Errors
    /// `UnsignedTooLarge` if the encoding would pass 262,144 bytes.
    pub fn new(
        network_id: u32,
        source_chain_id: [u8; 32],
        payload: &'a [u8],
    ) -> Result<Self, Error> {
        let message = Self {
            network_id,
            source_chain_id,
            payload,
        };
        message.check_size(0)?;
        Ok(message)
    }

    /// Decodes exactly one unsigned message.
    ///
    /// # Errors
    /// `EmptyInput`, `UnsignedTooLarge`, or a reason of class `Rlp`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.is_empty() {
            return Err(Error::malformed(Reason::EmptyInput, "unsigned", 0));
        }
        if bytes.len() > UNSIGNED_LEN_MAX {
            return Err(Error::over(
                Reason::UnsignedTooLarge,
                "unsigned",
                0,
                UNSIGNED_LEN_MAX,
            ));
        }
        let mut input = Decoder::new(bytes, 0);
        let message = Self::read(&mut input)?;
        input.end_input("unsigned")?;
        Ok(message)
    }

    pub(crate) fn read(input: &mut Decoder<'a>) -> Result<Self, Error> {
        let start = input.offset();
        let mut fields = input.list("unsigned")?;
        let network_id = fields.u32("network_id")?;
        let source_chain_id = *fields.array::<32>("source_chain_id")?;
        let payload = fields.bytes("payload")?;
        fields.end_list("unsigned")?;
        let message = Self {
            network_id,
            source_chain_id,
            payload,
        };
        message.check_size(start)?;
        Ok(message)
    }

    /// The network number.
    #[must_use]
    pub const fn network_id(&self) -> u32 {
        self.network_id
    }

    /// The source chain.
    #[must_use]
    pub const fn source_chain_id(&self) -> &[u8; 32] {
        &self.source_chain_id
    }

    /// The payload's bytes; their type is the receiver's to know (see [`crate::payload`]).
    #[must_use]
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// SHA-256 of the encoding: the id of the message and of every envelope around it.
    #[must_use]
    pub fn id(&self) -> [u8; 32] {
        let mut head = Vec::with_capacity(48);
        self.put_head(&mut head);
        let single = matches!(self.payload, [byte] if *byte < 0x80);
        let mut hash = Sha256::new();
        hash.update(&head);
        if !single {
            hash.update(self.payload);
        }
        hash.finalize().into()
    }

    /// The bytes the Beam signs.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.encoded_len());
        self.put(&mut out);
        out
    }

    /// Size of [`UnsignedMessage::encode`] in bytes.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        rlp::list_size(self.body_len())
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        self.put_head(out);
        if !matches!(self.payload, [byte] if *byte < 0x80) {
            out.extend_from_slice(self.payload);
        }
    }

    /// Everything up to the payload's own bytes. A payload of one small byte is its own header and
    /// is included.
    fn put_head(&self, out: &mut Vec<u8>) {
        rlp::put_list_header(out, self.body_len());
        rlp::put_uint(out, u64::from(self.network_id));
        rlp::put_bytes(out, &self.source_chain_id);
        match self.payload {
            [byte] if *byte < 0x80 => out.push(*byte),
            _ => rlp::put_bytes_header(out, self.payload.len()),
        }
    }

    fn body_len(&self) -> usize {
        rlp::uint_size(u64::from(self.network_id))
            .saturating_add(rlp::bytes_size(&self.source_chain_id))
            .saturating_add(rlp::bytes_size(self.payload))
    }

    fn check_size(&self, offset: usize) -> Result<(), Error> {
        if self.encoded_len() > UNSIGNED_LEN_MAX {
            return Err(Error::over(
                Reason::UnsignedTooLarge,
                "unsigned",
                offset,
                UNSIGNED_LEN_MAX,
            ));
        }
        Ok(())
    }
}

/// The Beam as carried: who signed, and one 96-byte aggregate signature over the encoded unsigned
/// message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beam<'a> {
    /// Canonical signer bits.
    pub signers: Signers<'a>,
    /// Compressed G2 point, not checked here.
    pub signature: &'a [u8; BLS_SIGNATURE_LEN],
}

/// A version 1 message: unsigned part and Beam.
///
/// Decoding checks the structure only; no signature is verified and no signer need exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    unsigned: UnsignedMessage<'a>,
    beam: Beam<'a>,
}

impl<'a> Message<'a> {
    /// Joins a message and its Beam.
    #[must_use]
    pub const fn new(unsigned: UnsignedMessage<'a>, beam: Beam<'a>) -> Self {
        Self { unsigned, beam }
    }

    /// Decodes exactly one version 1 message.
    ///
    /// # Errors
    /// `EmptyInput`, `MessageTooLarge` (checked before anything is read), `UnknownSignatureType`,
    /// `NonCanonicalSigners`, `SignersTooLarge`, `UnsignedTooLarge`, or a reason of class `Rlp`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.is_empty() {
            return Err(Error::malformed(Reason::EmptyInput, "message", 0));
        }
        if bytes.len() > ENVELOPE_LEN_MAX {
            return Err(Error::over(
                Reason::MessageTooLarge,
                "message",
                0,
                ENVELOPE_LEN_MAX,
            ));
        }
        let mut input = Decoder::new(bytes, 0);
        let message = Self::read(&mut input)?;
        input.end_input("message")?;
        Ok(message)
    }

    pub(crate) fn read(input: &mut Decoder<'a>) -> Result<Self, Error> {
        let mut fields = input.list("message")?;
        let unsigned = UnsignedMessage::read(&mut fields)?;
        let type_offset = fields.offset();
        if fields.u8("signature_type")? != 0 {
            return Err(Error::malformed(
                Reason::UnknownSignatureType,
                "signature_type",
                type_offset,
            ));
        }
        let mut signature = fields.list("signature")?;
        let bits = signature.string("signers")?;
        let signers = Signers::new(bits.body).map_err(|error| error.shifted(bits.body_offset))?;
        let beam = Beam {
            signers,
            signature: signature.array("beam")?,
        };
        signature.end_list("signature")?;
        fields.end_list("message")?;
        Ok(Self { unsigned, beam })
    }

    /// The unsigned part.
    #[must_use]
    pub const fn unsigned(&self) -> &UnsignedMessage<'a> {
        &self.unsigned
    }

    /// The Beam.
    #[must_use]
    pub const fn beam(&self) -> &Beam<'a> {
        &self.beam
    }

    /// The id of the unsigned part; the Beam is not part of it.
    #[must_use]
    pub fn id(&self) -> [u8; 32] {
        self.unsigned.id()
    }

    /// The canonical encoding.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.encoded_len());
        self.put(&mut out);
        out
    }

    /// Size of [`Message::encode`] in bytes.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        rlp::list_size(self.body_len())
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        rlp::put_list_header(out, self.body_len());
        self.unsigned.put(out);
        rlp::put_uint(out, 0);
        rlp::put_list_header(out, self.signature_len());
        rlp::put_bytes(out, self.beam.signers.as_bytes());
        rlp::put_bytes(out, self.beam.signature);
    }

    fn signature_len(&self) -> usize {
        rlp::bytes_size(self.beam.signers.as_bytes())
            .saturating_add(rlp::bytes_size(self.beam.signature))
    }

    fn body_len(&self) -> usize {
        self.unsigned
            .encoded_len()
            .saturating_add(1)
            .saturating_add(rlp::list_size(self.signature_len()))
    }
}
