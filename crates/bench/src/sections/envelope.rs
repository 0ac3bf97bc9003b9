//! What a destination does with an envelope, step by step and as a whole, serial and parallel.
//!
//! The source has 21 validators, all of whom sign.

use core::hint::black_box;

use horizon_pulsar::PreparedKey;
use horizon_pulsar::Signature as PulseSignature;
use horizon_pulsar::Suite;
use horizon_sig::cache::{Limits, VerifiedCache};
use horizon_testkit::SeededRng;
use horizon_warp::error::Lane;
use horizon_warp::policy::Tier;
use horizon_warp::prism::{Context, Schedule};
use horizon_warp::registry::Registry;
use horizon_warp::{Attestation, SuiteId, Transcript, verify_bytes};
use rayon::ThreadPoolBuilder;

use super::{Fixtures, VALIDATORS};
use crate::clock::{Reading, monotonic_ns};
use crate::failed::Failed;
use crate::measure::{Bench, Clock};
use crate::source::{Draft, Source, context, lineage, unsigned};

pub(super) fn run(bench: &mut Bench<'_>, fixtures: &Fixtures) -> Result<(), Failed> {
    let (source, full) = fixtures.source()?;
    let registry = source.registry()?;
    let tiers = tiers(full)?;
    steps(bench, source, full, &registry)?;
    pulse(bench, source, full)?;
    serial(bench, source, &registry, &tiers)?;
    parallel(bench, source, &registry, &tiers)?;
    breakdown(bench, source, &registry, full)
}

fn tiers(full: &Draft) -> Result<Vec<(Tier, Vec<u8>)>, Failed> {
    let pulse = full.with(|draft| draft.attestation.clear());
    let beam = pulse.with(|draft| draft.pulse.clear());
    Ok(vec![
        (Tier::Classical, beam.encode()?),
        (Tier::Pulse, pulse.encode()?),
        (Tier::Horizon, full.encode()?),
        (Tier::Pq, full.without_beam().encode()?),
    ])
}

/// What happens before any cryptography.
fn steps(
    bench: &mut Bench<'_>,
    source: &Source,
    full: &Draft,
    registry: &Registry,
) -> Result<(), Failed> {
    let key = source.record.key;
    bench.check(&format!("warp/registry-lookup/n={VALIDATORS}"), || {
        registry
            .get(black_box(&key))
            .map(|entry| entry.record().threshold)
    })?;
    let entry = registry.get(&key)?;
    bench.check("warp/suite-match", || {
        let named = SuiteId::from_name(black_box(&full.suite))?;
        if named == entry.record().suite {
            Ok(())
        } else {
            Err(Failed("another suite".to_owned()))
        }
    })?;
    let unsigned = unsigned()?;
    let lineage = lineage();
    bench.time("warp/transcript", || {
        Transcript::new(black_box(&unsigned), &lineage, &full.suite)
    })?;
    bench.check(&format!("warp/certset-parse/n={VALIDATORS}"), || {
        Attestation::parse(black_box(&full.attestation)).map(|parsed| parsed.lane())
    })?;
    let records = vec![source.record.clone()];
    let pins = source.policy(Tier::Horizon)?.pins();
    bench.check(&format!("warp/registry-load/n={VALIDATORS}"), || {
        Registry::load(black_box(records.clone()), &pins)
    })
}

fn pulse(bench: &mut Bench<'_>, source: &Source, full: &Draft) -> Result<(), Failed> {
    let signature = PulseSignature::from_pulse_bytes(&full.pulse)?;
    let key = PreparedKey::new(&source.committee.group_key, Suite::PulsarSha3);
    let transcript = full.transcript()?;
    bench.check("warp/pulse-verify/cached", || {
        key.verify(black_box(&transcript), &signature)
    })
}

fn serial(
    bench: &mut Bench<'_>,
    source: &Source,
    registry: &Registry,
    tiers: &[(Tier, Vec<u8>)],
) -> Result<(), Failed> {
    let sequential = context(Schedule::Sequential);
    for (tier, bytes) in tiers {
        let policy = source.policy(*tier)?;
        bench.check(&format!("warp/verify/{},serial/cold", tier.name()), || {
            verify_bytes(black_box(bytes), registry, &policy, &sequential)
        })?;
    }
    let policy = source.policy(Tier::Horizon)?;
    let full = tiers.iter().find(|(tier, _)| *tier == Tier::Horizon);
    let (_, full) = full.ok_or_else(|| Failed("no full envelope".to_owned()))?;
    let cache = VerifiedCache::new(Limits::default(), &mut SeededRng::new(31))?;
    let remembering = Context {
        cache: Some(&cache),
        ..sequential
    };
    bench.check("warp/verify/horizon,serial/cached", || {
        verify_bytes(black_box(full), registry, &policy, &remembering)
    })?;
    // The last refusal there is: one bit of the Pulse.
    let mut damaged = full.clone();
    let last_lane = damaged.len().saturating_sub(DAMAGE_FROM_END);
    damaged
        .iter_mut()
        .skip(last_lane)
        .take(1)
        .for_each(|byte| *byte ^= 1);
    bench.check(
        "warp/verify/horizon,serial,refused/cold",
        || match verify_bytes(black_box(&damaged), registry, &policy, &sequential) {
            Err(refusal) => Ok(refusal),
            Ok(_) => Err(Failed("a damaged envelope was accepted".to_owned())),
        },
    )
}

/// Inside the last lane of an envelope.
const DAMAGE_FROM_END: usize = 100;

fn parallel(
    bench: &mut Bench<'_>,
    source: &Source,
    registry: &Registry,
    tiers: &[(Tier, Vec<u8>)],
) -> Result<(), Failed> {
    let context = context(Schedule::Parallel);
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        for (tier, bytes) in tiers {
            let policy = source.policy(*tier)?;
            let id = format!("warp/verify/{},wall,threads={threads}/cold", tier.name());
            bench.wall(&id, &pool, || {
                verify_bytes(black_box(bytes), registry, &policy, &context)
            })?;
        }
    }
    Ok(())
}

/// How long each lane of one full verification took, by the verdict's own timings.
fn breakdown(
    bench: &mut Bench<'_>,
    source: &Source,
    registry: &Registry,
    full: &Draft,
) -> Result<(), Failed> {
    let bytes = full.encode()?;
    let policy = source.policy(Tier::Horizon)?;
    let runs = bench.plan().samples * RUNS_PER_SAMPLE;
    for (name, threads, schedule) in [
        ("serial", 1, Schedule::Sequential),
        ("parallel", 2, Schedule::Parallel),
    ] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let context = Context {
            clock: Some(monotonic_ns),
            ..context(schedule)
        };
        for _ in 0..runs {
            let (lanes, total) = pool.install(|| {
                let start = monotonic_ns();
                let verdict = verify_bytes(&bytes, registry, &policy, &context)?;
                let total = monotonic_ns() - start;
                Ok::<_, Failed>((verdict.lanes().to_vec(), total))
            })?;
            let mut record = |part: &str, ns: u64| {
                let reading = Reading {
                    wall: ns as f64,
                    ..Reading::default()
                };
                bench.record(
                    &format!("warp/breakdown/{name},wall/{part}"),
                    Clock::Wall,
                    reading,
                );
            };
            for lane in &lanes {
                let part = match lane.lane {
                    Lane::Beam => "beam",
                    Lane::CertSet => "certset",
                    _ => "pulse",
                };
                record(part, lane.duration_ns.unwrap_or(0));
            }
            record("total", total);
        }
    }
    Ok(())
}

/// Full verifications per sample of the plan: single runs vary more than means do.
const RUNS_PER_SAMPLE: usize = 8;
