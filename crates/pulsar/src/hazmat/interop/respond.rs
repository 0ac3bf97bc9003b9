//! Round two and combination: the only steps that need the message.

use alloc::{boxed::Box, vec::Vec};

use horizon_hash::{blake2xb::Blake2Xb, kmac::KmacJob};
use horizon_ring::{
    LazyNttPoly, NttPoly, Poly,
    backend::{self, Kind},
    dot,
    matrix::{LazyNttMatrix, NttMatrix},
    modulus, ntt, round, sample,
};
use zeroize::{Zeroize, Zeroizing};

use super::{
    frames::Partial,
    hashes::{self, U_LEN},
    keygen::Share,
    preprocess::Ready,
    session::{HRounding, Session},
};
use crate::{
    Error, Signature,
    error::{Misuse, Peer, Round},
    group_key::{challenge, check_message},
    params::{COLS, KEY_LEN, NONCE_COLS, NU, Q_NU, ROWS},
    verify::PulseVerified,
};

impl<'a> Ready<'a> {
    /// Round two: this member's partial for `message`, and what is needed to combine.
    ///
    /// `prf_key` is the mask key all parties share. Consumes the session: the nonces are gone
    /// afterwards.
    ///
    /// # Errors
    /// `MessageTooLong`.
    pub fn sign(
        self,
        message: &[u8],
        prf_key: &[u8; KEY_LEN],
    ) -> Result<(Partial, Assembly<'a>), Error> {
        check_message(message)?;
        let session = self.session;
        let group = session.group;
        let u = hashed_vector(session, &self.transcript, message);
        let h = commitment(&self.d_sum, &u, group.rounding);
        let c = challenge(&group.prepared.challenge_seed(&h, message)?);
        let masks = partial_masks(
            session.share,
            &session.signers,
            prf_key,
            &self.transcript,
            message,
        )?;
        let mut z = [const { NttPoly::ZERO }; COLS];
        for (row, z) in z.iter_mut().enumerate() {
            let mut terms = Vec::with_capacity(NONCE_COLS + 1);
            terms.extend(
                self.nonces
                    .r
                    .column(row)
                    .zip(u.row(0))
                    .map(|(r, u)| dot::term(r, u)),
            );
            terms.push(dot::term(&session.weighted_share[row], &c));
            dot::dot_into(&terms, z);
            z.add_assign(&masks[row]);
        }
        let partial = Partial {
            sender: session.share.position,
            sid: self.sid,
            z,
        };
        let assembly = Assembly {
            session,
            sid: self.sid,
            message: message.into(),
            h,
            c,
        };
        Ok((partial, assembly))
    }

    /// `h` for `message`: 8 polynomials. Public; computing it does not consume the session.
    #[must_use]
    pub fn rounded_commitment(&self, message: &[u8]) -> Box<[Poly; ROWS]> {
        let u = hashed_vector(self.session, &self.transcript, message);
        commitment(&self.d_sum, &u, self.session.group.rounding)
    }
}

/// Everything public about one signed message: combines the partials of the signer set.
#[derive(Debug)]
pub struct Assembly<'a> {
    session: &'a Session<'a>,
    sid: u64,
    message: Box<[u8]>,
    h: Box<[Poly; ROWS]>,
    c: NttPoly,
}

impl Assembly<'_> {
    /// The challenge, NM form.
    #[must_use]
    pub const fn c(&self) -> &NttPoly {
        &self.c
    }

    /// The rounded commitment, 8 polynomials.
    #[must_use]
    pub const fn h(&self) -> &[Poly; ROWS] {
        &self.h
    }

    /// Adds up the partials of exactly the signer set, in any order, and verifies the result before
    /// releasing it.
    ///
    /// # Errors
    /// [`Peer::Unexpected`], [`Peer::Duplicate`], [`Peer::Missing`], [`Peer::WrongSession`];
    /// [`Peer::SignatureInvalid`] when the sum does not verify: nobody can be named.
    pub fn combine(&self, partials: &[Partial]) -> Result<(Signature, PulseVerified), Error> {
        let round = Round::Two;
        let signers = &self.session.signers;
        let mut seen = alloc::vec![false; signers.len()];
        let mut z = [const { NttPoly::ZERO }; COLS];
        for partial in partials {
            let party = partial.sender;
            let index = signers
                .index_of(party)
                .ok_or(Peer::Unexpected { round, party })?;
            if core::mem::replace(&mut seen[index], true) {
                return Err(Peer::Duplicate { round, party }.into());
            }
            if partial.sid != self.sid {
                return Err(Peer::WrongSession { round, party }.into());
            }
            z.iter_mut()
                .zip(&partial.z)
                .for_each(|(sum, z)| sum.add_assign(z));
        }
        if let Some(index) = seen.iter().position(|seen| !seen) {
            let party = signers.positions()[index];
            return Err(Peer::Missing { round, party }.into());
        }
        let prepared = &self.session.group.prepared;
        let contributors = signers.len() as u16;
        let invalid = |_| Error::Peer(Peer::SignatureInvalid { contributors });
        let signature = prepared.complete(&self.h, &self.c, z).map_err(invalid)?;
        let verified = prepared
            .verify(&self.message, &signature)
            .map_err(invalid)?;
        Ok((signature, verified))
    }
}

/// `sum over T of mask(seed[j][i]) - mask(seed[i][j])` for party `i`: 7 polynomials, NM form.
///
/// The terms with `j = i` cancel and are skipped; the transform is linear, so one per polynomial
/// serves all.
///
/// # Errors
/// [`Misuse::Length`] when the signers are not of the share's committee.
///
/// # Security
/// Secret: a partial without its masks shows the share.
pub fn partial_masks(
    share: &Share,
    signers: &crate::signers::SignerSet,
    prf_key: &[u8; KEY_LEN],
    transcript: &[u8; 32],
    message: &[u8],
) -> Result<Zeroizing<Vec<NttPoly>>, Error> {
    if signers.quorum() != share.quorum() {
        return Err(Misuse::Length { field: "signers" }.into());
    }
    let own = share.position();
    let peers: Vec<usize> = signers
        .positions()
        .iter()
        .filter(|&&position| position != own)
        .map(|&position| usize::from(position))
        .collect();
    let seeds = peers
        .iter()
        .flat_map(|&peer| [&share.column_seeds[peer], &share.row_seeds[peer]]);
    let parts: Vec<[&[u8]; 3]> = seeds
        .map(|seed| [&seed[..], &transcript[..], message])
        .collect();
    let jobs: Vec<KmacJob<'_>> = parts
        .iter()
        .map(|parts| KmacJob {
            key: prf_key,
            parts,
        })
        .collect();
    let keys = Zeroizing::new(share.suite().prf_batch(&jobs));
    let kind = Kind::active();
    let mut added = Zeroizing::new(alloc::vec![Poly::ZERO; COLS]);
    let mut taken = Zeroizing::new(alloc::vec![Poly::ZERO; COLS]);
    for (index, key) in keys.iter().enumerate() {
        let mut stream = Blake2Xb::from_seed(key);
        let sums = if index % 2 == 0 {
            &mut added
        } else {
            &mut taken
        };
        for sum in sums.iter_mut() {
            let mut mask = sample::uniform(&mut stream);
            // At most 1,023 values below 2^49.
            backend::add_raw(kind, sum.as_mut_array(), mask.as_array());
            mask.zeroize();
        }
    }
    let mut masks = Zeroizing::new(Vec::with_capacity(COLS));
    for (added, taken) in added.iter_mut().zip(taken.iter_mut()) {
        added.canonicalize();
        taken.canonicalize();
        added.sub_assign(taken);
        masks.push(ntt::forward_montgomery(added));
    }
    Ok(masks)
}

/// `(1, u_1 .. u_48)`, slots times 2^116, as a matrix of one row.
fn hashed_vector(session: &Session<'_>, transcript: &[u8; 32], message: &[u8]) -> LazyNttMatrix {
    let seed = hashes::u_seed(session.suite(), transcript, message);
    let mut polys = hashes::u_coefficients(&seed, U_LEN).into_iter();
    LazyNttMatrix::from_fn(1, NONCE_COLS, |_, column| {
        if column == 0 {
            return LazyNttPoly::constant(modulus::R116);
        }
        let mut slots = LazyNttPoly::ZERO;
        let poly = polys.next().unwrap_or_default();
        ntt::forward_lazy_into(&poly, ntt::Scale::R116, &mut slots);
        slots
    })
}

/// `h = round(DSum u)`.
fn commitment(d_sum: &NttMatrix, u: &LazyNttMatrix, rounding: HRounding) -> Box<[Poly; ROWS]> {
    let mut h = Box::new([const { Poly::ZERO }; ROWS]);
    let mut slots = NttPoly::ZERO;
    for (row, h) in h.iter_mut().enumerate() {
        let terms: Vec<_> = d_sum
            .row(row)
            .zip(u.row(0))
            .map(|(d, u)| dot::term(d, u))
            .collect();
        dot::dot_into(&terms, &mut slots);
        let w = ntt::inverse_double_montgomery(&slots);
        *h = match rounding {
            HRounding::Reduced => round::round_shift_mod(&w, NU, Q_NU.trailing_zeros()),
            HRounding::Reference => round::round_shift(&w, NU),
        };
    }
    h
}
