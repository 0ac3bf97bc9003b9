//! The trusted dealer.

use horizon_pulsar::{
    Error, Suite,
    dealer::{Ceremony, Deal, MemberShare, Package, Variant, deal, pair_confirmation},
    error::{Malformed, Misuse},
    secret::SecretPolys,
    shamir::recover,
    signers::{Quorum, SignerSet},
};
use horizon_ring::{NttPoly, dot, modulus, ntt};
use horizon_testkit::mutate;

/// A key generation for threshold `t`.
pub(crate) fn ceremony(t: u16) -> Ceremony<'static> {
    Ceremony {
        variant: Variant::Dkg,
        chain_id: &[1; 32],
        network_id: 1,
        group_id: 0,
        suite: Suite::PulsarSha3,
        era: 7,
        old_generation: 0,
        new_generation: 0,
        old_set_hash: [0; 32],
        new_set_hash: [3; 32],
        old_threshold: 0,
        new_threshold: t.into(),
        group_key_hash: [0; 32],
        opening_block_hash: [6; 32],
        attempt: 0,
    }
}

pub(crate) fn dealt(t: u16, n: u16, seed: u64) -> Deal {
    let quorum = Quorum::new(t, n).unwrap();
    deal(&ceremony(t), quorum, &mut horizon_testkit::rng(seed)).unwrap()
}

/// The share of a member as an object of its own.
fn share_of(member: &MemberShare) -> SecretPolys {
    SecretPolys::new(member.share().to_vec())
}

#[test]
fn any_threshold_of_shares_gives_one_short_secret_that_fits_the_group_key() {
    for (t, n, sets) in [
        (1, 1, vec![vec![0]]),
        (2, 3, vec![vec![0, 1], vec![0, 2], vec![1, 2]]),
        (3, 5, vec![vec![0, 2, 4], vec![1, 2, 3]]),
        (5, 5, vec![vec![0, 1, 2, 3, 4]]),
    ] {
        let Deal {
            group_key,
            record,
            packages,
        } = dealt(t, n, 11);
        let members: Vec<MemberShare> = packages
            .into_iter()
            .map(|package| package.accept(&record).unwrap())
            .collect();
        let quorum = Quorum::new(t, n).unwrap();
        for set in sets {
            let signers = SignerSet::new(&set, quorum).unwrap();
            let shares: Vec<SecretPolys> = set
                .iter()
                .map(|&i| share_of(&members[usize::from(i)]))
                .collect();
            let secret = recover(&signers, &shares.iter().collect::<Vec<_>>()).unwrap();
            let short = |poly: &horizon_ring::Poly| {
                poly.as_array()
                    .iter()
                    .all(|&v| modulus::centered(v).abs() <= 58)
            };
            assert!(secret.polys().iter().all(short), "({t}, {n}) {set:?}");
            // b - A s is short, up to the bits that were rounded away.
            let s: Vec<NttPoly> = secret.polys().iter().map(ntt::forward).collect();
            for (row, b) in group_key
                .a_scaled(modulus::R64_TO_R52)
                .chunks(7)
                .zip(group_key.b_tilde())
            {
                let terms: Vec<_> = row.iter().zip(&s).map(|(a, s)| dot::term(a, s)).collect();
                let product = ntt::inverse(&dot::dot(&terms));
                for (&v, &b) in product.as_array().iter().zip(b.as_array()) {
                    let error = modulus::centered(modulus::sub(b << 30, v));
                    assert!(error.abs() <= (1 << 29) + 58);
                }
            }
        }
    }
}

#[test]
fn rows_agree_at_each_others_points_and_receipts_match() {
    let Deal {
        record, packages, ..
    } = dealt(3, 4, 12);
    let members: Vec<MemberShare> = packages
        .into_iter()
        .map(|package| package.accept(&record).unwrap())
        .collect();
    for a in &members {
        for b in &members {
            let (i, j) = (a.position(), b.position());
            assert!(a.cross_value(j).polys() == b.cross_value(i).polys());
            assert_eq!(a.receipt(j), b.receipt(i));
            assert_eq!(record.cross_leaf(i, j), Some(&a.cross_leaf(j)));
            assert_eq!(a.pair_seed(j), b.pair_seed(i));
            assert_eq!(a.pair_seed(j).is_none(), i == j);
            if let Some(seed) = a.pair_seed(j) {
                let pair = (i.min(j), i.max(j));
                let confirm = pair_confirmation(a.ceremony(), pair, seed);
                let other = pair_confirmation(b.ceremony(), pair, b.pair_seed(i).unwrap());
                assert_eq!(confirm, other);
            }
        }
    }
    assert_eq!(
        (record.point_leaves.len(), record.cross_leaves.len()),
        (4, 10)
    );
    assert_eq!(record.cross_leaf(0, 4), None);
}

#[test]
fn seeds_differ_between_pairs_and_dealings_differ_between_seeds() {
    let first = dealt(2, 4, 13);
    let mut seen = std::collections::BTreeSet::new();
    for (i, package) in first.packages.into_iter().enumerate() {
        let member = package.accept(&first.record).unwrap();
        for j in i as u16 + 1..4 {
            assert!(seen.insert(*member.pair_seed(j).unwrap()));
        }
    }
    let second = dealt(2, 4, 14);
    assert_ne!(first.group_key, second.group_key);
    // The matrix is a function of the ceremony alone.
    let a = |deal: &horizon_pulsar::GroupKey| deal.as_bytes()[..115_656].to_vec();
    assert_eq!(a(&first.group_key), a(&second.group_key));
}

#[test]
fn a_package_that_the_record_does_not_describe_is_refused() {
    let first = dealt(2, 3, 15);
    let second = dealt(2, 3, 16);
    for package in first.packages {
        let refused = package.accept(&second.record).map(drop);
        assert_eq!(refused, Err(Error::Misuse(Misuse::WrongGroup)));
    }
}

#[test]
fn a_package_has_the_published_size() {
    let lens: Vec<usize> = dealt(3, 4, 17)
        .packages
        .iter()
        .map(Package::to_plaintext)
        .map(|p| p.len())
        .collect();
    // Sealing adds 1,136 bytes: 48,208 in all.
    assert_eq!(lens, [47_072; 4]);
}

#[test]
fn a_ceremony_that_does_not_generate_this_key_is_refused() {
    let quorum = Quorum::new(2, 3).unwrap();
    let mut rng = horizon_testkit::rng(18);
    for wrong in [
        ceremony(3),
        Ceremony {
            variant: Variant::Reshare,
            ..ceremony(2)
        },
        Ceremony {
            group_key_hash: [1; 32],
            ..ceremony(2)
        },
        Ceremony {
            old_threshold: 2,
            ..ceremony(2)
        },
    ] {
        let refused = deal(&wrong, quorum, &mut rng).map(drop);
        assert_eq!(refused, Err(Error::Misuse(Misuse::WrongGroup)));
    }
}

#[test]
fn member_shares_survive_their_encoding_and_nothing_else_decodes() {
    let Deal {
        record, packages, ..
    } = dealt(2, 3, 19);
    for package in packages {
        let member = package.accept(&record).unwrap();
        let bytes = member.to_bytes();
        let again = MemberShare::from_bytes(&bytes).unwrap();
        assert_eq!(*again.to_bytes(), *bytes);
        assert_eq!(again.share(), member.share());
        for mutant in mutate::wrong_lengths(&bytes, 40) {
            let error = MemberShare::from_bytes(&mutant.bytes)
                .map(drop)
                .unwrap_err();
            let length = matches!(
                error,
                Error::Malformed(Malformed::Short { .. } | Malformed::Trailing { .. })
            );
            assert!(length, "{error:?}");
        }
    }
}

#[test]
fn member_shares_with_fields_out_of_range_do_not_decode() {
    let Deal {
        record,
        mut packages,
        ..
    } = dealt(2, 3, 20);
    let bytes = packages.remove(0).accept(&record).unwrap().to_bytes();
    let decode = |at: usize, value: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[at..at + value.len()].copy_from_slice(value);
        MemberShare::from_bytes(&bytes).map(drop).unwrap_err()
    };
    let field = "member share";
    assert_eq!(decode(0, b"PLKS"), Malformed::Magic { field }.into());
    assert_eq!(decode(4, &[0, 2]), Malformed::Version { field }.into());
    assert_eq!(decode(6, &[0, 3]), Malformed::Value { field }.into());
    assert_eq!(decode(8, &[0, 0]), Malformed::Value { field }.into());
    assert_eq!(decode(10, &[0, 0]), Malformed::Value { field }.into());
    assert_eq!(decode(10, &[0, 4]), Malformed::Value { field }.into());
    assert_eq!(decode(12, &[0, 9]), Malformed::Suite.into());
    let max = horizon_ring::Q - 1;
    assert_eq!(
        decode(78, &[0xff; 7]),
        Malformed::Range { field, max }.into()
    );
}
