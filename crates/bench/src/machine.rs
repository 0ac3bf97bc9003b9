//! What a result was measured on and from.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::clock::Pinned;

/// The machine and the build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name, family and model of the processor.
    pub processor: String,
    /// Instruction sets that this product can use.
    pub features: Vec<String>,
    /// Cores that the process may use.
    pub cores: usize,
    /// The core that serial rows ran on, where the system allows pinning.
    pub pinned: Option<usize>,
    /// Operating system and architecture.
    pub system: String,
    /// Backend of the ring.
    pub backend: String,
    /// Backend of the hashes.
    pub hash_backend: String,
    /// Version of the product.
    pub version: String,
    /// Commit of the folder the program was started in; empty where there is none.
    pub commit: String,
    /// Whether that folder had changes.
    pub changed: bool,
    /// Compiler on the path.
    pub rustc: String,
}

impl Machine {
    /// Describes this machine.
    #[must_use]
    pub fn here() -> Self {
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let lines = info.lines().filter_map(|line| line.split_once(':'));
            let found = lines.into_iter().find(|(key, _)| key.trim() == name);
            found
                .map_or("unknown", |(_, value)| value.trim())
                .to_owned()
        };
        let flags = field("flags");
        let has = |name: &&str| flags.split(' ').any(|flag| flag == *name);
        Self {
            processor: format!(
                "{} (family {}, model {})",
                field("model name"),
                field("cpu family"),
                field("model")
            ),
            features: FEATURES
                .iter()
                .filter(|name| has(name))
                .map(|name| (*name).to_owned())
                .collect(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            pinned: Pinned::new().core(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            backend: horizon_ring::backend::Kind::active().name().to_owned(),
            hash_backend: format!("{:?}", horizon_hash::backend::Kind::active()).to_lowercase(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: output("git", &["rev-parse", "--short=12", "HEAD"]),
            changed: !output("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty(),
            rustc: output("rustc", &["--version"]),
        }
    }
}

const FEATURES: [&str; 7] = [
    "avx2",
    "avx512f",
    "avx512ifma",
    "avx512vbmi",
    "sha_ni",
    "bmi2",
    "adx",
];

fn output(program: &str, arguments: &[&str]) -> String {
    let ran = Command::new(program).args(arguments).output();
    ran.map(|ran| String::from_utf8_lossy(&ran.stdout).trim().to_owned())
        .unwrap_or_default()
}
