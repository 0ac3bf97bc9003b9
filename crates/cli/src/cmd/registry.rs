//! `horizon registry`: build a record from key files, show and check registry files.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use horizon_sig::algorithm::Algorithm;
use horizon_warp::registry::{Member, Pin, Record, RecordKey, records_to_json};
use horizon_warp::{Registry, SuiteId};
use serde_json::json;

use crate::cmd::keys::{BEAM_KEY, CERTSET_KEY};
use crate::evidence::wire_suite;
use crate::exit::{Code, Failure};
use crate::ids::Id;
use crate::key_files::{KeyFolder, PUBLIC_MODE, malformed, write_new};
use crate::output::{Output, id};
use crate::scheme_keys::{SchemeKey, expect_scheme};
use crate::{sources, verdict};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make a record from the key folders of validators and the group key of a committee
    New(New),
    /// Show the records of a registry file; nothing is verified
    Show(Show),
    /// Check hash chains, keys and proofs of possession
    Verify(Verify),
}

#[derive(Args, Debug)]
pub(super) struct New {
    /// The network
    #[arg(long)]
    network: u32,
    /// The source chain: 0x hex or CB58
    #[arg(long)]
    chain: Id,
    /// Folders with beam.key and certset.key, one per validator, or one folder that holds them
    #[arg(long, value_name = "DIR", num_args = 1.., required = true)]
    validators: Vec<PathBuf>,
    /// Weights in the order of the folders; 1 each by default
    #[arg(long, value_delimiter = ',')]
    weights: Vec<u64>,
    /// Who runs each validator, in the order of the folders
    #[arg(long, value_delimiter = ',')]
    operators: Vec<String>,
    /// Folder made by `pulsar deal`; one point per validator, in the order of the folders
    #[arg(long, value_name = "DIR")]
    group: Option<PathBuf>,
    /// First source height at which the record is valid
    #[arg(long, default_value_t = 0)]
    valid_from: u64,
    /// Last source height at which it is valid
    #[arg(long)]
    valid_until: Option<u64>,
    /// Seconds since 1970; the clock of this machine by default
    #[arg(long, value_name = "SECONDS")]
    issued_at: Option<u64>,
    /// Registry file to continue; its records come first in the new one
    #[arg(long, value_name = "FILE")]
    previous: Option<PathBuf>,
    /// File for the registry
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// File for the new record in its canonical bytes
    #[arg(long, value_name = "FILE")]
    record_out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct Show {
    /// Registry file
    file: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct Verify {
    /// Registry file
    file: PathBuf,
    /// Policy whose pins authenticate the records
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Hashes of the last records, from a trusted source
    #[arg(long, value_name = "HASH", conflicts_with = "policy")]
    pin: Vec<Id>,
}

pub(super) fn run(command: Command, output: Output) -> Result<(), Failure> {
    match command {
        Command::New(options) => create(&options, output),
        Command::Show(options) => {
            let records = sources::read_records(&options.file)?;
            records
                .iter()
                .try_for_each(|record| show(&options.file, record, output))
        }
        Command::Verify(options) => verify(&options, output),
    }
}

fn create(options: &New, output: Output) -> Result<(), Failure> {
    let mut records = match &options.previous {
        Some(path) => sources::read_records(path)?,
        None => Vec::new(),
    };
    let folders = validator_folders(&options.validators)?;
    let points = u32::from(options.group.is_some());
    let mut members = members(options, &folders, points)?;
    members.sort_by_key(|member| member.bls_key);
    let group = options
        .group
        .as_ref()
        .map(|path| KeyFolder::new(path).read());
    let (suite, group_key, threshold) = match group.transpose()? {
        Some((committee, key)) => {
            let parties = usize::from(committee.quorum.parties());
            if parties != folders.len() {
                let text = format!("{parties} shares for {} validators", folders.len());
                return Err(Failure::new(Code::Configuration, text));
            }
            let suite = wire_suite(committee.suite);
            let text = "no envelope can carry the committee's suite";
            let suite = suite.ok_or_else(|| Failure::new(Code::Configuration, text))?;
            let threshold = u32::from(committee.quorum.threshold());
            (suite, key.to_framed(), threshold)
        }
        None => (SuiteId::DEFAULT, Vec::new(), 0),
    };
    let described = |error| sources::described(&options.out, &error);
    let (key, previous) = position(options, &records, &group_key).map_err(described)?;
    let record = Record {
        key,
        suite,
        group_key,
        threshold,
        valid_from: options.valid_from,
        valid_until: options.valid_until,
        issued_at_s: options.issued_at.unwrap_or_else(sources::now_s),
        previous,
        members,
    };
    let bytes = record.encode().map_err(described)?;
    records.push(record.clone());
    // What does not load is not written.
    let pins = sources::own_pins(&records).map_err(described)?;
    Registry::load(records.clone(), &pins).map_err(described)?;
    let text = records_to_json(&records).map_err(described)?;
    write_new(&options.out, format!("{text}\n").as_bytes(), PUBLIC_MODE)?;
    if let Some(path) = &options.record_out {
        write_new(path, &bytes, PUBLIC_MODE)?;
    }
    show(&options.out, &record, output)
}

/// Era, generation and previous hash of the record that comes next.
fn position(
    options: &New,
    records: &[Record],
    group_key: &[u8],
) -> Result<(RecordKey, [u8; 32]), horizon_warp::Error> {
    let of_chain = |record: &&Record| {
        record.key.network_id == options.network && record.key.chain_id == options.chain.0
    };
    let first = RecordKey {
        network_id: options.network,
        chain_id: options.chain.0,
        key_era: 1,
        generation: 0,
    };
    let Some(last) = records.iter().rfind(of_chain) else {
        return Ok((first, [0; 32]));
    };
    let key = if last.group_key == group_key {
        RecordKey {
            generation: last.key.generation.saturating_add(1),
            ..last.key
        }
    } else {
        RecordKey {
            key_era: last.key.key_era.saturating_add(1),
            ..first
        }
    };
    Ok((key, last.hash()?))
}

/// The folders as named, each replaced by the validators inside if it holds no Beam key itself.
fn validator_folders(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut folders = Vec::new();
    for path in named {
        if path.join(BEAM_KEY).exists() {
            folders.push(path.clone());
            continue;
        }
        let entries = path.read_dir().map_err(|error| Failure::io(path, &error))?;
        let mut inside: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.join(BEAM_KEY).exists())
            .collect();
        if inside.is_empty() {
            return Err(malformed(
                path,
                &format!("no {BEAM_KEY} and no folder with one"),
            ));
        }
        inside.sort();
        folders.append(&mut inside);
    }
    Ok(folders)
}

fn members(options: &New, folders: &[PathBuf], points: u32) -> Result<Vec<Member>, Failure> {
    let count = folders.len();
    for (given, what) in [
        (options.weights.len(), "weights"),
        (options.operators.len(), "operators"),
    ] {
        if given != 0 && given != count {
            let text = format!("{given} {what} for {count} validators");
            return Err(Failure::new(Code::Usage, text));
        }
    }
    let member = |(index, folder): (usize, &PathBuf)| {
        let beam_path = folder.join(BEAM_KEY);
        let key = SchemeKey::read(&beam_path)?;
        expect_scheme(&beam_path, &key, Algorithm::Bls12381G2)?;
        let SchemeKey::Bls(beam) = &key else {
            return Err(malformed(&beam_path, &"not a bls key"));
        };
        let bls_key = beam.verifying_key().to_bytes();
        let mut node_id = [0; 20];
        node_id.copy_from_slice(&bls_key[..20]);
        Ok(Member {
            bls_key,
            possession: beam.prove_possession().to_bytes(),
            mldsa_key: certset_key(folder)?,
            weight: options.weights.get(index).copied().unwrap_or(1),
            points,
            node_id,
            operator: options.operators.get(index).cloned().unwrap_or_default(),
        })
    };
    folders.iter().enumerate().map(member).collect()
}

/// The certificate key of a validator; a folder without one is of a validator without certificates.
fn certset_key(folder: &Path) -> Result<Option<Box<[u8; 1952]>>, Failure> {
    let path = folder.join(CERTSET_KEY);
    if !path.exists() {
        return Ok(None);
    }
    let key = SchemeKey::read(&path)?;
    expect_scheme(&path, &key, Algorithm::MlDsa65)?;
    let bytes = key.public().try_into();
    bytes
        .map(|bytes| Some(Box::new(bytes)))
        .map_err(|_| malformed(&path, &"no ml-dsa-65 key"))
}

fn show(path: &Path, record: &Record, output: Output) -> Result<(), Failure> {
    let described = |error| sources::described(path, &error);
    let hash = id(&record.hash().map_err(described)?);
    let validators = record.validators().map_err(described)?;
    let total = validators.total_weight();
    let key = &record.key;
    let chain = id(&key.chain_id);
    let until = record.valid_until.map(|height| height.to_string());
    output.text(&format!("record {hash}"));
    output.text(&format!(
        "  network {}, chain {chain}, era {}, generation {}",
        key.network_id, key.key_era, key.generation
    ));
    output.text(&format!(
        "  valid from height {} to {}, issued at {}, previous {}",
        record.valid_from,
        until.as_deref().unwrap_or("no end"),
        record.issued_at_s,
        id(&record.previous)
    ));
    output.text(&format!(
        "  {} validators, weight {total}; Pulse: {} of {} points, {}",
        record.members.len(),
        record.threshold,
        record.points_total(),
        record.suite.name()
    ));
    let mut members = Vec::new();
    for (index, member) in record.members.iter().enumerate() {
        let bls = id(&member.bls_key);
        let certificates = member.mldsa_key.is_some();
        let lane = if certificates {
            "signs certificates"
        } else {
            "no certificates"
        };
        output.text(&format!(
            "  {index:>3}  weight {}, points {}, {lane}, operator {:?}, {bls}",
            member.weight, member.points, member.operator
        ));
        members.push(
            json!({"index": index, "bls_key": bls, "node_id": id(&member.node_id),
            "weight": member.weight.to_string(), "points": member.points,
            "certificates": certificates, "operator": member.operator}),
        );
    }
    output.object(
        "registry.record",
        json!({"hash": hash, "network_id": key.network_id, "chain_id": chain,
            "key_era": key.key_era.to_string(), "generation": key.generation.to_string(),
            "suite": record.suite.name(), "threshold": record.threshold,
            "has_group_key": !record.group_key.is_empty(),
            "valid_from": record.valid_from.to_string(), "valid_until": until,
            "issued_at_s": record.issued_at_s.to_string(), "previous": id(&record.previous),
            "total_weight": total.to_string(), "members": members}),
    );
    Ok(())
}

fn verify(options: &Verify, output: Output) -> Result<(), Failure> {
    let records = sources::read_records(&options.file)?;
    let own = sources::own_pins(&records);
    let own = own.map_err(|error| sources::described(&options.file, &error))?;
    let (pins, pinned) = match (&options.policy, options.pin.as_slice()) {
        (Some(path), _) => (sources::read_policy(path)?.pins(), true),
        (None, []) => (own, false),
        (None, heads) => (pins_by_head(&own, heads)?, true),
    };
    let count = records.len();
    match Registry::load(records, &pins) {
        Ok(registry) => {
            let heads: Vec<String> = pins.iter().map(|pin| id(&pin.head)).collect();
            output.text(&format!(
                "valid: {} records, {} chains",
                registry.len(),
                pins.len()
            ));
            if !pinned {
                output.text("not pinned: the file is whole, whoever wrote it (--pin or --policy)");
            }
            output.object(
                "registry.verify",
                json!({"valid": true, "records": count, "pinned": pinned, "heads": heads}),
            );
            Ok(())
        }
        Err(error) => {
            let mut fields = verdict::error_fields(&error);
            fields["valid"] = json!(false);
            output.object("registry.verify", fields);
            let text = format!("refused: {error}\n  what to do: {}", error.reason().hint());
            Err(output.told(Code::Refused, text))
        }
    }
}

/// One pin per chain of the file: its own head where that was named, else one that cannot match.
fn pins_by_head(own: &[Pin], heads: &[Id]) -> Result<Vec<Pin>, Failure> {
    if heads.len() != own.len() {
        let text = format!("{} pins for {} chains", heads.len(), own.len());
        return Err(Failure::new(Code::Usage, text));
    }
    let named = |pin: &Pin| {
        let head = if heads.contains(&Id(pin.head)) {
            pin.head
        } else {
            [0; 32]
        };
        Pin { head, ..*pin }
    };
    Ok(own.iter().map(named).collect())
}
