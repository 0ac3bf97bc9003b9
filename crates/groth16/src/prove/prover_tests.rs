//! Setup, key files, prover and checkpoints on a small circuit.

use core::ops::ControlFlow;
use std::fs;
use std::path::{Path, PathBuf};

use horizon_testkit::SeededRng;

use super::{
    error::{KeyFileError, ProveError, Section},
    key::ProvingKey,
    progress::{Progress, Stage, unwatched},
    prover::{Options, prove},
    rows::Rows,
    setup::{SetupSpec, setup_dev, setup_test},
    toy::{Toy, ToyValues},
};
use crate::{
    artifact::Proof,
    error::{Error, Rejected},
    fr::Fr,
    vk::{Profile, SetupKind},
};

const SPEC: SetupSpec = SetupSpec {
    profile: Profile::Roster,
    slots: 1,
};

struct Bench {
    directory: tempfile::TempDir,
    toy: Toy,
    key: ProvingKey,
}

impl Bench {
    fn new(steps: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let toy = Toy::new(steps);
        let path = directory.path().join("key");
        let key = setup_test(&toy, SPEC, &path, b"seed", &mut unwatched).unwrap();
        Self {
            directory,
            toy,
            key,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn prove(&self, values: &ToyValues) -> Result<Proof, ProveError> {
        prove(
            &self.toy,
            &self.key,
            values,
            &mut Options::new(),
            &mut unwatched,
        )
    }

    fn verify(&self, proof: &Proof, public: &[Fr]) -> Result<(), Error> {
        self.key.key_points().unwrap().verify_inputs(proof, public)
    }
}

#[test]
fn proofs_verify_for_their_inputs_and_no_others() {
    // 100 steps need 304 rows, a domain of 384; 40 need 124, a domain of 128.
    for steps in [1, 40, 100] {
        let bench = Bench::new(steps);
        let values = bench.toy.values(61, 5);
        let proof = bench.prove(&values).unwrap();
        assert_eq!(
            proof,
            bench.prove(&values).unwrap(),
            "proofs are deterministic"
        );
        let public = bench.toy.public(&values).to_vec();
        bench.verify(&proof, &public).unwrap();
        for index in 0..public.len() {
            let mut other = public.clone();
            other[index] += Fr::ONE;
            let refused = bench.verify(&proof, &other).unwrap_err();
            assert_eq!(
                refused,
                Error::Rejected(Rejected::Equation),
                "input {index}"
            );
        }
        let other = bench.toy.values(62, 5);
        assert_ne!(bench.prove(&other).unwrap(), proof);
    }
}

#[test]
fn values_that_do_not_satisfy_the_rows_are_refused() {
    let bench = Bench::new(10);
    let spoiled = bench.toy.values(61, 5).spoiled();
    assert!(matches!(
        bench.prove(&spoiled),
        Err(ProveError::Unsatisfied)
    ));
}

#[test]
fn randomised_proofs_verify_and_differ_each_time() {
    let bench = Bench::new(10);
    let values = bench.toy.values(61, 5);
    let mut rng = SeededRng::new(63);
    let mut randomised = || {
        let mut options = Options {
            randomise: Some(&mut rng),
            ..Options::new()
        };
        prove(
            &bench.toy,
            &bench.key,
            &values,
            &mut options,
            &mut unwatched,
        )
        .unwrap()
    };
    let (one, two) = (randomised(), randomised());
    let public = bench.toy.public(&values);
    bench.verify(&one, public).unwrap();
    bench.verify(&two, public).unwrap();
    let (one, two) = (one.to_bytes(), two.to_bytes());
    for part in [0..48, 48..144, 144..192] {
        assert_ne!(one[part.clone()], two[part]);
    }
}

#[test]
fn keys_of_one_seed_are_equal_and_others_are_not() {
    let bench = Bench::new(10);
    let make = |name, seed: &[u8]| {
        let path = bench.path(name);
        setup_test(&bench.toy, SPEC, &path, seed, &mut unwatched).unwrap()
    };
    assert_eq!(make("again", b"seed").digest(), bench.key.digest());
    assert_ne!(make("other", b"seeds").digest(), bench.key.digest());
    assert_eq!(bench.key.header().head.setup, SetupKind::Test);
    let mut rng = SeededRng::new(64);
    let dev = setup_dev(
        &bench.toy,
        SPEC,
        &bench.path("dev"),
        &mut rng,
        &mut unwatched,
    )
    .unwrap();
    assert_eq!(dev.header().head.setup, SetupKind::Dev);
    assert_ne!(dev.digest(), bench.key.digest());
}

/// A20 for key files: changed, truncated and swapped vectors, and a key of another circuit.
#[test]
fn a20_damaged_key_files_are_refused_and_the_section_is_named() {
    let bench = Bench::new(40);
    let values = bench.toy.values(61, 5);
    let good = fs::read(bench.path("key")).unwrap();
    let attempt = |bytes: &[u8]| {
        let path = bench.path("damaged");
        fs::write(&path, bytes).unwrap();
        let key = ProvingKey::open(&path)?;
        prove(
            &bench.toy,
            &key,
            &values,
            &mut Options::new(),
            &mut unwatched,
        )
    };
    let refused = |bytes: &[u8]| match attempt(bytes) {
        Err(ProveError::KeyFile(error)) => error,
        other => panic!("not refused as a key file: {other:?}"),
    };
    assert!(attempt(&good).is_ok());
    assert_eq!(refused(&[]), KeyFileError::Magic);
    let changed = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    assert_eq!(refused(&changed(0)), KeyFileError::Magic);
    assert_eq!(refused(&changed(8)), KeyFileError::Version);
    assert_eq!(refused(&changed(20)), KeyFileError::Header);
    assert_eq!(refused(&changed(200)), KeyFileError::Header);
    for section in Section::ALL {
        let entry = bench.key.entry(section);
        let at = usize::try_from(entry.offset).unwrap();
        assert_eq!(refused(&changed(at)), KeyFileError::Digest(section));
    }
    let last = bench.key.entry(Section::H);
    let cut = usize::try_from(last.offset).unwrap() + 96;
    assert_eq!(refused(&good[..cut]), KeyFileError::Truncated(Section::H));
    let indices = usize::try_from(bench.key.entry(Section::IndicesL).offset).unwrap();
    assert_eq!(
        refused(&good[..indices]),
        KeyFileError::Truncated(Section::H)
    );
    // Two vectors of the same shape swapped: each is genuine, none is in its place.
    let mut swapped = good.clone();
    let (a, h) = (bench.key.entry(Section::A), last);
    let len = 96 * a.count.min(h.count);
    let (a, h) = (a.offset as usize, h.offset as usize);
    swapped[a..a + len].copy_from_slice(&good[h..h + len]);
    swapped[h..h + len].copy_from_slice(&good[a..a + len]);
    assert_eq!(refused(&swapped), KeyFileError::Digest(Section::H));
    let other = Toy::new(41);
    let path = bench.path("other");
    let key = setup_test(&other, SPEC, &path, b"seed", &mut unwatched).unwrap();
    let result = prove(
        &bench.toy,
        &key,
        &values,
        &mut Options::new(),
        &mut unwatched,
    );
    assert!(matches!(result, Err(ProveError::OtherCircuit)));
}

const PROOF_STAGES: [Stage; 7] = [
    Stage::Rows,
    Stage::Transforms,
    Stage::QuotientSum,
    Stage::WitnessSum,
    Stage::LeftSum,
    Stage::RightSum,
    Stage::Assemble,
];

fn stop_at(stage: Stage, at_end: bool) -> impl FnMut(Progress) -> ControlFlow<()> {
    move |progress| {
        let reached = if at_end {
            progress.done == progress.total
        } else {
            progress.done == 0
        };
        if progress.stage == stage && reached {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

fn resume(bench: &Bench, values: &ToyValues, directory: &Path) -> Result<Proof, ProveError> {
    let mut options = Options {
        checkpoint: Some(directory),
        ..Options::new()
    };
    prove(&bench.toy, &bench.key, values, &mut options, &mut unwatched)
}

#[test]
fn a_proof_stopped_in_any_stage_resumes_to_the_same_bytes() {
    let bench = Bench::new(40);
    let values = bench.toy.values(61, 5);
    let expected = bench.prove(&values).unwrap();
    for stage in PROOF_STAGES {
        for at_end in [false, true] {
            let directory = bench.path("state");
            let mut options = Options {
                checkpoint: Some(&directory),
                ..Options::new()
            };
            let stopped = prove(
                &bench.toy,
                &bench.key,
                &values,
                &mut options,
                &mut stop_at(stage, at_end),
            );
            assert!(matches!(stopped, Err(ProveError::Interrupted)), "{stage:?}");
            assert_eq!(
                resume(&bench, &values, &directory).unwrap(),
                expected,
                "{stage:?}"
            );
            assert!(
                fs::read_dir(&directory).unwrap().next().is_none(),
                "nothing is left"
            );
        }
    }
}

#[test]
fn a_resumed_proof_does_not_repeat_what_is_kept() {
    let bench = Bench::new(40);
    let values = bench.toy.values(61, 5);
    let directory = bench.path("state");
    let mut options = Options {
        checkpoint: Some(&directory),
        ..Options::new()
    };
    let mut watch = stop_at(Stage::RightSum, false);
    let _stopped = prove(&bench.toy, &bench.key, &values, &mut options, &mut watch).unwrap_err();
    let mut stages = Vec::new();
    let mut record = |progress: Progress| {
        stages.push(progress.stage);
        ControlFlow::Continue(())
    };
    prove(&bench.toy, &bench.key, &values, &mut options, &mut record).unwrap();
    assert!(!stages.contains(&Stage::Rows) && !stages.contains(&Stage::Transforms));
}

#[test]
fn a_checkpoint_of_another_witness_or_key_is_refused() {
    let bench = Bench::new(40);
    let directory = bench.path("state");
    let stop = |values: &ToyValues| {
        let mut options = Options {
            checkpoint: Some(&directory),
            ..Options::new()
        };
        let mut watch = stop_at(Stage::WitnessSum, false);
        prove(&bench.toy, &bench.key, values, &mut options, &mut watch).unwrap_err()
    };
    let values = bench.toy.values(61, 5);
    let _stopped = stop(&values);
    for other in [bench.toy.values(62, 5), bench.toy.values(61, 6)] {
        let refused = resume(&bench, &other, &directory).unwrap_err();
        assert!(matches!(refused, ProveError::CheckpointOfAnotherWitness));
    }
    let path = bench.path("second");
    let key = setup_test(&bench.toy, SPEC, &path, b"second", &mut unwatched).unwrap();
    let second = Bench {
        directory: tempfile::tempdir().unwrap(),
        toy: Toy::new(40),
        key,
    };
    let refused = resume(&second, &values, &directory).unwrap_err();
    assert!(matches!(refused, ProveError::CheckpointOfAnotherWitness));
}

#[test]
fn a_torn_or_damaged_checkpoint_only_costs_time() {
    let bench = Bench::new(40);
    let values = bench.toy.values(61, 5);
    let expected = bench.prove(&values).unwrap();
    let directory = bench.path("state");
    for damage in 0..4 {
        let mut options = Options {
            checkpoint: Some(&directory),
            ..Options::new()
        };
        let mut watch = stop_at(Stage::Assemble, false);
        let _stopped =
            prove(&bench.toy, &bench.key, &values, &mut options, &mut watch).unwrap_err();
        let file = directory.join(if damage < 2 { "sums" } else { "quotient" });
        let mut bytes = fs::read(&file).unwrap();
        if damage % 2 == 0 {
            bytes.truncate(bytes.len() - 3);
        } else {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        }
        fs::write(&file, bytes).unwrap();
        assert_eq!(
            resume(&bench, &values, &directory).unwrap(),
            expected,
            "{damage}"
        );
    }
}

#[test]
fn a_setup_that_cannot_write_says_so_and_leaves_no_key() {
    let toy = Toy::new(10);
    let path = Path::new("/dev/full/key");
    let failed = setup_test(&toy, SPEC, path, b"seed", &mut unwatched).unwrap_err();
    assert!(matches!(failed, ProveError::Io { .. }));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    let mut stop = stop_at(Stage::KeyPoints, true);
    let stopped = setup_test(&toy, SPEC, &path, b"seed", &mut stop).unwrap_err();
    assert!(matches!(stopped, ProveError::Interrupted));
    assert!(!path.exists());
}
