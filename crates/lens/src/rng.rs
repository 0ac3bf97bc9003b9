//! Between the random generators of this workspace and those of the library, which is one
//! generation older.

use frost_ed25519::rand_core as old;
use horizon_hash::sponge::{Cshake256, XofReader};
use rand_core::CryptoRng;

/// Gives the library a generator of this workspace.
pub(crate) struct Bridge<'a, R: ?Sized>(pub(crate) &'a mut R);

impl<R: CryptoRng + ?Sized> old::RngCore for Bridge<'_, R> {
    fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn fill_bytes(&mut self, dest: &mut [u8]) {
        self.0.fill_bytes(dest);
    }

    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), old::Error> {
        self.0.fill_bytes(dest);
        Ok(())
    }
}

impl<R: CryptoRng + ?Sized> old::CryptoRng for Bridge<'_, R> {}

/// A public stream in place of randomness: coefficients that hash what they check.
pub(crate) struct XofRng(XofReader);

impl XofRng {
    /// The stream of cSHAKE256 over the length-framed parts.
    pub(crate) fn new(custom: &[u8], parts: &[&[u8]]) -> Self {
        let mut hash = Cshake256::new(b"", custom);
        for part in parts {
            let len = u64::try_from(part.len()).unwrap_or(u64::MAX);
            hash.update(&len.to_be_bytes());
            hash.update(part);
        }
        Self(hash.finalize())
    }
}

impl old::RngCore for XofRng {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.0.read(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.read(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn fill_bytes(&mut self, dest: &mut [u8]) {
        self.0.read(dest);
    }

    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), old::Error> {
        self.0.read(dest);
        Ok(())
    }
}

impl old::CryptoRng for XofRng {}
