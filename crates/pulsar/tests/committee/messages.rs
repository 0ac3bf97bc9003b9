//! Layouts of the seven messages: sizes, round trips, and every way to be wrong.

use horizon_hash::sponge::sha3_256;
use horizon_pulsar::Signature;
use horizon_pulsar::committee::message::{
    BATCH_HAVE_LEN, BATCH_VOID_LEN, BatchCommit, BatchHave, BatchVoid, Body, Header, Kind,
    MATRIX_LEN, NONCE_MATRIX_LEN, NonceMatrix, PARTIAL_LEN, PARTIAL_POST_LEN, PULSE_CERT_LEN,
    PULSE_LEN, Partial, PartialPost, PulseCert, Signed, Transaction, Unverified, batch_commit_len,
};
use horizon_pulsar::committee::{Committee, Error, Malformed, Rejected, SIGNATURE_LEN};
use horizon_ring::{NttPoly, Poly, Q};
use horizon_testkit::mutate::{with_byte, wrong_lengths};
use horizon_testkit::vectors::to_hex;
use horizon_testkit::{SeededRng, rng};

use crate::support::{Signer, Verifier, params, uniform};

fn committee() -> Committee {
    Committee::new(params(4, 3)).expect("committee")
}

fn header(sender: u16) -> Header {
    Header {
        ctx: *committee().era_ctx(),
        sender,
        boot: 9,
        seq: 5,
    }
}

fn partial() -> Partial {
    // The same in every run: its bytes are golden.
    let mut rng = SeededRng::new(1);
    let z = (0..7).map(|_| uniform(&mut rng)).collect();
    Partial {
        index: 2,
        attempt: 3,
        session_ctx: [7; 32],
        z,
    }
}

fn pulse_cert() -> PulseCert {
    let zero = Box::new([const { Poly::ZERO }; 8]);
    let pulse = Signature::new(NttPoly::ZERO, [const { NttPoly::ZERO }; 7], zero).expect("pulse");
    PulseCert {
        subject: [8; 32],
        attempt: 3,
        pulse,
    }
}

fn issue<B: Body>(body: B) -> Vec<u8> {
    Signed::issue(header(1), body, &mut Signer(1))
        .expect("signed")
        .bytes()
        .to_vec()
}

fn digests(count: u16) -> BatchCommit {
    let digests = (0..count).map(|k| [k as u8; 64]).collect();
    BatchCommit {
        set_digest: [6; 32],
        digests,
    }
}

/// One valid transaction of every signed type.
fn all() -> [(Kind, Vec<u8>); 6] {
    let inner = Signed::issue(header(2), partial(), &mut Signer(2)).expect("signed");
    [
        (Kind::BatchCommit, issue(digests(3))),
        (Kind::BatchHave, issue(BatchHave { root: [5; 32] })),
        (Kind::Partial, issue(partial())),
        (Kind::BatchVoid, issue(BatchVoid)),
        (Kind::PartialPost, issue(PartialPost::from(inner))),
        (Kind::PulseCert, issue(pulse_cert())),
    ]
}

fn decode(bytes: &[u8]) -> Result<Transaction, Error> {
    Transaction::decode(bytes, &committee())
}

fn fault(bytes: &[u8]) -> Malformed {
    match decode(bytes) {
        Err(Error::Malformed(fault)) => fault,
        other => panic!("expected a malformed transaction, got {other:?}"),
    }
}

#[test]
fn sizes_are_those_of_the_specification() {
    let sizes: Vec<usize> = all().iter().map(|(_, bytes)| bytes.len()).collect();
    assert_eq!(
        sizes,
        [
            3_391 + 64 * 3,
            3_389,
            14_371,
            3_357,
            17_728,
            PULSE_LEN + 3_393
        ]
    );
    let constants = [
        batch_commit_len(3),
        BATCH_HAVE_LEN,
        PARTIAL_LEN,
        BATCH_VOID_LEN,
        PARTIAL_POST_LEN,
    ];
    assert_eq!(sizes[..5], constants);
    assert_eq!(
        (PULSE_CERT_LEN, NONCE_MATRIX_LEN, MATRIX_LEN),
        (36_445, 614_706, 614_656)
    );
}

#[test]
fn the_header_has_the_published_layout() {
    let bytes = issue(BatchVoid);
    assert_eq!(bytes[..2], [1, 5]);
    assert_eq!(bytes[2..34], *committee().era_ctx());
    assert_eq!(bytes[34..48], [0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 5]);
}

#[test]
fn decoding_inverts_encoding() {
    fn check<B: Body + PartialEq + core::fmt::Debug>(body: B) {
        let signed = Signed::issue(header(1), body, &mut Signer(1)).expect("signed");
        let decoded = Unverified::<B>::decode(signed.bytes(), &committee()).expect("decoded");
        assert_eq!(decoded.bytes(), signed.bytes());
        assert_eq!(decoded.verify(&Verifier), Ok(signed));
    }
    check(digests(1));
    check(digests(64));
    check(BatchHave { root: [5; 32] });
    check(partial());
    check(BatchVoid);
    check(PartialPost::from(
        Signed::issue(header(2), partial(), &mut Signer(2)).expect("signed"),
    ));
    check(pulse_cert());
}

#[test]
fn every_type_refuses_every_wrong_length() {
    for (kind, bytes) in all() {
        for mutant in wrong_lengths(&bytes, 40) {
            let fault = fault(&mutant.bytes);
            let longer = mutant.bytes.len() > bytes.len();
            let expected = match fault {
                Malformed::Truncated { .. } => !longer,
                Malformed::Trailing { .. } => longer,
                _ => false,
            };
            assert!(expected, "{kind:?}, {}: {fault:?}", mutant.name);
        }
    }
}

#[test]
fn every_type_refuses_wrong_version_type_context_and_sender() {
    for (kind, bytes) in all() {
        assert_eq!(
            fault(&with_byte(&bytes, 0, 2)),
            Malformed::Version,
            "{kind:?}"
        );
        for unknown in [0, 8, 255] {
            assert_eq!(
                fault(&with_byte(&bytes, 1, unknown)),
                Malformed::UnknownType,
                "{kind:?}"
            );
        }
        assert_eq!(
            fault(&with_byte(&bytes, 1, 2)),
            Malformed::UnexpectedType,
            "{kind:?}"
        );
        for at in [2, 33] {
            let other = with_byte(&bytes, at, bytes[at] ^ 1);
            assert_eq!(fault(&other), Malformed::WrongContext, "{kind:?}");
        }
        assert_eq!(
            fault(&with_byte(&bytes, 35, 4)),
            Malformed::UnknownSender,
            "{kind:?}"
        );
        let other = if kind == Kind::BatchVoid {
            &[][..]
        } else {
            &bytes[..]
        };
        let expected = Unverified::<BatchVoid>::decode(other, &committee()).map(drop);
        assert!(matches!(
            expected,
            Err(Error::Malformed(
                Malformed::UnexpectedType | Malformed::Truncated { .. }
            ))
        ));
    }
}

#[test]
fn a_transaction_of_another_committee_is_refused() {
    for change in 0..6 {
        let mut other = params(4, 3);
        match change {
            0 => other.chain_id[31] ^= 1,
            1 => other.network_id += 1,
            2 => other.group_id += 1,
            3 => other.era += 1,
            4 => other.generation += 1,
            _ => other.t = 2,
        }
        let other = Committee::new(other).expect("committee");
        for (_, bytes) in all() {
            let refused = Transaction::decode(&bytes, &other).map(drop);
            assert_eq!(refused, Err(Error::Malformed(Malformed::WrongContext)));
        }
    }
}

#[test]
fn every_type_refuses_a_signature_of_another_member_or_over_other_bytes() {
    fn refused<B: Body>(bytes: &[u8]) {
        let decoded = Unverified::<B>::decode(bytes, &committee());
        let refused = decoded.and_then(|tx| tx.verify(&Verifier)).map(drop);
        assert_eq!(refused, Err(Error::Rejected(Rejected::SenderSignature)));
    }
    fn every<B: Body>(bytes: &[u8]) {
        // Another sender, another boot, another batch, first and last byte of the signature.
        refused::<B>(&with_byte(bytes, 35, 2));
        refused::<B>(&with_byte(bytes, 39, bytes[39] ^ 1));
        refused::<B>(&with_byte(bytes, 47, bytes[47] ^ 1));
        for at in [bytes.len() - SIGNATURE_LEN, bytes.len() - 1] {
            refused::<B>(&with_byte(bytes, at, bytes[at] ^ 1));
        }
    }
    let [commit, have, partial, void, post, cert] = all().map(|(_, bytes)| bytes);
    every::<BatchCommit>(&commit);
    every::<BatchHave>(&have);
    every::<Partial>(&partial);
    every::<BatchVoid>(&void);
    every::<PartialPost>(&post);
    every::<PulseCert>(&cert);
    // The signature inside a post counts as well as the one around it.
    let inner = with_byte(&partial, 99, partial[99] ^ 1);
    let inner = Unverified::<Partial>::decode(&inner, &committee()).expect("layout");
    refused::<PartialPost>(&issue(PartialPost { partial: inner }));
}

#[test]
fn fields_out_of_range_are_refused() {
    let [commit, _, partial, _, post, cert] = all().map(|(_, bytes)| bytes);
    let count = Malformed::OutOfRange { field: "count" };
    assert_eq!(fault(&with_byte(&commit, 81, 0)), count);
    assert_eq!(fault(&with_byte(&commit, 81, 65)), count);
    assert_eq!(fault(&with_byte(&commit, 80, 1)), count);
    assert_eq!(
        fault(&with_byte(&partial, 49, 64)),
        Malformed::OutOfRange { field: "index" }
    );
    // The inner partial of a post is held to the same rules.
    let inner = 48;
    assert_eq!(fault(&with_byte(&post, inner, 9)), Malformed::Version);
    assert_eq!(
        fault(&with_byte(&post, inner + 1, 5)),
        Malformed::UnexpectedType
    );
    assert_eq!(
        fault(&with_byte(&post, inner + 2, post[inner + 2] ^ 1)),
        Malformed::WrongContext
    );
    assert_eq!(
        fault(&with_byte(&post, inner + 35, 4)),
        Malformed::UnknownSender
    );
    // The Pulse of a certificate is decoded by its own strict rules.
    assert_eq!(fault(&with_byte(&cert, 48 + 36, 1)), Malformed::Pulse);
    assert_eq!(fault(&with_byte(&cert, 48 + 36 + 4, 2)), Malformed::Pulse);
}

#[test]
fn a_packed_value_of_q_is_refused_in_every_polynomial_of_a_partial() {
    for poly in 0..7 {
        for (value, valid) in [(Q - 1, true), (Q, false), ((1 << 49) - 1, false)] {
            let mut body = partial();
            body.z[poly] = NttPoly::ZERO;
            let mut bytes = issue(body);
            // The last value of a polynomial takes its last 49 bits; the 7 below belong to the one before.
            let end = 48 + 38 + (poly + 1) * 1568;
            let shifted: u64 = value << 7;
            bytes[end - 7..end].copy_from_slice(&shifted.to_le_bytes()[..7]);
            let expected = if valid {
                None
            } else {
                Some(Malformed::NotCanonical { field: "z" })
            };
            let found = match decode(&bytes) {
                Err(Error::Malformed(fault)) => Some(fault),
                other => {
                    assert!(other.is_ok());
                    None
                }
            };
            assert_eq!(found, expected, "polynomial {poly}, value {value}");
        }
    }
}

#[test]
fn a_nonce_matrix_has_one_length_and_no_signature() {
    let committee = committee();
    let mut bytes = NonceMatrix::prefix(&header(1), 63);
    bytes.resize(NONCE_MATRIX_LEN, 0);
    let matrix = NonceMatrix::decode(&bytes, &committee).expect("matrix");
    assert_eq!((matrix.header, matrix.index), (header(1), 63));
    assert_eq!(
        (matrix.packed().len(), matrix.bytes().len()),
        (614_656, 614_706)
    );
    let fault = |bytes: &[u8]| match NonceMatrix::decode(bytes, &committee) {
        Err(Error::Malformed(fault)) => fault,
        other => panic!("expected a malformed matrix, got {other:?}"),
    };
    for mutant in wrong_lengths(&bytes, 20) {
        let fault = fault(&mutant.bytes);
        let named = matches!(
            fault,
            Malformed::Truncated { .. } | Malformed::Trailing { .. }
        );
        assert!(named, "{}: {fault:?}", mutant.name);
    }
    assert_eq!(fault(&with_byte(&bytes, 0, 0)), Malformed::Version);
    assert_eq!(fault(&with_byte(&bytes, 1, 4)), Malformed::UnexpectedType);
    assert_eq!(fault(&with_byte(&bytes, 1, 9)), Malformed::UnknownType);
    assert_eq!(
        fault(&with_byte(&bytes, 2, bytes[2] ^ 1)),
        Malformed::WrongContext
    );
    assert_eq!(fault(&with_byte(&bytes, 34, 1)), Malformed::UnknownSender);
    assert_eq!(
        fault(&with_byte(&bytes, 49, 64)),
        Malformed::OutOfRange { field: "index" }
    );
    // It is no transaction.
    let refused = Transaction::decode(&bytes, &committee).map(drop);
    assert_eq!(refused, Err(Error::Malformed(Malformed::UnexpectedType)));
}

#[test]
fn encodings_do_not_change() {
    // SHA3-256 of one transaction of every type, as this layout was first written.
    let golden = [
        "1aca3f52c07061e56d7c355d208c99dda463a6fc29c7fa76aef359acd5605024",
        "37c93f053ce0c15ecbdf4fb47afa0caf5aee99558b16871b75d081c2c5e99737",
        "59a32b33540340a8588acad7ccdbe07938f479e7524e4533cc86b772ca5cae50",
        "bb3ead3fe298a0bf4c00a1b4c54d94d6fe86f5786118fedeffffa58a27af3564",
        "666b8c5785c52283fe9ff3530adca17e17c452432f62ed26bbed97c544c5802e",
        "44833a1becd08ee4db852693517026f86c1625153f7ab72fa04545d1c57004b0",
    ];
    let found = all().map(|(_, bytes)| to_hex(&sha3_256(&bytes)));
    assert_eq!(found, golden);
}

#[test]
fn damaged_bytes_are_refused_or_decode_to_what_encodes_to_them() {
    let mut rng = rng(77);
    for (kind, bytes) in all() {
        for _ in 0..300 {
            let mut damaged = bytes.clone();
            for _ in 0..=rng.index(3) {
                // Half of the damage goes to the part with structure.
                let reach = if rng.below(2) == 0 {
                    damaged.len()
                } else {
                    100
                };
                let at = rng.index(reach);
                damaged[at] = rng.next().to_le_bytes()[0];
            }
            let encoded = match decode(&damaged) {
                Err(Error::Malformed(_)) => continue,
                Err(other) => panic!("{kind:?}: {other:?}"),
                Ok(Transaction::BatchCommit(tx)) => reissue(&tx),
                Ok(Transaction::BatchHave(tx)) => reissue(&tx),
                Ok(Transaction::Partial(tx)) => reissue(&tx),
                Ok(Transaction::BatchVoid(tx)) => reissue(&tx),
                Ok(Transaction::PartialPost(tx)) => reissue(&tx),
                Ok(Transaction::PulseCert(tx)) => reissue(&tx),
            };
            let body = ..damaged.len() - SIGNATURE_LEN;
            assert!(encoded[body] == damaged[body], "{kind:?}");
        }
    }
}

/// The same header and body, encoded anew.
fn reissue<B: Body + Clone>(tx: &Unverified<B>) -> Vec<u8> {
    let signed = Signed::issue(*tx.header(), tx.body().clone(), &mut Signer(0));
    signed.expect("signed").bytes().to_vec()
}
