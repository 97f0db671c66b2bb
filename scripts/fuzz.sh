#!/usr/bin/env bash
# Runs every fuzz target for a few seconds: a fault that this finds is one that nobody has to look for. For longer runs:
# RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none TARGET
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-15}
# The fuzzer's flags are not stable ones; the compiler takes them all the same.
export RUSTC_BOOTSTRAP=1
cargo fuzz --version > /dev/null 2>&1 || cargo install --locked --quiet cargo-fuzz
# The readers are safe code: without a sanitizer they are searched several times as fast.
cargo fuzz list | while read -r target; do
  cargo fuzz run --sanitizer none "$target" -- -max_total_time="$seconds" -max_len=4096 -verbosity=0 -print_final_stats=1 2>&1 |
    grep -E 'number_of_executed_units|panicked|SUMMARY|Test unit written|^error' | sed "s/^/$target: /"
done
