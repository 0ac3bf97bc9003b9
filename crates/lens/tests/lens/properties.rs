//! Random committees, thresholds, signer sets and faults.

use horizon_lens::{
    Committee, Error, Identifier, Misuse, PeerFault, Signer, SigningPackage, Suite, aggregate,
    verify,
};
use horizon_testkit::SeededRng;

use crate::support::{DkgRun, Session, deal, misuse, patched, refreshed, sign};

on_every_suite!(
    any_t_of_any_n_sign_and_fewer_cannot,
    exactly_the_wrong_shares_are_named,
    keys_live_through_generation_and_refreshes,
);

/// `count` of `all`, in random order.
fn some<'a, T>(all: &'a [T], count: usize, rng: &mut SeededRng) -> Vec<&'a T> {
    let mut pool: Vec<&T> = all.iter().collect();
    (0..count)
        .map(|_| pool.swap_remove(rng.index(pool.len())))
        .collect()
}

fn size(rng: &mut SeededRng, min: u16, max: u16) -> u16 {
    min + u16::try_from(rng.below(u64::from(max - min) + 1)).unwrap()
}

fn any_t_of_any_n_sign_and_fewer_cannot<S: Suite>() {
    let mut rng = horizon_testkit::rng(91);
    for _ in 0..12 {
        let n = size(&mut rng, 2, 9);
        let t = size(&mut rng, 2, n);
        let (group, signers) = deal::<S>(t, n, &mut rng);
        let count = usize::from(size(&mut rng, t, n));
        let len = rng.index(100);
        let message = rng.vec(len);
        let chosen = some(&signers, count, &mut rng);
        let signature = sign(&chosen, &message, &mut rng).unwrap();
        let _verified = verify(group.verifying_key(), &message, &signature).unwrap();
        let few = some(&signers, usize::from(t) - 1, &mut rng);
        let session = Session::begin(&few, &mut rng);
        let result = SigningPackage::new(&group, session.id, &message, &session.commitments);
        misuse(result, Misuse::BelowThreshold);
    }
}

fn exactly_the_wrong_shares_are_named<S: Suite>() {
    let mut rng = horizon_testkit::rng(92);
    for _ in 0..12 {
        let n = size(&mut rng, 2, 7);
        let t = size(&mut rng, 2, n);
        let (group, signers) = deal::<S>(t, n, &mut rng);
        let session = Session::begin(&some(&signers, usize::from(t), &mut rng), &mut rng);
        let package = session.package(b"m");
        let mut shares = session.shares(&package);
        let mut culprits: Vec<Identifier> = Vec::new();
        for share in &mut shares {
            if rng.below(2) == 0 {
                // In the middle, so that it stays below every order; random, so that no two cancel
                // out.
                *share = patched(share, 4 + 36 + 12, &rng.bytes::<8>());
                culprits.push(share.signer());
            }
        }
        culprits.sort_unstable();
        match aggregate(&group, &package, &shares) {
            Ok(signature) => {
                assert!(culprits.is_empty());
                let _verified = verify(group.verifying_key(), b"m", &signature).unwrap();
            }
            Err(error) => {
                assert_eq!(error.culprits(), culprits);
                assert!(
                    matches!(error, Error::Peer(peer) if peer.fault == PeerFault::SignatureShare)
                );
            }
        }
    }
}

fn keys_live_through_generation_and_refreshes<S: Suite>() {
    let mut rng = horizon_testkit::rng(93);
    for _ in 0..4 {
        let n = size(&mut rng, 2, 6);
        let t = size(&mut rng, 2, n);
        let mut numbers: Vec<u16> = Vec::new();
        while numbers.len() < usize::from(n) {
            let number = size(&mut rng, 1, 1000);
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        let members: Vec<_> = numbers
            .iter()
            .map(|number| Identifier::new(*number).unwrap())
            .collect();
        let committee = Committee::new(t, &members).unwrap();
        let mut signers = DkgRun::<S>::begin(&committee, &mut rng).finish();
        let key = signers[0].group().verifying_key().clone();
        while signers.len() >= usize::from(t) {
            let chosen: Vec<&Signer<S>> = some(&signers, usize::from(t), &mut rng);
            let signature = sign(&chosen, b"m", &mut rng).unwrap();
            let _verified = verify(&key, b"m", &signature).unwrap();
            if signers.len() == usize::from(t) {
                break;
            }
            let leaver = rng.index(signers.len());
            let remaining: Vec<_> = signers
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != leaver)
                .map(|(_, signer)| signer)
                .collect();
            signers = refreshed(&remaining, &mut rng);
        }
    }
}
