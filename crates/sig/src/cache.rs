//! A bounded memory of signatures that verified.
//!
//! It remembers good signatures only, so nobody can fill it without owning a key: bad signatures
//! are verified each time and leave no trace but a counter. An entry is 32 bytes of a keyed hash
//! over the complete input, so a hit says that exactly this scheme, scope, context, key, message
//! and signature verified before. The hash key is random per cache: which inputs share a bucket
//! cannot be computed from outside.
//!
//! The cache remembers the outcome of a pure function. Weights, quorums, replay and registry
//! decisions must not go through it; put the hash of the registry record into the scope, and a new
//! record starts with nothing remembered.
//!
//! A hit is reported as [`Origin::Cached`](crate::traits::Origin::Cached) and is not a
//! verification time.

use core::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use self::table::{Digest, Table};
use crate::{
    algorithm::Algorithm,
    error::{BadSigner, BadSigners, Error, Field, Misuse, Rejected},
    mldsa::{self, Attestation},
    traits::{SetVerified, Verified, Verifier, check_context_len},
};

mod table;

/// Remembers verified signatures. Shared by reference between threads.
pub struct VerifiedCache {
    key: Zeroizing<[u8; blake3::KEY_LEN]>,
    shards: Box<[Mutex<Shard>]>,
    input_len_max: usize,
}

/// One lock's worth of the cache.
struct Shard {
    table: Table,
    stats: Stats,
}

impl VerifiedCache {
    /// Makes an empty cache with a fresh hash key.
    ///
    /// # Errors
    /// [`Misuse::CacheTooSmall`] when the limits leave room for less than one bucket of
    /// [`BUCKET_LEN`] entries.
    pub fn new<R: CryptoRng + ?Sized>(limits: Limits, rng: &mut R) -> Result<Self, Error> {
        let bucket_count = limits.bucket_count();
        if bucket_count == 0 {
            return Err(Misuse::CacheTooSmall.into());
        }
        let shard_count = SHARD_COUNT_MAX.min(bucket_count);
        let mut key = Zeroizing::new([0; blake3::KEY_LEN]);
        rng.fill_bytes(key.as_mut_slice());
        let shards = (0..shard_count)
            .map(|_| {
                let table = Table::new(bucket_count / shard_count);
                Mutex::new(Shard {
                    table,
                    stats: Stats::default(),
                })
            })
            .collect();
        Ok(Self {
            key,
            shards,
            input_len_max: limits.input_len_max,
        })
    }

    /// Forgets everything that was remembered. Counters go on.
    pub fn clear(&self) {
        for shard in &self.shards {
            lock(shard).table.clear();
        }
    }

    /// Verifies a signature, or remembers that it verified before.
    ///
    /// `scope` separates uses that must not share results, such as the hash of the registry
    /// record that the key was taken from. Call it only for signers that are admissible at all.
    ///
    /// Inputs above the length limit are verified without the cache.
    ///
    /// # Errors
    /// As [`Verifier::verify`].
    pub fn verify<V: Verifier + ?Sized>(
        &self,
        scope: &[u8],
        key: &V,
        context: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<Verified, Error> {
        let algorithm = key.algorithm();
        let expected = algorithm.signature_len();
        if signature.len() != expected {
            return Err(Error::length(
                algorithm,
                Field::Signature,
                signature.len(),
                expected,
            ));
        }
        let key_bytes = key.key_bytes();
        let input = Input {
            algorithm,
            scope,
            context,
            key: key_bytes,
            message,
            signature,
        };
        let Some(digest) = self.digest(&input) else {
            return key.verify(context, message, signature);
        };
        if self.lookup(&digest) {
            return Ok(Verified::cached(algorithm));
        }
        match key.verify(context, message, signature) {
            Ok(verified) => {
                self.insert(&digest);
                Ok(verified)
            }
            Err(error) => {
                self.count_refusal(&digest);
                Err(error)
            }
        }
    }

    /// [`mldsa::verify_set`] for the signers that are not remembered.
    ///
    /// # Errors
    /// As [`mldsa::verify_set`], with indices into `signers`.
    pub fn verify_set(
        &self,
        scope: &[u8],
        message: &[u8],
        context: &[u8],
        signers: &[Attestation<'_>],
    ) -> Result<SetVerified, Error> {
        self.verify_set_by(scope, message, context, signers, mldsa::verify_set)
    }

    /// [`mldsa::par_verify_set`] for the signers that are not remembered.
    ///
    /// # Errors
    /// As [`mldsa::verify_set`], with indices into `signers`.
    #[cfg(feature = "rayon")]
    pub fn par_verify_set(
        &self,
        scope: &[u8],
        message: &[u8],
        context: &[u8],
        signers: &[Attestation<'_>],
    ) -> Result<SetVerified, Error> {
        self.verify_set_by(scope, message, context, signers, mldsa::par_verify_set)
    }

    /// What happened so far, summed over all shards.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut total = Stats::default();
        for shard in &self.shards {
            let shard = lock(shard);
            total.add(&shard.stats, shard.table.len());
        }
        total
    }

    /// Entries that fit; never above [`Limits::entries_max`].
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.shards
            .iter()
            .map(|shard| lock(shard).table.capacity())
            .sum()
    }

    fn verify_set_by(
        &self,
        scope: &[u8],
        message: &[u8],
        context: &[u8],
        signers: &[Attestation<'_>],
        verify: impl FnOnce(&[u8], &[u8], &[Attestation<'_>]) -> Result<SetVerified, Error>,
    ) -> Result<SetVerified, Error> {
        check_context_len(context)?;
        let algorithm = mldsa::check_set(signers)?;
        let mut misses = Vec::new();
        let mut missing = Vec::new();
        for (index, entry) in signers.iter().enumerate() {
            let Attestation { key, signature } = *entry;
            let input = Input {
                algorithm,
                scope,
                context,
                key: key.key_bytes(),
                message,
                signature,
            };
            // A wrong length is for the verifier to refuse; it is not worth a hash.
            let whole = signature.len() == algorithm.signature_len();
            let digest = if whole { self.digest(&input) } else { None };
            if !digest.as_ref().is_some_and(|digest| self.lookup(digest)) {
                misses.push(*entry);
                missing.push((index, digest));
            }
        }
        let cached_count = signers.len() - misses.len();
        let bad = if misses.is_empty() {
            None
        } else {
            bad_of(verify(message, context, &misses))?
        };
        let is_bad = |position| bad.as_ref().is_some_and(|bad| bad.contains(position));
        for (position, (_, digest)) in missing.iter().enumerate() {
            let Some(digest) = digest else { continue };
            if is_bad(position) {
                self.count_refusal(digest)
            } else {
                self.insert(digest)
            }
        }
        let Some(bad) = bad else {
            return Ok(SetVerified::new(algorithm, signers.len(), cached_count));
        };
        let entries = bad.entries().iter().filter_map(|entry| {
            let (index, _) = missing.get(entry.index)?;
            Some(BadSigner {
                index: *index,
                reason: entry.reason,
            })
        });
        let error = BadSigners::new(entries.collect()).map(Rejected::Signers);
        Err(error.unwrap_or(Rejected::Equation { algorithm }).into())
    }

    /// The name of an input; `None` when it is too long to be worth remembering.
    fn digest(&self, input: &Input<'_>) -> Option<Digest> {
        let parts = input.parts();
        let total = parts
            .iter()
            .try_fold(0usize, |sum, part| sum.checked_add(part.len()))?;
        if total > self.input_len_max {
            return None;
        }
        // All lengths first, at fixed positions: no two different inputs give the same bytes. One
        // buffer, because hashing it in one call fills the hash's lanes: a third of the time.
        let len = 8 * PART_COUNT + total;
        // Zeros behind it: whole lanes are hashed in one pass, odd chunks one by one. The lengths in
        // front say where the input ends.
        let padded = match len {
            HASH_CHUNK_LEN..PADDED_LEN_MAX => len.next_power_of_two(),
            _ => len,
        };
        let mut framed = Vec::with_capacity(padded);
        for part in &parts {
            framed.extend_from_slice(&u64::try_from(part.len()).ok()?.to_le_bytes());
        }
        for part in parts {
            framed.extend_from_slice(part);
        }
        framed.resize(padded, 0);
        Some(Digest(*blake3::keyed_hash(&self.key, &framed).as_bytes()))
    }

    fn lookup(&self, digest: &Digest) -> bool {
        let mut shard = self.shard(digest);
        let found = shard.table.touch(digest);
        let counter = if found {
            &mut shard.stats.hits
        } else {
            &mut shard.stats.misses
        };
        *counter += 1;
        found
    }

    fn insert(&self, digest: &Digest) {
        let mut shard = self.shard(digest);
        match shard.table.insert(digest) {
            table::Inserted::AlreadyThere => {}
            table::Inserted::IntoFree => shard.stats.inserts += 1,
            table::Inserted::InPlaceOfAnother => {
                shard.stats.inserts += 1;
                shard.stats.evictions += 1;
            }
        }
    }

    fn count_refusal(&self, digest: &Digest) {
        self.shard(digest).stats.refusals += 1;
    }

    fn shard(&self, digest: &Digest) -> MutexGuard<'_, Shard> {
        // `shards` is never empty, and the remainder is below its length.
        let index = digest.word(0) % self.shards.len() as u64;
        lock(&self.shards[index as usize])
    }
}

impl fmt::Debug for VerifiedCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifiedCache")
            .field("capacity", &self.capacity())
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// How large a cache may become. The smaller of the first two limits counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most entries.
    pub entries_max: usize,
    /// Most bytes of memory for entries.
    pub bytes_max: usize,
    /// Longest input, bytes, of scope, context, key, message and signature together, that is
    /// hashed. Hashing is what a hit costs, about 1 us for 5 KiB.
    pub input_len_max: usize,
}

impl Limits {
    const fn bucket_count(&self) -> usize {
        let by_entries = self.entries_max / BUCKET_LEN;
        let by_bytes = self.bytes_max / table::BUCKET_BYTES;
        if by_entries < by_bytes {
            by_entries
        } else {
            by_bytes
        }
    }
}

impl Default for Limits {
    /// 65,536 entries in about 2 MiB: 21 signers' lanes of 1,500 messages.
    fn default() -> Self {
        Self {
            entries_max: 1 << 16,
            bytes_max: 4 << 20,
            input_len_max: 64 << 10,
        }
    }
}

/// Counters since the cache was made, and the present number of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Lookups that found their input.
    pub hits: u64,
    /// Lookups that did not.
    pub misses: u64,
    /// Entries written after a successful verification.
    pub inserts: u64,
    /// Entries that made room for another.
    pub evictions: u64,
    /// Misses whose verification failed, which changed nothing else.
    pub refusals: u64,
    /// Entries held now.
    pub entries: usize,
}

impl Stats {
    const fn add(&mut self, other: &Self, entries: usize) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.inserts += other.inserts;
        self.evictions += other.evictions;
        self.refusals += other.refusals;
        self.entries += entries;
    }
}

/// Everything that a verdict depends on.
struct Input<'a> {
    algorithm: Algorithm,
    scope: &'a [u8],
    context: &'a [u8],
    key: &'a [u8],
    message: &'a [u8],
    signature: &'a [u8],
}

impl<'a> Input<'a> {
    const fn parts(&self) -> [&'a [u8]; PART_COUNT] {
        [
            self.algorithm.name().as_bytes(),
            self.scope,
            self.context,
            self.key,
            self.message,
            self.signature,
        ]
    }
}

/// Separates "some signatures are bad" from errors about the set.
fn bad_of(outcome: Result<SetVerified, Error>) -> Result<Option<BadSigners>, Error> {
    match outcome {
        Ok(_) => Ok(None),
        Err(Error::Rejected(Rejected::Signers(bad))) => Ok(Some(bad)),
        Err(error) => Err(error),
    }
}

/// Locks a shard. No code panics while holding one, and a shard is valid between any two steps.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Entries of one bucket: an entry can only be displaced by another one of its bucket.
pub const BUCKET_LEN: usize = table::BUCKET_LEN;

/// What the hash treats as one leaf, bytes.
const HASH_CHUNK_LEN: usize = 1024;

/// Above this padding costs more than it saves.
const PADDED_LEN_MAX: usize = 16 * HASH_CHUNK_LEN;

const PART_COUNT: usize = 6;
const SHARD_COUNT_MAX: usize = 16;
