//! What the commands that talk to running processes have in common.

use std::future::Future;
use std::path::PathBuf;

use clap::Args;
use horizon_node::client::{Client, Error, Timeouts};

use crate::devnet::Layout;
use crate::exit::{Code, Failure};

/// Where running processes are reached.
#[derive(Args, Clone, Debug, Default)]
pub struct Endpoints {
    /// HTTP address of a validator; repeat it for several
    #[arg(long, value_name = "URL")]
    pub node: Vec<String>,
    /// HTTP address of the relayer
    #[arg(long, value_name = "URL")]
    pub relayer: Option<String>,
    /// Folder of a devnet: all its addresses
    #[arg(long, value_name = "DIR")]
    pub devnet: Option<PathBuf>,
}

impl Endpoints {
    /// The addresses named, with those of the devnet.
    ///
    /// # Errors
    /// [`Code::Configuration`] for a devnet that cannot be read.
    pub fn resolve(&self) -> Result<Self, Failure> {
        let mut all = self.clone();
        if let Some(root) = &self.devnet {
            let layout = Layout::read(root)?;
            let nodes = layout.networks.iter().flat_map(|network| &network.nodes);
            all.node.extend(nodes.map(|node| node.url()));
            all.relayer.get_or_insert_with(|| layout.relayer.url());
        }
        Ok(all)
    }

    /// Clients of the validators.
    ///
    /// # Errors
    /// [`Code::Usage`] when none is named, or an address is none.
    pub fn nodes(&self) -> Result<Vec<Client>, Failure> {
        if self.node.is_empty() {
            let text = "name a validator with --node, or a devnet with --devnet";
            return Err(Failure::new(Code::Usage, text));
        }
        self.node.iter().map(|address| client(address)).collect()
    }

    /// Client of the relayer.
    ///
    /// # Errors
    /// [`Code::Usage`] when none is named, or the address is none.
    pub fn relayer(&self) -> Result<Client, Failure> {
        let text = "name the relayer with --relayer, or a devnet with --devnet";
        let address = self.relayer.as_ref();
        client(address.ok_or_else(|| Failure::new(Code::Usage, text))?)
    }
}

/// A client of an address.
///
/// # Errors
/// [`Code::Usage`].
pub fn client(address: &str) -> Result<Client, Failure> {
    Client::new(address, Timeouts::default())
        .map_err(|error| Failure::new(Code::Usage, format!("{address}: {error}")))
}

/// A failed call, with the exit code of its kind.
#[must_use]
pub fn failed(client: &Client, error: &Error) -> Failure {
    let code = match error {
        Error::Api { body, .. } if body.retryable => Code::Insufficient,
        Error::Api { .. } => Code::Refused,
        Error::BadAddress => Code::Usage,
        _ => Code::Io,
    };
    let hint = error.code().and_then(horizon_node::api::Code::from_code);
    let hint = hint
        .map(|code| format!(". {}", code.hint()))
        .unwrap_or_default();
    Failure::new(code, format!("{}: {error}{hint}", client.address()))
}

/// Runs asynchronous work of a command.
///
/// # Errors
/// Those of the work; [`Code::Internal`] when no runtime can be started.
pub fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
    runtime.block_on(work)
}
