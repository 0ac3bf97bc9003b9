//! The figures of a demo: latency by phase, bytes, memory.

use std::fs;
use std::time::{Duration, Instant};

use bytes::Bytes;
use horizon_warp::{Context, Envelope, prism};
use serde_json::{Value, json};

use super::stage::Stage;
use super::track::{Row, RowId, Tracker};
use crate::output::Output;

pub(super) struct Summary {
    start: Instant,
    /// Loopback bytes when the demo began.
    loopback: Option<u64>,
    sent: usize,
    phases: Vec<(&'static str, Spread)>,
    throughput: f64,
    degraded: Vec<f64>,
    envelope: Option<Bytes>,
    attacks: Vec<(String, String)>,
    recoveries: Vec<(String, u64, f64)>,
    garbage: Option<(u32, u32, bool)>,
}

/// Median and extremes of a phase, seconds.
#[derive(Clone, Copy)]
struct Spread {
    count: usize,
    least: f64,
    median: f64,
    most: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let count = values.len();
        Some(Self {
            count,
            least: *values.first()?,
            median: *values.get(count / 2)?,
            most: *values.last()?,
        })
    }

    fn json(&self) -> Value {
        json!({"count": self.count, "least_s": self.least, "median_s": self.median,
            "most_s": self.most})
    }
}

/// A phase: name, start, end.
type Phase = (
    &'static str,
    fn(&Row) -> Option<Instant>,
    fn(&Row) -> Option<Instant>,
);

/// Attestation and Pulse run side by side; the envelope waits for the later.
const PHASES: [Phase; 7] = [
    (
        "finality at the source",
        |row| Some(row.sent),
        |row| row.times.fin,
    ),
    (
        "attestation (Beam, CertSet)",
        |row| row.times.fin,
        |row| row.times.quorum,
    ),
    ("Pulse", |row| row.times.fin, |row| row.times.pulse),
    ("build", evidence, |row| row.times.built),
    ("submit", |row| row.times.built, |row| row.times.submitted),
    (
        "destination finality",
        |row| row.times.submitted,
        |row| row.times.delivered,
    ),
    (
        "source event to delivered",
        |row| row.times.fin,
        |row| row.times.delivered,
    ),
];

fn evidence(row: &Row) -> Option<Instant> {
    Some(row.times.quorum?.max(row.times.pulse?))
}

impl Summary {
    pub(super) fn new(start: Instant) -> Self {
        Self {
            start,
            loopback: loopback_bytes(),
            sent: 0,
            phases: Vec::new(),
            throughput: 0.0,
            degraded: Vec::new(),
            envelope: None,
            attacks: Vec::new(),
            recoveries: Vec::new(),
            garbage: None,
        }
    }

    /// Takes the times of the messages that were sent without faults.
    pub(super) fn messages(&mut self, tracker: &Tracker, rows: &[RowId], output: Output) {
        let rows: Vec<&Row> = rows.iter().map(|row| tracker.row(*row)).collect();
        for row in &rows {
            output.object("demo.message", message_json(row));
        }
        let between = |from: fn(&Row) -> Option<Instant>, to: fn(&Row) -> Option<Instant>| {
            let gap = |row: &&Row| Some(seconds(from(row)?, to(row)?));
            Spread::of(rows.iter().filter_map(gap).collect())
        };
        let sent_to_delivered: Phase = (
            "submit to delivered",
            |row| Some(row.sent),
            |row| row.times.delivered,
        );
        let all = PHASES.into_iter().chain([sent_to_delivered]);
        self.phases = all
            .filter_map(|(name, from, to)| Some((name, between(from, to)?)))
            .collect();
        self.sent = rows.len();
        let first = rows.iter().map(|row| row.sent).min();
        let last = rows.iter().filter_map(|row| row.times.delivered).max();
        if let (Some(first), Some(last)) = (first, last) {
            self.throughput = self.sent as f64 / seconds(first, last).max(f64::EPSILON);
        }
    }

    pub(super) fn degraded(&mut self, row: &Row) {
        if let Some(delivered) = row.times.delivered {
            self.degraded.push(seconds(row.sent, delivered));
        }
    }

    pub(super) fn envelope(&mut self, envelope: &Bytes) {
        self.envelope = Some(envelope.clone());
    }

    pub(super) fn attack(&mut self, what: &str, code: &str) {
        self.attacks.push((what.to_owned(), code.to_owned()));
    }

    pub(super) fn recovery(&mut self, name: &str, behind: u64, seconds: f64) {
        self.recoveries.push((name.to_owned(), behind, seconds));
    }

    pub(super) const fn garbage(&mut self, spoiler: u32, failed_sets: u32, left_out: bool) {
        self.garbage = Some((spoiler, failed_sets, left_out));
    }

    pub(super) async fn print(&self, stage: &mut Stage, tracker: &Tracker, output: Output) {
        stage.title("summary");
        output.text(&format!(
            "  {:<30} {:>9} {:>9} {:>9}   {} messages without faults",
            "phase", "least", "median", "most", self.sent
        ));
        for (name, spread) in &self.phases {
            output.text(&format!(
                "  {name:<30} {:>7.0} ms {:>7.0} ms {:>7.0} ms",
                spread.least * 1e3,
                spread.median * 1e3,
                spread.most * 1e3
            ));
        }
        let verify = self.verify(stage);
        if let Some(spread) = &verify {
            output.text(&format!(
                "  {:<30} {:>6.2} ms {:>7.2} ms {:>7.2} ms   Prism, one envelope, this process",
                "verify",
                spread.least * 1e3,
                spread.median * 1e3,
                spread.most * 1e3
            ));
        }
        if let Some(spread) = Spread::of(self.degraded.clone()) {
            output.text(&format!(
                "  {:<30} {:>7.0} ms {:>7.0} ms {:>7.0} ms",
                "the same with one down each",
                spread.least * 1e3,
                spread.median * 1e3,
                spread.most * 1e3
            ));
        }
        output.text(&format!(
            "  throughput of the burst: {:.1} messages/s",
            self.throughput
        ));
        let sizes = self.sizes(output);
        let wire = self.wire(stage, tracker, output).await;
        let memory = memory(stage);
        for (name, bytes) in &memory {
            output.text(&format!("  peak memory of {name}: {:.0} MiB", mib(*bytes)));
        }
        let seconds = self.start.elapsed().as_secs_f64();
        output.text(&format!("  whole demo: {seconds:.1} s"));
        let phases: serde_json::Map<String, Value> = self
            .phases
            .iter()
            .map(|(name, spread)| ((*name).to_owned(), spread.json()))
            .collect();
        let memory: serde_json::Map<String, Value> = memory
            .into_iter()
            .map(|(name, bytes)| (name.to_owned(), json!(bytes)))
            .collect();
        output.object(
            "demo.summary",
            json!({"validators": stage.nodes[0].len(), "messages": self.sent, "phases": phases,
                "verify": verify.as_ref().map(Spread::json),
                "one_down_each": Spread::of(self.degraded.clone()).as_ref().map(Spread::json),
                "messages_per_second": self.throughput, "envelope_bytes": sizes, "wire": wire,
                "peak_memory_bytes": memory, "attacks_refused": self.attacks.len(),
                "recoveries": self.recoveries.iter().map(|(name, behind, seconds)| {
                    json!({"validator": name, "blocks_behind": behind.to_string(),
                        "seconds": seconds})
                }).collect::<Vec<_>>(),
                "garbage": self.garbage.map(|(spoiler, failed_sets, left_out)| {
                    json!({"spoiler": spoiler, "failed_sets": failed_sets, "left_out": left_out})
                }),
                "seconds": seconds}),
        );
    }

    /// Prism over one envelope of this demo, under the destination's own pins.
    fn verify(&self, stage: &Stage) -> Option<Spread> {
        let envelope = self.envelope.as_ref()?;
        let genesis = &stage.genesis[1];
        let context = Context::new(stage.genesis[0].network_id(), 1, crate::sources::now_s());
        let mut times = Vec::new();
        for _ in 0..VERIFY_RUNS {
            let start = Instant::now();
            let verdict =
                prism::verify_bytes(envelope, genesis.registry(), genesis.policy(), &context);
            let elapsed = start.elapsed().as_secs_f64();
            if verdict.is_err() {
                return None;
            }
            times.push(elapsed);
        }
        Spread::of(times)
    }

    fn sizes(&self, output: Output) -> Value {
        let Some(envelope) = &self.envelope else {
            return Value::Null;
        };
        let Ok(parsed) = Envelope::parse(envelope) else {
            return Value::Null;
        };
        let lane = |lane: Option<&[u8]>| lane.map_or(0, <[u8]>::len);
        let (pulse, attestation) = (lane(parsed.pulse()), lane(parsed.attestation()));
        output.text(&format!(
            "  envelope: {} bytes (message and Beam {}, certificates {attestation}, Pulse {pulse})",
            envelope.len(),
            parsed.message().encoded_len()
        ));
        json!({"all": envelope.len(), "message_and_beam": parsed.message().encoded_len(),
            "certset": attestation, "pulse": pulse})
    }

    /// Everything that went over the loopback interface of this machine since the demo began.
    async fn wire(&self, stage: &Stage, tracker: &Tracker, output: Output) -> Value {
        let (Some(before), Some(now)) = (self.loopback, loopback_bytes()) else {
            return Value::Null;
        };
        let bytes = now.saturating_sub(before);
        let blocks = match (stage.status(0, 0).await, stage.status(1, 0).await) {
            (Ok(a), Ok(b)) => a.height + b.height,
            _ => 0,
        };
        let messages = tracker.rows().len();
        output.text(&format!(
            "  loopback traffic of this machine: {:.1} MiB for {messages} messages and {blocks} \
             blocks, everything counted",
            mib(bytes)
        ));
        json!({"loopback_bytes": bytes.to_string(), "messages": messages,
            "blocks": blocks.to_string()})
    }
}

fn message_json(row: &Row) -> Value {
    let since = |at: Option<Instant>| at.map(|at| seconds(row.sent, at));
    let times = &row.times;
    json!({"from": row.from, "nonce": row.nonce.to_string(),
        "id": row.id.map(|id| crate::output::id(&id)), "final_s": since(times.fin),
        "quorum_s": since(times.quorum), "pulse_s": since(times.pulse),
        "built_s": since(times.built), "submitted_s": since(times.submitted),
        "delivered_s": since(times.delivered), "acknowledged_s": since(times.acknowledged)})
}

fn seconds(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from)
        .max(Duration::ZERO)
        .as_secs_f64()
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Greatest peak of resident memory, of validators and of the relayer, bytes.
fn memory(stage: &Stage) -> Vec<(&'static str, u64)> {
    let peak = |name: &str| {
        let status = fs::read_to_string(format!("/proc/{}/status", stage.processes.pid(name)?));
        let status = status.ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib << 10)
    };
    let nodes = stage
        .layout
        .networks
        .iter()
        .flat_map(|network| &network.nodes);
    let validators = nodes.filter_map(|node| peak(&node.name)).max();
    let relayer = peak("relayer");
    [("a validator", validators), ("the relayer", relayer)]
        .into_iter()
        .filter_map(|(name, bytes)| Some((name, bytes?)))
        .collect()
}

/// Bytes received on the loopback interface since the machine started.
fn loopback_bytes() -> Option<u64> {
    let table = fs::read_to_string("/proc/net/dev").ok()?;
    let line = table
        .lines()
        .find_map(|line| line.trim().strip_prefix("lo:"))?;
    line.split_whitespace().next()?.parse().ok()
}

const VERIFY_RUNS: usize = 21;
