//! A timing test in the style of dudect for the backend that valgrind cannot run (AVX-512).
//!
//! For each operation on secrets, two classes of input are timed in random order: one fixed, one
//! fresh each time. If time depends on the value, the means differ and Welch's t grows with the
//! number of samples; without a dependence it stays a standard normal variable. Interrupts make the
//! slowest samples useless, so the slowest tenth is left out, by a limit that both classes share.
//!
//! An operation fails only if |t| exceeds 10 in each of three independent rounds: chance alone does
//! that with a probability below 2^-200, and a disturbance of the machine would have to favour one
//! class three times. `timing --samples N` sets the samples per class (default 200,000; CI uses few).

#![allow(clippy::print_stdout, reason = "a program")]

use core::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use horizon_ring::backend::{self, Kind};
use horizon_ring::ntt::Scale;
use horizon_ring::sample::{SMALL_BYTES, WIDE_BYTES};
use horizon_ring::{N, modulus};
use horizon_testkit::SeededRng;
use horizon_testkit::stats::{Moments, welch_t};

const LIMIT: f64 = 10.0;
const ROUNDS: usize = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let samples = match arguments.as_slice() {
        [] => 200_000,
        [flag, number] if flag == "--samples" => match number.parse() {
            Ok(number) if number >= 100 => number,
            _ => return usage(),
        },
        _ => return usage(),
    };
    let (mut passed, mut failed) = (0, 0);
    for kind in Kind::available() {
        for (name, least) in operations(kind, samples) {
            let verdict = if least < LIMIT {
                "ok"
            } else {
                "TIME DEPENDS ON THE SECRET"
            };
            println!("{}/{name}: |t| = {least:.1} {verdict}", kind.name());
            if least < LIMIT {
                passed += 1
            } else {
                failed += 1
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(3)
    }
}

fn usage() -> ExitCode {
    eprintln!("timing [--samples N], N at least 100");
    ExitCode::from(2)
}

/// Name and smallest |t| of the rounds, for every operation that touches secrets.
fn operations(kind: Kind, samples: usize) -> Vec<(&'static str, f64)> {
    let mut out = [0; N];
    let small = test(samples, random_bytes::<SMALL_BYTES>, |input| {
        backend::sample_small(kind, input, &mut out);
        black_box(&out);
    });
    let mut out = [0; N];
    // Twenty times the work of the small sampler.
    let wide = test(samples / 10, random_bytes::<WIDE_BYTES>, |input| {
        backend::sample_wide(kind, input, &mut out);
        black_box(&out);
    });
    let mut out = [0; N];
    let transform = test(samples, random_poly, |input| {
        backend::forward(kind, input, Scale::R52, &mut out);
        black_box(&out);
    });
    let other = *random_poly(&mut SeededRng::new(9));
    let mut out = [0; N];
    let product = test(samples, random_poly, |input| {
        backend::dot(kind, &[(input, &other); 7], &mut out);
        black_box(&out);
    });
    vec![
        ("sample-small", small),
        ("sample-wide", wide),
        ("ntt-forward", transform),
        ("dot", product),
    ]
}

fn random_bytes<const L: usize>(rng: &mut SeededRng) -> Box<[u8; L]> {
    let mut bytes = Box::new([0; L]);
    rng.fill(&mut *bytes);
    bytes
}

fn random_poly(rng: &mut SeededRng) -> Box<[u64; N]> {
    Box::new(core::array::from_fn(|_| rng.below(modulus::Q)))
}

/// The smallest |t| of three rounds. All inputs are copied to one place before they are timed, so
/// that the classes differ in values only.
fn test<T: Clone>(
    samples: usize,
    draw: impl Fn(&mut SeededRng) -> Box<T>,
    mut operation: impl FnMut(&T),
) -> f64 {
    let mut rng = SeededRng::new(u64::from(std::process::id()));
    let fixed = draw(&mut rng);
    let mut place = fixed.clone();
    let mut smallest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut times = Vec::with_capacity(2 * samples);
        for _ in 0..2 * samples {
            let fresh = draw(&mut rng);
            let class = rng.next() & 1 == 0;
            place.clone_from(if class { &fixed } else { &fresh });
            operation(black_box(&place));
            let start = Instant::now();
            (0..4).for_each(|_| operation(black_box(&place)));
            times.push((class, start.elapsed().as_nanos() as f64));
        }
        smallest = smallest.min(cropped_t(&times));
    }
    smallest
}

fn cropped_t(times: &[(bool, f64)]) -> f64 {
    let mut sorted: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
    sorted.sort_by(f64::total_cmp);
    let limit = sorted[sorted.len() * 9 / 10];
    let class = |wanted: bool| -> Moments {
        times
            .iter()
            .filter(|(c, t)| *c == wanted && *t <= limit)
            .map(|(_, t)| *t)
            .collect()
    };
    welch_t(&class(true), &class(false)).abs()
}
