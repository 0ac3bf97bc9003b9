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

# One seed of the whole-network simulation, telling what happens
sim seed:
    HORIZON_SIM_SEED={{seed}} cargo test --release -p horizon-node --test simulation every_property -- --nocapture

# The whole-network simulation with 2,000 seeds, forty minutes (the tests run 200)
sim-long seeds="2000" first="1":
    HORIZON_SIM_SEEDS={{seeds}} HORIZON_SIM_FIRST={{first}} cargo test --release -p horizon-node --test simulation every_property -- --nocapture

# Every case of the vector files
vectors:
    cargo run --release -- vectors run $(find vectors -name '*.json' -o -name '*.json.gz')

# The library crates without std
bare:
    cargo check --release -p horizon-hash -p horizon-ring -p horizon-pulsar --no-default-features

# Measure this machine: tables on the terminal, JSON, Markdown and HTML in out/
bench *arguments:
    cargo run --release -- bench {{arguments}} --out out

# Measure (quiet machine, ten minutes) and rewrite every document that states a figure
report *arguments:
    bash crates/bench/report.sh {{arguments}}

# Rewrite the documents from the stored result, without measuring
documents:
    cargo run --release -p horizon-bench --bin report

# The page of benchmarks in Chromium: console, widths, screenshot (installs what it needs)
browser:
    bash crates/bench/browser/run.sh

# Instructions of hot paths under valgrind against the stored counts (`update` stores new ones)
bench-guard action="check":
    cargo run --release -p horizon-bench --bin guard -- {{action}}

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
    cargo test --release -p horizon-cli --test fuzz_corpus

# Licences, advisories, sources (needs cargo-deny)
deny:
    cargo deny check

# What CI runs
ci:
    bash .ci/run

# Real processes, sockets, disks and signals (about six minutes)
processes:
    cargo test --release -p horizon-cli --test processes --test live --test doctor
