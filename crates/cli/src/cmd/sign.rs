//! `horizon sign`: signatures of one lane over the message of an envelope.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_sig::algorithm::Algorithm;
use horizon_warp::limits::ENVELOPE_LEN_MAX;
use horizon_warp::transcript::CERTIFICATE_CONTEXT;
use horizon_warp::{Envelope, Lane};
use serde_json::json;

use crate::cmd::pulsar;
use crate::exit::{Code, Failure};
use crate::key_files::{PUBLIC_MODE, malformed, read_up_to, write_new};
use crate::lane_files::LaneSignatures;
use crate::output::{Output, id};
use crate::scheme_keys::{SchemeKey, expect_scheme};
use crate::sources;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// BLS signatures of validators over the message
    Beam(Keys),
    /// ML-DSA-65 signatures of validators over the transcript
    Certset(Keys),
    /// The threshold signature of a committee over the transcript (a demonstration)
    Pulse(Pulse),
}

#[derive(Args, Debug)]
pub(super) struct Keys {
    /// Secret key files
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    key: Vec<PathBuf>,
    /// The envelope made by `message new`
    #[arg(long, value_name = "FILE")]
    envelope: PathBuf,
    /// File for the signatures
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct Pulse {
    /// Folder made by `pulsar deal`
    #[arg(long, value_name = "DIR")]
    keys: PathBuf,
    /// Positions of the signing members, for example 0,2,3
    #[arg(long, value_delimiter = ',', required = true)]
    signers: Vec<u16>,
    /// The envelope made by `message new`
    #[arg(long, value_name = "FILE")]
    envelope: PathBuf,
    /// File for the Pulse
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn run(command: Command, output: Output) -> Result<(), Failure> {
    match command {
        Command::Beam(options) => sign_all(Lane::Beam, &options, output),
        Command::Certset(options) => sign_all(Lane::CertSet, &options, output),
        Command::Pulse(options) => sign_pulse(&options, output),
    }
}

/// The envelope in these bytes.
///
/// # Errors
/// [`Code::Configuration`] with the reason.
pub(super) fn parse<'a>(path: &Path, bytes: &'a [u8]) -> Result<Envelope<'a>, Failure> {
    Envelope::parse(bytes).map_err(|error| sources::described(path, &error))
}

fn sign_all(lane: Lane, options: &Keys, output: Output) -> Result<(), Failure> {
    let bytes = read_up_to(&options.envelope, ENVELOPE_LEN_MAX)?;
    let envelope = parse(&options.envelope, &bytes)?;
    let transcript = envelope.transcript();
    let signed = match lane {
        Lane::Beam => transcript.beam_bytes(),
        _ => transcript.as_bytes(),
    };
    let mut file = LaneSignatures::new(lane, envelope.id(), signed);
    for path in &options.key {
        let key = SchemeKey::read(path)?;
        let signature = sign_one(lane, path, &key, signed)?;
        if file
            .entries
            .iter()
            .any(|(public, _)| public == key.public())
        {
            return Err(malformed(path, &"the same key twice"));
        }
        file.entries.push((key.public().to_vec(), signature));
    }
    file.write(&options.out)?;
    let count = file.entries.len();
    let (name, out) = (lane.name(), options.out.display());
    output.text(&format!("{name}: {count} signatures in {out}"));
    output.object(
        "sign",
        json!({"lane": name, "message_id": id(&file.message_id), "signatures": count,
            "signed_sha256": id(&file.signed_sha256), "file": options.out}),
    );
    Ok(())
}

fn sign_one(lane: Lane, path: &Path, key: &SchemeKey, signed: &[u8]) -> Result<Vec<u8>, Failure> {
    let wanted = match lane {
        Lane::Beam => Algorithm::Bls12381G2,
        _ => Algorithm::MlDsa65,
    };
    expect_scheme(path, key, wanted)?;
    match key {
        SchemeKey::Bls(key) => Ok(key.sign_message(signed).to_bytes().to_vec()),
        SchemeKey::MlDsa(key) => {
            let mut rng = UnwrapErr(SysRng);
            key.sign_hedged(CERTIFICATE_CONTEXT, signed, &mut rng)
                .map_err(|error| Failure::new(Code::Internal, error.to_string()))
        }
        _ => Err(malformed(path, &"no key of a lane")),
    }
}

fn sign_pulse(options: &Pulse, output: Output) -> Result<(), Failure> {
    if options.out.symlink_metadata().is_ok() {
        let text = format!("{} exists and is not overwritten", options.out.display());
        return Err(Failure::new(Code::Configuration, text));
    }
    let bytes = read_up_to(&options.envelope, ENVELOPE_LEN_MAX)?;
    let envelope = parse(&options.envelope, &bytes)?;
    let transcript = envelope.transcript();
    let signed = pulsar::sign_with(&options.keys, &options.signers, transcript.as_bytes())?;
    let pulse = signed.signature.to_pulse_bytes();
    write_new(&options.out, &pulse, PUBLIC_MODE)?;
    let out = options.out.display();
    output.text(&format!("pulse: {} bytes in {out}", pulse.len()));
    output.text(pulsar::ONE_PROCESS);
    output.object(
        "sign",
        json!({"lane": Lane::Pulse.name(), "message_id": id(&envelope.id()),
            "signers": options.signers, "bytes": pulse.len(), "file": options.out,
            "demonstration": true}),
    );
    Ok(())
}
