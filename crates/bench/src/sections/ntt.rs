//! Ring operations per backend.

use core::hint::black_box;

use horizon_hash::blake2xb::Blake2Xb;
use horizon_ring::backend::{self, ByteOrder, Kind};
use horizon_ring::matrix::Matrix;
use horizon_ring::ntt::{Scale, Unscale};
use horizon_ring::sample::{self, SMALL_BYTES, WIDE_BYTES};
use horizon_ring::{N, NttPoly, modulus, rank};
use horizon_testkit::SeededRng;

use super::Fixtures;
use crate::failed::Failed;
use crate::measure::Bench;

/// Batch sizes of the published table.
const BATCHES: [usize; 4] = [1, 8, 32, 128];

type Words = [u64; N];

pub(super) fn run(bench: &mut Bench<'_>, _: &Fixtures) -> Result<(), Failed> {
    for kind in Kind::available() {
        transforms(bench, kind)?;
        products(bench, kind)?;
        samplers(bench, kind)?;
    }
    streams(bench)
}

fn polys(seed: u64, count: usize) -> Vec<Words> {
    let mut rng = SeededRng::new(seed);
    (0..count)
        .map(|_| core::array::from_fn(|_| rng.below(modulus::Q)))
        .collect()
}

fn transforms(bench: &mut Bench<'_>, kind: Kind) -> Result<(), Failed> {
    let name = kind.name();
    for batch in BATCHES {
        let inputs = polys(1, batch);
        let mut outputs = vec![[0; N]; batch];
        bench.time(&format!("ring/ntt-forward/batch={batch}/{name}"), || {
            for (input, out) in black_box(&inputs).iter().zip(&mut outputs) {
                backend::forward(kind, input, Scale::One, out);
            }
        })?;
        bench.time(&format!("ring/ntt-inverse/batch={batch}/{name}"), || {
            for (input, out) in black_box(&inputs).iter().zip(&mut outputs) {
                backend::inverse(kind, input, Unscale::One, out);
            }
        })?;
    }
    Ok(())
}

fn products(bench: &mut Bench<'_>, kind: Kind) -> Result<(), Failed> {
    let name = kind.name();
    for terms in [7, 49] {
        let (left, right) = (polys(2, terms), polys(3, terms));
        let pairs: Vec<_> = left.iter().zip(&right).collect();
        let mut out = [0; N];
        bench.time(&format!("ring/dot/terms={terms}/{name}"), || {
            backend::dot(kind, black_box(&pairs), &mut out);
        })?;
    }
    let mut entries = polys(4, 8 * 49).into_iter();
    let matrix = Matrix::from_fn(8, 49, |_, _| {
        NttPoly::from_array_unchecked(entries.next().unwrap_or([0; N]))
    });
    bench.time(&format!("ring/rank/8x48/{name}"), || {
        rank::full_rank_with(kind, black_box(&matrix))
    })
}

fn samplers(bench: &mut Bench<'_>, kind: Kind) -> Result<(), Failed> {
    let mut rng = SeededRng::new(5);
    let (small, wide): ([u8; SMALL_BYTES], [u8; WIDE_BYTES]) = (rng.bytes(), rng.bytes());
    let words = rng.vec(8 * 640);
    let name = kind.name();
    let mut out = [0; N];
    bench.time(&format!("ring/sample-small/256/{name}"), || {
        backend::sample_small(kind, black_box(&small), &mut out);
    })?;
    bench.time(&format!("ring/sample-wide/256/{name}"), || {
        backend::sample_wide(kind, black_box(&wide), &mut out);
    })?;
    bench.time(&format!("ring/parse-words/256/{name}"), || {
        backend::parse_words(kind, ByteOrder::Little, black_box(&words), &mut out, 0)
    })
}

fn streams(bench: &mut Bench<'_>) -> Result<(), Failed> {
    let active = Kind::active().name();
    let mut stream = Blake2Xb::from_seed(&[9; 32]);
    bench.time(&format!("ring/sample-uniform/256/{active}"), || {
        sample::uniform(black_box(&mut stream))
    })?;
    bench.time(&format!("ring/sample-ziggurat/256/{active}"), || {
        sample::constants::SIGMA_E.sample(black_box(&mut stream))
    })?;
    let prefix = horizon_hash::lanes::XofPrefix::new(b"bench");
    let mut counter = 0u64;
    bench.consume(
        &format!("ring/sample-u/256/{active}"),
        || {
            counter += 1;
            Ok(prefix.reader(&[&counter.to_le_bytes()]))
        },
        |mut reader| Ok::<_, Failed>(sample::committee_u(&mut reader)),
    )
}
