#!/usr/bin/env bash
# Runs the benchmarks of one part and writes out/PART.json. HORIZON_BENCH_SMOKE=1: just once each.
# HORIZON_BENCH_REALTIME=1: rows of wall time once more, in the real-time class, on a machine that
# does other things too (needs the permission; holds the cores for some seconds).
set -euo pipefail
cd "$(dirname "$0")/../.."

part="${1:-kernel}"
case "$part" in
    kernel) benches=(hash ring pulsar) ;;
    envelope) benches=(sig lens warp) ;;
    *) echo "unknown part: $part (kernel, envelope)" >&2; exit 2 ;;
esac

export CRITERION_HOME="$PWD/out/criterion"
rm -rf "$CRITERION_HOME"
selection=()
for bench in "${benches[@]}"; do selection+=(--bench "$bench"); done
cargo bench -p horizon-bench "${selection[@]}" -- --noplot --quiet
if [ -n "${HORIZON_BENCH_REALTIME:-}" ]; then
    chrt -r 1 cargo bench -p horizon-bench "${selection[@]}" -- --noplot --quiet wall
fi
cargo run --release -q -p horizon-bench --bin report -- \
    collect "$part" "$CRITERION_HOME" "out/$part.json"
