//! The public side of one signature attempt: from matrices and message to commitment and challenge.
//!
//! # Source
//! Committee-mode specification section 1.4 step 4 and section 1.5.
//! # Security
//! Everything here is public, so time may depend on it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use horizon_ring::dot::{dot_into, term};
use horizon_ring::matrix::{Matrix, NttMatrix};
use horizon_ring::modulus::R116;
use horizon_ring::round::round_shift_mod;
use horizon_ring::{NttPoly, Poly, ntt};

use super::context::{Committee, Digest, Plan, SigningSet, session_context, transcript, u_seed};
use super::error::{Error, Misuse};
use super::u_sampler::sample_u;
use crate::group_key::{PreparedKey, challenge};
use crate::params::{NONCE_COLS, NU, Q_NU, ROWS};

/// Sum of the first-round matrices of all members of the set for one index: 8 × 49, canonical plain slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NonceSum(pub(super) NttMatrix);

/// What the ledger assigned an index to.
#[derive(Clone, Copy, Debug)]
pub struct Assignment<'a> {
    /// The batch.
    pub batch: u64,
    /// The index within the batch.
    pub index: u16,
    /// The attempt at the subject.
    pub attempt: u32,
    /// The canonical Pulse message of the subject.
    pub mu: &'a [u8],
}

/// One signature attempt, as every holder of the nonce sum computes it.
#[derive(Clone)]
pub struct Session {
    batch: u64,
    index: u16,
    attempt: u32,
    set: SigningSet,
    transcript: [u8; 64],
    u_seed: [u8; 32],
    /// `u`, 49 polynomials, slots times 2^116. Absent for a holder of `h` only.
    u: Option<Matrix<NttPoly>>,
    h: Box<[Poly; ROWS]>,
    challenge_seed: [u8; 32],
    /// The challenge, slots times 2^64.
    c: NttPoly,
    session_ctx: [u8; 32],
}

impl Session {
    /// Derives a session from the nonce sum. `digests` are those of the index, in set order.
    ///
    /// # Errors
    /// [`Misuse::Incomplete`] for a wrong number of digests, [`Misuse::Message`] for a message of 2^32
    /// bytes or more, [`Misuse::GroupKey`] when the key is another one or was prepared for another suite.
    pub fn derive(
        committee: &Committee,
        key: &PreparedKey,
        plan: &Plan,
        digests: &[&Digest],
        sum: &NonceSum,
        assignment: &Assignment<'_>,
    ) -> Result<Self, Error> {
        let (transcript, seed) = seeds(committee, key, plan, digests, assignment)?;
        let u = expand_u(&seed)?;
        let h = commitment(&sum.0, &u);
        Self::finish(key, plan, assignment, transcript, seed, Some(u), h)
    }

    /// Derives a session from the commitment `h` that a member of the set sent, for a node that holds no
    /// matrices (finding C-15). Such a session combines partials, but cannot answer.
    ///
    /// A wrong `h` gives another session context, which no partial will match.
    ///
    /// # Errors
    /// As [`derive`](Self::derive), and [`Misuse::Commitment`] when a coefficient is not below 2^19.
    pub fn from_commitment(
        committee: &Committee,
        key: &PreparedKey,
        plan: &Plan,
        digests: &[&Digest],
        h: Box<[Poly; ROWS]>,
        assignment: &Assignment<'_>,
    ) -> Result<Self, Error> {
        if h.iter()
            .flat_map(|poly| poly.as_array())
            .any(|v| *v >= Q_NU)
        {
            return Err(Error::Misuse(Misuse::Commitment));
        }
        let (transcript, seed) = seeds(committee, key, plan, digests, assignment)?;
        Self::finish(key, plan, assignment, transcript, seed, None, h)
    }

    fn finish(
        key: &PreparedKey,
        plan: &Plan,
        assignment: &Assignment<'_>,
        transcript: [u8; 64],
        u_seed: [u8; 32],
        u: Option<Matrix<NttPoly>>,
        h: Box<[Poly; ROWS]>,
    ) -> Result<Self, Error> {
        let challenge_seed = key
            .challenge_seed(&h, assignment.mu)
            .map_err(|_| Error::Misuse(Misuse::Message))?;
        Ok(Self {
            batch: plan.batch,
            index: assignment.index,
            attempt: assignment.attempt,
            set: plan.set.clone(),
            session_ctx: session_context(&transcript, &u_seed, &challenge_seed),
            c: challenge(&challenge_seed),
            transcript,
            u_seed,
            u,
            h,
            challenge_seed,
        })
    }

    /// The batch.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// The index within the batch.
    #[must_use]
    pub fn index(&self) -> u16 {
        self.index
    }

    /// The attempt at the subject.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The signing set.
    #[must_use]
    pub fn set(&self) -> &SigningSet {
        &self.set
    }

    /// `H`: batch, index, attempt, set and digests.
    #[must_use]
    pub fn transcript(&self) -> &[u8; 64] {
        &self.transcript
    }

    /// `useed`: transcript and message.
    #[must_use]
    pub fn u_seed(&self) -> &[u8; 32] {
        &self.u_seed
    }

    /// `cseed`: the key of the challenge, and part of every mask key (finding C-01).
    #[must_use]
    pub fn challenge_seed(&self) -> &[u8; 32] {
        &self.challenge_seed
    }

    /// `sctx`: what every partial of this session carries.
    #[must_use]
    pub fn session_ctx(&self) -> &[u8; 32] {
        &self.session_ctx
    }

    /// The commitment, 8 polynomials of coefficients below 2^19; a node outside the set asks for it.
    #[must_use]
    pub fn h(&self) -> &[Poly; ROWS] {
        &self.h
    }

    /// The challenge, slots times 2^64.
    #[must_use]
    pub fn c(&self) -> &NttPoly {
        &self.c
    }

    /// A session with chosen parts, for tests of what depends on which of them.
    #[cfg(test)]
    pub(super) fn of_parts(
        set: SigningSet,
        transcript: [u8; 64],
        u_seed: [u8; 32],
        challenge_seed: [u8; 32],
        c: NttPoly,
    ) -> Self {
        Self {
            batch: 5,
            index: 2,
            attempt: 0,
            set,
            transcript,
            u: expand_u(&u_seed).ok(),
            u_seed,
            h: Box::new([const { Poly::ZERO }; ROWS]),
            challenge_seed,
            c,
            session_ctx: session_context(&transcript, &u_seed, &challenge_seed),
        }
    }

    pub(super) fn h_array(&self) -> &[Poly; ROWS] {
        &self.h
    }

    pub(super) fn u(&self) -> Option<&Matrix<NttPoly>> {
        self.u.as_ref()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("batch", &self.batch)
            .field("index", &self.index)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// Transcript and `u` seed, after checking that the parts belong together.
fn seeds(
    committee: &Committee,
    key: &PreparedKey,
    plan: &Plan,
    digests: &[&Digest],
    assignment: &Assignment<'_>,
) -> Result<([u8; 64], [u8; 32]), Error> {
    let params = committee.params();
    if (key.suite(), key.group_key_hash()) != (params.suite, &params.group_key_hash) {
        return Err(Error::Misuse(Misuse::GroupKey));
    }
    if assignment.batch != plan.batch || assignment.index >= plan.count {
        return Err(Error::Misuse(Misuse::Index));
    }
    if digests.len() != plan.set.len() {
        let missing = plan.set.len().abs_diff(digests.len());
        return Err(Error::Misuse(Misuse::Incomplete { missing }));
    }
    let (index, attempt) = (assignment.index, assignment.attempt);
    let transcript = transcript(committee.era_ctx(), plan, index, attempt, digests);
    Ok((transcript, u_seed(&transcript, assignment.mu)))
}

/// `u = (1, u_1, .., u_48)`, slots times 2^116.
fn expand_u(seed: &[u8; 32]) -> Result<Matrix<NttPoly>, Error> {
    let mut u = Matrix::zeros(1, NONCE_COLS);
    let sampled = sample_u(seed)?;
    for (index, out) in u.iter_mut().enumerate() {
        match index.checked_sub(1).and_then(|index| sampled.get(index)) {
            Some(poly) => ntt::forward_into(poly, ntt::Scale::R116, out),
            None => *out = NttPoly::constant(R116),
        }
    }
    Ok(u)
}

/// `h = ((DSum u + 2^28) >> 29) mod 2^19`, coefficient by coefficient.
fn commitment(sum: &NttMatrix, u: &Matrix<NttPoly>) -> Box<[Poly; ROWS]> {
    let mut h = Box::new([const { Poly::ZERO }; ROWS]);
    let mut product = NttPoly::ZERO;
    for (row, out) in h.iter_mut().enumerate() {
        let terms: Vec<_> = sum
            .row(row)
            .zip(u.iter())
            .map(|(d, u)| term(d, u))
            .collect();
        dot_into(&terms, &mut product);
        // Plain slots times 2^116 over 2^52: the inverse removes the 2^64.
        ntt::inverse_into(&product, ntt::Unscale::R64, out);
        *out = round_shift_mod(out, NU, Q_NU.ilog2());
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;
    use horizon_ring::Q;

    /// A sum whose product with any `u` is the constant polynomial `v` in every row.
    fn constant_sum(v: u64) -> NttMatrix {
        NttMatrix::from_fn(ROWS, NONCE_COLS, |_, c| {
            NttPoly::constant(if c == 0 { v } else { 0 })
        })
    }

    #[test]
    fn f03_a_commitment_that_rounds_up_to_two_to_the_nineteen_is_zero() {
        let u = expand_u(&[1; 32]).unwrap();
        for (v, rounded) in [
            (0, 0),
            ((1 << 28) - 1, 0),
            (1 << 28, 1),
            (Q - (1 << 28) - 18_945 - 1, Q_NU - 1),
            (Q - 1, 0),
        ] {
            let h = commitment(&constant_sum(v), &u);
            assert!(h.iter().all(|poly| poly.as_array()[0] == rounded), "{v}");
            assert!(h.iter().all(|poly| poly.as_array()[1..] == [0; 255]), "{v}");
        }
    }

    #[test]
    fn the_first_entry_of_u_is_one() {
        let u = expand_u(&[1; 32]).unwrap();
        let first = u.iter().next().unwrap();
        assert!(first.as_array().iter().all(|v| *v == R116));
        assert_eq!(u.iter().len(), NONCE_COLS);
    }
}
