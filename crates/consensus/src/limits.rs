//! The constants of the protocol between validators. All are equal on every node: a sender with a
//! higher quota than its receivers would have its own votes delayed.

use core::time::Duration;

/// Largest number of validators with ML-DSA-65 votes. Every node broadcasts every certificate, so
/// the traffic of one block grows with the square of this number.
pub const MAX_VALIDATORS: usize = 25;

/// Smallest number of validators that tolerates one fault.
pub const MIN_VALIDATORS: usize = 4;

/// Largest encoded block, in bytes.
pub const MAX_BLOCK_BYTES: usize = 1 << 20;

/// Largest gossip message of either gossip channel, in bytes: one transaction of 1 MiB with its
/// tag and framing.
pub const MAX_GOSSIP_BYTES: usize = (1 << 20) + 4096;

/// Largest ceremony message (one nonce matrix), in bytes.
pub const MAX_CEREMONY_BYTES: usize = (1 << 20) + 4096;

/// Messages of the gossip channel that wait for the consumer, and for the network.
pub const GOSSIP_QUEUE: usize = 512;

/// Messages of the ceremony channel that wait for the consumer, and for the network. Most of them
/// are matrices of 0.6 MB.
pub const CEREMONY_QUEUE: usize = 64;

/// Final blocks that wait for one subscriber. A slower subscriber slows the ledger down: it cannot
/// lose a block.
pub const FINAL_BLOCKS: usize = 16;

/// Final-block subscribers of one node.
pub const MAX_SUBSCRIBERS: usize = 8;

/// A block whose time is at most this far ahead of the local clock is checked at once; a later one
/// is waited for.
pub const MAX_CLOCK_AHEAD: Duration = Duration::from_millis(500);

/// Messages per second and peer on the vote channel, and on the certificate channel.
pub(crate) const QUOTA_VOTES: u32 = 128;

/// Messages per second and peer on each of the fetch, backfill and block channels.
pub(crate) const QUOTA_FETCH: u32 = 64;

/// Messages per second and peer on the gossip channel.
pub(crate) const QUOTA_GOSSIP: u32 = 128;

/// Messages at once and peer on the gossip channel. With the size limit it bounds the memory of the
/// channel: 32 MiB for each peer.
pub(crate) const BURST_GOSSIP: u32 = 32;

/// Messages per second and peer on the ceremony channel.
pub(crate) const QUOTA_CEREMONY: u32 = 32;

/// Messages at once and peer on the ceremony channel: 16 MiB of memory for each peer.
pub(crate) const BURST_CEREMONY: u32 = 16;

/// Views that simplex and marshal keep behind the finalised tip.
pub(crate) const VIEW_RETENTION: u64 = 64;

/// Missing blocks that are fetched at the same time.
pub(crate) const MAX_REPAIR: usize = 16;

/// Mailbox of every actor of the library.
pub(crate) const MAILBOX: usize = 1024;

/// Blocks of one sender kept in memory before they are certified.
pub(crate) const BLOCKS_PER_SENDER: usize = 16;

/// Waiting deliveries that can be found by the message they bring.
pub(crate) const MAX_WAITING_MESSAGES: usize = 8192;

/// Overlays (states of blocks that are not final) kept at the same time.
pub(crate) const MAX_OVERLAYS: usize = 256;
