//! Known answers: the files under `vectors/` and the published samples of NIST.

use horizon_hash::blake2xb::Blake2Xb;
use horizon_hash::kmac::{KmacJob, kmac256, kmac256_batch};
use horizon_hash::sponge::{Cshake256, cshake256, sha3_256, shake128, shake256};
use horizon_hash::suite::{HuHasher, Pairwise, Suite, TranscriptHasher};
use horizon_hash::tuplehash::tuple_hash256;
use horizon_hash::{Error, parallelhash::parallel_hash256};
use horizon_testkit::vectors::{from_hex, to_hex, vector};
use serde_json::Value;

#[test]
fn random_cases_of_fips_202_and_sp_800_185_agree() {
    let file = vector("sp800-185/random.json");
    let cases = file.as_array().expect("a list");
    assert_eq!(cases.len(), 529);
    for case in cases {
        let mut out = vec![0u8; integer(case, "outlen").unwrap_or(32)];
        match case["fn"].as_str().expect("a name") {
            "SHA3-256" => out.copy_from_slice(&sha3_256(&bytes(case, "msg"))),
            "cSHAKE256" => cshake256(&bytes(case, "custom"), &[&bytes(case, "msg")], &mut out),
            "KMAC256" => {
                let (key, msg) = (bytes(case, "key"), bytes(case, "msg"));
                kmac256(&key, &bytes(case, "custom"), &[&msg], &mut out);
            }
            "TupleHash256" => {
                let parts = list(case, "parts");
                tuple_hash256(&bytes(case, "custom"), &slices(&parts), &mut out);
            }
            other => panic!("unknown function {other}"),
        }
        assert_eq!(out, bytes(case, "out"), "{case}");
    }
}

#[test]
fn the_keyed_stream_agrees_however_it_is_read() {
    let file = vector("prng/keyed_prng.json");
    for case in cases(&file) {
        let key = bytes(case, "key");
        if case.get("error").is_some() {
            let error = Blake2Xb::new(&key).expect_err("a key that is too long");
            assert_eq!(error, Error::KeyLength { len: key.len() });
            continue;
        }
        let mut stream = vec![0u8; 100_000];
        Blake2Xb::new(&key).expect("a short key").read(&mut stream);
        assert_eq!(stream[..256], bytes(case, "first256"));
        assert_eq!(stream[4096..4128], bytes(case, "bytes_4096_4128"));
        assert_eq!(stream[99_968..], bytes(case, "last32_of_100000"));

        let mut pieces = Vec::new();
        let mut reader = Blake2Xb::new(&key).expect("a short key");
        for len in case["read_lens"].as_array().expect("a list") {
            let mut piece = vec![0u8; len.as_u64().expect("a length") as usize];
            reader.read(&mut piece);
            pieces.extend(piece);
        }
        assert_eq!(pieces, stream[..pieces.len()]);
    }
}

#[test]
fn the_pulsar_sha3_suite_agrees_with_the_reference() {
    run_suite_file("hash/suite_pulsar_sha3.json", Suite::PulsarSha3);
}

#[test]
fn the_pulsar_blake3_suite_agrees_with_the_reference() {
    run_suite_file("hash/suite_pulsar_blake3.json", Suite::PulsarBlake3);
}

fn run_suite_file(name: &str, suite: Suite) {
    let file = vector(name);
    assert_eq!(file["suite"].as_str(), Some(suite.id()));
    for case in cases(&file) {
        let mut out = vec![0u8; integer(case, "out_len").unwrap_or(32)];
        match case["fn"].as_str().expect("a name") {
            "Hc" => out.copy_from_slice(&suite.hc(&[&bytes(case, "transcript")])),
            "Hu" => {
                let message = bytes(case, "transcript");
                suite.hu(&[&message], &mut out);
                let mut streamed = HuHasher::new(suite);
                message.chunks(7).for_each(|chunk| streamed.update(chunk));
                let mut again = vec![0u8; out.len()];
                streamed.finalize_into(&mut again);
                assert_eq!(again, out);
            }
            "TranscriptHash" => {
                let parts = list(case, "parts");
                out.copy_from_slice(&suite.transcript_hash(&slices(&parts)));
            }
            "PRF" => suite.prf(&bytes(case, "key"), &[&bytes(case, "msg")], &mut out),
            "MAC" => suite.mac(&bytes(case, "key"), &[&bytes(case, "msg")], &mut out),
            "DerivePairwise" => {
                let (chain_id, group_id) = (bytes(case, "chain_id"), bytes(case, "group_id"));
                let context = Pairwise {
                    chain_id: &chain_id,
                    group_id: &group_id,
                    era_id: wide(case, "era_id"),
                    generation: wide(case, "generation"),
                    i: wide(case, "i") as u32,
                    j: wide(case, "j") as u32,
                };
                suite.derive_pairwise(&bytes(case, "kex"), &context, &mut out);
            }
            other => panic!("unknown function {other}"),
        }
        assert_eq!(out, bytes(case, "out"), "{case}");
    }
}

#[test]
fn nist_samples_agree() {
    let upto = |end: u8| (0..end).collect::<Vec<u8>>();
    let (short, long) = (upto(4), upto(0xc8));
    let key: Vec<u8> = (0x40..0x60).collect();
    let abc = sha3_256(b"abc");
    assert_eq!(
        to_hex(&abc),
        "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"
    );

    let mut out = [0u8; 64];
    for (message, want) in [(&short, CSHAKE_3), (&long, CSHAKE_4)] {
        cshake256(b"Email Signature", &[message], &mut out);
        assert_eq!(to_hex(&out), want);
    }
    let custom: &[u8] = b"My Tagged Application";
    for (message, custom, want) in [
        (&short, custom, KMAC_4),
        (&long, b"".as_slice(), KMAC_5),
        (&long, custom, KMAC_6),
    ] {
        kmac256(&key, custom, &[message], &mut out);
        assert_eq!(to_hex(&out), want);
    }
    let parts: [&[u8]; 3] = [
        &[0, 1, 2],
        &[0x10, 0x11, 0x12, 0x13, 0x14, 0x15],
        &[32, 33, 34, 35, 36, 37, 38, 39, 40],
    ];
    for (count, custom, want) in [
        (2, "", TUPLE_4),
        (2, "My Tuple App", TUPLE_5),
        (3, "My Tuple App", TUPLE_6),
    ] {
        tuple_hash256(custom.as_bytes(), &parts[..count], &mut out);
        assert_eq!(to_hex(&out), want);
    }
    let data: Vec<u8> = [0u8..8, 16..24, 32..40].into_iter().flatten().collect();
    for (custom, want) in [("", PARALLEL_4), ("Parallel Data", PARALLEL_5)] {
        parallel_hash256(8, custom.as_bytes(), &[&data], &mut out).expect("a block length");
        assert_eq!(to_hex(&out), want);
    }
}

#[test]
fn empty_name_and_customisation_fall_back_to_shake256() {
    let (mut a, mut b) = ([0u8; 200], [0u8; 200]);
    cshake256(b"", &[b"abc"], &mut a);
    shake256(&[b"ab", b"c"], &mut b);
    assert_eq!(a, b);
    let want = "483366601360a8771c6863080cc4114d8db44530f8f1e1ee4f94ea37e78b5739";
    assert_eq!(to_hex(&a[..32]), want);
    let mut named = Cshake256::new(b"N", b"");
    named.update(b"abc");
    named.finalize().read(&mut b);
    assert_ne!(a, b);
}

#[test]
fn a_string_that_fills_its_block_exactly_gets_no_padding_block() {
    // Answers of a second implementation written from the standard.
    let key: Vec<u8> = (0..131).collect();
    let mut out = [0u8; 32];
    kmac256(&key, b"S", &[b"abc"], &mut out);
    let want = "e0dbb955d2a07c20a7621f7acaf85f17cdef9a9c286f6caf81fb5f30bd12efce";
    assert_eq!(to_hex(&out), want);
    let job = KmacJob {
        key: &key,
        parts: &[b"abc"],
    };
    assert_eq!(to_hex(&kmac256_batch(b"S", &[job])[0]), want);
    cshake256(&key[..129], &[b"abc"], &mut out);
    let want = "ebd66d921269e6d4934758b436a2d9bf1b7a2a6eef8dceee72896b2737c630c8";
    assert_eq!(to_hex(&out), want);
}

#[test]
fn shake128_agrees_with_published_answers() {
    let mut out = [0u8; 32];
    shake128(&[], &mut out);
    let empty = "7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26";
    assert_eq!(to_hex(&out), empty);
    shake128(&[b"a", b"bc"], &mut out);
    let abc = "5881092dd818bf5cf8a3ddb793fbcba74097d5c526a6d35f97b83351940f2cc8";
    assert_eq!(to_hex(&out), abc);
}

#[test]
fn suites_of_both_families_agree_with_independent_values() {
    for (suite, answers) in [
        (Suite::PulsarSha3, &PULSAR_SHA3),
        (Suite::PulsarBlake3, &PULSAR_BLAKE3),
        (Suite::LensSha3, &LENS_SHA3),
        (Suite::LensBlake3, &LENS_BLAKE3),
    ] {
        let k32: Vec<u8> = (0..32).collect();
        let (mut o32, mut o48, mut o64) = ([0u8; 32], [0u8; 48], [0u8; 64]);
        let mut got = vec![to_hex(&suite.hc(&[b"abc"])), to_hex(&suite.hc(&[]))];
        suite.hu(&[b"a", b"bc"], &mut o48);
        got.push(to_hex(&o48));
        got.push(to_hex(&suite.transcript_hash(&[])));
        got.push(to_hex(&suite.transcript_hash(&[b"a", b"bc"])));
        got.push(to_hex(&suite.transcript_hash(&[b"abc", b""])));
        suite.prf(&k32, &[b"abc"], &mut o32);
        got.push(to_hex(&o32));
        suite.prf(b"key", &[b"ab", b"c"], &mut o64);
        got.push(to_hex(&o64));
        for message in [b"abc".as_slice(), b""] {
            suite.mac(&k32, &[message], &mut o32);
            got.push(to_hex(&o32));
        }
        for (i, j) in [(5, 2), (2, 5)] {
            suite.derive_pairwise(&k32, &context(i, j), &mut o32);
            got.push(to_hex(&o32));
        }
        let swapped = got.pop();
        assert_eq!(got.last(), swapped.as_ref());
        assert_eq!(got, answers.as_slice(), "{suite}");
    }
}

#[test]
fn the_later_names_change_the_tags_and_nothing_else() {
    let (mut a, mut b) = ([0u8; 32], [0u8; 32]);
    cshake256(b"CORONA-HC-v1", &[b"abc"], &mut a);
    assert_eq!(Suite::CoronaSha3.hc(&[b"abc"]), a);
    cshake256(b"CORONA-HU-v1", &[b"abc"], &mut a);
    Suite::CoronaSha3.hu(&[b"abc"], &mut b);
    assert_eq!(a, b);
    tuple_hash256(b"CORONA-TRANSCRIPT-v1", &[b"a", b"bc"], &mut a);
    assert_eq!(Suite::CoronaSha3.transcript_hash(&[b"a", b"bc"]), a);
    kmac256(b"key", b"CORONA-PRF-v1", &[b"abc"], &mut a);
    Suite::CoronaSha3.prf(b"key", &[b"abc"], &mut b);
    assert_eq!(a, b);
    kmac256(b"key", b"CORONA-MAC-v1", &[b"abc"], &mut a);
    Suite::CoronaSha3.mac(b"key", &[b"abc"], &mut b);
    assert_eq!(a, b);
    assert_ne!(
        Suite::CoronaBlake3.hc(&[b"abc"]),
        Suite::PulsarBlake3.hc(&[b"abc"])
    );
    let tagged = blake3::hash(b"CORONA-HC-v1abc");
    assert_eq!(Suite::CoronaBlake3.hc(&[b"abc"]), *tagged.as_bytes());
}

#[test]
fn the_labelled_derivation_agrees_with_independent_values() {
    let k32: Vec<u8> = (0..32).collect();
    for (suite, label, want) in [
        (
            Suite::PulsarSha3,
            "pulsar.reshare.prf-seed.v1",
            "af95a958065cc3d1d283a5049b1218c5b276fdc0c77d42c78879e9e5192695e8",
        ),
        (
            Suite::PulsarSha3,
            "pulsar.reshare.mac-key.v1",
            "131ae6a26caac79f5012121e08d7e44ae90e89c917defa483560e8aa8e2703de",
        ),
        (
            Suite::LensSha3,
            "lens.reshare.prf-seed.v1",
            "41f671d3064310371b5f5c4743363c644b7da1c151d3f65798c6282e76488e88",
        ),
        (
            Suite::LensSha3,
            "lens.reshare.mac-key.v1",
            "8ca5bc7dc4b4ec2e4789353cf0fc41c5a0b8a9b8f0bb98e22b6e2d98d061786d",
        ),
    ] {
        let mut out = [0u8; 32];
        suite.kdf_output(label.as_bytes(), &k32, &context(0, 1), &mut out);
        assert_eq!(to_hex(&out), want);
    }
    for suite in Suite::ALL {
        let (mut a, mut b) = ([0u8; 32], [0u8; 32]);
        suite.kdf_output(b"label", &k32, &context(0, 1), &mut a);
        let joined = Pairwise {
            chain_id: b"label|chain",
            ..context(0, 1)
        };
        suite.derive_pairwise(&k32, &joined, &mut b);
        assert_eq!(a, b, "{suite}");
    }
}

#[test]
fn batches_and_streams_equal_the_single_calls_in_every_suite() {
    let message = vec![7u8; 5000];
    for suite in Suite::ALL {
        assert_eq!(Suite::from_id(suite.id().as_bytes()), Some(suite));
        let keys: Vec<[u8; 32]> = (0..11).map(|i| [i; 32]).collect();
        let parts: [&[u8]; 3] = [&message[..8], &message[8..4000], &message[4000..]];
        let jobs: Vec<_> = keys
            .iter()
            .map(|key| KmacJob { key, parts: &parts })
            .collect();
        let (macs, prfs) = (suite.mac_batch(&jobs), suite.prf_batch(&jobs));
        for ((key, mac), prf) in keys.iter().zip(macs).zip(prfs) {
            let mut one = [0u8; 32];
            suite.mac(key, &[&message], &mut one);
            assert_eq!(one, mac, "{suite}");
            suite.prf(key, &[&message], &mut one);
            assert_eq!(one, prf, "{suite}");
        }
        let mut streamed = TranscriptHasher::new(suite, 5000);
        streamed.update(&message[..1234]);
        let prefix = streamed.clone();
        for mut hash in [streamed, prefix] {
            hash.update(&message[1234..]);
            assert_eq!(hash.finalize(), Ok(suite.transcript_hash(&[&message])));
        }
        let short = TranscriptHasher::new(suite, 1);
        assert_eq!(short.finalize(), Err(Error::ElementLength));
        let mut long = TranscriptHasher::new(suite, 1);
        long.update(&[0; 2]);
        assert_eq!(long.finalize(), Err(Error::ElementLength));
    }
    assert_eq!(Suite::from_id(b"Pulsar-SHA2"), None);
    assert!(kmac256_batch(b"", &[]).is_empty());
}

fn context(i: u32, j: u32) -> Pairwise<'static> {
    Pairwise {
        chain_id: b"chain",
        group_id: b"group",
        era_id: 7,
        generation: 3,
        i,
        j,
    }
}

fn cases(file: &Value) -> &[Value] {
    file["cases"].as_array().expect("a list of cases")
}

fn bytes(case: &Value, field: &str) -> Vec<u8> {
    decode(
        case[field]
            .as_str()
            .unwrap_or_else(|| panic!("{field} in {case}")),
    )
}

/// Hex, or `SHAKE256:label:n` for the first n bytes of SHAKE256(label).
fn decode(text: &str) -> Vec<u8> {
    let Some(rest) = text.strip_prefix("SHAKE256:") else {
        return from_hex(text).expect("hex");
    };
    let (label, len) = rest.rsplit_once(':').expect("a length");
    let mut out = vec![0u8; len.parse().expect("a number")];
    shake256(&[label.as_bytes()], &mut out);
    out
}

fn list(case: &Value, field: &str) -> Vec<Vec<u8>> {
    let parts = case[field].as_array().expect("a list");
    parts
        .iter()
        .map(|part| decode(part.as_str().expect("a string")))
        .collect()
}

fn slices(parts: &[Vec<u8>]) -> Vec<&[u8]> {
    parts.iter().map(Vec::as_slice).collect()
}

fn wide(case: &Value, field: &str) -> u64 {
    let value = &case[field];
    value
        .as_u64()
        .or_else(|| value.as_str()?.parse().ok())
        .expect("an integer")
}

fn integer(case: &Value, field: &str) -> Option<usize> {
    case.get(field)?;
    Some(wide(case, field) as usize)
}

// NIST sample files "cSHAKE_samples", "KMAC_samples", "TupleHash_samples", "ParallelHash_samples".
const CSHAKE_3: &str = "d008828e2b80ac9d2218ffee1d070c48b8e4c87bff32c9699d5b6896eee0edd1\
    64020e2be0560858d9c00c037e34a96937c561a74c412bb4c746469527281c8c";
const CSHAKE_4: &str = "07dc27b11e51fbac75bc7b3c1d983e8b4b85fb1defaf218912ac864302730917\
    27f42b17ed1df63e8ec118f04b23633c1dfb1574c8fb55cb45da8e25afb092bb";
const KMAC_4: &str = "20c570c31346f703c9ac36c61c03cb64c3970d0cfc787e9b79599d273a68d2f7\
    f69d4cc3de9d104a351689f27cf6f5951f0103f33f4f24871024d9c27773a8dd";
const KMAC_5: &str = "75358cf39e41494e949707927cee0af20a3ff553904c86b08f21cc414bcfd691\
    589d27cf5e15369cbbff8b9a4c2eb17800855d0235ff635da82533ec6b759b69";
const KMAC_6: &str = "b58618f71f92e1d56c1b8c55ddd7cd188b97b4ca4d99831eb2699a837da2e4d9\
    70fbacfde50033aea585f1a2708510c32d07880801bd182898fe476876fc8965";
const TUPLE_4: &str = "cfb7058caca5e668f81a12a20a2195ce97a925f1dba3e7449a56f82201ec6073\
    11ac2696b1ab5ea2352df1423bde7bd4bb78c9aed1a853c78672f9eb23bbe194";
const TUPLE_5: &str = "147c2191d5ed7efd98dbd96d7ab5a11692576f5fe2a5065f3e33de6bba9f3aa1\
    c4e9a068a289c61c95aab30aee1e410b0b607de3620e24a4e3bf9852a1d4367e";
const TUPLE_6: &str = "45000be63f9b6bfd89f54717670f69a9bc763591a4f05c50d68891a744bcc6e7\
    d6d5b5e82c018da999ed35b0bb49c9678e526abd8e85c13ed254021db9e790ce";
const PARALLEL_4: &str = "bc1ef124da34495e948ead207dd9842235da432d2bbc54b4c110e64c45110553\
    1b7f2a3e0ce055c02805e7c2de1fb746af97a1dd01f43b824e31b87612410429";
const PARALLEL_5: &str = "cdf15289b54f6212b4bc270528b49526006dd9b54e2b6add1ef6900dda3963bb\
    33a72491f236969ca8afaea29c682d47a393c065b38e29fae651a2091c833110";

// Hc(abc), Hc(), Hu(abc, 48), TranscriptHash(), (a, bc), (abc, empty), PRF(k32, abc, 32),
// PRF(key, abc, 64), MAC(k32, abc, 32), MAC(k32, empty, 32), DerivePairwise(5, 2), where k32 is the
// bytes 00 to 1f. Made by a second implementation written from the specification.
const PULSAR_SHA3: [&str; 11] = [
    "4bc186c5afe0ae7bc3d988b80aadc9707d52d4763481c33248fab1c25901c7e0",
    "02305d57f392814db2f9ea59a49382f361578c09d319d5b58b8706dd7fb66803",
    "ad554596619f93b5745db9a67187abe9cab3216f2c747a5a6e5cfa9ecbb61f26\
    02830fae1839a5d36ab078e05675d4e4",
    "237219cd7133c7dad1124d6c551c0256fbaaa7b7fb5708391e28110db8cdd911",
    "c7eb9e34bcbc6bfda8070fa353d503cf2e390a1b3321fd9315e1dc9252ae9e66",
    "f230604b049e10ad154b74ffc508644bece353926f3310ac799c5e36600b2768",
    "1c2b2d382521eaa1a734a96c6ad28e78813d430a1ae21dfe962ec96a131c24ab",
    "8dabfecf58b5014212b65be242280169ff56d91364ea12a29e82a866c366bd07\
    c626f131ae599a787e3bb445f24cb4f80d44a6fa5b3c1d65aaac03dabb635eaf",
    "2821a04297ee13a4d5b33dac3a42ab3c463407a73bd2f9c52c259b6f6b57ae6e",
    "53a49d89b927aa28513f4ca1948e3c856e19ad948c939124973cd98e50ad7813",
    "da47470d002e241ff5c0f8837ec80bd7d145094c2175a0586f4a2429f5b8935b",
];
const PULSAR_BLAKE3: [&str; 11] = [
    "3bbc841ae8d50a12e636b80f1bd10dac9fe0a341fcbe94a9feaa04109e61d1d5",
    "1a68f3a879f18b894e639daf82e6eca57607bbb6233b8b24a2d41b28c5dee208",
    "8a6cba84f54b653209ec41739c85a7e2156b541ab8e4317d28c8a092095e1bd6\
    e659323c8eabf8770a6c0241e51785e8",
    "a6d53e61789fbd3b98880848c7a317da0c7c199c80473c34c68bf604ab15a2d7",
    "91fa5dde72f97e305466424cf27b5528b13cc754519f41e597393573a9f73fe0",
    "8142ad97d9af871e78ffedf4de706d349b89c33ea1d58a262acc35569f50cd8b",
    "b19209be9c8912b47f78c0be9675a776bbc0020c1f6351d577b53568f02d641a",
    "033ca0573b048355ef35a2a00af9097bc99e78fd11abc54841e2e213ba59adec\
    7d1642a36d354137e83960bca032c9b695bac37f3672aacb8738fd655afb5090",
    "c54a4cf93ab2f45d17084ce387c55f119b56276136e785909db47153782a59d7",
    "9f7f4455f9b747bc42a8013a1087e8730ff0c2bf4b56a0aee0a56236ea5c2fdd",
    "10317afc9a1c137c491eb58e927193ab943df9ec861faf5db3ab25e580a412f5",
];
const LENS_SHA3: [&str; 11] = [
    "8d45f19a2589c04f9fc92208703dcd1c86e29b2e8d4167ccbaf4f8ca6295b79c",
    "c83566098b52d230a8f45871ac36d8d1c421b660543d7160bd0aec3a2e05b987",
    "b76951f5c684593fc0f02389c8097e48067cbc017912d0544963119d7af7b3f7\
    e85b7f4fdf5da905324692fc9cf562ca",
    "d6b6f4d16e314cd4e4f1c10b3caf4a1a02ba73ef401b150b3f7a2e9349f059b1",
    "b451cd2b714e56aa8fd87396b07b6584c4d177c0972cf11ee7ce0d8697deb49a",
    "aa9a2a5fd71064f79f59be01fc6fa75b7690a749ab9db1f58c8e0776feb7de81",
    "17a93e0ea9b67b9cb600d54d008205a90eb00a65de56b564d7854f78488f74b3",
    "51a97e32ac575ab98a96348ef93ac27c410037baf6d83591f99a135e49448ea1\
    6d973c6842de00b8a27af455bbfae42501ee6115b72c96e4a5138052c8fa09a9",
    "e61451e6ead5504988750c3a05a0e86a9288779753331c617a133fa8120d418c",
    "2248afca6c85c67347fb9db3fcc09214daf0414f6a402e3ea81edc534011d584",
    "d5cd578dc9ce6f0a7058e87ac88b284e75c7fcb2fac26216687dc909fbe55c34",
];
const LENS_BLAKE3: [&str; 11] = [
    "156d2c32a9ca7785627532b0656b80c4c9bbc3b9a62f109206f92fd024f694da",
    "ccee9cbc7c7dcc6084f628bdc3fb044823b7218c02e89a745eb92ed8557e93ba",
    "234062c0453a84e2d4d998f3e308bd4fb7cf2260563713c55b68fb99790a8e56\
    7a266c8f896e56781a57f158daa00303",
    "01ed07bcfde83bd6983364e8da34e3100da14a6aad5f97f20f16af04866785ac",
    "7c2b4c28fbfe9de885c5e418948a1ca8814a4de526c3896771876c7390fcb613",
    "4886b7e03d2b7ea97227b7d6944e9aa617e1e68c1521a3986deb67d5884b313b",
    "1f1d46a608a6a9daef112e8039d6ee5fa52b0d4d6b775dfd9f397cf3f9619184",
    "8ba881da60784a35b6c5f737b2a5fc69502c31b1c3a3c3f7326567cc51014b27\
    84d7beb0f2f0ec9effad33d33a541f26a9b8c6e75db7e3cee58ccc33a0c9c574",
    "6a76d4edf19565e719d3739a5643ba3fe6cb099eeae4c6f84a243d3445680857",
    "bc237f41a5e86a82a536a171edcc50fa6a41540ffc3e10d783adea95b1bf3be7",
    "6c3fd8e049394899e0dc8d7fd798854a1cd0caaf0b74901d61a1ad3e98237bea",
];
