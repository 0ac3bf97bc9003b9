//! Phase two of a ceremony: a key for one circuit whose secret nobody knows if one contributor was
//! honest.
//!
//! The start follows from circuit and powers alone, with delta one; gamma is a public number derived
//! from both, since it protects nothing. Every contributor multiplies delta by a secret, divides the
//! L and H queries by it, and proves knowledge of it for the transcript so far.
//!
//! # Source
//! Bowe, Gabizon, Miers, "Scalable Multi-party Computation for zk-SNARK Parameters in the Random
//! Beacon Model", phase two. The proof of knowledge is Schnorr's, its challenge bound to the
//! transcript.

use std::path::Path;

use rand_core::CryptoRng;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

use super::{
    error::{CeremonyError, ProveError, Section},
    fft::DomainShape,
    key::{KeyHeader, KeyWriter, ProvingKey},
    powers::{Powers, random_coefficients, same_ratio, sum_128},
    progress::{Running, Stage, Watch},
    r1cs::Side,
    rows::Rows,
    setup::SetupSpec,
};
use crate::{
    backend::{group::Wraps, map::MappedPoints},
    curve::{CurveGroup, G1, G1Affine, G2, G2Affine},
    fr::Fr,
    vk::{KeyHead, MuMode, SetupKind},
};

/// Everything that was contributed, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    circuit: [u8; 32],
    powers: [u8; 32],
    contributions: Vec<Contribution>,
}

/// One contribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contribution {
    /// delta afterwards, in G1.
    delta: G1Affine,
    /// Commitment of the proof of knowledge.
    commitment: G1Affine,
    /// Response of the proof of knowledge.
    response: Fr,
    /// For a beacon its value and the exponent of its iterations.
    beacon: Option<([u8; 32], u32)>,
}

impl Transcript {
    /// Digest of the whole: what the key's setup kind names.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.digest_before(self.contributions.len())
    }

    /// Number of contributions, the beacon included.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.contributions.len()
    }

    /// Whether nobody has contributed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.contributions.is_empty()
    }

    /// Whether the last contribution is a beacon.
    #[must_use]
    pub fn ends_with_beacon(&self) -> bool {
        self.contributions
            .last()
            .is_some_and(|last| last.beacon.is_some())
    }

    /// Magic, digests of circuit and powers, count, contributions.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_LEN + self.len() * CONTRIBUTION_LEN);
        out.extend(MAGIC);
        out.extend(self.circuit);
        out.extend(self.powers);
        out.extend((self.len() as u32).to_le_bytes());
        for contribution in &self.contributions {
            out.extend(contribution.to_bytes());
        }
        out
    }

    /// Decodes a transcript; what it says is checked by [`verify`].
    ///
    /// # Errors
    /// [`CeremonyError::Format`], [`CeremonyError::Length`], [`CeremonyError::Point`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CeremonyError> {
        let (head, rest) = bytes
            .split_first_chunk::<HEADER_LEN>()
            .ok_or(CeremonyError::Format)?;
        let (magic, head) = head.split_at(MAGIC.len());
        let (circuit, head) = head.split_at(32);
        let (powers, count) = head.split_at(32);
        let count = count.try_into().map(u32::from_le_bytes).ok();
        let count = count.filter(|count| *count <= CONTRIBUTIONS_MAX);
        let (true, Some(count)) = (magic == MAGIC, count) else {
            return Err(CeremonyError::Format);
        };
        let (records, tail) = rest.as_chunks::<CONTRIBUTION_LEN>();
        if !tail.is_empty() || records.len() as u64 != u64::from(count) {
            return Err(CeremonyError::Length);
        }
        let contributions = records.iter().map(Contribution::from_bytes);
        Ok(Self {
            circuit: circuit.try_into().map_err(|_| CeremonyError::Format)?,
            powers: powers.try_into().map_err(|_| CeremonyError::Format)?,
            contributions: contributions.collect::<Result<_, _>>()?,
        })
    }

    fn digest_before(&self, contribution: usize) -> [u8; 32] {
        let start = Sha256::new_with_prefix(TRANSCRIPT_DOMAIN)
            .chain_update(self.circuit)
            .chain_update(self.powers)
            .finalize();
        let folded = self.contributions.iter().take(contribution);
        folded.fold(start.into(), |digest: [u8; 32], contribution| {
            Sha256::new_with_prefix(digest)
                .chain_update(contribution.to_bytes())
                .finalize()
                .into()
        })
    }

    fn delta_before(&self, contribution: usize) -> G1Affine {
        let before = contribution
            .checked_sub(1)
            .and_then(|at| self.contributions.get(at));
        before.map_or_else(G1Affine::generator, |contribution| contribution.delta)
    }
}

impl Contribution {
    /// Proves knowledge of `secret` for `delta' = secret * delta`.
    fn new<R: CryptoRng + ?Sized>(
        transcript: &[u8; 32],
        delta: G1Affine,
        secret: Fr,
        beacon: Option<([u8; 32], u32)>,
        rng: &mut R,
    ) -> Self {
        let nonce = Zeroizing::new(Fr::random_nonzero(rng));
        let after = G1::from(delta).mul(secret).to_affine();
        let commitment = G1::from(delta).mul(*nonce).to_affine();
        let challenge = challenge(transcript, &delta, &after, &commitment);
        Self {
            delta: after,
            commitment,
            response: *nonce + challenge * secret,
            beacon,
        }
    }

    fn knows_secret(&self, transcript: &[u8; 32], before: &G1Affine) -> bool {
        let challenge = challenge(transcript, before, &self.delta, &self.commitment);
        let right = G1::from(self.delta)
            .mul(challenge)
            .add_affine(&self.commitment);
        G1::from(*before).mul(self.response) == right
    }

    fn to_bytes(self) -> [u8; CONTRIBUTION_LEN] {
        let mut out = [0; CONTRIBUTION_LEN];
        let (delta, rest) = out.split_at_mut(48);
        let (commitment, rest) = rest.split_at_mut(48);
        let (response, rest) = rest.split_at_mut(32);
        delta.copy_from_slice(&self.delta.to_bytes());
        commitment.copy_from_slice(&self.commitment.to_bytes());
        response.copy_from_slice(&self.response.to_le_bytes());
        if let (Some((value, log2)), [flag, exponent, beacon @ ..]) = (self.beacon, rest) {
            // At most BEACON_LOG2_MAX.
            (*flag, *exponent) = (1, u8::try_from(log2).unwrap_or(u8::MAX));
            beacon.copy_from_slice(&value);
        }
        out
    }

    fn from_bytes(bytes: &[u8; CONTRIBUTION_LEN]) -> Result<Self, CeremonyError> {
        let (delta, rest) = bytes.split_at(48);
        let (commitment, rest) = rest.split_at(48);
        let (response, rest) = rest.split_at(32);
        let point = |bytes: &[u8]| {
            let bytes = bytes.try_into().map_err(|_| CeremonyError::Length)?;
            G1Affine::from_bytes(bytes).map_err(|_| CeremonyError::Point)
        };
        let response = response.try_into().map_err(|_| CeremonyError::Length)?;
        let beacon = match rest {
            [0, 0, value @ ..] if value.iter().all(|byte| *byte == 0) => None,
            [1, log2, value @ ..] if u32::from(*log2) <= BEACON_LOG2_MAX => Some((
                value.try_into().map_err(|_| CeremonyError::Length)?,
                u32::from(*log2),
            )),
            _ => return Err(CeremonyError::Format),
        };
        Ok(Self {
            delta: point(delta)?,
            commitment: point(commitment)?,
            response: Fr::from_le_bytes(response).ok_or(CeremonyError::Format)?,
            beacon,
        })
    }
}

fn challenge(transcript: &[u8; 32], before: &G1Affine, after: &G1Affine, commit: &G1Affine) -> Fr {
    let hash = |index: u8| -> [u8; 32] {
        Sha256::new_with_prefix(CHALLENGE_DOMAIN)
            .chain_update([index])
            .chain_update(transcript)
            .chain_update(before.to_bytes())
            .chain_update(after.to_bytes())
            .chain_update(commit.to_bytes())
            .finalize()
            .into()
    };
    wide_scalar(&hash(0), &hash(1))
}

/// 64 bytes modulo r, as good as uniform.
fn wide_scalar(low: &[u8; 32], high: &[u8; 32]) -> Fr {
    let halves = |bytes: &[u8; 32]| {
        let (low, high) = bytes.split_at(16);
        let half = |bytes: &[u8]| {
            let bytes = bytes.try_into().unwrap_or_default();
            Fr::from_u128(u128::from_le_bytes(bytes))
        };
        (half(low), half(high))
    };
    let radix = Fr::from_u128(1 << 64).square();
    let ((a, b), (c, d)) = (halves(low), halves(high));
    ((d * radix + c) * radix + b) * radix + a
}

/// A beacon's secret: its value hashed `2^log2` times.
fn beacon_secret(value: &[u8; 32], log2: u32) -> Fr {
    let mut state = *value;
    for _ in 0..1_u64 << log2 {
        state = Sha256::new_with_prefix(BEACON_DOMAIN)
            .chain_update(state)
            .finalize()
            .into();
    }
    let part = |index: u8| -> [u8; 32] {
        Sha256::new_with_prefix(BEACON_DOMAIN)
            .chain_update(state)
            .chain_update([index])
            .finalize()
            .into()
    };
    let scalar = wide_scalar(&part(0), &part(1));
    // Zero would end the ceremony and does not happen.
    if scalar.is_zero() { Fr::ONE } else { scalar }
}

/// Computes the start of a ceremony from circuit and powers and writes it as a key file. The key
/// cannot be loaded as a verifying key until somebody has contributed.
///
/// Takes a few group transforms of the domain's size: about 20 minutes of CPU per transform at
/// `2^20` points.
///
/// # Errors
/// [`CeremonyError::TooFewPowers`]; [`ProveError::Io`], [`ProveError::Interrupted`].
pub fn init<R: Rows>(
    rows: &R,
    spec: SetupSpec,
    powers: &Powers,
    path: &Path,
    watch: &mut Watch<'_>,
) -> Result<(ProvingKey, Transcript), ProveError> {
    let transcript = Transcript {
        circuit: *rows.digest(),
        powers: powers.digest(),
        contributions: Vec::new(),
    };
    let key = write_start(rows, spec, powers, &transcript, path, watch)?;
    Ok((key, transcript))
}

fn write_start<R: Rows>(
    rows: &R,
    spec: SetupSpec,
    powers: &Powers,
    transcript: &Transcript,
    path: &Path,
    watch: &mut Watch<'_>,
) -> Result<ProvingKey, ProveError> {
    let domain = DomainShape::for_points(rows.row_count()).ok_or(ProveError::TooLarge)?;
    let powers = powers.truncated(domain.len())?;
    let start = Start::new(rows, domain, &powers, watch)?;
    let gamma = public_gamma(transcript);
    let mut writer = KeyWriter::create(path)?;
    let inverse = gamma.inverse().unwrap_or(Fr::ONE);
    let inputs: Vec<G1> = start
        .inputs
        .par_iter()
        .map(|point| point.mul(inverse))
        .collect();
    writer.begin(Section::Inputs)?;
    writer.points::<G1>(&G1::batch_to_affine(&inputs))?;
    write_query::<G1>(&mut writer, Section::IndicesA, Section::A, &start.a)?;
    write_query::<G2>(&mut writer, Section::IndicesB, Section::B, &start.b)?;
    write_query::<G1>(&mut writer, Section::IndicesL, Section::L, &start.l)?;
    writer.begin(Section::H)?;
    writer.points::<G1>(&G1::batch_to_affine(&start.h))?;
    let first = |points: &[G1Affine]| points.first().copied().ok_or(CeremonyError::TooFewPowers);
    writer.finish(KeyHeader {
        head: KeyHead {
            profile: spec.profile,
            slots: spec.slots,
            mu_mode: MuMode::Outside,
            setup: SetupKind::Mpc(transcript.digest()),
            circuit: transcript.circuit,
        },
        domain,
        rows: rows.row_count(),
        variables: rows.variable_count(),
        publics: rows.public_count(),
        alpha: first(&powers.alpha)?,
        beta: powers.beta_g2,
        gamma: G2::generator().mul(gamma).to_affine(),
        delta: G2Affine::generator(),
        delta_g1: G1Affine::generator(),
        sections: Default::default(),
    })
}

fn write_query<G: CurveGroup>(
    writer: &mut KeyWriter,
    indices: Section,
    points: Section,
    sums: &[G],
) -> Result<(), ProveError> {
    let finite = sums
        .iter()
        .zip(0_u32..)
        .filter(|(sum, _)| !sum.is_infinity());
    let (kept, used): (Vec<G>, Vec<u32>) = finite.map(|(sum, index)| (*sum, index)).unzip();
    writer.begin(indices)?;
    writer.indices(&used)?;
    writer.begin(points)?;
    writer.points::<G>(&G::batch_to_affine(&kept))
}

/// Key points with gamma and delta one.
struct Start {
    inputs: Vec<G1>,
    a: Vec<G1>,
    b: Vec<G2>,
    l: Vec<G1>,
    h: Vec<G1>,
}

impl Start {
    fn new<R: Rows>(
        rows: &R,
        domain: DomainShape,
        powers: &Powers,
        watch: &mut Watch<'_>,
    ) -> Result<Self, ProveError> {
        let stage = Running::start(Stage::Polynomials, 6, watch)?;
        let n = domain.len();
        let project = |points: &[G1Affine]| points.iter().map(|p| G1::from(*p)).collect::<Vec<_>>();
        let power = project(&powers.g1);
        let lagrange = lagrange(domain, power.iter().take(n).copied().collect());
        stage.report(1, watch)?;
        let lagrange_alpha = lagrange_of(domain, &powers.alpha);
        stage.report(2, watch)?;
        let lagrange_beta = lagrange_of(domain, &powers.beta);
        stage.report(3, watch)?;
        let b: Vec<G2> = {
            let points = powers.g2.iter().map(|point| G2::from(*point)).collect();
            let lagrange = lagrange_g2(domain, points);
            column(rows, Side::B, &lagrange)
        };
        stage.report(4, watch)?;
        // `t^k Z(t)` without the highest k, whose parts cancel.
        let mut vanishing: Vec<G1> = (0..n - 1).map(|k| power[k + n] + -power[k]).collect();
        vanishing.push(G1::infinity());
        let half = Fr::from_u64(2).inverse().unwrap_or_default();
        let folded = column(
            rows,
            Side::C,
            &lagrange_scaled(domain, vanishing.clone(), half),
        );
        stage.report(5, watch)?;
        let offset_inverse = domain.coset_offset().inverse().unwrap_or_default();
        let factors = super::fft::powers(offset_inverse, n);
        let shifted = vanishing.into_par_iter().zip(factors);
        let shifted = shifted.map(|(point, factor)| point.mul(factor)).collect();
        let h = lagrange_scaled(domain, shifted, -half);
        let a = column(rows, Side::A, &lagrange);
        let mut l = column(rows, Side::A, &lagrange_beta);
        for (side, weights) in [(Side::B, &lagrange_alpha), (Side::C, &lagrange)] {
            let sums = column(rows, side, weights);
            l.iter_mut().zip(sums).for_each(|(sum, more)| *sum += more);
        }
        let publics = rows.public_count();
        let inputs = l.iter().take(publics).copied().collect();
        l.iter_mut()
            .take(publics)
            .for_each(|sum| *sum = G1::infinity());
        l.iter_mut()
            .zip(folded)
            .for_each(|(sum, more)| *sum += more);
        stage.finish(watch)?;
        Ok(Self { inputs, a, b, l, h })
    }
}

fn lagrange_of(domain: DomainShape, points: &[G1Affine]) -> Vec<G1> {
    lagrange(
        domain,
        points.iter().map(|point| G1::from(*point)).collect(),
    )
}

/// Lagrange polynomials at the secret, from its powers.
fn lagrange(domain: DomainShape, powers: Vec<G1>) -> Vec<G1> {
    lagrange_scaled(domain, powers, Fr::ONE)
}

fn lagrange_g2(domain: DomainShape, powers: Vec<G2>) -> Vec<G2> {
    lagrange_scaled(domain, powers, Fr::ONE)
}

fn lagrange_scaled<G: CurveGroup>(domain: DomainShape, powers: Vec<G>, scale: Fr) -> Vec<G> {
    let root = domain.root().inverse().unwrap_or_default();
    let scale = scale
        * Fr::from_u64(domain.len() as u64)
            .inverse()
            .unwrap_or_default();
    let sums = group_transform(powers, root);
    sums.into_par_iter().map(|sum| sum.mul(scale)).collect()
}

/// `out_r = sum_k root^(r k) points_k` for lengths `2^j` and `3 * 2^j`. As deep as the exponent.
fn group_transform<G: CurveGroup>(points: Vec<G>, root: Fr) -> Vec<G> {
    let len = points.len();
    if len == 3 {
        let sum = |r: u64| {
            let term = |k: u64| points[k as usize].mul(root.pow(r * k));
            term(0) + term(1) + term(2)
        };
        return vec![sum(0), sum(1), sum(2)];
    }
    if len < 2 {
        return points;
    }
    let even = points.iter().step_by(2).copied().collect();
    let odd = points.iter().skip(1).step_by(2).copied().collect();
    drop(points);
    let square = root.square();
    let (even, odd): (Vec<G>, Vec<G>) = rayon::join(
        || group_transform(even, square),
        || group_transform(odd, square),
    );
    let twiddles = super::fft::powers(root, odd.len());
    let twisted: Vec<G> = odd
        .into_par_iter()
        .zip(twiddles)
        .map(|(p, t)| p.mul(t))
        .collect();
    let low = even.par_iter().zip(&twisted).map(|(e, o)| *e + *o);
    let high = even.par_iter().zip(&twisted).map(|(e, o)| *e + -*o);
    low.chain(high).collect()
}

/// For every variable the sum of its column's coefficients times the rows' points.
fn column<G: CurveGroup, R: Rows>(rows: &R, side: Side, weights: &[G]) -> Vec<G> {
    let mut sums = vec![G::infinity(); rows.variable_count()];
    rows.for_each_term(side, &mut |row, variable, coefficient| {
        if let (Some(sum), Some(weight)) = (sums.get_mut(variable), weights.get(row)) {
            *sum += multiple(weight, coefficient);
        }
    });
    sums
}

/// Most coefficients are small integers of either sign.
fn multiple<G: CurveGroup>(point: &G, coefficient: Fr) -> G {
    match (
        coefficient.to_canonical_limbs(),
        (-coefficient).to_canonical_limbs(),
    ) {
        ([1, 0, 0, 0], _) => *point,
        (_, [1, 0, 0, 0]) => -*point,
        ([small, 0, 0, 0], _) => point.mul_small(small),
        (_, [small, 0, 0, 0]) => -point.mul_small(small),
        _ => point.mul(coefficient),
    }
}

/// Adds a contribution with a secret from `rng`; the secret is wiped before this returns.
///
/// # Errors
/// [`CeremonyError::Digest`] when key and transcript do not belong together;
/// [`ProveError::KeyFile`], [`ProveError::Io`], [`ProveError::Interrupted`].
///
/// # Security
/// `rng` must be the operating system's, on a machine that the contributor trusts.
pub fn contribute<R: CryptoRng + ?Sized>(
    key: &ProvingKey,
    transcript: &Transcript,
    path: &Path,
    rng: &mut R,
    watch: &mut Watch<'_>,
) -> Result<(ProvingKey, Transcript), ProveError> {
    let secret = Zeroizing::new(Fr::random_nonzero(rng));
    apply(key, transcript, &secret, None, path, rng, watch)
}

/// Adds the last contribution, whose secret everybody can compute from a public value that nobody
/// could know before: it only makes sure that the last contributor did not choose the outcome.
///
/// # Errors
/// As [`contribute`]; [`CeremonyError::Beacon`] for an exponent above [`BEACON_LOG2_MAX`].
pub fn beacon<R: CryptoRng + ?Sized>(
    key: &ProvingKey,
    transcript: &Transcript,
    (value, log2): ([u8; 32], u32),
    path: &Path,
    rng: &mut R,
    watch: &mut Watch<'_>,
) -> Result<(ProvingKey, Transcript), ProveError> {
    if log2 > BEACON_LOG2_MAX {
        return Err(CeremonyError::Beacon.into());
    }
    let secret = Zeroizing::new(beacon_secret(&value, log2));
    apply(
        key,
        transcript,
        &secret,
        Some((value, log2)),
        path,
        rng,
        watch,
    )
}

fn apply<R: CryptoRng + ?Sized>(
    key: &ProvingKey,
    transcript: &Transcript,
    secret: &Fr,
    beacon: Option<([u8; 32], u32)>,
    path: &Path,
    rng: &mut R,
    watch: &mut Watch<'_>,
) -> Result<(ProvingKey, Transcript), ProveError> {
    check_pair(key, transcript)?;
    if transcript.len() as u64 >= u64::from(CONTRIBUTIONS_MAX) {
        return Err(CeremonyError::Length.into());
    }
    let before = transcript.delta_before(transcript.len());
    let contribution = Contribution::new(&transcript.digest(), before, *secret, beacon, rng);
    let mut transcript = transcript.clone();
    transcript.contributions.push(contribution);
    let mut inverse = Zeroizing::new(secret.inverse().unwrap_or_default());
    let mut writer = KeyWriter::create(path)?;
    let scaled = [Section::L, Section::H];
    let total: usize = scaled.iter().map(|section| key.entry(*section).count).sum();
    let stage = Running::start(Stage::Contribute, total as u64, watch)?;
    let mut done = 0;
    for section in Section::ALL {
        writer.begin(section)?;
        match section {
            Section::Inputs | Section::A => copy_points::<G1>(key, section, &mut writer)?,
            Section::B => copy_points::<G2>(key, section, &mut writer)?,
            Section::IndicesA | Section::IndicesB | Section::IndicesL => {
                writer.indices(&key.indices(section)?)?;
            }
            Section::L | Section::H => {
                let points: MappedPoints<G1Affine> = key.points(section)?;
                for chunk in points.points().chunks(WRITE_LEN) {
                    let scaled: Vec<G1> = chunk
                        .par_iter()
                        .map(|point| G1::from(*point).mul(*inverse))
                        .collect();
                    writer.points::<G1>(&G1::batch_to_affine(&scaled))?;
                    done += chunk.len() as u64;
                    stage.report(done, watch)?;
                }
            }
        }
    }
    inverse.zeroize();
    let mut header = key.header().clone();
    header.head.setup = SetupKind::Mpc(transcript.digest());
    header.delta = G2::from(header.delta).mul(*secret).to_affine();
    header.delta_g1 = contribution.delta;
    Ok((writer.finish(header)?, transcript))
}

fn copy_points<G: CurveGroup>(
    key: &ProvingKey,
    section: Section,
    writer: &mut KeyWriter,
) -> Result<(), ProveError>
where
    G::Affine: Wraps,
{
    let points: MappedPoints<G::Affine> = key.points(section)?;
    let bytes = points.bytes().chunks(WRITE_LEN * G::RAW_LEN);
    bytes
        .into_iter()
        .try_for_each(|bytes| writer.entries(bytes, bytes.len() / G::RAW_LEN))
}

fn check_pair(key: &ProvingKey, transcript: &Transcript) -> Result<(), CeremonyError> {
    let header = key.header();
    let fits = header.head.setup == SetupKind::Mpc(transcript.digest())
        && header.head.circuit == transcript.circuit
        && header.delta_g1 == transcript.delta_before(transcript.len());
    if fits {
        Ok(())
    } else {
        Err(CeremonyError::Digest)
    }
}

/// Checks a whole ceremony: the start is recomputed from circuit and powers and written to
/// `scratch`, every contributor knew a secret, and the last key follows from start and last delta.
///
/// # Errors
/// One [`CeremonyError`] per way of being wrong; [`ProveError::KeyFile`], [`ProveError::Io`].
#[expect(
    clippy::too_many_arguments,
    reason = "each is another thing that is checked against the others"
)]
pub fn verify<R: Rows, T: CryptoRng + ?Sized>(
    rows: &R,
    spec: SetupSpec,
    powers: &Powers,
    key: &ProvingKey,
    transcript: &Transcript,
    scratch: &Path,
    rng: &mut T,
    watch: &mut Watch<'_>,
) -> Result<(), ProveError> {
    if transcript.is_empty() {
        return Err(CeremonyError::NoContribution.into());
    }
    if transcript.circuit != *rows.digest() || transcript.powers != powers.digest() {
        return Err(CeremonyError::Start.into());
    }
    check_pair(key, transcript)?;
    powers.check(rng)?;
    check_chain(transcript)?;
    let empty = Transcript {
        contributions: Vec::new(),
        ..transcript.clone()
    };
    let start = write_start(rows, spec, powers, &empty, scratch, watch)?;
    let stage = Running::start(Stage::Check, 2, watch)?;
    check_unchanged(&start, key)?;
    let header = key.header();
    let generators = (G1Affine::generator(), G2Affine::generator());
    same_ratio(
        (&generators.0, &header.delta_g1),
        (&generators.1, &header.delta),
    )
    .ok_or(CeremonyError::Queries)?;
    for (section, done) in [(Section::L, 1), (Section::H, 2)] {
        check_query(&start, key, section, rng)?;
        stage.report(done, watch)?;
    }
    // What a load of the verifying key would refuse is no result of a ceremony.
    key.key_points()?.check()?;
    Ok(())
}

/// Every contributor knew the factor of delta, and a beacon's is the one its value gives.
fn check_chain(transcript: &Transcript) -> Result<(), CeremonyError> {
    for (index, contribution) in transcript.contributions.iter().enumerate() {
        let before = transcript.delta_before(index);
        if contribution.delta == before {
            return Err(CeremonyError::Delta {
                contribution: index,
            });
        }
        if !contribution.knows_secret(&transcript.digest_before(index), &before) {
            return Err(CeremonyError::Knowledge {
                contribution: index,
            });
        }
        if let Some((value, log2)) = &contribution.beacon {
            let secret = beacon_secret(value, *log2);
            if G1::from(before).mul(secret) != G1::from(contribution.delta) {
                return Err(CeremonyError::Beacon);
            }
        }
    }
    Ok(())
}

/// A number that depends on circuit and powers and that nobody chooses. Two is added so that it is
/// neither of the values that would be refused.
fn public_gamma(transcript: &Transcript) -> Fr {
    wide_scalar(&transcript.circuit, &transcript.powers) + Fr::from_u64(2)
}

/// Everything that contributions do not touch is as at the start.
fn check_unchanged(start: &ProvingKey, key: &ProvingKey) -> Result<(), CeremonyError> {
    let mut expected = start.header().clone();
    let found = key.header();
    expected.head.setup = found.head.setup;
    expected.delta = found.delta;
    expected.delta_g1 = found.delta_g1;
    for section in [Section::L, Section::H] {
        expected.sections[section as usize].digest = found.sections[section as usize].digest;
    }
    if expected == *found {
        Ok(())
    } else {
        Err(CeremonyError::Start)
    }
}

/// Every point of a query, times the last delta, is the start's: one random combination.
fn check_query<R: CryptoRng + ?Sized>(
    start: &ProvingKey,
    key: &ProvingKey,
    section: Section,
    rng: &mut R,
) -> Result<(), ProveError> {
    let before: MappedPoints<G1Affine> = start.points(section)?;
    let after: MappedPoints<G1Affine> = key.points(section)?;
    if !after.points().par_iter().all(G1::affine_is_valid) {
        return Err(CeremonyError::Point.into());
    }
    let coefficients = random_coefficients(after.points().len(), rng);
    let sums = [
        sum_128::<G1>(after.points(), &coefficients),
        sum_128::<G1>(before.points(), &coefficients),
    ];
    let sums = G1::batch_to_affine(&sums);
    let (Some(after), Some(before)) = (sums.first(), sums.get(1)) else {
        return Err(CeremonyError::Queries.into());
    };
    // An empty query has nothing to compare.
    if after.is_infinity() && before.is_infinity() {
        return Ok(());
    }
    let generator = G2Affine::generator();
    same_ratio((after, before), (&generator, &key.header().delta))
        .ok_or_else(|| CeremonyError::Queries.into())
}

#[cfg(test)]
mod tests;

/// Most contributions of a ceremony.
pub const CONTRIBUTIONS_MAX: u32 = 4096;
/// Largest exponent of a beacon's iterations: `2^24` hashes take seconds.
pub const BEACON_LOG2_MAX: u32 = 24;
const MAGIC: &[u8; 8] = b"HZG16-TR";
const HEADER_LEN: usize = 8 + 32 + 32 + 4;
const CONTRIBUTION_LEN: usize = 48 + 48 + 32 + 2 + 32;
const TRANSCRIPT_DOMAIN: &[u8] = b"horizon groth16 ceremony 1\0";
const CHALLENGE_DOMAIN: &[u8] = b"horizon groth16 contribution 1\0";
const BEACON_DOMAIN: &[u8] = b"horizon groth16 beacon 1\0";
/// Points written between two reports.
const WRITE_LEN: usize = 1 << 15;
