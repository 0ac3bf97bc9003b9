//! `horizon doctor`: what this machine and build can do.

use serde_json::json;

use crate::output::Output;

pub(super) fn run(output: Output) {
    let ring: Vec<&str> = horizon_ring::backend::Kind::available()
        .map(horizon_ring::backend::Kind::name)
        .collect();
    let hash: Vec<String> = horizon_hash::backend::Kind::available()
        .map(|kind| format!("{kind:?}").to_lowercase())
        .collect();
    let ring_active = horizon_ring::backend::Kind::active().name();
    let hash_active = format!("{:?}", horizon_hash::backend::Kind::active()).to_lowercase();
    output.text(&format!("horizon {}", env!("CARGO_PKG_VERSION")));
    output.text(&format!(
        "ring backends: {} (in use: {ring_active})",
        ring.join(", ")
    ));
    output.text(&format!(
        "hash backends: {} (in use: {hash_active})",
        hash.join(", ")
    ));
    output.text("this implementation is unaudited");
    output.object(
        "doctor",
        json!({"version": env!("CARGO_PKG_VERSION"),
            "ring": {"available": ring, "active": ring_active},
            "hash": {"available": hash, "active": hash_active}, "audited": false}),
    );
}
