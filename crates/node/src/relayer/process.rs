//! The relayer process: configuration, lock, routes, interface, end.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use super::config::Config;
use super::metrics::Metrics;
use super::route::{Command, Handle, Runner, list};
use super::store::{self, QUEUE_LEN_MAX};
use crate::api::types::{
    Check, QueueFilter, QueuePage, Readiness, RetryRequest, RetryResult, RouteList,
};
use crate::api::{Answer, ApiError, Code, RelayerBackend, relayer_router, serve};
use crate::process::Stop;

/// Entries of `GET /v1/queue` when the request names no number.
const QUEUE_LEN: usize = 100;
const EXIT_CONFIGURATION: u8 = 5;
const EXIT_IO: u8 = 6;

/// Why the relayer did not start or ended.
#[non_exhaustive]
#[derive(Debug)]
pub enum Error {
    /// Configuration, or a file that belongs to something else: exit code 5.
    Configuration(String),
    /// A file or socket: exit code 6.
    Io(String),
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Configuration(text) | Self::Io(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

/// Runs the relayer of a configuration file until SIGINT or SIGTERM.
///
/// Exit codes: 0 after a signal; 5 for the configuration or a route file of another route; 6 when a
/// file, the lock or the socket fails. One sentence goes to standard error.
#[must_use]
pub fn run(config_path: &Path) -> ExitCode {
    run_until(config_path, Stop::Signal)
}

/// As [`run`], with another end.
#[must_use]
pub fn run_until(config_path: &Path, stop: Stop) -> ExitCode {
    match start(config_path, stop) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("horizon relayer: {error}");
            ExitCode::from(match error {
                Error::Configuration(_) => EXIT_CONFIGURATION,
                Error::Io(_) => EXIT_IO,
            })
        }
    }
}

fn start(config_path: &Path, stop: Stop) -> Result<(), Error> {
    let text = std::fs::read_to_string(config_path).map_err(|error| {
        Error::Configuration(format!("cannot read {}: {error}", config_path.display()))
    })?;
    let mut config = Config::parse(&text, std::env::vars())
        .map_err(|error| Error::Configuration(format!("{}: {error}", config_path.display())))?;
    // Relative to the file, not to wherever the process was started.
    if let (true, Some(parent)) = (config.data_dir.is_relative(), config_path.parent()) {
        config.data_dir = parent.join(&config.data_dir);
    }
    log_to_stderr(config.log_json);
    for key in &config.overrides {
        tracing::info!(key, "replaced by the environment");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Io(format!("cannot start threads: {error}")))?;
    runtime.block_on(async {
        let relayer = Relayer::open(config).await?;
        tracing::info!(address = %relayer.address(), "relayer started");
        relayer.run(stopped(stop)).await;
        tracing::info!("relayer stopped");
        Ok(())
    })
}

/// An open relayer: lock held, route files open, socket bound.
#[derive(Debug)]
pub struct Relayer {
    config: Config,
    runners: Vec<Runner>,
    handles: Vec<Handle>,
    metrics: Arc<Metrics>,
    listener: TcpListener,
    address: std::net::SocketAddr,
    _lock: File,
}

impl core::fmt::Debug for Runner {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Runner").finish_non_exhaustive()
    }
}

impl Relayer {
    /// Takes the lock of the data directory, opens every route's file and binds the socket.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn open(config: Config) -> Result<Self, Error> {
        let directory = &config.data_dir;
        std::fs::create_dir_all(directory)
            .map_err(|error| Error::Io(format!("cannot make {}: {error}", directory.display())))?;
        let lock = take_lock(directory)?;
        let metrics = Metrics::new();
        let (mut runners, mut handles) = (Vec::new(), Vec::new());
        for route in &config.routes {
            let path = directory.join(format!("{}.redb", route.name));
            let opened = Runner::open(route.clone(), path.clone(), Arc::clone(&metrics));
            let (runner, handle) = opened.map_err(|error| {
                let text = format!("{}: {error}", path.display());
                match error {
                    store::Error::Foreign(_) => Error::Configuration(text),
                    store::Error::Storage(_) => Error::Io(text),
                }
            })?;
            runners.push(runner);
            handles.push(handle);
        }
        let bound = TcpListener::bind(config.listen).await;
        let bound = bound.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound
            .map_err(|error| Error::Io(format!("cannot listen on {}: {error}", config.listen)))?;
        Ok(Self {
            config,
            runners,
            handles,
            metrics,
            listener,
            address,
            _lock: lock,
        })
    }

    /// Where the interface listens.
    #[must_use]
    pub const fn address(&self) -> std::net::SocketAddr {
        self.address
    }

    /// Works until `stop` resolves. What is under way then is taken up by the next start.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) {
        let (stopping, stopped) = watch::channel(false);
        let mut routes = JoinSet::new();
        for runner in self.runners {
            routes.spawn(runner.run(stopped.clone()));
        }
        let service = Arc::new(Service {
            handles: self.handles,
            metrics: self.metrics,
        });
        let router = relayer_router(service, self.config.limits);
        if let Err(error) = serve(self.listener, router, self.config.limits, stop).await {
            tracing::error!(%error, "interface failed");
        }
        let _ = stopping.send(true);
        while routes.join_next().await.is_some() {}
    }
}

fn take_lock(directory: &Path) -> Result<File, Error> {
    let path = directory.join("lock");
    let opened = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let failed = |error: io::Error| Error::Io(format!("{}: {error}", path.display()));
    let file = opened.map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::Io(format!(
            "{} is in use by another relayer",
            directory.display()
        ))),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

fn log_to_stderr(json: bool) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr);
    // Whoever embeds the relayer may have set up logs already.
    let _ = if json {
        builder.json().try_init()
    } else {
        builder.with_ansi(false).try_init()
    };
}

/// Resolves on a signal, or when standard input ends where that is wanted.
async fn stopped(stop: Stop) {
    let (ended, end) = oneshot::channel::<()>();
    let _open = match stop {
        Stop::InputEnd => {
            // Reading blocks: a thread of its own, which the end of the process ends.
            std::thread::spawn(move || {
                let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
                let _ = ended.send(());
            });
            None
        }
        Stop::Signal => Some(ended),
    };
    tokio::select! {
        () = signal() => {}
        _ = end => {}
    }
}

async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let interrupted = tokio::signal::ctrl_c();
    match signal(SignalKind::terminate()) {
        Ok(mut terminated) => {
            tokio::select! {
                _ = interrupted => {}
                _ = terminated.recv() => {}
            }
        }
        Err(_) => {
            let _ = interrupted.await;
        }
    }
}

struct Service {
    handles: Vec<Handle>,
    metrics: Arc<Metrics>,
}

impl Service {
    fn selected<'s>(&'s self, route: Option<&'s str>) -> impl Iterator<Item = &'s Handle> {
        let wanted = move |handle: &&Handle| route.is_none_or(|route| route == handle.name);
        self.handles.iter().filter(wanted)
    }

    async fn read_queue(&self, filter: QueueFilter) -> Result<QueuePage, ApiError> {
        let limit = match filter.limit {
            None => QUEUE_LEN,
            Some(limit) => usize::try_from(limit)
                .ok()
                .filter(|limit| (1..=QUEUE_LEN_MAX).contains(limit))
                .ok_or_else(|| ApiError::new(Code::BadQuery).with("key", "limit"))?,
        };
        let mut page = QueuePage {
            entries: Vec::new(),
            more: false,
        };
        for handle in self.selected(filter.route.as_deref()) {
            let left = limit.saturating_sub(page.entries.len());
            let (reply, answer) = oneshot::channel();
            let command = Command::Queue(Box::new(filter.clone()), left, reply);
            if handle.commands.send(command).await.is_err() {
                continue;
            }
            let (entries, more) = answer.await.map_err(|_| ApiError::new(Code::StoreFailed))?;
            page.entries.extend(entries);
            page.more |= more;
        }
        Ok(page)
    }

    async fn start_again(&self, request: RetryRequest) -> Result<RetryResult, ApiError> {
        let mut retried = 0_u64;
        for handle in self.selected(request.route.as_deref()) {
            let (reply, answer) = oneshot::channel();
            let command = Command::Retry(Box::new(request.clone()), reply);
            if handle.commands.send(command).await.is_err() {
                continue;
            }
            let count = answer.await.map_err(|_| ApiError::new(Code::StoreFailed))?;
            retried = retried.saturating_add(count);
        }
        if retried == 0 {
            return Err(ApiError::new(Code::NothingToRetry));
        }
        Ok(RetryResult { retried })
    }
}

impl RelayerBackend for Service {
    fn routes(&self) -> Answer<'_, RouteList> {
        Box::pin(async { Ok(list(&self.handles)) })
    }

    fn queue(&self, filter: QueueFilter) -> Answer<'_, QueuePage> {
        Box::pin(self.read_queue(filter))
    }

    fn retry(&self, request: RetryRequest) -> Answer<'_, RetryResult> {
        Box::pin(self.start_again(request))
    }

    fn readiness(&self) -> Readiness {
        let checks = self.handles.iter().map(|handle| {
            let route = handle.shown();
            let code = route.reason.as_deref().and_then(Code::from_code);
            Check {
                name: route.name,
                ok: route.healthy,
                reason: route.reason,
                message: code.map_or("both sides answer", Code::text).to_owned(),
            }
        });
        let checks: Vec<Check> = checks.collect();
        Readiness {
            ready: checks.iter().all(|check| check.ok),
            checks,
        }
    }

    fn metrics(&self) -> String {
        self.metrics.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(directory: &Path, text: &str) -> Error {
        let path = directory.join("relayer.toml");
        std::fs::write(&path, text).unwrap();
        start(&path, Stop::Signal).unwrap_err()
    }

    #[test]
    fn a_relayer_that_cannot_start_says_why_and_whose_fault_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let missing = start(&directory.path().join("none.toml"), Stop::Signal).unwrap_err();
        assert!(matches!(missing, Error::Configuration(_)), "{missing}");
        let good = super::super::config::SAMPLE;
        let error = refused(directory.path(), &good.replace("poll =", "pol ="));
        assert!(matches!(error, Error::Configuration(_)), "{error}");
        assert!(error.to_string().contains("relayer.toml"));
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let text = good.replace("127.0.0.1:9500", &format!("127.0.0.1:{port}"));
        let error = refused(directory.path(), &text);
        assert!(matches!(error, Error::Io(_)), "{error}");
        // A relative directory stands beside the configuration.
        assert!(directory.path().join("relayer/a-b.redb").exists());
        std::fs::write(directory.path().join("file"), "").unwrap();
        let error = refused(
            directory.path(),
            &good.replace("data_dir = \"relayer\"", "data_dir = \"file\""),
        );
        assert!(matches!(error, Error::Io(_)), "{error}");
        std::fs::write(directory.path().join("relayer/b-a.redb"), "no database").unwrap();
        let error = refused(directory.path(), good);
        assert!(matches!(error, Error::Io(_)), "{error}");
    }
}
