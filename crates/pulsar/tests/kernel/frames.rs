//! Every decoder against malformed bytes, with the exact refusal.

use horizon_pulsar::{
    Error, GroupKey, Signature, Suite,
    error::{Malformed, Misuse, SignersFault},
    hazmat::interop::{
        Dealing, Group, Partial, Round1Message, Share, SidFence, gen_reference_for_vectors,
    },
    signers::SignerSet,
};
use horizon_ring::{NttPoly, Poly, Q};
use horizon_testkit::mutate::{with_byte, with_le64, wrong_lengths};

use crate::sign::{sessions, sign};

fn dealing() -> Dealing {
    gen_reference_for_vectors(Suite::PulsarBlake3, 2, &[3; 32]).unwrap()
}

fn refused<T>(result: Result<T, Error>) -> Malformed {
    match result.map(drop) {
        Err(Error::Malformed(fault)) => fault,
        other => panic!("expected a malformed input, got {other:?}"),
    }
}

/// Each wrong length is answered with the size the object must have.
fn lengths<T>(valid: &[u8], steps: usize, decode: impl Fn(&[u8]) -> Result<T, Error>) {
    assert!(decode(valid).is_ok());
    for mutant in wrong_lengths(valid, steps) {
        let fault = refused(decode(&mutant.bytes));
        let length = matches!(fault, Malformed::Short { .. } | Malformed::Trailing { .. });
        assert!(length, "{}: {fault:?}", mutant.name);
    }
}

#[test]
fn group_keys_decode_only_from_their_one_encoding() {
    let key = dealing().group_key;
    let framed = key.to_framed();
    assert_eq!(framed.len(), 132_190);
    assert_eq!(GroupKey::from_framed(&framed).unwrap(), key);
    assert_eq!(GroupKey::from_raw(key.as_bytes()).unwrap(), key);
    lengths(&framed, 60, GroupKey::from_framed);
    lengths(key.as_bytes(), 60, GroupKey::from_raw);
    let check = |bytes: Vec<u8>| refused(GroupKey::from_framed(&bytes));
    let (a, b) = ("group_key.A", "group_key.b");
    assert_eq!(
        check(with_byte(&framed, 3, b'S')),
        Malformed::Magic { field: "group key" }
    );
    assert_eq!(
        check(with_byte(&framed, 5, 2)),
        Malformed::Version { field: "group key" }
    );
    let wrong = Malformed::FrameLength {
        field: a,
        expected: 115_656,
    };
    assert_eq!(check(with_byte(&framed, 6, 1)), wrong);
    // Rows, columns, levels, degree, slot.
    assert_eq!(
        check(with_le64(&framed, 10, 9)),
        Malformed::Count { field: a }
    );
    assert_eq!(
        check(with_le64(&framed, 18, 8)),
        Malformed::Count { field: a }
    );
    assert_eq!(
        check(with_le64(&framed, 26, 2)),
        Malformed::Levels { field: a }
    );
    assert_eq!(
        check(with_le64(&framed, 34, 255)),
        Malformed::Degree { field: a }
    );
    assert_eq!(
        check(with_le64(&framed, 42, Q)),
        Malformed::Range {
            field: a,
            max: Q - 1
        }
    );
    let at_b = 10 + 115_656;
    let wrong = Malformed::FrameLength {
        field: b,
        expected: 16_520,
    };
    assert_eq!(check(with_byte(&framed, at_b, 1)), wrong);
    assert_eq!(
        check(with_le64(&framed, at_b + 4, 7)),
        Malformed::Count { field: b }
    );
    assert_eq!(
        check(with_le64(&framed, at_b + 12, 0)),
        Malformed::Levels { field: b }
    );
    assert_eq!(
        check(with_le64(&framed, at_b + 20, 512)),
        Malformed::Degree { field: b }
    );
    let over = Malformed::Range {
        field: b,
        max: 1 << 18,
    };
    assert_eq!(check(with_le64(&framed, at_b + 28, (1 << 18) + 1)), over);
    assert!(GroupKey::from_framed(&with_le64(&framed, at_b + 28, 1 << 18)).is_ok());
}

#[test]
fn a_group_key_is_assembled_from_56_and_8_polynomials_in_range() {
    let a = vec![NttPoly::ZERO; 56];
    let b = vec![Poly::ZERO; 8];
    assert!(GroupKey::new(&a, &b).is_ok());
    let length = |field| Error::Misuse(Misuse::Length { field });
    assert_eq!(
        GroupKey::new(&a[1..], &b).unwrap_err(),
        length("group_key.A")
    );
    assert_eq!(
        GroupKey::new(&a, &b[1..]).unwrap_err(),
        length("group_key.b")
    );
    let mut high = b;
    high[7].as_mut_array()[255] = (1 << 18) + 1;
    let over = Malformed::Range {
        field: "group_key.b",
        max: 1 << 18,
    };
    assert_eq!(refused(GroupKey::new(&a, &high)), over);
}

#[test]
fn signatures_decode_only_from_their_one_encoding() {
    let dealing = dealing();
    let group = Group::new(dealing.group_key.clone(), Suite::PulsarBlake3);
    let signers = SignerSet::everyone(dealing.shares[0].quorum());
    let run = sign(&group, &dealing, &signers, 1, &dealing.prf_key, b"frame").unwrap();
    let (framed, pulse) = (run.signature.to_framed(), run.signature.to_pulse_bytes());
    lengths(&framed, 60, Signature::from_framed);
    lengths(&pulse, 60, Signature::from_pulse_bytes);
    let (c, z, delta) = ("signature.c", "signature.z", "signature.delta");
    let check = |bytes: Vec<u8>| refused(Signature::from_framed(&bytes));
    assert_eq!(
        check(with_byte(&framed, 3, b'G')),
        Malformed::Magic { field: "signature" }
    );
    assert_eq!(
        check(with_byte(&framed, 4, 1)),
        Malformed::Version { field: "signature" }
    );
    for (at, field, expected) in [(6, c, 2_064), (2_074, z, 14_456), (16_534, delta, 16_520)] {
        assert_eq!(
            check(with_byte(&framed, at, 9)),
            Malformed::FrameLength { field, expected }
        );
    }
    // The envelope form: little-endian prefixes.
    let check = |bytes: Vec<u8>| refused(Signature::from_pulse_bytes(&bytes));
    for (at, field, expected) in [(3, c, 2_064), (2_071, z, 14_456), (16_531, delta, 16_520)] {
        assert_eq!(
            check(with_byte(&pulse, at, 9)),
            Malformed::FrameLength { field, expected }
        );
    }
    let max = Q - 1;
    assert_eq!(
        check(with_le64(&pulse, 4, 2)),
        Malformed::Levels { field: c }
    );
    assert_eq!(
        check(with_le64(&pulse, 12, 257)),
        Malformed::Degree { field: c }
    );
    assert_eq!(
        check(with_le64(&pulse, 20, Q)),
        Malformed::Range { field: c, max }
    );
    assert_eq!(
        check(with_le64(&pulse, 20, u64::MAX)),
        Malformed::Range { field: c, max }
    );
    assert_eq!(
        check(with_le64(&pulse, 2_072, 8)),
        Malformed::Count { field: z }
    );
    assert_eq!(
        check(with_le64(&pulse, 2_080, 0)),
        Malformed::Levels { field: z }
    );
    assert_eq!(
        check(with_le64(&pulse, 2_088, 0)),
        Malformed::Degree { field: z }
    );
    assert_eq!(
        check(with_le64(&pulse, 2_096, 1 << 63)),
        Malformed::Range { field: z, max }
    );
    let max = (1 << 19) - 1;
    assert_eq!(
        check(with_le64(&pulse, 16_532, 7)),
        Malformed::Count { field: delta }
    );
    assert_eq!(
        check(with_le64(&pulse, 16_556, 1 << 19)),
        Malformed::Range { field: delta, max }
    );
    let last = pulse.len() - 8;
    assert_eq!(
        check(with_le64(&pulse, last, 1 << 19)),
        Malformed::Range { field: delta, max }
    );
}

#[test]
fn round_one_messages_decode_only_from_their_one_encoding() {
    let dealing = dealing();
    let group = Group::new(dealing.group_key.clone(), Suite::PulsarBlake3);
    let signers = SignerSet::everyone(dealing.shares[0].quorum());
    let session = &sessions(&group, &dealing, &signers).unwrap()[0];
    let (_, message) = session.round1(&mut SidFence::fresh(), 1).unwrap();
    let bytes = message.to_bytes();
    assert_eq!(bytes.len(), Round1Message::encoded_len(2));
    assert_eq!(Round1Message::from_bytes(&bytes).unwrap(), message);
    lengths(&bytes, 20, Round1Message::from_bytes);
    let check = |bytes: Vec<u8>| refused(Round1Message::from_bytes(&bytes));
    let field = "round-one message";
    assert_eq!(
        check(with_byte(&bytes, 3, b'2')),
        Malformed::Magic { field }
    );
    assert_eq!(check(with_byte(&bytes, 5, 0)), Malformed::Version { field });
    assert_eq!(
        check(with_byte(&bytes, 6, 1)),
        Malformed::Value { field: "position" }
    );
    // Zero signers, too many, self missing, unsorted, duplicate.
    assert_eq!(
        check(with_byte(&bytes, 21, 0)),
        Malformed::Signers(SignersFault::Empty)
    );
    assert_eq!(
        check(with_byte(&bytes, 18, 0xff)),
        Malformed::Value { field }
    );
    assert_eq!(
        check(with_byte(&bytes, 9, 7)),
        Malformed::Signers(SignersFault::SelfMissing)
    );
    assert_eq!(
        check(with_byte(&bytes, 25, 3)),
        Malformed::Signers(SignersFault::NotAscending)
    );
    assert_eq!(
        check(with_byte(&bytes, 29, 0)),
        Malformed::Signers(SignersFault::NotAscending)
    );
    let max = Q - 1;
    let at = 30 + 8 + 8 + 16;
    assert_eq!(
        check(with_le64(&bytes, at, Q)),
        Malformed::Range {
            field: "matrix",
            max
        }
    );
    assert_eq!(
        check(with_le64(&bytes, 30, 7)),
        Malformed::Count { field: "matrix" }
    );
    assert_eq!(
        check(with_le64(&bytes, 38, 48)),
        Malformed::Count { field: "matrix" }
    );
}

#[test]
fn partials_decode_only_from_their_one_encoding() {
    let z = [const { NttPoly::ZERO }; 7];
    let partial = Partial {
        sender: 3,
        sid: 9,
        z,
    };
    let bytes = partial.to_bytes();
    assert_eq!(bytes.len(), 14_474);
    assert_eq!(Partial::from_bytes(&bytes).unwrap(), partial);
    lengths(&bytes, 40, Partial::from_bytes);
    let check = |bytes: Vec<u8>| refused(Partial::from_bytes(&bytes));
    let field = "partial";
    assert_eq!(
        check(with_byte(&bytes, 0, b'Q')),
        Malformed::Magic { field }
    );
    assert_eq!(check(with_byte(&bytes, 4, 9)), Malformed::Version { field });
    assert_eq!(
        check(with_byte(&bytes, 7, 1)),
        Malformed::Value { field: "position" }
    );
    assert_eq!(check(with_le64(&bytes, 18, 6)), Malformed::Count { field });
    assert_eq!(
        check(with_le64(&bytes, 42, Q)),
        Malformed::Range { field, max: Q - 1 }
    );
}

#[test]
fn shares_decode_only_from_their_one_encoding() {
    let dealing = dealing();
    let share = &dealing.shares[1];
    let bytes = share.to_bytes();
    assert_eq!(bytes.len(), Share::encoded_len(2));
    assert_eq!(*Share::from_bytes(&bytes).unwrap().to_bytes(), *bytes);
    lengths(&bytes, 40, Share::from_bytes);
    let check = |bytes: Vec<u8>| refused(Share::from_bytes(&bytes));
    let field = "share";
    assert_eq!(check(with_byte(&bytes, 0, 0)), Malformed::Magic { field });
    assert_eq!(check(with_byte(&bytes, 5, 7)), Malformed::Version { field });
    assert_eq!(check(with_byte(&bytes, 9, 2)), Malformed::Value { field });
    // No parties; threshold zero; threshold above the parties; unknown suite.
    let threshold = Malformed::Value {
        field: "share.threshold",
    };
    assert_eq!(check(with_byte(&bytes, 13, 0)), threshold);
    assert_eq!(check(with_byte(&bytes, 17, 0)), threshold);
    assert_eq!(check(with_byte(&bytes, 17, 3)), threshold);
    assert_eq!(check(with_byte(&bytes, 19, 9)), Malformed::Suite);
    assert_eq!(
        check(with_le64(&bytes, 76, Q)),
        Malformed::Range { field, max: Q - 1 }
    );
    // The diagonal seed stands in the row and in the column.
    let diagonal = 52 + 14_456 + 32;
    assert_eq!(
        check(with_byte(&bytes, diagonal, !bytes[diagonal])),
        Malformed::Value { field }
    );
}

#[test]
fn key_generation_for_no_party_or_too_many_is_refused() {
    for parties in [0, 1025] {
        let refused = gen_reference_for_vectors(Suite::PulsarSha3, parties, &[0; 32]).map(drop);
        assert_eq!(refused, Err(Misuse::PartyCount.into()));
    }
}

#[test]
fn random_damage_is_answered_with_an_error_or_another_valid_object_never_with_a_panic() {
    let dealing = dealing();
    let group = Group::new(dealing.group_key.clone(), Suite::PulsarBlake3);
    let signers = SignerSet::everyone(dealing.shares[0].quorum());
    let run = sign(&group, &dealing, &signers, 1, &dealing.prf_key, b"damage").unwrap();
    let share = dealing.shares[0].to_bytes();
    let framed = run.signature.to_framed();
    let pulse = run.signature.to_pulse_bytes();
    let partial = run.partials[0].to_bytes();
    let check = |result: Result<(), Error>| {
        assert!(
            matches!(result, Ok(()) | Err(Error::Malformed(_))),
            "{result:?}"
        );
    };
    let mut rng = horizon_testkit::rng(0x64_616d_6167);
    for _ in 0..300 {
        let mut damaged = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            for _ in 0..=rng.below(3) {
                // Mostly near the front, where the headers are.
                let span = if rng.below(2) == 0 {
                    bytes.len().min(80)
                } else {
                    bytes.len()
                };
                let at = rng.index(span);
                bytes[at] = rng.next() as u8;
            }
            bytes.truncate(bytes.len() - if rng.below(8) == 0 { 1 } else { 0 });
            bytes
        };
        check(Signature::from_framed(&damaged(&framed)).map(drop));
        check(Signature::from_pulse_bytes(&damaged(&pulse)).map(drop));
        check(Partial::from_bytes(&damaged(&partial)).map(drop));
        check(Share::from_bytes(&damaged(&share)).map(drop));
    }
    for _ in 0..20 {
        let bytes = rng.vec(3_000);
        check(Signature::from_framed(&bytes).map(drop));
        check(Round1Message::from_bytes(&bytes).map(drop));
        check(GroupKey::from_framed(&bytes).map(drop));
        check(Share::from_bytes(&bytes).map(drop));
    }
}
