//! The rows of one slot: one ML-DSA-65 verification behind a switch.

use super::{
    ball::{Ball, SIGN_BITS, sample_in_ball},
    gadgets::Bit,
    keccak::{LANE, ROUNDS, shake256},
    r1cs::{Builder, Coeff, Lc, Part, Rule, Var},
    relation::{Residue, reduce},
    transform::{points, product_row, signed},
};
use crate::{
    fr::Fr,
    inputs::{MU_LIMB_BITS, MU_LIMBS},
    key_image::{K, L, N, Transform},
};

/// Dimensions of a slot. Only [`Shape::ml_dsa_65`] is a signature scheme; smaller ones let tests
/// search the whole circuit.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Rounds of Keccak.
    pub(crate) rounds: usize,
    /// Degree of the ring, a power of two.
    pub(crate) n: usize,
    /// Rows of the matrix.
    pub(crate) k: usize,
    /// Columns of the matrix.
    pub(crate) l: usize,
    /// Nonzero coefficients of the challenge.
    pub(crate) tau: usize,
    /// Stream symbols of `log2 n` bits that SampleInBall may read.
    pub(crate) stream_len: usize,
    /// Most hints.
    pub(crate) omega: u64,
    /// Lanes of the challenge hash.
    pub(crate) challenge_lanes: usize,
    /// Inverses of `0..n`, zero for zero.
    inverses: Vec<Fr>,
}

impl Shape {
    /// ML-DSA-65, with 128 stream bytes: more are needed with probability 2^-140.
    pub(crate) fn ml_dsa_65() -> Self {
        Self::new(Self {
            rounds: ROUNDS,
            n: N,
            k: K,
            l: L,
            tau: 49,
            stream_len: STREAM_LEN,
            omega: 55,
            challenge_lanes: 6,
            inverses: Vec::new(),
        })
    }

    /// A toy: two rounds, degree 8.
    #[cfg(test)]
    pub(crate) fn reduced() -> Self {
        Self::new(Self {
            rounds: 2,
            n: 8,
            k: 2,
            l: 2,
            tau: 3,
            stream_len: 8,
            omega: 3,
            challenge_lanes: 6,
            inverses: Vec::new(),
        })
    }

    fn new(mut shape: Self) -> Self {
        shape.inverses = (0..shape.n as u64).map(Fr::from_u64).collect();
        Fr::batch_inverse(&mut shape.inverses);
        shape
    }

    /// Public inputs of the slot: weight, `mu`, key image.
    pub(crate) const fn input_count(&self) -> usize {
        1 + MU_LIMBS + (self.k * self.l + self.k) * self.n
    }

    /// Bits of a position.
    pub(crate) const fn position_bits(&self) -> usize {
        self.n.ilog2() as usize
    }

    /// Inverse of a difference of positions; zero for zero and for what is no such difference.
    pub(crate) fn inverse(&self, difference: i64) -> Fr {
        let magnitude = usize::try_from(difference.unsigned_abs()).unwrap_or(usize::MAX);
        let inverse = self.inverses.get(magnitude).copied().unwrap_or_default();
        if difference < 0 { -inverse } else { inverse }
    }

    /// Points of matrix entry `(i, j)`, or of `t_i` for `j = l`, as public variables.
    fn image(&self, i: usize, j: usize) -> Vec<Var> {
        let poly = if j < self.l {
            i * self.l + j
        } else {
            self.k * self.l + i
        };
        let start = 1 + 1 + MU_LIMBS + poly * self.n;
        (start..start + self.n).map(Var::public).collect()
    }
}

/// Everything a slot's rows are about, except what follows from hashing.
#[derive(Clone, Debug)]
pub(crate) struct SlotWitness {
    /// Whether the slot counts.
    pub(crate) on: bool,
    /// Public weight of the slot.
    pub(crate) weight: u64,
    /// Message representative.
    pub(crate) mu: [u8; 64],
    /// `l` polynomials.
    pub(crate) z: Vec<Vec<i64>>,
    /// The challenge, coefficients -1, 0, 1.
    pub(crate) c: Vec<i64>,
    /// `k` polynomials of decomposed coefficients of `A z - c t`.
    pub(crate) w: Vec<Vec<Residue>>,
}

impl SlotWitness {
    /// An absent signer: everything zero.
    pub(crate) fn absent(shape: &Shape, weight: u64, mu: [u8; 64]) -> Self {
        Self {
            on: false,
            weight,
            mu,
            z: vec![vec![0; shape.n]; shape.l],
            c: vec![0; shape.n],
            w: vec![vec![Residue::new(0, false); shape.n]; shape.k],
        }
    }
}

/// Adds the rows of one slot; returns the variable that holds the weight it counts with.
pub(crate) fn synthesize(b: &mut Builder, shape: &Shape, witness: &SlotWitness) -> Var {
    b.part(Part::Slot);
    let switch = b.boolean(Rule::SwitchBit, witness.on);
    let counted = counted_weight(b, switch, witness);

    b.part(Part::Mu);
    let mu = message_representative(b, &witness.mu);
    b.part(Part::Norm);
    let z = response(b, &witness.z);
    b.part(Part::Transforms);
    let indicators = [1, -1].map(|sign| -> Vec<Bit> {
        let entries = witness.c.iter();
        entries
            .map(|&c| b.boolean(Rule::ChallengeBit, c == sign))
            .collect()
    });
    let [plus, minus] = &indicators;
    let transform = Transform::new(shape.n);
    let z_points: Vec<Vec<Var>> = z
        .iter()
        .zip(&witness.z)
        .map(|(forms, values)| points(b, Rule::ResponseTransform, &transform, forms, values))
        .collect();
    let c = signed(plus, minus);
    let c_points = points(b, Rule::ChallengeTransform, &transform, &c, &witness.c);

    b.part(Part::Products);
    let mut w: Vec<Vec<Var>> = Vec::with_capacity(shape.k);
    for (i, residues) in witness.w.iter().enumerate() {
        let row: Vec<Var> = residues
            .iter()
            .map(|residue| b.int_var(residue.w))
            .collect();
        let a: Vec<Vec<Var>> = (0..shape.l).map(|j| shape.image(i, j)).collect();
        let t = shape.image(i, shape.l);
        product_row(b, &transform, (&a, &t), (&z_points, &c_points), &row);
        w.push(row);
    }

    b.part(Part::Relation);
    let mut message = mu;
    let mut weight = (Lc::default(), 0);
    for (&var, residue) in w.iter().flatten().zip(witness.w.iter().flatten()) {
        let outputs = reduce(b, var, residue);
        message.extend(outputs.high);
        outputs.hint.add_to(&mut weight.0, Coeff::Int(1));
        weight.1 += i128::from(residue.hint);
    }
    let rules = [Rule::HintWeightBit, Rule::HintWeightLast];
    b.range(rules, &weight.0, weight.1, shape.omega);

    challenge(b, shape, &message, switch, [plus, minus]);
    counted
}

/// From the hash of `mu` and `w1` to the indicators of the challenge.
fn challenge(
    b: &mut Builder,
    shape: &Shape,
    message: &[Bit],
    switch: Bit,
    [plus, minus]: [&[Bit]; 2],
) {
    b.part(Part::ChallengeHash);
    let c_tilde = shake256(b, message, shape.challenge_lanes, shape.rounds).concat();
    b.part(Part::BallHash);
    let stream_bits = SIGN_BITS + shape.stream_len * shape.position_bits();
    let stream = shake256(b, &c_tilde, stream_bits.div_ceil(LANE), shape.rounds).concat();
    b.part(Part::Ball);
    let ball = Ball {
        stream: &stream,
        switch,
        plus,
        minus,
    };
    sample_in_ball(b, shape, &ball);
}

fn counted_weight(b: &mut Builder, switch: Bit, witness: &SlotWitness) -> Var {
    let value = if witness.on {
        Fr::from_u64(witness.weight)
    } else {
        Fr::ZERO
    };
    let counted = b.field_var(value);
    b.row(Rule::Counted, || {
        (switch.times(1), Var::public(1).into(), counted.into())
    });
    counted
}

fn message_representative(b: &mut Builder, mu: &[u8; 64]) -> Vec<Bit> {
    let bits: Vec<Bit> = (0..8 * mu.len())
        .map(|index| b.boolean(Rule::MuBit, mu[index / 8] >> (index % 8) & 1 == 1))
        .collect();
    let mut rest = &bits[..];
    for (limb, &len) in MU_LIMB_BITS.iter().enumerate() {
        let (bits, after) = rest.split_at(len);
        rest = after;
        b.zero_row(Rule::MuLimb, || {
            let mut form = Lc::term(Var::public(2 + limb), -1);
            let mut weight = Fr::ONE;
            for bit in bits {
                bit.add_to(&mut form, Coeff::Field(weight));
                weight = weight.double();
            }
            form
        });
    }
    bits
}

/// Variables for the coefficients of `z`, each with `|z| < gamma1 - beta`.
fn response(b: &mut Builder, z: &[Vec<i64>]) -> Vec<Vec<Lc>> {
    let coefficient = |b: &mut Builder, value: i64| {
        let form = Lc::from(b.int_var(value));
        let shifted = form.clone().plus(Z_MAX);
        let rules = [Rule::NormBit, Rule::NormLast];
        b.range(
            rules,
            &shifted,
            i128::from(value) + i128::from(Z_MAX),
            2 * Z_MAX.unsigned_abs(),
        );
        form
    };
    z.iter()
        .map(|poly| poly.iter().map(|&value| coefficient(b, value)).collect())
        .collect()
}

/// Largest absolute value of a coefficient of `z`: `gamma1 - beta - 1`.
pub(crate) const Z_MAX: i64 = (1 << 19) - 196 - 1;
/// Stream bytes of SampleInBall that the circuit reads.
pub(crate) const STREAM_LEN: usize = 128;
