//! `horizon wrapper setup`: where keys come from.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_groth16::prove::circuit::Circuit;
use horizon_groth16::prove::key::ProvingKey;
use horizon_groth16::prove::setup::{SetupSpec, setup_dev, setup_test};
use horizon_groth16::vk::Profile;
use serde_json::json;

use super::progress::{bar, failed};
use crate::exit::{Code, Failure};
use crate::ids::bytes_from_hex;
use crate::key_files::{PUBLIC_MODE, write_new};
use crate::output::{Output, id};
use crate::wrapper::development_warning;

mod ceremony;

#[derive(Debug, Subcommand)]
pub(in crate::cmd) enum Command {
    /// Keys from one process: for development, since whoever runs it can forge any proof
    Dev(DevOptions),
    /// Write the verifying key of a proving key
    Export(KeyFiles),
    /// Check a public powers-of-tau transcript and keep the powers that a circuit needs
    ImportPtau(ceremony::ImportOptions),
    /// Start a ceremony from powers: the key that follows from circuit and powers alone
    Init(ceremony::InitOptions),
    /// Add a contribution with a secret from the operating system, which is then forgotten
    Contribute(ceremony::ContributeOptions),
    /// Add the last contribution, from a public value that nobody could know before
    Beacon(ceremony::BeaconOptions),
    /// Check a whole ceremony and write its verifying key
    Verify(ceremony::VerifyOptions),
}

#[derive(Args, Debug)]
pub(in crate::cmd) struct DevOptions {
    #[command(flatten)]
    shape: Shape,
    #[command(flatten)]
    out: KeyFiles,
    /// Derive the secret from this published seed instead: same seed, same key, and everybody can
    /// forge
    #[arg(long, value_name = "HEX")]
    test_seed: Option<String>,
}

/// What the circuit is for.
#[derive(Args, Clone, Copy, Debug)]
pub(in crate::cmd) struct Shape {
    /// Slots: the number of validators, or of signers that reach the quorum
    #[arg(long, value_name = "N")]
    pub(super) slots: usize,
    /// Who sits in the slots
    #[arg(long, value_enum, default_value_t = ProfileName::Roster)]
    pub(super) profile: ProfileName,
}

impl Shape {
    pub(super) const fn spec(self) -> SetupSpec {
        SetupSpec {
            profile: match self.profile {
                ProfileName::Roster => Profile::Roster,
                ProfileName::Quorum => Profile::Quorum,
            },
            slots: self.slots,
        }
    }

    pub(super) fn circuit(self) -> Result<Circuit, Failure> {
        Circuit::new(self.slots).map_err(|error| Failure::new(Code::Usage, error.to_string()))
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ProfileName {
    /// Every validator has a slot
    Roster,
    /// The signers that are named have the slots
    Quorum,
}

/// Where keys go.
#[derive(Args, Debug)]
pub(in crate::cmd) struct KeyFiles {
    /// File for the proving key, 450 MB per slot
    #[arg(long, value_name = "FILE")]
    pub(super) key: PathBuf,
    /// File for the verifying key, 440 kB per slot
    #[arg(long, value_name = "FILE")]
    pub(super) verifying_key: PathBuf,
}

pub(super) fn run(command: Command, output: Output) -> Result<(), Failure> {
    match command {
        Command::Dev(options) => dev(&options, output),
        Command::Export(files) => export(&files, output),
        Command::ImportPtau(options) => ceremony::import(&options, output),
        Command::Init(options) => ceremony::init(&options, output),
        Command::Contribute(options) => ceremony::contribute(&options, output),
        Command::Beacon(options) => ceremony::beacon(&options, output),
        Command::Verify(options) => ceremony::verify(&options, output),
    }
}

fn dev(options: &DevOptions, output: Output) -> Result<(), Failure> {
    refuse_existing(&options.out.key)?;
    refuse_existing(&options.out.verifying_key)?;
    let circuit = options.shape.circuit()?;
    let (spec, path) = (options.shape.spec(), &options.out.key);
    output.text("Whoever runs this setup can forge any proof under its key.");
    let made = match &options.test_seed {
        Some(seed) => {
            let seed = bytes_from_hex(seed).map_err(|text| Failure::new(Code::Usage, text))?;
            output.text("The seed is published: everybody can.");
            setup_test(&circuit, spec, path, &seed, &mut bar())
        }
        None => setup_dev(&circuit, spec, path, &mut UnwrapErr(SysRng), &mut bar()),
    };
    let proving = made.map_err(|error| failed(&error))?;
    finish(&proving, &options.out, output)
}

fn export(files: &KeyFiles, output: Output) -> Result<(), Failure> {
    refuse_existing(&files.verifying_key)?;
    let proving = ProvingKey::open(&files.key).map_err(|error| failed(&error))?;
    finish(&proving, files, output)
}

/// Writes the verifying key beside the proving key and says what was made.
pub(super) fn finish(
    proving: &ProvingKey,
    files: &KeyFiles,
    output: Output,
) -> Result<(), Failure> {
    let key = proving.verifying_key().map_err(|error| failed(&error))?;
    write_new(&files.verifying_key, &key.to_bytes(), PUBLIC_MODE)?;
    let setup = key.head().setup.name();
    output.text(&format!("proving key   {}", files.key.display()));
    output.text(&format!("verifying key {}", files.verifying_key.display()));
    output.text(&format!("  id     {} (pin it in the policy)", id(key.id())));
    output.text(&format!("  setup  {setup}"));
    if let Some(warning) = development_warning(&key) {
        output.text(&format!("  {warning}"));
    }
    output.object(
        "wrapper-setup",
        json!({"key": files.key, "verifying_key": files.verifying_key, "key_id": id(key.id()),
            "setup": setup, "slots": key.head().slots, "rows": proving.header().rows}),
    );
    Ok(())
}

/// Keys are never overwritten: another setup under the same name would go unnoticed.
pub(super) fn refuse_existing(path: &Path) -> Result<(), Failure> {
    if path.symlink_metadata().is_ok() {
        let text = format!("{} exists: keys are never overwritten", path.display());
        return Err(Failure::new(Code::Configuration, text));
    }
    Ok(())
}
