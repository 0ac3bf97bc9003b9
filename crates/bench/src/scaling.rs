//! Scaling beyond one machine: computed from the measured costs and sizes of one, and checked against
//! a simulated network.
//!
//! Every number here is a measured cost or size, or one of the constants of [`Assumptions`], which the
//! report states. Nothing is fitted to a wish: cost over committee size is a straight line through two
//! measured sizes.

mod simulation;

use crate::measure::quantile;
use crate::result::Results;
use crate::tables::Figure;
use simulation::{Network, Outcome};

/// What is assumed and not measured.
#[derive(Clone, Copy, Debug)]
pub struct Assumptions {
    /// Bandwidth of a validator in each direction, bytes per second.
    pub link_bytes_s: f64,
    /// Bytes of headers and sender around an attestation.
    pub overhead_len: f64,
    /// Smallest and largest delay between two validators, seconds.
    pub delay_s: (f64, f64),
    /// Messages of one bundle under one root.
    pub bundle_len: f64,
}

/// The assumptions of the report: one gigabit per second, one continent to another.
pub const ASSUMED: Assumptions = Assumptions {
    link_bytes_s: 125e6,
    overhead_len: 128.0,
    delay_s: (0.02, 0.1),
    bundle_len: 1024.0,
};

/// A table of the section.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Heading.
    pub title: &'static str,
    /// What it shows, how it was computed and what follows.
    pub text: String,
    /// Columns.
    pub header: Vec<&'static str>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

/// Costs of one core in seconds and sizes in bytes, as measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    beam_sign: f64,
    beam_verify_one: f64,
    beam: Line,
    certificate_sign: f64,
    certificate_verify: f64,
    pulse_verify: f64,
    reserve: f64,
    gather: Line,
    answer: Line,
    combine: Line,
    hash: f64,
    certificate_len: f64,
    matrix_len: f64,
    partial_len: f64,
    envelope_base_len: f64,
    envelope_len_max: f64,
    certificates_max: f64,
}

/// A straight line.
#[derive(Clone, Copy, Debug)]
struct Line {
    at_zero: f64,
    slope: f64,
}

impl Line {
    fn through((x0, y0): (f64, f64), (x1, y1): (f64, f64)) -> Self {
        let slope = (y1 - y0) / (x1 - x0);
        Self {
            at_zero: y0 - slope * x0,
            slope,
        }
    }

    fn at(self, x: f64) -> f64 {
        self.slope.mul_add(x, self.at_zero)
    }
}

impl Costs {
    /// Reads the costs from a run that measured them all.
    fn of(results: &Results) -> Option<Self> {
        let seconds = |id: &str| Some(results.median_ns(id)? / 1e9);
        let line = |name: &dyn Fn(u32) -> String, low: u32, high: u32| {
            let at = |size: u32| Some((f64::from(size), seconds(&name(size))?));
            Some(Line::through(at(low)?, at(high)?))
        };
        let phase = |phase: &'static str| {
            line(
                &move |k| format!("pulsar/committee-{phase}/sha3,K={k}/{{}}"),
                5,
                21,
            )
        };
        let sha3 = results.time("hash/sha3-256/1MiB")?;
        let pulse_envelope = results.figure("warp/size/pulse,n=21")?;
        Some(Self {
            beam_sign: seconds("sig/sign/bls12-381")?,
            beam_verify_one: seconds("sig/verify/bls12-381/cold")?,
            beam: line(
                &|n| format!("sig/bls-aggregate-verify/n={n}/cold"),
                21,
                1000,
            )?,
            certificate_sign: seconds("sig/sign/ml-dsa-65")?,
            certificate_verify: seconds("sig/verify/ml-dsa-65/cold")?,
            pulse_verify: seconds("warp/pulse-verify/cached")?,
            reserve: seconds("pulsar/committee-reserve/sha3,K=21/{}")?,
            gather: phase("gather")?,
            answer: phase("answer")?,
            combine: phase("combine")?,
            hash: sha3.median_ns / 1e9 / (sha3.bytes? as f64 / KECCAK_BLOCK),
            certificate_len: results.figure("warp/size/certificate")?,
            matrix_len: results.figure("pulsar/size/nonce-matrix")?,
            partial_len: results.figure("pulsar/size/partial")?,
            envelope_base_len: pulse_envelope,
            envelope_len_max: results.figure("warp/size/cap")?,
            certificates_max: results.figure("warp/size/certificates-max")?,
        })
    }

    /// Everything a destination computes for one envelope with `signers` certificates.
    fn verify(&self, signers: f64) -> f64 {
        self.beam.at(signers) + signers * self.certificate_verify + self.pulse_verify
    }

    fn envelope_len(&self, signers: f64) -> f64 {
        self.envelope_base_len + signers * self.certificate_len
    }

    fn attestation_len(&self) -> f64 {
        self.certificate_len + BEAM_LEN + ASSUMED.overhead_len
    }

    /// What one validator computes for one message as a source: sign, check a quorum of others,
    /// aggregate and check the Beam once.
    fn attest(&self, signers: f64) -> f64 {
        self.beam_sign
            + self.certificate_sign
            + (signers - 1.0) * self.certificate_verify
            + self.beam.at(signers)
    }

    /// What one member of a committee of `t` computes for one Pulse.
    fn pulse(&self, t: f64) -> f64 {
        self.reserve + self.gather.at(t) + self.answer.at(t) + self.combine.at(t)
    }

    /// Bytes that reach one member for one Pulse.
    fn pulse_bytes(&self, t: f64) -> f64 {
        (t - 1.0) * (self.matrix_len + self.partial_len)
    }
}

const KECCAK_BLOCK: f64 = 136.0;
const BEAM_LEN: f64 = 96.0;
const VALIDATORS: [u32; 7] = [21, 64, 128, 256, 459, 667, 1000];
const COMMITTEES: [u32; 5] = [14, 21, 32, 64, 128];
/// Messages per second of the traffic table.
const RATES: [f64; 2] = [1.0, 8.0];
const CHAINS: [u32; 5] = [2, 10, 25, 50, 100];
/// Bytes of one validator in a record: Beam key, certificate key, weight, points, node id and name.
const MEMBER_LEN: f64 = 48.0 + 96.0 + 1952.0 + 8.0 + 4.0 + 20.0 + 32.0;

fn quorum(n: u32) -> f64 {
    f64::from(n * 2 / 3 + 1)
}

/// The section's tables; none where the run lacks a cost.
#[must_use]
pub fn sheets(results: &Results) -> Vec<Sheet> {
    let Some(costs) = Costs::of(results) else {
        return Vec::new();
    };
    vec![
        validators(&costs),
        committees(&costs),
        traffic(&costs),
        chains(&costs),
        throughput(&costs),
        check(results),
    ]
}

fn time(seconds: f64) -> String {
    Figure::Ns(seconds * 1e9).to_string()
}

fn bytes(len: f64) -> String {
    Figure::Bytes(len).to_string()
}

fn rate(per_second: f64) -> String {
    if per_second >= 100.0 {
        format!("{per_second:.0}")
    } else {
        format!("{per_second:.1}")
    }
}

fn validators(costs: &Costs) -> Sheet {
    let rows = VALIDATORS
        .iter()
        .map(|&n| {
            let q = quorum(n);
            let fits = q <= costs.certificates_max;
            let inbound = f64::from(n - 1) * costs.attestation_len();
            vec![
                n.to_string(),
                format!("{q:.0}"),
                bytes(costs.envelope_len(q)),
                if fits { "fits" } else { "over the cap" }.to_owned(),
                time(costs.beam.at(q)),
                time(q * costs.certificate_verify),
                time(costs.verify(q)),
                bytes(inbound),
                time(costs.attest(q)),
                time(costs.attest(q) + (q - 1.0) * costs.beam_verify_one),
            ]
        })
        .collect();
    let most = costs.certificates_max;
    Sheet {
        title: "Validators of a source",
        text: format!(
            "One message, signed by the smallest set above two thirds. An envelope of at most {} holds \
             {most:.0} certificates beside a Pulse (found by encoding), so from {} validators on even \
             a quorum does not fit. Up to there the raw certificate set stands; beyond it the design \
             keeps Beam and Pulse in the envelope and needs a compact set (a wrapper, or certificates \
             by reference with data availability), which is not built. The last two columns are one \
             validator's work as a source: shares of the Beam added and checked once, and checked \
             singly.",
            bytes(costs.envelope_len_max),
            first_over(costs),
        ),
        header: vec![
            "validators",
            "signers",
            "envelope",
            "cap",
            "Beam",
            "CertSet",
            "all lanes, one core",
            "attestations in, per validator",
            "CPU per validator",
            "CPU, shares singly",
        ],
        rows,
    }
}

/// The smallest number of validators whose quorum of certificates does not fit.
fn first_over(costs: &Costs) -> u32 {
    (1..=65_536)
        .find(|n| quorum(*n) > costs.certificates_max)
        .unwrap_or(0)
}

fn committees(costs: &Costs) -> Sheet {
    let rows = COMMITTEES
        .iter()
        .map(|&size| {
            let t = f64::from(size);
            let by_cpu = 1.0 / costs.pulse(t);
            let by_link = ASSUMED.link_bytes_s / costs.pulse_bytes(t);
            vec![
                size.to_string(),
                time(costs.pulse(t)),
                time(costs.answer.at(t)),
                bytes(costs.pulse_bytes(t)),
                rate(by_cpu),
                rate(by_link),
                if by_cpu < by_link {
                    "processor"
                } else {
                    "first-round bandwidth"
                }
                .to_owned(),
            ]
        })
        .collect();
    Sheet {
        title: "Committee of the Pulse",
        text: format!(
            "One member of a signing set of t, one core, a link of {} per second. Every member receives \
             a matrix of {} from every other one; that does not depend on the message and is sent \
             ahead, but it bounds the rate. Costs above t = 21 continue the line through 5 and 21. The \
             design keeps the committee small (21 to 32 of the validators) and signs roots of bundles \
             where messages are many.",
            bytes(ASSUMED.link_bytes_s),
            bytes(costs.matrix_len),
        ),
        header: vec![
            "t",
            "CPU per Pulse",
            "of it online",
            "bytes in per Pulse",
            "Pulses per second by CPU",
            "by link",
            "bound by",
        ],
        rows,
    }
}

fn traffic(costs: &Costs) -> Sheet {
    let rows = VALIDATORS
        .iter()
        .flat_map(|&n| RATES.map(|rate| (n, rate)))
        .map(|(n, messages)| {
            let attestations = messages * f64::from(n - 1) * costs.attestation_len();
            let first_rounds = messages * costs.pulse_bytes(f64::from(SIMULATED_COMMITTEE));
            let cpu = costs.attest(quorum(n)) + costs.pulse(f64::from(SIMULATED_COMMITTEE));
            vec![
                n.to_string(),
                rate(messages),
                bytes(attestations),
                bytes(first_rounds),
                bytes(attestations + first_rounds),
                format!(
                    "{:.0} %",
                    (attestations + first_rounds) / ASSUMED.link_bytes_s * 100.0
                ),
                format!("{:.1} %", messages * cpu * 100.0),
            ]
        })
        .collect();
    Sheet {
        title: "Bytes of a validator per second",
        text: format!(
            "What reaches one validator that is a member of the committee of {SIMULATED_COMMITTEE}, \
             when everybody sends its attestation to everybody. Others receive the attestations alone. \
             From some hundred validators on, fan-in is worth a tree: eight children each give two to \
             four hops and a few attestations per node; the aggregation of shares and bitmaps for that \
             exists in the library, the tree does not."
        ),
        header: vec![
            "validators",
            "messages per second",
            "attestations in",
            "first rounds and partials in",
            "together",
            "of the link",
            "of one core",
        ],
        rows,
    }
}

fn chains(costs: &Costs) -> Sheet {
    let rows = CHAINS
        .iter()
        .flat_map(|&chains| [21, 128].map(|n| (chains, n)))
        .map(|(chains, n)| {
            let (c, q) = (f64::from(chains), quorum(n));
            vec![
                chains.to_string(),
                n.to_string(),
                format!("{:.3}", c * costs.verify(q)),
                bytes(c * costs.envelope_len(q)),
                bytes(c * f64::from(n) * MEMBER_LEN),
                rate(1.0 / (c * costs.verify(q))),
            ]
        })
        .collect();
    Sheet {
        title: "Chains that a destination follows",
        text:
            "Every source sends one envelope per second. The destination verifies on one core; the \
               registry holds the keys of all validators of all sources."
                .to_owned(),
        header: vec![
            "chains",
            "validators each",
            "cores busy",
            "bytes in per second",
            "registry",
            "envelopes per second and chain, one core",
        ],
        rows,
    }
}

fn throughput(costs: &Costs) -> Sheet {
    let (n, t) = (21, 21.0);
    let q = quorum(n);
    let path = ASSUMED.bundle_len.log2().ceil();
    let per_message = [
        ("Beam: one core signs", 1.0 / costs.beam_sign),
        ("CertSet: one core signs", 1.0 / costs.certificate_sign),
        (
            "a validator signs, checks a quorum, aggregates",
            1.0 / costs.attest(q),
        ),
        (
            "attestations over the link",
            ASSUMED.link_bytes_s / (f64::from(n - 1) * costs.attestation_len()),
        ),
        ("Pulse: one core of a member", 1.0 / costs.pulse(t)),
        (
            "Pulse: first rounds over the link",
            ASSUMED.link_bytes_s / costs.pulse_bytes(t),
        ),
        ("destination verifies, one core", 1.0 / costs.verify(q)),
        (
            "destination takes envelopes over the link",
            ASSUMED.link_bytes_s / costs.envelope_len(q),
        ),
    ];
    let bundled = |per_second: f64| match per_second {
        // The path of a message to the root is checked at the destination for every message.
        by if by.is_finite() => {
            let hashing = 1.0 / (path * costs.hash);
            rate((by * ASSUMED.bundle_len).min(hashing))
        }
        _ => String::new(),
    };
    Sheet {
        title: "Messages per second",
        text: format!(
            "21 validators who are all members, a link of {} per second: where each step alone would \
             stop. Every lane of an envelope binds one message today, so the slowest row is the rate \
             of a chain. The last column is the same with bundles of {:.0} messages under one root, \
             each with a path of {path:.0} hashes: the root and its proofs exist, envelopes that carry \
             a path do not.",
            bytes(ASSUMED.link_bytes_s),
            ASSUMED.bundle_len,
        ),
        header: vec!["step", "messages per second", "with bundles"],
        rows: per_message
            .iter()
            .map(|(step, by)| vec![(*step).to_owned(), rate(*by), bundled(*by)])
            .collect(),
    }
}

/// Validators of the simulated network.
const SIMULATED: u32 = 64;
/// Members of its committee.
const SIMULATED_COMMITTEE: u32 = 21;
/// Offered load of the two runs, relative to the computed limit.
const LOADS: [(&str, f64); 2] = [("below", 0.5), ("above", 1.25)];

/// The rate that the formulas give for the simulated network, and what they say about a member.
fn predicted(costs: &Costs) -> (f64, f64, f64) {
    let (q, t) = (quorum(SIMULATED), f64::from(SIMULATED_COMMITTEE));
    let cpu = costs.attest(q) + costs.pulse(t);
    // Attestations that come after the quorum are received all the same.
    let received = f64::from(SIMULATED - 1) * costs.attestation_len() + costs.pulse_bytes(t);
    let limit = (1.0 / cpu).min(ASSUMED.link_bytes_s / received);
    (limit, cpu, received)
}

/// Runs the simulated network below and above the computed limit; figures by name.
#[must_use]
pub fn simulate(results: &Results) -> Vec<(String, f64)> {
    let Some(costs) = Costs::of(results) else {
        return Vec::new();
    };
    let (limit, cpu, received) = predicted(&costs);
    let mut figures = vec![
        ("scaling/limit-per-s".to_owned(), limit),
        ("scaling/predicted/cpu-s".to_owned(), cpu),
        ("scaling/predicted/received".to_owned(), received),
    ];
    for (name, load) in LOADS {
        let network = Network {
            costs: &costs,
            validators: SIMULATED,
            committee: SIMULATED_COMMITTEE,
            quorum: quorum(SIMULATED),
            rate: load * limit,
        };
        let Outcome {
            mut latencies,
            cpu_s,
            received,
        } = network.run();
        let part = latencies.len() / 4;
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
        let first = latencies.get(..part).map(mean).unwrap_or_default();
        let last = latencies
            .get(latencies.len() - part..)
            .map(mean)
            .unwrap_or_default();
        latencies.sort_by(f64::total_cmp);
        let median = quantile(&latencies, 0.5).unwrap_or_default();
        let worst = quantile(&latencies, 0.95).unwrap_or_default();
        for (figure, value) in [
            ("rate", network.rate),
            ("median-s", median),
            ("p95-s", worst),
            ("growth", last / first.max(f64::MIN_POSITIVE)),
            ("cpu-s", cpu_s),
            ("received", received),
        ] {
            figures.push((format!("scaling/{name}/{figure}"), value));
        }
    }
    figures
}

fn check(results: &Results) -> Sheet {
    let figure = |name: String| results.figure(&name).unwrap_or_default();
    let mut rows = vec![vec![
        "computed".to_owned(),
        rate(figure("scaling/limit-per-s".to_owned())),
        String::new(),
        String::new(),
        String::new(),
        time(figure("scaling/predicted/cpu-s".to_owned())),
        bytes(figure("scaling/predicted/received".to_owned())),
    ]];
    for (name, load) in LOADS {
        let at = |what: &str| figure(format!("scaling/{name}/{what}"));
        rows.push(vec![
            format!("simulated at {load} of the limit"),
            rate(at("rate")),
            time(at("median-s")),
            time(at("p95-s")),
            format!("{:.1}x", at("growth")),
            time(at("cpu-s")),
            bytes(at("received")),
        ]);
    }
    Sheet {
        title: "Check by simulation",
        text: format!(
            "A discrete-event simulation of {SIMULATED} validators with a committee of \
             {SIMULATED_COMMITTEE}: one core and one link of {} per second each, delays between {} and \
             {}, the measured costs and sizes above, every attestation sent to everybody, first rounds \
             sent ahead. It is a model of this program's own and runs no cryptography. CPU and bytes \
             are those of one committee member for one message; the growth is the mean delay of the \
             last quarter of the messages over that of the first: near 1 below the limit, growing \
             above it.",
            bytes(ASSUMED.link_bytes_s),
            time(ASSUMED.delay_s.0),
            time(ASSUMED.delay_s.1),
        ),
        header: vec![
            "",
            "messages per second",
            "final to envelope, median",
            "95th percentile",
            "growth",
            "CPU per message",
            "bytes in per message",
        ],
        rows,
    }
}
