//! Bytes from outside that no honest peer sends, and a peer that is very slow.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use horizon_testkit::SeededRng;

use crate::net::{ALPHA, Net, PATIENCE, VALIDATORS};
use crate::process::{HORIZON, Process, arguments, until};

const SEED: u64 = 0x6761_7262;
/// How long an attacker waits for an answer.
const ANSWER: Duration = Duration::from_secs(5);
/// What a node may need at most while it is fed garbage.
const MEMORY_MAX: u64 = 1 << 30;

/// Writes bytes and returns what comes back until the other side closes or says nothing more.
fn exchange(address: SocketAddr, bytes: &[u8], half_closes: bool) -> Vec<u8> {
    let Ok(mut stream) = TcpStream::connect(address) else {
        return Vec::new();
    };
    stream.set_read_timeout(Some(ANSWER)).unwrap();
    stream.set_write_timeout(Some(ANSWER)).unwrap();
    // The other side may close in the middle.
    let _ = stream.write_all(bytes);
    if half_closes {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut answer = Vec::new();
    let _ = stream.take(1 << 20).read_to_end(&mut answer);
    answer
}

#[test]
fn garbage_and_oversized_bytes_stop_no_node() {
    let mut net = Net::alone("garbage", 100);
    let mut rng = SeededRng::new(SEED);
    let node = net.layout.networks[ALPHA].nodes[0].clone();
    let mut open = Vec::new();
    for round in 0..40_usize {
        let mut bytes = rng.vec(1 << (round % 18));
        match round % 4 {
            // A length beyond every limit.
            0 => bytes
                .splice(0..bytes.len().min(4), [0xff; 4])
                .for_each(drop),
            1 => bytes.insert(0, 0),
            _ => {}
        }
        exchange(node.links, &bytes, true);
        // Others say nothing and stay.
        open.extend(TcpStream::connect(node.links));
    }
    let huge = "a".repeat(1 << 20);
    let requests = [
        "\u{0}\u{1}\u{2}\r\n\r\n".to_owned(),
        format!("GET /{huge} HTTP/1.1\r\nhost: x\r\n\r\n"),
        format!("GET /v1/status HTTP/1.1\r\nhost: x\r\nx: {huge}\r\n\r\n"),
        "POST /v1/envelopes HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\nx".to_owned(),
        "POST /v1/envelopes HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n".to_owned(),
        format!(
            "POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\n\
             content-length: {}\r\n\r\n{huge}{huge}",
            2 << 20
        ),
        "POST /v1/retry HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n"
            .to_owned(),
        "GET /v1/messages?after=-1&limit=99999999999999999999 HTTP/1.1\r\nhost: x\r\n\r\n"
            .to_owned(),
        "GET /v1/blocks/18446744073709551616 HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
    ];
    for request in &requests {
        let answer = exchange(node.api, request.as_bytes(), true);
        let text = String::from_utf8_lossy(&answer);
        let status = text.split(' ').nth(1).unwrap_or_default().to_owned();
        let head: String = request.chars().take(60).collect();
        // Closed without an answer, or an answer that says what the sender did wrong.
        assert!(
            status.is_empty() || status.starts_with('4'),
            "{head:?}: {text}"
        );
    }
    for round in 0..20 {
        let bytes = rng.vec(64 + round * 977);
        let mut request = format!(
            "POST /v1/{} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             content-type: application/octet-stream\r\ncontent-length: {}\r\n\r\n",
            ["envelopes", "messages"][round % 2],
            bytes.len()
        )
        .into_bytes();
        request.extend(bytes);
        let answer = exchange(node.api, &request, false);
        assert!(
            answer.starts_with(b"HTTP/1.1 4"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    net.assert_alive();
    let tip = net.tip(ALPHA);
    for index in 0..VALIDATORS {
        net.await_height(ALPHA, index, tip + 10);
        net.await_ready(ALPHA, index);
    }
    let memory = net.processes[&net.name(ALPHA, 0)].peak_memory();
    assert!(memory < MEMORY_MAX, "{} MiB", memory >> 20);
    drop(open);
}

/// Passes connections on. Those of one validator, which says in its first bytes who it is, and
/// those to it, are slow while `slow` is set.
struct Proxy {
    slow: Arc<AtomicBool>,
    trickled: Arc<AtomicU64>,
}

/// Bytes that pass at once on a slow connection, and the pause after them: 4 kB/s.
const DROP: usize = 200;
const PAUSE: Duration = Duration::from_millis(50);

impl Proxy {
    /// Listens where the genesis says; `to` is where the validator really is.
    fn start(&self, listener: TcpListener, to: SocketAddr, always: bool, identity: [u8; 32]) {
        let (slow, trickled) = (Arc::clone(&self.slow), Arc::clone(&self.trickled));
        // Threads end with the test process, or with their connections.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (slow, trickled) = (Arc::clone(&slow), Arc::clone(&trickled));
                thread::spawn(move || {
                    // One side is gone: nothing to pass on.
                    let _ = pass(stream, to, always, identity, slow, trickled);
                });
            }
        });
    }
}

fn pass(
    mut from: TcpStream,
    to: SocketAddr,
    always: bool,
    identity: [u8; 32],
    slow: Arc<AtomicBool>,
    trickled: Arc<AtomicU64>,
) -> io::Result<()> {
    let mut to = TcpStream::connect(to)?;
    let mut head = [0; 256];
    let len = from.read(&mut head)?;
    to.write_all(&head[..len])?;
    let is_slow = always || head[..len].windows(32).any(|window| window == identity);
    let back = (to.try_clone()?, from.try_clone()?);
    let (slow_back, trickled_back) = (Arc::clone(&slow), Arc::clone(&trickled));
    let other = thread::spawn(move || pump(back.0, back.1, is_slow, &slow_back, &trickled_back));
    pump(from, to, is_slow, &slow, &trickled);
    let _ = other.join();
    Ok(())
}

fn pump(
    mut from: TcpStream,
    mut to: TcpStream,
    is_slow: bool,
    slow: &AtomicBool,
    count: &AtomicU64,
) {
    let mut buffer = [0; 16 << 10];
    loop {
        let trickles = is_slow && slow.load(Ordering::Relaxed);
        let most = if trickles { DROP } else { buffer.len() };
        match from.read(&mut buffer[..most]) {
            Ok(len) if len > 0 && to.write_all(&buffer[..len]).is_ok() => {
                if trickles {
                    count.fetch_add(len as u64, Ordering::Relaxed);
                    thread::sleep(PAUSE);
                }
            }
            _ => break,
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_peer_whose_links_trickle_slows_nobody_down() {
    let mut net = Net::new("slow", 100);
    let genesis = std::fs::read_to_string(net.root.join("alpha/genesis.json")).unwrap();
    let genesis = horizon_ledger::Genesis::from_json(&genesis).unwrap();
    let slow_name = net.name(ALPHA, 3);
    let validators = &genesis.spec().validators;
    let slow = validators
        .iter()
        .find(|validator| validator.name == slow_name)
        .unwrap();
    let proxy = Proxy {
        slow: Arc::new(AtomicBool::new(true)),
        trickled: Arc::default(),
    };
    for index in 0..VALIDATORS {
        let node = net.layout.networks[ALPHA].nodes[index].clone();
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let real = free.local_addr().unwrap();
        drop(free);
        let listener = TcpListener::bind(node.links).unwrap();
        proxy.start(listener, real, index == 3, slow.identity);
        let program = net.program(&node.name);
        let mut command = std::process::Command::new(HORIZON);
        arguments(&mut command, &program);
        command.env("HORIZON_LISTEN", real.to_string());
        let process = Process::spawn(&program.name, &program.log, command);
        net.processes.insert(program.name, process);
    }
    for index in 0..3 {
        net.await_ready(ALPHA, index);
    }
    until("the slow one has links", PATIENCE, || {
        proxy.trickled.load(Ordering::Relaxed) > 10_000
    });
    let (start, since) = (net.tip(ALPHA), Instant::now());
    for index in 0..3 {
        net.await_height(ALPHA, index, start + 50);
    }
    eprintln!(
        "50 blocks beside a slow peer: {:.1} s",
        since.elapsed().as_secs_f64()
    );
    net.assert_alive();
    proxy.slow.store(false, Ordering::Relaxed);
    let tip = net.tip(ALPHA);
    net.await_height(ALPHA, 3, tip);
    net.await_ready(ALPHA, 3);
    net.assert_no_fork(ALPHA);
}
