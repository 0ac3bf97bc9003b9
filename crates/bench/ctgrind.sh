#!/usr/bin/env bash
# Runs the marked signing steps under valgrind with the code that valgrind can simulate: it hides
# AVX-512 from programs, so the default build takes its AVX2 path; the portable one is built apart.
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 5; }
target="${CARGO_TARGET_DIR:-$PWD/target}"
memcheck=(valgrind -q --error-exitcode=99 --num-callers=40
    --suppressions=crates/bench/data/ctgrind.supp)

run() {
    local binary="$1"
    # The tool must see a leak where there is one, or its silence means nothing.
    if "${memcheck[@]}" "$binary" self-test >/dev/null 2>&1; then
        echo "self-test: valgrind did not report a branch on a secret" >&2
        exit 1
    fi
    "${memcheck[@]}" "$binary"
}

cargo build --release -p horizon-bench --bin ctgrind
run "$target/release/ctgrind"
RUSTFLAGS='--cfg horizon_backend="portable"' \
    cargo build --release -p horizon-bench --bin ctgrind --target-dir "$target/portable"
run "$target/portable/release/ctgrind"
