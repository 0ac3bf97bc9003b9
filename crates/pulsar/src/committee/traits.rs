//! What the surrounding program supplies: signatures of members and the durable session record.

use alloc::vec::Vec;

use super::error::Error;

/// Makes this member's own signatures.
///
/// # Security
/// The key is the member's registry key. The signature should be hedged ML-DSA-65. Secrecy of shares
/// never rests on it; a thief of this key can only be penalised in the member's name.
pub trait MemberSigner {
    /// Signs `message` under the context string `context`.
    ///
    /// # Errors
    /// [`SignerUnavailable`] when no signature could be made; the caller may retry.
    fn sign(
        &mut self,
        context: &[u8],
        message: &[u8],
    ) -> Result<[u8; SIGNATURE_LEN], SignerUnavailable>;
}

/// Checks signatures of all members against their registry keys.
pub trait MemberVerifier {
    /// Checks that `signature` is `member`'s over `message` under the context string `context`.
    ///
    /// # Errors
    /// [`SignatureRefused`] when it is not.
    fn verify(
        &self,
        member: u16,
        context: &[u8],
        message: &[u8],
        signature: &[u8; SIGNATURE_LEN],
    ) -> Result<(), SignatureRefused>;
}

/// The durable record of a signer: the second fence against answering one index twice, independent of the
/// ledger, and the memory of boots.
///
/// # Security
/// Every write must be durable (flushed to stable storage) before the call returns. The record must never
/// be restored from a backup. It holds no secret.
pub trait SessionRecords {
    /// The largest boot counter ever reserved under `era_ctx`, or `None` for a fresh record.
    ///
    /// # Errors
    /// [`RecordsUnavailable`] when the record cannot be read.
    fn boot(&self, era_ctx: &[u8; 32]) -> Result<Option<u32>, RecordsUnavailable>;

    /// Writes `(era_ctx, boot, batch)`; called before anything of the batch is made.
    ///
    /// # Errors
    /// [`RecordsUnavailable`] when the write is not durable.
    fn reserve(
        &mut self,
        era_ctx: &[u8; 32],
        boot: u32,
        batch: u64,
    ) -> Result<(), RecordsUnavailable>;

    /// The recorded answer of `(batch, index)`, if there is one.
    ///
    /// # Errors
    /// [`RecordsUnavailable`] when the record cannot be read.
    fn answer(
        &self,
        era_ctx: &[u8; 32],
        batch: u64,
        index: u16,
    ) -> Result<Option<Answer>, RecordsUnavailable>;

    /// Writes the answer of `(batch, index)`; called before the partial leaves. An existing answer is
    /// never replaced: implementations refuse that. After an error [`answer`](Self::answer) must not report
    /// an answer that is not durable.
    ///
    /// # Errors
    /// [`RecordsUnavailable`] when the write is not durable, or an answer is already there.
    fn record_answer(
        &mut self,
        era_ctx: &[u8; 32],
        batch: u64,
        index: u16,
        answer: &Answer,
    ) -> Result<(), RecordsUnavailable>;
}

/// What was answered for one `(batch, index)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The session context.
    pub session_ctx: [u8; 32],
    /// The complete signed Partial as it was sent. May be dropped once the subject is closed; the
    /// context must be kept for the whole generation.
    pub partial: Vec<u8>,
}

/// No signature could be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignerUnavailable;

/// A signature does not verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureRefused;

/// The durable record cannot be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordsUnavailable;

impl From<SignerUnavailable> for Error {
    fn from(_: SignerUnavailable) -> Self {
        Self::SignerUnavailable
    }
}

impl From<RecordsUnavailable> for Error {
    fn from(_: RecordsUnavailable) -> Self {
        Self::RecordsUnavailable
    }
}

/// Bytes of an ML-DSA-65 signature.
pub const SIGNATURE_LEN: usize = 3309;
/// Context string of every member signature.
pub const SIGNATURE_CONTEXT: &[u8] = horizon_hash::domain::committee::TRANSACTION;
