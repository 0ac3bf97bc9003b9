//! The commands of live delivery against real processes on the loopback address.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test of a program with std"
)]

#[path = "support/common.rs"]
mod common;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use common::{Ran, folder, horizon, objects, run};

fn good(folder: &Path, line: &str) -> Ran {
    let ran = run(folder, line);
    assert_eq!(ran.code, 0, "{line}: {}{}", ran.stdout, ran.stderr);
    ran
}

/// Stops the devnet whatever the test does.
struct Up<'a>(&'a Path);

impl Drop for Up<'_> {
    fn drop(&mut self) {
        let _ = run(self.0, "devnet down --dir net");
    }
}

#[test]
fn a_devnet_delivers_and_every_command_says_so() {
    let folder = folder("live-devnet");
    let up = Up(&folder);
    good(&folder, "devnet up --dir net --interval-ms 200");
    let sent = horizon(
        &folder,
        [
            "--json",
            "send",
            "--devnet",
            "net",
            "--key",
            "net/account.key",
            "--to-network",
            "2",
            "--to-chain",
            "0x0202020202020202020202020202020202020202020202020202020202020202",
            "--text",
            "hello over there",
        ],
    );
    assert_eq!(sent.code, 0, "{}", sent.stderr);
    let id = objects(&sent)[0]["id"].as_str().unwrap().to_owned();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let explained = run(&folder, &format!("--json explain {id} --devnet net"));
        let object = &objects(&explained)[0];
        if object["place"] == "acknowledged" {
            assert_eq!(explained.code, 0);
            assert_eq!(object["delivery"]["state"], "executed");
            break;
        }
        assert!(Instant::now() < deadline, "{}", explained.stdout);
        thread::sleep(Duration::from_millis(100));
    }
    let status = good(&folder, "--json status --devnet net");
    assert_eq!(objects(&status).len(), 9);
    let queue = good(&folder, "queue --devnet net --state acknowledged");
    assert!(queue.stdout.contains(&id), "{}", queue.stdout);
    let files = "net/alpha/validator-0/node.toml net/relayer/relayer.toml";
    good(&folder, &format!("doctor --config {files}"));
    let again = run(&folder, &format!("retry {id} --devnet net"));
    assert_eq!(again.code, 3, "nothing to retry: {}", again.stderr);
    let execution = run(&folder, &format!("retry --execution {id} --devnet net"));
    assert!(matches!(execution.code, 3 | 4), "{}", execution.stderr);
    let unknown = format!("0x{}", "77".repeat(32));
    let lost = run(&folder, &format!("explain {unknown} --devnet net"));
    assert_eq!(lost.code, 4, "{}", lost.stdout);
    drop(up);
    let down = run(&folder, "status --devnet net");
    assert_eq!(down.code, 6, "{}", down.stdout);
}

#[test]
fn a_demo_ends_with_everything_delivered_once_and_no_process_left() {
    let folder = folder("live-demo");
    let dir = folder.join("demo");
    let line = format!(
        "--json demo --quick --messages 2 --interval-ms 200 --dir {}",
        dir.display()
    );
    let ran = good(&folder, &line);
    let objects = objects(&ran);
    let kind = |kind: &str| {
        objects
            .iter()
            .filter(|object| object["kind"] == kind)
            .count()
    };
    assert_eq!(kind("demo.message"), 4);
    assert_eq!(kind("demo.once"), 1);
    let summary = objects.last().unwrap();
    assert_eq!(summary["kind"], "demo.summary");
    let median = &summary["phases"]["source event to delivered"]["median_s"];
    assert!(median.as_f64().unwrap() > 0.0);
    // Children carry the folder in their arguments.
    let left = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(dir.to_str().unwrap())
    });
    assert_eq!(left.count(), 0);
}
