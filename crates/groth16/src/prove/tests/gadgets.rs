//! Every gadget on every input, and on wrong outputs.

use horizon_testkit::rng;

use super::support::{Dense, built};
use crate::{
    fr::Fr,
    prove::{
        gadgets::Bit,
        r1cs::{Builder, Lc, Rule, System},
    },
};

/// The ways in which a bit of value `value` can come about.
const FORMS: [fn(&mut Builder, bool) -> Bit; 3] = [
    |_, value| Bit::constant(value),
    |b, value| b.boolean(Rule::MuBit, value),
    |b, value| b.boolean(Rule::MuBit, !value).not(),
];

/// Runs a gadget on all inputs in all forms; `rows` is its cost when nothing is constant.
fn check_all<const N: usize>(
    gadget: fn(&mut Builder, [Bit; N]) -> Bit,
    expected: fn([bool; N]) -> bool,
    rows: usize,
) {
    let mut rng = rng(31);
    for case in 0..1 << N {
        let inputs: [bool; N] = core::array::from_fn(|index| case >> index & 1 == 1);
        for choice in 0..3_usize.pow(N as u32) {
            let forms: [usize; N] =
                core::array::from_fn(|index| choice / 3_usize.pow(index as u32) % 3);
            let variables = forms.iter().filter(|&&form| form > 0).count();
            let (system, dense, (bit, value)) = built(Vec::new(), |b| {
                let bits = core::array::from_fn(|index| FORMS[forms[index]](b, inputs[index]));
                let out = gadget(b, bits);
                (out, b.bit(out))
            });
            assert_eq!(value, expected(inputs), "{inputs:?} {forms:?}");
            assert!(
                system.failing_rows(&dense).is_empty(),
                "{inputs:?} {forms:?}"
            );
            let own = system.row_count() - variables;
            assert!(own <= rows);
            if variables < N {
                continue;
            }
            assert_eq!(own, rows);
            assert!(bit.as_constant().is_none());
            // The output is the last bit; everything but its value must fail.
            let out = system.public_count() + system.bit_count() - 1;
            for wrong in [
                Fr::ONE - dense.0[out],
                Fr::from_u64(2),
                -Fr::ONE,
                Fr::random(&mut rng),
            ] {
                let mut tampered = dense.clone();
                tampered.0[out] = wrong;
                assert!(
                    !system.failing_rows(&tampered).is_empty(),
                    "{inputs:?} {wrong:?}"
                );
            }
        }
    }
}

#[test]
fn exclusive_or_of_two_has_one_solution_for_every_input() {
    check_all(|b, [x, y]| b.xor2(x, y), |[x, y]| x ^ y, 1);
}

#[test]
fn exclusive_or_of_three_has_one_solution_for_every_input() {
    check_all(|b, [x, y, z]| b.xor3(x, y, z), |[x, y, z]| x ^ y ^ z, 1);
}

#[test]
fn chi_has_one_solution_for_every_input() {
    check_all(|b, [x, y, z]| b.chi(x, y, z), |[x, y, z]| x ^ (!y & z), 1);
}

#[test]
fn the_product_of_bits_has_one_solution_for_every_input() {
    let gadget = |b: &mut Builder, [x, y]: [Bit; 2]| b.and(Rule::HintUp, x, y);
    for case in 0..4 {
        let inputs = [case & 1 == 1, case >> 1 == 1];
        let (system, dense, value) = built(Vec::new(), |b| {
            let bits = inputs.map(|value| b.boolean(Rule::MuBit, value));
            let out = gadget(b, bits);
            b.bit(out)
        });
        assert_eq!(value, inputs[0] & inputs[1]);
        assert!(system.failing_rows(&dense).is_empty());
        let mut tampered = dense.clone();
        tampered.0[3] = Fr::ONE - dense.0[3];
        assert_eq!(system.failing_rows(&tampered).len(), 1);
    }
}

#[test]
fn only_zero_and_one_are_boolean() {
    let mut rng = rng(32);
    let (system, dense, _) = built(Vec::new(), |b| b.boolean(Rule::MuBit, false));
    for (value, good) in [(0, true), (1, true), (2, false), (-1, false)] {
        assert_eq!(
            satisfied(&system, &dense, &[(1, Fr::from_i64(value))]),
            good,
            "{value}"
        );
    }
    assert!(!satisfied(&system, &dense, &[(1, Fr::random(&mut rng))]));
}

#[test]
fn constants_fold_to_no_row() {
    let (system, _, ()) = built(Vec::new(), |b| {
        for case in 0..8 {
            let [x, y, z] = [1, 2, 4].map(|mask| Bit::constant(case & mask != 0));
            assert_eq!(
                b.xor2(x, y).as_constant(),
                Some((case & 1 != 0) ^ (case & 2 != 0))
            );
            assert!(b.xor3(x, y, z).as_constant().is_some());
            assert!(b.chi(x, y, z).as_constant().is_some());
        }
    });
    assert_eq!(system.row_count(), 0);
}

fn satisfied(system: &System, dense: &Dense, changes: &[(usize, Fr)]) -> bool {
    let mut changed = dense.clone();
    for &(var, value) in changes {
        changed.0[var] = value;
    }
    system.failing_rows(&changed).is_empty()
}

/// The range check of a public value.
fn range(value: i128, max: u64) -> (System, Dense) {
    let (system, dense, ()) = built(vec![Fr::from_i128(value)], |b| {
        let form = Lc::from(crate::prove::r1cs::Var::public(1));
        b.range([Rule::NormBit, Rule::NormLast], &form, value, max);
    });
    (system, dense)
}

#[test]
fn small_ranges_accept_exactly_their_values_for_every_choice_of_bits() {
    for max in 0..=70_u64 {
        let bits = (u64::BITS - max.leading_zeros()) as usize;
        for value in -3..=i128::from(max) + 3 {
            let (system, dense) = range(value, max);
            assert_eq!(system.row_count(), bits.max(1), "rows for {max}");
            let inside = (0..=i128::from(max)).contains(&value);
            let failing = system.failing_rows(&dense);
            assert_eq!(failing.is_empty(), inside, "{value} of {max}");
            assert!(failing.len() <= 1, "{value} of {max}");
            // No choice of the free bits helps a value outside.
            let free = bits.saturating_sub(1);
            let some_choice = (0..1_u32 << free).any(|choice| {
                let bits: Vec<(usize, Fr)> = (0..free)
                    .map(|index| (2 + index, Fr::from(choice >> index & 1 == 1)))
                    .collect();
                satisfied(&system, &dense, &bits)
            });
            assert_eq!(some_choice, inside, "{value} of {max}");
        }
    }
}

#[test]
fn large_ranges_hold_at_every_bit_boundary_and_fail_one_row_outside() {
    for max in [
        55,
        261_887,
        1_048_182,
        (1 << 30) - 1,
        u64::MAX >> 1,
        u64::MAX,
    ] {
        let wide = i128::from(max);
        let mut inside = vec![0, 1, wide - 1, wide, wide / 2];
        for bit in 0..64 {
            inside.extend([
                (1_i128 << bit) - 1,
                1 << bit,
                (1 << bit) + 1,
                wide - (1 << bit),
            ]);
        }
        inside.retain(|value| (0..=wide).contains(value));
        for value in inside {
            let (system, dense) = range(value, max);
            assert!(system.failing_rows(&dense).is_empty(), "{value} of {max}");
        }
        for value in [-1, wide + 1, -wide, 2 * wide + 2, i128::MAX, i128::MIN] {
            let (system, dense) = range(value, max);
            assert_eq!(system.failing_rows(&dense).len(), 1, "{value} of {max}");
        }
    }
}

#[test]
fn bits_add_up_or_fail_one_row() {
    for value in -2..=17_i64 {
        let (system, dense, bits) = built(vec![Fr::from_i64(value)], |b| {
            let form = Lc::from(crate::prove::r1cs::Var::public(1));
            b.bits([Rule::PositionBit, Rule::PositionSum], &form, value, 4)
        });
        assert_eq!((bits.len(), system.row_count()), (4, 5));
        let failing = system.failing_rows(&dense).len();
        assert_eq!(failing, usize::from(!(0..16).contains(&value)), "{value}");
    }
}

#[test]
fn the_zero_test_cannot_be_answered_wrongly() {
    for value in [-7_i64, -1, 0, 1, 300] {
        let inverse = Fr::from_i64(value).inverse().unwrap_or_default();
        let (system, dense, zero) = built(vec![Fr::from_i64(value)], |b| {
            let form = Lc::from(crate::prove::r1cs::Var::public(1));
            let bit = b.is_zero(&form, value == 0, inverse);
            b.bit(bit)
        });
        assert_eq!(zero, value == 0);
        assert!(system.failing_rows(&dense).is_empty());
        // Variable 2 is the answer, 3 the inverse: no inverse makes the wrong answer right.
        for claimed in [0, 1, 2, -1, 5] {
            let wrong = Fr::ONE - dense.0[2];
            assert!(!satisfied(
                &system,
                &dense,
                &[(2, wrong), (3, Fr::from_i64(claimed))]
            ));
        }
    }
}

#[test]
fn slow_and_fast_evaluation_of_a_row_agree() {
    // 2^40 x 2^40 does not overflow 128 bits, 2^62 x 2^62 x 2^31 does.
    for (factor, value) in [
        (1_i64 << 31, 1_i64 << 40),
        (i64::MAX, i64::MAX),
        (-1, i64::MIN),
    ] {
        let product = Fr::from_i64(factor) * Fr::from_i64(value) * Fr::from_i64(value);
        for (out, good) in [(product, true), (product + Fr::ONE, false)] {
            let mut builder = Builder::both(Vec::new());
            let var = builder.int_var(value);
            let result = builder.field_var(out);
            builder.row(Rule::Move, || {
                (Lc::term(var, factor), var.into(), result.into())
            });
            let (system, public, values) = builder.into_parts();
            let view = crate::prove::r1cs::View {
                public: &public,
                values: &values,
            };
            assert_eq!(
                system.failing_rows(&view).is_empty(),
                good,
                "{factor} {value}"
            );
        }
    }
}
