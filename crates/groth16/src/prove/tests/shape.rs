//! Exact size and identity of the circuits. A change of one row is another circuit, for which every
//! key has to be made anew.

use horizon_testkit::vectors::to_hex;

use super::support::one_slot;
use crate::{
    inputs::{SLOT_INPUTS, SLOTS_MAX},
    prove::{
        circuit::{Circuit, SlotCountError},
        r1cs::{Part, Rule, Side},
    },
};

#[test]
fn every_part_of_one_slot_has_exactly_its_rows() {
    let expected = [
        (Part::Mu, 515),
        (Part::Norm, 25_600),
        (Part::Transforms, 2_048),
        (Part::Products, 9_216),
        (Part::Relation, 93_702),
        (Part::ChallengeHash, 648_000),
        (Part::BallHash, 89_792),
        (Part::Ball, 13_535),
        (Part::Slot, 2),
        (Part::Quorum, 64),
        (Part::Inputs, 9_224),
    ];
    let circuit = one_slot();
    assert_eq!(circuit.part_counts(), expected);
    assert_eq!(circuit.row_count(), 891_698);
    // Without the rows of the inputs, the limit of the specification.
    assert!(circuit.row_count() - 9_224 <= 884_000);
    assert_eq!(circuit.public_count(), 1 + 3 + SLOT_INPUTS);
    assert_eq!(circuit.variable_count(), 884_568);
}

#[test]
fn slots_are_copies_of_one_slot() {
    let (one, four) = (one_slot(), Circuit::new(4).unwrap());
    for ((part, single), (_, count)) in one.part_counts().into_iter().zip(four.part_counts()) {
        let expected = match part {
            Part::Quorum => single,
            Part::Inputs => 4 + 4 * SLOT_INPUTS,
            _ => 4 * single,
        };
        assert_eq!(count, expected, "{}", part.name());
    }
    assert_ne!(one.digest(), four.digest());
}

#[test]
fn the_digest_is_that_of_the_published_circuit() {
    assert_eq!(to_hex(one_slot().digest()), DIGEST_OF_ONE_SLOT);
    assert_eq!(Circuit::new(1).unwrap().digest(), one_slot().digest());
}

#[test]
fn no_slot_and_too_many_slots_are_refused() {
    for slots in [0, SLOTS_MAX + 1, usize::MAX] {
        assert_eq!(Circuit::new(slots).err(), Some(SlotCountError { slots }));
    }
}

/// Each input, the constant one included, has a row in which nothing else occurs; without it `H`
/// would have no point in the key and every `H` would verify.
#[test]
fn every_public_input_occurs_in_a_row_of_its_own() {
    let circuit = Circuit::new(2).unwrap();
    let tail = circuit.blocks().last().unwrap();
    let mut next = 0;
    for row in 0..tail.system.row_count() {
        if tail.system.labels[row].rule != Rule::Input {
            continue;
        }
        let [a, b, c] = Side::ALL.map(|side| tail.system.matrix(side).row(row));
        assert_eq!((a.len(), b.len(), c.len()), (1, 0, 0));
        assert_eq!(tail.map.global(a[0].var), next);
        assert!(tail.system.coeffs()[a[0].coeff as usize].is_one());
        next += 1;
    }
    assert_eq!(next, circuit.public_count());
}

#[test]
fn every_variable_occurs_in_a_row() {
    let circuit = Circuit::new(2).unwrap();
    let mut occurs = vec![false; circuit.variable_count()];
    for block in circuit.blocks() {
        for row in 0..block.system.row_count() {
            for side in Side::ALL {
                for term in block.system.matrix(side).row(row) {
                    occurs[block.map.global(term.var)] = true;
                }
            }
        }
    }
    assert!(occurs.into_iter().all(|occurs| occurs));
}

/// In the whole circuit of a slot, not a reduced one: which variables a row is the first to use. A
/// rule of the first list makes a bit or defines an output, linearly and in one place; the second
/// list introduces `z`, `W`, `e` and the accepted bytes, which ranges, products, quotients and
/// selections determine; every other row only states something about what is there.
#[test]
fn rows_introduce_exactly_the_variables_that_they_define() {
    let system = one_slot().blocks().next().unwrap().system;
    let mut known = vec![false; system.public_count() + system.witness_count()];
    known[..system.public_count()].fill(true);
    for row in 0..system.row_count() {
        let rule = system.labels[row].rule;
        let sides = Side::ALL.map(|side| system.matrix(side).row(row));
        let mut fresh: Vec<(u32, usize)> = Vec::new();
        for (side, terms) in sides.iter().enumerate() {
            let vars = terms.iter().map(|term| term.var);
            fresh.extend(
                vars.filter(|&var| !known[var as usize])
                    .map(|var| (var, side)),
            );
        }
        let mut vars: Vec<u32> = fresh.iter().map(|&(var, _)| var).collect();
        vars.sort_unstable();
        vars.dedup();
        match (rule, places_of_output(rule)) {
            (_, Some(places)) => {
                assert_eq!(vars.len(), 1, "row {row}, {rule:?}");
                let found: Vec<usize> = fresh.iter().map(|&(_, side)| side).collect();
                assert_eq!(found, places, "row {row}, {rule:?}");
            }
            // z and e occur in both factors of the row that closes their range.
            (Rule::NormLast | Rule::LowLast, None) => assert_eq!(vars.len(), 1),
            (Rule::ProductSum, None) => assert!([0, 256].contains(&vars.len())),
            (Rule::SelectByte, None) => assert!(vars.len() <= 1),
            (_, None) => assert!(vars.is_empty(), "row {row}, {rule:?}"),
        }
        for var in vars {
            known[var as usize] = true;
        }
    }
    assert!(known.into_iter().all(|known| known));
}

/// Which of `a`, `b`, `c` hold the variable that a row of this rule introduces, for rules that always
/// introduce one.
const fn places_of_output(rule: Rule) -> Option<&'static [usize]> {
    const A: usize = 0;
    const B: usize = 1;
    const C: usize = 2;
    match rule {
        Rule::MuBit
        | Rule::NormBit
        | Rule::ChallengeBit
        | Rule::LowBit
        | Rule::PositiveBit
        | Rule::HighBit
        | Rule::HintBit
        | Rule::ExceptionBit
        | Rule::QuotientBit
        | Rule::HintWeightBit
        | Rule::AcceptBit
        | Rule::CompareBit
        | Rule::PositionBit
        | Rule::SwitchBit => Some(&[A, B]),
        Rule::Xor3 | Rule::WrapUpZero | Rule::WrapDownZero => Some(&[B]),
        Rule::WrapUpForced | Rule::WrapDownForced => Some(&[B]),
        Rule::EqualZero | Rule::EqualForced => Some(&[B]),
        Rule::Chi => Some(&[A]),
        Rule::Xor2
        | Rule::HintUp
        | Rule::ResponseTransform
        | Rule::ChallengeTransform
        | Rule::MatrixProduct
        | Rule::Select
        | Rule::Move
        | Rule::Power
        | Rule::SplitHalf
        | Rule::SplitSign
        | Rule::Counted => Some(&[C]),
        _ => None,
    }
}

const DIGEST_OF_ONE_SLOT: &str = "5ab7c5e204c187a2f7ec4bc6d0b0b031b2ce30de72e087500f917659f933097c";
