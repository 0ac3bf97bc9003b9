//! The signature algorithms of this crate, named by their standards.

use core::fmt;

/// One signature algorithm with all its parameters.
///
/// The set is closed on purpose: a verifier has to know every member, so matches are exhaustive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// BLS signatures over BLS12-381 with keys in G1 and signatures in G2, basic scheme.
    Bls12381G2,
    /// FIPS 204, category 2.
    MlDsa44,
    /// FIPS 204, category 3.
    MlDsa65,
    /// FIPS 204, category 5.
    MlDsa87,
    /// FIPS 205, category 3, fast signing.
    SlhDsaSha2_192f,
    /// RFC 8032 with the strict verification rule of [`crate::ed25519`].
    Ed25519,
    /// FIPS 186-5 ECDSA on P-256 with SHA-256.
    EcdsaP256Sha256,
    /// ECDSA on secp256k1 (SEC 2) with SHA-256 and the low-s rule.
    EcdsaSecp256k1Sha256,
}

impl Algorithm {
    /// Every algorithm, in the order of declaration.
    pub const ALL: [Self; 8] = [
        Self::Bls12381G2,
        Self::MlDsa44,
        Self::MlDsa65,
        Self::MlDsa87,
        Self::SlhDsaSha2_192f,
        Self::Ed25519,
        Self::EcdsaP256Sha256,
        Self::EcdsaSecp256k1Sha256,
    ];

    /// The name in its standard. Stable: it is hashed into cache keys.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bls12381G2 => "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_",
            Self::MlDsa44 => "ML-DSA-44",
            Self::MlDsa65 => "ML-DSA-65",
            Self::MlDsa87 => "ML-DSA-87",
            Self::SlhDsaSha2_192f => "SLH-DSA-SHA2-192f",
            Self::Ed25519 => "Ed25519",
            Self::EcdsaP256Sha256 => "ECDSA-P256-SHA256",
            Self::EcdsaSecp256k1Sha256 => "ECDSA-secp256k1-SHA256",
        }
    }

    /// Looks an algorithm up by its exact name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
    }

    /// Length of an encoded public key, bytes.
    #[must_use]
    pub const fn verifying_key_len(self) -> usize {
        match self {
            Self::Bls12381G2 | Self::SlhDsaSha2_192f => 48,
            Self::MlDsa44 => 1312,
            Self::MlDsa65 => 1952,
            Self::MlDsa87 => 2592,
            Self::Ed25519 => 32,
            Self::EcdsaP256Sha256 | Self::EcdsaSecp256k1Sha256 => 33,
        }
    }

    /// Length of an encoded signature, bytes.
    #[must_use]
    pub const fn signature_len(self) -> usize {
        match self {
            Self::Bls12381G2 => 96,
            Self::MlDsa44 => 2420,
            Self::MlDsa65 => 3309,
            Self::MlDsa87 => 4627,
            Self::SlhDsaSha2_192f => 35_664,
            Self::Ed25519 | Self::EcdsaP256Sha256 | Self::EcdsaSecp256k1Sha256 => 64,
        }
    }

    /// Length of an encoded secret key or seed, bytes.
    #[must_use]
    pub const fn secret_key_len(self) -> usize {
        match self {
            Self::SlhDsaSha2_192f => 96,
            Self::Bls12381G2
            | Self::MlDsa44
            | Self::MlDsa65
            | Self::MlDsa87
            | Self::Ed25519
            | Self::EcdsaP256Sha256
            | Self::EcdsaSecp256k1Sha256 => 32,
        }
    }

    /// Whether signatures stay unforgeable against an attacker with a quantum computer.
    #[must_use]
    pub const fn is_post_quantum(self) -> bool {
        match self {
            Self::MlDsa44 | Self::MlDsa65 | Self::MlDsa87 | Self::SlhDsaSha2_192f => true,
            Self::Bls12381G2
            | Self::Ed25519
            | Self::EcdsaP256Sha256
            | Self::EcdsaSecp256k1Sha256 => false,
        }
    }

    /// Whether the scheme takes a context string of up to [`CONTEXT_LEN_MAX`] bytes.
    #[must_use]
    pub const fn has_context(self) -> bool {
        self.is_post_quantum()
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bls12381G2 => "BLS12-381",
            other => other.name(),
        })
    }
}

/// Longest context string of FIPS 204 and FIPS 205, bytes.
pub const CONTEXT_LEN_MAX: usize = 255;
