//! The one equation behind every verification.
//!
//! The library's own `verify` runs one Miller loop for each side. Here the signature is paired with
//! the negated generator in the same loop as the keys, which shares the squarings.

use std::sync::LazyLock;

use blst::{BLST_ERROR, Pairing, blst_p1_affine, blst_p2_affine, min_pk};

use super::ALGORITHM;
use crate::error::Error;

/// `e(key_1, H(message_1)) * ... = e(G, signature)`, built term by term.
pub(super) struct Equation {
    pairing: Pairing<'static>,
    refused: bool,
}

impl Equation {
    /// An equation without terms, with the domain tag of the hash to the curve.
    pub(super) fn new(tag: &'static [u8]) -> Self {
        Self {
            pairing: Pairing::new(HASH, tag),
            refused: false,
        }
    }

    /// Adds a key with its message.
    #[must_use]
    pub(super) fn term(mut self, key: &min_pk::PublicKey, message: &[u8]) -> Self {
        let key: &blst_p1_affine = key.into();
        let answer = self
            .pairing
            .aggregate(key, false, NO_SIGNATURE, false, message, &[]);
        self.refused |= answer != BLST_ERROR::BLST_SUCCESS;
        self
    }

    /// Adds a multiple of a key with its message.
    #[must_use]
    pub(super) fn scaled_term(
        mut self,
        key: &min_pk::PublicKey,
        coefficient: &[u8; 8],
        message: &[u8],
    ) -> Self {
        let key: &blst_p1_affine = key.into();
        let answer = self.pairing.mul_n_aggregate(
            key,
            false,
            NO_SIGNATURE,
            false,
            coefficient,
            64,
            message,
            &[],
        );
        self.refused |= answer != BLST_ERROR::BLST_SUCCESS;
        self
    }

    /// Whether it holds for `signature`, a point of the subgroup other than infinity.
    ///
    /// # Errors
    /// [`Rejected::Equation`](crate::error::Rejected::Equation), also when a key was infinity.
    pub(super) fn holds_for(mut self, signature: &min_pk::Signature) -> Result<(), Error> {
        let refusal = Error::equation(ALGORITHM);
        let Some(minus_generator) = MINUS_GENERATOR.as_ref() else {
            return Err(refusal);
        };
        let signature: &blst_p2_affine = signature.into();
        self.pairing
            .raw_aggregate(signature, minus_generator.into());
        self.pairing.commit();
        if self.refused || !self.pairing.finalverify(None) {
            return Err(refusal);
        }
        Ok(())
    }
}

/// Hash to the curve, as opposed to encoding, which is not uniform.
const HASH: bool = true;

/// The library takes "no signature" as anything that is not a point of G2.
const NO_SIGNATURE: &() = &();

/// Decoded once. Never `None`; if the constant were wrong, nothing would verify.
static MINUS_GENERATOR: LazyLock<Option<min_pk::PublicKey>> =
    LazyLock::new(|| min_pk::PublicKey::key_validate(&MINUS_GENERATOR_BYTES).ok());

/// The generator of G1 with the other sign, compressed.
///
/// # Source
/// draft-irtf-cfrg-pairing-friendly-curves, section 4.2.1.
const MINUS_GENERATOR_BYTES: [u8; 48] = [
    0xb7, 0xf1, 0xd3, 0xa7, 0x31, 0x97, 0xd7, 0x94, 0x26, 0x95, 0x63, 0x8c, 0x4f, 0xa9, 0xac, 0x0f,
    0xc3, 0x68, 0x8c, 0x4f, 0x97, 0x74, 0xb9, 0x05, 0xa1, 0x4e, 0x3a, 0x3f, 0x17, 0x1b, 0xac, 0x58,
    0x6c, 0x55, 0xe8, 0x3f, 0xf9, 0x7a, 0x1a, 0xef, 0xfb, 0x3a, 0xf0, 0x0a, 0xdb, 0x22, 0xc6, 0xbb,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constant_is_the_negated_generator() {
        let mut one = [0; 32];
        one[31] = 1;
        let generator = min_pk::SecretKey::from_bytes(&one).unwrap().sk_to_pk();
        let mut bytes = generator.to_bytes();
        bytes[0] ^= 0x20;
        assert_eq!(bytes, MINUS_GENERATOR_BYTES);
    }

    #[test]
    fn an_equation_without_terms_holds_for_no_signature() {
        let secret = min_pk::SecretKey::key_gen(&[7; 32], &[]).unwrap();
        let signature = secret.sign(b"m", b"tag", &[]);
        assert!(Equation::new(b"tag").holds_for(&signature).is_err());
        let equation = Equation::new(b"tag").term(&secret.sk_to_pk(), b"m");
        assert!(equation.holds_for(&signature).is_ok());
    }
}
