//! A small circuit with every class of variable, for tests of setup, prover and ceremony.

use horizon_testkit::SeededRng;

use super::{
    r1cs::{Builder, Coeff, Lc, Rule, Side, System, Values, Var, View},
    rows::{Rows, Run},
};
use crate::fr::Fr;

/// `f_(i+1) = f_i (f_i + b_i + 3 b_i - 1)` for bits b, with `f_n` public beside an unused input.
pub(crate) struct Toy {
    system: System,
    digest: [u8; 32],
}

pub(crate) struct ToyValues {
    public: Vec<Fr>,
    values: Values,
}

impl Toy {
    pub(crate) fn new(steps: usize) -> Self {
        let mut builder = Builder::shaping(1 + PUBLIC);
        synthesize(&mut builder, &vec![false; steps], Fr::ONE);
        let system = builder.into_system();
        let mut digest = [0x70; 32];
        digest[..8].copy_from_slice(&(steps as u64).to_le_bytes());
        Self { system, digest }
    }

    pub(crate) fn values(&self, seed: u64, unused: u64) -> ToyValues {
        let steps = self.system.bit_count();
        let mut rng = SeededRng::new(seed);
        let bits: Vec<bool> = (0..steps).map(|_| rng.below(2) == 1).collect();
        let first = Fr::random(&mut rng);
        let last = bits.iter().fold(first, |f, bit| {
            let extra = if *bit { 3 } else { -1 };
            f * (f + Fr::from_i64(extra))
        });
        let public = vec![Fr::from_u64(unused), last];
        let mut builder = Builder::witnessing(public.clone());
        synthesize(&mut builder, &bits, first);
        ToyValues {
            public,
            values: builder.into_values(),
        }
    }
}

impl ToyValues {
    /// The same values with another first field element: no row holds any more.
    pub(crate) fn spoiled(mut self) -> Self {
        self.values.fields[0] += Fr::ONE;
        self
    }
}

fn synthesize(b: &mut Builder, bits: &[bool], first: Fr) {
    let mut value = first;
    let mut f = b.field_var(first);
    for bit in bits {
        let bit_var = b.bit_var(*bit);
        let small = b.int_var(if *bit { 2 } else { -1 });
        b.row(Rule::MuBit, || {
            let bit = Lc::from(bit_var);
            (bit.clone(), bit.plus(-1), Lc::default())
        });
        b.zero_row(Rule::MuLimb, || {
            Lc::term(small, 1).add(&bit_var.into(), -3).plus(1)
        });
        value *= value + Fr::from_i64(if *bit { 3 } else { -1 });
        let next = b.field_var(value);
        b.row(Rule::Move, || {
            // The factor of two on both sides exercises coefficients that are no integers.
            let half = Fr::from_u64(2).inverse().unwrap();
            let mut left = Lc::default();
            left.push(f, Coeff::Field(half));
            let right = Lc::from(f).add(&bit_var.into(), 1).add(&small.into(), 1);
            let mut product = Lc::default();
            product.push(next, Coeff::Field(half));
            (left, right, product)
        });
        f = next;
    }
    b.row(Rule::Power, || {
        (f.into(), Lc::constant(1), Var::public(PUBLIC).into())
    });
    for index in 0..=PUBLIC {
        b.row(Rule::Input, || {
            (Var::public(index).into(), Lc::default(), Lc::default())
        });
    }
}

impl Rows for Toy {
    type Values = ToyValues;

    fn row_count(&self) -> usize {
        self.system.row_count()
    }

    fn public_count(&self) -> usize {
        1 + PUBLIC
    }

    fn variable_count(&self) -> usize {
        1 + PUBLIC + self.system.witness_count()
    }

    fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    fn for_each_term(&self, side: Side, visit: &mut dyn FnMut(usize, usize, Fr)) {
        for row in 0..self.row_count() {
            for term in self.system.matrix(side).row(row) {
                visit(
                    row,
                    term.var as usize,
                    self.system.coeffs()[term.coeff as usize],
                );
            }
        }
    }

    fn evaluate(&self, values: &ToyValues, side: Side, out: &mut [Fr]) {
        let view = View {
            public: &values.public,
            values: &values.values,
        };
        for (row, out) in out.iter_mut().enumerate() {
            *out = self.system.evaluate(side, row, &view).to_fr();
        }
    }

    fn public<'v>(&self, values: &'v ToyValues) -> &'v [Fr] {
        &values.public
    }

    fn witness<'v>(&self, values: &'v ToyValues) -> Vec<Run<'v>> {
        vec![
            Run::Bits(&values.values.bits),
            Run::Ints(&values.values.ints),
            Run::Fields(&values.values.fields),
        ]
    }
}

const PUBLIC: usize = 2;
