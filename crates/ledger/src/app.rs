//! The application: checks transactions, builds blocks, executes them.
//!
//! A block is executed transaction by transaction. Each of them is first checked against the state
//! so far and only then changes it, so a refused one leaves no trace. Then acknowledgements are
//! written, the state root and the NebulaRoot are computed, and the signing ledger takes the
//! block's transactions and its new subjects.

use alloc::sync::Arc;
use core::fmt;
use core::hash::{BuildHasher, Hasher};
use std::collections::hash_map::RandomState;

use horizon_hash::sponge::{Shake256, XofReader};
use horizon_pulsar::committee::ledger::{Ledger, LedgerTx};
use horizon_pulsar::committee::message::Kind as PulseKind;
use horizon_sig::cache::{Limits, VerifiedCache};
use horizon_warp::nebula;
use rand_core::{TryCryptoRng, TryRng};

use crate::block::{Block, HEADER_LEN, TRANSACTION_OVERHEAD};
use crate::effects::Executed;
use crate::error::{Error, Invalid, Refusal};
use crate::genesis::Genesis;
use crate::state::State;
use crate::tx::{self, Kind, Transaction};

mod acks;
mod deliver;
mod evidence;
mod execute;
mod handlers;
mod submit;

use evidence::Memo;
use execute::Execution;
pub(crate) use execute::subject_id;

pub use acks::{ACK_LEN, ACK_NAME, ACKS_MAX, ack_channel};
pub use execute::{OPEN_BYTES_MAX, OPEN_SUBJECTS_MAX};
pub use handlers::{COUNTER, FAILED_BYTES_MAX, FAILED_MAX, GATE, JOURNAL};
pub use submit::{ACCOUNTS_MAX, CHANNELS_MAX, ORDERED, UNORDERED, WAITING_MAX};

/// The application of one network. Shared by reference between threads.
pub struct App {
    genesis: Genesis,
    genesis_block: Block,
    genesis_state: State,
    cache: VerifiedCache,
    memo: Memo,
    /// The channel on which acknowledgements come here.
    ack_channel: [u8; 32],
}

/// A transaction whose bytes and signatures are good. Whether it can enter a block depends on the
/// state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The transaction.
    pub bytes: Arc<[u8]>,
    /// Its digest.
    pub digest: [u8; 32],
    /// What it is.
    pub kind: Kind,
    /// The message that it brings or retries. The id of a message that is to be sent depends on its
    /// nonce, which it gets in a block: `None`.
    pub message_id: Option<[u8; 32]>,
    pub(crate) detail: Detail,
}

/// Where a transaction wants to go: what screening and ordering look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Pulse {
        kind: PulseKind,
        sender: u16,
        boot: u32,
        batch: u64,
        subject: Option<[u8; 32]>,
    },
    Submit {
        account: [u8; 32],
        sequence: u64,
    },
    Deliver {
        network: u32,
        chain: [u8; 32],
        channel: [u8; 32],
        nonce: u64,
    },
    Retry {
        id: [u8; 32],
    },
}

impl App {
    /// Sets up the application.
    ///
    /// # Errors
    /// [`Error::Pulse`], which a checked genesis does not cause.
    pub fn new(genesis: Genesis) -> Result<Self, Error> {
        let pulse = Ledger::new(
            genesis.committee().clone(),
            Arc::clone(genesis.committee_key()),
            genesis.spec().pulse,
            0,
        )
        .map_err(Error::Pulse)?;
        let genesis_state = State::genesis(pulse);
        let genesis_block = Block {
            parent: *genesis.hash(),
            height: 0,
            time_ms: genesis.spec().time_ms,
            nebula_root: nebula::root(genesis_state.root(), &[]),
            transactions: Vec::new(),
        };
        // The default limits leave room for many buckets, so this cannot fail.
        let cache = VerifiedCache::new(Limits::default(), &mut CacheKey::new())
            .map_err(|_| Error::Invalid(Invalid::TooLarge))?;
        Ok(Self {
            ack_channel: ack_channel(genesis.network_id(), genesis.chain_id()),
            genesis,
            genesis_block,
            genesis_state,
            cache,
            memo: Memo::default(),
        })
    }

    /// The genesis.
    #[must_use]
    pub fn genesis(&self) -> &Genesis {
        &self.genesis
    }

    /// The block at height 0.
    #[must_use]
    pub fn genesis_block(&self) -> Block {
        self.genesis_block.clone()
    }

    /// The state after it.
    #[must_use]
    pub fn genesis_state(&self) -> State {
        self.genesis_state.clone()
    }

    /// Checks what does not depend on the state: layout, signatures, and for an envelope all lanes.
    /// The age of registry records is not looked at: that needs the time of a block.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn check(&self, tx: &[u8]) -> Result<Checked, Refusal> {
        self.checked(tx, None)
    }

    /// [`App::check`] for a pool: what could never be valid on `state`, such as a message that was
    /// delivered already, is refused before any lane or account's signature is verified.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn admit(&self, state: &State, tx: &[u8]) -> Result<Checked, Refusal> {
        self.checked(tx, Some(state))
    }

    fn checked(&self, tx: &[u8], state: Option<&State>) -> Result<Checked, Refusal> {
        let digest = tx::digest(tx);
        let transaction = Transaction::decode(tx)?;
        let cheap = |detail: &Detail| match state.map(|state| self.screen_detail(state, detail)) {
            Some(Err(refusal)) if !refusal.is_retryable() => Err(refusal),
            _ => Ok(()),
        };
        let (message_id, detail) = match transaction {
            Transaction::Pulse(bytes) => (None, self.check_pulse(bytes)?),
            Transaction::Submit(submit) => {
                let detail = self.submit_detail(&submit)?;
                cheap(&detail)?;
                self.check_signature(&submit, &digest)?;
                (None, detail)
            }
            Transaction::Deliver(envelope) => {
                let incoming = self.parse_incoming(envelope)?;
                let detail = incoming.detail();
                cheap(&detail)?;
                self.prove(&incoming, &digest, None)?;
                (Some(incoming.id), detail)
            }
            Transaction::Retry(id) => (Some(*id), Detail::Retry { id: *id }),
        };
        cheap(&detail)?;
        Ok(Checked {
            bytes: tx.into(),
            digest,
            kind: transaction.kind(),
            message_id,
            detail,
        })
    }

    /// Checks what depends on the state without repeating signatures: whether the transaction could
    /// be the next of its account, channel or batch. Cheap.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::is_retryable`] tells "not yet" from "never".
    pub fn screen(&self, state: &State, checked: &Checked) -> Result<(), Refusal> {
        self.screen_detail(state, &checked.detail)
    }

    fn screen_detail(&self, state: &State, detail: &Detail) -> Result<(), Refusal> {
        match detail {
            Detail::Pulse {
                kind,
                sender,
                boot,
                batch,
                subject,
            } => evidence::screen_pulse(
                state.pulse(),
                *kind,
                *sender,
                *boot,
                *batch,
                subject.as_ref(),
            ),
            Detail::Submit { account, sequence } => {
                submit::check_sequence(state, account, *sequence)
            }
            Detail::Deliver {
                network,
                chain,
                channel,
                nonce,
            } => deliver::look(state, *network, chain, channel, *nonce).map(drop),
            Detail::Retry { id } => {
                deliver::plan_retry(state, id, state.height().saturating_add(1)).map(drop)
            }
        }
    }

    /// The transactions of the signing committee in a block, decoded: what a service reads again
    /// after a restart.
    ///
    /// # Errors
    /// [`Invalid::Transaction`], which no final block gives.
    pub fn pulse_transactions(&self, block: &Block) -> Result<Vec<LedgerTx>, Invalid> {
        let mut out = Vec::new();
        for (position, bytes) in block.transactions.iter().enumerate() {
            let decoded = Transaction::decode(bytes).and_then(|transaction| match transaction {
                Transaction::Pulse(bytes) => self.pulse_transaction(bytes).map(Some),
                _ => Ok(None),
            });
            out.extend(decoded.map_err(|refusal| Invalid::Transaction { position, refusal })?);
        }
        Ok(out)
    }

    /// Builds the block after `parent`, whose state is `state`, from those candidates that are
    /// valid, in their order. The rest is left out.
    ///
    /// # Errors
    /// [`Invalid::Time`] unless the time is larger than the parent's, [`Invalid::Parent`] when block
    /// and state do not belong together.
    pub fn build(
        &self,
        parent: &Block,
        state: &State,
        time_ms: u64,
        candidates: &[Arc<[u8]>],
    ) -> Result<(Block, Executed), Error> {
        let height = next_height(parent, state, time_ms)?;
        let limits = self.genesis.spec().block;
        let mut execution = Execution::new(self, state, height, time_ms);
        let mut chosen: Vec<Arc<[u8]>> = Vec::new();
        let mut bytes = HEADER_LEN;
        for candidate in candidates {
            let with = bytes
                .saturating_add(TRANSACTION_OVERHEAD)
                .saturating_add(candidate.len());
            if chosen.len() >= limits.transactions_max {
                break;
            }
            if with > limits.bytes_max || execution.transaction(candidate).is_err() {
                continue;
            }
            bytes = with;
            chosen.push(Arc::clone(candidate));
        }
        let finished = execution.finish().map_err(Invalid::Pulse)?;
        // The signing ledger is asked last: what it refused did nothing and is left out.
        for position in finished.refused.iter().rev().map(|(position, _)| *position) {
            if position < chosen.len() {
                chosen.remove(position);
            }
        }
        let block = Block {
            parent: parent.digest(),
            height,
            time_ms,
            nebula_root: finished.nebula_root,
            transactions: chosen,
        };
        Ok((block, finished.executed))
    }

    /// Executes a block on its parent's state. Nothing is changed in place.
    ///
    /// # Errors
    /// [`Invalid`]: the first fault found.
    pub fn execute(
        &self,
        parent: &Block,
        state: &State,
        block: &Block,
    ) -> Result<Executed, Invalid> {
        let height = next_height(parent, state, block.time_ms)?;
        if block.height != height {
            return Err(Invalid::Height);
        }
        if block.parent != parent.digest() {
            return Err(Invalid::Parent);
        }
        let limits = self.genesis.spec().block;
        if block.encoded_len() > limits.bytes_max
            || block.transactions.len() > limits.transactions_max
        {
            return Err(Invalid::TooLarge);
        }
        let mut execution = Execution::new(self, state, height, block.time_ms);
        for (position, transaction) in block.transactions.iter().enumerate() {
            execution
                .transaction(transaction)
                .map_err(|refusal| Invalid::Transaction { position, refusal })?;
        }
        let mut finished = execution.finish().map_err(Invalid::Pulse)?;
        if !finished.refused.is_empty() {
            let (position, error) = finished.refused.swap_remove(0);
            let refusal = Refusal::Pulse(error);
            return Err(Invalid::Transaction { position, refusal });
        }
        if finished.nebula_root != block.nebula_root {
            return Err(Invalid::NebulaRoot);
        }
        Ok(finished.executed)
    }
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("network_id", &self.genesis.network_id())
            .finish_non_exhaustive()
    }
}

/// What any child of `parent` must have: the next height, and a larger time.
fn next_height(parent: &Block, state: &State, time_ms: u64) -> Result<u64, Invalid> {
    if state.height() != parent.height {
        return Err(Invalid::Parent);
    }
    if time_ms <= parent.time_ms {
        return Err(Invalid::Time);
    }
    parent.height.checked_add(1).ok_or(Invalid::Height)
}

/// The key of the signature cache. It only decides which inputs share a bucket, so that nobody can
/// aim at one; the random state of the standard library's maps is enough for that.
struct CacheKey(XofReader);

impl CacheKey {
    fn new() -> Self {
        let mut hash = Shake256::new();
        for part in 0..4 {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u8(part);
            hash.update(&hasher.finish().to_le_bytes());
        }
        Self(hash.finalize())
    }
}

impl TryRng for CacheKey {
    type Error = core::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        let mut out = [0; 4];
        self.0.read(&mut out);
        Ok(u32::from_le_bytes(out))
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        let mut out = [0; 8];
        self.0.read(&mut out);
        Ok(u64::from_le_bytes(out))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        self.0.read(out);
        Ok(())
    }
}

impl TryCryptoRng for CacheKey {}
