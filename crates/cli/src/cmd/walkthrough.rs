//! `horizon walkthrough`: a message from keys to verdict, by the commands that a person would type.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use clap::{Args, Parser as _};
use serde_json::json;

use super::Arguments;
use crate::exit::{Code, Failure};
use crate::output::Output;

#[derive(Args, Debug)]
pub(super) struct Options {
    /// Validators of the source network; more than two thirds of them sign the Pulse together
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..=64))]
    validators: u16,
    /// Keep everything in this folder, which must not exist; otherwise nothing is kept
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

const SOURCE: &str = "0x1111111111111111111111111111111111111111111111111111111111111111";
const DESTINATION: &str = "0x2222222222222222222222222222222222222222222222222222222222222222";
const CHANNEL: &str = "0x3333333333333333333333333333333333333333333333333333333333333333";

/// One command: its words, with `@name` for a file of the demo's folder.
type Step<'a> = (&'a str, Vec<String>);

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    let scratch;
    let folder = if let Some(folder) = &options.keep {
        fs::create_dir(folder).map_err(|error| Failure::io(folder, &error))?;
        folder.clone()
    } else {
        scratch =
            tempfile::tempdir().map_err(|error| Failure::io(&std::env::temp_dir(), &error))?;
        scratch.path().to_path_buf()
    };
    let demo = Demo { folder, output };
    fs::write(demo.file("body"), b"pay 5 to bob")
        .map_err(|error| Failure::io(&demo.file("body"), &error))?;
    for (why, words) in steps(options.validators) {
        demo.step(why, &words)?;
    }
    demo.refusal(&words(
        "verify --registry @registry.json --policy @policy.json @envelope",
    ))
}

/// Everything up to the verdict.
fn steps(validators: u16) -> Vec<Step<'static>> {
    let threshold = validators * 2 / 3 + 1;
    let signers: Vec<String> = (0..threshold)
        .map(|position| position.to_string())
        .collect();
    let keys = |name: &str| -> String {
        (0..validators)
            .map(|index| format!(" @validators/validator-{index:03}/{name}.key"))
            .collect()
    };
    let step = |why, line: String| (why, words(&line));
    vec![
        step(
            "every validator makes its keys",
            format!("keys new validator --count {validators} --out @validators"),
        ),
        step(
            "a trusted dealer shares the key of the Pulse",
            format!("pulsar deal --n {validators} --t {threshold} --out @committee"),
        ),
        step(
            "the destination learns who the validators are",
            format!(
                "registry new --network 7 --chain {SOURCE} --validators @validators \
                 --group @committee --out @registry.json"
            ),
        ),
        step(
            "and pins what it demands of them",
            "policy new --registry @registry.json --out @policy.json".to_owned(),
        ),
        step(
            "the source emits a message",
            format!(
                "message new --registry @registry.json --payload @body --to-network 7 \
                 --to-chain {DESTINATION} --channel {CHANNEL} --nonce 0 --expiry-height 1000 \
                 --sender 0x0a --recipient 0x0b --out @draft"
            ),
        ),
        step(
            "validators sign it three times over: Beam, certificates, Pulse",
            format!(
                "sign beam --key{} --envelope @draft --out @beam",
                keys("beam")
            ),
        ),
        step(
            "",
            format!(
                "sign certset --key{} --envelope @draft --out @certset",
                keys("certset")
            ),
        ),
        step(
            "",
            format!(
                "sign pulse --keys @committee --signers {} --envelope @draft --out @pulse",
                signers.join(",")
            ),
        ),
        step(
            "anyone puts the envelope together",
            "aggregate --envelope @draft --registry @registry.json --beam @beam \
             --certset @certset --pulse @pulse --out @envelope"
                .to_owned(),
        ),
        step(
            "the destination checks it",
            "verify --registry @registry.json --policy @policy.json @envelope".to_owned(),
        ),
    ]
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

struct Demo {
    folder: PathBuf,
    output: Output,
}

impl Demo {
    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn step(&self, why: &str, words: &[String]) -> Result<(), Failure> {
        if !why.is_empty() {
            self.output.text(&format!("\n# {why}"));
        }
        self.output.text(&format!("$ horizon {}", shown(words)));
        let resolved = words.iter().map(|word| match word.strip_prefix('@') {
            Some(name) => self.file(name).into_os_string(),
            None => OsString::from(word),
        });
        let arguments = core::iter::once(OsString::from("horizon")).chain(resolved);
        let arguments = Arguments::try_parse_from(arguments)
            .map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
        super::run(arguments.command, self.output)
    }

    /// Changes one byte of the envelope and shows that it is refused.
    fn refusal(&self, verify: &[String]) -> Result<(), Failure> {
        let path = self.file("envelope");
        let io = |error: std::io::Error| Failure::io(&path, &error);
        let mut bytes = fs::read(&path).map_err(io)?;
        let middle = bytes.len() / 2;
        if let Some(byte) = bytes.get_mut(middle) {
            *byte ^= 1;
        }
        fs::write(&path, bytes).map_err(io)?;
        match self.step("one byte of it is changed on the way", verify) {
            Err(Failure {
                code: Code::Refused,
                text,
            }) => {
                self.output.text(&text);
                self.output
                    .text("\nThis process held every key: a demonstration, not a network.");
                self.output.object(
                    "walkthrough",
                    json!({"accepted": true, "changed_byte": "refused"}),
                );
                Ok(())
            }
            Err(other) => Err(other),
            Ok(()) => Err(Failure::new(
                Code::Internal,
                "a changed envelope was accepted",
            )),
        }
    }
}

/// The line as a person would type it in the demo's folder; long lists are cut.
fn shown(words: &[String]) -> String {
    let keys = words.iter().filter(|word| word.ends_with(".key")).count();
    let mut line = Vec::new();
    let mut cut = false;
    for word in words {
        if keys > 2 && word.ends_with(".key") {
            if !cut {
                let file = word.rsplit('/').next().unwrap_or_default();
                line.push(format!("validators/*/{file}"));
            }
            cut = true;
        } else {
            line.push(word.trim_start_matches('@').to_owned());
        }
    }
    line.join(" ")
}
