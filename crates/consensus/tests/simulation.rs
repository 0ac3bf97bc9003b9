//! A whole network under simulated time, links and disks, with the real ledger on the real store.
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests need std"
)]

use core::time::Duration;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use commonware_runtime::{Clock as _, Runner as _, deterministic};
use horizon_consensus::{
    Error, Fatal,
    engine::Step,
    handle::{Channel, To},
    limits,
    sim::{Dealt, Link, Net, Spec},
};
use horizon_testkit::SeededRng;

const MINUTE: Duration = Duration::from_secs(60);

/// A network without counterparts, the same for every seed of a run.
fn spec(n: u16) -> Spec {
    let dealt = Dealt::new(1, n, n * 2 / 3 + 1, &mut SeededRng::new(7));
    let genesis = dealt.genesis(&[], 200).expect("a genesis");
    Spec::new(genesis, &dealt.secrets).expect("a specification")
}

fn run<F: Future>(seed: u64, body: impl FnOnce(deterministic::Context) -> F) -> F::Output {
    // Shown when the test fails.
    eprintln!("seed {seed}");
    deterministic::Runner::new(
        deterministic::Config::new()
            .with_seed(seed)
            .with_timeout(Some(Duration::from_secs(1200))),
    )
    .start(body)
}

#[test]
fn four_validators_finalise_blocks() {
    run(1, |context| async move {
        let mut net = Net::new(context, spec(4)).await;
        net.start_all().await.expect("starts");
        assert!(net.until(MINUTE, |net| net.all_at(20)).await);
        assert_eq!(net.fork(), None);
    });
}

#[test]
fn blocks_keep_the_interval_of_the_genesis() {
    run(2, |context| async move {
        let mut net = Net::new(context, spec(4)).await;
        net.start_all().await.expect("starts");
        assert!(net.until(MINUTE, |net| net.all_at(5)).await);
        let begin = net.context().current();
        assert!(net.until(MINUTE, |net| net.all_at(55)).await);
        let per_block = begin_to_now(&net, begin) / 50;
        assert!(per_block >= Duration::from_millis(195), "{per_block:?}");
        assert!(per_block <= Duration::from_millis(260), "{per_block:?}");
    });
}

fn begin_to_now(net: &Net, begin: std::time::SystemTime) -> Duration {
    net.context()
        .current()
        .duration_since(begin)
        .expect("time goes on")
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let trace = |seed| {
        run(seed, |context| async move {
            let mut net = Net::new(context, lossy(4)).await;
            net.start_all().await.expect("starts");
            assert!(net.until(MINUTE, |net| net.all_at(10)).await);
            net.trace()
        })
    };
    let first = trace(5);
    assert_eq!(first, trace(5));
    assert_ne!(first, trace(6));
}

fn lossy(n: u16) -> Spec {
    Spec {
        link: Link {
            latency: Duration::from_millis(20),
            jitter: Duration::from_millis(10),
            success_rate: commonware_utils::probability!(0.95),
        },
        ..spec(n)
    }
}

#[test]
fn a_crashed_validator_comes_back_from_its_disk_and_catches_up() {
    run(3, |context| async move {
        let mut net = Net::new(context, lossy(4)).await;
        net.start_all().await.expect("starts");
        assert!(net.until(MINUTE, |net| net.all_at(10)).await);
        net.crash(2);
        assert!(net.until(MINUTE, |net| net.all_at(60)).await);
        net.start(2).await.expect("restarts");
        let back = net.handle(2).expect("it runs").chain().height();
        assert!((10..60).contains(&back), "it resumed at {back}");
        assert!(net.until(2 * MINUTE, |net| net.all_at(100)).await);
        assert_eq!(net.fork(), None);
    });
}

#[test]
fn everybody_may_lose_power_at_once() {
    run(4, |context| async move {
        let mut net = Net::new(context, spec(4)).await;
        net.start_all().await.expect("starts");
        assert!(net.until(MINUTE, |net| net.all_at(15)).await);
        for position in 0..net.len() {
            net.crash(position);
        }
        net.start_all().await.expect("restarts");
        assert!(net.handles().all(|handle| handle.chain().height() >= 15));
        assert!(net.until(MINUTE, |net| net.all_at(40)).await);
        assert_eq!(net.fork(), None);
    });
}

#[test]
fn a_crash_on_either_side_of_the_commit_repeats_and_loses_nothing() {
    for step in [Step::BeforeCommit, Step::AfterCommit] {
        run(7, |context| async move {
            let mut net = Net::new(context, spec(4)).await;
            let reached = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&reached);
            net.set_hook(
                1,
                Some(Arc::new(move |at, height| {
                    let stop = at == step && height == 8;
                    if stop {
                        seen.store(true, Ordering::Relaxed);
                    }
                    !stop
                })),
            );
            net.start_all().await.expect("starts");
            assert!(net.until(MINUTE, |_| reached.load(Ordering::Relaxed)).await);
            net.set_hook(1, None);
            net.crash(1);
            net.start(1).await.expect("restarts");
            let height = net.handle(1).expect("it runs").chain().height();
            let expected = if step == Step::BeforeCommit { 7 } else { 8 };
            assert_eq!(height, expected);
            assert!(net.until(MINUTE, |net| net.all_at(30)).await, "{step:?}");
            assert_eq!(net.fork(), None);
            assert_eq!(net.fatal(1), None);
        });
    }
}

#[test]
fn one_validator_down_slows_and_two_stop_the_network() {
    run(8, |context| async move {
        let mut net = Net::new(context, spec(4)).await;
        net.start_all().await.expect("starts");
        assert!(net.until(MINUTE, |net| net.all_at(5)).await);
        net.crash(3);
        assert!(net.until(MINUTE, |net| net.all_at(30)).await);
        net.crash(2);
        let stalled = net.handle(0).expect("it runs").status().processed + 3;
        assert!(!net.until(MINUTE, |net| net.all_at(stalled)).await);
        net.start(2).await.expect("restarts");
        assert!(net.until(2 * MINUTE, |net| net.all_at(stalled + 10)).await);
        assert_eq!(net.fork(), None);
    });
}

#[test]
fn a_partition_heals_without_a_fork() {
    run(9, |context| async move {
        let mut net = Net::new(context, lossy(4)).await;
        net.start_all().await.expect("starts");
        assert!(net.until(MINUTE, |net| net.all_at(5)).await);
        net.partition(&[0, 1]).await;
        assert!(!net.until(MINUTE / 2, |net| net.all_at(30)).await);
        assert_eq!(net.fork(), None);
        net.heal().await;
        assert!(net.until(2 * MINUTE, |net| net.all_at(40)).await);
        assert_eq!(net.fork(), None);
    });
}

#[test]
fn conflicting_votes_become_a_proof_that_anyone_can_check() {
    run(10, |context| async move {
        let mut net = Net::new(context, spec(4)).await;
        for position in 0..3 {
            net.start(position).await.expect("starts");
        }
        net.start_equivocator(3).await.expect("starts");
        assert!(net.until(MINUTE, |net| !net.evidence().is_empty()).await);
        assert!(net.until(MINUTE, |net| net.all_at(30)).await);
        assert_eq!(net.fork(), None);
        for (reporter, proof) in net.evidence() {
            assert!(reporter < 3);
            let offence = proof.check(net.roster()).expect("it proves");
            assert_eq!(offence.validator, 3);
            let file = proof.to_json().expect("a file");
            let read = horizon_consensus::evidence::Evidence::from_json(&file);
            assert_eq!(read.expect("the file is read"), proof);
        }
    });
}

#[test]
fn a_follower_keeps_up_and_does_not_vote() {
    run(14, |context| async move {
        let mut net = Net::new(context, spec(4)).await;
        net.set_follower(3, true);
        net.start_all().await.expect("starts");
        assert!(net.until(MINUTE, |net| net.all_at(20)).await);
        // Two voters are not enough, so the third one's votes are needed and the follower's missing.
        net.crash(2);
        let stalled = net.handle(0).expect("it runs").status().processed + 3;
        assert!(!net.until(MINUTE, |net| net.all_at(stalled)).await);
        net.set_follower(3, false);
        net.start(3).await.expect("restarts");
        assert!(net.until(2 * MINUTE, |net| net.all_at(stalled + 10)).await);
        assert_eq!(net.fork(), None);
    });
}

#[test]
fn gossip_arrives_with_the_position_of_its_sender() {
    run(11, |context| async move {
        let mut net = Net::new(context, spec(4)).await;
        net.start_all().await.expect("starts");
        assert!(net.until(MINUTE, |net| net.all_at(3)).await);
        for channel in Channel::ALL {
            let mut inbox = net
                .handle(2)
                .and_then(|handle| handle.mesh().take_inbox(channel))
                .expect("the first to ask gets it");
            assert!(
                net.handle(2)
                    .expect("it runs")
                    .mesh()
                    .take_inbox(channel)
                    .is_none()
            );
            let sender = net.handle(1).expect("it runs");
            let big = vec![9; channel.max_bytes()];
            for bytes in [b"hello".to_vec(), big] {
                sender
                    .gossip(channel, To::One(2), bytes.clone().into())
                    .expect("it is queued");
                let received = inbox.recv().await.expect("it arrives");
                assert_eq!((received.from, &received.bytes[..]), (1, &bytes[..]));
            }
            let over = vec![0; channel.max_bytes() + 1];
            assert!(matches!(
                sender.gossip(channel, To::All, over.into()),
                Err(Error::Oversize { .. })
            ));
            assert!(matches!(
                sender.gossip(channel, To::One(4), bytes::Bytes::new()),
                Err(Error::NoSuchValidator(4))
            ));
        }
        // Nobody was cut off by any of this.
        assert!(net.until(MINUTE, |net| net.all_at(12)).await);
    });
}

#[test]
fn every_subscriber_sees_every_final_block_once_and_in_order() {
    run(12, |context| async move {
        let mut net = Net::new(context, spec(4)).await;
        net.start_all().await.expect("starts");
        let handle = net.handle(0).expect("it runs").clone();
        let mut blocks = handle.subscribe().expect("a place is free");
        let mut last = None;
        for _ in 0..15 {
            let block = blocks.recv().await.expect("blocks come");
            let height = block.block().height;
            let stored = handle.chain().store().digest_at(height).expect("it reads");
            assert_eq!(stored.as_ref(), Some(block.digest()), "it is on disk first");
            if let Some(last) = last {
                assert_eq!(height, last + 1);
            }
            last = Some(height);
        }
        let held: Vec<_> = (1..limits::MAX_SUBSCRIBERS)
            .map(|_| handle.subscribe().expect("a place is free"))
            .collect();
        assert!(matches!(handle.subscribe(), Err(Error::TooManySubscribers)));
        drop(held);
        assert!(handle.subscribe().is_ok());
    });
}

#[test]
fn a_store_that_lost_blocks_stops_the_validator() {
    run(13, |context| async move {
        let mut net = Net::new(context, spec(4)).await;
        net.start_all().await.expect("starts");
        assert!(net.until(MINUTE, |net| net.all_at(5)).await);
        let disk = net.disk(0).expect("it has one").clone();
        let old = disk.backup();
        assert!(net.until(MINUTE, |net| net.all_at(15)).await);
        net.crash(0);
        disk.restore(&old);
        net.start(0).await.expect("it opens");
        assert!(net.until(MINUTE, |net| net.fatal(0).is_some()).await);
        let fatal = net.fatal(0).expect("it stopped");
        assert!(matches!(fatal, Fatal::Gap { .. }), "{fatal}");
        assert!(fatal.is_unsafe());
    });
}
