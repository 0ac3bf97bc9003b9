//! Decoding takes memory in proportion to the bytes that are there, whatever sizes they declare.

#![allow(
    clippy::unwrap_used,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a test that cannot go on has failed"
)]

#[path = "support/common.rs"]
mod common;

use common::*;
use horizon_warp::payload::*;
use horizon_warp::*;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes allocated per input byte by any decoder, at most: a record copies its keys, a list of
/// managers holds one slice (16 bytes) per byte, with room for a vector to grow.
const FACTOR: usize = 64;

/// One test, so that no other thread allocates meanwhile.
#[test]
fn decoders_allocate_in_proportion_to_their_input() {
    let envelope = Known::k1().envelope().encode();
    let region = Region::new(ALLOCATOR);
    assert!(Envelope::parse(&envelope).is_ok());
    assert_eq!(
        region.change().bytes_allocated,
        0,
        "an envelope borrows everything"
    );

    let mut rng = SplitMix(0x3e3);
    let conversion = ChainToL1Conversion {
        chain_id: [1; 32],
        manager_chain_id: [2; 32],
        address: &[3; 20],
        managers: vec![&[1]; 500],
    }
    .encode();
    let mut record = registry::RECORD_TAG.to_vec();
    record.extend([0; 52]);
    record.extend([11]);
    record.extend(b"Pulsar-SHA3");
    record.extend([0; 65]);
    record.extend([0xff; 4]);
    let seeds: [&[u8]; 4] = [&envelope, &conversion, &record, &[0, 0, 0, 255, 9, 9, 9]];
    for round in 0..20_000_u32 {
        let mut bytes = seeds[rng.below(4)].to_vec();
        for _ in 0..3 {
            let at = rng.below(bytes.len());
            bytes[at] = [0xff, 0x7f, 0xbf, 0xf8, rng.next() as u8][rng.below(5)];
        }
        let limit = FACTOR * bytes.len().max(64);
        let region = Region::new(ALLOCATOR);
        let _ = Envelope::parse(&bytes);
        let _ = ChainToL1Conversion::parse(&bytes);
        let _ = Record::parse(&bytes);
        let _ = MultiHopRoute::parse(&bytes);
        let _ = CertSet::parse(&bytes);
        let _ = pulse::PulseFrames::parse(&bytes);
        let _ = certificate::HorizonCertificate::parse(&bytes);
        let used = region.change().bytes_allocated;
        assert!(
            used <= limit,
            "round {round}: {used} bytes for {}",
            bytes.len()
        );
    }
}
