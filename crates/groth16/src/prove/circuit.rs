//! The whole circuit: copies of one slot, the quorum, and one row for each public input.
//!
//! Slots are stored once. Global variables are, in this order: the constant one, the public inputs
//! (see [`crate::inputs`]), the witness of each slot (bits, integers, field elements), the witness
//! of the quorum. Global rows are those of slot 0, of slot 1 and so on, then the quorum's, then the
//! rows of the inputs.

use core::fmt;

use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use super::{
    r1cs::{Assigned, Builder, Class, Label, Lc, Part, Rule, Side, System, Values, Var, View},
    slot::{Shape, SlotWitness, synthesize},
};
use crate::{
    fr::Fr,
    inputs::{SLOTS_MAX, W_MIN_INDEX, input_count, slot_offset},
};

/// The rows of a wrapper with a fixed number of slots.
#[derive(Debug)]
pub struct Circuit {
    slots: usize,
    slot: System,
    /// Quorum and inputs, over global variables.
    tail: System,
    /// Local index of the weight that a slot counts with.
    counted: usize,
    digest: [u8; 32],
}

impl Circuit {
    /// Builds the circuit for `slots` slots. Takes about a second and 100 MB, nearly all of it for
    /// one slot however many there are.
    ///
    /// # Errors
    /// [`SlotCountError`] for no slot or more than [`SLOTS_MAX`].
    pub fn new(slots: usize) -> Result<Self, SlotCountError> {
        if slots == 0 || slots > SLOTS_MAX {
            return Err(SlotCountError { slots });
        }
        let shape = Shape::ml_dsa_65();
        let mut builder = Builder::shaping(1 + shape.input_count());
        let absent = SlotWitness::absent(&shape, 0, [0; 64]);
        let counted = synthesize(&mut builder, &shape, &absent);
        let counted = builder.local_index(counted);
        let mut circuit = Self {
            slots,
            slot: builder.into_system(),
            tail: System::default(),
            counted,
            digest: [0; 32],
        };
        circuit.tail = circuit.build_tail();
        circuit.digest = circuit.compute_digest();
        Ok(circuit)
    }

    fn build_tail(&self) -> System {
        let before = 1 + input_count(self.slots) + self.slots * self.slot.witness_count();
        let mut builder = Builder::shaping(before);
        let counted: Vec<Var> = (0..self.slots)
            .map(|slot| Var::public(self.slot_map(slot).global(self.counted as u32)))
            .collect();
        quorum_rows(&mut builder, &counted, 0);
        builder.part(Part::Inputs);
        for index in 0..=input_count(self.slots) {
            builder.row(Rule::Input, || {
                (Var::public(index).into(), Lc::default(), Lc::default())
            });
        }
        builder.into_system()
    }

    /// Number of slots.
    #[must_use]
    pub const fn slots(&self) -> usize {
        self.slots
    }

    /// Number of rows, those of the inputs included.
    #[must_use]
    pub const fn row_count(&self) -> usize {
        self.slots * self.slot.row_count() + self.tail.row_count()
    }

    /// Public variables, the constant one included.
    #[must_use]
    pub const fn public_count(&self) -> usize {
        1 + input_count(self.slots)
    }

    /// All variables: the constant one, inputs, witness.
    #[must_use]
    pub const fn variable_count(&self) -> usize {
        self.tail.public_count() + self.tail.witness_count()
    }

    /// The stored systems with their places in the whole: every slot, then the tail.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        let slots = (0..self.slots).map(|slot| Block {
            system: &self.slot,
            first_row: slot * self.slot.row_count(),
            map: self.slot_map(slot),
        });
        slots.chain([self.tail_block()])
    }

    fn tail_block(&self) -> Block<'_> {
        Block {
            system: &self.tail,
            first_row: self.slots * self.slot.row_count(),
            map: VarMap {
                public_end: 0,
                public_shift: 0,
                witness_shift: 0,
            },
        }
    }

    fn slot_map(&self, slot: usize) -> VarMap {
        let witness_start = self.public_count() + slot * self.slot.witness_count();
        VarMap {
            public_end: self.slot.public_count(),
            public_shift: slot_offset(slot) - 1,
            witness_shift: witness_start - self.slot.public_count(),
        }
    }

    /// Rows of each part, in the order of [`Part::ALL`].
    #[must_use]
    pub fn part_counts(&self) -> Vec<(Part, usize)> {
        let count = |part: Part| {
            let of = |system: &System| -> usize {
                let counts = system.label_counts().into_iter();
                counts
                    .filter(|(label, _)| label.part == part)
                    .map(|(_, count)| count)
                    .sum()
            };
            self.slots * of(&self.slot) + of(&self.tail)
        };
        Part::ALL
            .into_iter()
            .map(|part| (part, count(part)))
            .collect()
    }

    /// SHA-256 over a canonical encoding of all rows: two circuits are equal exactly if it is.
    #[must_use]
    pub const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Number of slots; then for each system its sizes, the number of distinct coefficients, each
    /// of them in the order of first use, and, row by row, for each of `a`, `b`, `c` the number of
    /// terms and every term as variable and place of its coefficient. Integers are 32 bits,
    /// coefficients 32 bytes, both little-endian.
    fn compute_digest(&self) -> [u8; 32] {
        let mut encoder = Encoder::default();
        encoder.bytes(DIGEST_DOMAIN);
        encoder.number(self.slots as u32);
        for system in [&self.slot, &self.tail] {
            for size in [
                system.public_count(),
                system.witness_count(),
                system.row_count(),
                system.coeffs().len(),
            ] {
                encoder.number(size as u32);
            }
            for coeff in system.coeffs() {
                encoder.bytes(&coeff.to_le_bytes());
            }
            for row in 0..system.row_count() {
                for side in Side::ALL {
                    let terms = system.matrix(side).row(row);
                    encoder.number(terms.len() as u32);
                    for term in terms {
                        encoder.number(term.var);
                        encoder.number(term.coeff);
                    }
                }
            }
        }
        encoder.finish()
    }

    /// One form of every row: `A w`, `B w` or `C w` for the assignment `w`. `out` receives one
    /// element for each row; surplus elements are left alone, missing ones not computed.
    pub fn evaluate(&self, assignment: &Assignment, side: Side, out: &mut [Fr]) {
        let (slots, tail) = out.split_at_mut(out.len().min(self.slots * self.slot.row_count()));
        let views = assignment.slot_views();
        for (part, view) in slots.chunks_mut(self.slot.row_count()).zip(views) {
            fill(part, |row| self.slot.evaluate(side, row, &view).to_fr());
        }
        let tail_len = tail.len().min(self.tail.row_count());
        fill(&mut tail[..tail_len], |row| {
            self.tail.evaluate(side, row, assignment).to_fr()
        });
    }

    /// Rows that the assignment does not satisfy, ascending. Empty means satisfied.
    #[must_use]
    pub fn failing_rows(&self, assignment: &Assignment) -> Vec<FailingRow> {
        let mut failing = Vec::new();
        for (slot, view) in assignment.slot_views().enumerate() {
            let rows = self.slot.failing_rows(&view);
            failing.extend(rows.into_iter().map(|row| FailingRow {
                slot: Some(slot),
                row: slot * self.slot.row_count() + row,
                label: self.slot.labels[row],
            }));
        }
        let rows = self.tail.failing_rows(assignment);
        failing.extend(rows.into_iter().map(|row| FailingRow {
            slot: None,
            row: self.tail_block().first_row + row,
            label: self.tail.labels[row],
        }));
        failing
    }
}

/// Hashes many small pieces in large ones.
#[derive(Default)]
struct Encoder {
    hash: Sha256,
    buffer: Vec<u8>,
}

impl Encoder {
    fn bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= ENCODER_BUFFER_LEN {
            self.hash.update(&self.buffer);
            self.buffer.clear();
        }
    }

    fn number(&mut self, number: u32) {
        self.bytes(&number.to_le_bytes());
    }

    fn finish(mut self) -> [u8; 32] {
        self.hash.update(&self.buffer);
        self.hash.finalize().into()
    }
}

/// The 64 rows of the quorum. `surplus` is the counted weight less `W_min`.
pub(crate) fn quorum_rows(b: &mut Builder, counted: &[Var], surplus: i128) {
    b.part(Part::Quorum);
    let mut form = Lc::term(Var::public(W_MIN_INDEX), -1);
    for &weight in counted {
        form = form.add(&weight.into(), 1);
    }
    b.range(
        [Rule::QuorumBit, Rule::QuorumLast],
        &form,
        surplus,
        u64::MAX,
    );
}

fn fill(out: &mut [Fr], value: impl Fn(usize) -> Fr + Sync) {
    out.par_iter_mut()
        .enumerate()
        .with_min_len(1 << 12)
        .for_each(|(row, out)| *out = value(row));
}

/// A row that an assignment does not satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailingRow {
    /// The slot, if it is a row of one.
    pub slot: Option<usize>,
    /// Global index.
    pub row: usize,
    /// Part and rule.
    pub label: Label,
}

impl fmt::Display for FailingRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "row {} ({}, {:?})",
            self.row,
            self.label.part.name(),
            self.label.rule
        )?;
        match self.slot {
            Some(slot) => write!(f, " of slot {slot}"),
            None => Ok(()),
        }
    }
}

/// A stored system and where its rows and variables lie in the whole circuit.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Rows over local variables.
    pub system: &'a System,
    /// Global index of its row 0.
    pub first_row: usize,
    /// Where its variables lie.
    pub map: VarMap,
}

/// From local to global variables.
#[derive(Clone, Copy, Debug)]
pub struct VarMap {
    public_end: usize,
    public_shift: usize,
    witness_shift: usize,
}

impl VarMap {
    /// Global index of a local variable.
    #[inline]
    #[must_use]
    pub const fn global(self, local: u32) -> usize {
        let local = local as usize;
        if local == 0 {
            0
        } else if local < self.public_end {
            local + self.public_shift
        } else {
            local + self.witness_shift
        }
    }
}

/// A value for every variable of a circuit.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Public inputs without the constant one.
    public: Vec<Fr>,
    slots: Vec<Values>,
    tail: Values,
}

impl Assignment {
    /// Computes all values from the witnesses of the slots.
    ///
    /// `public` leaves out the constant one and has as many inputs as `witnesses` demand.
    pub(crate) fn new(shape: &Shape, public: Vec<Fr>, witnesses: &[SlotWitness]) -> Self {
        let slots: Vec<Values> = witnesses
            .par_iter()
            .enumerate()
            .map(|(slot, witness)| {
                let start = slot_offset(slot) - 1;
                let inputs = public[start..start + shape.input_count()].to_vec();
                let mut builder = Builder::witnessing(inputs);
                synthesize(&mut builder, shape, witness);
                builder.into_values()
            })
            .collect();
        let counted = witnesses.iter().filter(|witness| witness.on);
        let total: i128 = counted.map(|witness| i128::from(witness.weight)).sum();
        let mut builder = Builder::witnessing(Vec::new());
        quorum_rows(&mut builder, &[], total - integer(public[W_MIN_INDEX - 1]));
        Self {
            public,
            slots,
            tail: builder.into_values(),
        }
    }

    /// The public inputs without the constant one, in the order of [`crate::inputs`].
    #[must_use]
    pub fn public(&self) -> &[Fr] {
        &self.public
    }

    /// The public inputs, to be changed behind the back of the witness.
    #[cfg(test)]
    pub(crate) fn public_mut(&mut self) -> &mut [Fr] {
        &mut self.public
    }

    /// Number of variables, the constant one included.
    #[must_use]
    pub fn len(&self) -> usize {
        let slots: usize = self.slots.iter().map(Values::len).sum();
        1 + self.public.len() + slots + self.tail.len()
    }

    /// Never: the constant one is always there.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The witness in the order of the global variables: every slot, then the tail; within each
    /// bits, integers, field elements.
    pub fn witness(&self) -> impl Iterator<Item = &Values> {
        self.slots.iter().chain([&self.tail])
    }

    fn slot_views(&self) -> impl Iterator<Item = View<'_>> {
        self.slots.iter().enumerate().map(|(slot, values)| View {
            public: &self.public[slot_offset(slot) - 1..slot_offset(slot + 1) - 1],
            values,
        })
    }

    /// Values, class and index in the class of a witness variable.
    fn place(&self, var: usize) -> Option<(&Values, Class, usize)> {
        let mut index = var.checked_sub(1 + self.public.len())?;
        for values in self.witness() {
            if index < values.len() {
                let (class, index) = values.place(index, 0);
                return Some((values, class, index));
            }
            index -= values.len();
        }
        None
    }
}

impl Assigned for Assignment {
    fn small(&self, var: u32) -> Option<i64> {
        if var == 0 {
            return Some(1);
        }
        let (values, class, index) = self.place(var as usize)?;
        values.small(class, index)
    }

    fn element(&self, var: u32) -> Fr {
        let var = var as usize;
        match self.place(var) {
            Some((values, class, index)) => values.element(class, index),
            None if var == 0 => Fr::ONE,
            None => self.public.get(var - 1).copied().unwrap_or_default(),
        }
    }
}

/// The integer that an element below 2^64 stands for; 0 for any other.
fn integer(element: Fr) -> i128 {
    match element.to_canonical_limbs() {
        [low, 0, 0, 0] => low.into(),
        _ => 0,
    }
}

/// A circuit has 1 to [`SLOTS_MAX`] slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotCountError {
    /// The number asked for.
    pub slots: usize,
}

impl fmt::Display for SlotCountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} slots; a circuit has 1 to {SLOTS_MAX}", self.slots)
    }
}

impl core::error::Error for SlotCountError {}

/// Bytes that the encoder gathers before it hashes them.
const ENCODER_BUFFER_LEN: usize = 1 << 16;

/// Separates the circuit digest from every other use of SHA-256.
const DIGEST_DOMAIN: &[u8] = b"horizon groth16 circuit 1\0";
