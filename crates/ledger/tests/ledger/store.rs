//! What is on disk after a block, after a restart, and after damage.

use std::io;
use std::sync::{Arc, Mutex};

use horizon_ledger::{Commit, Error, Genesis, Store, StoreError, tx};
use redb::StorageBackend;

use crate::support::{Account, Chain, Dealt, To, deliver, pair};
use horizon_testkit::SeededRng;

/// Bytes in memory that outlive the database over them.
#[derive(Clone, Debug, Default)]
struct Disk(Arc<Mutex<Vec<u8>>>);

impl Disk {
    fn with<T>(&self, f: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        f(&mut self.0.lock().unwrap())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, io::Error> {
        Ok(self.with(|bytes| bytes.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.with(|bytes| {
            let at = usize::try_from(offset).unwrap();
            let part = bytes.get(at..at + out.len());
            let part = part.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
            out.copy_from_slice(part);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.with(|bytes| bytes.resize(usize::try_from(len).unwrap(), 0));
        Ok(())
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.with(|bytes| {
            let at = usize::try_from(offset).unwrap();
            bytes[at..at + data.len()].copy_from_slice(data);
        });
        Ok(())
    }
}

fn genesis(chain: &Chain) -> &Genesis {
    chain.app.genesis()
}

/// Two chains that exchanged a message and its acknowledgement.
fn exchanged() -> (Chain, Chain, [u8; 32]) {
    let (mut a, mut b) = pair(1, 1, 11);
    let mut account = Account::new(&mut a.rng);
    let to = To::unordered(&b);
    let id = a.send(&mut account, &to, "gate", b"knock");
    b.queue.push(deliver(&a.envelope(&id)));
    let ack = b.step().outgoing[0].clone();
    b.until(40, |b| b.pulses.contains_key(&ack.subject));
    a.queue.push(deliver(&b.envelope(&ack.id)));
    a.step();
    (a, b, id)
}

fn commit_all(store: &Store, chain: &Chain) {
    for (block, executed) in chain.blocks[1..].iter().zip(&chain.executed) {
        assert_eq!(store.commit(block, executed), Ok(Commit::Committed));
    }
}

#[test]
fn a_reopened_store_has_the_tip_state_and_history_that_were_committed() {
    let (a, b, id) = exchanged();
    for chain in [&a, &b] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.redb");
        {
            let store = Store::open(&path, genesis(chain)).unwrap();
            assert_eq!(
                store.tip(),
                (chain.app.genesis_block(), chain.app.genesis_state())
            );
            commit_all(&store, chain);
            store.set_note("fence", b"7").unwrap();
        }
        let store = Store::open(&path, genesis(chain)).unwrap();
        let (block, state) = store.tip();
        assert_eq!((&block, &state), (chain.tip(), &chain.state));
        assert_eq!(store.note("fence").unwrap().unwrap(), b"7");
        assert_eq!(store.note("other"), Ok(None));
        for (height, block) in (0..).zip(&chain.blocks) {
            assert_eq!(store.block(height).unwrap().as_ref(), Some(block));
            assert_eq!(store.digest_at(height), Ok(Some(block.digest())));
            assert_eq!(store.height_of(&block.digest()), Ok(Some(height)));
        }
        for executed in &chain.executed {
            let effects = &executed.effects;
            assert_eq!(store.outgoing_at(effects.height).unwrap(), effects.outgoing);
            assert_eq!(
                store.deliveries_at(effects.height).unwrap(),
                effects.deliveries
            );
            for message in &effects.outgoing {
                assert_eq!(store.message(&message.id).unwrap().as_ref(), Some(message));
                let found = store.message_of_subject(&message.subject).unwrap();
                assert_eq!(found.as_ref(), Some(message));
            }
            for closed in &effects.closed {
                assert_eq!(store.pulse(&closed.subject).unwrap().as_ref(), Some(closed));
            }
            let block = store.block(effects.height).unwrap().unwrap();
            let transactions = chain.app.pulse_transactions(&block).unwrap();
            assert_eq!(transactions, effects.pulse_transactions);
        }
        // The restored state goes on exactly as the one in memory does.
        let next = |state| {
            let (block, executed) = chain
                .app
                .build(chain.tip(), state, block.time_ms + 1, &[])
                .unwrap();
            (block.nebula_root, executed.state, executed.effects)
        };
        assert_eq!(next(&state), next(&chain.state));
    }
    let store = Store::with_backend(Disk::default(), genesis(&a)).unwrap();
    commit_all(&store, &a);
    let receipt = store.receipt(&id).unwrap().unwrap();
    assert!(receipt.first && receipt.status.is_failed());
    assert_eq!(store.receipt(&[0; 32]), Ok(None));
}

#[test]
fn a_block_is_applied_once_in_order_and_only_on_its_own_chain() {
    let (a, ..) = exchanged();
    let store = Store::with_backend(Disk::default(), genesis(&a)).unwrap();
    let (first, second) = (
        (&a.blocks[1], &a.executed[0]),
        (&a.blocks[2], &a.executed[1]),
    );
    assert_eq!(store.commit(second.0, second.1), Ok(Commit::Gap { tip: 0 }));
    assert_eq!(store.commit(first.0, first.1), Ok(Commit::Committed));
    assert_eq!(store.commit(first.0, first.1), Ok(Commit::AlreadyApplied));
    let mut other = first.0.clone();
    other.time_ms += 1;
    let fork = Err(Error::Store(StoreError::Fork));
    assert_eq!(store.commit(&other, first.1), fork);
    let mut other = second.0.clone();
    other.parent = [9; 32];
    assert_eq!(store.commit(&other, second.1), fork);
    assert_eq!(store.commit(second.0, first.1), fork);
    assert_eq!(store.tip().0, *first.0);
}

#[test]
fn a_store_of_another_genesis_or_schema_is_refused() {
    let (a, ..) = exchanged();
    let disk = Disk::default();
    drop(Store::with_backend(disk.clone(), genesis(&a)).unwrap());
    let mut rng = SeededRng::new(5);
    let other = Genesis::new(Dealt::new(1, 1, 1, &mut rng).spec(&[])).unwrap();
    let error = Store::with_backend(disk.clone(), &other).unwrap_err();
    assert_eq!(error, Error::Store(StoreError::Genesis));
    tamper(&disk, "meta", |key, value| {
        (key == b"schema").then(|| [&value[..7], &[5]].concat())
    });
    let error = Store::with_backend(disk, genesis(&a)).unwrap_err();
    assert_eq!(error, Error::Store(StoreError::Schema { found: 5 }));
}

#[test]
fn damage_to_the_last_record_or_the_state_is_found_at_the_next_start() {
    let (a, ..) = exchanged();
    let disk = Disk::default();
    commit_all(&Store::with_backend(disk.clone(), genesis(&a)).unwrap(), &a);
    let flip = |value: &[u8]| {
        let mut value = value.to_vec();
        *value.last_mut().unwrap() ^= 1;
        value
    };
    let reopened = |table, what: &'static str, key: Option<&[u8]>| {
        let copy = Disk(Arc::new(Mutex::new(disk.with(|bytes| bytes.clone()))));
        tamper(&copy, table, |found, value| {
            key.is_none_or(|key| key == found).then(|| flip(value))
        });
        let error = Store::with_backend(copy, genesis(&a)).unwrap_err();
        assert_eq!(error, Error::Store(StoreError::Corrupt { what }), "{table}");
    };
    reopened("meta", "tip", Some(b"tip"));
    reopened("blocks", "blocks", None);
    reopened("ranges", "ranges", None);
    reopened("state", "state", None);
    Store::with_backend(disk, genesis(&a)).unwrap();
}

/// Changes stored values behind the store's back, as damage does that the database does not see.
fn tamper(disk: &Disk, table: &str, change: impl Fn(&[u8], &[u8]) -> Option<Vec<u8>>) {
    use redb::{ReadableTable, TableDefinition};
    let database = redb::Database::builder()
        .create_with_backend(disk.clone())
        .unwrap();
    let write = database.begin_write().unwrap();
    macro_rules! table {
        ($key:ty, $bytes:expr, $own:expr) => {{
            let definition: TableDefinition<'_, $key, &[u8]> = TableDefinition::new(table);
            let mut open = write.open_table(definition).unwrap();
            let mut changed = Vec::new();
            for entry in open.iter().unwrap() {
                let (key, value) = entry.unwrap();
                if let Some(new) = change(&$bytes(key.value()), value.value()) {
                    changed.push(($own(key.value()), new));
                }
            }
            assert!(!changed.is_empty(), "{table}");
            for (key, value) in &changed {
                open.insert(&**key, &value[..]).unwrap();
            }
        }};
    }
    match table {
        "meta" => table!(&str, |k: &str| k.as_bytes().to_vec(), |k: &str| k
            .to_owned()),
        "state" => table!(&[u8], |k: &[u8]| k.to_vec(), |k: &[u8]| k.to_vec()),
        _ => {
            let definition: TableDefinition<'_, u64, &[u8]> = TableDefinition::new(table);
            let mut open = write.open_table(definition).unwrap();
            let (key, value) = {
                let (key, value) = open.last().unwrap().unwrap();
                (key.value(), value.value().to_vec())
            };
            let new = change(&key.to_be_bytes(), &value).unwrap();
            open.insert(key, &new[..]).unwrap();
        }
    }
    write.commit().unwrap();
}

#[test]
fn a_crash_at_any_write_leaves_the_state_before_or_after_the_block() {
    let (a, ..) = exchanged();
    let genesis = genesis(&a);
    // Count the writes of one commit, then fail at each of them in turn.
    let (block, executed) = (&a.blocks[1], &a.executed[0]);
    let mut seen = [0_u32; 2];
    for limit in 0.. {
        let disk = Disk::default();
        drop(Store::with_backend(disk.clone(), genesis).unwrap());
        let failing = Failing {
            disk: disk.clone(),
            left: Arc::new(Mutex::new(None)),
        };
        let outcome = {
            let store = Store::with_backend(failing.clone(), genesis).unwrap();
            *failing.left.lock().unwrap() = Some(limit);
            store.commit(block, executed)
        };
        let store = Store::with_backend(disk, genesis).unwrap();
        let (tip, state) = store.tip();
        let applied = usize::from(tip.height == 1);
        seen[applied] += 1;
        if applied == 1 {
            assert_eq!((&tip, &state), (block, &executed.state));
            assert_eq!(store.commit(block, executed), Ok(Commit::AlreadyApplied));
        } else {
            assert_eq!((tip, state), (a.app.genesis_block(), a.app.genesis_state()));
            assert!(outcome.is_err());
            assert_eq!(store.commit(block, executed), Ok(Commit::Committed));
        }
        if outcome.is_ok() {
            break;
        }
        assert!(limit < 10_000);
    }
    assert!(seen[0] > 3 && seen[1] >= 1, "{seen:?}");
}

/// A disk on which every operation fails after a number of writes, as after a power cut.
#[derive(Clone, Debug)]
struct Failing {
    disk: Disk,
    left: Arc<Mutex<Option<u32>>>,
}

impl Failing {
    fn step(&self) -> Result<(), io::Error> {
        match &mut *self.left.lock().unwrap() {
            Some(0) => Err(io::Error::from(io::ErrorKind::Other)),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl StorageBackend for Failing {
    fn len(&self) -> Result<u64, io::Error> {
        self.disk.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), io::Error> {
        self.disk.read(offset, out)
    }

    fn set_len(&self, len: u64) -> Result<(), io::Error> {
        self.step()?;
        self.disk.set_len(len)
    }

    fn sync_data(&self) -> Result<(), io::Error> {
        self.step()?;
        self.disk.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), io::Error> {
        self.step()?;
        self.disk.write(offset, data)
    }
}

#[test]
fn a_retry_after_a_restart_uses_the_stored_bytes() {
    let (mut a, mut b) = pair(1, 1, 12);
    let mut account = Account::new(&mut a.rng);
    let to = To::unordered(&b);
    let id = a.send(&mut account, &to, "gate", b"knock");
    b.queue.push(deliver(&a.envelope(&id)));
    b.step();
    let disk = Disk::default();
    commit_all(&Store::with_backend(disk.clone(), genesis(&b)).unwrap(), &b);
    let opener = a.send(&mut account, &to, "gate", b"open");
    b.queue.push(deliver(&a.envelope(&opener)));
    b.push(tx::retry(&id));
    let (tip, state) = Store::with_backend(disk, genesis(&b)).unwrap().tip();
    let queue = core::mem::take(&mut b.queue);
    let (block, executed) = b.app.build(&tip, &state, tip.time_ms + 1, &queue).unwrap();
    let delivered: Vec<_> = executed
        .effects
        .deliveries
        .iter()
        .map(|d| (d.id, d.is_retry))
        .collect();
    assert_eq!(delivered, [(opener, false), (id, true)]);
    assert_eq!(
        b.replica.execute(&tip, &state, &block).unwrap().state,
        executed.state
    );
}
