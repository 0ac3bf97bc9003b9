//! Signing phases of both modes, and verification.

#![allow(missing_docs, reason = "macro-made entry points")]

use core::hint::black_box;
use core::time::Duration;

use criterion::measurement::Measurement;
use criterion::{
    BatchSize, BenchmarkGroup, Criterion, SamplingMode, criterion_group, criterion_main,
};
use horizon_bench::fixture::{BATCH, Fixture};
use horizon_bench::{COMMITTEES, CpuTime};
use horizon_cli::local::{self, InProcess};
use horizon_hash::suite::Suite;
use horizon_pulsar::committee::Assignment;
use horizon_pulsar::hazmat::interop::{
    self, Dealing, Group, Nonce, Preprocess, Round1Message, Session, SidFence,
};
use horizon_pulsar::signers::{Quorum, SignerSet};
use horizon_pulsar::{PreparedKey, Signature, verify};
use horizon_ring::backend::Kind;
use horizon_testkit::SeededRng;

const SUITES: [Suite; 2] = [Suite::PulsarSha3, Suite::PulsarBlake3];
const MESSAGE: &[u8] = b"Message";
const SID: u64 = 1;

/// Operations of milliseconds that consume their input: few samples, one iteration each.
fn group<'c>(c: &'c mut Criterion<CpuTime>, name: &str) -> BenchmarkGroup<'c, CpuTime> {
    let mut group = c.benchmark_group(name.to_owned());
    group.sample_size(10);
    group.sampling_mode(SamplingMode::Flat);
    group.measurement_time(Duration::from_millis(20));
    group.warm_up_time(Duration::from_millis(1));
    group
}

fn id(phase: &str, suite: Suite, size: u16) -> String {
    let hash = if suite == Suite::PulsarSha3 {
        "sha3"
    } else {
        "blake3"
    };
    format!("{phase}/{hash},K={size}/{}", Kind::active().name())
}

/// The reference's protocol, everybody signs: per-party cost of each phase.
fn interop_mode(c: &mut Criterion<CpuTime>) {
    for suite in SUITES {
        for size in COMMITTEES {
            let mut group = group(c, "pulsar");
            group.bench_function(id("interop-gen", suite, size), |b| {
                b.iter(|| interop::gen_reference_for_vectors(suite, size, black_box(&[7; 32])));
            });
            let dealing = interop::gen_reference_for_vectors(suite, size, &[7; 32]).expect("gen");
            let key = Group::new(dealing.group_key.clone(), suite);
            let sessions = sessions(&key, &dealing, size);
            rounds(&mut group, suite, size, &key, &dealing, &sessions);
        }
    }
}

fn rounds(
    group: &mut BenchmarkGroup<'_, impl Measurement>,
    suite: Suite,
    size: u16,
    key: &Group,
    dealing: &Dealing,
    sessions: &[Session<'_>],
) {
    let mut sid = SID;
    group.bench_function(id("interop-round1", suite, size), |b| {
        b.iter(|| {
            sid += 1;
            sessions[0]
                .round1(&mut SidFence::fresh(), sid)
                .expect("round 1")
        });
    });
    let messages: Vec<Round1Message> = sessions.iter().map(|session| round1(session).1).collect();
    group.bench_function(id("interop-preprocess", suite, size), |b| {
        b.iter_batched(
            || round1(&sessions[0]).0,
            |nonce| preprocess(nonce, &messages),
            BatchSize::PerIteration,
        );
    });
    let prf_key = &dealing.prf_key;
    group.bench_function(id("interop-round2", suite, size), |b| {
        b.iter_batched(
            || preprocess(round1(&sessions[0]).0, &messages),
            |ready| ready.sign(black_box(MESSAGE), prf_key).expect("round 2"),
            BatchSize::PerIteration,
        );
    });
    let mut partials = Vec::new();
    let mut assembly = None;
    for session in sessions {
        let ready = preprocess(round1(session).0, &messages);
        let (partial, combine) = ready.sign(MESSAGE, prf_key).expect("round 2");
        partials.push(partial);
        assembly.get_or_insert(combine);
    }
    let assembly = assembly.expect("one member at least");
    group.bench_function(id("interop-finalize", suite, size), |b| {
        b.iter(|| {
            let mut z = partials[0].z.clone();
            for partial in &partials[1..] {
                z.iter_mut()
                    .zip(&partial.z)
                    .for_each(|(sum, z)| sum.add_assign(z));
            }
            key.prepared()
                .complete(assembly.h(), assembly.c(), z)
                .expect("signature")
        });
    });
    group.bench_function(id("interop-combine-verified", suite, size), |b| {
        b.iter(|| assembly.combine(black_box(&partials)).expect("valid"));
    });
}

/// Committee mode: per-member cost of each phase, for one index. Member signatures are not included.
fn committee_mode(c: &mut Criterion<CpuTime>) {
    for suite in SUITES {
        for size in COMMITTEES {
            let mut rng = SeededRng::new(u64::from(size));
            let fixture = Fixture::new(size, suite, &mut rng).expect("fixture");
            let mut group = group(c, "pulsar");
            group.bench_function(id("committee-reserve", suite, size), |b| {
                b.iter_batched(
                    || (fixture.planned().expect("planned"), rng.bytes::<8>()),
                    |(mut member, seed)| {
                        let mut rng = SeededRng::new(u64::from_le_bytes(seed));
                        member.reserve(BATCH, &mut rng).expect("reserve");
                        let commit = member.commit(BATCH, &mut InProcess).expect("commit");
                        (member, commit)
                    },
                    BatchSize::PerIteration,
                );
            });
            group.bench_function(id("committee-gather", suite, size), |b| {
                b.iter_batched(
                    || {
                        let mut member = fixture.planned().expect("planned");
                        member.reserve(BATCH, &mut rng).expect("reserve");
                        fixture.commit(&mut member).expect("commit");
                        member
                    },
                    |mut member| {
                        let root = fixture.gather(&mut member).expect("gather");
                        (member, root)
                    },
                    BatchSize::PerIteration,
                );
            });
            let assignment = Assignment {
                batch: BATCH,
                index: 0,
                attempt: 1,
                mu: MESSAGE,
            };
            group.bench_function(id("committee-answer", suite, size), |b| {
                b.iter_batched(
                    || fixture.ready(&mut rng).expect("ready"),
                    |mut member| {
                        let partial = member.answer(&assignment, &mut InProcess).expect("answer");
                        (member, partial)
                    },
                    BatchSize::PerIteration,
                );
            });
            let mut members = fixture.all_ready(&mut rng).expect("ready");
            let partials: Vec<Vec<u8>> = members
                .iter_mut()
                .map(|m| m.answer(&assignment, &mut InProcess).expect("answer"))
                .collect();
            group.bench_function(id("committee-combine", suite, size), |b| {
                b.iter(|| {
                    local::combine(&members[0], &fixture.key, &assignment, black_box(&partials))
                        .expect("valid")
                });
            });
        }
    }
}

/// Verification of one signature with a prepared and a cold key, and of a batch.
fn verification(c: &mut Criterion<CpuTime>) {
    for suite in SUITES {
        let mut rng = SeededRng::new(3);
        let fixture = Fixture::new(2, suite, &mut rng).expect("fixture");
        let mut members = fixture.all_ready(&mut rng).expect("ready");
        let assignment = Assignment {
            batch: BATCH,
            index: 0,
            attempt: 1,
            mu: MESSAGE,
        };
        let (signature, _) =
            local::sign(&mut members, &fixture.key, &assignment).expect("signature");
        let bytes = signature.to_framed();
        let name = id("verify", suite, 21);
        let name = name.replace(",K=21", "");
        let prepared = PreparedKey::new(&fixture.group_key, suite);
        c.bench_function(&format!("pulsar/{name}/cached"), |b| {
            b.iter(|| {
                prepared
                    .verify(MESSAGE, black_box(&signature))
                    .expect("valid")
            });
        });
        c.bench_function(&format!("pulsar/{name}/cold"), |b| {
            b.iter(|| {
                verify::verify(&fixture.group_key, suite, MESSAGE, black_box(&signature))
                    .expect("valid")
            });
        });
        let decode = name.replace("verify", "decode-signature");
        c.bench_function(&format!("pulsar/{decode}"), |b| {
            b.iter(|| Signature::from_framed(black_box(&bytes)).expect("canonical"));
        });
        verification_batch(c, &name, &prepared, &signature);
    }
}

fn verification_batch(
    c: &mut Criterion<CpuTime>,
    name: &str,
    prepared: &PreparedKey,
    signature: &Signature,
) {
    let batch = name.replace("verify", "verify-batch");
    for size in [8, 64] {
        let entries = vec![(MESSAGE, signature); size];
        c.bench_function(&format!("pulsar/{batch},N={size}/cached"), |b| {
            b.iter(|| verify::verify_batch(prepared, black_box(&entries)));
        });
    }
}

fn sessions<'a>(key: &'a Group, dealing: &'a Dealing, size: u16) -> Vec<Session<'a>> {
    let signers = SignerSet::everyone(Quorum::new(size, size).expect("quorum"));
    dealing
        .shares
        .iter()
        .map(|share| Session::new(key, share, signers.clone()).expect("session"))
        .collect()
}

fn round1<'a>(session: &'a Session<'a>) -> (Nonce<'a>, Round1Message) {
    session
        .round1(&mut SidFence::fresh(), SID)
        .expect("round 1")
}

fn preprocess<'a>(nonce: Nonce<'a>, messages: &[Round1Message]) -> interop::Ready<'a> {
    let mut preprocess = Preprocess::new(nonce);
    preprocess.absorb_all(messages).expect("matrices");
    preprocess.finish().expect("rank")
}

criterion_group! {
    name = benches;
    config = horizon_bench::criterion();
    targets = interop_mode, committee_mode, verification
}
criterion_main!(benches);
