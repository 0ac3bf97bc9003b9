//! The Pulse: three frames of polynomials, little-endian.

use horizon_warp::limits::{PULSE_COUNT_MAX, PULSE_LEN_MAX};
use horizon_warp::pulse::PulseFrames;
use serde_json::json;

use super::walk::Walk;
use super::{Fault, Field, Kind, Report};

/// Name of each frame and whether it starts with a number of polynomials.
const FRAMES: [(&str, bool); 3] = [("pulse.c", false), ("pulse.z", true), ("pulse.d", true)];

pub(super) fn inspect(bytes: &[u8]) -> Report {
    let outcome = PulseFrames::parse(bytes);
    Report {
        kind: Kind::Pulse,
        fields: fields(bytes, 0, 0),
        facts: vec![("bytes", json!(bytes.len()))],
        fault: outcome.err().map(Fault::from),
    }
}

/// The fields of a Pulse that stands at `base`.
pub(super) fn fields(bytes: &[u8], base: usize, depth: u8) -> Vec<Field> {
    // Beyond the cap nothing is told apart: the number of fields stays small, whatever the bytes.
    let (head, tail) = bytes.split_at(bytes.len().min(PULSE_LEN_MAX));
    let mut walk = Walk::new(head, base, depth);
    let _ = frames(&mut walk);
    walk.remainder("pulse.rest");
    let mut beyond = Walk::new(tail, base.saturating_add(head.len()), depth);
    beyond.remainder("pulse.beyond_the_cap");
    [walk.fields, beyond.fields].concat()
}

fn frames(walk: &mut Walk<'_>) -> Option<()> {
    for (name, is_vector) in FRAMES {
        walk.number_le(format!("{name}.length"), 4)?;
        let polys = if is_vector {
            count(walk, format!("{name}.count"))?
        } else {
            1
        };
        for index in 0..polys {
            let prefix = if is_vector {
                format!("{name}[{index}]")
            } else {
                name.to_owned()
            };
            let levels = count(walk, format!("{prefix}.levels"))?;
            for _ in 0..levels {
                let degree = count(walk, format!("{prefix}.degree"))?;
                let len = usize::try_from(degree).ok()?.checked_mul(8)?;
                walk.take(format!("{prefix}.coefficients"), len)?;
                walk.note(format!("{degree} coefficients, u64le"));
            }
        }
    }
    Some(())
}

/// A count, unless it is beyond belief.
fn count(walk: &mut Walk<'_>, name: String) -> Option<u64> {
    let count = walk.number_le(name, 8)?;
    (count <= PULSE_COUNT_MAX).then_some(count)
}
