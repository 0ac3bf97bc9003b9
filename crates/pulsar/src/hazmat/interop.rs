//! The reference's signing protocol, byte for byte, with its holes closed where that costs no
//! compatibility.
//!
//! For test vectors and for committees that mix this implementation with the reference. Nonces
//! derive from the share and the session number alone, so one session number must never serve two
//! messages or two signer sets: [`SidFence`] refuses a repeated number, and every step consumes the
//! previous one by value. Nodes use committee mode instead.
//!
//! Where the reference is unsound this module differs, without changing the bytes of sound
//! sessions: the transcript binds the matrices of the actual signer set; interpolation coefficients
//! belong to that set; message sets must match it exactly; the own matrix may not come back
//! altered; `h` is reduced modulo 2^19 (unless replaying vectors); MACs are compared in constant
//! time; a signature is verified before it is released.
//!
//! # Source
//! `luxfi/pulsar@4043d76`: `sign/sign.go`, `primitives/*.go`, `keyera/keyera.go`.

mod frames;
mod hashes;
mod keygen;
mod nonce;
mod preprocess;
mod respond;
mod session;

pub use frames::{Matrix, Partial, Round1Message};
pub use hashes::{
    challenge, gaussian_hash, legacy_round_key, mask, round_key, round1_mac, transcript_hash,
    u_seed,
};
pub use keygen::{
    Dealing, ReferenceSecrets, Share, gen_key_era, gen_reference_for_vectors, key_era_coefficient,
    reference_secrets, share_seeded, share_t_equals_k,
};
pub use nonce::{Nonces, expand_nonces};
pub use preprocess::{Preprocess, Ready};
pub use respond::{Assembly, partial_masks};
pub use session::{Group, HRounding, Nonce, Session, SidFence};
