//! Every domain tag of the product, in one table.
//!
//! A tag is declared here once and used through its constant; [`TAGS`] lists all of them with the
//! way each is separated from the bytes around it. Tests show that no two tags are equal and that
//! none is a prefix of another in a place where no length separates them.
//!
//! # Source
//! Names, framings and uses as in the reference for everything it defines; the tags that start with
//! `HORIZON-` or `horizon-` are this project's own.

use crate::suite::SuiteTags;

/// One domain tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The bytes, ASCII without terminator.
    pub bytes: &'static [u8],
    /// Where the bytes enter.
    pub framing: Framing,
    /// What they separate.
    pub used: &'static str,
}

/// Where a tag enters a computation, hence what keeps it apart from what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// Customisation string of an SP 800-185 function: its length is hashed.
    Custom,
    /// Customisation string in a SHA3 suite; plain prefix of the BLAKE3 input in a BLAKE3 suite.
    Suite,
    /// First element of a suite's transcript hash: its length is hashed.
    Element,
    /// Label in front of the chain identifier of a pairwise derivation, ended by `|`.
    Label,
    /// Whole input of a suite's output stream.
    StreamInput,
    /// Start of the message under a keyed function.
    KeyedInput,
    /// FIPS 204 context string: its length is hashed.
    Context,
    /// Domain separation tag of RFC 9380: its length is hashed.
    Dst,
    /// Start of a BLAKE3 input.
    Blake3,
    /// Start of a SHA-256 input.
    Sha256,
    /// Start of a SHA-512 input.
    Sha512,
    /// Start of a Keccak-256 input.
    Keccak256,
    /// Start of a message to be signed.
    Message,
}

impl Framing {
    /// Whether a length or an end mark separates the tag from what follows.
    #[must_use]
    pub const fn is_length_framed(self) -> bool {
        matches!(
            self,
            Self::Custom | Self::Element | Self::Label | Self::Context | Self::Dst
        )
    }
}

/// Declares the constants, one module per area, and the table over all of them.
macro_rules! tags {
    ($($(#[$area_doc:meta])* $area:ident {
        $($name:ident = $bytes:literal, $framing:ident, $used:literal;)*
    })*) => {
        $($(#[$area_doc])* pub mod $area {
            $(
                #[doc = concat!("`", $bytes, "`: ", $used, ".")]
                pub const $name: &[u8] = $bytes.as_bytes();
            )*
        })*

        /// All tags.
        pub const TAGS: &[Tag] = &[
            $($(Tag {
                bytes: $bytes.as_bytes(),
                framing: Framing::$framing,
                used: $used,
            },)*)*
        ];
    };
}

tags! {
    /// Signing kernel and suites under the first names.
    pulsar {
        HC = "PULSAR-HC-v1", Suite, "suite challenge digest";
        HU = "PULSAR-HU-v1", Suite, "suite output stream";
        TRANSCRIPT = "PULSAR-TRANSCRIPT-v1", Suite, "suite transcript hash";
        PRF = "PULSAR-PRF-v1", Suite, "suite pseudorandom function";
        MAC = "PULSAR-MAC-v1", Suite, "suite message authentication";
        PAIRWISE = "PULSAR-PAIRWISE-v1", Suite, "suite pairwise derivation";
        KDF_KEY = "PULSAR-KDF-KEY-v1", Blake3, "key compression of the BLAKE3 suite";
        ROUND_KEY = "RingtailRoundV2", KeyedInput, "message of the round-1 PRNG key";
    }
    /// Signing kernel, suites and lifecycle under the later names; same uses.
    corona {
        HC = "CORONA-HC-v1", Suite, "suite challenge digest";
        HU = "CORONA-HU-v1", Suite, "suite output stream";
        TRANSCRIPT = "CORONA-TRANSCRIPT-v1", Suite, "suite transcript hash";
        PRF = "CORONA-PRF-v1", Suite, "suite pseudorandom function";
        MAC = "CORONA-MAC-v1", Suite, "suite message authentication";
        PAIRWISE = "CORONA-PAIRWISE-v1", Suite, "suite pairwise derivation";
        KDF_KEY = "CORONA-KDF-KEY-v1", Blake3, "key compression of the BLAKE3 suite";
        ROUND_KEY = "CoronaRoundV2", KeyedInput, "message of the round-1 PRNG key";
        ACTIVATE = "QUASAR-CORONA-ACTIVATE-v1", Message, "activation message";
        DKG_COMMIT_DIGEST = "CORONA-DKG2-COMMIT-DIGEST-v1", Element, "DKG commitment digest";
        DKG_MATRIX_A = "corona.dkg2.A.v1", Blake3, "key of the first DKG matrix, whole input";
        DKG_MATRIX_B = "corona.dkg2.B.v1", Blake3, "key of the second DKG matrix, whole input";
        DKG_COMPLAINT = "corona.dkg2.complaint.v1", Message, "signed DKG complaint";
        DKG_COMPLAINT_HASH = "corona.dkg2.complaint-hash.v1", Element, "hash of a DKG complaint";
        RESHARE_MATRIX_A = "corona.reshare.A.v1", StreamInput,
            "key of the first reshare matrix, whole input of Hu";
        RESHARE_MATRIX_B = "corona.reshare.B.v1", StreamInput,
            "key of the second reshare matrix, whole input of Hu";
        RESHARE_COMMIT_DIGEST = "corona.reshare.commit-digest.v1", Element,
            "reshare commitment digest";
        RESHARE_COMPLAINT = "corona.reshare.complaint.v1", Message, "signed reshare complaint";
        RESHARE_COMPLAINT_HASH = "corona.reshare.complaint-hash.v1", Blake3,
            "hash of a reshare complaint, under every suite";
        RESHARE_VALIDATOR_SET = "corona.reshare.validator-set.v1", Element, "validator-set hash";
        RESHARE_EXCHANGE = "corona.reshare.exchange-transcript.v1", Element, "exchange hash";
        RESHARE_KEX_BIND = "corona.reshare.kex-bind.v1", Message, "signed ephemeral key";
        RESHARE_AUTH_KEX = "corona.reshare.auth-kex.v1", Element,
            "authenticated key-exchange output";
        RESHARE_PRF_SEED = "corona.reshare.prf-seed.v1", Label, "pairwise seed";
        RESHARE_MAC_KEY = "corona.reshare.mac-key.v1", Label, "pairwise MAC key";
    }
    /// Lens suites, signing, DKG and resharing.
    lens {
        HC = "LENS-HC-v1", Suite, "suite challenge digest";
        HU = "LENS-HU-v1", Suite, "suite output stream";
        TRANSCRIPT = "LENS-TRANSCRIPT-v1", Suite, "suite transcript hash";
        PRF = "LENS-PRF-v1", Suite, "suite pseudorandom function";
        MAC = "LENS-MAC-v1", Suite, "suite message authentication";
        PAIRWISE = "LENS-PAIRWISE-v1", Suite, "suite pairwise derivation";
        KDF_KEY = "LENS-KDF-KEY-v1", Blake3, "key compression of the BLAKE3 suite";
        ED25519_H_BASE = "lens.ed25519.h-base.v1", Sha512, "second generator on Ed25519";
        SECP256K1_H_BASE = "lens.secp256k1.h-base.v1", Sha256, "second generator on secp256k1";
        RISTRETTO255_H_BASE = "lens.ristretto255.h-base.v1", Sha512,
            "second generator on Ristretto255, whole input";
        ED25519_HASH_TO_SCALAR = "lens.ed25519.hash-to-scalar.v1", Sha512,
            "hash to scalar on Ed25519";
        RISTRETTO255_HASH_TO_SCALAR = "lens.ristretto255.hash-to-scalar.v1", Sha512,
            "hash to scalar on Ristretto255";
        SECP256K1_HASH_TO_SCALAR = "lens.secp256k1.hash-to-scalar.v1", Sha256,
            "hash to scalar on secp256k1, first half";
        SECP256K1_HASH_TO_SCALAR_SECOND = "lens.secp256k1.hash-to-scalar.v1.tag2", Sha256,
            "hash to scalar on secp256k1, second half";
        NONCE = "lens.sign.nonce-derive.v1", Blake3, "nonce derivation";
        SIGN1 = "QUASAR-LENS-SIGN1-v1", Blake3,
            "binding factor, for its preimage digest and again for the factor";
        SIGN2 = "QUASAR-LENS-SIGN2-v1", Blake3, "challenge";
        ACTIVATE = "QUASAR-LENS-ACTIVATE-v1", Message, "activation message";
        RESHARE_COMMIT_DIGEST = "lens.reshare.commit-digest.v1", Element,
            "reshare commitment digest";
        RESHARE_VALIDATOR_SET = "lens.reshare.validator-set.v1", Element, "validator-set hash";
        RESHARE_COMPLAINT = "lens.reshare.complaint.v1", Message, "signed reshare complaint";
        RESHARE_COMPLAINT_HASH = "lens.reshare.complaint-hash.v1", Blake3,
            "hash of a reshare complaint";
        RESHARE_KEX_BIND = "lens.reshare.kex-bind.v1", Message, "signed ephemeral key";
        RESHARE_AUTH_KEX = "lens.reshare.auth-kex.v1", Element, "authenticated key-exchange output";
        RESHARE_PRF_SEED = "lens.reshare.prf-seed.v1", Label, "pairwise seed";
        RESHARE_MAC_KEY = "lens.reshare.mac-key.v1", Label, "pairwise MAC key";
        RESHARE_EXCHANGE = "lens.reshare.exchange-transcript.v1", Element, "exchange hash";
        SHARE_ID = "HORIZON-LENS-SHARE-v1", Element, "identity of a key share in a session ledger";
        NONCE_ID = "HORIZON-LENS-NONCE-v1", Element,
            "identity of a pair of nonces in a session ledger";
        PACKAGE = "HORIZON-LENS-PACKAGE-v1", Element, "what a pair of nonces was spent on";
        ECHO = "HORIZON-LENS-ECHO-v1", Element, "digest of the first round of a ceremony";
        GROUP_CHECK = "HORIZON-LENS-GROUP-v1", Custom,
            "coefficients of the consistency check of a group key, cSHAKE256";
        FROST_ED25519 = "FROST-ED25519-SHA512-v1", Sha512, "RFC 9591 context string";
        FROST_RISTRETTO255 = "FROST-RISTRETTO255-SHA512-v1", Sha512, "RFC 9591 context string";
        FROST_SECP256K1 = "FROST-secp256k1-SHA256-v1", Sha256, "RFC 9591 context string";
    }
    /// Pulsar committee mode: signing, key generation, resharing.
    committee {
        ERA = "HORIZON-PULSAR-ERA-v1", Custom, "era context, TupleHash256";
        HAVE = "HORIZON-PULSAR-HAVE-v1", Custom, "root of a BatchHave, TupleHash256";
        SIGNING_SET = "HORIZON-PULSAR-T-v1", Custom, "digest of a signing set, TupleHash256";
        MATRIX = "HORIZON-PULSAR-D-v1", Custom, "digest of a NonceMatrix, ParallelHash256";
        NONCE = "HORIZON-PULSAR-NONCE-v1", Custom, "nonce seed, KMAC256";
        SHARE_KEY = "HORIZON-PULSAR-SHAREKEY-v1", Custom, "key of a share for hedging, cSHAKE256";
        NONCE_STREAM = "HORIZON-PULSAR-NSTREAM-v1", Custom, "nonce polynomial stream, cSHAKE256";
        SESSION_HASH = "HORIZON-PULSAR-H-v1", Custom, "session hash H, TupleHash256";
        U_SEED = "HORIZON-PULSAR-USEED-v1", Custom, "seed of u, TupleHash256";
        SESSION_CONTEXT = "HORIZON-PULSAR-SESS-v1", Custom,
            "session context of a Partial, TupleHash256";
        MASK = "HORIZON-PULSAR-MASK-v1", Custom, "pairwise mask key, KMAC256";
        MASK_POLY = "HORIZON-PULSAR-MASKPOLY-v1", Custom, "mask polynomial stream, cSHAKE256";
        U_STREAM = "HORIZON-PULSAR-U-v1", Custom, "stream of one polynomial of u, cSHAKE256";
        PLAN = "HORIZON-PULSAR-PLAN-v1", Custom, "rank of a member in a plan, TupleHash256";
        CEREMONY = "HORIZON-PULSAR-CEREMONY-v1", Custom, "ceremony context, TupleHash256";
        PUBLIC_MATRIX = "HORIZON-PULSAR-A-v1", Custom, "seed of the public matrix, TupleHash256";
        SEAL_CONTEXT = "HORIZON-PULSAR-SEALCTX-v1", Custom,
            "context of a sealed message, TupleHash256";
        SEAL = "HORIZON-PULSAR-SEAL-v1", Custom, "key of a sealed message, KMAC256";
        SEALED = "HORIZON-PULSAR-SEALED-v1", Custom, "digest of a sealed message, cSHAKE256";
        LEAF = "HORIZON-PULSAR-LEAF-v1", Custom, "dealing leaf, cSHAKE256";
        B_COMMIT = "HORIZON-PULSAR-B-v1", Custom, "commitment to a public-key part, TupleHash256";
        CHALLENGE_1 = "HORIZON-PULSAR-C1-v1", Custom, "first dealing challenge, TupleHash256";
        PROJECTION = "HORIZON-PULSAR-PI-v1", Custom, "rows of the projection matrix, cSHAKE256";
        CHALLENGE_2 = "HORIZON-PULSAR-C2-v1", Custom, "second dealing challenge, TupleHash256";
        CHALLENGE_2_STREAM = "HORIZON-PULSAR-G-v1", Custom,
            "weights from the second challenge, cSHAKE256";
        CHALLENGE_3 = "HORIZON-PULSAR-C3-v1", Custom, "reveal challenge, TupleHash256";
        CHALLENGE_3_STREAM = "HORIZON-PULSAR-R-v1", Custom,
            "weights from the reveal challenge, cSHAKE256";
        PAIR = "HORIZON-PULSAR-PAIR-v1", Custom, "pair seed, KMAC256";
        PAIR_CONFIRM = "HORIZON-PULSAR-PAIRCONF-v1", Custom, "pair seed confirmation, KMAC256";
        RESHARE_CHALLENGE = "HORIZON-PULSAR-RC2-v1", Custom, "resharing challenge, TupleHash256";
        RESHARE_STREAM = "HORIZON-PULSAR-RG-v1", Custom,
            "weights from the resharing challenge, cSHAKE256";
        TRANSACTION = "horizon-pulsar-v1", Context, "ML-DSA-65 context of ledger transactions";
        DEAL = "pulsar.committee.deal.v1", Element,
            "commitment digest of a dealer in the activation";
        FAULT = "pulsar.committee.fault.v1", Element,
            "hash of a judged complaint in the activation";
    }
    /// Pulsar lifecycle: DKG, resharing, activation.
    lifecycle {
        DKG_COMMIT_DIGEST = "PULSAR-DKG2-COMMIT-DIGEST-v1", Element, "DKG commitment digest";
        DKG_MATRIX_A = "pulsar.dkg2.A.v1", Blake3, "key of the first DKG matrix, whole input";
        DKG_MATRIX_B = "pulsar.dkg2.B.v1", Blake3, "key of the second DKG matrix, whole input";
        DKG_COMPLAINT = "pulsar.dkg2.complaint.v1", Message, "signed DKG complaint";
        DKG_COMPLAINT_HASH = "pulsar.dkg2.complaint-hash.v1", Element, "hash of a DKG complaint";
        RESHARE_MATRIX_A = "pulsar.reshare.A.v1", StreamInput,
            "key of the first reshare matrix, whole input of Hu";
        RESHARE_MATRIX_B = "pulsar.reshare.B.v1", StreamInput,
            "key of the second reshare matrix, whole input of Hu";
        RESHARE_COMMIT_DIGEST = "pulsar.reshare.commit-digest.v1", Element,
            "reshare commitment digest";
        RESHARE_COMPLAINT = "pulsar.reshare.complaint.v1", Message, "signed reshare complaint";
        RESHARE_COMPLAINT_HASH = "pulsar.reshare.complaint-hash.v1", Blake3,
            "hash of a reshare complaint, under every suite";
        RESHARE_VALIDATOR_SET = "pulsar.reshare.validator-set.v1", Element, "validator-set hash";
        RESHARE_EXCHANGE = "pulsar.reshare.exchange-transcript.v1", Element, "exchange hash";
        RESHARE_KEX_BIND = "pulsar.reshare.kex-bind.v1", Message, "signed ephemeral key";
        RESHARE_AUTH_KEX = "pulsar.reshare.auth-kex.v1", Element,
            "authenticated key-exchange output";
        RESHARE_PRF_SEED = "pulsar.reshare.prf-seed.v1", Label, "pairwise seed";
        RESHARE_MAC_KEY = "pulsar.reshare.mac-key.v1", Label, "pairwise MAC key";
        RESHARE_PRF_SEED_DIRECTED = "pulsar.reshare.prf-seed.v2", Label, "directed pairwise seed";
        DKG_SESSION = "pulsar.dkg2.session.v1", Element, "DKG session transcript";
        GROUP_KEY = "pulsar.group-key.v1", Element, "group-key hash";
        SUBCHAIN_ROOT = "pulsar.l2-nebula.v1", Element, "root of a co-validated chain";
        ACTIVATE = "QUASAR-PULSAR-ACTIVATE-v1", Message, "activation message";
        REANCHOR = "QUASAR-PULSAR-REANCHOR-v1", Message, "reanchor authorisation";
    }
    /// Warp messages, envelopes and their lanes.
    warp {
        PULSE = "WARP-PULSAR-ENVELOPE-v1", Message, "message signed by a Pulse";
        CERT_SET = "lux-warp-cross-chain-v1", Context, "ML-DSA-65 context of a CertSet signature";
        VALIDATOR_IDENTITY = "lux-validator-identity-v1", Context,
            "ML-DSA-65 context of an identity signature";
        GROTH16 = "lux-warp-mldsa-groth16-v1", Sha256, "public-input hash of the Groth16 artifact";
        REGISTRY_RECORD = "HORIZON-REGISTRY-RECORD-v1", Sha256,
            "registry record, its first bytes and those of its hash input";
        VALIDATOR_ROOT = "horizon-validator-root-v1", Sha256, "commitment to a validator set";
        NEBULA_LEAF = "HORIZON-NEBULA-LEAF-v1", Custom, "leaf of the tree of a block's messages";
        NEBULA_NODE = "HORIZON-NEBULA-NODE-v1", Custom, "node of the tree of a block's messages";
        ZAP_CORE = "LUX-WARP-ZAP-CORE-v1", Keccak256, "message digest of the ZAP encoding";
        ZAP_BEAM = "LUX-WARP-ZAP-BEAM-v1", Message, "ZAP Beam lane";
        ZAP_CORONA = "LUX-WARP-ZAP-CORONA-v1", Message, "ZAP lattice lane";
        ZAP_CERT_SET = "LUX-WARP-ZAP-MLDSA-v1", Message, "ZAP ML-DSA lane";
        ZAP_THRESHOLD_MLDSA = "LUX-QUASAR-PULSAR-MLDSA65-v1", Context,
            "context of threshold ML-DSA in ZAP";
        BEAM = "BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_", Dst, "BLS signatures";
        BEAM_POSSESSION = "BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_", Dst,
            "BLS proofs of possession";
    }
    /// The application ledger: genesis, blocks, transactions, state.
    ledger {
        GENESIS = "HORIZON-GENESIS-v1", Custom, "hash of a genesis, TupleHash256";
        VALIDATOR_POINTS = "HORIZON-VALIDATOR-POINTS-v1", Custom,
            "hash of a validator set with its points, TupleHash256";
        BLOCK = "HORIZON-BLOCK-v1", Custom, "digest of a block, TupleHash256";
        TRANSACTION = "HORIZON-LEDGER-TX-v1", Custom,
            "digest of a transaction, ParallelHash256";
        ACCOUNT = "HORIZON-ACCOUNT-v1", Custom, "identity of an account, TupleHash256";
        ACK_CHANNEL = "HORIZON-ACK-CHANNEL-v1", Custom,
            "channel of acknowledgements to one chain, TupleHash256";
        SUBJECT = "HORIZON-SUBJECT-v1", Custom,
            "identity of a message to be signed by a Pulse, cSHAKE256";
        STATE_ENTRY = "HORIZON-STATE-ENTRY-v1", Custom,
            "one entry of the state as lanes of a sum, cSHAKE256";
        STATE_ROOT = "HORIZON-STATE-ROOT-v1", Custom, "state root, TupleHash256";
        PULSE_LEDGER = "HORIZON-PULSE-LEDGER-v1", Custom,
            "digest of the signing ledger's snapshot, cSHAKE256";
        JOURNAL = "HORIZON-JOURNAL-v1", Custom, "chain over a journal's entries, TupleHash256";
        STORED = "HORIZON-STORED-RECORD-v1", Custom, "checksum of a stored record, cSHAKE256";
        SUBMIT = "horizon-submit-v1", Context, "ML-DSA-65 context of an account's transactions";
    }
    /// Consensus records.
    quasar {
        HORIZON_CERT = "QUASAR-HORIZON-CERT-v1", Message, "Horizon certificate";
        FINALITY = "QUASAR_FINALITY_V1", Keccak256, "consensus subject";
        BUNDLE = "QUASAR-PULSAR-BUNDLE-v1", Message, "Pulse over a bundle";
        BUNDLE_TEXT = "QUASAR-QB-v1:", Message, "bundle message in text form";
        CHECKPOINT_TEXT = "QUASAR-CHECKPOINT-v1:", Message, "checkpoint message in text form";
        ROUND_DIGEST = "QUASAR-ROUND-DIGEST", Custom, "round digest, TupleHash256";
        Q_BLOCK = "QUASAR-Q-BLOCK-V1", Custom, "Q-block digest, TupleHash256";
        Z_CHAIN_INPUTS = "ZCHAIN-PUBLIC-INPUTS", Custom,
            "public inputs of a Z-chain proof, TupleHash256";
    }
    /// What operators exchange before a network exists.
    operator {
        VALIDATOR = "HORIZON-VALIDATOR-v1", Custom,
            "digest of a validator's public statement, TupleHash256";
        VALIDATOR_PROOF = "horizon-validator-v1", Context,
            "ML-DSA-65 context of a validator's signatures under its statement";
    }
    /// Services of a validator.
    services {
        BOOT = "horizon-boot-v1", Context, "ML-DSA-65 context of a boot announcement";
        SIGNED = "HORIZON-SIGNED-v1", Custom,
            "digest of a signed message in the signing guard, TupleHash256";
        STREAM = "HORIZON-STREAM-v1", Custom, "random stream of one job, cSHAKE256";
        SUBMITTER = "HORIZON-SUBMITTER-v1", Custom,
            "rank of a member that submits a finished Pulse, TupleHash256";
    }
    /// Tags that the reference declares but never uses: not free for other uses.
    reserved {
        PULSAR_SIGN1 = "QUASAR-PULSAR-SIGN1-v1", Message,
            "declared by the reference, used by nothing";
        PULSAR_SIGN2 = "QUASAR-PULSAR-SIGN2-v1", Message,
            "declared by the reference, used by nothing";
        PULSAR_COMBINE = "QUASAR-PULSAR-COMBINE-v1", Message,
            "declared by the reference, used by nothing";
        PULSAR_REFRESH = "QUASAR-PULSAR-REFRESH-v1", Message,
            "declared by the reference, used by nothing";
        PULSAR_RESHARE = "QUASAR-PULSAR-RESHARE-v1", Message,
            "declared by the reference, used by nothing";
        PHOTON_VOTE = "QUASAR-PHOTON-VOTE-v1", Message,
            "declared by the reference, used by nothing";
        BEAM_BLS = "QUASAR-BEAM-BLS-v1", Message, "declared by the reference, used by nothing";
        MLDSA_ATTEST = "QUASAR-MLDSA-ATTEST-v1", Message,
            "declared by the reference, used by nothing";
        LENS_BUNDLE = "QUASAR-LENS-BUNDLE-v1", Message,
            "declared by the reference, used by nothing";
        LENS_AGGREGATE = "QUASAR-LENS-AGGREGATE-v1", Message,
            "declared by the reference, used by nothing";
        LENS_REFRESH = "QUASAR-LENS-REFRESH-v1", Message,
            "declared by the reference, used by nothing";
        LENS_RESHARE = "QUASAR-LENS-RESHARE-v1", Message,
            "declared by the reference, used by nothing";
        LENS_REANCHOR = "QUASAR-LENS-REANCHOR-v1", Message,
            "declared by the reference, used by nothing";
        PULSAR_RESHARE_TRANSCRIPT = "pulsar.reshare.transcript.v1", Element,
            "declared by the reference, used by nothing";
        PULSAR_RESHARE_LAMBDA_BIND = "pulsar.reshare.lambda-bind.v1", Element,
            "declared by the reference, used by nothing";
    }
}

/// Tags of the Pulsar suites.
pub const PULSAR_SUITE: SuiteTags = SuiteTags {
    hc: pulsar::HC,
    hu: pulsar::HU,
    transcript: pulsar::TRANSCRIPT,
    prf: pulsar::PRF,
    mac: pulsar::MAC,
    pairwise: pulsar::PAIRWISE,
    kdf_key: pulsar::KDF_KEY,
};

/// Tags of the Corona suites.
pub const CORONA_SUITE: SuiteTags = SuiteTags {
    hc: corona::HC,
    hu: corona::HU,
    transcript: corona::TRANSCRIPT,
    prf: corona::PRF,
    mac: corona::MAC,
    pairwise: corona::PAIRWISE,
    kdf_key: corona::KDF_KEY,
};

/// Tags of the Lens suites.
pub const LENS_SUITE: SuiteTags = SuiteTags {
    hc: lens::HC,
    hu: lens::HU,
    transcript: lens::TRANSCRIPT,
    prf: lens::PRF,
    mac: lens::MAC,
    pairwise: lens::PAIRWISE,
    kdf_key: lens::KDF_KEY,
};

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Prefix pairs that the reference's bytes force, with the reason why they are harmless.
    const ALLOWED: &[(&[u8], &[u8], &str)] = &[(
        lens::SECP256K1_HASH_TO_SCALAR,
        lens::SECP256K1_HASH_TO_SCALAR_SECOND,
        "the hashed data is always 64 bytes of BLAKE3 output, so the two inputs differ in length",
    )];

    #[test]
    fn no_two_tags_are_equal() {
        for (i, a) in TAGS.iter().enumerate() {
            assert!(TAGS[..i].iter().all(|b| a.bytes != b.bytes), "{a:?}");
        }
    }

    #[test]
    fn no_tag_is_a_prefix_of_another_unless_a_length_or_the_list_above_separates_them() {
        let mut found = Vec::new();
        for a in TAGS {
            for b in TAGS
                .iter()
                .filter(|b| b.bytes != a.bytes && b.bytes.starts_with(a.bytes))
            {
                assert!(
                    !a.framing.is_length_framed(),
                    "{a:?} of {b:?}: rename, it costs nothing"
                );
                found.push((a.bytes, b.bytes));
            }
        }
        let allowed: Vec<_> = ALLOWED.iter().map(|(a, b, _)| (*a, *b)).collect();
        assert_eq!(found, allowed);
    }

    #[test]
    fn tags_are_printable_ascii_without_spaces_and_fit_every_frame() {
        for tag in TAGS {
            assert!(tag.bytes.iter().all(u8::is_ascii_graphic), "{tag:?}");
            assert!((8..=64).contains(&tag.bytes.len()), "{tag:?}");
        }
    }
}
