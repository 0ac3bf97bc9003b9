//! Two networks and a relayer on this machine, in one folder.
//!
//! | path | content |
//! |---|---|
//! | `devnet.json` | names, addresses, folders |
//! | `account.key` | an account to send with |
//! | `NAME/` | public files of a network, sealed shares |
//! | `NAME/validator-0/` | keys, `node.toml`, `data/`, `node.log` |
//! | `relayer/` | `relayer.toml`, `data/`, `relayer.log` |

pub mod processes;
pub mod provision;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::exit::{Code, Failure};
use crate::ids::Id;
use crate::key_files::{PUBLIC_MODE, malformed, read_bounded, write_new};

/// What stands where.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    version: u32,
    /// The two networks.
    pub networks: [Network; 2],
    /// The relayer between them.
    pub relayer: Relayer,
}

/// One network.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Its name and folder.
    pub name: String,
    /// Its number.
    pub network_id: u32,
    chain_id: String,
    /// Its validators in the order they were made.
    pub nodes: Vec<Node>,
}

/// One validator process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name: network and number.
    pub name: String,
    /// Its folder, relative to the devnet's.
    pub folder: PathBuf,
    /// Where its links are reached.
    pub links: SocketAddr,
    /// Where its HTTP interface is reached.
    pub api: SocketAddr,
}

/// The relayer process.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relayer {
    /// Its folder, relative to the devnet's.
    pub folder: PathBuf,
    /// Where its HTTP interface is reached.
    pub api: SocketAddr,
}

impl Network {
    /// Its chain.
    #[must_use]
    pub fn chain_id(&self) -> [u8; 32] {
        self.chain_id.parse().map_or([0; 32], |Id(bytes)| bytes)
    }
}

impl Node {
    /// Address of the HTTP interface.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.api)
    }
}

impl Relayer {
    /// Address of the HTTP interface.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.api)
    }
}

impl Layout {
    /// Reads the layout of a folder.
    ///
    /// # Errors
    /// [`Code::Configuration`]: there is none, or it is malformed.
    pub fn read(root: &Path) -> Result<Self, Failure> {
        let path = root.join(LAYOUT_FILE);
        if !path.exists() {
            let text = format!(
                "{}: no devnet (`horizon devnet up` makes one)",
                root.display()
            );
            return Err(Failure::new(Code::Configuration, text));
        }
        let bytes = read_bounded(&path, LAYOUT_LEN_MAX)?;
        let layout: Self =
            serde_json::from_slice(&bytes).map_err(|error| malformed(&path, &error))?;
        let chains = layout
            .networks
            .iter()
            .all(|network| network.chain_id.parse::<Id>().is_ok());
        if layout.version != VERSION || !chains {
            return Err(malformed(&path, &"not a devnet of this version"));
        }
        Ok(layout)
    }

    fn write(&self, root: &Path) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
        write_new(
            &root.join(LAYOUT_FILE),
            format!("{text}\n").as_bytes(),
            PUBLIC_MODE,
        )
    }

    /// Every process with its name, the words that start it, and its log.
    #[must_use]
    pub fn processes(&self, root: &Path) -> Vec<Program> {
        let nodes = self.networks.iter().flat_map(|network| &network.nodes);
        let mut all: Vec<Program> = nodes.map(|node| node_program(root, node)).collect();
        all.push(relayer_program(root, &self.relayer));
        all
    }
}

/// How one process is started.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// `node` or `relayer`.
    pub command: &'static str,
    /// Its configuration file.
    pub config: PathBuf,
    /// Where its output goes.
    pub log: PathBuf,
}

/// How a validator is started.
#[must_use]
pub fn node_program(root: &Path, node: &Node) -> Program {
    let folder = root.join(&node.folder);
    Program {
        name: node.name.clone(),
        command: "node",
        config: folder.join("node.toml"),
        log: folder.join("node.log"),
    }
}

/// How the relayer is started.
#[must_use]
pub fn relayer_program(root: &Path, relayer: &Relayer) -> Program {
    let folder = root.join(&relayer.folder);
    Program {
        name: "relayer".to_owned(),
        command: "relayer",
        config: folder.join("relayer.toml"),
        log: folder.join("relayer.log"),
    }
}

/// Account key of a devnet.
pub const ACCOUNT_FILE: &str = "account.key";
const LAYOUT_FILE: &str = "devnet.json";
const LAYOUT_LEN_MAX: u64 = 1 << 20;
const VERSION: u32 = 1;
