//! Decode guards of the Pulse: what a hostile lane costs before any of it is believed.

use core::hint::black_box;

use horizon_warp::pulse::{PulseFrames, check_wire_cap, read_frame, walk};

use super::Fixtures;
use crate::failed::Failed;
use crate::measure::Bench;

pub(super) fn run(bench: &mut Bench<'_>, fixtures: &Fixtures) -> Result<(), Failed> {
    let (_, full) = fixtures.source()?;
    let pulse = &full.pulse;
    bench.check("warp/guard/wire-cap", || check_wire_cap(black_box(pulse)))?;
    bench.check("warp/guard/lane-cap", || {
        let mut rest = black_box(pulse.as_slice());
        for _ in 0..3 {
            (_, rest) = read_frame(rest, "pulse")?;
        }
        Ok::<_, horizon_warp::Error>(rest.len())
    })?;
    let frames = PulseFrames::parse(pulse)?;
    for (name, frame, vector) in [
        ("c", frames.c, false),
        ("z", frames.z, true),
        ("d", frames.d, true),
    ] {
        bench.check(&format!("warp/guard/walk-{name}"), || {
            walk(black_box(frame), vector, "pulse")
        })?;
    }
    bench.check("warp/guard/structure", || {
        PulseFrames::parse_structure(black_box(pulse)).map(|frames| frames.z.len())
    })?;
    bench.check("warp/guard/all", || {
        PulseFrames::parse(black_box(pulse)).map(|frames| frames.z.len())
    })
}
