//! `horizon keys`: key files of one signer, of one validator, or of a whole set of validators.

pub(crate) mod validator;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use horizon_sig::algorithm::Algorithm;

use crate::exit::Failure;
use crate::output::Output;
use crate::scheme_keys::{SchemeKey, public_path};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a key; the secret is readable by its owner only and nothing is overwritten
    New(New),
    /// Make every key of one validator of a network, and the public file that the others need
    Validator(validator::Options),
    /// Show the public side of secret key files
    Show(Show),
}

#[derive(Args, Debug)]
pub(crate) struct New {
    /// The scheme; `validator` makes a Beam key (bls) and a certificate key (ml-dsa-65)
    #[arg(value_enum)]
    scheme: Scheme,
    /// File for the secret (the public key goes beside it, `.pub`); a folder for `validator`
    #[arg(long, value_name = "PATH")]
    out: PathBuf,
    /// With `validator`: how many, in folders validator-000, validator-001, ...
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    count: u16,
}

#[derive(Args, Debug)]
pub(crate) struct Show {
    /// Secret key files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "kebab-case")]
enum Scheme {
    Bls,
    #[value(name = "ml-dsa-44")]
    MlDsa44,
    #[value(name = "ml-dsa-65")]
    MlDsa65,
    #[value(name = "ml-dsa-87")]
    MlDsa87,
    SlhDsa,
    Ed25519,
    P256,
    Secp256k1,
    Validator,
}

impl Scheme {
    const fn algorithm(self) -> Option<Algorithm> {
        Some(match self {
            Self::Bls => Algorithm::Bls12381G2,
            Self::MlDsa44 => Algorithm::MlDsa44,
            Self::MlDsa65 => Algorithm::MlDsa65,
            Self::MlDsa87 => Algorithm::MlDsa87,
            Self::SlhDsa => Algorithm::SlhDsaSha2_192f,
            Self::Ed25519 => Algorithm::Ed25519,
            Self::P256 => Algorithm::EcdsaP256Sha256,
            Self::Secp256k1 => Algorithm::EcdsaSecp256k1Sha256,
            Self::Validator => return None,
        })
    }
}

/// Name of the Beam key in a validator's folder.
pub(super) const BEAM_KEY: &str = "beam.key";
/// Name of the certificate key in a validator's folder.
pub(super) const CERTSET_KEY: &str = "certset.key";

pub(super) fn run(command: Command, output: Output) -> Result<(), Failure> {
    match command {
        Command::New(options) => match options.scheme.algorithm() {
            Some(algorithm) => create(algorithm, &options.out, output),
            None => create_validators(&options, output),
        },
        Command::Validator(options) => validator::run(&options, output),
        Command::Show(options) => {
            for path in &options.files {
                show("keys.show", path, &SchemeKey::read(path)?, output);
            }
            Ok(())
        }
    }
}

fn create(algorithm: Algorithm, path: &Path, output: Output) -> Result<(), Failure> {
    let key = SchemeKey::generate(algorithm)?;
    key.write(path)?;
    show("keys.new", path, &key, output);
    Ok(())
}

fn create_validators(options: &New, output: Output) -> Result<(), Failure> {
    for index in 0..options.count {
        let folder = options.out.join(format!("validator-{index:03}"));
        fs::create_dir_all(&folder).map_err(|error| Failure::io(&folder, &error))?;
        create(Algorithm::Bls12381G2, &folder.join(BEAM_KEY), output)?;
        create(Algorithm::MlDsa65, &folder.join(CERTSET_KEY), output)?;
    }
    Ok(())
}

/// Post-quantum keys fill a screen each: text shows their start, JSON and the public file all of them.
fn shortened(digits: &str) -> String {
    match digits.get(..66) {
        Some(start) if digits.len() > 2 * 100 => {
            format!("{start}... ({} bytes)", digits.len() / 2 - 1)
        }
        _ => digits.to_owned(),
    }
}

fn show(kind: &str, path: &Path, key: &SchemeKey, output: Output) {
    let mut fields = key.public_fields();
    let text = |name: &str| fields[name].as_str().unwrap_or_default().to_owned();
    output.text(&format!("{} ({})", path.display(), key.algorithm()));
    output.text(&format!("  public key  {}", shortened(&text("public_key"))));
    if fields.get("possession").is_some() {
        output.text(&format!("  possession  {}", text("possession")));
    }
    fields["secret_file"] = path.display().to_string().into();
    fields["public_file"] = public_path(path).display().to_string().into();
    output.object(kind, fields);
}
