//! The data directory: made, checked, locked.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::Failure;

/// The directory of one validator, locked for this process.
#[derive(Debug)]
pub(super) struct Directory {
    root: PathBuf,
    /// Held for its lock.
    _lock: File,
}

impl Directory {
    /// Makes the directory if it does not exist, checks that it can be written and belongs to its
    /// owner alone, and takes its lock.
    pub(super) fn open(root: &Path, min_free: u64) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::configuration(format!("data_dir {}: {error}", root.display()))
        };
        if !root.exists() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(root)
                .map_err(failed)?;
        }
        let metadata = fs::metadata(root).map_err(failed)?;
        if !metadata.is_dir() {
            return Err(Failure::configuration(format!(
                "data_dir {} is not a directory",
                root.display()
            )));
        }
        if metadata.permissions().mode() & 0o022 != 0 {
            return Err(Failure::configuration(format!(
                "data_dir {} can be written by others: chmod 700 it",
                root.display()
            )));
        }
        let lock = lock(root)?;
        probe(root).map_err(|error| {
            Failure::configuration(format!(
                "data_dir {} cannot be written: {error}",
                root.display()
            ))
        })?;
        let free = free_bytes(root).map_err(failed)?;
        if free < min_free {
            return Err(Failure::configuration(format!(
                "data_dir {} has {} MiB free, limits.min_free asks for {}",
                root.display(),
                free >> 20,
                min_free >> 20
            )));
        }
        Ok(Self {
            root: root.to_path_buf(),
            _lock: lock,
        })
    }

    pub(super) fn ledger(&self) -> PathBuf {
        self.root.join("ledger.redb")
    }

    pub(super) fn signer(&self) -> PathBuf {
        self.root.join("signer.redb")
    }

    pub(super) fn attestations(&self) -> PathBuf {
        self.root.join("attestations.redb")
    }

    pub(super) fn boot(&self) -> PathBuf {
        self.root.join("boot")
    }

    pub(super) fn restored(&self) -> PathBuf {
        self.root.join("restored")
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.root.join("journal")
    }

    pub(super) fn consensus(&self) -> PathBuf {
        self.root.join("consensus")
    }

    pub(super) fn evidence(&self) -> PathBuf {
        self.root.join("evidence")
    }

    /// Whether a validator has run here before.
    pub(super) fn is_used(&self) -> bool {
        [self.ledger(), self.boot(), self.consensus()]
            .iter()
            .any(|path| path.exists())
    }
}

/// Free bytes of the file system that holds `path`, for this user.
pub(super) fn free_bytes(path: &Path) -> std::io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Writes a small file so that a power cut leaves the old or the new one.
pub(super) fn write_atomic(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

fn lock(root: &Path) -> Result<File, Failure> {
    let path = root.join("lock");
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(|error| Failure::configuration(format!("{}: {error}", path.display())))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::configuration(format!(
            "another process uses data_dir {}",
            root.display()
        ))),
        Err(TryLockError::Error(error)) => Err(Failure::configuration(format!(
            "{}: {error}",
            path.display()
        ))),
    }
}

fn probe(root: &Path) -> std::io::Result<()> {
    let path = root.join("probe.new");
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::create_new(&path)?;
    file.write_all(b"probe")?;
    file.sync_all()?;
    fs::remove_file(&path)
}
