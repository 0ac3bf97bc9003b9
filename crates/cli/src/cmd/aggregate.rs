//! `horizon aggregate`: signatures of the lanes into one envelope.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_sig::bls;
use horizon_warp::limits::{ENVELOPE_LEN_MAX, PULSE_LEN_MAX};
use horizon_warp::registry::{Record, RecordKey};
use horizon_warp::{Beam, CertSet, Envelope, Error, Lane, Message, SignerSet, Signers, Transcript};
use serde_json::json;

use crate::cmd::sign::parse;
use crate::evidence::{self, Fault};
use crate::exit::{Code, Failure};
use crate::key_files::{PUBLIC_MODE, read_up_to, write_new};
use crate::lane_files::LaneSignatures;
use crate::output::{Output, id};
use crate::sources;

#[derive(Args, Debug)]
pub(super) struct Options {
    /// The envelope made by `message new`; lanes that it carries are kept unless given again
    #[arg(long, value_name = "FILE")]
    envelope: PathBuf,
    /// Registry with the record that the envelope names
    #[arg(long, value_name = "FILE")]
    registry: PathBuf,
    /// Files made by `sign beam`
    #[arg(long, value_name = "FILE", num_args = 1..)]
    beam: Vec<PathBuf>,
    /// Files made by `sign certset`
    #[arg(long, value_name = "FILE", num_args = 1..)]
    certset: Vec<PathBuf>,
    /// File made by `sign pulse`
    #[arg(long, value_name = "FILE")]
    pulse: Option<PathBuf>,
    /// Do not verify what is put together: to build envelopes that others must refuse
    #[arg(long)]
    unchecked: bool,
    /// File for the envelope
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Also write the version 1 message: the Beam alone, without lineage
    #[arg(long, value_name = "FILE")]
    message_out: Option<PathBuf>,
}

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    let bytes = read_up_to(&options.envelope, ENVELOPE_LEN_MAX)?;
    let draft = parse(&options.envelope, &bytes)?;
    let records = sources::read_records(&options.registry)?;
    let record = record_of(&records, &draft)?;
    let transcript = draft.transcript();
    let (signers, signature) = match options.beam.as_slice() {
        [] => {
            let beam = draft.message().beam();
            (
                SignerSet::from_bytes_trimmed(beam.signers.as_bytes()),
                *beam.signature,
            )
        }
        paths => {
            let (signers, signature) = beam(options, record, &transcript, paths)?;
            (Ok(signers), signature)
        }
    };
    let signers = signers.map_err(|error| internal(&error))?;
    let attestation = match options.certset.as_slice() {
        [] => draft.attestation().unwrap_or_default().to_vec(),
        paths => certset(options, record, &transcript, paths)?,
    };
    let pulse = match &options.pulse {
        None => draft.pulse().unwrap_or_default().to_vec(),
        Some(path) => {
            let pulse = read_up_to(path, PULSE_LEN_MAX)?;
            if !options.unchecked {
                evidence::check_pulse(record, transcript.as_bytes(), &pulse)
                    .map_err(|fault| refused(path, fault))?;
            }
            pulse
        }
    };
    let beam = Beam {
        signers: signers.as_signers(),
        signature: &signature,
    };
    let message = Message::new(*draft.message().unsigned(), beam);
    let (lineage, suite) = (*draft.lineage(), draft.suite_field());
    let envelope = Envelope::with_lanes_unchecked(message, lineage, suite, &pulse, &attestation)
        .map_err(|error| internal(&error))?;
    let bytes = envelope.encode();
    write_new(&options.out, &bytes, PUBLIC_MODE)?;
    if let Some(path) = &options.message_out {
        write_new(path, &message.encode(), PUBLIC_MODE)?;
    }
    report(options, record, &envelope, bytes.len(), output);
    Ok(())
}

/// The record that the envelope names, exactly.
pub(super) fn record_of<'r>(
    records: &'r [Record],
    draft: &Envelope<'_>,
) -> Result<&'r Record, Failure> {
    let unsigned = draft.message().unsigned();
    let key = RecordKey {
        network_id: unsigned.network_id(),
        chain_id: *unsigned.source_chain_id(),
        key_era: draft.lineage().key_era,
        generation: draft.lineage().generation,
    };
    let found = records.iter().find(|record| record.key == key);
    found.ok_or_else(|| {
        let text = "the registry has no record of the envelope's chain, era and generation";
        Failure::new(Code::Configuration, text)
    })
}

/// One signature with the file it came from.
struct Found {
    path: PathBuf,
    signature: Vec<u8>,
}

/// Signatures by canonical index of the validator, from all files.
fn collect(
    paths: &[PathBuf],
    lane: Lane,
    signed: &[u8],
    keys: &BTreeMap<&[u8], u32>,
    unchecked: bool,
) -> Result<BTreeMap<u32, Found>, Failure> {
    let mut all = BTreeMap::new();
    for path in paths {
        let file = LaneSignatures::read(path)?;
        if !unchecked {
            file.check(path, lane, signed)?;
        }
        for (public, signature) in file.entries {
            let Some(index) = keys.get(public.as_slice()) else {
                let text = format!("{}: a key of no validator of the record", path.display());
                return Err(Failure::new(Code::Refused, text));
            };
            let path = path.clone();
            all.insert(*index, Found { path, signature });
        }
    }
    if all.is_empty() {
        let text = format!("no {} signature in these files", lane.name());
        return Err(Failure::new(Code::Insufficient, text));
    }
    Ok(all)
}

fn beam(
    options: &Options,
    record: &Record,
    transcript: &Transcript,
    paths: &[PathBuf],
) -> Result<(SignerSet, [u8; 96]), Failure> {
    let members = record.members.iter().zip(0_u32..);
    let keys = members
        .map(|(member, index)| (&member.bls_key[..], index))
        .collect();
    let signed = transcript.beam_bytes();
    let found = collect(paths, Lane::Beam, signed, &keys, options.unchecked)?;
    let mut entries = Vec::new();
    for (index, found) in &found {
        let key =
            evidence::beam_key(record, *index).map_err(|fault| refused(&found.path, fault))?;
        let point = bls::CurvePoint::from_bytes(&found.signature)
            .map_err(|error| refused_text(&found.path, *index, &error))?;
        entries.push((key, point));
    }
    let signers = SignerSet::from_indices(found.keys().copied()).map_err(|e| internal(&e))?;
    if options.unchecked {
        let signatures = entries.iter().map(|(_, point)| point.into_signature());
        let sum = signatures
            .collect::<Result<Vec<_>, _>>()
            .and_then(|signatures| bls::aggregate(&signatures));
        let sum = sum.map_err(|error| Failure::new(Code::Refused, error.to_string()))?;
        return Ok((signers, sum.to_bytes()));
    }
    match bls::combine(signed, &entries, &mut UnwrapErr(SysRng)) {
        Ok((_, signature, _)) => Ok((signers, signature.to_bytes())),
        Err(error) => Err(blame(&found, &error)),
    }
}

fn certset(
    options: &Options,
    record: &Record,
    transcript: &Transcript,
    paths: &[PathBuf],
) -> Result<Vec<u8>, Failure> {
    let members = record.members.iter().zip(0_u32..);
    let keys = members
        .filter_map(|(member, index)| Some((&member.mldsa_key.as_ref()?[..], index)))
        .collect();
    let signed = transcript.as_bytes();
    let found = collect(paths, Lane::CertSet, signed, &keys, options.unchecked)?;
    let mut signatures = Vec::new();
    for (index, found) in &found {
        let signature: [u8; 3309] = found
            .signature
            .as_slice()
            .try_into()
            .map_err(|_| refused_text(&found.path, *index, &"a certificate has 3309 bytes"))?;
        signatures.push(signature);
    }
    let signers = SignerSet::from_indices(found.keys().copied()).map_err(|e| internal(&e))?;
    let set = CertSet::new(signers.as_signers(), &signatures).map_err(|e| internal(&e))?;
    if !options.unchecked {
        evidence::check_certset(record, signed, &set).map_err(|fault| {
            let found = fault.validator.and_then(|index| found.get(&index));
            refused(
                found.map_or(Path::new("certset"), |found| &found.path),
                fault,
            )
        })?;
    }
    Ok(set.encode())
}

fn blame(found: &BTreeMap<u32, Found>, error: &horizon_sig::error::Error) -> Failure {
    let bad = evidence::first_bad(error).and_then(|position| found.iter().nth(position));
    match bad {
        Some((index, found)) => refused_text(&found.path, *index, error),
        None => Failure::new(Code::Refused, error.to_string()),
    }
}

fn refused(path: &Path, fault: Fault) -> Failure {
    let Fault { reason, validator } = fault;
    let who = validator
        .map(|index| format!(" (validator {index})"))
        .unwrap_or_default();
    let (path, code) = (path.display(), reason.code());
    let text = format!(
        "{path}: refused: {code}: {}{who}. {}",
        reason.text(),
        reason.hint()
    );
    Failure::new(Code::Refused, text)
}

fn refused_text(path: &Path, index: u32, error: &dyn core::fmt::Display) -> Failure {
    let text = format!("{}: refused: {error} (validator {index})", path.display());
    Failure::new(Code::Refused, text)
}

fn internal(error: &Error) -> Failure {
    Failure::new(Code::Internal, error.to_string())
}

fn report(options: &Options, record: &Record, envelope: &Envelope<'_>, len: usize, output: Output) {
    let all = record.members.iter();
    let total = all.fold(0_u64, |sum, member| sum.saturating_add(member.weight));
    let weigh = |signers: Signers<'_>| (signers.count(), evidence::weight(record, signers));
    let beam = weigh(envelope.message().beam().signers);
    let certset = envelope
        .attestation()
        .and_then(|bytes| CertSet::parse(bytes).ok());
    let certset = certset.map(|set| weigh(set.signers()));
    let checked = if options.unchecked {
        "NOT verified"
    } else {
        "each new signature verified"
    };
    output.text(&format!(
        "envelope {}, {len} bytes, {checked}",
        options.out.display()
    ));
    output.text(&format!(
        "  beam     {} validators, weight {} of {total}",
        beam.0, beam.1
    ));
    match certset {
        Some((count, weight)) => output.text(&format!(
            "  certset  {count} validators, weight {weight} of {total}"
        )),
        None => output.text("  certset  none"),
    }
    let pulse = envelope.pulse().map(<[u8]>::len);
    output.text(&format!("  pulse    {} bytes", pulse.unwrap_or_default()));
    output.object(
        "aggregate",
        json!({"envelope": options.out, "bytes": len, "message_id": id(&envelope.id()),
            "checked": !options.unchecked, "total_weight": total.to_string(),
            "beam": {"signer_count": beam.0, "signed_weight": beam.1.to_string()},
            "certset": certset.map(|(count, weight)|
                json!({"signer_count": count, "signed_weight": weight.to_string()})),
            "pulse_bytes": pulse}),
    );
}
