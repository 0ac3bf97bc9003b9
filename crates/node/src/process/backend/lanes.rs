//! The evidence of an outgoing message, lane by lane.

use bytes::Bytes;
use horizon_ledger::Outgoing;
use horizon_warp::{SignerSet, UnsignedMessage};

use super::NodeBackend;
use super::internal;
use crate::api::types::{
    Aggregate, Attestations, Have, Id, LaneProgress, Lineage, Missing, Pulse, PulseState, Single,
};
use crate::api::{ApiError, Code};
use crate::attest::{AggregateError, Evidence, LaneEvidence};

impl NodeBackend {
    pub(super) fn show_attestations(&self, id: &Id, have: &Have) -> Result<Attestations, ApiError> {
        let message = self.outgoing(id)?;
        let evidence = self.evidence_of(id)?;
        Ok(Attestations {
            id: *id,
            lineage: Lineage::from(message.lineage),
            beam: singles(&evidence.beam, &have.beam, |signature| signature.to_vec()),
            certset: singles(&evidence.certificates, &have.certset, |signature| {
                signature.to_vec()
            }),
        })
    }

    pub(super) fn show_aggregate(&self, id: &Id) -> Result<Aggregate, ApiError> {
        let message = self.outgoing(id)?;
        let evidence = self.evidence_of(id)?;
        let beam = evidence.aggregate_beam().ok().map(|(_, sum)| sum.to_vec());
        let certset = evidence.certificate_set().ok();
        let mut missing = self.missing("beam", &evidence.beam);
        missing.extend(self.missing("certset", &evidence.certificates));
        Ok(Aggregate {
            id: *id,
            lineage: Lineage::from(message.lineage),
            beam: progress(&evidence.beam, beam)?,
            certset: progress(&evidence.certificates, certset)?,
            missing,
        })
    }

    pub(super) fn show_pulse(&self, id: &Id) -> Result<Pulse, ApiError> {
        let message = self.outgoing(id)?;
        let answer = |state, attempt, members: &[u16], pulse| Pulse {
            id: *id,
            lineage: Lineage::from(message.lineage),
            state,
            attempt,
            members: members.iter().map(|member| u32::from(*member)).collect(),
            pulse,
        };
        if let Some((attempt, pulse)) = self.finished(&message)? {
            return Ok(answer(PulseState::Ready, attempt, &[], Some(pulse)));
        }
        let attempt = self.parts.services.pulse().attempt(&message.subject);
        Ok(match attempt {
            Some((number, set, _)) => answer(PulseState::Assigned, number, &set, None),
            None => answer(PulseState::Waiting, 0, &[], None),
        })
    }

    /// The Pulse of a message: from the ledger, or, a block or two earlier, from the service, which
    /// verified it.
    fn finished(&self, message: &Outgoing) -> Result<Option<(u32, Vec<u8>)>, ApiError> {
        if let Some(closed) = self.store().pulse(&message.subject).map_err(internal)? {
            return Ok(Some((closed.attempt, closed.pulse)));
        }
        let service = self.parts.services.pulse();
        let found = service.pulse(&message.subject);
        Ok(found.map(|found| (found.attempt, found.pulse.to_vec())))
    }

    pub(super) fn build_envelope(&self, id: &Id) -> Result<Bytes, ApiError> {
        let message = self.outgoing(id)?;
        let evidence = self.evidence_of(id)?;
        let finished = self.finished(&message)?;
        let incomplete =
            |lane: &'static str| ApiError::new(Code::EvidenceIncomplete).with("lane", lane);
        let (signers, beam) = evidence.aggregate_beam().map_err(|_| incomplete("beam"))?;
        let certset = evidence
            .certificate_set()
            .map_err(|_| incomplete("certset"))?;
        let (_, pulse) = finished.ok_or_else(|| incomplete("pulse"))?;
        assemble(
            &message,
            &signers,
            &beam,
            &certset,
            &pulse,
            self.genesis().suite().name(),
        )
    }

    fn evidence_of(&self, id: &Id) -> Result<Evidence, ApiError> {
        let attester = self.parts.services.attester();
        attester.aggregate(id).map_err(|error| match error {
            AggregateError::Unknown => Code::MessageUnknown.into(),
            AggregateError::TooOld => Code::HeightTooOld.into(),
            other => internal(other),
        })
    }

    fn missing<S>(&self, lane: &str, evidence: &LaneEvidence<S>) -> Vec<Missing> {
        let members = &self.genesis().record().members;
        let name = |position: u16| {
            let member = members.get(usize::from(position));
            member
                .map(|member| member.operator.clone())
                .unwrap_or_default()
        };
        evidence
            .missing
            .iter()
            .map(|missing| Missing {
                lane: lane.to_owned(),
                index: missing.signer.into(),
                operator: name(missing.signer),
                weight: missing.weight,
            })
            .collect()
    }
}

fn assemble(
    message: &Outgoing,
    signers: &SignerSet,
    beam: &[u8; 96],
    certset: &[u8],
    pulse: &[u8],
    suite: &str,
) -> Result<Bytes, ApiError> {
    let unsigned = UnsignedMessage::parse(&message.unsigned)?;
    let beam = horizon_warp::Beam {
        signers: signers.as_signers(),
        signature: beam,
    };
    let signed = horizon_warp::Message::new(unsigned, beam);
    let envelope =
        horizon_warp::Envelope::new(signed, message.lineage, suite.as_bytes(), pulse, certset)?;
    Ok(envelope.encode().into())
}

fn singles<S>(
    lane: &LaneEvidence<S>,
    have: &SignerSet,
    bytes: impl Fn(&S) -> Vec<u8>,
) -> Vec<Single> {
    lane.signatures
        .iter()
        .filter(|(position, ..)| !have.as_signers().contains((*position).into()))
        .map(|(position, _, signature)| Single {
            index: (*position).into(),
            signature: bytes(signature),
        })
        .collect()
}

fn progress<S>(
    lane: &LaneEvidence<S>,
    evidence: Option<Vec<u8>>,
) -> Result<LaneProgress, ApiError> {
    let indices = lane
        .signatures
        .iter()
        .map(|(position, ..)| u32::from(*position));
    Ok(LaneProgress {
        signers: SignerSet::from_indices(indices)?,
        weight: lane.weight,
        needed: lane.needed,
        total: lane.total,
        evidence,
    })
}
