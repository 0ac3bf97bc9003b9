//! Reduction, Decompose and UseHint: all residues, all edges.

use super::support::{built, failing_labels};
use crate::{
    key_image::Q,
    prove::{
        r1cs::{Label, Part, Rule},
        relation::{ALPHA, GAMMA2, Residue, reduce},
    },
};

/// UseHint as FIPS 204 writes it (Algorithms 36 and 40), for a residue in `0..q`.
fn use_hint(residue: i64, hint: bool) -> i64 {
    let mut r0 = residue % ALPHA;
    if r0 > ALPHA / 2 {
        r0 -= ALPHA;
    }
    let (r1, r0) = if residue - r0 == Q - 1 {
        (0, r0 - 1)
    } else {
        ((residue - r0) / ALPHA, r0)
    };
    match (hint, r0 > 0) {
        (false, _) => r1,
        (true, true) => (r1 + 1) % 16,
        (true, false) => (r1 - 1).rem_euclid(16),
    }
}

/// The `w1` that the rows leave for a bin, by trying all: exactly one.
fn forced_high(bin: i64, positive: bool, hint: bool) -> i64 {
    let solutions: Vec<i64> = (0..16)
        .filter(|&high: &i64| {
            let up = i64::from(hint && positive);
            let down = i64::from(hint) - up;
            let f1 = if high == 0 { up } else { 0 };
            let f2 = if high == 15 { down } else { 0 };
            high - up + down + 16 * f1 - 16 * f2 == bin
        })
        .collect();
    assert_eq!(
        solutions.len(),
        1,
        "bin {bin}, positive {positive}, hint {hint}"
    );
    solutions[0]
}

/// All 8 380 417 residues: the half-bins and the exceptional residue cover each exactly once, and
/// the forced `w1` is the standard's, with and without hint.
#[test]
fn half_bins_tile_the_residues_and_force_the_standard_w1() {
    let mut seen = vec![false; Q as usize];
    let mut check = |bin: i64, positive: bool, low: i64| {
        let residue = (ALPHA * bin + low).rem_euclid(Q);
        let slot = &mut seen[residue as usize];
        assert!(!*slot, "residue {residue} has two representations");
        *slot = true;
        for hint in [false, true] {
            let high = forced_table(bin, positive, hint);
            if high != use_hint(residue, hint) {
                panic!("residue {residue}, hint {hint}: forced {high}");
            }
        }
    };
    for bin in 0..16 {
        for e in 0..GAMMA2 {
            check(bin, true, e + 1);
            check(bin, false, e + 1 - GAMMA2);
        }
    }
    check(0, false, -GAMMA2);
    assert!(seen.into_iter().all(|seen| seen));
}

fn forced_table(bin: i64, positive: bool, hint: bool) -> i64 {
    static TABLE: std::sync::LazyLock<[i64; 64]> = std::sync::LazyLock::new(|| {
        core::array::from_fn(|index| {
            forced_high((index & 15) as i64, index & 16 != 0, index & 32 != 0)
        })
    });
    TABLE[bin as usize | usize::from(positive) << 4 | usize::from(hint) << 5]
}

/// The witness of every residue, in three lifts, is the standard's and adds up.
#[test]
fn the_native_witness_is_right_for_every_residue() {
    for residue in 0..Q {
        for hint in [false, true] {
            let w = residue + Q * (residue % 7 - 3);
            let r = Residue::new(w, hint);
            let (up, down) = (hint && r.positive, hint && !r.positive);
            let bin = r.high - i64::from(up) + i64::from(down) + 16 * i64::from(r.wrap_up)
                - 16 * i64::from(r.wrap_down);
            let low = r.low + 1 - GAMMA2 * i64::from(!r.positive) - i64::from(r.exception);
            let good = r.high == use_hint(residue, hint)
                && w == Q * r.quotient + ALPHA * bin + low
                && (0..GAMMA2).contains(&r.low)
                && (!r.exception || (bin == 0 && r.low == 0 && !r.positive));
            if !good {
                panic!("residue {residue}, hint {hint}: {r:?}");
            }
        }
    }
}

/// Residues at which some branch changes.
pub(crate) fn edges() -> Vec<i64> {
    let mut edges = vec![
        0,
        1,
        2,
        Q - 1,
        Q - 2,
        GAMMA2,
        GAMMA2 + 1,
        Q - GAMMA2,
        Q - GAMMA2 + 1,
        Q - GAMMA2 - 1,
        ALPHA,
        ALPHA - GAMMA2,
        ALPHA - GAMMA2 + 1,
        15 * ALPHA + GAMMA2,
        15 * ALPHA - GAMMA2,
        15 * ALPHA,
        Q - ALPHA,
    ];
    for bin in 1..16 {
        edges.extend([
            bin * ALPHA,
            bin * ALPHA + 1,
            bin * ALPHA + GAMMA2,
            bin * ALPHA + GAMMA2 + 1,
        ]);
    }
    edges
}

fn failing(residue: &Residue) -> Vec<Rule> {
    let (system, dense, _) = built(Vec::new(), |b| {
        b.part(Part::Relation);
        let w = b.int_var(residue.w);
        reduce(b, w, residue)
    });
    assert_eq!(system.row_count(), 61);
    let labels = failing_labels(&system, &dense).into_iter();
    labels.map(|Label { rule, .. }| rule).collect()
}

#[test]
fn edges_satisfy_the_rows_with_every_quotient_sign() {
    for residue in edges() {
        for hint in [false, true] {
            for quotient in [
                -(1 << 29) + 1,
                -335_418_249,
                -1,
                0,
                1,
                335_418_249,
                (1 << 29) - 2,
            ] {
                let r = Residue::new(residue + Q * quotient, hint);
                assert_eq!(failing(&r), [], "{r:?}");
            }
        }
    }
}

/// A witness that differs in the named way, with `w` adapted so that it adds up.
fn adapted(mut residue: Residue, change: impl Fn(&mut Residue)) -> Residue {
    change(&mut residue);
    let (up, down) = (
        residue.hint && residue.positive,
        residue.hint && !residue.positive,
    );
    let bin = residue.high - i64::from(up) + i64::from(down) + 16 * i64::from(residue.wrap_up)
        - 16 * i64::from(residue.wrap_down);
    let low =
        residue.low + 1 - GAMMA2 * i64::from(!residue.positive) - i64::from(residue.exception);
    residue.w = Q * residue.quotient + ALPHA * bin + low;
    residue
}

#[test]
fn a_bin_that_is_off_by_one_does_not_divide() {
    for residue in edges() {
        for hint in [false, true] {
            let mut r = Residue::new(residue, hint);
            let right = r.high;
            r.high = (right + 1) % 16;
            // Ones of the old and the new value may both be consistent with the wrap flags; what
            // cannot be is the sum.
            assert!(failing(&r).contains(&Rule::QuotientLast), "{r:?}");
        }
    }
}

#[test]
fn the_exception_is_refused_wherever_it_does_not_belong() {
    let changes: [fn(&mut Residue); 3] = [
        |r| (r.exception, r.low) = (true, 1),
        |r| (r.exception, r.positive) = (true, true),
        |r| (r.exception, r.high) = (true, 3),
    ];
    let exceptional = Residue::new(Q - GAMMA2, false);
    assert!(exceptional.exception);
    for change in changes {
        assert_eq!(failing(&adapted(exceptional, change)), [Rule::Exception]);
    }
}

#[test]
fn wraps_can_neither_be_claimed_nor_denied() {
    // Bin 3, hint up: a claimed wrap would give 16 bins more.
    let middle = Residue::new(3 * ALPHA + 5, true);
    assert_eq!(
        failing(&adapted(middle, |r| r.wrap_up = true)),
        [Rule::WrapUpZero]
    );
    let middle = Residue::new(3 * ALPHA - 5, true);
    assert_eq!(
        failing(&adapted(middle, |r| r.wrap_down = true)),
        [Rule::WrapDownZero]
    );
    let top = Residue::new(15 * ALPHA + 5, true);
    assert!(top.wrap_up && top.high == 0);
    assert_eq!(
        failing(&adapted(top, |r| r.wrap_up = false)),
        [Rule::WrapUpForced]
    );
    let bottom = Residue::new(0, true);
    assert!(bottom.wrap_down && bottom.high == 15);
    assert_eq!(
        failing(&adapted(bottom, |r| r.wrap_down = false)),
        [Rule::WrapDownForced]
    );
}

#[test]
fn low_parts_and_quotients_out_of_range_fail_one_row() {
    let base = Residue::new(3 * ALPHA + 5, false);
    assert_eq!(failing(&adapted(base, |r| r.low = GAMMA2)), [Rule::LowLast]);
    assert_eq!(failing(&adapted(base, |r| r.low = -1)), [Rule::LowLast]);
    assert_eq!(
        failing(&adapted(base, |r| r.quotient = 1 << 29)),
        [Rule::QuotientLast]
    );
    assert_eq!(
        failing(&adapted(base, |r| r.quotient = -(1 << 29) - 1)),
        [Rule::QuotientLast]
    );
    assert_eq!(failing(&adapted(base, |r| r.quotient = (1 << 29) - 1)), []);
    assert_eq!(failing(&adapted(base, |r| r.quotient = -(1 << 29))), []);
}

/// Completeness: no admissible `z` and `c` reach a quotient outside the range.
#[test]
fn every_admissible_quotient_fits() {
    let half = (Q - 1) / 2;
    let z_max = (1_i64 << 19) - 197;
    let largest_w = 5 * 256 * half * z_max + 49 * (1023 << 13);
    let largest_quotient = (largest_w + Q) / Q;
    assert_eq!(largest_quotient, 335_418_249);
    assert!(largest_quotient < 1 << 29);
    assert!(largest_w < 1 << 52);
}
