//! The applied ledger, the states of the blocks above it, and the waiting transactions.
//!
//! Nothing here knows time, tasks or the network, so it is the same code in the process and in the
//! simulation. A proposal's parent may be a few blocks ahead of the applied one: those states live
//! in overlays, keyed by block digest and dropped when their height is final.

use core::fmt;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use horizon_ledger::{
    App, Block as LedgerBlock, Checked, Executed, Mempool, Refusal, State,
    mempool::PoolRefusal,
    store::{Commit, Store},
};

use crate::{block::Block, error::Fatal, handle::FinalBlock, limits};

/// Shared by the consensus adapter, the ledger task and every caller of the handle.
pub struct Chain {
    app: Arc<App>,
    store: Arc<Store>,
    view: Mutex<View>,
    mempool: Mutex<Mempool>,
    /// Transactions of the pool by the message they bring.
    messages: Mutex<BTreeMap<[u8; 32], [u8; 32]>>,
    #[cfg(feature = "sim")]
    bias: std::sync::OnceLock<Bias>,
}

/// Says of a waiting transaction whether it may be put into a block.
#[cfg(feature = "sim")]
pub type Takes = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;
/// Changes a block.
#[cfg(feature = "sim")]
pub type Change = Arc<dyn Fn(LedgerBlock) -> LedgerBlock + Send + Sync>;

/// What a faulty proposer of a simulation does: chooses among the candidates, and changes the block.
#[cfg(feature = "sim")]
#[derive(Clone)]
pub struct Bias {
    /// Whether a waiting transaction may be put into a block.
    pub takes: Takes,
    /// Changes a block that was built.
    pub change: Change,
}

#[cfg(feature = "sim")]
impl fmt::Debug for Bias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bias")
    }
}

struct View {
    tip: Tip,
    overlays: BTreeMap<[u8; 32], Overlay>,
}

/// The newest block that is applied and on disk.
#[derive(Clone)]
struct Tip {
    block: Block,
    state: State,
}

#[derive(Clone)]
struct Overlay {
    block: Block,
    executed: Arc<Executed>,
}

impl Chain {
    /// The chain at the tip of the store.
    #[must_use]
    pub fn open(app: Arc<App>, store: Arc<Store>) -> Self {
        let (block, state) = store.tip();
        let tip = Tip {
            block: Block::new(block),
            state,
        };
        Self {
            app,
            store,
            view: Mutex::new(View {
                tip,
                overlays: BTreeMap::new(),
            }),
            mempool: Mutex::new(Mempool::default()),
            messages: Mutex::default(),
            #[cfg(feature = "sim")]
            bias: std::sync::OnceLock::new(),
        }
    }

    /// Makes this validator a faulty proposer.
    #[cfg(feature = "sim")]
    pub fn set_bias(&self, bias: Bias) {
        // The first one stays.
        let _ = self.bias.set(bias);
    }

    /// The application.
    #[must_use]
    pub const fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// The ledger store.
    #[must_use]
    pub const fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The newest applied block and its state.
    #[must_use]
    pub fn tip(&self) -> (Arc<LedgerBlock>, State) {
        let view = self.view();
        (Arc::clone(view.tip.block.inner()), view.tip.state.clone())
    }

    /// Height of the newest applied block.
    #[must_use]
    pub fn height(&self) -> u64 {
        self.view().tip.block.inner().height
    }

    /// Checks a transaction and adds it to the waiting ones.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn submit(&self, transaction: &[u8]) -> Result<(), SubmitError> {
        let checked = self.app.check(transaction).map_err(SubmitError::Refused)?;
        self.insert(checked)
    }

    /// Adds a transaction to the waiting ones that [`App::check`] accepted.
    ///
    /// # Errors
    /// [`SubmitError::Pool`].
    pub fn insert(&self, checked: Checked) -> Result<(), SubmitError> {
        let (message, digest) = (checked.message_id, checked.digest);
        let state = self.view().tip.state.clone();
        self.mempool()
            .insert(&self.app, &state, checked)
            .map_err(SubmitError::Pool)?;
        if let Some(message) = message {
            self.note_message(message, digest);
        }
        Ok(())
    }

    /// Whether a transaction waits here that brings this message.
    #[must_use]
    pub fn is_waiting(&self, message: &[u8; 32]) -> bool {
        let digest = self
            .messages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(message)
            .copied();
        digest.is_some_and(|digest| self.mempool().contains(&digest))
    }

    /// Number and bytes of the waiting transactions.
    #[must_use]
    pub fn waiting(&self) -> (usize, usize) {
        let mempool = self.mempool();
        (mempool.len(), mempool.bytes())
    }

    fn note_message(&self, message: [u8; 32], digest: [u8; 32]) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.len() >= limits::MAX_WAITING_MESSAGES {
            let mempool = self.mempool();
            messages.retain(|_, digest| mempool.contains(digest));
        }
        if messages.len() < limits::MAX_WAITING_MESSAGES {
            messages.insert(message, digest);
        }
    }

    pub(crate) fn genesis(&self) -> Block {
        Block::new(self.app.genesis_block())
    }

    /// What the store knows about a block at or below the applied height: whether it is the
    /// applied one. `None` above that height.
    pub(crate) fn settled(&self, block: &Block) -> Option<bool> {
        let tip = self.height();
        let height = block.inner().height;
        if height > tip {
            return None;
        }
        let stored = self.store.digest_at(height).ok().flatten();
        Some(stored.as_ref() == Some(block.id()))
    }

    /// Finds the state that `path` (child first) builds on, and cuts what is already executed off
    /// the path.
    pub(crate) fn resolve(&self, path: &mut Vec<Block>) -> Resolution {
        let view = self.view();
        for index in 0..path.len() {
            let Some(block) = path.get(index) else { break };
            if let Some(base) = view.base(block.id()) {
                path.truncate(index);
                return Resolution::Ready(Box::new(base));
            }
        }
        let Some(oldest) = path.last() else {
            return Resolution::Conflict;
        };
        if let Some(base) = view.base(&oldest.inner().parent) {
            return Resolution::Ready(Box::new(base));
        }
        // Its parent would be at or below the applied height, and is not the applied block.
        if oldest.inner().height <= view.tip.block.inner().height.saturating_add(1) {
            return Resolution::Conflict;
        }
        Resolution::NeedParent
    }

    /// Executes `path` (child first) on `base`, oldest block first, and keeps the states.
    ///
    /// Returns the last block and state, or the reason why a block is invalid.
    pub(crate) fn execute(&self, base: Base, path: &[Block]) -> Result<Base, String> {
        let mut base = base;
        for block in path.iter().rev() {
            let executed = self
                .app
                .execute(base.block.inner(), &base.state, block.inner())
                .map_err(|invalid| invalid.to_string())?;
            base = Base {
                block: block.clone(),
                state: executed.state.clone(),
            };
            self.remember(block, executed);
        }
        Ok(base)
    }

    /// Builds the child of `parent` from the waiting transactions.
    pub(crate) fn build(&self, parent: &Base, time_ms: u64) -> Result<Block, String> {
        #[cfg_attr(
            not(feature = "sim"),
            expect(unused_mut, reason = "simulations choose")
        )]
        let mut candidates = self.mempool().candidates(limits::MAX_BLOCK_BYTES);
        #[cfg(feature = "sim")]
        if let Some(bias) = self.bias.get() {
            candidates.retain(|transaction| (bias.takes)(transaction));
        }
        let (block, executed) = self
            .app
            .build(parent.block.inner(), &parent.state, time_ms, &candidates)
            .map_err(|error| error.to_string())?;
        #[cfg(feature = "sim")]
        if let Some(bias) = self.bias.get() {
            let changed = (bias.change)(block.clone());
            if changed != block {
                // Its own state of this block is of no use to anybody.
                return Ok(Block::new(changed));
            }
        }
        let block = Block::new(block);
        self.remember(&block, executed);
        Ok(block)
    }

    /// Applies a final block in one transaction of the store.
    ///
    /// `None` when it was applied before.
    pub(crate) fn apply(&self, block: &Block) -> Result<Option<Arc<FinalBlock>>, Fatal> {
        let height = block.inner().height;
        if let Some(same) = self.settled(block) {
            return if same {
                Ok(None)
            } else {
                Err(Fatal::Fork { height })
            };
        }
        let tip = self.view().tip.clone();
        let stored = tip.block.inner().height;
        if height != stored.saturating_add(1) {
            return Err(Fatal::Gap {
                delivered: height,
                stored,
            });
        }
        if &block.inner().parent != tip.block.id() {
            return Err(Fatal::Fork { height });
        }
        let executed = self.executed(&tip, block)?;
        let commit = self
            .store
            .commit(block.inner(), &executed)
            .map_err(|error| Fatal::Store {
                height,
                reason: error.to_string(),
            })?;
        match commit {
            Commit::Committed | Commit::AlreadyApplied => {}
            Commit::Gap { .. } => {
                return Err(Fatal::Gap {
                    delivered: height,
                    stored,
                });
            }
        }
        self.advance(block, &executed);
        Ok(Some(Arc::new(FinalBlock::new(block, executed))))
    }

    fn executed(&self, tip: &Tip, block: &Block) -> Result<Arc<Executed>, Fatal> {
        let known = self
            .view()
            .overlays
            .get(block.id())
            .map(|overlay| Arc::clone(&overlay.executed));
        if let Some(executed) = known {
            return Ok(executed);
        }
        self.app
            .execute(tip.block.inner(), &tip.state, block.inner())
            .map(Arc::new)
            .map_err(|invalid| Fatal::Diverged {
                height: block.inner().height,
                reason: invalid.to_string(),
            })
    }

    fn advance(&self, block: &Block, executed: &Executed) {
        let height = block.inner().height;
        let mut view = self.view();
        view.tip = Tip {
            block: block.clone(),
            state: executed.state.clone(),
        };
        view.overlays
            .retain(|_, overlay| overlay.block.inner().height > height);
        drop(view);
        self.mempool()
            .on_final(&self.app, block.inner(), &executed.state);
    }

    fn remember(&self, block: &Block, executed: Executed) {
        let mut view = self.view();
        if block.inner().height <= view.tip.block.inner().height {
            return;
        }
        if view.overlays.len() >= limits::MAX_OVERLAYS {
            let lowest = view
                .overlays
                .iter()
                .min_by_key(|(_, overlay)| overlay.block.inner().height)
                .map(|(digest, _)| *digest);
            if let Some(lowest) = lowest {
                view.overlays.remove(&lowest);
            }
        }
        view.overlays.insert(
            *block.id(),
            Overlay {
                block: block.clone(),
                executed: Arc::new(executed),
            },
        );
    }

    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mempool(&self) -> MutexGuard<'_, Mempool> {
        self.mempool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").finish_non_exhaustive()
    }
}

impl View {
    fn base(&self, digest: &[u8; 32]) -> Option<Base> {
        if self.tip.block.id() == digest {
            return Some(Base {
                block: self.tip.block.clone(),
                state: self.tip.state.clone(),
            });
        }
        self.overlays.get(digest).map(|overlay| Base {
            block: overlay.block.clone(),
            state: overlay.executed.state.clone(),
        })
    }
}

/// Why a transaction does not wait for a block.
#[derive(Debug)]
pub enum SubmitError {
    /// The ledger refuses it.
    Refused(Refusal),
    /// The pool does not take it.
    Pool(PoolRefusal),
}

impl SubmitError {
    /// Whether it waits already: nothing is wrong then, and nothing has to be done.
    #[must_use]
    pub fn is_known(&self) -> bool {
        matches!(self, Self::Pool(PoolRefusal::Known))
    }
}

/// A block whose state is known.
#[derive(Clone)]
pub(crate) struct Base {
    pub(crate) block: Block,
    pub(crate) state: State,
}

/// Where a path of blocks starts.
pub(crate) enum Resolution {
    /// At this state; the path holds what still has to be executed.
    Ready(Box<Base>),
    /// Below the oldest block of the path.
    NeedParent,
    /// On a block that can never be final here.
    Conflict,
}
