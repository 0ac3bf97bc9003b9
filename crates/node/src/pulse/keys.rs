//! The members' own signatures, as the committee mode wants them.

use std::sync::Arc;

use horizon_pulsar::committee::{
    MemberSigner, MemberVerifier, SIGNATURE_LEN, SignatureRefused, SignerUnavailable,
};
use horizon_sig::mldsa;
use horizon_sig::traits::Verifier;

use crate::service::Stream;

/// The registry keys of all members, by canonical position.
#[derive(Clone)]
pub struct MemberKeys {
    keys: Arc<[mldsa::VerifyingKey]>,
}

/// This member's registry key, and randomness to hedge its signatures.
pub(super) struct MemberKey {
    pub(super) key: Arc<mldsa::SigningKey>,
    pub(super) rng: Stream,
}

impl MemberKeys {
    /// Takes the keys of all members over.
    #[must_use]
    pub fn new(keys: &[mldsa::VerifyingKey]) -> Self {
        Self { keys: keys.into() }
    }
}

impl MemberVerifier for MemberKeys {
    fn verify(
        &self,
        member: u16,
        context: &[u8],
        message: &[u8],
        signature: &[u8; SIGNATURE_LEN],
    ) -> Result<(), SignatureRefused> {
        let key = self.keys.get(usize::from(member)).ok_or(SignatureRefused)?;
        let checked = key.verify(context, message, signature);
        checked.map(|_| ()).map_err(|_| SignatureRefused)
    }
}

impl MemberSigner for MemberKey {
    fn sign(
        &mut self,
        context: &[u8],
        message: &[u8],
    ) -> Result<[u8; SIGNATURE_LEN], SignerUnavailable> {
        let signed = self.key.sign_hedged(context, message, &mut self.rng);
        let signed = signed.map_err(|_| SignerUnavailable)?;
        signed.try_into().map_err(|_| SignerUnavailable)
    }
}

impl core::fmt::Debug for MemberKeys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MemberKeys").finish_non_exhaustive()
    }
}
