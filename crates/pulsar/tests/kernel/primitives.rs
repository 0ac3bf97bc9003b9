//! Every hash of the protocol against the reference.

use horizon_pulsar::{GroupKey, hazmat::interop};
use horizon_ring::{modulus, ntt};
use serde_json::Value;

use crate::support::{
    Labelled, a_ser, assert_digest, b_ser, cases, hex, number, ser_matrix, ser_polys, ser_slots,
    suite, text, words,
};

#[test]
fn protocol_hashes_are_those_of_the_reference() {
    let mut seen = 0;
    for file in [
        "primitives_pulsar_sha3.json",
        "primitives_pulsar_blake3.json",
    ] {
        let path = format!("primitives/{file}");
        let suite = suite(&horizon_testkit::vectors::vector(&path)["suite"]);
        for case in cases(&path) {
            check(suite, &case);
            seen += 1;
        }
    }
    assert_eq!(seen, 69);
}

fn check(suite: horizon_pulsar::Suite, case: &Value) {
    match text(&case["fn"]) {
        "PRNGKey" => {
            let share = Labelled::new(text(&case["label"]), 1 << 16).slots(7);
            assert_eq!(
                interop::legacy_round_key(suite, &share)[..],
                hex(&case["out"])
            );
        }
        "PRNGKeyForRound" => {
            let share = Labelled::new(text(&case["label"]), 1 << 16).slots(7);
            let key = interop::round_key(suite, &share, number(&case["sid"]));
            assert_eq!(key[..], hex(&case["out"]));
        }
        "GenerateMAC" => {
            let matrix = Labelled::new(text(&case["label"]), 1 << 21).slots(8 * 49);
            let ser = ser_matrix(&matrix, 49);
            let signers = ids(&case["T"]);
            for (party, out) in [("party_id", "out_sign"), ("other_party", "out_verify")] {
                let key = hex(&case["key"]);
                let sid = number(&case["sid"]);
                let mac =
                    interop::round1_mac(suite, &key, number(&case[party]), &ser, sid, &signers);
                assert_eq!(mac[..], hex(&case[out]), "{}", case["label"]);
            }
        }
        "GaussianHash" => {
            let len = usize::try_from(number(&case["length"])).unwrap();
            let u = interop::gaussian_hash(suite, &hex(&case["hash"]), &hex(&case["mu"]), len);
            assert_digest(&case["out"], &ser_slots(&u), "GaussianHash");
            assert_eq!(u[0].as_array(), &words(&case["out_poly0"]));
        }
        "PRF" => {
            let field = |name: &str| hex(&case[name]);
            let len = usize::try_from(number(&case["n"])).unwrap();
            let (key, seed) = (field("prf_key"), field("sd_ij"));
            let mask = interop::mask(suite, &key, &seed, &field("hash"), &field("mu"), len);
            assert_digest(&case["out"], &ser_slots(&mask), "PRF");
        }
        "LowNormHash" => low_norm_hash(suite, case),
        "Hash" => transcript(suite, case),
        other => panic!("unknown function {other}"),
    }
}

fn low_norm_hash(suite: horizon_pulsar::Suite, case: &Value) {
    let label = text(&case["label"]);
    let mut stream = Labelled::new(label, 1 << 19);
    let a = stream.slots(56);
    let (mut b, mut h) = (stream.polys(8, 18), stream.polys(8, 19));
    let index: u32 = label.trim_start_matches("lnh-").parse().unwrap();
    if index % 2 == 1 {
        b[0].as_mut_array()[3] = 1 << 18;
        h[0].as_mut_array()[3] = 1 << 19;
    }
    let key = GroupKey::new(&a, &b).unwrap();
    assert_digest(&case["A"], a_ser(&key), label);
    assert_digest(&case["b"], b_ser(&key), label);
    assert_digest(&case["h"], &ser_polys(&h), label);
    let c = interop::challenge(suite, &key, &h, &hex(&case["mu"])).unwrap();
    assert_eq!(c.as_array(), &words(&case["c"]), "{label}");
    let centred: Vec<i64> = ntt::inverse_montgomery(&c)
        .as_array()
        .iter()
        .map(|&value| modulus::centered(value))
        .collect();
    let expected: Vec<i64> = case["c_coeff_centered"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_i64().unwrap())
        .collect();
    assert_eq!(centred, expected, "{label}");
}

fn transcript(suite: horizon_pulsar::Suite, case: &Value) {
    let label = text(&case["label"]);
    let count = usize::try_from(number(&case["num_D"])).unwrap();
    let mut stream = Labelled::new(label, (3 << 20) * (count + 1));
    let key = GroupKey::new(&stream.slots(56), &stream.polys(8, 18)).unwrap();
    let matrices: Vec<Vec<u8>> = (0..count)
        .map(|_| ser_matrix(&stream.slots(8 * 49), 49))
        .collect();
    let mut parts: Vec<&[u8]> = matrices.iter().map(Vec::as_slice).collect();
    let signers = ids(&case["T"]);
    let sid = number(&case["sid"]);
    let expected = hex(&case["out"]);
    let sound = text(&case["D_keys"]) == "0..len-1";
    if !sound {
        // The reference: D[0], an empty matrix for the absent D[1], and never the last one.
        let ours = interop::transcript_hash(suite, &key, sid, &signers, &parts);
        assert_ne!(
            ours[..],
            expected,
            "the reference's transcript must not be ours"
        );
        parts[1] = &[0; 8];
    }
    assert_eq!(
        interop::transcript_hash(suite, &key, sid, &signers, &parts)[..],
        expected
    );
}

fn ids(value: &Value) -> Vec<u32> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|id| u32::try_from(number(id)).unwrap())
        .collect()
}
