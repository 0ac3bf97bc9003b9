//! Storage that loses what was not flushed, for tests.

use std::io;
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

/// A disk. What was written since the last flush is lost when the process dies.
#[derive(Clone, Debug)]
pub(crate) struct CrashStorage {
    disk: Arc<Mutex<Disk>>,
}

#[derive(Debug, Default)]
struct Disk {
    flushed: Vec<u8>,
    written: Vec<u8>,
    /// Grows with every crash; a backend of an older life fails.
    life: u64,
    /// Operations that still succeed.
    budget: Option<u64>,
}

/// One life of the disk.
#[derive(Debug)]
pub(crate) struct Backend {
    disk: Arc<Mutex<Disk>>,
    life: u64,
}

impl CrashStorage {
    pub(crate) fn new() -> Self {
        Self {
            disk: Arc::default(),
        }
    }

    /// A backend over the current life.
    pub(crate) fn backend(&self) -> Backend {
        let life = self.disk.lock().unwrap().life;
        let disk = Arc::clone(&self.disk);
        Backend { disk, life }
    }

    /// The process dies: unflushed bytes are gone and its backends fail.
    pub(crate) fn crash(&self) {
        let mut disk = self.disk.lock().unwrap();
        disk.written = disk.flushed.clone();
        disk.life += 1;
        disk.budget = None;
    }

    /// Crash, and a backend for the next life.
    pub(crate) fn restart(&self) -> Backend {
        self.crash();
        self.backend()
    }

    /// Writes and flushes after the next `operations` fail.
    pub(crate) fn fail_after(&self, operations: u64) {
        self.disk.lock().unwrap().budget = Some(operations);
    }

    /// A copy of what is on the disk.
    pub(crate) fn copy(&self) -> Self {
        let disk = self.disk.lock().unwrap();
        let copy = Disk {
            flushed: disk.flushed.clone(),
            written: disk.flushed.clone(),
            ..Disk::default()
        };
        Self {
            disk: Arc::new(Mutex::new(copy)),
        }
    }
}

impl Backend {
    fn with<T>(
        &self,
        costs: bool,
        act: impl FnOnce(&mut Disk) -> Result<T, io::Error>,
    ) -> Result<T, io::Error> {
        let mut disk = self.disk.lock().unwrap();
        if disk.life != self.life {
            return Err(io::Error::other("this life is over"));
        }
        if costs && let Some(budget) = &mut disk.budget {
            match budget.checked_sub(1) {
                Some(rest) => *budget = rest,
                None => return Err(io::Error::other("the disk fails")),
            }
        }
        act(&mut disk)
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> Result<u64, io::Error> {
        self.with(false, |disk| Ok(disk.written.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.with(false, |disk| {
            let start = offset as usize;
            let found = disk.written.get(start..start + out.len());
            out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.with(true, |disk| {
            disk.written.resize(len as usize, 0);
            Ok(())
        })
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.with(true, |disk| {
            disk.flushed.clone_from(&disk.written);
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.with(true, |disk| {
            let start = offset as usize;
            let place = disk.written.get_mut(start..start + data.len());
            place
                .ok_or(io::ErrorKind::UnexpectedEof)?
                .copy_from_slice(data);
            Ok(())
        })
    }
}
