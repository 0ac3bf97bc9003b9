//! From single signatures to an envelope that the destination accepts.

use std::collections::BTreeMap;

use bytes::Bytes;
use horizon_sig::bls;
use horizon_warp::limits::{BLS_KEY_LEN, BLS_SIGNATURE_LEN, MLDSA65_SIGNATURE_LEN};
use horizon_warp::policy::SourceConfig;
use horizon_warp::prism::{Context, Refusal, Schedule};
use horizon_warp::registry::{Member, Registry};
use horizon_warp::{
    Beam, CertSet, Envelope, Lane, Message, Policy, Quorum, Reason, Record, RecordKey, SignerSet,
    Tier, UnsignedMessage, prism,
};

use crate::api::Code;
use crate::api::types::{self, Lineage, Missing, QueueLane, RegistryView};

/// Missing validators that are named; the weights tell the rest.
const MISSING_NAMED_MAX: usize = 64;

/// A validator's key in the record: what a signature is filed under, since indices move when the
/// set changes.
pub type Signer = [u8; BLS_KEY_LEN];

/// Single signatures of one message, by lane and signer. At most two per member of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Singles {
    /// Beam signatures; they bind the message only and outlive a change of generation.
    pub beam: BTreeMap<Signer, Vec<u8>>,
    /// Certificates; they bind the lineage.
    pub certset: BTreeMap<Signer, Vec<u8>>,
}

/// What the destination demands of the source, as it says itself.
///
/// # Security
/// Nothing is trusted here: a wrong answer makes this relayer build what the destination refuses.
#[derive(Debug)]
pub struct Destination {
    policy: Policy,
    registry: Registry,
    config: SourceConfig,
    source_height: u64,
    beam: Quorum,
    certset: Quorum,
}

/// How far the lanes of a message are under the destination's quorums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The lanes made of single signatures that the tier wants.
    pub lanes: Vec<QueueLane>,
    /// Validators whose signature is missing, heaviest lane first; at most 64.
    pub missing: Vec<Missing>,
    /// Whether every such lane has its quorum.
    pub complete: bool,
}

/// Why no envelope was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildFault {
    /// The stable reason.
    pub reason: Reason,
    /// Signatures that do not verify and must be dropped.
    pub invalid: Vec<(Lane, Signer)>,
    /// Whether the Pulse is at fault and must be dropped.
    pub invalid_pulse: bool,
}

impl Destination {
    /// Reads what a destination says of one source.
    ///
    /// # Errors
    /// `PolicyMissing` if it takes nothing from the source, `TierUnsupported`, `BadAnswer`, or why
    /// its records or policy are refused.
    pub fn load(view: &RegistryView, network: u32, chain: &[u8; 32]) -> Result<Self, Code> {
        let source = view
            .sources
            .iter()
            .find(|source| source.policy.network_id == network && &source.policy.chain_id == chain)
            .ok_or(Code::Warp(Reason::PolicyMissing))?;
        let warp = |error: horizon_warp::Error| Code::Warp(error.reason());
        let config = source_config(&source.policy).map_err(warp)?;
        if config.tier == Tier::Wrapped {
            return Err(Code::TierUnsupported);
        }
        let records = source.records.iter();
        let records = records
            .map(|view| Record::parse(&view.record))
            .collect::<Result<Vec<_>, _>>()
            .map_err(warp)?;
        let policy = Policy::new(&[config]).map_err(warp)?;
        let registry = Registry::load(records, &policy.pins()).map_err(warp)?;
        let quorum = |(numerator, denominator)| Quorum::new(numerator, denominator).map_err(warp);
        Ok(Self {
            beam: quorum(config.beam_quorum)?,
            certset: quorum(config.certset_quorum)?,
            policy,
            registry,
            config,
            source_height: source.source_height,
        })
    }

    /// The lanes to build.
    #[must_use]
    pub fn wants(&self, lane: Lane) -> bool {
        let required = self.config.tier.required();
        // A height from which post-quantum evidence is demanded is met by the certificates.
        let demanded = self
            .config
            .pq_since
            .is_some_and(|since| self.source_height >= since);
        required.contains(lane)
            || (lane == Lane::CertSet && demanded && required.post_quantum().is_empty())
    }

    /// The members under whom a lineage's signatures count.
    ///
    /// # Errors
    /// `RecordUnknown`.
    pub fn members(&self, lineage: &Lineage) -> Result<&[Member], Reason> {
        let key = RecordKey {
            network_id: self.config.network_id,
            chain_id: self.config.chain_id,
            key_era: lineage.key_era,
            generation: lineage.generation,
        };
        let entry = self.registry.get(&key).map_err(|error| error.reason())?;
        Ok(&entry.record().members)
    }

    /// Signer bits of what is there, for a request that wants the rest.
    ///
    /// # Errors
    /// `RecordUnknown`.
    pub fn have(&self, lineage: &Lineage, singles: &Singles) -> Result<types::Have, Reason> {
        let members = self.members(lineage)?;
        let unwanted = |lane, member: &Member| {
            !self.wants(lane) || (lane == Lane::CertSet && member.mldsa_key.is_none())
        };
        let bits = |lane, held: &BTreeMap<Signer, Vec<u8>>| {
            let members = (0_u32..).zip(members);
            let known = members
                .filter(|(_, member)| held.contains_key(&member.bls_key) || unwanted(lane, member));
            SignerSet::from_indices(known.map(|(index, _)| index)).map_err(|error| error.reason())
        };
        Ok(types::Have {
            beam: bits(Lane::Beam, &singles.beam)?,
            certset: bits(Lane::CertSet, &singles.certset)?,
        })
    }

    /// Weighs what is there.
    ///
    /// # Errors
    /// `RecordUnknown`.
    pub fn progress(&self, lineage: &Lineage, singles: &Singles) -> Result<Progress, Reason> {
        let members = self.members(lineage)?;
        let total = members
            .iter()
            .fold(0_u64, |sum, member| sum.saturating_add(member.weight));
        let mut progress = Progress {
            lanes: Vec::new(),
            missing: Vec::new(),
            complete: true,
        };
        let lanes = [
            (Lane::Beam, &singles.beam, self.beam),
            (Lane::CertSet, &singles.certset, self.certset),
        ];
        for (lane, held, quorum) in lanes {
            if !self.wants(lane) {
                continue;
            }
            let mut weight = 0_u64;
            for (index, member) in (0_u32..).zip(members) {
                if held.contains_key(&member.bls_key) {
                    weight = weight.saturating_add(member.weight);
                } else if progress.missing.len() < MISSING_NAMED_MAX {
                    progress.missing.push(Missing {
                        lane: lane.name().to_owned(),
                        index,
                        operator: member.operator.clone(),
                        weight: member.weight,
                    });
                }
            }
            progress.complete &= quorum.check(weight, total).is_ok();
            progress.lanes.push(QueueLane {
                lane: lane.name().to_owned(),
                weight,
                needed: quorum.weight_needed(total),
                total,
            });
        }
        Ok(progress)
    }

    /// Builds the envelope and puts it through Prism as the destination will.
    ///
    /// # Errors
    /// [`BuildFault`]: what Prism or an encoder refuses, and which signatures are to blame.
    pub fn build(
        &self,
        message: &types::Message,
        singles: &Singles,
        pulse: Option<&[u8]>,
        time_s: u64,
    ) -> Result<Bytes, BuildFault> {
        let unsigned = UnsignedMessage::parse(&message.unsigned)?;
        let members = self.members(&message.lineage).map_err(BuildFault::from)?;
        let beam = self.aggregate(members, singles)?;
        let certset = self.certificates(members, singles)?;
        let pulse = pulse.filter(|_| self.wants(Lane::Pulse));
        let beam = Beam {
            signers: beam.0.as_signers(),
            signature: &beam.1,
        };
        let envelope = Envelope::new(
            Message::new(unsigned, beam),
            message.lineage.into(),
            message.suite.as_bytes(),
            pulse.unwrap_or_default(),
            &certset,
        )?;
        let context = Context {
            schedule: Schedule::Sequential,
            ..Context::new(self.config.network_id, self.source_height, time_s)
        };
        match prism::verify(&envelope, &self.registry, &self.policy, &context) {
            Ok(_verified) => Ok(envelope.encode().into()),
            Err(refusal) => Err(self.blame(refusal, message, members, singles)),
        }
    }

    /// Everyone who signed: one signature whatever their number.
    fn aggregate(
        &self,
        members: &[Member],
        singles: &Singles,
    ) -> Result<(SignerSet, [u8; BLS_SIGNATURE_LEN]), BuildFault> {
        if !self.wants(Lane::Beam) {
            return Ok((SignerSet::new(), [0; BLS_SIGNATURE_LEN]));
        }
        let mut signers = SignerSet::new();
        let mut signatures = Vec::with_capacity(members.len());
        let mut invalid = Vec::new();
        for (index, member) in (0_u32..).zip(members) {
            let Some(bytes) = singles.beam.get(&member.bls_key) else {
                continue;
            };
            match bls::Signature::from_bytes(bytes) {
                Ok(signature) => {
                    signers.insert(index)?;
                    signatures.push(signature);
                }
                Err(_) => invalid.push((Lane::Beam, member.bls_key)),
            }
        }
        let aggregate = bls::aggregate(&signatures).map(|signature| signature.to_bytes());
        match aggregate {
            Ok(aggregate) if invalid.is_empty() => Ok((signers, aggregate)),
            _ if invalid.is_empty() => Err(BuildFault::from(Reason::NoSignedWeight)),
            _ => Err(BuildFault {
                reason: Reason::BeamMalformed,
                invalid,
                invalid_pulse: false,
            }),
        }
    }

    /// The heaviest certificates that reach the quorum: each costs 3,309 bytes and a verification.
    fn certificates(&self, members: &[Member], singles: &Singles) -> Result<Vec<u8>, BuildFault> {
        if !self.wants(Lane::CertSet) {
            return Ok(Vec::new());
        }
        let total = members
            .iter()
            .fold(0_u64, |sum, member| sum.saturating_add(member.weight));
        let mut held: Vec<(u32, &Member, &Vec<u8>)> = (0_u32..)
            .zip(members)
            .filter(|(_, member)| member.mldsa_key.is_some())
            .filter_map(|(index, member)| {
                Some((index, member, singles.certset.get(&member.bls_key)?))
            })
            .collect();
        held.sort_by_key(|(index, member, _)| (core::cmp::Reverse(member.weight), *index));
        let mut weight = 0_u64;
        let mut chosen: Vec<(u32, [u8; MLDSA65_SIGNATURE_LEN])> = Vec::new();
        for (index, member, bytes) in held {
            if self.certset.check(weight, total).is_ok() {
                break;
            }
            let Ok(signature) = bytes.as_slice().try_into() else {
                return Err(BuildFault {
                    reason: Reason::CertSetInvalid,
                    invalid: vec![(Lane::CertSet, member.bls_key)],
                    invalid_pulse: false,
                });
            };
            chosen.push((index, signature));
            weight = weight.saturating_add(member.weight);
        }
        chosen.sort_unstable_by_key(|(index, _)| *index);
        let (indices, signatures): (Vec<u32>, Vec<_>) = chosen.into_iter().unzip();
        let signers = SignerSet::from_indices(indices)?;
        Ok(CertSet::new(signers.as_signers(), &signatures)?.encode())
    }

    /// Which of the collected signatures a refusal is about.
    fn blame(
        &self,
        refusal: Refusal,
        message: &types::Message,
        members: &[Member],
        singles: &Singles,
    ) -> BuildFault {
        let mut fault = BuildFault::from(refusal.reason());
        let forged = refusal.outcome() == prism::Outcome::Refused;
        match refusal.lane() {
            Some(Lane::Beam) if forged => {
                fault.invalid = bad_beam_signatures(&message.unsigned, members, singles);
            }
            Some(Lane::CertSet) if forged => {
                let index = refusal
                    .index()
                    .and_then(|index| usize::try_from(index).ok());
                let member = index.and_then(|index| members.get(index));
                fault.invalid = match member {
                    Some(member) => vec![(Lane::CertSet, member.bls_key)],
                    None => Vec::new(),
                };
            }
            Some(Lane::Pulse) => fault.invalid_pulse = forged,
            _ => {}
        }
        fault
    }
}

impl From<Reason> for BuildFault {
    fn from(reason: Reason) -> Self {
        Self {
            reason,
            invalid: Vec::new(),
            invalid_pulse: false,
        }
    }
}

impl From<horizon_warp::Error> for BuildFault {
    fn from(error: horizon_warp::Error) -> Self {
        let pulse = error.class() == horizon_warp::Class::PulseFrame;
        Self {
            invalid_pulse: pulse,
            ..Self::from(error.reason())
        }
    }
}

/// One by one: only after the aggregate failed.
fn bad_beam_signatures(
    unsigned: &[u8],
    members: &[Member],
    singles: &Singles,
) -> Vec<(Lane, Signer)> {
    let good = |member: &Member, bytes: &[u8]| {
        let key = bls::VerifyingKey::from_bytes(&member.bls_key).ok()?;
        let signature = bls::Signature::from_bytes(bytes).ok()?;
        key.verify_message(unsigned, &signature).ok().map(drop)
    };
    members
        .iter()
        .filter_map(|member| Some((member, singles.beam.get(&member.bls_key)?)))
        .filter(|(member, bytes)| good(member, bytes).is_none())
        .map(|(member, _)| (Lane::Beam, member.bls_key))
        .collect()
}

fn source_config(view: &types::PolicyView) -> Result<SourceConfig, horizon_warp::Error> {
    let quorum = |view: &types::QuorumView| (view.numerator, view.denominator);
    Ok(SourceConfig {
        network_id: view.network_id,
        chain_id: view.chain_id,
        tier: Tier::from_name(&view.tier)?,
        beam_quorum: quorum(&view.beam_quorum),
        certset_quorum: quorum(&view.certset_quorum),
        pq_since: view.pq_since,
        max_age_s: view.max_age_s,
        grace_heights: view.grace_heights,
        validators_min: view.validators_min,
        threshold_min: view.threshold_min,
        registry_head: view.registry_head,
        // A network that takes the wrapper pins its key in its genesis, and the interface does not
        // tell it: an envelope of that tier is refused here, before it is sent.
        wrapper_key: None,
    })
}

impl From<&SourceConfig> for types::PolicyView {
    fn from(config: &SourceConfig) -> Self {
        let quorum = |(numerator, denominator)| types::QuorumView {
            numerator,
            denominator,
        };
        Self {
            network_id: config.network_id,
            chain_id: config.chain_id,
            tier: config.tier.name().to_owned(),
            beam_quorum: quorum(config.beam_quorum),
            certset_quorum: quorum(config.certset_quorum),
            pq_since: config.pq_since,
            max_age_s: config.max_age_s,
            grace_heights: config.grace_heights,
            validators_min: config.validators_min,
            threshold_min: config.threshold_min,
            registry_head: config.registry_head,
        }
    }
}

impl types::RecordView {
    /// Shows a record.
    ///
    /// # Errors
    /// As [`Record::encode`].
    pub fn of(record: &Record) -> Result<Self, horizon_warp::Error> {
        let members = (0_u32..).zip(&record.members);
        Ok(Self {
            hash: record.hash()?,
            key_era: record.key.key_era,
            generation: record.key.generation,
            threshold: record.threshold,
            members: members
                .map(|(index, member)| types::MemberView {
                    index,
                    operator: member.operator.clone(),
                    weight: member.weight,
                    points: member.points,
                })
                .collect(),
            record: record.encode()?,
        })
    }
}
