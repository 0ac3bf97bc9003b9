//! Measures the wrapper: setup, proof by stage, verification, batches, key points, beside native
//! verification of the same signatures.
//!
//! `measure SLOTS KEY_FILE` makes the key file with a published seed if it is not there.

use core::error::Error;
use core::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use horizon_groth16::artifact::Artifact;
use horizon_groth16::batch::{BatchItem, BatchWrapper, verify_batch};
use horizon_groth16::key_image::PUBLIC_KEY_LEN;
use horizon_groth16::points::KeyTable;
use horizon_groth16::prove::circuit::Circuit;
use horizon_groth16::prove::key::ProvingKey;
use horizon_groth16::prove::progress::Progress;
use horizon_groth16::prove::prover::{Options, prove};
use horizon_groth16::prove::setup::{SetupSpec, setup_test};
use horizon_groth16::prove::witness::{Vote, assign};
use horizon_groth16::statement::{Member, Statement};
use horizon_groth16::verify::verify;
use horizon_groth16::vk::{Accept, Profile, VerifyingKey};
use horizon_sig::mldsa::{ParameterSet, SigningKey};
use horizon_sig::traits::Verifier as _;
use horizon_testkit::SeededRng;

const CONTEXT: &[u8] = b"lux-warp-cross-chain-v1";
const MESSAGE: &[u8] = b"a transcript of the usual kind";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let slots: usize = arguments.next().ok_or("SLOTS")?.parse()?;
    let path = arguments.next().ok_or("KEY_FILE")?;
    let path = Path::new(&path);
    let circuit = timed("circuit", || Circuit::new(slots))?;
    line(&format!(
        "{} rows, {} variables",
        circuit.row_count(),
        circuit.variable_count()
    ));
    if !path.exists() {
        let spec = SetupSpec {
            profile: Profile::Roster,
            slots,
        };
        let seed = b"measurements";
        timed("setup", || {
            setup_test(&circuit, spec, path, seed, &mut stage_times())
        })?;
    }
    let proving = ProvingKey::open(path)?;
    let key = timed("verifying key from proving key", || proving.verifying_key())?;
    let bytes = key.to_bytes();
    let key = timed("load of the verifying key", || {
        VerifyingKey::from_bytes(&bytes, Accept::Development)
    })?;
    let mut rng = SeededRng::new(1);
    let keys = (0..slots)
        .map(|_| SigningKey::generate(ParameterSet::MlDsa65, &mut rng))
        .collect::<Result<Vec<_>, _>>()?;
    let publics = keys
        .iter()
        .map(|key| key.verifying_key().key_bytes().try_into())
        .collect::<Result<Vec<[u8; PUBLIC_KEY_LEN]>, _>>()?;
    let signatures = keys
        .iter()
        .map(|key| key.sign_deterministic(CONTEXT, MESSAGE))
        .collect::<Result<Vec<_>, _>>()?;
    let votes: Vec<Vote<'_>> = publics
        .iter()
        .zip(&signatures)
        .map(|(key, signature)| Vote {
            member: Member {
                key: Some(key),
                weight: 1,
            },
            signature: Some(signature),
        })
        .collect();
    let statement = Statement {
        message: MESSAGE,
        context: CONTEXT,
        inputs_hash: [7; 32],
        weight_min: slots as u64,
    };
    let assignment = timed("witness", || assign(&circuit, &statement, &votes))?;
    let proof = timed("proof", || {
        let watch = &mut stage_times();
        prove(&circuit, &proving, &assignment, &mut Options::new(), watch)
    })?;
    line(&format!("peak memory {} MB", peak_memory_mb()));
    let members: Vec<Member<'_>> = votes.iter().map(|vote| vote.member).collect();
    let table = timed("key points", || KeyTable::new(&key, [1; 32], &members))?;
    let artifact = Artifact {
        proof,
        inputs_hash: statement.inputs_hash,
    };
    let wire = artifact.to_bytes();
    repeated("decode", 200, || {
        Artifact::from_bytes(&wire).map(drop).map_err(Into::into)
    })?;
    repeated("verify, decoded", 200, || {
        verify(&key, &table, &statement, &artifact)
            .map(drop)
            .map_err(Into::into)
    })?;
    for count in [1, 2, 4, 8, 16, 32, 64] {
        let name = format!("decode and batch of {count}, per proof");
        let start = cpu_seconds();
        for _ in 0..5 {
            let decoded = (0..count)
                .map(|_| Artifact::from_bytes(&wire))
                .collect::<Result<Vec<_>, _>>()?;
            let items: Vec<_> = decoded
                .iter()
                .map(|artifact| BatchItem {
                    table: &table,
                    statement,
                    wrapper: BatchWrapper::Roster(artifact),
                })
                .collect();
            let _witness = verify_batch(&key, &items, &mut rng)?;
        }
        let each = (cpu_seconds() - start) / (5.0 * f64::from(count));
        line(&format!("{name}: {:.3} ms", 1e3 * each));
    }
    repeated("native verification of all signatures", 50, || {
        for (key, signature) in keys.iter().zip(&signatures) {
            let _witness = key.verifying_key().verify(CONTEXT, MESSAGE, signature)?;
        }
        Ok(())
    })
}

fn repeated(
    name: &str,
    times: u32,
    work: impl Fn() -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let start = cpu_seconds();
    for _ in 0..times {
        work()?;
    }
    let each = (cpu_seconds() - start) / f64::from(times);
    line(&format!("{name}: {:.3} ms", 1e3 * each));
    Ok(())
}

fn timed<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let out = work();
    let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    line(&format!("{name}: {cpu:.2} s of CPU, {wall:.2} s"));
    out
}

fn stage_times() -> impl FnMut(Progress) -> ControlFlow<()> {
    let mut start = 0.0;
    move |progress| {
        if progress.done == 0 {
            start = cpu_seconds();
        }
        if progress.done == progress.total {
            let (name, cpu) = (progress.stage.name(), cpu_seconds() - start);
            line(&format!(
                "  {name}: {cpu:.2} s of CPU, {:.2} s",
                progress.seconds
            ));
        }
        ControlFlow::Continue(())
    }
}

/// User and system time of this process.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    let ticks = |index: usize| -> f64 {
        fields
            .get(index)
            .and_then(|field| field.parse().ok())
            .unwrap_or(0.0)
    };
    (ticks(12) + ticks(13)) / 100.0
}

fn peak_memory_mb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[expect(
    clippy::print_stdout,
    reason = "a measuring program prints its measurements"
)]
fn line(text: &str) {
    println!("{text}");
}
