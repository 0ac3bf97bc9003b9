//! Key files of one signer.
//!
//! The secret file is binary and readable by its owner only: the tag [`TAG`], one byte with the
//! length of the scheme's name, the name, and the secret. The public file beside it, with `.pub`
//! appended to the name, is one JSON object.

use std::path::{Path, PathBuf};

use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_sig::algorithm::Algorithm;
use horizon_sig::error::Error;
use horizon_sig::traits::Signer;
use horizon_sig::{bls, ed25519, mldsa, p256, secp256k1, slhdsa};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::exit::{Code, Failure};
use crate::key_files::{PUBLIC_MODE, SECRET_MODE, malformed, read_secret, write_new};
use crate::output::id;

/// First bytes of a secret file.
pub const TAG: &[u8; 21] = b"HORIZON-SECRET-KEY-v1";
/// The `format` of a public file.
pub const PUBLIC_FORMAT: &str = "horizon-public-key-v1";

const SECRET_FILE_LEN_MAX: u64 = 512;

/// A secret key of any scheme.
#[non_exhaustive]
pub enum SchemeKey {
    /// BLS12-381.
    Bls(Box<bls::SigningKey>),
    /// ML-DSA with any parameter set.
    MlDsa(Box<mldsa::SigningKey>),
    /// SLH-DSA-SHA2-192f.
    SlhDsa(Box<slhdsa::SigningKey>),
    /// Ed25519.
    Ed25519(Box<ed25519::SigningKey>),
    /// ECDSA over P-256.
    P256(Box<p256::SigningKey>),
    /// ECDSA over secp256k1.
    Secp256k1(Box<secp256k1::SigningKey>),
}

impl core::fmt::Debug for SchemeKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("SchemeKey").field(&self.algorithm()).finish()
    }
}

impl SchemeKey {
    /// A new key from the system's randomness.
    ///
    /// # Errors
    /// [`Code::Internal`] when the library refuses.
    pub fn generate(algorithm: Algorithm) -> Result<Self, Failure> {
        let mut rng = UnwrapErr(SysRng);
        let key = match algorithm {
            Algorithm::Bls12381G2 => {
                bls::SigningKey::generate(&mut rng).map(|key| Self::Bls(Box::new(key)))
            }
            Algorithm::MlDsa44 | Algorithm::MlDsa65 | Algorithm::MlDsa87 => {
                mldsa::SigningKey::generate(parameter_set(algorithm), &mut rng)
                    .map(|key| Self::MlDsa(Box::new(key)))
            }
            Algorithm::SlhDsaSha2_192f => {
                slhdsa::SigningKey::generate(&mut rng).map(|key| Self::SlhDsa(Box::new(key)))
            }
            Algorithm::Ed25519 => {
                ed25519::SigningKey::generate(&mut rng).map(|key| Self::Ed25519(Box::new(key)))
            }
            Algorithm::EcdsaP256Sha256 => {
                p256::SigningKey::generate(&mut rng).map(|key| Self::P256(Box::new(key)))
            }
            Algorithm::EcdsaSecp256k1Sha256 => {
                secp256k1::SigningKey::generate(&mut rng).map(|key| Self::Secp256k1(Box::new(key)))
            }
        };
        key.map_err(|error| Failure::new(Code::Internal, error.to_string()))
    }

    fn from_secret(algorithm: Algorithm, secret: &[u8]) -> Result<Self, Error> {
        Ok(match algorithm {
            Algorithm::Bls12381G2 => Self::Bls(Box::new(bls::SigningKey::from_bytes(secret)?)),
            Algorithm::MlDsa44 | Algorithm::MlDsa65 | Algorithm::MlDsa87 => {
                let set = parameter_set(algorithm);
                Self::MlDsa(Box::new(mldsa::SigningKey::from_seed(set, secret)?))
            }
            Algorithm::SlhDsaSha2_192f => {
                Self::SlhDsa(Box::new(slhdsa::SigningKey::from_bytes(secret)?))
            }
            Algorithm::Ed25519 => Self::Ed25519(Box::new(ed25519::SigningKey::from_seed(secret)?)),
            Algorithm::EcdsaP256Sha256 => {
                Self::P256(Box::new(p256::SigningKey::from_bytes(secret)?))
            }
            Algorithm::EcdsaSecp256k1Sha256 => {
                Self::Secp256k1(Box::new(secp256k1::SigningKey::from_bytes(secret)?))
            }
        })
    }

    fn secret(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        Ok(match self {
            Self::Bls(key) => Zeroizing::new(key.to_bytes().to_vec()),
            Self::MlDsa(key) => Zeroizing::new(key.to_seed().to_vec()),
            Self::SlhDsa(key) => key.to_bytes(),
            Self::Ed25519(key) => Zeroizing::new(key.to_seed().to_vec()),
            Self::P256(key) => Zeroizing::new(key.to_bytes()?.to_vec()),
            Self::Secp256k1(key) => Zeroizing::new(key.to_bytes().to_vec()),
        })
    }

    /// The scheme.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.signer().algorithm()
    }

    /// The encoded public key.
    #[must_use]
    pub fn public(&self) -> &[u8] {
        self.signer().verifying_key_bytes()
    }

    fn signer(&self) -> &dyn Signer {
        match self {
            Self::Bls(key) => &**key,
            Self::MlDsa(key) => &**key,
            Self::SlhDsa(key) => &**key,
            Self::Ed25519(key) => &**key,
            Self::P256(key) => &**key,
            Self::Secp256k1(key) => &**key,
        }
    }

    /// What may be shown: scheme, public key, and for BLS the proof of possession.
    #[must_use]
    pub fn public_fields(&self) -> Value {
        let mut fields = json!({"format": PUBLIC_FORMAT, "scheme": scheme_name(self.algorithm()),
            "algorithm": self.algorithm().to_string(), "public_key": id(self.public()),
            "post_quantum": self.algorithm().is_post_quantum()});
        if let Self::Bls(key) = self {
            fields["possession"] = json!(id(&key.prove_possession().to_bytes()));
        }
        fields
    }

    /// Writes the secret file and the public file. Neither is ever overwritten.
    ///
    /// # Errors
    /// [`Code::Configuration`] when one exists, [`Code::Io`] when writing fails.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let public = public_path(path);
        if public.symlink_metadata().is_ok() {
            let text = format!("{} exists: keys are never overwritten", public.display());
            return Err(Failure::new(Code::Configuration, text));
        }
        let internal = |error: Error| Failure::new(Code::Internal, error.to_string());
        let secret = self.secret().map_err(internal)?;
        let name = scheme_name(self.algorithm()).as_bytes();
        let mut bytes = Zeroizing::new(Vec::with_capacity(
            TAG.len() + 1 + name.len() + secret.len(),
        ));
        bytes.extend_from_slice(TAG);
        bytes.push(u8::try_from(name.len()).unwrap_or_default());
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(&secret);
        write_new(path, &bytes, SECRET_MODE)?;
        let text = format!("{}\n", self.public_fields());
        write_new(&public, text.as_bytes(), PUBLIC_MODE)
    }

    /// Reads a secret file.
    ///
    /// # Errors
    /// [`Code::Configuration`]: missing, readable by others, or malformed.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = read_secret(path, SECRET_FILE_LEN_MAX)?;
        let (algorithm, secret) =
            split(&bytes).ok_or_else(|| malformed(path, &"not a secret key file"))?;
        Self::from_secret(algorithm, secret).map_err(|error| malformed(path, &error))
    }
}

/// The public file of a secret file.
#[must_use]
pub fn public_path(secret: &Path) -> PathBuf {
    let mut name = secret.as_os_str().to_owned();
    name.push(".pub");
    name.into()
}

/// Short name of a scheme in files and arguments.
#[must_use]
pub const fn scheme_name(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Bls12381G2 => "bls",
        Algorithm::MlDsa44 => "ml-dsa-44",
        Algorithm::MlDsa65 => "ml-dsa-65",
        Algorithm::MlDsa87 => "ml-dsa-87",
        Algorithm::SlhDsaSha2_192f => "slh-dsa",
        Algorithm::Ed25519 => "ed25519",
        Algorithm::EcdsaP256Sha256 => "p256",
        Algorithm::EcdsaSecp256k1Sha256 => "secp256k1",
    }
}

/// Every scheme.
pub const SCHEMES: [Algorithm; 8] = [
    Algorithm::Bls12381G2,
    Algorithm::MlDsa44,
    Algorithm::MlDsa65,
    Algorithm::MlDsa87,
    Algorithm::SlhDsaSha2_192f,
    Algorithm::Ed25519,
    Algorithm::EcdsaP256Sha256,
    Algorithm::EcdsaSecp256k1Sha256,
];

fn split(bytes: &[u8]) -> Option<(Algorithm, &[u8])> {
    let (len, rest) = bytes.strip_prefix(TAG)?.split_first()?;
    let (name, secret) = rest.split_at_checked(usize::from(*len))?;
    let algorithm = SCHEMES
        .into_iter()
        .find(|algorithm| scheme_name(*algorithm).as_bytes() == name)?;
    Some((algorithm, secret))
}

const fn parameter_set(algorithm: Algorithm) -> mldsa::ParameterSet {
    match algorithm {
        Algorithm::MlDsa44 => mldsa::ParameterSet::MlDsa44,
        Algorithm::MlDsa87 => mldsa::ParameterSet::MlDsa87,
        _ => mldsa::ParameterSet::MlDsa65,
    }
}

/// Refuses a key of another scheme.
///
/// # Errors
/// [`Code::Configuration`] naming the scheme that was expected.
pub fn expect_scheme(path: &Path, key: &SchemeKey, algorithm: Algorithm) -> Result<(), Failure> {
    if key.algorithm() == algorithm {
        return Ok(());
    }
    let wanted = scheme_name(algorithm);
    let text = format!("a {} key, wanted {wanted}", scheme_name(key.algorithm()));
    Err(malformed(path, &text))
}
