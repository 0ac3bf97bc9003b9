//! Malformed encodings, and misuse that types cannot exclude: the variant is asserted, not just
//! failure.

#[path = "support/common.rs"]
mod common;

use common::{labelled, random_words};
use horizon_ring::codec::{self, POLY_BYTES, matrix_bytes, vector_bytes};
use horizon_ring::pack::{self, PACKED_BYTES};
use horizon_ring::{Error, Fault, LazyNttPoly, Matrix, MatrixSum, NttMatrix, NttPoly, Poly, Q};
use horizon_testkit::mutate::{with_le64, wrong_lengths};
use horizon_testkit::rng::rng;

const fn malformed(field: &'static str, fault: Fault) -> Error {
    Error::Malformed { field, fault }
}

/// The inclusive bounds the wire types use.
const BOUNDS: [u64; 3] = [Q - 1, 1 << 18, (1 << 19) - 1];

#[test]
fn polynomials_of_any_other_length_are_refused() {
    let mut wire = Vec::new();
    codec::write_poly(&Poly::ZERO, &mut wire);
    for mutant in wrong_lengths(&wire, 100) {
        let fault = Fault::Length {
            expected: POLY_BYTES,
            found: mutant.bytes.len(),
        };
        let result = codec::read_poly::<Poly>(&mutant.bytes, Q - 1, "c");
        assert_eq!(result, Err(malformed("c", fault)), "{}", mutant.name);
    }
}

#[test]
fn polynomial_headers_are_exact() {
    let mut wire = Vec::new();
    codec::write_poly(&Poly::ZERO, &mut wire);
    for level in [0, 2, 256, 1 << 32, 1 << 63, u64::MAX] {
        let result = codec::read_poly::<Poly>(&with_le64(&wire, 0, level), Q - 1, "c");
        assert_eq!(result, Err(malformed("c", Fault::LevelCount)));
    }
    for count in [0, 1, 255, 257, 512, 1 << 32 | 256, u64::MAX] {
        let result = codec::read_poly::<Poly>(&with_le64(&wire, 8, count), Q - 1, "c");
        assert_eq!(result, Err(malformed("c", Fault::CoefficientCount)));
    }
}

#[test]
fn the_bound_of_a_value_is_inclusive_and_holds_in_every_position() {
    let mut wire = Vec::new();
    codec::write_poly(&Poly::ZERO, &mut wire);
    for max in BOUNDS {
        for i in 0..256 {
            let at = with_le64(&wire, 16 + 8 * i, max);
            let poly = codec::read_poly::<Poly>(&at, max, "Delta").expect("the bound itself");
            assert_eq!(poly.as_array()[i], max);
            for word in [max + 1, 1 << 52, 1 << 63, u64::MAX] {
                let above = with_le64(&wire, 16 + 8 * i, word);
                let result = codec::read_poly::<Poly>(&above, max, "Delta");
                assert_eq!(result, Err(malformed("Delta", Fault::OutOfRange { max })));
            }
        }
    }
}

#[test]
fn vectors_have_exactly_the_required_shape() {
    let polys: Vec<Poly> = vec![Poly::ZERO; 7];
    let mut wire = Vec::new();
    codec::write_vector(polys.iter(), &mut wire);
    let read = |bytes: &[u8], len: usize| {
        let mut out = vec![Poly::ZERO; len];
        codec::read_vector(bytes, Q - 1, "z", out.iter_mut())
    };
    assert_eq!(read(&wire, 7), Ok(()));
    for len in [0, 1, 6, 8] {
        let fault = Fault::Length {
            expected: vector_bytes(len),
            found: wire.len(),
        };
        assert_eq!(read(&wire, len), Err(malformed("z", fault)));
    }
    for mutant in wrong_lengths(&wire, 50) {
        let fault = Fault::Length {
            expected: vector_bytes(7),
            found: mutant.bytes.len(),
        };
        assert_eq!(
            read(&mutant.bytes, 7),
            Err(malformed("z", fault)),
            "{}",
            mutant.name
        );
    }
    for count in [0, 6, 8, u64::MAX] {
        let mutant = with_le64(&wire, 0, count);
        assert_eq!(
            read(&mutant, 7),
            Err(malformed("z", Fault::PolynomialCount))
        );
    }
    for i in 0..7 {
        let start = 8 + i * POLY_BYTES;
        let mutant = with_le64(&wire, start, 2);
        assert_eq!(read(&mutant, 7), Err(malformed("z", Fault::LevelCount)));
        let mutant = with_le64(&wire, start + 16 + 8 * 255, Q);
        assert_eq!(
            read(&mutant, 7),
            Err(malformed("z", Fault::OutOfRange { max: Q - 1 }))
        );
    }
}

#[test]
fn matrices_have_exactly_the_required_shape() {
    let matrix = labelled("negative", 8, 7);
    let mut wire = Vec::new();
    codec::write_matrix(&matrix, &mut wire);
    let read =
        |bytes: &[u8], shape| codec::read_matrix::<NttPoly>(bytes, shape, Q - 1, "A").map(|_| ());
    assert_eq!(read(&wire, (8, 7)), Ok(()));
    for shape in [(7, 8), (8, 6), (9, 7), (1, 56), (0, 0), (8, 49)] {
        let fault = Fault::Length {
            expected: matrix_bytes(shape.0, shape.1),
            found: wire.len(),
        };
        assert_eq!(read(&wire, shape), Err(malformed("A", fault)));
    }
    for mutant in wrong_lengths(&wire, 20) {
        let fault = Fault::Length {
            expected: matrix_bytes(8, 7),
            found: mutant.bytes.len(),
        };
        assert_eq!(
            read(&mutant.bytes, (8, 7)),
            Err(malformed("A", fault)),
            "{}",
            mutant.name
        );
    }
    for rows in [0, 7, 9, u64::MAX] {
        let mutant = with_le64(&wire, 0, rows);
        assert_eq!(read(&mutant, (8, 7)), Err(malformed("A", Fault::RowCount)));
    }
    for r in 0..8 {
        for count in [0, 6, 8, u64::MAX] {
            let mutant = with_le64(&wire, 8 + r * vector_bytes(7), count);
            assert_eq!(
                read(&mutant, (8, 7)),
                Err(malformed("A", Fault::PolynomialCount))
            );
        }
    }
    let last = wire.len() - 8;
    let mutant = with_le64(&wire, last, Q);
    assert_eq!(
        read(&mutant, (8, 7)),
        Err(malformed("A", Fault::OutOfRange { max: Q - 1 }))
    );
    // An empty matrix is eight zero bytes.
    assert_eq!(read(&[0; 8], (0, 0)), Ok(()));
}

#[test]
fn one_changed_byte_of_a_matrix_is_another_matrix_or_refused() {
    let matrix = labelled("malleability", 2, 3);
    let mut wire = Vec::new();
    codec::write_matrix(&matrix, &mut wire);
    for offset in (0..wire.len()).step_by(7) {
        let mut mutant = wire.clone();
        mutant[offset] ^= 1;
        if let Ok(decoded) = codec::read_matrix::<NttPoly>(&mutant, (2, 3), Q - 1, "D") {
            let mut again = Vec::new();
            codec::write_matrix(&decoded, &mut again);
            assert_eq!(again, mutant);
            assert_ne!(decoded, matrix);
        }
    }
}

#[test]
fn a_refused_packed_summand_leaves_the_sum_as_it_was() {
    let (rows, cols) = (8, 49);
    let first = labelled("first", rows, cols);
    let second = labelled("second", rows, cols);
    let mut bytes = vec![0; rows * cols * PACKED_BYTES];
    pack::pack49_all(second.iter(), &mut bytes).expect("the length");
    let mut sum = MatrixSum::new(rows, cols);
    sum.add(&first).expect("the shape");
    for index in [0, 1, 200, rows * cols - 1] {
        // All ones in one polynomial: every value is above q.
        let mut mutant = bytes.clone();
        mutant[index * PACKED_BYTES + 700..][..20].fill(0xFF);
        let fault = Fault::OutOfRange { max: Q - 1 };
        assert_eq!(sum.add_packed(&mutant, "D"), Err(malformed("D", fault)));
        assert_eq!(sum.summands(), 1);
    }
    for mutant in wrong_lengths(&bytes, 5) {
        let fault = Fault::Length {
            expected: bytes.len(),
            found: mutant.bytes.len(),
        };
        assert_eq!(
            sum.add_packed(&mutant.bytes, "D"),
            Err(malformed("D", fault))
        );
    }
    assert_eq!(sum.clone().finish(), first);
    sum.add_packed(&bytes, "D").expect("canonical");
    let total = sum.finish();
    for ((total, a), b) in total.iter().zip(first.iter()).zip(second.iter()) {
        let mut expected = a.clone();
        expected.add_assign(b);
        assert_eq!(total, &expected);
    }
}

#[test]
fn sums_refuse_other_shapes_and_one_summand_too_many() {
    let largest = NttMatrix::from_fn(1, 1, |_, _| NttPoly::constant(Q - 1));
    let mut sum = MatrixSum::new(1, 1);
    let other = NttMatrix::zeros(1, 2);
    assert_eq!(
        sum.add(&other),
        Err(Error::Misuse("summands of different shapes"))
    );
    for _ in 0..MatrixSum::MAX_SUMMANDS {
        sum.add(&largest).expect("room");
    }
    assert_eq!(sum.add(&largest), Err(Error::Misuse("too many summands")));
    let mut packed = [0; PACKED_BYTES];
    pack::pack49(&NttPoly::constant(1), &mut packed);
    assert_eq!(
        sum.add_packed(&packed, "D"),
        Err(Error::Misuse("too many summands"))
    );
    let expected = NttPoly::constant((Q - MatrixSum::MAX_SUMMANDS as u64) % Q);
    assert_eq!(sum.finish().get(0, 0), Some(&expected));
}

#[test]
fn products_refuse_vectors_of_another_length() {
    let mut rng = rng(0x71);
    let matrix: NttMatrix = Matrix::from_fn(3, 2, |_, _| {
        NttPoly::from_array_unchecked(random_words(&mut rng, Q))
    });
    let x = vec![LazyNttPoly::constant(1); 3];
    let mut out = vec![NttPoly::ZERO; 3];
    let refused = Err(Error::Misuse("matrix and vector lengths differ"));
    assert_eq!(matrix.mul_vec(&x, &mut out), refused);
    assert_eq!(matrix.mul_vec(&x[..2], &mut out[..2]), refused);
    assert_eq!(matrix.mul_vec(&x[..2], &mut out), Ok(()));
    assert_eq!(matrix.transposed_mul_vec(&x[..2], &mut out[..2]), refused);
    assert_eq!(matrix.transposed_mul_vec(&x, &mut out[..2]), Ok(()));
    let refused = Err(Error::Misuse("matrix and column lengths differ"));
    assert_eq!(matrix.mul_column(&x, &x, 1, &mut out), refused);
    assert_eq!(matrix.mul_column(&x[..2], &x[..2], 1, &mut out), refused);
    let refused = Err(Error::Misuse("matrix and result lengths differ"));
    assert_eq!(matrix.mul_column(&x[..2], &x, 1, &mut out[..2]), refused);
    out.push(NttPoly::ZERO);
    assert_eq!(matrix.mul_column(&x[..2], &x, 1, &mut out), refused);
}
