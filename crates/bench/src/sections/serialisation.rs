//! Bytes to values and back.

use core::hint::black_box;

use horizon_pulsar::Signature as PulseSignature;
use horizon_warp::Envelope;

use super::Fixtures;
use crate::failed::Failed;
use crate::measure::Bench;

pub(super) fn run(bench: &mut Bench<'_>, fixtures: &Fixtures) -> Result<(), Failed> {
    let (_, full) = fixtures.source()?;
    for (shape, bytes) in super::sizes::shapes(full)? {
        bench.check(&format!("warp/parse/{shape}"), || {
            Envelope::parse(black_box(&bytes)).map(|envelope| envelope.version())
        })?;
        let envelope = Envelope::parse(&bytes)?;
        bench.time(&format!("warp/encode/{shape}"), || {
            match envelope.version() {
                1 => black_box(&envelope).message().encode(),
                _ => black_box(&envelope).encode(),
            }
        })?;
    }
    bench.check("warp/pulse-decode", || {
        PulseSignature::from_pulse_bytes(black_box(&full.pulse))
    })?;
    let signature = PulseSignature::from_pulse_bytes(&full.pulse)?;
    bench.time("warp/pulse-encode", || {
        black_box(&signature).to_pulse_bytes()
    })
}
