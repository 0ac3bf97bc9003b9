//! A disk of one simulated validator: what was not synced is lost in a crash, wholly or in part.

use core::ops::Range;
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use redb::StorageBackend;

/// All files of one validator. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<String, File>,
    /// Writes and syncs so far.
    operations: u64,
    /// The operation at which the power goes.
    fail_at: Option<u64>,
    is_broken: bool,
}

#[derive(Clone, Debug, Default)]
struct File {
    /// What a crash leaves.
    durable: Vec<u8>,
    /// What the process sees.
    volatile: Vec<u8>,
    /// What was done since the last sync, in order.
    pending: Vec<Change>,
    /// Handles of an earlier life fail.
    life: u64,
}

#[derive(Clone, Debug)]
enum Change {
    Len(usize),
    Bytes(usize, Vec<u8>),
}

/// How much of the unsynced writes survives a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tear {
    /// Nothing.
    Nothing,
    /// Each write or not, as the bits of this number say, in turn. Writes that are torn are cut at
    /// a sector.
    Some(u64),
}

/// The synced bytes of a disk, as a backup would hold them.
#[derive(Clone, Debug)]
pub struct Backup {
    files: BTreeMap<String, Vec<u8>>,
}

/// A write is torn at a multiple of this.
const SECTOR: usize = 512;

impl Disk {
    /// Opens a file, empty if it is new, as it is after a restart: the synced bytes. Handles from
    /// before fail from now on.
    #[must_use]
    pub fn open(&self, name: &str) -> FileHandle {
        let mut state = self.lock();
        let file = state.files.entry(name.to_owned()).or_default();
        file.life = file.life.wrapping_add(1);
        file.forget();
        FileHandle {
            disk: self.clone(),
            name: name.to_owned(),
            life: file.life,
        }
    }

    /// The synced bytes of a file that exists.
    #[must_use]
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.lock();
        state.files.get(name).map(|file| file.durable.clone())
    }

    /// Puts a small file in place of another, which a power cut does not divide.
    ///
    /// # Errors
    /// The power is gone.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        state.count()?;
        let file = state.files.entry(name.to_owned()).or_default();
        file.durable = bytes.to_vec();
        file.forget();
        Ok(())
    }

    /// The power goes: handles fail from now on, and of what was not synced `tear` remains.
    pub fn cut(&self, tear: Tear) {
        let mut state = self.lock();
        state.fail_at = None;
        state.is_broken = false;
        let mut bits = match tear {
            Tear::Nothing => 0,
            Tear::Some(bits) => bits,
        };
        for file in state.files.values_mut() {
            file.life = file.life.wrapping_add(1);
            let pending = core::mem::take(&mut file.pending);
            if tear != Tear::Nothing {
                for change in pending {
                    let keep = bits & 3;
                    bits = bits.rotate_right(2) ^ 0x9e37_79b9_7f4a_7c15_u64.rotate_left(7);
                    match (keep, change) {
                        (0, _) => {}
                        (1, Change::Bytes(at, bytes)) => {
                            let half = bytes.len() / 2 / SECTOR * SECTOR;
                            let head = bytes.get(..half).unwrap_or_default().to_vec();
                            apply(&mut file.durable, &Change::Bytes(at, head));
                        }
                        (_, change) => apply(&mut file.durable, &change),
                    }
                }
            }
            file.forget();
        }
    }

    /// The power goes at this many writes or syncs from now: that one and all later ones fail until
    /// [`Self::cut`].
    pub fn fail_after(&self, operations: u64) {
        let mut state = self.lock();
        state.fail_at = Some(state.operations.saturating_add(operations));
    }

    /// Whether an operation failed because the power was gone.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.lock().is_broken
    }

    /// Takes a copy of every synced byte.
    #[must_use]
    pub fn backup(&self) -> Backup {
        let state = self.lock();
        Backup {
            files: state
                .files
                .iter()
                .map(|(name, file)| (name.clone(), file.durable.clone()))
                .collect(),
        }
    }

    /// Puts an old copy back, as an operator does who restores a directory. The validator must not
    /// be running.
    pub fn restore(&self, backup: &Backup) {
        let mut state = self.lock();
        state
            .files
            .retain(|name, _| backup.files.contains_key(name));
        for (name, bytes) in &backup.files {
            let file = state.files.entry(name.clone()).or_default();
            file.life = file.life.wrapping_add(1);
            file.durable.clone_from(bytes);
            file.forget();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn count(&mut self) -> io::Result<()> {
        self.operations = self.operations.saturating_add(1);
        if self.fail_at.is_some_and(|at| self.operations >= at) {
            self.is_broken = true;
        }
        if self.is_broken {
            return Err(io::Error::other("the power is gone"));
        }
        Ok(())
    }
}

impl File {
    fn forget(&mut self) {
        self.pending.clear();
        self.volatile.clone_from(&self.durable);
    }
}

/// A change beyond the end of a file that was not made longer on disk makes it longer.
fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Len(len) => bytes.resize(*len, 0),
        Change::Bytes(at, new) => {
            let end = at.saturating_add(new.len());
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            if let Some(old) = bytes.get_mut(*at..end) {
                old.copy_from_slice(new);
            }
        }
    }
}

/// An open file of a [`Disk`].
#[derive(Debug)]
pub struct FileHandle {
    disk: Disk,
    name: String,
    life: u64,
}

impl FileHandle {
    fn with<T>(&self, costs: bool, work: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.disk.lock();
        let life = state.files.get(&self.name).map(|file| file.life);
        if life != Some(self.life) {
            return Err(io::Error::other("the file was opened again after a crash"));
        }
        if costs {
            state.count()?;
        }
        match state.files.get_mut(&self.name) {
            Some(file) => work(file),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

fn span(file: &File, offset: u64, len: usize) -> io::Result<Range<usize>> {
    let start = usize::try_from(offset).map_err(io::Error::other)?;
    let end = start
        .checked_add(len)
        .filter(|end| *end <= file.volatile.len())
        .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    Ok(start..end)
}

impl StorageBackend for FileHandle {
    fn len(&self) -> io::Result<u64> {
        self.with(false, |file| Ok(file.volatile.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.with(false, |file| {
            let span = span(file, offset, out.len())?;
            if let Some(bytes) = file.volatile.get(span) {
                out.copy_from_slice(bytes);
            }
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(true, |file| {
            let len = usize::try_from(len).map_err(io::Error::other)?;
            file.volatile.resize(len, 0);
            file.pending.push(Change::Len(len));
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with(true, |file| {
            for change in core::mem::take(&mut file.pending) {
                apply(&mut file.durable, &change);
            }
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(true, |file| {
            let span = span(file, offset, data.len())?;
            let start = span.start;
            if let Some(bytes) = file.volatile.get_mut(span) {
                bytes.copy_from_slice(data);
            }
            file.pending.push(Change::Bytes(start, data.to_vec()));
            Ok(())
        })
    }
}
