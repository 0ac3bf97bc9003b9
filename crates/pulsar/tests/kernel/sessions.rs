//! The published session tables.

use horizon_pulsar::{
    Suite,
    hazmat::interop::{
        Dealing, Group, HRounding, gaussian_hash, gen_reference_for_vectors, mask, round_key,
    },
    params::NU,
    signers::SignerSet,
};
use horizon_ring::{Poly, codec, ntt, round};
use horizon_testkit::vectors::to_hex;
use serde_json::Value;

use crate::{
    sign::{Run, sign},
    support::{
        a_ser, b_ser, cases, hex, key32, number, position, ser_matrix, ser_polys, ser_slots,
        sha256, suite, text,
    },
};

#[test]
fn published_sessions_are_reproduced_value_by_value() {
    let mut values = 0;
    for case in cases("sessions/sessions.json") {
        let suite = suite(&case["suite"]);
        let key = key32(&case["dealer_key"]);
        let dealing = gen_reference_for_vectors(suite, position(&case["n"]), &key).unwrap();
        let group =
            Group::new(dealing.group_key.clone(), suite).with_rounding(HRounding::Reference);
        let signers = SignerSet::everyone(dealing.shares[0].quorum());
        let message = hex(&case["msg"]);
        let sid = number(&case["sid"]);
        let run = sign(&group, &dealing, &signers, sid, &dealing.prf_key, &message).unwrap();
        let of = Session {
            suite,
            sid,
            dealing: &dealing,
            run: &run,
            message: &message,
        };
        for item in case["items"].as_array().unwrap() {
            let (name, expected) = (text(&item[0]), text(&item[1]));
            let actual = of.value(name);
            assert_eq!(
                actual.get(..expected.len()),
                Some(expected),
                "{name} of {}",
                case["name"]
            );
            values += 1;
        }
        check_norms(&case, &run);
    }
    assert_eq!(values, 186);
}

/// One session whose values can be asked for by their published names.
struct Session<'a> {
    suite: Suite,
    sid: u64,
    dealing: &'a Dealing,
    run: &'a Run,
    message: &'a [u8],
}

impl Session<'_> {
    fn value(&self, name: &str) -> String {
        let Self { dealing, run, .. } = self;
        let indices: Vec<usize> = name
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|digits| digits.parse().ok())
            .collect();
        let share = |i: usize| &dealing.shares[indices[i]];
        let words: Vec<&str> = name.split([' ', '[', '_']).collect();
        match words[..] {
            ["A"] => sha256(a_ser(&dealing.group_key)),
            ["bTilde"] => sha256(b_ser(&dealing.group_key)),
            ["framed", "GroupKey"] => sha256(&dealing.group_key.to_framed()),
            ["framed", "Signature,", ..] => sha256(&run.signature.to_framed()),
            ["share", ..] => sha256(&ser_slots(share(0).secret())),
            ["seed", ..] => to_hex(&share(0).row_seeds()[indices[1]]),
            ["macKey", ..] => to_hex(&share(0).mac_keys()[indices[1]]),
            ["prfKey"] => to_hex(&*dealing.prf_key),
            ["round", "key", _] => to_hex(&round_key(self.suite, share(0).secret(), self.sid)),
            ["D", _] => sha256(run.messages[indices[0]].matrix.as_ser()),
            ["MAC", ..] => {
                let recipient = u16::try_from(indices[1]).unwrap();
                to_hex(run.messages[indices[0]].mac_for(recipient).unwrap())
            }
            ["DSum"] => sha256(&ser_matrix(&run.d_sum, 49)),
            ["H"] => to_hex(&run.transcript),
            ["u", ..] => {
                let u = gaussian_hash(self.suite, &run.transcript, self.message, 48);
                sha256(&ser_slots(&u))
            }
            ["mask(seed", ..] => {
                let seed = &share(0).row_seeds()[indices[1]];
                let prf = &*dealing.prf_key;
                let mask = mask(self.suite, prf, seed, &run.transcript, self.message, 7);
                sha256(&ser_slots(&mask))
            }
            ["h"] => sha256(&ser_polys(run.h.as_slice())),
            ["c"] => {
                let mut out = Vec::new();
                codec::write_poly(run.signature.c(), &mut out);
                sha256(&out)
            }
            ["z"] => sha256(&ser_slots(run.signature.z())),
            ["z", _] => sha256(&ser_slots(&run.partials[indices[0]].z)),
            ["Delta"] => sha256(&ser_polys(run.signature.delta())),
            _ => panic!("unknown value {name}"),
        }
    }
}

fn check_norms(case: &Value, run: &Run) {
    let Some(norm_z) = case.get("norm_z") else {
        return;
    };
    let z: Vec<Poly> = run
        .signature
        .z()
        .iter()
        .map(ntt::inverse_montgomery)
        .collect();
    assert_eq!(round::norm_sq(&z).to_string(), text(norm_z));
    let delta = round::norm_sq_shifted(run.signature.delta(), NU);
    assert_eq!(delta.to_string(), text(&case["norm_delta"]));
}

#[test]
fn the_round_key_of_an_empty_share_is_the_published_constant() {
    let expected = "65dc2d49a39821c70c993c98ac340b2253268576f0602915f028ef7a94b62367";
    assert_eq!(to_hex(&round_key(Suite::PulsarSha3, &[], 7)), expected);
}
