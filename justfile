# The single entry to everything. `just` alone lists the recipes; CI runs the same steps.

export CARGO_TERM_COLOR := "never"
target := env("CARGO_TARGET_DIR", justfile_directory() / "target")

[private]
default:
    @just --list

# Format, lints and documentation, warnings as errors
check:
    cargo fmt --all --check
    cargo clippy --release --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps

# All tests
test:
    cargo test --release --workspace

# The tests of ring and pulsar with each backend forced
backends:
    RUSTFLAGS='--cfg horizon_backend="portable"' cargo test --release -p horizon-hash -p horizon-ring -p horizon-pulsar --target-dir {{target}}/portable
    RUSTFLAGS='--cfg horizon_backend="avx2"' cargo test --release -p horizon-hash -p horizon-ring -p horizon-pulsar --target-dir {{target}}/avx2

# Every case of the vector files
vectors:
    cargo run --release -- vectors run $(find vectors -name '*.json' -o -name '*.json.gz')

# The library crates without std
bare:
    cargo check --release -p horizon-hash -p horizon-ring -p horizon-pulsar --no-default-features

# Benchmarks of one part (kernel, envelope), with the table; JSON goes to out/
bench part="kernel":
    bash crates/bench/run.sh {{part}}

# docs/benchmarks.md and the README's table from measurements, which are kept beside them
report +parts="kernel envelope":
    mkdir -p docs/benchmarks
    for part in {{parts}}; do cp "out/$part.json" docs/benchmarks/; done
    cargo run --release -p horizon-bench --bin report -- render docs/benchmarks/kernel.json docs/benchmarks/envelope.json docs/benchmarks.md README.md

# Constant time under valgrind: AVX2 and portable code
ctgrind:
    bash crates/bench/ctgrind.sh

# Constant time by timing, for AVX-512 too (takes minutes; a quiet machine helps)
timing samples="200000":
    cargo run --release -p horizon-bench --bin timing -- --samples {{samples}}

# Fuzz one target for some seconds (needs cargo-fuzz and a nightly compiler)
fuzz target seconds="60":
    cd fuzz && cargo fuzz run {{target}} -- -max_total_time={{seconds}}

# The fuzz bodies over the committed corpus, as ordinary tests
fuzz-corpus:
    cargo test --release -p horizon-bench --test fuzz_corpus

# Licences, advisories, sources (needs cargo-deny)
deny:
    cargo deny check

# What CI runs
ci:
    bash .ci/run
