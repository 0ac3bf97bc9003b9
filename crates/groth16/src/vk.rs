//! Verifying keys: the bare points, and the record that names what they are for.
//!
//! Record, big-endian: magic 8, version `u16`, curve `u16`, profile `u8`, slots `u16`, mu mode `u8`,
//! setup kind `u8` and digest 32, circuit digest 32, alpha 48, beta, gamma and delta 96 each, input
//! point count `u32`, input points 48 each, pairing of alpha and beta 576.

use core::fmt;

use sha2::{Digest, Sha256};

use crate::{
    artifact::Proof,
    backend::group::{FixedBases, TARGET_LEN, Target},
    curve::{G1, G1Affine, G2Affine},
    error::{Error, KeyError, KeyPoint, Rejected},
    fr::Fr,
    inputs::{H_INDEX, MU_LIMBS, SLOTS_MAX, W_MIN_INDEX, input_count, mu_offset},
};

/// Who sits in the slots of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Slot s is validator s; which of them signed stays private.
    Roster,
    /// Slot s is the s-th signer of a bitmap that is carried along.
    Quorum,
}

/// Where `mu` comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MuMode {
    /// The verifier computes it and gives it to the circuit.
    Outside,
}

/// How the key was made, and so who could forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SetupKind {
    /// One process with a secret from the operating system: whoever ran it can forge any proof.
    Dev,
    /// One process with a secret from a published seed: everybody can forge any proof.
    Test,
    /// A ceremony with this transcript digest: sound if one contributor was honest.
    Mpc([u8; 32]),
}

impl SetupKind {
    /// Whether one party alone could forge.
    #[must_use]
    pub const fn is_development(self) -> bool {
        !matches!(self, Self::Mpc(_))
    }

    /// Stable name: `dev`, `test` or `mpc`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Test => "test",
            Self::Mpc(_) => "mpc",
        }
    }
}

/// Which keys a caller accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Accept {
    /// Keys from a ceremony only.
    #[default]
    Ceremony,
    /// Also keys whose maker can forge. Every verdict under them says so.
    Development,
}

/// The points of a verifying key, without saying what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPoints {
    /// alpha.
    pub alpha: G1Affine,
    /// beta.
    pub beta: G2Affine,
    /// gamma.
    pub gamma: G2Affine,
    /// delta.
    pub delta: G2Affine,
    /// Input points; the first belongs to the constant one.
    pub inputs: Vec<G1Affine>,
}

impl KeyPoints {
    /// Checks what every key must satisfy, whatever it is for.
    ///
    /// # Errors
    /// [`KeyError::GammaEqualsDelta`], [`KeyError::GammaIsGenerator`],
    /// [`KeyError::DeltaIsGenerator`], [`KeyError::Point`] for infinity.
    pub fn check(&self) -> Result<(), KeyError> {
        let infinity = |which| KeyError::Point {
            which,
            reason: crate::curve::PointError::Infinity,
        };
        let points = [
            (self.beta, KeyPoint::Beta),
            (self.gamma, KeyPoint::Gamma),
            (self.delta, KeyPoint::Delta),
        ];
        if self.alpha.is_infinity() {
            return Err(infinity(KeyPoint::Alpha));
        }
        for (point, which) in points {
            if point.is_infinity() {
                return Err(infinity(which));
            }
        }
        if let Some(at) = self.inputs.iter().position(G1Affine::is_infinity) {
            return Err(infinity(KeyPoint::Input(at)));
        }
        let generator = G2Affine::generator();
        if self.gamma == self.delta {
            return Err(KeyError::GammaEqualsDelta);
        }
        if self.gamma == generator {
            return Err(KeyError::GammaIsGenerator);
        }
        if self.delta == generator {
            return Err(KeyError::DeltaIsGenerator);
        }
        Ok(())
    }

    /// The point that the public inputs amount to; the constant one is not among `inputs`.
    /// `None` when their number does not fit.
    #[must_use]
    pub fn inputs_point(&self, inputs: &[Fr]) -> Option<G1> {
        let (first, rest) = self.inputs.split_first()?;
        (rest.len() == inputs.len()).then(|| G1::msm_fr(rest, inputs).add_affine(first))
    }

    /// Verifies a proof against all public inputs, without any table: a tenth of a second per 9220
    /// inputs. The prover's own check, and the reference that the fast path is tested against.
    ///
    /// # Errors
    /// [`Rejected::Equation`], also when the number of inputs does not fit.
    pub fn verify_inputs(&self, proof: &Proof, inputs: &[Fr]) -> Result<(), Error> {
        let point = self.inputs_point(inputs).ok_or(Rejected::Equation)?;
        let target = self.target();
        verify_equation(self, &target, proof, &point).map_err(Error::from)
    }

    /// The pairing of alpha and beta.
    pub(crate) fn target(&self) -> Target {
        Target::miller_loops(&[(*self.alpha.raw(), *self.beta.raw())]).final_exponentiation()
    }
}

/// `e(A, B) = e(alpha, beta) e(inputs, gamma) e(C, delta)`.
pub(crate) fn verify_equation(
    key: &KeyPoints,
    target: &Target,
    proof: &Proof,
    inputs: &G1,
) -> Result<(), Rejected> {
    let minus = [-*inputs, -G1::from(proof.c)];
    let minus = G1::batch_to_affine(&minus);
    let [inputs, c] = minus.as_slice() else {
        return Err(Rejected::Equation);
    };
    let product = Target::miller_loops(&[
        (*proof.a.raw(), *proof.b.raw()),
        (*inputs.raw(), *key.gamma.raw()),
        (*c.raw(), *key.delta.raw()),
    ]);
    if product.final_exponentiation() == *target {
        Ok(())
    } else {
        Err(Rejected::Equation)
    }
}

/// What a verifying key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHead {
    /// Who sits in the slots.
    pub profile: Profile,
    /// Slots, 1 to [`SLOTS_MAX`].
    pub slots: usize,
    /// Where `mu` comes from.
    pub mu_mode: MuMode,
    /// How the key was made.
    pub setup: SetupKind,
    /// Digest of the circuit.
    pub circuit: [u8; 32],
}

/// A loaded verifying key: decoded, checked, with what every verification needs prepared.
pub struct VerifyingKey {
    head: KeyHead,
    points: KeyPoints,
    id: [u8; 32],
    target: Target,
    /// Bases of `H`, the least weight and every slot's `mu`.
    short_bases: FixedBases,
}

impl VerifyingKey {
    /// Decodes a record and checks all of it. Takes about 0.1 ms per input point.
    ///
    /// # Errors
    /// A [`KeyError`]: see there.
    ///
    /// # Security
    /// A key that is not pinned by [`VerifyingKey::id`] proves nothing: anyone can make one.
    pub fn from_bytes(bytes: &[u8], accept: Accept) -> Result<Self, KeyError> {
        let mut input = Input(bytes);
        let head = read_head(&mut input)?;
        if head.setup.is_development() && accept == Accept::Ceremony {
            return Err(KeyError::DevelopmentKey);
        }
        let points = read_points(&mut input, head.slots)?;
        points.check()?;
        let target = points.target();
        if input.0 != target.to_bytes() {
            let short = input.0.len() != TARGET_LEN;
            return Err(if short {
                KeyError::Length
            } else {
                KeyError::Target
            });
        }
        let id = Sha256::digest(&bytes[..bytes.len() - TARGET_LEN]).into();
        let short_bases = short_bases(&points, head.slots);
        Ok(Self {
            head,
            points,
            id,
            target,
            short_bases,
        })
    }

    /// Decodes a record and demands that it is the pinned one.
    ///
    /// # Errors
    /// [`KeyError::Id`] before anything else that is expensive; then as
    /// [`VerifyingKey::from_bytes`].
    pub fn from_pinned_bytes(
        bytes: &[u8],
        id: &[u8; 32],
        accept: Accept,
    ) -> Result<Self, KeyError> {
        let hashed = bytes
            .len()
            .checked_sub(TARGET_LEN)
            .and_then(|len| bytes.get(..len));
        if Sha256::digest(hashed.ok_or(KeyError::Length)?).as_slice() != id {
            return Err(KeyError::Id);
        }
        Self::from_bytes(bytes, accept)
    }

    /// Makes a key from points, as a setup does.
    ///
    /// # Errors
    /// [`KeyError::Slots`], [`KeyError::InputCount`], and those of [`KeyPoints::check`].
    pub fn new(head: KeyHead, points: KeyPoints) -> Result<Self, KeyError> {
        if head.slots == 0 || head.slots > SLOTS_MAX {
            return Err(KeyError::Slots);
        }
        if points.inputs.len() != 1 + input_count(head.slots) {
            return Err(KeyError::InputCount);
        }
        points.check()?;
        let target = points.target();
        let id = Sha256::digest(encode(&head, &points)).into();
        let short_bases = short_bases(&points, head.slots);
        Ok(Self {
            head,
            points,
            id,
            target,
            short_bases,
        })
    }

    /// The record.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = encode(&self.head, &self.points);
        out.extend(self.target.to_bytes());
        out
    }

    /// SHA-256 of the record without its last field: what is pinned.
    #[must_use]
    pub const fn id(&self) -> &[u8; 32] {
        &self.id
    }

    /// What the key is for.
    #[must_use]
    pub const fn head(&self) -> &KeyHead {
        &self.head
    }

    /// The points.
    #[must_use]
    pub const fn points(&self) -> &KeyPoints {
        &self.points
    }

    pub(crate) const fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) const fn short_bases(&self) -> &FixedBases {
        &self.short_bases
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyingKey")
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

/// The points that short scalars multiply: `H`, the least weight, `mu` by slot.
pub(crate) fn short_points(points: &KeyPoints, slots: usize) -> Vec<G1Affine> {
    let indices = [H_INDEX, H_INDEX + 1, W_MIN_INDEX]
        .into_iter()
        .chain((0..slots).flat_map(|slot| mu_offset(slot)..mu_offset(slot) + MU_LIMBS));
    indices
        .filter_map(|index| points.inputs.get(index).copied())
        .collect()
}

fn short_bases(points: &KeyPoints, slots: usize) -> FixedBases {
    FixedBases::new(crate::backend::group::cast_slice(&short_points(
        points, slots,
    )))
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn array<const LEN: usize>(&mut self) -> Result<&'a [u8; LEN], KeyError> {
        let (head, rest) = self.0.split_first_chunk().ok_or(KeyError::Length)?;
        self.0 = rest;
        Ok(head)
    }

    fn u8(&mut self) -> Result<u8, KeyError> {
        self.array::<1>().map(|[byte]| *byte)
    }

    fn u16(&mut self) -> Result<u16, KeyError> {
        self.array().map(|bytes| u16::from_be_bytes(*bytes))
    }
}

/// Decodes the fields before the points.
#[cfg(feature = "prove")]
pub(crate) fn decode_head(bytes: &[u8; HEAD_LEN]) -> Result<KeyHead, KeyError> {
    read_head(&mut Input(bytes))
}

fn read_head(input: &mut Input<'_>) -> Result<KeyHead, KeyError> {
    if input.array().map_err(|_| KeyError::Magic)? != MAGIC {
        return Err(KeyError::Magic);
    }
    if input.u16()? != VERSION {
        return Err(KeyError::Version);
    }
    if input.u16()? != CURVE_BLS12_381 {
        return Err(KeyError::Curve);
    }
    let profile = match input.u8()? {
        0 => Profile::Roster,
        1 => Profile::Quorum,
        _ => return Err(KeyError::Profile),
    };
    let slots = usize::from(input.u16()?);
    if slots == 0 || slots > SLOTS_MAX {
        return Err(KeyError::Slots);
    }
    if input.u8()? != 0 {
        return Err(KeyError::MuMode);
    }
    let kind = input.u8()?;
    let digest = *input.array()?;
    let setup = match (kind, digest == [0; 32]) {
        (0, true) => SetupKind::Dev,
        (1, true) => SetupKind::Test,
        (2, false) => SetupKind::Mpc(digest),
        _ => return Err(KeyError::SetupKind),
    };
    Ok(KeyHead {
        profile,
        slots,
        mu_mode: MuMode::Outside,
        setup,
        circuit: *input.array()?,
    })
}

fn read_points(input: &mut Input<'_>, slots: usize) -> Result<KeyPoints, KeyError> {
    let wrong = |which| move |reason| KeyError::Point { which, reason };
    let alpha = G1Affine::from_bytes(input.array()?).map_err(wrong(KeyPoint::Alpha))?;
    let mut second = |which| -> Result<_, KeyError> {
        G2Affine::from_bytes(input.array()?).map_err(wrong(which))
    };
    let beta = second(KeyPoint::Beta)?;
    let gamma = second(KeyPoint::Gamma)?;
    let delta = second(KeyPoint::Delta)?;
    let count = u32::from_be_bytes(*input.array()?);
    if usize::try_from(count) != Ok(1 + input_count(slots)) {
        return Err(KeyError::InputCount);
    }
    let expected = (1 + input_count(slots)) * G1Affine::LEN;
    let (bytes, rest) = input.0.split_at_checked(expected).ok_or(KeyError::Length)?;
    input.0 = rest;
    let inputs = decode_inputs(bytes.as_chunks().0)?;
    Ok(KeyPoints {
        alpha,
        beta,
        gamma,
        delta,
        inputs,
    })
}

/// Decodes on as many threads as the machine has, since every point costs a square root and a
/// subgroup check. The first bad point in order is the one reported.
fn decode_inputs(bytes: &[[u8; G1Affine::LEN]]) -> Result<Vec<G1Affine>, KeyError> {
    let threads = std::thread::available_parallelism()
        .map_or(1, core::num::NonZero::get)
        .min(DECODE_THREADS_MAX);
    let share = bytes.len().div_ceil(threads).max(1);
    let decode = |start: usize, chunk: &[[u8; G1Affine::LEN]]| {
        let points = chunk.iter().zip(start..).map(|(bytes, at)| {
            G1Affine::from_bytes(bytes).map_err(|reason| KeyError::Point {
                which: KeyPoint::Input(at),
                reason,
            })
        });
        points.collect::<Result<Vec<_>, _>>()
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = bytes
            .chunks(share)
            .enumerate()
            .map(|(at, chunk)| scope.spawn(move || decode(at * share, chunk)))
            .collect();
        let mut out = Vec::with_capacity(bytes.len());
        for worker in workers {
            // A worker does not panic; if it did, its points would be missing.
            out.extend(worker.join().map_err(|_| KeyError::InputCount)??);
        }
        Ok(out)
    })
}

/// The fields before the points.
pub(crate) fn encode_head(head: &KeyHead) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD_LEN);
    out.extend(MAGIC);
    out.extend(VERSION.to_be_bytes());
    out.extend(CURVE_BLS12_381.to_be_bytes());
    out.push(match head.profile {
        Profile::Roster => 0,
        Profile::Quorum => 1,
    });
    // At most SLOTS_MAX.
    out.extend(u16::try_from(head.slots).unwrap_or(u16::MAX).to_be_bytes());
    out.push(match head.mu_mode {
        MuMode::Outside => 0,
    });
    let (kind, digest) = match head.setup {
        SetupKind::Dev => (0, [0; 32]),
        SetupKind::Test => (1, [0; 32]),
        SetupKind::Mpc(digest) => (2, digest),
    };
    out.push(kind);
    out.extend(digest);
    out.extend(head.circuit);
    out
}

fn encode(head: &KeyHead, points: &KeyPoints) -> Vec<u8> {
    let mut out = encode_head(head);
    out.reserve(POINTS_LEN + points.inputs.len() * G1Affine::LEN + TARGET_LEN);
    out.extend(points.alpha.to_bytes());
    for point in [points.beta, points.gamma, points.delta] {
        out.extend(point.to_bytes());
    }
    // At most 1 + 3 + 9220 * SLOTS_MAX.
    out.extend(
        u32::try_from(points.inputs.len())
            .unwrap_or(u32::MAX)
            .to_be_bytes(),
    );
    for point in &points.inputs {
        out.extend(point.to_bytes());
    }
    out
}

/// Bytes of the fields before the points.
pub(crate) const HEAD_LEN: usize = 8 + 2 + 2 + 1 + 2 + 1 + 33 + 32;
/// Bytes between them and the input points: four points, count.
const POINTS_LEN: usize = 48 + 3 * 96 + 4;
const MAGIC: &[u8; 8] = b"HZG16-VK";
const VERSION: u16 = 1;
const CURVE_BLS12_381: u16 = 1;
const DECODE_THREADS_MAX: usize = 16;
