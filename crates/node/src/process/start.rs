//! Everything that is checked before a validator opens a port or writes a vote.

use std::fs;
use std::io::Read as _;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_consensus::Roster;
use horizon_consensus::chain::Chain;
use horizon_ledger::genesis::GENESIS_LEN_MAX;
use horizon_ledger::{App, Error as LedgerError, Genesis, Store, StoreError};
use horizon_pulsar::dealer::MemberShare;

use super::directory::Directory;
use super::fence::{self, Restored, WAY_BACK};
use super::{Failure, IO, UNSAFE};
use crate::config::NodeConfig;
use crate::keys::{KeyError, ValidatorKeys, read_share};
use crate::signer::{self, Fence, Guard};

/// A validator that may start: everything was checked, the directory is locked, and this life has
/// its number.
#[derive(Debug)]
pub struct Prepared {
    pub(super) config: NodeConfig,
    pub(super) genesis: Genesis,
    pub(super) roster: Arc<Roster>,
    pub(super) keys: ValidatorKeys,
    pub(super) share: Option<MemberShare>,
    pub(super) position: u16,
    pub(super) directory: Directory,
    pub(super) guard: Guard,
    pub(super) fence: Fence,
    pub(super) restored: Option<Restored>,
    pub(super) journal: u64,
    pub(super) chain: Arc<Chain>,
}

impl Prepared {
    /// Canonical position of this validator.
    #[must_use]
    pub const fn position(&self) -> u16 {
        self.position
    }

    /// The genesis.
    #[must_use]
    pub const fn genesis(&self) -> &Genesis {
        &self.genesis
    }
}

/// Checks everything, in an order that gives the most useful sentence.
pub(super) fn prepare(config: NodeConfig) -> Result<Prepared, Failure> {
    let genesis = read_genesis(&config.genesis)?;
    let roster = Roster::from_genesis(&genesis)
        .map_err(|error| Failure::configuration(format!("genesis: {error}")))?;
    let keys = ValidatorKeys::read(&config.keys).map_err(Failure::configuration)?;
    let position = keys.position(&genesis).map_err(Failure::configuration)?;
    let share = config
        .share
        .as_ref()
        .map(|path| read_share(path, &keys.sealing, position, &genesis))
        .transpose()
        .map_err(|error: KeyError| Failure::configuration(error))?;
    let directory = Directory::open(&config.data_dir, config.limits.min_free)?;
    check_port("listen", config.listen)?;
    check_port("api", config.api)?;
    let guard = open_guard(&directory, &genesis, position)?;
    let restored = Restored::read(&directory.restored())?;
    let journal = fence::read_journal(&directory.journal())?;
    let was_used = has_lived(&guard)? && restored.is_none();
    if was_used && !holds_something(&directory.ledger()) {
        return Err(lost("ledger.redb"));
    }
    let store = Store::open(&directory.ledger(), &genesis).map_err(store_failure)?;
    let chain = open_chain(&genesis, store)?;
    if was_used && chain.height() > 0 && !directory.consensus().exists() {
        return Err(lost("consensus"));
    }
    let fence = fence::begin(&guard, &directory.boot(), &mut UnwrapErr(SysRng))?;
    Ok(Prepared {
        chain,
        config,
        genesis,
        roster: Arc::new(roster),
        keys,
        share,
        position,
        directory,
        guard,
        fence,
        restored,
        journal,
    })
}

fn open_chain(genesis: &Genesis, store: Store) -> Result<Arc<Chain>, Failure> {
    let app = App::new(genesis.clone())
        .map_err(|error| Failure::configuration(format!("genesis: {error}")))?;
    Ok(Arc::new(Chain::open(Arc::new(app), Arc::new(store))))
}

/// Whether the guard knows of an earlier start: then the ledger existed before it.
fn has_lived(guard: &Guard) -> Result<bool, Failure> {
    let fence = guard.fence();
    let fence = fence.map_err(|error| Failure::new(IO, format!("signer.redb: {error}")))?;
    Ok(fence.is_some())
}

fn holds_something(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0)
}

/// A part of the directory is gone: begun anew, it would not know what this validator signed.
fn lost(part: &str) -> Failure {
    let text = format!("{part} is missing or empty although this validator has run; {WAY_BACK}");
    Failure::new(UNSAFE, text)
}

/// Takes on an old copy of the directory: see [`Restored`].
pub(super) fn accept(config: &NodeConfig, boot: u64, height: u64) -> Result<(), Failure> {
    let genesis = read_genesis(&config.genesis)?;
    let keys = ValidatorKeys::read(&config.keys).map_err(Failure::configuration)?;
    let position = keys.position(&genesis).map_err(Failure::configuration)?;
    let directory = Directory::open(&config.data_dir, config.limits.min_free)?;
    let guard = open_guard(&directory, &genesis, position)?;
    let stored = guard
        .fence()
        .map_err(|error| Failure::new(IO, format!("signer.redb: {error}")))?;
    let restored = Restored {
        boot,
        height,
        caught_up: false,
    };
    restored.write(&directory.restored())?;
    let fence = Fence {
        // Refused starts have counted on.
        boot: stored.map_or(boot, |stored| stored.boot.max(boot)),
        incarnation: [0; 32],
    };
    fence::write_journal(&directory.journal(), fence.boot)?;
    fence::skip(&guard, &directory.boot(), &fence)
}

fn read_genesis(path: &Path) -> Result<Genesis, Failure> {
    let failed = |error: &dyn core::fmt::Display| {
        Failure::configuration(format!("genesis {}: {error}", path.display()))
    };
    let limit = u64::try_from(GENESIS_LEN_MAX).unwrap_or(u64::MAX);
    let mut text = String::new();
    fs::File::open(path)
        .map_err(|error| failed(&error))?
        .take(limit.saturating_add(1))
        .read_to_string(&mut text)
        .map_err(|error| failed(&error))?;
    Genesis::from_json(&text).map_err(|error| failed(&error))
}

/// Fails now, with a sentence, and not later as a panic of the listener.
fn check_port(key: &str, address: SocketAddr) -> Result<(), Failure> {
    TcpListener::bind(address)
        .map(drop)
        .map_err(|error| Failure::configuration(format!("{key} {address}: {error}")))
}

fn open_guard(directory: &Directory, genesis: &Genesis, position: u16) -> Result<Guard, Failure> {
    let path = directory.signer();
    let member = genesis
        .record()
        .members
        .get(usize::from(position))
        .ok_or_else(|| Failure::configuration("this validator is not in the registry record"))?;
    let identity = signer::identity(genesis.hash(), &member.bls_key);
    let opened = match Guard::open_file(&path, &identity) {
        // Only a directory in which nothing ever ran may get an empty guard.
        Err(signer::Error::Missing) if !directory.is_used() => Guard::create_file(&path, &identity),
        other => other,
    };
    opened.map_err(|error| match error {
        signer::Error::WrongIdentity => Failure::configuration(format!(
            "{} belongs to another validator or network",
            path.display()
        )),
        signer::Error::Locked => {
            Failure::configuration(format!("another process has {} open", path.display()))
        }
        signer::Error::Write(_) => Failure::new(IO, format!("{}: {error}", path.display())),
        _ => Failure::new(UNSAFE, format!("{}: {error}; {WAY_BACK}", path.display())),
    })
}

fn store_failure(error: LedgerError) -> Failure {
    match error {
        LedgerError::Store(StoreError::Genesis) => {
            Failure::configuration("ledger.redb belongs to another genesis")
        }
        LedgerError::Store(StoreError::Schema { found }) => Failure::configuration(format!(
            "ledger.redb has layout {found}, which this version does not read"
        )),
        LedgerError::Store(StoreError::Corrupt { .. } | StoreError::Fork) => {
            Failure::new(UNSAFE, format!("ledger.redb: {error}; {WAY_BACK}"))
        }
        other => Failure::new(IO, format!("ledger.redb: {other}")),
    }
}
