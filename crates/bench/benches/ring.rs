//! Ring operations per backend.

#![allow(missing_docs, reason = "macro-made entry points")]

use core::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use horizon_bench::{BATCHES, CpuTime};
use horizon_hash::blake2xb::Blake2Xb;
use horizon_ring::backend::{self, ByteOrder, Kind};
use horizon_ring::matrix::Matrix;
use horizon_ring::ntt::{Scale, Unscale};
use horizon_ring::sample::{self, SMALL_BYTES, WIDE_BYTES};
use horizon_ring::{N, NttPoly, modulus, rank};
use horizon_testkit::SeededRng;

type Words = [u64; N];

fn polys(seed: u64, count: usize) -> Vec<Words> {
    let mut rng = SeededRng::new(seed);
    (0..count)
        .map(|_| core::array::from_fn(|_| rng.below(modulus::Q)))
        .collect()
}

fn transforms(c: &mut Criterion<CpuTime>) {
    for batch in BATCHES {
        let inputs = polys(1, batch);
        let mut outputs = vec![[0; N]; batch];
        let mut group = c.benchmark_group("ring");
        group.throughput(Throughput::Elements(batch as u64));
        for kind in Kind::available() {
            let name = kind.name();
            group.bench_function(format!("ntt-forward/batch={batch}/{name}"), |b| {
                b.iter(|| {
                    for (input, out) in black_box(&inputs).iter().zip(&mut outputs) {
                        backend::forward(kind, input, Scale::One, out);
                    }
                });
            });
            group.bench_function(format!("ntt-inverse/batch={batch}/{name}"), |b| {
                b.iter(|| {
                    for (input, out) in black_box(&inputs).iter().zip(&mut outputs) {
                        backend::inverse(kind, input, Unscale::One, out);
                    }
                });
            });
        }
    }
}

fn products(c: &mut Criterion<CpuTime>) {
    for terms in [7, 49] {
        let (left, right) = (polys(2, terms), polys(3, terms));
        let pairs: Vec<_> = left.iter().zip(&right).collect();
        for kind in Kind::available() {
            c.bench_function(&format!("ring/dot/terms={terms}/{}", kind.name()), |b| {
                let mut out = [0; N];
                b.iter(|| backend::dot(kind, black_box(&pairs), &mut out));
            });
        }
    }
    let entries = polys(4, 8 * 49);
    let matrix = Matrix::from_fn(8, 49, |r, c| {
        NttPoly::from_array_unchecked(entries[r * 49 + c])
    });
    for kind in Kind::available() {
        c.bench_function(&format!("ring/rank/8x48/{}", kind.name()), |b| {
            b.iter(|| rank::full_rank_with(kind, black_box(&matrix)));
        });
    }
}

fn samplers(c: &mut Criterion<CpuTime>) {
    let mut rng = SeededRng::new(5);
    let (small, wide): ([u8; SMALL_BYTES], [u8; WIDE_BYTES]) = (rng.bytes(), rng.bytes());
    let words = rng.vec(8 * 640);
    for kind in Kind::available() {
        let name = kind.name();
        let mut out = [0; N];
        c.bench_function(&format!("ring/sample-small/256/{name}"), |b| {
            b.iter(|| backend::sample_small(kind, black_box(&small), &mut out));
        });
        c.bench_function(&format!("ring/sample-wide/256/{name}"), |b| {
            b.iter(|| backend::sample_wide(kind, black_box(&wide), &mut out));
        });
        c.bench_function(&format!("ring/parse-words/256/{name}"), |b| {
            b.iter(|| {
                backend::parse_words(kind, ByteOrder::Little, black_box(&words), &mut out, 0)
            });
        });
    }
    let active = Kind::active().name();
    let mut stream = Blake2Xb::from_seed(&[9; 32]);
    c.bench_function(&format!("ring/sample-uniform/256/{active}"), |b| {
        b.iter(|| sample::uniform(black_box(&mut stream)));
    });
    c.bench_function(&format!("ring/sample-ziggurat/256/{active}"), |b| {
        b.iter(|| sample::constants::SIGMA_E.sample(black_box(&mut stream)));
    });
    c.bench_function(&format!("ring/sample-u/256/{active}"), |b| {
        let prefix = horizon_hash::lanes::XofPrefix::new(b"bench");
        let mut counter = 0u64;
        b.iter_batched(
            || {
                counter += 1;
                prefix.reader(&[&counter.to_le_bytes()])
            },
            |mut reader| sample::committee_u(&mut reader),
            BatchSize::SmallInput,
        );
    });
}

criterion_group! {
    name = benches;
    config = horizon_bench::criterion();
    targets = transforms, products, samplers
}
criterion_main!(benches);
