//! Networks in memory and relayers behind real sockets.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use horizon_node::api::types::text::to_hex;
use horizon_node::api::{Limits, router, serve};
use horizon_node::relayer::Relayer;
use horizon_node::relayer::config::Config;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::fake::Fake;

/// How long a condition may take to hold.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Served {
    pub address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Served {
    pub async fn start(fake: Arc<Fake>, limits: Limits) -> Self {
        Self::start_at(([127, 0, 0, 1], 0).into(), fake, limits).await
    }

    pub async fn start_at(address: SocketAddr, fake: Arc<Fake>, limits: Limits) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            serve(listener, router(fake, limits), limits, stopped)
                .await
                .unwrap();
        });
        Self {
            address,
            stop,
            task,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub async fn stop(self) {
        let _ = self.stop.send(());
        self.task.await.unwrap();
    }
}

/// Blocks on all networks every 50 ms, and acknowledgements after each.
pub fn ticking(networks: Vec<Arc<Fake>>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut interval = tokio::time::interval(Duration::from_millis(50));
        loop {
            interval.tick().await;
            for fake in &networks {
                let now_ms = fake.lock().now_ms;
                fake.block(now_ms);
            }
            for fake in &networks {
                for other in networks.iter().filter(|other| !Arc::ptr_eq(fake, other)) {
                    fake.acknowledge_from(other);
                }
            }
        }
    })
}

pub struct Running {
    pub address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: std::thread::JoinHandle<()>,
    runtime: Arc<std::sync::Mutex<Option<tokio::runtime::Runtime>>>,
}

type Network<'n> = (&'n str, &'n Arc<Fake>, &'n Served);

pub fn config(directory: &Path, networks: &[Network<'_>], routes: &[(&str, &str)]) -> Config {
    let mut text = format!(
        "data_dir = \"{}\"\nlisten = \"127.0.0.1:0\"\n",
        directory.join("relayer").display()
    );
    for (name, fake, served) in networks {
        text += &format!(
            "[[network]]\nname = \"{name}\"\nnetwork_id = {}\nchain_id = \"{}\"\nendpoints = [\"{}\"]\n",
            fake.network_id,
            to_hex(&fake.chain_id),
            served.url()
        );
    }
    for (from, to) in routes {
        text += &format!(
            "[[route]]\nfrom = \"{from}\"\nto = \"{to}\"\nhealth = \"200ms\"\nretry_cap = \"1s\"\nconfirm = \"1s\"\npoll = \"50ms\"\n"
        );
    }
    Config::parse(&text, []).unwrap()
}

/// A relayer on a runtime of its own, so that it can be ended as a process is.
pub async fn relayer(
    directory: &Path,
    networks: &[Network<'_>],
    routes: &[(&str, &str)],
) -> Running {
    start(config(directory, networks, routes)).await
}

pub async fn start(config: Config) -> Running {
    let (stop, stopped) = oneshot::channel::<()>();
    let (opened, address) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let handle = runtime.handle().clone();
    let task = std::thread::spawn(move || {
        let running = handle.spawn(async move {
            let relayer = Relayer::open(config).await.unwrap();
            opened.send(relayer.address()).unwrap();
            let stopped = async {
                let _ = stopped.await;
            };
            relayer.run(stopped).await;
        });
        // Cancelled when the runtime is shut down.
        let _ = handle.block_on(running);
    });
    Running {
        address: address.await.unwrap(),
        stop,
        task,
        runtime: Arc::new(std::sync::Mutex::new(Some(runtime))),
    }
}

impl Running {
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends it at once: no task runs to its end.
    pub fn kill(self) {
        let runtime = self.runtime.lock().unwrap().take().unwrap();
        tokio::task::block_in_place(|| {
            runtime.shutdown_timeout(Duration::from_secs(10));
            // The lock file is released when the last task is gone.
            let _ = self.task.join();
        });
    }

    pub async fn stop(self) {
        let _ = self.stop.send(());
        tokio::task::block_in_place(|| {
            self.task.join().unwrap();
            let runtime = self.runtime.lock().unwrap().take().unwrap();
            runtime.shutdown_timeout(Duration::from_secs(10));
        });
    }

    /// Polls a condition until it holds.
    pub async fn until(&self, what: &str, condition: impl AsyncFn() -> Option<()>) {
        let start = Instant::now();
        while condition().await.is_none() {
            assert!(
                start.elapsed() < PATIENCE,
                "{what}: not within {PATIENCE:?}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
