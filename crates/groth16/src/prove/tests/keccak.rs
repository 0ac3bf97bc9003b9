//! Keccak as rows against the native one and against published values.

use horizon_hash::sponge::shake256 as native;
use horizon_testkit::{SeededRng, rng, vectors::to_hex};

use super::support::{built, failing_labels};
use crate::{
    fr::Fr,
    prove::{
        gadgets::Bit,
        keccak::{self, LANE, ROUNDS, permute},
        r1cs::{Builder, Label, Part, Rule},
    },
};

fn message_bits(b: &mut Builder, message: &[u8]) -> Vec<Bit> {
    (0..8 * message.len())
        .map(|index| b.boolean(Rule::MuBit, message[index / 8] >> (index % 8) & 1 == 1))
        .collect()
}

fn to_bytes(b: &Builder, lanes: &[[Bit; LANE]]) -> Vec<u8> {
    lanes
        .as_flattened()
        .chunks(8)
        .map(|bits| {
            bits.iter()
                .rev()
                .fold(0, |byte, &bit| byte << 1 | u8::from(b.bit(bit)))
        })
        .collect()
}

/// Hashes in rows without keeping them; the values alone tell.
fn hash(message: &[u8], lanes: usize) -> Vec<u8> {
    let mut b = Builder::witnessing(Vec::new());
    let bits = message_bits(&mut b, message);
    let out = keccak::shake256(&mut b, &bits, lanes, ROUNDS);
    to_bytes(&b, &out)
}

/// FIPS 202 example values of SHAKE256 for the empty message and for 1600 bits of 0xa3.
#[test]
fn the_published_examples_come_out() {
    let empty = "46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762f";
    assert_eq!(to_hex(&hash(&[], 4)), empty);
    let a3 = "cd8a920ed141aa0407a22d59288652e9d9f1a7ee0c1e7c1ca699424da84a904d";
    assert_eq!(to_hex(&hash(&[0xa3; 200], 4)), a3);
}

#[test]
fn every_length_around_a_block_agrees_with_the_native_hash() {
    let mut rng = rng(41);
    for len in [0, 1, 7, 8, 64, 134, 135, 136, 137, 271, 272, 273, 832] {
        let message = rng.vec(len);
        let mut expected = [0; 136];
        native(&[&message], &mut expected);
        for lanes in [1, 4, 6, 17] {
            assert_eq!(
                hash(&message, lanes),
                expected[..8 * lanes],
                "{len} bytes, {lanes} lanes"
            );
        }
    }
}

/// The rows of a hash hold for its values, and a wrong bit anywhere fails one row.
#[test]
fn rows_hold_for_the_values_and_for_no_neighbour() {
    let mut rng = rng(42);
    let message = rng.vec(140);
    let (system, dense, _) = built(Vec::new(), |b| {
        b.part(Part::ChallengeHash);
        let bits = message_bits(b, &message);
        keccak::shake256(b, &bits, 6, 2)
    });
    assert!(system.failing_rows(&dense).is_empty());
    for _ in 0..200 {
        let var = 1 + 1120 + rng.index(system.bit_count() - 1120);
        let mut tampered = dense.clone();
        tampered.0[var] = Fr::ONE - dense.0[var];
        assert!(
            !failing_labels(&system, &tampered).is_empty(),
            "variable {var}"
        );
    }
}

/// Flipping one computed bit and computing on from it violates exactly its own row: the rest of the
/// permutation has no second opinion.
#[test]
fn a_flipped_state_bit_is_refused_by_its_own_row_alone() {
    let state = random_state(&mut rng(43));
    let (system, dense, ()) = built(Vec::new(), |b| {
        let bits =
            state.map(|lane| core::array::from_fn(|z| b.boolean(Rule::MuBit, lane >> z & 1 == 1)));
        permute(b, bits, 25, 1);
    });
    let last = system.public_count() + system.bit_count() - 1;
    let mut tampered = dense.clone();
    tampered.0[last] = Fr::ONE - dense.0[last];
    let expected = Label {
        part: Part::Mu,
        rule: Rule::Chi,
    };
    assert_eq!(failing_labels(&system, &tampered), [expected]);
    assert_eq!(system.failing_rows(&tampered).len(), 1);
}

#[test]
fn a_full_permutation_has_3840_rows_a_round_and_agrees_on_random_states() {
    let mut rng = rng(44);
    for case in 0..4 {
        let state = if case == 0 {
            [0; 25]
        } else {
            random_state(&mut rng)
        };
        let mut b = Builder::witnessing(Vec::new());
        let bits =
            state.map(|lane| core::array::from_fn(|z| b.boolean(Rule::MuBit, lane >> z & 1 == 1)));
        let before = b.row_count();
        let out = permute(&mut b, bits, 25, ROUNDS);
        assert_eq!(b.row_count() - before, 3840 * ROUNDS);
        let mut expected = state;
        horizon_hash::backend::permute(horizon_hash::backend::Kind::active(), &mut expected);
        let bytes: Vec<u8> = expected
            .iter()
            .flat_map(|lane| lane.to_le_bytes())
            .collect();
        assert_eq!(to_bytes(&b, &out), bytes);
    }
}

fn random_state(rng: &mut SeededRng) -> [u64; 25] {
    core::array::from_fn(|_| rng.next())
}
