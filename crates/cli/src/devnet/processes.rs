//! Child processes that never outlive the one that started them.
//!
//! Every child stands in its own process group, so that Ctrl-C reaches only the parent, and reads
//! its standard input: when that ends, because the parent let go or died, the child stops.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Program;
use crate::exit::{Code, Failure};

/// Running children. Dropping it stops all of them.
#[derive(Debug)]
pub struct Processes {
    binary: PathBuf,
    running: Vec<Running>,
}

#[derive(Debug)]
struct Running {
    program: Program,
    child: Child,
}

/// A child that ended by itself.
#[derive(Debug)]
pub struct Ended {
    /// Its name.
    pub name: String,
    /// Its exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Last lines of its log.
    pub tail: String,
}

impl Processes {
    /// Children of this program's own file.
    ///
    /// # Errors
    /// [`Code::Io`] when the file of this program is not known.
    pub fn new() -> Result<Self, Failure> {
        let binary = std::env::current_exe()
            .map_err(|error| Failure::new(Code::Io, format!("this program's file: {error}")))?;
        Ok(Self {
            binary,
            running: Vec::new(),
        })
    }

    /// Starts a program; its output is appended to its log.
    ///
    /// # Errors
    /// [`Code::Io`].
    pub fn start(&mut self, program: &Program) -> Result<(), Failure> {
        let log = append(&program.log)?;
        let errors = log
            .try_clone()
            .map_err(|error| Failure::io(&program.log, &error))?;
        let child = command(&self.binary, program)
            .arg("--until-input-ends")
            .stdin(Stdio::piped())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(|error| Failure::io(&self.binary, &error))?;
        self.running.push(Running {
            program: program.clone(),
            child,
        });
        Ok(())
    }

    /// Ends a child with SIGKILL, as a power cut would, and waits until it is gone.
    ///
    /// # Errors
    /// [`Code::Io`] when there is no such child.
    pub fn kill(&mut self, name: &str) -> Result<(), Failure> {
        let index = self
            .running
            .iter()
            .position(|running| running.program.name == name);
        let index = index.ok_or_else(|| Failure::new(Code::Io, format!("{name} does not run")))?;
        let mut running = self.running.swap_remove(index);
        let ended = running.child.kill().and_then(|()| running.child.wait());
        ended
            .map(drop)
            .map_err(|error| Failure::new(Code::Io, format!("{name}: {error}")))
    }

    /// The process id of a child.
    #[must_use]
    pub fn pid(&self, name: &str) -> Option<u32> {
        let found = self
            .running
            .iter()
            .find(|running| running.program.name == name);
        found.map(|running| running.child.id())
    }

    /// A child that ended although nobody asked it to.
    pub fn ended(&mut self) -> Option<Ended> {
        self.running.iter_mut().find_map(|running| {
            let status = running.child.try_wait().ok()??;
            Some(Ended {
                name: running.program.name.clone(),
                code: status.code(),
                tail: tail(&running.program.log),
            })
        })
    }

    /// Asks all children to stop, waits a little, and kills those that still run.
    pub fn stop(&mut self) {
        for running in &mut self.running {
            drop(running.child.stdin.take());
        }
        let deadline = Instant::now() + GRACE;
        for running in &mut self.running {
            while matches!(running.child.try_wait(), Ok(None)) && Instant::now() < deadline {
                thread::sleep(POLL);
            }
            // Fails only for a child that is gone.
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
        self.running.clear();
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts a program that goes on when this process ends, and returns its process id.
///
/// # Errors
/// [`Code::Io`].
pub fn start_detached(program: &Program) -> Result<u32, Failure> {
    let binary = std::env::current_exe()
        .map_err(|error| Failure::new(Code::Io, format!("this program's file: {error}")))?;
    let log = append(&program.log)?;
    let errors = log
        .try_clone()
        .map_err(|error| Failure::io(&program.log, &error))?;
    let child = command(&binary, program)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .spawn()
        .map_err(|error| Failure::io(&binary, &error))?;
    Ok(child.id())
}

fn command(binary: &Path, program: &Program) -> Command {
    let mut command = Command::new(binary);
    command
        .arg(program.command)
        .arg("--config")
        .arg(&program.config)
        .process_group(0);
    command
}

fn append(path: &Path) -> Result<File, Failure> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.map_err(|error| Failure::io(path, &error))
}

/// The last lines of a log.
#[must_use]
pub fn tail(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(TAIL_LEN)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_LEN).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let text = String::from_utf8_lossy(&read().unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().rev().take(TAIL_LINES).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// How long children may take to stop.
const GRACE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(20);
const TAIL_LEN: u64 = 4 << 10;
const TAIL_LINES: usize = 6;
