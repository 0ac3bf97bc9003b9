//! Ring arithmetic: constants, transforms, products, rounding, encoding, norm.

use horizon_pulsar::params::{B_SQUARED, NU, Q_NU, XI};
use horizon_ring::matrix::Matrix;
use horizon_ring::{N, NttPoly, Poly, codec, dot, modulus, ntt, round};

use super::Context;
use super::fields::{
    Checked, Fields, LabelStream, Mismatch, Raw, Verdict, fault, in_field, list, number, same,
    same_digest, ser_poly, ser_vector, sha256,
};

/// Separate transforms of one input. An input word equal to q stands for zero.
pub(super) fn check_transforms(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let input = case.poly("in")?;
    let element = Poly::from_reduced(input);
    let slots = NttPoly::from_reduced(input);
    let scaled = |factor| {
        let mut out = element.clone();
        out.scale(factor);
        *out.as_array()
    };
    same("ntt", ntt::forward(&element).as_array(), &case.poly("ntt")?)?;
    same(
        "ntt_mform",
        ntt::forward_montgomery(&element).as_array(),
        &case.poly("ntt_mform")?,
    )?;
    same("intt", ntt::inverse(&slots).as_array(), &case.poly("intt")?)?;
    same("mform", &scaled(modulus::R64), &case.poly("mform")?)?;
    same(
        "imform",
        &scaled(modulus::inv(modulus::R64)),
        &case.poly("imform")?,
    )?;
    let back = ntt::inverse(&ntt::forward(&element));
    same(
        "inverse of the forward transform",
        back.as_array(),
        element.as_array(),
    )?;
    let back = ntt::inverse_montgomery(&ntt::forward_montgomery(&element));
    same(
        "inverse of the Montgomery transform",
        back.as_array(),
        element.as_array(),
    )?;
    Ok(Verdict::Equal)
}

/// Word-wise products and sums, and the product in the ring.
pub(super) fn check_products(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let (a, b) = (case.poly("a")?, case.poly("b")?);
    let [a, b] = [a, b].map(Poly::from_reduced);
    let words = |op: fn(u64, u64) -> u64| -> Raw {
        core::array::from_fn(|i| op(a.as_array()[i], b.as_array()[i]))
    };
    let product = words(modulus::mul_montgomery);
    same("mul_montgomery", &product, &case.poly("mul_montgomery")?)?;
    same("add", &words(modulus::add), &case.poly("add")?)?;
    same("sub", &words(modulus::sub), &case.poly("sub")?)?;
    let mut sum = Poly::from_reduced(case.poly("acc")?);
    sum.add_assign(&Poly::from_reduced(product));
    same(
        "mul_montgomery_then_add",
        sum.as_array(),
        &case.poly("mul_montgomery_then_add")?,
    )?;
    let mut slots = dot::mul(&ntt::forward(&a), &ntt::forward(&b));
    slots.scale(modulus::R52);
    let ring_product = ntt::inverse(&slots);
    same(
        "negacyclic_product",
        ring_product.as_array(),
        &case.poly("negacyclic_product")?,
    )?;
    Ok(Verdict::Equal)
}

/// Rounding without reduction, its undoing, and the sums modulo 2^19 of the reference.
pub(super) fn check_rounding(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let [one, two] = [case.poly("in")?, case.poly("in2")?].map(Poly::from_reduced);
    let one_nu = round::round_shift(&one, NU);
    let two_nu = round::round_shift(&two, NU);
    let one_xi = round::round_shift(&one, XI);
    let difference = round::sub_pow2(&one_nu, &two_nu, NU_BITS);
    let checks = [
        ("round_xi30", &one_xi),
        ("round_nu29", &one_nu),
        ("round_nu29_2", &two_nu),
        ("restore_xi", &round::shift_left(&one_xi, XI)),
        ("restore_nu", &round::shift_left(&one_nu, NU)),
        ("rnu_sub", &difference),
        ("rnu_add_1", &round::add_pow2(&one_nu, &difference, NU_BITS)),
        ("rnu_add_2", &round::add_pow2(&two_nu, &difference, NU_BITS)),
    ];
    for (name, ours) in checks {
        same(name, ours.as_array(), &case.poly(name)?)?;
    }
    Ok(Verdict::Equal)
}

/// The structure encoding of polynomial, vector and matrix, by our codec.
pub(super) fn check_wire(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let (rows, cols) = (case.size("rows")?, case.size("cols")?);
    if rows == 0 || cols == 0 || rows.saturating_mul(cols) > 4096 {
        return Err(fault("rows, cols: out of range"));
    }
    let polys = LabelStream::new(case.text("label")?).polys(rows * cols, modulus::Q);
    same_digest("matrix", &case.object("matrix")?, &polys)?;
    same_digest("vector_row0", &case.object("vector_row0")?, &polys[..cols])?;
    let typed: Vec<Poly> = polys
        .iter()
        .map(|raw| Poly::from_array_unchecked(*raw))
        .collect();
    let matrix = Matrix::from_fn(rows, cols, |r, c| typed[r * cols + c].clone());
    let (mut poly_bytes, mut vector_bytes, mut matrix_bytes) = (vec![], vec![], vec![]);
    codec::write_poly(&typed[0], &mut poly_bytes);
    codec::write_vector(typed[..cols].iter(), &mut vector_bytes);
    codec::write_matrix(&matrix, &mut matrix_bytes);
    same(
        "our encoding of a polynomial",
        &poly_bytes,
        &ser_poly(&polys[0]),
    )?;
    same(
        "our encoding of a vector",
        &vector_bytes,
        &ser_vector(polys[..cols].iter()),
    )?;
    same(
        "poly_len",
        &(poly_bytes.len() as u64),
        &case.number("poly_len")?,
    )?;
    same(
        "vector_len",
        &(vector_bytes.len() as u64),
        &case.number("vector_len")?,
    )?;
    same(
        "matrix_len",
        &(matrix_bytes.len() as u64),
        &case.number("matrix_len")?,
    )?;
    same(
        "poly00_wire_sha256",
        &sha256(&poly_bytes),
        &case.array("poly00_wire_sha256")?,
    )?;
    let optional = [
        ("poly00_wire", &poly_bytes),
        ("vector_row0_wire", &vector_bytes),
        ("matrix_wire", &matrix_bytes),
    ];
    for (name, bytes) in optional {
        if case.has(name) {
            same(name, bytes, &case.bytes(name)?)?;
        }
    }
    Ok(Verdict::Equal)
}

/// Squared norm and its bound.
pub(super) fn check_norm(case: &Fields<'_>, _: Context<'_, '_>) -> Checked {
    let delta = in_field("delta", element_list(&case.object("delta")?))?;
    let z = in_field("z", element_list(&case.object("z")?))?;
    let polys: Vec<Poly> = delta.into_iter().chain(z).map(Poly::from_reduced).collect();
    let sum = round::norm_sq(&polys);
    same("sum_squares", &sum, &case.wide("sum_squares")?)?;
    same("ok", &(sum <= B_SQUARED), &case.flag("ok")?)?;
    Ok(Verdict::Equal)
}

/// A list of coefficient-form polynomials: dense, or sparse triples (polynomial, index, value).
pub(super) fn element_list(list_of: &Fields<'_>) -> Result<Vec<Raw>, Mismatch> {
    if list_of.flag("dense")? {
        return list_of.polys("polys");
    }
    let count = list_of.size("npolys")?;
    if count > 64 {
        return Err(fault("npolys: too large"));
    }
    let mut polys = vec![[0; N]; count];
    let sparse = list_of.get("sparse")?;
    if sparse.is_null() {
        return Ok(polys);
    }
    for entry in list(sparse)? {
        let numbers: Vec<u64> = list(entry)?.iter().map(number).collect::<Result<_, _>>()?;
        let [index, position, value] = numbers[..] else {
            return Err(fault("sparse: three numbers were expected"));
        };
        let slot = usize::try_from(index)
            .ok()
            .and_then(|index| polys.get_mut(index));
        let position = usize::try_from(position).unwrap_or(N);
        let slot = slot.and_then(|poly| poly.get_mut(position));
        *slot.ok_or_else(|| fault("sparse: no such coefficient"))? = value;
    }
    Ok(polys)
}

pub(super) fn check_modulus(file: &Fields<'_>) -> Checked {
    equal("q", &file.number("q")?, &modulus::Q)
}

pub(super) fn check_degree(file: &Fields<'_>) -> Checked {
    equal("n", &file.size("n")?, &N)
}

pub(super) fn check_mask(file: &Fields<'_>) -> Checked {
    equal("mask", &file.number("mask")?, &((1 << modulus::Q_BITS) - 1))
}

/// floor(2^128 / q) as two words, the high one first.
pub(super) fn check_barrett(file: &Fields<'_>) -> Checked {
    let quotient = u128::MAX / u128::from(modulus::Q);
    let words = vec![(quotient >> 64) as u64, quotient as u64];
    equal("bred_constant", &file.numbers("bred_constant")?, &words)
}

/// The inverse of q modulo 2^64.
pub(super) fn check_montgomery(file: &Fields<'_>) -> Checked {
    equal(
        "mred_constant",
        &file.number("mred_constant")?.wrapping_mul(modulus::Q),
        &1,
    )
}

pub(super) fn check_degree_inverse(file: &Fields<'_>) -> Checked {
    let expected = modulus::mul(modulus::inv(N as u64), modulus::R64);
    equal(
        "n_inv_montgomery",
        &file.number("n_inv_montgomery")?,
        &expected,
    )
}

pub(super) fn check_root_order(file: &Fields<'_>) -> Checked {
    equal("nth_root", &file.number("nth_root")?, &(2 * N as u64))
}

pub(super) fn check_primitive_root(file: &Fields<'_>) -> Checked {
    equal(
        "primitive_root",
        &file.number("primitive_root")?,
        &GENERATOR,
    )
}

pub(super) fn check_roots_forward(file: &Fields<'_>) -> Checked {
    equal("roots_forward", &file.poly("roots_forward")?, &roots(psi()))
}

pub(super) fn check_roots_backward(file: &Fields<'_>) -> Checked {
    equal(
        "roots_backward",
        &file.poly("roots_backward")?,
        &roots(modulus::inv(psi())),
    )
}

pub(super) fn check_norm_bound(file: &Fields<'_>) -> Checked {
    equal("bsquare", &file.wide("bsquare")?, &B_SQUARED)
}

fn equal<T: PartialEq>(name: &str, theirs: &T, ours: &T) -> Checked {
    same(name, ours, theirs).map(|()| Verdict::Equal)
}

/// The root of order 512 that the transform stands on, taken from the transform itself: slot 0 of
/// the image of X is the root.
fn psi() -> u64 {
    let mut x = Poly::ZERO;
    x.as_mut_array()[1] = 1;
    ntt::forward(&x).as_array()[0]
}

/// Powers of `root` at bit-reversed positions, in Montgomery form.
fn roots(root: u64) -> Raw {
    let mut table = [0; N];
    let mut power = modulus::R64;
    for exponent in 0..N {
        table[exponent.reverse_bits() >> (usize::BITS - 8)] = power;
        power = modulus::mul(power, root);
    }
    table
}

const GENERATOR: u64 = 11;
const NU_BITS: u32 = Q_NU.trailing_zeros();
