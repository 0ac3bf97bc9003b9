//! Known answers of the reference: `vectors/ntt`, `vectors/samplers` and the specification's
//! values.

#[path = "support/common.rs"]
mod common;

use common::{bytes, cases, digest, hex_word, integer, labelled, poly_of, words};
use horizon_hash::blake2xb::Blake2Xb;
use horizon_ring::backend::{self, Kind};
use horizon_ring::ntt::{self, Scale, Unscale};
use horizon_ring::sample::{self, ByteSource, Ziggurat, constants};
use horizon_ring::{
    Matrix, NttMatrix, NttPoly, Poly, Q, Residues, codec, dot, modulus, rank, round,
};
use horizon_testkit::vectors::{to_hex, vector};
use serde_json::Value;

/// Bytes 00 01 … 1f, the key of the specification's values.
const KEY: [u8; 32] = {
    let mut key = [0; 32];
    let mut i = 0;
    while i < 32 {
        key[i] = i as u8;
        i += 1;
    }
    key
};

#[test]
fn transforms_and_montgomery_forms_agree_with_the_reference_on_every_backend() {
    let file = vector("ntt/ntt.json");
    assert_eq!(cases(&file).len(), 21);
    for case in cases(&file) {
        let input = words(&case["in"]);
        let canonical = input.map(modulus::reduce);
        for kind in Kind::available() {
            let mut out = [0; 256];
            backend::forward(kind, &input, Scale::One, &mut out);
            assert_eq!(out, words(&case["ntt"]), "{} {}", kind.name(), case["name"]);
            backend::forward(kind, &input, Scale::R64, &mut out);
            assert_eq!(
                out,
                words(&case["ntt_mform"]),
                "{} {}",
                kind.name(),
                case["name"]
            );
            backend::inverse(kind, &canonical, Unscale::One, &mut out);
            assert_eq!(
                out,
                words(&case["intt"]),
                "{} {}",
                kind.name(),
                case["name"]
            );
            let slots = words(&case["ntt_mform"]);
            backend::inverse(kind, &slots, Unscale::R64, &mut out);
            assert_eq!(out, canonical, "{} {}", kind.name(), case["name"]);
        }
        let mut poly = NttPoly::from_array_unchecked(input);
        poly.scale(modulus::R64);
        assert_eq!(*poly.as_array(), words(&case["mform"]));
        let mut poly = NttPoly::from_array_unchecked(input);
        poly.scale(modulus::inv(modulus::R64));
        assert_eq!(*poly.as_array(), words(&case["imform"]));
    }
}

#[test]
fn products_sums_and_differences_agree_with_the_reference() {
    let file = vector("ntt/mul.json");
    assert_eq!(cases(&file).len(), 10);
    for case in cases(&file) {
        let [a, b, acc] = ["a", "b", "acc"].map(|name| poly_of(&case[name]));
        let product: [u64; 256] =
            core::array::from_fn(|i| modulus::mul_montgomery(a.as_array()[i], b.as_array()[i]));
        assert_eq!(product, words(&case["mul_montgomery"]));
        let mut sum = Poly::from_array_unchecked(product);
        sum.add_assign(&acc);
        assert_eq!(*sum.as_array(), words(&case["mul_montgomery_then_add"]));
        let (mut sum, mut difference) = (a.clone(), a.clone());
        sum.add_assign(&b);
        difference.sub_assign(&b);
        assert_eq!(*sum.as_array(), words(&case["add"]));
        assert_eq!(*difference.as_array(), words(&case["sub"]));
        let slots = dot::mul(&ntt::forward_scaled(&a, Scale::R52), &ntt::forward(&b));
        assert_eq!(
            *ntt::inverse(&slots).as_array(),
            words(&case["negacyclic_product"])
        );
    }
}

#[test]
fn rounding_and_power_of_two_sums_agree_with_the_reference() {
    let file = vector("ntt/rounding.json");
    for case in cases(&file) {
        let (a, b) = (poly_of(&case["in"]), poly_of(&case["in2"]));
        let nu = round::round_shift(&a, 29);
        let nu2 = round::round_shift(&b, 29);
        assert_eq!(
            *round::round_shift(&a, 30).as_array(),
            words(&case["round_xi30"])
        );
        assert_eq!(*nu.as_array(), words(&case["round_nu29"]));
        assert_eq!(*nu2.as_array(), words(&case["round_nu29_2"]));
        let xi = round::round_shift(&a, 30);
        assert_eq!(
            *round::shift_left(&xi, 30).as_array(),
            words(&case["restore_xi"])
        );
        assert_eq!(
            *round::shift_left(&nu, 29).as_array(),
            words(&case["restore_nu"])
        );
        let difference = round::sub_pow2(&nu, &nu2, 19);
        assert_eq!(*difference.as_array(), words(&case["rnu_sub"]));
        let sum = round::add_pow2(&nu, &difference, 19);
        assert_eq!(*sum.as_array(), words(&case["rnu_add_1"]));
        let sum = round::add_pow2(&nu2, &difference, 19);
        assert_eq!(*sum.as_array(), words(&case["rnu_add_2"]));
        let reduced = round::round_shift_mod(&a, 29, 19);
        assert!(
            reduced
                .as_array()
                .iter()
                .zip(nu.as_array())
                .all(|(r, n)| *r == n % (1 << 19))
        );
    }
}

#[test]
fn structure_encodings_agree_with_the_reference_and_decode_again() {
    let file = vector("ntt/wire.json");
    for case in cases(&file) {
        let (rows, cols) = (integer(&case["rows"]), integer(&case["cols"]));
        let matrix = labelled(case["label"].as_str().expect("a label"), rows, cols);
        let mut wire = Vec::new();
        codec::write_matrix(&matrix, &mut wire);
        assert_eq!(wire.len(), codec::matrix_bytes(rows, cols));
        assert_eq!(wire.len(), integer(&case["matrix_len"]));
        assert_eq!(digest(&wire), case["matrix"]["wire_sha256"]);
        if let Some(hex) = case["matrix_wire"].as_str() {
            assert_eq!(to_hex(&wire), hex);
        }
        let decoded: NttMatrix =
            codec::read_matrix(&wire, (rows, cols), Q - 1, "matrix").expect("our own bytes");
        assert_eq!(decoded, matrix);

        let mut vector = Vec::new();
        codec::write_vector(matrix.row(0), &mut vector);
        assert_eq!(vector.len(), integer(&case["vector_len"]));
        assert_eq!(digest(&vector), case["vector_row0"]["wire_sha256"]);

        let first = matrix.get(0, 0).expect("an entry");
        let mut poly = Vec::new();
        codec::write_poly(first, &mut poly);
        assert_eq!(poly.len(), integer(&case["poly_len"]));
        assert_eq!(digest(&poly), case["poly00_wire_sha256"]);
        assert_eq!(
            codec::read_poly::<NttPoly>(&poly, Q - 1, "poly").as_ref(),
            Ok(first)
        );
    }
}

#[test]
fn norms_agree_with_the_reference() {
    let file = vector("ntt/l2norm.json");
    let bound: u128 = file["bsquare"]
        .as_str()
        .expect("a number")
        .parse()
        .expect("a number");
    for case in cases(&file) {
        let mut polys = polys_of(&case["delta"]);
        polys.extend(polys_of(&case["z"]));
        // One case holds values of q and more, which the reference reduces first.
        polys.iter_mut().for_each(Poly::canonicalize);
        let sum = round::norm_sq(&polys);
        assert_eq!(sum.to_string(), case["sum_squares"], "{}", case["name"]);
        assert_eq!(Value::Bool(sum <= bound), case["ok"]);
        for kind in Kind::available() {
            let parts = polys
                .iter()
                .map(|poly| backend::norm_sq(kind, poly.as_array(), 0));
            assert_eq!(parts.sum::<u128>(), sum);
        }
    }
}

#[test]
fn rank_checks_agree_with_the_reference_on_every_backend() {
    let file = vector("ntt/fullrank.json");
    assert_eq!(cases(&file).len(), 5);
    for case in cases(&file) {
        let mut matrix = labelled(case["label"].as_str().expect("a label"), 8, 49);
        match case["change"].as_str().expect("a change") {
            "random" => {}
            "row 3 := row 2" => {
                for c in 0..49 {
                    *matrix.get_mut(3, c).expect("inside") =
                        matrix.get(2, c).expect("inside").clone();
                }
            }
            "row 7 zero in slot 255" => {
                for c in 0..49 {
                    matrix.get_mut(7, c).expect("inside").as_mut_array()[255] = 0;
                }
            }
            "column 0 zero (ignored by the check)" => {
                for r in 0..8 {
                    *matrix.get_mut(r, 0).expect("inside") = NttPoly::ZERO;
                }
            }
            "only 7 nonzero columns after column 0" => {
                for (r, c) in (0..8).flat_map(|r| (1..42).map(move |c| (r, c))) {
                    *matrix.get_mut(r, c).expect("inside") = NttPoly::ZERO;
                }
            }
            other => panic!("unknown change {other}"),
        }
        let mut wire = Vec::new();
        codec::write_matrix(&matrix, &mut wire);
        assert_eq!(
            digest(&wire),
            case["matrix"]["wire_sha256"],
            "{}",
            case["name"]
        );
        for kind in Kind::available() {
            let verdict = rank::full_rank_with(kind, &matrix);
            assert_eq!(
                Value::Bool(verdict),
                case["full_rank"],
                "{} {}",
                kind.name(),
                case["name"]
            );
        }
    }
}

#[test]
fn uniform_polynomials_agree_with_the_reference() {
    let file = vector("samplers/uniform.json");
    assert_eq!(cases(&file).len(), 11);
    for case in cases(&file) {
        let mut stream = stream(case);
        let count = integer(&case["num_polys"]);
        let polys: Vec<Poly> = (0..count).map(|_| sample::uniform(&mut stream)).collect();
        assert_eq!(*polys[0].as_array(), words(&case["poly0"]));
        assert_eq!(*polys[count - 1].as_array(), words(&case["last_poly"]));
        assert_eq!(vector_digest(&polys), case["wire"]["wire_sha256"]);
    }
}

#[test]
fn gaussian_polynomials_agree_with_the_reference_and_use_as_many_bytes() {
    let file = vector("samplers/gaussian.json");
    assert_eq!(cases(&file).len(), 15);
    for case in cases(&file) {
        let float = |name: &str| f64::from_bits(hex_word(&case[name]));
        let sampler = Ziggurat {
            sigma: float("sigma_bits"),
            bound: float("bound_bits"),
        };
        let mut stream = stream(case);
        let count = integer(&case["num_polys"]);
        let polys: Vec<Poly> = (0..count).map(|_| sampler.sample(&mut stream)).collect();
        assert_eq!(
            *polys[0].as_array(),
            words(&case["poly0_raw"]),
            "{}",
            case["name"]
        );
        assert_eq!(*polys[count - 1].as_array(), words(&case["last_poly_raw"]));
        let raw_zeros = polys
            .iter()
            .flat_map(|poly| poly.as_array())
            .filter(|&&v| v == Q)
            .count();
        assert_eq!(raw_zeros, integer(&case["coeffs_equal_q"]));
        assert_eq!(vector_digest(&polys), case["wire"]["wire_sha256"]);
        let mut next = [0; 16];
        stream.fill(&mut next);
        assert_eq!(to_hex(&next), case["prng_next16"]);
        for (value, &word) in case["poly0_centered_first16"]
            .as_array()
            .expect("a list")
            .iter()
            .zip(polys[0].as_array())
        {
            assert_eq!(
                value.as_i64(),
                Some(modulus::centered(modulus::reduce(word)))
            );
        }
    }
    let case = &file["shared_prng_case"];
    let mut stream = stream(case);
    for (name, sampler) in [("v1", constants::SIGMA_STAR), ("v2", constants::SIGMA_E)] {
        for poly in case[name].as_array().expect("a list") {
            let sampled = ntt::forward_montgomery(&sampler.sample(&mut stream));
            assert_eq!(*sampled.as_array(), words(poly));
        }
    }
}

#[test]
fn the_sampler_functions_agree_with_those_of_the_reference() {
    // Logarithms decide only how many words are used, exponentials only a comparison in f32.
    let file = vector("samplers/float.json");
    for case in cases(&file) {
        let list = |name: &str| case[name].as_array().expect("a list").iter().map(hex_word);
        for (x, expected) in list("in").zip(list("log")) {
            let found = libm::log(f64::from_bits(x)).to_bits();
            assert!(found.abs_diff(expected) <= 1, "log of {x:016x}");
        }
        for ((x, expected), single) in list("exp_in").zip(list("exp")).zip(list("exp_f32")) {
            let found = libm::exp(f64::from_bits(x));
            assert!(found.to_bits().abs_diff(expected) <= 1, "exp of {x:016x}");
            assert_eq!(
                u64::from((found as f32).to_bits()),
                single,
                "exp of {x:016x}"
            );
        }
    }
}

#[test]
fn ternary_polynomials_agree_with_the_reference() {
    let file = vector("samplers/ternary.json");
    assert_eq!(cases(&file).len(), 13);
    for case in cases(&file) {
        let mut stream = stream(case);
        for expected in case["polys_centered"].as_array().expect("a list") {
            let poly = sample::ternary(&mut stream, integer(&case["h"]));
            let expected = expected.as_array().expect("a list");
            for (&word, value) in poly.as_array().iter().zip(expected) {
                assert_eq!(
                    Some(modulus::centered(word)),
                    value.as_i64(),
                    "{}",
                    case["name"]
                );
            }
        }
    }
}

#[test]
fn the_values_of_the_specification_come_out() {
    let mut uniform = Blake2Xb::from_seed(&KEY);
    let first = sample::uniform(&mut uniform);
    assert_eq!(
        first.as_array()[..4],
        [
            39_816_533_334_623,
            197_418_446_150_277,
            83_144_632_067_762,
            95_540_469_481_218
        ]
    );
    let polys = [first, sample::uniform(&mut uniform)];
    assert_eq!(
        polys.each_ref().map(wire_digest),
        [
            "6c844531335f76ec80c4c9ee01ce1d056a7c98cc7cfb88d2aadf98fc44db57fb",
            "04210bf30d4c642bf74896db9eae3214472f355b8dbe6526fe84e877035c782f",
        ]
    );

    let gaussian = |sampler: Ziggurat| {
        let mut stream = Blake2Xb::from_seed(&KEY);
        [sampler.sample(&mut stream), sampler.sample(&mut stream)]
    };
    let narrow = gaussian(constants::SIGMA_E);
    assert_eq!(narrow[0].as_array()[..6], [Q, 5, 6, Q - 6, 6, 7]);
    assert_eq!(
        narrow.each_ref().map(wire_digest),
        [
            "ace3afa28bf8ae1a73e5083d61fe08690dc66399588469d6f9dc66a4f2f9542b",
            "5c468dfb29af5feb7a895c4e95f6a25499ad7b89fde1d6fcdf1d7a44a19ac4aa",
        ]
    );
    let wide = gaussian(constants::SIGMA_STAR);
    assert_eq!(
        wide[0].as_array()[..3],
        [281_470_821_687_228, 134_006_797_861, 182_195_308_805]
    );
    assert_eq!(
        wide.each_ref().map(wire_digest),
        [
            "4d1a008b1975cfe0b0c68996901ed0af7f0018b2a0a12a68ba1b251f60fb26c4",
            "f1714eeb4a6c69348589c20393c5efd39dbd7876fc536f5b461ef05c19c04fac",
        ]
    );
    let u = gaussian(constants::SIGMA_U);
    assert_eq!(
        u[0].as_array()[..3],
        [281_474_972_788_289, 127_113_647, 172_823_398]
    );
    assert_eq!(
        u.each_ref().map(wire_digest),
        [
            "2c39ab62b5035f6d020a4834b423bd751a31c79ead092b8dc3205248c64233b4",
            "acca94243eced7aaf491dd845000603e1f02041e177cd2c30d86b419c6212b00",
        ]
    );

    let ternary = sample::ternary(&mut Blake2Xb::from_seed(&KEY), 23);
    let places = [
        -9, -18, 25, 36, 43, 44, -55, 72, 75, 90, -102, -103, -132, -172, -179, 181, 194, 202,
        -218, -231, 233, 235, -237_i64,
    ];
    let mut expected = [0; 256];
    for place in places {
        expected[place.unsigned_abs() as usize] = if place < 0 { Q - 1 } else { 1 };
    }
    assert_eq!(*ternary.as_array(), expected);
    assert_eq!(
        wire_digest(&ternary),
        "a16d49d18885140a72fd84354f646770cba5395ea661ae6238e58cf0618e31d2"
    );
}

#[test]
fn the_transforms_of_the_specification_come_out() {
    let mut x = Poly::ZERO;
    x.as_mut_array()[1] = 1;
    assert_eq!(
        ntt::forward(&x).as_array()[..4],
        [
            182_013_311_964_515,
            99_461_664_765_086,
            206_186_928_376_283,
            75_288_048_353_318
        ]
    );
    let ramp = Poly::from_array_unchecked(core::array::from_fn(|i| i as u64));
    let slots = ntt::forward(&ramp);
    assert_eq!(
        slots.as_array()[..4],
        [
            114_055_555_390_856,
            73_252_432_203_507,
            240_338_803_873_396,
            52_979_319_356_106
        ]
    );
    assert_eq!(
        raw_digest(&slots),
        "582e7530ffebefb29c0f636468bb3462c89b3e0fc22e76defdebbcb63701d5a2"
    );
    // Slot k of the transform of X is psi^(2·brv8(k)+1), so the twiddle tables follow from it.
    let psi = slots_of_x_root();
    let table = |root: u64| {
        let mut table = [0; 256];
        for (j, entry) in (0_u8..=255).zip(core::iter::successors(Some(modulus::R64), |&w| {
            Some(modulus::mul(w, root))
        })) {
            table[usize::from(j.reverse_bits())] = entry;
        }
        NttPoly::from_array_unchecked(table)
    };
    let (forward, inverse) = (table(psi), table(modulus::inv(psi)));
    assert_eq!(
        forward.as_array()[..3],
        [0xffff_b5ff_4a01, 0x9264_fefb_1b8e, 0xf872_05bd_1f3f]
    );
    assert_eq!(forward.as_array()[128], 0x4758_ee24_3202);
    assert_eq!(inverse.as_array()[1], 0x6d9b_0105_2e73);
    assert_eq!(
        raw_digest(&forward),
        "47a69b0ef787dd51ff02f3e43f154181fab6419f4c3b4a2bf8126b141b5e9e9b"
    );
    assert_eq!(
        raw_digest(&inverse),
        "a4af287258c3c12c33df216c3b42be92889ddce385816d5259d46ac440ba40ef"
    );
}

#[test]
fn the_committee_sampler_gives_the_published_polynomial() {
    let mut input = [0_u8; 34];
    input[32..].copy_from_slice(&1_u16.to_be_bytes());
    let stream = || {
        let mut hash = horizon_hash::sponge::Cshake256::new(b"", b"HORIZON-PULSAR-U-v1");
        hash.update(&input);
        hash.finalize()
    };
    let u = sample::committee_u(&mut stream());
    let values = u.as_array().map(modulus::centered);
    assert_eq!(
        values[..6],
        [
            -10_865_129,
            195_100_129,
            -239_644_695,
            -141_859_546,
            -186_695_905,
            284_899_495
        ]
    );
    let mut hash = horizon_hash::sponge::Shake256::new();
    values
        .iter()
        .for_each(|value| hash.update(&value.to_le_bytes()));
    let mut out = [0; 32];
    hash.finalize().read(&mut out);
    assert_eq!(
        to_hex(&out),
        "d4fcec8281cef69ae27620839e2d1e196e1b0934dc9bb1fbf12db3d0715970e5"
    );

    let mut bytes = vec![0; 8 * 1000];
    stream().read(&mut bytes);
    let mut state = sample::CommitteeU::new();
    assert_eq!(state.feed(&bytes), 8 * 768);
    assert_eq!(state.finish(), Some(u));
}

fn slots_of_x_root() -> u64 {
    let mut x = Poly::ZERO;
    x.as_mut_array()[1] = 1;
    ntt::forward(&x).as_array()[0]
}

fn stream(case: &Value) -> Blake2Xb {
    Blake2Xb::new(&bytes(&case["key"])).expect("a key of 32 bytes")
}

fn polys_of(value: &Value) -> Vec<Poly> {
    if let Some(polys) = value["polys"].as_array() {
        return polys.iter().map(poly_of).collect();
    }
    let mut polys = vec![Poly::ZERO; integer(&value["npolys"])];
    for entry in value["sparse"].as_array().unwrap_or(&Vec::new()) {
        let at = |i: usize| {
            entry[i]
                .as_str()
                .expect("a number")
                .parse::<u64>()
                .expect("a number")
        };
        polys[at(0) as usize].as_mut_array()[at(1) as usize] = at(2);
    }
    polys
}

fn vector_digest(polys: &[Poly]) -> String {
    let mut wire = Vec::new();
    codec::write_vector(polys.iter(), &mut wire);
    digest(&wire)
}

fn wire_digest(poly: &Poly) -> String {
    let mut wire = Vec::new();
    codec::write_poly(poly, &mut wire);
    digest(&wire)
}

fn raw_digest(poly: &impl Residues) -> String {
    let bytes: Vec<u8> = poly
        .residues()
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    digest(&bytes)
}

#[test]
fn matrix_shapes_are_reported() {
    let matrix: Matrix<Poly> = Matrix::zeros(3, 5);
    assert_eq!(
        (matrix.rows(), matrix.cols(), matrix.iter().len()),
        (3, 5, 15)
    );
    assert!(matrix.get(0, 5).is_none() && matrix.get(3, 0).is_none());
    assert_eq!(matrix.row(2).len(), 5);
    assert_eq!(matrix.column(4).len(), 3);
    assert_eq!(matrix.column(5).len(), 0);
    assert_eq!(matrix.row(3).len(), 0);
}
