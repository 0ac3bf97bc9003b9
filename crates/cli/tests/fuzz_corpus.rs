//! The fuzz bodies as ordinary tests: over the committed corpus, over valid encodings made here, and
//! over malformed variants of those.

#[allow(
    unreachable_pub,
    missing_debug_implementations,
    clippy::must_use_candidate
)]
#[path = "../../../fuzz/src/bodies.rs"]
mod bodies;

use std::fs;
use std::path::{Path, PathBuf};

use bodies::Target;
use horizon_bench::fixture::{BATCH, Fixture};
use horizon_cli::local::{self, InProcess};
use horizon_hash::suite::Suite;
use horizon_ledger::genesis::{BlockLimits, GenesisSpec, Source, Validator};
use horizon_ledger::{Block, tx};
use horizon_pulsar::committee::Assignment;
use horizon_pulsar::committee::ledger::LedgerConfig;
use horizon_pulsar::committee::message::{BatchHave, BatchVoid, Header, NonceMatrix, Signed};
use horizon_pulsar::hazmat::interop::{self, Group, Preprocess, Session, SidFence};
use horizon_pulsar::params::PACKED_POLY_LEN;
use horizon_pulsar::signers::{Quorum, SignerSet};
use horizon_ring::matrix::Matrix;
use horizon_ring::{NttPoly, codec, modulus, pack};
use horizon_sig::mldsa;
use horizon_testkit::{SeededRng, mutate, rng, vectors};
use horizon_warp::SuiteId;
use horizon_warp::policy::SourceConfig;
use horizon_warp::registry::{Member, Record, RecordKey};

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target)
}

fn target(name: &str) -> &'static Target {
    bodies::all()
        .find(|target| target.name == name)
        .expect("a known target")
}

/// Valid encodings for every target.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut rng = SeededRng::new(1);
    let mut seeds = ring_seeds(&mut rng);
    seeds.extend(interop_seeds());
    seeds.extend(committee_seeds(&mut rng));
    seeds.extend(warp_seeds());
    seeds.extend(signature_seeds());
    seeds.extend(lens_seeds::<horizon_lens::ed25519::Ed25519>(&mut rng));
    seeds.extend(lens_seeds::<horizon_lens::secp256k1::Secp256k1>(&mut rng));
    seeds.extend(lens_seeds::<horizon_lens::ristretto255::Ristretto255>(
        &mut rng,
    ));
    seeds.extend(ledger_seeds());
    seeds.push(("vector_file", br#"[{"fn":"SHA3-256","msg":"","out":"a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a"}]"#.to_vec()));
    seeds
}

fn ledger_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut rng = SeededRng::new(4);
    let call = tx::Call {
        sequence: 3,
        destination_network: 2,
        destination_chain: [2; 32],
        channel: [0; 32],
        expiry_height: 100,
        recipient: b"journal",
        body: b"hello",
    };
    let key = mldsa::SigningKey::generate(mldsa::ParameterSet::MlDsa65, &mut rng).expect("key");
    let submit = call.sign(1, &[1; 32], &key, &mut rng).expect("submit");
    let block = Block {
        parent: [1; 32],
        height: 7,
        time_ms: 8,
        nebula_root: [2; 32],
        transactions: vec![submit.clone().into(), tx::retry(&[9; 32]).into()],
    };
    vec![
        ("ledger_transaction", submit),
        ("ledger_transaction", tx::retry(&[9; 32])),
        ("ledger_transaction", tx::deliver(&[2, 0xc0])),
        ("ledger_block", block.encode()),
        ("ledger_genesis_json", genesis_seed(&key).into_bytes()),
    ]
}

/// A genesis file that reads well; its keys and proofs are nobody's.
fn genesis_seed(key: &mldsa::SigningKey) -> String {
    use horizon_sig::traits::Verifier;
    let mldsa_key: Box<[u8; 1_952]> =
        Box::new(key.verifying_key().key_bytes().try_into().expect("length"));
    let member = Member {
        bls_key: [3; 48],
        possession: [4; 96],
        mldsa_key: Some(mldsa_key.clone()),
        weight: 1,
        points: 1,
        node_id: [5; 20],
        operator: "operator".to_owned(),
    };
    let record = |network_id: u32, fill: u8| Record {
        key: RecordKey {
            network_id,
            chain_id: [fill; 32],
            key_era: 0,
            generation: 0,
        },
        suite: SuiteId::PulsarSha3,
        group_key: vec![fill; 8],
        threshold: 1,
        valid_from: 0,
        valid_until: None,
        issued_at_s: 1,
        previous: [0; 32],
        members: vec![member.clone()],
    };
    let spec = GenesisSpec {
        name: "seed".to_owned(),
        network_id: 1,
        chain_id: [1; 32],
        time_ms: 1_000,
        validators: vec![Validator {
            name: "validator".to_owned(),
            identity: [6; 32],
            address: "127.0.0.1:9000".parse().expect("address"),
            consensus_key: mldsa_key,
            sealing_x25519: [7; 32],
            sealing_mlkem768: Box::new([8; 1_184]),
        }],
        record: record(1, 1),
        group_id: 0,
        pulse: LedgerConfig::for_size(1),
        block: BlockLimits {
            interval_ms: 500,
            bytes_max: 1 << 20,
            transactions_max: 1_000,
        },
        sources: vec![Source {
            policy: SourceConfig::new(2, [2; 32], [9; 32]),
            anchors: vec![record(2, 2)],
        }],
    };
    spec.to_json().expect("genesis")
}

fn ring_seeds(rng: &mut SeededRng) -> Vec<(&'static str, Vec<u8>)> {
    let mut poly =
        || NttPoly::from_array(core::array::from_fn(|_| rng.below(modulus::Q))).expect("canonical");
    let one = poly();
    let seven: Vec<NttPoly> = (0..7).map(|_| poly()).collect();
    let matrix = Matrix::from_fn(2, 3, |_, _| poly());
    let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
    codec::write_poly(&one, &mut a);
    codec::write_vector(seven.iter(), &mut b);
    codec::write_matrix(&matrix, &mut c);
    let mut packed = [0; PACKED_POLY_LEN];
    pack::pack49(&one, &mut packed);
    vec![
        ("poly", a),
        ("vector", b),
        ("matrix", c),
        ("packed_poly", packed.to_vec()),
    ]
}

fn interop_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let suite = Suite::PulsarSha3;
    let dealing = interop::gen_reference_for_vectors(suite, 2, &[5; 32]).expect("dealing");
    let group = Group::new(dealing.group_key.clone(), suite);
    let signers = SignerSet::everyone(Quorum::new(2, 2).expect("quorum"));
    let sessions: Vec<Session<'_>> = dealing
        .shares
        .iter()
        .map(|share| Session::new(&group, share, signers.clone()).expect("session"))
        .collect();
    let (nonces, messages): (Vec<_>, Vec<_>) = sessions
        .iter()
        .map(|session| session.round1(&mut SidFence::fresh(), 1).expect("round 1"))
        .unzip();
    let mut seeds = vec![
        ("group_key", dealing.group_key.to_framed()),
        ("interop_share", dealing.shares[0].to_bytes().to_vec()),
        ("round1", messages[0].to_bytes()),
    ];
    let mut partials = Vec::new();
    let mut assembly = None;
    for nonce in nonces {
        let mut preprocess = Preprocess::new(nonce);
        preprocess.absorb_all(&messages).expect("matrices");
        let ready = preprocess.finish().expect("rank");
        let (partial, combine) = ready.sign(b"message", &dealing.prf_key).expect("round 2");
        partials.push(partial);
        assembly.get_or_insert(combine);
    }
    seeds.push(("round2", partials[0].to_bytes()));
    let (signature, _) = assembly
        .expect("assembly")
        .combine(&partials)
        .expect("signature");
    seeds.push(("signature", signature.to_framed()));
    seeds.push(("pulse", signature.to_pulse_bytes()));
    seeds
}

fn committee_seeds(rng: &mut SeededRng) -> Vec<(&'static str, Vec<u8>)> {
    let fixture = Fixture::new(2, Suite::PulsarSha3, rng).expect("fixture");
    let dealt = fixture.dealt(1).expect("member");
    let committee = bodies::committee().expect("committee");
    let header = Header {
        ctx: *committee.era_ctx(),
        sender: 1,
        boot: 7,
        seq: BATCH,
    };
    let have = Signed::issue(header, BatchHave { root: [3; 32] }, &mut InProcess).expect("have");
    let void = Signed::issue(header, BatchVoid, &mut InProcess).expect("void");
    // The matrix of a real batch, under the header of the corpus' committee.
    let real = &fixture.matrices[0];
    let prefix = NonceMatrix::prefix(&header, 0);
    let matrix = [&prefix[..], &real[prefix.len()..]].concat();
    let mut members = fixture.all_ready(rng).expect("ready");
    let assignment = Assignment {
        batch: BATCH,
        index: 0,
        attempt: 1,
        mu: b"message",
    };
    assert!(local::sign(&mut members, &fixture.key, &assignment).is_ok());
    vec![
        ("member_share", dealt.to_bytes().to_vec()),
        ("transaction", have.bytes().to_vec()),
        ("transaction", void.bytes().to_vec()),
        ("nonce_matrix", matrix),
    ]
}

/// Hex fields of a vector file: those of the first `most` cases that have the field.
fn from_vectors(file: &str, field: &str, most: usize) -> Vec<Vec<u8>> {
    let file = vectors::vector(file);
    let cases = file["cases"].as_array().expect("cases").iter();
    let accepted = cases.filter(|case| case["error"].is_null() && case["ok"] != false);
    let texts = accepted.filter_map(|case| case[field].as_str());
    let bytes = texts.map(|text| vectors::from_hex(text).expect("hex"));
    bytes.filter(|bytes| !bytes.is_empty()).take(most).collect()
}

fn warp_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut seeds = Vec::new();
    let mut add = |target, file, field, most| {
        let found = from_vectors(file, field, most);
        assert!(!found.is_empty(), "{file}: {field}");
        seeds.extend(found.into_iter().map(|bytes| (target, bytes)));
    };
    add(
        "warp_unsigned",
        "warp-v1/messages.json",
        "unsigned_bytes",
        3,
    );
    add("warp_message", "warp-v1/messages.json", "message_bytes", 3);
    add(
        "warp_envelope",
        "warp-v2/envelopes.json",
        "envelope_bytes",
        3,
    );
    add("warp_certificate", "warp-v2/horizon.json", "wire", 3);
    add("warp_pulse_frames", "pulse/serialize.json", "pulse", 1);
    add("warp_payload", "payload/payloads.json", "bytes", 15);
    add("warp_payload", "payload/atomic_swap.json", "bytes", 3);
    add("warp_payload", "teleport/teleport_rlp.json", "payload", 2);
    add("warp_payload", "teleport/teleport_zap.json", "payload", 2);
    add(
        "warp_request",
        "warp-v1/signature_request.json",
        "request",
        2,
    );
    let signers = horizon_warp::SignerSet::from_indices([0, 9]).expect("signers");
    let set = horizon_warp::CertSet::new(signers.as_signers(), &[[7; 3309], [8; 3309]]);
    seeds.push(("warp_attestation", set.expect("a set").encode()));
    let routed = horizon_warp::payload::Routed {
        destination_network: 2,
        destination_chain: [3; 32],
        channel: [4; 32],
        nonce: 5,
        expiry_height: 6,
        sender: b"sender",
        recipient: b"recipient",
        body: b"body",
    };
    let weight = horizon_warp::payload::L1ValidatorWeight {
        validation_id: [1; 32],
        nonce: 2,
        weight: 300,
    };
    seeds.push(("warp_payload", weight.encode()));
    seeds.push(("warp_routed", routed.encode().expect("a payload")));
    let lint = vectors::vector("lint/good.json");
    let (records, policy) = (lint["registry"].to_string(), lint["policy"].to_string());
    let parsed = horizon_warp::registry::records_from_json(&records).expect("records");
    seeds.push(("warp_record", parsed[0].encode().expect("a record")));
    seeds.push(("warp_records_json", records.into_bytes()));
    seeds.push(("warp_policy_json", policy.into_bytes()));
    seeds
}

fn signature_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut seeds = Vec::new();
    for (target, field) in [("sig_keys", "pk"), ("sig_signatures", "sig")] {
        let found = from_vectors("bls/bls.json", field, 2);
        seeds.extend(found.into_iter().map(|bytes| (target, bytes)));
    }
    let point = from_vectors("lens/sign_secp256k1.json", "X", 1).remove(0);
    seeds.push(("sig_keys", point));
    seeds.push(("sig_keys", vec![7; 1952]));
    seeds
}

fn lens_seeds<S: horizon_lens::Suite>(rng: &mut SeededRng) -> Vec<(&'static str, Vec<u8>)> {
    use horizon_lens::wire::Frame as _;
    use horizon_lens::{
        Approval, CeremonyId, Committee, MemoryLedger, SessionId, SigningPackage, aggregate,
        dealer, dkg,
    };
    let committee = Committee::numbered(2, 2).expect("committee");
    let (group, dealt) = dealer::deal::<S, _>(&committee, rng).expect("dealing");
    let mut frames = vec![group.to_bytes(), dealt[0].to_bytes().to_vec()];
    let signers: Vec<_> = dealt
        .into_iter()
        .map(|share| share.into_signer(&group).expect("signer"))
        .collect();
    frames.push(signers[0].share().to_bytes().to_vec());
    let mut ledgers = vec![MemoryLedger::new(2); 2];
    let (nonces, commitments): (Vec<_>, Vec<_>) = signers
        .iter()
        .zip(&mut ledgers)
        .map(|(signer, ledger)| {
            let session = SessionId([1; 32]);
            signer.commit(session, ledger, rng).expect("round 1")
        })
        .unzip();
    frames.push(commitments[0].to_bytes());
    let package = SigningPackage::new(&group, SessionId([1; 32]), b"message", &commitments);
    let package = package.expect("package");
    frames.push(package.to_bytes());
    let set: Vec<_> = signers.iter().map(|signer| signer.identifier()).collect();
    let approval = Approval {
        message: b"message",
        signers: &set,
    };
    let shares: Vec<_> = signers
        .iter()
        .zip(&mut ledgers)
        .zip(nonces)
        .map(|((signer, ledger), nonces)| {
            let share = signer.sign(nonces, &package, &approval, ledger);
            share.expect("round 2")
        })
        .collect();
    frames.push(shares[0].to_bytes());
    let signature = aggregate(&group, &package, &shares).expect("signature");
    frames.push(signature.to_bytes());
    let round1 = dkg::begin::<S, _>(CeremonyId([2; 32]), set[0], &committee, rng);
    frames.push(round1.expect("key generation").1.to_bytes());
    let mut seeds: Vec<_> = frames
        .into_iter()
        .map(|frame| ("lens_frame", frame))
        .collect();
    seeds.push(("lens_keys", group.verifying_key().as_bytes().to_vec()));
    seeds.push(("lens_keys", signature.to_raw()));
    seeds.push(("lens_ledger", ledgers[0].to_bytes()));
    seeds
}

#[test]
fn every_valid_encoding_is_accepted_and_comes_back_unchanged() {
    for (name, seed) in seeds() {
        assert!(
            (target(name).body)(&seed),
            "{name}: a valid encoding was refused"
        );
    }
}

#[test]
fn every_wrong_length_is_refused_by_every_binary_decoder() {
    for (name, seed) in seeds() {
        // Text may be followed by blanks; an item cut from one payload can be another payload; a
        // key of another scheme can have the cut length.
        if name == "vector_file" || name.ends_with("_json") || LOOSE.contains(&name) {
            continue;
        }
        for mutant in mutate::wrong_lengths(&seed, 40) {
            assert!(
                !(target(name).body)(&mutant.bytes),
                "{name}: {}",
                mutant.name
            );
        }
    }
}

/// Targets that try several decoders on the same bytes, or take bytes of any length for another
/// decoder.
const LOOSE: [&str; 6] = [
    "ledger_transaction",
    "warp_payload",
    "warp_attestation",
    "sig_keys",
    "sig_signatures",
    "lens_keys",
];

#[test]
fn random_changes_of_valid_encodings_never_panic() {
    let mut rng = rng(0x5eed);
    for (name, seed) in seeds() {
        let rounds = if seed.len() > 100_000 { 40 } else { 400 };
        let mut bytes = seed.clone();
        for _ in 0..rounds {
            let changes: Vec<usize> = (0..=rng.index(4)).map(|_| rng.index(seed.len())).collect();
            for &offset in &changes {
                bytes[offset] = rng.next() as u8;
            }
            let _ = (target(name).body)(&bytes);
            changes
                .iter()
                .for_each(|&offset| bytes[offset] = seed[offset]);
        }
        // Header bytes decide lengths: every value of each of the first 24.
        for offset in 0..seed.len().min(24) {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let _ = (target(name).body)(&mutate::with_byte(&seed, offset, value));
            }
        }
    }
}

#[test]
fn the_committed_corpus_never_panics_and_covers_every_target() {
    let write = std::env::var_os("HORIZON_WRITE_CORPUS").is_some();
    if write {
        write_corpus();
    }
    for target in bodies::all() {
        let entries = fs::read_dir(corpus(target.name)).expect("a corpus folder for the target");
        let mut count = 0;
        for entry in entries {
            let _ = (target.body)(&fs::read(entry.expect("entry").path()).expect("seed"));
            count += 1;
        }
        assert!(count > 0, "{}: no seed", target.name);
    }
}

/// Valid encodings up to 40 KB as they are; of larger ones a start, so that the folder stays small.
fn write_corpus() {
    for (number, (name, seed)) in seeds().into_iter().enumerate() {
        let folder = corpus(name);
        fs::create_dir_all(&folder).expect("folder");
        let (kind, bytes) = if seed.len() <= 40_000 {
            ("valid", &seed[..])
        } else {
            ("start", &seed[..4_096])
        };
        fs::write(folder.join(format!("{kind}-{number}")), bytes).expect("seed");
        fs::write(
            folder.join(format!("cut-{number}")),
            &seed[..seed.len().min(100) / 2],
        )
        .expect("seed");
    }
}
