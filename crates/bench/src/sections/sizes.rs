//! Bytes of envelopes, by shape and number of signers.

use horizon_warp::limits::{ENVELOPE_LEN_MAX, GROTH16_LEN, MLDSA65_SIGNATURE_LEN};
use horizon_warp::{CertSet, SignerSet};

use super::Fixtures;
use crate::failed::Failed;
use crate::measure::Bench;
use crate::source::{Draft, PAYLOAD};

/// Signers of the size chart; 1,000 certificates do not fit and are computed.
pub(crate) const SIGNERS: [u32; 6] = [5, 21, 64, 128, 256, 306];

pub(super) fn run(bench: &mut Bench<'_>, fixtures: &Fixtures) -> Result<(), Failed> {
    let (_, full) = fixtures.source()?;
    bench.figure("warp/size/payload", PAYLOAD.len() as f64);
    bench.figure("warp/size/pulse-alone", full.pulse.len() as f64);
    bench.figure("warp/size/cap", ENVELOPE_LEN_MAX as f64);
    bench.figure("warp/size/certificate", MLDSA65_SIGNATURE_LEN as f64);
    for (shape, bytes) in shapes(full)? {
        bench.figure(&format!("warp/size/{shape}"), bytes.len() as f64);
    }
    for n in SIGNERS {
        for (shape, pulse, certificates) in [
            ("beam", false, false),
            ("pulse", true, false),
            ("certset", false, true),
            ("pulse+certset", true, true),
        ] {
            let attestation = if certificates { filler(n)? } else { Vec::new() };
            let draft = Draft::filler(n, pulse, attestation)?;
            bench.figure(
                &format!("warp/size/{shape},n={n}"),
                draft.encode()?.len() as f64,
            );
        }
    }
    bench.figure("warp/size/certificates-max", f64::from(certificates_max()?));
    Ok(())
}

/// The published shapes, with 21 signers.
pub(super) fn shapes(full: &Draft) -> Result<Vec<(&'static str, Vec<u8>)>, Failed> {
    let pulse = full.with(|draft| draft.attestation.clear());
    let beam = pulse.with(|draft| draft.pulse.clear());
    let wrapped = full.with(|draft| draft.attestation = vec![0x5a; GROTH16_LEN]);
    Ok(vec![
        ("v1", beam.encode_message()?),
        ("v2", beam.encode()?),
        ("pulse", pulse.encode()?),
        ("pulse+certset", full.encode()?),
        ("pulse+groth16", wrapped.encode()?),
    ])
}

/// A certificate set of the right size that proves nothing.
fn filler(n: u32) -> Result<Vec<u8>, Failed> {
    let signers = SignerSet::from_indices(0..n)?;
    let certificates = vec![[0x5a; MLDSA65_SIGNATURE_LEN]; usize::try_from(n)?];
    Ok(CertSet::new(signers.as_signers(), &certificates)?.encode())
}

/// The most certificates that fit an envelope beside a Pulse: found by encoding.
fn certificates_max() -> Result<u32, Failed> {
    let fits = |n: u32| -> bool {
        let encoded = filler(n).and_then(|set| Draft::filler(n, true, set)?.encode());
        encoded.is_ok_and(|bytes| bytes.len() <= ENVELOPE_LEN_MAX)
    };
    let (mut low, mut high) = (1, 1024);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
