//! What waits, in which order, and what a flood can do.

use horizon_ledger::mempool::{Mempool, PoolRefusal, SUBMIT_LIMITS, ShareLimits};
use horizon_ledger::tx::Kind;
use horizon_ledger::{Refusal, tx};

use crate::support::{Account, Chain, To, deliver, pair};

fn insert(pool: &mut Mempool, chain: &Chain, bytes: &[u8]) -> Result<(), PoolRefusal> {
    let checked = chain.app.check(bytes).unwrap();
    pool.insert(&chain.app, &chain.state, checked)
}

#[test]
fn candidates_come_by_kind_and_accounts_take_turns_in_order_of_their_sequence() {
    let (mut a, mut b) = pair(1, 1, 21);
    let mut pool = Mempool::new();
    let mut accounts: Vec<_> = (0..3).map(|_| Account::new(&mut a.rng)).collect();
    let to = To::unordered(&b);
    let mut all: Vec<Vec<Vec<u8>>> = Vec::new();
    for account in &mut accounts {
        all.push(
            (0..4)
                .map(|_| account.submit(&mut a, &to, "journal", b"x"))
                .collect(),
        );
    }
    // Latest first: the pool puts them in order.
    for txs in &all {
        for tx in txs.iter().rev() {
            insert(&mut pool, &a, tx).unwrap();
        }
    }
    let void = a.queue[0].clone();
    insert(&mut pool, &a, &void).unwrap();
    assert_eq!(pool.len(), 13);
    let candidates = pool.candidates(1 << 20);
    let kinds: Vec<_> = candidates
        .iter()
        .map(|c| a.app.check(c).unwrap().kind)
        .collect();
    assert_eq!(kinds[0], Kind::Pulse);
    let mut expected = vec![void.to_vec()];
    for turn in 0..4 {
        expected.extend(all.iter().map(|txs| txs[turn].clone()));
    }
    let got: Vec<Vec<u8>> = candidates.iter().map(|c| c.to_vec()).collect();
    assert_eq!(got, expected);
    assert!(pool.candidates(10_000).len() < 5);
    a.queue.clear();
    let effects = a.step_with(&candidates);
    assert_eq!(effects.outgoing.len(), 12);
    let (block, state) = (a.tip().clone(), a.state.clone());
    pool.on_final(&a.app, &block, &state);
    assert!(pool.is_empty() && pool.bytes() == 0);
    // A used one does not enter again; neither does one that waits already.
    let used = insert(&mut pool, &a, &all[0][0]).unwrap_err();
    assert_eq!(used, PoolRefusal::Refused(Refusal::SequenceUsed));
    let next = accounts[0].submit(&mut a, &to, "journal", b"y");
    insert(&mut pool, &a, &next).unwrap();
    assert_eq!(insert(&mut pool, &a, &next), Err(PoolRefusal::Known));
    assert_eq!(pool.get(&tx::digest(&next)).unwrap()[..], next);

    // A delivery leaves the pool of the destination when another one brought the message.
    let subject = a.executed.last().unwrap().effects.outgoing[0].clone();
    a.until(60, |a| a.pulses.contains_key(&subject.subject));
    let envelope = deliver(&a.envelope(&subject.id));
    let mut pool = Mempool::new();
    insert(&mut pool, &b, &envelope).unwrap();
    b.queue.push(envelope);
    b.step();
    let (block, state) = (b.tip().clone(), b.state.clone());
    pool.on_final(&b.app, &block, &state);
    assert!(pool.is_empty());
}

#[test]
fn a11_a_flood_of_what_cannot_be_valid_neither_grows_the_pool_nor_holds_up_a_good_one() {
    let (mut a, b) = pair(1, 1, 22);
    a.step();
    let limits = ShareLimits {
        entries_max: 300,
        group_max: 40,
        ..SUBMIT_LIMITS
    };
    let mut pool = Mempool::with_limits(limits, limits, limits);
    let to = To::unordered(&b);
    // 20,000 retries of messages that never failed: none is taken.
    for _ in 0..20_000 {
        let id = a.rng.bytes();
        let refused = insert(&mut pool, &a, &tx::retry(&id)).unwrap_err();
        assert_eq!(refused, PoolRefusal::Refused(Refusal::NothingToRetry));
    }
    assert_eq!(pool.len(), 0);
    // Accounts whose first transaction never comes: they fill the pool up to its limits.
    let mut taken = 0;
    for _ in 0..20 {
        let mut account = Account::new(&mut a.rng);
        account.sequence = 1;
        for _ in 0..50 {
            let tx = account.submit(&mut a, &to, "journal", b"spam");
            match insert(&mut pool, &a, &tx) {
                Ok(()) => taken += 1,
                Err(refusal) => assert_eq!(refusal, PoolRefusal::Full),
            }
        }
    }
    assert_eq!((taken, pool.len()), (300, 300));
    let full = pool.bytes();
    let mut account = Account::new(&mut a.rng);
    let good = account.submit(&mut a, &to, "journal", b"good");
    insert(&mut pool, &a, &good).unwrap();
    assert_eq!(pool.len(), 300);
    assert!(pool.bytes() <= full);
    // The good one is the only candidate, and the next block has it.
    let candidates = pool.candidates(1 << 20);
    assert_eq!(candidates.len(), 1);
    assert_eq!(a.step_with(&candidates).outgoing.len(), 1);
    // What waited in vain goes in the end.
    for _ in 0..limits.blocks_max + 2 {
        a.step_with(&[]);
        let (block, state) = (a.tip().clone(), a.state.clone());
        if block.height.is_multiple_of(100) || block.height > limits.blocks_max {
            pool.on_final(&a.app, &block, &state);
        }
    }
    assert!(pool.is_empty());
}

#[test]
fn a_full_pool_takes_from_the_largest_account_and_not_from_the_small_ones() {
    let (mut a, b) = pair(1, 1, 23);
    let limits = ShareLimits {
        entries_max: 20,
        group_max: 100,
        ..SUBMIT_LIMITS
    };
    let mut pool = Mempool::with_limits(limits, limits, limits);
    let to = To::unordered(&b);
    // Only the first of an account is ready by itself, so later ones can be evicted.
    let mut large = Account::new(&mut a.rng);
    for _ in 0..20 {
        let tx = large.submit(&mut a, &to, "journal", b"x");
        insert(&mut pool, &a, &tx).unwrap();
    }
    let mut small = Vec::new();
    for _ in 0..19 {
        let tx = Account::new(&mut a.rng).submit(&mut a, &to, "journal", b"x");
        insert(&mut pool, &a, &tx).unwrap();
        small.push(tx);
    }
    let tx = Account::new(&mut a.rng).submit(&mut a, &to, "journal", b"x");
    assert_eq!(insert(&mut pool, &a, &tx), Err(PoolRefusal::Full));
    assert!(small.iter().all(|tx| pool.contains(&tx::digest(tx))));
    assert_eq!(pool.len(), 20);
}
