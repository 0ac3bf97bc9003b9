//! `horizon wrapper verify` and `batch`: the lane alone. The verdict about an envelope is Prism's.

use std::path::{Path, PathBuf};

use clap::Args;
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_groth16::artifact::Artifact;
use horizon_groth16::batch::{BATCH_MAX, BatchItem, BatchWrapper, verify_batch};
use horizon_groth16::error::{Error as ProofError, Rejected};
use horizon_groth16::vk::VerifyingKey;
use horizon_warp::limits::ENVELOPE_LEN_MAX;
use horizon_warp::{Envelope, Quorum, Reason};
use serde_json::json;

use crate::cmd::aggregate::record_of;
use crate::cmd::sign::parse;
use crate::exit::{Code, Failure};
use crate::key_files::read_up_to;
use crate::output::{Output, id};
use crate::sources;
use crate::verdict::{clock_ns, milliseconds};
use crate::wrapper::{Claim, development_warning, parse_quorum, read_key, refused};

/// What both commands need.
#[derive(Args, Debug)]
struct Trusted {
    /// Registry with the record that the envelopes name
    #[arg(long, value_name = "FILE")]
    registry: PathBuf,
    /// Verifying key
    #[arg(long, value_name = "FILE")]
    verifying_key: PathBuf,
    /// Accept a key of a development setup, whose maker can forge any proof
    #[arg(long)]
    allow_dev_wrapper: bool,
    /// The quorum of certificate weight
    #[arg(long, value_name = "N/D", default_value = "67/100", value_parser = parse_quorum)]
    quorum: Quorum,
}

impl Trusted {
    fn key(&self) -> Result<VerifyingKey, Failure> {
        let options = crate::wrapper::KeyOptions {
            allow_dev_wrapper: self.allow_dev_wrapper,
            ..Default::default()
        };
        read_key(&self.verifying_key, options.accept())
    }

    fn claim(&self, envelope: &Envelope<'_>) -> Result<Claim, Failure> {
        let records = sources::read_records(&self.registry)?;
        let record = record_of(&records, envelope)?;
        Claim::new(&self.registry, record, self.quorum)
    }
}

#[derive(Args, Debug)]
pub(in crate::cmd) struct VerifyOptions {
    #[command(flatten)]
    trusted: Trusted,
    /// The envelope with the wrapper
    #[arg(value_name = "ENVELOPE")]
    envelope: PathBuf,
}

#[derive(Args, Debug)]
pub(in crate::cmd) struct BatchOptions {
    #[command(flatten)]
    trusted: Trusted,
    /// Envelopes with wrappers, all of one record
    #[arg(value_name = "ENVELOPE", required = true, num_args = 1..)]
    envelopes: Vec<PathBuf>,
}

pub(super) fn verify(options: &VerifyOptions, output: Output) -> Result<(), Failure> {
    let path = &options.envelope;
    let bytes = read_up_to(path, ENVELOPE_LEN_MAX)?;
    let envelope = parse(path, &bytes)?;
    let key = options.trusted.key()?;
    let claim = options.trusted.claim(&envelope)?;
    let table = claim.table(&key).map_err(|reason| refused(path, reason))?;
    let transcript = envelope.transcript();
    let artifact = envelope.attestation().unwrap_or_default();
    let start = clock_ns();
    let verified = claim.verify(&key, &table, transcript.as_bytes(), artifact);
    let duration_ns = clock_ns().saturating_sub(start);
    let _witness = verified.map_err(|reason| {
        let fields = json!({"accepted": false, "reason": reason.code()});
        output.object("wrapper-verify", fields);
        let Failure { code, text } = refused(path, reason);
        output.told(code, text)
    })?;
    let (least, total) = (claim.weight_min(), claim.total_weight());
    output.text(&format!(
        "groth16: at least weight {least} of {total} signed; classical, not post-quantum"
    ));
    output.text(&format!(
        "  key   {} ({})",
        id(key.id()),
        key.head().setup.name()
    ));
    output.text(&format!("  time  {}", milliseconds(duration_ns)));
    if let Some(warning) = development_warning(&key) {
        output.text(&format!("  {warning}"));
    }
    output.object(
        "wrapper-verify",
        json!({"accepted": true, "lane": "groth16", "post_quantum": false,
            "key_id": id(key.id()), "setup": key.head().setup.name(),
            "weight_min": least.to_string(), "total_weight": total.to_string(),
            "duration_ns": duration_ns.to_string()}),
    );
    Ok(())
}

pub(super) fn batch(options: &BatchOptions, output: Output) -> Result<(), Failure> {
    if options.envelopes.len() > BATCH_MAX {
        let text = format!("at most {BATCH_MAX} envelopes at once");
        return Err(Failure::new(Code::Usage, text));
    }
    let files = options
        .envelopes
        .iter()
        .map(|path| Ok((path.as_path(), read_up_to(path, ENVELOPE_LEN_MAX)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    let envelopes = files
        .iter()
        .map(|(path, bytes)| Ok((*path, parse(path, bytes)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    let key = options.trusted.key()?;
    let (first_path, first) = envelopes
        .first()
        .ok_or_else(|| Failure::new(Code::Usage, "no envelope"))?;
    let claim = options.trusted.claim(first)?;
    let one_record = envelopes
        .iter()
        .all(|(_, envelope)| of_same_record(first, envelope));
    if !one_record {
        return Err(Failure::new(
            Code::Usage,
            "the envelopes name several records",
        ));
    }
    let table = claim
        .table(&key)
        .map_err(|reason| refused(first_path, reason))?;
    let start = clock_ns();
    let mut artifacts = Vec::with_capacity(envelopes.len());
    for (path, envelope) in &envelopes {
        let bytes = envelope.attestation().unwrap_or_default();
        let artifact = Artifact::from_bytes(bytes);
        artifacts.push(artifact.map_err(|_| refused(path, Reason::Groth16Point))?);
    }
    let transcripts: Vec<_> = envelopes
        .iter()
        .map(|(_, envelope)| envelope.transcript())
        .collect();
    let items: Vec<BatchItem<'_>> = artifacts
        .iter()
        .zip(&transcripts)
        .map(|(artifact, transcript)| BatchItem {
            table: &table,
            statement: claim.statement(transcript.as_bytes(), key.id()),
            wrapper: BatchWrapper::Roster(artifact),
        })
        .collect();
    let verified = verify_batch(&key, &items, &mut UnwrapErr(SysRng));
    let duration_ns = clock_ns().saturating_sub(start);
    report(&envelopes, &key, verified.map(drop), duration_ns, output)
}

fn of_same_record(a: &Envelope<'_>, b: &Envelope<'_>) -> bool {
    let key = |envelope: &Envelope<'_>| {
        let unsigned = envelope.message().unsigned();
        let lineage = envelope.lineage();
        (
            unsigned.network_id(),
            *unsigned.source_chain_id(),
            lineage.key_era,
            lineage.generation,
        )
    };
    key(a) == key(b)
}

fn report(
    envelopes: &[(&Path, Envelope<'_>)],
    key: &VerifyingKey,
    verified: Result<(), ProofError>,
    duration_ns: u64,
    output: Output,
) -> Result<(), Failure> {
    let count = envelopes.len();
    match verified {
        Ok(()) => {
            let each = duration_ns / count.max(1) as u64;
            output.text(&format!(
                "{count} wrappers verify, {} each; classical, not post-quantum",
                milliseconds(each)
            ));
            if let Some(warning) = development_warning(key) {
                output.text(&format!("  {warning}"));
            }
            output.object(
                "wrapper-batch",
                json!({"accepted": true, "count": count, "post_quantum": false,
                    "key_id": id(key.id()), "setup": key.head().setup.name(),
                    "duration_ns": duration_ns.to_string()}),
            );
            Ok(())
        }
        Err(ProofError::Rejected(Rejected::Batch(bad))) => {
            let names: Vec<String> = bad
                .iter()
                .filter_map(|position| envelopes.get(*position))
                .map(|(path, _)| path.display().to_string())
                .collect();
            output.object(
                "wrapper-batch",
                json!({"accepted": false, "count": count, "refused": names}),
            );
            let text = format!("{} of {count} refused: {}", names.len(), names.join(", "));
            Err(output.told(Code::Refused, text))
        }
        Err(error) => Err(Failure::new(Code::Refused, error.to_string())),
    }
}
