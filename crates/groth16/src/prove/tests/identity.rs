//! The identity harness: a key with `t1 = 0` and the response `z = (1, 0, 0, 0, 0)`.
//!
//! Then `W` is the first column of `A`, so a test chooses all 1536 residues and all hints, and the
//! challenge follows by hashing. A zero second column frees `z_1`.

use horizon_hash::sponge::shake256;
use horizon_testkit::{SeededRng, rng};

use super::{
    relation::edges,
    support::{Slot, one_slot},
};
use crate::{
    key_image::{K, KeyPolys, L, N, Poly, Q},
    prove::{
        r1cs::{Label, Part, Rule},
        relation::Residue,
        slot::Z_MAX,
        witness::{C_TILDE_LEN, OMEGA, Signature, signed_slot},
    },
};

/// First column of `A` and the hints, both by row and position.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) column: Vec<Poly>,
    pub(crate) hint: Vec<Vec<bool>>,
    pub(crate) z: Vec<Vec<i64>>,
    pub(crate) mu: [u8; 64],
}

impl Chosen {
    /// Random residues, no hint.
    pub(crate) fn random(rng: &mut SeededRng) -> Self {
        let residue = |rng: &mut SeededRng| centred(rng.below(Q as u64) as i64);
        let column = (0..K)
            .map(|_| core::array::from_fn(|_| residue(rng)))
            .collect();
        let mut z = vec![vec![0; N]; L];
        z[0][0] = 1;
        Self {
            column,
            hint: vec![vec![false; N]; K],
            z,
            mu: rng.bytes(),
        }
    }

    pub(crate) fn set(&mut self, index: usize, residue: i64, hint: bool) {
        self.column[index / N][index % N] = centred(residue);
        self.hint[index / N][index % N] = hint;
    }

    /// The slot whose challenge is the hash of what was chosen.
    pub(crate) fn slot(&self) -> Slot {
        self.slot_with(|_| {})
    }

    /// The same after a change to the decomposed coefficients, whose `w1` is what gets hashed.
    pub(crate) fn slot_with(&self, change: impl FnOnce(&mut [Vec<Residue>])) -> Slot {
        let mut a = vec![[0; N]; K * L];
        for (row, column) in a.chunks_mut(L).zip(&self.column) {
            row[0] = *column;
            // The third column on is not needed and stays zero as well.
        }
        let key = KeyPolys {
            a,
            t: vec![[0; N]; K],
        };
        let mut signature = Signature {
            c_tilde: [0; C_TILDE_LEN],
            z: self.z.clone(),
            hint: self.hint.clone(),
        };
        let mut witness = signed_slot(&key, &signature, vec![0; N], self.mu, 1);
        change(&mut witness.w);
        let nibbles: Vec<u8> = witness.w.iter().flatten().map(|r| r.high as u8).collect();
        let packed: Vec<u8> = nibbles
            .chunks(2)
            .map(|pair| pair[0] | pair[1] << 4)
            .collect();
        shake256(&[&self.mu, &packed], &mut signature.c_tilde);
        witness.c = signature.challenge().expect("short stream");
        Slot { key, witness }
    }
}

fn centred(residue: i64) -> i32 {
    (if residue > Q / 2 {
        residue - Q
    } else {
        residue
    }) as i32
}

fn failing(slot: &Slot) -> Vec<(Rule, usize)> {
    let assignment = Slot::assign(core::slice::from_ref(slot), 1);
    let mut counts: Vec<(Rule, usize)> = Vec::new();
    for row in one_slot().failing_rows(&assignment) {
        match counts.iter_mut().find(|(rule, _)| *rule == row.label.rule) {
            Some((_, count)) => *count += 1,
            None => counts.push((row.label.rule, 1)),
        }
    }
    counts
}

#[test]
fn every_edge_residue_is_proved_with_and_without_hint() {
    let mut rng = rng(71);
    let edges = edges();
    // All edges without hint, then as many with hint as there may be, in turns.
    for start in (0..edges.len()).step_by(OMEGA) {
        let mut chosen = Chosen::random(&mut rng);
        for (index, &residue) in edges.iter().enumerate() {
            chosen.set(17 * index, residue, false);
        }
        for (index, &residue) in edges.iter().skip(start).take(OMEGA).enumerate() {
            chosen.set(17 * index + 1, residue, true);
        }
        let slot = chosen.slot();
        let residues: Vec<&Residue> = slot.witness.w.iter().flatten().collect();
        assert!(residues.iter().any(|r| r.exception));
        assert!(start > 0 || residues.iter().any(|r| r.exception && r.hint));
        assert!(residues.iter().any(|r| r.wrap_up) || residues.iter().any(|r| r.wrap_down));
        assert_eq!(slot.failing(), []);
    }
}

#[test]
fn exceptional_residues_and_wraps_of_both_kinds_are_proved_together() {
    let mut rng = rng(72);
    let mut chosen = Chosen::random(&mut rng);
    for index in 0..6 {
        chosen.set(40 * index, Q - (Q - 1) / 32, index % 2 == 0);
    }
    for index in 0..13 {
        let residue = if index % 2 == 0 {
            0
        } else {
            15 * ((Q - 1) / 16) + 1
        };
        chosen.set(40 * index + 7, residue, true);
    }
    let slot = chosen.slot();
    let count =
        |of: fn(&Residue) -> bool| slot.witness.w.iter().flatten().filter(|r| of(r)).count();
    assert_eq!(count(|r| r.exception), 6);
    assert_eq!((count(|r| r.wrap_up), count(|r| r.wrap_down)), (6, 10));
    assert_eq!(slot.failing(), []);
}

#[test]
fn no_hint_and_55_hints_are_proved_and_56_fail_one_row() {
    let mut rng = rng(73);
    for (count, expected) in [
        (0, vec![]),
        (1, vec![]),
        (OMEGA, vec![]),
        (OMEGA + 1, vec![(Rule::HintWeightLast, 1)]),
        (N * K, vec![(Rule::HintWeightLast, 1)]),
    ] {
        let mut chosen = Chosen::random(&mut rng);
        for index in 0..count {
            chosen.hint[index % K][index / K] = true;
        }
        assert_eq!(failing(&chosen.slot()), expected, "{count} hints");
    }
}

#[test]
fn responses_at_the_bound_are_proved_and_beyond_it_fail_one_row() {
    let mut rng = rng(74);
    for (value, expected) in [
        (Z_MAX, vec![]),
        (-Z_MAX, vec![]),
        (Z_MAX + 1, vec![(Rule::NormLast, 1)]),
        (-Z_MAX - 1, vec![(Rule::NormLast, 1)]),
        (1 << 40, vec![(Rule::NormLast, 1)]),
    ] {
        let mut chosen = Chosen::random(&mut rng);
        chosen.z[1][rng.index(N)] = value;
        assert_eq!(failing(&chosen.slot()), expected, "{value}");
    }
}

#[test]
fn a_whole_polynomial_at_the_bound_is_proved() {
    let mut rng = rng(75);
    let mut chosen = Chosen::random(&mut rng);
    for poly in &mut chosen.z[1..] {
        poly.fill(if rng.below(2) == 0 { Z_MAX } else { -Z_MAX });
    }
    assert_eq!(chosen.slot().failing(), []);
}

/// The hash matches the forged `w1`; only the relation notices.
#[test]
fn a_bin_that_is_off_by_one_with_matching_hash_fails_in_the_relation() {
    let mut rng = rng(76);
    let chosen = Chosen::random(&mut rng);
    let slot = chosen.slot_with(|w| w[2][100].high = (w[2][100].high + 1) % 16);
    let expected = Label {
        part: Part::Relation,
        rule: Rule::QuotientLast,
    };
    assert_eq!(slot.failing(), [expected]);
    assert_eq!(failing(&slot), [(Rule::QuotientLast, 1)]);
}

#[test]
fn a_false_exception_with_matching_hash_fails_in_the_relation() {
    let mut rng = rng(77);
    let mut chosen = Chosen::random(&mut rng);
    chosen.set(5, 4711, false);
    // Claiming the exception lowers the low part by one, which e makes good.
    let slot = chosen.slot_with(|w| {
        let residue = &mut w[0][5];
        (residue.exception, residue.low) = (true, residue.low + 1);
    });
    assert_eq!(failing(&slot), [(Rule::Exception, 1)]);
}

#[test]
fn a_false_wrap_with_matching_hash_fails_in_the_relation() {
    let mut rng = rng(78);
    let alpha = (Q - 1) / 16;
    let mut chosen = Chosen::random(&mut rng);
    // Bin 15, positive: the standard gives w1 = 0 by a wrap. Denying it claims w1 = 16 mod 16 with
    // the quotient unchanged.
    chosen.set(5, 15 * alpha + 9, true);
    let slot = chosen.slot_with(|w| w[0][5].wrap_up = false);
    let rules: Vec<Rule> = failing(&slot).into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(rules, [Rule::WrapUpForced, Rule::QuotientLast]);
    // Bin 3, positive, hint: claiming a wrap at w1 = 4.
    chosen.set(5, 3 * alpha + 9, true);
    let slot = chosen.slot_with(|w| w[0][5].wrap_up = true);
    let rules: Vec<Rule> = failing(&slot).into_iter().map(|(rule, _)| rule).collect();
    assert_eq!(rules, [Rule::WrapUpZero, Rule::QuotientLast]);
}
