//! Phase one of a ceremony: powers of a secret that nobody knows, shared by all circuits.
//!
//! Layout of a public transcript, and of our own files after the header: powers of the secret in G1
//! (`2 n - 1`), in G2 (`n`), times alpha in G1 (`n`), times beta in G1 (`n`), beta in G2; every
//! point uncompressed, big-endian. Public transcripts start with a hash of 64 bytes.
//!
//! # Source
//! The accumulator of the public BLS12-381 powers-of-tau ceremonies, as their `challenge` files
//! hold it.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use rand_core::CryptoRng;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::{
    error::{CeremonyError, ProveError},
    fft::LOG2_MAX,
};
use crate::{
    backend::group::Target,
    curve::{CurveGroup, G1, G1Affine, G2, G2Affine},
};

/// Powers of a secret `t` with secrets alpha and beta.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Powers {
    /// `t^i` for i below `2 n - 1`.
    pub(crate) g1: Vec<G1Affine>,
    /// `t^i` for i below n.
    pub(crate) g2: Vec<G2Affine>,
    /// `alpha t^i` for i below n.
    pub(crate) alpha: Vec<G1Affine>,
    /// `beta t^i` for i below n.
    pub(crate) beta: Vec<G1Affine>,
    /// beta.
    pub(crate) beta_g2: G2Affine,
}

impl Powers {
    /// Reads the first `count` powers of a public transcript that has `2^log2`, and checks them.
    ///
    /// # Errors
    /// [`CeremonyError::Length`], [`CeremonyError::TooFewPowers`], and those of [`Powers::check`];
    /// [`ProveError::Io`].
    pub fn import<R: CryptoRng + ?Sized>(
        path: &Path,
        log2: u32,
        count: usize,
        rng: &mut R,
    ) -> Result<Self, ProveError> {
        let doing = "reading the transcript";
        if log2 > LOG2_MAX || count == 0 || count > 1 << log2 {
            return Err(CeremonyError::TooFewPowers.into());
        }
        let n = 1_usize << log2;
        let file = File::open(path).map_err(ProveError::io(doing))?;
        let size = file.metadata().map_err(ProveError::io(doing))?.len();
        if size != (TRANSCRIPT_HASH_LEN + points_len(n)) as u64 {
            return Err(CeremonyError::Length.into());
        }
        let mut input = BufReader::with_capacity(1 << 20, file);
        skip(&mut input, TRANSCRIPT_HASH_LEN)?;
        let powers = Self {
            g1: read_some::<G1>(&mut input, 2 * count - 1, 2 * n - 1)?,
            g2: read_some::<G2>(&mut input, count, n)?,
            alpha: read_some::<G1>(&mut input, count, n)?,
            beta: read_some::<G1>(&mut input, count, n)?,
            beta_g2: read_some::<G2>(&mut input, 1, 1)?
                .first()
                .copied()
                .ok_or(CeremonyError::Length)?,
        };
        powers.check(rng)?;
        Ok(powers)
    }

    /// Reads a file written by [`Powers::write`]. Every point is checked, their relations are not:
    /// that is [`Powers::check`].
    ///
    /// # Errors
    /// [`CeremonyError::Format`], [`CeremonyError::Length`], [`CeremonyError::Digest`],
    /// [`CeremonyError::Point`]; [`ProveError::Io`].
    pub fn read(path: &Path) -> Result<Self, ProveError> {
        let doing = "reading the powers";
        let file = File::open(path).map_err(ProveError::io(doing))?;
        let size = file.metadata().map_err(ProveError::io(doing))?.len();
        let mut input = BufReader::with_capacity(1 << 20, file);
        let mut head = [0; HEADER_LEN];
        if size < HEADER_LEN as u64 {
            return Err(CeremonyError::Format.into());
        }
        input.read_exact(&mut head).map_err(ProveError::io(doing))?;
        let (magic, rest) = head.split_at(MAGIC.len());
        let (count, digest) = rest.split_at(8);
        let count = count.try_into().map(u64::from_le_bytes).ok();
        let count = count.and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|count| (1..=1 << LOG2_MAX).contains(count));
        let (true, Some(count)) = (magic == MAGIC, count) else {
            return Err(CeremonyError::Format.into());
        };
        if size != (HEADER_LEN + points_len(count)) as u64 {
            return Err(CeremonyError::Length.into());
        }
        let powers = Self {
            g1: read_some::<G1>(&mut input, 2 * count - 1, 2 * count - 1)?,
            g2: read_some::<G2>(&mut input, count, count)?,
            alpha: read_some::<G1>(&mut input, count, count)?,
            beta: read_some::<G1>(&mut input, count, count)?,
            beta_g2: read_some::<G2>(&mut input, 1, 1)?
                .first()
                .copied()
                .ok_or(CeremonyError::Length)?,
        };
        if powers.digest() != digest {
            return Err(CeremonyError::Digest.into());
        }
        Ok(powers)
    }

    /// Writes the powers with a header: magic, count and digest.
    ///
    /// # Errors
    /// [`ProveError::Io`].
    pub fn write(&self, path: &Path) -> Result<(), ProveError> {
        let write = || -> std::io::Result<()> {
            let mut out = BufWriter::with_capacity(1 << 20, File::create_new(path)?);
            out.write_all(MAGIC)?;
            out.write_all(&(self.len() as u64).to_le_bytes())?;
            out.write_all(&self.digest())?;
            self.each_point(&mut |bytes| out.write_all(bytes))?;
            out.into_inner()
                .map_err(|error| error.into_error())?
                .sync_all()
        };
        write().map_err(ProveError::io("writing the powers"))
    }

    /// Number of powers in G2: the largest domain that they serve.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.g2.len()
    }

    /// Never: there is at least the generator.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.g2.is_empty()
    }

    /// The powers for a smaller domain.
    ///
    /// # Errors
    /// [`CeremonyError::TooFewPowers`].
    pub fn truncated(&self, count: usize) -> Result<Self, CeremonyError> {
        if count == 0 || count > self.len() {
            return Err(CeremonyError::TooFewPowers);
        }
        let first =
            |points: &[G1Affine], count: usize| points.iter().take(count).copied().collect();
        Ok(Self {
            g1: first(&self.g1, 2 * count - 1),
            g2: self.g2.iter().take(count).copied().collect(),
            alpha: first(&self.alpha, count),
            beta: first(&self.beta, count),
            beta_g2: self.beta_g2,
        })
    }

    /// SHA-256 of all points.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new_with_prefix(DIGEST_DOMAIN);
        let hashed: Result<(), core::convert::Infallible> = self.each_point(&mut |bytes| {
            hash.update(bytes);
            Ok(())
        });
        let Ok(()) = hashed;
        hash.finalize().into()
    }

    /// Checks that all points are what they are said to be: powers of one secret, times one alpha
    /// and one beta. One random linear combination and two pairings per vector.
    ///
    /// # Errors
    /// [`CeremonyError::Powers`].
    pub fn check<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> Result<(), CeremonyError> {
        let wrong = CeremonyError::Powers;
        let (Some(first), Some(first_g2)) = (self.g1.first(), self.g2.first()) else {
            return Err(wrong);
        };
        let generators = *first == G1Affine::generator() && *first_g2 == G2Affine::generator();
        let lengths = self.g1.len() == 2 * self.len() - 1
            && self.alpha.len() == self.len()
            && self.beta.len() == self.len();
        if !generators || !lengths {
            return Err(wrong);
        }
        let generator = G1Affine::generator();
        let beta = self.beta.first().ok_or(wrong)?;
        same_ratio((&generator, beta), (first_g2, &self.beta_g2)).ok_or(wrong)?;
        // With one power there is nothing that a secret could have been raised to.
        let (Some(secret), Some(secret_g2)) = (self.g1.get(1), self.g2.get(1)) else {
            return Ok(());
        };
        for points in [&self.g1, &self.alpha, &self.beta] {
            let (low, high) = combined::<G1, R>(points, rng);
            same_ratio((&low, &high), (first_g2, secret_g2)).ok_or(wrong)?;
        }
        let (low, high) = combined::<G2, R>(&self.g2, rng);
        same_ratio((&generator, secret), (&low, &high)).ok_or(wrong)
    }

    fn each_point<E>(&self, write: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let g1 = |points: &[G1Affine], write: &mut dyn FnMut(&[u8]) -> Result<(), E>| {
            points
                .iter()
                .try_for_each(|point| write(&G1::uncompressed(point)))
        };
        g1(&self.g1, write)?;
        self.g2
            .iter()
            .try_for_each(|point| write(&G2::uncompressed(point)))?;
        g1(&self.alpha, write)?;
        g1(&self.beta, write)?;
        write(&G2::uncompressed(&self.beta_g2))
    }
}

/// Whether `b = x a` in G1 and `d = x c` in G2 for one x. None may be infinity.
pub(crate) fn same_ratio(
    (a, b): (&G1Affine, &G1Affine),
    (c, d): (&G2Affine, &G2Affine),
) -> Option<()> {
    if a.is_infinity() || b.is_infinity() || c.is_infinity() || d.is_infinity() {
        return None;
    }
    let minus_b = (-G1::from(*b)).to_affine();
    let product = Target::miller_loops(&[(*a.raw(), *d.raw()), (*minus_b.raw(), *c.raw())]);
    (product.final_exponentiation() == Target::one()).then_some(())
}

/// Random multiples of all points but the last, and the same multiples of their successors.
fn combined<G: CurveGroup, R: CryptoRng + ?Sized>(
    points: &[G::Affine],
    rng: &mut R,
) -> (G::Affine, G::Affine) {
    let len = points.len().saturating_sub(1);
    let coefficients = random_coefficients(len, rng);
    let sum = |points: &[G::Affine]| sum_128::<G>(points, &coefficients);
    let sums = [sum(&points[..len]), sum(&points[points.len() - len..])];
    let affine = G::batch_to_affine(&sums);
    (affine[0], affine[1])
}

/// Coefficients of 128 bits, 16 bytes each.
pub(crate) fn random_coefficients<R: CryptoRng + ?Sized>(count: usize, rng: &mut R) -> Vec<u8> {
    let mut out = vec![0; 16 * count];
    rng.fill_bytes(&mut out);
    out
}

/// The sum of multiples by 128-bit coefficients, on all threads.
pub(crate) fn sum_128<G: CurveGroup>(points: &[G::Affine], coefficients: &[u8]) -> G {
    let share = points.len().div_ceil(rayon::current_num_threads()).max(1);
    let sums: Vec<G> = points
        .par_chunks(share)
        .zip(coefficients.par_chunks(16 * share))
        .map(|(points, coefficients)| G::msm(points, coefficients, 128).unwrap_or_else(G::infinity))
        .collect();
    sums.into_iter().fold(G::infinity(), |sum, part| sum + part)
}

/// Reads the first `count` of `total` points and skips the rest.
fn read_some<G: CurveGroup>(
    input: &mut BufReader<File>,
    count: usize,
    total: usize,
) -> Result<Vec<G::Affine>, ProveError> {
    let len = 2 * G::COMPRESSED_LEN;
    let mut out = Vec::new();
    let mut left = count;
    while left > 0 {
        let now = left.min(READ_LEN);
        let mut bytes = vec![0; now * len];
        input
            .read_exact(&mut bytes)
            .map_err(ProveError::io("reading the powers"))?;
        let points: Option<Vec<G::Affine>> =
            bytes.par_chunks(len).map(G::from_uncompressed).collect();
        out.extend(points.ok_or(CeremonyError::Point)?);
        left -= now;
    }
    skip(input, (total - count) * len)?;
    Ok(out)
}

fn skip(input: &mut BufReader<File>, len: usize) -> Result<(), ProveError> {
    let offset = i64::try_from(len).map_err(|_| CeremonyError::Length)?;
    input
        .seek_relative(offset)
        .map_err(ProveError::io("reading the powers"))
}

/// Bytes of all points of a transcript with n powers in G2.
const fn points_len(n: usize) -> usize {
    (2 * n - 1 + n + n) * 96 + (n + 1) * 192
}

const MAGIC: &[u8; 8] = b"HZG16-PT";
const HEADER_LEN: usize = 8 + 8 + 32;
/// Bytes of the hash that public transcripts start with.
pub const TRANSCRIPT_HASH_LEN: usize = 64;
const DIGEST_DOMAIN: &[u8] = b"horizon groth16 powers 1\0";
/// Points decoded at once.
const READ_LEN: usize = 1 << 15;
