//! Many messages at once.
//!
//! `BURST_MESSAGES` says how many (60 by default), and `BURST_OUT` names a file for the figures.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::net::{ALPHA, Net, PATIENCE, RELAYER};
use crate::process::until;

const MESSAGES: u64 = 60;

fn seconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}

#[test]
fn a_backlog_of_messages_is_delivered_once_each() {
    let messages = std::env::var("BURST_MESSAGES").ok();
    let messages: u64 = messages.map_or(MESSAGES, |text| text.parse().unwrap());
    let patience = PATIENCE + Duration::from_secs(messages);
    let mut net = Net::running("burst", 400);
    // With the relayer away, everything waits at the source.
    net.kill(RELAYER);
    let start = Instant::now();
    for _ in 0..messages {
        net.send(ALPHA);
    }
    net.await_final(patience);
    let queued = seconds(start);
    net.start(RELAYER);
    let start = Instant::now();
    net.await_delivered(patience);
    let delivered = seconds(start);
    let relayer = net.relayer.clone();
    until("the queue is empty", patience, || {
        let routes = net.run(relayer.routes());
        routes.is_ok_and(|list| {
            list.routes
                .iter()
                .all(|route| (route.backlog, route.unacknowledged, route.dead) == (0, 0, 0))
        })
    });
    let recovered = seconds(start);
    net.assert_exactly_once();
    let peak = |wanted: fn(&str) -> bool| {
        let matching = net.processes.iter().filter(|(name, _)| wanted(name));
        matching
            .map(|(_, process)| process.peak_memory())
            .max()
            .unwrap()
    };
    let figures = json!({
        "kind": "burst.summary",
        "messages": messages,
        "validators": 4,
        "interval_ms": 400,
        "queued_s": queued,
        "delivered_s": delivered,
        "backlog_recovery_s": recovered,
        "messages_per_second": messages as f64 / delivered,
        "peak_memory_bytes": {
            "a validator": peak(|name| name != RELAYER),
            "the relayer": peak(|name| name == RELAYER),
        },
    });
    eprintln!("{figures}");
    if let Some(path) = std::env::var_os("BURST_OUT") {
        std::fs::write(path, format!("{figures}\n")).unwrap();
    }
}
