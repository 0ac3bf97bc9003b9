//! Laws of the ring through the public interface, on the active backend.

#[path = "support/common.rs"]
mod common;

use common::{edgy_words, random_words};
use horizon_ring::ntt::{self, Scale, Unscale};
use horizon_ring::{LazyNttMatrix, LazyNttPoly, NttMatrix, NttPoly, Poly, Q, dot, modulus, round};
use horizon_testkit::rng::{SeededRng, rng};
use zeroize::Zeroize;

fn poly(rng: &mut SeededRng) -> Poly {
    Poly::from_array_unchecked(if rng.below(2) == 0 {
        random_words(rng, Q)
    } else {
        edgy_words(rng, Q)
    })
}

fn slots(rng: &mut SeededRng) -> NttPoly {
    NttPoly::from_array_unchecked(*poly(rng).as_array())
}

fn schoolbook(a: &Poly, b: &Poly) -> Poly {
    let mut out = [0; 256];
    for (i, &a) in a.as_array().iter().enumerate() {
        for (j, &b) in b.as_array().iter().enumerate() {
            let term = modulus::mul(a, b);
            let place = &mut out[(i + j) % 256];
            *place = if i + j < 256 {
                modulus::add(*place, term)
            } else {
                modulus::sub(*place, term)
            };
        }
    }
    Poly::from_array_unchecked(out)
}

#[test]
fn products_in_every_form_match_schoolbook() {
    let mut rng = rng(0x81);
    for _ in 0..10 {
        let (a, b) = (poly(&mut rng), poly(&mut rng));
        let expected = schoolbook(&a, &b);
        let plain = dot::mul(&ntt::forward_scaled(&a, Scale::R52), &ntt::forward_lazy(&b));
        assert_eq!(ntt::inverse(&plain), expected);
        let montgomery = dot::mul(
            &ntt::forward_scaled(&a, Scale::R52),
            &ntt::forward_montgomery(&b),
        );
        assert_eq!(ntt::inverse_montgomery(&montgomery), expected);
        let fused = dot::mul(&ntt::forward_fused(&a), &ntt::forward(&b));
        assert_eq!(ntt::inverse_montgomery(&fused), expected);
        let mut scaled = LazyNttPoly::ZERO;
        ntt::forward_lazy_into(&b, Scale::R116, &mut scaled);
        let double = dot::mul(&ntt::forward_montgomery(&a), &scaled);
        assert_eq!(ntt::inverse_double_montgomery(&double), expected);
        let mut moved = ntt::forward_montgomery(&a);
        moved.scale(modulus::R64_TO_R52);
        assert_eq!(moved, ntt::forward_scaled(&a, Scale::R52));
        assert_eq!(ntt::inverse_unscaled(&moved, Unscale::R52), a);
    }
}

#[test]
fn the_transform_is_linear() {
    let mut rng = rng(0x82);
    for _ in 0..50 {
        let (a, b) = (poly(&mut rng), poly(&mut rng));
        let mut sum = a.clone();
        sum.add_assign(&b);
        let mut slots = ntt::forward(&a);
        slots.add_assign(&ntt::forward(&b));
        assert_eq!(ntt::forward(&sum), slots);
        sum.sub_assign(&b);
        assert_eq!(sum, a);
        let mut negative = a.clone();
        negative.negate();
        sum.add_assign(&negative);
        assert_eq!(sum, Poly::ZERO);
        let k = rng.below(Q);
        let (mut left, mut right) = (a.clone(), ntt::forward(&a));
        left.scale(k);
        right.scale(k);
        assert_eq!(ntt::forward(&left), right);
    }
}

#[test]
fn matrix_products_match_sums_of_products() {
    let mut rng = rng(0x83);
    for (rows, cols) in [(8, 7), (8, 49), (7, 50), (3, 1), (2, 130), (0, 5)] {
        let matrix = NttMatrix::from_fn(rows, cols, |_, _| slots(&mut rng));
        let x: Vec<NttPoly> = (0..cols).map(|_| slots(&mut rng)).collect();
        let mut expected = vec![NttPoly::ZERO; rows];
        for (r, expected) in expected.iter_mut().enumerate() {
            for (entry, x) in matrix.row(r).zip(&x) {
                expected.add_assign(&dot::mul(entry, x));
            }
        }
        let mut out = vec![NttPoly::ZERO; rows];
        matrix.mul_vec(&x, &mut out).expect("the shape");
        assert_eq!(out, expected);
        let transposed =
            NttMatrix::from_fn(cols, rows, |r, c| matrix.get(c, r).expect("inside").clone());
        out.fill(NttPoly::ZERO);
        transposed
            .transposed_mul_vec(&x, &mut out)
            .expect("the shape");
        assert_eq!(out, expected);
    }
}

#[test]
fn a_fused_column_is_the_product_plus_the_scaled_error() {
    let mut rng = rng(0x84);
    let a: Vec<Vec<Poly>> = (0..8)
        .map(|_| (0..7).map(|_| poly(&mut rng)).collect())
        .collect();
    let r: Vec<Poly> = (0..7).map(|_| poly(&mut rng)).collect();
    let e: Vec<Poly> = (0..8).map(|_| poly(&mut rng)).collect();
    let lazy = |polys: &[Poly]| polys.iter().map(ntt::forward_lazy).collect::<Vec<_>>();
    for (scale, k, unscale) in [
        (Scale::R52, modulus::R52, Unscale::One),
        (Scale::R116, modulus::R116, Unscale::R64),
    ] {
        let matrix = NttMatrix::from_fn(8, 7, |i, j| ntt::forward_scaled(&a[i][j], scale));
        let mut out = NttMatrix::zeros(8, 3);
        let columns = LazyNttMatrix::from_fn(1, 7, |_, c| ntt::forward_lazy(&r[c]));
        matrix
            .mul_column(columns.row(0), &lazy(&e), k, out.column_mut(1))
            .expect("the shape");
        for (i, d) in out.column(1).enumerate() {
            let mut expected = e[i].clone();
            for (a, r) in a[i].iter().zip(&r) {
                expected.add_assign(&schoolbook(a, r));
            }
            assert_eq!(ntt::inverse_unscaled(d, unscale), expected);
        }
        assert!(
            out.column(0)
                .chain(out.column(2))
                .all(|d| *d == NttPoly::ZERO)
        );
    }
}

#[test]
fn rounding_keeps_values_within_half_a_unit_and_reaches_the_inclusive_top() {
    let mut rng = rng(0x85);
    for bits in [29, 30] {
        let a = poly(&mut rng);
        let rounded = round::round_shift(&a, bits);
        for (&v, &r) in a.as_array().iter().zip(rounded.as_array()) {
            assert!((r << bits).abs_diff(v) <= 1 << (bits - 1));
            assert!(r <= 1 << (48 - bits));
        }
        let mut top = Poly::ZERO;
        top.as_mut_array()[0] = Q - 1;
        assert_eq!(
            round::round_shift(&top, bits).as_array()[0],
            1 << (48 - bits)
        );
        assert_eq!(
            round::round_shift_mod(&top, bits, 48 - bits).as_array()[0],
            0
        );
    }
}

#[test]
fn one_conditional_subtraction_leaves_an_unreduced_top_where_the_reference_does() {
    let constant = |v: u64| Poly::from_array_unchecked([v; 256]);
    let top = 1 << 19;
    for (x, y, sum, difference) in [
        (0, 0, 0, 0),
        (top - 1, 1, 0, top - 2),
        (top, 0, 0, top),
        (top, top, top, 0),
        (0, top, 0, 0),
        (0, 1, 1, top - 1),
        (top, 1, 1, top - 1),
    ] {
        assert_eq!(
            round::add_pow2(&constant(x), &constant(y), 19),
            constant(sum),
            "{x} + {y}"
        );
        let found = round::sub_pow2(&constant(x), &constant(y), 19);
        assert_eq!(found, constant(difference), "{x} - {y}");
    }
}

#[test]
fn the_norm_of_extreme_values_fills_more_than_64_bits() {
    let polys = vec![Poly::from_array_unchecked([Q / 2; 256]); 15];
    let expected = u128::from(Q / 2).pow(2) * 256 * 15;
    assert_eq!(round::norm_sq(&polys), expected);
    let mut negative = polys;
    negative.iter_mut().for_each(Poly::negate);
    assert_eq!(round::norm_sq(&negative), expected);
    // (2^19 - d) << 29 centres to -(d·2^29 + 18945).
    let delta = Poly::from_array_unchecked([(1 << 19) - 3; 256]);
    let value = u128::from((3_u64 << 29) + 18945);
    assert_eq!(round::norm_sq_shifted([&delta], 29), value * value * 256);
}

#[test]
fn secrets_are_not_printed_and_can_be_erased() {
    let mut secret = Poly::from_array_unchecked([123_456_789; 256]);
    assert_eq!(format!("{secret:?}"), "Poly(..)");
    secret.zeroize();
    assert_eq!(secret, Poly::ZERO);
    let mut matrix = NttMatrix::from_fn(2, 2, |_, _| NttPoly::constant(7));
    assert_eq!(format!("{matrix:?}"), "Matrix(2 x 2)");
    matrix.zeroize();
    assert_eq!(matrix, NttMatrix::zeros(2, 2));
}
