//! Search for second solutions in a reduced circuit, and one forgery for each class of rows.
//!
//! The reduced circuit has the same code, two rounds of Keccak and degree 8: 16 000 rows, small
//! enough to change every variable.

use std::collections::{BTreeSet, HashMap};

use horizon_testkit::SeededRng;
use rayon::prelude::*;

use super::{
    ball,
    support::{Dense, built, failing_labels, one_slot},
};
use crate::{
    fr::Fr,
    inputs::mu_limbs,
    key_image::{Q, Transform},
    prove::{
        circuit::quorum_rows,
        gadgets::Bit,
        keccak::shake256,
        r1cs::{Assigned, Builder, Label, Lc, Part, Rule, Side, System, Var},
        relation::{ALPHA, GAMMA2, Residue, reduce},
        slot::{Shape, SlotWitness, Z_MAX, synthesize},
        witness::{Matrix, sample_in_ball},
    },
};

/// A satisfied reduced slot.
struct Toy {
    system: System,
    dense: Dense,
    rows: Index,
}

/// Where variables occur.
struct Index {
    /// Rows of each variable, ascending.
    occurs: Vec<Vec<u32>>,
}

impl Index {
    fn new(system: &System) -> Self {
        let mut occurs = vec![Vec::new(); system.public_count() + system.witness_count()];
        for row in 0..system.row_count() {
            for var in variables(system, row) {
                occurs[var as usize].push(row as u32);
            }
        }
        Self { occurs }
    }

    /// The first row of a variable: for a computed one, the row that defines it.
    fn home(&self, var: u32) -> u32 {
        self.occurs[var as usize]
            .first()
            .copied()
            .unwrap_or(u32::MAX)
    }
}

/// Variables of a row, the constant one left out, ascending.
fn variables(system: &System, row: usize) -> BTreeSet<u32> {
    let terms = Side::ALL
        .into_iter()
        .flat_map(|side| system.matrix(side).row(row));
    terms.map(|term| term.var).filter(|&var| var > 0).collect()
}

impl Toy {
    /// A genuine "signature" of the reduced scheme: the challenge is guessed until it fits.
    fn signed(rng: &mut SeededRng) -> Self {
        let shape = Shape::reduced();
        let poly = |rng: &mut SeededRng, bound: u64, offset: i64| -> Vec<i32> {
            (0..shape.n)
                .map(|_| (rng.below(bound) as i64 - offset) as i32)
                .collect()
        };
        let a: Vec<Vec<i32>> = (0..shape.k * shape.l)
            .map(|_| poly(rng, Q as u64, Q / 2))
            .collect();
        let t: Vec<Vec<i32>> = (0..shape.k)
            .map(|_| poly(rng, 1024, 0).into_iter().map(|c| c << 13).collect())
            .collect();
        let matrix = Matrix {
            a: a.iter().map(|poly| &poly[..]).collect(),
            t: t.iter().map(|poly| &poly[..]).collect(),
        };
        let mut hint = vec![vec![false; shape.n]; shape.k];
        (hint[0][1], hint[1][6]) = (true, true);
        let witness = loop {
            let z: Vec<Vec<i64>> = (0..shape.l)
                .map(|_| {
                    (0..shape.n)
                        .map(|_| rng.below(2 * Z_MAX as u64) as i64 - Z_MAX)
                        .collect()
                })
                .collect();
            let stream: Vec<usize> = (0..8).map(|_| rng.index(6)).collect();
            let Some(c) = sample_in_ball(shape.n, shape.tau, rng.next(), &stream) else {
                continue;
            };
            let witness = SlotWitness {
                on: true,
                weight: 3,
                mu: rng.bytes(),
                w: matrix.residues(&z, &c, &hint),
                z,
                c,
            };
            if challenge(&shape, &witness).as_ref() == Some(&witness.c) {
                break witness;
            }
        };
        let transform = Transform::new(shape.n);
        let mut public = vec![Fr::from_u64(witness.weight)];
        public.extend(mu_limbs(&witness.mu));
        for poly in a.iter().chain(&t) {
            public.extend(transform.forward(poly.iter().map(|&c| i64::from(c))));
        }
        let (system, dense, _) = built(public, |b| synthesize(b, &shape, &witness));
        assert_eq!(failing_labels(&system, &dense), []);
        let rows = Index::new(&system);
        Self {
            system,
            dense,
            rows,
        }
    }

    fn rows_of(&self, label: Label) -> Vec<usize> {
        rows_of(&self.system, label)
    }
}

fn rows_of(system: &System, label: Label) -> Vec<usize> {
    (0..system.row_count())
        .filter(|&row| system.labels[row] == label)
        .collect()
}

/// The challenge that the hash of a reduced witness gives; `None` if the stream ends too early.
fn challenge(shape: &Shape, witness: &SlotWitness) -> Option<Vec<i64>> {
    let mut b = Builder::witnessing(Vec::new());
    let mut message: Vec<Bit> = (0..512)
        .map(|i| Bit::constant(witness.mu[i / 8] >> (i % 8) & 1 == 1))
        .collect();
    for residue in witness.w.iter().flatten() {
        message.extend((0..4).map(|i| Bit::constant(residue.high >> i & 1 == 1)));
    }
    let c_tilde = shake256(&mut b, &message, shape.challenge_lanes, shape.rounds).concat();
    let lanes = shake256(&mut b, &c_tilde, 2, shape.rounds).concat();
    let bits: Vec<u64> = lanes.into_iter().map(|bit| u64::from(b.bit(bit))).collect();
    let number = |bits: &[u64]| bits.iter().rev().fold(0, |sum, bit| sum << 1 | bit);
    let signs = number(&bits[..64]);
    let symbols: Vec<usize> = bits[64..]
        .chunks(shape.position_bits())
        .take(shape.stream_len)
        .map(|bits| number(bits) as usize)
        .collect();
    sample_in_ball(shape.n, shape.tau, signs, &symbols)
}

/// Changes on top of an assignment.
struct Overlay<'a> {
    base: &'a Dense,
    changes: HashMap<u32, Fr>,
}

impl Assigned for Overlay<'_> {
    fn small(&self, _: u32) -> Option<i64> {
        None
    }

    fn element(&self, var: u32) -> Fr {
        self.changes
            .get(&var)
            .copied()
            .unwrap_or_else(|| self.base.element(var))
    }
}

/// In which order a repair tries the variables of a row. `Newest` and `Oldest` begin with the one
/// that the row defines; `Newest` then prefers those that no row in scope defines.
#[derive(Clone, Copy, Debug)]
enum Order {
    Newest,
    Oldest,
    Random(u64),
}

/// Changes further variables until every row in `scope` holds: the variable that a row defines if
/// it may still change, some other one otherwise. Each variable changes at most once.
fn repair<'a>(
    (system, index): (&System, &Index),
    base: &'a Dense,
    changes: &[(u32, Fr)],
    scope: &dyn Fn(Label) -> bool,
    order: Order,
) -> Option<Overlay<'a>> {
    let mut overlay = Overlay {
        base,
        changes: changes.iter().copied().collect(),
    };
    let mut random = SeededRng::new(match order {
        Order::Random(seed) => seed,
        Order::Newest | Order::Oldest => 0,
    });
    let rows_at = |var: u32| index.occurs[var as usize].iter().copied();
    let mut queue: BTreeSet<u32> = changes.iter().flat_map(|&(var, _)| rows_at(var)).collect();
    while let Some(row) = queue.pop_first() {
        let label = system.labels[row as usize];
        if !scope(label) || system.holds(row as usize, &overlay) {
            continue;
        }
        let found = decompose((system, index), row, &overlay)
            .or_else(|| solve((system, index), row, &overlay, scope, (order, &mut random)))?;
        for (var, value) in found {
            overlay.changes.insert(var, value);
            queue.extend(rows_at(var));
        }
    }
    Some(overlay)
}

fn may_change(system: &System, overlay: &Overlay<'_>, var: u32) -> bool {
    var as usize >= system.public_count() && !overlay.changes.contains_key(&var)
}

/// For a row that closes a sum of bits: all of them at once.
fn decompose(
    (system, index): (&System, &Index),
    row: u32,
    overlay: &Overlay<'_>,
) -> Option<Vec<(u32, Fr)>> {
    let bit_rule = match system.labels[row as usize].rule {
        Rule::NormLast => Rule::NormBit,
        Rule::LowLast => Rule::LowBit,
        Rule::QuotientLast => Rule::QuotientBit,
        Rule::HintWeightLast => Rule::HintWeightBit,
        Rule::QuorumLast => Rule::QuorumBit,
        Rule::CompareSum => Rule::CompareBit,
        Rule::PositionSum => Rule::PositionBit,
        _ => return None,
    };
    let form = system.matrix(Side::A).row(row as usize);
    let mut bits: Vec<(i64, u32)> = form
        .iter()
        .filter(|term| {
            let home = index.home(term.var) as usize;
            term.var > 0
                && may_change(system, overlay, term.var)
                && system.labels[home].rule == bit_rule
        })
        .map(|term| (system.small[term.coeff as usize].unwrap_or(0), term.var))
        .collect();
    // Largest weights first; they are negative in the form.
    bits.sort_unstable();
    let [left, right] = [Side::A, Side::B].map(|side| {
        let value = system.evaluate(side, row as usize, overlay).to_fr();
        let own: Fr = bits
            .iter()
            .map(|&(weight, var)| Fr::from_i64(weight) * overlay.element(var))
            .sum();
        integer(value - own)
    });
    let targets = if system.labels[row as usize].rule == Rule::CompareSum
        || system.labels[row as usize].rule == Rule::PositionSum
    {
        [left, None]
    } else {
        [left, right]
    };
    targets.into_iter().flatten().find_map(|mut rest| {
        let choice: Vec<(u32, Fr)> = bits
            .iter()
            .map(|&(weight, var)| {
                let set = weight < 0 && rest >= -i128::from(weight);
                if set {
                    rest += i128::from(weight);
                }
                (var, Fr::from(set))
            })
            .collect();
        (rest == 0 && !choice.is_empty()).then_some(choice)
    })
}

/// The integer below 2^127 in absolute value that an element stands for.
fn integer(element: Fr) -> Option<i128> {
    let magnitude = |element: Fr| match element.to_canonical_limbs() {
        [low, high, 0, 0] => i128::try_from(u128::from(high) << 64 | u128::from(low)).ok(),
        _ => None,
    };
    magnitude(element).or_else(|| magnitude(-element).map(|value| -value))
}

/// One variable of the row that makes it hold.
fn solve(
    (system, index): (&System, &Index),
    row: u32,
    overlay: &Overlay<'_>,
    scope: &dyn Fn(Label) -> bool,
    (order, random): (Order, &mut SeededRng),
) -> Option<Vec<(u32, Fr)>> {
    let mut candidates: Vec<u32> = variables(system, row as usize)
        .into_iter()
        .filter(|&var| may_change(system, overlay, var))
        .collect();
    match order {
        Order::Newest => candidates.sort_by_key(|&var| {
            let home = index.home(var);
            let elsewhere = !scope(system.labels[home as usize]);
            (home != row, !elsewhere, core::cmp::Reverse(home))
        }),
        Order::Oldest => candidates.sort_by_key(|&var| (index.home(var) != row, index.home(var))),
        Order::Random(_) => {
            for end in (1..candidates.len()).rev() {
                candidates.swap(end, random.index(end + 1));
            }
        }
    }
    candidates.into_iter().find_map(|var| {
        let value = solution(system, row as usize, overlay, var)?;
        Some(vec![(var, value)])
    })
}

/// The value of `var` other than its present one that makes the row hold, if there is one.
fn solution(system: &System, row: usize, overlay: &Overlay<'_>, var: u32) -> Option<Fr> {
    let now = overlay.element(var);
    let [a, b, c] = Side::ALL.map(|side| {
        let slope: Fr = system
            .matrix(side)
            .row(row)
            .iter()
            .filter(|term| term.var == var)
            .map(|term| system.coeffs()[term.coeff as usize])
            .sum();
        let value = system.evaluate(side, row, overlay).to_fr();
        (value - slope * now, slope)
    });
    let holds = |x: Fr| (a.0 + a.1 * x) * (b.0 + b.1 * x) == c.0 + c.1 * x;
    let (square, linear) = (a.1 * b.1, a.0 * b.1 + a.1 * b.0 - c.1);
    let mut roots = vec![Fr::ZERO, Fr::ONE];
    if square.is_zero() {
        roots = vec![(c.0 - a.0 * b.0) * linear.inverse()?];
    } else if c.0.is_zero() && c.1.is_zero() {
        roots.extend(a.1.inverse().map(|inverse| -a.0 * inverse));
        roots.extend(b.1.inverse().map(|inverse| -b.0 * inverse));
    }
    roots.into_iter().find(|&root| root != now && holds(root))
}

/// Rules whose variables may differ without any meaning: the bits of a range check, which nothing
/// else reads, and inverses of zero.
const FREE: [Rule; 6] = [
    Rule::NormBit,
    Rule::LowBit,
    Rule::HintWeightBit,
    Rule::EqualForced,
    Rule::WrapUpForced,
    Rule::WrapDownForced,
];

/// Every witness variable is changed alone, in several ways, and the rest solved greedily in several
/// orders. Whatever satisfies all rows again must differ only where nothing is meant.
#[test]
fn no_variable_of_the_reduced_circuit_has_a_second_meaning() {
    let mut rng = SeededRng::new(101);
    let toy = &Toy::signed(&mut rng);
    let system = &toy.system;
    let first = system.public_count() as u32;
    let last = first + system.witness_count() as u32;
    let seed = rng.next();
    let second_solutions: Vec<(u32, Vec<Rule>)> = (first..last)
        .into_par_iter()
        .flat_map_iter(|var| {
            let now = toy.dense.element(var);
            let values = [Fr::ONE - now, now + Fr::ONE, now - Fr::ONE];
            let orders = [
                Order::Newest,
                Order::Oldest,
                Order::Random(seed ^ u64::from(var)),
                Order::Random(!seed ^ u64::from(var)),
            ];
            let tries = values.into_iter().filter(move |&value| value != now);
            let tries = tries.flat_map(move |value| orders.map(|order| (value, order)));
            tries.filter_map(move |(value, order)| {
                let index = (&toy.system, &toy.rows);
                let found = repair(index, &toy.dense, &[(var, value)], &|_| true, order)?;
                let moved = found.changes.into_iter();
                let moved = moved.filter(|&(var, value)| toy.dense.element(var) != value);
                let homes = moved.map(|(var, _)| toy.rows.home(var) as usize);
                let rules: BTreeSet<Rule> = homes.map(|row| system.labels[row].rule).collect();
                Some((var, rules.into_iter().collect()))
            })
        })
        .collect();
    for (var, rules) in &second_solutions {
        assert!(
            rules.iter().all(|rule| FREE.contains(rule)),
            "variable {var}: {rules:?}"
        );
    }
    // The search is not blind: it finds the freedom that is there, an inverse of zero.
    let seen: BTreeSet<Rule> = second_solutions
        .into_iter()
        .flat_map(|(_, rules)| rules)
        .collect();
    assert!(seen.contains(&Rule::WrapDownForced), "{seen:?}");
}

/// Nothing that starts at the switch turns an absent slot into one that counts.
#[test]
fn the_switch_of_an_absent_slot_cannot_be_turned_on() {
    let shape = Shape::reduced();
    let mut public = vec![Fr::from_u64(3)];
    public.resize(shape.input_count(), Fr::ZERO);
    let absent = SlotWitness::absent(&shape, 3, [0; 64]);
    let (system, dense, counted) = built(public, |b| {
        let counted = synthesize(b, &shape, &absent);
        b.local_index(counted)
    });
    assert_eq!(failing_labels(&system, &dense), []);
    assert!(dense.0[counted].is_zero());
    let index = Index::new(&system);
    let switch_row = rows_of(&system, label(Part::Slot, Rule::SwitchBit))[0];
    let switch = introduced(&system, &index, switch_row);
    let changes = [(switch, Fr::ONE)];
    for seed in 0..200 {
        let order = match seed {
            0 => Order::Newest,
            1 => Order::Oldest,
            seed => Order::Random(seed),
        };
        assert!(repair((&system, &index), &dense, &changes, &|_| true, order).is_none());
    }
}

/// With one class of rows dropped the same search, started at a variable of that class, finds an
/// assignment of the whole circuit that violates only the dropped rows: what a prover could forge.
/// It does so for 26 of the 48 classes with this seed, so finding nothing in the whole circuit means
/// something.
#[test]
fn dropping_rows_lets_the_search_find_forgeries_of_the_whole_circuit() {
    let toy = Toy::signed(&mut SeededRng::new(102));
    let found: BTreeSet<Label> = toy
        .system
        .label_counts()
        .into_par_iter()
        .filter(|&(label, _)| forged_without(&toy, label))
        .map(|(label, _)| label)
        .collect();
    assert!(found.len() >= 16, "{} {found:?}", found.len());
}

fn forged_without(toy: &Toy, dropped: Label) -> bool {
    let rows = toy.rows_of(dropped);
    let step = (rows.len() / 4).max(1);
    let vars: BTreeSet<u32> = rows
        .iter()
        .step_by(step)
        .flat_map(|&row| variables(&toy.system, row))
        .filter(|&var| var as usize >= toy.system.public_count())
        .collect();
    let parts = (&toy.system, &toy.rows);
    let scope = |label| label != dropped;
    vars.into_iter().any(|var| {
        let now = toy.dense.element(var);
        let values = [Fr::ONE - now, now + Fr::ONE, now - Fr::ONE];
        values.into_iter().any(|value| {
            [Order::Newest, Order::Oldest].into_iter().any(|order| {
                let forged = repair(parts, &toy.dense, &[(var, value)], &scope, order);
                forged.is_some_and(|forged| rows.iter().any(|&row| !toy.system.holds(row, &forged)))
            })
        })
    })
}

/// A system in which the rows of one part are satisfied but for those of one rule.
struct Forgery {
    system: System,
    dense: Dense,
    label: Label,
}

impl Forgery {
    /// Makes the first of the `alternatives` that can be repaired, in a satisfied system, in the
    /// rest of the part and without the rule.
    fn repaired(
        system: System,
        dense: &Dense,
        label: Label,
        alternatives: &[Vec<(u32, Fr)>],
    ) -> Self {
        let index = Index::new(&system);
        let scope = |other: Label| other.part == label.part && other != label;
        let changes = alternatives
            .iter()
            .find_map(|changes| {
                let parts = (&system, &index);
                Some(repair(parts, dense, changes, &scope, Order::Newest)?.changes)
            })
            .unwrap_or_else(|| panic!("{label:?}: the rest of the part refuses"));
        let mut forged = dense.clone();
        for (var, value) in changes {
            forged.0[var as usize] = value;
        }
        Self {
            system,
            dense: forged,
            label,
        }
    }

    /// Labels of the failing rows of the part; `dropped` leaves one rule out, as if its rows had
    /// never been made.
    fn failing(&self, dropped: Option<Rule>) -> Vec<Label> {
        let labels = failing_labels(&self.system, &self.dense).into_iter();
        labels
            .filter(|label| label.part == self.label.part && Some(label.rule) != dropped)
            .collect()
    }
}

const fn label(part: Part, rule: Rule) -> Label {
    Label { part, rule }
}

/// The variable that a row introduces: the last one that occurs there first.
fn introduced(system: &System, index: &Index, row: usize) -> u32 {
    let own = variables(system, row)
        .into_iter()
        .filter(|&var| index.home(var) as usize == row);
    own.max().expect("a variable of its own")
}

/// Forgeries inside the reduced slot: `pick` names the changes from the rows with the label.
fn in_toy(
    part: Part,
    rule: Rule,
    pick: impl FnOnce(&Toy, &[usize]) -> Vec<Vec<(u32, Fr)>>,
) -> Forgery {
    let label = label(part, rule);
    let toy = Toy::signed(&mut SeededRng::new(103));
    let rows = toy.rows_of(label);
    let changes = pick(&toy, &rows);
    Forgery::repaired(toy.system, &toy.dense, label, &changes)
}

/// Adds `steps` to the variables that the first rows with the label introduce, or takes them away.
fn add(toy: &Toy, rows: &[usize], steps: &[i64]) -> Vec<Vec<(u32, Fr)>> {
    let vars: Vec<u32> = rows
        .iter()
        .map(|&row| introduced(&toy.system, &toy.rows, row))
        .collect();
    let shifted = |sign: i64| -> Vec<(u32, Fr)> {
        let pairs = vars.iter().zip(steps);
        pairs
            .map(|(&var, step)| (var, toy.dense.element(var) + Fr::from_i64(sign * step)))
            .collect()
    };
    vec![shifted(1), shifted(-1)]
}

/// Flips the bit that a row introduces.
fn flip(toy: &Toy, row: usize) -> Vec<Vec<(u32, Fr)>> {
    let var = introduced(&toy.system, &toy.rows, row);
    vec![vec![(var, Fr::ONE - toy.dense.element(var))]]
}

/// Flips the bit that one of the rows introduces.
fn flip_any(toy: &Toy, rows: &[usize]) -> Vec<Vec<(u32, Fr)>> {
    rows.iter().flat_map(|&row| flip(toy, row)).collect()
}

/// Forgeries of one coefficient of the relation. `pick` gets the variable that the n-th row with a
/// rule introduces, and gives variables with their forged values.
fn in_relation(
    base: Residue,
    rule: Rule,
    pick: impl FnOnce(&dyn Fn(Rule, usize) -> u32) -> Vec<(u32, i64)>,
) -> Forgery {
    let (system, dense, ()) = built(Vec::new(), |b| {
        b.part(Part::Relation);
        let w = b.int_var(base.w);
        reduce(b, w, &base);
    });
    assert_eq!(failing_labels(&system, &dense), []);
    let index = Index::new(&system);
    let named = |rule: Rule, nth: usize| {
        let row = rows_of(&system, label(Part::Relation, rule))[nth];
        introduced(&system, &index, row)
    };
    let changes: Vec<(u32, Fr)> = pick(&named)
        .into_iter()
        .map(|(var, value)| (var, Fr::from_i64(value)))
        .collect();
    Forgery::repaired(system, &dense, label(Part::Relation, rule), &[changes])
}

/// A coefficient whose rows hold but for one rule. The repair adapts `W`, which the products would
/// then have to confirm: what is forged is the reduction of that `W`.
fn relation_forgeries() -> Vec<Forgery> {
    use Rule::*;
    let plain = Residue::new(3 * ALPHA + 5, false);
    let negative = Residue::new(3 * ALPHA - 5, false);
    let up = Residue::new(3 * ALPHA + 5, true);
    let down = Residue::new(3 * ALPHA - 5, true);
    let exceptional = Residue::new(Q - GAMMA2, false);
    let (top, bottom) = (Residue::new(15 * ALPHA + 5, true), Residue::new(-5, true));
    assert!(exceptional.exception && top.wrap_up);
    let bottom_down = bottom.wrap_down;
    assert!(bottom_down);
    vec![
        // e as large as one likes, closed by a bit that is no bit.
        in_relation(plain, LowBit, |v| vec![(v(LowLast, 0), GAMMA2 + 1000)]),
        in_relation(plain, LowLast, |v| vec![(v(LowLast, 0), GAMMA2)]),
        in_relation(negative, PositiveBit, |v| vec![(v(PositiveBit, 0), 2)]),
        in_relation(plain, HighBit, |v| vec![(v(HighBit, 2), 7)]),
        in_relation(negative, HintBit, |v| vec![(v(HintBit, 0), -1)]),
        in_relation(exceptional, ExceptionBit, |v| {
            vec![(v(ExceptionBit, 0), 5000)]
        }),
        in_relation(down, HintUp, |v| vec![(v(HintUp, 0), 1)]),
        in_relation(up, WrapUpZero, |v| vec![(v(WrapUpZero, 0), 1)]),
        in_relation(top, WrapUpForced, |v| vec![(v(WrapUpZero, 0), 0)]),
        in_relation(down, WrapDownZero, |v| vec![(v(WrapDownZero, 0), 1)]),
        in_relation(bottom, WrapDownForced, |v| vec![(v(WrapDownZero, 0), 0)]),
        in_relation(plain, Exception, |v| vec![(v(ExceptionBit, 0), 1)]),
        // Two bits of the quotient trade a carry.
        in_relation(plain, QuotientBit, |v| {
            vec![(v(QuotientBit, 0), 2), (v(QuotientBit, 1), -1)]
        }),
        in_relation(plain, QuotientLast, |v| vec![(v(QuotientLast, 0), 77)]),
    ]
}

/// Forgeries of the hashes, the ring and SampleInBall in the reduced slot.
fn slot_forgeries() -> Vec<Forgery> {
    use Part::{Ball, BallHash, ChallengeHash, Mu, Products, Slot, Transforms};
    use Rule::*;
    let mut forgeries = vec![
        // The limb stays, the bits are others.
        in_toy(Mu, MuBit, |toy, rows| add(toy, rows, &[2, -1])),
        in_toy(Mu, MuLimb, |toy, _| {
            flip(toy, toy.rows_of(label(Mu, MuBit))[300])
        }),
        in_toy(Transforms, ChallengeBit, |toy, rows| add(toy, rows, &[2])),
        in_toy(Transforms, ResponseTransform, |toy, rows| {
            add(toy, &rows[3..], &[1])
        }),
        in_toy(Transforms, ChallengeTransform, |toy, rows| {
            add(toy, &rows[3..], &[1])
        }),
        in_toy(Products, MatrixProduct, |toy, rows| {
            add(toy, rows, &[1, -1])
        }),
        in_toy(Products, ProductSum, |toy, rows| add(toy, rows, &[1])),
        in_toy(Slot, SwitchBit, |toy, rows| add(toy, rows, &[1])),
        in_toy(Slot, Counted, |toy, rows| add(toy, rows, &[1000])),
    ];
    for part in [ChallengeHash, BallHash] {
        for rule in [Xor2, Xor3, Chi] {
            forgeries.push(in_toy(part, rule, |toy, rows| {
                flip(toy, rows[rows.len() / 2])
            }));
        }
    }
    forgeries.extend([
        // A bit of the comparison carries into the next.
        in_toy(Ball, CompareBit, |toy, rows| add(toy, rows, &[2, -1])),
        in_toy(Ball, CompareSum, |toy, _| {
            flip(toy, toy.rows_of(label(Ball, CompareBit))[0])
        }),
        // Accepting one eighth less moves the comparison by one.
        in_toy(Ball, AcceptBit, |toy, rows| {
            let var = introduced(&toy.system, &toy.rows, rows[rows.len() - 1]);
            let eighth = Fr::from_u64(8).inverse().expect("not zero");
            let now = toy.dense.element(var);
            vec![vec![(var, now + eighth)], vec![(var, now - eighth)]]
        }),
        in_toy(Ball, Move, |toy, rows| {
            add(toy, &rows[rows.len() - 1..], &[1])
        }),
        in_toy(Ball, Select, flip_any),
        in_toy(Ball, SelectByte, |toy, rows| {
            let start = introduced(&toy.system, &toy.rows, rows[0]);
            let others = (0..8).map(|j| vec![(start, Fr::from_u64(j))]);
            others
                .filter(|change| change[0].1 != toy.dense.element(start))
                .collect()
        }),
        in_toy(Ball, EqualZero, flip_any),
        in_toy(Ball, EqualForced, |toy, _| {
            flip_any(toy, &toy.rows_of(label(Ball, EqualZero)))
        }),
        in_toy(Ball, PositionBit, |toy, rows| add(toy, rows, &[2, -1])),
        in_toy(Ball, PositionSum, |toy, _| {
            flip(toy, toy.rows_of(label(Ball, PositionBit))[0])
        }),
        in_toy(Ball, Power, |toy, rows| add(toy, rows, &[1])),
        in_toy(Ball, SplitHalf, |toy, rows| add(toy, rows, &[1])),
        in_toy(Ball, SplitSign, |toy, rows| add(toy, rows, &[1])),
        in_toy(Ball, Vector, |toy, _| {
            flip(toy, toy.rows_of(label(Transforms, ChallengeBit))[2])
        }),
    ]);
    forgeries
}

/// 56 hints: the count fails, or is closed by a bit that is no bit.
fn hint_weight_forgery(rule: Rule) -> Forgery {
    let (system, dense, ()) = built(Vec::new(), |b| {
        b.part(Part::Relation);
        let mut form = Lc::default();
        for _ in 0..56 {
            form = form.add(&b.boolean(Rule::HintBit, true).times(1), 1);
        }
        b.range([Rule::HintWeightBit, Rule::HintWeightLast], &form, 56, 55);
    });
    close_range(
        system,
        dense,
        label(Part::Relation, rule),
        Rule::HintWeightBit,
    )
}

/// Weight 4 counted against a quorum of 5.
fn quorum_forgery(rule: Rule) -> Forgery {
    let public = [0, 0, 5, 4].map(Fr::from_u64).to_vec();
    let (system, dense, ()) = built(public, |b| quorum_rows(b, &[Var::public(4)], -1));
    close_range(system, dense, label(Part::Quorum, rule), Rule::QuorumBit)
}

/// One coefficient of `z` beyond the bound.
fn norm_forgery(rule: Rule) -> Forgery {
    let (system, dense, ()) = built(Vec::new(), |b| {
        b.part(Part::Norm);
        let form = Lc::from(b.int_var(Z_MAX + 1)).plus(Z_MAX);
        let value = i128::from(2 * Z_MAX + 1);
        b.range(
            [Rule::NormBit, Rule::NormLast],
            &form,
            value,
            2 * Z_MAX as u64,
        );
    });
    close_range(system, dense, label(Part::Norm, rule), Rule::NormBit)
}

/// A range check of a value outside: as it is, only its last row fails; with the first bit set to
/// what is missing, only that bit's row.
fn close_range(system: System, mut dense: Dense, wanted: Label, bit_rule: Rule) -> Forgery {
    if wanted.rule == bit_rule {
        let index = Index::new(&system);
        let bit = introduced(&system, &index, rows_of(&system, wanted)[0]);
        let overlay = Overlay {
            base: &dense,
            changes: HashMap::new(),
        };
        let last = system.row_count() - 1;
        let closed = solution(&system, last, &overlay, bit).expect("a root");
        dense.0[bit as usize] = closed;
    }
    Forgery {
        system,
        dense,
        label: wanted,
    }
}

/// A stream with one acceptable byte too few: 49 entries are sampled all the same.
fn short_stream_forgery() -> Forgery {
    let mut stream = vec![255; 80];
    stream.extend([0; 48]);
    let c = ball::reference(5, &[0; 49]).expect("long enough");
    let (system, dense) = ball::rows(5, &stream, &c);
    Forgery {
        system,
        dense,
        label: label(Part::Ball, Rule::AllFound),
    }
}

/// For every class of rows there is a forgery that this class alone refuses. If the builder stopped
/// making those rows, the forgery would pass, and this test would say so. The rows of the inputs
/// refuse nothing; `every_public_input_occurs_in_a_row_of_its_own` guards them.
#[test]
fn every_class_of_rows_alone_refuses_its_forgery() {
    let mut forgeries = relation_forgeries();
    forgeries.extend(slot_forgeries());
    forgeries.extend([Rule::HintWeightBit, Rule::HintWeightLast].map(hint_weight_forgery));
    forgeries.extend([Rule::QuorumBit, Rule::QuorumLast].map(quorum_forgery));
    forgeries.extend([Rule::NormBit, Rule::NormLast].map(norm_forgery));
    forgeries.push(short_stream_forgery());
    for forgery in &forgeries {
        assert_eq!(forgery.failing(None), [forgery.label]);
        assert_eq!(
            forgery.failing(Some(forgery.label.rule)),
            [],
            "{:?}",
            forgery.label
        );
    }
    let covered: BTreeSet<Label> = forgeries.iter().map(|forgery| forgery.label).collect();
    let all: BTreeSet<Label> = one_slot()
        .blocks()
        .flat_map(|block| block.system.label_counts())
        .map(|(label, _)| label)
        .filter(|label| label.rule != Rule::Input)
        .collect();
    let missing: Vec<&Label> = all.difference(&covered).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(covered, all);
}
