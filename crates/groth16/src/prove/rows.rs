//! What setup and prover need of a circuit: its rows for the setup, values for the prover.

use super::{
    circuit::{Assignment, Circuit},
    r1cs::{BitVec, Side},
};
use crate::fr::Fr;

/// Rows `(a)(b) = (c)` over numbered variables: 0 is the constant one, public inputs follow.
pub trait Rows: Sync {
    /// A value for every variable.
    type Values: Sync;

    /// Number of rows.
    fn row_count(&self) -> usize;

    /// Public variables, the constant one included.
    fn public_count(&self) -> usize;

    /// All variables.
    fn variable_count(&self) -> usize;

    /// Digest of the rows.
    fn digest(&self) -> &[u8; 32];

    /// Calls `visit` with row, variable and coefficient of every term of one matrix.
    fn for_each_term(&self, side: Side, visit: &mut dyn FnMut(usize, usize, Fr));

    /// One form of every row: `out` has [`Rows::row_count`] elements.
    fn evaluate(&self, values: &Self::Values, side: Side, out: &mut [Fr]);

    /// The public inputs without the constant one.
    fn public<'v>(&self, values: &'v Self::Values) -> &'v [Fr];

    /// The values after the public ones, in the order of the variables.
    fn witness<'v>(&self, values: &'v Self::Values) -> Vec<Run<'v>>;
}

/// Values of consecutive variables.
#[derive(Clone, Copy, Debug)]
pub enum Run<'v> {
    /// Field elements.
    Fields(&'v [Fr]),
    /// Zeros and ones.
    Bits(&'v BitVec),
    /// Small signed integers.
    Ints(&'v [i64]),
}

impl Run<'_> {
    /// Number of variables.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Fields(values) => values.len(),
            Self::Bits(values) => values.len(),
            Self::Ints(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Rows for Circuit {
    type Values = Assignment;

    fn row_count(&self) -> usize {
        self.row_count()
    }

    fn public_count(&self) -> usize {
        self.public_count()
    }

    fn variable_count(&self) -> usize {
        self.variable_count()
    }

    fn digest(&self) -> &[u8; 32] {
        self.digest()
    }

    fn for_each_term(&self, side: Side, visit: &mut dyn FnMut(usize, usize, Fr)) {
        for block in self.blocks() {
            let coeffs = block.system.coeffs();
            for row in 0..block.system.row_count() {
                for term in block.system.matrix(side).row(row) {
                    let coeff = coeffs.get(term.coeff as usize).copied().unwrap_or_default();
                    visit(block.first_row + row, block.map.global(term.var), coeff);
                }
            }
        }
    }

    fn evaluate(&self, values: &Assignment, side: Side, out: &mut [Fr]) {
        self.evaluate(values, side, out);
    }

    fn public<'v>(&self, values: &'v Assignment) -> &'v [Fr] {
        values.public()
    }

    fn witness<'v>(&self, values: &'v Assignment) -> Vec<Run<'v>> {
        values
            .witness()
            .flat_map(|values| {
                [
                    Run::Bits(&values.bits),
                    Run::Ints(&values.ints),
                    Run::Fields(&values.fields),
                ]
            })
            .collect()
    }
}
