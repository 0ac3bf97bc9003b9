//! A child process that never outlives its owner.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use horizon_cli::devnet::Program;

/// The program under test.
pub(crate) const HORIZON: &str = env!("CARGO_BIN_EXE_horizon");

/// How often a condition is looked at.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// Waits until a condition holds.
///
/// # Panics
/// After `limit`.
pub(crate) fn until(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    while !condition() {
        assert!(Instant::now() < end, "not within {limit:?}: {what}");
        thread::sleep(POLL);
    }
}

/// A running child.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    /// Copies standard error to the log, so that limits on the child's files do not touch it.
    copier: Option<JoinHandle<()>>,
    /// Bytes of the log that earlier lives wrote.
    before: u64,
}

/// How a child ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` after a signal.
    pub(crate) code: Option<i32>,
    /// What this life wrote to standard error.
    pub(crate) log: String,
}

impl Ended {
    /// The one sentence for the operator.
    ///
    /// # Panics
    /// Without exactly one.
    pub(crate) fn sentence(&self) -> &str {
        let prefixes = ["error: ", "horizon relayer: ", "horizon: "];
        let mut found = self
            .log
            .lines()
            .filter_map(|line| prefixes.iter().find_map(|prefix| line.strip_prefix(prefix)));
        let first = found.next();
        assert!(
            first.is_some() && found.next().is_none(),
            "not exactly one sentence: {}",
            self.log
        );
        first.unwrap()
    }

    /// Insists on the exit code and on words of the sentence.
    pub(crate) fn insist(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.log);
        let sentence = self.sentence();
        for word in words {
            assert!(sentence.contains(word), "{word:?} is not in: {sentence}");
        }
    }
}

impl Process {
    /// Starts `horizon node` or `horizon relayer` of a devnet.
    pub(crate) fn start(program: &Program) -> Self {
        let mut command = Command::new(HORIZON);
        arguments(&mut command, program);
        Self::spawn(&program.name, &program.log, command)
    }

    /// Starts a prepared command.
    pub(crate) fn spawn(name: &str, log: &Path, mut command: Command) -> Self {
        let mut sink = OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)
            .unwrap();
        let before = sink.metadata().unwrap().len();
        let mut child = command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut source = child.stderr.take().unwrap();
        let copier = thread::spawn(move || {
            // Ends when the child does.
            let _ = io::copy(&mut source, &mut sink);
        });
        Self {
            name: name.to_owned(),
            child,
            log: log.to_path_buf(),
            copier: Some(copier),
            before,
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// SIGKILL, as a power cut would.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    /// Lets go of standard input: the child stops by itself.
    pub(crate) fn stop(mut self, limit: Duration) -> Ended {
        drop(self.child.stdin.take());
        self.wait(limit)
    }

    /// Waits until the child has ended by itself.
    pub(crate) fn wait(mut self, limit: Duration) -> Ended {
        let end = Instant::now() + limit;
        while self.is_running() {
            assert!(
                Instant::now() < end,
                "{} still runs after {limit:?}: {}",
                self.name,
                self.output()
            );
            thread::sleep(POLL);
        }
        let code = self.child.wait().unwrap().code();
        self.end();
        Ended {
            code,
            log: self.output(),
        }
    }

    /// What this life has written so far.
    pub(crate) fn output(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        let start = usize::try_from(self.before).unwrap().min(bytes.len());
        String::from_utf8_lossy(&bytes[start..]).into_owned()
    }

    /// Greatest resident memory so far, bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.unwrap().trim().trim_end_matches(" kB").trim();
        kib.parse::<u64>().unwrap() << 10
    }

    fn end(&mut self) {
        // Fails only for a child that is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(copier) = self.copier.take() {
            copier.join().unwrap();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// The words that start a program of a devnet.
pub(crate) fn arguments(command: &mut Command, program: &Program) {
    command
        .arg(program.command)
        .arg("--config")
        .arg(&program.config)
        .arg("--until-input-ends");
}
