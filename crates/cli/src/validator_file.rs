//! `validator.json`: what one validator tells the others before a network exists.
//!
//! The file names five public keys and an address. Its digest is signed by the link key, the
//! consensus key and the certificate key; the Beam key carries its own proof of possession. The
//! sealing key cannot sign: it is named by a statement that the three others signed.

use std::net::SocketAddr;
use std::path::Path;

use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use horizon_hash::domain::operator as domain;
use horizon_hash::tuplehash::tuple_hash256;
use horizon_lifecycle::seal::{self, SealingPublicKey};
use horizon_node::keys::ValidatorKeys;
use horizon_sig::mldsa::{self, ParameterSet};
use horizon_sig::traits::{Signer as _, Verifier as _};
use horizon_sig::{bls, ed25519};
use serde::{Deserialize, Serialize};

use crate::exit::{Code, Failure};
use crate::ids::bytes_from_hex;
use crate::key_files::{malformed, read_bounded};
use crate::output::id;

/// The public side of a validator; every key decodes and every signature verified.
#[derive(Clone, Debug)]
pub struct ValidatorFile {
    /// A name for people, 1 to 64 printable bytes.
    pub name: String,
    /// Where its links are reached.
    pub address: SocketAddr,
    /// Ed25519 key of its links.
    pub identity: [u8; 32],
    /// ML-DSA-65 key of its votes.
    pub consensus_key: Box<[u8; mldsa_len::KEY]>,
    /// Beam key.
    pub beam_key: [u8; 48],
    /// Proof of possession of the Beam key.
    pub beam_possession: [u8; 96],
    /// ML-DSA-65 key of its certificates.
    pub certset_key: Box<[u8; mldsa_len::KEY]>,
    /// Sealing key.
    pub sealing_key: SealingPublicKey,
}

/// Lengths of ML-DSA-65.
pub mod mldsa_len {
    /// Bytes of a public key.
    pub const KEY: usize = 1952;
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Json {
    format: String,
    name: String,
    address: SocketAddr,
    identity: String,
    consensus_key: String,
    beam_key: String,
    beam_possession: String,
    certset_key: String,
    sealing_key: String,
    proof: ProofJson,
}

/// Signatures of the statement's digest.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProofJson {
    link: String,
    consensus: String,
    certset: String,
}

impl ValidatorFile {
    /// The file of a validator, signed.
    ///
    /// # Errors
    /// [`Code::Usage`] for a name that no genesis takes; [`Code::Internal`] when a library refuses.
    pub fn sign(name: &str, address: SocketAddr, keys: &ValidatorKeys) -> Result<String, Failure> {
        if !is_name(name) || address.port() == 0 {
            let text = "a validator needs a name of 1 to 64 printable characters and a port";
            return Err(Failure::new(Code::Usage, text));
        }
        let internal =
            |error: horizon_sig::error::Error| Failure::new(Code::Internal, error.to_string());
        let unsigned = Statement {
            name,
            address: &address.to_string(),
            identity: keys.link.verifying_key().key_bytes(),
            consensus: keys.consensus.verifying_key().key_bytes(),
            beam: &keys.beam.verifying_key().to_bytes(),
            certset: keys.certset.verifying_key().key_bytes(),
            sealing: &keys.sealing.public().to_bytes(),
        };
        let digest = unsigned.digest();
        let mut rng = UnwrapErr(SysRng);
        let mut sign = |key: &mldsa::SigningKey| {
            let signature = key.sign(domain::VALIDATOR_PROOF, &digest, &mut rng);
            signature.map(|bytes| id(&bytes)).map_err(internal)
        };
        let proof = ProofJson {
            link: id(&keys.link.sign_message(&digest)),
            consensus: sign(&keys.consensus)?,
            certset: sign(&keys.certset)?,
        };
        let json = Json {
            format: FORMAT.to_owned(),
            name: name.to_owned(),
            address,
            identity: id(unsigned.identity),
            consensus_key: id(unsigned.consensus),
            beam_key: id(unsigned.beam),
            beam_possession: id(&keys.beam.prove_possession().to_bytes()),
            certset_key: id(unsigned.certset),
            sealing_key: id(unsigned.sealing),
            proof,
        };
        let text = serde_json::to_string_pretty(&json);
        text.map_err(|error| Failure::new(Code::Internal, error.to_string()))
    }

    /// Reads a file and checks every key and signature of it.
    ///
    /// # Errors
    /// [`Code::Configuration`]: unreadable, malformed; [`Code::Refused`]: a proof does not verify.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let bytes = read_bounded(path, FILE_LEN_MAX)?;
        let json: Json = serde_json::from_slice(&bytes).map_err(|error| malformed(path, &error))?;
        if json.format != FORMAT {
            return Err(malformed(path, &"not a validator file of this version"));
        }
        if !is_name(&json.name) || json.address.port() == 0 {
            return Err(malformed(path, &"name or address"));
        }
        let sealing = bytes_of(path, "sealing_key", &json.sealing_key)?;
        let sealing_key = SealingPublicKey::from_bytes(&sealing)
            .map_err(|error| malformed(path, &format!("sealing_key: {error}")))?;
        let file = Self {
            identity: array(path, "identity", &json.identity)?,
            consensus_key: Box::new(array(path, "consensus_key", &json.consensus_key)?),
            beam_key: array(path, "beam_key", &json.beam_key)?,
            beam_possession: array(path, "beam_possession", &json.beam_possession)?,
            certset_key: Box::new(array(path, "certset_key", &json.certset_key)?),
            sealing_key,
            name: json.name,
            address: json.address,
        };
        file.verify(path, &json.proof)?;
        Ok(file)
    }

    fn verify(&self, path: &Path, proof: &ProofJson) -> Result<(), Failure> {
        let digest = Statement {
            name: &self.name,
            address: &self.address.to_string(),
            identity: &self.identity,
            consensus: &self.consensus_key[..],
            beam: &self.beam_key,
            certset: &self.certset_key[..],
            sealing: &self.sealing_key.to_bytes(),
        }
        .digest();
        let refused = |what: &str| {
            let text = format!(
                "{}: the proof of the {what} key does not verify",
                path.display()
            );
            Failure::new(Code::Refused, text)
        };
        let link = ed25519::VerifyingKey::from_bytes(&self.identity);
        let signature = bytes_of(path, "proof.link", &proof.link)?;
        link.and_then(|key| key.verify(b"", &digest, &signature).map(drop))
            .map_err(|_| refused("link"))?;
        let lanes = [
            ("consensus", &self.consensus_key, &proof.consensus),
            ("certset", &self.certset_key, &proof.certset),
        ];
        for (what, key, signature) in lanes {
            let signature = bytes_of(path, "proof", signature)?;
            mldsa::VerifyingKey::from_bytes(ParameterSet::MlDsa65, &key[..])
                .and_then(|key| {
                    key.verify(domain::VALIDATOR_PROOF, &digest, &signature)
                        .map(drop)
                })
                .map_err(|_| refused(what))?;
        }
        let beam = bls::VerifyingKey::from_bytes(&self.beam_key);
        let possession = bls::PossessionProof::from_bytes(&self.beam_possession);
        beam.and_then(|key| key.verify_possession(&possession?).map(drop))
            .map_err(|_| refused("beam"))
    }
}

/// What is hashed and signed.
struct Statement<'a> {
    name: &'a str,
    address: &'a str,
    identity: &'a [u8],
    consensus: &'a [u8],
    beam: &'a [u8],
    certset: &'a [u8],
    sealing: &'a [u8; seal::PUBLIC_LEN],
}

impl Statement<'_> {
    fn digest(&self) -> [u8; 64] {
        let mut out = [0; 64];
        let elements: [&[u8]; 7] = [
            self.name.as_bytes(),
            self.address.as_bytes(),
            self.identity,
            self.consensus,
            self.beam,
            self.certset,
            self.sealing,
        ];
        tuple_hash256(domain::VALIDATOR, &elements, &mut out);
        out
    }
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

fn bytes_of(path: &Path, field: &str, text: &str) -> Result<Vec<u8>, Failure> {
    bytes_from_hex(text).map_err(|reason| malformed(path, &format!("{field}: {reason}")))
}

fn array<const N: usize>(path: &Path, field: &str, text: &str) -> Result<[u8; N], Failure> {
    let bytes = bytes_of(path, field, text)?;
    let wrong = |_| malformed(path, &format!("{field}: {N} bytes expected"));
    bytes.try_into().map_err(wrong)
}

/// Name of the public file in a validator's folder.
pub const VALIDATOR_FILE: &str = "validator.json";
const FORMAT: &str = "horizon-validator-v1";
const FILE_LEN_MAX: u64 = 64 << 10;
