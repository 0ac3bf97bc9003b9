//! Whole signing sessions, value by value.

use std::collections::BTreeMap;

use horizon_pulsar::{
    GroupKey, PulseVerified, Signature,
    hazmat::interop::{
        Dealing, Group, HRounding, Nonce, Partial, Preprocess, Ready, Round1Message, Session,
        SidFence, expand_nonces, gaussian_hash, gen_key_era, gen_reference_for_vectors,
        key_era_coefficient, mask, reference_secrets, round_key,
    },
    signers::{Quorum, SignerSet},
};
use horizon_ring::{NttPoly, codec};
use horizon_testkit::vectors::to_hex;
use serde_json::Value;

use crate::support::{
    Labelled, a_ser, assert_digest, b_ser, cases, hex, key32, number, polys, position, positions,
    ser_matrix, ser_polys, ser_slots, sha256, signature, slots, suite, text,
};

#[test]
fn sessions_of_the_reference_dealer_are_reproduced_byte_for_byte() {
    let cases = cases("sign/t_equals_k.json");
    assert_eq!(cases.len(), 10);
    for case in &cases {
        let dealing = reference_dealing(case);
        assert_eq!(
            to_hex(&*dealing.prf_key),
            text(&case["prf_key"]),
            "{}",
            case["name"]
        );
        replay(case, &dealing);
    }
}

#[test]
fn sessions_of_the_key_era_dealer_are_reproduced_byte_for_byte() {
    let cases = cases("sign/t_of_n.json");
    assert_eq!(cases.len(), 11);
    for case in &cases {
        replay(case, &key_era_dealing(case));
    }
}

#[test]
fn every_intermediate_value_of_the_debug_session_is_reproduced() {
    let case = &cases("sign/debug_tk0.json")[0];
    let parent = &cases("sign/t_equals_k.json")[0];
    let secrets = reference_secrets(&key32(&case["dealer_key"]));
    assert_eq!(
        ser_polys(secrets.s.polys()),
        ser_polys(&polys(&case["s_coeff"]))
    );
    assert_eq!(
        ser_polys(secrets.e.polys()),
        ser_polys(&polys(&case["e_coeff"]))
    );
    let a: Vec<NttPoly> = case["A"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(slots)
        .collect();
    assert_eq!(ser_matrix(&secrets.a, 7), ser_matrix(&a, 7));
    let dealing = reference_dealing(parent);
    assert_eq!(
        b_ser(&dealing.group_key),
        ser_polys(&polys(&case["b_tilde"]))
    );
    for (share, name) in dealing.shares.iter().zip(["sk_share_0", "sk_share_1"]) {
        assert_eq!(ser_slots(share.secret()), ser_slots(&slots(&case[name])));
    }
    let (suite, sid) = (suite(&parent["suite"]), number(&parent["sid"]));
    let nonces = expand_nonces(&round_key(suite, dealing.shares[0].secret(), sid));
    let r: Vec<NttPoly> = nonces.r_montgomery().row(0).cloned().collect();
    assert_eq!(ser_slots(&r), ser_slots(&slots(&case["party0_R_row0"])));
    let seed = &dealing.shares[0].row_seeds()[1];
    assert_eq!(to_hex(seed), text(&case["prf_mask_seed_0_1"]));
    let (h, message) = (hex(&case["transcript_hash"]), hex(&parent["msg"]));
    let mask = mask(suite, &*dealing.prf_key, seed, &h, &message, 7);
    assert_eq!(ser_slots(&mask), ser_slots(&slots(&case["prf_mask_0_1"])));
    let run = run(parent, &dealing);
    assert_eq!(
        ser_polys(run.h.as_slice()),
        ser_polys(&polys(&case["h_rounded"]))
    );
    for (partial, name) in run.partials.iter().zip(["z_0", "z_1"]) {
        assert_eq!(ser_slots(&partial.z), ser_slots(&slots(&case[name])));
    }
    assert_eq!(ser_slots(run.signature.z()), ser_slots(&slots(&case["z"])));
    assert_eq!(
        ser_polys(run.signature.delta()),
        ser_polys(&polys(&case["delta"]))
    );
}

#[test]
fn keys_of_the_broken_reference_api_are_reproduced_and_its_parameters_refused() {
    for case in cases("sign/generate_keys.json") {
        let (t, n) = (position(&case["t"]), position(&case["n"]));
        if case.get("error").is_some() {
            // n = 1 is refused by the reference and sound for us; a threshold above n or n = 0 is not.
            assert_eq!(Quorum::new(t, n).is_ok(), (t, n) == (1, 1));
            continue;
        }
        let mut key = [0; 32];
        Labelled::new(text(&case["entropy_label"]), 32).fill(&mut key);
        let suite = horizon_pulsar::Suite::PulsarSha3;
        let dealing = gen_reference_for_vectors(suite, n, &key).unwrap();
        assert_digest(&case["A"], a_ser(&dealing.group_key), "A");
        assert_eq!(
            sha256(b_ser(&dealing.group_key)),
            text(&case["b_tilde_wire_sha256"])
        );
        // The reference leaves n - t parties without a share; here everyone has one.
        assert!(dealing.shares.iter().all(|share| share.secret().len() == 7));
    }
}

/// The outcome of one run through all steps.
pub(crate) struct Run {
    pub(crate) messages: Vec<Round1Message>,
    pub(crate) h: Box<[horizon_ring::Poly; 8]>,
    pub(crate) transcript: [u8; 32],
    pub(crate) d_sum: Vec<NttPoly>,
    pub(crate) partials: Vec<Partial>,
    pub(crate) signature: Signature,
    pub(crate) verified: PulseVerified,
}

pub(crate) fn reference_dealing(case: &Value) -> Dealing {
    let key = key32(&case["dealer_key"]);
    gen_reference_for_vectors(suite(&case["suite"]), position(&case["n"]), &key).unwrap()
}

pub(crate) fn key_era_dealing(case: &Value) -> Dealing {
    let quorum = Quorum::new(position(&case["t"]), position(&case["n"])).unwrap();
    let mut entropy = Labelled::new(text(&case["entropy_label"]), 1 << 16);
    let mut sharing = Labelled::new(text(&case["shamir_rand_label"]), 1 << 20);
    let coefficient = || key_era_coefficient(|out| sharing.fill(out));
    gen_key_era(
        suite(&case["suite"]),
        quorum,
        |out| entropy.fill(out),
        coefficient,
    )
    .unwrap()
}

/// Signs the message of a case with the signers of the case.
pub(crate) fn run(case: &Value, dealing: &Dealing) -> Run {
    let quorum = dealing.shares[0].quorum();
    let signers = SignerSet::new(&positions(&case["T"]), quorum).unwrap();
    let group = Group::new(dealing.group_key.clone(), suite(&case["suite"]))
        .with_rounding(HRounding::Reference);
    let message = hex(&case["msg"]);
    sign(
        &group,
        dealing,
        &signers,
        number(&case["sid"]),
        &key32(&case["prf_key"]),
        &message,
    )
    .unwrap()
}

/// All signers through all steps.
pub(crate) fn sign(
    group: &Group,
    dealing: &Dealing,
    signers: &SignerSet,
    sid: u64,
    prf_key: &[u8; 32],
    message: &[u8],
) -> Result<Run, horizon_pulsar::Error> {
    let sessions = sessions(group, dealing, signers)?;
    let (nonces, messages): (Vec<Nonce<'_>>, Vec<Round1Message>) = sessions
        .iter()
        .map(|session| session.round1(&mut SidFence::fresh(), sid))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .unzip();
    let mut ready: Vec<Ready<'_>> = Vec::new();
    for nonce in nonces {
        let mut preprocess = Preprocess::new(nonce);
        preprocess.absorb_all(&messages)?;
        ready.push(preprocess.finish()?);
    }
    let transcript = *ready[0].transcript();
    let d_sum = ready[0].d_sum().iter().cloned().collect();
    let mut partials = Vec::new();
    let mut assembly = None;
    for ready in ready {
        assert_eq!(*ready.transcript(), transcript);
        let (partial, public) = ready.sign(message, prf_key)?;
        partials.push(partial);
        assembly = Some(public);
    }
    let assembly = assembly.expect("at least one signer");
    let (signature, verified) = assembly.combine(&partials)?;
    let h = Box::new(assembly.h().clone());
    Ok(Run {
        messages,
        h,
        transcript,
        d_sum,
        partials,
        signature,
        verified,
    })
}

pub(crate) fn sessions<'a>(
    group: &'a Group,
    dealing: &'a Dealing,
    signers: &SignerSet,
) -> Result<Vec<Session<'a>>, horizon_pulsar::Error> {
    signers
        .positions()
        .iter()
        .map(|&position| {
            Session::new(
                group,
                &dealing.shares[usize::from(position)],
                signers.clone(),
            )
        })
        .collect()
}

/// Checks every value of a case.
fn replay(case: &Value, dealing: &Dealing) {
    let name = text(&case["name"]);
    check_key_material(case, dealing);
    let run = run(case, dealing);
    let (suite, sid) = (suite(&case["suite"]), number(&case["sid"]));
    let mut by_party = BTreeMap::new();
    for (message, expected) in run.messages.iter().zip(case["round1"].as_array().unwrap()) {
        assert_eq!(
            u64::from(message.sender),
            number(&expected["party"]),
            "{name}"
        );
        let share = &dealing.shares[usize::from(message.sender)];
        let key = round_key(suite, share.secret(), sid);
        assert_eq!(to_hex(&key), text(&expected["prng_key"]), "{name}");
        assert_digest(&expected["D"], message.matrix.as_ser(), name);
        let mut r = Vec::new();
        codec::write_matrix(&expand_nonces(&key).r_montgomery(), &mut r);
        assert_digest(&expected["R"], &r, name);
        check_macs(message, expected, name);
        by_party.insert(message.sender, message);
    }
    assert_eq!(
        to_hex(&run.transcript),
        expected_transcript(case, &run, dealing),
        "{name}"
    );
    assert_digest(&case["D_sum"], &ser_matrix(&run.d_sum, 49), name);
    if !quirk(case) {
        let u = gaussian_hash(suite, &run.transcript, &hex(&case["msg"]), 48);
        assert_digest(&case["u_hash"], &ser_slots(&u), name);
        assert_digest(&case["h_rounded"], &ser_polys(run.h.as_slice()), name);
        for (partial, expected) in run.partials.iter().zip(case["round2"].as_array().unwrap()) {
            assert_eq!(
                u64::from(partial.sender),
                number(&expected["party"]),
                "{name}"
            );
            assert_digest(&expected["z"], &ser_slots(&partial.z), name);
        }
        assert_eq!(run.signature, signature(&case["signature"]), "{name}");
    }
    // What the reference made verifies in any case.
    let prepared = horizon_pulsar::PreparedKey::new(&dealing.group_key, suite);
    let _: PulseVerified = prepared
        .verify(&hex(&case["msg"]), &signature(&case["signature"]))
        .unwrap();
    assert_eq!(run.verified.suite(), suite);
}

/// The reference's transcript of a non-contiguous set leaves matrices out: such a session is sound
/// for us only.
fn quirk(case: &Value) -> bool {
    let set = positions(&case["T"]);
    set.iter()
        .enumerate()
        .any(|(index, &position)| index != usize::from(position))
}

/// The transcript in the file, after checking that ours differs exactly where the reference's is
/// unsound.
fn expected_transcript(case: &Value, run: &Run, dealing: &Dealing) -> String {
    let recorded = text(&case["transcript_hash"]);
    if !quirk(case) {
        return recorded.to_owned();
    }
    assert_ne!(to_hex(&run.transcript), recorded);
    let count = run.messages.len();
    let absent = [0; 8];
    let parts: Vec<&[u8]> = (0..count)
        .map(|id| {
            let message = run
                .messages
                .iter()
                .find(|message| usize::from(message.sender) == id);
            message.map_or(&absent[..], |message| message.matrix.as_ser())
        })
        .collect();
    let ids: Vec<u32> = positions(&case["T"]).into_iter().map(u32::from).collect();
    let (suite, sid) = (suite(&case["suite"]), number(&case["sid"]));
    let key = &dealing.group_key;
    let theirs = horizon_pulsar::hazmat::interop::transcript_hash(suite, key, sid, &ids, &parts);
    assert_eq!(to_hex(&theirs), recorded);
    to_hex(&run.transcript)
}

fn check_key_material(case: &Value, dealing: &Dealing) {
    let name = text(&case["name"]);
    let key: &GroupKey = &dealing.group_key;
    assert_digest(&case["A"], a_ser(key), name);
    assert_eq!(
        sha256(b_ser(key)),
        text(&case["b_tilde_wire_sha256"]),
        "{name}"
    );
    for (share, expected) in dealing
        .shares
        .iter()
        .zip(case["parties"].as_array().unwrap())
    {
        assert_digest(
            &expected["sk_share_ntt_mont"],
            &ser_slots(share.secret()),
            name,
        );
        let Some(keys) = expected.get("mac_keys").and_then(Value::as_object) else {
            continue;
        };
        for (peer, key) in keys {
            let peer: usize = peer.parse().unwrap();
            assert_eq!(to_hex(&share.mac_keys()[peer]), text(key), "{name}");
        }
    }
    if let Some(rows) = case["seeds"].as_array() {
        for (i, row) in rows.iter().enumerate() {
            for (j, seed) in row.as_array().unwrap().iter().enumerate() {
                assert_eq!(
                    to_hex(&dealing.shares[i].row_seeds()[j]),
                    text(seed),
                    "{name}"
                );
                assert_eq!(
                    to_hex(&dealing.shares[j].column_seeds()[i]),
                    text(seed),
                    "{name}"
                );
            }
        }
    } else {
        let all: Vec<u8> = dealing
            .shares
            .iter()
            .flat_map(|share| share.row_seeds().concat())
            .collect();
        assert_eq!(
            sha256(&all),
            text(&case["seeds"]["sha256_row_major"]),
            "{name}"
        );
    }
}

fn check_macs(message: &Round1Message, expected: &Value, name: &str) {
    if let Some(macs) = expected.get("macs").and_then(Value::as_object) {
        assert_eq!(macs.len(), message.macs.len(), "{name}");
        for (peer, mac) in macs {
            let ours = message.mac_for(peer.parse().unwrap()).unwrap();
            assert_eq!(to_hex(ours), text(mac), "{name}");
        }
    } else {
        assert_eq!(
            sha256(&message.macs.concat()),
            text(&expected["macs_sha256_in_T_order"])
        );
    }
}
