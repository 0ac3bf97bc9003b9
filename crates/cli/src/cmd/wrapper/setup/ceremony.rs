//! `horizon wrapper setup import-ptau|init|contribute|beacon|verify`: a key that nobody can forge
//! under if one contributor was honest.

use std::path::{Path, PathBuf};

use clap::Args;
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_groth16::prove::ceremony::{self, BEACON_LOG2_MAX, Transcript};
use horizon_groth16::prove::fft::DomainShape;
use horizon_groth16::prove::key::ProvingKey;
use horizon_groth16::prove::powers::Powers;
use serde_json::json;

use super::{KeyFiles, Shape, finish, refuse_existing};
use crate::cmd::wrapper::progress::{bar, failed};
use crate::exit::{Code, Failure};
use crate::ids::bytes_from_hex;
use crate::key_files::{PUBLIC_MODE, malformed, read_bounded, write_new};
use crate::output::{Output, id};

#[derive(Args, Debug)]
pub(in crate::cmd) struct ImportOptions {
    /// The public transcript: a `challenge` file with uncompressed points
    #[arg(long, value_name = "FILE")]
    transcript: PathBuf,
    /// The transcript has two to this many powers
    #[arg(long, value_name = "LOG2")]
    log2: u32,
    #[command(flatten)]
    shape: Shape,
    /// File for the powers
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Args, Debug)]
pub(in crate::cmd) struct InitOptions {
    /// Powers made by `import-ptau`
    #[arg(long, value_name = "FILE")]
    powers: PathBuf,
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    out: RoundFiles,
}

#[derive(Args, Debug)]
pub(in crate::cmd) struct ContributeOptions {
    #[command(flatten)]
    from: FromFiles,
    #[command(flatten)]
    out: RoundFiles,
}

#[derive(Args, Debug)]
pub(in crate::cmd) struct BeaconOptions {
    #[command(flatten)]
    from: FromFiles,
    /// The public value, 32 bytes
    #[arg(long, value_name = "HEX")]
    value: String,
    /// It is hashed two to this many times
    #[arg(long, value_name = "LOG2", default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(0..=i64::from(BEACON_LOG2_MAX)))]
    log2: u32,
    #[command(flatten)]
    out: RoundFiles,
}

#[derive(Args, Debug)]
pub(in crate::cmd) struct VerifyOptions {
    /// Powers that the ceremony started from
    #[arg(long, value_name = "FILE")]
    powers: PathBuf,
    #[command(flatten)]
    shape: Shape,
    /// Transcript of the ceremony
    #[arg(long, value_name = "FILE")]
    transcript: PathBuf,
    /// File for the recomputed start, as large as the key
    #[arg(long, value_name = "FILE")]
    scratch: PathBuf,
    #[command(flatten)]
    keys: KeyFiles,
}

/// The state of a ceremony before a step.
#[derive(Args, Debug)]
struct FromFiles {
    /// Key before this contribution
    #[arg(long, value_name = "FILE")]
    from_key: PathBuf,
    /// Transcript before this contribution
    #[arg(long, value_name = "FILE")]
    from_transcript: PathBuf,
}

/// The state of a ceremony after a step.
#[derive(Args, Debug)]
struct RoundFiles {
    /// File for the key, 450 MB per slot
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// File for the transcript
    #[arg(long, value_name = "FILE")]
    transcript: PathBuf,
}

impl FromFiles {
    fn read(&self) -> Result<(ProvingKey, Transcript), Failure> {
        let key = ProvingKey::open(&self.from_key).map_err(|error| failed(&error))?;
        Ok((key, read_transcript(&self.from_transcript)?))
    }
}

impl RoundFiles {
    fn check(&self) -> Result<(), Failure> {
        refuse_existing(&self.key)?;
        refuse_existing(&self.transcript)
    }

    fn report(&self, transcript: &Transcript, output: Output) -> Result<(), Failure> {
        write_new(&self.transcript, &transcript.to_bytes(), PUBLIC_MODE)?;
        let digest = id(&transcript.digest());
        output.text(&format!("key         {}", self.key.display()));
        output.text(&format!("transcript  {}", self.transcript.display()));
        output.text(&format!("  contributions  {}", transcript.len()));
        output.text(&format!("  digest         {digest} (publish it)"));
        output.object(
            "wrapper-ceremony",
            json!({"key": self.key, "transcript": self.transcript,
                "contributions": transcript.len(), "digest": digest}),
        );
        Ok(())
    }
}

fn read_transcript(path: &Path) -> Result<Transcript, Failure> {
    let bytes = read_bounded(path, TRANSCRIPT_LEN_MAX)?;
    Transcript::from_bytes(&bytes).map_err(|error| malformed(path, &error))
}

/// Longest transcript file, bytes: more than all contributions that are allowed.
const TRANSCRIPT_LEN_MAX: u64 = 1 << 20;

pub(super) fn import(options: &ImportOptions, output: Output) -> Result<(), Failure> {
    refuse_existing(&options.out)?;
    let rows = options.shape.circuit()?.row_count();
    let domain = DomainShape::for_points(rows);
    let domain = domain.ok_or_else(|| Failure::new(Code::Usage, "too many slots"))?;
    let rng = &mut UnwrapErr(SysRng);
    let powers = Powers::import(&options.transcript, options.log2, domain.len(), rng)
        .and_then(|powers| powers.write(&options.out).map(|()| powers))
        .map_err(|error| failed(&error))?;
    let digest = id(&powers.digest());
    output.text(&format!(
        "{} powers checked, kept in {}",
        powers.len(),
        options.out.display()
    ));
    output.text(&format!("  digest  {digest}"));
    output.object(
        "wrapper-powers",
        json!({"out": options.out, "powers": powers.len(), "digest": digest}),
    );
    Ok(())
}

pub(super) fn init(options: &InitOptions, output: Output) -> Result<(), Failure> {
    options.out.check()?;
    let circuit = options.shape.circuit()?;
    let powers = Powers::read(&options.powers).map_err(|error| failed(&error))?;
    let spec = options.shape.spec();
    let (_, transcript) = ceremony::init(&circuit, spec, &powers, &options.out.key, &mut bar())
        .map_err(|error| failed(&error))?;
    options.out.report(&transcript, output)
}

pub(super) fn contribute(options: &ContributeOptions, output: Output) -> Result<(), Failure> {
    options.out.check()?;
    let (key, transcript) = options.from.read()?;
    let rng = &mut UnwrapErr(SysRng);
    let (_, transcript) =
        ceremony::contribute(&key, &transcript, &options.out.key, rng, &mut bar())
            .map_err(|error| failed(&error))?;
    output.text("The secret of this contribution is forgotten.");
    options.out.report(&transcript, output)
}

pub(super) fn beacon(options: &BeaconOptions, output: Output) -> Result<(), Failure> {
    options.out.check()?;
    let value = bytes_from_hex(&options.value).map_err(|text| Failure::new(Code::Usage, text))?;
    let value: [u8; 32] = value
        .try_into()
        .map_err(|_| Failure::new(Code::Usage, "a beacon has 32 bytes"))?;
    let (key, transcript) = options.from.read()?;
    let rng = &mut UnwrapErr(SysRng);
    let beacon = (value, options.log2);
    let (_, transcript) =
        ceremony::beacon(&key, &transcript, beacon, &options.out.key, rng, &mut bar())
            .map_err(|error| failed(&error))?;
    options.out.report(&transcript, output)
}

pub(super) fn verify(options: &VerifyOptions, output: Output) -> Result<(), Failure> {
    refuse_existing(&options.keys.verifying_key)?;
    let circuit = options.shape.circuit()?;
    let powers = Powers::read(&options.powers).map_err(|error| failed(&error))?;
    let key = ProvingKey::open(&options.keys.key).map_err(|error| failed(&error))?;
    let transcript = read_transcript(&options.transcript)?;
    ceremony::verify(
        &circuit,
        options.shape.spec(),
        &powers,
        &key,
        &transcript,
        &options.scratch,
        &mut UnwrapErr(SysRng),
        &mut bar(),
    )
    .map_err(|error| Failure::new(Code::Refused, error.to_string()))?;
    output.text(&format!(
        "ceremony verified: {} contributions, beacon {}",
        transcript.len(),
        if transcript.ends_with_beacon() {
            "last"
        } else {
            "missing"
        }
    ));
    finish(&key, &options.keys, output)
}
