//! Signatures, Lens and the envelope: the published sections "Microbenchmarks" and "Warp 2.0 Envelope Verify".

use super::{Published, Row, Target, row};

const fn micros(operation: &'static str, ids: &'static [&'static str], published: f64) -> Row {
    Row {
        published: Published::Milliseconds(published / 1e3),
        ..row(operation, ids)
    }
}

const fn against(
    operation: &'static str,
    ids: &'static [&'static str],
    published: f64,
    reference: &'static [[&'static str; 3]],
) -> Row {
    Row {
        reference,
        ..micros(operation, ids, published)
    }
}

/// A size with a payload of 128 bytes; the published figures are without payload.
const fn size(operation: &'static str, ids: &'static [&'static str], published: f64) -> Row {
    Row {
        published: Published::Bytes(published + 128.0),
        ..row(operation, ids)
    }
}

const fn within(row: Row, limit_ms: f64, reason: &'static str) -> Row {
    Row {
        target: Target::AtMostMilliseconds(limit_ms),
        reason,
        ..row
    }
}

const GO: &str = "single_operations_us";
const BUSY: &str = "wall time: another job had one of the cores";

/// What no Beam verification can leave out.
const BEAM_PARTS: &[&str] = &[
    "warp/beam-part/decode",
    "warp/beam-part/group-check",
    "warp/beam-part/hash-to-g2",
    "warp/beam-part/miller-loops",
    "warp/beam-part/final-exponentiation",
];

/// All rows of the envelope's table.
pub(super) const ROWS: &[Row] = &[
    micros(
        "secp256k1 sign (published figure implausible)",
        &["sig/sign/secp256k1"],
        0.658,
    ),
    micros(
        "secp256k1 verify (published figure implausible)",
        &["sig/verify/secp256k1/cold"],
        0.658,
    ),
    row("Ed25519 sign", &["sig/sign/ed25519"]),
    micros("Ed25519 verify", &["sig/verify/ed25519/cold"], 205.0),
    row("P-256 sign", &["sig/sign/p256"]),
    micros("P-256 verify", &["sig/verify/p256/cold"], 121.0),
    row("ML-DSA-44 sign", &["sig/sign/ml-dsa-44"]),
    micros("ML-DSA-44 verify", &["sig/verify/ml-dsa-44/cold"], 140.0),
    micros("ML-DSA-65 sign", &["sig/sign/ml-dsa-65"], 495.0),
    micros("ML-DSA-65 verify", &["sig/verify/ml-dsa-65/cold"], 250.0),
    row("ML-DSA-87 sign", &["sig/sign/ml-dsa-87"]),
    micros("ML-DSA-87 verify", &["sig/verify/ml-dsa-87/cold"], 420.0),
    row("SLH-DSA-SHA2-192f sign", &["sig/sign/slh-dsa-sha2-192f"]),
    micros(
        "SLH-DSA-SHA2-192f verify",
        &["sig/verify/slh-dsa-sha2-192f/cold"],
        1920.0,
    ),
    against(
        "BLS12-381 sign",
        &["sig/sign/bls12-381"],
        350.0,
        &[[GO, "bls_sign_pure_go", ""]],
    ),
    against(
        "BLS12-381 verify",
        &["sig/verify/bls12-381/cold"],
        820.0,
        &[[GO, "bls_verify_pure_go", ""]],
    ),
    micros(
        "cache hit, Ed25519",
        &["sig/verify-through-cache/ed25519/cached"],
        1.1,
    ),
    micros(
        "cache hit, P-256",
        &["sig/verify-through-cache/p256/cached"],
        1.0,
    ),
    micros(
        "cache hit, ML-DSA-65",
        &["sig/verify-through-cache/ml-dsa-65/cached"],
        3.0,
    ),
    micros(
        "cache hit, SLH-DSA-SHA2-192f",
        &["sig/verify-through-cache/slh-dsa-sha2-192f/cached"],
        131.0,
    ),
    micros(
        "cache hit under a flood of bad signatures, ML-DSA-65",
        &["sig/verify-through-cache/ml-dsa-65,flooded/cached"],
        3.0,
    ),
    micros(
        "cache hit under a flood of bad signatures, Ed25519",
        &["sig/verify-through-cache/ed25519,flooded/cached"],
        1.1,
    ),
    micros(
        "verify through the cache, every call a miss, Ed25519",
        &["sig/verify-through-cache/ed25519/cold"],
        205.0,
    ),
    micros(
        "verify through the cache, every call a miss, ML-DSA-65",
        &["sig/verify-through-cache/ml-dsa-65/cold"],
        250.0,
    ),
    micros(
        "bad signature through the cache, ML-DSA-65",
        &["sig/verify-through-cache/ml-dsa-65/bad"],
        250.0,
    ),
    row(
        "BLS aggregate of 21 decoded signatures",
        &["sig/bls-aggregate/decoded,n=21"],
    ),
    row(
        "BLS aggregate of 21, with decoding and group checks",
        &["sig/bls-aggregate/bytes,n=21"],
    ),
    row(
        "BLS aggregate of 100 decoded signatures",
        &["sig/bls-aggregate/decoded,n=100"],
    ),
    micros(
        "BLS aggregate of 100, with decoding and group checks",
        &["sig/bls-aggregate/bytes,n=100"],
        5300.0,
    ),
    micros(
        "BLS aggregate verify, 21 signers",
        &["sig/bls-aggregate-verify/n=21/cold"],
        875.0,
    ),
    micros(
        "BLS aggregate verify, 100 signers",
        &["sig/bls-aggregate-verify/n=100/cold"],
        875.0,
    ),
    micros(
        "Lens Sign1, Ed25519, t = 3",
        &["lens/round1/ed25519,t=3"],
        90.0,
    ),
    micros(
        "Lens Sign2, Ed25519, t = 3",
        &["lens/round2/ed25519,t=3"],
        110.0,
    ),
    micros(
        "Lens aggregate and verify, Ed25519, t = 3",
        &["lens/aggregate-verify/ed25519,t=3"],
        320.0,
    ),
    micros(
        "Lens Sign1, secp256k1, t = 3",
        &["lens/round1/secp256k1,t=3"],
        75.0,
    ),
    micros(
        "Lens Sign2, secp256k1, t = 3",
        &["lens/round2/secp256k1,t=3"],
        95.0,
    ),
    micros(
        "Lens aggregate and verify, secp256k1, t = 3",
        &["lens/aggregate-verify/secp256k1,t=3"],
        280.0,
    ),
    micros(
        "Lens Sign1, Ristretto255, t = 3",
        &["lens/round1/ristretto255,t=3"],
        95.0,
    ),
    micros(
        "Lens Sign2, Ristretto255, t = 3",
        &["lens/round2/ristretto255,t=3"],
        115.0,
    ),
    micros(
        "Lens aggregate and verify, Ristretto255, t = 3",
        &["lens/aggregate-verify/ristretto255,t=3"],
        340.0,
    ),
    row("Lens Sign1, Ed25519, t = 14", &["lens/round1/ed25519,t=14"]),
    row("Lens Sign2, Ed25519, t = 14", &["lens/round2/ed25519,t=14"]),
    row(
        "Lens aggregate and verify, Ed25519, t = 14",
        &["lens/aggregate-verify/ed25519,t=14"],
    ),
    row(
        "Lens Sign2, secp256k1, t = 14",
        &["lens/round2/secp256k1,t=14"],
    ),
    row(
        "Lens aggregate and verify, secp256k1, t = 14",
        &["lens/aggregate-verify/secp256k1,t=14"],
    ),
    row(
        "Lens Sign2, Ristretto255, t = 14",
        &["lens/round2/ristretto255,t=14"],
    ),
    row(
        "Lens aggregate and verify, Ristretto255, t = 14",
        &["lens/aggregate-verify/ristretto255,t=14"],
    ),
    within(
        micros(
            "parse envelope, Pulse and 21 certificates",
            &["warp/parse/pulse+certset"],
            25.0,
        ),
        0.025,
        "",
    ),
    against(
        "parse envelope, Pulse",
        &["warp/parse/pulse"],
        90.0,
        &[[GO, "parse_envelope_with_pulse", ""]],
    ),
    row("parse envelope, no lanes", &["warp/parse/v2"]),
    row("parse version 1 message", &["warp/parse/v1"]),
    micros("registry lookup", &["warp/registry-lookup/n=21"], 1.0),
    micros("suite match", &["warp/suite-match"], 1.0),
    micros("transcript", &["warp/transcript"], 8.0),
    micros("Pulse wire cap", &["warp/pulse-caps"], 1.0),
    Row {
        target: Target::AtMostTimes(0.01, &["warp/pulse-verify/cached"]),
        against: "Pulse verify",
        ..micros(
            "Pulse caps and frame walk",
            &["warp/pulse-frame-walk"],
            50.0,
        )
    },
    row("Pulse guards with shape and ranges", &["warp/pulse-guards"]),
    against(
        "Pulse decode",
        &["warp/pulse-decode"],
        60.0,
        &[[GO, "deserialize_pulse", ""]],
    ),
    Row {
        reference: &[["pulsar_sha3", "verify", "21"]],
        ..micros(
            "Pulse verify, prepared key",
            &["warp/pulse-verify/cached"],
            9000.0,
        )
    },
    row(
        "certificate set of 21, decode",
        &["warp/certset-parse/n=21"],
    ),
    Row {
        target: Target::AtMostTimes(1.05, BEAM_PARTS),
        against: "its parts",
        ..micros("Beam verify, 21 signers", &["warp/beam-verify/n=21"], 875.0)
    },
    micros(
        "certificate set of 21, serial",
        &["sig/certset/serial,n=21/cold"],
        5300.0,
    ),
    row(
        "certificate set of 21, through the cache, all hits",
        &["sig/certset/serial,n=21/cached"],
    ),
    micros(
        "certificate set of 21, wall, 1 thread",
        &["sig/certset/parallel,n=21,wall,threads=1/cold"],
        5300.0,
    ),
    within(
        micros(
            "certificate set of 21, wall, 2 threads",
            &["sig/certset/parallel,n=21,wall,threads=2/cold"],
            5300.0,
        ),
        0.4,
        BUSY,
    ),
    micros(
        "full path classical, serial",
        &["warp/verify/classical,serial/cold"],
        900.0,
    ),
    micros(
        "full path pulse, serial",
        &["warp/verify/pulse,serial/cold"],
        10_000.0,
    ),
    micros(
        "full path horizon, serial",
        &["warp/verify/horizon,serial/cold"],
        15_000.0,
    ),
    row("full path pq, serial", &["warp/verify/pq,serial/cold"]),
    row(
        "full path horizon, serial, certificates remembered",
        &["warp/verify/horizon,serial/cached"],
    ),
    row(
        "full path horizon, serial, bad Pulse refused",
        &["warp/verify/horizon,serial,refused/cold"],
    ),
    micros(
        "full path classical, wall, 2 threads",
        &["warp/verify/classical,wall,threads=2/cold"],
        900.0,
    ),
    micros(
        "full path pulse, wall, 2 threads",
        &["warp/verify/pulse,wall,threads=2/cold"],
        10_000.0,
    ),
    micros(
        "full path horizon, wall, 1 thread",
        &["warp/verify/horizon,wall,threads=1/cold"],
        15_000.0,
    ),
    within(
        micros(
            "full path horizon, wall, 2 threads",
            &["warp/verify/horizon,wall,threads=2/cold"],
            15_000.0,
        ),
        1.5,
        BUSY,
    ),
    row(
        "full path pq, wall, 2 threads",
        &["warp/verify/pq,wall,threads=2/cold"],
    ),
    row("registry load, 21 validators", &["warp/registry-load/n=21"]),
    against(
        "Pulse to bytes",
        &["warp/pulse-encode"],
        80.0,
        &[[GO, "serialize_pulse", ""]],
    ),
    against(
        "envelope to bytes, Pulse",
        &["warp/encode/pulse"],
        130.0,
        &[[GO, "envelope_v2_bytes_with_pulse", ""]],
    ),
    row(
        "envelope to bytes, Pulse and 21 certificates",
        &["warp/encode/pulse+certset"],
    ),
    size(
        "size: version 1 message, payload 128 B",
        &["warp/size/v1"],
        200.0,
    ),
    size("size: envelope without lanes", &["warp/size/v2"], 280.0),
    size("size: envelope with Pulse", &["warp/size/pulse"], 33_500.0),
    size(
        "size: envelope with Pulse and 21 certificates",
        &["warp/size/pulse+certset"],
        102_000.0,
    ),
    size(
        "size: envelope with Pulse and Groth16 field",
        &["warp/size/pulse+groth16"],
        33_724.0,
    ),
];
