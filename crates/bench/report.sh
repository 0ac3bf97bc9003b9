#!/usr/bin/env bash
# Measures this machine and rewrites every document that states a figure: the stored result, the
# page, its HTML twin with a screenshot, and the README's table. Takes about ten minutes and wants a
# quiet machine. Arguments go to `horizon bench`; `--quick` takes two minutes and says so everywhere.
set -euo pipefail
cd "$(dirname "$0")/../.."

target="${CARGO_TARGET_DIR:-$PWD/target}"
cargo build --release --locked -p horizon-cli -p horizon-bench
horizon="$target/release/horizon"
# A build leaves a load behind that would count as noise: wait until it has faded.
for _ in $(seq 36); do
    awk '{ exit !($1 < 0.6) }' /proc/loadavg && break
    sleep 5
done
"$horizon" bench "$@" --out out
mkdir -p docs/benchmarks
cp out/results.json docs/benchmarks/results.json
"$target/release/report" .
bash crates/bench/browser/run.sh
