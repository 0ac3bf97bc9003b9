//! Makes everything that a devnet's processes start with: keys, dealings, genesis files,
//! configurations.
//!
//! # Security
//! One process makes all keys here. On a real network every validator makes its own, on its own
//! machine.

use std::fs::{self, DirBuilder};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use horizon_node::relayer::config::ENDPOINT_COUNT_MAX;
use horizon_sig::algorithm::Algorithm;
use horizon_warp::policy::Tier;

use super::{ACCOUNT_FILE, Layout, Network, Node, Relayer, VERSION};
use crate::cmd::keys::validator;
use crate::cmd::network::init::{self, SuiteName, share_path};
use crate::cmd::network::{GENESIS_FILE, RECORD_FILE, connect};
use crate::exit::{Code, Failure};
use crate::ids::Id;
use crate::key_files::{PUBLIC_MODE, write_new};
use crate::output::id;
use crate::scheme_keys::SchemeKey;

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Validators of each network.
    pub validators: u16,
    /// Least time between two blocks, milliseconds.
    pub interval_ms: u64,
    /// Pulses prepared by one batch.
    pub batch_count: u16,
}

/// Makes a devnet in a folder, which must not hold one. `progress` is told what is being done.
///
/// # Errors
/// [`Code::Configuration`] when there is a devnet already; [`Code::Io`].
pub fn provision(
    root: &Path,
    plan: &Plan,
    progress: &mut dyn FnMut(&str),
) -> Result<Layout, Failure> {
    make_folder(root)?;
    if root.join(super::LAYOUT_FILE).exists() {
        let text = format!("{} holds a devnet already", root.display());
        return Err(Failure::new(Code::Configuration, text));
    }
    let mut ports = Ports::default();
    let networks = [
        network("alpha", 1, plan, &mut ports)?,
        network("beta", 2, plan, &mut ports)?,
    ];
    let relayer = Relayer {
        folder: PathBuf::from("relayer"),
        api: ports.take()?,
    };
    let layout = Layout {
        version: VERSION,
        networks,
        relayer,
    };
    for network in &layout.networks {
        progress(&format!(
            "{}: keys of {} validators",
            network.name,
            network.nodes.len()
        ));
        for node in &network.nodes {
            let keys = root.join(&node.folder).join(KEYS_FOLDER);
            make_folder(&root.join(&node.folder))?;
            validator::create(&keys, &node.name, node.links)?;
        }
        progress(&format!(
            "{}: one dealer shares the key of the Pulse",
            network.name
        ));
        let folders = network
            .nodes
            .iter()
            .map(|node| root.join(&node.folder).join(KEYS_FOLDER));
        init::init(&init::Options {
            network: network.network_id,
            chain: Id(network.chain_id()),
            name: network.name.clone(),
            validators: folders.collect(),
            weights: Vec::new(),
            threshold: None,
            suite: SuiteName::Sha3,
            interval_ms: plan.interval_ms,
            batch_count: Some(plan.batch_count),
            out: root.join(&network.name),
        })?;
    }
    let [a, b] = &layout.networks;
    for (own, other) in [(a, b), (b, a)] {
        let record = root.join(&other.name).join(RECORD_FILE);
        connect::connect(
            &root.join(&own.name),
            &[record],
            Tier::Horizon,
            RECORD_AGE_S,
        )?;
        for node in &own.nodes {
            write_node(root, own, node)?;
        }
    }
    write_relayer(root, &layout)?;
    SchemeKey::generate(Algorithm::MlDsa65)?.write(&root.join(ACCOUNT_FILE))?;
    layout.write(root)?;
    Ok(layout)
}

fn network(name: &str, number: u32, plan: &Plan, ports: &mut Ports) -> Result<Network, Failure> {
    let node = |index: u16| {
        Ok(Node {
            name: format!("{name}-{index}"),
            folder: Path::new(name).join(format!("validator-{index}")),
            links: ports.take()?,
            api: ports.take()?,
        })
    };
    let mut chain_id = [0; 32];
    chain_id.fill(u8::try_from(number).unwrap_or(u8::MAX));
    Ok(Network {
        name: name.to_owned(),
        network_id: number,
        chain_id: id(&chain_id),
        nodes: (0..plan.validators)
            .map(node)
            .collect::<Result<_, Failure>>()?,
    })
}

/// Free ports of the loopback address, all different: they are held until everything is written.
#[derive(Debug, Default)]
struct Ports(Vec<TcpListener>);

impl Ports {
    fn take(&mut self) -> Result<SocketAddr, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(Code::Io, format!("no free port on 127.0.0.1: {error}"))
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        self.0.push(listener);
        Ok(address)
    }
}

fn make_folder(path: &Path) -> Result<(), Failure> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| Failure::io(path, &error))
}

/// Writes the configuration of a validator; paths are relative to the file.
fn write_node(root: &Path, network: &Network, node: &Node) -> Result<(), Failure> {
    let folder = root.join(&node.folder);
    let path = folder.join("node.toml");
    write_new(&path, node_toml(network, node).as_bytes(), PUBLIC_MODE)
}

fn node_toml(network: &Network, node: &Node) -> String {
    let share = share_path(Path::new(".."), &node.name);
    format!(
        "# {} of network {}\n\
         genesis = \"../{}\"\n\
         keys = \"{KEYS_FOLDER}\"\n\
         share = \"{}\"\n\
         data_dir = \"data\"\n\
         listen = \"{}\"\n\
         api = \"{}\"\n",
        node.name,
        network.name,
        GENESIS_FILE,
        share.display(),
        node.links,
        node.api
    )
}

fn write_relayer(root: &Path, layout: &Layout) -> Result<(), Failure> {
    let folder = root.join(&layout.relayer.folder);
    make_folder(&folder)?;
    let path = folder.join("relayer.toml");
    write_new(&path, relayer_toml(layout).as_bytes(), PUBLIC_MODE)
}

fn relayer_toml(layout: &Layout) -> String {
    let mut text = format!("data_dir = \"data\"\nlisten = \"{}\"\n", layout.relayer.api);
    for network in &layout.networks {
        let urls = network.nodes.iter().take(ENDPOINT_COUNT_MAX);
        let urls: Vec<String> = urls.map(|node| format!("\"{}\"", node.url())).collect();
        text.push_str(&format!(
            "\n[[network]]\nname = \"{}\"\nnetwork_id = {}\nchain_id = \"{}\"\n\
             endpoints = [{}]\n",
            network.name,
            network.network_id,
            id(&network.chain_id()),
            urls.join(", ")
        ));
    }
    let [a, b] = &layout.networks;
    for (from, to) in [(a, b), (b, a)] {
        text.push_str(&format!(
            "\n[[route]]\nfrom = \"{}\"\nto = \"{}\"\n",
            from.name, to.name
        ));
    }
    text
}

/// Removes a devnet's folder.
///
/// # Errors
/// [`Code::Io`].
pub fn remove(root: &Path) -> Result<(), Failure> {
    fs::remove_dir_all(root).map_err(|error| Failure::io(root, &error))
}

const RECORD_AGE_S: u64 = 365 * 86_400;
/// Folder of a validator's keys in its own folder.
pub const KEYS_FOLDER: &str = "keys";
