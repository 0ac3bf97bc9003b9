//! The ledger task: final blocks in order, one transaction of the store each, then the
//! acknowledgement.

use core::sync::atomic::Ordering;
use std::sync::Arc;

use commonware_actor::Feedback;
use commonware_consensus::Viewable as _;
use commonware_consensus::{Reporter, marshal::Update, simplex::types::Activity};
use commonware_cryptography::Digested;
use commonware_runtime::{Handle, Spawner};
use commonware_utils::{
    Acknowledgement as _,
    acknowledgement::Exact,
    channel::mpsc::{self, UnboundedReceiver, UnboundedSender},
};
use tracing::{debug, error};

use crate::{
    block::{Block, Digest},
    chain::Chain,
    engine::{Hook, Step},
    error::Fatal,
    handle::{StatusCell, Subscribers},
    scheme::Scheme,
};

type Job = (Digested<Block>, Exact);

/// What marshal reports to. It only queues: the work happens on the task's own thread.
#[derive(Clone, Debug)]
pub(crate) struct FinalReporter {
    /// Bounded by the number of blocks that marshal leaves unacknowledged (one).
    jobs: UnboundedSender<Job>,
    status: Arc<StatusCell>,
}

impl Reporter for FinalReporter {
    type Activity = Update<Block>;

    fn report(&mut self, update: Update<Block>) -> Feedback {
        match update {
            Update::Tip(_, height, _) => {
                // May come before the block is durable here: for display only.
                self.status
                    .finalized
                    .fetch_max(height.get(), Ordering::Relaxed);
                Feedback::Ok
            }
            Update::Block(block, ack) => match self.jobs.send((block, ack)) {
                Ok(()) => Feedback::Ok,
                Err(_) => Feedback::Closed,
            },
        }
    }
}

/// Follows the views for the status.
#[derive(Clone, Debug)]
pub(crate) struct ViewReporter(pub(crate) Arc<StatusCell>);

impl Reporter for ViewReporter {
    type Activity = Activity<Scheme, Digest>;

    fn report(&mut self, activity: Self::Activity) -> Feedback {
        let view = match &activity {
            Activity::Notarization(certificate) | Activity::Certification(certificate) => {
                certificate.view()
            }
            Activity::Nullification(certificate) => certificate.view(),
            Activity::Finalization(certificate) => certificate.view(),
            _ => return Feedback::Ok,
        };
        self.0.view.fetch_max(view.get(), Ordering::Relaxed);
        Feedback::Ok
    }
}

pub(crate) struct Task {
    pub(crate) chain: Arc<Chain>,
    pub(crate) status: Arc<StatusCell>,
    pub(crate) subscribers: Subscribers,
    pub(crate) hook: Option<Hook>,
    jobs: UnboundedReceiver<Job>,
}

impl Task {
    pub(crate) fn new(
        chain: Arc<Chain>,
        status: Arc<StatusCell>,
        subscribers: Subscribers,
        hook: Option<Hook>,
    ) -> (Self, FinalReporter) {
        let (sender, jobs) = mpsc::unbounded_channel();
        status.processed.store(chain.height(), Ordering::Relaxed);
        let reporter = FinalReporter {
            jobs: sender,
            status: Arc::clone(&status),
        };
        (
            Self {
                chain,
                status,
                subscribers,
                hook,
                jobs,
            },
            reporter,
        )
    }

    /// On its own thread, because a commit of the store blocks.
    pub(crate) fn start<E: Spawner>(self, context: E) -> Handle<()> {
        context.dedicated().spawn(move |_| self.run())
    }

    async fn run(mut self) {
        while let Some((block, ack)) = self.jobs.recv().await {
            if let Err(fatal) = self.apply(block.inner(), ack).await {
                error!(%fatal, "the ledger stops");
                let _ = self.status.fatal.set(fatal);
                return;
            }
        }
        debug!("the ledger task ends: marshal has gone");
    }

    async fn apply(&self, block: &Block, ack: Exact) -> Result<(), Fatal> {
        let height = block.inner().height;
        self.step(Step::BeforeCommit, height).await;
        let applied = self.chain.apply(block)?;
        self.status.processed.fetch_max(height, Ordering::Relaxed);
        self.step(Step::AfterCommit, height).await;
        ack.acknowledge();
        if let Some(applied) = applied {
            self.subscribers.publish(&applied).await;
        }
        Ok(())
    }

    /// A hook that answers `false` stops this node here for ever, as a power cut would.
    async fn step(&self, step: Step, height: u64) {
        if let Some(hook) = &self.hook
            && !hook(step, height)
        {
            core::future::pending::<()>().await;
        }
    }
}
