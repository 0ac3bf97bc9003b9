//! Ring products through the negacyclic transform over the scalar field.
//!
//! The transform is linear, so it costs no products: one row names each point of `z~` and `c~`, one
//! row multiplies each pair of points, and one row for each `(i, m)` adds up row `i` of
//! `A z - c t - W` at point `m`, where `W~` is written out in the coefficients of `W`.
//!
//! # Security
//! The transform is a bijection on polynomials of degree below `n` over the scalar field, so the
//! rows force `W = A z - c t` modulo `X^n + 1` there. With `z` range-checked and `c` ternary every
//! coefficient of the right side is an integer below 2^52 in absolute value. Equality modulo the
//! 255-bit `r` is then equality of integers.

use super::{
    gadgets::Bit,
    r1cs::{Builder, Coeff, Lc, Rule, Var},
};
use crate::{fr::Fr, key_image::Transform};

/// Names the points of a polynomial whose coefficients are affine forms: one row each.
///
/// `values` are the integer coefficients.
pub(crate) fn points(
    b: &mut Builder,
    rule: Rule,
    transform: &Transform,
    coefficients: &[Lc],
    values: &[i64],
) -> Vec<Var> {
    let points = transform.forward(values.iter().copied());
    points
        .into_iter()
        .enumerate()
        .map(|(m, value)| {
            let point = b.field_var(value);
            b.row(rule, || {
                let mut sum = Lc::default();
                for (n, coefficient) in coefficients.iter().enumerate() {
                    sum.add_scaled(coefficient, Coeff::Field(transform.weight(n, m)));
                }
                (sum, Lc::constant(1), point.into())
            });
            point
        })
        .collect()
}

/// The coefficients of `c` from its indicators of +1 and -1.
pub(crate) fn signed(plus: &[Bit], minus: &[Bit]) -> Vec<Lc> {
    let pairs = plus.iter().zip(minus);
    pairs
        .map(|(plus, minus)| plus.times(1).add(&minus.times(-1), 1))
        .collect()
}

/// One row of the matrix equation: `W = sum_j a_j z_j - c t`, point by point.
///
/// `a` holds the public points of `l` matrix entries, `t` those of one entry of the key; `z` and
/// `c` come from [`points`].
pub(crate) fn product_row(
    b: &mut Builder,
    transform: &Transform,
    (a, t): (&[Vec<Var>], &[Var]),
    (z, c): (&[Vec<Var>], &[Var]),
    w: &[Var],
) {
    for m in 0..transform.len() {
        let products: Vec<Var> = a
            .iter()
            .zip(z)
            .map(|(a, z)| multiply(b, a[m], z[m]))
            .collect();
        b.row(Rule::ProductSum, || {
            let mut rest = Lc::default();
            for &product in &products {
                rest.push(product, Coeff::Int(1));
            }
            for (n, &coefficient) in w.iter().enumerate() {
                rest.push(coefficient, Coeff::Field(-transform.weight(n, m)));
            }
            (c[m].into(), t[m].into(), rest)
        });
    }
}

fn multiply(b: &mut Builder, a: Var, z: Var) -> Var {
    let value = if b.has_values() {
        b.value(a) * b.value(z)
    } else {
        Fr::ZERO
    };
    let product = b.field_var(value);
    b.row(Rule::MatrixProduct, || (a.into(), z.into(), product.into()));
    product
}
