//! The production mode: threshold signing ordered by a ledger, as a pure state machine.
//!
//! No I/O, no clock: [`Member`] takes final ledger transactions and matrices, and returns bytes to send.
//! Signatures of senders and the durable record come in through [`MemberSigner`], [`MemberVerifier`] and
//! [`SessionRecords`].
//!
//! ```text
//! plan -> reserve -> commit, commit_final x t -> matrices, matrix x (t-1)·count -> have, have_final x t
//!      -> answer (per index) -> Combiner -> Signature + PulseVerified
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`context`] | committee, signing sets, batches, and the hashes that bind everything |
//! | [`message`] | the seven messages |
//! | [`member`](Member) | the state machine of a signer |
//! | [`gather`](Gather) | the public side of a batch: also for nodes outside the set |
//! | [`session`](Session) | message to commitment and challenge |
//! | [`nonce`](Nonce) | one-time secrets |
//! | [`combine`](Combiner) | partials to a verified signature |
//! | [`ledger`] | the deterministic rules that order it all |
//!
//! # Security
//! Unaudited. Wrong partials are not attributable (finding C-06): a few members that sign garbage can stall
//! this lane, never forge. A share serves this mode only. A Pulse is never a source of randomness: a member
//! that withholds its partial sees the signature before the others.
//!
//! # Source
//! Committee-mode specification, section 1.

use horizon_ring::matrix::NttMatrix;
use horizon_ring::modulus::R64_TO_R52;

use crate::group_key::{GroupKey, PreparedKey};
use crate::params::{COLS, ROWS};
use horizon_hash::suite::Suite;

mod combine;
pub mod context;
mod error;
mod gather;
pub mod ledger;
mod mask;
mod member;
pub mod message;
mod nonce;
mod session;
mod share;
mod traits;
mod u_sampler;

pub use combine::Combiner;
pub use context::{Committee, CommitteeParams, Digest, Plan, SigningSet};
pub use error::{Error, Malformed, Misuse, PeerFault, Rejected, UnsafeState};
pub use gather::Gather;
pub use member::{BATCHES_MAX, LedgerView, Member, State};
pub use nonce::Nonce;
pub use session::{Assignment, NonceSum, Session};
pub use share::{SetShare, SignerShare};
pub use traits::{
    Answer, MemberSigner, MemberVerifier, RecordsUnavailable, SIGNATURE_CONTEXT, SIGNATURE_LEN,
    SessionRecords, SignatureRefused, SignerUnavailable,
};
pub use u_sampler::sample_u;

/// A group key prepared for verifying, combining and making nonces; about 260 KB, shared by all batches.
#[derive(Clone, Debug)]
pub struct CommitteeKey {
    prepared: PreparedKey,
    /// `A`, 8 × 7, plain slots times 2^52.
    a: NttMatrix,
}

impl CommitteeKey {
    /// Prepares `key` for `suite`.
    #[must_use]
    pub fn new(key: &GroupKey, suite: Suite) -> Self {
        let mut polys = key.a_scaled(R64_TO_R52).into_iter();
        let a = NttMatrix::from_fn(ROWS, COLS, |_, _| polys.next().unwrap_or_default());
        Self {
            prepared: PreparedKey::new(key, suite),
            a,
        }
    }

    /// The form that verifies and combines.
    #[must_use]
    pub fn prepared(&self) -> &PreparedKey {
        &self.prepared
    }

    pub(crate) fn a(&self) -> &NttMatrix {
        &self.a
    }

    /// Whether this is the key, and the suite, of `committee`.
    pub(crate) fn check(&self, committee: &Committee) -> Result<(), Error> {
        let params = committee.params();
        let same = self.prepared.suite() == params.suite
            && *self.prepared.group_key_hash() == params.group_key_hash;
        if same {
            Ok(())
        } else {
            Err(Error::Misuse(Misuse::GroupKey))
        }
    }
}
