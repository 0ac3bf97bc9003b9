//! What one member of a Lens committee computes to sign, and what the coordinator does.

#![allow(missing_docs, reason = "macro-made entry points")]

use core::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use horizon_bench::CpuTime;
use horizon_lens::ed25519::Ed25519;
use horizon_lens::ristretto255::Ristretto255;
use horizon_lens::secp256k1::Secp256k1;
use horizon_lens::{
    Approval, Commitments, Committee, Identifier, MemoryLedger, SessionId, SignatureShare, Signer,
    SigningPackage, Suite, aggregate, dealer, verify,
};
use horizon_testkit::SeededRng;

/// Threshold and members of the committees.
const COMMITTEES: [(u16, u16); 2] = [(3, 5), (14, 21)];
const SESSION: SessionId = SessionId([9; 32]);
const MESSAGE: &[u8] = &[0x5a; 64];

fn suite<S: Suite>(c: &mut Criterion<CpuTime>, name: &str) {
    for (t, n) in COMMITTEES {
        let mut rng = SeededRng::new(20);
        let signers = deal::<S>(t, n, &mut rng);
        let signers = &signers[..usize::from(t)];
        let first = &signers[0];
        let parameters = format!("{name},t={t}");
        let mut seed = 100;
        c.bench_function(&format!("lens/round1/{parameters}"), |b| {
            b.iter_batched_ref(
                || {
                    seed += 1;
                    (MemoryLedger::new(4), SeededRng::new(seed))
                },
                |(ledger, rng)| first.commit(SESSION, ledger, rng).expect("fresh"),
                BatchSize::SmallInput,
            );
        });
        let mut rng = SeededRng::new(21);
        let session = Session::new(signers, &mut rng);
        c.bench_function(&format!("lens/round2/{parameters}"), |b| {
            b.iter_batched(
                || {
                    let mut ledger = MemoryLedger::new(4);
                    let (nonces, own) =
                        first.commit(SESSION, &mut ledger, &mut rng).expect("fresh");
                    let mut commitments = session.commitments.clone();
                    commitments[0] = own;
                    (nonces, package(first, &commitments), ledger)
                },
                |(nonces, package, mut ledger)| {
                    let approval = Approval {
                        message: MESSAGE,
                        signers: &session.set,
                    };
                    let share = first.sign(nonces, &package, &approval, &mut ledger);
                    share.expect("honest")
                },
                BatchSize::SmallInput,
            );
        });
        coordinator(c, &parameters, first, &session);
    }
}

fn coordinator<S: Suite>(
    c: &mut Criterion<CpuTime>,
    parameters: &str,
    signer: &Signer<S>,
    session: &Session<S>,
) {
    let group = signer.group();
    let package = package(signer, &session.commitments);
    // The signature is verified before it leaves.
    c.bench_function(&format!("lens/aggregate-verify/{parameters}"), |b| {
        b.iter(|| aggregate(group, black_box(&package), &session.shares).expect("honest"));
    });
    let signature = aggregate(group, &package, &session.shares).expect("honest");
    c.bench_function(&format!("lens/verify/{parameters}"), |b| {
        b.iter(|| verify(group.verifying_key(), MESSAGE, black_box(&signature)).expect("valid"));
    });
}

/// One signing session of everybody, recorded.
struct Session<S: Suite> {
    set: Vec<Identifier>,
    commitments: Vec<Commitments<S>>,
    shares: Vec<SignatureShare<S>>,
}

impl<S: Suite> Session<S> {
    fn new(signers: &[Signer<S>], rng: &mut SeededRng) -> Self {
        let set: Vec<Identifier> = signers.iter().map(Signer::identifier).collect();
        let (opened, commitments): (Vec<_>, Vec<_>) = signers
            .iter()
            .map(|signer| {
                let mut ledger = MemoryLedger::new(4);
                let (nonces, commitments) =
                    signer.commit(SESSION, &mut ledger, rng).expect("fresh");
                ((signer, nonces, ledger), commitments)
            })
            .unzip();
        let package = package(&signers[0], &commitments);
        let approval = Approval {
            message: MESSAGE,
            signers: &set,
        };
        let shares = opened
            .into_iter()
            .map(|(signer, nonces, mut ledger)| {
                let share = signer.sign(nonces, &package, &approval, &mut ledger);
                share.expect("honest")
            })
            .collect();
        Self {
            set,
            commitments,
            shares,
        }
    }
}

fn package<S: Suite>(signer: &Signer<S>, commitments: &[Commitments<S>]) -> SigningPackage<S> {
    SigningPackage::new(signer.group(), SESSION, MESSAGE, commitments).expect("honest")
}

fn deal<S: Suite>(t: u16, n: u16, rng: &mut SeededRng) -> Vec<Signer<S>> {
    let committee = Committee::numbered(t, n).expect("t <= n");
    let (group, dealt) = dealer::deal::<S, _>(&committee, rng).expect("dealt");
    let signers = dealt.into_iter().map(|share| share.into_signer(&group));
    signers.map(|signer| signer.expect("own share")).collect()
}

fn suites(c: &mut Criterion<CpuTime>) {
    suite::<Ed25519>(c, "ed25519");
    suite::<Secp256k1>(c, "secp256k1");
    suite::<Ristretto255>(c, "ristretto255");
}

criterion_group! {
    name = benches;
    config = horizon_bench::criterion();
    targets = suites
}
criterion_main!(benches);
