//! Starts that are refused: exit code 5 and one sentence, before anything is written or opened.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::net::{ALPHA, BETA, Net, RELAYER};
use crate::process::{Ended, HORIZON, Process, arguments, until};

/// A refusal needs no network: it comes at once.
const AT_ONCE: Duration = Duration::from_secs(15);
const CONFIGURATION: i32 = 5;
/// What the relayer says about a port or a lock that another process has.
const IO: i32 = 6;

/// Runs a program with these variables until it ends.
fn run(net: &Net, name: &str, variables: &[(&str, &str)]) -> Ended {
    let program = net.program(name);
    let mut command = Command::new(HORIZON);
    arguments(&mut command, &program);
    command.envs(variables.iter().copied());
    Process::spawn(name, &program.log, command).wait(AT_ONCE)
}

fn edit_json(path: &Path, edit: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    edit(&mut value);
    fs::write(path, serde_json::to_vec_pretty(&value).unwrap()).unwrap();
}

#[test]
fn a_wrong_configuration_of_a_node_is_refused_with_code_5_and_one_sentence() {
    let net = Net::new("start", 100);
    let name = net.name(ALPHA, 0);
    let node = &net.layout.networks[ALPHA].nodes[0];
    let refused = |variables: &[(&str, &str)], words: &[&str]| {
        run(&net, &name, variables).insist(CONFIGURATION, words);
    };
    refused(&[("HORIZON_LISEN", "1")], &["lisen"]);
    refused(&[("HORIZON_LIMITS__READY_LAG", "0")], &["limits.ready_lag"]);
    refused(&[("HORIZON_API", "0.0.0.0:0")], &["public_api"]);
    refused(&[("HORIZON_GENESIS", "absent.json")], &["absent.json"]);
    let share = "../shares/alpha-1.share";
    refused(&[("HORIZON_SHARE", share)], &["share"]);
    for (key, address) in [("listen", node.links), ("api", node.api)] {
        let taken = TcpListener::bind(address).unwrap();
        refused(&[], &[key, &address.to_string(), "in use"]);
        drop(taken);
    }
    let key = net.folder(ALPHA, 0).join("keys/beam.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    refused(&[], &["beam.key"]);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    // Nothing ran: a validator that is refused leaves no ledger and no signing record.
    let data = net.folder(ALPHA, 0).join("data");
    for file in ["ledger.redb", "consensus"] {
        assert!(!data.join(file).exists(), "{file}");
    }
}

#[test]
fn a_wrong_genesis_is_refused_with_code_5_and_one_sentence() {
    let net = Net::new("genesis", 100);
    let name = net.name(ALPHA, 0);
    let path = net.root.join("alpha/genesis.json");
    let good = fs::read(&path).unwrap();
    let refused = |words: &[&str], edit: fn(&mut Value)| {
        edit_json(&path, edit);
        run(&net, &name, &[]).insist(CONFIGURATION, words);
        fs::write(&path, &good).unwrap();
    };
    refused(&["genesis"], |genesis| {
        genesis["chain_id"] = Value::from(format!("0x{}", "77".repeat(32)));
    });
    refused(&["genesis"], |genesis| {
        let first = genesis["validators"][0].clone();
        genesis["validators"][1] = first;
    });
    refused(&["genesis"], |genesis| {
        let mut addresses = genesis["validators"].as_array().unwrap().clone();
        let first = addresses[0]["address"].clone();
        addresses[1]["address"] = first;
        genesis["validators"] = Value::from(addresses);
    });
    refused(&["genesis"], |genesis| {
        genesis["surprise"] = Value::from(1);
    });
    // The other network's genesis: these keys are not in it.
    run(
        &net,
        &name,
        &[("HORIZON_GENESIS", "../../beta/genesis.json")],
    )
    .insist(CONFIGURATION, &[]);
}

#[test]
fn a_directory_belongs_to_one_process_and_one_genesis() {
    let mut net = Net::new("owner", 100);
    let name = net.name(ALPHA, 0);
    net.start(&name);
    until("the node answers", AT_ONCE, || {
        net.status(ALPHA, 0).is_some()
    });
    run(&net, &name, &[]).insist(CONFIGURATION, &["another process", "data_dir"]);
    let stopped = net.take(&name).stop(AT_ONCE);
    assert_eq!(stopped.code, Some(0), "{}", stopped.log);
    // The same validators, dealt once more: another genesis.
    let validators = (0..4).map(|index| net.folder(ALPHA, index).join("keys"));
    let mut command = Command::new(HORIZON);
    let chain = format!("0x{}", "01".repeat(32));
    command
        .args(["network", "init", "--network", "1", "--name", "alpha"])
        .args(["--chain", &chain, "--interval-ms", "90", "--out"])
        .arg(net.root.join("again"))
        .arg("--validators")
        .args(validators);
    let made = command.output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let mut command = Command::new(HORIZON);
    command
        .args(["network", "connect", "--network"])
        .arg(net.root.join("again"))
        .arg("--counterpart")
        .arg(net.root.join("beta/record.json"));
    let made = command.output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let other = [
        ("HORIZON_GENESIS", "../../again/genesis.json"),
        ("HORIZON_SHARE", "../../again/shares/alpha-0.share"),
    ];
    run(&net, &name, &other).insist(CONFIGURATION, &["another"]);
    // Its own genesis again: nothing was damaged.
    net.start(&name);
    until("the node answers", AT_ONCE, || {
        net.status(ALPHA, 0).is_some()
    });
}

#[test]
fn a_wrong_start_of_the_relayer_is_refused_with_one_sentence() {
    let mut net = Net::new("relayer", 100);
    let refused = |net: &Net, code: i32, words: &[&str]| {
        run(net, RELAYER, &[]).insist(code, words);
    };
    let address = net.layout.relayer.api;
    let taken = TcpListener::bind(address).unwrap();
    refused(&net, IO, &[&address.to_string(), "in use"]);
    drop(taken);
    let path = net.root.join("relayer/relayer.toml");
    let good = fs::read_to_string(&path).unwrap();
    let beta = net.layout.networks[BETA].network_id;
    let twice = good.replace(&format!("network_id = {beta}"), "network_id = 1");
    let chain = format!("0x{}", "02".repeat(32));
    fs::write(
        &path,
        twice.replace(&chain, &format!("0x{}", "01".repeat(32))),
    )
    .unwrap();
    refused(&net, CONFIGURATION, &["relayer.toml"]);
    fs::write(&path, format!("lisen = 1\n{good}")).unwrap();
    refused(&net, CONFIGURATION, &["lisen"]);
    fs::write(&path, &good).unwrap();
    net.start(RELAYER);
    until("the relayer answers", AT_ONCE, || {
        net.run(net.relayer.readiness()).is_ok()
    });
    refused(&net, IO, &["another"]);
}
