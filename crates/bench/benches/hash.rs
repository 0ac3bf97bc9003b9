//! Throughput of the hash functions on one thread.

#![allow(missing_docs, reason = "macro-made entry points")]

use core::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use horizon_bench::{CpuTime, Inputs};
use horizon_hash::backend::Kind;
use horizon_hash::blake2xb::Blake2Xb;
use horizon_hash::kmac::{KmacJob, kmac256, kmac256_batch_with};
use horizon_hash::parallelhash::parallel_hash256_with;
use horizon_hash::sponge::{cshake256, sha3_256};
use horizon_hash::suite::Suite;
use horizon_hash::tuplehash::tuple_hash256;

/// The published table's input size.
const MIB: usize = 1 << 20;

fn single_streams(c: &mut Criterion<CpuTime>) {
    let mut inputs = Inputs::new(1, MIB);
    let name = name(Kind::active());
    let mut run = |function: &str, hash: &dyn Fn(&[u8], &mut [u8; 32])| {
        let mut group = c.benchmark_group(format!("hash/{function}"));
        group.throughput(Throughput::Bytes(MIB as u64));
        group.bench_function(format!("1MiB/{name}"), |b| {
            let mut out = [0; 32];
            b.iter(|| hash(black_box(inputs.next()), &mut out));
        });
    };
    run("sha3-256", &|input, out| *out = sha3_256(input));
    run("cshake256", &|input, out| {
        cshake256(b"bench", &[input], out)
    });
    run("tuplehash256", &|input, out| {
        tuple_hash256(b"bench", &[input], out)
    });
    run("kmac256", &|input, out| {
        kmac256(&[7; 32], b"bench", &[input], out)
    });
    run("blake3", &|input, out| {
        Suite::PulsarBlake3.hu(&[input], out)
    });
}

fn lanes(c: &mut Criterion<CpuTime>) {
    let mut inputs = Inputs::new(2, MIB);
    let mut group = c.benchmark_group("hash/parallelhash256");
    group.throughput(Throughput::Bytes(MIB as u64));
    for kind in Kind::available() {
        group.bench_function(format!("1MiB/{}", name(kind)), |b| {
            let mut out = [0; 64];
            b.iter(|| {
                parallel_hash256_with(kind, 8192, b"bench", &[black_box(inputs.next())], &mut out)
            });
        });
    }
    group.finish();
    let mut group = c.benchmark_group("hash/kmac256-batch");
    group.throughput(Throughput::Bytes(8 * MIB as u64));
    for kind in Kind::available() {
        group.bench_function(format!("8x1MiB/{}", name(kind)), |b| {
            b.iter(|| {
                let parts = [black_box(inputs.next())];
                let keys = [[3u8; 32]; 8];
                let jobs: Vec<KmacJob<'_>> = keys
                    .iter()
                    .map(|key| KmacJob { key, parts: &parts })
                    .collect();
                kmac256_batch_with(kind, b"bench", &jobs)
            });
        });
    }
}

fn streams(c: &mut Criterion<CpuTime>) {
    const LEN: usize = 64 << 10;
    let mut group = c.benchmark_group("hash/blake2xb");
    group.throughput(Throughput::Bytes(LEN as u64));
    for kind in Kind::available() {
        group.bench_function(format!("64KiB/{}", name(kind)), |b| {
            let mut out = vec![0; LEN];
            let mut key = [0u8; 32];
            b.iter(|| {
                key[0] = key[0].wrapping_add(1);
                if let Ok(mut stream) = Blake2Xb::with_backend(kind, &key) {
                    stream.read(black_box(&mut out));
                }
            });
        });
    }
}

fn name(kind: Kind) -> String {
    format!("{kind:?}").to_lowercase()
}

criterion_group! {
    name = benches;
    config = horizon_bench::criterion();
    targets = single_streams, lanes, streams
}
criterion_main!(benches);
