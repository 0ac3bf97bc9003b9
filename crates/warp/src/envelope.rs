//! Version 2 envelopes: a version 1 message, the source's lineage, and the post-quantum lanes.
//!
//! An [`Envelope`] borrows everything from the bytes it was decoded from; lane bytes are never
//! copied. Decoding checks structure and sizes. It verifies nothing: what a lane proves is decided
//! by `prism` alone.
//!
//! # Source
//! Wire specification, section "Warp 2.0 envelope".

use alloc::vec::Vec;

use crate::attestation::Attestation;
use crate::error::{Error, Reason};
use crate::limits::{ENVELOPE_LEN_MAX, LANES_LEN_MAX};
use crate::message::Message;
use crate::pulse::PulseFrames;
use crate::rlp::{self, Decoder};
use crate::suite;
use crate::transcript::Transcript;

/// Lead byte of a version 2 envelope.
pub const VERSION_2: u8 = 0x02;

/// Where in the source's history a message stands. All zero in a lifted version 1 message.
///
/// # Security
/// The Beam does not bind these fields. Until a post-quantum lane has verified they are whatever
/// the relayer wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Lineage {
    /// Root of the source's state commitments; zero when the message commits to none.
    pub nebula_root: [u8; 32],
    /// Changes only when the group key changes.
    pub key_era: u64,
    /// Changes at every refresh or reshare under one group key.
    pub generation: u64,
}

/// A decoded envelope, or a version 1 message lifted into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    version: u8,
    message: Message<'a>,
    lineage: Lineage,
    suite: &'a [u8],
    pulse: &'a [u8],
    attestation: &'a [u8],
}

impl<'a> Envelope<'a> {
    /// Decodes version 2 bytes, or version 1 bytes lifted into an envelope without lineage and
    /// lanes.
    ///
    /// # Errors
    /// `EmptyInput`, `EnvelopeTooLarge`, `UnknownVersion`, then as [`Message::parse`];
    /// `LanesTooLarge`, `SuiteSyntax`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        match bytes.first() {
            Some(0xc0..) => Message::parse(bytes).map(Self::lift),
            _ => Self::parse_v2(bytes),
        }
    }

    /// Decodes version 2 bytes only.
    ///
    /// # Errors
    /// As [`Envelope::parse`].
    pub fn parse_v2(bytes: &'a [u8]) -> Result<Self, Error> {
        let empty = Error::malformed(Reason::EmptyInput, "envelope", 0);
        let (version, body) = bytes.split_first().ok_or(empty)?;
        if bytes.len() > ENVELOPE_LEN_MAX {
            return Err(Error::over(
                Reason::EnvelopeTooLarge,
                "envelope",
                0,
                ENVELOPE_LEN_MAX,
            ));
        }
        if *version != VERSION_2 {
            return Err(Error::malformed(Reason::UnknownVersion, "version", 0));
        }
        let mut input = Decoder::new(body, 1);
        let envelope = Self::read(&mut input)?;
        input.end_input("envelope")?;
        Ok(envelope)
    }

    fn read(input: &mut Decoder<'a>) -> Result<Self, Error> {
        // The whole input is one list; a body that ends before it is cut, not a list with too few
        // fields.
        if input.is_empty() {
            return Err(Error::malformed(
                Reason::RlpTruncated,
                "envelope",
                input.offset(),
            ));
        }
        let mut fields = input.list("envelope")?;
        let message = Message::read(&mut fields)?;
        let lineage = Lineage {
            nebula_root: *fields.array("source_nebula_root")?,
            key_era: fields.u64("source_key_era")?,
            generation: fields.u64("source_generation")?,
        };
        let suite = fields.string("suite")?;
        suite::check_syntax(suite.body).map_err(|error| error.shifted(suite.body_offset))?;
        let pulse = fields.string("pulse")?;
        let attestation = fields.bytes("attestation")?;
        fields.end_list("envelope")?;
        check_lanes(pulse.body, attestation, pulse.start)?;
        Ok(Self {
            version: VERSION_2,
            message,
            lineage,
            suite: suite.body,
            pulse: pulse.body,
            attestation,
        })
    }

    /// Builds an envelope whose lanes are well formed: the Pulse passes every decode guard, the
    /// attestation decodes.
    ///
    /// # Errors
    /// `SuiteSyntax`; the reasons of [`PulseFrames::parse`] and [`Attestation::parse`];
    /// `LanesTooLarge`, `EnvelopeTooLarge`.
    pub fn new(
        message: Message<'a>,
        lineage: Lineage,
        suite: &'a [u8],
        pulse: &'a [u8],
        attestation: &'a [u8],
    ) -> Result<Self, Error> {
        suite::check_syntax(suite)?;
        if !pulse.is_empty() {
            PulseFrames::parse(pulse)?;
        }
        if !attestation.is_empty() {
            Attestation::parse(attestation)?;
        }
        Self::with_lanes_unchecked(message, lineage, suite, pulse, attestation)
    }

    /// As [`Envelope::new`], with lane bytes of any content. Sizes are still checked.
    ///
    /// # Errors
    /// `SuiteSyntax`, `LanesTooLarge`, `EnvelopeTooLarge`.
    ///
    /// # Security
    /// For tools that build broken envelopes on purpose. A receiver refuses them.
    pub fn with_lanes_unchecked(
        message: Message<'a>,
        lineage: Lineage,
        suite: &'a [u8],
        pulse: &'a [u8],
        attestation: &'a [u8],
    ) -> Result<Self, Error> {
        suite::check_syntax(suite)?;
        check_lanes(pulse, attestation, 0)?;
        let envelope = Self {
            version: VERSION_2,
            message,
            lineage,
            suite,
            pulse,
            attestation,
        };
        // The lanes alone may fit while the whole does not: the total is what counts.
        if envelope.encoded_len() > ENVELOPE_LEN_MAX {
            return Err(Error::over(
                Reason::EnvelopeTooLarge,
                "envelope",
                0,
                ENVELOPE_LEN_MAX,
            ));
        }
        Ok(envelope)
    }

    /// A version 1 message as an envelope: no lineage, default suite, no lanes.
    #[must_use]
    pub fn lift(message: Message<'a>) -> Self {
        Self {
            version: 1,
            message,
            lineage: Lineage::default(),
            suite: &[],
            pulse: &[],
            attestation: &[],
        }
    }

    /// 1 for a lifted version 1 message, 2 for an envelope.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.version
    }

    /// The message inside.
    #[must_use]
    pub const fn message(&self) -> &Message<'a> {
        &self.message
    }

    /// The lineage as carried.
    #[must_use]
    pub const fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// The suite field as carried; empty means the default.
    #[must_use]
    pub const fn suite_field(&self) -> &'a [u8] {
        self.suite
    }

    /// The suite the field stands for.
    #[must_use]
    pub const fn effective_suite(&self) -> &'a [u8] {
        suite::effective(self.suite)
    }

    /// The Pulse's bytes, `None` when the lane is absent.
    #[must_use]
    pub const fn pulse(&self) -> Option<&'a [u8]> {
        if self.pulse.is_empty() {
            None
        } else {
            Some(self.pulse)
        }
    }

    /// The attestation's bytes (certificate set or Groth16 artifact), `None` when the lane is
    /// absent.
    #[must_use]
    pub const fn attestation(&self) -> Option<&'a [u8]> {
        if self.attestation.is_empty() {
            None
        } else {
            Some(self.attestation)
        }
    }

    /// The message's id: independent of lineage, lanes and version.
    #[must_use]
    pub fn id(&self) -> [u8; 32] {
        self.message.id()
    }

    /// The bytes that Pulse and certificates sign.
    #[must_use]
    pub fn transcript(&self) -> Transcript {
        Transcript::new(self.message.unsigned(), &self.lineage, self.suite)
    }

    /// The version 2 encoding. A lifted message differs from the bytes it came from: keep those to
    /// relay them.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.encoded_len());
        out.push(VERSION_2);
        rlp::put_list_header(&mut out, self.body_len());
        self.message.put(&mut out);
        rlp::put_bytes(&mut out, &self.lineage.nebula_root);
        rlp::put_uint(&mut out, self.lineage.key_era);
        rlp::put_uint(&mut out, self.lineage.generation);
        rlp::put_bytes(&mut out, self.suite);
        rlp::put_bytes(&mut out, self.pulse);
        rlp::put_bytes(&mut out, self.attestation);
        out
    }

    /// Size of [`Envelope::encode`] in bytes, lead byte included.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        rlp::list_size(self.body_len()).saturating_add(1)
    }

    fn body_len(&self) -> usize {
        [
            self.message.encoded_len(),
            rlp::bytes_size(&self.lineage.nebula_root),
            rlp::uint_size(self.lineage.key_era),
            rlp::uint_size(self.lineage.generation),
            rlp::bytes_size(self.suite),
            rlp::bytes_size(self.pulse),
            rlp::bytes_size(self.attestation),
        ]
        .into_iter()
        .fold(0, usize::saturating_add)
    }
}

const fn check_lanes(pulse: &[u8], attestation: &[u8], offset: usize) -> Result<(), Error> {
    if pulse.len().saturating_add(attestation.len()) > LANES_LEN_MAX {
        return Err(Error::over(
            Reason::LanesTooLarge,
            "lanes",
            offset,
            LANES_LEN_MAX,
        ));
    }
    Ok(())
}
