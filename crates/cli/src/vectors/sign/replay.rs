//! Replays the second round from a transcript hash that our own session would not have.
//!
//! Needed for signer sets with gaps, where the reference's transcript omits matrices: no session of
//! ours reaches that hash, so its bytes are put together from the single functions.

use horizon_hash::suite::Suite;
use horizon_pulsar::hazmat::interop::{self, Dealing, Group, Partial, Round1Message};
use horizon_pulsar::params::{COLS, NU, ROWS};
use horizon_pulsar::signers::SignerSet;
use horizon_ring::matrix::NttMatrix;
use horizon_ring::{NttPoly, Poly, dot, modulus, ntt, round};

use super::super::fields::{Mismatch, Raw, fault, same};
use super::super::primitives::EMPTY_MATRIX;
use super::super::shamir::lagrange;
use super::text;

pub(super) struct Replay<'a> {
    pub(super) suite: Suite,
    pub(super) dealing: &'a Dealing,
    pub(super) signers: &'a SignerSet,
    pub(super) sid: u64,
    pub(super) prf_key: &'a [u8; 32],
}

impl Replay<'_> {
    /// The hash is that of matrices 0, 1, ... up to their number, an empty one for each gap.
    pub(super) fn check_transcript(
        &self,
        messages: &[Round1Message],
        theirs: &[u8; 32],
    ) -> Result<(), Mismatch> {
        let walked: Vec<&[u8]> = (0..messages.len())
            .map(|index| {
                let held = messages
                    .iter()
                    .find(|message| usize::from(message.sender) == index);
                held.map_or(&EMPTY_MATRIX[..], |message| message.matrix.as_ser())
            })
            .collect();
        let ids: Vec<u32> = self
            .signers
            .positions()
            .iter()
            .map(|&id| u32::from(id))
            .collect();
        let key = &self.dealing.group_key;
        let hash = interop::transcript_hash(self.suite, key, self.sid, &ids, &walked);
        same(
            "transcript_hash, as the reference walks the matrices",
            &hash,
            theirs,
        )
    }

    /// Partials, challenge and commitment for a transcript hash.
    #[allow(clippy::type_complexity, reason = "partials, challenge, commitment")]
    pub(super) fn sign(
        &self,
        group: &Group,
        d_sum: &NttMatrix,
        u: &[NttPoly],
        transcript: &[u8; 32],
        message: &[u8],
    ) -> Result<(Vec<Partial>, NttPoly, Box<[Poly; ROWS]>), Mismatch> {
        let h: Vec<Poly> = product(d_sum, u)
            .iter()
            .map(|poly| round::round_shift(poly, NU))
            .collect();
        let c = interop::challenge(self.suite, group.key(), &h, message).map_err(text)?;
        let lambdas = lagrange(self.signers.positions())?;
        let mut partials = Vec::new();
        for (&position, lambda) in self.signers.positions().iter().zip(lambdas) {
            let share = self.dealing.shares.get(usize::from(position));
            let share = share.ok_or_else(|| fault("T: no such party"))?;
            let key = interop::round_key(self.suite, share.secret(), self.sid);
            let r = interop::expand_nonces(&key).r_montgomery();
            let masks =
                interop::partial_masks(share, self.signers, self.prf_key, transcript, message)
                    .map_err(text)?;
            let mut z = [const { NttPoly::ZERO }; COLS];
            for (row, z) in z.iter_mut().enumerate() {
                *z = row_product(&r, row, u);
                let mut weighted = dot::mul(&share.secret()[row], &c);
                weighted.scale(modulus::mul(lambda, modulus::R64_TO_R52));
                z.add_assign(&weighted);
                z.add_assign(&masks[row]);
            }
            partials.push(Partial {
                sender: position,
                sid: self.sid,
                z,
            });
        }
        let h = h
            .into_boxed_slice()
            .try_into()
            .map_err(|_| fault("h: wrong length"))?;
        Ok((partials, c, h))
    }
}

/// Matrix times `(1, u)` in coefficient form, both given in NTT-Montgomery form.
pub(super) fn product(matrix: &NttMatrix, u: &[NttPoly]) -> Vec<Poly> {
    (0..matrix.rows())
        .map(|row| ntt::inverse_montgomery(&row_product(matrix, row, u)))
        .collect()
}

/// One row times `(1, u)`, in NTT-Montgomery form again.
fn row_product(matrix: &NttMatrix, row: usize, u: &[NttPoly]) -> NttPoly {
    let one = NttPoly::constant(modulus::R64);
    let factors = core::iter::once(&one).chain(u);
    let terms: Vec<_> = matrix
        .row(row)
        .zip(factors)
        .map(|(a, b)| dot::term(a, b))
        .collect();
    let mut sum = dot::dot(&terms);
    // 2^64 from each factor and 2^-52 from the product leave 2^76; 2^64 is wanted.
    sum.scale(modulus::R64_TO_R52);
    sum
}

/// The polynomials of an encoded matrix, row by row.
pub(super) fn decode_matrix(ser: &[u8], rows: usize, cols: usize) -> Result<Vec<Raw>, Mismatch> {
    let matrix: NttMatrix =
        horizon_ring::codec::read_matrix(ser, (rows, cols), modulus::Q - 1, "D")
            .map_err(|error| fault(&error.to_string()))?;
    Ok(matrix.iter().map(|poly| *poly.as_array()).collect())
}
