//! ML-DSA by libcrux: key generation, signing, and the second opinion on verification.
//!
//! libcrux is the only library measured that has contexts, deterministic signing and a caller's
//! randomness, and no global generator. It picks its AVX2 code at run time.

use libcrux_ml_dsa::{
    ml_dsa_44::{self, MLDSA44SigningKey},
    ml_dsa_65::{self, MLDSA65SigningKey},
    ml_dsa_87::{self, MLDSA87SigningKey},
};
use zeroize::Zeroize;

use crate::mldsa::ParameterSet;

/// An expanded secret key, in one place on the heap that is zeroized on drop.
pub(crate) enum SecretKey {
    MlDsa44(Box<MLDSA44SigningKey>),
    MlDsa65(Box<MLDSA65SigningKey>),
    MlDsa87(Box<MLDSA87SigningKey>),
}

impl SecretKey {
    /// Expands a 32-byte seed; returns the encoded public key as well.
    pub(crate) fn generate(set: ParameterSet, seed: &[u8; 32]) -> (Self, Vec<u8>) {
        macro_rules! generate {
            ($module:ident, $level:ident) => {{
                let mut pair = $module::generate_key_pair(*seed);
                let secret = Self::$level(Box::new(pair.signing_key.clone()));
                pair.signing_key.as_mut_slice().zeroize();
                (secret, pair.verification_key.as_slice().to_vec())
            }};
        }
        match set {
            ParameterSet::MlDsa44 => generate!(ml_dsa_44, MlDsa44),
            ParameterSet::MlDsa65 => generate!(ml_dsa_65, MlDsa65),
            ParameterSet::MlDsa87 => generate!(ml_dsa_87, MlDsa87),
        }
    }

    /// Signs with 32 bytes of randomness (all zero: the deterministic variant).
    ///
    /// `None` for a context above 255 bytes, or when the library's rejection loop does not end
    /// within its bound (probability below 2^-128).
    pub(crate) fn sign(
        &self,
        context: &[u8],
        message: &[u8],
        randomness: [u8; 32],
    ) -> Option<Vec<u8>> {
        macro_rules! sign {
            ($module:ident, $key:ident) => {{
                let signature = $module::sign($key, message, context, randomness);
                Some(signature.ok()?.as_slice().to_vec())
            }};
        }
        match self {
            Self::MlDsa44(key) => sign!(ml_dsa_44, key),
            Self::MlDsa65(key) => sign!(ml_dsa_65, key),
            Self::MlDsa87(key) => sign!(ml_dsa_87, key),
        }
    }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        match self {
            Self::MlDsa44(key) => key.as_mut_slice().zeroize(),
            Self::MlDsa65(key) => key.as_mut_slice().zeroize(),
            Self::MlDsa87(key) => key.as_mut_slice().zeroize(),
        }
    }
}

/// Whether `signature` is good for `message` under `context`.
pub(crate) fn verify(
    set: ParameterSet,
    public_key: &[u8],
    context: &[u8],
    message: &[u8],
    signature: &[u8],
) -> bool {
    macro_rules! verify {
        ($module:ident, $key:ident, $signature:ident) => {{
            let (Ok(key), Ok(signature)) = (public_key.try_into(), signature.try_into()) else {
                return false;
            };
            let key = $module::$key::new(key);
            let signature = $module::$signature::new(signature);
            $module::verify(&key, message, context, &signature).is_ok()
        }};
    }
    match set {
        ParameterSet::MlDsa44 => verify!(ml_dsa_44, MLDSA44VerificationKey, MLDSA44Signature),
        ParameterSet::MlDsa65 => verify!(ml_dsa_65, MLDSA65VerificationKey, MLDSA65Signature),
        ParameterSet::MlDsa87 => verify!(ml_dsa_87, MLDSA87VerificationKey, MLDSA87Signature),
    }
}
