//! Bits and the small statements about them.
//!
//! # Security
//! The rows for exclusive or and chi determine their output only for inputs that are 0 or 1. A
//! [`Bit`] can be made in this module alone: by a row that says so, by such a gadget, or as a
//! constant. Code that holds a `Bit` therefore holds something that is 0 or 1 in every assignment
//! that satisfies the rows.

use super::r1cs::{Builder, Coeff, Lc, Rule, Var};
use crate::fr::Fr;

/// A constant, a variable that is 0 or 1, or the complement of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bit(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Constant(bool),
    Variable { var: Var, negated: bool },
}

impl Bit {
    pub(crate) const ZERO: Self = Self(Kind::Constant(false));
    pub(crate) const ONE: Self = Self(Kind::Constant(true));

    pub(crate) const fn constant(value: bool) -> Self {
        Self(Kind::Constant(value))
    }

    const fn derived(var: Var) -> Self {
        Self(Kind::Variable {
            var,
            negated: false,
        })
    }

    /// The value if it is the same in every assignment.
    pub(crate) const fn as_constant(self) -> Option<bool> {
        match self.0 {
            Kind::Constant(value) => Some(value),
            Kind::Variable { .. } => None,
        }
    }

    /// The complement: no row.
    pub(crate) const fn not(self) -> Self {
        self.xor_constant(true)
    }

    /// The complement if `flip`: no row.
    pub(crate) const fn xor_constant(self, flip: bool) -> Self {
        match self.0 {
            Kind::Constant(value) => Self::constant(value ^ flip),
            Kind::Variable { var, negated } => Self(Kind::Variable {
                var,
                negated: negated ^ flip,
            }),
        }
    }

    /// Adds `scale` times this bit to an affine form.
    pub(crate) fn add_to(self, form: &mut Lc, scale: Coeff) {
        match self.0 {
            Kind::Constant(false) => {}
            Kind::Constant(true) => form.push(Var::ONE, scale),
            Kind::Variable { var, negated } => {
                let mut part = Lc::term(var, if negated { -1 } else { 1 });
                if negated {
                    part = part.plus(1);
                }
                form.add_scaled(&part, scale);
            }
        }
    }

    /// `scale` times this bit.
    pub(crate) fn times(self, scale: i64) -> Lc {
        let mut form = Lc::default();
        self.add_to(&mut form, Coeff::Int(scale));
        form
    }

    /// Splits off the complement, which commutes with exclusive or.
    const fn parts(self) -> (Option<Var>, bool) {
        match self.0 {
            Kind::Constant(value) => (None, value),
            Kind::Variable { var, negated } => (Some(var), negated),
        }
    }
}

impl Builder {
    /// Value of a bit; only its complement shows while no values are collected.
    pub(crate) fn bit(&self, bit: Bit) -> bool {
        match bit.0 {
            Kind::Constant(value) => value,
            Kind::Variable { var, negated } => self.bit_value(var) ^ negated,
        }
    }

    /// A fresh bit: one row, `b (b - 1) = 0`.
    pub(crate) fn boolean(&mut self, rule: Rule, value: bool) -> Bit {
        let var = self.bit_var(value);
        self.row(rule, || (var.into(), Lc::from(var).plus(-1), Lc::default()));
        Bit::derived(var)
    }

    /// Exclusive or: one row for two variables, `(2a) b = a + b - o`.
    pub(crate) fn xor2(&mut self, a: Bit, b: Bit) -> Bit {
        let ((left, flip_left), (right, flip_right)) = (a.parts(), b.parts());
        let flip = flip_left ^ flip_right;
        let (Some(left), Some(right)) = (left, right) else {
            return match left.or(right) {
                Some(var) => Bit::derived(var).xor_constant(flip),
                None => Bit::constant(flip),
            };
        };
        let out = self.bit_var(self.bit_value(left) ^ self.bit_value(right));
        self.row(Rule::Xor2, || {
            let sum = Lc::from(left).add(&right.into(), 1).add(&out.into(), -1);
            (Lc::term(left, 2), right.into(), sum)
        });
        Bit::derived(out).xor_constant(flip)
    }

    /// Exclusive or of three: one row for three variables,
    /// `(2s - 3)(4o - 2s + 1) = -3` with `s = a + b + c`.
    ///
    /// `2s - 3` is one of -3, -1, 1, 3, never 0, so the row has exactly one solution `o`.
    pub(crate) fn xor3(&mut self, a: Bit, b: Bit, c: Bit) -> Bit {
        let parts = [a.parts(), b.parts(), c.parts()];
        let [Some(a_var), Some(b_var), Some(c_var)] = parts.map(|(var, _)| var) else {
            return self.xor3_with_constant(a, b, c);
        };
        let flip = parts
            .iter()
            .fold(false, |flip, &(_, negated)| flip ^ negated);
        let inputs = [a_var, b_var, c_var];
        let value = inputs
            .iter()
            .fold(false, |sum, &var| sum ^ self.bit_value(var));
        let out = self.bit_var(value);
        self.row(Rule::Xor3, || {
            let mut twice = Lc::default();
            for var in inputs {
                twice.push(var, Coeff::Int(2));
            }
            let right = Lc::term(out, 4).add(&twice, -1).plus(1);
            (twice.plus(-3), right, Lc::constant(-3))
        });
        Bit::derived(out).xor_constant(flip)
    }

    fn xor3_with_constant(&mut self, a: Bit, b: Bit, c: Bit) -> Bit {
        match (a.as_constant(), b.as_constant()) {
            (Some(flip), _) => self.xor2(b, c).xor_constant(flip),
            (None, Some(flip)) => self.xor2(a, c).xor_constant(flip),
            (None, None) => self.xor2(a, b).xor_constant(c == Bit::ONE),
        }
    }

    /// `a ^ (!b & c)`: one row, `(o + 3a - b - c)(4a + b + c - 3) = 4a + 2b`.
    ///
    /// The second factor is one of -3, -2, -1, 1, 2, 3 over all inputs, never 0, so the row has
    /// exactly one solution `o`.
    pub(crate) fn chi(&mut self, a: Bit, b: Bit, c: Bit) -> Bit {
        match (b.as_constant(), c.as_constant()) {
            (Some(true), _) | (_, Some(false)) => return a,
            (Some(false), _) => return self.xor2(a, c),
            (_, Some(true)) => return self.xor2(a, b.not()),
            (None, None) => {}
        }
        let out = self.bit_var(self.bit(a) ^ (!self.bit(b) & self.bit(c)));
        self.row(Rule::Chi, || {
            let left = Lc::from(out)
                .add(&a.times(3), 1)
                .add(&b.times(-1), 1)
                .add(&c.times(-1), 1);
            let right = a.times(4).add(&b.times(1), 1).add(&c.times(1), 1).plus(-3);
            (left, right, a.times(4).add(&b.times(2), 1))
        });
        Bit::derived(out)
    }

    /// The product of two bits: one row.
    pub(crate) fn and(&mut self, rule: Rule, a: Bit, b: Bit) -> Bit {
        let out = self.bit_var(self.bit(a) & self.bit(b));
        self.row(rule, || (a.times(1), b.times(1), out.into()));
        Bit::derived(out)
    }

    /// States that `form`, of value `value`, lies in `0..=max`: as many rows as `max` has bits.
    ///
    /// The weights are `1, 2, 4, ...` and a last one that makes their sum `max`, so the subset sums
    /// are exactly `0..=max`. The last bit is no variable: it is what remains, and one row says
    /// that this is 0 or the last weight. Which bits are set need not be unique; nothing else uses
    /// them. A value out of range leaves exactly the last row unsatisfied.
    pub(crate) fn range(&mut self, rules: [Rule; 2], form: &Lc, value: i128, max: u64) {
        let bits = u64::BITS - max.leading_zeros();
        let Some(free_bits) = bits.checked_sub(1) else {
            self.zero_row(rules[1], || form.clone());
            return;
        };
        let last = max - ((1 << free_bits) - 1);
        let wanted = u64::try_from(value.max(0)).unwrap_or(u64::MAX).min(max);
        let rest = if wanted >= 1 << free_bits {
            wanted - last
        } else {
            wanted
        };
        let mut remainder = form.clone();
        for index in 0..free_bits {
            let bit = self.boolean(rules[0], rest >> index & 1 == 1);
            // Below 2^63 since `max` is below 2^64.
            bit.add_to(&mut remainder, Coeff::Int(-(1_i64 << index)));
        }
        self.row(rules[1], || {
            let mut shifted = remainder.clone();
            shifted.push(Var::ONE, Coeff::Field(-Fr::from_u64(last)));
            (remainder, shifted, Lc::default())
        });
    }

    /// The `width` bits of `form`, of value `value`, lowest first: one row for each and one more.
    ///
    /// A value out of range leaves exactly the last row unsatisfied.
    pub(crate) fn bits(
        &mut self,
        rules: [Rule; 2],
        form: &Lc,
        value: i64,
        width: usize,
    ) -> Vec<Bit> {
        let bits: Vec<Bit> = (0..width)
            .map(|index| self.boolean(rules[0], value >> index & 1 == 1))
            .collect();
        self.zero_row(rules[1], || {
            let mut rest = form.clone();
            for (index, bit) in bits.iter().enumerate() {
                bit.add_to(&mut rest, Coeff::Int(-(1_i64 << index)));
            }
            rest
        });
        bits
    }

    /// Whether `form` is zero: two rows, `d e = 0` and `d inverse = 1 - e`.
    ///
    /// `inverse` is the inverse of the value, anything if that is zero.
    pub(crate) fn is_zero(&mut self, form: &Lc, zero: bool, inverse: Fr) -> Bit {
        let inverse = self.field_var(inverse);
        let out = self.bit_var(zero);
        self.row(Rule::EqualZero, || {
            (form.clone(), out.into(), Lc::default())
        });
        self.row(Rule::EqualForced, || {
            (form.clone(), inverse.into(), Lc::term(out, -1).plus(1))
        });
        Bit::derived(out)
    }
}
