//! The Groth16 wrapper: verification alone and in batches, beside native verification of the same
//! signatures; setup and proof by stage.
//!
//! Verification is measured on forged proofs, under keys whose secrets this module knows: that makes
//! 64 different proofs in a second, and what the verifier does depends on the number of public
//! inputs, not on the circuit behind them. A full run also makes a key and a proof with the real
//! circuit and verifies that proof.

mod forged;
mod proved;

use core::hint::black_box;

use horizon_groth16::artifact::{ARTIFACT_LEN, Artifact};
use horizon_groth16::batch::{BatchItem, BatchWrapper, verify_batch};
use horizon_groth16::points::KeyTable;
use horizon_groth16::statement::Statement;
use horizon_groth16::verify::verify;
use horizon_groth16::vk::VerifyingKey;
use horizon_sig::traits::Verifier as _;
use horizon_testkit::SeededRng;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

pub(super) use self::forged::Wrapped;
pub(super) use self::proved::Proved;
use super::{Fixtures, VALIDATORS};
use crate::failed::Failed;
use crate::measure::{Bench, Plan};

/// Proofs in a batch.
const BATCHES: [usize; 4] = [1, 4, 16, 64];
/// Most of them.
const BATCH_MAX: usize = 64;
const THREADS: usize = 2;

const CONTEXT: &[u8] = b"lux-warp-cross-chain-v1";

/// Why a short run has no figures of the prover.
const LEFT_OUT: &str = "a short run leaves the wrapper's setup and prover out: they take minutes";

pub(super) fn run(bench: &mut Bench<'_>, fixtures: &Fixtures) -> Result<(), Failed> {
    let (one, many) = fixtures.wrapped(|| {
        let mut rng = SeededRng::new(60);
        let one = Wrapped::new(1, BATCH_MAX, &mut rng)?;
        Ok((one, Wrapped::new(usize::from(VALIDATORS), 1, &mut rng)?))
    })?;
    single(bench, one, "groth16/verify/n=1/cold")?;
    let id = format!("groth16/verify/n=1,slots={VALIDATORS}/cold");
    single(bench, many, &id)?;
    key_points(bench, one)?;
    for count in BATCHES {
        serial(bench, one, count)?;
        native(bench, one, count)?;
        if count > 1 {
            parallel(bench, one, count)?;
        }
    }
    if bench.plan() == Plan::FULL {
        proved::run(bench, fixtures)
    } else {
        for beginning in ["groth16/setup/", "groth16/prove/", "groth16/size/"] {
            bench.skip(beginning, LEFT_OUT);
        }
        Ok(())
    }
}

/// From the bytes on the wire to the verdict.
fn accept(
    key: &VerifyingKey,
    table: &KeyTable,
    statement: &Statement<'_>,
    wire: &[u8; ARTIFACT_LEN],
) -> Result<(), Failed> {
    let artifact = Artifact::from_bytes(black_box(wire))?;
    let _witness = verify(key, table, statement, &artifact)?;
    Ok(())
}

fn single(bench: &mut Bench<'_>, wrapped: &Wrapped, id: &str) -> Result<(), Failed> {
    let mut next = wrapped.messages.iter().zip(&wrapped.wires).cycle();
    bench.check(id, || {
        let (message, wire) = next.next().ok_or_else(|| Failed("no proof".to_owned()))?;
        let statement = wrapped.statement(message);
        accept(&wrapped.key, &wrapped.table, &statement, wire)
    })
}

fn key_points(bench: &mut Bench<'_>, wrapped: &Wrapped) -> Result<(), Failed> {
    bench.check("groth16/key-points/validators=1", || {
        KeyTable::new(black_box(&wrapped.key), [1; 32], &wrapped.members())
    })
}

/// Decodes and verifies as one batch the proofs with these numbers.
fn batch(
    wrapped: &Wrapped,
    range: core::ops::Range<usize>,
    rng: &mut SeededRng,
) -> Result<(), Failed> {
    let none = || Failed("no such proof".to_owned());
    let wires = wrapped.wires.get(range.clone()).ok_or_else(none)?;
    let messages = wrapped.messages.get(range).ok_or_else(none)?;
    let artifacts = wires
        .iter()
        .map(|wire| Artifact::from_bytes(black_box(wire)))
        .collect::<Result<Vec<_>, _>>()?;
    let items: Vec<BatchItem<'_>> = artifacts
        .iter()
        .zip(messages)
        .map(|(artifact, message)| BatchItem {
            table: &wrapped.table,
            statement: wrapped.statement(message),
            wrapper: BatchWrapper::Roster(artifact),
        })
        .collect();
    let _witness = verify_batch(&wrapped.key, &items, rng)?;
    Ok(())
}

fn serial(bench: &mut Bench<'_>, wrapped: &Wrapped, count: usize) -> Result<(), Failed> {
    let mut rng = SeededRng::new(61);
    bench.check(&format!("groth16/verify-batch/n={count}/cold"), || {
        batch(wrapped, 0..count, &mut rng)
    })
}

/// The batch in two halves, each with coefficients and a final exponentiation of its own.
fn parallel(bench: &mut Bench<'_>, wrapped: &Wrapped, count: usize) -> Result<(), Failed> {
    let pool = ThreadPoolBuilder::new().num_threads(THREADS).build()?;
    let half = count / THREADS;
    let id = format!("groth16/verify-batch/n={count},wall,threads={THREADS}/cold");
    bench.wall(&id, &pool, || {
        [0..half, half..count]
            .into_par_iter()
            .try_for_each(|range| batch(wrapped, range, &mut SeededRng::new(62)))
    })
}

/// The signatures that the proofs stand for, verified as signatures.
fn native(bench: &mut Bench<'_>, wrapped: &Wrapped, count: usize) -> Result<(), Failed> {
    let signer = wrapped
        .signers
        .first()
        .ok_or_else(|| Failed("no signer".to_owned()))?;
    let verifier = signer.verifying_key();
    let signatures = wrapped
        .messages
        .iter()
        .take(count)
        .map(|message| Ok((message, signer.sign_deterministic(CONTEXT, message)?)))
        .collect::<Result<Vec<_>, Failed>>()?;
    bench.check(&format!("sig/verify-many/ml-dsa-65,n={count}/cold"), || {
        signatures.iter().try_for_each(|(message, signature)| {
            verifier
                .verify(CONTEXT, black_box(message), signature)
                .map(drop)
        })
    })
}
