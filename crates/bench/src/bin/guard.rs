//! Guards hot paths against regressions by counting instructions, which another job on the machine
//! does not change.
//!
//! ```text
//! guard check     counts under valgrind and compares with data/guard.json; exit code 3 on growth
//! guard update    counts and stores
//! guard run       runs every path once: what is counted
//! ```
//!
//! Valgrind hides AVX-512, so the counted code is the AVX2 code.

#![allow(clippy::print_stdout, reason = "a program")]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a program with std"
)]

use core::hint::black_box;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use horizon_bench::Failed;
use horizon_bench::fixture::{BATCH, Fixture, assignment};
use horizon_bench::source::{Source, context};
use horizon_hash::parallelhash::parallel_hash256;
use horizon_hash::sponge::sha3_256;
use horizon_hash::suite::Suite;
use horizon_pulsar::hazmat::local::InProcess;
use horizon_pulsar::{PreparedKey, Signature, verify};
use horizon_ring::backend::{self, Kind};
use horizon_ring::ntt::Scale;
use horizon_ring::{N, modulus};
use horizon_sig::cache::{Limits, VerifiedCache};
use horizon_sig::{bls, mldsa};
use horizon_testkit::SeededRng;
use horizon_testkit::instructions::count;
use horizon_warp::policy::Tier;
use horizon_warp::prism::Schedule;
use horizon_warp::{Envelope, verify_bytes};
use serde::{Deserialize, Serialize};

/// Growth that fails the check.
const GROWTH_MAX: f64 = 0.05;

/// Counts as stored.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    /// Compiler of the counted build.
    rustc: String,
    /// Backend of the ring under valgrind.
    backend: String,
    /// Instructions by path.
    counts: BTreeMap<String, u64>,
}

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        Some("run") => run().map(|()| true),
        Some("check") => check(),
        Some("update") => update().map(|()| true),
        _ => {
            eprintln!("guard check | update | run");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(3),
        Err(failed) => {
            eprintln!("guard: {failed}");
            ExitCode::FAILURE
        }
    }
}

fn stored_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/guard.json")
}

fn check() -> Result<bool, Failed> {
    let stored: Stored = serde_json::from_slice(&fs::read(stored_path())?)?;
    let now = measure()?;
    if (&stored.rustc, &stored.backend) != (&now.rustc, &now.backend) {
        println!(
            "stored with {}, {}; now {}, {}: differences may be theirs",
            stored.rustc, stored.backend, now.rustc, now.backend
        );
    }
    let mut failed = 0;
    for (name, before) in &stored.counts {
        let Some(count) = now.counts.get(name) else {
            println!("{name:<28} is stored and no longer counted: run `just bench-guard update`");
            failed += 1;
            continue;
        };
        let change = *count as f64 / *before as f64 - 1.0;
        let verdict = match change {
            c if c > GROWTH_MAX => {
                failed += 1;
                "GREW: find out why, or run `just bench-guard update` and say why in the commit"
            }
            c if c < -GROWTH_MAX => "shrank: `just bench-guard update` keeps the gain",
            _ => "ok",
        };
        println!(
            "{name:<28} {count:>12} {:>+7.2} % {verdict}",
            change * 100.0
        );
    }
    for name in now
        .counts
        .keys()
        .filter(|name| !stored.counts.contains_key(*name))
    {
        println!("{name:<28} is new: run `just bench-guard update`");
        failed += 1;
    }
    println!(
        "{} passed, {failed} failed",
        stored.counts.len().saturating_sub(failed)
    );
    Ok(failed == 0)
}

fn update() -> Result<(), Failed> {
    let text = serde_json::to_string_pretty(&measure()?)? + "\n";
    Ok(fs::write(stored_path(), text)?)
}

/// Runs this program under callgrind and reads what it leaves behind.
fn measure() -> Result<Stored, Failed> {
    let folder = std::env::temp_dir().join(format!("horizon-guard-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let counts = under_callgrind(&folder);
    fs::remove_dir_all(&folder)?;
    let rustc = Command::new("rustc").arg("--version").output()?;
    Ok(Stored {
        rustc: String::from_utf8_lossy(&rustc.stdout).trim().to_owned(),
        backend: backend_under_valgrind(),
        counts: counts?,
    })
}

fn under_callgrind(folder: &Path) -> Result<BTreeMap<String, u64>, Failed> {
    let ran = Command::new("valgrind")
        .args(["-q", "--tool=callgrind", "--instr-atstart=no"])
        .arg(format!(
            "--callgrind-out-file={}",
            folder.join("out").display()
        ))
        .arg(std::env::current_exe()?)
        .arg("run")
        .output()
        .map_err(|error| Failed(format!("valgrind: {error}")))?;
    if !ran.status.success() {
        return Err(Failed(format!(
            "valgrind: {}",
            String::from_utf8_lossy(&ran.stderr)
        )));
    }
    let mut counts = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let text = fs::read_to_string(entry?.path())?;
        let after = |mark: &str| {
            let line = text.lines().find(|line| line.starts_with(mark));
            line.and_then(|line| line.strip_prefix(mark)).map(str::trim)
        };
        // The dump at the end of the program has no name and counts nothing.
        let name = after("desc: Trigger: Client Request:");
        let total = after("totals:");
        if let (Some(name), Some(total)) = (name, total) {
            counts.insert(name.to_owned(), total.parse()?);
        }
    }
    if counts.is_empty() {
        return Err(Failed("callgrind counted nothing".to_owned()));
    }
    Ok(counts)
}

/// The best that valgrind shows to a program, as far as this machine and build have it.
fn backend_under_valgrind() -> String {
    let active = Kind::active().name();
    if active == "avx512" { "avx2" } else { active }.to_owned()
}

/// Every counted path, each once after one run that is not counted.
fn run() -> Result<(), Failed> {
    ring_and_hash();
    envelope()?;
    committee()
}

fn path<T>(name: &str, mut run: impl FnMut() -> Result<T, Failed>) -> Result<(), Failed> {
    black_box(run()?);
    black_box(count(name, &mut run)?);
    Ok(())
}

fn ring_and_hash() {
    let mut rng = SeededRng::new(1);
    let inputs: Vec<[u64; N]> = (0..32)
        .map(|_| core::array::from_fn(|_| rng.below(modulus::Q)))
        .collect();
    let mut out = [0; N];
    let mut transforms = || {
        for input in black_box(&inputs) {
            backend::forward(Kind::active(), input, Scale::One, &mut out);
        }
    };
    transforms();
    count("ntt-forward-32", &mut transforms);
    let bytes = rng.vec(64 << 10);
    let _ = sha3_256(&bytes);
    count("sha3-256-64KiB", || black_box(sha3_256(black_box(&bytes))));
    let mut digest = [0; 64];
    let mut parallel =
        || parallel_hash256(8192, b"guard", &[black_box(&bytes[..])], &mut digest).is_ok();
    parallel();
    count("parallelhash256-64KiB", &mut parallel);
}

fn envelope() -> Result<(), Failed> {
    let mut rng = SeededRng::new(2);
    let source = Source::new(7, &mut rng)?;
    let draft = source.seal(&mut rng)?;
    let (registry, policy) = (source.registry()?, source.policy(Tier::Horizon)?);
    let bytes = draft.encode()?;
    let sequential = context(Schedule::Sequential);
    path("envelope-parse", || {
        Ok(Envelope::parse(black_box(&bytes))?.version())
    })?;
    path("transcript", || draft.transcript())?;
    path("horizon-verify-7", || {
        Ok(verify_bytes(black_box(&bytes), &registry, &policy, &sequential)?.tier())
    })?;
    let key = &source.committee.group_key;
    let transcript = draft.transcript()?;
    path("pulse-decode", || {
        Ok(Signature::from_pulse_bytes(black_box(&draft.pulse))?)
    })?;
    let pulse = Signature::from_pulse_bytes(&draft.pulse)?;
    let prepared = PreparedKey::new(key, Suite::PulsarSha3);
    path("pulse-verify-prepared", || {
        Ok(prepared.verify(&transcript, black_box(&pulse))?)
    })?;
    path("pulse-verify-cold", || {
        Ok(verify::verify(
            key,
            Suite::PulsarSha3,
            &transcript,
            black_box(&pulse),
        )?)
    })?;
    let keys = source.beam_keys()?;
    path("beam-verify-7", || {
        let signature = bls::Signature::from_bytes(black_box(&draft.beam))?;
        let message = horizon_bench::source::unsigned()?.encode();
        Ok(bls::AggregateKey::new(&keys)?.verify(&message, &signature)?)
    })?;
    certificate(&mut rng)
}

fn certificate(rng: &mut SeededRng) -> Result<(), Failed> {
    use horizon_sig::traits::Verifier as _;
    let key = mldsa::SigningKey::generate(mldsa::ParameterSet::MlDsa65, rng)?;
    let signature = key.sign_deterministic(b"guard", b"message")?;
    let verifying = key.verifying_key();
    path("ml-dsa-65-verify", || {
        Ok(verifying.verify(b"guard", black_box(b"message"), &signature)?)
    })?;
    let cache = VerifiedCache::new(Limits::default(), rng)?;
    path("cache-hit-ml-dsa-65", || {
        Ok(cache.verify(b"", verifying, b"guard", black_box(b"message"), &signature)?)
    })
}

fn committee() -> Result<(), Failed> {
    let mut rng = SeededRng::new(3);
    let fixture = Fixture::new(5, Suite::PulsarSha3, &mut rng)?;
    let mut member = fixture.planned()?;
    count("committee-reserve", || member.reserve(BATCH, &mut rng))?;
    fixture.commit(&mut member)?;
    let root = count("committee-gather-5", || fixture.gather(&mut member))?;
    fixture.announce(&mut member, root)?;
    let assignment = assignment(b"message");
    black_box(count("committee-answer-5", || {
        member.answer(&assignment, &mut InProcess)
    })?);
    Ok(())
}
