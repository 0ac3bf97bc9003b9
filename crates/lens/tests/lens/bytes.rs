//! Bytes from outside: one encoding per value, every other byte string refused with its reason.

use horizon_lens::dealer::{self, DealtShare};
use horizon_lens::ed25519::Ed25519;
use horizon_lens::repair::{Delta, Repair, Sigma};
use horizon_lens::wire::{FRAME_LEN_MAX, Frame, Header, Kind};
use horizon_lens::{
    CeremonyId, Commitments, Committee, Error, GroupKey, KeyShare, MESSAGE_LEN_MAX, Malformed,
    PeerFault, Signature, SignatureShare, Signer, SigningPackage, Suite, SuiteId, VerifyingKey,
    aggregate, dkg, refresh, verify,
};
use horizon_testkit::SeededRng;
use sha2::{Digest as _, Sha256};

use crate::support::{DkgRun, Session, copy, id, ids, refresh_until_shares};

on_every_suite!(
    every_message_round_trips_and_has_its_documented_size,
    every_truncation_and_every_trailing_byte_is_refused,
    every_changed_byte_is_refused_or_another_valid_encoding,
    headers_of_other_versions_suites_and_kinds_are_refused,
    lengths_and_counts_outside_their_limits_are_refused,
    identifiers_outside_their_range_or_out_of_order_are_refused,
    l06_points_that_are_not_canonical_group_elements_are_refused_everywhere,
    scalars_at_or_above_the_order_are_refused_everywhere,
    every_changed_byte_of_a_signature_is_refused,
    every_changed_byte_of_a_signature_share_is_refused_by_name,
    random_bytes_never_panic,
);

type Decoder = fn(&[u8]) -> Result<Vec<u8>, Error>;

struct Sample {
    kind: Kind,
    bytes: Vec<u8>,
    decode: Decoder,
}

fn sample<F: Frame>(value: &F) -> Sample {
    Sample {
        kind: F::KIND,
        bytes: value.to_bytes().as_ref().to_vec(),
        decode: |bytes| Ok(F::from_bytes(bytes)?.to_bytes().as_ref().to_vec()),
    }
}

/// One message of every kind; a committee of three with threshold two, two signers.
fn samples<S: Suite>() -> Vec<Sample> {
    let mut rng = SeededRng::new(0x1e45);
    let rng = &mut rng;
    let committee = Committee::numbered(2, 3).unwrap();
    let (group, dealt) = dealer::deal::<S, _>(&committee, rng).unwrap();
    let dealt_sample = sample(&dealt[0]);
    let into_signer = |share: DealtShare<S>| share.into_signer(&group).unwrap();
    let signers: Vec<Signer<S>> = dealt.into_iter().map(into_signer).collect();
    let chosen = [&signers[0], &signers[2]];
    let session = Session::begin(&chosen, rng);
    let package = session.package(b"message");
    let commitments = session.commitments[0].clone();
    let shares = session.shares(&package);
    let signature = aggregate(&group, &package, &shares).unwrap();
    let run = DkgRun::<S>::begin(&committee, rng);
    let round1 = run.round1[0].clone();
    let echo = run.echo().1[0];
    let secret = copy(&DkgRun::<S>::begin(&committee, rng).share().1[0]);
    let (_, updates) = refresh::deal(&group, &ids(&[1, 2]), rng).unwrap();
    let ceremony = CeremonyId([6; 32]);
    let members = ids(&[1, 2, 3]);
    let begin = |signer: &Signer<S>, rng: &mut SeededRng| {
        refresh::begin(ceremony, signer, &members, rng).unwrap()
    };
    let (state, refresh1) = begin(&signers[0], rng);
    let others = [begin(&signers[1], rng).1, begin(&signers[2], rng).1];
    let refresh_echo = state.receive(&others).unwrap().1;
    let refresh_secret = copy(&refresh_until_shares(&chosen, rng).1[0]);
    let repair = Repair::new(ceremony, &group, id(2), &ids(&[1, 3])).unwrap();
    let deltas = repair.deltas(&signers[0], rng).unwrap();
    let second = repair.deltas(&signers[2], rng).unwrap();
    let mine = [copy(&deltas[0]), copy(&second[0])];
    let sigma = repair.sigma(&signers[0], &mine).unwrap();
    vec![
        sample::<Commitments<S>>(&commitments),
        sample::<SignatureShare<S>>(&shares[0]),
        sample::<Signature<S>>(&signature),
        sample::<SigningPackage<S>>(&package),
        sample::<GroupKey<S>>(&group),
        sample::<KeyShare<S>>(signers[0].share()),
        dealt_sample,
        sample::<dkg::Round1Package<S>>(&round1),
        sample::<dkg::Echo<S>>(&echo),
        sample::<dkg::SecretPackage<S>>(&secret),
        sample::<refresh::DealtUpdate<S>>(&updates[0]),
        sample::<refresh::Round1Package<S>>(&refresh1),
        sample::<refresh::Echo<S>>(&refresh_echo),
        sample::<refresh::SecretPackage<S>>(&refresh_secret),
        sample::<Delta<S>>(&deltas[0]),
        sample::<Sigma<S>>(&sigma),
    ]
}

fn sample_of<S: Suite>(kind: Kind) -> Sample {
    let mut all = samples::<S>();
    let at = all.iter().position(|s| s.kind == kind).unwrap();
    all.swap_remove(at)
}

fn malformed(sample: &Sample, bytes: &[u8]) -> Malformed {
    match (sample.decode)(bytes) {
        Err(Error::Malformed(fault)) => fault,
        other => panic!("{:?}: {other:?}", sample.kind),
    }
}

fn with(bytes: &[u8], offset: usize, value: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[offset..offset + value.len()].copy_from_slice(value);
    bytes
}

fn every_message_round_trips_and_has_its_documented_size<S: Suite>() {
    let p = S::POINT_LEN;
    let sizes = [
        36 + 2 * p,
        68,
        p + 32,
        32 + 4 + 7 + 2 + 2 * (4 + 2 * p),
        4 + p + 3 * (4 + p),
        2 + 4 + 32 + p,
        4 + 32 + 2 + 2 * p,
        36 + 2 + 2 * p + p + 32,
        68,
        72,
        4 + 32 + 2 + p,
        36 + 2 + p,
        68,
        72,
        76,
        72,
    ];
    let all = samples::<S>();
    assert_eq!(all.len(), Kind::ALL.len());
    let mut hash = Sha256::new();
    for ((sample, kind), size) in all.iter().zip(Kind::ALL).zip(sizes) {
        assert_eq!(sample.kind, kind);
        assert_eq!(sample.bytes.len(), 4 + size, "{kind:?}");
        assert_eq!(sample.bytes[..2], [0, 1]);
        let header = Header::peek(&sample.bytes).unwrap();
        assert_eq!((header.suite, header.kind), (S::ID, kind));
        assert_eq!((sample.decode)(&sample.bytes).unwrap(), sample.bytes);
        hash.update(&sample.bytes);
    }
    // Golden: a change of any byte of any message is a change of the wire format.
    let golden = match S::ID {
        SuiteId::Ed25519 => GOLDEN[0],
        SuiteId::Secp256k1 => GOLDEN[1],
        _ => GOLDEN[2],
    };
    let digest = horizon_testkit::vectors::to_hex(&hash.finalize());
    assert_eq!(digest, golden, "{}", S::ID);
}

const GOLDEN: [&str; 3] = [
    "6dc3851299b49f00603d5221de115f01950483d74c00c506f1281516434422e8",
    "cf101cf3d2934382aae2d4bed4bb344962856d9ae992a0458d9e731431a1edbb",
    "2856dbc3310109c758d90a22ea5c7ca64796044350cb4d43140ca8c55693e10c",
];

fn every_truncation_and_every_trailing_byte_is_refused<S: Suite>() {
    for sample in samples::<S>() {
        for len in 0..sample.bytes.len() {
            let fault = malformed(&sample, &sample.bytes[..len]);
            assert!(matches!(fault, Malformed::Short { .. }), "{fault} at {len}");
        }
        for tail in [&[0u8][..], &[0; 8], &sample.bytes] {
            let longer = [&sample.bytes[..], tail].concat();
            assert_eq!(malformed(&sample, &longer), Malformed::Trailing);
        }
        let huge = vec![0; FRAME_LEN_MAX + 1];
        let too_long = Malformed::TooLong {
            field: "frame",
            max: FRAME_LEN_MAX,
        };
        assert_eq!(malformed(&sample, &huge), too_long);
        assert_eq!(Header::peek(&huge), Err(too_long.into()));
    }
}

fn every_changed_byte_is_refused_or_another_valid_encoding<S: Suite>() {
    for sample in samples::<S>() {
        let mut refused = 0;
        for at in 0..sample.bytes.len() {
            for flip in [1, 0x80, 0xff] {
                let changed = with(&sample.bytes, at, &[sample.bytes[at] ^ flip]);
                match (sample.decode)(&changed) {
                    // Nothing is normalised: what was read is what would be written.
                    Ok(again) => assert_eq!(again, changed, "{:?} at {at}", sample.kind),
                    Err(Error::Malformed(_)) => refused += 1,
                    Err(other) => panic!("{other}"),
                }
            }
        }
        assert!(refused >= 12, "{:?}", sample.kind);
        if sample.kind == Kind::GroupKey {
            // Threshold, members, key and shares vouch for one another: nothing can be changed.
            assert_eq!(refused, 3 * sample.bytes.len());
        }
    }
}

fn headers_of_other_versions_suites_and_kinds_are_refused<S: Suite>() {
    for sample in samples::<S>() {
        for version in [0u16, 2, 0x0100, 0xffff] {
            let changed = with(&sample.bytes, 0, &version.to_be_bytes());
            assert_eq!(malformed(&sample, &changed), Malformed::Version);
        }
        for suite in (0..=255u8).filter(|suite| *suite != S::ID.to_byte()) {
            let changed = with(&sample.bytes, 2, &[suite]);
            assert_eq!(malformed(&sample, &changed), Malformed::Suite);
        }
        for kind in (0..=255u8).filter(|kind| *kind != sample.kind.to_byte()) {
            let changed = with(&sample.bytes, 3, &[kind]);
            assert_eq!(malformed(&sample, &changed), Malformed::Kind);
        }
    }
}

fn lengths_and_counts_outside_their_limits_are_refused<S: Suite>() {
    let p = S::POINT_LEN;
    let package = sample_of::<S>(Kind::SigningPackage);
    let length_at = 4 + 32;
    for len in [u32::try_from(MESSAGE_LEN_MAX).unwrap() + 1, u32::MAX] {
        let changed = with(&package.bytes, length_at, &len.to_be_bytes());
        let too_long = Malformed::TooLong {
            field: "message",
            max: MESSAGE_LEN_MAX,
        };
        assert_eq!(malformed(&package, &changed), too_long);
    }
    let max = u32::try_from(MESSAGE_LEN_MAX).unwrap();
    let changed = with(&package.bytes, length_at, &max.to_be_bytes());
    let short = Malformed::Short { field: "message" };
    assert_eq!(malformed(&package, &changed), short);
    for (kind, at, field, min) in [
        (Kind::SigningPackage, length_at + 4 + 7, "signers", 2),
        (Kind::GroupKey, 4, "min signers", 2),
        (Kind::GroupKey, 6, "members", 2),
        (Kind::KeyShare, 4, "min signers", 2),
        (Kind::DealtShare, 40, "coefficients", 2),
        (Kind::DkgRound1, 40, "coefficients", 2),
        (Kind::DealtUpdate, 40, "coefficients", 1),
        (Kind::RefreshRound1, 40, "coefficients", 1),
    ] {
        let sample = sample_of::<S>(kind);
        let max = 256;
        for count in [0, 1, 257, 0xffff].into_iter().filter(|c| *c != min) {
            let changed = with(&sample.bytes, at, &u16::to_be_bytes(count));
            let fault = malformed(&sample, &changed);
            let min = usize::from(min);
            assert_eq!(fault, Malformed::Count { field, min, max }, "{count}");
        }
    }
    // A threshold above the number of members.
    let group = sample_of::<S>(Kind::GroupKey);
    let changed = with(&group.bytes, 4, &4u16.to_be_bytes());
    let field = "members";
    let (min, max) = (4, 256);
    assert_eq!(
        malformed(&group, &changed),
        Malformed::Count { field, min, max }
    );
    assert_eq!(group.bytes.len(), 8 + p + 3 * (4 + p));
}

fn identifiers_outside_their_range_or_out_of_order_are_refused<S: Suite>() {
    let p = S::POINT_LEN;
    for (kind, places) in [
        (Kind::Commitments, vec![36]),
        (Kind::SignatureShare, vec![36]),
        (Kind::SigningPackage, vec![49, 49 + 4 + 2 * p]),
        (Kind::GroupKey, vec![8 + p, 8 + p + 4 + p]),
        (Kind::KeyShare, vec![6]),
        (Kind::DealtShare, vec![4]),
        (Kind::DkgRound1, vec![36]),
        (Kind::DkgEcho, vec![36]),
        (Kind::DkgSecret, vec![36, 40]),
        (Kind::DealtUpdate, vec![4]),
        (Kind::RefreshRound1, vec![36]),
        (Kind::RefreshEcho, vec![36]),
        (Kind::RefreshSecret, vec![36, 40]),
        (Kind::RepairDelta, vec![36, 40, 44]),
        (Kind::RepairSigma, vec![36, 40]),
    ] {
        let sample = sample_of::<S>(kind);
        for at in places {
            for number in [0u32, 65_536, u32::MAX] {
                let changed = with(&sample.bytes, at, &number.to_be_bytes());
                let fault = malformed(&sample, &changed);
                assert!(matches!(fault, Malformed::Identifier { .. }), "{fault}");
            }
        }
    }
    for (kind, first, step, field) in [
        (Kind::SigningPackage, 49, 4 + 2 * p, "signers"),
        (Kind::GroupKey, 8 + p, 4 + p, "members"),
    ] {
        let sample = sample_of::<S>(kind);
        let entry = |n: usize| sample.bytes[first + n * step..][..step].to_vec();
        for swapped in [[entry(1), entry(0)].concat(), [entry(0), entry(0)].concat()] {
            let changed = with(&sample.bytes, first, &swapped);
            assert_eq!(malformed(&sample, &changed), Malformed::Order { field });
        }
    }
}

/// Where points lie in each kind that has any.
fn point_places(p: usize) -> Vec<(Kind, Vec<usize>)> {
    vec![
        (Kind::Commitments, vec![40, 40 + p]),
        (Kind::Signature, vec![4]),
        (Kind::SigningPackage, vec![53, 53 + p, 57 + 2 * p]),
        (Kind::GroupKey, vec![8, 12 + p, 16 + 2 * p]),
        (Kind::KeyShare, vec![42]),
        (Kind::DealtShare, vec![42, 42 + p]),
        (Kind::DkgRound1, vec![42, 42 + p, 42 + 2 * p]),
        (Kind::DealtUpdate, vec![42]),
        (Kind::RefreshRound1, vec![42]),
    ]
}

fn bad_points(suite: SuiteId) -> Vec<Vec<u8>> {
    let le = |low: u8, fill: u8, high: u8| {
        let mut bytes = vec![fill; 32];
        (bytes[0], bytes[31]) = (low, high);
        bytes
    };
    let sec1 = |prefix: u8, x: [u8; 32]| [&[prefix][..], &x].concat();
    match suite {
        SuiteId::Ed25519 => {
            use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
            let mut bad: Vec<Vec<u8>> = EIGHT_TORSION
                .iter()
                .map(|torsion| torsion.compress().to_bytes().to_vec())
                .collect();
            bad.extend(EIGHT_TORSION[1..].iter().map(|torsion| {
                let mixed = ED25519_BASEPOINT_POINT + torsion;
                mixed.compress().to_bytes().to_vec()
            }));
            // Not canonical: y of p, p + 1 and 2^255 - 1, the identity with a sign, and no point at
            // all.
            bad.extend([le(0xed, 0xff, 0x7f), le(0xee, 0xff, 0x7f)]);
            bad.extend([le(0xff, 0xff, 0x7f), le(1, 0, 0x80), le(2, 0, 0)]);
            bad.extend([le(0xff, 0xff, 0xff), le(0xec, 0xff, 0xff)]);
            bad
        }
        SuiteId::Secp256k1 => {
            let base = horizon_testkit::vectors::from_hex(
                "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
            );
            let base: [u8; 32] = base.unwrap().try_into().unwrap();
            let prime = horizon_testkit::vectors::from_hex(
                "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f",
            );
            let prime: [u8; 32] = prime.unwrap().try_into().unwrap();
            let mut above = prime;
            above[31] += 1;
            let mut bad = vec![vec![0; 33]];
            bad.extend([0, 1, 4, 5, 6, 7, 0xff].map(|prefix| sec1(prefix, base)));
            bad.extend([prime, above, [0xff; 32], [0; 32]].map(|x| sec1(2, x)));
            bad
        }
        _ => vec![
            vec![0; 32],
            le(1, 0, 0),
            le(3, 0, 0),
            le(0xed, 0xff, 0x7f),
            le(0xec, 0xff, 0x7f),
            le(0xff, 0xff, 0x7f),
            le(0xff, 0xff, 0xff),
            le(0, 0, 0x80),
        ],
    }
}

fn l06_points_that_are_not_canonical_group_elements_are_refused_everywhere<S: Suite>() {
    for (kind, places) in point_places(S::POINT_LEN) {
        let sample = sample_of::<S>(kind);
        for at in places {
            for bad in bad_points(S::ID) {
                let fault = malformed(&sample, &with(&sample.bytes, at, &bad));
                assert!(matches!(fault, Malformed::Point { .. }), "{kind:?} {fault}");
            }
        }
    }
    for bad in bad_points(S::ID) {
        let refused = VerifyingKey::<S>::from_bytes(&bad).unwrap_err();
        assert!(matches!(refused, Error::Malformed(Malformed::Point { .. })));
        let raw = [&bad[..], &[1; 32]].concat();
        let refused = Signature::<S>::from_raw(&raw).unwrap_err();
        assert!(matches!(refused, Error::Malformed(Malformed::Point { .. })));
    }
    let key = sample_of::<S>(Kind::GroupKey).bytes[8..][..S::POINT_LEN].to_vec();
    assert!(VerifyingKey::<S>::from_bytes(&key).is_ok());
    for wrong in [
        &key[1..],
        &key[..S::POINT_LEN - 1],
        &[&key[..], &[0]].concat(),
        &[],
    ] {
        let refused = VerifyingKey::<S>::from_bytes(wrong).unwrap_err();
        assert!(matches!(refused, Error::Malformed(Malformed::Point { .. })));
    }
}

fn scalars_at_or_above_the_order_are_refused_everywhere<S: Suite>() {
    let p = S::POINT_LEN;
    let order = match S::ID {
        SuiteId::Secp256k1 => "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
        _ => "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010",
    };
    let order = horizon_testkit::vectors::from_hex(order).unwrap();
    let mut above = order.clone();
    above[if S::ID == SuiteId::Secp256k1 { 31 } else { 0 }] += 1;
    for (kind, at) in [
        (Kind::SignatureShare, 40),
        (Kind::Signature, 4 + p),
        (Kind::KeyShare, 10),
        (Kind::DealtShare, 8),
        (Kind::DkgRound1, 42 + 3 * p),
        (Kind::DkgSecret, 44),
        (Kind::DealtUpdate, 8),
        (Kind::RefreshSecret, 44),
        (Kind::RepairDelta, 48),
        (Kind::RepairSigma, 44),
    ] {
        let sample = sample_of::<S>(kind);
        for bad in [&order[..], &above, &[0xff; 32]] {
            let fault = malformed(&sample, &with(&sample.bytes, at, bad));
            assert!(
                matches!(fault, Malformed::Scalar { .. }),
                "{kind:?} {fault}"
            );
        }
    }
}

fn every_changed_byte_of_a_signature_is_refused<S: Suite>() {
    let mut rng = horizon_testkit::rng(71);
    let (group, signers) = crate::support::deal::<S>(2, 2, &mut rng);
    let chosen = [&signers[0], &signers[1]];
    let signature = crate::support::sign(&chosen, b"m", &mut rng).unwrap();
    let raw = signature.to_raw();
    for at in 0..raw.len() {
        for bit in 0..8 {
            let changed = with(&raw, at, &[raw[at] ^ 1 << bit]);
            match Signature::<S>::from_raw(&changed) {
                Err(error) => assert!(matches!(error, Error::Malformed(_))),
                Ok(changed) => {
                    let result = verify(group.verifying_key(), b"m", &changed);
                    assert!(matches!(result, Err(Error::Rejected(_))), "byte {at}");
                }
            }
        }
    }
    for len in 0..raw.len() {
        let refused = Signature::<S>::from_raw(&raw[..len]).unwrap_err();
        assert!(matches!(refused, Error::Malformed(Malformed::Short { .. })));
    }
    let longer = [&raw[..], &[0]].concat();
    let refused = Signature::<S>::from_raw(&longer).unwrap_err();
    assert_eq!(refused, Malformed::Trailing.into());
}

fn every_changed_byte_of_a_signature_share_is_refused_by_name<S: Suite>() {
    let mut rng = horizon_testkit::rng(72);
    let (group, signers) = crate::support::deal::<S>(2, 3, &mut rng);
    let session = Session::begin(&[&signers[0], &signers[2]], &mut rng);
    let package = session.package(b"m");
    let shares = session.shares(&package);
    let frame = shares[1].to_bytes();
    for at in 4..frame.len() {
        let changed = with(&frame, at, &[frame[at] ^ 2]);
        let changed = match SignatureShare::<S>::from_bytes(&changed) {
            Err(error) => {
                assert!(matches!(error, Error::Malformed(_)));
                continue;
            }
            Ok(changed) => changed,
        };
        let result = aggregate(&group, &package, &[shares[0].clone(), changed]);
        let Err(Error::Peer(peer)) = result else {
            panic!("byte {at}: {result:?}");
        };
        let expected = match at {
            4..36 => PeerFault::WrongSession,
            // 3 ^ 2 is 1, which is there already; other bytes make numbers that are nobody's.
            39 => PeerFault::Duplicate,
            36..40 => PeerFault::Unexpected,
            _ => PeerFault::SignatureShare,
        };
        assert_eq!(peer.fault, expected, "byte {at}");
        assert_eq!(peer.culprits.len(), 1);
    }
}

fn random_bytes_never_panic<S: Suite>() {
    let mut rng = horizon_testkit::rng(73);
    let all = samples::<S>();
    for _ in 0..4000 {
        let sample = &all[rng.index(all.len())];
        let mut bytes = sample.bytes.clone();
        match rng.below(4) {
            0 => {
                let len = rng.index(300);
                bytes = rng.vec(len);
            }
            1 => {
                let (a, b) = (rng.index(bytes.len()), rng.index(bytes.len()));
                bytes.swap(a, b);
            }
            2 => {
                let cut = rng.index(bytes.len());
                let tail = rng.index(200);
                bytes.truncate(cut);
                bytes.extend(rng.vec(tail));
            }
            _ => {
                for _ in 0..rng.below(6) {
                    let at = rng.index(bytes.len());
                    bytes[at] = rng.next().to_le_bytes()[0];
                }
            }
        }
        if let Ok(again) = (sample.decode)(&bytes) {
            assert_eq!(again, bytes);
        }
        let _ = Header::peek(&bytes);
    }
}

#[test]
fn the_largest_frame_fits_its_limit() {
    assert_eq!(FRAME_LEN_MAX, 4 + 32 + 4 + 65_536 + 2 + 256 * (4 + 66));
    let mut rng = horizon_testkit::rng(74);
    let mut frame = vec![0, 1, 1, 4];
    frame.extend(rng.bytes::<32>());
    frame.extend(65_536u32.to_be_bytes());
    frame.extend(rng.vec(65_536));
    frame.extend(256u16.to_be_bytes());
    let base = curve25519_dalek::constants::ED25519_BASEPOINT_POINT;
    let point = base.compress().to_bytes();
    for signer in 1..=256u32 {
        frame.extend(signer.to_be_bytes());
        frame.extend([point, point].concat());
    }
    let package = SigningPackage::<Ed25519>::from_bytes(&frame).unwrap();
    assert_eq!(package.signers().len(), 256);
    assert_eq!(package.to_bytes(), frame);
}
