//! `horizon wrapper info`: what a file is, without trusting it.

use std::path::PathBuf;

use clap::Args;
use horizon_groth16::artifact::{ARTIFACT_LEN, Artifact};
use horizon_groth16::inputs::input_count;
use horizon_groth16::prove::key::ProvingKey;
use horizon_groth16::vk::{Accept, KeyHead, Profile, VerifyingKey};
use horizon_warp::limits::ENVELOPE_LEN_MAX;
use serde_json::{Value, json};

use super::progress::failed;
use crate::exit::{Code, Failure};
use crate::key_files::{malformed, read_up_to};
use crate::output::{Output, id};
use crate::wrapper::{VERIFYING_KEY_LEN_MAX, read_key};

#[derive(Args, Debug)]
pub(in crate::cmd) struct Options {
    /// A verifying key, a proving key, or an artifact of 224 bytes
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    let path = &options.file;
    let len = std::fs::metadata(path)
        .map_err(|error| Failure::io(path, &error))?
        .len();
    if len == ARTIFACT_LEN as u64 {
        let bytes = read_up_to(path, ENVELOPE_LEN_MAX)?;
        let artifact = Artifact::from_bytes(&bytes).map_err(|error| malformed(path, &error))?;
        output.text("artifact: a well-formed proof; whether it verifies is another question");
        output.text(&format!("  inputs hash {}", id(&artifact.inputs_hash)));
        let hash = id(&artifact.inputs_hash);
        output.object(
            "wrapper-info",
            json!({"file": "artifact", "inputs_hash": hash}),
        );
        return Ok(());
    }
    if let Ok(proving) = ProvingKey::open(path) {
        let header = proving.header();
        let key = proving.verifying_key().map_err(|error| failed(&error))?;
        output.text(&format!(
            "proving key: {} rows, {} variables, {} MB",
            header.rows,
            header.variables,
            len >> 20
        ));
        print_head(&header.head, &key, output);
        let fields = json!({"file": "proving-key", "rows": header.rows,
            "variables": header.variables, "bytes": len.to_string(),
            "digest": id(proving.digest())});
        output.object("wrapper-info", merged(fields, &key));
        return Ok(());
    }
    if len > VERIFYING_KEY_LEN_MAX {
        return Err(Failure::new(
            Code::Configuration,
            "neither key nor artifact",
        ));
    }
    let key = read_key(path, Accept::Development)?;
    output.text("verifying key");
    print_head(key.head(), &key, output);
    output.object(
        "wrapper-info",
        merged(json!({"file": "verifying-key"}), &key),
    );
    Ok(())
}

fn print_head(head: &KeyHead, key: &VerifyingKey, output: Output) {
    output.text(&format!("  id       {}", id(key.id())));
    output.text(&format!("  setup    {}", head.setup.name()));
    output.text(&format!("  profile  {}", profile_name(head.profile)));
    output.text(&format!("  slots    {}", head.slots));
    output.text(&format!("  inputs   {}", input_count(head.slots)));
    output.text(&format!("  circuit  {}", id(&head.circuit)));
    if let Some(warning) = crate::wrapper::development_warning(key) {
        output.text(&format!("  {warning}"));
    }
}

fn merged(mut fields: Value, key: &VerifyingKey) -> Value {
    let head = key.head();
    fields["key_id"] = json!(id(key.id()));
    fields["setup"] = json!(head.setup.name());
    fields["profile"] = json!(profile_name(head.profile));
    fields["slots"] = json!(head.slots);
    fields["circuit"] = json!(id(&head.circuit));
    fields["post_quantum"] = json!(false);
    fields
}

pub(super) const fn profile_name(profile: Profile) -> &'static str {
    match profile {
        Profile::Roster => "roster",
        Profile::Quorum => "quorum",
    }
}
