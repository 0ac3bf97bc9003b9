//! Runs the secret-dependent parts of committee mode with their secrets marked undefined.
//!
//! Under valgrind every branch and every memory index that depends on a secret is an error and sets
//! the exit code (`just ctgrind`). Outside valgrind it only checks that the steps work.
//!
//! Marked: the bytes that the random generator gives (nonces), the member's row of the sharing, and
//! its pair seeds. What is computed from them and then published (digests, matrices, the challenge,
//! the partial) stays marked inside the state machine, so the suppression file
//! `data/ctgrind.supp` names the functions that work on published values only, each with its reason.

#![allow(clippy::print_stdout, reason = "a program")]

use std::process::ExitCode;

use core::convert::Infallible;

use horizon_bench::Failed;
use horizon_bench::fixture::{BATCH, Fixture};
use horizon_hash::suite::Suite;
use horizon_pulsar::committee::{Assignment, SignerShare};
use horizon_pulsar::hazmat::local::InProcess;
use horizon_ring::backend::Kind;
use horizon_ring::sample::{self, SMALL_BYTES, WIDE_BYTES};
use horizon_testkit::{SeededRng, secret};
use rand_core::{TryCryptoRng, TryRng};

fn main() -> ExitCode {
    let kind = Kind::active().name();
    println!("backend {kind}, valgrind {}", secret::running_on_valgrind());
    if let Some(code) = self_test() {
        return code;
    }
    let mut steps = Steps(0);
    let outcome = samplers(&mut steps).and_then(|()| signing(&mut steps));
    let failed = usize::from(outcome.is_err());
    if let Err(Failed(reason)) = outcome {
        println!("failed: {reason}");
    }
    println!("errors reported by valgrind: {}", secret::error_count());
    println!("{} passed, {failed} failed", steps.0);
    ExitCode::from(u8::from(failed > 0))
}

/// How many steps ran to their end.
struct Steps(usize);

impl Steps {
    fn done(&mut self, name: &str) {
        self.0 += 1;
        println!("{name}: done");
    }
}

/// With the argument `self-test`: branches on a secret, to prove that the tool would see it.
fn self_test() -> Option<ExitCode> {
    if std::env::args().nth(1).as_deref() != Some("self-test") {
        return None;
    }
    let byte = core::hint::black_box(Box::new(7u8));
    secret::mark_undefined(&*byte);
    let found = if core::hint::black_box(*byte) > 3 {
        "one"
    } else {
        "two"
    };
    println!("self-test took branch {found}");
    Some(ExitCode::SUCCESS)
}

fn samplers(steps: &mut Steps) -> Result<(), Failed> {
    let mut rng = SecretRng(SeededRng::new(1));
    let mut small = [0; SMALL_BYTES];
    rng.0.fill(&mut small);
    secret::mark_undefined(&small);
    let mut poly = sample::small(&small);
    poly.canonicalize();
    secret::mark_defined(poly.as_array());
    let wide: Box<[u8]> = rng.0.vec(WIDE_BYTES).into();
    let wide: Box<[u8; WIDE_BYTES]> = wide
        .try_into()
        .map_err(|_| Failed("wide bytes".to_owned()))?;
    secret::mark_undefined(&*wide);
    let mut poly = sample::wide(&wide);
    poly.canonicalize();
    secret::mark_defined(poly.as_array());
    steps.done("samplers");
    Ok(())
}

/// Both rounds of member 0 of a committee of three.
fn signing(steps: &mut Steps) -> Result<(), Failed> {
    let fixture = Fixture::new(3, Suite::PulsarSha3, &mut SeededRng::new(2))?;
    let share = marked_share(&fixture)?;
    steps.done("share");
    let mut member = fixture.planned_with(share)?;
    member.reserve(BATCH, &mut SecretRng(SeededRng::new(4)))?;
    steps.done("reserve");
    let commit = member.commit(BATCH, &mut InProcess)?;
    commit.body().digests.iter().for_each(secret::mark_defined);
    secret::mark_defined(commit.bytes());
    member.commit_final(&commit)?;
    fixture.commit_peers(&mut member)?;
    // The matrices are public from here on; the member keeps its own copy of the message.
    member
        .matrices(BATCH)?
        .iter()
        .for_each(|matrix| secret::mark_defined(matrix.as_slice()));
    let root = fixture.gather(&mut member)?;
    fixture.announce(&mut member, root)?;
    steps.done("gather");
    let assignment = Assignment {
        batch: BATCH,
        index: 0,
        attempt: 1,
        mu: b"message",
    };
    let partial = member.answer(&assignment, &mut InProcess)?;
    secret::mark_defined(partial.as_slice());
    steps.done("answer");
    Ok(())
}

/// The dealt share of member 0 with its row and its seeds marked.
fn marked_share(fixture: &Fixture) -> Result<SignerShare, Failed> {
    let dealt = fixture
        .dealt(0)
        .ok_or_else(|| Failed("no member".to_owned()))?;
    dealt
        .row()
        .iter()
        .for_each(|poly| secret::mark_undefined(poly.as_array()));
    (0..3)
        .filter_map(|peer| dealt.pair_seed(peer))
        .for_each(secret::mark_undefined);
    Ok(SignerShare::from_dealt(&fixture.committee, dealt)?)
}

/// A generator whose output is secret.
struct SecretRng(SeededRng);

impl TryRng for SecretRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let value = self.0.try_next_u32()?;
        secret::mark_undefined(&value);
        Ok(value)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let value = self.0.try_next_u64()?;
        secret::mark_undefined(&value);
        Ok(value)
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(dst);
        secret::mark_undefined(dst);
        Ok(())
    }
}

impl TryCryptoRng for SecretRng {}
