//! The whole stack of one validator, generic over the runtime and the channels.
//!
//! The process passes the tokio runtime and authenticated links; the simulation passes the
//! deterministic runtime and simulated links. Nothing else differs.

use core::{
    fmt,
    num::{NonZeroU64, NonZeroUsize},
    time::Duration,
};
use std::sync::Arc;

use commonware_broadcast::buffered;
use commonware_consensus::{
    Reporters,
    marshal::{
        self,
        core::Actor as Marshal,
        resolver::p2p as backfill,
        standard::{Inline, Standard},
    },
    simplex::{
        self, ForwardPolicy, SkipBudget, SkipPolicy, elector::RoundRobin,
        scheme::reporter::AttributableReporter,
    },
    types::{Epoch, FixedEpocher, ViewDelta},
};
use commonware_cryptography::{
    Sha256,
    certificate::{ConstantProvider, Verifier as _},
    ed25519::PublicKey,
};
use commonware_p2p::{Blocker, Provider, Receiver, Sender};
use commonware_parallel::Sequential;
use commonware_runtime::{Clock, Metrics, Quota, Spawner, Storage, buffer::paged::CacheRef};
use commonware_storage::{archive::prunable, translator::EightCap};
use commonware_utils::{NZU16, NZU32, NZU64, NZUsize, NonZeroDuration};
use horizon_sig::mldsa::SigningKey;
use rand_core::CryptoRng;

use crate::{
    application::Ledger,
    block::{Block, Digest},
    chain::Chain,
    error::{Error, Fatal},
    evidence::{self, EvidenceReporter},
    finalise::{self, ViewReporter},
    gossip::Tasks,
    handle::{Handle, Mesh, StatusCell, Subscribers},
    limits,
    scheme::Scheme,
};

/// A gate of the ledger task: `false` stops the node at this step, as a power cut would. For tests
/// of crashes between two durable writes.
pub type Hook = Arc<dyn Fn(Step, u64) -> bool + Send + Sync>;

/// Where a [`Hook`] is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The block is final; the ledger has not seen it.
    BeforeCommit,
    /// The ledger has committed; marshal has not heard of it.
    AfterCommit,
}

/// What one validator needs besides the network.
pub struct Config {
    /// Our consensus key; `None` to follow without voting.
    pub key: Option<Arc<SigningKey>>,
    /// The ledger.
    pub chain: Arc<Chain>,
    /// Time between two blocks.
    pub interval: Duration,
    /// Called with every proof of conflicting votes.
    pub evidence: evidence::Sink,
    /// Prefix of the storage partitions of this validator.
    pub partition: String,
    /// Number of the voting journal, 0 unless one was lost. A validator that lost votes must not
    /// go on from an older journal: it follows for a while with a new one, and votes from there.
    pub journal: u64,
    /// Test hook.
    pub hook: Option<Hook>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("interval", &self.interval)
            .field("partition", &self.partition)
            .finish_non_exhaustive()
    }
}

/// The channels of agreement and delivery of one validator: the first five of [`channels`].
pub struct Links<S, R> {
    /// Votes.
    pub votes: (S, R),
    /// Certificates.
    pub certificates: (S, R),
    /// Requests for missed certificates.
    pub fetch: (S, R),
    /// Requests for missed blocks.
    pub backfill: (S, R),
    /// Proposed blocks.
    pub blocks: (S, R),
}

impl<S, R> fmt::Debug for Links<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links").finish_non_exhaustive()
    }
}

/// Channel numbers and messages per second and peer, equal on every node.
#[must_use]
pub fn channels() -> [(u64, Quota); 7] {
    [
        (0, quota(limits::QUOTA_VOTES, limits::QUOTA_VOTES)),
        (1, quota(limits::QUOTA_VOTES, limits::QUOTA_VOTES)),
        (2, quota(limits::QUOTA_FETCH, limits::QUOTA_FETCH)),
        (3, quota(limits::QUOTA_FETCH, limits::QUOTA_FETCH)),
        (4, quota(limits::QUOTA_FETCH, limits::QUOTA_FETCH)),
        (5, quota(limits::QUOTA_GOSSIP, limits::BURST_GOSSIP)),
        (6, quota(limits::QUOTA_CEREMONY, limits::BURST_CEREMONY)),
    ]
}

fn quota(per_second: u32, burst: u32) -> Quota {
    let number = |number| core::num::NonZeroU32::new(number).unwrap_or(NZU32!(1));
    Quota::per_second(number(per_second)).allow_burst(number(burst))
}

/// Largest message of any channel in a network of `validators`, in bytes.
#[must_use]
pub fn max_message_size(validators: usize) -> u32 {
    let validators = u32::try_from(validators).unwrap_or(u32::MAX);
    commonware_p2p::max_message_size(&[
        simplex::max_payload_size::<Scheme, Digest>(validators),
        marshal::max_payload_size::<Standard<Block>, Scheme>(validators, &limits::MAX_BLOCK_BYTES),
        limits::MAX_GOSSIP_BYTES,
        limits::MAX_CEREMONY_BYTES,
    ])
}

/// A running engine.
pub struct Running {
    /// What the rest of the node uses.
    pub handle: Handle,
    status: Arc<StatusCell>,
    tasks: Tasks,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

impl Running {
    /// Waits until any task of the engine ends, which none should before the process does.
    pub async fn ended(self) -> Fatal {
        let status = self.status;
        let mut tasks = self.tasks;
        let name = core::future::poll_fn(|context| {
            for (name, task) in &mut tasks {
                if core::pin::Pin::new(task).poll(context).is_ready() {
                    return core::task::Poll::Ready(*name);
                }
            }
            core::task::Poll::Pending
        })
        .await;
        status.fatal.get().cloned().unwrap_or(Fatal::Actor(name))
    }

    /// Adds tasks that must not end before the engine does.
    pub fn watch(&mut self, tasks: Tasks) {
        self.tasks.extend(tasks);
    }

    /// Stops every task of the engine at once, as a crash would.
    pub fn abort(&self) {
        for (_, task) in &self.tasks {
            task.abort();
        }
    }
}

/// The parts of a storage configuration that never vary.
const ITEMS_PER_SECTION: NonZeroU64 = NZU64!(256);
const BUFFER: NonZeroUsize = NZUsize!(64 * 1024);

/// Starts consensus, delivery and the ledger task of one validator.
///
/// # Errors
/// [`Error::ForeignKey`], [`Error::NoSuchValidator`], [`Error::TooManySubscribers`].
///
/// # Panics
/// The library panics when the storage of `context` fails.
pub async fn start<E, B, P, S, R>(
    context: E,
    config: Config,
    mesh: Mesh,
    links: Links<S, R>,
    blocker: B,
    peers: P,
) -> Result<Running, Error>
where
    E: Clock + CryptoRng + Spawner + Storage + Metrics,
    B: Blocker<PublicKey = PublicKey>,
    P: Provider<PublicKey = PublicKey>,
    S: Sender<PublicKey = PublicKey>,
    R: Receiver<PublicKey = PublicKey>,
{
    let roster = Arc::clone(mesh.roster());
    let scheme = match &config.key {
        Some(key) => Scheme::signer(&roster, mesh.me(), Arc::clone(key))?,
        None => Scheme::verifier(&roster),
    };
    let me = roster
        .identity(mesh.me())
        .cloned()
        .ok_or(Error::NoSuchValidator(mesh.me()))?;
    let status = Arc::clone(mesh.status_cell());
    let subscribers = Subscribers::default();
    let page_cache = CacheRef::new(NZU16!(4096), NZUsize!(1024));
    let genesis = config.chain.genesis();
    let mut tasks = Tasks::new();

    // Delivery: blocks from peers, in order, durable.
    let resolver = backfill::init(
        context.child("resolver"),
        backfill::Config {
            public_key: me.clone(),
            peer_provider: peers.clone(),
            blocker: blocker.clone(),
            mailbox_size: NZUsize!(limits::MAILBOX),
            fetch_timeout: NonZeroDuration::new_panic(Duration::from_secs(2)),
            fetch_retry_delay: Duration::from_millis(100),
            priority_requests: false,
            priority_responses: false,
        },
        links.backfill,
    );
    let (broadcast, buffer) = buffered::Engine::new(
        context.child("broadcast"),
        buffered::Config {
            public_key: me,
            mailbox_size: NZUsize!(limits::MAILBOX),
            deque_size: limits::BLOCKS_PER_SENDER,
            priority: false,
            codec_config: limits::MAX_BLOCK_BYTES,
            peer_provider: peers,
            strategy: Sequential,
        },
    );
    tasks.push(("broadcast", broadcast.start(links.blocks)));
    let finalizations = prunable::Archive::init(
        context.child("finalizations"),
        archive(
            &config.partition,
            "finalizations",
            &page_cache,
            Scheme::certificate_codec_config_unbounded(),
        ),
    )
    .await
    .map_err(|error| Error::Storage(error.to_string()))?;
    let blocks = prunable::Archive::init(
        context.child("blocks"),
        archive(
            &config.partition,
            "blocks",
            &page_cache,
            limits::MAX_BLOCK_BYTES,
        ),
    )
    .await
    .map_err(|error| Error::Storage(error.to_string()))?;
    let provider = ConstantProvider::<Scheme, Epoch>::new(scheme.clone());
    let (marshal, mailbox, _) = Marshal::init(
        context.child("marshal"),
        finalizations,
        blocks,
        marshal::Config {
            provider,
            epocher: FixedEpocher::new(NZU64!(u64::MAX)),
            start: marshal::Start::Genesis(genesis.clone().digested()),
            partition_prefix: format!("{}-marshal", config.partition),
            mailbox_size: NZUsize!(limits::MAILBOX),
            view_retention: ViewDelta::new(limits::VIEW_RETENTION),
            prunable_items_per_section: ITEMS_PER_SECTION,
            page_cache: page_cache.clone(),
            replay_buffer: BUFFER,
            key_write_buffer: BUFFER,
            value_write_buffer: BUFFER,
            block_codec_config: limits::MAX_BLOCK_BYTES,
            max_repair: NZUsize!(limits::MAX_REPAIR),
            max_pending_acks: NZUsize!(1),
            strategy: Sequential,
        },
    )
    .await;

    // The ledger.
    let (ledger, reporter) = finalise::Task::new(
        Arc::clone(&config.chain),
        Arc::clone(&status),
        subscribers.clone(),
        config.hook.clone(),
    );
    tasks.push(("ledger", ledger.start(context.child("ledger"))));
    tasks.push(("marshal", marshal.start(reporter, buffer, resolver)));

    // Agreement.
    let automaton = Inline::new(
        context.child("application"),
        Ledger::new(Arc::clone(&config.chain), config.interval),
        mailbox,
        FixedEpocher::new(NZU64!(u64::MAX)),
    );
    let offences = AttributableReporter::new(
        context.child("evidence"),
        scheme.clone(),
        EvidenceReporter::new(roster, config.evidence.clone(), Arc::clone(&status)),
        Sequential,
        true,
    );
    let reporter = Reporters::from((
        automaton.clone(),
        Reporters::from((ViewReporter(Arc::clone(&status)), offences)),
    ));
    let leader_timeout = leader_timeout(config.interval);
    let consensus = simplex::Engine::new(
        context.child("simplex"),
        simplex::Config {
            scheme,
            elector: RoundRobin::<Sha256>::default(),
            blocker,
            automaton: automaton.clone(),
            relay: automaton,
            reporter,
            track_historical_votes: false,
            strategy: Sequential,
            partition: format!("{}-simplex-{}", config.partition, config.journal),
            mailbox_size: NZUsize!(limits::MAILBOX),
            epoch: Epoch::zero(),
            floor: simplex::config::Floor::Genesis(Digest::from(*genesis.id())),
            replay_buffer: BUFFER,
            write_buffer: BUFFER,
            page_cache,
            leader_timeout,
            certification_timeout: leader_timeout.saturating_mul(2),
            timeout_retry: leader_timeout.saturating_mul(2),
            view_retention: ViewDelta::new(limits::VIEW_RETENTION),
            skip: SkipPolicy::Enabled {
                timeout: leader_timeout.saturating_mul(5),
                budget: SkipBudget::Participants,
            },
            fetch_timeout: NonZeroDuration::new_panic(Duration::from_secs(2)),
            fetch_retry_delay: Duration::from_millis(500),
            forward: ForwardPolicy::SilentVoters,
        },
    );
    tasks.push((
        "simplex",
        consensus.start(links.votes, links.certificates, links.fetch),
    ));

    let handle = Handle::new(mesh, config.chain, subscribers);
    Ok(Running {
        handle,
        status,
        tasks,
    })
}

fn archive<C>(
    partition: &str,
    name: &str,
    page_cache: &CacheRef,
    codec_config: C,
) -> prunable::Config<EightCap, C> {
    prunable::Config {
        translator: EightCap,
        metadata_partition: format!("{partition}-{name}-metadata"),
        key_partition: format!("{partition}-{name}-keys"),
        key_page_cache: page_cache.clone(),
        value_partition: format!("{partition}-{name}-values"),
        compression: None,
        codec_config,
        items_per_section: ITEMS_PER_SECTION,
        key_write_buffer: BUFFER,
        value_write_buffer: BUFFER,
        replay_buffer: BUFFER,
    }
}

/// One second, or more when blocks are so slow that a proposal would race it.
fn leader_timeout(interval: Duration) -> Duration {
    Duration::from_secs(1).max(
        interval
            .saturating_mul(5)
            .checked_div(4)
            .unwrap_or(interval),
    )
}
