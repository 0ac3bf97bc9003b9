//! Throughput of the hash functions on one thread.

use core::hint::black_box;

use horizon_hash::backend::Kind;
use horizon_hash::blake2xb::Blake2Xb;
use horizon_hash::kmac::{KmacJob, kmac256, kmac256_batch_with};
use horizon_hash::parallelhash::parallel_hash256_with;
use horizon_hash::sponge::{cshake256, sha3_256};
use horizon_hash::suite::Suite;
use horizon_hash::tuplehash::tuple_hash256;
use horizon_testkit::SeededRng;

use super::Fixtures;
use crate::failed::Failed;
use crate::measure::Bench;

/// The published input size of BLAKE3.
const MIB: usize = 1 << 20;
/// Alignments that inputs start at.
const PAGE: usize = 4096;

pub(super) fn run(bench: &mut Bench<'_>, _: &Fixtures) -> Result<(), Failed> {
    single_streams(bench)?;
    lanes(bench)?;
    streams(bench)
}

/// Random bytes handed out at changing offsets, so that no alignment is favoured.
struct Inputs {
    bytes: Vec<u8>,
    offset: usize,
}

impl Inputs {
    fn new(seed: u64) -> Self {
        Self {
            bytes: SeededRng::new(seed).vec(MIB + PAGE),
            offset: 0,
        }
    }

    fn next(&mut self) -> &[u8] {
        self.offset = (self.offset + 17) % PAGE;
        self.bytes
            .get(self.offset..self.offset + MIB)
            .unwrap_or(&self.bytes)
    }
}

fn single_streams(bench: &mut Bench<'_>) -> Result<(), Failed> {
    type Hash = fn(&[u8], &mut [u8; 32]);
    let functions: [(&str, Hash); 5] = [
        ("sha3-256", |input, out| *out = sha3_256(input)),
        ("cshake256", |input, out| cshake256(b"bench", &[input], out)),
        ("tuplehash256", |input, out| {
            tuple_hash256(b"bench", &[input], out)
        }),
        ("kmac256", |input, out| {
            kmac256(&[7; 32], b"bench", &[input], out)
        }),
        ("blake3", |input, out| Suite::PulsarBlake3.hu(&[input], out)),
    ];
    let mut inputs = Inputs::new(1);
    for (name, hash) in functions {
        let id = format!("hash/{name}/1MiB");
        let mut out = [0; 32];
        bench.time(&id, || hash(black_box(inputs.next()), &mut out))?;
        bench.bytes(&id, MIB);
    }
    Ok(())
}

fn lanes(bench: &mut Bench<'_>) -> Result<(), Failed> {
    let mut inputs = Inputs::new(2);
    for kind in Kind::available() {
        let id = format!("hash/parallelhash256/1MiB/{}", name(kind));
        let mut out = [0; 64];
        bench.check(&id, || {
            parallel_hash256_with(kind, 8192, b"bench", &[black_box(inputs.next())], &mut out)
        })?;
        bench.bytes(&id, MIB);
        let id = format!("hash/kmac256-batch/8x1MiB/{}", name(kind));
        bench.time(&id, || {
            let parts = [black_box(inputs.next())];
            let keys = [[3u8; 32]; 8];
            let jobs: Vec<KmacJob<'_>> = keys
                .iter()
                .map(|key| KmacJob { key, parts: &parts })
                .collect();
            kmac256_batch_with(kind, b"bench", &jobs)
        })?;
        bench.bytes(&id, 8 * MIB);
    }
    Ok(())
}

fn streams(bench: &mut Bench<'_>) -> Result<(), Failed> {
    const LEN: usize = 64 << 10;
    for kind in Kind::available() {
        let id = format!("hash/blake2xb/64KiB/{}", name(kind));
        let mut out = vec![0; LEN];
        let mut key = [0u8; 32];
        bench.check(&id, || {
            key[0] = key[0].wrapping_add(1);
            Blake2Xb::with_backend(kind, &key).map(|mut stream| stream.read(black_box(&mut out)))
        })?;
        bench.bytes(&id, LEN);
    }
    Ok(())
}

fn name(kind: Kind) -> String {
    format!("{kind:?}").to_lowercase()
}
