//! The sections of `horizon bench`: what is measured, in groups that can be asked for by name.

pub(crate) mod beam;
mod cache;
mod envelope;
mod guards;
mod hash;
mod lens;
mod ntt;
mod primitives;
pub(crate) mod pulsar;
mod serialisation;
pub(crate) mod sizes;
mod wrapper;

use core::cell::OnceCell;

use horizon_testkit::SeededRng;

use self::wrapper::{Proved, Wrapped};
use crate::failed::Failed;
use crate::measure::Bench;
use crate::source::{Draft, Source};

/// A group of measurements.
#[derive(Clone, Copy)]
pub struct Section {
    /// What to type.
    pub name: &'static str,
    /// What is measured.
    pub about: &'static str,
    run: Option<Run>,
}

type Run = fn(&mut Bench<'_>, &Fixtures) -> Result<(), Failed>;

impl core::fmt::Debug for Section {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Section")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Section {
    /// Measures the section once. Sections that read or compute figures instead have nothing to run.
    ///
    /// # Errors
    /// [`Failed`] with the first failure.
    pub fn run(&self, bench: &mut Bench<'_>, fixtures: &Fixtures) -> Result<(), Failed> {
        self.run.map_or(Ok(()), |run| run(bench, fixtures))
    }

    /// Whether the section measures in this process.
    #[must_use]
    pub const fn is_measured_here(&self) -> bool {
        self.run.is_some()
    }
}

const fn section(name: &'static str, about: &'static str, run: Run) -> Section {
    Section {
        name,
        about,
        run: Some(run),
    }
}

const fn derived(name: &'static str, about: &'static str) -> Section {
    Section {
        name,
        about,
        run: None,
    }
}

/// All sections, in the order of the report.
pub const ALL: &[Section] = &[
    section(
        "primitives",
        "sign and verify of every scheme",
        primitives::run,
    ),
    section("cache", "the cache of verified signatures", cache::run),
    section("beam", "BLS aggregates and their verification", beam::run),
    section(
        "pulsar",
        "signing phases of both modes, both suites",
        pulsar::run,
    ),
    section("ntt", "ring operations on every backend", ntt::run),
    section("lens", "FROST over three groups", lens::run),
    section("hash", "throughput of the hash functions", hash::run),
    section(
        "envelope",
        "verifying an envelope, by step and path",
        envelope::run,
    ),
    section(
        "serialisation",
        "bytes to values and back",
        serialisation::run,
    ),
    section("guards", "decode guards of the Pulse", guards::run),
    section(
        "sizes",
        "bytes of envelopes and protocol messages",
        sizes::run,
    ),
    section(
        "wrapper",
        "the Groth16 wrapper: verify, batch, setup, proof",
        wrapper::run,
    ),
    derived(
        "delivery",
        "source event to destination-final, from `horizon demo`",
    ),
    derived(
        "scaling",
        "validators, chains and messages, computed and simulated",
    ),
];

/// The section of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Section> {
    ALL.iter().find(|section| section.name == name)
}

/// Validators of the source, as published.
pub(crate) const VALIDATORS: u16 = 21;

/// What several sections need and is slow to make: made when first asked for, kept for all passes.
#[derive(Debug, Default)]
pub struct Fixtures {
    source: OnceCell<(Source, Draft)>,
    wrapped: OnceCell<(Wrapped, Wrapped)>,
    proved: OnceCell<Proved>,
}

impl Fixtures {
    /// A source of 21 validators and the envelope they all signed.
    pub(crate) fn source(&self) -> Result<&(Source, Draft), Failed> {
        made(&self.source, || {
            let mut rng = SeededRng::new(30);
            let source = Source::new(VALIDATORS, &mut rng)?;
            let draft = source.seal(&mut rng)?;
            Ok((source, draft))
        })
    }

    /// Forged wrappers of one validator, and one of all validators.
    fn wrapped(
        &self,
        make: impl FnOnce() -> Result<(Wrapped, Wrapped), Failed>,
    ) -> Result<&(Wrapped, Wrapped), Failed> {
        made(&self.wrapped, make)
    }

    /// A proof of the real circuit.
    fn proved(&self, make: impl FnOnce() -> Result<Proved, Failed>) -> Result<&Proved, Failed> {
        made(&self.proved, make)
    }
}

fn made<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T, Failed>) -> Result<&T, Failed> {
    if cell.get().is_none() {
        // Nobody else can have set it: the cell is not shared between threads.
        let _ = cell.set(make()?);
    }
    cell.get().ok_or_else(|| Failed("fixture".to_owned()))
}
