//! A validator that passed every check: links, engine, services and interface, until it must stop.

use core::time::Duration;
use std::sync::Arc;
use std::time::SystemTime;

use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_consensus::engine::Running;
use horizon_consensus::evidence::Evidence;
use horizon_consensus::network::{self, Settings};
use horizon_consensus::runtime::{
    Metrics as _, Runner as _, Spawner as _, Supervisor as _, tokio as runtime,
};
use horizon_consensus::{Channel, Fatal, Inbound, engine, gossip};
use horizon_sig::mldsa::{ParameterSet, SigningKey};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tracing::{info, warn};

use super::backend::{NodeBackend, PROGRESS_EVERY, Parts};
use super::clock;
use super::directory::write_atomic;
use super::fence::{self, Restored, Witness};
use super::router::{Announcer, Exit, Inputs, OnFinal, Peers, Router, since_epoch};
use super::services::{self, Services};
use super::start::Prepared;
use super::{Failure, INTERNAL, IO, Stop};
use crate::api::{self, Limits};
use crate::attest::AttestStore;
use crate::gossip::Gossip;
use crate::pulse::PulseConfig;

/// Runs the validator.
pub(super) fn serve(prepared: Prepared, stop: Stop) -> Result<(), Failure> {
    let config = runtime::Config::new()
        .with_worker_threads(prepared.config.limits.workers)
        .with_catch_panics(false)
        .with_storage_directory(prepared.directory.consensus());
    runtime::Runner::new(config).start(|context| main(context, prepared, stop))
}

async fn main(context: runtime::Context, node: Prepared, stop: Stop) -> Result<(), Failure> {
    let stop = stopped(stop)?;
    let root = context.child("horizon");
    let internal = |error: &dyn core::fmt::Display| Failure::new(INTERNAL, error.to_string());
    let certset = Arc::new(copy(&node.keys.certset)?);
    let height = node.chain.height();
    let peers = Peers::default();

    // Links first: peers may know that this directory is an old copy.
    let identity = network::identity_from_seed(&node.keys.link.to_seed()[..])
        .map_err(|error| internal(&error))?;
    let settings = Settings {
        listen: node.config.listen,
        block_duration: node.config.limits.block_peer,
    };
    let links =
        network::open(&root, &node.roster, identity, settings).map_err(Failure::configuration)?;
    let (mesh, tasks) = gossip::start(
        &root,
        &node.roster,
        node.position,
        &links.oracle,
        links.gossip,
        links.ceremony,
    );
    let inboxes = mesh
        .take_inbox(Channel::Gossip)
        .zip(mesh.take_inbox(Channel::Ceremony));
    let (mut inbox, ceremony) = inboxes.ok_or_else(|| internal(&"an inbox is missing"))?;
    let observing = node.restored.filter(|restored| !restored.caught_up);
    let accepted = node.restored.map_or(0, |restored| restored.boot);
    let number = node
        .guard
        .announcements()
        .map_err(|error| Failure::new(IO, format!("signer.redb: {error}")))?;
    let witness = Witness::new(
        node.position,
        node.fence,
        height,
        number,
        *node.genesis.hash(),
        node.genesis.member_keys().to_vec(),
    )
    .accepting(accepted);
    let rng = Box::new(UnwrapErr(SysRng));
    let mut announcer = Announcer::new(
        witness,
        Arc::clone(&certset),
        mesh.clone(),
        peers.clone(),
        node.guard.clone(),
        rng,
    );
    announcer
        .probe(&root, &mut inbox, height)
        .await
        .map_err(|other| fence::refusal(other.boot, other.height))?;

    // Consensus.
    let folder = node.directory.evidence();
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::new(IO, format!("{}: {error}", folder.display())))?;
    let (found, mut evidence) = tokio::sync::mpsc::channel::<Evidence>(EVIDENCE_WAITING);
    let config = engine::Config {
        key: observing.is_none().then(|| Arc::new(node.keys.consensus)),
        chain: Arc::clone(&node.chain),
        interval: Duration::from_millis(node.genesis.spec().block.interval_ms),
        evidence: Arc::new(move |proof| {
            // One proof is enough; more of them than can be written are dropped.
            let _ = found.try_send(proof);
        }),
        partition: "horizon".to_owned(),
        journal: node.journal,
        hook: None,
    };
    let mut running = engine::start(
        root.child("engine"),
        config,
        mesh,
        links.links,
        links.oracle.clone(),
        links.oracle,
    )
    .await
    .map_err(Failure::configuration)?;
    running.watch(tasks);
    running.watch(vec![("network", links.task)]);
    let handle = running.handle.clone();
    if let Some(restored) = observing {
        return observe(
            running,
            announcer,
            inbox,
            restored,
            &node.directory.restored(),
            stop,
        )
        .await;
    }
    // Before the services look at the ledger: nothing that comes after is missed.
    let finals = handle.subscribe().map_err(|error| internal(&error))?;

    // Services.
    let attestations = AttestStore::open(&node.directory.attestations(), ATTESTED)
        .map_err(|error| Failure::new(IO, format!("attestations.redb: {error}")))?;
    let has_share = node.share.is_some();
    let faults = node.config.faults;
    if faults.garbage_partials {
        warn!("[faults] garbage_partials: THIS VALIDATOR SIGNS WRONG PARTIALS ON PURPOSE");
    }
    let services = Services::open(
        services::Parts {
            genesis: node.genesis.clone(),
            position: node.position,
            beam: node.keys.beam,
            certset,
            share: node.share,
            accepts_older_records: node.restored.is_some(),
            pulse: PulseConfig {
                garbage_partials: faults.garbage_partials,
                ..PulseConfig::new()
            },
            guard: node.guard,
            attestations,
            store: Arc::clone(node.chain.store()),
            attest_rng: Box::new(UnwrapErr(SysRng)),
            pulse_rng: Box::new(UnwrapErr(SysRng)),
        },
        since_epoch(SystemTime::now()),
    )?;
    if node.restored.is_some() {
        let path = node.directory.restored();
        std::fs::remove_file(&path)
            .map_err(|error| Failure::new(IO, format!("{}: {error}", path.display())))?;
        info!("signing again after a restore");
    }
    let scrape = root.child("scrape");
    let backend = Arc::new(NodeBackend::new(Parts {
        handle: handle.clone(),
        peers: peers.clone(),
        services: services.clone(),
        ready_lag: node.config.limits.ready_lag,
        has_share,
        evidence: folder.clone(),
        encode: Box::new(move || scrape.encode()),
    }));
    let inputs = Inputs {
        gossip: inbox,
        ceremony,
        finals,
    };
    let observer = Arc::clone(&backend);
    let on_final = OnFinal(Arc::new(move |block| observer.on_final(block)));
    let observer = Arc::clone(&backend);
    drop(root.child("progress").spawn(move |_| async move {
        loop {
            tokio::time::sleep(PROGRESS_EVERY).await;
            observer.observe();
        }
    }));
    let router = Router::new(&root, handle, announcer, peers, services, on_final);
    let routed = root
        .child("router")
        .dedicated()
        .spawn(move |context| router.run(context, inputs));
    let recorder = Arc::clone(&backend);
    let written = root.child("proofs").spawn(move |_| async move {
        while let Some(proof) = evidence.recv().await {
            record(&folder, &proof);
            recorder.on_evidence();
        }
    });

    // The interface.
    let listener = TcpListener::bind(node.config.api)
        .await
        .map_err(|error| Failure::configuration(format!("api {}: {error}", node.config.api)))?;
    let limits = Limits::default();
    let (closing, mut closed) = watch::channel(false);
    let interface = tokio::spawn(api::serve(
        listener,
        api::router(backend, limits),
        limits,
        async move {
            // An error means that the process ends.
            let _ = closed.wait_for(|closed| *closed).await;
        },
    ));
    info!(
        position = node.position,
        boot = node.fence.boot,
        height,
        listen = %node.config.listen,
        api = %node.config.api,
        "validator started"
    );

    let outcome = tokio::select! {
        () = stop => Ok(()),
        fatal = running.ended() => Err(Failure::from(fatal)),
        exit = routed => Err(match exit {
            Ok(Exit::OtherLife(other)) => fence::refusal(other.boot, other.height),
            Ok(Exit::Halt(reason)) => reason.into(),
            Ok(Exit::Ended) | Err(_) => Fatal::Actor("router").into(),
        }),
        _ = written => Err(Fatal::Actor("evidence").into()),
        failure = clock::set_back() => Err(failure),
    };
    // What was begun may end: answers, then writes.
    let _ = closing.send(true);
    let _ = tokio::time::timeout(GRACE, interface).await;
    if outcome.is_ok() && context.stop(0, Some(GRACE)).await.is_err() {
        warn!("some tasks did not stop in time");
    }
    outcome
}

/// Follows without signing until the ledger is past everything that a lost life can have signed.
async fn observe(
    running: Running,
    mut announcer: Announcer,
    mut inbox: tokio::sync::mpsc::Receiver<Inbound>,
    restored: Restored,
    path: &std::path::Path,
    stop: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let chain = Arc::clone(running.handle.chain());
    // What peers say is at most a few blocks old; the network itself may be far beyond.
    let safe = restored.safe_height();
    info!(safe, "restored directory: following without signing");
    let catch_up = async {
        loop {
            let status = running.handle.status();
            if chain.height() >= safe && status.finalized <= chain.height().saturating_add(1) {
                return Ok(());
            }
            announcer.announce(chain.height());
            let pause = tokio::time::sleep(OBSERVE_EVERY);
            tokio::select! {
                () = pause => {}
                message = inbox.recv() => {
                    let Some(message) = message else { return Ok(()) };
                    let Ok(Gossip::Boot(heard)) = Gossip::decode(&message.bytes) else { continue };
                    let now = since_epoch(SystemTime::now());
                    if let Err(other) = announcer.hear(message.from, heard, now) {
                        return Err(fence::refusal(other.boot, other.height));
                    }
                }
            }
        }
    };
    tokio::select! {
        () = stop => return Ok(()),
        caught_up = catch_up => caught_up?,
    }
    let done = Restored {
        caught_up: true,
        ..restored
    };
    done.write(path)?;
    running.abort();
    info!(
        height = chain.height(),
        "caught up: start the validator again and it signs"
    );
    Ok(())
}

/// Another owner of the certificate key: announcements are signed beside the services.
fn copy(key: &SigningKey) -> Result<SigningKey, Failure> {
    SigningKey::from_seed(ParameterSet::MlDsa65, &key.to_seed()[..])
        .map_err(|error| Failure::new(INTERNAL, error.to_string()))
}

/// Writes a proof. The first report counts: a validator that was caught is blocked.
fn record(folder: &std::path::Path, proof: &Evidence) {
    let path = folder.join(proof.file_name());
    let written = proof
        .to_json()
        .map_err(|error| error.to_string())
        .and_then(|bytes| write_atomic(&path, &bytes).map_err(|error| error.to_string()));
    match written {
        Ok(()) => warn!(path = %path.display(), "a validator signed conflicting votes"),
        Err(error) => warn!(error, "a proof of conflicting votes could not be written"),
    }
}

/// Resolves when the process shall stop.
fn stopped(stop: Stop) -> Result<impl Future<Output = ()>, Failure> {
    let failed = |error: std::io::Error| Failure::new(IO, format!("signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let (ended, end) = oneshot::channel::<()>();
    let input = match stop {
        Stop::InputEnd => {
            // Reading blocks: a thread of its own, which the end of the process ends.
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
                let _ = ended.send(());
            });
            None
        }
        Stop::Signal => Some(ended),
    };
    Ok(async move {
        let _open = input;
        tokio::select! {
            _ = terminate.recv() => info!("SIGTERM"),
            _ = interrupt.recv() => info!("SIGINT"),
            _ = end => info!("standard input ended"),
        }
    })
}

/// How long answers and writes may take to end.
const GRACE: Duration = Duration::from_secs(5);
/// How often a restored node announces itself and looks how far it is.
const OBSERVE_EVERY: Duration = Duration::from_secs(1);
/// Proofs that wait to be written.
const EVIDENCE_WAITING: usize = 64;
/// Messages whose single signatures are kept.
const ATTESTED: u64 = 100_000;
