//! Reduction modulo `q`, Decompose and UseHint as one relation of a coefficient of `W`.
//!
//! ```text
//! W  = q K + alpha R + r0
//! R  = w1 - up + down + 16 f1 - 16 f2      the bin, 0..=15
//! r0 = e + 1 - gamma2 (1 - p) - x          the low part
//! x (p + e + R) = 0                        x only for r0 = -gamma2 in bin 0
//! ```
//!
//! with `up = h p`, `down = h - up`, `f1 = up [w1 = 0]`, `f2 = down [w1 = 15]`.
//!
//! # Security
//! For a fixed hint the 32 half-bins and the exceptional residue cover the residues modulo `q` once
//! each, and the `w1` that the rows force is `UseHint(h, W mod q)`. A test goes through all
//! residues and both hints. `K` need only be a bounded integer: `q 2^30` is far below `r`.
//!
//! # Source
//! FIPS 204, Algorithms 36 (Decompose), 40 (UseHint).

use super::{
    gadgets::Bit,
    r1cs::{Builder, Coeff, Lc, Rule, Var},
};
use crate::{fr::Fr, key_image::Q};

/// `(q - 1) / 32`: half the width of a bin.
pub(crate) const GAMMA2: i64 = (Q - 1) / 32;
/// Width of a bin.
pub(crate) const ALPHA: i64 = 2 * GAMMA2;
/// Number of bins.
const BINS: i64 = 16;
/// The quotient lies in `-2^29..2^29`.
const QUOTIENT_BITS: usize = 29;
/// Bits of `w1`.
const HIGH_BITS: i64 = 4;

/// The witness of one coefficient. A true statement has the one that [`Self::new`] gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Residue {
    /// The integer coefficient.
    pub(crate) w: i64,
    /// Its hint.
    pub(crate) hint: bool,
    /// `w1`, `0..=15`.
    pub(crate) high: i64,
    /// `K`.
    pub(crate) quotient: i64,
    /// `e`.
    pub(crate) low: i64,
    /// `p`.
    pub(crate) positive: bool,
    /// `x`.
    pub(crate) exception: bool,
    /// `f1`.
    pub(crate) wrap_up: bool,
    /// `f2`.
    pub(crate) wrap_down: bool,
}

impl Residue {
    /// Decomposes `w` and applies the hint.
    pub(crate) const fn new(w: i64, hint: bool) -> Self {
        let residue = w.rem_euclid(Q);
        let mut low = residue % ALPHA;
        if low > GAMMA2 {
            low -= ALPHA;
        }
        let mut bin = (residue - low) / ALPHA;
        if bin == BINS {
            // The top half-bin belongs to bin 0, one step lower.
            bin = 0;
            low -= 1;
        }
        let exception = low == -GAMMA2;
        let positive = low > 0;
        let step = if !hint {
            0
        } else if positive {
            1
        } else {
            -1
        };
        let high = (bin + step).rem_euclid(BINS);
        Self {
            w,
            hint,
            high,
            quotient: (w - ALPHA * bin - low) / Q,
            low: if exception {
                0
            } else if positive {
                low - 1
            } else {
                low - 1 + GAMMA2
            },
            positive,
            exception,
            wrap_up: step == 1 && high == 0,
            wrap_down: step == -1 && high == BINS - 1,
        }
    }
}

/// The bits that the hash and the hint count need.
#[derive(Clone, Debug)]
pub(crate) struct Outputs {
    /// `w1`, lowest bit first.
    pub(crate) high: Vec<Bit>,
    pub(crate) hint: Bit,
}

/// Adds the 61 rows for the coefficient in variable `w`.
pub(crate) fn reduce(b: &mut Builder, w: Var, residue: &Residue) -> Outputs {
    let low = b.int_var(residue.low);
    let low_max = GAMMA2.unsigned_abs() - 1;
    b.range(
        [Rule::LowBit, Rule::LowLast],
        &low.into(),
        residue.low.into(),
        low_max,
    );
    let positive = b.boolean(Rule::PositiveBit, residue.positive);
    let high: Vec<Bit> = (0..HIGH_BITS)
        .map(|index| b.boolean(Rule::HighBit, residue.high >> index & 1 == 1))
        .collect();
    let hint = b.boolean(Rule::HintBit, residue.hint);
    let up = b.and(Rule::HintUp, hint, positive);
    let down = hint.times(1).add(&up.times(-1), 1);

    let ones = high
        .iter()
        .fold(Lc::default(), |sum, bit| sum.add(&bit.times(1), 1));
    let ones_value = i64::from(residue.high.count_ones());
    let up_value = residue.hint && residue.positive;
    let down_value = residue.hint && !residue.positive;
    let wrap_up = wrap(
        b,
        [Rule::WrapUpZero, Rule::WrapUpForced],
        (&ones, ones_value),
        (&up.times(1), up_value),
        residue.wrap_up,
    );
    let zeros = Lc::constant(HIGH_BITS).add(&ones, -1);
    let wrap_down = wrap(
        b,
        [Rule::WrapDownZero, Rule::WrapDownForced],
        (&zeros, HIGH_BITS - ones_value),
        (&down, down_value),
        residue.wrap_down,
    );

    let mut bin = down.add(&up.times(-1), 1);
    for (index, bit) in high.iter().enumerate() {
        bit.add_to(&mut bin, Coeff::Int(1 << index));
    }
    bin.push(wrap_up, Coeff::Int(BINS));
    bin.push(wrap_down, Coeff::Int(-BINS));

    let exception = b.boolean(Rule::ExceptionBit, residue.exception);
    b.row(Rule::Exception, || {
        let sum = positive.times(1).add(&low.into(), 1).add(&bin, 1);
        (exception.times(1), sum, Lc::default())
    });
    let low_part = Lc::from(low)
        .plus(1 - GAMMA2)
        .add(&positive.times(GAMMA2), 1)
        .add(&exception.times(-1), 1);
    let multiple = Lc::from(w).add(&bin, -ALPHA).add(&low_part, -1);
    divide(b, multiple, residue.quotient);
    Outputs { high, hint }
}

/// `f` with `f = step` if `count` is zero and `f = 0` otherwise: two rows.
///
/// `count` lies in `0..=4`.
fn wrap(
    b: &mut Builder,
    rules: [Rule; 2],
    (count, count_value): (&Lc, i64),
    (step, step_value): (&Lc, bool),
    value: bool,
) -> Var {
    let wrapped = b.bit_var(value);
    let difference = Fr::from(step_value) - Fr::from(value);
    let quotient = if difference.is_zero() {
        Fr::ZERO
    } else {
        difference * Fr::from_i64(count_value).inverse().unwrap_or_default()
    };
    let quotient = b.field_var(quotient);
    b.row(rules[0], || (count.clone(), wrapped.into(), Lc::default()));
    b.row(rules[1], || {
        (
            count.clone(),
            quotient.into(),
            step.clone().add(&wrapped.into(), -1),
        )
    });
    wrapped
}

/// States that `multiple` is `q` times an integer in `-2^29..2^29`: 30 rows. As in a range check
/// the last bit is no variable.
fn divide(b: &mut Builder, mut multiple: Lc, quotient: i64) {
    let offset = 1_i64 << QUOTIENT_BITS;
    let shifted = (quotient + offset).clamp(0, 2 * offset - 1);
    multiple = multiple.plus(Q * offset);
    for index in 0..QUOTIENT_BITS {
        let bit = b.boolean(Rule::QuotientBit, shifted >> index & 1 == 1);
        bit.add_to(&mut multiple, Coeff::Int(-(Q << index)));
    }
    b.row(Rule::QuotientLast, || {
        let last = multiple.clone().plus(-Q * offset);
        (multiple, last, Lc::default())
    });
}
