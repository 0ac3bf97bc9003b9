//! Validators as operating-system processes with real sockets, disks and signals.
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    clippy::unwrap_used,
    reason = "tests need std, and panic when something is wrong"
)]

mod network;

use core::time::Duration;
use std::time::Instant;

use horizon_node::process;
use network::{Network, Node};

const START: Duration = Duration::from_secs(60);

/// Not a test by itself: the other tests start this binary again, and it becomes a validator.
#[test]
fn a_child_becomes_a_validator() {
    if let Some(config) = std::env::var_os(network::CHILD) {
        let code = process::run(config.as_ref());
        let text = format!("{code:?}");
        // ExitCode does not show its number; its debug form does.
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        std::process::exit(digits.parse().unwrap_or(1));
    }
}

fn until(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    while !condition() {
        assert!(Instant::now() < end, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn heights(nodes: &[Node]) -> Vec<u64> {
    nodes
        .iter()
        .map(|node| node.height().unwrap_or(0))
        .collect()
}

#[test]
fn four_processes_finalise_and_a_killed_one_catches_up() {
    let network = Network::new(4, 200);
    let mut nodes: Vec<Node> = (0..4).map(|position| network.start(position)).collect();
    until(START, "ten blocks everywhere", || {
        heights(&nodes).iter().all(|height| *height >= 10)
    });
    nodes[1].kill();
    let before = nodes[0].height().unwrap();
    until(START, "blocks with one validator down", || {
        [0, 2, 3]
            .iter()
            .all(|at| nodes[*at].height().unwrap_or(0) >= before + 10)
    });
    nodes[1] = network.start(1);
    let tip = nodes[0].height().unwrap();
    until(START, "the killed one at the tip", || {
        nodes[1].height().unwrap_or(0) >= tip + 5
    });
    for height in 1..=tip {
        let digests: Vec<_> = nodes.iter().map(|node| node.digest(height)).collect();
        assert!(
            digests.iter().all(|digest| digest.is_some()),
            "height {height}"
        );
        assert!(
            digests.windows(2).all(|pair| pair[0] == pair[1]),
            "height {height}"
        );
    }
    until(START, "everybody ready", || {
        nodes.iter().all(Node::is_ready)
    });
    let metrics = nodes[1].get("/metrics").unwrap();
    assert!(metrics.contains("horizon_ledger_height "), "{metrics}");
    assert!(metrics.contains("marshal_processed_height"), "{metrics}");
    for mut node in nodes {
        assert_eq!(node.terminate(), Some(0));
    }
}

#[test]
fn a_wrong_start_ends_with_code_5_and_one_sentence() {
    let network = Network::new(4, 200);
    let refused = |words: &str| {
        let mut node = network.start(0);
        let (code, text) = node.wait();
        assert_eq!(code, Some(5), "{text}");
        assert!(text.contains(words), "{text}");
        let errors = text.lines().filter(|line| line.starts_with("error: "));
        assert_eq!(errors.count(), 1, "{text}");
    };
    let config = std::fs::read_to_string(network.config(0)).unwrap();
    let with = |text: &str| std::fs::write(network.config(0), text).unwrap();

    with(&format!("{config}colour = \"blue\"\n"));
    refused("colour");
    with(&config.replace("genesis.json", "nothing.json"));
    refused("nothing.json");
    with(&config.replace("127.0.0.1", "127.0.0.999"));
    refused("socket address");
    with(&config);

    let link = network.folder(0).join("keys/link.key");
    network::set_mode(&link, 0o644);
    refused("readable by others");
    network::set_mode(&link, 0o600);

    let busy = std::net::TcpListener::bind(network.api(0)).unwrap();
    refused("api");
    drop(busy);

    let data = network.folder(0).join("data");
    std::fs::remove_dir_all(&data).unwrap();
    std::fs::write(&data, b"a file").unwrap();
    refused("not a directory");
    std::fs::remove_file(&data).unwrap();

    // The keys of a stranger.
    let other = Network::new(4, 200);
    std::fs::rename(
        network.folder(0).join("keys"),
        network.folder(0).join("own"),
    )
    .unwrap();
    network::copy_folder(
        &other.folder(0).join("keys"),
        &network.folder(0).join("keys"),
    );
    refused("no validator of the genesis");
}

#[test]
fn a_directory_of_another_network_is_refused() {
    let network = Network::new(4, 200);
    let mut node = network.start(0);
    until(START, "the first start", || node.get("/livez").is_some());
    node.kill();
    // The same keys and validators in a network with another interval: another genesis.
    let mut spec = network.spec();
    spec.block.interval_ms = 300;
    network.write_genesis(&spec);
    let (code, text) = network.start(0).wait();
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("another"), "{text}");
}

#[test]
fn a_second_process_on_the_same_directory_is_refused() {
    let network = Network::new(4, 200);
    let mut first = network.start(0);
    until(START, "the first start", || first.get("/livez").is_some());
    let (code, text) = network
        .start_with(0, &[("HORIZON_LISTEN", "127.0.0.1:0")])
        .wait();
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("another process"), "{text}");
    assert_eq!(first.terminate(), Some(0));
}

#[test]
fn an_old_copy_of_the_directory_is_refused_with_the_way_back() {
    let network = Network::new(4, 200);
    let mut nodes: Vec<Node> = (0..4).map(|position| network.start(position)).collect();
    until(START, "blocks", || {
        heights(&nodes).iter().all(|height| *height >= 5)
    });
    nodes[2].terminate();
    let data = network.folder(2).join("data");
    let copy = network.folder(2).join("copy");
    network::copy_folder(&data, &copy);
    // It goes on for a while, is announced to its peers, and then the copy is put back.
    nodes[2] = network.start(2);
    let tip = nodes[0].height().unwrap();
    until(START, "it to go on", || {
        nodes[2].height().unwrap_or(0) >= tip + 20
    });
    nodes[2].terminate();
    std::fs::remove_dir_all(&data).unwrap();
    network::copy_folder(&copy, &data);
    let (code, text) = network.start(2).wait();
    assert_eq!(code, Some(7), "{text}");
    assert!(
        text.contains("old copy") && text.contains("docs/operations.md"),
        "{text}"
    );

    // The fenced way back: the operator takes the copy on, it follows, and then it signs again.
    let number = |word: &str| -> u64 {
        let after = text.split(word).nth(1).unwrap();
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    };
    let (boot, height) = (number("from start "), number("at height "));
    process::accept_old_copy(&network.config(2), boot, height).unwrap();
    let (code, text) = network.start(2).wait();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("caught up"), "{text}");
    nodes[2] = network.start(2);
    let tip = nodes[0].height().unwrap();
    // With another validator down its votes are needed.
    nodes[1].kill();
    until(START, "its votes", || {
        nodes[2].height().unwrap_or(0) >= tip + 10
    });
}

#[test]
fn parts_of_a_directory_from_different_times_are_refused() {
    let network = Network::new(4, 200);
    let mut node = network.start(0);
    until(START, "the first start", || node.get("/livez").is_some());
    node.terminate();
    let signer = network.folder(0).join("data/signer.redb");
    let old = std::fs::read(&signer).unwrap();
    for _ in 0..2 {
        let mut node = network.start(0);
        until(START, "a start", || node.get("/livez").is_some());
        node.terminate();
    }
    std::fs::write(&signer, old).unwrap();
    let (code, text) = network.start(0).wait();
    assert_eq!(code, Some(7), "{text}");
    assert!(text.contains("different times"), "{text}");
    // A missing guard is no fresh start either.
    std::fs::remove_file(&signer).unwrap();
    let (code, text) = network.start(0).wait();
    assert_eq!(code, Some(7), "{text}");
}
