//! Sharing and interpolation vectors.

use horizon_pulsar::{
    hazmat::interop::{share_seeded, share_t_equals_k},
    secret::SecretPolys,
    shamir::{lagrange_at_points, recover, share},
    signers::{Quorum, SignerSet},
};
use horizon_ring::{NttPoly, Poly, modulus, ntt};
use serde_json::Value;

use crate::support::{
    Labelled, assert_digest, cases, key32, number, position, positions, ser_polys, ser_slots, text,
};

#[test]
fn interpolation_coefficients_are_those_of_the_reference() {
    for case in cases("shamir/lagrange.json") {
        let set = positions(&case["T"]);
        let points: Vec<u64> = set
            .iter()
            .map(|&position| u64::from(position) + 1)
            .collect();
        let lambdas = lagrange_at_points(&points).unwrap();
        let expected = case["lambda"].as_array().unwrap().iter().map(number);
        assert!(lambdas.iter().copied().eq(expected), "{}", case["name"]);
        let stored = case["lambda_ntt_mform_coeff"]
            .as_array()
            .unwrap()
            .iter()
            .map(number);
        let scaled = lambdas
            .iter()
            .map(|&lambda| modulus::mul(lambda, modulus::R64));
        assert!(scaled.eq(stored), "{}", case["name"]);
    }
}

#[test]
fn seeded_sharing_is_that_of_the_reference() {
    for case in cases("shamir/general.json") {
        let name = text(&case["name"]);
        let quorum = Quorum::new(position(&case["t"]), position(&case["k"])).unwrap();
        let shares = share_seeded(&secret(&case), quorum, &key32(&case["seed"])).unwrap();
        let expected = case["shares"].as_array().unwrap();
        assert_eq!(shares.len(), expected.len());
        for (share, expected) in shares.iter().zip(expected) {
            compare(share, expected, name);
        }
        // Any t of them give the secret back.
        let last: Vec<u16> = (quorum.parties() - quorum.threshold()..quorum.parties()).collect();
        let chosen: Vec<_> = last.iter().map(|&i| &shares[usize::from(i)]).collect();
        let recovered = recover(&SignerSet::new(&last, quorum).unwrap(), &chosen).unwrap();
        assert!(recovered.polys() == secret(&case).polys(), "{name}");
    }
}

#[test]
fn sharing_among_all_is_that_of_the_reference() {
    for case in cases("shamir/t_equals_k.json") {
        let name = text(&case["name"]);
        let key = key32(&case["key"]);
        let mut stream = blake3::Hasher::new().update(&key).finalize_xof();
        let mut next = || {
            let mut bytes = [0; 8];
            stream.fill(&mut bytes[1..]);
            modulus::reduce(u64::from_be_bytes(bytes))
        };
        let shares = share_t_equals_k(&secret(&case), position(&case["k"]), &mut next).unwrap();
        for (share, expected) in shares.iter().zip(case["shares"].as_array().unwrap()) {
            compare(share, expected, name);
        }
        let mut rest = [0; 32];
        stream.fill(&mut rest);
        assert_eq!(rest, key32(&case["next32"]), "{name}");
    }
}

#[test]
fn fewer_shares_than_the_threshold_say_nothing_about_a_small_secret() {
    // With t - 1 shares every secret is possible: the same two shares, completed for two secrets.
    let quorum = Quorum::new(3, 5).unwrap();
    let mut rng = horizon_testkit::rng(7);
    let mut zero = SecretPolys::zero(1);
    zero.polys_mut()[0].as_mut_array()[0] = 1;
    let shares = share(&zero, quorum, || rng.below(modulus::Q)).unwrap();
    let pair = SignerSet::new(&[0, 1], Quorum::new(2, 5).unwrap()).unwrap();
    let wrong = recover(&pair, &[&shares[0], &shares[1]]).unwrap();
    assert!(wrong.polys() != zero.polys());
}

fn secret(case: &Value) -> SecretPolys {
    let mut label = Labelled::new(text(&case["secret_label"]), 1 << 16);
    let words = label
        .slots(7)
        .into_iter()
        .map(|poly| Poly::from_array_unchecked(*poly.as_array()));
    SecretPolys::new(words.collect())
}

/// The vectors hold either form; the digest decides which.
fn compare(share: &SecretPolys, expected: &Value, name: &str) {
    let montgomery: Vec<NttPoly> = share.polys().iter().map(ntt::forward_montgomery).collect();
    let first = number(&expected["first"]);
    if first == share.polys()[0].as_array()[0] {
        assert_digest(expected, &ser_polys(share.polys()), name);
    } else {
        assert_digest(expected, &ser_slots(&montgomery), name);
    }
}
