//! `horizon keys validator`: the five keys of one validator and its public file.

use std::fs::DirBuilder;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_lifecycle::seal::SealingKey;
use horizon_node::keys::{self, ValidatorKeys, encode_secret};
use horizon_sig::mldsa::{self, ParameterSet};
use horizon_sig::{bls, ed25519};
use serde_json::json;

use crate::exit::{Code, Failure};
use crate::key_files::{PUBLIC_MODE, SECRET_MODE, write_new};
use crate::output::Output;
use crate::validator_file::{VALIDATOR_FILE, ValidatorFile};

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Folder for the keys; made if it does not exist, readable by its owner only
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Name of the validator, for people
    #[arg(long)]
    name: String,
    /// Where its links will be reached
    #[arg(long, value_name = "IP:PORT")]
    address: SocketAddr,
}

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    create(&options.out, &options.name, options.address)?;
    let public = options.out.join(VALIDATOR_FILE);
    output.text(&format!(
        "keys of {} in {}",
        options.name,
        options.out.display()
    ));
    for file in FILES {
        output.text(&format!("  {file:<16} secret, mode 0600"));
    }
    output.text(&format!(
        "  {VALIDATOR_FILE:<16} public: give it to whoever starts the network"
    ));
    output.object(
        "keys.validator",
        json!({"name": options.name, "address": options.address, "folder": options.out,
            "public_file": public, "secret_files": FILES}),
    );
    Ok(())
}

/// Makes the keys and the public file of one validator in `folder`.
///
/// # Errors
/// [`Code::Configuration`] when a file exists, [`Code::Io`] when writing fails.
pub(crate) fn create(folder: &Path, name: &str, address: SocketAddr) -> Result<(), Failure> {
    if !folder.is_dir() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| Failure::io(folder, &error))?;
    }
    let all = FILES.iter().chain([&VALIDATOR_FILE]);
    if let Some(path) = all.map(|file| folder.join(file)).find(|path| path.exists()) {
        let text = format!("{} exists: keys are never overwritten", path.display());
        return Err(Failure::new(Code::Configuration, text));
    }
    let keys = generate()?;
    let public = ValidatorFile::sign(name, address, &keys)?;
    let secrets: [(&str, &str, &[u8]); 5] = [
        (keys::LINK_KEY, keys::ED25519, &*keys.link.to_seed()),
        (
            keys::CONSENSUS_KEY,
            keys::ML_DSA_65,
            &*keys.consensus.to_seed(),
        ),
        (keys::BEAM_KEY, keys::BLS, &*keys.beam.to_bytes()),
        (keys::CERTSET_KEY, keys::ML_DSA_65, &*keys.certset.to_seed()),
        (keys::SEALING_KEY, keys::SEALING, &*keys.sealing.to_bytes()),
    ];
    for (file, scheme, secret) in secrets {
        write_new(
            &folder.join(file),
            &encode_secret(scheme, secret),
            SECRET_MODE,
        )?;
    }
    let text = format!("{public}\n");
    write_new(&folder.join(VALIDATOR_FILE), text.as_bytes(), PUBLIC_MODE)
}

fn generate() -> Result<ValidatorKeys, Failure> {
    let mut rng = UnwrapErr(SysRng);
    let internal =
        |error: horizon_sig::error::Error| Failure::new(Code::Internal, error.to_string());
    Ok(ValidatorKeys {
        link: ed25519::SigningKey::generate(&mut rng).map_err(internal)?,
        consensus: mldsa::SigningKey::generate(ParameterSet::MlDsa65, &mut rng)
            .map_err(internal)?,
        beam: bls::SigningKey::generate(&mut rng).map_err(internal)?,
        certset: mldsa::SigningKey::generate(ParameterSet::MlDsa65, &mut rng).map_err(internal)?,
        sealing: SealingKey::generate(&mut rng),
    })
}

/// The secret files of a validator.
pub(crate) const FILES: [&str; 5] = [
    keys::LINK_KEY,
    keys::CONSENSUS_KEY,
    keys::BEAM_KEY,
    keys::CERTSET_KEY,
    keys::SEALING_KEY,
];
