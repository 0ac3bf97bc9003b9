//! The lanes of one envelope: which are present, what each needs, and their cryptography.

use alloc::boxed::Box;
use alloc::vec::Vec;

use horizon_pulsar::{PreparedKey, Signature as PulseSignature};
use horizon_sig::{bls, error as sig_error, mldsa};

use super::wrapper::WrapperJob;
use super::{Context, LaneVerdict, Refusal, Schedule};
use crate::attestation::{Attestation, CertSet};
use crate::classify::LaneSet;
use crate::envelope::Envelope;
use crate::error::{Error, Lane, Reason};
use crate::limits::{BLS_SIGNATURE_LEN, GROTH16_LEN};
use crate::policy::SourcePolicy;
use crate::pulse::PulseFrames;
use crate::registry::Entry;
use crate::signers::Signers;
use crate::transcript::{CERTIFICATE_CONTEXT, Transcript};

/// The lanes that are to be verified: every one that is present. Required ones are present.
pub(super) struct Lanes<'a> {
    beam: Option<(Signers<'a>, &'a [u8; BLS_SIGNATURE_LEN])>,
    attestation: Option<&'a [u8]>,
    pulse: Option<&'a [u8]>,
}

impl<'a> Lanes<'a> {
    pub(super) fn present(
        envelope: &Envelope<'a>,
        source: &SourcePolicy,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let required = source.config().tier.required();
        let beam = envelope.message().beam();
        // The Beam's fields always exist. It is absent when nobody signed and the signature is
        // blank; a tier that requires it verifies even that, and finds no weight.
        let blank = beam.signers.is_empty() && beam.signature == &[0; BLS_SIGNATURE_LEN];
        let lanes = Self {
            beam: (!blank || required.contains(Lane::Beam))
                .then_some((beam.signers, beam.signature)),
            attestation: envelope.attestation(),
            pulse: envelope.pulse(),
        };
        let present = lanes.carried();
        if source.demands_pq(context.source_height) && present.post_quantum().is_empty() {
            // A tier that wants a wrapper and a Pulse and gets neither lacks its evidence; one that
            // gets the wrapper alone has classical evidence only. Both are the same refusal.
            return Err(Error::rejected(Reason::PqEvidenceMissing));
        }
        match required.iter().find(|lane| !present.contains(*lane)) {
            Some(lane) => Err(Error::lane_rejected(Reason::LaneMissing, lane)),
            None => Ok(lanes),
        }
    }

    fn carried(&self) -> LaneSet {
        let mut lanes = LaneSet::EMPTY;
        if self.beam.is_some() {
            lanes = lanes.with(Lane::Beam);
        }
        if let Some(bytes) = self.attestation {
            lanes = lanes.with(attestation_lane(bytes));
        }
        if self.pulse.is_some() {
            lanes = lanes.with(Lane::Pulse);
        }
        lanes
    }

    /// Step 5: everything but the cryptography, lane by lane.
    pub(super) fn prepare<'r>(
        &self,
        entry: &'r Entry,
        source: &SourcePolicy,
        context: &Context<'r>,
    ) -> Result<Jobs<'r>, Refusal>
    where
        'a: 'r,
    {
        let beam = match self.beam {
            Some((signers, signature)) => Some(
                BeamJob::new(signers, signature, entry, source)
                    .map_err(|error| Refusal::in_lane(error, Lane::Beam))?,
            ),
            None => None,
        };
        let certificates = match self.attestation {
            Some(bytes) => Some(
                AttestationJob::new(bytes, entry, source, context)
                    .map_err(|error| Refusal::in_lane(error, attestation_lane(bytes)))?,
            ),
            None => None,
        };
        let pulse = match self.pulse {
            Some(bytes) => Some(
                PulseJob::new(bytes, entry)
                    .map_err(|error| Refusal::in_lane(error, Lane::Pulse))?,
            ),
            None => None,
        };
        Ok(Jobs {
            beam,
            certificates,
            pulse,
        })
    }
}

/// Which lane the attestation field claims to be.
const fn attestation_lane(bytes: &[u8]) -> Lane {
    if bytes.len() == GROTH16_LEN {
        Lane::Groth16
    } else {
        Lane::CertSet
    }
}

/// The Beam with its signers' keys and weight.
struct BeamJob {
    keys: Vec<bls::ProvenKey>,
    signature: bls::CurvePoint,
    signed_weight: u64,
}

impl BeamJob {
    fn new(
        signers: Signers<'_>,
        signature: &[u8; BLS_SIGNATURE_LEN],
        entry: &Entry,
        source: &SourcePolicy,
    ) -> Result<Self, Error> {
        let signed_weight = entry
            .validators()
            .check_quorum(signers, source.beam_quorum())?;
        let keys = entry.bls_keys();
        let keys = signers
            .iter()
            .filter_map(|index| keys.get(usize::try_from(index).ok()?).copied())
            .collect();
        let signature = bls::CurvePoint::from_bytes(signature)
            .map_err(|_| Error::lane_rejected(Reason::BeamMalformed, Lane::Beam))?;
        Ok(Self {
            keys,
            signature,
            signed_weight,
        })
    }

    fn run(&self, message: &[u8]) -> Result<LaneVerdict, Error> {
        let malformed = Error::lane_rejected(Reason::BeamMalformed, Lane::Beam);
        // Keys that cancel out have no sum.
        let key = bls::AggregateKey::new(&self.keys).map_err(|_| malformed)?;
        let signature = self.signature.into_signature().map_err(|_| malformed)?;
        let witness = key
            .verify(message, &signature)
            .map_err(|_| Error::lane_rejected(Reason::BeamInvalid, Lane::Beam))?;
        Ok(LaneVerdict {
            lane: Lane::Beam,
            signed_weight: Some(self.signed_weight),
            signer_count: u32::try_from(witness.signer_count()).unwrap_or(u32::MAX),
            cached_count: 0,
            duration_ns: None,
            wrapper_setup: None,
        })
    }
}

/// What the attestation field holds, ready to be verified.
enum AttestationJob<'r> {
    CertSet(CertSetJob<'r>),
    Wrapper(Box<WrapperJob<'r>>),
}

impl<'r> AttestationJob<'r> {
    fn new(
        bytes: &'r [u8],
        entry: &'r Entry,
        source: &SourcePolicy,
        context: &Context<'r>,
    ) -> Result<Self, Error> {
        match Attestation::parse(bytes)? {
            Attestation::CertSet(certificates) => {
                CertSetJob::new(certificates, entry, source).map(Self::CertSet)
            }
            Attestation::Groth16(_) => WrapperJob::new(bytes, entry, source, context.wrapper)
                .map(|job| Self::Wrapper(Box::new(job))),
        }
    }

    fn run(&self, transcript: &[u8], context: &Context<'_>) -> Result<LaneVerdict, Error> {
        match self {
            Self::CertSet(job) => job.run(transcript, context),
            Self::Wrapper(job) => job.run(transcript),
        }
    }
}

/// The certificates with their signers' keys and weight.
struct CertSetJob<'r> {
    certificates: CertSet<'r>,
    entries: Vec<mldsa::Attestation<'r>>,
    record_hash: &'r [u8; 32],
    signed_weight: u64,
}

impl<'r> CertSetJob<'r> {
    fn new(
        certificates: CertSet<'r>,
        entry: &'r Entry,
        source: &SourcePolicy,
    ) -> Result<Self, Error> {
        let signers = certificates.signers();
        let rejected = |reason, index| Error::index_rejected(reason, Some(Lane::CertSet), index);
        if let Err(error) = signers.check_within(entry.validators().len()) {
            let index = error.index().unwrap_or_default();
            return Err(rejected(Reason::CertSetSignerIndex, index));
        }
        let mut entries = Vec::with_capacity(certificates.signatures().len());
        for (index, signature) in certificates.iter() {
            let key = entry
                .mldsa_key(index)
                .ok_or(rejected(Reason::CertSetKeyMissing, index))?;
            entries.push(mldsa::Attestation { key, signature });
        }
        let signed_weight = entry
            .validators()
            .check_quorum(signers, source.certset_quorum())
            .map_err(|_| Error::lane_rejected(Reason::CertSetWeight, Lane::CertSet))?;
        Ok(Self {
            certificates,
            entries,
            record_hash: entry.hash(),
            signed_weight,
        })
    }

    fn run(&self, transcript: &[u8], context: &Context<'_>) -> Result<LaneVerdict, Error> {
        let (entries, ctx) = (&self.entries, CERTIFICATE_CONTEXT);
        let verified = match (context.cache, context.schedule) {
            (None, Schedule::Parallel) => mldsa::par_verify_set(transcript, ctx, entries),
            (None, Schedule::Sequential) => mldsa::verify_set(transcript, ctx, entries),
            (Some(cache), Schedule::Parallel) => {
                cache.par_verify_set(self.record_hash, transcript, ctx, entries)
            }
            (Some(cache), Schedule::Sequential) => {
                cache.verify_set(self.record_hash, transcript, ctx, entries)
            }
        };
        let witness = verified.map_err(|error| self.blame(&error))?;
        Ok(LaneVerdict {
            lane: Lane::CertSet,
            signed_weight: Some(self.signed_weight),
            signer_count: u32::try_from(witness.signer_count()).unwrap_or(u32::MAX),
            cached_count: u32::try_from(witness.cached_count()).unwrap_or(u32::MAX),
            duration_ns: None,
            wrapper_setup: None,
        })
    }

    /// Names the validator of the first bad certificate.
    #[cold]
    fn blame(&self, error: &sig_error::Error) -> Error {
        let position = match error {
            sig_error::Error::Rejected(sig_error::Rejected::Signers(bad)) => {
                bad.entries().first().map(|entry| entry.index)
            }
            _ => None,
        };
        match position.and_then(|position| self.certificates.signers().iter().nth(position)) {
            Some(index) => {
                Error::index_rejected(Reason::CertSetInvalid, Some(Lane::CertSet), index)
            }
            None => Error::lane_rejected(Reason::CertSetInvalid, Lane::CertSet),
        }
    }
}

/// A decoded Pulse and the group key it must verify under.
struct PulseJob<'r> {
    signature: PulseSignature,
    key: &'r PreparedKey,
    threshold: u32,
}

impl<'r> PulseJob<'r> {
    fn new(bytes: &[u8], entry: &'r Entry) -> Result<Self, Error> {
        let key = entry
            .group_key()
            .ok_or(Error::lane_rejected(Reason::LaneUnverifiable, Lane::Pulse))?;
        PulseFrames::parse(bytes)?;
        // The kernel decodes once more, into its own types, and refuses at least what the guards
        // refuse.
        let signature = PulseSignature::from_pulse_bytes(bytes)
            .map_err(|_| Error::malformed(Reason::PulseShape, "pulse", 0))?;
        Ok(Self {
            signature,
            key,
            threshold: entry.record().threshold,
        })
    }

    fn run(&self, transcript: &[u8]) -> Result<LaneVerdict, Error> {
        let _witness = self
            .key
            .verify(transcript, &self.signature)
            .map_err(|_| Error::lane_rejected(Reason::PulseInvalid, Lane::Pulse))?;
        Ok(LaneVerdict {
            lane: Lane::Pulse,
            signed_weight: None,
            signer_count: self.threshold,
            cached_count: 0,
            duration_ns: None,
            wrapper_setup: None,
        })
    }
}

/// Step 6: the cryptography of every lane present.
pub(super) struct Jobs<'r> {
    beam: Option<BeamJob>,
    certificates: Option<AttestationJob<'r>>,
    pulse: Option<PulseJob<'r>>,
}

impl Jobs<'_> {
    pub(super) fn run(
        &self,
        transcript: &Transcript,
        context: &Context<'_>,
    ) -> Result<Vec<LaneVerdict>, Refusal> {
        let beam = || {
            let job = self.beam.as_ref()?;
            Some(timed(context, || job.run(transcript.beam_bytes())))
        };
        let certificates = || {
            let job = self.certificates.as_ref()?;
            Some(timed(context, || job.run(transcript.as_bytes(), context)))
        };
        let pulse = || {
            let job = self.pulse.as_ref()?;
            Some(timed(context, || job.run(transcript.as_bytes())))
        };
        let results = match context.schedule {
            Schedule::Parallel => {
                // The certificates split themselves further; the Beam is one long piece and starts
                // first.
                let (beam, (certificates, pulse)) =
                    rayon::join(beam, || rayon::join(certificates, pulse));
                [beam, certificates, pulse]
            }
            Schedule::Sequential => sequential([&beam, &certificates, &pulse]),
        };
        // All lanes have run; the first failure in lane order is the one reported.
        let verdicts = results
            .into_iter()
            .flatten()
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(verdicts)
    }
}

/// One lane after the other, up to the first failure.
fn sequential(
    lanes: [&dyn Fn() -> Option<Result<LaneVerdict, Error>>; 3],
) -> [Option<Result<LaneVerdict, Error>>; 3] {
    let mut failed = false;
    lanes.map(|lane| {
        let result = if failed { None } else { lane() };
        failed |= matches!(result, Some(Err(_)));
        result
    })
}

fn timed(
    context: &Context<'_>,
    lane: impl FnOnce() -> Result<LaneVerdict, Error>,
) -> Result<LaneVerdict, Error> {
    let Some(clock) = context.clock else {
        return lane();
    };
    let start = clock();
    let verdict = lane()?;
    Ok(LaneVerdict {
        duration_ns: Some(clock().saturating_sub(start)),
        ..verdict
    })
}
