//! A discrete-event simulation of a source network that attests messages.
//!
//! Every validator is one core and one inbound link, both first come, first served. A message becomes
//! final everywhere at once; consensus itself is not simulated.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use horizon_testkit::SeededRng;

use super::{ASSUMED, BEAM_LEN, Costs};

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Network<'c> {
    pub(super) costs: &'c Costs,
    pub(super) validators: u32,
    /// The first of the validators; all of them sign every Pulse.
    pub(super) committee: u32,
    pub(super) quorum: f64,
    /// Messages per second.
    pub(super) rate: f64,
}

/// What came out.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// From final to an envelope at the first member that has every lane, in order of messages, seconds.
    pub(super) latencies: Vec<f64>,
    /// Processor time of a member for one message, seconds.
    pub(super) cpu_s: f64,
    /// Bytes received by a member for one message.
    pub(super) received: f64,
}

const MESSAGES: usize = 96;
/// How long before a message its first rounds start.
const AHEAD_S: f64 = 0.5;
const SEED: u64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Reserve,
    Matrix,
    Attest,
    Certificate,
    Beam,
    Answer,
    Partial,
    Combine,
}

/// Time in nanoseconds, then a running number: equal times keep their order.
type At = Reverse<(u64, u64)>;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// Bytes reach the link of a node.
    Arrives {
        node: usize,
        message: usize,
        job: Job,
    },
    /// A job enters the queue of a node's core.
    Starts {
        node: usize,
        message: usize,
        job: Job,
    },
    /// A job is done.
    Done {
        node: usize,
        message: usize,
        job: Job,
    },
}

#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    certificates: u32,
    matrices: u32,
    partials: u32,
    is_reserved: bool,
    is_final: bool,
    has_beam: bool,
    has_pulse: bool,
}

#[derive(Clone, Debug, Default)]
struct Node {
    core_free_s: f64,
    link_free_s: f64,
    cpu_s: f64,
    received: f64,
    progress: Vec<Progress>,
}

struct State<'n> {
    network: Network<'n>,
    rng: SeededRng,
    queue: BinaryHeap<(At, usize)>,
    events: Vec<(f64, Event)>,
    nodes: Vec<Node>,
    final_s: Vec<f64>,
    ready_s: Vec<Option<f64>>,
}

impl Network<'_> {
    /// Runs until every message has its envelope.
    pub(super) fn run(self) -> Outcome {
        let node = Node {
            progress: vec![Progress::default(); MESSAGES],
            ..Node::default()
        };
        let validators = usize::try_from(self.validators).unwrap_or(0);
        let committee = usize::try_from(self.committee).unwrap_or(0);
        let mut state = State {
            network: self,
            rng: SeededRng::new(SEED),
            queue: BinaryHeap::new(),
            events: Vec::new(),
            nodes: vec![node; validators],
            final_s: Vec::new(),
            ready_s: vec![None; MESSAGES],
        };
        for message in 0..MESSAGES {
            let start = message as f64 / self.rate;
            state.final_s.push(start + AHEAD_S);
            for node in 0..validators {
                if node < committee {
                    state.at(
                        start,
                        Event::Starts {
                            node,
                            message,
                            job: Job::Reserve,
                        },
                    );
                }
                state.at(
                    start + AHEAD_S,
                    Event::Starts {
                        node,
                        message,
                        job: Job::Attest,
                    },
                );
            }
        }
        while let Some((_, index)) = state.queue.pop() {
            if let Some(&(now, event)) = state.events.get(index) {
                state.step(now, event, committee);
            }
        }
        state.outcome(committee)
    }

    /// Processor time of a job, seconds.
    fn cost(&self, job: Job) -> f64 {
        let (costs, t) = (self.costs, f64::from(self.committee));
        match job {
            Job::Reserve => costs.reserve,
            Job::Matrix => costs.gather.at(t) / (t - 1.0),
            Job::Attest => costs.beam_sign + costs.certificate_sign,
            Job::Certificate => costs.certificate_verify,
            Job::Beam => costs.beam.at(self.quorum),
            Job::Answer => costs.answer.at(t),
            // Adding up partials is part of the combination.
            Job::Partial => 0.0,
            Job::Combine => costs.combine.at(t),
        }
    }

    fn len(&self, job: Job) -> f64 {
        match job {
            Job::Matrix => self.costs.matrix_len,
            Job::Certificate => self.costs.certificate_len + BEAM_LEN + ASSUMED.overhead_len,
            Job::Partial => self.costs.partial_len,
            _ => 0.0,
        }
    }
}

impl State<'_> {
    fn at(&mut self, time_s: f64, event: Event) {
        let index = self.events.len();
        #[allow(clippy::cast_sign_loss, reason = "simulated time starts at zero")]
        let time_ns = (time_s * 1e9) as u64;
        let number = u64::try_from(index).unwrap_or(u64::MAX);
        self.queue.push((Reverse((time_ns, number)), index));
        self.events.push((time_s, event));
    }

    fn step(&mut self, now: f64, event: Event, committee: usize) {
        match event {
            Event::Arrives { node, message, job } => {
                let len = self.network.len(job);
                let Some(target) = self.nodes.get_mut(node) else {
                    return;
                };
                target.received += len;
                let done = now.max(target.link_free_s) + len / ASSUMED.link_bytes_s;
                target.link_free_s = done;
                self.at(done, Event::Starts { node, message, job });
            }
            Event::Starts { node, message, job } => {
                let cost = if self.is_needed(node, message, job) {
                    self.network.cost(job)
                } else {
                    0.0
                };
                let Some(target) = self.nodes.get_mut(node) else {
                    return;
                };
                target.cpu_s += cost;
                let done = now.max(target.core_free_s) + cost;
                target.core_free_s = done;
                self.at(done, Event::Done { node, message, job });
            }
            Event::Done { node, message, job } => self.done(now, node, message, job, committee),
        }
    }

    /// Certificates beyond the quorum are received and not verified.
    fn is_needed(&self, node: usize, message: usize, job: Job) -> bool {
        let progress = self
            .nodes
            .get(node)
            .and_then(|node| node.progress.get(message));
        job != Job::Certificate
            || progress.is_some_and(|p| f64::from(p.certificates) < self.network.quorum)
    }

    fn done(&mut self, now: f64, node: usize, message: usize, job: Job, committee: usize) {
        let (quorum, t) = (self.network.quorum, self.network.committee);
        let Some(progress) = self
            .nodes
            .get_mut(node)
            .and_then(|node| node.progress.get_mut(message))
        else {
            return;
        };
        let mut next = None;
        let mut send = None;
        match job {
            Job::Reserve => {
                progress.is_reserved = true;
                send = Some((Job::Matrix, committee));
            }
            Job::Matrix => progress.matrices += 1,
            Job::Attest => {
                progress.is_final = true;
                progress.certificates += 1;
                send = Some((Job::Certificate, self.nodes.len()));
            }
            Job::Certificate => {
                progress.certificates += 1;
                if f64::from(progress.certificates) == quorum {
                    next = Some(Job::Beam);
                }
            }
            Job::Beam => progress.has_beam = true,
            Job::Answer => {
                progress.partials += 1;
                send = Some((Job::Partial, committee));
            }
            Job::Partial => progress.partials += 1,
            Job::Combine => progress.has_pulse = true,
        }
        self.follow(now, node, message, (job, next, send), t);
    }

    /// What a finished job sets off.
    fn follow(
        &mut self,
        now: f64,
        node: usize,
        message: usize,
        (job, next, send): (Job, Option<Job>, Option<(Job, usize)>),
        t: u32,
    ) {
        let progress = self
            .nodes
            .get(node)
            .and_then(|node| node.progress.get(message))
            .copied();
        let progress = progress.unwrap_or_default();
        let answers = matches!(job, Job::Matrix | Job::Attest)
            && progress.is_reserved
            && progress.is_final
            && progress.matrices == t - 1;
        let combines = matches!(job, Job::Answer | Job::Partial) && progress.partials == t;
        let local = [
            next,
            answers.then_some(Job::Answer),
            combines.then_some(Job::Combine),
        ];
        for job in local.into_iter().flatten() {
            self.at(now, Event::Starts { node, message, job });
        }
        if let Some((job, receivers)) = send {
            for other in (0..receivers).filter(|other| *other != node) {
                let (low, high) = ASSUMED.delay_s;
                let part = self.rng.below(1 << 20) as f64 / f64::from(1 << 20);
                let delay = low + (high - low) * part;
                self.at(
                    now + delay,
                    Event::Arrives {
                        node: other,
                        message,
                        job,
                    },
                );
            }
        }
        if progress.has_beam
            && progress.has_pulse
            && let Some(ready) = self.ready_s.get_mut(message)
        {
            ready.get_or_insert(now);
        }
    }

    fn outcome(self, committee: usize) -> Outcome {
        let per = (committee * MESSAGES).max(1) as f64;
        let members = || self.nodes.iter().take(committee);
        let ready = self.ready_s.iter().zip(&self.final_s);
        Outcome {
            latencies: ready
                .filter_map(|(ready, start)| Some((*ready)? - start))
                .collect(),
            cpu_s: members().map(|node| node.cpu_s).sum::<f64>() / per,
            received: members().map(|node| node.received).sum::<f64>() / per,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Line;
    use super::*;

    fn costs() -> Costs {
        let constant = |at_zero| Line {
            at_zero,
            slope: 0.0,
        };
        Costs {
            beam_sign: 3e-4,
            beam_verify_one: 8e-4,
            beam: constant(8e-4),
            certificate_sign: 1e-4,
            certificate_verify: 3e-5,
            pulse_verify: 3e-5,
            reserve: 1e-3,
            gather: constant(4e-3),
            answer: constant(5e-4),
            combine: constant(1e-4),
            hash: 2e-7,
            certificate_len: 3309.0,
            // Ten times a real one: fewer messages fill the link.
            matrix_len: 6_000_000.0,
            partial_len: 14_000.0,
            envelope_base_len: 33_400.0,
            envelope_len_max: 1_048_576.0,
            certificates_max: 306.0,
        }
    }

    fn run(rate: f64) -> Outcome {
        let costs = costs();
        let network = Network {
            costs: &costs,
            validators: 16,
            committee: 5,
            quorum: 11.0,
            rate,
        };
        network.run()
    }

    #[test]
    fn every_message_gets_its_envelope_and_costs_what_its_parts_cost() {
        let outcome = run(2.0);
        assert_eq!(outcome.latencies.len(), MESSAGES);
        let costs = costs();
        let cpu = costs.attest(11.0) + costs.pulse(5.0);
        // Certificates in the queue when the quorum is reached are still verified.
        assert!(
            (outcome.cpu_s / cpu - 1.0).abs() < 0.05,
            "{} {cpu}",
            outcome.cpu_s
        );
        let received = 15.0 * costs.attestation_len() + costs.pulse_bytes(5.0);
        assert!((outcome.received / received - 1.0).abs() < 1e-9);
    }

    #[test]
    fn delays_stay_below_the_limit_and_grow_above_it() {
        let received = 15.0 * costs().attestation_len() + costs().pulse_bytes(5.0);
        let limit = ASSUMED.link_bytes_s / received;
        let growth = |outcome: Outcome| {
            outcome.latencies.last().copied().unwrap_or_default() / outcome.latencies[0]
        };
        assert!(growth(run(0.3 * limit)) < 1.6);
        assert!(growth(run(1.5 * limit)) > 2.0);
    }

    #[test]
    fn equal_seeds_give_equal_runs() {
        assert_eq!(run(5.0).latencies, run(5.0).latencies);
    }
}
