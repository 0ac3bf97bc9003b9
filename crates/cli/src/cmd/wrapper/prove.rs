//! `horizon wrapper prove`: an envelope with certificates in, one with a wrapper out.

use std::path::{Path, PathBuf};

use clap::Args;
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_groth16::artifact::{ARTIFACT_LEN, Artifact};
use horizon_groth16::prove::circuit::Circuit;
use horizon_groth16::prove::key::ProvingKey;
use horizon_groth16::prove::prover::{Options as ProofOptions, prove};
use horizon_groth16::prove::witness::{Vote, assign};
use horizon_groth16::vk::Profile;
use horizon_warp::limits::ENVELOPE_LEN_MAX;
use horizon_warp::{Attestation, CertSet, Envelope, Quorum};
use serde_json::json;

use super::progress::{bar, failed};
use crate::cmd::aggregate::record_of;
use crate::cmd::sign::parse;
use crate::exit::{Code, Failure};
use crate::key_files::{PUBLIC_MODE, malformed, read_up_to, write_new};
use crate::output::{Output, id};
use crate::sources;
use crate::verdict::clock_ns;
use crate::wrapper::{Claim, parse_quorum};

#[derive(Args, Debug)]
pub(in crate::cmd) struct Options {
    /// The envelope with certificates
    #[arg(long, value_name = "FILE")]
    envelope: PathBuf,
    /// Registry with the record that the envelope names
    #[arg(long, value_name = "FILE")]
    registry: PathBuf,
    /// Proving key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The destination's quorum of certificate weight
    #[arg(long, value_name = "N/D", default_value = "67/100", value_parser = parse_quorum)]
    quorum: Quorum,
    /// Folder for checkpoints: a proof that was stopped goes on from there
    #[arg(long, value_name = "FOLDER")]
    checkpoint: Option<PathBuf>,
    /// Randomise the proof, so that it hides who signed even from someone who has the signatures
    #[arg(long)]
    zk: bool,
    /// File for the envelope with the wrapper
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    let bytes = read_up_to(&options.envelope, ENVELOPE_LEN_MAX)?;
    let envelope = parse(&options.envelope, &bytes)?;
    let certificates = certificates(&options.envelope, &envelope)?;
    let records = sources::read_records(&options.registry)?;
    let record = record_of(&records, &envelope)?;
    let claim = Claim::new(&options.registry, record, options.quorum)?;
    let proving = ProvingKey::open(&options.key).map_err(|error| failed(&error))?;
    let head = proving.header().head;
    if head.profile != Profile::Roster {
        let text = "the key is of the quorum profile; envelopes carry roster wrappers";
        return Err(malformed(&options.key, &text));
    }
    let key = proving.verifying_key().map_err(|error| failed(&error))?;
    let transcript = envelope.transcript();
    let statement = claim.statement(transcript.as_bytes(), key.id());
    let votes = votes(&claim, &certificates)?;
    let start = clock_ns();
    let circuit = Circuit::new(head.slots);
    let circuit = circuit.map_err(|error| malformed(&options.key, &error))?;
    let assignment = assign(&circuit, &statement, &votes)
        .map_err(|error| Failure::new(Code::Refused, error.to_string()))?;
    let mut random = UnwrapErr(SysRng);
    let mut proof_options = ProofOptions {
        checkpoint: options.checkpoint.as_deref(),
        ..ProofOptions::new()
    };
    if options.zk {
        proof_options.randomise = Some(&mut random);
    }
    let proof = prove(
        &circuit,
        &proving,
        &assignment,
        &mut proof_options,
        &mut bar(),
    )
    .map_err(|error| failed(&error))?;
    let artifact = Artifact {
        proof,
        inputs_hash: statement.inputs_hash,
    };
    let attestation = artifact.to_bytes();
    let wrapped = Envelope::with_lanes_unchecked(
        *envelope.message(),
        *envelope.lineage(),
        envelope.suite_field(),
        envelope.pulse().unwrap_or_default(),
        &attestation,
    );
    let wrapped = wrapped.map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
    let wrapped = wrapped.encode();
    write_new(&options.out, &wrapped, PUBLIC_MODE)?;
    let seconds = clock_ns().saturating_sub(start) / 1_000_000;
    let (before, after) = (bytes.len(), wrapped.len());
    output.text(&format!(
        "envelope {}, {after} bytes (with certificates {before})",
        options.out.display()
    ));
    output.text(&format!(
        "  groth16  classical, {} rows, {} key, {}.{:03} s",
        circuit.row_count(),
        head.setup.name(),
        seconds / 1000,
        seconds % 1000
    ));
    if let Some(warning) = crate::wrapper::development_warning(&key) {
        output.text(&format!("  {warning}"));
    }
    output.object(
        "wrapper-prove",
        json!({"envelope": options.out, "bytes": after, "bytes_before": before,
            "artifact_bytes": ARTIFACT_LEN, "key_id": id(key.id()), "setup": head.setup.name(),
            "post_quantum": false, "rows": circuit.row_count(),
            "duration_ms": seconds.to_string()}),
    );
    Ok(())
}

fn certificates<'a>(path: &Path, envelope: &Envelope<'a>) -> Result<CertSet<'a>, Failure> {
    let bytes = envelope.attestation().unwrap_or_default();
    match Attestation::parse(bytes) {
        Ok(Attestation::CertSet(set)) => Ok(set),
        Ok(Attestation::Groth16(_)) => Err(malformed(path, &"it carries a wrapper already")),
        Err(error) => Err(malformed(
            path,
            &format!("no certificates to wrap: {error}"),
        )),
    }
}

/// The validators in slot order, each with its certificate if it made one.
fn votes<'v>(claim: &'v Claim, certificates: &CertSet<'v>) -> Result<Vec<Vote<'v>>, Failure> {
    let members = claim.members();
    let mut votes: Vec<Vote<'_>> = members
        .into_iter()
        .map(|member| Vote {
            member,
            signature: None,
        })
        .collect();
    for (index, signature) in certificates.iter() {
        let vote = usize::try_from(index).ok().and_then(|at| votes.get_mut(at));
        let vote = vote.ok_or_else(|| {
            let text = format!("a certificate of validator {index}, which the record lacks");
            Failure::new(Code::Refused, text)
        })?;
        vote.signature = Some(signature);
    }
    Ok(votes)
}
