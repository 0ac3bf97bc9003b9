//! Many wrappers under one verifying key, at the price of little more than their decoding.
//!
//! Every proof's equation is raised to a random power and all are multiplied: one Miller loop per
//! proof, two more and one final exponentiation for the batch. A batch that fails is split in halves
//! until every proof that does not verify alone is named.

use rand_core::CryptoRng;

use crate::{
    artifact::{Artifact, QuorumArtifact},
    backend::group::Target,
    curve::{G1, G1Affine, SCALAR_BITS},
    error::{Error, Misuse, Rejected},
    fr::Fr,
    points::KeyTable,
    statement::{SHORT_LEN, Statement},
    verify::{Prepared, WrapperVerified, prepare},
    vk::{VerifyingKey, short_points, verify_equation},
};

/// Most proofs of one batch.
pub const BATCH_MAX: usize = 4096;

/// One proof of a batch with what it must prove.
#[derive(Clone, Copy, Debug)]
pub struct BatchItem<'a> {
    /// Key points of the snapshot that the proof is about.
    pub table: &'a KeyTable,
    /// What must be proven.
    pub statement: Statement<'a>,
    /// The decoded proof.
    pub wrapper: BatchWrapper<'a>,
}

/// A decoded proof of either profile.
#[derive(Clone, Copy, Debug)]
pub enum BatchWrapper<'a> {
    /// A proof of a `roster` key.
    Roster(&'a Artifact),
    /// A proof of a `quorum` key.
    Quorum(&'a QuorumArtifact),
}

/// Verifies all proofs of a batch.
///
/// # Errors
/// [`Rejected::Batch`] naming exactly the proofs that do not verify alone, wrong hashes included;
/// [`Misuse::BatchSize`]; [`Misuse::Coefficients`] when `rng` keeps giving zeros or repeats itself;
/// errors of [`verify`](crate::verify::verify) that concern the arguments.
///
/// # Security
/// `rng` must be the operating system's or as good: with coefficients that a prover can predict,
/// wrong proofs can cancel each other.
pub fn verify_batch<R: CryptoRng + ?Sized>(
    key: &VerifyingKey,
    items: &[BatchItem<'_>],
    rng: &mut R,
) -> Result<WrapperVerified, Error> {
    if items.is_empty() || items.len() > BATCH_MAX {
        return Err(Misuse::BatchSize.into());
    }
    let mut bad = Vec::new();
    let mut proofs = Vec::with_capacity(items.len());
    for (position, item) in items.iter().enumerate() {
        let (artifact, signers) = match item.wrapper {
            BatchWrapper::Roster(artifact) => (artifact, None),
            BatchWrapper::Quorum(quorum) => (&quorum.artifact, Some(quorum.signers())),
        };
        match prepare(key, item.table, &item.statement, artifact, signers) {
            Ok(prepared) => proofs.push((position, prepared)),
            Err(Error::Misuse(misuse)) => return Err(misuse.into()),
            Err(_) => bad.push(position),
        }
    }
    let coefficients = draw(proofs.len(), rng)?;
    let short = short_points(key.points(), key.head().slots);
    let terms: Vec<Term<'_>> = proofs
        .iter()
        .zip(&coefficients)
        .map(|((position, prepared), coefficient)| Term::new(*position, prepared, *coefficient))
        .collect();
    find_bad(key, &short, &terms, &mut bad);
    if bad.is_empty() {
        return Ok(WrapperVerified::new(key));
    }
    bad.sort_unstable();
    Err(Rejected::Batch(bad).into())
}

/// Fresh coefficients of 128 bits, none zero and no two equal.
fn draw<R: CryptoRng + ?Sized>(count: usize, rng: &mut R) -> Result<Vec<u128>, Misuse> {
    let mut out = Vec::with_capacity(count);
    for _ in 0..count {
        let drawn = (0..DRAWS_MAX).find_map(|_| {
            let mut bytes = [0; 16];
            rng.fill_bytes(&mut bytes);
            let coefficient = u128::from_le_bytes(bytes);
            (coefficient != 0).then_some(coefficient)
        });
        out.push(drawn.ok_or(Misuse::Coefficients)?);
    }
    // Two equal coefficients of 128 bits do not happen by chance; a broken source makes them.
    let mut sorted = out.clone();
    sorted.sort_unstable();
    if sorted
        .iter()
        .zip(sorted.iter().skip(1))
        .any(|(a, b)| a == b)
    {
        return Err(Misuse::Coefficients);
    }
    Ok(out)
}

/// One proof with its coefficient and its Miller loop, which every half that it is in reuses.
struct Term<'p> {
    position: usize,
    prepared: &'p Prepared,
    coefficient: u128,
    a: G1,
}

impl<'p> Term<'p> {
    fn new(position: usize, prepared: &'p Prepared, coefficient: u128) -> Self {
        Self {
            position,
            prepared,
            coefficient,
            a: G1::from(prepared.proof.a).mul_u128(coefficient),
        }
    }
}

/// Splits until what fails is single. The stack holds at most one range per level of halving.
fn find_bad(key: &VerifyingKey, short: &[G1Affine], terms: &[Term<'_>], bad: &mut Vec<usize>) {
    let mut stack = vec![terms];
    while let Some(range) = stack.pop() {
        match range {
            [] => {}
            [term] => {
                let inputs = inputs_sum(short, core::slice::from_ref(term), true);
                let proof = &term.prepared.proof;
                if verify_equation(key.points(), key.target(), proof, &inputs).is_err() {
                    bad.push(term.position);
                }
            }
            _ if holds(key, short, range) => {}
            _ => {
                let (low, high) = range.split_at(range.len() / 2);
                stack.push(high);
                stack.push(low);
            }
        }
    }
}

fn holds(key: &VerifyingKey, short: &[G1Affine], terms: &[Term<'_>]) -> bool {
    let cs: Vec<G1Affine> = terms.iter().map(|term| term.prepared.proof.c).collect();
    let coefficients: Vec<u8> = terms
        .iter()
        .flat_map(|term| term.coefficient.to_le_bytes())
        .collect();
    let c = G1::msm(&cs, &coefficients, 128).unwrap_or_else(G1::infinity);
    let inputs = inputs_sum(short, terms, false);
    let mut firsts: Vec<G1> = terms.iter().map(|term| term.a).collect();
    firsts.extend([-inputs, -c]);
    let firsts = G1::batch_to_affine(&firsts);
    let seconds = terms
        .iter()
        .map(|term| *term.prepared.proof.b.raw())
        .chain([*key.points().gamma.raw(), *key.points().delta.raw()]);
    let pairs: Vec<_> = firsts
        .iter()
        .map(|point| *point.raw())
        .zip(seconds)
        .collect();
    let sum: Fr = terms
        .iter()
        .map(|term| Fr::from_u128(term.coefficient))
        .sum();
    let expected = power(key.target(), &sum);
    Target::miller_loops(&pairs).final_exponentiation() == expected
}

/// The sum of all public input points, each times its coefficient, or of one proof alone.
fn inputs_sum(short: &[G1Affine], terms: &[Term<'_>], alone: bool) -> G1 {
    let coefficient = |term: &Term<'_>| if alone { 1 } else { term.coefficient };
    let mut scalars = vec![Fr::ZERO; short.len()];
    for term in terms {
        let factor = Fr::from_u128(coefficient(term));
        let bytes = term.prepared.scalars.as_chunks::<SHORT_LEN>().0;
        for (sum, bytes) in scalars.iter_mut().zip(bytes) {
            let mut wide = [0; Fr::LEN];
            wide[..SHORT_LEN].copy_from_slice(bytes);
            // 192 bits are below r.
            *sum += factor * Fr::from_le_bytes(&wide).unwrap_or_default();
        }
    }
    let scalars: Vec<u8> = scalars
        .iter()
        .flat_map(|scalar| scalar.to_le_bytes())
        .collect();
    let inputs = G1::msm(short, &scalars, SCALAR_BITS).unwrap_or_else(G1::infinity);
    let keys: Vec<G1> = terms.iter().map(|term| term.prepared.keys).collect();
    let keys = G1::batch_to_affine(&keys);
    let coefficients: Vec<u8> = terms
        .iter()
        .flat_map(|term| coefficient(term).to_le_bytes())
        .collect();
    inputs + G1::msm(&keys, &coefficients, 128).unwrap_or_else(G1::infinity)
}

/// An element of the target group to a power.
fn power(base: &Target, exponent: &Fr) -> Target {
    let mut out = Target::one();
    for limb in exponent.to_canonical_limbs().into_iter().rev() {
        for bit in (0..64).rev() {
            out = out.cyclotomic_square();
            if limb >> bit & 1 == 1 {
                out = out.mul(base);
            }
        }
    }
    out
}

/// Zeros in a row that show a broken source.
const DRAWS_MAX: usize = 8;
