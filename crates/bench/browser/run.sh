#!/usr/bin/env bash
# Checks docs/benchmarks.html in Debian's Chromium and writes docs/benchmarks.png. Installs what it
# needs: the browser and a font by the system's packages, the driver by npm into a folder of its own.
set -euo pipefail
cd "$(dirname "$0")/../../.."

if ! command -v chromium >/dev/null; then
    apt-get update -qq >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-dejavu-core >/dev/null
fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp crates/bench/browser/check.mjs "$work/"
(
    cd "$work"
    PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 \
        npm install --silent --no-audit --no-fund --no-package-lock playwright-core@1.65.1
)
page="${1:-docs/benchmarks.html}"
screenshot="${2:-docs/benchmarks.png}"
mkdir -p "$(dirname "$screenshot")"
CHROMIUM="$(command -v chromium)" node "$work/check.mjs" \
    "$PWD/$page" "$PWD/$screenshot"
