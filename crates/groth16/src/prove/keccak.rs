//! Keccak-f[1600] and SHAKE256 as rows.
//!
//! A round is 640 rows for the column parities, 1600 for theta and 1600 for chi; rho, pi and iota
//! rename and complement. Constants in the first state and outputs that nobody reads save rows.
//!
//! # Source
//! FIPS 202, sections 3.2 (step mappings), 4 (sponge) and 6.2 (SHAKE256).

use super::{gadgets::Bit, r1cs::Builder};

/// Lane `x + 5 y`, bit `z`.
pub(crate) type State = [[Bit; LANE]; LANES];

/// SHAKE256 of `message`: the first `out_lanes` lanes of 64 bits, at most one block.
///
/// `rounds` is 24 except in reduced circuits for tests.
pub(crate) fn shake256(
    b: &mut Builder,
    message: &[Bit],
    out_lanes: usize,
    rounds: usize,
) -> Vec<[Bit; LANE]> {
    let padded = pad(message);
    let mut state = [[Bit::ZERO; LANE]; LANES];
    let last = padded.len() / RATE_BITS - 1;
    for (index, block) in padded.chunks(RATE_BITS).enumerate() {
        for (lane, bits) in state.iter_mut().zip(block.chunks(LANE)) {
            for (place, &bit) in lane.iter_mut().zip(bits) {
                *place = b.xor2(*place, bit);
            }
        }
        let needed = if index == last { out_lanes } else { LANES };
        state = permute(b, state, needed, rounds);
    }
    state.into_iter().take(out_lanes.min(RATE_LANES)).collect()
}

/// The message with its domain bits and padding, a whole number of blocks.
fn pad(message: &[Bit]) -> Vec<Bit> {
    let mut padded = message.to_vec();
    // 1111 separates SHAKE from SHA-3; the padding is 10*1.
    padded.extend([Bit::ONE; 5]);
    let len = (padded.len() + 1).next_multiple_of(RATE_BITS);
    padded.resize(len - 1, Bit::ZERO);
    padded.push(Bit::ONE);
    padded
}

/// The first `rounds` rounds of the permutation. Only the first `needed` lanes of the result are
/// meaningful: the last round leaves out the rows that do not reach them.
pub(crate) fn permute(b: &mut Builder, mut state: State, needed: usize, rounds: usize) -> State {
    for (round, &constant) in ROUND_CONSTANTS.iter().take(rounds).enumerate() {
        let needed = if round + 1 == rounds { needed } else { LANES };
        state = theta_rho_pi(b, &state, needed);
        state = chi(b, &state, needed);
        for (z, bit) in state[0].iter_mut().enumerate() {
            *bit = bit.xor_constant(constant >> z & 1 == 1);
        }
    }
    state
}

/// Theta, and the renaming that follows it.
fn theta_rho_pi(b: &mut Builder, state: &State, needed: usize) -> State {
    let columns: [[Bit; LANE]; SIDE] = core::array::from_fn(|x| {
        core::array::from_fn(|z| {
            let [a0, a1, a2, a3, a4] = core::array::from_fn(|y| state[x + SIDE * y][z]);
            let low = b.xor3(a0, a1, a2);
            b.xor3(low, a3, a4)
        })
    });
    let wanted = lanes_read_by_chi(needed);
    let mut next = [[Bit::ZERO; LANE]; LANES];
    for x in 0..SIDE {
        let left = &columns[(x + 4) % SIDE];
        let right = &columns[(x + 1) % SIDE];
        // Constant bits of one column share their row.
        let mut shared = [None; LANE];
        for y in 0..SIDE {
            let target = y + SIDE * ((2 * x + 3 * y) % SIDE);
            if !wanted[target] {
                continue;
            }
            for z in 0..LANE {
                let (l, r) = (left[z], right[(z + LANE - 1) % LANE]);
                let out = match state[x + SIDE * y][z].as_constant() {
                    Some(flip) => shared[z]
                        .get_or_insert_with(|| b.xor2(l, r))
                        .xor_constant(flip),
                    None => b.xor3(state[x + SIDE * y][z], l, r),
                };
                next[target][(z + ROTATIONS[x + SIDE * y]) % LANE] = out;
            }
        }
    }
    next
}

/// Which lanes before chi reach the first `needed` lanes after it.
fn lanes_read_by_chi(needed: usize) -> [bool; LANES] {
    let mut wanted = [false; LANES];
    for lane in 0..needed.min(LANES) {
        let (x, row) = (lane % SIDE, lane - lane % SIDE);
        for step in 0..3 {
            wanted[row + (x + step) % SIDE] = true;
        }
    }
    wanted
}

fn chi(b: &mut Builder, state: &State, needed: usize) -> State {
    let mut next = [[Bit::ZERO; LANE]; LANES];
    for lane in 0..needed.min(LANES) {
        let (x, row) = (lane % SIDE, lane - lane % SIDE);
        let (second, third) = (row + (x + 1) % SIDE, row + (x + 2) % SIDE);
        for z in 0..LANE {
            next[lane][z] = b.chi(state[lane][z], state[second][z], state[third][z]);
        }
    }
    next
}

/// Bits of a lane.
pub(crate) const LANE: usize = 64;
/// Lanes of the state.
const LANES: usize = 25;
/// Lanes in a row or column.
const SIDE: usize = 5;
/// Lanes of a block of SHAKE256.
const RATE_LANES: usize = 17;
/// Bits of a block of SHAKE256.
const RATE_BITS: usize = RATE_LANES * LANE;
/// Rounds of the permutation.
pub(crate) const ROUNDS: usize = 24;

/// Rotation of lane `x + 5 y` (FIPS 202, table 2, modulo 64).
const ROTATIONS: [usize; LANES] = [
    0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14,
];

/// Round constants (FIPS 202, section 3.2.5).
const ROUND_CONSTANTS: [u64; ROUNDS] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];
