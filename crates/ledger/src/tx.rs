//! Transactions: bytes whose first two are version and kind.
//!
//! Kinds `01`, `03`, `05`, `06` and `07` are the signing committee's, exactly as
//! [`horizon_pulsar::committee::message`] lays them out. The others are this module's:
//!
//! | kind | name | layout after version and kind, big-endian |
//! |---|---|---|
//! | `20` | submit | key 1952, sequence 8, network 4, chain 32, channel 32, expiry 8, recipient (`u16` length), body (`u32` length), signature 3309 |
//! | `21` | deliver | version 2 envelope |
//! | `22` | retry | message id 32 |

use horizon_hash::domain::ledger as domain;
use horizon_hash::parallelhash::parallel_hash256;
use horizon_hash::tuplehash::tuple_hash256;
use horizon_sig::mldsa;
use horizon_warp::limits::{
    ENVELOPE_LEN_MAX, MLDSA65_KEY_LEN, MLDSA65_SIGNATURE_LEN, ROUTED_ADDRESS_LEN_MAX,
};
use rand_core::CryptoRng;

use crate::codec::{Reader, put_long, put_short};
use crate::error::Refusal;

/// What a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// One of the signing committee's.
    Pulse,
    /// Sends a message.
    Submit,
    /// Brings a message of another chain.
    Deliver,
    /// Tries a failed message again.
    Retry,
}

/// A decoded transaction of this module. Nothing is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transaction<'a> {
    /// One of the signing committee's, not decoded.
    Pulse(&'a [u8]),
    /// Sends a message.
    Submit(Submit<'a>),
    /// Brings the message inside these envelope bytes.
    Deliver(&'a [u8]),
    /// Tries the failed message with this id again.
    Retry(&'a [u8; 32]),
}

/// A message to be sent, signed by an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submit<'a> {
    /// What the account signs.
    pub call: Call<'a>,
    /// The account's ML-DSA-65 key.
    pub key: &'a [u8; MLDSA65_KEY_LEN],
    /// ML-DSA-65 signature over [`Call::signing_bytes`] under [`SUBMIT_CONTEXT`].
    pub signature: &'a [u8; MLDSA65_SIGNATURE_LEN],
}

/// What a message says and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Number among the account's transactions, from 0, without gaps.
    pub sequence: u64,
    /// Network of the destination.
    pub destination_network: u32,
    /// Chain of the destination.
    pub destination_chain: [u8; 32],
    /// The channel: first byte `00` for an unordered one, `01` for an ordered one.
    pub channel: [u8; 32],
    /// Last destination height at which the message may act;
    /// [`EXPIRY_NEVER`](horizon_warp::payload::EXPIRY_NEVER) for no limit.
    pub expiry_height: u64,
    /// Who acts on it there, 1 to 256 bytes.
    pub recipient: &'a [u8],
    /// What is said, at most [`BODY_LEN_MAX`] bytes.
    pub body: &'a [u8],
}

impl<'a> Transaction<'a> {
    /// Decodes a transaction of at most [`TRANSACTION_LEN_MAX`] bytes.
    ///
    /// # Errors
    /// [`Refusal::Malformed`].
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Refusal> {
        if bytes.len() > TRANSACTION_LEN_MAX {
            return Err(Refusal::Malformed { field: "length" });
        }
        let [VERSION, kind, rest @ ..] = bytes else {
            return Err(Refusal::Malformed { field: "version" });
        };
        match *kind {
            0x01 | 0x03 | 0x05 | 0x06 | 0x07 => Ok(Self::Pulse(bytes)),
            KIND_SUBMIT => Submit::decode(rest).map(Self::Submit),
            KIND_DELIVER if rest.is_empty() => Err(Refusal::Malformed { field: "envelope" }),
            KIND_DELIVER => Ok(Self::Deliver(rest)),
            KIND_RETRY => rest
                .try_into()
                .map(Self::Retry)
                .map_err(|_| Refusal::Malformed { field: "id" }),
            _ => Err(Refusal::Malformed { field: "kind" }),
        }
    }

    /// What it is.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Pulse(_) => Kind::Pulse,
            Self::Submit(_) => Kind::Submit,
            Self::Deliver(_) => Kind::Deliver,
            Self::Retry(_) => Kind::Retry,
        }
    }
}

impl<'a> Submit<'a> {
    fn decode(bytes: &'a [u8]) -> Result<Self, Refusal> {
        let mut input = Reader::new(bytes);
        let key = input.array("key")?;
        let call = Call {
            sequence: input.u64("sequence")?,
            destination_network: input.u32("destination_network")?,
            destination_chain: *input.array("destination_chain")?,
            channel: *input.array("channel")?,
            expiry_height: input.u64("expiry_height")?,
            recipient: input.short(ROUTED_ADDRESS_LEN_MAX, "recipient")?,
            body: input.long(BODY_LEN_MAX, "body")?,
        };
        if call.recipient.is_empty() {
            return Err(Refusal::Malformed { field: "recipient" });
        }
        let signature = input.array("signature")?;
        input.finish("trailing")?;
        Ok(Self {
            call,
            key,
            signature,
        })
    }

    /// The account: what stands as the sender in the message.
    #[must_use]
    pub fn account(&self) -> [u8; 32] {
        account(self.key)
    }
}

impl Call<'_> {
    /// What the account signs: the network and chain that take the transaction, then the call in
    /// the transaction's own layout.
    #[must_use]
    pub fn signing_bytes(&self, network_id: u32, chain_id: &[u8; 32]) -> Vec<u8> {
        let mut out = Vec::with_capacity(SUBMIT_FIXED_LEN.saturating_add(self.body.len()));
        out.extend_from_slice(&network_id.to_be_bytes());
        out.extend_from_slice(chain_id);
        self.put(&mut out);
        out
    }

    /// Signs the call for the chain `chain_id` of network `network_id`, and encodes the transaction.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] for a recipient or body outside its limits, [`Refusal::Signature`]
    /// when the key is not an ML-DSA-65 one or cannot sign.
    pub fn sign<R: CryptoRng + ?Sized>(
        &self,
        network_id: u32,
        chain_id: &[u8; 32],
        key: &mldsa::SigningKey,
        rng: &mut R,
    ) -> Result<Vec<u8>, Refusal> {
        use horizon_sig::traits::Verifier;

        if self.recipient.is_empty() || self.recipient.len() > ROUTED_ADDRESS_LEN_MAX {
            return Err(Refusal::Malformed { field: "recipient" });
        }
        if self.body.len() > BODY_LEN_MAX {
            return Err(Refusal::Malformed { field: "body" });
        }
        let key_bytes = key.verifying_key().key_bytes();
        if key_bytes.len() != MLDSA65_KEY_LEN {
            return Err(Refusal::Signature);
        }
        let message = self.signing_bytes(network_id, chain_id);
        let signature = key
            .sign_hedged(SUBMIT_CONTEXT, &message, rng)
            .map_err(|_| Refusal::Signature)?;
        let mut out = vec![VERSION, KIND_SUBMIT];
        out.extend_from_slice(key_bytes);
        self.put(&mut out);
        out.extend_from_slice(&signature);
        Ok(out)
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.destination_network.to_be_bytes());
        out.extend_from_slice(&self.destination_chain);
        out.extend_from_slice(&self.channel);
        out.extend_from_slice(&self.expiry_height.to_be_bytes());
        put_short(out, self.recipient);
        put_long(out, self.body);
    }
}

/// A transaction that delivers an envelope.
#[must_use]
pub fn deliver(envelope: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(envelope.len().saturating_add(2));
    out.extend_from_slice(&[VERSION, KIND_DELIVER]);
    out.extend_from_slice(envelope);
    out
}

/// A transaction that tries a failed message again.
#[must_use]
pub fn retry(id: &[u8; 32]) -> Vec<u8> {
    let mut out = vec![VERSION, KIND_RETRY];
    out.extend_from_slice(id);
    out
}

/// Digest of a transaction: its name in pools and blocks.
#[must_use]
pub fn digest(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    // Only a block length of zero is refused.
    let _ = parallel_hash256(HASH_BLOCK_LEN, domain::TRANSACTION, &[bytes], &mut out);
    out
}

/// The account of an ML-DSA-65 key.
#[must_use]
pub fn account(key: &[u8; MLDSA65_KEY_LEN]) -> [u8; 32] {
    let mut out = [0; 32];
    tuple_hash256(domain::ACCOUNT, &[key], &mut out);
    out
}

/// Version byte of every transaction.
pub const VERSION: u8 = 1;
/// Kind byte of a submit.
pub const KIND_SUBMIT: u8 = 0x20;
/// Kind byte of a deliver.
pub const KIND_DELIVER: u8 = 0x21;
/// Kind byte of a retry.
pub const KIND_RETRY: u8 = 0x22;
/// FIPS 204 context of an account's signature.
pub const SUBMIT_CONTEXT: &[u8] = domain::SUBMIT;
/// Longest body of a submit, bytes.
pub const BODY_LEN_MAX: usize = 32_768;
/// Longest transaction, bytes: an envelope with version and kind.
pub const TRANSACTION_LEN_MAX: usize = ENVELOPE_LEN_MAX + 2;
/// Bytes of what is signed, without body and with the longest recipient.
const SUBMIT_FIXED_LEN: usize = 4 + 32 + 8 + 4 + 32 + 32 + 8 + 2 + ROUTED_ADDRESS_LEN_MAX + 4;
/// Block length of the digest; long transactions hash in parallel lanes.
const HASH_BLOCK_LEN: usize = 8_192;
