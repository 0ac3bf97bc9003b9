//! A ceremony from end to end on a small circuit: a transcript of our own, two contributors, a
//! beacon, a proof; and every way in which the check must refuse.

use std::fs;
use std::path::{Path, PathBuf};

use horizon_testkit::SeededRng;

use super::{super::fft, *};
use crate::{
    error::KeyError,
    prove::{
        powers::TRANSCRIPT_HASH_LEN,
        progress::unwatched,
        prover::{Options, prove},
        setup::{Table, key_of_secrets},
        toy::Toy,
    },
    vk::Profile,
};

const SPEC: SetupSpec = SetupSpec {
    profile: Profile::Roster,
    slots: 1,
};
/// `2^log2` powers of the public transcript.
const LOG2: u32 = 6;
/// 17 steps need 55 rows, a domain of 64; 14 need 46, a domain of 48.
const STEPS: usize = 14;

/// Point, alpha and beta.
fn secrets(seed: u64) -> [Fr; 3] {
    let mut rng = SeededRng::new(seed);
    core::array::from_fn(|_| Fr::random_nonzero(&mut rng))
}

/// Powers of secrets that the test knows.
fn powers(seed: u64, count: usize) -> Powers {
    let [point, alpha, beta] = secrets(seed);
    let scaled = |factor: Fr, count: usize| -> Vec<Fr> {
        let powers = fft::powers(point, count);
        powers.into_iter().map(|power| power * factor).collect()
    };
    let (table, table_g2) = (Table::<G1>::new(8), Table::<G2>::new(8));
    Powers {
        g1: table.multiples(&scaled(Fr::ONE, 2 * count - 1)),
        g2: table_g2.multiples(&scaled(Fr::ONE, count)),
        alpha: table.multiples(&scaled(alpha, count)),
        beta: table.multiples(&scaled(beta, count)),
        beta_g2: G2::generator().mul(beta).to_affine(),
    }
}

struct Ceremony {
    directory: tempfile::TempDir,
    toy: Toy,
    powers: Powers,
    rng: SeededRng,
}

impl Ceremony {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            toy: Toy::new(STEPS),
            powers: powers(71, 1 << LOG2),
            rng: SeededRng::new(72),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn init(&self) -> (ProvingKey, Transcript) {
        let path = self.path("start");
        init(&self.toy, SPEC, &self.powers, &path, &mut unwatched).unwrap()
    }

    fn contribute(
        &mut self,
        name: &str,
        (key, transcript): &(ProvingKey, Transcript),
    ) -> (ProvingKey, Transcript) {
        let path = self.path(name);
        contribute(key, transcript, &path, &mut self.rng, &mut unwatched).unwrap()
    }

    fn check(&mut self, key: &ProvingKey, transcript: &Transcript) -> Result<(), ProveError> {
        let scratch = self.path("scratch");
        verify(
            &self.toy,
            SPEC,
            &self.powers,
            key,
            transcript,
            &scratch,
            &mut self.rng,
            &mut unwatched,
        )
    }

    fn refused(&mut self, key: &ProvingKey, transcript: &Transcript) -> CeremonyError {
        match self.check(key, transcript) {
            Err(ProveError::Ceremony(error)) => error,
            other => panic!("not refused as a ceremony: {other:?}"),
        }
    }
}

#[test]
fn a_ceremony_with_two_contributors_and_a_beacon_gives_a_working_key() {
    let mut ceremony = Ceremony::new();
    let start = ceremony.init();
    let values = ceremony.toy.values(61, 5);
    let first = ceremony.contribute("first", &start);
    let second = ceremony.contribute("second", &first);
    let path = ceremony.path("last");
    let (key, transcript) = beacon(
        &second.0,
        &second.1,
        ([7; 32], 10),
        &path,
        &mut ceremony.rng,
        &mut unwatched,
    )
    .unwrap();
    ceremony.check(&key, &transcript).unwrap();
    assert_eq!((transcript.len(), transcript.ends_with_beacon()), (3, true));
    assert_eq!(
        Transcript::from_bytes(&transcript.to_bytes()),
        Ok(transcript.clone())
    );
    let setup = key.header().head.setup;
    assert_eq!(setup, SetupKind::Mpc(transcript.digest()));
    // Keys of every step prove; each verifies its own proofs only.
    let keys = [&first.0, &second.0, &key];
    let mut proofs = Vec::new();
    for key in keys {
        let toy = &ceremony.toy;
        let proof = prove(toy, key, &values, &mut Options::new(), &mut unwatched).unwrap();
        proofs.push(proof);
    }
    let public = ceremony.toy.public(&values);
    for (i, key) in keys.iter().enumerate() {
        let points = key.key_points().unwrap();
        for (j, proof) in proofs.iter().enumerate() {
            assert_eq!(points.verify_inputs(proof, public).is_ok(), i == j);
        }
    }
}

#[test]
fn a_public_transcript_is_imported_checked_and_cut_to_size() {
    let ceremony = Ceremony::new();
    let mut rng = SeededRng::new(73);
    let full = &ceremony.powers;
    let mut bytes = vec![0x5a; TRANSCRIPT_HASH_LEN];
    full.g1
        .iter()
        .for_each(|p| bytes.extend(G1::uncompressed(p)));
    full.g2
        .iter()
        .for_each(|p| bytes.extend(G2::uncompressed(p)));
    full.alpha
        .iter()
        .for_each(|p| bytes.extend(G1::uncompressed(p)));
    full.beta
        .iter()
        .for_each(|p| bytes.extend(G1::uncompressed(p)));
    bytes.extend(G2::uncompressed(&full.beta_g2));
    let path = ceremony.path("challenge");
    let mut import = |bytes: &[u8], count| {
        fs::write(&path, bytes).unwrap();
        Powers::import(&path, LOG2, count, &mut rng)
    };
    assert_eq!(&import(&bytes, 64).unwrap(), full);
    let cut = import(&bytes, 48).unwrap();
    assert_eq!(cut, full.truncated(48).unwrap());
    let file = ceremony.path("powers");
    cut.write(&file).unwrap();
    assert_eq!(Powers::read(&file).unwrap(), cut);
    let error = |result: Result<Powers, ProveError>| match result {
        Err(ProveError::Ceremony(error)) => error,
        other => panic!("not refused: {other:?}"),
    };
    assert_eq!(error(import(&bytes, 65)), CeremonyError::TooFewPowers);
    assert_eq!(error(import(&bytes, 0)), CeremonyError::TooFewPowers);
    assert_eq!(error(import(&bytes[1..], 64)), CeremonyError::Length);
    let mut off_curve = bytes.clone();
    off_curve[TRANSCRIPT_HASH_LEN + 96 * 3 + 95] ^= 1;
    assert_eq!(error(import(&off_curve, 64)), CeremonyError::Point);
    // Each vector with one genuine point in a wrong place.
    let vectors = [
        (0, 96, 127),
        (127 * 96, 192, 64),
        (127 * 96 + 64 * 192, 96, 64),
    ];
    for (start, len, count) in vectors {
        for at in [1, count / 2, count - 1] {
            let mut moved = bytes.clone();
            let start = TRANSCRIPT_HASH_LEN + start;
            moved.copy_within(start..start + len, start + at * len);
            assert_eq!(error(import(&moved, 64)), CeremonyError::Powers, "{at}");
        }
    }
    let mut damaged = fs::read(&file).unwrap();
    damaged.swap(200, 201);
    fs::write(&file, &damaged).unwrap();
    let refused = error(Powers::read(&file));
    assert!([CeremonyError::Point, CeremonyError::Digest].contains(&refused));
    fs::write(&file, &damaged[..100]).unwrap();
    assert_eq!(error(Powers::read(&file)), CeremonyError::Length);
    fs::write(&file, b"something else").unwrap();
    assert_eq!(error(Powers::read(&file)), CeremonyError::Format);
}

#[test]
fn the_start_is_the_key_of_a_setup_with_the_same_secrets() {
    // Once from the powers and once from the secret behind them, point for point; 14 steps take a
    // domain with the factor three, 17 one without.
    for (steps, len) in [(STEPS, 48), (17, 64)] {
        let mut ceremony = Ceremony::new();
        ceremony.toy = Toy::new(steps);
        let (key, transcript) = ceremony.init();
        assert_eq!(key.header().domain.len(), len);
        let [point, alpha, beta] = secrets(71);
        let secrets = [point, alpha, beta, public_gamma(&transcript), Fr::ONE];
        let path = ceremony.path("setup");
        let expected = key_of_secrets(&ceremony.toy, SPEC, secrets, &path).unwrap();
        for section in Section::ALL {
            assert_eq!(key.entry(section), expected.entry(section), "{section:?}");
        }
        let refused = key.key_points().unwrap().check();
        assert_eq!(refused, Err(KeyError::DeltaIsGenerator));
    }
}

#[test]
fn every_broken_ceremony_is_refused() {
    let mut ceremony = Ceremony::new();
    let start = ceremony.init();
    assert_eq!(
        ceremony.refused(&start.0, &start.1),
        CeremonyError::NoContribution
    );
    let first = ceremony.contribute("first", &start);
    let second = ceremony.contribute("second", &first);
    ceremony.check(&second.0, &second.1).unwrap();
    // A key with another's transcript, and a transcript with a contribution left out.
    assert_eq!(ceremony.refused(&first.0, &second.1), CeremonyError::Digest);
    assert_eq!(ceremony.refused(&second.0, &first.1), CeremonyError::Digest);
    // Another circuit or other powers.
    ceremony.toy = Toy::new(STEPS + 1);
    assert_eq!(ceremony.refused(&second.0, &second.1), CeremonyError::Start);
    ceremony.toy = Toy::new(STEPS);
    let own = core::mem::replace(&mut ceremony.powers, powers(74, 1 << LOG2));
    assert_eq!(ceremony.refused(&second.0, &second.1), CeremonyError::Start);
    ceremony.powers = own;
    // Malformed transcripts.
    let bytes = second.1.to_bytes();
    assert_eq!(
        Transcript::from_bytes(&bytes[1..]),
        Err(CeremonyError::Format)
    );
    let short = &bytes[..bytes.len() - 1];
    assert_eq!(Transcript::from_bytes(short), Err(CeremonyError::Length));
    let mut infinite = bytes.clone();
    infinite[76] = 0xc0;
    assert_eq!(Transcript::from_bytes(&infinite), Err(CeremonyError::Point));
    // A beacon that asks for endless work.
    let too_long = beacon(
        &second.0,
        &second.1,
        ([7; 32], BEACON_LOG2_MAX + 1),
        &ceremony.path("endless"),
        &mut ceremony.rng,
        &mut unwatched,
    );
    let refused = Err(CeremonyError::Beacon);
    assert_eq!(
        too_long.map(drop).map_err(|error| match error {
            ProveError::Ceremony(error) => error,
            other => panic!("{other:?}"),
        }),
        refused
    );
}

/// What a dishonest contributor does.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// Does not know the secret.
    Response,
    /// Leaves delta as it is.
    NoChange,
    /// Changes one point of a section.
    Section(Section),
    /// Calls a secret of its own a beacon's.
    Beacon,
}

fn contribute_lying(
    (key, transcript): &(ProvingKey, Transcript),
    path: &Path,
    rng: &mut SeededRng,
    lie: Lie,
) -> (ProvingKey, Transcript) {
    let (secret, beacon) = match lie {
        Lie::NoChange => (Fr::ONE, None),
        Lie::Beacon => (Fr::random(rng), Some(([7; 32], 3))),
        Lie::Response | Lie::Section(_) => (Fr::random(rng), None),
    };
    let (honest, mut transcript) =
        apply(key, transcript, &secret, beacon, path, rng, &mut unwatched).unwrap();
    if matches!(lie, Lie::Response) {
        transcript.contributions.last_mut().unwrap().response += Fr::ONE;
    }
    let mut writer = KeyWriter::create(path).unwrap();
    for section in Section::ALL {
        writer.begin(section).unwrap();
        match section {
            Section::IndicesA | Section::IndicesB | Section::IndicesL => {
                writer.indices(&honest.indices(section).unwrap()).unwrap();
            }
            Section::B => copy_points::<G2>(&honest, section, &mut writer).unwrap(),
            _ => {
                let points: MappedPoints<G1Affine> = honest.points(section).unwrap();
                let mut points = points.points().to_vec();
                if matches!(lie, Lie::Section(changed) if changed == section) {
                    points[3] = G1::from(points[3]).double().to_affine();
                }
                writer.points::<G1>(&points).unwrap();
            }
        }
    }
    let mut header = honest.header().clone();
    header.head.setup = SetupKind::Mpc(transcript.digest());
    (writer.finish(header).unwrap(), transcript)
}

/// Forges consistent files around one lie each: the check names the lie.
#[test]
fn every_lie_of_a_contributor_is_named() {
    let mut ceremony = Ceremony::new();
    let start = ceremony.init();
    let first = ceremony.contribute("first", &start);
    let second = ceremony.contribute("second", &first);
    let lies: [(Lie, CeremonyError); 6] = [
        (Lie::Response, CeremonyError::Knowledge { contribution: 2 }),
        (Lie::NoChange, CeremonyError::Delta { contribution: 2 }),
        (Lie::Section(Section::L), CeremonyError::Queries),
        (Lie::Section(Section::H), CeremonyError::Queries),
        (Lie::Section(Section::A), CeremonyError::Start),
        (Lie::Beacon, CeremonyError::Beacon),
    ];
    for (lie, expected) in lies {
        let path = ceremony.path("lie");
        let (key, transcript) = contribute_lying(&second, &path, &mut ceremony.rng, lie);
        assert_eq!(ceremony.refused(&key, &transcript), expected, "{lie:?}");
    }
}
