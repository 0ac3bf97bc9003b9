//! Every size limit of the crate in one place. All in bytes unless the name says otherwise.
//!
//! A decoder checks a declared size against these and against the bytes that remain before it
//! allocates or walks.

/// Encoded unsigned message: 256 KiB.
pub const UNSIGNED_LEN_MAX: usize = 262_144;
/// A whole envelope or version 1 message on the wire, lead byte included: 1 MiB.
pub const ENVELOPE_LEN_MAX: usize = 1_048_576;
/// Pulse and certificate lanes together.
pub const LANES_LEN_MAX: usize = 1_048_576;
/// Signer bit set: 65,536 validators.
pub const SIGNERS_LEN_MAX: usize = 8_192;
/// Validators in one set, one per signer bit.
pub const VALIDATOR_COUNT_MAX: usize = 65_536;
/// Hash suite text.
pub const SUITE_LEN_MAX: usize = 64;
/// Pulse wire cap, guard G1.
pub const PULSE_LEN_MAX: usize = 65_536;
/// One frame inside a Pulse, guard G3.
pub const PULSE_LANE_LEN_MAX: usize = 32_768;
/// Any count inside a Pulse frame, guard G4.
pub const PULSE_COUNT_MAX: u64 = 4_096;
/// The one length of a canonical Pulse.
pub const PULSE_LEN: usize = 33_052;
/// Justification of a signature request.
pub const JUSTIFICATION_LEN_MAX: usize = 65_536;
/// Whole Horizon certificate.
pub const CERTIFICATE_LEN_MAX: usize = 1_048_832;
/// Hops of a multi-hop route.
pub const ROUTE_HOP_COUNT_MAX: u32 = 256;
/// Sender or recipient of a routed payload.
pub const ROUTED_ADDRESS_LEN_MAX: usize = 256;
/// Group key bytes of a registry record.
pub const GROUP_KEY_LEN_MAX: usize = 262_144;
/// Operator name of a validator in a registry record.
pub const OPERATOR_LEN_MAX: usize = 64;
/// Sum of the committee points of a registry record.
pub const POINTS_TOTAL_MAX: u32 = 1_024;
/// Records loaded for one source chain.
pub const RECORD_COUNT_MAX: usize = 4_096;
/// BLS public key, compressed.
pub const BLS_KEY_LEN: usize = 48;
/// BLS signature, compressed.
pub const BLS_SIGNATURE_LEN: usize = 96;
/// ML-DSA-65 public key.
pub const MLDSA65_KEY_LEN: usize = 1_952;
/// ML-DSA-65 signature.
pub const MLDSA65_SIGNATURE_LEN: usize = 3_309;
/// Groth16 artifact: three compressed points and the public-inputs hash.
pub const GROTH16_LEN: usize = 224;
