//! ML-DSA-65 votes and certificates for simplex.
//!
//! A certificate is a bitmap of signers and one signature for each. Signatures are deterministic:
//! simplex compares encoded votes, so a hedged signer would look like an equivocator to its peers
//! after a restart.
//!
//! # Source
//! FIPS 204, pure variant: the namespace of the subject is the context, its encoding the message.

use core::fmt;
use std::sync::Arc;

use bytes::BufMut;
use commonware_codec::{
    Buf, EncodeSize, Error as CodecError, FixedSize, Read, ReadRangeExt as _, Write,
    types::lazy::Lazy, util::max_items_size,
};
use commonware_consensus::simplex::{scheme::Namespace, types::Subject};
use commonware_cryptography::{
    Digest,
    certificate::{
        AssemblyError, Attestation, Membership, Namespace as _, Signers, Subject as _,
        Verification, Verifier, verify_then_assemble,
    },
    ed25519::PublicKey,
};
use commonware_parallel::Strategy;
use commonware_utils::{
    N3f1, Participant,
    iter::NonEmpty,
    ordered::{Quorum as _, Set},
};
use horizon_sig::{
    mldsa::{SigningKey, VerifyingKey},
    traits::Verifier as _,
};
use rand_core::CryptoRng;

use crate::{error::Error, roster::Roster};

/// Length of an ML-DSA-65 signature in bytes.
pub const SIGNATURE_LEN: usize = 3309;

/// The voting scheme of one network: everybody's keys, and our own signing key if we vote.
#[derive(Clone)]
pub struct Scheme {
    inner: Arc<Inner>,
}

struct Inner {
    participants: Set<PublicKey>,
    /// In the order of `participants`.
    keys: Vec<VerifyingKey>,
    namespace: Namespace,
    signer: Option<(Participant, Arc<SigningKey>)>,
}

impl Scheme {
    /// The scheme of a validator that votes.
    ///
    /// # Errors
    /// [`Error::NoSuchValidator`]; [`Error::ForeignKey`] when `key` is not the key that the roster
    /// names for `position`.
    pub fn signer(roster: &Roster, position: u16, key: Arc<SigningKey>) -> Result<Self, Error> {
        let participant = roster
            .participant(position)
            .ok_or(Error::NoSuchValidator(position))?;
        let expected = roster
            .validator(position)
            .ok_or(Error::NoSuchValidator(position))?;
        if key.verifying_key() != &expected.consensus {
            return Err(Error::ForeignKey { position });
        }
        Ok(Self::new(roster, Some((participant, key))))
    }

    /// The scheme of a reader that checks certificates and cannot vote.
    #[must_use]
    pub fn verifier(roster: &Roster) -> Self {
        Self::new(roster, None)
    }

    fn new(roster: &Roster, signer: Option<(Participant, Arc<SigningKey>)>) -> Self {
        Self::from_parts(
            roster.participants().clone(),
            roster.participant_keys(),
            &roster.namespace(),
            signer,
        )
    }

    fn from_parts(
        participants: Set<PublicKey>,
        keys: Vec<VerifyingKey>,
        namespace: &[u8],
        signer: Option<(Participant, Arc<SigningKey>)>,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                participants,
                keys,
                namespace: Namespace::derive(namespace),
                signer,
            }),
        }
    }

    fn key(&self, signer: Participant) -> Option<&VerifyingKey> {
        let index = usize::try_from(signer.get()).ok()?;
        self.inner.keys.get(index)
    }

    fn verify_one<D: Digest>(
        &self,
        subject: &Subject<'_, D>,
        signer: Participant,
        signature: &Lazy<Signature>,
    ) -> bool {
        let (Some(key), Some(signature)) = (self.key(signer), signature.get()) else {
            return false;
        };
        let context = subject.namespace(&self.inner.namespace);
        key.verify(context, &subject.message(), signature.as_ref())
            .is_ok()
    }
}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheme")
            .field("participants", &self.inner.keys.len())
            .field("votes", &self.inner.signer.is_some())
            .finish()
    }
}

impl Verifier for Scheme {
    type Subject<'a, D: Digest> = Subject<'a, D>;
    type Faults = N3f1;
    type PublicKey = PublicKey;
    type Certificate = Certificate;

    fn verify_certificate<R, D>(
        &self,
        _: &mut R,
        subject: Self::Subject<'_, D>,
        certificate: &Certificate,
        _: &impl Strategy,
    ) -> bool
    where
        R: CryptoRng,
        D: Digest,
    {
        let signers = &certificate.signers;
        let count = signers.count();
        let quorum = self.inner.participants.quorum::<N3f1>();
        if signers.len() != self.inner.participants.len()
            || count != certificate.signatures.len()
            || u32::try_from(count).is_ok_and(|count| count < quorum)
        {
            return false;
        }
        signers
            .iter()
            .zip(&certificate.signatures)
            .all(|(signer, signature)| self.verify_one(&subject, signer, signature))
    }

    fn is_batchable() -> bool {
        false
    }

    fn max_certificate_size(participants: u32) -> usize {
        let participants = usize::try_from(participants).unwrap_or(usize::MAX);
        u64::SIZE
            .saturating_add(participants.div_ceil(8))
            .saturating_add(max_items_size(participants, SIGNATURE_LEN))
    }

    fn certificate_codec_config(&self) -> usize {
        self.inner.participants.len()
    }

    fn certificate_codec_config_unbounded() -> usize {
        // Only for bytes that this node wrote itself.
        usize::try_from(u32::MAX).unwrap_or(usize::MAX)
    }
}

impl commonware_cryptography::certificate::Scheme for Scheme {
    type Signature = Signature;

    fn me(&self) -> Option<Membership> {
        self.inner
            .signer
            .as_ref()
            .map(|(participant, _)| Membership::Signer(*participant))
    }

    fn participants(&self) -> &Set<PublicKey> {
        &self.inner.participants
    }

    fn sign<D: Digest>(&self, subject: Subject<'_, D>) -> Option<Attestation<Self>> {
        let (participant, key) = self.inner.signer.as_ref()?;
        let context = subject.namespace(&self.inner.namespace);
        let bytes = key.sign_deterministic(context, &subject.message()).ok()?;
        Some(Attestation {
            signer: *participant,
            signature: Signature::from_slice(&bytes)?.into(),
        })
    }

    fn verify_attestation<R, D>(
        &self,
        _: &mut R,
        subject: Subject<'_, D>,
        attestation: &Attestation<Self>,
        _: &impl Strategy,
    ) -> bool
    where
        R: CryptoRng,
        D: Digest,
    {
        self.verify_one(&subject, attestation.signer, &attestation.signature)
    }

    fn optimistic_assemble<'a, R, D, I, J>(
        &self,
        rng: &mut R,
        subject: Subject<'_, D>,
        pending: I,
        verified: J,
        strategy: &impl Strategy,
    ) -> Result<Certificate, Verification<Self>>
    where
        R: CryptoRng,
        D: Digest,
        I: IntoIterator<Item = Attestation<Self>>,
        I::IntoIter: ExactSizeIterator + Send,
        J: IntoIterator<Item = &'a Attestation<Self>>,
        J::IntoIter: Send,
    {
        verify_then_assemble::<_, _, D, _, _>(self, rng, subject, pending, verified, strategy)
    }

    fn assemble<I>(
        &self,
        attestations: NonEmpty<I>,
        _: &impl Strategy,
    ) -> Result<Certificate, AssemblyError>
    where
        I: Iterator<Item = Attestation<Self>> + Send,
    {
        let mut entries = Vec::new();
        for Attestation { signer, signature } in attestations {
            if self.key(signer).is_none() {
                return Err(AssemblyError::UnknownSigner(signer));
            }
            if signature.get().is_none() {
                return Err(AssemblyError::MalformedSignature(signer));
            }
            entries.push((signer, signature));
        }
        entries.sort_by_key(|(signer, _)| *signer);
        let signers = Signers::try_from((
            &self.inner.participants,
            entries.iter().map(|(signer, _)| *signer),
        ))?;
        let required = self.inner.participants.quorum::<N3f1>();
        let found = u32::try_from(signers.count()).unwrap_or(u32::MAX);
        if found < required {
            return Err(AssemblyError::InsufficientAttestations(required, found));
        }
        Ok(Certificate {
            signers,
            signatures: entries
                .into_iter()
                .map(|(_, signature)| signature)
                .collect(),
        })
    }

    fn is_attributable() -> bool {
        true
    }
}

/// One ML-DSA-65 signature. On the heap: it is moved through many queues.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Signature(Box<[u8; SIGNATURE_LEN]>);

impl Signature {
    fn from_slice(bytes: &[u8]) -> Option<Self> {
        let boxed: Box<[u8]> = bytes.into();
        boxed.try_into().ok().map(Self)
    }
}

impl AsRef<[u8]> for Signature {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signature(ML-DSA-65)")
    }
}

impl FixedSize for Signature {
    const SIZE: usize = SIGNATURE_LEN;
}

impl Write for Signature {
    fn write(&self, writer: &mut impl BufMut) {
        writer.put_slice(self.0.as_slice());
    }
}

impl Read for Signature {
    type Cfg = ();

    fn read_cfg(reader: &mut impl Buf, (): &()) -> Result<Self, CodecError> {
        if reader.remaining() < SIGNATURE_LEN {
            return Err(CodecError::EndOfBuffer);
        }
        let mut bytes = Box::new([0; SIGNATURE_LEN]);
        reader.copy_to_slice(bytes.as_mut_slice());
        Ok(Self(bytes))
    }
}

/// A quorum of votes for one subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Certificate {
    signers: Signers,
    /// In the order of the set bits of `signers`.
    signatures: Vec<Lazy<Signature>>,
}

impl Write for Certificate {
    fn write(&self, writer: &mut impl BufMut) {
        self.signers.write(writer);
        self.signatures.write(writer);
    }
}

impl EncodeSize for Certificate {
    fn encode_size(&self) -> usize {
        self.signers
            .encode_size()
            .saturating_add(self.signatures.encode_size())
    }
}

impl Read for Certificate {
    /// Number of participants: bounds the bitmap and the list.
    type Cfg = usize;

    fn read_cfg(reader: &mut impl Buf, participants: &usize) -> Result<Self, CodecError> {
        const NAME: &str = "horizon_consensus::scheme::Certificate";
        let signers = Signers::read_cfg(reader, participants)?;
        if signers.count() == 0 {
            return Err(CodecError::Invalid(NAME, "no signer"));
        }
        let signatures = Vec::<Lazy<Signature>>::read_range(reader, ..=*participants)?;
        if signers.count() != signatures.len() {
            return Err(CodecError::Invalid(NAME, "signers and signatures differ"));
        }
        Ok(Self {
            signers,
            signatures,
        })
    }
}

#[cfg(test)]
mod tests;
