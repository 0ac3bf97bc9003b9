//! The cache of verified signatures: every call a miss, every call a hit, hits while bad signatures
//! pour in. A hit is no verification and is never reported as one.

use core::hint::black_box;

use horizon_sig::cache::{Limits, VerifiedCache};
use horizon_sig::traits::Origin;
use horizon_testkit::SeededRng;

use super::Fixtures;
use super::primitives::{Scheme, Signed, schemes};
use crate::clock::Watch;
use crate::failed::Failed;
use crate::measure::{Bench, Clock};

/// Bad signatures between two rounds of hits.
const FLOOD: usize = 4;

pub(super) fn run(bench: &mut Bench<'_>, _: &Fixtures) -> Result<(), Failed> {
    let mut rng = SeededRng::new(14);
    for scheme in schemes(&mut rng)? {
        let signed = scheme.sign_some(&[], &mut rng)?;
        let cache = VerifiedCache::new(Limits::default(), &mut rng)?;
        misses(bench, &scheme, &signed, &cache)?;
        hits(bench, &scheme, &signed, &cache)?;
        if matches!(scheme.name, "ml-dsa-65" | "ed25519") {
            flooded(bench, &scheme, &signed, &cache)?;
        }
    }
    Ok(())
}

fn misses(
    bench: &mut Bench<'_>,
    scheme: &Scheme,
    signed: &[Signed],
    cache: &VerifiedCache,
) -> Result<(), Failed> {
    let id = format!("sig/verify-through-cache/{}/cold", scheme.name);
    let mut scope = 0u64;
    let mut next = signed.iter().cycle();
    bench.check(&id, || {
        let (message, signature) = next.next().ok_or_else(|| Failed("no message".to_owned()))?;
        // A scope that was never used before: hash, look, verify, store.
        scope += 1;
        let scope = scope.to_le_bytes();
        let verified = cache.verify(
            &scope,
            &*scheme.verifier,
            &[],
            black_box(message),
            signature,
        );
        verified.map_err(Failed::from)
    })
}

fn hit(scheme: &Scheme, entry: &Signed, cache: &VerifiedCache) -> Result<Origin, Failed> {
    let (message, signature) = entry;
    let verified = cache.verify(
        b"warm",
        &*scheme.verifier,
        &[],
        black_box(message),
        signature,
    )?;
    Ok(verified.origin())
}

fn hits(
    bench: &mut Bench<'_>,
    scheme: &Scheme,
    signed: &[Signed],
    cache: &VerifiedCache,
) -> Result<(), Failed> {
    for entry in signed {
        hit(scheme, entry, cache)?;
    }
    let mut next = signed.iter().cycle();
    bench.check(
        &format!("sig/verify-through-cache/{}/cached", scheme.name),
        || {
            let entry = next.next().ok_or_else(|| Failed("no message".to_owned()))?;
            hit(scheme, entry, cache)
        },
    )
}

/// Bad signatures must not push good entries out: each hit below is checked to be one.
fn flooded(
    bench: &mut Bench<'_>,
    scheme: &Scheme,
    signed: &[Signed],
    cache: &VerifiedCache,
) -> Result<(), Failed> {
    let (message, signature) = signed
        .first()
        .ok_or_else(|| Failed("no message".to_owned()))?;
    let mut bad = signature.clone();
    let mut attack = 0u64;
    let mut refuse = || {
        attack += 1;
        // Another signature each time, well formed in most cases.
        bad.iter_mut()
            .skip(8)
            .zip(attack.to_le_bytes())
            .for_each(|(byte, new)| *byte = new);
        match cache.verify(b"warm", &*scheme.verifier, &[], black_box(message), &bad) {
            Err(_) => Ok(()),
            Ok(_) => Err(Failed("a bad signature was accepted".to_owned())),
        }
    };
    bench.check(
        &format!("sig/verify-through-cache/{}/bad", scheme.name),
        &mut refuse,
    )?;
    let id = format!("sig/verify-through-cache/{},flooded/cached", scheme.name);
    for _ in 0..bench.plan().samples {
        (0..FLOOD).try_for_each(|_| refuse())?;
        let watch = Watch::start();
        for entry in signed {
            if hit(scheme, entry, cache)? != Origin::Cached {
                return Err(Failed("the flood evicted an entry".to_owned()));
            }
        }
        bench.record(&id, Clock::Cpu, watch.stop().per(signed.len()));
    }
    Ok(())
}
