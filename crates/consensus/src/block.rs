//! The ledger's block as the library sees it.

use std::sync::Arc;

use bytes::BufMut;
use commonware_codec::{
    Buf, EncodeSize, Error as CodecError, MaxEncodeSize as _, Read, Write, varint::UInt,
};
use commonware_consensus::{BoundedBlock, Heightable, types::Height};
use commonware_cryptography::{Digested, Digestible, sha256};
use horizon_ledger::Block as LedgerBlock;

/// 32 bytes that name a block. Only the container comes from the library: the bytes are
/// [`LedgerBlock::digest`].
pub type Digest = sha256::Digest;

/// A block with its digest and its encoding, both computed once.
#[derive(Clone, Debug)]
pub struct Block {
    inner: Arc<LedgerBlock>,
    encoded: Arc<[u8]>,
    digest: [u8; 32],
}

impl Block {
    /// Wraps a ledger block.
    #[must_use]
    pub fn new(block: LedgerBlock) -> Self {
        let encoded = block.encode().into();
        let digest = block.digest();
        Self {
            inner: Arc::new(block),
            encoded,
            digest,
        }
    }

    /// The ledger block.
    #[must_use]
    pub const fn inner(&self) -> &Arc<LedgerBlock> {
        &self.inner
    }

    /// The digest as bytes.
    #[must_use]
    pub const fn id(&self) -> &[u8; 32] {
        &self.digest
    }

    /// With the digest that the library wants beside the block.
    pub(crate) fn digested(self) -> Digested<Self> {
        let digest = self.digest();
        Digested::precomputed(self, digest)
    }
}

impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for Block {}

impl Write for Block {
    fn write(&self, writer: &mut impl BufMut) {
        UInt(u32::try_from(self.encoded.len()).unwrap_or(u32::MAX)).write(writer);
        writer.put_slice(&self.encoded);
    }
}

impl EncodeSize for Block {
    fn encode_size(&self) -> usize {
        UInt(u32::try_from(self.encoded.len()).unwrap_or(u32::MAX))
            .encode_size()
            .saturating_add(self.encoded.len())
    }
}

impl Read for Block {
    /// Largest encoded block in bytes.
    type Cfg = usize;

    fn read_cfg(reader: &mut impl Buf, max: &usize) -> Result<Self, CodecError> {
        const NAME: &str = "horizon_consensus::block::Block";
        let len: u32 = UInt::read_cfg(reader, &())?.into();
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > *max {
            return Err(CodecError::InvalidLength(len));
        }
        if reader.remaining() < len {
            return Err(CodecError::EndOfBuffer);
        }
        let mut bytes = vec![0; len];
        reader.copy_to_slice(&mut bytes);
        let block =
            LedgerBlock::decode(&bytes).map_err(|_| CodecError::Invalid(NAME, "not a block"))?;
        let digest = block.digest();
        Ok(Self {
            inner: Arc::new(block),
            encoded: bytes.into(),
            digest,
        })
    }
}

impl Digestible for Block {
    type Digest = Digest;

    fn digest(&self) -> Digest {
        Digest::from(self.digest)
    }
}

impl Heightable for Block {
    fn height(&self) -> Height {
        Height::new(self.inner.height)
    }
}

impl commonware_consensus::Block for Block {
    fn parent(&self) -> Digest {
        Digest::from(self.inner.parent)
    }
}

impl BoundedBlock for Block {
    fn max_encode_size(max: &usize) -> usize {
        UInt::<u32>::MAX_ENCODE_SIZE.saturating_add(*max)
    }
}
