//! Adding the partials of one session into a signature, which is verified before it is returned.
//!
//! # Source
//! Committee-mode specification section 1.8.
//! # Security
//! Everything here is public. A partial cannot be checked alone (finding C-06): after a failure nobody is
//! blamed, and no nonce or mask is ever asked for (finding C-09).

use alloc::vec::Vec;
use core::fmt;

use horizon_ring::NttPoly;
use horizon_ring::modulus::R64;

use super::context::Committee;
use super::error::{Error, Misuse, PeerFault, Rejected};
use super::message::{Partial, Signed};
use super::session::Session;
use crate::group_key::PreparedKey;
use crate::params::COLS;
use crate::verify::PulseVerified;
use crate::wire::Signature;

/// Collects the partials of one session.
pub struct Combiner<'s> {
    session: &'s Session,
    era_ctx: [u8; 32],
    sum: Vec<NttPoly>,
    seen: Vec<bool>,
}

impl<'s> Combiner<'s> {
    /// An empty collection.
    #[must_use]
    pub fn new(committee: &Committee, session: &'s Session) -> Self {
        Self {
            session,
            era_ctx: *committee.era_ctx(),
            sum: alloc::vec![NttPoly::ZERO; COLS],
            seen: alloc::vec![false; session.set().len()],
        }
    }

    /// Adds one partial. Returns how many are still missing.
    ///
    /// # Errors
    /// A [`PeerFault`] naming the sender: `NotInSet`, `WrongSlot` (other batch, index or attempt),
    /// `WrongSessionContext`, `PartialTwice`. The sum is unchanged then.
    pub fn add(&mut self, partial: &Signed<Partial>) -> Result<usize, Error> {
        let (header, body) = (partial.header(), partial.body());
        let fault = |fault| Err(Error::peer(header.sender, fault));
        let Some(slot) = self.session.set().slot(header.sender) else {
            return fault(PeerFault::NotInSet);
        };
        let place = (header.ctx, header.seq, body.index, body.attempt);
        let session = self.session;
        if place
            != (
                self.era_ctx,
                session.batch(),
                session.index(),
                session.attempt(),
            )
        {
            return fault(PeerFault::WrongSlot);
        }
        if body.session_ctx != *session.session_ctx() {
            return fault(PeerFault::WrongSessionContext);
        }
        if core::mem::replace(&mut self.seen[slot], true) {
            return fault(PeerFault::PartialTwice);
        }
        self.sum
            .iter_mut()
            .zip(&body.z)
            .for_each(|(sum, z)| sum.add_assign(z));
        Ok(self.missing().len())
    }

    /// Positions of the members whose partial is missing.
    #[must_use]
    pub fn missing(&self) -> Vec<u16> {
        let ids = self.session.set().ids().iter().zip(&self.seen);
        ids.filter(|(_, seen)| !**seen).map(|(id, _)| *id).collect()
    }

    /// The signature over `mu`, verified.
    ///
    /// # Errors
    /// [`Misuse::Incomplete`] unless all members of the set contributed; [`Rejected::Combination`] with all
    /// contributors when the signature does not verify: who is wrong is not decidable.
    pub fn finish(self, key: &PreparedKey, mu: &[u8]) -> Result<(Signature, PulseVerified), Error> {
        match self.missing().len() {
            0 => {}
            missing => return Err(Error::Misuse(Misuse::Incomplete { missing })),
        }
        let mut sum = self.sum.into_iter();
        let z: [NttPoly; COLS] = core::array::from_fn(|_| {
            let mut poly = sum.next().unwrap_or_default();
            poly.scale(R64);
            poly
        });
        let refused = || {
            let contributors = self.session.set().ids().to_vec();
            Error::Rejected(Rejected::Combination { contributors })
        };
        let signature = key
            .complete(self.session.h_array(), self.session.c(), z)
            .map_err(|_| refused())?;
        let verified = key.verify(mu, &signature).map_err(|_| refused())?;
        Ok((signature, verified))
    }
}

impl fmt::Debug for Combiner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Combiner")
            .field("missing", &self.missing())
            .finish_non_exhaustive()
    }
}
