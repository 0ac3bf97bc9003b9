//! `horizon network init`: one dealer makes the group key and a sealed share per validator.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use getrandom::SysRng;
use getrandom::rand_core::{Rng as _, UnwrapErr};
use horizon_ledger::genesis::{self, BlockLimits, Genesis, GenesisSpec, Validator};
use horizon_lifecycle::seal::{DEALER, Info, Purpose};
use horizon_lifecycle::share_file::SealedShare;
use horizon_pulsar::committee::ledger::LedgerConfig;
use horizon_pulsar::dealer::{self, Ceremony, Deal, Variant};
use horizon_pulsar::signers::Quorum;
use horizon_warp::SuiteId;
use horizon_warp::registry::{Member, Record, RecordKey, records_to_json};
use serde_json::json;

use super::{DEALING_FILE, NETWORK_FILE, RECORD_FILE, SHARES_FOLDER};
use crate::cmd::network::check::dealing_json;
use crate::exit::{Code, Failure};
use crate::ids::Id;
use crate::key_files::{PUBLIC_MODE, SECRET_MODE, write_new};
use crate::output::{Output, id};
use crate::sources::described;
use crate::validator_file::{VALIDATOR_FILE, ValidatorFile};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Number of the network
    #[arg(long)]
    pub network: u32,
    /// Id of the chain: 0x hex or CB58
    #[arg(long)]
    pub chain: Id,
    /// Name of the network, for people
    #[arg(long)]
    pub name: String,
    /// Public files of the validators, or the folders that hold them
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    pub validators: Vec<PathBuf>,
    /// Weights in the order of the files; 1 each by default
    #[arg(long, value_delimiter = ',')]
    pub weights: Vec<u64>,
    /// Members that sign a Pulse together; by default two thirds of all and one more
    #[arg(long)]
    pub threshold: Option<u16>,
    /// Hash suite of the Pulse
    #[arg(long, value_enum, default_value = "sha3")]
    pub suite: SuiteName,
    /// Least time between two blocks, milliseconds
    #[arg(long, default_value_t = 500)]
    pub interval_ms: u64,
    /// Pulses prepared by one batch of nonces
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub batch_count: Option<u16>,
    /// Folder for the files; made if it does not exist
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SuiteName {
    Sha3,
    Blake3,
}

pub(super) fn run(options: &Options, output: Output) -> Result<(), Failure> {
    output.text("One dealer makes this key: this process.");
    output.text("It knows every share while it runs, and whoever runs it could keep them all and");
    output
        .text("sign alone for ever. Nothing can prove that they were erased. Run it on a machine");
    output.text("that is wiped afterwards, or wait for dealerless key generation.");
    let made = init(options)?;
    let folder = options.out.display();
    let (n, t) = (made.spec.validators.len(), made.spec.record.threshold);
    output.text(&format!(
        "network {:?}: {n} validators, {t} of them sign a Pulse together",
        made.spec.name
    ));
    output.text(&format!("  record {}", id(&made.record_hash)));
    for (validator, share) in made.spec.validators.iter().zip(&made.shares) {
        output.text(&format!(
            "  {}  for {} only",
            share.display(),
            validator.name
        ));
    }
    output.text(&format!(
        "next: give {folder}/{RECORD_FILE} to the counterparts, and name them with `network connect`"
    ));
    output.object(
        "network.init",
        json!({"dealer": "trusted", "network_id": made.spec.network_id,
            "chain_id": id(&made.spec.chain_id), "name": made.spec.name, "validators": n,
            "threshold": t, "record": id(&made.record_hash), "shares": made.shares,
            "folder": options.out}),
    );
    Ok(())
}

/// What was written.
pub(crate) struct Made {
    /// The genesis without counterparts.
    pub(crate) spec: GenesisSpec,
    /// Hash of the registry record.
    pub(crate) record_hash: [u8; 32],
    /// Sealed shares in canonical order.
    pub(crate) shares: Vec<PathBuf>,
}

/// Deals and writes everything that `network init` writes.
///
/// # Errors
/// [`Code::Usage`], [`Code::Configuration`], [`Code::Refused`] for a proof that does not verify,
/// [`Code::Io`].
pub(crate) fn init(options: &Options) -> Result<Made, Failure> {
    let mut files = read_validators(options)?;
    files.sort_by_key(|(file, _)| file.beam_key);
    let unkeyed = unkeyed_record(options, &files)?;
    let t = u16::try_from(unkeyed.threshold).unwrap_or(u16::MAX);
    let n = u16::try_from(files.len()).unwrap_or(u16::MAX);
    check_rule(&unkeyed)?;
    let configuration = |text: String| Failure::new(Code::Configuration, text);
    let quorum = Quorum::new(t, n).map_err(|error| configuration(error.to_string()))?;
    let mut opening = [0; 32];
    UnwrapErr(SysRng).fill_bytes(&mut opening);
    let ceremony = ceremony(options, &unkeyed, opening)?;
    let mut rng = UnwrapErr(SysRng);
    let deal = dealer::deal(&ceremony, quorum, &mut rng);
    let deal = deal.map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
    let record = Record {
        group_key: deal.group_key.to_framed(),
        ..unkeyed
    };
    let spec = spec(options, &files, record);
    // What a node would refuse is not written.
    let checked = Genesis::new(spec.clone()).map_err(|error| configuration(error.to_string()))?;
    let record_hash = checked.record().hash();
    let record_hash = record_hash.map_err(|error| described(&options.out, &error))?;
    let shares = write(options, &files, &checked, &ceremony, deal)?;
    Ok(Made {
        spec,
        record_hash,
        shares,
    })
}

fn read_validators(options: &Options) -> Result<Vec<(ValidatorFile, u64)>, Failure> {
    let count = options.validators.len();
    if !options.weights.is_empty() && options.weights.len() != count {
        let text = format!("{} weights for {count} validators", options.weights.len());
        return Err(Failure::new(Code::Usage, text));
    }
    let mut names = BTreeSet::new();
    let read = |(index, path): (usize, &PathBuf)| {
        let path = if path.is_dir() {
            path.join(VALIDATOR_FILE)
        } else {
            path.clone()
        };
        let file = ValidatorFile::read(&path)?;
        if !names.insert(share_name(&file.name)) {
            let text = format!(
                "{}: another validator is called {:?}",
                path.display(),
                file.name
            );
            return Err(Failure::new(Code::Configuration, text));
        }
        let weight = options.weights.get(index).copied().unwrap_or(1);
        Ok((file, weight))
    };
    options.validators.iter().enumerate().map(read).collect()
}

/// The record without its group key; members in canonical order, one point each.
fn unkeyed_record(options: &Options, files: &[(ValidatorFile, u64)]) -> Result<Record, Failure> {
    let members = files.iter().map(|(file, weight)| {
        let mut node_id = [0; 20];
        node_id.copy_from_slice(&file.identity[..20]);
        Member {
            bls_key: file.beam_key,
            possession: file.beam_possession,
            mldsa_key: Some(file.certset_key.clone()),
            weight: *weight,
            points: 1,
            node_id,
            operator: file.name.clone(),
        }
    });
    let count = files.len();
    let default = u32::try_from(count * 2 / 3 + 1).unwrap_or(u32::MAX);
    let threshold = options.threshold.map_or(default, u32::from);
    if threshold == 0 || usize::try_from(threshold).is_ok_and(|t| t > count) {
        let text = format!("threshold {threshold} with {count} validators");
        return Err(Failure::new(Code::Usage, text));
    }
    Ok(Record {
        key: RecordKey {
            network_id: options.network,
            chain_id: options.chain.0,
            key_era: 1,
            generation: 0,
        },
        suite: match options.suite {
            SuiteName::Sha3 => SuiteId::PulsarSha3,
            SuiteName::Blake3 => SuiteId::PulsarBlake3,
        },
        group_key: Vec::new(),
        threshold,
        valid_from: 0,
        valid_until: None,
        issued_at_s: crate::sources::now_s(),
        previous: [0; 32],
        members: members.collect(),
    })
}

/// A Pulse shows `t` shares; the rule makes that more than two thirds of the weight, whichever
/// members they are.
fn check_rule(record: &Record) -> Result<(), Failure> {
    let refused = |text: String| Err(Failure::new(Code::Configuration, text));
    let Some((lightest, total)) = genesis::lightest_signing_weight(record) else {
        return refused("no set of validators reaches the threshold".to_owned());
    };
    if u128::from(lightest) * 3 > u128::from(total) * 2 {
        return Ok(());
    }
    refused(format!(
        "the {} lightest validators that sign a Pulse together hold {lightest} of {total} weight, \
         not more than two thirds: raise --threshold or make the weights more equal",
        record.threshold
    ))
}

fn ceremony<'a>(
    options: &'a Options,
    record: &Record,
    opening: [u8; 32],
) -> Result<Ceremony<'a>, Failure> {
    let suite = genesis::suite(record.suite)
        .map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
    Ok(Ceremony {
        variant: Variant::Dkg,
        chain_id: &options.chain.0,
        network_id: options.network,
        group_id: GROUP_ID,
        suite,
        era: record.key.key_era,
        old_generation: 0,
        new_generation: record.key.generation,
        old_set_hash: [0; 32],
        new_set_hash: genesis::set_hash(record),
        old_threshold: 0,
        new_threshold: record.threshold,
        group_key_hash: [0; 32],
        opening_block_hash: opening,
        attempt: 0,
    })
}

fn spec(options: &Options, files: &[(ValidatorFile, u64)], record: Record) -> GenesisSpec {
    let validators = files.iter().map(|(file, _)| {
        let sealing = file.sealing_key.to_bytes();
        let (x25519, mlkem768) = sealing.split_at(32);
        let mut sealing_x25519 = [0; 32];
        sealing_x25519.copy_from_slice(x25519);
        let mut sealing_mlkem768 = Box::new([0; genesis::MLKEM768_KEY_LEN]);
        sealing_mlkem768.copy_from_slice(mlkem768);
        Validator {
            name: file.name.clone(),
            identity: file.identity,
            address: file.address,
            consensus_key: file.consensus_key.clone(),
            sealing_x25519,
            sealing_mlkem768,
        }
    });
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ms = since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0));
    let n = files.len();
    GenesisSpec {
        name: options.name.clone(),
        network_id: options.network,
        chain_id: options.chain.0,
        time_ms: now_ms,
        validators: validators.collect(),
        record,
        group_id: GROUP_ID,
        pulse: LedgerConfig {
            // Four members have four signing sets of three: one batch for each.
            live_batches: if n == 4 { 4 } else { 3 },
            count: options.batch_count.unwrap_or(if n <= 21 { 16 } else { 4 }),
            window: 4,
            sign_window: 4,
            decay_blocks: 50,
        },
        block: BlockLimits {
            interval_ms: options.interval_ms,
            bytes_max: 1 << 20,
            transactions_max: 4_096,
        },
        sources: Vec::new(),
    }
}

fn write(
    options: &Options,
    files: &[(ValidatorFile, u64)],
    genesis: &Genesis,
    ceremony: &Ceremony<'_>,
    deal: Deal,
) -> Result<Vec<PathBuf>, Failure> {
    let folder = &options.out;
    let shares = folder.join(SHARES_FOLDER);
    fs::create_dir_all(&shares).map_err(|error| Failure::io(&shares, &error))?;
    let internal = |error: &dyn core::fmt::Display| Failure::new(Code::Internal, error.to_string());
    let registry = records_to_json(core::slice::from_ref(genesis.record()));
    let registry = registry.map_err(|error| described(folder, &error))?;
    let network = genesis.spec().to_json().map_err(|error| internal(&error))?;
    let dealing = dealing_json(ceremony, &deal.record);
    let mut paths = Vec::with_capacity(files.len());
    for (package, (file, _)) in deal.packages.into_iter().zip(files) {
        let position = package.recipient();
        let share = package
            .accept(&deal.record)
            .map_err(|error| internal(&error))?;
        let info = Info {
            ceremony: ceremony.id().0,
            purpose: Purpose::DealtShare,
            from: DEALER,
            to: position,
        };
        let era_ctx = *genesis.committee().era_ctx();
        let mut rng = UnwrapErr(SysRng);
        let sealed = SealedShare::seal(
            &file.sealing_key,
            info,
            era_ctx,
            &share.to_bytes(),
            &mut rng,
        )
        .map_err(|error| internal(&error))?;
        let path = share_path(folder, &file.name);
        write_new(&path, &sealed.to_bytes(), SECRET_MODE)?;
        paths.push(path);
    }
    for (name, text) in [
        (RECORD_FILE, registry),
        (NETWORK_FILE, network),
        (DEALING_FILE, dealing),
    ] {
        write_new(
            &folder.join(name),
            format!("{text}\n").as_bytes(),
            PUBLIC_MODE,
        )?;
    }
    Ok(paths)
}

/// Where the sealed share of a validator is written.
pub(crate) fn share_path(folder: &Path, name: &str) -> PathBuf {
    folder
        .join(SHARES_FOLDER)
        .join(format!("{}.share", share_name(name)))
}

/// A name as a file name: everything unusual becomes a hyphen.
fn share_name(name: &str) -> String {
    let usual = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    name.chars()
        .map(|c| if usual(c) { c } else { '-' })
        .collect()
}

/// Networks have one signing group.
const GROUP_ID: u64 = 0;
