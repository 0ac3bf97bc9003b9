use horizon_pulsar::committee::{Answer, RecordsUnavailable, SessionRecords};
use redb::backends::InMemoryBackend;
use std::io::{Seek, SeekFrom, Write};

use super::*;
use crate::testing::CrashStorage;

const OWNER: [u8; 32] = [7; 32];
const BOTH: [Lane; 2] = [Lane::Beam, Lane::CertSet];

fn statement(id: u8, nonce: u64, transcript: &[u8]) -> Statement<'_> {
    Statement {
        id: [id; 32],
        channel: [0; 32],
        nonce,
        transcript,
    }
}

fn fresh() -> Guard {
    Guard::create(InMemoryBackend::new(), &OWNER).unwrap()
}

#[test]
fn b03_the_same_message_again_is_permitted_and_another_at_its_nonce_never_in_any_lane() {
    let guard = fresh();
    let m = statement(1, 7, b"M");
    guard.permit(&BOTH, &[m]).unwrap();
    guard.permit(&BOTH, &[m]).unwrap();
    assert_eq!(guard.has_signed(Lane::Beam, &[1; 32]), Ok(true));
    assert_eq!(guard.has_signed(Lane::Pulse, &[1; 32]), Ok(false));
    let conflict = Conflict::Nonce {
        channel: [0; 32],
        nonce: 7,
        before: [1; 32],
        now: [2; 32],
    };
    for lanes in [&[Lane::Beam][..], &[Lane::CertSet], &[Lane::Pulse]] {
        let guard = fresh();
        guard.permit(&BOTH, &[m]).unwrap();
        let refused = guard.permit(lanes, &[statement(2, 7, b"M'")]);
        assert_eq!(refused, Err(Error::Conflict(conflict)), "{lanes:?}");
        // From then on nothing is signed, not even M.
        assert_eq!(guard.permit(&BOTH, &[m]), Err(Error::Stopped));
        assert_eq!(guard.has_signed(Lane::Beam, &[1; 32]), Err(Error::Stopped));
    }
}

#[test]
fn q3_a_message_signed_in_one_lane_is_refused_with_another_transcript_in_the_others() {
    for (first, second) in [
        (Lane::Beam, Lane::CertSet),
        (Lane::CertSet, Lane::Beam),
        (Lane::Pulse, Lane::Beam),
        (Lane::CertSet, Lane::Pulse),
        (Lane::Beam, Lane::Beam),
    ] {
        let guard = fresh();
        guard
            .permit(&[first], &[statement(1, 0, b"root A")])
            .unwrap();
        let refused = guard.permit(&[second], &[statement(1, 0, b"root B")]);
        let (lane, id) = (first, [1; 32]);
        let conflict = Conflict::Transcript { lane, id };
        assert_eq!(refused, Err(Error::Conflict(conflict)));
    }
}

#[test]
fn a_block_is_permitted_as_a_whole_or_not_at_all() {
    let storage = CrashStorage::new();
    let guard = Guard::create(storage.backend(), &OWNER).unwrap();
    // Nonce 0 twice within one call.
    let refused = guard.permit(&BOTH, &[statement(1, 0, b"a"), statement(2, 0, b"b")]);
    assert!(matches!(refused, Err(Error::Conflict(_))));
    drop(guard);
    let guard = Guard::open(storage.restart(), &OWNER).unwrap();
    assert_eq!(guard.has_signed(Lane::Beam, &[1; 32]), Ok(false));
    guard.permit(&BOTH, &[statement(2, 0, b"b")]).unwrap();
}

#[test]
fn a_permit_survives_a_crash_right_after_it() {
    let storage = CrashStorage::new();
    let guard = Guard::create(storage.backend(), &OWNER).unwrap();
    guard.permit(&BOTH, &[statement(1, 7, b"M")]).unwrap();
    guard
        .set_fence(&Fence {
            boot: 3,
            incarnation: [9; 32],
        })
        .unwrap();
    // The process dies without closing the file.
    storage.crash();
    drop(guard);
    let guard = Guard::open(storage.restart(), &OWNER).unwrap();
    assert_eq!(guard.has_signed(Lane::CertSet, &[1; 32]), Ok(true));
    let fence = guard.fence().unwrap().unwrap();
    assert_eq!((fence.boot, fence.incarnation), (3, [9; 32]));
    let refused = guard.permit(&[Lane::Beam], &[statement(2, 7, b"M'")]);
    assert!(matches!(refused, Err(Error::Conflict(_))));
}

#[test]
fn after_a_write_that_failed_nothing_is_permitted_until_the_restart() {
    let mut permitted = 0;
    for writes in 0.. {
        let storage = CrashStorage::new();
        let guard = Guard::create(storage.backend(), &OWNER).unwrap();
        storage.fail_after(writes);
        match guard.permit(&BOTH, &[statement(1, 7, b"M")]) {
            Ok(()) => {
                permitted += 1;
                if permitted == 3 {
                    assert!(writes > 3, "the failures must have hit something");
                    return;
                }
            }
            Err(error) => {
                assert!(
                    matches!(error, Error::Write(_) | Error::Unreadable(_)),
                    "{error:?}"
                );
                let again = guard.permit(&BOTH, &[statement(1, 7, b"M")]);
                assert_eq!(again, Err(Error::Stopped));
                drop(guard);
                // Whatever reached the disk, the file opens, and M is permitted.
                let guard = Guard::open(storage.restart(), &OWNER).unwrap();
                guard.permit(&BOTH, &[statement(1, 7, b"M")]).unwrap();
            }
        }
    }
}

#[test]
fn b03_a_guard_that_is_missing_empty_cut_or_altered_is_an_error_and_never_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("signer.redb");
    let open = || Guard::open_file(&path, &OWNER).map(drop);
    assert_eq!(open(), Err(Error::Missing));
    let guard = Guard::create_file(&path, &OWNER).unwrap();
    assert_eq!(open(), Err(Error::Locked));
    guard.permit(&BOTH, &[statement(1, 7, b"M")]).unwrap();
    drop(guard);
    assert_eq!(open(), Ok(()));
    assert_eq!(
        Guard::create_file(&path, &OWNER).map(drop),
        Err(Error::Exists)
    );
    let other = Guard::open_file(&path, &[8; 32]).map(drop);
    assert_eq!(other, Err(Error::WrongIdentity));

    let good = std::fs::read(&path).unwrap();
    for len in [1, 100, 4_096, good.len() / 2, good.len() - 1] {
        std::fs::write(&path, &good[..len]).unwrap();
        let refused = open();
        assert!(
            matches!(refused, Err(Error::Unreadable(_))),
            "{len}: {refused:?}"
        );
    }
    std::fs::write(&path, b"").unwrap();
    assert_eq!(open(), Err(Error::Missing));
    std::fs::write(&path, vec![0; good.len()]).unwrap();
    assert!(matches!(open(), Err(Error::Unreadable(_))));
    // Another redb file is not an empty guard.
    std::fs::remove_file(&path).unwrap();
    drop(Database::create(&path).unwrap());
    assert!(matches!(open(), Err(Error::Unreadable(_))));
    // One altered byte in the tables.
    std::fs::write(&path, &good).unwrap();
    let at = good.windows(32).position(|window| window == [1; 32]);
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(at.unwrap() as u64)).unwrap();
    file.write_all(&[2]).unwrap();
    drop(file);
    assert!(matches!(open(), Err(Error::Unreadable(_))));
}

#[cfg(unix)]
#[test]
fn a_new_guard_file_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("signer.redb");
    Guard::create_file(&path, &OWNER).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn session_records_keep_boots_and_answers_and_never_replace_one() {
    let storage = CrashStorage::new();
    let guard = Guard::create(storage.backend(), &OWNER).unwrap();
    let era = [3; 32];
    let mut records = guard.records();
    assert_eq!(records.boot(&era), Ok(None));
    records.reserve_boot(&era, 4).unwrap();
    records.reserve(&era, 4, 12).unwrap();
    // A smaller counter never replaces a larger one.
    records.reserve_boot(&era, 2).unwrap();
    let answer = Answer {
        session_ctx: [5; 32],
        partial: vec![6; 100],
    };
    assert_eq!(records.answer(&era, 12, 1), Ok(None));
    records.record_answer(&era, 12, 1, &answer).unwrap();
    let other = Answer {
        session_ctx: [9; 32],
        partial: vec![6; 100],
    };
    assert_eq!(
        records.record_answer(&era, 12, 1, &other),
        Err(RecordsUnavailable)
    );
    storage.crash();
    drop((guard, records));
    let guard = Guard::open(storage.restart(), &OWNER).unwrap();
    let records = guard.records();
    assert_eq!(records.boot(&era), Ok(Some(4)));
    assert_eq!(records.boot(&[4; 32]), Ok(None));
    assert_eq!(records.answer(&era, 12, 1), Ok(Some(answer)));
    records.drop_partial(&era, 12, 1).unwrap();
    let kept = records.answer(&era, 12, 1).unwrap().unwrap();
    assert_eq!((kept.session_ctx, kept.partial.len()), ([5; 32], 0));
    records.drop_partial(&era, 99, 0).unwrap();
    assert_eq!(records.answer(&era, 99, 0), Ok(None));
}

#[test]
fn an_answer_whose_write_failed_is_not_reported() {
    let era = [3; 32];
    let answer = Answer {
        session_ctx: [5; 32],
        partial: vec![6; 100],
    };
    for writes in 0.. {
        let storage = CrashStorage::new();
        let guard = Guard::create(storage.backend(), &OWNER).unwrap();
        let mut records = guard.records();
        storage.fail_after(writes);
        if records.record_answer(&era, 1, 1, &answer).is_ok() {
            assert!(writes > 0);
            return;
        }
        assert_eq!(records.answer(&era, 1, 1), Err(RecordsUnavailable));
        assert_eq!(records.boot(&era), Err(RecordsUnavailable));
    }
}
