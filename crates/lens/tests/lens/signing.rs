//! Two rounds and a sum: what is refused, and who is named.

use horizon_lens::wire::Frame as _;
use horizon_lens::{
    Approval, Error, GroupKey, KeyShare, MESSAGE_LEN_MAX, MemoryLedger, Misuse, PeerFault,
    Rejected, SessionId, Signature, SignatureShare, Signer, SigningPackage, Suite, VerifyingKey,
    aggregate, verify,
};

use crate::support::{Session, copy_signer, deal, id, ids, misuse, patched, peer, sign};
use crate::vectors::group_frame;

on_every_suite!(
    l02_a_signer_refuses_another_message_set_session_or_commitment,
    l02_a_package_below_the_threshold_is_refused_everywhere,
    l03_every_signer_set_of_three_or_more_of_five_signs,
    l14_a_wrong_share_is_named_and_no_bad_signature_leaves,
    every_wrong_share_is_named_and_not_only_the_first,
    missing_duplicate_foreign_and_stray_shares_are_named,
    first_round_messages_of_strangers_and_other_sessions_are_named,
    shares_of_another_group_are_refused,
    a_signature_for_another_key_or_message_is_rejected,
    a_message_above_the_limit_is_refused,
);

fn l02_a_signer_refuses_another_message_set_session_or_commitment<S: Suite>() {
    let mut rng = horizon_testkit::rng(21);
    let (group, signers) = deal::<S>(2, 4, &mut rng);
    let chosen = [&signers[0], &signers[1], &signers[2]];
    let attempt = |rng: &mut _, alter: &dyn Fn(&mut Session<'_, S>) -> SigningPackage<S>| {
        let mut session = Session::begin(&chosen, rng);
        let package = alter(&mut session);
        let approval = Approval {
            message: b"pay 1",
            signers: &ids(&[3, 1, 2]),
        };
        let nonces = session.nonces.remove(0);
        chosen[0].sign(nonces, &package, &approval, &mut session.ledgers[0])
    };
    attempt(&mut rng, &|session| session.package(b"pay 1")).unwrap();
    let result = attempt(&mut rng, &|session| session.package(b"pay 2"));
    peer(result, PeerFault::MessageDiffers, &[]);
    let result = attempt(&mut rng, &|session| {
        session.commitments.pop();
        session.package(b"pay 1")
    });
    peer(result, PeerFault::SignersDiffer, &[]);
    let result = attempt(&mut rng, &|session| {
        // The coordinator swaps in another signer's commitments under this signer's name.
        let other = session.commitments[1].to_bytes()[4 + 36..].to_vec();
        session.commitments[0] = patched(&session.commitments[0], 4 + 36, &other);
        session.package(b"pay 1")
    });
    peer(result, PeerFault::OwnCommitmentAltered, &[]);
    let result = attempt(&mut rng, &|session| {
        let other = SessionId([0xee; 32]);
        for sent in &mut session.commitments {
            *sent = patched(sent, 4, &other.0);
        }
        SigningPackage::new(&group, other, b"pay 1", &session.commitments).unwrap()
    });
    peer(result, PeerFault::PackageSession, &[]);
}

fn l02_a_package_below_the_threshold_is_refused_everywhere<S: Suite>() {
    let mut rng = horizon_testkit::rng(22);
    let (group, signers) = deal::<S>(3, 4, &mut rng);
    let mut session = Session::begin(&[&signers[0], &signers[1]], &mut rng);
    let result = SigningPackage::new(&group, session.id, b"m", &session.commitments);
    misuse(result, Misuse::BelowThreshold);
    // The same package from a coordinator that claims another threshold.
    let mut frame = group.to_bytes();
    frame[5] = 2;
    let refused = GroupKey::<S>::from_bytes(&frame).unwrap_err();
    assert!(matches!(refused, Error::Malformed(_)), "{refused}");
    let (other, _) = deal::<S>(2, 4, &mut rng);
    let package = SigningPackage::new(&other, session.id, b"m", &session.commitments).unwrap();
    let approve = |signers| Approval {
        message: b"m",
        signers,
    };
    let nonces = session.nonces.remove(0);
    let (two, ledger) = (ids(&[1, 2]), &mut session.ledgers[0]);
    let result = signers[0].sign(nonces, &package, &approve(&two), ledger);
    misuse(result, Misuse::BelowThreshold);
    misuse(aggregate(&group, &package, &[]), Misuse::BelowThreshold);
    for (approved, fault) in [
        (ids(&[1, 2, 9]), Misuse::NotAMember),
        (ids(&[1, 2, 2]), Misuse::DuplicateIdentifier),
    ] {
        let session = Session::begin(&[&signers[0], &signers[1], &signers[2]], &mut rng);
        let package = session.package(b"m");
        let Session {
            mut nonces,
            mut ledgers,
            ..
        } = session;
        let nonces = nonces.remove(0);
        let approval = Approval {
            message: b"m",
            signers: &approved,
        };
        let result = signers[0].sign(nonces, &package, &approval, &mut ledgers[0]);
        misuse(result, fault);
    }
}

fn l03_every_signer_set_of_three_or_more_of_five_signs<S: Suite>() {
    let mut rng = horizon_testkit::rng(23);
    let (group, signers) = deal::<S>(3, 5, &mut rng);
    for mask in 0u32..1 << 5 {
        if mask.count_ones() < 3 {
            continue;
        }
        let chosen: Vec<_> = (0..5)
            .filter(|i| mask >> i & 1 == 1)
            .map(|i| &signers[i])
            .collect();
        let message = mask.to_be_bytes();
        let signature = sign(&chosen, &message, &mut rng).unwrap();
        let _verified = verify(group.verifying_key(), &message, &signature).unwrap();
    }
}

/// The share with its scalar replaced by that of `other`.
fn forged<S: Suite>(share: &SignatureShare<S>, other: &SignatureShare<S>) -> SignatureShare<S> {
    patched(share, 4 + 36, &other.to_bytes()[4 + 36..])
}

fn l14_a_wrong_share_is_named_and_no_bad_signature_leaves<S: Suite>() {
    let mut rng = horizon_testkit::rng(24);
    let (group, signers) = deal::<S>(3, 5, &mut rng);
    let session = Session::begin(&[&signers[0], &signers[2], &signers[4]], &mut rng);
    let package = session.package(b"m");
    let shares = session.shares(&package);
    for wrong in 0..3 {
        let mut shares = shares.clone();
        shares[wrong] = forged(&shares[wrong], &shares[(wrong + 1) % 3]);
        let culprit = shares[wrong].signer().get();
        let result = package.check_share(&group, &shares[wrong]);
        peer(result, PeerFault::SignatureShare, &[culprit]);
        let result = aggregate(&group, &package, &shares);
        peer(result, PeerFault::SignatureShare, &[culprit]);
    }
    let inconsistent = horizon_lens::Malformed::Inconsistent { field: "group key" };
    // A group key with one wrong verifying share would put the blame on an honest signer; it does
    // not decode.
    let key = group.verifying_key().as_bytes();
    let mut verifying: Vec<_> = (1..=5)
        .map(|n| (n, group.verifying_share(id(n)).unwrap()))
        .collect();
    assert!(GroupKey::<S>::from_bytes(&group_frame::<S>(3, key, &verifying)).is_ok());
    // Nor does one that claims more or fewer signers than its polynomial has coefficients.
    for claimed in [2, 4] {
        let frame = group_frame::<S>(claimed, key, &verifying);
        let refused = GroupKey::<S>::from_bytes(&frame).unwrap_err();
        assert_eq!(refused, inconsistent.into());
    }
    verifying[1].1 = verifying[2].1.clone();
    let refused = GroupKey::<S>::from_bytes(&group_frame::<S>(3, key, &verifying)).unwrap_err();
    assert_eq!(refused, inconsistent.into());
}

fn every_wrong_share_is_named_and_not_only_the_first<S: Suite>() {
    let mut rng = horizon_testkit::rng(25);
    let (group, signers) = deal::<S>(3, 5, &mut rng);
    let all: Vec<_> = signers.iter().collect();
    let session = Session::begin(&all, &mut rng);
    let package = session.package(b"m");
    let good = session.shares(&package);
    for mask in 1u32..1 << 5 {
        let mut shares = good.clone();
        let mut culprits = Vec::new();
        for i in (0..5).filter(|i| mask >> i & 1 == 1) {
            shares[i] = forged(&good[i], &good[(i + 1) % 5]);
            culprits.push(good[i].signer().get());
        }
        shares.rotate_left(mask as usize % 5);
        let result = aggregate(&group, &package, &shares);
        if mask == 31 {
            // Everybody sent somebody else's share: the errors cancel out, and the sum is a
            // signature.
            let _verified = verify(group.verifying_key(), b"m", &result.unwrap()).unwrap();
        } else {
            peer(result, PeerFault::SignatureShare, &culprits);
        }
    }
}

fn missing_duplicate_foreign_and_stray_shares_are_named<S: Suite>() {
    let mut rng = horizon_testkit::rng(26);
    let (group, signers) = deal::<S>(2, 5, &mut rng);
    let session = Session::begin(&[&signers[0], &signers[1], &signers[2]], &mut rng);
    let package = session.package(b"m");
    let shares = session.shares(&package);
    let try_with = |shares: &[SignatureShare<S>]| aggregate(&group, &package, shares);
    try_with(&shares).unwrap();
    peer(try_with(&shares[..1]), PeerFault::Missing, &[2, 3]);
    peer(try_with(&[]), PeerFault::Missing, &[1, 2, 3]);
    let twice = [&shares[..], &shares[1..2]].concat();
    peer(try_with(&twice), PeerFault::Duplicate, &[2]);
    let rename = |n: u32| patched(&shares[0], 4 + 32, &n.to_be_bytes());
    let foreign = [&shares[..], &[rename(4), rename(9)]].concat();
    peer(try_with(&foreign), PeerFault::Unexpected, &[4, 9]);
    let result = package.check_share(&group, &rename(4));
    peer(result, PeerFault::Unexpected, &[4]);
    let mut stray = shares.clone();
    stray[2] = patched(&stray[2], 4, &[0xaa; 32]);
    peer(try_with(&stray), PeerFault::WrongSession, &[3]);
    let result = package.check_share(&group, &stray[2]);
    peer(result, PeerFault::WrongSession, &[3]);
}

fn first_round_messages_of_strangers_and_other_sessions_are_named<S: Suite>() {
    let mut rng = horizon_testkit::rng(27);
    let (group, signers) = deal::<S>(2, 3, &mut rng);
    let session = Session::begin(&[&signers[0], &signers[1], &signers[2]], &mut rng);
    let package = |sent: &[_]| SigningPackage::new(&group, session.id, b"m", sent);
    let mut sent = session.commitments.clone();
    sent.push(session.commitments[1].clone());
    peer(package(&sent), PeerFault::Duplicate, &[2]);
    sent[3] = patched(&sent[3], 4 + 32, &77u32.to_be_bytes());
    peer(package(&sent), PeerFault::Unexpected, &[77]);
    sent.pop();
    sent[2] = patched(&sent[2], 4, &[1; 32]);
    peer(package(&sent), PeerFault::WrongSession, &[3]);
}

fn shares_of_another_group_are_refused<S: Suite>() {
    let mut rng = horizon_testkit::rng(28);
    let (group, signers) = deal::<S>(2, 3, &mut rng);
    let (other, others) = deal::<S>(2, 3, &mut rng);
    let moved = KeyShare::from_bytes(&others[0].share().to_bytes()).unwrap();
    misuse(Signer::new(moved, group.clone()), Misuse::WrongGroup);
    // The right key under another member's number.
    let mut frame = signers[0].share().to_bytes().to_vec();
    frame[4 + 5] = 2;
    let moved = KeyShare::from_bytes(&frame).unwrap();
    misuse(Signer::new(moved, group.clone()), Misuse::WrongGroup);
    // The right share with another threshold.
    let mut frame = signers[0].share().to_bytes().to_vec();
    frame[4 + 1] = 3;
    let moved = KeyShare::from_bytes(&frame).unwrap();
    misuse(Signer::new(moved, group), Misuse::WrongGroup);
    // Another share's nonces.
    let mut session = Session::begin(&[&signers[0], &signers[1]], &mut rng);
    let package = session.package(b"m");
    let approval = Approval {
        message: b"m",
        signers: &ids(&[1, 2]),
    };
    let nonces = session.nonces.remove(0);
    let result = signers[1].sign(nonces, &package, &approval, &mut session.ledgers[1]);
    misuse(result, Misuse::WrongGroup);
    // A package of one group under another: nobody's share fits.
    let session = Session::begin(&[&signers[0], &signers[1]], &mut rng);
    let package = session.package(b"m");
    let shares = session.shares(&package);
    let result = aggregate(&other, &package, &shares);
    peer(result, PeerFault::SignatureShare, &[1, 2]);
}

fn a_signature_for_another_key_or_message_is_rejected<S: Suite>() {
    let mut rng = horizon_testkit::rng(29);
    let (group, signers) = deal::<S>(2, 3, &mut rng);
    let (other, _) = deal::<S>(2, 3, &mut rng);
    let signature = sign(&[&signers[0], &signers[2]], b"m", &mut rng).unwrap();
    let rejected = Err(Error::Rejected(Rejected::Signature));
    let key = group.verifying_key();
    assert!(verify(key, b"m", &signature).is_ok());
    assert_eq!(verify(key, b"n", &signature), rejected);
    assert_eq!(verify(key, b"", &signature), rejected);
    assert_eq!(verify(other.verifying_key(), b"m", &signature), rejected);
    let reread = VerifyingKey::<S>::from_bytes(key.as_bytes()).unwrap();
    let again = Signature::<S>::from_raw(&signature.to_raw()).unwrap();
    assert!(verify(&reread, b"m", &again).is_ok());
}

fn a_message_above_the_limit_is_refused<S: Suite>() {
    let mut rng = horizon_testkit::rng(30);
    let (group, signers) = deal::<S>(2, 2, &mut rng);
    let chosen = [&signers[0], &signers[1]];
    let long = vec![7; MESSAGE_LEN_MAX + 1];
    let signature = sign(&chosen, &long[1..], &mut rng).unwrap();
    let _verified = verify(group.verifying_key(), &long[1..], &signature).unwrap();
    let session = Session::begin(&chosen, &mut rng);
    let result = SigningPackage::new(&group, session.id, &long, &session.commitments);
    misuse(result, Misuse::MessageTooLong);
}

#[test]
fn debug_output_names_no_secret() {
    let mut rng = horizon_testkit::rng(31);
    let (_, signers) = deal::<horizon_lens::ed25519::Ed25519>(2, 2, &mut rng);
    let frame = signers[0].share().to_bytes();
    let secret = horizon_testkit::vectors::to_hex(&frame[4 + 6..][..32]);
    let mut ledger = MemoryLedger::new(1);
    let (nonces, _) = signers[0]
        .commit(SessionId([1; 32]), &mut ledger, &mut rng)
        .unwrap();
    for text in [
        format!("{:?}", copy_signer(&signers[0])),
        format!("{nonces:?}"),
    ] {
        assert!(text.contains("<redacted>"), "{text}");
        assert!(!text.contains(&secret), "{text}");
    }
}
