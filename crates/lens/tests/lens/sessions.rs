//! L-1 and L-4: nonces are used once, across restarts, restored snapshots and generators that
//! repeat.

use horizon_lens::{
    Approval, Error, LedgerFault, MemoryLedger, Misuse, Opening, SessionId, SessionLedger,
    SigningPackage, Spending, Suite,
};
use horizon_testkit::SeededRng;

use crate::support::{Session, Stuck, copy_signer, deal, ids, misuse, patched};

on_every_suite!(
    l01_a_restored_snapshot_cannot_sign_a_second_time,
    l01_a_session_is_opened_once_per_share,
    l04_a_generator_that_repeats_is_caught,
    a_ledger_that_fails_stops_both_rounds,
    nothing_is_spent_before_the_package_is_checked,
    the_ledger_is_durable_before_anything_leaves,
);

fn refused<T: core::fmt::Debug>(result: Result<T, Error>, fault: LedgerFault) {
    misuse(result, Misuse::Ledger(fault));
}

fn l01_a_restored_snapshot_cannot_sign_a_second_time<S: Suite>() {
    let mut rng = horizon_testkit::rng(41);
    let (group, signers) = deal::<S>(2, 3, &mut rng);
    let session = Session::begin(&[&signers[1], &signers[2]], &mut rng);
    let id = session.id;
    // The machine is copied with its memory; only the ledger is shared, being on disk.
    let restored = copy_signer(&signers[0]);
    let mut disk = MemoryLedger::new(10);
    let first = signers[0].commit(id, &mut disk, &mut SeededRng::new(77));
    let (nonces, public) = first.unwrap();
    let copied = restored.commit(id, &mut MemoryLedger::new(1), &mut SeededRng::new(77));
    let (copied_nonces, copied_public) = copied.unwrap();
    assert_eq!(public, copied_public, "the copy has the same nonces");

    let pack = |message: &[u8], other: usize| {
        let sent = [public.clone(), session.commitments[other].clone()];
        SigningPackage::new(&group, id, message, &sent).unwrap()
    };
    let approve = |message, signers| Approval { message, signers };
    let (with_two, with_three) = (ids(&[1, 2]), ids(&[1, 3]));
    signers[0]
        .sign(nonces, &pack(b"a", 0), &approve(b"a", &with_two), &mut disk)
        .unwrap();
    let mut disk = MemoryLedger::from_bytes(&disk.to_bytes(), 10).unwrap();
    // Another message, another set, or the very same package: the second answer is the dangerous
    // one.
    let second = approve(b"b", &with_three);
    let result = restored.sign(copied_nonces, &pack(b"b", 1), &second, &mut disk);
    refused(result, LedgerFault::Spent);
    let again = restored.commit(id, &mut MemoryLedger::new(1), &mut SeededRng::new(77));
    let (nonces, _) = again.unwrap();
    let same = approve(b"a", &with_two);
    refused(
        restored.sign(nonces, &pack(b"a", 0), &same, &mut disk),
        LedgerFault::Spent,
    );
}

fn l01_a_session_is_opened_once_per_share<S: Suite>() {
    let mut rng = horizon_testkit::rng(42);
    let (_, signers) = deal::<S>(2, 2, &mut rng);
    let mut ledger = MemoryLedger::new(10);
    let id = SessionId([5; 32]);
    signers[0].commit(id, &mut ledger, &mut rng).unwrap();
    let mut ledger = MemoryLedger::from_bytes(&ledger.to_bytes(), 10).unwrap();
    let result = signers[0].commit(id, &mut ledger, &mut rng);
    refused(result, LedgerFault::SessionUsed);
    // Another member's share in the same ledger is another owner.
    signers[1].commit(id, &mut ledger, &mut rng).unwrap();
    // A session that nobody opened here: nonces made on another machine.
    let elsewhere = signers[0].commit(SessionId([6; 32]), &mut MemoryLedger::new(1), &mut rng);
    let (nonces, public) = elsewhere.unwrap();
    let other = signers[1].commit(SessionId([6; 32]), &mut MemoryLedger::new(1), &mut rng);
    let sent = [public, other.unwrap().1];
    let package = SigningPackage::new(signers[0].group(), SessionId([6; 32]), b"m", &sent).unwrap();
    let approval = Approval {
        message: b"m",
        signers: &ids(&[1, 2]),
    };
    let result = signers[0].sign(nonces, &package, &approval, &mut ledger);
    refused(result, LedgerFault::NotOpen);
}

fn l04_a_generator_that_repeats_is_caught<S: Suite>() {
    let mut rng = horizon_testkit::rng(43);
    let (_, signers) = deal::<S>(2, 2, &mut rng);
    let mut ledger = MemoryLedger::new(10);
    // Stuck within one session: hiding and binding nonce would be equal.
    let result = signers[0].commit(SessionId([1; 32]), &mut ledger, &mut Stuck([7; 32]));
    misuse(result, Misuse::Randomness);
    // Restarted with the same seed: the nonces of the next session would be those of the last.
    let first = signers[0].commit(SessionId([1; 32]), &mut ledger, &mut SeededRng::new(9));
    first.unwrap();
    let mut ledger = MemoryLedger::from_bytes(&ledger.to_bytes(), 10).unwrap();
    let result = signers[0].commit(SessionId([2; 32]), &mut ledger, &mut SeededRng::new(9));
    refused(result, LedgerFault::NonceUsed);
    // Another share with the same generator has other nonces: they are hashed with the share.
    let other = signers[1].commit(SessionId([2; 32]), &mut ledger, &mut SeededRng::new(9));
    other.unwrap();
}

/// Writes down what it is asked, and fails on demand.
#[derive(Default)]
struct Watcher {
    opened: Vec<Opening>,
    spent: Vec<Spending>,
    fail: bool,
}

impl SessionLedger for Watcher {
    fn open(&mut self, opening: &Opening) -> Result<(), LedgerFault> {
        if self.fail {
            return Err(LedgerFault::Storage);
        }
        self.opened.push(*opening);
        Ok(())
    }

    fn spend(&mut self, spending: &Spending) -> Result<(), LedgerFault> {
        if self.fail {
            return Err(LedgerFault::Storage);
        }
        self.spent.push(*spending);
        Ok(())
    }
}

fn a_ledger_that_fails_stops_both_rounds<S: Suite>() {
    let mut rng = horizon_testkit::rng(44);
    let (_, signers) = deal::<S>(2, 2, &mut rng);
    let session = Session::begin(&[&signers[0], &signers[1]], &mut rng);
    let mut ledger = Watcher {
        fail: true,
        ..Watcher::default()
    };
    let result = signers[0].commit(SessionId([1; 32]), &mut ledger, &mut rng);
    refused(result, LedgerFault::Storage);
    let package = session.package(b"m");
    let approval = Approval {
        message: b"m",
        signers: &ids(&[1, 2]),
    };
    let Session { mut nonces, .. } = session;
    let result = signers[0].sign(nonces.remove(0), &package, &approval, &mut ledger);
    refused(result, LedgerFault::Storage);
    let mut full = MemoryLedger::new(0);
    let result = signers[0].commit(SessionId([1; 32]), &mut full, &mut rng);
    refused(result, LedgerFault::Full);
}

fn nothing_is_spent_before_the_package_is_checked<S: Suite>() {
    let mut rng = horizon_testkit::rng(45);
    let (_, signers) = deal::<S>(2, 2, &mut rng);
    let session = Session::begin(&[&signers[0], &signers[1]], &mut rng);
    let package = session.package(b"m");
    let approval = Approval {
        message: b"n",
        signers: &ids(&[1, 2]),
    };
    let mut ledger = Watcher::default();
    let Session { mut nonces, .. } = session;
    let result = signers[0].sign(nonces.remove(0), &package, &approval, &mut ledger);
    assert!(matches!(result, Err(Error::Peer(_))));
    assert!(ledger.spent.is_empty());
}

fn the_ledger_is_durable_before_anything_leaves<S: Suite>() {
    let mut rng = horizon_testkit::rng(46);
    let (_, signers) = deal::<S>(2, 2, &mut rng);
    let mut ledger = Watcher::default();
    let id = SessionId([3; 32]);
    let (nonces, mine) = signers[0].commit(id, &mut ledger, &mut rng).unwrap();
    assert_eq!(ledger.opened.len(), 1);
    assert_eq!(ledger.opened[0].share, signers[0].share().id());
    assert_eq!(ledger.opened[0].session, id);
    let other = signers[1].commit(id, &mut Watcher::default(), &mut rng);
    let sent = [mine, other.unwrap().1];
    let package = SigningPackage::new(signers[0].group(), id, b"m", &sent).unwrap();
    let approval = Approval {
        message: b"m",
        signers: &ids(&[1, 2]),
    };
    signers[0]
        .sign(nonces, &package, &approval, &mut ledger)
        .unwrap();
    assert_eq!(ledger.spent.len(), 1);
    assert_eq!(ledger.spent[0].nonce, ledger.opened[0].nonce);
    // The record names the package: one byte of it changes the digest.
    let (nonces, mine) = signers[0]
        .commit(SessionId([4; 32]), &mut ledger, &mut rng)
        .unwrap();
    let other = patched(&sent[1], 4, &[4; 32]);
    let package = SigningPackage::new(signers[0].group(), SessionId([4; 32]), b"m", &[mine, other]);
    signers[0]
        .sign(nonces, &package.unwrap(), &approval, &mut ledger)
        .unwrap();
    assert_ne!(ledger.spent[0].package, ledger.spent[1].package);
    assert_ne!(ledger.opened[0].nonce, ledger.opened[1].nonce);
}
