//! Power cuts.

use std::time::{Duration, Instant};

use horizon_testkit::SeededRng;

use crate::net::{ALPHA, BETA, Net, PATIENCE, RELAYER, VALIDATORS};
use crate::process::until;

const KILLS: usize = 20;
const SEED: u64 = 0x6b69_6c6c;

#[test]
fn twenty_power_cuts_at_random_points_lose_and_repeat_nothing() {
    let mut net = Net::running("kill", 100);
    let mut rng = SeededRng::new(SEED);
    for round in 0..KILLS {
        net.send(round % 2);
        if rng.below(3) == 0 {
            net.send(1 - round % 2);
        }
        // The point at which the plug is pulled, not a wait for anything.
        linger(&mut rng, 500);
        let victim = if round % 5 == 4 {
            RELAYER.to_owned()
        } else {
            net.name(rng.index(2), rng.index(VALIDATORS))
        };
        net.kill(&victim);
        net.send(1 - round % 2);
        linger(&mut rng, 300);
        net.start(&victim);
        // Sometimes the next one falls before this one is back, sometimes not.
        if rng.below(2) == 0 {
            await_answer(&net, &victim);
        }
    }
    for network in [ALPHA, BETA] {
        for index in 0..VALIDATORS {
            net.await_ready(network, index);
        }
    }
    net.assert_exactly_once();
    assert!(net.letters() >= 2 * KILLS);
}

fn linger(rng: &mut SeededRng, most_ms: u64) {
    let end = Instant::now() + Duration::from_millis(rng.below(most_ms));
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn await_answer(net: &Net, name: &str) {
    let relayer = vec![net.relayer.clone()];
    let clients = [net.up(ALPHA), net.up(BETA), relayer].concat();
    let address = (name == RELAYER).then(|| net.layout.relayer.url());
    let mut nodes = net
        .layout
        .networks
        .iter()
        .flat_map(|network| &network.nodes);
    let address = address.or_else(|| nodes.find(|node| node.name == name).map(|node| node.url()));
    let address = address.unwrap();
    let client = clients
        .into_iter()
        .find(|client| client.address().trim_end_matches('/') == address)
        .unwrap();
    until(&format!("{name} answers"), PATIENCE, || {
        net.run(client.readiness()).is_ok()
    });
}
