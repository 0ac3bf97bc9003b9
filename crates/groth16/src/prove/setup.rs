//! The one-process setup: a secret is drawn, the key is computed from it, the secret is forgotten.
//!
//! With the secret point `t` and the domain's vanishing polynomial `Z`, the query of the quotient is
//! kept in the Lagrange basis of the odd coset, on which `Z` is -2: for values `p` of `A B` there,
//! `h = (C - p) / 2`. The part in `C` is linear in the assignment and is folded into the L query, so
//! a proof needs no transform of `C`. Both parts have degree one too many, and their highest
//! coefficients cancel; they are left out, so that a ceremony needs no more powers than usual.
//!
//! # Source
//! Groth, "On the Size of Pairing-based Non-interactive Arguments", section 3.2.
//!
//! # Security
//! Whoever ran it could have kept the secret and can then forge any proof: such keys carry the kind
//! `dev` or `test` and are refused unless a caller allows them.

use std::path::Path;

use horizon_hash::sponge::{Shake256, XofReader};
use rand_core::{CryptoRng, Infallible, TryCryptoRng, TryRng};
use rayon::prelude::*;
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{
    error::{ProveError, Section},
    fft::{DomainShape, powers},
    key::{KeyHeader, KeyWriter, ProvingKey},
    progress::{Running, Stage, Watch},
    r1cs::Side,
    rows::Rows,
};
use crate::{
    curve::{CurveGroup, G1, G2},
    error::KeyError,
    fr::Fr,
    vk::{KeyHead, MuMode, Profile, SetupKind},
};

/// What a key is to be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetupSpec {
    /// Who sits in the slots.
    pub profile: Profile,
    /// Slots of the circuit.
    pub slots: usize,
}

/// Makes a key of kind `dev` with a secret from `rng`, and writes it to `path`.
///
/// # Errors
/// [`ProveError::Io`], [`ProveError::TooLarge`], [`ProveError::Interrupted`].
///
/// # Security
/// `rng` must be the operating system's. Even then, whoever runs this can forge any proof.
pub fn setup_dev<R: Rows, T: CryptoRng + ?Sized>(
    rows: &R,
    spec: SetupSpec,
    path: &Path,
    rng: &mut T,
    watch: &mut Watch<'_>,
) -> Result<ProvingKey, ProveError> {
    run(rows, spec, SetupKind::Dev, path, rng, watch)
}

/// Makes a key of kind `test` with a secret that follows from `seed`: same seed, same key.
///
/// # Errors
/// As [`setup_dev`].
pub fn setup_test<R: Rows>(
    rows: &R,
    spec: SetupSpec,
    path: &Path,
    seed: &[u8],
    watch: &mut Watch<'_>,
) -> Result<ProvingKey, ProveError> {
    let mut rng = SeedStream::new(seed);
    run(rows, spec, SetupKind::Test, path, &mut rng, watch)
}

/// The key of secrets that a test knows: point, alpha, beta, gamma, delta.
#[cfg(test)]
pub(crate) fn key_of_secrets<R: Rows>(
    rows: &R,
    spec: SetupSpec,
    [point, alpha, beta, gamma, delta]: [Fr; 5],
    path: &Path,
) -> Result<ProvingKey, ProveError> {
    let domain = DomainShape::for_points(rows.row_count()).ok_or(ProveError::TooLarge)?;
    let secret = Secret {
        point,
        alpha,
        beta,
        gamma,
        delta,
    };
    let head = KeyHead {
        profile: spec.profile,
        slots: spec.slots,
        mu_mode: MuMode::Outside,
        setup: SetupKind::Test,
        circuit: *rows.digest(),
    };
    let scalars = QueryScalars::new(rows, domain, &secret);
    let watch = &mut super::progress::unwatched;
    write_key(rows, head, domain, &secret, &scalars, path, watch)
}

fn run<R: Rows, T: CryptoRng + ?Sized>(
    rows: &R,
    spec: SetupSpec,
    kind: SetupKind,
    path: &Path,
    rng: &mut T,
    watch: &mut Watch<'_>,
) -> Result<ProvingKey, ProveError> {
    let domain = DomainShape::for_points(rows.row_count()).ok_or(ProveError::TooLarge)?;
    let secret = Secret::draw(domain, rng);
    let head = KeyHead {
        profile: spec.profile,
        slots: spec.slots,
        mu_mode: MuMode::Outside,
        setup: kind,
        circuit: *rows.digest(),
    };
    let stage = Running::start(Stage::Polynomials, 1, watch)?;
    let scalars = QueryScalars::new(rows, domain, &secret);
    stage.finish(watch)?;
    write_key(rows, head, domain, &secret, &scalars, path, watch)
}

/// The secret of a setup.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Secret {
    point: Fr,
    alpha: Fr,
    beta: Fr,
    gamma: Fr,
    delta: Fr,
}

impl Secret {
    fn draw<T: CryptoRng + ?Sized>(domain: DomainShape, rng: &mut T) -> Self {
        loop {
            let mut next = || Fr::random_nonzero(rng);
            let secret = Self {
                point: next(),
                alpha: next(),
                beta: next(),
                gamma: next(),
                delta: next(),
            };
            // A point on the domain or its coset would divide by zero; generators and equal
            // elements would be refused at load. None of it happens by chance.
            let power = secret.point.pow(domain.len() as u64);
            let distinct = secret.gamma != secret.delta;
            let generators = secret.gamma.is_one() || secret.delta.is_one();
            if !(power * power).is_one() && distinct && !generators {
                return secret;
            }
        }
    }
}

/// Scalars of all key points.
struct QueryScalars {
    a: Vec<Fr>,
    b: Vec<Fr>,
    /// For public variables the folded part of the quotient only.
    l: Vec<Fr>,
    inputs: Vec<Fr>,
    h: Vec<Fr>,
}

impl QueryScalars {
    fn new<R: Rows>(rows: &R, domain: DomainShape, secret: &Secret) -> Self {
        let lagrange = Lagrange::new(domain, secret.point);
        let column = |side, weights: &[Fr]| {
            let mut sums = vec![Fr::ZERO; rows.variable_count()];
            rows.for_each_term(side, &mut |row, variable, coefficient| {
                let weight = weights.get(row).copied().unwrap_or_default();
                if let Some(sum) = sums.get_mut(variable) {
                    *sum += weight * coefficient;
                }
            });
            sums
        };
        let weights = &lagrange.domain;
        let ((a, b), (mut c, folded_c)) = rayon::join(
            || (column(Side::A, weights), column(Side::B, weights)),
            || (column(Side::C, weights), column(Side::C, &lagrange.reduced)),
        );
        let gamma_inverse = secret.gamma.inverse().unwrap_or_default();
        let delta_inverse = secret.delta.inverse().unwrap_or_default();
        let half = Fr::from_u64(2).inverse().unwrap_or_default();
        let folded = lagrange.vanishing * half * delta_inverse;
        let publics = rows.public_count();
        let inputs = (0..publics)
            .map(|j| (secret.beta * a[j] + secret.alpha * b[j] + c[j]) * gamma_inverse)
            .collect();
        c.par_iter_mut().enumerate().for_each(|(j, c)| {
            let mut sum = folded_c[j] * folded;
            if j >= publics {
                sum += (secret.beta * a[j] + secret.alpha * b[j] + *c) * delta_inverse;
            }
            *c = sum;
        });
        let scale = -(half * lagrange.vanishing * delta_inverse);
        let mut h = lagrange.coset;
        h.par_iter_mut().for_each(|value| *value *= scale);
        Self {
            a,
            b,
            l: c,
            inputs,
            h,
        }
    }
}

/// Lagrange polynomials at a point.
struct Lagrange {
    /// Of the domain.
    domain: Vec<Fr>,
    /// Of the domain, without their highest coefficients.
    reduced: Vec<Fr>,
    /// Of its odd coset, without their highest coefficients.
    coset: Vec<Fr>,
    /// The domain's vanishing polynomial.
    vanishing: Fr,
}

impl Lagrange {
    fn new(shape: DomainShape, point: Fr) -> Self {
        let len = shape.len();
        let power = point.pow(len as u64);
        let len_inverse = Fr::from_u64(len as u64).inverse().unwrap_or_default();
        let offset = shape.coset_offset();
        let elements = powers(shape.root(), len);
        // x (t^n - 1) / (n (t - x)) on the domain; on the coset, where x^n = -1, the sign turns and
        // the vanishing polynomial is t^n + 1.
        let at = |factor: Fr, scale: Fr| {
            let mut out: Vec<Fr> = elements.iter().map(|x| point - *x * factor).collect();
            out.par_chunks_mut(1 << 14).for_each(Fr::batch_inverse);
            out.par_iter_mut()
                .zip(&elements)
                .for_each(|(value, x)| *value *= *x * factor * scale);
            out
        };
        // The highest coefficients are x / n and, on the coset, -x / n.
        let highest = point.pow(len as u64 - 1) * len_inverse;
        let shifted = |values: &[Fr], step: Fr| -> Vec<Fr> {
            let pairs = values.par_iter().zip(&elements);
            pairs.map(|(value, x)| *value + *x * step).collect()
        };
        let domain = at(Fr::ONE, (power - Fr::ONE) * len_inverse);
        let coset = at(offset, -(power + Fr::ONE) * len_inverse);
        Self {
            reduced: shifted(&domain, -highest),
            coset: shifted(&coset, offset * highest),
            domain,
            vanishing: power - Fr::ONE,
        }
    }
}

fn write_key<R: Rows>(
    rows: &R,
    head: KeyHead,
    domain: DomainShape,
    secret: &Secret,
    scalars: &QueryScalars,
    path: &Path,
    watch: &mut Watch<'_>,
) -> Result<ProvingKey, ProveError> {
    let used = |scalars: &[Fr]| -> Vec<u32> {
        let used = scalars
            .iter()
            .zip(0..)
            .filter(|(scalar, _)| !scalar.is_zero());
        used.map(|(_, index)| index).collect()
    };
    let picked = |scalars: &[Fr], indices: &[u32]| -> Vec<Fr> {
        indices
            .iter()
            .map(|index| scalars[*index as usize])
            .collect()
    };
    let (in_a, in_b, in_l) = (used(&scalars.a), used(&scalars.b), used(&scalars.l));
    // A point of G2 costs about three of G1.
    let g1_points = scalars.inputs.len() + in_a.len() + in_l.len() + scalars.h.len();
    let total = (g1_points + 3 * in_b.len()) as u64;
    let mut out = Multiples {
        writer: KeyWriter::create(path)?,
        stage: Running::start(Stage::KeyPoints, total, watch)?,
        done: 0,
        watch,
    };
    let table = Table::<G1>::new(G1_WINDOW);
    if scalars.inputs.iter().any(Fr::is_zero) {
        return Err(KeyError::InputCount.into());
    }
    out.section(Section::Inputs, &table, &scalars.inputs, 1)?;
    out.writer.begin(Section::IndicesA)?;
    out.writer.indices(&in_a)?;
    out.section(Section::A, &table, &picked(&scalars.a, &in_a), 1)?;
    out.writer.begin(Section::IndicesB)?;
    out.writer.indices(&in_b)?;
    let table_g2 = Table::<G2>::new(G2_WINDOW);
    out.section(Section::B, &table_g2, &picked(&scalars.b, &in_b), 3)?;
    drop(table_g2);
    out.writer.begin(Section::IndicesL)?;
    out.writer.indices(&in_l)?;
    out.section(Section::L, &table, &picked(&scalars.l, &in_l), 1)?;
    out.section(Section::H, &table, &scalars.h, 1)?;
    let g1 = |scalar| G1::generator().mul(scalar).to_affine();
    let g2 = |scalar| G2::generator().mul(scalar).to_affine();
    out.writer.finish(KeyHeader {
        head,
        domain,
        rows: rows.row_count(),
        variables: rows.variable_count(),
        publics: rows.public_count(),
        alpha: g1(secret.alpha),
        beta: g2(secret.beta),
        gamma: g2(secret.gamma),
        delta: g2(secret.delta),
        delta_g1: g1(secret.delta),
        sections: Default::default(),
    })
}

/// Sections of multiples on their way to the file.
struct Multiples<'w, 'f> {
    writer: KeyWriter,
    stage: Running,
    done: u64,
    watch: &'w mut Watch<'f>,
}

impl Multiples<'_, '_> {
    fn section<G: CurveGroup>(
        &mut self,
        section: Section,
        table: &Table<G>,
        scalars: &[Fr],
        cost: u64,
    ) -> Result<(), ProveError> {
        self.writer.begin(section)?;
        for chunk in scalars.chunks(WRITE_LEN) {
            self.writer.points::<G>(&table.multiples(chunk))?;
            self.done += cost * chunk.len() as u64;
            self.stage.report(self.done, self.watch)?;
        }
        Ok(())
    }
}

/// Multiples of a generator: for every window of a scalar, every digit's point.
pub(crate) struct Table<G: CurveGroup> {
    window: usize,
    /// By window, then by digit less one.
    digits: Vec<Vec<G::Affine>>,
}

impl<G: CurveGroup> Table<G> {
    /// Of the group's generator.
    pub(crate) fn new(window: usize) -> Self {
        Self::of(&G::generator(), window)
    }

    pub(crate) fn of(base: &G, window: usize) -> Self {
        let windows = crate::curve::SCALAR_BITS.div_ceil(window);
        let mut bases = vec![*base];
        for _ in 1..windows {
            let mut next = *bases.last().unwrap_or(base);
            for _ in 0..window {
                next = next.double();
            }
            bases.push(next);
        }
        let digits = bases
            .par_iter()
            .map(|base| {
                let mut points = Vec::with_capacity((1 << window) - 1);
                let mut sum = *base;
                for _ in 1..1 << window {
                    points.push(sum);
                    sum += *base;
                }
                G::batch_to_affine(&points)
            })
            .collect();
        Self { window, digits }
    }

    pub(crate) fn multiple(&self, scalar: Fr) -> G {
        let limbs = scalar.to_canonical_limbs();
        let mut sum = G::infinity();
        for (at, digits) in self.digits.iter().enumerate() {
            let digit = bits(&limbs, at * self.window, self.window);
            if let Some(point) = digit.checked_sub(1).and_then(|index| digits.get(index)) {
                sum = sum.add_affine(point);
            }
        }
        sum
    }

    /// The multiples of all scalars, on all threads.
    pub(crate) fn multiples(&self, scalars: &[Fr]) -> Vec<G::Affine> {
        scalars
            .par_chunks(1 << 10)
            .flat_map_iter(|chunk| {
                let points: Vec<G> = chunk.iter().map(|scalar| self.multiple(*scalar)).collect();
                G::batch_to_affine(&points)
            })
            .collect()
    }
}

/// Up to 63 bits from position `start` on.
pub(crate) fn bits(limbs: &[u64; 4], start: usize, count: usize) -> usize {
    let (limb, shift) = (start / 64, start % 64);
    let low = limbs.get(limb).copied().unwrap_or_default() >> shift;
    let high = match limbs.get(limb + 1) {
        Some(next) if shift != 0 => next << (64 - shift),
        _ => 0,
    };
    ((low | high) & ((1 << count) - 1)) as usize
}

/// Randomness that follows from a seed, for keys of kind `test`.
pub(crate) struct SeedStream(XofReader);

impl SeedStream {
    pub(crate) fn new(seed: &[u8]) -> Self {
        let mut hash = Shake256::new();
        hash.update(SEED_DOMAIN);
        hash.update(seed);
        Self(hash.finalize())
    }
}

impl TryRng for SeedStream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.0.read(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.0.read(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.read(out);
        Ok(())
    }
}

impl TryCryptoRng for SeedStream {}

const SEED_DOMAIN: &[u8] = b"horizon groth16 test setup 1\0";
/// Bits of a window of G1: 20 windows of 8191 points, 16 MB.
const G1_WINDOW: usize = 13;
/// Bits of a window of G2: 22 windows of 4095 points, 17 MB.
const G2_WINDOW: usize = 12;
/// Points between two reports.
const WRITE_LEN: usize = 1 << 15;
