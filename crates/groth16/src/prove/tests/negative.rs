//! What must not be proved: every change fails in the part that is there to notice it, and the host
//! refuses what the circuit cannot see.

use horizon_sig::{
    error::Error as SignatureError,
    mldsa::{ParameterSet, SigningKey},
    traits::Verifier as _,
};
use horizon_testkit::{SeededRng, rng};

use super::{
    genuine::genuine,
    support::{Slot, labels, one_slot},
};
use crate::{
    error::Misuse,
    fr::Fr,
    inputs::{W_MIN_INDEX, key_image_offset, mu_offset, slot_offset},
    key_image::{KeyPolys, N, PUBLIC_KEY_LEN},
    prove::{
        circuit::Circuit,
        r1cs::{Label, Part, Rule},
        slot::SlotWitness,
        witness::{Signature, Vote, WitnessError, assign, choose_signers, signed_slot},
    },
    statement::{Member, Statement},
};

const VECTOR: Label = Label {
    part: Part::Ball,
    rule: Rule::Vector,
};

/// Everything that follows from key, response, hint and challenge, computed again.
fn recomputed(
    slot: &Slot,
    change: impl FnOnce(&mut KeyPolys, &mut SlotWitness, &mut Vec<Vec<bool>>),
) -> Slot {
    let mut key = slot.key.clone();
    let mut witness = slot.witness.clone();
    let mut hint: Vec<Vec<bool>> = witness
        .w
        .iter()
        .map(|poly| poly.iter().map(|r| r.hint).collect())
        .collect();
    change(&mut key, &mut witness, &mut hint);
    let signature = Signature {
        c_tilde: [0; 48],
        z: witness.z,
        hint,
    };
    let witness = signed_slot(&key, &signature, witness.c, witness.mu, witness.weight);
    Slot { key, witness }
}

#[test]
fn a_changed_response_gives_another_challenge() {
    let mut rng = rng(81);
    let slot = genuine(&mut rng);
    for step in [1, -1] {
        let changed = recomputed(&slot, |_, witness, _| witness.z[3][200] += step);
        assert_eq!(changed.failing(), [VECTOR]);
    }
}

#[test]
fn a_flipped_hint_gives_another_challenge() {
    let mut rng = SeededRng::new(82);
    let slot = genuine(&mut rng);
    let set = slot.witness.w[1]
        .iter()
        .position(|r| r.hint)
        .expect("some hint");
    let changed = recomputed(&slot, |_, _, hint| hint[1][set] = false);
    assert_eq!(changed.failing(), [VECTOR]);
}

#[test]
fn another_challenge_is_not_the_one_that_comes_out() {
    let mut rng = rng(83);
    let slot = genuine(&mut rng);
    // Another weight-49 challenge, as from a changed c~.
    let changed = recomputed(&slot, |_, witness, _| witness.c.rotate_left(1));
    assert_eq!(changed.failing(), [VECTOR]);
    let changed = recomputed(&slot, |_, witness, _| witness.c.fill(0));
    assert_eq!(changed.failing(), [VECTOR]);
}

#[test]
fn another_message_gives_another_challenge_or_does_not_fit_its_limbs() {
    let mut rng = rng(84);
    let slot = genuine(&mut rng);
    let changed = recomputed(&slot, |_, witness, _| witness.mu[10] ^= 4);
    assert_eq!(changed.failing(), [VECTOR]);
    for limb in 0..3 {
        let mut assignment = Slot::assign(core::slice::from_ref(&slot), 1);
        assignment.public_mut()[mu_offset(0) + limb - 1] += Fr::ONE;
        let failing = one_slot().failing_rows(&assignment);
        assert_eq!(failing.len(), 1);
        assert_eq!(
            (failing[0].label.part, failing[0].label.rule),
            (Part::Mu, Rule::MuLimb)
        );
    }
}

#[test]
fn another_key_fails_in_the_products_or_gives_another_challenge() {
    let mut rng = rng(85);
    let slot = genuine(&mut rng);
    let changed = recomputed(&slot, |key, _, _| key.a[7][100] ^= 1);
    assert_eq!(changed.failing(), [VECTOR]);
    let changed = recomputed(&slot, |key, _, _| key.t[2][100] ^= 1 << 13);
    assert_eq!(changed.failing(), [VECTOR]);
    // The same witness against the other key.
    let changed = Slot {
        key: changed.key,
        witness: slot.witness.clone(),
    };
    let failing = changed.failing();
    assert!(
        failing.iter().all(|label| label.part == Part::Products),
        "{failing:?}"
    );
    // A single point of the image.
    let mut assignment = Slot::assign(core::slice::from_ref(&slot), 1);
    assignment.public_mut()[key_image_offset(0) + 5000 - 1] += Fr::ONE;
    let failing = one_slot().failing_rows(&assignment);
    assert_eq!(failing.len(), 1);
    assert_eq!(failing[0].label.part, Part::Products);
}

#[test]
fn a_signature_of_another_validator_gives_another_challenge() {
    let mut rng = rng(86);
    let (first, second) = (genuine(&mut rng), genuine(&mut rng));
    let changed = recomputed(&first, |key, _, _| *key = second.key.clone());
    assert_eq!(changed.failing(), [VECTOR]);
}

#[test]
fn weights_below_the_quorum_fail_one_row() {
    let mut rng = rng(87);
    let mut slot = genuine(&mut rng);
    for (weight, weight_min, good) in [
        (5, 5, true),
        (6, 5, true),
        (4, 5, false),
        (0, 1, false),
        (u64::MAX, u64::MAX, true),
        (u64::MAX, 0, true),
        (u64::MAX - 1, u64::MAX, false),
        (0, u64::MAX, false),
    ] {
        slot.witness.weight = weight;
        let assignment = Slot::assign(core::slice::from_ref(&slot), weight_min);
        let failing = one_slot().failing_rows(&assignment);
        assert_eq!(failing.is_empty(), good, "{weight} of {weight_min}");
        if !good {
            assert_eq!(failing.len(), 1);
            assert_eq!(failing[0].label.rule, Rule::QuorumLast);
        }
    }
}

#[test]
fn another_weight_or_quorum_in_the_inputs_does_not_fit() {
    let mut rng = rng(88);
    let slot = genuine(&mut rng);
    let mut assignment = Slot::assign(core::slice::from_ref(&slot), 1);
    assignment.public_mut()[slot_offset(0) - 1] = Fr::from_u64(2);
    let failing = one_slot().failing_rows(&assignment);
    assert_eq!(failing.len(), 1);
    assert_eq!(
        (failing[0].label.part, failing[0].label.rule),
        (Part::Slot, Rule::Counted)
    );
    for weight_min in [0, 2] {
        let mut assignment = Slot::assign(core::slice::from_ref(&slot), 1);
        assignment.public_mut()[W_MIN_INDEX - 1] = Fr::from_u64(weight_min);
        let failing = labels(&one_slot().failing_rows(&assignment));
        let expected = Label {
            part: Part::Quorum,
            rule: Rule::QuorumLast,
        };
        assert_eq!(failing, [expected]);
    }
}

#[test]
fn an_absent_slot_satisfies_the_rows_only_while_it_does_not_count() {
    let mut rng = rng(89);
    let mut slot = genuine(&mut rng);
    slot.witness = SlotWitness::absent(&crate::prove::slot::Shape::ml_dsa_65(), 9, slot.witness.mu);
    let assignment = Slot::assign(core::slice::from_ref(&slot), 0);
    assert!(one_slot().failing_rows(&assignment).is_empty());
    slot.witness.on = true;
    let assignment = Slot::assign(core::slice::from_ref(&slot), 9);
    assert_eq!(labels(&one_slot().failing_rows(&assignment)), [VECTOR]);
}

struct Validator {
    key: [u8; PUBLIC_KEY_LEN],
    signature: Vec<u8>,
}

const CONTEXT: &[u8] = b"a context of 23 bytes..";
const MESSAGE: &[u8] = b"one message";

fn validators(rng: &mut SeededRng, count: usize) -> Vec<Validator> {
    (0..count)
        .map(|_| {
            let key = SigningKey::generate(ParameterSet::MlDsa65, rng).unwrap();
            Validator {
                key: key.verifying_key().key_bytes().try_into().unwrap(),
                signature: key.sign_hedged(CONTEXT, MESSAGE, rng).unwrap(),
            }
        })
        .collect()
}

fn votes(validators: &[Validator]) -> Vec<Vote<'_>> {
    let vote = |(index, validator)| vote(index, validator);
    validators.iter().enumerate().map(vote).collect()
}

fn vote(index: usize, validator: &Validator) -> Vote<'_> {
    Vote {
        member: Member {
            key: Some(&validator.key),
            weight: 10 + index as u64,
        },
        signature: Some(&validator.signature),
    }
}

fn statement(weight_min: u64) -> Statement<'static> {
    Statement {
        message: MESSAGE,
        context: CONTEXT,
        inputs_hash: [9; 32],
        weight_min,
    }
}

/// Weights 10, 11, 12, 13: all together 46.
#[test]
fn all_signers_exactly_the_quorum_and_each_slot_absent_once_are_proved() {
    let circuit = Circuit::new(4).unwrap();
    let validators = validators(&mut rng(90), 4);
    let all = votes(&validators);
    let mut cases = vec![(all.clone(), 46), (all.clone(), 1)];
    for absent in 0..4 {
        let mut some = all.clone();
        some[absent].signature = None;
        cases.push((some, 46 - 10 - absent as u64));
    }
    // A validator without a key, and fewer validators than slots.
    let mut keyless = all.clone();
    keyless[2].member.key = None;
    keyless[2].signature = None;
    cases.push((keyless, 34));
    cases.push((all[..1].to_vec(), 10));
    for (index, (votes, weight_min)) in cases.iter().enumerate() {
        let assignment = assign(&circuit, &statement(*weight_min), votes).unwrap();
        assert_eq!(assignment.len(), circuit.variable_count());
        assert_eq!(
            labels(&circuit.failing_rows(&assignment)),
            [],
            "case {index}"
        );
        let one_more = assign(&circuit, &statement(weight_min + 37), votes);
        assert!(matches!(one_more, Err(WitnessError::Weight { .. })) || *weight_min == 1);
    }
}

/// The slots of one assignment exchanged behind the host's back.
#[test]
fn two_slots_swapped_fail_in_the_rows_that_tie_them_to_their_inputs() {
    let circuit = Circuit::new(2).unwrap();
    let mut rng = rng(91);
    let slots = [genuine(&mut rng), genuine(&mut rng)];
    let mut swapped = slots.clone();
    let [first, second] = &mut swapped;
    core::mem::swap(&mut first.witness, &mut second.witness);
    let assignment = Slot::assign(&swapped, 2);
    let failing = circuit.failing_rows(&assignment);
    assert!(failing.iter().all(|row| row.label.part == Part::Products));
    assert!(
        [Some(0), Some(1)]
            .iter()
            .all(|slot| failing.iter().any(|row| row.slot == *slot))
    );
    assert!(circuit.failing_rows(&Slot::assign(&slots, 2)).is_empty());
}

#[test]
fn the_host_refuses_what_does_not_verify() {
    let circuit = one_slot();
    let validators = validators(&mut rng(92), 2);
    let good = votes(&validators)[0];
    let refused =
        |vote: Vote<'_>, statement: &Statement<'_>| match assign(circuit, statement, &[vote]) {
            Err(WitnessError::Signature { slot: 0, error }) => error,
            other => panic!("{:?}", other.map(|_| "accepted")),
        };
    let other_signature = Vote {
        signature: Some(&validators[1].signature),
        ..good
    };
    assert!(matches!(
        refused(other_signature, &statement(1)),
        SignatureError::Rejected(_)
    ));
    let other_message = Statement {
        message: b"two messages",
        ..statement(1)
    };
    assert!(matches!(
        refused(good, &other_message),
        SignatureError::Rejected(_)
    ));
    let other_context = Statement {
        context: b"another context",
        ..statement(1)
    };
    assert!(matches!(
        refused(good, &other_context),
        SignatureError::Rejected(_)
    ));
    let long_context = Statement {
        context: &[0; 256],
        ..statement(1)
    };
    assert_eq!(
        assign(circuit, &long_context, &[good]).err(),
        Some(WitnessError::Misuse(Misuse::ContextTooLong))
    );
}

#[test]
fn the_host_refuses_every_encoding_that_is_not_canonical() {
    let validators = validators(&mut SeededRng::new(93), 1);
    let good = &validators[0].signature;
    assert!(Signature::decode(good).is_some());
    let hint_start = good.len() - 61;
    let ends: Vec<u8> = good[good.len() - 6..].to_vec();
    let edit = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        bytes
    };
    let mut cases: Vec<(&str, Vec<u8>)> = vec![
        ("3308 bytes", edit(&|bytes| _ = bytes.pop())),
        ("3310 bytes", edit(&|bytes| bytes.push(0))),
        ("no byte", Vec::new()),
        (
            "positions not increasing",
            edit(&|bytes| bytes.swap(hint_start, hint_start + 1)),
        ),
        (
            "a position twice",
            edit(&|bytes| bytes[hint_start + 1] = bytes[hint_start]),
        ),
        (
            "counts decreasing",
            edit(&|bytes| bytes[hint_start + 56] = 0),
        ),
        (
            "a count above 55",
            edit(&|bytes| bytes[hint_start + 60] = 56),
        ),
        (
            "a count of 255",
            edit(&|bytes| bytes[hint_start + 60] = 255),
        ),
    ];
    assert!(ends[0] >= 2 && ends[1] > 0, "another seed is needed");
    if ends[5] < 55 {
        cases.push((
            "padding not zero",
            edit(&|bytes| bytes[hint_start + 54] = 1),
        ));
    }
    for (name, bytes) in cases {
        assert!(Signature::decode(&bytes).is_none(), "{name}");
        let vote = Vote {
            signature: Some(&bytes),
            ..votes(&validators)[0]
        };
        let verdict = assign(one_slot(), &statement(1), &[vote]);
        assert!(
            matches!(verdict, Err(WitnessError::Signature { slot: 0, .. })),
            "{name}: {:?}",
            verdict.err()
        );
    }
}

#[test]
fn the_host_refuses_votes_that_do_not_fit_their_slots() {
    let circuit = one_slot();
    let validators = validators(&mut rng(94), 2);
    let both = votes(&validators);
    let verdict =
        |votes: &[Vote<'_>], weight_min| assign(circuit, &statement(weight_min), votes).err();
    let too_many = Some(WitnessError::Misuse(Misuse::TooManyValidators));
    assert_eq!(verdict(&both, 1), too_many);
    let same = Some(WitnessError::SameKey {
        first: 0,
        second: 1,
    });
    let twice = [both[0], both[0]];
    let two_slots = Circuit::new(2).unwrap();
    assert_eq!(assign(&two_slots, &statement(1), &twice).err(), same);
    let keyless = Vote {
        member: Member {
            key: None,
            weight: 10,
        },
        ..both[0]
    };
    assert_eq!(
        verdict(&[keyless], 1),
        Some(WitnessError::NoKey { slot: 0 })
    );
    let short = Some(WitnessError::Weight {
        weight: 10,
        weight_min: 11,
    });
    assert_eq!(verdict(&both[..1], 11), short);
    assert_eq!(verdict(&both[..1], 10), None);
}

#[test]
fn the_quorum_profile_takes_the_heaviest_signers_in_ascending_order() {
    let validators = validators(&mut rng(95), 5);
    let mut all = votes(&validators);
    assert_eq!(choose_signers(&all, 3, 39), Ok(vec![2, 3, 4]));
    all[3].signature = None;
    assert_eq!(choose_signers(&all, 3, 37), Ok(vec![1, 2, 4]));
    assert_eq!(choose_signers(&all, 9, 1), Ok(vec![0, 1, 2, 4]));
    let short = WitnessError::Weight {
        weight: 37,
        weight_min: 38,
    };
    assert_eq!(choose_signers(&all, 3, 38), Err(short));
    all[1].member.weight = 14;
    all[2].member.weight = 14;
    assert_eq!(choose_signers(&all, 2, 28), Ok(vec![1, 2]));
}

#[test]
fn three_of_five_signers_fill_the_three_slots_of_a_quorum() {
    let circuit = Circuit::new(3).unwrap();
    let validators = validators(&mut rng(96), 5);
    let mut all = votes(&validators);
    all[4].signature = None;
    let signers = choose_signers(&all, circuit.slots(), 36).unwrap();
    assert_eq!(signers, [1, 2, 3]);
    let chosen: Vec<Vote<'_>> = signers.iter().map(|&index| all[index]).collect();
    let assignment = assign(&circuit, &statement(36), &chosen).unwrap();
    assert_eq!(labels(&circuit.failing_rows(&assignment)), []);
    let inputs = assignment.public();
    let weights: Vec<Fr> = (0..3).map(|slot| inputs[slot_offset(slot) - 1]).collect();
    assert_eq!(weights, [11, 12, 13].map(Fr::from_u64));
}

/// The circuit reads 128 bytes; a challenge that needs more is not decoded at all.
#[test]
fn a_challenge_that_needs_more_bytes_is_refused() {
    use crate::prove::witness::sample_in_ball;
    let mut stream = vec![255; 80];
    stream.extend([0; 48]);
    assert_eq!(sample_in_ball(N, 49, 0, &stream), None);
    stream[79] = 0;
    assert!(sample_in_ball(N, 49, 0, &stream).is_some());
}
