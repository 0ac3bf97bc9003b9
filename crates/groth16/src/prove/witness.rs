//! From signatures to the values of all variables.
//!
//! The circuit proves that some triple `(c~, z, h)` verifies. Whether the bytes of a signature are
//! the one canonical encoding of that triple is not in the circuit: here the ordinary verifier
//! judges every signature first, and the decoder refuses what is not canonical.
//!
//! # Source
//! FIPS 204, Algorithms 21 (HintBitUnpack), 27 (sigDecode), 29 (SampleInBall), 8 (verification).

use core::fmt;

use horizon_hash::sponge::Shake256;
use horizon_sig::{
    error::Error as SignatureError,
    mldsa::{ParameterSet, VerifyingKey},
    traits::Verifier as _,
};

use super::{
    circuit::{Assignment, Circuit},
    relation::Residue,
    slot::{STREAM_LEN, Shape, SlotWitness},
};
use crate::{
    error::Misuse,
    key_image::{K, KeyPolys, L, N, PUBLIC_KEY_LEN},
    statement::{Member, Statement, key_hash, message_representative, public_inputs},
};

/// A validator in its slot, with its signature if it signed.
#[derive(Clone, Copy, Debug)]
pub struct Vote<'a> {
    /// Key and weight.
    pub member: Member<'a>,
    /// ML-DSA-65 signature over the statement's message and context.
    pub signature: Option<&'a [u8]>,
}

/// Computes the assignment that proves `statement` with the given votes; vote `s` is slot `s`.
///
/// # Errors
/// [`WitnessError`]; a bad signature is named before any value of its slot is computed.
pub fn assign(
    circuit: &Circuit,
    statement: &Statement<'_>,
    votes: &[Vote<'_>],
) -> Result<Assignment, WitnessError> {
    if votes.len() > circuit.slots() {
        return Err(Misuse::TooManyValidators.into());
    }
    check_distinct(votes)?;
    let members: Vec<Member<'_>> = votes.iter().map(|vote| vote.member).collect();
    let shape = Shape::ml_dsa_65();
    let mut witnesses = Vec::with_capacity(circuit.slots());
    for (slot, vote) in votes.iter().enumerate() {
        witnesses.push(vote_witness(&shape, slot, statement, vote)?);
    }
    let empty = SlotWitness::absent(&shape, 0, [0; 64]);
    witnesses.resize(circuit.slots(), empty);
    check_weight(statement, &witnesses)?;
    let public = public_inputs(circuit.slots(), &members, statement)?;
    Ok(Assignment::new(&shape, public, &witnesses))
}

/// Chooses who fills the slots of the `quorum` profile: at most `slots` signers, the heaviest, ties
/// to the first; returned ascending, as the carried bitmap demands.
///
/// # Errors
/// [`WitnessError::Weight`] when no choice of that many signers reaches `weight_min`.
pub fn choose_signers(
    votes: &[Vote<'_>],
    slots: usize,
    weight_min: u64,
) -> Result<Vec<usize>, WitnessError> {
    let mut signers: Vec<usize> = (0..votes.len())
        .filter(|&index| votes[index].signature.is_some() && votes[index].member.key.is_some())
        .collect();
    signers.sort_by_key(|&index| core::cmp::Reverse(votes[index].member.weight));
    signers.truncate(slots);
    let weight: u128 = signers
        .iter()
        .map(|&index| u128::from(votes[index].member.weight))
        .sum();
    if weight < u128::from(weight_min) {
        return Err(WitnessError::Weight { weight, weight_min });
    }
    signers.sort_unstable();
    Ok(signers)
}

fn check_distinct(votes: &[Vote<'_>]) -> Result<(), WitnessError> {
    let mut keys: Vec<(&[u8; PUBLIC_KEY_LEN], usize)> = votes
        .iter()
        .enumerate()
        .filter_map(|(slot, vote)| Some((vote.member.key?, slot)))
        .collect();
    keys.sort_unstable();
    for pair in keys.windows(2) {
        if let &[(left, first), (right, second)] = pair
            && left == right
        {
            return Err(WitnessError::SameKey { first, second });
        }
    }
    Ok(())
}

fn check_weight(statement: &Statement<'_>, witnesses: &[SlotWitness]) -> Result<(), WitnessError> {
    let counted = witnesses.iter().filter(|witness| witness.on);
    let weight: u128 = counted.map(|witness| u128::from(witness.weight)).sum();
    let weight_min = statement.weight_min;
    if weight < u128::from(weight_min) {
        return Err(WitnessError::Weight { weight, weight_min });
    }
    // The surplus has to fit the range check of the quorum.
    if weight - u128::from(weight_min) > u128::from(u64::MAX) {
        return Err(WitnessError::Surplus);
    }
    Ok(())
}

fn vote_witness(
    shape: &Shape,
    slot: usize,
    statement: &Statement<'_>,
    vote: &Vote<'_>,
) -> Result<SlotWitness, WitnessError> {
    let Some(key) = vote.member.key else {
        return match vote.signature {
            Some(_) => Err(WitnessError::NoKey { slot }),
            None => Ok(SlotWitness::absent(shape, 0, [0; 64])),
        };
    };
    let mu = message_representative(&key_hash(key), statement.context, statement.message)?;
    let Some(bytes) = vote.signature else {
        return Ok(SlotWitness::absent(shape, vote.member.weight, mu));
    };
    let refused = |error| WitnessError::Signature { slot, error };
    let verifier = VerifyingKey::from_bytes(ParameterSet::MlDsa65, key).map_err(refused)?;
    let _verified = verifier
        .verify(statement.context, statement.message, bytes)
        .map_err(refused)?;
    let signature = Signature::decode(bytes).ok_or(WitnessError::Encoding { slot })?;
    let challenge = signature.challenge().ok_or(WitnessError::Stream { slot })?;
    let key = KeyPolys::expand(key);
    Ok(signed_slot(
        &key,
        &signature,
        challenge,
        mu,
        vote.member.weight,
    ))
}

/// The witness of a signature. It satisfies the rows if and only if the signature is good.
pub(crate) fn signed_slot(
    key: &KeyPolys,
    signature: &Signature,
    challenge: Vec<i64>,
    mu: [u8; 64],
    weight: u64,
) -> SlotWitness {
    let matrix = Matrix {
        a: key.a.iter().map(|poly| &poly[..]).collect(),
        t: key.t.iter().map(|poly| &poly[..]).collect(),
    };
    let w = matrix.residues(&signature.z, &challenge, &signature.hint);
    SlotWitness {
        on: true,
        weight,
        mu,
        z: signature.z.clone(),
        c: challenge,
        w,
    }
}

/// A key in the integers: rows of `A`, flattened, and `2^13 t1`.
#[derive(Clone, Debug)]
pub(crate) struct Matrix<'a> {
    pub(crate) a: Vec<&'a [i32]>,
    pub(crate) t: Vec<&'a [i32]>,
}

impl Matrix<'_> {
    /// `A z - c t` over the integers, decomposed under the hint.
    pub(crate) fn residues(
        &self,
        z: &[Vec<i64>],
        c: &[i64],
        hint: &[Vec<bool>],
    ) -> Vec<Vec<Residue>> {
        let rows = self.a.chunks(z.len()).zip(&self.t).zip(hint);
        rows.map(|((row, t), hint)| {
            let mut sum = vec![0; c.len()];
            for (a, z) in row.iter().zip(z) {
                add_product(&mut sum, a, z, 1);
            }
            add_product(&mut sum, t, c, -1);
            sum.iter()
                .zip(hint)
                .map(|(&w, &hint)| Residue::new(w, hint))
                .collect()
        })
        .collect()
    }
}

/// Adds `sign f g` modulo `X^n + 1`. Coefficients of the sum stay below 2^53.
fn add_product(sum: &mut [i64], f: &[i32], g: &[i64], sign: i64) {
    let len = sum.len();
    for (shift, &factor) in g.iter().enumerate().filter(|&(_, &factor)| factor != 0) {
        let factor = sign * factor;
        let (straight, wrapped) = f.split_at(len - shift);
        for (out, &value) in sum[shift..].iter_mut().zip(straight) {
            *out += factor * i64::from(value);
        }
        for (out, &value) in sum.iter_mut().zip(wrapped) {
            *out -= factor * i64::from(value);
        }
    }
}

/// A decoded signature.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) c_tilde: [u8; C_TILDE_LEN],
    pub(crate) z: Vec<Vec<i64>>,
    pub(crate) hint: Vec<Vec<bool>>,
}

impl Signature {
    /// Decodes 3309 bytes; `None` for another length or a hint that is not canonical.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (c_tilde, rest) = bytes.split_first_chunk()?;
        let (z, hint) = rest.split_at_checked(L * Z_LEN)?;
        Some(Self {
            c_tilde: *c_tilde,
            z: z.chunks(Z_LEN).map(unpack_z).collect(),
            hint: unpack_hint(hint)?,
        })
    }

    /// SampleInBall of the challenge hash; `None` if it reads more bytes than the circuit.
    pub(crate) fn challenge(&self) -> Option<Vec<i64>> {
        let mut hash = Shake256::new();
        hash.update(&self.c_tilde);
        let mut reader = hash.finalize();
        let mut stream = [0; 8 + STREAM_LEN];
        reader.read(&mut stream);
        let (signs, stream) = stream.split_first_chunk()?;
        let signs = u64::from_le_bytes(*signs);
        let symbols: Vec<usize> = stream.iter().map(|&byte| byte.into()).collect();
        sample_in_ball(N, TAU, signs, &symbols)
    }
}

/// The challenge from its sign bits and stream; `None` if the stream ends too early.
pub(crate) fn sample_in_ball(
    n: usize,
    tau: usize,
    signs: u64,
    stream: &[usize],
) -> Option<Vec<i64>> {
    let mut c = vec![0; n];
    let mut symbols = stream.iter();
    for (step, i) in (n - tau..n).enumerate() {
        let j = *symbols.find(|&&symbol| symbol <= i)?;
        c[i] = c[j];
        c[j] = if signs >> step & 1 == 1 { -1 } else { 1 };
    }
    Some(c)
}

/// Coefficients `gamma1 - field` of 20-bit fields.
fn unpack_z(bytes: &[u8]) -> Vec<i64> {
    let pairs = bytes.as_chunks::<5>().0.iter().flat_map(|five| {
        let word = five
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | i64::from(byte));
        [word & 0xf_ffff, word >> 20]
    });
    pairs.map(|field| GAMMA1 - field).collect()
}

/// HintBitUnpack: positions ascending in each polynomial, ends not falling, padding zero.
fn unpack_hint(bytes: &[u8]) -> Option<Vec<Vec<bool>>> {
    let (positions, ends) = bytes.split_at_checked(OMEGA)?;
    if ends.len() != K {
        return None;
    }
    let mut hint = Vec::with_capacity(K);
    let mut start = 0;
    for &end in ends {
        let end = usize::from(end);
        let own = positions.get(start..end)?;
        if !own.is_sorted_by(|left, right| left < right) {
            return None;
        }
        let mut poly = vec![false; N];
        for &position in own {
            poly[usize::from(position)] = true;
        }
        hint.push(poly);
        start = end;
    }
    positions[start..]
        .iter()
        .all(|&byte| byte == 0)
        .then_some(hint)
}

/// Why no witness can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WitnessError {
    /// The statement or the list of votes is unusable.
    Misuse(Misuse),
    /// Two slots hold one key.
    SameKey {
        /// First slot.
        first: usize,
        /// Second slot.
        second: usize,
    },
    /// A signature for a slot without a key.
    NoKey {
        /// The slot.
        slot: usize,
    },
    /// The ordinary verifier refuses a signature.
    Signature {
        /// The slot.
        slot: usize,
        /// Its verdict.
        error: SignatureError,
    },
    /// The verifier accepted bytes that are not a canonical encoding: the libraries disagree.
    Encoding {
        /// The slot.
        slot: usize,
    },
    /// A genuine signature whose challenge needs more than 128 stream bytes. Happens with
    /// probability 2^-140; the validator has to sign again, with other randomness.
    Stream {
        /// The slot.
        slot: usize,
    },
    /// The signatures do not reach the quorum.
    Weight {
        /// Weight of the valid signatures.
        weight: u128,
        /// Weight demanded.
        weight_min: u64,
    },
    /// The weight exceeds the quorum by 2^64 or more.
    Surplus,
}

impl fmt::Display for WitnessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misuse(error) => write!(f, "{error}"),
            Self::SameKey { first, second } => {
                write!(f, "slots {first} and {second} hold the same key")
            }
            Self::NoKey { slot } => write!(f, "slot {slot} has a signature but no key"),
            Self::Signature { slot, error } => {
                write!(f, "the signature in slot {slot} is refused: {error}")
            }
            Self::Encoding { slot } => {
                write!(f, "the signature in slot {slot} is not canonically encoded")
            }
            Self::Stream { slot } => write!(
                f,
                "the signature in slot {slot} needs more than {STREAM_LEN} bytes to expand its \
                 challenge; the validator has to sign again with other randomness"
            ),
            Self::Weight { weight, weight_min } => {
                write!(
                    f,
                    "the signatures have weight {weight}, the quorum is {weight_min}"
                )
            }
            Self::Surplus => f.write_str("the weight exceeds the quorum by 2^64 or more"),
        }
    }
}

impl core::error::Error for WitnessError {}

impl From<Misuse> for WitnessError {
    fn from(error: Misuse) -> Self {
        Self::Misuse(error)
    }
}

/// Bytes of the challenge hash.
pub(crate) const C_TILDE_LEN: usize = 48;
/// Bytes of one packed polynomial of `z`.
const Z_LEN: usize = N * 20 / 8;
/// Most hints.
pub(crate) const OMEGA: usize = 55;
/// Nonzero coefficients of the challenge.
pub(crate) const TAU: usize = 49;
const GAMMA1: i64 = 1 << 19;
