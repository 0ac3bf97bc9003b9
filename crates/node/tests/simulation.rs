//! Two whole networks with their relayers under simulated time, links and disks.
//!
//! Everything that decides is the product's code: consensus, ledger, services, interface, relayer.
//! Simulated are the clock, the links, the disks and the scheduler, so that a seed gives the same
//! run every time. Each seed draws its own faults. What must hold is in [`checks`].
//!
//! `HORIZON_SIM_SEED=7` runs one seed and prints what happens; `HORIZON_SIM_SEEDS=2000` runs more.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    unreachable_pub,
    reason = "a test"
)]

mod simulation {
    pub mod attacks;
    pub mod checks;
    pub mod history;
    pub mod network;
    pub mod plan;
    pub mod relay;
    pub mod run;
}

use std::sync::atomic::{AtomicU64, Ordering};

use simulation::{checks, run};

/// Seeds of a usual run.
const SEEDS: u64 = 12;
/// Runs at a time.
const THREADS: u64 = 2;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn every_property_holds_for_every_seed() {
    if let Some(seed) = number("HORIZON_SIM_SEED") {
        let outcome = run::run(seed, true);
        println!("{outcome}");
        assert_eq!(outcome.violations(), Vec::<String>::new(), "seed {seed}");
        return;
    }
    let seeds = number("HORIZON_SIM_SEEDS").unwrap_or(SEEDS);
    let first = number("HORIZON_SIM_FIRST").unwrap_or(1);
    let next = AtomicU64::new(first);
    let work = || {
        let mut failed = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + seeds {
                return failed;
            }
            let outcome = std::panic::catch_unwind(|| run::run(seed, false));
            let violations = match outcome {
                Ok(outcome) => outcome.violations(),
                Err(_) => vec!["it panicked".to_owned()],
            };
            if !violations.is_empty() {
                println!("seed {seed} failed; replay it with `just sim {seed}`: {violations:?}");
                failed.push(seed);
            }
        }
    };
    let failed: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(failed, Vec::<u64>::new(), "failed seeds");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let first = run::run(3, false);
    assert_eq!(first.trace, run::run(3, false).trace);
    assert_ne!(first.trace, run::run(4, false).trace);
}

#[test]
fn each_check_fails_on_a_run_that_was_broken_for_it() {
    let outcome = run::run(1, false);
    assert_eq!(outcome.violations(), Vec::<String>::new());
    for (name, check) in checks::ALL.into_iter().chain(checks::MORE) {
        assert_eq!(check(&outcome.history), Ok(()), "{name}");
        let mut broken = outcome.history.clone();
        checks::break_for(name, &mut broken);
        assert!(check(&broken).is_err(), "{name} does not notice");
    }
}
