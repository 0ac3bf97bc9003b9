//! Rows over the scalar field: a builder that counts by named part, and the check that an
//! assignment satisfies them.
//!
//! A row is `(a)(b) = (c)` with affine forms `a`, `b`, `c` in the variables. Variable 0 is the
//! constant one, the public inputs follow, then the witness in three runs: values that a true
//! statement makes 0 or 1, small signed integers, field elements. The runs are storage classes for
//! the prover, not promises: only rows constrain a variable.

use std::collections::HashMap;

use rayon::prelude::*;

pub(crate) use super::values::{Assigned, View};
pub use super::{
    label::{Label, Part, Rule},
    values::{BitVec, Values},
};
use crate::fr::Fr;

/// A variable while a system is being built: its storage class and its index in that class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Var(u32);

impl Var {
    /// The constant one.
    pub(crate) const ONE: Self = Self(0);

    /// The public input at `index`; index 0 is the constant one.
    pub(crate) const fn public(index: usize) -> Self {
        Self(index as u32)
    }

    const fn new(class: Class, index: usize) -> Self {
        Self((class as u32) << CLASS_SHIFT | index as u32)
    }

    const fn class(self) -> Class {
        match self.0 >> CLASS_SHIFT {
            0 => Class::Public,
            1 => Class::Bit,
            2 => Class::Int,
            _ => Class::Field,
        }
    }

    const fn index(self) -> usize {
        (self.0 & ((1 << CLASS_SHIFT) - 1)) as usize
    }
}

/// Storage class of a variable. The order is the order in the assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Class {
    Public = 0,
    Bit = 1,
    Int = 2,
    Field = 3,
}

/// A coefficient while a system is being built.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Coeff {
    Int(i64),
    Field(Fr),
}

impl Coeff {
    fn to_fr(self) -> Fr {
        match self {
            Self::Int(value) => Fr::from_i64(value),
            Self::Field(value) => value,
        }
    }

    fn add(self, other: Self) -> Self {
        if let (Self::Int(a), Self::Int(b)) = (self, other)
            && let Some(sum) = a.checked_add(b)
        {
            return Self::Int(sum);
        }
        Self::Field(self.to_fr() + other.to_fr())
    }

    fn mul(self, other: Self) -> Self {
        if let (Self::Int(a), Self::Int(b)) = (self, other)
            && let Some(product) = a.checked_mul(b)
        {
            return Self::Int(product);
        }
        Self::Field(self.to_fr() * other.to_fr())
    }

    fn is_zero(self) -> bool {
        match self {
            Self::Int(value) => value == 0,
            Self::Field(value) => value.is_zero(),
        }
    }
}

/// An affine form. Terms may repeat a variable until the row that uses them is stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lc(Vec<(Var, Coeff)>);

impl Lc {
    pub(crate) fn constant(value: i64) -> Self {
        Self::term(Var::ONE, value)
    }

    pub(crate) fn term(var: Var, coeff: i64) -> Self {
        Self(vec![(var, Coeff::Int(coeff))])
    }

    pub(crate) fn push(&mut self, var: Var, coeff: Coeff) {
        self.0.push((var, coeff));
    }

    pub(crate) fn add(mut self, other: &Self, scale: i64) -> Self {
        self.add_scaled(other, Coeff::Int(scale));
        self
    }

    pub(crate) fn plus(mut self, constant: i64) -> Self {
        self.0.push((Var::ONE, Coeff::Int(constant)));
        self
    }

    pub(crate) fn add_scaled(&mut self, other: &Self, scale: Coeff) {
        self.0
            .extend(other.0.iter().map(|&(var, coeff)| (var, coeff.mul(scale))));
    }

    /// Sorts by variable, merges, drops zeros.
    fn normalise(&mut self) {
        self.0.sort_by_key(|&(var, _)| var);
        self.0.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.add(next.1);
            }
            same
        });
        self.0.retain(|(_, coeff)| !coeff.is_zero());
    }
}

impl From<Var> for Lc {
    fn from(var: Var) -> Self {
        Self::term(var, 1)
    }
}

/// Collects rows, values, or both. The code that makes rows and the code that makes values is one
/// and the same, so they cannot drift apart.
#[derive(Debug)]
pub(crate) struct Builder {
    rows: Option<RowSink>,
    values: Option<Values>,
    public: Vec<Fr>,
    counts: [usize; 4],
    part: Part,
    row_count: usize,
}

#[derive(Debug)]
struct RowSink {
    matrices: [Matrix; 3],
    labels: Vec<Label>,
    coeffs: CoeffTable,
}

impl Builder {
    /// Collects rows only; `public_count` counts the constant one.
    pub(crate) fn shaping(public_count: usize) -> Self {
        let mut builder = Self::new(public_count);
        builder.rows = Some(RowSink {
            matrices: Default::default(),
            labels: Vec::new(),
            coeffs: CoeffTable::default(),
        });
        builder
    }

    /// Collects values only. `public` leaves out the constant one.
    pub(crate) fn witnessing(public: Vec<Fr>) -> Self {
        let mut builder = Self::new(public.len() + 1);
        builder.public = public;
        builder.values = Some(Values::default());
        builder
    }

    /// Collects rows and values in one run.
    #[cfg(test)]
    pub(crate) fn both(public: Vec<Fr>) -> Self {
        let mut builder = Self::witnessing(public);
        builder.rows = Self::shaping(0).rows;
        builder
    }

    fn new(public_count: usize) -> Self {
        Self {
            rows: None,
            values: None,
            public: Vec::new(),
            counts: [public_count, 0, 0, 0],
            part: Part::Mu,
            row_count: 0,
        }
    }

    /// Whether values are wanted; without it every value passed in is ignored.
    pub(crate) const fn has_values(&self) -> bool {
        self.values.is_some()
    }

    /// Names the part that the following rows belong to.
    pub(crate) const fn part(&mut self, part: Part) {
        self.part = part;
    }

    /// Rows made so far, also when they are not collected.
    #[cfg(test)]
    pub(crate) const fn row_count(&self) -> usize {
        self.row_count
    }

    /// A variable that a true statement makes 0 or 1. Nothing enforces it here.
    pub(crate) fn bit_var(&mut self, value: bool) -> Var {
        if let Some(values) = &mut self.values {
            values.bits.push(value);
        }
        self.allocate(Class::Bit)
    }

    /// A variable for a small signed integer. Nothing enforces that it is one.
    pub(crate) fn int_var(&mut self, value: i64) -> Var {
        if let Some(values) = &mut self.values {
            values.ints.push(value);
        }
        self.allocate(Class::Int)
    }

    /// A variable for any field element.
    pub(crate) fn field_var(&mut self, value: Fr) -> Var {
        if let Some(values) = &mut self.values {
            values.fields.push(value);
        }
        self.allocate(Class::Field)
    }

    const fn allocate(&mut self, class: Class) -> Var {
        let index = self.counts[class as usize];
        self.counts[class as usize] += 1;
        Var::new(class, index)
    }

    /// Value of a variable of the bit class; `false` while only rows are collected.
    pub(crate) fn bit_value(&self, var: Var) -> bool {
        self.values
            .as_ref()
            .is_some_and(|values| values.bits.get(var.index()))
    }

    /// Value of a variable; zero while only rows are collected.
    pub(crate) fn value(&self, var: Var) -> Fr {
        let Some(values) = &self.values else {
            return Fr::ZERO;
        };
        let index = var.index();
        match var.class() {
            Class::Public => index.checked_sub(1).map_or(Fr::ONE, |index| {
                self.public.get(index).copied().unwrap_or_default()
            }),
            Class::Bit => Fr::from(values.bits.get(index)),
            Class::Int => values
                .ints
                .get(index)
                .map_or(Fr::ZERO, |&value| Fr::from_i64(value)),
            Class::Field => values.fields.get(index).copied().unwrap_or_default(),
        }
    }

    /// Adds the row that `make` returns as `(a, b, c)`; it is called only if rows are collected.
    pub(crate) fn row(&mut self, rule: Rule, make: impl FnOnce() -> (Lc, Lc, Lc)) {
        self.row_count += 1;
        if let Some(rows) = &mut self.rows {
            let (a, b, c) = make();
            for (matrix, form) in rows.matrices.iter_mut().zip([a, b, c]) {
                matrix.push(form, &mut rows.coeffs);
            }
            rows.labels.push(Label {
                part: self.part,
                rule,
            });
        }
    }

    /// Adds the row `form = 0`.
    pub(crate) fn zero_row(&mut self, rule: Rule, make: impl FnOnce() -> Lc) {
        self.row(rule, || (make(), Lc::constant(1), Lc::default()));
    }

    /// Rows and values, with the public inputs that they belong to.
    #[cfg(test)]
    pub(crate) fn into_parts(mut self) -> (System, Vec<Fr>, Values) {
        let (public, values) = (core::mem::take(&mut self.public), self.values.take());
        (self.into_system(), public, values.unwrap_or_default())
    }

    /// The finished rows. Empty when only values were collected.
    pub(crate) fn into_system(self) -> System {
        let [public_count, bit_count, int_count, field_count] = self.counts;
        let mut system = System {
            public_count,
            bit_count,
            int_count,
            field_count,
            ..System::default()
        };
        if let Some(rows) = self.rows {
            system.matrices = rows.matrices;
            system.labels = rows.labels;
            system.coeffs = rows.coeffs.elements;
            system.small = rows.coeffs.small;
            let starts = [
                0,
                public_count,
                public_count + bit_count,
                public_count + bit_count + int_count,
            ];
            for term in system
                .matrices
                .iter_mut()
                .flat_map(|matrix| &mut matrix.terms)
            {
                let var = Var(term.var);
                term.var = (starts[var.class() as usize] + var.index()) as u32;
            }
        }
        system
    }

    /// The finished values. Empty when only rows were collected.
    pub(crate) fn into_values(self) -> Values {
        self.values.unwrap_or_default()
    }

    /// Local index of a variable in the finished system: known only when all of them exist.
    pub(crate) const fn local_index(&self, var: Var) -> usize {
        let mut index = var.index();
        let mut class = 0;
        while class < var.class() as usize {
            index += self.counts[class];
            class += 1;
        }
        index
    }
}

/// Every distinct coefficient once.
#[derive(Debug, Default)]
struct CoeffTable {
    elements: Vec<Fr>,
    small: Vec<Option<i64>>,
    /// Places of the integers from [`LEAST_TINY`] to [`TINY`], which are nearly all coefficients;
    /// `u32::MAX` until first used.
    by_tiny: Vec<u32>,
    /// Looked up, never iterated: the order of the table is the order of first use.
    by_int: HashMap<i64, u32>,
    by_element: HashMap<Fr, u32>,
}

impl CoeffTable {
    fn index(&mut self, coeff: Coeff) -> u32 {
        let Coeff::Int(value @ LEAST_TINY..TINY) = coeff else {
            return self.index_any(coeff);
        };
        let place = value.abs_diff(LEAST_TINY) as usize;
        if let Some(&index) = self.by_tiny.get(place)
            && index != u32::MAX
        {
            return index;
        }
        let index = self.index_any(coeff);
        self.by_tiny
            .resize(TINY.abs_diff(LEAST_TINY) as usize, u32::MAX);
        self.by_tiny[place] = index;
        index
    }

    fn index_any(&mut self, coeff: Coeff) -> u32 {
        if let Coeff::Int(value) = coeff
            && let Some(&index) = self.by_int.get(&value)
        {
            return index;
        }
        let element = coeff.to_fr();
        let index = *self.by_element.entry(element).or_insert_with(|| {
            self.elements.push(element);
            self.small.push(small_integer(element));
            (self.elements.len() - 1) as u32
        });
        if let Coeff::Int(value) = coeff {
            self.by_int.insert(value, index);
        }
        index
    }
}

/// The integer below `2^63` in absolute value that an element stands for, if there is one.
fn small_integer(element: Fr) -> Option<i64> {
    let magnitude = |element: Fr| match element.to_canonical_limbs() {
        [low, 0, 0, 0] => i64::try_from(low).ok(),
        _ => None,
    };
    magnitude(element).or_else(|| magnitude(-element).map(|value| -value))
}

/// One coefficient of one row: the variable's index and the coefficient's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Local index of the variable.
    pub var: u32,
    /// Index into [`System::coeffs`].
    pub coeff: u32,
}

/// Rows of one of the three matrices, one after the other.
#[derive(Debug, Default)]
pub struct Matrix {
    /// End of each row in `terms`.
    ends: Vec<u32>,
    terms: Vec<Term>,
}

impl Matrix {
    fn push(&mut self, mut form: Lc, coeffs: &mut CoeffTable) {
        form.normalise();
        self.terms.extend(form.0.iter().map(|&(var, coeff)| Term {
            var: var.0,
            coeff: coeffs.index(coeff),
        }));
        self.ends.push(self.terms.len() as u32);
    }

    /// The terms of row `row`, ascending by variable; empty past the end.
    #[must_use]
    pub fn row(&self, row: usize) -> &[Term] {
        let start = match row.checked_sub(1) {
            Some(previous) => self.ends.get(previous).copied().unwrap_or(u32::MAX),
            None => 0,
        };
        let end = self.ends.get(row).copied().unwrap_or(0);
        self.terms.get(start as usize..end as usize).unwrap_or(&[])
    }

    /// Number of terms in all rows.
    #[must_use]
    pub const fn term_count(&self) -> usize {
        self.terms.len()
    }
}

/// Rows over local variables: the constant one, public inputs, bits, integers, field elements.
#[derive(Debug, Default)]
pub struct System {
    /// Variables before the witness, the constant one included.
    pub(crate) public_count: usize,
    pub(crate) bit_count: usize,
    pub(crate) int_count: usize,
    pub(crate) field_count: usize,
    pub(crate) matrices: [Matrix; 3],
    pub(crate) labels: Vec<Label>,
    pub(crate) coeffs: Vec<Fr>,
    pub(crate) small: Vec<Option<i64>>,
}

impl System {
    /// Number of rows.
    #[must_use]
    pub const fn row_count(&self) -> usize {
        self.labels.len()
    }

    /// Number of witness variables.
    #[must_use]
    pub const fn witness_count(&self) -> usize {
        self.bit_count + self.int_count + self.field_count
    }

    /// Public variables, the constant one included.
    #[must_use]
    pub const fn public_count(&self) -> usize {
        self.public_count
    }

    /// Number of variables of the bit class; they follow the public ones.
    #[must_use]
    pub const fn bit_count(&self) -> usize {
        self.bit_count
    }

    /// One of the three matrices.
    #[must_use]
    pub const fn matrix(&self, side: Side) -> &Matrix {
        &self.matrices[side as usize]
    }

    /// Every distinct coefficient; [`Term::coeff`] points into it.
    #[must_use]
    pub fn coeffs(&self) -> &[Fr] {
        &self.coeffs
    }

    /// Rows of each label that occurs, in the order of the labels.
    #[must_use]
    pub fn label_counts(&self) -> Vec<(Label, usize)> {
        let mut counts = [0; Label::COUNT];
        for label in &self.labels {
            counts[label.index()] += 1;
        }
        Label::all()
            .zip(counts)
            .filter(|&(_, count)| count > 0)
            .collect()
    }

    /// Value of one form of one row.
    pub(crate) fn evaluate<V: Assigned>(&self, side: Side, row: usize, values: &V) -> Number {
        let terms = self.matrices[side as usize].row(row);
        let mut sum = 0i128;
        for term in terms {
            let product = self.small[term.coeff as usize]
                .zip(values.small(term.var))
                .map(|(coeff, value)| i128::from(coeff) * i128::from(value));
            let Some(next) = product.and_then(|product| sum.checked_add(product)) else {
                return Number::Field(self.evaluate_slowly(terms, values));
            };
            sum = next;
        }
        Number::Int(sum)
    }

    fn evaluate_slowly<V: Assigned>(&self, terms: &[Term], values: &V) -> Fr {
        terms
            .iter()
            .map(|term| self.coeffs[term.coeff as usize] * values.element(term.var))
            .sum()
    }

    /// Whether row `row` holds.
    pub(crate) fn holds<V: Assigned>(&self, row: usize, values: &V) -> bool {
        let [a, b, c] = Side::ALL.map(|side| self.evaluate(side, row, values));
        // Integers below 2^127 that are equal modulo r are equal.
        if let (Number::Int(a), Number::Int(b), Number::Int(c)) = (a, b, c)
            && let Some(product) = a.checked_mul(b)
        {
            return product == c;
        }
        a.to_fr() * b.to_fr() == c.to_fr()
    }

    /// Rows that fail, ascending.
    pub(crate) fn failing_rows<V: Assigned>(&self, values: &V) -> Vec<usize> {
        (0..self.row_count())
            .into_par_iter()
            .with_min_len(1 << 12)
            .filter(|&row| !self.holds(row, values))
            .collect()
    }
}

/// Which of the three matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Left factor.
    A = 0,
    /// Right factor.
    B = 1,
    /// Product.
    C = 2,
}

impl Side {
    /// All three, in order.
    pub const ALL: [Self; 3] = [Self::A, Self::B, Self::C];
}

/// A value that is kept as an integer as long as it fits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Int(i128),
    Field(Fr),
}

impl Number {
    pub(crate) fn to_fr(self) -> Fr {
        match self {
            Self::Int(value) => Fr::from_i128(value),
            Self::Field(value) => value,
        }
    }
}

/// Integers from [`LEAST_TINY`] up to this one are found in the coefficient table without hashing.
const TINY: i64 = 256;
const LEAST_TINY: i64 = -256;

/// Bits of a [`Var`] below its class.
const CLASS_SHIFT: u32 = 30;
