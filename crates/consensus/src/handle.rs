//! What the rest of a node sees of consensus.

use core::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use commonware_utils::channel::mpsc;
use horizon_ledger::{Block as LedgerBlock, Effects, Executed};

use crate::{
    block::Block,
    chain::{Chain, SubmitError},
    error::{Error, Fatal},
    gossip::Outbound,
    limits,
    roster::Roster,
};

/// A running engine: submit transactions, gossip, read final blocks and the status.
#[derive(Clone)]
pub struct Handle {
    mesh: Mesh,
    chain: Arc<Chain>,
    subscribers: Subscribers,
}

impl Handle {
    pub(crate) const fn new(mesh: Mesh, chain: Arc<Chain>, subscribers: Subscribers) -> Self {
        Self {
            mesh,
            chain,
            subscribers,
        }
    }

    /// The links to the other validators.
    #[must_use]
    pub const fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// The validators.
    #[must_use]
    pub fn roster(&self) -> &Roster {
        self.mesh.roster()
    }

    /// Our canonical position.
    #[must_use]
    pub fn me(&self) -> u16 {
        self.mesh.me()
    }

    /// The applied ledger.
    #[must_use]
    pub const fn chain(&self) -> &Arc<Chain> {
        &self.chain
    }

    /// Checks a transaction and adds it to the waiting ones.
    ///
    /// It is not sent to other validators: that is one [`Self::gossip`] call of the caller.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn submit(&self, transaction: &[u8]) -> Result<(), SubmitError> {
        self.chain.submit(transaction)
    }

    /// As [`Mesh::gossip`].
    ///
    /// # Errors
    /// As [`Mesh::gossip`].
    pub fn gossip(&self, channel: Channel, to: To, bytes: Bytes) -> Result<(), Error> {
        self.mesh.gossip(channel, to, bytes)
    }

    /// Final blocks from now on, in order, after they are on disk. A subscriber that does not read
    /// holds the ledger back.
    ///
    /// # Errors
    /// [`Error::TooManySubscribers`].
    pub fn subscribe(&self) -> Result<mpsc::Receiver<Arc<FinalBlock>>, Error> {
        self.subscribers.add()
    }

    /// The state of the engine.
    #[must_use]
    pub fn status(&self) -> Status {
        self.mesh.status()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("me", &self.me())
            .finish_non_exhaustive()
    }
}

/// The gossip channels of one validator. They run before consensus does: a node has to hear its
/// peers about its own past before it may vote.
#[derive(Clone)]
pub struct Mesh {
    inner: Arc<MeshInner>,
}

pub(crate) struct MeshInner {
    pub(crate) roster: Arc<Roster>,
    pub(crate) me: u16,
    pub(crate) outboxes: [mpsc::Sender<Outbound>; 2],
    pub(crate) inboxes: Mutex<[Option<mpsc::Receiver<Inbound>>; 2]>,
    pub(crate) status: Arc<StatusCell>,
    #[cfg(feature = "sim")]
    pub(crate) tap: OnceLock<Tap>,
}

/// What a simulated validator does with its gossip instead of sending it: sees it, and gives what
/// is sent.
#[cfg(feature = "sim")]
pub type Tap = Arc<dyn Fn(Channel, To, Bytes) -> Vec<(To, Bytes)> + Send + Sync>;

impl Mesh {
    pub(crate) fn new(inner: MeshInner) -> Self {
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The validators.
    #[must_use]
    pub fn roster(&self) -> &Arc<Roster> {
        &self.inner.roster
    }

    /// Our canonical position.
    #[must_use]
    pub fn me(&self) -> u16 {
        self.inner.me
    }

    /// Queues a message for other validators. Delivery is best effort: a message to a validator
    /// that is offline or over its quota is dropped.
    ///
    /// # Errors
    /// [`Error::Oversize`], [`Error::Backlog`], [`Error::NoSuchValidator`], [`Error::Stopped`].
    pub fn gossip(&self, channel: Channel, to: To, bytes: Bytes) -> Result<(), Error> {
        let max = channel.max_bytes();
        if bytes.len() > max {
            return Err(Error::Oversize {
                len: bytes.len(),
                max,
            });
        }
        if let To::One(position) = to
            && self.inner.roster.validator(position).is_none()
        {
            return Err(Error::NoSuchValidator(position));
        }
        #[cfg(feature = "sim")]
        if let Some(tap) = self.inner.tap.get() {
            return tap(channel, to, bytes)
                .into_iter()
                .try_for_each(|(to, bytes)| self.queue(channel, Outbound::Send { to, bytes }));
        }
        self.queue(channel, Outbound::Send { to, bytes })
    }

    /// Puts a tap on everything this validator sends to others outside consensus.
    #[cfg(feature = "sim")]
    pub fn set_tap(&self, tap: Tap) {
        // The first one stays.
        let _ = self.inner.tap.set(tap);
    }

    /// Disconnects a validator that sent something no honest validator sends, for the block
    /// duration of the network.
    ///
    /// # Errors
    /// As [`Self::gossip`].
    pub fn block(&self, position: u16) -> Result<(), Error> {
        if self.inner.roster.validator(position).is_none() {
            return Err(Error::NoSuchValidator(position));
        }
        self.queue(Channel::Gossip, Outbound::Block(position))
    }

    /// The receiving side of one gossip channel. It can be taken once.
    #[must_use]
    pub fn take_inbox(&self, channel: Channel) -> Option<mpsc::Receiver<Inbound>> {
        self.inner
            .inboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_mut(channel.index())
            .and_then(Option::take)
    }

    /// The state of the engine.
    #[must_use]
    pub fn status(&self) -> Status {
        self.inner.status.read()
    }

    pub(crate) fn status_cell(&self) -> &Arc<StatusCell> {
        &self.inner.status
    }

    fn queue(&self, channel: Channel, message: Outbound) -> Result<(), Error> {
        let Some(outbox) = self.inner.outboxes.get(channel.index()) else {
            return Err(Error::Stopped);
        };
        outbox.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => {
                self.inner.status.dropped.fetch_add(1, Ordering::Relaxed);
                Error::Backlog
            }
            mpsc::error::TrySendError::Closed(_) => Error::Stopped,
        })
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mesh")
            .field("me", &self.inner.me)
            .finish_non_exhaustive()
    }
}

/// The two gossip channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Transactions and attestations.
    Gossip,
    /// Nonce matrices and partial signatures.
    Ceremony,
}

impl Channel {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Gossip, Self::Ceremony];

    /// Largest message in bytes.
    #[must_use]
    pub const fn max_bytes(self) -> usize {
        match self {
            Self::Gossip => limits::MAX_GOSSIP_BYTES,
            Self::Ceremony => limits::MAX_CEREMONY_BYTES,
        }
    }

    pub(crate) const fn queue(self) -> usize {
        match self {
            Self::Gossip => limits::GOSSIP_QUEUE,
            Self::Ceremony => limits::CEREMONY_QUEUE,
        }
    }

    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Gossip => 0,
            Self::Ceremony => 1,
        }
    }
}

/// Who gets a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// Every other validator.
    All,
    /// The validator at this canonical position.
    One(u16),
}

/// A message from another validator. The link proves who sent it.
#[derive(Clone, Debug)]
pub struct Inbound {
    /// Canonical position of the sender.
    pub from: u16,
    /// The message.
    pub bytes: Bytes,
}

/// A block that is final and on disk, with what it did.
#[derive(Debug)]
pub struct FinalBlock {
    block: Block,
    executed: Arc<Executed>,
}

impl FinalBlock {
    pub(crate) fn new(block: &Block, executed: Arc<Executed>) -> Self {
        Self {
            block: block.clone(),
            executed,
        }
    }

    /// The block.
    #[must_use]
    pub fn block(&self) -> &LedgerBlock {
        self.block.inner()
    }

    /// Its digest.
    #[must_use]
    pub const fn digest(&self) -> &[u8; 32] {
        self.block.id()
    }

    /// What its execution did.
    #[must_use]
    pub fn effects(&self) -> &Effects {
        &self.executed.effects
    }
}

/// A snapshot of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Newest view that this node knows to be notarised, nullified or finalised.
    pub view: u64,
    /// Newest final height that this node has heard of.
    pub finalized: u64,
    /// Height of the ledger on disk.
    pub processed: u64,
    /// Proofs of conflicting votes written by this node.
    pub evidence: u64,
    /// Gossip messages received.
    pub received: u64,
    /// Gossip messages dropped: over a limit, queue full, or from nobody in the roster.
    pub dropped: u64,
    /// Gossip messages above the size limit of their channel.
    pub oversize: u64,
    /// Why the ledger stopped, if it did.
    pub fatal: Option<Fatal>,
}

/// The counters behind [`Status`].
#[derive(Debug, Default)]
pub(crate) struct StatusCell {
    pub(crate) view: AtomicU64,
    pub(crate) finalized: AtomicU64,
    pub(crate) processed: AtomicU64,
    pub(crate) evidence: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) oversize: AtomicU64,
    pub(crate) fatal: OnceLock<Fatal>,
}

impl StatusCell {
    fn read(&self) -> Status {
        let processed = self.processed.load(Ordering::Relaxed);
        Status {
            view: self.view.load(Ordering::Relaxed),
            finalized: self.finalized.load(Ordering::Relaxed).max(processed),
            processed,
            evidence: self.evidence.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            oversize: self.oversize.load(Ordering::Relaxed),
            fatal: self.fatal.get().cloned(),
        }
    }
}

/// Everybody who reads final blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subscribers {
    senders: Arc<Mutex<Vec<mpsc::Sender<Arc<FinalBlock>>>>>,
}

impl Subscribers {
    fn add(&self) -> Result<mpsc::Receiver<Arc<FinalBlock>>, Error> {
        let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        senders.retain(|sender| !sender.is_closed());
        if senders.len() >= limits::MAX_SUBSCRIBERS {
            return Err(Error::TooManySubscribers);
        }
        let (sender, receiver) = mpsc::channel(limits::FINAL_BLOCKS);
        senders.push(sender);
        Ok(receiver)
    }

    /// Hands a block to everybody, waiting for the slowest.
    pub(crate) async fn publish(&self, block: &Arc<FinalBlock>) {
        let senders = self
            .senders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        for sender in senders {
            // A closed subscriber has gone; it is removed at the next subscription.
            let _ = sender.send(Arc::clone(block)).await;
        }
    }
}
