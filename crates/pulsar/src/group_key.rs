//! The public key of a committee: bytes, and the prepared form that verification uses.

use alloc::{boxed::Box, vec::Vec};
use core::fmt;

use horizon_hash::{
    blake2xb::Blake2Xb,
    suite::{HuHasher, Suite},
};
use horizon_ring::{
    NttPoly, Poly, codec as ring, dot, matrix::NttMatrix, modulus, ntt, round, sample,
};

use crate::{
    codec::{self, Reader, VERSION},
    error::{Error, Malformed, Misuse},
    params::{
        A_LEN, B_LEN, B_TILDE_MAX, COLS, DEGREE, KAPPA, MESSAGE_LEN_MAX, NU, POLY_LEN, Q_NU, ROWS,
        XI,
    },
    wire::Signature,
};

/// The group key `(A, b)`: `A` 8 x 7 polynomials (slots times 2^64), `b` 8 polynomials of rounded
/// coefficients.
///
/// Always canonical: every slot of `A` is below q and every coefficient of `b` at most 2^18.
#[derive(Clone, PartialEq, Eq)]
pub struct GroupKey {
    /// `SER(A) || SER(b)`: the bytes every hash over the key starts with.
    bytes: Box<[u8]>,
}

impl GroupKey {
    /// Bytes of the framed encoding.
    pub const FRAMED_LEN: usize = 14 + A_LEN + B_LEN;
    /// Bytes of `SER(A) || SER(b)`.
    pub const RAW_LEN: usize = A_LEN + B_LEN;

    /// Assembles a key from `a`, 56 polynomials row-major (slots times 2^64), and `b`, 8
    /// polynomials.
    ///
    /// # Errors
    /// [`Misuse::Length`] for other counts, [`Malformed::Range`] for a slot not below q or a
    /// coefficient above 2^18.
    pub fn new(a: &[NttPoly], b: &[Poly]) -> Result<Self, Error> {
        if a.len() != ROWS * COLS {
            return Err(Misuse::Length { field: FIELD_A }.into());
        }
        if b.len() != ROWS {
            return Err(Misuse::Length { field: FIELD_B }.into());
        }
        let mut bytes = Vec::with_capacity(Self::RAW_LEN);
        bytes.extend_from_slice(&(ROWS as u64).to_le_bytes());
        for row in a.chunks_exact(COLS) {
            ring::write_vector(row.iter(), &mut bytes);
        }
        ring::write_vector(b.iter(), &mut bytes);
        Self::from_raw(&bytes)
    }

    /// Reads `SER(A) || SER(b)`.
    ///
    /// # Errors
    /// [`Malformed`], naming the field.
    pub fn from_raw(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(FIELD, bytes, Self::RAW_LEN)?;
        Ok(Self::from_ser(reader.take(A_LEN)?, reader.take(B_LEN)?)?)
    }

    /// Reads the framed encoding: `"CORG"`, version 1, two big-endian length prefixes, `A`, `b`.
    ///
    /// # Errors
    /// [`Malformed`], naming the field.
    pub fn from_framed(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(FIELD, bytes, Self::FRAMED_LEN)?;
        reader.header(MAGIC)?;
        let a = reader.frame_be(FIELD_A, A_LEN)?;
        let b = reader.frame_be(FIELD_B, B_LEN)?;
        Ok(Self::from_ser(a, b)?)
    }

    /// The framed encoding, [`Self::FRAMED_LEN`] bytes.
    #[must_use]
    pub fn to_framed(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::FRAMED_LEN);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&(A_LEN as u32).to_be_bytes());
        out.extend_from_slice(&self.bytes[..A_LEN]);
        out.extend_from_slice(&(B_LEN as u32).to_be_bytes());
        out.extend_from_slice(&self.bytes[A_LEN..]);
        out
    }

    /// `SER(A) || SER(b)`, [`Self::RAW_LEN`] bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The name of this key in registries and transcripts:
    /// `TranscriptHash("pulsar.group-key.v1", SER(A), SER(b))` of `suite`.
    ///
    /// # Source
    /// The reference defines none (its own "bytes" of a key are two counts, the same for all keys).
    #[must_use]
    pub fn hash(&self, suite: Suite) -> [u8; 32] {
        suite.transcript_hash(&[
            horizon_hash::domain::lifecycle::GROUP_KEY,
            &self.bytes[..A_LEN],
            &self.bytes[A_LEN..],
        ])
    }

    /// `A`, 56 polynomials row-major, every slot times `factor` (and times the 2^64 of the
    /// encoding).
    #[must_use]
    pub fn a_scaled(&self, factor: u64) -> Vec<NttPoly> {
        let mut polys = Vec::with_capacity(ROWS * COLS);
        for row in 0..ROWS {
            let start = 8 + row * crate::params::vector_len(COLS) + 8;
            for column in 0..COLS {
                let mut poly = NttPoly::ZERO;
                copy_words(
                    &self.bytes[start + column * POLY_LEN + 16..],
                    poly.as_mut_array(),
                );
                if factor != 1 {
                    poly.scale(factor);
                }
                polys.push(poly);
            }
        }
        polys
    }

    /// `b`, 8 polynomials of coefficients up to 2^18 inclusive.
    #[must_use]
    pub fn b_tilde(&self) -> Vec<Poly> {
        (0..ROWS)
            .map(|row| {
                let mut poly = Poly::ZERO;
                let start = A_LEN + 8 + row * POLY_LEN + 16;
                copy_words(&self.bytes[start..], poly.as_mut_array());
                poly
            })
            .collect()
    }

    fn from_ser(a: &[u8], b: &[u8]) -> Result<Self, Malformed> {
        codec::check_matrix(FIELD_A, a, (ROWS, COLS))?;
        let mut polys = [const { Poly::ZERO }; ROWS];
        codec::read_vector(FIELD_B, b, B_TILDE_MAX, polys.iter_mut())?;
        Ok(Self {
            bytes: [a, b].concat().into_boxed_slice(),
        })
    }
}

impl fmt::Debug for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupKey").finish_non_exhaustive()
    }
}

/// A group key with everything precomputed that does not depend on a signature; about 140 KB.
///
/// Holds `A` and `-b 2^30` scaled so that one matrix product gives `A z - 2^30 b c` without further
/// conversions, and the challenge hash after `SER(A) || SER(b)`, which is 89 % of its input.
#[derive(Clone)]
pub struct PreparedKey {
    equation: Equation,
    hash: [u8; 32],
}

impl PreparedKey {
    /// Prepares `key` for signatures of `suite`.
    #[must_use]
    pub fn new(key: &GroupKey, suite: Suite) -> Self {
        Self {
            equation: Equation::new(key, suite),
            hash: key.hash(suite),
        }
    }

    /// The suite whose hash functions are used.
    #[must_use]
    pub const fn suite(&self) -> Suite {
        self.equation.suite
    }

    /// [`GroupKey::hash`] of the key under this suite.
    #[must_use]
    pub const fn group_key_hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// The digest of the key that witnesses carry: `Hu(SER(A) || SER(b))`, 32 bytes.
    #[must_use]
    pub const fn key_digest(&self) -> &[u8; 32] {
        &self.equation.key_digest
    }

    /// `(A z - 2^30 b c + 2^28) >> 29`, 8 polynomials of coefficients up to 2^19 inclusive; `zc` is
    /// `z` then `c`.
    #[must_use]
    pub fn rounded_response(&self, zc: &[NttPoly; ROWS]) -> Box<[Poly; ROWS]> {
        self.equation.rounded_response(zc)
    }

    /// `Hu(SER(A) || SER(b) || SER(h) || message)`, 32 bytes: the key of the challenge sampler.
    ///
    /// # Errors
    /// [`Misuse::MessageTooLong`].
    pub fn challenge_seed(&self, h: &[Poly; ROWS], message: &[u8]) -> Result<[u8; 32], Error> {
        self.equation.challenge_seed(h, message)
    }

    /// The signature `(c, z, Delta)` with `Delta = h - h'` mod 2^19. Not verified.
    ///
    /// `h` must be the vector that `c` was derived from, coefficients up to 2^19 inclusive.
    ///
    /// # Errors
    /// [`Malformed::Range`] when a slot of `z` or `c` is not below q.
    pub fn complete(
        &self,
        h: &[Poly; ROWS],
        c: &NttPoly,
        z: [NttPoly; COLS],
    ) -> Result<Signature, Error> {
        let unhinted = Signature::new(c.clone(), z, Box::new([const { Poly::ZERO }; ROWS]))?;
        let mut delta = self.rounded_response(unhinted.zc());
        for (delta, h) in delta.iter_mut().zip(h) {
            *delta = round::sub_pow2(h, delta, Q_NU.trailing_zeros());
        }
        unhinted.with_delta(delta)
    }

    pub(crate) const fn equation(&self) -> &Equation {
        &self.equation
    }
}

impl fmt::Debug for PreparedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedKey")
            .field("suite", &self.suite())
            .finish_non_exhaustive()
    }
}

/// The part of a prepared key that the verification equation needs, without the registry's name of
/// the key: that name costs as much again as everything here.
#[derive(Clone)]
pub(crate) struct Equation {
    pub(crate) suite: Suite,
    pub(crate) key_digest: [u8; 32],
    matrix: NttMatrix,
    prefix: HuHasher,
}

impl Equation {
    pub(crate) fn new(key: &GroupKey, suite: Suite) -> Self {
        let mut a = key.a_scaled(modulus::R64_TO_R52).into_iter();
        let mut b = key.b_tilde().into_iter();
        let matrix = NttMatrix::from_fn(ROWS, ROWS, |_, column| {
            if column < COLS {
                return a.next().unwrap_or_default();
            }
            let mut poly = b.next().unwrap_or_default();
            // At most 2^18 2^30 = 2^48, which is below q.
            poly.as_mut_array()
                .iter_mut()
                .for_each(|value| *value <<= XI);
            let mut slots = ntt::forward_scaled(&poly, ntt::Scale::R52);
            slots.negate();
            slots
        });
        let mut prefix = HuHasher::new(suite);
        prefix.update(key.as_bytes());
        let mut key_digest = [0; 32];
        prefix.clone().finalize_into(&mut key_digest);
        Self {
            suite,
            key_digest,
            matrix,
            prefix,
        }
    }

    /// See [`PreparedKey::rounded_response`].
    pub(crate) fn rounded_response(&self, zc: &[NttPoly; ROWS]) -> Box<[Poly; ROWS]> {
        let mut rounded = Box::new([const { Poly::ZERO }; ROWS]);
        let mut slots = NttPoly::ZERO;
        for (row, out) in rounded.iter_mut().enumerate() {
            let mut terms = [dot::term(&zc[0], &zc[0]); ROWS];
            for (term, (a, x)) in terms.iter_mut().zip(self.matrix.row(row).zip(zc)) {
                *term = dot::term(a, x);
            }
            dot::dot_into(&terms, &mut slots);
            *out = round::round_shift(&ntt::inverse_montgomery(&slots), NU);
        }
        rounded
    }

    /// See [`PreparedKey::challenge_seed`].
    pub(crate) fn challenge_seed(
        &self,
        h: &[Poly; ROWS],
        message: &[u8],
    ) -> Result<[u8; 32], Error> {
        check_message(message)?;
        // One piece: BLAKE3 hashes long inputs several times faster than many short ones.
        let mut ser = Vec::with_capacity(B_LEN);
        ring::write_vector(h.iter(), &mut ser);
        let mut hasher = self.prefix.clone();
        hasher.update(&ser);
        hasher.update(message);
        let mut seed = [0; 32];
        hasher.finalize_into(&mut seed);
        Ok(seed)
    }

    /// Challenge seeds of many signatures: pairs of `SER(h)` and message. In lanes for a SHA3
    /// suite.
    pub(crate) fn challenge_seeds(&self, inputs: &[[&[u8]; 2]]) -> Vec<[u8; 32]> {
        let endings: Vec<&[&[u8]]> = inputs.iter().map(|input| &input[..]).collect();
        self.prefix.finalize_batch(&endings)
    }
}

/// The ternary challenge of weight 23 for a seed: slots times 2^64.
#[must_use]
pub fn challenge(seed: &[u8; 32]) -> NttPoly {
    ntt::forward_montgomery(&sample::ternary(&mut Blake2Xb::from_seed(seed), KAPPA))
}

/// Refuses messages of 2^32 bytes and more.
pub(crate) const fn check_message(message: &[u8]) -> Result<(), Error> {
    if message.len() as u64 > MESSAGE_LEN_MAX {
        return Err(Error::Misuse(Misuse::MessageTooLong));
    }
    Ok(())
}

fn copy_words(bytes: &[u8], out: &mut [u64; DEGREE]) {
    for (word, bytes) in out.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
}

const MAGIC: &[u8; 4] = b"CORG";
const FIELD: &str = "group key";
const FIELD_A: &str = "group_key.A";
const FIELD_B: &str = "group_key.b";
