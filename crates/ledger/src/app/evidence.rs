//! Signatures and lanes, each verified once: positive results are remembered, in bounded memory.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use horizon_pulsar::committee::message::Transaction as PulseTransaction;
use horizon_pulsar::committee::{self, MemberVerifier, PeerFault, SIGNATURE_LEN, SignatureRefused};
use horizon_sig::mldsa;
use horizon_sig::traits::Verifier;
use horizon_warp::error::{Error as WarpError, Reason};
use horizon_warp::prism::{Context, verify};

use super::deliver::Incoming;
use super::*;
use crate::tx::{SUBMIT_CONTEXT, Submit};

impl App {
    /// Decodes a transaction of the signing committee and checks its signatures.
    pub(super) fn pulse_transaction(&self, bytes: &[u8]) -> Result<LedgerTx, Refusal> {
        let committee = self.genesis.committee();
        let decoded = PulseTransaction::decode(bytes, committee).map_err(Refusal::Pulse)?;
        let verifier = Members(self);
        Ok(match decoded {
            PulseTransaction::BatchCommit(tx) => {
                LedgerTx::BatchCommit(tx.verify(&verifier).map_err(Refusal::Pulse)?)
            }
            PulseTransaction::BatchHave(tx) => {
                LedgerTx::BatchHave(tx.verify(&verifier).map_err(Refusal::Pulse)?)
            }
            PulseTransaction::BatchVoid(tx) => {
                LedgerTx::BatchVoid(tx.verify(&verifier).map_err(Refusal::Pulse)?)
            }
            PulseTransaction::PartialPost(tx) => {
                LedgerTx::PartialPost(tx.verify(&verifier).map_err(Refusal::Pulse)?)
            }
            PulseTransaction::PulseCert(tx) => {
                LedgerTx::PulseCert(tx.verify(&verifier).map_err(Refusal::Pulse)?)
            }
            PulseTransaction::Partial(_) => return Err(Refusal::Malformed { field: "kind" }),
        })
    }

    pub(super) fn check_pulse(&self, bytes: &[u8]) -> Result<Detail, Refusal> {
        let transaction = self.pulse_transaction(bytes)?;
        let (kind, header, subject) = match &transaction {
            LedgerTx::BatchCommit(tx) => (PulseKind::BatchCommit, tx.header(), None),
            LedgerTx::BatchHave(tx) => (PulseKind::BatchHave, tx.header(), None),
            LedgerTx::BatchVoid(tx) => (PulseKind::BatchVoid, tx.header(), None),
            LedgerTx::PartialPost(tx) => (PulseKind::PartialPost, tx.header(), None),
            LedgerTx::PulseCert(tx) => (PulseKind::PulseCert, tx.header(), Some(tx.body().subject)),
        };
        Ok(Detail::Pulse {
            kind,
            sender: header.sender,
            boot: header.boot,
            batch: header.seq,
            subject,
        })
    }

    /// Checks an account's signature, or remembers that it was good. `digest` is the transaction's:
    /// the signature is part of what it names.
    pub(super) fn check_signature(
        &self,
        submit: &Submit<'_>,
        digest: &[u8; 32],
    ) -> Result<(), Refusal> {
        if self.memo.holds(digest) {
            return Ok(());
        }
        let set = mldsa::ParameterSet::MlDsa65;
        let key =
            mldsa::VerifyingKey::from_bytes(set, submit.key).map_err(|_| Refusal::Signature)?;
        let message = submit
            .call
            .signing_bytes(self.genesis.network_id(), self.genesis.chain_id());
        let _verified = key
            .verify(SUBMIT_CONTEXT, &message, submit.signature)
            .map_err(|_| Refusal::Signature)?;
        self.memo.remember(digest);
        Ok(())
    }

    /// Has Prism accept the envelope under the pinned policy, or remembers that it did. `digest` is
    /// the transaction's; `time_s` the block's time, without which the age of the record is not
    /// looked at.
    pub(super) fn prove(
        &self,
        incoming: &Incoming<'_>,
        digest: &[u8; 32],
        time_s: Option<u64>,
    ) -> Result<(), Refusal> {
        let registry = self.genesis.registry();
        let unsigned = incoming.envelope.message().unsigned();
        let (network, chain) = (unsigned.network_id(), unsigned.source_chain_id());
        if self.memo.holds(digest) {
            // Registry and policy never change in an application; time does.
            let policy = self
                .genesis
                .policy()
                .source(network, chain)
                .map_err(refused)?;
            let newest = self.genesis.registry().chain(network, chain);
            let generation = incoming.envelope.lineage().generation;
            let era = incoming.envelope.lineage().key_era;
            let issued_at_s = newest
                .map(horizon_warp::registry::Entry::record)
                .find(|record| (record.key.key_era, record.key.generation) == (era, generation))
                .map(|record| record.issued_at_s)
                .ok_or_else(|| refused(rejected(Reason::RecordUnknown)))?;
            let age_s = time_s.map_or(0, |time_s| time_s.saturating_sub(issued_at_s));
            return if age_s > policy.config().max_age_s {
                Err(refused(rejected(Reason::RecordTooOld)))
            } else {
                Ok(())
            };
        }
        // The height of the source is not known here: at least that from which its newest record
        // counts.
        let newest = registry.chain(network, chain).next_back();
        let record = newest.map(horizon_warp::registry::Entry::record);
        let source_height = record.map_or(0, |record| record.valid_from);
        let time_s = time_s.unwrap_or_else(|| record.map_or(0, |record| record.issued_at_s));
        let context = Context {
            cache: Some(&self.cache),
            ..Context::new(network, source_height, time_s)
        };
        let _witness = verify(
            &incoming.envelope,
            registry,
            self.genesis.policy(),
            &context,
        )
        .map_err(Refusal::Prism)?;
        self.memo.remember(digest);
        Ok(())
    }
}

/// Whether the signing ledger could take a transaction now or later. The ledger itself decides.
pub(super) fn screen_pulse(
    ledger: &Ledger,
    kind: PulseKind,
    sender: u16,
    boot: u32,
    batch: u64,
    subject: Option<&[u8; 32]>,
) -> Result<(), Refusal> {
    let current = ledger
        .boots()
        .get(usize::from(sender))
        .copied()
        .unwrap_or(0);
    let is_old = if kind == PulseKind::BatchVoid {
        boot <= current
    } else {
        boot < current
    };
    let refused = |fault| {
        Err(Refusal::Pulse(committee::Error::Peer {
            member: sender,
            fault,
        }))
    };
    if is_old {
        return refused(PeerFault::WrongBoot);
    }
    let unknown = |misuse| Err(Refusal::Pulse(committee::Error::Misuse(misuse)));
    match kind {
        PulseKind::BatchCommit | PulseKind::BatchHave => match ledger.batch(batch) {
            Some(gather) if kind == PulseKind::BatchCommit && gather.has_committed(sender) => {
                refused(PeerFault::Twice)
            }
            Some(_) => Ok(()),
            None if batch < ledger.next_batch() => refused(PeerFault::WrongSlot),
            None => unknown(committee::Misuse::UnknownBatch),
        },
        PulseKind::PulseCert => match subject.and_then(|id| ledger.open_subject(id)) {
            Some(_) => Ok(()),
            None => unknown(committee::Misuse::UnknownSubject),
        },
        _ => Ok(()),
    }
}

/// Verifies members by their registry keys.
struct Members<'a>(&'a App);

impl MemberVerifier for Members<'_> {
    fn verify(
        &self,
        member: u16,
        context: &[u8],
        message: &[u8],
        signature: &[u8; SIGNATURE_LEN],
    ) -> Result<(), SignatureRefused> {
        let App { genesis, cache, .. } = self.0;
        let key = genesis.member_keys().get(usize::from(member));
        let key = key.ok_or(SignatureRefused)?;
        let _verified = cache
            .verify(genesis.hash(), key, context, message, signature)
            .map_err(|_| SignatureRefused)?;
        Ok(())
    }
}

/// Digests of transactions whose signature is good or whose envelope Prism accepted. When it is full,
/// the older half goes.
#[derive(Debug, Default)]
pub(super) struct Memo(Mutex<Halves>);

#[derive(Debug, Default)]
struct Halves {
    young: HashSet<[u8; 32]>,
    old: HashSet<[u8; 32]>,
}

impl Memo {
    fn holds(&self, digest: &[u8; 32]) -> bool {
        let halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        halves.young.contains(digest) || halves.old.contains(digest)
    }

    fn remember(&self, digest: &[u8; 32]) {
        let mut halves = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if halves.young.len() >= MEMO_HALF_MAX {
            halves.old = core::mem::take(&mut halves.young);
        }
        halves.young.insert(*digest);
    }
}

fn refused(error: WarpError) -> Refusal {
    Refusal::Prism(error.into())
}

const fn rejected(reason: Reason) -> WarpError {
    WarpError::Rejected {
        reason,
        lane: None,
        index: None,
    }
}

/// Most digests in one half of the memo; 32 bytes each.
const MEMO_HALF_MAX: usize = 4_096;
