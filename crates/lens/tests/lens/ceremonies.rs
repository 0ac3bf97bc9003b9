//! Key generation, refresh and repair: what comes out, who is named, and what no party can do.

use horizon_lens::dealer::DealtShare;
use horizon_lens::refresh::DealtUpdate;
use horizon_lens::repair::{Delta, Repair, Sigma};
use horizon_lens::wire::Frame as _;
use horizon_lens::{
    CeremonyId, Committee, Error, GroupKey, KeyShare, Malformed, Misuse, PeerFault, Rejected,
    Signer, Suite, dealer, dkg, refresh, verify,
};
use horizon_testkit::SeededRng;

use crate::support::{
    DkgRun, addressed, copy, copy_signer, deal, id, ids, misuse, patched, peer,
    refresh_until_shares, refreshed, sign, without,
};

on_every_suite!(
    key_generation_gives_everybody_one_group_and_shares_that_sign,
    l07_contributions_without_their_secret_are_named,
    l07_two_stories_end_the_ceremony_before_any_secret_leaves,
    wrong_secret_shares_are_named_all_of_them,
    first_round_senders_are_checked_by_name,
    secret_packages_are_checked_by_name,
    a_polynomial_of_another_degree_is_named,
    key_generation_checks_its_parameters,
    l08_refresh_keeps_the_key_and_changes_every_share,
    l08_a_refresh_that_shifts_a_share_names_its_author,
    refresh_can_leave_members_out_and_cannot_take_any_in,
    refresh_by_a_dealer_checks_share_and_group,
    l18_zero_shares_are_refused,
    a_dealer_that_cheats_is_found_out,
    repair_gives_the_same_share_back,
    repair_refuses_lies_and_makes_no_new_members,
);

/// Offset of the scalar in a secret package: header, ceremony, two identifiers.
const SECRET_AT: usize = 4 + 32 + 8;
/// Offset of a sender's identifier behind a ceremony.
const SENDER_AT: usize = 4 + 32;

fn key_generation_gives_everybody_one_group_and_shares_that_sign<S: Suite>() {
    let mut rng = horizon_testkit::rng(51);
    for (t, members) in [(2, ids(&[1, 2])), (3, ids(&[2, 9, 300, 65_535]))] {
        let committee = Committee::new(t, &members).unwrap();
        let signers = DkgRun::<S>::begin(&committee, &mut rng).finish();
        for signer in &signers {
            assert_eq!(signer.group(), signers[0].group());
            assert_eq!(&copy(signer.group()), signer.group(), "it is consistent");
        }
        let chosen: Vec<_> = signers.iter().rev().take(usize::from(t)).collect();
        let signature = sign(&chosen, b"m", &mut rng).unwrap();
        let _verified = verify(signers[0].group().verifying_key(), b"m", &signature).unwrap();
    }
}

fn l07_contributions_without_their_secret_are_named<S: Suite>() {
    let mut rng = horizon_testkit::rng(52);
    let committee = Committee::numbered(2, 4).unwrap();
    let mut run = DkgRun::<S>::begin(&committee, &mut rng);
    // Members 2 and 4 wait for member 1 and send its commitment and proof as their own.
    for copycat in [2u32, 4] {
        let copied = patched(&run.round1[0], SENDER_AT, &copycat.to_be_bytes());
        run.round1[copycat as usize - 1] = copied;
    }
    let state = run.states.swap_remove(2);
    let result = state.receive(&without(&run.round1, 2));
    peer(result, PeerFault::ProofOfKnowledge, &[2, 4]);
}

fn l07_two_stories_end_the_ceremony_before_any_secret_leaves<S: Suite>() {
    let mut rng = horizon_testkit::rng(53);
    let committee = Committee::numbered(2, 3).unwrap();
    let mut run = DkgRun::<S>::begin(&committee, &mut rng);
    let other = DkgRun::<S>::begin(&committee, &mut rng);
    // Member 1 tells member 3 something else; both stories are well-formed and proved.
    let honest = run.round1.clone();
    let mut split = run.round1.clone();
    split[0] = other.round1[0].clone();
    let third = run.states.pop().unwrap();
    let second = run.states.pop().unwrap();
    let first = run.states.pop().unwrap();
    let (third, third_echo) = third.receive(&without(&split, 2)).unwrap();
    let (second, second_echo) = second.receive(&without(&honest, 1)).unwrap();
    let (_, first_echo) = first.receive(&without(&honest, 0)).unwrap();
    let result = second.receive(&[first_echo, third_echo]);
    peer(result, PeerFault::ViewsDiffer, &[3]);
    let result = third.receive(&[first_echo, second_echo]);
    peer(result, PeerFault::ViewsDiffer, &[1, 2]);
}

fn wrong_secret_shares_are_named_all_of_them<S: Suite>() {
    let mut rng = horizon_testkit::rng(54);
    let committee = Committee::numbered(3, 5).unwrap();
    let (mut sharing, sent) = DkgRun::<S>::begin(&committee, &mut rng).share();
    let mut mine = addressed(&sent, id(1));
    let scalar = |package: &dkg::SecretPackage<S>| package.to_bytes()[SECRET_AT..].to_vec();
    let (of_second, of_third) = (scalar(&mine[0]), scalar(&mine[1]));
    mine[0] = patched(&mine[0], SECRET_AT, &of_third);
    mine[3] = patched(&mine[3], SECRET_AT, &of_second);
    let result = sharing.swap_remove(0).finish(&mine);
    peer(result, PeerFault::SecretShare, &[2, 5]);
}

fn first_round_senders_are_checked_by_name<S: Suite>() {
    let committee = Committee::numbered(2, 4).unwrap();
    let attempt = |alter: &dyn Fn(&mut Vec<dkg::Round1Package<S>>)| {
        let mut run = DkgRun::<S>::begin(&committee, &mut horizon_testkit::rng(55));
        let own = run.round1.remove(0);
        alter(&mut run.round1);
        if run.round1.is_empty() {
            run.round1.push(own);
        }
        run.states.remove(0).receive(&run.round1)
    };
    let rename =
        |package: &dkg::Round1Package<S>, n: u32| patched(package, SENDER_AT, &n.to_be_bytes());
    attempt(&|_| ()).unwrap();
    let result = attempt(&|all| drop(all.remove(1)));
    peer(result, PeerFault::Missing, &[3]);
    let result = attempt(&|all| all.push(all[1].clone()));
    peer(result, PeerFault::Duplicate, &[3]);
    let result = attempt(&|all| all[1] = rename(&all[1], 9));
    peer(result, PeerFault::Unexpected, &[9]);
    let result = attempt(&|all| all[2] = patched(&all[2], 4, &[0xcc; 32]));
    peer(result, PeerFault::WrongSession, &[4]);
    misuse(attempt(&|all| all.clear()), Misuse::OwnMessage);
    // Echoes pass the same checks.
    let attempt = |alter: &dyn Fn(&mut Vec<dkg::Echo<S>>)| {
        let run = DkgRun::<S>::begin(&committee, &mut horizon_testkit::rng(55));
        let (mut states, echoes) = run.echo();
        let mut echoes = without(&echoes, 0);
        alter(&mut echoes);
        states.remove(0).receive(&echoes)
    };
    attempt(&|_| ()).unwrap();
    let result = attempt(&|all| all.truncate(2));
    peer(result, PeerFault::Missing, &[4]);
    let result = attempt(&|all| all.push(all[0]));
    peer(result, PeerFault::Duplicate, &[2]);
    let result = attempt(&|all| all[0] = patched(&all[0], 4, &[0xcc; 32]));
    peer(result, PeerFault::WrongSession, &[2]);
    let result = attempt(&|all| {
        all[2] = patched(&all[2], 4 + 36, &[0xcc; 32]);
        assert_eq!(all[2].digest(), &[0xcc; 32]);
    });
    peer(result, PeerFault::ViewsDiffer, &[4]);
}

fn secret_packages_are_checked_by_name<S: Suite>() {
    let committee = Committee::numbered(2, 3).unwrap();
    let attempt = |alter: &dyn Fn(&mut Vec<dkg::SecretPackage<S>>)| {
        let run = DkgRun::<S>::begin(&committee, &mut horizon_testkit::rng(56));
        let (mut sharing, sent) = run.share();
        let mut mine = addressed(&sent, id(1));
        alter(&mut mine);
        sharing.remove(0).finish(&mine)
    };
    attempt(&|_| ()).unwrap();
    let result = attempt(&|mine| drop(mine.pop()));
    peer(result, PeerFault::Missing, &[3]);
    let result = attempt(&|mine| mine.push(copy(&mine[0])));
    peer(result, PeerFault::Duplicate, &[2]);
    let result = attempt(&|mine| mine[0] = patched(&mine[0], SENDER_AT, &8u32.to_be_bytes()));
    peer(result, PeerFault::Unexpected, &[8]);
    let result = attempt(&|mine| mine[0] = patched(&mine[0], 4, &[1; 32]));
    peer(result, PeerFault::WrongSession, &[2]);
    let result = attempt(&|mine| mine[1] = patched(&mine[1], SENDER_AT + 4, &2u32.to_be_bytes()));
    peer(result, PeerFault::WrongRecipient, &[3]);
    let result = attempt(&|mine| mine[1] = patched(&mine[1], SENDER_AT, &1u32.to_be_bytes()));
    misuse(result, Misuse::OwnMessage);
}

fn a_polynomial_of_another_degree_is_named<S: Suite>() {
    let mut rng = horizon_testkit::rng(57);
    let mut run = DkgRun::<S>::begin(&Committee::numbered(2, 4).unwrap(), &mut rng);
    let higher = DkgRun::<S>::begin(&Committee::numbered(3, 4).unwrap(), &mut rng);
    run.round1[1] = higher.round1[1].clone();
    run.round1[3] = higher.round1[3].clone();
    let result = run.states.remove(0).receive(&without(&run.round1, 0));
    peer(result, PeerFault::Degree, &[2, 4]);
}

fn key_generation_checks_its_parameters<S: Suite>() {
    let mut rng = horizon_testkit::rng(58);
    let committee = Committee::numbered(2, 3).unwrap();
    let ceremony = CeremonyId([0; 32]);
    let result = dkg::begin::<S, _>(ceremony, id(4), &committee, &mut rng);
    misuse(result, Misuse::NotAMember);
    let (_, signers) = deal::<S>(3, 4, &mut rng);
    let mut begin = |signer: &Signer<S>, remaining: &[u16]| {
        refresh::begin(ceremony, signer, &ids(remaining), &mut rng)
    };
    begin(&signers[0], &[1, 2, 3]).unwrap();
    misuse(begin(&signers[0], &[2, 3, 4]), Misuse::NotAMember);
    misuse(begin(&signers[0], &[1, 2, 3, 5]), Misuse::NotAMember);
    misuse(begin(&signers[0], &[1, 2]), Misuse::Threshold);
    misuse(begin(&signers[0], &[1]), Misuse::MemberCount);
    misuse(begin(&signers[0], &[1, 2, 2]), Misuse::DuplicateIdentifier);
}

fn l08_refresh_keeps_the_key_and_changes_every_share<S: Suite>() {
    let mut rng = horizon_testkit::rng(59);
    let (group, old) = deal::<S>(2, 3, &mut rng);
    let new = refreshed(&old.iter().collect::<Vec<_>>(), &mut rng);
    let common = new[0].group();
    for (old, new) in old.iter().zip(&new) {
        assert_eq!(new.group(), common);
        assert_eq!(new.group().verifying_key(), group.verifying_key());
        assert_eq!(&copy(new.group()), new.group(), "it is consistent");
        assert_ne!(new.share().verifying_share(), old.share().verifying_share());
        assert_ne!(new.share().id(), old.share().id());
    }
    let signature = sign(&[&new[0], &new[2]], b"m", &mut rng).unwrap();
    let _verified = verify(group.verifying_key(), b"m", &signature).unwrap();
    // Old shares do not fit the new group, and an old one among new ones is named.
    misuse(
        Signer::new(copy(old[0].share()), new[0].group().clone()),
        Misuse::WrongGroup,
    );
    let result = sign(&[&new[1], &old[2]], b"m", &mut rng);
    peer(result, PeerFault::SignatureShare, &[3]);
}

fn l08_a_refresh_that_shifts_a_share_names_its_author<S: Suite>() {
    let mut rng = horizon_testkit::rng(60);
    let (_, signers) = deal::<S>(3, 4, &mut rng);
    let all: Vec<_> = signers.iter().collect();
    let (mut sharing, sent) = refresh_until_shares(&all, &mut rng);
    let mut mine: Vec<_> = sent.iter().filter(|p| p.to() == id(1)).map(copy).collect();
    let scalar = |n: usize| mine[n].to_bytes()[SECRET_AT..].to_vec();
    let (second, third) = (scalar(0), scalar(1));
    mine[0] = patched(&mine[0], SECRET_AT, &third);
    mine[1] = patched(&mine[1], SECRET_AT, &second);
    let result = sharing.remove(0).finish(&signers[0], &mine);
    peer(result, PeerFault::SecretShare, &[2, 3]);
}

fn refresh_can_leave_members_out_and_cannot_take_any_in<S: Suite>() {
    let mut rng = horizon_testkit::rng(61);
    let (group, old) = deal::<S>(2, 4, &mut rng);
    let new = refreshed(&[&old[0], &old[1], &old[3]], &mut rng);
    assert_eq!(new[0].group().committee().members(), ids(&[1, 2, 4]));
    let signature = sign(&[&new[1], &new[2]], b"m", &mut rng).unwrap();
    let _verified = verify(group.verifying_key(), b"m", &signature).unwrap();
    let result = Signer::new(copy(old[2].share()), new[0].group().clone());
    misuse(result, Misuse::WrongGroup);
    // A refresh of another group, or with another signer than it began with.
    let (_, others) = deal::<S>(2, 4, &mut rng);
    let (mut sharing, sent) = refresh_until_shares(&[&old[0], &old[1]], &mut rng);
    let mine: Vec<_> = sent.iter().filter(|p| p.to() == id(1)).map(copy).collect();
    let result = sharing.remove(0).finish(&others[0], &mine);
    misuse(result, Misuse::WrongGroup);
}

fn refresh_by_a_dealer_checks_share_and_group<S: Suite>() {
    let mut rng = horizon_testkit::rng(62);
    let (group, old) = deal::<S>(2, 3, &mut rng);
    let (next, updates) = refresh::deal(&group, &ids(&[3, 1]), &mut rng).unwrap();
    assert_eq!(&copy(&next), &next, "it is consistent");
    let again = |n: usize| copy(&updates[n]);
    let new = again(0).apply(&old[0], &next).unwrap();
    let third = again(1).apply(&old[2], &next).unwrap();
    let signature = sign(&[&new, &third], b"m", &mut rng).unwrap();
    let _verified = verify(group.verifying_key(), b"m", &signature).unwrap();
    misuse(again(0).apply(&old[2], &next), Misuse::WrongGroup);
    let rejected = |result: Result<Signer<S>, Error>, why| {
        assert_eq!(result.unwrap_err(), Error::Rejected(why));
    };
    let (other_next, _) = refresh::deal(&group, &ids(&[3, 1]), &mut rng).unwrap();
    rejected(again(0).apply(&old[0], &other_next), Rejected::DealtGroup);
    rejected(again(0).apply(&old[0], &group), Rejected::DealtGroup);
    let (stranger, _) = deal::<S>(2, 3, &mut rng);
    rejected(again(0).apply(&old[0], &stranger), Rejected::DealtGroup);
    let scalar = again(1).to_bytes()[8..40].to_vec();
    let forged: DealtUpdate<S> = patched(&again(0), 8, &scalar);
    rejected(forged.apply(&old[0], &next), Rejected::DealtShare);
    let higher = refresh::deal(&deal::<S>(3, 3, &mut rng).0, &ids(&[1, 2, 3]), &mut rng);
    let higher = copy(&higher.unwrap().1[0]);
    rejected(higher.apply(&old[0], &next), Rejected::DealtShare);
    let result = refresh::deal(&group, &ids(&[1]), &mut rng);
    misuse(result, Misuse::MemberCount);
    let result = refresh::deal(&group, &ids(&[1, 4]), &mut rng);
    misuse(result, Misuse::NotAMember);
}

fn l18_zero_shares_are_refused<S: Suite>() {
    let mut rng = horizon_testkit::rng(63);
    let committee = Committee::numbered(2, 2).unwrap();
    let (group, dealt) = dealer::deal::<S, _>(&committee, &mut rng).unwrap();
    let zero = Error::Malformed(Malformed::Scalar { field: "share" });
    let mut frame = dealt[0].to_bytes().to_vec();
    frame[8..40].fill(0);
    assert_eq!(DealtShare::<S>::from_bytes(&frame).unwrap_err(), zero);
    let mut frame = copy(&dealt[0])
        .into_key_share(&group)
        .unwrap()
        .to_bytes()
        .to_vec();
    frame[10..42].fill(0);
    assert_eq!(KeyShare::<S>::from_bytes(&frame).unwrap_err(), zero);
}

fn a_dealer_that_cheats_is_found_out<S: Suite>() {
    let mut rng = horizon_testkit::rng(64);
    let committee = Committee::numbered(2, 3).unwrap();
    let (group, dealt) = dealer::deal::<S, _>(&committee, &mut rng).unwrap();
    let (other, _) = dealer::deal::<S, _>(&committee, &mut rng).unwrap();
    let rejected = |result: Result<KeyShare<S>, Error>, why| {
        assert_eq!(result.unwrap_err(), Error::Rejected(why));
    };
    rejected(copy(&dealt[0]).into_key_share(&other), Rejected::DealtGroup);
    let scalar = dealt[1].to_bytes()[8..40].to_vec();
    let forged = patched(&dealt[0], 8, &scalar);
    rejected(forged.into_key_share(&group), Rejected::DealtShare);
    let renamed = patched(&dealt[0], 4, &2u32.to_be_bytes());
    rejected(renamed.into_key_share(&group), Rejected::DealtShare);
    let stranger = patched(&dealt[0], 4, &7u32.to_be_bytes());
    rejected(stranger.into_key_share(&group), Rejected::DealtShare);
}

fn helped<S: Suite>(
    repair: &Repair<S>,
    helpers: &[&Signer<S>],
    rng: &mut SeededRng,
) -> Vec<Sigma<S>> {
    let deltas: Vec<Delta<S>> = helpers
        .iter()
        .flat_map(|helper| repair.deltas(helper, rng).unwrap())
        .collect();
    let sigma = |helper: &&Signer<S>| {
        let mine = deltas.iter().filter(|d| d.to() == helper.identifier());
        let mine: Vec<_> = mine.map(copy).collect();
        repair.sigma(helper, &mine).unwrap()
    };
    helpers.iter().map(sigma).collect()
}

fn repair_gives_the_same_share_back<S: Suite>() {
    let mut rng = horizon_testkit::rng(65);
    let (group, signers) = deal::<S>(2, 4, &mut rng);
    for helpers in [&[0usize, 2][..], &[3, 0, 2]] {
        let helpers: Vec<_> = helpers.iter().map(|i| &signers[*i]).collect();
        let names: Vec<_> = helpers.iter().map(|s| s.identifier()).collect();
        let repair = Repair::new(CeremonyId([8; 32]), &group, id(2), &names).unwrap();
        let sigmas = helped(&repair, &helpers, &mut rng);
        let recovered = repair.recover(&sigmas).unwrap();
        assert_eq!(recovered.share().to_bytes(), signers[1].share().to_bytes());
    }
}

fn repair_refuses_lies_and_makes_no_new_members<S: Suite>() {
    let mut rng = horizon_testkit::rng(66);
    let (group, signers) = deal::<S>(2, 4, &mut rng);
    let plan =
        |lost, helpers: &[u16]| Repair::new(CeremonyId([8; 32]), &group, id(lost), &ids(helpers));
    misuse(plan(5, &[1, 2]), Misuse::NotAMember);
    misuse(plan(2, &[1, 7]), Misuse::NotAMember);
    misuse(plan(2, &[1, 2]), Misuse::SelfRepair);
    misuse(plan(2, &[1]), Misuse::BelowThreshold);
    misuse(plan(2, &[1, 1]), Misuse::DuplicateIdentifier);
    let repair = plan(2, &[1, 3]).unwrap();
    misuse(repair.deltas(&signers[3], &mut rng), Misuse::NotAMember);
    let (_, strangers) = deal::<S>(2, 4, &mut rng);
    misuse(repair.deltas(&strangers[0], &mut rng), Misuse::WrongGroup);

    let helpers = [&signers[0], &signers[2]];
    let mut sigmas = helped(&repair, &helpers, &mut rng);
    let of_first = sigmas[0].to_bytes()[44..].to_vec();
    let honest = copy(&sigmas[1]);
    sigmas[1] = patched(&sigmas[1], 44, &of_first);
    let lied = repair.recover(&sigmas).unwrap_err();
    assert_eq!(lied, Error::Rejected(Rejected::RepairedShare));
    sigmas[1] = honest;
    repair.recover(&sigmas).unwrap();
    peer(repair.recover(&sigmas[..1]), PeerFault::Missing, &[3]);
    sigmas.push(copy(&sigmas[0]));
    peer(repair.recover(&sigmas), PeerFault::Duplicate, &[1]);
    sigmas[2] = patched(&sigmas[2], 4 + 36, &4u32.to_be_bytes());
    peer(repair.recover(&sigmas), PeerFault::Unexpected, &[4]);
    sigmas.pop();
    sigmas[0] = patched(&sigmas[0], 4 + 32, &4u32.to_be_bytes());
    peer(repair.recover(&sigmas), PeerFault::WrongSession, &[1]);

    let deltas = repair.deltas(&signers[0], &mut rng).unwrap();
    let others = repair.deltas(&signers[2], &mut rng).unwrap();
    let astray = [copy(&deltas[1]), copy(&others[0])];
    let result = repair.sigma(&signers[0], &astray);
    peer(result, PeerFault::WrongRecipient, &[1]);
    let result = repair.sigma(&signers[0], &astray[1..]);
    peer(result, PeerFault::Missing, &[1]);
    let copied = copy_signer(&signers[0]);
    repair
        .sigma(&copied, &[copy(&deltas[0]), copy(&others[0])])
        .unwrap();
    let same: GroupKey<S> = copy(&group);
    assert_eq!(same, group);
}
