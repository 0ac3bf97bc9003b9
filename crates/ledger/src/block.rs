//! Blocks: what consensus agrees on.

use alloc::sync::Arc;

use horizon_hash::domain::ledger as domain;
use horizon_hash::tuplehash::TupleHash256;

use crate::codec::{Reader, put_long};
use crate::error::Invalid;
use crate::tx;

/// One block. Its validity is decided by [`App::execute`](crate::App::execute) alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Digest of the block before; for the genesis block the hash of the genesis.
    pub parent: [u8; 32],
    /// Height; the genesis block has 0.
    pub height: u64,
    /// Milliseconds since 1970, strictly larger than the parent's.
    pub time_ms: u64,
    /// [`nebula::root`](horizon_warp::nebula::root) over the state root after this block and the
    /// ids of its outgoing messages.
    pub nebula_root: [u8; 32],
    /// Transactions in their order.
    pub transactions: Vec<Arc<[u8]>>,
}

impl Block {
    /// TupleHash256 over all fields; transactions enter by their digests.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = TupleHash256::new(domain::BLOCK);
        hash.element(&self.parent);
        hash.element(&self.height.to_be_bytes());
        hash.element(&self.time_ms.to_be_bytes());
        hash.element(&self.nebula_root);
        for transaction in &self.transactions {
            hash.element(&tx::digest(transaction));
        }
        let mut out = [0; 32];
        // Only whole elements were given, so this cannot fail.
        let _ = hash.finalize_into(&mut out);
        out
    }

    /// Size of [`Block::encode`] in bytes.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let transactions = self
            .transactions
            .iter()
            .map(|transaction| TRANSACTION_OVERHEAD.saturating_add(transaction.len()));
        transactions.fold(HEADER_LEN, usize::saturating_add)
    }

    /// Version 1, parent 32, height 8, time 8, root 32, count 4, then each transaction with its
    /// length in 4 bytes; big-endian.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.encoded_len());
        out.push(VERSION);
        out.extend_from_slice(&self.parent);
        out.extend_from_slice(&self.height.to_be_bytes());
        out.extend_from_slice(&self.time_ms.to_be_bytes());
        out.extend_from_slice(&self.nebula_root);
        // Blocks are bounded far below 2^32 transactions when they are built and decoded.
        let count = u32::try_from(self.transactions.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&count.to_be_bytes());
        for transaction in &self.transactions {
            put_long(&mut out, transaction);
        }
        out
    }

    /// Decodes exactly one block of at most [`BLOCK_LEN_MAX`] bytes.
    ///
    /// # Errors
    /// [`Invalid::TooLarge`], [`Invalid::Malformed`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Invalid> {
        if bytes.len() > BLOCK_LEN_MAX {
            return Err(Invalid::TooLarge);
        }
        let mut input = Reader::new(bytes);
        if input.u8("version")? != VERSION {
            return Err(Invalid::Malformed { field: "version" });
        }
        let parent = *input.array("parent")?;
        let height = input.u64("height")?;
        let time_ms = input.u64("time_ms")?;
        let nebula_root = *input.array("nebula_root")?;
        let count = usize::try_from(input.u32("count")?).unwrap_or(usize::MAX);
        // A count that cannot fit what remains allocates nothing.
        if count > TRANSACTIONS_MAX
            || count.saturating_mul(TRANSACTION_OVERHEAD) > input.remaining()
        {
            return Err(Invalid::Malformed { field: "count" });
        }
        let transactions = (0..count)
            .map(|_| Ok(Arc::from(input.long(BLOCK_LEN_MAX, "transaction")?)))
            .collect::<Result<_, Invalid>>()?;
        input.finish("trailing")?;
        Ok(Self {
            parent,
            height,
            time_ms,
            nebula_root,
            transactions,
        })
    }
}

/// Bytes of a block before its transactions.
pub const HEADER_LEN: usize = 85;
/// Bytes that a transaction takes beyond its own.
pub const TRANSACTION_OVERHEAD: usize = 4;
/// Largest block that is ever decoded; the genesis sets the limit of its network at or below it.
pub const BLOCK_LEN_MAX: usize = 1 << 20;
/// Most transactions of a block that is ever decoded.
pub const TRANSACTIONS_MAX: usize = 4_096;
/// Version byte.
const VERSION: u8 = 1;
