//! The prover: from an assignment to 192 bytes, in stages that can be watched, stopped and resumed.
//!
//! Proofs are deterministic: signatures are public, so there is nothing to hide, and equal witnesses
//! give equal bytes. With [`Options::randomise`] the finished proof is randomised, which hides the
//! witness as the usual randomisers do.
//!
//! # Source
//! Groth, "On the Size of Pairing-based Non-interactive Arguments", section 3.2, with `r = s = 0`;
//! the randomisation is that of section 3.3's remark on malleability, which is perfect: A and B
//! become uniform and C follows.

use std::path::Path;

use rand_core::CryptoRng;
use sha2::{Digest, Sha256};

use super::{
    checkpoint::Checkpoint,
    error::{ProveError, Section},
    fft::Domain,
    key::ProvingKey,
    msm::{dense_sum, query_sum},
    progress::{Running, Stage, Watch},
    r1cs::Side,
    rows::{Rows, Run},
};
use crate::{
    artifact::Proof,
    backend::{group::Wraps, map::MappedPoints},
    curve::{CurveGroup, G1, G1Affine, G2},
    fr::Fr,
};

/// How a proof is to be made.
pub struct Options<'o> {
    /// Directory for checkpoints; without one nothing is kept.
    pub checkpoint: Option<&'o Path>,
    /// Source of randomisers, for witnesses that are private. Without one the proof is
    /// deterministic.
    pub randomise: Option<&'o mut dyn CryptoRng>,
}

impl Options<'_> {
    /// Deterministic, nothing kept.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            checkpoint: None,
            randomise: None,
        }
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Options")
            .field("checkpoint", &self.checkpoint)
            .field("randomise", &self.randomise.is_some())
            .finish()
    }
}

/// Proves that the values satisfy the rows, and verifies the proof before giving it out.
///
/// # Errors
/// [`ProveError::OtherCircuit`], [`ProveError::KeyFile`] for a key that does not fit or was changed;
/// [`ProveError::CheckpointOfAnotherWitness`]; [`ProveError::Interrupted`]; [`ProveError::Io`];
/// [`ProveError::Unsatisfied`] for values that do not satisfy the rows; [`ProveError::SelfCheck`].
pub fn prove<R: Rows>(
    rows: &R,
    key: &ProvingKey,
    values: &R::Values,
    options: &mut Options<'_>,
    watch: &mut Watch<'_>,
) -> Result<Proof, ProveError> {
    let header = key.header();
    let fits = header.head.circuit == *rows.digest()
        && header.rows == rows.row_count()
        && header.variables == rows.variable_count()
        && header.publics == rows.public_count();
    if !fits {
        return Err(ProveError::OtherCircuit);
    }
    let public = rows.public(values);
    let one = [Fr::ONE];
    let mut runs = vec![Run::Fields(&one), Run::Fields(public)];
    runs.extend(rows.witness(values));
    let checkpoint = match options.checkpoint {
        Some(directory) => Some(Checkpoint::open(directory, identity(key, &runs))?),
        None => None,
    };
    let mut prover = Prover {
        key,
        runs: &runs,
        checkpoint,
        watch,
    };
    let quotient = prover.quotient(rows, values)?;
    let h = prover.quotient_sum(&quotient)?;
    drop(quotient);
    let l = prover.query::<G1>(Stage::WitnessSum, Section::IndicesL, Section::L)?;
    let a = prover.query::<G1>(Stage::LeftSum, Section::IndicesA, Section::A)?;
    let b = prover.query::<G2>(Stage::RightSum, Section::IndicesB, Section::B)?;
    let stage = Running::start(Stage::Assemble, 1, prover.watch)?;
    let mut proof = Proof {
        a: a.add_affine(&header.alpha).to_affine(),
        b: b.add_affine(&header.beta).to_affine(),
        c: (h + l).to_affine(),
    };
    if let Some(rng) = &mut options.randomise {
        proof = randomise(key, &proof, *rng);
    }
    key.key_points()?
        .verify_inputs(&proof, public)
        .map_err(|_| ProveError::SelfCheck)?;
    stage.finish(prover.watch)?;
    if let Some(checkpoint) = prover.checkpoint {
        checkpoint.remove()?;
    }
    Ok(proof)
}

/// `(A / x, x B + x y delta, C + y A)` for random x and y.
fn randomise(key: &ProvingKey, proof: &Proof, rng: &mut dyn CryptoRng) -> Proof {
    let (x, y) = (Fr::random_nonzero(rng), Fr::random(rng));
    let a = G1::from(proof.a);
    let b = G2::from(proof.b) + G2::from(key.header().delta).mul(y);
    Proof {
        a: a.mul(x.inverse().unwrap_or_default()).to_affine(),
        b: b.mul(x).to_affine(),
        c: (a.mul(y).add_affine(&proof.c)).to_affine(),
    }
}

struct Prover<'p, 'w> {
    key: &'p ProvingKey,
    runs: &'p [Run<'p>],
    checkpoint: Option<Checkpoint>,
    watch: &'p mut Watch<'w>,
}

impl Prover<'_, '_> {
    /// Values of `A B` on the odd coset.
    fn quotient<R: Rows>(&mut self, rows: &R, values: &R::Values) -> Result<Vec<Fr>, ProveError> {
        let len = self.key.header().domain.len();
        if let Some(checkpoint) = &self.checkpoint
            && let Some(kept) = checkpoint.quotient(len)?
        {
            return Ok(kept);
        }
        let stage = Running::start(Stage::Rows, 3, self.watch)?;
        let count = rows.row_count();
        let mut forms = Side::ALL.map(|_| Vec::new());
        for (form, side) in forms.iter_mut().zip(Side::ALL) {
            form.resize(len, Fr::ZERO);
            rows.evaluate(values, side, form.get_mut(..count).unwrap_or_default());
            stage.report(1 + side as u64, self.watch)?;
        }
        let [mut a, mut b, c] = forms;
        if !satisfied(&a, &b, &c) {
            return Err(ProveError::Unsatisfied);
        }
        drop(c);
        let stage = Running::start(Stage::Transforms, 2, self.watch)?;
        let domain = Domain::new(self.key.header().domain);
        domain.to_odd_coset(&mut a);
        stage.report(1, self.watch)?;
        domain.to_odd_coset(&mut b);
        multiply(&mut a, &b);
        stage.finish(self.watch)?;
        if let Some(checkpoint) = &self.checkpoint {
            checkpoint.keep_quotient(&a)?;
        }
        Ok(a)
    }

    fn quotient_sum(&mut self, quotient: &[Fr]) -> Result<G1, ProveError> {
        let points: MappedPoints<G1Affine> = self.key.points(Section::H)?;
        let total = quotient.len().div_ceil(CHUNK_LEN) as u64;
        let stage = Running::start(Stage::QuotientSum, total, self.watch)?;
        let chunks = points
            .points()
            .chunks(CHUNK_LEN)
            .zip(quotient.chunks(CHUNK_LEN));
        let mut sum = G1::infinity();
        for ((points, scalars), chunk) in chunks.zip(0_u32..) {
            sum += self.kept(Section::H, chunk, || dense_sum::<G1>(points, scalars))?;
            stage.report(u64::from(chunk) + 1, self.watch)?;
        }
        Ok(sum)
    }

    fn query<G: CurveGroup>(
        &mut self,
        stage: Stage,
        indices: Section,
        points: Section,
    ) -> Result<G, ProveError>
    where
        G::Affine: Wraps,
    {
        let stage = Running::start(stage, 1, self.watch)?;
        if let Some(sum) = self.resumed(points, 0) {
            stage.finish(self.watch)?;
            return Ok(sum);
        }
        let indices = self.key.indices(indices)?;
        let mapped: MappedPoints<G::Affine> = self.key.points(points)?;
        let runs = self.runs;
        let sum = self.kept(points, 0, || query_sum(&indices, mapped.points(), runs))?;
        stage.finish(self.watch)?;
        Ok(sum)
    }

    fn resumed<G: CurveGroup>(&self, section: Section, chunk: u32) -> Option<G> {
        self.checkpoint.as_ref()?.sum(section as u8, chunk)
    }

    /// A partial sum from the checkpoint, or computed now and kept there.
    fn kept<G: CurveGroup>(
        &mut self,
        section: Section,
        chunk: u32,
        compute: impl FnOnce() -> G,
    ) -> Result<G, ProveError> {
        if let Some(sum) = self.resumed(section, chunk) {
            return Ok(sum);
        }
        let sum = compute();
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.keep_sum(section as u8, chunk, &sum)?;
        }
        Ok(sum)
    }
}

fn satisfied(a: &[Fr], b: &[Fr], c: &[Fr]) -> bool {
    use rayon::prelude::*;
    a.par_iter().zip(b).zip(c).all(|((a, b), c)| *a * *b == *c)
}

fn multiply(a: &mut [Fr], b: &[Fr]) {
    use rayon::prelude::*;
    a.par_iter_mut().zip(b).for_each(|(a, b)| *a *= *b);
}

/// Binds a checkpoint to key and witness.
fn identity(key: &ProvingKey, runs: &[Run<'_>]) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix(CHECKPOINT_DOMAIN);
    hash.update(key.digest());
    for run in runs {
        hash.update((run.len() as u64).to_le_bytes());
        match run {
            Run::Fields(values) => values
                .iter()
                .flat_map(|value| value.montgomery_limbs())
                .for_each(|limb| hash.update(limb.to_le_bytes())),
            Run::Bits(values) => values
                .words()
                .iter()
                .for_each(|word| hash.update(word.to_le_bytes())),
            Run::Ints(values) => values
                .iter()
                .for_each(|value| hash.update(value.to_le_bytes())),
        }
    }
    hash.finalize().into()
}

const CHECKPOINT_DOMAIN: &[u8] = b"horizon groth16 checkpoint 1\0";
/// Points of the quotient's query in one partial sum: 96 MB of key and 32 MB of scalars.
const CHUNK_LEN: usize = 1 << 20;
