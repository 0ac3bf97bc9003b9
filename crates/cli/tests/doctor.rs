//! `horizon doctor --config`: a healthy set of files passes, and each of twelve seeded faults is found.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test of a program with std"
)]

#[path = "support/common.rs"]
mod common;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use common::{folder, objects, run};
use horizon_ledger::Genesis;
use horizon_node::api::types::{Check, PulseStatus, Readiness, Status};

const CHAINS: [[u8; 32]; 2] = [[0xa1; 32], [0xb2; 32]];

/// A validator's and a relayer's files, and something that answers like a node.
struct World {
    folder: PathBuf,
    genesis: Genesis,
    node: String,
    answers: Arc<Mutex<(Status, Readiness)>>,
    address: SocketAddr,
    /// The other network, always healthy.
    other: SocketAddr,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn good(folder: &Path, line: &str) {
    let ran = run(folder, line);
    assert_eq!(ran.code, 0, "{line}: {}{}", ran.stdout, ran.stderr);
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

impl World {
    fn new(name: &str) -> Self {
        let folder = folder(name);
        for (network, chain) in ["a", "b"].into_iter().zip(CHAINS) {
            let mut keys = Vec::new();
            for index in 0..4 {
                let port = free_port();
                let out = format!("{network}/v{index}");
                good(
                    &folder,
                    &format!(
                        "keys validator --out {out} --name {network}{index} \
                         --address 127.0.0.1:{port}"
                    ),
                );
                keys.push(out);
            }
            let number = if network == "a" { 1 } else { 2 };
            good(
                &folder,
                &format!(
                    "network init --network {number} --chain 0x{} --name {network} \
                     --out {network}/net --validators {}",
                    hex(&chain),
                    keys.join(" ")
                ),
            );
        }
        good(
            &folder,
            "network connect --network a/net --counterpart b/net/record.json",
        );
        let text = fs::read_to_string(folder.join("a/net/genesis.json")).unwrap();
        let genesis = Genesis::from_json(&text).unwrap();
        let node = format!(
            "genesis = \"a/net/genesis.json\"\nkeys = \"a/v0\"\nshare = \"a/net/shares/a0.share\"\n\
             data_dir = \"data\"\nlisten = \"127.0.0.1:{}\"\napi = \"127.0.0.1:{}\"\n",
            free_port(),
            free_port()
        );
        let answers = Arc::new(Mutex::new(healthy(&genesis)));
        let address = serve(Arc::clone(&answers));
        let mut beta = healthy(&genesis);
        (beta.0.network_id, beta.0.chain_id) = (2, CHAINS[1]);
        let other = serve(Arc::new(Mutex::new(beta)));
        let world = Self {
            folder,
            genesis,
            node,
            answers,
            address,
            other,
        };
        world.write_node(&world.node);
        world.write_relayer(&format!("http://{address}"));
        world
    }

    fn write_node(&self, text: &str) {
        fs::write(self.folder.join("node.toml"), text).unwrap();
    }

    fn write_relayer(&self, url: &str) {
        let other = format!("http://{}", self.other);
        let network = |name: &str, number: u32, chain: &[u8; 32], url: &str| {
            format!(
                "[[network]]\nname = \"{name}\"\nnetwork_id = {number}\nchain_id = \"0x{}\"\n\
                 endpoints = [\"{url}\"]\n",
                hex(chain)
            )
        };
        let text = format!(
            "data_dir = \"relayer\"\nlisten = \"127.0.0.1:{}\"\n{}{}\
             [[route]]\nfrom = \"a\"\nto = \"b\"\n",
            free_port(),
            network("a", 1, &CHAINS[0], url),
            network("b", 2, &CHAINS[1], &other),
        );
        fs::write(self.folder.join("relayer.toml"), text).unwrap();
    }

    /// Everything as it should be.
    fn heal(&self) {
        self.write_node(&self.node);
        self.write_relayer(&format!("http://{}", self.address));
        *self.answers.lock().unwrap() = healthy(&self.genesis);
    }

    /// Names of the checks that found a fault.
    fn faults(&self) -> Vec<String> {
        let ran = run(
            &self.folder,
            "--json doctor --config node.toml relayer.toml",
        );
        let found: Vec<String> = objects(&ran)
            .into_iter()
            .filter(|object| object["severity"] == "fault")
            .map(|object| object["check"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            ran.code,
            if found.is_empty() { 0 } else { 5 },
            "{}",
            ran.stdout
        );
        found
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_millis().try_into().unwrap()
}

fn healthy(genesis: &Genesis) -> (Status, Readiness) {
    let status = Status {
        version: "0.1.0".to_owned(),
        name: "a".to_owned(),
        network_id: 1,
        chain_id: CHAINS[0],
        genesis: *genesis.hash(),
        position: Some(0),
        height: 7,
        consensus_height: 7,
        view: 7,
        time_ms: now_ms(),
        peers: 3,
        validators: 4,
        outgoing: 0,
        unacknowledged: 0,
        delivered: 0,
        mempool_transactions: 0,
        evidence: 0,
        pulse: PulseStatus {
            state: "ready".to_owned(),
            ready: 8,
            waiting: 0,
            closed: 0,
            excluded: Vec::new(),
        },
    };
    let ready = Readiness {
        ready: true,
        checks: Vec::new(),
    };
    (status, ready)
}

/// Answers `/v1/status` and `/readyz` until the test ends.
fn serve(answers: Arc<Mutex<(Status, Readiness)>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 2048];
            let Ok(len) = stream.read(&mut request) else {
                continue;
            };
            let (status, ready) = answers.lock().unwrap().clone();
            let body = if request[..len].starts_with(b"GET /v1/status") {
                serde_json::to_string(&status).unwrap()
            } else {
                serde_json::to_string(&ready).unwrap()
            };
            let code = if request[..len].starts_with(b"GET /readyz") && !ready.ready {
                "503 Service Unavailable"
            } else {
                "200 OK"
            };
            let _ = write!(
                stream,
                "HTTP/1.1 {code}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    address
}

/// A fault: what is wrong, the check that must find it, and how it is made.
type Fault = (&'static str, &'static str, fn(&World));

const FAULTS: [Fault; 12] = [
    ("an unknown key", "config", |world| {
        world.write_node(&format!("{}lisen = 1\n", world.node));
    }),
    ("half a genesis file", "genesis", |world| {
        let text = fs::read_to_string(world.folder.join("a/net/genesis.json")).unwrap();
        fs::write(world.folder.join("half.json"), &text[..text.len() / 2]).unwrap();
        world.write_node(&world.node.replace("a/net/genesis.json", "half.json"));
    }),
    ("a key that others may read", "key-permissions", |world| {
        let path = world.folder.join("a/v0/consensus.key");
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    }),
    ("keys of another network", "keys", |world| {
        world.write_node(&world.node.replace("a/v0", "b/v0"));
    }),
    ("another validator's share", "share", |world| {
        world.write_node(&world.node.replace("a0.share", "a1.share"));
    }),
    ("a port in use", "port", |world| {
        let taken = format!("listen = \"{}\"\n", world.address);
        let lines = world
            .node
            .lines()
            .filter(|line| !line.starts_with("listen"));
        let text: String = lines.map(|line| format!("{line}\n")).collect();
        world.write_node(&(text + &taken));
    }),
    ("a full disk", "disk-space", |world| {
        world.write_node(&format!(
            "{}[limits]\nmin_free = \"1000000 GiB\"\n",
            world.node
        ));
    }),
    ("a folder that cannot be written", "disk-write", |world| {
        let text = world.node.replace("\"data\"", "\"/proc/horizon\"");
        world.write_node(&format!("{text}[limits]\nmin_free = \"0 B\"\n"));
    }),
    ("an address where nobody answers", "endpoint", |world| {
        world.write_relayer(&format!("http://127.0.0.1:{}", free_port()));
    }),
    ("an address of another chain", "chain-identity", |world| {
        world.answers.lock().unwrap().0.chain_id = CHAINS[1];
    }),
    (
        "a process with another genesis",
        "genesis-identity",
        |world| {
            world.answers.lock().unwrap().0.genesis = [7; 32];
            running(world);
        },
    ),
    ("a clock that is ahead", "clock", |world| {
        world.answers.lock().unwrap().0.time_ms = now_ms() + 60_000;
    }),
];

/// Lets the validator's own interface be the one that answers.
fn running(world: &World) {
    let lines = world.node.lines().filter(|line| !line.starts_with("api"));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    world.write_node(&format!("{text}api = \"{}\"\n", world.address));
}

#[test]
fn twelve_seeded_faults_are_found_and_a_healthy_set_has_none() {
    let world = World::new("doctor");
    assert_eq!(world.faults(), Vec::<String>::new());
    for (what, check, seed) in FAULTS {
        seed(&world);
        let found = world.faults();
        assert!(
            !found.is_empty() && found.iter().all(|name| name == check),
            "{what}: {found:?}"
        );
        world.heal();
        let path = world.folder.join("a/v0/consensus.key");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(world.faults(), Vec::<String>::new(), "after {what}");
    }
}

#[test]
fn a_process_that_is_not_ready_is_a_fault_with_its_reason() {
    let world = World::new("doctor-ready");
    running(&world);
    assert_eq!(world.faults(), Vec::<String>::new());
    world.answers.lock().unwrap().1 = Readiness {
        ready: false,
        checks: vec![Check {
            name: "ledger".to_owned(),
            ok: false,
            reason: Some("behind".to_owned()),
            message: "the ledger stands still".to_owned(),
        }],
    };
    let ran = run(&world.folder, "doctor --config node.toml");
    assert_eq!(ran.code, 5, "{}", ran.stdout);
    assert!(ran.stdout.contains("fault: ready"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("the ledger stands still"),
        "{}",
        ran.stdout
    );
}
