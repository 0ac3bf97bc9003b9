//! BLS aggregates, the verification of the Beam and of certificate sets, from 5 to 1,000 signers.

use core::hint::black_box;

use blst::{Pairing, blst_fp12, blst_p1_affine, blst_p2_affine, min_pk};
use horizon_sig::cache::{Limits, VerifiedCache};
use horizon_sig::{bls, mldsa};
use horizon_testkit::SeededRng;
use rayon::ThreadPoolBuilder;

use super::primitives::MESSAGE_LEN;
use super::{Fixtures, VALIDATORS};
use crate::failed::Failed;
use crate::measure::Bench;
use crate::source::unsigned;

/// Signers of the scaling chart; 21 and 100 are published.
pub(crate) const SIZES: [usize; 6] = [5, 21, 64, 100, 306, 1000];
const CONTEXT: &[u8] = b"bench";

pub(super) fn run(bench: &mut Bench<'_>, fixtures: &Fixtures) -> Result<(), Failed> {
    let largest = SIZES.iter().copied().max().unwrap_or(0);
    let all = Aggregate::new(largest)?;
    for size in SIZES {
        aggregate(bench, &all, size)?;
    }
    beam(bench, fixtures)?;
    certificates(bench, largest)
}

/// Signers of one message.
struct Aggregate {
    message: Vec<u8>,
    keys: Vec<bls::ProvenKey>,
    signatures: Vec<bls::Signature>,
}

impl Aggregate {
    fn new(size: usize) -> Result<Self, Failed> {
        let mut rng = SeededRng::new(11);
        let message = rng.vec(MESSAGE_LEN);
        let keys = (0..size)
            .map(|_| Ok(bls::SigningKey::generate(&mut rng)?))
            .collect::<Result<Vec<_>, Failed>>()?;
        Ok(Self {
            signatures: keys.iter().map(|key| key.sign_message(&message)).collect(),
            // Made a moment ago in this process: a proof of possession would prove it to itself.
            keys: keys
                .iter()
                .map(|key| bls::hazmat::assume_possession(*key.verifying_key()))
                .collect(),
            message,
        })
    }
}

fn aggregate(bench: &mut Bench<'_>, all: &Aggregate, size: usize) -> Result<(), Failed> {
    let signatures = all.signatures.get(..size).unwrap_or(&all.signatures);
    let keys = all.keys.get(..size).unwrap_or(&all.keys);
    bench.check(&format!("sig/bls-aggregate/decoded,n={size}"), || {
        bls::aggregate(black_box(signatures))
    })?;
    if size <= 100 {
        let bytes: Vec<[u8; 96]> = signatures.iter().map(bls::Signature::to_bytes).collect();
        bench.check(&format!("sig/bls-aggregate/bytes,n={size}"), || {
            let signatures = black_box(&bytes)
                .iter()
                .map(|bytes| bls::Signature::from_bytes(bytes))
                .collect::<Result<Vec<_>, _>>()?;
            bls::aggregate(&signatures)
        })?;
    }
    let sum = bls::aggregate(signatures)?.to_bytes();
    bench.check(&format!("sig/bls-aggregate-verify/n={size}/cold"), || {
        let signature = bls::Signature::from_bytes(black_box(&sum))?;
        bls::AggregateKey::new(keys)?.verify(&all.message, &signature)
    })
}

/// The Beam as Prism verifies it, and the parts of the library that cannot be left out.
fn beam(bench: &mut Bench<'_>, fixtures: &Fixtures) -> Result<(), Failed> {
    let (source, full) = fixtures.source()?;
    let keys = source.beam_keys()?;
    let message = unsigned()?.encode();
    bench.check(&format!("warp/beam-verify/n={VALIDATORS}"), || {
        let signature = bls::CurvePoint::from_bytes(black_box(&full.beam))?;
        let key = bls::AggregateKey::new(&keys)?;
        key.verify(&message, &signature.into_signature()?)
    })?;
    bench.check(&format!("warp/beam-part/key-sum,n={VALIDATORS}"), || {
        bls::AggregateKey::new(black_box(&keys))
    })?;
    let code = |error| Failed(format!("blst: {error:?}"));
    let point = min_pk::Signature::from_bytes(&full.beam).map_err(code)?;
    let first = keys.first().ok_or_else(|| Failed("no key".to_owned()))?;
    let key = min_pk::PublicKey::from_bytes(&first.verifying_key().to_bytes()).map_err(code)?;
    let (q, p): (&blst_p2_affine, &blst_p1_affine) = ((&point).into(), (&key).into());
    bench.check("warp/beam-part/decode", || {
        min_pk::Signature::from_bytes(black_box(&full.beam)).map_err(code)
    })?;
    bench.check("warp/beam-part/group-check", || {
        black_box(&point).validate(true).map_err(code)
    })?;
    bench.time("warp/beam-part/hash-to-g2", || {
        // Without a commitment the pair is only queued: hash to the curve and nothing else.
        let mut pairing = Pairing::new(true, bls::SIGNATURE_DST);
        pairing.aggregate(p, false, &(), false, black_box(&message), &[]);
        pairing
    })?;
    let (qs, ps) = ([*q, *q], [*p, *p]);
    bench.time("warp/beam-part/miller-loops", || {
        blst_fp12::miller_loop_n(black_box(&qs), &ps)
    })?;
    let product = blst_fp12::miller_loop_n(&qs, &ps);
    bench.time("warp/beam-part/final-exponentiation", || {
        black_box(&product).final_exp()
    })
}

/// Certificates of many validators over one message.
struct Certificates {
    message: Vec<u8>,
    keys: Vec<mldsa::VerifyingKey>,
    signatures: Vec<Vec<u8>>,
}

impl Certificates {
    fn new(size: usize) -> Result<Self, Failed> {
        let mut rng = SeededRng::new(12);
        let message = rng.vec(MESSAGE_LEN);
        let (mut keys, mut signatures) = (Vec::new(), Vec::new());
        for _ in 0..size {
            let key = mldsa::SigningKey::generate(mldsa::ParameterSet::MlDsa65, &mut rng)?;
            signatures.push(key.sign_deterministic(CONTEXT, &message)?);
            keys.push(key.verifying_key().clone());
        }
        Ok(Self {
            message,
            keys,
            signatures,
        })
    }

    fn entries(&self) -> Vec<mldsa::Attestation<'_>> {
        let pairs = self.keys.iter().zip(&self.signatures);
        pairs
            .map(|(key, signature)| mldsa::Attestation { key, signature })
            .collect()
    }
}

fn certificates(bench: &mut Bench<'_>, largest: usize) -> Result<(), Failed> {
    let set = Certificates::new(largest)?;
    let entries = set.entries();
    let message = &set.message;
    for size in SIZES {
        let entries = entries.get(..size).unwrap_or(&entries);
        bench.check(&format!("sig/certset/serial,n={size}/cold"), || {
            mldsa::verify_set(message, CONTEXT, black_box(entries))
        })?;
    }
    let size = usize::from(VALIDATORS);
    let entries = entries.get(..size).unwrap_or(&entries);
    let cache = VerifiedCache::new(Limits::default(), &mut SeededRng::new(13))?;
    bench.check(&format!("sig/certset/serial,n={size}/cached"), || {
        cache.verify_set(b"", message, CONTEXT, black_box(entries))
    })?;
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let id = format!("sig/certset/parallel,n={size},wall,threads={threads}/cold");
        bench.wall(&id, &pool, || {
            mldsa::par_verify_set(message, CONTEXT, black_box(entries))
        })?;
    }
    Ok(())
}
