//! One source chain, its files, and an envelope with every lane.

use std::sync::OnceLock;

use horizon_warp::policy::{Tier, sources_to_json};
use horizon_warp::registry::records_to_json;

use crate::world::{World, config};

pub(crate) struct Files {
    pub(crate) registry: Vec<u8>,
    pub(crate) policy: Vec<u8>,
    pub(crate) envelope: Vec<u8>,
    /// The same message with its Beam only.
    pub(crate) beam_only: Vec<u8>,
}

pub(crate) const PAYLOAD: &[u8] = b"a payload that C reads in place";

pub(crate) fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let world = World::new(0xca91, &[10, 20, 30, 40], 3);
        let records = [world.record.clone()];
        let draft = world.seal(PAYLOAD, &[1, 2, 3], 1);
        let beam_only = draft.with(|draft| {
            draft.pulse.clear();
            draft.attestation.clear();
        });
        Files {
            registry: records_to_json(&records).unwrap().into_bytes(),
            policy: sources_to_json(&[config(&records, Tier::Horizon)])
                .unwrap()
                .into_bytes(),
            envelope: draft.encode(),
            beam_only: beam_only.encode(),
        }
    })
}
