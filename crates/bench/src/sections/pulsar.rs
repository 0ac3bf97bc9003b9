//! Signing phases of both modes, and verification.

use core::hint::black_box;

use horizon_hash::suite::Suite;
use horizon_pulsar::hazmat::interop::{
    self, Dealing, Group, Nonce, Preprocess, Round1Message, Session, SidFence,
};
use horizon_pulsar::hazmat::local::{self, InProcess};
use horizon_pulsar::signers::{Quorum, SignerSet};
use horizon_pulsar::{PreparedKey, Signature, verify};
use horizon_ring::backend::Kind;
use horizon_testkit::SeededRng;

use super::Fixtures;
use crate::failed::Failed;
use crate::fixture::{BATCH, Fixture, assignment};
use crate::measure::Bench;

const MESSAGE: &[u8] = b"Message";
const SID: u64 = 1;
/// Committee sizes of the published table.
const PUBLISHED: [u16; 2] = [5, 21];
/// Committee sizes of the scaling chart.
pub(crate) const SIZES: [u16; 4] = [5, 9, 14, 21];

pub(super) fn run(bench: &mut Bench<'_>, _: &Fixtures) -> Result<(), Failed> {
    for (suite, sizes) in [
        (Suite::PulsarSha3, &SIZES[..]),
        (Suite::PulsarBlake3, &PUBLISHED[..]),
    ] {
        for size in sizes {
            interop_mode(bench, suite, *size)?;
            committee_mode(bench, suite, *size)?;
        }
        verification(bench, suite)?;
    }
    Ok(())
}

fn id(phase: &str, suite: Suite, size: u16) -> String {
    format!(
        "pulsar/{phase}/{},K={size}/{}",
        name(suite),
        Kind::active().name()
    )
}

fn name(suite: Suite) -> &'static str {
    if suite == Suite::PulsarSha3 {
        "sha3"
    } else {
        "blake3"
    }
}

/// The reference's protocol, everybody signs: per-party cost of each phase.
fn interop_mode(bench: &mut Bench<'_>, suite: Suite, size: u16) -> Result<(), Failed> {
    bench.check(&id("interop-gen", suite, size), || {
        interop::gen_reference_for_vectors(suite, size, black_box(&[7; 32]))
    })?;
    let dealing = interop::gen_reference_for_vectors(suite, size, &[7; 32])?;
    let key = Group::new(dealing.group_key.clone(), suite);
    let sessions = sessions(&key, &dealing, size)?;
    let first = sessions
        .first()
        .ok_or_else(|| Failed("no session".to_owned()))?;
    let mut sid = SID;
    bench.check(&id("interop-round1", suite, size), || {
        sid += 1;
        first.round1(&mut SidFence::fresh(), sid)
    })?;
    let messages = sessions
        .iter()
        .map(|session| Ok(round1(session)?.1))
        .collect::<Result<Vec<Round1Message>, Failed>>()?;
    bench.consume(
        &id("interop-preprocess", suite, size),
        || Ok(round1(first)?.0),
        |nonce| preprocess(nonce, &messages),
    )?;
    let prf_key = &dealing.prf_key;
    bench.consume(
        &id("interop-round2", suite, size),
        || preprocess(round1(first)?.0, &messages),
        |ready| ready.sign(black_box(MESSAGE), prf_key),
    )?;
    interop_combine(bench, suite, size, &key, &sessions, &messages, prf_key)
}

fn interop_combine(
    bench: &mut Bench<'_>,
    suite: Suite,
    size: u16,
    key: &Group,
    sessions: &[Session<'_>],
    messages: &[Round1Message],
    prf_key: &[u8; 32],
) -> Result<(), Failed> {
    let mut partials = Vec::new();
    let mut assembly = None;
    for session in sessions {
        let ready = preprocess(round1(session)?.0, messages)?;
        let (partial, combine) = ready.sign(MESSAGE, prf_key)?;
        partials.push(partial);
        assembly.get_or_insert(combine);
    }
    let assembly = assembly.ok_or_else(|| Failed("no member".to_owned()))?;
    let (first, rest) = partials
        .split_first()
        .ok_or_else(|| Failed("no partial".to_owned()))?;
    bench.check(&id("interop-finalize", suite, size), || {
        let mut z = first.z.clone();
        for partial in rest {
            z.iter_mut()
                .zip(&partial.z)
                .for_each(|(sum, z)| sum.add_assign(z));
        }
        key.prepared().complete(assembly.h(), assembly.c(), z)
    })?;
    bench.check(&id("interop-combine-verified", suite, size), || {
        assembly.combine(black_box(&partials))
    })
}

/// Committee mode: per-member cost of each phase, for one index. Member signatures are not included.
fn committee_mode(bench: &mut Bench<'_>, suite: Suite, size: u16) -> Result<(), Failed> {
    let mut rng = SeededRng::new(u64::from(size));
    let fixture = Fixture::new(size, suite, &mut rng)?;
    if let Some(matrix) = fixture.matrices.first() {
        bench.figure("pulsar/size/nonce-matrix", matrix.len() as f64);
    }
    bench.consume(
        &id("committee-reserve", suite, size),
        || Ok((fixture.planned()?, SeededRng::new(rng.next()))),
        |(mut member, mut rng)| {
            member.reserve(BATCH, &mut rng)?;
            let commit = member.commit(BATCH, &mut InProcess)?;
            Ok::<_, Failed>((member, commit))
        },
    )?;
    bench.consume(
        &id("committee-gather", suite, size),
        || {
            let mut member = fixture.planned()?;
            member.reserve(BATCH, &mut rng)?;
            fixture.commit(&mut member)?;
            Ok(member)
        },
        |mut member| {
            let root = fixture.gather(&mut member)?;
            Ok::<_, Failed>((member, root))
        },
    )?;
    let assignment = assignment(MESSAGE);
    bench.consume(
        &id("committee-answer", suite, size),
        || fixture.ready(&mut rng),
        |mut member| {
            let partial = member.answer(&assignment, &mut InProcess)?;
            Ok::<_, Failed>((member, partial))
        },
    )?;
    let mut members = fixture.all_ready(&mut rng)?;
    let partials = members
        .iter_mut()
        .map(|member| Ok(member.answer(&assignment, &mut InProcess)?))
        .collect::<Result<Vec<Vec<u8>>, Failed>>()?;
    if let Some(partial) = partials.first() {
        bench.figure("pulsar/size/partial", partial.len() as f64);
    }
    let first = members
        .first()
        .ok_or_else(|| Failed("no member".to_owned()))?;
    bench.check(&id("committee-combine", suite, size), || {
        local::combine(first, &fixture.key, &assignment, black_box(&partials))
    })
}

/// Verification of one signature with a prepared and a cold key, and of a batch.
fn verification(bench: &mut Bench<'_>, suite: Suite) -> Result<(), Failed> {
    let mut rng = SeededRng::new(3);
    let fixture = Fixture::new(2, suite, &mut rng)?;
    let signature = fixture.sign(MESSAGE, &mut rng)?;
    let bytes = signature.to_framed();
    let suffix = format!("{}/{}", name(suite), Kind::active().name());
    let prepared = PreparedKey::new(&fixture.group_key, suite);
    bench.check(&format!("pulsar/verify/{suffix}/cached"), || {
        prepared.verify(MESSAGE, black_box(&signature))
    })?;
    bench.check(&format!("pulsar/verify/{suffix}/cold"), || {
        verify::verify(&fixture.group_key, suite, MESSAGE, black_box(&signature))
    })?;
    bench.check(&format!("pulsar/decode-signature/{suffix}"), || {
        Signature::from_framed(black_box(&bytes))
    })?;
    for size in [8, 64] {
        let entries = vec![(MESSAGE, &signature); size];
        bench.time(
            &format!("pulsar/verify-batch/{suffix},N={size}/cached"),
            || verify::verify_batch(&prepared, black_box(&entries)),
        )?;
    }
    Ok(())
}

fn sessions<'a>(
    key: &'a Group,
    dealing: &'a Dealing,
    size: u16,
) -> Result<Vec<Session<'a>>, Failed> {
    let signers = SignerSet::everyone(Quorum::new(size, size)?);
    let shares = dealing.shares.iter();
    shares
        .map(|share| Ok(Session::new(key, share, signers.clone())?))
        .collect()
}

fn round1<'a>(session: &'a Session<'a>) -> Result<(Nonce<'a>, Round1Message), Failed> {
    Ok(session.round1(&mut SidFence::fresh(), SID)?)
}

fn preprocess<'a>(
    nonce: Nonce<'a>,
    messages: &[Round1Message],
) -> Result<interop::Ready<'a>, Failed> {
    let mut preprocess = Preprocess::new(nonce);
    preprocess.absorb_all(messages)?;
    Ok(preprocess.finish()?)
}
