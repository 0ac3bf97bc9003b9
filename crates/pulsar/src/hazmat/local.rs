//! A signing committee inside one process: all members, a perfect ledger, no network.
//!
//! For demonstrations, benchmarks and constant-time checks. Whoever runs it holds the shares of all
//! its members at once, so it gives none of the protection that a threshold of parties gives.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use horizon_hash::suite::Suite;
use rand_core::CryptoRng;

use crate::committee::{
    Answer, Assignment, Combiner, Committee, CommitteeKey, CommitteeParams, Error, LedgerView,
    Member, MemberSigner, MemberVerifier, Plan, RecordsUnavailable, SIGNATURE_LEN, SessionRecords,
    SignatureRefused, SignerUnavailable,
    message::{Body, Partial, Signed, Unverified},
};
use crate::{GroupKey, PulseVerified, Signature};

/// Parameters of a committee that lives in one process: one group on no chain.
#[must_use]
pub fn committee_params(group_key: &GroupKey, suite: Suite, n: u16, t: u16) -> CommitteeParams {
    committee_params_for(group_key.hash(suite), suite, n, t)
}

/// As [`committee_params`], for a group key known by its hash.
#[must_use]
pub const fn committee_params_for(
    group_key_hash: [u8; 32],
    suite: Suite,
    n: u16,
    t: u16,
) -> CommitteeParams {
    CommitteeParams {
        chain_id: [0; 32],
        network_id: 0,
        group_id: 0,
        suite,
        group_key_hash,
        era: 0,
        generation: 0,
        set_hash: [0; 32],
        n,
        t,
    }
}

/// What a ledger says that has seen no boot of any member and opened no batch before this one.
#[must_use]
pub fn new_ledger(committee: &Committee, first_batch: u64) -> LedgerView {
    LedgerView {
        boots: vec![0; usize::from(committee.n())],
        first_batch,
    }
}

/// Takes a batch from its plan to the point where indices can be assigned, at every member.
///
/// # Errors
/// The first [`Error`] of a member.
pub fn run_to_ready<R: SessionRecords>(
    members: &mut [Member<R>],
    plan: &Plan,
    rng: &mut impl CryptoRng,
) -> Result<(), Error> {
    let batch = plan.batch;
    announce_boots(members)?;
    for member in members.iter_mut() {
        member.plan(plan.clone())?;
        member.reserve(batch, rng)?;
    }
    let commits: Vec<_> = members
        .iter()
        .map(|m| m.commit(batch, &mut InProcess))
        .collect::<Result<_, _>>()?;
    for member in members.iter_mut() {
        commits
            .iter()
            .try_for_each(|commit| member.commit_final(commit))?;
    }
    for sender in 0..members.len() {
        let sending = members.get(sender).ok_or(Error::Internal)?;
        let matrices = sending.matrices(batch)?.to_vec();
        let others = members
            .iter_mut()
            .enumerate()
            .filter(|(index, _)| *index != sender);
        for (_, receiver) in others {
            for matrix in &matrices {
                receiver.matrix(matrix)?;
            }
        }
    }
    let haves: Vec<_> = members
        .iter_mut()
        .map(|m| m.have(batch, &mut InProcess))
        .collect::<Result<_, _>>()?;
    for member in members.iter_mut() {
        haves.iter().try_for_each(|have| member.have_final(have))?;
    }
    Ok(())
}

/// Makes the boot of every member known to all.
///
/// # Errors
/// The first [`Error`] of a member.
pub fn announce_boots<R: SessionRecords>(members: &mut [Member<R>]) -> Result<(), Error> {
    let voids: Vec<_> = members
        .iter()
        .map(|m| m.void(&mut InProcess))
        .collect::<Result<_, _>>()?;
    for member in members.iter_mut() {
        voids.iter().try_for_each(|void| member.void_final(void))?;
    }
    Ok(())
}

/// Has every member answer an assigned index, and combines at the first one.
///
/// # Errors
/// The first [`Error`] of a member, or that of the combination.
pub fn sign<R: SessionRecords>(
    members: &mut [Member<R>],
    key: &Arc<CommitteeKey>,
    assignment: &Assignment<'_>,
) -> Result<(Signature, PulseVerified), Error> {
    let partials: Vec<Vec<u8>> = members
        .iter_mut()
        .map(|m| m.answer(assignment, &mut InProcess))
        .collect::<Result<_, _>>()?;
    let first = members.first().ok_or(Error::Internal)?;
    combine(first, key, assignment, &partials)
}

/// Adds up the partials of an index and verifies the result.
///
/// # Errors
/// Those of decoding and of [`Combiner`].
pub fn combine<R: SessionRecords>(
    member: &Member<R>,
    key: &Arc<CommitteeKey>,
    assignment: &Assignment<'_>,
    partials: &[Vec<u8>],
) -> Result<(Signature, PulseVerified), Error> {
    let session = member
        .session(assignment.batch, assignment.index)
        .ok_or(Error::Internal)?;
    let mut combiner = Combiner::new(member.committee(), session);
    for bytes in partials {
        combiner.add(&receive::<Partial>(bytes, member.committee())?)?;
    }
    combiner.finish(key.prepared(), assignment.mu)
}

/// Decodes a transaction of this process.
///
/// # Errors
/// Those of decoding.
pub fn receive<B: Body>(bytes: &[u8], committee: &Committee) -> Result<Signed<B>, Error> {
    Unverified::decode(bytes, committee)?.verify(&InProcess)
}

/// Stands in for the members' own signatures: inside one process there is no sender to prove.
#[derive(Clone, Copy, Debug)]
pub struct InProcess;

impl MemberSigner for InProcess {
    fn sign(&mut self, _: &[u8], _: &[u8]) -> Result<[u8; SIGNATURE_LEN], SignerUnavailable> {
        Ok([0; SIGNATURE_LEN])
    }
}

impl MemberVerifier for InProcess {
    fn verify(
        &self,
        _: u16,
        _: &[u8],
        _: &[u8],
        signature: &[u8; SIGNATURE_LEN],
    ) -> Result<(), SignatureRefused> {
        if signature.iter().all(|byte| *byte == 0) {
            Ok(())
        } else {
            Err(SignatureRefused)
        }
    }
}

/// A record in memory: for keys that do not outlive the process.
#[derive(Debug, Default)]
pub struct MemoryRecords {
    boot: Option<u32>,
    answers: Vec<(u64, u16, Answer)>,
}

impl SessionRecords for MemoryRecords {
    fn boot(&self, _: &[u8; 32]) -> Result<Option<u32>, RecordsUnavailable> {
        Ok(self.boot)
    }

    fn reserve(&mut self, _: &[u8; 32], boot: u32, _: u64) -> Result<(), RecordsUnavailable> {
        self.boot = self.boot.max(Some(boot));
        Ok(())
    }

    fn answer(
        &self,
        _: &[u8; 32],
        batch: u64,
        index: u16,
    ) -> Result<Option<Answer>, RecordsUnavailable> {
        let found = self
            .answers
            .iter()
            .find(|(b, i, _)| (*b, *i) == (batch, index));
        Ok(found.map(|(_, _, answer)| answer.clone()))
    }

    fn record_answer(
        &mut self,
        era_ctx: &[u8; 32],
        batch: u64,
        index: u16,
        answer: &Answer,
    ) -> Result<(), RecordsUnavailable> {
        if self.answer(era_ctx, batch, index)?.is_some() {
            return Err(RecordsUnavailable);
        }
        self.answers.push((batch, index, answer.clone()));
        Ok(())
    }
}
