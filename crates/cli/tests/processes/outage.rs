//! Validators and destinations that are away for a while.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::net::{ALPHA, BETA, Net, PATIENCE, RELAYER, VALIDATORS};
use crate::process::{HORIZON, until};

/// 500 blocks take half a minute on a quiet machine.
const LONG: Duration = Duration::from_secs(180);
const MISSED: u64 = 500;

/// The reasons of the checks that fail.
fn red(net: &Net, network: usize, index: usize) -> Vec<String> {
    let answer = net.readiness(network, index);
    let checks = answer.into_iter().flat_map(|answer| answer.checks);
    checks.filter_map(|check| check.reason).collect()
}

#[test]
fn a_node_that_missed_500_blocks_catches_up_and_its_ledger_follows() {
    let mut net = Net::alone("outage", 50);
    let away = net.name(ALPHA, 3);
    net.kill(&away);
    let start = net.tip(ALPHA);
    until("500 blocks without it", LONG, || {
        net.height(ALPHA, 0) >= start + MISSED
    });
    net.start(&away);
    let tip = net.tip(ALPHA);
    let since = Instant::now();
    let mut was_red = false;
    until("it has caught up", PATIENCE, || {
        was_red |= red(&net, ALPHA, 3).contains(&"behind".to_owned());
        net.height(ALPHA, 3) >= tip
    });
    eprintln!("{MISSED} blocks in {:.1} s", since.elapsed().as_secs_f64());
    assert!(was_red, "readiness never said that it was behind");
    net.await_ready(ALPHA, 3);
    let status = net.status(ALPHA, 3).unwrap();
    assert!(status.consensus_height <= status.height + 20, "{status:?}");
    net.assert_no_fork(ALPHA);

    // Two of four away: the others say so, and stop.
    let two = [net.name(ALPHA, 2), net.name(ALPHA, 3)];
    for name in &two {
        net.kill(name);
    }
    until(
        "the others are not ready, with the reason",
        PATIENCE,
        || (0..2).all(|index| red(&net, ALPHA, index).contains(&"no-quorum".to_owned())),
    );
    let stopped = net.tip(ALPHA);
    net.start(&two[0]);
    net.await_height(ALPHA, 0, stopped + 5);
    net.await_ready(ALPHA, 0);
    net.start(&two[1]);
    net.await_ready(ALPHA, 3);
    net.assert_no_fork(ALPHA);
}

#[test]
fn a_destination_that_is_gone_turns_its_routes_red_and_nothing_is_lost() {
    let mut net = Net::running("gone", 100);
    for index in 0..VALIDATORS {
        net.kill(&net.name(BETA, index));
    }
    net.send(ALPHA);
    let relayer = net.relayer.clone();
    let mut checks = Vec::new();
    until(
        "the relayer is not ready, with the reason",
        PATIENCE,
        || {
            let answer = net.run(relayer.readiness());
            checks = answer.map(|answer| answer.checks).unwrap_or_default();
            !checks.is_empty()
                && checks
                    .iter()
                    .all(|check| !check.ok && check.reason.is_some())
        },
    );
    let reasons: Vec<_> = checks
        .iter()
        .filter_map(|check| check.reason.as_deref())
        .collect();
    assert_eq!(reasons, ["destination-unreachable", "source-unreachable"]);
    // It forgets nothing when it falls too.
    net.kill(RELAYER);
    net.start(RELAYER);
    net.start_network(BETA);
    net.await_delivered(PATIENCE);
    until("the relayer is ready", PATIENCE, || {
        net.run(relayer.readiness())
            .is_ok_and(|answer| answer.ready)
    });
    net.assert_exactly_once();
}

#[test]
fn with_one_down_deliveries_go_on_and_with_two_they_stop_explain_says_why_and_they_resume() {
    let mut net = Net::running("faults", 100);
    let three = [ALPHA, BETA].map(|network| net.name(network, 3));
    for name in &three {
        net.kill(name);
    }
    net.send(ALPHA);
    net.send(BETA);
    net.await_delivered(PATIENCE);

    let two = net.name(ALPHA, 2);
    net.kill(&two);
    let late = net.send(BETA);
    net.await_final(PATIENCE);
    let id = net.letter(late).id.unwrap();
    let explain = || {
        let answer = Command::new(HORIZON)
            .args(["explain", &horizon_cli::output::id(&id), "--devnet"])
            .arg(&net.root)
            .output()
            .unwrap();
        String::from_utf8(answer.stdout).unwrap()
    };
    // Where it is, and what of the destination is missing.
    let mut said = String::new();
    until("explain names those that are missing", PATIENCE, || {
        said = explain();
        let missing = said.lines().find(|line| line.contains("do not answer"));
        let names = |index: usize| {
            let address = net.node(ALPHA, index).address();
            missing.is_some_and(|line| line.contains(address))
        };
        said.contains("no-quorum") && names(2) && names(3) && !names(0) && !names(1)
    });
    let stopped = net.tip(ALPHA);
    eprintln!("{said}");
    assert!(
        net.inbox(net.node(ALPHA, 0)).iter().all(|it| it.id != id),
        "delivered by two of four"
    );
    assert_eq!(net.tip(ALPHA), stopped, "two of four made a block");

    net.start(&two);
    net.await_delivered(PATIENCE);
    for name in &three {
        net.start(name);
    }
    net.assert_exactly_once();
}
