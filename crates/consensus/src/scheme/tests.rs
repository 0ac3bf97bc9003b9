use bytes::Bytes;
use commonware_codec::{Decode as _, DecodeExt as _, Encode as _};
use commonware_consensus::{
    simplex::types::Proposal,
    types::{Epoch, Round, View},
};
use commonware_cryptography::{Signer as _, certificate::Scheme as _, ed25519::PrivateKey, sha256};
use commonware_parallel::Sequential;
use commonware_utils::non_empty;
use horizon_sig::mldsa::ParameterSet;

use super::*;

type Digest = sha256::Digest;

struct Fixture {
    schemes: Vec<Scheme>,
    rng: horizon_testkit::SeededRng,
}

fn fixture(n: u8, namespace: &[u8]) -> Fixture {
    let mut pairs: Vec<_> = (0..n)
        .map(|index| {
            let identity = PrivateKey::from_seed(u64::from(index)).public_key();
            let key = SigningKey::from_seed(ParameterSet::MlDsa65, &[index; 32]).expect("seed");
            (identity, Arc::new(key))
        })
        .collect();
    pairs.sort_by(|left, right| left.0.cmp(&right.0));
    let participants = Set::from_iter_dedup(pairs.iter().map(|(identity, _)| identity.clone()));
    let keys: Vec<_> = pairs
        .iter()
        .map(|(_, key)| key.verifying_key().clone())
        .collect();
    let schemes = (0_u32..)
        .zip(&pairs)
        .map(|(index, (_, key))| {
            Scheme::from_parts(
                participants.clone(),
                keys.clone(),
                namespace,
                Some((Participant::new(index), Arc::clone(key))),
            )
        })
        .collect();
    Fixture {
        schemes,
        rng: horizon_testkit::rng(0x5c4e),
    }
}

fn proposal(view: u64) -> Proposal<Digest> {
    let round = Round::new(Epoch::zero(), View::new(view));
    Proposal::new(round, View::new(view - 1), Digest::from([7; 32]))
}

fn votes(schemes: &[Scheme], subject: Subject<'_, Digest>) -> Vec<Attestation<Scheme>> {
    schemes
        .iter()
        .map(|scheme| scheme.sign(subject).expect("a signer signs"))
        .collect()
}

#[test]
fn a_quorum_makes_a_certificate_that_verifies() {
    let mut fixture = fixture(4, b"net");
    let proposal = proposal(9);
    let subject = Subject::Notarize {
        proposal: &proposal,
    };
    let votes = votes(&fixture.schemes[..3], subject);
    let certificate = fixture.schemes[3]
        .assemble(non_empty![@votes], &Sequential)
        .expect("a quorum assembles");
    let reader = &fixture.schemes[3];
    assert!(reader.verify_certificate(&mut fixture.rng, subject, &certificate, &Sequential));
    let encoded = certificate.encode();
    let decoded = Certificate::decode_cfg(encoded, &4).expect("it decodes");
    assert_eq!(decoded, certificate);
}

#[test]
fn less_than_a_quorum_does_not_assemble() {
    let fixture = fixture(4, b"net");
    let proposal = proposal(9);
    let votes = votes(
        &fixture.schemes[..2],
        Subject::Notarize {
            proposal: &proposal,
        },
    );
    assert_eq!(
        fixture.schemes[0].assemble(non_empty![@votes], &Sequential),
        Err(AssemblyError::InsufficientAttestations(3, 2))
    );
}

#[test]
fn a_doubled_or_unknown_signer_does_not_assemble() {
    let fixture = fixture(4, b"net");
    let proposal = proposal(9);
    let mut doubled = votes(
        &fixture.schemes[..3],
        Subject::Notarize {
            proposal: &proposal,
        },
    );
    let again = doubled[1].clone();
    doubled.push(again);
    assert_eq!(
        fixture.schemes[0].assemble(non_empty![@doubled.clone()], &Sequential),
        Err(AssemblyError::DuplicateSigner(Participant::new(1)))
    );
    doubled[3].signer = Participant::new(4);
    assert_eq!(
        fixture.schemes[0].assemble(non_empty![@doubled], &Sequential),
        Err(AssemblyError::UnknownSigner(Participant::new(4)))
    );
}

#[test]
fn a_vote_counts_only_for_its_subject_its_signer_and_its_network() {
    let mut fixture = fixture(4, b"net");
    let (one, other) = (proposal(9), proposal(10));
    let subject = Subject::Notarize { proposal: &one };
    let vote = fixture.schemes[0].sign::<Digest>(subject).expect("signs");
    let mut check = |scheme: &Scheme, subject, vote: &Attestation<Scheme>| {
        scheme.verify_attestation::<_, Digest>(&mut fixture.rng, subject, vote, &Sequential)
    };
    let reader = &fixture.schemes[1];
    assert!(check(reader, subject, &vote));
    assert!(!check(
        reader,
        Subject::Notarize { proposal: &other },
        &vote
    ));
    assert!(!check(reader, Subject::Finalize { proposal: &one }, &vote));
    assert!(!check(reader, Subject::Nullify { round: one.round }, &vote));
    let mut foreign = vote.clone();
    foreign.signer = Participant::new(2);
    assert!(!check(reader, subject, &foreign));
    foreign.signer = Participant::new(40);
    assert!(!check(reader, subject, &foreign));
    let elsewhere = self::fixture(4, b"other net");
    assert!(!check(&elsewhere.schemes[1], subject, &vote));
}

#[test]
fn signing_the_same_subject_twice_gives_the_same_bytes() {
    let fixture = fixture(1, b"net");
    let proposal = proposal(3);
    let subject = Subject::Finalize {
        proposal: &proposal,
    };
    let sign = || {
        fixture.schemes[0]
            .sign::<Digest>(subject)
            .expect("signs")
            .encode()
    };
    assert_eq!(sign(), sign());
}

#[test]
fn the_bound_on_certificates_holds_for_every_network_size() {
    for n in [4_u8, 7, 21, 100] {
        let mut fixture = fixture(n, b"net");
        let proposal = proposal(u64::MAX);
        let subject = Subject::Nullify {
            round: proposal.round,
        };
        let votes = votes(&fixture.schemes, subject);
        let certificate = fixture.schemes[0]
            .assemble(non_empty![@votes], &Sequential)
            .expect("all signers assemble");
        let bound = Scheme::max_certificate_size(u32::from(n));
        let encoded = certificate.encode();
        assert!(encoded.len() <= bound, "{n}: {} > {bound}", encoded.len());
        assert!(encoded.len() + 8 > bound, "{n}: the bound is loose");
        let scheme = &fixture.schemes[0];
        let decoded = Certificate::decode_cfg(encoded, &scheme.certificate_codec_config());
        let decoded = decoded.expect("its own size decodes");
        assert!(scheme.verify_certificate::<_, Digest>(
            &mut fixture.rng,
            subject,
            &decoded,
            &Sequential
        ));
    }
}

#[test]
fn the_decoder_is_bounded_by_the_number_of_participants() {
    let fixture = fixture(7, b"net");
    let proposal = proposal(4);
    let votes = votes(
        &fixture.schemes,
        Subject::Notarize {
            proposal: &proposal,
        },
    );
    let certificate = fixture.schemes[0]
        .assemble(non_empty![@votes], &Sequential)
        .expect("assembles");
    assert!(Certificate::decode_cfg(certificate.encode(), &6).is_err());
    // A length that promises more signatures than there are bytes must not allocate for them.
    let mut huge = certificate.signers.encode().to_vec();
    huge.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0x0f]);
    assert!(Certificate::decode_cfg(Bytes::from(huge), &7).is_err());
    assert!(Signature::decode(Bytes::from(vec![0; SIGNATURE_LEN - 1])).is_err());
    assert!(Signature::decode(Bytes::from(vec![0; SIGNATURE_LEN + 1])).is_err());
}

#[test]
fn a_certificate_for_another_participant_count_is_refused() {
    let mut small = fixture(4, b"net");
    let large = fixture(7, b"net");
    let proposal = proposal(4);
    let subject = Subject::Notarize {
        proposal: &proposal,
    };
    let certificate = small.schemes[0]
        .assemble(non_empty![@votes(&small.schemes, subject)], &Sequential)
        .expect("assembles");
    assert!(!large.schemes[0].verify_certificate(
        &mut small.rng,
        subject,
        &certificate,
        &Sequential
    ));
}
