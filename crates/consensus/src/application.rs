//! The adapter between simplex and the ledger: build a block on a parent, check a block.

use core::time::Duration;
use std::{sync::Arc, time::UNIX_EPOCH};

use commonware_consensus::{Application, marshal::ancestry::Ancestry, simplex::types::Context};
use commonware_cryptography::{Digested, ed25519::PublicKey};
use commonware_runtime::{Clock, Metrics, Spawner};
use futures::StreamExt as _;
use tracing::{debug, warn};

use crate::{
    block::{Block, Digest},
    chain::{Base, Chain, Resolution},
    limits,
    scheme::Scheme,
};

/// What consensus calls to build and to check blocks.
#[derive(Clone)]
pub(crate) struct Ledger {
    chain: Arc<Chain>,
    interval: Duration,
}

impl Ledger {
    pub(crate) const fn new(chain: Arc<Chain>, interval: Duration) -> Self {
        Self { chain, interval }
    }

    /// Walks down from `path` to a known state and executes what is between.
    async fn state_of<E: Spawner>(
        &self,
        runtime: &E,
        ancestry: &mut impl Ancestry<Block>,
        mut path: Vec<Block>,
    ) -> Walk {
        loop {
            match self.chain.resolve(&mut path) {
                Resolution::Ready(base) if path.is_empty() => return Walk::Known(*base),
                Resolution::Ready(base) => {
                    let chain = Arc::clone(&self.chain);
                    let executed =
                        blocking(runtime, "execute", move || chain.execute(*base, &path));
                    return match executed.await {
                        Some(Ok(base)) => Walk::Known(base),
                        Some(Err(reason)) => Walk::Invalid(reason),
                        None => Walk::Cancelled,
                    };
                }
                Resolution::Conflict => {
                    return Walk::Invalid("it does not descend from the applied block".to_owned());
                }
                Resolution::NeedParent => match ancestry.next().await {
                    Some(parent) => path.push(parent.inner().clone()),
                    None => return Walk::Cancelled,
                },
            }
        }
    }
}

enum Walk {
    Known(Base),
    Invalid(String),
    /// The runtime or the library gave up; there is no verdict.
    Cancelled,
}

impl<E: Spawner + Metrics + Clock> Application<E> for Ledger {
    type SigningScheme = Scheme;
    type Context = Context<Digest, PublicKey>;
    type Block = Block;
    type Input = ();

    async fn propose(
        &mut self,
        (runtime, _): (E, Self::Context),
        mut ancestry: impl Ancestry<Block>,
        (): (),
    ) -> Option<Digested<Block>> {
        let parent = ancestry.next().await?.inner().clone();
        // After a crash the journal may ask for a view that is long decided.
        if parent.inner().height < self.chain.height() {
            return None;
        }
        let parent_time = parent.inner().time_ms;
        let walk = self.state_of(&runtime, &mut ancestry, vec![parent]).await;
        let Walk::Known(base) = walk else {
            if let Walk::Invalid(reason) = walk {
                warn!(reason, "not proposing on an invalid parent");
            }
            return None;
        };
        let due = Duration::from_millis(parent_time).saturating_add(self.interval);
        // Never longer than one interval: a parent from the future must not silence this node.
        let wait = due.saturating_sub(now(&runtime)).min(self.interval);
        if !wait.is_zero() {
            runtime.sleep(wait).await;
        }
        let time_ms = millis(now(&runtime)).max(parent_time.saturating_add(1));
        let chain = Arc::clone(&self.chain);
        match blocking(&runtime, "build", move || chain.build(&base, time_ms)).await? {
            Ok(block) => Some(block.digested()),
            Err(reason) => {
                warn!(reason, "could not build a block");
                None
            }
        }
    }

    async fn verify(
        &mut self,
        (runtime, _): (E, Self::Context),
        mut ancestry: impl Ancestry<Block>,
    ) -> bool {
        let Some(block) = ancestry.next().await else {
            return core::future::pending().await;
        };
        let block = block.inner().clone();
        if let Some(same) = self.chain.settled(&block) {
            return same;
        }
        // A time ahead of our clock is "not yet", never "no".
        let time = Duration::from_millis(block.inner().time_ms);
        let early = time.saturating_sub(now(&runtime).saturating_add(limits::MAX_CLOCK_AHEAD));
        if !early.is_zero() {
            debug!(?early, "waiting for the time of a block");
            runtime.sleep(early).await;
        }
        let height = block.inner().height;
        let again = block.clone();
        match self.state_of(&runtime, &mut ancestry, vec![block]).await {
            Walk::Known(_) => true,
            Walk::Invalid(reason) => {
                // It may have become final while it was walked to.
                if let Some(same) = self.chain.settled(&again) {
                    return same;
                }
                warn!(height, reason, "refusing a proposed block");
                false
            }
            Walk::Cancelled => core::future::pending().await,
        }
    }
}

/// Runs work that takes milliseconds of CPU outside the threads that serve the network.
async fn blocking<E, T, F>(runtime: &E, label: &'static str, work: F) -> Option<T>
where
    E: Spawner,
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    runtime
        .child(label)
        .shared(true)
        .spawn(move |_| async move { work() })
        .await
        .ok()
}

/// Time since the Unix epoch; zero when the clock stands before it.
fn now(clock: &impl Clock) -> Duration {
    clock
        .current()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
