//! Single signatures, the cache of verified ones, and BLS aggregates.

#![allow(missing_docs, reason = "macro-made entry points")]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program with std"
)]

use core::cell::Cell;
use core::hint::black_box;
use std::time::Duration;

use criterion::measurement::{Measurement, WallTime};
use criterion::{Criterion, criterion_group, criterion_main};
use horizon_bench::CpuTime;
use horizon_sig::cache::{Limits, VerifiedCache};
use horizon_sig::traits::{Origin, Signer, Verifier};
use horizon_sig::{bls, ed25519, mldsa, p256, secp256k1, slhdsa};
use horizon_testkit::SeededRng;
use rayon::ThreadPoolBuilder;

/// Bytes of a message: those of a version 2 transcript with a small payload.
const MESSAGE_LEN: usize = 256;
/// Sizes of the published aggregates, and the committee's.
const AGGREGATES: [usize; 2] = [21, 100];
/// Certificates of an envelope.
const CERTIFICATES: usize = 21;

/// A key pair of one scheme.
struct Scheme {
    name: &'static str,
    signer: Box<dyn Signer>,
    verifier: Box<dyn Verifier>,
}

fn scheme<S, V>(name: &'static str, signer: S, verifying_key: impl Fn(&S) -> V) -> Scheme
where
    S: Signer + 'static,
    V: Verifier + 'static,
{
    Scheme {
        name,
        verifier: Box::new(verifying_key(&signer)),
        signer: Box::new(signer),
    }
}

fn schemes(rng: &mut SeededRng) -> Vec<Scheme> {
    let mut all = vec![
        scheme(
            "secp256k1",
            secp256k1::SigningKey::generate(rng).expect("key"),
            |key| *key.verifying_key(),
        ),
        scheme(
            "ed25519",
            ed25519::SigningKey::generate(rng).expect("key"),
            |key| *key.verifying_key(),
        ),
        scheme(
            "p256",
            p256::SigningKey::generate(rng).expect("key"),
            |key| key.verifying_key().clone(),
        ),
        scheme(
            "slh-dsa-sha2-192f",
            slhdsa::SigningKey::generate(rng).expect("key"),
            |key| key.verifying_key().clone(),
        ),
        scheme(
            "bls12-381",
            bls::SigningKey::generate(rng).expect("key"),
            |key| *key.verifying_key(),
        ),
    ];
    for (name, set) in [
        ("ml-dsa-44", mldsa::ParameterSet::MlDsa44),
        ("ml-dsa-65", mldsa::ParameterSet::MlDsa65),
        ("ml-dsa-87", mldsa::ParameterSet::MlDsa87),
    ] {
        let key = mldsa::SigningKey::generate(set, rng).expect("key");
        all.push(scheme(name, key, |key| key.verifying_key().clone()));
    }
    all
}

fn single(c: &mut Criterion<CpuTime>) {
    let mut rng = SeededRng::new(10);
    for scheme in schemes(&mut rng) {
        let name = scheme.name;
        let messages: Vec<Vec<u8>> = (0..16).map(|_| rng.vec(MESSAGE_LEN)).collect();
        let mut next = (0..messages.len()).cycle();
        c.bench_function(&format!("sig/sign/{name}"), |b| {
            b.iter(|| {
                let message = &messages[next.next().unwrap_or(0)];
                scheme.signer.sign(&[], black_box(message), &mut rng)
            });
        });
        let signed: Vec<(Vec<u8>, Vec<u8>)> = messages
            .into_iter()
            .map(|message| {
                let signature = scheme.signer.sign(&[], &message, &mut rng);
                (message, signature.expect("signature"))
            })
            .collect();
        let mut next = (0..signed.len()).cycle();
        c.bench_function(&format!("sig/verify/{name}/cold"), |b| {
            b.iter(|| {
                let (message, signature) = &signed[next.next().unwrap_or(0)];
                scheme
                    .verifier
                    .verify(&[], black_box(message), signature)
                    .expect("valid")
            });
        });
        cached(c, &scheme, &signed, &mut rng);
    }
}

/// The caching interface: every call a miss, every call a hit, and hits while bad signatures pour in.
fn cached(
    c: &mut Criterion<CpuTime>,
    scheme: &Scheme,
    signed: &[(Vec<u8>, Vec<u8>)],
    rng: &mut SeededRng,
) {
    let (name, key) = (scheme.name, &*scheme.verifier);
    let cache = VerifiedCache::new(Limits::default(), rng).expect("limits");
    let (message, signature) = &signed[0];
    let mut scope = 0u64;
    c.bench_function(&format!("sig/verify-through-cache/{name}/cold"), |b| {
        b.iter(|| {
            // A scope that was never used before: hash, look, verify, store.
            scope += 1;
            cache
                .verify(
                    &scope.to_le_bytes(),
                    key,
                    &[],
                    black_box(message),
                    signature,
                )
                .expect("valid")
        });
    });
    let hit = |(message, signature): &(Vec<u8>, Vec<u8>)| {
        let verified = cache
            .verify(b"warm", key, &[], black_box(message), signature)
            .expect("valid");
        verified.origin()
    };
    for entry in signed {
        hit(entry);
    }
    let mut next = (0..signed.len()).cycle();
    c.bench_function(&format!("sig/verify-through-cache/{name}/cached"), |b| {
        b.iter(|| hit(&signed[next.next().unwrap_or(0)]));
    });
    if name != "ml-dsa-65" && name != "ed25519" {
        return;
    }
    let mut bad = signature.clone();
    let attack = Cell::new(0u64);
    let bad_call = |bad: &mut Vec<u8>| {
        let count = attack.get() + 1;
        attack.set(count);
        // Another signature each time, well formed in most cases.
        bad[8..16].copy_from_slice(&count.to_le_bytes());
        cache.verify(b"warm", key, &[], black_box(message), bad)
    };
    c.bench_function(&format!("sig/verify-through-cache/{name}/bad"), |b| {
        b.iter(|| bad_call(&mut bad).expect_err("bad"));
    });
    c.bench_function(
        &format!("sig/verify-through-cache/{name},flooded/cached"),
        |b| {
            b.iter_custom(|iterations| {
                let mut total = Duration::ZERO;
                for _ in 0..iterations {
                    for _ in 0..4 {
                        bad_call(&mut bad).expect_err("bad");
                    }
                    let start = CpuTime.start();
                    for entry in signed {
                        assert_eq!(hit(entry), Origin::Cached, "the flood evicted an entry");
                    }
                    total += CpuTime.end(start);
                }
                total / u32::try_from(signed.len()).unwrap_or(1)
            });
        },
    );
}

fn aggregates(c: &mut Criterion<CpuTime>) {
    let mut rng = SeededRng::new(11);
    let message = rng.vec(MESSAGE_LEN);
    for size in AGGREGATES {
        let keys: Vec<bls::SigningKey> = (0..size)
            .map(|_| bls::SigningKey::generate(&mut rng).expect("key"))
            .collect();
        let proven: Vec<bls::ProvenKey> = keys
            .iter()
            .map(|key| {
                let proof = key.prove_possession();
                key.verifying_key().verify_possession(&proof).expect("own")
            })
            .collect();
        let signatures: Vec<bls::Signature> =
            keys.iter().map(|key| key.sign_message(&message)).collect();
        let bytes: Vec<[u8; 96]> = signatures.iter().map(bls::Signature::to_bytes).collect();
        c.bench_function(&format!("sig/bls-aggregate/decoded,n={size}"), |b| {
            b.iter(|| bls::aggregate(black_box(&signatures)));
        });
        c.bench_function(&format!("sig/bls-aggregate/bytes,n={size}"), |b| {
            b.iter(|| {
                let signatures: Vec<bls::Signature> = bytes
                    .iter()
                    .map(|bytes| bls::Signature::from_bytes(black_box(bytes)).expect("own"))
                    .collect();
                bls::aggregate(&signatures)
            });
        });
        let sum = bls::aggregate(&signatures).expect("not empty").to_bytes();
        c.bench_function(&format!("sig/bls-aggregate-verify/n={size}/cold"), |b| {
            b.iter(|| {
                let signature = bls::Signature::from_bytes(black_box(&sum)).expect("own");
                let key = bls::AggregateKey::new(&proven).expect("keys");
                key.verify(&message, &signature).expect("valid")
            });
        });
    }
}

/// Certificates of 21 validators over one message.
struct CertSet {
    message: Vec<u8>,
    keys: Vec<mldsa::VerifyingKey>,
    signatures: Vec<Vec<u8>>,
}

impl CertSet {
    fn new() -> Self {
        let mut rng = SeededRng::new(12);
        let message = rng.vec(MESSAGE_LEN);
        let keys: Vec<mldsa::SigningKey> = (0..CERTIFICATES)
            .map(|_| {
                mldsa::SigningKey::generate(mldsa::ParameterSet::MlDsa65, &mut rng).expect("key")
            })
            .collect();
        Self {
            signatures: keys
                .iter()
                .map(|key| key.sign_deterministic(b"bench", &message).expect("signs"))
                .collect(),
            keys: keys.iter().map(|key| key.verifying_key().clone()).collect(),
            message,
        }
    }

    fn entries(&self) -> Vec<mldsa::Attestation<'_>> {
        let pairs = self.keys.iter().zip(&self.signatures);
        pairs
            .map(|(key, signature)| mldsa::Attestation { key, signature })
            .collect()
    }
}

fn certset(c: &mut Criterion<CpuTime>) {
    let set = CertSet::new();
    let entries = set.entries();
    c.bench_function("sig/certset/serial,n=21/cold", |b| {
        b.iter(|| mldsa::verify_set(&set.message, b"bench", black_box(&entries)).expect("valid"));
    });
    let cache = VerifiedCache::new(Limits::default(), &mut SeededRng::new(13)).expect("limits");
    c.bench_function("sig/certset/serial,n=21/cached", |b| {
        b.iter(|| {
            cache
                .verify_set(b"", &set.message, b"bench", black_box(&entries))
                .expect("valid")
        });
    });
}

fn certset_wall(c: &mut Criterion<WallTime>) {
    let set = CertSet::new();
    let entries = set.entries();
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.expect("threads");
        c.bench_function(
            &format!("sig/certset/parallel,n=21,wall,threads={threads}/cold"),
            |b| {
                pool.install(|| {
                    b.iter(|| {
                        mldsa::par_verify_set(&set.message, b"bench", black_box(&entries))
                            .expect("valid")
                    });
                });
            },
        );
    }
}

criterion_group! {
    name = benches;
    config = horizon_bench::criterion();
    targets = single, aggregates, certset
}
criterion_group! {
    name = wall;
    config = horizon_bench::criterion_wall();
    targets = certset_wall
}
criterion_main!(benches, wall);
