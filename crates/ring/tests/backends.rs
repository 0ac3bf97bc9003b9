//! Every operation of every backend this machine can run, against portable and against slow
//! oracles, on random and on boundary values.

#[path = "support/common.rs"]
mod common;

use common::{edgy_words, random_words};
use horizon_ring::backend::{self, ByteOrder, Kind, Term};
use horizon_ring::ntt::{Scale, Unscale};
use horizon_ring::pack::PACKED_BYTES;
use horizon_ring::sample::{SMALL_BYTES, WIDE_BYTES};
use horizon_ring::{NttMatrix, NttPoly, Q, modulus, rank};
use horizon_testkit::rng::{SeededRng, rng};

const SCALES: [(Scale, u64); 4] = [
    (Scale::One, 1),
    (Scale::R52, modulus::R52),
    (Scale::R64, modulus::R64),
    (Scale::R116, modulus::R116),
];

/// The largest value a forward transform takes: 1.99q.
const FORWARD_MAX: u64 = Q * 199 / 100;

/// A lazy value is below 9q.
const LAZY_LIMIT: u64 = 9 * Q;

/// Inputs that reach the bounds: constants, alternations, and both with noise.
fn inputs(rng: &mut SeededRng, max: u64) -> Vec<[u64; 256]> {
    let mut inputs: Vec<[u64; 256]> = Vec::new();
    for edge in [0, 1, Q - 1, Q, max] {
        inputs.push([edge; 256]);
        for period in [1, 2, 4, 8, 16, 32, 64, 128] {
            inputs.push(core::array::from_fn(|i| {
                if (i / period) % 2 == 0 { 0 } else { edge }
            }));
            inputs.push(core::array::from_fn(|i| {
                if (i / period) % 2 == 0 { edge } else { Q - 1 }
            }));
        }
    }
    for i in 0..256 {
        let mut monomial = [0; 256];
        monomial[i] = [1, Q - 1, max][i % 3];
        inputs.push(monomial);
    }
    for _ in 0..200 {
        inputs.push(random_words(rng, Q));
        inputs.push(random_words(rng, max + 1));
        inputs.push(edgy_words(rng, max + 1));
    }
    inputs
}

/// Coefficients to slots by Horner's rule.
fn slow_forward(input: &[u64; 256], scale: u64) -> [u64; 256] {
    const PSI: u64 = 182_013_311_964_515;
    core::array::from_fn(|k| {
        let x = modulus::pow(PSI, 2 * u64::from((k as u8).reverse_bits()) + 1);
        let value = input.iter().rev().fold(0, |acc, &c| {
            modulus::add(modulus::mul(acc, x), modulus::reduce(c))
        });
        modulus::mul(value, scale)
    })
}

#[test]
fn portable_transforms_match_evaluation_at_the_roots() {
    let mut rng = rng(0x51);
    for input in [
        random_words(&mut rng, Q),
        edgy_words(&mut rng, FORWARD_MAX + 1),
    ] {
        for (scale, factor) in SCALES {
            let mut out = [0; 256];
            backend::forward(Kind::Portable, &input, scale, &mut out);
            assert_eq!(out, slow_forward(&input, factor));
        }
    }
}

#[test]
fn transforms_agree_on_random_and_boundary_values() {
    let mut rng = rng(0x52);
    for input in inputs(&mut rng, FORWARD_MAX) {
        let mut plain = [0; 256];
        backend::forward(Kind::Portable, &input, Scale::One, &mut plain);
        for kind in Kind::available() {
            for (scale, factor) in SCALES {
                let expected = plain.map(|v| modulus::mul(v, factor));
                let mut out = [0; 256];
                backend::forward(kind, &input, scale, &mut out);
                assert_eq!(out, expected, "{kind:?} {scale:?}");
                backend::forward_lazy(kind, &input, scale, &mut out);
                assert!(
                    out.iter().all(|&v| v < LAZY_LIMIT),
                    "{kind:?} {scale:?} lazy bound"
                );
                assert_eq!(
                    out.map(modulus::reduce),
                    expected,
                    "{kind:?} {scale:?} lazy"
                );
            }
        }
    }
}

#[test]
fn inverse_transforms_agree_and_undo_the_forward_ones() {
    let mut rng = rng(0x53);
    let unscales = [
        (Unscale::One, 1),
        (Unscale::R52, modulus::R52),
        (Unscale::R64, modulus::R64),
        (Unscale::R128, modulus::mul(modulus::R64, modulus::R64)),
    ];
    for input in inputs(&mut rng, Q) {
        for kind in Kind::available() {
            for (unscale, factor) in unscales {
                let mut out = [0; 256];
                backend::inverse(kind, &input, unscale, &mut out);
                let mut again = [0; 256];
                backend::forward(Kind::Portable, &out, Scale::One, &mut again);
                let expected = again.map(|v| modulus::mul(v, factor));
                assert_eq!(expected, input.map(modulus::reduce), "{kind:?} {unscale:?}");
                assert!(out.iter().all(|&v| v < Q), "{kind:?} {unscale:?} canonical");
            }
        }
    }
}

#[test]
fn dot_products_agree_with_128_bit_sums_for_every_length_class() {
    let mut rng = rng(0x54);
    let inverse = modulus::inv(modulus::R52);
    for count in [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 49, 50, 100, 333] {
        for edges in [false, true] {
            let mut words = |limit: u64| -> Vec<[u64; 256]> {
                let draw = if edges { edgy_words } else { random_words };
                (0..count).map(|_| draw(&mut rng, limit)).collect()
            };
            let (a, b) = (words(Q), words(LAZY_LIMIT));
            check_dot(&a, &b, inverse);
            check_dot(&words(LAZY_LIMIT), &b, inverse);
        }
    }
}

#[test]
fn the_longest_dot_product_of_the_largest_operands_does_not_overflow() {
    let largest = [LAZY_LIMIT - 1; 256];
    let terms: Vec<Term<'_>> = (0..horizon_ring::dot::MAX_TERMS)
        .map(|_| (&largest, &largest))
        .collect();
    let square = modulus::mul(LAZY_LIMIT - 1, LAZY_LIMIT - 1);
    let expected = modulus::mul(
        modulus::mul(square, terms.len() as u64),
        modulus::inv(modulus::R52),
    );
    for kind in Kind::available() {
        let mut out = [0; 256];
        backend::dot(kind, &terms, &mut out);
        assert_eq!(out, [expected; 256], "{kind:?}");
    }
    // A longer sum is taken in pieces.
    let operand = horizon_ring::LazyNttPoly::from_array_unchecked(largest);
    let terms: Vec<Term<'_>> = (0..9000)
        .map(|_| horizon_ring::dot::term(&operand, &operand))
        .collect();
    let expected = modulus::mul(modulus::mul(square, 9000), modulus::inv(modulus::R52));
    assert_eq!(horizon_ring::dot::dot(&terms), NttPoly::constant(expected));
}

#[test]
fn sums_of_the_products_with_the_worst_quotients_stay_exact() {
    // A double-precision quotient of a product of two lazy operands can be off by several units, and
    // the term is then several q. Equal terms with the largest such error found fill an accumulator
    // that is reduced too rarely.
    let mut rng = rng(0x5B);
    let error = |a: u64, b: u64| -> f64 {
        let quotient = (a as f64 * b as f64 * (1.0 / Q as f64)).round_ties_even();
        let term = i128::from(a) * i128::from(b) - quotient as i128 * i128::from(Q);
        term as f64 / Q as f64
    };
    let mut worst = (0.0_f64, 0, 0);
    for _ in 0..400_000 {
        let [a, b] = [0; 2].map(|_| LAZY_LIMIT - 1 - rng.below(Q / 8));
        let found = error(a, b);
        if found.abs() > worst.0.abs() {
            worst = (found, a, b);
        }
    }
    let (found, a, b) = worst;
    assert!(found.abs() > 3.0, "only {found}");
    let inverse = modulus::inv(modulus::R52);
    for count in [4, 5, 12, 16, 49, 333] {
        check_dot(&vec![[a; 256]; count], &vec![[b; 256]; count], inverse);
    }
}

fn check_dot(a: &[[u64; 256]], b: &[[u64; 256]], inverse: u64) {
    let terms: Vec<Term<'_>> = a.iter().zip(b).collect();
    let expected: [u64; 256] = core::array::from_fn(|i| {
        let sum = terms
            .iter()
            .fold(0, |sum, (a, b)| modulus::add(sum, modulus::mul(a[i], b[i])));
        modulus::mul(sum, inverse)
    });
    for kind in Kind::available() {
        let mut out = [1; 256];
        backend::dot(kind, &terms, &mut out);
        assert_eq!(out, expected, "{kind:?} {} terms", terms.len());
    }
}

#[test]
fn norms_sums_bounds_and_reductions_agree() {
    let mut rng = rng(0x55);
    for round in 0..200 {
        let values = if round % 2 == 0 {
            edgy_words(&mut rng, Q)
        } else {
            random_words(&mut rng, Q)
        };
        let small = random_words(&mut rng, 1 << 19);
        let norm = |values: &[u64; 256], shift: u32| -> u128 {
            values
                .iter()
                .map(|&v| u128::from(modulus::centered(v << shift).unsigned_abs()).pow(2))
                .sum()
        };
        let raw = [0; 256].map(|_: u64| rng.next());
        let k = [0, 1, Q - 1, Q / 2, Q / 2 + 1, rng.below(Q), rng.below(Q)][round % 7];
        let factors = edgy_words(&mut rng, 1 << 52);
        let other = edgy_words(&mut rng, Q);
        let max = values.iter().copied().max().unwrap_or(0);
        for kind in Kind::available() {
            assert_eq!(
                backend::norm_sq(kind, &values, 0),
                norm(&values, 0),
                "{kind:?}"
            );
            assert_eq!(
                backend::norm_sq(kind, &small, 29),
                norm(&small, 29),
                "{kind:?}"
            );
            let mut acc = raw;
            backend::add_raw(kind, &mut acc, &values);
            let expected: [u64; 256] = core::array::from_fn(|i| raw[i].wrapping_add(values[i]));
            assert_eq!(acc, expected, "{kind:?}");
            assert!(backend::all_at_most(kind, &values, max), "{kind:?}");
            assert!(
                max == 0 || !backend::all_at_most(kind, &values, max - 1),
                "{kind:?}"
            );
            let mut out = [0; 256];
            backend::reduce(kind, &raw, &mut out);
            assert_eq!(out, raw.map(|v| v % Q), "{kind:?}");
            let mut sum = values;
            backend::add(kind, &mut sum, &other);
            let expected: [u64; 256] = core::array::from_fn(|i| (values[i] + other[i]) % Q);
            assert_eq!(sum, expected, "{kind:?}");
            backend::sub(kind, &mut sum, &other);
            assert_eq!(sum, values, "{kind:?}");
            let mut scaled = factors;
            backend::scale(kind, &mut scaled, k);
            let expected = factors.map(|v| (u128::from(v) * u128::from(k) % u128::from(Q)) as u64);
            assert_eq!(scaled, expected, "{kind:?}");
        }
    }
}

#[test]
fn one_word_above_the_bound_is_seen_in_every_position() {
    for kind in Kind::available() {
        for i in 0..256 {
            for word in [Q, 1 << 63, u64::MAX] {
                let mut values = [Q - 1; 256];
                values[i] = word;
                assert!(!backend::all_at_most(kind, &values, Q - 1), "{kind:?} {i}");
            }
        }
    }
}

#[test]
fn packing_agrees_and_comes_back() {
    let mut rng = rng(0x56);
    for round in 0..200 {
        let values = if round % 2 == 0 {
            edgy_words(&mut rng, Q)
        } else {
            random_words(&mut rng, Q)
        };
        let mut expected = [0; PACKED_BYTES];
        backend::pack49(Kind::Portable, &values, &mut expected);
        let bit = |i: usize| (expected[i / 8] >> (i % 8)) & 1;
        for (k, &value) in values.iter().enumerate() {
            let read = (0..49).fold(0, |v, i| v | u64::from(bit(49 * k + i)) << i);
            assert_eq!(read, value);
        }
        for kind in Kind::available() {
            let mut bytes = [0xA5; PACKED_BYTES];
            backend::pack49(kind, &values, &mut bytes);
            assert_eq!(bytes, expected, "{kind:?}");
            let mut out = [0; 256];
            assert!(backend::unpack49(kind, &bytes, &mut out), "{kind:?}");
            assert_eq!(out, values, "{kind:?}");
        }
    }
}

#[test]
fn parsed_words_agree_for_every_fill_state_and_length() {
    let mut rng = rng(0x57);
    for order in [ByteOrder::Big, ByteOrder::Little] {
        for round in 0..600 {
            let len = rng.index(1200);
            let mut bytes = rng.vec(len);
            if round % 3 == 0 {
                plant_edges(&mut rng, order, &mut bytes);
            }
            let filled = rng.index(257);
            let mut expected = [7; 256];
            let count = backend::parse_words(Kind::Portable, order, &bytes, &mut expected, filled);
            for kind in Kind::available() {
                let mut out = [7; 256];
                assert_eq!(
                    backend::parse_words(kind, order, &bytes, &mut out, filled),
                    count
                );
                assert_eq!(
                    out[..count],
                    expected[..count],
                    "{kind:?} {order:?} {len} {filled}"
                );
            }
        }
    }
}

/// Puts words around the acceptance bound into the stream.
fn plant_edges(rng: &mut SeededRng, order: ByteOrder, bytes: &mut [u8]) {
    for word in bytes.chunks_exact_mut(8) {
        let edges = [
            Q - 1,
            Q,
            Q + 1,
            (1 << 49) - 1,
            0,
            u64::MAX,
            Q - 1 + (1 << 49),
        ];
        if let Some(&edge) = edges.get(rng.index(12)) {
            word.copy_from_slice(&match order {
                ByteOrder::Big => edge.to_be_bytes(),
                ByteOrder::Little => edge.to_le_bytes(),
            });
        }
    }
}

#[test]
fn constant_time_samplers_agree_with_a_table_walk() {
    let mut rng = rng(0x58);
    for round in 0..100 {
        let mut bytes = vec![0; WIDE_BYTES];
        rng.fill(&mut bytes);
        if round % 2 == 0 {
            // Numbers that share leading bytes with the thresholds exercise every byte comparison.
            common::plant_thresholds(&mut rng, &mut bytes);
        }
        let wide: &[u8; WIDE_BYTES] = bytes.as_slice().try_into().expect("the length");
        let small: &[u8; SMALL_BYTES] = bytes[..SMALL_BYTES].try_into().expect("the length");
        let expected_small = common::table_walk(small).map(modulus::from_signed);
        let expected_wide = common::leaf_sums(wide).map(modulus::from_signed);
        for kind in Kind::available() {
            let mut out = [0; 256];
            backend::sample_small(kind, small, &mut out);
            assert_eq!(out.map(modulus::reduce), expected_small, "{kind:?}");
            backend::sample_wide(kind, wide, &mut out);
            assert_eq!(out.map(modulus::reduce), expected_wide, "{kind:?}");
        }
    }
}

#[test]
fn a_zero_pivot_in_any_slot_is_flagged_and_decided_by_full_pivoting() {
    let mut rng = rng(0x59);
    let base = NttMatrix::from_fn(8, 49, |_, _| {
        NttPoly::from_array_unchecked(random_words(&mut rng, Q))
    });
    for kind in Kind::available() {
        assert!(rank::full_rank_with(kind, &base), "{kind:?}");
        for slot in (0..256).step_by(5).chain([255]) {
            // A leading pivot of zero: the fast path stops, the matrix still has full rank.
            let mut matrix = base.clone();
            matrix.get_mut(0, 1).expect("inside").as_mut_array()[slot] = 0;
            assert!(rank::full_rank_with(kind, &matrix), "{kind:?} {slot}");
            // The second pivot vanishes only after elimination.
            let mut matrix = base.clone();
            for r in 0..2 {
                for c in 1..3 {
                    let value = [[3, 6], [5, 10]][r][c - 1];
                    matrix.get_mut(r, c).expect("inside").as_mut_array()[slot] = value;
                }
            }
            assert!(rank::full_rank_with(kind, &matrix), "{kind:?} {slot}");
            // Two proportional rows in one slot: no full rank.
            for c in 1..49 {
                let value = modulus::mul(base.get(2, c).expect("inside").as_array()[slot], 11);
                matrix.get_mut(5, c).expect("inside").as_mut_array()[slot] = value;
            }
            assert!(!rank::full_rank_with(kind, &matrix), "{kind:?} {slot}");
        }
    }
}

#[test]
fn zero_pivots_name_exactly_the_slots_of_a_scalar_elimination() {
    let mut rng = rng(0x5A);
    // Entries modulo a few values make singular leading minors common.
    for round in 0..40 {
        let bound = if round % 2 == 0 { 2 } else { 3 };
        let entries: Vec<[u64; 256]> = (0..64)
            .map(|_| random_words(&mut rng, bound).map(|v| modulus::mul(v, Q - 1 - round)))
            .collect();
        let entries: [&[u64; 256]; 64] = core::array::from_fn(|i| &entries[i]);
        let expected = backend::zero_pivots(Kind::Portable, &entries);
        assert_ne!(expected, backend::SlotSet::default());
        for kind in Kind::available() {
            assert_eq!(backend::zero_pivots(kind, &entries), expected, "{kind:?}");
        }
    }
}

#[test]
fn a_singular_leading_minor_of_any_order_is_flagged_in_every_slot() {
    // Large random entries reach every representative of zero: 0, q and, in double precision, -q.
    let mut rng = rng(0x5C);
    for k in 0..8 {
        for _ in 0..30 {
            let mut entries: Vec<[u64; 256]> = (0..64).map(|_| random_words(&mut rng, Q)).collect();
            // Row k becomes a combination of the rows above it in columns 0..=k.
            let weights: Vec<[u64; 256]> = (0..k).map(|_| random_words(&mut rng, Q)).collect();
            for c in 0..=k {
                let sum = |slot: usize| {
                    weights.iter().enumerate().fold(0, |sum, (r, weight)| {
                        modulus::add(sum, modulus::mul(weight[slot], entries[8 * r + c][slot]))
                    })
                };
                entries[8 * k + c] = core::array::from_fn(sum);
            }
            let entries: [&[u64; 256]; 64] = core::array::from_fn(|i| &entries[i]);
            for kind in Kind::available() {
                let flagged = backend::zero_pivots(kind, &entries);
                assert_eq!(flagged.0, [u64::MAX; 4], "{kind:?} order {k}");
            }
        }
    }
}
