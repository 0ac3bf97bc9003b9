use horizon_sig::mldsa::ParameterSet;
use horizon_testkit::SeededRng;

use super::*;

fn keys() -> Vec<SigningKey> {
    (0..3_u8)
        .map(|index| SigningKey::from_seed(ParameterSet::MlDsa65, &[index; 32]).unwrap())
        .collect()
}

/// A life that began at `height`, after twice as many announcements.
fn witness(me: u16, boot: u64, name: u8, height: u64) -> Witness {
    let fence = Fence {
        boot,
        incarnation: [name; 32],
    };
    let keys = keys()
        .iter()
        .map(|key| key.verifying_key().clone())
        .collect();
    Witness::new(me, fence, height, 2 * height, [9; 32], keys)
}

/// An announcement at `height`, with twice that as its number.
fn announce(me: u16, boot: u64, name: u8, height: u64) -> BootAnnouncement {
    numbered(me, boot, name, height, 2 * height)
}

fn numbered(me: u16, boot: u64, name: u8, height: u64, number: u64) -> BootAnnouncement {
    let key = &keys()[usize::from(me)];
    witness(me, boot, name, 0)
        .announce(key, height, number, &mut SeededRng::new(1))
        .unwrap()
}

fn fence(boot: u64, name: u8) -> Option<Fence> {
    Some(Fence {
        boot,
        incarnation: [name; 32],
    })
}

#[test]
fn both_records_must_be_of_the_same_time() {
    assert_eq!(agree(None, None), Ok(0));
    assert_eq!(agree(fence(1, 1), None), Ok(1));
    assert_eq!(agree(fence(4, 1), fence(4, 1)), Ok(4));
    assert_eq!(agree(fence(5, 2), fence(4, 1)), Ok(5));
    for (inside, beside) in [
        (None, fence(1, 1)),
        (fence(2, 1), None),
        (fence(4, 1), fence(4, 2)),
        (fence(4, 1), fence(5, 1)),
        (fence(6, 1), fence(4, 1)),
    ] {
        assert!(agree(inside, beside).is_err(), "{inside:?} {beside:?}");
    }
}

#[test]
fn every_start_takes_the_next_number_and_a_new_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boot");
    let guard = Guard::create_file(&folder.path().join("signer.redb"), &[1; 32]).unwrap();
    let mut rng = SeededRng::new(2);
    let first = begin(&guard, &path, &mut rng).unwrap();
    let second = begin(&guard, &path, &mut rng).unwrap();
    assert_eq!((first.boot, second.boot), (1, 2));
    assert_ne!(first.incarnation, second.incarnation);
    // An old copy of the file beside a newer guard, two starts apart.
    let old = fs::read(&path).unwrap();
    begin(&guard, &path, &mut rng).unwrap();
    begin(&guard, &path, &mut rng).unwrap();
    fs::write(&path, old).unwrap();
    assert_eq!(begin(&guard, &path, &mut rng).unwrap_err().code, UNSAFE);
    fs::write(&path, b"short").unwrap();
    assert_eq!(begin(&guard, &path, &mut rng).unwrap_err().code, UNSAFE);
}

#[test]
fn a_peer_that_claims_less_than_before_gets_its_own_words_back() {
    let mut me = witness(0, 1, 1, 0);
    let known = announce(1, 5, 7, 100);
    assert_eq!(me.hear(1, known), Heard::Fine);
    // The same life may be heard out of order, a later life goes on from there.
    assert_eq!(me.hear(1, announce(1, 5, 7, 90)), Heard::Fine);
    assert_eq!(me.hear(1, announce(1, 5, 7, 120)), Heard::Fine);
    let newest = numbered(1, 6, 8, 120, 241);
    assert_eq!(me.hear(1, newest.clone()), Heard::Fine);
    for older in [
        announce(1, 5, 7, 130),
        announce(1, 6, 9, 130),
        numbered(1, 7, 9, 119, 242),
        // While the chain stands still only the number tells.
        numbered(1, 7, 9, 120, 241),
    ] {
        assert_eq!(me.hear(1, older), Heard::Older(Box::new(newest.clone())));
    }
    assert_eq!(me.hear(1, numbered(1, 7, 9, 120, 242)), Heard::Fine);
    assert_eq!(me.peers().collect::<Vec<_>>(), [1]);
}

#[test]
fn a_validator_recognises_another_life_of_its_own() {
    let mut me = witness(2, 4, 1, 50);
    let myself = |boot, height| Heard::Myself { boot, height };
    assert_eq!(me.hear(0, announce(2, 4, 1, 60)), Heard::Fine);
    assert_eq!(me.hear(0, announce(2, 3, 9, 50)), Heard::Fine);
    assert_eq!(me.hear(0, announce(2, 4, 9, 10)), myself(4, 10));
    assert_eq!(me.hear(0, announce(2, 9, 9, 10)), myself(9, 10));
    assert_eq!(me.hear(0, announce(2, 3, 9, 51)), myself(3, 51));
    // The chain stood still, and a copy from before the last announcement knows fewer of them.
    assert_eq!(me.hear(0, numbered(2, 3, 9, 50, 100)), Heard::Fine);
    assert_eq!(me.hear(0, numbered(2, 3, 9, 50, 101)), myself(3, 50));
}

#[test]
fn an_accepted_loss_is_not_another_life_but_a_later_one_is() {
    let mut me = witness(2, 8, 1, 50).accepting(7);
    assert_eq!(
        me.hear(0, announce(2, 7, 9, 90)),
        Heard::Lost { number: 180 }
    );
    let later = Heard::Myself {
        boot: 8,
        height: 90,
    };
    assert_eq!(me.hear(0, announce(2, 8, 9, 90)), later);
}

#[test]
fn nobody_speaks_for_another_and_signatures_are_checked() {
    let mut me = witness(0, 1, 1, 0);
    assert_eq!(me.hear(1, announce(2, 1, 1, 1)), Heard::Forged);
    let mut changed = announce(1, 1, 1, 1);
    changed.height = 2;
    assert_eq!(me.hear(1, changed), Heard::Forged);
    let mut unknown = announce(1, 1, 1, 1);
    unknown.sender = 7;
    assert_eq!(me.hear(7, unknown), Heard::Forged);
}

#[test]
fn announcements_are_counted_on_disk_and_past_those_of_a_lost_life() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signer.redb");
    let guard = Guard::create_file(&path, &[1; 32]).unwrap();
    assert_eq!(guard.announcements(), Ok(0));
    assert_eq!(guard.count_announcement(0), Ok(1));
    assert_eq!(guard.count_announcement(0), Ok(2));
    drop(guard);
    let guard = Guard::open_file(&path, &[1; 32]).unwrap();
    assert_eq!(guard.announcements(), Ok(2));
    assert_eq!(guard.count_announcement(90), Ok(91));
    assert_eq!(guard.count_announcement(0), Ok(92));
}
