//! SampleInBall: the challenge polynomial from the bits of its hash.
//!
//! 1. *Stream.* `found[k]` is 1 if `k` positions were accepted so far, so it starts as `k = 0`. A
//!    stream byte is accepted if it is at most `n - tau + count`; the `k`-th accepted byte is `j_k`.
//! 2. *Shuffle.* Entry `k` starts at `j_k`. When a later step `k'` takes its place, it moves to
//!    `n - tau + k'`: that is the swap of the standard seen from the entry.
//! 3. *Vector.* Each entry adds `2^position` to one of four sums, by half and sign. Final positions
//!    are distinct, so no carries occur and the four sums are the indicators of the challenge.
//!
//! # Security
//! `found` is one-hot by induction: a product of a bit and a one-hot entry moves it one step. The
//! comparison has one solution for each byte and count. Once all are found, `found[tau]` keeps the
//! limit at `n - 1`, so every later byte counts as accepted and changes nothing.
//!
//! # Source
//! FIPS 204, Algorithm 29.

use core::ops::RangeInclusive;

use super::{
    gadgets::Bit,
    r1cs::{Builder, Coeff, Lc, Rule, Var},
    slot::Shape,
};
use crate::fr::Fr;

/// Bits for the signs at the start of the hash output.
pub(crate) const SIGN_BITS: usize = 64;

/// What the rows connect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ball<'a> {
    /// Hash output: signs, then the stream.
    pub(crate) stream: &'a [Bit],
    /// Whether the slot counts; otherwise the indicators are zero.
    pub(crate) switch: Bit,
    /// Indicators of +1.
    pub(crate) plus: &'a [Bit],
    /// Indicators of -1.
    pub(crate) minus: &'a [Bit],
}

/// An affine form and its value.
#[derive(Clone, Debug)]
struct Known {
    form: Lc,
    value: i64,
}

/// Adds the rows that make the indicators those of SampleInBall.
pub(crate) fn sample_in_ball(b: &mut Builder, shape: &Shape, ball: &Ball<'_>) {
    let starts = accept(b, shape, ball.stream);
    let ends = shuffle(b, shape, &starts);
    let mut sums: [Lc; 4] = Default::default();
    for (end, &sign) in ends.iter().zip(ball.stream) {
        add_entry(b, shape, end, sign, &mut sums);
    }
    let (low, high) = (0..shape.n / 2, shape.n / 2..shape.n);
    let halves = [
        &ball.plus[low.clone()],
        &ball.minus[low],
        &ball.plus[high.clone()],
        &ball.minus[high],
    ];
    for (sum, indicators) in sums.into_iter().zip(halves) {
        b.row(Rule::Vector, || {
            let mut vector = Lc::default();
            let mut weight = Fr::ONE;
            for bit in indicators {
                bit.add_to(&mut vector, Coeff::Field(weight));
                weight = weight.double();
            }
            (ball.switch.times(1), sum, vector)
        });
    }
}

/// Positions of the standard's `j` in the stream, in order of acceptance.
fn accept(b: &mut Builder, shape: &Shape, stream: &[Bit]) -> Vec<Known> {
    let (tau, width) = (shape.tau, shape.position_bits());
    let bytes: Vec<&[Bit]> = stream[SIGN_BITS..]
        .chunks(width)
        .take(shape.stream_len)
        .collect();
    let values: Vec<i64> = bytes.iter().map(|bits| number(b, bits)).collect();
    let base = signed(shape.n - tau);
    let mut accepted = Vec::with_capacity(tau);
    for &value in &values {
        if accepted.len() < tau && value <= base + signed(accepted.len()) {
            accepted.push(value);
        }
    }
    accepted.resize(tau, 0);
    let starts: Vec<Known> = accepted
        .into_iter()
        .map(|value| Known {
            form: b.int_var(value).into(),
            value,
        })
        .collect();

    let mut found = vec![Lc::default(); tau + 1];
    found[0] = Lc::constant(1);
    let mut count = Known {
        form: Lc::default(),
        value: 0,
    };
    for (t, (bits, &value)) in bytes.iter().zip(&values).enumerate() {
        let limit = base + count.value - i64::from(count.value == signed(tau));
        let take = b.boolean(Rule::AcceptBit, value <= limit);
        let byte = weighted(bits);
        let rest = 1_i64 << width;
        let compare = count
            .form
            .clone()
            .plus(base + rest)
            .add(&found[tau], -1)
            .add(&byte, -1)
            .add(&take.times(-rest), 1);
        let compare_value = limit - value + if b.bit(take) { 0 } else { rest };
        b.bits(
            [Rule::CompareBit, Rule::CompareSum],
            &compare,
            compare_value,
            width,
        );
        let window = t.saturating_sub(shape.stream_len - tau)..=t.min(tau - 1);
        select(b, window, (take, &byte), &mut found, &mut count, &starts);
    }
    b.zero_row(Rule::AllFound, || found[tau].clone().plus(-1));
    starts
}

/// The products of one stream byte with the counts that can occur; advances the counts.
fn select(
    b: &mut Builder,
    window: RangeInclusive<usize>,
    (take, byte): (Bit, &Lc),
    found: &mut [Lc],
    count: &mut Known,
    starts: &[Known],
) {
    let mut selections: Vec<(usize, Var)> = Vec::with_capacity(starts.len());
    let mut hits = 0;
    for k in window {
        let hit = b.bit(take) && count.value == signed(k);
        hits += i64::from(hit);
        let selected = b.bit_var(hit);
        b.row(Rule::Select, || {
            (take.times(1), found[k].clone(), selected.into())
        });
        b.row(Rule::SelectByte, || {
            (
                selected.into(),
                byte.clone().add(&starts[k].form, -1),
                Lc::default(),
            )
        });
        selections.push((k, selected));
    }
    for (k, selected) in selections {
        found[k].push(selected, Coeff::Int(-1));
        found[k + 1].push(selected, Coeff::Int(1));
        count.form.push(selected, Coeff::Int(1));
    }
    count.value += hits;
}

/// Where each entry ends after all later swaps.
fn shuffle(b: &mut Builder, shape: &Shape, starts: &[Known]) -> Vec<Known> {
    let base = signed(shape.n - shape.tau);
    let mut ends = Vec::with_capacity(starts.len());
    for (k, start) in starts.iter().enumerate() {
        let mut position = start.clone();
        for (later, taken) in starts.iter().enumerate().skip(k + 1) {
            let difference = position.form.clone().add(&taken.form, -1);
            let value = position.value - taken.value;
            let equal = b.is_zero(&difference, value == 0, shape.inverse(value));
            let target = base + signed(later);
            let moved_value = if value == 0 {
                target - position.value
            } else {
                0
            };
            let moved = b.int_var(moved_value);
            b.row(Rule::Move, || {
                let way = Lc::constant(target).add(&position.form, -1);
                (equal.times(1), way, moved.into())
            });
            position.form.push(moved, Coeff::Int(1));
            position.value += moved_value;
        }
        ends.push(position);
    }
    ends
}

/// Adds `2^(position mod n/2)` to one of the sums: low plus, low minus, high plus, high minus.
fn add_entry(b: &mut Builder, shape: &Shape, end: &Known, sign: Bit, sums: &mut [Lc; 4]) {
    let width = shape.position_bits();
    let bits = b.bits(
        [Rule::PositionBit, Rule::PositionSum],
        &end.form,
        end.value,
        width,
    );
    let (top, low_bits) = (bits[width - 1], &bits[..width - 1]);
    let mut power = low_bits[0].times(1).plus(1);
    let mut exponent = u32::from(b.bit(low_bits[0]));
    for (index, &bit) in low_bits.iter().enumerate().skip(1) {
        exponent += u32::from(b.bit(bit)) << index;
        // At most 2^127: the exponent has seven bits.
        let next = b.field_var(Fr::from_u128(1 << exponent));
        b.row(Rule::Power, || {
            let mut factor = Lc::constant(1);
            let jump = Fr::from_u128((1 << (1 << index)) - 1);
            bit.add_to(&mut factor, Coeff::Field(jump));
            (power, factor, next.into())
        });
        power = next.into();
    }
    let value = Fr::from_u128(1 << exponent);
    let high = product(b, Rule::SplitHalf, (top, &power), value);
    let high_value = if b.bit(top) { value } else { Fr::ZERO };
    let low = power.add(&high.into(), -1);
    let low_minus = product(b, Rule::SplitSign, (sign, &low), value - high_value);
    let high_minus = product(b, Rule::SplitSign, (sign, &high.into()), high_value);
    let parts = [
        low.add(&low_minus.into(), -1),
        low_minus.into(),
        Lc::from(high).add(&high_minus.into(), -1),
        high_minus.into(),
    ];
    for (sum, part) in sums.iter_mut().zip(parts) {
        sum.add_scaled(&part, Coeff::Int(1));
    }
}

/// A bit times a form of the given value.
fn product(b: &mut Builder, rule: Rule, (bit, form): (Bit, &Lc), value: Fr) -> Var {
    let out = b.field_var(if b.bit(bit) { value } else { Fr::ZERO });
    b.row(rule, || (bit.times(1), form.clone(), out.into()));
    out
}

/// The number with these bits, lowest first.
fn weighted(bits: &[Bit]) -> Lc {
    let mut form = Lc::default();
    for (index, bit) in bits.iter().enumerate() {
        bit.add_to(&mut form, Coeff::Int(1 << index));
    }
    form
}

/// A dimension of the ring, at most 256, as a signed integer.
fn signed(dimension: usize) -> i64 {
    i64::try_from(dimension).unwrap_or(i64::MAX)
}

fn number(b: &Builder, bits: &[Bit]) -> i64 {
    bits.iter()
        .enumerate()
        .map(|(index, &bit)| i64::from(b.bit(bit)) << index)
        .sum()
}
