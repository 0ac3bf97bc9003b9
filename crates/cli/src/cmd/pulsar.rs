//! `horizon pulsar`: deal keys, sign in one process, verify.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_hash::suite::Suite;
use horizon_pulsar::committee::{Assignment, Committee, CommitteeKey, Error, Member, SignerShare};
use horizon_pulsar::signers::Quorum;
use horizon_pulsar::{GroupKey, Signature, verify};
use serde_json::json;

use crate::deal::deal;
use crate::exit::{Code, Failure};
use crate::key_files::{self, CommitteeFile, FileRecord, KeyFolder, read_file};
use crate::local;
use crate::output::{Output, id};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// A committee of four signs in memory; the signature verifies, a changed byte is refused
    Demo,
    /// Make a group key and one share per member, as a trusted dealer
    Deal(Deal),
    /// Sign with several shares of this machine (a demonstration)
    Sign(Sign),
    /// Verify a signature under a group key
    Verify(Verify),
}

#[derive(Args, Debug)]
pub(super) struct Deal {
    /// Number of members
    #[arg(long)]
    n: u16,
    /// Number of members that must sign together
    #[arg(long)]
    t: u16,
    /// Folder for the new keys
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Hash suite
    #[arg(long, value_enum, default_value = "sha3")]
    suite: SuiteName,
}

#[derive(Args, Debug)]
pub(super) struct Sign {
    /// Folder made by `deal`
    #[arg(long, value_name = "DIR")]
    keys: PathBuf,
    /// Positions of the signing members, for example 0,2,3
    #[arg(long, value_delimiter = ',', required = true)]
    signers: Vec<u16>,
    /// File whose bytes are signed
    #[arg(long, value_name = "FILE")]
    message: PathBuf,
    /// File for the signature
    #[arg(long, value_name = "SIG")]
    out: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct Verify {
    /// The group key
    #[arg(long, value_name = "FILE")]
    group_key: PathBuf,
    /// File whose bytes were signed
    #[arg(long, value_name = "FILE")]
    message: PathBuf,
    /// The signature
    #[arg(value_name = "SIG")]
    signature: PathBuf,
    /// Hash suite
    #[arg(long, value_enum, default_value = "sha3")]
    suite: SuiteName,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SuiteName {
    /// Pulsar-SHA3, the default of the scheme
    Sha3,
    /// Pulsar-BLAKE3
    Blake3,
}

impl SuiteName {
    const fn suite(self) -> Suite {
        match self {
            Self::Sha3 => Suite::PulsarSha3,
            Self::Blake3 => Suite::PulsarBlake3,
        }
    }
}

pub(super) fn run(command: Command, output: Output) -> Result<(), Failure> {
    match command {
        Command::Demo => run_demo(output),
        Command::Deal(options) => run_deal(&options, output),
        Command::Sign(options) => run_sign(&options, output),
        Command::Verify(options) => run_verify(&options, output),
    }
}

/// Three of four members sign; nothing touches the disk.
fn run_demo(output: Output) -> Result<(), Failure> {
    let (suite, message) = (Suite::PulsarSha3, b"a message between two chains");
    let quorum = Quorum::new(3, 4).map_err(internal)?;
    let mut rng = UnwrapErr(SysRng);
    let (group_key, shares) = deal(quorum, suite, &mut rng).map_err(internal)?;
    let hash = id(&group_key.hash(suite));
    output.text(&format!(
        "dealt: 4 shares, 3 sign together, group key {hash}"
    ));
    let params = local::committee_params(&group_key, suite, 4, 3);
    let committee = Committee::new(params).map_err(refused)?;
    let key = Arc::new(CommitteeKey::new(&group_key, suite));
    let set = committee.signing_set(&[0, 1, 3]).map_err(refused)?;
    let plan = committee.plan(1, set, 1).map_err(refused)?;
    let mut members = Vec::new();
    for dealt in shares.iter().filter(|share| share.position() != 2) {
        let share = SignerShare::from_dealt(&committee, dealt).map_err(refused)?;
        let (records, ledger) = (
            local::MemoryRecords::default(),
            local::new_ledger(&committee, 1),
        );
        let member = Member::start(committee.clone(), key.clone(), share, records, ledger);
        members.push(member.map_err(refused)?);
    }
    local::run_to_ready(&mut members, &plan, &mut rng).map_err(refused)?;
    let assignment = Assignment {
        batch: 1,
        index: 0,
        attempt: 1,
        mu: message,
    };
    let (signature, _) = local::sign(&mut members, &key, &assignment).map_err(refused)?;
    let mut bytes = signature.to_framed();
    output.text(&format!(
        "signed: members 0, 1 and 3, {} bytes",
        bytes.len()
    ));
    let check = |bytes: &[u8]| {
        Signature::from_framed(bytes)
            .and_then(|signature| verify::verify(&group_key, suite, message, &signature))
    };
    let verified = check(&bytes).map_err(|error| Failure::new(Code::Refused, error.to_string()))?;
    let suite_used = verified.suite();
    output.text(&format!(
        "verified: valid under the group key ({suite_used})"
    ));
    bytes[20_000] ^= 1;
    let Err(reason) = check(&bytes) else {
        return Err(Failure::new(
            Code::Internal,
            "a changed signature was accepted",
        ));
    };
    output.text(&format!("changed one byte: refused ({reason})"));
    output.text("one process held all signing shares: a demonstration, not a threshold of parties");
    output.object(
        "pulsar.demo",
        json!({"group_key_hash": hash, "suite": suite.id(), "signers": [0, 1, 3],
            "verified": true, "changed_byte": reason.to_string(), "demonstration": true}),
    );
    Ok(())
}

fn run_deal(options: &Deal, output: Output) -> Result<(), Failure> {
    let usage = |error: horizon_pulsar::Error| Failure::new(Code::Usage, error.to_string());
    let quorum = Quorum::new(options.t, options.n).map_err(usage)?;
    let suite = options.suite.suite();
    let (key, secrets) = deal(quorum, suite, &mut UnwrapErr(SysRng)).map_err(internal)?;
    let folder = KeyFolder::new(&options.out);
    folder.create(CommitteeFile { suite, quorum }, &key, &secrets)?;
    let hash = id(&key.hash(suite));
    output.text(&format!("group key {hash} ({suite})"));
    output.text(&format!(
        "{} shares in {}, {} of them sign together",
        options.n,
        options.out.display(),
        options.t
    ));
    output.text("a trusted dealer made these keys: it saw every share");
    output.object(
        "pulsar.deal",
        json!({"group_key_hash": hash, "suite": suite.id(), "members": options.n,
            "threshold": options.t, "folder": options.out, "dealer": "trusted"}),
    );
    Ok(())
}

/// A signature made from the shares of a folder.
pub(super) struct Signed {
    /// The signature, verified.
    pub(super) signature: Signature,
    group_key_hash: [u8; 32],
    suite: Suite,
    batch: u64,
}

/// What a person must know about a signature made here.
pub(super) const ONE_PROCESS: &str =
    "this process held all signing shares at once: a demonstration, not a threshold of parties";

/// Signs with several shares of this machine.
///
/// # Errors
/// Those of the key folder and of the committee.
pub(super) fn sign_with(keys: &Path, signers: &[u16], message: &[u8]) -> Result<Signed, Failure> {
    let folder = KeyFolder::new(keys);
    let (file, group_key) = folder.read()?;
    let quorum = file.quorum;
    let params =
        local::committee_params(&group_key, file.suite, quorum.parties(), quorum.threshold());
    let committee = Committee::new(params).map_err(refused)?;
    let set = committee.signing_set(signers).map_err(|error| {
        let t = quorum.threshold();
        Failure::new(
            Code::Usage,
            format!("signers: {error} (name exactly {t}, ascending)"),
        )
    })?;
    let key = Arc::new(CommitteeKey::new(&group_key, file.suite));
    let batch = folder.next_batch()?;
    let mut members = Vec::new();
    for &position in set.ids() {
        members.push(start(
            &folder, position, file, &group_key, &committee, &key, batch,
        )?);
    }
    let plan = committee.plan(batch, set, 1).map_err(refused)?;
    local::run_to_ready(&mut members, &plan, &mut UnwrapErr(SysRng)).map_err(refused)?;
    let assignment = Assignment {
        batch,
        index: 0,
        attempt: 1,
        mu: message,
    };
    let (signature, _) = local::sign(&mut members, &key, &assignment).map_err(refused)?;
    Ok(Signed {
        signature,
        group_key_hash: group_key.hash(file.suite),
        suite: file.suite,
        batch,
    })
}

fn run_sign(options: &Sign, output: Output) -> Result<(), Failure> {
    if options.out.symlink_metadata().is_ok() {
        let text = format!("{} exists and is not overwritten", options.out.display());
        return Err(Failure::new(Code::Configuration, text));
    }
    let message = read_file(&options.message)?;
    let signed = sign_with(&options.keys, &options.signers, &message)?;
    let bytes = signed.signature.to_framed();
    key_files::write_new(&options.out, &bytes, key_files::PUBLIC_MODE)?;
    let hash = id(&signed.group_key_hash);
    output.text(&format!(
        "signed {} bytes: {}",
        message.len(),
        options.out.display()
    ));
    output.text(ONE_PROCESS);
    output.object(
        "pulsar.sign",
        json!({"group_key_hash": hash, "suite": signed.suite.id(), "signers": options.signers,
            "batch": signed.batch.to_string(), "signature": options.out, "bytes": bytes.len(),
            "verified": true, "demonstration": true}),
    );
    Ok(())
}

fn start(
    folder: &KeyFolder,
    position: u16,
    file: CommitteeFile,
    group_key: &GroupKey,
    committee: &Committee,
    key: &Arc<CommitteeKey>,
    batch: u64,
) -> Result<Member<FileRecord>, Failure> {
    let dealt = folder.read_share(position, file, group_key)?;
    let share = SignerShare::from_dealt(committee, &dealt).map_err(refused)?;
    let record = folder.record(position)?;
    let ledger = local::new_ledger(committee, batch);
    Member::start(committee.clone(), key.clone(), share, record, ledger).map_err(refused)
}

fn run_verify(options: &Verify, output: Output) -> Result<(), Failure> {
    let suite = options.suite.suite();
    let key = read_group_key(&options.group_key)?;
    let message = read_file(&options.message)?;
    let bytes = read_file(&options.signature)?;
    let hash = id(&key.hash(suite));
    let outcome = Signature::from_framed(&bytes)
        .and_then(|signature| verify::verify(&key, suite, &message, &signature));
    let (valid, reason) = match &outcome {
        Ok(_) => (true, None),
        Err(error) => (false, Some(error.to_string())),
    };
    output.object(
        "pulsar.verify",
        json!({"valid": valid, "reason": reason, "group_key_hash": hash, "suite": suite.id()}),
    );
    match reason {
        None => {
            output.text(&format!("valid under group key {hash} ({suite})"));
            Ok(())
        }
        Some(reason) => Err(output.told(Code::Refused, format!("refused: {reason}"))),
    }
}

fn read_group_key(path: &Path) -> Result<GroupKey, Failure> {
    let bytes = read_file(path)?;
    GroupKey::from_framed(&bytes)
        .map_err(|error| Failure::new(Code::Configuration, format!("{}: {error}", path.display())))
}

/// A member that stopped stays stopped; everything else is a fault of the keys or of this program.
fn refused(error: Error) -> Failure {
    let code = match error {
        Error::UnsafeState(_) => Code::Unsafe,
        Error::RecordsUnavailable => Code::Io,
        Error::Rejected(_) => Code::Refused,
        Error::Misuse(_) => Code::Configuration,
        _ => Code::Internal,
    };
    Failure::new(code, error.to_string())
}

fn internal(error: horizon_pulsar::Error) -> Failure {
    Failure::new(Code::Internal, error.to_string())
}
