//! `horizon explain`: lane by lane, what an envelope proves and what it does not.
//!
//! The verdict is Prism's. The lanes are looked at one by one beside it, since Prism reports its
//! first failure only.

use std::path::{Path, PathBuf};

use clap::Args;
use horizon_groth16::vk::VerifyingKey;
use horizon_warp::limits::{ENVELOPE_LEN_MAX, GROTH16_LEN};
use horizon_warp::prism;
use horizon_warp::registry::{Record, RecordKey};
use horizon_warp::{
    Attestation, Context, Envelope, Lane, Policy, Quorum, Reason, Refusal, Registry, Tier,
};
use serde_json::{Value, json};

use crate::cmd::locate;
use crate::cmd::verify::Position;
use crate::evidence::{self, Fault};
use crate::exit::{Code, Failure};
use crate::ids::Id;
use crate::key_files::read_up_to;
use crate::live::Endpoints;
use crate::output::{Output, id};
use crate::wrapper::{Claim, KeyOptions, prepare};
use crate::{sources, verdict};

#[derive(Args, Debug)]
pub(super) struct Options {
    /// Registry file, for an envelope
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// Policy file, for an envelope
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    wrapper: KeyOptions,
    #[command(flatten)]
    position: Position,
    #[command(flatten)]
    endpoints: Endpoints,
    /// Envelope file, or the id of a message to be looked for at running processes
    #[arg(value_name = "ENVELOPE|ID")]
    subject: String,
}

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    if let Ok(wanted) = options.subject.parse::<Id>()
        && !Path::new(&options.subject).exists()
    {
        return locate::run(&wanted.0, &options.endpoints, output);
    }
    let (Some(registry), Some(policy)) = (&options.registry, &options.policy) else {
        let text =
            "an envelope needs --registry and --policy; a message id needs --node or --devnet";
        return Err(Failure::new(Code::Usage, text));
    };
    explain(options, registry, policy, output)
}

fn explain(
    options: &Options,
    registry: &Path,
    policy: &Path,
    output: Output,
) -> Result<(), Failure> {
    let policy = sources::read_policy(policy)?;
    let registry = sources::load_registry(registry, &policy)?;
    let wrapper = options.wrapper.load()?;
    let context = Context {
        wrapper: wrapper.as_ref(),
        ..options.position.context(&policy)?
    };
    let bytes = read_up_to(Path::new(&options.subject), ENVELOPE_LEN_MAX)?;
    prepare(wrapper.as_ref(), &registry, &policy, &bytes);
    let start = verdict::clock_ns();
    let outcome = prism::verify_bytes(&bytes, &registry, &policy, &context);
    let total_ns = verdict::clock_ns().saturating_sub(start);
    let (fields, refusal) = match &outcome {
        Ok(verified) => (verdict::accepted_fields(verified, total_ns), None),
        Err(refusal) => (verdict::refused_fields(refusal), Some(refusal)),
    };
    match (&outcome, refusal) {
        (Ok(verified), _) => output.text(&format!("accepted: {}", verified.state().name())),
        (Err(_), Some(refusal)) => output.text(&format!("refused: {refusal}")),
        (Err(_), None) => {}
    }
    let subject = Envelope::parse(&bytes)
        .ok()
        .map(|envelope| Subject::new(envelope, &registry, &policy, &context));
    let lanes: Vec<LaneReport> = match &subject {
        Some(subject) => Lane::ALL
            .into_iter()
            .filter_map(|lane| subject.lane(lane))
            .collect(),
        None => Vec::new(),
    };
    if let Some(subject) = &subject {
        subject.print(output);
    }
    for lane in &lanes {
        output.text(&lane.line());
    }
    let advice = advice(refusal, &lanes);
    for line in &advice {
        output.text(&format!("next: {line}"));
    }
    let lanes: Vec<Value> = lanes.iter().map(LaneReport::fields).collect();
    output.object(
        "explain",
        json!({"verdict": fields, "lanes": lanes, "next": advice}),
    );
    match refusal {
        None => Ok(()),
        Some(_) => Err(Failure::new(Code::Refused, "")),
    }
}

/// What to do next, most important first.
fn advice(refusal: Option<&Refusal>, lanes: &[LaneReport]) -> Vec<String> {
    let Some(refusal) = refusal else {
        return vec![
            "record the message id in the same step as the effect: a verdict does not stop \
                     replay"
                .to_owned(),
        ];
    };
    let mut advice = vec![refusal.hint().to_owned()];
    for lane in lanes {
        let name = lane.lane.name();
        match &lane.status {
            Status::Proven if lane.missing_weight() > 0 => advice.push(format!(
                "{name}: collect weight {} more from other validators",
                lane.missing_weight()
            )),
            Status::Failed(fault) => advice.push(format!("{name}: {}", fault.reason.hint())),
            Status::Absent if lane.required => {
                advice.push(format!(
                    "{name}: the policy requires it, the envelope has none"
                ));
            }
            Status::Proven | Status::Absent | Status::Unchecked => {}
        }
    }
    advice
}

/// The envelope with what the verifier knows about its source.
struct Subject<'a> {
    envelope: Envelope<'a>,
    key: Option<RecordKey>,
    record: Option<&'a Record>,
    tier: Option<Tier>,
    quorums: (Quorum, Quorum),
    /// The wrapper key that policy pins, if it is loaded.
    wrapper_key: Option<&'a VerifyingKey>,
}

impl<'a> Subject<'a> {
    fn new(
        envelope: Envelope<'a>,
        registry: &'a Registry,
        policy: &Policy,
        context: &Context<'a>,
    ) -> Self {
        let unsigned = envelope.message().unsigned();
        let lineage = envelope.lineage();
        let generation = if envelope.version() == 1 {
            context.message_generation
        } else {
            Some((lineage.key_era, lineage.generation))
        };
        let key = generation.map(|(key_era, generation)| RecordKey {
            network_id: unsigned.network_id(),
            chain_id: *unsigned.source_chain_id(),
            key_era,
            generation,
        });
        let entry = key.and_then(|key| registry.get(&key).ok());
        let source = policy
            .source(unsigned.network_id(), unsigned.source_chain_id())
            .ok();
        Self {
            envelope,
            key,
            record: entry.map(|entry| entry.record()),
            tier: source.map(|source| source.config().tier),
            quorums: source.map_or((Quorum::DEFAULT, Quorum::DEFAULT), |source| {
                (source.beam_quorum(), source.certset_quorum())
            }),
            wrapper_key: source
                .and_then(|source| source.config().wrapper_key)
                .and_then(|id| context.wrapper?.key(&id)),
        }
    }

    fn print(&self, output: Output) {
        let unsigned = self.envelope.message().unsigned();
        output.text(&format!(
            "message {}, network {}, chain {}",
            id(&self.envelope.id()),
            unsigned.network_id(),
            id(unsigned.source_chain_id())
        ));
        match self.key {
            Some(key) => {
                output.text(&format!(
                    "  era {}, generation {}",
                    key.key_era, key.generation
                ));
            }
            None => output.text("  a version 1 message names no era (--message-generation)"),
        }
        match self.tier {
            Some(tier) => {
                let required = verdict::lane_names(tier.required()).join(", ");
                output.text(&format!(
                    "  policy: tier {}, requires {required}",
                    tier.name()
                ));
            }
            None => output.text("  policy: none for this chain"),
        }
        if self.record.is_none() {
            output.text("  registry: no record of this chain, era and generation: lanes unchecked");
        }
    }

    /// `None` for a lane that is neither carried nor required.
    fn lane(&self, lane: Lane) -> Option<LaneReport> {
        let required = self.tier.is_some_and(|tier| tier.required().contains(lane));
        let attestation = self.envelope.attestation();
        let is_proof = attestation.is_some_and(|bytes| bytes.len() == GROTH16_LEN);
        let carried = match lane {
            Lane::Beam => {
                let beam = self.envelope.message().beam();
                !beam.signers.is_empty() || beam.signature != &[0; 96]
            }
            Lane::CertSet => attestation.is_some() && !is_proof,
            Lane::Groth16 => is_proof,
            _ => self.envelope.pulse().is_some(),
        };
        if !carried && !required {
            return None;
        }
        let mut report = LaneReport {
            lane,
            required,
            status: Status::Absent,
            weight: None,
            signer_count: None,
        };
        if carried {
            report.status = match self.record {
                None => Status::Unchecked,
                Some(record) => match self.check(lane, record, &mut report) {
                    Ok(()) => Status::Proven,
                    Err(fault) => Status::Failed(fault),
                },
            };
        }
        Some(report)
    }

    fn check(&self, lane: Lane, record: &Record, report: &mut LaneReport) -> Result<(), Fault> {
        let transcript = self.envelope.transcript();
        let total = record.members.iter();
        let total = total.fold(0_u64, |sum, member| sum.saturating_add(member.weight));
        let mut weigh = |signers, quorum: Quorum| {
            report.weight = Some(Weight {
                signed: evidence::weight(record, signers),
                total,
                needed: quorum.weight_needed(total),
            });
            report.signer_count = Some(signers.count());
        };
        match lane {
            Lane::Beam => {
                weigh(self.envelope.message().beam().signers, self.quorums.0);
                evidence::check_beam(record, self.envelope.message())
            }
            Lane::Pulse => {
                report.signer_count = Some(record.threshold);
                let pulse = self.envelope.pulse().unwrap_or_default();
                evidence::check_pulse(record, transcript.as_bytes(), pulse)
            }
            _ => {
                let bytes = self.envelope.attestation().unwrap_or_default();
                match Attestation::parse(bytes)? {
                    Attestation::CertSet(set) => {
                        weigh(set.signers(), self.quorums.1);
                        evidence::check_certset(record, transcript.as_bytes(), &set)
                    }
                    Attestation::Groth16(_) => {
                        self.check_wrapper(record, transcript.as_bytes(), bytes)
                    }
                }
            }
        }
    }
}

impl Subject<'_> {
    fn check_wrapper(&self, record: &Record, transcript: &[u8], bytes: &[u8]) -> Result<(), Fault> {
        let lane = |reason| Fault {
            reason,
            validator: None,
        };
        let key = self.wrapper_key.ok_or(lane(Reason::Groth16Unsupported))?;
        let claim = Claim::of(record, self.quorums.1)?;
        let table = claim.table(key).map_err(lane)?;
        let verified = claim.verify(key, &table, transcript, bytes);
        verified.map(drop).map_err(lane)
    }
}

/// What one lane amounts to.
struct LaneReport {
    lane: Lane,
    required: bool,
    status: Status,
    weight: Option<Weight>,
    /// Validators, or the threshold in points for the Pulse.
    signer_count: Option<u32>,
}

struct Weight {
    signed: u64,
    total: u64,
    needed: u64,
}

enum Status {
    /// Its cryptography verifies. Enough weight is another question.
    Proven,
    Failed(Fault),
    /// Required and not carried.
    Absent,
    /// No record to check it under.
    Unchecked,
}

impl LaneReport {
    fn missing_weight(&self) -> u64 {
        let missing = |weight: &Weight| weight.needed.saturating_sub(weight.signed);
        self.weight.as_ref().map_or(0, missing)
    }

    const fn status_name(&self) -> &'static str {
        match &self.status {
            Status::Proven => "proven",
            Status::Failed(_) => "not proven",
            Status::Absent => "absent",
            Status::Unchecked => "unchecked",
        }
    }

    fn line(&self) -> String {
        let mut line = format!(
            "  {:<8} {:<10} {}{}",
            self.lane.name(),
            self.status_name(),
            verdict::lane_kind(self.lane),
            if self.required { ", required" } else { "" },
        );
        if let Some(Weight {
            signed,
            total,
            needed,
        }) = &self.weight
        {
            let enough = if signed >= needed {
                "enough"
            } else {
                "too little"
            };
            line += &format!(", weight {signed} of {total}, {needed} needed: {enough}");
        } else if let Some(points) = self.signer_count {
            line += &format!(", threshold of {points} points");
        }
        if let Status::Failed(fault) = &self.status {
            line += &format!(": {}: {}", fault.reason.code(), fault.reason.text());
            if let Some(index) = fault.validator {
                line += &format!(" (validator {index})");
            }
        }
        line
    }

    fn fields(&self) -> Value {
        let fault = match &self.status {
            Status::Failed(fault) => Some(*fault),
            _ => None,
        };
        let text = |number: u64| number.to_string();
        let weight = self.weight.as_ref();
        json!({"lane": self.lane.name(), "post_quantum": self.lane.is_post_quantum(),
            "required": self.required, "status": self.status_name(),
            "signer_count": self.signer_count,
            "signed_weight": weight.map(|weight| text(weight.signed)),
            "needed_weight": weight.map(|weight| text(weight.needed)),
            "total_weight": weight.map(|weight| text(weight.total)),
            "reason": fault.map(|fault| fault.reason.code()),
            "hint": fault.map(|fault| fault.reason.hint()),
            "validator": fault.and_then(|fault| fault.validator)})
    }
}
