//! The rows of the report: what was published, which reference figure belongs to it, what to reach.

mod envelope;

/// The parts that `just bench` knows, with the rows of their tables.
pub const PARTS: &[(&str, &[Row])] = &[("kernel", KERNEL), ("envelope", envelope::ROWS)];

/// The rows of a part.
#[must_use]
pub fn of(part: &str) -> Option<&'static [Row]> {
    let found = PARTS.iter().find(|(name, _)| *name == part);
    found.map(|(_, rows)| *rows)
}

/// How our figure follows from measurements.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What is done.
    pub operation: &'static str,
    /// Identifiers whose medians are added; `{}` stands for the active backend.
    pub ids: &'static [&'static str],
    /// The sum is divided by this (batch sizes).
    pub divisor: f64,
    /// Published figure.
    pub published: Published,
    /// Places in `data/baselines.json`, added: section, operation, committee size or empty.
    pub reference: &'static [[&'static str; 3]],
    /// What our figure has to reach.
    pub target: Target,
    /// What [`Target::AtMostTimes`] compares with, in words.
    pub against: &'static str,
    /// Why a miss is a miss, where that is understood.
    pub reason: &'static str,
}

/// A published figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Published {
    /// None.
    Nothing,
    /// Milliseconds.
    Milliseconds(f64),
    /// Megabytes per second.
    MegabytesPerSecond(f64),
    /// Bytes: the row is about a size, not a time.
    Bytes(f64),
}

/// What a row has to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Nothing: for information.
    None,
    /// At least this many times as fast as the reference on a machine of the same kind.
    Ratio(f64),
    /// At most this many milliseconds.
    AtMostMilliseconds(f64),
    /// At most this many times the sum of these other benchmarks.
    AtMostTimes(f64, &'static [&'static str]),
}

const fn row(operation: &'static str, ids: &'static [&'static str]) -> Row {
    Row {
        operation,
        ids,
        divisor: 1.0,
        published: Published::Nothing,
        reference: &[],
        target: Target::None,
        against: "",
        reason: "",
    }
}

const fn ntt(operation: &'static str, id: &'static [&'static str], ratio: f64) -> Row {
    Row {
        divisor: 32.0,
        published: Published::Milliseconds(0.001_34),
        reference: &[["single_operations_us", "ntt_256", ""]],
        target: Target::Ratio(ratio),
        ..row(operation, id)
    }
}

const fn hash(operation: &'static str, id: &'static [&'static str], published: f64) -> Row {
    Row {
        published: Published::MegabytesPerSecond(published),
        ..row(operation, id)
    }
}

const fn phase(
    operation: &'static str,
    id: &'static [&'static str],
    published: f64,
    reference: &'static [[&'static str; 3]],
) -> Row {
    Row {
        published: Published::Milliseconds(published),
        reference,
        ..row(operation, id)
    }
}

const SHA3: &str = "pulsar_sha3";
const BLAKE3: &str = "ringtail_blake3";
const SIGNING_SHA3_21: &[[&str; 3]] = &[
    [SHA3, "round1", "21"],
    [SHA3, "preprocess", "21"],
    [SHA3, "round2", "21"],
];
const SIGNING_SHA3_5: &[[&str; 3]] = &[
    [SHA3, "round1", "5"],
    [SHA3, "preprocess", "5"],
    [SHA3, "round2", "5"],
];
const SIGNING_BLAKE3_21: &[[&str; 3]] = &[
    [BLAKE3, "round1", "21"],
    [BLAKE3, "preprocess", "21"],
    [BLAKE3, "round2", "21"],
];

/// All rows of the kernel's table.
const KERNEL: &[Row] = &[
    ntt(
        "forward NTT, AVX-512 IFMA",
        &["ring/ntt-forward/batch=32/avx512"],
        8.0,
    ),
    ntt(
        "forward NTT, AVX2",
        &["ring/ntt-forward/batch=32/avx2"],
        3.0,
    ),
    ntt(
        "forward NTT, portable",
        &["ring/ntt-forward/batch=32/portable"],
        1.3,
    ),
    Row {
        published: Published::Milliseconds(0.931),
        reference: &[[SHA3, "verify", "5"]],
        target: Target::Ratio(30.0),
        ..row(
            "Pulse verify, prepared key, SHA3",
            &["pulsar/verify/sha3/{}/cached"],
        )
    },
    Row {
        published: Published::Milliseconds(0.931),
        reference: &[[SHA3, "verify", "5"]],
        target: Target::Ratio(4.0),
        ..row(
            "Pulse verify, cold key, SHA3",
            &["pulsar/verify/sha3/{}/cold"],
        )
    },
    Row {
        divisor: 64.0,
        reference: &[[SHA3, "verify", "5"]],
        ..row(
            "Pulse verify, each of 64, SHA3",
            &["pulsar/verify-batch/sha3/{},N=64/cached"],
        )
    },
    phase(
        "Pulse verify, prepared key, BLAKE3",
        &["pulsar/verify/blake3/{}/cached"],
        0.931,
        &[[BLAKE3, "verify", "5"]],
    ),
    Row {
        published: Published::Milliseconds(160.19),
        reference: SIGNING_SHA3_21,
        target: Target::Ratio(30.0),
        reason: "member signatures are not part of either figure",
        ..row(
            "committee mode, one member, t = 21, SHA3",
            &[
                "pulsar/committee-reserve/sha3,K=21/{}",
                "pulsar/committee-gather/sha3,K=21/{}",
                "pulsar/committee-answer/sha3,K=21/{}",
            ],
        )
    },
    Row {
        reference: &[[SHA3, "round2", "21"]],
        target: Target::AtMostMilliseconds(1.0),
        ..row(
            "committee mode, online part, t = 21",
            &["pulsar/committee-answer/sha3,K=21/{}"],
        )
    },
    phase(
        "committee mode, one member, t = 5, SHA3",
        &[
            "pulsar/committee-reserve/sha3,K=5/{}",
            "pulsar/committee-gather/sha3,K=5/{}",
            "pulsar/committee-answer/sha3,K=5/{}",
        ],
        86.743,
        SIGNING_SHA3_5,
    ),
    row(
        "committee mode, combine and verify, t = 21",
        &["pulsar/committee-combine/sha3,K=21/{}"],
    ),
    Row {
        published: Published::Milliseconds(160.19),
        reference: SIGNING_SHA3_21,
        target: Target::Ratio(4.0),
        reason: "the transcript of the reference is one serial sponge over 17 MB",
        ..row(
            "interop mode, one party, K = 21, SHA3",
            &[
                "pulsar/interop-round1/sha3,K=21/{}",
                "pulsar/interop-preprocess/sha3,K=21/{}",
                "pulsar/interop-round2/sha3,K=21/{}",
            ],
        )
    },
    Row {
        published: Published::Milliseconds(160.19),
        reference: SIGNING_BLAKE3_21,
        target: Target::Ratio(10.0),
        ..row(
            "interop mode, one party, K = 21, BLAKE3",
            &[
                "pulsar/interop-round1/blake3,K=21/{}",
                "pulsar/interop-preprocess/blake3,K=21/{}",
                "pulsar/interop-round2/blake3,K=21/{}",
            ],
        )
    },
    phase(
        "interop Gen, K = 5",
        &["pulsar/interop-gen/sha3,K=5/{}"],
        3.272,
        &[[SHA3, "gen", "5"]],
    ),
    phase(
        "interop Gen, K = 21",
        &["pulsar/interop-gen/sha3,K=21/{}"],
        8.475,
        &[[SHA3, "gen", "21"]],
    ),
    phase(
        "interop Round 1, K = 5",
        &["pulsar/interop-round1/sha3,K=5/{}"],
        17.471,
        &[[SHA3, "round1", "5"]],
    ),
    phase(
        "interop Round 1, K = 21",
        &["pulsar/interop-round1/sha3,K=21/{}"],
        40.789,
        &[[SHA3, "round1", "21"]],
    ),
    phase(
        "interop Preprocess, K = 5",
        &["pulsar/interop-preprocess/sha3,K=5/{}"],
        66.792,
        &[[SHA3, "preprocess", "5"]],
    ),
    phase(
        "interop Preprocess, K = 21",
        &["pulsar/interop-preprocess/sha3,K=21/{}"],
        112.869,
        &[[SHA3, "preprocess", "21"]],
    ),
    phase(
        "interop Round 2, K = 5",
        &["pulsar/interop-round2/sha3,K=5/{}"],
        2.481,
        &[[SHA3, "round2", "5"]],
    ),
    phase(
        "interop Round 2, K = 21",
        &["pulsar/interop-round2/sha3,K=21/{}"],
        6.532,
        &[[SHA3, "round2", "21"]],
    ),
    phase(
        "interop Finalize, K = 5",
        &["pulsar/interop-finalize/sha3,K=5/{}"],
        0.068,
        &[[SHA3, "finalize", "5"]],
    ),
    phase(
        "interop Finalize, K = 21",
        &["pulsar/interop-finalize/sha3,K=21/{}"],
        0.09,
        &[[SHA3, "finalize", "21"]],
    ),
    Row {
        reference: &[["single_operations_us", "full_rank_check", ""]],
        ..row("rank check 8 x 48", &["ring/rank/8x48/{}"])
    },
    Row {
        reference: &[["single_operations_us", "uniform_poly", ""]],
        ..row("uniform polynomial", &["ring/sample-uniform/256/{}"])
    },
    Row {
        reference: &[["single_operations_us", "gaussian_poly", ""]],
        ..row(
            "Gaussian polynomial, ziggurat",
            &["ring/sample-ziggurat/256/{}"],
        )
    },
    row(
        "Gaussian polynomial, constant time, small",
        &["ring/sample-small/256/{}"],
    ),
    row(
        "Gaussian polynomial, constant time, wide",
        &["ring/sample-wide/256/{}"],
    ),
    hash("SHA3-256, 1 MiB", &["hash/sha3-256/1MiB/{}"], 250.0),
    hash("cSHAKE256, 1 MiB", &["hash/cshake256/1MiB/{}"], 220.0),
    hash("TupleHash256, 1 MiB", &["hash/tuplehash256/1MiB/{}"], 200.0),
    hash("KMAC256, 1 MiB", &["hash/kmac256/1MiB/{}"], 240.0),
    hash("BLAKE3, 1 MiB", &["hash/blake3/1MiB/{}"], 4200.0),
    row("ParallelHash256, 1 MiB", &["hash/parallelhash256/1MiB/{}"]),
    row(
        "KMAC256, 8 keys over 1 MiB",
        &["hash/kmac256-batch/8x1MiB/{}"],
    ),
    row("BLAKE2Xb, 64 KiB", &["hash/blake2xb/64KiB/{}"]),
];
