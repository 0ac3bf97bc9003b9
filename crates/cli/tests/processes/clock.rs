//! A wall clock that jumps.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::Command;

use crate::net::{ALPHA, BETA, Net, PATIENCE};
use crate::process::{HORIZON, Process, arguments, until};

const SHIM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/processes/clock.c");
const HOUR: i64 = 3_600;
const IO: i32 = 6;

/// Compiles the library that moves the clock of a process which loads it first.
fn compile(to: &Path) {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(to)
        .arg(SHIM)
        .arg("-ldl")
        .status();
    assert!(status.unwrap().success());
}

/// Moves the clock by this much from the true time, also under a running process.
fn set(clock: &Path, seconds: i64) {
    let mut file = fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(clock)
        .unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(&seconds.to_le_bytes()).unwrap();
}

#[test]
fn a_clock_that_jumps_stops_nobody_else_and_a_step_back_ends_the_node_with_code_6() {
    let mut net = Net::running("clock", 100);
    let (library, clock) = (net.root.join("clock.so"), net.root.join("clock"));
    compile(&library);
    set(&clock, 0);
    let name = net.name(ALPHA, 3);
    net.kill(&name);
    let program = net.program(&name);
    let start = |net: &mut Net| {
        let mut command = Command::new(HORIZON);
        arguments(&mut command, &program);
        command
            .env("LD_PRELOAD", &library)
            .env("WALL_CLOCK_OFFSET", &clock);
        let process = Process::spawn(&program.name, &program.log, command);
        net.processes.insert(program.name.clone(), process);
    };
    let deliver = |net: &mut Net| {
        let tip = net.tip(ALPHA);
        net.await_height(ALPHA, 0, tip + 20);
        net.send(ALPHA);
        net.send(BETA);
        net.await_delivered(PATIENCE);
        net.assert_alive();
    };
    start(&mut net);
    net.await_ready(ALPHA, 3);
    let maps = fs::read_to_string(format!("/proc/{}/maps", net.processes[&name].id())).unwrap();
    assert!(maps.contains("clock.so"), "{maps}");

    // Into the future: it follows, whatever its clock says.
    set(&clock, HOUR);
    deliver(&mut net);
    let tip = net.tip(ALPHA);
    net.await_height(ALPHA, 3, tip);
    // Back again, which would leave its timers an hour away.
    set(&clock, 0);
    let ended = net.take(&name).wait(PATIENCE);
    ended.insist(IO, &["clock", "set back by"]);
    start(&mut net);
    net.await_ready(ALPHA, 3);
    net.assert_last_votes(ALPHA);

    // Into the past. Started there, it finds no peer that shakes hands with it.
    set(&clock, -HOUR);
    let ended = net.take(&name).wait(PATIENCE);
    ended.insist(IO, &["clock", "set back by"]);
    start(&mut net);
    deliver(&mut net);
    until("it is not ready, with a reason", PATIENCE, || {
        let answer = net.readiness(ALPHA, 3);
        let checks = answer.into_iter().flat_map(|answer| answer.checks);
        checks.into_iter().any(|check| check.reason.is_some())
    });
    set(&clock, 0);
    net.await_ready(ALPHA, 3);
    net.assert_last_votes(ALPHA);
    net.assert_exactly_once();
    for index in 0..4 {
        assert_eq!(net.status(ALPHA, index).unwrap().evidence, 0);
    }
}
