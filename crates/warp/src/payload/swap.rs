//! Atomic swaps, multi-hop routes and asset locks: fixed layouts, big-endian.
//!
//! # Source
//! Wire specification, section "Atomic swap payload". The reference's decoder misses bounds after
//! the variable fields (it panics on 222 bytes with a long sender), ignores trailing bytes and does
//! not validate; this one does all three.

use alloc::vec::Vec;

use super::{empty_field, zero_field};
use crate::error::{Error, Reason};
use crate::limits::{ROUTE_HOP_COUNT_MAX, UNSIGNED_LEN_MAX};
use crate::reader::Reader;

/// What a swap message asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// Lock funds; data is the 32-byte SHA-256 hash lock.
    Lock = 0,
    /// Unlock funds.
    Unlock = 1,
    /// Mint a representation.
    Mint = 2,
    /// Burn a representation.
    Burn = 3,
    /// Swap.
    Swap = 4,
    /// Settle; data is the 32-byte preimage.
    Settle = 5,
}

impl Operation {
    const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Lock,
            1 => Self::Unlock,
            2 => Self::Mint,
            3 => Self::Burn,
            4 => Self::Swap,
            5 => Self::Settle,
            _ => return None,
        })
    }
}

/// One swap message, `222 + s + r + n` bytes.
///
/// Layout: version 1, operation 1, swap id 32, source chain 32, destination chain 32, sender
/// (`u32be` length), recipient (`u32be` length), asset 32, amount 32, minimum receive 32, deadline
/// 8, nonce 8, data (`u32be` length).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicSwap<'a> {
    /// What is asked.
    pub operation: Operation,
    /// Names the swap.
    pub swap_id: [u8; 32],
    /// Must equal the message's source chain.
    pub source_chain: [u8; 32],
    /// Where the message may act.
    pub destination_chain: [u8; 32],
    /// Not empty.
    pub sender: &'a [u8],
    /// Not empty.
    pub recipient: &'a [u8],
    /// The asset.
    pub asset: [u8; 32],
    /// Unsigned 256-bit big-endian, not 0.
    pub amount: [u8; 32],
    /// Unsigned 256-bit big-endian; 0 when there is none.
    pub minimum_receive: [u8; 32],
    /// Seconds since 1970.
    pub deadline_s: u64,
    /// Sender's counter.
    pub nonce: u64,
    /// Hash lock, preimage or route.
    pub data: &'a [u8],
}

impl<'a> AtomicSwap<'a> {
    /// Decodes and validates a swap message.
    ///
    /// # Errors
    /// Reasons of class `Payload`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut input = Reader::payload(bytes);
        if input.u8("swap.version")? != 1 {
            return Err(Error::malformed(Reason::PayloadVersion, "swap.version", 0));
        }
        let operation = Operation::from_byte(input.u8("swap.operation")?).ok_or(
            Error::malformed(Reason::PayloadOperation, "swap.operation", 1),
        )?;
        let swap = Self {
            operation,
            swap_id: *input.array("swap.id")?,
            source_chain: *input.array("swap.source_chain")?,
            destination_chain: *input.array("swap.destination_chain")?,
            sender: input.prefixed_u32(UNSIGNED_LEN_MAX, "swap.sender")?,
            recipient: input.prefixed_u32(UNSIGNED_LEN_MAX, "swap.recipient")?,
            asset: *input.array("swap.asset")?,
            amount: *input.array("swap.amount")?,
            minimum_receive: *input.array("swap.minimum_receive")?,
            deadline_s: input.u64("swap.deadline")?,
            nonce: input.u64("swap.nonce")?,
            data: input.prefixed_u32(UNSIGNED_LEN_MAX, "swap.data")?,
        };
        input.finish("swap")?;
        swap.validate()?;
        Ok(swap)
    }

    /// Encodes the swap message.
    ///
    /// # Errors
    /// `PayloadEmptyField`, `PayloadZeroField`.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        self.validate()?;
        let mut out = Vec::new();
        out.extend_from_slice(&[1, self.operation as u8]);
        out.extend_from_slice(&self.swap_id);
        out.extend_from_slice(&self.source_chain);
        out.extend_from_slice(&self.destination_chain);
        put_prefixed(&mut out, self.sender);
        put_prefixed(&mut out, self.recipient);
        out.extend_from_slice(&self.asset);
        out.extend_from_slice(&self.amount);
        out.extend_from_slice(&self.minimum_receive);
        out.extend_from_slice(&self.deadline_s.to_be_bytes());
        out.extend_from_slice(&self.nonce.to_be_bytes());
        put_prefixed(&mut out, self.data);
        Ok(out)
    }

    fn validate(&self) -> Result<(), Error> {
        if self.sender.is_empty() {
            return Err(empty_field("swap.sender", 98));
        }
        if self.recipient.is_empty() {
            return Err(empty_field(
                "swap.recipient",
                self.sender.len().saturating_add(102),
            ));
        }
        if self.amount == [0; 32] {
            let before = self.sender.len().saturating_add(self.recipient.len());
            return Err(zero_field("swap.amount", before.saturating_add(138)));
        }
        Ok(())
    }
}

/// One pool of a route, 68 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Token given.
    pub token_in: [u8; 20],
    /// Token taken.
    pub token_out: [u8; 20],
    /// Pool fee.
    pub fee: u32,
    /// Tick spacing, two's complement on the wire.
    pub tick_spacing: i32,
    /// Hook contract.
    pub hooks: [u8; 20],
}

/// A route over several pools: `u32be` count, then 68 bytes each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MultiHopRoute {
    /// At most 256 hops.
    pub hops: Vec<Hop>,
}

impl MultiHopRoute {
    /// Decodes a route.
    ///
    /// # Errors
    /// `PayloadTooLarge` for more than 256 hops, `PayloadTruncated`, `PayloadTrailing`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::payload(bytes);
        let count = input.u32("route.count")?;
        if count > ROUTE_HOP_COUNT_MAX {
            return Err(Error::over(
                Reason::PayloadTooLarge,
                "route.count",
                0,
                ROUTE_HOP_COUNT_MAX as usize,
            ));
        }
        let mut hops = Vec::new();
        for _ in 0..count {
            hops.push(Hop {
                token_in: *input.array("route.token_in")?,
                token_out: *input.array("route.token_out")?,
                fee: input.u32("route.fee")?,
                tick_spacing: i32::from_be_bytes(*input.array("route.tick_spacing")?),
                hooks: *input.array("route.hooks")?,
            });
        }
        input.finish("route")?;
        Ok(Self { hops })
    }

    /// Encodes the route.
    ///
    /// # Errors
    /// `PayloadTooLarge` for more than 256 hops.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let count = u32::try_from(self.hops.len()).unwrap_or(u32::MAX);
        if count > ROUTE_HOP_COUNT_MAX {
            return Err(Error::over(
                Reason::PayloadTooLarge,
                "route.count",
                0,
                ROUTE_HOP_COUNT_MAX as usize,
            ));
        }
        let mut out = Vec::new();
        out.extend_from_slice(&count.to_be_bytes());
        for hop in &self.hops {
            out.extend_from_slice(&hop.token_in);
            out.extend_from_slice(&hop.token_out);
            out.extend_from_slice(&hop.fee.to_be_bytes());
            out.extend_from_slice(&hop.tick_spacing.to_be_bytes());
            out.extend_from_slice(&hop.hooks);
        }
        Ok(out)
    }
}

/// A lock of an unspent output, `120 + script` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssetLock<'a> {
    /// Transaction of the output.
    pub tx_id: [u8; 32],
    /// Which output.
    pub output_index: u32,
    /// The asset.
    pub asset_id: [u8; 32],
    /// Amount.
    pub amount: u64,
    /// Locking script.
    pub script: &'a [u8],
    /// SHA-256 hash lock.
    pub hash_lock: [u8; 32],
    /// Seconds since 1970.
    pub time_lock_s: u64,
}

impl<'a> AssetLock<'a> {
    /// Decodes a lock. The reference has only the encoder.
    ///
    /// # Errors
    /// `PayloadTruncated`, `PayloadTrailing`, `PayloadTooLarge`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut input = Reader::payload(bytes);
        let lock = Self {
            tx_id: *input.array("lock.tx_id")?,
            output_index: input.u32("lock.output_index")?,
            asset_id: *input.array("lock.asset_id")?,
            amount: input.u64("lock.amount")?,
            script: input.prefixed_u32(UNSIGNED_LEN_MAX, "lock.script")?,
            hash_lock: *input.array("lock.hash_lock")?,
            time_lock_s: input.u64("lock.time_lock")?,
        };
        input.finish("lock")?;
        Ok(lock)
    }

    /// Encodes the lock.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&self.tx_id);
        out.extend_from_slice(&self.output_index.to_be_bytes());
        out.extend_from_slice(&self.asset_id);
        out.extend_from_slice(&self.amount.to_be_bytes());
        put_prefixed(&mut out, self.script);
        out.extend_from_slice(&self.hash_lock);
        out.extend_from_slice(&self.time_lock_s.to_be_bytes());
        out
    }
}

fn put_prefixed(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(bytes);
}
