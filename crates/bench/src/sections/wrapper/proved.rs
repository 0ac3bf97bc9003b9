//! A key and a proof of the real circuit with one slot, by stage.

use core::ops::ControlFlow;

use horizon_groth16::artifact::{ARTIFACT_LEN, Artifact, Proof};
use horizon_groth16::points::KeyTable;
use horizon_groth16::prove::circuit::{Assignment, Circuit};
use horizon_groth16::prove::key::ProvingKey;
use horizon_groth16::prove::progress::{Progress, unwatched};
use horizon_groth16::prove::prover::{Options, prove};
use horizon_groth16::prove::setup::{SetupSpec, setup_test};
use horizon_groth16::prove::witness::{Vote, assign};
use horizon_groth16::vk::{Profile, VerifyingKey};
use horizon_testkit::SeededRng;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::forged::{members, statement, validators};
use super::{CONTEXT, THREADS, accept};
use crate::clock::{Reading, Watch};
use crate::failed::Failed;
use crate::measure::{Bench, Clock};
use crate::sections::Fixtures;

const SLOTS: usize = 1;
const MESSAGE: &[u8] = b"a transcript of the usual kind";

/// What is left of a proof: enough to verify it.
#[derive(Debug)]
pub(in crate::sections) struct Proved {
    key: VerifyingKey,
    table: KeyTable,
    wire: [u8; ARTIFACT_LEN],
}

/// Setup and proof run once in a run of several passes: they are far too slow for samples.
pub(super) fn run(bench: &mut Bench<'_>, fixtures: &Fixtures) -> Result<(), Failed> {
    let proved = fixtures.proved(|| make(bench))?;
    let stated = statement(MESSAGE, SLOTS);
    bench.check("groth16/prove/verify/n=1/cold", || {
        accept(&proved.key, &proved.table, &stated, &proved.wire)
    })
}

fn make(bench: &mut Bench<'_>) -> Result<Proved, Failed> {
    let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).build();
    let (one, two) = (pool(1)?, pool(THREADS)?);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("key");
    let circuit = Circuit::new(SLOTS)?;
    let spec = SetupSpec {
        profile: Profile::Roster,
        slots: SLOTS,
    };
    let proving = staged(bench, &one, "setup", |watch| {
        setup_test(&circuit, spec, &path, b"measurements", watch)
    })?;
    let key = proving.verifying_key()?;
    bench.figure("groth16/size/proving-key", path.metadata()?.len() as f64);
    bench.figure("groth16/size/verifying-key", key.to_bytes().len() as f64);
    let (signers, publics) = validators(SLOTS, &mut SeededRng::new(63))?;
    let signatures = signers
        .iter()
        .map(|signer| signer.sign_deterministic(CONTEXT, MESSAGE))
        .collect::<Result<Vec<_>, _>>()?;
    let members = members(&publics);
    let votes: Vec<Vote<'_>> = members
        .iter()
        .zip(&signatures)
        .map(|(member, signature)| Vote {
            member: *member,
            signature: Some(signature),
        })
        .collect();
    let stated = statement(MESSAGE, SLOTS);
    let watch = Watch::start();
    let assignment = assign(&circuit, &stated, &votes)?;
    bench.record(&id("prove", "assignment"), Clock::Cpu, watch.stop());
    let proof = staged(bench, &one, "prove", |watch| {
        prove(&circuit, &proving, &assignment, &mut Options::new(), watch)
    })?;
    on_two(bench, &two, (&circuit, &proving, &assignment), &proof)?;
    let inputs_hash = stated.inputs_hash;
    Ok(Proved {
        table: KeyTable::new(&key, [1; 32], &members)?,
        key,
        wire: Artifact { proof, inputs_hash }.to_bytes(),
    })
}

/// The same proof on two threads.
fn on_two(
    bench: &mut Bench<'_>,
    pool: &ThreadPool,
    (circuit, proving, assignment): (&Circuit, &ProvingKey, &Assignment),
    proof: &Proof,
) -> Result<(), Failed> {
    let id = format!("groth16/prove/slots={SLOTS},wall,threads={THREADS}");
    let (again, reading) = pool.install(|| {
        let watch = Watch::start();
        let options = &mut Options::new();
        let proof = prove(circuit, proving, assignment, options, &mut unwatched);
        (proof, watch.stop())
    });
    if again? != *proof {
        return Err(Failed("two threads made another proof".to_owned()));
    }
    bench.record(&id, Clock::Wall, reading);
    Ok(())
}

fn id(what: &str, stage: &str) -> String {
    format!("groth16/{what}/slots={SLOTS}/{}", stage.replace(' ', "-"))
}

/// Runs `work` on the one thread of `pool` and keeps the time of each of its stages and of all.
fn staged<T: Send, E: core::error::Error + Send>(
    bench: &mut Bench<'_>,
    pool: &ThreadPool,
    what: &str,
    work: impl FnOnce(&mut horizon_groth16::prove::progress::Watch<'_>) -> Result<T, E> + Send,
) -> Result<T, Failed> {
    let (made, stages, whole) = pool.install(|| {
        let mut stages: Vec<(&'static str, Reading)> = Vec::new();
        let whole = Watch::start();
        let mut running = Watch::start();
        let made = work(&mut |progress: Progress| {
            if progress.done == 0 {
                running = Watch::start();
            }
            if progress.done == progress.total {
                stages.push((progress.stage.name(), running.stop()));
            }
            ControlFlow::Continue(())
        });
        (made, stages, whole.stop())
    });
    let made = made?;
    for (stage, reading) in stages {
        bench.record(&id(what, stage), Clock::Cpu, reading);
    }
    let id = format!("groth16/{what}/slots={SLOTS}");
    bench.record(&id, Clock::Cpu, whole);
    Ok(made)
}
