//! The hash suites that an era can pin: eight operations, fixed by the suite identifier.
//!
//! A SHA3 suite uses cSHAKE256, TupleHash256 and KMAC256 with the tags as customisation strings. A
//! BLAKE3 suite puts the tag in front of the input. Suites of one family differ in their tags only.
//!
//! # Security
//! The suite is an explicit value carried by the era, never a global. Compare tags made by
//! [`Suite::mac`] in constant time. In a BLAKE3 suite a shorter output is a prefix of a longer one
//! and a key that is not 32 bytes long is compressed first; give 32-byte keys.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Error;
use crate::domain;
use crate::encode::string_head;
use crate::kmac::{self, KmacJob, kmac256};
use crate::sponge::{self, Cshake256, XofReader};
use crate::tuplehash::{TupleHash256, tuple_hash256};

/// A hash suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Suite {
    /// `Pulsar-SHA3`, the default.
    PulsarSha3,
    /// `Pulsar-BLAKE3`, for replaying old bytes.
    PulsarBlake3,
    /// `Corona-SHA3`: Pulsar-SHA3 under the later tag names.
    CoronaSha3,
    /// `Corona-BLAKE3`: Pulsar-BLAKE3 under the later tag names.
    CoronaBlake3,
    /// `Lens-SHA3`, the default of the Lens products.
    LensSha3,
    /// `Lens-BLAKE3`, for replaying old bytes.
    LensBlake3,
}

/// Who derives which value for whom; the context of [`Suite::derive_pairwise`].
///
/// The derived value is the same for `(i, j)` and `(j, i)`: right for MAC keys, wrong for mask
/// seeds.
#[derive(Clone, Copy, Debug)]
pub struct Pairwise<'a> {
    /// Chain identifier, any bytes shorter than 4 GiB.
    pub chain_id: &'a [u8],
    /// Group identifier, any bytes shorter than 4 GiB.
    pub group_id: &'a [u8],
    /// Era number.
    pub era_id: u64,
    /// Generation number.
    pub generation: u64,
    /// 0-based position of one party.
    pub i: u32,
    /// 0-based position of the other party.
    pub j: u32,
}

/// The tags of one suite: customisation strings of the SHA3 family, input prefixes of the BLAKE3
/// one.
#[derive(Clone, Copy, Debug)]
pub struct SuiteTags {
    /// Challenge digest.
    pub hc: &'static [u8],
    /// Output stream.
    pub hu: &'static [u8],
    /// Transcript hash.
    pub transcript: &'static [u8],
    /// Pseudorandom function.
    pub prf: &'static [u8],
    /// Message authentication.
    pub mac: &'static [u8],
    /// Pairwise derivation.
    pub pairwise: &'static [u8],
    /// Key compression (BLAKE3 family only).
    pub kdf_key: &'static [u8],
}

impl Suite {
    /// Every suite.
    pub const ALL: [Self; 6] = [
        Self::PulsarSha3,
        Self::PulsarBlake3,
        Self::CoronaSha3,
        Self::CoronaBlake3,
        Self::LensSha3,
        Self::LensBlake3,
    ];

    /// The identifier that eras carry, ASCII.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::PulsarSha3 => "Pulsar-SHA3",
            Self::PulsarBlake3 => "Pulsar-BLAKE3",
            Self::CoronaSha3 => "Corona-SHA3",
            Self::CoronaBlake3 => "Corona-BLAKE3",
            Self::LensSha3 => "Lens-SHA3",
            Self::LensBlake3 => "Lens-BLAKE3",
        }
    }

    /// The suite with this identifier.
    #[must_use]
    pub fn from_id(id: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|suite| suite.id().as_bytes() == id)
    }

    /// The tags of this suite.
    #[must_use]
    pub const fn tags(self) -> &'static SuiteTags {
        match self {
            Self::PulsarSha3 | Self::PulsarBlake3 => &domain::PULSAR_SUITE,
            Self::CoronaSha3 | Self::CoronaBlake3 => &domain::CORONA_SUITE,
            Self::LensSha3 | Self::LensBlake3 => &domain::LENS_SUITE,
        }
    }

    /// `Hc`: 32-byte digest of the concatenated `parts`.
    #[must_use]
    pub fn hc(self, parts: &[&[u8]]) -> [u8; 32] {
        let mut out = [0u8; 32];
        let tag = self.tags().hc;
        match self.family() {
            Family::Sha3 => sponge::cshake256(tag, parts, &mut out),
            Family::Blake3 => blake3_xof(blake3::Hasher::new(), tag, parts, &mut out),
        }
        out
    }

    /// `Hu`: fills `out` with the stream over the concatenated `parts`.
    pub fn hu(self, parts: &[&[u8]], out: &mut [u8]) {
        let mut hash = HuHasher::new(self);
        parts.iter().for_each(|part| hash.update(part));
        hash.finalize_into(out);
    }

    /// `TranscriptHash`: binds an ordered list of byte strings.
    ///
    /// In a BLAKE3 suite a part of 2^32 - 1 bytes or more is announced by `ff ff ff ff` and a
    /// 64-bit length, where the reference truncates the length.
    #[must_use]
    pub fn transcript_hash(self, parts: &[&[u8]]) -> [u8; 32] {
        let mut out = [0u8; 32];
        let tag = self.tags().transcript;
        match self.family() {
            Family::Sha3 => tuple_hash256(tag, parts, &mut out),
            Family::Blake3 => {
                let mut hash = blake3::Hasher::new();
                hash.update(tag);
                for part in parts {
                    blake3_length(&mut hash, part.len() as u64);
                    hash.update(part);
                }
                out = *hash.finalize().as_bytes();
            }
        }
        out
    }

    /// `PRF`: fills `out` under `key` (any length) over the concatenated `parts`.
    pub fn prf(self, key: &[u8], parts: &[&[u8]], out: &mut [u8]) {
        self.keyed(self.tags().prf, key, parts, out);
    }

    /// `MAC`: fills `out` under `key` (any length) over the concatenated `parts`.
    pub fn mac(self, key: &[u8], parts: &[&[u8]], out: &mut [u8]) {
        self.keyed(self.tags().mac, key, parts, out);
    }

    /// 32-byte [`prf`](Self::prf) outputs of many jobs; in lanes for a SHA3 suite.
    #[must_use]
    pub fn prf_batch(self, jobs: &[KmacJob<'_>]) -> Vec<[u8; 32]> {
        self.keyed_batch(self.tags().prf, jobs)
    }

    /// 32-byte [`mac`](Self::mac) tags of many jobs; in lanes for a SHA3 suite.
    #[must_use]
    pub fn mac_batch(self, jobs: &[KmacJob<'_>]) -> Vec<[u8; 32]> {
        self.keyed_batch(self.tags().mac, jobs)
    }

    /// `DerivePairwise`: fills `out` from the key-exchange output `kex` of two parties.
    pub fn derive_pairwise(self, kex: &[u8], context: &Pairwise<'_>, out: &mut [u8]) {
        self.pairwise(kex, &[context.chain_id], context, out);
    }

    /// `KDFOutput`: [`derive_pairwise`](Self::derive_pairwise) for chain identifier `label "|"
    /// chain`.
    pub fn kdf_output(self, label: &[u8], kex: &[u8], context: &Pairwise<'_>, out: &mut [u8]) {
        self.pairwise(kex, &[label, b"|", context.chain_id], context, out);
    }

    fn pairwise(self, kex: &[u8], chain: &[&[u8]], context: &Pairwise<'_>, out: &mut [u8]) {
        let tag = self.tags().pairwise;
        let chain_len: usize = chain.iter().map(|part| part.len()).sum();
        let (era, generation) = (
            context.era_id.to_be_bytes(),
            context.generation.to_be_bytes(),
        );
        let low = context.i.min(context.j).to_be_bytes();
        let high = context.i.max(context.j).to_be_bytes();
        match self.family() {
            Family::Sha3 => {
                let mut mac = kmac::Kmac256::new(kex, tag);
                mac.update(string_head(chain_len as u64).as_slice());
                chain.iter().for_each(|part| mac.update(part));
                for part in [context.group_id, &era, &generation, &low, &high] {
                    mac.update(string_head(part.len() as u64).as_slice());
                    mac.update(part);
                }
                mac.finalize_into(out);
            }
            Family::Blake3 => {
                let mut hash = self.blake3_keyed(kex);
                hash.update(tag);
                blake3_length(&mut hash, chain_len as u64);
                chain.iter().for_each(|part| {
                    hash.update(part);
                });
                blake3_length(&mut hash, context.group_id.len() as u64);
                let rest: [&[u8]; 5] = [context.group_id, &era, &generation, &low, &high];
                blake3_xof(hash, b"", &rest, out);
            }
        }
    }

    fn keyed(self, tag: &[u8], key: &[u8], parts: &[&[u8]], out: &mut [u8]) {
        match self.family() {
            Family::Sha3 => kmac256(key, tag, parts, out),
            Family::Blake3 => blake3_xof(self.blake3_keyed(key), tag, parts, out),
        }
    }

    fn keyed_batch(self, tag: &[u8], jobs: &[KmacJob<'_>]) -> Vec<[u8; 32]> {
        match self.family() {
            Family::Sha3 => kmac::kmac256_batch(tag, jobs),
            Family::Blake3 => jobs
                .iter()
                .map(|job| {
                    let mut out = [0u8; 32];
                    self.keyed(tag, job.key, job.parts, &mut out);
                    out
                })
                .collect(),
        }
    }

    /// Keyed BLAKE3 under `key`, compressed to 32 bytes if it has another length.
    fn blake3_keyed(self, key: &[u8]) -> blake3::Hasher {
        if let Ok(key) = key.try_into() {
            return blake3::Hasher::new_keyed(key);
        }
        let mut compressed = [0u8; 32];
        blake3_xof(
            blake3::Hasher::new(),
            self.tags().kdf_key,
            &[key],
            &mut compressed,
        );
        let hash = blake3::Hasher::new_keyed(&compressed);
        compressed.zeroize();
        hash
    }

    const fn family(self) -> Family {
        match self {
            Self::PulsarSha3 | Self::CoronaSha3 | Self::LensSha3 => Family::Sha3,
            Self::PulsarBlake3 | Self::CoronaBlake3 | Self::LensBlake3 => Family::Blake3,
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// `Hu` over a message that arrives in pieces. Clone it to reuse the work on a common prefix.
#[derive(Clone)]
pub struct HuHasher(HuState);

#[derive(Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "the large one is the default suite"
)]
enum HuState {
    Sha3(Cshake256),
    Blake3(Blake3State),
}

impl HuHasher {
    /// An empty message under `suite`.
    #[must_use]
    pub fn new(suite: Suite) -> Self {
        let tag = suite.tags().hu;
        Self(match suite.family() {
            Family::Sha3 => HuState::Sha3(Cshake256::new(b"", tag)),
            Family::Blake3 => HuState::Blake3(Blake3State::new(tag)),
        })
    }

    /// Appends `data` to the message.
    pub fn update(&mut self, data: &[u8]) {
        match &mut self.0 {
            HuState::Sha3(hash) => hash.update(data),
            HuState::Blake3(state) => {
                state.hasher.update(data);
            }
        }
    }

    /// The first 32 bytes of the stream for each of many endings of this message, an ending given in
    /// parts; in lanes for a SHA3 suite.
    #[must_use]
    pub fn finalize_batch(&self, endings: &[&[&[u8]]]) -> Vec<[u8; 32]> {
        let mut out = alloc::vec![[0u8; 32]; endings.len()];
        match &self.0 {
            HuState::Sha3(hash) => hash.finalize_lanes(endings, &mut out),
            HuState::Blake3(state) => {
                for (ending, out) in endings.iter().zip(&mut out) {
                    let mut state = state.clone();
                    ending.iter().for_each(|part| {
                        state.hasher.update(part);
                    });
                    blake3_finish(&state.hasher, out);
                }
            }
        }
        out
    }

    /// Fills `out` with the first bytes of the output stream.
    pub fn finalize_into(self, out: &mut [u8]) {
        match self.0 {
            HuState::Sha3(hash) => {
                let mut reader: XofReader = hash.finalize();
                reader.read(out);
            }
            HuState::Blake3(state) => blake3_finish(&state.hasher, out),
        }
    }
}

/// `TranscriptHash` of one long element that arrives in pieces. Clone it after a common beginning.
#[derive(Clone)]
pub struct TranscriptHasher(TranscriptState);

#[derive(Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "the large one is the default suite"
)]
enum TranscriptState {
    Sha3(TupleHash256),
    Blake3 {
        state: Blake3State,
        missing: Option<u64>,
    },
}

impl TranscriptHasher {
    /// A list of one element of exactly `len` bytes under `suite`.
    #[must_use]
    pub fn new(suite: Suite, len: u64) -> Self {
        let tag = suite.tags().transcript;
        Self(match suite.family() {
            Family::Sha3 => {
                let mut hash = TupleHash256::new(tag);
                hash.begin_element(len);
                TranscriptState::Sha3(hash)
            }
            Family::Blake3 => {
                let mut state = Blake3State::new(tag);
                blake3_length(&mut state.hasher, len);
                TranscriptState::Blake3 {
                    state,
                    missing: Some(len),
                }
            }
        })
    }

    /// Appends `data` to the element.
    pub fn update(&mut self, data: &[u8]) {
        match &mut self.0 {
            TranscriptState::Sha3(hash) => hash.update(data),
            TranscriptState::Blake3 { state, missing } => {
                *missing = missing.and_then(|missing| missing.checked_sub(data.len() as u64));
                state.hasher.update(data);
            }
        }
    }

    /// The 32-byte transcript hash.
    ///
    /// # Errors
    /// [`Error::ElementLength`] when the element got more or fewer bytes than announced.
    pub fn finalize(self) -> Result<[u8; 32], Error> {
        let mut out = [0u8; 32];
        match self.0 {
            TranscriptState::Sha3(hash) => hash.finalize_into(&mut out)?,
            TranscriptState::Blake3 {
                state,
                missing: Some(0),
            } => {
                blake3_finish(&state.hasher, &mut out);
            }
            TranscriptState::Blake3 { .. } => return Err(Error::ElementLength),
        }
        Ok(out)
    }
}

sponge::redacted_debug!(HuHasher, TranscriptHasher);

/// The two constructions.
enum Family {
    Sha3,
    Blake3,
}

/// A BLAKE3 state that is wiped on drop. It takes 2 KB, so it lives on the heap.
#[derive(Clone)]
struct Blake3State {
    hasher: Box<blake3::Hasher>,
}

impl Blake3State {
    fn new(tag: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(tag);
        Self {
            hasher: Box::new(hasher),
        }
    }
}

impl Drop for Blake3State {
    fn drop(&mut self) {
        self.hasher.zeroize();
    }
}

/// Appends `tag` and `parts`, fills `out` from the output stream and wipes the state.
fn blake3_xof(mut hash: blake3::Hasher, tag: &[u8], parts: &[&[u8]], out: &mut [u8]) {
    hash.update(tag);
    parts.iter().for_each(|part| {
        hash.update(part);
    });
    blake3_finish(&hash, out);
    hash.zeroize();
}

fn blake3_finish(hash: &blake3::Hasher, out: &mut [u8]) {
    let mut reader = hash.finalize_xof();
    reader.fill(out);
    reader.zeroize();
}

/// `BE32(len)`, with an escape for lengths that do not fit.
fn blake3_length(hash: &mut blake3::Hasher, len: u64) {
    match u32::try_from(len) {
        Ok(short) if short != u32::MAX => hash.update(&short.to_be_bytes()),
        _ => hash
            .update(&u32::MAX.to_be_bytes())
            .update(&len.to_be_bytes()),
    };
}
