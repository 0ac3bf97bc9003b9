//! Horizon certificates: the lanes of one envelope in a form that is kept after the envelope is
//! gone.
//!
//! # Source
//! Wire specification, sections "Horizon certificate codec" and "Prism structural check".
//!
//! # Security
//! [`HorizonCertificate::check_structure`] verifies no signature and must never feed a trust
//! decision. The certificate drops the Beam's signer bits, so its Beam cannot be verified again:
//! keep the version 1 message beside it.

use alloc::vec::Vec;

use crate::attestation::Attestation;
use crate::envelope::{Envelope, Lineage};
use crate::error::{Error, Reason};
use crate::limits::{
    BLS_SIGNATURE_LEN, CERTIFICATE_LEN_MAX, LANES_LEN_MAX, PULSE_LEN_MAX, SUITE_LEN_MAX,
    UNSIGNED_LEN_MAX,
};
use crate::message::UnsignedMessage;
use crate::pulse::PulseFrames;
use crate::reader::Reader;
use crate::suite::SuiteId;

/// First bytes of every certificate.
pub const PREFIX: &[u8] = horizon_hash::domain::quasar::HORIZON_CERT;

/// A certificate as decoded or exported. Unverified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HorizonCertificate<'a> {
    /// The source chain.
    pub source_chain_id: [u8; 32],
    /// Where in the source's history.
    pub lineage: Lineage,
    /// Effective suite; never empty in an exported certificate.
    pub suite: &'a [u8],
    /// Aggregate signature, 96 bytes, or empty.
    pub beam: &'a [u8],
    /// Certificate set or Groth16 artifact, or empty.
    pub attestation: &'a [u8],
    /// Pulse, or empty.
    pub pulse: &'a [u8],
    /// Encoded unsigned message.
    pub unsigned: alloc::borrow::Cow<'a, [u8]>,
}

impl<'a> HorizonCertificate<'a> {
    /// Exports an envelope's lanes. Nothing is checked.
    #[must_use]
    pub fn from_envelope(envelope: &Envelope<'a>) -> Self {
        let message = envelope.message();
        Self {
            source_chain_id: *message.unsigned().source_chain_id(),
            lineage: *envelope.lineage(),
            suite: envelope.effective_suite(),
            beam: message.beam().signature,
            attestation: envelope.attestation().unwrap_or_default(),
            pulse: envelope.pulse().unwrap_or_default(),
            unsigned: message.unsigned().encode().into(),
        }
    }

    /// Decodes a certificate.
    ///
    /// # Errors
    /// Reasons of class `Horizon`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.len() > CERTIFICATE_LEN_MAX {
            return Err(Error::over(
                Reason::HorizonTooLarge,
                "certificate",
                0,
                CERTIFICATE_LEN_MAX,
            ));
        }
        let mut input = Reader::new(
            bytes,
            Reason::HorizonTruncated,
            Reason::HorizonTrailing,
            Reason::HorizonTooLarge,
        );
        if input.array::<22>("prefix")?.as_slice() != PREFIX {
            return Err(Error::malformed(Reason::HorizonPrefix, "prefix", 0));
        }
        let source_chain_id = *input.array("source_chain_id")?;
        let lineage = Lineage {
            nebula_root: *input.array("source_nebula_root")?,
            key_era: input.u64("source_key_era")?,
            generation: input.u64("source_generation")?,
        };
        let suite = input.prefixed_u32(SUITE_LEN_MAX, "suite")?;
        let beam_at = input.offset();
        let beam = input.prefixed_u32(BLS_SIGNATURE_LEN, "beam")?;
        if !beam.is_empty() && beam.len() != BLS_SIGNATURE_LEN {
            return Err(Error::over(
                Reason::HorizonBeam,
                "beam",
                beam_at,
                BLS_SIGNATURE_LEN,
            ));
        }
        let attestation = input.prefixed_u32(LANES_LEN_MAX, "attestation")?;
        let pulse = input.prefixed_u32(PULSE_LEN_MAX, "pulse")?;
        let unsigned = input.prefixed_u32(UNSIGNED_LEN_MAX, "unsigned")?.into();
        input.finish("certificate")?;
        Ok(Self {
            source_chain_id,
            lineage,
            suite,
            beam,
            attestation,
            pulse,
            unsigned,
        })
    }

    /// The encoding, `122` bytes and the five variable fields.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let fields = [
            self.suite,
            self.beam,
            self.attestation,
            self.pulse,
            &self.unsigned,
        ];
        let len = fields
            .iter()
            .fold(122_usize, |len, field| len.saturating_add(field.len()));
        let mut out = Vec::with_capacity(len);
        out.extend_from_slice(PREFIX);
        out.extend_from_slice(&self.source_chain_id);
        out.extend_from_slice(&self.lineage.nebula_root);
        out.extend_from_slice(&self.lineage.key_era.to_be_bytes());
        out.extend_from_slice(&self.lineage.generation.to_be_bytes());
        for field in fields {
            out.extend_from_slice(&u32::try_from(field.len()).unwrap_or(u32::MAX).to_be_bytes());
            out.extend_from_slice(field);
        }
        out
    }

    /// Whether the parts fit together: chain of the certificate and of the message agree, the suite
    /// is known, every lane present decodes. Verifies no signature.
    ///
    /// # Errors
    /// `HorizonChain`, `HorizonUnsigned`, `HorizonSuite`, `HorizonNoLanes`, `HorizonLane`.
    pub fn check_structure(&self) -> Result<(), Error> {
        let refused = |reason| Err(Error::rejected(reason));
        if self.source_chain_id == [0; 32] {
            return refused(Reason::HorizonChain);
        }
        let Ok(unsigned) = UnsignedMessage::parse(&self.unsigned) else {
            return refused(Reason::HorizonUnsigned);
        };
        if unsigned.source_chain_id() != &self.source_chain_id {
            return refused(Reason::HorizonChain);
        }
        if SuiteId::from_name(self.suite).is_err() {
            return refused(Reason::HorizonSuite);
        }
        if self.beam.is_empty() && self.attestation.is_empty() && self.pulse.is_empty() {
            return refused(Reason::HorizonNoLanes);
        }
        if !self.beam.is_empty() && self.beam.len() != BLS_SIGNATURE_LEN {
            return refused(Reason::HorizonBeam);
        }
        let attestation_bad =
            !self.attestation.is_empty() && Attestation::parse(self.attestation).is_err();
        let pulse_bad = !self.pulse.is_empty() && PulseFrames::parse(self.pulse).is_err();
        if attestation_bad || pulse_bad {
            return refused(Reason::HorizonLane);
        }
        Ok(())
    }
}
