//! Samplers of committee mode: published values, lanes against single streams, and the
//! distributions.
//!
//! All statistics use fixed seeds, so a run repeats exactly. Their limits lie at five standard
//! deviations (chi-square: the same probability): with other seeds, one check in three million
//! would fail by chance, two-sided.

#![allow(
    clippy::cast_sign_loss,
    reason = "cell numbers, known not to be negative"
)]

#[path = "support/common.rs"]
mod common;

use common::{LEAVES, WEIGHTS, alias_table};
use horizon_hash::lanes::XofPrefix;
use horizon_ring::modulus::centered;
use horizon_ring::sample::{self, SMALL_BYTES, WIDE_BYTES};
use horizon_ring::{Error, NttPoly, Poly, Q};
use horizon_testkit::rng::rng;
use horizon_testkit::stats::{Moments, chi_square, chi_square_limit};
use sha2::{Digest, Sha256};

/// The width of the narrow Gaussian.
const SIGMA: f64 = 6.108187070284607;

/// The width of the wide Gaussian.
const SIGMA_STAR: f64 = 172852667880.27133;

/// Standard deviations at which a check fails.
const LIMIT: f64 = 5.0;

#[test]
fn the_weights_follow_the_density_and_the_table_has_the_published_digests() {
    let total: u128 = WEIGHTS.iter().sum();
    assert_eq!(total, 1 << 70);
    let density = |k: usize| (-((k * k) as f64) / (2.0 * SIGMA * SIGMA)).exp();
    let mass = 1.0 + 2.0 * (1..100).map(density).sum::<f64>();
    for (k, &weight) in WEIGHTS.iter().enumerate() {
        let expected = if k == 0 { 1.0 } else { 2.0 } * density(k) / mass * 70_f64.exp2();
        let error = (weight as f64 - expected).abs();
        assert!(
            error <= 1.0 + expected * 1e-12 || k == 0 && error < 64.0,
            "{k}"
        );
    }
    let table = alias_table();
    let mut hash = Sha256::new();
    table
        .threshold
        .iter()
        .for_each(|word| hash.update(word.to_le_bytes()));
    assert_eq!(
        horizon_testkit::vectors::to_hex(&hash.finalize()),
        "7fcb1822ea779c220ef4e0bdeaf27bebb66e1b9325ade1fee6b063c84e3fa313"
    );
    assert_eq!(
        common::digest(&table.alias),
        "fdd31357c58656741d5a4876e915d71a57fc3c593f86d41bc46012979ab2da2d"
    );
}

#[test]
fn the_published_samples_come_out_of_a_chacha20_stream() {
    let key: [u8; 32] = core::array::from_fn(|i| i as u8);
    let stream = common::chacha20(&key, WIDE_BYTES);
    let small = sample::small(stream[..SMALL_BYTES].try_into().expect("the length"));
    assert_eq!(
        small.as_array().map(centered)[..16],
        [8, -10, 4, -10, -1, -5, 1, -4, 13, 10, 2, -7, 7, -2, -9, -9]
    );
    let wide = sample::wide(stream.as_slice().try_into().expect("the length"));
    assert_eq!(
        wide.as_array().map(centered)[..6],
        [
            -753_992_827_194,
            118_417_215_639,
            -20_092_422_250,
            98_274_902_058,
            -267_700_589_877,
            186_247_554_170
        ]
    );
}

#[test]
fn every_column_gives_its_magnitude_below_the_threshold_and_its_alias_from_there_on() {
    let table = alias_table();
    for column in 0..64_u8 {
        let threshold = table.threshold[usize::from(column)];
        let numbers = [
            0,
            threshold.wrapping_sub(1),
            threshold,
            threshold.saturating_add(1),
            u64::MAX,
        ];
        for number in numbers {
            for head in [column, column | 0x40, column | 0x80, column | 0xC0] {
                let mut unit = [0; SMALL_BYTES];
                unit[..256].fill(head);
                for (p, byte) in number.to_be_bytes().into_iter().enumerate() {
                    unit[256 * (p + 1)..256 * (p + 2)].fill(byte);
                }
                let alias = i64::from(table.alias[usize::from(column)]);
                let magnitude = if number < threshold {
                    i64::from(column)
                } else {
                    alias
                };
                let expected = if head & 0x40 == 0 {
                    magnitude
                } else {
                    -magnitude
                };
                assert_eq!(
                    sample::small(&unit).as_array().map(centered),
                    [expected; 256]
                );
            }
        }
    }
}

#[test]
fn the_small_sampler_has_the_exact_distribution() {
    let mut rng = rng(0x6A);
    let mut counts = [0_u64; 127];
    let mut moments = Moments::default();
    let mut products = Moments::default();
    let mut unit = [0; SMALL_BYTES];
    let units = 16_000_u64;
    for _ in 0..units {
        rng.fill(&mut unit);
        let values = sample::small(&unit).as_array().map(centered);
        for pair in values.chunks_exact(2) {
            products.push(pair[0] as f64 * pair[1] as f64);
        }
        for value in values {
            counts[(value + 63) as usize] += 1;
            moments.push(value as f64);
        }
    }
    let total = (units * 256) as f64;
    let probability = |k: i64| {
        let weight = WEIGHTS[k.unsigned_abs() as usize] as f64 / 70_f64.exp2();
        if k == 0 { weight } else { weight / 2.0 }
    };
    let expected: Vec<f64> = (-63..64).map(|k| probability(k) * total).collect();
    let (statistic, freedom) = chi_square(&counts, &expected, 10.0);
    assert!(freedom > 50, "{freedom} cells");
    assert!(
        statistic < chi_square_limit(freedom, LIMIT),
        "chi-square {statistic} on {freedom}"
    );

    let moment = |n: i32| {
        (-63..64)
            .map(|k| probability(k) * (k as f64).powi(n))
            .sum::<f64>()
    };
    let (second, fourth) = (moment(2), moment(4));
    assert!((second.sqrt() / SIGMA - 1.0).abs() < 1e-12);
    assert!(moments.mean().abs() < LIMIT * (second / total).sqrt());
    let spread = ((fourth - second * second) / total).sqrt();
    assert!((moments.variance() - second).abs() < LIMIT * spread);
    // Neighbours are independent.
    assert!(products.mean().abs() < LIMIT * second / products.count().sqrt());

    // Tail beyond four deviations, and the last values seen.
    let tail: f64 = (25..64).map(|k| 2.0 * probability(k)).sum();
    let seen: u64 = counts
        .iter()
        .zip(-63..64_i64)
        .filter(|(_, k)| k.abs() > 24)
        .map(|(c, _)| c)
        .sum();
    assert!((seen as f64 - tail * total).abs() < LIMIT * (tail * total).sqrt());
}

#[test]
fn the_wide_sampler_has_the_distribution_of_its_width() {
    let mut rng = rng(0x6B);
    let mut moments = Moments::default();
    let mut fourth = Moments::default();
    let mut values = Vec::new();
    let mut bytes = vec![0; WIDE_BYTES];
    for _ in 0..3_000 {
        rng.fill(&mut bytes);
        let poly = sample::wide(bytes.as_slice().try_into().expect("the length"));
        for value in poly.as_array().map(centered) {
            let scaled = value as f64 / SIGMA_STAR;
            moments.push(scaled);
            fourth.push(scaled.powi(4));
            values.push(value);
        }
    }
    // The leaves' factors give the width.
    let width = SIGMA
        * LEAVES
            .iter()
            .map(|&s| (s as f64).powi(2))
            .sum::<f64>()
            .sqrt();
    assert!((width / SIGMA_STAR - 1.0).abs() < 1e-10);
    check_normal(&values, SIGMA_STAR, &moments, &fourth);
    assert!(
        values
            .iter()
            .all(|v| (v.unsigned_abs() as f64) < 41.03_f64.exp2())
    );
}

#[test]
fn the_committee_sampler_has_the_distribution_of_its_width() {
    let prefix = XofPrefix::new(b"statistics of u");
    let sigma = 2_f64.powi(22) * (3057.0_f64 / 2.0).sqrt();
    assert!((sample::SIGMA_U / sigma - 1.0).abs() < 1e-9);
    let mut moments = Moments::default();
    let mut fourth = Moments::default();
    let mut values = Vec::new();
    for batch in 0..400_u32 {
        let inputs: [[u8; 5]; 8] = core::array::from_fn(|i| {
            let [a, b, c, d] = batch.to_be_bytes();
            [a, b, c, d, i as u8]
        });
        let mut lanes = prefix.lanes(&inputs).expect("eight lanes");
        let mut polys: [Poly; 8] = core::array::from_fn(|_| Poly::ZERO);
        sample::committee_us(&mut lanes, &mut polys).expect("eight places");
        for value in polys.iter().flat_map(|poly| poly.as_array().map(centered)) {
            let scaled = value as f64 / sigma;
            moments.push(scaled);
            fourth.push(scaled.powi(4));
            values.push(value);
        }
    }
    check_normal(&values, sigma, &moments, &fourth);
}

/// Chi-square over 200 equally likely cells, low bits, sign, mean, variance and kurtosis.
fn check_normal(values: &[i64], sigma: f64, moments: &Moments, fourth: &Moments) {
    let total = values.len() as f64;
    let mut cells = vec![0_u64; 200];
    let mut low = [0_u64; 64];
    for &value in values {
        let below = 0.5 * libm::erfc(-(value as f64) / sigma / 2_f64.sqrt());
        cells[((below * 200.0) as usize).min(199)] += 1;
        low[(value & 63) as usize] += 1;
    }
    for cells in [&cells[..], &low[..]] {
        let expected = vec![total / cells.len() as f64; cells.len()];
        let (statistic, freedom) = chi_square(cells, &expected, 10.0);
        assert!(
            statistic < chi_square_limit(freedom, LIMIT),
            "chi-square {statistic} on {freedom}"
        );
    }
    assert!(moments.mean().abs() < LIMIT / total.sqrt());
    assert!((moments.variance() - 1.0).abs() < LIMIT * (2.0 / total).sqrt());
    // The fourth moment of a normal variable is 3, the variance of its fourth power 96.
    assert!((fourth.mean() - 3.0).abs() < LIMIT * (96.0 / total).sqrt());
    // Beyond four deviations: 6.33e-5 of all.
    let tail = values
        .iter()
        .filter(|v| v.unsigned_abs() as f64 > 4.0 * sigma)
        .count() as f64;
    let expected = libm::erfc(4.0 / 2_f64.sqrt()) * total;
    assert!((tail - expected).abs() < LIMIT * expected.sqrt());
}

#[test]
fn field_elements_are_uniform() {
    let prefix = XofPrefix::new(b"statistics of masks");
    let mut cells = [0_u64; 256];
    let mut low = [0_u64; 256];
    let mut total = 0.0;
    for index in 0..2_000_u32 {
        let poly = sample::field_poly(&mut prefix.reader(&[&index.to_be_bytes()]));
        for &value in poly.as_array() {
            assert!(value < Q);
            cells[(u128::from(value) * 256 / u128::from(Q)) as usize] += 1;
            low[(value & 255) as usize] += 1;
            total += 1.0;
        }
    }
    for cells in [&cells, &low] {
        let (statistic, freedom) = chi_square(cells, &[total / 256.0; 256], 10.0);
        assert!(
            statistic < chi_square_limit(freedom, LIMIT),
            "chi-square {statistic} on {freedom}"
        );
    }
}

#[test]
fn lanes_give_the_polynomials_of_the_single_streams() {
    let prefix = XofPrefix::new(b"lanes");
    for count in [1, 2, 7, 8_usize] {
        // One polynomial of u in 170 needs more blocks than are squeezed at first: with eight lanes,
        // 250 rounds see a dozen of them.
        for round in 0..if count == 8 { 250 } else { 10_u8 } {
            let inputs: Vec<[u8; 34]> = (0..count)
                .map(|i| core::array::from_fn(|k| round ^ (k as u8).wrapping_mul(i as u8 + 1)))
                .collect();
            let mut fields = vec![NttPoly::ZERO; count];
            let mut lanes = prefix.lanes(&inputs).expect("at most eight");
            sample::field_polys(&mut lanes, &mut fields).expect("as many places");
            let mut us = vec![Poly::ZERO; count];
            let mut lanes = prefix.lanes(&inputs).expect("at most eight");
            sample::committee_us(&mut lanes, &mut us).expect("as many places");
            for ((input, field), u) in inputs.iter().zip(&fields).zip(&us) {
                assert_eq!(field, &sample::field_poly(&mut prefix.reader(&[input])));
                assert_eq!(u, &sample::committee_u(&mut prefix.reader(&[input])));
            }
        }
    }
    let mut lanes = prefix.lanes(&[[0; 4]; 3]).expect("three lanes");
    let refused = Err(Error::Misuse("one polynomial for each stream"));
    assert_eq!(
        sample::field_polys(&mut lanes, &mut [NttPoly::ZERO]),
        refused
    );
    assert_eq!(sample::committee_us(&mut lanes, &mut [Poly::ZERO]), refused);
}

#[test]
fn field_elements_are_the_accepted_little_endian_words_in_order() {
    let mut stream = XofPrefix::new(b"words").reader(&[b"x"]);
    let mut bytes = vec![0; 8 * 800];
    stream.read(&mut bytes);
    let words = bytes
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("eight")));
    let accepted: Vec<u64> = words
        .map(|w| w & ((1 << 49) - 1))
        .filter(|&w| w < Q)
        .take(256)
        .collect();
    let poly = sample::field_poly(&mut XofPrefix::new(b"words").reader(&[b"x"]));
    assert_eq!(poly.as_array()[..], accepted[..]);
}
