//! What a destination does with an envelope, step by step and as a whole.
//!
//! The source has 21 validators, all of whom sign, and a committee with threshold 14 of 21.

#![allow(missing_docs, reason = "macro-made entry points")]
#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program with std; shares the fixture of the crate's tests"
)]

#[path = "../../warp/tests/support/common.rs"]
mod common;
#[path = "../../warp/tests/support/world.rs"]
mod world;

use core::hint::black_box;
use std::sync::OnceLock;

use blst::{Pairing, blst_fp12, blst_p1_affine, blst_p2_affine, min_pk};
use criterion::measurement::WallTime;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use horizon_bench::CpuTime;
use horizon_pulsar::{PreparedKey, Signature as PulseSignature};
use horizon_sig::bls;
use horizon_sig::cache::{Limits, VerifiedCache};
use horizon_testkit::SeededRng;
use horizon_warp::policy::Tier;
use horizon_warp::prism::{Context, Schedule};
use horizon_warp::pulse::{PulseFrames, check_wire_cap};
use horizon_warp::registry::Registry;
use horizon_warp::{Attestation, Envelope, SignerSet, SuiteId, Transcript, verify_bytes};
use rayon::ThreadPoolBuilder;

use crate::world::{Draft, World, context, sequential};

const VALIDATORS: u32 = 21;
const THRESHOLD: u16 = 14;
const PAYLOAD: [u8; 128] = [0x5a; 128];

/// One source and the envelopes of its message, by tier.
struct Fixture {
    world: World,
    registry: Registry,
    full: Draft,
    shapes: Vec<(&'static str, Vec<u8>)>,
    tiers: Vec<(Tier, Vec<u8>)>,
}

fn fixture() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| {
        let world = World::new(30, &[10; VALIDATORS as usize], THRESHOLD);
        let everyone: Vec<u32> = (0..VALIDATORS).collect();
        let full = world.seal(&PAYLOAD, &everyone, 1);
        let pulse = full.with(|draft| draft.attestation.clear());
        let beam = pulse.with(|draft| draft.pulse.clear());
        let pq = full.with(|draft| {
            draft.signers = SignerSet::new();
            draft.beam = [0; 96];
        });
        let wrapped = full.with(|draft| draft.attestation = vec![0x5a; 224]);
        Fixture {
            registry: world.registry(),
            shapes: vec![
                ("v1", beam.message().encode()),
                ("v2", beam.encode()),
                ("pulse", pulse.encode()),
                ("pulse+certset", full.encode()),
                ("pulse+groth16", wrapped.encode()),
            ],
            tiers: vec![
                (Tier::Classical, beam.encode()),
                (Tier::Pulse, pulse.encode()),
                (Tier::Horizon, full.encode()),
                (Tier::Pq, pq.encode()),
            ],
            full,
            world,
        }
    })
}

fn codec(c: &mut Criterion<CpuTime>) {
    for (shape, bytes) in &fixture().shapes {
        c.bench_function(&format!("warp/parse/{shape}"), |b| {
            b.iter(|| Envelope::parse(black_box(bytes)).unwrap());
        });
        let envelope = Envelope::parse(bytes).unwrap();
        c.bench_function(&format!("warp/encode/{shape}"), |b| {
            b.iter(|| match envelope.version() {
                1 => black_box(&envelope).message().encode(),
                _ => black_box(&envelope).encode(),
            });
        });
        // The size travels as the throughput.
        let mut group = c.benchmark_group("warp/size");
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(*shape, |b| b.iter(|| black_box(bytes).len()));
    }
}

/// What happens before any cryptography.
fn steps(c: &mut Criterion<CpuTime>) {
    let Fixture {
        world,
        registry,
        full,
        ..
    } = fixture();
    let key = world.record.key;
    c.bench_function("warp/registry-lookup/n=21", |b| {
        b.iter(|| registry.get(black_box(&key)).unwrap());
    });
    let entry = registry.get(&key).unwrap();
    c.bench_function("warp/suite-match", |b| {
        b.iter(|| {
            let named = SuiteId::from_name(black_box(&full.suite)).unwrap();
            assert_eq!(named, entry.record().suite);
        });
    });
    let unsigned = full.unsigned();
    c.bench_function("warp/transcript", |b| {
        b.iter(|| Transcript::new(black_box(&unsigned), &full.lineage, &full.suite));
    });
    c.bench_function("warp/certset-parse/n=21", |b| {
        b.iter(|| Attestation::parse(black_box(&full.attestation)).unwrap());
    });
    let records = vec![world.record.clone()];
    let pins = world.config(Tier::Horizon).pins();
    c.bench_function("warp/registry-load/n=21", |b| {
        b.iter(|| Registry::load(black_box(records.clone()), &pins).unwrap());
    });
}

fn pulse(c: &mut Criterion<CpuTime>) {
    let Fixture { world, full, .. } = fixture();
    let pulse = &full.pulse;
    c.bench_function("warp/pulse-caps", |b| {
        b.iter(|| check_wire_cap(black_box(pulse)).unwrap());
    });
    c.bench_function("warp/pulse-frame-walk", |b| {
        b.iter(|| PulseFrames::parse_structure(black_box(pulse)).unwrap());
    });
    c.bench_function("warp/pulse-guards", |b| {
        b.iter(|| PulseFrames::parse(black_box(pulse)).unwrap());
    });
    c.bench_function("warp/pulse-decode", |b| {
        b.iter(|| PulseSignature::from_pulse_bytes(black_box(pulse)).unwrap());
    });
    let signature = PulseSignature::from_pulse_bytes(pulse).unwrap();
    c.bench_function("warp/pulse-encode", |b| {
        b.iter(|| black_box(&signature).to_pulse_bytes());
    });
    let key = PreparedKey::new(world.kernel.key(), world.kernel.suite);
    let transcript = full.transcript();
    c.bench_function("warp/pulse-verify/cached", |b| {
        b.iter(|| key.verify(black_box(&transcript), &signature).unwrap());
    });
}

/// The Beam as Prism verifies it, and the parts of the library that cannot be left out.
fn beam(c: &mut Criterion<CpuTime>) {
    let Fixture { world, full, .. } = fixture();
    let keys: Vec<bls::ProvenKey> = world
        .secrets
        .iter()
        .map(|secrets| {
            let proof = secrets.bls.prove_possession();
            secrets
                .bls
                .verifying_key()
                .verify_possession(&proof)
                .unwrap()
        })
        .collect();
    let message = full.unsigned().encode();
    c.bench_function("warp/beam-verify/n=21", |b| {
        b.iter(|| {
            let signature = bls::CurvePoint::from_bytes(black_box(&full.beam)).unwrap();
            let key = bls::AggregateKey::new(&keys).unwrap();
            let signature = signature.into_signature().unwrap();
            key.verify(&message, &signature).unwrap()
        });
    });
    let point = min_pk::Signature::from_bytes(&full.beam).unwrap();
    let key = min_pk::PublicKey::from_bytes(&keys[0].verifying_key().to_bytes()).unwrap();
    let (q, p): (&blst_p2_affine, &blst_p1_affine) = ((&point).into(), (&key).into());
    c.bench_function("warp/beam-part/decode", |b| {
        b.iter(|| min_pk::Signature::from_bytes(black_box(&full.beam)).unwrap());
    });
    c.bench_function("warp/beam-part/group-check", |b| {
        b.iter(|| black_box(&point).validate(true).unwrap());
    });
    c.bench_function("warp/beam-part/hash-to-g2", |b| {
        // Without a commitment the pair is only queued: hash to the curve and nothing else.
        b.iter(|| {
            let mut pairing = Pairing::new(true, bls::SIGNATURE_DST);
            pairing.aggregate(p, false, &(), false, black_box(&message), &[]);
            pairing
        });
    });
    let (qs, ps) = ([*q, *q], [*p, *p]);
    c.bench_function("warp/beam-part/miller-loops", |b| {
        b.iter(|| blst_fp12::miller_loop_n(black_box(&qs), &ps));
    });
    let product = blst_fp12::miller_loop_n(&qs, &ps);
    c.bench_function("warp/beam-part/final-exponentiation", |b| {
        b.iter(|| black_box(&product).final_exp());
    });
}

fn serial(c: &mut Criterion<CpuTime>) {
    let Fixture {
        world,
        registry,
        tiers,
        ..
    } = fixture();
    for (tier, bytes) in tiers {
        let policy = world.config(*tier);
        c.bench_function(&format!("warp/verify/{},serial/cold", tier.name()), |b| {
            b.iter(|| verify_bytes(black_box(bytes), registry, &policy, &sequential()).unwrap());
        });
    }
    let policy = world.config(Tier::Horizon);
    let cache = VerifiedCache::new(Limits::default(), &mut SeededRng::new(31)).unwrap();
    let remembering = Context {
        cache: Some(&cache),
        ..sequential()
    };
    c.bench_function("warp/verify/horizon,serial/cached", |b| {
        b.iter(|| verify_bytes(black_box(&tiers[2].1), registry, &policy, &remembering).unwrap());
    });
    // The last refusal there is: one bit of the Pulse.
    let mut damaged = tiers[2].1.clone();
    let last_lane = damaged.len() - 100;
    damaged[last_lane] ^= 1;
    c.bench_function("warp/verify/horizon,serial,refused/cold", |b| {
        b.iter(|| verify_bytes(black_box(&damaged), registry, &policy, &sequential()).unwrap_err());
    });
}

fn parallel(c: &mut Criterion<WallTime>) {
    let Fixture {
        world,
        registry,
        tiers,
        ..
    } = fixture();
    assert_eq!(context().schedule, Schedule::Parallel);
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.unwrap();
        for (tier, bytes) in tiers {
            let policy = world.config(*tier);
            let name = tier.name();
            c.bench_function(
                &format!("warp/verify/{name},wall,threads={threads}/cold"),
                |b| {
                    pool.install(|| {
                        b.iter(|| {
                            verify_bytes(black_box(bytes), registry, &policy, &context()).unwrap()
                        });
                    });
                },
            );
        }
    }
}

criterion_group! {
    name = benches;
    config = horizon_bench::criterion();
    targets = codec, steps, pulse, beam, serial
}
criterion_group! {
    name = wall;
    config = horizon_bench::criterion_wall();
    targets = parallel
}
criterion_main!(benches, wall);
