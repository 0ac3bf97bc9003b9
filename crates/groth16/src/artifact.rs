//! The bytes of a wrapper: a proof of 192 bytes and the hash of its public inputs.

use crate::{
    curve::{G1Affine, G2Affine},
    error::{ArtifactError, ProofPoint},
    inputs::SLOTS_MAX,
};

/// Bytes of a proof.
pub const PROOF_LEN: usize = 192;
/// Bytes of a wrapper in the `roster` profile.
pub const ARTIFACT_LEN: usize = PROOF_LEN + 32;
/// Most bytes of the signer bitmap that follows in the `quorum` profile: validators are as many as
/// the registry has, at most this many times eight.
pub const SIGNERS_LEN_MAX: usize = 8192;

/// A proof: three points, each in its subgroup and none infinity.
///
/// # Security
/// Anyone can turn a proof into another proof of the same statement. Its bytes are no identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    pub(crate) a: G1Affine,
    pub(crate) b: G2Affine,
    pub(crate) c: G1Affine,
}

impl Proof {
    /// Decodes A, B and C in compressed form.
    ///
    /// # Errors
    /// [`ArtifactError::Point`] naming the first point that is wrong, and why.
    pub fn from_bytes(bytes: &[u8; PROOF_LEN]) -> Result<Self, ArtifactError> {
        let point = |which| move |reason| ArtifactError::Point { which, reason };
        let (a, rest) = bytes.split_at(G1Affine::LEN);
        let (b, c) = rest.split_at(G2Affine::LEN);
        let wrong = ArtifactError::Length { len: bytes.len() };
        let a = a.try_into().map_err(|_| wrong)?;
        let b = b.try_into().map_err(|_| wrong)?;
        let c = c.try_into().map_err(|_| wrong)?;
        Ok(Self {
            a: G1Affine::from_bytes(a).map_err(point(ProofPoint::A))?,
            b: G2Affine::from_bytes(b).map_err(point(ProofPoint::B))?,
            c: G1Affine::from_bytes(c).map_err(point(ProofPoint::C))?,
        })
    }

    /// The compressed points.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; PROOF_LEN] {
        let mut out = [0; PROOF_LEN];
        let (a, rest) = out.split_at_mut(G1Affine::LEN);
        let (b, c) = rest.split_at_mut(G2Affine::LEN);
        a.copy_from_slice(&self.a.to_bytes());
        b.copy_from_slice(&self.b.to_bytes());
        c.copy_from_slice(&self.c.to_bytes());
        out
    }
}

/// A proof and the hash of the public inputs that its maker had in mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The proof.
    pub proof: Proof,
    /// Claimed hash of the public inputs, to be recomputed and never believed.
    pub inputs_hash: [u8; 32],
}

impl Artifact {
    /// Decodes exactly 224 bytes.
    ///
    /// # Errors
    /// [`ArtifactError::Length`]; then as [`Proof::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ArtifactError> {
        let wrong = ArtifactError::Length { len: bytes.len() };
        let (proof, hash) = bytes.split_first_chunk::<PROOF_LEN>().ok_or(wrong)?;
        let inputs_hash = hash.try_into().map_err(|_| wrong)?;
        Ok(Self {
            proof: Proof::from_bytes(proof)?,
            inputs_hash,
        })
    }

    /// The 224 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; ARTIFACT_LEN] {
        let mut out = [0; ARTIFACT_LEN];
        let (proof, hash) = out.split_at_mut(PROOF_LEN);
        proof.copy_from_slice(&self.proof.to_bytes());
        hash.copy_from_slice(&self.inputs_hash);
        out
    }
}

/// A wrapper of the `quorum` profile: 224 bytes and the bitmap of the validators in its slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumArtifact {
    /// Proof and hash.
    pub artifact: Artifact,
    /// Validators in slot order, strictly ascending.
    signers: Vec<usize>,
}

impl QuorumArtifact {
    /// Joins an artifact and the validators of its slots.
    ///
    /// # Errors
    /// [`ArtifactError::Signers`] unless they ascend strictly, are 1 to [`SLOTS_MAX`] and fit the
    /// bitmap.
    pub fn new(artifact: Artifact, signers: Vec<usize>) -> Result<Self, ArtifactError> {
        let ascending = signers
            .iter()
            .zip(signers.iter().skip(1))
            .all(|(a, b)| a < b);
        let fits = signers
            .last()
            .is_some_and(|last| last / 8 < SIGNERS_LEN_MAX);
        if !ascending || !fits || signers.len() > SLOTS_MAX {
            return Err(ArtifactError::Signers);
        }
        Ok(Self { artifact, signers })
    }

    /// Decodes an artifact and its bitmap: bit `i % 8` of byte `i / 8` is validator i, no zero byte
    /// at the end.
    ///
    /// # Errors
    /// [`ArtifactError::Length`] without a bitmap or with one above the limit;
    /// [`ArtifactError::Signers`] for a bitmap that is not trimmed or names more than
    /// [`SLOTS_MAX`] validators; then as [`Artifact::from_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ArtifactError> {
        let wrong = ArtifactError::Length { len: bytes.len() };
        let (artifact, bitmap) = bytes.split_first_chunk::<ARTIFACT_LEN>().ok_or(wrong)?;
        if bitmap.is_empty() || bitmap.len() > SIGNERS_LEN_MAX {
            return Err(wrong);
        }
        let count: u32 = bitmap.iter().map(|byte| byte.count_ones()).sum();
        let within = usize::try_from(count).is_ok_and(|count| count <= SLOTS_MAX);
        if bitmap.last() == Some(&0) || !within {
            return Err(ArtifactError::Signers);
        }
        let signers = bitmap.iter().enumerate().flat_map(|(at, byte)| {
            (0..8)
                .filter(move |bit| byte >> bit & 1 == 1)
                .map(move |bit| 8 * at + bit)
        });
        let signers = signers.collect();
        Self::new(Artifact::from_bytes(artifact)?, signers)
    }

    /// The encoding.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.artifact.to_bytes().to_vec();
        let mut bitmap = vec![0_u8; self.signers.last().map_or(0, |last| last / 8 + 1)];
        for signer in &self.signers {
            if let Some(byte) = bitmap.get_mut(signer / 8) {
                *byte |= 1 << (signer % 8);
            }
        }
        out.extend(bitmap);
        out
    }

    /// Validators in slot order, strictly ascending.
    #[must_use]
    pub fn signers(&self) -> &[usize] {
        &self.signers
    }
}
