//! Committees for benchmarks and constant-time checks: one member under test, its peers recorded.

use std::sync::Arc;

use horizon_hash::suite::Suite;
use horizon_pulsar::committee::message::{BatchCommit, BatchHave, BatchVoid, Header, Signed};
use horizon_pulsar::committee::{Assignment, Committee, CommitteeKey, Member, Plan, SignerShare};
use horizon_pulsar::dealer::MemberShare;
use horizon_pulsar::hazmat::deal::deal;
use horizon_pulsar::hazmat::local::{
    self, InProcess, MemoryRecords, announce_boots, committee_params, new_ledger,
};
use horizon_pulsar::signers::Quorum;
use horizon_pulsar::{GroupKey, Signature};
use horizon_testkit::SeededRng;

use crate::failed::Failed;

/// The batch that all fixtures use; it has one index.
pub const BATCH: u64 = 1;

/// A dealt committee in which everybody signs, and what the peers of member 0 sent for one batch.
#[derive(Debug)]
pub struct Fixture {
    /// The committee.
    pub committee: Committee,
    /// The group key.
    pub group_key: GroupKey,
    /// The group key prepared for members.
    pub key: Arc<CommitteeKey>,
    shares: Vec<MemberShare>,
    plan: Plan,
    voids: Vec<Signed<BatchVoid>>,
    commits: Vec<Signed<BatchCommit>>,
    /// The matrix messages of members 1, 2, ...
    pub matrices: Vec<Vec<u8>>,
}

impl Fixture {
    /// Deals `size` members, all of whom must sign, and records one batch of them.
    ///
    /// # Errors
    /// [`Failed`], which does not happen for sizes 1 to 1,024.
    pub fn new(size: u16, suite: Suite, rng: &mut SeededRng) -> Result<Self, Failed> {
        let (group_key, shares) = deal(Quorum::new(size, size)?, suite, rng)?;
        let committee = Committee::new(committee_params(&group_key, suite, size, size))?;
        let key = Arc::new(CommitteeKey::new(&group_key, suite));
        let set = committee.signing_set(&(0..size).collect::<Vec<_>>())?;
        let plan = committee.plan(BATCH, set, 1)?;
        let mut this = Self {
            committee,
            group_key,
            key,
            shares,
            plan,
            voids: Vec::new(),
            commits: Vec::new(),
            matrices: Vec::new(),
        };
        this.record(rng)?;
        Ok(this)
    }

    /// The share of a member, copied from the dealing.
    ///
    /// # Errors
    /// [`Failed`] for a position that does not exist.
    pub fn share(&self, position: u16) -> Result<SignerShare, Failed> {
        let dealt = self.shares.get(usize::from(position));
        let dealt = dealt.ok_or_else(|| Failed("no such member".to_owned()))?;
        Ok(SignerShare::from_dealt(&self.committee, dealt)?)
    }

    /// The dealt share of a member.
    #[must_use]
    pub fn dealt(&self, position: u16) -> Option<&MemberShare> {
        self.shares.get(usize::from(position))
    }

    /// Member 0 with a planned batch.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn planned(&self) -> Result<Member<MemoryRecords>, Failed> {
        self.planned_with(self.share(0)?)
    }

    /// As [`Fixture::planned`], with a share that the caller made.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn planned_with(&self, share: SignerShare) -> Result<Member<MemoryRecords>, Failed> {
        let mut member = self.start(share)?;
        for void in &self.voids {
            member.void_final(void)?;
        }
        member.plan(self.plan.clone())?;
        Ok(member)
    }

    /// Takes a reserved member 0 to the state in which matrices come in.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn commit(&self, member: &mut Member<MemoryRecords>) -> Result<(), Failed> {
        let own = member.commit(BATCH, &mut InProcess)?;
        member.commit_final(&own)?;
        self.commit_peers(member)
    }

    /// Makes the commitments of the peers final at member 0.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn commit_peers(&self, member: &mut Member<MemoryRecords>) -> Result<(), Failed> {
        for commit in &self.commits {
            member.commit_final(commit)?;
        }
        Ok(())
    }

    /// Gives a committed member 0 all matrices and has it announce that it holds them.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn gather(&self, member: &mut Member<MemoryRecords>) -> Result<[u8; 32], Failed> {
        for matrix in &self.matrices {
            member.matrix(matrix)?;
        }
        Ok(member.have(BATCH, &mut InProcess)?.body().root)
    }

    /// Makes the announcements of all members final at member 0.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn announce(
        &self,
        member: &mut Member<MemoryRecords>,
        root: [u8; 32],
    ) -> Result<(), Failed> {
        for &sender in self.plan.set.ids() {
            let header = Header {
                ctx: *self.committee.era_ctx(),
                sender,
                boot: 1,
                seq: BATCH,
            };
            member.have_final(&Signed::issue(header, BatchHave { root }, &mut InProcess)?)?;
        }
        Ok(())
    }

    /// Member 0 ready to answer.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn ready(&self, rng: &mut SeededRng) -> Result<Member<MemoryRecords>, Failed> {
        let mut member = self.planned()?;
        member.reserve(BATCH, rng)?;
        self.commit(&mut member)?;
        let root = self.gather(&mut member)?;
        self.announce(&mut member, root)?;
        Ok(member)
    }

    /// All members, ready to answer.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn all_ready(&self, rng: &mut SeededRng) -> Result<Vec<Member<MemoryRecords>>, Failed> {
        let mut members = self
            .plan
            .set
            .ids()
            .iter()
            .map(|&position| self.start(self.share(position)?))
            .collect::<Result<Vec<_>, _>>()?;
        local::run_to_ready(&mut members, &self.plan, rng)?;
        Ok(members)
    }

    /// A signature of everybody over `message`.
    ///
    /// # Errors
    /// [`Failed`], a fault of this program.
    pub fn sign(&self, message: &[u8], rng: &mut SeededRng) -> Result<Signature, Failed> {
        let mut members = self.all_ready(rng)?;
        let assignment = assignment(message);
        let (signature, _) = local::sign(&mut members, &self.key, &assignment)?;
        Ok(signature)
    }

    fn start(&self, share: SignerShare) -> Result<Member<MemoryRecords>, Failed> {
        let records = MemoryRecords::default();
        let ledger = new_ledger(&self.committee, BATCH);
        let (committee, key) = (self.committee.clone(), self.key.clone());
        Ok(Member::start(committee, key, share, records, ledger)?)
    }

    /// Runs all members up to the matrices and keeps what the peers of member 0 sent.
    fn record(&mut self, rng: &mut SeededRng) -> Result<(), Failed> {
        let mut members = self
            .plan
            .set
            .ids()
            .iter()
            .map(|&position| self.start(self.share(position)?))
            .collect::<Result<Vec<_>, _>>()?;
        for member in &members {
            self.voids.push(member.void(&mut InProcess)?);
        }
        announce_boots(&mut members)?;
        for member in &mut members {
            member.plan(self.plan.clone())?;
            member.reserve(BATCH, rng)?;
        }
        let commits: Vec<_> = members
            .iter()
            .map(|m| m.commit(BATCH, &mut InProcess))
            .collect::<Result<_, _>>()?;
        for member in &mut members {
            commits
                .iter()
                .try_for_each(|commit| member.commit_final(commit))?;
        }
        for member in members.iter().skip(1) {
            self.matrices
                .extend(member.matrices(BATCH)?.iter().cloned());
        }
        self.commits = commits.into_iter().skip(1).collect();
        Ok(())
    }
}

/// The one index of the fixtures' batch, assigned to `message`.
#[must_use]
pub const fn assignment(message: &[u8]) -> Assignment<'_> {
    Assignment {
        batch: BATCH,
        index: 0,
        attempt: 1,
        mu: message,
    }
}
