//! What a block costs: `cargo run --release -p horizon-ledger --example execute_cost`.
//!
//! Two networks of four validators; a block with ten deliveries, cold (no envelope of it was seen
//! before) and warm (each was admitted before), and blocks without deliveries on a large state.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program for measurements over the tests' networks"
)]

use std::time::Instant;

use horizon_ledger::{App, Store};
use redb::backends::InMemoryBackend;

#[path = "../tests/ledger/support.rs"]
mod support;

use support::{Account, To, deliver, pair};

fn main() {
    let (mut a, mut b) = pair(4, 3, 1);
    let mut account = Account::new(&mut a.rng);
    let to = To::unordered(&b);
    let ids: Vec<_> = (0..10)
        .map(|_| a.send(&mut account, &to, "journal", &[7; 200]))
        .collect();
    let candidates: Vec<_> = ids.iter().map(|id| deliver(&a.envelope(id))).collect();
    println!(
        "envelope of 4 validators: {} bytes",
        candidates[0].len() - 2
    );
    (0..20).for_each(|_| drop(b.step()));
    let parent = b.tip().clone();
    let time_ms = parent.time_ms + 500;

    let app = App::new(b.app.genesis().clone()).unwrap();
    time("check one envelope, cold", || {
        app.check(&candidates[0]).unwrap()
    });
    time("check it again", || app.check(&candidates[0]).unwrap());
    let app = App::new(b.app.genesis().clone()).unwrap();
    let (block, executed) = time("build with ten deliveries, cold", || {
        app.build(&parent, &b.state, time_ms, &candidates).unwrap()
    });
    assert_eq!(executed.effects.deliveries.len(), 10);
    time("build with ten deliveries, warm", || {
        app.build(&parent, &b.state, time_ms, &candidates).unwrap()
    });
    time("execute it, warm", || {
        app.execute(&parent, &b.state, &block).unwrap()
    });
    let other = App::new(b.app.genesis().clone()).unwrap();
    time("execute it, cold", || {
        other.execute(&parent, &b.state, &block).unwrap()
    });
    let store = Store::with_backend(InMemoryBackend::new(), b.app.genesis()).unwrap();
    for (block, executed) in b.blocks[1..].iter().zip(&b.executed) {
        store.commit(block, executed).unwrap();
    }
    time("commit it to a store in memory", || {
        store.commit(&block, &executed).unwrap()
    });

    let mut many: Vec<Account> = (0..200).map(|_| Account::new(&mut a.rng)).collect();
    let submits: Vec<_> = many
        .iter_mut()
        .map(|account| account.submit(&mut a, &to, "journal", &[7; 200]).into())
        .collect();
    let parent = a.tip().clone();
    let time_ms = parent.time_ms + 500;
    let app = App::new(a.app.genesis().clone()).unwrap();
    let (block, _) = time("build with 180 submits, cold", || {
        app.build(&parent, &a.state, time_ms, &submits).unwrap()
    });
    println!("    {} submits in it", block.transactions.len());
    time("execute it, warm", || {
        app.execute(&parent, &a.state, &block).unwrap()
    });
    time("empty block", || {
        app.build(&parent, &a.state, time_ms, &[]).unwrap()
    });
}

fn time<T>(name: &str, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let out = run();
    println!("{name}: {:.3} ms", start.elapsed().as_secs_f64() * 1e3);
    out
}
