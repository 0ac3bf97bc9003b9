//! A committee in one process: a test dealer, stand-in signatures, records in memory, a perfect ledger.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::sync::Arc;
use core::cell::RefCell;

use horizon_hash::sponge::shake256;
use horizon_hash::suite::Suite;
use horizon_pulsar::committee::message::{Body, Signed, Unverified};
use horizon_pulsar::committee::{
    Answer, Assignment, Combiner, Committee, CommitteeKey, CommitteeParams, Error, LedgerView,
    Member, MemberSigner, MemberVerifier, Plan, RecordsUnavailable, SIGNATURE_LEN, SessionRecords,
    SignatureRefused, SignerShare, SignerUnavailable,
};
use horizon_pulsar::secret::SecretPolys;
use horizon_pulsar::verify::PulseVerified;
use horizon_pulsar::{GroupKey, Signature};
use horizon_ring::{NttPoly, Poly, modulus, ntt, sample};
use horizon_testkit::SeededRng;

/// A dealt committee.
pub(crate) struct Net {
    pub(crate) committee: Committee,
    pub(crate) key: Arc<CommitteeKey>,
    rows: Vec<Vec<Vec<Poly>>>,
    seeds: Vec<Vec<[u8; 32]>>,
}

impl Net {
    pub(crate) fn deal(n: u16, t: u16, rng: &mut SeededRng) -> Self {
        Self::deal_points(n, t, (1..=n).map(|x| vec![x]).collect(), rng)
    }

    pub(crate) fn deal_points(n: u16, t: u16, points: Vec<Vec<u16>>, rng: &mut SeededRng) -> Self {
        let a: Vec<NttPoly> = (0..56).map(|_| uniform(rng)).collect();
        let secret: Vec<Poly> = (0..7).map(|_| small(rng)).collect();
        let group = group_key(&a, &secret, rng);
        // Row of point x: the polynomial with constant term s and uniform higher terms.
        let higher: Vec<Vec<NttPoly>> = (1..t)
            .map(|_| (0..7).map(|_| uniform(rng)).collect())
            .collect();
        let row = |x: u16| -> Vec<Poly> {
            (0..7)
                .map(|p| {
                    let words = core::array::from_fn(|k| {
                        let top = higher.iter().rev().fold(0, |sum, poly| {
                            let term = modulus::add(sum, poly[p].as_array()[k]);
                            modulus::mul(term, u64::from(x))
                        });
                        modulus::add(top, secret[p].as_array()[k])
                    });
                    Poly::from_array(words).expect("canonical")
                })
                .collect()
        };
        let rows = points
            .iter()
            .map(|own| own.iter().map(|x| row(*x)).collect())
            .collect();
        let fresh: Vec<[u8; 32]> = (0..u32::from(n) * u32::from(n))
            .map(|_| rng.bytes())
            .collect();
        let pair =
            |i: u16, j: u16| fresh[usize::from(i.min(j)) * usize::from(n) + usize::from(i.max(j))];
        let seeds = (0..n)
            .map(|i| (0..n).map(|j| pair(i, j)).collect())
            .collect();
        let suite = Suite::PulsarSha3;
        let params = CommitteeParams {
            group_key_hash: group.hash(suite),
            ..params(n, t)
        };
        let committee = Committee::with_points(params, points).expect("committee");
        let key = Arc::new(CommitteeKey::new(&group, suite));
        Self {
            committee,
            key,
            rows,
            seeds,
        }
    }

    pub(crate) fn share(&self, member: u16) -> SignerShare {
        let i = usize::from(member);
        let rows = self.rows[i]
            .iter()
            .map(|row| SecretPolys::new(row.clone()))
            .collect();
        SignerShare::new(&self.committee, member, rows, self.seeds[i].clone()).expect("share")
    }

    pub(crate) fn start(&self, member: u16) -> Member<Records> {
        let boots = vec![0; usize::from(self.committee.n())];
        self.restart(
            member,
            Records::default(),
            LedgerView {
                boots,
                first_batch: 0,
            },
        )
    }

    pub(crate) fn restart(
        &self,
        member: u16,
        records: Records,
        ledger: LedgerView,
    ) -> Member<Records> {
        let share = self.share(member);
        let (committee, key) = (self.committee.clone(), self.key.clone());
        Member::start(committee, key, share, records, ledger).expect("start")
    }

    pub(crate) fn plan(&self, batch: u64, ids: &[u16], count: u16) -> Plan {
        let set = self.committee.signing_set(ids).expect("signing set");
        self.committee.plan(batch, set, count).expect("plan")
    }

    /// Starts the members of `ids` and announces their boots to each other.
    pub(crate) fn members(&self, ids: &[u16]) -> Vec<Member<Records>> {
        let mut members: Vec<_> = ids.iter().map(|id| self.start(*id)).collect();
        introduce(&mut members);
        members
    }
}

/// The BatchVoids that announce the members' boots become final.
pub(crate) fn introduce(members: &mut [Member<Records>]) {
    let own = |m: &Member<Records>| m.void(&mut Signer(m.position())).expect("void");
    let voids: Vec<_> = members.iter().map(own).collect();
    for member in members {
        voids
            .iter()
            .for_each(|void| member.void_final(void).expect("void is final"));
    }
}

pub(crate) fn params(n: u16, t: u16) -> CommitteeParams {
    CommitteeParams {
        chain_id: [1; 32],
        network_id: 1,
        group_id: 0,
        suite: Suite::PulsarSha3,
        group_key_hash: [2; 32],
        era: 7,
        generation: 3,
        set_hash: [3; 32],
        n,
        t,
    }
}

/// Plan to Committed for one batch.
pub(crate) fn run_to_committed(members: &mut [Member<Records>], plan: &Plan, rng: &mut SeededRng) {
    let batch = plan.batch;
    for member in members.iter_mut() {
        member.plan(plan.clone()).expect("plan");
        member.reserve(batch, rng).expect("reserve");
    }
    let commits: Vec<_> = members
        .iter()
        .map(|m| {
            through(
                m.commit(batch, &mut Signer(m.position())).expect("commit"),
                m,
            )
        })
        .collect();
    for member in members.iter_mut() {
        commits
            .iter()
            .for_each(|commit| member.commit_final(commit).expect("commit is final"));
    }
}

/// Plan to Ready for one batch: every message goes through its bytes.
pub(crate) fn run_to_ready(members: &mut [Member<Records>], plan: &Plan, rng: &mut SeededRng) {
    run_to_committed(members, plan, rng);
    let batch = plan.batch;
    for sender in 0..members.len() {
        let matrices = members[sender].matrices(batch).expect("revealed").to_vec();
        for (at, receiver) in members
            .iter_mut()
            .enumerate()
            .filter(|(at, _)| *at != sender)
        {
            let _ = at;
            for matrix in &matrices {
                receiver.matrix(matrix).expect("matrix");
            }
        }
    }
    announce(members, batch);
}

/// All BatchHaves become final.
pub(crate) fn announce(members: &mut [Member<Records>], batch: u64) {
    let mut haves = Vec::new();
    for member in members.iter_mut() {
        let position = member.position();
        let have = member.have(batch, &mut Signer(position)).expect("have");
        haves.push(through(have, member));
    }
    for member in members.iter_mut() {
        haves
            .iter()
            .for_each(|have| member.have_final(have).expect("have is final"));
    }
}

/// Encodes, decodes and verifies a transaction, as a receiver does.
pub(crate) fn through<B: Body>(tx: Signed<B>, receiver: &Member<Records>) -> Signed<B> {
    receive(tx.bytes(), receiver.committee()).expect("own transactions are valid")
}

pub(crate) fn receive<B: Body>(bytes: &[u8], committee: &Committee) -> Result<Signed<B>, Error> {
    Unverified::decode(bytes, committee)?.verify(&Verifier)
}

/// All members answer; the first one combines.
pub(crate) fn sign(
    members: &mut [Member<Records>],
    assignment: &Assignment<'_>,
) -> Result<(Signature, PulseVerified), Error> {
    let mut partials = Vec::new();
    for member in members.iter_mut() {
        let position = member.position();
        partials.push(member.answer(assignment, &mut Signer(position))?);
    }
    combine(&members[0], assignment, &partials)
}

pub(crate) fn combine(
    member: &Member<Records>,
    assignment: &Assignment<'_>,
    partials: &[Vec<u8>],
) -> Result<(Signature, PulseVerified), Error> {
    let session = member
        .session(assignment.batch, assignment.index)
        .expect("session");
    let mut combiner = Combiner::new(member.committee(), session);
    for partial in partials {
        combiner.add(&receive(partial, member.committee())?)?;
    }
    combiner.finish(member.key().prepared(), assignment.mu)
}

/// A stand-in for the members' ML-DSA keys.
pub(crate) struct Signer(pub(crate) u16);

impl MemberSigner for Signer {
    fn sign(
        &mut self,
        context: &[u8],
        message: &[u8],
    ) -> Result<[u8; SIGNATURE_LEN], SignerUnavailable> {
        Ok(stand_in(self.0, context, message))
    }
}

/// A signer that is out of order.
pub(crate) struct NoSigner;

impl MemberSigner for NoSigner {
    fn sign(&mut self, _: &[u8], _: &[u8]) -> Result<[u8; SIGNATURE_LEN], SignerUnavailable> {
        Err(SignerUnavailable)
    }
}

pub(crate) struct Verifier;

impl MemberVerifier for Verifier {
    fn verify(
        &self,
        member: u16,
        context: &[u8],
        message: &[u8],
        signature: &[u8; SIGNATURE_LEN],
    ) -> Result<(), SignatureRefused> {
        if stand_in(member, context, message) == *signature {
            Ok(())
        } else {
            Err(SignatureRefused)
        }
    }
}

fn stand_in(member: u16, context: &[u8], message: &[u8]) -> [u8; SIGNATURE_LEN] {
    let mut out = [0; SIGNATURE_LEN];
    shake256(&[&member.to_be_bytes(), context, message], &mut out);
    out
}

/// A record in memory. Clones share it, as two processes would share a disk.
#[derive(Clone, Default)]
pub(crate) struct Records(Rc<RefCell<Store>>);

#[derive(Clone, Default)]
pub(crate) struct Store {
    pub(crate) boot: Option<u32>,
    pub(crate) reserved: Vec<(u32, u64)>,
    pub(crate) answers: BTreeMap<(u64, u16), Answer>,
    pub(crate) broken: bool,
}

impl Records {
    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Store) -> T) -> T {
        f(&mut self.0.borrow_mut())
    }

    /// A copy of its own, as a backup would be.
    pub(crate) fn backup(&self) -> Self {
        Self(Rc::new(RefCell::new(self.0.borrow().clone())))
    }

    fn available(&self) -> Result<(), RecordsUnavailable> {
        if self.0.borrow().broken {
            Err(RecordsUnavailable)
        } else {
            Ok(())
        }
    }
}

impl SessionRecords for Records {
    fn boot(&self, _: &[u8; 32]) -> Result<Option<u32>, RecordsUnavailable> {
        self.available()?;
        Ok(self.0.borrow().boot)
    }

    fn reserve(&mut self, _: &[u8; 32], boot: u32, batch: u64) -> Result<(), RecordsUnavailable> {
        self.available()?;
        self.with(|store| {
            store.boot = store.boot.max(Some(boot));
            store.reserved.push((boot, batch));
        });
        Ok(())
    }

    fn answer(
        &self,
        _: &[u8; 32],
        batch: u64,
        index: u16,
    ) -> Result<Option<Answer>, RecordsUnavailable> {
        self.available()?;
        Ok(self.0.borrow().answers.get(&(batch, index)).cloned())
    }

    fn record_answer(
        &mut self,
        _: &[u8; 32],
        batch: u64,
        index: u16,
        answer: &Answer,
    ) -> Result<(), RecordsUnavailable> {
        self.available()?;
        let old = self.with(|store| store.answers.insert((batch, index), answer.clone()));
        if old.is_some() {
            Err(RecordsUnavailable)
        } else {
            Ok(())
        }
    }
}

pub(crate) fn uniform(rng: &mut SeededRng) -> NttPoly {
    NttPoly::from_array(core::array::from_fn(|_| rng.below(modulus::Q))).expect("canonical")
}

pub(crate) fn small(rng: &mut SeededRng) -> Poly {
    let mut poly = sample::small(&rng.bytes());
    poly.canonicalize();
    poly
}

/// `(A, b)` with `b = A s + e` rounded; `a` is taken as the encoded form, slots times 2^64.
fn group_key(a: &[NttPoly], secret: &[Poly], rng: &mut SeededRng) -> GroupKey {
    let slots: Vec<NttPoly> = secret.iter().map(ntt::forward).collect();
    let b: Vec<Poly> = a
        .chunks(7)
        .map(|row| {
            let sum = core::array::from_fn(|k| {
                row.iter().zip(&slots).fold(0, |sum, (a, s)| {
                    modulus::add(sum, modulus::mul(a.as_array()[k], s.as_array()[k]))
                })
            });
            // A carries 2^64, so the product does.
            let mut b = ntt::inverse_montgomery(&NttPoly::from_array(sum).expect("canonical"));
            b.add_assign(&small(rng));
            let rounded = b.as_array().map(|v| (v + (1 << 29)) >> 30);
            Poly::from_array(rounded).expect("small")
        })
        .collect();
    GroupKey::new(a, &b).expect("group key")
}
