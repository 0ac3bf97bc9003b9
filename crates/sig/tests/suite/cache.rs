//! The cache of verified signatures: what it remembers, what it never does, and its limits.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::{collections::HashSet, thread};

use horizon_sig::{
    algorithm::Algorithm,
    cache::{BUCKET_LEN, Limits, VerifiedCache},
    ed25519,
    error::{Error, Malformed, Misuse, Rejected},
    mldsa::{Attestation, ParameterSet, SigningKey},
    traits::{Origin, Signer as _, Verified, Verifier},
};
use horizon_testkit::rng::rng;

fn cache_of(entries_max: usize) -> VerifiedCache {
    let limits = Limits {
        entries_max,
        ..Limits::default()
    };
    VerifiedCache::new(limits, &mut rng(0xcac4e)).unwrap()
}

/// Accepts signatures whose first byte is 1 and counts how often it is asked.
struct Counting {
    key: Vec<u8>,
    calls: AtomicUsize,
    witness: Verified,
}

impl Counting {
    fn new(key: &[u8]) -> Self {
        // Only the crate can make a witness, so the stand-in borrows a genuine one.
        let signer = ed25519::SigningKey::from_seed(&[7; 32]).unwrap();
        let witness = signer
            .verifying_key()
            .verify(b"", b"", &signer.sign_message(b""))
            .expect("own signature");
        Self {
            key: key.to_vec(),
            calls: AtomicUsize::new(0),
            witness,
        }
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Verifier for Counting {
    fn algorithm(&self) -> Algorithm {
        Algorithm::Ed25519
    }

    fn key_bytes(&self) -> &[u8] {
        &self.key
    }

    fn verify(&self, _: &[u8], _: &[u8], signature: &[u8]) -> Result<Verified, Error> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if signature[0] == 1 {
            return Ok(self.witness);
        }
        Err(Error::Rejected(Rejected::Equation {
            algorithm: Algorithm::Ed25519,
        }))
    }
}

fn good(tail: u64) -> [u8; 64] {
    let mut signature = [1; 64];
    signature[56..].copy_from_slice(&tail.to_le_bytes());
    signature
}

#[test]
fn a_good_signature_is_verified_once_and_then_reported_as_cached() {
    let cache = cache_of(64);
    let mut rng = rng(1);
    let key = SigningKey::generate(ParameterSet::MlDsa65, &mut rng).unwrap();
    let signature = key.sign(b"ctx", b"m", &mut rng).unwrap();
    let verify = || cache.verify(b"scope", key.verifying_key(), b"ctx", b"m", &signature);
    assert_eq!(verify().unwrap().origin(), Origin::Fresh);
    assert_eq!(verify().unwrap().origin(), Origin::Cached);
    assert_eq!(verify().unwrap().algorithm(), Algorithm::MlDsa65);
    let stats = cache.stats();
    assert_eq!(
        (stats.hits, stats.misses, stats.inserts, stats.entries),
        (2, 1, 1, 1)
    );
    cache.clear();
    assert_eq!(verify().unwrap().origin(), Origin::Fresh);
}

#[test]
fn a_bad_signature_is_verified_every_time_and_leaves_nothing() {
    let cache = cache_of(64);
    let key = Counting::new(b"key");
    for round in 1..=5 {
        let verdict = cache.verify(b"", &key, b"", b"m", &[0; 64]);
        assert!(matches!(
            verdict,
            Err(Error::Rejected(Rejected::Equation { .. }))
        ));
        assert_eq!(key.calls(), round);
    }
    let stats = cache.stats();
    assert_eq!(
        (stats.misses, stats.refusals, stats.inserts, stats.entries),
        (5, 5, 0, 0)
    );
}

#[test]
fn each_part_of_the_input_separates_entries() {
    let cache = cache_of(1024);
    let key = Counting::new(b"key");
    let other_key = Counting::new(b"yek");
    let mut calls = 0;
    let mut fresh = |scope: &[u8], key: &Counting, context: &[u8], message: &[u8], tail: u64| {
        calls += 1;
        let witness = cache
            .verify(scope, key, context, message, &good(tail))
            .unwrap();
        assert_eq!(witness.origin(), Origin::Fresh, "call {calls}");
    };
    fresh(b"scope", &key, b"context", b"message", 0);
    fresh(b"Scope", &key, b"context", b"message", 0);
    fresh(b"scope", &other_key, b"context", b"message", 0);
    fresh(b"scope", &key, b"Context", b"message", 0);
    fresh(b"scope", &key, b"context", b"Message", 0);
    fresh(b"scope", &key, b"context", b"message", 1);
}

/// All ways to cut one string into scope, context, key and message: no two may meet.
#[test]
fn moving_bytes_between_neighbouring_parts_never_hits() {
    let cache = cache_of(1 << 14);
    let text = b"aaaaaaaaaa";
    let mut combinations = HashSet::new();
    for first in 0..=text.len() {
        for second in first..=text.len() {
            for third in second..=text.len() {
                let (scope, context) = (&text[..first], &text[first..second]);
                let (key, message) = (&text[second..third], &text[third..]);
                assert!(combinations.insert((scope.len(), context.len(), key.len())));
                let key = Counting::new(key);
                let witness = cache
                    .verify(scope, &key, context, message, &good(0))
                    .unwrap();
                assert_eq!(witness.origin(), Origin::Fresh);
            }
        }
    }
    assert_eq!(cache.stats().inserts, combinations.len() as u64);
}

#[test]
fn limits_hold_for_entries_and_for_bytes() {
    for (limits, most) in [
        (
            Limits {
                entries_max: 100,
                bytes_max: 1 << 20,
                ..Limits::default()
            },
            100,
        ),
        (
            Limits {
                entries_max: 1 << 20,
                bytes_max: 10_000,
                ..Limits::default()
            },
            10_000 / 32,
        ),
    ] {
        let cache = VerifiedCache::new(limits, &mut rng(2)).unwrap();
        assert!(
            cache.capacity() <= most && cache.capacity() >= most / 2,
            "{cache:?}"
        );
        let key = Counting::new(b"key");
        for tail in 0..5000 {
            assert!(cache.verify(b"", &key, b"", b"", &good(tail)).is_ok());
        }
        let stats = cache.stats();
        assert!(stats.entries <= cache.capacity());
        assert_eq!(stats.inserts, 5000);
        assert_eq!(stats.inserts - stats.evictions, stats.entries as u64);
    }
    let limits = Limits {
        entries_max: BUCKET_LEN - 1,
        ..Limits::default()
    };
    let refused = VerifiedCache::new(limits, &mut rng(2)).map(|_| ());
    assert_eq!(refused, Err(Error::Misuse(Misuse::CacheTooSmall)));
}

/// The attack of the reference: its cache of 256 entries forgets everything after 256 bad ones.
#[test]
fn q72_a_flood_of_bad_signatures_evicts_nothing() {
    let cache = cache_of(4096);
    let key = Counting::new(b"key");
    let hot: Vec<_> = (0..200).map(good).collect();
    for signature in &hot {
        assert!(cache.verify(b"", &key, b"", b"hot", signature).is_ok());
    }
    let before = cache.stats();
    for tail in 0..100_000u64 {
        let mut bad = good(tail);
        bad[0] = 0;
        assert!(cache.verify(b"", &key, b"", b"hot", &bad).is_err());
    }
    let after = cache.stats();
    assert_eq!(
        (after.entries, after.inserts, after.evictions),
        (before.entries, 200, 0)
    );
    assert_eq!(after.refusals, 100_000);
    for signature in &hot {
        let witness = cache.verify(b"", &key, b"", b"hot", signature).unwrap();
        assert_eq!(witness.origin(), Origin::Cached);
    }
}

/// A signer of our own who signs many messages once must not displace what is in use.
#[test]
fn entries_in_use_survive_a_stream_of_good_ones_used_once() {
    let cache = cache_of(4096);
    let key = Counting::new(b"key");
    let hot: Vec<_> = (0..200).map(good).collect();
    let use_hot = || {
        let origins = hot.iter().map(|signature| {
            cache
                .verify(b"", &key, b"", b"hot", signature)
                .unwrap()
                .origin()
        });
        origins.filter(|&origin| origin == Origin::Cached).count()
    };
    use_hot();
    for round in 0..50 {
        assert_eq!(use_hot(), 200, "round {round}");
        for tail in 0..1000 {
            let signature = good(1_000_000 + round * 1000 + tail);
            assert!(cache.verify(b"", &key, b"", b"once", &signature).is_ok());
        }
    }
}

#[test]
fn inputs_that_are_too_long_are_verified_without_the_cache() {
    let limits = Limits {
        input_len_max: 200,
        ..Limits::default()
    };
    let cache = VerifiedCache::new(limits, &mut rng(3)).unwrap();
    let key = Counting::new(b"key");
    for round in 1..=3 {
        let witness = cache.verify(b"", &key, b"", &[0; 1000], &good(0)).unwrap();
        assert_eq!((witness.origin(), key.calls()), (Origin::Fresh, round));
    }
    assert_eq!(cache.stats(), Default::default());
}

#[test]
fn a_signature_of_the_wrong_length_is_not_even_hashed() {
    let cache = cache_of(64);
    let key = Counting::new(b"key");
    let verdict = cache.verify(b"", &key, b"", b"m", &[1; 63]);
    assert!(matches!(
        verdict,
        Err(Error::Malformed(Malformed::Length { len: 63, .. }))
    ));
    assert_eq!((key.calls(), cache.stats().misses), (0, 0));
}

#[test]
fn sets_verify_only_what_is_not_remembered() {
    let cache = cache_of(256);
    let mut rng = rng(4);
    let keys: Vec<_> = (0..7)
        .map(|_| SigningKey::generate(ParameterSet::MlDsa65, &mut rng).unwrap())
        .collect();
    let mut signatures: Vec<_> = keys
        .iter()
        .map(|key| key.sign_hedged(b"c", b"m", &mut rng).unwrap())
        .collect();
    let set = |signatures: &'_ [Vec<u8>]| -> Vec<(usize, Vec<u8>)> {
        signatures.iter().cloned().enumerate().collect()
    };
    let verify = |entries: &[(usize, Vec<u8>)], parallel: bool| {
        let set: Vec<_> = entries
            .iter()
            .map(|(index, signature)| Attestation {
                key: keys[*index].verifying_key(),
                signature,
            })
            .collect();
        if parallel {
            cache.par_verify_set(b"record", b"m", b"c", &set)
        } else {
            cache.verify_set(b"record", b"m", b"c", &set)
        }
    };
    let witness = verify(&set(&signatures)[..3], false).unwrap();
    assert_eq!((witness.signer_count(), witness.cached_count()), (3, 0));
    let witness = verify(&set(&signatures)[..5], true).unwrap();
    assert_eq!((witness.signer_count(), witness.cached_count()), (5, 3));
    assert_eq!(witness.origin(), Origin::Cached);

    // Two bad ones among remembered and new: named by their place in the whole set, and the good
    // new one is remembered all the same.
    let genuine = signatures.clone();
    signatures[1][40] ^= 1;
    signatures[5].push(0);
    let Err(Error::Rejected(Rejected::Signers(bad))) = verify(&set(&signatures), false) else {
        panic!("bad signatures were accepted");
    };
    assert_eq!(bad.indices().collect::<Vec<_>>(), [1, 5]);
    let witness = verify(&set(&genuine), false).unwrap();
    assert_eq!((witness.signer_count(), witness.cached_count()), (7, 6));
    let witness = verify(&set(&genuine), true).unwrap();
    assert_eq!(witness.cached_count(), 7);

    // A remembered signature does not excuse a duplicate.
    let mut twice = set(&genuine);
    twice[6] = twice[0].clone();
    let duplicate = Rejected::DuplicateSigner {
        first: 0,
        second: 6,
    };
    assert_eq!(verify(&twice, false), Err(Error::Rejected(duplicate)));
}

#[test]
fn threads_share_a_cache_and_the_counters_add_up() {
    let cache = cache_of(2048);
    let key = Counting::new(b"key");
    let (threads, rounds) = (8, 4000);
    thread::scope(|scope| {
        for thread in 0..threads {
            let (cache, key) = (&cache, &key);
            scope.spawn(move || {
                let mut rng = rng(100 + thread);
                for _ in 0..rounds {
                    let mut signature = good(rng.below(300));
                    let bad = rng.index(3) == 0;
                    signature[0] = u8::from(!bad);
                    assert_eq!(cache.verify(b"", key, b"", b"m", &signature).is_err(), bad);
                }
            });
        }
    });
    let stats = cache.stats();
    assert_eq!(stats.hits + stats.misses, threads * rounds);
    assert_eq!(stats.misses, key.calls() as u64);
    assert_eq!(stats.entries, 300);
    assert_eq!((stats.inserts, stats.evictions), (300, 0));
}

/// Which inputs share a bucket depends on the hash key of the cache, which nobody knows.
#[test]
fn bucket_collisions_do_not_carry_over_to_another_cache() {
    let limits = Limits {
        entries_max: 256,
        ..Limits::default()
    };
    let key = Counting::new(b"key");
    let evictions: HashSet<u64> = (0..8)
        .map(|seed| {
            let cache = VerifiedCache::new(limits, &mut rng(seed)).unwrap();
            for tail in 0..256 {
                assert!(cache.verify(b"", &key, b"", b"", &good(tail)).is_ok());
            }
            cache.stats().evictions
        })
        .collect();
    assert!(evictions.len() > 1, "always {evictions:?}");
}
