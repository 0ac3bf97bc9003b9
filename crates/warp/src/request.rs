//! Signature request and response, as relayer and validator exchange them.
//!
//! # Source
//! Wire specification, section "Signature request protocol". The reference adds the lengths in 32
//! bits and panics on an eight-byte request; here lengths are compared with caps and with what
//! remains.

use alloc::vec::Vec;

use crate::error::{Error, Reason};
use crate::limits::{BLS_SIGNATURE_LEN, JUSTIFICATION_LEN_MAX, UNSIGNED_LEN_MAX};
use crate::message::UnsignedMessage;
use crate::reader::Reader;

/// Handler number of the protocol.
pub const HANDLER_ID: u64 = 0x1234_5678;
/// Error code a handler answers with.
pub const ERROR_CODE: i32 = 500;

/// Asks a validator for its signature over a message.
///
/// Layout: `u32be` length and message bytes, `u32be` length and justification bytes, nothing after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureRequest<'a> {
    /// Encoded unsigned message, at most 262,144 bytes; decode it with
    /// [`SignatureRequest::unsigned`].
    pub message: &'a [u8],
    /// What the validator needs to check the message, at most 65,536 bytes. Its type is the
    /// application's.
    pub justification: &'a [u8],
}

impl<'a> SignatureRequest<'a> {
    /// Decodes a request.
    ///
    /// # Errors
    /// `RequestTruncated`, `RequestTrailing`, `RequestTooLarge`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut input = reader(bytes);
        let message = input.prefixed_u32(UNSIGNED_LEN_MAX, "request.message")?;
        let justification = input.prefixed_u32(JUSTIFICATION_LEN_MAX, "request.justification")?;
        input.finish("request")?;
        Ok(Self {
            message,
            justification,
        })
    }

    /// Decodes the message inside.
    ///
    /// # Errors
    /// As [`UnsignedMessage::parse`].
    pub fn unsigned(&self) -> Result<UnsignedMessage<'a>, Error> {
        UnsignedMessage::parse(self.message)
    }

    /// Encodes the request.
    ///
    /// # Errors
    /// `RequestTooLarge` if a field is over its cap.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        check(self.message, UNSIGNED_LEN_MAX, "request.message")?;
        check(
            self.justification,
            JUSTIFICATION_LEN_MAX,
            "request.justification",
        )?;
        let mut out = Vec::new();
        put_prefixed(&mut out, self.message);
        put_prefixed(&mut out, self.justification);
        Ok(out)
    }
}

/// A validator's answer: one BLS signature, not verified here.
///
/// Layout: `u32be` 96 and the signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureResponse<'a> {
    /// Compressed G2 point.
    pub signature: &'a [u8; BLS_SIGNATURE_LEN],
}

impl<'a> SignatureResponse<'a> {
    /// Decodes a response.
    ///
    /// # Errors
    /// `RequestTruncated`, `RequestTrailing`, `ResponseLength`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut input = reader(bytes);
        if usize::try_from(input.u32("response.signature")?) != Ok(BLS_SIGNATURE_LEN) {
            return Err(Error::over(
                Reason::ResponseLength,
                "response.signature",
                0,
                BLS_SIGNATURE_LEN,
            ));
        }
        let signature = input.array("response.signature")?;
        input.finish("response")?;
        Ok(Self { signature })
    }

    /// Encodes the response, 100 bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_prefixed(&mut out, self.signature);
        out
    }
}

const fn reader(bytes: &[u8]) -> Reader<'_> {
    Reader::new(
        bytes,
        Reason::RequestTruncated,
        Reason::RequestTrailing,
        Reason::RequestTooLarge,
    )
}

const fn check(bytes: &[u8], limit: usize, field: &'static str) -> Result<(), Error> {
    if bytes.len() > limit {
        return Err(Error::over(Reason::RequestTooLarge, field, 0, limit));
    }
    Ok(())
}

fn put_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    // Callers have checked caps far below 2^32.
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(bytes);
}
