//! What a seed does to its networks.

use core::time::Duration;

use commonware_utils::Probability;
use horizon_consensus::sim::Link;
use horizon_testkit::SeededRng;

use super::network::Role;

/// One fault at a time in simulated milliseconds, on one network.
#[derive(Clone, Debug)]
pub struct Event {
    pub at_ms: u64,
    pub network: usize,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum What {
    /// A validator loses power and comes back.
    Crash {
        at: u16,
        down_ms: u64,
        tear: Option<u64>,
    },
    /// A validator loses power at this many writes from now, wherever that is.
    PowerAt { at: u16, operations: u64 },
    /// Everybody loses power.
    Blackout { down_ms: u64 },
    /// The network falls apart for a while.
    Partition { group: Vec<u16>, for_ms: u64 },
    /// A validator is replaced by a copy of itself from this long ago.
    OldCopy { at: u16, age_ms: u64 },
    /// A copy from this long ago is started beside the validator.
    Clone { at: u16, age_ms: u64 },
    /// A relayer dies at this many commits from now.
    Relay { which: usize, commits: u64 },
    /// The disk of a relayer fails at this many writes from now.
    RelayDisk { which: usize, operations: u64 },
}

/// One message to be sent.
#[derive(Clone, Debug)]
pub struct Call {
    pub at_ms: u64,
    pub is_ordered: bool,
    pub recipient: &'static [u8],
    pub body: Vec<u8>,
}

/// What the links of a network are like.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub latency_ms: u64,
    pub jitter_ms: u64,
    /// Of 100 messages.
    pub lost: u64,
}

impl Way {
    pub fn link(self) -> Link {
        Link {
            latency: Duration::from_millis(self.latency_ms),
            jitter: Duration::from_millis(self.jitter_ms),
            success_rate: Probability::new(100 - self.lost, 100).unwrap(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub links: [Way; 2],
    pub roles: [Option<(u16, Role)>; 2],
    pub disorder: bool,
    /// Of 100 requests of a relayer.
    pub loss: u64,
    /// Whether one of the two relayers withholds messages.
    pub withholds: bool,
    pub calls: [Vec<Call>; 2],
    pub events: Vec<Event>,
}

impl Plan {
    pub fn draw(seed: u64) -> Self {
        let mut rng = SeededRng::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x51);
        let links = [link(&mut rng), link(&mut rng)];
        let roles = [role(&mut rng), role(&mut rng)];
        let calls = [calls(&mut rng), calls(&mut rng)];
        let mut events = Vec::new();
        for (network, role) in roles.iter().enumerate() {
            let faulty = role.map(|(at, _)| at);
            let mut at_ms = 3_500 + rng.below(2_000);
            for _ in 0..rng.below(4) {
                let what = fault(&mut rng, faulty);
                let long = matches!(what, What::OldCopy { .. } | What::Clone { .. });
                events.push(Event {
                    at_ms,
                    network,
                    what,
                });
                at_ms += 1_000 + rng.below(3_000);
                if long {
                    break;
                }
            }
        }
        events.sort_by_key(|event| event.at_ms);
        Self {
            seed,
            links,
            roles,
            disorder: rng.below(2) == 0,
            loss: [0, 5, 20][rng.index(3)],
            withholds: rng.below(3) == 0,
            calls,
            events,
        }
    }
}

fn link(rng: &mut SeededRng) -> Way {
    Way {
        lost: [0, 1, 3, 8][rng.index(4)],
        latency_ms: 2 + rng.below(50),
        jitter_ms: rng.below(25),
    }
}

fn role(rng: &mut SeededRng) -> Option<(u16, Role)> {
    let roles = [
        Role::Equivocator,
        Role::GarbagePartials,
        Role::WithheldMatrices,
        Role::GarbageAttestations,
        Role::Censor,
        Role::Forger,
    ];
    let at = u16::try_from(rng.below(4)).unwrap();
    (rng.below(3) > 0).then(|| (at, roles[rng.index(roles.len())]))
}

fn calls(rng: &mut SeededRng) -> Vec<Call> {
    (0..2 + rng.below(2))
        .map(|_| {
            let is_ordered = rng.below(2) == 0;
            let at_ms = 2_000 + rng.below(6_000);
            let (recipient, body): (&[u8], Vec<u8>) = match rng.below(3) {
                0 => (b"counter", rng.below(1_000).to_be_bytes().to_vec()),
                1 => (b"gate", b"closed".to_vec()),
                _ => {
                    let len = rng.index(200);
                    (b"journal", rng.vec(len))
                }
            };
            Call {
                at_ms,
                is_ordered,
                recipient,
                body,
            }
        })
        .collect()
}

fn fault(rng: &mut SeededRng, faulty: Option<u16>) -> What {
    let mut at = u16::try_from(rng.below(4)).unwrap();
    if Some(at) == faulty {
        at = (at + 1) % 4;
    }
    let down_ms = 500 + rng.below(3_000);
    let tear = (rng.below(2) == 0).then(|| rng.next());
    let which = rng.index(4);
    match rng.below(10) {
        0 | 1 => What::Crash { at, down_ms, tear },
        2..=4 => What::PowerAt {
            at,
            operations: 1 + rng.below(60),
        },
        5 => What::Blackout { down_ms },
        6 => {
            let group = if rng.below(2) == 0 {
                vec![at]
            } else {
                vec![at, (at + 1) % 4]
            };
            What::Partition {
                group,
                for_ms: 1_000 + rng.below(5_000),
            }
        }
        7 => What::OldCopy { at, age_ms: 5_000 },
        8 => What::Clone { at, age_ms: 5_000 },
        _ if rng.below(2) == 0 => What::Relay {
            which,
            commits: 1 + rng.below(12),
        },
        _ => What::RelayDisk {
            which,
            operations: 1 + rng.below(40),
        },
    }
}
