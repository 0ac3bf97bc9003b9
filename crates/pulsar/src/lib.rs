//! The Pulsar lattice threshold signature: key generation, signing, verification.
//!
//! One signature by `t` of `n` parties, 33 KB, checked with one group key. The scheme is the
//! Ringtail-derived one of `luxfi/pulsar`: module rank 7 over `Z_q[X]/(X^256+1)`, q = 2^48 + 18945.
//! It is unaudited.
//!
//! * [`group_key`], [`verify`](mod@verify): decode a key and a signature, verify, get a witness.
//! * [`committee`]: signing by a committee over a ledger, as a pure state machine; what nodes run.
//! * [`dealer`]: keys from one trusted dealer.
//! * `hazmat::interop` (feature `hazmat`): the reference's signing protocol, byte for byte.
//!
//! ```
//! use horizon_pulsar::{PreparedKey, Signature, Suite};
//! # use horizon_pulsar::{error::Error, hazmat::interop::*, signers::SignerSet};
//! # let dealing = gen_reference_for_vectors(Suite::PulsarSha3, 1, &[0; 32])?;
//! # let group = Group::new(dealing.group_key.clone(), Suite::PulsarSha3);
//! # let share = &dealing.shares[0];
//! # let session = Session::new(&group, share, SignerSet::everyone(share.quorum()))?;
//! # let (nonce, _) = session.round1(&mut SidFence::fresh(), 1)?;
//! # let (partial, assembly) = Preprocess::new(nonce).finish()?.sign(b"block 7", &[0; 32])?;
//! # let bytes = assembly.combine(&[partial])?.0.to_pulse_bytes();
//! # let group_key = dealing.group_key;
//! // Once per key; then 30 microseconds per signature.
//! let key = PreparedKey::new(&group_key, Suite::PulsarSha3);
//! let signature = Signature::from_pulse_bytes(&bytes)?;
//! let verified = key.verify(b"block 7", &signature)?;
//! assert_eq!(verified.key_digest(), key.key_digest());
//! assert!(key.verify(b"block 8", &signature).is_err());
//! # Ok::<(), Error>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod codec;
pub mod committee;
pub mod dealer;
pub mod error;
pub mod group_key;
#[cfg(feature = "hazmat")]
pub mod hazmat;
pub mod params;
pub mod secret;
pub mod shamir;
pub mod signers;
pub mod verify;
pub mod wire;

pub use error::Error;
pub use group_key::{GroupKey, PreparedKey};
pub use horizon_hash::suite::Suite;
pub use verify::PulseVerified;
pub use wire::Signature;
