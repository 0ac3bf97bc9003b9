//! A network in a folder, and its processes.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use horizon_consensus::sim::{Dealt, Secrets};
use horizon_ledger::Genesis;
use horizon_ledger::genesis::{self, GenesisSpec};
use horizon_lifecycle::seal::{DEALER, Info, Purpose, SealingKey};
use horizon_lifecycle::share_file::SealedShare;
use horizon_node::keys::{self, encode_secret};
use horizon_testkit::SeededRng;

/// Tells a child which configuration it runs.
pub(crate) const CHILD: &str = "VALIDATOR_CHILD_CONFIG";

/// Files and addresses of one network.
pub(crate) struct Network {
    root: tempfile::TempDir,
    spec: GenesisSpec,
    api: Vec<SocketAddr>,
}

impl Network {
    /// Makes keys, genesis and configurations of `n` validators.
    pub(crate) fn new(n: u16, interval_ms: u64) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut rng = SeededRng::new(0x70);
        rng_salt(&mut rng);
        let dealt = Dealt::new(1, n, n * 2 / 3 + 1, &mut rng);
        let mut spec = dealt.spec(&[], interval_ms);
        let sealing: Vec<_> = (0..n).map(|_| SealingKey::generate(&mut rng)).collect();
        let ports = free_ports(usize::from(n) * 2);
        for (index, (validator, key)) in spec.validators.iter_mut().zip(&sealing).enumerate() {
            let public = key.public().to_bytes();
            let (x, kem) = public.split_at(32);
            validator.sealing_x25519 = x.try_into().unwrap();
            *validator.sealing_mlkem768 = <[u8; genesis::MLKEM768_KEY_LEN]>::try_from(kem).unwrap();
            validator.address = ports[index * 2];
        }
        let api = ports.iter().skip(1).step_by(2).copied().collect();
        let network = Self { root, spec, api };
        let checked = Genesis::new(network.spec.clone()).unwrap();
        network.write_genesis(&network.spec);
        for (position, (secrets, sealing)) in (0_u16..).zip(dealt.secrets.iter().zip(&sealing)) {
            network.write_node(position, &checked, secrets, sealing, &mut rng);
        }
        network
    }

    pub(crate) fn spec(&self) -> GenesisSpec {
        self.spec.clone()
    }

    pub(crate) fn write_genesis(&self, spec: &GenesisSpec) {
        let text = spec.to_json().unwrap();
        fs::write(self.root.path().join("genesis.json"), text).unwrap();
    }

    pub(crate) fn folder(&self, position: u16) -> PathBuf {
        self.root.path().join(format!("validator-{position}"))
    }

    pub(crate) fn config(&self, position: u16) -> PathBuf {
        self.folder(position).join("node.toml")
    }

    pub(crate) fn api(&self, position: u16) -> SocketAddr {
        self.api[usize::from(position)]
    }

    pub(crate) fn start(&self, position: u16) -> Node {
        self.start_with(position, &[])
    }

    pub(crate) fn start_with(&self, position: u16, variables: &[(&str, &str)]) -> Node {
        let log = self.folder(position).join("node.log");
        let output = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let begin = output.metadata().unwrap().len();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_child_becomes_a_validator", "--nocapture"])
            .env(CHILD, self.config(position))
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap();
        Node {
            child,
            api: self.api(position),
            log,
            begin,
        }
    }

    fn write_node(
        &self,
        position: u16,
        genesis: &Genesis,
        secrets: &Secrets,
        sealing: &SealingKey,
        rng: &mut SeededRng,
    ) {
        let folder = self.folder(position);
        let key_folder = folder.join("keys");
        fs::create_dir_all(&key_folder).unwrap();
        let files: [(&str, &str, &[u8]); 5] = [
            (keys::LINK_KEY, keys::ED25519, &secrets.link.to_seed()[..]),
            (
                keys::CONSENSUS_KEY,
                keys::ML_DSA_65,
                &secrets.consensus.to_seed()[..],
            ),
            (keys::BEAM_KEY, keys::BLS, &secrets.beam.to_bytes()[..]),
            (
                keys::CERTSET_KEY,
                keys::ML_DSA_65,
                &secrets.certset.to_seed()[..],
            ),
            (keys::SEALING_KEY, keys::SEALING, &sealing.to_bytes()[..]),
        ];
        for (file, scheme, secret) in files {
            write_secret(&key_folder.join(file), &encode_secret(scheme, secret));
        }
        let info = Info {
            ceremony: [0; 32],
            purpose: Purpose::DealtShare,
            from: DEALER,
            to: position,
        };
        let share = SealedShare::seal(
            sealing.public(),
            info,
            *genesis.committee().era_ctx(),
            &secrets.share.to_bytes(),
            rng,
        );
        write_secret(&folder.join("own.share"), &share.unwrap().to_bytes());
        let text = format!(
            "genesis = \"../genesis.json\"\nkeys = \"keys\"\nshare = \"own.share\"\n\
             data_dir = \"data\"\nlisten = \"{}\"\napi = \"{}\"\n",
            self.spec.validators[usize::from(position)].address,
            self.api(position)
        );
        fs::write(self.config(position), text).unwrap();
    }
}

/// A running validator; killed when dropped.
pub(crate) struct Node {
    child: Child,
    api: SocketAddr,
    log: PathBuf,
    begin: u64,
}

impl Node {
    /// The body of a GET, if the answer is a success.
    pub(crate) fn get(&self, path: &str) -> Option<String> {
        let (status, body) = self.request(path)?;
        (status == 200).then_some(body)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.get("/readyz").is_some()
    }

    pub(crate) fn height(&self) -> Option<u64> {
        let status: serde_json::Value = serde_json::from_str(&self.get("/v1/status")?).ok()?;
        status["height"].as_str()?.parse().ok()
    }

    pub(crate) fn digest(&self, height: u64) -> Option<String> {
        let body = self.get(&format!("/v1/blocks/{height}"))?;
        let block: serde_json::Value = serde_json::from_str(&body).ok()?;
        block["digest"].as_str().map(str::to_owned)
    }

    /// As a power cut does.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to stop and gives its exit code.
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(sent.unwrap().success());
        self.wait().0
    }

    /// Waits for its end; gives its exit code and what it wrote since it was started.
    pub(crate) fn wait(&mut self) -> (Option<i32>, String) {
        let end = std::time::Instant::now() + Duration::from_secs(60);
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                std::time::Instant::now() < end,
                "it does not end:\n{}",
                self.output()
            );
            std::thread::sleep(Duration::from_millis(20));
        };
        (status.code(), self.output())
    }

    fn output(&self) -> String {
        let bytes = fs::read(&self.log).unwrap();
        let begin = usize::try_from(self.begin).unwrap().min(bytes.len());
        String::from_utf8_lossy(&bytes[begin..]).into_owned()
    }

    fn request(&self, path: &str) -> Option<(u16, String)> {
        let wait = Duration::from_secs(10);
        let mut stream = TcpStream::connect_timeout(&self.api, wait).ok()?;
        stream.set_read_timeout(Some(wait)).ok()?;
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
            self.api
        );
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let text = String::from_utf8(answer).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split_whitespace().nth(1)?.parse().ok()?;
        Some((status, body.to_owned()))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let output = self.output();
            let tail: Vec<&str> = output.lines().rev().take(12).collect();
            eprintln!("--- {}", self.log.display());
            for line in tail.iter().rev() {
                eprintln!("{line}");
            }
        }
        self.kill();
    }
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Copies a folder with its modes.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    set_mode(to, fs::metadata(from).unwrap().permissions().mode());
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn write_secret(path: &Path, bytes: &[u8]) {
    let mut file: File = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .unwrap();
    file.write_all(bytes).unwrap();
}

/// Different networks of one test run have different keys.
fn rng_salt(rng: &mut SeededRng) {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NETWORKS: AtomicU64 = AtomicU64::new(1);
    let salt = NETWORKS.fetch_add(1, Ordering::Relaxed);
    *rng = SeededRng::new(salt);
}

/// Ports of the loopback address that are free now, all different.
fn free_ports(count: usize) -> Vec<SocketAddr> {
    let held: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    held.iter()
        .map(|listener| listener.local_addr().unwrap())
        .collect()
}
