//! Under valgrind's memcheck (`--error-exitcode`): no branch and no memory index depends on a
//! secret word.
//!
//! Secrets are marked undefined; any decision on them is an error that valgrind counts. Valgrind
//! knows no AVX-512, so the portable and AVX2 backends are covered. Outside valgrind the test
//! checks nothing but that the operations run.

use horizon_ring::backend::{self, Kind, Term};
use horizon_ring::ntt::{Scale, Unscale};
use horizon_ring::sample::{SMALL_BYTES, WIDE_BYTES};
use horizon_ring::{NttPoly, Poly, Q, modulus, round};
use horizon_testkit::rng::rng;
use horizon_testkit::secret::{error_count, mark_defined, mark_undefined};
use subtle::ConstantTimeEq;

/// Runs `operation` on secret words and returns how many decisions valgrind saw.
fn decisions(operation: impl FnOnce()) -> usize {
    let before = error_count();
    operation();
    error_count() - before
}

#[test]
fn samplers_decide_nothing_on_their_bytes() {
    let mut rng = rng(0x91);
    let bytes = rng.vec(WIDE_BYTES);
    let wide: &[u8; WIDE_BYTES] = bytes.as_slice().try_into().expect("the length");
    let small: &[u8; SMALL_BYTES] = bytes[..SMALL_BYTES].try_into().expect("the length");
    for kind in Kind::available() {
        mark_undefined(bytes.as_slice());
        let mut out = [0; 256];
        let seen = decisions(|| {
            backend::sample_small(kind, small, &mut out);
            backend::sample_wide(kind, wide, &mut out);
        });
        mark_defined(bytes.as_slice());
        mark_defined(&out);
        assert_eq!(seen, 0, "{kind:?}");
        assert!(out.iter().all(|&v| v < Q));
    }
}

#[test]
fn transforms_and_products_decide_nothing_on_their_words() {
    let mut rng = rng(0x92);
    let words: Vec<[u64; 256]> = (0..9)
        .map(|_| core::array::from_fn(|_| rng.below(Q)))
        .collect();
    for kind in Kind::available() {
        mark_undefined(words.as_slice());
        let mut out = [[0; 256]; 5];
        let mut norm = 0;
        let seen = decisions(|| {
            for scale in [Scale::One, Scale::R52, Scale::R64, Scale::R116] {
                backend::forward(kind, &words[0], scale, &mut out[0]);
                backend::forward_lazy(kind, &words[0], scale, &mut out[1]);
            }
            for unscale in [Unscale::One, Unscale::R52, Unscale::R64, Unscale::R128] {
                backend::inverse(kind, &words[0], unscale, &mut out[2]);
            }
            let terms: Vec<Term<'_>> = words.iter().zip(words.iter().rev()).collect();
            backend::dot(kind, &terms, &mut out[3]);
            out[4] = words[1];
            backend::add(kind, &mut out[4], &words[2]);
            backend::sub(kind, &mut out[4], &words[3]);
            backend::scale(kind, &mut out[4], 12_345);
            backend::add_raw(kind, &mut out[3], &words[4]);
            backend::reduce(kind, &words[5], &mut out[1]);
            norm = backend::norm_sq(kind, &words[6], 0);
        });
        mark_defined(words.as_slice());
        mark_defined(&out);
        mark_defined(&norm);
        assert_eq!(seen, 0, "{kind:?}");
        assert!(norm > 0 && out[2].iter().all(|&v| v < Q));
    }
}

#[test]
fn packing_rounding_and_comparing_decide_nothing_on_their_words() {
    let mut rng = rng(0x93);
    let words: [u64; 256] = core::array::from_fn(|_| rng.below(Q));
    let poly = Poly::from_array_unchecked(words);
    let other = NttPoly::from_array_unchecked(words);
    for kind in Kind::available() {
        mark_undefined(&poly);
        mark_undefined(&other);
        let mut packed = [0; horizon_ring::pack::PACKED_BYTES];
        let mut negative = poly.clone();
        let mut rounded = Poly::ZERO;
        let mut equal = 0;
        let mut scalars = [0; 4];
        let seen = decisions(|| {
            backend::pack49(kind, other.as_array(), &mut packed);
            negative.negate();
            rounded = round::add_pow2(&round::round_shift(&poly, 29), &poly, 19);
            equal = poly.ct_eq(&negative).unwrap_u8();
            let [a, b, ..] = *poly.as_array();
            scalars = [
                modulus::mul(a, b),
                modulus::mul_montgomery(a, b),
                modulus::centered(a).unsigned_abs(),
                modulus::sub(a, b),
            ];
        });
        mark_defined(&poly);
        mark_defined(&other);
        mark_defined(&packed);
        mark_defined(&negative);
        mark_defined(&rounded);
        mark_defined(&equal);
        mark_defined(&scalars);
        assert_eq!(seen, 0, "{kind:?}");
        assert_eq!(equal, 0);
    }
}
