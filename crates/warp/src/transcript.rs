//! The bytes that Pulse and certificates sign.
//!
//! # Source
//! Wire specification, section "Pulse signing transcript". The definition in the published proofs
//! (a TupleHash of five fields without the suite) differs from the deployed code; the code's plain
//! concatenation is what this module builds.

use alloc::vec::Vec;

use crate::envelope::Lineage;
use crate::message::UnsignedMessage;
use crate::suite;

/// First bytes of every transcript.
pub const TAG: &[u8] = horizon_hash::domain::warp::PULSE;

/// FIPS 204 context of the certificates, passed as context and not prepended to the message.
pub const CERTIFICATE_CONTEXT: &[u8] = horizon_hash::domain::warp::CERT_SET;

/// Tag 23, chain 32, root 32, era 8, generation 8, suite length 4.
const SUITE_OFFSET: usize = 107;

/// One transcript: `111 + s + u` bytes for a suite of `s` and an encoded unsigned message of `u`
/// bytes.
///
/// Layout: tag, source chain, nebula root, `u64be` era, `u64be` generation, `u32be` suite length
/// and suite, `u32be` message length and encoded unsigned message. The network number is bound
/// through the message. The Beam and the lanes are not included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    bytes: Vec<u8>,
    unsigned_offset: usize,
}

impl Transcript {
    /// Builds the transcript of a message under a lineage; an empty `suite` stands for the default.
    #[must_use]
    pub fn new(unsigned: &UnsignedMessage<'_>, lineage: &Lineage, suite: &[u8]) -> Self {
        let suite = suite::effective(suite);
        let unsigned_len = unsigned.encoded_len();
        let unsigned_offset = SUITE_OFFSET.saturating_add(suite.len()).saturating_add(4);
        let mut bytes = Vec::with_capacity(unsigned_offset.saturating_add(unsigned_len));
        bytes.extend_from_slice(TAG);
        bytes.extend_from_slice(unsigned.source_chain_id());
        bytes.extend_from_slice(&lineage.nebula_root);
        bytes.extend_from_slice(&lineage.key_era.to_be_bytes());
        bytes.extend_from_slice(&lineage.generation.to_be_bytes());
        // Both lengths are capped far below 2^32 by the types they come from.
        bytes.extend_from_slice(&u32::try_from(suite.len()).unwrap_or(u32::MAX).to_be_bytes());
        bytes.extend_from_slice(suite);
        bytes.extend_from_slice(
            &u32::try_from(unsigned_len)
                .unwrap_or(u32::MAX)
                .to_be_bytes(),
        );
        unsigned.put(&mut bytes);
        Self {
            bytes,
            unsigned_offset,
        }
    }

    /// What Pulse and certificates sign.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The encoded unsigned message at the end of the transcript: what the Beam signs.
    #[must_use]
    pub fn beam_bytes(&self) -> &[u8] {
        self.bytes.get(self.unsigned_offset..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets above count on these lengths, and so do the fixed reads of the decoders.
    #[test]
    fn tags_have_the_lengths_that_the_layouts_count_on() {
        assert_eq!(TAG.len() + 32 + 32 + 8 + 8 + 4, SUITE_OFFSET);
        assert_eq!(CERTIFICATE_CONTEXT.len(), 23);
        assert_eq!(crate::certificate::PREFIX.len(), 22);
        assert_eq!(crate::registry::RECORD_TAG.len(), 26);
    }
}
