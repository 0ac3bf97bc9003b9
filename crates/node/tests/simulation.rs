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

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use simulation::{checks, run};

/// Seeds of a usual run.
const SEEDS: u64 = 200;
/// Processes at a time.
const PROCESSES: u64 = 2;
/// Seeds per process: the simulated runtime keeps what a network had until its process ends.
const PART: u64 = 10;
/// Set for the processes that run a part.
const IS_PART: &str = "HORIZON_SIM_PART";

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs the seeds in this process; one line for each that failed.
fn run_part(first: u64, seeds: u64) -> Vec<String> {
    let mut failed = Vec::new();
    for seed in first..first + seeds {
        let outcome = std::panic::catch_unwind(|| run::run(seed, false));
        let violations = match outcome {
            Ok(outcome) => outcome.violations(),
            Err(_) => vec!["it panicked".to_owned()],
        };
        if !violations.is_empty() {
            failed.push(format!(
                "seed {seed} failed; replay it with `just sim {seed}`: {violations:?}"
            ));
        }
    }
    failed
}

/// Runs the seeds in a process of their own; what it printed if it failed.
fn spawn_part(first: u64, seeds: u64) -> Option<String> {
    let part = Command::new(std::env::current_exe().unwrap())
        .args(["every_property_holds_for_every_seed", "--exact"])
        .arg("--nocapture")
        .env(IS_PART, "1")
        .env("HORIZON_SIM_FIRST", first.to_string())
        .env("HORIZON_SIM_SEEDS", seeds.to_string())
        .output()
        .unwrap();
    if part.status.success() {
        return None;
    }
    let printed = String::from_utf8_lossy(&part.stdout).into_owned();
    let lines: Vec<&str> = printed
        .lines()
        .filter(|line| line.starts_with("seed "))
        .collect();
    if lines.is_empty() {
        let errors = String::from_utf8_lossy(&part.stderr);
        let status = part.status;
        return Some(format!(
            "seeds from {first} on: {status}\n{printed}\n{errors}"
        ));
    }
    Some(lines.join("\n"))
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
    if std::env::var_os(IS_PART).is_some() {
        let failed = run_part(first, seeds);
        failed.iter().for_each(|line| println!("{line}"));
        assert_eq!(failed, Vec::<String>::new());
        return;
    }
    let next = AtomicU64::new(first);
    let work = || {
        let mut failed = Vec::new();
        loop {
            let from = next.fetch_add(PART, Ordering::Relaxed);
            if from >= first + seeds {
                return failed;
            }
            if let Some(printed) = spawn_part(from, PART.min(first + seeds - from)) {
                println!("{printed}");
                failed.push(printed);
            }
        }
    };
    let failed: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..PROCESSES).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(failed.is_empty(), "failed seeds:\n{}", failed.join("\n"));
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
